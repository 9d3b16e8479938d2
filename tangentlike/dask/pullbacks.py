"""What is made of a function where it arrives: its gradient, or its pullback of a given adjoint."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..api.calls import value_and_grad as plain_value_and_grad
from ..api.sweeps import Point, pair_of
from ..dispatch.derivation import Derivation
from ..errors import TangentlikeError, UnknownClassError
from ..pytree import leaves

Function = Callable[..., Any]


def value(fn: Any, wrt: tuple[str, ...], example: Any = None) -> Function:
    """The value alone, by the forward function of the derivative: unlike `fn` itself, it leaves the
    data as they are where `fn` writes them."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        return Point(fn, wrt, args, kwargs, False, example).value

    return _with_source(forward, pair_of(fn, wrt, example))


def value_and_grad(fn: Any, wrt: Any, has_aux: bool = False, example: Any = None) -> Function:
    """Value and gradient of a chunk."""
    found: Function = plain_value_and_grad(fn, wrt=wrt, has_aux=has_aux, example=example)
    return found


def pullback(fn: Any, wrt: tuple[str, ...], has_aux: bool = False, example: Any = None) -> Function:
    """`(adjoint of the value, *arguments) -> (value, adjoints of wrt)`."""

    def pulled(seed: Any, *args: Any, **kwargs: Any) -> tuple[Any, tuple[Any, ...]]:
        point = Point(fn, wrt, args, kwargs, has_aux, example)
        return point.value, point(seed)

    return _with_source(pulled, pair_of(fn, wrt, example))


def jacobian_rows(
    fn: Any, wrt: tuple[str, ...], has_aux: bool = False, example: Any = None
) -> Function:
    """`(*arguments) -> ((value, aux), rows)`: for each number of the value its gradient, all from
    one run of the primal."""

    def rows(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, ...]]]:
        point = Point(fn, wrt, args, kwargs, has_aux, example)
        return (point.value, point.aux), [point(unit) for unit in units(point.value)]

    return _with_source(rows, pair_of(fn, wrt, example))


def _with_source(function: Any, derivation: Derivation) -> Function:
    """A function that has the text of the derivative it calls; none while that waits for a call."""
    with contextlib.suppress(UnknownClassError):
        function.source = derivation.derived.source
    return function  # type: ignore[no-any-return]


def units(value: Any) -> list[Any]:
    """For each number of a value a seed that is one there, and zero elsewhere.

    >>> units((1.0, 2.0, "name"))
    [(1.0, None, None), (None, 1.0, None)]
    """
    if leaves.is_complex(value):
        raise TangentlikeError(
            "the statistics are complex, which one pass over the data does not take",
            hint="Pass passes=2, or return real and imaginary parts.",
        )
    if not leaves.is_leaf(value):
        inside = [item for _, item in leaves.children(value) or ()]
        return [
            leaves.rebuild(value, [seed if j == k else None for j in range(len(inside))])
            for k, item in enumerate(inside)
            for seed in units(item)
        ]
    if not leaves.is_array(value):
        return [1.0]
    flat = np.eye(value.size, dtype=value.dtype)
    return [row.reshape(value.shape) for row in flat]
