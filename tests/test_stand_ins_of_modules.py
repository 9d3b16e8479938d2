"""Objects of other classes that stand in the place of modules, as where a package says which of its
names are deprecated."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.5, 1.2])


class Deprecating:
    """A module that says which of its names are gone."""

    def __init__(self, name: str, inside: dict[str, Any]) -> None:
        self.__name__, self._inside = name, inside

    def __getattr__(self, name: str) -> Any:
        try:
            return vars(self)["_inside"][name]
        except KeyError:
            raise AttributeError(name) from None


def squared(x: Any) -> Any:
    return x * x


def cubed(x: Any) -> Any:
    return x * x * x


MODULE = Deprecating("a_package_that_is_none", {"power": squared})


def loss(x: Any) -> Any:
    return np.sum(MODULE.power(x))


def test_what_it_gives_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULE.__name__, MODULE)
    derivative = tl.grad(loss)
    assert np.array_equal(derivative(X), 2.0 * X)
    assert "pair_of" not in derivative.source
    monkeypatch.setitem(MODULE._inside, "power", cubed)
    assert np.allclose(derivative(X), 3.0 * X**2)
    tl.check_grads(loss, (X,), order=2)
