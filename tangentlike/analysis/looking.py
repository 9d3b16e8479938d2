"""What is looked at: the content of a value, or only its shape."""

from __future__ import annotations

from collections.abc import Mapping

from .. import ir
from ..ir.kind import SHAPE_ATTRIBUTES

# Functions that look at the shape and type of an argument (by position) but not at its content.
LIKE_ARGUMENTS: Mapping[str, tuple[int, ...]] = {
    "zeros_like": (0,),
    "ones_like": (0,),
    "full_like": (0,),
    "empty_like": (0,),
    "unbroadcast": (1,),
    "broadcast_like": (1,),
    "part_like": (1,),
    "undiff": (1,),
    "places_left": (0,),
    "places_taken": (0,),
    "reached": (1,),
    "len": (0,),
    "shape": (0,),
    "ndim": (0,),
    "size": (0,),
}


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
        part, shape_only = work.pop()
        match part:
            case ir.Var(name):
                found |= set() if shape_only else {name}
            case ir.Attribute(base, name) if name in SHAPE_ATTRIBUTES:
                work.append((base, True))
            case ir.Index(base, key):
                work += ((base, shape_only), (key, False))
            case ir.Call(fn=ir.Ref(text=text), args=args, kwargs=kwargs):
                like = LIKE_ARGUMENTS.get(text.rpartition(".")[2], ())
                work += [(arg, position in like) for position, arg in enumerate(args)]
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
