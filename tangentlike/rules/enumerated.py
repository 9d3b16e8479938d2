"""Loops over `np.ndenumerate(a)`, spelled as loops over the places and the entries of `a`."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from .. import ir
from ..ir.names import Names

if TYPE_CHECKING:
    from ..frontend.lower import Lowered


def entries_spelled(lowered: Lowered) -> Lowered:
    """A lowered function without `np.ndenumerate` in headers of loops.

    before::                                after::
        ndenumerate = np.ndenumerate(a)         ndindex = np.ndindex(a.shape)
        for k, v in ndenumerate:                places = list(ndindex)
            s = s + v                           entries = a.flat
                                                for k, v in zip(places, entries):
                                                    s = s + v
    """
    every = list(ir.statements(lowered.function.body))
    if not any(map(_enumerates, every)):
        return lowered
    bound = ir.bindings(every)
    read = Counter(name for stmt in every for name in ir.reads(stmt))
    headers = Counter(
        stmt.iter.name
        for stmt in every
        if isinstance(stmt, ir.For) and isinstance(stmt.iter, ir.Var)
    )
    names = Names({*bound, *read, *lowered.function.param_names})
    alias, walks, made = lowered.scope.numpy_alias, dict[str, ir.Expr](), set[str]()

    def fresh(word: str) -> str:
        made.add(name := names.fresh(word))
        return name

    def statement(stmt: ir.Stmt) -> ir.Instead:
        name = _enumerates(stmt)
        if name is not None and (bound[name], read[name]) == (1, headers[name]):
            assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
            array, at = stmt.value.args[0], stmt.origin.place
            index, places, entries = fresh("ndindex"), fresh("places"), fresh("entries")
            walks[name] = ir.Call(ir.Ref("zip", zip), (ir.Var(places), ir.Var(entries)), at=at)
            shape = ir.Attribute(array, "shape", at)
            walk = ir.Call(ir.Ref(f"{alias}.ndindex", np.ndindex), (shape,), at=at)
            steps = {
                index: walk,
                places: ir.Call(ir.Ref("list", list), (ir.Var(index),), at=at),
                entries: ir.Attribute(array, "flat", at),
            }
            return tuple(ir.Assign(n, value, stmt.origin) for n, value in steps.items())
        if isinstance(stmt, ir.For) and isinstance(stmt.iter, ir.Var) and stmt.iter.name in walks:
            return dataclasses.replace(stmt, iter=walks[stmt.iter.name])
        return None

    body = ir.rewrite(lowered.function.body, after=statement)
    return lowered.with_body(body, made)


def _enumerates(stmt: ir.Stmt) -> str | None:
    """The name that is bound to `np.ndenumerate(a)` of a named array, or None."""
    match stmt:
        case ir.Assign(
            target=str(name), value=ir.Call(ir.Ref(obj=np.ndenumerate), (ir.Var(),), ())
        ):
            return name
    return None
