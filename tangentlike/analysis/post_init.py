"""Dataclasses with a `__post_init__`: the `__init__` that Python wrote for them, as statements.

before::                                 after::
    @dataclass                               def __init__(self, w, scale=1.0):
    class Layer:                                 self.w = w
        w: np.ndarray                            self.scale = scale
        scale: float = 1.0                       self.__post_init__()
        def __post_init__(self):
            self.norm = self.scale * np.sum(self.w)
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from collections.abc import Collection
from typing import Any

from .. import ir
from ..frontend.lower import Lowered, lower

_KINDS = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "any",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
}
_EMPTY: dict[Any, ir.Expr] = {list: ir.Display("list", ()), dict: ir.Display("dict", ())}


def is_generated(method: Any) -> bool:
    """Whether Python wrote a method of a namedtuple or a dataclass, and no person."""
    code = getattr(method, "__code__", None)
    return code is not None and code.co_filename == "<string>"


def initialiser_of(cls: Any) -> Any:
    """What Python calls for a new object of a class, whoever wrote it."""
    return cls.__init__


def post_initialiser(cls: Any) -> types.FunctionType | None:
    """The `__post_init__` that the generated `__init__` of a dataclass calls; None for others."""
    if not dataclasses.is_dataclass(cls) or not is_generated(initialiser_of(cls)):
        return None
    found = inspect.getattr_static(cls, "__post_init__", None)
    return found if isinstance(found, types.FunctionType) else None


def made_by_factories(cls: Any, given: Collection[str]) -> frozenset[str]:
    """The fields that a call makes with their `default_factory`, by the parameters it is given."""
    missing = dataclasses.MISSING
    fields = (f for f in dataclasses.fields(cls) if f.init and f.name not in given)
    return frozenset(f.name for f in fields if f.default_factory is not missing)


def written_init(cls: type, post: types.FunctionType, omitted: Collection[str]) -> Lowered | None:
    """The generated `__init__` as a function; `omitted` are fields that their factories make.
    None where a default cannot be written down."""
    lowered = lower(post)
    own = lowered.function.params[0].name if lowered.function.params else ""
    origin = ir.Origin(lowered.function.place)
    params = [ir.Param(own)]
    made = made_by_factories(cls, ())
    for p in inspect.signature(cls).parameters.values():
        if p.name in omitted:
            continue
        default = None if p.default is p.empty else _constant(p.default)
        if p.name in made:  # (it is given: what stands for its default is not used)
            default = ir.Const(None)
        if p.kind not in _KINDS or p.name == own or (p.default is not p.empty and default is None):
            return None
        params.append(ir.Param(p.name, _KINDS[p.kind], default))
    body: list[ir.Stmt] = []
    for field in dataclasses.fields(cls):
        value = _value(field, field.name in omitted)
        if value is None:
            continue
        if not isinstance(value, ir.Atom):
            name = field.name if field.init else f"{field.name}_made"
            body.append(ir.Assign(name, value, origin))
            value = ir.Var(name)
        body.append(ir.Store(ir.Attribute(ir.Var(own), field.name), value, origin))
    extra = tuple(ir.Var(name) for name in _init_only(cls))
    call = ir.Call(ir.Attribute(ir.Var(own), "__post_init__"), extra, at=lowered.function.place)
    ending = ir.Return(ir.Const(None), origin)
    function = dataclasses.replace(
        lowered.function, params=tuple(params), body=(*body, ir.Do(call, origin), ending)
    )
    return dataclasses.replace(lowered, function=function)


def _init_only(cls: Any) -> list[str]:
    """The parameters that `__post_init__` is given, which are no fields (`InitVar`)."""
    fields = {f.name for f in dataclasses.fields(cls)}
    return [name for name in inspect.signature(cls).parameters if name not in fields]


def _value(field: Any, by_factory: bool) -> ir.Expr | None:
    """What the generated `__init__` stores in a field; None where it stores nothing."""
    factory = field.default_factory
    if factory is not dataclasses.MISSING and (by_factory or not field.init):
        return _EMPTY.get(factory) or ir.Call(_reference(factory), ())
    if field.init:
        return ir.Var(field.name)
    return None if field.default is dataclasses.MISSING else _constant(field.default)


def _constant(value: Any) -> ir.Expr | None:
    plain = value is None or isinstance(value, (bool, int, float, complex, str))
    return ir.Const(value) if plain else None


def _reference(factory: Any) -> ir.Ref:
    name = getattr(factory, "__name__", "factory")
    return ir.Ref(name, factory)


def can_be_named(cls: Any) -> bool:
    """Whether the factories of a dataclass are known by their names where the class is defined."""
    namespace = vars(sys.modules.get(cls.__module__, types.ModuleType("none")))
    factories = [f.default_factory for f in dataclasses.fields(cls)]
    named = (f for f in factories if f is not dataclasses.MISSING and f not in _EMPTY)
    return all(namespace.get(getattr(f, "__name__", "")) is f for f in named)
