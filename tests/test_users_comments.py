"""What the user says of a function and its lines stands in the text of the derivative too."""

from __future__ import annotations

from typing import Any

import numpy as np

import tangentlike as tl


def rates(v: Any, k: Any) -> Any:
    """How fast each decays."""
    # faster when it is warm
    return -k * v * (1.0 + 0.1 * v)


# fmt: off
def model(v: Any, k: Any, steps: int) -> Any:  # (not of a line)
    """Decay over time.

    v: the state at first
    """
    # one step after the other
    for _ in range(steps):  # (explicit)
        half = v + 0.05 * rates(v, k)  # the midpoint
        v = v + 0.1 * rates(half, k)  # pragma: no branch
    # misfit, of which only the sum
    # is kept
    misfit = (
        v  # where it ended
        - 1.0
    )
    return np.sum(misfit**2)  # a number
# fmt: on


ARGS = (np.array([0.5, 1.5]), 0.3, 4)


def total(v: Any) -> Any:
    """Sum of all."""
    squares = v * v  # (not below zero)
    return np.sum(squares * squares)


def several_steps(v: Any) -> Any:
    """Several steps."""
    for k in range(5):
        # the second
        v = np.sin(v) * np.cos(v + k) / (2.0 + v**2) + np.tanh(v * k) * np.exp(-v) - v**3 / 7.0
    return v


def calls_a_helper(v: Any) -> Any:
    return np.sum(several_steps(np.sqrt(v)) * v)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def test_comments_stay_above_and_beside_their_lines() -> None:
    for made in (tl.value_and_grad(model, wrt=(0, 1), example=ARGS), tl.grad(model)):
        found = lines(made.source)
        loop = found.index("for _ in range(steps):  # (explicit)")
        assert found[loop - 1] == "# one step after the other"
        (midpoint,) = (line for line in found if line.endswith("  # the midpoint"))
        assert midpoint.startswith("half = v + 0.05 * ")
        at = found.index("misfit = v - 1.0  # where it ended")
        assert found[at - 2 : at] == ["# misfit, of which only the sum", "# is kept"]
        assert not any("pragma" in line or "not of a line" in line for line in found)


def test_the_docstring_says_what_it_is_of() -> None:
    source = tl.value_and_grad(model, wrt=(0, 1), example=ARGS).source
    described = [
        *'"""Value and gradient of model.||Decay over time.||v: the state at first|"""'.split("|")
    ]
    found = lines(source)
    at = found.index(described[0])
    assert found[at : at + len(described)] == described
    assert '    """Gradient of total: Sum of all."""\n' in tl.grad(total).source


def test_forward_mode_has_them_too() -> None:
    source = tl.autodiff(model, mode="forward", wrt=(0,)).source
    assert '    """Value and tangent of rates: How fast each decays."""\n' in source
    assert "    half = v + 0.05 * rates_v  # the midpoint\n" in source


def test_a_helper_that_becomes_a_pair_keeps_its_own() -> None:
    source = tl.grad(calls_a_helper, example=(np.ones(2),)).source
    before, _, after = source.partition("def several_steps_bwd")
    assert '    """Several steps."""\n' in before and "# the second" in before
    assert "# the second" not in after and '"""' not in after


def gradient_of_total(v: Any) -> Any:
    return tl.grad(total)(v)


def test_texts_of_ours_are_not_quoted_again() -> None:
    twice = tl.jacfwd(gradient_of_total)
    assert np.array_equal(twice(np.ones(2)), 12.0 * np.eye(2))
    assert "Gradient of total" not in twice.source


def test_a_standalone_file_has_them() -> None:
    text = tl.grad(total).__tangentlike__.derive().standalone()  # type: ignore[attr-defined]
    assert '"""Gradient of total: Sum of all."""' in text and "# (not below zero)" in text
    names: dict[str, Any] = {}
    exec(text, names)
    assert np.array_equal(names["total_grad"](np.ones(2)), np.full(2, 4.0))
