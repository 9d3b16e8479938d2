"""Calls that are given objects, written out: the body of the function in place of its call.

before::                                    after::
    g = Grid(4)                                 u = np.zeros((4, 4))
                                                left = u[:, 0]
                                                g = instance(Grid, u=u, left=left)
    Grid_step(g, 0.1)                           g_u = g.u
                                                g_u[1:] += 0.1 * g_u[:-1]

Which attributes of an object share memory is then seen where they are written, and an object that
nothing else is done with becomes a name for each attribute (`spelling.separate_items`). This is
done where a write in place asks for it: everywhere else a call stays a call.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

from ... import ir
from ...analysis.record_types import record_class, record_values
from ...errors import SharingError, UnsupportedError
from ...frontend.checkpoints import inside_checkpoint
from ...frontend.lower import Lowered, names_of
from ...ir.kind import Kind
from ...ir.names import Names
from ...runtime import require_class
from ..all_names import outer_names
from .callees import Callees

_Made = TypeVar("_Made")
_MOST_ROUNDS = 8
_MOST_STATEMENTS = 400
_PLAIN = (bool, int, float, complex, str, type(None))


def unless_shared(
    make: Callable[[Lowered], _Made],
    lowered: Lowered,
    callees: Callees,
    kinds: Callable[[ir.Function], Mapping[str, Kind]],
    resolved: Callable[[Lowered], Lowered],
) -> _Made:
    """What is made of a function; of it with its calls written out, if otherwise refused for
    memory that may be shared. `kinds` infers what is known of names, `resolved` finds the methods
    of objects that have become known."""
    before = callees.state()
    try:
        return make(lowered)
    except SharingError as refusal:
        written_out = calls_written_out(lowered, callees, kinds, resolved)
        if written_out is lowered:
            raise
        callees.restore(before)
        try:
            return make(written_out)
        except UnsupportedError:
            raise refusal from None  # (which speaks of what the user wrote)


def calls_written_out(
    lowered: Lowered,
    callees: Callees,
    kinds: Callable[[ir.Function], Mapping[str, Kind]],
    resolved: Callable[[Lowered], Lowered],
) -> Lowered:
    """A function with the calls written out that make objects or are given some, and so on for
    what these call; the function itself where there are none."""
    for _ in range(_MOST_ROUNDS):
        out = _WrittenOut(lowered, callees, kinds(lowered.function))
        body = out.block(_by_one_name(lowered.function.body, out.objects))
        if body == lowered.function.body:
            break
        if sum(1 for _ in ir.statements(body)) > _MOST_STATEMENTS:
            break
        lowered = dataclasses.replace(
            lowered,
            function=dataclasses.replace(lowered.function, body=body),
            temporaries=lowered.temporaries | out.temporaries,
            original={**lowered.original, **out.original},
        )
        lowered = resolved(lowered)
    return lowered


class _WrittenOut(ir.Rewriter):
    """One round, over one function."""

    def __init__(self, lowered: Lowered, callees: Callees, kinds: Mapping[str, Kind]) -> None:
        self.scope = lowered.scope
        self.callees = callees
        assert callees.builder is not None
        self.is_callee = callees.builder.book.is_callee
        self.names: Names = names_of(lowered.function)
        self.objects = {n: kind for n, kind in kinds.items() if kind.form == "object"}
        bound = (n for stmt in ir.statements(lowered.function.body) for n in ir.binds(stmt))
        self.local = {*lowered.function.param_names, *bound}
        self.temporaries: frozenset[str] = frozenset()
        self.original: dict[str, str] = {}

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        match stmt:
            case ir.Assign(target=target, value=ir.Call() as call):
                if record_values(call) is not None:
                    yield dataclasses.replace(stmt, value=_with_defaults(call))
                    return
                made = isinstance(target, str) and target in self.objects
                body = self._body(call, target if isinstance(target, str) else "", made)
                if body is None:
                    yield stmt
                    return
                yield from body[0]
                if body[1] != (ir.Var(target) if isinstance(target, str) else None):
                    yield ir.Assign(target, body[1], stmt.origin)
            case ir.Do(value=ir.Call() as call):
                body = self._body(call, "", False)
                yield from (stmt,) if body is None else body[0]
            case _:
                yield self.inside(stmt)

    def expression(self, expr: ir.Expr) -> ir.Expr:
        """An expression that stands whole, such as a test: `len(s)` is what `__len__` says."""
        match expr:
            case ir.Call(fn=ir.Ref(obj=builtins.len), args=(ir.Var(name),)) if name in self.objects:
                size = getattr(self.objects[name].cls, "__len__", None)
                found = self._value(size, expr.args[0]) if self.is_callee(size) else None
                return expr if found is None else found
        return ir.rebuild(expr, self.expression)

    def _value(self, method: Any, obj: ir.Expr) -> ir.Expr | None:
        """What a method without arguments gives back, where it only computes that."""
        try:
            callee = self.callees.lowered(method)
        except UnsupportedError:
            return None
        *body, last = callee.function.body
        if len(callee.function.params) != 1 or not self._same_names(callee):
            return None
        known: dict[str, ir.Expr] = {callee.function.param_names[0]: obj}
        for stmt in body:
            if not isinstance(stmt, ir.Assign) or not isinstance(stmt.target, str):
                return None
            known[stmt.target] = ir.substitute(stmt.value, known)
        if not isinstance(last, ir.Return) or last.value is None:
            return None
        return ir.substitute(last.value, known)

    def _body(
        self, call: ir.Call, target: str, makes_object: bool
    ) -> tuple[ir.Block, ir.Expr] | None:
        """What a call does, and its value; None where it stays a call. A local that is returned
        is named `target` at once."""
        given = {a.name for a in (*call.args, *(v for _, v in call.kwargs)) if type(a) is ir.Var}
        if not isinstance(call.fn, ir.Ref) or not (makes_object or given & self.objects.keys()):
            return None
        if not self.is_callee(call.fn.obj) or inside_checkpoint(call.fn.obj) is not None:
            return None
        try:
            callee = self.callees.lowered(call.fn.obj)
            actuals = self.callees.bind(call)
        except UnsupportedError:
            return None
        function = callee.function
        values = _actuals(function, actuals)
        if values is None or not _is_plain(function) or not self._same_names(callee):
            return None
        self.names.take(outer_names(function))
        *body, last = function.body
        assert isinstance(last, ir.Return)
        bound = dict.fromkeys(n for stmt in ir.statements(function.body) for n in ir.binds(stmt))
        if target in ir.names_in(call):
            target = ""
        returned = last.value.name if isinstance(last.value, ir.Var) else ""
        known: dict[str, ir.Expr] = {}
        first: list[ir.Stmt] = []
        for name, value in values.items():
            if name not in bound and isinstance(value, ir.Var | ir.Const | ir.Ref):
                known[name] = value
                continue
            fresh = self._fresh(name, callee)
            known[name] = ir.Var(fresh)
            first.append(ir.Assign(fresh, value, last.origin))
        for name in bound:
            if name not in known:
                own = target and name == returned
                known[name] = ir.Var(target if own else self._fresh(name, callee))
        block = ir.renamed(tuple(s for s in body if not self._is_check(s, values)), known)
        value = ir.Const(None) if last.value is None else ir.substitute(last.value, known)
        return (*first, *block), value

    def _fresh(self, name: str, callee: Lowered) -> str:
        made = self.names.fresh(name)
        self.original[made] = callee.original.get(name, name)
        if name in callee.temporaries:
            self.temporaries |= {made}
        return made

    def _same_names(self, callee: Lowered) -> bool:
        """Whether all that the body refers to outside means the same in the function around."""
        if callee.scope.globals is not self.scope.globals or callee.scope.imports:
            return False
        if callee.scope.cells.keys() - {"__class__"} or callee.scope.renamed != self.scope.renamed:
            return False
        return not set(outer_names(callee.function)) & self.local

    def _is_check(self, stmt: ir.Stmt, values: Mapping[str, ir.Expr]) -> bool:
        """Whether a statement checks the class of a parameter that is given what surely has it."""
        match stmt:
            case ir.Do(value=ir.Call(ir.Ref(obj=obj), (ir.Var(name), ir.Ref(obj=cls)))):
                given = values.get(name)
                known = self.objects.get(given.name) if isinstance(given, ir.Var) else None
                return obj is require_class and known is not None and known.cls is cls
        return False


def _by_one_name(body: ir.Block, objects: Collection[str]) -> ir.Block:
    """Objects that are another name for one, by that one: methods often give their object back.

    before: `kick_s = s; drift(kick_s)`; after: `drift(s)`. (Each is bound once.)
    """
    bound = ir.bindings(ir.statements(body))
    same: dict[str, ir.Expr] = {}
    for stmt in ir.statements(body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Var(other)) if name in objects:
                if bound[name] == 1 and bound[other] <= 1:
                    same[name] = same.get(other, ir.Var(other))
    if not same:
        return body
    return ir.rewrite(ir.renamed(body, same), _without_copy)


def _without_copy(stmt: ir.Stmt) -> ir.Block | None:
    """No statement for `s = s`."""
    return () if isinstance(stmt, ir.Assign) and stmt.value == ir.Var(str(stmt.target)) else None


def _with_defaults(call: ir.Call) -> ir.Call:
    """A record made with all its fields given: `State(q, p)` is `State(q, p, t=0.0)`."""
    given = record_values(call) or {}
    cls: Any = record_class(call)
    if not dataclasses.is_dataclass(cls):
        return call
    more: list[tuple[str, ir.Expr]] = []
    for field in dataclasses.fields(cls):
        if field.name in given or not field.init:
            continue
        if type(field.default) in _PLAIN:
            more.append((field.name, ir.Const(field.default)))
        elif field.default_factory in (list, dict):
            more.append((field.name, ir.Display(field.default_factory.__name__, ())))
    return dataclasses.replace(call, kwargs=(*call.kwargs, *more))


def _actuals(function: ir.Function, actuals: Mapping[str, ir.Expr]) -> dict[str, ir.Expr] | None:
    """What each parameter is given, its default if nothing else; None where that is not plain."""
    values = dict(actuals)
    for param in function.params:
        if param.name in values:
            continue
        if not isinstance(param.default, ir.Const):
            return None
        values[param.name] = param.default
    return values


def _is_plain(function: ir.Function) -> bool:
    """Whether a body has one `return`, at its end."""
    returns = [s for s in ir.statements(function.body) if isinstance(s, ir.Return)]
    return len(returns) == 1 and returns[0] is function.body[-1]
