"""Every program of the collection: both modes, central differences, arguments untouched."""

from __future__ import annotations

import ast
import contextlib
import copy
import io
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.programs import BY_NAME, PROGRAMS, Program
from tests.refusals import REFUSED, REFUSED_FORWARD, REFUSED_REVERSE
from tests.sampled import one_in
from tests.test_closed import read_again


def cases(*refused: dict[str, str]) -> list[Any]:
    """All programs; the refused ones must raise UnsupportedError, or their entry is stale."""
    known = {name: why for table in refused for name, why in table.items()}
    assert set(known) <= set(BY_NAME), sorted(set(known) - set(BY_NAME))
    return [
        pytest.param(
            p,
            id=p.name,
            marks=pytest.mark.xfail(raises=tl.UnsupportedError, reason=known[p.name], strict=True)
            if p.name in known
            else (),
        )
        for p in PROGRAMS
    ]


def quietly(f: Any, *args: Any) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        return f(*args)


def gradient_along(program: Program, directions: list[Any], args: tuple[Any, ...]) -> float:
    df = tl.grad(program.fn, wrt=program.wrt)
    gradient = quietly(df, *args)
    return agreement.inner([directions[k] for k in program.wrt], list(gradient))


def tangent_along(program: Program, directions: list[Any], args: tuple[Any, ...]) -> Any:
    value, tangent = quietly(tl.jvp, program.fn, tuple(args), tuple(directions))
    expected = agreement.call(program.fn, args)
    assert agreement.close(float(value), float(expected), 1e-12)
    return float(tangent)


@pytest.mark.parametrize("program", cases(REFUSED, REFUSED_REVERSE))
def test_reverse(program: Program) -> None:
    args = program.arguments()
    directions = agreement.directions_for(args, program.wrt, 1)
    before = copy.deepcopy(args)
    got = gradient_along(program, directions, args)
    assert agreement.same_bits(args, before), "an argument was changed"
    expected = agreement.slope(program.fn, args, directions)
    assert agreement.close(got, expected, program.tolerance), (got, expected)


@pytest.mark.parametrize("program", one_in(3, cases(REFUSED, REFUSED_REVERSE, REFUSED_FORWARD)))
def test_forward(program: Program) -> None:
    """Against differences; and the two modes agree to rounding, for each argument alone, at other
    arguments."""
    args = program.arguments()
    directions = agreement.directions_for(args, program.wrt, 1)
    before = copy.deepcopy(args)
    got = tangent_along(program, directions, args)
    assert agreement.same_bits(args, before), "an argument was changed"
    expected = agreement.slope(program.fn, args, directions)
    assert agreement.close(got, expected, program.tolerance), (got, expected)
    for k in program.wrt:
        args = program.arguments(k)
        directions = agreement.directions_for(args, (k,), 3)
        reverse = gradient_along(program, directions_with_zeros(directions, args), args)
        forward = tangent_along(program, directions_with_zeros(directions, args), args)
        assert agreement.close(reverse, forward, 1e-9), (program.name, k, reverse, forward)


def directions_with_zeros(directions: list[Any], args: tuple[Any, ...]) -> list[Any]:
    """The direction of one argument, and zero along all others."""

    def zero(leaf: Any) -> Any:
        return np.zeros_like(leaf) if isinstance(leaf, np.ndarray) else 0.0

    return [
        agreement.map_leaves(zero, a) if d is None else d
        for a, d in zip(args, directions, strict=True)
    ]


def gradient_of(program: Program) -> Any:
    """Its gradient function; where the classes of objects must be known, that for the arguments."""
    example = program.arguments() if program.theme == "objects" else None
    df = tl.grad(program.fn, wrt=program.wrt, example=example)
    if program.name == "function_values.layers_with_weights":
        quietly(df, *program.arguments())  # (which functions the list holds, a call tells)
    return df


@pytest.mark.parametrize("program", one_in(2, cases(REFUSED, REFUSED_REVERSE)[::2], 1))
def test_source(program: Program) -> None:
    """The emitted text is Python that is read again, the same every time, and no line is overlong
    (but the text that says which types it is for, and what the user says of a function)."""
    df = gradient_of(program)
    source = str(df.source)
    compile(tree := ast.parse(source), program.name, "exec")
    assert source == str(gradient_of(program).source)
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    docs = [f.body[0] for f in functions if ast.get_docstring(f) is not None]
    said = {n for doc in docs for n in range(doc.lineno, (doc.end_lineno or 0) + 1)}
    lines = [line for n, line in enumerate(source.splitlines(), 1) if n not in said]
    assert max(len(line) for line in lines if not line.lstrip().startswith("'")) <= 88
    assert read_again(df.__tangentlike__.derive().latest.emitted)


@pytest.mark.parametrize(
    "program", [pytest.param(p, id=p.name) for p in PROGRAMS if p.oracle is not None]
)
def test_primal(program: Program) -> None:
    """The programs compute what they say."""
    args = program.arguments(1)
    assert program.oracle is not None
    value, expected = agreement.call(program.fn, args), agreement.call(program.oracle, args)
    assert agreement.close(float(value), float(expected), 1e-8)


def test_arguments_are_reproducible() -> None:
    for program in PROGRAMS:
        assert agreement.same_bits(program.arguments(3), program.arguments(3)), program.name


def test_collection_has_both_parts() -> None:
    parts = [p.part for p in PROGRAMS]
    assert len(BY_NAME) == len(PROGRAMS)
    assert parts.count("language") >= 60 and parts.count("inplace") >= 40
