"""What is looked at: the content of a value, or only its shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ir, runtime
from ..ir.kind import SHAPE_ATTRIBUTES

# Functions that look at the shape and type of an argument (at this position), not at its content.
_SHAPE_ONLY: dict[Any, int] = {
    **dict.fromkeys((np.zeros_like, np.ones_like, np.full_like, np.empty_like), 0),
    **dict.fromkeys((len, np.shape, np.ndim, np.size), 0),
    **dict.fromkeys((runtime.zeros_like, runtime.ones_like), 0),
    **dict.fromkeys((runtime.places_left, runtime.places_taken), 0),
    **dict.fromkeys((runtime.unbroadcast, runtime.broadcast_like, runtime.part_like), 1),
    **dict.fromkeys((runtime.undiff, runtime.reached), 1),
}
_POSITIONS = {id(obj): position for obj, position in _SHAPE_ONLY.items()}


def shape_only(fn: Any) -> int | None:
    """The position of the argument of which a function asks for the shape only; None for others.

    >>> shape_only(np.zeros_like), shape_only(np.sin)
    (0, None)
    """
    return _POSITIONS.get(id(fn))


def looked_into(expr: ir.Expr) -> frozenset[str]:
    """The names whose content an expression looks at, or hands on.

    >>> from ..frontend.lower import program
    >>> (stmt,) = program("return g[where] + len(y) * z.shape[0]").body
    >>> sorted(looked_into(stmt.value))
    ['g', 'where']
    """
    found: set[str] = set()
    work = [(expr, False)]  # parts, and whether only their shape is looked at
    while work:
        part, only_shape = work.pop()
        match part:
            case ir.Var(name):
                found |= set() if only_shape else {name}
            case ir.Attribute(base, name) if name in SHAPE_ATTRIBUTES:
                work.append((base, True))
            case ir.Index(base, key):
                work += ((base, only_shape), (key, False))
            case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=kwargs):
                like = shape_only(obj)
                work += [(arg, position == like) for position, arg in enumerate(args)]
                work += [(value, False) for _, value in kwargs]
            case _:
                work += [(child, False) for child in ir.children(part)]
    return frozenset(found)


def slices_array(key: ir.Expr) -> bool:
    """Whether a key, like `1:, k`, is that of an array only (a list may have one slice)."""
    match key:
        case ir.Display("tuple", items):
            return any(isinstance(part, ir.Slice) for part in items)
    return False


def content_reads(stmt: ir.Stmt, live: frozenset[str]) -> frozenset[str]:
    """The names whose content a statement looks at, where that of `live` is looked at later:
    what only hands on what nobody looks at looks at nothing."""
    match stmt:
        case ir.Return() | ir.OpaqueStmt():
            return ir.reads(stmt)
        case ir.Assign(target=target, value=value) if not live & set(ir.target_names(target)):
            if isinstance(value, ir.Var | ir.Display) or takes_last(value):
                return frozenset()
            if isinstance(value, ir.Index) and isinstance(value.base, ir.Var):
                return looked_into(value.key)
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "append"), args=args)):
            return frozenset().union(*map(looked_into, args)) if base in live else frozenset()
        case ir.Do(value=value) if takes_last(value):
            return frozenset()
    return frozenset().union(*map(looked_into, ir.expressions(stmt)))


def takes_last(value: ir.Expr) -> bool:
    """Whether an expression is `xs.pop()`."""
    match value:
        case ir.Call(fn=ir.Attribute(ir.Var(), "pop"), args=(), kwargs=()):
            return True
    return False
