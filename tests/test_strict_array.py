"""Gradients on arrays that are not NumPy's, which refuse every silent conversion."""

from __future__ import annotations

import linecache
import re
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import register_array_module
from tests import agreement
from tests.programs import PROGRAMS, Program
from tests.refusals import REFUSED, REFUSED_FORWARD, REFUSED_REVERSE
from tests.sampled import one_in
from tests.strict_array import StrictArray, from_strict, to_strict, xp

register_array_module(xp)

THEMES = tuple(sorted({p.theme for p in PROGRAMS}))
# Refused by reverse mode on such arrays only: name of the program -> the reason.
STRICT_ONLY = {
    "checkpoints.three_snapshots": "a sum may be a number or an array that is written",
    "checkpoints.on_disk": "files are of NumPy's arrays",
}
# And by both modes.
STRICT_BOTH = {
    "object_operators.chained": "functions of such a module are no functions of Python",
    "object_operators.listed": "functions of such a module are no functions of Python",
}


STRICT_IMPORT = "from tests.strict_array import xp as xp"


def rewritten(theme: str, own: str = STRICT_IMPORT) -> types.ModuleType:
    """A module of the collection with `xp` where it says `np`, imported like this."""
    original = sys.modules[f"tests.programs.{theme}"]
    text = Path(str(original.__file__)).read_text()
    text = text.replace("import numpy as np", own)
    module_name = re.sub(r"\W+", "_", own)
    text = re.sub(r"\bnp\.", "xp.", text)
    filename = f"<strict {theme} {module_name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    module = types.ModuleType(f"strict_{theme}_{module_name}")
    module.__package__ = "tests.programs"
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(text, filename, "exec"), module.__dict__)
    return module


def strict_function(program: Program) -> Callable[..., Any] | None:
    """The program on strict arrays if it runs there, else None."""
    fn = getattr(MODULES[program.theme], program.fn.__name__, None)
    if fn is None:
        return None
    try:
        value = agreement.call(fn, to_strict(program.arguments()))
    except (TypeError, AttributeError, IndexError):  # (its classes are not those of the arguments)
        return None
    expected = agreement.call(program.fn, program.arguments())
    if not agreement.close(float(value), float(expected), 1e-12):
        MEANS_OTHER.append(program)
    return fn


# Programs that read an entry, write the array and read the entry again: on such arrays, where
# an entry is a view, they compute something else.
MEANS_OTHER: list[Program] = []
MODULES = {theme: rewritten(theme) for theme in THEMES}
STRICT = {p.name: fn for p in PROGRAMS if p.theme in THEMES if (fn := strict_function(p))}
FOLLOWED = [
    p
    for p in PROGRAMS
    if p.name in STRICT
    and p not in MEANS_OTHER
    and p.name not in {**REFUSED, **REFUSED_REVERSE, **REFUSED_FORWARD}
]


def cases(refused: Mapping[str, str]) -> list[Any]:
    """The programs, those that are refused on such arrays marked so."""
    return [
        pytest.param(
            p,
            id=p.name,
            marks=pytest.mark.xfail(reason=refused[p.name], strict=True)
            if p.name in refused
            else (),
        )
        for p in FOLLOWED
    ]


def leaves(value: Any) -> list[Any]:
    """Numbers and arrays of a structure, in order."""
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    elif hasattr(value, "__dict__"):
        value = [part for _, part in sorted(vars(value).items())]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    return [] if value is None else [value]


def holds_only_strict(value: Any) -> bool:
    """Whether no ndarray is inside."""
    return not any(isinstance(leaf, (np.ndarray, np.generic)) for leaf in leaves(value))


@pytest.mark.parametrize("program", one_in(6, cases(STRICT_ONLY | STRICT_BOTH)[::2]))
def test_reverse(program: Program) -> None:
    args = program.arguments()
    expected = tl.grad(program.fn, wrt=program.wrt)(*program.arguments())
    gradient = tl.grad(STRICT[program.name], wrt=program.wrt)(*to_strict(args))
    assert holds_only_strict(gradient), [type(g) for g in gradient]
    got, want = leaves(from_strict(gradient)), leaves(expected)
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("program", one_in(5, cases(STRICT_BOTH)[1::2], 1))
def test_forward(program: Program) -> None:
    args = program.arguments()
    directions = agreement.directions_for(args, program.wrt, 1)
    _, expected = tl.jvp(program.fn, args, directions)
    fn = STRICT[program.name]
    value, tangent = tl.jvp(fn, to_strict(args), to_strict(tuple(directions)))
    assert holds_only_strict(tangent) or not holds_only_strict(value)  # (numbers only)
    assert agreement.close(float(tangent), float(expected), 1e-10)


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in MEANS_OTHER])
def test_what_means_something_else_is_right_or_refused(program: Program) -> None:
    fn, args = STRICT[program.name], program.arguments()
    directions = agreement.directions_for(args, program.wrt, 1)
    expected = agreement.slope(lambda *given: fn(*to_strict(given)), args, directions)
    try:
        gradient = from_strict(tl.grad(fn, wrt=program.wrt)(*to_strict(args)))
    except tl.UnsupportedError:
        return
    got = sum(agreement.inner(directions[k], g) for k, g in zip(program.wrt, gradient, strict=True))
    if np.isnan(expected):  # (a pivot that was exchanged, and an entry of it that is a view)
        assert np.isnan(got)
    else:
        assert agreement.close(got, expected, program.tolerance)


def test_most_programs_are_in_the_sample() -> None:
    assert len(FOLLOWED) >= 230, len(FOLLOWED)


X = np.arange(3.0)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda x: np.asarray(x),
        lambda x: np.ones(3) + x,
        lambda x: x + np.ones(3),
        lambda x: x * X[:, None],
        lambda x: np.concatenate([x, X]),
        lambda x: np.zeros(3).__iadd__(x),
        lambda x: np.zeros(3).__setitem__(slice(None), x),
        lambda x: x.__setitem__(0, np.ones(1)),
        lambda x: x @ X,
        lambda x: xp.dot(x, X),
    ],
)
def test_refuses_to_mix(attempt: Callable[[StrictArray], Any]) -> None:
    with pytest.raises(TypeError):
        attempt(to_strict(X))


def test_protocols_lead_back_to_strict_arrays() -> None:
    x = to_strict(X)
    for value in (
        np.sin(x),
        np.sum(x),
        2.0 * x,
        np.float64(2.0) * x,
        x[0],
        x.sum(),
        np.zeros_like(x),
    ):
        assert isinstance(value, StrictArray)
    x += x
    x[1:] *= 2.0
    np.add.at(x, [0, 0], 1.0)
    np.multiply(x, x, out=x)
    assert from_strict(x).tolist() == [4.0, 16.0, 64.0]
    assert np.shares_memory(x, x[1:])
