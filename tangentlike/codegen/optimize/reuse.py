"""Adjoints and tangents in the memory of arrays that nothing reads any more (`reuse=True`).

A new array of 128 KiB or more costs more than what is computed into it: its pages are new to the
process each time. `x_bar = z_bar * g / s`, where nothing reads `z_bar` afterwards, is computed in
the memory of `z_bar`:

    z_bar *= g
    x_bar = np.divide(z_bar, s, out=z_bar)

The same operations in the same order, so that results are the same to the last bit.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ... import ir
from ...ir.facts import fact
from ...ir.index import references
from ...ir.kind import is_named
from ...ir.nodes import SHAPE_ATTRIBUTES
from ...pytree import leaves
from .accumulate import may_be_complex, names_of_their_own
from .analyses import Analyses
from .effects import expr_effect
from .facts import Facts, is_entrywise, words
from .shapes import AxesOf
from .sharing import gives_type, is_float
from .updates import UPDATES

_FUNCTIONS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "**": "power"}


@dataclass(frozen=True)
class Chain:
    """Elementwise operations that are computed into one array that is dead: each is an argument of
    the one before, and the array is one of the last."""

    dead: ir.Var
    calls: tuple[ir.Call, ...] = ()


def reuse_buffers(function: ir.Function, facts: Facts) -> ir.Function:
    """Compute adjoints and tangents in the memory of arrays that are dead.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.ir.kind import Kind
    >>> from .facts import derived
    >>> f = derived(program("z_bar = 2.0 * z; x_bar = z_bar / (1.0 - z); return x_bar"))
    >>> z = Kind("array", "float", ("n",))
    >>> print(show(reuse_buffers(f, Facts(kinds={"z": z}, floating=frozenset(["z_bar"]))).body))
    z_bar = 2.0 * z
    x_bar = np.divide(z_bar, 1.0 - z, out=z_bar)
    return x_bar
    """
    if facts.foreign or may_be_complex(function, facts) or not of_doubles(function):
        return function
    return _Reuse(function, facts).made()


class _Reuse:
    def __init__(self, function: ir.Function, facts: Facts) -> None:
        known = Analyses(function, facts)
        self.function = function
        self.facts = facts
        self.live = known.live
        self.own = names_of_their_own(function, facts) - known.pinned
        self.axes = AxesOf(function, facts)

    def made(self) -> ir.Function:
        return ir.with_body(self.function, ir.rewrite(self.function.body, self._statements))

    def _statements(self, stmt: ir.Stmt) -> ir.Instead:
        """What stands for a statement: what is computed into dead arrays stands before it, but for
        the whole value of another name."""
        if not stmt.origin.is_derived or ir.is_compound(stmt):
            return None
        done: list[ir.Stmt] = []
        new = stmt
        while (chain := self._longest(new, stmt)) is not None:
            outer, dead = chain.calls[0], chain.dead
            named = isinstance(new, ir.Assign) and new.value is outer and new.target != dead.name
            value: ir.Expr = dead
            for call, args in _steps(chain):
                if named and call is outer and not _is_power(call, args, dead):
                    value = self._into(call.fn, args, dead)
                else:
                    done.append(self._statement(call, args, dead, stmt.origin))
            new = ir.map_statement(new, functools.partial(_replaced, old=outer, new=value))
            if isinstance(new, ir.Assign) and new.target == dead.name and new.value == dead:
                return done
        return None if new is stmt else (*done, new)

    def _statement(
        self, call: ir.Call, args: tuple[ir.Expr, ...], dead: ir.Var, origin: ir.Origin
    ) -> ir.Stmt:
        """An operation into one of its arguments, as a statement."""
        assert isinstance(call.fn, ir.Ref)
        if call.fn.text in ("+", "*") and args[-1] == dead:
            args = args[::-1]  # (the same to the last bit)
        if call.fn.text in _FUNCTIONS and len(args) == 2 and args[0] == dead:
            return ir.Update(dead, UPDATES[call.fn.text], args[1], origin)
        return ir.Do(self._into(call.fn, args, dead), origin)

    def _into(self, fn: ir.Expr, args: tuple[ir.Expr, ...], dead: ir.Var) -> ir.Expr:
        assert isinstance(fn, ir.Ref)
        name = "negative" if fn == ir.NEG else _FUNCTIONS.get(fn.text)
        function = fn if name is None else self.facts.numpy_function(name)
        return ir.Call(function, args, (("out", dead),))

    # ------------------------------------------------------------------- where it can be done

    def _longest(self, stmt: ir.Stmt, before: ir.Stmt) -> Chain | None:
        """The most operations of a statement that can be computed into the same dead array."""
        if not isinstance(stmt, ir.Assign | ir.Store | ir.Update | ir.Return | ir.Do):
            return None
        if stmt.value is None or not all(map(self._is_silent, ir.expressions(before))):
            return None
        read = Counter(name for expr in ir.expressions(stmt) for name in _entries_read(expr))
        kept = self.live.after(before) & ~self.live.mask(ir.binds(before))
        dead = {n for n in read if n in self.own and not self.live.mask([n]) & kept}
        found = (self._chain(part, dead, read) for part in _at_once(stmt.value))
        return max(filter(None, found), key=lambda chain: len(chain.calls), default=None)

    def _is_silent(self, expr: ir.Expr) -> bool:
        return expr_effect(expr, self.facts, True).silent

    def _chain(self, expr: ir.Expr, dead: Collection[str], read: Mapping[str, int]) -> Chain | None:
        """The longest one that begins with the operation of an expression."""
        shape = self.axes.of(expr) if _is_elementwise(expr) else None
        if not shape or not all(map(is_named, shape)):
            return None
        assert isinstance(expr, ir.Call)
        best: Chain | None = None
        for arg in expr.args:
            if self.axes.of(arg) != shape:
                continue
            if not isinstance(arg, ir.Var):
                inner = self._chain(arg, dead, read)
            else:
                free = arg.name in dead and is_float(arg, self.facts)
                here = free and [*_entries_read(expr)].count(arg.name) == read[arg.name]
                inner = Chain(arg) if here else None  # (arguments are computed before the call)
            if inner is not None and (best is None or len(inner.calls) >= len(best.calls)):
                best = Chain(inner.dead, (expr, *inner.calls))
        return best


def _is_elementwise(expr: ir.Expr) -> bool:
    """Whether it is an operation that computes floats of floats, entry by entry."""
    if not isinstance(expr, ir.Call) or not isinstance(expr.fn, ir.Ref) or expr.kwargs:
        return False
    fn, count = expr.fn, len(expr.args)
    if fn == ir.NEG or (fn.text in _FUNCTIONS and count == 2):
        return True
    return is_entrywise(fn.obj) and count == fn.obj.nin and gives_type(fn.obj)


def _entries_read(expr: ir.Expr) -> Iterator[str]:
    """The names of which an expression reads more than their shapes, as often as it does."""
    if isinstance(expr, ir.Var):
        yield expr.name
    elif not (isinstance(expr, ir.Attribute) and expr.name in SHAPE_ATTRIBUTES):
        for part in ir.children(expr):
            yield from _entries_read(part)


def _steps(chain: Chain) -> Iterator[tuple[ir.Call, tuple[ir.Expr, ...]]]:
    """The operations of a chain, the innermost first, and their arguments once those before are
    computed."""
    before: ir.Expr | None = None
    for call in reversed(chain.calls):
        yield call, tuple(chain.dead if arg is before else arg for arg in call.args)
        before = call


def _is_power(call: ir.Call, args: tuple[ir.Expr, ...], dead: ir.Var) -> bool:
    """Whether it is `x ** 2`, which is a multiplication and `np.power` is not."""
    return isinstance(call.fn, ir.Ref) and call.fn.text == "**" and args[0] == dead


def _at_once(expr: ir.Expr) -> Iterator[ir.Expr]:
    """The parts of an expression that are computed whenever it is."""
    yield expr
    if not isinstance(expr, ir.Lazy | ir.Opaque):
        for part in ir.children(expr):
            yield from _at_once(part)


def _replaced(expr: ir.Expr, old: ir.Expr, new: ir.Expr) -> ir.Expr:
    if expr is old:
        return new
    return ir.rebuild(expr, functools.partial(_replaced, old=old, new=new))


# --------------------------------------------------------------------------------------------------
# Whether all floats are doubles, where those of the arguments are: a buffer of narrower ones would
# round what is computed into it.

_NARROW = frozenset(np.dtype(c) for c in "efg")
_NAMES_OF_NARROW = frozenset(
    name for dtype in _NARROW for name in (dtype.name, dtype.char, dtype.str, dtype.str[1:])
) | words("half single longdouble")


def of_doubles(function: ir.Function) -> bool:
    """Whether a function that is given doubles computes no other floats: it names no other dtype,
    and no array of another. (Of what a function without a rule gives, no shape is known.)"""
    if not all(_gives_doubles(ref.obj) for ref in fact(references, function)):
        return False
    every = ir.walk_block(function.body)
    return not any(isinstance(p, ir.Const) and p.value in _NAMES_OF_NARROW for p in every)


def _gives_doubles(obj: object) -> bool:
    if isinstance(obj, np.dtype) or (isinstance(obj, type) and issubclass(obj, np.generic)):
        return np.dtype(obj) not in _NARROW
    return leaves.are_doubles(obj)
