"""Any piece of a program as Python text, for people, doctests and tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from ... import ir
from ...errors import InternalError
from . import layout, to_gast
from .printer import Printer

_STATEMENTS = get_args(ir.Stmt)


def show(thing: Any) -> str:
    """The Python text of a module, a function, a block, a statement or an expression.

    Without imports and without comments.

    >>> import operator
    >>> x = ir.Var("x")
    >>> show(ir.Call(ir.Ref("+", operator.add), (x, ir.Const(1.0))))
    'x + 1.0'
    """
    if isinstance(thing, (ir.Module, ir.Function, tuple, *_STATEMENTS)):
        return "\n".join(line.text for line in lines_of(thing))
    return Printer().text(to_gast.expression(thing))


def lines_of(thing: Any) -> list[layout.Line]:
    """The same text of a module, a function, a block or a statement, line by line, each with where
    it comes from."""
    printer = Printer()
    if isinstance(thing, ir.Module):
        found: list[layout.Line] = []
        for fn in thing.functions:
            found += [*([layout.Line("")] * 2 if found else []), *lines_of(fn)]
        return found
    if isinstance(thing, ir.Function):
        thing = nested_regions(thing)
        return layout.function_lines(thing, to_gast.function(thing), printer, comments=False)
    block = nested_block(thing if isinstance(thing, tuple) else (thing,))
    return layout.block_lines(block, to_gast.block(block, empty=True), printer)


class Stages(Mapping[str, str]):
    """The program after each stage, by the stage's name; printed only when it is asked for.

    Of `names` (all of `programs` where none are given) those that are not in `programs` are
    what `again` gives.

    >>> Stages({"lowered": ir.Var("x"), "emitted": "x = 1"})["lowered"]
    'x'
    """

    def __init__(
        self,
        programs: Mapping[str, Any],
        names: tuple[str, ...] = (),
        again: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.programs = dict(programs)  # parts of programs, or their text
        self._names = names or tuple(programs)
        self._again = again
        self._texts: dict[str, str] = {}

    def _program(self, name: str) -> Any:
        if name in self._names and name not in self.programs:
            self.programs = {**self._again(), **self.programs}
        return self.programs[name]

    def __getitem__(self, name: str) -> str:
        if name not in self._texts:
            program = self._program(name)
            self._texts[name] = program if isinstance(program, str) else show(program)
        return self._texts[name]

    def __repr__(self) -> str:
        return f"Stages({', '.join(self)})"

    def lines(self, name: str) -> list[layout.Line]:
        """The lines of a stage that is a program, each with where it comes from."""
        return lines_of(self._program(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        return Stages, (dict(self),)  # (programs refer to what only this process has)


# --------------------------------------------------------------------------------------------------
# `Enter` and `Leave` with what stands between them, made one statement again to be printed.


def nested_regions(function: ir.Function) -> ir.Function:
    """The function with a `With` for each `Enter` and its `Leave`, wherever they stand.

    before::                    after::
        Enter(manager, "t")         with manager as t:
        y = x * t                       y = x * t
        Leave()                     return y
        return y
    """
    if not any(isinstance(stmt, ir.Enter) for stmt in ir.statements(function.body)):
        return function
    return dataclasses.replace(function, body=nested_block(function.body))


def nested_block(block: ir.Block) -> ir.Block:
    """One block, and those within it."""
    open_: list[tuple[ir.Enter | None, list[ir.Stmt]]] = [(None, [])]
    for stmt in block:
        match stmt:
            case ir.Enter():
                open_.append((stmt, []))
            case ir.Leave():
                enter, inside = open_.pop()
                if enter is None:
                    raise InternalError("emit", "a context is left that was not entered")
                body = tuple(inside)
                made = ir.With(enter.context, enter.target, body, enter.origin)
                open_[-1][1].append(made)
            case _:
                inner = ir.map_statement(stmt, block=nested_block) if ir.blocks(stmt) else stmt
                open_[-1][1].append(inner)
    if len(open_) != 1:
        raise InternalError("emit", "a context is entered and not left in the same block")
    return tuple(open_[0][1])
