"""Functions that only the running program knows: their derivatives are made when it calls them.

Emitted code says `f_fwd, f_bwd = pair_of(f, 1, (0,))` or `f_jvp = tangent_of(f, 1, (0,))` and calls
what it gets. Deriving needs the whole of tangentlike, which says here how it is done. What an
object of a class that only the run knows has under a name is `method_of(xp, "tanh")`.
"""

from __future__ import annotations

import functools
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Method", "asked_of_none", "method_of", "pair_of", "plain_function", "tangent_of"]

_MOST = 512  # derivatives kept; a program that makes a function in each round forgets old ones

# What is made, and whether it still holds: helpers may be defined anew.
Made = tuple[Any, Callable[[], bool]]
Derive = Callable[[Any, int, tuple[Any, ...], tuple[str, ...], str], Made]

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type(np.sum))

_derive: list[tuple[Derive, Callable[[Any], Any]]] = []
_made: OrderedDict[Any, tuple[Any, Made]] = OrderedDict()


def derived_by(derive: Derive, described: Callable[[Any], Any]) -> None:
    """Say how functions are differentiated, and what a derivative depends on of the object whose
    method it is of."""
    _derive[:] = [(derive, described)]


class Method:
    """The method of an object that carries no derivatives; called like the method."""

    __slots__ = ("__name__", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.__name__ = owner, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.owner, self.__name__)(*args, **kwargs)


def method_of(x: Any, name: str) -> Any:
    """The function that an object has under a name: what a module or an instance holds is that
    itself; methods, and objects that are called, are a `Method` of the object.

    >>> method_of(np, "tanh"), type(method_of(np.ones(2), "dot")).__name__
    (<ufunc 'tanh'>, 'Method')
    """
    found = getattr(x, name)
    if isinstance(x, types.ModuleType) and not isinstance(found, types.MethodType):
        return found
    owner = getattr(found, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        return found if isinstance(found, _FUNCTIONS) else Method(found, "__call__")
    return Method(owner, getattr(found, "__name__", name))


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
        f"this derivative is written for None and got a {type(x).__name__}: "
        "call the derivative of the function, which is made again for other arguments"
    )


def _raise_as_python_does(method: str) -> None:
    # (An error of the program, and no refusal: `refusing.REFUSING` goes by the function.)
    raise AttributeError(f"'NoneType' object has no attribute {method!r}")


def plain_function(f: Any) -> Any:
    """`f` itself, a function among objects of known classes; raises TypeError for others."""
    if not isinstance(f, _FUNCTIONS):
        raise TypeError(
            f"this derivative is written for a function and got a {type(f).__name__}: "
            "pass `example=` arguments to make one for these"
        )
    return f


def _remembered(f: Any, count: int, wrt: tuple[Any, ...], words: tuple[str, ...], mode: str) -> Any:
    if not _derive:
        raise RuntimeError("import tangentlike: it makes the derivatives of functions at run time")
    derive, described = _derive[0]
    method = isinstance(f, Method)
    what = (f.__name__, described(f.owner)) if method else id(f)
    key = (what, count, wrt, words, mode)
    _, (found, holds) = _made.get(key, (None, (None, _never)))
    if holds():
        _made.move_to_end(key)
        return _given_owner(found, f.owner) if method else found
    found, holds = derive(f, count, wrt, words, mode)
    kept = None if method else f  # (so that its id stays its own)
    _made[key] = (kept, (found, holds))
    if len(_made) > _MOST:
        _made.popitem(last=False)
    return _given_owner(found, f.owner) if method else found


def _given_owner(made: Any, owner: Any) -> Any:
    """The derivative of a method, which has the object as its first argument, for one object (that
    of a class or of a ufunc is called by its name)."""
    if isinstance(owner, (type, np.ufunc)):
        return made
    if not isinstance(made, tuple):
        return functools.partial(made, owner)
    forward, backward = made
    return functools.partial(forward, owner), backward


def _never() -> bool:
    return False
