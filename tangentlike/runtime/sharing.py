"""Tangents share memory exactly where their values do."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["mirrored_view"]


def mirrored_view(y_dot: Any, x_dot: Any, y: Any, x: Any) -> Any:
    """`y_dot`, made from `x_dot` as `y` was from `x`, once it is sure that both are views or
    both are copies.

    `ravel` and `reshape` decide that by the order of the entries in memory; a tangent that is
    laid out differently from its value would then miss later writes, or see too many.
    """
    arrays = all(hasattr(a, "shape") and hasattr(a, "dtype") for a in (y_dot, x_dot, y, x))
    if arrays and _shares(y, x) != _shares(y_dot, x_dot):
        raise ValueError(
            "a tangent is laid out in memory differently from its value, whose view is written "
            "in place; pass tangents with the memory order of their arguments"
        )
    return y_dot


def _shares(a: Any, b: Any) -> bool:
    return bool(np.may_share_memory(a, b))
