"""A derivative at one point as a linear map that is applied to one seed after the other.

`Forward` multiplies the Jacobian with a vector, `Reverse` its transpose; both take a seed in
the structure of the value and give the leaves of the product. What is applied more than once
must compute the same value each time, which is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from ..dispatch.derivation import Derivation, functions_of
from ..errors import TangentlikeError
from ..frontend.primal import primal_of
from ..pytree import leaves
from ..pytree.gradients import flat, seed_like, with_all_keys, with_lists
from ..runtime.tape import fresh_tape
from .calls import _derivation, finished, seed_names


class Forward:
    """Tangents at a point, each by a run of the emitted forward function.

    `like`: what the tangents belong to, where that is not the value itself (the gradient that
    an emitted function returns has lists for tuples).
    """

    def __init__(
        self,
        derivation: Derivation,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        has_aux: bool = False,
        like: Any = None,
    ) -> None:
        self.derivation = derivation.specialized_for(args, kwargs)
        self.args, self.kwargs = args, kwargs
        self.has_aux, self.like = has_aux, like
        self.inputs = self.derivation.values(args, kwargs)
        self.value: Any = None
        self.aux: Any = None
        self._first: Any = None
        self._ran = False

    def __call__(self, seeds: Any) -> list[Any]:
        """The tangent for a seed of each input."""
        pairs = zip(seed_names(self.derivation), self.inputs, seeds, strict=True)
        dots = {dot: seed_like(value, seed) for dot, value, seed in pairs}
        value, tangent = self.derivation.call(self.args, {**self.kwargs, **dots})
        self._note(value)
        if self.has_aux:
            tangent = None if tangent is None or leaves.is_zero(tangent) else tangent[0]
        others = (*self.args, *self.kwargs.values(), *dots.values(), value)
        return flat(finished([self.value], [tangent], others)[0])

    def _note(self, value: Any) -> None:
        """Take the value of the first run; that of every later one must be the same."""
        if not self._ran:
            self._ran, self._first = True, leaves.own_memory([value], self.args)[0]
            own, self.aux = without_aux(value, self.derivation, self.has_aux)
            self.value = own if self.like is None else self.like
        elif not same_values(self._first, value):
            raise TangentlikeError(
                f"{self.derivation.primal.name} returns a different value each time it is called, "
                "and forward mode calls it once for each seed",
                hint='Use mode="reverse", which runs it once, or draw random numbers outside.',
            )


class Reverse:
    """Adjoints at a point: the primal runs once, here, and each seed runs the backward function."""

    def __init__(
        self,
        derivation: Derivation,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        has_aux: bool = False,
    ) -> None:
        derivation = derivation.specialized_for(args, kwargs)
        self.inputs = derivation.values(args, kwargs)
        self.has_aux = has_aux
        self.derivation, self._whole, self._tape = derivation.recorded(args, kwargs)
        _, self._back = functions_of(self.derivation.derived)
        self.value, self.aux = without_aux(self._whole, self.derivation, has_aux)

    def __call__(self, seed: Any) -> list[Any]:
        """The adjoints of all inputs for a seed of the value."""
        whole = with_lists(seed_like(self._whole, (seed, None) if self.has_aux else seed))
        tape = fresh_tape(self._tape, self.derivation.writes_tape)
        bars = self.derivation.pulled_back(self._back, tape, whole)
        return flat(finished(self.inputs, bars, ()))


def without_aux(value: Any, derivation: Derivation, has_aux: bool) -> tuple[Any, Any]:
    """The value to differentiate, and what is passed through beside it."""
    if not has_aux:
        return value, None
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TangentlikeError(
            f"with has_aux, {derivation.primal.name} must return (value, aux), not a "
            f"{type(value).__name__}"
        )
    return value[0], value[1]


def same_values(first: Any, second: Any) -> bool:
    """Whether the floating leaves of two results are the same, bit for bit or both no numbers."""
    return all(map(_same, flat(first), flat(second)))


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        equal_nan = first.dtype.kind in "fc"
        return np.array_equal(first, second, equal_nan=equal_nan)
    if leaves.is_array(first):
        return True  # (on another device: not brought here to be compared)
    return bool(first == second or (first != first and second != second))


# --------------------------------------------------------------------------------------------------
# `functools.cache`, of a function that goes to another process.

T = TypeVar("T")


class Remembered(Generic[T]):
    """A function that remembers what it gave; its pickle holds the function and no more.

    >>> import pickle
    >>> size = Remembered(abs)
    >>> size(-2.0), pickle.loads(pickle.dumps(size))(-3.0)
    (2.0, 3.0)
    """

    def __init__(self, make: Callable[..., T]) -> None:
        self._make = make
        self._made: dict[tuple[Any, ...], T] = {}

    def __call__(self, *args: Any) -> T:
        if args not in self._made:
            self._made[args] = self._make(*args)
        return self._made[args]

    def __getstate__(self) -> dict[str, Any]:
        return {"_make": self._make, "_made": {}}


# --------------------------------------------------------------------------------------------------
# A function at one point, run forwards once; a call of it takes an adjoint of the value back.


def pair_of(fn: Any, wrt: tuple[str, ...], example: Any = None) -> Derivation:
    """The forward and the backward function of `fn`."""
    return _derivation(primal_of(fn), "pair", wrt, example=example)


class Point:
    """A function at some arguments, run forwards; a call of it takes an adjoint back."""

    def __init__(
        self, fn: Any, wrt: Any, args: Any, kwargs: dict[str, Any], has_aux: bool, example: Any
    ) -> None:
        primal = primal_of(fn)
        args, kwargs = (*primal.args, *args), {**primal.kwargs, **kwargs}
        derivation = pair_of(fn, wrt, example).specialized_for(args, kwargs)
        self.given = derivation.values(args, kwargs)
        self.has_aux = has_aux
        self.derivation, self.whole, self.tape = derivation.recorded(args, kwargs)
        _, self.backward = functions_of(self.derivation.derived)
        shaped = primal.shaped(args, kwargs, self.whole)
        self.value, self.aux = without_aux(shaped, self.derivation, has_aux)
        self.others = (*args, *kwargs.values())

    def __call__(self, seed: Any) -> tuple[Any, ...]:
        seed = seed_like(self.whole, (seed, None) if self.has_aux else seed)
        whole = with_all_keys(self.whole, with_lists(seed))
        tape = fresh_tape(self.tape, self.derivation.writes_tape)
        bars = self.derivation.pulled_back(self.backward, tape, whole)
        return tuple(finished(self.given, bars, (*self.others, seed)))
