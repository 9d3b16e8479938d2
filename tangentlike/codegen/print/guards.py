"""What the text of a derivative begins with where it is for some types of arguments only.

In this process each call is served by the text for its arguments. A file cannot do that, so that
`require_types("x: float[n], w: float[n]", x, w)` stands there in place of the comment that says
what the text is for.
"""

from __future__ import annotations

import dataclasses

from ... import ir
from ...runtime import require_types

_CHECK = ir.Ref(require_types.__name__, require_types)


def guarded(module: ir.Module, count: int) -> ir.Module:
    """The module with the types that it was made for checked by its last functions, of which so
    many are called with such arguments or with what the first of them saved."""
    types = [(name, text) for name, text in module.types if text != "object"]
    callees, main = module.functions[:-count], module.functions[-count:]
    return ir.Module((*callees, _guarded(main[0], types), *main[1:]))


def _guarded(fn: ir.Function, types: list[tuple[str, str]]) -> ir.Function:
    stated = [(name, text) for name, text in types if name in fn.param_names]
    if not stated:
        return fn
    text = ", ".join(f"{name}: {text}" for name, text in stated)
    operands: tuple[ir.Expr, ...] = (ir.Const(text), *(ir.Var(name) for name, _ in stated))
    check = ir.Do(ir.Call(_CHECK, operands, at=fn.place), ir.Origin(fn.place, "check"))
    return dataclasses.replace(fn, body=(check, *fn.body))
