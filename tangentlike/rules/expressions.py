"""Python expressions of a rule template as expressions of the IR."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from .. import ir

BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_COMPARISONS = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Is: ("is", operator.is_),
    ast.IsNot: ("is not", operator.is_not),
    ast.In: ("in", operator.contains),
}
_UNARY = {
    ast.USub: ("-", operator.neg),
    ast.UAdd: ("+", operator.pos),
    ast.Not: ("not", operator.not_),
    ast.Invert: ("~", operator.invert),
}

Lookup = Callable[[str, ast.AST], "ir.Expr | None"]


class Malformed(Exception):
    """A template that says something we cannot read; `node` is where."""

    def __init__(self, message: str, node: ast.AST) -> None:
        self.message = message
        self.node = node
        super().__init__(message)


def binary(symbol: str, left: ir.Expr, right: ir.Expr) -> ir.Call:
    """`left symbol right`, as lowering writes operators."""
    return ir.Call(ir.Ref(symbol, BINARY[symbol]), (left, right))


def negative(expr: ir.Expr) -> ir.Expr:
    """`-expr`; a literal changes its sign, a negation is undone."""
    if isinstance(expr, ir.Const) and isinstance(expr.value, (int, float, complex)):
        return ir.Const(-expr.value)
    match expr:
        case ir.Call(fn=ir.Ref(obj=operator.neg), args=(inner,)):
            return inner
    return ir.Call(ir.Ref("-", operator.neg), (expr,))


def expression(node: ast.expr, lookup: Lookup) -> ir.Expr:
    """Read one expression; `lookup(dotted name, node)` says what names mean."""

    def read(child: ast.expr) -> ir.Expr:
        return expression(child, lookup)

    dotted = _dotted(node)
    if dotted is not None:
        found = lookup(dotted, node)
        if found is not None:
            return found
    match node:
        case ast.Constant():
            return ir.Const(node.value)
        case ast.Attribute():
            return ir.Attribute(read(node.value), node.attr)
        case ast.BinOp():
            return binary(_SYMBOLS[type(node.op)], read(node.left), read(node.right))
        case ast.UnaryOp(op=ast.USub()):
            return negative(read(node.operand))
        case ast.UnaryOp():
            return ir.Call(ir.Ref(*_UNARY[type(node.op)]), (read(node.operand),))
        case ast.Compare(ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return ir.Call(ir.Ref(*_COMPARISONS[type(op)]), (read(node.left), read(right)))
        case ast.BoolOp():
            form = "and" if isinstance(node.op, ast.And) else "or"
            return ir.Lazy(form, tuple(map(read, node.values)))
        case ast.IfExp():
            return ir.Lazy("if", (read(node.test), read(node.body), read(node.orelse)))
        case ast.Call() if all(k.arg for k in node.keywords):
            kwargs = tuple((str(k.arg), read(k.value)) for k in node.keywords)
            return ir.Call(read(node.func), tuple(map(read, node.args)), kwargs)
        case ast.Subscript():
            return ir.Index(read(node.value), read(node.slice))
        case ast.Slice():
            parts = (node.lower, node.upper, node.step)
            return ir.Slice(*(None if part is None else read(part) for part in parts))
        case ast.Tuple() | ast.List():
            form = "tuple" if isinstance(node, ast.Tuple) else "list"
            return ir.Display(form, tuple(map(read, node.elts)))
        case ast.Dict() if None not in node.keys:
            keys = tuple(read(key) for key in node.keys if key is not None)
            return ir.Display("dict", tuple(map(read, node.values)), keys)
    raise Malformed(f"a rule cannot contain `{ast.unparse(node)}`", node)


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return None if base is None else f"{base}.{node.attr}"
    return None
