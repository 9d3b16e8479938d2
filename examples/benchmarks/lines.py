"""How long the emitted texts are beside gradients written by hand, and what helpers they need.

Lines are lines of code inside of functions: comments, docstrings, imports and decorators aside.
"Helpers" are those of tangentlike.runtime that settle at run time what the text does not know of
shapes, ranks and classes (`unbroadcast`; `zeros_like` of a dict or an object is none); "standalone"
is the file that needs no package, over the derivative.

    python examples/benchmarks/lines.py [--source NAME] [--lot 17]
"""

from __future__ import annotations

import argparse
import ast
import inspect
import io
import math
import random
import re
import sys
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tangentlike as tl

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import gradients
import handwritten_inplace
import handwritten_kernels
import handwritten_users
import inplace
import kernels
import users
from report import print_table

from tests.programs import BY_NAME

SHAPE_HELPERS = re.compile(
    r"(?<![\w.])(unbroadcast\w*|(?!zeros)\w+_like|matmul_bar_\w+|require_\w+|scalar_seed)\("
)
_LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


class Program(NamedTuple):
    """A program, arguments for it, by which of them to differentiate, and its gradient by hand."""

    fn: Any
    args: tuple[Any, ...]
    wrt: Any
    by_hand: Any


def programs() -> Iterator[tuple[str, Program]]:
    """Every program of the benchmarks that has a gradient written by hand."""
    rng = np.random.default_rng
    for name, (fn, given, wrt) in users.USERS.items():
        yield name, Program(fn, given(rng(1)), wrt, getattr(handwritten_users, name))
    for name, case in gradients.cases().items():
        yield name, Program(case.fn, case.args, tuple(range(case.active)), case.by_hand)
    for name, kernel in kernels.KERNELS.items():
        by_hand = getattr(handwritten_kernels, name, None)
        if by_hand is not None:
            wrt = tuple(range(kernel.count))
            yield name, Program(kernel.fn, kernel.given(rng(1)), wrt, by_hand)
    for name, given in inplace.SIZES.items():
        written = BY_NAME[name]
        by_hand = getattr(handwritten_inplace, written.fn.__name__, None)
        if by_hand is not None:
            yield written.fn.__name__, Program(written.fn, given(rng(0)), written.wrt, by_hand)


def code_lines(text: str) -> int:
    """Lines of code of the functions in a text."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        parts: list[Any] = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            parts += node.decorator_list
            parts += node.body[:1] if ast.get_docstring(node) is not None else []
        elif isinstance(node, ast.Import | ast.ImportFrom):
            parts.append(node)
        for part in parts:
            skipped.update(range(part.lineno, part.end_lineno + 1))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - skipped)


class Count(NamedTuple):
    """Lines of a derivative over those by hand, its helpers, and those of its standalone file."""

    lines: int
    ratio: float
    helpers: int
    standalone: float


def derivative(program: Program, example: bool) -> Any:
    given = {"example": program.args} if example else {}
    return tl.value_and_grad(program.fn, wrt=program.wrt, **given)


def counted(program: Program, example: bool) -> Count | None:
    """What is counted of one text; None where a text is made for classes and none were told."""
    made = derivative(program, example)
    try:
        alone = made.__tangentlike__.derive().standalone()
    except tl.errors.UnknownClassError:
        return None
    lines = code_lines(made.source)
    by_hand = code_lines(textwrap.dedent(inspect.getsource(program.by_hand)))
    helpers = len(SHAPE_HELPERS.findall(made.source))
    return Count(lines, lines / by_hand, helpers, code_lines(alone) / lines)


def mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def summary(title: str, counts: Sequence[Count]) -> str:
    helped = sum(c.helpers > 0 for c in counts)
    alone = [c.standalone for c in counts]
    return (
        f"{title}: {mean([c.ratio for c in counts]):.3f} lines for one written by hand, "
        f"{helped} of {len(counts)} texts with helpers for shapes, "
        f"standalone {mean(alone):.2f} times as long (at most {max(alone):.2f})"
    )


def cells(count: Count | None) -> list[str]:
    if count is None:
        return ["-"] * 4
    return [str(count.lines), f"{count.ratio:.2f}", str(count.helpers), f"{count.standalone:.2f}"]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--source", help="print these texts (a,b,c) too")
    parser.add_argument("--lot", type=int, help="print ten texts drawn with this seed too")
    options = parser.parse_args(argv)
    found = dict(programs())
    shown = options.source.split(",") if options.source else []
    if options.lot is not None:
        shown += random.Random(options.lot).sample(sorted(found), 10)
    for name in shown:
        print(derivative(found[name], True).source)
    counts = {n: (counted(p, True), counted(p, False)) for n, p in found.items()}
    rows = [[name, *cells(told), *cells(untold)] for name, (told, untold) in counts.items()]
    columns = ("program", *("lines", "ratio", "helpers", "standalone") * 2)
    print_table("with example=, and without", columns, rows)
    for title, kept in (("with example=", 0), ("without", 1)):
        print(summary(title, [c for both in counts.values() if (c := both[kept])]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
