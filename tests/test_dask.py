"""Gradients over chunks and members: against the whole data, in other processes, with a lost worker."""

from __future__ import annotations

import gc
import linecache
import os
import pickle
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from tangentlike.dask import pullbacks  # noqa: E402 (needs dask)
from tangentlike.dask.pullbacks import Shipped  # noqa: E402
from tests.processes import python  # noqa: E402

RNG = np.random.default_rng(3)
X, Y, W = RNG.normal(size=(23, 4)), RNG.normal(size=23), RNG.normal(size=4)
ROWS = (7, 5, 0, 9, 2)  # (a chunk may be empty, and none is like another)
XS, YS = da.from_array(X, chunks=(ROWS, 4)), da.from_array(Y, chunks=(ROWS,))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


# --------------------------------------------------------------------------- losses of a chunk


def squares(w: Any, x: Any, y: Any) -> Any:
    return np.sum((np.tanh(x @ w) - y) ** 2)


def mean_square(w: Any, x: Any, y: Any) -> Any:
    r = np.tanh(x @ w) - y
    return np.sum(r**2) / max(len(r), 1)


def stats(w: Any, x: Any) -> Any:
    z = x @ w
    return np.sum(np.exp(z)), {"z": np.sum(z), "m": x.T @ np.tanh(z)}, len(x)


def likelihood(s: Any, w: Any, scale: Any = 0.5) -> Any:
    exps, sums, n = s
    return n * np.log(exps) - sums["z"] + np.sum(sums["m"] ** 2) / n + scale * np.sum(w * w)


def of_two(s: Any, w: Any) -> Any:
    return likelihood(s, w)


def whole_likelihood(w: Any, x: Any) -> Any:
    return likelihood(stats(w, x), w)


def largest(w: Any, x: Any) -> Any:
    z = np.concatenate([x @ w, np.array([-50.0])])
    m = np.max(z)
    return m, np.sum(np.exp(z - m))


def larger(a: Any, b: Any) -> Any:
    m = np.maximum(a[0], b[0])
    return m, a[1] * np.exp(a[0] - m) + b[1] * np.exp(b[0] - m)


def log_sum_exp(s: Any) -> Any:
    return s[0] + np.log(s[1])


def whole_log_sum_exp(w: Any, x: Any) -> Any:
    return np.log(np.sum(np.exp(x @ w)))


CASES: dict[str, Any] = {
    "sum": (squares, squares, {"over": ("x", "y")}),
    "mean": (mean_square, mean_square, {"over": ("x", "y"), "reduction": "mean"}),
    "head, two passes": (stats, whole_likelihood, {"over": "x", "head": of_two}),
    "head, one pass": (stats, whole_likelihood, {"over": "x", "head": of_two, "passes": 1}),
    "combined": (
        *(largest, whole_log_sum_exp),
        {"over": "x", "reduction": larger, "head": log_sum_exp},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient_are_those_of_the_whole_data(name: str) -> None:
    loss, whole, options = CASES[name]
    data, chunked = ((X, Y), (XS, YS)) if len(options["over"]) == 2 else ((X,), (XS,))
    value, gradient = tl.dask.value_and_grad(loss, **options)(W, *chunked)
    assert np.isclose(value, whole(W, *data), rtol=1e-7)
    assert np.allclose(gradient, tl.grad(whole)(W, *data), rtol=1e-6)
    direction, h = np.linspace(-1.0, 1.0, 4), 1e-6
    slope = (whole(W + h * direction, *data) - whole(W - h * direction, *data)) / (2 * h)
    assert np.isclose(gradient @ direction, slope, rtol=1e-6)
    again = tl.dask.grad(loss, **options)(W, *chunked)
    assert np.array_equal(again, gradient)


@pytest.mark.parametrize("name", CASES)
def test_the_printed_plan_runs(name: str) -> None:
    loss, _, options = CASES[name]
    chunked = (XS, YS) if len(options["over"]) == 2 else (XS,)
    df = tl.dask.value_and_grad(loss, **options)
    namespace: dict[str, Any] = {}
    text = df.source
    assert max(map(len, text.splitlines())) <= 100
    exec(compile(text, "<printed>", "exec"), namespace)
    made = namespace[df.__name__](W, *chunked)
    (made,) = dask.compute(made)
    value, bars = df(W, *chunked)
    assert made[0] == value and np.array_equal(made[1], bars)


def residuals(w: Any, x: Any, y: Any) -> Any:
    r = np.tanh(x @ w) - y
    return np.sum(r**2), r


def counted(w: Any, x: Any) -> Any:
    return stats(w, x), {"rows": len(x), "z": x @ w}


def test_auxiliary_results() -> None:
    expected = np.tanh(X @ W) - Y
    for aux in ("list", "concatenate"):
        df = tl.dask.value_and_grad(residuals, over=("x", "y"), has_aux=True, aux=aux)
        (value, found), gradient = df(W, XS, YS)
        found = np.concatenate(found) if aux == "list" else found
        assert np.array_equal(found, expected) and np.isclose(value, np.sum(expected**2))
        assert np.allclose(gradient, tl.grad(squares)(W, X, Y))
    for passes in (1, 2):
        df = tl.dask.grad(counted, over="x", head=of_two, has_aux=True, passes=passes)
        gradient, found = df(W, XS)
        assert tuple(part["rows"] for part in found) == ROWS
        assert np.allclose(gradient, tl.grad(whole_likelihood)(W, X))
        namespace: dict[str, Any] = {}
        exec(df.source, namespace)
        assert np.array_equal(namespace[df.__name__](W, XS)[1], gradient)


def test_several_parameters_containers_and_keywords() -> None:
    def loss(model: Any, x: Any, *, scale: Any, y: Any) -> Any:
        return scale * np.sum((x @ model["w"] + model["b"] - y) ** 2)

    model = {"w": W, "b": 0.3, "name": "line"}
    df = tl.dask.grad(loss, wrt=("model", "scale"), over=("x", "y"))
    got, scale_bar = df(model, XS, y=YS, scale=2.0)
    expected, scale_expected = tl.grad(loss, wrt=("model", "scale"))(model, X, y=Y, scale=2.0)
    assert np.allclose(got["w"], expected["w"]) and np.isclose(got["b"], expected["b"])
    assert got["name"] is None and isinstance(got["b"], float)
    assert np.isclose(scale_bar, scale_expected)


def test_head_with_parameters_of_keyword_only_statistics() -> None:
    def sums(w: Any, *, x: Any) -> Any:
        return np.sum(np.exp(x @ w))

    for passes in (1, 2):
        df = tl.dask.grad(sums, over="x", head=lambda s, w: np.log(s) + w[0], passes=passes)
        exps = np.exp(X @ W)
        assert np.allclose(df(W, x=XS), exps @ X / np.sum(exps) + np.eye(4)[0])


def test_single_precision_stays_single() -> None:
    data = [X.astype(np.float32)[:9], X.astype(np.float32)[9:]]
    df = tl.dask.grad(mean_rows, over="x", reduction="mean")
    assert df(W.astype(np.float32), data).dtype == np.float32


def mean_rows(w: Any, x: Any) -> Any:
    return np.mean((x @ w) ** 2)


def add(a: Any, b: Any) -> Any:
    return np.hypot(a, b)


def test_names_of_the_user_may_be_those_of_the_plan() -> None:
    def chunks(parts: Any, data: Any, stats_bar: Any, delayed: Any) -> Any:
        return np.sqrt(np.sum((data @ parts) ** 2)) * delayed + stats_bar * 0.0

    df = tl.dask.grad(chunks, wrt=("parts", "delayed"), over="data", reduction=add)
    bars, delayed_bar = df(W, [X[:9], X[9:]], 1.0, 2.0)
    z = X @ W
    norm = np.sqrt(np.sum(z * z))
    assert np.allclose(bars, 2.0 * z @ X / norm) and np.isclose(delayed_bar, norm)


def test_order_of_summing_does_not_depend_on_the_scheduler() -> None:
    df = {s: tl.dask.grad(squares, over=("x", "y"), scheduler=s) for s in ("sync", "threads")}
    x, y = da.from_array(X, chunks=(1, 4)), da.from_array(Y, chunks=1)
    first = df["sync"](W, x, y)
    assert all(np.array_equal(df["threads"](W, x, y), first) for _ in range(5))


def test_a_plan_of_one_pass_is_a_delayed() -> None:
    part = tl.dask.grad(squares, over=("x", "y")).delayed(W, XS, YS)
    value, gradient = part.compute()
    assert np.isclose(value, squares(W, X, Y)) and np.allclose(gradient, tl.grad(squares)(W, X, Y))
    with pytest.raises(tl.TangentlikeError, match="first pass before the graph"):
        tl.dask.grad(stats, over="x", head=of_two).delayed(W, XS)


def test_as_a_decorator() -> None:
    @tl.dask.grad(over="x")
    def loss(w, x):  # type: ignore[no-untyped-def]
        return np.sum(x * w)

    assert loss(2.0, [np.array([1.0, 2.0]), np.array([4.0])]) == 7.0


# ----------------------------------------------------------------------------------- refusals


def as_many(w: Any, x: Any) -> Any:
    return [w * item for item in x]


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no such": (
        lambda: tl.dask.grad(squares, over="z"),
        "`z`, which is not a parameter of squares",
    ),
    "both": (lambda: tl.dask.grad(squares, wrt="x", over="x"), "in wrt"),
    "reduction": (lambda: tl.dask.grad(squares, over="x", reduction="max"), "no reduction 'max'"),
    "mean head": (
        lambda: tl.dask.grad(stats, over="x", head=of_two, reduction="mean"),
        "receives the sum",
    ),
    "head takes x": (
        lambda: tl.dask.grad(stats, over="x", head=lambda s, x: s[0]),
        "not a constant parameter",
    ),
    "combined once": (
        lambda: tl.dask.grad(largest, over="x", reduction=larger, passes=1),
        "two passes",
    ),
    "stars": (lambda: tl.dask.grad(lambda w, *x: w, over="x"), "any number of arguments"),
    "no chunks": (lambda: tl.dask.grad(squares, over=("x", "y"))(W, X, Y), "is not in chunks"),
    "columns": (
        lambda: tl.dask.grad(squares, over=("x", "y"))(W, XS.rechunk((-1, 2)), YS),
        "several axes",
    ),
    "counts": (
        lambda: tl.dask.grad(squares, over=("x", "y"))(W, XS, YS.rechunk(23)),
        "do not have the same blocks",
    ),
    "rows": (
        lambda: tl.dask.grad(squares, over=("x", "y"))(W, XS, YS.rechunk(((5, 7, 0, 9, 2),))),
        "different numbers of rows",
    ),
    "array": (
        lambda: tl.dask.grad(lambda w, x: x @ w, over="x")(W, XS),
        "not a scalar",
    ),
    "structure": (
        lambda: tl.dask.grad(as_many, over="x", head=lambda s: s[0])(1.0, [[1.0], [1.0, 2.0]]),
        "different structure",
    ),
    "ragged": (
        lambda: tl.dask.map_grad(lambda x: np.sum(x), over="x")([np.ones(2), np.ones(3)]),
        "different shapes",
    ),
    "members": (lambda: tl.dask.map_grad(squares, over=("x", "y"))(W, X, Y[:3]), "as many members"),
    "depth": (
        lambda: tl.dask.map_overlap(smoothed, da.ones(9, chunks=(1, 8)), 0.1, depth=2),
        "smaller than the depth",
    ),
    "boundary": (
        lambda: tl.dask.map_overlap(smoothed, da.ones(9), 0.1, boundary="open"),
        "no boundary 'open'",
    ),
    "shrinks": (
        lambda: tl.dask.map_overlap(lambda u: u[1:-1], da.ones(8, chunks=4)).compute(),
        "shape",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises(tl.TangentlikeError, match=words):
        call()


def test_data_that_change_between_the_passes_are_refused() -> None:
    rng = np.random.default_rng(0)
    drawn = [dask.delayed(lambda k: rng.normal(size=(5, 4)))(k) for k in range(3)]
    with pytest.raises(tl.TangentlikeError, match="first and the second pass"):
        tl.dask.grad(stats, over="x", head=of_two)(W, drawn)
    with pytest.raises(tl.TangentlikeError, match="first and the second pass"):
        tl.dask.grad(largest, over="x", reduction=larger, head=log_sum_exp)(W, drawn)
    assert tl.dask.grad(stats, over="x", head=of_two, passes=1)(W, drawn).shape == (4,)


# ------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("name", ["sum", "head, two passes", "head, one pass"])
def test_few_chunks_are_in_memory_at_a_time(name: str) -> None:
    """In a process of its own: threads and clients of other tests would count with it."""
    code = f"import tests.test_dask as t; print(t.most_in_memory({name!r}))"
    most = int(python("-c", code))
    assert 0 < most <= 20, f"{most} of 60 chunks"


def most_in_memory(name: str) -> int:
    """How many of 60 chunks are in memory at once, at most."""
    loss, _, options = CASES[name]
    alive, most, lock = [0], [0], threading.Lock()

    def gone() -> None:
        with lock:
            alive[0] -= 1

    def load(k: int) -> Any:
        made = np.full((50, 4), 0.01 * k)
        with lock:
            alive[0] += 1
            most[0] = max(most[0], alive[0])
        weakref.finalize(made, gone)
        return made

    count = 60
    chunks = [dask.delayed(load)(k) for k in range(count)]
    more = [[np.ones(50)] * count] if len(options["over"]) == 2 else []
    df = tl.dask.grad(loss, scheduler="threads", **options)
    gc.collect()
    df(W, chunks, *more)
    return most[0]


# ------------------------------------------------------------------------------------ members


def orbit(x: Any, k: Any, steps: int = 3) -> Any:
    for _ in range(steps):
        x = x + 0.1 * np.sin(k * x)
    return np.sum(x * x)


def test_members_are_differentiated_one_by_one() -> None:
    starts = RNG.normal(size=(11, 2))
    one = tl.value_and_grad(orbit, wrt=("x", "k"))
    expected = [one(x, 0.7) for x in starts]
    df = tl.dask.map_value_and_grad(orbit, wrt=("x", "k"), over="x", members=3)
    namespace: dict[str, Any] = {}
    exec(df.source, namespace)
    printed = dask.compute(namespace[df.__name__](starts, 0.7, 3))[0]
    for given in (starts, list(starts), da.from_array(starts, chunks=(4, 2))):
        values, (x_bar, k_bar) = df(given, 0.7)
        assert np.array_equal(values, [v for v, _ in expected])
        assert np.array_equal(x_bar, [g[0] for _, g in expected])
        assert np.array_equal(k_bar, [g[1] for _, g in expected])
        assert np.array_equal(printed[1][0], x_bar)


def test_members_may_differ_in_several_arguments() -> None:
    def loss(model: Any, x: Any) -> Any:
        return np.sum(model["w"] * x) * model["b"], {"x": x}

    models = [{"w": np.full(2, float(k)), "b": 2.0} for k in range(3)]
    xs = np.arange(6.0).reshape(3, 2)
    bars, aux = tl.dask.map_grad(loss, over=("model", "x"), has_aux=True)(models, xs)
    assert np.array_equal(bars["w"], 2.0 * xs) and np.array_equal(aux["x"], xs)
    assert np.array_equal(bars["b"], np.sum(np.arange(3.0)[:, None] * xs, axis=1))


# ----------------------------------------------------------------------------- halo exchange


def smoothed(u: Any, c: Any) -> Any:
    v = np.zeros_like(u)
    v[1:-1] = u[1:-1] + c * np.sin(u[:-2] * u[2:]) - c * c * u[:-2]
    return v


def skewed(u: Any, c: Any) -> Any:
    v = np.zeros_like(u)
    v[1:-1, 1:-1] = u[1:-1, 1:-1] + c * np.sin(u[:-2, 1:-1] * u[2:, 2:]) + 0.3 * u[:-2, :-2] ** 2
    return v


BOUNDARIES: list[Any] = [
    *("periodic", "reflect", "nearest", "none", 0.7),
    *({0: "periodic", 1: "reflect"}, {0: "nearest", 1: 2.0}),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
@pytest.mark.parametrize("depth", [1, {0: 1, 1: 2}], ids=str)
def test_adjoint_of_edges(boundary: Any, depth: Any) -> None:
    rng = np.random.default_rng(2)
    u, v, seed = rng.normal(size=(3, 9, 8))
    blocks = ((3, 4, 2), (5, 3))

    def value(u: Any, c: float) -> Any:
        given = da.from_array(u, chunks=blocks)
        return tl.dask.map_overlap(skewed, given, c, depth=depth, boundary=boundary).compute()

    given = da.from_array(u, chunks=blocks)
    y, pullback = tl.dask.overlap_vjp(
        skewed, given, 0.4, wrt=("u", "c"), depth=depth, boundary=boundary
    )
    theirs = da.map_overlap(
        lambda u: skewed(u, 0.4), given, depth=depth, boundary=boundary, allow_rechunk=False
    )
    assert np.array_equal(y.compute(), theirs.compute())
    u_bar, c_bar = dask.compute(*pullback(seed))
    h = 1e-6
    slope = np.sum(seed * (value(u + h * v, 0.4) - value(u - h * v, 0.4))) / (2 * h)
    assert np.isclose(np.sum(u_bar * v), slope, rtol=1e-7, atol=1e-8)
    slope = np.sum(seed * (value(u, 0.4 + h) - value(u, 0.4 - h))) / (2 * h)
    assert np.isclose(c_bar, slope, rtol=1e-7, atol=1e-8)


def test_steps_over_blocks_are_those_of_the_whole_array() -> None:
    """Three steps forwards and back over four blocks, against the gradient of the whole."""

    def whole(u: Any, c: Any) -> Any:
        for _ in range(3):
            u = smoothed(np.concatenate([u[-1:], u, u[:1]]), c)[1:-1]
        return np.sum(u * u)

    start, c = np.linspace(0.2, 1.0, 12), 0.3
    states, pullbacks = [da.from_array(start, chunks=3)], []
    for _ in range(3):
        y, pullback = tl.dask.overlap_vjp(smoothed, states[-1], c, wrt=(0, 1), boundary="periodic")
        states.append(y)
        pullbacks.append(pullback)
    bar, c_bar = 2.0 * states[-1], 0.0
    for pullback in reversed(pullbacks):
        bar, part = pullback(bar)
        c_bar = c_bar + part
    got = dask.compute(bar, c_bar)
    expected = tl.grad(whole, wrt=(0, 1))(start, c)
    assert np.allclose(got[0], expected[0], rtol=1e-12) and np.isclose(got[1], expected[1])


# ------------------------------------------------------------------------------ other processes

SCRIPT = """
import numpy as np
import tangentlike as tl

def rate(z):
    return np.tanh(z)

def made(power):
    def loss(w, x):
        return np.sum(rate(x @ w) ** power)
    return loss

def clipped(z):
    return np.minimum(z, 1.0)

@tl.rule(clipped)
def straight_through(y, z):
    y_dot = z_dot
    z_bar = y_bar

def through(w, x):
    return np.sum(clipped(x * w))

if __name__ == "__main__":
    x = [np.eye(3) * k for k in (1.0, 2.0, 3.0)]
    df = tl.dask.grad(made(2), over="x", scheduler="processes", progress=True)
    heads = tl.dask.grad(made(2), over="x", head=lambda s: np.sqrt(s), scheduler="processes")
    w = np.array([0.1, 0.2, 0.3])
    try:
        tl.dask.grad(through, over="x", scheduler="processes")(2.0, x)
    except tl.TangentlikeError as error:
        print(error)
    print(*df(w, x), *heads(w, x))
"""


@pytest.mark.thorough
def test_functions_of_a_script_travel_to_other_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    printed = python(str(script), folder=tmp_path)
    assert "100%" in printed
    assert "through comes out differently in another process" in printed
    found = [float(word) for word in printed.split()[-6:]]
    w, scales = np.array([0.1, 0.2, 0.3]), (1.0, 2.0, 3.0)
    expected = sum(2 * k * np.tanh(k * w) * (1 - np.tanh(k * w) ** 2) for k in scales)
    total = sum(np.sum(np.tanh(k * w) ** 2) for k in scales)
    assert np.allclose(found, [*expected, *(expected / (2 * np.sqrt(total)))])


def test_what_travels_is_what_holds_now() -> None:
    """A function that travels by value takes its module's data along, as they are at each call."""
    text = "import numpy as np\n\ndef loss(w, x):\n    return scale * np.sum(w * x)\n"
    module: dict[str, Any] = {"__name__": "nowhere", "scale": 1.0}
    linecache.cache["<nowhere>"] = (len(text), None, text.splitlines(True), "<nowhere>")
    exec(compile(text, "<nowhere>", "exec"), module)
    shipped = Shipped(pullbacks.value_and_grad, module["loss"], wrt="w")
    for scale in (2.0, 3.0):
        module["scale"] = scale
        arrived = pickle.loads(pickle.dumps(shipped))
        assert arrived is pickle.loads(pickle.dumps(shipped)) and arrived.fn is not shipped.fn
        assert arrived(1.0, np.ones(2)) == (2.0 * scale, 2.0 * scale)
        assert shipped(1.0, np.ones(2)) == (2.0 * scale, 2.0 * scale)
    df = tl.dask.grad(module["loss"], over="x")
    for scale in (2.0, 3.0):
        module["scale"] = scale
        assert df(1.0, [np.ones(2)]) == 2.0 * scale


def normalised(w: Any, x: Any) -> Any:
    x -= np.mean(x)
    return np.sum(np.tanh(w * x)), np.sum(x * x)


def lifted(u: Any, c: Any) -> Any:
    u[1:-1] = u[1:-1] * c + u[:-2]
    return u


def test_data_are_left_alone_by_what_writes_them() -> None:
    parts = [X[:9].copy(), X[9:].copy()]
    for passes in (1, 2):
        df = tl.dask.grad(normalised, over="x", head=lambda s: s[0] * s[1], passes=passes)
        got = df(0.7, parts)
        assert np.array_equal(np.concatenate(parts), X)
        expected = tl.grad(lambda w: np.prod(add_pairs([normalised(w, p * 1.0) for p in parts])))
        assert np.isclose(got, expected(0.7))
    u = da.from_array(X[:, 0].copy(), chunks=9)
    y, pullback = tl.dask.overlap_vjp(lifted, u, 0.5, wrt=(0, 1), boundary="periodic")
    first = dask.compute(*pullback(np.ones(23)))
    together = dask.compute(y, *pullback(np.ones(23)), y)
    assert np.array_equal(together[0], together[3]) and np.array_equal(together[1], first[0])
    assert together[2] == first[1]


def add_pairs(pairs: Any) -> Any:
    return np.array([sum(a for a, _ in pairs), sum(b for _, b in pairs)])


def loaded(k: int, kill: str) -> Any:
    """A block; the first time that the fifth is loaded its worker is lost."""
    if k == 5 and not os.path.exists(kill):
        Path(kill).write_text("lost")
        os.kill(os.getpid(), signal.SIGKILL)
    return np.random.default_rng(k).normal(size=(20, 4))


@pytest.mark.thorough
def test_a_lost_worker_is_survived(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    scale = 1.5  # (a closure: the function travels by value)

    def loss(w: Any, x: Any) -> Any:
        return scale * np.sum(np.tanh(x @ w) ** 2)

    x = np.concatenate([loaded(k, str(tmp_path)) for k in range(12)])
    expected = tl.dask.grad(loss, over="x")(W, [loaded(k, str(tmp_path)) for k in range(12)])
    assert np.allclose(expected, tl.grad(loss)(W, x))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set(scheduler=None),
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster),
    ):
        kill = str(tmp_path / "lost")
        blocks = [dask.delayed(loaded)(k, kill) for k in range(12)]
        got = tl.dask.grad(loss, over="x")(W, blocks)
        assert os.path.exists(kill) and np.allclose(got, expected, rtol=1e-13)
        kept = [dask.delayed(loaded)(k, kill).persist() for k in range(12)]
        gradient = tl.dask.grad(stats, over="x", head=of_two, progress=True)(W, kept)
        assert np.allclose(gradient, tl.grad(whole_likelihood)(W, x))
