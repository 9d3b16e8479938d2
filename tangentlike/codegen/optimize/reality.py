"""Which values of a derived program are surely real: there `np.real(e)` is `e`.

A rule that is real of complex arguments takes the real part of what comes back, since that may
have met complex values on its way. Most often it has not, and every binding on the way says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ... import ir
from .facts import DERIVED_NAME, Facts, numpy_name, runtime_name, words

_OURS = ("adjoint", "tangent")
_ARITHMETIC = ("+", "-", "*", "/", "@")
# Real whatever they are given.
_REAL_PARTS = words("absolute real imag angle norm vector_norm matrix_norm var std size ndim")
# As real as all that they are given.
_KEEPING_NUMPY = words(
    "sum mean expand_dims squeeze reshape ravel transpose swapaxes broadcast_to dot outer zeros "
    "ones full zeros_like ones_like full_like moveaxis flip roll copy"
)
_KEEPING_RUNTIME = words(
    "broadcast_like unbroadcast unreduce zeros_like ones_like copy ratio_or_zero part_like "
    "swap_last"
)
_KEEPING_METHODS = words("copy sum reshape ravel transpose")


def drop_real_parts(function: ir.Function, facts: Facts) -> ir.Function:
    """Write `e` for `np.real(e)` where e is surely real.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .rewriting import derived
    >>> f = derived(program("y_bar = 2.0; z_bar = np.real(y_bar) * unit; return z_bar"))
    >>> print(show(drop_real_parts(f, Facts(real=False)).body))
    y_bar = 2.0
    z_bar = y_bar * unit
    return z_bar
    """
    if facts.real or not any(map(_takes_real_part, _derived_expressions(function))):
        return function
    real = RealNames(function, facts)

    def expr(e: ir.Expr) -> ir.Expr:
        e = ir.rebuild(e, expr)
        if _takes_real_part(e):
            assert isinstance(e, ir.Call)
            return e.args[0] if real.covers(e.args[0]) else e
        return e

    def statement(stmt: ir.Stmt) -> ir.Stmt:
        ours = stmt.origin.role in _OURS and not ir.is_compound(stmt)
        return ir.map_statement(stmt, expr=expr) if ours else stmt

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def _derived_expressions(function: ir.Function) -> Iterator[ir.Expr]:
    for stmt in ir.statements(function.body):
        if stmt.origin.role in _OURS:
            for whole in ir.expressions(stmt):
                yield from ir.walk(whole)


def _takes_real_part(expr: ir.Expr) -> bool:
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(_,), kwargs=()):
            return obj is np.real
        case ir.Call(fn=ir.Ref(obj=obj), args=(_, _)):
            return runtime_name(obj) == "fitting"  # (real where the adjoint is that takes it in)
    return False


class RealNames:
    """The names of a program that are surely bound to real values, however often."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self.facts = facts
        bound: dict[str, list[ir.Expr | None]] = {}
        for stmt in ir.statements(function.body):
            match stmt:
                case ir.Assign(target=str(name), value=value):
                    bound.setdefault(name, []).append(value)
                case ir.Update(target=ir.Var(name), value=value):
                    bound.setdefault(name, []).append(value)
                case _:
                    for name in ir.binds(stmt):
                        bound.setdefault(name, []).append(None)
        for name in function.param_names:
            bound.setdefault(name, []).append(None)
        self.known = {n for n, kind in facts.kinds.items() if self._is_real_kind(n, kind.dtype)}
        self.names = self.known | set(bound)
        while True:  # (the largest set of names that bear each other out)
            wrong = {n for n in self.names - self.known if not all(map(self._is, bound[n]))}
            if not wrong:
                break
            self.names -= wrong

    def _is_real_kind(self, name: str, dtype: str) -> bool:
        # What is known of an adjoint is known of its primal: it may come with an imaginary part.
        return dtype in ("float", "int", "bool") and not DERIVED_NAME.match(name)

    def _is(self, value: ir.Expr | None) -> bool:
        return value is not None and self.covers(value)

    def covers(self, expr: ir.Expr) -> bool:
        """Whether the value of an expression is surely real."""
        match expr:
            case ir.Const(value):
                return isinstance(value, (int, float)) or value is None
            case ir.Var(name):
                return name in self.names
            case ir.Ref(text=text, obj=obj):
                return isinstance(obj, float) and text.partition(".")[0] in ("np", "math")
            case ir.Index(base=base):
                return self.covers(base)
            case ir.Attribute(base=base, name="T"):
                return self.covers(base)
            case ir.Attribute(name="size" | "ndim" | "shape"):
                return True
            case ir.Call(fn=ir.Attribute(base, name)) if name in _KEEPING_METHODS:
                return self.covers(base)
            case ir.Call(fn=ir.Ref(text="**"), args=(base, ir.Const(int()))):
                return self.covers(base)
            case ir.Call(fn=ir.Ref() as fn, args=args, kwargs=options):
                if any(name in ("dtype", "out") for name, _ in options):
                    return False
                if numpy_name(fn.obj) == "where":
                    return len(args) == 3 and all(map(self.covers, args[1:]))
                return _is_real_part(fn) or (_keeps_real(fn) and all(map(self.covers, args)))
        return False


def _is_real_part(fn: ir.Ref) -> bool:
    if runtime_name(fn.obj) == "scalar_seed" or fn.obj is len:
        return True
    return numpy_name(fn.obj) in _REAL_PARTS


def _keeps_real(fn: ir.Ref) -> bool:
    """Whether an operation on real values alone gives real ones."""
    if fn.text in _ARITHMETIC:
        return True
    if isinstance(fn.obj, np.ufunc):
        return fn.obj.nout == 1
    return runtime_name(fn.obj) in _KEEPING_RUNTIME or numpy_name(fn.obj) in _KEEPING_NUMPY
