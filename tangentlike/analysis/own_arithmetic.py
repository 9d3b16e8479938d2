"""Arrays and numbers of classes that compute in their own way: masked arrays, arrays with units.

What NumPy's rules say of `w * x` does not hold where the class of `w` defines `__mul__` or
`__array_ufunc__`. Such a value is refused beside what carries derivatives: one that is defined
outside of the function, by itself or in an object or a container, and one that is made in it.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from .. import ir
from ..errors import UnsupportedError
from ..frontend.owners import module_of
from ..frontend.resolve import once_a_reading
from ..ir.facts import fact
from ..ir.index import references
from ..pytree.leaves import computes_its_own_way
from ..runtime.records import attribute_of

# What is of the same class as the array that it is asked for, or that it is given.
_SAME = frozenset(
    ("T", "real", "imag", "copy", "astype", "reshape", "ravel", "flatten", "transpose", "squeeze")
)
_PLAIN_MASKED = frozenset(
    ("filled", "getdata", "getmask", "getmaskarray", "is_masked", "isMaskedArray")
)
_MOST = 100  # of the items of what is outside are looked at
_HINT = "Use an array or a number of NumPy's: np.asarray(w), w.filled(0.0), w.value, float(w)."


def refuse_own_arithmetic(function: ir.Function, active: Collection[str]) -> None:
    """Refuse what is computed of an active value and one whose class has operations of its own.

    before::                                        found in:
        m = np.ma.masked_array(table, mask)         m, t
        t = 2.0 * m
        y = t * x
    """
    defaults = {p.name: p.default for p in function.params if isinstance(p.default, ir.Ref)}
    refs = (*fact(references, function), *defaults.values())
    if not any(_asked(ref.obj) for ref in refs):
        return
    names = _names(function, {name: _class(ref, {}) or ref.obj for name, ref in defaults.items()})
    for stmt in ir.statements(function.body):
        if not (ir.reads(stmt) & set(active)):
            continue
        found = next(filter(None, (_class(expr, names) for expr in _given(stmt, active))), "")
        if found:
            raise UnsupportedError(
                f"what carries derivatives is combined with a {found}, a class with operations of "
                "its own",
                getattr(getattr(stmt, "value", None), "at", None) or stmt.origin.place,
                _HINT,
            )


def _may_give(obj: Any, depth: int = 2) -> bool:
    """Whether what is defined outside is such a value, holds or makes one."""
    if _made_by(obj) or computes_its_own_way(type(obj)):
        return True
    if depth == 0 or isinstance(obj, type) or callable(obj) or isinstance(obj, types.ModuleType):
        return False
    held = attribute_of(obj, "__dict__", {})
    inside = obj if type(obj) in (list, tuple) else held.values() if type(held) is dict else ()
    inside = obj.values() if isinstance(obj, dict) else inside
    return any(_may_give(value, depth - 1) for value in itertools.islice(inside, _MOST))


_asked = once_a_reading(_may_give)  # (first of all, of what each function names)


def _given(stmt: ir.Stmt, active: Collection[str]) -> tuple[ir.Expr, ...]:
    """What an operation with an active result, or a write, is given."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=fn) as call) if set(ir.binds(stmt)) & set(active):
            base = (fn.base,) if isinstance(fn, ir.Attribute) else ()
            return (*base, *ir.arguments(call))
        case ir.Update(target=target, value=value):
            return (target, value)
        case ir.Store(value=value):
            return (value,)
    return ()


def _names(function: ir.Function, found: dict[str, Any]) -> dict[str, Any]:
    """The local names that may hold such a value, with its class, or an object or container outside
    that has one inside; what defaults are is `found`."""
    while True:
        more = {
            stmt.target: given
            for stmt in ir.statements(function.body)
            if isinstance(stmt, ir.Assign) and isinstance(stmt.target, str)
            if (given := _class(stmt.value, found) or _holding(_live(stmt.value, found)))
        }
        if more.keys() <= found.keys():
            return found
        found.update(more)


def _holding(obj: Any) -> Any:
    return obj if _asked(obj) else None


def _class(expr: ir.Expr, names: Mapping[str, Any]) -> str:
    """The class of a value that computes in its own way; '' of any other."""
    match expr:
        case ir.Call(ir.Ref(obj=obj), args):
            arithmetic = isinstance(obj, np.ufunc) or module_of(obj) == "_operator"
            given = next(filter(None, (_class(arg, names) for arg in args)), "")
            return _made_by(obj) or (given if arithmetic else "")
        case ir.Call(ir.Attribute(_, "view"), (ir.Ref(obj=obj), *_)):
            return _made_by(obj)
        case ir.Call(ir.Attribute(base, name)):
            return _class(base, names) if name in _SAME else ""
        case ir.Index(base, key) if not isinstance(key, ir.Const) and _class(base, names):
            return _class(base, names)
        case ir.Attribute(base, name) if name in _SAME and _class(base, names):
            return _class(base, names)
    found = _live(expr, names)
    return found if type(found) is str and isinstance(expr, ir.Var) else _of(type(found))


def _of(cls: type) -> str:
    return cls.__name__ if computes_its_own_way(cls) else ""


def _live(expr: ir.Expr, names: Mapping[str, Any]) -> Any:
    """What is defined outside of the function, an attribute or an item of it; else None."""
    match expr:
        case ir.Var(name):
            return names.get(name)
        case ir.Ref(obj=obj):
            return obj
        case ir.Attribute(base, name):
            return attribute_of(_live(base, names), name, None)
        case ir.Index(base, ir.Const(key)):
            held = _live(base, names)
            if type(held) is dict:
                return held.get(key)
            if type(held) in (list, tuple) and isinstance(key, int) and key < len(held):
                return held[key]
    return None


def _made_by(obj: Any) -> str:
    """The class of what a class, or a function of `np.ma`, makes."""
    if isinstance(obj, type):
        return _of(obj)
    masked = callable(obj) and module_of(obj).startswith("numpy.ma")
    return "MaskedArray" if masked and obj.__name__ not in _PLAIN_MASKED else ""
