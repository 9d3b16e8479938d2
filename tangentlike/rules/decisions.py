"""The `if` tests of templates, decided from literals and kinds.

A test is true, false, or not known (None); what is not known selects the `else` branch.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import ir
from ..frontend.operands import BINARY, COMPARE, UNARY
from ..ir.kind import NOTHING, Kind, is_named
from .book import KindOf

_NODES = {node.__name__: ref for table in (BINARY, UNARY, COMPARE) for node, ref in table.items()}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: _NODES[name].obj for name in ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "Is", "IsNot")},
    **{name: _NODES[name].obj for name in ("Add", "Sub", "Mod")},
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


class _Unknown(Exception):
    """Some part of a test is not known at transform time."""


@ir.quickened
@dataclass(frozen=True)
class Facts:
    """What a call tells its rule: the actual arguments and the kinds of expressions.

    `real` says that a value of unknown dtype is taken to be real.
    """

    arguments: Mapping[str, ir.Expr]
    kind_of: KindOf
    real: bool = True

    def kind(self, name: str) -> Kind:
        return self.kind_of(self.arguments[name])


def _name(op: ast.AST) -> str:
    return type(op).__name__


def decide(test: ast.expr, facts: Facts) -> bool | None:
    """Whether a template's test holds for a call, None where that is not known."""
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.Or)
        found: bool | None = not decisive
        for value in test.values:
            part = decide(value, facts)
            if part is decisive:
                return decisive
            found = None if part is None else found
        return found
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = decide(test.operand, facts)
        return None if inner is None else not inner
    try:
        return bool(_value(test, facts))
    except (_Unknown, TypeError):
        return None


def asks_values(test: ast.expr, facts: Facts) -> bool:
    """Whether what is not known of a test is the value of an argument (`k == 2`): a rule cannot
    have one case for all that it may be, as it can for what a test asks of its kind
    (`rank(a) == 2`) or whether it is None."""
    match test:
        case ast.BoolOp(values=parts):
            return any(asks_values(part, facts) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return asks_values(inner, facts)
        case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return False
        case ast.Compare(left=left, comparators=rest):
            named = any(isinstance(part, ast.Name) for part in (left, *rest))
            return named and decide(test, facts) is None
    return isinstance(test, ast.Name) and decide(test, facts) is None


def _value(node: ast.expr, facts: Facts) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return literal(facts.arguments[node.id])
        case ast.Compare(ops=[op], comparators=[right]) if _name(op) in _OPERATORS:
            return _compare(node.left, op, right, facts)
        case ast.Tuple() | ast.List():
            return tuple(_value(item, facts) for item in node.elts)
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, facts)
        case ast.BinOp() if _name(node.op) in _OPERATORS:
            apply = _OPERATORS[_name(node.op)]
            return apply(_value(node.left, facts), _value(node.right, facts))
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in QUESTIONS:
            return QUESTIONS[name](facts, *(_argument(arg) for arg in node.args))
    raise Malformed(f"a rule cannot test `{ast.unparse(node)}`", node)


def _compare(left: ast.expr, op: ast.cmpop, right: ast.expr, facts: Facts) -> bool:
    try:
        return bool(_OPERATORS[_name(op)](_value(left, facts), _value(right, facts)))
    except _Unknown:
        # A number or an array whose value is not known is at least not None.
        none = isinstance(right, ast.Constant) and right.value is None
        if none and isinstance(left, ast.Name) and isinstance(op, (ast.Is, ast.IsNot)):
            kind = facts.kind(left.id)
            if kind == NOTHING or kind.form in _NOT_NONE:
                return isinstance(op, ast.Is) == (kind == NOTHING)
        raise


_NOT_NONE = ("number", "array", "value", "list", "tuple", "dict")


def _argument(node: ast.expr) -> str:
    if not isinstance(node, ast.Name):
        raise Malformed("a question of a rule is about a parameter", node)
    return node.id


def literal(expr: ir.Expr) -> Any:
    """The value of a literal, or of a tuple or list of literals."""
    if isinstance(expr, ir.Const):
        return expr.value
    if isinstance(expr, ir.Display) and expr.form in ("tuple", "list"):
        return tuple(literal(item) for item in expr.items)
    if isinstance(expr, ir.Ref) and isinstance(expr.obj, type):
        return expr.obj
    raise _Unknown


def is_literal(expr: ir.Expr) -> bool:
    """Whether an expression is a literal or a tuple or list of literals."""
    try:
        literal(expr)
    except _Unknown:
        return False
    return True


# ------------------------------------------------------------------ what a test may ask


def _known(answer: bool | None) -> bool:
    if answer is None:
        raise _Unknown
    return answer


def _rank(facts: Facts, name: str) -> int:
    rank = facts.kind(name).rank
    if rank is None:
        raise _Unknown
    return rank


def _form(facts: Facts, name: str, yes: tuple[str, ...]) -> bool:
    form = facts.kind(name).form
    if form in yes:
        return True
    return _known(
        None if form == "unknown" or (form == "value" and not set(yes) & _HELD) else False
    )


_SEQUENCES = ("list", "tuple")
_HELD = frozenset(("list", "tuple", "dict"))


def _holds_numbers(facts: Facts, name: str) -> bool:
    """Whether a list or tuple is made of numbers, or of such lists, and read here alone."""
    return _known(_is_of_numbers(facts.kind(name)) or None)


def _holds_floats(facts: Facts, name: str) -> bool:
    """Whether all items of a list are numbers or arrays of floats, not lists of these."""
    kind = facts.kind(name)
    item = kind.whole_item if kind.form == "list" else None
    if item is None or item.dtype != "float":
        return _known(None)
    is_array = item.form == "array" and item.rank is not None
    return _known(item.form == "number" or is_array or None)


def _is_of_numbers(kind: Kind) -> bool:
    if kind.form not in ("list", "tuple") or kind.length is None:
        return kind.form == "number"
    return all(item is not None and _is_of_numbers(item) for item in kind.items or (kind.item,))


def _is_complex(facts: Facts, name: str) -> bool:
    dtype = facts.kind(name).dtype
    return _known(None if dtype == "?" and not facts.real else dtype == "complex")


def _stays_real(facts: Facts, like: str, *others: str) -> bool:
    """Whether an adjoint that is made of `others` has no imaginary part that `like` lacks."""
    complex_ = facts.kind(like).dtype == "complex"
    return complex_ or not any(_is_complex(facts, other) for other in others)


def _is_inexact(facts: Facts, name: str) -> bool:
    """Whether a dtype argument surely asks for floating or complex numbers."""
    given = literal(facts.arguments[name])
    try:
        return np.dtype(given).kind in "fc"
    except TypeError:
        raise _Unknown from None


def _same(facts: Facts, a: str, b: str) -> bool:
    left, right = facts.arguments[a], facts.arguments[b]
    return isinstance(left, ir.Var) and left == right


def _stacked_alike(facts: Facts, a: str, b: str) -> bool:
    """Whether `a @ b` is one product of two matrices for each place in front of their axes."""
    left, right = facts.kind(a), facts.kind(b)
    if left.rank != right.rank or _rank(facts, a) < 3:
        raise _Unknown
    first, second = (
        replace(k, shape=k.shape[:-2] if isinstance(k.shape, tuple) else None)
        for k in (left, right)
    )
    return _known((first.spans(second) and second.spans(first)) or None)


def _is_square(facts: Facts, name: str) -> bool:
    """Whether it is one matrix, with axes of one length."""
    shape = facts.kind(name).shape
    if not isinstance(shape, tuple) or len(shape) != 2 or not is_named(shape[0]):
        raise _Unknown
    return _known((shape[0] == shape[1]) or None)


def _ascends(facts: Facts, name: str) -> bool:
    """Whether an argument holds places that are seen to ascend."""
    places = [item.spells for item in facts.kind(name).items or ()]
    if not places or not all(type(place) is int for place in places):
        raise _Unknown
    return all(a <= b for a, b in itertools.pairwise(places))  # (none is negative)


def _is_count(facts: Facts, name: str) -> bool:
    """Whether an argument is an integer above 0, written out."""
    value = literal(facts.arguments[name])
    return type(value) is int and value > 0


QUESTIONS: dict[str, Callable[..., Any]] = {
    "rank": _rank,
    "is_number": lambda facts, name: _form(facts, name, ("number",)),
    "is_array": lambda facts, name: _form(facts, name, ("array",)),
    "is_list": lambda facts, name: _form(facts, name, ("list",)),
    "is_dict": lambda facts, name: _form(facts, name, ("dict",)),
    "holds_numbers": _holds_numbers,
    "holds_floats": _holds_floats,
    "is_sequence": lambda facts, name: _form(facts, name, _SEQUENCES),
    "is_complex": _is_complex,
    "stays_real": _stays_real,
    "is_inexact": _is_inexact,
    "is_real": lambda facts, name: not _is_complex(facts, name),
    "is_literal": lambda facts, name: is_literal(facts.arguments[name]),
    "is_count": _is_count,
    "same": _same,
    "spans": lambda facts, a, b: _known(facts.kind(a).spans(facts.kind(b)) or None),
    "stacked_alike": _stacked_alike,
    "is_square": _is_square,
    "ascends": _ascends,
    "same_shape": lambda facts, a, b: _known(facts.kind(a).same_shape(facts.kind(b)) or None),
}


# --------------------------------------------------------------------------------------------------
# Python expressions of a rule template as expressions of the IR.

OPERATIONS = {ref.text: ref.obj for ref in BINARY.values()}

Lookup = Callable[[str, ast.AST], "ir.Expr | None"]


class Malformed(Exception):
    """A template that says something we cannot read; `node` is where."""

    def __init__(self, message: str, node: ast.AST) -> None:
        self.message = message
        self.node = node
        super().__init__(message)


def binary(symbol: str, left: ir.Expr, right: ir.Expr) -> ir.Call:
    """`left symbol right`, as lowering writes operators."""
    return ir.Call(ir.Ref(symbol, OPERATIONS[symbol]), (left, right))


def negative(expr: ir.Expr) -> ir.Expr:
    """`-expr`; a literal changes its sign, a negation is undone."""
    if isinstance(expr, ir.Const) and isinstance(expr.value, (int, float, complex)):
        return ir.Const(-expr.value)
    match expr:
        case ir.Call(fn=ir.Ref(obj=operator.neg), args=(inner,)):
            return inner
    return ir.Call(ir.NEG, (expr,))


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
            return ir.Call(_NODES[_name(node.op)], (read(node.left), read(node.right)))
        case ast.UnaryOp(op=ast.USub()):
            return negative(read(node.operand))
        case ast.UnaryOp():
            return ir.Call(_NODES[_name(node.op)], (read(node.operand),))
        case ast.Compare(ops=[op], comparators=[right]) if _name(op) in _NODES:
            return ir.Call(_NODES[_name(op)], (read(node.left), read(right)))
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
