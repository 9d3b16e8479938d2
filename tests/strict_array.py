"""A strict stand-in for a device array: NumPy inside, no way in or out for NumPy outside.

`StrictArray` behaves as CuPy's arrays do where it matters for emitted code: it cannot be
turned into an ndarray by accident (`np.asarray` raises), it does not mix with ndarrays, its
reductions and entries are 0-d arrays instead of numbers, and it speaks the array protocols
(`__array_ufunc__`, `__array_function__`). `xp` is the module to write programs with.
"""

from __future__ import annotations

import copy
import importlib
import operator
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["StrictArray", "from_strict", "to_strict", "xp"]


def _inside(value: Any) -> Any:
    """What NumPy sees of an argument; a foreign ndarray is refused."""
    if isinstance(value, StrictArray):
        return value._data
    if isinstance(value, np.ndarray):
        raise TypeError(f"an ndarray of shape {value.shape} among strict arrays: use xp.asarray")
    if isinstance(value, tuple):
        return tuple(map(_inside, value))
    if isinstance(value, list):
        return [_inside(v) for v in value]
    if isinstance(value, slice):
        return slice(_inside(value.start), _inside(value.stop), _inside(value.step))
    if isinstance(value, dict):
        return {k: _inside(v) for k, v in value.items()}
    return value


def _outside(value: Any) -> Any:
    """Results of NumPy as strict arrays, NumPy scalars as 0-d ones."""
    if isinstance(value, np.ndarray):
        return StrictArray(value)
    if isinstance(value, np.generic):
        return StrictArray(np.asarray(value))
    if isinstance(value, tuple):
        parts = [_outside(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [_outside(v) for v in value]
    return value


# By the id of the ndarray that owns it.
_MEMORIES: weakref.WeakValueDictionary[int, _Memory] = weakref.WeakValueDictionary()
# By its data, so that the owner of a view is one object.
_MADE: weakref.WeakValueDictionary[int, StrictArray] = weakref.WeakValueDictionary()


class StrictArray:
    """An array of the stand-in device."""

    __slots__ = ("__weakref__", "_data")
    __array_priority__ = 1000

    def __init__(self, data: np.ndarray) -> None:
        self._data = data
        _MADE[id(data)] = self

    # ------------------------------------------------------------ protocols

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError("a strict array does not convert to an ndarray: use from_strict")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        result = getattr(ufunc, method)(*_inside(inputs), **_inside(kwargs))
        out = kwargs.get("out")
        if out is not None:
            return out[0] if len(out) == 1 else out
        return _outside(result)

    def __array_function__(self, func: Any, types_: Any, args: Any, kwargs: Any) -> Any:
        return _outside(func(*_inside(args), **_inside(kwargs)))

    def __copy__(self) -> StrictArray:
        return StrictArray(self._data.copy())

    def __array_namespace__(self, *, api_version: str | None = None) -> types.ModuleType:
        return xp

    # ----------------------------------------------------------- attributes

    shape = property(lambda self: self._data.shape)
    ndim = property(lambda self: self._data.ndim)
    size = property(lambda self: self._data.size)
    dtype = property(lambda self: self._data.dtype)
    strides = property(lambda self: self._data.strides)
    itemsize = property(lambda self: self._data.itemsize)
    nbytes = property(lambda self: self._data.nbytes)
    flags = property(lambda self: self._data.flags)
    data = property(lambda self: _Pointer(self._data))
    T = property(lambda self: StrictArray(self._data.T))
    real = property(lambda self: StrictArray(self._data.real))
    imag = property(lambda self: StrictArray(self._data.imag))
    device = property(lambda self: "strict")

    @property
    def base(self) -> StrictArray | None:
        data = self._data.base
        if data is None:
            return None
        made = _MADE.get(id(data))
        return made if made is not None and made._data is data else StrictArray(data)

    def get(self) -> np.ndarray:
        """The deliberate way to the host."""
        return self._data.copy()

    # ---------------------------------------------------------- conversions

    def __float__(self) -> float:
        return float(self._data)

    def __int__(self) -> int:
        return int(self._data)

    def __index__(self) -> int:
        return self._data.__index__()

    def __complex__(self) -> complex:
        return complex(self._data)

    def __bool__(self) -> bool:
        return bool(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"strict {self._data!r}"

    def __format__(self, spec: str) -> str:
        return format(self._data, spec) if self._data.ndim == 0 else repr(self)

    def __deepcopy__(self, memo: Any) -> StrictArray:
        return StrictArray(self._data.copy())

    # -------------------------------------------------------------- indexing

    def __getitem__(self, key: Any) -> Any:
        key = _inside(key)
        found = self._data[key]
        if isinstance(found, np.generic):  # an entry is a view without dimensions
            found = self._data[(*key, ...) if isinstance(key, tuple) else (key, ...)]
        return StrictArray(np.asarray(found))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._data[_inside(key)] = _inside(value)


class _Memory:
    """The memory of an array and all views of it, as CuPy's allocators give it."""

    def __init__(self, owner: np.ndarray) -> None:
        self.owner = owner
        self.ptr, end = np.lib.array_utils.byte_bounds(owner) if owner.size else (0, 0)
        self.size = end - self.ptr


class _Pointer:
    """Where an array begins in which memory: CuPy's `x.data`."""

    def __init__(self, data: np.ndarray) -> None:
        owner = data
        while (base := owner.base) is not None:
            # (`as_strided` puts an object in between.)
            owner = base if isinstance(base, np.ndarray) else base.base
        self.ptr = data.__array_interface__["data"][0]
        mem = _MEMORIES.get(id(owner))
        self.mem = _MEMORIES.setdefault(id(owner), _Memory(owner)) if mem is None else mem


def _binary(name: str) -> Callable[[StrictArray, Any], Any]:
    def method(self: StrictArray, other: Any) -> Any:
        if isinstance(other, (str, bytes, dict, types.ModuleType)) or other is None:
            return NotImplemented
        result = getattr(self._data, name)(_inside(other))
        return result if result is NotImplemented else _outside(result)

    method.__name__ = name
    return method


def _in_place(name: str) -> Callable[[StrictArray, Any], Any]:
    def method(self: StrictArray, other: Any) -> Any:
        getattr(self._data, name)(_inside(other))
        return self

    method.__name__ = name
    return method


def _unary(name: str) -> Callable[[StrictArray], Any]:
    def method(self: StrictArray) -> Any:
        return _outside(getattr(self._data, name)())

    method.__name__ = name
    return method


def _plain_method(name: str) -> Callable[..., Any]:
    def method(self: StrictArray, *args: Any, **kwargs: Any) -> Any:
        result = getattr(self._data, name)(*_inside(args), **_inside(kwargs))
        return result if name in ("item", "tolist", "tobytes") else _outside(result)

    method.__name__ = name
    return method


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_BITWISE = ("and", "or", "xor", "lshift", "rshift")
for _name in _ARITHMETIC + _BITWISE:
    setattr(StrictArray, f"__{_name}__", _binary(f"__{_name}__"))
    setattr(StrictArray, f"__r{_name}__", _binary(f"__r{_name}__"))
    setattr(StrictArray, f"__i{_name}__", _in_place(f"__i{_name}__"))
for _name in ["lt", "le", "gt", "ge", "eq", "ne"]:
    setattr(StrictArray, f"__{_name}__", _binary(f"__{_name}__"))
for _name in ["neg", "pos", "abs", "invert"]:
    setattr(StrictArray, f"__{_name}__", _unary(f"__{_name}__"))
_METHODS = [
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "conjugate", "copy",
    "cumprod", "cumsum", "diagonal", "dot", "fill", "flatten", "item", "max", "mean", "min",
    "nonzero", "prod", "ravel", "repeat", "reshape", "round", "sort", "squeeze", "std", "sum",
    "swapaxes", "take", "tobytes", "tolist", "trace", "transpose", "var", "view",
]  # fmt: skip
for _name in _METHODS:
    setattr(StrictArray, _name, _plain_method(_name))


def to_strict(value: Any) -> Any:
    """Arrays of a structure as strict arrays (copied); all else as it is."""
    if isinstance(value, np.ndarray):
        return StrictArray(value.copy())
    return mapped(to_strict, value)


def from_strict(value: Any) -> Any:
    """Strict arrays of a structure as ndarrays (copied)."""
    if isinstance(value, StrictArray):
        return value.get()
    return mapped(from_strict, value)


def mapped(fn: Callable[[Any], Any], value: Any) -> Any:
    """A list, tuple, dict or object with attributes of the same form, its parts mapped."""
    if isinstance(value, (list, tuple)):
        parts = [fn(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {k: fn(v) for k, v in value.items()}
    if isinstance(value, (type, types.ModuleType, types.FunctionType)):
        return value
    if hasattr(value, "__dict__"):
        made = copy.copy(value)
        made.__dict__.update({k: fn(v) for k, v in vars(value).items()})
        return made
    return value


# ---------------------------------------------------------------------------- the module


def _wrapped(func: Callable[..., Any], name: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        result = func(*_inside(args), **_inside(kwargs))
        out = kwargs.get("out")
        return _outside(result) if out is None else out

    function.__name__ = function.__qualname__ = name
    function.__module__ = "cupy"  # known to simplification by name, as the module it stands for
    function.__doc__ = f"numpy.{name} of strict arrays."
    return function


class _Ufunc:
    """A ufunc of the module, with the methods that programs use."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc
        self.__name__ = f"cupy_{ufunc.__name__}"
        for name in ("at", "reduce", "outer", "accumulate"):
            setattr(self, name, _wrapped(getattr(ufunc, name), f"{ufunc.__name__}.{name}"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _wrapped(self._ufunc, self.__name__)(*args, **kwargs)


def _asarray(value: Any, dtype: Any = None, **kwargs: Any) -> StrictArray:
    if isinstance(value, StrictArray):
        return StrictArray(np.asarray(value._data, dtype))
    return StrictArray(np.array(_inside(value), dtype))


def _module() -> types.ModuleType:
    """All public functions of NumPy, for strict arrays; types and constants as they are."""
    module = types.ModuleType("strict_xp", "NumPy's functions for strict arrays.")
    for name in dir(np):
        value = getattr(np, name)
        if name.startswith("_") or isinstance(value, types.ModuleType):
            continue
        if isinstance(value, np.ufunc):
            setattr(module, name, _Ufunc(value))
        elif callable(value) and not isinstance(value, type):
            setattr(module, name, _wrapped(value, name))
        elif isinstance(value, (type, float, type(None))):
            setattr(module, name, value)
    for space in ("linalg", "fft"):
        inner = types.ModuleType(f"strict_xp.{space}")
        for name in vars(np)[space].__all__:
            value = getattr(vars(np)[space], name)
            if callable(value) and not isinstance(value, type):
                setattr(inner, name, _wrapped(value, f"{space}.{name}"))
        setattr(module, space, inner)
    lib, tricks = (types.ModuleType(f"strict_xp.{n}") for n in ("lib", "lib.stride_tricks"))
    for name in ("as_strided", "sliding_window_view"):
        setattr(tricks, name, _wrapped(getattr(np.lib.stride_tricks, name), name))
    lib.stride_tricks = tricks  # type: ignore[attr-defined]
    module.lib = lib  # type: ignore[attr-defined]
    module.ndarray = StrictArray  # type: ignore[attr-defined]
    module.asarray = _asarray  # type: ignore[attr-defined]
    return module


xp = _module()


def _scipy_module() -> types.ModuleType:
    """Functions of SciPy for strict arrays, as `cupyx.scipy` has them for CuPy's."""
    module = types.ModuleType("strict_scipy", "SciPy's functions for strict arrays.")
    for space in ("special", "linalg", "signal", "fft"):
        theirs = importlib.import_module(f"scipy.{space}")
        inner = types.ModuleType(f"strict_scipy.{space}")
        for name in theirs.__all__:
            value = getattr(theirs, name)
            if callable(value) and not isinstance(value, type):
                setattr(inner, name, _wrapped(value, name))
                getattr(inner, name).__module__ = f"cupyx.scipy.{space}"
        setattr(module, space, inner)
    return module


strict_scipy = _scipy_module()


class _Fused:
    """What `fuse` of the stand-in makes: it counts its calls, and refuses what CuPy's refuses."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0
        self.__name__ = function.__name__

    def __call__(self, *args: Any) -> Any:
        if not any(isinstance(arg, StrictArray) for arg in args):
            return self.function(*args)
        for arg in args:
            if not isinstance(arg, (StrictArray, np.generic, int, float, complex)):
                raise TypeError(f"Invalid argument type for {self.__name__!r}: {type(arg)}")
        self.calls += 1
        found = self.function(*map(_Traced, args))
        return found.value


class _Traced:
    """An argument while a function is fused: elementwise operators, and nothing else."""

    __array_ufunc__ = None

    def __init__(self, value: Any) -> None:
        self.value = value


def _traced(name: str, reflected: bool = False) -> Callable[..., Any]:
    operation = getattr(operator, name)

    def method(self: _Traced, *others: Any) -> Any:
        given = [other.value if isinstance(other, _Traced) else other for other in others]
        operands = (*given, self.value) if reflected else (self.value, *given)
        return _Traced(operation(*operands))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    setattr(_Traced, f"__{_name}__", _traced(_name))
    setattr(_Traced, f"__r{_name}__", _traced(_name, reflected=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "pow", "neg"):  # (no __rpow__, no __abs__)
    setattr(_Traced, f"__{_name}__", _traced(_name))


def _fuse(*args: Any, **kwargs: Any) -> Any:
    """`cupy.fuse`, with brackets or without."""
    if len(args) == 1 and callable(args[0]):
        return _Fused(args[0])
    return _Fused


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the module that is also called while one is fused."""

    def called(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(arg, _Traced) for arg in args):
            return function(*args, **kwargs)
        return _Traced(function(*(a.value if isinstance(a, _Traced) else a for a in args)))

    called.__name__ = called.__qualname__ = str(getattr(function, "__name__", "function"))
    called.__module__ = "cupy"
    for method in ("at", "reduce", "outer", "accumulate"):
        setattr(called, method, getattr(function, method, None))
    return called


def fusing_module() -> types.ModuleType:
    """The module with a `fuse` that takes elementwise functions only."""
    module = types.ModuleType("strict_fusing", "The stand-in, with `fuse`.")
    vars(module).update({k: v for k, v in vars(xp).items() if not k.startswith("__")})
    for name in dir(np):
        if isinstance(getattr(np, name), np.ufunc) or name == "where":
            setattr(module, name, _elementwise(getattr(xp, name)))
    module.fuse = _fuse  # type: ignore[attr-defined]
    return module


fusing = fusing_module()
