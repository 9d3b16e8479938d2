"""The second call by arguments of the same types and shapes takes a short way: it gives, copies
and raises what the first does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.dispatch import repeated as short_way

SHARED = np.array([1.0, 2.0, 3.0])


def weighted(x: Any, w: Any) -> Any:
    return np.sum(np.tanh(x) * w)


def given_back(x: Any, w: Any) -> Any:
    return np.sum(x * w)


def both(x: Any, y: Any) -> Any:
    return np.sum(x + y)


def product(a: Any, b: Any) -> Any:
    return a * b


def root(x: Any) -> Any:
    y = (x - 2.0) ** 0.5
    return (y * y.conjugate()).real


def positive(x: Any) -> Any:
    if np.sum(x) < 0:
        raise ValueError("negative")
    return np.sum(x * x)


def scaled(x: Any) -> Any:
    return helper(x) * 2.0


def helper(x: Any) -> Any:
    return np.sum(x)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each result was handed back at once."""
    taken = []
    questions = short_way._questions

    def noted(*args: Any) -> Any:
        alike, some_view, are_own = questions(*args)

        def asked(*given: Any) -> bool:
            taken.append(are_own(*given))
            return taken[-1]

        return alike, some_view, asked

    monkeypatch.setattr(short_way, "_questions", noted)
    return taken


@pytest.mark.parametrize("operator", [tl.grad, tl.value_and_grad])
@pytest.mark.parametrize("wrt", [0, (0,), (1, 0), "w"])
def test_the_same_results_as_the_first_call(operator: Any, wrt: Any, short: list[bool]) -> None:
    x, w = np.arange(3.0), np.ones(3)
    df = operator(weighted, wrt=wrt)
    first, second = df(x, w), df(x + 0.0, w)
    assert short and repr(first) == repr(second)
    assert repr(df(x[:2], w[:2])) == repr(operator(weighted, wrt=wrt)(x[:2], w[:2]))
    assert repr(df(x, 2.0)) == repr(operator(weighted, wrt=wrt)(x, 2.0))


def test_numbers(short: list[bool]) -> None:
    df = tl.grad(product, wrt=(0, 1))
    assert df(2.0, 3.0) == df(2.0, 3.0) == (3.0, 2.0) and short == [True]
    assert df(np.float64(2.0), 3.0) == (3.0, 2.0)
    with pytest.raises(tl.TangentlikeError, match="the argument is the int 2"):
        df(2, 3.0)


def test_gradients_belong_to_the_caller(short: list[bool]) -> None:
    """An adjoint that is an argument, a view of one, or another adjoint is copied each time."""
    df, x, w = tl.grad(given_back, wrt=(0, 1)), np.ones(3), np.full(3, 2.0)
    for _ in range(3):
        x_bar, w_bar = df(x, w)
        x_bar[:], w_bar[:] = 7.0, 8.0
        assert np.array_equal(x, np.ones(3)) and np.array_equal(w, np.full(3, 2.0))
    same = tl.grad(both, wrt=(0, 1))
    for _ in range(3):
        x_bar, y_bar = same(x, w)
        x_bar[:] = 5.0
        assert np.array_equal(y_bar, np.ones(3))
    part = np.zeros(6)
    for _ in range(3):
        w_bar = tl.grad(given_back, wrt=1)(part[::2], w)
        w_bar[:] = 5.0
        assert not part.any()


def test_numbers_that_become_complex_do_so_again() -> None:
    df = tl.grad(root)
    for x, slope in [(6.0, 1.0), (5.0, 1.0), (1.0, -1.0), (1.0, -1.0), (6.0, 1.0)]:
        assert df(x) == pytest.approx(slope)


def test_what_is_raised_names_the_users_line() -> None:
    df, x = tl.grad(positive), np.ones(2)
    df(x), df(x)
    notes = []
    for _ in range(2):
        with pytest.raises(ValueError, match="negative") as caught:
            df(-x)
        notes.append([note for note in caught.value.__notes__ if "positive" in note])
    assert notes[0] and notes[0] == notes[1]


def test_a_helper_that_is_defined_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    df, x = tl.grad(scaled), np.ones(2)
    assert np.array_equal(df(x), df(x))
    monkeypatch.setitem(scaled.__globals__, "helper", weighted_helper)
    assert np.array_equal(df(x), [6.0, 6.0])


def weighted_helper(x: Any) -> Any:
    return 3.0 * np.sum(x)


def test_types_that_change_between_calls() -> None:
    df = tl.value_and_grad(weighted)
    for x in (np.ones(3), np.ones(3, np.float32), np.ones((2, 3)), np.ones(3) + 1j, np.ones(3)):
        value, bar = df(x, SHARED) if np.isrealobj(x) else df(x.real, SHARED)
        assert bar.dtype == x.real.dtype and bar.shape == x.shape
        tl.check_grads(weighted, (np.asarray(x.real, float), SHARED))
