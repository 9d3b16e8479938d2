"""check_grads and check_rule: what they accept, and that they catch what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import default_book
from tangentlike.testing.grads import double, inner, unit_direction

X = np.array([[0.5, -1.0, 2.0], [0.25, 1.5, -0.75]])


def wrong_cube(x: Any) -> Any:
    return x**3


def half_wrong(x: Any, y: Any) -> Any:
    return x * y


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    @tl.rule(wrong_cube, override=True)
    def cube_rule(y, x):  # type: ignore[no-untyped-def]
        dy_dx = 2.0 * x**2  # noqa: F841

    @tl.rule(half_wrong, override=True)
    def product_rule(z, x, y):  # type: ignore[no-untyped-def]
        z_dot = x_dot * y + x * y_dot  # noqa: F821, F841
        x_bar = z_bar * y  # noqa: F821, F841
        y_bar = z_bar * x * 1.5  # noqa: F821, F841

    yield
    for op in (wrong_cube, half_wrong):
        default_book()._rules.pop(op, None)


# ------------------------------------------------------------------------------ check_grads


def test_right_functions_pass() -> None:
    tl.check_grads(lambda x: np.sum(np.tanh(x) * x), (X,), order=2)
    tl.check_grads(lambda x, y: x * np.exp(-y), (1.5, X), order=2)
    tl.check_grads(lambda x: (np.sin(x), x * 2.0), (X,))


def test_other_arguments_are_constants() -> None:
    tl.check_grads(lambda x, n, name: x**n, (X, 3, "cubed"))
    tl.check_grads(lambda x, y: x * y, (2.0, 3.0), wrt="y", modes=("rev",))


def test_in_place_functions_get_fresh_arguments() -> None:
    def scale(a: Any) -> Any:
        a *= 2.0 * a
        return np.sum(a)

    x = X.copy()
    tl.check_grads(scale, (x,))
    np.testing.assert_array_equal(x, X)


def test_containers() -> None:
    def affine(params: Any, x: Any) -> Any:
        return np.sum(params["w"] * x + params["b"])

    tl.check_grads(affine, ({"w": X, "b": 0.5, "name": "layer"}, X))


def test_float32_is_checked_in_float64() -> None:
    tl.check_grads(lambda x: np.sum(np.exp(x)), (X.astype(np.float32),))


def test_methods_and_keyword_only_parameters() -> None:
    class Model:
        scale = 3.0

        def value(self, x: float, *, power: float = 2.0) -> float:
            return self.scale * x * x * power

    tl.check_grads(Model().value, (2.0,), order=2)


def test_a_wrong_derivative_is_caught_with_its_worst_entry() -> None:
    for modes in (("fwd",), ("rev",)):
        with pytest.raises(tl.TangentlikeError, match="disagrees") as error:
            tl.check_grads(lambda x: np.sum(wrong_cube(x)), (X,), modes=modes)
        assert isinstance(error.value, AssertionError)
        assert "Worst entry: x[0, 2]: expected " in str(error.value)


def test_the_second_order_is_checked() -> None:
    def slope(x: Any) -> Any:
        return 3 * x**2

    @tl.rule(slope, override=True)
    def slope_rule(y, x):  # type: ignore[no-untyped-def]
        dy_dx = 5.0 * x  # noqa: F841

    def right_at_first(x: Any) -> Any:
        return x**3

    @tl.rule(right_at_first, override=True)
    def first_rule(y, x):  # type: ignore[no-untyped-def]
        dy_dx = slope(x)  # noqa: F841

    tl.check_grads(lambda x: right_at_first(x), (2.0,))
    with pytest.raises(tl.TangentlikeError, match="fwd over fwd"):
        tl.check_grads(lambda x: right_at_first(x), (2.0,), order=2)


def test_only_one_mode_may_be_wrong() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(half_wrong(x, y))

    tl.check_grads(f, (X, X + 1.0), modes=("fwd",))
    tl.check_grads(f, (X, X + 1.0), wrt="x")
    with pytest.raises(tl.TangentlikeError, match=r"reverse mode of f .* for y"):
        tl.check_grads(f, (X, X + 1.0))


def test_the_same_seed_gives_the_same_answer() -> None:
    def message(seed: int) -> str:
        with pytest.raises(tl.TangentlikeError) as error:
            tl.check_grads(lambda x: np.sum(wrong_cube(x)), (X,), seed=seed)
        return str(error.value)

    assert message(1) == message(1) != message(2)


def test_refusals() -> None:
    with pytest.raises(tl.TangentlikeError, match="no argument of <lambda> holds floats"):
        tl.check_grads(lambda n: n, (2,))
    with pytest.raises(tl.TangentlikeError, match="'fwd' and 'rev', not 'both'"):
        tl.check_grads(lambda x: x, (2.0,), modes=("both",))


# ------------------------------------------------------------------------------- check_rule


@pytest.mark.parametrize(
    ("op", "args", "kwargs"),
    [
        (np.tanh, (X,), {}),
        (np.multiply, (X, X[0]), {}),
        (np.sum, (X,), {"axis": 1}),
        (np.ndarray.sum, (X,), {"axis": (0, 1), "keepdims": True}),
        (np.where, (X > 0.0, X, 2.0), {}),
        (np.matmul, (X, X.T), {}),
        (np.concatenate, ([X, X],), {}),
        (abs, (-2.0,), {}),
    ],
)
def test_right_rules_pass(op: Any, args: Any, kwargs: Any) -> None:
    tl.check_rule(op, *args, **kwargs)


def test_wrong_rules_are_caught_and_the_source_is_shown() -> None:
    with pytest.raises(tl.TangentlikeError, match="the tangent is wrong") as error:
        tl.check_rule(wrong_cube, 2.0)
    assert "expected 12" in str(error.value) and "got 8" in str(error.value)
    assert "def " in str(error.value) and "_jvp" in str(error.value)
    with pytest.raises(tl.TangentlikeError, match="reverse disagrees with forward"):
        tl.check_rule(half_wrong, X, X + 1.0)
    tl.check_rule(half_wrong, X, X + 1.0, check_active=(0,))


def test_a_rule_needs_a_float() -> None:
    with pytest.raises(tl.TangentlikeError, match="no argument holds floats"):
        tl.check_rule(np.tanh, 2)


# ------------------------------------------------------------------------------ differences


def test_doubling_keeps_the_layout() -> None:
    strided = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]
    twin = double(strided)
    assert twin.dtype == np.float64 and twin.strides == (32, 16)
    np.testing.assert_array_equal(twin, strided)
    assert double(np.asfortranarray(X)).flags.f_contiguous


def test_unit_directions_have_length_one() -> None:
    rng = np.random.default_rng(0)
    values = [X, 2.0, {"z": 1.0 + 2.0j, "n": 3}]
    drawn = unit_direction(values, rng)
    assert sum(inner(d, d) for d in drawn) == pytest.approx(1.0)


def test_a_rule_of_another_shape_is_wrong_and_no_error_of_ours() -> None:
    def doubled(x):
        return 2.0 * x

    @tl.rule(doubled)
    def doubled_rule(y, x):
        y_dot = 2.0 * x_dot  # noqa: F821, F841
        x_bar = 2.0 * np.sum(y_bar)  # noqa: F821, F841

    with pytest.raises(AssertionError, match=r"the rule gives an adjoint of shape \(\)"):
        tl.check_rule(doubled, np.ones(3))


def test_higher_orders_of_a_function_that_takes_any_arguments():
    def powers(x, *more, k=2, **options):
        return np.sum(x**k) * (1.0 + sum(more))

    tl.check_grads(powers, (np.array([0.5, 1.2]),), order=2)
    tl.check_grads(powers, (np.array([0.5, 1.2]), 0.5), wrt="x", order=2)
