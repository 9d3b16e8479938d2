"""Arrays and numbers of classes that compute in their own way: masked arrays, arrays with units.

What NumPy's rules say of `w * x` does not hold where the class of `w` defines `__mul__` or
`__array_ufunc__`. Where what is defined outside is such a value, holds or makes one, all that is
combined with what carries derivatives is asked for its class when the text runs.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from .. import ir
from ..errors import UnsupportedError
from ..frontend.owners import is_ours, module_of
from ..frontend.resolve import once_a_reading
from ..ir.facts import fact
from ..ir.index import references
from ..pytree.leaves import computes_its_own_way
from ..runtime import NotDifferentiated, require_numpys
from ..runtime.records import fields_of
from .constructors import record_values

_PLAIN_MASKED = frozenset(
    ("filled", "getdata", "getmask", "getmaskarray", "is_masked", "isMaskedArray")
)
_PLAIN = frozenset((float, int, bool, str, type(None)))
_MOST = 10_000  # of the objects that one outside holds, and these hold, are looked at
_ASKED = ir.Ref(require_numpys.__name__, require_numpys)


def names_own_ways(function: ir.Function) -> bool:
    """Whether what a function names outside of it, or a default, is a value of such a class, holds
    or makes one."""
    defaults = (p.default for p in function.params if isinstance(p.default, ir.Ref))
    return any(_may_give(ref.obj) for ref in (*fact(references, function), *defaults))


def asking_for_numpys(
    function: ir.Function, varied: Collection[str], is_callee: Callable[[Any], bool]
) -> ir.Function:
    """A function that asks whether what it combines with what varies computes in its own way.
    (What a user's function is given it asks for itself.)

    before::                        after::
        w = SETTINGS.weights            w = SETTINGS.weights
        y = w * x                       require_numpys(w)
                                        y = w * x
    """

    def checked(stmt: ir.Stmt) -> ir.Instead:
        if ir.reads(stmt).isdisjoint(varied):
            return None
        asked = dict.fromkeys(
            expr
            for expr in _given(stmt, is_callee)
            if isinstance(expr, ir.Var | ir.Ref | ir.Attribute | ir.Index)
            and ir.names_in(expr).isdisjoint(varied)
        )
        _refuse_known(asked, stmt)
        others = tuple(expr for expr in asked if not isinstance(expr, ir.Ref))
        return (ir.Do(ir.Call(_ASKED, others), stmt.origin), stmt) if others else None

    return ir.with_body(function, ir.rewrite(function.body, checked))


def _refuse_known(asked: Collection[ir.Expr], stmt: ir.Stmt) -> None:
    """Say at once what any call would say."""
    try:
        require_numpys(*(expr.obj for expr in asked if isinstance(expr, ir.Ref)))
    except NotDifferentiated as found:
        at = getattr(getattr(stmt, "value", None), "at", None) or stmt.origin.place
        raise UnsupportedError(found.message, at, found.hint) from None


@once_a_reading
def _may_give(obj: Any) -> bool:
    """Whether what is defined outside is such a value, holds or makes one."""
    pending, seen = [obj], set[int]()
    for found in pending:  # (which grows)
        if type(found) in _PLAIN or isinstance(found, types.ModuleType) or id(found) in seen:
            continue
        seen.add(id(found))
        if computes_its_own_way(found if isinstance(found, type) else type(found)):
            return True
        masked = callable(found) and module_of(found).startswith("numpy.ma")
        if masked and found.__name__ not in _PLAIN_MASKED:
            return True
        if not isinstance(found, (type, types.FunctionType)):
            pending += itertools.islice(_held(found), max(0, _MOST - len(pending)))
    return False


def _held(obj: Any) -> Iterable[Any]:
    """What a container, or an object of a class of Python's, holds."""
    if isinstance(obj, (list, tuple)):
        return obj
    if isinstance(obj, np.ndarray):
        return obj.flat if obj.dtype.kind == "O" else ()
    return obj.values() if isinstance(obj, dict) else (fields_of(obj) or {}).values()


def _given(stmt: ir.Stmt, is_callee: Callable[[Any], bool]) -> tuple[ir.Expr, ...]:
    """What an operation is given. (What is stored, by itself or in an object that is made, is not
    computed with.)"""
    match stmt:
        case ir.Assign(value=ir.Call(ir.Ref(obj=obj))) if is_callee(obj) or is_ours(obj):
            return ()
        case ir.Assign(value=ir.Call(fn=fn) as call) if record_values(call) is None:
            base = (fn.base,) if isinstance(fn, ir.Attribute) else ()
            return (*base, *ir.arguments(call))
        case ir.Update(target=target, value=value):
            return (target, value)
    return ()
