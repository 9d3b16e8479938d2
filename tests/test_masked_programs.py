"""Programs that mask singular points: right, without NaN, and as silent as they are themselves."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tangentlike as tl
from tests.masked_programs import BY_NAME, PROGRAMS, Masked
from tests.sampled import one_in

Arrays = list[np.ndarray]
NAMES = [program.name for program in PROGRAMS]
# The exponential overflows where it is not selected, and NumPy says so; its tangent is inf * 0.
LEFT_FORWARD = ("where_softplus",)


@functools.cache
def own_warnings(name: str) -> frozenset[str]:
    """What NumPy warns of when the program itself runs: "divide by zero", "invalid value"."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        BY_NAME[name].fn(*BY_NAME[name].arguments())
    return frozenset(str(w.message).partition(" encountered")[0] for w in caught)


@contextmanager
def no_new_warnings(program: Masked) -> Iterator[None]:
    own = own_warnings(program.name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in own:
            warnings.filterwarnings("ignore", f"{kind} encountered")
        yield


def differences(program: Masked) -> Arrays:
    """The gradient by central differences; 0 in the entries that the mask holds."""
    found = []
    for k, given in enumerate(program.arguments()):
        gradient = np.zeros_like(given)
        for i in range(given.size):
            if k > 0 or i not in program.still:
                step = 1e-6 * max(1.0, abs(given[i]))
                gradient[i] = (moved(program, k, i, step) - moved(program, k, i, -step)) / 2 / step
        found.append(gradient)
    return found


def moved(program: Masked, k: int, i: int, step: float) -> float:
    args = program.arguments()
    args[k][i] += step
    with np.errstate(all="ignore"):
        return float(program.fn(*args))


def agree(found: Arrays, expected: Arrays) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_reverse(name: str) -> None:
    program = BY_NAME[name]
    assert bool(own_warnings(name)) == program.loud
    args = program.arguments()
    with no_new_warnings(program):
        gradient = tl.grad(program.fn, wrt=tuple(range(len(args))))(*args)
    agree(list(gradient), differences(program))


@pytest.mark.parametrize("name", [n for n in NAMES if n not in LEFT_FORWARD])
def test_forward(name: str) -> None:
    """Entry by entry: each tangent is zero in all entries but one."""
    program = BY_NAME[name]
    args = program.arguments()
    found = [np.zeros_like(arg) for arg in args]
    for k, gradient in enumerate(found):
        for i in range(gradient.size):
            tangents = [np.zeros_like(arg) for arg in args]
            tangents[k][i] = 1.0
            with no_new_warnings(program):
                gradient[i] = tl.jvp(program.fn, tuple(args), tuple(tangents))[1]
    agree(found, differences(program))


@pytest.mark.parametrize("name", one_in(4, NAMES))
def test_second_order(name: str) -> None:
    """Along a direction that leaves the held entries where they are, against differences."""
    program = BY_NAME[name]
    x, *rest = program.arguments()
    direction = np.where(np.isin(np.arange(x.size), program.still), 0.0, 0.3 + 0.1 * x)
    with no_new_warnings(program):
        found = tl.hvp(program.fn)(x, *rest, v=direction)
    gradient, step = tl.grad(program.fn), 1e-5 * direction
    with np.errstate(all="ignore"):
        higher, lower = gradient(x + step, *rest), gradient(x - step, *rest)
    agree([found], [(higher - lower) / 2e-5])


def test_a_zero_that_is_no_mask() -> None:
    """Where the adjoint happens to be zero the derivative need not be: NaN, and never 0."""

    def root_squared(x):
        return np.sum(np.where(x >= 0, np.sqrt(x), 0.0) ** 2)

    x = np.array([0.0, 1.0])
    with np.errstate(invalid="ignore"):
        gradient = tl.grad(root_squared)(x)  # (that of the identity: 1 at 0)
    assert np.isnan(gradient[0]) and gradient[1] == 1.0


def test_missing_data() -> None:
    """A factor that is NaN where the product is not taken."""

    def loss(w, data):
        known = ~np.isnan(data)
        return np.sum(np.where(known, w * data, 0.0))

    def written(w, data):
        product = w * data
        product[np.isnan(data)] = 0.0
        return np.sum(product)

    w, data = np.ones(3), np.array([2.0, np.nan, 3.0])
    for fn in (loss, written):
        assert tl.grad(fn)(w, data).tolist() == [2.0, 0.0, 3.0]


def test_a_plain_program_has_no_masks() -> None:
    """Slices and stores by place are no reason to say more than the chain rule."""

    def flux(a, b):
        q = a / b
        q[0] = 1.0
        return np.sum(q[1:] * np.log(b[1:]))

    source = tl.grad(flux, wrt=(0, 1)).source
    source += tl.autodiff(flux, wrt=(0, 1), mode="forward").source
    assert not any(word in source for word in ("where", "places", "errstate"))


def test_the_mask_has_more_dimensions() -> None:
    def loss(x, m):
        return np.sum(np.where(m, np.sqrt(x), 0.0))

    x = np.array([0.0, 4.0, 9.0])
    m = np.array([[False, True, False], [False, True, True]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(tl.grad(loss)(x, m), [0.0, 0.5, 1.0 / 6.0])


def test_an_adjoint_asked_for_is_true_everywhere() -> None:
    """Taken with respect to the local array itself, the root's derivative is infinite at 0."""

    def roots(x):
        m = np.maximum(x, 0.0)
        return np.sum(np.sqrt(m))

    x = np.array([-1.0, 4.0])
    with np.errstate(divide="ignore"):
        assert tl.grad(roots, wrt="m")(x).tolist() == [np.inf, 0.25]


def through_a_view(x):
    m = np.maximum(x, 0.0)
    tail = m[1:]
    tail[0] = 2.0 + x[0] * x[0]
    return np.sum(np.sqrt(m))


def rewritten_later(x):
    m = np.zeros_like(x)
    m[x <= 0] = 0.0
    m[1:] = x[:-1] ** 2 + 1.0
    m[0] = 0.5 - x[0]
    return np.sum(np.sqrt(m))


def slices_held(x):
    m = x.copy()
    m[::2] = 0.0
    m[:1] = 0.0
    n = np.abs(m)
    return np.sum(np.sqrt(n)[1::2]) + np.sum(np.sqrt(n) * x)


def bound_again_in_a_loop(x):
    total = 0.0
    for k in range(3):
        m = np.maximum(x, 0.0)
        x = x + 1.0
        total += np.sum(np.sqrt(m) * x)
    return total


def mask_changed_later(x):
    keep = x > 0.0
    r = np.sqrt(np.abs(x))
    y = np.where(keep, r, 0.0)
    keep[:] = False
    return np.sum(y * np.where(keep, x, 3.0))


def read_before_the_write(x):
    r = np.sqrt(np.abs(x))
    first = np.sum(r * r * r)
    r[x <= 0] = 1.0
    return first + np.sum(r)


def two_reads(x):
    r = np.sqrt(np.abs(x))
    return np.sum(r[x > 0] * 2.0) + np.sum(r[x < 0.0])


@pytest.mark.parametrize(
    "fn",
    [
        *(through_a_view, rewritten_later, bound_again_in_a_loop, mask_changed_later),
        *(read_before_the_write, two_reads, slices_held),
    ],
)
def test_a_mask_ends_where_it_should(fn: Callable[[np.ndarray], float]) -> None:
    """No entry that counts is taken for one that does not: the slope, or NaN where nobody saw."""
    x = np.array([-1.3, -0.4, 0.7, -0.2])
    (expected,) = differences(Masked(fn, tuple(x), ()))
    with np.errstate(all="ignore"):
        gradient = tl.grad(fn)(x)
        tangents = np.array([tl.jvp(fn, (x,), (e,))[1] for e in np.eye(4)])
    for found in (gradient, tangents):
        seen = ~np.isnan(found)
        agree([found[seen]], [expected[seen]])


WITHOUT_NAN = {
    "nansum": lambda v: np.nansum(v),
    "nanmean of rows": lambda v: np.nanmean(v * np.array([[1.0], [2.0]]), axis=1).sum(),
    "nanstd": lambda v: np.nanstd(v),
    "nanprod": lambda v: np.nanprod(v),
    "nanmax": lambda v: np.nanmax(v),
    "nanmedian": lambda v: np.nanmedian(v),
    "nanquantile": lambda v: np.nanquantile(v, 0.3),
    "nancumsum": lambda v: np.nancumsum(v) @ np.arange(4.0),
    "nan_to_num": lambda v: np.sum(np.nan_to_num(v)),
    "max, where": lambda v: np.max(v, where=~np.isnan(v), initial=-1.0),
}


@pytest.mark.parametrize("name", one_in(3, list(WITHOUT_NAN)))
def test_what_is_left_out_for_it_is_nan_lets_none_through(name: str) -> None:
    reduced = WITHOUT_NAN[name]

    def f(x: np.ndarray, s: float) -> float:
        return reduced(np.sqrt(x) * s)

    x, s = np.array([0.71, -0.43, 1.37, 0.52]), 0.8
    with np.errstate(invalid="ignore"):
        dx, ds = tl.grad(f, (0, 1))(x, s)
        tangents = [tl.jvp(f, (x, s), (e, 0.0))[1] for e in np.eye(4)]
        tangent = tl.jvp(f, (x, s), (np.zeros(4), 1.0))[1]
        h = 1e-6
        slopes = [(f(x + h * e, s) - f(x - h * e, s)) / (2 * h) for e in np.eye(4)]
        slope = (f(x, s + h) - f(x, s - h)) / (2 * h)
        second = tl.hvp(f)(x, s, np.ones(4))
    np.testing.assert_allclose(dx, slopes, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tangents, slopes, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose([ds, tangent], slope, rtol=1e-6)
    assert np.isfinite(second).all() and second[1] == 0.0
