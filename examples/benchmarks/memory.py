"""Peak memory and repeated rounds of the gradient of a long loop, for each way to keep states.

The loop makes 10,000 rounds of a nonlinear recurrence on a state of 100 kB. Peak memory is what
tracemalloc sees beyond the arguments; rounds are counted by a rule that counts.

    python examples/benchmarks/memory.py
    python examples/benchmarks/memory.py --rounds 1000
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np
from report import print_table

import tangentlike as tl

RAN = 0


def step(h: np.ndarray) -> np.ndarray:
    """One round; how often it runs is counted."""
    global RAN
    RAN += 1
    return h + 0.1 * np.sin(h)


@tl.rule(step)
def _step(y, h):  # type: ignore[no-untyped-def]
    y_dot = h_dot + 0.1 * np.cos(h) * h_dot  # noqa: F821, F841
    h_bar = y_bar + 0.1 * np.cos(h) * y_bar  # noqa: F821, F841


def store_all(h: np.ndarray, rounds: int) -> Any:
    for _ in range(rounds):
        h = step(h)
    return np.sum(h * h)


def every_1000(h: np.ndarray, rounds: int) -> Any:
    for _ in tl.checkpointed(range(rounds), every=1000):
        h = step(h)
    return np.sum(h * h)


def square_root(h: np.ndarray, rounds: int) -> Any:
    for _ in tl.checkpointed(range(rounds), schedule="sqrt"):
        h = step(h)
    return np.sum(h * h)


def binomial(h: np.ndarray, rounds: int, snapshots: int) -> Any:
    for _ in tl.checkpointed(range(rounds), snapshots=snapshots):
        h = step(h)
    return np.sum(h * h)


def unknown_length(h: np.ndarray, rounds: int, snapshots: int) -> Any:
    made = 0
    while tl.checkpointed(made < rounds, snapshots=snapshots):
        h = step(h)
        made = made + 1
    return np.sum(h * h)


def on_disk(h: np.ndarray, rounds: int) -> Any:
    for _ in tl.checkpointed(range(rounds), schedule="sqrt", to="disk"):
        h = step(h)
    return np.sum(h * h)


def least_rounds(rounds: int, snapshots: int) -> int:
    """Rounds that any schedule repeats at least (Griewank and Walther 2000), beside the rounds of
    the primal sweep and one run of each round when it is reversed."""
    r = 0
    while comb(snapshots + r, snapshots) < rounds:
        r += 1
    return r * rounds - comb(snapshots + r, r - 1) - (rounds - 1)


def measured(fn: Callable[..., Any], *args: Any) -> tuple[int, int, float, np.ndarray]:
    """Peak bytes, rounds run, seconds (without tracing) and the gradient."""
    global RAN
    gradient = tl.grad(fn)
    RAN = 0
    started = time.perf_counter()
    found = gradient(*args)
    seconds, ran = time.perf_counter() - started, RAN
    gc.collect()
    tracemalloc.start()
    gradient(*args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, ran, seconds, found


def rows(rounds: int, size: int) -> list[list[str]]:
    h = np.random.default_rng(0).uniform(0.2, 1.0, size)
    cases: list[tuple[str, Callable[..., Any], tuple[Any, ...], int | None]] = [
        ("store all", store_all, (), None),
        ("every=1000", every_1000, (), None),
        ('schedule="sqrt"', square_root, (), None),
        ('schedule="sqrt", to="disk"', on_disk, (), None),
        *((f"snapshots={c}", binomial, (c,), least_rounds(rounds, c)) for c in (10, 30, 100)),
        *((f"while, snapshots={c}", unknown_length, (c,), None) for c in (10, 30, 100)),
    ]
    table, reference = [], None
    for name, fn, more, least in cases:
        peak, ran, seconds, gradient = measured(fn, h, rounds, *more)
        reference = gradient if reference is None else reference
        if not np.array_equal(gradient, reference):
            raise AssertionError(f"{name}: the gradient differs from that of store all")
        again = 0 if fn is store_all else ran - 2 * rounds
        if least is not None and again != least:
            raise AssertionError(f"{name}: {again} rounds repeated, {least} are enough")
        states = f"{peak / h.nbytes:,.0f}"
        table.append(
            [name, f"{peak / 1e6:,.1f}", states, f"{ran:,}", f"{again:,}", f"{seconds:.1f}"]
        )
    return table


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=12_500, help="numbers in the state")
    options = parser.parse_args(argv)
    columns = ("what is kept", "peak MB", "peak / state", "rounds run", "repeated", "seconds")
    title = f"{options.rounds:,} rounds on a state of {options.size * 8 / 1e6:.1f} MB"
    print_table(title, columns, rows(options.rounds, options.size))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
