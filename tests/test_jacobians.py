"""Jacobians of containers, with auxiliary results, of complex functions, and differentiated again;
Hessian products; tangent maps."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.programs import BY_NAME

X = np.array([0.5, -1.2, 2.0])
MODES = ["auto", "forward", "reverse"]


class Layer(NamedTuple):
    w: np.ndarray
    b: float


@dataclasses.dataclass
class Body:
    place: np.ndarray
    mass: float


def affine(layer: Layer, x: np.ndarray) -> dict[str, Any]:
    y = np.tanh(layer.w @ x + layer.b)
    return {"y": y, "size": len(x), "total": np.sum(y)}


def with_aux(x: Any) -> Any:
    return np.sum(x * x), x


def by_differences(f: Any, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    columns = []
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = h
        columns.append((np.asarray(f(x + step)) - np.asarray(f(x - step))) / (2 * h))
    return np.stack(columns, axis=-1).reshape(np.shape(columns[0]) + x.shape)


# ------------------------------------------------------------------------------ containers


@pytest.mark.parametrize("mode", MODES)
def test_the_result_has_the_structure_of_the_value_over_that_of_the_argument(mode: str) -> None:
    layer = Layer(np.arange(6.0).reshape(2, 3) / 7.0, 0.25)
    found = tl.jacobian(affine, wrt=("layer", "x"), mode=mode)(layer, X)
    assert set(found) == {"y", "size", "total"} and found["size"] is None
    of_layer, of_x = found["y"]
    assert type(of_layer) is Layer and of_layer.w.shape == (2, 2, 3) and of_layer.b.shape == (2,)
    expected = by_differences(lambda x: affine(layer, x)["y"], X)
    np.testing.assert_allclose(of_x, expected, rtol=1e-7)
    np.testing.assert_allclose(
        of_layer.w, by_differences(lambda w: affine(Layer(w, 0.25), X)["y"], layer.w), atol=1e-8
    )
    of_layer, of_x = found["total"]
    assert isinstance(of_layer.b, float)
    np.testing.assert_allclose(of_x, expected.sum(axis=0), rtol=1e-7)


@pytest.mark.parametrize("mode", MODES)
def test_objects_keep_their_type(mode: str) -> None:
    def energy(body: Body) -> Any:
        return body.mass * body.place**2

    found = tl.jacobian(energy, mode=mode)(Body(X, 3.0))
    assert type(found) is Body
    np.testing.assert_allclose(found.place, np.diag(6.0 * X))
    np.testing.assert_allclose(found.mass, X**2)


def test_hessian_of_a_dict() -> None:
    def loss(p: dict[str, Any]) -> Any:
        return np.sum(p["w"] ** 2) * p["b"] ** 3

    found = tl.hessian(loss)({"w": X, "b": 2.0})
    np.testing.assert_allclose(found["w"]["w"], 16.0 * np.eye(3))
    np.testing.assert_allclose(found["w"]["b"], 24.0 * X)
    np.testing.assert_allclose(found["b"]["w"], 24.0 * X)
    assert found["b"]["b"] == pytest.approx(12.0 * np.sum(X**2))


@pytest.mark.parametrize("mode", MODES)
def test_numbers_arrays_without_entries_and_single_precision(mode: str) -> None:
    assert tl.jacobian(lambda x: x**3, mode=mode)(2.0) == 12.0
    assert tl.jacobian(lambda x: 2.0 * x, mode=mode)(np.zeros(0)).shape == (0, 0)
    single = tl.jacobian(lambda x: x * x, mode=mode)(X.astype(np.float32))
    assert single.dtype == np.float32
    assert tl.jacobian(lambda x: x * x, mode=mode)(np.array(3.0)).shape == ()


def test_forward_and_reverse_by_name() -> None:
    w = np.arange(6.0).reshape(2, 3)
    for operator in (tl.jacfwd, tl.jacrev):
        np.testing.assert_allclose(operator(lambda x: w @ x)(X), w)
        matrix, aux = operator(lambda x: (w @ x, "aux"), has_aux=True)(X)
        np.testing.assert_allclose(matrix, w)
        assert aux == "aux"


def test_auxiliary_results() -> None:
    def loss(x: Any) -> Any:
        return np.sum(x**3), {"mean": np.mean(x), "n": 3}

    matrix, aux = tl.hessian(loss, has_aux=True)(X)
    np.testing.assert_allclose(matrix, np.diag(6 * X))
    assert aux["n"] == 3 and aux["mean"] == np.mean(X)
    product, aux = tl.hvp(loss, has_aux=True)(X, X)
    np.testing.assert_allclose(product, 6 * X * X)
    assert aux["n"] == 3
    with pytest.raises(tl.TangentlikeError, match="must return"):
        tl.jacobian(lambda x: x * x, has_aux=True, mode="forward")(X)


def test_derivatives_pickle_by_how_they_were_made() -> None:
    for found in (
        tl.jacobian(with_aux, has_aux=True, holomorphic=True),
        tl.hvp(with_aux, wrt="x", has_aux=True),
        tl.sparse_jacobian(affine, wrt="x"),
        tl.sparse_hessian(cubes),
    ):
        assert pickle.loads(pickle.dumps(found)) is found


# ----------------------------------------------------------------------------------- complex

Z = np.array([1.0 + 2.0j, -0.5 + 0.25j])


@pytest.mark.parametrize("mode", MODES)
def test_holomorphic_functions(mode: str) -> None:
    w = np.array([[1.0j, 2.0], [0.5, 1.0 - 1.0j], [3.0, 0.0]])

    def f(z: Any) -> Any:
        return np.exp(w @ z) * z[0]

    found = tl.jacobian(f, mode=mode, holomorphic=True)(Z)
    expected = np.exp(w @ Z)[:, None] * (w * Z[0] + np.array([1.0, 0.0]))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    number = tl.jacobian(lambda z: z**3, mode=mode, holomorphic=True)(1.0 + 1.0j)
    assert number == pytest.approx(3 * (1 + 1j) ** 2)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_not_holomorphic_is_refused(mode: str) -> None:
    with pytest.raises(tl.TangentlikeError, match="is not holomorphic"):
        tl.jacobian(lambda z: z * np.conj(z[0]), mode=mode, holomorphic=True)(Z)
    with pytest.raises(tl.TangentlikeError, match="is not complex"):
        tl.jacobian(lambda z: z * z, mode=mode, holomorphic=True)(X)
    with pytest.raises(tl.UnsupportedError, match="holomorphic=True"):
        tl.jacobian(lambda z: z * z, mode=mode)(Z)


def test_complex_values_of_real_arguments_are_differentiated_forward() -> None:
    def f(x: Any) -> Any:
        return np.exp(1j * x)

    np.testing.assert_allclose(tl.jacobian(f)(X), np.diag(1j * np.exp(1j * X)))
    with pytest.raises(tl.UnsupportedError, match='mode="forward"'):
        tl.jacobian(f, mode="reverse")(X)


# ---------------------------------------------------------------------- one value, many sweeps


def noisy(x: Any, rng: Any) -> Any:
    return x * rng.normal(size=3)


def test_forward_mode_refuses_what_is_different_each_time() -> None:
    with pytest.raises(tl.TangentlikeError, match="a different value each time"):
        tl.jacobian(noisy, mode="forward")(X, np.random.default_rng(0))
    matrix = tl.jacobian(noisy, mode="reverse")(X, np.random.default_rng(0))
    np.testing.assert_allclose(matrix, np.diag(np.random.default_rng(0).normal(size=3)))


PULLED = [
    "inplace.swapped_buffers",
    "inplace.list_items",
    "grids.gauss_seidel_2d",
    "factorizations.gram_schmidt",
    "solvers.thomas",
    "loops.tanh_rnn",
    "recursion.fast_power",
    "calls.several_results",
    "containers_readonly.nested_dict",
    "checkpoints.on_disk",
    "checkpoints.in_place_stencil",
]


@pytest.mark.parametrize("name", PULLED)
def test_pullbacks_and_tangent_maps_may_be_called_again(name: str) -> None:
    program = BY_NAME[name]
    args = program.arguments()
    with contextlib.redirect_stdout(io.StringIO()):
        dots = agreement.directions_for(args, program.wrt, 1)
        dots = [dots[k] if k in program.wrt else None for k in range(len(args))]
        value, tangent = tl.linearize(program.fn, *args)
        _, expected = tl.jvp(program.fn, args, dots)
        _, pullback = tl.vjp(program.fn, *args)
    first = tangent(*dots)
    bars = pullback(value)
    for _ in range(3):
        assert agreement.close(
            agreement.inner([tangent(*dots)], [first]), agreement.inner([first], [first]), 1e-12
        )
        again = pullback(value)
        for k in program.wrt:
            assert agreement.inner([again[k]], [dots[k]]) == agreement.inner([bars[k]], [dots[k]])
    assert agreement.close(
        agreement.inner([first], [value]), agreement.inner([expected], [value]), 1e-9
    )
    pulled = sum(agreement.inner([bars[k]], [dots[k]]) for k in program.wrt)
    assert agreement.close(agreement.inner([first], [value]), pulled, 1e-9)


def test_a_tangent_map_runs_no_primal_statement() -> None:
    def f(w: Any, x: Any) -> Any:
        h = x
        for _ in range(4):
            print("step")
            h = np.tanh(w @ h)
        return h

    w = np.linspace(-1.0, 1.0, 9).reshape(3, 3)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value, tangent = tl.linearize(f, w, X)
        changes = [tangent(None, e) for e in np.eye(3)]
    assert printed.getvalue().count("step") == 4 and not tangent.runs_primal
    assert "np.tanh" not in tangent.source
    np.testing.assert_allclose(np.stack(changes, 1), tl.jacobian(f, wrt="x")(w, X))


NO_PRIMAL_AGAIN = [
    "calls.in_loop",  # tapes of calls on a stack
    "function_values.lotka_volterra",
    "simulations.lorenz_rk4",
]


@pytest.mark.parametrize("name", NO_PRIMAL_AGAIN)
def test_tangent_maps_of_dicts_and_of_tapes_that_share_arrays(name: str) -> None:
    program = BY_NAME[name]
    args = program.arguments()
    dots = agreement.directions_for(args, program.wrt, 1)
    _, tangent = tl.linearize(program.fn, *args)
    assert not tangent.runs_primal
    _, expected = tl.jvp(program.fn, args, tuple(dots))
    for _ in range(2):
        assert agreement.close(float(tangent(*dots)), float(expected), 1e-10)


def test_tangent_maps_of_objects_whose_class_the_call_tells() -> None:
    program = BY_NAME["objects.filtered"]
    dots = agreement.directions_for(program.arguments(), program.wrt, 1)
    _, tangent = tl.linearize(program.fn, *program.arguments())
    _, expected = tl.jvp(program.fn, program.arguments(), tuple(dots))
    assert agreement.close(float(tangent(*dots)), float(expected), 1e-12)


def test_tangent_maps_of_what_is_refused_twice_run_the_primal() -> None:
    def f(x: Any, rng: Any) -> Any:
        y = x * rng.normal()
        z = y
        if y[0] > 10.0:
            z = 2.0 * y
        z[1:] *= x[1:]  # (of y too, as only the run can say)
        return y * z

    value, tangent = tl.linearize(f, X, np.random.default_rng(0))
    assert tangent.runs_primal
    with pytest.raises(tl.TangentlikeError, match="a different value each time"):
        tangent(X, None)


def taken_out(x: Any) -> Any:
    """Numbers that are in a list, and out of it."""
    items = [v for v in x]  # noqa: C416
    items.pop(0)
    items.reverse()
    return items[0] * items[1] ** 2


def rows_put_in(x: Any) -> Any:
    rows = [row for row in x.reshape(-1, 1)]  # noqa: C416
    rows.insert(0, rows[1])
    rows[0] *= 2.0  # (of the second row, too)
    return np.sum(rows[0] * rows[-1])


@pytest.mark.parametrize("f", [taken_out, rows_put_in])
@pytest.mark.parametrize("form", [list, np.array])
def test_tangent_maps_of_what_is_found_by_identity(f: Any, form: Any) -> None:
    if f is rows_put_in and form is list:
        pytest.skip("of arrays")
    x = form([0.3, 1.2, 0.7])
    _, tangent = tl.linearize(f, x)
    changes = [float(tangent(form(e.tolist()))) for e in np.eye(3)]
    np.testing.assert_allclose(changes, tl.grad(f)(x))


@dataclasses.dataclass
class Spring:
    place: np.ndarray
    mass: float
    count: int = 3


def test_tangent_maps_of_gradients_that_are_objects() -> None:
    def f(spring: Any, x: Any) -> Any:
        items = [spring.place[0], x]
        items.insert(1, items[0] * spring.mass)
        return np.sum(items[1] ** 2 * items[2])

    spring = Spring(np.eye(2, 3) + 0.5, 0.1)
    gradient = tl.grad(f)
    value, tangent = tl.linearize(gradient, spring, X)
    assert tangent.runs_primal
    change = tangent(Spring(np.ones((2, 3)), 2.0), None)
    expected = tl.jvp(gradient, (spring, X), (Spring(np.ones((2, 3)), 2.0), None))[1]
    np.testing.assert_allclose(change.place, expected.place)
    np.testing.assert_allclose((value.mass, change.mass), (gradient(spring, X).mass, expected.mass))
    assert type(value) is type(change) is Spring and value.count is change.count is None


def test_tangents_have_the_structure_of_the_arguments() -> None:
    layer = Layer(np.eye(2, 3), 0.1)
    value, tangent = tl.linearize(affine, layer, X)
    change = tangent(Layer(np.ones((2, 3)), None), None)
    _, expected = tl.jvp(affine, (layer, X), (Layer(np.ones((2, 3)), None), None))
    np.testing.assert_allclose(change["y"], expected["y"])
    assert change["size"] is None
    with pytest.raises(tl.TangentlikeError, match="tangents"):
        tangent(X)
    with pytest.raises(tl.TangentlikeError, match="takes 2 tangents"):
        tl.linearize(lambda x, y: x * y, X, X)[1](X)


# ------------------------------------------------------------------------ differentiated again


def cubes(x: Any) -> Any:
    return np.sum(x**3) + x[0] * x[1] * x[2]


def spun(x: Any) -> Any:
    return np.sin(x) * x[0]


product_of_cubes = tl.hvp(cubes)
matrix_of_spun = tl.jacobian(spun)
hessian_of_cubes = tl.hessian(cubes)


def test_a_function_that_uses_a_jacobian() -> None:
    def f(x: Any) -> Any:
        return np.sum(matrix_of_spun(x) ** 2)

    tl.check_grads(f, (X,))
    gradient = tl.grad(f)
    _, change = tl.jvp(gradient, (X,), (np.ones(3),))
    np.testing.assert_allclose(change, by_differences(gradient, X) @ np.ones(3), rtol=1e-6)


def test_a_function_that_uses_a_hessian_or_a_product_with_one() -> None:
    def f(x: Any, v: Any) -> Any:
        return np.sum(product_of_cubes(x, v) ** 2) + np.sum(hessian_of_cubes(x) @ v)

    tl.check_grads(f, (X, X[::-1].copy()))


def test_the_derivative_of_a_hessian() -> None:
    third = tl.jacobian(hessian_of_cubes)(X)
    expected = by_differences(hessian_of_cubes, X)
    np.testing.assert_allclose(third, expected, atol=1e-7)
    np.testing.assert_allclose(
        tl.jacobian(matrix_of_spun)(X), by_differences(matrix_of_spun, X), atol=1e-8
    )
    assert tl.grad(tl.jacobian(lambda x: x**3))(2.0) == pytest.approx(12.0)
    both = tl.hvp(lambda x, y: np.sum(x * x * y), wrt=(0, 1))
    tl.check_grads(both, (X, X, (X, 2 * X)))


def test_complex_values_reach_the_function_inside() -> None:
    """The emitted function for real arguments has no conjugates; another one must be used."""
    product = tl.hvp(lambda z: np.sum(np.abs(z) ** 4))
    tl.check_grads(lambda z: np.sum(np.abs(product(z, z)) ** 2), (Z,))


sum_of_list = tl.jacobian(lambda d: d[0] * d[1])
two_results = tl.jacobian(lambda x: (np.sin(x), x * x))


def test_jacobians_of_and_by_containers_are_not_differentiated_again() -> None:
    with pytest.raises(TypeError, match="container"):
        tl.grad(lambda x: np.sum(sum_of_list([x, x])[0]))(X)
    with pytest.raises(TypeError, match="container"):
        tl.grad(lambda x: np.sum(two_results(x)[0]))(X)
    with pytest.raises(tl.UnsupportedError, match="cannot be differentiated again"):
        tl.grad(tl.jacobian(spun, has_aux=True))


def test_examples_tell_shapes_and_do_no_harm_where_they_do_not_hold() -> None:
    def loss(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(w + x) ** 3)

    told = (np.ones((2, 3)), np.ones((2, 3)))
    v = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    made = [tl.jacfwd, tl.jacrev, tl.jacobian, tl.hessian, tl.hvp]
    for operator in made:
        plain, given = operator(loss), operator(loss, example=told)
        assert "unbroadcast" not in given.source and given is not plain
        assert operator(loss, example=(X, X)) is not given
        seed = (v,) if operator is tl.hvp else ()
        for x in (v + 0.5, 0.25):  # the second breaks the promise
            np.testing.assert_allclose(given(v, x, *seed), plain(v, x, *seed), rtol=1e-12)
