"""Activity: which names carry derivatives, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike.runtime as runtime
from tangentlike.analysis.activity import active_names, refuse_unknown
from tangentlike.analysis.kinds import infer_kinds
from tangentlike.errors import UnsupportedError
from tangentlike.frontend.lower import lower
from tangentlike.ir.kind import INT, Kind
from tangentlike.rules.book import default_book


def active(f: Any, *wrt: str, targets: Any = (), **given: Kind) -> set[str]:
    function = lower(f).function
    kinds = infer_kinds(function, given, default_book())
    return set(active_names(function, wrt, kinds, default_book(), targets))


def refusal(f: Any, *wrt: str) -> str:
    function = lower(f).function
    kinds = infer_kinds(function, {}, default_book())
    found = active_names(function, wrt, kinds, default_book(), ())
    with pytest.raises(UnsupportedError) as caught:
        refuse_unknown(function, found, default_book(), kinds, wrt)
    return str(caught.value)


ARRAY = Kind("array", "float")


def test_varied_and_useful() -> None:
    def f(x, y):
        a = np.sin(x)  # varied and useful
        b = np.cos(y)  # not varied
        c = np.exp(x)  # not useful
        print(c)
        n = x.shape[0]
        return a * b * n

    found = active(f, "x")
    assert {"x", "a"} <= found and not found & {"b", "c", "n", "y"}


def test_integers_comparisons_and_constants_are_inactive() -> None:
    def f(x, k):
        flag = x > 0
        j = int(x[0])
        z = np.zeros_like(x)
        c = runtime.stop_gradient(x)
        return x[k] * flag[0] * j + z[0] + c[0]

    found = active(f, "x", "k", k=INT)
    assert "x" in found and not found & {"k", "flag", "j", "z", "c"}


def test_a_write_makes_the_array_and_its_views_active() -> None:
    def f(x):
        a = np.zeros((3, 3))
        row = a[1]
        row[0] = x
        other = a.T
        return other[0, 1]

    assert {"a", "row", "other"} <= active(f, "x")


def test_reading_a_view_does_not_make_its_base_active() -> None:
    def f(x, data):
        row = data[0]
        return np.sum(row * x)

    assert not {"data", "row"} & active(f, "x", x=ARRAY, data=ARRAY)


def test_a_value_stored_in_an_array_is_copied() -> None:
    def f(x, data):
        a = np.zeros((2, 3))
        a[0] = data
        a[1] = x
        return np.sum(a)

    assert "data" not in active(f, "x", x=ARRAY, data=ARRAY)


def test_lists_carry_what_is_put_in() -> None:
    def f(x, data):
        xs = [data]
        xs.append(x)
        y = xs.pop()
        return y

    found = active(f, "x", data=ARRAY, x=ARRAY)
    assert {"xs", "y"} <= found and "data" not in found


def test_writing_an_element_shows_in_what_was_put_in() -> None:
    def f(x, data):
        rows = [data]
        row = rows[0]
        row[0] = x
        return data[0]

    assert {"data", "row", "rows"} <= active(f, "x", data=ARRAY)


def test_loops_carry_dependence_backwards_in_the_text() -> None:
    def f(x, n):
        a = 0.0
        b = 0.0
        for _ in range(n):
            a = a + b
            b = x * 2.0
        return a

    assert {"a", "b"} <= active(f, "x")


def test_loop_variables_follow_their_iterables() -> None:
    def f(xs, ys):
        s = 0.0
        for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
            s = s + x * y * i
        return s

    found = active(f, "xs")
    assert "x" in found and not {"y", "i", "ys"} & found


def helper(a: Any, v: Any) -> Any:
    a[0] = v
    return v


def test_an_unknown_callee_may_write_its_arguments() -> None:
    def f(x, a):
        helper(a, x)
        return a[0]

    assert "a" in active(f, "x", a=ARRAY)


def test_effects_on_parameters_count_where_they_are_asked_for() -> None:
    def f(a, x):
        a[0] = x

    assert active(f, "x", targets=None, a=ARRAY) == {"a", "x"}
    assert active(f, "x", targets=(), a=ARRAY) == set()


def test_unknown_operation_is_refused_with_reason_and_place() -> None:
    def f(x):
        a = np.sin(x)
        return np.convolve(a, a)

    if default_book().find(np.convolve) is not None:
        pytest.skip("convolve has a rule now")
    message = refusal(f, "x")
    assert "no derivative rule for np.convolve" in message
    assert "^^^" in message and "`a` is active because it depends on `x`" in message
    assert "@tl.rule(np.convolve)" in message


def test_opaque_code_on_the_way_is_refused() -> None:
    def f(x):
        ys = {v * v for v in x}
        return sum(ys)

    assert "not differentiated" in refusal(f, "x")


def test_opaque_code_off_the_way_is_fine() -> None:
    def f(x):
        message = f"{x}"
        print(message, [v + 1 for v in x])
        assert x is not None, "x"
        return x[0]

    function = lower(f).function
    kinds = infer_kinds(function, {}, default_book())
    found = active_names(function, ("x",), kinds, default_book(), ())
    refuse_unknown(function, found, default_book(), kinds, ("x",))


def test_writing_behind_stop_gradient_is_refused() -> None:
    def f(x):
        y = runtime.stop_gradient(x)
        y[0] = 2.0
        return np.sin(x)

    with pytest.raises(UnsupportedError, match="shares its memory"):
        active(f, "x", x=ARRAY)
