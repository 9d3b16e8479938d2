"""What one round of a loop saves is saved together: one stack of tuples instead of a stack for each
value.

before::                                    after::
    z_saved = []                                saved = []
    h_saved = []
    for x in xs:                                for x in xs:
        z = np.exp(h)                               z = np.exp(h)
        z_saved.append(z)                           saved.append((z, h))
        h_saved.append(h)
        h = z * x                                   h = z * x
    ...                                         ...
    for x in reversed(xs):                      for x in reversed(xs):
        h = h_saved.pop()                           z, h = saved.pop()
        z = z_saved.pop()

A push may come earlier or later as long as no statement in between binds the name (or changes what
an expression that is pushed gives), a pop as long as none binds or reads it.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ... import ir
from ...analysis.structure import Liveness
from ...errors import Place
from ...ir.facts import fact
from ...ir.index import ProgramIndex, all_names
from ...ir.names import Names
from .analyses import IN_PLACE, Analyses
from .effects import Effect, effect_of, expr_effect, is_pure, pinned_names
from .facts import Facts
from .nest import LINE, statement_width
from .stacks import created_lists, is_push, taped_names, unpacked_names


@dataclass(frozen=True)
class _Use:
    """A push or pop of a stack: what is pushed, or the name that gets it back, where the statement
    stands in its block, and the first and last place where it might stand."""

    stmt: ir.Stmt
    value: ir.Expr
    at: int
    first: int
    last: int


@dataclass(frozen=True)
class _Stack:
    """A list that one statement of a loop pushes to, and another one pops from; `there` is its name
    in the function that pops."""

    name: str
    there: str
    made: ir.Stmt
    push: _Use
    pop: _Use

    @property
    def popped(self) -> str:
        """The name that gets back what was pushed."""
        assert isinstance(self.pop.value, ir.Var)
        return self.pop.value.name


def saved_together(
    functions: Sequence[ir.Function], facts: Mapping[str, Facts]
) -> tuple[ir.Function, ...]:
    """Save what is saved in one block, and taken back in one block, as tuples on one stack.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program('''s = []
    ... t = []
    ... for i in range(n):
    ...     z = f(h)
    ...     s.append(z)
    ...     t.append(h)
    ...     h = g(z)
    ... for i in reversed(range(n)):
    ...     z = s.pop()
    ...     h_bar = h_bar * z
    ...     h_bar = h_bar * t.pop()
    ... return h_bar'''), "save")
    >>> print(show(saved_together((f,), {f.name: Facts()})[0].body))
    saved = []
    for i in range(n):
        z = f(h)
        saved.append((z, h))
        h = g(z)
    for i in reversed(range(n)):
        z, h = saved.pop()
        h_bar = h_bar * z
        h_bar = h_bar * h
    return h_bar
    """
    out = list(functions)
    nothing = Facts()  # (of what is fused out of others)
    stacks = [len(created_lists(function)) > 1 for function in functions]
    for at, function in enumerate(functions):
        known = facts.get(function.name, nothing)
        if stacks[at] and _is_open(function, known):
            out[at] = _packed(*_Packs(function, function, {}, known, known).result())[0]
    shared = _with_shared_tapes(functions)
    for at, (fwd, bwd) in enumerate(itertools.pairwise(out)):
        taped, unpacked = taped_names(fwd), unpacked_names(bwd)
        if taped is None or unpacked is None or len(taped) != len(unpacked):
            continue
        if fwd.place in shared or not stacks[at]:
            continue
        both = facts.get(fwd.name, nothing), facts.get(bwd.name, nothing)
        if _is_open(fwd, both[0]) and _is_open(bwd, both[1]):
            names = {t: u for t, u in zip(taped, unpacked, strict=True) if t and u}
            packs = _Packs(fwd, bwd, names, *both)
            out[at], out[at + 1] = _packed(*packs.result())
    return tuple(out)


def _with_shared_tapes(functions: Sequence[ir.Function]) -> list[Place]:
    """Where functions stand of which a forward or backward function has no partner beside it: that
    one was equal to an earlier one (`tapes.without_repeats`), whose tape two functions read now."""
    partners = {
        fn.name
        for both in itertools.pairwise(functions)
        for fn in both
        if _has_tape(both[0]) and _reads_tape(both[1]) and _are_partners(*both)
    }
    return [
        fn.place
        for fn in functions
        if fn.name not in partners and (_has_tape(fn) or _reads_tape(fn))
    ]


def _are_partners(fwd: ir.Function, bwd: ir.Function) -> bool:
    """Whether two functions were made as a pair: `f_fwd2` and `f_bwd2`."""
    stem, _, number = fwd.name.rpartition("_fwd")
    return fwd.place == bwd.place and bwd.name == f"{stem}_bwd{number}"


def _has_tape(fn: ir.Function) -> bool:
    return taped_names(fn) is not None


def _reads_tape(fn: ir.Function) -> bool:
    match fn.body[0] if fn.body else None:
        case ir.Assign(target=tuple(), value=ir.Var(tape)):
            return bool(fn.params) and tape == fn.params[0].name
    return False


def _is_open(function: ir.Function, facts: Facts) -> bool:
    """Whether it is plain in which order a function runs, and what it reads."""
    stmts = ir.statements(function.body)
    return not facts.by_identity and not any(isinstance(s, ir.Try | ir.OpaqueStmt) for s in stmts)


class _Side:
    """The function that pushes, or that pops."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self.function = function
        self.facts = facts
        self.index = fact(ProgramIndex, function)
        self.pinned = pinned_names(function, facts)
        self._blocks: dict[tuple[int, int], _Positions] = {}

    def uses(self, name: str) -> list[ir.Stmt]:
        return [self.index.statements[n] for n in self.index.uses.get(name, ())]

    def positions(self, stmt: ir.Stmt) -> _Positions:
        """What the statements do in the block that one stands in."""
        key = self.index.block_of(stmt)
        if key not in self._blocks:
            self._blocks[key] = _Positions(self.index.block(stmt), self.facts)
        return self._blocks[key]

    def use(self, stmt: ir.Stmt, value: ir.Expr, *stops: _Stops, passes_itself: bool) -> _Use:
        """A push or pop that can pass what does not stop it."""
        at = self.index.positions[self.index.number(stmt)]
        block = self.positions(stmt)
        first, last = block.around(at, (block.leaving, None))
        for stop in stops:
            earliest, latest = block.around(at, stop)
            first, last = max(first, earliest), min(last, latest)
            if not passes_itself and block.is_stop(at, stop):
                last = at
        return _Use(stmt, value, at, first, last)

    def changes(self, stmt: ir.Stmt, effect: Effect) -> Iterator[_Stops]:
        """The statements beside one after which an expression may give another value."""
        block, known = self.positions(stmt), Analyses(self.function, self.facts)
        yield from ((block.bound.get(name, []), None) for name in effect.reads)
        yield block.writing, lambda p: known.meet(effect.content, block.effects[p].writes)


_Stops = tuple[list[int], "Callable[[int], bool] | None"]  # those of these places that stop it


class _Positions:
    """Where in a block names are bound or read, where something is written, and where the block
    may be left: positions, in order."""

    def __init__(self, block: ir.Block, facts: Facts) -> None:
        self.block = block
        self.effects = [effect_of(stmt, facts) for stmt in block]
        self.leaving = [p for p, stmt in enumerate(block) if _leaves(stmt)]
        self.writing = [p for p, effect in enumerate(self.effects) if effect.writes]

    @functools.cached_property
    def bound(self) -> dict[str, list[int]]:
        """By name: the statements that bind it, or update it as they may a number."""
        return self._by_name(lambda p: self.effects[p].binds | _updated(self.block[p]))

    @functools.cached_property
    def touched(self) -> dict[str, list[int]]:
        """By name: the statements that bind, update or read it."""
        return self._by_name(
            lambda p: self.effects[p].binds | _updated(self.block[p]) | self.effects[p].reads
        )

    def _by_name(self, names: Callable[[int], Iterable[str]]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for position in range(len(self.block)):
            for name in names(position):
                found.setdefault(name, []).append(position)
        return found

    def around(self, at: int, stop: _Stops) -> tuple[int, int]:
        """The first and the last place that something may go to from one."""
        places, stops = stop
        before = range(bisect_left(places, at) - 1, -1, -1)
        after = range(bisect_right(places, at), len(places))
        earlier, later = (
            next((places[k] for k in some if stops is None or stops(places[k])), end)
            for some, end in ((before, -1), (after, len(self.block)))
        )
        return earlier + 1, later - 1

    def is_stop(self, at: int, stop: _Stops) -> bool:
        """Whether a place is one of those that stop it."""
        places, stops = stop
        here = bisect_left(places, at) < bisect_right(places, at)
        return here and (stops is None or stops(at))


@ir.of_node
def _leaves(stmt: ir.Stmt) -> bool:
    """Whether a loop, or the function, may be left in a statement."""
    return any(isinstance(s, ir.Break | ir.Return) for s in ir.statements((stmt,)))


@ir.of_node
def _updated(stmt: ir.Stmt) -> frozenset[str]:
    """The names that a statement, or one in it, updates."""
    targets = (s.target for s in ir.statements((stmt,)) if isinstance(s, ir.Update))
    return frozenset(target.name for target in targets if isinstance(target, ir.Var))


class _Packs:
    """The stacks that `fwd` makes and `bwd`, which may be the same function, empties; `names` says
    what those of a tape are called there."""

    def __init__(
        self,
        fwd: ir.Function,
        bwd: ir.Function,
        names: Mapping[str, str],
        facts: Facts,
        backward_facts: Facts,
    ) -> None:
        self.one = fwd is bwd
        self.fwd = _Side(fwd, facts)
        self.bwd = self.fwd if self.one else _Side(bwd, backward_facts)
        self.names = names

    def result(self) -> tuple[_Side, _Side, list[list[_Stack]]]:
        return self.fwd, self.bwd, [group for group in self._groups() if len(group) > 1]

    def _groups(self) -> Iterator[list[_Stack]]:
        """Sets of stacks, in the order in which they are pushed to."""
        beside: dict[object, list[_Stack]] = {}
        for name in sorted(created_lists(self.fwd.function)):
            stack = self._stack(name)
            if stack is not None:
                made, push = map(self.fwd.index.block_of, (stack.made, stack.push.stmt))
                if made != push:  # (and not outside of loops)
                    key = (made, push, self.bwd.index.block_of(stack.pop.stmt))
                    beside.setdefault(key, []).append(stack)
        for stacks in beside.values():
            for group in _meeting(stacks):
                yield sorted(group, key=lambda s: s.push.at)

    def _stack(self, name: str) -> _Stack | None:
        there = name if self.one else self.names.get(name)
        uses = self.fwd.uses(name)
        if there is None or len(uses) != 2 or {name, there} & (self.fwd.pinned | self.bwd.pinned):
            return None
        if not self.one:
            if not isinstance(uses[1], ir.Return) or len(self.bwd.uses(there)) != 1:
                return None
            uses = [uses[0], *self.bwd.uses(there)]
        made = self.fwd.index.statements[self.fwd.index.definitions[name][0]]
        push, pop = self._push(uses[0]), self._pop(uses[1], there, uses[0])
        return None if push is None or pop is None else _Stack(name, there, made, push, pop)

    def _push(self, stmt: ir.Stmt) -> _Use | None:
        match stmt:
            case ir.Do(value=ir.Call(args=(ir.Var(name) as value,))) if is_push(stmt):
                if name not in self.fwd.pinned:
                    stop = self.fwd.positions(stmt).bound.get(name, []), None
                    return self.fwd.use(stmt, value, stop, passes_itself=False)
            case ir.Do(value=ir.Call(args=(value,))) if is_push(stmt):
                effect = expr_effect(value, self.fwd.facts)
                if effect.silent and not effect.reads & self.fwd.pinned:
                    stops = self.fwd.changes(stmt, effect)
                    return self.fwd.use(stmt, value, *stops, passes_itself=False)
        return None

    def _pop(self, stmt: ir.Stmt, stack: str, push: ir.Stmt) -> _Use | None:
        """`h = h_saved.pop()`; or what pops inside an expression, which may read a name instead."""
        side, match_ = self.bwd, isinstance(stmt, ir.Assign) and is_pop_of(stmt.value, stack)
        if match_ and isinstance(stmt, ir.Assign) and isinstance(stmt.target, str):
            target = stmt.target
        else:
            value = push.value.args[0] if isinstance(push, ir.Do) else None  # type: ignore[union-attr]
            if not isinstance(value, ir.Var) or not self._may_name(stmt, value.name, stack):
                return None
            target = value.name
        if target in side.pinned:
            return None
        stop = side.positions(stmt).touched.get(target, []), None
        return side.use(stmt, ir.Var(target), stop, passes_itself=match_)

    def _may_name(self, stmt: ir.Stmt, name: str, stack: str) -> bool:
        """Whether a name is free for what a statement pops inside an expression, once."""
        side = self.bwd
        parts = ir.walk_statement(stmt)
        pops = sum(is_pop_of(part, stack) for part in parts)
        effect = effect_of(stmt, side.facts)
        touched = name in effect.reads | effect.binds or name in _updated(stmt)
        if pops != 1 or isinstance(stmt, ir.While) or touched:
            return False
        live = Analyses(side.function, side.facts).live
        return not live.is_live_after(stmt, name)


def is_pop_of(expr: ir.Expr, stack: str) -> bool:
    """Whether an expression is `stack.pop()`."""
    match expr:
        case ir.Call(fn=ir.Attribute(ir.Var(name), "pop"), args=(), kwargs=()):
            return name == stack
    return False


def _meeting(stacks: list[_Stack]) -> list[list[_Stack]]:
    """The stacks in few groups, in each of which there is a place where all pushes might stand, and
    one where all pops might."""
    groups: list[list[_Stack]] = []
    for stack in sorted(stacks, key=lambda s: (s.push.last, s.push.at)):
        for group in groups:
            several = [*group, stack]
            new = stack.popped not in {s.popped for s in group}
            if new and _meet([s.push for s in several]) and _meet([s.pop for s in several]):
                group.append(stack)
                break
        else:
            groups.append([stack])
    return groups


def _meet(uses: list[_Use]) -> bool:
    return max(use.first for use in uses) <= min(use.last for use in uses)


def _packed(fwd: _Side, bwd: _Side, groups: list[list[_Stack]]) -> tuple[ir.Function, ir.Function]:
    """Both functions with one stack for each group."""
    if not groups:
        return fwd.function, bwd.function
    names = Names((*all_names(fwd.function), *all_names(bwd.function)))
    edits = [_Edits(), _Edits()]
    for group in groups:
        saved = names.fresh("saved")
        _pushed_together(group, saved, fwd, edits[0])
        _popped_together(group, saved, bwd, edits[fwd is not bwd])
    made = ir.with_body(fwd.function, edits[0].block(fwd.function.body))
    if fwd is bwd:
        return made, made
    return made, ir.with_body(bwd.function, edits[1].block(bwd.function.body))


def _pushed_together(group: list[_Stack], saved: str, side: _Side, edits: _Edits) -> None:
    made = min((s.made for s in group), key=side.index.number)
    edits.put(made, ir.Assign(saved, ir.Display("list", ()), made.origin))
    edits.gone.update(id(stmt) for s in group for stmt in (s.made, s.push.stmt))
    edits.taped.append(([s.name for s in group], saved))
    last = max((s.push for s in group), key=lambda use: use.at)
    place = min(last.at, *(s.push.last for s in group))
    values = ir.Display("tuple", tuple(s.push.value for s in group))
    push = ir.Call(ir.Attribute(ir.Var(saved), "append"), (values,))
    edits.put(side.index.block(last.stmt)[place], ir.Do(push, last.stmt.origin))


def _popped_together(group: list[_Stack], saved: str, side: _Side, edits: _Edits) -> None:
    edits.taped.append(([s.there for s in group], saved))
    for stack in group:
        stmt = stack.pop.stmt
        if isinstance(stmt, ir.Assign) and is_pop_of(stmt.value, stack.there):
            edits.gone.add(id(stmt))
        else:
            edits.named[stack.there] = stack.pop.value
    first = min((s.pop for s in group), key=lambda use: use.at)
    place = max(first.at, *(s.pop.first for s in group))
    origin = ir.Origin(first.stmt.origin.place, "restore")
    pop = ir.Call(ir.Attribute(ir.Var(saved), "pop"))
    taken = ir.Assign(tuple(s.popped for s in group), pop, origin)
    edits.put(side.index.block(first.stmt)[place], taken)


class _Edits(ir.Rewriter):
    """Statements that are put before others, by their ids, and those that go; `named` are stacks
    whose pops in expressions become names, `taped` those of which a tape holds one instead."""

    def __init__(self) -> None:
        self.before: dict[int, list[ir.Stmt]] = {}
        self.gone: set[int] = set()
        self.named: dict[str, ir.Expr] = {}
        self.taped: list[tuple[list[str], str]] = []

    def put(self, where: ir.Stmt, stmt: ir.Stmt) -> None:
        self.before.setdefault(id(where), []).append(stmt)

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        yield from self.before.get(id(stmt), ())
        if id(stmt) not in self.gone:
            yield self._with_tape(self.inside(stmt))

    def expression(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Call(fn=ir.Attribute(ir.Var(stack), "pop")) if stack in self.named:
                return self.named[stack]
        return ir.rebuild(expr, self.expression)

    def _with_tape(self, stmt: ir.Stmt) -> ir.Stmt:
        """A statement that makes, or takes apart, the tape, with the stacks that it now holds."""
        match stmt:
            case ir.Return(value=ir.Display(items=(value, ir.Display() as tape))):
                kept = self._kept([t.name if isinstance(t, ir.Var) else None for t in tape.items])
                items = tuple(
                    ir.Var(new) if new else old
                    for new, old in zip(kept, tape.items, strict=True)
                    if new is not None
                )
                both = (value, dataclasses.replace(tape, items=items))
                return ir.Return(ir.Display("tuple", both), stmt.origin)
            case ir.Assign(target=tuple(parts), value=ir.Var()):
                kept = self._kept([n if isinstance(n, str) else None for n in parts])
                pairs = zip(kept, parts, strict=True)
                target = tuple(new or old for new, old in pairs if new is not None)
                return dataclasses.replace(stmt, target=target)
        return stmt

    def _kept(self, names: Sequence[str | None]) -> list[str | None]:
        """For each part of a tape: another name for it, "" for its own, None where it goes."""
        new: dict[str, str | None] = {}
        for stacks, saved in self.taped:
            inside = [name for name in names if name in stacks]
            new.update(dict.fromkeys(stacks))
            new.update({inside[0]: saved} if inside and inside[0] else {})
        return [new.get(name, "") if name else "" for name in names]


# --------------------------------------------------------------------------------------------------
# A loop back that takes what each round saved, and reads no variable of its own, goes through the
# stack: `for u, x in reversed(saved)` for `for _ in reversed(range(n)): u, x = saved.pop()`.
#
# Every value that is pushed is popped once. A loop that pops in each round, and has no other loop
# around it since the stack was made, has as many rounds as there are values. One that keeps rows of
# its own pops: what is taken back goes as these come.


def gone_through(function: ir.Function, facts: Facts) -> ir.Function:
    """Go through what is saved, instead of counting rounds and popping in each.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program('''s = []
    ... count = 0
    ... while x > 1.0:
    ...     count = count + 1
    ...     s.append(x)
    ...     x = 0.5 * x * x
    ... for _ in reversed(range(count)):
    ...     x = s.pop()
    ...     x_bar = x_bar * x
    ... return x_bar'''), "save")
    >>> print(show(gone_through(f, Facts()).body))
    s = []
    while x > 1.0:
        s.append(x)
        x = 0.5 * x * x
    for x in reversed(s):
        x_bar = x_bar * x
    return x_bar
    """
    stacks = created_lists(function) | {n for n in unpacked_names(function) or () if n}
    if not stacks or not _is_open(function, facts):
        return function
    side = _Side(function, facts)
    live = Analyses(function, facts).live
    found = (_through(stack, side, live) for stack in sorted(stacks))
    loops = {id(old): (old, new) for old, new in filter(None, found)}
    if not loops:
        return function
    body = ir.rewrite(function.body, lambda s: loops[id(s)][1] if id(s) in loops else None)
    counts = {name for old, _ in loops.values() for name in ir.names_in(old.iter)}
    return _without_counts(ir.with_body(function, body), counts)


def _through(stack: str, side: _Side, live: Liveness) -> tuple[ir.For, ir.For] | None:
    """The loop that pops from a stack in each round, and the one that goes through it."""
    index, uses = side.index, side.uses(stack)
    made = index.statements[index.definitions[stack][0]]
    pushes, pop = uses[:-1], uses[-1] if uses else made
    around = next(index.around(index.number(pop)), None)
    loop = None if around is None else index.statements[around]
    if not isinstance(loop, ir.For) or not isinstance(pop, ir.Assign):
        return None
    names = frozenset(ir.target_names(pop.target))
    counted = loop.target if isinstance(loop.target, str) else ""
    there = side.positions(pop)
    before = [there.touched.get(name, [len(loop.body)])[0] for name in names]
    if not (
        is_pop_of(pop.value, stack)
        and len(pushes) <= 1
        and all(map(is_push, pushes))
        and index.block_of(loop) == index.block_of(made)
        and is_pure(loop.iter, side.facts, True)
        and not names & side.pinned
        and min(before, default=0) >= index.positions[index.number(pop)]
        and counted
        and not any(counted in ir.reads(stmt) or is_push(stmt) for stmt in ir.statements(loop.body))
        and not live.is_live_after(loop, counted)
    ):
        return None
    iterable = ir.Call(ir.REVERSED, (ir.Var(stack),))
    body = tuple(stmt for stmt in loop.body if stmt is not pop)
    return loop, ir.For(pop.target, iterable, body, loop.origin)


def _without_counts(function: ir.Function, names: Collection[str]) -> ir.Function:
    """A function without those of these names that are only counted up from a number."""
    index = fact(ProgramIndex, function)
    gone: set[int] = set()
    for name in names:
        bound = [index.statements[n] for n in index.definitions.get(name, ())]
        counting = all(isinstance(s, ir.Assign) and _counts(s.value, name) for s in bound)
        if counting and all(index.statements[n] in bound for n in index.uses.get(name, ())):
            gone.update(map(id, bound))
    rest = ir.rewrite(function.body, lambda stmt: () if id(stmt) in gone else None)
    return ir.with_body(function, rest)


def _counts(value: ir.Expr, name: str) -> bool:
    """Whether a value is a number, or one more than the name has."""
    return isinstance(value, ir.Const) or value == ir.Call(ir.ADD, (ir.Var(name), ir.Const(1)))


# --------------------------------------------------------------------------------------------------
# What one line of the user's becomes, and what has one form, is bound by one statement: adjoints
# that begin as zeros, empty lists, entries of one array, what one operator gives for its operands;
# and `dx, dy = x[1:] - x[:-1], y[1:] - y[:-1]`, as the user wrote it.


def bound_together(function: ir.Function) -> ir.Function:
    """Bind neighbours in one line, where it has room for them: the last thing done to a text.

    >>> import numpy as np
    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> text = "a_bar = np.zeros_like(a); b_bar = 0.0; u_bar = g * v; v_bar = g * u; return v_bar"
    >>> print(show(bound_together(derived(program(text, {"np": np}))).body))
    a_bar, b_bar = np.zeros_like(a), 0.0
    u_bar, v_bar = g * v, g * u
    return v_bar
    >>> text = "t = 2.0 * a_bar; a_bar = b_bar; b_bar = t; return a_bar"
    >>> print(show(bound_together(derived(program(text))).body))
    a_bar, b_bar = b_bar, 2.0 * a_bar
    return a_bar
    """
    return _Binding(function).rewritten(function)


_ZERO = ir.Const(0.0)
_NEAR = 12  # so many statements may stand between two zeros that are begun with


class _Binding(ir.Rewriter):
    """`caught`: what is raised between two statements of the user's may be."""

    def __init__(self, function: ir.Function) -> None:
        self.indentation = 0
        self.index = fact(ProgramIndex, function)
        catching = (ir.Try, ir.With, ir.Enter)
        self.caught = any(isinstance(s, catching) for s in ir.statements(function.body))

    def block(self, block: ir.Block) -> ir.Block:
        self.indentation += 4
        out: list[ir.Stmt] = []
        for stmt in super().block(block):
            swap = self._swap(out[-2], out[-1], stmt) if len(out) > 1 else None
            if swap is not None:
                stmt = swap
                del out[-2:]
            place, both = self._beside(out, stmt)
            out[place : place + 1] = [both or stmt]
        self.indentation -= 4
        return ir.unless_same(out, block)

    def _beside(self, out: list[ir.Stmt], stmt: ir.Stmt) -> tuple[int, ir.Assign | None]:
        """Where a statement stands after others, and the one for it and what stands there: a zero
        that is begun with is told together with those a little before."""
        if not out or not isinstance(stmt, ir.Assign):
            return len(out), None
        both = self._both(out[-1], stmt)
        if both is not None or stmt.origin.role == "primal" or not _is_zero(stmt.value):
            return len(out) - (both is not None), both
        names = ir.reads(stmt) | {str(stmt.target)}
        for place in reversed(range(max(len(out) - _NEAR, 0), len(out) - 1)):
            if any(_touches(inner, stmt, names) for inner in ir.statements((out[place + 1],))):
                break
            alike = out[place].origin.role == stmt.origin.role
            both = self._both(out[place], stmt) if alike else None
            if both is not None:
                return place, both
        return len(out), None

    def _swap(self, first: ir.Stmt, second: ir.Stmt, third: ir.Stmt) -> ir.Assign | None:
        """`a, b = b, e` for `t = e; a = b; b = t`, where nothing else reads t."""
        match first, second, third:
            case (
                ir.Assign(target=str(held), value=value),
                ir.Assign(target=str(a), value=ir.Var(b)),
                ir.Assign(target=str(target), value=ir.Var(name), origin=origin),
            ) if held == name and b == target and len({a, b, held}) == 3:
                once = len(self.index.uses[held]) == len(self.index.definitions[held]) == 1
                both = ir.Assign((a, b), ir.Display("tuple", (second.value, value)), origin)
                fits = statement_width(both, self.indentation) <= LINE + 2
                return both if once and fits and not self.caught else None
        return None

    def _both(self, first: ir.Stmt, second: ir.Assign) -> ir.Assign | None:
        """One statement for two that stand beside each other, if they are told together."""
        one, two = first.origin, second.origin
        if not isinstance(first, ir.Assign) or not isinstance(second.target, str):
            return None
        if self.caught and one.role == "primal":
            return None
        names, values = _bound(first)
        targets = (*names, second.target)
        alike = _form(values[-1]) == _form(second.value) is not None
        # What a sum begins with, and where values are saved: of whichever line.
        begun = alike and _form(second.value) == _ZERO and two.role != "primal"
        same = (one.role, one.place.file, one.place.line)
        on_one = same == (two.role, two.place.file, two.place.line)
        if not begun and not on_one:
            return None
        written = one.role == "primal" and one.place.text.startswith(", ".join(map(str, targets)))
        read = ir.reads(second) | {second.target}
        if not (alike or written) or not read.isdisjoint(map(str, names)):
            return None
        end = max(place.column + place.width for place in (one.place, two.place))
        column = min(one.place.column, two.place.column)
        wider = dataclasses.replace(one.place, column=column, width=end - column)
        place = wider if on_one else one.place
        value = ir.Display("tuple", (*values, second.value))
        both = ir.Assign(targets, value, dataclasses.replace(one, place=place))
        return both if statement_width(both, self.indentation) <= LINE + 2 else None


def _bound(stmt: ir.Assign) -> tuple[tuple[ir.Target, ...], tuple[ir.Expr, ...]]:
    """What a statement binds, and to what."""
    match stmt:
        case ir.Assign(target=tuple(names), value=ir.Display(form="tuple", items=values)):
            return names, values
    return (stmt.target,), (stmt.value,)


def _is_zero(value: ir.Expr) -> bool:
    """Whether a value is 0.0 or an array of zeros, or of ones, in the shape of another (that of a
    list or an object may be another when these have changed)."""
    helper = isinstance(value, ir.Call) and getattr(value.fn, "text", "").isidentifier()
    return _form(value) == _ZERO and not helper and not isinstance(value, ir.Display)


def _touches(stmt: ir.Stmt, begun: ir.Stmt, names: frozenset[str]) -> bool:
    """Whether a statement reads what another binds, or binds what that reads or binds."""
    return not (names.isdisjoint(ir.binds(stmt)) and ir.reads(stmt).isdisjoint(ir.binds(begun)))


def _form(value: ir.Expr) -> ir.Expr | None:
    """What values have in common that are bound together."""
    match value:
        case ir.Call(ir.Ref(text=text), (ir.Var() | ir.Index(ir.Var(), ir.Const(str())),), ()) if (
            text.endswith(("zeros_like", "ones_like"))
        ):
            return _ZERO
        case ir.Call(ir.Ref(text=text)) if text.endswith(".zeros"):
            return _ZERO
        case ir.Const(0.0) | ir.Display("list", ()):
            return _ZERO
        case ir.Call(fn=ir.Attribute(ir.Var(), "copy"), args=()):
            return ir.Const("copy")
        case ir.Index(ir.Var() as base, _):
            return base
        case ir.Call(ir.Ref(text=text) as fn, (_, _), ()) if text in IN_PLACE:
            return fn
    return None
