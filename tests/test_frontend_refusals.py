"""What the frontend refuses: each with its place, its caret, and what to do instead."""

from __future__ import annotations

import linecache
import textwrap

import numpy as np
import pytest

import tangentlike as tl
from tangentlike import UnsupportedError
from tangentlike.errors import InternalError
from tangentlike.frontend.lower import lower, lower_nested, program, read_function

REFUSED = {
    "while x:\n    try:\n        y = 1\n    finally:\n        break": (
        "a jump out of `finally`",
        None,
    ),
    "try:\n    y = 1\nexcept ValueError as e:\n    y = e.value": (
        "a value inside the caught exception `e` is used",
        None,
    ),
    "global y\nfor y in x:\n    pass": ("`y` is defined outside the function", "y"),
    "nonlocal y\ny, z = x": ("`y` is defined outside the function", "y"),
    "def g(v):\n    global a\n    a = v\ng(x)": (
        "an inner function declares `a` global",
        "global a",
    ),
    "def g(x):\n    return x\ny = g(x, 2)": ("the arguments do not fit", "g(x, 2)"),
    "class C:\n    w = x": ("a class defined inside", None),
    "async def g(x):\n    return x": ("asynchronous", None),
    "a, *b, c = (x,)": ("1 values are too few for 2 targets", None),
    "y = x + (yield x)": ("a generator", None),
    "y = [1 for v in x if (yield v)]": ("a generator", None),
    "y = await x": ("`await`", None),
    "del x.a": ("`del` of an attribute", "x.a"),
    "a, b = x, y, z": ("3 values cannot be unpacked into 2", None),
    "np.random.seed = x": ("writing to `np.random.seed`", "np.random.seed"),
    "y = np.tahn(x)": ("`np` has no attribute `tahn`", "np.tahn"),
    "y = np.no_such_function(x)": ("`np` has no attribute `no_such_function`", None),
    "y = locals()": ("`locals` depends on the function", "locals()"),
    "y = super().f(x)": ("`super()` without arguments", "super()"),
    "a = 1\ng = (v + a for v in x)\na = 2\nb = sum(g)": (
        "a generator uses `a`",
        "(v + a for v in x)",
    ),
}


@pytest.mark.parametrize("text", REFUSED, ids=[t.split("\n")[0] for t in REFUSED])
def test_refused(text: str) -> None:
    message, marked = REFUSED[text]
    with pytest.raises(UnsupportedError) as info:
        lower_nested(read_function(_function(text)))
    error = info.value
    assert message in error.message
    assert error.hint
    assert error.place is not None
    assert error.place.line >= 2
    if marked is not None:
        place = error.place
        assert place.text[place.column : place.column + place.width] == marked


def _function(text: str) -> str:
    return "def f(x, y, z, a, p):\n" + textwrap.indent(text, "    ")


def test_names_must_exist() -> None:
    with pytest.raises(UnsupportedError) as info:
        read_function("def f(x):\n    return x * missing(x)", {}, "model.py")
    assert str(info.value).splitlines()[:3] == [
        "model.py:2: name `missing` is not defined",
        "    return x * missing(x)",
        "               ^^^^^^^",
    ]


def test_one_function_is_wanted() -> None:
    with pytest.raises(InternalError, match="2 functions"):
        read_function("def f(x): return x\ndef g(x): return x")


def test_deep_expressions_are_refused_not_crashed() -> None:
    code = "def f(x):\n    return " + " + ".join(["x"] * 900) + "\n"
    linecache.cache["<deep>"] = (len(code), None, code.splitlines(True), "<deep>")
    names: dict[str, object] = {}
    exec(compile(code, "<deep>", "exec"), names)
    with pytest.raises(UnsupportedError, match="nested too deeply"):
        lower(names["f"])  # type: ignore[arg-type]


def test_unused_reading_of_programs() -> None:
    assert program("t = u; v = t + np.pi; v += w").param_names == ("u", "w")


def test_what_has_no_rule_and_is_unpacked_is_refused_in_words() -> None:
    signal = pytest.importorskip("scipy.signal")

    def unpacked(x):
        places, powers = signal.vectorstrength(x, np.array([2.0, 3.0]))
        return places @ powers

    with pytest.raises(UnsupportedError, match="no derivative rule for signal.vectorstrength"):
        tl.grad(unpacked)(np.array([0.3, 0.7, 1.2]))


def test_a_zip_by_a_name_that_is_unpacked() -> None:
    def unpacked(x):
        pairs = zip(x, x**2)
        first, second = pairs
        return first[0] * second[1]

    tl.check_grads(unpacked, (np.array([0.3, 0.7]),), order=2)
