"""Adjoints by identity of arrays that are not NumPy's, and are never made NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import register_array_module
from tangentlike.runtime import Shadow
from tests import agreement
from tests.strict_array import StrictArray, from_strict, to_strict, xp
from tests.test_strict_array import holds_only_strict, leaves

register_array_module(xp)

A = np.array([0.7, -0.4, 1.3])
B = np.array([0.2, 0.9, -0.6])
M = np.array([[0.3, -0.8, 0.5], [1.1, 0.4, -0.2], [0.6, 0.1, 0.9]])


def check(f: Any, *args: Any, orders: int = 1) -> Any:
    """Compare the gradient on strict arrays with differences, and with what forward mode finds;
    its second derivative, in both modes, with differences of the gradient."""
    wrt = tuple(range(len(args)))
    gradient = tl.grad(f, wrt=wrt)
    found = gradient(*to_strict(args))
    assert holds_only_strict([g for g in found if not isinstance(g, float)])
    assert "Shadow()" in gradient.source
    v = agreement.directions_for(args, wrt, 3)
    slope = agreement.slope(lambda *given: float(f(*to_strict(given))), args, v, 1e-5)
    assert agreement.close(agreement.inner(v, leaves(from_strict(found))), slope, 1e-6)
    _, tangent = tl.jvp(f, to_strict(args), to_strict(tuple(v)))
    assert agreement.close(float(tangent), slope, 1e-6)
    if orders == 2:
        _, change = tl.jvp(gradient, to_strict(args), to_strict(tuple(v)))
        u = agreement.directions_for(args, wrt, 4)
        given = [from_strict(gradient(*to_strict(moved(args, v, h)))) for h in (1e-5, -1e-5)]
        ends = [agreement.inner(u, leaves(g)) for g in given]
        curvature = (ends[0] - ends[1]) / 2e-5
        assert agreement.close(agreement.inner(u, leaves(from_strict(change))), curvature, 1e-6)
        again = from_strict(tl.vjp(gradient, *to_strict(args))[1](to_strict(tuple(u))))
        assert agreement.close(agreement.inner(v, leaves(again)), curvature, 1e-6)
    return gradient


def moved(args: Any, direction: Any, h: float) -> Any:
    return tuple(x + h * d for x, d in zip(args, direction, strict=True))


def test_rows_under_two_lists() -> None:
    def f(a, b):
        rows = [a * 1.5, b * a]
        others = [rows[1], rows[0], rows[1]]
        for row in others:
            row *= b
        rows.insert(0, others.pop())
        rows[0][1] = rows[1][2] * 2.0
        return xp.sum(rows[0] * rows[1] * rows[2])

    check(f, A, B, orders=2)


def test_views_of_views() -> None:
    def f(m, b):
        corners = [m.T[::-1][0:2], m]
        again = corners
        again[0][0] *= b[:3]
        flat = again[1].reshape(-1)
        flat[4] = flat[3] * b[1]
        entry = flat[2]  # (a view, where arrays are not NumPy's)
        flat[2:4] = entry * b[:2]
        return xp.sum(corners[0] * m[:, 1:].T) + xp.sum(m**2)

    check(f, M, B, orders=2)


def test_repeated_entries_and_broadcast_views() -> None:
    def f(a, b):
        rows = [a * b, a]
        others = rows
        others[0][xp.asarray([0, 0, 2])] = b
        wide = xp.broadcast_to(rows[1], (4, 3))
        rows[0][:] = xp.sum(wide * wide, axis=0) * b
        return xp.sum(others[0] * rows[1] * wide) * xp.sum(a[xp.asarray([1, 1])])

    check(f, A, B, orders=2)


def test_complex_memory_by_its_parts() -> None:
    def f(a, b):
        parts = [a + 1j * b, a]
        z = parts[0]
        part = z.imag
        part[:] = part * a
        z.real[1] = b[0]
        return xp.sum(xp.abs(parts[0]) ** 2 * parts[1])

    check(f, A, B, orders=2)


def test_the_shadow_of_a_view_is_a_view_of_the_shadow() -> None:
    bars, m = Shadow(), to_strict(M)
    bars.add(m[::-1, 1:].T, to_strict(np.ones((2, 3))))
    row = bars.of(m)
    assert isinstance(row, StrictArray)
    row[0, 1] += 5.0
    assert from_strict(bars.of(m.T)[1]).tolist() == [6.0, 1.0, 1.0]
    assert from_strict(bars.take(m[1])).tolist() == [0.0, 1.0, 1.0]
    windows = xp.lib.stride_tricks.sliding_window_view(m[0], 2)
    bars.take(m)
    bars.add(windows, to_strict(np.ones((2, 2))))
    assert from_strict(bars.of(m[0])).tolist() == [1.0, 2.0, 1.0]


def test_arrays_that_do_not_say_where_they_are_are_refused() -> None:
    class Bare:
        shape = property(lambda self: (1,))
        dtype = property(lambda self: np.dtype(float))
        ndim = property(lambda self: 1)
        size = property(lambda self: 1)

        def __getitem__(self, key: Any) -> Any:
            return self

    with pytest.raises(TypeError, match="Bare is not found by its memory"):
        Shadow().of(Bare())
