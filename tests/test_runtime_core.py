"""The functions emitted code calls: shapes of adjoints, zeros, seeds, accumulation, copies."""

from __future__ import annotations

import numpy as np
import pytest

from tangentlike import runtime


def test_unbroadcast():
    g = np.ones((2, 3))
    assert runtime.unbroadcast(g, g * 2) is g
    assert runtime.unbroadcast(1.5, 2.0) == 1.5
    assert runtime.unbroadcast(g, 2.0) == 6.0 and type(runtime.unbroadcast(g, 2.0)) is float
    assert runtime.unbroadcast(g, np.ones(3)).tolist() == [2, 2, 2]
    assert runtime.unbroadcast(g, np.ones((2, 1))).tolist() == [[3], [3]]
    assert runtime.unbroadcast(g, np.ones((1, 3))).shape == (1, 3)
    assert isinstance(runtime.unbroadcast(g, np.array(1.0)), np.ndarray)
    assert runtime.unbroadcast(g, np.ones(3, np.float32)).dtype == np.float32
    assert runtime.unbroadcast(g + 1j, np.ones(3)).dtype == float
    assert runtime.unbroadcast(2 + 1j, 1.0) == 2.0
    assert runtime.unbroadcast(np.arange(3.0), [1.0, 2.0, 3.0]) == [0, 1, 2]
    assert type(runtime.unbroadcast(g, np.float32(1))) is np.float32
    with pytest.raises(TypeError, match="list"):
        runtime.unbroadcast([1.0], 2.0)
    with pytest.raises(ValueError, match="does not fit"):
        runtime.unbroadcast(1.0, g)


def test_zeros_and_ones_follow_structure():
    x = {"w": np.ones((2, 2), np.float32), "b": [1.0, 2], "n": (3, "text"), "i": np.arange(2)}
    zero = runtime.zeros_like(x)
    assert zero["w"].dtype == np.float32 and zero["b"] == [0.0, 0.0] and zero["n"] == [0.0, 0.0]
    assert zero["i"].dtype == float
    assert runtime.ones_like([2.0, np.zeros(2)])[1].tolist() == [1, 1]
    assert runtime.accumulate(zero, runtime.ones_like(x))["b"] == [1.0, 1.0]


def test_scalar_seed():
    assert runtime.scalar_seed(2.0) == 1.0
    assert runtime.scalar_seed(np.float32(2)).dtype == np.float32
    assert runtime.scalar_seed(np.array(2.0)).shape == ()
    for wrong, word in ((np.ones(3), r"\(3,\)"), (1j, "complex"), ([1.0], "list")):
        with pytest.raises(ValueError, match=word):
            runtime.scalar_seed(wrong)


def test_add_at_counts_repeats():
    x_bar = np.zeros(4)
    runtime.add_at(x_bar, np.array([1, 1, -1]), np.array([1.0, 2.0, 4.0]))
    assert x_bar.tolist() == [0, 3, 0, 4]
    table = np.zeros((3, 2, 2))
    rows = np.array([[0, 2], [-1, 0]])
    g = np.arange(16.0).reshape(2, 2, 2, 2)
    expected = table.copy()
    np.add.at(expected, rows, g)
    assert np.array_equal(runtime.add_at(table, rows, g), expected)
    assert runtime.add_at({"a": 1.0}, "a", 2.0) == {"a": 3.0}
    assert runtime.add_at(np.zeros((2, 2)), (slice(None), 0), 1.0).tolist() == [[1, 0], [1, 0]]
    assert runtime.add_at(np.zeros(3), np.array([True, False, True]), 1.0).tolist() == [1, 0, 1]
    twice = runtime.add_at(np.zeros((2, 3)), (slice(None), [0, 0]), np.ones((2, 2)))
    assert twice.tolist() == [[2, 0, 0], [2, 0, 0]]


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[::2],
        lambda a: a[:, ::-1],
        lambda a: a[::-2, 1:],
        lambda a: a[:, 1],
    ],
)
def test_copies_keep_the_layout(view):
    x = view(np.arange(24.0).reshape(6, 4))
    y = runtime.copy(x)
    assert np.array_equal(x, y) and x.strides == y.strides and not np.shares_memory(x, y)
    assert np.shares_memory(x.ravel(), x) == np.shares_memory(y.ravel(), y)


def test_zeros_of_the_views_of_a_dict():
    named = {"u": 1.5, "w": np.ones(2)}
    assert list(runtime.shared_zeros(named.keys())) == [0.0, 0.0]
    assert runtime.zeros_like(named.values())[1].tolist() == [0.0, 0.0]
