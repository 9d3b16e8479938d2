"""Parameters of which the usual run takes some; `pytest --most`, as in `.ci/run`, and `--all` take the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(count: int, params: Iterable[Any], start: int = 0) -> list[Any]:
    """The parameters, of which all but one in `count` (from the `start`-th on) are thorough.

    >>> [len(p.marks) for p in one_in(2, ["a", "b", "c"])]
    [0, 1, 0]
    """
    return [
        _param(param, () if place % count == start else (pytest.mark.thorough,))
        for place, param in enumerate(params)
    ]


def _param(param: Any, marks: Any) -> Any:
    if hasattr(param, "marks"):  # a `pytest.param`
        return pytest.param(*param.values, id=param.id, marks=(*param.marks, *marks))
    return pytest.param(param, marks=marks)
