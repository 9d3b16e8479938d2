"""Views by their strides: `as_strided`, of whole arrays and of memory around them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tangentlike as tl

X = np.array([0.5, 1.2, -0.7, 2.0, 0.3, 1.1])
M = np.random.default_rng(0).normal(size=(3, 6))
WEIGHTS = np.array([[1.0, 2.0], [3.0, 4.0]])


def windows(x):
    w = np.lib.stride_tricks.as_strided(x, shape=(4, 3), strides=(x.strides[0], x.strides[0]))
    return np.sum(w**2 * np.arange(3.0))


def backwards(x):
    y = x[::-1]
    w = np.lib.stride_tricks.as_strided(y, (4, 3), (y.strides[0],) * 2, writeable=False)
    return np.sum(w**3 * np.arange(3.0))


def convolved(m):
    s = m.strides
    w = as_strided(m, (m.shape[0] - 1, m.shape[1] - 1, 2, 2), s + s)
    return np.sum(np.einsum("ijkl,kl->ij", w, WEIGHTS) ** 2)


def convolved_in_another_order(m):
    return (
        convolved(m[:, ::-1]) + convolved(np.asfortranarray(m * m)) + convolved(m.T[::2].T[:, 1:])
    )


def one_entry_repeated(x):
    return np.sum(as_strided(x, shape=(5,), strides=(0,)) ** 2)


def written_before_it_is_read(x):
    y = x * 2.0
    w = as_strided(y, (2, 3), (y.strides[0] * 3, y.strides[0]))
    y[0] = x[1] ** 2
    return np.sum(w**2)


def written_through(x):
    y = x * 2.0
    w = as_strided(y, (2, 3), (y.strides[0] * 3, y.strides[0]))
    w[0] = x[:3] ** 3
    w[1, 1] *= x[0]
    return np.sum(y**2)


def overlapping_and_written(x):
    y = x * 2.0
    w = as_strided(y, (4, 3), (y.strides[0],) * 2)
    w[0] = x[:3] ** 3
    return np.sum(y**2) + np.sum(w)


def toeplitz(x):
    c = np.concatenate((x[::-1], x[1:] * 2.0))
    n = c.strides[0]
    t = as_strided(c[5:], (6, 6), (-n, n))
    return np.sum((t @ x) ** 2)


@pytest.mark.parametrize(
    "fn",
    [
        *(windows, backwards, one_entry_repeated, written_before_it_is_read, written_through),
        overlapping_and_written,
    ],
    ids=lambda fn: fn.__name__,
)
def test_of_a_vector(fn):
    tl.check_grads(fn, (X,), order=2)


def test_memory_around_a_part():
    tl.check_grads(toeplitz, (X,))
    with pytest.raises(tl.UnsupportedError, match="reads memory around"):
        tl.check_grads(toeplitz, (X,), order=2)


@pytest.mark.thorough
@pytest.mark.parametrize("fn", [convolved, convolved_in_another_order], ids=lambda f: f.__name__)
def test_of_a_matrix(fn):
    tl.check_grads(fn, (M,), order=2)


def around(c):
    return as_strided(c, (2, 2), (-c.strides[0], c.strides[0]))


def test_memory_around_the_parameter_of_a_helper_is_not_taken_for_constant():
    def of_a_part(x):
        y = x * 2.0
        return np.sum(around(y[2:]) ** 2)

    expected = tl.jacobian(of_a_part, mode="forward")(X)
    np.testing.assert_allclose(expected, [0.0, 8.0 * 1.2, 16.0 * -0.7, 8.0 * 2.0, 0.0, 0.0])
    np.testing.assert_allclose(tl.grad(of_a_part)(X), expected)
