"""Rules of operations that move entries about: reshape, transpose, join, split, repeat, pad.

`view="view"` results share memory with the argument, `view="maybe"` results may.
"""

import numpy as np

from .. import ir, runtime
from ..ir.kind import MANY, Kind, is_many, is_named
from .book import nondifferentiable, rule
from .decisions import is_literal, literal
from .kinds_of import (
    added_sizes,
    argument,
    array_of_rank,
    common_dtype,
    equal_sizes,
    first,
    flattened,
    same_as,
    shape_given,
    transpose,
    unknown,
)


def _any_rank(call, kind_of):
    """An array of the first argument's dtype."""
    kind = kind_of(call.args[0])
    return Kind("array", kind.dtype if kind.form != "unknown" else "?")


def _vector(call, kind_of):
    return flattened(kind_of(call.args[0]))


def _parts(call, kind_of):
    """The kinds of what is joined, and whether these are all (of a list one stands for all)."""
    kind = kind_of(call.args[0])
    if kind.form == "dict":
        return (), False
    if kind.items is not None:
        return kind.items, True
    return ((), False) if kind.item is None else ((kind.item,), False)


def _axis(call, default, rank):
    """The axis that a call names, from the front; None where it is not literal."""
    axis = argument(call, 1, "axis", default)
    axis = literal(axis) if is_literal(axis) else None
    plain = set(dict(call.kwargs)) <= {"axis"} and len(call.args) <= 2
    known = plain and isinstance(axis, int) and -rank <= axis < rank
    return axis % rank if known else None


def _joined_along(default):
    """Joined arrays have the rank of each, and the sizes of each along the other axes."""

    def kind(call, kind_of):
        parts, counted = _parts(call, kind_of)
        rank = next((part.rank for part in parts if part.rank is not None), 0)
        if not rank:
            return Kind("array")
        sizes = [part.shape for part in parts if part.rank == rank]
        dims = [equal_sizes(each) for each in zip(*sizes, strict=True)]
        axis = _axis(call, min(default, rank - 1), rank)
        if axis is None:  # (`axis=None` is one axis for all)
            return Kind("array")
        if len(sizes) < len(parts):
            dims[axis] = None
        elif counted or not is_many(sizes[0][axis]):
            dims[axis] = added_sizes([size[axis] for size in sizes]) if counted else None
        else:
            dims[axis] = MANY
        return Kind("array", common_dtype(parts), tuple(dims))

    return kind


def _stacked(call, kind_of):
    parts, counted = _parts(call, kind_of)
    ranks = {part.rank for part in parts}
    rank = next(iter(ranks - {None}), None)
    if rank is None:
        return Kind("array")
    sizes = [part.shape or () for part in parts if part.rank == rank]
    dims = [equal_sizes(each) for each in zip(*sizes, strict=True)]
    axis = _axis(call, 0, rank + 1)
    if axis is None:
        return Kind("array", "?", (None,) * (rank + 1))
    dims.insert(axis, len(parts) if counted else None)
    return Kind("array", common_dtype(parts), tuple(dims))


def _reshaped(call, kind_of):
    kind = kind_of(call.args[0])
    shape = argument(call, 1, "shape")
    if len(call.args) > 2 and all(kind_of(size).integer for size in call.args[1:]):
        shape = ir.Display("tuple", call.args[1:])
    elif isinstance(shape, ir.Display) and shape.form == "list":
        shape = ir.Display("tuple", shape.items)
    if shape in (ir.Const(-1), ir.Display("tuple", (ir.Const(-1),))):
        return flattened(kind)
    return Kind("array", kind.dtype, shape_given(shape, kind_of))


# ------------------------------------------------------------------------ reshape, ravel


def zeros_of(names):
    """Lines of a rule: what only says where carries no derivative."""
    return "".join(f"    {name}_bar = 0\n" for name in names)


@rule(np.reshape, view="maybe", kind=_reshaped)
def reshape(y, a, shape, order="C"):
    if order in ("C", "F"):
        y_dot = np.reshape(a_dot, shape, order=order)
        a_bar = np.reshape(y_bar, np.shape(a), order=order)
    else:
        y_dot = np.reshape(a_dot, shape, order=order_of(a, order))
        a_bar = np.reshape(y_bar, np.shape(a), order=order_of(a, order))


@rule(np.ndarray.reshape, view="maybe", kind=_reshaped, builder=True)
def reshape_method(call, kind_of):
    """`x.reshape(shape)` and `x.reshape(2, 3)`: the sizes as they are given."""
    sizes = [f"n{i}" for i in range(len(call.args) - 1)]
    given = ", ".join(sizes)
    return f"""
def reshape(y, {", ".join(["a", *sizes])}, *, order="C"):
{zeros_of(sizes)}    if order == "C":
        y_dot = a_dot.reshape({given})
        a_bar = y_bar.reshape(a.shape)
    elif order == "F":
        y_dot = a_dot.reshape({given}, order="F")
        a_bar = y_bar.reshape(a.shape, order="F")
    else:
        y_dot = a_dot.reshape({given}, order=order_of(a, order))
        a_bar = y_bar.reshape(a.shape, order=order_of(a, order))
"""


@rule(np.ravel, np.ndarray.ravel, view="maybe", kind=_vector)
def ravel(y, a, order="C"):
    if order == "C":
        y_dot = np.ravel(a_dot)
        a_bar = reshape_like(y_bar, a)
    elif order == "F":
        y_dot = np.ravel(a_dot, "F")
        a_bar = np.reshape(y_bar, np.shape(a), "F")
    else:
        y_dot = ravel_as(a_dot, a, order)
        a_bar = unravel_as(y_bar, a, order)


@rule(runtime.flat_view, view="maybe", kind=_vector)
def flat_view(y, a):
    y_dot = np.ravel(a_dot)
    a_bar = reshape_like(y_bar, a)


@rule(np.ndarray.flatten, kind=_vector)
def flatten(y, a, order="C"):
    if order == "C":
        y_dot = a_dot.flatten()
        a_bar = y_bar.reshape(a.shape)
    elif order == "F":
        y_dot = a_dot.flatten("F")
        a_bar = y_bar.reshape(a.shape, order="F")
    else:
        y_dot = ravel_as(a_dot, a, order)
        a_bar = unravel_as(y_bar, a, order)


@rule(runtime.ravel_as, view="maybe", kind=_vector)
def ravel_as(y, g, a, order):
    y_dot = ravel_as(g_dot, a, order)
    g_bar = unravel_as(y_bar, a, order)
    a_bar = 0


@rule(runtime.unravel_as, view="maybe", kind=same_as(1))
def unravel_as(y, g, a, order):
    y_dot = unravel_as(g_dot, a, order)
    g_bar = ravel_as(y_bar, a, order)
    a_bar = 0


nondifferentiable(runtime.order_of)


def _same_rank_unknown_order(call, kind_of):
    kind = kind_of(call.args[0])
    return Kind("array", kind.dtype, None if kind.rank is None else (None,) * kind.rank)


# --------------------------------------------------------------------------- axes


@rule(np.ndarray.T, view="view", kind=transpose)
def transposed(y, a):
    y_dot = a_dot.T
    a_bar = y_bar.T


@rule(np.transpose, "numpy.permute_dims", view="view", kind=transpose)
def transpose_(y, a, axes=None):
    y_dot = np.transpose(a_dot, axes)
    if axes is None:
        a_bar = y_bar.T
    else:
        a_bar = np.transpose(y_bar, inverse_axes(axes))


@rule(np.ndarray.transpose, view="view", kind=transpose, builder=True)
def transpose_method(call, kind_of):
    """`x.transpose()`, `x.transpose(1, 0)` and `x.transpose((1, 0))`."""
    axes = [f"n{i}" for i in range(len(call.args) - 1)]
    given = ", ".join(axes)
    back = "y_bar.T"
    if axes:
        back = f"y_bar.transpose(inverse_axes(method_axes(({given},))))"
        if all(is_literal(arg) for arg in call.args[1:]):
            order = [literal(arg) for arg in call.args[1:]]
            order = runtime.inverse_axes(runtime.method_axes(tuple(order)))
            back = "y_bar.T" if order is None else f"y_bar.transpose({order})"
    return f"""
def transpose(y, {", ".join(["a", *axes])}):
    y_dot = a_dot.transpose({given})
    a_bar = {back}
{zeros_of(axes)}"""


@rule(
    *("numpy.matrix_transpose", "numpy.linalg.matrix_transpose", "numpy.ndarray.mT"),
    view="view",
    kind=_same_rank_unknown_order,
)
def matrix_transpose(y, x):
    y_dot = np.swapaxes(x_dot, -1, -2)
    x_bar = np.swapaxes(y_bar, -1, -2)


@rule(runtime.swap_last, view="maybe", kind=_same_rank_unknown_order)
def swap_last(y, x):
    y_dot = swap_last(x_dot)
    x_bar = swap_last(y_bar)


@rule(np.swapaxes, np.ndarray.swapaxes, view="view", kind=_same_rank_unknown_order)
def swapaxes(y, a, axis1, axis2):
    y_dot = np.swapaxes(a_dot, axis1, axis2)
    a_bar = np.swapaxes(y_bar, axis1, axis2)


@rule(np.moveaxis, view="view", kind=_same_rank_unknown_order)
def moveaxis(y, a, source, destination):
    y_dot = np.moveaxis(a_dot, source, destination)
    a_bar = np.moveaxis(y_bar, destination, source)


@rule(np.rollaxis, view="view", kind=_same_rank_unknown_order)
def rollaxis(y, a, axis, start=0):
    y_dot = np.rollaxis(a_dot, axis, start)
    a_bar = unroll_axis(y_bar, axis, start)


@rule(runtime.unroll_axis, view="view", kind=_same_rank_unknown_order)
def unroll_axis(y, g, axis, start=0):
    y_dot = unroll_axis(g_dot, axis, start)
    g_bar = np.rollaxis(y_bar, axis, start)


@rule(np.squeeze, np.ndarray.squeeze, view="view", kind=_any_rank)
def squeeze(y, a, axis=None):
    y_dot = np.squeeze(a_dot, axis=axis)
    a_bar = reshape_like(y_bar, a)


def _expanded(call, kind_of):
    kind = kind_of(call.args[0])
    axis = argument(call, 1, "axis")
    if kind.rank is None or axis is None or not is_literal(axis):
        return Kind("array", kind.dtype)
    more = literal(axis)
    count = len(more) if isinstance(more, tuple) else 1
    return Kind("array", kind.dtype, (None,) * (kind.rank + count))


@rule(np.expand_dims, view="view", kind=_expanded)
def expand_dims(y, a, axis):
    y_dot = np.expand_dims(a_dot, axis)
    a_bar = reshape_like(y_bar, a)


def _at_least(rank):
    def kind(call, kind_of):
        found = kind_of(call.args[0])
        if len(call.args) != 1 or found.rank is None:
            return Kind("array", found.dtype) if len(call.args) == 1 else Kind("unknown")
        if not isinstance(found.shape, tuple):
            return Kind("array", found.dtype, (1,) * rank)
        if found.rank >= rank or not found.rank or rank == 2:
            return Kind("array", found.dtype, (1,) * (rank - found.rank) + found.shape)
        return Kind("array", found.dtype, (None,) * rank)

    return kind


@rule(np.atleast_1d, view="maybe", kind=_at_least(1))
def atleast_1d(y, a):
    y_dot = np.atleast_1d(a_dot)
    a_bar = reshape_like(y_bar, a)


@rule(np.atleast_2d, view="maybe", kind=_at_least(2))
def atleast_2d(y, a):
    y_dot = np.atleast_2d(a_dot)
    a_bar = reshape_like(y_bar, a)


@rule(np.atleast_3d, view="maybe", kind=_at_least(3))
def atleast_3d(y, a):
    y_dot = np.atleast_3d(a_dot)
    a_bar = reshape_like(y_bar, a)


@rule(runtime.reshape_like, view="maybe", kind=same_as(1))
def reshape_like(y, g, like):
    y_dot = reshape_like(g_dot, like)
    g_bar = reshape_like(y_bar, g)
    like_bar = 0


# ---------------------------------------------------------------------------- broadcasting


def _broadcast_shape(call, kind_of):
    shape = argument(call, 1, "shape")
    return Kind("array", kind_of(call.args[0]).dtype, shape_given(shape, kind_of))


@rule(np.broadcast_to, view="view", kind=_broadcast_shape)
def broadcast_to(y, array, shape):
    y_dot = np.broadcast_to(array_dot, shape)
    array_bar = unbroadcast(y_bar, array)


@rule(np.broadcast_arrays, view="view", kind=unknown)
def broadcast_arrays(y, *args):
    y_dot = each_broadcast(args_dot, y)
    args_bar = unbroadcast_each(y_bar, args)


# ------------------------------------------------------------------------------ joining


@rule(np.concatenate, "numpy.concat", kind=_joined_along(0))
def concatenate(y, arrays, axis=0, *, dtype=None, casting="same_kind"):
    if dtype is None:
        y_dot = np.concatenate(arrays_dot, axis=axis)
        arrays_bar = split_like(y_bar, arrays, axis)
    else:
        y_dot = np.concatenate(arrays_dot, axis=axis, dtype=float_dtype(dtype), casting=casting)
        arrays_bar = split_like(uncast(y_bar, dtype), arrays, axis)


@rule(np.stack, kind=_stacked)
def stack(y, arrays, axis=0, *, dtype=None, casting="same_kind"):
    if dtype is None:
        y_dot = np.stack(arrays_dot, axis=axis)
        arrays_bar = unstack(y_bar, axis)
    else:
        y_dot = np.stack(arrays_dot, axis=axis, dtype=float_dtype(dtype), casting=casting)
        arrays_bar = unstack(uncast(y_bar, dtype), axis)


@rule(np.vstack, "numpy.row_stack", kind=lambda call, kind_of: Kind("array"))
def vstack(y, tup, *, dtype=None, casting="same_kind"):
    if dtype is None:
        y_dot = np.vstack(tup_dot)
        tup_bar = split_like(y_bar, tup, 0)
    else:
        y_dot = np.vstack(tup_dot, dtype=float_dtype(dtype), casting=casting)
        tup_bar = split_like(uncast(y_bar, dtype), tup, 0)


@rule(np.hstack, kind=_joined_along(1))
def hstack(y, tup, *, dtype=None, casting="same_kind"):
    if dtype is None:
        y_dot = np.hstack(tup_dot)
        tup_bar = split_like(y_bar, tup, hstack_axis(tup))
    else:
        y_dot = np.hstack(tup_dot, dtype=float_dtype(dtype), casting=casting)
        tup_bar = split_like(uncast(y_bar, dtype), tup, hstack_axis(tup))


@rule(np.dstack, kind=lambda call, kind_of: Kind("array"))
def dstack(y, tup):
    y_dot = np.dstack(tup_dot)
    tup_bar = split_like(y_bar, tup, 2)


@rule(np.column_stack, kind=array_of_rank(2, "?"))
def column_stack(y, tup):
    y_dot = np.column_stack(tup_dot)
    tup_bar = split_like(y_bar, tup, 1)


@rule(runtime.row_join, kind=lambda call, kind_of: Kind("array"))
def row_join(y, parts):
    y_dot = row_join(parts_dot)
    parts_bar = split_like(y_bar, parts, 0)


@rule(runtime.column_join, kind=lambda call, kind_of: Kind("array"))
def column_join(y, parts):
    y_dot = column_join(parts_dot)
    parts_bar = split_like(y_bar, parts, -1)


@rule(np.block, kind=lambda call, kind_of: Kind("array"))
def block(y, arrays):
    y_dot = np.block(arrays_dot)
    arrays_bar = unblock(y_bar, arrays)


@rule(runtime.unblock, view="maybe", kind=unknown)
def unblock(y, g, blocks):
    y_dot = unblock(g_dot, blocks)
    g_bar = np.block(y_bar)
    blocks_bar = 0


@rule(np.append, kind=lambda call, kind_of: Kind("array"))
def append(y, arr, values, axis=None):
    parts = split_like(y_bar, (arr, values), axis)
    y_dot = np.append(arr_dot, values_dot, axis=axis)
    arr_bar = parts[0]
    values_bar = parts[1]


@rule(np.insert, kind=lambda call, kind_of: Kind("array"))
def insert(y, arr, obj, values, axis=None):
    y_dot = np.insert(arr_dot, obj, values_dot, axis=axis)
    arr_bar = insert_rest(y_bar, arr, obj, axis)
    values_bar = inserted(y_bar, arr, obj, values, axis)


@rule(np.delete, kind=lambda call, kind_of: Kind("array"))
def delete(y, arr, obj, axis=None):
    y_dot = np.delete(arr_dot, obj, axis=axis)
    arr_bar = delete_rest(y_bar, arr, obj, axis)


@rule(runtime.insert_rest, kind=same_as(1))
def insert_rest(y, g, arr, obj, axis=None):
    y_dot = insert_rest(g_dot, arr, obj, axis)
    g_bar = np.insert(y_bar, obj, 0.0, axis=axis)
    arr_bar = 0


@rule(runtime.inserted, kind=same_as(3))
def inserted(y, g, arr, obj, values, axis=None):
    y_dot = inserted(g_dot, arr, obj, values, axis)
    g_bar = np.insert(np.zeros_like(arr), obj, y_bar, axis=axis)
    arr_bar = 0
    values_bar = 0


@rule(runtime.delete_rest, kind=same_as(1))
def delete_rest(y, g, arr, obj, axis=None):
    y_dot = delete_rest(g_dot, arr, obj, axis)
    g_bar = np.delete(y_bar, obj, axis=axis)
    arr_bar = 0


@rule(runtime.split_like, view="maybe", kind=unknown)
def split_like(y, g, parts, axis=0):
    y_dot = split_like(g_dot, parts, axis)
    g_bar = join_like(y_bar, g, axis)
    parts_bar = 0


@rule(runtime.join_like, kind=same_as(1))
def join_like(y, pieces, g, axis=0):
    y_dot = join_like(pieces_dot, g, axis)
    pieces_bar = split_like(y_bar, pieces, axis)
    g_bar = 0


def _rows(call, kind_of):
    """Of the rows nothing is said: a store to one is added into the array that it is seen in."""
    ours = isinstance(call.fn, ir.Ref) and call.fn.obj is runtime.unstack
    return Kind("list" if ours else "tuple")


@rule(runtime.unstack, "numpy.unstack", view="view", kind=_rows)
def unstack(y, x, axis=0):
    y_dot = unstack(x_dot, axis)
    x_bar = np.stack(y_bar, axis=axis)


# ------------------------------------------------------------------------------- splitting


def _pieces(axis):
    """A list of arrays as long as the whole along all axes but one (None: that of a call)."""

    def kind(call, kind_of):
        whole = kind_of(call.args[0])
        if not whole.rank:
            return Kind("list", item=Kind("array", whole.dtype))
        sizes = list(whole.shape)
        if axis is None:
            given = argument(call, 2, "axis", 0)
            given = literal(given) if is_literal(given) else None
        else:
            given = axis if whole.rank > 1 or axis == 2 else 0
        known = isinstance(given, int) and -whole.rank <= given < whole.rank
        if known:
            count = call.args[1] if len(call.args) > 1 else None
            sizes[given] = _part_of(sizes[given], call.fn, count)
        shape = tuple(sizes) if known else (None,) * whole.rank
        return Kind("list", item=Kind("array", whole.dtype, shape))

    return kind


def _part_of(size, fn, count):
    """The size of equal parts."""
    equal = isinstance(fn, ir.Ref) and fn.obj is np.split and isinstance(count, ir.Const)
    if not equal or type(count.value) is not int or not is_named(size):
        return None
    return size // count.value if isinstance(size, int) else f"{size}/{count.value}"


@rule(np.split, np.array_split, view="view", kind=_pieces(None))
def split(y, ary, indices_or_sections, axis=0):
    y_dot = np.array_split(ary_dot, indices_or_sections, axis=axis)
    ary_bar = np.concatenate(y_bar, axis=axis)


@rule(np.hsplit, view="view", kind=_pieces(1))
def hsplit(y, ary, indices_or_sections):
    y_dot = np.hsplit(ary_dot, indices_or_sections)
    ary_bar = np.concatenate(y_bar, axis=0 if ary.ndim == 1 else 1)


@rule(np.vsplit, view="view", kind=_pieces(0))
def vsplit(y, ary, indices_or_sections):
    y_dot = np.vsplit(ary_dot, indices_or_sections)
    ary_bar = np.concatenate(y_bar)


@rule(np.dsplit, view="view", kind=_pieces(2))
def dsplit(y, ary, indices_or_sections):
    y_dot = np.dsplit(ary_dot, indices_or_sections)
    ary_bar = np.concatenate(y_bar, axis=2)


# -------------------------------------------------------------- repeating, turning, padding


@rule(np.tile, kind=lambda call, kind_of: Kind("array", kind_of(call.args[0]).dtype))
def tile(y, A, reps):
    y_dot = np.tile(A_dot, reps)
    A_bar = untile(y_bar, A, reps)


@rule(runtime.untile, kind=same_as(1))
def untile(y, g, like, reps):
    y_dot = untile(g_dot, like, reps)
    g_bar = np.tile(y_bar, reps)
    like_bar = 0


@rule(np.repeat, np.ndarray.repeat, kind=lambda call, kind_of: Kind("array"))
def repeat(y, a, repeats, axis=None):
    y_dot = np.repeat(a_dot, repeats, axis=axis)
    a_bar = unrepeat(y_bar, a, repeats, axis)


@rule(runtime.unrepeat, kind=same_as(1))
def unrepeat(y, g, like, repeats, axis=None):
    y_dot = unrepeat(g_dot, like, repeats, axis)
    g_bar = np.repeat(y_bar, repeats, axis=axis)
    like_bar = 0


@rule(np.flip, view="view", kind=first)
def flip(y, m, axis=None):
    y_dot = np.flip(m_dot, axis)
    m_bar = np.flip(y_bar, axis)


@rule(np.fliplr, view="view", kind=first)
def fliplr(y, m):
    y_dot = np.fliplr(m_dot)
    m_bar = np.fliplr(y_bar)


@rule(np.flipud, view="view", kind=first)
def flipud(y, m):
    y_dot = np.flipud(m_dot)
    m_bar = np.flipud(y_bar)


@rule(np.rot90, view="view", kind=_same_rank_unknown_order)
def rot90(y, m, k=1, axes=(0, 1)):
    y_dot = np.rot90(m_dot, k, axes)
    m_bar = np.rot90(y_bar, -k, axes)


@rule(np.roll, kind=first)
def roll(y, a, shift, axis=None):
    y_dot = np.roll(a_dot, shift, axis=axis)
    if is_number(shift):
        a_bar = np.roll(y_bar, -shift, axis=axis)
    else:
        a_bar = np.roll(y_bar, np.negative(shift), axis=axis)


@rule(np.pad, kind=_same_rank_unknown_order)
def pad(y, array, pad_width, mode="constant", *, constant_values=0):
    if mode in ("constant", "empty"):
        y_dot = np.pad(array_dot, pad_width)
        array_bar = unpad(y_bar, array, pad_width)
    else:
        y_dot = pad_entries(array_dot, pad_width, mode)
        array_bar = unpad(y_bar, array, pad_width, mode)


@rule(runtime.unpad, view="maybe", kind=same_as(1))
def unpad(y, g, like, pad_width, mode="constant"):
    y_dot = unpad(g_dot, like, pad_width, mode)
    g_bar = np.pad(y_bar, pad_width, mode=mode)
    like_bar = 0


@rule(np.resize, kind=lambda call, kind_of: Kind("array"))
def resize(y, a, new_shape):
    y_dot = np.resize(a_dot, new_shape)
    a_bar = unresize(y_bar, a)


@rule(runtime.unresize, kind=same_as(1))
def unresize(y, g, like):
    y_dot = unresize(g_dot, like)
    g_bar = np.resize(y_bar, np.shape(g))
    like_bar = 0


@rule(np.trim_zeros, view="view", kind=array_of_rank(1, "?"))
def trim_zeros(y, filt, trim="fb"):
    y_dot = filt_dot[trimmed(filt, trim)]
    filt_bar = untrim(y_bar, filt, trim)


@rule(np.lib.stride_tricks.sliding_window_view, view="view", kind=unknown)
def sliding_window_view(y, x, window_shape, axis=None):
    y_dot = np.lib.stride_tricks.sliding_window_view(x_dot, window_shape, axis)
    x_bar = unslide(y_bar, x, window_shape, axis)


@rule(runtime.untrim, kind=same_as(1))
def untrim(y, g, x, trim="fb"):
    y_dot = untrim(g_dot, x, trim)
    g_bar = y_bar[trimmed(x, trim)]
    x_bar = 0


@rule(runtime.unslide, kind=same_as(1))
def unslide(y, g, like, window_shape, axis=None):
    y_dot = unslide(g_dot, like, window_shape, axis)
    g_bar = np.lib.stride_tricks.sliding_window_view(y_bar, window_shape, axis)
    like_bar = 0


# ------------------------------------------------------------------------ copies and casts


@rule(np.copy, np.ndarray.copy, kind=first)
def copy(y, a, order="K"):
    y_dot = np.copy(a_dot)
    a_bar = y_bar


def _cast(call, kind_of):
    from .kinds_of import dtype_class

    kind = kind_of(call.args[0])
    return Kind("array", dtype_class(argument(call, 1, "dtype")), kind.shape)


@rule(np.ndarray.astype, "numpy.astype", view="asked", kind=_cast)
def astype(y, x, dtype, order="K", casting="unsafe", subok=True, copy=True):
    if copy:
        y_dot = x_dot.astype(float_dtype(dtype))
    else:
        y_dot = x_dot.astype(float_dtype(dtype), copy=False)
    x_bar = cast_like(uncast(y_bar, dtype), x)


@rule(runtime.cast_like, view="maybe", kind=same_as(1))
def cast_like(y, g, like):
    y_dot = cast_like(g_dot, like)
    g_bar = cast_like(y_bar, g)
    like_bar = 0


@rule(runtime.uncast, view="maybe", kind=first)
def uncast(y, g, dtype):
    y_dot = g_dot
    g_bar = y_bar


# Shapes, axes and counts.
nondifferentiable(
    *(runtime.inverse_axes, runtime.method_axes, runtime.hstack_axis, runtime.float_dtype),
    *(runtime.trimmed, runtime.pad_widths),
)


@rule(np.ndarray.view, view="view", kind=first)
def view(y, a):
    y_dot = a_dot.view()
    a_bar = y_bar


def _nested(call, kind_of):
    kind = kind_of(call.args[0])
    return Kind("list", item=Kind("number", kind.dtype, ())) if kind.rank == 1 else Kind()


@rule(np.ndarray.tolist, kind=_nested)
def tolist(y, a):
    y_dot = a_dot.tolist()
    a_bar = np.reshape(np.array(y_bar), np.shape(a))
