"""What is returned beside the gradient, kept from a reverse sweep that restores what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import ir
from ...analysis.memory import element
from ...errors import UnsupportedError
from ..context import Context

if TYPE_CHECKING:
    from .functions import Primal


def loss_and_aux(value: ir.Expr, function: ir.Function) -> tuple[ir.Expr, ir.Expr]:
    """The two parts of the result of a function that `has_aux`."""
    if isinstance(value, ir.Display) and value.form == "tuple" and len(value.items) == 2:
        return value.items
    raise UnsupportedError(
        "has_aux=True needs a function that returns `(loss, aux)`",
        function.body[-1].origin.place if function.body else function.place,
        "Write the pair out in the return statement: `return loss, aux`.",
    )


def is_restored(value: ir.Expr, primal: Primal, context: Context) -> bool:
    """Whether a reverse sweep may give earlier entries to what is in the result: to arrays that
    the function writes, and to those that a callee writes and returns."""
    aliases = primal.aliases
    made = [name for site in primal.calls.values() if site.pair.restores for name in site.results]
    behind = {aliases.class_of(node) for name in made for node in (name, element(name))}
    for name in ir.names_in(value):
        if aliases.is_written(name):
            return True
        kind = context.kind_of(ir.Var(name))
        inside = {aliases.class_of(name), aliases.class_of(element(name))}
        if inside & behind and kind.form not in ("number", "other"):
            return True
    return False


def kept_value(
    value: ir.Expr | None, primal: Primal, context: Context
) -> tuple[ir.Block, ir.Expr | None]:
    """The value as the primal returned it, though the reverse sweep restores arrays in place.

    before::                      after::
        y[0] = 2.0                    y[0] = 2.0
        <the sweep: y[0] = old>       value = copy(y)
        return y, x_bar               <the sweep: y[0] = old>
                                      return value, x_bar
    """
    if value is None or not is_restored(value, primal, context):
        return (), value
    origin = ir.Origin(primal.function.place, "primal")
    name = context.names.fresh("value")
    copy = ir.Call(context.helper("copy"), (value,))
    return (ir.Assign(name, copy, origin),), ir.Var(name)


def named_before(
    value: ir.Expr | None, after: ir.Block, primal: Primal, context: Context
) -> tuple[ir.Block, ir.Expr | None]:
    """The value by a name of its own where the reverse sweep gives its name an earlier value."""
    rebound = {name for stmt in ir.statements(after) for name in ir.binds(stmt)}
    if value is None or not rebound & ir.names_in(value):
        return (), value
    name = context.names.fresh("value")
    return (ir.Assign(name, value, ir.Origin(primal.function.place, "primal")),), ir.Var(name)
