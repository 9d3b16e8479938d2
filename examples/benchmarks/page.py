"""Makes docs/benchmarks.md: value and gradient of the programs of kernels.py, side by side.

Every contender is checked against ours before it is timed, in turns, in processor time. HIPS
autograd, JAX (jitted) and PyTorch are measured where they are installed and run the program, under
their own `np`; JAX runs some as jax_kernels.py has them. "-" stands where they do not.

    python examples/benchmarks/page.py                       # prints the page
    python examples/benchmarks/page.py --write docs/benchmarks.md   # and its picture (matplotlib)
    python examples/benchmarks/page.py --only garch,kalman --repeats 3
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import platform
import sys
import tempfile
import textwrap
import time
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import tangentlike as tl

sys.path.insert(0, str(Path(__file__).resolve().parent))
import handwritten_kernels
from kernels import KERNELS, Kernel
from peers import changed_lines, under, with_jax, with_torch

LOOPS = ("garch", "smoothing", "coulomb_loops", "double_pendulum")  # (over entries)
COLUMNS = ("hand-written", "ours", "ours, example=", "ours, Numba", "autograd", "JAX", "PyTorch")


def contenders(name: str, kernel: Kernel, args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """What computes value and gradient, by the name of its column."""
    wrt = tuple(range(kernel.count))
    found: dict[str, Callable[[], Any]] = {}

    def add(label: str, call: Any) -> None:
        found[label] = lambda: call(*own(args))

    if hasattr(handwritten_kernels, name):
        add("hand-written", getattr(handwritten_kernels, name))
    add("ours", tl.value_and_grad(kernel.fn, wrt=wrt))
    add("ours, example=", tl.value_and_grad(kernel.fn, wrt=wrt, example=args))
    add("ours, Numba", tl.value_and_grad(kernel.fn, wrt=wrt, target="numba"))
    with contextlib.suppress(ImportError):
        import autograd
        import autograd.numpy as anp

        add("autograd", autograd.value_and_grad(under(kernel.fn, anp), wrt))
    with contextlib.suppress(ImportError):
        found["JAX"] = with_jax(name, kernel, args)
    with contextlib.suppress(ImportError):
        found["PyTorch"] = with_torch(kernel, args)
    return found


def own(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies, for programs that write their arguments."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def agrees(call: Callable[[], Any], want: Any) -> bool:
    """Whether a contender runs the program and finds the same; it is warm afterwards.

    The gradient by a symmetric matrix, of which one triangle is read, counts as the same where its
    symmetric part is: libraries spread it over both.
    """
    try:
        value, gradient = call()
        gradient = gradient if isinstance(gradient, (tuple, list)) else (gradient,)
        pairs = list(zip((value, *gradient), (want[0], *want[1]), strict=True))
        return all(_alike(np.asarray(a), np.asarray(b)) for a, b in pairs)
    except Exception:  # (what another library says of a program that it does not run)
        return False


def _alike(a: Any, b: Any) -> bool:
    square = b.ndim == 2 and b.shape[0] == b.shape[1]
    near = {"rtol": 1e-6, "atol": 1e-8}
    return np.allclose(a, b, **near) or (square and np.allclose(a + a.T, b + b.T, **near))


def _once(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def seconds(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The least processor time of a call of each, in turns."""
    counts = {}
    for name, call in calls.items():
        least = min(_once(call) for _ in range(5))  # (one call may be disturbed)
        counts[name] = max(1, int(0.02 / max(least, 1e-6)))
    best = dict.fromkeys(calls, math.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            began = time.process_time()
            for _ in range(counts[name]):
                call()
            best[name] = min(best[name], (time.process_time() - began) / counts[name])
    return best


def peak(call: Callable[[], Any]) -> int:
    """The most memory that a call takes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def measured(name: str, kernel: Kernel, repeats: int) -> dict[str, float]:
    """Seconds of the primal, of each contender, of ours from its first call; bytes at the peak."""
    args = kernel.given(np.random.default_rng(1))
    began = time.process_time()
    first = tl.value_and_grad(kernel.fn, wrt=tuple(range(kernel.count)))
    want = first(*own(args))
    found = {"first": time.process_time() - began}
    calls: dict[str, Callable[[], Any]] = {"primal": lambda: kernel.fn(*own(args))}
    for label, call in contenders(name, kernel, args).items():
        began = time.process_time()
        if agrees(call, want):
            calls[label], found[f"first {label}"] = call, time.process_time() - began
    found.update(seconds(calls, repeats))
    found["peak"] = peak(calls["ours"]) / max(1, peak(calls["primal"]))
    return found


def mean(values: Iterable[float]) -> float:
    """The geometric mean."""
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def shown(ratio: float) -> str:
    """A mean, where anything was measured."""
    return "-" if math.isnan(ratio) else f"{ratio:.2f}"


Rows = dict[str, dict[str, float]]  # what was measured, by program


def page(rows: Rows, busy: bool = False) -> str:
    """The text of the page; it says so where the machine was `busy` with other work."""
    head = ("program", "kind", "primal", *COLUMNS, "first call", "memory")
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name, row in rows.items():
        times = [f"{row[c] / row['primal']:.2f}" if c in row else "-" for c in COLUMNS]
        cells = (f"{1e3 * row['primal']:.2f} ms", *times, f"{1e3 * row['first']:.0f} ms")
        lines.append(
            f"| `{name}` | {KERNELS[name].theme} | {' | '.join(cells)} | {row['peak']:.1f} |"
        )
    means = [mean(r[c] / r["primal"] for r in rows.values() if c in r) for c in COLUMNS]
    lines.append(f"| geometric mean | | | {' | '.join(map(shown, means))} | | |")
    ours = {c: mean(r[c] / r["ours, example="] for r in rows.values() if c in r) for c in COLUMNS}
    beside = ", ".join(f"{c} {m:.2f}" for c, m in ours.items() if c != "ours, example=" and m == m)
    faster = [
        mean(r["JAX"] / r["ours, Numba"] for r in chosen if "JAX" in r and "ours, Numba" in r)
        for chosen in (rows.values(), [rows[name] for name in LOOPS if name in rows])
    ]
    firsts = {
        label: mean(r[f"first {label}"] for r in rows.values() if f"first {label}" in r)
        for label in ("ours, Numba", "autograd", "JAX", "PyTorch")
    }
    return HEAD.format(
        count=len(rows),
        firsts=", ".join(f"{label} {t:.2f} s" for label, t in firsts.items() if t == t),
        rewritten=_rewritten(rows, faster),
        machine=f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}",
        busy=", on a machine that was busy with other work" if busy else "",
        table="\n".join(lines),
        beside=beside,
    )


HEAD = """# Benchmarks

Value and gradient of {count} programs in plain NumPy (`examples/benchmarks/kernels.py`), as
multiples of the processor time that the function alone takes ({machine}, one thread{busy}).
`python examples/benchmarks/page.py --write docs/benchmarks.md` makes this page. "-": not
measured, or the program does not run there as it stands. "First call" is what it takes to make and
run the derivative once, "memory" the peak of ours over that of the function.

{table}

![The times of the table, one line a program](images/benchmarks.png)

On the programs that both run, each contender's time over ours with `example=` (geometric mean):
{beside}.
The first call of a contender, compilation included, takes (geometric mean): {firsts}.
{rewritten}
"""


def _rewritten(names: Iterable[str], faster: list[float]) -> str:
    """Which programs JAX runs in a form of its own, and how much longer it takes than Numba."""
    if math.isnan(faster[0]):
        return ""
    lines = {name: n for name, n in changed_lines().items() if name in names}
    listed = textwrap.fill(", ".join(f"`{name}` {n}" for name, n in lines.items()), 100)
    return f"""
JAX's time over ours with Numba is {shown(faster[0])} (geometric mean), on the loops over entries
({", ".join(LOOPS)}) {shown(faster[1])}. JAX runs these programs as
`examples/benchmarks/jax_kernels.py` has them, with so many lines new or changed:
{listed}.
PyTorch runs the programs as they stand, or not at all."""


MARKS = {
    **{"hand-written": "k|", "ours, example=": "C0o", "ours, Numba": "C0*"},
    **{"autograd": "C1s", "JAX": "C2D", "PyTorch": "C3^"},
}


def draw(rows: Rows, path: Path) -> None:
    """The times over that of the function, one line a program."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.0, 0.5 + 0.2 * len(rows)), layout="constrained")
    for label, mark in MARKS.items():
        points = [(r[label] / r["primal"], k) for k, r in enumerate(rows.values()) if label in r]
        if points:
            size = 9.0 if mark.endswith("|") else 5.0
            axes.plot(*zip(*points, strict=True), mark, label=label, markersize=size, alpha=0.8)
    axes.set(xscale="log", xlabel="value and gradient, as multiples of the function's time")
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=6, fontsize=7, frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def measure(names: Iterable[str], repeats: int) -> Rows:
    """What the page shows of some programs."""
    return {name: measured(name, KERNELS[name], repeats) for name in names}


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="names of programs, with commas")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--busy", action="store_true", help="the machine has other work")
    parser.add_argument("--write", type=Path, help="the page to write")
    chosen = parser.parse_args()
    names = [name for name in chosen.only.split(",") if name] or list(KERNELS)
    with tempfile.TemporaryDirectory() as folder:  # (nothing was compiled before)
        os.environ["TANGENTLIKE_CACHE_DIR"] = folder
        rows = measure(names, chosen.repeats)
    text = page(rows, chosen.busy)
    if chosen.write is None:
        print(text)
    else:
        chosen.write.write_text(text)
        draw(rows, chosen.write.parent / "images" / "benchmarks.png")


if __name__ == "__main__":
    main()
