"""Loops back that go through what is saved, and adjoints of dicts that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests.sampled import one_in


def until_small(x, a):
    k = 0
    while abs(x * x - a) > 1e-3 and k < 20:
        x = x - (x * x - a) / (2.0 * x)
        k += 1
    return x


def left_early(x, n):
    s = 0.0
    for _ in range(n):
        s = s + np.sin(x)
        x = x * s
        if x > 0.9:
            break
    return s * x


def in_rounds(x, n, m):
    s = 0.0
    for _ in range(n):
        for _ in range(m):
            x = np.sin(x) * x
            s = s + x**2
        x = x * 2.0 * s
    return s


def over_rows(w, rows):
    h = np.ones(2)
    for row in rows:
        h = h * np.sin(w)
        h = h * w
    return np.sum(h) + rows[0, 0]


def read_again(w, n):
    h = np.ones(2)
    for _ in range(n):
        h = np.tanh(w * h)
    return np.sum(h)


def counted(x, n):
    for k in range(n):
        x = np.sin(x) * k + x * x
    return x


def counted_afterwards(x, n):
    for k in range(n):
        x = np.sin(x) * x
    return x * k


def stepped(state, n):
    for _ in range(n):
        rate = np.sin(state) * state
        state = state + 0.1 * rate
    return state


def with_steps(x):
    y = stepped(x * 2.0, 3)
    return np.sum(y * y)


def none_at_all(x, n):
    for _ in range(n):
        x = np.sin(x) * x
    y = x * x
    for _ in range(n):
        y = np.cos(y) * y
    return y


# A program, its arguments, a line of its text, and what is not in that.
THROUGH = {
    "until_small": (until_small, (1.3, 2.0), "for ratio, x in reversed(saved):", "count"),
    "in_rounds": (in_rounds, (0.9, 2, 3), "for x in reversed(x_saved2):", "range(n))"),
    "over_rows": (over_rows, (np.array([0.7, 1.2]), np.ones((3, 2))), "in reversed(saved):", "pop"),
    "with_steps": (with_steps, (np.array([0.3, 0.8]),), "in reversed(saved):", "pop"),
    "no_round": (none_at_all, (0.4, 0), "in reversed(saved2):", "pop"),
}
# Where what is saved is taken back in the middle of a round, or a round reads its number.
TAKEN = {
    "left_early": (left_early, (0.5, 4), ".pop()"),
    "read_again": (read_again, (np.array([0.3, 0.4]), 3), "h = h_saved.pop()"),
    "counted": (counted, (0.4, 3), "for k in reversed(range(n)):"),
}


@pytest.mark.parametrize("example", [True, False])
@pytest.mark.parametrize("name", one_in(2, THROUGH))
def test_a_loop_goes_through_what_is_saved(name, example):
    fn, args, line, absent = THROUGH[name]
    df = tl.grad(fn, example=args) if example else tl.grad(fn)
    if example:
        assert line in df.source and absent not in df.source.split("# adjoint")[-1], df.source
    assert "saved" in df.source.split(" in reversed(")[1].split(")")[0], df.source
    tl.check_grads(fn, args, order=2)


@pytest.mark.parametrize("name", TAKEN)
def test_a_loop_takes_back_what_is_saved(name):
    fn, args, line = TAKEN[name]
    df = tl.grad(fn, example=args)
    assert line in df.source and "in reversed(saved)" not in df.source, df.source
    tl.check_grads(fn, args, order=2)


def test_the_number_of_the_last_round_is_that_of_the_function():
    tl.check_grads(counted_afterwards, (0.4, 3), order=2)
    tl.check_grads(none_at_all, (0.4, 3), order=2)


# ---------------------------------------------------------------------- adjoints of dicts


def layer(params, x):
    return np.sum(np.tanh(x @ params["w"] + params["b"]) ** 2) * params["scale"]


def in_a_loop(params, x):
    for _ in range(3):
        x = np.tanh(x @ params["w"] + params["b"])
    return np.sum(x)


def summed(params, x):
    return np.sum(params["b"]) + np.sum(x * params["scale"])


def with_names(params, x):
    w = x * params["two words"]
    return np.sum(w * w * params["w"])


def in_a_branch(params, x):
    y = x @ params["w"]
    if params["scale"] > 0.0:
        y = y + params["b"]
    return np.sum(y * y)


def written_inside(params, x):
    params["b"] = params["b"] * 2.0
    return np.sum(x @ params["w"] + params["b"])


def handed_over(params, x):
    return np.sum(x) * layer(params, x)


_RNG = np.random.default_rng(3)
_X = _RNG.normal(size=(4, 3))
_PARAMS = {"w": _RNG.normal(size=(3, 3)), "b": _RNG.normal(size=3), "scale": 0.7}
_WORDS = {"two words": _RNG.normal(size=(4, 3)), "w": 0.3}
# A program, its first argument, and the line that gives the gradient back (None: as a whole).
APART = {
    "layer": (layer, _PARAMS, "return {'w': x.T @ total_bar, 'b': np.sum(total_bar, axis=0), "),
    "in_a_loop": (in_a_loop, _PARAMS, "return {'w': w_bar, 'b': b_bar, 'scale': 0.0}"),
    "summed": (summed, _PARAMS, "return {'w': np.zeros_like(params['w']), 'b': b_bar, 'scale': "),
    "with_names": (with_names, _WORDS, "return {'two words': w_bar * x, 'w': "),
    "in_a_branch": (in_a_branch, _PARAMS, "'b': b_bar, 'scale': 0.0}"),
    "written_inside": (written_inside, _PARAMS, None),
    "handed_over": (handed_over, _PARAMS, None),
}


@pytest.mark.parametrize("name", one_in(2, APART))
def test_the_adjoint_of_a_dict_is_written_out(name):
    fn, params, line = APART[name]
    df = tl.grad(fn, example=(params, _X))
    assert (line or "") in df.source, df.source
    assert ("zeros_like(params)" in df.source) == (line is None and fn is not handed_over), (
        df.source
    )
    tl.check_grads(fn, (params, _X), order=2)


def test_other_keys_have_another_derivative():
    df = tl.grad(layer, example=(_PARAMS, _X))
    for text in (df.source, df.__tangentlike__.derive().standalone()):  # (as files of their own)
        namespace: dict[str, Any] = {}
        exec(text, namespace)
        with pytest.raises(TypeError, match="made for"):
            namespace[df.__name__]({**_PARAMS, "unused": 1.0}, _X)
    more = df({**_PARAMS, "unused": 1.0}, _X)
    assert more.keys() == {*_PARAMS, "unused"} and more["unused"] == 0.0
    single = {**_PARAMS, "b": _PARAMS["b"].astype(np.float32)}
    assert df(single, _X)["b"].dtype == np.float32
