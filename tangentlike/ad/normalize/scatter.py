"""`np.put`, `np.place`, `np.putmask` and `np.put_along_axis`, spelled as the stores they are.

np.put(a, k, v)                  a[put_places(k, a.shape)] = np.resize(v, np.size(k))
np.place(a, m, v)                a[m] = np.resize(v, np.count_nonzero(m))
np.putmask(a, m, v)              a[...] = np.where(m, np.resize(v, a.shape), a)
np.put_along_axis(a, k, v, 1)    a[along_axis(k, a.shape, 1)] = v
np.fill_diagonal(a, v)           a[np.diag_indices(min(a.shape), a.ndim)] = v
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ir, runtime
from ...ir.kind import OTHER
from ..context import Context


def scatter_stores(
    stmt: ir.Stmt, call: ir.Call, obj: Any, context: Context
) -> list[ir.Stmt] | None:
    """The statements that write what the call of one of these functions writes, or None."""
    make = _MAKERS.get(obj)
    if make is None:
        return None
    arguments = _bound(call, _PARAMETERS[obj])
    if arguments is None:
        return None
    return make(stmt, arguments, context)


def _bound(call: ir.Call, names: tuple[str, ...]) -> list[ir.Expr] | None:
    given = dict(zip(names, call.args, strict=False)) | dict(call.kwargs)
    if len(call.args) > len(names) or not given.keys() <= set(names):
        return None
    for name in names:
        if name in _DEFAULTS:
            given.setdefault(name, _DEFAULTS[name])
    return [given[name] for name in names] if given.keys() == set(names) else None


def _put(stmt: ir.Stmt, arguments: list[ir.Expr], context: Context) -> list[ir.Stmt]:
    target, places, value, mode = arguments
    given = ir.Call(context.numpy("shape"), (places,))
    if context.kind_of(target).rank == 1 and mode == ir.Const("raise"):
        fitted, named = resized(stmt, value, given, context)
        return [*named, store(stmt, target, places, fitted)]
    fitted, named = resized(stmt, value, ir.Call(context.numpy("size"), (places,)), context)
    options = () if mode == ir.Const("raise") else (mode,)
    shape = ir.Attribute(target, "shape")
    where = ir.Call(ir.Ref("put_places", runtime.put_places), (places, shape, *options))
    return [*named, *_keyed(stmt, "places", where, target, fitted, context)]


def _fill_diagonal(stmt: ir.Stmt, arguments: list[ir.Expr], context: Context) -> list[ir.Stmt]:
    target, value, wrap = arguments
    shape = ir.Attribute(target, "shape")
    if wrap == ir.Const(False):
        shortest = ir.Call(ir.Ref("min", min), (shape,))
        axes = ir.Attribute(target, "ndim")
        where = ir.Call(context.numpy("diag_indices"), (shortest, axes))
        return _keyed(stmt, "diagonal", where, target, value, context)
    where = ir.Call(ir.Ref("diagonal_places", runtime.diagonal_places), (shape, wrap))
    name = context.names.fresh("diagonal")
    count = ir.Call(context.numpy("size"), (ir.Index(ir.Var(name), ir.Const(0)),))
    fitted, named = resized(stmt, value, count, context)
    key = ir.Assign(name, where, stmt.origin)
    return [key, *named, store(stmt, target, ir.Var(name), fitted)]


def _place(stmt: ir.Stmt, arguments: list[ir.Expr], context: Context) -> list[ir.Stmt]:
    target, mask, value = arguments
    count = ir.Call(context.numpy("count_nonzero"), (mask,))
    fitted, named = resized(stmt, value, count, context)
    return [*named, store(stmt, target, mask, fitted)]


def _putmask(stmt: ir.Stmt, arguments: list[ir.Expr], context: Context) -> list[ir.Stmt]:
    target, mask, value = arguments
    fitted, named = resized(stmt, value, ir.Attribute(target, "shape"), context)
    merged = ir.Call(context.numpy("where"), (mask, fitted, target), at=stmt.origin.place)
    name = context.fresh("merged", context.kind_of(target))
    whole = store(stmt, target, ir.Const(Ellipsis), ir.Var(name))
    return [*named, ir.Assign(name, merged, stmt.origin), whole]


def _put_along_axis(stmt: ir.Stmt, arguments: list[ir.Expr], context: Context) -> list[ir.Stmt]:
    target, places, value, axis = arguments
    if axis == ir.Const(None):
        return _put(stmt, [target, places, value, ir.Const("raise")], context)
    shape = ir.Attribute(target, "shape")
    where = ir.Call(ir.Ref("along_axis", runtime.along_axis), (places, shape, axis))
    return _keyed(stmt, "places", where, target, value, context)


def resized(
    stmt: ir.Stmt, value: ir.Expr, shape: ir.Expr, context: Context
) -> tuple[ir.Expr, list[ir.Stmt]]:
    """A value repeated or cut to a size, as these functions do; a number fits as it is."""
    if context.kind_of(value).form == "number":
        return value, []
    size = context.fresh("size", OTHER)  # (a size or a shape carries no derivative)
    name = context.names.fresh("fitted")
    resized = ir.Call(context.numpy("resize"), (value, ir.Var(size)), at=stmt.origin.place)
    return ir.Var(name), [
        ir.Assign(size, shape, stmt.origin),
        ir.Assign(name, resized, stmt.origin),
    ]


def _keyed(
    stmt: ir.Stmt, word: str, where: ir.Expr, target: ir.Expr, value: ir.Expr, context: Context
) -> list[ir.Stmt]:
    name = context.names.fresh(word)
    return [ir.Assign(name, where, stmt.origin), store(stmt, target, ir.Var(name), value)]


def store(stmt: ir.Stmt, target: ir.Expr, key: ir.Expr, value: ir.Expr) -> ir.Stmt:
    """`target[key] = value` in the place of a statement."""
    return ir.Store(ir.Index(target, key, stmt.origin.place), value, stmt.origin)


_MAKERS = {
    np.put: _put,
    np.ndarray.put: _put,
    np.place: _place,
    np.putmask: _putmask,
    np.put_along_axis: _put_along_axis,
    np.fill_diagonal: _fill_diagonal,
}
_PARAMETERS = {
    np.put: ("a", "ind", "v", "mode"),
    np.ndarray.put: ("a", "ind", "v", "mode"),
    np.place: ("arr", "mask", "vals"),
    np.putmask: ("a", "mask", "values"),
    np.put_along_axis: ("arr", "indices", "values", "axis"),
    np.fill_diagonal: ("a", "val", "wrap"),
}
_DEFAULTS = {"axis": ir.Const(-1), "mode": ir.Const("raise"), "wrap": ir.Const(False)}
