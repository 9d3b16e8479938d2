"""Containers of the user's own: how one is taken apart into what it holds, and made again.

    tl.register_container(
        Params,
        lambda p: ((p.w, p.b), p.name),                   # what is differentiated, and the rest
        lambda name, items: Params(name, *items),
    )

Where a value of such a class is a parameter or a result, the items that it is taken apart into are
what derivatives are taken of: gradients, tangents and Jacobians come back in the class, made by
the second function. Inside a derivative it is an object like any other, seen by its attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import TangentlikeError

_T = TypeVar("_T")
_Items = Sequence[Any] | Mapping[Any, Any]
_ADVICE = "See tl.register_container."


@dataclass(frozen=True)
class Protocol:
    """The two functions that a class was registered with."""

    flatten: Callable[[Any], tuple[_Items, Any]]
    unflatten: Callable[[Any, Any], Any]


_PROTOCOLS: dict[type, Protocol] = {}


def register_container(
    cls: type[_T],
    flatten: Callable[[_T], tuple[_Items, Any]],
    unflatten: Callable[[Any, Any], _T],
) -> None:
    """Say how values of a class of yours are taken apart, and made again.

    Parameters
    ----------
    cls : type
        The class; those derived from it are registered by themselves.
    flatten : callable
        `flatten(value)` gives `(items, rest)`: `items` a list, tuple or dict of what the value
        holds that may be differentiated (numbers, arrays, containers of them), `rest` anything
        else. It must hand out what the value holds, and compute nothing: a derivative is taken by
        what the attributes are.
    unflatten : callable
        `unflatten(rest, items)` makes a value of the class.

    Raises
    ------
    TangentlikeError
        if `cls` is not a class that can be registered, or one of the others is not a function.

    Examples
    --------
    >>> import numpy as np, tangentlike as tl
    >>> class Params:
    ...     def __init__(self, name, w, b):
    ...         self.name, self.w, self.b = name, w, b
    >>> tl.register_container(
    ...     Params, lambda p: ((p.w, p.b), p.name), lambda name, items: Params(name, *items)
    ... )
    >>> slopes = tl.grad(lambda p, x: np.sum(p.w * x) + p.b**2)(Params("a", np.ones(2), 3.0), 2.0)
    >>> slopes.name, slopes.w, slopes.b
    ('a', array([2., 2.]), 6.0)
    """
    if not isinstance(cls, type):
        raise TangentlikeError(f"register_container takes a class, got {cls!r}")
    if cls.__module__ == "builtins" or cls.__module__.partition(".")[0] == "numpy":
        raise TangentlikeError(
            f"{cls.__name__} is a built-in container, which needs no registration",
            hint="Register a class that is derived from it.",
        )
    for name, given in (("flatten", flatten), ("unflatten", unflatten)):
        if not callable(given):
            raise TangentlikeError(f"`{name}` must be a function, got {given!r}")
    _PROTOCOLS[cls] = Protocol(flatten, unflatten)


def is_registered(value: Any) -> bool:
    """Whether a value is of a class that was registered (of that class itself, not derived)."""
    return type(value) in _PROTOCOLS


def taken_apart(value: Any) -> tuple[_Items, Any]:
    """The items of a value of a registered class, and the rest."""
    name = type(value).__name__
    found = _PROTOCOLS[type(value)].flatten(value)
    if not isinstance(found, tuple) or len(found) != 2:
        raise TangentlikeError(
            f"the `flatten` of {name} must return a pair, of the items and of the rest",
            hint=_ADVICE,
        )
    if not isinstance(found[0], (list, tuple, dict)):
        raise TangentlikeError(
            f"the items that the `flatten` of {name} returns must be a list, a tuple or a dict, "
            f"got a {type(found[0]).__name__}",
            hint=_ADVICE,
        )
    return found


def made_of(value: Any, items: Sequence[Any]) -> Any:
    """A value of the same class and the same rest with other items, in their order."""
    old, rest = taken_apart(value)
    new: Any = list(items) if isinstance(old, list) else tuple(items)
    if isinstance(old, dict):
        new = dict(zip(old, items, strict=True))
    made = _PROTOCOLS[type(value)].unflatten(rest, new)
    if type(made) is not type(value):
        raise TangentlikeError(
            f"the `unflatten` of {type(value).__name__} returned a {type(made).__name__}",
            hint="It must make a value of the class: unflatten(rest, items).",
        )
    return made
