"""Writes in place of every sort: right against central differences, or refused with the line.

Each program runs in three ways: in reverse mode as it stands, in reverse mode with example
arguments (which tell ranks), and in forward mode. What is refused is listed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.inplace_refusals import REFUSED
from tests.programs import (
    call_writes,
    container_writes,
    entangled_writes,
    hidden_writes,
    key_writes,
    library_writes,
    loop_writes,
    mirrored_writes,
    outer_arrays,
    outer_writes,
    view_writes,
    write_targets,
    written_views,
)
from tests.programs.registry import Program
from tests.sampled import one_in

MODULES = (
    write_targets,
    entangled_writes,
    library_writes,
    key_writes,
    view_writes,
    written_views,
    loop_writes,
    mirrored_writes,
    container_writes,
    call_writes,
    outer_writes,
    outer_arrays,
    hidden_writes,
)
PROGRAMS = {program.fn.__name__: program for m in MODULES for program in m.PROGRAMS}


@pytest.fixture(autouse=True)
def arrays_outside() -> Iterator[None]:
    """The arrays of the modules are what they were: differences run programs that write them."""
    arrays = [a for m in MODULES for a in vars(m).values() if isinstance(a, np.ndarray)]
    before = [a.copy() for a in arrays]
    yield
    for array, content in zip(arrays, before):
        array[...] = content


def by_reverse(program: Program, args: tuple[Any, ...], directions: list[Any]) -> float:
    """<gradient, direction>."""
    gradient = tl.grad(program.fn, wrt=program.wrt)(*args)
    return agreement.inner([directions[k] for k in program.wrt], list(gradient))


def by_example(program: Program, args: tuple[Any, ...], directions: list[Any]) -> float:
    """<gradient, direction>, the gradient made with the ranks of its arguments known."""
    gradient = tl.grad(program.fn, wrt=program.wrt, example=args)(*args)
    return agreement.inner([directions[k] for k in program.wrt], list(gradient))


def by_forward(program: Program, args: tuple[Any, ...], directions: list[Any]) -> float:
    """The tangent along the direction."""
    value, tangent = tl.jvp(program.fn, args, tuple(directions))
    assert agreement.close(float(value), float(agreement.call(program.fn, args)), 1e-12)
    return float(tangent)


WAYS: dict[str, Callable[..., float]] = {
    "reverse": by_reverse,
    "example": by_example,
    "forward": by_forward,
}


def cases() -> list[Any]:
    return [
        case
        for way, count in (("reverse", 1), ("example", 3), ("forward", 2))
        for case in one_in(
            count, [pytest.param(name, way, id=f"{name}-{way}") for name in PROGRAMS]
        )
    ]


@pytest.mark.parametrize(("name", "way"), cases())
def test_right_or_refused(name: str, way: str) -> None:
    program = PROGRAMS[name]
    refusal = REFUSED.get(name, {}).get(way)
    for seed in (0, 1):
        args = program.arguments(seed)
        directions = agreement.directions_for(args, program.wrt, 1)
        before = copy.deepcopy(args)
        if refusal is not None:
            with pytest.raises((tl.TangentlikeError, ValueError)) as caught:
                WAYS[way](program, args, directions)
            assert refusal in str(caught.value)
            if isinstance(caught.value, tl.TangentlikeError):
                assert "^" in str(caught.value), "the refusal shows no place"
            return
        with np.errstate(all="ignore"):
            expected = agreement.slope(program.fn, args, directions, step(program))
            got = WAYS[way](program, args, directions)
        assert agreement.close(got, expected, program.tolerance), (got, expected)
        assert agreement.same_bits(args, before), "an argument was changed"


def test_second_order() -> None:
    """Forward mode over a gradient that reads one copy of entries twice."""
    args = PROGRAMS["at_after_add"].arguments(0)
    direction = PROGRAMS["at_after_add"].arguments(1)[0]
    gradient = tl.grad(mirrored_writes.at_after_add)
    expected = agreement.slope(lambda x: np.sum(gradient(x) * direction), args, [direction], 1e-5)
    got = tl.hvp(mirrored_writes.at_after_add)(args[0], direction)
    assert agreement.close(float(np.sum(got * direction)), expected, 1e-6)


def step(program: Program) -> float:
    """How far the differences go: further where the program computes in single precision."""
    return 3e-2 if program.tolerance > 1e-4 else 1e-4


def test_refusals_are_of_programs() -> None:
    assert set(REFUSED) <= set(PROGRAMS)
    assert len(PROGRAMS) == sum(len(m.PROGRAMS) for m in MODULES)


def test_the_adjoint_of_a_number_stored_in_an_array_without_axes_is_no_view():
    def total(x):
        return np.sum(x, axis=-1, out=np.empty((), np.float64))

    def stored(x):
        b, a = np.zeros(()), np.zeros((2, 2))
        s = np.sum(x) * 2.0
        b[...] = s
        b[...] += np.cos(s)
        a[1, 0, ...] = s
        a[1, 0, ...] += np.sin(x[0])
        b[...] = b * s
        return b * a[1, 0] + a.sum()

    x = np.array([0.28, 0.3])
    np.testing.assert_allclose(tl.vjp(total, x)[1](1.0)[0], [1.0, 1.0])
    tl.check_grads(stored, (x,), order=2)


def tuples_of_outputs(a, s):
    r = np.zeros(3)
    out = (r,)
    for _ in range(2):
        np.add(a, s, out=out)
        r = r * 2.0
    return np.sum(r * a) + np.sum(out[0])


def test_a_tuple_of_outputs_holds_what_it_was_made_of() -> None:
    """What is bound to the name later is another array."""
    with pytest.raises(tl.UnsupportedError, match="`out=` is given something other"):
        tl.grad(tuples_of_outputs)(np.ones(3), 0.5)


def bits_as_integers(a):
    y = a * 1.0
    bits = y.view(np.int64)
    bits &= ~np.int64(1)
    return np.sum(y * y)


def test_views_of_another_type() -> None:
    """What was written through them took the adjoint away."""
    for derive in (tl.grad, tl.jacfwd):
        with pytest.raises(tl.UnsupportedError, match="viewed as one of another type"):
            derive(bits_as_integers)(np.ones(3))
