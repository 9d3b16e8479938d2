"""Operations on what they are seldom given: numbers reduced along an axis, rows that are sorted,
entries by their flat place, `array.array`, arrays of the shape they are broadcast to, loops over
`zip` of starred lists; and branches that are never taken."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.errors import UnknownClassError
from tangentlike.testing import check_grads

X = np.array([0.3, 0.7, -1.1])
M = np.array([[2.0, 0.3], [0.1, 1.5], [0.7, 0.9]])


def _zip_of_stars(x: Any) -> Any:
    kept, places, total = [], [[0, 1], [1, 2]], 0.0
    for i, j in zip(*places, strict=True):
        kept.append(places)
        total = total + x[i] * x[j] ** 2
    return total


def _zip_of_stars_backwards(x: Any) -> Any:
    places, total = [[0, 1], [1, 2]], 0.0
    for i, j in reversed(list(zip(*places, strict=True))):
        total = total + x[i] * x[j] ** 2
        places[0][0] = 1
    return total


def _greatest_row_is_written(m: Any) -> Any:
    m = m.copy()
    row = max(m, key=np.sum)
    row[0] = m[0, 1] * 3
    return np.sum(m**2)


def _sorted_rows(m: Any) -> Any:
    a, b, c = sorted(m, key=lambda row: row[1], reverse=True)
    a = a * 2.0
    return np.sum(a * b**2 * c)


def _broadcast_alone(x: Any) -> Any:
    y = x * 2.0
    np.broadcast_arrays(y)[0][0] = x[1] * x[2]
    return np.sum(y * y)


PROGRAMS: dict[str, tuple[Any, Any]] = {
    "sum": (lambda x: np.sum(x**2, axis=0), 1.3),
    "sum, last axis": (lambda x: np.sum(x**2, axis=-1), 1.3),
    "sum, axes are kept": (lambda x: np.sum(x * x, axis=-1, keepdims=True), 1.3),
    "prod": (lambda x: np.prod(x * x, axis=0), 1.3),
    "max": (lambda x: np.max(x * x, axis=-1), 1.3),
    "min": (lambda x: np.min(np.sin(x), axis=0), 1.3),
    "nansum": (lambda x: np.nansum(x * x, axis=-1), 1.3),
    "reduce": (lambda x: np.add.reduce(np.exp(x), axis=-1), 1.3),
    "max of a vector": (lambda x: np.max(x * x, axis=-1) * np.prod(x, axis=-1), X),
    "item": (lambda m: (m * m).item(3) * m.item(-1), M),
    "items in a loop": (lambda m: sum(m.item(k) ** 3 for k in range(m.size)), M),
    "dot of an array.array": (lambda x: np.dot(x, array.array("d", [1.0, 2.0, 3.0])) ** 2, X),
    "greatest row": (lambda m: np.sum(max(m, key=lambda row: row[0]) ** 2), M),
    "least row": (lambda m: np.sum(min(m * m, key=np.sum) ** 2), M),
    "greatest row, written": (_greatest_row_is_written, M),
    "sorted rows": (_sorted_rows, M),
    "a write into what is broadcast to its own shape": (_broadcast_alone, X),
    "zip of stars": (_zip_of_stars, X),
    "zip of stars, backwards": (_zip_of_stars_backwards, X),
}


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_at_both_orders(name: str, mode: Any) -> None:
    fn, point = PROGRAMS[name]
    check_grads(fn, (point,), order=2, modes=(mode,))


@pytest.mark.parametrize("reduced", [np.mean, np.var, np.std])
def test_what_numpy_refuses_of_a_number(reduced: Any) -> None:
    with pytest.raises(np.exceptions.AxisError):
        reduced(1.3, axis=0)
    with pytest.raises(np.exceptions.AxisError):
        tl.grad(lambda x: reduced(x * x, axis=0))(1.3)


def test_an_entry_at_several_places_is_refused() -> None:
    with pytest.raises(tl.UnsupportedError, match=r"item has no derivative"):
        tl.grad(lambda m: m.item((0, 1)))(M)


DEBUG = False


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.trace_of(3) if False else x * x,
        lambda x: x * x if 1 else x.trace_of(3),
        lambda x: x.trace_of(3) if DEBUG else x * x,
        lambda x: x * x if True and not DEBUG else x.trace_of(3),
    ],
)
@pytest.mark.parametrize("point", [1.3, np.array(1.3)])
def test_branches_that_are_never_taken_refuse_nothing(fn: Any, point: Any) -> None:
    np.testing.assert_allclose(tl.grad(fn)(point), 2.6)
    check_grads(fn, (point,), order=2)


def test_the_call_is_what_is_refused() -> None:
    with pytest.raises(UnknownClassError) as refused:
        tl.grad(lambda x: x * x.trace_of(3) if x > 0 else x)(1.3)
    marked = str(refused.value).splitlines()[2]
    assert marked.strip() == "^" * len("x.trace_of(3)")
