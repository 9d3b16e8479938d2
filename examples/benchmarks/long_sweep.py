"""A long sweep with states in memory and on disk, stopped on the way and gone on with.

Prints for several numbers of states the rounds that are repeated, beside the fewest possible, the
states and bytes that go to disk, and the time; then what it costs to be stopped.

    python examples/benchmarks/long_sweep.py
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tangentlike as tl


def step(u: Any, rate: Any) -> Any:
    """A round of a heat equation with a source, explicit in time."""
    v = u.copy()
    v[1:-1] = u[1:-1] + rate * (u[:-2] - 2.0 * u[1:-1] + u[2:]) + 1e-3 * np.sin(u[1:-1])
    return v


def loss(u: Any) -> Any:
    return np.sum(u * u) / len(u)


class Stopped(Exception):
    """What ends a sweep on the way here; a kill does the same."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--size", type=int, default=250_000)
    options = parser.parse_args(argv)
    u, rounds = np.sin(np.linspace(0.0, 30.0, options.size)), options.rounds
    print(f"{rounds} rounds, states of {u.nbytes / 1e6:.1f} MB")
    print("| memory | disk | repeated | least | written | read | MB written | MB read | seconds |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder) / "sweep"
        for memory, disk in ((10, 0), (5, 25), (10, 100), (110, 0)):
            df = tl.sweep.grad(step, loss, to=to if disk else None, memory=memory, disk=disk)
            began = time.perf_counter()
            found.append(df(u, 0.2, rounds))
            seconds, said = time.perf_counter() - began, df.report
            row = (memory, disk, said.repeated, said.least_repeated, said.states_written)
            sizes = (said.bytes_written / 1e6, said.bytes_read / 1e6)
            print(
                f"| {' | '.join(f'{n:,}' for n in (*row, said.states_read))} "
                f"| {sizes[0]:,.0f} | {sizes[1]:,.0f} | {seconds:.1f} |"
            )
        stopped(to, u, rounds, found[0])
    for u_bar, rate_bar in found[1:]:
        np.testing.assert_allclose(u_bar, found[0][0], rtol=1e-12)
        np.testing.assert_allclose(rate_bar, found[0][1], rtol=1e-12)
    return 0


def stopped(to: Path, u: Any, rounds: int, expected: Any) -> None:
    """Stopped in the middle of the way back, and gone on with."""

    def stop(phase: str, done: int, of: int) -> None:
        if phase == "backward" and done == of // 2:
            raise Stopped(phase)

    options: dict[str, Any] = {"to": to, "memory": 10, "disk": 100, "save_every": 1.0}
    with contextlib.suppress(Stopped):
        tl.sweep.grad(step, loss, progress=stop, **options)(u, 0.2, rounds)
    df = tl.sweep.grad(step, loss, **options)
    u_bar, _ = df(u, 0.2, rounds)
    np.testing.assert_allclose(u_bar, expected[0], rtol=1e-12)
    said = df.report
    print(
        f"stopped half the way back, gone on at {said.resumed_at}: {said.reversed} rounds "
        f"reversed, {said.advanced} run"
    )


if __name__ == "__main__":
    raise SystemExit(main())
