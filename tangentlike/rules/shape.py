"""Rules of operations that move entries about: reshape, transpose, join, split, repeat, pad.

`view="view"` results share memory with the argument, `view="maybe"` results may.
"""

import numpy as np

from .. import ir, runtime
from ..ir.kind import MANY, Kind, is_many, is_named
from .book import nondifferentiable, rule
from .creation import copied
from .decisions import is_literal, literal
from .index_kinds import longer
from .kinds_of import (
    added_sizes,
    argument,
    array_of_rank,
    asked_of_values,
    common_dtype,
    equal_sizes,
    first,
    flattened,
    same_as,
    scalar_or_array,
    shape_given,
    transpose,
    unknown,
)
from .tables import linear


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


@asked_of_values
def _reshaped(call, kind_of):
    return _of_shape(kind_of(call.args[0]), argument(call, 1, "shape"), kind_of)


@asked_of_values
def _reshaped_by_method(call, kind_of):
    """`x.reshape(n, m)` has two axes, whatever is known of `n` and `m`."""
    shape = argument(call, 1, "shape")
    if len(call.args) > 2:
        shape = ir.Display("tuple", call.args[1:])
    return _of_shape(kind_of(call.args[0]), shape, kind_of)


def _of_shape(kind, shape, kind_of):
    """The kind of a reshaped array."""
    if isinstance(shape, ir.Display) and shape.form == "list":
        shape = ir.Display("tuple", shape.items)
    if shape in (ir.Const(-1), ir.Display("tuple", (ir.Const(-1),))):
        return flattened(kind)
    given = shape_given(shape, kind_of)
    if isinstance(given, tuple):  # (`n - 2` may be -1, which asks for another size)
        given = tuple(None if isinstance(d, str) and "-" in d else d for d in given)
    return Kind("array", kind.dtype, given)


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


@rule(np.ndarray.reshape, view="maybe", kind=_reshaped_by_method, builder=True)
def reshape_method(call, kind_of):
    """`x.reshape(shape)` and `x.reshape(2, 3)`: the sizes as they are given."""
    sizes = [f"n{i}" for i in range(len(call.args) - 1)]
    given = ", ".join(sizes)
    number = _reshaped_by_method(call, kind_of).rank == 0  # (a number has no such method)
    back = "np.reshape(y_bar, a.shape" if number else "y_bar.reshape(a.shape"
    return f"""
def reshape(y, {", ".join(["a", *sizes])}, *, order="C"):
{zeros_of(sizes)}    if order == "C":
        y_dot = a_dot.reshape({given})
        a_bar = {back})
    elif order == "F":
        y_dot = a_dot.reshape({given}, order="F")
        a_bar = {back}, order="F")
    else:
        y_dot = a_dot.reshape({given}, order=order_of(a, order))
        a_bar = {back}, order=order_of(a, order))
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


linear("ravel_as(g, a, order)", "unravel_as(y_bar, a, order)", _vector, "maybe")
linear("unravel_as(g, a, order)", "ravel_as(y_bar, a, order)", same_as(1), "maybe")


nondifferentiable(runtime.order_of)


def _same_rank_unknown_order(call, kind_of):
    kind = kind_of(call.args[0])
    return Kind("array", kind.dtype, None if kind.rank is None else (None,) * kind.rank)


# --------------------------------------------------------------------------- axes


@rule(np.ndarray.T, view="view", kind=transpose)
def transposed(y, a):
    y_dot = a_dot.T
    if rank(a) == 0:
        a_bar = y_bar
    else:
        a_bar = y_bar.T


@rule(np.transpose, "numpy.permute_dims", view="view", kind=transpose)
def transpose_(y, a, axes=None):
    y_dot = np.transpose(a_dot, axes)
    if rank(a) == 0:
        a_bar = y_bar
    elif axes is None:
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
    back = "y_bar" if kind_of(call.args[0]).rank == 0 else back
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


def _swapped(call, kind_of):
    kind, axes = kind_of(call.args[0]), call.args[1:]
    if not isinstance(kind.shape, tuple) or len(axes) != 2 or not all(map(is_literal, axes)):
        return _same_rank_unknown_order(call, kind_of)
    sizes, (first, second) = [*kind.shape], map(literal, axes)
    if not all(type(n) is int and -len(sizes) <= n < len(sizes) for n in (first, second)):
        return _same_rank_unknown_order(call, kind_of)
    sizes[first], sizes[second] = sizes[second], sizes[first]
    return Kind("array", kind.dtype, tuple(sizes))


linear("swap_last(x)", "swap_last(y_bar)", _same_rank_unknown_order, "maybe")
linear(
    "np.swapaxes(a, axis1, axis2)",
    "np.swapaxes(y_bar, axis1, axis2)",
    _swapped,
    "view",
    also=(np.ndarray.swapaxes,),
)
linear(
    "np.moveaxis(a, source, destination)",
    "np.moveaxis(y_bar, destination, source)",
    _same_rank_unknown_order,
    "view",
)
linear(
    "np.rollaxis(a, axis, start=0)",
    "unroll_axis(y_bar, axis, start)",
    _same_rank_unknown_order,
    "view",
)
linear(
    "unroll_axis(g, axis, start=0)",
    "np.rollaxis(y_bar, axis, start)",
    _same_rank_unknown_order,
    "view",
)
linear(
    "np.squeeze(a, axis=None)",
    "reshape_like(y_bar, a)",
    asked_of_values(_any_rank),
    "view",
    also=(np.ndarray.squeeze,),
    words="axis",
)


def _expanded(call, kind_of):
    kind = kind_of(call.args[0])
    axis = argument(call, 1, "axis")
    if kind.rank is None or axis is None or not is_literal(axis):
        return Kind("array", kind.dtype)
    more = literal(axis)
    rank = kind.rank + (len(more) if isinstance(more, tuple) else 1)
    if type(more) is int and -rank <= more < rank:
        sizes = [*kind.shape] if isinstance(kind.shape, tuple) else []
        sizes.insert(more % rank, 1)
        return Kind("array", kind.dtype, tuple(sizes))
    return Kind("array", kind.dtype, (None,) * rank)


linear("np.expand_dims(a, axis)", "reshape_like(y_bar, a)", _expanded, "view")


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


linear("np.atleast_1d(a)", "reshape_like(y_bar, a)", _at_least(1), "maybe")
linear("np.atleast_2d(a)", "reshape_like(y_bar, a)", _at_least(2), "maybe")
linear("np.atleast_3d(a)", "reshape_like(y_bar, a)", _at_least(3), "maybe")
linear("reshape_like(g, like)", "reshape_like(y_bar, g)", same_as(1), "maybe")


# ---------------------------------------------------------------------------- broadcasting


def _broadcast_shape(call, kind_of):
    shape = argument(call, 1, "shape")
    return Kind("array", kind_of(call.args[0]).dtype, shape_given(shape, kind_of))


linear("np.broadcast_to(array, shape)", "unbroadcast(y_bar, array)", _broadcast_shape, "view")


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
    if dtype is None and is_sequence(arrays):
        y_dot = np.stack(arrays_dot, axis=axis)
        arrays_bar = unstack(y_bar, axis)
    elif dtype is None and is_array(arrays):
        y_dot = np.stack(arrays_dot, axis=axis)
        arrays_bar = np.moveaxis(y_bar, axis, 0)
    elif dtype is None:
        y_dot = np.stack(arrays_dot, axis=axis)
        arrays_bar = nest_like(np.moveaxis(y_bar, axis, 0), arrays)
    else:
        y_dot = np.stack(arrays_dot, axis=axis, dtype=float_dtype(dtype), casting=casting)
        arrays_bar = nest_like(np.moveaxis(uncast(y_bar, dtype), axis, 0), arrays)


def _rows_of(call, kind_of):
    """The kind of rows below each other: vectors and matrices, which are known one by one."""
    kinds = kind_of(call.args[0]).items or ()
    if not kinds or any(kind.form != "array" or kind.rank not in (1, 2) for kind in kinds):
        return Kind("array")
    rows = added_sizes([1 if kind.rank == 1 else kind.shape[0] for kind in kinds])
    known = "dtype" not in dict(call.kwargs)
    dtype = common_dtype(kinds) if known else "?"
    return Kind("array", dtype, (rows, equal_sizes(kind.shape[-1] for kind in kinds)))


@rule(np.vstack, "numpy.row_stack", kind=_rows_of)
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


linear("np.dstack(tup)", "split_like(y_bar, tup, 2)", lambda call, kind_of: Kind("array"))
linear("np.column_stack(tup)", "split_like(y_bar, tup, 1)", array_of_rank(2, "?"))
linear("row_join(parts)", "split_like(y_bar, parts, 0)", lambda call, kind_of: Kind("array"))
linear("column_join(parts)", "split_like(y_bar, parts, -1)", lambda call, kind_of: Kind("array"))


def _of_nested(call, kind_of):
    """The kind of blocks beside and below each other, where all of them are matrices."""
    rows = kind_of(call.args[0]).items or ()
    kinds = [kind for row in rows for kind in (row.items or (row,))]
    if not kinds or any(kind.form != "array" or kind.rank != 2 for kind in kinds):
        return Kind("array")
    return Kind("array", common_dtype(kinds), (None, None))


linear("np.block(arrays)", "unblock(y_bar, arrays)", _of_nested)
linear("unblock(g, blocks)", "np.block(y_bar)", unknown, "maybe")


def _appended(call, kind_of):
    """Of one axis, unless an axis is named."""
    first, more = kind_of(call.args[0]), kind_of(argument(call, 1, "values"))
    axis, dtype = argument(call, 2, "axis"), common_dtype([first, more])
    if axis in (None, ir.Const(None)):
        many = any(is_many(flattened(kind).shape[0]) for kind in (first, more))
        return Kind("array", dtype, (MANY if many else None,))
    whole = is_literal(axis) and first.rank  # (a name may stand for None)
    return Kind("array", dtype, (None,) * first.rank if whole else None)


@rule(np.append, kind=_appended)
def append(y, arr, values, axis=None):
    parts = split_like(y_bar, (arr, values), axis)
    y_dot = np.append(arr_dot, values_dot, axis=axis)
    arr_bar = parts[0]
    values_bar = parts[1]


@rule(np.insert, kind=lambda call, kind_of: Kind("array", kind_of(call.args[0]).dtype))
def insert(y, arr, obj, values, axis=None):
    y_dot = np.insert(arr_dot, obj, values_dot, axis=axis)
    arr_bar = insert_rest(y_bar, arr, obj, axis)
    values_bar = inserted(y_bar, arr, obj, values, axis)


linear(
    "np.delete(arr, obj, axis=None)",
    "delete_rest(y_bar, arr, obj, axis)",
    lambda call, kind_of: Kind("array"),
    words="axis",
)
linear("insert_rest(g, arr, obj, axis=None)", "insert_zeros(y_bar, g, obj, axis)", same_as(1))
linear("insert_zeros(x, g, obj, axis=None)", "insert_rest(y_bar, x, obj, axis)", same_as(1))
linear(
    "inserted(g, arr, obj, values, axis=None)",
    "np.insert(np.zeros_like(arr), obj, y_bar, axis=axis)",
    same_as(3),
)
linear("delete_rest(g, arr, obj, axis=None)", "np.delete(y_bar, obj, axis=axis)", same_as(1))
linear("split_like(g, parts, axis=0)", "join_like(y_bar, g, axis)", unknown, "maybe")
linear("join_like(pieces, g, axis=0)", "split_like(y_bar, pieces, axis)", same_as(1))


def _rows(call, kind_of):
    """Of the rows nothing is said: a store to one is added into the array that it is seen in."""
    ours = isinstance(call.fn, ir.Ref) and call.fn.obj is runtime.unstack
    return Kind("list" if ours else "tuple")


linear("unstack(x, axis=0)", "np.stack(y_bar, axis=axis)", _rows, "view", also=("numpy.unstack",))


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
    if is_number(indices_or_sections) or ascends(indices_or_sections):
        ary_bar = np.concatenate(y_bar, axis=axis)
    else:
        ary_bar = unsplit(y_bar, ary, indices_or_sections, axis)


@rule(np.hsplit, view="view", kind=_pieces(1))
def hsplit(y, ary, indices_or_sections):
    y_dot = np.hsplit(ary_dot, indices_or_sections)
    if is_number(indices_or_sections) or ascends(indices_or_sections):
        ary_bar = np.concatenate(y_bar, axis=0 if ary.ndim == 1 else 1)
    else:
        ary_bar = unsplit(y_bar, ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


@rule(np.vsplit, view="view", kind=_pieces(0))
def vsplit(y, ary, indices_or_sections):
    y_dot = np.vsplit(ary_dot, indices_or_sections)
    if is_number(indices_or_sections) or ascends(indices_or_sections):
        ary_bar = np.concatenate(y_bar)
    else:
        ary_bar = unsplit(y_bar, ary, indices_or_sections)


@rule(np.dsplit, view="view", kind=_pieces(2))
def dsplit(y, ary, indices_or_sections):
    y_dot = np.dsplit(ary_dot, indices_or_sections)
    if is_number(indices_or_sections) or ascends(indices_or_sections):
        ary_bar = np.concatenate(y_bar, axis=2)
    else:
        ary_bar = unsplit(y_bar, ary, indices_or_sections, 2)


linear("unsplit(g, like, places, axis=0)", "np.array_split(y_bar, places, axis=axis)", same_as(1))


# -------------------------------------------------------------- repeating, turning, padding


def _tiled(call, kind_of):
    """As many axes as the array, or as there are numbers of times."""
    kind, reps = kind_of(call.args[0]), argument(call, 1, "reps")
    given = kind_of(reps)
    count = len(given.items or ()) if given.form == "tuple" else 1 if given.integer else 0
    whole = kind.rank is not None and count > 0
    return Kind("array", kind.dtype, (None,) * max(kind.rank or 0, count) if whole else None)


def _repeated(call, kind_of):
    """Of one axis, unless an axis is named."""
    kind, axis = kind_of(call.args[0]), argument(call, 2, "axis")
    if axis in (None, ir.Const(None)):
        return Kind("array", "?" if kind.form != "array" else kind.dtype, (None,))
    whole = is_literal(axis) and kind.rank  # (a name may stand for None)
    return Kind("array", "?", (None,) * kind.rank if whole else None)


linear("np.tile(A, reps)", "untile(y_bar, A, reps)", _tiled)
linear("untile(g, like, reps)", "np.tile(y_bar, reps)", same_as(1))
linear(
    "np.repeat(a, repeats, axis=None)",
    "unrepeat(y_bar, a, repeats, axis)",
    _repeated,
    also=(np.ndarray.repeat,),
    words="axis",
)
linear("unrepeat(g, like, repeats, axis=None)", "np.repeat(y_bar, repeats, axis=axis)", same_as(1))
linear("np.flip(m, axis=None)", "np.flip(y_bar, axis)", scalar_or_array, "view")
linear("np.fliplr(m)", "np.fliplr(y_bar)", first, "view")
linear("np.flipud(m)", "np.flipud(y_bar)", first, "view")
linear(
    "np.rot90(m, k=1, axes=(0, 1))", "np.rot90(y_bar, -k, axes)", _same_rank_unknown_order, "view"
)


@rule(np.roll, kind=copied)
def roll(y, a, shift, axis=None):
    y_dot = np.roll(a_dot, shift, axis=axis)
    if is_number(shift):
        a_bar = np.roll(y_bar, -shift, axis=axis)
    else:
        a_bar = np.roll(y_bar, np.negative(shift), axis=axis)


def _padded(call, kind_of):
    """Longer on both sides, by a number that is written out."""
    kind, width = kind_of(call.args[0]), argument(call, 1, "pad_width")
    if not kind.rank or not isinstance(width, ir.Const) or type(width.value) is not int:
        return _same_rank_unknown_order(call, kind_of)
    return Kind("array", kind.dtype, tuple(longer(size, 2 * width.value) for size in kind.shape))


@rule(np.pad, kind=_padded)
def pad(y, array, pad_width, mode="constant", *, constant_values=0):
    if mode in ("constant", "empty"):
        y_dot = np.pad(array_dot, pad_width)
        array_bar = unpad(y_bar, array, pad_width)
    else:
        y_dot = pad_entries(array_dot, pad_width, mode)
        array_bar = unpad(y_bar, array, pad_width, mode)


linear(
    "unpad(g, like, pad_width, mode='constant')",
    "np.pad(y_bar, pad_width, mode=mode)",
    same_as(1),
    "maybe",
)
linear("np.resize(a, new_shape)", "unresize(y_bar, a)", lambda call, kind_of: Kind("array"))
linear("unresize(g, like)", "np.resize(y_bar, np.shape(g))", same_as(1))


@rule(np.trim_zeros, view="maybe", kind=array_of_rank(1, "?"))
def trim_zeros(y, filt, trim="fb"):
    y_dot = filt_dot[trimmed(filt, trim)]
    filt_bar = untrim(y_bar, filt, trim)


linear(
    "np.lib.stride_tricks.sliding_window_view(x, window_shape, axis=None)",
    "unslide(y_bar, x, window_shape, axis)",
    unknown,
    "view",
)


@rule(np.lib.stride_tricks.as_strided, view="maybe", kind=unknown)
def as_strided(y, x, shape=None, strides=None, subok=False, writeable=True):
    y_dot = strided(x_dot, x, shape, strides)
    x_bar = unstrided(y_bar, x, shape, strides)


linear(
    "strided(g, like, shape=None, strides=None)",
    "unstrided(y_bar, like, shape, strides)",
    unknown,
    "maybe",
)
linear(
    "unstrided(g, like, shape=None, strides=None)",
    "strided(y_bar, like, shape, strides)",
    same_as(1),
)
linear("untrim(g, x, trim='fb')", "y_bar[trimmed(x, trim)]", same_as(1))
linear(
    "unslide(g, like, window_shape, axis=None)",
    "np.lib.stride_tricks.sliding_window_view(y_bar, window_shape, axis)",
    same_as(1),
)


# ------------------------------------------------------------------------ copies and casts


@rule(np.copy, kind=copied)
def copy(y, a, order="K"):
    y_dot = np.copy(a_dot)
    a_bar = y_bar


@rule(np.ndarray.copy, kind=first)
def copy_of(y, a, order="K"):
    if is_array(a):
        y_dot = np.copy(a_dot)
    elif is_number(a):
        y_dot = a_dot
    else:
        y_dot = shallow_dot(a_dot, a)
    a_bar = y_bar


@asked_of_values
def _cast(call, kind_of):
    from .kinds_of import dtype_class

    kind = kind_of(call.args[0])
    return Kind("array", dtype_class(argument(call, 1, "dtype")), kind.shape)


def _cast_view(call):
    """What is asked not to be copied may be the array itself."""
    return "maybe" if "copy" in dict(call.kwargs) or len(call.args) > 3 else "no"


@rule(np.ndarray.astype, "numpy.astype", view=_cast_view, kind=_cast)
def astype(y, x, dtype, order="K", casting="unsafe", subok=True, copy=True):
    if copy:
        y_dot = x_dot.astype(float_dtype(dtype))
    else:
        y_dot = x_dot.astype(float_dtype(dtype), copy=False)
    x_bar = cast_like(uncast(y_bar, dtype), x)


linear("cast_like(g, like)", "cast_like(y_bar, g)", same_as(1), "maybe")


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
