"""Loops through iterators: the reverse sweep comes to what the first run has left empty."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests.generator import loaded
from tests.sampled import one_in

X = np.array([0.3, 1.2, -0.7, 0.5])


def places() -> Iterator[int]:
    yield 0
    yield 2
    yield 1


class Batches:
    def of(self, n: int) -> Iterator[list[int]]:
        for k in range(n - 1):
            yield [k, k + 1]


BATCHES = Batches()
REGISTRY: dict[str, Callable[[], Any]] = {
    "places": places,
    "pairs": lambda: itertools.combinations(range(3), 1),
}


def starred_shape(x):
    y, s = x.reshape(2, 2), 1.0
    for i, j in np.ndindex(*y.shape):
        s = s * y[i, j] + y[j, i]
    return s


def rows_of_text(x):
    s = 1.0
    for row in csv.reader(io.StringIO("0,1\n2,3")):
        s = s * x[int(row[0])] + x[int(row[1])]
    return s


def matches(x):
    s = 1.0
    for found in re.finditer(r"\d", "0 1 2"):
        s = s * x[int(found.group())] + 0.5
    return s


def lines(x):
    s = 1.0
    with io.StringIO("0\n1\n2\n") as file:
        for k, line in enumerate(file):
            s = s * x[int(line)] + 0.1 * k
    return s


def by_default(x, choose=places):
    s = 1.0
    for k in choose():
        s = s * x[k] + s**2
    return s


def from_registry(x):
    s = 1.0
    for name in ("places", "pairs"):
        for k in REGISTRY[name]():
            s = s * np.sum(x[[k]]) + 0.3
    return s


def of_object(x, batches=BATCHES):
    s = 1.0
    for batch in batches.of(3):
        s = s * np.prod(x[batch]) + s**2
    return s


def pieces(x):
    def numbered(a, js):
        t = 1.0
        for k, j in enumerate(js):
            t = t * a[j] + k
        return t

    return numbered(x, (k for k in range(3))) * numbered(x, iter([0, 1])) + numbered(
        x, map(int, "12")
    )


def from_a_set(x):
    s = 1.0
    for k in {0, 2, 3}:
        s = s * x[k] + 0.1
    return s


MADE = (starred_shape, rows_of_text, matches, lines, by_default, from_registry, of_object)
MADE += (pieces, from_a_set)


def alone(x, it):
    s = 1.0
    for i in it:
        s = s * x[i] + 0.1
    return s


def counted(x, it):
    s = 1.0
    for k, i in enumerate(it):
        s = s * x[i] + k
    return s


def beside_a_list(x, it):
    s = 1.0
    for i, w in zip(it, [1.0, 2.0, 3.0]):
        s = s * x[i] + w
    return s


def beside_the_argument(x, it):
    s = 1.0
    for v, i in zip(x, it):
        s = s * v * x[i]
    return s


def of_both(x, it):
    s = 1.0
    for i, j in zip(it, it):
        s = s * x[i] + x[j]
    return s


def in_parts(x, it):
    s = 1.0
    for i in it:
        s = s * x[i]
        break
    for i in it:
        s = s * x[i] + 0.5
    return s


def sliced(x, it):
    first, rest = list(itertools.islice(it, 1)), list(it)
    return x[first[0]] * np.prod(x[rest])


def one_by_one(x, it):
    s = x[next(it)]
    for i in it:
        s = s * x[i]
    return s


def written(x, it):
    y = x.copy()
    for k, i in enumerate(it):
        y[i] *= y[(i + 1) % 4] + k
    return np.sum(y**2)


def in_a_comprehension(x, it):
    return np.prod([x[i] ** 2 for i in it])


GIVEN = (alone, counted, beside_a_list, beside_the_argument, of_both, in_parts, sliced, one_by_one)
GIVEN += (written, in_a_comprehension)
WAYS: tuple[Callable[[], Any], ...] = (places, lambda: iter([0, 2, 1]), lambda: map(int, "021"))


def differences(f: Callable[..., Any], x: np.ndarray, make: Callable[[], Any] | None) -> np.ndarray:
    def value(x: np.ndarray) -> float:
        return float(f(x) if make is None else f(x, make()))

    return np.array([(value(x + 1e-6 * e) - value(x - 1e-6 * e)) / 2e-6 for e in np.eye(4)])


@pytest.mark.parametrize("f", one_in(4, [pytest.param(f, id=f.__name__) for f in MADE]))
def test_made_inside(f):
    expected = differences(f, X, None)
    np.testing.assert_allclose(tl.grad(f)(X), expected, rtol=1e-6, atol=1e-8)
    tangents = [tl.jvp(f, (X,), (e,))[1] for e in np.eye(4)]
    np.testing.assert_allclose(tangents, expected, rtol=1e-6, atol=1e-8)
    gradient = tl.grad(f)
    v = np.array([0.3, -0.2, 0.5, 1.0])
    second = [(gradient(X + 1e-5 * e) - gradient(X - 1e-5 * e)) @ v / 2e-5 for e in np.eye(4)]
    np.testing.assert_allclose(tl.hvp(f)(X, v), second, rtol=1e-5, atol=1e-6)
    if f not in (matches, of_object):  # (methods that the run looks up, and defaults of such)
        twice = tl.grad(lambda x: gradient(x) @ v)(X)
        np.testing.assert_allclose(twice, second, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("f", "make"), one_in(4, [pytest.param(f, make) for f in GIVEN for make in WAYS])
)
def test_given(f, make):
    expected = differences(f, X, make)
    gradient = tl.grad(f)
    np.testing.assert_allclose(gradient(X, make()), expected, rtol=1e-6, atol=1e-8)
    tangents = [tl.jvp(f, (X, make()), (e, None))[1] for e in np.eye(4)]
    np.testing.assert_allclose(tangents, expected, rtol=1e-6, atol=1e-8)
    given = gradient.__tangentlike__.derive().specialized_for((X, make()), {}).by_identity
    try:
        np.testing.assert_allclose(given.call((X.copy(), make()), {}), expected, rtol=1e-6)
    except tl.UnsupportedError as error:
        assert "which is used beside that" in str(error)
    text = str(gradient.source)
    shown = loaded(text, f"{f.__name__} shown", dict(globals()))[f"{f.__name__}_grad"]
    np.testing.assert_allclose(shown(X, make()), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", [counted, beside_a_list, of_both], ids=lambda f: f.__name__)
def test_a_text_for_any_arguments(f):
    """Which is shown before any call."""
    text = tl.grad(f).__tangentlike__.derive().settled().text
    shown = loaded(text, f"{f.__name__} for any", dict(globals()))[f"{f.__name__}_grad"]
    np.testing.assert_allclose(shown(X, places()), differences(f, X, places), rtol=1e-6)
    np.testing.assert_allclose(shown(X, [2, 3]), differences(f, X, lambda: [2, 3]), rtol=1e-6)


def stepped(x, it):
    for k, i in enumerate(it):
        x = x * x[i] + k
    return x


def test_a_checkpoint_runs_nothing_again_that_is_used_up():
    def loss(x, it):
        return np.sum(tl.checkpoint(stepped)(x, it))

    gradient = tl.grad(loss)
    np.testing.assert_allclose(
        gradient(X, [0, 1]), differences(loss, X, lambda: [0, 1]), rtol=1e-6, atol=1e-8
    )
    with pytest.raises(tl.UnsupportedError, match="items of an iterator are taken once more"):
        gradient(X, iter([0, 1]))


def test_an_iterator_that_a_loop_asks_for_more_is_refused():
    """What it says there changes with each item."""

    def by_position(x):
        s = 0.0
        with np.nditer(np.arange(4).reshape(2, 2), flags=["multi_index"]) as it:
            for _ in it:
                s += x[it.multi_index[0]] ** 2
        return s

    with pytest.raises(tl.UnsupportedError, match="a loop runs through a nditer, which is used"):
        tl.grad(by_position)(X)


def test_what_gives_other_items_each_time_gives_those_of_the_first_run():
    class Shuffled:
        def __init__(self) -> None:
            self.rng = np.random.default_rng(0)

        def __len__(self) -> int:
            return 4

        def __iter__(self) -> Iterator[int]:
            return iter(self.rng.permutation(4).tolist())

    def loss(x, loader):
        s = 1.0
        for k, i in enumerate(loader):
            s = s * x[i] + k
        return s

    text = str(tl.grad(loss).source)
    shown = loaded(text, "shuffled", dict(globals()))["loss_grad"]
    np.testing.assert_allclose(shown(X, Shuffled()), differences(loss, X, Shuffled), rtol=1e-6)


def test_an_iterator_shares_its_name_with_two_others():
    """Once three values have one name, what is known of it holds of all of them: `len(list(p))`
    was asked twice, of what the first time left empty."""

    def loss(x):
        p = REGISTRY["places"]()
        p = zip([0, 2, 1], [1, 3, 0])
        q, r = next(p)
        u = x[q] * x[r] * len(list(p))
        p = REGISTRY["places"]()
        return u

    tl.check_grads(loss, (X,), order=2)
    assert tl.jvp(loss, (X,), (X,))[1] == pytest.approx(2.0 * loss(X))


ASKED = [
    lambda x: x[0] * x[1] * len(list(REGISTRY["places"]())),
    lambda x, p: x[0] * x[1] * len(list(p)) * x[3],
    lambda x, p: (x[0] * x[1] * sum(p)) ** 2,
    lambda x, p: x[0] * x[1] * sorted(p)[1],
    lambda x, p: x[2] * max(p) * x[0] + len(list(p)),
]


@pytest.mark.parametrize("asked", ASKED)
def test_what_may_be_an_iterator_is_asked_once(asked):
    """`len(list(p))` stood in the tangent and in the value, which was 0 then."""

    def loss(x):
        p = REGISTRY["places"]()
        return asked(x, p) if asked is not ASKED[0] else asked(x)

    expected = loss(X)
    tl.check_grads(loss, (X,), order=2)
    value, tangent = tl.jvp(loss, (X,), (X,))
    assert value == pytest.approx(expected) == tl.value_and_grad(loss)(X)[0]
    assert tangent == pytest.approx(tl.grad(loss)(X) @ X)
    forward = tl.autodiff(loss, mode="forward")
    assert tl.vjp(forward, X, X)[1]((1.0, 0.0))[0] == pytest.approx(tl.grad(loss)(X))
