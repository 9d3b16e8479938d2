"""A complex array of the module meets real and complex arguments: the adjoint is conjugated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

C = np.array([1.0 + 2.0j, 3.0 - 1.0j, 0.5j])
TABLE = {"weights": [C, 2.0 - 1.0j]}
UNIT = 0.6 + 0.8j


def product(x):
    return np.sum(np.real(x * C) ** 2)


def quotient(x):
    return np.sum(np.abs(np.flip(C) / x * np.exp(x)) ** 2)


def of_a_table(x):
    return np.sum(np.abs(x * TABLE["weights"][0] + x[::-1] * TABLE["weights"][1]) ** 2)


def of_a_number(x):
    return np.abs(np.sum(UNIT * x * x)) ** 2


@pytest.mark.parametrize("fn", [product, quotient, of_a_table, of_a_number])
@pytest.mark.parametrize("x", [np.array([1.0, 2.0, 3.0]), np.array([1.0 + 1.0j, 2.0, 3.0j])])
def test_complex_constant(fn: Callable[[Any], Any], x: np.ndarray) -> None:
    tl.check_grads(fn, (x,))
