"""Closures of one code object share one derivation, where nothing captured was read for it."""

from __future__ import annotations

import gc
import linecache
import threading
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.ad.request import Request
from tangentlike.dispatch import derivation
from tangentlike.pipeline.stages import derive
from tangentlike.pipeline.table import collecting
from tangentlike.runtime.recent import Recent

X = np.array([0.3, -0.7, 1.1])


def weighted(k: Any, w: Any) -> Any:
    def f(x: Any) -> Any:
        return np.sum(np.tanh(x * k) * w)

    return f


def expected(k: Any, w: Any) -> Any:
    return k * w / np.cosh(X * k) ** 2


def twice(v: Any) -> Any:
    return v + v


def with_callee(k: Any) -> Any:
    def f(x: Any) -> Any:
        y = twice(x * k)
        return np.sum(y * y)

    return f


def transforms(run: Any) -> int:
    """How many transforms something takes."""
    with collecting() as records:
        run()
    return len(records)


def test_one_transform_for_all() -> None:
    def run() -> None:
        for k in (0.5, 1.5, -2.0):
            w = np.array([1.0, k, 3.0])
            df = tl.grad(weighted(k, w))
            np.testing.assert_allclose(df(X), expected(k, w))
            tl.check_grads(weighted(k, w), (X,))

    # (The general text and that of the call, for the gradient, its pullback, forward mode.)
    assert transforms(run) <= 2 * 3


def test_each_sees_its_own_cells_when_it_runs() -> None:
    def make(k: float) -> Any:
        def f(x: Any) -> Any:
            return x * x * k

        def change(new: float) -> None:
            nonlocal k
            k = new

        return f, change

    (f, change_f), (g, change_g) = make(2.0), make(3.0)
    df, dg = tl.grad(f), tl.grad(g)
    assert (df(1.0), dg(1.0)) == (4.0, 6.0)
    change_g(5.0)
    assert (df(1.0), dg(1.0)) == (4.0, 10.0)
    change_f(7.0)
    assert (df(1.0), dg(1.0)) == (14.0, 10.0)


def test_callees_come_along() -> None:
    for k in (2.0, 3.0):
        np.testing.assert_allclose(tl.grad(with_callee(k))(X), 8.0 * k * k * X)
        np.testing.assert_allclose(tl.hvp(with_callee(k))(X, np.ones(3)), np.full(3, 8.0 * k * k))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (2.0, np.array([1.0, 2.0, 3.0])),  # another type
        (np.ones(3), np.ones((2, 3))),  # another rank
        (1.5, 1.5 + 0.5j),
        (np.ones(3), np.ones(3) * 1j),
        (2, 2.5),
    ],
)
def test_other_types_have_derivatives_of_their_own(first: Any, second: Any) -> None:
    def make(k: Any) -> Any:
        def f(x: Any) -> Any:
            return np.sum(np.real(x * k) * np.real(x * k))

        return f

    for k in (first, second, first):
        tl.check_grads(make(k), (X,))


def test_functions_and_classes_are_read_anew() -> None:
    def make(act: Any, k: float) -> Any:
        def f(x: Any) -> Any:
            return np.sum(act(x) * k)

        return f

    def cube(v: Any) -> Any:
        return v * v * v

    for k in (1.0, 2.0):
        np.testing.assert_allclose(tl.grad(make(np.sin, k))(X), k * np.cos(X))
        np.testing.assert_allclose(tl.grad(make(cube, k))(X), 3.0 * k * X * X)
        np.testing.assert_allclose(tl.grad(make(lambda v: v * v, k))(X), 2.0 * k * X)


def test_objects_are_read_anew() -> None:
    class Scale:
        def __init__(self, by: float) -> None:
            self.by = by

        def __call__(self, v: Any) -> Any:
            return v * self.by

    class Square(Scale):
        def __call__(self, v: Any) -> Any:
            return v * v

    def make(layer: Any) -> Any:
        def f(x: Any) -> Any:
            return np.sum(layer(x))

        return f

    np.testing.assert_allclose(tl.grad(make(Scale(2.0)))(X), 2.0 * np.ones(3))
    np.testing.assert_allclose(tl.grad(make(Scale(3.0)))(X), 3.0 * np.ones(3))
    np.testing.assert_allclose(tl.grad(make(Square(3.0)))(X), 2.0 * X)


def test_lists_of_data_are_each_their_own() -> None:
    def make(rows: Any) -> Any:
        def f(x: Any) -> Any:
            total = 0.0
            for row in rows:
                total = total + np.sum(row * x)
            return total

        return f

    for rows in ([1.0, 2.0], [np.ones(3), X], (3.0,), []):
        found = tl.grad(make(rows))(X)
        np.testing.assert_allclose(found, sum((r * np.ones(3) for r in rows), np.zeros(3)))


def test_an_argument_that_is_the_captured_array_is_refused_for_each() -> None:
    def make(w: Any) -> Any:
        def f(x: Any) -> Any:
            x[0] = 2.0 * x[1]
            return np.sum(x * w)

        return f

    first, second = np.ones(3), 2.0 * np.ones(3)
    tl.grad(make(first))(X)
    df = tl.grad(make(second))
    np.testing.assert_allclose(df(X), [0.0, 6.0, 2.0])
    with pytest.raises(tl.TangentlikeError, match="share"):
        df(second)


def test_defaults_count() -> None:
    def make(k: float) -> Any:
        def f(x: Any, n: float = k) -> Any:
            return x * x * n + k

        return f

    assert [tl.grad(make(k))(1.0) for k in (2.0, 3.0)] == [4.0, 6.0]


def test_the_second_shows_and_saves_what_the_first_does() -> None:
    first, second = weighted(2.0, X), weighted(3.0, X + 1.0)
    one, other = tl.grad(first), tl.grad(second)
    one(X)
    other(X + 1.0)
    assert one.source == other.source
    assert dict(one.stages) == dict(other.stages)
    assert str(one.saved(X)) == str(other.saved(X))
    standalone = other.__tangentlike__.derive().derived.standalone()
    names: dict[str, Any] = {}
    exec(standalone, names)
    np.testing.assert_allclose(names[other.__name__](X), other(X))


def test_many_closures_cost_no_memory_but_their_own() -> None:
    def run() -> None:
        for k in range(300):
            tl.grad(weighted(1.0 + k, X))

    tl.grad(weighted(0.5, X))
    assert transforms(run) == 0
    gc.collect()
    assert len(derivation._DERIVATIONS) <= derivation._DERIVATIONS.most


def test_threads() -> None:
    found: dict[int, Any] = {}

    def work(n: int) -> None:
        for k in range(20):
            value = 1.0 + 0.1 * n + 0.01 * k
            found[n, k] = tl.grad(weighted(value, X))(X) / expected(value, X)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(np.allclose(ratio, 1.0) for ratio in found.values())


def test_a_text_is_forgotten_with_its_functions() -> None:
    def texts() -> int:
        gc.collect()
        return sum(name.startswith("<tangentlike passing_grad ") for name in linecache.cache)

    def other(x: Any) -> Any:
        return np.sum(x)

    def once() -> str:
        def passing(x: Any) -> Any:
            return np.sum(np.sin(x))

        derived = derive(passing, Request("grad", ("x",)))
        name = str(derived.function.__code__.co_filename)
        assert linecache.getlines(name)
        return name

    # (When the next text is loaded: somebody may be going through linecache until then.)
    assert once() and texts() == 1
    assert derive(other, Request("grad", ("x",))) and texts() == 0


def test_recent_entries_stay() -> None:
    squares = Recent[int, int](3)
    threads = [
        threading.Thread(target=lambda: [squares.put(n, n * n) for n in range(2000)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(squares) == 3
    assert all(value == n * n for n, value in squares.items())
