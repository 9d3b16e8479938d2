"""A simplified program computes what the program computed: programs run before and after."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tangentlike import ir
from tangentlike.codegen.optimize import Facts, simplified
from tangentlike.codegen.optimize.facts import derived
from tangentlike.codegen.optimize.nest import nest_in_return
from tangentlike.codegen.print import show
from tangentlike.errors import TangentlikeError
from tangentlike.frontend.lower import lower
from tangentlike.pipeline import builder
from tangentlike.pipeline import stages as pipeline

from . import generator
from .programs import PROGRAMS
from .sampled import one_in

FEATURES = ("straight", "functional", "writes", "inplace", "containers")


def compiled(function: ir.Function, like: Callable[..., Any]) -> Callable[..., Any]:
    """The function's text, run where `like` was defined."""
    namespace = dict(like.__globals__) | {"np": np}
    cells = like.__closure__ or ()
    for name, cell in zip(like.__code__.co_freevars, cells, strict=True):
        namespace[name] = cell.cell_contents
    exec(compile(show(function), "<simplified>", "exec"), namespace)
    return namespace[function.name]


def outcome(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """Result (or kind of failure), and the arguments afterwards."""
    arguments = copy.deepcopy(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return fn(*arguments), arguments
        except Exception as error:
            return type(error).__name__, arguments


def same(a: Any, b: Any) -> bool:
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (np.ndarray, np.generic, float, complex)):
        close = np.shape(a) == np.shape(b) and np.allclose(a, b, 1e-9, 1e-11, equal_nan=True)
        return bool(close) and getattr(a, "dtype", None) == getattr(b, "dtype", None)
    if type(a).__module__ != "builtins" and hasattr(a, "__dict__"):
        return same(vars(a), vars(b))
    return bool(a == b)


def check(fn: Callable[..., Any], arguments: tuple[Any, ...], as_derived: bool = True) -> None:
    """Simplify the user's program, also as if it were a transform's: same outcome."""
    lowered = lower(fn)
    expected = outcome(compiled(lowered.function, fn), arguments)
    functions = [lowered.function]
    if as_derived:
        functions.append(derived(lowered.function))
    for function in functions:
        known = Facts(temporaries=lowered.temporaries, original=lowered.original)
        simple = nest_in_return(*simplified(function, known))
        assert same(expected, outcome(compiled(simple, fn), arguments)), show(simple)


@pytest.mark.parametrize("program", one_in(4, PROGRAMS, 2), ids=lambda p: p.name)
def test_primal_programs(program, capsys):
    try:
        # (A transform writes no calls of the user's methods: those would change objects.)
        check(program.fn, program.arguments(3), as_derived="objects" not in program.theme)
    except TangentlikeError as refusal:
        pytest.skip(str(refusal).splitlines()[0])


@pytest.mark.parametrize("features", FEATURES)
def test_generated_primal_programs(features):
    for seed in range(12):
        check(generator.load(generator.generate(seed, features)), generator.arguments(seed))


@pytest.mark.thorough
@pytest.mark.parametrize("features", FEATURES[:4])
def test_generated_derivatives(features, monkeypatch):
    """The gradient as the transform wrote it, and simplified."""
    for seed in range(100, 106):
        fn = generator.load(generator.generate(seed, features))
        arguments = generator.arguments(seed)
        names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
        wrt = tuple(n for n, a in zip(names, arguments, strict=True) if not isinstance(a, int))
        request = pipeline.Request("value_and_grad", wrt, False)
        with monkeypatch.context() as without:
            without.setattr(builder, "simplified", lambda function, facts: (function, facts))
            try:
                plain = pipeline.derive(fn, request)
            except TangentlikeError:
                continue
        expected = outcome(plain.function, arguments)
        if isinstance(expected[0], str):
            continue
        simple = pipeline.derive(fn, request)
        assert same(expected, outcome(simple.function, arguments)), simple.source
