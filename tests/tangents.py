"""Runs forward mode on a live function by its stages alone, for tests of these stages."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tangentlike import ir, runtime
from tangentlike.ad.context import Context
from tangentlike.ad.forward.functions import forward
from tangentlike.ad.normalize.inplace import writes_as_stores
from tangentlike.ad.request import PLAIN_READING
from tangentlike.ad.specialize.callees import Callees, Request
from tangentlike.analysis.activity import active_names, refuse_unknown, written_parameters
from tangentlike.analysis.aliases import Effects
from tangentlike.analysis.cut_paths import Texts
from tangentlike.analysis.flow import flow_edges
from tangentlike.analysis.kinds import infer_kinds
from tangentlike.codegen.print import show
from tangentlike.frontend.lower import Lowered, lower, names_of
from tangentlike.ir.kind import Kind
from tangentlike.rules.book import default_book


class Builder:
    """What the pipeline does for callees, without simplification."""

    def __init__(self) -> None:
        self.book = default_book()
        self.reading = PLAIN_READING
        self.texts = Texts(lambda fn: ("", ()))  # (no text is given to anything)
        self.callees = Callees(builder=self)
        self.namespace: dict[str, Any] = {}

    def lower(self, fn: Any) -> Lowered:
        return lower(fn)

    def pair(self, pair: Any, request: Request) -> Any:
        raise NotImplementedError

    def tangent(self, name: str, request: Request, exposed: bool) -> ir.Function:
        return self.derive(request.lowered, request.active, request.kinds, name, protect=False)

    def effects(self, lowered: Lowered, kinds: Mapping[str, Kind]) -> Effects:
        context = self.context(lowered, kinds)
        flow = flow_edges(lowered.function, context.kinds, context.book, context.sources().effects)
        everything = frozenset(lowered.function.param_names)
        return Effects(frozenset(written_parameters(lowered.function, flow)), everything)

    def context(self, lowered: Lowered, given: Mapping[str, Kind]) -> Context:
        kinds = infer_kinds(lowered.function, given, self.book)
        return Context(kinds, self.book, self.callees, names_of(lowered.function))

    def derive(
        self,
        lowered: Lowered,
        wrt: Sequence[str],
        given: Mapping[str, Kind],
        name: str = "",
        protect: bool = True,
    ) -> ir.Function:
        context = self.context(lowered, given)
        function = writes_as_stores(lowered.function, context)
        effects = context.sources().effects
        targets = () if protect else None
        active = active_names(function, wrt, context.kinds, context.book, targets, effects)
        refuse_unknown(function, active, context.book, context.kinds, wrt)
        self.collect(lowered)
        return forward(function, wrt, active, context, name, () if protect else None)

    def collect(self, lowered: Lowered) -> None:
        """Live objects for the roots of all resolved names."""
        for stmt in ir.statements(lowered.function.body):
            for expr in ir.expressions(stmt):
                for ref in ir.walk(expr):
                    if isinstance(ref, ir.Ref) and ref.text.partition(".")[0].isidentifier():
                        root = ref.text.partition(".")[0]
                        if not (hasattr(builtins, root) or keyword.iskeyword(root)):
                            self.namespace[root] = lowered.scope.lookup(root)


def tangent_source(
    f: Callable[..., Any], wrt: Sequence[str], given: Mapping[str, Kind] = {}
) -> str:
    """The text of `f_jvp`."""
    return _derive(f, wrt, given)[0]


def tangent_function(
    f: Callable[..., Any], wrt: Sequence[str], given: Mapping[str, Kind] = {}
) -> Callable[..., Any]:
    """`f_jvp` itself."""
    text, namespace = _derive(f, wrt, given)
    exec(compile(text, f"<{f.__name__}_jvp>", "exec"), namespace)
    return namespace[f"{f.__name__}_jvp"]


def _derive(
    f: Callable[..., Any], wrt: Sequence[str], given: Mapping[str, Kind]
) -> tuple[str, dict[str, Any]]:
    builder = Builder()
    function = builder.derive(lower(f), wrt, given)
    text = "\n\n".join(show(fn) for fn in (*builder.callees.functions, function))
    helpers = {name: obj for name, obj in vars(runtime).items() if callable(obj)}
    return text, {"np": np, **helpers, **builder.namespace}
