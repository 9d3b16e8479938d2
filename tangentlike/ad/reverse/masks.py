"""Entries that are not taken let no NaN or infinity through.

In `np.where(x > 0, np.log(x), 0.0)` the logarithm's derivative is infinite where it is not
selected, and zero times infinity is NaN. The adjoint of a value that is used under a mask only is
zero outside of it *by construction*; while it is carried back through elementwise operations,
what it is multiplied or divided by is replaced there (`guarding.py`).

A mask says where an adjoint *may* be other than zero: a larger one is right as well. It comes from
`np.where`, from a write (`r[m] = v`: what `r` held there is used no more), from a read (`r[m]`),
and from a reduction, by its `where=` or because it leaves NaN out (`np.nansum`). It holds until
something else is added to the adjoint. That an adjoint happens to be zero says nothing:
`np.sqrt(x)**2` has derivative 1 at 0, and its adjoint of the root is zero there.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Iterable

import numpy as np

from ... import ir
from ...analysis.structure import Structure
from ...ir.kind import Kind
from ...rules.index_kinds import key_parts
from ..context import Context
from ..contributions import Chain, Contribution
from ..fragile import (
    LINEAR,
    PICKING,
    PRODUCT,
    SILENT,
    SINGULAR,
    Fragility,
    Held,
    Mask,
    Part,
    guarded,
    least_worth_masking,
    leaves_nan,
    taken,
)
from .adjoints import Adjoints, as_value
from .presence import Presence

_WITHOUT_NAN = (
    *(np.nansum, np.nanmean, np.nanvar, np.nanstd, np.nanprod, np.nanmax, np.nanmin),
    *(np.nancumsum, np.nancumprod, np.nanmedian, np.nanquantile, np.nanpercentile, np.nan_to_num),
)
NOWHERE = Mask(ir.Const(False), SILENT)  # the mask of an adjoint that is all zeros


@dataclasses.dataclass(eq=False)
class Masks:
    """The masks of the adjoints that a sweep prints; `adjoints.masks` has those that hold now."""

    adjoints: Adjoints
    fragility: Fragility
    held: Held
    context: Context
    facts: Structure
    _names: dict[tuple[int, str], str] = dataclasses.field(default_factory=dict, init=False)

    # ------------------------------------------------------------------------ assignments

    def under(
        self, stmt: ir.Assign, chain: Chain, names: tuple[str, ...]
    ) -> tuple[tuple[Contribution, ...], dict[str, Mask]]:
        """Contributions under the result's mask, and the masks that the operands inherit."""
        mask = self.adjoints.masks.pop(names[0], None) if len(names) == 1 else None
        # (What `np.fmax` leaves out may be NaN, as a factor, too.)
        worth, least = (SINGULAR, PRODUCT) if leaves_nan(stmt.value) else (SILENT, SILENT)
        silent = {n: m for n, m in taken(stmt.value).items() if self.fragility.of(n) >= worth}
        chosen = {**_selections(stmt, self.context), **self._reduced(stmt)}
        selected = {n: Mask(inner, parts=self._parts(inner)) for n, inner in chosen.items()}
        selected |= {name: Mask(inner, least) for name, inner in silent.items()}
        selected |= self._picked(stmt, chain)
        if mask == NOWHERE:
            mask = None
        if isinstance(stmt.value, ir.Display):
            return chain.contributions, _chosen(stmt.value, mask)
        if selected or not isinstance(stmt.target, str):
            return chain.contributions, self._within(selected, mask)
        moving = self.held.moving(stmt)
        own = self.fragility.operands(stmt) if mask is not None else {}
        found = tuple(
            self._under_mask(c, names[0], mask, moving, own.get(c.name, SILENT))
            for c in chain.contributions
        )
        if mask is None:
            return found, {}
        return found, self._inherited(names[0], mask, found)

    def _inherited(
        self, result: str, mask: Mask, contributions: Iterable[Contribution]
    ) -> dict[str, Mask]:
        """The masks of operands that something fragile leads to. (Of the entries that a key takes,
        there is at least one: it reaches what is one number.)"""
        whole = self.context.kind_of(ir.Var(result))
        found = {}
        for c in contributions:
            is_one = self.context.kind_of(ir.Var(c.name)).rank == 0 and mask.is_somewhere
            if c.elementwise and self.fragility.of(c.name) >= mask.guards and not is_one:
                found[c.name] = self._fitting(mask, c.name, whole)
        return found

    def _within(self, selected: dict[str, Mask], mask: Mask | None) -> dict[str, Mask]:
        if mask is None:
            return selected
        both = self.context.numpy("logical_and")
        return {
            name: Mask(ir.Call(both, (inner.expr, mask.expr)), min(inner.least, mask.least))
            for name, inner in selected.items()
        }

    def _under_mask(
        self, c: Contribution, result: str, mask: Mask | None, moving: ir.Expr | None, own: int
    ) -> Contribution:
        """A contribution under a mask, of an operand of which only some entries move, to an
        operation of the class `own`."""
        if mask is not None and mask.guards > own:
            mask = None
        within = moving if mask is None else mask.expr
        if not c.elementwise or within is None or (not c.full and isinstance(c.value, ir.Var)):
            return c
        if mask is not None and moving is not None:
            within = ir.Call(self.context.numpy("logical_and"), (mask.expr, moving))
        bar = self.adjoints.bar(result).name
        value = guarded(c.value, bar, within, self.context, moving is not None)
        return dataclasses.replace(c, value=value)

    def _picked(self, stmt: ir.Assign, chain: Chain) -> dict[str, Mask]:
        """For what picks entries (`np.triu`, `np.compress`): where an adjoint of ones arrives."""
        obj = getattr(getattr(stmt.value, "fn", None), "obj", None)
        if obj is np.choose and isinstance(stmt.value, ir.Call) and len(stmt.value.args) == 2:
            index, choices = stmt.value.args
            name = choices.name if isinstance(choices, ir.Var) else ""
            if self.facts.used_by.get(name) == [stmt] and self.fragility.of(name) >= SINGULAR:
                return {name: Mask(ir.Display("tuple", (index,)))}
        least = next((level for fn, level in PICKING.items() if fn is obj), None)
        if not isinstance(stmt.target, str) or least is None:
            return {}
        bar = self.adjoints.bar(stmt.target)
        ones: dict[str, ir.Expr] = {bar.name: ir.Call(self.context.numpy("ones_like"), (bar,))}
        return {
            c.name: Mask(_is_other_than_zero(ir.substitute(c.value, ones)), least)
            for c in chain.contributions
            if self.fragility.of(c.name) >= least
        }

    def _reduced(self, stmt: ir.Assign) -> dict[str, ir.Expr]:
        """For `y = np.sum(r, where=m)`: `r` is used under `m`; for `y = np.nansum(r)` where it is
        a number."""
        call, obj = stmt.value, getattr(getattr(stmt.value, "fn", None), "obj", None)
        if not isinstance(call, ir.Call) or isinstance(obj, np.ufunc):
            return {}
        operands = (call.fn.base,) if isinstance(call.fn, ir.Attribute) else call.args
        base = operands[0] if operands else None
        mask = dict(call.kwargs).get("where")
        if not isinstance(base, ir.Var) or self.fragility.of(base.name) <= LINEAR:
            return {}
        if any(obj is fn for fn in _WITHOUT_NAN):
            is_nan = ir.Call(self.context.numpy("isnan"), (base,))
            mask = ir.Call(self.context.numpy("logical_not"), (is_nan,))
        return {base.name: mask} if isinstance(mask, ir.Var | ir.Call) else {}

    def before(self, name: str) -> Mask | None:
        """The mask of an adjoint to which something is about to be added; None if it has none."""
        return self.adjoints.masks.get(name) if self.adjoints.present(name) else NOWHERE

    def add(self, name: str, before: Mask | None, mask: Mask | None, stmt: ir.Stmt) -> None:
        """Say that what was added to an adjoint with a mask `before` is zero outside `mask`."""
        if before is None or mask is None or not self.adjoints.aliases.has_variable(name):
            return
        if isinstance(mask.expr, ir.Display):  # (what chooses among the items of a list)
            index = self._name("chosen", stmt, name)
            self.context.kinds[index] = self.context.kind_of(mask.expr.items[0])
            self.adjoints.assign(index, ir.Call(self.context.helper("copy"), mask.expr.items))
            self.adjoints.masks[name] = Mask(ir.Display("tuple", (ir.Var(index),)), mask.least)
            return
        parts = before.parts | mask.parts
        if _are_everything(parts):
            return
        word = "selected"
        match mask.expr:
            case ir.Call(fn, (chosen,), ()) if fn == self.context.numpy("logical_not"):
                word = "" if self._same_shape(chosen, name) else "unselected"
        if word:
            fitting: ir.Expr = self._named(word, self._reaching(mask.expr, name), stmt, name)
        else:
            fitting = ir.Call(fn, (self._named("selected", chosen, stmt, name),))
        if before != NOWHERE:
            fitting = self._both("logical_or", before.expr, fitting, stmt, name)
        least = min(before.least, mask.least)
        somewhere = before.is_somewhere or mask.is_somewhere
        self.adjoints.masks[name] = Mask(fitting, least, parts, somewhere)

    def hand_over(self, base: str, before: Mask | None, name: str) -> None:
        """`base[...] = name` reversed gave the adjoint of `base` to that of `name`."""
        same = self.context.kind_of(ir.Var(base)).same_shape(self.context.kind_of(ir.Var(name)))
        if before is not None and same and self.adjoints.aliases.has_variable(name):
            self.adjoints.masks[name] = before

    # ---------------------------------------------------------------------- writes and reads

    def written(self, name: str, key: ir.Expr, before: Mask | None, stmt: ir.Stmt) -> None:
        """What `name` held under `key` before a write is used no more (`before`: the mask of what
        it held after)."""
        if not self.adjoints.aliases.has_variable(name):
            return
        if not self.fragility.worth_masking(name, key):
            return
        if key == ir.Const(Ellipsis) or before == NOWHERE:
            self.adjoints.masks[name] = NOWHERE
            return
        bar = self.adjoints.bar(name)
        if self._same_shape(key, name):
            left: ir.Expr = ir.Call(self.context.numpy("logical_not"), (key,))
        else:
            left = ir.Call(self.context.helper("places_left"), (bar, as_value(key)))
        mask: ir.Expr = self._named("kept", left, stmt, name)
        least = least_worth_masking(key, self.context)
        if before is not None:
            mask = self._both("logical_and", before.expr, mask, stmt, name)
            least = min(before.least, least)
        self.adjoints.masks[name] = Mask(mask, least)

    def read(self, name: str, key: ir.Expr, before: Mask | None, stmt: ir.Stmt) -> None:
        """`t = A[k]` reversed added to the adjoint of `A` under `k` only."""
        if before is None or not self.adjoints.aliases.has_variable(name):
            return
        if self.fragility.worth_masking(name, key, self._takes_one(name, key, stmt)):
            mask, parts = key, self._parts(key)
            if not self._same_shape(key, name):
                if self.context.kind_of(key).dtype == "bool":  # (of rows; `np.where`'s of columns)
                    parts = frozenset()
                helper = self.context.helper("places_taken")
                mask = ir.Call(helper, (self.adjoints.bar(name), as_value(key)))
            least = least_worth_masking(key, self.context)
            # (A key that is no condition takes an entry, if there is one.)
            self.add(name, before, Mask(mask, least, parts, least == SILENT), stmt)

    def _takes_one(self, name: str, key: ir.Expr, stmt: ir.Stmt) -> bool:
        """Whether a statement takes an entry of each value that a name has: a number that all
        entries are made with is reached by that one."""
        made = self.facts.single(name)
        whole = all(self.context.kind_of(part).integer for part in key_parts(key))
        return whole and made is not None and self.facts.block_of(made) == self.facts.block_of(stmt)

    def _parts(self, mask: ir.Expr) -> frozenset[Part]:
        """A condition or a key into an array, where it means the same in all of a round."""
        is_bool = self.context.kind_of(mask).dtype == "bool"
        match mask:
            case ir.Call(ir.Ref(obj=np.logical_not | operator.invert), (ir.Var(name),), ()) if (
                is_bool
            ):
                part: Part = (name, False)
            case ir.Var(name) if is_bool:
                part = (name, True)
            case ir.Slice() | ir.Display():
                part = ("", mask)
            case _:
                return frozenset()
        is_written, lasts = self.adjoints.aliases.is_written, self.facts.lasts_a_round
        names = ir.names_in(mask)
        return frozenset((part,) if all(lasts(n) and not is_written(n) for n in names) else ())

    # ------------------------------------------------------------------------------ shapes

    def _same_shape(self, mask: ir.Expr, name: str) -> bool:
        kind = self.context.kind_of(mask)
        return kind.dtype == "bool" and kind.same_shape(self.context.kind_of(ir.Var(name)))

    def _fitting(self, mask: Mask, name: str, whole: Kind) -> Mask:
        """A mask of the shape `whole` for an operand, which may have been broadcast."""
        if self.context.kind_of(ir.Var(name)).same_shape(whole):
            return mask
        reached = ir.Call(self.context.helper("reached"), (mask.expr, self.adjoints.bar(name)))
        return Mask(reached, mask.least, is_somewhere=mask.is_somewhere)

    def _reaching(self, mask: ir.Expr, name: str) -> ir.Expr:
        made = isinstance(mask, ir.Call) and mask.fn == self.context.helper("reached")
        ours = isinstance(mask, ir.Var) and mask.name in self._names.values()
        if made or ours or self._same_shape(mask, name):
            return mask
        if isinstance(mask, ir.Call) and mask.fn == self.context.helper("places_taken"):
            return mask
        return ir.Call(self.context.helper("reached"), (mask, self.adjoints.bar(name)))

    # ------------------------------------------------------------------------------- names

    def _named(self, word: str, mask: ir.Expr, stmt: ir.Stmt, of: str) -> ir.Var:
        """A mask by a name of the sweep's own: it is used where the primal has not made it yet."""
        if isinstance(mask, ir.Var) and mask.name in self._names.values():
            return mask
        name = self._name(word, stmt, of)
        self.context.kinds[name] = dataclasses.replace(
            self.context.kind_of(ir.Var(of)), dtype="bool"
        )
        if isinstance(mask, ir.Var) and self.adjoints.aliases.is_written(mask.name):
            mask = ir.Call(self.context.helper("copy"), (mask,))
        self.adjoints.assign(name, mask)
        return ir.Var(name)

    def _both(self, op: str, first: ir.Expr, second: ir.Expr, stmt: ir.Stmt, of: str) -> ir.Expr:
        if first == second:
            return first
        joined = ir.Call(self.context.numpy(op), (first, second))
        return self._named("either" if op == "logical_or" else "both", joined, stmt, of)

    def _name(self, word: str, stmt: ir.Stmt, of: str) -> str:
        """The same name each time that a statement is reversed (a loop's body is, repeatedly)."""
        key = (id(stmt), f"{word} {of}")
        if key not in self._names:
            self._names[key] = self.context.names.fresh(word)
        return self._names[key]


def _is_other_than_zero(value: ir.Expr) -> ir.Expr:
    return ir.Call(ir.Ref("!=", operator.ne), (value, ir.Const(0)))


def masks_of(presence: Presence) -> Masks:
    """The masks of one function's sweep."""
    function, active = presence.facts.function, presence.active
    adjoints, context = presence.adjoints, presence.context
    held = Held(function, active, context, adjoints.aliases.is_written, presence.severed)
    fragility = Fragility(function, active, context)
    return Masks(adjoints, fragility, held, context, presence.facts)


def _chosen(items: ir.Display, mask: Mask | None) -> dict[str, Mask]:
    """The masks of the items of a list among which `np.choose` chose by an index."""
    if mask is None or not isinstance(mask.expr, ir.Display) or items.form == "dict":
        return {}
    names = [item.name if isinstance(item, ir.Var) else "" for item in items.items]
    index = mask.expr.items
    return {
        name: Mask(ir.Call(ir.EQUAL, (*index, ir.Const(position))), mask.least)
        for position, name in enumerate(names)
        if name and names.count(name) == 1
    }


def _are_everything(parts: Collection[Part]) -> bool:
    """Whether parts are a condition and its opposite, or what keys take up to a place and from it
    on (`[:, :k]` and `[:, k:]`)."""
    if any((name, not held) in parts for name, held in parts if name):
        return True
    begun = [_bounds(key) for _, key in parts if not isinstance(key, bool)]
    return any(
        ahead[0] == behind[0] and ahead[2] is not None and ahead[1:] == (None, *behind[1:2])
        for ahead in begun
        for behind in begun
        if ahead is not None and behind is not None and behind[2] is None
    )


def _bounds(key: ir.Expr) -> tuple[int, ir.Expr | None, ir.Expr | None] | None:
    """The one axis of which a key takes a part, and the bounds of that."""
    items = key.items if isinstance(key, ir.Display) else (key,)
    cut = [axis for axis, item in enumerate(items) if item != ir.Slice()]
    match [items[axis] for axis in cut]:
        case [ir.Slice(lower, upper, None)]:
            return cut[0], lower, upper
    return None


def _selections(stmt: ir.Assign, context: Context) -> dict[str, ir.Expr]:
    """For `y = np.where(c, a, b)`: under which mask each of `a` and `b` is used."""
    call = stmt.value
    if not isinstance(call, ir.Call) or not isinstance(call.fn, ir.Ref) or len(call.args) != 3:
        return {}
    if context.book.find(call.fn.obj) is not context.book.find(np.where):
        return {}
    mask, first, second = call.args
    if not isinstance(mask, ir.Var) or first == second:
        return {}
    found: dict[str, ir.Expr] = {}
    if isinstance(first, ir.Var):
        found[first.name] = mask
    if isinstance(second, ir.Var):
        found[second.name] = ir.Call(context.numpy("logical_not"), (mask,))
    return found
