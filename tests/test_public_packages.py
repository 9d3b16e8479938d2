"""Functions of public packages as they stand, where enough of these are installed."""

from __future__ import annotations

from collections import Counter

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
    for one in public_packages.survey(2026, packages, FUNCTIONS):
        found[one.outcome] += 1
        said = f"{one.mode} mode of {one.name}: {one.more}"
        assert one.outcome not in ("wrong", "raw error"), said
        assert one.outcome != "crash" or one.mode == "itself", said
    assert found.total() >= 200, found  # both modes of 100 functions
    assert found["right"] >= 0.7 * found.total(), found
