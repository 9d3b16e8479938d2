"""`functools.cache`, of a function that goes to another process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

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
