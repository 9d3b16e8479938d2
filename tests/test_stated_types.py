"""Texts that stand by themselves check the types of arguments that they were made for."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.runtime import require_types
from tests import agreement
from tests.generator import loaded

A, B = np.array([0.3, 0.7, -0.2]), np.array([0.4, 0.6, 0.9])
M = np.outer(A, B)


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any

    def energy(self, x):
        return np.sum(np.tanh(self.w * x) * self.b)


def by_rank(a):
    return np.sum(a, axis=0) * 2.0 if np.ndim(a) == 1 else np.sum(a * a)


def product(a, b):
    return np.sum(a * b)


def shifted(a, b):
    y = a * 1.0
    y += b
    return np.sum(y * y)


def optional(a, b=None):
    return np.sum(a * a) if b is None else np.sum(a * b)


def powered(a, n):
    return np.sum(a**n)


def of_layers(net, x):
    for layer in net:
        x = layer.energy(x)
    return x


def of_layer(layer, x):
    return np.sum(layer.w * x + layer.b)


def of_items(p):
    return np.sum(p[0] * p[1]) + sum(np.sum(w) for w in p)


def of_names(p):
    return np.sum(p["w"] * p["v"]) if "w" in p else np.sum(p["v"])


def of_pairs(p):
    return sum(np.sum(u * v) for u, v in p)


def keyed(a, how="sum"):
    return np.sum(a * 2.0) if how == "sum" else np.mean(a * a)


VALUES = (A, B[:1], M, 0.3, 2, np.array(0.4), [0.3, 0.5], [A, B], (A, 0.5), {"v": A, "w": B})
LAYERS = (Layer(A, B), Layer(A, 0.5), Layer(0.3, B), Layer(A, B[:1]), Layer(M, B))
PAIRS = ((A, B), (A, 0.5), (0.5, A), (A, B[:1]), (A[:, None], B), (A, M), (0.3, 0.5), (A, None))
CASES: list[tuple[Any, list[tuple[Any, ...]]]] = [
    (by_rank, [(value,) for value in VALUES]),
    (product, [*PAIRS, ([0.3, 0.7, -0.2], B), (A, [0.3, 0.7, -0.2])]),
    (shifted, list(PAIRS)),
    (optional, [*PAIRS, (A,)]),
    (powered, [(A + 1.0, n) for n in (2, 2.5, B, 1)]),
    (of_layer, [(layer, x) for layer in LAYERS for x in (A, 0.3)]),
    (of_layers, [([layer], x) for layer in LAYERS for x in (A, 0.3)]),
    (of_items, [([A, B],), ([A, B, A],), ([0.3, 0.5],), ((A, B),), (np.stack([A, B]),)]),
    (of_names, [({"v": A, "w": B},), ({"v": A},), ({"v": A, "w": 0.5},), ({"v": M, "w": A},)]),
    (of_pairs, [([(A, B)],), ([(A, 0.5), (0.3, 0.2)],), ([(A, B[:1])],), ({A[0]: 1.0},)]),
    (keyed, [(A,), (M,), (0.3,), (A, "sum"), (A, "mean")]),
]


def differentiable(args: tuple[Any, ...]) -> tuple[int, ...]:
    """The arguments that hold floats."""
    found: list[int] = []
    for place, value in enumerate(args):
        agreement.map_leaves(lambda leaf, place=place: found.append(place), value)
    return tuple(dict.fromkeys(found))


def slopes_of(run: Any, f: Any, args: tuple[Any, ...], wrt: tuple[int, ...]) -> Any:
    """The slope along a direction by a saved derivative, and by central differences."""
    directions = agreement.directions_for(args, wrt, 5)
    along = [directions[place] for place in wrt]
    return agreement.inner(along, list(run(*args))), agreement.slope(f, args, directions)


@pytest.mark.parametrize("way", ["example", "call", "standalone"])
@pytest.mark.parametrize(("f", "every"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_a_saved_text_is_right_or_says_what_it_was_made_for(f, every, way):
    if way == "standalone" and f in (of_layer, of_layers):
        return  # (the file has a class of its own)
    served = refused = 0
    first = [args for args in every if differentiable(args)][: 2 if way == "example" else 1]
    for made_for in first:
        wrt = differentiable(made_for)
        df = tl.grad(f, wrt=wrt, **({} if way == "call" else {"example": made_for}))
        if way == "call":
            df(*made_for)
        text = df.__tangentlike__.derive().standalone() if way == "standalone" else df.source
        run = loaded(text, "saved", {"np": np, "Layer": Layer, "__name__": __name__})[df.__name__]
        got, expected = slopes_of(run, f, made_for, wrt)
        assert got == pytest.approx(expected, rel=1e-6)
        for args in every:
            if not set(wrt) <= set(differentiable(args)):
                continue
            try:
                got, expected = slopes_of(run, f, args, wrt)
            except TypeError as error:
                if "this derivative was made for arguments of other types" not in str(error):
                    raise
                refused += 1
            else:
                served += 1
                assert got == pytest.approx(expected, rel=1e-6), (made_for, args)
    assert served
    assert refused or f in (of_pairs, powered)


def test_what_no_type_changes_is_not_checked():
    def cubes(a, b):
        return np.sum(a**3) * 0.5

    derivative = tl.grad(cubes, example=(A, B))
    assert "require_types" not in derivative.source
    derivative = tl.grad(cubes)
    derivative(A, B)
    assert "require_types" not in derivative.source


def test_texts_in_this_process_check_nothing():
    derivative = tl.grad(product, wrt=(0, 1), example=(A, B))
    assert "require_types" in derivative.source
    assert "require_types" not in derivative.__wrapped__.__code__.co_names
    for args in PAIRS[:-1]:
        got, expected = slopes_of(derivative, product, args, (0, 1))
        assert got == pytest.approx(expected, rel=1e-6)


def test_a_saved_text_can_be_differentiated_again():
    text = tl.grad(shifted, wrt=(0, 1), example=(A, B)).source
    saved = loaded(text, "saved twice", {"np": np, "__name__": __name__})["shifted_grad"]

    def total(a, b):
        a_bar, b_bar = saved(a, b)
        return np.sum(a_bar * A) + np.sum(b_bar * B * b)

    tl.check_grads(total, (A, B))
    with pytest.raises((TypeError, tl.TangentlikeError), match="made for arguments of other types"):
        tl.grad(total)(A, 0.5)  # (by the check that is in the text)


def test_types_as_the_heads_of_texts_write_them():
    values = {
        "float": 0.5,
        "float[:]": A,
        "float[1]": B[:1],
        "float[?]": B[:1],
        "float[...]": M,
        "float[n, n]": M,
        "int": 3,
        "bool": True,
        "'same'": "same",
        "'a, b: [('": "a, b: [(",
        "None": None,
        "list[float]": [0.5, 1.5],
        "list[tuple[float, float[:]]]": [(0.5, A)],
        "dict(v: float[:], w: float)": {"v": A, "w": 0.5},
        "dict[float]": {"v": 0.5},
        "Layer(w: float[:], b: list[float])": Layer(A, [0.5]),
        "Other | Layer(w: float)": Layer(0.5, A),
        "function": np.sin,
        "numpy": np,
    }
    for (text, value), (other, _) in itertools.product(values.items(), repeat=2):
        require_types(f"x: {text}, y: float[n, m]", value, M)
        if other == text:
            continue
        try:
            require_types(f"x: {other}", value)
        except TypeError as error:
            assert f"it is for x: {other}, and is called with x: " in str(error)
        else:
            fits = {("float", "int"), ("float", "bool"), ("int", "bool"), ("function", "numpy")}
            assert (other, text) in fits or "[" in text


def test_forms_that_fitted_are_known_again_and_others_are_still_refused() -> None:
    types = "w: float[n, n], b: float[n], k: float"
    for _ in range(2):  # (the second call asks for nothing but the forms)
        require_types(types, np.eye(2), np.ones(2), 1)
        for wrong in [
            (np.eye(2), np.ones(3), 1),
            (np.eye(2), np.ones(2, complex), 1),
            (np.eye(1), np.ones(1), 1),
            (np.eye(2), np.ones(2), 1j),
            (np.eye(2), [1.0, 1.0], 1),
        ]:
            with pytest.raises(TypeError, match="arguments of other types"):
                require_types(types, *wrong)
