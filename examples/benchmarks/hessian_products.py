"""What a product with the Hessian costs beside the gradient, for twenty programs.

`tl.hvp` is checked against central differences of the gradient, then both are timed in turns by
processor time; the minimum of the repeats counts. Both were told the ranks of their arguments.

    python examples/benchmarks/hessian_products.py [--repeats 7] [--only thomas,durbin]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import gradients
import inplace
from report import print_table

import tangentlike as tl
from tests.programs import BY_NAME

NAMES = (
    "factorizations.cholesky_logdet",
    "factorizations.lu_outer",
    "factorizations.gram_schmidt",
    "factorizations.householder",
    "solvers.back_substitution",
    "solvers.thomas",
    "solvers.durbin",
    "solvers.gauss_seidel_system",
    "grids.gauss_seidel_1d",
    "grids.jacobi_2d",
    "grids.heat_equation",
    "grids.burgers",
    "grids.wave_2d",
    "simulations.n_body_masked",
    "simulations.pendulum_trajectory",
    "simulations.predator_prey",
    "signals.covariance_by_loops",
    "signals.recursive_filter",
)
Case = tuple[str, Callable[..., Any], tuple[int, ...], tuple[Any, ...]]


def cases() -> Iterator[Case]:
    """Title, function, positions of what it is differentiated by, arguments."""
    for case in gradients.cases().values():
        yield case.title, case.fn, tuple(range(case.active)), case.args
    for name in NAMES:
        program = BY_NAME[name]
        args = inplace.SIZES[name](np.random.default_rng(0))
        yield program.fn.__name__, program.fn, program.wrt, args


def row(case: Case, repeats: int) -> list[str]:
    """Milliseconds of the gradient and of the product, and their ratio."""
    title, fn, wrt, args = case
    gradient = tl.grad(fn, wrt=wrt, example=args)
    product = tl.hvp(fn, wrt=wrt, example=args)
    rng = np.random.default_rng(1)
    v = tuple(rng.standard_normal(np.shape(args[k]))[()] for k in wrt)
    v = tuple(float(d) if np.ndim(d) == 0 else d for d in v)
    check(title, gradient, product, wrt, args, v)
    seconds = [float("inf"), float("inf")]
    for _ in range(repeats):
        for which, call in enumerate((lambda: gradient(*args), lambda: product(*args, v))):
            seconds[which] = min(seconds[which], processor_seconds(call))
    first, second = seconds
    return [title, f"{1e3 * first:.2f}", f"{1e3 * second:.2f}", f"{second / first:.1f}"]


def check(
    title: str,
    gradient: Callable[..., Any],
    product: Callable[..., Any],
    wrt: tuple[int, ...],
    args: tuple[Any, ...],
    v: tuple[Any, ...],
) -> None:
    """The product along v, v times it, against central differences of the gradient."""
    h = 1e-6

    def slope(sign: float) -> float:
        moved = list(args)
        for k, d in zip(wrt, v, strict=True):
            moved[k] = args[k] + sign * h * d
        parts = zip(gradient(*moved), v, strict=True)
        return float(sum(np.sum(g * d) for g, d in parts))

    expected = (slope(1.0) - slope(-1.0)) / (2 * h)
    found = float(sum(np.sum(p * d) for p, d in zip(product(*args, v), v, strict=True)))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=title)


def processor_seconds(call: Callable[[], Any], least: float = 0.03) -> float:
    """Seconds of one call, from as many in a row as take `least` seconds."""
    calls, started = 0, time.process_time()
    spent = 0.0
    while spent < least:
        call()
        calls, spent = calls + 1, time.process_time() - started
    return spent / calls


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default="", help="parts of titles, with commas between")
    options = parser.parse_args(argv)
    wanted = options.only.split(",")
    table = [row(c, options.repeats) for c in cases() if any(part in c[0] for part in wanted)]
    columns = ("program", "gradient ms", "hvp ms", "hvp / gradient")
    print_table("Products with the Hessian", columns, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
