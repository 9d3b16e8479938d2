"""Classes given to `tl.register_container`: both modes and every operator, beside dicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.pytree import leaves


class Dense:
    """Refuses what is not an array or number, as classes that check their fields do."""

    __slots__ = ("b", "label", "rate", "w")

    def __init__(self, label: str, w: Any, b: Any, rate: float = 0.5) -> None:
        if not isinstance(label, str) or w is None or b is None:
            raise TypeError(label)
        self.label, self.w, self.b, self.rate = label, w, b, rate


class Model:
    def __init__(self, layers: dict[str, Dense], scale: Any, step: int) -> None:
        self.layers, self.scale, self.step = layers, scale, step

    def predict(self, x: Any) -> Any:
        for name in ("first", "last"):
            x = np.tanh(x @ self.layers[name].w + self.layers[name].b)
        return x * self.scale


def flatten_dense(layer):
    return [layer.w, layer.b], (layer.label, layer.rate)


tl.register_container(Dense, flatten_dense, lambda rest, items: Dense(rest[0], *items, rest[1]))
tl.register_container(
    Model,
    lambda m: ({"net": (m.layers["first"], m.layers["last"]), "scale": m.scale}, m.step),
    lambda step, items: Model(dict(zip(("first", "last"), items["net"])), items["scale"], step),
)


def model() -> Model:
    rng = np.random.default_rng(0)
    first = Dense("first", rng.normal(size=(2, 3)), 0.3)
    last = Dense("last", rng.normal(size=(3, 1)), np.zeros(1), 0.25)
    return Model({"first": first, "last": last}, 1.5, 7)


def loss(model, x):
    return np.sum(model.predict(x) ** 2) * model.layers["last"].rate


def unpacked(layer, x):
    (w, b), _ = flatten_dense(layer)
    return np.sum(np.tanh(x @ w + b)) * layer.rate


def plain(p, x):
    return np.sum(np.tanh(x @ p["w"] + p["b"])) * 0.5


X = np.random.default_rng(1).normal(size=(4, 2))


def dense(value: Any) -> Dense:
    assert type(value) is Dense and value.rate == 0.5
    return value


def test_gradients_come_back_in_the_class() -> None:
    found = tl.grad(loss)(model(), X)
    assert type(found) is Model and found.step == 7
    assert found.layers["last"].label == "last" and found.layers["last"].rate == 0.25
    assert type(found.layers["first"].b) is float and found.layers["last"].b.shape == (1,)
    tl.check_grads(loss, (model(), X))


def test_every_operator_agrees_with_a_dict() -> None:
    layer, p = Dense("a", np.ones((2, 3)) * 0.2, 0.1), {"w": np.ones((2, 3)) * 0.2, "b": 0.1}
    v, q = Dense("v", np.eye(2, 3), 2.0), {"w": np.eye(2, 3), "b": 2.0}

    def same(got: Any, expected: Any) -> None:
        np.testing.assert_allclose(dense(got).w, expected["w"], rtol=1e-12)
        np.testing.assert_allclose(got.b, expected["b"], rtol=1e-12)

    same(tl.grad(unpacked)(layer, X), tl.grad(plain)(p, X))
    same(tl.hvp(unpacked)(layer, X, v), tl.hvp(plain)(p, X, q))
    same(tl.grad(tl.checkpoint(unpacked))(layer, X), tl.grad(plain)(p, X))
    for mode in ("forward", "reverse"):
        same(tl.jacobian(unpacked, mode=mode)(layer, X), tl.grad(plain)(p, X))
    tangent = tl.jvp(unpacked, (layer, X), (v, None))[1]
    assert tangent == pytest.approx(tl.jvp(plain, (p, X), (q, None))[1])
    same(tl.vjp(unpacked, layer, X)[1](2.0)[0], tl.vjp(plain, p, X)[1](2.0)[0])
    curvature, expected = tl.hessian(unpacked)(layer, X), tl.hessian(plain)(p, X)
    same(dense(curvature).b, expected["b"])
    np.testing.assert_allclose(curvature.w.w, expected["w"]["w"])


def grown(layer, x):
    layer.w = layer.w * x
    return {"layer": layer, "more": [layer.b * x]}


def test_results_take_seeds_of_the_class() -> None:
    layer = Dense("a", np.array([1.0, 2.0]), 3.0)
    value, back = tl.vjp(grown, layer, 4.0)
    assert type(value["layer"]) is Dense and layer.w[0] == 1.0
    seed = {"layer": Dense("s", np.array([1.0, 0.5]), 10.0), "more": [1.0]}
    layer_bar, x_bar = back(seed)
    assert dense(layer_bar).w.tolist() == [4.0, 2.0] and layer_bar.b == 14.0
    assert x_bar == 1.0 * 1.0 + 2.0 * 0.5 + 3.0
    _, tangent = tl.jvp(grown, (layer, 4.0), (Dense("v", np.array([0.0, 1.0]), 2.0), 0.5))
    assert dense(tangent["layer"]).w.tolist() == [0.5, 5.0] and tangent["layer"].b == 2.0
    assert tangent["more"] == [2.0 * 4.0 + 3.0 * 0.5]


def test_one_array_in_two_attributes_has_two_gradients() -> None:
    shared = np.ones(2)
    found = tl.grad(lambda p: np.sum(p.w * 3.0) + np.sum(p.b * 5.0))(Dense("a", shared, shared))
    assert found.w.tolist() == [3.0, 3.0] and found.b.tolist() == [5.0, 5.0]


class Tagged(dict[str, Any]):
    def __init__(self, tag: str, **entries: Any) -> None:
        super().__init__(**entries)
        self.tag = tag


def test_dicts_with_a_constructor_of_their_own() -> None:
    tl.register_container(Tagged, lambda p: (dict(p), p.tag), lambda tag, d: Tagged(tag, **d))

    def f(p: Any) -> Any:
        return np.sum(p["w"] ** 2) * p["b"]

    p, v = Tagged("p", w=np.ones(2), b=3.0), Tagged("v", w=np.ones(2), b=1.0)
    tl.check_grads(f, (p,))
    found = tl.hvp(f)(p, v)
    assert type(found) is Tagged and found.tag == "p"
    assert found["w"].tolist() == [8.0, 8.0] and found["b"] == 4.0
    (seeded,) = tl.vjp(lambda p: p, p)[1](v)
    assert type(seeded) is Tagged and seeded["b"] == 1.0


class Scaled(Dense):
    pass


class Logarithmic(Dense):
    pass


class Other(Dense):
    pass


def test_a_derived_class_is_not_registered_with_its_base() -> None:
    found = tl.grad(lambda p: p.w * p.rate)(Scaled("a", 2.0, 1.0))
    assert type(found) is Scaled and (found.w, found.rate) == (0.5, 2.0)


def test_what_is_refused() -> None:
    def flatten(p: Any) -> Any:
        return (np.log(p.w), p.b), p.label

    tl.register_container(Logarithmic, flatten, lambda label, items: Logarithmic(label, *items))
    with pytest.raises(tl.TangentlikeError, match="Logarithmic gives a .* does not hold"):
        tl.grad(lambda p: p.w)(Logarithmic("a", 2.0, 1.0))
    tl.register_container(Other, lambda p: [p.w], lambda rest, items: items)  # type: ignore
    with pytest.raises(tl.TangentlikeError, match="must return a pair"):
        tl.grad(lambda p: p.w)(Other("a", 2.0, 1.0))
    tl.register_container(Other, lambda p: ([p.w], p.b), lambda rest, items: items)  # type: ignore
    with pytest.raises(tl.TangentlikeError, match="`unflatten` of Other returned a list"):
        tl.grad(lambda p: p.w)(Other("a", 2.0, 1.0))
    with pytest.raises(tl.TangentlikeError, match="must be a Dense of 2 items"):
        tl.jvp(unpacked, (Dense("a", np.ones((2, 3)), 0.1), X), ([1.0, 2.0, 3.0], None))
    for cls in (dict, np.ndarray):
        with pytest.raises(tl.TangentlikeError, match="a built-in container"):
            tl.register_container(cls, flatten_dense, lambda rest, items: items)
    with pytest.raises(tl.TangentlikeError, match="takes a class"):
        tl.register_container("Dense", flatten_dense, flatten_dense)  # type: ignore


def shared_levels(count: int) -> list[object]:
    """Lists in lists, each of which holds the next one twice."""
    held: list[object] = [np.ones(2), 1.5]
    for _ in range(count):
        held = [held, held]
    return held


def test_what_is_held_by_many_is_walked_once() -> None:
    value = shared_levels(40)  # (a walk through all ways to it would not end)
    assert leaves.has_leaf(value) and not leaves.has_leaf(shared_levels(0)[:0])
    assert not leaves.is_complex(value) and leaves.is_complex([value, [1j]])
    assert not leaves.contains_itself(value)
    value.append([value])
    assert leaves.contains_itself(value)


def test_arrays_that_are_held_twice_are_found_twice() -> None:
    assert len(leaves.arrays(shared_levels(1))) == 2
    assert len(leaves.arrays(shared_levels(40))) >= 2
    child: dict[str, object] = {"w": np.ones(2)}
    parent = {"child": child, "v": np.zeros(2)}
    child["parent"] = parent  # (found by one way only, each)
    assert len(leaves.arrays(parent)) == 2 and len(leaves.arrays([child, child])) == 4
