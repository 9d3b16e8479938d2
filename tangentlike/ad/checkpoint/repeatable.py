"""Whether code that a checkpoint runs again does the same again.

A random draw, a value taken from an iterator or the time of day would be another one the second
time, and the gradient that of another function: refused, with the line.
"""

from __future__ import annotations

import inspect
import random
import re
import types
from typing import Any

import numpy as np

from ... import ir
from ...analysis.operations import MUTATING_METHODS
from ...errors import Place, UnsupportedError
from ...frontend.lower import Lowered
from ...frontend.owners import is_numerical, is_ours, package_of
from ...runtime.records import attribute_of
from ..specialize.callees import Callees

_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_ORDINARY = frozenset(name for cls in (np.ndarray, list, dict, str, tuple) for name in dir(cls))
_DRAWS = frozenset(n for cls in _GENERATORS for n in dir(cls) if n[0] != "_") - _ORDINARY | {
    "choice", "shuffle", "permutation",
}  # fmt: skip
_ONCE = frozenset({"next", "iter", "input", "open"})
_CLOCKS = ("time", "datetime", "random", "secrets", "uuid", "os")
_METHOD = re.compile(r"\.(\w+)\s*\(")


def require_repeatable(lowered: Lowered, callees: Callees) -> None:
    """Refuse a function that may do something else when it is run again, or call one."""
    _Search(callees).function(lowered)


class _Search:
    def __init__(self, callees: Callees) -> None:
        self.callees = callees
        self.seen: set[int] = set()

    def function(self, lowered: Lowered) -> None:
        for stmt in ir.statements(lowered.function.body):
            place = stmt.origin.place
            for expr in ir.expressions(stmt):
                for part in ir.walk(expr):
                    self._part(part, place)
            if isinstance(stmt, ir.OpaqueStmt):
                self._text(stmt.text, stmt.refs, place)

    def _part(self, part: ir.Expr, place: Place) -> None:
        match part:
            case ir.Ref():
                self._object(part, place)
            case ir.Call(fn=ir.Attribute(name=name)) if name in _DRAWS:
                _refuse(f"`.{name}(...)`", place)
            case ir.Opaque():
                self._text(part.text, part.refs, place)

    def _text(self, text: str, refs: tuple[ir.Ref, ...], place: Place) -> None:
        for ref in refs:
            self._object(ref, place)
        for name in _METHOD.findall(text):
            if name in _DRAWS:
                _refuse(f"`.{name}(...)`", place)

    def _object(self, ref: ir.Ref, place: Place) -> None:
        obj = ref.obj
        owner = attribute_of(obj, "__self__", None)
        if isinstance(owner, _GENERATORS) or isinstance(obj, types.GeneratorType):
            _refuse(f"`{ref.text}`", place)
        changes = isinstance(owner, (list, dict, set)) and ref.text.rpartition(".")[2]
        if changes in MUTATING_METHODS:
            _refuse(f"`{ref.text}`", place)
        module = package_of(obj)
        if module in _CLOCKS and callable(obj):
            _refuse(f"`{ref.text}`", place)
        if ref.text in _ONCE and module in ("builtins", "io", "_io"):
            _refuse(f"`{ref.text}`", place)
        if inspect.isfunction(obj):
            self._callee(obj)

    def _callee(self, obj: Any) -> None:
        if id(obj) in self.seen or is_numerical(obj) or is_ours(obj):
            return
        self.seen.add(id(obj))
        try:
            lowered = self.callees.lowered(obj)
        except UnsupportedError:
            return  # refused where it is differentiated; else it carries no derivative
        self.function(lowered)


def _refuse(what: str, place: Place) -> None:
    raise UnsupportedError(
        f"{what} gives something else when a checkpoint runs it again",
        place,
        "Draw (or read) it before the checkpointed call or loop and pass it in.",
    )
