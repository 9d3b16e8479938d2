"""Names that a function imports itself: they mean the modules and objects that they will mean."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gast

from .survey import parameter_names


@dataclass(frozen=True)
class Imported:
    """What an imported name means: `original` of a module, or the module itself where it is ""."""

    obj: Any
    module: str
    original: str = ""


_ABSENT = object()


def imported_names(node: Any, namespace: Mapping[str, Any]) -> dict[str, Imported]:
    """What the names mean that a function gets from its own imports and from nothing else.

    `namespace` are the globals of the function, which relative imports start from. An import
    that fails is left to the function.

    >>> found = imported_names(gast.parse("import math as m; from os import path; p = m.pi"), {})
    >>> found["m"].module, found["path"].original
    ('math', 'path')
    """
    found: dict[str, Imported] = {}
    bound: set[str] = set()
    pending = [(child, True) for child in gast.iter_child_nodes(node)]
    while pending:
        part, own = pending.pop()
        bound.update(_bound_by(part))
        for name, meaning in _imported_by(part, namespace):
            if not own or found.setdefault(name, meaning).obj is not meaning.obj:
                bound.add(name)  # (an inner function has names of its own)
        own = own and not isinstance(part, _INNER)
        pending += [(child, own) for child in gast.iter_child_nodes(part)]
    return {n: m for n, m in found.items() if n not in bound and m.obj is not _ABSENT}


def _bound_by(part: Any) -> Iterator[str]:
    """The names that a node binds, imports left out."""
    if isinstance(part, gast.Name):
        if not isinstance(part.ctx, gast.Load):
            yield part.id
    elif isinstance(part, gast.arguments):
        yield from parameter_names(part)
    elif isinstance(part, (gast.Global, gast.Nonlocal)):
        yield from part.names
    elif not isinstance(part, gast.alias):
        names = (getattr(part, field, None) for field in ("name", "rest"))
        yield from (name for name in names if isinstance(name, str))


def _imported_by(part: Any, namespace: Mapping[str, Any]) -> Iterator[tuple[str, Imported]]:
    if isinstance(part, gast.Import):
        for alias in part.names:
            whole = _module(alias.name, 0, namespace)
            if alias.asname or whole.obj is _ABSENT:
                yield alias.asname or alias.name.partition(".")[0], whole
            else:
                root = alias.name.partition(".")[0]
                yield root, _module(root, 0, namespace)
    elif isinstance(part, gast.ImportFrom):
        module = _module(part.module or "", part.level or 0, namespace)
        for alias in part.names:
            obj = getattr(module.obj, alias.name, _ABSENT)
            meaning = Imported(obj, module.module, alias.name)
            if obj is _ABSENT and module.obj is not _ABSENT:
                meaning = _module(f"{module.module}.{alias.name}", 0, namespace)
            yield alias.asname or alias.name, meaning


def _module(name: str, level: int, namespace: Mapping[str, Any]) -> Imported:
    package = namespace.get("__package__") or None
    try:
        found = importlib.import_module("." * level + name, package if level else None)
    except (ImportError, TypeError, ValueError):
        return Imported(_ABSENT, name)
    return Imported(found, found.__name__)
