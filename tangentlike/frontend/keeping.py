"""Which names that an inner function captures are bound again while the function is kept.

A function reads what it captures when it is called. The values of the moment when it is kept (put
into a list, given to `partial`) are the same as long as no captured name is bound again before its
last call, which is before the last use of whatever may hold it::

    p = [lambda x: x * s, np.sin]
    y = p[0](x)
    s = s + 1                       (nothing reads `p` any more: right)
    y = p[0](x)                     (refused, if this is there)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from .. import ir
from ..errors import Place
from ..ir import Call, Expr, Function, Ref, Var
from ..ir.dataflow import Problem, Solution, solve
from .comprehensions import assigned
from .expressions import is_closure
from .nested import Closure, Define
from .operands import is_arithmetic

Mention = Callable[[Expr], bool]  # whether an expression is the function

# What may keep a function only in its result.
_HANDED_ON = frozenset(
    map(id, (functools.partial, list, tuple, dict, zip, enumerate, reversed, map, filter, sorted))
)


@dataclass(frozen=True)
class Keeping:
    """Answers for the functions inside one function, in nested IR.

    `outer` are names that it captures itself, bound again while what it returns is kept.
    """

    function: Function
    later: Later
    outer: frozenset[str] = frozenset()

    @staticmethod
    def of(function: Function, outer: frozenset[str] = frozenset()) -> Keeping:
        return Keeping(function, Later.of(function), outer)

    def rebound_after_definition(self, name: str, origin: ir.Origin) -> frozenset[str]:
        """The names that may be bound again while a `def` that has this name is kept: what it
        captures has the values of the place where it is kept."""
        users = self._users(name)

        def named(part: Expr) -> bool:
            return isinstance(part, Var) and part.name in users

        return self._rebound(named, self.later.than(origin))

    def rebound_after_choice(self, name: str) -> frozenset[str]:
        """The same for one of several `def`s with this name: what it captures has the values of
        the place of its definition."""
        return self._rebound(lambda part: False, self.later.rebound, name)

    def rebound_after_lambda(self, code: Closure) -> frozenset[str]:
        """The names that may be bound again while a lambda is kept."""

        def written(part: Expr) -> bool:
            same = not isinstance(part, Closure) or part.at == code.at
            return is_closure(part) and same

        if code.at is not None and _mentions(self.function, written):
            return self._rebound(written, self.later.rebound)
        for inner in self._definitions:
            if code.at is not None and _mentions(inner, written):
                found = Keeping.of(inner)._while_running(written)
                if found is not None:
                    return found | self.later.out_of_sight | self.outer
        bound = (bound_by(s) for f in self._definitions for s in ir.statements(f.body))
        return self.later.rebound.union(self.outer, *bound, *(d.free for d in self._definitions))

    def _while_running(self, mention: Mention) -> frozenset[str] | None:
        """The names that are bound again while this function runs, if nothing else keeps a
        function that is made in it."""
        holders = _Holders(self, mention)
        last = [s for s in ir.statements(self.function.body) if isinstance(s, ir.Return)]
        own = {n for s in ir.statements(self.function.body) for n in bound_by(s)}
        own -= {*self.function.free, *self.function.param_names}
        known = holders.find() and holders.names <= own - self.hidden_reads
        if not known or any(s.value is not None and holders.holds(s.value) for s in last):
            return None
        return self.later.out_of_sight | self._bound_while(holders)

    def _rebound(self, mention: Mention, later: frozenset[str], name: str = "") -> frozenset[str]:
        holders = _Holders(self, mention, {name} if name else set())
        if later and holders.find() and not holders.names & self.hidden_reads:
            later &= self.later.out_of_sight | self._bound_while(holders)
        return later | self.outer

    def _bound_while(self, holders: _Holders) -> frozenset[str]:
        """The names that are bound where a holder is still to be read."""
        found: set[str] = set()
        for stmt in ir.statements(self.function.body):
            held = holders.at(stmt)
            kept = not held.isdisjoint(self.live_after(stmt)) or id(stmt) in holders.inside
            if kept:
                found.update(_given_value(stmt))
        return frozenset(found)

    def _users(self, name: str) -> set[str]:
        """A function, and the functions that use it."""
        found = {name}
        while True:
            more = {n for n, free in self.inner.items() if not found.isdisjoint(free)} - found
            if not more:
                return found
            found |= more

    @functools.cached_property
    def _definitions(self) -> tuple[Function, ...]:
        """The functions made by `def`."""
        found = (s for s in ir.statements(self.function.body) if isinstance(s, Define))
        return tuple(stmt.function for stmt in found)

    @functools.cached_property
    def inner(self) -> dict[str, frozenset[str]]:
        """What each inner function with a name takes from outside."""
        found: dict[str, frozenset[str]] = {}
        for stmt in ir.statements(self.function.body):
            match stmt:
                case Define(function=inner):
                    free = frozenset(free_names(inner))
                    found[inner.name] = found.get(inner.name, frozenset()) | free
                case ir.Assign(target=str(name), value=Closure() as code):
                    found[name] = found.get(name, frozenset()) | ir.names_in(code)
        return found

    @functools.cached_property
    def hidden_reads(self) -> frozenset[str]:
        """The names that inner functions read when they are called."""
        codes = (
            p
            for s in ir.statements(self.function.body)
            for p in ir.walk_statement(s)
            if is_closure(p)
        )
        lambdas = frozenset(n for code in codes for n in ir.names_in(code))
        return lambdas.union(*self.inner.values())

    @functools.cached_property
    def makes_functions(self) -> bool:
        """Whether an inner function makes functions in turn, which a call of it may return."""
        for stmt in ir.statements(self.function.body):
            if isinstance(stmt, Define):
                inside = ir.statements(stmt.function.body)
                if any(
                    isinstance(s, Define) or any(map(is_closure, ir.walk_statement(s)))
                    for s in inside
                ):
                    return True
            codes = (p for p in ir.walk_statement(stmt) if isinstance(p, Closure))
            if any(map(is_closure, (part for code in codes for part in ir.walk(code.body)))):
                return True
        return False

    @functools.cached_property
    def _live(self) -> Solution[frozenset[str]]:
        return solve(self.function, _Live())

    def live_after(self, stmt: ir.Stmt) -> frozenset[str]:
        """The names that are read once a statement is done (a loop: once it has bound its
        variable)."""
        number = self._live.index.number(stmt)
        found = self._live.after[number]
        if isinstance(stmt, ir.For | ir.While):
            found |= self._live.starts[number, 0].difference(ir.binds(stmt))
        return found


def _mentions(function: Function, mention: Mention) -> bool:
    """Whether a function itself contains such an expression."""
    return any(map(mention, ir.walk_block(function.body)))


@dataclass
class _Holders:
    """The names through which a kept function may be reached: those that hold it at each statement,
    or, where it is put into something, found until nothing is added.

    `inside` are the statements of loops over what holds it.
    """

    keeping: Keeping
    mention: Mention
    names: set[str] = field(default_factory=set)
    inside: set[int] = field(default_factory=set)
    escapes: bool = False
    mutated: bool = False
    flow: Solution[frozenset[str]] | None = None

    def find(self) -> bool:
        """Whether all that may hold the function is known."""
        statements = list(ir.statements(self.keeping.function.body))
        first = frozenset(self.names)
        self.flow = solve(self.keeping.function, _Held(self, first))
        self.names = set(first.union(*self.flow.before, *self.flow.after))
        if self.mutated:
            self.names, self.flow = set(first), None
        known = len(self.names) if self.flow else -1
        while len(self.names) != known and not self.escapes:
            known = len(self.names)
            for stmt in statements:
                self.statement(stmt)
        return not self.escapes and not self._in_definitions(statements)

    def at(self, stmt: ir.Stmt) -> AbstractSet[str]:
        """The names that may hold the function where a statement is executed."""
        if self.flow is None or ir.is_compound(stmt):
            return self.names
        number = self.flow.index.number(stmt)
        return self.flow.before[number] | self.flow.after[number]

    def _in_definitions(self, statements: list[Any]) -> bool:
        """Whether the body of an inner function keeps it."""
        inner = (d for d in statements if isinstance(d, Define))
        within = (s for d in inner for s in ir.statements(d.function.body))
        return any(self.holds(e) for s in within for e in ir.expressions(s))

    def statement(self, stmt: Any) -> None:
        held = [e for e in ir.expressions(stmt) if self.holds(e)]
        match stmt:
            case ir.Assign():
                if held:
                    self.names.update(ir.binds(stmt))
                elif self.mutated and self.names & {*ir.binds(stmt)}:
                    self.names |= ir.names_in(stmt.value)  # (two names for what was changed)
            case ir.For() if held:
                self.names.update(ir.target_names(stmt.target))
                self.inside.update(map(id, ir.statements((stmt,))))
            case ir.Store() | ir.Update() | ir.Do() if held:
                self.mutated = True
                found = frozenset().union(*map(ir.names_in, ir.expressions(stmt)))
                local = found - self.keeping.inner.keys()
                self.escapes = self.escapes or not local
                self.names |= local
            case ir.Enter() | ir.OpaqueStmt() if held:
                self.escapes = True

    def holds(self, expr: Expr) -> bool:
        """Whether the value of an expression may hold the function."""
        if self.mention(expr):
            return True
        match expr:
            case Var(name):
                return name in self.names
            case Call(fn=fn):
                return self._result_holds(expr, fn)
        return self.any_holds(ir.children(expr))

    def any_holds(self, exprs: Iterable[Expr]) -> bool:
        """Whether one of several does; each is looked at, as calls in it may keep the function."""
        return True in [self.holds(part) for part in exprs]

    def _result_holds(self, call: Call, fn: Expr) -> bool:
        given = self.any_holds(ir.children(call)[1:])
        if isinstance(fn, ir.Attribute):
            return self.holds(fn.base) or given
        if isinstance(fn, Ref):
            kept_apart = id(fn.obj) in _HANDED_ON or is_arithmetic(fn)
            self.escapes = self.escapes or (given and not kept_apart)
            return given
        called = self.holds(fn)
        self.escapes = self.escapes or given
        return given or (called and self.keeping.makes_functions)


class _Held(Problem[frozenset[str]]):
    """The names that may hold a kept function, in nested IR."""

    forward = True
    bottom: frozenset[str] = frozenset()

    def __init__(self, holders: _Holders, first: frozenset[str]) -> None:
        self.holders = holders
        self.first = first  # at all places

    def join(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        return a | b

    def transfer(self, stmt: Any, state: frozenset[str]) -> frozenset[str]:
        state |= self.first
        self.holders.names = {*state}
        if self.holders.any_holds(ir.expressions(stmt)):
            self.holders.statement(stmt)
            return frozenset(self.holders.names)
        return state if ir.is_compound(stmt) else state.difference(bound_by(stmt))


class _Live(Problem[frozenset[str]]):
    """The names that are read later, in nested IR."""

    bottom: frozenset[str] = frozenset()

    def join(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        return a | b

    def transfer(self, stmt: Any, state: frozenset[str]) -> frozenset[str]:
        match stmt:
            case Define(function=inner):
                defaults = (ir.names_in(p.default) for p in inner.params)
                return (state - {inner.name}).union(*defaults)
            case ir.Update(target=Var(name)):
                return state | ir.reads(stmt) | {name}
            case ir.Try() | ir.For():
                return state | ir.reads(stmt)
        return state.difference(ir.binds(stmt)) | ir.reads(stmt)

    def enter(self, stmt: Any, state: frozenset[str]) -> frozenset[str]:
        if isinstance(stmt, ir.Try):
            return state
        return state.difference(ir.binds(stmt)) | ir.reads(stmt)  # (it goes on reading its items)


# --------------------------------------------------------------------------------------------------
# Which names functions in nested IR bind, bind again, and take from the function around them.


def bound_by(stmt: Any) -> tuple[str, ...]:
    """The names that a statement of nested IR binds."""
    return (stmt.function.name,) if isinstance(stmt, Define) else tuple(ir.binds(stmt))


def binding_counts(function: Function) -> dict[str, int]:
    """How many definitions each local name has; a parameter has one."""
    counts = dict.fromkeys(function.param_names, 1)
    for stmt in ir.statements(function.body):
        for name in bound_by(stmt):
            counts[name] = counts.get(name, 0) + 1
    return counts


def rebound_names(function: Function) -> frozenset[str]:
    """The names that may get another value after they have one."""
    counts = binding_counts(function)
    found = {name for name, count in counts.items() if count > 1}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.For(target=target):
                found.update(ir.target_names(target))
                found.update(n for s in ir.statements(stmt.body) for n in bound_by(s))
            case ir.While():
                found.update(n for s in ir.statements(stmt.body) for n in bound_by(s))
            case ir.Update(target=Var(name)):
                found.add(name)
    return frozenset(found | _bound_after_use(function, counts.keys()))


def _bound_after_use(function: Function, own: Collection[str]) -> set[str]:
    """The variables that have no value yet where a function that reads them is used: `V` in
    `V = memo(step)`, if `step` calls `V`."""
    reads: dict[str, set[str]] = {}
    for stmt in ir.statements(function.body):
        if isinstance(stmt, Define):
            reads.setdefault(stmt.function.name, set()).update(free_names(stmt.function))
    found, bound = set[str](), {*function.param_names, *reads}
    for stmt in ir.statements(function.body):
        named = () if isinstance(stmt, Define) else ir.reads(stmt)
        used = set().union(*(reads.get(name, ()) for name in named))
        used.update(n for e in ir.expressions(stmt) for part in ir.walk(e) for n in _captured(part))
        while more := set().union(*(reads.get(name, ()) for name in used)) - used:
            used |= more
        found |= used.intersection(own) - bound
        bound.update(bound_by(stmt))
    return found


def _captured(part: Expr) -> Collection[str]:
    return ir.names_in(part) if isinstance(part, Closure) else ()


@dataclass(frozen=True)
class Later:
    """The names that get another value after some point of a function."""

    rebound: frozenset[str]
    after: Mapping[Place, frozenset[str]]
    out_of_sight: frozenset[str] = frozenset()

    @staticmethod
    def of(function: Function) -> Later:
        hidden = _bound_out_of_sight(function)
        return Later(rebound_names(function) | hidden, bound_after(function), hidden)

    def than(self, origin: ir.Origin) -> frozenset[str]:
        """Those that may be bound again from a statement on."""
        return self.rebound & self.after.get(origin.place, self.rebound)


def bound_after(function: Function) -> dict[Place, frozenset[str]]:
    """For each statement, by its place, the names that may get a value once it runs.

    >>> from .lower import program
    >>> [sorted(names) for names in bound_after(program("a = b; c = a")).values()]
    [['a', 'c'], ['c']]
    """
    found: dict[Place, frozenset[str]] = {}
    _bound_after(function.body, _bound_out_of_sight(function), found)
    return dict(reversed(found.items()))


def _bound_after(
    block: ir.Block, after: frozenset[str], found: dict[Place, frozenset[str]]
) -> frozenset[str]:
    """Goes through a block backwards; what is bound from its beginning on."""
    for stmt in reversed(block):
        own = frozenset(n for s in ir.statements((stmt,)) for n in _given_value(s))
        again = isinstance(stmt, ir.For | ir.While)
        inside = after | own if again or isinstance(stmt, ir.Try) else after
        for inner in ir.blocks(stmt):
            _bound_after(inner, inside, found)
        after |= own
        place = stmt.origin.place
        found[place] = found.get(place, frozenset()) | after
    return after


def _given_value(stmt: Any) -> tuple[str, ...]:
    """The names that a statement binds, or gives another number by `a += b`."""
    match stmt:
        case ir.Update(target=Var(name)):
            return (name,)
    return bound_by(stmt)


def _bound_out_of_sight(function: Function) -> frozenset[str]:
    """The names that inner functions assign (`nonlocal`), and those of assignment expressions."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        if isinstance(stmt, Define):
            found.update(stmt.function.free)
            found |= _bound_out_of_sight(stmt.function)
        for expr in ir.expressions(stmt):
            found |= assigned(expr)
    return frozenset(found)


def free_names(function: Function) -> list[str]:
    """The names a function reads and does not bind, in order."""
    bound = set(function.param_names)
    bound.update(n for s in ir.statements(function.body) for n in bound_by(s))
    found: dict[str, None] = {}
    for stmt in ir.statements(function.body):
        if isinstance(stmt, Define):
            found.update(dict.fromkeys(free_names(stmt.function)))
            for param in stmt.function.params:
                found.update(dict.fromkeys(names_read(param.default)))
            continue
        for expr in ir.expressions(stmt):
            found.update(dict.fromkeys(names_read(expr)))
        if isinstance(stmt, ir.Update) and isinstance(stmt.target, Var):
            found[stmt.target.name] = None
        if isinstance(stmt, ir.OpaqueStmt):
            found.update(dict.fromkeys(stmt.names))
    return [name for name in found if name not in bound]


def names_read(expr: Expr | None) -> dict[str, None]:
    """The local names in an expression, in order."""
    if expr is None:
        return {}
    return dict.fromkeys(p.name for p in ir.walk(expr) if isinstance(p, Var))
