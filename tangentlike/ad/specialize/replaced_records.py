"""`dataclasses.replace` of objects whose class has a `__post_init__`: the call that it makes.

before::                                  after::
    c = dataclasses.replace(p, x=v)           p_y = p.y
                                              c = Circle(x=v, y=p_y)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ... import ir
from ...analysis.post_init import post_initialiser
from ...analysis.record_types import is_replace
from ...frontend.lower import Lowered
from ...ir.kind import UNKNOWN, Kind
from ...ir.names import Names
from ..all_names import all_names


def replaced_as_made(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function with a call of the class for each such `replace`."""
    names = Names(all_names(lowered.function))
    made: set[str] = set()

    def parts(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        match stmt:
            case ir.Assign(
                value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(name) as base,)) as call
            ) if is_replace(obj) and post_initialiser(cls := kinds.get(name, UNKNOWN).cls):
                given = dict(call.kwargs)
                before: list[ir.Stmt] = []
                for field in (f.name for f in dataclasses.fields(cls) if f.init):  # type: ignore[arg-type]
                    if field not in given:
                        temporary = names.fresh(f"{name}_{field}")
                        made.add(temporary)
                        read = ir.Attribute(base, field, stmt.origin.place)
                        before.append(ir.Assign(temporary, read, stmt.origin))
                        given[field] = ir.Var(temporary)
                fn = ir.Ref(cls.__name__, cls)  # type: ignore[union-attr]
                again = dataclasses.replace(call, fn=fn, args=(), kwargs=tuple(given.items()))
                return [*before, dataclasses.replace(stmt, value=again)]
        return None

    body = ir.rewrite(lowered.function.body, parts)
    if not made and body == lowered.function.body:
        return lowered
    function = dataclasses.replace(lowered.function, body=body)
    return dataclasses.replace(
        lowered, function=function, temporaries=lowered.temporaries | frozenset(made)
    )
