"""The second call by arguments of the same types and shapes takes a short way: it gives, copies
and raises what the first does."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.dispatch import repeated as short_way
from tangentlike.pytree import leaves

SHARED = np.array([1.0, 2.0, 3.0])


def weighted(x: Any, w: Any) -> Any:
    return np.sum(np.tanh(x) * w)


def given_back(x: Any, w: Any) -> Any:
    return np.sum(x * w)


def both(x: Any, y: Any) -> Any:
    return np.sum(x + y)


def product(a: Any, b: Any) -> Any:
    return a * b


def root(x: Any) -> Any:
    y = (x - 2.0) ** 0.5
    return (y * y.conjugate()).real


def positive(x: Any) -> Any:
    if np.sum(x) < 0:
        raise ValueError("negative")
    return np.sum(x * x)


def scaled(x: Any) -> Any:
    return helper(x) * 2.0


def helper(x: Any) -> Any:
    return np.sum(x)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each result was handed back at once."""
    taken: list[bool] = []
    written = short_way._written

    def noted(*args: Any) -> Any:
        made = written(*args)

        def call_for(*names: Any) -> Any:
            *before, general, instead = names

            def left(*given: Any) -> Any:
                taken[-1] = False
                return general(*given)

            call: Any = made and made(*before, left, instead)

            def asked(given: Any) -> Any:
                taken.append(True)
                found = call(given)
                if found is short_way.OTHER:
                    taken.pop()
                return found

            return asked

        return made and call_for

    monkeypatch.setattr(short_way, "_written", noted)
    return taken


@pytest.mark.parametrize("operator", [tl.grad, tl.value_and_grad])
@pytest.mark.parametrize("wrt", [0, (0,), (1, 0), "w"])
def test_the_same_results_as_the_first_call(operator: Any, wrt: Any, short: list[bool]) -> None:
    x, w = np.arange(3.0), np.ones(3)
    df = operator(weighted, wrt=wrt)
    first, second = df(x, w), df(x + 0.0, w)
    assert short and repr(first) == repr(second)
    assert repr(df(x[:2], w[:2])) == repr(operator(weighted, wrt=wrt)(x[:2], w[:2]))
    assert repr(df(x, 2.0)) == repr(operator(weighted, wrt=wrt)(x, 2.0))


def test_views_of_new_memory_are_handed_back_as_they_are(short: list[bool]) -> None:
    """The product of two stacks is a view of a matrix that nobody else has."""
    x, w = np.arange(6.0).reshape(2, 3), np.ones((4, 2, 3))[:, :, ::-1]
    df = tl.grad(transposed_product, wrt=(0, 1))
    first, second = df(x, w), df(x, w)
    assert repr(first) == repr(second) and short == [True]
    assert any(bar.base is not None for bar in second)
    for bar in second:
        bar[...] = np.nan  # (it is the caller's)
    assert repr(df(x, w)) == repr(first)


def transposed_product(x: Any, w: Any) -> Any:
    return np.sum(np.tanh(w @ x.T))


def test_numbers(short: list[bool]) -> None:
    df = tl.grad(product, wrt=(0, 1))
    assert df(2.0, 3.0) == df(2.0, 3.0) == (3.0, 2.0) and short == [True]
    assert df(np.float64(2.0), 3.0) == (3.0, 2.0)
    with pytest.raises(tl.TangentlikeError, match="the argument is the int 2"):
        df(2, 3.0)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_numbers_for_arrays_without_axes(short: list[bool], target: Any) -> None:
    if target == "numba":
        pytest.importorskip("numba")
    df, a, x = tl.grad(weighted, wrt=(0, 1), target=target), np.array(0.4), np.ones(3)
    found = [df(a, x) for _ in range(3)]
    assert repr(found[0]) == repr(found[2]) and short == [True, True]
    for bar, other in zip(found[1], found[2], strict=True):
        bar[...] = 7.0  # (it is the caller's)
        assert isinstance(bar, np.ndarray) and not np.array_equal(bar, other)
    assert a == 0.4 and repr(df(a, x)) == repr(found[0])
    narrow = df(np.array(0.4, np.float32), x.astype(np.float32))
    assert [bar.dtype for bar in narrow] == [np.float32] * 2


def test_gradients_belong_to_the_caller(short: list[bool]) -> None:
    """An adjoint that is an argument, a view of one, or another adjoint is copied each time."""
    df, x, w = tl.grad(given_back, wrt=(0, 1)), np.ones(3), np.full(3, 2.0)
    for _ in range(3):
        x_bar, w_bar = df(x, w)
        x_bar[:], w_bar[:] = 7.0, 8.0
        assert np.array_equal(x, np.ones(3)) and np.array_equal(w, np.full(3, 2.0))
    same = tl.grad(both, wrt=(0, 1))
    for _ in range(3):
        x_bar, y_bar = same(x, w)
        x_bar[:] = 5.0
        assert np.array_equal(y_bar, np.ones(3))
    part = np.zeros(6)
    for _ in range(3):
        w_bar = tl.grad(given_back, wrt=1)(part[::2], w)
        w_bar[:] = 5.0
        assert not part.any()


def test_numbers_that_become_complex_do_so_again() -> None:
    df = tl.grad(root)
    for x, slope in [(6.0, 1.0), (5.0, 1.0), (1.0, -1.0), (1.0, -1.0), (6.0, 1.0)]:
        assert df(x) == pytest.approx(slope)


def test_what_is_raised_names_the_users_line() -> None:
    df, x = tl.grad(positive), np.ones(2)
    df(x), df(x)
    notes = []
    for _ in range(2):
        with pytest.raises(ValueError, match="negative") as caught:
            df(-x)
        notes.append([note for note in caught.value.__notes__ if "positive" in note])
    assert notes[0] and notes[0] == notes[1]


def test_a_helper_that_is_defined_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    df, x = tl.grad(scaled), np.ones(2)
    assert np.array_equal(df(x), df(x))
    monkeypatch.setitem(scaled.__globals__, "helper", weighted_helper)
    assert np.array_equal(df(x), [6.0, 6.0])


def weighted_helper(x: Any) -> Any:
    return 3.0 * np.sum(x)


def test_types_that_change_between_calls() -> None:
    df = tl.value_and_grad(weighted)
    for x in (np.ones(3), np.ones(3, np.float32), np.ones((2, 3)), np.ones(3) + 1j, np.ones(3)):
        value, bar = df(x, SHARED) if np.isrealobj(x) else df(x.real, SHARED)
        assert bar.dtype == x.real.dtype and bar.shape == x.shape
        tl.check_grads(weighted, (np.asarray(x.real, float), SHARED))


# ------------------------------------------------------------------------------- containers


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class Layer:
    w: Any
    b: Any
    name: str = "dense"
    count: int = 3


class Slotted:
    __slots__ = ("b", "w")

    def __init__(self, w: Any, b: Any) -> None:
        self.w, self.b = w, b


class Copied:
    def __init__(self, w: Any, b: Any) -> None:
        self.w, self.b = w, b

    def __copy__(self) -> Copied:
        return Copied(self.w, self.b)


def of_dict(p: Any) -> Any:
    return np.sum(p["w"] * p["w"]) * p["b"]


def of_items(p: Any) -> Any:
    return np.sum(p[0] * p[0]) * p[1]


def of_fields(p: Any) -> Any:
    return np.sum(p.w * p.w) * p.b


def of_pair(p: Any) -> Any:
    return np.sum(p.a * p.a) * p.b


def of_layers(layers: Any) -> Any:
    total = 0.0
    for w, b in layers:
        total = total + np.sum(np.tanh(w) * b)
    return total


def of_many(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total = total + x * x
    return total


def chosen(x: Any, ids: Any) -> Any:
    return x * x * ids[0]


W, V = np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.25, 2.0])
CONTAINERS: list[tuple[Any, Any, bool]] = [
    (of_dict, {"w": W, "b": 2.0, "name": "n", "count": 3, "none": None, "ids": [1, 2]}, True),
    (of_dict, {"b": 2.0, "w": W, "ids": np.arange(4)}, True),
    (of_items, [W, 2.0], True),
    (of_items, (W, 2.0, "n", [3, None]), True),
    (of_items, (W, np.float64(2.0)), False),
    (of_pair, Pair(W, 2.0), True),
    (of_fields, Layer(W, 2.0), True),
    (of_fields, Slotted(W, 2.0), False),
    (of_fields, Copied(W, 2.0), False),
    (of_layers, [(W, 2.0), (V, 3.0)], True),
    (of_layers, [[W, 2.0], [V, V]], True),
    (of_layers, tuple((W * n, float(n)) for n in range(7)), True),
    (of_many, [float(n) for n in range(9)], True),
    (of_many, tuple(float(n) for n in range(9)), True),
    (of_many, [1.0, 2.0, np.float64(3.0), 4.0, 5.0, 6.0], False),
]


def parts(value: Any) -> list[Any]:
    """A value and all that it holds."""
    inside = leaves.contents(value) or []
    return [value, *(part for _, item in inside for part in parts(item))]


@pytest.mark.parametrize("operator", [tl.grad, tl.value_and_grad])
@pytest.mark.parametrize(("f", "value", "is_short"), CONTAINERS)
def test_containers(f: Any, value: Any, is_short: bool, operator: Any, short: list[bool]) -> None:
    df = operator(f)
    first, second, third = df(value), df(value), df(copy.deepcopy(value))
    assert str(shown(first)) == str(shown(second)) == str(shown(third))
    assert bool(short and short[0]) is is_short
    mine = {id(p) for p in parts(value) if isinstance(p, (list, dict, np.ndarray, Layer))}
    given = [p for p in parts(second) if isinstance(p, (list, dict, np.ndarray, Layer))]
    assert mine.isdisjoint(map(id, given)) and len({*map(id, given)}) == len(given)
    tl.check_grads(f, (value,))


def shown(value: Any) -> Any:
    """A value as one that `str` tells apart: classes, fields and numbers."""
    inside = leaves.contents(value)
    if inside is None:
        return type(value).__name__, repr(value)
    return type(value).__name__, [(text, shown(item)) for text, item in inside]


def test_containers_of_other_forms(short: list[bool]) -> None:
    """Other keys, types, lengths and shapes are another call."""
    for f, several in {
        of_dict: [
            {"w": W, "b": 2.0},
            {"b": 2.0, "w": W},
            {"w": W, "b": 2.0, "c": 1.0},
            {"w": W.astype(np.float32), "b": 2.0},
            {"w": W[:2], "b": 2.0},
            {"w": W, "b": np.array(2.0)},
            {"w": W, "b": np.float64(2.0)},
        ],
        of_many: [
            [1.0] * 9,
            [1.0] * 8,
            [1.0] * 8 + [2],
            [1.0] * 8 + [np.array(2.0)],
            (1.0,) * 9,
            [1.0] * 9,
        ],
        of_fields: [
            Layer(W, 2.0),
            Layer(W, np.array(2.0)),
            Layer(W, 2.0, None),
            Layer(W, 2.0, "x", 4.0),
        ],
    }.items():
        df = tl.grad(f)
        for value in several * 2:
            expected = tl.grad(lambda p, f=f: f(p), wrt=0)(value)
            for _ in range(2):
                assert str(shown(df(value))) == str(shown(expected))
    assert True in short


def test_one_array_at_two_places_of_a_container() -> None:
    df = tl.grad(of_layers)
    apart, same, view = [(W, V), (V, W)], [(W, W), (W, W)], [(W, V), (W[:], V[::-1])]
    for _ in range(3):
        for value in (apart, same, view, same):
            found, expected = df(value), tl.grad(lambda p: of_layers(p))(value)
            assert str(shown(found)) == str(shown(expected))
            found[0][0][:] = 7.0
            assert not np.any(found[1][0] == 7.0) and not np.any(W == 7.0)


def test_what_is_not_differentiated_may_be_any_container(short: list[bool]) -> None:
    df = tl.grad(chosen)
    for ids in ([2, 3], [2, 3], [3] * 100, [3] * 100, [True] + [3] * 99, (2, 3), [2.5, 3]):
        assert df(1.5, ids) == 3.0 * ids[0]
    assert short == [True] * 2


def test_a_default_that_is_none(short: list[bool]) -> None:
    def doubled(x: Any, scale: Any = None) -> Any:
        return x * x if scale is None else x * scale

    df = tl.grad(doubled)
    assert [df(3.0), df(3.0), df(3.0, 2.0), df(3.0, None), df(3.0)] == [6.0, 6.0, 2.0, 6.0, 6.0]
    assert short and all(short)


def test_arguments_by_name_take_the_short_way(short: list[bool]) -> None:
    def line(a: Any, b: Any, c: Any = 2.0) -> Any:
        return np.sum(a * b) * c

    x, y = np.array([0.5, -1.5, 2.0]), np.array([3.0, 1.0, -2.0])
    gradient = tl.grad(line, wrt=("a", "b"))
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {"a": x, "b": y}),
        ((), {"b": y, "a": x}),
        ((x,), {"b": y}),
        ((x, y), {"c": 3.0}),
    ]
    for args, kwargs in calls:
        c = kwargs.get("c", 2.0)
        gradient(*args, **kwargs)
        short.clear()
        for _ in range(2):
            a_bar, b_bar = gradient(*args, **kwargs)
            np.testing.assert_array_equal(a_bar, c * y)
            np.testing.assert_array_equal(b_bar, c * x)
        assert short == [True, True]
    short.clear()
    with pytest.raises(TypeError, match="multiple values"):
        gradient(x, y, a=x)
    with pytest.raises(TypeError, match="missing"):
        gradient(b=y)
    assert short == []


def test_a_parameter_between_that_is_left_out_has_its_default(short: list[bool]) -> None:
    def line(a: Any, b: Any = 3.0, c: Any = 2.0) -> Any:
        return a * b + c * a**2

    gradient = tl.grad(line)
    assert gradient(1.0, 3.0, 2.0) == gradient(1.0, 3.0, 2.0) == 7.0
    short.clear()
    assert gradient(1.0, c=5.0) == gradient(1.0, c=5.0) == 13.0
    assert short == []


def test_what_can_only_be_given_one_way_is_given_so() -> None:
    def line(a: Any, /, b: Any, *, c: Any) -> Any:
        return a * b * c

    gradient = tl.grad(line, wrt=("a", "c"))
    for _ in range(2):
        assert gradient(2.0, b=3.0, c=5.0) == (15.0, 6.0)
    with pytest.raises(TypeError, match="positional-only"):
        gradient(a=2.0, b=3.0, c=5.0)
