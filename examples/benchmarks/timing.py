"""Timing in turns: every contender once a round, the fastest round counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any


def seconds_of(fn: Callable[..., Any], args: tuple[Any, ...], number: int) -> float:
    """Seconds of one of `number` calls in a row."""
    started = time.perf_counter()
    for _ in range(number):
        fn(*args)
    return (time.perf_counter() - started) / number


def fastest(
    contenders: Mapping[str, Callable[..., Any]],
    args: tuple[Any, ...],
    repeats: int,
    round_seconds: float = 0.03,
) -> dict[str, float]:
    """The least seconds of a call for each contender.

    Turns are interleaved, so that a disturbance of the machine meets all contenders alike.
    """
    numbers = {
        name: max(1, int(round_seconds / seconds_of(fn, args, 1)))
        for name, fn in contenders.items()
    }
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, fn in contenders.items():
            best[name] = min(best[name], seconds_of(fn, args, numbers[name]))
    return best
