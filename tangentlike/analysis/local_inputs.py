"""Derivatives with respect to a local variable: which ones that can be."""

from __future__ import annotations

from collections.abc import Mapping

from .. import ir
from ..errors import WrtError
from ..frontend.lower import Lowered, names_of
from ..ir.kind import UNKNOWN, Kind


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
        raise WrtError(
            f"{function.name} has no variable `{name}` of its own",
            function.place,
            "A variable of a comprehension or of a function inside it does not count.",
        )
    lines = sorted({stmt.origin.place.line for stmt in found})
    first = found[0]
    if len(found) > 1:
        raise WrtError(
            f"`{name}` is assigned more than once (lines {', '.join(map(str, lines))})",
            found[1].origin.place,
            "Give the value you mean a name of its own.",
        )
    if not isinstance(first, ir.Assign) or all(first is not stmt for stmt in function.body):
        raise WrtError(
            f"`{name}` is assigned inside a loop or a branch",
            first.origin.place,
            "Then it has no value, or several. Assign the one you mean outside.",
        )
    if _begun(first):
        raise WrtError(
            f"`{name}` is empty where it is assigned",
            first.origin.place,
            f"Give it a second name when it is complete, as in `whole = {name}`, and name that.",
        )
    if kinds.get(name, UNKNOWN).discrete:
        raise WrtError(
            f"`{name}` carries no derivative: it is not a float or an array of floats",
            first.origin.place,
            "Name a variable that holds floats.",
        )


def comprehensions_whole(lowered: Lowered, wrt: tuple[str, ...]) -> Lowered:
    """A function in which a name of `wrt` is bound when its comprehension has run to its end.

    Before: `h = []; for v in x: h.append(v * v)`, which is `h = [v * v for v in x]`.
    After: `items = []; for v in x: items.append(v * v)`, and then `h = items`.
    """
    body: list[ir.Stmt] = []
    names = names_of(lowered.function)
    fresh: dict[str, str] = {}
    for stmt in lowered.function.body:
        first = body[-1] if body else None
        name = _begun(first)
        here = isinstance(stmt, ir.For) and first and stmt.origin.place == first.origin.place
        if here and lowered.original.get(name, name) in wrt and name in _filled(stmt):
            fresh[name] = names.fresh("items")
            body[-1:] = ir.renamed((body[-1], stmt), {name: ir.Var(fresh[name])})
            body.append(ir.Assign(name, ir.Var(fresh[name]), stmt.origin))
        else:
            body.append(stmt)
    if not fresh:
        return lowered
    return lowered.with_body(tuple(body), fresh.values())


def _begun(stmt: ir.Stmt | None) -> str:
    """The name of the list or dict that a statement begins."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Display(items=())):
            return name
    return ""


def _filled(loop: ir.Stmt) -> frozenset[str]:
    """The names of what the rounds of a loop add to."""
    found = set()
    for stmt in ir.statements((loop,)):
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name)))):
                found.add(name)
            case ir.Store(target=ir.Index(ir.Var(name))):
                found.add(name)
    return frozenset(found)
