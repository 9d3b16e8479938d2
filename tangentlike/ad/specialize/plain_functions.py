"""Functions and classes of the file that only compute what a function we made does."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ... import ir
from ...frontend.cuts import cuts_made
from ...frontend.lower import Lowered, Scope
from .callees import Callees, emitted
from .function_objects import captured_names

Done = Callable[[ir.Function, Lowered], tuple[ir.Function, ...]]


class PlainFunctions:
    """Those of one file, each printed once; `done` makes them ready to be printed, `scopes` is told
    what their names mean."""

    def __init__(self, callees: Callees, scopes: dict[str, Scope], done: Done) -> None:
        self.callees = callees
        self.scopes = scopes
        self.done = done
        self._made: dict[int, ir.Ref] = {}  # by the id of what they compute

    def function(self, obj: Any, name: str) -> ir.Ref:
        """A function of the file for one that exists in the transform only."""
        if id(obj) not in self._made:
            ref = emitted(self.callees.names.fresh(name))
            self._made[id(obj)] = ref  # (it may call itself)
            self._print(obj, ref.text)
        return self._made[id(obj)]

    def class_of(self, ref: ir.Ref) -> ir.Ref:
        """A class of functions with what they capture: its methods are printed in the file."""
        if id(ref.obj) not in self._made:
            self._made[id(ref.obj)] = ref
            methods = ("__init__", "__call__") if captured_names(ref.obj) else ("__call__",)
            for method in methods:
                self._print(vars(ref.obj)[method], f"{ref.text}.{method}")
        return ref

    def in_part(self, function: ir.Function) -> ir.Function:
        """A function whose calls of functions of which statements are cut out are calls of such
        functions of the file: what was found of them holds of what is left of them only."""
        cuts = cuts_made()
        if cuts is None or not cuts.made:
            return function

        def is_cut(e: ir.Expr) -> bool:
            lowered = self.callees.read_before(e.obj) if isinstance(e, ir.Ref) else None
            return lowered is not None and any(
                map(cuts.raised_by, ir.statements(lowered.function.body))
            )

        def expr(e: ir.Expr) -> ir.Expr:
            if isinstance(e, ir.Call) and is_cut(e.fn):
                assert isinstance(e.fn, ir.Ref)
                ref = self.function(e.fn.obj, self.callees.lowered(e.fn.obj).function.name)
                e = dataclasses.replace(e, fn=ref)
            return ir.rebuild(e, expr)

        return ir.with_body(function, ir.rewrite(function.body, expression=expr))

    def _print(self, obj: Any, name: str) -> None:
        lowered = self.callees.lowered(obj)
        function = dataclasses.replace(lowered.function, name=name)
        self.callees.functions += self.done(function, lowered)
        self.scopes[name] = lowered.scope
