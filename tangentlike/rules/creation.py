"""Rules of functions that make arrays."""

import functools
from array import array as typed_array

import numpy as np

from .. import ir, runtime
from ..ir.kind import UNKNOWN, Kind
from ..runtime import buffers
from .book import KindOf, nondifferentiable, rule
from .index_kinds import places
from .kinds_of import (
    SEQUENCE,
    argument,
    array_of_rank,
    dim,
    dtype_class,
    equal_sizes,
    first,
    holds_objects,
    promote,
    shape_from_argument,
    unknown,
)
from .tables import linear


def _converted(call, kind_of):
    kind = kind_of(call.args[0])
    dtype = argument(call, 1, "dtype")
    if holds_objects(dtype):
        return UNKNOWN
    found = kind.dtype if dtype is None else dtype_class(dtype, kind.dtype)
    if dict(call.kwargs).get("ndmin", ir.Const(0)) != ir.Const(0):
        return Kind("array", found if kind.form in ("number", "array") else "?")
    made = array_of(call.args[0], kind_of)
    return Kind("array", dtype_class(dtype, made.dtype), made.shape)


def array_of(expr, kind_of):
    """The array that NumPy makes of a value: of a number it has rank 0."""
    kind = kind_of(expr)
    if kind.form in ("number", "array"):
        return Kind("array", kind.dtype, kind.shape)
    sizes = _sizes_of(kind)
    if sizes is None:
        rank = _depth(expr, kind_of)
        sizes = None if rank is None else (None,) * rank
    return Kind("array", _dtype_of(kind), sizes)


def copied(call, kind_of):
    """An array of its own of the first argument; of an object perhaps something else."""
    found = first(call, kind_of)
    known = found.form in ("number", "array", "value", "list", "tuple")
    return array_of(call.args[0], kind_of) if known else found


def _dtype_of(kind):
    """The dtype class of the array of a value. (That of no items is float, whatever they are.)"""
    if kind.form not in ("list", "tuple"):
        return kind.dtype if kind.form in ("number", "array", "value") else "?"
    if kind.items:
        found = {_dtype_of(part) for part in kind.items}
        return "?" if "?" in found else functools.reduce(promote, sorted(found))
    return "float" if kind.item is not None and _dtype_of(kind.item) == "float" else "?"


def _sizes_of(kind):
    """The shape of the array of a value; None where its rank is not known."""
    if kind.form not in ("list", "tuple"):
        return kind.shape if isinstance(kind.shape, tuple) else None
    parts = kind.items or (() if kind.item is None else (kind.item,))
    inner = [_sizes_of(part) for part in parts]
    if not inner or None in inner or len(set(map(len, inner))) > 1:
        return None
    length = kind.length if kind.items is None else len(kind.items)
    if kind.form == "list" and isinstance(kind.grown, tuple):
        (length,) = kind.grown
    return (length, *map(equal_sizes, zip(*inner, strict=True)))


def _depth(expr, kind_of):
    """How many axes the array of a value has; None where that is not known."""
    if isinstance(expr, ir.Display) and expr.form in ("list", "tuple") and expr.items:
        return _one_more({_depth(item, kind_of) for item in expr.items})
    return _depth_of(kind_of(expr))


def _one_more(ranks):
    return 1 + ranks.pop() if len(ranks) == 1 and None not in ranks else None


def _depth_of(kind):
    if kind.form not in ("list", "tuple"):
        return kind.rank
    parts = kind.items or (() if kind.item is None else (kind.item,))
    return _one_more({_depth_of(part) for part in parts})


@rule(np.array, kind=_converted)
def array(y, object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    if copy is not True:
        pass  # may be the array itself: np.asarray says so
    elif ndmin == 0 and dtype is None and is_array(object):
        y_dot = np.array(object_dot)
        object_bar = y_bar
    elif ndmin == 0 and dtype is None:
        y_dot = np.array(object_dot)
        object_bar = nest_like(y_bar, object)
    elif ndmin == 0 and is_array(object):
        y_dot = np.array(object_dot, dtype=float_dtype(dtype))
        object_bar = uncast(y_bar, dtype)
    elif ndmin == 0:
        y_dot = np.array(object_dot, dtype=float_dtype(dtype))
        object_bar = nest_like(uncast(y_bar, dtype), object)
    else:
        y_dot = np.array(object_dot, dtype=float_dtype(y.dtype), ndmin=ndmin)
        object_bar = nest_like(reshape_like(uncast(y_bar, y.dtype), object), object)


@rule(typed_array, kind=unknown)
def of_one_type(y, typecode, initializer=()):
    y_dot = list(initializer_dot)
    initializer_bar = nest_like(np.array(y_bar), initializer)


@rule(
    *(np.asarray, np.asanyarray, np.asarray_chkfinite),
    view="maybe",
    kind=_converted,
)
def asarray(y, a, dtype=None, order=None, *, device=None, copy=None):
    if dtype is None and is_array(a):
        y_dot = a_dot
        a_bar = y_bar
    elif dtype is None:
        y_dot = np.asarray(a_dot)
        a_bar = nest_like(y_bar, a)
    elif is_array(a):
        y_dot = np.asarray(a_dot, dtype=float_dtype(dtype))
        a_bar = uncast(y_bar, dtype)
    else:
        y_dot = np.asarray(a_dot, dtype=float_dtype(dtype))
        a_bar = nest_like(uncast(y_bar, dtype), a)


linear("np.ndarray.to_device(x, device, *, stream=None)", "y_bar", first, "view")


@rule(np.require, view="maybe", kind=_converted)
def require(y, a, dtype=None, requirements=None):
    if dtype is None and is_array(a):
        y_dot = a_dot
        a_bar = y_bar
    else:
        y_dot = np.require(a_dot, float_dtype(y.dtype), requirements)
        a_bar = nest_like(uncast(y_bar, y.dtype), a)


def _contiguous(call, kind_of):
    kind = _converted(call, kind_of)
    return Kind("array", kind.dtype, (None,) if kind.rank == 0 else kind.shape)


@rule(np.ascontiguousarray, np.asfortranarray, view="maybe", kind=_contiguous)
def contiguous(y, a, dtype=None):
    if dtype is None:
        y_dot = np.atleast_1d(a_dot)
        a_bar = nest_like(reshape_like(y_bar, a), a)
    else:
        y_dot = np.atleast_1d(np.asarray(a_dot, dtype=float_dtype(y.dtype)))
        a_bar = nest_like(reshape_like(uncast(y_bar, y.dtype), a), a)


linear("nest_like(g, nested)", "np.array(y_bar)", unknown, "maybe")


# ----------------------------------------------------------------------- filled, spaced


def _full(call, kind_of):
    """An array of the fill value's dtype, which is surely one of floats where that is written."""
    fill = argument(call, 1, "fill_value")
    value = getattr(fill, "value", getattr(fill, "obj", None))
    dtype = "float" if isinstance(value, float) else "?"
    return shape_from_argument(0, dtype=dtype, dtype_place=2)(call, kind_of)


@rule(np.full, kind=_full)
def full(y, shape, fill_value, dtype=None, order="C"):
    if dtype is None:
        y_dot = np.full(shape, fill_value_dot)
        fill_value_bar = unbroadcast(y_bar, fill_value)
    else:
        y_dot = np.full(shape, fill_value_dot, dtype=float_dtype(dtype))
        fill_value_bar = unbroadcast(uncast(y_bar, dtype), fill_value)


def _like_first(dtype_place, shape_place):
    """An array like the first argument, unless `dtype=` or `shape=` says otherwise."""

    def kind(call, kind_of):
        found = copied(call, kind_of)
        shape, dtype = argument(call, shape_place, "shape"), argument(call, dtype_place, "dtype")
        if shape not in (None, ir.Const(None)):
            found = shape_from_argument(shape_place, dtype=found.dtype)(call, kind_of)
        if dtype in (None, ir.Const(None)):
            return found
        return Kind(found.form, dtype_class(dtype, found.dtype), found.shape)

    return kind


@rule(np.full_like, kind=_like_first(2, 5))
def full_like(y, a, fill_value, dtype=None, order="K", subok=True, shape=None):
    y_dot = np.full_like(y, fill_value_dot, dtype=float_dtype(y.dtype))
    a_bar = 0
    fill_value_bar = unbroadcast(uncast(y_bar, y.dtype), fill_value)


def _spaced(call, kind_of):
    """Of numbers a vector as long as the third argument says."""
    ends = [argument(call, 0, "start"), argument(call, 1, "stop")]
    kinds = [kind_of(end) for end in ends]
    words = set(dict(call.kwargs)) - {"start", "stop", "num", "endpoint"}
    if words or len(call.args) > 4 or any(kind.form != "number" for kind in kinds):
        return unknown(call, kind_of)
    dtype = "complex" if any(k.dtype == "complex" for k in kinds) else "float"
    dtype = "?" if any(k.dtype == "?" for k in kinds) else dtype
    return Kind("array", dtype, (dim(argument(call, 2, "num", 50), kind_of),))


@rule(np.linspace, kind=_spaced)
def linspace(y, start, stop, num=50, endpoint=True, *, dtype=None, axis=0):
    if dtype is None:
        along = steps(y, endpoint, axis)
        y_dot = broadcast_like(
            np.expand_dims(start_dot, axis) * (1.0 - along)
            + np.expand_dims(stop_dot, axis) * along,
            y,
        )
        start_bar = unbroadcast(np.sum(y_bar * (1.0 - along), axis=axis), start)
        stop_bar = unbroadcast(np.sum(y_bar * along, axis=axis), stop)


@rule(np.logspace, kind=unknown)
def logspace(y, start, stop, num=50, endpoint=True, base=10.0):
    along = steps(y, endpoint)
    slope = y * np.log(base)
    y_dot = slope * (start_dot * (1.0 - along)) + slope * (stop_dot * along)
    start_bar = unbroadcast(np.sum(y_bar * conj(slope) * (1.0 - along), axis=0), start)
    stop_bar = unbroadcast(np.sum(y_bar * conj(slope) * along, axis=0), stop)


@rule(np.geomspace, kind=unknown)
def geomspace(y, start, stop, num=50, endpoint=True):
    along = steps(y, endpoint)
    y_dot = y * (1.0 - along) * (start_dot / start) + y * along * (stop_dot / stop)
    start_bar = unbroadcast(np.sum(y_bar * conj(y) * (1.0 - along), axis=0) / conj(start), start)
    stop_bar = unbroadcast(np.sum(y_bar * conj(y) * along, axis=0) / conj(stop), stop)


def _arange(call: ir.Call, kind_of: KindOf) -> Kind:
    """As many entries as there are rows, for `np.arange(len(x))`."""
    kinds = [kind_of(arg) for arg in call.args]
    if call.kwargs or not all(kind.integer for kind in kinds):
        return Kind("array", "?", (None,))
    return Kind("array", "int", (places(call.args, kind_of),))


@rule(np.arange, builder=True, kind=_arange)
def arange(call, kind_of):
    """Entries are `start + i * step`; how many there are is locally constant."""
    if len(call.args) < 2:
        return "def arange(y, stop, *, dtype=None):\n    stop_bar = 0"
    return """
def arange(y, start, stop, step=1, *, dtype=None):
    if dtype is None:
        y_dot = np.full(y.shape, start_dot) + np.arange(y.size) * step_dot
        start_bar = unbroadcast(y_bar, start)
        stop_bar = 0
        step_bar = unbroadcast(np.arange(y.size) * y_bar, step)
"""


def _grids(call, kind_of):
    """An array for each of two vectors, with the axes of both."""
    kinds, words = [kind_of(arg) for arg in call.args], dict(call.kwargs)
    if any(kind.form != "array" or kind.rank != 1 for kind in kinds) or len(kinds) != 2:
        return UNKNOWN
    if words.keys() - {"indexing"}:
        return UNKNOWN
    order = words.get("indexing", ir.Const("xy"))
    if order not in (ir.Const("xy"), ir.Const("ij")):
        return UNKNOWN
    sizes = tuple(kind.shape[0] for kind in kinds)
    shape = sizes if order == ir.Const("ij") else sizes[::-1]
    items = tuple(Kind("array", kind.dtype, shape) for kind in kinds)
    return Kind(SEQUENCE, items=items)


@rule(np.meshgrid, builder=True, kind=_grids)
def meshgrid(call, kind_of):
    """The adjoints of all vectors at once, in a sequence."""
    return """
def meshgrid(y, *xi, indexing="xy", sparse=False):
    y_dot = grid_dot(xi_dot, indexing, sparse)
    xi_bar = ungrid(y_bar, xi, indexing, sparse)
"""


linear(
    "grid_dot(dots, indexing='xy', sparse=False)", "ungrid(y_bar, dots, indexing, sparse)", unknown
)
linear("ungrid(g, axes, indexing='xy', sparse=False)", "grid_dot(y_bar, indexing, sparse)", unknown)


# ------------------------------------------------------------------- constants, by shape


def _matrix(dtype_place, columns_place=None):
    """A matrix of so many rows, and of as many columns if it is not said how many."""

    def kind(call, kind_of):
        rows = argument(call, 0, "n" if columns_place is None else "N")
        columns = rows if columns_place is None else argument(call, columns_place, "M")
        columns = rows if columns == ir.Const(None) else columns
        dtype = dtype_class(argument(call, dtype_place, "dtype"), "float")
        return Kind("array", dtype, (dim(rows, kind_of), dim(columns, kind_of)))

    return kind


nondifferentiable(np.zeros, np.ones, np.empty, kind=shape_from_argument(0, dtype_place=1))
nondifferentiable(np.zeros_like, np.ones_like, np.empty_like, kind=_like_first(1, 4))
nondifferentiable(np.eye, np.tri, kind=_matrix(3, columns_place=1))
nondifferentiable(np.identity, kind=_matrix(1))
nondifferentiable(
    *(np.bartlett, np.blackman, np.hamming, np.hanning, np.fft.rfftfreq), kind=array_of_rank(1)
)
nondifferentiable(
    np.fft.fftfreq, kind=lambda call, of: Kind("array", "float", (dim(call.args[0], of),))
)
nondifferentiable(runtime.steps, kind=unknown)
nondifferentiable(runtime.polyder_matrix, kind=array_of_rank(2))


@rule(buffers.asarray, kind=first, view="maybe")
def asarray_like(y, x, like):
    y_dot = x_dot
    x_bar = y_bar
    like_bar = 0


nondifferentiable(buffers.arange, kind=array_of_rank(1, "int"))
nondifferentiable(buffers.eye, kind=array_of_rank(2))
