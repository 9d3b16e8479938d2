"""The textbook example, y = ln(x1) + x1 x2 - sin(x2) at (2, 5), in both modes.

Prints the emitted tangent and adjoint programs and the numbers they give: the tangent along
x1 is 5.5, the adjoints are 5.5 and 1.716.

    python examples/worked_example.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import tangentlike as tl


def f(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def values() -> dict[str, float]:
    """Value, tangent along x1 and x2, and both adjoints at (2, 5)."""
    value, along_x1 = tl.jvp(f, (2.0, 5.0), (1.0, 0.0))
    _, along_x2 = tl.jvp(f, (2.0, 5.0), (0.0, 1.0))
    x1_bar, x2_bar = tl.grad(f, wrt=("x1", "x2"))(2.0, 5.0)
    return {
        "y": float(value),
        "y_dot along x1": float(along_x1),
        "y_dot along x2": float(along_x2),
        "x1_bar": float(x1_bar),
        "x2_bar": float(x2_bar),
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1, help="accepted like everywhere; unused")
    parser.parse_args(argv)
    both = ("x1", "x2")
    print("# forward mode: a tangent under every statement\n")
    print(tl.autodiff(f, wrt=both, mode="forward").source)
    print("# reverse mode: the adjoints of the statements, backwards\n")
    print(tl.autodiff(f, wrt=both, mode="reverse").source)
    print("# at (2, 5)\n")
    for name, value in values().items():
        print(f"{name:15} {value:7.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
