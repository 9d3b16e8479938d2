"""What is refused of the functions that a transform made: what tangents inside a `try` may raise,
which would be taken for the primal's exception; and names of the outside that move (below)."""

from __future__ import annotations

import dis
import inspect
import math
import operator
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ir, runtime
from ..errors import UnsupportedError
from ..frontend.jumps import ends_by_raising
from ..frontend.owners import NUMERICAL, is_ours, is_standard
from ..ir.facts import fact
from ..ir.index import forms, references
from ..runtime.records import attribute_of
from .flow import writes_outside

Classes = frozenset[type[BaseException]]

_NONE: Classes = frozenset()
_NUMPY: Classes = frozenset((FloatingPointError, RuntimeWarning))  # where the user asks for them
_ANY: Classes = _NUMPY | {ZeroDivisionError, OverflowError}
_DIVISIONS = (operator.truediv, operator.floordiv, operator.mod)
_PLAIN = (operator.add, operator.sub, operator.mul, operator.neg, operator.pos, operator.matmul)
_PLAIN_UPDATES = (operator.iadd, operator.isub, operator.imul, operator.imatmul)
# Functions of Python that compute nothing, or add.
_HARMLESS = (
    *(float, abs, bool, len, range, zip, enumerate, reversed, isinstance, type, sum, max, min),
    *(list, tuple, dict),
)
# Helpers of the runtime that only make, copy, compare, index and add.
_HELPERS = frozenset(
    ("zeros_like", "copy", "add_at", "unbroadcast", "broadcast_like", "accumulate", "scalar_seed")
    + ("shared_zeros", "mirrored_view", "record_like", "dict_dot", "shallow_dot", "greater_share")
    + ("dot_items", "take_items", "columns", "mirror", "tie_shares")
)


def refuse_raising(functions: Iterable[ir.Function]) -> None:
    """Refuse a `try` that catches what only the tangents in its body may raise.

    Those of a straight body are computed after it (`transform.forward.attempts`); others stand in
    it, and `y_dot = (a_dot - y * b_dot) / c` must not raise a ZeroDivisionError there.
    """
    by_name = {f.name: f for f in functions}
    for function in by_name.values():
        for stmt in ir.statements(function.body) if ir.Try in fact(forms, function) else ():
            if isinstance(stmt, ir.Try) and not ends_by_raising(stmt.orelse):
                raised = _Tangents(by_name, function).of(ir.tried_and_rest(stmt)[0])
                if raised:
                    _refuse(stmt, raised)


def _refuse(stmt: ir.Try, raised: Classes) -> None:
    for part in ir.walk(stmt.test):
        if not isinstance(part, ir.Ref) or not isinstance(part.obj, type):
            continue
        if any(issubclass(one, part.obj) for one in raised):
            raise UnsupportedError(
                f"`{part.text}` is caught around statements with tangents, which may raise that "
                "exception too",
                stmt.origin.place,
                "Catch a narrower class of exceptions, leave in `try` only the statement that "
                "raises, or use reverse mode.",
            )


@dataclass
class _Tangents:
    """The exceptions that the tangent statements of a function, and of those it calls, raise."""

    functions: Mapping[str, ir.Function]
    function: ir.Function
    seen: set[str] = field(default_factory=set)
    divisors: frozenset[ir.Expr] = frozenset()  # by which the primal has divided before

    def of(self, block: ir.Block) -> Classes:
        """What the tangents of a block may raise."""
        found, around = _NONE, self.divisors
        for stmt in block:
            found |= self.statement(stmt)
            for inner in ir.blocks(stmt):
                found |= self.of(inner)
            bound = {name for s in ir.statements((stmt,)) for name in ir.binds(s)}
            self.divisors = frozenset(d for d in self.divisors if not ir.names_in(d) & bound)
            self.divisors |= _divisors(stmt)
        self.divisors = around
        return found

    def statement(self, stmt: ir.Stmt) -> Classes:
        """What the tangents of a statement itself may raise, without those of its blocks."""
        parts = [part for expr in ir.expressions(stmt) for part in ir.walk(expr)]
        if stmt.origin.role != "tangent":
            calls = (part for part in parts if isinstance(part, ir.Call))
            return _NONE.union(*(self.callee(call.fn) for call in calls))
        found = _NONE.union(*map(self.part, parts))
        updates = isinstance(stmt, ir.Update) and stmt.op.obj not in _PLAIN_UPDATES
        return found | _ANY if updates else found

    def part(self, expr: ir.Expr) -> Classes:
        """What one operation of a tangent may raise."""
        match expr:
            case ir.Call(fn=ir.Ref(obj=obj), args=(_, under)) if obj in _DIVISIONS:
                return _NUMPY if self.is_divisor(under) else _ANY
            case ir.Call(fn=ir.Ref(obj=operator.pow), args=(base, exponent)):
                if self.is_numpy(base):
                    return _NUMPY
                positive = isinstance(exponent, ir.Const) and exponent.value >= 0
                return _ANY - {ZeroDivisionError} if positive else _ANY
            case ir.Call(fn=ir.Attribute()):
                return _NUMPY
            case ir.Call(fn=ir.Ref(text=text)) if text in self.functions:
                return self.callee(expr.fn)
            case ir.Call(fn=ir.Ref(obj=obj)):
                return _of_library(obj)
            case ir.Call() | ir.Opaque():
                return _ANY
        return _NONE

    def callee(self, fn: ir.Expr) -> Classes:
        """What the tangents of a function of the same module may raise."""
        if not isinstance(fn, ir.Ref):
            late = isinstance(fn, ir.Var) and not self.is_of_pair(fn.name)
            return _ANY if late else _NONE
        called = self.functions.get(fn.text)
        if called is None or called.name in self.seen:
            return _NONE
        self.seen.add(called.name)
        return _Tangents(self.functions, called, self.seen).of(called.body)

    def is_of_pair(self, name: str) -> bool:
        """Whether a name is the forward function of a pair, which has no tangents."""
        return any(
            isinstance(stmt, ir.Assign)
            and isinstance(stmt.value, ir.Call)
            and getattr(stmt.value.fn, "obj", None) is runtime.pair_of
            for stmt in ir.statements(self.function.body)
            if name in ir.binds(stmt)
        )

    def is_divisor(self, under: ir.Expr) -> bool:
        """Whether dividing by this raises nothing, or has just been done by the primal."""
        if isinstance(under, ir.Const):
            return bool(under.value)
        return under in self.divisors or self.is_numpy(under)

    def is_numpy(self, expr: ir.Expr) -> bool:
        """Whether a value is an array or a number of NumPy's, which divides without raising."""
        match expr:
            case ir.Var(name):
                made = list(self.definitions(name))
                return bool(made) and all(isinstance(m, ir.Call) and _is_ufunc(m.fn) for m in made)
            case ir.Call(fn=ir.Ref(obj=obj), args=args) if obj in _PLAIN:
                return any(map(self.is_numpy, args))
            case ir.Call(fn=fn):
                return _is_ufunc(fn)
        return False

    def definitions(self, name: str) -> Iterator[ir.Expr | None]:
        for stmt in ir.statements(self.function.body):
            if name in ir.binds(stmt):
                if isinstance(stmt, ir.Assign) and stmt.target == name:
                    yield stmt.value
                else:
                    yield None
        if name in self.function.param_names:
            yield None


def _divisors(stmt: ir.Stmt) -> frozenset[ir.Expr]:
    """What a statement of the primal divides by, if it does not give this another value."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=(_, under))) if obj in _DIVISIONS:
            rebound = ir.names_in(under) & {*ir.binds(stmt)}
            return frozenset() if rebound or stmt.origin.role == "tangent" else frozenset((under,))
    return frozenset()


def _is_ufunc(fn: ir.Expr) -> bool:
    return isinstance(fn, ir.Ref) and isinstance(fn.obj, np.ufunc)


def _of_library(obj: Any) -> Classes:
    """What a function of NumPy, `math` or the runtime raises for finite arguments."""
    if any(obj is known for known in _HARMLESS):
        return _NONE
    module = attribute_of(obj, "__module__", None) or ""
    if obj in _PLAIN or isinstance(obj, np.ufunc) or module.partition(".")[0] == "numpy":
        return _NUMPY
    if getattr(math, attribute_of(obj, "__name__", ""), None) is obj:
        return frozenset((OverflowError,))
    if ".runtime" in module and obj.__name__ in _HELPERS:
        return _NUMPY
    return _ANY


# --------------------------------------------------------------------------------------------------
# Names of the outside that one function writes and another reads: refused.
#
# A derivative reads such a name again in its reverse sweep, when it may mean something else. The
# function that writes it reads it through opaque code, whose values are kept.

_STORES = frozenset((dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]))
_SETS = frozenset((dis.opmap["STORE_ATTR"], dis.opmap["DELETE_ATTR"]))


def refuse_moving(functions: Iterable[ir.Function]) -> None:
    """Refuse functions of one file of which one reads a name, or an attribute of a module or a
    class, that another one writes."""
    functions = tuple(functions)
    outer = [ref.obj for function in functions for ref in fact(references, function)]
    written = Rebound().by([fn for obj in outer for fn in _run_by(obj)])
    stmts = [stmt for function in functions for stmt in ir.statements(function.body)]
    for stmt in stmts:
        if isinstance(stmt, ir.OpaqueStmt) and writes_outside(stmt):
            written.names.add(stmt.text.partition(" = ")[0])
    for stmt in stmts if written.names or written.places else ():
        for text in filter(None, map(written.read_by, ir.walk_statement(stmt))):
            raise UnsupportedError(
                f"`{text}` is read here, and a function that is called rebinds it",
                stmt.origin.place,
                f"Declare `global {text}` here too, or pass it as an argument."
                if text.isidentifier()
                else "Pass it as an argument, or keep it in an object.",
            )


_MAKING = ("__new__", "__init__", "__post_init__", "__enter__", "__exit__")


def _run_by(obj: Any) -> list[types.FunctionType]:
    """The functions that run where an outer object is named: itself, or what makes and enters an
    object of its class."""
    if isinstance(obj, types.FunctionType):
        return [obj]
    cls = obj if isinstance(obj, type) else type(obj)
    made = [inspect.getattr_static(cls, name, None) for name in _MAKING] if _is_users(cls) else []
    return [fn for fn in made if isinstance(fn, types.FunctionType)]


def _is_users(obj: Any) -> bool:
    """Whether a module, a class or a function is not Python's, a library's or ours."""
    name = obj.__name__ if isinstance(obj, types.ModuleType) else str(obj.__module__)
    package = name.partition(".")[0]
    return not (is_standard(package) or package in NUMERICAL or is_ours(obj))


@dataclass
class Rebound:
    """What some functions rebind, or functions that they name: globals, by `names`, and `places`,
    attributes of modules and classes."""

    names: set[str] = field(default_factory=set)
    places: list[tuple[Any, str]] = field(default_factory=list)

    def by(self, called: list[Any]) -> Rebound:
        seen = set[int]()
        while called:
            fn = inspect.unwrap(called.pop())
            if id(fn) not in seen and _is_users(fn):
                seen.add(id(fn))
                called += self._look_into(fn)
        return self

    def _look_into(self, fn: types.FunctionType) -> list[types.FunctionType]:
        """Note what a function rebinds; gives the functions that it names."""
        code, own = fn.__code__, fn.__globals__
        named = [own[name] for name in code.co_names if name in own]
        made = [fn for obj in named if isinstance(obj, type) for fn in _run_by(obj)]
        holders = [o for o in named if isinstance(o, type | types.ModuleType) and _is_users(o)]
        words = {word for word in code.co_consts if isinstance(word, str)}
        if not (_STORES | _SETS if holders else _STORES).isdisjoint(code.co_code[::2]):
            steps = list(dis.get_instructions(code))
            globals_ = {i.argval for i in steps if i.opcode in _STORES}
            self.names |= globals_
            self.places += [(own, name) for name in globals_]
            self._set(holders, {i.argval for i in steps if i.opcode in _SETS})
        if "setattr" in code.co_names:
            self._set(holders, words)
        if "globals" in code.co_names:
            self.names |= words & own.keys()
        modules = [vars(obj) for obj in holders if isinstance(obj, types.ModuleType)]
        named += [held[name] for held in modules for name in code.co_names if name in held]
        called = [obj for obj in named if isinstance(obj, types.FunctionType) and _is_users(obj)]
        return [*called, *made]

    def _set(self, holders: list[Any], names: set[str]) -> None:
        self.places += [(obj, name) for obj in holders for name in names & vars(obj).keys()]

    def read_by(self, part: ir.Expr) -> str:
        """The text of what an expression reads of it, "" for nothing."""
        match part:
            case ir.Ref(text=text, obj=obj):
                name = text.rpartition(".")[2]
                holders = [h for h, set_name in self.places if set_name == name]
                held = (h if isinstance(h, dict) else vars(h) for h in holders)
                return text if text in self.names or any(h[name] is obj for h in held) else ""
            case ir.Attribute(base=ir.Var() | ir.Ref() as base, name=name):
                holder = base.name if isinstance(base, ir.Var) else base.text
                classes = [h for h, set_name in self.places if set_name == name]
                return f"{holder}.{name}" if any(isinstance(h, type) for h in classes) else ""
        return ""
