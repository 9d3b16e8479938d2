"""Functions of public packages as they stand, where enough of these are installed."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest

from tests import public_packages

PACKAGES, FUNCTIONS = 14, 9  # of each


@pytest.mark.thorough
def test_functions_drawn_by_lot() -> None:
    """None is wrong, none fails in another way than by a refusal, and most are right."""
    packages = public_packages.drawn_packages(2026, PACKAGES)
    if len(packages) < PACKAGES:
        pytest.skip(f"{len(packages)} of the packages are installed")
    found: Counter[str] = Counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, mode, outcome, more in public_packages.survey(2026, packages, FUNCTIONS):
            found[outcome] += 1
            assert outcome not in ("wrong", "raw error"), f"{mode} mode of {name}: {more}"
    assert found.total() >= 200, found  # both modes of 100 functions
    assert found["right"] >= 0.7 * found.total(), found
