"""One entry of the collection: a function, how to make its arguments, what to differentiate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Make = Callable[[np.random.Generator], tuple[Any, ...]]


@dataclass(frozen=True)
class Program:
    """A real scalar function with a maker of arguments at which it is smooth.

    `wrt` are the positions of its differentiable arguments. `sets` tell which promise the
    program stands for: "language" (constructs of the language) or "inplace" (programs of the
    sciences that write their arrays). `oracle`, where there is one, computes the same value
    by other means. `case` tells apart entries of one function.
    """

    fn: Callable[..., Any]
    make: Make
    wrt: tuple[int, ...] = (0,)
    oracle: Callable[..., Any] | None = None
    theme: str = ""
    part: str = "language"
    tolerance: float = 1e-6
    case: str = ""

    @property
    def name(self) -> str:
        return f"{self.theme}.{self.fn.__name__}{self.case and '_' + self.case}"

    def arguments(self, seed: int = 0) -> tuple[Any, ...]:
        """Fresh arguments, the same for the same seed."""
        return self.make(np.random.default_rng(seed))


def vector(n: int, low: float = -1.0, high: float = 1.0) -> Make:
    """One vector of n entries between low and high."""
    return lambda rng: (rng.uniform(low, high, n),)


def numbers(*ranges: tuple[float, float]) -> Make:
    """One Python float for each range."""
    return lambda rng: tuple(float(rng.uniform(low, high)) for low, high in ranges)
