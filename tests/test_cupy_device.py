"""The collection of programs and the tables of calls on a device: skipped where CuPy finds none.

The same programs run everywhere on the strict stand-in (tests/test_strict_array.py,
tests/test_strict_rules.py), and functions of SciPy on both (tests/test_cupyx.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.devices import from_device, held_by_device, to_device
from tests.programs import PROGRAMS, Program
from tests.refusals import REFUSED, REFUSED_FORWARD, REFUSED_REVERSE
from tests.rule_cases import TABLES, Case, title
from tests.test_strict_array import STRICT_BOTH, STRICT_ONLY, leaves, rewritten
from tests.test_strict_rules import program as program_of_call
from tests.test_strict_rules import same_in_both_modes

cupy = held_by_device()
if cupy is None:
    pytest.skip("there is no device that CuPy finds", allow_module_level=True)

OUTSIDE = {**REFUSED, **REFUSED_REVERSE, **REFUSED_FORWARD, **STRICT_ONLY, **STRICT_BOTH}
_modules: dict[str, dict[str, Any]] = {}


def on_device(program: Program) -> Callable[..., Any] | None:
    """The program with `cupy` for NumPy, if it computes the same on the device."""
    if program.theme not in _modules:
        _modules[program.theme] = vars(rewritten(program.theme, "import cupy as xp"))
    fn: Callable[..., Any] | None = _modules[program.theme].get(program.fn.__name__)
    try:
        value = None if fn is None else agreement.call(fn, to_device(program.arguments()))
    except (TypeError, AttributeError, IndexError, NotImplementedError, ValueError):
        return None  # (what CuPy does not have)
    expected = agreement.call(program.fn, program.arguments())
    same = value is not None and agreement.close(float(value), float(expected), 1e-8)
    return fn if same else None  # (an entry is a view there: the program means something else)


def assert_same(got: Any, want: Any) -> None:
    for mine, theirs in zip(leaves(from_device(got)), leaves(want), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "program", [pytest.param(p, id=p.name) for p in PROGRAMS if p.name not in OUTSIDE]
)
def test_program(program: Program) -> None:
    fn = on_device(program)
    if fn is None:
        pytest.skip("CuPy does not run it, or gives it another meaning")
    expected = tl.grad(program.fn, wrt=program.wrt)(*program.arguments())
    assert_same(tl.grad(fn, wrt=program.wrt)(*to_device(program.arguments())), expected)
    directions = agreement.directions_for(program.arguments(), program.wrt, 1)
    _, slope = tl.jvp(program.fn, program.arguments(), directions)
    _, tangent = tl.jvp(fn, to_device(program.arguments()), to_device(tuple(directions)))
    assert agreement.close(float(tangent), float(slope), 1e-8)


CALLS = [(f"{table}-{title(c)}", c) for table, cases in TABLES.items() for c in cases]


@pytest.mark.parametrize("entry", [pytest.param(c, id=name) for name, c in CALLS])
def test_call(entry: Case) -> None:
    args = entry[1]
    plain = program_of_call(np, "np", entry)
    moved = program_of_call(cupy, "cp", entry)
    if plain is None or moved is None:
        pytest.skip("CuPy has no such function")
    try:
        moved(*to_device(args))
    except (TypeError, AttributeError, NotImplementedError, ValueError) as error:
        pytest.skip(f"CuPy: {error}")
    same_in_both_modes(plain, moved, args, to_device, assert_same)
