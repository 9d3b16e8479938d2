"""User code in the reverse sweep: what it sees, what it changes, and that the text shows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl

SEEN: list[Any] = []
RNG = np.random.default_rng(0)
W, U, XS = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=(4, 2))
X = np.array([0.7, -0.2, 1.1])


def clip(g):
    size = np.sqrt(np.sum(g * g))
    return g if size <= 1.0 else g / size


def network(w, u, xs):
    h = np.zeros(w.shape[0])
    for x in xs:
        h = np.tanh(w @ h + u @ x)
        h = tl.on_adjoint(h, clip)
    return 10.0 * np.sum(h)


def by_hand(w, u, xs):
    states = [np.zeros(3)]
    for x in xs:
        states.append(np.tanh(w @ states[-1] + u @ x))
    w_bar, h_bar = np.zeros_like(w), np.full(3, 10.0)
    for x, h, before in zip(xs[::-1], states[:0:-1], states[-2::-1]):
        s_bar = clip(h_bar) * (1.0 - h * h)
        w_bar += np.outer(s_bar, before)
        h_bar = w.T @ s_bar
    return w_bar


def noted(x):
    h = tl.on_adjoint(x * x, SEEN.append)
    return np.sum(h * h)


def in_place(g):
    g *= 0.0


def changed_in_place(x):
    h = tl.on_adjoint(x * x, in_place)
    return np.sum(h * h)


def doubled_twice(x):
    h = tl.on_adjoint(x * x, lambda g: 2.0 * g)
    return np.sum(tl.on_adjoint(h, lambda g: 3.0 * g) ** 2)


def of_a_container(x):
    pair = tl.on_adjoint([x, 2.0 * x], lambda g: [g[0], 0.0 * g[1]])
    return np.sum(pair[0] * pair[1])


def given(x, hook):
    return np.sum(tl.on_adjoint(x * x, hook))


def wrong_shape(x):
    return np.sum(tl.on_adjoint(x * x, np.sum))


def written_later(x):
    h = x * x
    y = tl.on_adjoint(h, clip)
    h[0] = 1.0
    return 10.0 * np.sum(y * y)


def test_clipping_inside_a_loop():
    derivative = tl.grad(network)
    np.testing.assert_allclose(derivative(W, U, XS), by_hand(W, U, XS), rtol=1e-12)
    assert "h_bar = hooked(h_bar, clip)" in derivative.source


def test_looking_changes_nothing():
    SEEN.clear()
    np.testing.assert_allclose(tl.grad(noted)(X), 4.0 * X**3)
    assert len(SEEN) == 1
    np.testing.assert_allclose(SEEN[0], 2.0 * X**2)
    np.testing.assert_allclose(tl.grad(changed_in_place)(X), 4.0 * X**3)


def test_in_order_and_replacing():
    np.testing.assert_allclose(tl.grad(doubled_twice)(X), 24.0 * X**3)
    np.testing.assert_allclose(tl.grad(of_a_container)(X), 2.0 * X)
    np.testing.assert_allclose(tl.grad(given)(X, lambda g: -g), -2.0 * X)


def test_forward_mode_passes_by():
    value, tangent = tl.jvp(doubled_twice, (X,), (X,))
    assert tangent == pytest.approx(np.sum(4.0 * X**4))
    assert value == pytest.approx(np.sum(X**4))


def test_a_hook_belongs_to_the_derivative_that_is_differentiated():
    eps = 1e-6
    gradient = tl.grad(network)
    slope = (gradient(W + eps * W, U, XS) - gradient(W - eps * W, U, XS)) / (2 * eps)
    np.testing.assert_allclose(tl.hvp(network)(W, U, XS, W), slope, rtol=1e-6, atol=1e-8)


def inner_gradient(x):
    return np.sum(tl.grad(doubled_twice)(x) * x)


def test_reverse_over_reverse_hooks_once():
    np.testing.assert_allclose(tl.grad(inner_gradient)(X), 4.0 * 24.0 * X**3)
    np.testing.assert_allclose(tl.hvp(doubled_twice)(X, X), 72.0 * X**3)


def of_a_pair(x, hook):
    a, b = tl.on_adjoint((x * 2.0, np.sin(x)), hook)
    return np.sum(a) + np.sum(b)


def test_containers_come_back_as_they_were():
    swapped = tl.grad(of_a_pair)(X, lambda g: (g[0], 3.0 * g[1]))
    np.testing.assert_allclose(swapped, 2.0 + 3.0 * np.cos(X))
    with pytest.raises(ValueError, match="got a tuple and returns one as long"):
        tl.grad(of_a_pair)(X, lambda g: g[:1])
    with pytest.raises(ValueError, match="a list came back"):
        tl.grad(given)(X, lambda g: [2.0 * v for v in g])


def test_errors():
    with pytest.raises(ValueError, match=r"shape \(\) came back"):
        tl.grad(wrong_shape)(X)
    with pytest.raises(TypeError, match="on_adjoint takes a function, not 3"):
        given(X, 3)


def test_an_array_written_beside_it_is_right_or_refused():
    h = X * X
    full = 20.0 * np.where(np.arange(3) == 0, 1.0, h)
    full = clip(full)
    full[0] = 0.0
    try:
        found = tl.grad(written_later)(X)
    except tl.UnsupportedError:
        return
    np.testing.assert_allclose(found, full * 2.0 * X)
