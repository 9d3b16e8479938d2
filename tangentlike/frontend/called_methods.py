"""Names that stand for a method of a container or an array, and that are only called.

append = out.append
append(v)                       out.append(v)

add = rows[k].append            add = rows[k]
add(v)                          add.append(v)
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from typing import Any

import gast
import numpy as np

from .survey import Survey

_METHODS = frozenset(
    name for cls in (list, dict, set, deque, np.ndarray) for name in dir(cls) if name[0] != "_"
)
_LOOPS = (gast.For, gast.While, gast.AsyncFor)


def call_methods_by_object(node: Any, known: Survey) -> None:
    """Change a definition so that such names, of methods of what is local, are not needed, or
    stand for the objects. A name that is also read in another way, or bound otherwise, stays."""
    found = _assigned(known)
    if not found:
        return
    parts = list(gast.walk(node))
    calls = [p for p in parts if isinstance(p, gast.Call) and isinstance(p.func, gast.Name)]
    seen = {id(call.func) for call in calls}
    seen.update(id(assign.targets[0]) for assigns in found.values() for assign in assigns)
    left = {name for part in parts for name in _otherwise(part, seen, found)}
    found = {name: assigns for name, assigns in found.items() if name not in left}
    methods = {name: assigns[0].value.attr for name, assigns in found.items()}
    stable = _bound_once(parts)
    objects: dict[str, str] = {}
    for name, assigns in found.items():
        base = assigns[0].value.value
        if len(assigns) == 1 and isinstance(base, gast.Name) and base.id in stable:
            objects[name] = base.id
        for assign in assigns:
            assign.value = assign.value.value
    for call in calls:
        name = call.func.id
        if name in methods:
            call.func.id = objects.get(name, name)
            method = gast.Attribute(call.func, methods[name], gast.Load())
            call.func = gast.copy_location(method, call.func)
    for part in parts if objects else ():
        body = getattr(part, "body", None)
        if isinstance(body, list):
            kept = [stmt for stmt in body if not _is_of(stmt, objects)]
            part.body = kept or [gast.copy_location(gast.Pass(), body[0])]


def _assigned(known: Survey) -> dict[str, list[Any]]:
    """The assignments of methods to names; of a name, all are of methods of one name."""
    found: dict[str, list[Any]] = {}
    for part in known.attributes:
        match part:
            case gast.Assign(targets=[gast.Name(id=name)], value=gast.Attribute(attr=method)):
                if method in _METHODS and _root(part.value) in known.bound:
                    found.setdefault(name, []).append(part)
    return {n: every for n, every in found.items() if len({e.value.attr for e in every}) == 1}


def _otherwise(part: Any, seen: Collection[int], found: dict[str, list[Any]]) -> Collection[str]:
    """The names that a node reads or binds in another way, or whose method it replaces."""
    match part:
        case gast.Name(id=name):
            return () if id(part) in seen else (name,)
        case gast.Global(names=names) | gast.Nonlocal(names=names):
            return tuple(names)
        case gast.FunctionDef(name=name) | gast.ClassDef(name=name) | gast.alias(name=name):
            return (name, getattr(part, "asname", None) or name)
        case gast.MatchAs(name=name) | gast.MatchStar(name=name) | gast.MatchMapping(rest=name):
            return (name or "",)
        case gast.Attribute(attr=attr) if not isinstance(part.ctx, gast.Load):
            return tuple(n for n, assigns in found.items() if assigns[0].value.attr == attr)
    return ()


def _bound_once(parts: list[Any]) -> frozenset[str]:
    """The names that one statement outside of loops binds, or that are parameters, anywhere."""
    stores = Counter(
        part.id
        for part in parts
        if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Load)
    )
    loops = (part for part in parts if isinstance(part, _LOOPS))
    again = {
        part.id
        for loop in loops
        for part in gast.walk(loop)
        if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Store)
    }
    return frozenset(name for name, count in stores.items() if count == 1) - again


def _is_of(stmt: Any, objects: dict[str, str]) -> bool:
    """Whether a statement is what is left of `append = out.append`."""
    match stmt:
        case gast.Assign(targets=[gast.Name(id=name)]):
            return name in objects
    return False


def _root(expr: Any) -> str:
    while isinstance(expr, gast.Attribute | gast.Subscript):
        expr = expr.value
    return expr.id if isinstance(expr, gast.Name) else ""
