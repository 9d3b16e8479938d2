"""What a transform does grows as the program does: calls of functions are counted, not seconds."""

from __future__ import annotations

import cProfile
import pstats
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike import ir
from tangentlike.ad.context import Context
from tangentlike.ad.normalize.common import share_loads
from tangentlike.ad.specialize.callees import Callees
from tangentlike.analysis import outer_objects
from tangentlike.analysis.kinds import infer_kinds
from tangentlike.api.handback import Operator
from tangentlike.codegen.optimize.coalesce import plainly_named
from tangentlike.codegen.optimize.facts import Facts
from tangentlike.codegen.print import show
from tangentlike.frontend import structures
from tangentlike.frontend.lower import names_of, program
from tangentlike.ir.facts import fact
from tangentlike.ir.index import references
from tangentlike.ir.kind import FLOAT, UNKNOWN, Kind
from tangentlike.pipeline import builder
from tangentlike.pipeline.stages import Request, derive
from tangentlike.pipeline.table import collecting
from tangentlike.rules.book import default_book
from tangentlike.testing import check_grads
from tests.generator import load
from tests.processes import python

ROOT = Path(__file__).parent.parent


def calls_of(fn: Callable[..., Any], *args: Any) -> int:
    """How many functions are called, generators resumed included."""
    profile = cProfile.Profile()
    profile.runcall(fn, *args)
    found: int = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    return found


def products(count: int) -> tuple[Any, dict[str, Facts]]:
    """A program with so many temporaries, each with an adjoint; every third number is taken."""
    names = [f"product{n + 2}" for n in range(count)]
    lines = [f"{n} = a * b\n{n}_bar = {n} * c" for n in names[::3]]
    lines += [f"{n}_bar = a * c" for n in names[1::3]]
    function = program("\n".join([*lines, "return a"]))
    return (function,), {function.name: Facts(temporaries=frozenset(names))}


def test_names_are_renumbered_in_linear_time() -> None:
    few, many = (calls_of(plainly_named, *products(count)) for count in (200, 800))
    assert many < 4.2 * few


def test_repeated_values_are_found_in_linear_time() -> None:
    def written(count: int) -> tuple[ir.Function, Context]:
        lines = [f"t{n} = a * {n}.0\ns{n} = a * {n}.0\nb{n} = t{n} - s{n}" for n in range(count)]
        function = program("\n".join([*lines, "return b0"]))
        names = {f"{letter}{n}" for letter in "ts" for n in range(count)}
        kinds = infer_kinds(function, {"a": FLOAT}, default_book())
        context = Context(kinds, default_book(), Callees(), names_of(function), temporaries=names)
        return function, context

    function, context = written(2)
    shared = share_loads(function, context)
    assert len(shared.body) == len(function.body) - 2, show(shared.body)
    few, many = (calls_of(share_loads, *written(count)) for count in (50, 200))
    assert many < 4.2 * few


def written_blocks(count: int) -> str:
    """Arrays that are written, lists and branches: who may read what is asked of each of them."""
    blocks = (
        f"    u{k} = np.sin(x) * y\n    if u{k}[0] > 0.5:\n        u{k}[0] *= s\n"
        f"    p{k} = [u{k}, x]\n    p{k}[1] = p{k}[0] * 0.5\n    y[1:] += 0.3 * p{k}[1][:-1]\n"
        for k in range(count)
    )
    return "def program(x, y, s):\n" + "".join(blocks) + "    return np.sum(y) * s\n"


def long_loop(count: int) -> str:
    """A loop with a long body, of which each line is saved, taken back or computed again."""
    lines = (f"        a{k} = np.sin(y) * {k}.5\n        y = y * a{k} + x\n" for k in range(count))
    head = "def program(x, y, s):\n    for t in range(3):\n"
    return head + "".join(lines) + "    return np.sum(y) * s\n"


@pytest.mark.parametrize("text", [written_blocks, long_loop])
def test_a_derivative_is_made_in_linear_time(text: Callable[[int], str]) -> None:
    def made(count: int) -> int:
        primal = load(text(count), f"{text.__name__} {count}")
        return calls_of(derive, primal, Request("grad", ("x", "y", "s")))

    made(1)  # (what the first derivative finds is kept for all others)
    few, many = (made(count) for count in (10, 40))
    assert many < 4.2 * few


def test_the_lowest_free_numbers_are_given() -> None:
    functions, facts = products(8)  # (2, 5, 8 with adjoints; adjoints alone of 3, 6, 9)
    text = show(plainly_named(functions, facts)[0][0].body)
    bound = [line.partition(" = ")[0] for line in text.splitlines()[:-1]]
    assert bound == [
        *("product", "product_bar", "product4", "product4_bar", "product7", "product7_bar"),
        *("product3_bar", "product6_bar", "product9_bar"),
    ]


def test_references_are_listed_once_in_program_order() -> None:
    function = program("y = a * b\nif abs(y) > a:\n    y = a * y\n    print(y)\nreturn -y")
    assert [ref.text for ref in fact(references, function)] == ["*", ">", "abs", "print", "-"]


def test_a_second_derivative_makes_no_gradient_that_no_call_runs() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x)

    x, v = np.linspace(0.1, 1.0, 3), np.array([1.0, -1.0, 0.5])
    with collecting() as made:
        product = tl.hvp(f)(x, v)
    assert len(made) == 2, [list(record.made) for record in made]
    exact = (2.0 * np.cos(x) - x * np.sin(x)) * v
    assert np.allclose(product, exact)
    with collecting() as made:
        matrix = tl.hessian(f)(x)
    assert len(made) == 1  # (the gradient is that of the product)
    assert np.allclose(matrix @ v, exact)


def squashed(v: Any) -> Any:
    return v / (1.0 + v)


def test_a_derivative_is_made_for_the_arguments_of_a_call_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it calls is known to the run alone: it was made for them again in 100 rounds."""

    def f(x: Any) -> Any:
        return sum(
            (np.tanh if key == "g" else squashed)(v) for key, v in {"f": x, "g": 2 * x}.items()
        )

    made: list[Any] = []
    for_structures = Operator.for_structures

    def noted(self: Operator, function: Any, required: Any) -> Any:
        made.append(required)
        return for_structures(self, function, required)

    monkeypatch.setattr(Operator, "for_structures", noted)
    second = tl.grad(lambda y: tl.grad(f)(y))(0.5)
    np.testing.assert_allclose(second, -2 / 1.5**3 - 8 * np.tanh(1.0) / np.cosh(1.0) ** 2)
    assert len(made) < 8


class Layer:
    def __init__(self, w: Any) -> None:
        self.w = w

    def __call__(self, x: Any) -> Any:
        return np.tanh(self.w * x)


class Twice:
    def __init__(self, layer: Any) -> None:
        self.layer = layer

    def __call__(self, x: Any) -> Any:
        return self.layer(self.layer(x))


def test_kinds_are_inferred_once_for_the_same_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return np.sum(Twice(Layer(x[:2]))(x[2:]))

    asked: list[tuple[ir.Function, dict[str, Kind]]] = []
    infer = builder.infer_kinds

    def noted(function: ir.Function, given: dict[str, Kind], book: Any) -> dict[str, Kind]:
        asked.append((function, {n: k for n, k in given.items() if k != UNKNOWN}))
        return infer(function, given, book)

    monkeypatch.setattr(builder, "infer_kinds", noted)
    assert np.sum(tl.grad(f)(np.array([0.1, 0.2, 0.3, 0.4]))) != 0.0
    every = [(id(function), given) for function, given in asked]
    assert len(every) > 5
    assert all(every.count(one) == 1 for one in every)


def other(x: Any, n: int) -> Any:
    y = half(x, n)
    y[0] += 1.0
    return y * x + np.sum(y)


def half(x: Any, n: int) -> Any:
    if n <= 0:
        return np.sin(x)
    return 0.5 * other(x, n - 1) + x


def test_what_was_assumed_of_a_recursive_call_is_not_kept() -> None:
    def loss(x: Any) -> Any:  # (a recursive call is taken to give a float until it is known)
        a, b = half(x, 2), other(x, 1)
        a[1] = a[1] * 2.0
        return np.sum(a * b)

    x = np.array([0.3, 0.7, 1.1])
    check_grads(loss, (x,))


def recurrence(x: Any) -> Any:
    h = np.zeros(4)
    for i in range(3):
        a = np.sin(x[i]) * h
        h = 0.5 * h + np.exp(-a * a) / (1.0 + h * h)
        if np.sum(h) > 3.0:
            h = h * 0.5
    return np.sum(h)


def test_what_nothing_changes_stays_the_same_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """(What is known of a function is worked out again for each that is made.)"""
    made = []
    rewriting = sys.modules[ir.Rewriter.__module__]
    with_body = ir.with_body

    def checked(function: ir.Function, body: ir.Block) -> ir.Function:
        if body is not function.body and body == function.body:
            made.append(sys._getframe(2).f_code.co_name)
        return with_body(function, body)

    monkeypatch.setattr(rewriting, "with_body", checked)
    derivative = tl.autodiff(tl.grad(recurrence), mode="forward")
    assert "x_bar_dot" in derivative.source
    assert not made


LEFT_FOR_THE_COLLECTOR = """
import gc
import tangentlike as tl
from tangentlike.rules.book import default_book
from tests.test_transform_growth import recurrence
default_book()
gc.collect()
gc.disable()
print(len(tl.value_and_grad(recurrence).source), gc.collect())
"""


def test_what_a_transform_makes_is_gone_without_garbage_collection() -> None:
    # (in a process of its own: caches that are full let go of what other tests have made)
    length, left = map(int, python("-c", LEFT_FOR_THE_COLLECTOR).split())
    assert length > 100
    assert left < 300  # (tools that print; what is worked out of a program are thousands)


REGISTRY = """
import numpy as np


class Unit:
    def __init__(self, k):
        self.k, self.table = k, {"factor": [1.0 + k]}

    def scaled(self, x):
        return x * self.table["factor"][0]


class Registry:
    def __init__(self):
        self.units = {f"u{k}": Unit(k) for k in range(20)}

    def scaled(self, x):
        return x * self.units["u1"].k


REGISTRY = Registry()


def program(x):
"""


def test_outer_objects_are_looked_through_once_a_transform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each statement that names them: a registry of units holds thousands of objects."""
    looked = [0]

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def look(*args: Any) -> Any:
            looked[0] += 1
            return original(*args)

        return look

    monkeypatch.setattr(structures, "_structure_of", counted(structures._structure_of))
    monkeypatch.setattr(outer_objects, "_items", counted(outer_objects._items))
    found = []
    for lines in (2, 8):
        text = REGISTRY + "    x = REGISTRY.scaled(x)\n" * lines + "    return np.sum(x)\n"
        f = load(text, f"registry of {lines}")
        looked[0] = 0
        tl.grad(f)(np.array([0.3, 0.7]))
        found.append(looked[0])
    assert found[1] < 1.2 * found[0], found
