"""The adjoints of what is joined to one array, and of differences of neighbours: slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl

A = np.array([0.5, 1.3, -0.8])
B = np.array([-0.4, 0.7])
W = np.arange(1.0, 20.0)


def two(a, b):
    z = np.concatenate([a, b])
    return np.sum(np.sin(z) * W[: len(z)])


def beside_constants(a, b):
    z = np.concatenate(([0.0, 1.0], np.cumsum(a), b * 2.0, [3.0]))
    return np.sum(z**2 * W[: len(z)])


def of_three(a, b):
    z = np.hstack((a, b, a[1:] * b))
    return np.sum(z**3 * W[: len(z)])


def twice_the_same(a, b):
    z = np.concatenate((a, b, a))
    a = a * 2.0
    return np.sum(z**2 * W[: len(z)]) + np.sum(a)


def rows(a, b):
    z = np.vstack([a, a * b[0], np.ones(3)])
    return np.sum(z**2 * W[:9].reshape(3, 3))


def of_matrices(a, b):
    m, n = np.outer(a, b), np.outer(a, a)
    z = np.concatenate([m, n], axis=1)
    y = np.vstack((n, n[:1] * 2.0))
    return np.sum(z**2 * W[:15].reshape(3, 5)) + np.sum(y**2 * W[:12].reshape(4, 3))


def columns(a, b):
    z = np.column_stack((np.ones(len(a)), a, a**2))
    y = np.stack([a, a * b[1]], axis=1)
    return np.sum((z @ W[:3]) ** 2) + np.sum((y @ b) ** 2)


def appended(a, b):
    z = np.append(a, b)
    y = np.r_[a[0], b, a[-1] ** 2]
    return np.sum(z**2 * W[:5]) + np.sum(y**2 * W[:4])


def in_a_loop(a, b):
    h = b
    for k in range(3):
        z = np.concatenate([h, a[k : k + 1]])
        h = np.tanh(z[:2] * z[2] + 0.1 * z[1])
    return np.sum(h * W[:2])


SLICED = [two, of_three, twice_the_same, rows, of_matrices, columns, appended, in_a_loop]
SLICED += [beside_constants]


def with_more_in_the_list(a, b):
    parts = [a, b]
    parts.append(a * b[0])
    z = np.concatenate(parts)
    return np.sum(z**2 * W[: len(z)])


def of_one_list_twice(a, b):
    parts = [a, b]
    z = np.concatenate(parts) * np.hstack(parts)
    return np.sum(z * W[: len(z)])


def along_the_last(a, b):
    m = np.outer(a, b)
    z = np.concatenate([m, m**2], axis=-1)
    return np.sum(z * W[:12].reshape(3, 4))


def of_a_generated_list(a, b):
    z = np.concatenate([a * v for v in b])
    return np.sum(z**2 * W[:6])


def flattened(a, b):
    m = np.outer(a, b)
    z = np.concatenate([m, m * 2.0], axis=None)
    return np.sum(z**2 * W[:12])


def of_complex(a, b):
    z = np.concatenate([a, b * 1j])
    return np.sum(np.abs(z * (1.0 + 0.5j) + 0.2) ** 2)


def of_integers(a, b):
    z = np.concatenate([np.arange(2), a, b])
    return np.sum(z**2 * W[:7])


def bound_again_between(a, b):
    parts = [a, b]
    a = a * 2.0
    z = np.concatenate(parts)
    return np.sum(z**2 * W[:5]) + np.sum(a)


OTHERS = [
    *(with_more_in_the_list, of_one_list_twice, along_the_last, of_a_generated_list, flattened),
    *(of_complex, of_integers, bound_again_between),
]


def lengths(a, b):
    return np.sum(np.sqrt(np.diff(a) ** 2 + np.diff(a * b[0]) ** 2))


def differences(a, b):
    m = np.outer(a, b)
    d, e = np.diff(m, axis=0), np.diff(m)
    return np.sum(d**2 * W[:2, None]) + np.sum(e**3) + np.sum(np.diff(a, axis=-1) * W[:2])


def areas(a, b):
    s = np.trapezoid(a**2, np.cumsum(a * a)) + np.trapezoid(np.sin(a), dx=0.3)
    return s * np.trapezoid(y=a, x=np.arange(3.0) ** 2) + np.trapezoid(b)


def padded(a, b):
    z, m = np.pad(a, 2), np.pad(np.outer(a, b), 1)
    return np.sum((z[2:] - z[:-2]) ** 2 * W[:5]) + np.sum(np.diff(m, axis=1) ** 2)


def of_known_shapes(a, b):
    m = np.outer(a, a) + np.eye(3)
    s = np.sum(np.diag(m) * a) + np.sum(np.swapaxes(m, 0, 1) * m * a)
    s += np.sum(np.expand_dims(a, 1) * m) + np.sum(np.add.outer(a, b) ** 2)
    s += np.sum(a[np.argsort(-a)] * W[:3]) + np.polyval(a, b[0])
    s += np.sum(np.cumsum(m, axis=0) ** 2) + np.sum(np.cumsum(m, axis=1) ** 3)
    return s + np.linalg.slogdet(m)[1]


NEIGHBOURS = [lengths, differences, areas, padded]


def further_differences(a, b):
    axis = len(b) - 2
    d = np.diff(np.outer(a, a), axis=axis)
    return np.sum(np.diff(a, n=2) ** 2) + np.sum(d**2) + np.sum(np.diff(a, prepend=b[0]) ** 2)


def other_areas(a, b):
    s = np.sum(np.trapezoid(np.outer(a, b), axis=0) ** 2) + np.trapezoid(a, dx=b[0])
    return s + np.sum(np.trapezoid(np.outer(a, b), b) ** 2)


def differences_of_complex(a, b):
    return np.sum(np.abs(np.diff(a * (1.0 + 2.0j) + b[0] * 1j)) ** 2)


OTHERS += [of_known_shapes, further_differences, other_areas, differences_of_complex]


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("fn", [*SLICED, *NEIGHBOURS, *OTHERS])
def test_gradients(fn: Any, typed: bool) -> None:
    df = tl.value_and_grad(fn, (0, 1), example=(A, B) if typed else None)
    value, gradients = df(A, B)
    assert value == fn(A, B)
    for at, gradient in enumerate(gradients):
        for k in range(len(gradient)):
            step = 1e-6 * np.eye(len(gradient))[k]
            ends = [
                [v + sign * step if i == at else v for i, v in enumerate((A, B))]
                for sign in (1, -1)
            ]
            expected = (fn(*ends[0]) - fn(*ends[1])) / 2e-6
            np.testing.assert_allclose(gradient[k], expected, rtol=1e-6, atol=1e-7)
    _, tangent = tl.jvp(fn, (A, B), (np.cos(A), np.sin(B)))
    total = gradients[0] @ np.cos(A) + gradients[1] @ np.sin(B)
    np.testing.assert_allclose(total, tangent, rtol=1e-12)


@pytest.mark.parametrize("fn", SLICED)
def test_no_part_is_asked_for_its_size_when_it_runs(fn: Any) -> None:
    source = tl.grad(fn, (0, 1), example=(A, B)).source
    assert not [h for h in ("split_like", "unstack", "hstack_axis", "parts_bar") if h in source]


@pytest.mark.parametrize("fn", NEIGHBOURS)
def test_neighbours_are_slices(fn: Any) -> None:
    source = tl.grad(fn, (0, 1), example=(A, B)).source
    assert not [h for h in ("undiff", "trapezoid_bar", "unpad", "scalar_seed") if h in source]


def test_differences_of_one_entry_and_of_none() -> None:
    gradient = tl.grad(lambda x: np.sum(np.diff(x) ** 2))
    for count in (1, 0):
        assert (gradient(np.ones(count)) == np.zeros(count)).all()


def test_an_axis_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="axis 3"):
        tl.grad(lambda x: np.sum(np.diff(x, axis=3)))(np.ones((3, 3)))


def test_parts_of_other_types_and_of_no_entries() -> None:
    gradient = tl.grad(lambda a, b: np.sum(np.concatenate([a, b]) ** 2), (0, 1))
    a, b = gradient(np.ones(2, dtype=np.float32), np.zeros(0))
    assert a.shape == (2,) and b.shape == (0,)
    a, b = gradient(np.zeros(0), np.ones(3))
    assert a.shape == (0,) and (b == 2.0).all()


@pytest.mark.thorough
def test_second_order() -> None:
    for fn in (two, rows, in_a_loop, appended):
        gradient = tl.grad(fn)
        _, found = tl.jvp(lambda a, g=gradient: g(a, B), (A,), (np.ones(3),))
        step = 1e-5 * np.ones(3)
        expected = (gradient(A + step, B) - gradient(A - step, B)) / 2e-5
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
