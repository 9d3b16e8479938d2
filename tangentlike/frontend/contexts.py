"""`with`: its items entered one after another, its body between an `Enter` and a `Leave`.

before::                             after::
    with np.errstate(divide="ignore"):   Enter(np.errstate(divide="ignore"))
        y = 1.0 / x                      y = 1.0 / x
        return np.sum(y)                 result = np.sum(y)
                                         Leave()
                                         return result
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np

from .. import ir, runtime
from ..ir import Call, Enter, Expr, Leave, Origin, Ref

_UNSUPPRESSED = Ref("Unsuppressed", runtime.Unsuppressed)
# Managers that let every exception of their body pass.
_PASSING = (np.errstate, np.printoptions, warnings.catch_warnings, contextlib.nullcontext)


def region(context: Expr, target: str, body: tuple[Any, ...], origin: Origin) -> list[Any]:
    """A body within one context. NumPy's error state holds around its derivative as well."""
    again = _is_call_of(context, (np.errstate,))
    if not _is_call_of(context, (*_PASSING, runtime.Unsuppressed)):
        context = Call(_UNSUPPRESSED, (context,))
    end = body[-1].origin if body else origin
    leave = Leave(context if again else None, end)
    return [Enter(context, target, again, origin), *body, leave]


def suppressed(context: Expr) -> tuple[Expr, ...] | None:
    """The classes that a `contextlib.suppress(...)` catches; None for other contexts."""
    match context:
        case Call(fn=Ref(obj=obj), args=classes, kwargs=()) if obj is contextlib.suppress:
            return classes
    return None


def _is_call_of(context: Expr, managers: tuple[Any, ...]) -> bool:
    match context:
        case Call(fn=ir.Ref(obj=obj)):
            return any(obj is manager for manager in managers)
    return False
