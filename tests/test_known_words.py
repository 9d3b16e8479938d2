"""Calls with `**options` of which the keys are known: each word is an argument as any other."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads

X = np.array([[0.3, -0.2, 0.7], [0.5, 0.1, -0.4]])


def weights():
    return {"g": np.array([1.0, 2.0, 3.0]), "b": np.array([0.1, 0.2, 0.3])}


def scaled(x, g, b, c=1.0):
    return (g * x + b) * c


def normed(x, g, b, eps=1e-5):
    mu = x.mean(-1, keepdims=True)
    return g * (x - mu) / np.sqrt(x.var(-1, keepdims=True) + eps) + b


def of_an_argument(p, x):
    return np.sum(scaled(x, **p) ** 2)


def of_an_entry(p, x):
    return np.sum(normed(x, **p["norm"]) ** 2)


def layer(x, p):
    x = x + normed(x, **p["norm"]) * p["k"]
    return np.tanh(x) + x


def of_layers(layers, x):
    for p in layers:
        x = layer(x, p)
    return np.sum(x * x)


@pytest.mark.parametrize(
    ("fn", "given"),
    [
        (of_an_argument, weights()),
        (of_an_entry, {"norm": weights()}),
        (of_layers, [{"norm": weights(), "k": np.array([0.5, 0.2, 0.1])} for _ in range(3)]),
    ],
)
def test_texts_are_those_of_words(fn, given):
    check_grads(fn, (given, X), wrt=(0, 1))
    check_grads(fn, (given, X), wrt=(0, 1), order=2)
    text = tl.grad(fn, wrt=(0, 1)).source_for(given, X)
    assert not any(helper in text for helper in ("unbroadcast", "with_items", "pair_of"))


def another_key(p, x):
    p["c"] = 2.0 * x[0, 0]
    return np.sum(scaled(x, **p) ** 2)


def add_key(p, x):
    p["c"] = x[0]


def another_key_by_a_helper(p, x):
    q = p
    add_key(q, x)
    return np.sum(scaled(x, **p) ** 2)


def another_key_by_update(p, x):
    p.update(c=x[1])
    return np.sum(scaled(x, **p) ** 2)


def another_key_by_default(p, x):
    p.setdefault("c", x[1])
    return np.sum(scaled(x, **p) ** 2)


def another_key_if_positive(p, x):
    if x[0, 0] > 0.0:
        p["c"] = x[1]
    return np.sum(scaled(x, **p) ** 2)


def a_key_is_taken_out(p, x):
    b = p.pop("b")
    return np.sum(scaled(x, b=b * x[0], **p) ** 2)


def a_key_is_deleted(p, x):
    del p["b"]
    return np.sum(scaled(x, b=x[1], **p) ** 2)


def take_out(p):
    return p.pop("b")


def a_helper_takes_a_key_out(p, x):
    b = take_out(p)
    return np.sum(scaled(x, b=b, **p) ** 2)


def joined(p, x):
    p |= {"c": x[1]}
    return np.sum(scaled(x, **p) ** 2)


def emptied(p, x):
    q = dict(p)
    p.clear()
    return np.sum(scaled(x, *list(q.values()), **p) ** 2)


@pytest.mark.parametrize(
    "fn",
    [
        *(another_key, another_key_by_a_helper, another_key_by_update, another_key_by_default),
        *(another_key_if_positive, a_key_is_taken_out, a_key_is_deleted, a_helper_takes_a_key_out),
        *(joined, emptied),
    ],
)
def test_keys_that_change(fn):
    check_grads(fn, (weights(), X), wrt=(0, 1))


def test_other_keys_in_another_call():
    derivative = tl.grad(of_an_argument, wrt=1)
    derivative(weights(), X)
    more = {**weights(), "c": np.array([2.0, 0.5, 1.0])}
    expected = 2.0 * scaled(X, **more) * more["g"] * more["c"]
    np.testing.assert_allclose(derivative(more, X), expected)
    with pytest.raises(tl.UnsupportedError, match="missing a required argument: 'b'"):
        derivative({"g": more["g"]}, X)


def with_default(x, k=3.0):
    return k * x


def test_defaults_that_are_replaced(monkeypatch):
    derivative = tl.grad(lambda x: np.sum(with_default(x) * x))
    np.testing.assert_allclose(derivative(X), 6.0 * X)
    monkeypatch.setattr(with_default, "__defaults__", (0.5,))
    np.testing.assert_allclose(derivative(X), X)


def model(t, a, b, c):
    return a * np.exp(-b * t) + c


def fitted(theta, t):
    return np.sum((model(t, *theta) - 0.5) ** 2)


def both(a, b):
    return a * b + np.sin(a)


def of_rows(x):
    return np.sum(both(*x) ** 2)


def of_a_ufunc(x):
    return np.hypot(*x[:, 0])


PAIR, NONE = (0.5, np.array([0.1, 0.2, 0.3])), ()


def of_a_pair_outside(x):
    return np.sum(both(*PAIR) * x) + np.sum(scaled(x, *PAIR) ** 2)


def of_nothing(x):
    return np.sum(both(x, x, *NONE))


def of_parts(x):
    return np.sum(both(*np.split(x, 2)) ** 2)


def of_a_generator(x):
    return np.sum(both(*(row * 2.0 for row in x)))


def of_an_inner_function(x):
    def inner(u, v):
        return u * v * x[0, 0]

    return np.sum(inner(*x))


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (fitted, (np.array([0.3, 0.5, 0.2]), X[0])),
        *((fn, (X,)) for fn in (of_rows, of_a_ufunc, of_parts, of_a_generator)),
        (of_an_inner_function, (X,)),
    ],
)
def test_functions_say_how_many_there_are(fn, args):
    check_grads(fn, args)
    check_grads(fn, args, order=2)
    assert "with_items" not in tl.grad(fn).source_for(*args)


def test_too_few_or_too_many():
    for count in (1, 3):
        with pytest.raises((TypeError, ValueError, tl.UnsupportedError)):
            tl.grad(of_rows)(np.ones((count, 2)))


@pytest.mark.parametrize("fn", [of_a_pair_outside, of_nothing])
def test_tuples_outside(fn):
    check_grads(fn, (X,))
    check_grads(fn, (X,), order=2)
