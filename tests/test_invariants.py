"""What is the same in every iteration is not saved in each, and what is not is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl

RNG = np.random.default_rng(21)
X, W = RNG.uniform(0.5, 1.5, size=3), RNG.uniform(0.5, 1.5, size=3)


def noisy_steps(x: Any, w: Any, dt: float, n: int) -> Any:
    for k in range(n):
        x = x - x * w * dt + np.sqrt(2 * dt) * np.cos(x * k)
    return np.sum(x * w)


def two_loops(x: Any, w: Any, dt: float, n: int) -> Any:
    for _ in range(n):
        for k in range(n):
            scale = np.exp(w * dt)
            x = x * scale + np.sin(x) * k
    return np.sum(x)


def in_a_branch(x: Any, w: Any, dt: float, n: int) -> Any:
    for k in range(n):
        if k > 0:
            root = np.sqrt(w)
            x = x * root + root**2 * dt
        else:
            x = np.sin(x)
    return np.sum(x)


def of_the_outer_loop(x: Any, w: Any, dt: float, n: int) -> Any:
    for i in range(n):
        for _ in range(n):
            root = np.sqrt(w + i)
            x = x * root * dt + np.sin(x)
    return np.sum(x)


def carried(x: Any, w: Any, dt: float, n: int) -> Any:
    for _ in range(n):
        root = np.sqrt(dt + 1.0)
        x = np.sin(x) * root + w
        dt = dt * 0.5
    return np.sum(x)


def written_in_the_loop(x: Any, w: Any, dt: float, n: int) -> Any:
    w = w.copy()
    tail = w[1:]
    for _ in range(n):
        root = np.sqrt(w)
        x = np.sin(x) * root
        tail *= 1.0 + dt
    return np.sum(x) + np.sum(w)


def written_itself(x: Any, w: Any, dt: float, n: int) -> Any:
    for _ in range(n):
        root = np.sqrt(w)
        x = np.sin(x) * root
        root[0] = x[0] * dt
        x = x + root * x
    return np.sum(x)


def used_again(x: Any, w: Any, dt: float, n: int) -> Any:
    root = w
    for _ in range(n):
        root = np.sqrt(w * dt)
        x = np.sin(x) * root
    root = root * x
    return np.sum(root * np.cos(root))


ONCE = (noisy_steps, two_loops, in_a_branch)
EACH = (of_the_outer_loop, carried, written_in_the_loop, written_itself, used_again)


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("fn", [*ONCE, *EACH], ids=lambda fn: fn.__name__)
def test_gradients(fn: Any, n: int) -> None:
    args = (X, W, 0.3, n)
    tl.check_grads(fn, args, wrt=(0, 1, 2))
    found = tl.grad(fn, wrt=(0, 1, 2))(*args)
    tangents = (RNG.normal(size=3), RNG.normal(size=3), 0.7, None)
    _, forward = tl.jvp(fn, args, tangents)
    reverse = sum(np.vdot(g, t) for g, t in zip(found, tangents[:3], strict=True))
    np.testing.assert_allclose(forward, reverse, rtol=1e-9)


@pytest.mark.parametrize("fn", ONCE, ids=lambda fn: fn.__name__)
def test_it_is_not_saved(fn: Any) -> None:
    gradient = tl.grad(fn, wrt=(0, 1, 2))
    gradient(X, W, 0.3, 3)
    saved = [line for line in gradient.source.splitlines() if "saved.append(" in line]
    assert saved and not any("sqrt" in s or "root" in s or "scale" in s for s in saved)
    if fn is two_loops:
        tl.check_grads(fn, (X, W, 0.3, 2), wrt=0, order=2)


def decaying(x: Any, w: Any, dt: float, n: int) -> Any:
    for k in range(n):
        x = np.sin(x) * (np.exp(-dt) * w) + np.sqrt(dt) * k
    return np.sum(x * w)


def shared_out(x: Any, w: Any, dt: float, n: int) -> Any:
    for _ in range(n):
        x = np.sin(x) + x * (dt / n)
    return np.sum(x * w)


def first_entry(x: Any, w: Any, dt: float, n: int) -> Any:
    for _ in range(n):
        x = np.sin(x) * np.exp(w[5] * dt)
    return np.sum(x)


def fixed_rounds(x: Any, w: Any, dt: float) -> Any:
    rounds = 4
    for _ in range(rounds):
        x = np.sin(x) * np.exp(w[2] * dt / rounds)
    return np.sum(x)


def perhaps_unbound(x: Any, w: Any, dt: float, n: int) -> Any:
    if n > 0:
        c = dt
    for _ in range(n):
        x = np.sin(x) * np.sqrt(c)
    return np.sum(x * w)


@pytest.mark.parametrize("fn", [decaying, fixed_rounds], ids=lambda fn: fn.__name__)
def test_it_is_computed_once(fn: Any) -> None:
    args = (X, W, 0.3, 3)[: 3 + (fn is decaying)]
    gradient = tl.value_and_grad(fn, wrt=(0, 1, 2), example=args)
    before, _, _ = gradient.source.partition("for ")
    assert "np.exp(" in before, gradient.source
    tl.check_grads(fn, args, wrt=(0, 1, 2), order=2)
    if fn is decaying:
        assert "np.sqrt(dt)" in before
        tl.check_grads(fn, (*args[:3], 0), wrt=(0, 1, 2))


@pytest.mark.parametrize(
    "fn", [shared_out, first_entry, perhaps_unbound], ids=lambda fn: fn.__name__
)
def test_a_loop_without_rounds_computes_nothing(fn: Any) -> None:
    """`dt / n` and `w[5]` would raise before a loop that does not run."""
    gradient = tl.grad(fn, wrt=(0, 1), example=(X, W, 0.3, 3))
    found = gradient(X, W, 0.3, 0)
    np.testing.assert_array_equal(found[0], W if fn is not first_entry else np.ones(3))
    if fn is not first_entry:
        tl.check_grads(fn, (X, W, 0.3, 3), wrt=(0, 1, 2), order=2)


@pytest.mark.parametrize("fn", [*ONCE, *EACH], ids=lambda fn: fn.__name__)
def test_in_helpers(fn: Any) -> None:
    def within(x: Any, w: Any, n: int = 3) -> Any:
        return fn(np.sin(x), w, 0.3, n) ** 2 + fn(x, w * w, 0.2, n)

    for wrt in (0, 1):
        tl.check_grads(within, (X, W), wrt=wrt)
        tl.check_grads(within, (X, W, 0), wrt=wrt)


def spread(a: Any, m: Any, n: int = 3) -> Any:
    for _ in range(n):
        a = np.exp(-m) @ a
    return a


def spread_twice(a: Any, m: Any) -> Any:
    b = spread(a, m)
    return np.sum(b) + np.sum(spread(b * b, m))


def test_one_value_is_on_the_tape_of_a_helper() -> None:
    m = RNG.uniform(size=(3, 3))
    for wrt in (0, 1):
        tl.check_grads(spread_twice, (X, m), wrt=wrt)
    text = tl.grad(spread_twice).source_for(X, m)
    assert "append" not in text and "_saved" not in text
    assert "    n, exp_minus_m = tape\n" in text
    assert "        a_bar = exp_minus_m.T @ a_bar" in text
    text = tl.grad(spread_twice, wrt=1).source_for(X, m)
    assert text.count("append(") == 1 and "a_saved.append(a)" in text


def test_one_value_is_read_where_its_item_was() -> None:
    m = RNG.uniform(size=(3, 3))
    gradient = tl.grad(lambda a, m: np.sum(spread(a, m)))
    np.testing.assert_allclose(gradient(X, m), np.linalg.matrix_power(np.exp(-m), 3).sum(axis=0))

    def plainly(a: Any, m: Any, n: int = 3) -> Any:
        for _ in range(n):
            a = np.exp(-m) @ a
        return np.sum(a)

    tl.check_grads(plainly, (X, m), order=2)
    assert "append" not in tl.grad(plainly).source_for(X, m)
