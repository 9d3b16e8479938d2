"""Algebra of the lines of a rule: putting arguments in, folding zeros, products.

Tangents and adjoints are linear in what comes in, so a tangent that is zero can be folded
away symbolically, and a partial becomes a product with the incoming adjoint.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import ModuleType
from typing import Any

import numpy as np

from .. import ir, runtime
from ..pytree.leaves import is_complex
from ..runtime.records import attribute_of
from .decisions import OPERATIONS, binary, negative
from .twins import mirrored, module_function

ONE, ZERO = ir.Const(1.0), ir.Const(0.0)


@dataclass(eq=False)
class Substitution:
    """Puts actual arguments and the text of the array module into a template's expression.

    An argument that the call did not give is not repeated where it would be the default
    of the function it is passed to, nor where it changes nothing: `(x - loc) / scale` is `x`.
    Arithmetic of literals is done: `p * x ** (p - 1)` with `p = 3` is `3 * x**2`.
    """

    values: Mapping[str, ir.Expr]
    unsupplied: frozenset[str]
    alias: str
    scipy: Any = None  # the module that stands for SciPy in a call
    place: Any = None

    def __call__(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Var(name):
                return self.values.get(name, expr)
            case ir.Ref(text=text) if text.startswith("np."):
                return module_function(self.alias, text[len("np.") :])
            case ir.Ref(text=text) if self.scipy is not None and text.startswith("scipy."):
                return mirrored(self.scipy, text, self.place)
            case ir.Call(fn=ir.Ref(text="-" | "/" as symbol), args=(left, right)) if (
                self._is_default(right) and self(right) == ir.Const(0 if symbol == "-" else 1)
            ):
                return self(left)
            case ir.Call(fn=ir.Ref() as fn):
                expr = self._without_defaults(expr, fn.obj)
        return fold_literals(ir.rebuild(expr, self))

    def _without_defaults(self, call: ir.Call, fn: Any) -> ir.Call:
        left_out = [e for e in (*call.args, *dict(call.kwargs).values()) if self._is_default(e)]
        if not left_out:
            return call
        try:
            params = _parameters(fn)
        except (TypeError, ValueError):
            return call
        kwargs = tuple(
            (name, value)
            for name, value in call.kwargs
            if not (self._is_default(value) and self._agrees(params.get(name), value))
        )
        args = list(call.args)
        positional = list(params.values())
        while args and len(args) <= len(positional) and self._is_default(args[-1]):
            if not self._agrees(positional[len(args) - 1], args[-1]):
                break
            args.pop()
        return dataclasses.replace(call, args=tuple(args), kwargs=kwargs)

    def _is_default(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.Var) and expr.name in self.unsupplied

    def _agrees(self, param: inspect.Parameter | None, value: ir.Expr) -> bool:
        if param is None or not isinstance(value, ir.Var):
            return False
        # NumPy's marker for "not given" stands for its own default, which the rule repeats.
        if type(param.default).__name__ == "_NoValueType":
            return param.name == value.name
        actual = self.values[value.name]
        return isinstance(actual, ir.Const) and actual == ir.Const(param.default)


def _parameters(fn: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function; of a method of a distribution those of the distribution, too,
    for which it has `*args`."""
    params = inspect.signature(fn).parameters
    first, *rest = params.values() if params else (None,)
    parse = attribute_of(attribute_of(fn, "__self__", None), "_parse_args", None)
    if parse is None or first is None or not any(p.kind == p.VAR_POSITIONAL for p in rest):
        return params
    return {first.name: first, **inspect.signature(parse).parameters}


def fold_literals(expr: ir.Expr) -> ir.Expr:
    """Do arithmetic of number literals, and multiplications and powers by one."""
    if not (isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Ref) and not expr.kwargs):
        return expr
    symbol = expr.fn.text
    if len(expr.args) == 1 and expr.fn.obj is operator.neg:
        return negative(expr.args[0])
    if len(expr.args) != 2 or expr.fn.obj is not OPERATIONS.get(symbol):
        return expr
    left, right = expr.args
    if _is_number(left) and _is_number(right) and symbol in ("+", "-", "*"):
        return ir.Const(_exact(symbol, left.value, right.value))  # type: ignore[union-attr]
    if symbol == "**" and right in (ir.Const(1), ONE):
        return left
    return expr


def _exact(symbol: str, left: Any, right: Any) -> Any:
    """Arithmetic on literals as they are written: 1.1 - 1 is 0.1."""
    if isinstance(left, complex) or isinstance(right, complex) or symbol == "*":
        return OPERATIONS[symbol](left, right)
    if isinstance(left, int) and isinstance(right, int):
        return OPERATIONS[symbol](left, right)
    if not (math.isfinite(left) and math.isfinite(right)):
        return OPERATIONS[symbol](left, right)
    return float(OPERATIONS[symbol](Decimal(repr(left)), Decimal(repr(right))))


def _is_number(expr: ir.Expr) -> bool:
    return (
        isinstance(expr, ir.Const)
        and isinstance(expr.value, (int, float, complex))
        and not isinstance(expr.value, bool)
    )


def is_zero(expr: ir.Expr | None) -> bool:
    """Whether an expression is a literal zero (or absent)."""
    return expr is None or (_is_number(expr) and expr.value == 0)  # type: ignore[union-attr]


def add(left: ir.Expr | None, right: ir.Expr | None) -> ir.Expr | None:
    """`left + right`, None being zero; a negated right side is subtracted."""
    if left is None or right is None:
        return right if left is None else left
    match right:
        case ir.Call(fn=ir.Ref(obj=operator.neg), args=(inner,)):
            return binary("-", left, inner)
    return binary("+", left, right)


def scale(g: ir.Expr, partial: ir.Expr, leading: bool = True) -> ir.Expr | None:
    """The product of a tangent or adjoint `g` with a partial, as a person writes it.

    `g * 1.0` is `g`, `g * -e` is `-(g * e)`, `g * (c / e)` is `c * g / e` for a literal `c`,
    which comes first. `leading` puts `g` before the rest. None if the partial is zero.
    """
    if is_zero(partial):
        return None
    factors = _times_logarithm(partial)
    if factors is not None:
        return ir.Call(ir.Ref("times_log", runtime.times_log), (g, *factors))
    match partial:
        case ir.Const(value) if _is_number(partial) and value in (1, -1):
            return g if value == 1 else negative(g)
        case ir.Const() if _is_number(partial):
            return binary("*", partial, g)
        case ir.Call(fn=ir.Ref(obj=operator.neg), args=(inner,)):
            product = scale(g, inner, leading)
            return None if product is None else negative(product)
        case ir.Call(fn=ir.Ref(text="+"), args=(left, right)) if _times_logarithm(right):
            return add(scale(g, left, leading), scale(g, right, leading))
        case ir.Call(fn=ir.Ref(obj=operator.truediv), args=(c, e)) if _is_number(c):
            numerator = scale(g, c, leading)
            return None if numerator is None else binary("/", numerator, e)
        case ir.Call(
            fn=ir.Ref(obj=operator.truediv),
            args=(ir.Call(fn=ir.Ref(obj=operator.mul), args=(c, a)), e),
        ) if _is_number(c) and leading:
            return binary("*", binary("*", c, g), binary("/", a, e))
        case ir.Call(fn=ir.Ref(obj=operator.mul), args=(c, e)) if _is_number(c) and leading:
            return binary("*", binary("*", c, g), e)
    return binary("*", g, partial) if leading else binary("*", partial, g)


def _times_logarithm(expr: ir.Expr) -> tuple[ir.Expr, ...] | None:
    """`(y, x)` of `y * log_or_zero(x)`."""
    match expr:
        case ir.Call(fn=ir.Ref(text="*"), args=(y, ir.Call(fn=ir.Ref(obj=log), args=(x,)))):
            return (y, x) if log is runtime.log_or_zero else None
    return None


def conjugate(expr: ir.Expr, conj: ir.Ref) -> ir.Expr:
    """The complex conjugate of an expression; of a literal, a literal."""
    match expr:
        case ir.Const(complex() as value) if value.real or value.imag < 0:
            return ir.Const(complex(value.real or 0.0, -value.imag))
        case ir.Const(complex()):  # (Python writes -1j)
            return ir.Call(ir.NEG, (expr,))
        case ir.Const():
            return expr
        case ir.Call(fn=ir.Ref(text="+" | "-"), args=(ir.Const() as a, ir.Const() as b)):
            return fold_literals(ir.Call(expr.fn, (conjugate(a, conj), conjugate(b, conj))))
    return ir.Call(conj, (expr,))


def may_be_complex(expr: ir.Expr, dtype_of: Callable[[str], str], real: bool) -> bool:
    """Whether an expression reads something complex, or of unknown dtype unless `real`; a power of
    numbers may be complex where these are real."""
    for part in ir.walk(expr):
        if isinstance(part, ir.Const) and isinstance(part.value, complex):
            return True
        if isinstance(part, ir.Ref) and holds_complex(part.obj):
            return True
        if isinstance(part, ir.Var):
            dtype = dtype_of(part.name)
            if dtype == "complex" or (dtype == "?" and not real):
                return True
        if not real and _is_fractional_power(part):
            return True
    return False


def _is_fractional_power(expr: ir.Expr) -> bool:
    """Whether an expression may be a negative number to a fractional power."""
    match expr:
        case ir.Call(fn=ir.Ref(obj=operator.pow), args=(_, ir.Const(int() | float() as exponent))):
            return not float(exponent).is_integer()
        case ir.Call(fn=ir.Ref(obj=obj)):
            return obj is operator.pow or obj is runtime.power_slope
    return False


def holds_complex(obj: Any) -> bool:
    """Whether what a program reads from outside (an array, a number, a list of them) is complex.

    >>> holds_complex(np.ones(2) * 1j), holds_complex([1.0, 2.0]), holds_complex(np.sin)
    (True, False, False)
    """
    return not callable(obj) and not isinstance(obj, ModuleType) and is_complex(obj)


def unbroadcast(g: ir.Expr, like: ir.Expr) -> ir.Expr:
    """`g`, of the result's shape, summed to the shape of the argument `like`."""
    return ir.Call(ir.Ref("unbroadcast", runtime.unbroadcast), (g, like))


# ------------------------------------------------------- what `+` and `*` do with lists


def joins_lists(call: ir.Expr) -> bool:
    """Whether a call is one of `np.add` or `np.multiply`, which may be given lists: `+` would join
    their tangents and `2 *` repeat them."""
    obj = getattr(call.fn, "obj", None) if isinstance(call, ir.Call) else None
    return isinstance(obj, np.ufunc) and obj in (np.add, np.multiply)


def tangent_of_lists(
    call: ir.Call, partials: Mapping[str, ir.Expr], given: Mapping[str, ir.Expr]
) -> ir.Expr | None:
    """The tangent in the words of the call: `np.add(a_dot, b_dot)`, `np.multiply(2, a_dot)`."""
    total: ir.Expr | None = None
    for param in (p for p in partials if p in given):
        partial, dot = partials[param], given[param]
        by_number = isinstance(partial, ir.Const) and partial != ONE
        term = ir.Call(call.fn, (partial, dot)) if by_number else scale(dot, partial, leading=False)
        joined = total is not None and getattr(call.fn, "obj", None) is np.add
        total = ir.Call(call.fn, (total, term)) if joined else add(total, term)  # type: ignore
    return total


# ------------------------------------------------------------------- tangents put in

# Operations linear in their first argument, zero when it is zero.
_LINEAR_IN_FIRST = (operator.truediv, operator.neg, operator.pos)
_PRODUCTS = (operator.mul, operator.matmul)
# Functions into which a plain 0.0 broadcasts.
_BROADCASTING = (np.where, np.multiply, np.add, np.subtract)


def put_tangents(
    expr: ir.Expr, dots: Mapping[str, ir.Expr], arguments: Mapping[str, ir.Expr]
) -> ir.Expr | None:
    """A tangent expression with the active tangents put in and the others folded away."""
    zeros = {f"${p}_dot": value for p, value in arguments.items() if p not in dots}
    folded = _fold(expr, zeros)
    if folded is None or is_zero(folded):
        return None
    return ir.substitute(folded, {f"${p}_dot": dot for p, dot in dots.items()})


def _fold(expr: ir.Expr, zeros: Mapping[str, ir.Expr]) -> ir.Expr | None:
    """The expression without its zero tangents; None if nothing is left."""
    if isinstance(expr, ir.Var):
        return None if expr.name in zeros else expr
    if not any(name in zeros for name in ir.names_in(expr)):
        return expr
    if not any(is_dot(name) and name not in zeros for name in ir.names_in(expr)):
        return None  # linear in tangents, all of which are zero
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(left, right)) if obj in (operator.add, operator.sub):
            a, b = _fold(left, zeros), _fold(right, zeros)
            if obj is operator.sub:
                b = None if b is None else negative(b)
            return add(a, b)
        case ir.Call(fn=ir.Ref(obj=runtime.accumulate), args=(left, right)):
            a, b = _fold(left, zeros), _fold(right, zeros)
            return ir.Call(expr.fn, (a, b)) if a is not None and b is not None else a or b
        case ir.Call(fn=ir.Ref(obj=obj), args=args) if obj in _PRODUCTS:
            parts = [_fold(arg, zeros) for arg in args]
            if None in parts:
                return None
            return dataclasses.replace(expr, args=tuple(p for p in parts if p is not None))
        case ir.Call(fn=ir.Ref(obj=obj), args=(first, *rest)) if obj in _LINEAR_IN_FIRST:
            inner = _fold(first, zeros)
            if inner is None:
                return None
            return negative(inner) if obj is operator.neg else ir.Call(expr.fn, (inner, *rest))
        case ir.Call(fn=ir.Ref(obj=obj)) if any(obj is known for known in _BROADCASTING):
            return ir.rebuild(expr, lambda e: _fold(e, zeros) or ZERO)
    return ir.rebuild(expr, lambda e: _fold_part(e, zeros))


def _fold_part(expr: ir.Expr, zeros: Mapping[str, ir.Expr]) -> ir.Expr:
    """A part whose place must be filled: a zero tangent is zeros of its argument's shape."""
    folded = _fold(expr, zeros)
    if folded is not None:
        return folded
    if isinstance(expr, ir.Var):
        return ir.Call(ir.Ref("zeros_like", runtime.zeros_like), (zeros[expr.name],))
    return ir.rebuild(expr, lambda e: _fold_part(e, zeros))


def is_dot(name: str) -> bool:
    """Whether a placeholder stands for a tangent."""
    return name.startswith("$") and name.endswith("_dot")
