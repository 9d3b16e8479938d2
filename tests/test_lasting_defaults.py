"""Defaults that a function changes are the same objects in every call: what carries derivatives
from one call to the next in them is refused."""

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, 0.7, -0.2, 0.5])


def kept(v, items=[]):  # noqa: B006
    items.append(v)
    return sum(items[-2:])


def remembered(k, x, seen={}):  # noqa: B006
    if k not in seen:
        seen[k] = x[k] * x[k]
    return seen[k]


def summed(x, total=np.zeros(4)):  # noqa: B008
    total += x
    return np.sum(total * x)


def by_keyword(v, *, items=[]):  # noqa: B006
    items.append(v * 2.0)
    return items[0] * v


def given_back(items=[]):  # noqa: B006
    return items


class Net:
    def add(self, v, items=[]):  # noqa: B006
        items.append(v)
        return items[0] * v


def deep(v):
    return kept(v * 2.0)


def stored_in_what_is_given_back(x):
    given_back().append(x[0])
    return given_back()[-1] * x[1]


REFUSED = [
    lambda x: kept(x[0] * x[1]) * kept(x[2]),
    lambda x: remembered(0, x) * remembered(1, x) * remembered(0, x),
    lambda x: summed(x) + summed(x * 2.0),
    lambda x: by_keyword(x[0]) * by_keyword(x[1]),
    lambda x: deep(x[0]) * deep(x[1]),
    lambda x: Net().add(x[0]) * Net().add(x[1]),
    stored_in_what_is_given_back,
]


@pytest.mark.parametrize("f", REFUSED)
def test_what_a_default_would_carry_to_the_next_call_is_refused(f):
    words = "carries derivatives into `.*'s default of|is changed by what|an earlier call kept"
    for derive in (lambda: tl.grad(f)(X), lambda: tl.jvp(f, (X,), (X,))):
        with pytest.raises(tl.UnsupportedError, match=words):
            derive()


def weighed(x, w=np.array([1.0, 0.5, 2.0, 0.1]), options={"scale": 2.0}):  # noqa: B006, B008
    return x @ w * options["scale"]


def counted(v, count=[0]):  # noqa: B006
    count[0] += 1
    return v * len(count)


def chained(n, x, memo):
    if n not in memo:
        memo[n] = x[n] if n < 2 else chained(n - 1, x, memo) * x[2] + chained(n - 2, x, memo)
    return memo[n]


RIGHT = [
    lambda x: kept(x[0], [1.0]) * kept(x[1], items=[x[2]]),
    lambda x: remembered(0, x, seen={}) * remembered(0, x, {0: x[1]}),
    lambda x: summed(x, np.ones(4)) * by_keyword(x[0], items=[x[1]]),
    lambda x: weighed(x) * weighed(x, options={"scale": x[1]}),
    lambda x: counted(x[0]) * counted(x[1]),
    lambda x: chained(5, x, {}),
]


@pytest.mark.parametrize("f", RIGHT)
def test_defaults_that_are_read_or_replaced(f):
    tl.check_grads(f, (X,))


def of_either(x, c=None):
    return np.sin(x) if c is None else x * c


def calls_either(x):
    return np.sum(of_either(x) ** 2)


@pytest.mark.parametrize("value", [3.0, np.array([0.5, 2.0]), None])
def test_texts_have_the_defaults_that_were_put_in_the_place_of_those_written(value, monkeypatch):
    monkeypatch.setattr(of_either, "__defaults__", (value,))
    x = np.array([0.3, 0.7])
    gradient = tl.grad(calls_either)
    expected = 2.0 * np.sin(x) * np.cos(x) if value is None else 2.0 * x * value**2
    np.testing.assert_allclose(gradient(x), expected)
    tl.check_grads(calls_either, (x,), order=2)
    made = {}
    exec(gradient.__tangentlike__.derive().standalone(), made)
    np.testing.assert_allclose(made["calls_either_grad"](x), expected)
