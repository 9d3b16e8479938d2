"""What the memory of new arrays costs: gradients as they are, with `reuse=True`, with
`tl.keep_memory()`, and with both.

python examples/benchmarks/buffers.py
python examples/benchmarks/buffers.py 50 400    (sizes of an array, in KiB)
"""

# The programs stand as a user would write them, without annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import tangentlike as tl

sys.path.insert(0, str(Path(__file__).resolve().parent))
from page import seconds


def fit(a, b, x, y):
    """An elementwise chain."""
    r = a * np.exp(-b * x) - y
    return np.sum(r**2) / r.size


def layer(x, g, b, w):
    """A normalised layer with a smooth activation."""
    m = x.mean(-1, keepdims=True)
    s = np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)
    z = (x - m) / s * g + b
    a = z * 0.5 * (1.0 + np.tanh(0.79 * (z + 0.044 * z**3)))
    return np.sum((a - w) ** 2)


def attention(q, k, v):
    """Products of matrices between elementwise operations."""
    s = q @ k.T / np.sqrt(q.shape[1])
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return np.sum((e / e.sum(axis=1, keepdims=True) @ v) ** 2)


def heat(u, k, steps):
    """A stencil in place."""
    for _ in range(steps):
        u = u.copy()
        u[1:-1] += k * (u[2:] + u[:-2] - 2.0 * u[1:-1])
    return np.sum(u**2)


def recurrent(x, w, steps):
    """An elementwise chain in a loop."""
    for _ in range(steps):
        x = np.tanh(w * x + 0.1)
    return np.sum(x**2)


def programs(kib: int):
    """The programs, each with arguments whose arrays (of `attention`: what is between) take about
    so many KiB."""
    r, n = np.random.default_rng(0), 128 * kib
    rows, side = r.random((max(n // 128, 2), 128)), int(n**0.5)
    return {
        "fit": (fit, (1.3, 0.4, r.random(n), r.random(n)), ("a", "b")),
        "layer": (layer, (rows, r.random(128), r.random(128), r.random(rows.shape)), (0, 1, 2)),
        "attention": (attention, tuple(r.random((3, side, 64))), (0, 1, 2)),
        "heat": (heat, (r.random(n), 0.1, 10), (0, 1)),
        "recurrent": (recurrent, (r.random(n), r.random(n), 10), (0, 1)),
    }


def measured(sizes: list[int], keeps: bool) -> list[list[float]]:
    """Seconds of each gradient, as it is and with `reuse=True`, by size and program."""
    if keeps and not tl.keep_memory():
        sys.exit("this C library does not say how much memory it keeps")
    found = []
    for kib in sizes:
        for fn, args, wrt in programs(kib).values():
            calls = {
                str(reuse): functools.partial(tl.grad(fn, wrt=wrt, reuse=reuse), *args)
                for reuse in (False, True)
            }
            for call in calls.values():
                call()
            found.append(list(seconds(calls, 7).values()))
    return found


def main(sizes: list[int]) -> None:
    """Print the times, each setting of the C library in a process of its own."""
    both = []
    for keeps in ("False", "True"):
        command = [sys.executable, __file__, "--keeps", keeps, *map(str, sizes)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        both.append(json.loads(run.stdout))
    print("| size of an array | program | as it is | `reuse=True` | `keep_memory` | both |")
    print("|---|---|---:|---:|---:|---:|")
    names = [(kib, name) for kib in sizes for name in programs(1)]
    for (kib, name), left, kept in zip(names, *both, strict=True):
        shown = (f"{1e3 * time:.2f} ms" for time in (*left, *kept))
        print(f"| {kib} KiB | `{name}` | {' | '.join(shown)} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--keeps"]:
        print(json.dumps(measured([*map(int, sys.argv[3:])], sys.argv[2] == "True")))
    else:
        main([*map(int, sys.argv[1:])] or [128, 512, 2048, 8192, 40000])
