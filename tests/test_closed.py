"""Emitted text stays inside the language that is read: every emitted function is read again."""

from __future__ import annotations

import types

import pytest

from tangentlike.errors import UnsupportedError
from tangentlike.frontend.lower import lower
from tangentlike.pipeline.stages import Request, derive
from tests.golden_programs import GOLDEN
from tests.programs import PROGRAMS, Program
from tests.sampled import one_in
from tests.test_golden import derived


def read_again(function: types.FunctionType) -> int:
    """Lower a function and all that were emitted with it; how many these are."""
    file, found, waiting = function.__code__.co_filename, {function}, [function]
    while waiting:
        made = waiting.pop()
        lower(made)
        for name in made.__code__.co_names:
            called = made.__globals__.get(name)
            own = isinstance(called, types.FunctionType) and called.__code__.co_filename == file
            if own and called not in found:
                found.add(called)
                waiting.append(called)
    return len(found)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_texts_are_read_again(name: str) -> None:
    assert read_again(derived(name).function)


@pytest.mark.parametrize("program", one_in(6, [pytest.param(p, id=p.name) for p in PROGRAMS]))
def test_tangents_of_programs_are_read_again(program: Program) -> None:
    """(For gradients: tests/test_programs.py.)"""
    params = list(program.fn.__code__.co_varnames)
    try:
        made = derive(program.fn, Request("tangent", tuple(params[k] for k in program.wrt)))
    except UnsupportedError:
        return  # (what is refused has no text)
    assert read_again(made.function)
