"""Classes whose instances are their fields: namedtuples and plain dataclasses.

A call of such a class only puts its arguments into fields, so it is read like a display.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from .. import ir


def record_fields(obj: Any) -> tuple[str, ...] | None:
    """The fields of a class whose constructor only sets them, in order; None for other things.

    >>> from collections import namedtuple
    >>> record_fields(namedtuple("Layer", "w b")), record_fields(dict)
    (('w', 'b'), None)
    """
    if not isinstance(obj, type):
        return None
    if issubclass(obj, tuple) and hasattr(obj, "_fields"):
        return tuple(obj._fields) if _is_generated(obj.__new__) else None
    if not dataclasses.is_dataclass(obj) or "__dataclass_fields__" not in vars(obj):
        return None
    plain = _is_generated(obj.__init__) and not hasattr(obj, "__post_init__")
    if not plain or obj.__new__ is not object.__new__ or not _sets_plainly(obj):
        return None
    fields = dataclasses.fields(obj)
    if [f.name for f in fields if f.init] != list(inspect.signature(obj).parameters):
        return None  # some parameters are for the initialisation only
    return tuple(f.name for f in fields)


def _is_generated(method: Any) -> bool:
    """Whether Python wrote a method of a namedtuple or a dataclass, and no person."""
    code = getattr(method, "__code__", None)
    return code is not None and code.co_filename.startswith("<")


def _sets_plainly(cls: Any) -> bool:
    """Whether setting a field stores the value and does nothing else."""
    setter: Any = cls.__setattr__
    if setter is not object.__setattr__ and not _is_generated(setter):
        return False
    names = {f.name for f in dataclasses.fields(cls)}
    found = [vars(base).get(n) for base in cls.__mro__ for n in names]
    return not any(hasattr(v, "__set__") and not inspect.ismemberdescriptor(v) for v in found)


def record_values(call: ir.Expr) -> dict[str, ir.Expr] | None:
    """The values that a call of such a class gives its fields; None for any other call.

    Fields that keep their defaults are absent.
    """
    if not isinstance(call, ir.Call) or not isinstance(call.fn, ir.Ref):
        return None
    if record_fields(call.fn.obj) is None or any(map(ir.is_starred, call.args)):
        return None
    try:
        bound = inspect.signature(call.fn.obj).bind(*call.args, **dict(call.kwargs))
    except (TypeError, ValueError):
        return None
    return dict(bound.arguments)
