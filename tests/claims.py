"""What is claimed of a value is true of it: every name of a program is looked at when it runs."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import io
from collections.abc import Callable, ItemsView, Mapping, ValuesView
from typing import Any

import numpy as np

from tangentlike import ir
from tangentlike.analysis.kinds import infer_kinds
from tangentlike.codegen.print import emit, load
from tangentlike.frontend.structures import structures_of
from tangentlike.ir.kind import Kind, is_many, is_named
from tangentlike.ir.rewrite import rewrite, with_body
from tangentlike.rules.book import default_book
from tangentlike.rules.ruled import lower_ruled

_CLASSES = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}
# (A constant integer may stand where a float is claimed, and anything where nothing real is.)
_TRUE_OF = {"float": ("float", "int", "bool"), "int": ("int", "bool"), "bool": ("bool",)}
_VIEWS = (ValuesView, ItemsView)  # (of a dict; they stand for lists of what it holds)
_CONTAINERS: dict[str, tuple[type, ...]] = {
    "list": (list, range, *_VIEWS),
    "tuple": (tuple,),
    "dict": (dict,),
    "set": (set, frozenset),
}

# Sparse matrices are claimed to be the arrays that their derivatives treat them as, `np.trim_zeros`
# of a list and the places in `np.unique_inverse` of a number as well; `partial`, and operators of
# objects, are resolved before anything is claimed.
_OTHERWISE = ("csr_array", "`trim_zeros", "`partial`", "`unique_")


def false_claims(
    fn: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Kind] | None = None
) -> list[str]:
    """What is claimed of the names of a function called with these arguments, and not true;
    `given` is what is known of the arguments, by default what the call shows."""
    lowered = lower_ruled(fn, default_book())
    bound = inspect.signature(fn).bind(*args)
    bound.apply_defaults()
    known = dict(structures_of(dict(bound.arguments))) if given is None else given
    looker = _Looker(infer_kinds(lowered.function, known, default_book()))
    look = ir.Ref("look", looker.look)

    def looked(stmt: ir.Stmt) -> ir.Do:
        return ir.Do(ir.Call(look, (ir.Call(ir.Ref("locals", locals)),)), stmt.origin)

    def looked_at(stmt: ir.Stmt) -> Any:
        if isinstance(stmt, ir.For):
            stmt = dataclasses.replace(stmt, body=(looked(stmt), *stmt.body))
        last = isinstance(stmt, ir.Return | ir.Break)
        return [looked(stmt), stmt] if last else [stmt, looked(stmt)]

    function = with_body(lowered.function, rewrite(lowered.function.body, after=looked_at))
    plain = tuple(dataclasses.replace(p, annotation="") for p in function.params)
    function = dataclasses.replace(function, params=plain, name=f"{function.name}_looked_at")
    loaded = load(emit(ir.Module((function,)), lowered.scope))[function.name]
    # (Names of inner functions and what captures them are resolved later than here.)
    unresolved = contextlib.suppress(TypeError, NotImplementedError)
    with contextlib.redirect_stdout(io.StringIO()), unresolved:
        loaded(*copy.deepcopy(bound.args), **bound.kwargs)
    lies = dict.fromkeys(looker.lies)
    return [claim for claim in lies if not any(map(claim.count, _OTHERWISE))]


class _Looker:
    """Compares all names at once with what is claimed of them; sizes of one name are equal."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self.kinds = kinds
        self.sizes: dict[Any, Any] = {}
        self.lies: list[str] = []

    def look(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            problem = self.problem(value, self.kinds[name]) if name in self.kinds else ""
            if problem:
                self.lies.append(f"`{name}` is claimed to be {self.kinds[name]}, and {problem}")

    def problem(self, value: Any, kind: Kind) -> str:
        """What of a claim is not true of a value, "" if all of it is."""
        number = isinstance(value, (int, float, complex, np.number, np.bool_))
        array = isinstance(value, np.ndarray)
        right = {
            "number": number or (array and not value.ndim),
            "array": array or (number and kind.rank in (None, 0)),
            # (Operators of objects are resolved before anything is made of such a claim.)
            "value": not isinstance(value, (list, tuple, dict, set, str)),
            "object": kind.cls is None or type(value) is kind.cls,
            "other": not isinstance(value, (float, complex)),
            **{form: isinstance(value, cls) for form, cls in _CONTAINERS.items()},
        }
        if kind.form in right and not right[kind.form]:
            return f"it is a {type(value).__name__}"
        if number or array:
            found = _CLASSES.get(np.asarray(value).dtype.kind, "?")
            if kind.dtype in _TRUE_OF and found not in _TRUE_OF[kind.dtype]:
                return f"its class is {found}"
            grown = kind.grown is not None and np.ndim(value)
            return self.shape(np.shape(value), kind.with_shape(kind.grown) if grown else kind)
        if kind.form not in _CONTAINERS and not kind.is_view:
            return ""
        parts = list(value.values() if isinstance(value, dict) else value)
        if kind.items is not None and len(parts) != len(kind.items):
            return "it has another length"
        kinds = kind.items or [kind.item or Kind()] * len(parts)
        return next(filter(None, map(self.problem, parts, kinds)), "")

    def shape(self, shape: tuple[int, ...], kind: Kind) -> str:
        if isinstance(kind.shape, str):
            known = self.sizes.setdefault(("shape", kind.shape), shape)
            return "" if known == shape else f"its shape is {shape} and {known}"
        if kind.shape is None:
            return ""
        if len(shape) != len(kind.shape):
            return f"it has {len(shape)} axes"
        for size, dim in zip(shape, kind.shape, strict=True):
            known = dim if isinstance(dim, int) else size
            if is_named(dim):
                known = self.sizes.setdefault(dim, known)
            if dim is not None and (known != size or (size == 1 and is_many(dim))):
                return f"an axis {dim} has length {size}"
        return ""
