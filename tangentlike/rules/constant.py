"""Operations whose results carry no derivative: integers, truth values, shapes, text.

Rounding is here as well: its derivative is zero wherever it has one.
"""

from __future__ import annotations

import importlib
import math
import operator

import numpy as np

from .. import runtime
from .book import nondifferentiable
from .kinds_of import (
    boolean,
    comparison,
    elementwise,
    integer,
    integer_elementwise,
    list_of_others,
    other,
    unknown,
)

# ------------------------------------------------------------------- comparisons, logic

nondifferentiable(
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
    *(np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal),
    *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
    *(np.isfinite, np.isinf, np.isnan, np.isclose, np.signbit, np.isneginf, np.isposinf),
    *(np.isreal, np.iscomplex, np.isnat),
    kind=comparison,
)
nondifferentiable(
    *(operator.is_, operator.is_not, operator.not_, operator.contains, operator.truth),
    *(np.allclose, np.array_equal, np.array_equiv, np.iscomplexobj, np.isrealobj, np.isscalar),
    np.ma.isMaskedArray,
    *(np.shares_memory, np.may_share_memory, np.iterable, np.issubdtype, np.can_cast),
    *(isinstance, issubclass, callable, hasattr, bool),
    *(runtime.is_sequence, runtime.is_mapping, runtime.has_own),
    *(math.isfinite, math.isinf, math.isnan, math.isclose),
    *("scipy.sparse.issparse", "scipy.sparse.isspmatrix"),
    kind=boolean,
)
nondifferentiable(any, all, kind=boolean)
nondifferentiable(
    *(operator.and_, operator.xor, operator.invert, operator.inv),
    *(operator.iand, operator.ixor, operator.lshift, operator.rshift),
    *(operator.ilshift, operator.irshift),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift),
    *("numpy.bitwise_count", np.gcd, np.lcm),
    kind=integer_elementwise,
)

# --------------------------------------------------------------------------- rounding

nondifferentiable(
    *(operator.floordiv, operator.ifloordiv, np.floor_divide),
    *(np.floor, np.ceil, np.trunc, np.rint, np.round, np.around, np.fix, np.ndarray.round),
    *(np.spacing,),
    kind=elementwise,
)
nondifferentiable(round)
nondifferentiable(math.floor, math.ceil, math.trunc, int, operator.index, kind=integer)
nondifferentiable(
    *(math.gcd, math.lcm, math.comb, math.perm, math.factorial, math.isqrt), kind=integer
)
nondifferentiable(math.ulp, kind=elementwise)

# -------------------------------------------------------------------- shapes and types

nondifferentiable(len, np.size, np.ndim, hash, id, ord, kind=integer)
nondifferentiable(np.ndarray.size, np.ndarray.ndim, np.ndarray.itemsize, kind=integer)
nondifferentiable(np.ndarray.nbytes, kind=integer)
nondifferentiable(
    *(np.shape, np.result_type, np.broadcast_shapes, np.dtype, np.promote_types),
    *(np.min_scalar_type, np.finfo, np.iinfo, np.errstate, np.seterr, np.geterr, np.common_type),
    *(np.ndarray.shape, np.ndarray.dtype, np.ndarray.strides, np.ndarray.flags),
    "numpy.ndarray.device",
    *(type, range, str, repr, format, chr, hex, bin, oct, ascii, print, input),
    *(open, bytes, object, importlib.import_module),
    kind=other,
)
nondifferentiable(bytearray, kind=unknown)  # (it may be changed, as a list is)
nondifferentiable(dir, str.split, str.rsplit, str.splitlines, kind=list_of_others)
_COMPAT = "array_namespace device size is_array_api_obj is_writeable_array is_lazy_array"
_COMPAT += "".join(f" is_{m}_array is_{m}_namespace" for m in ("numpy", "cupy", "torch", "jax"))
nondifferentiable(*(f"array_api_compat.{name}" for name in _COMPAT.split()), kind=other)
nondifferentiable(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
nondifferentiable(np.intp, np.bool_)

# ------------------------------------------------------- what text and files are made with

nondifferentiable(
    *(str.format, str.join, str.strip, str.upper, str.lower, str.startswith),
    *(str.endswith, str.replace, str.rjust, str.ljust, str.center, str.zfill, str.encode),
    kind=other,
)
nondifferentiable(
    *(np.array2string, np.array_repr, np.array_str, np.set_printoptions, np.printoptions),
    *(np.format_float_positional, np.format_float_scientific, np.base_repr, np.binary_repr),
    *(np.save, np.savez, np.savez_compressed, np.savetxt, np.einsum_path),
    *("json.dump", "json.dumps"),
    *(runtime.subscripts_of, runtime.require_subscripts),
    *(runtime.note_kept, runtime.require_unseen),
    kind=other,
)
nondifferentiable(np.load, np.loadtxt, np.genfromtxt, np.fromfile)
nondifferentiable("json.load", "json.loads", kind=unknown)
nondifferentiable(runtime.require_new)
