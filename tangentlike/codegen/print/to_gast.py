"""IR to gast: each node of the IR has one Python spelling.

`x @ w + b` is a `Call` of a `Call` in the IR and a `BinOp` of a `BinOp` here; precedence is the
printer's business. References are spelled by a `Speller`, since a name may have to change when
the text around it uses the same one for something else.
"""

from __future__ import annotations

import dataclasses
import keyword
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import gast

from ... import ir
from ...errors import InternalError
from . import opaque

Speller = Callable[[ir.Ref], str]

BINARY: dict[str, Any] = {
    "+": gast.Add(),
    "-": gast.Sub(),
    "*": gast.Mult(),
    "/": gast.Div(),
    "//": gast.FloorDiv(),
    "%": gast.Mod(),
    "@": gast.MatMult(),
    "**": gast.Pow(),
    "&": gast.BitAnd(),
    "|": gast.BitOr(),
    "^": gast.BitXor(),
    "<<": gast.LShift(),
    ">>": gast.RShift(),
}

UNARY: dict[str, Any] = {
    "-": gast.USub(),
    "+": gast.UAdd(),
    "~": gast.Invert(),
    "not": gast.Not(),
}

COMPARISON: dict[str, Any] = {
    "<": gast.Lt(),
    "<=": gast.LtE(),
    ">": gast.Gt(),
    ">=": gast.GtE(),
    "==": gast.Eq(),
    "!=": gast.NotEq(),
    "is": gast.Is(),
    "is not": gast.IsNot(),
    "in": gast.In(),
    "not in": gast.NotIn(),
}

FLOAT, COMPLEX = ir.Ref("float", float), ir.Ref("complex", complex)

LOAD = gast.Load()
STORE = gast.Store()


def plain(ref: ir.Ref) -> str:
    """Spell a reference as the program did."""
    return ref.text


@lru_cache(maxsize=4096)
def name(text: str) -> Any:
    """A name that is read. Such nodes are never changed, so one serves all its uses."""
    return gast.Name(text, LOAD, None, None)


def bound_name(text: str) -> Any:
    return gast.Name(text, STORE, None, None)


def dotted(text: str) -> Any:
    """A name, possibly with attributes: `np.linalg.norm`."""
    root, *attributes = text.split(".")
    node = name(root)
    for attribute in attributes:
        node = gast.Attribute(node, attribute, LOAD)
    return node


# --------------------------------------------------------------------------- expressions


def expression(expr: ir.Expr, spell: Speller = plain) -> Any:
    """The gast tree of one expression.

    >>> import operator
    >>> x = ir.Var("x")
    >>> type(expression(ir.Call(ir.Ref("*", operator.mul), (x, x)))).__name__
    'BinOp'
    """
    match expr:
        case ir.Var():
            return name(expr.name)
        case ir.Call():
            return _at(_call(expr, spell), expr)
        case ir.Const():
            return literal(expr.value, spell)
        case ir.Ref():
            return _reference(expr, spell)
        case ir.Index():
            base, key = expression(expr.base, spell), expression(expr.key, spell)
            return _at(gast.Subscript(base, key, LOAD), expr)
        case ir.Slice():
            parts = (expr.lower, expr.upper, expr.step)
            return gast.Slice(*(None if p is None else expression(p, spell) for p in parts))
        case ir.Attribute():
            return gast.Attribute(expression(expr.base, spell), expr.name, LOAD)
        case ir.Display():
            return _display(expr, spell)
        case ir.Lazy():
            return _lazy(expr, spell)
        case ir.Opaque():
            return opaque.expression(expr, spell, lambda e: expression(e, spell))
    raise InternalError("emit", f"no spelling for an expression of class {type(expr).__name__}")


def _at(node: Any, expr: ir.Call | ir.Index) -> Any:
    """The tree of an operation, which remembers where the user wrote it (see `emit.places`)."""
    if expr.at is not None:
        node.at = expr.at
    return node


def is_unprintable(value: Any) -> bool:
    """Whether a number has no literal (infinities, NaN): it is then written as a call."""
    if isinstance(value, complex):
        return is_unprintable(value.real) or is_unprintable(value.imag)
    return isinstance(value, float) and not math.isfinite(value)


def literal(value: Any, spell: Speller = plain) -> Any:
    """The tree of a constant, as the parser would make it: `-1` is a negated `1`."""
    if isinstance(value, (bool, str, bytes)) or value is None or value is Ellipsis:
        return gast.Constant(value, None)
    if type(value) in (int, float):
        return _number(value, spell)
    if type(value) is complex:
        return _complex(value, spell)
    raise InternalError("emit", f"{value!r} of type {type(value).__name__} is not a literal")


def _number(value: float, spell: Speller) -> Any:
    if is_unprintable(value):
        node = gast.Call(dotted(spell(FLOAT)), [gast.Constant(str(abs(value)), None)], [])
    else:
        node = gast.Constant(abs(value), None)
    return gast.UnaryOp(UNARY["-"], node) if math.copysign(1.0, value) < 0 else node


def _complex(value: complex, spell: Speller) -> Any:
    real, imag = value.real, value.imag
    if not is_unprintable(value):
        imaginary = gast.Constant(complex(0.0, abs(imag)), None)
        negative_zero = real == 0 and math.copysign(1.0, real) < 0
        if negative_zero and imag < 0:
            return gast.UnaryOp(UNARY["-"], imaginary)
        if not negative_zero and math.copysign(1.0, imag) > 0:
            if real == 0:
                return imaginary
            return gast.BinOp(_number(real, spell), BINARY["+"], imaginary)
        if not negative_zero and imag < 0:
            return gast.BinOp(_number(real, spell), BINARY["-"], imaginary)
    # No sum of literals has these signs of zeros, or these infinities.
    parts = [_number(real, spell), _number(imag, spell)]
    return gast.Call(dotted(spell(COMPLEX)), parts, [])


def literal_references(value: Any) -> list[ir.Ref]:
    """The built-ins that the spelling of a constant calls."""
    seen: list[ir.Ref] = []

    def spell(ref: ir.Ref) -> str:
        seen.append(ref)
        return ref.text

    if isinstance(value, (float, complex)):
        literal(value, spell)
    return seen


def _reference(ref: ir.Ref, spell: Speller) -> Any:
    if keyword.iskeyword(ref.text) or not ref.text[0].isidentifier():
        raise InternalError("emit", f"operator {ref.text} stands where a value is expected")
    return dotted(spell(ref))


def _call(call: ir.Call, spell: Speller) -> Any:
    args, keywords = _arguments(call, spell)
    if isinstance(call.fn, ir.Ref):
        text = call.fn.text
        if len(args) == 2 and text in BINARY:
            return gast.BinOp(args[0], BINARY[text], args[1])
        if len(args) == 2 and text in COMPARISON:
            return gast.Compare(args[0], [COMPARISON[text]], [args[1]])
        if len(args) == 1 and text in UNARY:
            return _unary(text, args[0])
    return gast.Call(expression(call.fn, spell), args, keywords)


def _arguments(call: ir.Call, spell: Speller) -> tuple[list[Any], list[Any]]:
    """Positional and keyword arguments; `*a` and `**k` arrive as opaque arguments."""
    args: list[Any] = []
    keywords: list[Any] = []
    unpacked: list[Any] = []
    for arg in call.args:
        if isinstance(arg, ir.Opaque) and arg.text.startswith("**"):
            inner = dataclasses.replace(arg, text=arg.text[2:])
            unpacked.append(gast.keyword(None, expression(inner, spell)))
        elif isinstance(arg, ir.Opaque) and arg.text.startswith("*"):
            inner = dataclasses.replace(arg, text=arg.text[1:])
            args.append(gast.Starred(expression(inner, spell), LOAD))
        else:
            args.append(expression(arg, spell))
    for key, value in call.kwargs:
        keywords.append(gast.keyword(key, expression(value, spell)))
    return args, keywords + unpacked


def _unary(text: str, operand: Any) -> Any:
    """`not (a in b)` and `not (a is b)` have a spelling of their own."""
    if text == "not" and isinstance(operand, gast.Compare) and len(operand.ops) == 1:
        opposite = {gast.In: "not in", gast.Is: "is not"}.get(type(operand.ops[0]))
        if opposite is not None:
            return gast.Compare(operand.left, [COMPARISON[opposite]], operand.comparators)
    return gast.UnaryOp(UNARY[text], operand)


def _display(display: ir.Display, spell: Speller) -> Any:
    items = [expression(item, spell) for item in display.items]
    if display.form == "dict":
        keys = [expression(key, spell) for key in display.keys]
        return gast.Dict(keys, items)
    if display.form == "list":
        return gast.List(items, LOAD)
    return gast.Tuple(items, LOAD)


def _lazy(lazy: ir.Lazy, spell: Speller) -> Any:
    items = [expression(item, spell) for item in lazy.items]
    if lazy.form == "if":
        return gast.IfExp(*items)
    return gast.BoolOp(gast.And() if lazy.form == "and" else gast.Or(), items)


# ---------------------------------------------------------------------------- statements


def target(bound: ir.Target) -> Any:
    """The tree of what an assignment or a loop binds."""
    if isinstance(bound, str):
        return bound_name(bound)
    return gast.Tuple([target(part) for part in bound], STORE)


def place_of(written: ir.Expr, spell: Speller) -> Any:
    """The tree of a place that is written: a name, `a[i]` or `a.b`."""
    if isinstance(written, ir.Var):
        return bound_name(written.name)
    node = expression(written, spell)
    node.ctx = STORE
    return node


def statement(stmt: ir.Stmt, spell: Speller = plain) -> Any:
    """The gast tree of one statement."""
    match stmt:
        case ir.Assign():
            return gast.Assign([target(stmt.target)], expression(stmt.value, spell), None)
        case ir.Store():
            written = place_of(stmt.target, spell)
            return gast.Assign([written], expression(stmt.value, spell), None)
        case ir.Update():
            op = BINARY[stmt.op.text.removesuffix("=")]
            value = expression(stmt.value, spell)
            return gast.AugAssign(place_of(stmt.target, spell), op, value)
        case ir.Do():
            return gast.Expr(expression(stmt.value, spell))
        case ir.Try():
            return _attempt(stmt, spell)
        case ir.With():
            name = bound_name(stmt.target) if stmt.target else None
            item = gast.withitem(expression(stmt.context, spell), name)
            return gast.With([item], block(stmt.body, spell), None)
        case ir.If():
            body, orelse = block(stmt.body, spell), block(stmt.orelse, spell, empty=True)
            return gast.If(expression(stmt.test, spell), body, orelse)
        case ir.For():
            body, source = block(stmt.body, spell), expression(stmt.iter, spell)
            return gast.For(target(stmt.target), source, body, [], None)
        case ir.While():
            return gast.While(expression(stmt.test, spell), block(stmt.body, spell), [])
        case ir.Break():
            return gast.Break()
        case ir.Return():
            return gast.Return(None if stmt.value is None else expression(stmt.value, spell))
        case ir.OpaqueStmt():
            return opaque.statement(stmt, spell, lambda e: expression(e, spell))
    raise InternalError("emit", f"no spelling for a statement of class {type(stmt).__name__}")


def _attempt(stmt: ir.Try, spell: Speller) -> Any:
    """A `try` that notes how it ended."""
    caught = bound_name(stmt.caught) if stmt.caught else None
    tried, (_, *rest) = ir.tried_and_rest(stmt)
    fine, error = _noted(stmt) or ((), ())
    body, orelse = block(tried, spell, empty=True), block(tuple(rest), spell, empty=True)
    if orelse:
        orelse = [*fine, *orelse]
    else:
        body += fine
    handling = [*error, *block(stmt.orelse, spell, empty=True)]
    test = expression(stmt.test, spell)
    handler = gast.ExceptHandler(test, caught, handling or [gast.Pass()])
    return gast.Try(body or [gast.Pass()], [handler], orelse, [])


def _noted(stmt: ir.Try) -> tuple[list[Any], ...]:
    """What notes that a `try` went well, and what notes that it did not."""
    if not stmt.failed:
        return ()
    error = gast.Name(stmt.caught, LOAD, None, None) if stmt.caught else gast.Constant(True, None)
    fine = gast.Constant(None if stmt.caught else False, None)
    ends = (fine, error)
    return tuple([gast.Assign([bound_name(stmt.failed)], value, None)] for value in ends)


def block(stmts: ir.Block, spell: Speller = plain, empty: bool = False) -> list[Any]:
    """The trees of a block; `pass` for an empty one unless `empty` may stay empty."""
    nodes = [statement(stmt, spell) for stmt in stmts]
    return nodes if nodes or empty else [gast.Pass()]


# ----------------------------------------------------------------------------- functions


def function(fn: ir.Function, spell: Speller = plain) -> Any:
    """The tree of a whole function, its docstring first."""
    body = block(fn.body, spell, empty=bool(fn.doc))
    if fn.doc:
        body.insert(0, gast.Expr(gast.Constant(fn.doc, None)))
    decorators = [expression(decorator, spell) for decorator in fn.decorators]
    return gast.FunctionDef(fn.name, parameters(fn.params, spell), body, decorators, None, None, [])


def parameters(params: tuple[ir.Param, ...], spell: Speller = plain) -> Any:
    """The tree of a parameter list."""
    by_kind: dict[str, list[Any]] = {k: [] for k in ("positional", "any", "*", "keyword", "**")}
    defaults: list[Any] = []
    keyword_defaults: list[Any] = []
    for param in params:
        by_kind[param.kind].append(_parameter(param))
        default = None if param.default is None else expression(param.default, spell)
        if param.kind == "keyword":
            keyword_defaults.append(default)
        elif default is not None:
            defaults.append(default)
    star, double_star = by_kind["*"], by_kind["**"]
    return gast.arguments(
        by_kind["any"],
        by_kind["positional"],
        star[0] if star else None,
        by_kind["keyword"],
        keyword_defaults,
        double_star[0] if double_star else None,
        defaults,
    )


def _parameter(param: ir.Param) -> Any:
    annotation = opaque.parse(param.annotation) if param.annotation else None
    return gast.Name(param.name, gast.Param(), annotation, None)
