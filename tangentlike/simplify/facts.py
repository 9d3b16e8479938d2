"""What the passes are told about a program: facts in by argument, attached to nothing."""

from __future__ import annotations

import builtins
import math
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ir
from ..kind import UNKNOWN, Kind

DERIVED_NAME = re.compile(r"^(?P<primal>.+)_(?:bar|dot)\d*$")
NUMERIC = ("number", "array", "value")

_PURE_BUILTINS = frozenset(
    "abs bool bytes callable complex dict divmod enumerate float format frozenset getattr hasattr "
    "hash id int isinstance issubclass len list max min pow range repr reversed round set slice "
    "sorted str sum tuple type zip".split()
)
_FRESH_BUILTINS = frozenset(
    "abs bool bytes callable complex divmod float format hasattr hash id int isinstance issubclass "
    "len pow range repr round str".split()
)
_IMPURE_NUMPY = frozenset(
    "copyto put place putmask fill_diagonal put_along_axis save savetxt savez savez_compressed "
    "seterr seterrcall setbufsize set_printoptions printoptions errstate apply_along_axis "
    "apply_over_axes vectorize frompyfunc piecewise fromfunction info show_config".split()
)
_NUMPY_VIEWS = frozenset(
    "reshape ravel transpose permute_dims matrix_transpose squeeze asarray asanyarray array "
    "ascontiguousarray asfortranarray asarray_chkfinite asmatrix require atleast_1d atleast_2d "
    "atleast_3d broadcast_to broadcast_arrays diag diagonal flip fliplr flipud rot90 moveaxis "
    "rollaxis swapaxes expand_dims real imag real_if_close split array_split hsplit vsplit dsplit "
    "unstack nan_to_num trim_zeros meshgrid ix_ einsum frombuffer as_strided astype nditer "
    "sliding_window_view ndenumerate ndindex".split()
)
_IN_PLACE_OPERATORS = frozenset(
    "iadd iand iconcat ifloordiv ilshift imatmul imod imul ior ipow irshift isub itruediv ixor "
    "setitem delitem".split()
)


def _is_operator(obj: Any) -> bool:
    return getattr(obj, "__module__", "") == "_operator"


def _is_ufunc_at(obj: Any) -> bool:
    """`np.add.at` and its like, which write their first argument."""
    return getattr(obj, "__name__", "") == "at"


def numpy_name(obj: Any) -> str:
    """The last part of a NumPy (or CuPy) function's name; "" for anything else."""
    if isinstance(obj, np.ufunc):
        return obj.__name__
    owner = getattr(obj, "__self__", None)
    if isinstance(owner, np.ufunc):  # np.add.reduce, np.multiply.outer, np.add.at
        return getattr(obj, "__name__", "")
    module = getattr(obj, "__module__", None) or ""
    root = module.partition(".")[0]
    if root in ("numpy", "cupy") and ".random" not in module:
        return getattr(obj, "__name__", "")
    if isinstance(obj, types.BuiltinFunctionType) and getattr(np, obj.__name__, None) is obj:
        return obj.__name__
    return ""


def runtime_name(obj: Any) -> str:
    """The name of a function of `tangentlike.runtime`; "" for anything else."""
    module = getattr(obj, "__module__", None) or ""
    own = __name__.partition(".")[0] + ".runtime"
    if module == own or module.startswith(own + "."):
        return getattr(obj, "__name__", "")
    return ""


def known_pure(obj: Any) -> bool:
    """Whether applying `obj` surely does nothing but compute a value from its arguments."""
    if _is_operator(obj):
        return getattr(obj, "__name__", "") not in _IN_PLACE_OPERATORS
    name = numpy_name(obj)
    if name:
        return name not in _IMPURE_NUMPY and not _is_ufunc_at(obj)
    if isinstance(obj, np.ufunc) or runtime_name(obj) in PURE_RUNTIME:
        return True
    if getattr(obj, "__module__", "") in (math.__name__, "cmath"):
        return True
    name = getattr(obj, "__name__", "")
    return name in _PURE_BUILTINS and getattr(builtins, name, None) is obj


def known_fresh(obj: Any) -> bool:
    """Whether the result of `obj` surely shares no memory with its arguments."""
    if _is_operator(obj):
        return getattr(obj, "__name__", "") not in (*_IN_PLACE_OPERATORS, "getitem", "pos")
    name = numpy_name(obj)
    if name:
        return name not in _NUMPY_VIEWS
    if runtime_name(obj) in FRESH_RUNTIME:
        return True
    if getattr(obj, "__module__", "") in (math.__name__, "cmath"):
        return True
    name = getattr(obj, "__name__", "")
    return name in _FRESH_BUILTINS and getattr(builtins, name, None) is obj


# Of `tangentlike.runtime`: what else writes its first argument or has some effect.
PURE_RUNTIME = frozenset(
    "unbroadcast broadcast_like zeros_like ones_like copy unreduce swap_last scalar_seed "
    "stop_gradient matmul_bar_a matmul_bar_b".split()
)
FRESH_RUNTIME = frozenset("zeros_like ones_like copy scalar_seed matmul_bar_a matmul_bar_b".split())
FIRST_ONLY_RUNTIME = frozenset("unbroadcast broadcast_like unreduce swap_last".split())
ADDING_RUNTIME = frozenset(("add_at",))


@dataclass(frozen=True)
class Facts:
    """Facts about one derived function.

    `kinds`: of names, where known. `is_pure`: whether applying an operation only computes
    (asked for a `Ref`; what the tables above know need not be known to it). `shares_memory`:
    whether the result of an operation may share memory with an argument (None: not known).
    `temporaries`: names that flattening made. `original`: name of a web -> the user's name.
    `floating`: names that surely hold no integers or booleans. `numpy`: the array module
    that the program uses, and how it spells it.
    """

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    is_pure: Callable[[ir.Ref], bool] = lambda ref: False
    shares_memory: Callable[[ir.Ref], bool | None] = lambda ref: None
    temporaries: frozenset[str] = frozenset()
    original: Mapping[str, str] = field(default_factory=dict)
    floating: frozenset[str] = frozenset()
    alias: str = "np"
    numpy: Any = np
    cache: dict[int, tuple[Any, Any]] = field(default_factory=dict, repr=False, compare=False)

    def kind(self, name: str) -> Kind:
        return self.kinds.get(name, UNKNOWN)

    def pure(self, ref: ir.Ref) -> bool:
        """Whether applying an operation only computes a value."""
        return known_pure(ref.obj) or (not _writes_first(ref.obj) and self.is_pure(ref))

    def fresh(self, ref: ir.Ref) -> bool:
        """Whether an operation's result surely shares no memory with its arguments."""
        shares = self.shares_memory(ref)
        if shares is not None and not _is_operator(ref.obj):
            return not shares
        return known_fresh(ref.obj)

    def numpy_function(self, name: str) -> ir.Ref:
        """A function of the program's array module."""
        return ir.Ref(f"{self.alias}.{name}", getattr(self.numpy, name))


def _writes_first(obj: Any) -> bool:
    return _is_ufunc_at(obj) or runtime_name(obj) in ADDING_RUNTIME or numpy_name(obj) in (
        _IMPURE_NUMPY
    )


def operation(fn: ir.Expr) -> ir.Expr:
    """What a call applies: `np.add.at`, written as an attribute of `np.add`, is an operation."""
    if isinstance(fn, ir.Attribute) and isinstance(fn.base, ir.Ref):
        if isinstance(fn.base.obj, (np.ufunc, type, types.ModuleType)):
            found = getattr(fn.base.obj, fn.name, None)
            if found is not None:
                return ir.Ref(f"{fn.base.text}.{fn.name}", found)
    return fn


def derived_names(function: ir.Function) -> frozenset[str]:
    """Names that only a transform binds: adjoints, tangents, their temporaries."""
    ours: set[str] = set()
    theirs: set[str] = set(function.param_names)
    for stmt in ir.statements(function.body):
        (ours if stmt.origin.role in ("adjoint", "tangent") else theirs).update(ir.binds(stmt))
    return frozenset(ours - theirs)


def floating_names(function: ir.Function, facts: Facts) -> frozenset[str]:
    """Names that carry derivatives, hence hold no integers: adjoints, tangents and their primals."""
    adjoints = {n for n in derived_names(function) if DERIVED_NAME.match(n)}
    primals = {DERIVED_NAME.match(n)["primal"] for n in adjoints}  # type: ignore[index]
    known = {n for n, kind in facts.kinds.items() if kind.dtype in ("float", "complex")}
    discrete = {n for n, kind in facts.kinds.items() if kind.discrete}
    return frozenset((adjoints | primals | known) - discrete)
