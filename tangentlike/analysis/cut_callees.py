"""Calls that stay as they stand, of functions out of which something was cut.

What is left of such a function may give nothing back and write nothing, so that its call seems to
carry no derivative and to leave its arguments alone; but the call runs the function as the user
wrote it, all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

from .. import ir
from ..frontend.cuts import Cuts
from .operations import is_python_function

__all__ = ["refuse_cut_callees"]

_TO_BE_MADE_AND_GIVEN = 2  # uses of a name


def refuse_cut_callees(
    function: ir.Function,
    varied: Collection[str],
    active: Collection[str],
    cuts: Cuts,
    keeps_effects: Callable[[Any], bool],
) -> None:
    """Refuse a call that stays as it stands, if something was cut out of what it runs: one that is
    given what varies, or what is used elsewhere and may be written or given back by the whole of
    the function as it is not by what is left of it (`keeps_effects` says that there is no such)."""
    every = list(ir.statements(function.body))
    used = Counter(name for stmt in every for name in {*ir.reads(stmt), *ir.binds(stmt)})
    for stmt in every:
        if not set(active).isdisjoint(ir.binds(stmt)):
            continue
        called = [found for expr in ir.expressions(stmt) for found in _called(expr)]
        refusal = cuts.behind([name for _, names in called for name in names])
        if refusal is None:
            continue
        if not ir.reads(stmt).isdisjoint(varied):
            raise refusal
        if all(used[name] <= _TO_BE_MADE_AND_GIVEN for name in ir.reads(stmt)):
            continue
        for obj, names in called:
            if cuts.behind(names) and not keeps_effects(obj):
                raise refusal


def _called(expr: ir.Expr) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """The functions that an expression may call, with their names (a method by its name)."""
    for part in ir.walk(expr):
        match part:
            case ir.Ref(text, obj) if is_python_function(obj):
                yield obj, (text.rpartition(".")[2], obj.__name__)
            case ir.Attribute(name=name):
                yield None, (name,)
