# ruff: noqa: F821, F841
"""Rules of functions without Python source: keyword arguments, several results, containers."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl

_TEXT = """
def scaled_square(x, *, scale=1.0):
    return scale * x * x
def product_and_sum(x, y):
    return (x * y, x + y)
def energy(state):
    return float(np.sum(state["a"]) * 2.0 + state["b"] ** 2)
"""
_MADE: dict = {"np": np}
exec(compile(_TEXT, "<no source>", "exec"), _MADE)
scaled_square, product_and_sum, energy = (
    _MADE[name] for name in ("scaled_square", "product_and_sum", "energy")
)


@tl.rule(scaled_square)
def scaled_square_rule(y, x, scale=1.0):
    dy_dx = 2.0 * scale * x


@tl.rule(product_and_sum)
def product_and_sum_rule(z, x, y):
    z_dot = (x_dot * y + x * y_dot, x_dot + y_dot)
    x_bar = z_bar[0] * y + z_bar[1]
    y_bar = z_bar[0] * x + z_bar[1]


@tl.rule(energy)
def energy_rule(y, state):
    y_dot = 2.0 * np.sum(state_dot["a"]) + 2.0 * state["b"] * state_dot["b"]
    state_bar = {"a": 2.0 * y_bar * np.ones_like(state["a"]), "b": 2.0 * state["b"] * y_bar}


def with_keyword(x):
    return np.sum(scaled_square(x, scale=3.0) * x)


def unpacked(x):
    a, b = product_and_sum(x, 2.0 * x)
    return np.sum(a * b)


def as_a_pair(x):
    pair = product_and_sum(x, 2.0 * x)
    return np.sum(pair[0] * pair[1])


def of_a_dict(x):
    return energy({"a": x * x, "b": np.sum(x)})


@pytest.mark.parametrize("fn", [with_keyword, unpacked, as_a_pair, of_a_dict])
def test_both_modes(fn):
    tl.check_grads(fn, (np.array([0.5, 0.7]),))


def test_second_order():
    tl.check_grads(with_keyword, (np.array([0.5, 0.7]),), order=2)


def weighted(xs, w):
    return w * sum(x * x for x in xs)


def weighted_bars(xs, w, y_bar):
    return [2.0 * w * y_bar * x for x in xs]


@tl.rule(weighted)
def weighted_rule(y, xs, w):
    xs_bar = weighted_bars(xs, w, y_bar)


@pytest.mark.parametrize("key", ["xs", None])
def test_lists_of_rules_are_added_item_by_item(key):
    """Nothing says that the argument is a list, of which `+=` would make a longer one."""

    def of_list(xs):
        return weighted(xs, 2.0) + weighted(xs, 3.0) * weighted(xs, 1.5)

    def of_dict(p):
        return of_list(p[key])

    at = [1.0, 2.0]
    found = tl.grad(of_dict)({key: at})[key] if key else tl.grad(of_list)(at)
    np.testing.assert_allclose(found, [94.0, 188.0])


class Solver:
    """Its rules do not say what its methods compute, so that one sees which is used."""

    def __init__(self, k):
        self.k = k

    def solve(self, x):
        return self.k * np.sum(x)

    @staticmethod
    def norm(x):
        return np.sum(x * x)


@tl.rule(Solver.solve)
def solve_rule(y, self, x):
    y_dot = 100.0 * np.sum(x_dot)
    x_bar = 100.0 * y_bar * np.ones_like(x)


@tl.rule(Solver.norm)
def norm_rule(y, x):
    y_dot = 100.0 * np.sum(x_dot)
    x_bar = 100.0 * y_bar * np.ones_like(x)


SOLVER = Solver(2.0)
USES = {
    "itself": (Solver.norm, ()),
    "method": (SOLVER.solve, ()),
    "of_a_global": (lambda x: SOLVER.solve(x), ()),
    "of_a_parameter": (lambda x, solver: solver.solve(x), (SOLVER,)),
    "of_a_local": (lambda x: Solver(3.0).solve(x), ()),
    "static": (lambda x: SOLVER.norm(x), ()),
    "checkpointed": (lambda x: tl.checkpoint(Solver.norm)(x), ()),
    "operator": (lambda x: tl.jvp(Solver.norm, (x,), (x,))[1], ()),
    "argument": (lambda x, f: f(x), (Solver.norm,)),
}


@pytest.mark.parametrize("name", USES)
def test_a_rule_is_used_however_its_function_is_reached(name):
    fn, rest = USES[name]
    x = np.array([0.5, 2.0])
    assert tl.grad(fn)(x, *rest).tolist() == [100.0, 100.0]
    of_x = (lambda x: fn(x, rest[0])) if rest else fn
    assert tl.jvp(of_x, (x,), (x,))[1] == pytest.approx(250.0)


def reverse_only(x): ...


def forward_only(x): ...


def of_a_kind(x, kind="sine"): ...


@tl.rule(reverse_only)
def reverse_only_rule(y, x):
    x_bar = 2.0 * y_bar


@tl.rule(forward_only)
def forward_only_rule(y, x):
    y_dot = 2.0 * x_dot


@tl.rule(of_a_kind)
def of_a_kind_rule(y, x, kind="sine"):
    if kind == "sine":
        dy_dx = np.cos(x)
    else:
        dy_dx = 1.0 - y * y


def test_what_a_rule_does_not_say_is_refused():
    with pytest.raises(
        tl.UnsupportedError, match="defines no tangent with respect to its argument `x`"
    ):
        tl.jvp(lambda x: reverse_only(x), (2.0,), (1.0,))
    with pytest.raises(tl.UnsupportedError, match="defines no adjoint of its argument `x`"):
        tl.grad(lambda x: forward_only(x))(2.0)
    with pytest.raises(
        tl.UnsupportedError, match="tests `kind == 'sine'`, which is not known until"
    ):
        str(tl.grad(lambda x, kind: of_a_kind(x, kind)).source)
    assert "np.cos(x)" in tl.grad(lambda x: of_a_kind(x)).source
