"""The witnesses of a derivative: central differences and the dot-product identity.

Written apart from `tangentlike.testing`, so that a mistake there is not believed here.
"""

from __future__ import annotations

import contextlib
import copy
import io
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Function = Callable[..., Any]


def is_number(x: Any) -> bool:
    """Whether x is a leaf that carries a derivative."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, np.floating))


def map_leaves(fn: Callable[..., Any], x: Any, *others: Any) -> Any:
    """Apply fn to the corresponding leaves of equal structures; other leaves become None."""
    if is_number(x):
        return fn(x, *others)
    if isinstance(x, dict):
        return {k: map_leaves(fn, v, *(o[k] for o in others)) for k, v in x.items()}
    if isinstance(x, (list, tuple, deque)):
        return sequence_like(x, (map_leaves(fn, *items) for items in zip(x, *others, strict=True)))
    if hasattr(x, "__dict__") and not callable(x):
        twin = copy.copy(x)
        for name, value in vars(x).items():
            vars(twin)[name] = map_leaves(fn, value, *(attribute(o, name) for o in others))
        return twin
    return None


def sequence_like(x: Any, items: Iterable[Any]) -> Any:
    """A list, tuple, namedtuple or deque of the class of x (and of its bound) with other items."""
    if isinstance(x, deque):
        return deque(items, x.maxlen)
    return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)


def attribute(x: Any, name: str) -> Any:
    """A field of a record, or of the dict that stands for a record."""
    return x[name] if isinstance(x, dict) else getattr(x, name)


def random_direction(x: Any, rng: np.random.Generator) -> Any:
    """A structure like x with standard normal leaves of the leaves' own shapes."""

    def draw(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray):
            return np.asarray(rng.normal(size=leaf.shape), dtype=leaf.dtype)
        return float(rng.normal())

    return map_leaves(draw, x)


def moved(x: Any, t: float, direction: Any) -> Any:
    """A deep copy of x with its leaves moved by t along the direction."""
    if is_number(x):
        if isinstance(x, np.ndarray):
            return np.asarray(x + t * direction).astype(x.dtype)
        return type(x)(x + t * direction)
    if isinstance(x, dict):
        return {k: moved(v, t, direction[k]) for k, v in x.items()}
    if isinstance(x, (list, tuple, deque)):
        return sequence_like(x, (moved(v, t, d) for v, d in zip(x, direction, strict=True)))
    if hasattr(x, "__dict__") and not callable(x):
        twin = copy.copy(x)
        for name, value in vars(x).items():
            vars(twin)[name] = moved(value, t, attribute(direction, name))
        return twin
    return copy.deepcopy(x)


def inner(x: Any, y: Any) -> float:
    """The inner product of two structures; a leaf that is None in either counts nothing."""
    total: list[float] = []

    def product(a: Any, b: Any) -> None:
        if b is not None:
            if np.shape(a) != np.shape(b):
                raise AssertionError(f"shapes differ: {np.shape(a)} and {np.shape(b)}")
            if np.iscomplexobj(b) and not np.iscomplexobj(a):
                raise AssertionError("the adjoint of a real value is complex")
            total.append(float(np.sum(np.asarray(a) * np.asarray(b))))

    map_leaves(product, x, y)
    return math.fsum(total)


def call(f: Function, args: Sequence[Any]) -> Any:
    """f on copies of the arguments, its prints swallowed."""
    with contextlib.redirect_stdout(io.StringIO()):
        return f(*copy.deepcopy(tuple(args)))


def slope(f: Function, args: Sequence[Any], directions: Sequence[Any], h: float = 1e-4) -> float:
    """d/dt f(args + t * directions) at 0 by central differences with one extrapolation."""

    def difference(step: float) -> float:
        up = [
            moved(a, step, d) if d is not None else a for a, d in zip(args, directions, strict=True)
        ]
        down = [
            moved(a, -step, d) if d is not None else a
            for a, d in zip(args, directions, strict=True)
        ]
        return float((call(f, up) - call(f, down)) / (2.0 * step))

    wide, narrow = difference(h), difference(0.5 * h)
    return (4.0 * narrow - wide) / 3.0


def directions_for(args: Sequence[Any], wrt: Sequence[int], seed: int) -> list[Any]:
    """A random direction for each argument in wrt and None for the others."""
    rng = np.random.default_rng([seed, 2718])  # not the stream of the arguments
    return [random_direction(a, rng) if k in wrt else None for k, a in enumerate(args)]


def close(a: float, b: float, tolerance: float) -> bool:
    """Whether a and b agree relative to the larger of them and 1e-2."""
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-2)


def same_bits(x: Any, y: Any) -> bool:
    """Whether two structures of arguments are equal to the bit (and in layout)."""
    if isinstance(x, np.ndarray):
        return (
            isinstance(y, np.ndarray)
            and (x.dtype, x.shape, x.strides) == (y.dtype, y.shape, y.strides)
            and x.tobytes() == y.tobytes()
        )
    if isinstance(x, dict):
        return list(x) == list(y) and all(same_bits(v, y[k]) for k, v in x.items())
    if isinstance(x, (list, tuple, deque)):
        return len(x) == len(y) and all(map(same_bits, x, y))
    if hasattr(x, "__dict__") and not callable(x):
        return all(same_bits(v, vars(y)[k]) for k, v in vars(x).items())
    return bool(type(x) is type(y) and repr(x) == repr(y))
