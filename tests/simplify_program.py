"""Derived programs from text, for the tests of `tangentlike.codegen.optimize`.

What stands above a line `# adjoint` is the user's, what stands below is the transform's
(below `# adjoint of one line`: as the adjoint of one line of the user's).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from tangentlike import ir, runtime
from tangentlike.codegen.optimize import Facts
from tangentlike.codegen.optimize.facts import derived
from tangentlike.codegen.print import show
from tangentlike.frontend.lower import program
from tangentlike.ir.kind import FLOAT, INT, Kind

ARRAY = Kind("array", "float")
BY_LETTER = {"A": ARRAY, "F": FLOAT, "I": INT}
_RUNTIME = ("unbroadcast", "broadcast_like", "zeros_like", "ones_like", "add_at", "copy")


def read(text: str) -> ir.Function:
    """A function from its statements, those below `# adjoint` in the role of adjoints."""
    one_line = "# adjoint of one line\n" in text
    text = text.replace("# adjoint of one line\n", "# adjoint\n")
    primal, marker, adjoint = text.partition("# adjoint\n")
    namespace = {"np": np} | {name: getattr(runtime, name) for name in _RUNTIME}
    upper = program(primal, namespace) if primal.strip() else None
    if not marker:
        assert upper is not None
        return upper
    lower = derived(program(adjoint, namespace))
    if one_line:
        lower = _on_one_line(lower)
    if upper is None:
        return lower
    bound = {n for s in ir.statements(upper.body) for n in ir.binds(s)}
    known = bound | set(upper.param_names)
    params = (*upper.params, *(p for p in lower.params if p.name not in known))
    return dataclasses.replace(upper, params=params, body=upper.body + lower.body)


def _on_one_line(function: ir.Function) -> ir.Function:
    def one(stmt: ir.Stmt) -> ir.Stmt:
        place = dataclasses.replace(stmt.origin.place, line=1)
        return dataclasses.replace(stmt, origin=dataclasses.replace(stmt.origin, place=place))

    return dataclasses.replace(function, body=tuple(map(one, function.body)))


def facts(
    kinds: str = "",
    temporaries: str = "",
    original: Mapping[str, str] | None = None,
    shapes: Mapping[str, str] | None = None,
) -> Facts:
    """Facts in short: `kinds="x:A n:I"`, `temporaries="t u"`, `shapes={"r": "r"}`."""
    found = dict(part.split(":") for part in kinds.split())
    by_name = {name: BY_LETTER[letter] for name, letter in found.items()}
    for name, shape in (shapes or {}).items():
        by_name[name] = Kind("array", "float", shape)
    return Facts(
        kinds=by_name,
        temporaries=frozenset(temporaries.split()),
        original=original or {},
    )


def text_of(function: ir.Function) -> str:
    """The body's text."""
    return show(function.body) + "\n"
