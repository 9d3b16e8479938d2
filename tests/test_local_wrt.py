"""Derivatives with respect to local variables: adjoints of intermediate values."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl

W = np.array([[0.3, -0.8], [0.5, 0.9]])
X = np.array([0.7, -0.2])


def loss(w, x):
    h = np.tanh(w @ x)
    y = h * x
    return np.sum(y * h)


def rest(h, x):
    y = h * x
    return np.sum(y * h)


def through_a_buffer(x):
    a = x * 2.0
    b = np.zeros(3)
    b[:2] = a
    b[2] = a[0] * b[1]
    return np.sum(b * b)


def buffer_given(a):
    b = np.zeros(3)
    b[:2] = a
    b[2] = a[0] * b[1]
    return np.sum(b * b)


def in_a_loop_after(w, x):
    h = w @ x
    s = h
    for _ in range(3):
        s = np.tanh(w @ s) + h
    return np.sum(s)


def twice(x):
    h = np.sin(x)
    h = h * h
    return np.sum(h)


def in_a_loop(x):
    for _ in range(2):
        h = np.sin(x)
        x = h
    return np.sum(x)


def counted(x):
    n = x.shape[0]
    return np.sum(x) * n


def test_the_adjoint_of_an_intermediate_value():
    h = np.tanh(W @ X)
    np.testing.assert_allclose(tl.grad(loss, wrt="h")(W, X), tl.grad(rest)(h, X))
    value, found = tl.value_and_grad(loss, wrt="h")(W, X)
    assert value == pytest.approx(loss(W, X))
    np.testing.assert_allclose(found, tl.grad(rest)(h, X))
    y, bar = tl.autodiff(loss, wrt="h")(W, X, 3.0)
    np.testing.assert_allclose(bar, 3.0 * tl.grad(rest)(h, X))


def test_with_parameters_the_edges_into_it_are_cut():
    of_w, of_h, of_x = tl.grad(loss, wrt=("w", "h", "x"))(W, X)
    h = np.tanh(W @ X)
    np.testing.assert_array_equal(of_w, np.zeros_like(W))
    np.testing.assert_allclose(of_h, tl.grad(rest, 0)(h, X))
    np.testing.assert_allclose(of_x, tl.grad(rest, 1)(h, X))


def test_written_later_and_read_in_loops():
    np.testing.assert_allclose(
        tl.grad(through_a_buffer, wrt="a")(X), tl.grad(buffer_given)(X * 2.0)
    )
    h = W @ X
    eps = 1e-6

    def after(h):
        s = h
        for _ in range(3):
            s = np.tanh(W @ s) + h
        return np.sum(s)

    slopes = [(after(h + eps * e) - after(h - eps * e)) / (2 * eps) for e in np.eye(2)]
    np.testing.assert_allclose(tl.grad(in_a_loop_after, wrt="h")(W, X), slopes, rtol=1e-7)


def test_differentiated_again():
    def total(w, x):
        return np.sum(tl.grad(loss, wrt="h")(w, x))

    tl.check_grads(total, (W, X))


@pytest.mark.parametrize(
    "fn, name, message",
    [
        (twice, "h", r"assigned more than once \(lines \d+, \d+\)"),
        (in_a_loop, "h", "inside a loop or a branch"),
        (counted, "n", "carries no derivative"),
    ],
)
def test_refused(fn, name, message):
    with pytest.raises(tl.UnsupportedError, match=message):
        tl.grad(fn, wrt=name)(X)


def test_forward_mode_and_jacobians_say_what_takes_local_variables():
    for call in (lambda: tl.autodiff(loss, "h", "forward"), lambda: tl.jacobian(loss, "h")):
        with pytest.raises(tl.TangentlikeError, match=r"tl\.autodiff in reverse mode take local"):
            call()
    with pytest.raises(tl.TangentlikeError, match="no parameter 'nothing'"):
        tl.grad(loss, "nothing")


def of_a_comprehension(x):
    h = [v * v for v in x]
    k = {name: 2.0 * v for name, v in zip("ab", h)}
    return h[0] * h[1] * k["a"]


def test_a_comprehension_is_bound_when_it_is_whole() -> None:
    by_list, by_dict = tl.grad(of_a_comprehension, wrt=("h", "k"))(X)
    h = X * X
    assert np.allclose(by_list, [2.0 * h[0] * h[1], h[0] * 2.0 * h[0]])
    assert by_dict["a"] == h[0] * h[1] and by_dict["b"] == 0.0
    whole = tl.grad(of_a_comprehension, wrt="h")(X)
    assert np.allclose(whole, [4.0 * h[0] * h[1], 2.0 * h[0] * h[0]])


def filled_later(x):
    h = []
    for v in x:
        h.append(v * v)
    return h[0] * h[1]


def test_a_list_that_is_empty_where_it_is_assigned() -> None:
    with pytest.raises(tl.UnsupportedError, match="`h` is empty where it is assigned"):
        tl.grad(filled_later, wrt="h")(X)
