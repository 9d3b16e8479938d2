"""Derivatives with respect to a local variable: which ones that can be."""

from __future__ import annotations

from collections.abc import Mapping

from .. import ir
from ..errors import UnsupportedError
from ..kind import UNKNOWN, Kind


def refuse_local_inputs(
    function: ir.Function,
    wrt: tuple[str, ...],
    original: Mapping[str, str],
    kinds: Mapping[str, Kind],
) -> None:
    """Refuse names of `wrt` that are no parameters and not assigned once, outside branches and
    loops: only then is there one value to speak of.

    `original` says which of the user's names a name of the lowered function stands for.
    """
    for name in wrt:
        if name not in function.param_names:
            _check(function, name, original, kinds)


def _check(
    function: ir.Function, name: str, original: Mapping[str, str], kinds: Mapping[str, Kind]
) -> None:
    found = [
        stmt
        for stmt in ir.statements(function.body)
        if any(original.get(bound, bound) == name for bound in ir.binds(stmt))
    ]
    if not found:
        raise UnsupportedError(
            f"{function.name} has no variable `{name}` of its own",
            function.place,
            "A variable of a comprehension or of a function inside it does not count.",
        )
    lines = sorted({stmt.origin.place.line for stmt in found})
    first = found[0]
    if len(found) > 1:
        raise UnsupportedError(
            f"`{name}` is assigned more than once (lines {', '.join(map(str, lines))})",
            found[1].origin.place,
            "Give the value that is meant a name of its own.",
        )
    if not isinstance(first, ir.Assign) or all(first is not stmt for stmt in function.body):
        raise UnsupportedError(
            f"`{name}` is assigned inside a loop or a branch",
            first.origin.place,
            "Then it has no value, or several. Assign the one that is meant outside.",
        )
    if kinds.get(name, UNKNOWN).discrete:
        raise UnsupportedError(
            f"`{name}` carries no derivative: it is no number or array of floats",
            first.origin.place,
            "Name a variable that holds floats.",
        )
