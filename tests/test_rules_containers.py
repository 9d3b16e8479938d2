"""Containers made of others or changed as a whole: second order, refusals, what is left alone."""

from __future__ import annotations

import ast
import copy
import operator
from pathlib import Path

import numpy as np
import pytest

import tangentlike as tl
from tangentlike import ir, runtime
from tangentlike.ad.reverse.adjoints import may_make_list
from tests.programs import container_calls as programs
from tests.sampled import one_in

X = np.array([0.4, 1.2, 0.7])
ARRAYS = [X, X[::-1] + 0.1, X * X]
PARAMS = {"w": X, "b": 1.3}

TWICE = [
    (programs.dict_display_with_stars, PARAMS),
    (programs.dict_pop, PARAMS),
    (programs.dict_merged, PARAMS),
    (programs.dict_of_pairs, PARAMS),
    (programs.list_insert, ARRAYS),
    (programs.list_slice_inserted, ARRAYS),
    (programs.list_of_numbers_sorted, ARRAYS),
    (programs.tuple_joined, ARRAYS),
    (programs.stack_of_pairs, ARRAYS),
]


@pytest.mark.parametrize(
    "fn, arg", one_in(2, [pytest.param(fn, arg, id=fn.__name__) for fn, arg in TWICE])
)
def test_derivatives_of_derivatives(fn, arg):
    before = copy.deepcopy(arg)
    tl.check_grads(fn, (arg,), order=2)
    for old, new in zip(
        *(list(a.values()) if isinstance(a, dict) else a for a in (before, arg)), strict=True
    ):
        np.testing.assert_array_equal(old, new)


def constants_first(xs):
    ys = [np.ones(3)] + xs
    return np.sum(ys[0] * ys[1])


def constants_last(xs):
    ys = [xs[0]] + [2.0, 3.0]
    return np.sum(ys[0] * ys[1])


def constants_in_tuples(xs):
    ys = (xs[0],) + (1.0, 2.0)
    return np.sum(ys[0] * ys[2] * ys[0])


def constants_merged(xs):
    made = {"a": xs[0], "b": xs[1]} | {"b": 2.0, "c": 3.0}
    return np.sum(made["a"] * made["b"] * made["c"])


@pytest.mark.parametrize(
    "fn", [constants_first, constants_last, constants_in_tuples, constants_merged]
)
def test_items_without_derivative_keep_their_places(fn):
    tl.check_grads(fn, (ARRAYS,))


def in_a_loop(xs):
    ys = list(xs)
    total = 0.0
    for i in range(3):
        first = ys.pop(0)
        ys.insert(1, first * ys[0])
        ys[0:1] = [ys[0] * 0.5, first]
        total = total + np.sum(ys[i] * ys[-1])
        del ys[0]
    return total


def in_branches(xs):
    ys = list(xs)
    if np.sum(ys[0]) > 0.0:
        ys.reverse()
        ys.append(ys[0] * ys[1])
    else:
        ys.clear()
        ys.append(xs[0])
    last = ys.pop()
    return np.sum(last * last * ys[0])


def entries_in_a_loop(xs):
    made = {}
    total = 0.0
    for i in range(6):
        made.update({i % 2: xs[i % 3] * 2.0})
        made.setdefault("all", xs[0])
        total = total + np.sum(made[i % 2] * made["all"])
        made["all"] = made["all"] * made.pop(i % 2)
    return total + np.sum(made["all"])


@pytest.mark.parametrize("fn", [in_a_loop, in_branches, entries_in_a_loop])
def test_changed_over_and_over(fn):
    tl.check_grads(fn, (ARRAYS,))


def entries_come_later(xs):
    made = {"a": xs[0]}
    total = 0.0
    for name in ("b", "a", "c"):
        total = total + np.sum(made["a"] * made.get(name, xs[1]))
        made[name] = made["a"] * xs[2]
    return total + np.sum(made["c"] * made["b"])


def test_entries_that_were_not_there_before():
    tl.check_grads(entries_come_later, (ARRAYS,), order=2)


def seen_through_another_name(xs):
    ys = list(xs)
    zs = ys
    ys.insert(0, xs[1])
    return np.sum(zs[0] * ys[1])


def lengthen(ys, y):
    ys += [y * 2.0]


def lengthened_by_a_callee(xs):
    ys = []
    lengthen(ys, xs[0])
    return np.sum(ys[0])


def merged_unknown(a, b):
    c = a | b
    return np.sum(c)


@pytest.mark.parametrize("fn", [seen_through_another_name, lengthened_by_a_callee])
def test_lists_seen_through_other_names(fn):
    tl.check_grads(fn, (ARRAYS,))


@pytest.mark.parametrize(
    "fn, args, message",
    [
        (merged_unknown, (PARAMS, PARAMS), "its class computes it, or it was added later"),
    ],
)
def test_refused_with_the_place(fn, args, message):
    with pytest.raises(tl.UnsupportedError, match=message):
        tl.grad(fn)(*args)


def repeated_unknown(xs):
    ys = xs * 2
    return np.sum(ys[3] * ys[1])


def repeated_known(xs: list):
    ys = xs * 2
    return np.sum(ys[3] * ys[1])


def test_a_list_that_is_repeated_is_known_by_the_call():
    tl.check_grads(repeated_unknown, (ARRAYS,))
    tl.check_grads(repeated_known, (ARRAYS,))


def test_helpers_of_the_runtime():
    assert runtime.sorting_order([3, 1, 2], reverse=True) == [0, 2, 1]
    assert runtime.put_items([1.0, 2.0], [2, 0], [9.0, 9.0, 9.0]) == [2.0, 0.0, 1.0]
    assert runtime.columns([(1, 2), (3, 4, 5)]) == [(1, 3), (2, 4)]
    assert runtime.columns_bar([[1.0, 3.0]], [[9.0, 9.0], [9.0]]) == [[1.0, 0.0], [3.0]]
    assert runtime.dict_bar({"a": 2.0}, [("a", 1.0), ("a", 5.0)]) == [[0.0, 0.0], [0.0, 2.0]]
    assert runtime.merged_bar({"a": 1.0, "b": 2.0}, {"a": 0.5, "b": 0.5}, {"b": 3.0}) == {
        "a": 1.0,
        "b": 0.0,
    }
    assert runtime.entries_bar({"a": 1.0, "b": 2.0}, {"a": 0.5, "b": 0.5, "c": 9.0}, ["b"]) == {
        "a": 1.0,
        "b": 0.0,
        "c": 0.0,
    }


def changed_then_set(d, x):
    d.update({"q": x})
    v = d.setdefault("r", x * x)
    return np.sum(d["q"] * v * d["a"] * d["a"])


def popped_then_set(d, x):
    y = d.pop("a")
    v = d.setdefault("a", y * x)
    return np.sum(v * d["a"])


@pytest.mark.parametrize("f", [changed_then_set, popped_then_set], ids=lambda f: f.__name__)
def test_keys_that_come_later(f):
    """The adjoint of a dict has the keys that it got after it was made of another."""
    x = np.array([0.3, 0.7])
    tl.check_grads(f, ({"a": 2.0 * x}, x), order=2)


# The rules that these programs go through, by their operations.
RULES = [
    *(operator.or_, operator.ior, dict, runtime.dict_dot, runtime.dict_bar, runtime.merged_bar),
    runtime.entries_bar,
    *(runtime.take_items, runtime.put_items),
    *(runtime.joined, runtime.replaced, runtime.replaced_bar),
    *(runtime.columns, runtime.column_lists, runtime.columns_bar),
]


@pytest.mark.parametrize("op", RULES)
def test_the_operations_have_rules(op):
    from tangentlike.rules.book import default_book

    assert default_book().find(op) is not None


# ------------------------------------------------------------- arrays in one branch, lists in another


def arrays_or_lists(x, n):
    w = x if n == 5 else [x[0] * 2.0, x[1] * x[0]]
    f, c, q = np.fft.fft(w), np.cumsum(w), np.polyval(w, 2.0)
    return np.sum(np.abs(f) ** 2) + np.sum(c**2) * w[0] + q**2 * np.mean(w) + np.max(w) * w[1]


@pytest.mark.thorough
@pytest.mark.parametrize("n", [4, 5])
def test_adjoints_of_what_may_be_a_list_are_added_item_by_item(n):
    def outer(x, n):
        return arrays_or_lists(x, n) * arrays_or_lists(2.0 * x, n)

    for f in (arrays_or_lists, outer):
        tl.check_grads(f, (np.array([0.7, 1.3]), n), order=2 if n == 5 else 1)


def _given_back(function):
    """The expressions that a function gives back, with what its names were bound to in them."""
    own = [n for n in ast.walk(function) if n is not function]
    nested = (ast.FunctionDef, ast.Lambda)
    inner = {id(part) for n in own if isinstance(n, nested) for part in ast.walk(n)}
    bound = {}
    for stmt in own:
        for target in getattr(stmt, "targets", ()):
            if isinstance(target, ast.Name):
                bound.setdefault(target.id, []).append(stmt.value)
    found = [n.value for n in own if isinstance(n, ast.Return) and n.value and id(n) not in inner]
    for value in found:
        if isinstance(value, ast.IfExp):
            found += [value.body, value.orelse]
        elif isinstance(value, ast.Name):
            found += bound.pop(value.id, [])
    return found


def test_helpers_that_give_lists_are_all_known():
    texts = (path.read_text() for path in Path(runtime.__file__).parent.glob("*.py"))
    functions = {
        stmt.name: _given_back(stmt)
        for text in texts
        for stmt in ast.parse(text).body
        if isinstance(stmt, ast.FunctionDef)
    }
    lists = (ast.List, ast.ListComp, ast.Dict, ast.DictComp)
    giving, before = {"list", "dict"}, 0
    while before != len(giving):
        before = len(giving)
        for name, values in functions.items():
            called = {getattr(getattr(v, "func", None), "id", "") for v in values}
            if called & giving or any(isinstance(v, lists) for v in values):
                giving.add(name)
    assert {"accumulate", "copy", "fft_bar"} <= giving
    # (Of `contents`, which is saved, there are no adjoints; `cofactors` are those of a matrix.)
    others = giving - {"contents", "cofactors"}
    helpers = {n: getattr(runtime, n) for n in others if hasattr(runtime, n)}
    unknown = [n for n, obj in helpers.items() if not may_make_list(ir.Ref(n, obj))]
    assert not unknown


# Sets are not written by what they are made of.


def counted_once(x):
    squares = [v * v for v in x]
    return np.sum(x**3) / len(set(squares))


def seen_before(x):
    seen, total = frozenset((x[0] * 2.0, x[1])), 0.0
    for v in x:
        if v not in seen:
            total = total + v**3
    return total


@pytest.mark.parametrize("f", [counted_once, seen_before])
def test_sets_of_what_varies(f):
    tl.check_grads(f, np.array([0.7, 0.9, 1.3]), order=2)


def test_what_is_taken_out_of_a_set_is_refused():
    with pytest.raises(tl.UnsupportedError, match="set"):
        tl.grad(lambda x: sum(v * v for v in set(x.tolist())))(np.array([0.7, 0.9]))
