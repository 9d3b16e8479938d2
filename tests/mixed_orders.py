"""All mixtures of `tl.grad`, `tl.jvp` and `tl.vjp` of an order, each operator in a function of its
own around the one before, against tangents of tangents.

python -m tests.mixed_orders [--order 4] [--only repeated,in_place]
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tangentlike as tl
from tests import agreement

Function = Callable[..., Any]
AT = 0.7


def repeated(x):
    y = x
    for _ in range(3):
        y = np.sin(y) * x
    return y


def squared(x):
    return x * x


def by_helper(x):
    if x > 0.0:
        return squared(np.cos(x)) * squared(x)
    return x


def in_place(x):
    a = np.zeros(3)
    a[0] = x
    for i in range(2):
        a[i + 1] = a[i] * x + np.tanh(x)
    a[1] *= a[2]
    return a[1]


def in_list(x):
    terms = [1.0]
    for i in range(3):
        terms.append(terms[-1] * x / (i + 1.0))
    last = terms.pop()
    return terms[-1] * last + terms[1]


def in_dict(x):
    d = {"a": x, "b": math.exp(x)}
    d["c"] = d["a"] * d["b"]
    total = 0.0
    for value in d.values():
        total = total + value * value
    return total


class Pair(NamedTuple):
    first: Any
    second: Any


def rotated(pair, angle):
    c, s = np.cos(angle), np.sin(angle)
    return Pair(c * pair.first - s * pair.second, s * pair.first + c * pair.second)


def in_tuple(x):
    pair = Pair(x, x * x)
    for _ in range(2):
        pair = rotated(pair, x)
    return pair.first * pair.second


FUNCTIONS = (repeated, by_helper, in_place, in_list, in_dict, in_tuple)


def by_tangent(f: Function) -> Function:
    def change(x):
        return tl.jvp(f, (x,), (1.0,))[1]

    return change


def by_pullback(f: Function) -> Function:
    def bar(x):
        _, back = tl.vjp(f, x)
        return back(1.0)[0]

    return bar


OPERATORS: dict[str, Callable[[Function], Function]] = {
    "g": tl.grad,
    "t": by_tangent,
    "p": by_pullback,
}


def mixed(f: Function, mixture: str) -> Function:
    """The derivative by the operators of a mixture, the innermost first."""
    for letter in mixture:
        f = OPERATORS[letter](f)
    return f


def outcome(f: Function, mixture: str) -> str:
    """ "right", or what is not."""
    expected = float(mixed(f, "t" * len(mixture))(AT))
    try:
        got = float(mixed(f, mixture)(AT))
    except tl.UnsupportedError as error:
        return f"refused: {error.message}"
    except Exception as error:  # (loud, and unclear to a user)
        return f"CRASH: {type(error).__name__}: {error}".partition("\n")[0]
    return "right" if agreement.close(got, expected, 1e-9) else f"WRONG: {got}, not {expected}"


def mixtures(order: int) -> list[str]:
    return ["".join(letters) for letters in itertools.product(OPERATORS, repeat=order)]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Mixtures of operators at one order.")
    parser.add_argument("--order", type=int, default=4)
    parser.add_argument("--only", default="", help="functions, by name, with commas between")
    options = parser.parse_args(argv)
    wanted = options.only.split(",") if options.only else [f.__name__ for f in FUNCTIONS]
    bad = 0
    for f in (f for f in FUNCTIONS if f.__name__ in wanted):
        found = {mixture: outcome(f, mixture) for mixture in mixtures(options.order)}
        right = sum(result == "right" for result in found.values())
        print(f"{f.__name__}: {right} of {len(found)} are right")
        for mixture, result in found.items():
            if result != "right":
                print(f"  {mixture} {result}")
        bad += any(result.startswith(("WRONG", "CRASH")) for result in found.values())
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
