"""How an operation, and what it is made of, behaves where it is not wanted.

Asked only of what a mask selects from: whether the adjoint that comes to it as zero may meet
a factor that is infinite there, and whether the primal would have said so.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Collection
from functools import cached_property

import numpy as np

from .. import ir
from ..analysis.memory import surely_basic
from ..errors import UnsupportedError
from ..ir.facts import fact
from ..ir.identity import ByIdentity
from ..ir.index import ProgramIndex
from ..rules.bind import Instance
from .context import Context, operation

LINEAR, PRODUCT, SINGULAR, SILENT = range(4)

# The derivative is infinite where the function itself is finite and says nothing.
_SILENT_AT = (np.sqrt, np.cbrt, np.arcsin, np.arccos, np.arccosh)
_POWERS = (operator.pow, np.power, np.float_power)

# What gives some entries of an operand as they are, at places that no key in the text names, and
# the class from which on the others are worth a mask (see there).
PICKING = {np.compress: SINGULAR, np.extract: SINGULAR, np.take: SILENT, np.triu: SILENT}
PICKING |= {np.tril: SILENT, np.diag: SILENT, np.diagonal: SILENT}


class Fragility:
    """The strongest class of operation that leads, entry for entry, to a name's value.

    LINEAR: sums and multiples. PRODUCT: products, of finite values by themselves. SINGULAR: with
    an infinite derivative somewhere (`a / b`, `np.log(x)`). SILENT: such a one of which the value
    is finite there (`np.sqrt(x)`). `of_entries`: what leads to a number does not count for an array
    that is made with it.
    """

    def __init__(self, function: ir.Function, active: frozenset[str], context: Context) -> None:
        self.function = function
        self.active = active
        self.context = context
        self._operands = ByIdentity[dict[str, int]]()
        self._instances = ByIdentity[Instance]()

    def of(self, name: str, of_entries: bool = False) -> int:
        """The class of a name."""
        return (self._of_entries if of_entries else self._classes).get(name, LINEAR)

    def instance(self, call: ir.Call) -> Instance | None:
        """The rule of a call of the function, applied to it, where that was needed here."""
        return self._instances.get(call)

    def worth_masking(self, name: str, key: ir.Expr, of_entries: bool = False) -> bool:
        """Whether entries of a value that a key leaves out are kept from dividing by zero."""
        least = least_worth_masking(key, self.context)
        if least == SILENT and not self._has_silent:
            return False
        return self.of(name, of_entries) >= least

    @cached_property
    def _has_silent(self) -> bool:
        """Whether anything in the function is SILENT (asked first, since it costs little)."""
        calls = (getattr(stmt, "value", None) for stmt in ir.statements(self.function.body))
        return any(isinstance(call, ir.Call) and is_silent(call) for call in calls)

    @cached_property
    def _classes(self) -> dict[str, int]:
        return self._solved(self.operands)

    @cached_property
    def _of_entries(self) -> dict[str, int]:
        return self._solved(self.entries)

    def _solved(self, operands: Callable[[ir.Stmt], dict[str, int]]) -> dict[str, int]:
        """The classes of all names above LINEAR: what a loop carries needs several rounds."""
        found: dict[str, int] = {}
        changed = True
        while changed:
            changed = False
            for name, stmts in self._sources.items():
                parts = ((n, own) for stmt in stmts for n, own in operands(stmt).items())
                strongest = max(
                    (max(own, found.get(n, LINEAR)) for n, own in parts), default=LINEAR
                )
                if strongest > found.get(name, LINEAR):
                    found[name] = strongest
                    changed = True
        return found

    @cached_property
    def _sources(self) -> dict[str, list[ir.Stmt]]:
        """The statements that give a name its value, or entries of it."""
        found: dict[str, list[ir.Stmt]] = {}
        for stmt in ir.statements(self.function.body):
            match stmt:
                case ir.Assign(target=str(name)) if name in self.active:
                    found.setdefault(name, []).append(stmt)
                case ir.Store(target=ir.Index(ir.Var(name), _), value=ir.Var(value)) if (
                    value in self.active
                ):
                    found.setdefault(name, []).append(stmt)
                case ir.Update(target=ir.Var(name)) if name in self.active:
                    found.setdefault(name, []).append(stmt)
        return found

    def operands(self, stmt: ir.Stmt) -> dict[str, int]:
        """The names that a statement's result is made of, entry for entry, and the class of the
        operation as one of each. Asked again in each round: worked out once."""
        if stmt not in self._operands:
            self._operands[stmt] = self._operands_of(stmt)
        return self._operands[stmt]

    def entries(self, stmt: ir.Stmt) -> dict[str, int]:
        """The same without numbers, where the result is none."""
        found = self.operands(stmt)
        numbers = [
            n for n in (*ir.binds(stmt), *found) if self.context.kind_of(ir.Var(n)).rank == 0
        ]
        if all(name in numbers for name in ir.binds(stmt)):
            return found
        return {name: own for name, own in found.items() if name not in numbers}

    def _operands_of(self, stmt: ir.Stmt) -> dict[str, int]:
        match stmt:
            case ir.Store(value=ir.Var(name)) | ir.Assign(value=ir.Var(name)):
                return {name: LINEAR}
            case ir.Assign(value=ir.Display(items=items)):
                return {n: LINEAR for e in items for n in ir.names_in(e)}
            case ir.Assign(value=ir.Call() as call):
                return self._of_call(call)
            case ir.Update(target=ir.Var()):
                return self._of_call(operation(stmt))
        return {}

    def _of_call(self, call: ir.Call) -> dict[str, int]:
        rule = self.context.rule_for(call)
        if rule is None:
            return {}
        try:
            instance = self.context.bind(rule, call)
        except UnsupportedError:  # (refused where it is differentiated, if it is)
            return {}
        self._instances[call] = instance
        found: dict[str, int] = {}
        for param, actual in instance.arguments.items():
            if isinstance(actual, ir.Var) and param in instance.partials:
                own = operation_class(call, instance.partials[param], self.context)
                found[actual.name] = max(own, found.get(actual.name, LINEAR))
        return {name: own for name, own in found.items() if name in self.active}


def operation_class(call: ir.Call, partial: ir.Expr, context: Context) -> int:
    """The class of one operation, by its partial derivative."""
    if is_silent(call):
        return SILENT
    match call:
        case ir.Call(fn=ir.Ref(obj=obj), args=(_, ir.Const(p))) if obj in _POWERS:
            if isinstance(p, int | float):
                return PRODUCT if p >= 1 else SINGULAR
    if getattr(call.fn, "obj", None) is np.reciprocal or any(map(_divides, ir.walk(partial))):
        return SINGULAR
    return LINEAR if context.kind_of(partial).discrete or _is_stated(partial) else PRODUCT


def _is_stated(partial: ir.Expr) -> bool:
    """Whether a partial derivative is made of numbers that the text states."""
    outer = (p.obj for p in ir.walk(partial) if isinstance(p, ir.Ref))
    return not ir.names_in(partial) and all(map(callable, outer))


def is_silent(call: ir.Call) -> bool:
    """Whether an operation is finite somewhere where its derivative is not."""
    match call:
        case ir.Call(fn=ir.Ref(obj=obj)) if any(obj is known for known in _SILENT_AT):
            return True
        case ir.Call(fn=ir.Ref(obj=obj), args=(_, ir.Const(p))) if obj in _POWERS:
            return isinstance(p, float) and 0 < p < 1
    return False


def _divides(part: ir.Expr) -> bool:
    match part:
        case ir.Call(fn=ir.Ref(obj=operator.truediv), args=(_, under)):
            return not isinstance(under, ir.Const)
        case ir.Call(fn=ir.Ref(text="power_slope" | "log_or_zero" | "times_log")):
            return True
    return False


def least_worth_masking(key: ir.Expr, context: Context) -> int:
    """The class from which on the entries that a key leaves out are worth a mask.

    Selections by conditions are, where anything is multiplied: that is what they are for. Slices,
    places and index arrays have other reasons, and count where nothing else would have told.
    """
    if key == ir.Const(Ellipsis):
        return PRODUCT
    parts = key.items if isinstance(key, ir.Display) else (key,)
    if any(context.kind_of(part).dtype == "bool" for part in parts):
        return PRODUCT
    if surely_basic(key, context.kind_of):
        return SILENT
    return SINGULAR if any(context.kind_of(part).dtype == "?" for part in parts) else SILENT


# --------------------------------------------------------------------------------------------------
# Products that stay finite, and silent, outside of a mask.
#
# The adjoint (or tangent) that comes in is zero outside of the mask by construction. What it is
# multiplied by or divided by need not be finite there, so that is replaced first: factors by 0,
# divisors and bases by 1. Nothing is computed that has to be thrown away::
#
#     x_bar = y_bar / x              x_bar = y_bar / np.where(selected, x, 1.0)
#     b_bar = y_bar * a              b_bar = y_bar * np.where(selected, a, 0.0)

Part = tuple[str, bool | ir.Expr]  # a condition, where it holds or not; "" and a key into an array


@dataclasses.dataclass(frozen=True)
class Mask:
    """Where an adjoint may be other than zero: outside of `expr` it is zero by construction.

    `least` is the class of operation for which it was made, `parts` are conditions and keys of
    which it is the union. It `is_somewhere` if it surely holds for an entry.
    """

    expr: ir.Expr
    least: int = PRODUCT
    parts: frozenset[Part] = frozenset()
    is_somewhere: bool = False

    @property
    def guards(self) -> int:
        """The class from which on operations are guarded outside of it."""
        return min(self.least, SINGULAR)


ZERO, ONE = ir.Const(0.0), ir.Const(1.0)
_SUMS = (operator.add, operator.sub)


def guarded(
    value: ir.Expr, moving: str, mask: ir.Expr, context: Context, held: bool = False
) -> ir.Expr:
    """`value`, linear in the variable `moving`, with everything else kept finite outside `mask`;
    zero there if `held`, whatever comes in: divisors are then infinite."""
    return _Guard(moving, mask, context, context.numpy("inf") if held else ONE).linear(value)


class _Guard:
    def __init__(self, moving: str, mask: ir.Expr, context: Context, divisor: ir.Expr) -> None:
        self.moving = moving
        self.mask = mask
        self.context = context
        self.outside = divisor

    def linear(self, expr: ir.Expr) -> ir.Expr:
        """An expression that is zero where `moving` is."""
        match expr:
            case ir.Var(name) if name == self.moving:
                return expr
            case ir.Call(fn=ir.Ref(obj=operator.neg), args=(inner,)):
                return ir.Call(ir.NEG, (self.linear(inner),))
            case ir.Call(fn=ir.Ref(obj=obj) as fn, args=(left, right)) if obj in _SUMS:
                return ir.Call(fn, (self.linear(left), self.linear(right)))
            case ir.Call(fn=ir.Ref(obj=operator.mul), args=(left, right)):
                if self._moves(left):
                    return self._times(self.linear(left), right)
                return ir.Call(ir.MUL, (self.factor(left), self.linear(right)))
            case ir.Call(fn=ir.Ref(obj=operator.truediv), args=(left, right)):
                return ir.Call(ir.DIV, (self.linear(left), self.divisor(right)))
            case ir.Call(fn=fn, args=(first, *rest)) if self._is_sum_of_broadcast(fn):
                return dataclasses.replace(expr, args=(self.linear(first), *rest))
        return self._where(expr, ZERO)

    def _times(self, linear: ir.Expr, factor: ir.Expr) -> ir.Expr:
        match factor:
            case ir.Call(fn=ir.Ref(obj=operator.truediv), args=(over, under)):
                return self._times(ir.Call(ir.DIV, (linear, self.divisor(under))), over)
            case ir.Const(value=1.0):
                return linear
        return ir.Call(ir.MUL, (linear, self.factor(factor)))

    def factor(self, expr: ir.Expr) -> ir.Expr:
        """What `moving` is multiplied by."""
        if isinstance(expr, ir.Const) or self.context.kind_of(expr).discrete:
            return expr
        match expr:
            case ir.Call(fn=ir.Ref(obj=operator.neg), args=(inner,)):
                return ir.Call(ir.NEG, (self.factor(inner),))
            case ir.Call(fn=ir.Ref(obj=operator.truediv), args=(left, right)):
                return ir.Call(ir.DIV, (self.factor(left), self.divisor(right)))
            case ir.Call(fn=ir.Ref(obj=operator.mul), args=(ir.Const() as number, rest)):
                return ir.Call(ir.MUL, (number, self.factor(rest)))
            case ir.Call(fn=ir.Ref(obj=operator.pow), args=(base, exponent)):
                return ir.Call(ir.POW, (self._where(base, self.outside), exponent))
        return self._where(expr, ZERO)

    def divisor(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Const():
                return expr
            case ir.Call(fn=ir.Ref(obj=operator.mul), args=(ir.Const() as number, rest)):
                return ir.Call(ir.MUL, (number, self.divisor(rest)))
        return self._where(expr, self.outside)

    def _moves(self, expr: ir.Expr) -> bool:
        return self.moving in ir.names_in(expr)

    def _is_sum_of_broadcast(self, fn: ir.Expr) -> bool:
        return fn == self.context.helper("unbroadcast")

    def _where(self, expr: ir.Expr, otherwise: ir.Expr) -> ir.Expr:
        where = self.context.numpy("where")
        match self.mask:
            case ir.Call(fn, (mask,), ()) if fn == self.context.numpy("logical_not"):
                return ir.Call(where, (mask, otherwise, expr))
        return ir.Call(where, (self.mask, expr, otherwise))


# --------------------------------------------------------------------------------------------------
# Tangents that are computed for entries that are masked out.
#
# The tangent of `np.sqrt(x)` is infinite at 0, also where `np.where` or a masked write leaves that
# entry out afterwards. The number goes with the entry; what stays is that NumPy warns of it, where
# the primal is silent. Forward mode computes the tangent before the mask is known (it may not exist
# yet), so that such a tangent is computed with the warnings off::
#
#     r = np.sqrt(x)
#     with np.errstate(divide="ignore", invalid="ignore"):
#         r_dot = 0.5 * x_dot / r
#     r[x <= 0.0] = 1.0
#     r_dot[x <= 0.0] = 0.0

# What gives entries of its operands (those from a position on) and leaves others out.
_CHOOSING = {np.where: 1, np.select: 1, np.choose: 1}
_SELECTING = (np.maximum, np.minimum, np.fmax, np.fmin, np.clip)


class Discarded:
    """Which tangents of one function may be of entries that a mask leaves out."""

    def __init__(self, function: ir.Function, active: frozenset[str], context: Context) -> None:
        self.function = function
        self.context = context
        self.fragility = Fragility(function, active, context)

    def wrapped(self, stmt: ir.Stmt, lines: list[ir.Stmt]) -> list[ir.Stmt]:
        """A statement's lines, those that compute its tangent in silence where it needs that."""
        names = ir.binds(stmt)
        if len(names) != 1 or names[0] not in self._silenced:
            return lines
        if max(self.fragility.entries(stmt).values(), default=LINEAR) == LINEAR:
            return lines
        out: list[ir.Stmt] = []
        for line in lines:
            out += self._silent(line) if line.origin.role == "tangent" else [line]
        return out

    def _silent(self, line: ir.Stmt) -> list[ir.Stmt]:
        ignored = tuple((kind, ir.Const("ignore")) for kind in ("divide", "invalid"))
        context = ir.Call(self.context.numpy("errstate"), (), ignored)
        enter = ir.Enter(context, "", True, line.origin)
        return [enter, line, ir.Leave(context, line.origin)]

    @cached_property
    def _silenced(self) -> frozenset[str]:
        """Names that a selection takes some entries of, or that lead to one; singular ones."""
        found = {name for s in ir.statements(self.function.body) for name in self._selected(s)}
        found = {name for name in found if self.fragility.of(name, True) >= SINGULAR}
        changed = bool(found)
        while changed:
            before = len(found)
            for stmt in ir.statements(self.function.body):
                if found & {*ir.binds(stmt), *_stored(stmt)}:
                    operands = self.fragility.entries(stmt)
                    found |= {n for n in operands if self.fragility.of(n, True) >= SINGULAR}
            changed = len(found) > before
        return frozenset(found)

    def _selected(self, stmt: ir.Stmt) -> list[str]:
        match stmt:
            case ir.Store(target=ir.Index(ir.Var(name), key)) if key != ir.Const(Ellipsis):
                return [name] if self.fragility.worth_masking(name, key, True) else []
            case ir.Assign(value=ir.Index(ir.Var(name), key)):
                return [name] if self.fragility.worth_masking(name, key, True) else []
            case ir.Assign(value=ir.Call() as call):
                return self._of_call(call)
        return []

    def _of_call(self, call: ir.Call) -> list[str]:
        obj = getattr(call.fn, "obj", None)
        start = next((at for fn, at in _CHOOSING.items() if fn is obj), None)
        if start is not None:
            return _names(call.args[start:])
        picks = next((level for fn, level in PICKING.items() if fn is obj), None)
        if any(obj is fn for fn in _SELECTING):
            picks = SILENT
        if picks is not None:
            return [n for n in _names(call.args) if self.fragility.of(n, True) >= picks]
        if "where" in dict(call.kwargs):
            base = call.fn.base if isinstance(call.fn, ir.Attribute) else call.args[0]
            return _names((base,))
        return []


def _names(exprs: tuple[ir.Expr, ...]) -> list[str]:
    return [e.name for e in exprs if isinstance(e, ir.Var)]


def _stored(stmt: ir.Stmt) -> tuple[str, ...]:
    match stmt:
        case ir.Store(target=ir.Index(ir.Var(name), _)):
            return (name,)
    return ()


# --------------------------------------------------------------------------------------------------
# Entries that are held at the very point where the next operation has an infinite derivative.
#
# In `np.sqrt(np.maximum(x, 0.0))` the root's derivative is infinite wherever x is negative, and
# what it is multiplied by is zero there by construction: `maximum` holds the entry. The mathematics
# is fine (the derivative is 0), zero times infinity is not. So both modes divide by infinity
# there::
#
#     r = np.sqrt(m)        m_bar = 0.5 * r_bar / np.where(x >= 0.0, r, np.inf)
#
# Values are held by `maximum`, `minimum`, `clip`, a branch of `np.where`, a store under a mask and
# a factor of booleans. Only a bound that is written out and is the singular point counts, so that
# `np.log(np.maximum(x, eps))` keeps its text.


_ARCS = (np.arcsin, np.arccos)
_MULTIPLICATIONS = (operator.mul, np.multiply)
_KEEPING_ZERO = (operator.neg, np.negative, abs, np.absolute, np.fabs, np.square, np.sin, np.tanh)
_COMPARED = {np.maximum: (">=", operator.ge), np.minimum: ("<=", operator.le)}
_COMPARED |= {np.fmax: _COMPARED[np.maximum], np.fmin: _COMPARED[np.minimum]}


@dataclasses.dataclass(eq=False)
class Held:
    """Finds, for the operations of one function, which entries of their operand move at all.

    `is_written` says whether the array of a name is written in place; the adjoints of `kept` are
    results, so that they have to be true in all entries.
    """

    function: ir.Function
    active: frozenset[str]
    context: Context
    is_written: Callable[[str], bool]
    kept: Collection[str] = ()

    def moving(self, stmt: ir.Assign) -> ir.Expr | None:
        """Where the operand of a singular operation moves; None for "everywhere" or "unknown"."""
        at = _singular_at(stmt.value)
        if not at or not isinstance(stmt.value, ir.Call):
            return None
        operand = stmt.value.args[0]
        if not isinstance(operand, ir.Var):
            return None
        block, position = self._place(stmt)
        found = self._mask(operand.name, block, position, at)
        if found is None:
            return None
        mask, start = found
        return mask if self._stands(mask, block[start:position]) else None

    def _place(self, stmt: ir.Stmt) -> tuple[ir.Block, int]:
        index = fact(ProgramIndex, self.function)
        if stmt not in index:
            return (), 0
        return index.block(stmt), index.positions[index.number(stmt)]

    def _mask(
        self, name: str, block: ir.Block, position: int, at: frozenset[float]
    ) -> tuple[ir.Expr, int] | None:
        """The mask under which `name` moves, and where in the block it was made."""
        if name in self.kept:
            return None
        stored: tuple[ir.Expr, int] | None = None
        for start in range(position - 1, -1, -1):
            match block[start]:
                case ir.Assign(target=str(target), value=ir.Call() as call) if target == name:
                    if stored is not None:
                        return stored if self._is_new(call) else None
                    if self.is_written(name):
                        return None
                    mask = self._by(call, at)
                    return self._through(call, block, start, at) if mask is None else (mask, start)
                case ir.Store(target=ir.Index(ir.Var(base), key), value=value) if base == name:
                    if stored is None and _literal(value) in at and not _slices(key):
                        stored = self._left(name, key), start
                    elif stored is None:
                        return None
                case stmt if ir.is_compound(stmt) or name in ir.binds(stmt):
                    return None
                case stmt if stored is not None and name in ir.reads(stmt):
                    return None  # (another name may be a view of it)
        return None

    def _is_new(self, call: ir.Call) -> bool:
        rule = self.context.rule_for(call)
        return rule is not None and rule.view_of(call) == "no"

    def _left(self, name: str, key: ir.Expr) -> ir.Expr:
        kind = self.context.kind_of(key)
        if kind.dtype == "bool" and kind.same_shape(self.context.kind_of(ir.Var(name))):
            return ir.Call(self.context.numpy("logical_not"), (key,))
        return ir.Call(self.context.helper("places_left"), (ir.Var(name), key))

    def _through(
        self, call: ir.Call, block: ir.Block, start: int, at: frozenset[float]
    ) -> tuple[ir.Expr, int] | None:
        """What keeps zero (a multiple, a root) of something held at 0 is held at 0."""
        obj = getattr(call.fn, "obj", None)
        if at != {0.0} or call.kwargs:
            return None
        operands = call.args if obj in _MULTIPLICATIONS else call.args[:1]
        if obj not in (*_MULTIPLICATIONS, *_KEEPING_ZERO) and _singular_at(call) != at:
            return None
        for operand in operands:
            if isinstance(operand, ir.Var) and operand.name in self.active:
                found = self._mask(operand.name, block, start, at)
                if found is not None:
                    return found
        return None

    def _by(self, call: ir.Call, at: frozenset[float]) -> ir.Expr | None:
        """The mask under which the result of one operation moves."""
        obj = getattr(call.fn, "obj", None)
        match call.args:
            case (x, bound) if obj in _COMPARED and self._moves(x) and _literal(bound) in at:
                text, compare = _COMPARED[obj]
                return ir.Call(ir.Ref(text, compare), (x, bound))
            case (mask, x, y) if obj is np.where and isinstance(mask, ir.Var):
                if self._moves(x) and _literal(y) in at:
                    return mask
                if self._moves(y) and _literal(x) in at:
                    return ir.Call(self.context.numpy("logical_not"), (mask,))
            case (first, second) if obj in _MULTIPLICATIONS and at == {0.0}:
                for x, flags in ((first, second), (second, first)):
                    if self._moves(x) and self.context.kind_of(flags).dtype == "bool":
                        return flags
        return self._clipped(call, at)

    def _clipped(self, call: ir.Call, at: frozenset[float]) -> ir.Expr | None:
        """`(x >= 0.0) & (x <= 1.0)` for `np.clip(x, 0.0, 1.0)`."""
        match call:
            case ir.Call(fn=ir.Ref(obj=np.clip), args=(x, *bounds), kwargs=()):
                pass
            case ir.Call(fn=ir.Attribute(x, "clip"), args=bounds, kwargs=()):
                pass
            case _:
                return None
        if not self._moves(x) or not {_literal(b) for b in bounds} & at:
            return None
        rule = self.context.rule_for(call)
        assert rule is not None
        return self.context.bind(rule, call).partials.get("a")

    def _moves(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.Var) and expr.name in self.active

    def _stands(self, mask: ir.Expr, since: ir.Block) -> bool:
        """Whether a mask is the same where it is used as where its entries were held."""
        read = set(ir.names_in(mask))
        if isinstance(mask, ir.Call) and mask.fn == self.context.helper("places_left"):
            read = set(ir.names_in(mask.args[1]))
        bound = {n for stmt in ir.statements(since[1:]) for n in ir.binds(stmt)}
        return not read & bound and not any(map(self.is_written, read))


def leaves_nan(call: ir.Expr) -> bool:
    """Whether an operation gives one of its operands where the other is NaN."""
    return getattr(getattr(call, "fn", None), "obj", None) in (np.fmax, np.fmin)


def taken(call: ir.Expr) -> dict[str, ir.Expr]:
    """For `np.maximum(a, b)`: where each of its operands is the result, ties included. (`np.fmax`
    gives that which is a number where the other is NaN.)"""
    match call:
        case ir.Call(fn=ir.Ref(obj=np.fmax | np.fmin), args=(a, b), kwargs=()):
            return {
                x.name: ir.Call(ir.EQUAL, (x, call))
                for x in (a, b)
                if isinstance(x, ir.Var) and a != b
            }
        case ir.Call(fn=ir.Ref(obj=obj), args=(a, b), kwargs=()) if obj in (*_COMPARED,):
            text, compare = _COMPARED[obj]
            sides = ((a, b), (b, a))
            return {
                x.name: ir.Call(ir.Ref(text, compare), (x, other))
                for x, other in sides
                if isinstance(x, ir.Var) and a != b
            }
    return {}


def _singular_at(value: ir.Expr) -> frozenset[float]:
    """The points at which an operation is finite and its derivative is not."""
    if not isinstance(value, ir.Call) or not value.args or value.kwargs:
        return frozenset()
    obj = getattr(value.fn, "obj", None)
    if any(obj is known for known in _ARCS):
        return frozenset((-1.0, 1.0))
    if obj is np.arccosh:
        return frozenset((1.0,))
    return frozenset((0.0,) if is_silent(value) else ())


def _slices(key: ir.Expr) -> bool:
    """Whether a key is written as one cannot write it outside of brackets, or is everything."""
    parts = key.items if isinstance(key, ir.Display) else (key,)
    return any(isinstance(part, ir.Slice) or part == ir.Const(Ellipsis) for part in parts)


def _literal(expr: ir.Expr) -> float | None:
    if isinstance(expr, ir.Const) and type(expr.value) in (int, float):
        return float(expr.value)
    match expr:
        case ir.Call(fn=ir.Ref(obj=operator.neg), args=(ir.Const(value),)):
            return -float(value) if type(value) in (int, float) else None
    return None
