"""What is put into containers and taken out of them again: reductions of it, lists that are filled
later, adjoints that two names share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, 0.8])


def agrees(fn: Callable[..., Any], order: int = 2) -> None:
    """Both modes beside differences, each beside the other, and the derivative that `example=`
    makes beside the general one."""
    tl.check_grads(fn, (X,), order=order)
    gradient, direction = tl.grad(fn)(X), np.array([0.7, -1.3])
    np.testing.assert_allclose(tl.jvp(fn, (X,), (direction,))[1], gradient @ direction)
    np.testing.assert_allclose(tl.grad(fn, example=(X,))(X), gradient)


# ------------------------------------------------------------------- reductions of what is taken


def popped(x):
    s = 2.0 * x
    stack = [s + x]
    return np.sum(stack.pop())


def popped_mean(x):
    stack = [2.0 * x + x * x]
    return np.mean(stack.pop())


def popped_method(x):
    stack = [x, x * x]
    return stack.pop().sum()


def popped_by_axis(x):
    stack = [np.outer(x, x)]
    return np.mean(np.sum(stack.pop(), axis=0))


def popped_from_deque(x):
    waiting = deque()
    waiting.append(x * x)
    return np.sum(waiting.pop())


def popped_in_loop(x):
    stack = [x * k + x * x for k in range(3)]
    total = 0.0
    while stack:
        total = total + np.sum(stack.pop())
    return total


def popped_in_branch(x):
    stack = []
    if x[0] > 0:
        stack.append(x * x + x)
    else:
        stack.append(x)
    return np.mean(stack.pop())


def stack_machine(x):
    stack = []
    for word in ("x", "sin", "x", "*", "x", "+", "sum"):
        if word == "x":
            stack.append(x)
        elif word == "sin":
            stack.append(np.sin(stack.pop()))
        elif word == "sum":
            stack.append(np.sum(stack.pop()))
        else:
            b = stack.pop()
            a = stack.pop()
            stack.append(a * b if word == "*" else a + b)
    return stack.pop()


def popped_twice(x):
    stack = [x * x]
    again = [stack.pop()]
    return np.sum(again.pop())


def scattered(x):
    a = np.zeros(2)
    np.add.at(a, np.array([0, 0]), x * x)
    return np.mean(a)


def stacked(x):
    s = np.sin(x)
    items = []
    for k in range(2):
        items.append(s[k] - x * x)
    return np.mean(np.stack(items)) + np.sum(s**3)


REDUCED = [popped, popped_mean, popped_method, popped_by_axis, popped_from_deque, popped_in_loop]
REDUCED += [popped_in_branch, stack_machine, popped_twice, scattered, stacked]


@pytest.mark.parametrize("fn", REDUCED, ids=lambda fn: fn.__name__)
def test_reductions_of_what_was_taken_out(fn: Callable[..., Any]) -> None:
    agrees(fn)


# ---------------------------------------------------------------------- lists filled after `*`


def filled_nones(x):
    rows = [None] * 3
    for i in range(3):
        rows[i] = np.sin(x * i)
    return np.sum(rows[1])


def filled_and_summed(x):
    rows = [0] * 3
    for i in range(3):
        rows[i] = np.sin(x * i)
    return np.sum(sum(rows))


def filled_times_two(x):
    rows = 3 * [None]
    for i in range(3):
        rows[i] = np.sin(x * i)
    return np.sum(2.0 * rows[1])


def filled_lists(x):
    rows = [[None]] * 3
    for i in range(3):
        rows[i] = np.sin(x * i)
    return np.sum(2.0 * rows[1]) + np.sum(rows[1] + rows[2])


def filled_tuples(x):
    rows = [(0, 0)] * 3
    for i in range(3):
        rows[i] = (np.sin(x * i), x)
    a, b = rows[1]
    return np.sum(a * b) + np.sum(2.0 * rows[2][0])


def filled_joined(x):
    rows = [0] * 2 + [""]
    for i in range(3):
        rows[i] = np.sin(x * i)
    return np.sum(rows[1] * 2)


def filled_slice(x):
    rows = [False] * 3
    for i in range(3):
        rows[i] = np.sin(x * i)
    return np.sum(sum(rows[1:]))


def filled_gone_through(x):
    rows = [None] * 3
    for i in range(3):
        rows[i] = np.sin(x * i)
    total = 0.0
    for row in rows:
        total = total + 2.0 * np.sum(row * row)
    return total


def filled_from_before(x):
    memo = [0] * 5
    memo[0], memo[1] = x[0], x[1]
    for k in range(2, 5):
        memo[k] = memo[k - 1] * memo[k - 2] + x[0]
    return memo[4]


def filled_table(x):
    rows = [[0] * 2 for _ in range(2)]
    for i in range(2):
        for j in range(2):
            rows[i][j] = x[i] * x[j]
    return rows[0][1] * 3.0 + rows[1][1]


def filled_under_another_name(x):
    rows = [0] * 3
    same = rows
    for i in range(3):
        same[i] = np.sin(x * i)
    return np.sum(2.0 * rows[1])


def _fill(rows, x):
    for i in range(3):
        rows[i] = np.sin(x * i)


def filled_by_callee(x):
    rows = [0] * 3
    _fill(rows, x)
    return np.sum(2.0 * rows[1])


def _made(x):
    rows = [None] * 3
    for i in range(3):
        rows[i] = np.sum(x * i) ** 2
    return rows


def filled_in_callee(x):
    rows = _made(x)
    return 2.0 * rows[1] + rows[2]


def appended_after(x):
    rows = [1.0] * 2
    rows.append(x * x)
    return rows[2][0] * 2.0 + np.sum(rows[-1][:1]) + rows[0]


FILLED = [filled_nones, filled_and_summed, filled_times_two, filled_lists, filled_tuples]
FILLED += [filled_joined, filled_slice, filled_gone_through, filled_from_before, filled_table]
FILLED += [filled_under_another_name, filled_by_callee, filled_in_callee, appended_after]


@pytest.mark.parametrize("fn", FILLED, ids=lambda fn: fn.__name__)
def test_what_a_list_was_made_of_is_not_what_it_holds(fn: Callable[..., Any]) -> None:
    # (Of two lists in a list the text of a derivative does not say that they are two.)
    once = (filled_table, filled_by_callee, filled_lists, filled_from_before)
    agrees(fn, order=1 if fn in once else 2)


# ------------------------------------------------------------------- adjoints that names share


def carried_and_added(x):
    z = x * 1.0
    total = 0.0
    for k in range(3):
        t = np.sin(x * k)
        total = total + np.sum(z * z)
        z = z + t
    return total


def carried_and_weighted(x):
    z = np.zeros(2)
    total = np.zeros(2)
    for k in range(3):
        t = np.sin(x * k)
        w = z * 2.0
        total = total + w * w
        z = t + z
    return np.sum(total) + np.sum(z * z)


def carried_beside_a_stack(x):
    stack = [x * x]
    z = x
    for _ in range(3):
        z = stack.pop() + z
        stack.append(z * x)
    return np.mean(stack[0])


SHARED = [carried_and_added, carried_and_weighted, carried_beside_a_stack]


@pytest.mark.parametrize("fn", SHARED, ids=lambda fn: fn.__name__)
def test_an_adjoint_that_two_names_share_is_not_added_to_in_place(fn: Callable[..., Any]) -> None:
    agrees(fn)


# -------------------------------------------------------- unpacking what is no part of a container


def pair(x):
    return np.sin(x), x * x


def three(x):
    return [np.sin(x), x * x, x**3]


def appended(x):
    out = []
    for k in range(1, 3):
        out.append(x * k)
    return out


def transposed(x):
    return np.transpose(x)


def doubled(x):
    return x * 2


def squared(x):
    return x**2


def itself(x):
    return x


def first_of_call(x):
    a, b = pair(x)[:2]
    return np.sum(a * b)


def last_of_call(x):
    a, b = three(x)[1:]
    return np.sum(a * b)


def every_other_of_call(x):
    a, b = three(x)[::2]
    c, d = three(a)[:2]
    return np.sum(a * b * d) + np.sum(c)


def one_of_call(x):
    (a,) = pair(x)[1:]
    return np.sum(a * a)


def slice_in_loop(x):
    for _ in range(2):
        a, b = pair(x)[:2]
        x = a + b
    return np.sum(x * b)


def slice_of_joined(x):
    a, b = (pair(x) + (x,))[1:]
    return np.sum(a * b)


def slice_with_a_dict(x):
    a, d = [x * x, {"c": x}, 3.0][0:2]
    return np.sum(d["c"] * a)


def chosen_entries(x):
    a, b = x[[1, 0]]
    return a * b * b


def masked_entries(x):
    a, b = x[x > 0.1]
    return a * a * b


def chosen_rows(x):
    rows = np.outer(x, x)
    a, _ = rows[np.array([1, 0])]
    return np.sum(a * x)


def sorted_entries(x):
    a, b = sorted(x)[:2]
    return a * b * b


def array_of_call(x):
    p, q = transposed(x * x)
    r, s = doubled(x)
    return p * q + r * s * s


def power_of_call(x):
    for _ in range(2):
        p, q = squared(x)
        x = np.array([p * q, q])
    return np.sum(x)


def argument_of_call(x):
    p, q = itself(x)
    return p * q * q


def list_of_call(x):
    a, (b, c) = x, appended(x)
    return np.sum(a * b * c)


UNPACKED = [first_of_call, last_of_call, every_other_of_call, one_of_call, slice_in_loop]
UNPACKED += [slice_of_joined, slice_with_a_dict, chosen_entries, masked_entries, chosen_rows]
UNPACKED += [sorted_entries, array_of_call, power_of_call, argument_of_call, list_of_call]


@pytest.mark.parametrize("fn", UNPACKED, ids=lambda fn: fn.__name__)
def test_adjoints_of_unpacked_copies_arrive(fn: Callable[..., Any]) -> None:
    agrees(fn)


# ------------------------------------------------------------------------- items that are replaced


def array_for_number(x):
    d = {"a": x[0] * x[1]}
    t = d["a"]
    d["a"] = x
    return t * np.sum(d["a"])


def number_for_array(x):
    y = x[0] * 2
    rows = [x + y]
    v = rows[0]
    rows[0] = 0.5
    return np.sum(v) + rows[0]


def longer_in_loop(x):
    now = [x]
    for k in range(3):
        t = now[0]
        now[0] = np.concatenate([t, t * k])
    return np.sum(now[0] ** 2)


def array_for_list(x):
    rows = [x, [x, x * 2]]
    t = rows[1][1]
    rows[1] = t * 2
    return np.sum(rows[1] * rows[0])


def number_for_tuple(x):
    rows = [x, (x, x * 2)]
    t = rows[1]
    rows[1] = x[0]
    return np.sum(t[1] * rows[0]) * rows[1]


def swapped(x):
    rows = [x, x * x]
    rows[0], rows[1] = np.sum(rows[1]), rows[0]
    return rows[0] * np.sum(rows[1])


def updated_to_array(x):
    total = [x[0] * x[1]]
    total[0] += x
    total[0] *= x
    return np.sum(total[0] ** 2)


REPLACED = [array_for_number, number_for_array, longer_in_loop, array_for_list, number_for_tuple]
REPLACED += [swapped, updated_to_array]


@pytest.mark.parametrize("fn", REPLACED, ids=lambda fn: fn.__name__)
def test_an_item_and_what_replaces_it_may_differ_in_shape(fn: Callable[..., Any]) -> None:
    agrees(fn)


# ------------------------------------------------------------------------- dicts gone through


def sorted_pairs(x):
    d = {"b": x, "a": x * x}
    total = 1.0
    for _, v in sorted(d.items()):
        total = total * np.sum(v) + np.sum(v)
    return total


def pairs_by_a_key(x):
    d = {"b": x, "a": x * x}
    total = 1.0
    for _, v in sorted(d.items(), key=lambda pair: pair[0], reverse=True):
        total = total * np.sum(v) + np.sum(v)
    return total


def sorted_and_read_again(x):
    d = {"b": x, "a": x * x}
    pairs = sorted(d.items())
    total = 1.0
    for _, v in pairs:
        total = total * np.sum(v) + 1.0
    return total + np.sum(pairs[0][1])


def sorted_before_a_change(x):
    d = {"b": x, "a": x * x}
    pairs = sorted(d.items())
    d["b"] = 5.0 * x
    total = 1.0
    for _, v in pairs:
        total = total * np.sum(v) + 1.0
    return total + np.sum(d["b"])


def changed_while_sorted(x):
    d = {"a": x, "b": x * x}
    total = 1.0
    for _, v in sorted(d.items()):
        d["b"] = 5.0 * x
        total = total * np.sum(v) + 1.0
    return total + np.sum(d["b"])


def named_view_in_inner_loop(x):
    d = {"b": x, "a": x * x}
    pairs = d.items()
    total = 0.0
    for k in range(2):
        for _, v in pairs:
            total = total + k * np.sum(v * v)
    return total


def named_values(x):
    d = {"b": x, "a": x**3}
    values = d.values()
    return np.sum(sum(values)) * len(values)


def unpacked_pairs(x):
    d = {"b": x, "a": x * x}
    (_, a), (_, b) = sorted(d.items())
    return np.sum(a * b * a)


def comprehended_values(x):
    d = {"b": x, "a": x * x}
    return np.sum(np.stack([v**2 for v in d.values()])) * sum(np.sum(v) for v in d.values())


GONE_THROUGH = [sorted_pairs, pairs_by_a_key, sorted_and_read_again, sorted_before_a_change]
GONE_THROUGH += [changed_while_sorted, named_view_in_inner_loop, named_values, unpacked_pairs]
GONE_THROUGH += [comprehended_values]


@pytest.mark.parametrize("fn", GONE_THROUGH, ids=lambda fn: fn.__name__)
def test_dicts_that_are_gone_through(fn: Callable[..., Any]) -> None:
    agrees(fn)


def test_a_view_of_a_dict_that_changes_is_refused() -> None:
    def late(x):
        d = {"b": x, "a": x * x}
        values = d.values()
        d["c"] = x**3
        return np.sum(sum(values))

    with pytest.raises(tl.UnsupportedError, match=r"list\(d.values\(\)\)"):
        tl.grad(late)(X)


@dataclass
class Cell:
    value: Any
    rest: Any = None


def test_an_attribute_left_out_may_be_assigned_later() -> None:
    def popped_attribute(x):
        cell = Cell(x * x)
        cell.rest = [cell.value + x]
        return np.sum(cell.rest.pop())

    agrees(popped_attribute, order=1)
