"""What the primal must save so that every adjoint statement reads the value it means.

The *to-be-recorded* analysis: going forward through the primal, `needed` holds the names (and
the contents of alias classes, written `#class`) whose present value an adjoint statement of what
was already executed will read. A statement that overwrites a needed value is preceded by a save;
its reversal restores. The values of a loop body's locals do not survive the round: what is
needed of them at the end of the body is pushed there (unless `analysis.recompute` takes care).

After Hascoet, Naumann, Pascual, "To be recorded analysis in reverse-mode automatic
differentiation" (2005).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from .. import ir, runtime
from ..runtime.records import attribute_of
from .aliases import Aliases
from .memory import element
from .regions import Access, Parts, is_part, whole_of, written_key
from .structure import (
    ROOT,
    BlockKey,
    NameSets,
    Structure,
    bound_by,
    shape_only,
    slices_array,
    takes_last,
)

Needed = frozenset[str]
# Methods of `runtime.Shadow`: the arguments of which they ask what they are, not what is in them.
SHADOW_METHODS = {
    "of": (0,),
    "add": (0,),
    "like": (0, 1),
    "take": tuple(range(9)),
    "put": (0, *range(2, 9)),
    "add_at": (0, 2),
    "like_at": (0, 2, 3),
    "take_at": (0, 2),
    "put_at": (0, 3),
}


class Step(Protocol):
    """A reversed statement, as the sweep made it (see `transform.sweep.Reversed`)."""

    stmt: ir.Stmt
    entry: list[ir.Stmt]
    exit: list[ir.Stmt]


@dataclass
class Reads:
    """What the reversal of each statement reads. `entry` of a statement runs with the primal as
    after it, `exit` as before it, `tails` at the head of the given block; `headers` is what a
    branch's test or a loop's header reads, as after it, if anything inside is reversed; `places`
    what finds the entries that a write overwrites, between its entry and its exit."""

    entry: dict[int, Needed] = field(default_factory=dict)
    headers: dict[int, Needed] = field(default_factory=dict)
    exit: dict[int, Needed] = field(default_factory=dict)
    tails: dict[BlockKey, Needed] = field(default_factory=dict)
    places: dict[int, frozenset[str]] = field(default_factory=dict)


@dataclass
class Saves:
    """The answer.

    `overwrites`: number of a statement -> names saved before it and restored at its reversal;
    `stores`: (number of an in-place write, name written) whose entries are (a dict used as a set);
    `pushed`: block -> locals saved at its end;
    `read_back`: (number of a call, name that the callee writes) whose entries are read as they
    were before it, so that its backward function has to restore them;
    `kept`: number of a loop -> arrays that are copied before it, since it writes them and only
    what comes before it is reversed by what is in them;
    `at_end`: what is needed when the primal has ended.
    """

    overwrites: dict[int, tuple[str, ...]] = field(default_factory=dict)
    stores: dict[tuple[int, str], None] = field(default_factory=dict)
    pushed: dict[BlockKey, tuple[str, ...]] = field(default_factory=dict)
    read_back: set[tuple[int, str]] = field(default_factory=set)
    kept: dict[int, tuple[str, ...]] = field(default_factory=dict)
    at_end: Needed = frozenset()


def content(name: str, aliases: Aliases) -> Needed:
    """The tokens for the contents behind a name that somebody writes."""
    return frozenset("#" + c for c in aliases.contents(name))


def never(name: str) -> bool:
    return False


def needs_of(
    expr: ir.Expr,
    aliases: Aliases,
    known: Callable[[str], bool],
    parts: Parts | None = None,
    has_one_shape: Callable[[str], bool] = never,
) -> Needed:
    """Primal names an expression reads, with content tokens where it looks inside them: of the
    entries that it reads only, if they are distinguished. Where it asks for a shape that a name
    has all the time, any value of the name will do."""
    found: set[str] = set()
    work = [(expr, False)]  # parts, and whether only their shape is looked at
    while work:
        part, only_shape = work.pop()
        if isinstance(part, ir.Var):
            if known(part.name) and not (only_shape and has_one_shape(part.name)):
                found.add(part.name)
                entries = None if only_shape or parts is None else parts.token(part)
                if entries is not None:
                    found.add(entries)
                elif not only_shape or aliases.is_resized(part.name):
                    found.update(content(part.name, aliases))
        elif isinstance(part, ir.Attribute):
            work.append((part.base, part.name in ir.SHAPE_ATTRIBUTES))
        elif isinstance(part, ir.Index) and only_shape and slices_array(part.key):
            work += ((part.base, True), (part.key, False))
        elif isinstance(part, ir.Index) and parts is not None and (entries := parts.token(part)):
            found.add(entries)
            work += ((part.base, True), (part.key, False))
        elif isinstance(part, ir.Display):
            work.extend((item, only_shape) for item in (*part.keys, *part.items))
        elif isinstance(part, ir.Call) and isinstance(part.fn, ir.Ref):
            like = shape_only(part.fn.obj)
            work.extend((arg, position == like) for position, arg in enumerate(part.args))
            work.extend((value, False) for _, value in part.kwargs)
        elif isinstance(part, ir.Call) and _asks_shadow(part, known):
            asked = SHADOW_METHODS[part.fn.name]  # type: ignore[union-attr]
            for position, arg in enumerate(part.args):
                work.append((arg, position in asked))
                found.update(filter(known, ir.names_in(arg)))  # (which one it is does matter)
        else:
            work.extend((child, False) for child in ir.children(part))
    return frozenset(found)


def _asks_shadow(call: ir.Call, known: Callable[[str], bool]) -> bool:
    """Whether a call is of a method of the shadow, whose name no primal has."""
    match call.fn:
        case ir.Attribute(ir.Var(name), method):
            return method in SHADOW_METHODS and not known(name)
    return False


def statement_needs(
    stmts: Iterable[ir.Stmt],
    aliases: Aliases,
    known: Callable[[str], bool],
    parts: Parts | None = None,
    has_one_shape: Callable[[str], bool] = never,
) -> Needed:
    """What a list of adjoint statements reads of the primal."""
    found: Needed = frozenset()
    for stmt in stmts:
        for expr in ir.expressions(stmt):
            found |= needs_of(expr, aliases, known, parts, has_one_shape)
    return found


class Recording:
    """Runs the analysis to its fixpoint (restores read keys, which makes more values needed).

    `virtual` are names that the sweep recomputes, so that they need no saving; `called` is what
    calls write that their backward functions restore. Sets of names and tokens are masks of `sets`.
    """

    def __init__(
        self,
        facts: Structure,
        restored_for_caller: Iterable[str],
        aliases: Aliases,
        reads: Reads,
        virtual: frozenset[str],
        written: Callable[[ir.Stmt], tuple[str, ...]],
        parts: Parts,
        called: Callable[[ir.Stmt], tuple[str, ...]] = lambda stmt: (),
        is_array: Callable[[str], bool] = never,
    ) -> None:
        self.facts = facts
        self.is_array = is_array
        self.parts = parts
        self.called = called
        self.aliases = aliases
        self.reads = reads
        self.written = written  # names a statement writes through, and must restore itself
        self.saves = Saves()
        self.changed = False
        self.sets = NameSets()
        mask = self.sets.mask
        self.virtual = mask(virtual)
        self.callers = frozenset(t for n in restored_for_caller for t in content(n, aliases))
        self.caller = mask(self.callers)
        self._read: dict[str, dict[str, Access]] = {}  # content -> placed tokens of its parts
        self.entry = self._placed(reads.entry, virtual, after=True)
        self.exit = self._placed(reads.exit, virtual, after=False)
        self.headers = {key: mask(names) for key, names in reads.headers.items()}
        self.tails = {key: mask(names) for key, names in reads.tails.items()}
        self.local = {key: mask(names) for key, names in facts.locals.items() if key != ROOT}
        self.born = self._born()
        self._stored: set[int] = set()  # statements of `saves.stores`
        self._overwritten: dict[tuple[int, str], int] = {}

    def run(self) -> Saves:
        saves = self._found({})
        kept = {loop: names for loop in self._loops() if (names := self._whole_in(loop))}
        while kept:
            saves = self._found(kept)
            left = {n: tuple(x for x in kept[n] if x not in self._whole_in(n)) for n in kept}
            if left == kept:
                return saves
            kept = {loop: names for loop, names in left.items() if names}
            saves = self._found({})
        return saves

    def _found(self, kept: dict[int, tuple[str, ...]]) -> Saves:
        """What is saved where these arrays are copied before these loops."""
        self.saves, self._stored = Saves(kept=kept), set()
        while True:
            self.changed = False
            at_end = self._block(self.facts.function.body, self.caller, ROOT)
            if not self.changed:
                self.saves.at_end = frozenset(self.sets.names(at_end))
                return self.saves

    # ---------------------------------------------------------------- arrays copied before loops
    #
    #     u = np.exp(-x**2)              u = np.exp(-x**2)
    #     for _ in range(n):             u_saved = u.copy()
    #         u[1:-1] += ..              for _ in range(n):
    #                                        u[1:-1] += ..
    #
    # Only the derivative of `np.exp` reads `u`: one copy, instead of what each round overwrites.

    def _loops(self) -> list[int]:
        body = self.facts.function.body
        return [self.facts.number(s) for s in body if isinstance(s, ir.For | ir.While)]

    def _whole_in(self, loop: int) -> tuple[str, ...]:
        """The arrays of which entries are saved in a loop of the function's own block, that are
        bound before it, and that the reverse sweep knows by one name."""
        inside = range(loop, self.facts.index.ends[loop])
        saved = (*self.saves.stores, *sorted(self.saves.read_back))
        names = dict.fromkeys(name for number, name in saved if number in inside)
        return tuple(name for name in names if self._has_one_name(name, loop))

    def _has_one_name(self, name: str, loop: int) -> bool:
        own = self.aliases.content_of(name)
        alike = {n for n in self.facts.home if own in map(self.aliases.content_of, (n, element(n)))}
        found = (self.reads.entry, self.reads.exit, self.reads.headers, self.reads.tails)
        read = {n for kept in found for names in kept.values() for n in names}
        bound = self.facts.definitions.get(name, ())
        return (
            not (alike - {name}) & (read | self.aliases.direct)
            and self.is_array(name)
            and not content(name, self.aliases) & self.callers
            and all(self.facts.number(made) < loop for made in bound)
        )

    def _placed(
        self, reads: dict[int, Needed], virtual: frozenset[str], after: bool
    ) -> dict[int, int]:
        """What is read at each statement: parts of arrays with the place where they are."""
        placed = {}
        for key, names in reads.items():
            tokens = set(names - virtual)
            for token in sorted(filter(is_part, tokens)):
                here = f"{token}|{key}{'+' if after else '-'}"
                access = self.parts.access(token, self.facts.index.statements[key], after)
                self._read.setdefault(whole_of(token), {})[here] = access
                tokens ^= {token, here}
            placed[key] = self.sets.mask(sorted(tokens))
        return placed

    def _born(self) -> dict[BlockKey, int]:
        """For each block, the contents of classes whose every member is local to it."""
        homes: dict[str, set[BlockKey]] = {}
        for name, home in self.facts.home.items():
            own = home if self.facts.is_local(name, home) else ROOT
            for node in (name, element(name)):
                homes.setdefault(self.aliases.content_of(node), set()).add(own)
        born: dict[BlockKey, int] = {}
        for shared, keys in homes.items():
            (key, *others) = keys
            if key != ROOT and not others:
                born[key] = born.get(key, 0) | self.sets.mask(("#" + shared,))
        return born

    # ----------------------------------------------------------------------------- walking

    def _block(self, block: ir.Block, needed: int, key: BlockKey) -> int:
        gone = self.local.get(key, 0) | self.born.get(key, 0)
        needed = (needed & ~gone | self.tails.get(key, 0)) & ~self.virtual
        for stmt in block:
            needed = self._statement(stmt, needed)
        return self._end_of(needed, key, gone)

    def _statement(self, stmt: ir.Stmt, needed: int) -> int:
        number = self.facts.number(stmt)
        entry = self.entry.get(number, 0)
        needed |= self.exit.get(number, 0)
        match stmt:
            case ir.If():
                first = self._block(stmt.body, needed, self.facts.block(stmt, 0))
                second = self._block(stmt.orelse, needed, self.facts.block(stmt, 1))
                names = ir.binds(stmt)  # (of a `try`: whether it was run)
                self._overwrite(stmt, tuple(n for n in names if self.sets.has(needed, n)))
                bound = self.sets.mask(names)
                return (first | second) & ~bound | entry | self._header(stmt)
            case ir.For() | ir.While():
                return self._loop(stmt, needed) | entry | self._header(stmt)
        needed = self._writes(stmt, needed)
        names = bound_by(stmt)
        self._overwrite(stmt, tuple(n for n in names if self.sets.has(needed, n)))
        needed = needed & ~self.sets.mask(names) & ~self._made_by(stmt) | entry
        if number in self._stored and is_pop(stmt):  # `v = xs.pop()`, undone by `xs.append(v)`
            needed |= self.sets.mask(names)
        return needed

    def _made_by(self, stmt: ir.Stmt) -> int:
        """The content of the array that a statement makes, where it is known by one name only:
        what was read of the array that had this name before is not overwritten by that."""
        return self._contents(name for name in bound_by(stmt) if name in self.aliases.built)

    def _header(self, stmt: ir.Stmt) -> int:
        """What reversing a compound statement's header reads, if its reversal is not empty."""
        return self.headers[self.facts.number(stmt)] if self._reversed_inside(stmt) else 0

    def _reversed_inside(self, stmt: ir.Stmt) -> bool:
        for owner, which, block in ir.inner_blocks((stmt,)):
            if self.saves.pushed.get(self.facts.block(owner, which)):
                return True
            for key in map(self.facts.number, block):
                if self.reads.entry.get(key) or self.reads.exit.get(key):
                    return True
                if key in self._stored or self.saves.overwrites.get(key):
                    return True
        return False

    def _loop(self, stmt: ir.For | ir.While, needed: int) -> int:
        bound = self.sets.mask(ir.binds(stmt))
        key = self.facts.block(stmt, 0)
        kept = self._contents(self.saves.kept.get(self.facts.number(stmt), ()))
        before, needed = needed, needed & ~kept
        while True:
            after = self._block(stmt.body, needed & ~bound, key) & ~bound
            if not after & ~needed:
                return needed | before
            needed |= after

    def _contents(self, names: Iterable[str]) -> int:
        """The contents of names, and parts of them."""
        found = 0
        for whole in (c for name in names for c in sorted(content(name, self.aliases))):
            found |= self.sets.mask((whole, *self._read.get(whole, ())))
        return found

    def _writes(self, stmt: ir.Stmt, needed: int) -> int:
        """In-place writes: their entries are saved when the content is needed."""
        for name in self.called(stmt):
            if self._behind(stmt, name) & needed:
                self.saves.read_back.add((self.facts.number(stmt), name))
        for base in self.written(stmt):
            key = (self.facts.number(stmt), base)
            if key not in self.saves.stores and self._behind(stmt, base) & needed:
                self.saves.stores[key] = None
                self._stored.add(self.facts.number(stmt))
                self.changed = True
            if key in self.saves.stores:
                needed |= self.sets.mask(self._found_by(stmt, base))
        return needed

    def _found_by(self, stmt: ir.Stmt, base: str) -> Needed:
        """What finds the entries that are restored where a write in place is undone."""
        found: Needed = frozenset()
        for expr in (*place_of(stmt), self.aliases.through(base)):
            found |= needs_of(expr, self.aliases, self.facts.home.__contains__)
        return found

    def _behind(self, stmt: ir.Stmt, base: str) -> int:
        """What a write in place may overwrite: contents, and parts of them that it may meet."""
        key = (self.facts.number(stmt), base)
        if key not in self._overwritten:
            whole = content(base, self.aliases)
            write = Access(stmt, base, written_key(stmt, base))
            met = (
                token
                for held in sorted(whole)
                for token, read in self._read.get(held, {}).items()
                if self.parts.regions.may_overwrite(read, write)
            )
            self._overwritten[key] = self.sets.mask((*sorted(whole), *met))
        return self._overwritten[key]

    def _overwrite(self, stmt: ir.Stmt, names: tuple[str, ...]) -> None:
        known = self.saves.overwrites.get(self.facts.number(stmt), ())
        more = tuple(n for n in names if n not in known)
        if more:
            self.saves.overwrites[self.facts.number(stmt)] = known + more
            self.changed = True

    # ------------------------------------------------------------------- the end of a block

    def _end_of(self, needed: int, key: BlockKey, gone: int) -> int:
        """Locals needed after their block has ended are pushed there."""
        if not self.facts.repeated[key]:
            return needed
        wanted = needed & self.local.get(key, 0) & ~self._loop_target(key)
        pushed = sorted(self.sets.names(wanted), key=self._defined_at)
        if self.saves.pushed.get(key, ()) != tuple(pushed):
            self.saves.pushed[key] = tuple(pushed)
            self.changed = True
        return needed & ~gone

    def _defined_at(self, name: str) -> tuple[int, int]:
        """The order of definition; names of one statement as it binds them."""
        first = self.facts.definitions[name][0]
        return self.facts.number(first), bound_by(first).index(name)

    def _loop_target(self, key: BlockKey) -> int:
        """Loop variables of the block's own loop: the reversed header binds them again."""
        loop = self.facts.owner.get(key)
        return self.sets.mask(ir.target_names(loop.target)) if isinstance(loop, ir.For) else 0


def place_of(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The key of the entries a statement writes (empty when it writes a whole array)."""
    match stmt:
        case ir.Store(target=ir.Index(_, key)) | ir.Update(target=ir.Index(_, key)):
            return (key,)
        case ir.Do(value=ir.Call(fn=ir.Ref(), args=(_, key, _))) if is_scatter(stmt):
            return (key,)
        case _:
            return ()


def is_scatter(stmt: ir.Stmt) -> bool:
    """Whether a statement is `np.add.at(a, k, v)`, `np.subtract.at(a, k, v)` or our `add_at`."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(), _, _))):
            ufunc = attribute_of(obj, "__self__", None)
            at = attribute_of(obj, "__name__", "") == "at" and ufunc in (np.add, np.subtract)
            return at or obj is runtime.add_at
    return False


def is_pop(stmt: ir.Stmt) -> bool:
    """Whether a statement is `v = xs.pop()`."""
    match stmt:
        case ir.Assign(target=str(), value=value):
            return takes_last(value)
    return False
