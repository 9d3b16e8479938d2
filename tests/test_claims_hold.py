"""What is claimed of a value is true of it: every name of a program is looked at when it runs.

A derivative leaves out a sum because an axis is claimed not to be of length 1, a conjugate since
a value is claimed to be real, an adjoint where it is claimed to be an integer. So each claim about
a name (its kind) is compared with every value that the name is given in a run.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests.claims import false_claims
from tests.operation_list import DIFFERENTIATED
from tests.programs import PROGRAMS, Program
from tests.sampled import one_in
from tests.test_operations import program, runs, values

ROWS = [pytest.param(row[1], row[2], id=row[0]) for row in DIFFERENTIATED]


def variants(x: np.ndarray, y: np.ndarray) -> list[tuple[Any, ...]]:
    """Arguments of several classes: complex ones, integers, numbers, axes of length 1."""
    found: list[tuple[Any, ...]] = [(x, y), (x + 0.1j, y), (x, y * 1j + 0.2), (-x, y)]
    found += [(x.ravel()[0], y), (x, y.ravel()[0]), (float(x.ravel()[0]), float(y.ravel()[0]))]
    counts = np.arange(1, x.size + 1).reshape(x.shape)
    found += [(counts, y), (x, counts[: len(y)] if y.ndim else 2), (counts, counts), (x > 0.5, y)]
    found += [(2, y), (x, 2), (2, 3), (True, y)]
    if x.ndim:
        found += [(x[:1], y), (x, y[:1]), (x[..., :1], y)]
    return found


@pytest.mark.parametrize(("call", "shape"), one_in(4, ROWS))
@pytest.mark.filterwarnings("ignore")
def test_operations(call: str, shape: tuple[int, ...]) -> None:
    fn = program(call)
    if not runs(fn, shape):
        pytest.skip("not in this version")
    for args in variants(*values(shape)):
        try:
            fn(*copy.deepcopy(args))
        except Exception:
            continue  # (such arguments are not what the operation takes)
        assert false_claims(fn, args) == []


OF_LISTS_TOO = (
    "np.zeros_like(x)", "np.full_like(x, 2.5)", "np.copy(x)", "np.sort(x)", "np.roll(x, 1)",
    "np.abs(x)", "np.exp(x)", "np.sinc(x)", "np.nan_to_num(x)", "np.conj(x)", "np.angle(x)",
    "np.array(x, ndmin=2)", "np.sum(x, dtype=float)", "np.sum([x, x], axis=0, dtype=float)",
    "np.prod(x, 0, float)", "np.bincount([0, 1, 1])", "np.bincount([0, 1, 1], x)",
    "np.bincount([0, 1, 1], weights=None)", "np.insert(x, 0, 1.5)", "np.float64(x)",
    "np.tile(x, 2)", "np.cumsum(x)", "np.where(x, x, 0.5)", "np.diff(x)", "np.clip(x, 0.5, 2)",
    "np.pad(x, 1)", "np.maximum(x, 1.5)", "np.power(x, 2)", "np.divide(x, 2)", "np.outer(x, x)",
    "np.add.reduce(x)", "np.median(x)", "np.max(x, initial=2.5)", "np.unique(x)", "np.flip(x)",
)  # fmt: skip
OPERANDS = (
    *([1, 2, 3], [1.0, 2.0, 3.0], (1, 2.5, 3), [True, False, True], [1, 2j, 3]),
    *(np.arange(1, 4), np.arange(1.0, 4.0), np.arange(3) > 1, np.arange(3) * 1j, 3, 2.5),
)


@pytest.mark.parametrize("call", OF_LISTS_TOO)
@pytest.mark.filterwarnings("ignore")
def test_operations_on_lists(call: str) -> None:
    fn, ran = program(call), 0
    for operand in OPERANDS:
        try:
            fn(copy.deepcopy(operand), 0)
        except Exception:
            continue  # (such arguments are not what the operation takes)
        ran += 1
        assert false_claims(fn, (operand, 0)) == []
    assert ran > 4


@pytest.mark.parametrize("collected", one_in(3, [pytest.param(p, id=p.name) for p in PROGRAMS]))
@pytest.mark.filterwarnings("ignore")
def test_programs(collected: Program) -> None:
    try:
        found = false_claims(collected.fn, collected.arguments())
    except tl.UnsupportedError:
        return
    assert collected.name.startswith("object_operators.") or found == []
