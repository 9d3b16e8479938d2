"""`target="numba"`: derivatives that Numba compiles, beside those that NumPy runs."""

from __future__ import annotations

import math
import os
import pickle
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.frontend.primal import is_compiled_python
from tests.processes import python

numba = pytest.importorskip("numba")
RNG = np.random.default_rng(0)
WEIGHTS = np.array([1.0, 2.0])
FACTOR = 3.0

# (Each compilation takes a second.)
pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("compiled_apart")]


def regression(w, b, x, y):
    return np.sum((np.tanh(x @ w + b) - y) ** 2)


def logistic(x, r, steps):
    for _ in range(steps):
        x = r * x * (1.0 - x)
    return x


def stencil(a, steps):
    for _ in range(steps):
        a[1:-1] += 0.5 * (a[:-2] * a[2:])
    return np.sum(a)


def network(w, u, xs):
    h = np.zeros(w.shape[0])
    for x in xs:
        h = np.tanh(w @ h + u @ x)
    return np.sum(h)


def pairs(q, k):
    total = 0.0
    for i in range(len(q)):
        for j in range(i):
            r = q[i] - q[j]
            total += k / np.sqrt(np.sum(r * r))
    return total


def every_third(x):
    total = 1.0
    for i in range(len(x) - 1, 0, -3):
        total = total * x[i] + math.sin(x[i - 1])
    return total


def branches(x):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            total += np.log(x[i])
        else:
            total -= x[i]
    return total


def masked(x):
    return np.sum(np.sqrt(np.maximum(x, 0.0)) + np.minimum(x, x[0] * 0.5))


def gauss_seidel(x, b, sweeps):
    for _ in range(sweeps):
        for i in range(1, len(x) - 1):
            x[i] = 0.5 * (x[i - 1] + x[i + 1] + b[i])
    return np.sum(x * x)


def until_small(x):
    count = 0
    while x > 0.1 and count < 50:
        x = np.sin(x) * 0.9
        if x < 0.2:
            break
        count += 1
    return x * count


def softmax(z):
    e = np.exp(z - np.max(z))
    return np.sum(np.log(np.sum(e, axis=1))) - np.sum(z[:, 0])


def likelihood(a, x):
    factor = np.linalg.cholesky(a @ a.T + np.eye(len(x)))
    z = np.linalg.solve(factor, x)
    return 0.5 * np.sum(z * z) + np.sum(np.log(np.diag(factor)))


def running(x):
    return np.sum(np.cumsum(x) ** 2)


def powers(x, p):
    return np.sum(np.abs(x) ** p)


def picked(table, places):
    return np.sum(table[places] ** 2)


def collected(x, n):
    rows = []
    for i in range(n):
        rows.append(x * np.sin(x[0] * i))
    total = 0.0
    for row in rows:
        total += np.sum(row * row)
    return total


def of_callees(x, n):
    total = 0.0
    for i in range(n):
        total += scaled(x[i], 2.0) * WEIGHTS[i % 2]
    return total


def scaled(v, p):
    return np.sin(v) * p * FACTOR


def warped(x, y):
    n, m = len(x), len(y)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            least = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = (x[i - 1] - y[j - 1]) ** 2 + least
    return cost[n, m]


def convolved(x, k):
    y = np.zeros((4, 4))
    for i in range(2):
        for j in range(2):
            y = y + k[i, j] * x[i : i + 4, j : j + 4]
    return np.sum(np.maximum(y, 0.0) ** 2)


def largest_of_rows(a):
    total = 0.0
    for i in numba.prange(a.shape[0]):
        j = np.argmax(a[i])
        total += a[i, j] ** 2
    return total


def turned(x):
    return np.sum(np.sin(x.reshape(2, 3).T @ np.ones(2)))


def spread_of(x):
    return np.var(x) + np.median(x) * np.quantile(x, 0.3) * np.ptp(x)


def _of_a_branch(x, w, k):
    if k > 0:
        a = np.sin(x * w)
        s = 0.0
        for i in range(len(x)):
            t = a[i] * x[i]
            s += t * t
    else:
        b = x * w
        s = np.sum(b * b * b)
    return s * 2.0


def of_branches_of_callees(x, k):
    s = 0.0
    for j in range(3):
        s = 0.1 * s + _of_a_branch(x, 0.2 * x + 0.01 * s, k - j)
    return s


def fitted(a, b):
    return np.sum(np.linalg.lstsq(a, b)[0] ** 2)


def joined_rows(a):
    total = np.sum(np.hstack((a, 2.0 * a)) ** 2)
    for v in a.flat:
        total += v**3
    return total


def over_places(a, scale=None):
    if scale is None:
        scale = 2.0
    b = np.zeros_like(a)
    b[...] = a
    total = 0.0
    for place in np.ndindex(a.shape):
        total += scale * b[place] ** 2
    return total


def entries(x):
    kept = {0: x[0], 1: x[1] * 2.0}
    return kept[0] * kept[1]


def vector(n):
    return RNG.standard_normal(n)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (regression, tuple(RNG.standard_normal(s) for s in [(3, 2), 2, (5, 3), (5, 2)])),
    (logistic, (0.3, 3.0, 50)),
    (logistic, (0.3, 3.0, 0)),
    (stencil, (vector(8), 4)),
    (network, tuple(RNG.standard_normal(s) for s in [(3, 3), (3, 2), (6, 2)])),
    (pairs, (RNG.standard_normal((6, 3)), 1.5)),
    (every_third, (vector(11),)),
    (branches, (vector(6),)),
    (masked, (vector(6),)),
    (gauss_seidel, (vector(7), vector(7), 3)),
    (until_small, (0.9,)),
    (softmax, (RNG.standard_normal((4, 3)),)),
    (likelihood, (RNG.standard_normal((3, 3)), vector(3))),
    (running, (vector(5),)),
    (powers, (vector(5), 2.5)),
    (picked, (vector(5), np.array([0, 3, 3, 1]))),
    (collected, (vector(4), 3)),
    (of_callees, (vector(4), 4)),
    (warped, (vector(5), vector(6))),
    (largest_of_rows, (RNG.standard_normal((4, 3)),)),
    (turned, (vector(6),)),
    (spread_of, (vector(7),)),
    (entries, (vector(3),)),
    (over_places, (RNG.standard_normal((2, 3)),)),
    (fitted, (RNG.standard_normal((5, 2)), RNG.standard_normal(5))),
    (of_branches_of_callees, (vector(4), 1)),
    (joined_rows, (RNG.standard_normal((2, 3)),)),
    (convolved, (RNG.standard_normal((5, 5)), RNG.standard_normal((2, 2)))),
]
NAMES = [fn.__name__ for fn, _ in CASES]


def own(args: tuple[Any, ...]) -> list[Any]:
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def floating(args: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(i for i, x in enumerate(args) if np.asarray(x).dtype.kind == "f")


@pytest.mark.parametrize(("fn", "args"), CASES, ids=NAMES)
def test_it_gives_what_numpy_gives(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    wrt = floating(args)
    wanted_value, wanted = tl.value_and_grad(fn, wrt=wrt)(*own(args))
    df = tl.value_and_grad(fn, wrt=wrt, target="numba")
    for _ in range(2):  # (the second call is like the first)
        value, found = df(*own(args))
        np.testing.assert_allclose(value, wanted_value, rtol=1e-12)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
            assert np.shape(one) == np.shape(other)
    for place, one in zip(wrt, found, strict=True):
        _is_slope(fn, args, place, one)
    assert "@compiled\ndef " in df.source


def _is_slope(fn: Callable[..., Any], args: tuple[Any, ...], place: int, found: Any) -> None:
    """Compare the gradient by one argument with a difference."""
    direction = np.cos(np.arange(np.size(found))).reshape(np.shape(found))
    step = 1e-6

    def moved(by: float) -> Any:
        given = own(args)
        given[place] = given[place] + by * direction
        return fn(*given)

    wanted = (moved(step) - moved(-step)) / (2 * step)
    np.testing.assert_allclose(np.sum(found * direction), wanted, rtol=1e-6, atol=1e-7)


def test_each_primal_that_compiles_has_a_derivative_that_does() -> None:
    for fn, args in CASES[::3]:
        assert np.isfinite(numba.njit(fn)(*own(args)))


def test_the_arguments_stay_what_they_were() -> None:
    a = vector(8)
    before = a.copy()
    for _ in range(2):
        tl.grad(stencil, target="numba")(a, 4)
        np.testing.assert_array_equal(a, before)


def total_of_squares(x, y):
    t = x + y
    return np.sum(t * t)


def test_gradients_share_no_memory() -> None:
    """Numba makes a new object for the memory of each array that it gives."""
    df = tl.grad(total_of_squares, wrt=(0, 1), target="numba")
    x, y = vector(4), vector(4)
    for _ in range(2):  # (the second call is a short way)
        a, b = df(x, y)
        wanted = b.copy()
        a[...] = 0.0
        np.testing.assert_array_equal(b, wanted)
        assert not any(np.shares_memory(p, q) for p in (a, b) for q in (x, y))


def test_it_is_pickled_by_its_name() -> None:
    df = pickle.loads(pickle.dumps(tl.grad(stencil, target="numba")))
    a = vector(8)
    np.testing.assert_allclose(df(a, 2), tl.grad(stencil)(a, 2))
    assert "@compiled" in df.source


def test_arrays_of_any_order_and_precision() -> None:
    x = RNG.standard_normal((4, 6))
    df = tl.grad(running, target="numba")
    np.testing.assert_allclose(df(x[::2, 1]), tl.grad(running)(x[::2, 1]))
    single = tl.grad(stencil, target="numba")
    args = [x[0].astype(np.float32), 3]
    found, wanted = single(*own(args)), tl.grad(stencil)(*own(args))
    assert found.dtype == wanted.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_second_order() -> None:
    def f(x):
        return x**3 * np.sin(x)

    wanted = tl.grad(tl.grad(f))(0.3)
    compiled_last = tl.grad(tl.grad(f), target="numba")
    assert compiled_last(0.3) == pytest.approx(wanted, rel=1e-12)
    assert tl.grad(tl.grad(f, target="numba"))(0.3) == pytest.approx(wanted, rel=1e-12)


def test_what_lies_outside_and_changes_is_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    df = tl.grad(of_callees, target="numba")
    x = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(df(x, 3), 6.0 * np.cos(x) * [1.0, 2.0, 1.0])
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 1.0)
    np.testing.assert_allclose(df(x, 3), 2.0 * np.cos(x) * [1.0, 2.0, 1.0])
    monkeypatch.setitem(globals(), "WEIGHTS", np.array([1.0, 5.0]))
    np.testing.assert_allclose(df(x, 3), 2.0 * np.cos(x) * [1.0, 5.0, 1.0])
    WEIGHTS[0] = 0.0
    np.testing.assert_allclose(df(x, 3), 2.0 * np.cos(x) * [0.0, 5.0, 0.0])


def test_what_modules_hold_and_functions_of_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = types.ModuleType("settings")
    settings.__dict__.update(rate=2.0, kind="plain", steps=(2, 3))
    monkeypatch.setitem(globals(), "settings", settings)
    df = tl.grad(by_settings, target="numba")
    assert df(3.0) == 2.0 * 2 * 3
    settings.__dict__["rate"] = 5.0
    assert df(3.0) == 5.0 * 2 * 3
    settings.__dict__["steps"] = (1, 3)
    assert df(3.0) == 5.0 * 1 * 3
    monkeypatch.setitem(globals(), "rounds", lambda steps: 7)
    assert df(3.0) == 5.0 * 7


def rounds(steps):
    return steps[0] * steps[1]


def by_settings(x):
    total = 0.0
    for _ in range(rounds(settings.steps)):  # noqa: F821
        total += settings.rate * x  # noqa: F821
    return total


def test_defaults_of_helpers_are_part_of_what_is_kept() -> None:
    def made(factor: float) -> Any:
        def helper(v, k=factor):
            return int(v * 0 + k)

        def f(x):
            total = 0.0
            for _ in range(helper(3)):
                total += x
            return total

        return tl.grad(f, target="numba")

    assert [made(2.0)(1.0), made(5.0)(1.0), made(2.0)(1.0)] == [2.0, 5.0, 2.0]


def test_a_closure_whose_cell_changes() -> None:
    scale = 2.0

    def f(x):
        return scale * x * x

    df = tl.grad(f, target="numba")
    assert df(3.0) == 12.0
    scale = 5.0
    assert df(3.0) == 30.0


@numba.njit
def compiled_scale(v, p):
    return np.sin(v) * p


@numba.njit
def compiled_count(n):
    return n - 1


@numba.njit
def compiled_sum(x, n):
    total = 0.0
    for i in range(compiled_count(n)):
        total += compiled_scale(x[i], 2.0)
    return total


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_functions_that_numba_compiled(target: str) -> None:
    x = np.array([0.1, 0.5, 2.0])
    df = tl.grad(compiled_sum, target=target)
    wanted = 2.0 * np.cos(x) * [1.0, 1.0, 0.0]
    np.testing.assert_allclose(df(x, 3), wanted)
    np.testing.assert_allclose(tl.jvp(compiled_sum, (x, 3), (np.ones(3), None))[1], wanted.sum())
    assert is_compiled_python(compiled_sum)


def test_the_text_stands_by_itself() -> None:
    df = tl.grad(logistic, target="numba", example=(0.3, 3.0, 5))
    namespace: dict[str, Any] = {}
    exec(df.source, namespace)
    assert namespace["logistic_grad"](0.3, 3.0, 5) == pytest.approx(df(0.3, 3.0, 5))
    with pytest.raises(TypeError, match="made for arguments of other types"):
        namespace["logistic_grad"](np.ones(2), 3.0, 5)


def halved(x, k):
    return 0.5 * x / (k + 1.0)


def of_halves(x, n):
    for k in range(n):
        x[1:] += halved(x[:-1], k) * x[1:]
    return np.sum(x)


def with_a_norm(x):
    total = 0.0
    for i in range(len(x)):
        total += max(x[i], 0.3) ** abs(x[0])
    return total + np.linalg.norm(x)


def test_a_file_of_its_own_needs_numpy_and_numba() -> None:
    x = vector(5)
    programs = ((logistic, (0.3, 3.0, 5)), (of_halves, (x, 3)), (with_a_norm, (x,)))
    for fn, args in (*programs, (every_third, (x,))):
        df = tl.grad(fn, target="numba", example=args)
        text = df.__tangentlike__.derive().standalone()
        assert "import tangentlike" not in text and "from tangentlike" not in text
        namespace: dict[str, Any] = {}
        exec(text, namespace)
        found = namespace[f"{fn.__name__}_grad"](*own(args))
        np.testing.assert_allclose(found, tl.grad(fn)(*own(args)), rtol=1e-12)
    with pytest.raises(TypeError, match="made for"):
        namespace["every_third_grad"](np.ones((2, 2)))


@pytest.mark.usefixtures("helpers_are_pairs")  # (for `halved`)
def test_a_file_of_its_own_holds_no_helpers() -> None:
    def loss(x, n):
        for k in range(n):
            x[1:] += halved(x[:-1], k) * x[1:]
        return np.sum(x)

    df = tl.grad(loss, target="numba")
    with pytest.raises(tl.UnsupportedError, match="cannot hold `") as caught:
        df.__tangentlike__.derive().standalone()
    assert "--shape" in (caught.value.hint or "")


def no_form(x):
    return np.einsum("ij,ij->", x, x)


def rolled(x):
    return np.sum(np.roll(x, (1, 1), axis=(0, 1)) * x)


def no_form_in_a_loop(x):
    total = 0.0
    for k in range(2):
        total += np.einsum("ij,ij->", x, x * k)
    return total


def of_lists(x):
    table = {"a": [x, x * x]}
    return table["a"][1]


@pytest.mark.parametrize(
    "fn", [no_form, no_form_in_a_loop, rolled, of_lists], ids=lambda f: f.__name__
)
def test_what_numba_does_not_take_is_refused_with_its_line(fn: Callable[..., Any]) -> None:
    given = 3.0 if fn is of_lists else np.eye(3)
    with pytest.raises(tl.UnsupportedError) as caught:
        tl.grad(fn, target="numba")(given)
    assert caught.value.place is not None
    assert caught.value.place.file == __file__
    assert "Numba" in caught.value.message
    assert "target=" in (caught.value.hint or "")


def outside(x):
    return x[5] * 2.0


def test_an_index_out_of_bounds_raises() -> None:
    with pytest.raises(IndexError):
        tl.grad(outside, target="numba")(np.ones(3))


def test_a_division_by_zero_is_what_it_is_for_arrays() -> None:
    def f(x):
        return 1.0 / x

    assert tl.grad(f, target="numba")(0.0) == -np.inf


SCRIPT = """
import sys
import numpy as np
import tangentlike as tl

RATE = float(sys.argv[1])

def helper(v):
    return v * RATE

def f(x):
    total = 0.0
    for i in range(len(x)):
        total += helper(x[i]) ** 2
    return total

df = tl.grad(f, target="numba")
print(df(np.ones(2)).tolist())
run = df.__tangentlike__.derive().specialized_for((np.ones(2),), {}).derived.compiled
print(sum(run.dispatcher.stats.cache_hits.values()))
"""


def test_compiled_code_is_found_again_by_another_process(tmp_path: Path) -> None:
    script = tmp_path / "rates.py"
    script.write_text(SCRIPT)
    environment = {"TANGENTLIKE_CACHE_DIR": str(tmp_path / "kept"), "NUMBA_OPT": "3"}

    def run(rate: float) -> list[str]:
        return python(str(script), str(rate), **environment).split("\n")

    assert run(2.0)[:2] == ["[8.0, 8.0]", "0"]
    assert run(2.0)[:2] == ["[8.0, 8.0]", "1"]
    assert run(3.0)[:2] == ["[18.0, 18.0]", "0"]  # (a constant of the module has changed)


TOGETHER = """
import pathlib, sys, time
import numba.core.caching as caching
import numpy as np
import tangentlike as tl

dtype, folder = sys.argv[1], pathlib.Path(sys.argv[2])
File = caching.IndexDataCacheFile
save_index, save_data = File._save_index, File._save_data

def wait_for(event):
    until = time.time() + 60.0
    while not (folder / event).exists() and time.time() < until:
        time.sleep(0.01)

def first_index(*args):
    wait_for("the other has read the index")
    save_index(*args)
    (folder / "an index is there").touch()

def last_data(*args):
    wait_for("the other has saved its code")
    save_data(*args)

def last_index(*args):
    (folder / "the other has read the index").touch()
    wait_for("an index is there")
    save_index(*args)

def first_data(*args):
    save_data(*args)
    (folder / "the other has saved its code").touch()

if sys.argv[3:]:
    first = dtype == "float64"
    File._save_index = first_index if first else last_index
    File._save_data = last_data if first else first_data

def cubes(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] ** 3
    return total

print(tl.grad(cubes, target="numba")(np.arange(3, dtype=dtype)).tolist())
"""


@pytest.mark.thorough
def test_processes_that_compile_at_the_same_time_keep_their_own_code(tmp_path: Path) -> None:
    script = tmp_path / "together.py"
    script.write_text(TOGETHER)
    environment = {**os.environ, "TANGENTLIKE_CACHE_DIR": str(tmp_path / "kept")}

    def start(dtype: str, *together: str) -> Any:
        command = [sys.executable, str(script), dtype, str(tmp_path), *together]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    first, second = start("float64", "together"), start("float32", "together")
    for run in (first, second):
        assert run.communicate(timeout=120)[0] == "[0.0, 3.0, 12.0]\n"
    for dtype in ("float64", "float32"):
        assert start(dtype).communicate(timeout=120)[0] == "[0.0, 3.0, 12.0]\n"


def test_helpers_have_the_values_of_the_runtime() -> None:
    """The forms of helpers, called as compiled code calls them."""
    from tangentlike import runtime
    from tangentlike.numba.compiling import numba_module
    from tangentlike.numba.forms import KNOWN
    from tangentlike.numba.python_calls import HELPERS

    numba_module()  # (which tells Numba of all)
    g, x = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
    square, row, column = g[:, :3], x[0], x[:, :1]
    lower = np.linalg.cholesky(square @ square.T + np.eye(3))
    calls: dict[Any, list[tuple[Any, ...]]] = {
        runtime.unbroadcast: [(g, x), (g, row), (g, column), (g, 1.0), (row, x[:1])],
        runtime.broadcast_like: [(2.0, x), (row, x), (column, x), (2.0, 1.0)],
        runtime.unreduce: [(2.0, x), (row, x, 0), (x[:, 0], x, 1), (x[:1], x, 0, True)],
        runtime.kept: [(row, 0), (row, -1)],
        runtime.zeros_like: [(x,), (1.0,), (3,), (np.arange(3),), ((row, row),)],
        runtime.ones_like: [(x,), (1.0,)],
        runtime.scalar_seed: [(1.0,)],
        runtime.require_real: [(x,), (1.0,)],
        runtime.conj: [(x,), (x + 1j * g,), (2.0,)],
        runtime.reshape_like: [(g, np.ones((4, 3))), (np.array([2.0]), 1.0), (g.T, np.ones(12))],
        runtime.copy: [(x,), (2.0,)],
        runtime.own: [(x,), (row[::2],), (2.0,)],
        runtime.accumulate: [(x, g), (2.0, 3.0), ((row, row), (x[1], x[2]))],
        runtime.repeatable: [(x,)],
        runtime.survivors: [(x, 1), (row, np.array([0, 3, 3, -1])), (x, np.array([2, 0, 2]))],
        runtime.swap_last: [(x,), (row,), (RNG.standard_normal((2, 3, 4)),)],
        runtime.adjoint_matrix: [(x + 1j * g,), (x,)],
        runtime.matmul_bar_a: [
            (np.ones((3, 2)), x, np.ones((4, 2))),
            (np.ones(3), x, row),
            (np.ones(4), x[:, 0], x),
            (2.0, row, g[0]),
        ],
        runtime.undiag: [(row[:3], square), (square, row[:3]), (row[:2], square, 1)],
        runtime.undiagonal: [(row[:3], x), (row[:2], x, -1)],
        runtime.untrace: [(2.0, x), (2.0, x, 1)],
        runtime.transposed_inverse: [(lower,)],
        runtime.uncumsum: [(row, row)],
        runtime.uncumprod: [(row, np.array([2.0, 0.0, 5.0, 0.5]))],
        runtime.solve_bar_a: [(row, row, x.T @ x, row), (x.T, x.T, x.T @ x, x.T)],
        runtime.untake: [(row, np.zeros(5), np.array([1, 0, 1, 4]))],
        runtime.interp_slope: [
            (np.linspace(-1, 5, 9), np.arange(4.0), row),
            (1.5, np.arange(4.0), row),
        ],
        runtime.quantile_weights: [(x, 0.5), (row, 0.3), (row, 1.0), (np.ones(3), 0.5)],
        runtime.hstack_axis: [((row, row),), ((x, g),)],
        runtime.flat_view: [(x,), (row,)],
        runtime.quantile_bar: [(2.0, x, x), (2.0, row, row)],
        runtime.extremum_share: [(x, x.max()), (x, 9.0), (x, x.max(1, keepdims=True), 1)],
        runtime.greater_share: [(x, g), (1.0, 1.0), (x, x), (2.0, x)],
        runtime.reciprocal_or_zero: [(x,), (0.0,), (np.array([0.0, 2.0]),)],
        runtime.ratio_or_zero: [(x, np.zeros(4)), (1.0, 0.0), (x, g)],
        runtime.log_or_zero: [(np.abs(x),), (0.0,)],
        runtime.times_log: [(x, 2.0, np.abs(x)), (0.0, x, -1.0), (2.0, x, np.abs(x))],
        runtime.power_slope: [(np.abs(x), 2.5), (0.0, 1.0), (np.abs(x), 0.0), (2.0, 3.0)],
        runtime.exp_of_difference: [(x, x + 1.0), (np.array([np.inf, -np.inf]),) * 2],
    }
    calls[runtime.dot_bar_a] = calls[runtime.matmul_bar_a]
    calls[runtime.matmul_bar_b] = calls[runtime.dot_bar_b] = [
        (np.ones((3, 2)), x, np.ones((4, 2))),
        (np.ones(3), x, row),
        (np.ones(4), x[:, 0], x),
        (2.0, row, g[0]),
    ]
    calls[runtime.adjoint_of_real] = calls[runtime.adjoint_of_imag] = [
        (x, x),
        (x + 1j * g, x),
        (x, x + 1j * g),
        (2.0, 1.0),
        (2.0, 1j),
    ]
    calls[runtime.cast_like] = [(x, x), (x + 1j * g, x), (x, x + 0j), (2.0, 1.0)]
    calls[runtime.nest_like], calls[runtime.uncast] = [(x, x), (2.0, 1.0)], [(x, x.dtype)]
    calls[runtime.cov_count] = [(x, True, False, None), (row, True, True, 1)]
    written = {runtime.add_at, runtime.require_scalar, runtime.require_floats}
    written |= {runtime.require_apart, runtime.require_none, runtime.require_read_first}
    written |= {runtime.Shadow}  # (tests/test_numba_memory.py)
    written |= {runtime.inverse_axes, *(getattr(runtime, name) for name in HELPERS)}
    assert {f for f in KNOWN if f.__module__.startswith("tangentlike.runtime")} == (
        calls.keys() | written
    )
    options = {runtime.kept: 1, runtime.unreduce: 2, runtime.extremum_share: 2}
    for helper, given in calls.items():
        names = [f"a{n}" for n in range(4)]
        for args in given:
            inside = ", ".join(names[: len(args)])
            namespace: dict[str, Any] = {"helper": helper}
            exec(f"def call({inside}):\n    return helper({inside})", namespace)
            if helper in options:  # (which are literal in a text)
                first = options[helper]
                told = ", ".join([*names[: min(first, len(args))], *map(repr, args[first:])])
                exec(f"def call({inside}):\n    return helper({told})", namespace)
            wanted = helper(*args)
            found = numba.njit(error_model="numpy")(namespace["call"])(*args)
            np.testing.assert_allclose(found, wanted, 1e-12, 1e-15, err_msg=helper.__name__)
            assert np.shape(found) == np.shape(wanted), helper.__name__


@pytest.mark.parametrize(
    ("key", "g"),
    [
        (np.array([0, 2, 2]), np.ones((3, 4))),
        (np.array([0, 2, 2]), 2.0),
        (np.array([0, 2, 2]), np.ones((1, 4))),
        (np.array([True, False, True]), np.ones((2, 4))),
        (1, np.ones(4)),
    ],
    ids=str,
)
def test_adding_at_places(key: Any, g: Any) -> None:
    from tangentlike.numba.compiling import numba_module
    from tangentlike.runtime import add_at

    numba_module()
    wanted = add_at(np.zeros((3, 4)), key, g)
    call = numba.njit(lambda x, key, g: add_at(x, key, g))
    np.testing.assert_allclose(call(np.zeros((3, 4)), key, g), wanted)


REDUCTIONS = ["np.sum", "np.var", "np.std", "np.mean", "np.max", "np.min", "np.prod"]
OPTIONS = [
    "axis=0",
    "axis=-1",
    "axis=(0, 2)",
    "axis=1, keepdims=True",
    "axis=(0, 1), keepdims=True",
]


@pytest.mark.parametrize(
    ("function", "options"),
    [
        *((f, o) for f in REDUCTIONS[:2] for o in OPTIONS),
        *((f, OPTIONS[1 + k % 3]) for k, f in enumerate(REDUCTIONS[2:])),
        *((f, OPTIONS[3]) for f in REDUCTIONS[3:5]),
    ],
)
def test_reductions_along_axes(function: str, options: str) -> None:
    from tangentlike.numba.compiling import numba_module

    numba_module()
    namespace: dict[str, Any] = {"np": np}
    exec(f"def call(x):\n    return {function}(x, {options})", namespace)
    x = RNG.standard_normal((2, 3, 4))
    call = numba.njit(namespace["call"])
    if function in ("np.var", "np.std") and "(" in options:  # (no variance of variances)
        with pytest.raises(numba.core.errors.TypingError):
            call(x)
        return
    np.testing.assert_allclose(call(x), namespace["call"](x), rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "np.array([x[0], x[1]])",
        "np.stack([x, x + 1.0], 1)",
        "np.concatenate([x, x[:1]])",
        "np.expand_dims(x, (0, 2))",
        "np.diagonal(x, 1)",
        "np.roll(x, 1, axis=0)",
        "np.roll(x, -5, axis=1)",
        "np.heaviside(x, 0.5)",
        "[k for k in reversed(range(5, -4, -2))]",
        "[k for k in reversed(range(0))]",
    ],
)
def test_functions_that_numba_lacks(text: str) -> None:
    from tangentlike.numba import functions

    heaviside = "np.heaviside" in text
    source = text.replace("np.heaviside", "heaviside") if heaviside else text
    namespace: dict[str, Any] = {"np": np, "heaviside": functions.heaviside}
    exec(f"def call(x):\n    return {source}", namespace)
    x = RNG.standard_normal((2, 3))
    x[0, 0] = 0.0
    wanted = eval(text, {"np": np, "x": x})
    np.testing.assert_allclose(numba.njit(namespace["call"])(x), wanted)


def test_without_numba_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(tl.TangentlikeError, match="needs Numba") as caught:
        tl.grad(lambda x: x * x * x, target="numba")(1.0)
    assert re.search(r"tangentlike\[numba\]", caught.value.hint or "")


# --------------------------------------------------------------------------------------------------
# Stacks of numbers as arrays.


def counted_up(x, y):
    s = 1.0
    for t in range(1, len(y)):
        s = np.sin(s * x) * y[t]
    return s


def counted_down(x, y):
    s = 1.0
    for t in range(len(y) - 1, -1, -1):
        s = np.sin(s * x) * y[t]
    for t in reversed(range(3)):
        s = np.sin(s * x) * y[t]
    return s


def from_a_lag(x, y, lag):
    s = 1.0
    for t in range(lag, len(y)):
        s = np.sin(s * x) * y[t % len(y)]
    return s


def in_branches(x, y):
    s = 1.0
    for t in range(len(y)):
        if y[t] > 0.0:
            s = np.sin(s * x) * y[t]
        else:
            s = s * s * x
        flag = s > 0.5
        if flag:
            s = s * s
    return s


def without_a_variable(x, n):
    for _ in range(n):
        for _ in range(2):
            x = np.sin(x) * x
        x = x * x
    return x


def read_underscore(x, n):
    for _ in range(n):
        x = np.sin(x) * (x + _)
    return x


def triangles(x, n):
    s = 1.0
    for i in range(n):
        for j in range(i + 1, n):
            s = np.sin(s * x) + 0.1 * j
        for j in range(i):
            s = np.cos(s * x) + 0.1 * j
        for j in range(i - 1, -1, -1):
            s = np.sin(s) * x + 0.1 * j
    return s


def left_early(x, y):
    s = 0.0
    for t in range(len(y)):
        s = s * x + y[t] ** 2
        if s > 2.0:
            break
        s = np.sin(s) * x
    return s


def returns_early(x, y):
    s = 1.0
    for t in range(len(y)):
        s = s * x + y[t] ** 2
        if s > 2.0:
            return s * x
        s = np.sin(s) * x
    return s


def of_complex(x, y):
    z = 1.0 + 0.0j
    for t in range(len(y)):
        z = z * (x + 1j * y[t])
    return z.real


Y = np.array([0.3, -0.4, 0.9, 0.2, -0.7, 0.5])
AS_ARRAYS = [
    (counted_up, (1.1, Y), 1),
    (counted_up, (1.1, Y[:1]), 1),
    (counted_down, (1.1, Y), 2),
    (from_a_lag, (1.1, Y, 2), 1),
    (from_a_lag, (1.1, Y, -2), 1),
    (from_a_lag, (1.1, Y[:4], 6), 1),
    (in_branches, (1.1, Y), 4),
    (in_branches, (1.1, Y[:0]), 4),
    (without_a_variable, (0.7, 3), 2),
    (without_a_variable, (0.7, -1), 2),
    (read_underscore, (0.7, 3), 1),
    (triangles, (0.7, 4), 3),
    (triangles, (0.7, 0), 3),
    (left_early, (1.1, Y), 0),
    (left_early, (4.0, Y), 0),
    (returns_early, (1.1, Y), 0),
    (returns_early, (4.0, Y), 0),
    (of_complex, (1.1, Y), 1),
]


@pytest.mark.parametrize(("fn", "args", "arrays"), AS_ARRAYS)
def test_stacks_of_numbers_are_arrays(fn: Any, args: tuple[Any, ...], arrays: int) -> None:
    df = tl.value_and_grad(fn, target="numba")
    value, gradient = df(*args)
    assert df.source.count("np.empty(") >= arrays and (arrays > 0) == ("append" not in df.source)
    want, other = tl.value_and_grad(fn)(*args)
    assert value == pytest.approx(want, rel=1e-13)
    assert gradient == pytest.approx(other, rel=1e-12)
    step = 1e-6
    high, low = fn(args[0] + step, *args[1:]), fn(args[0] - step, *args[1:])
    assert gradient == pytest.approx((high - low) / (2 * step), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("fn", [counted_up, in_branches, left_early])
def test_stacks_of_numbers_at_order_two(fn: Any) -> None:
    def slope(x: float, y: Any) -> Any:
        return tl.grad(fn)(x, y)

    found = tl.grad(slope, target="numba")(1.1, Y)
    assert found == pytest.approx(tl.grad(slope)(1.1, Y), rel=1e-12)
    step = 1e-5
    difference = (tl.grad(fn)(1.1 + step, Y) - tl.grad(fn)(1.1 - step, Y)) / (2 * step)
    assert found == pytest.approx(difference, rel=1e-6)


def banded(x, n):
    s = 1.0
    for i in range(n):
        for j in range(i, min(i + 2, n)):
            s = np.sin(s * x) + 0.1 * j
    return s


def while_it_lasts(x, n):
    while n > 0:
        x = np.sin(x) * x
        n = n - 1
    return x


@pytest.mark.parametrize("fn", [banded, while_it_lasts])
def test_stacks_stay_lists_where_arrays_would_be_longer(fn: Any) -> None:
    df = tl.grad(fn, target="numba")
    assert df(0.7, 5) == pytest.approx(tl.grad(fn)(0.7, 5), rel=1e-12)
    assert "append" in df.source and "np.empty" not in df.source


def test_results_of_compiled_code_take_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dtype of what Numba gives is equal to that of its arguments, and another object."""

    def squares(y):
        return np.sum(y * y)

    df = tl.grad(squares, target="numba")
    df(Y), df(Y)
    monkeypatch.setattr("tangentlike.api.calls.finished", None)  # (the long way)
    np.testing.assert_allclose(df(Y), 2.0 * Y)
    np.testing.assert_allclose(df(df(Y)), 4.0 * Y)
