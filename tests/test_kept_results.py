"""What a derivative returns beside the gradient is what the function returned.

The reverse sweep restores arrays in place, also those that a callee wrote and returned.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests.sampled import one_in

X = np.array([0.3, 0.5, 0.7])


def written(x: Any) -> Any:
    y = np.sin(x)
    y[0] = y[1] ** 2
    return y


def handed_on(x: Any) -> Any:
    return written(x)


def itself(x: Any) -> Any:
    return x


def own(x: Any) -> Any:
    y = np.sin(x)
    y[0] = y[1] ** 2
    return np.sum(y * y), y


def view_of_result(x: Any) -> Any:
    z = written(x).reshape(3, 1)
    return np.sum(z * z), z[:2]


def result_of_result(x: Any) -> Any:
    z = itself(handed_on(x))
    return np.sum(z * z), {"z": z}


def kept_in_list(x: Any) -> Any:
    found = [written(x)]
    found.append(written(found[0]))
    return np.sum(found[1] ** 2), found


def by_checkpoint(x: Any) -> Any:
    z = tl.checkpoint(written)(x)
    return np.sum(z * z), z


def of_pair(x: Any) -> Any:
    z, w = written(x), written(2.0 * x)
    return np.sum(z * w), (z, w)


def given(x: Any, f: Callable[..., Any] = written) -> Any:
    z = f(x)
    return np.sum(z * z), z


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return all(map(same, a, b))
    return bool(np.allclose(a, b, rtol=1e-14))


FUNCTIONS = (own, view_of_result, result_of_result, kept_in_list, by_checkpoint, of_pair, given)


@pytest.mark.parametrize("f", one_in(3, FUNCTIONS), ids=lambda f: f.__name__)
def test_results(f: Callable[..., Any]) -> None:
    value = f(X)
    assert same(tl.grad(f, has_aux=True)(X)[1], value[1])
    assert same(tl.value_and_grad(f, has_aux=True)(X)[0], value)
    assert same(tl.autodiff(f)(X, y_bar=copy.deepcopy(value))[0], value)
    result, back = tl.vjp(f, X)
    back(copy.deepcopy(value))
    assert same(result, value)
    if f is not given:  # (which function that is only the running program knows)
        tl.check_grads(lambda x: f(x)[1], (X,), order=2)


def table(x: Any) -> Any:
    y = np.sin(x)
    y.sort(axis=0)
    return y


def test_value_beside_an_adjoint_is_differentiated() -> None:
    """(The value of the first derivative was the table before it was sorted.)"""
    x = np.array([[0.4, 0.2], [0.1, 0.9], [0.8, 0.5]])
    tl.check_grads(lambda x: table(x), (x,), order=2)
