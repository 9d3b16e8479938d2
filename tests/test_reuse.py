"""`reuse=True`: adjoints in the memory of dead arrays, the same to the last bit; `keep_memory`."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tangentlike as tl
from tests.generator import arguments, generate, load
from tests.processes import python

RNG = np.random.default_rng(0)
X, Y, W = RNG.uniform(0.5, 1.5, (3, 4, 3))
NARROW = W.astype(np.float32)


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal to the last bit, dtypes included."""
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    first, second = np.asarray(a), np.asarray(b)
    return first.dtype == second.dtype and np.array_equal(first, second, equal_nan=True)


def compared(fn: Callable[..., Any], *args: Any, **options: Any) -> str:
    """The text with `reuse=True`, whose gradient is that without it, whenever it is called."""
    wrt = tuple(n for n, a in enumerate(args) if isinstance(a, (float, np.ndarray)))
    plain = tl.value_and_grad(fn, wrt=wrt, **options)
    reused = tl.value_and_grad(fn, wrt=wrt, reuse=True, **options)
    given = pickle.dumps(args)
    want = plain(*args)
    assert same(reused(*args), want)
    assert same(reused(*args), want)
    assert pickle.dumps(args) == given
    return str(reused.source)


# ------------------------------------------------------------------------- dead arrays


def fit(a: Any, b: Any, x: Any, y: Any) -> Any:
    r = a * np.exp(-b * x) - y
    return np.sum(r**2) / r.size


def layer(x: Any, g: Any, w: Any) -> Any:
    m = x.mean(-1, keepdims=True)
    s = np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)
    z = np.tanh((x - m) / s * g)
    return np.sum((z - w) ** 2)


def recurrent(w: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        x = np.tanh(w * x + 0.1)
    return np.sum(x**2)


def powers(x: Any, y: Any) -> Any:
    z = x * y
    return np.sum(z**3 / (1.0 + z**2) - np.exp(-z) ** 0.5)


@pytest.mark.parametrize(
    ("fn", "args"),
    [(fit, (1.3, 0.4, X, Y)), (layer, (X, Y[0], W)), (recurrent, (W, X, 3)), (powers, (X, Y))],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_adjoints_in_the_memory_of_dead_arrays(fn: Any, args: Any) -> None:
    assert "out=" in compared(fn, *args)
    tl.check_grads(lambda *given: fn(*given, *args[len(given) :]), args[:2], modes=("rev",))


def scaled(z: Any, k: Any) -> Any:
    return np.sin(z) * k


def helped(x: Any, y: Any) -> Any:
    return np.sum(scaled(x * y, 2.0) ** 2 * y)


def test_adjoints_of_helpers() -> None:
    compared(helped, X, Y)


def test_what_is_given_back_stays() -> None:
    def f(x: Any, y: Any) -> Any:
        z = x * y
        return np.sum(z * z), (z, z[1:])

    plain = tl.grad(f, has_aux=True)(X, Y)
    gradient, (z, part) = tl.grad(f, has_aux=True, reuse=True)(X, Y)
    assert same(gradient, plain[0])
    assert same(z, X * Y)
    assert same(part, (X * Y)[1:])


def test_names_that_share_memory_stay() -> None:
    def f(x: Any, y: Any) -> Any:
        z = x * y
        first, rows, kept = z[0], [z], z
        r = z * z
        return np.sum(r * r) + np.sum(first**3) + np.sum(rows[0] ** 3) + np.sum(kept)

    compared(f, X, Y)


def test_what_a_closure_reads_stays() -> None:
    def f(x: Any, y: Any) -> Any:
        z = x * y
        ask = lambda: np.sum(z * y)  # noqa: E731
        r = z * z
        return np.sum(r * r) * ask()

    compared(f, X, Y)


def test_arrays_of_other_shapes_stay() -> None:
    def f(x: Any, y: Any) -> Any:
        row = np.exp(y[0])
        return np.sum(x * row) + np.sum(np.sin(row)) * np.sum(x[:, :1] * y)

    compared(f, X, Y)


def test_adjoints_by_identity() -> None:
    def f(x: Any, y: Any, n: int) -> Any:
        a, b = x * y, x - y
        for k in range(n):
            c = a if k % 2 == 0 else b
            c[k] *= np.sum(b * b)
        return np.sum(a * a * b)

    compared(f, X, Y, 3)


# ------------------------------------------------------------------------------------ precision


def test_narrow_floats_are_computed_as_without() -> None:
    """Arrays of mixed precision would be rounded: the call gets the derivative without buffers."""
    narrow = X.astype(np.float32)
    assert "out=" not in compared(fit, 1.3, 0.4, narrow, Y)
    assert "out=" not in compared(fit, 1.3, 0.4, narrow, Y.astype(np.float32))
    assert "out=" in compared(fit, 1.3, 0.4, X, Y)


def outer(x: Any, y: Any) -> Any:
    z = x * y
    return np.sum((z * z - NARROW) ** 2) * np.sum(NARROW * y)


def cast(x: Any, y: Any) -> Any:
    z = (x * y).astype("float32")
    return np.sum((z - 2.0) ** 2) * np.sum(y)


def made(x: Any, y: Any) -> Any:
    z = x * y * np.full(3, 2.0, np.float32)
    return np.sum((z - 2.0) ** 2)


@pytest.mark.parametrize("fn", [outer, cast, made])
def test_narrow_floats_of_the_program(fn: Any) -> None:
    assert "out=" not in compared(fn, X, Y)


def test_a_saved_text_is_for_doubles() -> None:
    text = tl.grad(fit, wrt="a", example=(1.3, 0.4, X, Y), reuse=True).source
    assert "x, y: float64[" in text
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    assert same(namespace["fit_grad"](1.3, 0.4, X, Y), tl.grad(fit, wrt="a")(1.3, 0.4, X, Y))
    with pytest.raises(TypeError, match=r"x: float32\[4, 3\], y: float\[4, 3\]"):
        namespace["fit_grad"](1.3, 0.4, X.astype(np.float32), Y)


# ---------------------------------------------------------------------------- beside other options


def test_it_is_differentiated_as_without() -> None:
    by_name = tl.grad(powers, reuse=True)

    def total(x: Any) -> Any:
        return np.sum(by_name(x, Y) ** 2)

    gradient = tl.grad(total)
    assert same(gradient(X), tl.grad(lambda x: np.sum(tl.grad(powers)(x, Y) ** 2))(X))
    assert "out=" not in gradient.source


def test_it_is_part_of_the_name() -> None:
    reused = tl.grad(fit, wrt="a", reuse=True)
    again = pickle.loads(pickle.dumps(reused))
    again(1.3, 0.4, X, Y)
    assert "out=" in again.source
    assert reused is tl.grad(fit, wrt="a", reuse=True) is not tl.grad(fit, wrt="a")


@pytest.mark.parametrize("target", ["numba", "cupy-fused"])
def test_compilers_have_no_use_for_it(target: str) -> None:
    with pytest.raises(tl.TangentlikeError, match="reuse=True is for target='numpy'"):
        tl.grad(fit, target=target, reuse=True)


# ------------------------------------------------------------------------------------ generated

LEAVES = ("x", "y", "x[0]", "x[:, :1]", "k")
BINARY = ("{} * {}", "{} + {}", "{} - {}", "{} / (1.5 + {} ** 2)", "np.maximum({}, {})")
UNARY = (
    "np.sin({})",
    "np.exp(-{})",
    "np.tanh({})",
    "-{}",
    "{} ** 2",
    "{} ** 3",
    "1.0 / (3.0 + {})",
)


@st.composite
def elementwise(draw: st.DrawFn) -> str:
    """A program of elementwise operations, names read once or several times, some of them a sum."""
    names = [*LEAVES]
    lines = ["def program(x, y, k):"]
    for n in range(draw(st.integers(2, 9))):
        form = draw(st.sampled_from(BINARY + UNARY))
        value = form.format(*(draw(st.sampled_from(names)) for _ in range(form.count("{}"))))
        if draw(st.integers(0, 5)) == 0:
            value = f"np.sum({value}, axis=-1, keepdims=True)"
        name = draw(st.sampled_from([f"t{n}", f"t{max(n - 1, 0)}"]))
        lines.append(f"    {name} = {value}")
        names = [*dict.fromkeys((*names, name))]
    ends = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))
    return "\n".join([*lines, f"    return {' + '.join(f'np.sum({e} ** 2)' for e in ends)}", ""])


@settings(max_examples=15, deadline=None, derandomize=True)
@given(elementwise())
def test_elementwise_programs(source: str) -> None:
    compared(load(source, f"reuse {hash(source)}"), X, Y, 0.7)


@pytest.mark.thorough
@pytest.mark.parametrize("features", ["straight", "inplace", "taken", "iterated", "kept"])
def test_generated_programs(features: str) -> None:
    for seed in range(4):
        args = arguments(seed)
        try:
            compared(load(generate(seed, features), f"reuse {features} {seed}"), *args)
        except tl.UnsupportedError:
            continue


# ---------------------------------------------------------------------------------- kept memory


def test_memory_is_kept_by_the_process() -> None:
    """The setting is the process's: it is made in another one."""
    text = "import tangentlike as tl; print(tl.keep_memory(), tl.keep_memory(limit=0))"
    assert python("-c", text) in ("True True\n", "False False\n")
    with pytest.raises(ValueError, match="limit= is a number of bytes, not -1"):
        tl.keep_memory(-1)
