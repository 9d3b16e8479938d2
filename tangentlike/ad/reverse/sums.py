"""Sums over broadcast axes, written out where it is known which they are."""

from __future__ import annotations

import operator

from ... import ir
from ...ir.kind import Kind, is_many
from ..context import ADD, Context
from ..loops import is_call

_NEG = ir.Ref("-", operator.neg)


def plain_sum(value: ir.Expr, whole: Kind, context: Context) -> ir.Expr:
    """`unbroadcast(g, x)`, `g` of the kind `whole`, as an expert writes it.

    `np.sum(g)` for a number x and an array g, `np.sum(g, axis=0)` for a vector that was added to
    the rows of a matrix; where that is not known, the helper stays.
    """
    if isinstance(value, ir.Call) and value.fn == ADD:
        parts = tuple(plain_sum(arg, whole, context) for arg in value.args)
        return ir.Call(ADD, parts, value.kwargs, value.at)
    if not is_call(value, context.helper("unbroadcast").obj) or not context.real:
        return value
    assert isinstance(value, ir.Call)
    g, like = value.args
    options = _options(whole, context.kind_of(like))
    if options is None:
        return value
    negated = isinstance(g, ir.Call) and g.fn == _NEG
    terms = g.args if negated and isinstance(g, ir.Call) else (g,)
    total = ir.Call(context.numpy("sum"), terms, options)
    return ir.Call(_NEG, (total,)) if negated else total


def _options(whole: Kind, part: Kind) -> tuple[tuple[str, ir.Expr], ...] | None:
    """Arguments of `np.sum` that take the shape of `whole` to that of `part`.

    >>> vector = Kind("array", "float", ("m",))
    >>> _options(Kind("array", "float", ("n", "m")), vector)
    (('axis', Const(value=0)),)
    """
    if whole.form != "array" or "complex" in (whole.dtype, part.dtype):
        return None
    if part.form == "number":
        return ()
    if part.form != "array" or not isinstance(part.shape, tuple) or not part.shape:
        return None
    if not isinstance(whole.shape, tuple):
        return None
    lead = len(whole.shape) - len(part.shape)
    if lead < 0:
        return None
    pairs = list(enumerate(zip(whole.shape[lead:], part.shape, strict=True)))
    ones = [i for i, (n, m) in pairs if m == 1 and n != 1]
    if not all(is_many(m) or (m is not None and n == m) for i, (n, m) in pairs if i not in ones):
        return None
    if lead and not ones:
        return (("axis", _axes(range(lead))),)
    if ones and not lead:
        return (("axis", _axes(ones)), ("keepdims", ir.Const(True)))
    return None


def _axes(axes: range | list[int]) -> ir.Expr:
    found = tuple(map(ir.Const, axes))
    return found[0] if len(found) == 1 else ir.Display("tuple", found)
