"""Slices that move with a loop, and those between sizes: how long they are is known."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tangentlike as tl
from tangentlike import ir
from tangentlike.ir.kind import INT, UNKNOWN, Kind
from tangentlike.rules.index_kinds import index_kind, total_size
from tests.sampled import one_in

_RNG = np.random.default_rng(5)
_IMAGE = _RNG.random((6, 7))


def convolution(image, k):
    height, width = image.shape
    rows, columns = k.shape
    out = np.zeros((height - rows + 1, width - columns + 1))
    for i in range(rows):
        for j in range(columns):
            out += k[i, j] * image[i : i + height - rows + 1, j : j + width - columns + 1]
    return np.sum(np.tanh(out) ** 2)


def by_sums(image, k):
    n = image.shape[0] - 2
    m = image.shape[1] - 2
    out = 0.0
    for i in range(3):
        for j in range(3):
            out = out + k[i, j] * image[i : i + n, j : j + m]
    return np.sum(out**2)


def autoregression(x, phi):
    n, p = len(x), len(phi)
    errors = x[p:].copy()
    for j in range(p):
        errors -= phi[j] * x[p - 1 - j : n - 1 - j]
    return np.sum(errors * errors)


def moving_mean(x, w):
    n = len(x) - len(w) + 1
    y = np.zeros(n)
    for j in range(len(w)):
        y += w[j] * x[j : j + n]
    return np.sum(np.sin(y))


def beside_literals(x, w):
    n = len(x)
    return np.sum((x[1 : n - 1] - x[: n - 2]) * x[2:n] * w[0])


def beyond_the_end(x, w):
    n = len(x)
    y = 0.0
    for j in range(4):
        y = y + w[0] * np.sum(x[j : j + n - 2])
    return y


def stepping_out(x, w):
    n = len(x)
    y = np.zeros(n - 2)
    for j in range(3):
        j = j - 1
        y[: len(x[j : j + n - 2])] += w[0] * x[j : j + n - 2] ** 2
    return np.sum(y)


PROGRAMS = {
    "convolution": (convolution, (_IMAGE, _RNG.random((3, 2)))),
    "by_sums": (by_sums, (_IMAGE, _RNG.random((3, 3)))),
    "autoregression": (autoregression, (_RNG.random(8), _RNG.random(3))),
    "moving_mean": (moving_mean, (_RNG.random(8), _RNG.random(3))),
    "beside_literals": (beside_literals, (_RNG.random(8), _RNG.random(3))),
}


@pytest.mark.parametrize("name", one_in(2, PROGRAMS))
def test_a_window_is_as_long_as_what_it_is_added_to(name):
    fn, args = PROGRAMS[name]
    df = tl.grad(fn, wrt=(0, 1), example=args)
    assert "unbroadcast" not in df.source and "_saved" not in df.source, df.source
    tl.check_grads(fn, args, wrt=(0, 1), order=2)


def shorter_in_each_round(x, w):
    n = len(x)
    y = 0.0
    for i in range(2):
        z = w[0] * x[4 : n - i]
        y = y + z * z
    return np.sum(y * y)


@pytest.mark.parametrize("fn", [beyond_the_end, stepping_out, shorter_in_each_round])
def test_a_window_may_end_beyond_the_axis(fn):
    args = _RNG.random(6), _RNG.random(1)
    tl.check_grads(fn, args, wrt=(0, 1), order=2)
    np.testing.assert_allclose(
        tl.grad(fn, example=args)(*args), tl.grad(fn)(*args), rtol=1e-14, atol=0.0
    )


@pytest.mark.parametrize("shape", [(3, 3), (2, 2), (1, 4), (2, 5)])
def test_an_image_smaller_than_the_kernel(shape):
    """(Nothing is left of most windows; of some, what a negative bound leaves.)"""
    image, k = _RNG.random(shape), _RNG.random((4, 3))
    for df in (tl.grad(by_sums, (0, 1)), tl.grad(by_sums, (0, 1), example=(_IMAGE, k))):
        for got, arg in zip(df(image, k), (image, k), strict=True):
            assert got.shape == arg.shape
    tl.check_grads(by_sums, (image, k), wrt=(0, 1))
    if min(shape) < 3:
        with pytest.raises(ValueError, match="negative dimensions"):
            tl.grad(convolution)(image, k)


def filled_up(x, w):
    p = len(w)
    z = np.ones(len(x[p:]) + p)  # (as long as `w` where that is longer than `x`)
    return np.sum(np.sin(z * x) * np.arange(1.0, len(z) + 1))


@pytest.mark.parametrize("length", [1, 3, 5])
def test_the_rest_of_an_axis_is_no_difference_of_sizes(length):
    x, w = _RNG.random(length), np.ones(3)
    expected = np.cos(x) * np.arange(1.0, length + 1) if length > 1 else 6.0 * np.cos(x)
    for df in (tl.grad(filled_up), tl.grad(filled_up, example=(np.ones(5), w))):
        np.testing.assert_allclose(df(x, w), expected)


# ------------------------------------------------------------- lengths, one slice at a time


def _minus(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Call(ir.Ref("-", operator.sub), (a, b))


def _plus(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Call(ir.Ref("+", operator.add), (a, b))


def _number(value: int) -> ir.Expr:
    return ir.Const(value)


_KINDS = {
    "n": ir.replaced(INT, spells="x.0!"),
    "m": ir.replaced(INT, spells="=x.0!-1"),
    "k": ir.replaced(INT, spells="k.0"),
    "i": ir.replaced(INT, below=3),
    "j": ir.replaced(INT, below="k.0"),
    "any": INT,
}
_N, _M, _K, _I, _J, _ANY = map(ir.Var, _KINDS)
LENGTHS = {
    "up to a size": (ir.Slice(_K, _N), "(+k.0*-1+x.0!*1)"),
    "from a size on": (ir.Slice(_K), "(+k.0*-1+x.0!*1)"),
    "between a literal and a size": (ir.Slice(_number(1), _M), "x.0!-2"),
    "three places": (ir.Slice(_I, _minus(_plus(_I, _N), _number(2))), "x.0!-2"),
    "three places from one": (ir.Slice(_plus(_I, _number(1)), _minus(_plus(_I, _N), _number(2))), "x.0!-3"),
    "three places, one too many": (ir.Slice(_I, _minus(_plus(_I, _N), _number(1))), None),
    "as many as a size": (ir.Slice(_J, _plus(_J, _plus(_minus(_N, _K), _number(1)))), "(+k.0*-1+x.0!*1+1)"),
    "one more than a size": (ir.Slice(_J, _plus(_J, _minus(_N, _minus(_K, _number(2))))), None),
    "downwards": (ir.Slice(_minus(_number(2), _I), _minus(_minus(_N, _number(1)), _I)), "x.0!-3"),
    "downwards below zero": (ir.Slice(_minus(_number(1), _I), _minus(_N, _I)), None),
    "two loops": (ir.Slice(_plus(_I, _J), _plus(_I, _plus(_J, _N))), None),
    "any number": (ir.Slice(_ANY, _plus(_ANY, _number(2))), None),
    "shorter in each round": (ir.Slice(_K, _minus(_N, _I)), None),
    "from the start": (ir.Slice(None, _minus(_N, _I)), None),
    "to the end": (ir.Slice(_I), None),
    "with a step": (ir.Slice(_K, _N, _number(2)), None),
}  # fmt: skip


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_of_slices(name):
    part, length = LENGTHS[name]

    def kind_of(expr: ir.Expr) -> Kind:
        match expr:
            case ir.Var(name):
                return _KINDS.get(name, UNKNOWN)
            case ir.Const(int()):
                return INT
        return UNKNOWN

    found = index_kind(Kind("array", "float", ("x.0!",)), part, kind_of)
    assert found.form == "array" and found.shape == (length,)


def test_sums_of_sizes():
    assert total_size(1, "=x.0!-2", 2) == "x.0!" and total_size(-1, 2, 3) is None
    assert total_size(1, "x.0!-2", 2) is None  # (of a slice: 2 where x is shorter than that)
    assert total_size(-1, "x.0", "x.0") == 0 and total_size(1, "x.0[::2]", 1) is None
    assert total_size(1, total_size(-1, "x.0", "k.0"), "k.0") == "x.0"
