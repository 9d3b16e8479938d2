"""Texts that stand by themselves check the types of arguments that they were made for."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tangentlike as tl
from tangentlike.cli import main
from tangentlike.codegen.print.short_forms import fitting
from tangentlike.runtime import require_types
from tangentlike.runtime.stated_types import required_by
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
                if "this derivative was made for" not in str(error):
                    raise
                refused += 1
            else:
                served += 1
                assert got == pytest.approx(expected, rel=1e-6), (made_for, args)
    assert served
    assert refused or f in (of_pairs, powered)


def stored_entries(x, g):
    total = 0.0
    for i in range(x.shape[0]):
        total = total + np.sin(x[i]) * g
    return total


def kept_powers(x, g):
    return np.nanmean((x - g) ** 2)


def determined(x, g):
    return np.linalg.det(np.stack([x, x[::-1] + g]) @ np.stack([x, x[::-1] + g]).T)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("f", [stored_entries, kept_powers, determined])
def test_a_text_without_types_gives_integers_no_integers_for_derivatives(f, alone):
    """(A derivative itself refuses them.)"""
    args = (np.array([1, 2, -1]), 2)
    df = tl.grad(f, wrt=(0, 1))
    text = df.__tangentlike__.derive().standalone() if alone else df.source
    run = loaded(text, "saved", {"np": np, "__name__": __name__})[df.__name__]
    got, expected = slopes_of(lambda *_: run(*args), f, (args[0] * 1.0, 2.0), (0, 1))
    assert got == pytest.approx(expected, rel=1e-6)


def through_items(xs, s):
    rows = [xs[0], s]
    rows.append(rows[0] * s)
    xs[0] = xs[1] * s
    return sum(rows) + xs[0]


def test_a_text_without_types_that_finds_adjoints_by_identity_refuses_integers():
    """(Their adjoints were not found: the derivatives were 0.)"""
    df = tl.grad(through_items, wrt=(0, 1))
    run = loaded(df.source, "saved", {"np": np, "__name__": __name__})[df.__name__]
    assert "Shadow" in df.source and run([0.5, 2.0], 3.0) == ([4.0, 3.0], 3.5)
    for args in (([0.5, 2.0], 3), ([1, 2], 3.0), (np.array([1, 2]), 3.0)):
        with pytest.raises(TypeError, match="with respect to integers"):
            run(*args)


def weighted(w, x, k=2.0, *, s=0.5):
    return np.sum(np.tanh(x @ w) ** 2) * k + s * np.sum(w**3)


def saved(derivative: Any, folder: Any, monkeypatch: Any, name: str) -> Any:
    """The function in a file of the text."""
    (folder / f"{name}.py").write_text(derivative.source)
    monkeypatch.syspath_prepend(folder)
    return getattr(importlib.import_module(name), derivative.__name__)


def test_a_saved_text_that_is_read_again_checks_its_arguments_again(tmp_path, monkeypatch):
    x = np.random.default_rng(0).normal(size=(4, 3))
    gradient = tl.grad(weighted)
    expected = gradient(A, x)
    first = saved(gradient, tmp_path, monkeypatch, "saved_once")
    assert "@for_types('w: float[n], x: float[:, n], k, s: float')\n" in gradient.source
    assert np.array_equal(first(A, x), expected)
    assert np.array_equal(first(w=A, x=x, s=0.25), gradient(A, x, s=0.25))

    of_saved, own = tl.jacobian(first), tl.jacobian(gradient)
    np.testing.assert_allclose(of_saved(A, x), own(A, x), rtol=1e-12)
    step = 1e-6 * np.eye(3)
    slopes = [(first(A + d, x) - first(A - d, x)) / 2e-6 for d in step]
    np.testing.assert_allclose(of_saved(A, x), slopes, rtol=1e-6)

    def within(w, x):
        return np.sum(first(w, x) ** 2)

    second = tl.grad(within)
    np.testing.assert_allclose(second(A, x), 2.0 * own(A, x) @ expected, rtol=1e-12)
    second = saved(second, tmp_path, monkeypatch, "saved_twice")
    for run in (first, second, of_saved, within):
        with pytest.raises((TypeError, tl.UnsupportedError), match="arguments of other types"):
            run(A[:1], x[:, :1])


def test_the_check_of_a_standalone_file_is_the_same():
    values = (1, 2.5, 1j, np.float32(2.0), np.array(1.0), A[:1], A, A > 0.5, A[:2], M, M[:1], [0.3])
    texts = ("float", "int", "number", "float[]", "float[n]", "float[3]", "bool[:]", "float[n, ?]")
    for (one, other), (x, y) in itertools.product(
        itertools.product(texts, repeat=2), itertools.product(values, repeat=2)
    ):
        stated = f"a, b: {one}" if one == other else f"a: {one}, b: {other}"
        fits = eval(str(fitting(stated)), {"np": np}, {"a": x, "b": y})
        assert accepts(require_types, stated, x, y) == fits


def accepts(check: Any, *stated: Any) -> bool:
    try:
        check(*stated)
    except TypeError:
        return False
    return True


def test_what_no_type_changes_is_not_checked():
    def cubes(a, b):
        return np.sum(a**3) * 0.5

    derivative = tl.grad(cubes, example=(A, B))
    assert "for_types" not in derivative.source
    derivative = tl.grad(cubes)
    derivative(A, B)
    assert "for_types" not in derivative.source


def test_texts_in_this_process_check_nothing():
    derivative = tl.grad(product, wrt=(0, 1), example=(A, B))
    assert "for_types" in derivative.source
    assert not {"require_types", "for_types"} & set(derivative.__wrapped__.__code__.co_names)
    assert required_by(derivative.__wrapped__) == (derivative.__wrapped__, ())
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


OF_ANY_NUMBERS = """\
import numpy as np

def loss(x, y):
    z = x * y
    return np.abs(np.sum(z * z))

def nested(p, x):
    return np.sum(np.tanh(p["w"] * x)) + p["b"][0] * p["b"][1]

def starred(x, *more, k=2.0, **words):
    return np.sum(x**2) * k + np.sum(np.sin(more[0])) * words["u"]

def phases(x):
    return np.abs(np.sum(np.exp(1j * x)))
"""
Z = np.ones(2) + 0.5j
COMPLEX_CALLS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "loss": [((Z, B[:2]), {}), ((B[:2], Z), {}), ((1.0, 2j), {}), ((np.complex64(1.0), 2.0), {})],
    "nested": [
        (({"w": w, "b": [1.0, b]}, x), {}) for w, b, x in ((Z, 1, 2), (1, 1j, 2), (1, 1, Z))
    ],
    "starred": [
        *(((x, y), {"u": u}) for x, y, u in ((Z, 1.0, 1.0), (B, Z, 1.0), (B, 1.0, 1j))),
        ((B, 1.0, (2.0, [Z])), {"u": 1.0}),
        ((B, 1.0), {"u": 1.0, "k": 1j}),
    ],
}


@pytest.mark.parametrize("alone", [[], ["--standalone"]], ids=["imports", "alone"])
@pytest.mark.parametrize("name", ["loss", "nested", "starred", "phases"])
def test_files_for_any_arguments_refuse_complex_numbers_of_another_derivative(
    name: str, alone: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = f"{name}_{len(alone)}"
    (tmp_path / f"of_{file}.py").write_text(OF_ANY_NUMBERS)
    monkeypatch.syspath_prepend(tmp_path)
    order = ["grad", f"{tmp_path}/of_{file}.py:{name}", "-o", f"{tmp_path}/{file}.py", *alone]
    made = CliRunner().invoke(main, order)
    assert made.exit_code == 0, made.output
    derivative = getattr(importlib.import_module(file), f"{name}_grad")
    primal = getattr(importlib.import_module(f"of_{file}"), name)
    for args, words in COMPLEX_CALLS.get(name, []):
        with pytest.raises(TypeError, match="real"):
            derivative(*args, **words)
    if name == "phases":  # (its text allows for complex numbers)
        np.testing.assert_allclose(derivative(Z), tl.grad(primal)(Z))
        return
    calls: dict[str, Any] = {"nested": ({"w": A, "b": [1.0, 2.0]}, A), "starred": (A, B)}
    real, words = calls.get(name, (A, B)), {"u": 0.5} if name == "starred" else {}
    found, expected = derivative(*real, **words), tl.grad(primal)(*real, **words)
    agreement.map_leaves(np.testing.assert_allclose, expected, found)
    if not alone:
        again = tl.jvp(derivative, real, real)[1] if name == "loss" else None
        assert again is None or np.allclose(again, tl.jvp(tl.grad(primal), real, real)[1])
