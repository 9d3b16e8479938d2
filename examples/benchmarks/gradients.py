"""Value and gradient: the emitted code beside a hand-written gradient and HIPS autograd.

"Emitted" knows nothing of its arguments; "with example=" was told their ranks by example
arguments. All contenders are checked against each other (and the hand-written one against central
differences), then timed in turns in one run; the minimum of the repeats counts.

    python examples/benchmarks/gradients.py [--repeats 7] [--only mlp,rnn]
"""

from __future__ import annotations

import argparse
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tangentlike as tl

sys.path.insert(0, str(Path(__file__).resolve().parent))
import handwritten
from report import print_table
from timing import fastest

# ----------------------------------------------------------------------------- programs


def mlp(w1, b1, w2, b2, w3, b3, x, onehot):
    h = np.tanh(x @ w1 + b1)
    k = np.tanh(h @ w2 + b2)
    z = k @ w3 + b3
    m = np.max(z, axis=1, keepdims=True)
    log_p = z - m - np.log(np.sum(np.exp(z - m), axis=1, keepdims=True))
    return -np.sum(onehot * log_p) / len(x)


def rnn(w, u, b, xs, target):
    h = np.zeros(w.shape[0])
    for x in xs:
        h = np.tanh(w @ h + u @ x + b)
    r = h - target
    return np.sum(r * r)


def logistic(w, x, y):
    z = x @ w
    return np.sum(np.log(1.0 + np.exp(-y * z)))


def euler(theta, omega, gravity, steps):
    dt = 0.01
    for _ in range(steps):
        a = -gravity * np.sin(theta) - 0.1 * omega
        theta = theta + dt * omega
        omega = omega + dt * a
    return theta * theta + omega * omega


@dataclass(frozen=True)
class Case:
    """A program, its arguments, how many of them to differentiate, the expert's gradient."""

    title: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    active: int
    by_hand: Callable[..., tuple[Any, tuple[Any, ...]]]


def cases() -> dict[str, Case]:
    """The four programs, with arguments from a fixed seed."""
    rng = np.random.default_rng(0)

    def weights(n: int, m: int) -> np.ndarray:
        return rng.normal(size=(n, m)) / np.sqrt(n)

    layers: list[Any] = []
    for n, m in ((784, 256), (256, 128), (128, 10)):
        layers += [weights(n, m), 0.1 * rng.normal(size=m)]
    images = rng.normal(size=(64, 784))
    onehot = np.eye(10)[rng.integers(0, 10, 64)]
    recurrent = (weights(64, 64), weights(64, 32), 0.1 * rng.normal(size=64))
    sequence = (rng.normal(size=(100, 32)), rng.normal(size=64))
    table = (rng.normal(size=3), rng.normal(size=(20, 3)), np.sign(rng.normal(size=20)))
    return {
        "mlp": Case(
            "MLP 784-256-128-10, batch 64", mlp, (*layers, images, onehot), 6, handwritten.mlp
        ),
        "rnn": Case("tanh RNN, 100 steps", rnn, (*recurrent, *sequence), 3, handwritten.rnn),
        "logistic": Case("logistic regression, 20 rows", logistic, table, 1, handwritten.logistic),
        "euler": Case(
            "scalar Euler loop, 1,000 steps", euler, (0.5, 0.1, 9.8, 1000), 3, handwritten.euler
        ),
    }


# ---------------------------------------------------------------------------- contenders


def by_autograd(case: Case) -> Callable[..., Any] | None:
    """The same program on autograd's NumPy, or None where autograd is not installed."""
    try:
        import autograd
        import autograd.numpy
    except ImportError:
        return None
    names = {**case.fn.__globals__, "np": autograd.numpy}
    twin = types.FunctionType(case.fn.__code__, names, case.fn.__name__)
    return autograd.value_and_grad(twin, tuple(range(case.active)))


def check(case: Case, contenders: dict[str, Callable[..., Any]]) -> None:
    """The hand-written gradient against central differences, all others against it."""
    value, gradient = contenders["by hand"](*case.args)
    rng = np.random.default_rng(1)
    active = case.args[: case.active]
    directions = [rng.normal(size=np.shape(a)) for a in active]
    slope = sum(float(np.sum(g * d)) for g, d in zip(gradient, directions, strict=True))
    h = 1e-5
    sides = [
        case.fn(
            *(a + s * h * d for a, d in zip(active, directions, strict=True)),
            *case.args[case.active :],
        )
        for s in (1.0, -1.0)
    ]
    np.testing.assert_allclose(slope, (sides[0] - sides[1]) / (2 * h), rtol=1e-6)
    for name, contender in contenders.items():
        other_value, other = contender(*case.args)
        np.testing.assert_allclose(other_value, value, rtol=1e-10, err_msg=name)
        for got, expected in zip(other, gradient, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10, err_msg=name)


def measure(case: Case, repeats: int) -> dict[str, float]:
    """Seconds of one call for the primal and each contender."""
    wrt = tuple(range(case.active))
    contenders = {
        "by hand": case.by_hand,
        "emitted": tl.value_and_grad(case.fn, wrt=wrt),
        "shapes known": tl.value_and_grad(case.fn, wrt=wrt, example=case.args),
    }
    peer = by_autograd(case)
    if peer is not None:
        contenders["autograd"] = peer
    check(case, contenders)
    return fastest({"primal": case.fn, **contenders}, case.args, repeats)


def rows(names: Iterable[str], repeats: int) -> list[list[str]]:
    table = []
    for name in names:
        case = cases()[name]
        seconds = measure(case, repeats)
        peer = seconds.get("autograd")
        table.append(
            [
                case.title,
                *(f"{1e6 * seconds[k]:,.1f}" for k in ("primal", "by hand", "emitted")),
                "-" if peer is None else f"{1e6 * peer:,.1f}",
                f"{seconds['emitted'] / seconds['primal']:.2f}",
                f"{seconds['emitted'] / seconds['by hand']:.2f}",
                f"{seconds['shapes known'] / seconds['by hand']:.2f}",
                "-" if peer is None else f"{peer / seconds['emitted']:.2f}",
            ]
        )
    return table


COLUMNS = (
    "program",
    "primal us",
    "by hand us",
    "emitted us",
    "autograd us",
    "emitted / primal",
    "emitted / by hand",
    "with example=",
    "autograd / emitted",
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default=",".join(cases()), help="mlp,rnn,logistic,euler")
    parser.add_argument("--source", action="store_true", help="print the emitted gradients too")
    options = parser.parse_args(argv)
    names = options.only.split(",")
    if options.source:
        for name in names:
            case = cases()[name]
            print(tl.value_and_grad(case.fn, wrt=tuple(range(case.active))).source)
    print_table("value and gradient, minimum of repeats", COLUMNS, rows(names, options.repeats))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
