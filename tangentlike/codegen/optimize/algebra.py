"""Sums and products in the order people write them: numbers first, signs outermost.

A product is a sign and number, its factors, and divisors that numbers stood over; a sum is a
list of such terms. Both are rebuilt only if that changes something.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ... import ir
from ...runtime import unbroadcast

_ADJOINT_NAME = re.compile(r"_bar\d*$")
Predicate = Callable[[ir.Expr], bool]


@ir.quickened
@dataclass(frozen=True)
class Product:
    """`coefficient * factors[0] * ... / divisors[0] / ...`; the coefficient is a number."""

    coefficient: float | int
    factors: tuple[ir.Expr, ...]
    divisors: tuple[ir.Expr, ...] = ()


def is_operation(expr: ir.Expr, ref: ir.Ref) -> bool:
    """Whether an expression applies the operator `ref`."""
    return isinstance(expr, ir.Call) and expr.fn == ref


def is_literal(expr: ir.Expr) -> bool:
    """A number as literal (no bool; complex ones stay where they are)."""
    return isinstance(expr, ir.Const) and type(expr.value) in (int, float)


def product_of(expr: ir.Expr) -> Product:
    """Take a product apart along its left spine; of other factors only sign and number."""
    if is_literal(expr):
        assert isinstance(expr, ir.Const)
        return Product(expr.value, ())
    if isinstance(expr, ir.Index) or (isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Ref)):
        return _taken_apart(expr) or Product(1, (expr,))
    return Product(1, (expr,))


@ir.of_node
def _taken_apart(expr: ir.Call | ir.Index) -> Product | None:
    """The same of a call or a part; None where it is one factor."""
    if isinstance(expr, ir.Index):
        return _number_of(expr, expr.base)
    if expr.fn == ir.NEG:
        inner = product_of(expr.args[0])
        return Product(-inner.coefficient, inner.factors, inner.divisors)
    if expr.fn == ir.MUL:
        left, right = _bracketed(product_of(expr.args[0])), _as_factor(expr.args[1])
        return _with_halves(
            Product(
                left.coefficient * right.coefficient,
                left.factors + right.factors,
                left.divisors + right.divisors,
            )
        )
    if expr.fn == ir.DIV:
        over = product_of(expr.args[0])
        if not over.factors or over.coefficient == -1:
            return Product(over.coefficient, over.factors, (*over.divisors, expr.args[1]))
        if over.coefficient < 0:  # (`x - 0.5 * a / b`)
            return Product(-1, (replace(expr, args=(negative(expr.args[0]), expr.args[1])),))
    elif _passes_numbers(expr):
        return _number_of(expr, expr.args[0])
    return None


def _passes_numbers(expr: ir.Call) -> bool:
    """Whether a number before the first argument may as well stand before the call."""
    obj = expr.fn.obj if isinstance(expr.fn, ir.Ref) else None
    if obj is np.expand_dims:
        return True
    options = {name for name, _ in expr.kwargs}
    return obj is np.sum and len(expr.args) == 1 and options <= {"axis", "keepdims"}


def _number_of(expr: ir.Call | ir.Index, inner: ir.Expr) -> Product | None:
    """`2.0 * np.sum(a)` for `np.sum(2.0 * a)`, `-(1.0 / a)[:, None]` for `(-1.0 / a)[:, None]`."""
    taken = _as_factor(inner) if isinstance(inner, ir.Call) else Product(1, (inner,))
    number = taken.coefficient if taken.factors else -1 if taken.coefficient < 0 else 1
    if number != -1 and (type(number) is int or number == 1.0):
        return None  # (`2 * xs` may repeat a list)
    if not (taken.factors or taken.divisors):
        return None
    left = 1 if taken.factors else -taken.coefficient
    rest = build(Product(left, taken.factors, taken.divisors), lambda e: False)
    if isinstance(expr, ir.Index):
        return Product(number, (replace(expr, base=rest),))
    return Product(number, (replace(expr, args=(rest, *expr.args[1:])),))


def _bracketed(product: Product) -> Product:
    """A quotient as one factor: in `a / b * x`, `a` and `b` may be numbers where `x` is none."""
    if not product.factors or not product.divisors:
        return product
    whole = build(Product(1, product.factors, product.divisors), lambda e: False)
    return Product(product.coefficient, (whole,))


def _with_halves(product: Product) -> Product:
    """`0.5 * a` for `2.0 * (a / 4.0)`: the number takes divisors that are powers of two, which
    changes no digit."""
    number, factors = product.coefficient, list(product.factors)
    if number in (0, 1, -1):
        return product
    for at, factor in enumerate(factors):
        match factor:
            case ir.Call(fn=fn, args=(over, ir.Const(int() | float() as by))) if (
                fn == ir.DIV and type(by) is not bool and _is_power(by)
            ):
                number, factors[at] = number / by, over
    divisors = []
    for divisor in product.divisors:
        if (
            isinstance(divisor, ir.Const)
            and type(divisor.value) in (int, float)
            and _is_power(divisor.value)
        ):
            number /= divisor.value
        else:
            divisors.append(divisor)
    return Product(number, tuple(factors), tuple(divisors))


def _is_power(number: float) -> bool:
    return math.frexp(number)[0] == 0.5


def _as_factor(expr: ir.Expr) -> Product:
    """A right operand keeps its own brackets, but gives up its sign and number."""
    if isinstance(expr, ir.Call) and expr.fn == ir.DIV:  # `0.5 * s / x` of `2.0 * (0.5 * s / x)`
        over, under = expr.args
        nested = isinstance(over, ir.Call) and over.fn == ir.DIV
        taken = _as_factor(over) if nested else product_of(over)
        if taken.factors and taken.coefficient not in (1, -1):
            rest = build(Product(1, taken.factors, taken.divisors), lambda e: False)
            return Product(taken.coefficient, (replace(expr, args=(rest, under)),))
    inner = product_of(expr)
    if len(inner.factors) <= 1:
        return inner
    if inner.coefficient == 1:
        return Product(1, (expr,))
    whole = build(Product(1, inner.factors, inner.divisors), lambda e: False)
    return Product(inner.coefficient, (whole,))


def build(product: Product, floating: Predicate) -> ir.Expr:
    """The product as an expression: `-a * b`, `2.0 * a / b`, `1.0 / b`.

    The sign goes to the first factor only if that is not a boolean or unsigned array.
    """
    number, factors = product.coefficient, list(product.factors)
    outer_sign = False
    if not factors:
        result: ir.Expr = ir.Const(number)
    else:
        if number == -1 and floating(factors[0]):
            factors[0] = _minus(factors[0], floating)
        elif number == -1:
            outer_sign = True
        elif number != 1:
            factors.insert(0, ir.Const(number))
        result = factors[0]
        for factor in factors[1:]:
            result = ir.Call(ir.MUL, (result, factor))
    for divisor in product.divisors:
        result = ir.Call(ir.DIV, (result, divisor))
    return ir.Call(ir.NEG, (result,)) if outer_sign else result


def _minus(factor: ir.Expr, floating: Predicate) -> ir.Expr:
    """`-a`; of a quotient `-a / b`, of a multiple `-2.0 * a`, which need no brackets."""
    if isinstance(factor, ir.Call) and factor.fn == ir.DIV and floating(factor.args[0]):
        return replace(factor, args=(_minus(factor.args[0], floating), factor.args[1]))
    if is_operation(factor, ir.MUL) and product_of(factor).coefficient != 1:
        return negative(factor)
    return ir.Call(ir.NEG, (factor,))


def negative(expr: ir.Expr) -> ir.Expr:
    """The same product with the other sign."""
    product = product_of(expr)
    return build(replace(product, coefficient=-product.coefficient), lambda e: False)


def ordered(product: Product) -> Product:
    """Adjoints before the other factors, else as they stood."""
    early = [f for f in product.factors if is_adjoint(f)]
    if not early or len(early) == len(product.factors):
        return product
    late = [f for f in product.factors if not is_adjoint(f)]
    return Product(product.coefficient, (*early, *late), product.divisors)


@ir.of_node
def is_adjoint(expr: ir.Expr) -> bool:
    """Whether a factor is the adjoint that a partial derivative multiplies."""
    match expr:
        case ir.Var(name):
            return _ADJOINT_NAME.search(name) is not None
        case ir.Index(base, _) | ir.Attribute(base, _):
            return is_adjoint(base)
        case ir.Call(fn=ir.Attribute(base, _)):
            return is_adjoint(base)
        case ir.Call(fn=ir.Ref(text=text), args=(first, *_)):
            return text.isidentifier() and is_adjoint(first)
        case _:
            return False


def turned(product: Product, floating: Predicate, every: bool = False) -> Product:
    """`(b - a) * c` for `-(a - b) * c`, and `(a + b) * c` for `-(-a - b) * c`: only that, and such
    like, where `every` term has to have a sign. `unbroadcast(a, x)` for `-unbroadcast(-a, x)`."""
    if product.coefficient >= 0:
        return product
    for at, factor in enumerate(product.factors):
        opposite = _opposite(factor, floating, every)
        if opposite is not None:
            factors = (*product.factors[:at], opposite, *product.factors[at + 1 :])
            return replace(product, coefficient=-product.coefficient, factors=factors)
    return product


def _opposite(factor: ir.Expr, floating: Predicate, every: bool) -> ir.Expr | None:
    """A factor with the other sign, where it is as short as with its own."""
    if isinstance(factor, ir.Call) and getattr(factor.fn, "obj", None) is unbroadcast:
        inner = product_of(factor.args[0])
        if inner.coefficient < 0 and any(map(floating, inner.factors)):
            positive = build(replace(inner, coefficient=-inner.coefficient), floating)
            return replace(factor, args=(positive, *factor.args[1:]))
    if is_operation(factor, ir.SUB) or is_operation(factor, ir.ADD):
        terms = terms_of(factor)
        negative = (all if every else any)(term.coefficient < 0 for term in terms)
        known = [any(map(floating, term.factors)) for term in terms]
        literal = [type(term.coefficient) is float and not term.factors for term in terms]
        if negative and any(known) and all(map(operator.or_, known, literal)):
            return build_sum([replace(t, coefficient=-t.coefficient) for t in terms], floating)
    return None


def terms_of(expr: ir.Expr) -> list[Product]:
    """Take a sum apart along its left spine."""
    if is_operation(expr, ir.ADD):
        return [*terms_of(expr.args[0]), product_of(expr.args[1])]  # type: ignore[union-attr]
    if is_operation(expr, ir.SUB):
        left, right = expr.args  # type: ignore[union-attr]
        term = product_of(right)
        return [*terms_of(left), Product(-term.coefficient, term.factors, term.divisors)]
    return [product_of(expr)]


def merge_terms(terms: list[Product], may_merge: Callable[[Product], bool]) -> list[Product]:
    """Add the numbers of equal terms: `r + r` is `2.0 * r`, and so is `lam * w + w * lam`."""
    merged: dict[object, int] = {}
    out: list[Product] = []
    for term in terms:
        key = frozenset(Counter(_atoms(term.factors)).items()), term.divisors
        if key in merged and may_merge(term):
            at = merged[key]
            total = out[at].coefficient + term.coefficient
            out[at] = Product(float(total), term.factors, term.divisors)
            continue
        merged.setdefault(key, len(out))
        out.append(term)
    return out


def _atoms(factors: Iterable[ir.Expr]) -> Iterator[ir.Expr]:
    """The factors of some factors."""
    for factor in factors:
        if isinstance(factor, ir.Call) and factor.fn == ir.MUL:
            yield from _atoms(factor.args)
        else:
            yield factor


def build_sum(terms: list[Product], floating: Predicate) -> ir.Expr:
    """`a + b - c`, beginning with a positive term if there is one."""
    first = next((i for i, t in enumerate(terms) if t.coefficient > 0), 0)
    terms = [terms[first], *terms[:first], *terms[first + 1 :]]
    result = build(terms[0], floating)
    for term in terms[1:]:
        if term.coefficient < 0:
            positive = Product(-term.coefficient, term.factors, term.divisors)
            result = ir.Call(ir.SUB, (result, build(positive, floating)))
        else:
            result = ir.Call(ir.ADD, (result, build(term, floating)))
    return result
