"""Programs of the sciences that write in place: time of the gradient, and what it keeps.

The programs are those of `tests/programs`, larger. The primal works on copies of its arguments, as
the gradient does. Emitted gradients were told the ranks of their arguments (`example=`). A
hand-written gradient, where there is one, is checked against the emitted one first; then all are
timed in turns in one run, and the minimum of the repeats counts.

    python examples/benchmarks/inplace.py [--repeats 5] [--only thomas,durbin] [--source]
"""

from __future__ import annotations

import argparse
import copy
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import handwritten_inplace
from report import print_table
from timing import fastest

import tangentlike as tl
from tests.programs import BY_NAME, Program

Make = Callable[[np.random.Generator], tuple[Any, ...]]


def definite(n: int) -> Make:
    """A positive definite matrix."""

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        b = rng.normal(size=(n, n))
        return (b @ b.T + n * np.eye(n),)

    return make


def system(n: int, *others: Any) -> Make:
    """A diagonally dominant matrix and a right-hand side."""
    return lambda rng: (rng.normal(size=(n, n)) + 2.0 * n * np.eye(n), rng.normal(size=n), *others)


def arrays(*shapes: Any, then: tuple[Any, ...] = (), scale: float = 1.0) -> Make:
    """Normal arrays of the shapes, and what else is passed."""
    return lambda rng: (*(scale * rng.normal(size=shape) for shape in shapes), *then)


def tridiagonal(n: int) -> Make:
    return lambda rng: (
        rng.normal(size=n - 1),
        rng.uniform(4.0, 5.0, n),
        rng.normal(size=n - 1),
        rng.normal(size=n),
    )


def sparse(rng: np.random.Generator) -> tuple[Any, ...]:
    starts = np.arange(0, 1001, 5)
    return rng.normal(size=1000), rng.integers(0, 200, 1000), starts, rng.normal(size=200)


def bodies(n: int) -> Make:
    return lambda rng: (
        3.0 * rng.normal(size=(n, 3)),
        0.1 * rng.normal(size=(n, 3)),
        rng.uniform(0.5, 1.0, n),
        10,
    )


SIZES: dict[str, Make] = {
    "factorizations.cholesky_logdet": definite(16),
    "factorizations.cholesky_by_columns": definite(60),
    "factorizations.lu_logdet": definite(14),
    "factorizations.lu_outer": definite(60),
    "factorizations.solve_with_pivots": arrays((24, 24), 24),
    "factorizations.lu_row_swaps": arrays((24, 24), scale=0.3),
    "factorizations.gram_schmidt": arrays((60, 16)),
    "factorizations.gram_schmidt_rows": arrays((16, 60)),
    "factorizations.householder": arrays((60, 20)),
    "solvers.forward_substitution": system(40),
    "solvers.back_substitution": system(200),
    "solvers.thomas": tridiagonal(1000),
    "solvers.durbin": lambda rng: (rng.uniform(-0.1, 0.1, 40),),
    "solvers.jacobi_system": system(16, 4),
    "solvers.gauss_seidel_system": system(60, 10),
    "grids.gauss_seidel_1d": lambda rng: (rng.uniform(-1, 1, 200), 10),
    "grids.gauss_seidel_2d": lambda rng: (rng.uniform(-1, 1, (24, 24)), 3),
    "grids.gauss_seidel_3d": lambda rng: (rng.uniform(-1, 1, (12, 12, 12)),),
    "grids.jacobi_1d": lambda rng: (rng.uniform(-1, 1, 2000), rng.uniform(-1, 1, 2000), 50),
    "grids.jacobi_2d": lambda rng: (rng.uniform(-1, 1, (100, 100)), 50),
    "grids.jacobi_3d": arrays((16, 16, 16), then=(10,)),
    "grids.heat_equation": lambda rng: (rng.normal(size=2000), rng.uniform(0.5, 1, 1999), 100),
    "grids.burgers": lambda rng: (rng.uniform(-1, 1, 2000), 0.3, 50),
    "grids.wave_2d": arrays((80, 80), then=(0.8, 50)),
    "grids.cavity_flow": arrays((40, 40), (40, 40), (40, 40), then=(1.2, 0.1, 20), scale=0.1),
    "simulations.n_body": bodies(12),
    "simulations.n_body_masked": lambda rng: (rng.normal(size=(100, 3)), rng.uniform(0.5, 1, 100)),
    "simulations.pendulum_trajectory": lambda rng: (0.5, 0.1, 9.8, 1000),
    "simulations.predator_prey": lambda rng: (
        np.array([1.1, 0.4, 0.1, 0.4]),
        np.array([2.0, 1.0]),
        500,
    ),
    "simulations.adam_hyperparameters": lambda rng: (
        0.05,
        0.9,
        rng.normal(size=200),
        rng.normal(size=200),
        100,
    ),
    "signals.spectrum_energy": arrays(64),
    "signals.covariance_by_loops": arrays((40, 6)),
    "signals.correlation_by_loops": arrays((200, 30)),
    "signals.convolution_by_loops": arrays((24, 24), (3, 3)),
    "signals.max_pooling": arrays((40, 40), then=(2,)),
    "signals.sparse_matvec": sparse,
    "signals.soft_dtw": arrays(20, 20, then=(0.5,)),
    "signals.recursive_filter": lambda rng: (
        rng.normal(size=2),
        np.array([-0.3, 0.2]),
        rng.normal(size=1000),
    ),
}


def working_on_copies(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The primal, which writes its arguments, on copies of them."""
    return lambda *args: fn(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))


def agree(found: Any, expected: Any, name: str) -> None:
    """Both (value, gradient) are the same to rounding."""
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, err_msg=name)
    for got, wanted in zip(found[1], expected[1], strict=True):
        scale = float(np.max(np.abs(wanted), initial=1e-12))
        np.testing.assert_allclose(got, wanted, rtol=1e-7, atol=1e-9 * scale, err_msg=name)


def row(name: str, repeats: int) -> list[str]:
    """Milliseconds of primal, emitted and hand-written gradient, and their ratios."""
    program: Program = BY_NAME[name]
    args = SIZES[name](np.random.default_rng(0))
    emitted = tl.value_and_grad(program.fn, wrt=program.wrt, example=args)
    contenders = {"primal": working_on_copies(program.fn), "emitted": emitted}
    by_hand = getattr(handwritten_inplace, program.fn.__name__, None)
    if by_hand is not None:
        agree(by_hand(*copy.deepcopy(args)), emitted(*args), name)
        contenders["by hand"] = by_hand
    seconds = fastest(contenders, args, repeats)
    hand = seconds.get("by hand")
    return [
        name,
        *(f"{1e3 * seconds[k]:.2f}" for k in ("primal", "emitted")),
        "-" if hand is None else f"{1e3 * hand:.2f}",
        f"{seconds['emitted'] / seconds['primal']:.2f}",
        "-" if hand is None else f"{seconds['emitted'] / hand:.2f}",
    ]


# -------------------------------------------------------------------------------- memory


def linear_stencil(a, steps):
    for _ in range(steps):
        a[1:-1] += 0.25 * (a[:-2] - 2.0 * a[1:-1] + a[2:])
    return np.sum(a * a)


def nonlinear_stencil(a, steps):
    for _ in range(steps):
        a[1:-1] += 0.25 * (a[:-2] * a[2:] - a[1:-1])
    return np.sum(a)


def element_by_element(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = np.sin(y[i - 1]) * x[i]
    return np.sum(y)


def peak(fn: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """The most bytes in use during a second call, over what was in use before."""
    fn(*args)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    fn(*args)
    most = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return most


def memory_rows(n: int = 10_000) -> list[list[str]]:
    """Peak memory of gradients of stencils, in units of the array they work on."""
    table = []
    a = np.random.default_rng(0).uniform(0.0, 1.0, n)
    for fn in (linear_stencil, nonlinear_stencil):
        gradient = tl.grad(fn, example=(a, 1))
        for steps in (10, 100, 1000):
            most = peak(gradient, (a, steps))
            table.append([fn.__name__, str(steps), f"{most / 1e6:.2f}", f"{most / a.nbytes:.1f}"])
    return table


def growth_rows() -> list[list[str]]:
    """Time per element of a loop over single elements: its gradient is linear in the length."""
    table = []
    for n in (1_000, 4_000, 16_000, 64_000):
        x = np.random.default_rng(0).uniform(0.5, 1.0, n)
        gradient = tl.grad(element_by_element, example=(x,))
        seconds = fastest({"primal": element_by_element, "gradient": gradient}, (x,), 3)
        micros = {name: 1e6 * s / n for name, s in seconds.items()}
        table.append([f"{n:,}", *(f"{micros[k]:.2f}" for k in ("primal", "gradient"))])
        table[-1].append(f"{micros['gradient'] / micros['primal']:.2f}")
    return table


# ---------------------------------------------------------------------------------- main

COLUMNS = ("program", "primal ms", "emitted ms", "by hand ms", "emitted / primal", "/ by hand")


def rows(names: Iterable[str], repeats: int) -> list[list[str]]:
    return [row(name, repeats) for name in names]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="parts of names, with commas between")
    parser.add_argument("--source", action="store_true", help="print the emitted gradients too")
    parser.add_argument("--no-memory", action="store_true", help="times only")
    options = parser.parse_args(argv)
    wanted = options.only.split(",")
    names = [name for name in SIZES if any(part in name for part in wanted)]
    if options.source:
        for name in names:
            args = SIZES[name](np.random.default_rng(0))
            program = BY_NAME[name]
            print(tl.value_and_grad(program.fn, wrt=program.wrt, example=args).source)
    print_table("value and gradient, minimum of repeats", COLUMNS, rows(names, options.repeats))
    if not options.no_memory:
        columns = ("stencil, 10,000 points", "steps", "peak MB", "peak / array")
        print_table("memory of the gradient", columns, memory_rows())
        columns = ("elements", "primal us / element", "gradient us / element", "ratio")
        print_table("one element a step", columns, growth_rows())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
