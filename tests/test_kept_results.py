"""What an earlier call kept outside of the function is a constant to the next one: what carries
derivatives does not find it again unseen, by whichever comparison. And what is given to a function
that may keep something, and does not, stays what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike import runtime

TABLE: dict[Any, Any] = {}
OPTIONS: dict[str, Any] = {"scale": 2.0}


class Memo:
    """As `scipy.optimize` keeps the latest value and derivative of a function."""

    def __init__(self) -> None:
        self.x: Any = None
        self.v: Any = None

    def _update(self, x: Any) -> None:
        if not np.all(x == self.x):
            self.x, self.v = x, x**2

    def value(self, x: Any) -> Any:
        self._update(x)
        return self.v

    def near(self, x: Any) -> Any:
        if self.x is None or abs(self.x - x) > 1e-9:
            self.x, self.v = x, x**2
        return self.v


MEMO = Memo()


def by_a_key(table: Any, x: Any) -> Any:
    if x not in table:
        table[x] = x**2
    return table[x]


def by_get(table: Any, x: Any) -> Any:
    v = table.get(x)
    if v is None:
        v = table[x] = x**2
    return v


def by_the_latest(table: Any, x: Any) -> Any:
    if table.get("x") is not None and table["x"] == x:
        return table["v"]
    table["x"] = x
    table["v"] = x**2
    return table["v"]


def by_a_default(x: Any, cache: Any = {}) -> Any:  # noqa: B006
    k = float(x)
    if k not in cache:
        cache[k] = x**2
    return cache[k]


FOUND_AGAIN = [
    lambda x: MEMO.value(x) * 2.0,
    lambda x: MEMO.near(x) * 2.0,
    lambda x: by_a_key(TABLE, x) * 2.0,
    lambda x: by_get(TABLE, x) * 2.0,
    lambda x: by_the_latest(TABLE, x) * 2.0,
    lambda x: by_a_default(x) * 2.0,
]


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    TABLE.clear()
    MEMO.x = MEMO.v = None


@pytest.mark.parametrize("fn", FOUND_AGAIN)
def test_what_an_earlier_call_kept_is_not_found_again_unseen(fn: Any) -> None:
    """(The derivatives were zero.)"""
    fn(3.0)
    with pytest.raises(tl.UnsupportedError, match="earlier call|carries"):
        tl.grad(fn)(3.0)
    with pytest.raises(tl.UnsupportedError, match="earlier call|carries"):
        tl.jvp(fn, (3.0,), (1.0,))


def test_what_the_call_itself_kept_is_found_again() -> None:
    def twice(x: Any) -> Any:
        return MEMO.value(x) + MEMO.value(x)

    twice(2.0)
    assert tl.grad(twice)(3.0) == 12.0
    assert tl.jvp(twice, (3.0,), (1.0,))[1] == 12.0


def scaled(options: Any, x: Any) -> Any:
    if x[0] > 5.0:
        options["latest"] = x
    return options["scale"] * x


def collected(x: Any, seen: Any = {}) -> Any:  # noqa: B006
    if x[0] > 5.0:
        seen["latest"] = x
    return x * x


class Model:
    def __init__(self) -> None:
        self.options = {"scale": 2.0}

    def scaled(self, x: Any) -> Any:
        return scaled(self.options, x)


MODELS = [Model()]


def of_an_item(x: Any) -> Any:
    return np.sum(MODELS[0].scaled(x) * x)


@pytest.mark.parametrize("fn", [lambda x: np.sum(collected(x)), of_an_item])
def test_an_object_that_a_call_may_change_and_does_not(fn: Any) -> None:
    """(The branch was refused, whether a call takes it or not.)"""
    x = np.array([1.0, 2.0])
    tl.check_grads(fn, (x,), order=2)
    assert np.allclose(tl.grad(fn)(x), tl.grad(lambda x: fn(x))(x))


def test_an_object_that_a_call_does_change() -> None:
    def fn(x: Any) -> Any:
        return np.sum(collected(x))

    with pytest.raises(tl.UnsupportedError, match="is changed by what it is given to"):
        tl.grad(fn)(np.array([6.0, 2.0]))
    with pytest.raises(tl.UnsupportedError, match="is changed by what it is given to"):
        tl.jvp(fn, (np.array([6.0, 2.0]),), (np.ones(2),))


# Objects, lists and dicts that the derivative itself is given, as arguments or by a bound method.


def of_an_argument(x: Any, memo: Any) -> Any:
    return memo.value(x) * 2.0


def near_an_argument(x: Any, memo: Any) -> Any:
    return memo.near(x) * 2.0


def by_the_norm(x: Any, memo: Any) -> Any:
    distance = 1.0 if memo.x is None else np.sqrt((memo.x - x) ** 2)
    if distance > 1e-9:
        memo.x, memo.v = x, x**2
    return memo.v * 2.0


GIVEN = [of_an_argument, near_an_argument, by_the_norm]


@pytest.mark.parametrize("fn", GIVEN)
def test_what_an_argument_kept_is_not_found_again_unseen(fn: Any) -> None:
    """(The derivatives were zero.)"""
    memo = Memo()
    fn(3.0, memo)
    gradient = tl.grad(fn)
    for derive in (
        lambda: gradient(3.0, memo),
        lambda: tl.jvp(fn, (3.0, memo), (1.0, None)),
        lambda: tl.grad(tl.grad(fn))(3.0, memo),
        lambda: tl.grad(memo.value)(3.0),
    ):
        with pytest.raises(tl.UnsupportedError, match="earlier call"):
            derive()
    assert gradient(2.0, memo) == gradient(2.0, Memo()) == 8.0
    assert tl.jvp(fn, (2.0, memo), (1.0, None))[1] == 8.0
    assert memo.x == 3.0


def by_place(last: Any, x: Any) -> Any:
    if last[0] != x:
        last[0] = x
        last[1] = x**2
    return last[1]


@pytest.mark.parametrize(("fn", "kept"), [(by_the_latest, {}), (by_place, [0.0, 0.0])])
def test_what_a_dict_or_list_that_is_given_kept(fn: Any, kept: Any) -> None:
    gradient = tl.grad(fn, 1)
    assert gradient(kept, 2.0) == 4.0
    fn(kept, 2.0)
    with pytest.raises(tl.UnsupportedError, match="earlier call"):
        gradient(kept, 2.0)


def test_what_the_call_itself_puts_into_an_argument_is_found_again() -> None:
    def twice(x: Any, memo: Any) -> Any:
        return memo.value(x) + memo.value(x)

    memo = Memo()
    twice(2.0, memo)
    assert tl.grad(twice)(3.0, memo) == 12.0
    assert tl.jvp(twice, (3.0, memo), (1.0, None))[1] == 12.0


def test_what_is_compared_and_never_stored_is_no_result() -> None:
    class Well:
        def __init__(self) -> None:
            self.center = np.zeros(2)
            self.depth = 2.0

    def energy(x: Any, well: Any) -> Any:
        if np.array_equal(x, well.center) or np.linalg.norm(x - well.center) < 0.1:
            return np.sum(x) * well.depth
        return np.sum(x * x)

    assert np.array_equal(tl.grad(energy)(np.zeros(2), Well()), [2.0, 2.0])
    assert "require_new" not in tl.grad(energy, example=(np.zeros(2), Well())).source


# Functions and methods that only the run knows, which are given what kept something.


def of_memo(memo: Any, x: Any) -> Any:
    return memo.value(x)


def of_last(last: Any, x: Any) -> Any:
    return by_the_latest(last, x)


BY_NAME = {"memo": of_memo, "last": of_last}


def from_a_table(owner: Any, name: Any, x: Any) -> Any:
    return BY_NAME[name](owner, x) * 2.0


def handed_on(owner: Any, fn: Any, x: Any) -> Any:
    return fn(owner, x) * 2.0


def by_a_computed_name(owner: Any, name: Any, x: Any) -> Any:
    return getattr(owner, name)(x) * 2.0


def one_after_the_other(pairs: Any, name: Any, x: Any) -> Any:
    return sum(BY_NAME[name](owner, x * k) for k, owner in enumerate(pairs, 1))


@pytest.mark.parametrize(
    ("fn", "make", "how"),
    [
        (from_a_table, Memo, "memo"),
        (from_a_table, dict, "last"),
        (handed_on, Memo, of_memo),
        (handed_on, dict, of_last),
        (by_a_computed_name, Memo, "value"),
        (one_after_the_other, lambda: [Memo(), Memo()], "memo"),
    ],
)
def test_what_a_function_only_the_run_knows_finds_again(fn: Any, make: Any, how: Any) -> None:
    """(The derivatives were zero, in both modes.)"""
    kept = make()
    fn(kept, how, 3.0)
    gradient = tl.grad(fn, 2)
    for derive in (
        lambda: gradient(kept, how, 3.0),
        lambda: tl.jvp(fn, (kept, how, 3.0), (None, None, 1.0)),
    ):
        with pytest.raises(tl.UnsupportedError, match="earlier call"):
            derive()
    wanted = (fn(make(), how, 2.0 + 1e-6) - fn(make(), how, 2.0 - 1e-6)) / 2e-6
    for owner in (kept, make()):
        assert np.isclose(gradient(owner, how, 2.0), wanted)
        assert np.isclose(tl.jvp(fn, (owner, how, 2.0), (None, None, 1.0))[1], wanted)


def test_what_was_noted_before_stays_noted_in_an_inner_call() -> None:
    """(What a function notes that another one calls took the place of that.)"""
    first, second = [1.5], [2.5]
    runtime.note_kept({"a": first})
    runtime.note_kept({"b": second, "c": 3.5}, also=True)
    for holder in ({"a": first}, {"a": second}):
        with pytest.raises(ValueError, match="earlier call"):
            runtime.require_new(True, True, holder, "a")
    assert runtime.require_new(True, True, {"a": [1.5]}, "a")
    runtime.note_kept()
    assert runtime.require_new(True, True, {"a": first}, "a")
