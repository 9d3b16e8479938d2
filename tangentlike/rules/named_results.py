"""Fields of the named tuples that NumPy's operations return, spelled as places."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from .. import ir
from ..runtime.records import attribute_of
from .book import resolve

if TYPE_CHECKING:
    from ..frontend.lower import Lowered

__all__ = ["fields_spelled"]

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
    """A lowered function that reads such results by place: tangents of theirs are tuples.

    before::                                after::
        found = np.linalg.slogdet(a)            found = np.linalg.slogdet(a)
        y = found.logabsdet                     y = found[1]
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
    return dataclasses.replace(lowered, function=dataclasses.replace(lowered.function, body=body))


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
