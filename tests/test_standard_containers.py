"""Containers of the module `collections`: what they do as lists and dicts do, and what not."""

from collections import Counter, defaultdict, deque

import numpy as np
import pytest

import tangentlike as tl
from tests.programs import standard_containers as programs
from tests.sampled import one_in

X = np.array([0.3, 0.7, 1.1])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "fn", one_in(3, [p.fn for p in programs.PROGRAMS]), ids=lambda fn: fn.__name__
)
def test_second_order(fn):
    tl.check_grads(fn, (X.copy(),), order=2)


def sums_of_a_deque(x):
    q = deque([v * 2.0 for v in x])
    q.popleft()
    return np.sum(np.array(q) * np.mean(q)) + np.max(q) + np.dot(q, q) + np.linalg.norm(q)


def means_of_a_window(x):
    window, s = deque(maxlen=2), 0.0
    for v in x:
        window.append(np.array([v, v * v]))
        s = s + np.sum(np.stack(window)) + np.mean(window, axis=0)[1]
    return s


@pytest.mark.parametrize("fn", [sums_of_a_deque, means_of_a_window])
def test_functions_of_numpy_read_deques(fn):
    tl.check_grads(fn, (X.copy(),), order=2)


def returned(x):
    q = deque()
    q.append(np.sum(x))
    return q


def known_by_a_second_name(x):
    q = deque(maxlen=2)
    r = q
    q.append(x)
    return np.sum(r[0])


def copied(x):
    q = deque([x, np.sin(x)])
    r = q.copy()
    return np.sum(r[0])


def counted_from_another(x):
    c = Counter({"a": 1.0})
    c.update({"a": np.sum(x)})
    return c["a"] ** 2


def entry_made_by_a_test(x):
    d = defaultdict(list)
    while len(d["a"]) < 2:
        d["a"].append(x)
    return np.sum(d["a"][0])


def seen_as_what_it_is(x):
    d = defaultdict(float)
    d["a"] += np.sum(x)
    return d["a"] if isinstance(d, defaultdict) else 0.0


def grows_in_its_loop(x):
    q = deque([x])
    for v in q:
        q.append(v * x)
    return np.sum(q[0])


@pytest.mark.parametrize(
    "fn",
    [
        returned,
        known_by_a_second_name,
        copied,
        counted_from_another,
        grows_in_its_loop,
    ],
    ids=lambda fn: fn.__name__,
)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_other_uses_are_refused(fn, mode):
    message = "used in another way than a list or dict|in a loop over `q`|memory that may be shared"
    with pytest.raises(tl.UnsupportedError, match=message):
        str(tl.autodiff(fn, mode=mode, strict=True).source)


@pytest.mark.parametrize("mode", [tl.grad, lambda f: lambda x: tl.jvp(f, (x,), (x,))])
def test_an_entry_that_a_test_makes_is_refused_when_it_does(mode):
    with pytest.raises(tl.UnsupportedError, match="an entry 'a' is made"):
        mode(entry_made_by_a_test)(X.copy())


def test_what_is_asked_for_its_class():
    tl.check_grads(seen_as_what_it_is, (X.copy(),), order=2)


def test_keys_that_are_tuples_do_not_make_it_an_array():
    def by_cells(x):
        cells, s = defaultdict(list), 0.0
        for i in range(len(x)):
            cells[int(x[i] // 1.0), i % 2].append(i)
        for members in cells.values():
            for i in members:
                s = s + x[i] ** 2 * len(members)
        return s

    tl.check_grads(by_cells, (X.copy(),))


def test_a_queue_of_numbers():
    def visits(x):
        waiting, s = deque([0]), 0.0
        while waiting:
            i = waiting.popleft()
            s = s + x[i] ** 2
            if i < 2:
                waiting.append(i + 1)
        return s

    np.testing.assert_allclose(tl.grad(visits)(X), 2.0 * X)


def item_replaced_through_another_name(x):
    d = {"a": x * 1.0}
    e = d
    v = d["a"]
    e["a"] = v * 2.0
    v[:] = v * x
    e["a"][0] = 5.0 * x[1]
    return np.sum(d["a"] * v)


def item_replaced_by_a_callee(x):
    d = {"a": x * 1.0}
    v = d["a"]
    put(d, v * 2.0)
    v[:] = v * x
    return np.sum(d["a"] * v)


def put(d, v):
    d["a"] = v


@pytest.mark.parametrize(
    "fn", [item_replaced_through_another_name, item_replaced_by_a_callee], ids=lambda f: f.__name__
)
def test_an_item_replaced_while_another_name_stands_for_it(fn):
    tl.check_grads(fn, (X.copy(),))


def added_by_name(x):
    return np.sum([1.0, x].__add__([x * x])[2])


def made_of_keys(x):
    return np.sum({}.fromkeys("ab", x)["b"] ** 2)


def joined_by_name(x):
    d = {"a": 1.0}
    e = d.__or__({"b": np.sum(x)})
    return e["b"] ** 2


@pytest.mark.parametrize(
    "fn", [added_by_name, made_of_keys, joined_by_name], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_what_an_unknown_method_of_a_container_does_is_not_guessed(fn, mode):
    with pytest.raises(tl.UnsupportedError, match="the method `\\w+` is called"):
        str(tl.autodiff(fn, mode=mode, strict=True).source)
