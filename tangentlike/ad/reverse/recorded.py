"""The primal with its saves put in, and the reversed tree with its restores: two blocks.

A save inside a loop is a push on a stack of its own, one stack per place; outside loops it is a
plain variable. Entries of an array are saved as copies and restored in place, newest first, so
that every view of the array is again what it was.
"""

from __future__ import annotations

import builtins
import dataclasses
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

import numpy as np

from ... import ir
from ...analysis.aliases import Aliases
from ...analysis.constructors import record_class, record_names, sets_when_made
from ...analysis.local_kinds import LocalKinds
from ...analysis.memory import surely_basic, surely_fancy
from ...analysis.recompute import Costs as Predicates
from ...analysis.recompute import Recomputed
from ...analysis.saving import Saves, is_pop, place_of
from ...analysis.sharing import changed_by_method, may_resize
from ...analysis.structure import (
    ROOT,
    Assigned,
    BlockKey,
    Structure,
    bound_by,
    definitely_assigned,
    entry_is_there,
    shape_only,
)
from ...errors import UnsupportedError
from ...frontend.jumps import ends_by_raising, names_constant
from ...ir.index import OUTERMOST
from ..context import Context, of_sets
from ..specialize.object_calls import checked_classes
from .adjoints import as_value
from .sweep import Header, Reversed, ReversedBlock

Site = tuple[int | BlockKey, str]  # a statement or block, and what is saved there


@dataclass(eq=False)
class Recorder:
    """Weaves saves into the primal and restores into the reverse."""

    facts: Structure
    aliases: Aliases
    saves: Saves
    recomputed: Recomputed
    context: Context
    writes: Writes

    def __post_init__(self) -> None:
        self._stacks: dict[tuple[Site, str], str] = {}
        self._needed_before: dict[int, list[str]] = {}  # outermost loop -> its stacks
        self._pending: dict[int, list[tuple[str, str]]] = {}  # `try` -> its stacks, and whose items
        self._stores: dict[int, list[str]] = {}  # what statements write, of what is saved
        for which, name in self.saves.stores:
            self._stores.setdefault(which, []).append(name)
        self._unbound: dict[BlockKey, list[str]] = {}
        self._assigned = definitely_assigned(self.facts)
        self._tried = protected(self.facts)
        self._after_tried: dict[int, list[ir.Stmt]] = {}  # what each `try` saves when it is done

    # ---------------------------------------------------------------------------- the primal

    def primal(self, tree: ReversedBlock) -> ir.Block:
        """The user's statements (without the final `return`) with the saves for its sweep."""
        for name in possibly_unbound(tree, self._assigned):
            if name in self.facts.home:
                self._initialise(name)
        body = self.facts.function.body
        if body and isinstance(body[-1], ir.Return):
            body = body[:-1]
        return self._primal_block(body, ROOT)

    def _primal_block(self, block: ir.Block, key: BlockKey) -> ir.Block:
        out: list[ir.Stmt] = []
        pushed = self.saves.pushed.get(key, ())
        at_definition = [name for name in pushed if self._pushed_at_definition(name, key)]
        order = {name: place for place, name in enumerate(at_definition)}
        for stmt in block:
            before, after = self._primal_statement(stmt, key, order)
            out.extend(before)
            new = self._inside(stmt)
            if isinstance(new, ir.Try):
                first, new = saved_before(new)
                out.extend(first)
            if self.facts.outer_loop[key] == OUTERMOST and isinstance(stmt, ir.For | ir.While):
                for stack in self._needed_before.get(self.facts.number(stmt), ()):
                    out.append(ir.Assign(stack, ir.Display("list", ()), _save(stmt)))
            out.append(new)
            out.extend(after)
        late = [
            self._push(key, name, ir.Var(name), self.facts.definitions[name][0])
            for name in pushed
            if name not in order
        ]
        body = _append(tuple(out), tuple(late))
        names = self._unbound.get(key, ())
        origin = _save(block[0]) if block else None
        inits = tuple(ir.Assign(n, ir.Const(None), origin) for n in names if origin is not None)
        return inits + body

    def _inside(self, stmt: ir.Stmt) -> ir.Stmt:
        inner = tuple(
            self._primal_block(b, self.facts.block(stmt, i)) for i, b in enumerate(ir.blocks(stmt))
        )
        match stmt:
            case ir.Try():
                check, number = self._lost(stmt), self.facts.number(stmt)
                own = [made for made, _ in self._pending.get(number, ())]
                empty = [ir.Assign(n, ir.Display("list", ()), _save(stmt)) for n in own]
                body = saved_after(inner[0], self._after_tried.get(number, ()))
                return dataclasses.replace(stmt, body=(*empty, *body), orelse=check + inner[1])
            case ir.If():
                return dataclasses.replace(stmt, body=inner[0], orelse=inner[1])
            case ir.For() | ir.While():
                return dataclasses.replace(stmt, body=inner[0])
            case _:
                return stmt

    def _primal_statement(
        self, stmt: ir.Stmt, key: BlockKey, at_definition: Mapping[str, int]
    ) -> tuple[list[ir.Stmt], list[ir.Stmt]]:
        """What is saved before and after a statement; some of the names that it binds (numbered in
        order) right after it."""
        before = []
        for name in self.saves.overwrites.get(self.facts.number(stmt), ()):
            if not self._assigned.is_bound_before(stmt, name):
                self._initialise(name)
            before.append(self._save(stmt, key, name, ir.Var(name)))
        for name in self.saves.kept.get(self.facts.number(stmt), ()):
            copy = ir.Call(ir.Attribute(ir.Var(name), "copy"))
            before.append(self._save(stmt, key, name, copy, "whole"))
        for name in self._written(stmt):
            if not _undone(stmt):
                old = self._old_entries(stmt, name)
                before.append(self._save(stmt, key, name, old, "entries"))
        pushed = sorted(at_definition.keys() & {*bound_by(stmt)}, key=at_definition.__getitem__)
        return before, [self._push(key, name, ir.Var(name), stmt) for name in pushed]

    def _pushed_at_definition(self, name: str, key: BlockKey) -> bool:
        """Whether a local is pushed right where its only definition binds it.

        What is written through it is pushed when it is complete: a stack that refers to an array
        still to be written could not be differentiated again.
        """
        single = self.facts.single(name)
        owner = self.facts.owner.get(key)
        if isinstance(owner, ir.Try) and key == self.facts.block(owner, 0):
            single = None  # (where all went well, at its end)
        here = single is not None and self.facts.block_of(single) == key
        if here and name not in self.aliases.direct:
            return not isinstance(single, ir.For | ir.Try)
        if not self._assigned.is_bound_after(key, name):
            self._initialise(name)
        return False

    def _initialise(self, name: str) -> None:
        home = self.facts.home[name]
        where = home if self.facts.is_local(name, home) else ROOT
        names = self._unbound.setdefault(where, [])
        if name not in names:
            names.append(name)

    def _written(self, stmt: ir.Stmt) -> Sequence[str]:
        return self._stores.get(self.facts.number(stmt), ())

    def _entries(self, stmt: ir.Stmt, name: str) -> ir.Index | ir.Attribute:
        """The entries an in-place write changes: `A[k]`, `A.name`, or the whole of `A`."""
        if isinstance(stmt, ir.Store | ir.Update) and not isinstance(stmt.target, ir.Var):
            return stmt.target
        (key,) = place_of(stmt) or (self._whole(name),)
        return ir.Index(ir.Var(name), key)

    def _whole(self, name: str) -> ir.Expr:
        is_list = self.context.kind_of(ir.Var(name)).form == "list"
        return ir.Slice() if is_list else ir.Const(Ellipsis)

    def _has_contents(self, entries: ir.Index | ir.Attribute, stmt: ir.Stmt) -> TypeGuard[ir.Index]:
        """Whether all is written that a dict, set or object holds: no key stands for that."""
        if not isinstance(entries, ir.Index) or entries.key != ir.Const(Ellipsis):
            return False
        form = self.context.kind_of(entries.base).form
        idle = ir.names_in(entries.base) <= self.context.idle
        others = idle or _calls_method(stmt) or of_sets(stmt)
        known = form in ("dict", "set", "tuple", "object", "other")
        return known or (form == "unknown" and others)

    def _may_be_absent(
        self, entries: ir.Index | ir.Attribute, stmt: ir.Stmt
    ) -> TypeGuard[ir.Index]:
        """Whether a write may make an entry that was not there, as it does in a dict."""
        if not isinstance(entries, ir.Index):
            return False
        form, key = self.context.kind_of(entries.base).form, self.context.kind_of(entries.key)
        if form != "dict" and (form != "unknown" or key.form not in ("unknown", "other")):
            return False
        return not entry_is_there(stmt, entries, self.facts, self.context.sources())

    def _is_inside(self, stmt: ir.Stmt, entries: ir.Index) -> bool:
        """Whether a statement calls what it changes: a function may write what it captures."""
        call = getattr(stmt, "value", None)
        return isinstance(call, ir.Call) and call.fn == entries.base

    def _old_entries(self, stmt: ir.Stmt, name: str) -> ir.Expr:
        """What an in-place write is about to overwrite, copied unless it is a number. (An
        attribute is bound anew: what it referred to stays as it is.)"""
        _refuse_resize(stmt, name)
        entries = self._entries(stmt, name)
        if isinstance(entries, ir.Attribute):
            if may_be_unset(stmt, entries, self.facts, self.context):
                named = (entries.base, ir.Const(ir.plain_name(entries.name)))
                return ir.Call(self.context.helper("saved_attribute"), named)
            return entries
        if self._is_inside(stmt, entries) or self._has_contents(entries, stmt):
            return ir.Call(self.context.helper("contents_inside"), (entries.base,))
        if self._may_be_absent(entries, stmt):
            place = (entries.base, as_value(entries.key))
            return ir.Call(self.context.helper("saved_entry"), place)
        kind, base = self.context.kind_of(entries), self.context.kind_of(entries.base)
        replaced = isinstance(stmt, ir.Store) and base.form in ("list", "dict")
        if kind.form == "number" or replaced:  # (the object itself, which others may refer to)
            return entries
        if base.form == "array" and surely_fancy(entries.key, self.context.kind_of):
            return entries  # (which is a copy)
        if kind.form == "array":
            whole = entries.key == ir.Const(Ellipsis)
            return ir.Call(ir.Attribute(entries.base if whole else entries, "copy"))
        return ir.Call(self.context.helper("copy"), (entries,))

    def _save(
        self, stmt: ir.Stmt, key: BlockKey, name: str, value: ir.Expr, what: str = "name"
    ) -> ir.Stmt:
        tries = self._tries(self._tried.of_statement.get(self.facts.number(stmt), ()))
        late = bool(tries) and key == self.facts.block(tries[-1], 0)
        stack = self._stack(
            (self.facts.number(stmt), what), name, key, tries[:-1] if late else tries
        )
        if not self.facts.repeated[key]:
            return ir.Assign(stack, value, _save(stmt))
        if late:  # (what raises must not leave anything on a stack)
            held = self.context.names.fresh(f"{name}_before")
            self._push_when_done(tries[-1], stack, held)
            return ir.Assign(held, value, _save(stmt))
        return ir.Do(_pushed(stack, value), _save(stmt))

    def _push(self, key: BlockKey, name: str, value: ir.Expr, stmt: ir.Stmt) -> ir.Stmt:
        tries = self._tries(self._tried.of_block.get(key, ()))
        return ir.Do(_pushed(self._stack((key, "end"), name, key, tries), value), _save(stmt))

    def _push_when_done(self, tried: ir.Try, stack: str, held: str) -> None:
        """A push that is made when nothing in the body of a `try` has raised."""
        pushes = self._after_tried.setdefault(self.facts.number(tried), [])
        pushes.append(ir.Do(_pushed(stack, ir.Var(held)), _save(tried)))

    def _tries(self, around: Sequence[ir.Try]) -> Sequence[ir.Try]:
        """Those of the `try`s around a place that run several times: a body that raises would leave
        what it pushed on a stack that outlives it."""
        return [t for t in around if self.facts.repeated[self.facts.block_of(t)]]

    def _stack(self, site: Site, name: str, key: BlockKey, tries: Sequence[ir.Try]) -> str:
        """The stack of a place; in the body of a `try` that runs several times one of its own,
        which is an item of the stack around it when the body is done."""
        if (site, name) not in self._stacks:
            stack = self.context.names.fresh(f"{name}_saved")
            loop = self.facts.outer_loop[key]
            if loop != OUTERMOST:
                self._needed_before.setdefault(loop, []).append(stack)
            for tried in tries:
                around, stack = stack, self.context.names.fresh(f"{name}_pending")
                self._pending.setdefault(self.facts.number(tried), []).append((stack, around))
                self._push_when_done(tried, around, stack)
            self._stacks[site, name] = stack
        return self._stacks[site, name]

    def _lost(self, stmt: ir.Try) -> ir.Block:
        """The check that a body that raised has changed nothing which the reverse sweep misses."""
        body, seen = self.facts.block(stmt, 0), self.facts.live_in(self.facts.block(stmt, 1))
        saves = [which for which, _ in self.saves.stores]
        for which, names in self.saves.overwrites.items():
            if not all(self.facts.is_within(name, body) and name not in seen for name in names):
                saves.append(which)
        saving = frozenset(saves)
        known = (self.facts, self.aliases, self.context, self.writes)
        if not changes_midway(stmt, *known, saving):
            return ()
        call = ir.Call(self.context.helper("lost_statements"), (ir.Const(stmt.origin.place.text),))
        return (ir.Do(call, _save(stmt)),)

    # --------------------------------------------------------------------------- the reverse

    def reverse(self, block: ReversedBlock) -> ir.Block:
        """The reversed tree as statements."""
        out: list[ir.Stmt] = []
        out.extend(self._block_start(block.key))
        for step in block.steps:
            out.extend(self._step(step))
        out.extend(block.tail)
        return tuple(out)

    def _block_start(self, key: BlockKey) -> Iterable[ir.Stmt]:
        """Values of a body's locals, popped in primal order."""
        for name in self.saves.pushed.get(key, ()):
            definition = self.facts.definitions[name][0]
            yield ir.Assign(name, self._pop((key, "end"), name), _restore(definition))

    def _pop(self, site: Site, name: str) -> ir.Expr:
        return _pop(self._stacks[site, name])

    def _step(self, step: Reversed) -> list[ir.Stmt]:
        again = map(_again, self.recomputed.entry.get(self.facts.number(step.stmt), ()))
        out: list[ir.Stmt] = [self._kept(s, step.stmt) for s in again]
        out.extend(step.entry)
        restores, inside = self._restores(step.stmt), self._compound(step)
        attempt = isinstance(step.stmt, ir.Try)  # (what it binds says what of it is undone)
        out.extend((*inside, *restores) if attempt else (*restores, *inside))
        for name in self.saves.kept.get(self.facts.number(step.stmt), ()):
            saved = self._stacks[(self.facts.number(step.stmt), "whole"), name]
            whole = ir.Index(ir.Var(name), ir.Const(Ellipsis))  # (a tape may refer to it)
            out.append(ir.Store(whole, ir.Var(saved), _restore(step.stmt)))
        out.extend(_again(s) for s in self.recomputed.exit.get(self.facts.number(step.stmt), ()))
        out.extend(step.exit)
        return out

    def _kept(self, again: ir.Assign, stmt: ir.Stmt) -> ir.Assign:
        """What is read back of the entries that a statement wrote: a copy if they are restored."""
        stored = isinstance(stmt, ir.Store) and again.value == stmt.target
        if not stored or not self._written(stmt):
            return again
        if self.context.kind_of(again.value).form != "array":
            return again
        copy = ir.Call(ir.Attribute(again.value, "copy"))
        return dataclasses.replace(again, value=copy)

    def _restores(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        out: list[ir.Stmt] = []
        repeated = self.facts.repeated[self.facts.block_of(stmt)]

        def saved(name: str, what: str) -> ir.Expr:
            site = (self.facts.number(stmt), what)
            return self._pop(site, name) if repeated else ir.Var(self._stacks[site, name])

        origin = _restore(stmt)
        for name in self._written(stmt):
            if not _undone(stmt):
                entries = self._entries(stmt, name)
                out.append(self._put_back(stmt, entries, name, saved(name, "entries")))
            elif is_pop(stmt):
                is_set = self.context.kind_of(ir.Var(name)).form == "set"
                put = ir.Attribute(self.aliases.through(name), "add" if is_set else "append")
                back = ir.Call(put, (ir.Var(ir.binds(stmt)[0]),))
                out.append(ir.Do(back, origin))
            else:
                pop = ir.Attribute(self.aliases.through(name), "pop")
                out.append(ir.Do(ir.Call(pop), origin))
        for name in self.saves.overwrites.get(self.facts.number(stmt), ()):
            out.append(ir.Assign(name, saved(name, "name"), origin))
        return out

    def _put_back(
        self, stmt: ir.Stmt, entries: ir.Index | ir.Attribute, name: str, saved: ir.Expr
    ) -> ir.Stmt:
        """The statement that gives entries what they were before a write."""
        origin = _restore(stmt)
        whole = self.aliases.through(name)
        if isinstance(entries, ir.Attribute):
            return ir.Store(ir.Attribute(whole, entries.name), saved, origin)
        if self._is_inside(stmt, entries) or self._has_contents(entries, stmt):
            return ir.Do(ir.Call(self.context.helper("put_inside"), (whole, saved)), origin)
        place = ir.Index(whole, entries.key)
        if self._may_be_absent(entries, stmt):
            args = (place.base, as_value(place.key), saved)
            return ir.Do(ir.Call(self.context.helper("restore_entry"), args), origin)
        return ir.Store(place, saved, origin)

    def _compound(self, step: Reversed) -> list[ir.Stmt]:
        if not step.blocks:
            return []
        origin = ir.Origin(step.stmt.origin.place, "adjoint")
        blocks = tuple(map(self.reverse, step.blocks))
        pending = self._pending.get(self.facts.number(step.stmt), ())
        popped = [ir.Assign(own, _pop(around), _restore(step.stmt)) for own, around in pending]
        match step.stmt:
            case ir.If():
                blocks = ((*popped, *blocks[0]), *blocks[1:])
                test = condition(step.stmt)
                if test is None:
                    return list(blocks[0])
                if blocks[0]:
                    return [ir.If(test, blocks[0], blocks[1], origin)]
                if blocks[1]:
                    negated = ir.Call(ir.NOT, (test,))
                    return [ir.If(negated, blocks[1], (), origin)]
                return []
            case _:
                if not blocks[0]:
                    return []
                assert step.header is not None
                bindings = self._bindings(step.header, blocks[0], origin)
                return [
                    ir.For(step.header.target, step.header.iterable, bindings + blocks[0], origin)
                ]

    def _bindings(self, header: Header, body: ir.Block, origin: ir.Origin) -> ir.Block:
        """Loop variables that the reversed body reads, taken from their sequences again."""
        read = frozenset().union(*(ir.reads(s) for s in ir.statements(body)))
        return tuple(
            ir.Assign(leaf.target, leaf.item, dataclasses.replace(origin, role="restore"))
            for leaf in header.bindings
            if set(ir.target_names(leaf.target)) & read
        )


def condition(stmt: ir.If) -> ir.Expr | None:
    """What says, after a branch or `try`, whether its body was run; None where it surely was."""
    if not isinstance(stmt, ir.Try):
        return stmt.test
    if ends_by_raising(stmt.orelse):
        return None
    return ir.Call(ir.NOT, (ir.Var(stmt.failed),))


def _pop(stack: str) -> ir.Expr:
    return ir.Call(ir.Attribute(ir.Var(stack), "pop"))


def _pushed(stack: str, value: ir.Expr) -> ir.Call:
    return ir.Call(ir.Attribute(ir.Var(stack), "append"), (value,))


def _append(block: ir.Block, more: ir.Block) -> ir.Block:
    """`more` at the end of a block, before any `break` at its end."""
    if not more:
        return block
    if block and isinstance(block[-1], ir.Break):
        return block[:-1] + more + block[-1:]
    if block and isinstance(block[-1], ir.If) and any(ir.breaks(block[-1:])):
        last = block[-1]
        body, orelse = _append(last.body, more), _append(last.orelse, more)
        return (*block[:-1], dataclasses.replace(last, body=body, orelse=orelse))
    return block + more


def _refuse_resize(stmt: ir.Stmt, name: str) -> None:
    """Entries are put back into an array of the size that it had."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(name="resize"))):
            raise UnsupportedError(
                f"`{name}` gets another size in place",
                stmt.origin.place,
                "Make a new array: np.resize(a, shape), or np.zeros and a store.",
            )


def _calls_method(stmt: ir.Stmt) -> bool:
    """Whether a statement changes an object by a method of it, which may be one of a container."""
    match getattr(stmt, "value", None):
        case ir.Call(fn=ir.Attribute(ir.Var(), _)):
            return True
    return False


def _undone(stmt: ir.Stmt) -> bool:
    """Whether a write is undone by its inverse: `append` by `pop`, `pop` by `append`."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(), "append"))):
            return True
    return is_pop(stmt)


def _save(stmt: ir.Stmt) -> ir.Origin:
    return dataclasses.replace(stmt.origin, role="save")


def _again(stmt: ir.Assign) -> ir.Assign:
    return dataclasses.replace(stmt, origin=_restore(stmt))


def _restore(stmt: ir.Stmt) -> ir.Origin:
    return ir.Origin(stmt.origin.place, "restore", stmt.origin.rule)


# --------------------------------------------------------------------------------------------------
# Names that the sweep asks for their shape where the primal may not have bound them, and
# attributes that may not be there yet.
#
# `d_bar = np.zeros_like(d)` stands in front of a reversed branch that only some runs take, and `d`
# is bound in that branch alone. In the other runs nothing reads these zeros: `d` begins as None.


def possibly_unbound(tree: ReversedBlock, assigned: Assigned) -> tuple[str, ...]:
    """The primal's names whose zeros are made where the names may be unbound, in order."""
    return tuple(dict.fromkeys(_unbound_in(tree, assigned)))


def _unbound_in(tree: ReversedBlock, assigned: Assigned) -> Iterator[str]:
    for step in tree.steps:
        for name in _shapes_asked(step.entry):
            if not assigned.is_bound_behind(step.stmt, name):
                yield name
        for name in _shapes_asked(step.exit):
            if not assigned.is_bound_before(step.stmt, name):
                yield name
        for block in step.blocks:
            yield from _unbound_in(block, assigned)


def _shapes_asked(stmts: list[ir.Stmt]) -> Iterator[str]:
    """The names after which zeros are shaped: `d` of `d_bar = np.zeros_like(d)`."""
    for stmt in stmts:
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(name), *_))):
                if shape_only(obj) == 0:
                    yield name


def may_be_unset(stmt: ir.Stmt, entries: ir.Attribute, facts: Structure, context: Context) -> bool:
    """Whether an attribute that a statement assigns may not have been there: of an object that is
    made here, or that is given, of a class that does not set it when an object is made."""
    name = getattr(entries.base, "name", "")
    cls = context.kind_of(entries.base).cls
    if name in facts.function.param_names:
        checked = checked_classes(facts.function)
        cls = cls or checked.get(name)
        if cls is None and checked:
            # (A tangent or adjoint has the attributes that its object has, but no class.)
            return any(not sets_when_made(other, entries.name) for other in checked.values())
    for bound in facts.definitions.get(name, ()):
        made = bound.value if isinstance(bound, ir.Assign) else None
        if isinstance(made, ir.Call) and record_class(made) is not None:
            return entries.name not in record_names(made)
    if cls is not None and sets_when_made(cls, entries.name):
        return False
    return not entry_is_there(stmt, entries, facts, context.sources())


# --------------------------------------------------------------------------------------------------
# What a `try` protects: changes made there do not count where a later statement raises.


Writes = Callable[[ir.Stmt], Iterable[str]]


Tries = tuple[ir.Try, ...]  # outermost first


@dataclass
class Protected:
    """The `try`s that protect a statement (by its number), or a block within."""

    of_statement: dict[int, Tries] = field(default_factory=dict)
    of_block: dict[BlockKey, Tries] = field(default_factory=dict)


def protected(facts: Structure) -> Protected:
    """What the `try`s of a function protect. (One that lets its exception go on leaves nothing to
    be differentiated.)"""
    found = Protected()
    for stmt in facts.index.statements:
        if isinstance(stmt, ir.Try) and not ends_by_raising(stmt.orelse):
            for inner in ir.statements(ir.tried_and_rest(stmt)[0]):
                number = facts.number(inner)
                around = (*found.of_statement.get(number, ()), stmt)
                found.of_statement[number] = around
                for which in range(len(ir.blocks(inner))):
                    found.of_block[facts.block(inner, which)] = around
    return found


def changes_midway(
    stmt: ir.Try,
    facts: Structure,
    aliases: Aliases,
    context: Context,
    writes: Writes,
    saving: frozenset[int],
) -> bool:
    """Whether the body of a `try` may raise after it has changed what is used afterwards.

    `writes` says what a statement writes in place; `saving` are the statements that overwrite what
    the reverse sweep restores.
    """
    if ends_by_raising(stmt.orelse):
        return False  # nothing is differentiated then
    tried, _ = ir.tried_and_rest(stmt)
    seen = facts.live_in(facts.block(stmt, 1))
    final = set(map(facts.number, ir.ends(tried, names_constant)))
    for inner in ir.statements(tried):
        last = facts.number(inner) in final
        atomic = isinstance(inner, ir.Assign | ir.Store | ir.Update) and not _calls(inner, context)
        if last and atomic:
            continue  # it either raises or is done
        bound = frozenset(bound_by(inner))
        if not last and bound & seen and not all(context.kinds[n].discrete for n in bound & seen):
            return True
        if facts.number(inner) in saving and not last:
            return True
        if any(_is_seen(name, seen, facts, aliases) for name in writes(inner)):
            return True
        if not last and _resizes(inner, context) - {n for s in tried for n in ir.binds(s)}:
            return True  # (its adjoint has as many items)
    return False


def _resizes(stmt: ir.Stmt, context: Context) -> set[str]:
    """The list, of numbers or arrays, that a statement makes longer or shorter."""
    if not may_resize(stmt, context.sources()):
        return set()
    kinds = {name: context.kind_of(ir.Var(name)) for name in changed_by_method(stmt)}
    return {
        name
        for name, kind in kinds.items()
        if kind.form == "list" and not (kind.item is not None and kind.item.discrete)
    }


def saved_before(stmt: ir.Try) -> tuple[ir.Block, ir.Try]:
    """What a `try` saves first of all is saved in front of it: no change that an exception undoes.

    `try: y_saved = y; y = x / d` -> `y_saved = y` and `try: y = x / d`. (Entries that are saved
    may not be there: that is caught.)
    """
    count = 0
    for inner in stmt.body:
        if not isinstance(inner, ir.Assign) or inner.origin.role != "save":
            break
        if not isinstance(inner.value, ir.Var):
            break
        count += 1
    return stmt.body[:count], dataclasses.replace(stmt, body=stmt.body[count:])


def saved_after(body: ir.Block, pushes: Iterable[ir.Stmt]) -> ir.Block:
    """A body whose saves are put on their stacks when all that it tries is done.

    `try: a_before = a[i]; a[i] = v; Tried()` -> `...; Tried(); a_saved.append(a_before)`
    """
    at = next((n for n, s in enumerate(body) if isinstance(s, ir.Tried)), len(body) - 1) + 1
    return (*body[:at], *pushes, *body[at:])


def _calls(stmt: ir.Stmt, context: Context) -> bool:
    """Whether a statement calls a function, which may raise after it has written. (What takes an
    item out of a list does not.)"""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var() as base, "pop" | "popleft"))):
            return context.kind_of(base).form != "list"
        case ir.Assign(value=ir.Call()):
            return True
    return False


def _is_seen(name: str, seen: frozenset[str], facts: Structure, aliases: Aliases) -> bool:
    """Whether memory is reached afterwards by a name that is live there, or from outside."""
    shared = aliases.class_of(name)
    names = [n for n in facts.home if aliases.class_of(n) == shared]
    return any(n in seen or n in facts.function.param_names for n in names)


# --------------------------------------------------------------------------------------------------
# What the reverse sweep may as well compute again, or read again, as save.


_CHEAP_CALLS = ("len", "int", "range", "min", "max")


@dataclass(frozen=True)
class Costs:
    """One function's definitions, as `analysis.recompute` asks about them."""

    aliases: Aliases
    context: Context
    local: LocalKinds

    def predicates(self) -> Predicates:
        steady = self.context.is_steady
        return Predicates(
            lambda stmt: self._free(stmt) and steady(stmt.value, stmt.origin.place),
            lambda stmt: self._light(stmt) and steady(stmt.value, stmt.origin.place),
            self._is_reference,
            self._is_same,
        )

    def _free(self, stmt: ir.Assign) -> bool:
        """Aliases, items, attributes, slices, integers and tests: as good as a push."""
        match stmt.value:
            case ir.Var() | ir.Index() | ir.Attribute() | ir.Const():
                return True
            case ir.Call(ir.Ref(obj=builtins.slice)):
                return True
        kind = self.context.kind_of(stmt.value)
        return self._is_arithmetic(stmt.value) and kind.form == "number" and kind.discrete

    def _light(self, stmt: ir.Assign) -> bool:
        """One arithmetic operation on Python or NumPy numbers, or another sign."""
        sign = isinstance(stmt.value, ir.Call) and stmt.value.fn == ir.NEG
        number = self.context.kind_of(stmt.value).form == "number"
        return sign or (number and self._is_arithmetic(stmt.value))

    def _is_arithmetic(self, value: ir.Expr) -> bool:
        if not isinstance(value, ir.Call) or not isinstance(value.fn, ir.Ref):
            return False
        text = value.fn.text
        return not text.replace(".", "_").isidentifier() or text in _CHEAP_CALLS

    def _is_reference(self, stmt: ir.Assign) -> bool:
        """Whether a value is surely an alias or a view: what it refers to is restored in place.
        (A list, a dict or an object may hold another array since.)"""
        if isinstance(stmt.value, ir.Var):
            return True
        if isinstance(stmt.value, ir.Index | ir.Attribute) and self._is_held(stmt.value.base):
            return False
        if stmt.target in self.aliases.paths:
            return True
        if not isinstance(stmt.value, ir.Index):
            return False
        basic = surely_basic(stmt.value.key, self.context.kind_of)  # (else it may be a copy)
        return basic and self.context.kind_of(stmt.value).form == "array"

    def _is_held(self, base: ir.Expr) -> bool:
        """Whether an item or attribute of what may be no array is asked for."""
        return self.context.kind_of(base).form not in ("array", "value")

    def _is_same(self, store: ir.Store) -> bool:
        """Whether a value that is stored to entries is neither broadcast nor cast to integers."""
        value, entries = map(self.local.at(store), (store.value, store.target))
        alike = value.form == entries.form and value.dtype == entries.dtype == "float"
        return alike and (value.form == "number" or value.spans(entries))


@dataclass(frozen=True)
class IdentityCosts(Costs):
    """Where adjoints are found by identity: what is computed again is the same memory, or an
    integer."""

    def _free(self, stmt: ir.Assign) -> bool:
        kind, value = self.context.kind_of(stmt.value), stmt.value
        if isinstance(value, ir.Index):
            of_array = self.context.kind_of(value.base).form == "array"
            return of_array and kind.form == "array" and self._is_reference(stmt)
        return self._is_arithmetic(value) and kind.form == "number" and kind.discrete

    def _light(self, stmt: ir.Assign) -> bool:
        return False

    def _is_same(self, store: ir.Store) -> bool:
        return False


# --------------------------------------------------------------------------------------------------
# Values of which the sweep reads the shape alone: another value that has it may be there anyway.
#
#     t = 0.5 * v[1:]                       v_bar[1:] += 0.5 * unbroadcast(y_bar, v[1:])
#     y = t + w
#
# The shape of `t` is that of `v[1:]`, whatever that is: `t` need not be saved.

_LINEAR = frozenset((operator.add, operator.sub, operator.neg))
_SCALING = _LINEAR | {operator.mul, operator.truediv, operator.pow}


def shaped_alike(facts: Structure, context: Context) -> dict[str, str]:
    """Names that only sums read, and for each the one operand of its own that is not a number."""
    found: dict[str, str] = {}
    for name in facts.definitions:
        other = _operand(name, facts, context)
        if other is not None and all(map(_is_sum, facts.used_by.get(name, ()))):
            further = found.get(other)
            found[name] = further if further and _lasts(further, name, facts) else other
    return found


def _operand(name: str, facts: Structure, context: Context) -> str | None:
    """`v` of `t = 0.5 * v`, where `v` still is what it was wherever `t` is read."""
    stmt = facts.single(name)
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=()) as value):
            unary = isinstance(obj, np.ufunc) and obj.nin == obj.nout == len(args) == 1
            again = unary and name in context.temporaries and not context.reads_result(value)
            if obj not in _SCALING and not again:
                return None
            kinds = {arg: context.kind_of(arg) for arg in args}
        case _:
            return None
    arrays = [arg for arg, kind in kinds.items() if kind.form != "number"]
    wide = arrays or [arg for arg in args if kinds[arg].dtype == context.kinds[name].dtype]
    other = wide[0] if wide else None
    if len(arrays) > 1 or not isinstance(other, ir.Var):
        return None
    kind = kinds[other]
    same_class = context.real or (kind.dtype != "?" and kind.dtype == context.kinds[name].dtype)
    if kind.form not in ("number", "array", "value") or not same_class:
        return None
    return other.name if _lasts(other.name, name, facts) else None


def _lasts(other: str, name: str, facts: Structure) -> bool:
    """Whether a name keeps its value from where another is bound to where that is read last."""
    stmt = facts.definitions[name][0]
    end = facts.end_of_use(name, stmt)
    local = facts.is_local(name, facts.block_of(stmt))
    return local and not facts.rebound_between(other, stmt, end)


def _is_sum(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj))):
            return obj in _LINEAR
    return False
