"""Gradients over chunks on 1, 2 and 4 workers: what is computed, what is overhead, and what a tree
of a thousand workers would do.

Measures on this machine the constants that docs/scale.md calculates with (a task, a transfer, an
addition, a chunk), runs a logistic regression and an ensemble of pendulums, loses a worker, goes
through more data than a worker may hold, and simulates the reduction tree.

    python examples/benchmarks/scale.py
    python examples/benchmarks/scale.py --only simulation --workers 1000
"""

from __future__ import annotations

import argparse
import heapq
import os
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import tangentlike as tl

# ------------------------------------------------------------------------------ what is run

COLUMNS, STEPS = 50, 1000


def block(k: int, rows: int) -> Any:
    """A chunk of data, the same each time it is made: features, and labels in the last column."""
    rng = np.random.default_rng(k)
    x = rng.random((rows, COLUMNS + 1)) - 0.5
    x[:, -1] = np.sign(x[:, 0] - 0.5 * x[:, 1] + 0.1 * x[:, 2])
    return x


def fatal_block(k: int, rows: int, mark: str) -> Any:
    """The same; the worker that makes the third one first is killed."""
    if k == 3 and not os.path.exists(mark):
        Path(mark).write_text("killed")
        os.kill(os.getpid(), signal.SIGKILL)
    return block(k, rows)


def logistic(w: Any, data: Any) -> Any:
    """The loss of a logistic regression, ten times smaller where the data say little."""
    z = data[:, -1] * (data[:, :-1] @ w)
    return np.sum(np.log1p(np.exp(-z)))


def pendulum(start: Any, damping: Any, rounds: int) -> Any:
    """The squared angle of one pendulum after many steps."""
    q, v = start[0], start[1]
    for _ in range(rounds):
        v = v - 0.01 * (np.sin(q) + damping * v)
        q = q + 0.01 * v
    return q * q


# ------------------------------------------------------------------------------ constants


@dataclass(frozen=True)
class Constants:
    """Seconds for a task (of the scheduler, and in all), for a message, for a chunk; bytes a second
    between workers and added up; bytes of a gradient."""

    scheduler: float
    task: float
    latency: float
    bandwidth: float
    addition: float
    chunk: float
    gradient: float


def cluster(workers: int, **options: Any) -> Any:
    """Worker processes of one thread each on this machine."""
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=40, **options
    )


def nothing(k: int) -> int:
    return k


def moved(array: Any) -> float:
    return float(array[0])


def clocked(run: Callable[[], Any]) -> float:
    """Seconds of one run, the better of two."""
    found = []
    for _ in range(2):
        began = time.perf_counter()
        run()
        found.append(time.perf_counter() - began)
    return min(found)


def measured(rows: int) -> Constants:
    """The constants of this machine."""
    from dask import compute, delayed
    from distributed import Client

    with cluster(2) as workers, Client(workers) as client:
        names = list(client.scheduler_info()["workers"])
        tasks = 500
        several = clocked(lambda: compute([delayed(nothing)(k) for k in range(tasks)])) / tasks
        message = clocked(lambda: client.submit(nothing, 0, pure=False).result())
        size = 4_000_000
        seconds = []
        for _ in range(3):
            part = client.submit(np.ones, size, workers=names[:1], pure=False)
            part.result()
            began = time.perf_counter()
            client.submit(moved, part, workers=names[1:], pure=False).result()
            seconds.append(time.perf_counter() - began)
        transfer = min(seconds)  # (with the message: on the safe side)
    data, w = block(0, rows), np.zeros(COLUMNS)
    gradient = tl.value_and_grad(logistic)
    chunk = clocked(lambda: gradient(w, block(0, rows)))
    one, other = np.ones(size), np.ones(size)
    addition = clocked(lambda: one + other)
    return Constants(
        scheduler=several,
        task=message,
        latency=message / 2,
        bandwidth=8 * size / transfer,
        addition=8 * size / addition,
        chunk=chunk,
        gradient=float(data[0, :-1].nbytes),
    )


# ------------------------------------------------------------------------------ the simulation


def simulated(
    chunks: int, workers: int, constants: Constants, fan_in: int = 8
) -> tuple[float, float, float]:
    """Seconds until the sum of all chunks is there, the share of them in which a worker computes
    chunks, and bytes moved.

    The scheduler gives out one task after the other. A sum runs on the next worker that is free, as
    soon as all its parts are there and before new chunks; parts are sent to it one by one.
    """
    groups, above = tree(chunks, fan_in)
    missing = [len(parts) for parts in groups]
    place: dict[int, int] = {}
    free = [(0.0, worker) for worker in range(workers)]
    busy, given, moved_bytes, next_chunk, now = 0.0, 0.0, 0.0, 0, 0.0
    ready: list[tuple[int, int]] = []
    running: list[tuple[float, int, int]] = []
    done_at: dict[int, float] = {}
    while len(done_at) < len(groups):
        while free and (ready or next_chunk < chunks):
            began, worker = heapq.heappop(free)
            if ready:
                _, node = heapq.heappop(ready)
                parts = groups[node]
                away = [part for part in parts if place[part] != worker]
                moved_bytes += len(away) * constants.gradient
                seconds = (
                    len(away) * (constants.latency + constants.gradient / constants.bandwidth)
                    + (len(parts) - 1) * constants.gradient / constants.addition
                )
            else:
                node, next_chunk = next_chunk, next_chunk + 1
                seconds = constants.chunk
                busy += seconds
            given = max(given, began, now) + constants.scheduler
            heapq.heappush(running, (given + seconds, node, worker))
        now, node, worker = heapq.heappop(running)
        done_at[node], place[node] = now, worker
        heapq.heappush(free, (now, worker))
        parent = above.get(node)
        if parent is not None:
            missing[parent] -= 1
            if not missing[parent]:
                heapq.heappush(ready, (-parent, parent))
    return now, busy / (now * workers), moved_bytes


def tree(chunks: int, fan_in: int) -> tuple[list[list[int]], dict[int, int]]:
    """The nodes of the plan, chunks first, each with the parts that it sums; and the node above."""
    groups: list[list[int]] = [[] for _ in range(chunks)]
    above: dict[int, int] = {}
    level = list(range(chunks))
    while len(level) > 1:
        following = []
        for k in range(0, len(level), fan_in):
            parts = level[k : k + fan_in]
            if len(parts) == 1:
                following += parts
                continue
            node = len(groups)
            groups.append(parts)
            above.update(dict.fromkeys(parts, node))
            following.append(node)
        level = following
    return groups, above


def estimated(chunks: int, workers: int, constants: Constants, fan_in: int = 8) -> float:
    """The same by a formula: what limits the chunks, and then the way up the tree."""
    tasks = chunks * fan_in / (fan_in - 1)
    per_part = constants.latency + constants.gradient / constants.bandwidth
    per_part += constants.gradient / constants.addition
    levels = np.ceil(np.log(max(chunks, 2)) / np.log(fan_in))
    sums = (tasks - chunks) * fan_in * per_part / workers
    work = np.ceil(chunks / workers) * constants.chunk + sums
    return float(max(tasks * constants.scheduler, work) + levels * (fan_in - 1) * per_part)


def show_simulation(constants: Constants, most: int) -> None:
    """Workers from one to `most`, 16 chunks for each; a small and a large gradient."""
    print("\nThe reduction tree, simulated: 16 chunks for each worker, a chunk of 1 s")
    print(
        "| gradient | workers | chunks | ideal s | simulated s | formula s | computing | GB moved |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, size in (("400 B", 400.0), ("8 MB", 8e6), ("800 MB", 8e8)):
        for workers in (1, 10, 100, most):
            case = replace(constants, chunk=1.0, gradient=size)
            chunks = 16 * workers
            seconds, share, sent = simulated(chunks, workers, case)
            print(
                f"| {name} | {workers:,} | {chunks:,} | 16.0 | {seconds:.1f} "
                f"| {estimated(chunks, workers, case):.1f} | {share:.0%} | {sent / 1e9:,.1f} |"
            )


# ------------------------------------------------------------------------------ the runs


def untouched(data: Any) -> float:
    """What Dask does alone: the chunks are made, and nothing is computed of them."""
    return float(data[0, 0])


def show_runs(constants: Constants, chunks: int, rows: int, members: int) -> None:
    """Both programs on 1, 2 and 4 workers, and in this process without Dask."""
    from dask import compute, delayed
    from distributed import Client

    w = np.linspace(-0.1, 0.1, COLUMNS)
    starts = np.random.default_rng(0).standard_normal((members, 2))
    regression = tl.dask.grad(logistic, over="data")
    ensemble = tl.dask.map_grad(pendulum, over="start", members=max(1, members // 16))
    plain = tl.grad(logistic), tl.grad(pendulum)
    expected = sum(plain[0](w, block(k, rows)) for k in range(chunks))
    alone = [
        clocked(lambda: [plain[0](w, block(k, rows)) for k in range(chunks)]),
        clocked(lambda: [plain[1](start, 0.1, STEPS) for start in starts]),
    ]
    mb = chunks * rows * (COLUMNS + 1) * 8 / 1e6
    print(f"\nLogistic regression on {mb:,.0f} MB in {chunks} chunks; {members} pendulums")
    print(f"({STEPS} steps each; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")
    print("| workers | regression s | ratio | of that Dask | simulated s | pendulums s | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    print(f"| none: a loop | {alone[0]:.2f} | 1.0 | | | {alone[1]:.2f} | 1.0 |")
    for name, peer in {"PyTorch": by_torch, "JAX, compiled": by_jax}.items():
        seconds = peer(w, chunks, rows, starts, expected)
        if seconds is not None:
            ratios = [f"{t:.2f} | {a / t:.2f}" for t, a in zip(seconds, alone, strict=True)]
            print(f"| none: {name}, one process | {ratios[0]} | | | {ratios[1]} |")
    for count in (1, 2, 4):
        with cluster(count) as workers, Client(workers):

            def data() -> list[Any]:
                """New blocks, so that none is there already."""
                return [delayed(block)(k, rows) for k in range(chunks)]

            np.testing.assert_allclose(regression(w, data()), expected, rtol=1e-10)
            ensemble(starts[:16], 0.1, STEPS)
            both = (
                clocked(lambda data=data: regression(w, data())),  # type: ignore[misc]
                clocked(lambda: ensemble(starts, 0.1, STEPS)),
                clocked(lambda data=data: compute([delayed(untouched)(x) for x in data()])),
            )
        simulation, *_ = simulated(chunks, count, constants)
        print(
            f"| {count} | {both[0]:.2f} | {alone[0] / both[0]:.2f} | {both[2]:.2f} "
            f"| {simulation:.2f} "
            f"| {both[1]:.2f} | {alone[1] / both[1]:.2f} |"
        )


def by_torch(w: Any, chunks: int, rows: int, starts: Any, expected: Any) -> Any:
    """Seconds of the same in PyTorch, one thread; None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)

    def regression() -> Any:
        weights = torch.tensor(w, requires_grad=True)
        for k in range(chunks):
            data = torch.from_numpy(block(k, rows))
            z = data[:, -1] * (data[:, :-1] @ weights)
            torch.sum(torch.log1p(torch.exp(-z))).backward()
        return weights.grad.numpy()

    def pendulums() -> None:
        for start in starts:
            given = torch.tensor(start, requires_grad=True)
            q, v = given[0], given[1]
            for _ in range(STEPS):
                v = v - 0.01 * (torch.sin(q) + 0.1 * v)
                q = q + 0.01 * v
            (q * q).backward()

    np.testing.assert_allclose(regression(), expected, rtol=1e-10)
    return clocked(regression), clocked(pendulums)


def by_jax(w: Any, chunks: int, rows: int, starts: Any, expected: Any) -> Any:
    """Seconds of the same in JAX, compiled before it is clocked, the loop of a pendulum as
    `fori_loop` and all pendulums at once by `vmap`; None where it is not installed."""
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)

    @jax.jit
    @jax.grad
    def of_chunk(weights: Any, data: Any) -> Any:
        z = data[:, -1] * (data[:, :-1] @ weights)
        return jax.numpy.sum(jax.numpy.log1p(jax.numpy.exp(-z)))

    def regression() -> Any:
        return np.asarray(sum(of_chunk(w, block(k, rows)) for k in range(chunks)))

    def angle(start: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            q, v = state
            v = v - 0.01 * (jax.numpy.sin(q) + 0.1 * v)
            return q + 0.01 * v, v

        q, _ = jax.lax.fori_loop(0, STEPS, step, (start[0], start[1]))
        return q * q

    ensemble = jax.jit(jax.vmap(jax.grad(angle)))
    np.testing.assert_allclose(regression(), expected, rtol=1e-10)
    ensemble(starts).block_until_ready()
    return clocked(regression), clocked(lambda: ensemble(starts).block_until_ready())


def show_limits(rows: int) -> None:
    """More data than a worker may hold; and a worker that is killed."""
    from dask import delayed
    from distributed import Client

    w = np.linspace(-0.1, 0.1, COLUMNS)
    regression = tl.dask.grad(logistic, over="data")
    limit, size = 400e6, rows * (COLUMNS + 1) * 8
    chunks = int(2.5 * limit / size)
    expected = sum(tl.grad(logistic)(w, block(k, rows)) for k in range(chunks))
    with cluster(1, memory_limit=int(limit)) as workers, Client(workers) as client:
        found = regression(w, [delayed(block)(k, rows) for k in range(chunks)])
        np.testing.assert_allclose(found, expected, rtol=1e-10)
        (most,) = client.run(peak_memory).values()
    print(
        f"\n{chunks * size / 1e6:,.0f} MB of data through one worker that may hold "
        f"{limit / 1e6:,.0f} MB: it held {most / 1e6:,.0f} MB at most, with Python itself"
    )
    with tempfile.TemporaryDirectory() as folder, cluster(2) as workers, Client(workers):
        mark = os.path.join(folder, "killed")
        found = regression(w, [delayed(fatal_block)(k, rows, mark) for k in range(chunks)])
        np.testing.assert_allclose(found, expected, rtol=1e-10)
        assert os.path.exists(mark)
    print("A worker killed on the way: the gradient is the same")


def peak_memory() -> int:
    """The most that this process has held (of Linux, which says so)."""
    words = Path("/proc/self/status").read_text().split()
    return int(words[words.index("VmHWM:") + 1]) * 1024


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=["simulation", "runs", "limits"])
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--chunks", type=int, default=16)
    parser.add_argument("--members", type=int, default=160)
    parser.add_argument("--workers", type=int, default=1000)
    options = parser.parse_args(argv)
    constants = Constants(3e-4, 3e-3, 1.5e-3, 5e8, 2e9, 0.05, 400.0)
    if options.only != "simulation":
        constants = measured(options.rows)
        print("Constants of this machine:")
        for name, value in vars(constants).items():
            print(f"  {name:10} {value:.3g}")
    if options.only in (None, "simulation"):
        show_simulation(constants, options.workers)
    if options.only in (None, "runs"):
        show_runs(constants, options.chunks, options.rows, options.members)
    if options.only in (None, "limits"):
        show_limits(min(options.rows, 40_000))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
