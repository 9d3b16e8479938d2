"""A rule book that also knows what the user's functions and methods return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ir
from ...analysis.operations import is_python_function
from ...frontend.owners import mark_of
from ...ir.kind import UNKNOWN, Kind
from ...rules.book import RuleBook
from ...rules.ruled import ForeignBook
from .callees import Callees
from .method_lookup import MethodLookup


class KnownCallees:
    """A rule book with the kinds of results that follow from the source of functions."""

    def __init__(self, book: RuleBook | ForeignBook, callees: Callees) -> None:
        self.book = book
        self._callees = callees
        self.methods = MethodLookup(callees.made)

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(self.book, name)  # (looked up once: asked often)
        return found

    def is_callee(self, obj: Any) -> bool:
        """Whether an object is a function of the user's whose source says what it does."""
        if not is_python_function(obj) or mark_of(obj, "derives"):
            return False
        return not self.book.knows(obj) and self._callees.effects(obj) is not None

    def result_kind(self, call: ir.Call, kind_of: Callable[[ir.Expr], Kind]) -> Kind:
        fn = call.fn
        if not isinstance(fn, ir.Ref) or not is_python_function(fn.obj):
            return self.book.result_kind(call, kind_of)
        if self.book.knows(fn.obj):
            return self.book.result_kind(call, kind_of)
        return self._callees.result_kind(call, kind_of)

    def method_kind(self, expr: ir.Expr, kind_of: Callable[[ir.Expr], Kind]) -> Kind | None:
        """What a method of an object gives, or a class that is called; None for other things."""
        found = self.methods.behind(expr, kind_of)
        if found is None:
            return None
        if found.fn in self.methods.storing:  # (it was computed when the object was another)
            return UNKNOWN
        call = self._callees.variants.of_call(found.call(None))  # (starred parameters)
        return self._callees.result_kind(call, kind_of)
