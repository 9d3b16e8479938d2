"""What is made of a function where it arrives: its gradient, or its pullback of a given adjoint."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ad.request import Request
from ..api.calls import finished
from ..api.calls import value_and_grad as plain_value_and_grad
from ..api.sweeps import without_aux
from ..dispatch.derivation import Derivation, derivation_of, functions_of
from ..errors import TangentlikeError, UnknownClassError
from ..frontend.primal import primal_of
from ..pytree import leaves
from ..pytree.seeds import seed_like, with_all_keys, with_lists
from ..runtime.tape import fresh_tape

__all__ = ["jacobian_rows", "pair_of", "pullback", "value", "value_and_grad"]

Function = Callable[..., Any]


def value(fn: Any, wrt: tuple[str, ...], example: Any = None) -> Function:
    """The value alone, by the forward function of the derivative: unlike `fn` itself, it leaves the
    data as they are where `fn` writes them."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        return _Point(fn, wrt, args, kwargs, False, example).value

    return _with_source(forward, pair_of(fn, wrt, example))


def value_and_grad(fn: Any, wrt: Any, has_aux: bool = False, example: Any = None) -> Function:
    """Value and gradient of a chunk."""
    found: Function = plain_value_and_grad(fn, wrt=wrt, has_aux=has_aux, example=example)
    return found


def pair_of(fn: Any, wrt: tuple[str, ...], example: Any = None) -> Derivation:
    """The forward and the backward function of `fn`."""
    return derivation_of(primal_of(fn), Request("pair", wrt, False, False, example))


def pullback(fn: Any, wrt: tuple[str, ...], has_aux: bool = False, example: Any = None) -> Function:
    """`(adjoint of the value, *arguments) -> (value, adjoints of wrt)`."""

    def pulled(seed: Any, *args: Any, **kwargs: Any) -> tuple[Any, tuple[Any, ...]]:
        point = _Point(fn, wrt, args, kwargs, has_aux, example)
        return point.value, point(seed)

    return _with_source(pulled, pair_of(fn, wrt, example))


def jacobian_rows(
    fn: Any, wrt: tuple[str, ...], has_aux: bool = False, example: Any = None
) -> Function:
    """`(*arguments) -> ((value, aux), rows)`: for each number of the value its gradient, all from
    one run of the primal."""

    def rows(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, ...]]]:
        point = _Point(fn, wrt, args, kwargs, has_aux, example)
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
            hint="Say passes=2, or return real and imaginary parts.",
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


class _Point:
    """A function at some arguments, run forwards; a call of it takes an adjoint back."""

    def __init__(
        self, fn: Any, wrt: Any, args: Any, kwargs: dict[str, Any], has_aux: bool, example: Any
    ) -> None:
        primal = primal_of(fn)
        args, kwargs = (*primal.args, *args), {**primal.kwargs, **kwargs}
        self.derivation = pair_of(fn, wrt, example).suited(args, kwargs)
        self.given = self.derivation.values(args, kwargs)
        self.has_aux = has_aux
        forward, self.backward = functions_of(self.derivation.derived)
        self.whole, self.tape = self.derivation.run(forward, args, kwargs)
        shaped = primal.shaped(args, kwargs, self.whole)
        self.value, self.aux = without_aux(shaped, self.derivation, has_aux)
        self.others = (*args, *kwargs.values())

    def __call__(self, seed: Any) -> tuple[Any, ...]:
        seed = seed_like(self.whole, (seed, None) if self.has_aux else seed)
        whole = with_all_keys(self.whole, with_lists(seed))
        tape = fresh_tape(self.tape, self.derivation.writes_tape)
        bars = self.derivation.guarded(self.backward, (tape, whole), {})
        return tuple(finished(self.given, bars, (*self.others, seed)))
