"""User code in the reverse sweep: called on an adjoint where it passes by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .mutation import copy


def on_adjoint(x: Any, fn: Callable[[Any], Any]) -> Any:
    """`x`; in the reverse sweep `fn` is called with the adjoint that arrives here.

    Parameters
    ----------
    x : Any
        A number, an array or a container of them.
    fn : callable
        Takes a copy of the adjoint, which has the structure, shapes and dtypes of `x`. What it
        returns goes on in its place, None leaves it as it is: so it may print, stop in a debugger,
        clip or replace. It is not called in forward mode.

    Returns
    -------
    Any
        `x`.

    Raises
    ------
    TypeError
        if `fn` cannot be called.

    Examples
    --------
    >>> on_adjoint(2.0, print)
    2.0
    """
    if not callable(fn):
        raise TypeError(f"on_adjoint takes a function, not {fn!r}")
    return x


def hooked(g: Any, fn: Callable[[Any], Any]) -> Any:
    """The adjoint `g` after `fn` has seen it: what `fn` returns, or `g` itself for None.

    >>> hooked(3.0, lambda g: min(g, 1.0)), hooked(3.0, lambda g: None)
    (1.0, 3.0)
    """
    handed = fn(copy(g))
    if handed is None:
        return g
    if isinstance(g, list) and isinstance(handed, tuple):  # (adjoints of tuples are lists)
        handed = list(handed)
    if isinstance(g, (list, tuple, dict)) or isinstance(handed, (list, tuple, dict)):
        if type(handed) is not type(g) or len(handed) != len(g):
            raise ValueError(
                f"a {type(handed).__name__} came back from a function given to on_adjoint, which "
                f"got a {type(g).__name__} and returns one as long, or None"
            )
    elif np.shape(handed) != np.shape(g):
        raise ValueError(
            f"an adjoint of shape {np.shape(handed)} came back from a function given to "
            f"on_adjoint, which got one of shape {np.shape(g)}"
        )
    return handed
