"""What is claimed of a value is true of it: every name of a program is looked at when it runs.

A derivative leaves out a sum because an axis is claimed not to be of length 1, a conjugate since
a value is claimed to be real, an adjoint where it is claimed to be an integer. So each claim about
a name (its kind) is compared with every value that the name is given in a run.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import io
from collections.abc import Callable, ItemsView, ValuesView
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike import ir
from tangentlike.analysis.kinds import infer_kinds
from tangentlike.codegen.print import emit, load
from tangentlike.frontend.structures import structures_of
from tangentlike.ir.kind import Kind, is_many, is_named
from tangentlike.ir.rewrite import rewrite, with_body
from tangentlike.rules.book import default_book
from tangentlike.rules.ruled import lower_ruled
from tests.operation_list import DIFFERENTIATED
from tests.programs import PROGRAMS, Program
from tests.sampled import one_in
from tests.test_operations import program, runs, values

_CLASSES = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}
_TRUE_OF = {"float": ("float", "int", "bool"), "int": ("int", "bool"), "bool": ("bool",)}
_VIEWS = (ValuesView, ItemsView)  # (of a dict; they stand for lists of what it holds)
_CONTAINERS: dict[str, Any] = {"list": (list, range, *_VIEWS), "tuple": tuple, "dict": dict}


def false_claim(kind: Kind, value: Any, sizes: dict[Any, int]) -> str | None:
    """What of a claim is not true of a value."""
    number = isinstance(value, (int, float, complex, np.number, np.bool_))
    array = isinstance(value, np.ndarray)
    if kind.form == "number" and not number and np.ndim(value):
        return "it is not a number"
    if kind.form == "array" and not array and not (number and kind.rank in (None, 0)):
        return "it is not an array"
    if kind.form in _CONTAINERS and not isinstance(value, _CONTAINERS[kind.form]):
        return f"it is not a {kind.form}"
    if number or array:
        found = _CLASSES.get(np.asarray(value).dtype.kind, "?")
        if kind.dtype in _TRUE_OF and found not in _TRUE_OF[kind.dtype]:
            return f"its class is {found}"
    if array and kind.grown is not None:
        kind = kind.with_shape(kind.grown)
    if array and isinstance(kind.shape, tuple):
        return _false_shape(kind, value, sizes)
    if isinstance(value, tuple) and kind.items is not None:
        if len(value) != len(kind.items):
            return "it has another length"
        pairs = zip(kind.items, value, strict=True)
        return next((f for k, v in pairs if (f := false_claim(k, v, {}))), None)
    if isinstance(value, list) and kind.item is not None:
        return next((f for v in value if (f := false_claim(kind.item, v, {}))), None)
    return None


def _false_shape(kind: Kind, value: np.ndarray, sizes: dict[Any, int]) -> str | None:
    assert isinstance(kind.shape, tuple)
    if len(kind.shape) != value.ndim:
        return f"it has {value.ndim} axes"
    for dim, size in zip(kind.shape, value.shape, strict=True):
        if (dim == 1 or is_many(dim)) and (dim == 1) != (size == 1):
            return f"an axis has length {size}"
        if isinstance(dim, int) and dim != size:
            return f"an axis has length {size}"
        if is_named(dim) and sizes.setdefault(dim, size) != size:
            return f"{dim} has two sizes"
    return None


def false_claims(fn: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """What is claimed of the names of a function called with these arguments, and not true."""
    lowered = lower_ruled(fn, default_book())
    bound = inspect.signature(fn).bind(*args)
    bound.apply_defaults()
    kinds = infer_kinds(
        lowered.function, dict(structures_of(dict(bound.arguments))), default_book()
    )
    sizes: dict[Any, int] = {}
    found: list[str] = []

    def look(name: str, value: Any) -> None:
        wrong = false_claim(kinds[name], value, sizes)
        if wrong is not None:
            found.append(f"`{name}` is claimed to be {kinds[name]}, and {wrong}")

    def looked_at(stmt: ir.Stmt) -> Any:
        names = [n for n in ir.binds(stmt) if n in kinds]
        if not isinstance(stmt, ir.Assign) or not names:
            return None
        fns = ir.Ref("look", look)
        calls = (ir.Call(fns, (ir.Const(n), ir.Var(n))) for n in names)
        return [stmt, *(ir.Do(call, stmt.origin) for call in calls)]

    function = with_body(lowered.function, rewrite(lowered.function.body, after=looked_at))
    plain = tuple(dataclasses.replace(p, annotation="") for p in function.params)
    function = dataclasses.replace(function, params=plain, name=f"{function.name}_looked_at")
    loaded = load(emit(ir.Module((function,)), lowered.scope), lowered.scope)[function.name]
    # (Names of inner functions and what captures them are resolved later than here.)
    unresolved = contextlib.suppress(TypeError, NotImplementedError)
    with contextlib.redirect_stdout(io.StringIO()), unresolved:
        loaded(*copy.deepcopy(bound.args), **bound.kwargs)
    return [claim for claim in found if not any(name in claim for name in _OTHERWISE)]


# Sparse matrices are claimed to be the arrays that their derivatives treat them as, `np.trim_zeros`
# of a list and the places in `np.unique_inverse` of a number as well; `partial`, and operators of
# objects, are resolved before anything is claimed.
_OTHERWISE = ("csr_array", "`trim_zeros", "`partial`", "`unique_")
ROWS = [pytest.param(row[1], row[2], id=row[0]) for row in DIFFERENTIATED]


def variants(x: np.ndarray, y: np.ndarray) -> list[tuple[Any, ...]]:
    """Arguments of several classes: complex ones, integers, numbers, axes of length 1."""
    found: list[tuple[Any, ...]] = [(x, y), (x + 0.1j, y), (x, y * 1j + 0.2), (-x, y)]
    found += [(x.ravel()[0], y), (x, y.ravel()[0]), (float(x.ravel()[0]), float(y.ravel()[0]))]
    counts = np.arange(1, x.size + 1).reshape(x.shape)
    found += [(counts, y), (x, counts[: len(y)] if y.ndim else 2), (counts, counts), (x > 0.5, y)]
    found += [(2, y), (x, 2), (2, 3), (True, y)]
    if x.ndim:
        found += [(x[:1], y), (x, y[:1]), (x[..., :1], y)]
    return found


@pytest.mark.parametrize(("call", "shape"), one_in(4, ROWS))
@pytest.mark.filterwarnings("ignore")
def test_operations(call: str, shape: tuple[int, ...]) -> None:
    fn = program(call)
    if not runs(fn, shape):
        pytest.skip("not in this version")
    for args in variants(*values(shape)):
        try:
            fn(*copy.deepcopy(args))
        except Exception:
            continue  # (such arguments are not what the operation takes)
        assert false_claims(fn, args) == []


@pytest.mark.parametrize("collected", one_in(3, [pytest.param(p, id=p.name) for p in PROGRAMS]))
@pytest.mark.filterwarnings("ignore")
def test_programs(collected: Program) -> None:
    try:
        found = false_claims(collected.fn, collected.arguments())
    except tl.UnsupportedError:
        return
    assert collected.name.startswith("object_operators.") or found == []
