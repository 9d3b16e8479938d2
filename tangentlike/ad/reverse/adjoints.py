"""Adjoint variables: which exist at a point of the sweep, and who owns their memory.

A name without an entry in the state has adjoint zero and no variable. "owned" means the variable
refers to memory that nothing else refers to, so it may be accumulated in place; "borrowed" that
it may be shared (with a seed, with another adjoint). "computed" is like "owned", but the variable
may refer to a NumPy scalar, which is what arithmetic on arrays of rank 0 gives, and which cannot be
written in place. "narrow" means that a scalar stands for a
full array of that value (the adjoint of `np.sum`), until somebody needs the array.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import ir, runtime
from ...analysis.aliases import SHARED, Aliases, rebased
from ...analysis.memory import VIEW_ATTRIBUTES, base_names, selects_once, surely_basic
from ...errors import Place
from ...frontend.owners import is_numerical, is_ours
from ...ir.kind import UNKNOWN, Kind
from ...rules.index_kinds import key_parts
from ...runtime.records import attribute_of
from ..context import Context
from ..contributions import BROADCAST
from ..fragile import Mask
from ..loops import is_call

OWNED, BORROWED, NARROW, COMPUTED = "owned", "borrowed", "narrow", "computed"
State = dict[str, str]


@dataclass(frozen=True)
class Field:
    """The step from an object to one of its fields."""

    name: str


Step = ir.Expr | Field  # the step from a value to a part of it: the key of an item, or a field
_WHOLE = (ir.Display("tuple", ()), ir.Const(Ellipsis))  # keys of all that an array holds
_NEW = (np.zeros_like, np.ones_like, np.zeros, np.full_like, runtime.zeros_like, runtime.ones_like)
# Helpers that may give a list (or a dict) though their annotations do not say so.
_MAY_MAKE_LISTS = (
    *("sum_items_bar", "scale_items", "dot_items", "join_items", "accumulate", "put_items"),
    *("dict_bar", "replaced_bar", "part_like", "into_part", "copy"),
    *("unblock", "nest_like", "deepcopy_dot", "shallow_dot", "unnested_bar", "field_bar"),
    *("attributes_bar", "named_items_bar"),
    *("split_like", "products_of_others", "products_of_pairs", "difference_over", "parted_items"),
    *("record_item", "record_item_bar", "field_dot", "saved_attribute", "saved_attribute_bar"),
    *("hooked", "unnested", "spaced_gradient", "gradient_steps_dot", "grid_dot", "cast_like"),
    *("unreduce", "polyval_bar"),
    *(
        "by_level",
        "items_into",
        "live_items",
        "own",
        "repeatable",
        "saved_item",
        "tie_shares",
        "broadcast_like",
    ),
    *(
        f"{name}_bar"
        for name in ("fft", "fftn", "ifft", "ifftn", "irfft", "irfftn", "rfft", "rfftn")
    ),
)


class Adjoints:
    """Prints contributions to adjoints, keeping `state` true. Statements go to `self.out`."""

    def __init__(self, context: Context, aliases: Aliases) -> None:
        self.context = context
        self.aliases = aliases
        self.state: State = {}
        self.given: frozenset[str] = frozenset()  # names whose adjoint buffer is the caller's
        self.scalars: frozenset[str] = frozenset()  # see `written_scalars`
        self.masks: dict[str, Mask] = {}  # see masks.py
        self.bars: dict[str, str] = {}
        self.out: list[ir.Stmt] = []
        self.spread: set[str] = set()  # the adjoint variables that are one number, if narrow
        self.origin = ir.Origin(Place("", 0), "adjoint")

    # ------------------------------------------------------------------------------- names

    def bar(self, name: str) -> ir.Var:
        """The adjoint variable of a name."""
        if name not in self.bars:
            self.bars[name] = self.context.names.fresh(f"{name}_bar")
            self.context.derivatives[self.bars[name]] = name
        return ir.Var(self.bars[name])

    def adjoint(self, name: str) -> ir.Expr:
        """The adjoint of a name: its variable, or a view of its base's for a path."""
        if name not in self.aliases.paths:
            return self.bar(name)
        view = self.aliases.paths[name]
        (base,) = base_names(view)
        return rebased(view, self.adjoint(base))

    def present(self, name: str) -> bool:
        return self.aliases.root(name) in self.state

    def place(self, place: Place, rule: str = "") -> None:
        """Say which primal line the next statements belong to."""
        self.origin = ir.Origin(place, "adjoint", rule)

    # ------------------------------------------------------------------------ printing

    def assign(self, target: ir.Target, value: ir.Expr) -> None:
        self.spread.difference_update(ir.target_names(target))
        self.out.append(ir.Assign(target, value, self.origin))

    def contribute(self, name: str, value: ir.Expr, inherit: str = "") -> None:
        """`name_bar += value`; `inherit` is the status of a value that hands itself over."""
        if not self.aliases.has_variable(name):
            self.own(self.aliases.root(name))
            target = self.adjoint(name)
            if _is_field(target) and self._is_container(name, value):
                assert isinstance(target, ir.Attribute)
                total = ir.Call(self.context.helper("accumulate"), (target, value))
                self.out.append(ir.Store(target, total, self.origin))
                return
            if self._is_container(name, value):
                call = ir.Call(self.context.helper("add_at"), (target, ir.Const(Ellipsis), value))
                self.out.append(ir.Do(call, self.origin))
                return
            self.update(target, self._fitting(name, self.stripped(value, name)))
            return
        self.masks.pop(name, None)
        bar, status = self.bar(name), self.state.get(name)
        stripped = self.stripped(value, name)
        narrow = stripped is not value or inherit == NARROW
        if narrow:
            self.context.narrow.add(bar.name)
        if status is None:
            self.assign(bar.name, stripped)
            fresh = OWNED if self.fresh(value) else (inherit or BORROWED)
            self.state[name] = NARROW if narrow else self._status(name, value, fresh)
        elif self._is_container(name, value) and name in self.given:
            call = ir.Call(self.context.helper("add_at"), (bar, ir.Const(Ellipsis), value))
            self.out.append(ir.Do(call, self.origin))
        elif self._is_container(name, value):
            self.assign(bar.name, ir.Call(self.context.helper("accumulate"), (bar, value)))
            self.state[name] = OWNED
        elif status in (OWNED, COMPUTED):
            self.update(bar, self._fitting(name, stripped))
        else:
            # (`bar = bar + e` may become `bar += e` later, which a narrow `bar` has no room for.)
            terms = (stripped, bar) if status == NARROW else (bar, stripped)
            self.assign(bar.name, ir.Call(ir.ADD, terms))
            if not (status == NARROW and narrow):  # else both stand for a full array still
                self.state[name] = self._status(name, value, OWNED)

    def contribute_spread(self, name: str, value: ir.Expr, inherit: str, one: bool) -> None:
        """The same, where a narrow adjoint is noted that stays `one` number (others are arrays
        of fewer axes, which are not spread over all axes alike)."""
        one = one and (name not in self.state or self.is_one_number(name))
        self.contribute(name, value, inherit)
        if one and self.state.get(name) == NARROW:
            self.spread.add(self.bars[name])

    def is_one_number(self, name: str) -> bool:
        """Whether an adjoint is surely a number, which may stand for an array."""
        return self._is_number(name) or self.bars.get(name) in self.spread

    def _fitting(self, name: str, value: ir.Expr) -> ir.Expr:
        """A contribution as the adjoint buffer of `name` takes it in: a real one has no room for
        what complex values on the way back have made complex, and its part is the real one."""
        kind = self.context.kind_of(ir.Var(name))
        if self.context.real or kind.dtype == "complex" or kind.form == "number":
            return value
        if isinstance(value, ir.Call) and value.fn == self.context.helper("unbroadcast"):
            return value  # (it takes the real part itself)
        if kind.dtype == "float":
            return ir.Call(self.context.numpy("real"), (value,))
        return ir.Call(self.context.helper("fitting"), (value, self.adjoint(name)))

    def _status(self, name: str, value: ir.Expr, status: str) -> str:
        """The status of an adjoint that was just computed."""
        computed = status == OWNED and name in self.scalars and value != self.zeros(name)
        return COMPUTED if computed else status

    def begin(self) -> None:
        """Make what the sweep needs from its first statement on."""

    def update(self, target: ir.Expr, value: ir.Expr, op: ir.Ref = ir.IADD) -> None:
        assert isinstance(target, ir.Var | ir.Index | ir.Attribute | ir.Call)
        if isinstance(target, ir.Call | ir.Attribute) and not _is_field(target):  # a view
            target = ir.Index(target, ir.Const(Ellipsis))
        elif isinstance(target, ir.Index) and self.context.kind_of(target.base).form == "tuple":
            target = ir.Index(target, ir.Const(Ellipsis))  # (which takes no other items)
        assert not isinstance(target, ir.Call)
        self.out.append(ir.Update(target, op, value, self.origin))

    def store(self, target: ir.Index, value: ir.Expr) -> None:
        self.out.append(ir.Store(target, value, self.origin))

    def accumulate_at(
        self, base: str, steps: tuple[Step, ...], item: str, once: bool = False
    ) -> None:
        """`base_bar[key] += item_bar` (`base_bar[i][j]` for two steps, `base_bar.w` for a field):
        repeated indices count, unless each entry is surely read `once`, and items that may be
        containers are added entry by entry."""
        self.own(self.aliases.root(base))
        target, last = self.adjoint(base), steps[-1]
        if len(steps) == 1 and self._is_number(base):  # `top[..., None]` of a NumPy scalar
            self.contribute(base, ir.Call(self.context.numpy("sum"), (self.bar(item),)))
            return
        form = self.context.kind_of(ir.Var(base)).form
        if form == "array" and len(steps) > 1:
            steps = self._one_key(steps)
            last = steps[-1]
        for outer in steps[:-1]:
            target = _part(target, outer)
        item_form = self.context.kind_of(ir.Var(item)).form
        numeric = item_form in ("number", "array", "value")
        if isinstance(last, Field):
            self._add_to_field(ir.Attribute(target, last.name), self.bar(item), numeric)
            return
        basic = once or selects_once(last, self.context.kind_of)
        own = len(steps) == 1 and self.aliases.has_variable(base)  # (not a list of views)
        if own and form in ("list", "tuple", "dict"):
            # (Who differentiates `t_bar[k] += e` has to ask if the sum is larger than the item.)
            numeric = item_form == "number"
        views = form == "tuple" and not self.aliases.has_variable(
            base
        )  # (`np.unstack(m_bar)[0] += e` is an error)
        single = numeric and not isinstance(last, ir.Slice) and not views
        keyed = form == "dict" and item_form == "number"  # (no key is more than one place)
        if keyed or (basic and (form == "array" or single)):
            self.update(ir.Index(target, last), self._fitting(base, self.bar(item)))
        else:
            operands = (target, as_value(last), self.bar(item))
            self.out.append(ir.Do(ir.Call(self.context.helper("add_at"), operands), self.origin))

    def _one_key(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """`[i, 0]` for `[i][0]`: an integer selects along an axis, whatever comes after it."""
        *outer, last = steps
        if isinstance(last, Field) or not surely_basic(last, self.context.kind_of):
            return steps
        whole = [s for s in outer if not isinstance(s, Field) and self.context.kind_of(s).integer]
        if len(whole) < len(outer):
            return steps
        return (ir.Display("tuple", (*whole, *key_parts(last))),)

    def add_at(self, base: str, key: Step, value: ir.Expr) -> None:
        """`base_bar[key] += value`, whatever the two are."""
        assert not isinstance(key, Field)
        self.own(self.aliases.root(base))
        operands = (self.adjoint(base), as_value(key), value)
        self.out.append(ir.Do(ir.Call(self.context.helper("add_at"), operands), self.origin))

    def is_whole(self, base: str, key: Step) -> bool:
        """Whether `A[()]` reads all of an array whose adjoint is a variable of its own: a number
        where A has rank 0, and then the adjoint of A may be a number as well."""
        array = self.context.kind_of(ir.Var(base)).form in ("array", "value")
        return array and key in _WHOLE and self.aliases.has_variable(base)

    def _add_to_field(self, field: ir.Attribute, item_bar: ir.Var, numeric: bool) -> None:
        if numeric:
            self.out.append(ir.Update(field, ir.IADD, item_bar, self.origin))
            return
        total = ir.Call(self.context.helper("accumulate"), (field, item_bar))
        self.out.append(ir.Store(field, total, self.origin))

    # ------------------------------------------------------------------- ownership and shape

    def zeros(self, name: str) -> ir.Expr:
        """A zero of the shape of a name's value."""
        kind = self.context.kinds.get(name, UNKNOWN)
        # (What is computed of arrays of rank 0 are numbers.)
        if kind.rank == 0 and name not in self.scalars:
            return ir.Const(0.0)
        like = ir.Var(name)
        inexact = kind.dtype in ("float", "complex")
        if name in self.scalars or (inexact and kind.form == "array"):
            return ir.Call(self.context.numpy("zeros_like"), (like,))
        return ir.Call(self.context.helper("zeros_like"), (like,))

    def own(self, name: str) -> None:
        """Make the adjoint of `name` exist in memory of its own."""
        if name == SHARED:
            return
        self.masks.pop(name, None)
        status = self.state.get(name)
        bar = self.bar(name)
        if status is None:
            self.assign(bar.name, self.zeros(name))
        elif status == NARROW:
            self.materialise(name)
        if name in self.scalars and self.state.get(name) in (BORROWED, COMPUTED):
            self.assign(bar.name, ir.Call(self.context.numpy("array"), (bar,)))
        elif self.state.get(name) == BORROWED and not self._is_number(name):
            kind = self.context.kinds.get(name, UNKNOWN)
            self.assign(bar.name, copied(bar, kind, self.context))
        self.state[name] = OWNED

    def materialise(self, name: str) -> None:
        """Give a narrow adjoint its full shape."""
        if self.state.get(name) != NARROW:
            return
        bar, like = self.bar(name), ir.Var(name)
        if self._is_number(name):
            self.state[name] = OWNED
            return
        kind = self.context.kinds.get(name)
        if kind is not None and kind.form == "array":
            self.assign(bar.name, ir.Call(self.context.numpy("full_like"), (like, bar)))
            self.state[name] = OWNED
        else:
            self.assign(bar.name, ir.Call(self.context.helper(BROADCAST), (bar, like)))
            self.state[name] = BORROWED

    def handed_over(self, name: str) -> ir.Expr:
        """The adjoint of `name`, of full shape: for whatever takes it from there, be it into a
        container, to a callee or entry by entry, does not know how large it should be."""
        self.materialise(self.aliases.root(name))
        return self.adjoint(name)

    def zero(self, name: str) -> None:
        """Set the adjoint of `name` to zero where a zero must be there to be read."""
        self.assign(self.bar(name).name, self.zeros(name))
        self.state[name] = OWNED

    def fresh(self, value: ir.Expr) -> bool:
        """Whether evaluating `value` makes an object that nothing else refers to."""
        match value:
            case ir.Const() | ir.Call(ir.Attribute(_, "copy"), ()):
                return True
        if not isinstance(value, ir.Call) or not isinstance(value.fn, ir.Ref):
            return False
        if not value.fn.text.replace(".", "_").isidentifier():
            return True
        rule = self.context.rule_for(value)
        if rule is not None:
            return rule.view_of(value) == "no"
        return any(value.fn.obj is made for made in _NEW)

    def stripped(self, value: ir.Expr, name: str) -> ir.Expr:
        """`broadcast_like(e, x)` as a contribution to `x` is just `e`, unless it has to be asked
        whether that is real."""
        unasked = self.context.real or self.context.kind_of(ir.Var(name)).dtype != "?"
        if unasked and is_call(value, self.context.helper(BROADCAST).obj):
            assert isinstance(value, ir.Call)
            if len(value.args) == 2 and value.args[1] == ir.Var(name):
                return value.args[0]
        return value

    def _is_container(self, name: str, value: ir.Expr) -> bool:
        """Whether adjoints of `name` are lists or dicts, which `+` would join."""
        kind = self.context.kinds.get(name)
        if kind is not None and kind.form in ("list", "tuple", "dict", "object"):
            return True
        if kind is not None and kind.form != "unknown":
            return False
        if isinstance(value, ir.Call) and isinstance(value.fn, ir.Ref):
            return may_make_list(value.fn) or _is_of_user(value.fn.obj)
        unknown = ir.Var | ir.Index | ir.Attribute | ir.Call | ir.Display
        return isinstance(value, unknown)

    def _is_number(self, name: str) -> bool:
        kind = self.context.kinds.get(name)
        return kind is not None and kind.form == "number"


def _is_field(target: ir.Expr) -> bool:
    """Whether an adjoint is a field of another: `a_bar.w`, and not the view `a_bar.T`."""
    return isinstance(target, ir.Attribute) and target.name not in VIEW_ATTRIBUTES


def may_make_list(fn: ir.Ref) -> bool:
    """Whether a helper may give a list or a dict: two such are not added by `+`."""
    if fn.text in _MAY_MAKE_LISTS:
        return True
    result = attribute_of(fn.obj, "__annotations__", {}).get("return", "")
    return str(result).startswith(("list", "dict", "tuple"))


def _is_of_user(obj: Any) -> bool:
    """Whether it is a Python function of the user's, as rules of theirs may call."""
    return isinstance(obj, types.FunctionType) and not is_numerical(obj) and not is_ours(obj)


def _part(whole: ir.Expr, step: Step) -> ir.Expr:
    if isinstance(step, Field):
        return ir.Attribute(whole, step.name)
    return ir.Index(whole, step)


def copied(bar: ir.Expr, kind: Kind, context: Context) -> ir.Expr:
    """A copy of the adjoint of a value of a kind. (What is computed of arrays of rank 0 are
    numbers.)"""
    if kind.form == "array" and kind.rank != 0:
        return ir.Call(ir.Attribute(bar, "copy"))
    return ir.Call(context.helper("copy"), (bar,))


def as_value(key: ir.Expr) -> ir.Expr:
    """A key outside of brackets: `:` is `slice(None)` there."""
    if isinstance(key, ir.Slice):
        parts = (key.lower, key.upper, key.step)[: 2 if key.step is None else 3]
        if parts[0] is None and len(parts) == 2:
            parts = parts[1:]
        given = tuple(ir.Const(None) if p is None else p for p in parts)
        return ir.Call(ir.SLICE, given)
    if isinstance(key, ir.Display) and key.form == "tuple":
        return ir.Display("tuple", tuple(map(as_value, key.items)))
    return key


def weakest(first: Mapping[str, str], second: Mapping[str, str]) -> State:
    """What holds of both states, for names present in both."""
    return {
        name: first[name] if first[name] == second[name] else BORROWED
        for name in first
        if name in second
    }
