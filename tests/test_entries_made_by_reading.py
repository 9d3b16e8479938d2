"""Reading a key that a `defaultdict` does not have makes an entry: such a read is a write, which the
reverse sweep undoes, wherever the dict came from."""

from collections import defaultdict

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.5, 0.7, 0.8, 0.9, 1.1])


class Ledger:
    def __init__(self):
        self.accounts = defaultdict(float)


class Given:
    def __init__(self, d):
        self.d = d

    def add(self, key, v):
        self.d[key] += v
        return len(self.d)


def read_in_a_field(x):
    ledger, s = Ledger(), 0.0
    for i in range(3):
        s = s + x[i] ** 2 * len(ledger.accounts) ** 2
        s = s + ledger.accounts["abc"[i]] * x[i]
    return s


def copied_before_it_is_written(x):
    ledger, h = Ledger(), []
    for i in range(2):
        old = dict(ledger.accounts)
        ledger.accounts["ab"[i]] += x[i]
        h.append(sum(old.values()))
    return h[1] * h[1]


def made():
    return defaultdict(float)


def made_by_a_helper(x):
    d, s = made(), 0.0
    for i in range(3):
        s = s + x[i] ** 2 * len(d) ** 2
        d["abc"[i]] += x[i]
    return s * d["a"]


def touch(d, key, v):
    d[key] += v


def handed_on(x):
    d, s = defaultdict(float), 0.0
    for i in range(3):
        s = s + x[i] ** 2 * len(d) ** 2
        touch(d, "abc"[i], x[i])
    return s * d["a"]


def under_two_names(x):
    d = defaultdict(list)
    e = d
    for i in range(4):
        e["ab"[i % 2]].append(x[i] * len(d))
    return sum(v[0] * v[-1] for v in d.values()) + len(d) * x[0]


def in_a_dict(x):
    d, s = {"e": defaultdict(float)}, 0.0
    for i in range(3):
        s = s + x[i] ** 2 * len(d["e"]) ** 2
        d["e"]["abc"[i]] += x[i]
    return s * d["e"]["a"]


def in_a_list(x):
    ds, s = [defaultdict(float) for _ in range(2)], 0.0
    for i in range(3):
        for d in ds:
            s = s + x[i] ** 2 * len(d) ** 2
            d["abc"[i]] += x[i]
    return s * ds[0]["a"]


def counted(x):
    n, s = defaultdict(int), 0.0
    for w in "abca":
        s = s + x[len(n) % 5] * x[0]
        n[w] += 1
        if n["z" + w] > 0:
            s = 0.0
        s = s * (1 + n[w])
    return s * len(n)


def read_in_tests(x):
    n, s = defaultdict(int), 0.0
    for w in "abca":
        s = s + (x[len(n)] if n[w] == 0 else x[1] * x[0])
        while n[w] < 3:
            n[w] += 1
    return s * len(n)


def given_back(d):
    return d


def of_arrays(x):
    d = given_back(defaultdict(lambda: np.zeros(2)))
    for i in range(4):
        d[i // 2] += x[i : i + 2] * len(d)
        d["a", i % 2][0] += x[i] * len(d)
    return sum(np.sum(v**2) for v in d.values()) * len(d)


def there_already(x):
    d = given_back(defaultdict(float))
    for i in range(3):
        if "a" in d and d["a"] > 0:
            d["b"] += x[i] ** 2
        d["a"] += x[i] * len(d)
    return d["a"] * d["b"]


MADE = [
    read_in_a_field,
    copied_before_it_is_written,
    made_by_a_helper,
    handed_on,
    under_two_names,
    in_a_dict,
    in_a_list,
    counted,
    read_in_tests,
    of_arrays,
    there_already,
]


@pytest.mark.thorough
@pytest.mark.parametrize("fn", MADE, ids=lambda fn: fn.__name__)
def test_what_is_made_by_the_function(fn):
    tl.check_grads(fn, (X.copy(),), order=2 if fn in MADE[::2] else 1)


def updated(x, d):
    s = 0.0
    for i in range(3):
        s = s + x[i] ** 2 * len(d) ** 2
        d["abc"[i]] += x[i]
    return s * d["a"]


def only_read(x, d):
    s = 0.0
    for i in range(3):
        s = s + x[i] ** 2 * len(d) ** 2
        s = s + d["abc"[i]] * x[i]
    return s + x[0] * len(d)


def through_an_object(x, d):
    c, s = Given(d), 0.0
    for i in range(3):
        s = s + x[i] ** 2 * len(d)
        s = s * c.add("abc"[i], x[i])
    return s + sum(d.values()) * len(c.d)


@pytest.mark.thorough
@pytest.mark.parametrize("fn", [updated, only_read, through_an_object], ids=lambda fn: fn.__name__)
def test_what_is_given(fn):
    tl.check_grads(fn, (X.copy(), defaultdict(float)), wrt=0, order=2)


def test_lists_that_are_given():
    def appended(x, d):
        s = 1.0
        for i in range(3):
            d["abc"[i]].append(x[i] * len(d))
            s = s * d["abc"[i // 2]][-1]
            s = s + x[i] ** 2 * len(d) ** 2
        return s + x[0] * len(d)

    tl.check_grads(appended, (X.copy(), defaultdict(list)), wrt=0, order=2)


class Growing(dict):
    def __missing__(self, key):
        self[key] = v = 1.5 * len(self) + 1
        return v


class Grown:
    def __init__(self):
        self.d = Growing()


def of_a_class_of_its_own(x):
    grown, s = Grown(), 0.0
    for i in range(3):
        s = s + x[i] ** 2 * len(grown.d) ** 2 + grown.d["abc"[i]] * x[i]
    return s


OUTER = defaultdict(float)


def of_the_module(x):
    return x[0] * OUTER["not there"] + x[1] * len(OUTER)


@pytest.mark.parametrize("mode", [tl.grad, lambda f: lambda x: tl.jvp(f, (x,), (x,))])
@pytest.mark.parametrize(
    ("fn", "message"),
    [(of_a_class_of_its_own, "`__missing__`"), (of_the_module, "made where a defaultdict is read")],
)
def test_what_is_not_followed_is_refused_where_an_entry_would_be_made(fn, message, mode):
    with pytest.raises(tl.UnsupportedError, match=message):
        mode(fn)(X.copy())
    assert not OUTER


def test_an_argument_of_a_class_of_its_own_is_refused():
    with pytest.raises(tl.TangentlikeError, match="`__missing__` of its own"):
        tl.grad(only_read)(X.copy(), Growing())


def test_the_entry_is_made_in_a_statement_of_its_own():
    df = tl.grad(updated)
    df(X.copy(), defaultdict(float))
    assert "d[key] = missing_entry(d, key)" in df.source
