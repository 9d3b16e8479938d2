"""Derivatives of derivatives by containers and objects: each mode over each, in their own types.

The witnesses: central differences of the gradient, and the modes among each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads
from tests import agreement
from tests.sampled import one_in

X = np.random.default_rng(3).normal(size=(4, 3))


class Pair(NamedTuple):
    w: Any
    b: Any


@dataclass
class Layer:
    w: Any
    b: Any


class Model:
    """An object whose class only a call tells: it is called itself, and has a property."""

    def __init__(self, layer: Layer, scale: float) -> None:
        self.layer, self.scale = layer, scale

    @property
    def gain(self) -> float:
        return self.scale * 0.5

    def hidden(self, x: Any) -> Any:
        return np.tanh(x @ self.layer.w + self.layer.b)

    def forward(self, x: Any) -> Any:
        return self.hidden(x) * self.gain


class Called(Model):
    __call__ = Model.forward


def by_position(p: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ p[0] + p[1]) ** 2)


def by_key(p: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ p["w"] + p["b"]) ** 2)


def by_field(p: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ p.w + p.b) ** 2)


def by_method(p: Any, x: Any) -> Any:
    return np.sum(p.forward(x) ** 2)


def by_call(p: Any, x: Any) -> Any:
    return np.sum(p(x) ** 2)


def weights(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, 2)), rng.normal(size=2)


MAKERS: dict[str, tuple[Callable[..., Any], Callable[[int], Any]]] = {
    "tuple": (by_position, weights),
    "list": (by_position, lambda seed: list(weights(seed))),
    "dict": (by_key, lambda seed: dict(zip("wb", weights(seed), strict=True))),
    "namedtuple": (by_field, lambda seed: Pair(*weights(seed))),
    "dataclass": (by_field, lambda seed: Layer(*weights(seed))),
    "object": (by_method, lambda seed: Model(Layer(*weights(seed)), 0.3 + seed)),
    "called": (by_call, lambda seed: Called(Layer(*weights(seed)), 0.3 + seed)),
}


def same_type(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return all(map(same_type, a, b))
    return not hasattr(a, "__dict__") or all(same_type(v, vars(b)[n]) for n, v in vars(a).items())


def inner(a: Any, b: Any) -> float:
    """The inner product, also of objects that can be called."""
    if isinstance(a, Called):
        return inner(a.layer, b.layer) + a.scale * b.scale
    return agreement.inner(a, b)


def shifted(p: Any, t: float, d: Any) -> Any:
    if isinstance(p, Called):
        return Called(agreement.moved(p.layer, t, d.layer), p.scale + t * d.scale)
    return agreement.moved(p, t, d)


@pytest.mark.parametrize("name", one_in(2, MAKERS))
def test_each_mode_over_each(name: str) -> None:
    f, make = MAKERS[name]
    p, u, v = make(0), make(1), make(2)
    gradient, step = tl.grad(f), 1e-6
    up, down = gradient(shifted(p, step, v), X), gradient(shifted(p, -step, v), X)
    expected = (inner(u, up) - inner(u, down)) / (2 * step)
    first = gradient(p, X)
    forward, reverse = tl.autodiff(f, mode="forward"), tl.autodiff(f, mode="reverse")
    value, change = tl.jvp(gradient, (p, X), (v, None))
    again, pullback = tl.vjp(gradient, p, X)
    (back, *_) = pullback(u)
    for found in (value, change, again, back):
        assert same_type(found, p)
    assert inner(value, u) == pytest.approx(inner(first, u), rel=1e-12)
    assert inner(again, u) == pytest.approx(inner(first, u), rel=1e-12)
    product = tl.hvp(f)(p, X, v)
    assert same_type(product, p)
    _, (_, over_forward) = tl.jvp(forward, (p, X, u), (v, None, None))
    _, (_, over_reverse) = tl.jvp(reverse, (p, X, 1.0), (v, None, None))
    assert same_type(over_reverse, p)
    _, forward_back = tl.vjp(forward, p, X, u)
    (by_forward, *_) = forward_back((0.0, 1.0))
    _, reverse_back = tl.vjp(reverse, p, X, 1.0)
    (by_reverse, *_) = reverse_back((0.0, u))
    found = [inner(change, u), inner(back, v), inner(product, u), float(over_forward)]
    found += [inner(over_reverse, u), inner(by_forward, v), inner(by_reverse, v)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_value_and_gradient_keep_their_types() -> None:
    f, make = MAKERS["namedtuple"]
    p, v = make(0), make(2)
    (value, gradient), (_, change) = tl.jvp(tl.value_and_grad(f), (p, X), (v, None))
    assert type(value) is type(f(p, X))
    assert same_type(gradient, p) and same_type(change, p)
    (_, gradient), pullback = tl.vjp(tl.value_and_grad(f), p, X)
    assert same_type(gradient, p) and same_type(pullback((1.0, v))[0], p)


def by_scale(s: Any, p: Any) -> Any:
    return np.sum(p(X * s) ** 2)


def test_gradient_of_a_gradient_of_an_object() -> None:
    """`tl.grad` over `tl.grad` is made before any call tells the class."""
    p, first, second = MAKERS["called"][1](0), tl.grad(by_scale), tl.grad(tl.grad(by_scale))
    step = 1e-6
    expected = (first(0.7 + step, p) - first(0.7 - step, p)) / (2 * step)
    assert second(0.7, p) == pytest.approx(expected, rel=1e-6)
    assert tl.grad(second)(0.7, p) == pytest.approx(
        (second(0.7 + step, p) - second(0.7 - step, p)) / (2 * step), rel=1e-6
    )


class Decaying:
    """An object that its own method changes."""

    def __init__(self, state: Any, rate: float) -> None:
        self.state, self.rate = state, rate

    def advance(self, x: Any) -> Any:
        self.state = self.state * self.rate + np.tanh(x * self.state)
        self.state[0] *= self.rate
        return self.state


def by_state(p: Any, x: Any) -> Any:
    total = 0.0
    for _ in range(3):
        total = total + np.sum(p.advance(x) ** 2)
    return total


def test_pullbacks_run_again_where_objects_were_written() -> None:
    p, x = Decaying(np.array([0.3, 0.8]), 0.9), np.array([0.5, -0.4])
    _, pullback = tl.vjp(by_state, p, x)
    (first, x_bar), (second, again) = pullback(1.0), pullback(1.0)
    np.testing.assert_array_equal(x_bar, again)
    np.testing.assert_array_equal(first.state, second.state)
    assert first.rate == second.rate
    expected = agreement.slope(by_state, (p, x), [first, x_bar])
    assert agreement.inner([first, x_bar], [first, x_bar]) == pytest.approx(expected, rel=1e-6)


def test_a_hessian_that_waits_is_no_derivative_of_the_function() -> None:
    def loss(p: Any) -> Any:
        return p.scale**3

    p = Model(Layer(1.0, 2.0), 0.5)
    product = tl.hvp(lambda q: loss(q) * q.gain)
    forward = tl.jvp(lambda q: loss(q) * q.gain, (p,), (p,))[1]
    assert product(p, p).scale == pytest.approx(0.5 * 12 * 0.5**2 * 0.5)
    assert forward == pytest.approx(0.5 * 4 * 0.5**3 * 0.5)
    waiting, plain = tl.hvp(by_call), tl.autodiff(by_call, mode="forward")
    called, v = MAKERS["called"][1](0), MAKERS["called"][1](1)
    assert type(waiting(called, X, v)) is Called
    value, _ = plain(called, X, v)
    assert value == pytest.approx(by_call(called, X))
    assert type(waiting(called, X, v)) is Called


def test_forward_mode_waits_for_the_class() -> None:
    forward = tl.autodiff(lambda p, x: np.sum(p(x)), mode="forward")
    assert "tangent_of(unbound(p), 2, " in forward.source
    forward(MAKERS["called"][1](0), X, MAKERS["called"][1](1))
    assert "require_class(p, Called)" in forward.source


def test_checks_of_higher_order_take_objects() -> None:
    check_grads(by_call, (MAKERS["called"][1](0), X), order=2)


def test_momentum_in_a_dict_beside_the_parameters() -> None:
    """What `items()` gives is no dict, and nothing has to be checked."""

    def trained(w, x):
        v = {k: np.zeros_like(a) for k, a in w.items()}
        w = dict(w)
        for _ in range(2):
            g = {"a": 2.0 * (w["a"] * x - 1.0) * x, "b": 2.0 * w["b"]}
            for k in w:
                v[k] = 0.9 * v[k] - 0.1 * g[k]
                w[k] = w[k] + v[k]
        return sum(np.sum(a**2) for a in w.values())

    w, x = {"a": np.array([0.3, -0.2]), "b": np.array(0.7)}, np.array([0.5, 1.1])
    forward = tl.autodiff(trained, mode="forward", wrt="w")
    assert "require" not in forward.source_for(w, x, w)
    along = tl.grad(lambda w, x: tl.jvp(lambda w: trained(w, x), (w,), (w,))[1])(w, x)
    product, gradient = tl.hvp(trained)(w, x, w), tl.grad(trained)(w, x)
    for k in w:  # (the derivative of `gradient . w`)
        np.testing.assert_allclose(along[k], product[k] + gradient[k], rtol=1e-12)


W = {"a": np.array([0.3, -0.2]), "b": np.array([0.7, 0.1])}


def squares(values: Any) -> Any:
    return sum(np.sum(a * a) for a in values)


def changing(values: Any, d: Any, x: Any) -> Any:
    d["a"] = x * x * x
    s = 0.0
    for a in values:
        s = s + np.sum(a**2)
    return s


def scaled(values: Any, x: Any) -> Any:
    s = 0.0
    for a in values:
        a *= x
        s = s + np.sum(a**2)
    return s


def test_a_view_of_a_dict_is_no_list() -> None:
    def f(w, x):
        v = w.values()
        return np.sum(x * w["a"]) if isinstance(v, list) else np.sum(x * x * w["b"])

    check_grads(f, (W, X[0, :2]))


def test_a_helper_changes_the_dict_of_the_view_that_it_is_given() -> None:
    def f(w, x):
        d = dict(w)
        return changing(d.values(), d, x)

    check_grads(f, (W, X[0, :2]), modes=("fwd",))
    with pytest.raises(tl.UnsupportedError, match="the items that a dict_values yields"):
        tl.grad(f)(W, X[0, :2])


def test_helpers_that_are_given_views_of_dicts() -> None:
    def f(w, x):
        d = {k: a * x for k, a in w.items()}
        d["c"] = d["a"] * x
        s = scaled(d.values(), x)
        return s + np.sum(d["c"] * w["b"]) + squares(d.values()) + squares(w.values())

    check_grads(f, (W, X[0, :2]))


def of_a_list_or_not(values: Any, x: Any) -> Any:
    if isinstance(values, (list, tuple)):
        return sum(np.sum(a * x) for a in values)
    return sum(np.sum(a**3) for a in values)


def test_a_helper_asks_for_the_class_of_a_view() -> None:
    def f(w, x):
        return of_a_list_or_not(w.values(), x)

    check_grads(f, (W, X[0, :2]), modes=("fwd",))
    with pytest.raises(tl.UnsupportedError, match=r"write list\(w.values\(\)\)"):
        tl.grad(f)(W, X[0, :2])
    check_grads(lambda w, x: of_a_list_or_not(list(w.values()), x), (W, X[0, :2]))
