"""Derivatives of derivatives: every mode over every mode (`tests.second_orders`), the operators
over each other, and orders three and four."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement, mixed_orders
from tests.sampled import one_in
from tests.second_orders import WAYS, Point, point

CHOSEN = [  # beside those of tests/test_nine_combinations.py
    "branches.nested_if",
    "branches.one_branch_only",
    "loops.power",
    "loops.tuple_of_arrays",
    "loops.running_maximum",
    "while_loops.nested_while",
    "calls.nested_calls",
    "recursion.de_casteljau",
    "indexing.masked",
    "indexing.moving_slice_bounds",
    "indexing.interpolated",
    "inplace.view_of_row",
    "inplace.row_swap",
    "inplace.out_argument",
    "inplace.gathered_store",
    "inplace.swapped_buffers",
    "numbers.math_module",
    "numbers.complex_modulus",
    "broadcasting.standardised",
    "broadcasting.softmax_rows",
    "broadcasting.reductions",
    "broadcasting.stacked",
    "factorizations.lu_logdet",
    "factorizations.gram_schmidt",
    "factorizations.gauss_jordan_inverse",
    "factorizations.householder",
    "solvers.forward_substitution",
    "solvers.conjugate_gradient",
    "grids.gauss_seidel_2d",
    "grids.burgers",
    "grids.wave_2d",
    "simulations.pendulum_trajectory",
    "simulations.spring_chain",
    "signals.recursive_filter",
    "signals.prefix_sums",
    "signals.sparse_matvec",
    "signals.sparse_scatter",
    "checkpoints.in_place_stencil",
    "checkpoints.while_loop",
    "checkpoints.several_states",
    "container_calls.list_of_columns",
    "idioms.loop_over_a_set",
    "objects.filtered",
    "objects.cooled",
    "objects.account",
    "statements.try_suppress_0",
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", one_in(9, CHOSEN))
def test_second_derivative(name: str, way: Callable[[Point], float]) -> None:
    point(name).check(way(point(name)))


# --------------------------------------------------------------- the operators of one array

OF_ONE_ARRAY = [
    "straight_line.rosenbrock",
    "branches.early_return",
    "loops.with_continue",
    "indexing.elements",
    "inplace.slice_store",
    "inplace.masked_store",
    "inplace.overwritten_every_step",
    "inplace.list_items",
    "broadcasting.cumulative",
    "solvers.durbin",
    "numbers.unary",
    "recursion.halves_sum",
]


@pytest.mark.parametrize("name", one_in(3, OF_ONE_ARRAY))
def test_operators(name: str) -> None:
    """`hessian`, `jacobian` in both modes, `hvp`, and the gradient of what uses a gradient."""
    p = point(name)
    (x,), f = p.args, p.program.fn
    u, v = p.u[0], p.v[0]
    gradient = tl.grad(f)
    hessian = tl.hessian(f)(x)
    p.check(float(u @ hessian @ v))
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-9, atol=1e-11)
    for mode in ("forward", "reverse", "auto"):
        matrix = tl.jacobian(gradient, mode=mode)(x)
        np.testing.assert_allclose(matrix, hessian, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(tl.hvp(f)(x, v), hessian @ v, rtol=1e-9, atol=1e-11)

    def along_v(x: Any) -> Any:
        return np.sum(gradient(x) * v)

    value, product = tl.value_and_grad(along_v)(x)
    np.testing.assert_allclose(product, hessian @ v, rtol=1e-9, atol=1e-11)
    assert agreement.close(float(value), float(gradient(x) @ v), 1e-12)


# ------------------------------------------------------------------------ orders three, four


def cubic(x: float) -> float:
    return x**3 - 2.0 * x * x + x


def wave(x: float) -> float:
    return math.sin(2.0 * x) * math.exp(-x)


def quotient(x: float) -> float:
    return x / (1.0 + x * x)


def branch(x: float) -> float:
    if x > 0.0:
        y = np.log(1.0 + x)
    else:
        y = -x
    return y * y


def repeated(x: float) -> float:
    y = x
    for _ in range(3):
        y = np.sin(y) * x
    return y


def root(x: float) -> float:
    y = x
    while abs(y * y - x) > 1e-14:
        y = 0.5 * (y + x / y)
    return y


def squared(x: float) -> float:
    return x * x


def by_helper(x: float) -> float:
    return squared(np.cos(x)) * squared(x)


def in_place(x: float) -> float:
    a = np.zeros(3)
    a[0] = x
    for i in range(2):
        a[i + 1] = a[i] * x + np.tanh(x)
    return a[2]


def in_list(x: float) -> float:
    terms = [1.0]
    for i in range(4):
        terms.append(terms[-1] * x / (i + 1.0))
    return terms[2] + terms[3] * terms[4]


def powers(x: float) -> float:
    return x**2.5 + 2.0**x + np.sqrt(x)


OF_NUMBERS = [cubic, wave, quotient, branch, repeated, root, by_helper, in_place, in_list, powers]


def derivatives(f: Callable[..., Any], order: int) -> Callable[..., Any]:
    for _ in range(order):
        f = tl.grad(f)
    return f


@pytest.mark.parametrize("f", one_in(2, OF_NUMBERS), ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", [2, 3, 4])
def test_higher_orders(f: Callable[..., Any], order: int) -> None:
    """Each order against differences of the one before, and forward mode over it."""
    before = derivatives(f, order - 1)
    expected = agreement.slope(before, (0.7,), [1.0], 1e-3)
    assert agreement.close(float(derivatives(f, order)(0.7)), expected, 1e-6)
    _, change = tl.jvp(before, (0.7,), (1.0,))
    assert agreement.close(float(change), expected, 1e-6)


def by_tangent(f: Callable[..., Any]) -> Callable[..., Any]:
    def change(x: float) -> float:
        return tl.jvp(f, (x,), (1.0,))[1]

    return change


def by_pullback(f: Callable[..., Any]) -> Callable[..., Any]:
    def bar(x: float) -> float:
        _, back = tl.vjp(f, x)
        return back(1.0)[0]

    return bar


MIXTURES = [
    (tl.grad, by_tangent, tl.grad, by_tangent),
    (by_tangent, by_pullback, by_tangent, tl.grad),
    (by_pullback, tl.grad, by_tangent, by_pullback),
]


IN_TURN = [  # each function with the next mixture first
    pytest.param(
        f, MIXTURES[(i + j) % 3], id=f"{f.__name__}-{['gtgt', 'tptg', 'pgtp'][(i + j) % 3]}"
    )
    for i, f in enumerate(OF_NUMBERS)
    for j in range(3)
]


@pytest.mark.parametrize(("f", "mixture"), one_in(4, IN_TURN[::3]))
def test_mixed_orders(f: Callable[..., Any], mixture: tuple[Callable[..., Any], ...]) -> None:
    """Order four by mixed operators, against four gradients."""
    mixed = f
    for operator in mixture:
        mixed = operator(mixed)
    assert agreement.close(float(mixed(0.7)), float(derivatives(f, 4)(0.7)), 1e-9)


UNANNOTATED = [  # the rest: `python -m tests.mixed_orders`
    (mixed_orders.in_place, "gpt"),
    (mixed_orders.repeated, "pppp"),
    (mixed_orders.in_list, "tpp"),
    (mixed_orders.in_dict, "ptp"),
    (mixed_orders.by_helper, "gggg"),
    (mixed_orders.by_helper, "gtgg"),
    (mixed_orders.in_list, "ggp"),
    (mixed_orders.in_tuple, "ggp"),
    (mixed_orders.repeated, "tgt"),
]


@pytest.mark.parametrize(("f", "mixture"), one_in(4, [pytest.param(*case) for case in UNANNOTATED]))
def test_mixtures_without_annotations(f: Callable[..., Any], mixture: str) -> None:
    """Calls, containers and writes, whose kinds nothing tells but the program."""
    assert mixed_orders.outcome(f, mixture) == "right"


BY_IDENTITY = [
    tl.grad(by_tangent(tl.grad(by_pullback(in_place)))),
    tl.grad(by_tangent(by_pullback(by_pullback(in_place)))),
]


@pytest.mark.thorough
@pytest.mark.parametrize("mixed", one_in(2, BY_IDENTITY), ids=["tgp", "tpp"])
def test_mixtures_by_identity(mixed: Callable[..., Any]) -> None:
    """A shadow out of a tape is one, too: what its tangents are given and asked for stays."""
    made = mixed.__tangentlike__.derive().specialized_for((0.7,), {})  # type: ignore[attr-defined]
    value = made.by_identity.call((0.7,), {})
    assert agreement.close(float(value), float(derivatives(in_place, 4)(0.7)), 1e-9)


# ------------------------------------------------------------------- what was found on the way


def looping(a: Any, s: Any) -> Any:
    for _ in range(3):
        a = np.sin(a) * s
    return a


def calls_looping(a: Any, b: Any) -> Any:
    c = looping(a, 2.0)
    return c * b


def test_tape_with_stacks() -> None:
    """The stacks in a callee's tape are emptied by its backward function, and filled again."""
    first = tl.grad(calls_looping)
    expected = agreement.slope(first, (0.7, 1.3), [1.0, None])
    assert agreement.close(tl.grad(first)(0.7, 1.3), expected, 1e-8)


def joined_when_asked(x: Any, joined: bool) -> Any:
    parts = None
    if joined:
        parts = [x, x * x]
        x = np.concatenate(parts)
    return np.sum(x**3) + (np.sum(np.stack(parts) ** 2) if joined else 0.0)


@pytest.mark.thorough
def test_adjoints_of_a_list_that_may_be_none() -> None:
    """Two adjoints of a list are added entry by entry, not joined, also on a tape."""
    x, y = np.array([0.3, 0.5, 0.9]), np.array([0.2, 0.9, 0.4])
    tl.check_grads(joined_when_asked, (x, True), order=2)
    tl.check_grads(lambda x, y: np.cov(x, y), (x, y), order=2)


def tanh_energy(x: Any) -> Any:
    h = np.tanh(x)
    return np.sum(h * x)


def test_names_say_what_they_are() -> None:
    assert "x_bar_dot" in tl.hvp(tanh_energy).source
    assert "h_dot" in tl.hvp(tanh_energy).source
    source = tl.autodiff(tl.autodiff(tanh_energy, mode="forward"), wrt="x").source
    assert "x_dot" in source and "x_bar" in source


DATA = np.array([0.2, 0.5])


def fitted(c: Any, points: Any) -> Any:
    s = 0.0
    for v in points:
        s = s + np.sum(c * v) * s + c[0] * v
    return s


def loss_on_data_of_the_module(c: Any) -> Any:
    return fitted(c, DATA) ** 2


def test_data_of_the_module_given_to_a_helper_with_a_tape() -> None:
    c, v = np.array([0.3, 0.7, 0.4]), np.array([0.5, -0.2, 0.1])
    gradient = tl.grad(loss_on_data_of_the_module)
    expected = agreement.slope(lambda c: gradient(c) @ v, (c,), [v])
    assert agreement.close(float(tl.hvp(loss_on_data_of_the_module)(c, v) @ v), expected, 1e-6)
