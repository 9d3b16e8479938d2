"""What one primal statement adds to the adjoints of its operands: the chain rule, once.

The answer depends on the statement alone, never on where the sweep stands.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from .. import ir
from ..analysis.constructors import record_class, record_names, record_values
from ..analysis.local_kinds import updated_array
from ..analysis.operations import operands
from ..analysis.refusals import unknown_class
from ..errors import InternalError, Place, UnsupportedError
from ..ir.kind import UNKNOWN
from ..rules.bind import Instance
from ..rules.book import KindOf
from ..rules.index_kinds import key_parts
from .context import Context
from .loops import is_call

BROADCAST = "broadcast_like"


@ir.quickened
@dataclass(frozen=True)
class Contribution:
    """`name_bar += value`.

    `whole`: the operand has the result's shape, entry for entry, so that a result adjoint that is
    still a scalar (or lacks axes that a sum took away) and stands for a full array will do;
    `full`: what it is multiplied by has the result's shape, so that the value is right even then.
    `narrow`: what else to add, where such a scalar will do although shapes differ.
    """

    name: str
    value: ir.Expr
    whole: bool = False
    full: bool = False
    elementwise: bool = False
    narrow: ir.Expr | None = None

    def filled(self, values: dict[str, ir.Expr], at: Place | None) -> Contribution:
        """With expressions for the placeholders of a rule, and with the place in the user's line
        of the operation that it is the derivative of."""
        narrow = None if self.narrow is None else ir.located(self.narrow, at, values)
        value = ir.located(self.value, at, values)
        return Contribution(self.name, value, self.whole, self.full, self.elementwise, narrow)


@ir.quickened
@dataclass(frozen=True)
class Chain:
    """All contributions of a statement, and the shared temporaries they need first."""

    contributions: tuple[Contribution, ...]
    temporaries: tuple[tuple[str, ir.Expr], ...] = ()


def chain_of(
    stmt: ir.Assign,
    active: frozenset[str],
    result_bar: ir.Expr,
    context: Context,
    by_position: Collection[str] = (),
    kind_of: KindOf | None = None,
) -> Chain:
    """The chain rule for `y = op(a, b)` with `y_bar` given as an expression. Adjoints of the names
    `by_position` may be plain tuples where the values are namedtuples; `kind_of` tells
    what is known where the statement stands."""
    value = stmt.value
    match value:
        case ir.Var(name):
            return Chain(
                (Contribution(name, result_bar, whole=True, elementwise=True),)
                if name in active
                else ()
            )
        case ir.Const() | ir.Ref() | ir.Index(base=ir.Ref()):  # (a place carries no derivative)
            return Chain(())
        case ir.Display():
            return Chain(tuple(_display(value, active, result_bar)))
        case ir.Call() if record_values(value) is not None:
            loose = stmt.target in by_position
            return Chain(tuple(_record(value, active, result_bar, loose)))
    rule = context.rule_for(value)
    if rule is None:
        read = sorted(ir.names_in(value) & active)
        if not read or context.is_constant(value):
            return Chain(())
        if isinstance(value, ir.Call) and isinstance(value.fn, ir.Var | ir.Attribute):
            raise unknown_class(value.fn, value.at or stmt.origin.place)
        if isinstance(value, ir.Call) and isinstance(value.fn, ir.Ref):
            raise UnsupportedError(
                f"no derivative rule for {value.fn.text}",
                value.at or stmt.origin.place,
                "Add a rule with @tl.rule, or apply tl.stop_gradient to its argument.",
            )
        raise InternalError("reverse", f"no rule for what is done with `{read[0]}`")
    instance = context.bind(rule, value, kind_of)
    return _by_rule(stmt, instance, active, result_bar, context)


def _display(value: ir.Display, active: frozenset[str], bar: ir.Expr) -> list[Contribution]:
    found = []
    for position, item in enumerate(value.items):
        if isinstance(item, ir.Var) and item.name in active:
            key = value.keys[position] if value.form == "dict" else ir.Const(position)
            found.append(Contribution(item.name, ir.Index(bar, key)))
    return found


def _record(
    value: ir.Call, active: frozenset[str], bar: ir.Expr, loose: bool
) -> list[Contribution]:
    """`layer = Layer(w, b)`: the adjoint of `w` is `layer_bar.w`; `layer_bar[0]` of a `loose`
    namedtuple, the adjoint of which may be a plain tuple."""
    names = record_names(value)
    counted = loose and issubclass(record_class(value) or object, tuple)

    def part(field: str) -> ir.Expr:
        if counted:
            return ir.Index(bar, ir.Const(names.index(field)))
        return ir.Attribute(bar, ir.field_name(field))

    return [
        Contribution(actual.name, part(field))
        for field, actual in (record_values(value) or {}).items()
        if isinstance(actual, ir.Var) and actual.name in active
    ]


def _by_rule(
    stmt: ir.Assign,
    instance: Instance,
    active: frozenset[str],
    result_bar: ir.Expr,
    context: Context,
) -> Chain:
    values: dict[str, ir.Expr] = {
        "$y": _target_expr(stmt.target),
        "$y_bar": result_bar,
    }
    temporaries = []
    merged: dict[str, Contribution] = {}
    used: list[ir.Expr] = []
    names = {p: operands(e, context.kinds, context.book) for p, e in instance.arguments.items()}
    varied = [param for param, read in names.items() if not active.isdisjoint(read)]
    beside = varied if context.of_a_call else ()
    for param in varied:
        actual = instance.arguments[param]
        for name in names[param]:
            found = _one(instance, param, name, stmt, context, beside) if name in active else None
            if found is None:
                continue
            if actual != ir.Var(name):  # (its adjoint would be zero, and nobody be told)
                raise InternalError("reverse", f"an operand of {instance.rule.name} has no name")
            used.append(found.value)
            merged[name] = _merge(merged.get(name), found)
    for name, expr in instance.temporaries_for(*used):
        fresh = context.names.fresh(name.lstrip("$"))
        temporaries.append((fresh, ir.located(expr, instance.call.at, values)))
        values[name] = ir.Var(fresh)
    filled = tuple(c.filled(values, instance.call.at) for c in merged.values())
    return Chain(filled, tuple(temporaries))


def _target_expr(target: ir.Target) -> ir.Expr:
    if isinstance(target, str):
        return ir.Var(target)
    return ir.Display("tuple", tuple(map(_target_expr, target)))


def _merge(first: Contribution | None, second: Contribution) -> Contribution:
    if first is None:
        return second
    total = ir.Call(ir.ADD, (first.value, second.value))
    whole = first.whole and second.whole
    return Contribution(
        first.name,
        total,
        whole,
        (first.full or second.full) if whole else (first.full and second.full),
        first.elementwise and second.elementwise,
    )


def _one(
    instance: Instance,
    param: str,
    name: str,
    stmt: ir.Assign,
    context: Context,
    beside: Collection[str],
) -> Contribution | None:
    """The contribution through one argument (broadcasting is undone by `instance.adjoint`)."""
    value = instance.adjoint(param, beside)
    if value is None:
        return None
    value = _shaped_like(_as_updated(value, name, stmt, context), context)
    partial = instance.partials.get(param)
    whole = partial is not None and not is_call(value, context.helper("unbroadcast").obj)
    full = partial is not None and _is_full(partial, name if whole else "", stmt, context)
    shared = {f"${n}": expr for n, expr in instance.temporaries}
    narrow = None if whole else _spread_scalar(value, name, shared, context)
    return Contribution(name, value, whole, full, partial is not None, narrow)


def _as_updated(value: ir.Expr, name: str, stmt: ir.Assign, context: Context) -> ir.Expr:
    """`g` for `unbroadcast(g, a)` where the user wrote `a += b`, and `a` is an array: the result
    has its shape and its class."""
    if is_call(value, context.helper("unbroadcast").obj):
        assert isinstance(value, ir.Call)
        if value.args[1] == ir.Var(name) == updated_array(stmt, context.kinds):
            return value.args[0]
    return value


def _spread_scalar(
    value: ir.Expr, name: str, shared: Mapping[str, ir.Expr], context: Context
) -> ir.Expr | None:
    """`broadcast_like(y_bar[:, None] / x.shape[1], x)` without its new axes, or None.

    Where every entry of `y_bar` is the same number, that number is spread over all axes alike.
    """
    if not is_call(value, context.helper(BROADCAST).obj):
        return None
    assert isinstance(value, ir.Call)
    if len(value.args) != 2 or value.args[1] != ir.Var(name):
        return None
    scalar = _without_new_axes(value.args[0])
    if not is_scalar(ir.substitute(scalar, dict(shared)), context):
        return None
    return dataclasses.replace(value, args=(scalar, value.args[1]))


def _without_new_axes(expr: ir.Expr) -> ir.Expr:
    match expr:
        case ir.Index(base, key) if all(map(_adds_axes, key_parts(key))):
            return _without_new_axes(base)
        case ir.Call(fn=ir.Ref(obj=np.expand_dims), args=(base, _)):
            return _without_new_axes(base)
    return ir.rebuild(expr, _without_new_axes)


_Y_BAR = ir.Var("$y_bar")


def is_scalar(expr: ir.Expr, context: Context, bar: ir.Expr = _Y_BAR) -> bool:
    """Whether an expression is a number if `y_bar` is."""
    if expr == bar:
        return True
    match expr:
        case ir.Call(fn=ir.Ref(text=text), args=args) if text in ("-", "*", "/"):
            return all(is_scalar(arg, context, bar) for arg in args)
    return context.kind_of(expr).form == "number"


def _adds_axes(part: ir.Expr) -> bool:
    return part in (ir.Slice(), ir.Const(None), ir.Const(...))


def _is_full(partial: ir.Expr, name: str, stmt: ir.Assign, context: Context) -> bool:
    """Whether a partial derivative surely has the shape of the result: it reads the result, the
    operand, or something else of that shape."""
    result = context.kinds.get(str(stmt.target), UNKNOWN)
    for read in ir.names_in(partial):
        if read in ("$y", name) or context.kinds.get(read, UNKNOWN).spans(result):
            return True
    return False


def _shaped_like(value: ir.Expr, context: Context) -> ir.Expr:
    """`unbroadcast(g, exp_z)` needs `exp_z` for its shape only; `z`, of the same shape, is read
    in its stead, since it is the one more likely to be kept anyway."""
    if not is_call(value, context.helper("unbroadcast").obj):
        return value
    assert isinstance(value, ir.Call)
    g, like = value.args
    if not isinstance(like, ir.Var) or like.name not in context.kinds:
        return value
    if like.name in context.shaped:
        return dataclasses.replace(value, args=(g, ir.Var(context.shaped[like.name])))
    kind = context.kinds[like.name]
    other = context.kinds.get(str(kind.shape))
    if not isinstance(kind.shape, str) or other is None or kind.shape == like.name:
        return value
    if (other.form, other.dtype) != (kind.form, kind.dtype) or kind.dtype == "?":
        return value
    return dataclasses.replace(value, args=(g, ir.Var(kind.shape)))
