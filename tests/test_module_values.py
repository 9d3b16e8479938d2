"""Array modules given as values: as a parameter, a default, a local name, an attribute."""

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.3, -0.7, 1.2])


def softmax(x, xp):
    e = xp.exp(x - xp.max(x))
    return e / xp.sum(e)


def entropy(x, *, xp=np):
    p = softmax(x, xp=xp)
    return -xp.sum(p * xp.log(p)) + xp.linalg.norm(x)


def helper_given(x):
    return np.sum(softmax(x, np) ** 2)


def local_name(x):
    xp = np
    return xp.sum(xp.tanh(x) ** 2) * xp.pi


class Backend:
    def __init__(self, xp):
        self.xp = xp

    def act(self, x):
        return self.xp.tanh(x)


def held(x, backend=Backend(np)):  # noqa: B008
    return np.sum(backend.act(x) ** 2)


def held_made(x):
    return np.sum(Backend(np).act(x) ** 2)


class Squares:
    def sum(self, v):
        return np.sum(v * v)


def sum_of_an_object(x, m=Squares()):  # noqa: B008
    return m.sum(x)


@pytest.mark.parametrize(
    "f", [entropy, helper_given, local_name, held, held_made, sum_of_an_object]
)
def test_derivatives(f):
    v = np.array([0.4, -0.2, 0.9])
    slope = agreement.slope(f, (X,), [v])
    gradient = tl.grad(f)
    assert abs(gradient(X) @ v - slope) < 1e-7
    assert abs(tl.jvp(f, (X,), (v,))[1] - slope) < 1e-7
    curve = agreement.slope(lambda x: gradient(x) @ v, (X,), [v])
    assert abs(tl.hvp(f)(X, v) @ v - curve) < 1e-6
    assert abs(tl.vjp(gradient, X)[1](v)[0] @ v - curve) < 1e-6


def test_text_names_the_module():
    assert "tanh_xp = np.tanh(x)" in tl.grad(local_name).source


def test_another_module_is_refused():
    df = tl.grad(entropy, wrt="x")
    df(X)
    with pytest.raises((tl.TangentlikeError, TypeError, AttributeError)):
        df(X, xp=pytest)


def test_method_named_as_one_of_arrays_is_not_taken_for_it():
    """`m.sum(x)` was a sum along the axis `x`, without a derivative by it."""

    def f(x):
        objects = {"a": Squares()}
        return objects["a"].sum(x)

    try:
        gradient = tl.grad(f)(X)
    except tl.UnsupportedError as error:
        assert "objects_a" in error.message
    else:
        assert np.allclose(gradient, 2.0 * X)
