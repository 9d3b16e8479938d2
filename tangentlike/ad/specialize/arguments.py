"""What a call gives each parameter of the function that it calls."""

from __future__ import annotations

import inspect

from ... import ir
from ...errors import UnsupportedError
from ...frontend.lifting import lifted_of


def bind(call: ir.Call) -> dict[str, ir.Expr]:
    """The actual expression of each formal that a call gives one."""
    return dict(_bound(call))


@ir.of_node
def _bound(call: ir.Call) -> dict[str, ir.Expr]:
    assert isinstance(call.fn, ir.Ref)
    signature = inspect.signature(call.fn.obj, follow_wrapped=False)
    if any(map(ir.is_starred, call.args)):
        raise UnsupportedError(
            f"how many arguments this call gives `{call.fn.text}` is not known until run time",
            call.at,
            "Unpack a tuple that is written out, as in `args = (x, y)`, or write the arguments "
            "one by one.",
        )
    try:
        bound = signature.bind(*call.args, **dict(call.kwargs))
    except TypeError as error:
        if lifted_of(call.fn.obj) is not None and "self" in signature.parameters:
            raise UnsupportedError(
                f"this call does not fit `{call.fn.text}`: {error}",
                call.at,
                "Its defaults are the values it captures: they cannot be passed here. Make it "
                "without them (`lambda x: x * t`), or a parameter without a default.",
            ) from None
        raise UnsupportedError(
            f"this call does not fit `{call.fn.text}{signature}`: {error}",
            call.at,
            "Pass the arguments that the function takes.",
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
