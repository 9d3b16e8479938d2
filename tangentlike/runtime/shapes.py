"""Adjoints of operations that move entries about: reshape, join, repeat, pad, cast.

Each is linear, reads only shapes of the primal values, and has a rule of its own
(`rules/shape.py`), so that emitted code can be differentiated again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .broadcasting import _is_complex, number_like, real_part, unbroadcast
from .buffers import arange
from .records import SEQUENCES, Entries, Mirror, in_form_of

# Modes of np.pad whose border is made of entries of the array.
_COPYING_MODES = ("edge", "reflect", "symmetric", "wrap")


def swap_last(x: Any) -> Any:
    """The transposed matrix, for each matrix of a stack; a vector is left as it is.

    >>> swap_last(np.zeros((4, 2, 3))).shape
    (4, 3, 2)
    """
    if np.ndim(x) < 2:
        return x
    if hasattr(x, "tocsr"):  # a sparse matrix, which knows no other order of axes
        return x.T
    return np.swapaxes(x, -1, -2)


def inverse_axes(axes: Sequence[int] | None) -> tuple[int, ...] | None:
    """The permutation that undoes `np.transpose(x, axes)`.

    >>> inverse_axes((2, 0, -2))
    (1, 2, 0)
    """
    if axes is None:
        return None
    count = len(axes)
    return tuple(sorted(range(count), key=lambda i: axes[i] % count))


def method_axes(axes: tuple[Any, ...]) -> Sequence[int] | None:
    """The axes meant by `x.transpose(*axes)`, which takes them loose or as one tuple.

    >>> method_axes(((1, 0),)), method_axes((1, 0)), method_axes(())
    ((1, 0), (1, 0), None)
    """
    if len(axes) == 1 and (axes[0] is None or not isinstance(axes[0], int)):
        return axes[0]
    return axes or None


def unroll_axis(g: Any, axis: int, start: int = 0) -> Any:
    """Undo `np.rollaxis(x, axis, start)`.

    >>> unroll_axis(np.rollaxis(np.zeros((2, 3, 4)), 2, 1), 2, 1).shape
    (2, 3, 4)
    """
    rank = np.ndim(g)
    axis = axis % rank
    start = start + rank if start < 0 else start
    return np.moveaxis(g, start - 1 if axis < start else start, axis)


def reshape_like(g: Any, like: Any) -> Any:
    """`g` in the shape of `like`, a number where `like` is one.

    >>> reshape_like(np.array([[2.0]]), 1.0)
    2.0
    """
    shape = np.shape(like)
    if shape == () and isinstance(like, (float, complex)):
        return g.item() if isinstance(g, np.ndarray) else g
    return np.reshape(g, shape)


def split_like(g: Any, parts: Sequence[Any], axis: int | None = 0) -> Any:
    """Cut the adjoint of joined arrays into the adjoints of its parts: a list, or an array where
    these were the rows of one.

    Serves `concatenate` and all its relatives: how far a part reaches along `axis` follows
    from its size, and each piece gets the shape of its part (and is real where that is real).

    >>> [p.shape for p in split_like(np.zeros((3, 2)), [np.zeros(2), np.zeros((2, 2))], 0)]
    [(2,), (2, 2)]
    """
    if axis is None:
        axis = 0
    axis = axis % g.ndim
    others = math.prod(n for i, n in enumerate(g.shape) if i != axis)
    before = (slice(None),) * axis
    pieces, begin = [], 0
    for part in parts:
        shape = np.shape(part)
        extent = math.prod(shape) // others if others else shape[axis]
        piece = reshape_like(g[before + (slice(begin, begin + extent),)], part)
        pieces.append(cast_like(piece, part) if g.dtype.kind == "c" else piece)
        begin += extent
    return in_form_of(parts, pieces) if isinstance(parts, SEQUENCES) else np.stack(pieces)


def unsplit(pieces: Sequence[Any], like: Any, places: Any, axis: int = 0) -> Any:
    """The adjoint of `np.split(like, places, axis)`: the pieces side by side, or their sum where
    places that do not ascend make the parts overlap.

    >>> unsplit([np.ones(2), np.ones(0), np.ones(2)], np.zeros(3), [2, 1])
    array([1., 2., 1.])
    """
    joined = np.concatenate(pieces, axis=axis)
    if joined.shape[axis] == np.shape(like)[axis]:
        return joined
    total = np.zeros_like(joined, shape=np.shape(like))
    for part, piece in zip(np.split(total, places, axis=axis), pieces, strict=True):
        part += piece
    return total


def join_like(pieces: Sequence[Any], g: Any, axis: int | None = 0) -> Any:
    """The adjoint of `split_like`: the pieces side by side, in the shape of `g`.

    >>> join_like([np.ones(2), np.zeros((2, 2))], np.zeros((3, 2)), 0)[0]
    array([1., 1.])
    """
    if axis is None:
        axis = 0
    axis = axis % g.ndim
    shape = list(g.shape)
    others = math.prod(n for i, n in enumerate(shape) if i != axis)
    flat = []
    for piece in pieces:
        shape[axis] = np.size(piece) // others if others else np.shape(piece)[axis]
        flat.append(np.reshape(piece, shape))
    return np.concatenate(flat, axis=axis)


def hstack_axis(parts: Sequence[Any]) -> int:
    """The axis along which `np.hstack` joins."""
    return 0 if np.ndim(parts[0]) <= 1 else 1


def unstack(g: Any, axis: int = 0) -> list[Any]:
    """The slices of `g` along `axis`, as a list: what `np.stack` put together.

    >>> [p.shape for p in unstack(np.zeros((3, 2)), 1)]
    [(3,), (3,)]
    """
    return list(np.moveaxis(g, axis, 0))


def unblock(g: Any, blocks: Any) -> Any:
    """The pieces of `np.block(blocks)`, nested as `blocks` is.

    >>> [p.shape for p in unblock(np.zeros(5), [np.zeros(2), np.zeros(3)])]
    [(2,), (3,)]
    """
    depth, probe = 0, blocks
    while isinstance(probe, list):
        depth, probe = depth + 1, probe[0]
    rank = max(g.ndim, depth)
    return _unblock(np.reshape(g, (1,) * (rank - g.ndim) + g.shape), blocks, rank, depth)


def _unblock(g: Any, blocks: Any, rank: int, depth: int) -> Any:
    if not isinstance(blocks, list):
        return reshape_like(g, blocks)
    axis, begin, pieces = rank - depth, 0, []
    for block in blocks:
        extent = _extent(block, axis, rank, depth - 1)
        key = (slice(None),) * axis + (slice(begin, begin + extent),)
        pieces.append(_unblock(g[key], block, rank, depth - 1))
        begin += extent
    return pieces


def _extent(block: Any, axis: int, rank: int, depth: int) -> int:
    """How far a nested block reaches along `axis` (blocks are joined innermost last)."""
    while isinstance(block, list):
        block = block[0]
    shape = (1,) * (rank - np.ndim(block)) + np.shape(block)
    return shape[axis]


def nest_like(g: Any, nested: Any) -> Any:
    """The adjoint of `np.array(nested)`: entries of `g` in the nesting of `nested`.

    >>> nest_like(np.array([[1.0, 2.0], [3.0, 4.0]]), [[0.0, 0.0], (0.0, 0.0)])
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if isinstance(nested, SEQUENCES):
        return in_form_of(nested, Entries(nest_like(g[i], item) for i, item in enumerate(nested)))
    if isinstance(nested, float):
        return float(number_like(g, nested))
    return cast_like(g, nested)


def cast_like(g: Any, like: Any) -> Any:
    """`g` with the dtype of `like`; the imaginary part is dropped where `like` is real.

    >>> cast_like(np.array([1.0 + 2.0j]), np.zeros(1, np.float32))
    array([1.], dtype=float32)
    """
    if isinstance(like, SEQUENCES):
        parts = [cast_like(part, item) for part, item in zip(g, like, strict=True)]
        return in_form_of(g, parts)
    if isinstance(g, dict):
        return {key: cast_like(part, like[key]) for key, part in g.items()}
    if isinstance(g, Mirror):
        cast = ((name, cast_like(part, getattr(like, name))) for name, part in vars(g).items())
        return Mirror(**dict(cast))
    dtype = getattr(like, "dtype", None)
    if dtype is None or isinstance(like, np.generic):
        g = number_like(g, like)
    if dtype is None:
        return g if isinstance(like, complex) else np.real(g)
    if type(g) is not complex and getattr(g, "dtype", None) == dtype:
        return g  # (NumPy calls None and float64 equal: a Python number passes)
    if dtype.kind != "c" and _is_complex(g):
        g = real_part(g)
    if dtype.kind not in "fc":
        return g  # (no derivative is an integer, but who calls a text with such)
    return g.astype(dtype) if hasattr(g, "astype") else dtype.type(g)


def float_dtype(dtype: Any) -> Any:
    """`dtype` itself, provided that derivatives pass a cast to it.

    >>> float_dtype("float32")
    'float32'
    """
    if np.dtype(dtype).kind not in "fc":
        raise TypeError(
            f"a cast to {np.dtype(dtype)} cuts the derivative here: write the dtype out in the "
            "call, or apply stop_gradient to the value that is cast"
        )
    return dtype


def untile(g: Any, like: Any, reps: Any) -> Any:
    """The adjoint of `np.tile(like, reps)`: the sum over all copies.

    >>> untile(np.arange(6.0), np.zeros(3), 2)
    array([3., 5., 7.])
    """
    shape = np.shape(like)
    counts = (int(reps),) if np.ndim(reps) == 0 else tuple(int(n) for n in reps)
    rank = max(len(shape), len(counts))
    long_shape = (1,) * (rank - len(shape)) + tuple(shape)
    counts = (1,) * (rank - len(counts)) + counts
    split = [n for pair in zip(counts, long_shape, strict=True) for n in pair]
    total = np.sum(np.reshape(g, split), axis=tuple(range(0, 2 * rank, 2)))
    return reshape_like(total, like)


def unrepeat(g: Any, like: Any, repeats: Any, axis: int | None = None) -> Any:
    """The adjoint of `np.repeat(like, repeats, axis)`: the sum over each entry's copies.

    >>> unrepeat(np.ones(3), np.zeros(2), [2, 1])
    array([2., 1.])
    """
    count = np.size(like) if axis is None else np.shape(like)[axis]
    flat = np.reshape(g, -1) if axis is None else np.moveaxis(g, axis, 0)
    if np.size(repeats) == 1:
        each = np.reshape(flat, (count, g.size and len(flat) // count, *flat.shape[1:]))
        total = np.sum(each, axis=1)
    else:
        positions = np.repeat(arange(count, g), repeats)
        total = np.zeros_like(g, shape=(count, *flat.shape[1:]))
        np.add.at(total, positions, flat)
    return reshape_like(total if axis is None else np.moveaxis(total, 0, axis), like)


def pad_widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    """`pad_width` of `np.pad` written out: one (before, after) for each axis.

    >>> pad_widths(1, 2), pad_widths((1, 2), 1)
    ([(1, 1), (1, 1)], [(1, 2)])
    """
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * rank
        for axis, width in pad_width.items():
            widths[axis] = (width, width) if isinstance(width, int) else tuple(width)
        return widths
    return [(int(a), int(b)) for a, b in np.broadcast_to(pad_width, (rank, 2))]


def unpad(g: Any, like: Any, pad_width: Any, mode: str = "constant") -> Any:
    """The adjoint of `np.pad(like, pad_width, mode)`.

    Constant padding drops the border; a mode that copies entries into the border adds it
    back to the entries it came from.

    >>> unpad(np.arange(4.0), np.zeros(2), 1)
    array([1., 2.])
    >>> unpad(np.arange(4.0), np.zeros(2), 1, "edge")
    array([1., 5.])
    """
    shape = np.shape(like)
    if not shape:
        return g
    if mode == "constant":
        widths = pad_widths(pad_width, len(shape))
        inner = zip(widths, shape, strict=True)
        return g[tuple(slice(before, before + n) for (before, _), n in inner)]
    if mode not in _COPYING_MODES:
        raise NotImplementedError(f"np.pad has no mode {mode!r} that is differentiated")
    places = arange(math.prod(shape), g).reshape(shape)
    source = np.pad(places, pad_width, mode=mode)
    total = np.zeros_like(g, shape=(math.prod(shape),))
    np.add.at(total, source.ravel(), np.ravel(g))
    return np.reshape(total, shape)


def insert_rest(g: Any, arr: Any, obj: Any, axis: int | None = None) -> Any:
    """The entries of `g` that `np.insert(arr, obj, ..., axis)` took from `arr`."""
    kept = _along(axis, arr, _order(g, arr, obj, axis) < 0)
    return reshape_like(g[kept], arr)


def insert_zeros(x: Any, g: Any, obj: Any, axis: int | None = None) -> Any:
    """The adjoint of `insert_rest(g, x, obj, axis)`: zeros where others were inserted."""
    total = np.zeros_like(g)
    kept = _along(axis, x, _order(g, x, obj, axis) < 0)
    total[kept] = np.ravel(x) if axis is None else x
    return total


def inserted(g: Any, arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """The adjoint of `values` in `np.insert(arr, obj, values, axis)`.

    For a single position NumPy takes values without the inserted axis, or with it in front.
    """
    order = _order(g, arr, obj, axis)
    count = np.size(arr) if axis is None else np.shape(arr)[axis]
    new = g[_along(axis, arr, np.argsort(order)[count:])]
    if np.ndim(obj) == 0 and axis is not None and not isinstance(obj, slice):
        new = np.moveaxis(new, axis, 0)
        if np.ndim(values) < np.ndim(arr):
            new = new[0]
    return unbroadcast(new, values)


def _order(g: Any, arr: Any, obj: Any, axis: int | None) -> Any:
    """Along the axis, which of the inserted entries stands where; -1 for those of `arr`."""
    count = np.size(arr) if axis is None else np.shape(arr)[axis]
    more = (np.size(g) if axis is None else np.shape(g)[axis]) - count
    return np.insert(np.full_like(g, -1, shape=(count,), dtype=int), obj, arange(more, g))


def _along(axis: int | None, arr: Any, key: Any) -> tuple[Any, ...]:
    """A key of one axis, all entries of the others."""
    return (slice(None),) * (0 if axis is None else axis % np.ndim(arr)) + (key,)


def delete_rest(g: Any, arr: Any, obj: Any, axis: int | None = None) -> Any:
    """The adjoint of `np.delete(arr, obj, axis)`: zero at what was deleted."""
    count = np.size(arr) if axis is None else np.shape(arr)[axis]
    kept = np.delete(arange(count, g), obj)
    before = 0 if axis is None else axis % np.ndim(arr)
    shape = (np.size(arr),) if axis is None else np.shape(arr)
    total = np.zeros_like(g, shape=shape)
    total[(slice(None),) * before + (kept,)] = g
    return np.reshape(total, np.shape(arr))


def uncast(g: Any, dtype: Any) -> Any:
    """`g` itself, provided that derivatives pass a cast to `dtype`."""
    float_dtype(dtype)
    return g


def each_broadcast(parts: Sequence[Any], likes: Sequence[Any]) -> tuple[Any, ...]:
    """Each part with the shape of the array it belongs to: itself, which may be written as the
    array may (an array of a number), or a read-only view."""
    return tuple(
        np.broadcast_to(part, like.shape)
        if np.shape(part) != like.shape
        else np.asarray(part)
        if isinstance(part, (float, complex, np.generic))
        else part
        for part, like in zip(parts, likes, strict=True)
    )


def pad_entries(x: Any, pad_width: Any, mode: str) -> Any:
    """`np.pad` in a mode that copies entries into the border (others are refused)."""
    if mode not in _COPYING_MODES:
        raise NotImplementedError(f"np.pad has no mode {mode!r} that is differentiated")
    return np.pad(x, pad_width, mode=mode)


def unresize(g: Any, like: Any) -> Any:
    """The adjoint of `np.resize(like, shape)`: entries come round again and are summed.

    >>> unresize(np.ones(5), np.zeros(2))
    array([3., 2.])
    """
    count = np.size(like)
    total = np.zeros_like(g, shape=(count,))
    if count:
        np.add.at(total, arange(g.size, g) % count, np.reshape(g, (-1,)))
    return reshape_like(total, like)


def trimmed(x: Any, trim: str = "fb") -> slice:
    """What `np.trim_zeros(x, trim)` keeps.

    >>> trimmed(np.array([0.0, 1.0, 0.0]))
    slice(1, 2, None)
    """
    places = np.flatnonzero(x)
    if not places.size:
        return slice(0, 0)
    first = int(places[0]) if "f" in trim.lower() else 0
    last = int(places[-1]) + 1 if "b" in trim.lower() else len(x)
    return slice(first, last)


def untrim(g: Any, x: Any, trim: str = "fb") -> Any:
    """The adjoint of `np.trim_zeros(x, trim)`."""
    total = np.zeros_like(x, dtype=g.dtype)
    total[trimmed(x, trim)] = g
    return total


def unslide(g: Any, like: Any, window_shape: Any, axis: Any = None) -> Any:
    """The adjoint of a sliding window view: each entry sums over the windows it is in.

    >>> unslide(np.ones((2, 3)), np.zeros(4), 3)
    array([1., 2., 2., 1.])
    """
    source = arange(math.prod(np.shape(like)), g).reshape(np.shape(like))
    windows = np.lib.stride_tricks.sliding_window_view(source, window_shape, axis)
    total = np.zeros_like(g, shape=(source.size,))
    np.add.at(total, windows.ravel(), np.ravel(g))
    return np.reshape(total, np.shape(like))


# --------------------------------------------------------------------------------------------------
# Entries in the order in which an array holds them: `order="A"` and `order="K"`.


def order_of(a: Any, order: str) -> str:
    """What `order` means for `a`: "A" is "F" for an array in Fortran's order, otherwise "C".

    >>> order_of(np.zeros((2, 3)).T, "A"), order_of(np.zeros((2, 3)), "A")
    ('F', 'C')
    """
    return ("F" if a.flags.fnc else "C") if order == "A" else order


def ravel_as(g: Any, a: Any, order: str) -> Any:
    """The entries of `g` in the order in which `np.ravel(a, order)` takes those of `a`.

    >>> a = np.array([[1.0, 2.0], [3.0, 4.0]]).T
    >>> ravel_as(a, a, "K")
    array([1., 2., 3., 4.])
    """
    if order != "K":
        return np.ravel(g, order_of(a, order))
    return np.ravel(np.transpose(g, _axes_in_memory(a)))


def unravel_as(g: Any, a: Any, order: str) -> Any:
    """The adjoint of `np.ravel(a, order)`.

    >>> a = np.array([[1.0, 2.0], [3.0, 4.0]]).T
    >>> unravel_as(np.ravel(a, "K"), a, "K")
    array([[1., 3.],
           [2., 4.]])
    """
    if order != "K":
        return np.reshape(g, np.shape(a), order=order_of(a, order))
    axes = _axes_in_memory(a)
    return np.transpose(np.reshape(g, [a.shape[i] for i in axes]), np.argsort(axes))


def _axes_in_memory(a: Any) -> list[int]:
    """The axes from that of the longest stride to that of the shortest."""
    strides = np.empty_like(a, order="K", subok=False).strides  # (a copy resolves equal strides)
    return sorted(range(a.ndim), key=lambda i: (-strides[i], i))


# --------------------------------------------------------------------------------------------------
# `np.r_[a, b]` and `np.c_[a, b]` as functions of a list.


def row_join(parts: Sequence[Any]) -> Any:
    """Numbers and arrays one after the other.

    >>> row_join([0.0, np.ones(2)])
    array([0., 1., 1.])
    """
    return np.r_[tuple(parts)]


def column_join(parts: Sequence[Any]) -> Any:
    """Vectors as columns, matrices side by side.

    >>> column_join([np.zeros(2), np.ones(2)])
    array([[0., 1.],
           [0., 1.]])
    """
    return np.c_[tuple(parts)]
