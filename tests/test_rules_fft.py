"""Rules of Fourier transforms: lengths, norms, axes, cropping and padding."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl
from tests.rule_cases import signed


def energy(z):
    return np.sum(z.real**3) + np.sum(z.real * z.imag**2)


LENGTHS = (None, 3, 4, 5, 6, 7, 8)
NORMS = (None, "ortho", "forward", "backward")


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("size", [5, 6])
def test_one_axis(n: int | None, size: int) -> None:
    def f(x, n):
        z = x[0] + 1j * x[1]
        return (
            energy(np.fft.fft(z, n))
            + energy(np.fft.ifft(z, n))
            + energy(np.fft.rfft(x[0], n))
            + np.sum(np.fft.irfft(z, n) ** 3)
        )

    tl.check_grads(f, (signed(2, size), n), wrt=0)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("axis", [0, -1])
def test_norms_and_axes(norm: str | None, axis: int) -> None:
    def f(x, axis, norm):
        z = np.fft.fft(x, axis=axis, norm=norm) * np.fft.rfft(x, 5, axis=1, norm=norm)[:, :1]
        return energy(np.fft.ifft(z * z, axis=axis, norm=norm)) + np.sum(
            np.fft.irfft(z, axis=axis, norm=norm) ** 2
        )

    tl.check_grads(f, (signed(4, 5), axis, norm), wrt=0)


def test_several_axes() -> None:
    def f(x):
        z = np.fft.fftn(x) * np.fft.fft2(x)
        y = np.fft.ifftn(z * z, axes=(0, 2)) + np.fft.ifft2(z)
        return energy(y) + energy(np.fft.rfftn(x)) + energy(np.fft.rfft2(x, s=(3, 5)))

    tl.check_grads(f, (signed(2, 3, 4),))


def test_several_axes_back_to_real() -> None:
    def f(x):
        z = np.fft.rfftn(x, axes=(0, 1))
        return np.sum(np.fft.irfftn(z * z, s=(3, 5), axes=(0, 1)) ** 3) + np.sum(
            np.fft.irfft2(np.fft.rfft2(x) ** 2) ** 2
        )

    tl.check_grads(f, (signed(3, 4),))


def test_shifts() -> None:
    def f(x):
        return energy(np.fft.fftshift(np.fft.fft(x)) * 1j) + np.sum(
            np.fft.ifftshift(x, axes=0)[0] ** 2
        )

    tl.check_grads(f, (signed(3, 5),))


@pytest.mark.parametrize("size", [4, 5])
def test_second_order(size: int) -> None:
    def f(x):
        return (
            energy(np.fft.fft(x))
            + energy(np.fft.rfft(x))
            + np.sum(np.fft.irfft(np.fft.rfft(x) ** 2, 6) ** 2)
        )

    tl.check_grads(f, (signed(size),), order=2)


def test_a_real_signal_has_a_real_gradient() -> None:
    def f(x):
        return np.sum(np.abs(np.fft.fft(x)) ** 2)

    x = signed(5).astype(np.float32)
    found = tl.grad(f)(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, 10.0 * x, rtol=1e-5)
