"""`tl.grad`, `tl.jvp`, `tl.vjp` and `tl.hvp` inside functions that are differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.sampled import one_in

Q, K = np.array([0.3, 0.7, -0.4]), 0.9
U, V = [np.array([0.2, -0.5, 0.3]), 0.7], [np.array([-0.1, 0.4, 0.6]), -0.3]


def energy(q, k):
    return 0.5 * k * np.sum(q * q * q)


energy_gradient = tl.grad(energy)


# ------------------------------------------------------------------- what is differentiated


def confused(q, k):
    """The classic: the inner derivative of `k + y` by `y` is 1, whatever `k` is."""
    return k * tl.grad(lambda y: k + y)(1.0) + np.sum(q)


def same_name(q, k):
    def inner(k):
        return k * np.sum(q) * k

    return k * tl.grad(inner)(k)


def three_deep(q, k):
    def outer(x):
        def middle(y):
            return tl.grad(lambda z: x * y * z * z * k)(x)

        return x * tl.grad(middle)(x * k)

    return tl.grad(outer)(k) + np.sum(q)


def forces(q, k):
    f = -tl.grad(energy)(q, k)
    return np.sum(f * f)


def known_beforehand(q, k):
    return np.sum(energy_gradient(q, k) ** 2)


def by_both(q, k):
    q_bar, k_bar = tl.grad(energy, wrt=(0, 1))(q, k)
    return np.sum(q_bar) * k_bar


def value_too(q, k):
    value, gradient = tl.value_and_grad(energy)(q, k)
    return value * np.sum(gradient)


def with_aux(q, k):
    (value, aux), g = tl.value_and_grad(lambda z: (np.sum(z**3), z * k), has_aux=True)(q)
    return value + np.sum(aux * g)


def inner_descent(q, k):
    def loss(w):
        return np.sum((w - q) ** 2 * w) * k

    w = np.zeros_like(q)
    for _ in range(4):
        w = w - 0.1 * tl.grad(loss)(w)
    return np.sum(w * w)


def until_small(q, k):
    step = lambda p: p - 0.1 * tl.grad(lambda z: np.sum((z - q) ** 2 * z))(p)  # noqa: E731
    p = q * k
    while np.sum(p) > 0.1:
        p = step(p) * 0.5
    return np.sum(p * p)


def captured_changes(q, k):
    f = lambda z: np.sum(z * z * q)  # noqa: E731
    for _ in range(2):
        q = q + 0.1 * tl.grad(f)(q)
    return np.sum(q) * k


def in_a_branch(q, k):
    g = tl.grad(energy)(q, k) if k > 0 else q
    return np.sum(g * g)


def in_a_list(q, k):
    gradients = [tl.grad(energy)(q * i, k) for i in range(3)]
    total = 0.0
    for g in gradients:
        total += np.sum(g * g)
    return total


def by_a_dict(q, k):
    def f(d):
        return d["a"] * d["b"]

    g = tl.grad(f)({"a": k, "b": k * k})
    return g["a"] * 2.0 + g["b"] + np.sum(q)


def of_writes(q, k):
    def f(z):
        z[0] = z[0] * k
        z[1:] *= z[0]
        return np.sum(z)

    return np.sum(tl.grad(f)(q) ** 2)


def helper(f, q, k):
    return tl.grad(f)(q, k)


def operator_in_helper(q, k):
    return np.sum(helper(energy, q, k) ** 2)


def twice(q, k):
    return tl.grad(tl.grad(lambda z: np.sin(z) * k))(k) + np.sum(q)


def tangent(q, k):
    value, change = tl.jvp(energy, (q, k), (q * k, 1.0))
    return value + change * change


def tangent_of_closure(q, k):
    value, change = tl.jvp(lambda z: z * q * k, (k,), (1.0,))
    return np.sum(value * change)


def tangent_in_loop(q, k):
    x = q
    for _ in range(3):
        value, change = tl.jvp(lambda z: np.sin(z) * k, (x,), (q,))
        x = x + 0.1 * change * value
    return np.sum(x * x)


def pullback(q, k):
    value, back = tl.vjp(energy, q, k)
    q_bar, k_bar = back(1.0)
    return np.sum(q_bar * q_bar) + k_bar * value


def pullback_of_closure(q, k):
    value, back = tl.vjp(lambda z: z * np.sin(z) * k, q)
    return np.sum(back(q)[0] ** 2) + np.sum(value) + np.sum(back(value)[0])


def doubles_first(z, k):
    z[0] = z[0] * z[1] * k
    return z


def pullback_of_writes(q, k):
    """The arguments of the inner function are left alone, as outside of a function."""
    value, back = tl.vjp(doubles_first, q, k)
    return np.sum(value * back(q)[0] * q) + k * back(value)[1]


def pullback_of_itself(q, k):
    value, back = tl.vjp(lambda z: z, q)
    value *= k * q
    return np.sum(value * q * back(value)[0])


def product(q, k):
    return np.sum(tl.hvp(energy)(q, k, q * 2.0) ** 2)


def product_of_closure(q, k):
    return np.sum(tl.hvp(lambda z: np.sum(z**3) * k)(q, q) ** 2)


def gauss_newton(q, k):
    """Fits of a model whose data, `q`, is captured; the Jacobian has a default of its own."""
    times = np.array([0.5, 1.0, 2.0])

    def residual(w, scale=0.7):
        return w * np.exp(-times * k * scale) - q

    w = np.ones(3)
    for _ in range(2):
        m = tl.jacobian(residual)(w)
        w = w - np.linalg.solve(m.T @ m + 0.5 * np.eye(3), m.T @ residual(w))
    return np.sum(w * w)


def newton(q, k):
    def f(w):
        return np.sum(np.cosh(w * q)) + k * np.sum(w) ** 2

    w = 0.2 * np.ones(3)
    for _ in range(2):
        w = w - np.linalg.solve(tl.hessian(f)(w) + np.eye(3), tl.grad(f)(w))
    return np.sum(w * w)


def own_default(q, k=0.3):
    """The default of the inner function is not that of the outer one, which has its name."""

    def inner(y, k=0.5):
        return np.sum(y * y * k)

    return np.sum(tl.grad(inner)(q) * q) * k


def of_each_other(q, k):
    change = tl.jvp(tl.grad(lambda y: y**3 * k), (k,), (k,))[1]
    second = tl.value_and_grad(tl.grad(lambda y: y**4 * k))(k)[1]
    _, back = tl.vjp(tl.grad(lambda y: np.sum(y**3 * q) * k), q)
    return change * second + np.sum(back(q)[0])


class Layer:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def energy(self, x):
        return np.sum(np.tanh(self.w * x + self.b))

    def force(self, x):
        return -tl.grad(self.energy)(x)


def by_an_object(q, k):
    """The adjoints of its fields are found by what the tape holds, twice over."""
    layer = Layer(q, q * k)
    g = tl.grad(lambda n, x: n.energy(x))(layer, q)
    return np.sum(g.w * g.b)


def by_a_method(q, k):
    layer, y = Layer(q, k), q
    for _ in range(2):
        y = y + 0.1 * layer.force(y)
    return np.sum(y * y)


INSIDE = [
    pytest.param(three_deep, marks=pytest.mark.thorough),
    confused, same_name, forces, known_beforehand, by_both, value_too, with_aux,
    inner_descent, until_small, captured_changes, in_a_branch, in_a_list, by_a_dict, of_writes,
    operator_in_helper, twice, tangent, tangent_of_closure, tangent_in_loop, pullback,
    pullback_of_closure, pullback_of_writes, pullback_of_itself, product, product_of_closure,
    gauss_newton, newton, own_default, of_each_other, by_a_method,
]  # fmt: skip


@pytest.mark.parametrize("f", one_in(4, INSIDE), ids=lambda f: f.__name__)
def test_inside(f: Callable[..., Any]) -> None:
    """Both modes against differences of the function as Python runs it, and the second order
    by reverse over reverse and forward over reverse against differences of the gradient."""
    expected = agreement.slope(f, (Q, K), U)
    gradient = tl.grad(f, wrt=(0, 1))
    assert agreement.close(agreement.inner(U, list(gradient(Q, K))), expected, 1e-6)
    _, change = tl.jvp(f, (Q, K), tuple(U))
    assert agreement.close(float(change), expected, 1e-6)

    def along(*args: Any) -> float:
        return agreement.inner(U, list(gradient(*args)))

    expected = agreement.slope(along, (Q, K), V)
    _, pull = tl.vjp(gradient, Q, K)
    assert agreement.close(agreement.inner(V, list(pull(tuple(U)))), expected, 1e-6)
    _, changes = tl.jvp(gradient, (Q, K), tuple(V))
    assert agreement.close(agreement.inner(U, list(changes)), expected, 1e-6)


@pytest.mark.thorough
def test_adjoints_of_adjoints_in_a_record() -> None:
    """Reverse over reverse over reverse: what the inner sweep put into a shadow was not read."""
    test_inside(by_an_object)


def test_a_class_has_one_name_in_a_text() -> None:
    """The class that an inner derivative requires was one more name, and that of nothing."""
    source = tl.grad(by_a_method, wrt=(0, 1)).source
    assert source.count("import Layer") == 1 and "Layer2" not in source


def test_an_operator_that_the_run_chooses() -> None:
    """Its own code is not read as the user's (a `RecursionError`)."""

    def chosen(x):
        operator = tl.grad if x[0] > 0 else tl.jacobian
        return np.sum(operator(lambda w: np.sum(w**3))(x))

    np.testing.assert_allclose(tl.grad(chosen)(Q), 6.0 * Q, rtol=1e-12)


def test_perturbations_are_not_confused() -> None:
    def f(x):
        return x * tl.grad(lambda y: x + y)(1.0)

    assert tl.grad(f)(3.0) == 1.0
    assert tl.jvp(f, (3.0,), (1.0,)) == (3.0, 1.0)


def test_the_inner_derivative_is_printed() -> None:
    source = tl.grad(inner_descent, wrt=1).source
    assert "def loss_grad_fwd(w, *, q, k)" in source and "pair_of" not in source


# ------------------------------------------------------------------------------ refused


def kept_and_rebound(q):
    g = tl.grad(lambda z: np.sum(z * z * q))
    q = 2.0 * q
    return np.sum(g(q))


def test_a_kept_derivative_of_what_is_bound_again() -> None:
    np.testing.assert_allclose(tl.grad(kept_and_rebound)(np.ones(2)), [16.0, 16.0])


def writes_first(a, b):
    a[0] = b[0] * 2.0
    return np.sum(a * b)


def written_beside_itself(q):
    return np.sum(tl.grad(writes_first)(q, q) ** 2)


def test_arguments_that_share_memory() -> None:
    """The inner gradient copies what its function writes: refused, as outside of a function."""
    with pytest.raises(tl.TangentlikeError, match="shares memory"):
        written_beside_itself(Q)
    with pytest.raises(tl.TangentlikeError, match="share memory"):
        tl.grad(written_beside_itself)(Q)
    with pytest.raises(tl.TangentlikeError, match="share memory"):
        tl.jvp(written_beside_itself, (Q,), (Q,))


class Filter:
    def __init__(self, gain):
        self.gain = gain

    def update(self, x):
        return self.gain * x * x


def corrected(model, x):
    return np.sum(x - model.update(np.sin(x)))


def of_a_method_named_as_one_of_dicts(model, x):
    return np.sum(tl.grad(corrected, wrt=1)(model, x) * x)


def tangent_of_such_a_method(model, x):  # the field that is read says that it is an object
    return tl.jvp(lambda m, z: np.sum(z - m.update(z)) * m.gain, (model, x), (None, x))[1]


@pytest.mark.thorough
def test_a_method_named_as_one_of_containers() -> None:
    """`update` of a dict gives None: where the result is used, the class must tell."""
    tl.check_grads(corrected, (Filter(1.3), Q), order=2)
    tl.check_grads(of_a_method_named_as_one_of_dicts, (Filter(1.3), Q))
    tl.check_grads(tangent_of_such_a_method, (Filter(1.3), Q))


def rounds_of_unknown(u: np.ndarray, k: float) -> Any:
    for _ in tl.checkpointed(range(3), every=2):
        u += k * np.sin(u)
    return np.sum(u * u)


def rounds_in_place(u: np.ndarray, k: float) -> Any:
    for _ in tl.checkpointed(range(3), every=2):
        u[...] += k * np.sin(u)
    return np.sum(u * u)


def pulled(f: Callable[..., Any]) -> Callable[..., Any]:
    def along(u: Any, k: Any) -> Any:
        value, back = tl.vjp(f, u, k)
        g = back(1.0)
        return value + np.sum(g[0] * g[0]) * g[1]

    return along


@pytest.mark.thorough
def test_pullbacks_of_checkpointed_loops_that_write_arguments() -> None:
    """Inside, nothing says that `u` is an array: refused each time it is read, not only once."""
    tl.check_grads(pulled(rounds_in_place), (Q, K))
    with pytest.raises(tl.UnsupportedError, match="`u` may be a number"):
        tl.grad(pulled(rounds_of_unknown))(Q, K)


def linearised(x, k):
    y, push = tl.linearize(lambda u: k * u * u + np.sin(u), x)
    s = np.zeros(3)
    for _ in range(2):
        s = s + 0.1 * (np.cos(x) - push(s))
    return np.sum(s * push(y))


class Smooth:
    def __init__(self, w: Any) -> None:
        self.w = w

    def value(self, x: Any, y: Any) -> Any:
        return np.tanh(self.w * x) * y

    def change(self, x: Any) -> Any:
        _, push = tl.linearize(self.value, x, x * x)
        return np.sum(push(x, np.cos(x)))


def linearised_method(x, k):
    return Smooth(k * x).change(x)


@pytest.mark.parametrize("fn", one_in(2, [linearised, linearised_method], 1))
def test_linear_maps_at_a_point(fn: Any) -> None:
    x, v = np.array([0.3, 0.7, 0.5]), np.array([1.0, -0.5, 0.3])
    tl.check_grads(fn, (x, 0.7))
    gradient = tl.grad(fn)
    slope = (gradient(x + 1e-6 * v, 0.7) - gradient(x - 1e-6 * v, 0.7)) / 2e-6
    np.testing.assert_allclose(tl.hvp(fn)(x, 0.7, v), slope, atol=1e-7)


class Weighted:
    def __init__(self, w: Any) -> None:
        self.w = w

    def value(self, p: Any) -> Any:
        return np.sum(np.tanh(self.w * p))


def of_an_object(q: Any, p: Any) -> Any:
    return q.value(p)


def told_by_a_gradient(x):
    g = tl.grad(of_an_object)(Weighted(x), 2.0 * x)
    return np.sum(x * x) if g.w[0] > 0 else np.sum(x)


def test_what_a_gradient_calls_is_printed_with_it() -> None:
    """No derivatives pass through it here: it stands in the text as it is, whole."""
    x = np.array([0.3, 0.7, 0.5])
    gradient = tl.grad(told_by_a_gradient)
    np.testing.assert_allclose(gradient(x), 2.0 * x)
    names: dict[str, Any] = {"__name__": __name__}
    exec(gradient.source, names)
    np.testing.assert_allclose(names["told_by_a_gradient_grad"](x), 2.0 * x)
