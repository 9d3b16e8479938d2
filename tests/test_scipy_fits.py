"""SciPy takes derivatives as they stand."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import tangentlike as tl


def rosenbrock(x, a, b=100.0):
    return np.sum(b * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


def of_three(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def equations(x):
    return np.array([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])


def decay(p, t, y):
    return p[0] * np.exp(-p[1] * t) - y


def stiff(t, y, mu):
    return np.array([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])


def cubic(x):
    return x**3 - 2.0


START = np.array([-1.2, 1.0, 0.5])
T = np.linspace(0.0, 1.0, 12)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "SLSQP"])
def test_minimize_takes_value_and_grad(method: str) -> None:
    found = scipy.optimize.minimize(
        tl.value_and_grad(rosenbrock), START, args=(1.0,), jac=True, method=method
    )
    np.testing.assert_allclose(found.x, np.ones(3), atol=1e-3)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"])
@pytest.mark.parametrize("args", [(1.0,), (1.0, 100.0)])
@pytest.mark.parametrize("position", [None, 1])
def test_minimize_takes_products_with_the_hessian(
    method: str, args: tuple, position: int | None
) -> None:
    product = tl.hvp(rosenbrock, v_position=position)
    value = tl.value_and_grad(rosenbrock)
    found = scipy.optimize.minimize(value, START, args=args, jac=True, hessp=product, method=method)
    np.testing.assert_allclose(found.x, np.ones(3), atol=1e-4)
    by_hessian = scipy.optimize.minimize(
        value, START, args=args, jac=True, hess=tl.hessian(rosenbrock), method=method
    )
    assert found.nit == by_hessian.nit  # (a wrong product would show in the steps)


def test_a_function_without_further_arguments_needs_no_position() -> None:
    found = scipy.optimize.minimize(
        tl.value_and_grad(of_three), START, jac=True, hessp=tl.hvp(of_three), method="Newton-CG"
    )
    np.testing.assert_allclose(found.x, np.ones(3), atol=1e-4)


@pytest.mark.parametrize("method", ["trf", "lm", "dogbox"])
def test_least_squares_takes_a_jacobian(method: str) -> None:
    found = scipy.optimize.least_squares(
        decay,
        [1.0, 1.0],
        jac=tl.jacobian(decay),
        args=(T, decay([2.0, 3.0], T, 0.0)),
        method=method,
    )
    np.testing.assert_allclose(found.x, [2.0, 3.0], rtol=1e-6)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root_takes_a_jacobian(method: str) -> None:
    found = scipy.optimize.root(equations, [0.0, 0.0], jac=tl.jacobian(equations), method=method)
    assert found.success
    np.testing.assert_allclose(equations(found.x), 0.0, atol=1e-8)


def test_root_scalar_takes_gradients() -> None:
    slope = tl.grad(cubic)
    found = scipy.optimize.root_scalar(
        cubic, x0=1.0, fprime=slope, fprime2=tl.grad(slope), method="halley"
    )
    assert found.root == pytest.approx(2.0 ** (1.0 / 3.0))


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_solve_ivp_takes_a_jacobian(method: str) -> None:
    options = {"args": (30.0,), "method": method, "rtol": 1e-6}
    given = scipy.integrate.solve_ivp(
        stiff, (0.0, 3.0), [2.0, 0.0], jac=tl.jacobian(stiff, wrt="y"), **options
    )
    plain = scipy.integrate.solve_ivp(stiff, (0.0, 3.0), [2.0, 0.0], **options)
    assert given.success
    np.testing.assert_allclose(given.y[:, -1], plain.y[:, -1], rtol=1e-4)


def test_constraints_take_derivatives() -> None:
    def bound(x):
        return np.array([x[0] ** 2 + x[1], x[0] - x[1] ** 2])

    def weighted(x, v):
        return v @ bound(x)

    constraint = scipy.optimize.NonlinearConstraint(
        bound, -np.inf, 1.0, jac=tl.jacobian(bound), hess=tl.hessian(weighted)
    )
    found = scipy.optimize.minimize(
        tl.value_and_grad(lambda x: np.sum((x - 2.0) ** 2)), np.zeros(2), jac=True,
        constraints=[constraint], method="trust-constr",
    )  # fmt: skip
    assert np.all(bound(found.x) <= 1.0 + 1e-6)


# --------------------------------------------------------------------- where the vector stands


@pytest.mark.parametrize("position", [0, 1, 2, 3, None])
def test_the_vector_may_stand_anywhere(position: int | None) -> None:
    v, others = np.array([1.0, -2.0, 0.5]), [START, 1.0, 100.0]
    given = list(others)
    given.insert(len(others) if position is None else position, v)
    product = tl.hvp(rosenbrock, v_position=position)
    np.testing.assert_allclose(product(*given), tl.hessian(rosenbrock)(*others) @ v, rtol=1e-10)
    np.testing.assert_allclose(product(*others, v=v), product(*given))
    assert pickle.loads(pickle.dumps(product)) is product


def distance(x, target, weight=1.0):
    return weight * np.sum((x - target) ** 4) + np.sum(x[1:] * x[:-1])


def test_the_vector_is_known_by_its_shape_or_has_to_be_named() -> None:
    target, v = np.array([1.0, 0.0, 2.0]), np.array([0.5, -1.0, 2.0])
    product, hessian = tl.hvp(distance), tl.hessian(distance)
    expected = hessian(START, target) @ v
    np.testing.assert_allclose(product(START, v=v, target=target), expected)
    np.testing.assert_allclose(product(START, target, v=v), expected)
    np.testing.assert_allclose(tl.hvp(distance, v_position=1)(START, v, target), expected)
    np.testing.assert_allclose(product(START, v, 0.5), hessian(START, 0.5) @ v)
    np.testing.assert_allclose(product(START, 0.5, v), hessian(START, 0.5) @ v)
    for call in (
        lambda: product(START, v, target),
        lambda: product(START, target, 1.0, v),
        lambda: scipy.optimize.minimize(
            tl.value_and_grad(distance), START, jac=True, hessp=product, args=(target,),
            method="trust-ncg",
        ),
    ):  # fmt: skip
        with pytest.raises(tl.TangentlikeError, match="which argument is the vector v"):
            call()


def test_where_it_stands_second_only_for_single_first_arguments_of_one_axis() -> None:
    def f(a, x):
        return np.sum(a * x**3)

    one, other, v = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([1.0, -1.0])
    np.testing.assert_allclose(tl.hvp(f, wrt="x")(one, other, v), 6.0 * one * other * v)
    both = tl.hvp(f, wrt=("a", "x"))(one, other, (v, v))
    np.testing.assert_allclose(both[0], 3.0 * other**2 * v)
    matrices = [np.outer(x, x) for x in (one, other, v)]
    np.testing.assert_allclose(tl.hvp(distance)(*matrices), tl.hvp(distance)(
        *matrices[:2], v=matrices[2]
    ))  # fmt: skip
    assert tl.hvp(lambda x, a: a * x**3)(2.0, 0.5, 10.0) == 60.0


def test_inside_a_derivative_the_vector_stands_last() -> None:
    def scaled(x, a):
        return np.sum(a * x**3)

    def last(x, v):
        return np.sum(tl.hvp(scaled)(x, 2.0, v))

    def second(x, v):
        return np.sum(tl.hvp(scaled)(x, v, 2.0))

    np.testing.assert_allclose(tl.grad(last)(START, START), 12.0 * START)
    with pytest.raises(TypeError, match="v stands last here"):
        tl.grad(second)(START, START)


def test_signatures() -> None:
    def shown(made: Callable) -> str:
        return str(inspect.signature(made))

    assert shown(tl.hvp(rosenbrock)) == "(x, a, b, v)"
    assert shown(tl.hvp(rosenbrock, v_position=1)) == "(x, v, a, b=100.0)"
    assert np.array_equal(
        tl.hvp(rosenbrock, v_position=1)(START, START, 1.0),
        tl.hvp(rosenbrock)(START, 1.0, 100.0, START),
    )
    assert np.array_equal(
        tl.hvp(rosenbrock)(START, START, 1.0), tl.hvp(rosenbrock)(START, 1.0, 100.0, START)
    )


def test_what_cannot_be() -> None:
    for position in (4, -1):
        with pytest.raises(tl.TangentlikeError, match="out of range"):
            tl.hvp(rosenbrock, v_position=position)
    with pytest.raises(TypeError, match="v is missing"):
        tl.hvp(rosenbrock, v_position=1)(START)

    def outer(x):
        return np.sum(tl.hvp(of_three, v_position=1)(x, x))

    with pytest.raises(tl.UnsupportedError, match="cannot be differentiated again"):
        tl.grad(outer)(START)


def test_a_function_with_a_v_of_its_own() -> None:
    def f(x, v=2.0):
        return v * x**3

    assert tl.hvp(f)(2.0, 5.0, 1.0) == 60.0
    assert tl.hvp(f, v_position=1)(2.0, 1.0, v=5.0) == 60.0
    assert tl.hvp(f, v_position=1)(2.0, 1.0) == 24.0
