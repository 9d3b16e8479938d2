"""`np.fmin` and `np.fmax` give the operand that is a number where the other one is NaN: that one
has the whole derivative, and what was left out lets no NaN through."""

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.7, 1.3, 2.1])
Y = np.array([np.nan, 0.2, 5.0])


def left_out_by_nan(x):
    return np.sum(np.fmin(np.sqrt(x), Y))


def the_larger(x):
    return np.sum(np.fmax(Y, np.sqrt(x) * x))


def of_two_roots(x):
    return np.sum(np.fmin(np.sqrt(x), np.log(x - 1.0)) * x)


def a_product_that_is_nan(x):
    return np.sum(np.fmin(np.sqrt(x - 1.0) * x, x * 2.0))


def a_product_and_a_number(x):
    return np.sum(np.fmax(np.log(x - 1.0) * x, -2.0)) + np.fmin(np.sqrt(x[0] - 1.0) * x[0], x[1])


def of_other_shapes(x):
    return np.sum(np.fmin(np.sqrt(x[:, None] - 1.0) * x, x))


def without_nan(x):
    return np.sum(np.fmin(x * x, x))


@pytest.mark.parametrize(
    "f",
    [
        *(left_out_by_nan, the_larger, of_two_roots, a_product_that_is_nan),
        *(a_product_and_a_number, of_other_shapes, without_nan),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_the_operand_that_is_a_number_has_the_derivative(f) -> None:
    """(A root that was taken for a NaN had the derivative of `0.5 * x`; a product was NaN.)"""
    steps = 1e-6 * np.eye(3)
    slopes = np.array([(f(X + step) - f(X - step)) / 2e-6 for step in steps])
    assert tl.grad(f)(X) == pytest.approx(slopes, abs=1e-6)
    assert tl.jvp(f, (X,), (X,))[1] == pytest.approx(slopes @ X, abs=1e-6)


def test_products_without_nan_have_no_masks() -> None:
    assert "selected" not in tl.grad(without_nan, example=(X,)).source
