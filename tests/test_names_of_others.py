"""What a function of the user's is called says nothing of what it does: `size` may be any function,
and `minus` may be `np.subtract`. Nor does the name of a user's file."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import tangentlike as tl
from tests.generator import arguments, check_program

WRITES_THROUGH_A_VIEW = """
def {name}(p, q=None):
    return np.sum(np.sin(p))

def program(a, b, m, s, t):
    q = np.asarray(a)
    q[1] = np.tanh(a[0])
    u = {name}(a)
    return u + b[1] * s
"""
READ_AFTERWARDS = """
def {name}(p, q=None):
    return p * p if q is None else q * p

def program(a, b, m, s, t):
    c = np.sin(a)
    for i in range(3):
        u = {name}(c, s)
        c[i] = u[i + 1] * {name}(c)[0]
    c[1:] = {name}(b)[1:]
    return np.sum(c) + t
"""
HANDS_ON = """
def {name}(xs, ys=None):
    xs.append(ys)
    return xs

def program(a, b, m, s, t):
    xs = [s * 2.0, t]
    ys = {name}(xs, a * s)
    for k in range(2):
        ys[k] = ys[k] * np.sin(b)
    u = np.sum(xs[0]) * xs[1]
    return np.sum(u * xs[-1]) + t
"""
NAMES = ("size", "shape", "len", "ndim", "zeros_like", "full_like", "unbroadcast", "reached")
COLLECTING = ("len", "sorted", "zip", "sum", "max", "enumerate", "print", "copy", "accumulate")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", [WRITES_THROUGH_A_VIEW, READ_AFTERWARDS])
def test_a_helper_of_the_name_of_a_function_that_asks_for_shapes(text, name):
    source = text.format(name=name)
    assert check_program(source, arguments(3)) == "agree"


@pytest.mark.parametrize("name", COLLECTING)
def test_a_helper_of_the_name_of_a_function_that_only_reads(name):
    assert check_program(HANDS_ON.format(name=name), arguments(3)) == "agree"


@pytest.mark.parametrize(
    "source",
    [
        """
from numpy import subtract as minus

def program(a, b, m, s, t):
    q = np.atleast_1d(a)
    minus.at(q, [0, 1, 1], b[:3] * s)
    return np.sum(a * b) + np.sum(np.sin(q))
""",
        """
from numpy.fft import rfft as turned, irfft as back

def program(a, b, m, s, t):
    c = turned(a * s)
    c[1] = c[0] * t
    d = back(c)
    d += b * np.sum(d)
    return np.sum(d * np.sin(d)) + np.sum(a * b)
""",
        """
from numpy import add as subtract

def program(a, b, m, s, t):
    q = np.atleast_1d(a)
    subtract.at(q, [0, 1, 1], b[:3] * s)
    return np.sum(a * b) + np.sum(np.sin(q))
""",
    ],
    ids=["minus", "turned", "subtract"],
)
def test_a_function_of_numpy_under_another_name(source):
    assert check_program(source, arguments(3)) == "agree"
    assert check_program(source, arguments(3), order=2) == "agree"


def test_a_file_with_the_name_of_a_module_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`nt` is a module of Python on other systems: its classes were taken for machinery, which
    carries no derivative."""
    (tmp_path / "nt.py").write_text(
        "from typing import NamedTuple\n\n\nclass State(NamedTuple):\n    x: float\n    v: float\n\n\n"
        "def energy(s):\n    return s.x**2 + 3.0 * s.v\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "nt", raising=False)
    module: Any = importlib.import_module("nt")
    try:
        assert tl.grad(module.energy)(module.State(2.0, 1.0)) == (4.0, 3.0)
    finally:
        del sys.modules["nt"]
