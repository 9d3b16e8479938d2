"""Adjoint time over primal time of each operation, at three sizes.

For every operation the pullback of `tl.vjp` is made once, then function and pullback are timed in
turn, in process CPU time, the least of many rounds. Ratios above 4 have a reason or are a defect.

    python examples/benchmarks/operations.py
    python examples/benchmarks/operations.py --only matmul --sizes small,middle
    python examples/benchmarks/operations.py --markdown
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.signal
import scipy.sparse
import scipy.spatial.distance
import scipy.special
import scipy.stats
from scipy.ndimage import gaussian_filter

import tangentlike as tl

SIZES = {"small": 30, "middle": 120, "large": 400}
ROUNDS = 5
LIMIT = 4.0
SECONDS = 0.1  # of each measurement


@dataclass(frozen=True)
class Operation:
    """A function of arrays that `given` makes for a size; `why` says why its adjoint takes long."""

    name: str
    fn: Callable[..., Any]
    given: Callable[[int, Any], tuple[Any, ...]]
    why: str = ""


def square(n: int, rng: Any) -> tuple[Any, ...]:
    return (rng.random((n, n)) + 0.1,)


def squares(n: int, rng: Any) -> tuple[Any, ...]:
    return rng.random((n, n)) + 0.1, rng.random((n, n)) + 0.1


def vectors(n: int, rng: Any) -> tuple[Any, ...]:
    return rng.random(n * n), rng.random(n * n)


def columns(n: int, rng: Any) -> tuple[Any, ...]:
    return rng.random((n, n)), rng.random(n)


def stack(n: int, rng: Any) -> tuple[Any, ...]:
    return rng.random((max(2, n // 8), 8, n)), rng.random((n, n))


def stacks(n: int, rng: Any) -> tuple[Any, ...]:
    return rng.random((n, 16, 16)), rng.random((n, 16, 16))


def definite(n: int, rng: Any) -> tuple[Any, ...]:
    a = rng.random((n, n))
    return (a @ a.T + n * np.eye(n),)


def system(n: int, rng: Any) -> tuple[Any, ...]:
    return rng.random((n, n)) + n * np.eye(n), rng.random((n, n))


def signal(n: int, rng: Any) -> tuple[Any, ...]:
    return rng.random(20 * n), rng.random(31)


def indices(n: int, rng: Any) -> tuple[Any, ...]:
    return rng.random((n, n)), rng.integers(0, n, 2 * n)


def orders(n: int, rng: Any) -> tuple[Any, ...]:
    x = rng.random((n, n))
    return x, np.argsort(x, axis=0)


def vector(n: int, rng: Any) -> tuple[Any, ...]:
    diagonals = (np.ones(n * n), np.full(n * n - 1, 2.0), np.ones(n * n - n))
    SPARSE[n * n] = scipy.sparse.diags(diagonals, (0, 1, -n), format="csr")
    return (rng.random(n * n),)


def windows(x: Any, k: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, len(k)) @ k


def triangular(a: Any, b: Any) -> Any:
    return scipy.linalg.solve_triangular(a, b, lower=True)


def by_factor(a: Any, b: Any) -> Any:
    return scipy.linalg.cho_solve((a, True), b)


SPARSE: dict[int, Any] = {}
KERNEL = np.arange(9.0).reshape(3, 3)
_TWICE = "two adjoints, each a product"
_MEMORY = "a new array for each factor, where memory is what takes the time"
_READS = "the adjoint writes arrays, the operation only reads one"
_IN_C = "arrays of all pairs in NumPy, beside a loop in C"
_MASKS = "masks and shares of ties, beside one vector instruction"
_PLACES = "places are found again, or counted one by one"
OPERATIONS = [
    Operation("x * y", lambda x, y: x * y, squares, _MEMORY),
    Operation("x / y", lambda x, y: x / y, squares, _MEMORY),
    Operation("x**2", lambda x: x**2, square, _MEMORY),
    Operation("x**1.5", lambda x: x**1.5, square, _MEMORY),
    Operation("x**y", lambda x, y: x**y, squares, _MEMORY),
    Operation("exp", lambda x: np.exp(x), square, _MEMORY),
    Operation("log", lambda x: np.log(x), square, _MEMORY),
    Operation("sqrt", lambda x: np.sqrt(x), square, _MEMORY),
    Operation("sin", lambda x: np.sin(x), square, _MEMORY),
    Operation("tanh", lambda x: np.tanh(x), square, _MEMORY),
    Operation("maximum", lambda x, y: np.maximum(x, y), squares, _MASKS),
    Operation("where", lambda x, y: np.where(x > 0.5, x, y), squares, _MEMORY),
    Operation("abs", lambda x: np.abs(x), square, _MASKS),
    Operation("clip", lambda x: np.clip(x, 0.2, 0.8), square, _MASKS),
    Operation("x + row", lambda x, v: x + v, columns),
    Operation("sum", lambda x: np.sum(x), square, _READS),
    Operation("sum of a product", lambda x, y: np.sum(x * y), squares, _READS),
    Operation("sum over an axis", lambda x: np.sum(x, axis=0), square, _READS),
    Operation("mean", lambda x: np.mean(x, axis=1), square, _READS),
    Operation("var", lambda x: np.var(x, axis=0), square, _READS),
    Operation("max", lambda x: np.max(x, axis=0), square, _MASKS),
    Operation("prod", lambda x: np.prod(x, axis=0), square, _READS),
    Operation("cumsum", lambda x: np.cumsum(x, axis=0), square),
    Operation("linalg.norm", lambda x: np.linalg.norm(x), square, _READS),
    Operation("matrix @ matrix", lambda x, y: x @ y, squares, _TWICE),
    Operation("matrix @ vector", lambda x, v: x @ v, columns, _READS),
    Operation("vector @ vector", lambda x, y: x @ y, vectors, _READS),
    Operation("dot", lambda x, y: np.dot(x, y), squares, _TWICE),
    Operation("stack @ matrix", lambda x, y: x @ y, stack, _TWICE),
    Operation("stack @ stack", lambda x, y: x @ y, stacks, _TWICE),
    Operation("einsum ij,jk", lambda x, y: np.einsum("ij,jk->ik", x, y), squares),
    Operation("tensordot", lambda x, y: np.tensordot(x, y, 1), stack, _TWICE),
    Operation("outer", lambda x, v: np.outer(x[0], v), columns),
    Operation("solve", lambda a, b: np.linalg.solve(a, b), system),
    Operation("inv", lambda a: np.linalg.inv(a), definite),
    Operation("det", lambda a: np.linalg.det(a / len(a)), definite, "the inverse as well"),
    Operation(
        "cholesky", lambda a: np.linalg.cholesky(a), definite, "NumPy has no triangular solver"
    ),
    Operation("eigh", lambda a: np.linalg.eigh(a)[0], definite),
    Operation("qr", lambda a: np.linalg.qr(a)[1], definite),
    Operation("svd", lambda a: np.linalg.svd(a, full_matrices=False)[1], definite),
    Operation("convolve", lambda x, k: np.convolve(x, k), signal, _TWICE),
    Operation("fft", lambda x: np.abs(np.fft.fft(x, axis=0)), square, _MEMORY),
    Operation("x[i] (fancy)", lambda x, i: x[i], indices, _PLACES),
    Operation("x[1:-1]", lambda x: x[1:-1] * 1.0, square, _PLACES),
    Operation("concatenate", lambda x, y: np.concatenate([x, y]), squares),
    Operation("transpose, reshape", lambda x: np.reshape(x.T, (-1,)), square),
    Operation("sort", lambda x: np.sort(x, axis=0), square, _PLACES),
    Operation("diff", lambda x: np.diff(x, axis=0), square, _MEMORY),
    Operation("minimum of a number", lambda x: np.minimum(x, 0.5), square, _MASKS),
    Operation("logaddexp", lambda x, y: np.logaddexp(x, y), squares, _MEMORY),
    Operation("hypot", lambda x, y: np.hypot(x, y), squares, _MEMORY),
    Operation("arctan2", lambda x, y: np.arctan2(x, y), squares, _MEMORY),
    Operation("std", lambda x: np.std(x, axis=0), square, _READS),
    Operation("average", lambda x, v: np.average(x, axis=0, weights=v), columns, _READS),
    Operation("median", lambda x: np.median(x, axis=0), square, _PLACES),
    Operation("quantile", lambda x: np.quantile(x, 0.3, axis=0), square, _PLACES),
    Operation("cumprod", lambda x: np.cumprod(x, axis=0), square, _MEMORY),
    Operation("trapezoid", lambda x: np.trapezoid(x, axis=0), square, _READS),
    Operation("gradient", lambda x: np.gradient(x, axis=0), square, _MEMORY),
    Operation(
        "interp", lambda x, v: np.interp(x, np.linspace(0.0, 1.0, len(v)), v), columns, _PLACES
    ),
    Operation("roll", lambda x: np.roll(x, 1, axis=0), square),
    Operation("pad", lambda x: np.pad(x, 2, mode="edge"), square, _PLACES),
    Operation("tile", lambda x: np.tile(x, (2, 2)), square, _READS),
    Operation("repeat", lambda x: np.repeat(x, 3, axis=0), square, _READS),
    Operation("stack", lambda x, y: np.stack([x, y]), squares),
    Operation("tril", lambda x: np.tril(x), square),
    Operation("diag", lambda x: np.diag(x), square, _READS),
    Operation("kron", lambda x, v: np.kron(x[:8, :8], v), columns, _TWICE),
    Operation("take_along_axis", lambda x, i: np.take_along_axis(x, i, axis=0), orders, _PLACES),
    Operation("einsum ij,ij->i", lambda x, y: np.einsum("ij,ij->i", x, y), squares, _READS),
    Operation("sliding windows", windows, signal, _PLACES),
    Operation("slogdet", lambda a: np.linalg.slogdet(a)[1], definite, "the inverse as well"),
    Operation("pinv", lambda a: np.linalg.pinv(a), definite),
    Operation("matrix_power", lambda a: np.linalg.matrix_power(a / len(a), 3), definite, _TWICE),
    Operation("eigvalsh", lambda a: np.linalg.eigvalsh(a), definite, "the vectors as well"),
    Operation("special.logsumexp", lambda x: scipy.special.logsumexp(x, axis=1), square),
    Operation("special.softmax", lambda x: scipy.special.softmax(x, axis=1), square),
    Operation("special.erf", lambda x: scipy.special.erf(x), square, _MEMORY),
    Operation("special.gammaln", lambda x: scipy.special.gammaln(x), square),
    Operation("stats.norm.cdf", lambda x: scipy.stats.norm.cdf(x), square),
    Operation("linalg.solve_triangular", triangular, system),
    Operation("linalg.cho_solve", by_factor, system),
    Operation("linalg.expm", lambda a: scipy.linalg.expm(a / len(a)), definite),
    Operation("distance.cdist", lambda x, y: scipy.spatial.distance.cdist(x, y), squares, _IN_C),
    Operation("signal.convolve2d", lambda x: scipy.signal.convolve2d(x, KERNEL), square),
    Operation("ndimage.gaussian_filter", lambda x: gaussian_filter(x, 1.5), square),
    Operation("sparse @ vector", lambda v: SPARSE[len(v)] @ v, vector, _READS),
    Operation("fft2", lambda x: np.abs(np.fft.fft2(x)), square, _MEMORY),
    Operation("rfft", lambda x: np.abs(np.fft.rfft(x)), square, _MEMORY),
]


def least(call: Callable[[], Any]) -> float:
    """Seconds of processor time of one call: the least of several rounds of enough calls."""
    call()
    began = time.process_time()
    call()
    once = max(time.process_time() - began, 1e-6)
    count = max(1, int(SECONDS / ROUNDS / once))
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(count):
            call()
        rounds.append((time.process_time() - began) / count)
    return min(rounds)


def ratio(operation: Operation, n: int) -> tuple[float, float]:
    """Seconds of the operation, and how many times as long its pullback takes."""
    args = operation.given(n, np.random.default_rng(n))
    value, pullback = tl.vjp(operation.fn, *args)
    seed = np.random.default_rng(0).random(np.shape(value))
    seed = seed if np.ndim(value) else float(seed)
    primal = least(lambda: operation.fn(*args))
    return primal, least(lambda: pullback(seed)) / primal


def rows(only: str, sizes: list[str]) -> Iterator[tuple[Operation, list[tuple[float, float]]]]:
    for operation in OPERATIONS:
        if only in operation.name:
            yield operation, [ratio(operation, SIZES[size]) for size in sizes]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="operations with this in their name")
    parser.add_argument("--sizes", default=",".join(SIZES), help="some of small, middle, large")
    parser.add_argument("--markdown", action="store_true", help="a table for the docs")
    chosen = parser.parse_args()
    sizes = chosen.sizes.split(",")
    if chosen.markdown:
        print("| operation |" + "".join(f" n = {SIZES[s]} |" for s in sizes) + " reason |")
        print("|---" * (len(sizes) + 2) + "|")
    for operation, found in rows(chosen.only, sizes):
        if chosen.markdown:
            cells = " | ".join(f"{times:.1f}" for _, times in found)
            why = operation.why if found[-1][1] > LIMIT else ""
            print(f"| `{operation.name}` | {cells} | {why} |", flush=True)
        else:
            cells = "".join(f"{1e6 * s:11.1f} us x{times:5.1f}" for s, times in found)
            print(f"{operation.name:20s}{cells}", flush=True)


if __name__ == "__main__":
    main()
