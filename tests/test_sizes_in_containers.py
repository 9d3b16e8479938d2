"""Sizes of arrays in dicts, tuples and lists have names, as those of arguments do: what the text
does without, and calls of other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads

RNG = np.random.default_rng(20)


def of(*shape: int) -> Any:
    return RNG.normal(size=shape)


def layer(p: Any, x: Any) -> Any:
    return np.sum(np.tanh(p["W"] @ x + p["b"]))


def shared(p: Any, x: Any) -> Any:  # one adjoint for two entries, which are arrays of their own
    return np.sum(np.tanh(p["W"] @ x + p["b"] + p["c"]))


def layers(p: Any, x: Any) -> Any:
    h = np.tanh(p["in"]["W"] @ x + p["in"]["b"])
    y = p["out"]["W"] @ h + p["out"]["b"]
    return y @ y


def pairs(p: Any, x: Any) -> Any:
    (v, b), (w, c) = p
    return np.sum((w @ np.tanh(v @ x + b) + c) ** 2)


def recurrent(p: Any, xs: Any, h: Any) -> Any:
    w, u, b = p["W"], p["U"], p["b"]
    loss = 0.0
    for x in xs:
        h = np.tanh(w @ h + u @ x + b)
        loss = loss + np.mean(h**2)
    return loss


def written_later(p: Any, x: Any) -> Any:  # what an entry is given first is added to
    t = p["b"] * x
    s = np.sum(t * p["b"])
    for k in range(3):
        s = s + k * np.sum(p["b"] ** 2 * p["c"]) + np.sum(t * p["c"])
    return s


def rates(p: Any, y: Any) -> Any:
    for _ in range(3):
        y = y + 0.1 * np.array([p["a"] * y[0] - p["b"] * y[0] * y[1], p["c"] * y[1]])
    return y @ y


W, B = of(4, 3), of(4)
DEEP = {"in": {"W": W, "b": B}, "out": {"W": of(2, 4), "b": of(2)}}
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "layer": (layer, ({"W": W, "b": B}, of(3))),
    "layer, one bias": (layer, ({"W": W, "b": of(1)}, of(3))),
    "shared": (shared, ({"W": W, "b": B, "c": 2.0 * B}, of(3))),
    "layers": (layers, (DEEP, of(3))),
    "pairs": (pairs, (((W, B), (of(2, 4), of(2))), of(3))),
    "recurrent": (recurrent, ({"W": of(3, 3), "U": of(3, 2), "b": of(3)}, of(4, 2), of(3))),
    "written later": (written_later, ({"b": of(3), "c": of(3)}, of(3))),
    "rates": (rates, ({"a": 0.3, "b": 0.7, "c": 0.2}, of(2))),
}
HELPERS = ("unbroadcast", "zeros_like(p)", "add_at", "accumulate")


@pytest.mark.parametrize("name", CASES)
def test_right_without_helpers(name: str) -> None:
    fn, args = CASES[name]
    check_grads(fn, args)
    gradient = tl.grad(fn)
    gradient(*args)
    if name not in ("layer, one bias", "rates"):
        assert [word for word in HELPERS if word in gradient.source] == []


def test_entries_are_arrays_of_their_own() -> None:
    found = tl.grad(shared)({"W": W, "b": B, "c": B}, of(3))
    arrays = list(found.values())
    assert not any(np.may_share_memory(a, b) for a in arrays for b in arrays if a is not b)


def test_dicts_in_dicts_are_written_out() -> None:
    gradient = tl.grad(layers)
    gradient(*CASES["layers"][1])
    assert "return {'in': {'W': np.outer(total_bar, x), 'b': total_bar}, 'out'" in gradient.source


def test_other_sizes_get_their_own_text() -> None:
    gradient = tl.grad(layer)
    for b in (B, of(1), B):
        p, x = {"W": W, "b": b}, of(3)
        slope = 1.0 - np.tanh(W @ x + b) ** 2
        expected = slope if b.size > 1 else np.sum(slope, keepdims=True)
        np.testing.assert_allclose(gradient(p, x)["b"], expected)
    assert len(gradient.versions) == 2


def test_a_saved_text_asks_for_its_sizes() -> None:
    gradient = tl.grad(layer)
    gradient({"W": W, "b": B}, of(3))
    assert "dict(W: float[n, m], b: float[n]), x: float[m]" in gradient.source
    scope: dict[str, Any] = {}
    exec(gradient.source, scope)
    with pytest.raises(TypeError, match="made for arguments of other types"):
        scope["layer_grad"]({"W": W, "b": of(1)}, of(3))


def test_numbers_under_other_keys_are_data() -> None:
    """Of a dict of numbers, only what the program asks for by name is told one by one."""

    def total(counts: Any) -> Any:
        return sum(v**2 for v in counts.values())

    gradient = tl.grad(total)
    assert gradient({"x": 2.0, "y": 3.0}) == {"x": 4.0, "y": 6.0}
    assert gradient({"z": 2.0}) == {"z": 4.0}
    assert len(gradient.versions) == 1
