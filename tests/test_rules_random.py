"""Draws happen once, in order; by location and scale they have a derivative, both modes."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tangentlike as tl

M, S = 0.7, 1.3


def normal(m, s, rng):
    x = rng.normal(m, s, 4)
    return np.sum(x)


def normal_by_name(m, s, rng):
    x = rng.normal(loc=m, scale=s, size=(2, 3))
    return np.sum(x * x)


def standard(m, s, rng):
    return np.sum((m + s * rng.standard_normal(4)) ** 3)


def uniform(m, s, rng):
    return np.sum(rng.uniform(m, m + s, 5) ** 2)


def laplace(m, s, rng):
    return np.sum(rng.laplace(m, s, 5) ** 2)


def lognormal(m, s, rng):
    return np.sum(rng.lognormal(m, s, 5))


def scaled(m, s, rng):
    return np.sum(rng.exponential(s, 3)) * np.sum(rng.gamma(2.0, m, 3) ** 2)


def several(m, s, rng):
    mean = np.array([m, s])
    return np.sum(rng.multivariate_normal(mean, np.eye(2), size=3) ** 2)


def walk(m, s, rng):
    total = 0.0
    for _ in range(5):
        m = m + 0.1 * rng.normal(0.0, s) * m
        total = total + m * m
    return total


def places(m, s, rng):
    values = m * np.arange(1.0, 6.0) ** s
    order = rng.permutation(5)
    chosen = rng.integers(0, 5, size=3)
    return np.sum(values[order] * np.arange(5.0)) + np.sum(values[chosen] ** 2)


def scale_by_name(m, s, rng):
    scales = s * np.arange(1.0, 4.0)
    drawn = rng.normal(scale=scales) * rng.lognormal(sigma=0.1 * scales, mean=m)
    return np.sum(drawn * np.arange(3.0)) + np.sum(
        rng.normal(loc=m * scales[:, None], scale=scales)
    )


DRAWING = [
    scale_by_name,
    *(normal, normal_by_name, standard, uniform, laplace, lognormal, scaled, several, walk),
    places,
]


def slope(fn, place):
    eps = 1e-6
    args = [M, S]
    found = []
    for step in (eps, -eps):
        moved = list(args)
        moved[place] += step
        found.append(fn(*moved, np.random.default_rng(3)))
    return (found[0] - found[1]) / (2 * eps)


@pytest.mark.parametrize("fn", DRAWING)
def test_by_location_and_scale(fn):
    expected = [slope(fn, place) for place in (0, 1)]
    got = tl.grad(fn, wrt=(0, 1))(M, S, np.random.default_rng(3))
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)
    for place in (0, 1):
        rng = np.random.default_rng(3)
        dots = [1.0 if place == k else None for k in (0, 1)]
        _, tangent = tl.jvp(fn, (M, S, rng), (*dots, None))
        np.testing.assert_allclose(tangent, expected[place], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("fn", DRAWING)
def test_draws_happen_once_and_in_order(fn):
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    value = fn(M, S, one)
    found, _ = tl.value_and_grad(fn, wrt=(0, 1))(M, S, other)
    assert found == pytest.approx(value, rel=1e-14)
    assert one.random() == other.random()


def of_the_module(m, s):
    np.random.seed(3)
    scales = s * np.arange(1.0, 4.0)
    drawn = np.random.normal(0.0, scale=scales) * np.random.normal(scale=scales)
    drawn = drawn * np.arange(3.0)
    return np.sum(np.random.normal(m, s, 4)) + np.sum(np.random.uniform(m, s, 3)) + np.sum(drawn)


def made_inside(m, s):
    rng = np.random.default_rng(3)
    old = np.random.RandomState(3)
    return np.sum(rng.normal(m, s, 4)) + np.sum(old.normal(m, s, 2))


@pytest.mark.parametrize("fn", [of_the_module, made_inside])
def test_generators_of_other_kinds(fn):
    tl.check_grads(fn, (M, S))


def test_the_value_is_the_one_before_the_sweep():
    def total(m, s):
        found = 0.0
        for _ in range(3):
            found = found + m * s
            m = m * found
        return found

    value, _ = tl.value_and_grad(total, wrt=(0, 1))(M, S)
    assert value == pytest.approx(total(M, S))


def chosen_value(m, rng):
    return rng.choice(m * np.arange(4.0))


def counted(m, rng):
    return rng.poisson(m) * 2.0


def by_shape(m, rng):
    return rng.gamma(m, 1.0)


@pytest.mark.parametrize("fn", [chosen_value, counted, by_shape])
def test_refused(fn):
    for call in (
        lambda: tl.grad(fn)(2.5, np.random.default_rng(3)),
        lambda: tl.jvp(fn, (2.5, np.random.default_rng(3)), (1.0, None)),
    ):
        with pytest.raises(tl.UnsupportedError, match="no derivative"):
            call()


class Surface:
    def normal(self, u, v):
        return u * v


def of_an_object(u, surface):
    return surface.normal(u, 2.0)


def test_methods_of_other_objects_are_no_draws():
    assert tl.grad(of_an_object)(1.5, Surface()) == 2.0
    assert copy.copy(Surface()) is not None
