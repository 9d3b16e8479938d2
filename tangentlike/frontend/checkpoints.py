"""`checkpoint` and `checkpointed`: what a user writes where the reverse sweep shall compute again
instead of keeping. Both are identities: a program that uses them means the same without us.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import TangentlikeError
from .owners import mark, mark_of
from .signatures import plain_signature

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def checkpoint(fn: F) -> F:
    """`fn`, whose calls the reverse sweep runs again instead of keeping what happens in them.

    Also a decorator. What the function prints is printed again.

    Parameters
    ----------
    fn : callable
        A function or method written in Python. The forward sweep keeps the arguments of its calls,
        and copies of those that it writes.

    Returns
    -------
    callable
        A function that does what `fn` does, with the same parameters.

    Raises
    ------
    TangentlikeError
        if `fn` is not written in Python.

    Examples
    --------
    >>> @checkpoint
    ... def step(x):
    ...     return x * x
    >>> step(3.0)
    9.0
    >>> import math
    >>> checkpoint(math.hypot)
    Traceback (most recent call last):
    ...
    tangentlike.errors.TangentlikeError: checkpoint takes a function written in Python
    Wrap the call in a function: def step(x): return hypot(x)
    """
    if inspect.ismethod(fn):  # (what its object holds may carry derivatives)
        return functools.partial(checkpoint(fn.__func__), fn.__self__)  # type: ignore[return-value]
    if not inspect.isfunction(fn):
        name = getattr(fn, "__name__", "step")
        raise TangentlikeError(
            "checkpoint takes a function written in Python",
            hint=f"Wrap the call in a function: def step(x): return {name}(x)",
        )

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    mark(call, checkpoint=fn, signature=plain_signature(fn))
    return call  # type: ignore[return-value]


def inside_checkpoint(fn: Any) -> Any:
    """The function that `checkpoint` was given, None for anything else."""
    return mark_of(fn, "checkpoint")


def checkpointed(
    rounds: T,
    *,
    every: int | None = None,
    snapshots: int | None = None,
    schedule: str | None = None,
    to: str | os.PathLike[str] | None = None,
) -> T:
    """`rounds` itself: says that the reverse sweep shall run the rounds of a loop again.

    Parameters
    ----------
    rounds : iterable or bool
        What a `for` loop runs over, `for t in checkpointed(range(n), every=k)`, or the test of a
        `while` loop, whose length is not known: `while checkpointed(test, snapshots=c)`.
    every : int, optional
        Keeps the state at every k-th round, and one stretch of k rounds at a time in full.
    snapshots : int, optional
        Keeps this number of states and computes as little as possible again (binomial schedule).
    schedule : {"sqrt"}, optional
        Chooses k = sqrt(n); the default.
    to : path or "disk", optional
        A directory that the states are written to, or "disk" for a temporary one.

    Returns
    -------
    Any
        `rounds`.

    Raises
    ------
    TangentlikeError
        if more than one of `every`, `snapshots` and `schedule` is given, or one below 1.

    Examples
    --------
    >>> list(checkpointed(range(3), every=2))
    [0, 1, 2]
    """
    given = [name for name, value in (("every", every), ("snapshots", snapshots),
                                      ("schedule", schedule)) if value is not None]  # fmt: skip
    if len(given) > 1:
        raise TangentlikeError(
            f"checkpointed got {' and '.join(given)}",
            hint="Give one of every=, snapshots= and schedule=.",
        )
    if schedule not in (None, "sqrt"):
        raise TangentlikeError(
            f"there is no schedule {schedule!r}",
            hint='Write schedule="sqrt", or give every= or snapshots=.',
        )
    for name, value in (("every", every), ("snapshots", snapshots)):
        if value is not None and value < 1:
            raise TangentlikeError(
                f"checkpointed got {name}={value}", hint=f"{name} is at least 1."
            )
    return rounds
