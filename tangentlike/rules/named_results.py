"""The named tuples that NumPy's operations return: fields are read by place, items get names."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from .. import ir
from ..frontend.naming import names_of
from ..runtime.records import attribute_of
from .book import resolve

if TYPE_CHECKING:
    from ..frontend.lower import Lowered

_FIELDS = {
    "numpy.linalg.eig": ("eigenvalues", "eigenvectors"),
    "numpy.linalg.eigh": ("eigenvalues", "eigenvectors"),
    "numpy.linalg.qr": ("Q", "R"),
    "numpy.linalg.slogdet": ("sign", "logabsdet"),
    "numpy.linalg.svd": ("U", "S", "Vh"),
    "numpy.unique_all": ("values", "indices", "inverse_indices", "counts"),
    "numpy.unique_counts": ("values", "counts"),
    "numpy.unique_inverse": ("values", "inverse_indices"),
}
_OTHER_RESULTS = frozenset(("mode", "compute_uv"))  # options that change what is returned


def fields_spelled(lowered: Lowered) -> Lowered:
    """A lowered function that reads such results by place: tangents of theirs are tuples. One of
    which only items are read is taken apart, so that each item has an adjoint of its own.

    before::                                after::
        found = np.linalg.slogdet(a)            sign, logabsdet = np.linalg.slogdet(a)
        y = found.logabsdet                     y = logabsdet
    """
    every = list(ir.statements(lowered.function.body))
    made = {name: fields for name, fields in map(_made, every) if fields}
    bound = ir.bindings(every, lowered.function.param_names)
    made = {name: fields for name, fields in made.items() if bound[name] == 1}
    if not made:
        return lowered

    def expr(e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Attribute(base=ir.Var(name), name=field, at=at) if field in made.get(name, ()):
                return ir.Index(ir.Var(name), ir.Const(made[name].index(field)), at)
        return ir.rebuild(e, expr)

    body = ir.rewrite(lowered.function.body, expression=expr)
    function = dataclasses.replace(lowered.function, body=body)
    items: dict[str, tuple[str, ...]] = {}
    free = names_of(function)
    for name, fields in made.items():
        if _only_items_read(name, len(fields), body):
            items[name] = tuple(map(free.fresh, fields))
    introduced = lowered.temporaries.union(*items.values())
    function = dataclasses.replace(function, body=_taken_apart(body, items))
    return dataclasses.replace(lowered, function=function, temporaries=introduced)


def _only_items_read(name: str, length: int, body: ir.Block) -> bool:
    """Whether all that is done with a tuple is to read items of it."""
    for stmt in ir.statements(body):
        parts = [part for e in ir.expressions(stmt) for part in ir.walk(e)]
        whole = sum(part == ir.Var(name) for part in parts)
        if whole != sum(_item(part, name, length) is not None for part in parts):
            return False
        if not whole and name in ir.reads(stmt):
            return False
    return True


def _item(expr: ir.Expr, name: str, length: int) -> int | None:
    match expr:
        case ir.Index(base=ir.Var(base), key=ir.Const(int(place))) if base == name:
            return place % length if -length <= place < length else None
    return None


def _taken_apart(body: ir.Block, items: dict[str, tuple[str, ...]]) -> ir.Block:
    """Each of these tuples is assigned to names of its items, which are read instead."""

    def expr(e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Index(base=ir.Var(name)) if name in items:
                place = _item(e, name, len(items[name]))
                return e if place is None else ir.Var(items[name][place])
        return ir.rebuild(e, expr)

    def stmt(s: ir.Stmt) -> ir.Stmt:
        match s:
            case ir.Assign(target=str(name)) if name in items:
                return dataclasses.replace(s, target=items[name])
        return s

    return ir.rewrite(body, expression=expr, after=stmt)


def _made(stmt: ir.Stmt) -> tuple[str, tuple[str, ...]]:
    """The name that is bound to a named tuple of NumPy's, and the fields of this; or no fields."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Call(ir.Ref(obj=obj), (_,), kwargs)) if (
            not _OTHER_RESULTS & {word for word, _ in kwargs}
        ):
            for path, fields in _FIELDS.items():
                if path.endswith(f".{attribute_of(obj, '__name__', '')}") and resolve(path) is obj:
                    return name, fields
    return "", ()
