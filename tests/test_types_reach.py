"""Ranks and axes of length 1 stay known through what joins, splits, reshapes and selects."""

import copy
import functools
import itertools
import re

import numpy as np
import pytest

import tangentlike as tl
from tests.claims import false_claims
from tests.generator import loaded
from tests.sampled import one_in

RNG = np.random.default_rng(11)
HELPERS = re.compile(r"\b(unbroadcast|matmul_bar_[ab]|broadcast_like|reshape_like|nest_like)\(")


def joined(x, y):
    z = np.concatenate([x, y])
    w = np.concatenate((y, x), axis=0)
    return np.sum(z * w**2)


def joined_across(x, y):
    z = np.concatenate([x, y, x], axis=-1)
    w = np.hstack((x, y))
    return np.sum(z**2) + np.sum(w * w) * np.sum(z)


def stacked(x, y):
    z = np.stack([x, y])
    w = np.stack((x, y, x), axis=-1)
    return np.sum(z * x) + np.sum(np.tanh(w) * y[..., None])


def collected(x, y):
    rows = []
    for k in range(2):
        rows.append(x * y + k)
    z, w = np.stack(rows), np.concatenate(rows)
    return np.sum(z * x) + np.sum(w**2 * w)


def summed_up(x, y):
    z = np.cumsum(x)
    w = np.cumsum(x, axis=0) * y
    return np.sum(z * np.ravel(x)) + np.sum(w * x)


def reshaped(x, y):
    z = x.reshape(-1) * y.ravel()
    n = x.shape[0]
    w = np.reshape(x, (n, -1)) * y.flatten()[0]
    v = np.reshape(y, x.shape) * x
    return np.sum(z * z) + np.sum(w * w) + np.sum(v)


def selected(x, y):
    places, mask = np.array([0, -1, 0]), y > 0.0
    z = x[[0, -1]] * y[[0, 0]]
    w = x[places] * y[places]
    v = x[mask] * y[mask]
    return np.sum(z * z) + np.sum(w * w) + np.sum(v * v)


def chosen(x, y):
    z = np.where(x > 0.0, x * y, y)
    w = np.where(y > 0.0, x, 0.5)
    return np.sum(z * x) + np.sum(w * w * y)


def at_least(x, y):
    z = np.atleast_2d(x) * y
    w = np.atleast_1d(y) * x
    v = np.asarray(x, dtype=float) * np.array(y, dtype=float)
    return np.sum(z * z) + np.sum(w * w) + np.sum(v)


def in_halves(x, y):
    a, b = np.split(np.concatenate((x, x)), 2)
    parts = np.array_split(y, 2)
    return np.sum(a * b * x) + np.sum(parts[0] ** 2) + np.sum(parts[1] * 3.0)


def spaced(x, y):
    t = np.linspace(0.0, 1.0, x.shape[0])
    u = np.linspace(np.sum(x), np.sum(y), 4)
    return np.sum(np.sin(t) * np.sum(x)) + np.sum(u * u * t[0])


def spread(x, y):
    n = x.shape[0]
    z = np.broadcast_to(x, (2, *x.shape)) * y
    w = np.broadcast_to(np.sum(y), (n, 3)) * np.broadcast_to(np.sum(x), n)[:, None]
    return np.sum(z * z) + np.sum(w) + np.sum(np.broadcast_to(y, [2, *y.shape]) ** 2)


SHAPES = [(1,), (2,), (1, 1), (2, 1), (1, 3), (2, 3)]
PROGRAMS = (
    *(joined, joined_across, stacked, collected, summed_up, reshaped, selected, chosen),
    *(at_least, in_halves, spaced, spread),
)


def runs(program, args):
    try:
        program(*copy.deepcopy(args))
    except (ValueError, IndexError, np.exceptions.AxisError):
        return False
    return True


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_in_all_shapes(program):
    """What is claimed of names is true of the values, and the gradient is right, also where axes
    have length 1 in one call only."""
    gradient = tl.grad(program, wrt=(0, 1))
    ran = 0
    for left, right in itertools.product(SHAPES[::2], SHAPES):
        args = RNG.normal(size=left), RNG.normal(size=right)
        if not runs(program, args):
            continue
        ran += 1
        assert false_claims(program, args) == [], (left, right)
        direction = [RNG.normal(size=a.shape) for a in args]
        ends = [
            program(*(a + step * d for a, d in zip(args, direction, strict=True)))
            for step in (1e-6, -1e-6)
        ]
        slope = (ends[0] - ends[1]) / 2e-6
        got = gradient(*args)
        assert [g.shape for g in got] == [left, right]
        along = sum(np.sum(g * d) for g, d in zip(got, direction, strict=True))
        np.testing.assert_allclose(along, slope, rtol=1e-5, atol=1e-6, err_msg=f"{left} {right}")
        _, change = tl.jvp(program, args, tuple(direction))
        np.testing.assert_allclose(change, slope, rtol=1e-5, atol=1e-6)
    assert ran >= 3


@pytest.mark.parametrize("program", (*PROGRAMS[:3], *PROGRAMS[7:9]), ids=lambda f: f.__name__)
def test_plain_text_for_vectors(program):
    gradient = tl.grad(program, wrt=(0, 1))
    gradient(RNG.normal(size=4), RNG.normal(size=4))
    assert HELPERS.findall(gradient.source) == []


def products(a, b):
    return np.sum(np.tanh(a @ b) * 2.0)


def einsums(a, b):
    c = np.einsum("...ij,...jk->...ik", a, b) if a.ndim > 3 else np.einsum("bij,bjk->bik", a, b)
    return np.sum(c * c)


@pytest.mark.parametrize("program", [products, einsums], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        *[((2, 3, 4), (2, 4, 2)), ((2, 3, 4), (1, 4, 2)), ((1, 3, 4), (2, 4, 2))],
        *[((1, 3, 4), (1, 4, 2)), ((2, 3, 4), (4, 2)), ((1, 3, 4), (4, 1)), ((3, 4), (2, 4, 2))],
        *[((2, 3, 4), (4,)), ((2, 2, 3, 4), (2, 2, 4, 2)), ((2, 1, 3, 4), (1, 2, 4, 2))],
    ],
    ids=str,
)
def test_products_of_stacks(program, left, right):
    args = RNG.normal(size=left), RNG.normal(size=right)
    if not runs(program, args) or (program is einsums and 1 in (left[0], right[0])):
        pytest.skip("not of these ranks")
    assert false_claims(program, args) == []
    tl.check_grads(program, args, wrt=(0, 1))


def test_no_helper_for_products_of_stacks():
    gradient = tl.grad(products, wrt=(0, 1))
    for right in ((2, 4, 2), (4, 2)):
        gradient(RNG.normal(size=(2, 3, 4)), RNG.normal(size=right))
        assert HELPERS.findall(gradient.source) == []
    gradient(RNG.normal(size=(2, 3, 4)), RNG.normal(size=(1, 4, 2)))
    assert "matmul_bar_b" in gradient.source


def seen_otherwise(x, y):
    z = y * y
    v = np.reshape(y, (3,)) * x + np.transpose(y) * x
    return np.sum(z) + np.sum(v) + np.sum(np.ravel(y) * x)


def test_an_adjoint_is_no_view_of_an_argument():
    """`np.reshape(1.0 * x, ..)` stays an array of its own, which is added to in place."""
    x, y = np.array([0.5, 0.7, 0.9]), np.array([1.0, 2.0, 3.0])
    for _ in range(2):
        x_bar, y_bar = tl.grad(seen_otherwise, wrt=(0, 1))(x, y)
        assert x.tolist() == [0.5, 0.7, 0.9]
        assert y.tolist() == [1.0, 2.0, 3.0]
        np.testing.assert_allclose(x_bar, 3 * y)
        np.testing.assert_allclose(y_bar, 2 * y + 3 * x)


def new_axes(x, y):
    first, second = x[..., None, :], y[..., None]
    return np.sum(second * first * y[None, ..., None] * x[None, :])


def test_new_axes_beside_an_ellipsis():
    x, y = RNG.normal(size=2), RNG.normal(size=3)
    tl.check_grads(new_axes, (x, y), wrt=(0, 1))


# Sums and products that begin as a number of the program's, and are arrays after a round.


def fourier(c, t, n):
    y = 0.0
    for k in range(n):
        y = y + c[k] * np.sin(k * t)
    return np.sum(y**2)


def from_an_integer(c, t, n):
    y = 0
    for k in range(n):
        y += c[k] * np.sin(k * t)
    return np.sum(y**2)


def product(c, t, n):
    y = 1.0
    for k in range(n):
        y = y * np.exp(c[k] * t)
    return np.sum(y)


def decayed(c, t, n):
    y = 0.5
    for k in range(n):
        y = 0.9 * c[0] * y + c[k] * t
    return np.sum(y * y)


def kept(c, t, n):
    y, rows = 1.0, []
    for k in range(n):
        rows.append(y * c[k])
        y = y + c[k] * t
    return np.sum(rows[0] * t) + np.sum(rows[n - 1] ** 2) + np.sum(y)


def stored(c, t, n):
    y, table = 1.0, np.zeros((n, len(t)))
    for k in range(n):
        table[k] = y * c[k]
        y = y * c[k] * t
    return np.sum(table**2 * t)


def perhaps_never(c, t, n):
    y = 2.0
    k = 0
    while k < n - 3:
        y = y * c[k] + t
        k += 1
    return np.sum(y * c[0])


def reset(c, t, n):
    total = 0.0
    for i in range(n):
        y = 1.0
        for k in range(n):
            y = y * c[k] + t * c[i]
            if k > 1:
                y = 3.0
        total = total + y * t
    return np.sum(total)


def active_number(c, t, n):
    y = c[1]
    for k in range(n):
        y = y * c[k] + t
    return np.sum(y * y)


def active_in_a_branch(c, t, n):
    y = 0.0
    for k in range(n):
        if k == 1:
            y = c[1]
        y = y * c[k] + t * y
    return np.sum(y * y)


def wider_and_wider(c, t, n):
    y = 1.0
    for k in range(n):
        y = y * c[k] + (t if k < 2 else np.outer(t, t))
    return np.sum(y * t)


def of_length_one(c, t, n):
    y = 0.0
    for k in range(n):
        y = y + t[:1] * c[k]
    y = y * t
    return np.sum(y)


def dotted(c, t, n):
    y = 1.0
    for k in range(n):
        y = np.dot(y, c[k]) + t
        y = np.maximum(y, 0.1 * y)
    return y @ t


BEGUN = [
    fourier,
    from_an_integer,
    product,
    decayed,
    kept,
    stored,
    perhaps_never,
    reset,
    active_number,
    active_in_a_branch,
    wider_and_wider,
    of_length_one,
    dotted,
]


@pytest.mark.parametrize("fn", BEGUN)
def test_numbers_that_become_arrays(fn):
    rng = np.random.default_rng(0)
    args = rng.random(3) + 0.2, rng.random(4) + 0.1, 3
    assert false_claims(fn, args) == []
    tl.check_grads(fn, args, wrt=(0, 1), order=2)
    found = tl.jacrev(tl.grad(fn, wrt=(0, 1)), wrt=(0, 1))(*args)
    hessian = tl.hessian(fn, wrt=(0, 1))(*args)
    for a, b in itertools.product(range(2), repeat=2):
        np.testing.assert_allclose(found[a][b], hessian[a][b], rtol=1e-9, atol=1e-12)
    if fn in BEGUN[:3]:
        source = tl.grad(fn, wrt=(0, 1), example=args).source
        assert "unbroadcast(" not in source, source


@pytest.mark.parametrize("bound", [0, 0.0, 0.25, -1])
def test_numbers_that_the_program_states_bound_without_a_helper(bound):
    def fn(x):
        return np.sum(np.maximum(x, bound) ** 2 + np.minimum(bound, x) * x**2)

    value = f"np.sum(np.maximum({bound}, x) ** 2 + np.minimum(x, {bound}) * x**3)"
    source = f"def turned(x):\n    return {value}\n"
    turned = loaded(source, f"bounded by {bound}", {"np": np})["turned"]
    x = RNG.normal(size=6) * 2.0
    tl.check_grads(turned, (x,), order=2)
    tl.check_grads(fn, (x,), order=2)
    source = tl.grad(turned, example=(x,)).source
    assert "np.heaviside(" in source and "greater_share" not in source
    at_bound = np.full(2, float(bound))
    share = tl.grad(turned)(at_bound)
    both = 0.5 * (2.0 * at_bound + at_bound**3) + 3.0 * bound * at_bound**2
    np.testing.assert_allclose(share, both)  # (half of a tie)


# ------------------------------------------------------------------- what a call does not give


def limited(r, d=1.0, *, e=2.0):
    return np.where(np.abs(r) <= d, 0.5 * r * r, d * (np.abs(r) - 0.5 * d)) * e


def powered(x, n=3, product=1.0):
    return product if n == 0 else powered(x, n - 1, product * x)


def weighted(x, w=None, scale=0.5):
    return np.sum(x) * scale if w is None else np.sum(x * w) * scale


def summed(x, total=0.0):
    for i in range(3):
        total = total + x * i
    return total


def given_or_not(x, y):
    options, rest = {"d": y, "e": x}, (y,)
    return np.sum(limited(x) + limited(x, *rest) + limited(y, **options) + limited(x, e=y))


def given_to_itself(x, y):
    return np.sum(powered(x) + powered(y, 2) + powered(x, 2, y))


def chosen_by_default(x, y):
    return weighted(x) + weighted(x, y) + np.sum(summed(x) * summed(y, x))


def handed_on(x, y):
    def called(fn, *args, **options):
        return fn(*args, **options)

    parts = called(limited, x) + called(limited, x, y) + functools.partial(limited, d=y)(x)
    return np.sum(parts) + sum(np.sum(fn(x) + fn(x, y)) for fn in (limited, summed))


DEFAULTS = (given_or_not, given_to_itself, chosen_by_default, handed_on)


@pytest.mark.thorough
@pytest.mark.parametrize("f", one_in(4, DEFAULTS), ids=[f.__name__ for f in DEFAULTS])
def test_defaults_are_what_a_call_does_not_give(f):
    x, y = 0.4 * RNG.normal(size=2), 0.4 * RNG.normal(size=2)
    for args, order in (((x, y), 2), ((x, 0.3), 1), ((0.3, y), 1), ((0.3, 0.6), 1)):
        tl.check_grads(f, args, wrt=(0, 1), order=order)


def test_a_default_is_a_number_in_the_text():
    def loss(x, y):
        return np.sum(limited(x - y))

    df = tl.grad(loss, example=(RNG.normal(size=3), RNG.normal(size=3)))
    assert not HELPERS.search(df.source) and "reached" not in df.source, df.source
