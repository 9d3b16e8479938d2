"""Operations of the list on arrays of other layouts and types: the same gradient, in their dtype.

A fixed sample runs with `pytest --most`; `TANGENTLIKE_VARIANTS=2000` in the environment runs more.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tangentlike as tl
from tests.operation_list import DIFFERENTIATED
from tests.sampled import one_in
from tests.test_operations import program, values

EXAMPLES = int(os.environ.get("TANGENTLIKE_VARIANTS", "30"))
ROWS = [row for row in DIFFERENTIATED if "scipy" not in row[1] and "random" not in row[1]]

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "fortran": np.asfortranarray,
    "every second": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1],
    "transposed": lambda a: a.T.copy().T,
    "read only": lambda a: np.broadcast_to(a[None], (2, *a.shape))[1],
}


def gradients(call: str, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    """The adjoints of both arguments from a seed of ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, pullback = tl.vjp(program(call), x, y)
        return pullback(_ones(value))


# What is no list of numbers, or says something else of lists: `100 * y[0]` repeats one.
OTHER_OF_LISTS = ("percentile by q", "trim_zeros", "ndenumerate")


def check_lists(row: tuple) -> None:
    """The gradients and the tangent of a call on lists are those on arrays."""
    name, call, shape = row[:3]
    x, y = values(shape)
    fn, (given_x, given_y) = program(call), (x.tolist(), y.tolist())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            of_arrays, of_lists = fn(x, y), fn(given_x, given_y)
        except Exception:
            return  # not in this version of NumPy, or not of lists
        if name in OTHER_OF_LISTS or np.shape(of_arrays) != np.shape(of_lists):
            return
        found, expected = gradients(call, given_x, given_y), gradients(call, x, y)
        _, tangent = tl.jvp(fn, (given_x, given_y), (given_x, given_y))
        _, wanted = tl.jvp(fn, (x, y), (x, y))
    for bar, wanted_bar, argument in zip(found, expected, (given_x, given_y), strict=True):
        assert type(bar) is list and len(bar) == len(argument), call
        np.testing.assert_allclose(bar, wanted_bar, rtol=1e-9, atol=1e-9, err_msg=call)
    if isinstance(tangent, float | np.ndarray):
        np.testing.assert_allclose(tangent, wanted, rtol=1e-9, atol=1e-9, err_msg=call)


def _ones(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_ones, value))
    return np.ones_like(value) if isinstance(value, np.ndarray) else type(value)(1.0)


def check(row: tuple, layout: str, dtype: type) -> None:
    """The gradient of a call on arrays of this layout and type."""
    call, shape = row[1], row[2]
    x, y = (v.astype(dtype) for v in values(shape))
    try:
        expected = gradients(call, x.astype(float), y.astype(float))
    except AttributeError:
        return  # not in this version of NumPy
    given_x, given_y = LAYOUTS[layout](x), LAYOUTS[layout](y)
    found = gradients(call, given_x, given_y)
    np.testing.assert_array_equal(given_x, x)
    tolerance = 1e-9 if dtype is np.float64 else 2e-2
    for bar, wanted, argument in zip(found, expected, (x, y), strict=True):
        assert bar.dtype == dtype and bar.shape == argument.shape, (call, bar.dtype)
        np.testing.assert_allclose(bar, wanted, rtol=tolerance, atol=tolerance, err_msg=call)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout(layout: str) -> None:
    check(ROWS[len(layout)], layout, np.float32)


@pytest.mark.thorough
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(
    st.sampled_from(ROWS),
    st.sampled_from(sorted(LAYOUTS)),
    st.sampled_from([np.float64, np.float32]),
)
def test_layouts_and_types(row: tuple, layout: str, dtype: type) -> None:
    check(row, layout, dtype)


@pytest.mark.parametrize(
    "row", one_in(9, [pytest.param(row, id=f"{k}-{row[0]}") for k, row in enumerate(ROWS)])
)
def test_lists(row: tuple) -> None:
    check_lists(row)
