"""Operations whose adjoints are parts of arrays, or are added to parts: written with slices.

    z = np.concatenate([a, b])       a_bar, b_bar = z_bar[: len(a)], z_bar[len(a) :]
    m = np.column_stack((a, b))      a_bar, b_bar = m_bar[:, 0], m_bar[:, 1]

    d = np.diff(x)                   x_bar[1:] += d_bar
                                     x_bar[:-1] -= d_bar
    s = np.trapezoid(y, dx=h)        y_bar[1:] += 0.5 * s_bar * h
                                     y_bar[:-1] += 0.5 * s_bar * h

Where it is not known what is joined, or along which axis, the runtime asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ... import ir, runtime
from ...analysis.structure import Structure
from ...ir.kind import Kind
from ...rules.decisions import is_literal, literal

_JOINING = (
    *(np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.append),
    runtime.row_join,
)
_TRAPEZOIDS = tuple(getattr(np, n) for n in ("trapezoid", "trapz") if hasattr(np, n))
_NUMBERS = ("number", "array")


def is_reversed_by_slices(value: ir.Expr) -> bool:
    """Whether an expression calls one of these operations."""
    obj = value.fn.obj if isinstance(value, ir.Call) and isinstance(value.fn, ir.Ref) else None
    return any(obj is known for known in (*_JOINING, np.diff, *_TRAPEZOIDS))


# --------------------------------------------------------------------------------------------------
# Arrays joined to one: the adjoint of each is the part of the whole where it stands.


def joined_parts(
    stmt: ir.Assign,
    active: frozenset[str],
    facts: Structure,
    kind_of: Callable[[ir.Expr], Kind],
) -> list[tuple[str, ir.Expr]] | None:
    """The names of what a statement joins, of those that carry derivatives, and the keys of the
    parts of its result that they are; None for other statements, and where that is not known."""
    match stmt:
        case ir.Assign(str(), ir.Call(ir.Ref(obj=obj), (first, *rest), kwargs) as call) if any(
            obj is known for known in _JOINING
        ) and {word for word, _ in kwargs} <= {"axis"}:
            axis = dict(kwargs).get("axis", rest[-1] if len(rest) == _place(obj) else None)
        case _:
            return None
    items = call.args[:2] if obj is np.append else _listed(first, stmt, facts)
    if not items or any(map(ir.is_starred, items)):
        return None
    kinds = [kind_of(item) for item in items]
    if any(kind.form not in _NUMBERS or kind.rank is None for kind in kinds):
        return None
    keys = _keys(obj, items, kinds, axis)
    if keys is None:
        return None
    found = [(item, key) for item, key in zip(items, keys, strict=True) if _is_active(item, active)]
    if not all(isinstance(item, ir.Var) for item, _ in found):
        return None
    return [(item.name, key) for item, key in found if isinstance(item, ir.Var)]


def _place(obj: object) -> int:
    """How many arguments after the first there are when the last of them is the axis."""
    return 2 if obj is np.append else 1


def _is_active(item: ir.Expr, active: frozenset[str]) -> bool:
    return not ir.names_in(item).isdisjoint(active)


def _listed(parts: ir.Expr, stmt: ir.Stmt, facts: Structure) -> tuple[ir.Expr, ...] | None:
    """What a list or tuple holds that was made for a statement, and is the same there."""
    made = facts.single(parts.name) if isinstance(parts, ir.Var) else None
    if not isinstance(made, ir.Assign) or not isinstance(made.value, ir.Display):
        return None
    number = facts.number(stmt)
    names = ir.names_in(made.value)
    alone = facts.used_by.get(str(made.target), []) == [stmt]
    beside = facts.block_of(made) == facts.block_of(stmt)
    if not alone or not beside or made.value.form not in ("list", "tuple"):
        return None
    if any(facts.rebound_between(name, made, number) for name in names):
        return None
    return made.value.items


def _keys(
    obj: object, items: Sequence[ir.Expr], kinds: Sequence[Kind], axis: ir.Expr | None
) -> list[ir.Expr] | None:
    """The keys of the parts."""
    ranks = {kind.rank for kind in kinds}
    flat = ranks <= {0, 1}
    along = 0
    if axis is not None:
        if not isinstance(axis, ir.Const) or type(axis.value) is not int:
            return None
        along = axis.value
    if obj is np.append:
        return _slices(items, kinds, 0) if axis is None and ranks == {1} else None
    if obj is np.stack or (obj in (np.vstack, np.column_stack) and ranks == {1}):
        along = 1 if obj is np.column_stack else along
        (rank,) = ranks if len(ranks) == 1 else (None,)
        if rank is None or not 0 <= along <= rank:
            return None
        return [_at(ir.Const(n), along) for n in range(len(items))]
    if obj in (np.hstack, runtime.row_join) and flat and 1 in ranks:
        return _slices(items, kinds, 0)
    if obj in (np.vstack, np.column_stack) and ranks == {1, 2}:  # (a vector is a row, or a column)
        kinds = [k if k.rank == 2 else Kind("number", k.dtype, ()) for k in kinds]
        return _slices(items, kinds, 0 if obj is np.vstack else 1)
    if len(ranks) > 1 or (flat and ranks != {1}):
        return None
    (rank,) = ranks
    if obj in (np.vstack, np.hstack, np.column_stack):
        along = 0 if obj is np.vstack else 1
    if rank is None or not 0 <= along < rank or obj is runtime.row_join:
        return None
    return _slices(items, kinds, along)


def _at(key: ir.Expr | ir.Slice, axis: int) -> ir.Expr:
    """A key for one axis."""
    return ir.Display("tuple", (*[ir.Slice()] * axis, key)) if axis else key


def _slices(items: Sequence[ir.Expr], kinds: Sequence[Kind], axis: int) -> list[ir.Expr] | None:
    """The parts one after the other; None where too many sizes would have to be added."""
    sizes = [_size(item, kind, axis) for item, kind in zip(items, kinds, strict=True)]
    keys = list[ir.Expr]()
    for n, kind in enumerate(kinds):
        begin, end = _sum(sizes[:n]), _sum(sizes[: n + 1])
        if _literal(sizes[n:]) and not _literal(sizes[:n]):  # (counted from the end)
            begin, end = _back(sizes[n:]), _back(sizes[n + 1 :])
        elif _literal(sizes[n + 1 :]):
            end = _back(sizes[n + 1 :])
        if begin is None or (end is None and n + 1 < len(kinds)):
            return None
        first, last = n == 0, n + 1 == len(kinds)
        if kind.rank == 0:
            part: ir.Expr = begin
        else:
            part = ir.Slice(None if first else begin, None if last else end)
        keys.append(_at(part, axis))
    return keys


def _literal(sizes: Sequence[ir.Expr | None]) -> bool:
    return all(isinstance(size, ir.Const) for size in sizes)


def _size(item: ir.Expr, kind: Kind, axis: int) -> ir.Expr | None:
    if kind.rank == 0:
        return ir.Const(1)
    size = kind.shape[axis] if isinstance(kind.shape, tuple) else None
    if isinstance(size, int):
        return ir.Const(size)
    if not isinstance(item, ir.Var):
        return None
    if axis == 0:
        return ir.Call(ir.LEN, (item,))
    return ir.Index(ir.Attribute(item, "shape"), ir.Const(axis))


def _sum(sizes: Sequence[ir.Expr | None]) -> ir.Expr | None:
    """A sum of sizes, of which two at most are no literals."""
    number = sum(size.value for size in sizes if isinstance(size, ir.Const))
    others = [size for size in sizes if not isinstance(size, ir.Const)]
    known: list[ir.Expr] = [size for size in others if size is not None]
    if len(known) < len(others) or len(known) > 2:
        return None
    if number or not known:
        known.append(ir.Const(number))
    total = known[0]
    for term in known[1:]:
        total = ir.Call(ir.ADD, (total, term))
    return total


def _back(sizes: Sequence[ir.Expr | None]) -> ir.Expr | None:
    """The place where literal sizes begin, counted from the end; None for the end itself."""
    number = sum(size.value for size in sizes if isinstance(size, ir.Const))
    return ir.Const(-number) if number else None


# --------------------------------------------------------------------------------------------------
# Differences of neighbours, and sums of trapezoids: what the adjoint adds to slices of an operand.

_HALF, _ONE = ir.Const(0.5), ir.Const(1)
# The name of an operand, what is added to all entries but the first, and whether that is taken from
# all but the last, instead of added to them, along an axis.
Pairs = list[tuple[str, ir.Expr, bool, int]]


def neighbours(
    stmt: ir.Assign,
    bar: ir.Expr,
    active: frozenset[str],
    kind_of: Callable[[ir.Expr], Kind],
    difference: ir.Ref,
) -> Pairs | None:
    """What reversing a statement adds to pairs of entries; None for other statements, and where the
    axis is not known. `bar` is the adjoint of its result, `difference` how the program calls
    `np.diff`."""
    match stmt:
        case ir.Assign(str(), ir.Call(ir.Ref(obj=obj), args, kwargs)):
            given = dict(kwargs)
        case _:
            return None
    if obj is np.diff and given.keys() <= {"n", "axis"} and 1 <= len(args) <= 3:
        count = args[1] if len(args) > 1 else given.get("n", _ONE)
        axis = args[2] if len(args) > 2 else given.get("axis", ir.Const(-1))
        return _differences(args[0], bar, axis, kind_of) if count == _ONE else None
    if any(obj is area for area in _TRAPEZOIDS) and given.keys() <= {"x", "dx"} and len(args) < 4:
        operands = dict(zip(("y", "x", "dx"), args, strict=False)) | given
        if operands.get("x") == ir.Const(None):
            del operands["x"]
        return _trapezoids(operands, bar, active, kind_of, difference)
    return None


def _differences(
    operand: ir.Expr,
    bar: ir.Expr,
    axis: ir.Expr,
    kind_of: Callable[[ir.Expr], Kind],
) -> Pairs | None:
    kind = kind_of(operand)
    if not isinstance(operand, ir.Var) or kind.form != "array" or not kind.rank:
        return None
    place = literal(axis) if is_literal(axis) else None
    if type(place) is not int or not -kind.rank <= place < kind.rank:
        return None
    return [(operand.name, bar, True, place % kind.rank)]


def later_and_earlier(axis: int) -> tuple[ir.Expr, ir.Expr]:
    """The keys of all entries but the first, and of all but the last."""
    return _at(ir.Slice(_ONE, None), axis), _at(ir.Slice(None, ir.Const(-1)), axis)


def _trapezoids(
    given: dict[str, ir.Expr],
    bar: ir.Expr,
    active: frozenset[str],
    kind_of: Callable[[ir.Expr], Kind],
    difference: ir.Ref,
) -> Pairs | None:
    y, x, step = given["y"], given.get("x"), given.get("dx", ir.Const(1.0))
    operands = [y] if x is None else [y, x]
    vectors = all(isinstance(e, ir.Var) and kind_of(e).form == "array" for e in operands)
    if not vectors or any(kind_of(e).rank != 1 for e in operands) or _is_active(step, active):
        return None
    half = ir.Call(ir.MUL, (_HALF, bar))
    width = step if x is None else ir.Call(difference, (x,))
    share = half if width == ir.Const(1.0) else ir.Call(ir.MUL, (half, width))
    found: Pairs = []
    if isinstance(y, ir.Var) and y.name in active:
        found.append((y.name, share, False, 0))
    if isinstance(x, ir.Var) and x.name in active:
        later, earlier = (ir.Index(y, key) for key in later_and_earlier(0))
        moved = ir.Call(ir.MUL, (half, ir.Call(ir.ADD, (later, earlier))))
        found.append((x.name, moved, True, 0))
    return found
