"""How wide an expression prints and how deep it nests: what decides whether it gets a name."""

from __future__ import annotations

from ... import ir

LINE = 88
_PRECEDENCE = {
    "+": 11, "-": 11, "*": 12, "/": 12, "//": 12, "%": 12, "@": 12, "**": 14,
    "<<": 10, ">>": 10, "&": 9, "^": 8, "|": 7,
    "<": 6, ">": 6, "<=": 6, ">=": 6, "==": 6, "!=": 6, "in": 6, "not in": 6, "is": 6,
    "is not": 6, "not": 5,
}  # fmt: skip
_UNARY, _PRIMARY = 13, 20


def width(expr: ir.Expr, within: int = 0) -> int:
    """Characters that an expression takes when printed on one line.

    >>> import operator
    >>> a = ir.Var("a")
    >>> total = ir.Call(ir.Ref("+", operator.add), (a, a))
    >>> width(total), width(ir.Call(ir.Ref("*", operator.mul), (total, a)))
    (5, 11)
    """
    if type(expr) is ir.Var:
        return len(expr.name)
    bare, own = _bare(expr)
    return bare + 2 * (own < within)


@ir.of_node
def _bare(expr: ir.Expr) -> tuple[int, int]:
    """The width without parentheses around it, and how tightly its operator binds."""
    match expr:
        case ir.Call(fn=ir.Ref(text=text), args=args) if text in _PRECEDENCE:
            own = _UNARY if len(args) == 1 and text != "not" else _PRECEDENCE[text]
            if len(args) == 1:
                return len(text) + (text == "not") + width(args[0], own), own
            return width(args[0], own) + len(text) + 2 + width(args[1], own + 1), own
    return _of_parts(expr), _PRIMARY


def _of_parts(expr: ir.Expr) -> int:
    """The same of what is no operation with an operator."""
    match expr:
        case ir.Var(name):
            return len(name)
        case ir.Const(value):
            return len(repr(value)) if value is not Ellipsis else 3
        case ir.Ref(text=text):
            return len(text)
        case ir.Call(fn=fn, args=args, kwargs=kwargs):
            parts = [width(a) for a in args] + [len(k) + 1 + width(v) for k, v in kwargs]
            return width(fn, _PRIMARY) + 2 + sum(parts) + 2 * max(0, len(parts) - 1)
        case ir.Index(base, key):
            brackets = 0 if isinstance(key, ir.Display) and key.form == "tuple" else 2
            return width(base, _PRIMARY) + brackets + width(key)
        case ir.Slice(lower, upper, step):
            found = sum(width(p) for p in (lower, upper, step) if p is not None)
            return found + (1 if step is None else 2)
        case ir.Attribute(base, name):
            return width(base, _PRIMARY) + 1 + len(name)
        case ir.Display(items=items, keys=keys):
            parts = [width(e) for e in (*items, *keys)]
            return 2 + sum(parts) + 2 * max(0, len(parts) - 1)
        case ir.Lazy(items=items):
            return sum(map(width, items)) + 5 * len(items)
        case ir.Opaque(text=text):
            return len(text)
    return 0


def depth(expr: ir.Expr) -> int:
    """Levels of operations within each other; `a + b + c` is one, `x[i]` and `x.T` none."""
    match expr:
        case ir.Call(fn=ir.Ref(text=text) as fn, args=args) if text in _PRECEDENCE:
            if args and isinstance(args[0], ir.Call) and args[0].fn == fn:
                return max(depth(args[0]), 1 + max(map(depth, args[1:]), default=0))
            return 1 + max(map(depth, args), default=0)
        case ir.Call(fn=ir.Attribute(base, "copy"), args=()):
            return depth(base)
        case ir.Call():
            return 1 + max(map(depth, ir.children(expr)), default=0)
        case _:
            return max(map(depth, ir.children(expr)), default=0)


def height(expr: ir.Expr) -> int:
    """Levels of the tree, however it prints: what walks over it recurs as deep."""
    return 1 + max(map(height, ir.children(expr)), default=0)


def statement_width(stmt: ir.Stmt, indentation: int) -> int:
    """Columns that a statement (its header) ends at."""
    match stmt:
        case ir.Assign(target=target, value=value):
            names = ir.target_names(target)
            size = sum(map(len, names)) + 2 * len(names) - 2 + 3 + width(value)
        case ir.Store(target=place, value=value):
            size = width(place) + 3 + width(value)
        case ir.Update(target=place, op=op, value=value):
            size = width(place) + len(op.text) + 2 + width(value)
        case ir.For(target=target, iter=iterable):
            size = 12 + sum(map(len, ir.target_names(target))) + width(iterable)
        case _:
            size = 8 + sum(map(width, ir.expressions(stmt)))
    return size + indentation
