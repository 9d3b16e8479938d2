"""Reversing one simple statement: its adjoint statements, printed through `Adjoints`."""

from __future__ import annotations

import builtins
import dataclasses
import inspect
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from ... import ir
from ...analysis.constructors import record_values
from ...analysis.memory import (
    Sources,
    element,
    is_unwritable_view,
    selects_once,
    surely_basic,
    surely_fancy,
)
from ...analysis.operations import MUTATING_METHODS
from ...analysis.refusals import unknown_class
from ...analysis.saving import is_scatter
from ...analysis.sharing import Sharing, container_stores, owner
from ...analysis.structure import structure
from ...errors import UnsupportedError, not_by_names
from ...ir.kind import Kind, is_many
from ...rules.index_kinds import as_places, key_parts
from ..context import Context, operation
from ..contributions import Chain, Contribution, is_scalar
from ..loops import is_call
from ..normalize.updates import with_result
from ..specialize.callees import CallSite
from .adjoints import BORROWED, NARROW, Adjoints, Field, Step, as_value, copied
from .array_parts import is_reversed_by_slices, joined_parts, later_and_earlier, neighbours
from .masks import masks_of
from .presence import Presence, popped_from

_CONTAINERS = ("list", "tuple", "dict", "object")
_MAY_HOLD = ("unknown", *_CONTAINERS)


@dataclass(eq=False)
class Statements:
    """The reversal of statements without blocks."""

    adjoints: Adjoints
    presence: Presence
    calls: dict[int, CallSite]
    context: Context

    def __post_init__(self) -> None:
        self.active = self.presence.active
        self.severed = self.presence.severed
        self.masks = masks_of(self.presence)

    def reverse(self, stmt: ir.Stmt) -> None:
        """Print the adjoint statements of `stmt`; the state moves to before it."""
        match stmt:
            case ir.Assign() if id(stmt) in self.calls:
                if not self._cut_off(ir.target_names(stmt.target)):
                    self._call(stmt)
            case ir.Assign():
                self._assign(stmt)
            case ir.Store():
                self._store(stmt)
            case ir.Update():
                self._update(stmt)
            case ir.Do():
                self._do(stmt)
            case ir.Leave(context=context) if context is not None:
                enter = ir.Enter(context, "", True, self.adjoints.origin)
                self.adjoints.out.append(enter)
            case ir.Enter(context=context, again=True):
                self.adjoints.out.append(ir.Leave(context, self.adjoints.origin))

    def _assign(self, stmt: ir.Assign) -> None:
        adjoints = self.adjoints
        names = ir.target_names(stmt.target)
        shortened = popped_from(stmt)
        if shortened and adjoints.present(shortened) and not adjoints.present(names[0]):
            adjoints.zero(names[0])  # its place in the list's adjoint
        if self._cut_off(names) or not any(adjoints.present(n) for n in names):
            return
        if all(n in adjoints.aliases.paths for n in names):
            return  # its adjoint is a view of the base's: everything is there already
        if self.context.is_part(stmt.value):
            self._read_part(stmt)
        elif isinstance(stmt.target, tuple) and isinstance(stmt.value, ir.Var):
            self._unpack(stmt.target, stmt.value.name)
        elif popped_from(stmt):
            self._popped(popped_from(stmt), names[0])
        elif not self._by_slices(stmt):
            self._chain_rule(stmt, names)
            return
        for name in names:
            adjoints.state.pop(name, None)

    def _by_slices(self, stmt: ir.Assign) -> bool:
        if not is_reversed_by_slices(stmt.value):
            return False
        return self._joined(stmt) or self._beside(stmt)

    def _joined(self, stmt: ir.Assign) -> bool:
        """Reverse a statement that joins arrays, where it is known which."""
        parts = joined_parts(stmt, self.active, self.presence.facts, self.presence.local.at(stmt))
        kinds = (self.context.kind_of(ir.Var(name)) for name, _ in parts or ())
        if parts is None or not (self.context.real or all(k.dtype == "complex" for k in kinds)):
            return False
        whole = str(stmt.target)
        self.adjoints.materialise(whole)
        for name, key in parts:
            self.adjoints.contribute(name, ir.Index(self.adjoints.bar(whole), key))
        return True

    def _beside(self, stmt: ir.Assign) -> bool:
        """Reverse a difference of neighbours, or a sum over pairs of these."""
        if not isinstance(stmt.target, str) or not self.context.real:
            return False
        kind_of, bar = self.presence.local.at(stmt), self.adjoints.bar(stmt.target)
        added = neighbours(stmt, bar, self.active, kind_of, self.context.numpy("diff"))
        for name, value, taken, axis in added or ():
            self.adjoints.own(self.adjoints.aliases.root(name))
            if not isinstance(value, ir.Var):
                part = self.context.names.fresh(f"{name}_part_bar")
                self.adjoints.assign(part, value)
                value = ir.Var(part)
            for key, op in zip(
                later_and_earlier(axis), (ir.IADD, ir.ISUB if taken else ir.IADD), strict=True
            ):
                self.adjoints.update(ir.Index(self.adjoints.adjoint(name), key), value, op)
        return added is not None

    def _cut_off(self, names: tuple[str, ...]) -> bool:
        """Whether an adjoint is wanted here and goes no further; then it is complete."""
        for name in names:
            if name in self.severed:
                self.adjoints.materialise(name)
                if not self.adjoints.present(name):
                    self.adjoints.zero(name)
        return bool(self.severed & set(names))

    def _chain_rule(self, stmt: ir.Assign, names: tuple[str, ...]) -> None:
        adjoints = self.adjoints
        chain = self.presence.chain(stmt)
        if isinstance(stmt.target, tuple):
            for name in names:
                if name not in adjoints.state:
                    adjoints.zero(name)
        chain = self._narrowed(chain, names)
        for name in names:
            if not all(c.whole or c.full for c in chain.contributions):
                adjoints.materialise(name)
        for name, value in chain.temporaries:
            adjoints.assign(name, value)
        contributions, masks = self.masks.under(stmt, chain, names)
        contributions = tuple(self._summed(c, stmt) for c in contributions)
        own = [c for c in contributions if c.name in names]
        sharing = [c for c in contributions if not adjoints.fresh(c.value)]
        status = adjoints.state.get(names[0], "") if len(names) == 1 else ""
        one = len(names) == 1 and adjoints.is_one_number(names[0])
        for c in contributions:
            if c.name not in names:
                before = self.masks.before(c.name)
                alone = len(sharing) == 1 and c is sharing[0]
                handed = self._handed_on(c, status, alone)
                adjoints.contribute_spread(c.name, c.value, handed, one and self._is_one(c, names))
                self.masks.add(c.name, before, masks.get(c.name), stmt)
        for name in names:
            adjoints.state.pop(name, None)
        for c in own:  # an adjoint that updates itself comes last, and is assigned
            if c.value == adjoints.bar(c.name):
                adjoints.state[c.name] = (
                    status if status and self._alone(c, sharing, status) else BORROWED
                )
            else:
                adjoints.contribute(c.name, c.value)

    def _alone(self, c: Contribution, sharing: list[Contribution], status: str) -> bool:
        """Whether an adjoint that a statement leaves as it is stays what it was: in `z = t + z`
        that of `t` becomes the same array, which must not be changed by adding to that of `z`."""
        if status == NARROW or self.context.kind_of(ir.Var(c.name)).form == "number":
            return True  # (numbers are not changed in place)
        return sharing == [c]

    def _narrowed(self, chain: Chain, names: tuple[str, ...]) -> Chain:
        """The chain with what it adds while the result's adjoint is a scalar for all entries."""
        scalar = len(names) == 1 and self.adjoints.state.get(names[0]) == NARROW
        scalar = scalar and self.adjoints.is_one_number(names[0])
        sure = all(c.whole or c.full or c.narrow is not None for c in chain.contributions)
        bar = self.adjoints.bar(names[0]).name
        if not scalar or not sure or any(bar in ir.names_in(e) for _, e in chain.temporaries):
            return chain
        found = (
            c if c.narrow is None else dataclasses.replace(c, value=c.narrow, whole=True)
            for c in chain.contributions
        )
        return Chain(tuple(found), chain.temporaries)

    def _is_one(self, c: Contribution, names: tuple[str, ...]) -> bool:
        """Whether a contribution is a number where the result's adjoint is."""
        stripped = self.adjoints.stripped(c.value, c.name)
        return is_scalar(stripped, self.context, self.adjoints.bar(names[0]))

    def _summed(self, c: Contribution, stmt: ir.Assign) -> Contribution:
        """The contribution of an elementwise operation with sums that say what they sum."""
        if not c.elementwise or not isinstance(stmt.target, str):
            return c
        whole = self.context.kind_of(ir.Var(stmt.target))
        if whole.grown is not None:  # (here it has)
            whole = self.context.kind_of(stmt.value)
        summed = of_grown if self._begins_stated(c.name) else plain_sum
        value = self._dot(c.value, stmt) or summed(c.value, whole, self.context)
        return c if value is c.value else dataclasses.replace(c, value=value)

    def _dot(self, value: ir.Expr, stmt: ir.Assign) -> ir.Expr | None:
        """`y_bar @ x` for the sum of `y_bar * x` of vectors, `np.vdot(y_bar, x)` of other arrays,
        that are equally long where they stand (of those that always are,
        `codegen.optimize.contracted` makes products)."""
        y, known, here = (
            ir.Var(str(stmt.target)),
            self.context.kind_of,
            self.presence.local.at(stmt),
        )
        bar = self.adjoints.bar(y.name)
        match value:
            case ir.Call(ir.Ref(), (ir.Call(fn, (g, ir.Var() as x)), like), ()) if (
                is_call(value, self.context.helper("unbroadcast").obj) and fn == ir.MUL and g == bar
            ):
                whole, alike = here(stmt.value), here(x).same_shape(here(stmt.value))
                alike = alike and not known(x).same_shape(known(y))
                full = self.context.real and self.adjoints.state.get(y.name) != NARROW
                if full and alike and whole.rank and here(like).form == "number":
                    dot = ir.MATMUL if whole.rank == 1 else self.context.numpy("vdot")
                    return ir.Call(dot, (bar, x), (), value.at)
        return None

    def _begins_stated(self, name: str) -> bool:
        """Whether a value is an array, but for numbers that the program states."""
        if self.context.kind_of(ir.Var(name)).grown is None:
            return False
        values = [getattr(s, "value", None) for s in self.presence.facts.definitions.get(name, ())]
        return all(
            isinstance(value, ir.Const)
            or (value is not None and self.context.kind_of(value).form == "array")
            for value in values
        )

    def _handed_on(self, c: Contribution, status: str, alone: bool) -> str:
        """The status of `c.value` as an adjoint, given that of the result's adjoint."""
        if status == NARROW:
            return "" if c.full else NARROW
        return status if alone and not is_unwritable_view(c.value) else BORROWED

    def _read_part(self, stmt: ir.Assign) -> None:
        """`t = A[k]` (or `a, b = A[k]`) reversed: `A_bar[k] += t_bar`; fields are like items."""
        assert isinstance(stmt.value, ir.Index | ir.Attribute)
        assert isinstance(stmt.value.base, ir.Var)
        base = stmt.value.base.name
        key = stmt.value.key if isinstance(stmt.value, ir.Index) else Field(stmt.value.name)
        if base not in self.active:
            return
        if isinstance(stmt.target, str) and self.adjoints.is_whole(base, key):
            status = self.adjoints.state.get(stmt.target, "")
            self.adjoints.contribute(base, self.adjoints.bar(stmt.target), status)
        elif isinstance(stmt.target, str) and self._only_adds_axes(key, base):
            self._without_new_axes(base, key, stmt.target)
        elif isinstance(stmt.target, str):
            before = self.masks.before(base)
            self.adjoints.accumulate_at(base, (key,), stmt.target, self._is_once(key))
            if not isinstance(key, Field):
                self.masks.read(base, key, before, stmt)
        elif self._is_in_place(base, key):
            self._unpack(stmt.target, base, (key,))
        else:
            self._unpack_copy(ir.target_names(stmt.target), base, key)

    def _is_once(self, key: Step) -> bool:
        """Whether a key surely reads no entry twice: places that are known to be apart, alone or
        beside others that are as many (`A[np.arange(n), y]`)."""
        kind_of = self.context.kind_of
        if isinstance(key, ir.Var):
            return self._are_apart(key)
        if not (isinstance(key, ir.Display) and key.form == "tuple"):
            return False
        kinds = [as_places(kind_of(p)) for p in key.items if not isinstance(p, ir.Slice)]
        known = all(k.form in ("array", "number") and k.dtype == "int" for k in kinds)
        if not known or len(kinds) != len(key.items):
            return False
        return any(
            self._are_apart(part)
            and all(as_places(kind_of(part)).spans(k) for k in kinds if k.rank)
            for part in key.items
        )

    def _are_apart(self, places: ir.Expr) -> bool:
        """Whether a vector of places, or the `np.ix_` of such, surely has none of them twice."""
        if not isinstance(places, ir.Var) or self.adjoints.aliases.is_written(places.name):
            return False
        match getattr(self.presence.facts.single(places.name), "value", None):
            case ir.Call(ir.Ref(obj=np.arange | builtins.range), (_,), ()):
                return True
            case ir.Call(ir.Ref(obj=np.arange | builtins.range), (ir.Const(int(start)), _), ()):
                return start >= 0  # (else -1 may be the last place)
            case ir.Call(ir.Ref(obj=np.flatnonzero), (_,), ()):
                return True
            case ir.Call(ir.Ref(obj=np.argsort), (order,), ()):
                return self.context.kind_of(order).rank == 1
            case ir.Call(ir.Ref(obj=np.ix_), args, ()):
                return all(map(self._are_apart, args))
            case ir.Index(base, ir.Slice()):
                return self._are_apart(base)
        return False

    def _only_adds_axes(self, key: Step, base: str) -> TypeGuard[ir.Expr]:
        """Whether `A[:, None]` reads every entry of an array once: its adjoint is then that of
        what is read, not zeros to which that is added."""
        if isinstance(key, Field) or not self.adjoints.aliases.has_variable(base):
            return False
        kind, parts = self.context.kind_of(ir.Var(base)), key_parts(key)
        if kind.form != "array" or not kind.rank or parts.count(ir.Const(Ellipsis)) > 1:
            return False
        every = all(part in (ir.Slice(), ir.Const(None), ir.Const(Ellipsis)) for part in parts)
        return every and parts.count(ir.Slice()) <= kind.rank

    def _without_new_axes(self, base: str, key: ir.Expr, name: str) -> None:
        """`t = A[:, None]` reversed: `A_bar = t_bar[:, 0]`."""
        adjoints = self.adjoints
        value: ir.Expr = adjoints.bar(name)
        taken = [ir.Const(0) if p == ir.Const(None) else p for p in key_parts(key)]
        while taken and taken[-1] == ir.Slice() and ir.Const(Ellipsis) not in taken:
            taken.pop()  # (after an ellipsis it says which axis a key is about)
        if taken:
            adjoints.materialise(name)
            whole = taken[0] if len(taken) == 1 else ir.Display("tuple", tuple(taken))
            value = ir.Index(value, whole)
        adjoints.contribute(base, value, adjoints.state.get(name, ""))

    def _is_in_place(self, base: str, key: Step) -> bool:
        """Whether `A_bar[key]` is a part of the adjoint itself, no copy of entries: what is added
        to its items must not be lost."""
        form = self.context.kind_of(ir.Var(base)).form
        if isinstance(key, Field) or form == "dict":
            return True
        if isinstance(key, ir.Slice):
            return form in ("array", "value")
        return form in ("list", "tuple") or surely_basic(key, self.context.kind_of)

    def _unpack_copy(self, names: tuple[str, ...], base: str, key: Step) -> None:
        """`a, b = A[[0, 2]]` reversed: `add_at(A_bar, [0, 2], [a_bar, b_bar])`."""
        items = self._handed_over(names)
        if self.context.kind_of(ir.Var(base)).form in ("array", "value"):
            items = ir.Call(self.context.numpy("stack"), (items,))
        self.adjoints.add_at(base, key, items)

    def _handed_over(self, names: tuple[str, ...]) -> ir.Expr:
        """The adjoints of some names as a list, zeros for those that have none."""
        for name in names:
            if not self.adjoints.present(name):
                self.adjoints.zero(name)
        return ir.Display("list", tuple(map(self.adjoints.handed_over, names)))

    def _unpack(self, target: ir.Target, base: str, keys: tuple[Step, ...] = ()) -> None:
        """`a, b = t` reversed: `t_bar = [a_bar, b_bar]` where nothing was added to it so far (of a
        vector, `np.array([a_bar, b_bar])`), else `t_bar[0] += a_bar; t_bar[1] += b_bar`.
        """
        if base not in self.active:
            return
        if not keys and self._are_entries(target, base) and not self.adjoints.present(base):
            entries = self._handed_over(ir.target_names(target))
            vector = ir.Call(self.context.numpy("array"), (entries,))
            self.adjoints.contribute(base, vector)
            return
        if not keys and self._is_all_of(target, base):
            items = self._handed_over(ir.target_names(target))
            self.adjoints.assign(self.adjoints.bar(base).name, items)
            self.adjoints.state[base] = BORROWED
            return
        for position, part in enumerate(target):
            assert isinstance(part, str)  # nested targets were unpacked in steps
            if self.adjoints.present(part):
                self.adjoints.accumulate_at(base, (*keys, ir.Const(position)), part)

    def _are_entries(self, target: ir.Target, base: str) -> bool:
        """Whether the names of a target are the numbers that a vector of floats has."""
        kind = self.context.kind_of(ir.Var(base))
        kinds = [self.context.kind_of(ir.Var(name)) for name in ir.target_names(target)]
        vector = kind.form == "array" and kind.dtype == "float" and kind.rank == 1
        numbers = all(k.form == "number" and k.dtype == "float" for k in kinds)
        return vector and numbers and self.adjoints.aliases.has_variable(base)

    def _is_all_of(self, target: ir.Target, base: str) -> bool:
        """Whether the adjoint of a container begins as the list of those of its items, which are
        of known kinds."""
        adjoints, kind = self.adjoints, self.context.kind_of(ir.Var(base))
        own = adjoints.aliases.has_variable
        if adjoints.present(base) or base in adjoints.given or not own(base):
            return False
        names = ir.target_names(target)
        kinds = [self.context.kind_of(ir.Var(name)) for name in names if own(name)]
        known = all(k.form in ("list", "tuple") or k.dtype in ("float", "complex") for k in kinds)
        listed = kind.form in ("list", "tuple") and not kind.names and kind.cls is None
        return listed and known and len(kinds) == len(names) > 0

    def _store(self, stmt: ir.Store) -> None:
        adjoints, base = self.adjoints, self.presence.written_base(stmt)
        other, unread = self.presence.replaces_other(stmt), self.presence.unread.writes(stmt)
        if base not in adjoints.state or (unread and not other):
            return
        if isinstance(stmt.target, ir.Attribute):
            name = self._active_name(stmt.value)
            reverse_store(stmt, stmt.target, name, adjoints, self.context)
            return
        assert isinstance(stmt.target.base, ir.Var)
        before, fills = self.masks.before(base), self.presence.unread.fills(stmt)
        if fills and base not in adjoints.scalars:
            adjoints.materialise(base)
        else:
            adjoints.own(base)
        refuse_slice_of_list(stmt, stmt.target, self.context)
        entry = ir.Index(adjoints.adjoint(stmt.target.base.name), stmt.target.key)
        element = self.context.kind_of(stmt.target)
        containers = self.context.kind_of(stmt.target.base), self.context.kind_of(stmt.value)
        basic = containers[0].form == "dict" or containers[1].form in _CONTAINERS
        basic = basic or surely_basic(stmt.target.key, self.context.kind_of)
        given, own = stmt.value, ""
        loose = not other and self.presence.has_many_structures(stmt.target)
        if isinstance(given, ir.Var) and given.name in self.active and not unread:
            taken = self._taken(stmt, entry, element.form, basic)
            if loose and self.presence.unread.may_put_another(stmt):  # (see the zero below)
                taken = ir.Call(self.context.helper("part_like"), (entry, given))
            if adjoints.aliases.root(given.name) == base:  # `a[::-1][:] = a`: zero comes first
                own = self.context.names.fresh(f"{given.name}_part")
                adjoints.assign(own, taken)
            else:
                first = not adjoints.present(given.name)
                adjoints.contribute(given.name, taken)
                if first and stmt.target.key == ir.Const(Ellipsis):
                    self.masks.hand_over(stmt.target.base.name, before, given.name)
        zero: ir.Expr = ir.Const(0.0)
        arrays = self.context.kind_of(stmt.target.base).form == "array"
        if not arrays and element.form != "number" and not loose:
            # (An item of a list may be an array. Where what was there before does not count, and
            # may be of another structure, 0.0 stands for its zeros.)
            like = stmt.target if other else entry
            zero = ir.Call(self.context.helper("zeros_like"), (like,))
        if not fills:
            adjoints.store(entry, zero)
        if stmt.target.base.name == base:
            self.masks.written(base, stmt.target.key, before, stmt)
        if own and isinstance(given, ir.Var):
            adjoints.contribute(given.name, ir.Var(own))

    def _active_name(self, value: ir.Expr) -> str:
        """The name that a value is, if it carries derivatives; else ""."""
        return value.name if isinstance(value, ir.Var) and value.name in self.active else ""

    def _taken(self, stmt: ir.Store, entry: ir.Index, form: str, basic: bool) -> ir.Expr:
        """The adjoint of the stored value: what the entries hold, copied before they are zeroed."""
        kind_of = self.presence.local.at(stmt)
        one_place = kind_of(stmt.target.base).form in ("list", "dict")
        if not one_place:
            whole, entry = entry, _entry_for(kind_of(stmt.value), entry, kind_of(stmt.target))
            form = "number" if entry is not whole else form
        value: ir.Expr = entry
        if not basic and not one_place:
            value = self._surviving(entry)
        elif form == "unknown" and kind_of(stmt.value).form in _MAY_HOLD:
            return ir.Call(self.context.helper("part_like"), (entry, stmt.value))
        elif form == "array":
            value = ir.Call(ir.Attribute(entry, "copy"))
        elif form != "number":
            value = ir.Call(self.context.helper("copy"), (entry,))
        stored = kind_of(stmt.value)
        if form in _CONTAINERS or stored.form in _CONTAINERS:
            return value  # (what is stored there is all that it holds)
        if self._fits(stored, kind_of(stmt.target)) or (one_place and self.context.real):
            return value
        summed = ir.Call(self.context.helper("unbroadcast"), (value, stmt.value))
        return plain_sum(summed, kind_of(stmt.target), self.context)

    def _surviving(self, entry: ir.Index) -> ir.Expr:
        """The adjoint of the entries that are written: of repeated indices the last one counts."""
        if selects_once(entry.key, self.context.kind_of):
            return entry
        last = ir.Call(self.context.helper("survivors"), (entry.base, as_value(entry.key)))
        return ir.Call(ir.MUL, (entry, last))

    def _fits(self, stored: Kind, written: Kind) -> bool:
        """Whether the adjoint of the entries is that of the value as it is: of its shape, and
        not complex where the value is real."""
        same_type = self.context.real or stored.dtype == "complex" or written.dtype == "float"
        return same_type and (written.form == "number" or stored.spans(written))

    def _update(self, stmt: ir.Update) -> None:
        """`A[k] += v` (and `-=`): the entries' adjoint stays, the value gets its share."""
        adjoints, base = self.adjoints, self.presence.written_base(stmt)
        if base in self.active:
            refuse_array_field(stmt, base, self.context)
        name = self._active_name(stmt.value)
        if base not in adjoints.state or not name or self.presence.unread.writes(stmt):
            return
        adjoints.own(base)
        entry: ir.Expr = adjoints.adjoint(_name_of(stmt.target))
        if isinstance(stmt.target, ir.Index):
            entry = ir.Index(entry, stmt.target.key)
        kind_of = self.presence.local.at(stmt)
        written, stored = kind_of(stmt.target), kind_of(stmt.value)
        if isinstance(entry, ir.Index):
            entry = self._surviving(_entry_for(stored, entry, written))
        if stmt.op.obj is ir.ISUB.obj:
            entry = ir.Call(ir.NEG, (entry,))
        if not self._fits(stored, written):
            entry = ir.Call(self.context.helper("unbroadcast"), (entry, stmt.value))
            entry = plain_sum(entry, written, self.context)
        if name not in adjoints.state and not adjoints.fresh(entry) and written.form != "number":
            entry = copied(entry, written, self.context)
        adjoints.contribute(name, entry)

    def _do(self, stmt: ir.Do) -> None:
        if is_scatter(stmt):
            self._scatter(stmt.value)
            return
        match stmt.value:
            case ir.Call(fn=ir.Attribute(ir.Var(base), "append"), args=(value,)):
                if not self.adjoints.present(base):
                    return
                self.adjoints.own(self.adjoints.aliases.root(base))
                popped = ir.Call(ir.Attribute(self.adjoints.adjoint(base), "pop"))
                if isinstance(value, ir.Var) and value.name in self.active:
                    self.adjoints.contribute(value.name, popped)
                else:
                    self.adjoints.out.append(ir.Do(popped, self.adjoints.origin))
            case ir.Call(fn=ir.Attribute(ir.Var(base), method)) if method in MUTATING_METHODS:
                if base in self.active and method != "pop":
                    raise not_by_names(stmt.origin.place)
            case ir.Call(fn=ir.Attribute(ir.Var(base), "__setitem__")) if base in self.active:
                raise UnsupportedError(
                    "`__setitem__` is called by its name",
                    stmt.origin.place,
                    f"Write `{base}[k] = v`.",
                )
            case ir.Call(fn=ir.Attribute(ir.Var(base)) | ir.Var(base) as fn, at=at) if (
                base in self.active
            ):
                raise unknown_class(fn, at or stmt.origin.place)

    def _scatter(self, call: ir.Expr) -> None:
        """`np.add.at(a, k, v)` reversed: `v_bar += a_bar[k]`."""
        assert isinstance(call, ir.Call) and isinstance(call.fn, ir.Ref)
        array, key, value = call.args
        assert isinstance(array, ir.Var)
        if not self.adjoints.present(array.name):
            return
        if not isinstance(value, ir.Var) or value.name not in self.active:
            return
        if array.name in self.adjoints.scalars:
            self.adjoints.own(array.name)  # (a number has no entries)
        bar = self.adjoints.handed_over(array.name)
        entry: ir.Expr = bar if key == ir.Const(Ellipsis) else ir.Index(bar, key)
        fresh = surely_fancy(key, self.context.kind_of)
        if call.fn.obj == np.subtract.at:
            entry, fresh = ir.Call(ir.NEG, (entry,)), True
        fit = self.context.helper("unbroadcast" if fresh else "part_like")
        self.adjoints.contribute(value.name, ir.Call(fit, (entry, value)))

    def _popped(self, base: str, name: str) -> None:
        self.adjoints.own(self.adjoints.aliases.root(base))
        push = ir.Attribute(self.adjoints.adjoint(base), "append")
        call = ir.Call(push, (self.adjoints.handed_over(name),))
        self.adjoints.out.append(ir.Do(call, self.adjoints.origin))

    def _call(self, stmt: ir.Assign) -> None:
        """`y, tape = g_fwd(a)` reversed: `a_bar = g_bwd(tape, y_bar)`."""
        adjoints, site = self.adjoints, self.calls[id(stmt)]
        touched = self.presence.roots(site.results)
        if not (touched | self.presence.roots(site.written)) & frozenset(adjoints.state):
            if site.written:
                self._restored_by(site)
            return
        arguments: list[ir.Expr] = [ir.Var(site.tape)]
        if site.pair.result_active:
            for name in site.results:
                if name not in adjoints.state:
                    adjoints.zero(name)
                adjoints.materialise(name)
            arguments.append(self.presence.result_bar(site.result))
        for name in site.written:
            adjoints.own(adjoints.aliases.root(name))
            arguments.append(adjoints.adjoint(name))
        call = ir.Call(site.pair.bwd, tuple(arguments))
        for name in site.results:
            adjoints.state.pop(name, None)
        self._returned(site.operands, call)

    def _returned(self, operands: tuple[str, ...], call: ir.Call) -> None:
        """Contribute what a backward function returns to the names that its callers gave."""
        adjoints = self.adjoints
        if not operands:
            adjoints.out.append(ir.Do(call, adjoints.origin))
            return
        own = [n for n in operands if adjoints.aliases.has_variable(n)]
        direct = [n for n in own if not adjoints.present(n) and own.count(n) == 1]
        parts = [
            adjoints.bar(n).name if n in direct else self.context.names.fresh(f"{n}_part")
            for n in operands
        ]
        # (A loop is gone through more than once: the numbers of names that are not used are free.)
        self.context.temporaries.update(
            p for n, p in zip(operands, parts, strict=True) if n not in direct
        )
        target: ir.Target = tuple(parts) if len(parts) > 1 else parts[0]
        adjoints.out.append(ir.Assign(target, call, adjoints.origin))
        for name, part in zip(operands, parts, strict=True):
            if name in direct:
                adjoints.state[name] = BORROWED
            else:
                adjoints.contribute(name, ir.Var(part))

    def _restored_by(self, site: CallSite) -> None:
        """What a callee wrote, its backward function restores; the result does not depend on it:
        the adjoints are zero, and stay so whatever they would be multiplied by."""

        def zeros(target: ir.Target) -> ir.Expr:
            if isinstance(target, str):
                return self.adjoints.zeros(target)
            return ir.Display("tuple", tuple(map(zeros, target)))

        arguments: list[ir.Expr] = [ir.Var(site.tape)]
        if site.pair.result_active:
            arguments.append(zeros(site.result))
        arguments += map(self.adjoints.zeros, site.written)
        call = ir.Call(site.pair.bwd, tuple(arguments))
        self.adjoints.out.append(ir.Do(call, self.adjoints.origin))


def _entry_for(stored: Kind, entry: ir.Index, written: Kind) -> ir.Index:
    """The entry's adjoint for the value stored there: of a number a number. (What `a[...]` gives of
    an array without axes is a view of it.)"""
    if stored.form != "number" or written.form == "number" or written.rank != 0:
        return entry
    parts = tuple(part for part in key_parts(entry.key) if part != ir.Const(Ellipsis))
    return ir.Index(entry.base, ir.Display("tuple", parts))


def _name_of(target: ir.Expr) -> str:
    while not isinstance(target, ir.Var):
        target = ir.children(target)[0]
    return target.name


# --------------------------------------------------------------------------------------------------
# Sums over broadcast axes, written out where it is known which they are.


def plain_sum(value: ir.Expr, whole: Kind, context: Context) -> ir.Expr:
    """`unbroadcast(g, x)`, `g` of the kind `whole`, as an expert writes it.

    `np.sum(g)` for a number x and an array g, `np.sum(g, axis=0)` for a vector that was added to
    the rows of a matrix; where that is not known, the helper stays.
    """
    if isinstance(value, ir.Call) and value.fn == ir.ADD:
        parts = tuple(plain_sum(arg, whole, context) for arg in value.args)
        return ir.Call(ir.ADD, parts, value.kwargs, value.at)
    if not is_call(value, context.helper("unbroadcast").obj):
        return value
    assert isinstance(value, ir.Call)
    g, like = value.args
    part = context.kind_of(like)
    options = _options(whole, part)
    if options is None or not (context.real or part.dtype in ("float", "complex")):
        return value
    negated = isinstance(g, ir.Call) and g.fn == ir.NEG
    terms = g.args if negated and isinstance(g, ir.Call) else (g,)
    total = ir.Call(context.numpy("sum"), terms, options)
    if not context.real and part.dtype == "float" and whole.dtype != "float":
        total = ir.Call(context.numpy("real"), (total,))
    return ir.Call(ir.NEG, (total,)) if negated else total


def of_grown(value: ir.Expr, whole: Kind, context: Context) -> ir.Expr:
    """The same for x that is a number only while it is one that the program states, which has no
    derivative: `g` where it is as large as what x grows to."""
    if is_call(value, context.helper("unbroadcast").obj):
        assert isinstance(value, ir.Call)
        g, like = value.args
        if Kind("array", shape=context.kind_of(like).grown).spans(whole):
            return g
    return plain_sum(value, whole, context)


def _options(whole: Kind, part: Kind) -> tuple[tuple[str, ir.Expr], ...] | None:
    """Arguments of `np.sum` that take the shape of `whole` to that of `part`.

    >>> vector = Kind("array", "float", ("m",))
    >>> _options(Kind("array", "float", ("n", "m")), vector)
    (('axis', Const(value=0)),)
    """
    if part.form == "number" and whole.form in ("array", "value"):
        return ()
    if (
        whole.form != "array"
        or part.form != "array"
        or not isinstance(part.shape, tuple)
        or not part.shape
    ):
        return None
    if not isinstance(whole.shape, tuple):
        return None
    lead = len(whole.shape) - len(part.shape)
    if lead < 0:
        return None
    pairs = list(enumerate(zip(whole.shape[lead:], part.shape, strict=True)))
    ones = [i for i, (n, m) in pairs if m == 1 and n != 1]
    if not all(is_many(m) or (m is not None and n == m) for i, (n, m) in pairs if i not in ones):
        return None
    if lead and not ones:
        return (("axis", _axes(range(lead))),)
    if ones and not lead:
        return (("axis", _axes(ones)), ("keepdims", ir.Const(True)))
    return None


def _axes(axes: range | list[int]) -> ir.Expr:
    found = tuple(map(ir.Const, axes))
    return found[0] if len(found) == 1 else ir.Display("tuple", found)


# --------------------------------------------------------------------------------------------------
# Attributes that are assigned: `self.state = h` as a write into the object, undone and reversed.
#
# before::                    after (reverse sweep)::
#     self.state = h          self.state = self_saved           (restored: a reference)
#                             h_bar += self_bar.state
#                             self_bar.state = zeros_like(self.state)
#
# An object's adjoint is a mirror of it, so an attribute has a place of its own in the adjoint,
# whatever it held before: zeros are made like the value that is there again.


def updates_as_stores(function: ir.Function, context: Context) -> ir.Function:
    """`self.total += v` as the three things it is: a read, a sum, and a store.

    `total = self.total; total2 = total + v; self.total = total2` where no live name may be the
    array in `self.total`, so that nothing can tell it from a number; else the sum is made by
    `total += v`, of which `rebind_updates` asks whether it is a number.
    """
    if not any(map(_updates_field, ir.statements(function.body))):
        return function
    sharing = Sharing(structure(function), context.sources())

    def statement(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        if not _updates_field(stmt):
            return None
        assert isinstance(stmt, ir.Update) and isinstance(stmt.target, ir.Attribute)
        seen = _seen(stmt.target, function, sharing)
        return _desugared(stmt, stmt.target, seen, context)

    return ir.with_body(function, ir.rewrite(function.body, statement))


def _updates_field(stmt: ir.Stmt) -> bool:
    """Whether it is `obj.name op= v`, of an object: `z.real += v` writes into an array."""
    match stmt:
        case ir.Update(target=ir.Attribute(_, name)):
            return not _is_of_arrays(name)
    return False


def _seen(field: ir.Attribute, function: ir.Function, sharing: Sharing) -> bool:
    """Whether a write into the array in `obj.total`, if it is one, may be seen under another
    name. What was read from, or is put into, attributes of other names is another array."""
    nodes = {node for name in ir.names_in(field.base) for node in (name, element(name))}
    others = {owner(other) for node, other in sharing.conflicts if node in nodes}
    if others & ir.names_in(field.base):
        return True  # (two attributes may be one array)
    sources, params = sharing.sources, function.param_names
    alike = {sharing.classes.get(n, n) for other in others for n in (other, element(other))}
    related = {node for node, kind in sharing.classes.items() if kind in alike} | others
    for stmt in ir.statements(function.body):
        if others and _holds(stmt, field.name, related, sources):
            return True
        match stmt:
            case ir.Assign(value=ir.Attribute(_, name)) if name != field.name:
                continue
        if others.intersection(ir.binds(stmt)):
            value = getattr(stmt, "value", None)
            if value is None or sources.nodes(value) | sources.elements(value):
                return True
    return bool(others.intersection(params))


def _holds(stmt: ir.Stmt, field: str, nodes: Collection[str], sources: Sources) -> bool:
    """Whether a statement may put one of `nodes` into an attribute of this name: by a store, by
    a call that does it, or where it makes the object."""
    match stmt:
        case ir.Store(target=ir.Attribute(_, name)) if name != field:
            return False
        case ir.Assign(value=ir.Call() as call):
            fields = record_values(call)
            name = ir.plain_name(field)
            put = (call,) if fields is None else (v for n, v in fields.items() if n == name)
            held = (sources.elements(v) | (sources.nodes(v) if fields else set()) for v in put)
        case _:
            held = (values for _, values in container_stores(stmt, sources))
    return any(node in nodes for part in held for node in part)


def _desugared(
    stmt: ir.Update, field: ir.Attribute, seen: bool, context: Context
) -> tuple[ir.Stmt, ...]:
    old = context.fresh(field.name, context.kind_of(field), temporary=True)
    read = ir.Assign(old, field, stmt.origin)
    if seen:
        store = ir.Store(field, ir.Var(old), stmt.origin)
        return read, dataclasses.replace(stmt, target=ir.Var(old)), store
    update = dataclasses.replace(stmt, target=ir.Var(old))
    new = context.fresh(field.name, context.kind_of(operation(update)), temporary=True)
    made = with_result(update, new, context)
    return read, *made, ir.Store(field, ir.Var(new), stmt.origin)


def _is_of_arrays(name: str) -> bool:
    """Whether arrays have an attribute of this name that is not a method: none can be assigned to
    the name of a method (`self.mean = m`)."""
    return inspect.isgetsetdescriptor(getattr(np.ndarray, name, None))


def refuse_array_field(stmt: ir.Store | ir.Update, base: str, context: Context) -> None:
    """`z.shape = (2, 2)` and `z.real += v` change an array, not an attribute of an object."""
    if context.kind_of(ir.Var(base)).form == "object":
        return
    if isinstance(stmt.target, ir.Attribute) and _is_of_arrays(stmt.target.name):
        raise UnsupportedError(
            f"`{stmt.target.name}` of what carries derivatives is assigned",
            stmt.origin.place,
            "Make a new array: `x = x.reshape(shape)`, `x = x.astype(dtype)`. An attribute of an "
            "object of yours needs a name that arrays do not have.",
        )


def refuse_slice_of_list(stmt: ir.Store, target: ir.Index, context: Context) -> None:
    """`xs[1:] = ys` may change the length of a list, and with it where its items are."""
    if context.kind_of(target.base).form == "list" and isinstance(target.key, ir.Slice):
        raise not_by_names(stmt.origin.place)


def reverse_store(
    stmt: ir.Store, field: ir.Attribute, given: str, adjoints: Adjoints, context: Context
) -> None:
    """The adjoint of `obj.name = v`: `v` gets what the attribute has, which becomes zero.

    `given` is the name of `v` if it carries derivatives, else "".
    """
    assert isinstance(field.base, ir.Var)
    base = field.base.name
    refuse_array_field(stmt, base, context)
    adjoints.own(adjoints.aliases.root(base))
    entry = ir.Attribute(adjoints.adjoint(base), field.name)
    number = context.kind_of(stmt.value).form == "number"
    taken: ir.Expr = entry
    if not number:
        taken = ir.Call(context.helper("part_like"), (entry, stmt.value))
    own = ""
    if given and adjoints.aliases.root(given) == adjoints.aliases.root(base):
        own = context.names.fresh(f"{given}_part")
        adjoints.assign(own, taken)
    elif given:
        adjoints.contribute(given, taken)
    held = context.kind_of(field).form == "number"
    zero = ir.Const(0.0) if held else ir.Call(context.helper("zeros_like"), (field,))
    adjoints.out.append(ir.Store(entry, zero, adjoints.origin))
    if own:
        adjoints.contribute(given, ir.Var(own))
