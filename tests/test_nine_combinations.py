"""The nine second derivatives of a program: `tl.grad`, `tl.jvp` and `tl.vjp` over each of them.

The inner operator stands in a function of its own, which gives the first derivative along a
direction u; the outer one differentiates that function along v. The nine must agree with central
differences of the gradient, and with each other to rounding.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import linecache
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.programs import BY_NAME, Program
from tests.sampled import one_in

CHOSEN = [
    "straight_line.nested_expression",
    "straight_line.augmented_numbers",
    "straight_line.two_layers",
    "branches.huber",
    "branches.early_return",
    "branches.where_and_masks",
    "loops.tanh_rnn",
    "loops.with_break",
    "loops.logistic_map",
    "while_loops.newton_root",
    "while_loops.continued_fraction",
    "calls.several_results",
    "calls.in_loop",
    "calls.inner_closure",
    "function_values.composition",
    "recursion.fast_power",
    "indexing.gather_rows",
    "inplace.parameter_written",
    "inplace.parameter_overwritten",
    "inplace.helper_writes",
    "inplace.list_items",
    "containers_readonly.nested_dict",
    "containers_readonly.layers_loop",
    "containers_readonly.namedtuple_fields",
    "containers_readonly.object_attributes",
    "container_calls.dict_filled_in_loop",
    "container_calls.list_swap",
    "container_calls.stack_of_pairs",
    "objects.overwritten_attribute",
    "objects.halves",
    "made_objects.made_by_helper",
    "statements.try_cholesky_fine",
    "factorizations.cholesky_logdet",
    "solvers.thomas",
    "grids.gauss_seidel_1d",
]
OPERATORS = ("grad", "jvp", "vjp")
_count = itertools.count()


def leaf_paths(x: Any, path: str) -> Iterator[str]:
    """The expressions of all leaves of a structure: `g[0]['w']`, `g[1].b`."""
    if agreement.is_number(x):
        yield path
    elif isinstance(x, dict):
        for key, value in x.items():
            yield from leaf_paths(value, f"{path}[{key!r}]")
    elif isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        for k, value in enumerate(x):
            yield from leaf_paths(value, f"{path}[{k}]")
    elif hasattr(x, "_fields") or (hasattr(x, "__dict__") and not callable(x)):
        for name in getattr(x, "_fields", None) or vars(x):
            yield from leaf_paths(getattr(x, name), f"{path}.{name}")


def inner_product(structures: dict[str, Any]) -> str:
    """The text of the inner product of gradients and directions: `np.sum(g[0] * u0) + ...`;
    `structures` are the arguments by the expressions of their gradients."""
    terms = [
        f"np.sum({g} * {u})"
        for number, (path, x) in enumerate(structures.items())
        for g, u in zip(leaf_paths(x, path), leaf_paths(x, f"u{number}"), strict=True)
    ]
    return " + ".join(terms)


def derivative_along(program: Program, operator: str) -> Callable[..., Any]:
    """`along(x0, x1, u0)`: the derivative of a program along a direction, by one operator."""
    args, wrt = program.arguments(), program.wrt
    xs = [f"x{k}" for k in range(len(args))]
    us = [f"u{number}" for number in range(len(wrt))]
    if operator == "grad":
        product = inner_product({f"g[{n}]": args[k] for n, k in enumerate(wrt)})
        lines = [f"g = tl.grad(f, wrt={wrt!r})({', '.join(xs)})", f"return {product}"]
    elif operator == "jvp":
        dots = [us[wrt.index(k)] if k in wrt else "None" for k in range(len(args))]
        lines = [f"return tl.jvp(f, ({', '.join(xs)},), ({', '.join(dots)},))[1]"]
    else:
        product = inner_product({f"g[{k}]": args[k] for k in wrt})
        lines = [f"value, back = tl.vjp(f, {', '.join(xs)})", "g = back(1.0)", f"return {product}"]
    text = f"def along({', '.join(xs + us)}):\n    " + "\n    ".join(lines) + "\n"
    file = f"<{program.name} by {operator} {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace: dict[str, Any] = {"np": np, "tl": tl, "f": program.fn, "__name__": __name__}
    exec(compile(text, file, "exec"), namespace)
    found: Callable[..., Any] = namespace["along"]
    return found


class Point:
    """A program at its arguments, two directions, and what the second derivative must be."""

    def __init__(self, name: str) -> None:
        self.program: Program = BY_NAME[name]
        self.args = self.program.arguments()
        self.us = agreement.directions_for(self.args, self.program.wrt, 1)
        self.vs = agreement.directions_for(self.args, self.program.wrt, 2)

    def chosen(self, values: Any) -> list[Any]:
        return [values[k] for k in self.program.wrt]

    def by_differences(self) -> float:
        gradient = tl.grad(self.program.fn, wrt=self.program.wrt)

        def first(*args: Any) -> float:
            return agreement.inner(self.chosen(self.us), list(gradient(*args)))

        return agreement.slope(first, self.args, self.vs)

    def second(self, outer: str, inner: str) -> float:
        """The derivative along v, by one operator, of that along u by another."""
        along = derivative_along(self.program, inner)
        wrt, us = self.program.wrt, self.chosen(self.us)
        if outer == "grad":
            gradient = tl.grad(along, wrt=wrt)(*self.args, *us)
            return agreement.inner(self.chosen(self.vs), list(gradient))
        if outer == "jvp":
            return float(tl.jvp(along, (*self.args, *us), (*self.vs, *(None for _ in us)))[1])
        _, pullback = tl.vjp(along, *self.args, *us)
        return agreement.inner(self.chosen(self.vs), self.chosen(pullback(1.0)))


WAYS = tuple(itertools.product(OPERATORS, OPERATORS))
# All nine for some programs; for each other one three, so that each operator is over another once
# and under another once.
CASES = [
    pytest.param(name, [WAYS[3 * i + (k - i) % 3] for i in range(3)] if k % 4 else WAYS, id=name)
    for k, name in enumerate(CHOSEN)
]


@pytest.mark.parametrize(("name", "ways"), one_in(4, CASES[::3]))
def test_second_derivatives(name: str, ways: list[tuple[str, str]]) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        point = Point(name)
        by_differences = point.by_differences()
        found = {way: point.second(*way) for way in ways}
    tolerance = max(point.program.tolerance, 1e-5)
    for way, got in found.items():
        assert agreement.close(got, by_differences, tolerance), (way, got, by_differences)
        assert agreement.close(got, found[ways[0]], 1e-9), (way, found)
