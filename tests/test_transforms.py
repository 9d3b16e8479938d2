"""The transforms of `scipy.fft`, and the functions of `np.emath`."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import fft_programs
from tests.sampled import one_in

fft = pytest.importorskip("scipy.fft")
X = np.random.default_rng(1).normal(size=(4, 5))
WEIGHTS = np.random.default_rng(2).normal(size=(9, 9)) + 0.5


def of(transform, *args, **options):
    def f(x):
        y = transform(x, *args, **options)
        return np.sum(WEIGHTS[: y.shape[0], : y.shape[1]] * np.abs(y) ** 2)

    return f


def fourier(x):
    return np.sum(WEIGHTS[:4, :5] * np.abs(fft.fft(x, overwrite_x=True)) ** 2)


def several_axes(x):
    y = fft.irfftn(fft.rfftn(x, norm="ortho") * 2.0, s=x.shape, workers=1)
    return np.sum(WEIGHTS[:4, :5] * y**3) + np.sum(np.abs(fft.fft2(x, axes=(0, 1))) ** 2)


def shifted(x):
    return np.sum(WEIGHTS[:4, :5] * fft.fftshift(x=x, axes=0) ** 2) + np.sum(fft.ifftshift(x)[0])


def cosines(x):
    return np.sum(WEIGHTS[:4, :5] * fft.dct(x) ** 3)


def cosines_of_others(x):
    y = (
        fft.dct(x, 3, n=7, norm="ortho")
        + fft.idct(x, type=1, n=7)
        + fft.dct(x, 2, 7, -1, "forward")
    )
    return np.sum(WEIGHTS[:4, :7] * y**2)


def cosines_along_columns(x):
    return np.sum(WEIGHTS[:4, :5] * fft.idct(x, axis=0, norm="ortho") ** 2)


def cosines_of_images(x):
    y = fft.idctn(fft.dctn(x, norm="ortho") * WEIGHTS[:4, :5], norm="ortho")
    return np.sum(y**3)


def sines(x):
    y = fft.dst(x, norm="ortho") * WEIGHTS[:4, :5] + fft.dst(x, 1) * fft.dct(x, 4)
    return np.sum(fft.idst(y, 4, axis=0) ** 3) + np.sum(fft.idst(x, 2, n=7) ** 3)


PROGRAMS = (fourier, several_axes, shifted, cosines)
PROGRAMS += (cosines_of_others, cosines_along_columns, cosines_of_images, sines)


# (The derivatives of transforms by sines and cosines are long: 500 to 2,000 lines.)
@pytest.mark.parametrize("f", one_in(8, PROGRAMS), ids=[f.__name__ for f in PROGRAMS])
def test_transforms(f):
    tl.check_grads(f, (X,), order=1 if f in PROGRAMS[4:] else 2)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_transforms_of_cosines_and_sines_are_those_of_scipy(kind, norm):
    for name in ("dct", "idct", "dst", "idst"):
        ours, scipys = getattr(fft_programs, name), getattr(fft, name)
        for size in (None, 3, 7):
            np.testing.assert_allclose(
                ours(X, kind, size, norm=norm), scipys(X, kind, size, norm=norm)
            )
        for given in ({"orthogonalize": True}, {"orthogonalize": False}, {"axis": 0}):
            expected = scipys(X, kind, norm=norm, **given)
            np.testing.assert_allclose(ours(X, kind, norm=norm, **given), expected)
    for name in ("dctn", "idctn"):
        ours, scipys = getattr(fft_programs, name), getattr(fft, name)
        for options in ({}, {"s": (3, 4)}, {"axes": 0}, {"axes": (1, 0)}, {"s": (6,)}):
            expected = scipys(X, kind, norm=norm, **options)
            np.testing.assert_allclose(ours(X, kind, norm=norm, **options), expected)


# ---------------------------------------------------------------------------- np.emath


def refracted(sines):
    angles = np.emath.arcsin(sines)
    return np.sum(np.real(np.cos(angles)) + 0.3 * np.imag(angles) ** 2)


def roots(x):
    return np.sum(np.abs(np.emath.sqrt(x) + np.emath.log(x) * np.emath.power(x, 1.5)) ** 2)


def others(x):
    y = np.emath.arccos(x) + np.emath.arctanh(x / 3.0) + np.emath.log2(x) + np.emath.log10(x)
    return np.sum(np.real(y) ** 2) + np.imag(np.emath.logn(3.0, x))[0] * 2.0


@pytest.mark.parametrize("f", [refracted, roots, others])
@pytest.mark.parametrize("x", [[0.3, 0.5, 0.7], [-0.3, 1.5, 0.7]], ids=["real", "complex"])
def test_complex_where_real_numbers_have_no_result(f, x):
    x = np.array(x)
    slopes = [(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(tl.grad(f)(x), slopes, rtol=1e-6, atol=1e-8)
    assert tl.jvp(f, (x,), (x,))[1] == pytest.approx(np.dot(slopes, x), rel=1e-6)


def on_the_cut(x):
    return np.sum(np.imag(np.arcsin(x + 0j)) ** 2) + np.sum(np.imag(np.arccos(x + 0j)) ** 3)


def test_inverse_sines_on_the_branch_cut():
    x = np.array([1.5, -1.5, 0.5, 3.0])
    slopes = [(on_the_cut(x + e) - on_the_cut(x - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(tl.grad(on_the_cut)(x), slopes, rtol=1e-6, atol=1e-8)
