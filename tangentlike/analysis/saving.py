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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from .. import ir, runtime
from .aliases import Aliases
from .memory import element
from .structure import ROOT, BlockKey, Structure, block_key, bound_by

Needed = frozenset[str]

# Functions that look at the shape and type of an argument (by position) but not at its content.
LIKE_ARGUMENTS: Mapping[str, tuple[int, ...]] = {
    "zeros_like": (0,),
    "ones_like": (0,),
    "full_like": (0,),
    "empty_like": (0,),
    "unbroadcast": (1,),
    "broadcast_like": (1,),
    "len": (0,),
    "shape": (0,),
    "ndim": (0,),
    "size": (0,),
}
_SHAPE_ATTRIBUTES = ("shape", "size", "ndim", "dtype")


class Step(Protocol):
    """A reversed statement, as the sweep made it (see `autodiff.sweep.Reversed`)."""

    stmt: ir.Stmt
    entry: list[ir.Stmt]
    exit: list[ir.Stmt]


@dataclass
class Reads:
    """What the reversal of each statement reads. `entry` of a statement runs with the primal as
    after it, `exit` as before it, `tails` at the head of the given block; `headers` is what a
    branch's test or a loop's header reads, as after it, if anything inside is reversed."""

    entry: dict[int, Needed] = field(default_factory=dict)
    headers: dict[int, Needed] = field(default_factory=dict)
    exit: dict[int, Needed] = field(default_factory=dict)
    tails: dict[BlockKey, Needed] = field(default_factory=dict)


@dataclass
class Saves:
    """The answer.

    `overwrites`: id of a statement -> names saved before it and restored at its reversal;
    `stores`: (id of an in-place write, name written) whose entries are (a dict used as a set);
    `pushed`: block -> locals saved at its end;
    `at_end`: what is needed when the primal has ended.
    """

    overwrites: dict[int, tuple[str, ...]] = field(default_factory=dict)
    stores: dict[tuple[int, str], None] = field(default_factory=dict)
    pushed: dict[BlockKey, tuple[str, ...]] = field(default_factory=dict)
    at_end: Needed = frozenset()


def content(name: str, aliases: Aliases) -> Needed:
    """The tokens for the contents behind a name that somebody writes."""
    return frozenset("#" + c for c in aliases.contents(name))


def needs_of(expr: ir.Expr, aliases: Aliases, known: Callable[[str], bool]) -> Needed:
    """Primal names an expression reads, with content tokens where it looks inside them."""
    found: set[str] = set()

    def visit(e: ir.Expr, shape_only: bool) -> None:
        match e:
            case ir.Var(name):
                if known(name):
                    found.add(name)
                    if not shape_only:
                        found.update(content(name, aliases))
            case ir.Attribute(base, name):
                visit(base, name in _SHAPE_ATTRIBUTES)
            case ir.Call(fn=ir.Ref(text=text)):
                like = LIKE_ARGUMENTS.get(text.rpartition(".")[2], ())
                for position, arg in enumerate(e.args):
                    visit(arg, position in like)
                for _, value in e.kwargs:
                    visit(value, False)
            case _:
                for child in ir.children(e):
                    visit(child, False)

    visit(expr, False)
    return frozenset(found)


def statement_needs(
    stmts: Iterable[ir.Stmt], aliases: Aliases, known: Callable[[str], bool]
) -> Needed:
    """What a list of adjoint statements reads of the primal."""
    found: Needed = frozenset()
    for stmt in stmts:
        for expr in ir.expressions(stmt):
            found |= needs_of(expr, aliases, known)
    return found


class Recording:
    """Runs the analysis to its fixpoint (restores read keys, which makes more values needed).

    `virtual` are names that the sweep recomputes, so that they need no saving.
    """

    def __init__(
        self,
        facts: Structure,
        aliases: Aliases,
        reads: Reads,
        virtual: frozenset[str],
        written: Callable[[ir.Stmt], tuple[str, ...]],
        restored_for_caller: Iterable[str],
    ) -> None:
        self.facts = facts
        self.aliases = aliases
        self.reads = reads
        self.virtual = virtual
        self.written = written  # names a statement writes through, and must restore itself
        self.saves = Saves()
        self.caller: Needed = frozenset().union(
            *(content(name, aliases) for name in restored_for_caller)
        )
        self.changed = False

    def run(self) -> Saves:
        while True:
            self.changed = False
            self.saves.at_end = self._block(self.facts.function.body, self.caller, ROOT)
            if not self.changed:
                return self.saves

    # ----------------------------------------------------------------------------- walking

    def _block(self, block: ir.Block, needed: Needed, key: BlockKey) -> Needed:
        local = frozenset(self.facts.locals_of(key)) if key != ROOT else frozenset()
        born = self._born_in(key, local)
        needed = (needed - local - born) | self.reads.tails.get(key, frozenset())
        needed -= self.virtual
        for stmt in block:
            needed = self._statement(stmt, needed)
        return self._end_of(needed, key, local)

    def _born_in(self, key: BlockKey, local: Needed) -> Needed:
        """Contents of classes whose every member is local to the block."""
        if key == ROOT:
            return frozenset()
        members: dict[str, list[str]] = {}
        for name in self.facts.home:
            for node in (name, element(name)):
                members.setdefault(self.aliases.class_of(node), []).append(name)
        return frozenset("#" + c for c, names in members.items() if all(n in local for n in names))

    def _statement(self, stmt: ir.Stmt, needed: Needed) -> Needed:
        entry = self.reads.entry.get(id(stmt), frozenset()) - self.virtual
        leave = self.reads.exit.get(id(stmt), frozenset()) - self.virtual
        match stmt:
            case ir.If():
                needed |= leave
                ends = [
                    self._block(b, needed, block_key(stmt, i))
                    for i, b in enumerate(ir.blocks(stmt))
                ]
                return ends[0] | ends[1] | entry | self._header(stmt)
            case ir.For() | ir.While():
                return self._loop(stmt, needed | leave) | entry | self._header(stmt)
        needed = self._writes(stmt, needed | leave)
        bound = frozenset(bound_by(stmt))
        overwritten = tuple(n for n in bound_by(stmt) if n in needed or n in leave & bound)
        self._overwrite(stmt, overwritten)
        return (needed - bound) | (leave - bound) | entry

    def _header(self, stmt: ir.Stmt) -> Needed:
        """What reversing a compound statement's header reads, if its reversal is not empty."""
        return self.reads.headers[id(stmt)] if self._reversed_inside(stmt) else frozenset()

    def _reversed_inside(self, stmt: ir.Stmt) -> bool:
        for which, block in enumerate(ir.blocks(stmt)):
            if self.saves.pushed.get(block_key(stmt, which)):
                return True
            for inner in block:
                known = (self.reads.entry, self.reads.exit, self.saves.overwrites)
                if any(table.get(id(inner)) for table in known):
                    return True
                if any(i == id(inner) for i, _ in self.saves.stores):
                    return True
                if self._reversed_inside(inner):
                    return True
        return False

    def _loop(self, stmt: ir.For | ir.While, needed: Needed) -> Needed:
        bound = frozenset(ir.binds(stmt))
        key = block_key(stmt, 0)
        while True:
            after = self._block(stmt.body, needed - bound, key) - bound
            if after <= needed:
                return needed
            needed = needed | after

    def _writes(self, stmt: ir.Stmt, needed: Needed) -> Needed:
        """In-place writes: their entries are saved when the content is needed."""
        for base in self.written(stmt):
            key = (id(stmt), base)
            if content(base, self.aliases) & needed and key not in self.saves.stores:
                self.saves.stores[key] = None
                self.changed = True
            if key in self.saves.stores:
                for expr in (*place_of(stmt), ir.Var(base)):
                    needed |= needs_of(expr, self.aliases, self.facts.home.__contains__)
                needed |= frozenset(_taken_back(stmt))
        return needed

    def _overwrite(self, stmt: ir.Stmt, names: tuple[str, ...]) -> None:
        known = self.saves.overwrites.get(id(stmt), ())
        more = tuple(n for n in names if n not in known)
        if more:
            self.saves.overwrites[id(stmt)] = known + more
            self.changed = True

    # ------------------------------------------------------------------- the end of a block

    def _end_of(self, needed: Needed, key: BlockKey, local: Needed) -> Needed:
        """Locals needed after their block has ended are pushed there."""
        if not self.facts.repeated[key]:
            return needed
        targets = self._loop_targets(key)
        pushed = [n for n in self.facts.locals_of(key) if n in needed and n not in targets]
        pushed.sort(key=lambda n: self.facts.number[id(self.facts.definitions[n][0])])
        if self.saves.pushed.get(key, ()) != tuple(pushed):
            self.saves.pushed[key] = tuple(pushed)
            self.changed = True
        return needed - local - self._born_in(key, local)

    def _loop_targets(self, key: BlockKey) -> frozenset[str]:
        """Loop variables of the block's own loop: the reversed header binds them again."""
        for stmts in self.facts.definitions.values():
            for stmt in stmts:
                if isinstance(stmt, ir.For) and id(stmt) == key[0]:
                    return frozenset(ir.target_names(stmt.target))
        return frozenset()


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
            ufunc = getattr(obj, "__self__", None)
            at = getattr(obj, "__name__", "") == "at" and ufunc in (np.add, np.subtract)
            return at or obj is runtime.add_at
    return False


def _taken_back(stmt: ir.Stmt) -> tuple[str, ...]:
    """`v = xs.pop()` is restored by `xs.append(v)`: then v is needed as well."""
    return ir.binds(stmt) if is_pop(stmt) else ()


def is_pop(stmt: ir.Stmt) -> bool:
    """Whether a statement is `v = xs.pop()`."""
    match stmt:
        case ir.Assign(target=str(), value=ir.Call(fn=ir.Attribute(ir.Var(), "pop"), args=())):
            return True
    return False
