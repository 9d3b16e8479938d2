"""Kinds where arrays are not NumPy's: what NumPy gives as a number is an array of rank 0.

On CuPy `np.sum(x)` and `x[0]` are arrays without dimensions: `s += t` writes into `s`, and
`x[0]` shares memory with `x`. A program that computes with them means something else there, so
nothing may be derived from their being numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import ir
from ..frontend.owners import is_numpy, module_of
from ..ir.kind import Kind
from ..runtime.records import attribute_of
from .book import KindOf, RuleBook, operation

# Of these a number is a number whatever it is made from.
_HOST_NUMBERS = (np.size, np.ndim, np.ndarray.item, np.ndarray.size, np.ndarray.ndim)


class ForeignBook:
    """A rule book that claims of no array operation that its result is a number."""

    def __init__(self, book: RuleBook) -> None:
        self._book = book

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(self._book, name)  # (looked up once: asked often)
        return found

    def entry_kind(self, kind: Kind) -> Kind:
        """The kind of an entry of an array, given what it is in NumPy. (Its shape is not claimed:
        what has no axes is taken for what cannot be written.)"""
        return replace(kind, form="value", shape=None) if kind.form == "number" else kind

    def result_kind(self, call: ir.Call, kind_of: KindOf) -> Kind:
        """What is known of a call's result.

        Only Python's own arithmetic, of numbers, gives numbers.
        """
        kind = self._book.result_kind(call, kind_of)
        if kind.form != "number" or not self._is_array_operation(call, kind_of):
            return kind
        return self.entry_kind(kind)

    def _is_array_operation(self, call: ir.Call, kind_of: KindOf) -> bool:
        obj = operation(call.fn)
        if obj in _HOST_NUMBERS or isinstance(obj, type):
            return False
        if is_numpy(obj):
            return True
        if attribute_of(obj, "__objclass__", None) is np.ndarray:
            return True
        arguments = ir.arguments(call)
        if obj in (sum, min, max, abs, pow) or module_of(obj) == "_operator":
            return any(kind_of(a).form not in ("number", "other") for a in arguments)
        return False
