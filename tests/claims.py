"""Watches a lowered program run and compares every value with what its kind claims."""

from __future__ import annotations

import builtins
import contextlib
import copy
import io
import keyword
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tangentlike import ir
from tangentlike.analysis.kinds import infer_kinds
from tangentlike.codegen.print import show
from tangentlike.errors import UnsupportedError
from tangentlike.frontend.lower import lower
from tangentlike.ir.kind import Kind, is_many, is_named
from tangentlike.rules.book import default_book

_CLASSES = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}


def false_claims(
    f: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Kind]
) -> list[str]:
    """Everything said of the locals of f that is not true when it runs on `args`."""
    lowered = lower(f)
    kinds = infer_kinds(lowered.function, given, default_book())
    namespace = _namespace(lowered)
    exec(compile(show(lowered.function), "<lowered>", "exec"), namespace)
    watcher = _Watcher(kinds, _names_bound(lowered.function))
    main = namespace[lowered.function.name]
    before = sys.gettrace()
    sys.settrace(lambda frame, event, _: watcher.enter(frame, main))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            main(*copy.deepcopy(args))
    finally:
        sys.settrace(before)
    return watcher.lies


def _names_bound(function: ir.Function) -> frozenset[str]:
    bound = (name for stmt in ir.statements(function.body) for name in ir.binds(stmt))
    return frozenset((*function.param_names, *bound))


def _namespace(lowered: Any) -> dict[str, Any]:
    namespace: dict[str, Any] = {"np": np}
    for stmt in ir.statements(lowered.function.body):
        exprs = [*ir.expressions(stmt)]
        refs = [e for x in exprs for e in ir.walk(x)]
        refs += [r for e in refs if isinstance(e, ir.Opaque) for r in e.refs]
        refs += list(stmt.refs) if isinstance(stmt, ir.OpaqueStmt) else []
        for ref in refs:
            if isinstance(ref, ir.Ref):
                root = ref.text.partition(".")[0]
                plain = root.isidentifier() and not keyword.iskeyword(root)
                if plain and not hasattr(builtins, root):
                    namespace[root] = _meaning(ref, root, lowered)
    return namespace


def _meaning(ref: ir.Ref, root: str, lowered: Any) -> Any:
    """What a name of the lowered text stands for; what lowering brought along says it itself."""
    if hasattr(ref.obj, "__lifted__"):
        raise UnsupportedError("an inner function that lowering took out runs in emitted files")
    try:
        return lowered.scope.lookup(root)
    except KeyError:
        return ref.obj


class _Watcher:
    """Checks the locals of one frame after each line, and sizes that must be equal."""

    def __init__(self, kinds: Mapping[str, Kind], own: frozenset[str]) -> None:
        self.kinds = kinds
        self.own = own
        self.sizes: dict[Any, Any] = {}
        self.lies: list[str] = []

    def enter(self, frame: Any, main: Any) -> Any:
        if frame.f_code is not main.__code__ or self.sizes:
            return None  # recursive calls have sizes of their own
        self.sizes["<running>"] = ()
        return self.line

    def line(self, frame: Any, event: str, _: Any) -> Any:
        for name, value in frame.f_locals.items():
            if name not in self.own:  # a variable of a comprehension, which 3.12 shows as well
                continue
            problem = self.problem(value, self.kinds[name]) if name in self.kinds else "no kind"
            if problem:
                self.lies.append(f"{name}: {problem} ({self.kinds.get(name)})")
        return self.line

    def problem(self, value: Any, kind: Kind) -> str:
        if kind.is_view:
            problems = (self.problem(part, kind.item or kind) for part in _parts(value))
            return next(filter(None, problems), "")
        if kind.form == "unknown":
            return self.shape(value, kind)
        number = isinstance(value, (int, float, complex, np.generic))
        array = isinstance(value, np.ndarray)
        right = {
            "number": number,
            "array": array,
            "value": number or array,
            "list": isinstance(value, (list, range)),
            "tuple": isinstance(value, tuple),
            "dict": isinstance(value, dict),
            "set": isinstance(value, (set, frozenset)),
            "object": kind.cls is None or type(value) is kind.cls,
            "other": not (number and isinstance(value, (float, complex))),
        }
        if not right[kind.form]:
            return f"a {type(value).__name__}"
        if number or array:
            dtype = _CLASSES.get(np.asarray(value).dtype.kind, "?")
            if kind.dtype not in ("?", dtype):
                return f"dtype {dtype}"
            if kind.grown is not None and np.ndim(value):
                return self.shape(value, Kind("array", shape=kind.grown))
            return self.shape(value, kind)
        if kind.form == "object":
            return ""
        for part, item in zip(_parts(value), kind.items or (), strict=False) if kind.items else ():
            if problem := self.problem(part, item):
                return problem
        if kind.item is not None:
            for part in _parts(value):
                if problem := self.problem(part, kind.item):
                    return problem
        return ""

    def shape(self, value: Any, kind: Kind) -> str:
        if not hasattr(value, "shape") and not isinstance(value, (int, float, complex)):
            return ""
        shape = np.shape(value)
        if isinstance(kind.shape, str):
            known = self.sizes.setdefault(("shape", kind.shape), shape)
            return "" if known == shape else f"shape {shape} and {known}"
        if kind.shape is None:
            return ""
        if len(shape) != len(kind.shape):
            return f"rank {len(shape)}"
        for size, dim in zip(shape, kind.shape, strict=True):
            known = dim if isinstance(dim, int) else size
            if is_named(dim):
                known = self.sizes.setdefault(dim, known)
            if dim is not None and (known != size or (size == 1 and is_many(dim))):
                return f"size {size} of {dim}"
        return ""


def _parts(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else list(value)
