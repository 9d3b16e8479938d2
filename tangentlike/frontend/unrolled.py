"""Loops over names that are written out: their rounds one after the other.

    for name in ("w", "b"):               params.w = params.w - rate * grads.w
        w = getattr(params, name)         params.b = params.b - rate * grads.b
        g = getattr(grads, name)
        setattr(params, name, w - rate * g)

Only loops in which an attribute is asked for, or set, by the name that the round has.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import gast

_BY_NAME = ("getattr", "setattr", "hasattr", "delattr")
_MOST = 16  # rounds
_LEAVING = (gast.Break, gast.Continue)


def rounds_of(node: Any, fresh: Callable[[str], str]) -> tuple[list[Any], list[str]] | None:
    """The statements that a `for` over names stands for, and the names that they bind besides;
    None for any other loop."""
    targets = node.target.elts if isinstance(node.target, gast.Tuple) else [node.target]
    if node.orelse or not all(isinstance(target, gast.Name) for target in targets):
        return None
    names = [target.id for target in targets]
    rows = _rows(node.iter, len(names), isinstance(node.target, gast.Tuple))
    if rows is None or len(rows) > _MOST:
        return None
    asked = _asked(node.body) & set(names)
    if not asked or _leaves_or_binds(node.body, names):
        return None
    before, after, made = [], [], []
    for row in rows:
        known: dict[str, Any] = {}
        for name, part in zip(names, row, strict=True):
            if isinstance(part, gast.Constant):
                known[name] = part
                continue
            if name in asked:
                return None
            made.append(fresh(name))
            before.append(_assigned(made[-1], part))
            known[name] = gast.copy_location(gast.Name(made[-1], gast.Load(), None, None), part)
        after += [_assigned(name, value) for name, value in known.items()]
        after += map(_Known(known).visit, copy.deepcopy(node.body))
    return before + after, made


def _asked(body: Sequence[Any]) -> set[str]:
    """The names by which attributes are asked for or set."""
    found = set()
    for part in (part for stmt in body for part in gast.walk(stmt)):
        match part:
            case gast.Call(func=gast.Name(id=called), args=[_, gast.Name(id=name), *_]):
                found |= {name} if called in _BY_NAME else set()
    return found


def _rows(items: Any, count: int, are_taken_apart: bool) -> list[list[Any]] | None:
    """What each round gives the names of the header; None where that is not written out."""
    if not isinstance(items, gast.Tuple | gast.List):
        return None
    if not are_taken_apart:
        return [[item] for item in items.elts]
    rows = [item.elts if isinstance(item, gast.Tuple | gast.List) else [] for item in items.elts]
    return rows if all(len(row) == count for row in rows) else None


def _leaves_or_binds(body: Sequence[Any], names: Sequence[str]) -> bool:
    """Whether a round may end early, binds a name of the header, or keeps it in a function."""
    for part in (part for stmt in body for part in gast.walk(stmt)):
        if isinstance(part, (*_LEAVING, gast.FunctionDef, gast.Lambda, gast.Starred)):
            return True
        match part:
            case gast.Name(id=name, ctx=gast.Store() | gast.Del()) if name in names:
                return True
    return False


def _assigned(name: str, value: Any) -> Any:
    target = gast.copy_location(gast.Name(name, gast.Store(), None, None), value)
    return gast.copy_location(gast.Assign([target], copy.deepcopy(value)), value)


class _Known(gast.NodeTransformer):  # type: ignore[misc]
    """What names stand for in one round."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known

    def visit_Name(self, node: Any) -> Any:
        found = self.known.get(node.id)
        return node if found is None else gast.copy_location(copy.copy(found), node)
