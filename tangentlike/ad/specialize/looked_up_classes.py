"""Objects of a class that is looked up: `LAYERS[name](w)`, `cls = A if deep else B; cls(w)`.

before::                         after::
    cls = LAYERS[name]               cls = LAYERS[name]
    layer = cls(w)                   require_listed(cls, Dense, Linear)
                                     if cls is Dense:
                                         layer = Dense(w)
                                     else:
                                         layer = Linear(w)

The classes are those that the table has when the derivative is made; the run asks for no other.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable

from ... import ir
from ...analysis.constructors import initialiser
from ...analysis.outer_arrays import live
from ...analysis.record_types import record_class
from ...frontend.lower import Lowered
from ...ir.kind import MOST_CLASSES
from ...runtime import require_listed

_CHECK = ir.Ref(require_listed.__name__, require_listed)
_IS = ir.Ref("is", operator.is_)


def made_by_class(lowered: Lowered) -> Lowered:
    """The function with a branch for each class that a name may stand for where it is called."""
    found = _classes_by_name(lowered.function)
    if not found:
        return lowered

    def parts(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Var(name))) if name in found:
                return _branches(stmt, name, found[name])
        return None

    function = dataclasses.replace(lowered.function, body=ir.rewrite(lowered.function.body, parts))
    return dataclasses.replace(lowered, function=function)


def _branches(stmt: ir.Assign, name: str, classes: tuple[type, ...]) -> tuple[ir.Stmt, ...]:
    refs = [ir.Ref(cls.__name__, cls) for cls in classes]
    assert isinstance(stmt.value, ir.Call)
    made = [dataclasses.replace(stmt, value=dataclasses.replace(stmt.value, fn=r)) for r in refs]
    check = ir.Call(_CHECK, (ir.Var(name), *refs), at=stmt.origin.place)
    chosen: ir.Stmt = made[-1]
    for ref, case in list(zip(refs, made, strict=True))[-2::-1]:
        chosen = ir.If(ir.Call(_IS, (ir.Var(name), ref)), (case,), (chosen,), stmt.origin)
    return ir.Do(check, stmt.origin), chosen


def _classes_by_name(function: ir.Function) -> dict[str, tuple[type, ...]]:
    """The names that stand for classes of the user's wherever they are bound, and which."""
    values: dict[str, list[ir.Expr | None]] = {name: [None] for name in function.param_names}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=value):
                values.setdefault(name, []).append(value)
            case _:
                for name in ir.binds(stmt):
                    values.setdefault(name, []).append(None)
    found = {}
    for name, given in values.items():
        several = [_classes_of(value) for value in given]
        classes = tuple(dict.fromkeys(cls for some in several for cls in some))
        alike = len({cls.__name__ for cls in classes}) < len(classes)
        if all(several) and not alike and len(classes) <= MOST_CLASSES:
            found[name] = classes
    return found


def _classes_of(value: ir.Expr | None) -> tuple[type, ...]:
    """The classes that an expression may be; none where it may be anything else."""
    known = None if value is None else live(value)
    if known is not None:
        return _all_classes([known.obj])
    match value:
        case ir.Lazy("if", (_, *choices)):
            several = [_classes_of(choice) for choice in choices]
            return tuple(cls for some in several for cls in some) if all(several) else ()
        case ir.Index(base, _) if not isinstance(value.key, ir.Slice):
            table = live(base)
            obj = None if table is None else table.obj
            if isinstance(obj, dict):
                return _all_classes(obj.values())
            return _all_classes(obj) if isinstance(obj, (list, tuple)) else ()
    return ()


def _all_classes(items: Iterable[object]) -> tuple[type, ...]:
    classes = tuple(items)
    fine = all(isinstance(c, type) and _is_users(c) for c in classes)
    return classes if fine else ()  # type: ignore[return-value]


def _is_users(cls: type) -> bool:
    made = ir.Call(ir.Ref(cls.__name__, cls))
    return initialiser(cls) is not None or record_class(made) is not None
