"""Arrays of which only the run can say how they share memory, and what is believed of views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.codegen.optimize.facts import known_fresh
from tangentlike.rules.book import default_book
from tangentlike.runtime import Shadow
from tests.rule_cases import TABLES


def step_in_place(u: np.ndarray, v: np.ndarray, n: int) -> None:
    for _ in range(n):
        u[1:-1] += 0.3 * v[1:-1] * (u[2:] - u[:-2])
        v += 0.1 * u * u


def time_stepper(x: np.ndarray, n: int) -> float:
    u, v = x * 1.0, np.cos(x)
    step_in_place(u, v, n)
    return np.sum(u * v)


X = np.array([0.4, 0.9, 1.3, 0.7, 1.1])
DIRECTION = np.array([0.3, -0.2, 0.5, 0.1, -0.4])


def loss(x: np.ndarray, n: int) -> Any:
    u = x * x
    v = u if n > 2 else np.sin(x)
    u[1:] *= v[:-1]
    v[0] = u[2] * x[1]
    w = v.reshape(-1)
    w[2:] += 0.5 * u[1:-1] ** 2
    return np.sum(u * u * v)


@pytest.mark.parametrize("fn", [loss, time_stepper])
@pytest.mark.parametrize("n", [1, 4])
def test_hessian_vector_product(fn: Callable[..., Any], n: int) -> None:
    gradient = tl.grad(fn)
    step = 1e-5
    expected = gradient(X + step * DIRECTION, n) - gradient(X - step * DIRECTION, n)
    np.testing.assert_allclose(tl.hvp(fn)(X, n, DIRECTION), expected / (2 * step), rtol=1e-6)


def test_a_pullback_runs_again() -> None:
    _, pullback = tl.vjp(loss, X, 4)
    once, again = pullback(1.0)[0], pullback(1.0)[0]
    np.testing.assert_array_equal(once, again)
    np.testing.assert_allclose(once, tl.grad(loss)(X, 4), rtol=1e-14)


VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "item": lambda a: a[1],
    "backwards": lambda a: a[::-1, ::-2],
    "transposed": lambda a: a.T,
    "reshaped": lambda a: a.reshape(2, -1),
    "diagonal": lambda a: np.einsum("ii->i", a[:, :3]),
    "windows": lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, axis=1),
    "strided": lambda a: np.lib.stride_tricks.as_strided(a, (2, 2), (32, 8)),
    "of a view": lambda a: a[1:][:, ::2].T[0],
    "nothing": lambda a: a[3:],
}


@pytest.mark.parametrize("name", VIEWS)
def test_an_adjoint_is_the_same_view(name: str) -> None:
    whole = np.arange(12.0).reshape(3, 4)
    for a in (whole, whole[:, ::-1]):
        bars, view = Shadow(), VIEWS[name](a)
        bars.of(a)[...] = 100.0 + a
        if view.size and not np.shares_memory(a, view):
            continue  # (`reshape` gave a copy)
        np.testing.assert_array_equal(bars.of(view), 100.0 + view)


def test_parts_of_complex_arrays() -> None:
    z, bars = np.array([1.0 + 2.0j, 3.0]), Shadow()
    bars.of(z.imag)[...] += z.imag
    np.testing.assert_array_equal(bars.of(z), [2.0j, 0.0])


def test_taking_an_adjoint() -> None:
    a, bars = np.ones(3), Shadow()
    bars.of(a)[1] += 2.0
    np.testing.assert_array_equal(bars.take(a[1:], a), [0.0, 0.0])
    np.testing.assert_array_equal(bars.take(a), [0.0, 2.0, 0.0])
    np.testing.assert_array_equal(bars.take(a), [0.0, 0.0, 0.0])


def test_other_arrays_are_refused() -> None:
    with pytest.raises(TypeError, match="MaskedArray"):
        Shadow().of(np.ma.ones(3))


# ------------------------------------------------------------------------- who gives views


def arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from arrays(item)


LAYOUTS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    np.copy,
    lambda a: a.copy(order="F"),
    lambda a: np.repeat(a, 2, axis=0)[::2] if a.ndim else a,
)


@pytest.mark.parametrize("table", sorted(TABLES))
def test_views_are_known(table: str) -> None:
    """A result that shares memory with an operand must be expected to, by both that ask."""
    book = default_book()
    for op, args, options in TABLES[table]:
        keywords = {k: v for k, v in options.items() if k != "check_active"}
        for layout in LAYOUTS:
            given = [layout(a) if type(a) is np.ndarray else a for a in args]
            result = op(*given, **keywords)
            shares = any(np.shares_memory(r, a) for r in arrays(result) for a in arrays(given))
            if shares:
                rule = book.find(op)
                assert rule is not None and rule.view != "no", f"{op} may give a view"
                assert not known_fresh(op), f"{op} may give a view"


def reshaped_before_a_write(a: Any, m: Any) -> Any:
    b = m.reshape(-1)[6:9]
    m[2, :2] = 0.7 * a[1]
    return np.sum(b * a * a)


def test_reverse_over_forward_of_a_view_known_when_it_runs() -> None:
    rng = np.random.default_rng(3)
    args, u = (rng.normal(size=3), rng.normal(size=(3, 3))), (rng.normal(size=3), np.ones((3, 3)))
    tangent = tl.autodiff(reshaped_before_a_write, wrt=(0, 1), mode="forward")
    _, pullback = tl.vjp(tangent, *args, *u)
    bars = pullback((0.0, 1.0))
    _, (change, change_m) = tl.jvp(tl.grad(reshaped_before_a_write, wrt=(0, 1)), args, u)
    assert np.allclose(bars[0], change) and np.allclose(bars[1], change_m)


def taken_over(p: Any) -> None:
    for k in range(2):
        p[k] = p[k + 1]


def reversed_in_rounds(a: Any, b: Any) -> Any:
    for _ in a:
        for _ in b:
            a = 0.7 * a[::-1]
        taken_over(a)
    return np.sum(a * b)


def test_the_array_of_each_round_is_restored_where_its_shape_is_one_in_all() -> None:
    """An adjoint that is found by the memory of an array asks for more than its shape."""
    a, b = np.array([0.3, 0.5, 0.7]), np.array([1.0, 2.0, 4.0])
    gradient = tl.grad(reversed_in_rounds, example=(a, b))(a, b)
    step = 1e-6
    expected = [
        (reversed_in_rounds(a + step * e, b) - reversed_in_rounds(a - step * e, b)) / (2 * step)
        for e in np.eye(3)
    ]
    assert np.allclose(gradient, expected, atol=1e-9)
