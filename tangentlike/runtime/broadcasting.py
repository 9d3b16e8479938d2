"""Adjoints take the shape of their primals: sums over broadcast axes, zeros, ones, seeds."""

from __future__ import annotations

import threading
import types
from array import array as typed_array
from collections import deque
from collections.abc import MappingView
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from .records import SEQUENCES, Entries, is_array_class, like_dict, mirror, stores
from .sharing import Buffers, same_view
from .statements import written_for

_FLOAT64 = np.dtype(float)
_ONE = np.float64(1.0)
_NUMBERS = (float, int, complex, np.generic)


def unbroadcast(g: Any, like: Any) -> Any:
    """Sum `g` over the axes along which `like` was broadcast, giving it the shape of `like`.

    Where the shapes agree `g` itself comes back, not a copy. A real `like` takes the real
    part of a complex `g`, and a floating one its own precision.
    """
    # Types first: this runs for nearly every statement of an adjoint sweep.
    kind = type(like)
    if type(g) is kind:
        if kind is np.ndarray:
            if g.dtype is like.dtype:
                shape, own = like.shape, g.shape
                if own == shape:
                    return g
                if shape and own[1:] == shape:
                    return np.add.reduce(g, axis=0)
        elif kind is float or kind is np.float64:
            return g
    elif kind is float:
        if type(g) is np.float64:
            return float(g)
        if type(g) is np.ndarray and g.dtype is _FLOAT64:
            return float(np.add.reduce(g, axis=None))
    elif kind is np.float64 and type(g) is float:
        return np.float64(g)
    if isinstance(g, Entries):
        g = np.asarray(g)
    if isinstance(g, (*SEQUENCES, dict)):
        refuse_list(g, kind)
    if isinstance(like, SEQUENCES):
        return _as_list(sum_to(g, _nested_shape(like)), like)
    if isinstance(like, _NUMBERS):
        return _to_number(g, like)
    summed = _of_dtype(sum_to(g, like.shape), like)
    if type(like) is np.ndarray and not like.shape and type(summed) is not np.ndarray:
        return np.asarray(summed, like.dtype if like.dtype.kind in "fc" else None)
    return summed


def refuse_list(g: Any, kind: type) -> None:
    """Refuse the adjoint of a list where arrays or numbers were expected to be computed with."""
    raise TypeError(
        f"the adjoint of a {kind.__name__} in an elementwise operation is a {type(g).__name__}: "
        "build arrays from lists before computing with them, and join lists item by item, as in "
        "`[*xs, *ys]`"
    )


def sum_to(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum `g` over what was broadcast from the shape; `g` itself where it has it."""
    own = getattr(g, "shape", ())
    if own == shape:
        return g
    extra = len(own) - len(shape)
    if extra > 0 and own[extra:] == shape:
        return g.sum(axis=tuple(range(extra)), keepdims=True).reshape(shape)
    if extra < 0 and shape[:-extra] == (1,) * -extra:  # NumPy stores a row in a 1-d slice
        return sum_to(g, shape[-extra:]).reshape(shape)
    axes = list(range(extra))
    for axis, n in enumerate(shape, extra):
        if extra < 0 or n not in (1, own[axis]):
            raise ValueError(f"an adjoint of shape {own} does not fit a value of shape {shape}")
        if n != own[axis]:
            axes.append(axis)
    return g.sum(axis=tuple(axes), keepdims=True).reshape(shape)


def number_like(g: Any, like: Any) -> Any:
    """`g` for the number `like`: with no imaginary part if that has none, and a number itself
    where it is an array of one (which may be written afterwards)."""
    if isinstance(g, np.ndarray) and g.ndim == 0:
        g = g[()]
    real = isinstance(like, (float, int, np.floating, np.integer))
    return real_part(g) if real and _is_complex(g) else g


class _Dropped(threading.local):
    """`last` is another object after a complex adjoint of a real value lost its imaginary part in
    this thread: a derivative that was made for real numbers is not right then."""

    last: Any = None


DROPPED = _Dropped()


def _watch_stores() -> None:
    """Set `DROPPED` where NumPy drops an imaginary part, as in `x_bar[0] = z_bar`. It makes a
    `ComplexWarning` then, whether or not a filter has that shown: this asks nothing of a call
    in which there is none."""

    def made(self: BaseException, *args: object) -> None:
        DROPPED.last = object()
        BaseException.__init__(self, *args)

    ComplexWarning.__init__ = made  # type: ignore[method-assign]


_watch_stores()


def real_part(g: Any) -> Any:
    """The real part of a complex adjoint, that of a real value."""
    DROPPED.last = object()
    return g.real


def _to_number(g: Any, like: Any) -> Any:
    shape = getattr(g, "shape", ())
    total = number_like(g.sum() if shape else g, like)
    if type(like) is float and isinstance(total, (np.generic, np.ndarray)):
        return float(total)  # arithmetic of Python numbers is several times faster
    if isinstance(like, np.inexact) and isinstance(total, (float, np.generic)):
        return like.dtype.type(total)
    return total


def _of_dtype(g: Any, like: Any) -> Any:
    dtype = like.dtype
    own = getattr(g, "dtype", None)
    if (own is not None and own == dtype) or dtype.kind not in "fc":
        return g  # (NumPy calls None and float64 equal)
    if dtype.kind == "f" and _is_complex(g):
        g = real_part(g)
    return g.astype(dtype) if own is not None else g


def _is_complex(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    return isinstance(x, complex) if dtype is None else dtype.kind == "c"


def _nested_shape(like: Any) -> tuple[int, ...]:
    if isinstance(like, SEQUENCES):
        return (len(like), *(_nested_shape(like[0]) if like else ()))
    return tuple(getattr(like, "shape", ()))


def _as_list(g: Any, like: Any) -> Any:
    if isinstance(like, SEQUENCES):
        return Entries(_as_list(part, item) for part, item in zip(g, like, strict=True))
    return unbroadcast(g, like)


def broadcast_like(g: Any, y: Any) -> Any:
    """`g` with the shape of `y`: itself if it has it, otherwise a new array (or list)."""
    if type(y) is np.ndarray and y.dtype is _FLOAT64:
        if type(g) is np.ndarray:
            if g.shape == y.shape and g.dtype is _FLOAT64:
                return g
        elif type(g) is float or type(g) is np.float64:
            full = np.empty_like(y)
            full.fill(g)
            return full
    if isinstance(y, _NUMBERS):
        return number_like(g, y)
    if isinstance(y, np.ndarray) and isinstance(g, SEQUENCES):
        g = np.asarray(g)  # (the adjoint of a list that was taken for an array)
    if isinstance(g, SEQUENCES):
        return Entries(broadcast_like(part, item) for part, item in zip(g, y, strict=True))
    if isinstance(g, dict):
        return {key: broadcast_like(g[key], item) for key, item in y.items()}
    if isinstance(y, SEQUENCES):
        if getattr(g, "shape", ()):
            shape = _nested_shape(y)
            return _as_list(np.broadcast_to(g, shape), y)
        return Entries(broadcast_like(g, item) for item in y)
    if isinstance(y, (str, bytes)):  # (what was added may have been texts)
        return 0.0
    if getattr(g, "shape", ()) == y.shape and hasattr(g, "dtype"):
        return _of_dtype(g, y)
    if y.dtype.kind == "f" and _is_complex(g):
        g = real_part(g)
    full = np.empty_like(y) if y.dtype.kind in "fc" else np.empty_like(y, dtype=float)
    full[...] = g
    return full


def adjoint_dtype(x: Any) -> Any:
    """The dtype of the adjoint of an array `x` whose own dtype is not that of floats.

    Raises `TypeError` where the array has fields: its adjoint would have as many; and where it
    is one of objects: what these are is not followed.
    """
    if x.dtype.kind == "O" and x.ndim:  # (NumPy makes one of rank 0 where it is given None)
        raise TypeError(
            "an array of objects carries derivatives: use a list of arrays, or an array of numbers "
            "(dtype=float)"
        )
    if x.dtype.names is not None:
        raise TypeError(
            "an array with fields (a structured array) carries derivatives: use a dict with one "
            "array for each field"
        )
    return float


def zeros_like(x: Any) -> Any:
    """Zeros in the structure of `x`: what carries no derivative has 0.0, a tuple a list, an
    object its mirror."""
    if type(x) is np.ndarray:
        return np.zeros(x.shape, x.dtype if x.dtype.kind in "fc" else adjoint_dtype(x))
    if type(x) is float:
        return 0.0
    return _like(x, 0, _zeros)


def _zeros(x: Any, dtype: Any = None) -> Any:
    """`np.zeros_like`, which takes several times as long where arrays are small."""
    if type(x) is np.ndarray and x.flags.c_contiguous:
        return np.zeros(x.shape, x.dtype if dtype is None else dtype)
    return np.zeros_like(x, dtype=dtype)


def ones_like(x: Any) -> Any:
    """Ones in the structure of `x`, as `zeros_like` has zeros."""
    return _like(x, 1, np.ones_like)


def shared_zeros(x: Any) -> Any:
    """Zeros as `zeros_like` gives them, which share memory wherever arrays in `x` do: tangents of
    what is written in place later.

    >>> a = np.ones(3)
    >>> zeros, tail = shared_zeros((a, a[1:]))
    >>> tail += 1.0
    >>> zeros
    array([0., 1., 1.])
    """
    buffers: Buffers = {}
    made: dict[Any, Any] = {}

    def zeros(item: Any) -> Any:
        known = made.get(id(item))
        if known is not None:
            return known
        if type(item) is np.ndarray and item.dtype.kind in "fc":
            return same_view(buffers, item)
        if type(item) in _ITEMS or isinstance(item, MappingView):  # (`d.keys()`)
            found: Any = list(map(zeros, item))
        elif isinstance(item, dict):
            found = like_dict(item, zeros)
        else:
            found = mirror(item, zeros)
            if found is None:
                return zeros_like(item)
        made[id(item)] = found
        return found

    return zeros(x)


_ITEMS = (list, tuple, bytearray, typed_array)
_PLAIN = frozenset((float, int, bool, complex, str, type(None)))


def _like(x: Any, number: int, array: Any, above: tuple[Any, ...] = ()) -> Any:
    if type(x) is np.ndarray:  # (most are: the same as below, in fewer steps)
        return array(x) if x.dtype.kind in "fc" else array(x, dtype=adjoint_dtype(x))
    if isinstance(x, np.inexact):
        return x.dtype.type(number)
    if type(x) is Constant:
        return x
    if isinstance(x, _NUMBERS) or x is None or isinstance(x, str):
        return float(number)
    if any(x is outer for outer in above):
        return float(number)  # an object that holds itself
    if type(x) in (list, tuple) and _PLAIN.issuperset(set(map(type, x))):
        return [float(number)] * len(x)
    inside = (*above, x)
    if isinstance(x, dict):
        return like_dict(x, lambda item: _like(item, number, array, inside))
    if is_array_class(type(x)):
        return array(x) if x.dtype.kind in "fc" else array(x, dtype=adjoint_dtype(x))
    made = mirror(x, lambda item: _like(item, number, array, inside))
    if made is not None:
        require_fields_stay(x)
        return made
    if isinstance(x, (*_ITEMS, MappingView)):
        items: Any = x
        return [_like(item, number, array, inside) for item in items]
    if isinstance(x, deque):
        return deque((_like(item, number, array, inside) for item in x), x.maxlen)
    if isinstance(x, (type, types.ModuleType)):
        return Constant(x)
    return float(number)


def require_fields_stay(x: Any) -> None:
    """Check that an object whose zeros are made does not store what it is asked for: its class
    computed some of the fields that it has then.

    Raises `TypeError` otherwise.
    """
    reader = getattr(type(x), "__getattr__", None)
    if isinstance(reader, types.FunctionType) and stores(reader.__code__, False):
        raise written_for("an object whose `__getattr__` stores nothing", x)


class Constant(float):
    """The adjoint or tangent of a class or a module, which stands where an object might: a zero,
    whose attributes are zeros like those that it has. What is added to it or its attributes is
    not kept.

    >>> Constant(np).pi, Constant(np) + 0.5 == 0.0
    (0.0, True)
    """

    _of: Any

    def __new__(cls, of: Any) -> Constant:
        made = super().__new__(cls, 0.0)
        object.__setattr__(made, "_of", of)
        return made

    def __getattr__(self, name: str) -> Any:
        return zeros_like(getattr(self._of, name))

    def __setattr__(self, name: str, value: Any) -> None:
        """(What a class has is not part of an argument.)"""

    def __add__(self, other: Any) -> Constant:
        return self

    __radd__ = __add__


def conj(x: Any) -> Any:
    """The complex conjugate of a number or array; a real value itself."""
    if isinstance(x, (float, int)):
        return x
    if getattr(getattr(x, "dtype", None), "kind", "c") != "c":
        return x
    return x.conjugate() if hasattr(x, "conjugate") else np.conjugate(x)  # (array.array has none)


def require_real(x: Any) -> Any:
    """`x` itself; raises TypeError where it is complex, for what is known of real numbers only."""
    if _is_complex(x):
        raise written_for("real numbers", x)
    return x


def require_scalar(y: Any) -> None:
    """Check that a result which does not depend on the inputs is a real scalar all the same."""
    scalar_seed(y)


def scalar_seed(y: Any) -> Any:
    """The adjoint 1 that starts a gradient, in the type of the real scalar `y`.

    Raises ValueError for a result that has no gradient because it is not a real scalar.
    """
    if type(y) is float:
        return 1.0
    if type(y) is np.float64:
        return _ONE
    dtype = getattr(y, "dtype", None)
    if isinstance(y, complex) or (dtype is not None and dtype.kind == "c"):
        raise ValueError(
            "the result is complex and has no gradient; return a real number, "
            "such as the real part or the absolute value"
        )
    if isinstance(y, (int, np.integer)):
        return 1.0
    if dtype is None:
        raise ValueError(
            f"the result is a {type(y).__name__}, not a scalar, and has no gradient; use vjp or "
            "jacobian"
        )
    if y.shape != ():
        raise ValueError(
            f"the result has shape {tuple(y.shape)} and is not a scalar, so it has no gradient; "
            "use vjp or jacobian"
        )
    if isinstance(y, np.generic):
        return dtype.type(1) if dtype.kind == "f" else 1.0
    return np.ones_like(y) if dtype.kind == "f" else 1.0


# --------------------------------------------------------------------------------------------------
# Adjoints of taking complex numbers apart.


def adjoint_of_real(g: Any, like: Any) -> Any:
    """The adjoint of `like` where `g` is that of its real part, in the type of `like`."""
    real = _real(g)
    if isinstance(like, _NUMBERS):
        real = number_like(real, like)
    return real + 0j if _is_complex(like) else real


def adjoint_of_imag(g: Any, like: Any) -> Any:
    """The adjoint of `like` where `g` is that of its imaginary part: zero for a real `like`."""
    real = _real(g)
    return 1j * real if _is_complex(like) else 0.0 * real


def _real(x: Any) -> Any:
    return real_part(x) if _is_complex(x) else x
