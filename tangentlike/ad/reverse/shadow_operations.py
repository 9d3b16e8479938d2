"""Operations on a `runtime.Shadow`, reversed: the adjoints of adjoints are found by identity too.

Each operation is a linear function of the adjoints in the shadow, found by memory and objects
that do not change. Its reversal is the transposed operation on the shadow of adjoints of these,
`bars_bar = bars2.of(bars)`, and that of this one again the first::

    bars.add(x, g)                 g_bar = bars_bar.like(x, g)
    y_bar = bars.take(y)           bars_bar.put(y, y_bar_bar)
    g = bars.take_at(x, k, v)      bars_bar.put_at(x, k, g_bar)
    bars.add_at(x, k, y)           bars_bar.like_at(x, k, y)
"""

from __future__ import annotations

from ... import ir
from ..normalize.shadow_calls import shadow_method

_READING = {"of": "add", "like": "add", "like_at": "add_at"}  # transposed: where they add
# What is read there is zero afterwards; transposed, that is set.
_TAKING = {"take": "put", "take_at": "put_at"}
_GIVING = {"add": "like", "add_at": "like_at", "put": "take", "put_at": "take_at"}
GIVEN = {"add": 2, "put": 2, "put_at": 3, "add_at": 4}  # where they are given adjoints


def given_adjoint(call: ir.Expr | None) -> ir.Expr | None:
    """What an operation puts into a shadow, or adds to what is in there."""
    position = GIVEN.get(shadow_method(call))
    if position is None:
        return None
    assert isinstance(call, ir.Call)
    return call.args[position] if position < len(call.args) else None


def operation_on(shadow: str, call: ir.Call, bar: ir.Expr | None) -> ir.Call | None:
    """The operation on the shadow of adjoints that reverses a call; `bar` is the adjoint of its
    result, None if that is zero. What it gives is the adjoint of what the call was given."""
    method, args = shadow_method(call), list(call.args[1:])
    if method in _READING:
        if bar is None and (method != "like_at" or len(args) == 4):
            return None
        args = [*args[: 3 if method == "like_at" else 1], *((bar,) if bar is not None else ())]
        return _called(shadow, _READING[method], args)
    if method in _TAKING:
        args.insert(1 if method == "take" else 2, ir.Const(0.0) if bar is None else bar)
    elif method.startswith("put"):
        del args[GIVEN[method] - 1]
    transposed = _TAKING.get(method) or _GIVING[method]
    return _called(shadow, transposed, args)


def _called(shadow: str, method: str, args: list[ir.Expr]) -> ir.Call:
    if method in ("take", "put") and isinstance(args[-1], ir.Display):
        args[-1:] = args[-1].items
    return ir.Call(ir.Attribute(ir.Var(shadow), method), tuple(args))
