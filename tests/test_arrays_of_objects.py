"""Arrays of objects carry no derivatives: they are refused wherever one would be lost."""

import numpy as np
import pytest

import tangentlike as tl

VECTOR = np.array([0.7, -0.4, 1.3])


class Holder:
    v = 1.0


OUTER = np.empty(2, object)
OUTER[0] = [1.0]
OUTER[1] = Holder()


def made():
    return np.empty(2, object)


def stored(a):
    held = np.empty(2, object)
    held[0] = a * 0.5
    return np.sum(held[0])


def of_a_helper(a):
    held = made()
    held[1] = a * 0.5
    return np.sum(held[1])


def converted(a):
    return np.sum(np.array([a, a * 0.5], dtype=object)[1])


def of_none(a):
    held = np.array([None, None])
    held[0] = []
    held[0].append(a * 0.5)
    return np.sum(held[0][0])


def in_two_axes(a):
    held = np.empty((2, 2), dtype=object)
    for i in range(2):
        held[0, i] = []
    held[0, 1].append(a * 0.5)
    return np.sum(held[0, 1][0])


def cast(a):
    held = np.zeros(2).astype(object)
    held[0] = []
    held[0].append(a * 0.5)
    return np.sum(held[0][0])


def dict_in_an_entry(a):
    held = np.full(2, None)
    held[0] = {}
    held[0]["u"] = a * 0.5
    return np.sum(held[0]["u"])


def object_in_an_entry(a):
    held = np.array([Holder(), None])
    held[0].v = a * 0.5
    return np.sum(held[0].v)


def list_of_an_outer_array(a):
    OUTER[0][0] = a * 0.5
    return np.sum(OUTER[0][0])


def object_of_an_outer_array(a):
    OUTER[1].v = a * 0.5
    return np.sum(OUTER[1].v)


REFUSED = (stored, of_a_helper, converted, of_none, in_two_axes, cast, dict_in_an_entry)
REFUSED += (object_in_an_entry, list_of_an_outer_array, object_of_an_outer_array)


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_is_refused(f):
    with pytest.raises(tl.UnsupportedError) as refused:
        tl.grad(f)(VECTOR)
    assert refused.value.hint and refused.value.place is not None
    with pytest.raises(tl.UnsupportedError):
        tl.jvp(f, (VECTOR,), (VECTOR,))


def test_constants_are_read():
    constants = np.array([2.0, None], dtype=object)

    def scaled(a):
        return np.sum(a * constants[0]) * len(constants)

    tl.check_grads(scaled, (VECTOR,))
