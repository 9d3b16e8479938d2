"""A tangent has the shape of its value, and memory of its own where the value has."""

from __future__ import annotations

import operator

import numpy as np

from ... import ir
from ...frontend.owners import is_ours, module_of
from ...rules.bind import Instance
from .state import Tangents

_OPERATORS = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg)
    + (operator.pos, operator.mod, operator.floordiv, np.where)
)
POSITIVE = ir.Ref("+", operator.pos)


def with_shape_of(
    result: ir.Expr, tangent: ir.Expr, instance: Instance, state: Tangents
) -> ir.Expr:
    """The tangent, broadcast at run time unless it surely has the shape of the result.

    In `y = x + b` with constant b, `y_dot = x_dot` may be smaller than y.
    """
    if not instance.partials:
        return tangent  # what a rule states as `y_dot` has the shape of the result
    kind = instance.result_kind
    if kind.form == "number" or state.kind_of(tangent).same_shape(kind):
        return tangent
    seen = _operands(tangent)
    if "$y" in seen or any(state.kind_of(ir.Var(n)).spans(kind) for n in sorted(seen)):
        return tangent
    for actual in instance.arguments.values():
        if state.kind_of(actual).form == "number":
            continue
        names = ir.names_in(actual)
        if not names or not all(n in seen or state.dots.get(n) in seen for n in names):
            return state.call("broadcast_like", tangent, result)
    return tangent


def _operands(expr: ir.Expr) -> frozenset[str]:
    """The names that broadcast against each other in an elementwise expression."""
    match expr:
        case ir.Var(name):
            return frozenset((name,))
        case ir.Call(fn=ir.Ref(obj=obj), args=args) if is_elementwise(obj):
            return frozenset().union(*map(_operands, args))
        case _:
            return frozenset()


def is_elementwise(obj: object) -> bool:
    """Whether an operation's result has the broadcast shape of all its arguments."""
    if isinstance(obj, np.ufunc):
        return obj.signature is None
    try:
        if obj in _OPERATORS:
            return True
    except TypeError:  # unhashable
        return False
    return module_of(obj).endswith("tangentlike.runtime.kinks")


def owned(tangent: ir.Expr, instance: Instance, name: str, state: Tangents) -> ir.Expr:
    """`y = x + b` makes a new array; so must `y_dot = x_dot` if either is written later. And where
    b is complex, what is written there may be complex, and `x_dot` is real."""
    kind = state.kind_of(ir.Var(name))
    if instance.rule.view_of(instance.call) != "no" or kind.form == "number":
        return tangent
    sources = [n for n in ir.names_in(instance.call) if ir.Var(state.dots.get(n, "")) == tangent]
    if isinstance(tangent, ir.Var) and any(map(state.is_written, (name, *sources))):
        if kind.form == "array" and kind.rank:
            tangent = ir.Call(ir.Attribute(tangent, "copy"))
        else:
            tangent = ir.Call(POSITIVE, (tangent,))  # like the primal: a new array, or a number
    if state.real or kind.dtype == "float" or not state.is_written(name):
        return tangent
    return state.call("cast_like", tangent, ir.Var("$y"))


def mirrored(tangent: ir.Expr, instance: Instance, name: str, state: Tangents) -> ir.Expr:
    """Where `v = a.ravel()` may be a view that is written, `v_dot` must be one exactly if v is."""
    base = next(iter(instance.arguments.values()))
    dot = state.tangent(base) if isinstance(base, ir.Var) else None
    if (
        instance.rule.view_of(instance.call) != "maybe"
        or dot is None
        or is_ours(getattr(instance.call.fn, "obj", None))
        or instance.result_kind.form == "number"
    ):
        return tangent
    if not any(map(state.is_written, (name, *ir.names_in(base)))):
        return tangent
    return state.call("mirrored_view", tangent, dot, ir.Var("$y"), base)
