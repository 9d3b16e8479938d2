"""Lists and tuples that NumPy takes for arrays are made arrays, so that rules see arrays only."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import ir
from ...ir.kind import Kind
from ...rules import programs
from ...rules.book import resolve
from ..context import Context

_SEQUENCES = ("list", "tuple")
_ALWAYS = (operator.sub, operator.truediv, operator.pow, operator.matmul)  # lists have none
_JOINING = (operator.add, operator.mul)  # of lists: to join, to repeat


def _named(count: int, names: str) -> dict[str, int]:
    return dict.fromkeys(names.split(), count)


# Functions that are no ufuncs -> how many of their first arguments are arrays.
_LEADING = {
    **_named(1, "sum mean prod std var max min amax amin ptp average median quantile percentile"),
    **_named(1, "nansum nanmean nanprod nanstd nanvar nanmax nanmin cumsum cumprod diff trapezoid"),
    **_named(1, "reshape ravel transpose diag trace sort flip roll repeat take linalg.cond"),
    **_named(1, "linalg.det linalg.slogdet linalg.inv linalg.pinv linalg.norm linalg.cholesky"),
    **_named(1, "linalg.qr linalg.svd linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh"),
    **_named(1, "linalg.matrix_power"),
    **_named(2, "dot inner outer vdot cross kron tensordot convolve correlate polyval"),
    **_named(2, "linalg.solve linalg.lstsq"),
    **_named(3, "where clip interp"),
}
# Methods of ufuncs, and the programs of those that no rule states -> how many are arrays.
_OF_METHODS = _named(1, "reduce accumulate reduceat") | _named(2, "outer")
_PROGRAMS_OF_METHODS = {
    getattr(programs, f"ufunc_{name}"): count for name, count in _OF_METHODS.items()
}


@functools.cache
def _leading() -> dict[int, int]:
    """The same by the objects' ids (`trapezoid` has another name in older NumPy)."""
    return {
        id(fn): count
        for path, count in _LEADING.items()
        for fn in [resolve(f"numpy.{path}")]
        if fn is not None
    }


def operands_as_arrays(
    function: ir.Function, wrt: tuple[str, ...], context: Context
) -> ir.Function:
    """A function whose operations on arrays get no lists and no tuples.

    before::                            after::
        y = np.dot(x, [1.0, 2.0])           array = np.asarray([1.0, 2.0])
                                            y = np.dot(x, array)
        z = x + [a, b]                      require_sequence(x)
                                            z = x + [a, b]
        x[1:3] = [a, b]                     require_sequence(x)
                                            x[1:3] = [a, b]

    `+` and `*` join and repeat lists, unless the other operand is an array, and what is put into
    an array is broadcast: where that is unknown and a derivative depends on it, the text asks.
    """

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        arrays: list[ir.Stmt] = []
        if isinstance(stmt, ir.Store | ir.Update):
            if _fills_array(stmt, context):
                value = _array(stmt.value, stmt.origin, arrays, context)
                yield from arrays
                yield dataclasses.replace(stmt, value=value) if arrays else stmt
                return
            yield from checked(_written_with_list(stmt, context), stmt.value, stmt)
            yield stmt
        elif isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call):
            asked = _asked(stmt.value, context)
            scales = asked is not None and _scales(stmt.value, asked) and asked.name in varied()
            yield from () if scales else checked(asked, stmt.value, stmt)
            places = range(2) if scales else _places(stmt.value, context)
            args = tuple(
                _array(arg, stmt.origin, arrays, context) if place in places else arg
                for place, arg in enumerate(stmt.value.args)
            )
            if not arrays:
                yield stmt
                return
            yield from arrays
            call = dataclasses.replace(stmt.value, args=args)
            if isinstance(stmt.target, str):
                context.kinds[stmt.target] = context.kind_of(call)
            yield dataclasses.replace(stmt, value=call)
        else:
            yield stmt

    def checked(asked: ir.Var | None, value: ir.Expr, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        if asked is not None and {asked.name, *ir.names_in(value)} & varied():
            at = value.at if isinstance(value, ir.Call) else stmt.origin.place
            check = ir.Call(context.helper("require_sequence"), (asked,), at=at)
            yield ir.Do(check, stmt.origin)

    @functools.cache
    def varied() -> frozenset[str]:
        return context.varied(function, wrt)

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def _fills_array(stmt: ir.Store | ir.Update, context: Context) -> bool:
    """Whether a statement writes entries of what is surely an array."""
    target = stmt.target.base if isinstance(stmt.target, ir.Index) else stmt.target
    return isinstance(target, ir.Var) and context.kind_of(target).form == "array"


def _written_with_list(stmt: ir.Store | ir.Update, context: Context) -> ir.Var | None:
    """What may be an array, and is written or updated with a list."""
    target = stmt.target.base if isinstance(stmt.target, ir.Index) else stmt.target
    if not isinstance(target, ir.Var) or context.kind_of(stmt.value).form not in _SEQUENCES:
        return None
    return target if context.kind_of(target).form in ("unknown", "value") else None


def _array(arg: ir.Expr, origin: ir.Origin, before: list[ir.Stmt], context: Context) -> ir.Expr:
    kind = context.kind_of(arg)
    if kind.form not in _SEQUENCES or kind.spells is not None:
        return arg
    name = context.fresh("array", Kind("array"), temporary=True)
    call = ir.Call(context.numpy("asarray"), (arg,), at=origin.place)
    before.append(ir.Assign(name, call, origin))
    return ir.Var(name)


def _places(call: ir.Call, context: Context) -> range:
    """Which arguments of a call are arrays whatever they are given as."""
    if any(map(ir.is_starred, call.args)):
        return range(0)
    match call.fn:
        case ir.Attribute(ir.Ref(obj=np.ufunc()), method):
            return range(_OF_METHODS.get(method, 0))
        case ir.Ref(obj=obj):
            return _places_of(obj, call, context)
    return range(0)


def _places_of(obj: Any, call: ir.Call, context: Context) -> range:
    if isinstance(obj, np.ufunc):
        return range(obj.nin)
    if any(obj is known for known in _PROGRAMS_OF_METHODS):  # (the ufunc stands first)
        return range(1, 1 + _PROGRAMS_OF_METHODS[obj])
    if obj is np.einsum and call.args and isinstance(call.args[0], ir.Const):
        return range(1, len(call.args))
    if obj in _ALWAYS:
        return range(2)
    if obj in _JOINING:
        forms = [context.kind_of(arg).form for arg in call.args]
        return range(2 if "array" in forms else 0)
    return range(_leading().get(id(obj), 0))


def _scales(call: ir.Call, other: ir.Var) -> bool:
    """Whether a call is `x * [1.0, 2.0]`: where `x` carries derivatives it is no count of
    repetitions, and lists are multiplied by nothing else."""
    return isinstance(call.fn, ir.Ref) and call.fn.obj is operator.mul and other in call.args


def _asked(call: ir.Call, context: Context) -> ir.Var | None:
    """The operand beside a list that may be an array, as which NumPy would take the list."""
    if not isinstance(call.fn, ir.Ref) or call.fn.obj not in _JOINING or len(call.args) != 2:
        return None
    kinds = [context.kind_of(arg) for arg in call.args]
    for kind, other, arg in zip(kinds, kinds[::-1], call.args[::-1], strict=True):
        open_ = other.form in ("unknown", "value", "number") and not other.discrete
        if kind.form in _SEQUENCES and open_ and isinstance(arg, ir.Var):
            return arg
    return None
