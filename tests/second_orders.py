"""The four second derivatives by mixed modes, of every program of the collection.

python -m tests.second_orders [--only grids] [--ways reverse_over_reverse]

The witnesses of a second derivative along two directions are central differences of the first
one, and the four ways of composing the modes, which must agree with each other.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import inspect
import io
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import tangentlike as tl
from tests import agreement
from tests.programs import BY_NAME, PROGRAMS, Program


class Point:
    """A program at its arguments, with two directions to differentiate along."""

    def __init__(self, name: str) -> None:
        self.program: Program = BY_NAME[name]
        self.wrt = self.program.wrt
        self.args = self.program.arguments()
        self.u = agreement.directions_for(self.args, self.wrt, 1)
        self.v = agreement.directions_for(self.args, self.wrt, 2)
        self.gradient = tl.grad(self.program.fn, wrt=self.wrt)

    def chosen(self, values: Any) -> list[Any]:
        return [values[k] for k in self.wrt]

    def along(self, direction: list[Any], gradient: Any) -> float:
        return agreement.inner(self.chosen(direction), list(gradient))

    @functools.cached_property
    def expected(self) -> float:
        """The second derivative along u and v by central differences of the first."""

        def first(*args: Any) -> float:
            return self.along(self.u, self.gradient(*args))

        return agreement.slope(first, self.args, self.v)

    def check(self, got: float) -> None:
        tolerance = max(self.program.tolerance, 1e-5)
        assert agreement.close(got, self.expected, tolerance), (got, self.expected)


@functools.cache
def point(name: str) -> Point:
    return Point(name)


def quietly(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        return fn(*args, **kwargs)


def forward_over_reverse(p: Point) -> float:
    _, change = quietly(tl.jvp, p.gradient, p.args, tuple(p.v))
    return p.along(p.u, change)


def reverse_over_reverse(p: Point) -> float:
    _, pullback = quietly(tl.vjp, p.gradient, *p.args)
    return p.along(p.v, p.chosen(quietly(pullback, tuple(p.chosen(p.u)))))


def tangent_function(p: Point) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The emitted forward function, and its tangents along u, by position or by name."""
    derivative = tl.autodiff(p.program.fn, wrt=p.wrt, mode="forward")
    dots = tuple(map(with_zeros, p.chosen(p.u)))
    parameters = list(inspect.signature(derivative).parameters.values())[-len(p.wrt) :]
    if any(q.kind is q.KEYWORD_ONLY for q in parameters):
        return derivative, (), dict(zip([q.name for q in parameters], dots, strict=True))
    return derivative, dots, {}


def with_zeros(direction: Any) -> Any:
    """A direction in which attributes that no tangent belongs to are 0, as emitted code has it."""
    if hasattr(direction, "__dict__"):
        direction = copy.copy(direction)
        for name, value in vars(direction).items():
            setattr(direction, name, 0.0 if value is None else value)
    return direction


def reverse_over_forward(p: Point) -> float:
    derivative, dots, named = tangent_function(p)
    _, pullback = quietly(tl.vjp, derivative, *p.args, *dots, **named)
    return p.along(p.v, p.chosen(quietly(pullback, (0.0, 1.0))))


def forward_over_forward(p: Point) -> float:
    derivative, dots, named = tangent_function(p)
    args, along = (*p.args, *dots), (*p.v, *(None for _ in dots))
    _, (_, change) = quietly(tl.jvp, derivative, args, along, **named)
    return float(change)


def hessian_product(p: Point) -> float:
    product = quietly(tl.hvp(p.program.fn, wrt=p.wrt), *p.args, tuple(p.chosen(p.v)))
    return p.along(p.u, product)


MODES = (forward_over_reverse, reverse_over_reverse, reverse_over_forward, forward_over_forward)
WAYS = (*MODES, hessian_product)


def outcome(name: str, way: Callable[[Point], float]) -> tuple[str, str]:
    """ "right", "refused", "WRONG" or "CRASH", and what there is to say about it."""
    try:
        got = way(point(name))
    except tl.UnsupportedError as error:
        return "refused", error.message
    except Exception as error:  # (loud, and unclear to a user)
        place = traceback.extract_tb(error.__traceback__)[-1]
        first = str(error).partition("\n")[0]
        return "CRASH", f"{type(error).__name__}: {first} ({place.filename}:{place.lineno})"
    try:
        point(name).check(got)
    except AssertionError as error:
        return "WRONG", str(error).partition("\n")[0]
    return "right", ""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="programs whose names start so")
    parser.add_argument("--ways", default="", help="by name, with commas between")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    wanted = options.ways.split(",") if options.ways else [way.__name__ for way in MODES]
    bad = 0
    for way in (way for way in MODES if way.__name__ in wanted):
        counts: Counter[str] = Counter()
        for program in (p for p in PROGRAMS if p.name.startswith(options.only)):
            result, remark = outcome(program.name, way)
            counts[result] += 1
            if result != "right":
                print(f"{way.__name__} {result:7} {program.name}: {remark}", flush=True)
        print(f"{way.__name__}: " + ", ".join(f"{n} {k}" for k, n in sorted(counts.items())))
        bad += counts["WRONG"] + counts["CRASH"]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
