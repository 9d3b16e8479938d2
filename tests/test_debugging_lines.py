"""`tl.line_map`: the lines of a derivative and the user's, both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl

pytestmark = pytest.mark.usefixtures("helpers_are_pairs")


def cell(h: Any, w: Any) -> Any:
    z = w @ h
    return np.tanh(z)


def loss(w: Any, h: Any, steps: int) -> Any:
    for i in range(steps):
        if i % 2:
            h = cell(h, w)
        else:
            h = h * 0.5
    wide = np.sum(
        h  # (a statement of three lines)
        * h
    )
    return wide


FIRST = loss.__code__.co_firstlineno


def test_every_statement_has_a_place_in_the_users_text() -> None:
    gradient = tl.grad(loss)
    lines = tl.line_map(gradient)
    assert lines.source == gradient.source
    text = gradient.source.splitlines()
    for statement in lines.statements:
        assert statement.place.file == __file__
        assert text[statement.line - 1].strip().startswith(statement.text.splitlines()[0])
        assert lines.at(statement.line) == statement


def test_both_ways_through_a_helper() -> None:
    lines = tl.line_map(tl.grad(loss))
    inside = lines.of(cell.__code__.co_firstlineno + 2)
    assert {s.function for s in inside} == {"cell_fwd", "cell_bwd"}
    assert {s.role for s in inside} == {"primal", "adjoint"}
    adjoint = next(s for s in inside if s.role == "adjoint")
    primal = next(s for s in inside if s.role == "primal")
    assert primal.line in lines.partners(adjoint.line)
    assert [f.name for f in lines.functions] == ["loss", "cell"]


def test_a_statement_over_several_lines_is_found_by_each_of_them() -> None:
    lines = tl.line_map(tl.grad(loss))
    found = [lines.of(FIRST + n) for n in (6, 7, 8, 9)]
    assert found[0] and all(rows == found[0] for rows in found)


def test_loops_and_branches() -> None:
    lines = tl.line_map(tl.grad(loss))
    call = next(s for s in lines.of(FIRST + 3) if s.role == "primal")
    assert [s.text for s in lines.loops(call)] == ["for i in range(steps):"]
    assert lines.statements[call.parent or 0].kind == "If"
    assert lines.at(1) is None and lines.partners(1) == ()


@pytest.mark.parametrize("operator", [tl.hvp, tl.hessian, tl.jacobian])
def test_second_derivatives_lead_to_the_users_text(operator: Any) -> None:
    lines = tl.line_map(operator(lambda x: np.sum(np.exp(x))))
    assert {s.place.file for s in lines.statements} == {__file__}


def test_a_derivative_of_a_derivative() -> None:
    lines = tl.line_map(tl.grad(lambda x: tl.grad(lambda y: y**3)(x) * x))
    assert {s.place.file for s in lines.statements} == {__file__}


def test_operations_know_their_column() -> None:
    """The adjoint of `np.sqrt(x)` is at `np.sqrt(x)`, not at the whole line."""
    from tangentlike.debugging.linemap import derivation_behind, program_of

    gradient = tl.grad(lambda x: np.sum(np.exp(x) * np.sqrt(x)))
    places = program_of(derivation_behind(gradient)).places
    texts = {p.text[p.column : p.column + p.width] for p in places.values()}
    assert {"np.sqrt(x)", "np.exp(x)"} <= texts
    roots = {
        type(node).__name__
        for node, p in places.items()
        if p.text[p.column : p.column + p.width] == "np.sqrt(x)"
    }
    assert {"Call", "BinOp"} <= roots


def test_printed() -> None:
    text = str(tl.line_map(tl.grad(loss)))
    assert "for i in range(steps):    -> " in text


def test_what_is_not_a_derivative_is_refused() -> None:
    with pytest.raises(tl.TangentlikeError, match="loss is not a derivative"):
        tl.line_map(loss)
