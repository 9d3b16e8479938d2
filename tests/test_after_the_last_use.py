"""What is written after its last use has no part in a gradient, infinite as it may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X, Y = np.array([1.0, 2.0, 10.0]), np.array([0.5, 0.25, 2.0])


def blown_up(x, y):
    y[0] += np.sum(x)
    x[::2] -= 9.0
    x *= np.exp(np.cosh(100 * x))
    return np.mean(y)


def blow_up(x):
    x *= np.exp(np.cosh(100 * x))


def blow_up_and_tell(x):
    x *= np.exp(np.cosh(100 * x))
    return 2.0 * x, x


def by_a_helper(x, y):
    y[0] += np.sum(x)
    blow_up(x)
    return np.mean(y)


def by_a_helper_with_results(x, y):
    z = x * y
    y[0] += np.sum(x) * z[1]
    a, b = blow_up_and_tell(x)
    return np.mean(y * z)


def by_a_helper_in_a_branch(x, y):
    y[0] += np.sum(x)
    if y[0] > 0.0:
        blow_up(x)
    return np.mean(y)


def part_of_an_array(x, y):
    tail = x[1:]
    y[0] += np.sum(x * x)
    blow_up(tail)
    return np.mean(y)


@pytest.mark.parametrize(
    "fn",
    [
        *(blown_up, by_a_helper, by_a_helper_with_results, by_a_helper_in_a_branch),
        part_of_an_array,
    ],
    ids=lambda fn: fn.__name__,
)
def test_gradient_is_finite(fn: Callable[..., Any]) -> None:
    v, u = np.array([1.0, 2.0, -1.0]), np.array([0.5, -0.25, 1.0])
    with np.errstate(all="ignore"):
        expected = agreement.slope(fn, (X, Y), [v, u])
        bars = tl.grad(fn, wrt=("x", "y"))(X, Y)
        _, pullback = tl.vjp(fn, X, Y)
        assert tl.jvp(fn, (X, Y), (v, u))[1] == pytest.approx(expected, rel=1e-6)
    for x_bar, y_bar in (bars, pullback(1.0), pullback(1.0)):
        assert x_bar @ v + y_bar @ u == pytest.approx(expected, rel=1e-6)


# --------------------------------------------------- entries that are written and never read again


def a_slice(q, a):
    q[1:] *= np.exp(np.exp(a[1:] + 9.0))
    return q[0]


def entry_by_entry(q, a):
    for i in range(1, 4):
        q[i] = q[i] * np.exp(np.exp(a[i] + 9.0))
    return q[0] ** 2


def through_a_view(q, a):
    t = q[2:]
    t *= np.exp(np.exp(a[2:] + 9.0))
    return q[0] * q[1]


def after_what_counts(q, a):
    q[0] = a[0] * q[1]
    q[1:] = np.exp(np.exp(a[1:] + 9.0))
    return q[0]


def columns(q, a):
    m = np.outer(q, a)
    m[:, 2:] *= np.exp(np.exp(a[2:] + 9.0))
    return np.sum(m[:, :2])


def bound_in_branches(q, a):
    if q[0] > 5.0:
        q = np.sin(a)
    else:
        q = 0.4 * q
    q[1:] *= np.exp(np.exp(a[1:] + 9.0))
    return q[0]


def made_in_each_round(q, a):
    s = 0.0
    for i in range(3):
        z = np.tanh(q * (i + 1))
        z[1:] *= np.exp(np.exp(a[1:] + 9.0))
        s = s + z[0] * a[0]
    return s


def a_view_in_each_round(q, a):
    s = 0.0
    for i in range(3):
        z = np.tanh(q * (i + 1))
        w = z[2:]
        w *= np.exp(np.exp(a[2:] + 9.0))
        s = s + z[0] * z[1]
    return s


Q, A = np.array([0.3, 0.7, -0.4, 1.1]), np.array([0.5, 0.2, 0.9, -0.3])


def along(fn: Callable[..., Any]) -> tuple[float, float, float]:
    """The derivative by differences, in reverse and in forward mode."""
    v, u = np.array([1.0, 2.0, -1.0, 0.5]), np.array([0.5, -0.25, 1.0, 2.0])
    with np.errstate(all="ignore"):
        q_bar, a_bar = tl.grad(fn, wrt=("q", "a"))(Q, A)
        change = tl.jvp(fn, (Q, A), (v, u))[1]
        return agreement.slope(fn, (Q, A), [v, u]), q_bar @ v + a_bar @ u, float(change)


@pytest.mark.parametrize(
    "fn",
    [
        *(a_slice, entry_by_entry, through_a_view, after_what_counts, columns, bound_in_branches),
        *(made_in_each_round, a_view_in_each_round),
    ],
    ids=lambda fn: fn.__name__,
)
def test_entries_that_nobody_reads_have_no_part_in_it(fn: Callable[..., Any]) -> None:
    expected, reverse, forward = along(fn)
    assert reverse == pytest.approx(expected, rel=1e-6)
    assert forward == pytest.approx(expected, rel=1e-6)


def read_in_a_later_round(q, a):
    s = 0.0
    for i in range(3):
        s = s + q[i] * a[0]
        q[i + 1] = np.sin(q[i]) * a[i]
    return s


def read_later_going_down(q, a):
    s = 0.0
    for i in range(3):
        s = s + q[2 - i] * a[0]
        q[i] = np.sin(q[i]) * a[i]
    return s


def read_by_a_loop_over_it(q, a):
    s = 0.0
    for v in q:
        s = s + v
        q[1:] *= a[1:]
    return s


def read_in_a_while(q, a):
    s, i = 0.0, 0
    while i < 3:
        s = s + q[i]
        q[i + 1] = q[i + 1] * a[i]
        i += 1
    return s


def read_through_a_dict(q, a):
    d = {"q": q}
    q[1:] *= a[1:]
    return d["q"][2]


def read_through_a_reversed_view(q, a):
    r = q[::-1]
    q[3] = a[0] ** 2
    return r[0] * q[0]


def read_with_a_name_that_changed(q, a):
    k = 1
    q[k] = a[0] * q[1]
    k = 0
    return q[1] + q[k]


def read_by_a_name_of_the_array_before(q, a):
    z = q * a
    w = z[1:]
    z = z[1:]
    z[0] = a[0] * a[1]
    return w[0] * z[1]


def read_when_the_name_is_a_view_of_itself(q, a):
    s, z = 0.0, q * 1.0
    for i in range(3):
        z = z[::-1]
        z[0] = z[0] * a[i]
        s = s + z[1]
    return s + z[3]


def read_from_the_end(q, a):
    q[3] = a[1] * a[2]
    q[1:3] = a[1:3] * a[0]
    return q[-1] * q[-2] * q[0]


def items_of_a_list(q, a):
    rows = [q * a[0], q * a[1]]
    rows[0] = rows[1]
    rows[1] = a * q[0]
    rows[0][1] = a[2] ** 2
    return rows[0] @ rows[1]


def read_by_a_mask(q, a):
    q[1] = a[0] * q[1]
    return np.sum(q[q > 0.0])


def written_by_the_round_before(q, a):
    s = 0.0
    for i in range(3):
        z = q[i:]
        z[1:] *= np.cos(a[1 : 4 - i])
        s = s + z[0]
    return s


def kept_from_the_first_round(q, a):
    s, kept = 1.0, []
    for i in range(3):
        z = np.sin(q) * s
        kept.append(z)
        z[1:] *= np.cos(a[1:])
        s = s + z[0]
        if i > 1:
            s = s * kept[0][2]
    return s


def read_after_it_in_the_round(q, a):
    s = 1.0
    for _ in range(3):
        z = np.sin(q) * s
        z[1:] *= np.cos(a[1:])
        s = s + z[2]
    return s


def read_by_the_round_before(q, a):
    s = 1.0
    for i in range(3):
        z = np.sin(q) * s
        if i > 0:
            s = s * w[1]  # noqa: F821
        w = z[1:]
        z[2:] *= np.cos(a[2:])
        s = s + z[0] + w[0]
    return s


def read_in_an_inner_round(q, a):
    s = 1.0
    for _ in range(2):
        z = np.sin(q) * s
        for _ in range(2):
            s = s + z[2]
            z[1:] *= np.cos(a[1:])
    return s


def read_before_it_is_made_again(q, a):
    s, z = 1.0, a
    for _ in range(3):
        s = s * z[1]
        z = np.sin(q) * s
        z[1:] *= np.cos(a[1:])
        s = s + z[0]
    return s


def a_view_of_the_round_before(q, a):
    s, w = 1.0, a
    for _ in range(3):
        z = np.sin(q) * s
        s = s * w[1]
        w = z[1:]
        z[2:] *= np.cos(a[2:])
        s = s + z[0]
    return s


def made_in_some_rounds(q, a):
    s = 0.0
    for i in range(3):
        if i != 1:
            z = np.tanh(q * (i + 1))
        s = s + z[1] * a[0]
        z[1:] *= np.cos(a[1:])
    return s


def kept_in_a_list(q, a):
    zs = []
    for i in range(3):
        z = np.tanh(q * (i + 1))
        zs.append(z)
        z[1:] *= np.cos(a[1:]) * zs[0][1]
    return zs[0][1] * zs[1][2]


def gathered_by_a_list(q, a):
    b = q[[2, 0, 1, 3]]
    for i in range(1, 4):
        b[i] -= a[:i] @ b[:i]
    return np.sum(b**2)


def gathered_by_an_array(q, a):
    b = q[np.argsort(a)]
    b[1] = a[0] * b[0]
    return b[1] * b[2]


def gathered_in_each_round(q, a):
    s = 0.0
    for i in range(3):
        row = np.outer(q, a)[[i, 0], 1:]
        row[1] *= np.sin(a[i])
        s = s + row[1] @ row[0]
    return s


def chosen_by_a_mask(q, a):
    b = q[q > 0.0]
    b[1:] *= a[0]
    return np.sum(b)


@pytest.mark.parametrize(
    "fn",
    [
        *(gathered_by_a_list, gathered_by_an_array, gathered_in_each_round, chosen_by_a_mask),
        made_in_some_rounds,
        kept_in_a_list,
        *(written_by_the_round_before, kept_from_the_first_round, read_before_it_is_made_again),
        *(a_view_of_the_round_before, read_after_it_in_the_round, read_by_the_round_before),
        read_in_an_inner_round,
        *(read_in_a_later_round, read_later_going_down, read_by_a_loop_over_it, read_in_a_while),
        *(read_through_a_dict, read_through_a_reversed_view, read_with_a_name_that_changed),
        *(read_by_a_name_of_the_array_before, read_when_the_name_is_a_view_of_itself),
        *(read_from_the_end, items_of_a_list, read_by_a_mask),
    ],
    ids=lambda fn: fn.__name__,
)
def test_entries_that_are_read_later_count(fn: Callable[..., Any]) -> None:
    expected, reverse, forward = along(fn)
    assert reverse == pytest.approx(expected, rel=1e-6)
    assert forward == pytest.approx(expected, rel=1e-6)


def halves_by_identity(x, y):
    left, right = np.split(x[:2], 2)
    right *= y[0]
    total = np.sum(left) * right[0]
    left *= np.exp(np.cosh(1000 * left))
    return total


def halves_in_a_loop(x, y):
    left, right = np.split(x[:2], 2)
    total = np.sum(left) * y[1]
    for _ in range(2):
        right += left
        left *= np.exp(np.cosh(1000 * left))
    return total


def halves_in_a_branch(x, y):
    left, right = np.split(x[:2], 2)
    total = np.sum(left) * y[1]
    if y[0] > 0.0:
        right *= left
        left *= np.exp(np.cosh(1000 * left))
    else:
        total = total * 2.0
    return total


@pytest.mark.parametrize("f", [halves_by_identity, halves_in_a_loop, halves_in_a_branch])
def test_memory_without_adjoints_is_not_asked_for_them(f: Callable[..., Any]) -> None:
    """Zeros were taken from the shadow and multiplied by what is infinite."""
    derivative = tl.grad(f, wrt=(0, 1), example=(X, Y))
    assert "bars" in derivative.source
    along_x, along_y = np.array([1.0, -0.5, 0.2]), np.array([0.3, 0.7, -1.0])
    with np.errstate(all="ignore"):
        expected = agreement.slope(f, (X, Y), [along_x, along_y])
        found = derivative(X, Y)
        _, forward = tl.jvp(f, (X, Y), (along_x, along_y))
    assert agreement.inner([along_x, along_y], list(found)) == pytest.approx(expected, rel=1e-6)
    assert forward == pytest.approx(expected, rel=1e-6)


def overwritten_before_a_loop(x, y):
    part = np.atleast_1d(x)
    part[:2] = 0.3
    for _ in range(2):
        z = np.tanh(x * y)
    return np.sum(z * z)


def overwritten_before_a_branch(x, y):
    part = np.atleast_1d(x)
    part[:2] *= 0.3
    z = x * y
    if y[0] > 0.0:
        z = np.tanh(x[1:] * y[1:])
    return np.sum(z * z)


def overwritten_in_a_loop(x, y):
    total = 0.0
    part = np.atleast_1d(x)
    for k in range(2):
        for _ in range(k + 1):
            total = total + np.sum(np.sin(x) * y)
        part[k] = 0.3 * y[k] * total
    return total


@pytest.mark.parametrize(
    "f", [overwritten_before_a_loop, overwritten_before_a_branch, overwritten_in_a_loop]
)
def test_what_a_loop_or_a_branch_reads_has_adjoints_before_it(f: Callable[..., Any]) -> None:
    """After a loop the shadow was taken for empty, as it was where the loop was entered."""
    x, y = X * 0.1, Y
    derivative = tl.grad(f, wrt=(0, 1))
    assert "bars" in derivative.source
    along = agreement.directions_for((x, y), (0, 1), 5)
    expected = agreement.slope(f, (x, y), along)
    shown: dict[str, Any] = {}
    exec(derivative.source, shown)
    for found in (shown[derivative.__name__](x.copy(), y.copy()), derivative(x, y)):
        assert agreement.inner(along, list(found)) == pytest.approx(expected, rel=1e-6)
