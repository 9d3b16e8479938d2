"""Algebra on derived expressions: ones, zeros, signs, numbers, broadcasts that do nothing.

Only what a transform wrote is touched, never the user's own lines; and nothing that could
change what a NaN or an infinity does (`0.0 * e` stays).
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ... import ir, runtime
from ...ir.facts import fact
from ...ir.index import references
from ...rules.index_kinds import key_parts
from .algebra import (
    Predicate,
    Product,
    build,
    build_sum,
    is_literal,
    merge_terms,
    ordered,
    product_of,
    terms_of,
    turned,
)
from .analyses import TAKEN, ZERO, Asking, of_facts
from .effects import effect_of, is_pure, own_effect
from .facts import Facts, numpy_name, runtime_name
from .shapes import NUMBER, AxesOf, Shapes, is_number, of_same_shape
from .sharing import is_float, sources

_ARITHMETIC = (ir.ADD, ir.SUB, ir.MUL, ir.NEG, ir.DIV)
_LOOKED_THROUGH = (operator.pow, np.where, np.outer)
_ONES = ("ones_like",)
_ZEROS = ("zeros_like",)
_ZERO = ir.Const(0.0)


def fold_algebra(function: ir.Function, facts: Facts) -> ir.Function:
    """Write derived expressions the way a person would.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program("x_bar = x_bar + -(y_bar * 2.0 * (1.0 * x_bar)); return x_bar"))
    >>> print(show(fold_algebra(f, Facts(floating=frozenset(["x_bar", "y_bar"]))).body))
    x_bar = x_bar - 2.0 * y_bar * x_bar
    return x_bar
    """
    return _Fold(function, facts).rewritten(function)


def write_out_compositions(function: ir.Function, facts: Facts) -> ir.Function:
    """`logistic(1, m)` -> `1 / (1 + np.exp(m))` and `log_ratio(a, b)` -> `np.log(a / b)`, now that
    their derivatives are made."""
    named = fact(references, function)
    if not any(ref.obj is known for ref in named for known in _COMPOSITIONS):
        return function

    def written(expr: ir.Expr) -> ir.Expr:
        match ir.rebuild(expr, written):
            case ir.Call(ir.Ref(obj=runtime.logistic), (one, m), at=at):
                exponential = ir.Call(facts.numpy_function("exp"), (m,))
                return ir.Call(ir.DIV, (one, ir.Call(ir.ADD, (one, exponential))), (), at)
            case ir.Call(ir.Ref(obj=runtime.log_ratio), (a, b), at=at):
                return ir.Call(facts.numpy_function("log"), (ir.Call(ir.DIV, (a, b)),), (), at)
            case same:
                return same

    return replace(function, body=ir.rewrite(function.body, None, written))


_COMPOSITIONS = (runtime.logistic, runtime.log_ratio)


def folded(stmt: ir.Stmt, function: ir.Function, facts: Facts) -> tuple[ir.Stmt, ...]:
    """What a derived statement of a function becomes."""
    facts.manager.setting = facts
    return facts.manager.get(_FOLD, function).folded(stmt)


class _Fold(Asking):
    """`settled`: statements, and expressions in derived ones, by id that nothing can be folded in,
    as far as shapes are known."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        super().__init__(function, facts)
        self.zeros = self._zeros()
        known = (self.shapes, self.zeros, self.defined)
        before, self.settled = facts.cache.get(_Fold, (known, dict[int, Any]()))
        if before is not known and (told := self._told_since(*before)):
            self.settled = {
                key: node
                for key, node in self.settled.items()
                if told.isdisjoint(
                    names_touched(node) if hasattr(node, "origin") else ir.names_in(node)
                )
            }
        facts.cache[_Fold] = (known, self.settled)

    def _told_since(
        self, shapes: Shapes, zeros: frozenset[str], defined: Mapping[str, ir.Call]
    ) -> frozenset[str]:
        """The names of which more, or something else, is known than there was."""
        told = {*self.shapes.told_since(shapes), *(self.zeros - zeros)}
        if self.defined is not defined:
            told |= {n for n, value in self.defined.items() if defined.get(n) is not value}
            for name, value in self.defined.items():  # (in order: later ones are made of earlier)
                if not told.isdisjoint(ir.names_in(value)):
                    told.add(name)
        return frozenset(told)

    def _zeros(self) -> frozenset[str]:
        """Arrays of zeros that nothing but zeros is stored into: adjoints of what is written anew
        before it is read."""
        if self.facts.by_identity or not self.patterns & ZERO or not self.patterns & TAKEN:
            return frozenset()
        made, others = set[str](), set[str](self.pinned.union(self.function.param_names))
        for stmt in ir.statements(self.function.body):
            match zeroed(stmt):
                case ir.Var(name):
                    made.add(name)
                case None:
                    effect = own_effect(stmt, self.facts)
                    others |= effect.binds | effect.writes
        sharing = self.sharing if made - others else None
        return frozenset(n for n in made - others if sharing and sharing.members(n) == [n])

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        if ir.is_compound(stmt):
            return self.nested(stmt)
        if not stmt.origin.is_derived or self.settled.get(id(stmt)) is stmt:
            return (stmt,)
        folded = self.folded(stmt)
        if len(folded) == 1 and folded[0] is stmt:
            self.settled[id(stmt)] = stmt
        return folded

    def folded(self, stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        match stmt:
            case ir.Assign(target=target, value=value, origin=origin):
                new = self._last_term_stays(target, value) or self.owned(value)
                return (stmt,) if new is value else (ir.Assign(target, new, origin),)
            case ir.Store(target=target, value=value, origin=origin):
                new = self.owned(value)
                return (stmt,) if new is value else (ir.Store(target, new, origin),)
            case ir.Update(value=value):
                return self._update(stmt, self.expr(value))
            case ir.Do(value=ir.Call() as call, origin=origin):
                new = ir.rebuild(call, self.owned)
                return (stmt,) if new is call else (ir.Do(new, origin),)
            case ir.Return(value=value, origin=origin) if value is not None:
                display = isinstance(value, ir.Display)
                new = ir.rebuild(value, self.owned) if display else self.owned(value)
                return (stmt,) if new is value else (ir.Return(new, origin),)
        return (stmt,)

    def _last_term_stays(self, target: ir.Target, value: ir.Expr) -> ir.Expr | None:
        """`x_bar = -e + x_bar` is not `x_bar - e`, which might become `x_bar -= e`: the
        transform puts an adjoint last that has no room for the sum."""
        match value:
            case ir.Call(fn=fn, args=(_, ir.Var(name))) if fn == ir.ADD and name == target:
                return ir.rebuild(value, self.expr)
        return None

    def _update(self, stmt: ir.Update, value: ir.Expr) -> tuple[ir.Stmt, ...]:
        """`x += -e` is `x -= e`; adding nothing is nothing."""
        op = stmt.op
        if op.obj in (operator.iadd, operator.isub):
            if isinstance(value, ir.Const) and type(value.value) is float and value.value == 0.0:
                return ()
            if self._is_of_zeros(value) and (
                isinstance(stmt.target, ir.Index) or self._has_shape_of(value, stmt.target)
            ):
                return ()
            term = product_of(value)
            other = turned(replace(term, coefficient=-term.coefficient), self.floating, every=True)
            if term.coefficient > 0 and other.coefficient > 0:
                term = replace(other, coefficient=-other.coefficient)
            if term.coefficient < 0:
                positive = Product(-term.coefficient, term.factors, term.divisors)
                number = isinstance(term.coefficient, float) and not term.factors
                if number or self._has_float(positive):
                    value = build(positive, self.floating)
                    op = ir.ISUB if op.obj is operator.iadd else ir.IADD
        if value is stmt.value:
            return (stmt,)
        return (ir.Update(stmt.target, op, value, stmt.origin),)

    # ------------------------------------------------------------------------ expressions

    def floating(self, expr: ir.Expr) -> bool:
        return is_float(expr, self.facts)

    def _has_float(self, product: Product) -> bool:
        return any(map(self.floating, product.factors))

    def owned(self, value: ir.Expr) -> ir.Expr:
        """Fold a value that gets a name or a place: what was an object of its own stays one."""
        new = self.expr(value)
        if new is value or sources(value, self.facts, True) or not sources(new, self.facts, True):
            return new
        if isinstance(new, ir.Var) and self._is_float_array(new, value):  # `1.0 * x`
            return ir.Call(ir.Attribute(new, "copy"), ())
        if isinstance(value, ir.Call):  # its operands at least (of a view they are its memory)
            return ir.rebuild(value, self.owned)
        return value

    def _is_float_array(self, name: ir.Var, value: ir.Expr) -> bool:
        """Whether a name, which is all that is left of a value, is an array with axes whose copy
        has the type of `1.0` times it."""
        kind = self.facts.kind(name.name)
        if kind.form == "array" and kind.rank:
            return self.floating(name)
        terms = value.args if isinstance(value, ir.Call) and value.fn == ir.ADD else ()
        parts = (key for t in terms if isinstance(t, ir.Index) for key in key_parts(t.key))
        sliced = any(isinstance(part, ir.Slice) for part in parts)
        return sliced and any(map(self._is_of_zeros, terms)) and self.floating(name)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        """The folded expression; `expr` itself if there is nothing to do."""
        if isinstance(expr, ir.Atom) or self.settled.get(id(expr)) is expr:
            return expr
        new = self._of_parts(expr)
        if new is expr:
            self.settled[id(expr)] = expr
        return new

    def _of_parts(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Call(fn=ir.Ref() as fn):
                pass
            case ir.Call(
                fn=ir.Attribute(ir.Call(fn=ir.Ref() as made) as base, "copy"), args=()
            ) if self.facts.fresh(made):
                return self.expr(base)
            case ir.Call(fn=ir.Attribute(name="copy"), args=()):
                return ir.rebuild(expr, self._in_attribute)
            case ir.Index(base=ir.Display(items=items, keys=()), key=ir.Const(int(place))) if (
                0 <= place < len(items) and _is_settled(items) and is_pure(expr, self.facts)
            ):
                return self.expr(items[place])
            case ir.Index(base=ir.Call() as base, key=key):
                inner = self.expr(base)
                part = expr if inner is base else ir.Index(inner, key, expr.at)
                return without_axes(inner, key) or self._product(part)
            case ir.Attribute():
                return self._attribute(expr)
            case ir.Index(base=ir.Attribute(name="shape") as base):
                return ir.rebuild(expr, lambda part: self.expr(part) if part is base else part)
            case _:
                return expr
        new = self._arguments(expr)
        if fn in _ARITHMETIC and len(new.args) == (1 if fn == ir.NEG else 2):
            return self._arithmetic(new)
        if fn.obj is operator.pow and new.args[1] in (ir.Const(1), ir.Const(1.0)):
            return new.args[0] if self.floating(new.args[0]) else new
        name = numpy_name(fn.obj)
        if name == "full_like" and new.args[1:] == (ir.Const(1.0),):
            return ir.Call(self.facts.numpy_function("ones_like"), new.args[:1], new.kwargs)
        if name == "full_like" and len(new.args) == 2:
            return replace(new, args=(new.args[0], _without_copy(new.args[1])))
        if name in ("size", "shape", "ndim") and len(new.args) == 1:
            return ir.rebuild(new, self._measured)
        if fn.obj is list and len(new.args) == 1:
            return self._repeated(new)
        if fn.text == "@" or name == "sum":
            of_one_number = self._of_one_number(new)
            if of_one_number is not None:
                return of_one_number
        if fn.text == "@" or name in ("outer", "dot"):
            return self._sign_first(self._of_vectors(new) if fn.text == "@" else new)
        if fn.obj in (np.sum, np.expand_dims):
            return self._product(new)
        if fn.obj is np.where and len(new.args) == 3:
            return self._chosen(new)
        return self._helper(new, runtime_name(fn.obj))

    def _arithmetic(self, call: ir.Call) -> ir.Expr:
        if call.fn in (ir.ADD, ir.SUB):
            return self._sum(call)
        made = self._quotient(call) if call.fn == ir.DIV else call
        return self._product(made) if isinstance(made, ir.Call) else made

    def _quotient(self, call: ir.Call) -> ir.Expr:
        """`c / x` for `np.full_like(x, c) / x`, 1.0 for `c / c`, c a number."""
        over, under = call.args
        filled = self._filled(over)
        if filled is not None and self._covered(over, [*call.args]):
            return ir.Call(ir.DIV, (filled[0], under), (), call.at)
        if over == under and isinstance(over, ir.Var) and is_number(over, self.facts):
            return ir.Const(1.0)
        whole = product_of(over)
        whole = replace(whole, divisors=(*whole.divisors, under))
        less = self._without_same(whole)
        return call if less is whole else build(less, self.floating)

    def _attribute(self, expr: ir.Attribute) -> ir.Expr:
        match expr:
            case ir.Attribute(base=ir.Attribute(base=ir.Var(name) as base, name="T"), name="T"):
                return base if self.facts.kind(name).form == "array" else expr
            case ir.Attribute(base=ir.Var(name), name="T") if name in self.transposes:
                return self.transposes[name]
            case ir.Attribute(base=ir.Call() as base, name="T"):
                return self._transposed(self._arguments(base)) or ir.rebuild(expr, self.expr)
            case ir.Attribute(base=ir.Var(name), name="size" | "shape" | "ndim") if (
                name in self.sized
            ):
                return ir.Attribute(ir.Var(self.sized[name]), expr.name, expr.at)
            case ir.Attribute(base=ir.Call() as base, name="size" | "shape" | "ndim"):
                return ir.Attribute(of_same_shape(base, self.facts), expr.name, expr.at)
        return expr

    @cached_property
    def sized(self) -> dict[str, str]:
        """For temporaries, what has the same size and is there anyway: an argument, or that of
        which they were computed."""
        return self.shapes.sized(self.function, self.facts)

    @cached_property
    def kept_for_shape(self) -> frozenset[str]:
        """Temporaries that would be read once, if it were not for their shape."""
        sized = self.sized if self.facts.real else {}
        count = Counter[str]()
        for stmt in ir.statements(self.function.body) if sized else ():
            if not sized.keys().isdisjoint(ir.reads(stmt)):
                count.update(_contents(stmt))
        return frozenset(name for name in sized if count[name] <= 1)

    def _measured(self, expr: ir.Expr) -> ir.Expr:
        """What gives the size, shape or rank of an expression."""
        if isinstance(expr, ir.Var):
            return ir.Var(self.sized.get(expr.name, expr.name))
        return of_same_shape(expr, self.facts)

    def _in_attribute(self, expr: ir.Expr) -> ir.Expr:
        return ir.rebuild(expr, self.expr) if isinstance(expr, ir.Attribute) else expr

    def _arguments(self, call: ir.Call) -> ir.Call:
        """Fold what is computed with; keys, axes and keyword arguments are left alone."""
        args = tuple(map(self.expr, call.args))
        if all(new is old for new, old in zip(args, call.args, strict=True)):
            return call
        return ir.Call(call.fn, args, call.kwargs, call.at)

    def _transposed(self, product: ir.Call) -> ir.Expr | None:
        """`b.T @ a` for `(a.T @ b).T`, `np.outer(v, u)` for `np.outer(u, v).T`, `-a.T` of `-a`."""
        if product.fn == ir.NEG and isinstance(product.args[0], ir.Call):
            found = self._transposed(product.args[0])
            return None if found is None else ir.Call(ir.NEG, (found,))
        if product.fn == ir.NEG and self.floating(product.args[0]):
            return ir.Call(ir.NEG, (ir.Attribute(product.args[0], "T"),))
        if not isinstance(product.fn, ir.Ref) or len(product.args) != 2 or product.kwargs:
            return None
        left, right = product.args
        if numpy_name(product.fn.obj) == "outer":
            return ir.Call(product.fn, (right, left), (), product.at)
        if product.fn.text != "@" or not (self._is_matrix(left) and self._is_matrix(right)):
            return None
        match left, right:
            case (ir.Attribute(a, "T"), ir.Attribute(b, "T")):
                swapped = (b, a)
            case (ir.Attribute(a, "T"), _):
                swapped = (ir.Attribute(right, "T"), a)
            case (_, ir.Attribute(b, "T")):
                swapped = (b, ir.Attribute(left, "T"))
            case _:
                return None
        return ir.Call(product.fn, swapped, (), product.at)

    def _is_matrix(self, expr: ir.Expr) -> bool:
        """(The adjoint of an array has its shape.)"""
        name = expr.base if isinstance(expr, ir.Attribute) and expr.name == "T" else expr
        if not isinstance(name, ir.Var):
            return False
        kind = self.facts.kind_behind(name.name)
        return kind.form == "array" and kind.rank == 2

    def _sign_first(self, call: ir.Call) -> ir.Expr:
        """`-(a @ b)` for `a @ -b`, so that it may become a difference."""
        for at, arg in enumerate(call.args):
            if isinstance(arg, ir.Call) and arg.fn == ir.NEG and self.floating(arg.args[0]):
                args = (*call.args[:at], arg.args[0], *call.args[at + 1 :])
                return ir.Call(ir.NEG, (ir.Call(call.fn, args, call.kwargs, call.at),))
        return call

    def _of_vectors(self, call: ir.Call) -> ir.Call:
        """`np.outer(a @ u, v)` for `a @ np.outer(u, v)`: no product of matrices is made."""
        for at, expr in enumerate(call.args):
            matrix = call.args[1 - at]
            outer = self._outer(expr)
            if outer is None or not self._is_matrix(matrix):
                continue
            if not isinstance(expr, ir.Call) and not all(map(_is_name, outer.vectors)):
                continue  # (what has a name is computed once)
            vectors = [*outer.vectors]
            vectors[1 - at] = _times(matrix, vectors[1 - at], first=at == 1)
            made = ir.Call(outer.fn, tuple(vectors))
            return made if outer.sign > 0 else ir.Call(ir.NEG, (made,))
        return call

    def _outer(self, expr: ir.Expr) -> _Outer | None:
        """What an expression, or the name of one, is as an outer product of vectors."""
        match self._behind(expr):
            case ir.Attribute(base, "T") if (found := self._outer(base)) is not None:
                return replace(found, vectors=found.vectors[::-1])
            case ir.Call(fn=fn, args=(inner,)) if fn == ir.NEG and (found := self._outer(inner)):
                return replace(found, sign=-found.sign)
            case ir.Call(ir.Ref(obj=np.outer) as fn, (u, v), ()) if all(
                len(self.axes.of(vector) or ()) == 1 for vector in (u, v)
            ):
                return _Outer(1, fn, (u, v))
        return None

    def _joined_outers(self, terms: list[Product]) -> list[Product]:
        """`np.outer(a - b, v)` for `np.outer(a, v) - np.outer(b, v)`."""
        flat = [each for term in terms for each in _within_brackets(term)]
        outers = [self._outer_term(term) for term in flat]
        places, joined = dict[tuple[int, ir.Expr], int](), False
        for at, found in enumerate(outers):
            for side in (0, 1):
                if found is None:
                    break
                first = places.setdefault((side, found.vectors[side]), at)
                before = outers[first]
                if first == at or before is None:
                    continue
                sums = [
                    _scaled(product_of(each.vectors[1 - side]), each.sign)
                    for each in (before, found)
                ]
                vectors = [before.vectors[side]] * 2
                vectors[1 - side] = build_sum(sums, self.floating)
                outers[first] = _Outer(1, found.fn, (vectors[0], vectors[1]))
                outers[at], joined = None, True
                flat[first] = Product(1, (ir.Call(found.fn, tuple(vectors)),))
                flat[at] = Product(0.0, ())
                break
        return [t for t in flat if t.factors or t.coefficient] if joined else terms

    def _outer_term(self, term: Product) -> _Outer | None:
        """The outer product that a term of a sum is, with a sign that is that of the term."""
        outer = self._outer(term.factors[0]) if len(term.factors) == 1 else None
        if outer is None or term.divisors or abs(term.coefficient) != 1:
            return None
        return replace(outer, sign=outer.sign * int(term.coefficient))

    def _product(self, call: ir.Call | ir.Index) -> ir.Expr:
        taken = self._cancelled(product_of(call))
        order = self._not_repeated(ordered(self._masked_once(self._narrow(taken))), call)
        if order is None:
            return call
        product = turned(order, self.floating)
        divided = product.divisors and all(is_number(d, self.facts) for d in product.divisors)
        unscaled = bool(product.factors) and product.coefficient in (1, -1)
        if unscaled and not (divided or self._has_float(product)):
            return call  # a literal that made the result floating may have gone
        new = build(product, self.floating)
        return call if new == call else new

    def _not_repeated(self, product: Product, whole: ir.Expr) -> Product | None:
        """`2 * x_dot * w` for `w * (2 * x_dot)` where `w` may be a list, which a number repeats, or
        one of small integers, whose product does not fit: nothing but what is floating comes to
        stand after a number, unless it did in the `whole`. None where nothing is."""
        if not product.factors or product.coefficient in (1, -1):
            return product
        first = product.factors[0]
        listed = isinstance(first, ir.Ref) and isinstance(first.obj, list | tuple | range)
        if self.floating(first) or (type(product.coefficient) is float and not listed):
            return product
        if any(first in _beside_numbers(part) for part in ir.walk(whole)):
            return product
        plain = next(filter(self.floating, product.factors), None)
        if plain is None:
            return None
        return replace(product, factors=(plain, *(f for f in product.factors if f is not plain)))

    def _cancelled(self, product: Product) -> Product:
        """`-0.5 / S` for `-0.5 * c / (c * S)`, c a number."""
        factors, divisors = list(product.factors), list[ir.Expr]()
        for divisor in product.divisors:
            inner = product_of(divisor)
            left = list(inner.factors)
            for factor in inner.factors if len(left) > 1 else ():
                if (
                    factor in factors
                    and is_number(factor, self.facts)
                    and is_pure(factor, self.facts)
                ):
                    factors.remove(factor)
                    left.remove(factor)
            same = len(left) == len(inner.factors)
            rest = replace(inner, factors=tuple(left))
            divisors.append(divisor if same else build(rest, self.floating))
        taken = self._without_same(Product(product.coefficient, tuple(factors), tuple(divisors)))
        return self._without_powers(taken)

    def _without_same(self, product: Product) -> Product:
        """`1.0 - s` for `s * (1.0 - s) / s`, with no other shape; 1.0 for `x.size / x.size`."""
        for at, factor in enumerate(product.factors):
            if factor not in product.divisors:
                continue
            rest = (*product.factors[:at], *product.factors[at + 1 :])
            named = isinstance(factor, ir.Var) and self.floating(factor)
            counts = isinstance(factor, ir.Attribute | ir.Var) and is_number(factor, self.facts)
            if counts or (named and any(self._has_shape_of(e, factor) for e in rest)):
                place = product.divisors.index(factor)
                divisors = (*product.divisors[:place], *product.divisors[place + 1 :])
                return Product(1.0 * product.coefficient, rest, divisors)
        return product

    def _without_powers(self, product: Product) -> Product:
        """`y / x` for `y / p * x**2`, where `p = x**3`."""
        for at, factor in enumerate(product.factors):
            match factor:
                case ir.Call(
                    ir.Ref(obj=operator.pow), (ir.Var() as x, ir.Const(int() | float() as n))
                ):
                    higher = n + 1
                case ir.Var() as x:
                    higher = 2
                case _:
                    continue
            whole = ir.Call(ir.POW, (x, ir.Const(higher)))
            factors = list(product.factors)
            for other, divided in enumerate(product.factors):
                less = self._over(divided, whole, x)
                if less is not None and other != at:
                    factors[other] = less
                    del factors[at]
                    return replace(product, factors=tuple(factors))
            for place, divisor in enumerate(product.divisors):
                if self._behind(divisor) == whole:
                    divisors = (*product.divisors[:place], x, *product.divisors[place + 1 :])
                    return Product(
                        product.coefficient, (*factors[:at], *factors[at + 1 :]), divisors
                    )
        return product

    def _over(self, expr: ir.Expr, whole: ir.Expr, x: ir.Expr) -> ir.Expr | None:
        """A product of which a factor is divided by x, where it was divided by `whole`."""
        match expr:
            case ir.Call(fn=fn, args=(a, b)) if fn == ir.DIV and self._behind(b) == whole:
                return replace(expr, args=(a, x))
            case ir.Call(fn=fn, args=(a, b)) if fn == ir.MUL:
                first, second = self._over(a, whole, x), self._over(b, whole, x)
                if first is not None:
                    return replace(expr, args=(first, b))
                return None if second is None else replace(expr, args=(a, second))
        return None

    def _sum(self, call: ir.Call) -> ir.Expr:
        terms = [t for t in terms_of(call) if not self._is_zero(t, call)]
        terms = _joined_branches([turned(term, self.floating) for term in terms], self.floating)
        terms = self._joined_outers(terms)
        if not terms:
            return call
        merged = merge_terms(terms, self._may_merge)
        if len(merged) > 1 and self.scaled:  # `t + 0.5 * x` is `1.0 * x`, where `t = 0.5 * x`
            fewer = merge_terms([*map(self._written_out, terms)], self._may_merge)
            merged = fewer if len(fewer) < len(merged) else merged
        if any(t.coefficient == 0 for t in merged):
            return call  # `e - e` is not a zero when e is infinite
        if not any(map(self._has_float, merged)):
            return call
        kept = [self._not_repeated(ordered(term), call) for term in merged]
        terms = [term for term in kept if term is not None]
        new = call if len(terms) < len(merged) else build_sum(terms, self.floating)
        return call if new == call else new

    @cached_property
    def transposes(self) -> dict[str, ir.Var]:
        """Names of transposed arrays, with what they are of."""
        function = self.function
        stmts = list(ir.statements(function.body))
        found: dict[str, ir.Var] = {}
        for stmt in stmts:
            match stmt:
                case ir.Assign(target=str(name), value=ir.Attribute(ir.Var(of) as base, "T")):
                    if self.facts.kind(of).form == "array":
                        found[name] = base
        count = ir.bindings(stmts, function.param_names) if found else {}
        return {n: base for n, base in found.items() if count[n] == count[base.name] == 1}

    @cached_property
    def defined(self) -> dict[str, ir.Call]:
        """Products, powers and choices that names stand for, as long as they are read."""
        function = self.function
        made = [
            stmt
            for stmt in function.body
            if isinstance(stmt, ir.Assign)
            and isinstance(stmt.target, str)
            and isinstance(stmt.value, ir.Call)
            and isinstance(stmt.value.fn, ir.Ref)
            and (stmt.value.fn in (ir.MUL, ir.NEG) or stmt.value.fn.obj in _LOOKED_THROUGH)
        ]
        stmts = list(ir.statements(function.body)) if made else []
        count = ir.bindings(stmts, function.param_names)
        found = dict[str, ir.Call]()
        for stmt in made:
            names = (str(stmt.target), *ir.names_in(stmt.value))
            if all(count[name] == 1 for name in names) and isinstance(stmt.value, ir.Call):
                found[names[0]] = stmt.value
        if not found:
            return found
        writes = frozenset().union(*(effect_of(s, self.facts).writes for s in stmts))
        return {n: v for n, v in found.items() if not self.meet((n, *ir.names_in(v)), writes)}

    @cached_property
    def scaled(self) -> dict[str, tuple[float, ir.Expr]]:
        """Temporaries that are a number times another name."""
        found: dict[str, tuple[float, ir.Expr]] = {}
        for name, value in self.defined.items():
            match value:
                case ir.Call(args=(ir.Const(float(by)), ir.Var() as x)) if value.fn == ir.MUL:
                    if name in self.facts.temporaries:
                        found[name] = by, x
        return found

    @cached_property
    def axes(self) -> AxesOf:
        return AxesOf(self.function, self.facts)

    def _behind(self, expr: ir.Expr) -> ir.Expr:
        """What an expression is, where it is the name of a product, a power or a choice."""
        return self.defined.get(expr.name, expr) if isinstance(expr, ir.Var) else expr

    def _written_out(self, term: Product) -> Product:
        for at, factor in enumerate(term.factors):
            if isinstance(factor, ir.Var) and factor.name in self.scaled:
                by, x = self.scaled[factor.name]
                factors = (*term.factors[:at], x, *term.factors[at + 1 :])
                return Product(term.coefficient * by, factors, term.divisors)
        return term

    def _may_merge(self, term: Product) -> bool:
        parts = (*term.factors, *term.divisors)
        return self._has_float(term) and all(is_pure(part, self.facts, True) for part in parts)

    def _is_zero(self, term: Product, whole: ir.Call) -> bool:
        """A zero that adds neither a value nor a shape."""
        if not term.factors and not term.divisors:
            return term.coefficient == 0 and isinstance(term.coefficient, float)
        if len(term.factors) != 1 or term.coefficient != 1 or term.divisors:
            return False
        factor = term.factors[0]
        if not _is_like(factor, _ZEROS) and not self._is_of_zeros(factor):
            return False
        shape = self.shapes.of(factor)
        others = [a for a in whole.args if a is not factor and a != factor]
        return shape is not None and any(self.shapes.of(a) == shape for a in others)

    def _is_of_zeros(self, expr: ir.Expr) -> bool:
        """Whether an expression is an array of zeros, or entries of one."""
        match expr:
            case ir.Var(name):
                return name in self.zeros
            case ir.Index(base, key):
                return self._is_of_zeros(base) and is_pure(key, self.facts, True)
            case ir.Call(fn=ir.Attribute(base, "copy"), args=()):
                return self._is_of_zeros(base)
        return False

    # --------------------------------------------------------------------- broadcasts

    def _narrow(self, product: Product) -> Product:
        """`broadcast_like(g, x) * e` is `g * e` and `ones_like(x) * e` is `e`, e shaped as x; and
        `np.full_like(x, c)[:, None] * e` is `c * e` where e has all its axes."""
        factors = list(product.factors)
        for factor in product.factors:
            filled = self._filled(factor)
            if filled is not None and self._covered(factor, factors):
                factors[factors.index(factor)] = filled[0]
                continue
            like = _spread_over(factor)
            if like is None:
                continue
            rest = list(factors)
            rest.remove(factor)
            if not any(self._has_shape_of(other, like) for other in rest):
                continue
            if not _is_like(factor, _ONES):
                assert isinstance(factor, ir.Call)
                factors[factors.index(factor)] = factor.args[0]
            elif any(map(self.floating, rest)):
                factors = rest
        if len(factors) == len(product.factors) and all(
            map(operator.is_, factors, product.factors)
        ):
            return product
        again = product_of(build(Product(1, tuple(factors)), self.floating))
        number = product.coefficient * again.coefficient
        return Product(number, again.factors, again.divisors + product.divisors)

    def _of_one_number(self, call: ir.Call) -> ir.Expr | None:
        """`c * x.size` for the sum of `np.full_like(x, c)`; `c * np.sum(v)` for its product with a
        vector; None of anything else."""
        match call:
            case ir.Call(fn=ir.Ref(text="@"), args=args):
                if any(len(self.axes.of(vector) or ()) != 1 for vector in args):
                    return None
                pairs = ((self._filled(one), other) for one, other in (args, args[::-1]))
                filled, rest = next((pair for pair in pairs if pair[0]), (None, call))
                times: ir.Expr = ir.Call(self.facts.numpy_function("sum"), (rest,))
            case ir.Call(args=(summed,), kwargs=()):
                filled = self._filled(summed)
                times = ir.Attribute(filled[1] if filled else call, "size")
            case _:
                return None
        if filled is None or not self.floating(filled[0]):
            return None
        if isinstance(times, ir.Attribute) and not isinstance(times.base, ir.Var):
            return None
        return self.expr(ir.Call(ir.MUL, (filled[0], times)))

    def _repeated(self, call: ir.Call) -> ir.Expr:
        """`[c] * len(xs)` for the list of `np.full_like(np.array(xs), c)`, xs a list of floats."""
        number, like = self._filled(call.args[0]) or (_ZERO, None)
        match like:
            case ir.Call(fn=ir.Ref(obj=np.array | np.asarray), args=(ir.Var(xs) as of,), kwargs=()):
                item = self.facts.kind(xs).whole_item
                alone = is_number(number, self.facts)  # (an array would be each of the items)
                if item is not None and item.rank == 0 and alone and self.floating(number):
                    one = ir.Display("list", (number,))
                    return ir.Call(ir.MUL, (one, ir.Call(ir.LEN, (of,))))
        return call

    def _filled(self, expr: ir.Expr) -> tuple[ir.Expr, ir.Expr] | None:
        """The number c that every entry of `np.full_like(x, c)` is, and of parts of that, with x;
        `c / n` and `c * n`, which every entry of that divided by or times a number is."""
        match expr:
            case ir.Call(fn=fn, args=factors) if fn == ir.MUL:
                spread = next(filter(None, map(self._filled, factors)), None)
                numbers = [self.shapes.of(factor) == NUMBER for factor in factors]
                if spread is None or sum(numbers) != 1:
                    return None
                return ir.Call(ir.MUL, (spread[0], factors[numbers.index(True)])), spread[1]
            case ir.Call(fn=fn, args=(over, under)) if (
                fn == ir.DIV and self.shapes.of(under) == NUMBER
            ):
                found = self._filled(over)
                return found and (ir.Call(ir.DIV, (found[0], under)), found[1])
            case ir.Call(args=(like,), kwargs=()) if _is_like(expr, _ONES):
                return ir.Const(1.0), like
            case ir.Index(base, key) if set(key_parts(key)) <= {ir.Const(None), ir.Slice()}:
                return self._filled(base)
            case ir.Call(fn=ir.Ref(obj=obj), args=(like, number), kwargs=()):
                full = numpy_name(obj) == "full_like" and self.shapes.of(number) == NUMBER
                return (number, like) if full else None
        return None

    def _covered(self, factor: ir.Expr, factors: list[ir.Expr]) -> bool:
        """Whether one of the other factors has the shape of its product with this one."""
        others = [other for other in factors if other is not factor]
        return any(self._has_shape_of(ir.Call(ir.MUL, (factor, e)), e) for e in others)

    def _chosen(self, call: ir.Call) -> ir.Call:
        """`np.where(m, 2.0, 0.0)` for `np.where(m, np.full_like(x, 2.0), 0.0)`, m shaped as x."""
        args = list(call.args)
        for at, arg in enumerate(args[1:], 1):
            filled, like = self._filled(arg), _spread_over(arg)
            if filled is not None and self._has_shape_of(args[0], arg):
                args[at] = self.expr(filled[0])
            elif like is not None and self._has_shape_of(args[0], like):
                assert isinstance(arg, ir.Call)
                args[at] = ir.Const(1.0) if _is_like(arg, _ONES) else arg.args[0]
        return call if args == [*call.args] else replace(call, args=tuple(args))

    def _masked_once(self, product: Product) -> Product:
        """`np.where(m, a * b, 0.0)` for `np.where(m, a, 0.0) * np.where(m, b, 0.0)`; also where
        the zeros come first."""
        factors, masked = list(product.factors), dict[tuple[ir.Expr, int], int]()
        for at, factor in enumerate(product.factors):
            match self._behind(factor):
                case ir.Call(ir.Ref(obj=np.where), (mask, *chosen), ()) if len(chosen) == 2:
                    side = 1 if chosen[1] == _ZERO else 2 if chosen[0] == _ZERO else 0
                case _:
                    continue
            first = masked.setdefault((mask, side), at) if side else at
            before = self._behind(factors[first])
            if first < at and isinstance(before, ir.Call):
                both = self.expr(ir.Call(ir.MUL, (before.args[side], chosen[side - 1])))
                new = (mask, both, _ZERO) if side == 1 else (mask, _ZERO, both)
                factors[first] = replace(before, args=new)
                factors.remove(factor)
        return (
            product
            if len(factors) == len(product.factors)
            else replace(product, factors=tuple(factors))
        )

    def _has_shape_of(self, expr: ir.Expr, like: ir.Expr) -> bool:
        shape = self.shapes.of(like)
        return shape is not None and self.shapes.of(expr) == shape

    def _helper(self, call: ir.Call, name: str) -> ir.Expr:
        if name not in ("unbroadcast", "broadcast_like") or len(call.args) != 2 or call.kwargs:
            return call
        inner, like = call.args
        if isinstance(like, ir.Var) and like.name in self.kept_for_shape:
            like = ir.Var(self.sized[like.name])
            call = replace(call, args=(inner, like))
        if is_number(inner, self.facts) and is_number(like, self.facts):
            return inner if self._stays_real(inner, like) else call
        if name == "unbroadcast" and is_number(like, self.facts) and self._stays_real(inner, like):
            return ir.Call(self.facts.numpy_function("sum"), (inner,))
        if _is_known(inner) and runtime_name(inner.fn.obj) == name:  # type: ignore[union-attr]
            within, other = inner.args  # type: ignore[union-attr]
            if other == like:
                return inner
            if name == "broadcast_like" and self._has_shape_of(like, other):
                return ir.Call(call.fn, (within, like), (), call.at)
        if name == "unbroadcast" and _is_known(inner) and inner.fn == ir.NEG:  # type: ignore[union-attr]
            (positive,) = inner.args  # type: ignore[union-attr]
            if self.floating(positive):
                return ir.Call(ir.NEG, (ir.Call(call.fn, (positive, like), (), call.at),))
        return call

    def _stays_real(self, inner: ir.Expr, like: ir.Expr) -> bool:
        """Whether no imaginary part of `inner` has to go because `like` is real."""
        complex_ = isinstance(like, ir.Var) and self.facts.kind(like.name).dtype == "complex"
        return self.facts.real or complex_ or self.real.covers(inner)


def _joined_branches(terms: list[Product], floating: Predicate) -> list[Product]:
    """`np.where(m, a, 0.5 * b)` for `np.where(m, a, 0.0) + 0.5 * np.where(m, 0.0, b)`."""
    taken: dict[ir.Expr, tuple[int, ir.Call, ir.Expr]] = {}
    out: list[Product] = []
    for term in terms:
        match term:
            case Product(number, (ir.Call(ir.Ref(obj=np.where), (mask, a, b)) as call,), ()):
                first = ir.Const(0.0) == b
                value = a if first else b
                if first == (ir.Const(0.0) == a):
                    out.append(term)
                    continue
                scaled = build(_scaled(product_of(value), number), floating)
                at, before, other = taken.pop(mask, (-1, call, ir.Const(0.0)))
                if at < 0 or (before.args[2] == ir.Const(0.0)) == first:
                    taken[mask] = (len(out), call, scaled)
                    out.append(term)
                else:
                    both = (mask, scaled, other) if first else (mask, other, scaled)
                    out[at] = Product(1, (replace(before, args=both),))
            case _:
                out.append(term)
    return out


@dataclass(frozen=True)
class _Outer:
    """The outer product of two vectors, with a sign."""

    sign: int
    fn: ir.Ref
    vectors: tuple[ir.Expr, ir.Expr]


def _is_name(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Var)


def _times(matrix: ir.Expr, vector: ir.Expr, first: bool) -> ir.Expr:
    """The product of a vector and a matrix, which may come first."""
    if not first and isinstance(matrix, ir.Attribute):  # (`a @ v` for `v @ a.T`)
        matrix, first = matrix.base, True
    return ir.Call(ir.MATMUL, (matrix, vector) if first else (vector, matrix))


def _within_brackets(term: Product) -> list[Product]:
    """The terms of `-(a + b)`."""
    inner = terms_of(term.factors[0]) if len(term.factors) == 1 and not term.divisors else []
    if len(inner) < 2 or abs(term.coefficient) != 1:
        return [term]
    return [_scaled(each, term.coefficient) for each in inner]


def _scaled(product: Product, number: float) -> Product:
    return replace(product, coefficient=product.coefficient * number)


def names_touched(stmt: ir.Stmt) -> frozenset[str]:
    """The names that a statement itself reads or binds."""
    return ir.reads(stmt).union(ir.binds(stmt))


def zeroed(stmt: ir.Stmt) -> ir.Expr | None:
    """The place that a statement of ours sets to zero."""
    if not stmt.origin.is_derived:
        return None
    match stmt:
        case ir.Assign(target=str(name), value=ir.Const(value)):
            return ir.Var(name) if type(value) is float and value == 0.0 else None
        case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(),))):
            zeros = (runtime_name(obj) or numpy_name(obj)) == "zeros_like"
            return ir.Var(name) if zeros else None
        case ir.Store(target=ir.Index(base=ir.Var()) as place, value=ir.Const(value)):
            return place if type(value) is float and value == 0.0 else None
        case _:
            return None


def _spread_over(expr: ir.Expr) -> ir.Expr | None:
    """The x whose shape `broadcast_like(g, x)` or `ones_like(x)` takes on."""
    if not isinstance(expr, ir.Call) or not isinstance(expr.fn, ir.Ref):
        return None
    if runtime_name(expr.fn.obj) == "broadcast_like" and len(expr.args) == 2:
        return expr.args[1]
    return expr.args[0] if _is_like(expr, _ONES) and len(expr.args) == 1 else None


def without_axes(expr: ir.Expr, key: ir.Expr) -> ir.Expr | None:
    """`np.sum(e, axis=1)` for `np.sum(e, axis=1, keepdims=True)[:, 0]`, also where it is negated;
    None for anything else."""
    match expr:
        case ir.Call(fn=fn, args=(inner,)) if fn == ir.NEG:
            found = without_axes(inner, key)
            return None if found is None else ir.Call(ir.NEG, (found,))
        case ir.Call(
            fn=ir.Ref(obj=obj), args=(_,), kwargs=(("axis", axis), ("keepdims", keep))
        ) if numpy_name(obj) == "sum":
            parts = key.items if isinstance(key, ir.Display) and key.form == "tuple" else (key,)
            if keep != ir.Const(True) or not set(parts) <= {ir.Const(0), ir.Slice()}:
                return None
            taken = [ir.Const(at) for at, part in enumerate(parts) if part == ir.Const(0)]
            summed = axis.items if isinstance(axis, ir.Display) else (axis,)
            return ir.Call(expr.fn, expr.args, (("axis", axis),)) if [*summed] == taken else None
    return None


_FOLD = of_facts(_Fold)


def _contents(stmt: ir.Stmt) -> Iterator[str]:
    """The names that a statement reads, each as often as more than its shape is asked for."""

    def asked(expr: ir.Expr) -> Iterator[str]:
        match expr:
            case ir.Var(name):
                yield name
            case ir.Call(fn=ir.Ref(obj=obj), args=(inner, ir.Var()), kwargs=()) if runtime_name(
                obj
            ) in ("unbroadcast", "broadcast_like"):
                yield from asked(inner)
            case _:
                for part in ir.children(expr):
                    yield from asked(part)

    for expr in ir.expressions(stmt):
        yield from asked(expr)


def _without_copy(value: ir.Expr) -> ir.Expr:
    """What a copy is of, or a part of a copy."""
    match value:
        case ir.Call(fn=ir.Attribute(base, "copy"), args=(), kwargs=()):
            return base
        case ir.Index(base, key) if (inner := _without_copy(base)) is not base:
            return ir.Index(inner, key, value.at)
    return value


def _is_settled(items: tuple[ir.Expr, ...]) -> bool:
    """Whether it is written out what stands where (there are no starred items)."""
    return not any(isinstance(item, ir.Opaque) for item in items)


def _is_known(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Ref)


def _is_like(expr: ir.Expr, names: tuple[str, ...]) -> bool:
    if not isinstance(expr, ir.Call) or not isinstance(expr.fn, ir.Ref) or not expr.args:
        return False
    return (runtime_name(expr.fn.obj) or numpy_name(expr.fn.obj)) in names


def _beside_numbers(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    """What a number stands before, or after."""
    if isinstance(expr, ir.Call) and expr.fn == ir.MUL and any(map(is_literal, expr.args)):
        return expr.args
    return ()
