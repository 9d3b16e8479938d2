"""Containers and objects that hold arrays beside shapes, dtypes, names and other constants."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import tangentlike as tl

X = np.random.default_rng(3).normal(size=(3, 4))
CONFIG = {
    "x": X,
    "dtype": np.dtype(float),
    "type": np.float64,
    "shape": (4, 3),
    "axis": 1,
    "axes": (1, 0),
    "keepdims": True,
    "subscripts": "ij,ij->i",
    "count": 5,
    "mode": "edge",
    "rows": slice(1, None),
}


def cast(c):
    return np.sum(c["x"].astype(c["dtype"]) ** 2)


def cast_in_place(c):
    return np.sum(c["x"].astype(c["type"], copy=False) ** 2)


def converted(c):
    return np.sum(np.asarray(c["x"], dtype=c["type"]) ** 2)


def summed(c):
    return np.sum(c["x"], dtype=c["dtype"]) ** 2


def reshaped(c):
    return np.sum(c["x"].reshape(c["shape"])[0] ** 2)


def filled(c):
    return np.sum(np.full((3,), c["x"][0, 0], dtype=c["type"]) ** 2)


def along(c):
    return np.sum(c["x"].sum(axis=c["axis"], keepdims=c["keepdims"]) ** 2)


def contracted(c):
    return np.sum(np.einsum(c["subscripts"], c["x"], c["x"]) ** 2)


def turned(c):
    return np.sum(c["x"].transpose(c["axes"])[0] ** 2)


def spaced(c):
    return np.sum(np.linspace(0, c["x"][0, 0], c["count"]) ** 2)


def padded(c):
    return np.sum(np.pad(c["x"], 2, mode=c["mode"]) ** 2)


def cut(c):
    return np.sum(c["x"][c["rows"]] ** 2)


PROGRAMS = (cast, cast_in_place, converted, summed, reshaped, filled)
PROGRAMS += (along, contracted, turned, spaced, padded, cut)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_dict_of_arrays_and_constants(f):
    bars = tl.grad(f)(CONFIG)
    slopes = [
        (f(CONFIG | {"x": X + e}) - f(CONFIG | {"x": X - e})) / 2e-6
        for e in 1e-6 * np.eye(12).reshape(12, 3, 4)
    ]
    np.testing.assert_allclose(bars["x"].ravel(), slopes, rtol=1e-6, atol=1e-7)
    assert all(bars[name] is None for name in bars.keys() - {"x", "shape", "axes"})
    np.testing.assert_allclose(tl.grad(lambda x: f(CONFIG | {"x": x}))(X), bars["x"])
    np.testing.assert_allclose(tl.grad(lambda x: f({**CONFIG, "x": x}))(X), bars["x"])
    tangents = dict.fromkeys(CONFIG) | {"x": np.ones_like(X)}
    assert tl.jvp(f, (CONFIG,), (tangents,))[1] == pytest.approx(np.sum(bars["x"]))


def test_an_object_of_arrays_and_constants():
    def f(o):
        return np.sum(o.x.astype(o.dtype).reshape(o.shape)[0] ** 2)

    expected = np.zeros((3, 4))
    expected.ravel()[:3] = 2.0 * X.ravel()[:3]
    bars = tl.grad(f)(SimpleNamespace(**CONFIG))
    np.testing.assert_allclose(bars.x, expected)


class Model:
    def __init__(self, x, axis):
        self.x, self.axis, self.dtype = x, axis, x.dtype

    def energy(self):
        return np.sum(np.sum(self.x.astype(self.dtype, copy=False), axis=self.axis) ** 2)


def energy(model):
    return np.sum(np.sum(model.x.astype(model.dtype, copy=False), axis=model.axis) ** 2)


@pytest.mark.parametrize("f", [lambda x: Model(x, 1).energy(), lambda x: energy(Model(x, 1))])
def test_an_object_made_inside(f):
    expected = np.repeat(2.0 * X.sum(axis=1, keepdims=True), 4, axis=1)
    np.testing.assert_allclose(tl.grad(f)(X), expected)
    assert tl.jvp(f, (X,), (X,))[1] == pytest.approx(np.sum(expected * X))


def replaced(c):
    c["mode"] = c["x"] * 2.0
    c["shape"] = c["mode"][0]
    return np.sum(c["mode"] * c["mode"]) + np.sum(c["shape"])


def test_a_constant_that_is_replaced():
    expected = 8.0 * X
    expected[0] += 2.0
    np.testing.assert_allclose(tl.grad(replaced)(dict(CONFIG))["x"], expected)
