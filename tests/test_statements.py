"""`with`, `try` and `match` beyond the collection: what must not happen, and how it reads."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests.programs import statements

FACTORS = {2: 0.5}


def cholesky_or_more(a, jitter):
    try:
        c = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        c = np.linalg.cholesky(a + jitter)
    return np.sum(c)


def logarithm(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(x)
    return np.sum(np.where(x > 0.0, y, 0.0))


def half_done(x, d):
    y = x
    try:
        y = y * x
        z = y * FACTORS[d]
    except KeyError:
        z = 2.0 * x
    return z * y


def half_written(a, d):
    try:
        a[0] = a[1] * 2.0
        z = a[0] * FACTORS[d]
    except KeyError:
        z = 2.0 * a[1]
    return z * a[0]


def written_by_callee(a, d):
    try:
        write_first(a, d)
    except ZeroDivisionError:
        a = a * 1.0
    return np.sum(a * a)


def write_first(a, d):
    a[0] = a[1] * a[1]
    a[1] = a[0] * (6 // d)


@contextlib.contextmanager
def swallowing() -> Iterator[None]:
    with contextlib.suppress(ZeroDivisionError):
        yield


def swallowed(x, d):
    y = x
    with swallowing():
        y = x * x * (6 // d)
    return y


def root_or_zero(x):
    with np.errstate(all="raise"):
        try:
            y = np.sqrt(x)
        except FloatingPointError:
            y = x * 0.0
    return y + x


class Lost(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


def through_exception(x):
    try:
        raise Lost(x * x)
    except Lost as lost:
        y = lost.value
    return y


def pushes_in_try(x, sizes):
    s = 1.0
    for n in sizes:
        try:
            for _ in range(n):
                s = s * s * x
            s = s * (6 // n)
        except ZeroDivisionError:
            pass
    return s


def test_a_try_reads_as_written() -> None:
    source = tl.grad(cholesky_or_more).source
    primal = """
    try:
        c = np.linalg.cholesky(a)
        failed = False
    except np.linalg.LinAlgError:
        failed = True
        c = np.linalg.cholesky(a + jitter)
"""
    assert primal in source
    assert "    if not failed:\n" in source


def bound_in_one_branch(x: Any, k: int) -> Any:
    u = x[0, 1]
    if k == 0:
        u = u * x[0, 0]
    else:
        try:
            factor = FACTORS[k]
            d = np.sin(x[-1])
        except KeyError:
            factor = 3.0
        u = u * factor
        if k > 1:
            u = u * np.mean(d)
    return u


@pytest.mark.parametrize("k", [0, 1, 2])
def test_a_name_bound_in_one_branch_is_not_asked_for_its_shape_elsewhere(k: int) -> None:
    x = np.array([[0.3, 0.8], [1.1, -0.4]])
    gradient = tl.grad(bound_in_one_branch, example=(x, 0))(x, k)
    assert np.allclose(gradient, tl.jacobian(bound_in_one_branch, mode="forward")(x, k))
    tl.check_grads(bound_in_one_branch, (x, k), wrt="x")


def test_error_state_holds_around_the_adjoint() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient = tl.grad(logarithm)(np.array([0.0, 2.0]))
    assert gradient[1] == 0.5
    assert tl.grad(logarithm).source.count("with np.errstate(") == 2


def test_managers_are_entered_once() -> None:
    before = statements.depth.entered
    tl.grad(statements.with_user_managers)(np.array([0.3, 0.8]))
    assert statements.depth.entered == before + 2
    assert statements.depth.now == 0


@pytest.mark.parametrize("f", [half_done, half_written])
@pytest.mark.parametrize("key", [0, 2])
def test_a_body_that_is_half_done_counts(f: Any, key: int) -> None:
    tl.check_grads(f, (1.3 if f is half_done else np.array([1.0, 2.0]), key), wrt=(0,))


def test_a_callee_that_writes_is_refused_when_it_raises() -> None:
    a = np.array([1.0, 2.0])
    tl.check_grads(written_by_callee, (a, 2), wrt=(0,))
    with pytest.raises(tl.UnsupportedError, match="had changed values that are used later"):
        tl.grad(written_by_callee)(a, 0)


def test_forward_mode_follows_a_body_that_is_half_done() -> None:
    value, tangent = tl.jvp(half_written, (np.array([1.0, 2.0]), 0), (np.array([0.0, 1.0]), None))
    assert (value, tangent) == (16.0, 16.0)


def damped(x, c):
    return np.tanh(x + c) / c


def loop_in_try(x, c, d):
    y = x
    try:
        for _ in range(2):
            y = damped(y, c) * np.sqrt(c) - y / c
        y = y * (6 // d)
    except ZeroDivisionError:
        y = x * c
    return y


def logarithms_in_try(x, c, d):
    y = x
    try:
        for _ in range(2):
            y = y + np.log(x) * c
        y = y * (6 // d)
    except ZeroDivisionError:
        y = x * c
    return y


def rebound_then_raised(x, c):
    y = x
    try:
        for _ in range(2):
            y = np.sin(y) * c
        if c > 0.0:
            raise ValueError
    except ValueError:
        y = 2.0 * y
    return y + x


def quotients_in_try(x, c, parts):
    y = 0.0
    try:
        for part in parts:
            scaled = x / part
            shifted = max(abs(float(scaled)), c)  # (ties and signs divide by nothing)
            y = y + scaled * shifted
    except ZeroDivisionError:
        y = y * c
    return y


@pytest.mark.parametrize("parts", [(2.0, 0.5), (2.0, 0.0)])
def test_tangents_may_divide_by_what_the_function_divided_by(parts: Any) -> None:
    tl.check_grads(quotients_in_try, (0.7, 1.3, parts), wrt=(0, 1), modes=("fwd",))


def unknown_function_in_try(x, t, f):
    try:
        s = t
        for v in x:
            s = s * f(v)
    except ZeroDivisionError:
        s = 2.0 * t
    return s


def test_a_function_known_at_run_time_has_no_tangents_in_reverse_mode() -> None:
    args = (np.array([0.3, 0.8]), 0.7, np.cos)
    tl.check_grads(unknown_function_in_try, args, wrt=(0, 1), modes=("rev",))
    with pytest.raises(tl.UnsupportedError, match="`ZeroDivisionError` is caught around"):
        tl.jvp(unknown_function_in_try, args, (args[0], 1.0, None))


def test_a_handler_sees_what_the_body_has_bound() -> None:
    tl.check_grads(rebound_then_raised, (0.7, 1.3), modes=("fwd",))


@pytest.mark.parametrize("d", [0, 2])
def test_tangents_that_cannot_raise_may_stand_in_a_try(d: int) -> None:
    tl.check_grads(loop_in_try, (0.7, 1.3, d), wrt=(0, 1), modes=("fwd",))


def test_tangents_that_may_raise_what_is_caught_are_refused() -> None:
    with pytest.raises(tl.UnsupportedError, match="`ZeroDivisionError` is caught around"):
        tl.jvp(logarithms_in_try, (0.7, 1.3, 2), (1.0, 0.0, None))


def test_a_manager_that_swallows_is_refused_when_it_does() -> None:
    assert tl.grad(swallowed)(1.5, 2) == 9.0
    # (What is cheap is computed again in the adjoint, where nobody suppresses the error.)
    with pytest.raises((tl.UnsupportedError, ZeroDivisionError)):
        tl.grad(swallowed)(1.5, 0)


def test_what_a_derivative_raises_is_not_caught() -> None:
    with pytest.raises(FloatingPointError):
        tl.grad(root_or_zero)(np.float64(0.0))
    with pytest.raises(FloatingPointError):
        tl.jvp(root_or_zero, (np.float64(0.0),), (1.0,))


def test_a_try_in_a_loop_saves_values() -> None:
    tl.check_grads(pushes_in_try, (0.5, [2, 0, 3]), wrt=(0,))


def test_refused() -> None:
    message = "a value inside the caught exception `lost` is used"
    with pytest.raises(tl.UnsupportedError, match=message) as info:
        tl.grad(through_exception, strict=True)
    assert info.value.place is not None
    assert info.value.hint


# ------------------------------------------------------------------ global and nonlocal

calls = 0
scale = 2.0
last: Any = None


def counted(x):
    global calls, scale
    calls += 1
    y = x * scale
    scale = scale + 1.0
    return y * y * scale


def leaking(x):
    global last
    last = x * x
    return last * 1.0


def remembering(x):
    global last
    y = x * x
    last = tl.stop_gradient(y)
    return y


def count_call():
    global calls
    calls += 1


def count_unseen(x):
    y = x * calls
    count_call()
    return y * y


def closure():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * x * n

    return f, lambda: n


def inner_nonlocal(x):
    s = 0.0

    def add(v):
        nonlocal s
        s = s + v * v

    for i in range(3):
        add(x * i)
    return s * x


def test_globals_are_written_and_read_in_order() -> None:
    global calls, scale
    calls, scale = 0, 2.0
    assert tl.grad(counted)(3.0) == 2 * 3.0 * 2.0 * 2.0 * 3.0
    assert (calls, scale) == (1, 3.0)
    assert tl.jvp(counted, (3.0,), (1.0,)) == (324.0, 216.0)
    assert (calls, scale) == (2, 4.0)


def test_nonlocal_variables_of_a_closure() -> None:
    f, n = closure()
    assert tl.grad(f)(2.0) == 4.0
    assert n() == 1
    assert tl.jvp(f, (2.0,), (1.0,)) == (8.0, 8.0)
    assert n() == 2


def test_nonlocal_in_an_inner_function_is_an_assignment() -> None:
    tl.check_grads(inner_nonlocal, (1.3,), order=2)


def test_a_derivative_that_would_leave_is_refused() -> None:
    assert tl.grad(remembering)(2.0) == 4.0
    assert last == 4.0
    with pytest.raises(tl.UnsupportedError, match="carries derivatives into `last`"):
        tl.grad(leaking)(2.0)


def test_a_global_that_a_callee_writes_is_refused_where_it_is_read() -> None:
    with pytest.raises(tl.UnsupportedError, match="`calls` is read here"):
        tl.grad(count_unseen)(2.0)
