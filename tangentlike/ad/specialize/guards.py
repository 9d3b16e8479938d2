"""What a function that was read for certain classes of objects checks first."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ... import ir
from ...frontend.lower import Lowered
from ...ir.kind import NOTHING, Kind
from ...runtime import require_class, require_none
from .module_values import module_check


def guarded(lowered: Lowered, given: Mapping[str, Kind]) -> Lowered:
    """A function that begins with `require_class(layer, Layer)` for each object it is given, and
    with `require_none(xp)` for each None."""
    function = lowered.function
    origin = ir.Origin(function.place)
    checks: list[ir.Stmt] = [
        ir.Do(
            ir.Call(
                ir.Ref("require_class", require_class),
                (ir.Var(name), ir.Ref(kind.cls.__name__, kind.cls)),
                at=function.place,
            ),
            origin,
        )
        for name, kind in given.items()
        if kind.has_methods and kind.cls is not None and name in function.param_names
    ]
    modules = (module_check(n, k, function, lowered.scope) for n, k in given.items())
    checks += [check for check in modules if check is not None]
    nothing = ir.Ref("require_none", require_none)
    checks += [
        ir.Do(ir.Call(nothing, (ir.Var(name),), at=function.place), origin)
        for name, kind in given.items()
        if kind == NOTHING and name in function.param_names
    ]
    checks = [check for check in checks if check not in function.body[: len(checks)]]
    function = dataclasses.replace(function, body=(*checks, *function.body))
    return dataclasses.replace(lowered, function=function)
