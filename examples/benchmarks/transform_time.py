"""How long the transform takes, how long its output is, and what `import tangentlike` costs.

Functions of 10, 100 and 1,000 lines, the product of 100 factors as a loop and written out, and
the import beside NumPy's.

    python examples/benchmarks/transform_time.py [--repeats 3] [--lines 10,100,1000]
"""

from __future__ import annotations

import argparse
import linecache
import subprocess
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

STATEMENTS = (
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


def straight(lines: int) -> str:
    """A function of about so many lines, with branches and loops in it."""
    body = [STATEMENTS[k % len(STATEMENTS)].format(k=k) for k in range(lines - 3)]
    while body and body[-1].endswith(":"):
        body.pop()
    return "\n    ".join(["def f(x):", "b = 1.0 * x", "a = b", *body, "return np.sum(a * b * x)"])


LOOP = """def f(x):
    y = 1.0
    for i in range(100):
        y = y * x[i]
    return y"""
WRITTEN_OUT = "def f(x):\n    return " + " * ".join(f"x[{i}]" for i in range(100))
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
    return namespace["f"]


def transform(source: str, repeats: int) -> tuple[float, str]:
    """The least seconds of a transform, and the emitted text."""
    best, emitted = float("inf"), ""
    for _ in range(repeats):
        fn = load(source)
        started = time.perf_counter()
        df = tl.grad(fn)
        emitted = df.source
        best = min(best, time.perf_counter() - started)
    return best, emitted


def import_seconds(module: str, repeats: int) -> float:
    """The least seconds that a fresh interpreter takes to import the module."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    runs = (
        subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(repeats)
    )
    return min(float(run.stdout) for run in runs)


def rows(sizes: Sequence[int], repeats: int) -> list[list[str]]:
    sources = {f"{n:,} lines": straight(n) for n in sizes}
    sources["product of 100, loop"] = LOOP
    sources["product of 100, one expression"] = WRITTEN_OUT
    sources["product of 100, a statement each"] = STATEMENT_EACH
    table = []
    for title, source in sources.items():
        seconds, emitted = transform(source, repeats)
        lines = source.count("\n") + 1
        emitted_lines = emitted.count("\n")
        table.append(
            [
                title,
                f"{lines:,}",
                f"{emitted_lines:,}",
                f"{len(emitted) / len(source):.2f}",
                f"{1e3 * seconds:,.1f}",
                f"{1e3 * seconds / lines:.2f}",
            ]
        )
    return table


COLUMNS = ("function", "lines", "emitted lines", "emitted / source length", "ms", "ms / line")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--lines", default="10,100,1000")
    options = parser.parse_args(argv)
    sizes = [int(n) for n in options.lines.split(",")]
    print_table("transform", COLUMNS, rows(sizes, options.repeats))
    imports = {m: import_seconds(m, max(2, options.repeats)) for m in ("numpy", "tangentlike")}
    print_table("import", ("module", "ms"), [[m, f"{1e3 * s:.0f}"] for m, s in imports.items()])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
