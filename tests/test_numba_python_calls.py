"""Helpers that compiled code calls as Python runs them: each from a compiled function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike import runtime
from tangentlike.errors import InternalError
from tests.processes import python
from tests.sampled import one_in

numba = pytest.importorskip("numba")

# (Each compilation takes a second.)
pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("compiled_apart")]

RNG = np.random.default_rng(0)


def names() -> dict[str, Any]:
    """What the calls are made of."""
    rng = np.random.default_rng(0)
    a, x, g = rng.standard_normal((3, 3)), rng.standard_normal((3, 4)), rng.standard_normal((3, 4))
    found: dict[str, Any] = {"a": a, "b": rng.standard_normal((3, 3)), "x": x, "g": g}
    found["w"], found["v"] = np.linalg.eigh(a + a.T)
    found["q"], found["r"] = np.linalg.qr(a)
    found["u"], found["s"], found["vh"] = np.linalg.svd(a)
    found["ew"], found["ev"] = np.linalg.eig(a @ np.diag([1.0, 1j, 2.0]))
    found["y"], found["z"] = g[0], x[0] + 1j * g[0]
    found["one"], found["other"] = x[0].copy(), np.array([0.5, 2.0, -1.0])
    found["places"] = np.array([2, 0, 2])
    return found


# For each: what it is called with, and the options that a text states.
CALLS = [
    ("apply_matrix", "a, b, b", ""),
    ("bessel_i", "1, one", ""),
    ("cholesky_bar", "np.tril(a), b", ""),
    ("cholesky_bar", "np.tril(a), b, True, np.linalg.inv(np.tril(a))", ""),
    ("cholesky_dot", "np.tril(a), b + b.T", ""),
    ("chosen_parts", "one, np.array([0, 1, 1, 0]), (one, y)", ""),
    ("cofactors", "a", ""),
    ("cond_slope", "a", ""),
    ("convolve_bar", "np.ones(6), other, one", ""),
    ("convolve_bar", "one, other, one", "'same'"),
    ("correlate_bar_a", "np.ones(2), one, other", ""),
    ("correlate_bar_v", "np.ones(2), one, other", ""),
    ("cov_bar", "a, x, 3", ""),
    ("cumprod_dot", "g, x", "1"),
    ("delete_rest", "other, one", "1"),
    ("deviations", "x", "-1"),
    ("diagonal_matrix", "one", ""),
    ("eig_bar", "ew, ev, 1j * ew, 0.0 * ev, a + 0j", ""),
    ("eig_dot", "ew, ev, b + 0j", ""),
    ("eigh_bar", "w, v, s, b", ""),
    ("eigvals_bar", "a + a.T, s", ""),
    ("extremum_share", "x, x.max()", ""),
    ("fft_bar", "z, one", ""),
    ("fftn_bar", "np.outer(z, z), np.outer(one, y)", ""),
    ("first_places", "np.array([3.0, 1.0, 3.0])", ""),
    ("gaps", "w", ""),
    ("gradient_bar", "one, y", ""),
    ("half_lower", "a", ""),
    ("ifft_bar", "z, one", ""),
    ("ifftn_bar", "np.outer(z, z), np.outer(one, y)", ""),
    ("inner_bar_a", "a, a, b", ""),
    ("inner_bar_b", "a, a, b", ""),
    ("inner_diagonal", "a", ""),
    ("insert_rest", "np.ones(5), one", "1"),
    ("insert_zeros", "one, np.ones(5)", "1"),
    ("inserted", "np.ones(5), one, places[:1], one[:1]", ""),
    ("interp_bar", "one, one, np.arange(4.0)", ""),
    ("interp_slope", "x, np.arange(4.0), y", ""),
    ("interp_slope_bar", "one, one, np.arange(4.0)", ""),
    ("inverse_of_lower", "np.tril(a)", ""),
    ("irfft_bar", "one, z[:3]", ""),
    ("irfftn_bar", "np.outer(other, one), np.outer(other, z[:3])", ""),
    ("kron_bar_a", "np.ones((6, 8)), a[:2, :2], x", ""),
    ("kron_bar_b", "np.ones((6, 8)), a[:2, :2], x", ""),
    ("lstsq_bar_a", "x.T, y, other, s, np.ones(1)", ""),
    ("lstsq_residual_bar", "(y, one, 2, s), (y, one, 0.0, 0.0 * s)", ""),
    ("lstsq_bar_b", "x.T, y, other, s, np.ones(1)", ""),
    ("masked_parts", "one, (one > 0, one < 9), (one, y)", ""),
    ("matrix_norm_slope", "a, np.linalg.norm(a, 'nuc', keepdims=True)", "'nuc', (0, 1)"),
    ("matrix_power_bar", "a, 3, b", ""),
    ("matrix_power_dot", "a, -2, b", ""),
    ("norm_slope", "one, 2.0", "1"),
    ("onto_triangle", "a", "'L'"),
    ("onto_triangle", "a", "False"),
    ("over_gaps", "a, w", ""),
    ("partition_order", "other, other[::-1]", ""),
    ("pinv_bar", "x, np.linalg.pinv(x), x.T", ""),
    ("pinv_dot", "x, np.linalg.pinv(x), g", ""),
    ("polygamma", "2, 1.5", ""),
    ("polyval_bar", "one, other, y", ""),
    ("product_of_others", "x", "1"),
    ("qr_bar", "q, r, b, np.triu(b)", ""),
    ("qr_dot", "q, r, b", ""),
    ("quantile_bar", "1.5, np.ones(4), one", ""),
    ("read_triangle", "a", "'L'"),
    ("rfft_bar", "z[:3], one", ""),
    ("rfftn_bar", "np.outer(other, z[:3]), x", ""),
    ("running_places", "one, np.maximum.accumulate(one)", ""),
    ("scale_items", "2.0, one", ""),
    ("sinc_derivative", "one", "1"),
    ("slogdet_bar", "np.float64(1.0), np.float64(0.0), np.float64(2.0), a", ""),
    ("solve_dot_b", "a, s, w", ""),
    ("solve_seed", "a, s, w", ""),
    ("split_like", "np.ones(7), (one, other)", ""),
    ("split_like", "np.ones((2, 7)), [np.ones((2, 4)), np.ones((2, 3))]", "1"),
    ("steps", "one", ""),
    ("sum_items_bar", "1.5, one", ""),
    ("svd_bar", "u, s, vh, np.zeros((3, 3)), w, np.zeros((3, 3))", ""),
    ("svd_dot", "u, s, vh, b", ""),
    ("tensordot_bar_a", "a, a, b", "1"),
    ("tensordot_bar_b", "a, a, b", "1"),
    ("tensorsolve_seed", "a, s, w", ""),
    ("tie_shares", "one, one.max()", ""),
    ("trapezoid_bar", "1.5, one", ""),
    ("trapezoid_bar_x", "1.5, one, y", ""),
    ("triangle", "a", "True"),
    ("unbincount", "one, np.array([1, 0, 2]), other", ""),
    ("unblock", "np.ones(7), [one, other]", ""),
    ("unbroadcast_each", "(x, x), (one, x)", ""),
    ("uncumprod", "x, g", "1"),
    ("uncumsum", "x, g", "0"),
    ("undiff", "g[:, :3], x", "1, -1"),
    ("ungaps", "a", ""),
    ("ungrid", "(x, x), (one, other)", ""),
    ("unit_deviations", "x", ""),
    ("unit_deviations_bar", "x, g", ""),
    ("unit_deviations_dot", "x, g", ""),
    ("unpad", "np.ones(7), one, (1, 2)", "'edge'"),
    ("unreduceat", "one[:2], y, np.array([0, 3])", ""),
    ("unrepeat", "np.ones(8), one", "2"),
    ("unresize", "np.ones((2, 4)), other", ""),
    ("unroll_axis", "x", "1"),
    ("unselect", "one[:2], one, np.array([True, False, True, False])", ""),
    ("unslide", "np.ones((2, 3)), one, 3", ""),
    ("unstack", "x", "1"),
    ("untake", "x[:, :3], x, places", "1"),
    ("untake_along_axis", "x, x, np.argsort(g, 1)", "1"),
    ("untile", "np.ones(8), one", "2"),
    ("untrim", "one[1:3], np.array([0.0, 1.0, 2.0, 0.0])", ""),
    ("vander_slope", "other, np.vander(other)", ""),
    ("vector_norm_slope", "one, 2.0", "3, None"),
]


def compared(one: Any, other: Any) -> None:
    if isinstance(other, (tuple, list)):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            compared(*pair)
        return
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    assert np.shape(one) == np.shape(other)


@pytest.mark.filterwarnings("ignore")  # (reflected lists)
@pytest.mark.parametrize("case", one_in(6, [pytest.param(c, id="-".join(c)) for c in CALLS]))
def test_a_helper_has_the_value_of_the_runtime(case: tuple[str, str, str]) -> None:
    from tangentlike.numba import functions  # noqa: F401

    name, given, options = case
    args = eval(f"({given},)", {"np": np, **names()})
    told = ", ".join(f"a{n}" for n in range(len(args)))
    inside = f"{told}, {options}" if options else told
    namespace: dict[str, Any] = {"helper": getattr(runtime, name)}
    exec(f"def call({told}):\n    return helper({inside})", namespace)
    compared(numba.njit(namespace["call"])(*args), namespace["call"](*args))


def test_each_helper_is_called() -> None:
    from tangentlike.numba.python_calls import HELPERS

    assert HELPERS.keys() == {name for name, *_ in CALLS}


def through_decompositions(x):
    u, s, vh = np.linalg.svd(x)
    w, v = np.linalg.eigh(x @ x.T)
    q, r = np.linalg.qr(x)
    total = np.sum(np.abs(u @ vh)) + s[0] * w[1] + np.sum(v[:, 0] ** 4) + np.sum(r * r * r)
    return total + np.linalg.det(x) + np.sum(np.abs(q))


def over_pieces(x, k):
    left, right = np.split(np.convolve(x, k), 2)
    order = np.argsort(left)
    taken = np.take_along_axis(left, order, 0)
    return np.sum(np.diff(taken) ** 3) + np.sum(np.concatenate((left, right)) * np.arange(8.0))


PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (through_decompositions, (RNG.standard_normal((3, 3)),)),
    (over_pieces, (RNG.standard_normal(6), RNG.standard_normal(3))),
]


@pytest.mark.parametrize(("fn", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_programs_agree_with_differences(fn: Any, args: tuple[Any, ...]) -> None:
    found = tl.grad(fn, wrt=tuple(range(len(args))), target="numba")(*args)
    for place, bar in enumerate(found):
        direction, step = np.cos(np.arange(bar.size)).reshape(bar.shape), 1e-6
        ends = []
        for by in (step, -step):
            given = list(args)
            given[place] = given[place] + by * direction
            ends.append(fn(*given))
        wanted = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(np.sum(bar * direction), wanted, rtol=1e-6)


def test_what_a_helper_refuses_is_raised() -> None:
    def further(x):
        u, _, _ = np.linalg.svd(x)
        return np.sum(u[:, 2] ** 3)

    x = RNG.standard_normal((3, 2))
    for target in ("numpy", "numba"):
        with pytest.raises(tl.UnsupportedError, match="singular vectors"):
            tl.grad(further, target=target)(x)


def test_results_of_other_forms_are_no_silent_casts() -> None:
    from tangentlike.numba.python_calls import _in_form

    with pytest.raises(InternalError, match="real numbers"):
        _in_form(np.ones(2) * 1j, ["float64", 1])
    with pytest.raises(InternalError, match="axes"):
        _in_form(np.ones((2, 2)), ["float64", 1])


SCRIPT = """
import numpy as np
import tangentlike as tl

def f(x):
    return np.linalg.svd(x)[1][0]

df = tl.grad(f, target="numba")
print(np.sum(df(np.array([[3.0, 0.0], [0.0, 1.0]]))))
run = df.__tangentlike__.derive().specialized_for((np.eye(2),), {}).derived.compiled
print(sum(run.dispatcher.stats.cache_hits.values()))
"""


def test_what_python_runs_is_found_again_by_another_process(tmp_path: Path) -> None:
    script = tmp_path / "values.py"
    script.write_text(SCRIPT)
    for hits in ("0", "1"):
        printed = python(str(script), TANGENTLIKE_CACHE_DIR=str(tmp_path / "kept"))
        assert printed.split() == ["1.0", hits]
