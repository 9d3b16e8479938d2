"""Lists, dicts and objects that outlive a call: what carries derivatives is not put into them
unseen, under whatever name; where the function reads them again, it works on copies."""

from __future__ import annotations

import contextvars
import types
from collections import defaultdict, deque
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads

LOG = [1.0]
TABLE: dict = {}
QUEUE = deque([1.0])
GROUPS: dict = defaultdict(list)
STATE = SimpleNamespace(rows=[1.0], named={})
SHAPES = {"sin": np.sin, "square": lambda v: v * v}
RATES = {"slow": [0.5, 0.25], "fast": [2.0]}


def push(into, v):
    into.append(v)


def the_log():
    return LOG


def through_a_name(x):
    log = LOG
    log.append(x * x)
    return LOG[-1]


def item_through_a_name(x):
    log = LOG
    log[0] = x * x
    return LOG[0]


def item_updated(x):
    log = LOG
    log[-1] += x * x
    return LOG[-1]


def extended_in_place(x):
    log = LOG
    log += [x * x]
    return LOG[-1]


def key_through_a_name(x):
    table = TABLE
    table["k"] = x * x
    return TABLE["k"]


def updated_through_a_name(x):
    table = TABLE
    table.update(k=x * x)
    return TABLE["k"]


def queue_through_a_name(x):
    queue = QUEUE
    queue.append(x * x)
    return QUEUE[-1]


def absent_group(x):
    GROUPS["new"].append(x * x)
    return GROUPS["new"][-1]


def attribute(x):
    STATE.rows.append(x * x)
    return STATE.rows[-1]


def attribute_through_a_name(x):
    state = STATE
    named = state.named
    named["k"] = x * x
    return STATE.named["k"]


def unpacked(x):
    log, table = LOG, TABLE
    table["k"] = x * x
    return TABLE["k"] + log[0]


def held(x):
    parts = {"log": LOG}
    parts["log"].append(x * x)
    return LOG[-1]


def gone_through(x):
    for log in [LOG]:
        log.append(x * x)
    return LOG[-1]


def by_a_helper(x):
    push(LOG, x * x)
    return LOG[-1]


def given_by_a_helper(x):
    the_log().append(x * x)
    return LOG[-1]


def by_an_inner_function(x):
    def note(v):
        log = LOG
        log.append(v)

    note(x * x)
    return LOG[-1]


CHANGED = [
    through_a_name, item_through_a_name, item_updated, extended_in_place, key_through_a_name,
    updated_through_a_name, queue_through_a_name, absent_group, attribute,
    attribute_through_a_name, unpacked, held, gone_through, by_a_helper, by_an_inner_function,
    given_by_a_helper,
]  # fmt: skip


def _contents():
    return LOG[:], dict(TABLE), list(QUEUE), dict(GROUPS), STATE.rows[:], dict(STATE.named)


@pytest.mark.parametrize("fn", CHANGED)
def test_what_is_read_again_is_changed_in_a_copy(fn):
    before = _contents()
    assert tl.grad(fn)(3.0) == 6.0
    assert tl.jvp(fn, (3.0,), (1.0,))[1] == 6.0
    assert tl.hvp(fn)(3.0, 1.0) == 2.0
    assert before == _contents()


def only_put_in(x):
    log = LOG
    log.append(x * x)
    return x


def only_put_in_by_a_helper(x):
    push(LOG, x * x)
    return x


def helper(v):
    return v * helper.scale


def attribute_of_a_function(x):
    helper.scale = x
    return helper(x)


class Settings:
    @classmethod
    def choose(cls, v):
        cls.chosen = v * v

    def get(self):
        return self.chosen


def attribute_of_a_class(x):
    Settings.choose(x)
    return Settings().get() * x


CURRENT = contextvars.ContextVar("current")


def variable_of_a_context(x):
    CURRENT.set(x)
    return CURRENT.get() * x


def remembered(n, x):
    if n in remembered.results:
        return remembered.results[n]
    result = x if n < 2 else remembered(n - 1, x) * x + remembered(n - 2, x)
    remembered.results[n] = result
    return result


def attribute_that_is_not_there_yet(x):
    remembered.results = {}
    return remembered(3, x)


MADE = None


def put_first(held, v):
    held[0] = v


def bound_to_a_dict(x):
    global MADE
    MADE = {}
    MADE["a"] = x * x
    return MADE["a"] * x


def bound_to_an_array(x):
    global MADE
    MADE = np.zeros(2)
    part = MADE[:1]
    part += x * x
    return MADE[0] * x


def bound_to_rows(x):
    global MADE
    MADE = [np.zeros(2)]
    MADE[0][1] = x * x
    return MADE[0][1] * x


def put_into_what_is_made(v):
    put_first(MADE, v)


def bound_here_and_written_there(x):
    global MADE
    MADE = np.zeros(2)
    put_into_what_is_made(x * x)
    return MADE[0] * x


def around():
    made = np.ones(3)

    def bound_to_lists(x):
        nonlocal made
        made = [[0.0]]
        made[0][0] = x * x
        return made[0][0] * x

    return bound_to_lists


UNSEEN = [
    (attribute_that_is_not_there_yet, "is defined outside"),
    (bound_to_a_dict, "is defined outside"),
    (bound_to_an_array, "is defined outside"),
    (bound_to_rows, "is defined outside"),
    (bound_here_and_written_there, "is defined outside"),
    (around(), "is defined outside"),
    (only_put_in, "is defined outside"),
    (only_put_in_by_a_helper, "is defined outside"),
    (attribute_of_a_function, "is defined outside"),
    (attribute_of_a_class, "is defined outside"),
    (variable_of_a_context, "the method `set` is called"),
]


@pytest.mark.parametrize(("fn", "words"), UNSEEN)
def test_what_goes_out_unseen_is_refused(fn, words):
    with pytest.raises(tl.UnsupportedError, match=words):
        tl.grad(fn)(3.0)
    with pytest.raises(tl.UnsupportedError, match=words):
        tl.jvp(fn, (3.0,), (1.0,))


def copied_first(x):
    log = list(LOG)
    log.append(x * x)
    rates = {**RATES}
    rates["own"] = [x]
    return log[-1] * rates["own"][0] + rates["slow"][1]


def holds_it_beside(x):
    out = [LOG]
    out.append(x * x)
    return out[1] * LOG[0]


def functions_by_name(x):
    kept = []
    for name in ("sin", "square", "sin"):
        x = SHAPES[name](1.5 * x)
        kept.append(x)
    return np.sum(kept[0] * kept[2])


def functions_in_step(x):
    return np.stack([f(v) for f, v in zip((np.sin, np.cos, np.tanh), x)]).sum()


def rates_by_name(x):
    total = 0.0
    for name in RATES:
        for rate in RATES[name]:
            total = total + np.exp(-rate * x)
    return total


@pytest.mark.parametrize("fn", [copied_first, holds_it_beside, rates_by_name])
def test_what_is_the_functions_own_may_be_written(fn):
    check_grads(fn, (0.7,), order=2)


@pytest.mark.parametrize("fn", [functions_by_name, functions_in_step])
def test_functions_from_a_table_are_differentiated_twice(fn):
    check_grads(fn, (np.array([0.3, 0.7, 1.1]),), order=2)


class Warns(types.ModuleType):
    """As `numpy.core` is: a module that says something when it is asked for an attribute."""

    asked: ClassVar[list[str]] = []

    def __getattr__(self, name):
        self.asked.append(name)
        raise AttributeError(name)


MODULES = {"w": np.ones(2), "old": Warns("old")}


def test_modules_in_containers_are_not_asked_for_attributes() -> None:
    Warns.asked.clear()
    gradient = tl.grad(lambda x, k="w": np.sum(MODULES[k] * x * x))
    np.testing.assert_allclose(gradient(np.ones(2)), [2.0, 2.0])
    assert not {"shape", "__setitem__"} & set(Warns.asked), Warns.asked


def test_what_a_called_object_keeps_of_its_arguments() -> None:
    """An object of the module that is called, and that keeps what it is given: the next call reads
    it (the gradient was that of the first call)."""
    times = Times(3.0)

    def loss(x):
        for _ in range(2):
            x = x + times(x)
        return np.sum(x * x)

    def asked(x, f):
        for _ in range(2):
            x = x + f(x)
        return np.sum(x * x)

    x = np.array([0.3, 0.5])
    with pytest.raises(tl.UnsupportedError, match="carries derivatives into"):
        tl.grad(loss)(x)
    with pytest.raises(tl.UnsupportedError, match="carries derivatives into"):
        tl.jvp(loss, (x,), (x,))
    check_grads(asked, (x, times), wrt=0)


class Times:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        self.w = self.w * x[0]
        return x * self.w


RESULTS: dict = {}


def kept_at_its_argument(x):
    if x not in RESULTS:
        RESULTS[x] = x * x
    return RESULTS[x]


def kept_at_its_first(x):
    key = x * 1.0
    if key not in RESULTS:
        RESULTS[key] = key * key
    return RESULTS.get(key)


def kept_at_a_hash(x):
    key = hash((x, 1))
    if key in RESULTS:
        return 1.0 * RESULTS[key]
    y = np.sin(x)
    RESULTS[key] = 1.0 * y
    return y


def the_last_is_kept(x):
    kept, key = RESULTS, hash(x)
    if kept.get("key") == key:
        return 1.0 * kept["value"]
    y = np.sin(x)
    kept["key"], kept["value"] = key, 1.0 * y
    return y


@pytest.mark.parametrize(
    "fn", [kept_at_its_argument, kept_at_its_first, kept_at_a_hash, the_last_is_kept]
)
@pytest.mark.parametrize(
    "kept", [{}, {2.0: 4.0}, {hash((2.0, 1)): 0.5, "key": hash(2.0), "value": 0.5}]
)
def test_results_of_earlier_calls_that_are_found_by_value(fn, kept):
    """What an earlier call put there is a constant (a gradient of zero, once)."""
    RESULTS.clear()
    RESULTS.update(kept)
    with pytest.raises(tl.UnsupportedError, match="keeps results of earlier calls"):
        tl.grad(fn)(2.0)
    with pytest.raises(tl.UnsupportedError, match="keeps results of earlier calls"):
        tl.jvp(fn, (2.0,), (1.0,))


class Anything:
    """Has something under any name, as a library that is loaded late."""

    __slots__ = ()

    def __getattr__(self, name):
        return Anything()

    def __call__(self, *args):
        raise RuntimeError("not loaded")


LIBRARY = SimpleNamespace(name="plain", late=Anything())


def of_a_library(x):
    if LIBRARY.name == "late":
        return LIBRARY.late.squares(x)
    return np.sum(x * x * x)


def test_an_object_outside_that_has_something_under_any_name():
    check_grads(of_a_library, (np.array([0.3, 0.5]),), order=2)


def test_other_derivatives_of_a_module_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a derivative wraps is there once it is made: asking for it would make them all."""
    other = tl.grad(lambda x: x * x)
    monkeypatch.setitem(globals(), "OTHER", other)
    monkeypatch.setitem(globals(), "RATE", 2.0)
    assert tl.grad(by_rate)(3.0) == 12.0
    assert other.__tangentlike__.derive()._derived is None


def by_rate(x):
    return RATE * x * x  # noqa: F821
