"""The functions of a derivative in the few words of NumPy that Numba takes otherwise.

Most of what Numba lacks has a form in `functions`, so that the text stays as it is. Here are the
universal functions, of which Numba makes chains of its own: `np.matmul(a, b)` is `a @ b`, an
`out=` stands by position, and `np.add.at` and its like are functions of ours.
"""

from __future__ import annotations

import dataclasses
import operator
import types
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .. import ir, runtime
from ..ad.normalize.shadow_calls import has_shadow
from ..codegen.optimize.dead import remove_dead_code
from ..codegen.optimize.facts import Facts
from ..errors import UnsupportedError
from ..frontend.resolve import Scope
from ..ir.facts import fact
from ..ir.index import ProgramIndex
from ..rules.book import RuleBook
from .compiling import compiled, numba_module
from .recursion import tapes_in_lists
from .short_arrays import short_arrays_as_loops
from .stacks import stacks_as_arrays

_TESTS = frozenset(
    (operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt, operator.not_)
)
_S = TypeVar("_S", bound=ir.Stmt)


def lowered(
    functions: Sequence[ir.Function],
    scopes: Mapping[str, Scope],
    facts: Mapping[str, Facts],
    book: RuleBook,
) -> tuple[ir.Function, ...]:
    """The functions as Numba takes them, each with `@compiled` above it; `scopes` are those that
    they are read in, and `facts` what is known of their parameters, by their names."""
    numba_module()
    by_identity = any(map(has_shadow, functions))  # (arrays stay the objects that they are)
    made = []
    functions = [_without_decided_branches(fn, facts[fn.name]) for fn in functions]
    for fn in tapes_in_lists(functions, facts, book):
        fn = stacks_as_arrays(fn, facts[fn.name], book, of_arrays=not by_identity)
        if not by_identity:
            fn = short_arrays_as_loops(fn, facts[fn.name], book)
        made.append(_Lowering(scopes[fn.name]).function(fn))
    return tuple(made)


def _without_decided_branches(fn: ir.Function, facts: Facts) -> ir.Function:
    """A function without the branches that constants decide: Numba drops these, and would not know
    of what a list is that they alone fill."""
    made = _Decided(fn).rewritten(fn)
    return fn if made is fn else remove_dead_code(made, facts)


class _Decided(ir.Rewriter):
    """The branches of one function, of which some names are constants."""

    def __init__(self, fn: ir.Function) -> None:
        index = fact(ProgramIndex, fn)
        once = (index.statements[at[0]] for at in index.definitions.values() if len(at) == 1)
        assigned = (stmt for stmt in once if isinstance(stmt, ir.Assign))
        self.known = {
            s.target: s.value
            for s in assigned
            if isinstance(s.value, ir.Const) and isinstance(s.value.value, int | float)
            if s.target not in fn.param_names
        }

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        if type(stmt) is not ir.If:
            return None
        test = self._constant(stmt.test)
        return None if test is None else self.block(stmt.body if test.value else stmt.orelse)

    def _constant(self, expr: ir.Expr) -> ir.Const | None:
        match expr:
            case ir.Const():
                return expr
            case ir.Var(name):
                return self.known.get(name)
            case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=()) if obj in _TESTS:
                values = [value for arg in args if (value := self._constant(arg)) is not None]
                whole = len(values) == len(args)
                return ir.Const(obj(*(v.value for v in values))) if whole else None
        return None


class _Lowering(ir.Rewriter):
    """One function's expressions."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._derived = False  # whether the statement is ours

    def function(self, fn: ir.Function) -> ir.Function:
        for stmt in ir.statements(fn.body):
            _refuse_unknown(stmt)
        above = ir.Ref(compiled.__name__, compiled)
        return dataclasses.replace(self.rewritten(fn), decorators=(above,))

    def inside(self, stmt: _S) -> _S:
        self._derived = stmt.origin.is_derived
        return super().inside(stmt)

    def expression(self, expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, self.expression)
        match expr:
            case ir.Call(fn=ir.Attribute(base, "reshape") as fn) if self._derived:
                # (Numba's gives views alone, of what lies in one row.)
                row = ir.Call(ir.Ref("np.ascontiguousarray", np.ascontiguousarray), (base,))
                return dataclasses.replace(expr, fn=dataclasses.replace(fn, base=row))
            case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=kwargs):
                return _call(expr, obj, args, dict(kwargs))
            case ir.Ref(text=text) if text.endswith(".py_func"):  # (what Numba compiled is called)
                name = text.removesuffix(".py_func")
                return ir.Ref(name, self._scope.lookup(name)) if "." not in name else expr
        return expr


def _call(
    call: ir.Call, obj: Any, args: tuple[ir.Expr, ...], kwargs: dict[str, ir.Expr]
) -> ir.Expr:
    from . import functions

    if obj is np.matmul and len(args) == 2 and not kwargs:
        return dataclasses.replace(call, fn=ir.MATMUL)
    if obj is np.heaviside and len(args) == 2 and not kwargs:
        return dataclasses.replace(call, fn=ir.Ref("heaviside", functions.heaviside))
    if obj == np.add.at:
        return dataclasses.replace(call, fn=ir.Ref("add_at", runtime.add_at))
    if obj == np.add.reduce:
        return dataclasses.replace(call, fn=ir.Ref("np.sum", np.sum))
    if isinstance(obj, np.ufunc) and kwargs.keys() == {"out"} and len(args) == obj.nin:
        return dataclasses.replace(call, args=(*args, kwargs["out"]), kwargs=())
    return call


def _refuse_unknown(stmt: ir.Stmt) -> None:
    """Refuse a helper of the runtime that Numba knows no form of."""
    from .forms import KNOWN

    for part in ir.walk_statement(stmt):
        if isinstance(part, ir.Ref) and isinstance(part.obj, (types.FunctionType, type)):
            ours = (part.obj.__module__ or "").startswith("tangentlike.runtime")
            if ours and part.obj not in KNOWN:
                raise UnsupportedError(
                    f"the derivative calls `{part.text}` of tangentlike.runtime here, which has "
                    "no form for Numba",
                    stmt.origin.place,
                    'Leave target= out: target="numpy" takes it.',
                )
