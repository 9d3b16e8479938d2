"""What reusing buffers in loops would give: two gradients as they are emitted, and with `out=`.

python examples/benchmarks/buffers.py
python examples/benchmarks/buffers.py 1024 2048 3000   (arrays of 8 to 68 MiB)
"""

# The functions stand as they are emitted, and as a person would write them by hand.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import functools
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from page import seconds


def wave(u, v, c, steps):
    """A stencil in place: what it makes at each step is new."""
    u, laps = u.copy(), []
    for _ in range(steps):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        laps.append(lap)
        v = v + 0.1 * c * lap
        u = u.copy()
        u[1:-1, 1:-1] += 0.1 * v
    u_bar, c_bar, v_bar = 2.0 * u, np.zeros_like(c), np.zeros_like(v)
    for _ in reversed(range(steps)):
        lap = laps.pop()
        v_bar += 0.1 * u_bar[1:-1, 1:-1]
        c_bar += 0.1 * (v_bar * lap)
        _scatter(u_bar, v_bar * (0.1 * c))
    return u_bar, c_bar


def wave_reused(u, v, c, steps):
    """The same: every array of the loops has its buffer."""
    u, laps, v, t = u.copy(), np.empty((steps, *c.shape)), v.copy(), np.empty_like(c)
    scale = 0.1 * c
    for lap in laps:
        np.add(u[2:, 1:-1], u[:-2, 1:-1], out=lap)
        lap += u[1:-1, 2:]
        lap += u[1:-1, :-2]
        lap -= np.multiply(u[1:-1, 1:-1], 4.0, out=t)
        v += np.multiply(scale, lap, out=t)
        u[1:-1, 1:-1] += np.multiply(v, 0.1, out=t)
    u_bar, c_bar, v_bar = 2.0 * u, np.zeros_like(c), np.zeros_like(v)
    lap_bar = np.empty_like(c)
    for lap in laps[::-1]:
        v_bar += np.multiply(u_bar[1:-1, 1:-1], 0.1, out=t)
        np.multiply(v_bar, lap, out=t)
        c_bar += np.multiply(t, 0.1, out=t)
        _scatter(u_bar, np.multiply(v_bar, scale, out=lap_bar))
    return u_bar, c_bar


def _scatter(u_bar, lap_bar):
    u_bar[1:-1, 1:-1] -= 4.0 * lap_bar
    u_bar[1:-1, :-2] += lap_bar
    u_bar[1:-1, 2:] += lap_bar
    u_bar[:-2, 1:-1] += lap_bar
    u_bar[2:, 1:-1] += lap_bar


def chain(w, x, steps):
    """Elementwise: what it makes at each step is new."""
    saved = []
    for _ in range(steps):
        saved.append(x)
        x = np.tanh(w * x + 0.1)
    x_bar, w_bar = 2.0 * x, np.zeros_like(w)
    for _ in reversed(range(steps)):
        total_bar = x_bar * (1.0 - x * x)
        x = saved.pop()
        w_bar += total_bar * x
        x_bar = total_bar * w
    return w_bar, x_bar


def chain_reused(w, x, steps):
    """The same: every array of the loops but what is saved has its buffer."""
    saved, t, total_bar = [], np.empty_like(x), np.empty_like(x)
    for _ in range(steps):
        saved.append(x)
        np.multiply(w, x, out=t)
        x = np.tanh(np.add(t, 0.1, out=t))
    x_bar, w_bar = 2.0 * x, np.zeros_like(w)
    for _ in reversed(range(steps)):
        np.multiply(x, x, out=t)
        np.multiply(x_bar, np.subtract(1.0, t, out=t), out=total_bar)
        x = saved.pop()
        w_bar += np.multiply(total_bar, x, out=t)
        np.multiply(total_bar, w, out=x_bar)
    return w_bar, x_bar


def main(sizes=(64, 128, 256, 512), repeats=5) -> None:
    """Print how many times faster the second of each pair is."""
    rng = np.random.default_rng(0)
    for n in sizes:
        grid, inner = rng.random((n, n)), rng.random((n - 2, n - 2))
        pairs = {
            "wave": (wave, wave_reused, (grid, inner, rng.random(inner.shape), 10)),
            "chain": (chain, chain_reused, (grid, rng.random((n, n)), 10)),
        }
        for name, (first, second, args) in pairs.items():
            for a, b in zip(first(*args), second(*args), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10)
            calls = {f.__name__: functools.partial(f, *args) for f in (first, second)}
            found = list(seconds(calls, repeats).values())
            print(f"{name} {8 * n * n // 1024} KiB: {found[0] / found[1]:.2f}")


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or (64, 128, 256, 512))
