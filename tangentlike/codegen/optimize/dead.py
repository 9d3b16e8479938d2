"""Statements whose result nothing reads.

Two questions, asked one after the other. Does any effect or result depend on the statement at
all (marking backwards from them, so that an accumulation that only feeds itself goes)? And is
the value it binds read before it is bound again?
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterator

from ... import ir, runtime
from ...analysis.structure import Liveness, exposed, exposed_before
from .analyses import Analyses
from .effects import (
    OUTSIDE,
    Effect,
    effect_of,
    expr_effect,
    is_trusted,
    own_effect,
    stack_name,
)
from .facts import Facts
from .sharing import Sharing


def remove_dead_code(function: ir.Function, facts: Facts) -> ir.Function:
    """Drop statements whose value nothing reads; effects stay.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> f = program("t = a * b; y = a + 1; print(y); z = y; return y")
    >>> print(show(remove_dead_code(f, Facts()).body))
    y = a + 1
    print(y)
    return y
    """
    known = Analyses(function, facts)
    sharing, pinned = known.sharing, known.pinned
    needed = _Marking(sharing, facts, pinned).run(function)
    body = ir.rewrite(function.body, lambda stmt: None if id(stmt) in needed else ())
    sweep = _Sweep(sharing, facts, pinned)
    after = sweep.live.mask([*pinned, *map(_content, pinned)])
    return ir.with_body(function, sweep.block(body, after, after)[0])


class _Marking:
    """Which statements some effect, or the result, depends on."""

    def __init__(self, sharing: Sharing, facts: Facts, pinned: frozenset[str]) -> None:
        self.sharing = sharing
        self.facts = facts
        self.pinned = pinned
        self.makers: dict[str, list[int]] = {}  # name or class -> statements that bind or write it
        self.effects: dict[int, Effect] = {}
        self.owner: dict[int, int] = {}  # statement -> the compound statement around it
        self.breaks: dict[int, list[int]] = {}  # loop -> the `break`s that leave it
        self.essential: list[int] = []
        self.seen: set[str] = set()
        self.writers: dict[str, list[int]] = {}

    def run(self, function: ir.Function) -> set[int]:
        self._collect(function.body)
        needed: set[int] = set()
        names: set[str] = set()
        work = list(self.essential)
        self._want(Effect(reads=self.pinned, content=self.pinned), names, work)
        while work:
            key = work.pop()
            if key in needed or not key:
                continue
            needed.add(key)
            work.append(self.owner[key])
            work.extend(self.breaks.get(key, ()))
            self._want(self.effects[key], names, work)
        return needed

    def _want(self, effect: Effect, names: set[str], work: list[int]) -> None:
        """Whatever binds a name that is read, or writes what is read through one."""
        for name in effect.reads - names:
            work.extend(self.makers.get(name, ()))
        names |= effect.reads
        for shared in {self.sharing.of(name) for name in effect.content} - self.seen:
            self.seen.add(shared)
            work.extend(self.writers.get(shared, ()))

    def _is_seen_outside(self, effect: Effect) -> bool:
        writes = effect.writes
        return bool(writes) and any(map(self.sharing.is_outside, map(stack_name, writes)))

    def _collect(self, block: ir.Block) -> None:
        for stmt, around in ir.with_parents(block):
            key = id(stmt)
            self.owner[key] = id(around[-1]) if around else 0
            effect = own_effect(stmt, self.facts)
            self.effects[key] = effect
            for name in effect.binds:
                self.makers.setdefault(name, []).append(key)
            for name in map(stack_name, effect.writes):
                self.writers.setdefault(self.sharing.of(name), []).append(key)
            if isinstance(stmt, ir.Break):
                loop = next(s for s in reversed(around) if isinstance(s, ir.For | ir.While))
                self.breaks.setdefault(id(loop), []).append(key)
            elif _stays(stmt, effect, self.facts) or _check(stmt) or self._is_seen_outside(effect):
                self.essential.append(key)
            if isinstance(stmt, ir.Try):
                tried = ir.statements(ir.tried_and_rest(stmt)[0])
                self.essential += [id(s) for s in tried if s.origin.role == "primal"]


def _check(stmt: ir.Stmt) -> ir.Stmt | None:
    """What a dead statement checks: a result is a scalar, also if nothing reads its adjoint."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(text, obj), args=args)) if (
            obj is runtime.scalar_seed
        ):
            prefix = text.removesuffix("scalar_seed")
            check = ir.Ref(f"{prefix}require_scalar", runtime.require_scalar)
            return ir.Do(ir.Call(check, args), stmt.origin)
    return None


def _stays(stmt: ir.Stmt, effect: Effect, facts: Facts) -> bool:
    """Whether a statement stays whoever reads its values: for what it does, or for what it may
    raise where a `try` around a call of the function tells by that."""
    return effect.fixed or (facts.tried and stmt.origin.role == "primal")


def _with_blocks(stmt: ir.Stmt, kept: list[ir.Block]) -> ir.Stmt:
    """A compound statement with other blocks; itself if they are the same."""
    if all(new is old for new, old in zip(kept, ir.blocks(stmt), strict=True)):
        return stmt
    following = iter(kept)
    return ir.map_statement(stmt, block=lambda b: next(following))


class _Sweep:
    """Backwards through the program, dropping what binds or writes nothing that is live."""

    def __init__(self, sharing: Sharing, facts: Facts, pinned: frozenset[str]) -> None:
        self.sharing = sharing
        self.facts = facts
        self.pinned = pinned
        known = facts.cache.get(_Sweep)  # of the sweep before: most statements are the same
        self.live = Liveness(functools.partial(_uses, facts), functools.partial(_defines, facts))
        if known is not None:
            self.live.take_masks(known[1])
        facts.cache[_Sweep] = (None, self.live)
        self.contents: dict[str, int] = {}

    def block(self, block: ir.Block, after: int, leave: int) -> tuple[ir.Block, int]:
        out: list[ir.Stmt] = []
        changed = False
        for stmt in reversed(block):
            new, before = self.statement(stmt, after, leave)
            if new is None and (check := _check(stmt)) is not None:
                new, before = check, after | self.live.masks(check)[1]
            changed = changed or new is not stmt
            if new is not None:
                out.append(new)
                after = before
        return (tuple(reversed(out)) if changed else block), after

    def statement(self, stmt: ir.Stmt, after: int, leave: int) -> tuple[ir.Stmt | None, int]:
        """The statement (None when dead) and what is live before it."""
        _, uses, defines = self.live.masks(stmt)
        match stmt:
            case ir.Try():
                return self._attempt(stmt, after, leave)
            case ir.If():
                body, first = self.block(stmt.body, after, leave)
                orelse, second = self.block(stmt.orelse, after, leave)
                if not body and not orelse and own_effect(stmt, self.facts).silent:
                    return None, after
                return _with_blocks(stmt, [body, orelse]), first | second | uses
            case ir.For() | ir.While():
                return self._loop(stmt, after)
            case ir.Break():
                return stmt, leave
        effect = effect_of(stmt, self.facts)
        if not _stays(stmt, effect, self.facts) and not self._matters(effect, after):
            return None, after
        return stmt, after & ~defines | uses

    def _attempt(self, stmt: ir.Try, after: int, leave: int) -> tuple[ir.Stmt, int]:
        """What the body raises is seen, whoever reads its values: it stays. How it ended is noted
        only where somebody asks."""
        _, uses, defines = self.live.masks(stmt)
        tried, rest = ir.tried_and_rest(stmt)
        orelse, caught = self.block(stmt.orelse, after, leave)
        kept, after = self.block(rest, after, leave)
        if stmt.failed and not (after | caught) & self.live.mask((stmt.failed,)):
            stmt = dataclasses.replace(stmt, failed="")
        if stmt.caught and not caught & self.live.mask((stmt.caught,)):
            stmt = dataclasses.replace(stmt, caught="")
        before = exposed_before(tried, after | caught, self.live)
        body = stmt.body if kept is rest else (*tried, *kept)
        return _with_blocks(stmt, [body, orelse]), (before | caught) & ~defines | uses

    def _loop(self, stmt: ir.For | ir.While, after: int) -> tuple[ir.Stmt | None, int]:
        header = own_effect(stmt, self.facts)
        _, uses, defines = self.live.masks(stmt)
        if isinstance(stmt, ir.While):
            defines = 0
            head = after | exposed(stmt.body, self.live) | uses
        else:  # what is iterated over is read round after round
            head = after | exposed(stmt.body, self.live) & ~defines | uses
        body, _ = self.block(stmt.body, head, after)
        stmt = _with_blocks(stmt, [body])  # type: ignore[assignment]
        if not body and header.silent and isinstance(stmt, ir.For):
            return None, after
        return stmt, after | exposed(body, self.live) & ~defines | uses

    def _matters(self, effect: Effect, after: int) -> bool:
        """Whether something bound or written is still visible after the statement."""
        if after & self.live.mask(effect.binds) or not effect.binds.isdisjoint(self.pinned):
            return True
        for name in map(stack_name, effect.writes):
            if name == OUTSIDE or self.sharing.is_outside(name):
                return True
            if after & self._content_of_class(name):
                return True
        return False

    def _content_of_class(self, name: str) -> int:
        """The mask of the contents of all names that may share memory with this one."""
        root = self.sharing.of(name)
        found = self.contents.get(root)
        if found is None:
            found = self.live.mask(map(_content, self.sharing.members(name)))
            self.contents[root] = found
        return found


def _uses(facts: Facts, stmt: ir.Stmt) -> list[str]:
    effect = own_effect(stmt, facts)
    return [*effect.reads, *[name + _CONTENT for name in effect.content]]


def _defines(facts: Facts, stmt: ir.Stmt) -> list[str]:
    binds = own_effect(stmt, facts).binds
    return [*binds, *[name + _CONTENT for name in binds]]


def _content(name: str) -> str:
    """Stands for the content of the object a name refers to, as `name` for the reference."""
    return name + _CONTENT


_CONTENT = "()"


# --------------------------------------------------------------------------------------------------
# Branches: ternaries that lowering opened, empty sides.


_OPPOSITE = {
    operator.is_: ir.IS_NOT,
    operator.is_not: ir.IS,
}


def tidy_branches(function: ir.Function, facts: Facts) -> ir.Function:
    """No empty first branch, no `if` around nothing, ternaries as the user wrote them.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> f = program('''if c:
    ...     t = a
    ... else:
    ...     t = 0.0
    ... return t''')
    >>> print(show(tidy_branches(f, Facts(temporaries=frozenset("t"))).body))
    t = a if c else 0.0
    return t
    """

    def one(stmt: ir.Stmt) -> Iterator[ir.Stmt] | None:
        if isinstance(stmt, ir.Try):
            return _untried(stmt) if _lets_pass(stmt) else None
        return _tidied(stmt, facts) if isinstance(stmt, ir.If) else None

    return ir.with_body(function, ir.rewrite(function.body, after=one))


def _lets_pass(stmt: ir.Try) -> bool:
    """Whether all that a `try` does with what it catches is to raise it again."""
    match stmt.orelse:
        case (ir.OpaqueStmt(text="raise"),):
            return not stmt.failed and not stmt.caught
    return False


def _untried(stmt: ir.Try) -> Iterator[ir.Stmt]:
    """What a `try` stands around, by itself: `try: A; except E: raise; else: B` as `A; B`."""
    tried, (_, *rest) = ir.tried_and_rest(stmt)
    yield from tried
    yield from rest


def _tidied(stmt: ir.If, facts: Facts) -> Iterator[ir.Stmt]:
    if not stmt.body and not stmt.orelse:
        if not expr_effect(stmt.test, facts, is_trusted(stmt)).silent:
            yield ir.Do(stmt.test, stmt.origin)
    elif not stmt.body:
        yield ir.If(_negated(stmt.test), stmt.orelse, (), stmt.origin)
    else:
        yield _as_ternary(stmt, facts) or stmt


def _negated(test: ir.Expr) -> ir.Expr:
    """`not test`; only `is` has an opposite that is the same for every operand, NaN included."""
    if isinstance(test, ir.Call) and isinstance(test.fn, ir.Ref):
        if test.fn == ir.NOT:
            return test.args[0]
        if test.fn.obj in (operator.is_, operator.is_not):
            return ir.Call(_OPPOSITE[test.fn.obj], test.args, test.kwargs, test.at)
    return ir.Call(ir.NOT, (test,))


def _as_ternary(stmt: ir.If, facts: Facts) -> ir.Stmt | None:
    """An `if` that gives a flattening temporary one of two values is a conditional expression."""
    if len(stmt.body) != 1 or len(stmt.orelse) != 1 or stmt.origin.role != "primal":
        return None
    match stmt.body[0], stmt.orelse[0]:
        case (
            ir.Assign(target=str(name), value=then, origin=origin),
            ir.Assign(target=str(other), value=otherwise),
        ) if name == other and name in facts.temporaries:
            value = ir.Lazy("if", (stmt.test, then, otherwise))
            return ir.Assign(name, value, origin)
    return None
