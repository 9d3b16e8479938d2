"""What is computed once and read again: values that a program works out twice.

cos_t = np.cos(t)                         cos_t = np.cos(t)
s_dot = np.cos(t) * t_dot       becomes   s_dot = cos_t * t_dot

x_bar = y_bar / b                         x_bar = y_bar / b
b_bar = -y_bar * (y / b)        becomes   b_bar = -x_bar * y
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property

from ... import ir
from ...rules import iterator_programs
from ...rules.index_kinds import key_parts
from .algebra import Product, build, product_of
from .analyses import Asking
from .effects import Effect, effect_of, expr_effect
from .facts import Facts, numpy_name, runtime_name, words
from .sharing import is_float, sources


def share_values(function: ir.Function, facts: Facts) -> ir.Function:
    """Read what has a name where it is computed again; if it gets the name later, earlier.

    >>> import numpy as np
    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> text = "s_dot = np.cos(t) * t_dot; c = np.cos(t); return s_dot, c"
    >>> f = derived(program(text, {"np": np}))
    >>> print(show(share_values(f, Facts()).body))
    c = np.cos(t)
    s_dot = c * t_dot
    return s_dot, c
    >>> f = derived(program("a_bar = y_bar / b; b_bar = -y_bar * (y / b); return a_bar, b_bar"))
    >>> facts = Facts(floating=frozenset(["a_bar", "y_bar"]))
    >>> print(show(share_values(f, facts).body))
    a_bar = y_bar / b
    b_bar = -a_bar * y
    return a_bar, b_bar
    """
    return _Sharing(function, facts).rewritten(function)


# Cheap to make again, and objects of their own: what is `repeatable` keeps what one loop takes.
_MADE = words(
    "zeros_like ones_like full_like empty_like zeros ones full empty eye arange array copy shape "
    "ndim size expand_dims repeatable live_items first_items"
)


# The modules of functions to which iterators may be given, which leave nothing to a second call.
_TAKING = ("builtins", "itertools", "functools", iterator_programs.__name__)


@ir.of_node
def _calls(stmt: ir.Stmt) -> tuple[ir.Call, ...]:
    """The calls of functions with a name that a statement surely makes."""
    return tuple(call for expr in ir.expressions(stmt) for call in _made(expr))


# Of arrays, what is called as a method is the same as the function.
_REDUCTIONS = words("sum mean var std prod max min")


def _made(expr: ir.Expr) -> Iterator[ir.Call]:
    if isinstance(expr, ir.Lazy | ir.Opaque):
        return
    match expr:
        case ir.Call(fn=ir.Ref(text=text), args=(_, *_)):
            if text.replace(".", "").isidentifier() or _is_difference(expr):
                yield expr
        case ir.Call(fn=ir.Attribute(ir.Var(), name)) if name in _REDUCTIONS:
            yield expr
    for part in ir.children(expr):
        yield from _made(part)


def _is_difference(expr: ir.Expr) -> bool:
    """Whether it is `x - m` of two names: of arrays, their deviations."""
    match expr:
        case ir.Call(ir.Ref(obj=operator.sub), (ir.Var(), ir.Var())):
            return True
    return False


def _called(call: ir.Call) -> ir.Expr | str:
    """What is called, of reductions the name."""
    name = call.fn.name if isinstance(call.fn, ir.Attribute) else ""
    if isinstance(call.fn, ir.Ref):
        name = numpy_name(call.fn.obj) or ""
    return name if name in _REDUCTIONS else call.fn


class _Sharing(Asking):
    """`reads`: temporaries for entries of what nothing writes, and those; `again`: the values that
    are computed more than once, each without such names."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        super().__init__(function, facts)
        stmts = [*ir.statements(function.body)]
        calls = [call for stmt in stmts for call in _calls(stmt)]
        self.again: set[ir.Expr] = set()
        self.reads: dict[str, ir.Expr] = {}
        if facts.by_identity or len(set(map(_called, calls))) == len(calls):
            return
        self.reads = {
            stmt.target: stmt.value
            for stmt in stmts
            if isinstance(stmt, ir.Assign) and isinstance(stmt.target, str)
            if self._is_read(stmt.target, stmt.value)
        }
        count = Counter(map(self._whole, calls))
        self.again = {call for call, times in count.items() if times > 1 and self._costs(call)}

    @cached_property
    def bound(self) -> Counter[str]:
        """How often names are bound."""
        return ir.bindings(ir.statements(self.function.body), self.function.param_names)

    def _is_read(self, name: str, value: ir.Expr) -> bool:
        match value:
            case ir.Index(ir.Var(base), key) if name in self.facts.temporaries:
                plain = all(isinstance(part, ir.Const | ir.Slice) for part in key_parts(key))
                once = self.bound[name] == self.bound[base] == 1 and not ir.names_in(key)
                return plain and once and not self.sharing.is_written(base)
        return False

    def _whole(self, call: ir.Expr) -> ir.Expr:
        """A call with entries in place of the names that they have, reductions as functions with
        their options by name."""
        match call:
            case ir.Call(ir.Attribute(ir.Var(name) as base, method), args, kwargs, at) if (
                method in _REDUCTIONS and self.facts.kind(name).form == "array"
            ):
                call = ir.Call(self.facts.numpy_function(method), (base, *args), kwargs, at)
        match call:
            case ir.Call(ir.Ref(obj=obj) as fn, (array, axis), kwargs, at) if (
                numpy_name(obj) in _REDUCTIONS
            ):
                call = ir.Call(fn, (array,), (("axis", axis), *kwargs), at)
        if self.reads.keys().isdisjoint(ir.names_in(call)):
            return call
        return ir.substitute(call, self.reads)

    def _costs(self, call: ir.Expr) -> bool:
        """Whether a call computes a new value that is worth a name."""
        if not isinstance(call, ir.Call) or not isinstance(call.fn, ir.Ref):
            return False
        if _is_difference(call):
            return any(self.facts.kind(name).form == "array" for name in ir.names_in(call))
        if (runtime_name(call.fn.obj) or numpy_name(call.fn.obj)) in _MADE:
            return False
        if getattr(call.fn.obj, "__module__", None) in _TAKING:
            return False
        silent = expr_effect(call, self.facts, True).silent
        return silent and not sources(call, self.facts, True)

    def block(self, block: ir.Block) -> ir.Block:
        out = [self.nested(stmt) for stmt in block]
        for at in range(len(out)):
            match out[at]:
                case ir.Assign(target=str(name), value=ir.Call() as value) as stmt:
                    whole = self._whole(value) if self.again else value
                    if whole in self.again and self._is_settled(name):
                        self._share(at, stmt, whole, out)
                    elif value.fn == ir.DIV and stmt.origin.role == "adjoint":
                        self._share_quotient(at, name, value, out)
        return ir.unless_same(out, block)

    def _is_settled(self, name: str) -> bool:
        """Whether a name stands for one value, which nothing writes."""
        return (
            self.bound[name] == 1 and name not in self.pinned and not self.sharing.is_written(name)
        )

    def _share(self, at: int, stmt: ir.Assign, whole: ir.Expr, out: list[ir.Stmt]) -> None:
        """Compute a value where it is computed first, and read it from there on."""
        read, name, first = expr_effect(whole, self.facts, True), str(stmt.target), at
        for earlier in reversed(range(at)):
            if self._changes(out[earlier], read):
                break
            if not ir.is_compound(out[earlier]) and whole in map(self._whole, _calls(out[earlier])):
                first = earlier
        if first < at:
            del out[at]
            out.insert(first, ir.Assign(name, whole, stmt.origin))

        named = functools.partial(self._named, whole=whole, name=name)
        self._rewrite(first + 1, named, name, read, out)

    def _named(self, expr: ir.Expr, whole: ir.Expr, name: str) -> ir.Expr:
        """An expression that reads the name of a value in place of computing it."""
        if isinstance(expr, ir.Call) and self._whole(expr) == whole:
            return ir.Var(name)
        return ir.rebuild(expr, lambda part: self._named(part, whole, name))

    def _share_quotient(self, at: int, name: str, quotient: ir.Call, out: list[ir.Stmt]) -> None:
        over, under = quotient.args
        read = expr_effect(quotient, self.facts, True)
        if isinstance(over, ir.Var) and read.silent and name not in read.reads:

            def replaced(expr: ir.Expr) -> ir.Expr:
                return self._divided(expr, name, over.name, under)

            self._rewrite(at + 1, replaced, name, read, out, over.name)

    def _changes(self, stmt: ir.Stmt, read: Effect, name: str = "") -> bool:
        """Whether a statement changes a value that is read so, or what a name stands for; or what
        happens where it is computed."""
        if isinstance(stmt, ir.Enter | ir.Leave):
            return True
        effect = effect_of(stmt, self.facts)
        parts = sorted(read.content | {name}) if name else read.content
        return not effect.binds.isdisjoint(read.reads | {name}) or self.meet(parts, effect.writes)

    def _rewrite(
        self,
        start: int,
        replaced: Callable[[ir.Expr], ir.Expr],
        name: str,
        read: Effect,
        out: list[ir.Stmt],
        of: str = "",
    ) -> None:
        """Rewrite the statements (those that read a name, if one is given) up to the first that
        changes the value or what it is of."""
        for at in range(start, len(out)):
            stmt = out[at]
            changes = self._changes(stmt, read, name)
            if ir.is_compound(stmt) and changes:
                return
            if not of or ir.is_compound(stmt) or of in ir.reads(stmt):
                (out[at],) = ir.rewrite((stmt,), after=lambda s: self._reading(s, replaced, name))
            if changes:
                return

    def _reading(self, stmt: ir.Stmt, replaced: Callable[[ir.Expr], ir.Expr], name: str) -> ir.Stmt:
        """A statement of ours that reads the name; itself where that would make the value known
        by another name that is written."""
        if not isinstance(stmt, ir.Assign | ir.Update | ir.Store):
            return stmt
        target = getattr(stmt.target, "name", stmt.target)
        if not stmt.origin.is_derived and target not in self.facts.temporaries:
            return stmt
        new = ir.map_statement(stmt, expr=replaced)
        assert isinstance(new, ir.Assign | ir.Update | ir.Store)
        if new.value == ir.Var(name) and isinstance(target, str):
            return new if self._is_settled(target) else stmt
        return stmt if self._is_or_views(new.value, name) else new

    def _is_or_views(self, expr: ir.Expr, name: str) -> bool:
        """Whether a value may be what the name stands for, or hold or view it."""
        match expr:
            case ir.Var(other):
                return other == name
            case ir.Index(base, _) | ir.Attribute(base, _):
                return self._is_or_views(base, name)
            case ir.Call(fn=ir.Ref(text=text) as fn) if self.facts.fresh(fn) or not (
                text.replace(".", "").isidentifier()
            ):
                return False
        return any(self._is_or_views(part, name) for part in ir.children(expr))

    def _divided(self, expr: ir.Expr, name: str, over: str, under: ir.Expr) -> ir.Expr:
        """`over * (y / under)` as `name * y`."""
        if isinstance(expr, ir.Call) and expr.fn in (ir.MUL, ir.NEG):
            product = product_of(expr)
            for at, factor in enumerate(product.factors):
                match factor:
                    case ir.Call(fn=fn, args=(y, below)) if fn == ir.DIV and below == under:
                        if ir.Var(over) in product.factors:
                            factors = list(product.factors)
                            factors[at] = y
                            factors[factors.index(ir.Var(over))] = ir.Var(name)
                            shared = Product(product.coefficient, tuple(factors), product.divisors)
                            return build(shared, lambda e: is_float(e, self.facts))
        return ir.rebuild(expr, lambda part: self._divided(part, name, over, under))
