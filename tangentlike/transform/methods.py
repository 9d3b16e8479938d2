"""Methods of objects whose classes are known, called like any other function.

before::                         after::
    h = layer(x)                     h = Layer_call(layer, x)
    n = layer.norm                   n = Layer_norm(layer)         (a property)
    c = a + b                        c = Vector_add(a, b)

A method is read once for each set of classes that its arguments have, and begins with
`require_class(self, Layer)`, so that an object of another class is refused when it comes there.
Where a call carries no derivative it is spelled as the user did again (`restored`).
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any

from .. import ir
from ..analysis.operations import is_python_function
from ..errors import UnknownClassError, UnsupportedError
from ..frontend import Lowered
from ..kind import UNKNOWN, Kind
from ..runtime import require_class
from ..structures import OF_ARRAYS
from .callees import Callees
from .held_calls import held_calls_as_reads

Infer = Callable[[ir.Function, Mapping[str, Kind]], Mapping[str, Kind]]
KindOf = Callable[[ir.Expr, Mapping[str, Kind]], Kind]
_MOST_ROUNDS = 100  # each makes the result of one more call known

_BINARY = {
    **{operator.add: "add", operator.sub: "sub", operator.mul: "mul"},
    **{operator.truediv: "truediv", operator.pow: "pow", operator.matmul: "matmul"},
    **{operator.floordiv: "floordiv", operator.mod: "mod"},
}
_UNARY = {operator.neg: "__neg__", operator.pos: "__pos__", abs: "__abs__", len: "__len__"}


@dataclasses.dataclass(frozen=True)
class _Method:
    """What a call stood for: how it is printed where it carries no derivative."""

    style: str  # "method", "property", "call", "item", "function", or the text of an operator
    name: str
    original: Any


class Methods:
    """The methods of one transform. `infer` and `kind_of` know the kinds of a function's names."""

    def __init__(self, callees: Callees, infer: Infer, kind_of: KindOf) -> None:
        self.callees = callees
        self.infer = infer
        self.kind_of = kind_of
        self._made: dict[Any, types.FunctionType] = {}
        self._spelled: dict[int, _Method] = {}

    def resolved(self, lowered: Lowered, given: Mapping[str, Kind], guard: bool = False) -> Lowered:
        """A function in which methods of objects of known classes are called as functions;
        with `guard` it begins by checking the classes that it is given."""
        if guard:
            lowered = _guarded(lowered, given)
        for _ in range(_MOST_ROUNDS):
            kinds = self.infer(lowered.function, given)
            if not any(kind.holds_objects for kind in kinds.values()):
                break
            _refuse_properties_like_arrays(lowered.function, kinds)
            read = held_calls_as_reads(lowered, kinds)
            if read is not lowered:
                lowered = read
                continue
            body = _Spelling(self, lowered, kinds).block(lowered.function.body)
            if body == lowered.function.body:
                break
            function = dataclasses.replace(lowered.function, body=body)
            lowered = dataclasses.replace(lowered, function=function)
        return lowered

    def variant(
        self, fn: types.FunctionType, method: _Method, name: str, given: Mapping[str, Kind]
    ) -> ir.Ref:
        """A function made for arguments of these classes."""
        key = (id(fn), method.style, tuple(given.items()))
        if key not in self._made:
            made = types.FunctionType(
                fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__
            )
            made.__module__, made.__qualname__ = fn.__module__, fn.__qualname__
            made.__kwdefaults__ = fn.__kwdefaults__
            self._made[key] = made
            self._spelled[id(made)] = method
            lowered = self.callees.lowered(fn)
            function = dataclasses.replace(lowered.function, name=name)
            lowered = dataclasses.replace(lowered, function=function)
            self.callees.made[id(made)] = lowered  # (it may call itself)
            self.callees.made[id(made)] = self.resolved(lowered, given, guard=True)
        return ir.Ref(name, self._made[key])

    def restored(self, function: ir.Function) -> ir.Function:
        """A function in which calls that carry no derivative are spelled as the user did."""
        _refuse_parents(function)
        if not self._spelled:
            return function

        def expr(e: ir.Expr) -> ir.Expr:
            e = ir.rebuild(e, expr)
            if (
                isinstance(e, ir.Call)
                and isinstance(e.fn, ir.Ref)
                and id(e.fn.obj) in self._spelled
            ):
                return _as_written(e, self._spelled[id(e.fn.obj)])
            return e

        def block(b: ir.Block) -> ir.Block:
            return tuple(ir.map_statement(s, expr=expr, block=block) for s in b)

        return dataclasses.replace(function, body=block(function.body))


def _guarded(lowered: Lowered, given: Mapping[str, Kind]) -> Lowered:
    """A function that begins with `require_class(layer, Layer)` for each object it is given."""
    function = lowered.function
    origin = ir.Origin(function.place)
    checks = [
        ir.Do(
            ir.Call(
                ir.Ref("require_class", require_class),
                (ir.Var(name), ir.Ref(kind.cls.__name__, kind.cls)),
                at=function.place,
            ),
            origin,
        )
        for name, kind in given.items()
        if kind.form == "object" and kind.cls is not None and name in function.param_names
    ]
    checks = [check for check in checks if check not in function.body[: len(checks)]]
    function = dataclasses.replace(function, body=(*checks, *function.body))
    return dataclasses.replace(lowered, function=function)


def _refuse_properties_like_arrays(function: ir.Function, kinds: Mapping[str, Kind]) -> None:
    """`box.size` is taken for the size of an array, which has no derivative."""
    for stmt in ir.statements(function.body):
        for part in (p for expr in ir.expressions(stmt) for p in ir.walk(expr)):
            if not isinstance(part, ir.Attribute) or part.name not in OF_ARRAYS:
                continue
            kind = kinds.get(part.base.name, UNKNOWN) if isinstance(part.base, ir.Var) else UNKNOWN
            if isinstance(inspect.getattr_static(kind.cls, part.name, None), property):
                raise UnsupportedError(
                    f"the property `{part.name}` is also an attribute of arrays",
                    stmt.origin.place,
                    f"Rename it: `{part.name}_` could be told apart.",
                )


def _refuse_parents(function: ir.Function) -> None:
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.Assign) and _is_super(stmt.value) and not stmt.value.args:  # type: ignore[union-attr]
            raise UnknownClassError(
                "what `super()` stands for is not known, or is not written in Python",
                stmt.origin.place,
                "Call the derivative, whose arguments tell the classes of objects.",
            )


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


class _Spelling:
    """One walk through a function whose names have these kinds."""

    def __init__(self, methods: Methods, lowered: Lowered, kinds: Mapping[str, Kind]) -> None:
        self.methods = methods
        self.lowered = lowered
        self.kinds = kinds
        self.parents = {
            stmt.target
            for stmt in ir.statements(lowered.function.body)
            if isinstance(stmt, ir.Assign) and _is_super(stmt.value)
        }

    def kind(self, expr: ir.Expr) -> Kind:
        if isinstance(expr, ir.Ref) and _is_instance(expr.obj):
            return UNKNOWN
        return self.methods.kind_of(expr, self.kinds)

    def block(self, block: ir.Block) -> ir.Block:
        made = tuple(self.statement(stmt) for stmt in block)
        used = frozenset().union(*(ir.reads(s) for s in ir.statements(made)))
        return tuple(s for s in made if not self._unused_parent(s, used))

    def _unused_parent(self, stmt: ir.Stmt, used: frozenset[str]) -> bool:
        """Whether it is `parent = super()`, and all that is asked of it was found."""
        return isinstance(stmt, ir.Assign) and _is_super(stmt.value) and stmt.target not in used

    def statement(self, stmt: ir.Stmt) -> ir.Stmt:
        match stmt:
            case ir.Assign(value=value) | ir.Do(value=value):
                new = self.expression(value, stmt.origin)
                return stmt if new is value else dataclasses.replace(stmt, value=new)
            case ir.Store(target=ir.Index(base, key), value=value) if self._class(base) is not None:
                call = self._call(base, "__setitem__", (key, value), (), "method", stmt.origin)
                return stmt if call is None else ir.Do(call, stmt.origin)
        return ir.map_statement(stmt, block=self.block) if ir.blocks(stmt) else stmt

    def expression(self, value: ir.Expr, origin: ir.Origin) -> ir.Expr:
        """A call, an attribute or an item as a call of the method behind it."""
        found: ir.Expr | None = None
        match value:
            case ir.Call(fn=ir.Attribute(ir.Var(name), method)) if name in self.parents:
                found = self._parent(value, method, origin)
            case ir.Call(fn=ir.Attribute(base, name)) if self._class(base) is not None:
                found = self._call(base, name, value.args, value.kwargs, "method", origin)
            case ir.Call(fn=ir.Var() as base) if self._class(base) is not None:
                found = self._call(base, "__call__", value.args, value.kwargs, "call", origin)
            case ir.Call(fn=ir.Ref(obj=obj), args=args):
                found = self._reference(value, obj, args, origin)
            case ir.Attribute(base, name) if self._class(base) is not None:
                found = self._call(base, name, (), (), "property", origin)
            case ir.Index(base, key) if self._class(base) is not None:
                found = self._call(base, "__getitem__", (key,), (), "item", origin)
        return value if found is None else found

    def _class(self, expr: ir.Expr) -> type | None:
        kind = self.kind(expr)
        return kind.cls if kind.form == "object" else None

    def _reference(
        self, call: ir.Call, obj: Any, args: tuple[ir.Expr, ...], origin: ir.Origin
    ) -> ir.Expr | None:
        """An operator of an object, or a function that is given objects."""
        if obj in _BINARY and len(args) == 2:
            return self._operator(call, obj, origin)
        if obj in _UNARY and len(args) == 1 and self._class(args[0]) is not None:
            found = self._call(args[0], _UNARY[obj], (), (), call.fn.text, origin, obj)  # type: ignore[union-attr]
            return found if found is not None else self._refuse(call, args[0], origin)
        known = (
            id(obj) in self.methods._spelled or id(obj) in self.methods.callees.variants.original
        )
        if known or not is_python_function(obj) or any(map(ir.is_starred, call.args)):
            return None
        if self._is_known(obj):
            return None
        given = self._given(obj, call)
        if not any(kind.holds_objects for kind in given.values()):
            return None
        assert isinstance(call.fn, ir.Ref)
        method = _Method("function", call.fn.text, obj)
        name = self.methods.callees.lowered(obj).function.name
        return dataclasses.replace(call, fn=self.methods.variant(obj, method, name, given))

    def _is_known(self, obj: Any) -> bool:
        """Whether a function has a rule, or carries no derivatives."""
        assert self.methods.callees.builder is not None
        book = self.methods.callees.builder.book  # type: ignore[attr-defined]
        return book.find(obj) is not None or book.is_nondifferentiable(obj)

    def _operator(self, call: ir.Call, obj: Any, origin: ir.Origin) -> ir.Expr | None:
        a, b = call.args
        if self._class(a) is None and self._class(b) is None:
            return None
        assert isinstance(call.fn, ir.Ref)
        name, found = _BINARY[obj], None
        if self._class(a) is not None:
            found = self._call(a, f"__{name}__", (b,), (), call.fn.text, origin, obj)
        elif self._class(b) is not None:
            style = f"r{call.fn.text}"
            found = self._call(b, f"__r{name}__", (a,), (), style, origin, obj)
        return found if found is not None else self._refuse(call, a, origin)

    def _refuse(self, call: ir.Call, operand: ir.Expr, origin: ir.Origin) -> ir.Expr:
        assert isinstance(call.fn, ir.Ref)
        raise UnsupportedError(
            f"`{call.fn.text}` of an object, whose class does not say in Python what that is",
            origin.place,
            "Write it as a method, or as a function of the object's attributes.",
        )

    def _parent(self, call: ir.Call, name: str, origin: ir.Origin) -> ir.Expr | None:
        """`super().name(...)`: the method that comes next for the class of `self`."""
        cell = self.lowered.scope.cells.get("__class__")
        params = self.lowered.function.param_names
        cls = self._class(ir.Var(params[0])) if params else None
        if cell is None or cls is None:
            return None
        owner = cell.cell_contents
        if not issubclass(cls, owner):
            return None
        later = cls.__mro__[cls.__mro__.index(owner) + 1 :]
        for base in later:
            if name in vars(base):
                fn = vars(base)[name]
                if not isinstance(fn, types.FunctionType):
                    return None
                args = (ir.Var(params[0]), *call.args)
                plain = ir.Call(ir.Ref(f"{base.__name__}_{name.strip('_')}", fn), args, call.kwargs)
                method = _Method("function", f"{base.__name__}.{name}", fn)
                return self._variant_call(fn, method, plain, call.at)
        return None

    def _call(
        self,
        base: ir.Expr,
        name: str,
        args: tuple[ir.Expr, ...],
        kwargs: tuple[tuple[str, ir.Expr], ...],
        style: str,
        origin: ir.Origin,
        operation: Any = None,
    ) -> ir.Call | None:
        """The call of what the class of `base` has by this name; None where it has nothing that
        can be read."""
        cls = self._class(base)
        found = inspect.getattr_static(cls, name, None)
        if style == "property":
            found = found.fget if isinstance(found, property) else None
        elif isinstance(found, staticmethod) and style == "method":
            fn = found.__func__
            text = f"{cls.__name__}_{name}"  # type: ignore[union-attr]
            plain = ir.Call(ir.Ref(text, fn), args, kwargs, origin.place)
            method = _Method("function", text, fn)
            return self._variant_call(fn, method, plain, origin.place)
        if not isinstance(found, types.FunctionType) or any(map(ir.is_starred, args)):
            return None
        if _may_decline(found):
            return None
        assert cls is not None
        text = f"{cls.__name__}_{name.strip('_')}"
        plain = ir.Call(ir.Ref(text, found), (base, *args), kwargs, origin.place)
        method = _Method(style, name, operation if operation is not None else found)
        return self._variant_call(found, method, plain, origin.place)

    def _variant_call(
        self, fn: types.FunctionType, method: _Method, plain: ir.Call, at: Any
    ) -> ir.Call | None:
        given = self._given(fn, plain)
        assert isinstance(plain.fn, ir.Ref)
        name = plain.fn.text
        return ir.Call(self.methods.variant(fn, method, name, given), plain.args, plain.kwargs, at)

    def _given(self, fn: Any, call: ir.Call) -> dict[str, Kind]:
        """What is known of the objects among the arguments, by parameter."""
        try:
            bound = inspect.signature(fn, follow_wrapped=False).bind(
                *call.args, **dict(call.kwargs)
            )
        except (TypeError, ValueError):
            return {}
        kinds = ((n, self.kind(v)) for n, v in bound.arguments.items() if isinstance(v, ir.Var))
        return {name: kind for name, kind in kinds if kind.holds_objects}


def _is_super(value: ir.Expr) -> bool:
    return isinstance(value, ir.Call) and isinstance(value.fn, ir.Ref) and value.fn.obj is super


def _is_instance(obj: Any) -> bool:
    return not isinstance(obj, (type, types.ModuleType)) and not callable(obj)


def _may_decline(fn: types.FunctionType) -> bool:
    """Whether an operator's method may say that it is not defined, so that another is tried."""
    return "NotImplemented" in fn.__code__.co_names
