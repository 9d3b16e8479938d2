"""Calls of short functions of the user's as what these compute.

A pair of functions and a tape are longer than what they stand for where a function is one
expression: an expert writes it where it is called.

before::                          after::
    def sigmoid(z):                   e = np.exp(-z)
        return 1 / (1 + np.exp(-z))   h = 1 / (1 + e)
    h = sigmoid(z)

What is computed, in which order and from which objects, stays the same; a function that is longer,
branches, writes, or calls functions of the user's stays a call.
"""

from __future__ import annotations

import operator
import types
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import ir
from ...analysis.outer_objects import is_cached
from ...frontend.lower import Lowered
from ...frontend.owners import is_library, is_of_runtime, mark_of
from ...frontend.signatures import plain_signature
from ...ir.facts import fact
from ...ir.index import all_names, references
from ...ir.names import Names
from ...runtime import require_class
from ..specialize.callees import Callees, bind, is_checkpointed
from ..specialize.object_calls import checked_classes

SHORT = 8  # operations in a function
_TOGETHER = 12  # and in all calls of it that stand in one function, where these are several


def short_calls_written_out(
    lowered: Lowered, callees: Callees, wrt: tuple[str, ...], varied: Callable[[], Collection[str]]
) -> Lowered:
    """A function in which what short functions compute of what is `varied` stands for their calls;
    what these name is nothing that is asked for by `wrt`."""
    calls = [c for s in ir.statements(lowered.function.body) if (c := _called(s)) is not None]
    if not calls:
        return lowered
    made = _Written(lowered, callees, Counter(call.fn for call in calls), wrt, varied)
    function = made.rewritten(lowered.function)
    return lowered.with_body(function.body, made.temporaries)


def _called(stmt: ir.Stmt) -> ir.Call | None:
    """The call whose value a statement gives a name."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref()) as call):
            return call
    return None


@dataclass
class _Written(ir.Rewriter):
    """`counts` says how often each function is called; `temporaries` are new names."""

    lowered: Lowered
    callees: Callees
    counts: Mapping[ir.Expr, int]
    wrt: tuple[str, ...]
    varied: Callable[[], Collection[str]]
    temporaries: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._names = Names((*all_names(self.lowered.function), *self.wrt))
        self._checked = checked_classes(self.lowered.function)

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        call = _called(stmt)
        if call is not None and isinstance(stmt, ir.Assign):
            callee = self._short(call)
            if callee is not None:
                return self._written_out(stmt, call, callee)
        return self.inside(stmt)

    def _short(self, call: ir.Call) -> Lowered | None:
        """The function that a call is of, if it is short and does nothing but compute."""
        assert isinstance(call.fn, ir.Ref) and self.callees.builder is not None
        obj = call.fn.obj
        if not self.callees.builder.book.is_callee(obj) or mark_of(obj, "tangentlike"):
            return None
        if not isinstance(obj, types.FunctionType) or is_cached(call.fn):
            return None  # (of a function that keeps its results the object counts)
        if is_checkpointed(obj, self.callees.variants):
            return None
        if not all(isinstance(part, ir.Atom) for part in ir.children(call)[1:]):
            return None
        callee = self.callees.lowered(obj)
        function, count = callee.function, self.counts[call.fn]
        size = sum(isinstance(part, ir.Call) for part in ir.walk_block(function.body))
        if size > SHORT or (count > 1 and size * count > _TOGETHER) or not self._computes(callee):
            return None
        given = _given(call, obj).keys() == {*function.param_names}
        return None if not given or ir.names_in(call).isdisjoint(self.varied()) else callee

    def _computes(self, callee: Lowered) -> bool:
        """Whether a function is a sequence of operations, all of which the caller can say."""
        function = callee.function
        if function.free or function.empties or function.shadows or not function.body:
            return False
        if any(param.kind in ("*", "**") for param in function.params):
            return False
        *body, last = function.body
        if not isinstance(last, ir.Return) or not isinstance(last.value, ir.Var):
            return False
        if not all(isinstance(s, ir.Assign) or _checked(s) for s in body):
            return False
        plain = all(map(_is_plain, ir.walk_block(function.body)))
        return plain and all(self._is_said(ref, callee) for ref in fact(references, function))

    def _is_said(self, ref: ir.Ref, callee: Lowered) -> bool:
        """Whether a reference means in the caller, whenever it is called, what it means there."""
        assert self.callees.builder is not None
        if self.callees.builder.book.is_callee(ref.obj):
            return False
        root = ref.text.partition(".")[0]
        if not root.isidentifier() or ref.obj is require_class:
            return True
        if is_of_runtime(ref.obj):
            return False  # (it makes an object, or asks about one)
        here, there = self.lowered.scope, callee.scope
        for scope in (here, there):
            if any(root in own for own in (scope.cells, scope.imports, scope.renamed)):
                return False
        return here.globals is there.globals or (
            is_library(ref.obj) and _leads({**here.builtins, **here.globals}, ref)
        )

    def _written_out(self, stmt: ir.Assign, call: ir.Call, callee: Lowered) -> ir.Block:
        function = callee.function
        self.lowered.scope.read_with(callee.scope)
        assert isinstance(call.fn, ir.Ref)
        values = _given(call, call.fn.obj)
        *body, last = function.body
        assert isinstance(last, ir.Return) and isinstance(last.value, ir.Var)
        for name in dict.fromkeys(name for s in body for name in ir.binds(s)):
            made = self._names.fresh(name)
            values[name] = ir.Var(made)
            if name in callee.temporaries:
                self.temporaries.add(made)
        result: ir.Block = (ir.Assign(stmt.target, values[last.value.name], stmt.origin),)
        match body:
            case [*_, ir.Assign(target=str(name))] if name == last.value.name:
                if isinstance(stmt.target, str):
                    values[name], result = ir.Var(stmt.target), ()
        written = ir.renamed(tuple(s for s in body if not self._is_checked(s, values)), values)
        return (*(replace(s, origin=stmt.origin) for s in written), *result)

    def _is_checked(self, stmt: ir.Stmt, values: Mapping[str, ir.Expr]) -> bool:
        """Whether the caller asks itself whether an argument is of the class that a callee asks
        for."""
        found = _checked(stmt)
        if found is None:
            return False
        actual = values.get(found[0])
        return isinstance(actual, ir.Var) and self._checked.get(actual.name) is found[1]


def _given(call: ir.Call, obj: types.FunctionType) -> dict[str, ir.Expr]:
    """What the parameters of a function are: arguments, and defaults that are numbers or None (a
    function whose defaults are replaced is read again)."""
    parameters = plain_signature(obj).parameters
    plain = {
        name: ir.Const(parameter.default)
        for name, parameter in parameters.items()
        if parameter.default is None or type(parameter.default) in (bool, int, float)
    }
    return {**plain, **bind(call)}


def _is_plain(part: ir.Expr) -> bool:
    """Whether a part of a function computes: it is no text, makes no object, and calls neither
    what it is given nor a method that arrays do not have."""
    match part:
        case ir.Call(fn=ir.Attribute(_, name)):
            return hasattr(np.ndarray, name)
        case ir.Call(fn=ir.Ref(obj=obj)):
            return not isinstance(obj, type) or issubclass(obj, (int, float, complex, np.number))
        case ir.Call():
            return False
        case ir.Display(form=form):
            return form in ("tuple", "list")
    return isinstance(part, ir.Var | ir.Const | ir.Ref | ir.Index | ir.Attribute | ir.Slice)


def _checked(stmt: ir.Stmt) -> tuple[str, type] | None:
    """The name, and the class, that a statement asks for."""
    match stmt:
        case ir.Do(ir.Call(ir.Ref(obj=obj), (ir.Var(name), ir.Ref(obj=type() as cls)))):
            return (name, cls) if obj is require_class else None
    return None


def _leads(names: Mapping[str, Any], ref: ir.Ref) -> bool:
    """Whether a module has the object of a reference under its text."""
    root, _, rest = ref.text.partition(".")
    try:
        return (operator.attrgetter(rest)(names[root]) if rest else names[root]) is ref.obj
    except (KeyError, AttributeError):
        return False
