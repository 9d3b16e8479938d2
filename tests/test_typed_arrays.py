"""Python's `array.array`: like a list it is changed item by item, and like an array it holds no
objects: its adjoint is found by its memory."""

from array import array

import numpy as np
import pytest

import tangentlike as tl

X = np.array([1.5, 2.5, 0.7, 1.1])


def made_and_written(x):
    d = array("d", x)
    d[1] += x[0] * d[0]
    return d[1] * d[2]


def made_of_a_list(x):
    d = array("d", [x[0], x[1] * x[0]])
    return d[1] * 2 + d[0]


def under_two_names(x):
    d = array("d", x)
    e = {"d": d}
    d[1] += x[0] * e["d"][0]
    return e["d"][1] * d[2]


class Held:
    def __init__(self, d):
        self.d = d
        self.e = {"d": d}

    def put(self, k, v):
        self.d[k] += v * self.e["d"][k - 1]


def in_an_object(x):
    held = Held(array("d", x))
    held.put(1, x[0])
    held.put(2, x[1] * x[0])
    return held.e["d"][1] * held.d[2]


def in_a_helper(x):
    d = array("d", [2.0] * 4)
    d[2] = x[0] + d[0] * d[1]
    return d[2]


def of_a_helper(x):
    return in_a_helper(x) * x[1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "fn",
    [made_and_written, made_of_a_list, under_two_names, in_an_object, of_a_helper],
    ids=lambda fn: fn.__name__,
)
def test_both_modes_and_second_order(fn):
    tl.check_grads(fn, (X,), order=2)
    second = tl.grad(lambda x: np.sum(tl.grad(fn)(x) * X))  # reverse over reverse
    tl.check_grads(lambda x: np.sum(tl.grad(fn)(x) * X), (X,), modes=("fwd", "rev"))
    assert second(X).shape == X.shape


def read_through_an_array(x):
    d = array("d", [1.0, 2.0, 3.0])
    m = np.asarray(d)
    d[0] = x[1] * x[0]
    return m[0] * m[1]


def test_an_array_over_its_memory():
    tl.check_grads(read_through_an_array, (X,), modes=("rev",))
    with pytest.raises(tl.UnsupportedError, match=r"over the memory of an array\.array"):
        tl.jvp(read_through_an_array, (X,), (X,))


def lengthened(x):
    d = array("d", [x[0], x[1] * x[2]])
    d.append(x[3] * d[0])
    return d[2] * d[1]


def test_one_that_is_lengthened():
    tl.check_grads(lengthened, (X,))
    with pytest.raises(tl.UnsupportedError, match="of which the length changes"):
        tl.check_grads(lengthened, (X,), order=2)


def into_a_transposed_array(x):
    d = array("d", [np.inf] * 3)
    for i in range(3):
        d[i] = x[i] * x[i + 1]
    m = np.zeros((2, 3))
    rows = [m]
    rows[0].T[[0, 1, 2], [1, 0, 1]] = d
    return np.sum(m**2 * np.arange(6.0).reshape(2, 3)) * d[0]


def test_its_entries_put_into_an_array_that_has_several_names():
    tl.check_grads(into_a_transposed_array, (X,), order=2)
