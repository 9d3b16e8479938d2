"""Adjoints of sums, products and extremes over the items of a list (or a 1-d array)."""

from __future__ import annotations

import functools
from collections.abc import KeysView
from typing import Any

import numpy as np

from .broadcasting import _is_complex, broadcast_like, unbroadcast, zeros_like
from .mutation import accumulate, copy
from .records import Record, added, is_array, names_of
from .statements import written_for


def tie_shares(xs: Any, y: Any) -> Any:
    """What each item gets of the adjoint of `y = max(xs)` or `min(xs)`; ties share equally."""
    if isinstance(xs, (list, tuple)):
        ties = sum(1 for x in xs if x == y)
        return [1.0 / ties if x == y else 0.0 for x in xs]
    shares = xs == y
    return shares / shares.sum()


def dot_items(weights: Any, items: Any) -> Any:
    """The sum of products of the items of two sequences; those of one of them may be tuples."""
    if any(_of_tuples(xs) for xs in (weights, items)):
        pairs = (
            (q, p) if _of_tuples(items) else (p, q) for p, q in zip(weights, items, strict=True)
        )
        return functools.reduce(added, (_scaled(g, weight) for g, weight in pairs))
    return sum(weight * item for weight, item in zip(weights, items, strict=True))


def _of_tuples(xs: Any) -> bool:
    return isinstance(xs, (list, tuple)) and any(isinstance(x, (list, tuple)) for x in xs)


def scale_items(g: Any, weights: Any) -> Any:
    """Each item of `weights` times `g`, in the structure of `weights`.

    Raises TypeError for complex weights: in adjoints these would have to be conjugated.
    """
    if _is_complex(weights) or (
        isinstance(weights, (list, tuple)) and any(map(_is_complex, weights))
    ):
        raise TypeError(
            "sums of products and products of complex numbers in a list have no derivative here; "
            "use np.sum and np.prod of an array"
        )
    if isinstance(weights, (list, tuple)):
        return [_scaled(g, weight) for weight in weights]
    return g * weights


def _scaled(g: Any, weight: Any) -> Any:
    """A value times a number: entry by entry in lists, tuples and their mirrors."""
    if isinstance(g, (list, tuple)):
        names = names_of(g)
        items = [_scaled(item, weight) for item in g]
        return items if names is None else Record(names, items)
    return g * weight


def sum_items_bar(g: Any, xs: Any) -> Any:
    """The adjoint of the items of `sum(xs)`: each gets `g`, in its own shape and memory."""
    if isinstance(xs, (list, tuple)):
        return [copy(unbroadcast(g, x)) for x in xs]
    if isinstance(xs, dict) or not hasattr(xs, "shape"):
        raise written_for("a list, a tuple or an array", xs)
    return broadcast_like(g, xs)


def add_repeats(g: Any, xs: Any) -> list[Any]:
    """The adjoint of `xs` in `xs * n`: the repetitions added up, item by item."""
    size = len(xs)
    total = [zeros_like(x) for x in xs]
    for start in range(0, len(g), size or 1):
        total = accumulate(total, g[start : start + size])
    return total


def repeat_items(part: Any, g: Any) -> list[Any]:
    """`part` repeated to the length of `g`: the other way round than `add_repeats`."""
    return list(part) * (len(g) // len(part)) if part else []


def live_items(x: Any) -> Any:
    """What a loop over `x` goes through by position: an array, a list or a tuple itself, whose
    items may be written meanwhile; a list of the items of anything else."""
    return x if isinstance(x, (list, tuple)) or is_array(x) else list(x)


def items_into(x: Any, value: Any) -> Any:
    """What `x[i:j] = value` stores: for a list the items, which are objects of their own then."""
    return value if is_array(x) or isinstance(value, (list, tuple)) else list(value)


def join_items(parts: Any, x: Any) -> Any:
    """The items of `list(x)` in the structure of `x` again."""
    if isinstance(x, (list, tuple)):
        return list(parts)
    if isinstance(x, (dict, KeysView, float)):
        return 0.0  # (keys carry no derivatives)
    if not hasattr(x, "shape"):
        raise TypeError(
            f"the items that a {type(x).__name__} yields are not tracked: loop over an attribute "
            "that holds them, or let `__iter__` return `iter(...)` of a list"
        )
    joined = zeros_like(x)
    for place, part in enumerate(parts):
        joined[place] = part
    return joined


def parted_items(g: Any, parts: Any) -> Any:
    """The adjoints of the parts that `join_items` made one value of; `g` is that of the value."""
    return [0.0] * len(parts) if isinstance(g, float) else list(g)


def products_of_others(xs: Any, start: Any) -> Any:
    """For each item the product of all others (and `start`), right with zeros."""
    before = [start]
    for x in xs:
        before.append(before[-1] * x)
    after, found = 1.0, []
    for place in reversed(range(len(xs))):
        found.append(before[place] * after)
        after = after * xs[place]
    found.reverse()
    return found if isinstance(xs, (list, tuple)) else _like(found, xs)


def products_of_pairs(weights: Any, xs: Any, start: Any) -> Any:
    """For each item the sum, over the others, of weight times the product of all the rest."""
    found = []
    for i in range(len(xs)):
        rest = [x for k, x in enumerate(xs) if k != i]
        slopes = products_of_others(rest, start)
        found.append(dot_items(slopes, [w for k, w in enumerate(weights) if k != i]))
    return found if isinstance(xs, (list, tuple)) else _like(found, xs)


def difference_over(p: Any, q: Any, r: Any) -> Any:
    """`(p - q) / r` item by item, 0 where `r` is 0: the direction from q to p."""
    scale = 1.0 / r if r != 0 else 0.0
    found = [scale * (a - b) for a, b in zip(p, q, strict=True)]
    return found if isinstance(p, (list, tuple)) else _like(found, p)


def _like(items: list[Any], x: Any) -> Any:
    full = np.empty_like(x)
    for place, item in enumerate(items):
        full[place] = item
    return full
