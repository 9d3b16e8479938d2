"""Which argument of a call each parameter of a rule is."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import numpy as np

from .. import ir
from ..errors import Place, UnsupportedError
from .book import Rule
from .template import Template

__all__ = ["match_call", "spread"]


def match_call(
    rule: Rule, template: Template, call: ir.Call
) -> tuple[dict[str, ir.Expr], frozenset[str]]:
    """Parameters to actual arguments, and the parameters left at their defaults."""
    for arg in call.args:
        if isinstance(arg, ir.Opaque) and arg.text.startswith("*"):
            raise UnsupportedError(
                f"how many arguments this call gives `{rule.name}` is not known until run time",
                call.at,
                "Write the arguments one by one.",
            )
    params = template.signature.parameters
    if isinstance(getattr(call.fn, "obj", None), np.ufunc):
        told = tuple((name, value) for name, value in call.kwargs if name not in _MEMORY)
        call = dataclasses.replace(call, kwargs=told)
    for name, _ in call.kwargs:
        known = params.get(name)
        if known is None or known.kind is inspect.Parameter.VAR_POSITIONAL:
            raise _unnamed(rule, f"`{name}`", f"(..., {name}=...)", call.at)
    try:
        bound = template.signature.bind(*call.args, **dict(call.kwargs))
    except TypeError as error:
        raise _unnamed(rule, f"this call ({error})", "(...)", call.at) from error
    unsupplied = frozenset(params) - frozenset(bound.arguments)
    arguments: dict[str, ir.Expr] = {}
    for name, param in params.items():
        if param.kind is inspect.Parameter.VAR_POSITIONAL:
            arguments[name] = ir.Display("tuple", tuple(bound.arguments.get(name, ())))
        elif name in bound.arguments:
            arguments[name] = bound.arguments[name]
        else:
            arguments[name] = _default(param.default)
    return arguments, unsupplied


# Options of every ufunc that say how the result lies in memory and which types are taken: no rule
# names them, and none depends on them.
_MEMORY = ("order", "casting", "subok")


def _unnamed(rule: Rule, what: str, form: str, at: Place | None) -> UnsupportedError:
    noun = "the argument " if what.startswith("`") else ""
    return UnsupportedError(
        f"{rule.name}{form} has no rule for {noun}{what}",
        at,
        "Write the call without it, or give the operation a rule of your own with @tl.rule.",
    )


def _default(value: Any) -> ir.Expr:
    if isinstance(value, tuple):
        return ir.Display("tuple", tuple(map(_default, value)))
    if isinstance(value, type):
        return ir.Ref(value.__name__, value)
    return ir.Const(value)


def spread(
    template: Template, arguments: dict[str, ir.Expr]
) -> tuple[dict[str, ir.Expr], dict[str, ir.Expr]]:
    """Give each operand of `*operands` a parameter of its own: `operands0`, `operands1`, ..."""
    values: dict[str, ir.Expr] = dict(arguments)
    spread: dict[str, ir.Expr] = {}
    for name, param in template.signature.parameters.items():
        actual = arguments[name]
        if param.kind is not inspect.Parameter.VAR_POSITIONAL:
            spread[name] = actual
            continue
        assert isinstance(actual, ir.Display)
        for place, item in enumerate(actual.items):
            spread[f"{name}{place}"] = item
        dots = tuple(ir.Var(f"${name}{place}_dot") for place in range(len(actual.items)))
        values[f"${name}_dot"] = ir.Display("tuple", dots)
    return values, spread
