"""How long the transform takes at orders one to four, and how long the emitted text is.

Functions of one number are differentiated by `tl.grad` again and again, functions of arrays by
`tl.grad` and then forward mode over forward mode. Times are processor time, the least of some
repeats, of one order alone.

    python examples/benchmarks/orders.py [--repeats 3] [--orders 4]
"""

from __future__ import annotations

import argparse
import inspect
import linecache
import math
import sys
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import tangentlike as tl

sys.path.insert(0, str(Path(__file__).resolve().parent))
from report import print_table

Function = Callable[..., Any]
_numbers = count()


def wave(x: float) -> float:
    return math.sin(2.0 * x) * math.exp(-x)


def bessel(x: float) -> float:
    term, total = 1.0, 1.0
    for k in range(1, 20):
        term = -term * x * x / (4.0 * k * k)
        total = total + term
    return total


def root(x: float) -> float:
    y = x
    while abs(y * y - x) > 1e-14:
        y = 0.5 * (y + x / y)
    return y


def cube(x: float) -> float:
    return x * x * x


def by_helper(x: float) -> float:
    if x > 0.0:
        return cube(np.cos(x)) * cube(x)
    return cube(x)


def loss(w, b, x, y):
    p = np.tanh(x @ w + b)
    r = p - y
    return np.sum(r * r)


def final_state(w, u, xs):
    h = np.zeros(w.shape[0])
    for x in xs:
        h = np.tanh(w @ h + u @ x)
    return np.sum(h)


def smooth(a: np.ndarray, steps: int):
    for _ in range(steps):
        a[1:-1] += 0.5 * (a[:-2] * a[2:])
    return np.sum(a)


def network(layers, x):
    h = x
    for layer in layers:
        h = np.tanh(layer["w"] @ h + layer["b"])
    return np.sum(h * h)


def gradient_again(df: Function) -> Function:
    return tl.grad(df)


def forward_over(df: Function) -> Function:
    return tl.autodiff(df, mode="forward")


def fresh(fn: Function) -> Function:
    """The function compiled anew, which defeats what is remembered of it."""
    filename = f"<benchmark {next(_numbers)}>"
    text = inspect.getsource(fn)
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace = dict(globals())
    exec(compile(text, filename, "exec"), namespace)
    return namespace[fn.__name__]


def measured(fn: Function, again: Callable[[Function], Function], orders: int) -> list[Any]:
    """(seconds, emitted lines) of each order."""
    found = []
    df: Function = fresh(fn)
    for order in range(orders):
        started = time.process_time()
        df = tl.grad(df) if order == 0 else again(df)
        lines = df.source.count("\n")
        found.append((time.process_time() - started, lines))
    return found


def row(
    fn: Function, again: Callable[[Function], Function], orders: int, repeats: int
) -> list[str]:
    runs = [measured(fn, again, orders) for _ in range(repeats)]
    cells = [fn.__name__]
    for order in range(orders):
        seconds = min(run[order][0] for run in runs)
        cells += [f"{runs[0][order][1]}", f"{1e3 * seconds:.0f}"]
    return cells


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--orders", type=int, default=4)
    options = parser.parse_args(argv)
    columns = ["function"]
    for order in range(1, options.orders + 1):
        columns += [f"lines, {order}", f"ms, {order}"]
    tables = {
        "gradients of gradients": (gradient_again, (wave, bessel, root, by_helper)),
        "forward over the one before": (forward_over, (loss, final_state, smooth, network)),
    }
    for title, (again, functions) in tables.items():
        rows = [row(fn, again, options.orders, options.repeats) for fn in functions]
        print_table(title, columns, rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
