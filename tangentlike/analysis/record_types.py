"""Classes whose instances are their fields: namedtuples, plain dataclasses, and classes whose
`__init__` only sets attributes to its arguments.

A call of such a class only puts its arguments into fields, so it is read like a display; and so
is `instance(Layer, w=w)`, which sets attributes of an object of any class.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from typing import Any

from .. import ir
from ..runtime import instance
from ..runtime.records import attribute_of
from .constructors import is_generated, plain_attributes


def record_fields(obj: Any) -> tuple[str, ...] | None:
    """The fields of a class whose constructor only sets them, in order; None for other things.

    >>> from collections import namedtuple
    >>> record_fields(namedtuple("Layer", "w b")), record_fields(dict)
    (('w', 'b'), None)
    """
    if not isinstance(obj, type):
        return None
    if issubclass(obj, tuple) and hasattr(obj, "_fields"):
        return tuple(obj._fields) if is_generated(obj.__new__) else None
    if not dataclasses.is_dataclass(obj):
        attributes = plain_attributes(obj)
        return None if attributes is None else tuple(attributes)
    if "__dataclass_fields__" not in vars(obj):
        return None
    plain = is_generated(obj.__init__) and not hasattr(obj, "__post_init__")
    if not plain or obj.__new__ is not object.__new__ or not _sets_plainly(obj):
        return None
    fields = dataclasses.fields(obj)
    if [f.name for f in fields if f.init] != list(inspect.signature(obj).parameters):
        return None  # some parameters are for the initialisation only
    return tuple(f.name for f in fields)


def _sets_plainly(cls: Any) -> bool:
    """Whether setting a field stores the value and does nothing else."""
    setter: Any = cls.__setattr__
    if setter is not object.__setattr__ and not is_generated(setter):
        return False
    names = {f.name for f in dataclasses.fields(cls)}
    found = [vars(base).get(n) for base in cls.__mro__ for n in names]
    return not any(hasattr(v, "__set__") and not inspect.ismemberdescriptor(v) for v in found)


def record_class(call: ir.Expr) -> type | None:
    """The class of which a call makes an instance by setting its fields; None for any other."""
    match call:
        case ir.Call(fn=ir.Ref(obj=obj), args=(ir.Ref(obj=cls),)) if obj is instance:
            return cls if isinstance(cls, type) else None
        case ir.Call(fn=ir.Ref(obj=obj), args=(), kwargs=fields) if obj is types.SimpleNamespace:
            return types.SimpleNamespace if all(name for name, _ in fields) and fields else None
        case ir.Call(fn=ir.Ref(obj=obj)) if record_fields(obj) is not None:
            return obj if isinstance(obj, type) else None
    return None


def record_names(call: ir.Call) -> tuple[str, ...]:
    """The fields of the instance that a call makes, in order."""
    cls = record_class(call)
    if isinstance(call.fn, ir.Ref) and call.fn.obj in (instance, types.SimpleNamespace):
        return tuple(name for name, _ in call.kwargs)
    return (record_fields(cls) if cls is not None else None) or ()


def record_values(call: ir.Expr) -> dict[str, ir.Expr] | None:
    """The values that a call of such a class gives its fields; None for any other call.

    Fields that keep their defaults are absent.
    """
    found = _record_values(call) if isinstance(call, ir.Call) else None
    return None if found is None else dict(found)


@ir.of_node
def _record_values(call: ir.Call) -> dict[str, ir.Expr] | None:
    cls = record_class(call)
    if cls is None or any(map(ir.is_starred, call.args)):
        return None
    assert isinstance(call.fn, ir.Ref)
    if call.fn.obj in (instance, types.SimpleNamespace):
        return dict(call.kwargs)
    try:
        bound = inspect.signature(cls).bind(*call.args, **dict(call.kwargs)).arguments
    except (TypeError, ValueError):
        return None
    attributes = None if dataclasses.is_dataclass(cls) else plain_attributes(cls)
    if attributes is None:
        return dict(bound)
    params = ((field, v.name) for field, v in attributes.items() if isinstance(v, ir.Var))
    return {field: bound[param] for field, param in params if param in bound}


def required_fields(call: ir.Call) -> tuple[str, ...] | None:
    """The fields of the instance that a call makes, where all of them must be given by position
    or by name; None for other calls."""
    cls = record_class(call)
    if cls is None or not isinstance(call.fn, ir.Ref) or call.fn.obj is not cls:
        return None
    params = inspect.signature(cls).parameters.values()
    plain = all(p.kind == p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in params)
    return tuple(p.name for p in params) if plain else None


def sets_when_made(cls: type, name: str) -> bool:
    """Whether objects of a class have an attribute from the start, as far as the names in its
    `__init__`, and in the methods that this calls, tell.

    >>> class Log:
    ...     size = 0
    ...     def __init__(self): self.rows = []; self.reset()
    ...     def reset(self): self.count = 0
    ...     def add(self, row): self.last = row
    >>> [sets_when_made(Log, name) for name in ("size", "rows", "count", "last")]
    [True, True, True, False]
    """
    if hasattr(cls, name):
        return not isinstance(getattr(cls, name), functools.cached_property)
    work: list[Any] = [vars(base)["__init__"] for base in cls.__mro__ if "__init__" in vars(base)]
    seen: set[Any] = {object.__init__}
    while work:
        method = inspect.unwrap(work.pop())
        if method in seen:
            continue
        seen.add(method)
        code = getattr(method, "__code__", None)
        if code is None or name in code.co_names:
            return True
        work += [m for m in (getattr(cls, n, None) for n in code.co_names) if callable(m)]
    return False


def is_replace(obj: Any) -> bool:
    """Whether an object is `dataclasses.replace`, perhaps made for one way of calling it."""
    name = attribute_of(obj, "__qualname__", "")
    return bool(name == "replace" and attribute_of(obj, "__module__", "") == dataclasses.__name__)
