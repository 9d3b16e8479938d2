"""How much work it is to differentiate functions of 20, 100 and 1,000 lines: runs of stages and of
analyses, milliseconds. Printed for review, never asserted: `python -m tests.behaviour costs`."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import tangentlike
from tangentlike import ir
from tangentlike.analysis.structure import Structure
from tangentlike.frontend.lower import Lowered
from tangentlike.pipeline.stages import Request, derive
from tests.generator import load

PACKAGE = str(Path(tangentlike.__file__).parent)
LENGTHS = (20, 100, 1000)

BLOCK = """\
    u{k} = np.sin(x) * y
    for i{k} in range(3):
        if u{k}[i{k}] > 0.5:
            u{k}[i{k}] *= np.cos(s)
        else:
            s = s * 0.5 + u{k}[i{k}]
    p{k} = [u{k}, x]
    p{k}[1] = p{k}[0] * 0.5
    y[1:] += 0.3 * p{k}[1][:-1]
"""


def program(lines: int) -> str:
    """A function of about so many lines, of blocks that write, branch, loop and fill lists."""
    blocks = [BLOCK.format(k=k) for k in range(round((lines - 2) / len(BLOCK.splitlines())))]
    head = "def program(x, y, s):\n"
    return head + "".join(blocks) + "    return np.sum(y) * s\n"


REQUEST = Request("grad", ("x", "y", "s"))
WHOLE = (ir.Function, ir.Module, Structure, Lowered)  # what a stage or an analysis goes through


def counted(fn: Any) -> tuple[Counter[str], Counter[str]]:
    """How often each stage and each analysis, asked for by another part, goes through a function:
    calls that are given a whole one."""
    stages: Counter[str] = Counter()
    analyses: Counter[str] = Counter()

    def called(frame: Any, event: str, _: Any) -> None:
        if event != "call" or frame.f_back is None:
            return
        part = part_of(frame)
        if part is None or part[0] not in PARTS or part_of(frame.f_back) == part:
            return
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount]
        given = (frame.f_locals.get(n) for n in names if n != "self")
        asks = part[1] == ASKING or code.co_name in PARTS_OF_RUNS
        if code.co_name[0] == "<" or asks:
            return
        if any(isinstance(value, WHOLE) for value in given):
            owner = type(frame.f_locals["self"]).__name__ if "self" in frame.f_locals else ""
            name = ".".join(filter(None, (part[1], owner, code.co_name)))
            (analyses if part[0] == "analysis" else stages)[name] += 1

    sys.setprofile(called)
    try:
        derive(fn, REQUEST)
    finally:
        sys.setprofile(None)
    return stages, analyses


PARTS = ("frontend", "analysis", "ad", "codegen")
# Asking for a fact that is known is no run, nor is what the solver asks of a problem.
ASKING, PARTS_OF_RUNS = "codegen.optimize.analyses", ("boundary",)


def part_of(frame: Any) -> tuple[str, str] | None:
    """The room of the package that code belongs to, and its module, dotted."""
    file = frame.f_code.co_filename
    if not file.startswith(PACKAGE):
        return None
    path = Path(file[len(PACKAGE) + 1 :])
    return path.parts[0], ".".join(path.with_suffix("").parts)


def milliseconds(fn: Any) -> float:
    """The best of three runs."""
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        derive(fn, REQUEST)
        best = min(best, time.perf_counter() - started)
    return 1e3 * best


def show(most: int = 25) -> None:
    """Print the table: a column for each length."""
    functions = [load(program(lines), f"of {lines} lines") for lines in LENGTHS]
    times = [milliseconds(fn) for fn in functions]
    found = [counted(fn) for fn in functions]
    print(f"{'lines':64}" + "".join(f"{n:>10,}" for n in LENGTHS))
    print(f"{'milliseconds (best of three)':64}" + "".join(f"{t:>10,.0f}" for t in times))
    for title, which in (("runs of stages", 0), ("runs of analyses", 1)):
        counts = [parts[which] for parts in found]
        print(f"{title:64}" + "".join(f"{sum(c.values()):>10,}" for c in counts))
        for name, _ in counts[-1].most_common(most):
            print(f"  {name:62}" + "".join(f"{c[name]:>10,}" for c in counts))
