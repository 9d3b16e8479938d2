"""What a backward function reads again of its arguments instead of saving it: entries, slices,
attributes and items that were overwritten or replaced in between have to be what they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads

X, Y = np.array([0.7, -0.4, 1.3, 0.2]), np.array([1.1, 0.6, -0.8, 0.5])


def field(y: Any, p: Any) -> Any:
    return np.array([p[0] * y[0] - p[1] * y[1], y[1] * p[2] * y[0] + p[1]])


def of_entries(y: Any, p: Any) -> Any:
    k = field(y, p)
    return np.sum(field(y[:2] + 0.1 * k, p) * k)


def product(x: Any) -> Any:
    return x[0] * x[1] * np.sin(x[2])


def overwritten_later(x: Any, y: Any) -> Any:
    """The caller overwrites what the callee has read, and reads it again."""
    x = x.copy()
    s = product(x)
    x[0] = y[1] * s
    s = s * product(x)
    x[1:] = y[1:] * x[0]
    x *= 0.5
    return s + product(x)


def overwrites(x: Any, y: Any) -> Any:
    t = x[0]
    x[0] = t * y[1]
    u = x[0]
    x[:2] = u * x[1:3]
    return t * u * x[1]


def overwritten_inside(x: Any, y: Any) -> Any:
    x = x.copy()
    s = overwrites(x, y) * x[0]
    return s + overwrites(x, y * s) * x[2]


def in_a_loop(x: Any, y: Any) -> Any:
    x, s = x.copy(), 0.0
    for i in range(3):
        s = s + product(x) * y[i]
        x[i] = s * x[i + 1]
    return s


def rebound(x: Any, y: Any) -> Any:
    def inner(a: Any, b: Any) -> Any:
        t = a[1]
        a = a * b
        u = a[1]
        b = b[1:]
        return t * u * b[0]

    return inner(x, y) + inner(y[::-1], x)


def views(x: Any, y: Any) -> Any:
    def inner(a: Any, b: Any) -> Any:
        t = a[1:]
        u = b[:-1]
        return np.sum(t * u * t)

    x = x.copy()
    s = inner(x, y)
    x[2] = s
    x[:2] *= y[1:3]
    return s * inner(x, x * y)


def items(x: Any, y: Any) -> Any:
    def inner(d: Any) -> Any:
        return np.sum(d["w"] * d["w"][::-1]) * np.sum(d["rest"][0] * d["w"])

    d = {"w": x * 2.0, "rest": [y, x]}
    s = inner(d)
    d["w"] = d["w"] * y
    d["rest"][0] = s * x
    t = inner(d)
    d["w"][1:] = t
    return s * t + inner(d)


class Layer:
    def __init__(self, w: Any, scale: Any) -> None:
        self.w, self.scale = w, scale

    def __call__(self, x: Any) -> Any:
        return np.tanh(x * self.w) * self.scale


def attributes(x: Any, y: Any) -> Any:
    layer = Layer(x, y[0])
    h = layer(y)
    layer.w = layer.w * h
    layer.scale = layer.scale * h[1]
    h = layer(h)
    layer.w[1] = h[0]
    return np.sum(layer(h) * h)


def of_layer(layer: Any, y: Any) -> Any:
    s = np.sum(layer(y) ** 2)
    layer.w = layer.w * y
    for _ in range(2):
        layer.scale = layer.scale * 1.5
        s = s + np.sum(layer(y * s))
    return s


def nested(x: Any, y: Any) -> Any:
    def inner(a: Any, k: int) -> Any:
        b = a[k]
        return b * b if k == 0 else b * inner(a, k - 1) + b

    def outer(a: Any) -> Any:
        first = a[0]
        s = 0.0
        for i in range(3):
            s = s * first + inner(a, i)
        return s * first * a[1]

    return outer(x * y) + outer(y)


PROGRAMS = [
    *(of_entries, overwritten_later, overwritten_inside, in_a_loop),
    *(rebound, views, items, attributes, nested),
]


def given(f: Any) -> tuple[Any, ...]:
    return (X[:2], Y) if f is of_entries else (X, Y)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f: Callable[..., Any]) -> None:
    check_grads(f, given(f), order=2)
    value, pullback = tl.vjp(f, *given(f))
    for scale in (1.0, 2.0):  # (the tape is read twice)
        expected = tl.grad(f, wrt=(0, 1), example=given(f))(*given(f))
        for found, bar in zip(pullback(scale), expected, strict=True):
            np.testing.assert_allclose(found, scale * bar)


def test_an_object_of_the_caller() -> None:
    layer = Layer(X.copy(), 0.8)
    bar = tl.grad(of_layer)(layer, Y)
    step = 1e-6

    def moved(w: Any, scale: Any) -> Any:
        return of_layer(Layer(w, scale), Y)

    slope = (moved(X, 0.8 + step) - moved(X, 0.8 - step)) / (2.0 * step)
    np.testing.assert_allclose(bar.scale, slope, rtol=1e-6)
    for i, e in enumerate(np.eye(4)):
        slope = (moved(X + step * e, 0.8) - moved(X - step * e, 0.8)) / (2.0 * step)
        np.testing.assert_allclose(bar.w[i], slope, rtol=1e-6)


def test_entries_of_arguments_are_not_on_the_tape() -> None:
    gradient = tl.grad(of_entries, wrt=(0, 1))
    gradient(X[:2], Y)
    backward = gradient.source.split("def field_bwd")[1].split("def ")[0]
    assert "y_0" not in backward.partition("= tape")[0] and "p[2]" in backward
