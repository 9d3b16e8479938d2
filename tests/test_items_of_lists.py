"""Adjoints of the items of a list that get all in one round of a loop are put there as a whole: by
texts, differences and second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tangentlike as tl

RNG = np.random.default_rng(20261130)
LAYERS = [(RNG.normal(size=(3, 3)), RNG.normal(size=3)) for _ in range(3)]
WEIGHTS, SHIFTS = [w for w, _ in LAYERS], [b for _, b in LAYERS]
NAMED = [{"W": w, "b": b} for w, b in LAYERS]
X = RNG.normal(size=3)


def of_pairs(params: Any, x: Any) -> Any:
    for W, b in params:
        x = np.tanh(W @ x + b)
    return np.sum(x**2)


def of_dicts(params: Any, x: Any) -> Any:
    for layer in params:
        x = np.tanh(layer["W"] @ x + layer["b"])
    return np.sum(x**2)


class Layer(NamedTuple):
    W: Any
    b: Any


@dataclass
class Dense:
    W: Any
    b: Any


def of_fields(layers: Any, x: Any) -> Any:
    for layer in layers:
        x = np.tanh(layer.W @ x + layer.b) + layer.b
    return np.sum(x**2)


def by_index(Ws: Any, bs: Any, x: Any) -> Any:
    for i in range(len(Ws)):
        x = np.tanh(Ws[i] @ x + bs[i])
    return np.sum(x**2)


def in_step(Ws: Any, bs: Any, x: Any) -> Any:
    for W, b in zip(Ws, bs):
        x = np.tanh(W @ x + b)
    return np.sum(x**2)


def hidden_and_last(params: Any, x: Any) -> Any:
    for W, b in params[:-1]:
        x = np.tanh(W @ x + b)
    W, b = params[-1]
    return np.sum((W @ x + b) ** 2)


def first_and_others(params: Any, x: Any) -> Any:
    W, b = params[0]
    x = W @ x + b
    for W, b in params[1:]:
        x = np.tanh(W @ x + b)
    return np.sum(x**2)


def from_the_second(params: Any, x: Any) -> Any:
    for i in range(1, len(params)):
        W, b = params[i]
        x = np.tanh(W @ x + b)
    return np.sum(x**2)


def of_numbers(cs: Any, x: Any) -> Any:
    total = 0.0
    for c in cs:
        total = total * x + c
    return np.sum(total * total)


PUT: list[tuple[Callable[..., Any], tuple[Any, ...], Any, list[str]]] = [
    (of_pairs, (LAYERS, X), 0, ["in reversed(params)", ".append((W_bar, ", "params_bar[::-1]"]),
    (of_dicts, (NAMED, X), 0, ["in reversed(params)", ".append({'W': ", "params_bar[::-1]"]),
    (of_fields, ([Layer(w, b) for w, b in LAYERS], X), 0, ["layers_bar.append(layer_bar)"]),
    (of_fields, ([Dense(w, b) for w, b in LAYERS], X), 0, ["layers_bar.append(layer_bar)"]),
    (by_index, (WEIGHTS, SHIFTS, X), (0, 1), ["Ws_bar[i] = ", "bs_bar[i] = "]),
    (in_step, (WEIGHTS, SHIFTS, X), (0, 1), ["Ws_bar[i] = ", "bs_bar[i] = "]),
    (hidden_and_last, (LAYERS, X), 0, ["params_bar = [(W_bar, ", ".append((W_bar, "]),
    (first_and_others, (LAYERS, X), 0, ["params_bar = []", ".append((W_bar, "]),
    (from_the_second, (LAYERS, X), 0, ["params_bar[i] = (W_bar, "]),
    (of_numbers, ([1.0, -2.0, 0.5], X), 0, ["cs_bar.append("]),
]


@pytest.mark.parametrize(("fn", "args", "wrt", "texts"), PUT)
def test_items_are_put(fn: Any, args: Any, wrt: Any, texts: list[str]) -> None:
    gradient = tl.grad(fn, wrt=wrt)
    gradient(*args)
    source = gradient.source_for(*args)
    assert all(text in source for text in texts)
    assert "add_at" not in source
    assert "] += " not in source
    tl.check_grads(fn, args, wrt=wrt, order=2)


# What something else is added to, or has, too.


def regularised(params: Any, x: Any) -> Any:
    for W, b in params:
        x = np.tanh(W @ x + b)
    penalty = 0.0
    for W, _ in params:
        penalty = penalty + np.sum(W * W)
    return np.sum(x**2) + penalty


def twice_in_a_round(params: Any, x: Any) -> Any:
    for i in range(len(params)):
        W, b = params[i]
        x = np.tanh(W @ x + b) + params[i][1]
    return np.sum(x**2)


def only_some(params: Any, x: Any) -> Any:
    for W, b in params:
        x = np.tanh(W @ x + b) if x[0] < 10.0 else x
    return np.sum(x**2)


def one_item_by_two_keys(params: Any, x: Any) -> Any:
    W, b = params[0]
    x = W @ x + b
    W, b = params[-1]
    return np.sum((W @ x + b) ** 2)


def neighbours(params: Any, x: Any) -> Any:
    for i in range(1, len(params)):
        W, b = params[i]
        x = np.tanh(W @ x + b)
    W, b = params[-1]
    return np.sum((W @ x + b) ** 2)


def any_of_them(params: Any, order: Any, x: Any) -> Any:
    for i in order:
        W, b = params[i]
        x = np.tanh(W @ x + b)
    return np.sum(x**2)


def the_same_to_two(params: Any, x: Any) -> Any:
    for a, b in params:
        x = x * 2.0 + a + b
    return np.sum(x**2)


def the_same_to_two_lists(firsts: Any, seconds: Any, x: Any) -> Any:
    for a, b in zip(firsts, seconds):
        x = x * 2.0 + a + b
    return np.sum(x**2)


def kept_going(params: Any, x: Any) -> Any:
    for a, b in params:
        x = x + a
        x = x + b * np.sin(x)
    return np.sum(x**2)


OTHERS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (regularised, (LAYERS, X)),
    (twice_in_a_round, (LAYERS, X)),
    (only_some, (LAYERS, X)),
    (one_item_by_two_keys, (LAYERS, X)),
    (one_item_by_two_keys, (LAYERS[:1], X)),
    (neighbours, (LAYERS, X)),
    (the_same_to_two, ([(b, 2.0 * b) for b in SHIFTS], X)),
    (kept_going, ([(b, 2.0 * b) for b in SHIFTS], X)),
]


@pytest.mark.parametrize(("fn", "args"), OTHERS)
def test_what_is_added_twice_is_added(fn: Any, args: Any) -> None:
    tl.check_grads(fn, args, wrt=(0, 1), order=2)


def test_items_that_are_come_to_in_any_order_are_added_to() -> None:
    order = [0, 2, 2, 1]
    tl.check_grads(any_of_them, (LAYERS, order, X), wrt=0, order=2)


# Adjoints of items that stand for larger ones: a number for all entries, a row for all rows.


def of_a_sum(params: Any, x: Any) -> Any:
    total = 0.0
    for W, b in params:
        total = total + np.sum(W) * np.sum(b * x)
    return total


def of_rows(params: Any, x: Any) -> Any:
    total = 0.0
    for W, b in params:
        total = total + np.sum(np.sum(W, axis=0) * x) + np.mean(b)
    return total


def of_sums_in_a_dict(params: Any, x: Any) -> Any:
    total = 0.0
    for W in params["hidden"]:
        total = total + np.sum(W)
    return total * np.sum(params["out"]) + x[0]


def of_lists_in_a_dict(params: Any, x: Any) -> Any:
    for W in params["hidden"]:
        x = np.tanh(W @ x)
    return np.sum(x @ params["out"])


@pytest.mark.parametrize(
    ("fn", "params"),
    [
        (of_a_sum, LAYERS),
        (of_rows, LAYERS),
        (of_sums_in_a_dict, {"hidden": WEIGHTS, "out": WEIGHTS[0][:, :2]}),
        (of_lists_in_a_dict, {"hidden": WEIGHTS, "out": WEIGHTS[0][:, :2]}),
    ],
)
def test_items_are_as_large_as_what_they_are_of(fn: Any, params: Any) -> None:
    tl.check_grads(fn, (params, X), wrt=0, order=2)


def test_lists_in_a_dict_are_written_out() -> None:
    params = {"hidden": WEIGHTS, "out": WEIGHTS[0][:, :2]}
    source = tl.grad(of_lists_in_a_dict).source_for(params, X)
    assert "return {'hidden': params_hidden_bar[::-1], 'out': " in source


@pytest.mark.parametrize("fn", [the_same_to_two, kept_going])
def test_no_two_items_are_one_array(fn: Any) -> None:
    """(What is given back is the user's to write.)"""
    bars, x_bar = tl.grad(fn, wrt=(0, 1))([(b, 2.0 * b) for b in SHIFTS], X)
    arrays = [x_bar, *(bar for pair in bars for bar in pair)]
    before = [bar.copy() for bar in arrays]
    for at, bar in enumerate(arrays):
        bar += 1.0
        assert all(np.array_equal(a, b) for k, (a, b) in enumerate(zip(arrays, before)) if k > at)


def test_no_items_of_two_lists_are_one_array() -> None:
    args = (SHIFTS, [2.0 * b for b in SHIFTS], X)
    firsts, seconds, _ = tl.grad(the_same_to_two_lists, wrt=(0, 1, 2))(*args)
    assert not any(np.shares_memory(a, b) for a in firsts for b in seconds)
    tl.check_grads(the_same_to_two_lists, args, order=2)


def test_one_layer_twice() -> None:
    layer = LAYERS[0]
    (first, second), _ = tl.grad(of_pairs, wrt=(0, 1))([layer, layer], X)
    whole = tl.grad(of_pairs)([layer, LAYERS[0]], X)
    assert np.array_equal(first[0], whole[0][0])
    assert np.array_equal(second[1], whole[1][1])
    assert not np.array_equal(first[0], second[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_items_have_the_type_of_the_arguments(dtype: str) -> None:
    layers = [(w.astype(dtype), b.astype(dtype)) for w, b in LAYERS]
    for pair in tl.grad(of_pairs)(layers, X):
        assert isinstance(pair, tuple)
        assert [bar.dtype for bar in pair] == [dtype, dtype]


def test_in_a_callee_and_added_to_afterwards() -> None:
    def loss(params: Any, x: Any) -> Any:
        return hidden_and_last(params, x) + np.sum(params[0][0]) * params[-1][1][0]

    tl.check_grads(loss, (LAYERS, X), order=2)
