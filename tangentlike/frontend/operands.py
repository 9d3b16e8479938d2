"""What kind of expression this is, by its form alone: what may stay nested, what may be repeated.

Nothing here knows derivatives; the questions are about evaluation.
"""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import gast
import numpy as np

from .. import ir
from ..ir import Attribute, Call, Const, Display, Expr, Index, Lazy, Opaque, Ref, Slice
from ..ir.nodes import LAYOUT_ATTRIBUTES
from ..runtime.records import attribute_of
from .owners import module_of

# Attributes of arrays that are integers, or types: they carry no derivative.
_SHAPE_FUNCTIONS = frozenset(map(id, (builtins.len, np.shape, np.ndim, np.size)))

# Which arguments of a callee are shapes, axes or counts, never a tuple of arrays to combine:
# those from this position on (of a method, all of them), and those with one of these keywords.
_SHAPE_POSITION = {
    **dict.fromkeys(["zeros", "ones", "empty", "full", "eye", "identity"], 0),
    **dict.fromkeys(["standard_normal", "random", "rand", "randn"], 0),
    **dict.fromkeys(["reshape", "broadcast_to", "resize", "tile", "transpose", "roll"], 1),
    **dict.fromkeys(["moveaxis", "swapaxes", "expand_dims", "squeeze"], 1),
    **dict.fromkeys(["normal", "uniform", "integers"], 2),
}
_SHAPE_METHODS = frozenset({"reshape", "transpose", "resize", "squeeze", "swapaxes"})
_SHAPE_KEYWORDS = frozenset({"shape", "size", "axis", "axes", "newshape", "reps", "shift"})


def is_atom(expr: Expr) -> bool:
    """A name, a literal, or a reference."""
    return isinstance(expr, ir.Atom)


@ir.of_node
def is_constant(expr: Expr) -> bool:
    """Literals, and arithmetic or tuples of literals."""
    match expr:
        case Const():
            return True
        case Call(fn=fn, args=args, kwargs=()):
            return is_arithmetic(fn) and all(map(is_constant, args))
        case Display(form="tuple", items=items):
            return all(map(is_constant, items))
        case Slice():
            return all(map(is_constant, ir.children(expr)))
    return False


@ir.of_node
def is_shape_query(expr: Expr) -> bool:
    """`x.shape[0]`, `len(x)`, `x.ndim + 1`: a size or type of a named value."""
    match expr:
        case Attribute(base=base, name=name):
            return name in LAYOUT_ATTRIBUTES and (is_atom(base) or is_shape_query(base))
        case Index(base=base, key=key):
            return is_shape_query(base) and (is_constant(key) or is_shape_query(key))
        case Call(fn=Ref() as fn, args=args, kwargs=()):
            if fn.key in _SHAPE_FUNCTIONS:
                return all(is_atom(a) or is_shape_query(a) for a in args)
            if is_arithmetic(fn):
                parts = all(is_constant(a) or is_shape_query(a) for a in args)
                return parts and not is_constant(expr)
    return False


def asks_length(expr: Expr) -> bool:
    """Whether a size is found by `len`, which may be a method of the user's."""
    return any(isinstance(p, Call) and getattr(p.fn, "obj", None) is len for p in ir.walk(expr))


def asks(expr: Expr) -> bool:
    """Whether an operand reads an item or a field, which may be a method of the user's, too."""
    return any(
        isinstance(p, Index) or (isinstance(p, Attribute) and p.name not in LAYOUT_ATTRIBUTES)
        for p in ir.walk(expr)
    )


def is_comparison(expr: Expr) -> bool:
    """A comparison, a membership test, `not`, or `and`/`or` of these."""
    match expr:
        case Call(fn=fn):
            return is_truth(fn)
        case Lazy(form="and" | "or", items=items):
            return all(map(is_comparison, items))
    return False


def stays_nested(expr: Expr) -> bool:
    """Whether an operand may stay as it is: an atom, a constant, a size, a tuple of sizes."""
    match expr:
        case Slice():
            return all(map(stays_nested, ir.children(expr)))
        case Display(form="tuple", items=items) if items:
            return all(is_constant(i) or is_shape_query(i) for i in items)
        case Display(form="tuple"):
            return True
    return is_atom(expr) or is_constant(expr) or is_shape_query(expr) or ir.is_starred(expr)


def takes_shape(fn: Expr, position: int | str) -> bool:
    """Whether this argument of a callee is a shape or axes, as in `np.zeros((n, 3))`."""
    if isinstance(position, str):
        return position in _SHAPE_KEYWORDS
    match fn:
        case Ref(text=text):
            return position >= _SHAPE_POSITION.get(text.rpartition(".")[2], position + 1)
        case Attribute(name=name):
            return name in _SHAPE_METHODS or position >= _SHAPE_POSITION.get(name, position + 1)
    return False


def is_shape_tuple(expr: Expr) -> bool:
    """`(n, 3)`: a tuple of names, literals and sizes."""
    return isinstance(expr, Display) and expr.form == "tuple" and all(map(stays_nested, expr.items))


def is_setter(expr: Expr) -> bool:
    """Whether this is a call that assigns, and gives None: `setattr(obj, "w", v)`."""
    match expr:
        case Call(fn=Ref(obj=obj), args=(_, _, _), kwargs=()):
            return any(obj is setter for setter in _SETTERS)
    return False


_SETTERS = (setattr, object.__setattr__, operator.setitem)


def keeps_whole(expr: Expr) -> bool:
    """Whether a lazy expression can carry no derivative, so that it needs no branches."""
    match expr:
        case Lazy(form="if", items=(_, then, otherwise)):
            return keeps_whole(then) and keeps_whole(otherwise)
        case Lazy(items=items):
            return all(map(keeps_whole, items))
        case Ref(obj=obj):
            return callable(obj)
    return is_constant(expr) or is_comparison(expr) or is_shape_query(expr)


@ir.of_node
def is_repeatable(expr: Expr) -> bool:
    """Whether evaluating it twice is the same as once: no effects, no random draws.

    Calls count only if they are operators or functions of NumPy, `math` or the built-ins.
    """
    match expr:
        case Opaque():
            return False
        case Call(fn=Ref(obj=obj) as fn):
            known = is_arithmetic(fn) or is_truth(fn) or is_pure_function(obj)
            return known and all(map(is_repeatable, ir.children(expr)[1:]))
        case Call():
            return False
    return all(map(is_repeatable, ir.children(expr)))


_PURE_BUILTINS = frozenset(
    map(
        id,
        (abs, len, min, max, sum, float, int, bool, complex, round, pow, isinstance, tuple, slice),
    )
)


def is_pure_function(obj: Any) -> bool:
    """A function of NumPy, `math` or the built-ins that has no effect and draws nothing."""
    if isinstance(obj, np.ufunc) or id(obj) in _PURE_BUILTINS:
        return True
    home = module_of(obj)
    if home == "math":
        return getattr(math, attribute_of(obj, "__name__", ""), None) is obj
    if home.split(".")[0] not in ("numpy", "cupy"):
        return False
    return ".random" not in home and attribute_of(obj, "__name__", "") not in _WRITERS


# NumPy functions that write into an argument, the outside world or global state.
_WRITERS = frozenset(
    ["copyto", "put", "putmask", "place", "fill_diagonal", "put_along_axis", "at", "shuffle"]
    + ["save", "savez", "savetxt", "seterr", "errstate", "setflags", "nditer"]
)


# --------------------------------------------------------------------------------------------------
# Python's operators as the operations they are: one table from syntax to `Ref`.
#
# `a * b` is `Call(ir.MUL, (a, b))`; a rule for `operator.mul` needs to know nothing
# of syntax trees.

BINARY: dict[type[Any], Ref] = {
    gast.Add: ir.ADD,
    gast.Sub: ir.SUB,
    gast.Mult: ir.MUL,
    gast.Div: ir.DIV,
    gast.FloorDiv: Ref("//", operator.floordiv),
    gast.Mod: Ref("%", operator.mod),
    gast.Pow: ir.POW,
    gast.MatMult: ir.MATMUL,
    gast.LShift: Ref("<<", operator.lshift),
    gast.RShift: Ref(">>", operator.rshift),
    gast.BitAnd: Ref("&", operator.and_),
    gast.BitOr: Ref("|", operator.or_),
    gast.BitXor: Ref("^", operator.xor),
}

# (`+=` is `operator.iadd`, `&=` is `operator.iand`.)
UPDATE: dict[type[Any], Ref] = {
    node: Ref(f"{ref.text}=", getattr(operator, f"i{ref.obj.__name__.rstrip('_')}"))
    for node, ref in BINARY.items()
}


UNARY: dict[type[Any], Ref] = {
    gast.USub: ir.NEG,
    gast.UAdd: Ref("+", operator.pos),
    gast.Invert: Ref("~", operator.invert),
    gast.Not: ir.NOT,
}


COMPARE: dict[type[Any], Ref] = {
    gast.Eq: ir.EQUAL,
    gast.NotEq: Ref("!=", operator.ne),
    gast.Lt: ir.LESS,
    gast.LtE: Ref("<=", operator.le),
    gast.Gt: ir.GREATER,
    gast.GtE: ir.AT_LEAST,
    gast.Is: ir.IS,
    gast.IsNot: ir.IS_NOT,
    gast.In: ir.IN,
    # gast.NotIn has no function of its own: it is read as `not (a in b)`.
}

_ARITHMETIC = frozenset(ref.key for ref in (*BINARY.values(), *UNARY.values())) - {ir.NOT.key}
_TRUTH = frozenset(ref.key for ref in COMPARE.values()) | {ir.NOT.key}


def is_arithmetic(fn: object) -> bool:
    """Whether this callee is an arithmetic or bit operator (not a comparison, not `not`)."""
    return isinstance(fn, Ref) and fn.key in _ARITHMETIC


def is_truth(fn: object) -> bool:
    """Whether this callee is a comparison, a membership test or `not`."""
    return isinstance(fn, Ref) and fn.key in _TRUTH
