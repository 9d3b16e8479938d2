"""Arrays of the array API standard, taken as NumPy's are.

Emitted code and its helpers are written with NumPy's functions. An array that implements the
standard and not NumPy's protocols (of `array_api_strict`, a tensor of PyTorch) is wrapped while a
derivative runs: a `StandardArray` answers to `__array_ufunc__` and `__array_function__` with the
functions of the array's own module. What that lacks is refused by name, never done in NumPy.
"""

from __future__ import annotations

import importlib
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

# Modules of arrays, and the module of the standard's functions for each.
HOMES = {"array_api_strict": "array_api_strict", "torch": "array_api_compat.torch"}
_MIRRORS = "tangentlike.runtime.namespaces"


def home_of(cls: type) -> str | None:
    """The module whose arrays are of a class, if it is one of the supported ones.

    >>> home_of(np.ndarray) is None
    True
    """
    for base in cls.__mro__:
        root = base.__module__.partition(".")[0]
        if root in HOMES and base.__name__ in ("Array", "Tensor"):
            return root
    return None


def taken(x: Any) -> StandardArray:
    """An array of a supported module as a `StandardArray`."""
    home = home_of(type(x))
    assert home is not None
    x = x.detach() if getattr(x, "requires_grad", False) else x  # (we build no graph)
    return StandardArray(x, functions_of(home))


def functions_of(home: str) -> Any:
    """The module of the standard's functions for the arrays of a module."""
    try:
        return importlib.import_module(HOMES[home])
    except ImportError as error:
        missing = (error.name or HOMES[home]).partition(".")[0].replace("_", "-")
        raise TypeError(
            f"derivatives of functions of {home}'s arrays need the package {missing}: install it"
        ) from error


def mirror_of(home: str) -> types.ModuleType:
    """The module of the standard's functions as functions of `StandardArray`."""
    if not hasattr(np, "matrix_transpose"):
        raise TypeError(
            f"derivatives of functions of {home}'s arrays need the package numpy>=2: install it"
        )
    return importlib.import_module(f"{_MIRRORS}.{home}")


def is_mirror(module: types.ModuleType) -> bool:
    """Whether a module is that of wrapped arrays."""
    return getattr(module, "ndarray", None) is StandardArray


def inside(value: Any) -> Any:
    """What the array's own module sees of an argument."""
    if isinstance(value, StandardArray):
        return value.array
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        raise TypeError(
            "an array of NumPy among arrays of another module: make an array of that module of it "
            "first"
        )
    if isinstance(value, (list, tuple)):
        return type(value)(map(inside, value))
    if isinstance(value, slice):
        return slice(inside(value.start), inside(value.stop), inside(value.step))
    return value


class _Memory:
    """What stands for the memory of arrays that share some."""

    __slots__ = ("__weakref__",)
    base = None


_memories: weakref.WeakValueDictionary[Any, _Memory] = weakref.WeakValueDictionary()


def _memory_of(array: Any) -> Any:
    """What tells the memory of an array from that of others."""
    if hasattr(array, "untyped_storage"):
        return "torch", array.untyped_storage().data_ptr() or id(array)
    owner = array._array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return "strict", id(owner)


class StandardArray:
    """An array of a module that implements the array API standard, under NumPy's protocols."""

    __slots__ = ("array", "base", "xp")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Any, xp: Any) -> None:
        self.array, self.xp = array, xp
        self.base = _memories.setdefault(_memory_of(array), _Memory())

    # ------------------------------------------------------------ protocols

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError(
            f"an array of {home_of(type(self.array))} would become an array of NumPy here: use the "
            "functions of its module, x.__array_namespace__()"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .standard_functions import ufunc_method

        return ufunc_method(self, ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types_: Any, args: Any, kwargs: Any) -> Any:
        from .standard_functions import FUNCTIONS

        found = FUNCTIONS.get(func)
        if found is None:
            raise self.lacking(f"{func.__module__}.{func.__name__}")
        return found(self, *args, **kwargs)

    @classmethod
    def __torch_function__(cls, func: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented

    def __array_namespace__(self, *, api_version: str | None = None) -> types.ModuleType:
        return mirror_of(home_of(type(self.array)) or "")

    def lacking(self, name: str) -> TypeError:
        """The error for a function of NumPy's that the standard has nothing for."""
        return TypeError(
            f"the derivative calls `{name}`, and nothing of the array API standard does that for "
            f"arrays of {type(self.array).__module__.partition('.')[0]}"
        )

    def like(self, array: Any) -> Any:
        """Results of the array's module, wrapped."""
        if isinstance(array, (tuple, list)):
            parts = [self.like(part) for part in array]
            return type(array)(*parts) if hasattr(array, "_fields") else type(array)(parts)
        return StandardArray(array, self.xp) if home_of(type(array)) else array

    def own_dtype(self, dtype: Any) -> Any:
        """What the array's module calls a dtype of NumPy."""
        if dtype is None or home_of(type(dtype)) or "dtype" in type(dtype).__name__.lower():
            is_own = dtype is None or not isinstance(dtype, np.dtype)
            return dtype if is_own else getattr(self.xp, np.dtype(dtype).name)
        return getattr(self.xp, np.dtype(dtype).name)

    def __getattr__(self, name: str) -> Any:
        """What only the array's module knows of; what NumPy calls so may be something else."""
        if name.startswith("__") or hasattr(np.ndarray, name):
            raise AttributeError(
                f"`{name}` of arrays is not in the array API standard, and may mean another thing "
                "than in NumPy: call a function of the array's namespace"
            )
        return getattr(self.array, name)

    # ----------------------------------------------------------- attributes

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The array's own class, for `isinstance` in programs."""
        return type(self.array)

    shape = property(lambda self: tuple(map(int, self.array.shape)))
    ndim = property(lambda self: len(self.array.shape))
    device = property(lambda self: self.array.device)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of that name."""
        name = str(self.array.dtype).rpartition(".")[2]
        return np.dtype(name)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    itemsize = property(lambda self: self.dtype.itemsize)
    T = property(lambda self: np.transpose(self))
    mT = property(lambda self: self.like(self.xp.matrix_transpose(self.array)))
    real = property(lambda self: np.real(self))
    imag = property(lambda self: np.imag(self))

    # ---------------------------------------------------------- conversions

    def __float__(self) -> float:
        return float(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __index__(self) -> int:
        return int(self.array.__index__())

    def __complex__(self) -> complex:
        return complex(self.array)

    def __bool__(self) -> bool:
        return bool(self.array)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"taken({self.array!r})"

    def __format__(self, spec: str) -> str:
        return format(self.array, spec)

    def __copy__(self) -> StandardArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> StandardArray:
        return self.copy()

    def copy(self, order: str = "C") -> StandardArray:
        """A copy with memory of its own; how that lies in memory is up to the module."""
        return StandardArray(self.xp.asarray(self.array, copy=True), self.xp)

    def astype(self, dtype: Any, copy: bool = True) -> StandardArray:
        """A copy of another dtype; a real one has the real parts of complex numbers."""
        array = self.array
        if self.dtype.kind == "c" and np.dtype(dtype).kind != "c":
            array = self.xp.real(array)
        return StandardArray(self.xp.astype(array, self.own_dtype(dtype), copy=copy), self.xp)

    def item(self) -> Any:
        """The number in an array of one entry."""
        array = self.array
        if hasattr(array, "item"):
            return array.item()
        flat = self.xp.reshape(array, ())
        return {"f": float, "c": complex, "b": bool}.get(self.dtype.kind, int)(flat)

    def tolist(self) -> Any:
        """Nested lists of numbers."""
        return [part.tolist() for part in self] if self.shape else self.item()

    def fill(self, value: Any) -> None:
        """Set all entries."""
        self[...] = value

    # -------------------------------------------------------------- indexing

    def _key(self, key: Any) -> Any:
        """A key that names all axes, as the standard wants it."""
        parts = inside(key) if isinstance(key, tuple) else (inside(key),)
        axes = sum(_axes(part) for part in parts)
        if axes == self.ndim:
            return tuple(part for part in parts if part is not Ellipsis) or parts
        return parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)

    def __getitem__(self, key: Any) -> Any:
        parts, backwards = _forwards(self._key(key), self.shape)
        if _chooses(parts):
            return _chosen_along(self, parts)
        found = self.array[parts]
        found = self.xp.flip(found, axis=backwards) if backwards else found
        return StandardArray(found, self.xp)

    def __setitem__(self, key: Any, value: Any) -> None:
        parts, backwards = _forwards(self._key(key), self.shape)
        given = inside(value)
        if home_of(type(given)):
            if given.dtype != self.array.dtype:
                given = self.xp.astype(given, self.array.dtype)
            if backwards:
                given = self.xp.broadcast_to(given, self.array[parts].shape)
                given = self.xp.flip(given, axis=backwards)
        if any(map(_is_indices, parts)) and not hasattr(self.array, "index_add_"):
            flat, places, given = flat_and_places(self, key, value)
            for k in range(places.shape[0]):
                flat[int(places[k])] = given[k]
            parts, given = (Ellipsis,), self.xp.reshape(flat, self.shape)
        self.array[parts] = given


def _axes(part: Any) -> int:
    """How many axes a part of a key stands for."""
    if part is None or part is Ellipsis:
        return 0
    if "bool" in str(getattr(part, "dtype", "")):
        return len(part.shape)
    return 1


def _is_indices(part: Any) -> bool:
    return "int" in str(getattr(part, "dtype", "")) and len(part.shape) > 0


def _chooses(parts: tuple[Any, ...]) -> bool:
    """Whether a key has one array of indices among slices, which the standard calls `take`."""
    arrays = [part for part in parts if hasattr(part, "dtype") and len(part.shape)]
    whole = (slice(None), Ellipsis)
    others = [part for part in parts if not hasattr(part, "dtype")]
    return (
        len(arrays) == 1
        and _is_indices(arrays[0])
        and bool(others)
        and all(any(part is w or part == w for w in whole) for part in others)
    )


def _chosen_along(x: StandardArray, parts: tuple[Any, ...]) -> StandardArray:
    place = next(k for k, part in enumerate(parts) if hasattr(part, "dtype"))
    indices = parts[place]
    after = any(part is Ellipsis for part in parts[:place])
    axis = x.ndim - (len(parts) - place) if after else place
    flat = x.xp.reshape(indices, (-1,))
    flat = x.xp.where(flat < 0, flat + x.shape[axis], flat)
    found = x.xp.take(x.array, flat, axis=axis)
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    return StandardArray(x.xp.reshape(found, shape), x.xp)


def _forwards(
    parts: tuple[Any, ...], shape: tuple[int, ...]
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """A key with steps forwards only, and the axes of the result to turn round: PyTorch has none
    backwards."""
    if not any(isinstance(p, slice) and (p.step or 1) < 0 for p in parts):
        return parts, ()
    if any(hasattr(part, "dtype") for part in parts):
        raise TypeError(
            "a slice that runs backwards beside an array of indices: do one after the other, as in "
            "x[::-1][i]"
        )
    named = sum(part is not None and part is not Ellipsis for part in parts)
    found, turned, axis, place = [], [], 0, 0
    for part in parts:
        if part is Ellipsis:
            axis, place = axis + len(shape) - named, place + len(shape) - named
        elif isinstance(part, slice):
            run = range(*part.indices(shape[axis]))
            if run.step < 0:
                part = slice(run[-1], run[0] + 1, -run.step) if run else slice(0, 0)
                turned.append(place)
            axis, place = axis + 1, place + 1
        elif part is None:
            place += 1
        else:
            axis += 1
        found.append(part)
    return tuple(found), tuple(turned)


def flat_and_places(x: StandardArray, key: Any, values: Any) -> tuple[Any, Any, Any]:
    """A copy of the entries in one row, where in it those at a key are, and a value for each."""
    xp = x.xp
    counted = xp.reshape(xp.arange(x.size, device=x.device), x.shape)
    places = StandardArray(counted, xp)[key].array
    given = inside(values)
    given = given if home_of(type(given)) else xp.asarray(given, device=x.device)
    given = xp.astype(given, x.array.dtype)
    given = xp.reshape(xp.broadcast_to(given, places.shape), (-1,))
    flat = xp.reshape(xp.asarray(x.array, copy=True), (-1,))
    return flat, xp.reshape(places, (-1,)), given


def _alike(array: Any, other: Any, xp: Any) -> tuple[Any, Any]:
    """Two operands of one class of dtypes: booleans count, and integers meet floats, as they do in
    NumPy; the standard leaves that open."""
    if not home_of(type(other)) or array.dtype == other.dtype:
        return array, other
    ranks = [_CLASSES.index(_class_of(operand)) for operand in (array, other)]
    if ranks[0] < ranks[1]:
        return xp.astype(array, other.dtype), other
    if ranks[1] < ranks[0]:
        return array, xp.astype(other, array.dtype)
    return array, other


_BITWISE = ("and", "or", "xor", "lshift", "rshift")
_CLASSES = ("bool", "int", "float", "complex")


def _class_of(array: Any) -> str:
    name = str(array.dtype).rpartition(".")[2]
    return next(c for c in _CLASSES if name.removeprefix("u").startswith(c))


def _binary(
    name: str, in_place: bool, arithmetic: bool = True
) -> Callable[[StandardArray, Any], Any]:
    def method(self: StandardArray, other: Any) -> Any:
        own = isinstance(other, (StandardArray, int, float, complex, np.generic))
        if not own and home_of(type(other)) is None:
            return NotImplemented
        array, other = self.array, inside(other)
        if isinstance(other, float) and _class_of(array) in ("bool", "int") and not in_place:
            array = self.xp.astype(array, self.own_dtype(float))
        elif isinstance(other, (int, float)) and _class_of(array) == "bool" and arithmetic:
            array = self.xp.astype(array, self.own_dtype(type(other)))
        elif arithmetic and not in_place:
            array, other = _alike(array, other, self.xp)
        result = getattr(array, name)(other)
        if result is NotImplemented:
            return NotImplemented
        return self if in_place and result is self.array else self.like(result)

    method.__name__ = name
    return method


def _unary(name: str) -> Callable[[StandardArray], Any]:
    def method(self: StandardArray) -> Any:
        return self.like(getattr(self.array, name)())

    method.__name__ = name
    return method


def _by_function(name: str) -> Callable[..., Any]:
    """A method that both NumPy and PyTorch have, with one meaning: the function of that name."""

    def method(self: StandardArray, *args: Any, **kwargs: Any) -> Any:
        return getattr(np, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


def _reshape(self: StandardArray, *shape: Any) -> Any:
    return np.reshape(self, shape[0] if len(shape) == 1 else shape)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    for _side in ("", "r", "i"):
        setattr(StandardArray, f"__{_side}{_name}__", _binary(f"__{_side}{_name}__", _side == "i"))
for _name in _BITWISE:
    for _side in ("", "r", "i"):
        _method = f"__{_side}{_name}__"
        setattr(StandardArray, _method, _binary(_method, _side == "i", False))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(StandardArray, f"__{_name}__", _binary(f"__{_name}__", False))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(StandardArray, f"__{_name}__", _unary(f"__{_name}__"))
for _name in ("all", "any", "argmax", "argmin", "clip", "cumprod", "cumsum", "diagonal", "dot"):
    setattr(StandardArray, _name, _by_function(_name))
for _name in ("mean", "prod", "ravel", "squeeze", "sum", "swapaxes", "trace", "conj", "conjugate"):
    setattr(StandardArray, _name, _by_function(_name))
StandardArray.reshape = _reshape  # type: ignore[attr-defined]
StandardArray.flatten = lambda self: np.ravel(self).copy()  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------- the module


def fill_mirror(names: dict[str, Any], home: str) -> None:
    """Give a module the functions and constants of the standard, of the arrays of `home`: NumPy's
    functions, which these answer to, and what makes arrays from the module itself."""
    from .standard_functions import CREATING, dispatched

    xp = functions_of(home)
    for name in ("e", "inf", "nan", "newaxis", "pi", *_DTYPES):
        names[name] = getattr(xp, name, None)
    for name in dispatched(np):
        names[name] = _dispatching(getattr(np, name), name)
    for name in CREATING:
        names[name] = _making(getattr(xp, name), name, xp)
    for space in ("linalg", "fft"):
        inner = types.ModuleType(f"{names['__name__']}.{space}")
        for name in dispatched(vars(np)[space]):
            if hasattr(getattr(xp, space), name) or name == "norm":
                setattr(inner, name, _dispatching(getattr(vars(np)[space], name), name))
        names[space] = inner
    names["ndarray"] = StandardArray


_DTYPES = (
    *("bool", "complex128", "complex64", "float32", "float64", "int16", "int32", "int64"),
    *("int8", "uint8"),
)


def _dispatching(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_outside, args), **{k: _outside(v) for k, v in kwargs.items()})

    return _named(called, name)


def _making(function: Callable[..., Any], name: str, xp: Any) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        given = {key: _own(inside(value)) for key, value in kwargs.items()}
        return _outside(function(*(_own(inside(value)) for value in args), **given))

    def _own(value: Any) -> Any:
        return getattr(xp, value.name) if isinstance(value, np.dtype) else value

    return _named(called, name)


def _outside(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_outside, value))
    return value if home_of(type(value)) is None else taken(value)


def _named(called: Callable[..., Any], name: str) -> Callable[..., Any]:
    called.__name__ = called.__qualname__ = name
    called.__doc__ = f"`{name}` of the array API standard, of wrapped arrays."
    return called
