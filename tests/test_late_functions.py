"""Methods and operators of functions that only the running program knows."""

import numpy as np
import pytest
from scipy import stats

import tangentlike as tl
from tangentlike.pipeline.stages import Request, derive

X = np.array([0.5, 1.2, 2.0])
V = np.array([0.3, -0.7, 0.4])
NORMAL = stats.norm(0.3, scale=1.7)
GAMMA = stats.gamma(2.0)


class Net:
    def __init__(self, w):
        self.w = w

    def f(self, x):
        return self.w * x**2


NET = Net(2.0)
TABLE = {"net": NET.f, "sin": np.sin}


def total(f, x):
    return np.sum(f(x))


def energy(x):
    return np.sum(x**3)


def scaled_energy(a, x):
    return np.sum(a * x**3)


def slope(f, x):
    return tl.jvp(f, (x,), (np.ones_like(x),))[1]


def a_bound_method(x):
    return total(NET.f, x)


def a_bound_method_of_an_argument(x, net):
    return total(net.f, x) * total(net.f, 2.0 * x)


def functions_of_all_sorts(x, fs):
    s = 0.0
    for f in fs:
        s = s + np.sum(f(x))
    return s


def from_a_table(x, name):
    return np.sum(TABLE[name](x))


def a_frozen_distribution(x):
    return np.sum(NORMAL.logpdf(x)) + total(NORMAL.pdf, x) + total(GAMMA.logpdf, x)


def a_local_distribution(x):
    d = stats.norm(0.3, 1.7)
    return total(d.logpdf, x)


def a_distribution_of_the_call(x, d):
    return np.sum(d.logpdf(x) * x)


def gradient_of_an_argument(x, f):
    g = tl.grad(f)
    return np.sum(g(x) * x)


def value_and_gradient_of_an_argument(x, f):
    v, g = tl.value_and_grad(f)(x)
    return v * np.sum(g)


def by_the_second(x, f, a):
    return np.sum(tl.grad(f, wrt=1)(a, x) ** 2)


def product_with_the_hessian(x, f):
    return np.sum(tl.hvp(f)(x, np.ones(3)) * x)


def slope_of_an_argument(x, f):
    return np.sum(slope(f, x) * x)


def slopes_in_a_loop(x, f):
    s = 0.0
    for i in range(3):
        y, dy = tl.jvp(f, (x * i,), (x,))
        s = s + np.sum(y * dy)
    return s


def descent(f, x):
    g = tl.grad(f)
    for _ in range(3):
        x = x - 0.05 * g(x)
    return np.sum(x**2)


def descent_of_an_argument(x, f):
    return descent(f, x)


def what_it_captures(x, f):
    def weighed(y):
        return f(y) * x[0]

    return np.sum(tl.grad(weighed)(x))


CASES = [
    (a_bound_method, ()),
    (a_bound_method_of_an_argument, (Net(1.5),)),
    (functions_of_all_sorts, ([NET.f, np.sin, lambda v: v * v],)),
    (from_a_table, ("net",)),
    (from_a_table, ("sin",)),
    (a_frozen_distribution, ()),
    (a_local_distribution, ()),
    (a_distribution_of_the_call, (NORMAL,)),
    (gradient_of_an_argument, (energy,)),
    (value_and_gradient_of_an_argument, (energy,)),
    (by_the_second, (scaled_energy, 2.0)),
    (product_with_the_hessian, (energy,)),
    (slope_of_an_argument, (np.sin,)),
    (slope_of_an_argument, (energy,)),
    (slopes_in_a_loop, (np.sin,)),
    (descent_of_an_argument, (energy,)),
    (what_it_captures, (energy,)),
]


@pytest.mark.parametrize(("fn", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_both_modes_and_second_order(fn, args):
    def gradient(s):
        return tl.grad(fn)(X + s * V, *args)

    slope = (fn(X + 1e-6 * V, *args) - fn(X - 1e-6 * V, *args)) / 2e-6
    assert np.sum(gradient(0.0) * V) == pytest.approx(slope, rel=1e-6)
    tangents = (V, *(None for _ in args))
    assert tl.jvp(fn, (X, *args), tangents)[1] == pytest.approx(slope, rel=1e-6)
    change = (gradient(1e-6) - gradient(-1e-6)) / 2e-6
    try:
        product = tl.hvp(fn)(X, *args, v=V)
    except tl.UnsupportedError as refused:  # (of methods, whose objects are on the tape)
        assert "which is defined outside it" in str(refused)
    else:
        np.testing.assert_allclose(product, change, rtol=1e-5, atol=1e-6)


def made_inside(x):
    return total(Net(x[0]).f, x)


def set_inside(x):
    net = Net(2.0)
    net.w = x[0]
    return total(net.f, x)


def made_by_a_function(x):
    def method(w):
        return Net(w).f

    return total(method(x[1]), x)


def in_a_list(x):
    s = 0.0
    for f in [Net(x[0]).f, np.sin]:
        s = s + np.sum(f(x))
    return s


def in_a_dict(x):
    held = {"f": Net(x[0]).f}
    return total(held["f"], x)


def chosen(x, flag=True):
    net = Net(x[0])
    f = net.f if flag else np.sin
    return np.sum(f(x))


@pytest.mark.parametrize(
    "fn",
    [made_inside, set_inside, made_by_a_function, in_a_list, in_a_dict, chosen],
    ids=lambda f: f.__name__,
)
def test_methods_of_objects_that_carry_derivatives_lose_none(fn):
    try:
        tl.check_grads(fn, (X,))
    except tl.UnsupportedError as refused:
        assert "not known" in str(refused)


def test_other_parameters_of_an_outer_distribution_later():
    global NORMAL
    before, derivative = NORMAL, tl.grad(a_frozen_distribution)
    derivative(X)
    try:
        NORMAL = stats.norm(-1.0, scale=0.6)
        np.testing.assert_allclose(derivative(X), tl.grad(a_frozen_distribution)(X))
        tl.check_grads(a_frozen_distribution, (X,))
    finally:
        NORMAL = before


FACTORS = {"A": 2.0, "B": 3.0}


def named_factor(x, make):
    name, y = make(x)
    return np.sum(y * y) * FACTORS[name.upper()]


def first_of_the_names(x, make):
    names, y = make(x)
    parts = names.upper().split(",")
    return np.sum(y * y) * FACTORS[parts[0]] * len(parts)


def test_methods_of_strings_that_only_the_run_knows():
    """What comes beside an array out of a function that is given may be a string."""
    x = np.array([0.5, 1.2])
    given = ((named_factor, "a", 2.0), (first_of_the_names, "b,a", 6.0))
    for fn, names, factor in given:
        found = tl.grad(fn)(x, lambda x, names=names: (names, x * x))
        np.testing.assert_allclose(found, 4.0 * factor * x**3)
        along = (tl.grad(fn)(x + h, lambda x, names=names: (names, x * x)) for h in (1e-6, -1e-6))
        slope = np.subtract(*along) / 2e-6
        np.testing.assert_allclose(slope, 12.0 * factor * x**2, rtol=1e-6)


# ---------------------------------------------------------- an array that is unpacked at once


def twice_sine(x):
    return 2.0 * np.sin(x)


def in_two_items(x):
    return [x[0] ** 2, x[1]]


class Tripled:
    def parts(self, x):
        return 3.0 * x


def unpacked(x, f):
    a, b = f(x)
    return a * b**2


def unpacked_in_a_loop(x, f):
    total = 0.0
    for n in range(3):
        a, (b, *_) = f(x * total + n)[0], f(x)
        total = total + a * b + x[0]
    return total


@pytest.mark.parametrize(
    "f", [twice_sine, in_two_items, Tripled().parts], ids=["array", "list", "m"]
)
@pytest.mark.parametrize("whole", [unpacked, unpacked_in_a_loop])
def test_what_a_function_gives_is_unpacked(whole, f):
    x = np.array([0.3, 0.8])
    tl.check_grads(whole, (x, f), order=2)
    by_identity = derive(whole, Request("grad", ("x",), by_identity=True)).function
    np.testing.assert_allclose(by_identity(x, f), tl.grad(whole)(x, f))
