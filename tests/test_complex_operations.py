"""Operations of complex numbers: right in both modes, or refused where SciPy drops a part."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl
from tests.test_operations import program

X = np.array([0.4 + 0.3j, 0.7 - 0.2j, 0.5 + 0.6j, 0.9 + 0.1j])
Y = np.array([0.5, 0.3, 0.8, 0.6])


@pytest.mark.parametrize(
    "call",
    [
        "np.logspace(x[0], x[1], 4)",
        "np.logspace(y[0], x[1], 4)",
        "np.geomspace(x[0], x[1], 4)",
        "scipy.special.logsumexp(x)",
        "scipy.signal.lfilter(y[:2], [1.0, 0.3, x[0]], x)",
        "scipy.signal.lfilter(y[:2], [1.0, y[1], x[0]], y)",
    ],
)
def test_modes_agree_with_differences(call: str) -> None:
    fn = program(f"np.sum(np.abs({call}) ** 2)")
    tl.check_grads(fn, (X, Y))


@pytest.mark.parametrize(
    "call",
    [
        "scipy.stats.norm.logpdf(x, y)",
        "scipy.stats.laplace.logpdf(x, 0.1, y)",
        "scipy.special.ive(1, x)",
        "np.polyfit(y, x, 2)",
    ],
)
def test_what_holds_for_real_numbers_is_refused(call: str) -> None:
    with pytest.raises((tl.UnsupportedError, TypeError), match="real numbers"):
        tl.grad(program(f"np.sum(np.abs({call}))"), wrt=(0, 1))(X, Y)


def test_products_of_complex_numbers_in_lists_are_refused() -> None:
    with pytest.raises(TypeError, match=r"use np\.sum and np\.prod"):
        tl.grad(program("abs(math.prod(list(x)))"))(X, Y)


def test_levels_of_quantiles_of_integers() -> None:
    """The slopes were rounded to integers."""
    counts = np.array([1, 2, 3, 5, 9])

    def spread(q):
        return np.sum(np.quantile(counts, q, method="median_unbiased") ** 2)

    tl.check_grads(spread, (Y[1:3],))


def test_a_fit_to_too_few_points_is_refused() -> None:
    with (
        pytest.warns(match="conditioned"),
        pytest.raises(ValueError, match="fewer points than coefficients"),
    ):
        tl.grad(program("np.polyfit(x, y, 4)[0]"))(Y, X.real)
