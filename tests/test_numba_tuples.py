"""`target="numba"`: tuples, named ones too, by which a derivative is taken or that are made of
what it is taken by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tangentlike as tl
from tests.processes import python

numba = pytest.importorskip("numba")
# (Each compilation takes a second.)
pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("compiled_apart")]


class State(NamedTuple):
    x: float
    v: float


class Rates(NamedTuple):
    growth: float
    death: float


class Layer(NamedTuple):
    w: Any
    b: float
    steps: int
    start: State


class Root(NamedTuple):
    value: float
    count: int
    found: bool


def slope(s, p):
    return State(p.growth * s.x - s.x * s.v, s.x * s.v - p.death * s.v)


def heun(s, p, h):
    k = slope(s, p)
    end = slope(State(s.x + h * k.x, s.v + h * k.v), p)
    return State(s.x + 0.5 * h * (k.x + end.x), s.v + 0.5 * h * (k.v + end.v))


def predators(s, p, n):
    total = 0.0
    for _ in range(n):
        s = heun(s, p, 0.1)
        total += s.x * s.v
    return total


def layered(p, x):
    s = p.start
    for _ in range(p.steps):
        s = State(s.v * np.sum(np.tanh(p.w * x)), s.x + p.b)
    return s.x * s.v


def best_of(q, k):
    best = State(0.0, 0.0)
    for i in range(len(q)):
        s = State(q[i], q[i] * k)
        if s.x * s.v > best.x * best.v:
            best = s
    return best.x + best.v


def in_list(s, h):
    states = [s]
    for _ in range(4):
        s = states[-1]
        states.append(State(s.x + h * s.v, s.v - h * s.x))
    total = states.pop().x * states.pop().v
    for s in states:
        total += s.x * s.v
    return total


def newton(a, x):
    k = 0
    while abs(x * x - a) > 1e-12 and k < 50:
        x = x - (x * x - a) / (2 * x)
        k += 1
    return Root(x, k, k < 50)


def of_solver(a):
    r = newton(a, 1.0)
    return r.value * r.count if r.found else 0.0


def exchanged(s, n):
    t = State(s.v, 2.0 * s.x)
    for i in range(n):
        s, t = t, s
        if i > 0:
            t = State(t.x * s.v, t.v)
    return s.x * s.v + t.x


def of_plain_tuples(p, x):
    w, (a, b) = p
    pair = (np.sum(w * x), a)
    return pair[0] * pair[1] + b * pair[-1]


def written_inside(p, x):
    p[0][1:] += x[1:] * p[1]
    return np.sum(p[0] * p[0] * x)


VECTOR = np.array([0.3, 0.8, 0.5])
CASES: list[tuple[Callable[..., Any], Any, tuple[Any, ...]]] = [
    (predators, (0, 1), (State(1.2, 0.4), Rates(1.1, 0.6), 7)),
    (layered, (0, 1), (Layer(VECTOR, 0.4, 3, State(0.7, 1.1)), VECTOR + 0.1)),
    (best_of, (0, 1), (VECTOR, 1.3)),
    (in_list, (0, 1), (State(1.2, 0.4), 0.2)),
    (of_solver, 0, (2.0,)),
    (exchanged, 0, (State(1.2, 0.4), 5)),
    (of_plain_tuples, (0, 1), ((VECTOR, (0.4, 0.9)), VECTOR + 0.1)),
    (written_inside, (0, 1), ((VECTOR, 0.4), VECTOR + 0.1)),
]


def leaves(x: Any) -> list[Any]:
    if isinstance(x, tuple):
        return [leaf for item in x for leaf in leaves(item)]
    return [] if x is None else [np.asarray(x)]


def moved(x: Any, h: float) -> Any:
    if isinstance(x, tuple):
        items = [moved(item, h) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    return x if isinstance(x, int) else x + h


@pytest.mark.parametrize(
    ("fn", "wrt", "args"), CASES, ids=lambda case: getattr(case, "__name__", "")
)
def test_gradients(fn: Any, wrt: Any, args: tuple[Any, ...]) -> None:
    value, found = tl.value_and_grad(fn, wrt, target="numba")(*args)
    expected, wanted = tl.value_and_grad(fn, wrt)(*args)
    assert value == pytest.approx(expected, rel=1e-12)
    found, wanted = (found, wanted) if isinstance(wrt, tuple) else ((found,), (wanted,))
    assert list(map(type, found)) == list(map(type, wanted))
    for one, other in zip(leaves(found), leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)
    at = wrt if isinstance(wrt, tuple) else (wrt,)
    ahead, back = (
        fn(*(moved(x, h) if k in at else moved(x, 0) for k, x in enumerate(args)))
        for h in (1e-6, -1e-6)
    )
    slope_found = sum(np.sum(leaf) for leaf in leaves(found))
    assert slope_found == pytest.approx((ahead - back) / 2e-6, rel=1e-6)


def test_the_text_has_a_name_for_each_item() -> None:
    def f(s, k):
        for _ in range(3):
            s = State(s.x + 0.1 * s.v, s.v - 0.1 * k * s.x)
        return s.x**2 + s.v

    df = tl.grad(f, target="numba", example=(State(1.0, 2.0), 0.5))
    body = df.source.partition("# adjoint\n")[2]
    assert "s_v_bar = 1.0" in body
    assert "return s_x_bar, s_v_bar" in body
    assert "zeros_like" not in df.source


MODULE = """from typing import NamedTuple
class State(NamedTuple):
    x: float
    v: float
def f(a, b):
    s = State(a, b)
    return s.x**2 * s.v
def g(s):
    return s.x**2 * s.v
"""
CALL = "import module, tangentlike as tl; print(tl.grad(module.f, target='numba')(1.0, 3.0), "
CALL += "*tl.grad(module.g, target='numba')(module.{}(v=1.0, x=3.0)))"


def test_classes_that_change_between_processes(tmp_path: Path) -> None:
    """Fields are read by their places, and a class may be gone."""

    def run(text: str, name: str) -> str:
        (tmp_path / "module.py").write_text(text)
        return python("-B", "-c", CALL.format(name), folder=tmp_path)

    assert run(MODULE, "State") == "6.0 6.0 9.0\n"
    lines = MODULE.splitlines()
    lines[2:4] = lines[3], lines[2]
    assert run("\n".join(lines), "State") == "9.0 9.0 6.0\n"
    assert run("\n".join(lines).replace("State", "Other"), "Other") == "9.0 9.0 6.0\n"


def arguments() -> tuple[Any, ...]:
    return State(1.2, 0.4), Rates(1.1, 0.6), 7


def test_standalone_files(tmp_path: Path) -> None:
    out = tmp_path / "predators_grad.py"
    call = ["-m", "tangentlike", "grad", f"{__file__}:predators", "--wrt", "s,p"]
    call += ["--args", "arguments", "--target", "numba", "--standalone", "-o", str(out)]
    python(*call)
    text = "import predators_grad as g; from collections import namedtuple as n; "
    text += "print(g.predators_grad(g.State(1.2, 0.4), n('Rates', 'growth death')(1.1, 0.6), 7))"
    found = eval(python("-c", text, folder=tmp_path))
    wanted = tl.grad(predators, ("s", "p"))(*arguments())
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


def of_layers(layers, x):
    for w, b in layers:
        x = np.tanh(w @ x + b)
    return np.sum(x * x)


def test_a_list_of_tuples():
    rng = np.random.default_rng(7)
    args = ([(rng.normal(size=(3, 3)), rng.normal(size=3)) for _ in range(2)], rng.normal(size=3))
    found = tl.grad(of_layers, target="numba")(*args)
    for pair, (w, b) in zip(found, tl.grad(of_layers)(*args), strict=True):
        assert isinstance(pair, tuple)
        np.testing.assert_allclose(pair[0], w)
        np.testing.assert_allclose(pair[1], b)
