"""Complex numbers of which no text and no argument tells: what lies outside became complex after
the derivative was made, or an object holds some."""

from __future__ import annotations

import types
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

import tangentlike as tl

X = np.array([0.3, -0.7, 1.1])
SCALE: Any = 2.0
WEIGHTS: Any = np.ones(3)
TABLE: dict[str, Any] = {"k": 2.0}
ITEMS: list[Any] = [2.0, 1.0]
CONFIG = types.SimpleNamespace(k=2.0)


class Settings:
    k: Any = 2.0


class Layer:
    def __init__(self, k: Any) -> None:
        self.k = k

    def __call__(self, x: Any) -> Any:
        return x**2 * self.k + x


LAYER = Layer(2.0)


def squared(y: Any) -> Any:
    return np.abs(np.sum(y)) ** 2


def by_name(x: Any) -> Any:
    return squared(x**2 * SCALE * x[::-1] + x)


def by_array(x: Any) -> Any:
    return squared(x**2 * WEIGHTS + x)


def by_key(x: Any) -> Any:
    return squared(x**2 * TABLE["k"] + x)


def by_items(x: Any) -> Any:
    y = 0.0
    for v in ITEMS:
        y = y + np.sum(x**2 * v + x)
    return np.abs(y) ** 2


def by_attribute(x: Any) -> Any:
    return squared(x**2 * CONFIG.k + x)


def by_class(x: Any) -> Any:
    return squared(x**2 * Settings.k + x)


def by_object(x: Any) -> Any:
    return squared(LAYER(x))


CHANGES: dict[Any, tuple[Any, Any]] = {
    by_name: (globals(), "SCALE"),
    by_array: (globals(), "WEIGHTS"),
    by_key: (TABLE, "k"),
    by_items: (ITEMS, 1),
    by_attribute: (vars(CONFIG), "k"),
    by_class: (Settings, "k"),
    by_object: (vars(LAYER), "k"),
}


def differences(f: Any, x: Any) -> Any:
    return np.array([(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(len(x))])


@pytest.mark.parametrize("f", CHANGES, ids=lambda f: f.__name__)
def test_what_lies_outside_becomes_complex(f: Any) -> None:
    holder, key = CHANGES[f]
    old = getattr(holder, key) if isinstance(holder, type) else holder[key]
    gradient, value = tl.grad(f), tl.value_and_grad(f)
    for k in (old, old * (1.5 + 0.5j), old):
        setattr(holder, key, k) if isinstance(holder, type) else holder.__setitem__(key, k)
        expected = pytest.approx(differences(f, X), rel=1e-5)
        assert gradient(X) == expected
        assert gradient(X) == expected  # (a call like the one before)
        assert value(X)[1] == expected
        assert tl.vjp(f, X)[1](1.0)[0] == expected
        assert tl.jacrev(f)(X) == expected
        tangents = [tl.jvp(f, (X,), (e,))[1] for e in np.eye(3)]
        assert np.array(tangents) == expected


def test_another_closure_of_the_same_code() -> None:
    def made() -> Any:
        k: Any = 2.0

        def f(x: Any) -> Any:
            return squared(x**2 * k + x)

        def put(v: Any) -> None:
            nonlocal k
            k = v

        return f, put

    for k in (2.0, 2.0 + 1.0j, 3.0):
        f, put = made()
        gradient = tl.grad(f)
        gradient(X)
        put(k)
        assert gradient(X) == pytest.approx(differences(f, X), rel=1e-5)


def test_second_order() -> None:
    layer = Layer(2.0)

    def f(x: Any) -> Any:
        return np.sum(tl.grad(lambda x: squared(layer(x)))(x) ** 2)

    gradient = tl.grad(f)
    for k in (2.0, 2.0 + 1.0j):
        layer.k = k
        assert gradient(X) == pytest.approx(differences(f, X), rel=1e-5)


def test_libraries_and_objects_that_are_called() -> None:
    layer = Layer(2.0 + 1.0j)

    def transformed(x: Any) -> Any:
        return np.sum(np.abs(scipy.linalg.dft(3) @ x * x[0]) ** 2)

    for f in (lambda x: squared(layer(x)), transformed):
        assert tl.grad(f)(X) == pytest.approx(differences(f, X), rel=1e-5)


def test_a_complex_value_has_a_pullback() -> None:
    layer = Layer(2.0 + 1.0j)

    def f(x: Any) -> Any:
        return layer(x)

    seed = np.array([1.0 + 0.5j, -0.3j, 0.7])
    value, pullback = tl.vjp(f, X)
    assert np.allclose(value, layer(X))
    expected = np.real(np.conj(2.0 * X * layer.k + 1.0) * seed)
    assert pullback(seed)[0] == pytest.approx(expected, rel=1e-12)


def test_what_cannot_begin_again_is_refused() -> None:
    def f(x: Any, numbers: Any) -> Any:
        return squared(x**2 * next(numbers) + x)

    assert np.allclose(tl.grad(f)(X, iter([2.0])), differences(lambda x: f(x, iter([2.0])), X))
    with pytest.raises(tl.TangentlikeError, match="a value in f is complex, though no argument is"):
        tl.grad(f)(X, iter([2.0 + 1.0j]))


# ------------------------------------------------------------------ arguments read entry by entry


def by_entries(x: Any) -> Any:
    return np.abs(x[0] * x[1] * SCALE + x[2]) ** 2


def by_rounds(x: Any) -> Any:
    y = 0.0
    for k in range(3):
        y = y + x[k] ** 2 * CONFIG.k
    return np.abs(y + x[0]) ** 2


def by_slices(x: Any) -> Any:
    y = 0.0
    for k in range(2):
        y = y + np.sum(np.abs(x[k : k + 2] * TABLE["k"] + x[0]) ** 2)
    return y


def by_unpacking(x: Any) -> Any:
    a, b, c = x
    return np.abs(a * b * LAYER.k + c) ** 2


def by_store(x: Any) -> Any:
    y = np.zeros(3) * Settings.k
    y[1:] = x[1:] ** 2 * Settings.k
    y[:2] += x[:2]
    return np.sum(np.abs(y) ** 2)


ENTRIES: dict[Any, tuple[Any, Any]] = {
    by_entries: (globals(), "SCALE"),
    by_rounds: (vars(CONFIG), "k"),
    by_slices: (TABLE, "k"),
    by_unpacking: (vars(LAYER), "k"),
    by_store: (Settings, "k"),
}


def second_differences(f: Any, x: Any) -> Any:
    steps = 1e-4 * np.eye(len(x))
    rows = [
        [f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b) for a in steps] for b in steps
    ]
    return np.array(rows) / 4e-8


@pytest.mark.parametrize("shown", ["ignore", "default", "error"])
@pytest.mark.parametrize("f", ENTRIES, ids=lambda f: f.__name__)
def test_entries(f: Any, shown: Any) -> None:
    holder, key = ENTRIES[f]
    old = getattr(holder, key) if isinstance(holder, type) else holder[key]
    gradient, hessian = tl.grad(f), tl.hessian(f)
    with warnings.catch_warnings():
        warnings.simplefilter(shown, np.exceptions.ComplexWarning)
        for k in (old, old * (1.5 + 0.5j), old):
            setattr(holder, key, k) if isinstance(holder, type) else holder.__setitem__(key, k)
            expected = pytest.approx(differences(f, X), rel=1e-5)
            assert gradient(X) == expected
            assert gradient(X) == expected  # (a call like the one before)
            assert tl.grad(f)(X) == expected
            assert tl.jacrev(f)(X) == expected
            twice = pytest.approx(second_differences(f, X), rel=1e-4, abs=1e-5)
            assert hessian(X) == twice
            assert tl.hessian(f)(X) == twice
            assert tl.jacrev(tl.grad(f))(X) == twice


def of_file(x: Any, path: Any) -> Any:
    return np.sum(np.abs(np.load(path) * x[0] + x[1] * x[2]) ** 2)


def of_filter(x: Any) -> Any:
    _, response = scipy.signal.freqz(np.array([1.0, 0.5]), worN=4)
    return np.sum(np.abs(response * x[0] + x[1] * x[2]) ** 2)


def of_roots(x: Any) -> Any:
    roots = np.roots([1.0, 0.0, 1.0])
    return np.abs(roots[0] * x[0] * x[2] + x[1]) ** 2


def test_results_of_libraries(tmp_path: Any) -> None:
    path = tmp_path / "complex.npy"
    np.save(path, np.array([1.0j, 2.0 + 1.0j]))
    for f in (lambda x: of_file(x, path), of_filter, of_roots):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            assert tl.grad(f)(X) == pytest.approx(differences(f, X), rel=1e-5)
            twice = pytest.approx(second_differences(f, X), rel=1e-4, abs=1e-5)
            assert tl.hessian(f)(X) == twice


# ----------------------------------------------------- in programs with complex numbers already


def waves_by_name(x: Any) -> Any:
    return np.sum(np.abs((x**2 * 1j + x * SCALE) * SCALE) ** 2)


def waves_by_array(x: Any) -> Any:
    return np.sum(np.abs((x**2 * 1j + x * WEIGHTS) * WEIGHTS) ** 2)


def waves_by_class(x: Any) -> Any:
    return np.sum(np.abs((x**2 * 1j + x * Settings.k) * Settings.k) ** 2)


def waves_by_key(x: Any) -> Any:
    return np.sum(np.abs((x**2 * 1j + x * TABLE["k"]) * TABLE["k"]) ** 2)


def scaled(z: Any) -> Any:
    return z**2 * SCALE + z


def waves_by_helper(x: Any) -> Any:
    return np.sum(np.abs(scaled(x * 1j + x)) ** 2)


def waves_by_entries(x: Any) -> Any:
    return np.abs((x[0] ** 2 * 1j + x[1] * SCALE) * SCALE) ** 2 + np.sum(np.abs(x * SCALE))


def waves_by_cell() -> tuple[Any, Any]:
    k: Any = 2.0

    def waves(x: Any) -> Any:
        return np.sum(np.abs((x**2 * 1j + x * k) * k) ** 2)

    def put(value: Any) -> None:
        nonlocal k
        k = value

    return waves, put


CELL, put_in_cell = waves_by_cell()
WAVES: dict[Any, Any] = {
    waves_by_name: lambda k: globals().update(SCALE=k),
    waves_by_array: lambda k: globals().update(WEIGHTS=np.ones(3) * k),
    waves_by_class: lambda k: setattr(Settings, "k", k),
    waves_by_key: lambda k: TABLE.update(k=k),
    waves_by_helper: lambda k: globals().update(SCALE=k),
    waves_by_entries: lambda k: globals().update(SCALE=k),
    CELL: put_in_cell,
}


@pytest.mark.parametrize("f", WAVES, ids=lambda f: f.__name__)
def test_real_data_becomes_complex_too(f: Any) -> None:
    put = WAVES[f]
    put(2.0)
    gradient, hessian = tl.grad(f), tl.hessian(f)
    try:
        for k in (2.0, 2.0 + 1.5j, 1.0):
            put(k)
            expected = pytest.approx(differences(f, X), rel=1e-5)
            assert gradient(X) == expected
            assert tl.vjp(f, X)[1](1.0)[0] == expected
            assert np.array([tl.jvp(f, (X,), (e,))[1] for e in np.eye(3)]) == expected
            twice = pytest.approx(second_differences(f, X), rel=1e-4, abs=2e-5)
            assert hessian(X) == twice
            assert tl.jacrev(gradient)(X) == twice
    finally:
        put(np.ones(3) if f is waves_by_array else 2.0)
