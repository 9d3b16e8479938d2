"""Central differences along seeded random directions, over any structure of arguments."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import TangentlikeError
from ..pytree import leaves


class Mismatch(TangentlikeError, AssertionError):
    """A derivative that disagrees with central differences."""


def double(value: Any) -> Any:
    """The same value, every real leaf in float64 and every complex one in complex128, all fresh."""
    if leaves.is_array(value):
        wide = {"f": np.float64, "c": np.complex128}.get(leaves.dtype_class(value))
        # A copy keeps the layout: whether reshape gives a view is part of what is tested.
        return _strided_copy(value, wide)
    if isinstance(value, np.inexact) and not isinstance(value, (float, complex)):
        return np.complex128(value) if value.dtype.kind == "c" else np.float64(value)
    inside = leaves.children(value)
    if inside is None:
        return copy.deepcopy(value)
    return leaves.rebuild(value, [double(item) for _, item in inside])


def _strided_copy(array: Any, dtype: Any) -> Any:
    """A copy with the strides of the array, gaps included, as another dtype (None: the same)."""
    if not isinstance(array, np.ndarray) or array.size == 0:
        return array.copy() if dtype is None else array.astype(dtype)
    wide = array.dtype if dtype is None else np.dtype(dtype)
    if any(stride <= 0 or stride % array.itemsize for stride in array.strides):
        return array.astype(wide)
    strides = tuple(stride // array.itemsize * wide.itemsize for stride in array.strides)
    span = sum((n - 1) * stride for n, stride in zip(array.shape, strides, strict=True))
    twin = np.ndarray(array.shape, wide, np.zeros(span + wide.itemsize, np.uint8), 0, strides)
    twin[...] = array
    return twin


def random_like(value: Any, rng: np.random.Generator) -> Any:
    """Normal random numbers at every floating leaf; other leaves become None."""
    if leaves.is_leaf(value):
        shape = tuple(getattr(value, "shape", ()))
        draw = np.asarray(rng.standard_normal(shape))
        if isinstance(value, complex) or leaves.dtype_class(value) == "c":
            draw = draw + 1j * rng.standard_normal(shape)
        if not leaves.is_array(value):
            return type(value)(draw.item())
        twin = leaves.zeros(value)
        twin += _in_module(value, draw.astype(value.dtype))  # (a sum of arrays of rank 0 is none)
        return twin
    inside = leaves.children(value)
    if inside is None:
        return None
    return leaves.rebuild(value, [random_like(item, rng) for _, item in inside])


def _in_module(value: Any, draw: np.ndarray) -> Any:
    """The draw as an array of the value's own module, by filling one of its arrays."""
    if isinstance(value, np.ndarray):
        return draw
    filled = leaves.zeros(value)
    for index in np.ndindex(*draw.shape):
        filled[index] = draw[index].item()
    return filled


def inner(first: Any, second: Any) -> float:
    """The real inner product over all leaves: the sum of Re(conj(a) b)."""
    if first is None or second is None:
        return 0.0
    if leaves.is_leaf(first) or leaves.is_leaf(second):
        return float(np.real(np.vdot(np.asarray(first), np.asarray(second))))
    a, b = leaves.children(first), leaves.children(second)
    return sum((inner(x, y) for (_, x), (_, y) in zip(a or (), b or (), strict=True)), 0.0)


def unit_direction(values: list[Any], rng: np.random.Generator) -> list[Any]:
    """A random direction of length one over all the values together."""
    drawn = [random_like(value, rng) for value in values]
    length = sum(inner(part, part) for part in drawn) ** 0.5
    return [scaled(part, 1.0 / length) if length else part for part in drawn]


def scaled(value: Any, factor: float) -> Any:
    """Every leaf times a number."""
    return combined(value, value, lambda a, _: a * factor)


def moved(value: Any, direction: Any, step: float) -> Any:
    """`value + step * direction`, leaves without a direction as they are (fresh all the same)."""
    return combined(double(value), direction, lambda a, d: _kept_layout(a, a + step * d))


def _kept_layout(value: Any, new: Any) -> Any:
    if not leaves.is_array(value):
        return type(value)(new)
    value[...] = new
    return value


def combined(value: Any, other: Any, fn: Callable[[Any, Any], Any]) -> Any:
    """Two values of one structure, leaf by leaf."""
    if leaves.is_leaf(value):
        return value if other is None else fn(value, other)
    inside = leaves.children(value)
    if inside is None or other is None:
        return value
    parts = zip(inside, leaves.children(other) or (), strict=True)
    return leaves.rebuild(value, [combined(a, b, fn) for (_, a), (_, b) in parts])


def directional(
    call: Callable[[list[Any]], Any], values: list[Any], direction: list[Any], eps: float
) -> Any:
    """The central difference of `call` along a direction, in the structure of its value."""
    above = call([moved(v, d, eps) for v, d in zip(values, direction, strict=True)])
    below = call([moved(v, d, -eps) for v, d in zip(values, direction, strict=True)])
    return combined(above, below, lambda a, b: (a - b) / (2 * eps))


def entries(value: Any) -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """Every entry of every leaf: text that reaches it, the leaf, its index there."""
    for path, leaf in leaves.leaves(value):
        for index in np.ndindex(*getattr(leaf, "shape", ())):
            text = f"[{', '.join(map(str, index))}]" if index else ""
            yield path + text, leaf, index
