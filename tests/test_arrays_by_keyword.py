"""Operations that are given their arrays by keyword: `np.roll(a=x, shift=1)`."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tangentlike as tl

X = np.random.default_rng(1).normal(size=(4, 5))
W = np.random.default_rng(2).normal(size=(4, 5))
MODULES = {"np": np}


def rolled(x):
    return np.sum(W * np.roll(a=x, shift=1, axis=0) ** 2)


def flipped(x):
    return np.sum(W * np.flip(axis=1, m=x) ** 2)


def shifted(x):
    return np.sum(W * np.fft.fftshift(axes=0, x=x) ** 2)


def moved(x):
    y = np.swapaxes(axis1=0, axis2=1, a=np.moveaxis(a=x, source=0, destination=1))
    return np.sum(W * y**2) + np.sum(np.transpose(a=x)[0] ** 2)


def summed(x):
    return np.sum(np.cumsum(a=x, axis=1) * W) + np.max(a=x) + np.prod(a=x[0])


def joined(x):
    return np.sum(np.stack(axis=0, arrays=[x, 2.0 * x])[1] ** 2) + np.trace(a=x)


def interpolated(x):
    return np.interp(x=x[0, 0], xp=np.arange(3.0), fp=x[1, :3]) + np.polyval(p=x[0], x=x[1, 1])


def transformed(x):
    return np.sum(W[:, :4] * np.fft.irfft(a=np.fft.rfft(a=x, axis=1), axis=1) ** 2)


def of_a_module(x, xp=None):
    xp = MODULES["np"] if xp is None else xp
    return xp.sum(W * xp.flip(m=x, axis=0) ** 2)


def of_an_argument(x, flip=np.flip):
    return np.sum(W * flip(m=x, axis=0) ** 2)


def partial(x):
    return np.sum(W * functools.partial(np.roll, shift=1, axis=0)(a=x) ** 2)


def from_a_dict(x):
    given = {"a": x, "shift": 1, "axis": 0}
    return np.sum(W * np.roll(**given) ** 2)


def in_a_comprehension(x):
    return np.sum(W * np.array([np.flip(m=row) for row in x]) ** 2)


def written(x):
    y = np.zeros((4, 5))
    np.copyto(dst=y, src=x * x)
    np.fill_diagonal(a=y, val=x[0, 1])
    np.put(a=y, ind=[2], v=x[1, 1])
    return np.sum(y * W)


PROGRAMS = (rolled, flipped, shifted, moved, summed, joined, interpolated, transformed)
PROGRAMS += (of_a_module, of_an_argument, partial, from_a_dict, in_a_comprehension, written)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_arrays_by_keyword(f):
    steps = 1e-6 * np.eye(20).reshape(20, 4, 5)
    slopes = np.reshape([(f(X + e) - f(X - e)) / 2e-6 for e in steps], (4, 5))
    np.testing.assert_allclose(tl.grad(f)(X), slopes, rtol=1e-6, atol=1e-7)
    assert tl.jvp(f, (X,), (W,))[1] == pytest.approx(np.sum(slopes * W), rel=1e-6)


def cubed(x, scale=1.0):
    return scale * np.asarray(x) ** 3


@tl.rule(cubed)
def cubed_rule(y, x, scale=1.0):
    dy_dx = 3.0 * scale * x**2  # noqa: F841
    dy_dscale = x**3  # noqa: F841


def test_a_rule_of_the_users():
    def f(x):
        return np.sum(cubed(scale=x[0], x=x) + cubed(x=x))

    tl.check_grads(f, (np.array([0.3, 0.5]),))


def clipped(x):
    y = x.clip(min=-0.3) + x.clip(max=x[0, 1], min=-0.1) + (2.0 * x).clip(-0.5, max=1.0)
    return np.sum(W * y**2) + np.sum(np.clip(x, a_min=0.0, a_max=None))


class Scaled:
    def __init__(self, v):
        self.v = v

    def clip(self, max, min):
        return self.v * max + min


def of_another_class(x):
    return np.sum(Scaled(x).clip(min=1.0, max=2.0) ** 2)


@pytest.mark.parametrize("f", [clipped, of_another_class], ids=lambda f: f.__name__)
def test_the_limits_of_a_method_by_keyword(f):
    tl.check_grads(f, (X,))
