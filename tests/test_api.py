"""The public calls: what they take, what they give back, what they refuse."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.pipeline.table import STAGE_NAMES
from tangentlike.pytree import leaves

X = np.array([0.5, -1.0, 2.0])
Y = np.array([1.5, 0.25, -0.5])


def product(x: Any, y: Any) -> Any:
    return np.sum(x * y * y)


def cube(x: float) -> float:
    return x * x * x


# --------------------------------------------------------------------------- wrt and forms


def test_grad_of_the_first_argument() -> None:
    np.testing.assert_allclose(tl.grad(product)(X, Y), Y * Y)


@pytest.mark.parametrize("wrt", [1, -1, "y"])
def test_wrt_by_position_and_name(wrt: Any) -> None:
    np.testing.assert_allclose(tl.grad(product, wrt=wrt)(X, Y), 2 * X * Y)


def test_tuple_wrt_gives_a_tuple_in_the_order_asked() -> None:
    y_bar, x_bar = tl.grad(product, wrt=("y", 0))(X, Y)
    np.testing.assert_allclose(y_bar, 2 * X * Y)
    np.testing.assert_allclose(x_bar, Y * Y)
    (only,) = tl.grad(product, wrt=("x",))(X, Y)
    np.testing.assert_allclose(only, Y * Y)


def test_value_and_grad() -> None:
    value, gradient = tl.value_and_grad(product)(X, Y)
    assert value == product(X, Y)
    np.testing.assert_allclose(gradient, Y * Y)


def test_decorator_forms() -> None:
    @tl.grad
    def first(x: float) -> float:
        return x * x

    @tl.grad(wrt="b")
    def second(a: float, b: float) -> float:
        return a * b * b

    @tl.value_and_grad(wrt=(0, 1))
    def third(a: float, b: float) -> float:
        return a * b

    assert first(3.0) == 6.0
    assert second(2.0, 3.0) == 12.0
    assert third(2.0, 3.0) == (6.0, (3.0, 2.0))


def test_keyword_calls_and_defaults() -> None:
    def scaled(x: float, factor: float = 3.0, *, power: float = 2.0) -> float:
        return factor * x * power

    df = tl.grad(scaled)
    assert df(x=1.0) == 6.0
    assert df(1.0, power=1.0) == 3.0
    assert df(1.0, factor=5.0) == 10.0
    assert tl.grad(scaled, wrt="power")(2.0) == 6.0


def test_wrong_call_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="missing"):
        tl.grad(product)(X)


@pytest.mark.parametrize(
    ("wrt", "message"),
    [
        ("z", "product has no parameter 'z'"),
        (2, "wrt=2 is out of range: product has 2 parameters"),
        (-3, "wrt=-3 is out of range"),
        ((), "wrt is empty"),
        (("x", 0), "names `x` more than once"),
        (1.5, "positions and parameter names, not 1.5"),
        (True, "positions and parameter names, not True"),
    ],
)
def test_refused_wrt(wrt: Any, message: str) -> None:
    with pytest.raises(tl.TangentlikeError) as error:
        tl.grad(product, wrt=(wrt,) if isinstance(wrt, (bool, float)) else wrt)
    assert message in str(error.value)
    assert "`x`, `y`" in str(error.value) or "once" in str(error.value)


def test_not_a_function() -> None:
    with pytest.raises(tl.TangentlikeError, match="expected a function, got float"):
        tl.grad(cube(2.0))


# ------------------------------------------------------------------- what is handed back


def test_the_function_handed_back() -> None:
    df = tl.grad(product)
    assert inspect.isfunction(df)
    assert inspect.signature(df) == inspect.signature(product)
    assert df.__name__ == "product_grad"
    assert "def product_grad(" in df.source
    # (What stands by itself also checks what it was made for.)
    lines = df.source.splitlines(keepends=True)
    shown = "".join(line for line in lines if "@for_types(" not in line)
    assert inspect.getsource(df).strip() in shown
    assert tuple(df.stages) == STAGE_NAMES
    compile(df.source, "text", "exec")


def test_transformed_once() -> None:
    assert tl.grad(product) is tl.grad(product, wrt="x")
    assert tl.grad(product) is not tl.grad(product, wrt=("x",))


def test_same_text_each_time() -> None:
    def fresh() -> Any:
        def f(x: float, y: float) -> float:
            return x * y + x

        return f

    assert tl.grad(fresh()).source == tl.grad(fresh()).source


def test_closures_are_told_apart() -> None:
    def scaled(factor: float) -> Any:
        return lambda x: factor * x

    assert tl.grad(scaled(2.0))(1.0) == 2.0
    assert tl.grad(scaled(5.0))(1.0) == 5.0


def test_gradient_of_gradient() -> None:
    assert tl.grad(tl.grad(cube))(2.0) == 12.0
    assert tl.grad(tl.grad(tl.grad(cube)))(2.0) == 6.0


@tl.grad
def uses_later(x: float) -> float:
    return defined_later(x) * 2.0


def defined_later(x: float) -> float:
    return x * x


def test_a_decorator_above_its_helper_waits_for_the_first_call() -> None:
    assert "def uses_later" in str(uses_later.source)
    assert uses_later(3.0) == 12.0
    assert isinstance(uses_later.source, str)
    assert uses_later.__name__ == "uses_later_grad"


def test_methods_partials_and_callable_objects() -> None:
    import functools

    class Model:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def loss(self, x: float) -> float:
            return self.scale * x * x

        __call__ = loss

    assert tl.grad(Model(3.0).loss)(2.0) == 12.0
    assert tl.grad(Model(5.0).loss)(2.0) == 20.0
    assert tl.grad(Model(2.0))(2.0) == 8.0
    assert list(inspect.signature(tl.grad(Model(3.0).loss)).parameters) == ["x"]
    np.testing.assert_allclose(tl.grad(functools.partial(product, X))(Y), 2 * X * Y)
    np.testing.assert_allclose(tl.grad(functools.partial(product, y=Y))(X), Y * Y)
    assert tl.grad(functools.lru_cache(cube))(2.0) == 12.0


def test_threads_share_one_transform() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def f(x: float) -> float:
        return x * x

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: tl.grad(f), range(32)))
        assert len({id(m.__tangentlike__.derive()) for m in made}) == 1
        assert list(pool.map(lambda m: m(3.0), made)) == [6.0] * 32


# ------------------------------------------------------------------------------ both modes


def test_jvp() -> None:
    value, tangent = tl.jvp(product, (X, Y), (np.ones(3), None))
    assert value == product(X, Y)
    np.testing.assert_allclose(tangent, np.sum(Y * Y))
    assert tl.jvp(cube, (2.0,), (None,)) == (8.0, 0.0)
    assert tl.jvp(cube, (2.0,), (1,)) == (8.0, 12.0)


def test_jvp_refuses_what_does_not_fit() -> None:
    with pytest.raises(tl.TangentlikeError, match="1 primals and 2 tangents"):
        tl.jvp(cube, (2.0,), (1.0, 1.0))
    with pytest.raises(tl.TangentlikeError, match=r"tangent of `x` must have shape \(3,\)"):
        tl.jvp(product, (X, Y), (np.ones(2), None))
    with pytest.raises(tl.TangentlikeError, match="is the int 2"):
        tl.jvp(cube, (2,), (1.0,))


def test_pullback_runs_as_often_as_asked() -> None:
    def loop(w: Any, n: int) -> Any:
        h = w
        for _ in range(n):
            h = np.tanh(w * h)
        return h

    value, pullback = tl.vjp(loop, X, 4)
    first = pullback(np.ones(3))
    assert first[1] is None
    value *= 0.0  # the caller's own array
    second = pullback(np.ones(3))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_allclose(pullback(2.0 * np.ones(3))[0], 2 * first[0])


def test_pullback_of_in_place_writes_runs_twice() -> None:
    def smooth(a: Any) -> Any:
        for _ in range(3):
            a[1:-1] += 0.5 * (a[:-2] * a[2:])
        return a

    a = np.linspace(0.5, 1.0, 6)
    _, pullback = tl.vjp(smooth, a)
    seed = np.arange(6.0)
    first = pullback(seed)[0]
    np.testing.assert_array_equal(first, pullback(seed)[0])
    np.testing.assert_array_equal(seed, np.arange(6.0))
    np.testing.assert_array_equal(a, np.linspace(0.5, 1.0, 6))


def test_vjp_refuses_a_seed_of_another_shape() -> None:
    _, pullback = tl.vjp(lambda x: x * 2.0, X)
    with pytest.raises(tl.TangentlikeError, match=r"the seed must have shape \(3,\)"):
        pullback(1.0)


def test_autodiff_takes_seeds() -> None:
    _value, gradient = tl.autodiff(product, wrt=("x", "y"))(X, Y, 2.0)
    np.testing.assert_allclose(gradient[1], 4 * X * Y)
    _value, tangent = tl.autodiff(product, wrt="y", mode="forward")(X, Y, np.ones(3))
    np.testing.assert_allclose(tangent, np.sum(2 * X * Y))
    with pytest.raises(tl.TangentlikeError, match="'reverse' or 'forward', not 'both'"):
        tl.autodiff(product, mode="both")


def test_numpy_functions_themselves() -> None:
    _value, pullback = tl.vjp(np.sum, X)
    np.testing.assert_array_equal(pullback(2.0)[0], [2.0, 2.0, 2.0])
    _, pullback = tl.vjp(np.sum, np.ones((2, 3)), axis=0)
    assert pullback(X)[0].shape == (2, 3)
    assert tl.grad(np.sin)(0.0) == 1.0
    np.testing.assert_array_equal(tl.grad(np.sum)(X), [1.0, 1.0, 1.0])
    assert tl.jvp(np.multiply, (2.0, 3.0), (1.0, 1.0)) == (6.0, 5.0)
    assert tl.grad(abs)(-2.0) == -1.0


# ------------------------------------------------------------------------ whole derivatives


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobian(mode: str) -> None:
    expected = np.diag(2 * X)
    np.testing.assert_allclose(tl.jacobian(lambda x: x * x, mode=mode)(X), expected)
    assert tl.jacobian(cube, mode=mode)(2.0) == 12.0
    found = tl.jacobian(lambda x: x * Y, mode=mode)(2.0)
    np.testing.assert_allclose(found, Y)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobian_of_several_results_by_several_arguments(mode: str) -> None:
    def both(x: Any, s: float) -> Any:
        return x * s, np.sum(x)

    of_product, of_sum = tl.jacobian(both, wrt=(0, 1), mode=mode)(X, 2.0)
    np.testing.assert_allclose(of_product[0], 2 * np.eye(3))
    np.testing.assert_allclose(of_product[1], X)
    np.testing.assert_allclose(of_sum[0], np.ones(3))
    assert of_sum[1] == 0.0


def test_hessian_and_hvp() -> None:
    np.testing.assert_allclose(tl.hessian(lambda x: np.sum(x**3))(X), np.diag(6 * X))
    (xx, xy), (yx, yy) = tl.hessian(product, wrt=(0, 1))(X, Y)
    np.testing.assert_allclose(xx, np.zeros((3, 3)), atol=1e-15)
    np.testing.assert_allclose(xy, np.diag(2 * Y))
    np.testing.assert_allclose(yx, np.diag(2 * Y))
    np.testing.assert_allclose(yy, np.diag(2 * X))
    np.testing.assert_allclose(tl.hvp(product, wrt=1)(X, Y, np.ones(3)), 2 * X)
    parts = tl.hvp(product, wrt=(0, 1))(X, Y, (np.ones(3), None))
    np.testing.assert_allclose(parts[1], 2 * Y)
    assert tl.hvp(cube)(2.0, v=1.0) == 12.0
    assert list(inspect.signature(tl.hvp(cube)).parameters) == ["x", "v"]


# ---------------------------------------------------------------------------- the structure


def test_floats_stay_floats_and_arrays_keep_their_dtype() -> None:
    assert type(tl.grad(cube)(2.0)) is float
    assert type(tl.grad(cube)(np.float32(2.0))) is np.float32
    zero_d = tl.grad(cube)(np.array(2.0))
    assert isinstance(zero_d, np.ndarray) and zero_d.shape == ()
    assert tl.grad(product)(X.astype(np.float32), Y).dtype == np.float32
    assert tl.grad(lambda x, y: np.sum(x))(X, Y).dtype == float


def test_containers_get_their_own_type() -> None:
    import collections

    Layer = collections.namedtuple("Layer", "w b")

    def affine(layer: Any, x: Any) -> Any:
        return np.sum(layer[0] * x + layer[1])

    gradient = tl.grad(affine)(Layer(X, 1.0), Y)
    assert type(gradient) is Layer
    np.testing.assert_allclose(gradient.w, Y)
    assert gradient.b == 3.0
    assert type(tl.grad(affine)([X, 1.0, "name", 3], Y)) is list
    assert tl.grad(affine)([X, 1.0, "name", 3], Y)[2:] == [None, None]
    found = tl.grad(lambda p: p["a"] * p["b"])({"a": 2.0, "b": 3.0, "unused": X})
    assert (found["a"], found["b"]) == (3.0, 2.0)
    np.testing.assert_array_equal(found["unused"], np.zeros(3))


def test_unused_argument_gets_zeros() -> None:
    np.testing.assert_array_equal(tl.grad(lambda x, y: np.sum(y))(X, Y), np.zeros(3))
    assert tl.grad(lambda x, y: y)(1.0, 2.0) == 0.0


def test_gradients_own_their_memory() -> None:
    a_bar, b_bar = tl.grad(lambda a, b: np.sum(a + b), wrt=(0, 1))(X, Y)
    a_bar *= 0.0
    np.testing.assert_array_equal(b_bar, np.ones(3))
    seed = np.ones(3)
    _, pullback = tl.vjp(lambda x: x + 1.0, X)
    found = pullback(seed)[0]
    found[0] = 7.0
    assert seed[0] == 1.0
    total = tl.grad(lambda x: np.sum(x))(X)
    total[0] = 5.0  # not a read-only broadcast


def test_aux() -> None:
    def with_aux(x: float) -> Any:
        return x * x, ("aux", x)

    assert tl.grad(with_aux, has_aux=True)(3.0) == (6.0, ("aux", 3.0))
    assert tl.value_and_grad(with_aux, has_aux=True)(3.0) == ((9.0, ("aux", 3.0)), 6.0)


# ----------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("value", [2, True, np.int64(3), np.arange(3), np.array([True])])
def test_integers_are_refused_with_the_name(value: Any) -> None:
    with pytest.raises(tl.TangentlikeError, match=r"with respect to `x`.*\n.*float"):
        tl.grad(cube)(value)


def test_results_that_are_no_scalars() -> None:
    with pytest.raises(tl.TangentlikeError) as error:
        tl.grad(lambda x: 2.0 * x)(X)
    assert "shape (3,)" in str(error.value)
    assert "tl.vjp" in str(error.value) and "tl.jacobian" in str(error.value)


EIGHT = np.arange(8.0)


def test_gradients_by_several_arguments_own_their_memory() -> None:
    """The adjoints of `a` and `b` are one value, and that of `c` a view of an outer array."""

    def total(a: Any, b: Any, c: Any) -> Any:
        return np.sum(a + b) + np.sum(c * EIGHT[1:])

    given = (np.ones(3), np.ones(3), np.ones(7))
    found = tl.grad(total, wrt=(0, 1, 2))(*given)
    every = (*found, *given, EIGHT)
    pairs = ((a, b) for i, a in enumerate(every) for b in every[:i] if a is not b)
    assert not any(np.may_share_memory(a, b) for a, b in pairs)
    for bar in found:
        bar[...] = 5.0  # (one that is not writeable, or another one's, would show)
    assert [bar.tolist() for bar in tl.grad(total, wrt=(0, 1, 2))(*given)] == [
        [1.0] * 3,
        [1.0] * 3,
        list(range(1, 8)),
    ]


def test_what_is_complex_in_a_container_is_seen() -> None:
    ring: list[Any] = [1.0]
    ring.append(ring)
    real = [1.0, (2, "a", None), {"w": np.ones(2)}, np.float32(1.0), True]
    assert not leaves.is_complex(real) and not leaves.is_complex(ring)
    for value in (1j, np.complex64(1), np.ones(2, complex), {"w": [1j]}, [ring, (0.0, 1j)]):
        assert leaves.is_complex(value) and leaves.is_complex([*real, value])


def test_shared_memory_with_a_written_argument() -> None:
    def bump(a: Any, b: Any) -> Any:
        a[0] = a[1] * 2.0
        return np.sum(a * b)

    x = np.ones(4)
    for first, second in [(x, x), (x[:3], x[1:])]:
        with pytest.raises(tl.TangentlikeError, match=r"writes its argument `a`.*`b` shares"):
            tl.grad(bump)(first, second)
        with pytest.raises(tl.TangentlikeError, match="shares memory"):
            tl.vjp(bump, first, second)
    np.testing.assert_array_equal(tl.grad(bump)(x[::2], x[1::2]), [0.0, 3.0])


SHARED = np.ones(3)


def test_shared_memory_with_a_global() -> None:
    def scale(a: Any) -> Any:
        a[0] = 2.0 * a[0]
        return np.sum(a * SHARED)

    with pytest.raises(tl.TangentlikeError, match="outer `SHARED` shares memory"):
        tl.grad(scale)(SHARED)


def test_an_exception_names_the_primal_line() -> None:
    def failing(x: Any, n: int) -> Any:
        total = 0.0
        for i in range(n):
            total = total + x[i] * x[i]
        return total

    with pytest.raises(IndexError) as error:
        tl.grad(failing)(X, 5)
    (note,) = error.value.__notes__
    line = inspect.getsourcelines(failing)[1] + 3
    assert f"test_api.py:{line}: total = total + x[i] * x[i]" in note


def test_only_tapes_with_restored_arrays_are_copied_whole() -> None:
    def reads(x: Any) -> Any:
        for _ in range(2):
            x = np.tanh(x * x)
        return x

    def writes(a: Any) -> Any:
        for _ in range(2):
            a[0] = a[0] * a[1]
        return np.sum(a)

    from tangentlike.api.calls import _derivation
    from tangentlike.frontend.primal import primal_of

    assert not _derivation(primal_of(reads), "pair", ("x",)).writes_tape
    assert _derivation(primal_of(writes), "pair", ("a",)).writes_tape


def test_a_fresh_tape_keeps_what_is_shared() -> None:
    from tangentlike.runtime.tape import fresh_tape

    a = np.arange(6.0).reshape(2, 3)
    stack = [a, [1.0]]
    tape = (a, a[1], a.T, stack, stack, 2.0)
    b, row, turned, first, second, number = fresh_tape(tape)
    row[0] = 100.0
    assert b[1, 0] == turned[0, 1] == 100.0 and a[1, 0] == 3.0
    assert first is second and first[0] is b and number == 2.0
    first[1].pop()
    assert stack[1] == [1.0]
    light = fresh_tape(tape, arrays=False)
    assert light[0] is a and light[3] is not stack
    permuted = np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0).copy(order="K")
    whole, part, backwards = fresh_tape((permuted, permuted[1], permuted[::-1]))
    np.testing.assert_array_equal(whole, permuted)
    part[0] = -1.0
    np.testing.assert_array_equal(backwards[1], whole[1])
    assert whole[1, 0, 0] == -1.0 and permuted[1, 0, 0] != -1.0
    empty = np.zeros((0, 3))
    assert fresh_tape((empty, empty[:, 1:]))[1].shape == (0, 2)
    window = np.lib.stride_tricks.sliding_window_view(np.arange(4.0), 2)
    np.testing.assert_array_equal(fresh_tape((window,))[0], window)


# ------------------------------------------------------------------------------- complex


def squared_size(z: Any) -> Any:
    return np.sum((z * np.conj(z)).real)


def test_complex_arguments_get_their_own_derivative() -> None:
    z = np.array([1.0 + 2.0j, -0.5j])
    df = tl.grad(squared_size)
    np.testing.assert_allclose(df(z), 2 * z)
    np.testing.assert_allclose(df(z.real), 2 * z.real)
    np.testing.assert_allclose(tl.vjp(squared_size, z)[1](1.0)[0], 2 * z)
    tl.check_grads(lambda z, x: np.sum(abs(z * x) ** 2), (z, np.array([1.0, 2.0])), order=2)
    assert tl.grad(lambda z: abs(z * z))(1.0j) == pytest.approx(2.0j)


def test_derivatives_of_derivatives_know_of_complex_arguments_too() -> None:
    z = np.array([1.0 + 2.0j, -0.5j])

    def direct(z: Any) -> Any:
        return np.sum(np.real(z * z * np.exp(1j * z)))

    v = np.array([0.5 - 1.0j, 2.0 + 0.25j])
    eps = 1e-5
    found = tl.hvp(direct)(z, v)
    slope = tl.grad(direct)
    np.testing.assert_allclose(found, (slope(z + eps * v) - slope(z - eps * v)) / (2 * eps), 1e-6)


def test_a_complex_result_has_no_gradient() -> None:
    def square(z):
        return z * z

    def total(z):
        return np.sum(z * z)

    for fn in (square, total):
        with pytest.raises(tl.TangentlikeError, match="complex"):
            tl.grad(fn)(np.array(1.0 + 2.0j))


# ------------------------------------------------------------- annotations that do not hold


def stretched(a: float, x: Any) -> Any:
    s = a * x
    return np.sum(s * s)


def counted(x: Any, n: int) -> Any:
    return np.sum(x * n * n)


def test_a_false_annotation_is_not_believed() -> None:
    a, x = np.array([[2.0], [5.0]]), np.array([1.0, 2.0, 3.0])
    a_bar, x_bar = tl.grad(stretched, wrt=("a", "x"))(a, x)
    np.testing.assert_allclose(a_bar, 2 * a * np.sum(x * x))
    np.testing.assert_allclose(x_bar, 2 * x * np.sum(a * a))
    assert tl.vjp(counted, 2.0, 3.0)[1](1.0) == (9.0, 12.0)
    assert tl.jvp(counted, (2.0, 3.0), (0.0, 1.0)) == (18.0, 12.0)
    assert tl.grad(counted, wrt="n")(2.0, 3.0) == 12.0
    second = tl.grad(tl.grad(counted, wrt="n"), wrt="n")
    assert second(2.0, 3.0) == 4.0
    np.testing.assert_allclose(tl.hvp(stretched, wrt="x")(a, x, np.ones(3)), 2 * np.sum(a * a))
    tl.check_grads(stretched, (a, x), order=2)


def test_a_false_annotation_that_cannot_be_mended_is_refused() -> None:
    def f(x: float, *, n: int) -> float:
        return x * n

    assert tl.grad(f)(2.0, n=3) == 3.0
    with pytest.raises(tl.TangentlikeError, match="`n` of f does not match its annotation"):
        tl.grad(f)(2.0, n=3.0)


def penalised(w, x, weight=0.1, rounds=2):  # type: ignore[no-untyped-def]
    s = weight * np.sum(w**2)
    for _ in range(rounds):
        s = s + np.sum(np.tanh(x @ w))
    return s


def test_an_example_may_leave_out_numbers_with_defaults() -> None:
    w, x = np.array([0.1, 0.4]), np.ones((3, 2))
    short = tl.grad(penalised, example=(w, x))
    assert "unbroadcast" not in short.source and "scalar_seed" not in short.source
    for options in ({}, {"weight": 2}, {"weight": np.array(0.5)}, {"weight": 0.3, "rounds": 1}):
        want = 2.0 * options.get("weight", 0.1) * w  # type: ignore[attr-defined]
        slope = 3.0 * (1.0 - np.tanh(0.5) ** 2) * options.get("rounds", 2)  # type: ignore[attr-defined]
        np.testing.assert_allclose(short(w, x, **options), want + slope)


def test_an_example_binds_nobody() -> None:
    def affine(x: Any, b: Any) -> Any:
        r = x + b
        return np.sum(r * r)

    wrt = ("x", "b")
    df = tl.grad(affine, wrt=wrt, example=(np.ones((3, 2)), np.ones((3, 2))))
    assert "unbroadcast" not in df.source
    for x, b in [
        (np.ones((5, 2)), np.ones((5, 2))),
        (np.ones((3, 2)), np.ones(2)),
        (np.ones((3, 1)), np.ones((1, 2))),
        (1.0, np.ones((3, 2))),
    ]:
        expected = tl.grad(affine, wrt=wrt)(x, b)
        for got, wanted in zip(df(x, b), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_a_target_that_is_not_there_is_refused() -> None:
    def f(x):
        return x * x

    with pytest.raises(tl.UnsupportedError, match="no target 'fortran'"):
        tl.grad(f, target="fortran")


# --------------------------------------------------------------------------- forgotten returns


def returns_nothing(x):
    y = np.sum(x * x)  # noqa: F841


@pytest.mark.parametrize("operator", [tl.grad, tl.value_and_grad])
def test_a_function_that_returns_nothing_has_no_gradient(operator) -> None:
    with pytest.raises(tl.TangentlikeError, match="returns None"):
        operator(returns_nothing)(X)


def test_a_text_is_nothing_to_differentiate_by() -> None:
    with pytest.raises(tl.TangentlikeError, match="is the str 'fast'"):
        tl.grad(cube)("fast")


def test_a_library_that_is_given_a_function_says_so() -> None:
    optimize = pytest.importorskip("scipy.optimize")

    def nearest(x):
        return optimize.minimize(lambda z: np.sum((z - x) ** 2), np.zeros(3)).x.sum()

    with pytest.raises(tl.UnsupportedError, match="a function that uses `x` is stored"):
        tl.grad(nearest)(X)


@pytest.mark.parametrize("seed", [np.ones(3), np.ones((2, 2)), [1.0, 1.0], 1.0])
@pytest.mark.parametrize("f", [lambda x, y: x + y, lambda x, y: np.sin(x) * y])
def test_seeds_of_autodiff_have_the_shape_of_the_value(f, seed):
    with pytest.raises(tl.TangentlikeError, match="must (have shape|be a number)"):
        tl.autodiff(f)(np.ones(2), np.ones(2), seed)
    with pytest.raises(tl.TangentlikeError, match="must (have shape|be a number)"):
        tl.autodiff(f, mode="forward")(np.ones(2), np.ones(2), seed)


def test_seeds_of_autodiff_that_fit():
    df = tl.autodiff(lambda x, y: x * y, wrt=("x", "y"), mode="forward")
    assert df(2.0, 3.0, 1.0, 0.5) == (6.0, 4.0)
    assert df(2.0, 3.0, y_dot=1, x_dot=0.0) == (6.0, 2.0)
    with pytest.raises(tl.TangentlikeError, match="must have shape"):
        tl.autodiff(lambda x: np.sum(x))(np.ones(3), np.ones(3))  # (it would broadcast)


@pytest.mark.parametrize(
    "make",
    [lambda x: x.astype(int), lambda x: x > 0.5, lambda x: np.argsort(x), lambda x: ["a", "b"]],
    ids=["integers", "flags", "places", "strings"],
)
@pytest.mark.parametrize("derivative", [tl.grad, tl.value_and_grad, tl.hessian])
def test_a_result_that_is_no_number_and_carries_no_derivative(derivative: Any, make: Any) -> None:
    """It has no gradient, as one that carries some has none: no zeros are given for it."""
    x = np.array([0.3, 1.2])
    with pytest.raises(tl.TangentlikeError, match="not a scalar"):
        derivative(make)(x)
    with pytest.raises(tl.TangentlikeError, match="not a scalar"):
        derivative(lambda x: (make(x), np.sum(x)), has_aux=True)(x)


def test_an_integer_that_depends_on_the_argument_has_gradient_zero() -> None:
    x = np.array([0.3, 1.2])
    np.testing.assert_array_equal(tl.grad(lambda x: int(np.argmax(x)))(x), [0.0, 0.0])
    np.testing.assert_array_equal(tl.grad(lambda x: x.astype(int).sum())(x), [0.0, 0.0])
