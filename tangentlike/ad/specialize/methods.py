"""Methods of objects whose classes are known, called like any other function.

before::                         after::
    h = layer(x)                     h = Layer_call(layer, x)
    n = layer.norm                   n = Layer_norm(layer)         (a property)
    c = a + b                        c = Vector_add(a, b)

A method is read once for each set of classes that its arguments have, and begins with
`require_class(self, Layer)`, so that an object of another class is refused when it comes there.
Where a call carries no derivative it is written as the user did again (`restored`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import inspect
import itertools
import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ... import ir
from ...analysis.constructors import asked_after, is_super, next_class
from ...analysis.kind_of import kind_of
from ...analysis.kinds import infer_kinds
from ...analysis.operations import MUTATING_METHODS, VALUE_CLASSES, is_entered, is_python_function
from ...errors import CLASS_IS_READ, UnknownClassError, UnsupportedError
from ...frontend.checkpoints import inside_checkpoint
from ...frontend.lifting import PARTIAL, copy_of
from ...frontend.lower import Lowered
from ...frontend.owners import carry_over, is_library, is_of_runtime, is_pythons, mark
from ...frontend.signatures import plain_signature
from ...frontend.structures import has_own_setter
from ...ir.facts import fact
from ...ir.identity import ByIdentity
from ...ir.index import all_names, references
from ...ir.kind import NONE, NOTHING, UNKNOWN, Kind, no_deeper
from ...ir.names import Names
from ...rules.iterators import generator_methods_taken
from ...runtime import absent_attribute, require_values
from .bound_methods import calling
from .callees import Callees, bind_surely, rough
from .decided_tests import deciding_names, exactly, without_decided_tests
from .function_values import functions_of_modules, guarded, is_partial, with_words
from .method_lookup import (
    BINARY,
    UNARY,
    Found,
    KnownCallees,
    as_argument,
    is_comparison,
    may_call_methods,
    objects,
    refuse_operator,
)
from .object_calls import (
    MethodsAsFunctions,
    by_branch,
    by_class,
    has_methods_of_values,
    held_calls_as_reads,
    made_by_class,
    methods_by_name,
    methods_by_text,
    of_class,
)
from .object_operations import (
    fields_marked,
    objects_as_lists,
    replaced_as_made,
    rounds_by_names,
    sums_of_objects,
    updates_as_methods,
)
from .operators import Waiting, apart, calls_deferred, deferred, waiting_of

Infer = Callable[[ir.Function, Mapping[str, Kind]], Mapping[str, Kind]]
_NOTHING = ir.Ref("absent_attribute", absent_attribute)
_OPERAND = ir.Ref("require_values", require_values)
_MOST_ROUNDS = 100  # each makes the result of one more call known


@dataclasses.dataclass(frozen=True)
class _Method:
    """What a call stood for: how it is printed where it carries no derivative."""

    style: str  # as in `Found`
    name: str
    original: Any


def _checks_operands(function: ir.Function) -> bool:
    """Whether a function checks that operands of which nothing is known are numbers or arrays."""
    checks = (stmt.value for stmt in ir.statements(function.body) if isinstance(stmt, ir.Do))
    return any(isinstance(check, ir.Call) and check.fn == _OPERAND for check in checks)


@functools.cache
def _caller(name: str) -> types.FunctionType:
    """What calls a method of this name: one function, so that what is said of it has one place."""
    made: types.FunctionType = calling(name, "held", ("*args", "**options"), __name__).obj
    return made


class Methods:
    """The methods of one transform. `infer` knows the kinds of a function's names."""

    def __init__(self, callees: Callees, infer: Infer, book: KnownCallees) -> None:
        self.callees = callees
        self.infer = infer
        self.book = book
        self._made: dict[Any, types.FunctionType] = {}
        self._written = ByIdentity[_Method]()
        self._deciding = ByIdentity[frozenset[str]]()
        # The functions of methods that are values, and the classes of their objects.
        self.unbound = ByIdentity[tuple[Found, type]]()
        self.values = ByIdentity[str]()  # the same of arrays and containers, and their names
        self.asked: set[tuple[str, str]] = set()  # what tests asked of the arguments of the call
        self.lookup = book.methods

    def kind_of(self, expr: ir.Expr, kinds: Mapping[str, Kind]) -> Kind:
        return kind_of(expr, kinds, self.book)

    def sure(self, function: ir.Function, given: Mapping[str, Kind]) -> Mapping[str, Kind]:
        """The kinds of a function's names in all runs, those that raise included."""
        return infer_kinds(function, given, self.book, evident=False)

    def deciding(self, fn: Any) -> frozenset[str]:
        """The parameters of a function that its tests, or those of what it calls, may be about."""
        if not is_python_function(fn) or self.callees.variants.is_operation(fn):
            return frozenset()
        if is_of_runtime(fn) or is_pythons(fn) or is_library(fn):
            return frozenset()  # (what is known by its object must stay that object)
        if fn not in self._deciding:
            self._deciding[fn] = frozenset()  # (it may call itself)
            with contextlib.suppress(UnsupportedError):
                function = self.callees.lowered(fn).function
                self._deciding[fn] = deciding_names(function, self._passed_on)
        return self._deciding[fn]

    def _passed_on(self, call: ir.Call) -> Iterator[str]:
        """The names that a call hands to parameters that tests may be about."""
        assert isinstance(call.fn, ir.Ref)
        names = self.deciding(call.fn.obj)
        for name, value in _bound(call.fn.obj, call).items() if names else ():
            if name in names and isinstance(value, ir.Var):
                yield value.name

    def _calls_deciding(self, function: ir.Function) -> bool:
        """Whether a function calls one whose tests its arguments may decide."""
        values = (getattr(s, "value", None) for s in ir.statements(function.body))
        fns = (v.fn.obj for v in values if isinstance(v, ir.Call) and isinstance(v.fn, ir.Ref))
        return any(fn not in self._written and self.deciding(fn) for fn in fns)

    def resolved(
        self,
        lowered: Lowered,
        given: Mapping[str, Kind],
        guard: bool = False,
        deciding: Mapping[str, Kind] | None = None,
    ) -> Lowered:
        """A function in which methods of objects of known classes are called as functions;
        with `guard` it begins by checking the classes that it is given. `deciding` is what its
        tests may be about besides."""
        if guard:
            lowered = guarded(lowered, given)
        decided = {**(deciding or {}), **given}
        if (read := with_words(lowered, given)) is not lowered:
            lowered = self.callees.variants.resolved(read)
        lowered = without_decided_tests(lowered, decided, self.sure, self.asked)
        lowered, before = made_by_class(lowered), None
        while lowered is not before:
            before = self._by_rounds(lowered, given, decided)
            lowered = self._settled(before, given, decided)
        return lowered

    def _by_rounds(
        self, lowered: Lowered, given: Mapping[str, Kind], decided: Mapping[str, Kind]
    ) -> Lowered:
        """A function in which the methods are called that its names tell."""
        assert self.callees.builder is not None
        looked_up = self.callees.builder.reading.looked_up
        for _ in range(_MOST_ROUNDS):
            kinds = self.infer(lowered.function, given)
            read = methods_by_text(rounds_by_names(lowered, kinds), kinds)
            read = fields_marked(read, kinds, looked_up)
            if read is not lowered:
                lowered = read
                continue
            known = any(kind.holds_objects for kind in kinds.values())
            function = lowered.function
            asks = known or may_call_methods(function) or calls_deferred(function)
            asks = asks or has_methods_of_values(function)
            if not (asks or (decided and self._calls_deciding(function))):
                break
            kind = functools.partial(self.kind_of, kinds=kinds)
            read = replaced_as_made(functions_of_modules(lowered, kinds), kinds)
            read = updates_as_methods(read, kind)
            read = objects_as_lists(read, kinds, kind, self.lookup)
            read = sums_of_objects(read, kind)
            read = methods_by_name(held_calls_as_reads(read, kinds), kinds)
            read = generator_methods_taken(read, functools.partial(self._method, kind=kind))
            if read is not lowered:
                lowered = read
                continue
            body = MethodsAsFunctions(kinds, self.bound).block(lowered.function.body)
            read = lowered.with_body(body)
            if read is not lowered:  # (what they are given to is then made for them)
                read = self.callees.variants.resolved(read)
                function = self._called_by_name(read.function)
                lowered = dataclasses.replace(read, function=function)
                continue
            desugaring = _Desugaring(self, lowered, kinds, decided)
            body = desugaring.block(lowered.function.body)
            body = ir.without_unread(body, desugaring.parents.keys())
            if body == lowered.function.body:
                break
            function = dataclasses.replace(lowered.function, body=body)
            lowered = dataclasses.replace(lowered, function=function)
        return lowered

    def _settled(
        self, lowered: Lowered, given: Mapping[str, Kind], decided: Mapping[str, Kind]
    ) -> Lowered:
        """A function that checks, beside an object of a known class, that an operand of which
        nothing is known is a number or an array: others may have the operator themselves.

        before::                         after::
            p = t * v                        require_values(t, "*")
                                             p = Vec_rmul(v, t)
        """
        desugaring = _Desugaring(self, lowered, self.infer(lowered.function, given), decided)
        checks = {stmt for stmt in ir.statements(lowered.function.body) if isinstance(stmt, ir.Do)}

        def parts(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
            match stmt:
                case ir.Assign(value=ir.Call(ir.Ref(text, obj), (a, b)) as call) if obj in BINARY:
                    first, second = map(desugaring.kind, (a, b))
                    if any(_is_enum(kind.cls) for kind in (first, second)):
                        return None  # (flags are joined with flags)
                    if second.has_methods and desugaring.may_be_object(a):
                        unknown, found = a, self.lookup.reflected(call, second.cls)
                    elif first.has_methods and desugaring.may_be_object(b):
                        unknown, found = b, None
                    else:
                        return None
                    asked = ir.Call(_OPERAND, (unknown, ir.Const(text)), at=call.at)
                    check = ir.Do(asked, stmt.origin)
                    if found is not None:
                        made = desugaring.called(found, call, stmt.origin)
                        return check, dataclasses.replace(stmt, value=made)
                    return None if check in checks else (check, stmt)
            return None

        return lowered.with_body(ir.rewrite(lowered.function.body, parts))

    def bound(self, base: ir.Expr, kind: Kind, name: str) -> ir.Expr | None:
        """The method that `layer.name` is where it is not called, as the partial of a function
        of which nothing is known yet; None where it is not a method."""
        cls = kind.cls if kind.has_methods else None
        static = None if cls is None else inspect.getattr_static(cls, name, None)
        if isinstance(static, staticmethod) and isinstance(static.__func__, types.FunctionType):
            assert cls is not None
            return ir.Ref(f"{cls.__name__}.{name}", static.__func__)
        found = self.lookup.value(cls, base, name)
        if found is None:
            return self._bound_to_value(base, kind, name)
        key = (found.fn, found.style, found.name, kind.cls)
        if key not in self._made:
            made = copy_of(found.fn)
            self._made[key] = made
            self._written[made] = _Method(found.style, found.name, found.original)
            assert kind.cls is not None
            self.unbound[made] = (found, kind.cls)
            self.callees.made[made] = self.callees.lowered(found.fn)
        ref = ir.Ref(found.text, self._made[key])
        return ir.Call(PARTIAL, (ref, *found.args))

    def _bound_to_value(self, base: ir.Expr, kind: Kind, name: str) -> ir.Expr | None:
        """The same of an array or a container, `w.fill`: nothing is known of how it is called."""
        cls = VALUE_CLASSES.get(kind.form) if kind.cls is None else kind.cls
        if not isinstance(inspect.getattr_static(cls, name, None), types.MethodDescriptorType):
            return None
        if kind.form == "value" and name in MUTATING_METHODS:
            return None  # (of what may be a number, which nothing writes; the text asks)
        if name not in self._made:
            made = self._made[name] = _caller(name)
            self._written[made] = _Method("method", name, made)
            self.values[made] = name
        return ir.Call(PARTIAL, (ir.Ref(name, self._made[name]), base))

    def _called_by_name(self, function: ir.Function) -> ir.Function:
        """A function in which what was made for a method of an array or a container, and is called,
        is that method: `w.fill(v)`."""

        def expr(e: ir.Expr) -> ir.Expr:
            match ir.rebuild(e, expr):
                case ir.Call(ir.Ref(obj=obj), (held, *args)) as call if obj in self.values:
                    method = ir.Attribute(held, self.values[obj], call.at)
                    return dataclasses.replace(call, fn=method, args=tuple(args))
                case new:
                    return new

        if not self.values:
            return function
        return ir.with_body(function, ir.rewrite(function.body, expression=expr))

    def _method(
        self, call: ir.Call, kind: Callable[[ir.Expr], Kind]
    ) -> tuple[types.FunctionType, type] | None:
        """The function that the call of a method of an object calls, and the class of this."""
        match call.fn:
            case ir.Attribute(base, name):
                found = kind(base)
                cls = found.cls if found.has_methods else None
                method = self.lookup.plain(cls, name)
                return None if method is None or cls is None else (method, cls)
        return None

    def variant(
        self,
        fn: types.FunctionType,
        method: _Method,
        name: str,
        given: Mapping[str, Kind],
        deciding: Mapping[str, Kind],
    ) -> ir.Ref:
        """A function made for arguments of these classes, and for what decides its tests."""
        key = (fn, method.style, tuple(given.items()), tuple(deciding.items()))
        if key not in self._made:
            made = copy_of(fn)
            carry_over(fn, made)
            inside = inside_checkpoint(fn)
            if inside is not None:
                plain = dataclasses.replace(method, name=inside.__name__, original=inside)
                mark(made, checkpoint=self.variant(inside, plain, name, given, deciding).obj)
            self._made[key] = made
            self._written[made] = method
            lowered, builder = self.callees.lowered(fn), self.callees.builder
            assert builder is not None
            if fact(_checks_operands, lowered.function):
                lowered = self.callees.unsettled.get(fn, lowered)
            function = dataclasses.replace(lowered.function, name=name)
            lowered = dataclasses.replace(lowered, function=function)
            self.callees.made[made] = lowered  # (it may call itself)
            found = builder.read(lowered, given, guard=True, deciding=deciding)
            self.callees.made[made] = found
        return ir.Ref(name, self._made[key])

    def restored(self, function: ir.Function) -> ir.Function:
        """A function in which calls that carry no derivative are written as the user did."""
        _refuse_parents(function)
        if not self._written:
            return function

        def expr(e: ir.Expr) -> ir.Expr:
            e = ir.rebuild(e, expr)
            if isinstance(e, ir.Call) and isinstance(e.fn, ir.Ref) and e.fn.obj in self._written:
                method = self._written[e.fn.obj]
                seen = method.style in _CALLS or method.original in self.lookup.storing
                effects = None if seen else self.callees.effects(e.fn.obj)
                if effects is not None and effects.written:
                    return _by_name(e, method)  # (not taken for an operator without effects)
                return _as_written(e, method)
            return e

        return ir.with_body(function, ir.rewrite(function.body, self._setter, expr))

    def as_attributes(self, function: ir.Function) -> ir.Function:
        """A function in which methods that are values are what the user wrote: `spring.force`."""
        if not self.unbound and not self.values:
            return function

        def expr(e: ir.Expr) -> ir.Expr:
            match e:
                case ir.Call(args=(ir.Ref(obj=obj), base)) if is_partial(e):
                    name = self.unbound[obj][0].name if obj in self.unbound else None
                    if (name := self.values.get(obj, name)) is not None:
                        return ir.Attribute(base, name, e.at)
            return ir.rebuild(e, expr)

        function = ir.with_body(function, ir.rewrite(function.body, expression=expr))
        return self._called_by_name(function)

    def _setter(self, stmt: ir.Stmt) -> ir.Stmt | None:
        """`Model_set_rate(model, v)` as `model.rate = v`."""
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Ref(obj=obj), args=(base, value))):
                method = self._written.get(obj)
                if method is not None and method.style == "setter":
                    return ir.Store(ir.Attribute(base, method.name), value, stmt.origin)
        return None


def _refuse_parents(function: ir.Function) -> None:
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.Assign) and is_super(stmt.value):
            raise UnknownClassError(
                "which class `super()` refers to is not known, or is not written in Python",
                stmt.origin.place,
                CLASS_IS_READ,
            )


_CALLS = ("method", "call", "function", "setter")  # the styles of what is seen to be called


def _by_name(call: ir.Call, method: _Method) -> ir.Expr:
    """The method of an operator, called by its name: `log.__getitem__(k)` for `log[k]`."""
    first, *others = call.args
    if method.style != "property":
        return ir.Call(ir.Attribute(first, method.name), tuple(others), call.kwargs, call.at)
    of_class = ir.Attribute(ir.Call(ir.TYPE, (first,)), method.name)
    return ir.Call(ir.Attribute(of_class, "fget"), call.args, (), call.at)


def _as_written(call: ir.Call, method: _Method) -> ir.Expr:
    first = call.args[0] if call.args else ir.Const(None)
    match method.style:
        case "method":
            return ir.Call(ir.Attribute(first, method.name), call.args[1:], call.kwargs, call.at)
        case "call":
            return ir.Call(first, call.args[1:], call.kwargs, call.at)
        case "property":
            return ir.Attribute(first, method.name, call.at)
        case "item":
            return ir.Index(first, call.args[1], call.at)
        case "function":
            return dataclasses.replace(call, fn=ir.Ref(method.name, method.original))
    text = method.style.removeprefix("r")
    args = call.args[::-1] if method.style.startswith("r") else call.args
    return ir.Call(ir.Ref(text, method.original), args, at=call.at)


@dataclasses.dataclass(eq=False)
class _Desugaring(ir.Rewriter):
    """One walk through a function whose names have these kinds."""

    methods: Methods
    lowered: Lowered
    kinds: Mapping[str, Kind]
    given: Mapping[str, Kind]

    def __post_init__(self) -> None:
        self.parents: dict[str, ir.Expr] = {}
        self.classes = dict(self._named_classes())
        objects = (ref.obj for ref in fact(references, self.lowered.function))
        self.compares = any(map(is_comparison, objects))
        # Of classes that one name may have.
        self.several = any(kind.among for kind in self.kinds.values())

    def _named_classes(self) -> Iterator[tuple[str, ir.Ref]]:
        """The names for `type(self)` and for classes (`T = float`); notes those for `super()`."""
        stmts = list(ir.statements(self.lowered.function.body))
        counts = ir.bindings(stmts)
        for stmt in stmts:
            match stmt:
                case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj), args=(of,))):
                    cls = self._class(of) if obj is type else None
                case ir.Assign(target=str(name), value=ir.Ref(obj=type() as cls)):
                    pass
                case ir.Assign(target=str(name), value=value):
                    if is_super(value) and counts[name] == 1:
                        self.parents[name] = value
                    continue
                case _:
                    continue
            if cls is not None and counts[name] == 1:
                ref = stmt.value if isinstance(stmt.value, ir.Ref) else ir.Ref(cls.__name__, cls)
                yield name, ref

    def kind(self, expr: ir.Expr) -> Kind:
        return self.methods.kind_of(expr, self.kinds)

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        """A statement, after the checks of what a derivative that waited is given."""
        if self.compares:
            self._refuse_comparisons(stmt)
        new = self.resolved(stmt)
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj))) if waiting_of(obj) is not None:
                assert isinstance(new, ir.Assign) and isinstance(new.value, ir.Call)
                yield from (ir.Do(check, stmt.origin) for check in apart(new.value))
        yield new

    def resolved(self, stmt: ir.Stmt) -> ir.Stmt:
        """A statement with calls of functions for methods."""
        if self.several:
            names = Names(all_names(self.lowered.function))
            branches = by_class(stmt, self.kinds, self.desugared, names)
            if branches is not None:
                return branches
            if isinstance(stmt, ir.If) and (both := by_branch(stmt, self.kinds)) is not None:
                here, others = map(self._where, both)
                body, orelse = here.block(stmt.body), others.block(stmt.orelse)
                return dataclasses.replace(stmt, body=body, orelse=orelse)
        match stmt:
            case ir.Assign(value=value) | ir.Do(value=value):
                new = self.value(value, stmt.origin)
                return stmt if new is value else dataclasses.replace(stmt, value=new)
            case ir.Store(target=ir.Index(base, key), value=value) if self._class(base) is not None:
                parts = (base, as_argument(key), value)
                lookup = self.methods.lookup
                found = lookup.method(self._class(base), "__setitem__", parts, (), "method")
                return self._done(found, stmt)
            case ir.Update(target=ir.Var(name)) if name in objects(self.lowered, self._class):
                refuse_operator(f"`{stmt.op.text}` of an object", stmt.origin.place)
            case ir.Store(target=ir.Attribute(base, name), value=value):
                self._refuse_own_setter(base, value, stmt)
                found = self.methods.lookup.setter(self._class(base), name, (base, value))
                return self._done(found, stmt)
        return self.inside(stmt) if ir.blocks(stmt) else stmt

    def desugared(self, stmt: ir.Stmt, kinds: Mapping[str, Kind]) -> ir.Stmt:
        """A statement where names have these kinds."""
        return self._where(kinds).resolved(stmt)

    def _where(self, kinds: Mapping[str, Kind]) -> _Desugaring:
        """The same walk where names have these kinds."""
        return _Desugaring(self.methods, self.lowered, kinds, self.given)

    def _refuse_own_setter(self, base: ir.Expr, value: ir.Expr, stmt: ir.Stmt) -> None:
        """Refuse `obj.name = value` where a method of the class says what is stored."""
        cls = self._class(base)
        if cls is None or not has_own_setter(cls) or self.kind(value).discrete:
            return
        raise UnsupportedError(
            f"an attribute is assigned, and {cls.__name__} has a `__setattr__` of its own",
            stmt.origin.place,
            "What that does to the value is not differentiated: use a class without it, or a "
            "method that makes a new object.",
        )

    def _done(self, found: Found | None, stmt: ir.Store) -> ir.Stmt:
        """A store as the call of the method that it is; itself where there is none."""
        call = None if found is None else self.called(found, stmt.value, stmt.origin)
        return stmt if call is None else ir.Do(call, stmt.origin)

    def value(self, value: ir.Expr, origin: ir.Origin) -> ir.Expr:
        """A call, an attribute or an item as a call of the method behind it."""
        match value:
            case ir.Call(fn=ir.Attribute(ir.Var(name), asked)) | ir.Attribute(
                ir.Var(name), asked
            ) if name in self.parents:
                return self._parent(value, name, asked, origin) or value
            case ir.Call(fn=ir.Var(name)) if name in self.classes:
                value = dataclasses.replace(value, fn=self.classes[name])
            case ir.Call(fn=ir.Ref(obj=obj)) if obj in self.methods.unbound:
                behind, cls = self.methods.unbound[obj]
                behind = dataclasses.replace(behind, args=value.args, kwargs=value.kwargs)
                return self._where_first_is(cls, value.args).called(behind, value, origin)
            case ir.Call(fn=ir.Ref(obj=obj)) if self._is_resolved(obj):
                return value
            case ir.Call(fn=ir.Attribute(base, method)) if self.kind(base).cls is NONE.cls:
                return ir.Call(_NOTHING, (base, ir.Const(method)), at=value.at)
            case ir.Call(fn=ir.Var() as called) if self.kind(called).cls is NONE.cls:
                return ir.Call(_NOTHING, (called, ir.Const("__call__")), at=value.at)
        found = self.methods.lookup.behind(value, self.kind)
        if found is not None and found.style.startswith("r"):
            assert isinstance(value, ir.Call)
            if self.may_be_object(value.args[0]):
                return value
        if found is not None and not self._is_itself(found):
            return self.called(found, value, origin)
        if isinstance(value, ir.Call) and isinstance(value.fn, ir.Ref):
            self._refuse_operator(value, value.fn, origin)
            return self._with_objects(value, value.fn) or value
        return value

    def _is_itself(self, found: Found) -> bool:
        """Whether this function stands for a cached property: it reads what it stores."""
        return found.fn in self.methods.lookup.storing and found.fn is self.lowered.scope.fn

    def _where_first_is(self, cls: type, args: tuple[ir.Expr, ...]) -> _Desugaring:
        """The same walk where the first argument, whose method is called, is of this class."""
        if not args or not isinstance(args[0], ir.Var) or self._class(args[0]) is cls:
            return self
        found = self.kind(args[0])
        kind = of_class(found, cls) if found.among else Kind("object", cls=cls)
        return self._where({**self.kinds, args[0].name: kind})

    def _class(self, expr: ir.Expr) -> type | None:
        kind = self.kind(expr)
        return kind.cls if kind.has_methods else None

    def _is_resolved(self, obj: Any) -> bool:
        """Whether a function was made here already, or has a rule, or carries no derivatives."""
        if obj in self.methods._written:
            return True
        builder = self.methods.callees.builder
        assert builder is not None
        book = builder.book
        if obj in BINARY or obj in UNARY:
            return False
        return book.find(obj) is not None or bool(book.is_nondifferentiable(obj))

    def _with_objects(self, call: ir.Call, fn: ir.Ref) -> ir.Call | None:
        """A call of a function that is given objects."""
        if not is_entered(fn.obj):
            return None
        given = self._given(fn.obj, call)
        waiting = deferred(fn.obj)
        specialized = None
        if given and waiting is not None:
            specialized = waiting.specialized(tuple(given.items()))
        elif waiting is not None:
            return self._with_ranks(call, waiting)
        if waiting is not None and specialized is not None:
            fn, call = specialized, waiting.given(call, specialized)
        elif waiting_of(fn.obj) is not None:
            return None
        deciding = self._deciding(fn.obj, call)
        if not given and not deciding:
            return None
        method = _Method("function", fn.text, fn.obj)
        name = self.methods.callees.lowered(fn.obj).function.name
        made = self.methods.variant(fn.obj, method, name, given, deciding)
        return None if made.obj is fn.obj else dataclasses.replace(call, fn=made)

    def _deciding(self, fn: Any, call: ir.Call) -> dict[str, Kind]:
        """What is known of the arguments that tests of a function may be about."""
        names = self.methods.deciding(fn)
        if not names or _gives_any_number(call):
            return {}
        bound: dict[str, ir.Expr] = {
            n: ir.Const(p.default)
            for n, p in plain_signature(fn).parameters.items()
            if p.default is None or isinstance(p.default, (str, int, float))
        }
        bound.update(_bound(fn, call))
        found = {n: self._exactly(bound[n]) for n in sorted(names & bound.keys())}
        return {n: kind for n, kind in found.items() if kind != UNKNOWN}

    def _exactly(self, value: ir.Expr) -> Kind:
        """What a test may ask of a value."""
        match value:
            case ir.Const():
                return exactly(value)
            case ir.Var(name) if name in self.given and self.bound[name] == 1:
                return self.given[name]
            case ir.Var(name) if name in self.displayed and self.bound[name] == 1:
                return exactly(self.displayed[name])
            case ir.Var(name):
                return rough(self.sure.get(name, UNKNOWN))
        return UNKNOWN

    @functools.cached_property
    def bound(self) -> Counter[str]:
        """How often names are bound, or updated."""
        function = self.lowered.function
        stmts = list(ir.statements(function.body))
        updated = (n for s in stmts if isinstance(s, ir.Update) for n in ir.names_in(s.target))
        return ir.bindings(stmts, function.param_names) + Counter(updated)

    @functools.cached_property
    def displayed(self) -> dict[str, ir.Display]:
        """The names that are bound to what is written out: `[1.0, 2.0]`."""
        return {
            stmt.target: stmt.value
            for stmt in ir.statements(self.lowered.function.body)
            if isinstance(stmt, ir.Assign)
            and isinstance(stmt.target, str)
            and isinstance(stmt.value, ir.Display)
        }

    @functools.cached_property
    def sure(self) -> Mapping[str, Kind]:
        return self.methods.sure(self.lowered.function, self.given)

    def _with_ranks(self, call: ir.Call, waiting: Waiting) -> ir.Call | None:
        """A call of a derivative that asks what its arguments are, as one of that for these."""
        kinds = self.methods.callees.kinds_given(call, self.kind)
        ranks = tuple((name, kind) for name, kind in kinds.items() if kind.tells_ranks)
        found = waiting.specialized(ranks) if ranks else None
        return None if found is None else waiting.given(call, found)

    def _refuse_operator(self, call: ir.Call, fn: ir.Ref, origin: ir.Origin) -> None:
        """Refuse an operator of an object whose class has none that can be read."""
        if fn.obj not in BINARY and fn.obj not in UNARY:
            return
        kinds = map(self.kind, call.args)
        if any(kind.form == "object" and kind.has_methods for kind in kinds):
            if any(map(self.may_be_object, call.args)):
                return
            what = f"`{fn.text}` of an object, whose class does not define in Python what that does"
            refuse_operator(what, origin.place)

    def _refuse_comparisons(self, stmt: ir.Stmt) -> None:
        """Refuse `a < b` of objects whose class gives something else than True or False: such an
        operator counts as carrying no derivatives, in whatever expression it stands."""
        for part in itertools.chain.from_iterable(map(ir.walk, ir.expressions(stmt))):
            match part:
                case ir.Call(fn=ir.Ref(text, obj), args=(a, b)) if is_comparison(obj):
                    classes = (self._class(a), self._class(b))
                    for found in self.methods.lookup.compared(part, classes):
                        result = self.kind(found.call(part.at))
                        if result != UNKNOWN and not result.discrete:
                            what = f"`{text}` of objects gives more than True or False"
                            refuse_operator(what, part.at or stmt.origin.place)

    def may_be_object(self, operand: ir.Expr) -> bool:
        """Whether an operand may be an object with the operator: nothing is known of it
        (`Methods._settled`), or only that it has a method that arrays have."""
        return self.kind(operand).is_open or (
            isinstance(operand, ir.Var) and self.sure.get(operand.name, UNKNOWN).is_open
        )

    def _parent(
        self, value: ir.Call | ir.Attribute, parent: str, name: str, origin: ir.Origin
    ) -> ir.Expr | None:
        """`super().name(...)`, `super().name`: the method, the property or the value in a class
        that comes next for that of `self`."""
        asked = asked_after(ir.substitute(self.parents[parent], self.classes), self.lowered)
        if asked is None:
            return None
        of = asked[1].obj if isinstance(asked[1], ir.Ref) else self._class(asked[1])
        if not isinstance(of, type) or (base := next_class(of, asked[0], name)) is None:
            return None
        fn, written = vars(base)[name], f"{base.__name__}.{name}"
        if isinstance(value, ir.Attribute):
            if not hasattr(fn, "__get__"):
                return ir.Ref(written, fn)
            fn, written = getattr(fn, "fget", None), f"{written}.fget"
            value = ir.Call(value, (), (), value.at)
        args, original = value.args, fn
        if isinstance(fn, staticmethod):
            fn = original = fn.__func__
        elif isinstance(fn, classmethod):  # (that no path leads to)
            original, written = getattr(super(asked[0], of), name), f"{of.__name__}_super_{name}"
            fn = self.methods.lookup.with_class(fn.__func__, of)
        elif isinstance(asked[1], ir.Var):
            args = (asked[1], *args)
        if not isinstance(fn, types.FunctionType):
            return None
        text = f"{base.__name__}_{name.strip('_')}"
        found = Found(fn, args, value.kwargs, text, "function", written, original)
        return self.called(found, value, origin)

    def called(self, found: Found, expr: ir.Expr, origin: ir.Origin) -> ir.Call:
        """The call of a method, made for the classes that it is given here."""
        at = expr.at if isinstance(expr, ir.Call) else origin.place
        plain = self.methods.callees.variants.of_call(found.call(at))  # (starred parameters)
        assert isinstance(plain.fn, ir.Ref)
        method = _Method(found.style, found.name, found.original)
        given = self._given(plain.fn.obj, plain)
        deciding = self._deciding(plain.fn.obj, plain)
        fn = self.methods.variant(plain.fn.obj, method, found.text, given, deciding)
        return dataclasses.replace(plain, fn=fn)

    def _given(self, fn: Any, call: ir.Call) -> dict[str, Kind]:
        """What is known of the objects among the arguments, by parameter; of None where the
        function takes a module instead."""
        bound = _bound(fn, call)
        atoms = (ir.Var, ir.Ref, ir.Const)
        kinds = {n: self.kind(value) for n, value in bound.items() if isinstance(value, atoms)}
        if not _gives_any_number(call):
            kinds |= {n: k for n, k in _defaults(fn).items() if n not in bound}
        objects = {name: kind for name, kind in kinds.items() if kind.holds_objects}
        found = {name: no_deeper(kind.checked) for name, kind in objects.items()}
        nothing = [name for name, kind in kinds.items() if kind == NOTHING]
        if nothing and self._names_modules(fn):
            found |= dict.fromkeys(nothing, NOTHING)
        return found

    def _names_modules(self, fn: Any) -> bool:
        """Whether a function gives a name to a module."""
        try:
            body = self.methods.callees.lowered(fn).function.body
        except UnsupportedError:
            return False
        values = (stmt.value for stmt in ir.statements(body) if isinstance(stmt, ir.Assign))
        parts = (part for value in values for part in ir.walk(value))
        return any(isinstance(p, ir.Ref) and isinstance(p.obj, types.ModuleType) for p in parts)


def _defaults(fn: Any) -> dict[str, Kind]:
    """What is known of the parameters of a function whose defaults are modules, or None."""
    try:
        params = plain_signature(fn).parameters.items()
    except (TypeError, ValueError):
        return {}
    modules = {n: p.default for n, p in params if isinstance(p.default, types.ModuleType)}
    kinds = {n: Kind("other", module=module) for n, module in modules.items()}
    return kinds | {n: NOTHING for n, p in params if p.default is None}


def _gives_any_number(call: ir.Call) -> bool:
    """Whether how many arguments a call gives is not known: `f(x, *args)`."""
    return any(map(ir.is_starred, call.args))


def _bound(fn: Any, call: ir.Call) -> dict[str, ir.Expr]:
    """What a call surely gives the parameters of a function; nothing if it does not fit."""
    with contextlib.suppress(UnsupportedError, ValueError):
        return bind_surely(dataclasses.replace(call, fn=ir.Ref("", fn)))
    return {}


def _is_enum(cls: type | None) -> bool:
    return cls is not None and issubclass(cls, enum.Enum)
