"""Any piece of a program as Python text, for people, doctests and tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from ... import ir
from . import layout, to_gast
from .printer import Printer
from .regions import nested_block, nested_regions

_STATEMENTS = get_args(ir.Stmt)


def show(thing: Any) -> str:
    """The Python text of a module, a function, a block, a statement or an expression.

    Without imports and without comments.

    >>> import operator
    >>> x = ir.Var("x")
    >>> show(ir.Call(ir.Ref("+", operator.add), (x, ir.Const(1.0))))
    'x + 1.0'
    """
    printer = Printer()
    if isinstance(thing, ir.Module):
        return "\n\n\n".join(show(fn) for fn in thing.functions)
    if isinstance(thing, ir.Function):
        thing = nested_regions(thing)
        lines = layout.function_lines(thing, to_gast.function(thing), printer, comments=False)
    elif isinstance(thing, tuple):
        thing = nested_block(thing)
        nodes = to_gast.block(thing, empty=True)
        lines = layout.block_lines(thing, nodes, printer)
    elif isinstance(thing, _STATEMENTS):
        return show((thing,))
    else:
        return printer.text(to_gast.expression(thing))
    return "\n".join(line.text for line in lines)


class Stages(Mapping[str, str]):
    """The program after each stage, by the stage's name; printed only when it is asked for.

    >>> Stages({"lowered": ir.Var("x"), "emitted": "x = 1"})["lowered"]
    'x'
    """

    def __init__(self, programs: Mapping[str, Any]) -> None:
        self._programs = dict(programs)  # parts of programs, or their text

    def __getitem__(self, name: str) -> str:
        program = self._programs[name]
        if not isinstance(program, str):
            program = self._programs[name] = show(program)
        return program

    def __iter__(self) -> Iterator[str]:
        return iter(self._programs)

    def __len__(self) -> int:
        return len(self._programs)

    def __reduce__(self) -> tuple[Any, ...]:
        return Stages, (dict(self),)  # (programs refer to what only this process has)
