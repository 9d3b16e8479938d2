"""What a call of a class does: its `__init__` as a function that makes the object.

before::                                after::
    class Layer(Base):                      def Layer(w, n):
        def __init__(self, w, n):               b = np.zeros(n)
            super().__init__(w)                 self = instance(Layer, w=w, b=b)
            self.b = np.zeros(n)                return self

The attributes that are set first are given to the object when it is made, so that nothing is
overwritten and most constructors need no more than that. What follows works on the object.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import inspect
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

from .. import ir
from ..errors import UnsupportedError
from ..frontend.lifting import signature_of
from ..frontend.lower import Lowered, names_of, read_once
from ..frontend.owners import is_machinery, is_numerical, is_ours, is_standard
from ..frontend.signatures import plain_signature
from ..ir.names import Names
from ..rules.definitions import as_defined
from ..rules.twins import as_numpy
from ..runtime import instance
from ..runtime.recent import Recent
from ..runtime.records import attribute_of
from .operations import is_python_function

_BASES = (list, tuple, dict, set, frozenset, str, bytes, int, float, complex, BaseException, type)
_INSTANCE = ir.Ref("instance", instance)
_PLAIN: Recent[type, tuple[Any, dict[str, ir.Expr] | None]] = Recent(1024)


def initialiser(cls: Any) -> types.FunctionType | None:
    """The `__init__` of a class of the user's whose objects are made in no other way, or the
    `__post_init__` that Python calls in the one it wrote; None for anything else."""
    if not _is_made_plainly(cls):
        return None
    if dataclasses.is_dataclass(cls) and is_generated(initialiser_of(cls)):
        return post_initialiser(cls) if can_be_named(cls) else None
    found = inspect.getattr_static(cls, "__init__", None)
    return found if isinstance(found, types.FunctionType) else None


def _is_made_plainly(cls: Any) -> bool:
    """Whether calling a class of the user's does no more than `__init__` does, if it has one."""
    if not isinstance(cls, type) or type(cls) not in (type, abc.ABCMeta):
        return False
    if issubclass(cls, _BASES) or is_machinery(cls):
        return False
    if is_numerical(cls) or is_ours(cls) or cls.__new__ is not object.__new__:
        return False
    plain = cls.__setattr__ is object.__setattr__
    return plain or (dataclasses.is_dataclass(cls) and is_generated(cls.__setattr__))


def own_way_of_making(cls: Any) -> str:
    """What a class of the user's has of its own that makes its objects; "" if nothing does."""
    if not isinstance(cls, type) or issubclass(cls, _BASES) or is_machinery(cls):
        return ""
    if is_numerical(cls) or is_ours(cls):
        return ""
    if type(cls) not in (type, abc.ABCMeta):
        return "a metaclass"
    if cls.__new__ is not object.__new__:
        return "`__new__`"
    if dataclasses.is_dataclass(cls) and hasattr(cls, "__post_init__"):
        return "a `__post_init__`, or a `default_factory`,"
    plain = cls.__setattr__ is object.__setattr__ or dataclasses.is_dataclass(cls)
    return "" if plain else "`__setattr__`"


def plain_attributes(cls: type) -> dict[str, ir.Expr] | None:
    """Attribute -> the parameter or the constant that it is, for a class whose `__init__` does
    no more than set attributes to such; None for any other.

    `def __init__(self, w, b=None): self.w, self.b, self.count = w, b, 0` gives
    `{"w": w, "b": b, "count": 0}`.
    """
    init = initialiser(cls)
    if init is None:
        bare = _is_made_plainly(cls) and initialiser_of(cls) is object.__init__
        return {} if bare and not is_standard(cls.__module__) else None
    known = _PLAIN.get(cls)
    if known is None or known[0] is not init:
        known = _PLAIN.put(cls, (init, _plain_attributes(cls)))
    return known[1]


def _plain_attributes(cls: type) -> dict[str, ir.Expr] | None:
    try:
        lowered = constructor(cls)
    except UnsupportedError:
        return None
    if lowered is None or any(p.kind in ("*", "**") for p in lowered.function.params):
        return None
    match lowered.function.body:
        case (ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), kwargs=kwargs)), ir.Return()):
            params = frozenset(lowered.function.param_names)
            known = (
                isinstance(v, ir.Const) or (isinstance(v, ir.Var) and v.name in params)
                for _, v in kwargs
            )
            return dict(kwargs) if obj is instance and all(known) else None
    return None


def constructor(cls: type, omitted: frozenset[str] = frozenset()) -> Lowered | None:
    """The function that makes an object of a class; None where its class does not say how.
    `omitted` are fields of a dataclass that get what their `default_factory` makes."""
    init = initialiser(cls)
    if init is None or _has_descriptors(cls):
        return None
    is_post = init is post_initialiser(cls)
    written = written_init(cls, init, omitted) if is_post else read_once(init)
    if written is None:
        return None
    lowered = as_defined(as_numpy(written))
    lowered = arguments_passed_on(
        lowered, _Desugaring(cls, "", names_of(lowered.function)).following
    )
    function = lowered.function
    if not function.params or _rebinds(function, function.params[0].name):
        return None
    own, names = function.params[0].name, names_of(function)
    above = () if is_post else (init,)
    body = _Desugaring(cls, own, names).block(function.body, lowered, above)
    *rest, last = body
    assert isinstance(last, ir.Return)
    body = _fused(tuple(rest), own, cls, function)
    made = dataclasses.replace(
        function,
        name=cls.__name__,
        params=tuple(dataclasses.replace(p, annotation="") for p in function.params[1:]),
        body=(*body, dataclasses.replace(last, value=ir.Var(own))),
    )
    return dataclasses.replace(lowered, function=made)


def with_class(fn: types.FunctionType, cls: type) -> Lowered | None:
    """A class method as a function in which the class stands for its first parameter."""
    lowered = as_defined(as_numpy(read_once(fn)))
    function = lowered.function
    if not function.params or function.params[0].kind not in ("any", "positional"):
        return None
    first = function.params[0].name
    if _rebinds(function, first):
        return None
    made = dataclasses.replace(
        function,
        params=tuple(dataclasses.replace(p, annotation="") for p in function.params[1:]),
        body=_of_the_class(lowered, ir.Ref(cls.__name__, cls)),
    )
    return dataclasses.replace(lowered, function=made)


def _of_the_class(lowered: Lowered, cls: ir.Ref) -> ir.Block:
    """The body of a class method with the class for its first parameter; what is called of that,
    `cls.of(p)`, by the name that it has there."""
    first = lowered.function.param_names[0]

    def expr(e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Call(args=()) if is_super(e) and "__class__" in lowered.scope.cells:
                owner = lowered.scope.cells["__class__"].cell_contents
                return dataclasses.replace(e, args=(ir.Ref(owner.__name__, owner), cls))
            case ir.Call(fn=ir.Attribute(ir.Ref(text, obj), name)) if obj is cls.obj:
                found = getattr(obj, name, None)
                if callable(found):
                    e = dataclasses.replace(e, fn=ir.Ref(f"{text}.{name}", found))
        return ir.rebuild(e, expr)

    return ir.rewrite(ir.renamed(lowered.function.body, {first: cls}), expression=expr)


def _has_descriptors(cls: type) -> bool:
    """Whether assigning an attribute may run code that is not a property's."""
    values = (v for base in cls.__mro__[:-1] for v in vars(base).values())
    plain = (property, types.GetSetDescriptorType, types.MemberDescriptorType)
    return any(hasattr(type(v), "__set__") and not isinstance(v, plain) for v in values)


def _rebinds(function: ir.Function, name: str) -> bool:
    return any(name in ir.binds(stmt) for stmt in ir.statements(function.body))


# --------------------------------------------------------------- methods that it calls


@dataclasses.dataclass
class _Desugaring:
    """Puts `super().__init__(...)`, and methods called for their effect, where they are called:
    they set attributes that the object has not yet."""

    cls: type
    own: str
    names: Names

    def block(self, block: ir.Block, lowered: Lowered, above: tuple[Any, ...]) -> ir.Block:
        stmts = list(ir.statements(block))
        counts = ir.bindings(stmts)
        parents = {
            stmt.target: stmt.value
            for stmt in stmts
            if isinstance(stmt, ir.Assign) and isinstance(stmt.target, str)
            if is_super(stmt.value) and counts[stmt.target] == 1
        }

        def one(stmt: ir.Stmt) -> Iterator[ir.Stmt] | None:
            known = lowered, above, parents
            return self.statement(stmt, *known) if isinstance(stmt, ir.Do) else None

        return ir.without_unread(ir.rewrite(block, one), parents)

    def statement(
        self,
        stmt: ir.Stmt,
        lowered: Lowered,
        above: tuple[Any, ...],
        parents: Mapping[str, ir.Expr],
    ) -> Iterator[ir.Stmt]:
        found = None
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name), method)) as call):
                if name in parents:
                    found = self.following(parents[name], lowered, method)
                elif name == self.own:
                    found = inspect.getattr_static(self.cls, method, None)
                args = (ir.Var(self.own), *call.args)
            case ir.Do(
                value=ir.Call(fn=fn, args=(ir.Var(self.own), ir.Const(str(name)), value))
            ) if _sets_attribute(fn):
                yield ir.Store(ir.Attribute(ir.Var(self.own), name), value, stmt.origin)
                return
            case ir.Do(value=ir.Call(fn=ir.Ref(obj=obj), args=args) as call):
                found = obj if args[:1] == (ir.Var(self.own),) else None
        if not isinstance(found, types.FunctionType) or found in above:
            yield stmt
            return
        assert isinstance(stmt, ir.Do) and isinstance(stmt.value, ir.Call)
        inner = as_defined(as_numpy(read_once(found)))
        inner = arguments_passed_on(inner, self.following)
        body = self.body_of(inner, ir.Call(stmt.value.fn, args, call.kwargs), stmt.origin)
        if body is None:
            yield stmt
            return
        yield from self.block(body, inner, (*above, found))

    def following(self, parent: ir.Expr, lowered: Lowered, method: str) -> Any:
        """What `super().method` is, of the object that is made."""
        asked = asked_after(parent, lowered)
        own = (self.own, *lowered.function.param_names[:1])
        if asked is None or asked[1] not in [ir.Var(name) for name in own]:
            return None
        base = next_class(self.cls, asked[0], method)
        return None if base is None else vars(base)[method]

    def body_of(self, lowered: Lowered, call: ir.Call, origin: ir.Origin) -> ir.Block | None:
        """The body of a method by names of the constructor, without its `return`."""
        function = lowered.function
        call, before = self.words_taken(call, function, origin)
        try:
            bound = signature_of(function).bind(*call.args, **dict(call.kwargs))
        except (TypeError, ValueError):
            return None
        inside = [n for stmt in ir.statements(function.body) for n in ir.binds(stmt)]
        values: dict[str, ir.Expr] = {}
        head: list[ir.Stmt] = []
        for param in function.params:
            value = bound.arguments.get(param.name, param.default)
            rest: ir.Expr | None = None
            if param.kind in _STARRED:
                value, rest = _packed(value, param.kind)
            if not isinstance(value, (ir.Atom, ir.Display)):
                return None
            if param.name not in inside and isinstance(value, ir.Atom):
                values[param.name] = value
                continue
            new = self.names.fresh(param.name)
            values[param.name] = ir.Var(new)
            head.append(ir.Assign(new, value, origin))
            if rest is not None:
                update = ir.Call(ir.Attribute(ir.Var(new), "update"), (rest,))
                head.append(ir.Do(update, origin))
        for name in inside:
            if name not in values:
                values[name] = ir.Var(self.names.fresh(name))
        *body, last = function.body
        if not isinstance(last, ir.Return):
            body.append(last)
        return (*before, *head, *ir.renamed(tuple(body), values))

    def words_taken(
        self, call: ir.Call, function: ir.Function, origin: ir.Origin
    ) -> tuple[ir.Call, ir.Block]:
        """A call with the parameters that `**options` may hold by name, and the statements that
        take them from a copy of it: `weights = rest.pop("weights", 1.0)`."""
        *args, last = call.args or (None,)
        if not (isinstance(last, ir.Opaque) and last.text.startswith("**") and last.values):
            return call, ()
        rest = self.names.fresh("rest")
        update = ir.Call(ir.Attribute(ir.Var(rest), "update"), last.values)
        block: list[ir.Stmt] = [
            ir.Assign(rest, ir.Display("dict", ()), origin),
            ir.Do(update, origin),
        ]
        words: dict[str, ir.Expr] = dict(call.kwargs)
        for param in function.params[len(args) :]:
            if param.name in words or param.kind in ("positional", *_STARRED):
                continue
            default = () if param.default is None else (param.default,)
            value = ir.Call(ir.Attribute(ir.Var(rest), "pop"), (ir.Const(param.name), *default))
            name = self.names.fresh(param.name)
            block.append(ir.Assign(name, value, origin))
            words[param.name] = ir.Var(name)
        if any(param.kind == "**" for param in function.params):
            words["**"] = ir.Var(rest)
        return dataclasses.replace(call, args=tuple(args), kwargs=(*words.items(),)), tuple(block)


def _packed(given: Any, kind: str) -> tuple[ir.Expr | None, ir.Expr | None]:
    """What a starred parameter is bound to, and a dict to be added to that: `{"**": kw}` is `**kw`
    (None where some of it is not a name)."""
    words = dict(given or {}) if kind == "**" else {}
    rest = words.pop("**", None)
    items = tuple(words.values()) if kind == "**" else tuple(given or ())
    if not all(isinstance(item, ir.Atom) for item in items):
        return None, None
    if kind == "*":
        return ir.Display("tuple", items), None
    if rest is not None and not words:
        return rest, None
    return ir.Display("dict", items, tuple(map(ir.Const, words))), rest


def _sets_attribute(fn: ir.Expr) -> bool:
    """Whether it is `object.__setattr__`, by which objects that are frozen are given attributes."""
    match fn:
        case ir.Attribute(ir.Ref(obj=owner), "__setattr__"):
            return owner is object
        case ir.Ref(obj=obj):
            return obj is object.__setattr__
    return False


def is_super(value: ir.Expr) -> bool:
    return isinstance(value, ir.Call) and isinstance(value.fn, ir.Ref) and value.fn.obj is super


def asked_after(parent: ir.Expr, lowered: Lowered) -> tuple[type, ir.Expr] | None:
    """The class after which `super()` looks, and the object whose attributes it gives: the class
    that a function was written in, and its first argument, unless these are given."""
    cell, params = lowered.scope.cells.get("__class__"), lowered.function.param_names
    match parent:
        case ir.Call(args=(ir.Ref(obj=type() as owner), of)):
            return owner, of
        case ir.Call(args=()) if cell is not None and params:
            return cell.cell_contents, ir.Var(params[0])
    return None


def next_class(cls: type, owner: type, name: str) -> type | None:
    """The class that gives objects of a class what has this name, of those that come after one."""
    if not issubclass(cls, owner):
        return None
    later = cls.__mro__[cls.__mro__.index(owner) + 1 :]
    return next((base for base in later if name in vars(base)), None)


# ------------------------------------------------------------- attributes that are set at first


def _fused(body: ir.Block, own: str, cls: type, function: ir.Function) -> ir.Block:
    """`self.w = w; self.b = b` as one call that makes the object with its attributes."""
    counts = dict.fromkeys(function.param_names, 1)
    for stmt in ir.statements(body):
        for name in ir.binds(stmt):
            counts[name] = counts.get(name, 0) + 1
    fields: dict[str, ir.Expr] = {}
    before: list[ir.Stmt] = []
    rest = list(body)
    while rest:
        match rest[0]:
            case ir.Store(target=ir.Attribute(ir.Var(base), name), value=value) if base == own:
                is_code = isinstance(inspect.getattr_static(cls, name, None), property)
                if is_code or not _is_steady(value, counts) or value == ir.Var(own):
                    break
                fields[name] = value
            case stmt:
                read = _with_values((stmt,), own, fields)
                if read is None:
                    break
                before += read
        del rest[0]
    origin = rest[0].origin if rest else ir.Origin(function.place)
    made = ir.Call(_INSTANCE, (ir.Ref(cls.__name__, cls),), tuple(fields.items()), function.place)
    return (*before, ir.Assign(own, made, origin), *rest)


def _is_steady(value: ir.Expr, counts: Mapping[str, int]) -> bool:
    """Whether a value is the same wherever it stands."""
    if isinstance(value, ir.Ref):
        return callable(value.obj)
    return isinstance(value, ir.Const) or (isinstance(value, ir.Var) and counts[value.name] == 1)


def _with_values(block: ir.Block, own: str, fields: Mapping[str, ir.Expr]) -> ir.Block | None:
    """Statements with the values of attributes instead of the object that has them; None where
    they need the object itself."""

    def expr(e: ir.Expr) -> ir.Expr:
        if isinstance(e, ir.Attribute) and e.base == ir.Var(own) and e.name in fields:
            return fields[e.name]
        return ir.rebuild(e, expr)

    if any(_writes_attribute(stmt, own) for stmt in ir.statements(block)):
        return None
    made = ir.rewrite(block, expression=expr)
    needed = any(own in ir.reads(s) or own in ir.binds(s) for s in ir.statements(made))
    return None if needed else made


def _writes_attribute(stmt: ir.Stmt, own: str) -> bool:
    match stmt:
        case (
            ir.Store(target=ir.Attribute(ir.Var(base)))
            | ir.Update(target=ir.Attribute(ir.Var(base)))
        ):
            return base == own
    return False


# --------------------------------------------------------------------------------------------------
# Constructors that pass their arguments on: `*args` and `**options` as what the parent takes.
#
# before::                                        after::
#     def __init__(self, n, *args, **options):        def __init__(self, n, w, rate=0.1):
#         super().__init__(*args, **options)              super().__init__(w, rate=rate)
#         self.n = n                                      self.n = n

_STARRED = ("*", "**")


def arguments_passed_on(
    lowered: Lowered, parent: Callable[[ir.Expr, Lowered, str], Any]
) -> Lowered:
    """The function with the parameters of its parent's `__init__` where it only passes them on;
    `parent` gives what `super().name` is."""
    function = lowered.function
    starred = {p.name for p in function.params if p.kind in _STARRED}
    found = [stmt for stmt in function.body if _passes(stmt, starred)]
    uses = [s for s in ir.statements(function.body) if starred & (ir.reads(s) | set(ir.binds(s)))]
    asked = [s.value for s in function.body if isinstance(s, ir.Assign) and is_super(s.value)]
    one = bool(starred) and len(found) == len(asked) == 1
    init = parent(asked[0], lowered, "__init__") if one else None
    if init is None or len(uses) != 1 or not hasattr(init, "__code__"):
        return lowered
    stmt = found[0]
    assert isinstance(stmt, ir.Do) and isinstance(stmt.value, ir.Call)
    taken = arguments_passed_on(read_once(init), parent).function.params[1:]
    params = _taken(stmt.value, taken)
    own = {name for s in ir.statements(function.body) for name in ir.binds(s)}
    own |= set(function.param_names) - starred
    if params is None or own & {p.name for p in params}:
        return lowered
    plain = [p for p in function.params if p.kind not in _STARRED]
    by_position = any(p.kind == "*" for p in function.params)
    defaults = any(p.default is not None for p in plain if p.kind != "keyword")
    if not by_position or (defaults and any(p.default is None for p in params)):
        params = [p if p.kind == "**" else dataclasses.replace(p, kind="keyword") for p in params]
    given = tuple(a for a in stmt.value.args if not ir.is_starred(a))
    words = tuple(("**" if p.kind == "**" else p.name, ir.Var(p.name)) for p in params)
    call = dataclasses.replace(stmt.value, args=given, kwargs=(*stmt.value.kwargs, *words))
    at = function.body.index(stmt)
    body = (
        *function.body[:at],
        dataclasses.replace(stmt, value=call),
        *function.body[at + 1 :],
    )
    first = [p for p in plain if p.kind != "keyword"]
    last = [p for p in plain if p.kind == "keyword"]
    every = sorted((*first, *params, *last), key=lambda p: p.kind == "**")
    again = dataclasses.replace(function, params=tuple(every), body=body)
    return dataclasses.replace(lowered, function=again)


def _passes(stmt: ir.Stmt, starred: set[str]) -> bool:
    """Whether it is `parent.__init__(..., *args, **options)` with all that a function is given."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(), "__init__"), args=args)):
            passed = {n for a in args if isinstance(a, ir.Opaque) for n in ir.names_in(a)}
            return bool(starred) and passed == starred
    return False


def _taken(call: ir.Call, params: tuple[ir.Param, ...]) -> list[ir.Param] | None:
    """The parameters of the parent that the call itself does not give; None where they are
    starred again (`**options` are passed on as they are), or have defaults that mean something
    else here."""
    count = sum(1 for arg in call.args if not ir.is_starred(arg))
    words = {word for word, _ in call.kwargs}
    left = [p for p in params[count:] if p.name not in words]
    plain = all(p.kind in ("any", "keyword", "**") and _is_constant(p.default) for p in left)
    return left if plain else None


def _is_constant(default: ir.Expr | None) -> bool:
    return default is None or isinstance(default, ir.Const)


# --------------------------------------------------------------------------------------------------
# Dataclasses with a `__post_init__`: the `__init__` that Python wrote for them, as statements.
#
# before::                                 after::
#     @dataclass                               def __init__(self, w, scale=1.0):
#     class Layer:                                 self.w = w
#         w: np.ndarray                            self.scale = scale
#         scale: float = 1.0                       self.__post_init__()
#         def __post_init__(self):
#             self.norm = self.scale * np.sum(self.w)

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
    lowered = read_once(post)
    own = lowered.function.params[0].name if lowered.function.params else ""
    origin = ir.Origin(lowered.function.place)
    params = [ir.Param(own)]
    made = made_by_factories(cls, ())
    for p in plain_signature(cls).parameters.values():
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
    return [name for name in plain_signature(cls).parameters if name not in fields]


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


# --------------------------------------------------------------------------------------------------
# Classes whose instances are their fields: namedtuples, plain dataclasses, and classes whose
# `__init__` only sets attributes to its arguments.
#
# A call of such a class only puts its arguments into fields, so it is read like a display; and so
# is `instance(Layer, w=w)`, which sets attributes of an object of any class.


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
    if [f.name for f in fields if f.init] != list(plain_signature(obj).parameters):
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
        bound = plain_signature(cls).bind(*call.args, **dict(call.kwargs)).arguments
    except (TypeError, ValueError):
        return None
    attributes = None if dataclasses.is_dataclass(cls) else plain_attributes(cls)
    if attributes is None:
        return dict(bound)
    params = ((field, v.name) for field, v in attributes.items() if isinstance(v, ir.Var))
    return {field: bound[param] for field, param in params if param in bound}


def record_constants(call: ir.Call) -> dict[str, Any]:
    """The numbers, texts and tuples that fields of the instance have which a call of its class does
    not give: the defaults of parameters, and constants of the `__init__`."""
    cls, given = record_class(call), record_values(call)
    called = isinstance(call.fn, ir.Ref) and call.fn.obj not in (instance, types.SimpleNamespace)
    if cls is None or given is None or not called:
        return {}
    params = plain_signature(cls).parameters
    attributes = None if dataclasses.is_dataclass(cls) else plain_attributes(cls)
    found: dict[str, Any] = {}
    for name, value in (attributes or {p: ir.Var(p) for p in params}).items():
        if isinstance(value, ir.Const):
            found[name] = value.value
        elif isinstance(value, ir.Var) and name not in given:
            found[name] = params[value.name].default
    return {n: value for n, value in found.items() if type(value) in (int, float, str, tuple)}


def required_arguments(call: ir.Call) -> tuple[str, ...] | None:
    """What a call must give by position or by name, where nothing else may be given by position:
    the fields of the instance that it makes, what a function without defaults takes; else None."""
    obj = call.fn.obj if isinstance(call.fn, ir.Ref) else None
    if isinstance(obj, np.ufunc):  # (nobody gives `out` as a starred argument)
        return tuple(f"x{number}" for number in range(1, obj.nin + 1))
    if obj is None or not (is_python_function(obj) or record_class(call) is obj):
        return None
    params = plain_signature(obj).parameters.values()
    named = [p for p in params if p.kind != p.KEYWORD_ONLY]
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    whole = all(p.kind not in several and p.default is p.empty for p in named)
    return tuple(p.name for p in named) if whole else None


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
    found = getattr(cls, name, None)
    if hasattr(cls, name) and not isinstance(found, types.MemberDescriptorType):  # (empty slots)
        return not isinstance(found, functools.cached_property)
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
