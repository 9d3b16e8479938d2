"""How long the transform takes, how long its output is, and what `import tangentlike` costs.

Functions of 10, 100 and 1,000 lines, straight-line, with branches and loops, with classes and
dicts, at order one and two. Beside each stands what parsing, printing and compiling the emitted
text takes alone: the transform's time as a multiple of that is the column to look at. Processor
time, the least of several repeats in turns.

    python examples/benchmarks/transform_time.py [--repeats 3] [--lines 10,100,1000] [--orders 1,2]
"""

from __future__ import annotations

import argparse
import linecache
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import gast
import numpy as np

import tangentlike as tl
from tangentlike.codegen.print.printer import Printer

sys.path.insert(0, str(Path(__file__).resolve().parent))
from report import print_table

STRAIGHT = (
    "a = np.sin(x) * {k}.0 + b",
    "b = b * 0.5 + np.tanh(a)",
    "x = x - 0.1 * a * b",
    "c = np.exp(-a * a) @ b",
    "b = np.where(x > 0.0, b, 0.5 * c)",
)
BRANCHING = (
    "a = np.sin(x) * {k}.0 + b",
    "b = b * 0.5 + np.tanh(a)",
    "x = x - 0.1 * a * b",
    "if np.sum(a) > {k}.0:",
    "    b = b + a",
    "c = np.exp(-a * a) @ b",
    "for i in range(2):",
    "    x = x + 0.01 * c * np.cos(x)",
    "b = np.where(x > 0.0, b, 0.5 * x)",
)
_numbers = count()


def written(statements: Sequence[str], lines: int) -> str:
    """A function of about so many lines."""
    body = [statements[k % len(statements)].format(k=k) for k in range(lines - 4)]
    while body and body[-1].endswith(":"):
        body.pop()
    return "\n    ".join(["def f(x):", "b = 1.0 * x", "a = b", *body, "return np.sum(a * b * x)"])


LOOP = """def f(x):
    h = np.zeros(4)
    total = 0.0
    for i in range(10):
        a = np.sin(x[i]) * h
        b = np.tanh(a) + x[i]
        h = 0.5 * h + b * a
        if total > 3.0:
            h = h * 0.5
        else:
            h = h + 0.1 * x[i]
        c = np.exp(-h * h)
        d = c / (1.0 + a * a)
        e = d * b - c
        h = h + 0.01 * e
        total = total + np.sum(e * h)
        f = total * 0.1
        total = total - f * f
    return total + np.sum(h)"""
CLASSES = """class Layer:
    def __init__(self, w, b):
        self.w = w
        self.b = b

    def __call__(self, x):
        return np.tanh(self.w @ x + self.b)

class Model:
    def __init__(self, first, second):
        self.first = first
        self.second = second

    def __call__(self, x):
        return self.second(self.first(x))

def f(x):
    first = Layer(x[0:3] * np.ones((3, 3)), x[3:6])
    second = Layer(x[6:9] * np.ones((3, 3)), x[9:12])
    model = Model(first, second)
    y = model(x[12:15])
    return np.sum(y * y)"""
PLAIN = """def f(x):
    w1 = x[0:3] * np.ones((3, 3))
    b1 = x[3:6]
    w2 = x[6:9] * np.ones((3, 3))
    b2 = x[9:12]
    z = x[12:15]
    h = w1 @ z
    h = h + b1
    h = np.tanh(h)
    y = w2 @ h
    y = y + b2
    y = np.tanh(y)
    p = 0.5
    q = p * 2.0
    y = y * q
    s = np.sum(y)
    t = np.sum(y * y)
    u = 0.1 * s
    v = t + u
    v = v - u
    return v"""
DICTS = """def f(x):
    params = {"w1": x[0:3], "b1": x[3:6], "w2": x[6:9], "b2": x[9:12]}
    state = {"h": x[12:15], "loss": 0.0}
    for k in ("1", "2"):
        w, b = params["w" + k], params["b" + k]
        z = w * state["h"] + b
        state["h"] = np.tanh(z)
        state["loss"] = state["loss"] + 0.1 * np.sum(w * w)
    scores = {}
    for name, value in params.items():
        scores[name] = np.sum(value * value)
    total = 0.0
    for name in scores:
        total += scores[name]
    state["loss"] += 0.01 * total
    y = state["h"]
    s = np.sum(y * y)
    return s + state["loss"]"""
PRODUCT = """def f(x):
    y = 1.0
    for i in range(100):
        y = y * x[i]
    return y"""
ONE_EXPRESSION = "def f(x):\n    return " + " * ".join(f"x[{i}]" for i in range(100))
STATEMENT_EACH = "def f(x):\n    y = x[0]\n    " + "\n    ".join(
    [*(f"y = y * x[{i}]" for i in range(1, 100)), "return y"]
)


def load(source: str) -> Callable[..., Any]:
    """Compile so that the source is found again; a new function each time defeats caches."""
    filename = f"<benchmark {next(_numbers)}>"
    text = source + "\n"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace: dict[str, Any] = {"np": np, "__name__": "benchmark"}
    exec(compile(text, filename, "exec"), namespace)
    function: Callable[..., Any] = namespace["f"]
    return function


@dataclass
class Cost:
    """The least processor seconds of a transform, and of what none does without."""

    transform: float
    alone: float
    texts: tuple[str, ...]


def texts_of(fn: Callable[..., Any], order: int) -> tuple[str, ...]:
    """What is emitted for a gradient; for order two also its Hessian-vector product."""
    df = tl.grad(fn)
    if order == 1:
        return (df.source,)
    return df.source, tl.autodiff(df, mode="forward").source


def print_and_compile(source: str, texts: Sequence[str]) -> float:
    """Processor seconds to parse a function, and to print and compile what was emitted for it."""
    trees = [gast.parse(text) for text in texts]
    started = time.process_time()
    for text, tree in zip((source, *texts), (*trees, None), strict=True):
        gast.parse(text)
        if tree is not None:
            printer = Printer()
            for node in tree.body:
                printer.text(node)
            compile(text, "<emitted>", "exec")
    return time.process_time() - started


def cost(source: str, order: int, repeats: int) -> Cost:
    """The least times of some repeats, taken in turns."""
    best, alone = float("inf"), float("inf")
    texts: tuple[str, ...] = ()
    for _ in range(repeats):
        fn = load(source)
        started = time.process_time()
        texts = texts_of(fn, order)
        best = min(best, time.process_time() - started)
        alone = min(alone, print_and_compile(source, texts))
    return Cost(best, alone, texts)


def import_seconds(module: str, repeats: int) -> float:
    """The least seconds that a fresh interpreter takes to import the module."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    runs = (
        subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(repeats)
    )
    return min(float(run.stdout) for run in runs)


def programs(sizes: Sequence[int]) -> dict[str, str]:
    """The functions by their titles."""
    return {
        **{f"straight, {n:,} lines": written(STRAIGHT, n) for n in sizes},
        **{f"branches and loops, {n:,} lines": written(BRANCHING, n) for n in sizes},
        "a loop": LOOP,
        "two-layer classes": CLASSES,
        "the same without classes": PLAIN,
        "dicts": DICTS,
        "product of 100, loop": PRODUCT,
        "product of 100, one expression": ONE_EXPRESSION,
        "product of 100, a statement each": STATEMENT_EACH,
    }


def rows(sizes: Sequence[int], orders: Sequence[int], repeats: int) -> list[list[str]]:
    """A row for each function and order."""
    table = []
    cost(LOOP, 1, 1)  # (what is computed once in a process)
    for order in orders:
        for title, source in programs(sizes).items():
            found = cost(source, order, repeats)
            lines = source.count("\n") + 1
            emitted = sum(map(len, found.texts))
            table.append(
                [
                    title,
                    f"{order}",
                    f"{lines:,}",
                    f"{sum(text.count(chr(10)) for text in found.texts):,}",
                    f"{emitted / len(source):.2f}",
                    f"{1e3 * found.transform:,.1f}",
                    f"{1e3 * found.transform / lines:.2f}",
                    f"{1e3 * found.alone:,.1f}",
                    f"{found.transform / found.alone:.1f}",
                ]
            )
    return table


COLUMNS = (
    "function",
    "order",
    "lines",
    "emitted lines",
    "emitted / source length",
    "ms",
    "ms / line",
    "parse, print, compile",
    "times that",
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--lines", default="10,100,1000")
    parser.add_argument("--orders", default="1,2")
    options = parser.parse_args(argv)
    lists = (options.lines, options.orders)
    sizes, orders = ([int(n) for n in given.split(",")] for given in lists)
    print_table("transform", COLUMNS, rows(sizes, orders, options.repeats))
    imports = {m: import_seconds(m, max(2, options.repeats)) for m in ("numpy", "tangentlike")}
    print_table("import", ("module", "ms"), [[m, f"{1e3 * s:.0f}"] for m, s in imports.items()])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
