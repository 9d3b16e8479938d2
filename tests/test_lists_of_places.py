"""Lists whose items are of different ranks: of which kind each is, as long as it stays in its place."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.runtime import require_types


def layers(p: Any, x: Any) -> Any:
    w, b, s = p
    return s * np.sum(np.tanh(x @ w + b))


def by_place(p: Any, x: Any) -> Any:
    return p[-1] * np.sum(np.tanh(x @ p[0] + p[1]))


def handed(p: Any, x: Any) -> Any:
    return by_place(p, x) + by_place([p[0], p[1], 2.0], x)


def reversed_in_place(p: Any, x: Any) -> Any:
    p.reverse()
    return p[0] * np.sum(np.tanh(x @ p[2] + p[1]))


def swapped(p: Any, x: Any) -> Any:
    p[0], p[1] = p[1], p[0]
    return p[2] * np.sum(np.tanh(x @ p[1] + p[0]))


def popped(p: Any, x: Any) -> Any:
    w = p.pop(0)
    return p[1] * np.sum(np.tanh(x @ w + p[0]))


def deleted(p: Any, x: Any) -> Any:
    w = p[0]
    del p[0]
    return p[1] * np.sum(np.tanh(x @ w + p[0]))


def inserted(p: Any, x: Any) -> Any:
    p.insert(0, x[0])
    return p[-1] * np.sum(np.tanh(x @ p[1] + p[0] @ p[1] + p[2]))


def appended(p: Any, x: Any) -> Any:
    p.append(x[0] @ p[0])
    return p[2] * np.sum(np.tanh(x @ p[0] + p[-1]))


def lengthened(p: Any, x: Any) -> Any:
    p += [x[0] @ p[0]]
    return p[2] * np.sum(np.tanh(x @ p[0] + p[-1] * p[1]))


def replaced(p: Any, x: Any) -> Any:
    p[1:] = [p[2], p[1]]
    return p[1] * np.sum(np.tanh(x @ p[0] + p[2]))


def under_another_name(p: Any, x: Any) -> Any:
    q = p
    q.reverse()
    return p[0] * np.sum(np.tanh(x @ p[2] + q[1]))


def _turned(q: Any) -> Any:
    q.reverse()
    return q


def in_a_helper(p: Any, x: Any) -> Any:
    _turned(p)
    return p[0] * np.sum(np.tanh(x @ p[2] + p[1]))


def copied(p: Any, x: Any) -> Any:
    q = list(p)
    q.reverse()
    r = p.copy()
    r.pop()
    return p[2] * np.sum(np.tanh(x @ q[2] + r[1])) + q[0]


def joined(p: Any, x: Any) -> Any:
    q = [1.5 * p[2], *p] + p[:1]
    return q[0] * np.sum(np.tanh(x @ q[1] + q[2])) + np.sum(q[-1] * p[-2]) + np.sum((p * 2)[4])


def in_a_dict(p: Any, x: Any) -> Any:
    d = {"p": p, "n": 1}
    d["p"].sort(key=np.ndim)
    return p[0] * np.sum(np.tanh(x @ d["p"][2] + p[1]))


def looped(p: Any, x: Any) -> Any:
    total = 0.0
    for q in p:
        total = total + np.sum(q**2) * np.sum(x)
    for k in range(len(p)):
        total = total + np.sum(np.sin(p[k]))
    return total


def shuffled(p: Any, x: Any) -> Any:
    random.Random(3).shuffle(p)
    s = next(q for q in p if np.ndim(q) == 0)
    w = next(q for q in p if np.ndim(q) == 2)
    return s * np.sum(np.tanh(x @ w)) + np.sum(p[0]) * np.sum(p[1] ** 2)


PROGRAMS = [
    *(layers, by_place, handed, reversed_in_place, swapped, popped, deleted, inserted, appended),
    *(lengthened, replaced, under_another_name, in_a_helper, copied, joined, in_a_dict, looped),
    shuffled,
]
RNG = np.random.default_rng(1)
X = RNG.normal(size=(4, 3))


def weights() -> list[Any]:
    rng = np.random.default_rng(2)
    return [rng.normal(size=(3, 2)), rng.normal(size=2), 0.7]


@pytest.mark.parametrize("fn", PROGRAMS)
@pytest.mark.parametrize("told", [False, True])
def test_gradients(fn: Any, told: bool) -> None:
    example = (weights(), X) if told else None
    try:
        found = tl.grad(fn, example=example)(weights(), X)
    except tl.UnsupportedError:
        assert fn is shuffled
        return
    for place, value in enumerate(weights()):
        for at in np.ndindex(np.shape(value)):
            sides = []
            for h in (1e-6, -1e-6):
                moved = weights()
                step = np.zeros(np.shape(value))
                step[at] = h
                moved[place] = moved[place] + step
                sides.append(fn(moved if place < 2 else [*moved[:2], float(moved[2])], X))
            want = (sides[0] - sides[1]) / 2e-6
            assert np.isclose(np.asarray(found[place])[at], want, rtol=1e-5, atol=1e-7), place


def test_the_text_needs_no_helpers() -> None:
    df = tl.grad(layers, example=(weights(), X))
    assert "params" not in df.source and "unbroadcast" not in df.source
    assert "list[float[n, m], float[m], float]" in df.source
    for other in ([*weights(), 1.0], weights()[:2], [*weights()[:2], np.ones(2)], tuple(weights())):
        with pytest.raises(TypeError):
            require_types("p: list[float[n, m], float[m], float]", other)
    tl.check_grads(layers, (weights(), X), wrt=0, order=2)
