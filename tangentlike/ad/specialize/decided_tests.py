"""Tests that the types of a call decide: `x is None`, `isinstance(x, list)`, `x.ndim == 2`,
`mode == "same"`. The branch that is taken stands without its test, the other one goes.

before, for `shift: None, mode: 'same'`::      after::
    if shift is None:                              shift = np.zeros(3)
        shift = np.zeros(3)                        y = x - shift
    if mode == "same":
        y = x - shift
    else:
        y = x * shift

What a test asks of an argument is one of the reasons why a version serves a call (`asked`): another
class, or another string, is served by another version.
"""

from __future__ import annotations

import builtins
import dataclasses
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ... import ir
from ...errors import UnsupportedError
from ...frontend.jumps import ends_by_raising
from ...frontend.lower import Lowered, reaching, renamed_webs
from ...ir.index import all_names
from ...ir.kind import CLASS, FUNCTION, NOTHING, UNKNOWN, VALUE, Exact, Kind, is_many
from ...ir.names import Names

_NUMERIC = ("number", "array", "value")
_CONTAINERS = ("list", "tuple", "dict", "set")
_OF_CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes, type(None))
_EQUAL = {operator.eq: True, operator.ne: False, operator.is_: True, operator.is_not: False}
_ORDERED = (operator.lt, operator.le, operator.gt, operator.ge)
_QUESTIONS = (builtins.isinstance, builtins.hasattr, builtins.callable, operator.contains)
Infer = Callable[[ir.Function, Mapping[str, Kind]], Mapping[str, Kind]]


def without_decided_tests(
    lowered: Lowered, given: Mapping[str, Kind], infer: Infer, asked: set[tuple[str, str]]
) -> Lowered:
    """A function for arguments of which this is known, without the tests that this decides."""
    while given and any(map(_tests, ir.statements(lowered.function.body))):
        decided = _Decided(lowered.function, given, infer(lowered.function, given), asked)
        body = decided.block(lowered.function.body)
        if body == lowered.function.body:
            break
        function = dataclasses.replace(lowered.function, body=body)
        lowered = with_own_names(dataclasses.replace(lowered, function=function))
    return lowered


def with_own_names(lowered: Lowered) -> Lowered:
    """A function whose names are split again: where a branch is gone, what it bound no longer
    meets what the other one did."""
    names = Names(all_names(lowered.function))
    try:
        function, before = renamed_webs(lowered.function, reaching(lowered.function), names)
    except UnsupportedError:  # (code that runs later reads one of them)
        return lowered
    original = {new: lowered.original.get(old, old) for new, old in before.items()}
    made = frozenset(new for new, old in before.items() if old in lowered.temporaries)
    return dataclasses.replace(
        lowered,
        function=function,
        temporaries=lowered.temporaries | made,
        original={**lowered.original, **original},
    )


def deciding_names(
    function: ir.Function, passed_on: Callable[[ir.Call], Iterable[str]]
) -> frozenset[str]:
    """The parameters that a test of a function, or of one that it calls, may be about; `passed_on`
    gives the names that a call hands to such parameters."""
    stmts = list(ir.statements(function.body))
    found: set[str] = set()
    for stmt in stmts:
        for test in _tests(stmt):
            found |= ir.names_in(test)
        for expr in ir.expressions(stmt):
            for part in ir.walk(expr):
                if isinstance(part, ir.Call) and isinstance(part.fn, ir.Ref):
                    found.update(passed_on(part))
    before = -1
    while len(found) != before:
        before = len(found)
        for stmt in stmts:
            if isinstance(stmt, ir.Assign) and found.intersection(ir.binds(stmt)):
                found |= ir.names_in(stmt.value)
    return frozenset(found).intersection(
        p.name for p in function.params if p.kind not in ("*", "**")
    )


def _tests(stmt: ir.Stmt) -> list[ir.Expr]:
    """The tests of a statement that types may decide."""
    found = [stmt.test] if type(stmt) is ir.If else []
    if isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Lazy) and stmt.value.form == "if":
        found.append(stmt.value.items[0])
    return [test for test in found if any(map(_is_question, ir.walk(test)))]


def _is_question(expr: ir.Expr) -> bool:
    match expr:
        case ir.Var():
            return True
        case ir.Ref(text=text, obj=obj):
            return obj is False and text.endswith("TYPE_CHECKING")
    return False


class _Decided(ir.Rewriter):
    """One walk through a function whose names have these kinds."""

    def __init__(
        self,
        function: ir.Function,
        given: Mapping[str, Kind],
        kinds: Mapping[str, Kind],
        asked: set[tuple[str, str]],
    ) -> None:
        self.kinds = kinds
        self.asked = asked
        self.at: dict[int, dict[str, Kind]] = {}  # of names that are arguments there, by statement
        self._find_arguments(function, given)
        self.here: Mapping[str, Kind] = {}

    def _find_arguments(self, function: ir.Function, given: Mapping[str, Kind]) -> None:
        """Where a name is read that is an argument, or a constant, itself."""
        stmts = list(ir.statements(function.body))
        changed = {n for s in stmts if isinstance(s, ir.Update) for n in ir.names_in(s.target)}
        plain = {p.name for p in function.params if p.kind not in ("*", "**")} - changed
        found = reaching(function)
        params = enumerate(function.param_names)
        known = {i: given[n] for i, n in params if n in plain and n in given}
        for stmt, uses, defs in zip(stmts, found.uses, found.defs, strict=True):
            self.at[id(stmt)] = {n: known[p] for n, p in uses.items() if p in known}
            match stmt:
                case ir.Assign(target=str(name), value=ir.Var(other)) if other in uses:
                    if name not in changed and uses[other] in known:
                        known[defs[name]] = known[uses[other]]
                case ir.Assign(target=str(name), value=ir.Const() | ir.Display() as value):
                    if name not in changed:
                        known[defs[name]] = exactly(value)

    def statement(self, stmt: ir.Stmt) -> Any:
        self.here = self.at.get(id(stmt), {})
        if type(stmt) is ir.If:
            taken = self.truth(stmt.test)
            if taken is not None:
                block = stmt.body if taken else stmt.orelse
                if block and isinstance(block[-1], ir.Break):  # (a break stands in a branch)
                    always = dataclasses.replace(stmt, test=ir.Const(True), body=block, orelse=())
                    return self.inside(always)
                if not (block and isinstance(block[-1], ir.OpaqueStmt) and ends_by_raising(block)):
                    return self.block(block)
            elif (test := self.shorter(stmt.test)) is not stmt.test:
                stmt = dataclasses.replace(stmt, test=test)
        if isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Lazy):
            value = self._chosen(stmt.value)
            return stmt if value is stmt.value else dataclasses.replace(stmt, value=value)
        return self.inside(stmt) if ir.blocks(stmt) else stmt

    def _chosen(self, value: ir.Lazy) -> ir.Expr:
        """`3 if mode == "q" else 4` as one of both."""
        taken = self.truth(value.items[0]) if value.form == "if" else None
        if taken is None:
            return value
        item = value.items[1 if taken else 2]
        return item if isinstance(item, (ir.Var, ir.Const)) else value

    def shorter(self, test: ir.Expr) -> ir.Expr:
        """`x is not None and n > 2` as `n > 2`, where the first is known to be true."""
        if not isinstance(test, ir.Lazy) or test.form not in ("and", "or"):
            return test
        ends = test.form == "or"
        left = (item for item in test.items[:-1] if self.truth(item) is not (not ends))
        items = (*left, test.items[-1])
        if len(items) == len(test.items):
            return test
        return items[0] if len(items) == 1 else dataclasses.replace(test, items=items)

    # ------------------------------------------------------------------------------ answers

    def truth(self, test: ir.Expr) -> bool | None:
        """What a test gives in every call; None where that is not known."""
        match test:
            case ir.Const(value):
                return bool(value)
            case ir.Ref(obj=False, text=text) if text.endswith("TYPE_CHECKING"):
                return False
            case ir.Lazy(form="and" | "or" as form, items=items):
                return self._of_several(form, items)
            case ir.Call(ir.Ref(obj=operator.not_), (of,)):
                inner = self.truth(of)
                return None if inner is None else not inner
            case ir.Call(ir.Ref(obj=obj), (left, right), ()) if obj in _EQUAL:
                same = self._same(left, right, obj in (operator.is_, operator.is_not))
                return None if same is None else same is _EQUAL[obj]
            case ir.Call(ir.Ref(obj=obj), (left, right), ()) if obj in _ORDERED:
                a, b = self.count(left), self.count(right)
                return None if a is None or b is None else bool(obj(a, b))
            case ir.Call(ir.Ref(obj=obj), args, ()) if obj in _QUESTIONS:
                return self._answer(obj, args)
            case ir.Var():
                return self._truth_of(self.kind(test))
        return None

    def _of_several(self, form: str, items: tuple[ir.Expr, ...]) -> bool | None:
        """The first item that settles it does, if all before it are known."""
        ends = form == "or"
        for item in items:
            truth = self.truth(item)
            if truth is None or truth is ends:
                return truth
        return not ends

    def _truth_of(self, kind: Kind) -> bool | None:
        if kind == NOTHING:
            return False
        value = self._value(kind)
        return None if value is None else bool(value)

    def kind(self, expr: ir.Expr) -> Kind:
        """What is known of a value: of an argument exactly, of anything else by its kind."""
        match expr:
            case ir.Var(name):
                kind = self.here.get(name)
                return self.kinds.get(name, UNKNOWN) if kind is None else kind
            case ir.Const():
                return exactly(expr)
        return UNKNOWN

    def _value(self, kind: Kind) -> str | bool | None:
        """The value of a string or a truth value."""
        if kind.exact is None or kind.exact.value is None:
            return None
        self._ask(kind.exact, VALUE)
        return kind.exact.value

    def _ask(self, exact: Exact, what: str) -> None:
        if exact.argument:
            self.asked.add((exact.argument, what))

    def _same(self, left: ir.Expr, right: ir.Expr, identical: bool) -> bool | None:
        if right == ir.Const(None):
            return self._is_none(self.kind(left)) if identical else None
        match left, right:
            case ir.Call(ir.Ref(obj=builtins.type), (of,)), ir.Ref(obj=type() as cls):
                exact = self.kind(of).exact
                if exact is not None:
                    self._ask(exact, CLASS)
                    return exact.cls is cls
                return None
        counts = self.count(left), self.count(right)
        if None not in counts:
            return counts[0] == counts[1]
        if right == ir.Const(1) and (many := self._is_unit(left)) is not None:
            return many
        if not isinstance(right, ir.Const):
            return None
        if identical and not isinstance(right.value, bool):
            return None
        return self._equals(self.kind(left), right.value)

    def _equals(self, kind: Kind, constant: Any) -> bool | None:
        """Whether an argument is a constant string, truth value or number; None is none of them."""
        if kind == NOTHING:
            return False
        if kind.exact is not None and kind.exact.value is not None:
            if isinstance(constant, (str, bool)):
                return type(value := self._value(kind)) is type(constant) and value == constant
        elif isinstance(constant, str) and _is_plain_number(kind):
            return False
        return None

    def _is_none(self, kind: Kind) -> bool | None:
        if kind == NOTHING:
            return True
        known = kind.form in (*_NUMERIC, *_CONTAINERS) or kind == FUNCTION
        if known or (kind.form == "object" and kind.cls):
            return False
        if kind.exact is None:
            return None
        self._ask(kind.exact, CLASS)
        return False

    def _answer(self, question: Any, args: tuple[ir.Expr, ...]) -> bool | None:
        match args:
            case (left, ir.Display(form="tuple" | "list", items=items)) if (
                question is operator.contains
            ):
                kind = self.kind(left)
                answers = [
                    self._equals(kind, item.value) if isinstance(item, ir.Const) else None
                    for item in items
                ]
                return None if None in answers else True in answers
            case (of, classes) if question is builtins.isinstance:
                return self._is_instance(self.kind(of), _classes(classes))
            case (of, ir.Const(str(name))) if question is builtins.hasattr:
                return self._has(self.kind(of), name)
            case (of,) if question is builtins.callable:
                kind = self.kind(of)
                never = kind.form in (*_NUMERIC, *_CONTAINERS)
                return False if never else self._has(kind, "__call__")
        return None

    def _is_instance(self, kind: Kind, classes: tuple[type, ...] | None) -> bool | None:
        if classes is None:
            return None
        if kind == NOTHING:
            return type(None) in classes or object in classes
        if kind.exact is not None:
            self._ask(kind.exact, CLASS)
            return issubclass(kind.exact.cls, classes)
        if kind.form in _NUMERIC and set(classes) <= set(_OF_CONTAINERS):
            return False
        if kind.form == "object" and kind.cls is not None and not kind.among:
            return issubclass(kind.cls, classes) if _is_plain(classes) else None
        return None

    def _has(self, kind: Kind, name: str) -> bool | None:
        cls = type(None) if kind == NOTHING else kind.exact.cls if kind.exact else None
        if cls is None:
            return None
        held = [vars(base)[name] for base in cls.__mro__ if name in vars(base)]
        found = bool(held)
        if isinstance(held[0], property) if found else cls.__dictoffset__:
            return None  # (it may have none, or the object itself may have it)
        if kind.exact is not None:
            self._ask(kind.exact, CLASS)
        return found

    def count(self, expr: ir.Expr) -> int | None:
        """A number of axes."""
        match expr:
            case ir.Const(int() as value) if not isinstance(value, bool):
                return value
            case ir.Attribute(base, "ndim") | ir.Call(ir.Ref(obj=np.ndim), (base,), ()):
                return self.kind(base).rank
            case ir.Call(ir.Ref(obj=builtins.len), (ir.Attribute(base, "shape"),)):
                return self.kind(base).rank
            case ir.Call(ir.Ref(obj=builtins.len), (ir.Call(ir.Ref(obj=np.shape), (base,)),)):
                return self.kind(base).rank
            case ir.Call(ir.Ref(obj=builtins.len), (ir.Var() as of,)):
                kind = self.kind(of)
                return len(kind.items) if kind.form == "tuple" and kind.items is not None else None
        return None

    def _is_unit(self, size: ir.Expr) -> bool | None:
        """Whether `x.shape[0]` is 1."""
        match size:
            case ir.Index(ir.Attribute(base, "shape"), ir.Const(int() as axis)):
                shape = self.kind(base).shape
                if isinstance(shape, tuple) and -len(shape) <= axis < len(shape):
                    return True if shape[axis] == 1 else False if is_many(shape[axis]) else None
        return None


_DISPLAYED = {"list": list, "tuple": tuple, "dict": dict}


def exactly(expr: ir.Const | ir.Display) -> Kind:
    """What a test may ask of a constant, or of a list that is written out."""
    if isinstance(expr, ir.Display):
        return Kind(expr.form, exact=Exact(_DISPLAYED[expr.form]))
    value = expr.value
    if value is None:
        return NOTHING
    return Kind(exact=Exact(type(value), value if isinstance(value, (str, bool)) else None))


def _classes(expr: ir.Expr) -> tuple[type, ...] | None:
    """The classes that `isinstance` is given."""
    parts = expr.items if isinstance(expr, ir.Display) else (expr,)
    found: list[type] = []
    for part in parts:
        obj = part.obj if isinstance(part, ir.Ref) else None
        for cls in obj if isinstance(obj, tuple) else (obj,):
            if not isinstance(cls, type):
                return None
            found.append(cls)
    return tuple(found)


def _is_plain(classes: tuple[type, ...]) -> bool:
    """Whether `issubclass` looks at nothing but bases and, of a standard class, at what was
    registered with it."""
    standard = ("numbers", "collections.abc")
    return all(
        type(cls).__instancecheck__ is type.__instancecheck__ or cls.__module__ in standard
        for cls in classes
    )


def _is_plain_number(kind: Kind) -> bool:
    return kind.exact is not None and issubclass(kind.exact.cls, (int, float, complex))
