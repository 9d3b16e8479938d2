"""Which method stands behind an expression: `layer(x)`, `a + b`, `layer.norm`, `Layer(w, b)`.

The class of the object says it. What is found is a Python function and the arguments that it is
given, `self` among them, so that it can be read and called like any other function.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import math
import operator
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

import numpy as np

from ... import ir
from ...analysis.constructors import (
    constructor,
    initialiser,
    made_by_factories,
    post_initialiser,
    record_class,
    with_class,
)
from ...analysis.operations import is_entered, is_python_function, written_position
from ...errors import Place, UnsupportedError
from ...frontend.generators import is_generator_function, listed
from ...frontend.lifting import copy_of, signature_of
from ...frontend.lower import Lowered, read_once
from ...frontend.owners import is_library
from ...frontend.signatures import plain_signature
from ...frontend.structures import (
    OF_NAMEDTUPLES,
    held_by_class,
    is_object,
)
from ...ir.identity import ByIdentity
from ...ir.kind import UNKNOWN, Kind
from ...rules.book import RuleBook
from ...rules.definitions import PROGRAMMED, as_defined, definition
from ...rules.ruled import ForeignBook
from ...rules.twins import as_numpy, twin
from ...runtime import is_stored, live_items
from .bound_methods import function_of

if TYPE_CHECKING:
    from .callees import Callees

BINARY: dict[Any, str] = {
    **{operator.add: "add", operator.sub: "sub", operator.mul: "mul"},
    **{operator.truediv: "truediv", operator.pow: "pow", operator.matmul: "matmul"},
    **{operator.floordiv: "floordiv", operator.mod: "mod", divmod: "divmod"},
    **{operator.and_: "and", operator.or_: "or", operator.xor: "xor"},
    **{operator.lshift: "lshift", operator.rshift: "rshift"},
}
UNARY: dict[Any, str] = {
    **{operator.neg: "__neg__", operator.pos: "__pos__", operator.invert: "__invert__"},
    **{abs: "__abs__", len: "__len__", round: "__round__"},
    **{math.floor: "__floor__", math.ceil: "__ceil__", math.trunc: "__trunc__"},
}
COMPARING: dict[Any, tuple[str, str]] = {
    **{operator.lt: ("__lt__", "__gt__"), operator.gt: ("__gt__", "__lt__")},
    **{operator.le: ("__le__", "__ge__"), operator.ge: ("__ge__", "__le__")},
    **{operator.eq: ("__eq__", "__eq__"), operator.ne: ("__ne__", "__ne__")},
}


@dataclasses.dataclass(frozen=True)
class Found:
    """A method and its arguments. `style` says how the call was written: "method", "property",
    "call", "item", "setter", "function", or the text of an operator ("r+" for the reflected
    one); `text` is a name for what is emitted."""

    fn: types.FunctionType
    args: tuple[ir.Expr, ...]
    kwargs: tuple[tuple[str, ir.Expr], ...]
    text: str
    style: str
    name: str
    original: Any

    def call(self, at: Any) -> ir.Call:
        return ir.Call(ir.Ref(self.text, self.fn), self.args, self.kwargs, at)


def as_argument(key: ir.Expr) -> ir.Expr:
    """What a method is given for the key in `w[1:, 0]`: `(slice(1, None), 0)`."""
    if isinstance(key, ir.Display) and key.form == "tuple":
        return dataclasses.replace(key, items=tuple(map(as_argument, key.items)))
    if not isinstance(key, ir.Slice):
        return key
    bounds = (key.lower, key.upper) if key.step is None else (key.lower, key.upper, key.step)
    values = (ir.Const(None) if bound is None else bound for bound in bounds)
    return ir.Call(ir.SLICE, tuple(values))


def objects(lowered: Lowered, class_of: Callable[[ir.Expr], type | None]) -> set[str]:
    """The names that an assignment or an argument makes objects of a class that is known."""
    found = {name for name in lowered.function.param_names if class_of(ir.Var(name)) is not None}
    for stmt in ir.statements(lowered.function.body):
        match stmt:
            case ir.Assign(target=str(name), value=value) if class_of(value) is not None:
                found.add(name)
    return found


def is_comparison(obj: Any) -> bool:
    return isinstance(obj, types.BuiltinFunctionType) and obj in COMPARING


def is_made(fn: Any) -> bool:
    """Whether a method was made from text, as those are by which dataclasses are compared."""
    return isinstance(fn, types.FunctionType) and fn.__code__.co_filename == "<string>"


def refuse_operator(what: str, place: Place) -> NoReturn:
    raise UnsupportedError(
        what, place, "Write it as a method, or as a function of the object's attributes."
    )


class MethodLookup:
    """Finds methods; functions that stand for classes are made once. `made` is called with them."""

    def __init__(self, made: ByIdentity[Lowered]) -> None:
        self._made = made
        self._of_class: dict[Any, types.FunctionType | None] = {}
        self.storing: set[types.FunctionType] = set()  # those that stand for cached properties

    def behind(self, expr: ir.Expr, kind_of: Callable[[ir.Expr], Kind]) -> Found | None:
        """The method that an expression calls, where the class of the object is known."""

        def class_of(e: ir.Expr) -> type | None:
            if _is_programmed(e):
                return type(e.obj)
            kind = kind_of(e)
            return kind.cls if kind.has_methods and not is_library(kind.cls) else None

        found: Found | None = None
        match expr:
            case ir.Call(args=args) if any(map(ir.is_starred, args)) and not (
                isinstance(expr.fn, ir.Attribute) and _is_programmed(expr.fn.base)
            ):
                return None
            case ir.Call(fn=ir.Attribute(base, name), args=args, kwargs=kwargs):
                found = self._of_object(class_of(base), base, name, args, kwargs)
            case ir.Call(fn=ir.Var() as base, args=args, kwargs=kwargs):
                cls = class_of(base)
                found = self.method(cls, "__call__", (base, *args), kwargs, "call")
            case ir.Call(fn=ir.Ref(obj=obj)):
                found = self._of_reference(expr, obj, class_of, kind_of)
            case ir.Attribute(base, name):
                cls = class_of(base)
                fn = None if cls is None else self._getter(cls, name)
                if fn is not None:
                    assert cls is not None
                    text = f"{cls.__name__}_{name}"
                    found = Found(fn, (base,), (), text, "property", name, fn)
            case ir.Index(base, key):
                given = (base, as_argument(key))
                found = self.method(class_of(base), "__getitem__", given, (), "item")
        return found

    def _getter(self, cls: type, name: str) -> types.FunctionType | None:
        """What reading an attribute calls, where it is a property."""
        value = inspect.getattr_static(cls, name, None)
        if isinstance(value, functools.cached_property):
            return self._storing(cls, name, value.func)
        fget = value.fget if isinstance(value, property) else None
        return fget if isinstance(fget, types.FunctionType) else None

    def _storing(self, cls: type, name: str, fn: Any) -> types.FunctionType | None:
        """What reading a `functools.cached_property` does, as a function:

        def norm(self):
            if not is_stored(self, "norm"):
                self.norm = Vector.norm.func(self)
            return self.norm
        """
        key = (cls, name, fn)
        if key not in self._of_class and isinstance(fn, types.FunctionType):
            owner = next(c for c in cls.__mro__ if name in vars(c))
            names = {"computed": fn, "is_stored": is_stored, owner.__name__: owner}
            lines = (
                f"def {name}(self):",
                f"    if not is_stored(self, {name!r}):",
                f"        self.{name} = computed(self)",
                f"    return self.{name}",
            )
            made = function_of("\n".join(lines) + "\n", name, {"__name__": fn.__module__, **names})
            lowered = as_defined(as_numpy(read_once(made)))
            written = ir.Ref(f"{owner.__name__}.{name}.func", fn)

            def named(e: ir.Expr) -> ir.Expr:
                return written if isinstance(e, ir.Ref) and e.obj is fn else ir.rebuild(e, named)

            body = ir.rewrite(lowered.function.body, expression=named)
            function = ir.with_body(lowered.function, body)
            self._made[made] = dataclasses.replace(lowered, function=function)
            self._of_class[key] = made
            self.storing.add(made)
        return self._of_class.get(key)

    def setter(self, cls: type | None, name: str, args: tuple[ir.Expr, ...]) -> Found | None:
        """What `obj.name = value` calls, where the attribute is a property."""
        value = None if cls is None else inspect.getattr_static(cls, name, None)
        if not isinstance(value, property) or not isinstance(value.fset, types.FunctionType):
            return None
        assert cls is not None
        text = f"{cls.__name__}_set_{name}"
        return Found(value.fset, args, (), text, "setter", name, value.fset)

    def method(
        self,
        cls: type | None,
        name: str,
        args: tuple[ir.Expr, ...],
        kwargs: tuple[tuple[str, ir.Expr], ...],
        style: str,
        operation: Any = None,
        alone: bool = True,
    ) -> Found | None:
        """What a class has by this name; None where it has nothing that can be read. `alone`
        says that nothing else is tried where the method gives `NotImplemented`."""
        found = held_by_class(cls, name)
        if not isinstance(found, types.FunctionType):
            return None
        assert cls is not None
        text, original = f"{cls.__name__}_{name.strip('_')}", operation or found
        program = definition(found)  # (of a method of a library's class)
        found = self.items_of(program if isinstance(program, types.FunctionType) else found)
        if may_decline(found):
            if not alone:
                return None
            found = self._raising(found, style.removeprefix("r"))
        return Found(found, args, kwargs, text, style, name, original)

    def plain(self, cls: type | None, name: str) -> types.FunctionType | None:
        """The method of a class by its name, as its function."""
        found = held_by_class(cls, name)
        return found if isinstance(found, types.FunctionType) else None

    def value(self, cls: type | None, base: ir.Expr, name: str) -> Found | None:
        """The method that `layer.name` is where it is not called; None for what is not a method."""
        if cls is None or is_library(cls):
            return None
        return self._of_object(cls, base, name, (), ()) if self.plain(cls, name) else None

    def items_of(self, fn: Any) -> Any:
        """A function that gives the list of what a generator method yields; others as they are."""
        if not is_generator_function(fn):
            return fn
        key = (fn, "items")
        if key not in self._of_class:
            lowered = as_defined(as_numpy(read_once(listed(ir.Ref(fn.__name__, fn)).obj)))
            self._of_class[key] = self._standing(fn, fn.__name__, lowered)
        return self._of_class[key]

    def _raising(self, fn: types.FunctionType, operator_text: str) -> types.FunctionType:
        """A method that raises where it would decline."""
        key = (fn, operator_text)
        if key not in self._of_class:
            lowered = raising(as_defined(as_numpy(read_once(fn))), operator_text)
            self._of_class[key] = self._standing(fn, fn.__name__, lowered)
        made = self._of_class[key]
        assert made is not None
        return made

    def _of_object(
        self,
        cls: type | None,
        base: ir.Expr,
        name: str,
        args: tuple[ir.Expr, ...],
        kwargs: tuple[tuple[str, ir.Expr], ...],
    ) -> Found | None:
        """`layer.name(...)`: of static and class methods without the object."""
        value = held_by_class(cls, name)
        if cls is not None and issubclass(cls, tuple) and name in OF_NAMEDTUPLES:
            return None
        if name in ("__iter__", "__reversed__") and cls is not None:
            made = self.iteration(cls, name)
            text = f"{cls.__name__}_{name.strip('_')}"
            return made and Found(made, (base,), (), text, "function", "live_items", live_items)
        if isinstance(value, functools.partialmethod) and cls is not None:
            return _of_partial(value, cls, base, name, args, kwargs)
        if isinstance(value, (staticmethod, classmethod)):
            assert cls is not None
            fn: Any = value.__func__
            if isinstance(value, classmethod):
                fn = self.with_class(fn, cls)
            if not isinstance(fn, types.FunctionType):
                return None
            owner = next(c for c in cls.__mro__ if name in vars(c))
            original = getattr(cls, name)
            named = f"{owner.__name__}.{name}"
            return Found(fn, args, kwargs, f"{cls.__name__}_{name}", "function", named, original)
        return self.method(cls, name, (base, *args), kwargs, "method")

    def _of_reference(
        self,
        call: ir.Call,
        obj: Any,
        class_of: Callable[[ir.Expr], type | None],
        kind_of: Callable[[ir.Expr], Kind],
    ) -> Found | None:
        """An operator of an object, a class, a method of a class, or an object that is called."""
        assert isinstance(call.fn, ir.Ref)
        args, text = call.args, call.fn.text
        if isinstance(obj, type):
            omitted = _made_by_factories(obj, call)
            made = self._constructor(obj, omitted)
            if made is None:
                return None
            return Found(made, args, call.kwargs, obj.__name__, "function", text, obj)
        if isinstance(obj, types.MethodType) and isinstance(obj.__self__, type):
            fn = self.with_class(obj.__func__, obj.__self__)
            name = f"{obj.__self__.__name__}_{obj.__name__}"
            return fn and Found(fn, args, call.kwargs, name, "function", text, obj)
        if isinstance(obj, types.FunctionType | types.BuiltinFunctionType):
            if len(args) == 2 and obj in BINARY and class_of(args[0]) is None:
                surely = kind_of(args[0]).form not in ("unknown", "object")
                return self.reflected(call, class_of(args[1])) if surely else None
            return self._of_operator(text, obj, args, class_of) if len(args) in (1, 2) else None
        if twin(obj) is not None:
            return None  # a function of another array module, whatever it is made of
        return self.method(class_of(call.fn), "__call__", (call.fn, *args), call.kwargs, "call")

    def _of_operator(
        self,
        text: str,
        obj: Any,
        args: tuple[ir.Expr, ...],
        class_of: Callable[[ir.Expr], type | None],
    ) -> Found | None:
        if obj in BINARY and len(args) == 2:
            (a, b), name = args, BINARY[obj]
            reflected = getattr(class_of(b), f"__r{name}__", None)
            alone = reflected is None or class_of(a) is class_of(b)
            return self.method(class_of(a), f"__{name}__", (a, b), (), text, obj, alone)
        if obj in UNARY and len(args) == 1:
            return self.method(class_of(args[0]), UNARY[obj], args, (), text, obj)
        return None

    def reflected(self, call: ir.Call, cls: type | None) -> Found | None:
        """`2.0 * layer`: the method of the second operand, which is of this class, where the first
        has none."""
        assert isinstance(call.fn, ir.Ref)
        (a, b), text, obj = call.args, call.fn.text, call.fn.obj
        return self.method(cls, f"__r{BINARY[obj]}__", (b, a), (), f"r{text}", obj)

    def compared(self, call: ir.Call, classes: Sequence[type | None]) -> Iterator[Found]:
        """What `a < b` may call: the method of the first operand, that of the second."""
        assert isinstance(call.fn, ir.Ref) and len(call.args) == len(classes)
        args = (call.args, call.args[::-1])
        for cls, name, given in zip(classes, COMPARING[call.fn.obj], args, strict=True):
            if is_made(getattr(cls, name, None)):
                continue  # (of a dataclass)
            found = self.method(cls, name, given, (), call.fn.text, alone=True)
            if found is not None:
                yield found

    def _constructor(self, cls: type, omitted: frozenset[str]) -> types.FunctionType | None:
        """The function that stands for a class whose `__init__` computes (`constructors`)."""
        key = (cls, omitted)
        if key not in self._of_class:
            init = initialiser(cls)
            plain = record_class(ir.Call(ir.Ref(cls.__name__, cls))) is not None
            self._of_class[key] = None
            if init is not None and not plain:
                try:
                    lowered = constructor(cls, omitted)
                except UnsupportedError:
                    lowered = None
                if lowered is not None:
                    self._of_class[key] = self._standing(init, cls.__name__, lowered)
        return self._of_class[key]

    def with_class(self, fn: Any, cls: type) -> types.FunctionType | None:
        """A class method as a function without its first parameter, which is the class."""
        key = (cls, fn)
        if key not in self._of_class:
            self._of_class[key] = None
            if isinstance(fn, types.FunctionType):
                lowered = with_class(fn, cls)
                if lowered is not None:
                    self._of_class[key] = self._standing(fn, fn.__name__, lowered)
        return self._of_class[key]

    def iteration(self, cls: type, name: str = "__iter__") -> types.FunctionType | None:
        """A function that gives the list of what objects of a class yield; None where that is
        neither by their places, nor an `iter(...)` that the method of this name returns."""
        key = (cls, name)
        if key not in self._of_class:
            self._of_class[key] = None
            fn = None if is_library(cls) else self.plain(cls, name)
            if fn is not None and is_generator_function(fn):
                self._of_class[key] = self.items_of(fn)
            elif fn is not None:
                lowered, text = _listing(as_defined(as_numpy(read_once(fn)))), name.strip("_")
                if lowered is not None:
                    self._of_class[key] = self._standing(fn, f"{cls.__name__}_{text}", lowered)
        return self._of_class[key]

    def _standing(self, fn: types.FunctionType, name: str, lowered: Lowered) -> types.FunctionType:
        """A function object for what was read, with the signature that this has."""
        made = copy_of(fn, signature_of(lowered.function))
        made.__name__ = made.__qualname__ = name
        self._made[made] = lowered
        return made


def _made_by_factories(cls: type, call: ir.Call) -> frozenset[str]:
    """The fields of a dataclass that a call does not give, and a `default_factory` makes."""
    if post_initialiser(cls) is None:
        return frozenset()
    try:
        given = plain_signature(cls).bind(*call.args, **dict(call.kwargs)).arguments
    except TypeError:
        return frozenset()
    return made_by_factories(cls, given)


def _listing(lowered: Lowered) -> Lowered | None:
    """A function that returns `xs` where it returned `iter(xs)`; None for any other. (Not a list of
    it: what is gone through may change on the way.)"""
    match lowered.function.body:
        case (*body, ir.Assign(str(name), ir.Call(fn=ir.Ref(obj=builtins.iter), args=(xs,))), end):
            if isinstance(end, ir.Return) and end.value == ir.Var(name):
                made = (*body, dataclasses.replace(end, value=xs))
                return dataclasses.replace(lowered, function=ir.with_body(lowered.function, made))
    return None


def _of_partial(
    value: functools.partialmethod[Any],
    cls: type,
    base: ir.Expr,
    name: str,
    args: tuple[ir.Expr, ...],
    kwargs: tuple[tuple[str, ir.Expr], ...],
) -> Found | None:
    """`square = partialmethod(power, n=2)`: the method that it is of, with what it adds."""
    added = (*value.args, *value.keywords.values())
    plain = all(v is None or isinstance(v, (bool, int, float, str)) for v in added)
    if not plain or not isinstance(value.func, types.FunctionType):
        return None
    words = {**{word: ir.Const(v) for word, v in value.keywords.items()}, **dict(kwargs)}
    given = (base, *map(ir.Const, value.args), *args)
    owner = next(c for c in cls.__mro__ if name in vars(c))
    named = f"{owner.__name__}.{value.func.__name__}"
    text = f"{cls.__name__}_{name}"
    return Found(value.func, given, tuple(words.items()), text, "function", named, value.func)


def may_call_methods(function: ir.Function) -> bool:
    """Whether a function calls a class of the user's, a method of one, or names an object of
    the module, a module, or a function that may take one."""
    values = (getattr(stmt, "value", None) for stmt in ir.statements(function.body))
    return any(_of_user(part) for v in values if v is not None for part in ir.walk(v))


def _is_programmed(expr: ir.Expr) -> TypeGuard[ir.Ref]:
    """Whether it is a live object with methods that are read as programs."""
    return isinstance(expr, ir.Ref) and isinstance(expr.obj, PROGRAMMED)


def _of_user(part: ir.Expr) -> bool:
    match part:
        case ir.Call(fn=ir.Ref(obj=type() as cls)):
            called = cls is super or initialiser(cls) is not None
            return called or record_class(part) is not None
        case ir.Ref(obj=types.FunctionType() as obj):
            defaults = (*(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values())
            return any(d is None or isinstance(d, types.ModuleType) for d in defaults)
        case ir.Ref(obj=types.BuiltinFunctionType() | np.ufunc()):
            return False
        case ir.Ref(obj=types.MethodType() | types.ModuleType()):
            return True
        case ir.Ref(obj=obj):
            return is_object(obj) or _is_programmed(part)
    return False


# --------------------------------------------------------------------------------------------------
# Methods of operators that may decline: `return NotImplemented` where nothing else is tried.
#
# before::                                     after::
#     if not isinstance(other, Vec):               if not isinstance(other, Vec):
#         result = NotImplemented                      raise TypeError("unsupported operand")
#     else:                                        result = Vec(self.x - other.x)
#         result = Vec(self.x - other.x)           return result
#     return result


def may_decline(fn: types.FunctionType) -> bool:
    """Whether an operator's method may say that it is not defined, so that another is tried."""
    return "NotImplemented" in fn.__code__.co_names


def raising(lowered: Lowered, text: str) -> Lowered:
    """The method of the operator `text` with what Python raises where it declines."""
    message = f'raise TypeError("unsupported operand of {text}")'

    def parts(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        match stmt:
            case ir.Assign(value=ir.Ref(obj=obj)) if obj is NotImplemented:
                error = (ir.Ref("TypeError", TypeError),)
                return [ir.OpaqueStmt(message, (), (), error, (), stmt.origin)]
            case ir.Return(value=ir.Ref(obj=obj)) if obj is NotImplemented:
                error = (ir.Ref("TypeError", TypeError),)
                ending = dataclasses.replace(stmt, value=ir.Const(None))
                return [ir.OpaqueStmt(message, (), (), error, (), stmt.origin), ending]
            case ir.If() if type(stmt) is ir.If:
                body, orelse = stmt.body, stmt.orelse
                if _raises(body, message):
                    return [dataclasses.replace(stmt, body=body, orelse=()), *orelse]
                if _raises(orelse, message):
                    test = ir.Call(ir.NOT, (stmt.test,))
                    return [dataclasses.replace(stmt, test=test, body=orelse, orelse=()), *body]
        return None

    function = ir.with_body(lowered.function, ir.rewrite(lowered.function.body, after=parts))
    return dataclasses.replace(lowered, function=function)


def _raises(block: ir.Block, message: str) -> bool:
    return bool(block) and isinstance(block[-1], ir.OpaqueStmt) and block[-1].text == message


# --------------------------------------------------------------------------------------------------
# A rule book that also knows what the user's functions and methods return.


class KnownCallees:
    """A rule book with the kinds of results that follow from the source of functions."""

    def __init__(self, book: RuleBook | ForeignBook, callees: Callees) -> None:
        self.book = book
        self._callees = callees
        self.methods = MethodLookup(callees.made)
        self.stored: Any = None  # what the program puts into attributes, where that is known
        self.claimed: set[tuple[type, str, Kind]] = set()

    def held(self, cls: type, given: Mapping[str, Kind]) -> dict[str, Kind]:
        """What attributes hold while the program runs, of an object that is made with these."""
        if self.stored is None:
            return {}
        found = {n: self.stored.field_kind(cls, n, k) for n, k in given.items()}
        self.claimed.update((cls, n, found[n]) for n in given)
        return found

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(self.book, name)  # (looked up once: asked often)
        return found

    def knows(self, obj: Any) -> bool:
        """Whether it is known of an operation what it does, without reading it."""
        return self.book.knows(obj) or written_position(obj) is not None

    def is_callee(self, obj: Any) -> bool:
        """Whether an object is a function of the user's whose source says what it does."""
        if not is_entered(obj):
            return False
        return not self.knows(obj) and self._callees.effects(obj) is not None

    def result_kind(self, call: ir.Call, kind_of: Callable[[ir.Expr], Kind]) -> Kind:
        fn = call.fn
        if not isinstance(fn, ir.Ref) or not is_python_function(fn.obj):
            return self.book.result_kind(call, kind_of)
        if self.book.knows(fn.obj):
            return self.book.result_kind(call, kind_of)
        return self._callees.result_kind(call, kind_of)

    def method_kind(self, expr: ir.Expr, kind_of: Callable[[ir.Expr], Kind]) -> Kind | None:
        """What a method of an object gives, or a class that is called; None for other things."""
        match expr:
            case ir.Call(fn=ir.Ref(obj=type() as cls), args=args) if any(map(ir.is_starred, args)):
                return Kind("object", cls=cls) if initialiser(cls) is not None else None
        found = self.methods.behind(expr, kind_of)
        if found is None:
            return None
        if found.fn in self.methods.storing:  # (it was computed when the object was another)
            return UNKNOWN
        call = self._callees.variants.of_call(found.call(None))  # (starred parameters)
        return self._callees.result_kind(call, kind_of)
