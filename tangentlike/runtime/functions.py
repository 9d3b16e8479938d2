"""Functions that only the running program knows: their derivatives are made when it calls them.

Emitted code says `f_fwd, f_bwd = pair_of(f, 1, (0,))` or `f_jvp = tangent_of(f, 1, (0,))` and calls
what it gets. Deriving needs the whole of tangentlike, which says here how it is done.
"""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["asked_of_none", "pair_of", "plain_function", "tangent_of"]

_MOST = 512  # derivatives kept; a program that makes a function in each round forgets old ones

# What is made, and whether it still holds: helpers may be defined anew.
Made = tuple[Any, Callable[[], bool]]
Derive = Callable[[Any, int, tuple[Any, ...], tuple[str, ...], str], Made]

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type(np.sum))

_derive: list[Derive] = []
_made: OrderedDict[Any, tuple[Any, Made]] = OrderedDict()


def derived_by(derive: Derive) -> None:
    """Say how functions are differentiated."""
    _derive[:] = [derive]


def pair_of(f: Any, count: int, wrt: tuple[Any, ...], words: tuple[str, ...] = ()) -> Any:
    """The forward and backward functions of `f`, called with `count` arguments by position and
    `words` by name, with respect to some of them (positions, or names)."""
    return _remembered(f, count, wrt, words, "callee")


def tangent_of(f: Any, count: int, wrt: tuple[Any, ...], words: tuple[str, ...] = ()) -> Any:
    """The tangent function of `f`; it takes the tangents as `x0_dot`, `rate_dot`."""
    return _remembered(f, count, wrt, words, "tangent")


def asked_of_none(x: Any, method: str) -> Any:
    """What Python does where a method is asked of None: the calls of it were left out.

    Raises `AttributeError`, or `TypeError` where `x` is something else.
    """
    if x is None:
        _raise_as_python_does(method)
    raise TypeError(
        f"this derivative is written for None where it got a {type(x).__name__}: "
        "call the derivative of the function, which is made again for other arguments"
    )


def _raise_as_python_does(method: str) -> None:
    # (An error of the program, and no refusal: `refusing.REFUSING` goes by the function.)
    raise AttributeError(f"'NoneType' object has no attribute {method!r}")


def plain_function(f: Any) -> Any:
    """`f` itself, a function among objects of known classes; raises TypeError for others."""
    if not isinstance(f, _FUNCTIONS):
        raise TypeError(
            f"this derivative is written for a function where it got a {type(f).__name__}: "
            "pass `example=` arguments to get one for yours"
        )
    return f


def _remembered(f: Any, count: int, wrt: tuple[Any, ...], words: tuple[str, ...], mode: str) -> Any:
    key = (id(f), count, wrt, words, mode)
    _, (found, holds) = _made.get(key, (None, (None, _never)))
    if holds():
        _made.move_to_end(key)
        return found
    if not _derive:
        raise RuntimeError("import tangentlike: it makes the derivatives of functions at run time")
    found, holds = _derive[0](f, count, wrt, words, mode)
    _made[key] = (f, (found, holds))  # (the function is kept, so that its id stays its own)
    if len(_made) > _MOST:
        _made.popitem(last=False)
    return found


def _never() -> bool:
    return False
