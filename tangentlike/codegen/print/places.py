"""Where in the user's text the operations of an emitted text were written.

Each line of the text knows the statement it comes from. Finer than that, an operation knows the
call, index or operator of the user's that it is, or is the derivative of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ...errors import Place
from .module import Emitted
from .verify import definitions


def operation_places(emitted: Emitted) -> dict[ast.AST, Place]:
    """The place of each operation of `emitted.tree` that has one."""
    parsed = [node for _, node in definitions(emitted.tree)]
    parsed = parsed[len(parsed) - len(emitted.trees) :]  # (copied helpers may stand above)
    pairs = zip(emitted.trees, parsed, strict=True)
    return {node: place for ours, theirs in pairs for node, place in _located(ours, theirs)}


def _located(ours: Any, theirs: Any) -> Iterator[tuple[ast.AST, Place]]:
    """Both trees in parallel: they are known to agree."""
    if isinstance(theirs, list):
        for mine, other in zip(ours, theirs, strict=True):
            yield from _located(mine, other)
        return
    if not isinstance(theirs, ast.AST):
        return
    place = getattr(ours, "at", None)
    if isinstance(place, Place):
        yield theirs, place
    for name in theirs._fields:
        inner = getattr(ours, name, None)
        if inner is not None:
            yield from _located(inner, getattr(theirs, name, None))
