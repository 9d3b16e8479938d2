"""What Numba lacks and derivatives use, made known to it: helpers of `tangentlike.runtime`, and
functions of Python and NumPy that it does not know, or takes with fewer options.

A form is for operands that Numba has none for; what it compiles itself stays as it is. An operand
that no form takes is refused by Numba when it compiles.
"""

from __future__ import annotations

import operator
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import lower_builtin, register_jitable

from .. import runtime
from . import python_calls
from .forms import (
    KNOWN,
    bare,
    body,
    floating,
    form,
    is_array,
    is_complex,
    is_none,
    is_number,
    literal,
    parts_of,
)


def _by_item(params: str, item: str, count: int) -> Any:
    """A function that gives a tuple of so many items."""
    items = "".join(f"{item.format(k=k)}, " for k in range(count))
    return register_jitable(eval(f"lambda {params}: ({items})", vars(runtime)))


# --------------------------------------------------------------------------------------------------
# Adjoints in the shape of their primals.


def _clipping(rank: int) -> Any:
    """The place in an array with axes of length 1 that a place in what it is broadcast to has."""
    parts = "".join(f"min(place[{k}], shape[{k}] - 1), " for k in range(rank))
    return register_jitable(eval(f"lambda place, shape: ({parts})"))


_CLIPPED = [_clipping(rank) for rank in range(1, 8)]


@form(runtime.unbroadcast)
def _unbroadcast(g: Any, like: Any) -> Any:
    real = not is_complex(like)
    if real and is_complex(g):
        return lambda g, like: runtime.unbroadcast(g.real, like)
    if is_number(like):
        return (lambda g, like: np.sum(g)) if is_array(g) else (lambda g, like: g)
    if not is_array(like) or not is_array(g):
        return None
    dtype, rank = floating(like), like.ndim
    if g.ndim > rank:
        return lambda g, like: runtime.unbroadcast(np.sum(g, axis=0), like)
    if g.ndim < rank:
        return lambda g, like: runtime.unbroadcast(np.expand_dims(g, 0), like)
    if rank == 0 or rank > len(_CLIPPED):
        return (lambda g, like: g) if rank == 0 else None
    clipped, exact = _CLIPPED[rank - 1], g.dtype == like.dtype

    def summed(g: Any, like: Any) -> Any:
        if g.shape == like.shape:
            return g if exact else g.astype(dtype)
        total = np.zeros(like.shape, dtype)
        for place in np.ndindex(g.shape):
            total[clipped(place, like.shape)] += g[place]
        return total

    return summed


@form(runtime.broadcast_like)
def _broadcast_like(g: Any, y: Any) -> Any:
    if is_number(y):
        return (lambda g, y: g.real) if is_complex(g) and not is_complex(y) else lambda g, y: g
    if not is_array(y) or (is_complex(g) and not is_complex(y)):
        return None
    dtype = floating(y)

    def spread(g: Any, y: Any) -> Any:
        full = np.empty(y.shape, dtype)
        full[...] = g
        return full

    return spread


@body(runtime.unreduce)
def _unreduce(g: Any, like: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return runtime.broadcast_like(runtime.kept(g, axis, keepdims), like)


@form(runtime.kept)
def _kept(g: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if is_none(axis) or literal(keepdims) is True:
        return lambda g, axis=None, keepdims=False: g
    return lambda g, axis=None, keepdims=False: np.expand_dims(g, axis)


@form(runtime.zeros_like)
def _zeros_like(x: Any) -> Any:
    dtype = floating(x)
    if is_number(x):
        zero = dtype.type(0)
        return lambda x: zero
    if isinstance(x, types.List) and isinstance(x.dtype, types.BaseTuple):
        zero = _by_item("x", "zeros_like(x[{k}])", len(x.dtype))
        return lambda x: [zero(item) for item in x]
    if isinstance(x, (types.List, types.UniTuple)):
        return lambda x: [runtime.zeros_like(item) for item in x]
    if isinstance(x, types.BaseTuple):
        return _by_item("x", "zeros_like(x[{k}])", len(x))
    if isinstance(x, types.DictType):
        return lambda x: {key: runtime.zeros_like(item) for key, item in x.items()}
    return (lambda x: np.zeros(x.shape, dtype)) if is_array(x) else None


@form(runtime.ones_like)
def _ones_like(x: Any) -> Any:
    dtype = floating(x)
    if is_number(x):
        one = dtype.type(1)
        return lambda x: one
    return (lambda x: np.ones(x.shape, dtype)) if is_array(x) else None


@form(runtime.scalar_seed)
def _scalar_seed(y: Any) -> Any:
    real = not is_complex(y) and (is_number(y) or (is_array(y) and y.ndim == 0))
    return _ones_like(y) if real else None


@form(runtime.require_scalar)
def _require_scalar(y: Any) -> Any:
    return (lambda y: None) if _scalar_seed(y) is not None else None


@form(runtime.require_real)
def _require_real(x: Any) -> Any:
    return None if is_complex(x) else lambda x: x


@form(runtime.require_floats)
def _require_floats(x: Any, listed: Any = False) -> Any:
    rounds = is_array(x) and isinstance(x.dtype, (types.Integer, types.Boolean))
    return None if rounds else lambda x, listed=False: None


@form(runtime.require_none)
def _require_none(x: Any) -> Any:
    return (lambda x: None) if is_none(x) else None


@form(runtime.repeatable)
def _repeatable(x: Any, asked: Any = False) -> Any:
    by_place = isinstance(x, (types.List, types.BaseTuple, types.Array))
    return (lambda x, asked=False: x) if by_place else None


@form(runtime.conj)
def _conj(x: Any) -> Any:
    return (lambda x: np.conj(x)) if is_complex(x) else lambda x: x


@form(runtime.adjoint_of_real)
def _adjoint_of_real(g: Any, like: Any) -> Any:
    if is_complex(g):
        return lambda g, like: runtime.adjoint_of_real(g.real, like)
    return (lambda g, like: g + 0j) if is_complex(like) else lambda g, like: g


@form(runtime.adjoint_of_imag)
def _adjoint_of_imag(g: Any, like: Any) -> Any:
    if is_complex(g):
        return lambda g, like: runtime.adjoint_of_imag(g.real, like)
    return (lambda g, like: 1j * g) if is_complex(like) else lambda g, like: 0.0 * g


@form(runtime.uncast)
def _uncast(g: Any, dtype: Any) -> Any:
    return lambda g, dtype: g


@form(runtime.cast_like)
def _cast_like(g: Any, like: Any) -> Any:
    dtype = floating(like)
    if is_complex(g) and not is_complex(like):
        return lambda g, like: runtime.cast_like(g.real, like)
    if is_array(g) and g.dtype != getattr(like, "dtype", None):
        return lambda g, like: g.astype(dtype)
    return lambda g, like: g


@form(runtime.nest_like)
def _nest_like(g: Any, nested: Any) -> Any:
    if isinstance(nested, types.List) and is_array(g):
        return lambda g, nested: [runtime.nest_like(g[i], x) for i, x in enumerate(nested)]
    return _cast_like(g, nested) if is_array(nested) or is_number(nested) else None


@form(runtime.reshape_like)
def _reshape_like(g: Any, like: Any) -> Any:
    if is_number(like):
        return (lambda g, like: g.flat[0]) if is_array(g) else lambda g, like: g
    return lambda g, like: np.ascontiguousarray(g).reshape(like.shape)


@form(runtime.copy)
def _copy(x: Any) -> Any:
    if is_number(x):
        return lambda x: x
    if isinstance(x, types.BaseTuple):
        return _by_item("x", "copy(x[{k}])", len(x))
    return (lambda x: x.copy()) if is_array(x) else None


@form(runtime.accumulate)
def _accumulate(a: Any, b: Any) -> Any:
    if isinstance(a, types.BaseTuple) and isinstance(b, (types.BaseTuple, types.List)):
        return _by_item("a, b", "accumulate(a[{k}], b[{k}])", len(a))
    lists = [isinstance(each, (types.List, types.UniTuple)) for each in (a, b)]
    if not any(lists):
        return lambda a, b: a + b
    if not all(lists):
        return None
    return lambda a, b: [runtime.accumulate(a[k], b[k]) for k in range(len(a))]


@form(runtime.add_at)
def _add_at(x_bar: Any, key: Any, g: Any) -> Any:
    if isinstance(x_bar, (types.List, types.DictType)) and isinstance(key, types.Integer):

        def item(x_bar: Any, key: Any, g: Any) -> Any:
            x_bar[key] = runtime.accumulate(x_bar[key], g)
            return x_bar

        return item
    if not is_array(x_bar):
        return None
    vector = is_array(key) and key.ndim == 1
    mask = vector and isinstance(key.dtype, types.Boolean)
    basic = (types.Integer, types.SliceType, types.EllipsisType)
    if mask or all(isinstance(part, basic) for part in parts_of(key)):

        def once(x_bar: Any, key: Any, g: Any) -> Any:
            x_bar[key] += g
            return x_bar

        return once
    if not vector:
        return None
    by_row = is_array(g) and g.ndim == x_bar.ndim

    def rows(x_bar: Any, key: Any, g: Any) -> Any:
        for place in range(len(key)):
            x_bar[key[place]] += g[place if g.shape[0] > 1 else 0]
        return x_bar

    def alike(x_bar: Any, key: Any, g: Any) -> Any:
        for place in range(len(key)):
            x_bar[key[place]] += g
        return x_bar

    return rows if by_row else alike


@form(runtime.survivors)
def _survivors(a: Any, key: Any) -> Any:
    parts = parts_of(key)
    if not any(is_array(part) and isinstance(part.dtype, types.Integer) for part in parts):
        return lambda a, key: 1.0
    if len(parts) > 1 or key.ndim > 1:
        return None

    def last_ones(a: Any, key: Any) -> Any:
        last, made = np.empty(a.shape[0], np.intp), np.zeros(a[key].shape)
        for k in range(len(key)):
            last[key[k]] = k
        for k in range(len(key)):
            if last[key[k]] == k:
                made[k] = 1.0
        return made

    return last_ones


# --------------------------------------------------------------------------------------------------
# Adjoints of products, of factors and of sums that run along an axis.


@form(runtime.swap_last)
def _swap_last(x: Any) -> Any:
    if not is_array(x) or x.ndim < 2:
        return lambda x: x
    return (lambda x: x.T) if x.ndim == 2 else lambda x: np.swapaxes(x, -1, -2)


@body(runtime.adjoint_matrix)
def _adjoint_matrix(x: Any) -> Any:
    return runtime.conj(runtime.swap_last(x))


@form(runtime.matmul_bar_a)
def _matmul_bar_a(g: Any, a: Any, b: Any) -> Any:
    match getattr(a, "ndim", 0), getattr(b, "ndim", 0):
        case (2, 2):
            return lambda g, a, b: g @ runtime.conj(b).T
        case (2, 1):
            return lambda g, a, b: np.outer(g, runtime.conj(b))
        case (1, 2):
            return lambda g, a, b: runtime.conj(b) @ g
        case (1, 1):
            return lambda g, a, b: g * runtime.conj(b)
    return None


@form(runtime.matmul_bar_b)
def _matmul_bar_b(g: Any, a: Any, b: Any) -> Any:
    match getattr(a, "ndim", 0), getattr(b, "ndim", 0):
        case (2, 2 | 1):
            return lambda g, a, b: runtime.conj(a).T @ g
        case (1, 2):
            return lambda g, a, b: np.outer(runtime.conj(a), g)
        case (1, 1):
            return lambda g, a, b: g * runtime.conj(a)
    return None


form(runtime.dot_bar_a)(_matmul_bar_a)
form(runtime.dot_bar_b)(_matmul_bar_b)


@form(np.vdot)
def _vdot(a: Any, b: Any) -> Any:
    if getattr(a, "ndim", 0) == getattr(b, "ndim", 0) > 1:  # (of vectors Numba has it)
        return lambda a, b: np.sum(runtime.conj(a) * b)
    return None


@form(runtime.undiag)
def _undiag(g: Any, v: Any, k: Any = 0) -> Any:
    if is_array(v) and v.ndim == 1:
        return lambda g, v, k=0: np.diag(g, k)
    return lambda g, v, k=0: runtime.undiagonal(g, v, k)


@body(runtime.undiagonal)
def _undiagonal(g: Any, like: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    total = np.zeros(like.shape, g.dtype)
    for place in range(len(g)):
        total[place - min(offset, 0), place + max(offset, 0)] = g[place]
    return total


@body(runtime.untrace)
def _untrace(g: Any, like: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    total = np.zeros(like.shape)
    for place in range(min(like.shape[0] + min(offset, 0), like.shape[1] - max(offset, 0))):
        total[place - min(offset, 0), place + max(offset, 0)] = g
    return total


@body(runtime.transposed_inverse)
def _transposed_inverse(x: Any) -> Any:
    return runtime.adjoint_matrix(np.linalg.inv(x))


@form(runtime.uncumprod)
def _uncumprod(g: Any, x: Any, axis: Any = None) -> Any:
    if not is_array(x) or x.ndim != 1:
        return None

    def by_entry(g: Any, x: Any, axis: Any = None) -> Any:
        made, after, before = np.zeros(len(x)), np.zeros(len(x) + 1), 1.0
        for k in range(len(x) - 1, -1, -1):
            after[k] = g[k] + (x[k + 1] * after[k + 1] if k + 1 < len(x) else 0.0)
        for k in range(len(x)):
            made[k] = before * after[k]
            before = before * x[k]
        return made

    return by_entry


@form(runtime.solve_bar_a)
def _solve_bar_a(b_bar: Any, y: Any, a: Any, b: Any) -> Any:
    if not is_array(y) or not is_array(a) or a.ndim != 2:
        return None
    if y.ndim == 1:
        return lambda b_bar, y, a, b: -np.outer(b_bar, runtime.conj(y))
    return lambda b_bar, y, a, b: -(b_bar @ runtime.conj(y).T)


@form(runtime.untake)
def _untake(g: Any, like: Any, indices: Any, axis: Any = None, mode: Any = "raise") -> Any:
    plain = isinstance(mode, (types.Omitted, str)) or literal(mode) == "raise"
    known = is_array(like) and like.ndim == 1 and is_array(indices) and indices.ndim == 1
    if not plain or not known:
        return None
    return lambda g, like, indices, axis=None, mode="raise": runtime.add_at(
        np.zeros(len(like)), indices, g
    )


@register_jitable
def _slope_at(x, xp, fp):
    if not xp[0] <= x <= xp[-1]:
        return 0.0
    k = min(max(np.searchsorted(xp, x, side="right") - 1, 0), len(xp) - 2)
    return (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k])


@form(runtime.interp_slope)
def _interp_slope(x: Any, xp: Any, fp: Any) -> Any:
    if not is_array(xp) or not is_array(fp):
        return None
    if is_number(x):
        return lambda x, xp, fp: _slope_at(x, xp, fp)

    def each(x: Any, xp: Any, fp: Any) -> Any:
        made = np.empty(x.shape)
        for place in np.ndindex(x.shape):
            made[place] = _slope_at(x[place], xp, fp)
        return made

    return each


@form(runtime.extremum_share)
def _extremum_share(x: Any, y: Any, axis: Any = None, where: Any = True) -> Any:
    which, everywhere = literal(axis), where is True or isinstance(where, types.Omitted)
    if not is_array(x) or not everywhere or (which is None and not is_none(axis)):
        return None
    if which is None:

        def shares(x: Any, y: Any, axis: Any = None, where: Any = True) -> Any:
            hit = np.where(x == y, 1.0, 0.0)
            return hit / max(np.sum(hit), 1.0)

        return shares

    def along(x: Any, y: Any, axis: Any = None, where: Any = True) -> Any:
        hit = np.where(x == y, 1.0, 0.0)
        return hit / np.maximum(np.sum(hit, axis=which, keepdims=True), 1.0)

    return along


@form(runtime.uncumsum)
def _uncumsum(g: Any, like: Any, axis: Any = None) -> Any:
    if not is_array(g) or g.ndim != 1 or not is_array(like) or like.ndim != 1:
        return None
    return lambda g, like, axis=None: np.cumsum(g[::-1])[::-1]


@register_jitable
def _place_of_rank(flat, ordered, rank):
    """(Of equal entries the first comes first. A stable `np.argsort` cannot be kept on disk.)"""
    left = rank - np.searchsorted(ordered, ordered[rank])
    for place in range(len(flat)):
        if flat[place] == ordered[rank]:
            if left == 0:
                return place
            left -= 1
    return rank


@form(runtime.quantile_weights)
def _quantile_weights(
    x: Any,
    q: Any,
    axis: Any = None,
    method: Any = "linear",
    skip_nan: Any = False,
    weights: Any = None,
) -> Any:
    given = (method, "linear"), (skip_nan, False)
    plain = all(getattr(option, "value", option) == usual for option, usual in given)
    if not (is_array(x) and is_number(q) and is_none(axis) and is_none(weights) and plain):
        return None
    dtype = floating(x)

    def of_level(
        x: Any,
        q: Any,
        axis: Any = None,
        method: Any = "linear",
        skip_nan: Any = False,
        weights: Any = None,
    ) -> Any:
        made, flat, position = np.zeros(x.size, dtype), x.flatten(), q * (x.size - 1)
        ordered, lower = np.sort(flat), int(position)
        made[_place_of_rank(flat, ordered, lower)] = 1.0 - (position - lower)
        if position > lower:
            made[_place_of_rank(flat, ordered, lower + 1)] = position - lower
        return made.reshape(x.shape)

    return of_level


@form(runtime.quantile_bar)
def _quantile_bar(y_bar: Any, weights: Any, x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    plain = getattr(keepdims, "value", keepdims) is False and is_none(axis)
    if not (plain and is_array(x) and is_array(weights) and weights.ndim == x.ndim):
        return None
    return lambda y_bar, weights, x, axis=None, keepdims=False: weights * y_bar


@form(runtime.hstack_axis)
def _hstack_axis(parts: Any) -> Any:
    kinds = getattr(parts, "types", None) or [getattr(parts, "dtype", None)]
    axis = 1 if getattr(kinds[0], "ndim", 0) > 1 else 0
    return lambda parts: axis


@form(runtime.flat_view)
def _flat_view(a: Any) -> Any:
    return (lambda a: a.ravel()) if is_array(a) and a.layout == "C" else None


@form(runtime.inverse_axes)
def _inverse_axes(axes: Any) -> Any:
    made = literal(axes)
    made = runtime.inverse_axes(made) if isinstance(made, tuple) else None
    return (lambda axes: made) if made or is_none(axes) else None


@form(runtime.cov_count)
def _cov_count(m: Any, rowvar: Any, bias: Any, ddof: Any) -> Any:
    last = is_array(m) and m.ndim == 1

    def count(m: Any, rowvar: Any, bias: Any, ddof: Any) -> Any:
        return (m.shape[-1] if rowvar or last else m.shape[0]) - (0 if bias else 1)

    def stated(m: Any, rowvar: Any, bias: Any, ddof: Any) -> Any:
        return (m.shape[-1] if rowvar or last else m.shape[0]) - ddof

    return count if is_none(ddof) else stated


# --------------------------------------------------------------------------------------------------
# Partials with a guard, entry by entry.


@numba.vectorize
def _share(a: Any, b: Any) -> Any:
    return 1.0 if a > b else 0.5 if a == b else 0.0


@numba.vectorize
def _reciprocal(x: Any) -> Any:
    return 1.0 / x if x != 0 else 0.0 * x


@numba.vectorize
def _ratio(a: Any, b: Any) -> Any:
    return a / b if b != 0 else 0.0 * a


@numba.vectorize
def _log(x: Any) -> Any:
    return np.log(x) if x != 0 else 0.0 * x


@numba.vectorize
def _times_log(s: Any, t: Any, x: Any) -> Any:
    product = s * t
    return product * np.log(x) if product != 0 and x != 0 else 0.0 * product


@numba.vectorize
def _slope(x: Any, p: Any) -> Any:
    return p * x ** (p - 1.0) if p != 0 else 0.0 * x


@numba.vectorize
def _weight(a: Any, y: Any) -> Any:
    if a == y and np.isinf(y):
        return 1.0 if a > 0 else 0.5
    return np.exp(a - y)


@numba.vectorize
def heaviside(x: Any, at_zero: Any) -> Any:
    """`np.heaviside` of real numbers and arrays."""
    return 1.0 if x > 0 else 0.0 if x < 0 else at_zero if x == 0 else x + at_zero


# Helpers of the runtime, entry by entry. (A file of its own has the kernel by the helper's name.)
_KERNELS: dict[Any, Any] = {
    runtime.greater_share: _share,
    runtime.reciprocal_or_zero: _reciprocal,
    runtime.ratio_or_zero: _ratio,
    runtime.log_or_zero: _log,
    runtime.times_log: _times_log,
    runtime.power_slope: _slope,
    runtime.exp_of_difference: _weight,
}


def kernel_of(helper: Any) -> Any:
    """The function of entries that a helper is for Numba; the helper itself if it has none."""
    kernel = _KERNELS.get(helper) if isinstance(helper, FunctionType) else None
    return helper if kernel is None else kernel._dispatcher.py_func


def _entries(kernel: Any) -> Any:
    """What calls a kernel with as many operands as it has."""
    match kernel.nin:
        case 1:
            return lambda x: kernel(x)
        case 2:
            return lambda a, b: kernel(a, b)
    return lambda s, t, x: kernel(s, t, x)


for _helper, _kernel in _KERNELS.items():
    body(_helper)(_entries(_kernel))


# --------------------------------------------------------------------------------------------------
# Functions of Python and NumPy.


@form(reversed)
def _reversed(rounds: Any) -> Any:
    if isinstance(rounds, types.RangeType):

        def backwards(rounds: Any) -> Any:
            last = rounds.start + (len(rounds) - 1) * rounds.step
            return range(last, rounds.start - rounds.step, -rounds.step)

        return backwards
    if isinstance(rounds, (types.Array, types.BaseTuple, types.List, types.ListType)):
        return lambda rounds: rounds[::-1]
    return None


@form(operator.getitem)
def _getitem(rounds: Any, key: Any) -> Any:
    if not isinstance(rounds, types.RangeType) or not isinstance(key, types.SliceType):
        return None

    def some(rounds: Any, key: Any) -> Any:
        start, stop, step = key.indices(len(rounds))
        first, last = rounds.start + start * rounds.step, rounds.start + stop * rounds.step
        return range(first, last, step * rounds.step)

    return some


@lower_builtin(operator.getitem, types.Array, types.EllipsisType)
def _all_entries(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """(`x[...]`, which Numba knows the type of.)"""
    return impl_ret_borrowed(context, builder, signature.return_type, args[0])


def _reduction(function: Any, reduced: Any = None, one_by_one: bool = True) -> None:
    """Tell the forms of a reduction, of what it is along one axis: for all axes of a tuple, where
    these may be reduced one by one, and for results that keep the axes."""

    def choose(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        which, kept = literal(axis), literal(keepdims) is True
        if kept and is_array(a) and is_none(axis):
            ones = (1,) * a.ndim
            return lambda a, axis=None, keepdims=False: np.full(ones, function(a))
        if not is_array(a) or isinstance(which, bool) or which is None:
            return None
        if isinstance(which, int):
            return along(a.ndim, which % a.ndim, kept)
        last, *others = sorted({n % a.ndim for n in which}, reverse=True)
        rest = tuple(others)
        if not rest:
            return along(a.ndim, last, kept)
        if not one_by_one:
            return None
        if kept:
            return lambda a, axis=None, keepdims=False: function(
                function(a, axis=last, keepdims=True), axis=rest, keepdims=True
            )
        return lambda a, axis=None, keepdims=False: function(function(a, axis=last), axis=rest)

    def along(rank: int, which: int, kept: bool) -> Any:
        if rank == 1:
            if kept:
                return lambda a, axis=None, keepdims=False: np.full(1, function(a))
            return lambda a, axis=None, keepdims=False: function(a)
        if kept:
            return lambda a, axis=None, keepdims=False: np.expand_dims(
                function(a, axis=which), which
            )
        return None if reduced is None else lambda a, axis=None, keepdims=False: reduced(a, which)

    form(function)(choose)


def _folding(of_rows: Any) -> Any:
    """A reduction along one axis, of what it makes of two of the slices."""
    of_two = register_jitable(of_rows)

    def fold(a: Any, axis: Any) -> Any:
        rows = np.moveaxis(a, axis, 0)
        found = rows[0].copy()
        for place in range(1, len(rows)):
            found = of_two(found, rows[place])
        return found

    return register_jitable(bare(fold))


@register_jitable
def _mean(a, axis):
    return np.sum(a, axis=axis) / a.shape[axis]


@register_jitable
def _variance(a, axis):
    rest = a - np.expand_dims(np.sum(a, axis=axis) / a.shape[axis], axis)
    return np.sum(rest * rest, axis=axis) / a.shape[axis]


@register_jitable
def _deviation(a, axis):
    return np.sqrt(_variance(a, axis))


_reduction(np.sum)
_reduction(np.var, _variance, one_by_one=False)
_reduction(np.std, _deviation, one_by_one=False)
_reduction(np.mean, _mean)
_reduction(np.max, _folding(lambda a, b: np.maximum(a, b)))
_reduction(np.min, _folding(lambda a, b: np.minimum(a, b)))
_reduction(np.prod, _folding(lambda a, b: a * b))


@form(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Any:
    axes = literal(axis)
    if is_number(a) and axes is not None:
        shape = (1,) * (len(axes) if isinstance(axes, tuple) else 1)
        return lambda a, axis: np.full(shape, a)
    if not is_array(a) or not isinstance(axes, tuple):
        return None
    rank = a.ndim + len(axes)
    first, *others = sorted(n % rank for n in axes)
    rest = tuple(others)
    if not rest:
        return lambda a, axis: np.expand_dims(a, first)
    return lambda a, axis: np.expand_dims(np.expand_dims(a, first), rest)


@form(np.roll)
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    which = literal(axis)
    if not is_array(a) or not isinstance(which, int) or not isinstance(shift, types.Integer):
        return None

    def along(a: Any, shift: Any, axis: Any = None) -> Any:
        made = np.empty_like(a)
        rows, moved = np.moveaxis(a, which, 0), np.moveaxis(made, which, 0)
        begin = shift % max(len(rows), 1)
        moved[begin:] = rows[: len(rows) - begin]
        moved[:begin] = rows[len(rows) - begin :]
        return made

    return along


def _are_arrays(rows: Any) -> bool:
    return isinstance(rows, (types.List, types.ListType)) and is_array(rows.dtype)


@register_jitable
def _stacked(rows):
    made = np.empty((len(rows), *rows[0].shape), rows[0].dtype)
    for place in range(len(rows)):
        made[place] = rows[place]
    return made


@register_jitable
def _joined(rows, axis):
    length, first = 0, np.moveaxis(rows[0], axis, 0)
    for row in rows:
        length += row.shape[axis]
    made = np.empty((length, *first.shape[1:]), first.dtype)
    begin = 0
    for row in rows:
        made[begin : begin + row.shape[axis]] = np.moveaxis(row, axis, 0)
        begin += row.shape[axis]
    return np.moveaxis(made, 0, axis)


@form(np.array)
def _array(object: Any, dtype: Any = None) -> Any:
    whole = is_none(dtype) and _are_arrays(object)
    return (lambda object, dtype=None: _stacked(object)) if whole else None


@form(np.stack)
def _stack(arrays: Any, axis: Any = 0) -> Any:
    which = literal(axis)
    if not _are_arrays(arrays) or which is None:
        return None
    if which == 0:
        return lambda arrays, axis=0: _stacked(arrays)
    return lambda arrays, axis=0: np.moveaxis(_stacked(arrays), 0, which)


@form(np.concatenate)
def _concatenate(arrays: Any, axis: Any = 0) -> Any:
    which = literal(axis)
    if not _are_arrays(arrays) or not isinstance(which, int):
        return None
    return lambda arrays, axis=0: _joined(arrays, which)


@form(np.full_like)
def _full_like(a: Any, fill_value: Any) -> Any:
    if not is_array(a) or not is_array(fill_value):
        return None

    def filled(a: Any, fill_value: Any) -> Any:
        made = np.empty_like(a)
        made[...] = fill_value
        return made

    return filled


@form(np.cross)
def _cross(a: Any, b: Any, axis: Any = None) -> Any:
    return (lambda a, b, axis=None: np.cross(a, b)) if literal(axis) == -1 else None


@form(np.rot90)
def _rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    plain = not isinstance(axes, tuple) and literal(axes) == (0, 1)
    return (lambda m, k=1, axes=(0, 1): np.rot90(m, k)) if plain else None


@form(np.ndim)
def _ndim(a: Any) -> Any:
    rank = getattr(a, "ndim", 0)
    return (lambda a: rank) if is_array(a) or is_number(a) else None


@form(np.diagonal)
def _diagonal(a: Any, offset: Any = 0) -> Any:
    matrix = is_array(a) and a.ndim == 2
    return (lambda a, offset=0: np.diag(a, offset)) if matrix else None


# --------------------------------------------------------------------------------------------------
# What no form here takes, Python runs.

for _name, _result in python_calls.HELPERS.items():
    python_calls.tell(_name, _result)
    KNOWN.add(getattr(runtime, _name))
