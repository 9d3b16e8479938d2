"""NumPy's functions by those of the array API standard, for `StandardArray`.

Each takes what NumPy's takes and nothing more: an argument that the standard has no counterpart of
raises `TypeError`. `own` is the array that was met first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .standard import StandardArray, flat_and_places, home_of, inside

# Ufuncs that the standard calls otherwise.
_OTHERWISE = {"power": "pow", "absolute": "abs", "conjugate": "conj", "rint": "round"}
_OTHERWISE |= {
    f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")
}
_OTHERWISE |= {name: f"bitwise_{name}" for name in ("invert", "left_shift", "right_shift")}
_REDUCING = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
_REDUCING |= {"logical_and": "all", "logical_or": "any"}


def ufunc_method(
    own: StandardArray, ufunc: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """What `__array_ufunc__` answers."""
    out = kwargs.pop("out", (None,))[0]
    if method == "at" and ufunc in (np.add, np.subtract) and not kwargs:
        target, key, values = inputs
        return _add_at(target, key, values, -1.0 if ufunc is np.subtract else 1.0)
    if method == "reduce" and ufunc.__name__ in _REDUCING:
        result = _reduced(_REDUCING[ufunc.__name__])(own, *inputs, **{"axis": 0, **kwargs})
    elif method == "__call__" and not kwargs:
        result = _called(own, ufunc, inputs)
    else:
        options = "".join(f", {name}=" for name in kwargs)
        raise own.lacking(f"np.{ufunc.__name__}.{method}(..{options})")
    if out is None:
        return result
    out[...] = result
    return out


def _called(own: StandardArray, ufunc: Any, inputs: Sequence[Any]) -> Any:
    name = _OTHERWISE.get(ufunc.__name__, ufunc.__name__)
    function = getattr(own.xp, name, None) or getattr(own.xp.linalg, name, None)
    if function is None or name not in STANDARD:
        raise own.lacking(f"np.{ufunc.__name__}")
    return own.like(function(*(_operand(own, value) for value in inputs)))


def _operand(own: StandardArray, value: Any) -> Any:
    """An operand as an array: a number takes the dtype that it would have beside one."""
    value = inside(value)
    if isinstance(value, (list, tuple)):
        return own.xp.asarray(value, dtype=own.array.dtype)
    if not isinstance(value, (bool, int, float, complex)):
        return value
    kind = own.dtype.kind
    if isinstance(value, complex) and kind != "c":
        return own.xp.asarray(value, dtype=own.own_dtype(np.result_type(own.dtype, 1j)))
    if isinstance(value, float) and kind not in "fc":
        return own.xp.asarray(value, dtype=own.own_dtype(float))
    return own.xp.asarray(value, dtype=own.array.dtype)


def _add_at(target: StandardArray, key: Any, values: Any, sign: float) -> None:
    """`np.add.at`: PyTorch accumulates; elsewhere the places are counted one by one."""
    flat, places, given = flat_and_places(target, key, values)
    given = sign * given
    if hasattr(flat, "index_add_"):
        flat.index_add_(0, places, given)
    else:
        for k in range(places.shape[0]):
            flat[int(places[k])] += given[k]
    target[...] = target.like(target.xp.reshape(flat, target.shape))


# ------------------------------------------------------------------------------- reductions


def _reduced(name: str) -> Callable[..., Any]:
    def function(
        own: StandardArray,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        *,
        keepdims: Any = False,
        where: Any = True,
    ) -> Any:
        if where is not True and where is not np._NoValue:
            raise own.lacking(f"np.{name}(.., where=)")
        options = {} if dtype is None else {"dtype": own.own_dtype(dtype)}
        axis = tuple(map(int, axis)) if isinstance(axis, (tuple, list)) else axis
        keepdims = bool(keepdims) and keepdims is not np._NoValue
        array = inside(a)
        if name in ("sum", "prod") and a.dtype.kind == "b":  # (the standard adds no booleans)
            array = own.xp.astype(array, own.own_dtype(int))
        return own.like(getattr(own.xp, name)(array, axis=axis, keepdims=keepdims, **options))

    return function


def _deviation(name: str) -> Callable[..., Any]:
    def function(
        own: StandardArray,
        a: Any,
        axis: Any = None,
        *,
        ddof: Any = 0,
        correction: Any = np._NoValue,
        keepdims: Any = False,
    ) -> Any:
        correction = ddof if correction is np._NoValue else correction
        keepdims = bool(keepdims) and keepdims is not np._NoValue
        options = {"axis": axis, "correction": correction, "keepdims": keepdims}
        return own.like(getattr(own.xp, name)(inside(a), **options))

    return function


def _cumulative(name: str) -> Callable[..., Any]:
    def function(
        own: StandardArray, a: Any, axis: Any = None, include_initial: bool = False
    ) -> Any:
        array = inside(a)
        if axis is None:
            array, axis = own.xp.reshape(array, (-1,)), 0
        options = {"axis": axis, "include_initial": include_initial}
        return own.like(getattr(own.xp, name)(array, **options))

    return function


# ---------------------------------------------------------------------------- shapes, places


def _shape(own: StandardArray, a: Any, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    if order != "C":
        raise own.lacking(f"np.reshape(.., order={order!r})")
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
    return own.like(own.xp.reshape(inside(a), shape, copy=copy))


def _transposed(own: StandardArray, a: Any, axes: Any = None) -> Any:
    count = np.ndim(a)
    axes = range(count)[::-1] if axes is None else [int(i) % count for i in axes]
    return own.like(own.xp.permute_dims(inside(a), tuple(axes)))


def _swapped(own: StandardArray, a: Any, axis1: int, axis2: int) -> Any:
    axes = list(range(np.ndim(a)))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return _transposed(own, a, axes)


def _expanded(own: StandardArray, a: Any, axis: Any) -> Any:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = np.ndim(a) + len(axes)
    array = inside(a)
    for place in sorted(int(i) % rank for i in axes):
        array = own.xp.expand_dims(array, axis=place)
    return own.like(array)


def _squeezed(own: StandardArray, a: Any, axis: Any = None) -> Any:
    if axis is None:
        axis = tuple(i for i, n in enumerate(np.shape(a)) if n == 1)
    return own.like(own.xp.squeeze(inside(a), axis=axis))


def _diagonal(own: StandardArray, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    moved = np.moveaxis(a, (axis1, axis2), (-2, -1))
    return own.like(own.xp.linalg.diagonal(inside(moved), offset=offset))


def _trace(own: StandardArray, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return np.sum(_diagonal(own, a, offset, axis1, axis2), axis=-1)


def _together(name: str) -> Callable[..., Any]:
    def function(own: StandardArray, arrays: Any, axis: Any = 0) -> Any:
        return own.like(getattr(own.xp, name)([_operand(own, a) for a in arrays], axis=axis))

    return function


def _chosen(own: StandardArray, condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise own.lacking("np.where(condition)")
    like = next((v for v in (x, y) if isinstance(v, StandardArray)), own)
    if like is own and own.dtype.kind == "b":
        like = own.like(own.xp.zeros((), device=own.device))
    condition = _operand(own, condition)
    return own.like(own.xp.where(condition, _operand(like, x), _operand(like, y)))


def _clipped(own: StandardArray, a: Any, a_min: Any = None, a_max: Any = None, **given: Any) -> Any:
    low, high = given.pop("min", a_min), given.pop("max", a_max)
    if given:
        raise own.lacking(f"np.clip(.., {next(iter(given))}=)")
    return own.like(own.xp.clip(inside(a), inside(low), inside(high)))


# --------------------------------------------------------------------------------- creation


def _made(name: str) -> Callable[..., Any]:
    def function(
        own: StandardArray, a: Any, dtype: Any = None, order: str = "K", *, shape: Any = None
    ) -> Any:
        a = a if isinstance(a, StandardArray) else own.like(_operand(own, a))
        shape = a.shape if shape is None else shape
        dtype = a.array.dtype if dtype is None else own.own_dtype(dtype)
        maker = getattr(own.xp, name)
        return own.like(maker(shape, dtype=dtype, device=a.device))

    return function


def _full(
    own: StandardArray,
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    *,
    shape: Any = None,
) -> Any:
    made = FUNCTIONS[np.empty_like](own, a, dtype, shape=shape)
    made[...] = fill_value
    return made


def _arange(own: StandardArray, *args: Any, dtype: Any = None) -> Any:
    return own.like(own.xp.arange(*map(inside, args), dtype=dtype, device=own.device))


def _eye(own: StandardArray, N: int, M: Any = None, k: int = 0, dtype: Any = None, **_: Any) -> Any:
    dtype = own.array.dtype if dtype in (None, float) else own.own_dtype(dtype)
    columns = N if M is None else M
    return own.like(own.xp.eye(N, columns, k=k, dtype=dtype, device=own.device))


def _as_array(own: StandardArray, a: Any, dtype: Any = None) -> Any:
    dtype = None if dtype is None else own.own_dtype(dtype)
    return own.like(own.xp.asarray(inside(a), dtype=dtype))


# ----------------------------------------------------------------------------------- others


def _dot(own: StandardArray, a: Any, b: Any) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    if np.ndim(b) <= 2:
        return own.like(own.xp.matmul(inside(a), inside(b)))
    return np.tensordot(a, b, ((np.ndim(a) - 1,), (np.ndim(b) - 2,)))


def _vdot(own: StandardArray, a: Any, b: Any) -> Any:
    flat = (own.xp.reshape(inside(x), (-1,)) for x in (a, b))
    return own.like(own.xp.vecdot(*flat))  # (it takes the conjugate of the first, too)


def _tensordot(own: StandardArray, a: Any, b: Any, axes: Any = 2) -> Any:
    if not isinstance(axes, int):
        axes = tuple(tuple(np.atleast_1d(part).tolist()) for part in axes)
    return own.like(own.xp.tensordot(inside(a), inside(b), axes=axes))


def _outer(own: StandardArray, a: Any, b: Any) -> Any:
    return np.reshape(a, (-1, 1)) * np.reshape(b, (1, -1))


def _norm(
    own: StandardArray, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False
) -> Any:
    vector = (axis is None and ord is None) or np.ndim(x) == 1 or isinstance(axis, int)
    name = "vector_norm" if vector else "matrix_norm"
    options = {"axis": axis} if vector else {}
    if not vector and axis is not None:
        raise own.lacking("np.linalg.norm(.., axis=) of matrices")
    order = (2 if vector else "fro") if ord is None else ord
    function = getattr(own.xp.linalg, name)
    return own.like(function(inside(x), ord=order, keepdims=bool(keepdims), **options))


def _plainly(name: str, *positional: str) -> Callable[..., Any]:
    """A function that takes the same in both; `positional` are what NumPy takes by position, too,
    and the standard by name."""

    def function(own: StandardArray, *args: Any, **kwargs: Any) -> Any:
        space: Any = own.xp
        for part in name.split("."):
            space = getattr(space, part, None)
        if space is None:
            raise own.lacking(f"np.{name}")
        arrays = 1 if positional else len(args)
        given = dict(zip(positional, args[arrays:], strict=False))
        given.update(kwargs)
        options = {key: inside(value) for key, value in given.items()}
        return own.like(space(*map(inside, args[:arrays]), **options))

    return function


def _transform(name: str, options: tuple[str, ...]) -> Callable[..., Any]:
    """A Fourier transform; those of complex numbers take real ones in NumPy."""
    plain = _plainly(f"fft.{name}", *options)
    takes_real = name in ("rfft", "rfftn", "ihfft", "fftshift", "ifftshift")

    def function(own: StandardArray, a: Any, *args: Any, **kwargs: Any) -> Any:
        if not takes_real and a.dtype.kind != "c":
            a = a.astype(np.result_type(a.dtype, 1j))
        return plain(own, a, *args, **kwargs)

    return function


def _is_array(value: Any) -> bool:
    return isinstance(value, StandardArray) or home_of(type(value)) is not None


def _rolled(own: StandardArray, a: Any, shift: Any, axis: Any = None) -> Any:
    shift = tuple(map(int, shift)) if isinstance(shift, (tuple, list)) else int(shift)
    return own.like(own.xp.roll(inside(a), shift, axis=axis))


def _taken_along(own: StandardArray, a: Any, indices: Any, axis: int = -1) -> Any:
    return own.like(own.xp.take_along_axis(inside(a), inside(indices), axis=axis))


def _take(own: StandardArray, a: Any, indices: Any, axis: Any = None) -> Any:
    array = inside(a)
    if axis is None:
        array, axis = own.xp.reshape(array, (-1,)), 0
    if np.ndim(indices) == 1:
        given = inside(indices)
        given = given if _is_array(given) else own.xp.asarray(given)
        return own.like(own.xp.take(array, given, axis=axis))
    return own.like(array)[(slice(None),) * (axis % np.ndim(a)) + (indices,)]


def _sorted(name: str) -> Callable[..., Any]:
    def function(
        own: StandardArray, a: Any, axis: int = -1, kind: Any = None, *, stable: Any = None
    ) -> Any:
        return own.like(getattr(own.xp, name)(inside(a), axis=axis))

    return function


def _real(own: StandardArray, val: Any) -> Any:
    return own.like(own.xp.real(inside(val))) if val.dtype.kind == "c" else val


def _imag(own: StandardArray, val: Any) -> Any:
    return own.like(own.xp.imag(inside(val))) if val.dtype.kind == "c" else np.zeros_like(val)


def _padded(
    own: StandardArray, array: Any, pad_width: Any, mode: str = "constant", **options: Any
) -> Any:
    if mode != "constant" or options.get("constant_values", 0) != 0:
        raise own.lacking(f"np.pad(.., {mode!r})")
    widths = np.broadcast_to(pad_width, (np.ndim(array), 2)).tolist()
    shape = [n + sum(width) for n, width in zip(array.shape, widths, strict=True)]
    padded = np.zeros_like(array, shape=tuple(shape))
    inner = [slice(low, low + n) for n, (low, _) in zip(array.shape, widths, strict=True)]
    padded[tuple(inner)] = array
    return padded


def _common_type(own: StandardArray, *given: Any) -> Any:
    return np.result_type(*(a.dtype if isinstance(a, StandardArray) else a for a in given))


def _size(own: StandardArray, a: Any, axis: Any = None) -> int:
    return int(math.prod(np.shape(a)) if axis is None else np.shape(a)[axis])


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, n): _reduced(n) for n in ("sum", "prod", "max", "min", "mean", "all", "any")},
    **{getattr(np, n): _deviation(n) for n in ("std", "var")},
    **{getattr(np, n): _reduced(n) for n in ("argmax", "argmin", "count_nonzero")},
    np.cumsum: _cumulative("cumulative_sum"),
    np.cumprod: _cumulative("cumulative_prod"),
    np.cumulative_sum: _cumulative("cumulative_sum"),
    np.cumulative_prod: _cumulative("cumulative_prod"),
    np.reshape: _shape,
    np.ravel: lambda own, a, order="C": _shape(own, a, -1, order),
    np.transpose: _transposed,
    np.swapaxes: _swapped,
    np.moveaxis: _plainly("moveaxis"),
    np.expand_dims: _expanded,
    np.squeeze: _squeezed,
    np.broadcast_to: lambda own, array, shape: own.like(
        own.xp.broadcast_to(inside(array), (shape,) if isinstance(shape, int) else tuple(shape))
    ),
    np.broadcast_arrays: lambda own, *args: own.like(
        tuple(own.xp.broadcast_arrays(*(_operand(own, a) for a in args)))
    ),
    np.diagonal: _diagonal,
    np.trace: _trace,
    np.concatenate: _together("concat"),
    np.stack: _together("stack"),
    np.where: _chosen,
    np.clip: _clipped,
    np.zeros_like: _made("zeros"),
    np.ones_like: _made("ones"),
    np.empty_like: _made("zeros"),
    np.full_like: _full,
    np.arange: _arange,
    np.eye: _eye,
    np.asarray: _as_array,
    np.array: _as_array,
    np.copy: lambda own, a, order="K": a.copy(),
    np.dot: _dot,
    np.vdot: _vdot,
    np.tensordot: _tensordot,
    np.outer: _outer,
    np.linalg.norm: _norm,
    np.flip: _plainly("flip", "axis"),
    np.roll: _rolled,
    np.take: _take,
    np.take_along_axis: _taken_along,
    np.sort: _sorted("sort"),
    np.argsort: _sorted("argsort"),
    np.tril: _plainly("tril", "k"),
    np.triu: _plainly("triu", "k"),
    np.real: _real,
    np.imag: _imag,
    np.round: lambda own, a, decimals=0: _rounded(own, a, decimals),
    np.pad: _padded,
    np.result_type: _common_type,
    np.size: _size,
    np.shape: lambda own, a: a.shape,
    np.ndim: lambda own, a, *axis: a.ndim,
    np.diff: _plainly("diff", "n", "axis"),
    np.repeat: _plainly("repeat"),
    np.tile: _plainly("tile"),
    np.meshgrid: _plainly("meshgrid"),
    np.matrix_transpose: _plainly("matrix_transpose"),
    np.unstack: _plainly("unstack"),
    np.searchsorted: _plainly("searchsorted"),
    np.isclose: lambda own, a, b, rtol=1e-5, atol=1e-8: abs(a - b) <= atol + rtol * abs(b),
    np.shares_memory: lambda own, a, b, *_: a.base is b.base,
    np.may_share_memory: lambda own, a, b, *_: a.base is b.base,
}


def _rounded(own: StandardArray, a: Any, decimals: int) -> Any:
    if decimals:
        raise own.lacking("np.round(.., decimals)")
    return own.like(own.xp.round(inside(a)))


_LINALG = (
    *("cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "outer"),
    *("matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "pinv", "qr"),
    *("slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm"),
)
for _name in _LINALG:
    FUNCTIONS.setdefault(getattr(np.linalg, _name), _plainly(f"linalg.{_name}"))
_FFT: dict[str, tuple[str, ...]] = {"fftshift": ("axes",), "ifftshift": ("axes",)}
_FFT |= dict.fromkeys(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), ("n", "axis"))
_FFT |= dict.fromkeys(("fftn", "ifftn", "rfftn", "irfftn"), ("s", "axes"))
for _name, _options in _FFT.items():
    FUNCTIONS[getattr(np.fft, _name)] = _transform(_name, _options)

# Ufuncs of the standard, as it calls them.
STANDARD = frozenset(
    ("abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and")
    + ("bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor")
    + ("ceil", "conj", "copysign", "cos", "cosh", "divide", "equal", "exp", "expm1", "floor")
    + ("floor_divide", "greater", "greater_equal", "hypot", "isfinite", "isinf", "isnan", "less")
    + ("less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not")
    + ("logical_or", "logical_xor", "matmul", "maximum", "minimum", "multiply", "negative")
    + ("nextafter", "not_equal", "positive", "pow", "reciprocal", "remainder", "round", "sign")
    + ("signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc", "vecdot")
)
# What makes arrays of nothing, or of none.
CREATING = (
    *("arange", "asarray", "astype", "broadcast_shapes", "can_cast", "empty", "eye", "finfo"),
    *("full", "iinfo", "isdtype", "linspace", "meshgrid", "ones", "result_type", "zeros"),
)


def dispatched(space: Any) -> list[str]:
    """The names of NumPy, or of a module in it, that are known of `StandardArray`."""
    names = STANDARD.union(name for name, other in _OTHERWISE.items() if other in STANDARD)
    return [
        name
        for name, value in vars(space).items()
        if (isinstance(value, np.ufunc) and name in names)
        or (callable(value) and not isinstance(value, type) and value in FUNCTIONS)
    ]
