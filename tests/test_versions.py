"""Derivatives are specialised for the types of the arguments of a call."""

import numpy as np
import pytest

import tangentlike as tl
from tests.generator_versions import check_versions
from tests.sampled import one_in

RNG = np.random.default_rng(5)
MATRIX, VECTOR = RNG.normal(size=(3, 2)), RNG.normal(size=2)


def added(a, b):
    return np.sum(np.tanh(a + b) * a)


def scaled(xs, scale):
    total = 0.0
    for x in xs:
        total = total + np.sum(x * scale)
    return total


def helped(a, b):
    return np.sum(added(a, b) * b)


def stepped(state, rate, steps):
    for _ in range(steps):
        state[1:-1] += rate * (state[2:] - 2.0 * state[1:-1] + state[:-2])
    return np.sum(state**2)


def test_the_text_is_that_of_the_types_of_the_last_call():
    gradient = tl.grad(lambda a, b: np.sum(np.tanh(a + b) * a), wrt=(0, 1))
    assert "unbroadcast" in gradient.source and not gradient.versions
    gradient(VECTOR, VECTOR + 1.0)
    assert "@for_types('a, b: float[n]')\n" in gradient.source
    assert "unbroadcast" not in gradient.source
    gradient(MATRIX, VECTOR)
    assert "np.sum(" in gradient.source and "axis=0" in gradient.source
    assert list(gradient.versions) == ["a: float[n], b: float[n]", "a: float[:, n], b: float[n]"]
    assert gradient.versions["a: float[:, n], b: float[n]"] == gradient.source
    assert "@for_types('a, b: float')\n" in gradient.source_for(1.0, 2.0)


SHAPES = [(), (1,), (3,), (1, 1), (1, 3), (2, 1), (2, 3)]


@pytest.mark.parametrize("left", SHAPES, ids=str)
def test_every_way_to_broadcast(left):
    for right in SHAPES:
        a, b = RNG.normal(size=left), RNG.normal(size=right)
        tl.check_grads(added, (a, b), wrt=(0, 1))
    tl.check_grads(helped, (0.5, RNG.normal(size=left)), wrt=(0, 1))
    tl.check_grads(helped, (RNG.normal(size=(2, 3)), RNG.normal(size=left)), wrt=(0, 1))


def test_one_derivative_called_in_every_way_to_broadcast():
    """A version made for other types must never serve a call."""
    gradient = tl.grad(added, wrt=(0, 1))
    calls = [(RNG.normal(size=m), RNG.normal(size=n)) for m in SHAPES for n in SHAPES]
    for a, b in (*calls, *reversed(calls)):
        for got, want in zip(gradient(a, b), tl.grad(added, wrt=(0, 1))(a, b), strict=True):
            np.testing.assert_allclose(got, want)


def test_sizes_are_not_types():
    gradient = tl.grad(lambda a, b: np.sum(np.tanh(a + b) * a), wrt=(0, 1))
    for n in (2, 5, 0, 7):
        gradient(np.ones((3, n)), np.ones(n))
    assert len(gradient.versions) == 1
    gradient(np.ones((3, 1)), np.ones(1))
    assert len(gradient.versions) == 2


def test_equal_sizes_are_a_coincidence():
    """A square matrix tells nothing about the next matrix."""
    gradient = tl.grad(lambda a, b: np.sum(a @ b @ a.T), wrt=(0, 1))
    gradient(np.eye(2), np.eye(2))
    a, b = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 3))
    got = gradient(a, b)
    np.testing.assert_allclose(got[0], np.ones((4, 4)) @ a @ b.T + np.ones((4, 4)) @ a @ b)


@pytest.mark.parametrize(
    "xs", [[VECTOR, VECTOR], [VECTOR, MATRIX], [VECTOR, 2.0], [1.0, 2.0], [np.ones(1), VECTOR]]
)
@pytest.mark.parametrize("scale", [0.5, VECTOR, np.ones((1, 2)), np.ones(1)], ids=np.shape)
def test_items_of_lists(xs, scale):
    tl.check_grads(scaled, (xs, scale), wrt=(0, 1))


def test_lists_of_other_arrays():
    gradient = tl.grad(scaled, wrt=(0, 1))
    for xs in ([VECTOR], [MATRIX], [VECTOR, MATRIX], [np.ones(1), VECTOR], [np.ones((1, 2))]):
        for got, want in zip(
            gradient(xs, VECTOR), tl.grad(scaled, wrt=(0, 1))(xs, VECTOR), strict=True
        ):
            for one, other in zip(got, want, strict=True):
                np.testing.assert_allclose(one, other)


def test_writes_in_place():
    tl.check_grads(stepped, (RNG.normal(size=9), 0.1, 3), wrt=(0, 1), order=2)
    gradient = tl.grad(stepped, wrt=(0, 1))
    gradient(RNG.normal(size=9), 0.1, 3)
    assert "from tangentlike.runtime import for_types\n" in gradient.source


def test_nothing_by_default():
    def shifted(x, shift=None):
        return np.sum(x**2) if shift is None else np.sum((x - shift) ** 2)

    gradient = tl.grad(shifted)
    np.testing.assert_allclose(gradient(VECTOR), 2 * VECTOR)
    np.testing.assert_allclose(gradient(VECTOR, 1.0), 2 * (VECTOR - 1.0))
    np.testing.assert_allclose(gradient(VECTOR, VECTOR), 0 * VECTOR)
    np.testing.assert_allclose(gradient(VECTOR), 2 * VECTOR)


@pytest.mark.parametrize(
    ("a", "b"), [(MATRIX, VECTOR), (MATRIX[:, :1], VECTOR), (1.5, VECTOR)], ids=np.shape
)
def test_higher_orders(a, b):
    tl.check_grads(added, (a, b), wrt=(0, 1), order=2)


@pytest.mark.parametrize("seed", one_in(6, [7, 21, 33, 54, 110, 1068]))
def test_generated_programs(seed):
    assert check_versions(seed) in ("agree", "refused")


@pytest.mark.parametrize("items", [{"u": np.ones(1)}, {"u": 0.7, "v": 0.2}], ids=lambda p: len(p))
def test_a_dict_given_a_sum_of_its_own_values(items):
    """What it holds depends on itself; that it is a dict, in which `v` may be new, does not."""

    def total(p):
        own = dict(p)
        own["v"] = 0.5 * sum(np.sum(value) for value in own.values())
        return own["v"] ** 2

    tl.check_grads(total, (items,))
