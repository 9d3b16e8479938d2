"""Running a derivative while somebody watches: every call of an emitted function passes here.

A tracer puts an instrumented function in the place of the emitted one for as long as it watches,
so that it sees exactly the calls that the user's operator makes, with their arguments and seeds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

Watcher = Callable[[Any, Callable[..., Any]], Callable[..., Any]]
_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def replaced(derivation: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """What runs for a function of a derivation: the function itself unless somebody watches."""
    watcher = _WATCHER.get()
    return function if watcher is None else watcher(derivation, function)


@contextlib.contextmanager
def watching(watcher: Watcher | None) -> Iterator[None]:
    """`watcher(derivation, function)` says what runs in the place of emitted functions; None lets
    them run as they are, also within another watch."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


# ------------------------------------------------------------------- what is not finite

_FINDERS: list[Callable[..., None]] = []


def found_by(finder: Callable[..., None]) -> None:
    """`finder(derivation, args, kwargs)` raises where a result that is not finite begins."""
    _FINDERS[:] = [finder]


def raise_where_it_begins(derivation: Any, args: tuple[Any, ...], kwargs: Any) -> None:
    """The result of a call is not finite: raise at the operation at which that begins."""
    for finder in _FINDERS:
        finder(derivation, args, kwargs)
