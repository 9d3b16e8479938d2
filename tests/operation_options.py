"""Calls of operations with every option that matters, on arrays of every layout: a strategy.

A case is the text of a program of x, y and mask, and its arguments. Values are in general
position (no ties, away from kinks), so that central differences mean something.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.operation_texts import ALONG, LINALG, REARRANGED


@dataclass(frozen=True)
class Case:
    """A call `text` of `x`, `y` and `mask`."""

    text: str
    x: Any
    y: Any = 1.0
    mask: Any = True

    def __repr__(self) -> str:
        return f"{self.text}  {_told('x', self.x)}  {_told('y', self.y)}  {_told('m', self.mask)}"


def _told(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{name}: {value.dtype}{list(value.shape)} strides {value.strides}"
    return f"{name}: {type(value).__name__}"


# ---------------------------------------------------------------------------------- arrays

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": lambda a: a,
    "F": lambda a: np.array(a, order="F"),
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1] if a.ndim else a,
    "every second": lambda a: np.repeat(a, 2, axis=0)[::2] if a.ndim else a,
    "swapped": lambda a: np.swapaxes(np.swapaxes(a, 0, -1).copy(), 0, -1) if a.ndim else a,
}
REAL = ("float64", "float64", "float32")
EITHER = ("float64", "float64", "float32", "complex128")


def filled(shape: tuple[int, ...], dtype: str, seed: int, low: float, high: float) -> np.ndarray:
    """An array of distinct values between two bounds."""
    rng = np.random.default_rng([seed, *shape])
    count = int(np.prod(shape))
    places = (rng.permutation(count) + rng.uniform(0.3, 0.7, count)) / max(count, 1)
    values = low + (high - low) * places
    if dtype.startswith("complex"):
        values = values + 1j * rng.uniform(0.2, 0.8, count)
    return np.asarray(values.reshape(shape)).astype(dtype)


shapes = st.lists(st.sampled_from((0, 1, 2, 2, 3, 3)), min_size=0, max_size=4).map(tuple)
full_shapes = st.lists(st.sampled_from((1, 2, 2, 3)), min_size=1, max_size=4).map(tuple)


@st.composite
def arrays(
    draw: Any,
    shape: Any = shapes,
    dtypes: tuple[str, ...] = EITHER,
    low: float = 0.2,
    high: float = 0.9,
) -> np.ndarray:
    dims = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    made = filled(dims, draw(st.sampled_from(dtypes)), draw(st.integers(0, 3)), low, high)
    return LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](made)


@st.composite
def operands(draw: Any, x: np.ndarray, low: float, high: float) -> Any:
    """What meets an array in an operation: arrays it broadcasts with, integers, numbers."""
    kind = draw(st.sampled_from(("array", "row", "view", "int array", "float", "int", "scalar")))
    dtype = draw(st.sampled_from(REAL))
    if kind == "array":
        return draw(arrays(x.shape, (dtype,), low, high))
    if kind == "row":
        kept = draw(st.integers(0, x.ndim))
        some = [draw(st.sampled_from((1, n))) for n in x.shape[x.ndim - kept :]]
        return filled(tuple(some), dtype, 7, low, high)
    if kind == "view":
        return np.broadcast_to(filled(x.shape[-1:], dtype, 8, low, high), x.shape)
    if kind == "int array":
        return np.ones(x.shape[-1:], dtype=int) + np.arange(int(np.prod(x.shape[-1:]))) % 3
    numbers = {"float": 0.5 * (low + high), "int": 2, "scalar": np.float32(0.5 * (low + high))}
    return numbers[kind]


@st.composite
def axes(draw: Any, rank: int, tuples: bool = True) -> Any:
    """An axis, negative or not, a tuple of them, or None."""
    if rank == 0:
        return draw(st.sampled_from((None, ()) if tuples else (None,)))
    some = st.integers(-rank, rank - 1)
    if not tuples:
        return draw(some)
    several = st.lists(some, max_size=rank, unique_by=lambda i: i % rank).map(tuple)
    return draw(st.one_of(st.none(), some, several))


@st.composite
def masks(draw: Any, shape: tuple[int, ...]) -> np.ndarray:
    dims = tuple(draw(st.sampled_from((1, n))) for n in shape) if draw(st.booleans()) else shape
    rng = np.random.default_rng(draw(st.integers(0, 3)))
    return np.asarray(rng.uniform(size=dims) < 0.6)


# ------------------------------------------------------------------------------ elementwise

UNARY = "exp exp2 expm1 sin cos tan arcsin arctan sinh cosh tanh arcsinh log log2 log10 log1p"
UNARY += " sqrt square reciprocal negative positive conjugate absolute arccos arctanh"
ONLY_REAL = "cbrt deg2rad rad2deg fabs sign floor rint degrees radians"
BINARY = "add subtract multiply divide power"
ONLY_REAL_BINARY = "maximum minimum fmax fmin hypot arctan2 logaddexp logaddexp2 copysign fmod"
ONLY_REAL_BINARY += " remainder float_power heaviside floor_divide ldexp"


@st.composite
def written_options(draw: Any, dtype: str, shape: tuple[int, ...]) -> tuple[str, Any]:
    """Keyword arguments of a ufunc, and the mask they name."""
    wide = {"float32": "float64", "float64": "complex128"}.get(dtype, dtype)
    choice = draw(st.integers(0, 7))
    out = f"out=np.full({shape}, 0.5, np.{dtype})"
    if choice == 0:
        return f", {out}", True
    if choice == 1:
        return f", {out}, where=mask", draw(masks(shape))
    if choice == 2:
        return f", dtype=np.{dtype}, casting='same_kind'", True
    if choice == 3:
        order = draw(st.sampled_from("CFAK"))
        return f", order='{order}', subok=False", True
    if choice == 4 and wide == "float64":
        return f", dtype=np.{wide}", True
    if choice == 5:
        return f", out=np.empty({shape}, np.{np.result_type(dtype, wide)})", True
    if choice == 6:
        return f", casting='unsafe', out=np.zeros({shape}, np.{dtype})", True
    return "", True


@st.composite
def unary(draw: Any) -> Case:
    name = draw(st.sampled_from((UNARY + " " + ONLY_REAL).split()))
    x = draw(arrays(dtypes=REAL if name in ONLY_REAL.split() else EITHER))
    result = _result(f"np.{name}(x)", x)
    options, mask = draw(written_options(result, x.shape))
    if "dtype" in options and (result != str(x.dtype) or name == "absolute"):
        options = ""  # (a type by the result, which differs from that of the argument)
    return Case(f"np.{name}(x{options})", x, mask=mask)


@st.composite
def binary(draw: Any) -> Case:
    name = draw(st.sampled_from((BINARY + " " + ONLY_REAL_BINARY).split()))
    x = draw(arrays(dtypes=REAL if name in ONLY_REAL_BINARY.split() else EITHER, low=1.2, high=2.4))
    y = 2 if name == "ldexp" else draw(operands(x, 0.3, 0.7))
    first, second = ("x", "y") if name == "ldexp" or draw(st.booleans()) else ("y", "x")
    text = f"np.{name}({first}, {second}"
    options, mask = draw(written_options(_result(text + ")", x, y), x.shape))
    if name == "ldexp" and "dtype" in options:
        options = ""
    return Case(f"{text}{options})", x, y, mask)


def _result(text: str, x: Any, y: Any = None) -> str:
    """The dtype of a call's result."""
    with np.errstate(all="ignore"):
        return str(np.asarray(eval(text, {"np": np, "x": x, "y": y})).dtype)


# ------------------------------------------------------------------------------- reductions

REDUCTIONS = "sum mean prod max min std var ptp average nansum nanmean nanprod nanstd nanvar"
REDUCTIONS += " nanmax nanmin median nanmedian add.reduce multiply.reduce maximum.reduce amax amin"
REDUCTIONS += " logaddexp.reduce subtract.reduce"
COMPLEX_REDUCTIONS = "sum mean prod std var average nansum nanmean nanprod add.reduce"
COMPLEX_REDUCTIONS += " multiply.reduce nanstd nanvar"
METHODS = "sum mean prod max min std var".split()
WITH_WHERE = "sum mean prod max min std var nansum nanmean nanprod nanstd nanvar amax amin".split()
WITH_INITIAL = "sum prod max min nansum nanprod amax amin".split()
WITH_DTYPE = "sum mean prod std var nansum nanmean nanprod nanstd nanvar".split()


@st.composite
def reductions(draw: Any) -> Case:
    name = draw(st.sampled_from(REDUCTIONS.split()))
    sums = name in ("sum", "prod", "nansum", "nanprod", "add.reduce", "multiply.reduce")
    dtypes = EITHER if name in COMPLEX_REDUCTIONS.split() else REAL
    x = draw(arrays(shapes if sums else full_shapes, dtypes, -0.9, 0.9))
    axis = draw(axes(x.ndim, tuples=name not in ("subtract.reduce", "logaddexp.reduce")))
    if name == "median" or name == "nanmedian" or name == "average":
        axis = None if axis == () else axis
    options = [] if axis is None and draw(st.booleans()) and "." not in name else [f"axis={axis}"]
    ufunc = "." in name
    if draw(st.booleans()):
        options.append(f"keepdims={draw(st.booleans())}")
    mask: Any = True
    if (name in WITH_WHERE or ufunc) and draw(st.integers(0, 2)) == 0:
        options.append("where=mask")
        mask = draw(masks(x.shape))
        if name in ("mean", "std", "var", "nanmean", "nanstd", "nanvar"):
            mask = mask | True if draw(st.booleans()) else _some_in_each(mask, x.shape)
        if name in ("max", "min", "amax", "amin", "nanmax", "nanmin", "maximum.reduce"):
            options.append("initial=-5.0" if "max" in name else "initial=5.0")
    elif (name in WITH_INITIAL or ufunc) and draw(st.integers(0, 2)) == 0:
        options.append(f"initial={draw(st.sampled_from(('0.25', '0.5', 'y')))}")
    if name in ("std", "var", "nanstd", "nanvar") and draw(st.booleans()):
        options.append(f"ddof={draw(st.sampled_from((0, 1, 0.5)))}")
    if name in WITH_DTYPE and draw(st.integers(0, 3)) == 0:
        options.append(f"dtype=np.{np.result_type(x.dtype, np.float64)}")
    spelled = "x." + name + "(" if name in METHODS and draw(st.booleans()) else f"np.{name}(x, "
    text = f"{spelled}{', '.join(options)})"
    if (
        options
        and draw(st.integers(0, 3)) == 0
        and name not in ("average", "subtract.reduce", "logaddexp.reduce")
        and not (name in ("std", "var") and "dtype=np.complex" in text)  # (refused)
    ):
        text = _with_out(text, x, mask)
    return Case(text, x, 0.75, mask)


def _some_in_each(mask: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A mask that leaves most entries."""
    found = np.ones(shape, dtype=bool)
    found.flat[:1] = False
    return found


def _with_out(text: str, x: Any, mask: Any) -> str:
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(eval(text, {"np": np, "x": x, "y": 0.75, "mask": mask}))
    except (TypeError, ValueError):
        return text
    return f"{text[:-1]}, out=np.empty({result.shape}, np.{result.dtype}))"


# ------------------------------------------------- along one axis, rearrangements, matrices

# Calls whose real arguments must be real, by a part of their text.
_ALONG_REAL = ("unwrap", "logaddexp", "quantile", "percentile")
_REARRANGED_REAL = ("clip", "interp", "x >", "sinc", "i0", "astype(np.float")


def _is_real(text: str, parts: tuple[str, ...]) -> bool:
    return any(part in text for part in parts)


@st.composite
def along(draw: Any) -> Case:
    text = draw(st.sampled_from(ALONG))
    x = draw(arrays(full_shapes, REAL if _is_real(text, _ALONG_REAL) else EITHER))
    return Case(text.format(axis=draw(axes(x.ndim, tuples=False))), x)


@st.composite
def rearranged(draw: Any) -> Case:
    text = draw(st.sampled_from(REARRANGED))
    x = draw(arrays(shapes, REAL if _is_real(text, _REARRANGED_REAL) else EITHER))
    mask = draw(masks(x.shape)) if "mask" in text else True
    y = draw(operands(x, 0.3, 0.7)) if re.search(r"\by\b", text) else 1.0
    return Case(text, x, y, mask)


@st.composite
def matrices(draw: Any) -> Case:
    text = draw(st.sampled_from(LINALG))
    stack = draw(st.sampled_from(((), (), (2,), (1, 2), (0,))))
    x = draw(arrays((*stack, 3, 3), EITHER, -0.9, 0.9))
    y = 0.7 * draw(arrays((*stack, 3, 3), EITHER, -0.9, 0.9)) + 0.123
    if draw(st.booleans()) and "solve" not in text and y.size:
        y = y[(0,) * (y.ndim - 2)]
    return Case(text, x, y)
