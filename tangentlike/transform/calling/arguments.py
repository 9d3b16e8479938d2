"""What a call gives each parameter of the function that it calls."""

from __future__ import annotations

import inspect

from ... import ir
from ...errors import UnsupportedError


def bind(call: ir.Call) -> dict[str, ir.Expr]:
    """The actual expression of each formal that a call gives one."""
    assert isinstance(call.fn, ir.Ref)
    signature = inspect.signature(call.fn.obj, follow_wrapped=False)
    if any(map(ir.is_starred, call.args)):
        raise UnsupportedError(
            f"how many arguments this call gives `{call.fn.text}` shows only when it runs",
            call.at,
            "Unpack a tuple whose length can be seen, or write the arguments one by one.",
        )
    try:
        bound = signature.bind(*call.args, **dict(call.kwargs))
    except TypeError as error:
        raise UnsupportedError(
            f"this call does not fit `{call.fn.text}{signature}`: {error}", call.at
        ) from None
    actuals: dict[str, ir.Expr] = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            value = ir.Display("tuple", tuple(value))
        elif kind is inspect.Parameter.VAR_KEYWORD:
            keys = tuple(map(ir.Const, value))
            value = ir.Display("dict", tuple(value.values()), keys)
        actuals[name] = value
    return actuals


def bind_loosely(call: ir.Call) -> dict[str, ir.Expr]:
    """What each formal may be given, where which it is cannot be seen."""
    if not any(map(ir.is_starred, call.args)):
        return bind(call)
    assert isinstance(call.fn, ir.Ref)
    values = (v for a in ir.children(call)[1:] for v in (ir.children(a) or (a,)))
    anything = ir.Display("tuple", tuple(values))
    return dict.fromkeys(inspect.signature(call.fn.obj, follow_wrapped=False).parameters, anything)
