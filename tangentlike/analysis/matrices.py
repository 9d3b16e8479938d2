"""Matrices, whose `*` is a product of matrices: `x * m` is refused where it would be taken for
the product of entries.

NumPy's `np.matrix` and the `*_matrix` classes of `scipy.sparse` are meant. `m @ x` and `m.dot(x)`
say the same for every class and are differentiated (of sparse matrices: `m @ x` is an array).
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

import numpy as np

from .. import ir
from ..errors import Place, UnsupportedError
from ..frontend.owners import module_of
from ..pytree.leaves import is_matrix
from ..runtime.records import attribute_of
from .operations import is_python_function

_PRODUCTS = (operator.mul, operator.imul, operator.pow, operator.ipow)
_DOTS = (operator.matmul, np.matmul, np.dot)
# What is asked of a matrix and gives none.
_PLAIN = frozenset(
    ("shape", "size", "ndim", "dtype", "nnz", "data", "indices", "indptr", "row", "col")
    + ("dot", "toarray", "A", "A1", "diagonal", "nonzero", "count_nonzero", "sum", "mean")
)


def matrix_names(function: ir.Function) -> frozenset[str]:
    """The local names that may hold a matrix, as far as one can see.

    before::                       the names:
        m = csr_matrix(table)      m, t
        t = m.T
        y = t @ x
    """
    found: set[str] = set()
    while True:
        more = {
            stmt.target
            for stmt in ir.statements(function.body)
            if isinstance(stmt, ir.Assign)
            and isinstance(stmt.target, str)
            and _is_matrix(stmt.value, found)
        }
        if more <= found:
            return frozenset(found)
        found |= more


def _is_matrix(expr: ir.Expr, names: Collection[str]) -> bool:
    match expr:
        case ir.Var(name):
            return name in names
        case ir.Ref(obj=obj):
            return is_matrix(obj) or _makes(obj)
        case ir.Attribute(base, name):
            return name not in _PLAIN and _is_matrix(base, names)
        case ir.Index(base, _):
            return _is_matrix(base, names)
        case ir.Call(ir.Ref(obj=obj), args) if _is_one_of(obj, _DOTS):
            return all(_is_matrix(arg, names) or _is_numpys(arg) for arg in args)
        case ir.Call(ir.Ref(obj=obj), (_, right, *_)) if _solves(obj):
            return _is_matrix(right, names)
        case ir.Call(ir.Ref(obj=obj), args):
            arrays = _is_one_of(obj, (np.asarray, np.array))
            return not arrays and (_makes(obj) or any(_is_matrix(a, names) for a in args))
        case ir.Call(ir.Attribute() as fn):
            return _is_matrix(fn, names)
    return False


def _makes(obj: Any) -> bool:
    """Whether calls of a library's function may give a matrix."""
    if _is_one_of(obj, (np.matrix, np.asmatrix, np.bmat)):
        return True
    if not callable(obj) or not module_of(obj).startswith("scipy.sparse"):
        return False
    return not attribute_of(obj, "__name__", "").endswith("_array")


def _solves(obj: Any) -> bool:
    """Whether it solves with a sparse matrix: the solution is what the right-hand side is."""
    home = module_of(obj).startswith("scipy.sparse.linalg")
    return home and attribute_of(obj, "__name__", "") == "spsolve"


def _is_one_of(obj: Any, functions: tuple[Any, ...]) -> bool:
    """Membership by identity: what is no function may compare entry by entry."""
    return any(obj is function for function in functions)


def _is_numpys(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Ref) and isinstance(expr.obj, np.matrix)


def refuse_matrix_product(
    call: ir.Call, obj: Any, names: Collection[str], culprit: str, place: Place
) -> None:
    """Refuse a product of an active value with a matrix, and matrices handed to functions."""
    ours = str(attribute_of(obj, "__module__", "")).startswith("tangentlike.runtime")
    anywhere = _is_one_of(obj, _PRODUCTS) or (is_python_function(obj) and not ours)
    if not anywhere and not any(map(_is_numpys, call.args)):
        return
    if any(_is_matrix(arg, names) for arg in call.args):
        raise UnsupportedError(
            f"a matrix is combined with `{culprit}`, which carries derivatives",
            place,
            "`*` of matrices is not the elementwise product. Use arrays, np.asarray(m) or "
            "scipy.sparse.csr_array(m), and write m @ x for the product of matrices.",
        )
