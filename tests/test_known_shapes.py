"""Texts of ordinary programs of which the example arguments tell all shapes: what they do without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import tangentlike as tl

RNG = np.random.default_rng(0)


def arrays(*shapes: Any) -> tuple[Any, ...]:
    return tuple(0.5 * RNG.normal(size=shape) for shape in shapes)


def stencil(c: Any, v: Any) -> Any:  # a view is read again where it is needed
    g = c[2:, 1:-1] - c[:-2, 1:-1]
    lap = c[2:, 1:-1] + c[:-2, 1:-1] - 2.0 * c[1:-1, 1:-1]
    return np.sum(lap * g**2) + np.sum(c[1:3, 1:3] ** 2) + np.sum(v[:, None] * v[:, None] ** 2)


def scores(z: Any, a: Any, e: Any) -> Any:  # logsumexp over each axis, and the mean of it
    z = logsumexp(z[:, None] + a, axis=0) + e
    return np.sum(z) - np.mean(logsumexp(a * z[None, :], axis=1))


def distances(x: Any, s: Any) -> Any:  # a sum over the last of three axes
    d = (x[:, None, :] - x[None, :, :]) / s[None]
    return np.mean(np.exp(-np.sum(d**2, axis=2)))


def stepped(state: Any, c: Any) -> Any:  # an array of a list of floats is one of floats
    for _ in range(3):
        prey, predators = state
        state = state + c * np.array([prey - prey * predators, prey * predators])
    first, second = state
    return first * np.sin(second)


def fitted(p: Any, t: Any, y: Any) -> Any:  # the entries of a vector by their names
    a, b, c = p
    r = a * np.exp(b * t) + c - y
    return np.sqrt(np.mean(r**2))


def some_entries(p: Any, t: Any) -> Any:
    a, _, c = np.exp(p)
    return np.sum(np.sin(a * t) + c) * p[0]


def leaky(x: Any, w: Any) -> Any:  # both branches at once
    z = x @ w
    return np.mean(np.where(z > 0, z, 0.01 * z) ** 2)


def layers(params: Any, x: Any, y: Any) -> Any:  # a dict whose entries are of different ranks
    h = np.tanh(x @ params["W1"] + params["b1"])
    return np.mean((h @ params["W2"] + params["b2"] - y) ** 2) + 0.1 * np.sum(params["W1"] ** 2)


def signs(w: Any, x: Any, y: Any) -> Any:  # a sign is no value with a name
    return np.sum(np.log1p(np.exp(-y * (x @ w))))


def warped(a: Any, b: Any) -> Any:  # an array of floats, as what it is filled with says
    costs = np.full((len(a) + 1, len(b) + 1), 5.0)
    costs[0, 0] = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            d = (a[i] - b[j]) ** 2
            costs[i + 1, j + 1] = d - np.log(np.exp(-costs[i, j]) + np.exp(-costs[i, j + 1]))
    return costs[-1, -1]


def evidence(k: Any, y: Any) -> Any:  # one inverse of the factor for all systems
    low = np.linalg.cholesky(k @ k.T + np.eye(len(y)))
    alpha = np.linalg.solve(low.T, np.linalg.solve(low, y))
    return y @ alpha + np.sum(np.log(np.diag(low)))


def normed(x: Any, g: Any) -> Any:  # no array for its shape alone
    m = x.mean(axis=-1, keepdims=True)
    v = ((x - m) ** 2).mean(axis=-1, keepdims=True)
    return np.sum(np.tanh(g * (x - m) / np.sqrt(v + 1e-3)))


WEIGHTS = dict(zip(("W1", "b1", "W2", "b2"), arrays((3, 4), 4, (4, 2), 2), strict=True))
PROGRAMS: list[tuple[Any, tuple[Any, ...], tuple[str, ...], tuple[str, ...]]] = [
    # program, arguments, what its derivative does without, what it says
    (stencil, arrays((6, 5), 4), ("_part", "unbroadcast"), ("c[2:, 1:-1] - c[:-2, 1:-1]",)),
    (scores, arrays(4, (4, 4), 4), ("broadcast_like", "expand_dims", "full_like"), ()),
    (distances, arrays((5, 2), (5, 2)), ("broadcast_like", "expand_dims", "_part"), ()),
    (fitted, arrays(3, 6, 6), ("p_bar[", "zeros"), ("np.array([a_bar, b_bar, c_bar])",)),
    (
        stepped,
        (np.array([0.4, 0.3]), 0.2),
        ("unbroadcast", "dtype"),
        ("np.array([first_bar, second_bar])", "state_bar[0] += "),
    ),
    (some_entries, arrays(3, 6), ("add_at",), ("0.0, ",)),
    (leaky, arrays((5, 3), 3), ("0.0)",), ("np.where(mask, ",)),
    (layers, (WEIGHTS, *arrays((5, 3), (5, 2))), ("add_at", "unbroadcast", "matmul_bar"), ()),
    (signs, arrays(3, (5, 3), 5), ("minus",), ("np.exp(-y * (x @ w))",)),
    (warped, arrays(4, 5), ("require_floats",), ()),
    (evidence, arrays((4, 4), 4), ("undiag",), ("np.diag(",)),
    (normed, arrays((4, 5), 5), (".shape[-1] * power",), ("x.shape[-1]",)),
]


@pytest.mark.parametrize(("fn", "args", "without", "says"), PROGRAMS)
def test_what_known_shapes_leave_out(fn: Any, args: Any, without: Any, says: Any) -> None:
    df = tl.grad(fn, example=args)
    found = [word for word in without if word in df.source] + [
        word for word in says if word not in df.source
    ]
    assert not found, df.source
    tl.check_grads(fn, args, wrt=0, order=2)
    gradient, general = df(*args), tl.grad(fn)(*args)
    for key in general if isinstance(general, dict) else [...]:
        assert np.allclose(gradient[key], general[key], rtol=1e-12, atol=1e-14)
        assert gradient[key].dtype == general[key].dtype


def test_entries_of_a_vector_of_single_precision() -> None:
    p, t, y = (a.astype(np.float32) for a in arrays(3, 6, 6))
    assert tl.grad(fitted, example=(p, t, y))(p, t, y).dtype == np.float32


def test_items_of_a_dict_keep_their_precision() -> None:
    half = {name: w.astype(np.float32) for name, w in WEIGHTS.items()}
    gradient = tl.grad(layers, example=(half, *arrays((5, 3), (5, 2))))(
        half, *arrays((5, 3), (5, 2))
    )
    assert {g.dtype for g in gradient.values()} == {np.dtype(np.float32)}


def test_one_array_under_two_keys() -> None:
    def tied(p: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ p["a"]) @ p["b"]) + np.sum(p["c"] ** 2)

    w = arrays((3, 3))[0]
    args = {"a": w, "b": w, "c": np.ones(2)}, np.ones((2, 3))
    apart = {"a": w, "b": w.copy(), "c": np.ones(2)}, np.ones((2, 3))
    found, want = (tl.grad(tied, example=given)(*given) for given in (args, apart))
    for key in want:
        assert np.allclose(found[key], want[key])
