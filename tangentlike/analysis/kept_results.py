"""Where what carries derivatives finds again what an earlier call kept.

    def value(self, x):
        if not np.array_equal(x, self.x):
            self.x, self.v = x, energy(x)
        return self.v

What is kept from an earlier call is a constant to this one, so that a derivative by `x` would be
zero where the two are equal, and right everywhere else. The text asks, and what is found again is
refused when it runs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from .. import ir, runtime
from ..ir.facts import fact
from ..ir.index import ProgramIndex, references
from .flow import computed_from
from .memory import base_names

_EQUAL: tuple[Any, ...] = (
    *(operator.eq, operator.ne, operator.contains, np.equal, np.not_equal),
    *(np.array_equal, np.array_equiv, np.allclose, np.isclose, math.isclose),
)
_ORDER: tuple[Any, ...] = (operator.lt, operator.le, operator.gt, operator.ge)
_LESS: tuple[Any, ...] = (operator.sub, np.subtract)
_CONTAINS: tuple[Any, ...] = (operator.contains,)
_PLAIN = (type(None), ir.Const)
_UNEQUAL: tuple[Any, ...] = (operator.ne, np.not_equal)
_NEW = ir.Ref("require_new", runtime.require_new)
_UNSEEN = ir.Ref("require_unseen", runtime.require_unseen)
_ASKING = ("get", "setdefault", "pop")
_ASKS = (runtime.require_new, runtime.require_unseen)
_LATE = (runtime.pair_of, runtime.tangent_of)
_NOTE = ir.Ref("note_kept", runtime.note_kept)


def asking_for_new(
    function: ir.Function, varied: Callable[[], frozenset[str]], noted: bool, unnoted: bool
) -> ir.Function:
    """A function that asks whether what varies is equal to what an object, a list or a dict that it
    is given kept, or is a key of it. What was kept outside when the call began is `noted`; where it
    is not, only what has a name in what it is given is asked about, and what may lie `unnoted`, in
    defaults and under keys.

    before::                      after::
        if x != self.x:               if require_new(x != self.x, False, self, "x"):
            self.x = x                    self.x = x
        if abs(x - last) < tol:       if require_new(abs(x - last), 0) < tol:
    """
    if not compares(function):
        return function
    return _Asking(function, varied, noted, unnoted).rewritten(function)


class _Asking(ir.Rewriter):
    """What asks in one function. `made`: by the parameter that holds something, the names of what
    comes from there; `varying`: those of what is computed from other parameters that vary."""

    def __init__(
        self,
        function: ir.Function,
        varied: Callable[[], frozenset[str]],
        noted: bool,
        unnoted: bool,
    ) -> None:
        self.noted, self.unnoted = noted, unnoted
        lasting = (p.name for p in function.params if not isinstance(p.default, _PLAIN))
        self.defaults = tuple(lasting) if unnoted else ()
        self.made = {holder: held_by(holder, function) for holder in function.param_names}
        index = fact(ProgramIndex, function)
        bound = (
            (name, index.statements[at[0]])
            for name, at in index.definitions.items()
            if len(at) == 1
        )
        self.plain = {n: s.value for n, s in bound if isinstance(s, ir.Assign) and s.target == n}
        self.function, self.varied = function, varied
        # By the names that are computed of a difference, what asks whether that is zero.
        self.distances: dict[str, ir.Call] = {}
        for name, value in self.plain.items():
            asked = self._distance(value)
            if asked is not value and isinstance(asked, ir.Call):
                self.distances |= dict.fromkeys(computed_from(function, {name}), asked)

    @cached_property
    def varying(self) -> dict[str, frozenset[str]]:
        """By the parameter that holds something, the names of what is computed from others that
        vary. (Asked for where something has a place: what varies may take reading callees.)"""
        given = self.varied().intersection(self.function.param_names)
        return {h: computed_from(self.function, given - {h}) for h in self.made}

    def _kept(self, call: ir.Call, holders: Collection[str]) -> list[ir.Expr]:
        """The operands that may be what was kept by some parameters."""
        operands = []
        for one, other in (call.args[:2], call.args[1::-1]):
            names, asked = ir.names_in(one), ir.names_in(other)
            if any(
                names & self.made[h] and not names & self.varying[h] and asked & self.varying[h]
                for h in holders
            ):
                operands.append(self.plain.get(one.name, one) if isinstance(one, ir.Var) else one)
        return operands

    def _asked(self, call: ir.Call, value: ir.Expr, equal: Any) -> ir.Call | None:
        """`require_new(value, equal)`, with the place of what was kept where that says whether it
        was."""
        read = [self.plain.get(o.name, o) if isinstance(o, ir.Var) else o for o in call.args[:2]]
        by_name = any(isinstance(part, ir.Attribute | ir.Index) for part in read)
        if not (self.noted or self.defaults or (by_name and not _is_comparison(call, _CONTAINS))):
            return None
        operands = self._kept(call, self.made)
        place = next(filter(None, (_place(call, of) for of in operands)), ())
        surely = bool(operands) if self.noted else bool(self._kept(call, self.defaults))
        place = place if self.noted or not surely else ()
        asks = surely or bool(place)
        return ir.Call(_NEW, (value, ir.Const(equal), *place), at=call.at) if asks else None

    def _question(self, call: ir.Call, value: ir.Expr) -> ir.Call | None:
        unequal = any(getattr(call.fn, "obj", None) is known for known in _UNEQUAL)
        return self._asked(call, value, not unequal)

    def _distance(self, expr: ir.Expr) -> ir.Expr:
        """An expression that asks whether the difference in it, of what was kept and what varies,
        is zero."""
        parts = (part for part in ir.walk(expr) if _is_comparison(part, _LESS))
        asked = (self._asked(part, expr, 0) for part in parts)
        names = sorted(self.distances.keys() & ir.names_in(expr))
        named = (
            ir.replaced(self.distances[name], args=(expr, *self.distances[name].args[1:]))
            for name in names
        )
        return next(filter(None, (*asked, *named)), expr)

    def expression(self, expr: ir.Expr) -> ir.Expr:
        if _is_comparison(expr, _ORDER):
            args = tuple(map(self._distance, expr.args))
            if args != expr.args:
                return ir.replaced(expr, args=args)
        asked = self._question(expr, expr) if _is_comparison(expr) else None
        return asked or ir.rebuild(expr, self.expression)

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        match stmt:
            case ir.Assign(target=str(name), value=value) if _is_comparison(value):
                asked = self._question(value, ir.Var(name))
                return None if asked is None else (stmt, ir.Do(asked, stmt.origin))
        by_keys = self.unnoted and not (self.noted and isinstance(stmt, ir.If))
        for base, key in _looked_up(stmt) if by_keys else ():
            names = ir.names_in(base), ir.names_in(key)
            if any(names[0] & self.made[h] and names[1] & self.varying[h] for h in self.made):
                asks = ir.Call(_UNSEEN, (base, key, ir.Const(self.noted)))
                return (ir.Do(asks, stmt.origin), stmt)
        return None


def _place(call: ir.Call, kept: ir.Expr) -> tuple[ir.Expr, ...]:
    """Where what was kept is: the object or dict that holds it, and by which name or key."""
    match call, kept:
        case ir.Call(fn=ir.Ref(obj=operator.contains), args=(key, table)), _:
            return (table, key)
        case _, ir.Attribute(base, name):
            return (base, ir.Const(name))
        case _, ir.Index(base, ir.Const() as key):
            return (base, key)
    return ()


def compares(function: ir.Function) -> bool:
    """Whether a function compares anything, or looks for a key."""
    return any(_compares(stmt) or _looked_up(stmt) for stmt in ir.statements(function.body))


def noting_kept(
    functions: tuple[ir.Function, ...],
    main: str,
    lent: Collection[str],
    unchanged: Collection[ir.Ref],
    given: Collection[str] | None,
    inner: bool,
) -> tuple[ir.Function, ...]:
    """The functions of a derivative, of which the `main` one notes what outer objects hold when it
    begins, if any of them asks that: those `lent` to it, after they are copied, and those of which
    it asks that they stay `unchanged`; and the constants that are `given` to it, if the functions
    store there what is asked for, or call what only the run knows, which may. (None: what calls it
    noted that.) An `inner` one, which a text calls that may have noted something, adds to that."""
    late = bool(given) and any(map(_calls_what_may_store, functions))
    if not late and not _refer_to(functions, _ASKS):
        return functions
    if not lent and not unchanged and not late:
        functions = _asking_of_stored(functions, given is None or bool(given))
        if not _refer_to(functions, _ASKS[:1]):
            return functions

    def noting(function: ir.Function) -> ir.Function:
        own = [name for name in function.param_names if name in lent or name in (given or ())]
        bound = [k for k, s in enumerate(function.body) if set(ir.binds(s)) & {*own}]
        at, origin = max(bound, default=-1) + 1, ir.Origin(function.place)
        holders: tuple[ir.Expr, ...] = (*map(ir.Var, own), *unchanged)
        also = (("also", ir.Const(True)),) if inner else ()
        notes = [ir.Do(ir.Call(_NOTE, holders, also), origin)] if holders else []
        return ir.with_body(function, (*function.body[:at], *notes, *function.body[at:]))

    return tuple(noting(f) if f.name == main else f for f in functions)


def _refer_to(functions: Iterable[ir.Function], objects: Collection[Any]) -> bool:
    refs = (ref for function in functions for ref in fact(references, function))
    return any(ref.obj is obj for ref in refs for obj in objects)


def _asking_of_stored(functions: tuple[ir.Function, ...], noted: bool) -> tuple[ir.Function, ...]:
    """The functions, which ask only for what any of them stores, where they ask by its name (and
    only if that is `noted`)."""
    every = (stmt for f in functions if noted for stmt in ir.statements(f.body))
    stored = {str(key) for stmt in every for key in _stored(stmt)}

    def asking(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Call(fn=fn, args=(value, _, _, key)) if fn is _NEW and str(key) not in stored:
                return asking(value)
        return ir.rebuild(expr, asking)

    def alone(stmt: ir.Stmt) -> ir.Instead:
        match stmt:
            case ir.Do(value=ir.Call() as call) if isinstance(asking(call), ir.Var):
                return ()
        return None

    return tuple(ir.with_body(f, ir.rewrite(f.body, alone, asking)) for f in functions)


def _calls_what_may_store(function: ir.Function) -> bool:
    """Whether a function calls what only the run knows, and lets it write what it is given."""
    if not _refer_to((function,), _LATE):
        return False
    parts = ir.walk_block(function.body)
    calls = (p for p in parts if isinstance(p, ir.Call) and getattr(p.fn, "obj", None) in _LATE)
    return any("writes" in dict(call.kwargs) for call in calls)


def _stored(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """By what name, or constant key, a statement of the primal stores something."""
    match stmt:
        case ir.Store(target=ir.Attribute(_, name), origin=ir.Origin(role="primal")):
            return (ir.Const(name),)
        case ir.Store(target=ir.Index(_, ir.Const() as key), origin=ir.Origin(role="primal")):
            return (key,)
    return ()


def _compares(stmt: ir.Stmt) -> bool:
    return any(
        _is_comparison(part, (*_EQUAL, *_ORDER))
        for e in ir.expressions(stmt)
        for part in ir.walk(e)
    )


def _looked_up(stmt: ir.Stmt) -> tuple[tuple[ir.Expr, ir.Expr], ...]:
    """What may be a dict, and the keys that a statement looks for in it."""
    match stmt:
        case ir.If(test=test):
            parts = [part for part in ir.walk(test) if _is_comparison(part, _CONTAINS)]
            return tuple((part.args[1], part.args[0]) for part in parts)
        case ir.Assign(value=ir.Index(base, key)) if not isinstance(key, ir.Slice | ir.Display):
            return ((base, key),)
        case ir.Assign(value=ir.Call(ir.Attribute(base, name), (key, *_))) if name in _ASKING:
            return ((base, key),)
    return ()


def _is_comparison(expr: ir.Expr, of: tuple[Any, ...] = _EQUAL) -> TypeGuard[ir.Call]:
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(_, _, *_)):
            return any(obj is known for known in of)
    return False


def held_by(holder: str, function: ir.Function) -> frozenset[str]:
    """A parameter, and the names of what it is or holds."""
    found = {holder}
    before = 0
    while len(found) > before:
        before = len(found)
        for stmt in ir.statements(function.body):
            match stmt:
                case ir.Assign(target=str(name), value=value) if base_names(value) & found:
                    found.add(name)
    return frozenset(found)
