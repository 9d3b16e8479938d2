"""Functions that a program is given, and that read or change what it has by another way, too."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, 0.5, 0.7])
CALLED: dict = {}
OUTER = np.arange(3.0)


def calls(x, w, f):
    y = np.sum(w * x * x)
    f(3.0)
    return y


def calls_in_helper(x, w, f):
    y = np.sum(w * x * x)
    return y * through(f, 3.0)


def through(f, c):
    f(c)
    return c


def calls_by_map(x, w, f):
    y = np.sum(w * x * x)
    list(map(f, [1.0, 2.0]))
    return y


def calls_registered(x, w, f):
    y = np.sum(w * x * x)
    CALLED["f"](3.0)
    return y


def reads_outside(x, w, f):
    y = np.sum(OUTER * x * x)
    f(3.0)
    return y


def in_rounds(x, b, f):
    for _ in range(3):
        x = x * x * b.w
        f(5.0)
    return np.sum(x)


def calls_what_is_held(x, b, f):
    y = np.sum(x * x * b.w)
    b.f(5.0)
    return y


def held_by_a_dict(x, d, f):
    y = np.sum(x * x * d["w"])
    d["f"](5.0)
    return y


def on_a_list(x, items, f):
    y = np.sum(x * x * items[0])
    f(0, 2.0)
    return y + np.sum(x * items[0])


def method():
    w = np.arange(3.0)
    return w, w.fill


def closure():
    w = np.arange(3.0)
    return w, lambda v: w.fill(v)


def registered():
    w, CALLED["f"] = closure()
    return w, None


def outer():
    OUTER[:] = np.arange(3.0)
    return None, lambda v: OUTER.fill(v)


def attribute():
    b = SimpleNamespace(w=2.0)
    return b, lambda v: setattr(b, "w", v)


def held():
    b = SimpleNamespace(w=np.arange(3.0))
    b.f = lambda v: b.w.fill(v)
    return b, None


def in_dict():
    d = {"w": np.arange(3.0)}
    d["f"] = lambda v: d["w"].fill(v)
    return d, None


def items():
    found = [1.0]
    return found, found.__setitem__


@pytest.mark.parametrize(
    ("f", "made"),
    [
        *((f, m) for f in (calls, calls_in_helper, calls_by_map) for m in (method, closure)),
        (calls_registered, registered),
        (reads_outside, outer),
        (in_rounds, attribute),
        (held_by_a_dict, in_dict),
        (on_a_list, items),
    ],
)
def test_a_function_that_changes_what_the_program_reads(f, made):
    for derivative in (tl.grad(f), tl.value_and_grad(f), lambda *a: tl.vjp(f, *a)):
        with pytest.raises(tl.TangentlikeError, match="which .* by another way|shares memory"):
            derivative(X, *made())
    # The tangents are found as the program runs.
    found = tl.jvp(f, (X, *made()), (np.ones(3), None, None))[1]
    steps = [f(X + e, *made()) for e in (1e-6, -1e-6)]
    np.testing.assert_allclose(found, (steps[0] - steps[1]) / 2e-6, rtol=1e-5)


def test_a_function_that_changes_the_object_that_holds_it():
    with pytest.raises(tl.TangentlikeError, match="(changes|its argument) `b`"):
        tl.grad(calls_what_is_held)(X, *held())


def test_a_function_that_changes_what_carries_tangents():
    with pytest.raises(tl.TangentlikeError, match="changes `w`"):
        w, f = method()
        tl.jvp(calls, (X, w, f), (X, np.ones(3), None))


def writes(x, w, f):
    w[:] = x * x
    return np.sum(f(x))


@pytest.mark.parametrize(
    "made",
    [
        lambda w: lambda v: w * v,
        lambda w: functools.partial(np.multiply, w),
        lambda w: lambda v, scale=w: scale * v,
        lambda w: tl.grad(lambda v: np.sum(w * v * v)),
    ],
)
def test_a_function_that_reads_what_the_program_writes(made):
    w = np.arange(3.0)
    for call in (
        lambda: tl.grad(writes)(X, w, made(w)),
        lambda: tl.jvp(writes, (X, w, made(w)), (X, None, None)),
    ):
        with pytest.raises(tl.TangentlikeError, match="writes its argument `w` in place, and a f"):
            call()
    other = np.arange(3.0)
    np.testing.assert_allclose(tl.grad(writes)(X, w, lambda v: other * v), other)


def counts(w):
    done = [0]

    def f(v):
        done[0] += 1
        return v * done[0] * w.sum()

    return f


def fills_its_own(w):
    def f(v):
        found = np.zeros(3)
        found[:] = w * v
        return found.sum()

    return f


def scaled(x, w, f):
    return np.sum(w * x * x) * f(2.0)


@pytest.mark.parametrize("made", [lambda w: lambda v: v * w.sum(), counts, fills_its_own])
def test_a_function_that_reads_what_the_program_reads(made):
    w = np.arange(3.0)
    np.testing.assert_allclose(tl.grad(scaled)(X, w, made(w)), 2.0 * w * X * 6.0)
    both = np.full(3, 0.5)
    np.testing.assert_allclose(
        tl.jvp(scaled, (X, w, made(w)), (both, None, None))[1], np.sum(w * X) * 6.0
    )
