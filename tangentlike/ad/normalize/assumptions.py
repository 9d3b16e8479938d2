"""What a function seems to take its names for, where arrays that share memory are written.

`t = a[i]; a[i] = v` reads a number if `a` is a vector, and a view that changes if `a` is a matrix.
Where nothing says which, the derivative is written for what the text suggests, and checks it.
"""

from __future__ import annotations

from collections.abc import Collection

from ... import ir, runtime
from ...analysis.memory import VIEW_ATTRIBUTES, key_parts
from ...analysis.record_types import record_values
from ...analysis.sharing import owner
from ..context import Context

_OPEN = ("unknown", "value")  # forms that may be a number or an array


def suggested_ranks(
    function: ir.Function, nodes: Collection[str], context: Context
) -> dict[str, int | None]:
    """Name -> 0 where it seems to be a number, None where an array; empty if one of them has
    nothing to tell by.

    What is indexed is an array, and so is a slice, and what is assigned to or from one. An item
    by integers, or in a loop, is a number if it is nowhere indexed itself. Nothing is suggested
    where items of lists, tuples or dicts are concerned.
    """
    forms = {context.kind_of(ir.Var(owner(node))).form for node in nodes}
    if forms & {"list", "tuple", "dict"}:
        return {}
    found = _arrays(function, context)
    ranks: dict[str, int | None] = {}
    for name in sorted({owner(node) for node in nodes}):
        if context.kind_of(ir.Var(name)).form not in _OPEN:
            continue
        if name in found:
            ranks[name] = None
        elif _is_item(name, function, context):
            ranks[name] = 0
        else:
            return {}
    return ranks


def seeming_kinds(
    function: ir.Function, names: Collection[str], context: Context
) -> dict[str, int | None]:
    """Name -> None for those that are updated as a whole (`t += v`) and that are used or made as
    only arrays are; 0 for those nowhere used as arrays."""
    found = _arrays(function, context)
    updated = {
        getattr(s.target, "name", "")
        for s in ir.statements(function.body)
        if isinstance(s, ir.Update)
    }
    unsure = [n for n in sorted(names) if context.kind_of(ir.Var(n)).form in _OPEN]
    arrays: dict[str, int | None] = dict.fromkeys(n for n in unsure if n in found & updated)
    return arrays | {n: 0 for n in unsure if n not in found}


def indexed_names(function: ir.Function) -> frozenset[str]:
    """The names of which items are read or written, `name[...]`, by that name or another one."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        exprs = (stmt.target, stmt.value) if isinstance(stmt, ir.Store) else ir.expressions(stmt)
        for part in (part for expr in exprs for part in ir.walk(expr)):
            if isinstance(part, ir.Index):
                found.add(_name(part.base))
    return frozenset(_spread(found - {""}, _same(function)))


def _arrays(function: ir.Function, context: Context) -> set[str]:
    """The names that are known to be arrays, or that are used or made as only arrays are."""
    found = {n for n, kind in context.kinds.items() if kind.form == "array"}
    same = _same(function)
    for stmt in ir.statements(function.body):
        exprs = list(ir.expressions(stmt))
        if isinstance(stmt, ir.Store):
            exprs.append(stmt.target)
        if isinstance(stmt, ir.For) and isinstance(stmt.iter, ir.Var):
            found.add(stmt.iter.name)
        for part in (part for expr in exprs for part in ir.walk(expr)):
            match part:
                case ir.Index(ir.Var(name), _):
                    found.add(name)
                case ir.Attribute(ir.Var(name), attribute) if attribute in VIEW_ATTRIBUTES:
                    found.add(name)
        if isinstance(stmt, ir.Assign) and isinstance(stmt.target, str):
            if _is_view(stmt.value):
                found.add(stmt.target)
            elif isinstance(stmt.value, ir.Call):  # (that may give back its argument)
                given = sorted(context.sources().nodes(stmt.value))
                same.extend({stmt.target, owner(node)} for node in given)
    return _spread(found, same)


def _name(expr: ir.Expr) -> str:
    """What stands for a name, or for an attribute of one: "o.v"; "" for anything else."""
    match expr:
        case ir.Var(name):
            return name
        case ir.Attribute(ir.Var(name), attribute):
            return f"{name}.{attribute}"
    return ""


def _same(function: ir.Function) -> list[set[str]]:
    """The names and attributes that are bound to one another, in pairs."""
    pairs: list[tuple[str, str]] = []
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(target), value=value):
                pairs.append((target, _name(value)))
                fields = record_values(value) or {}
                pairs += [(f"{target}.{field}", _name(v)) for field, v in fields.items()]
            case ir.Store(target=ir.Attribute() as field, value=value):
                pairs.append((_name(field), _name(value)))
    return [set(pair) for pair in pairs if all(pair)]


def _is_view(value: ir.Expr) -> bool:
    match value:
        case ir.Index(_, key):
            return any(isinstance(part, ir.Slice) for part in key_parts(key))
        case ir.Attribute(_, name):
            return name in VIEW_ATTRIBUTES
        case ir.Call(fn=ir.Ref(obj=runtime.mirrored_view)):
            return True
        case _:
            return False


def _spread(arrays: set[str], same: list[set[str]]) -> set[str]:
    """With all that is assigned to or from one of them."""
    while True:
        more = {name for names in same if arrays & names for name in names} - arrays
        if not more:
            return arrays
        arrays = arrays | more


def _is_item(name: str, function: ir.Function, context: Context) -> bool:
    """Whether all that binds a name reads an item of something, by integers."""
    found = False
    for stmt in ir.statements(function.body):
        if name not in ir.binds(stmt):
            continue
        match stmt:
            case ir.Assign(value=ir.Index(_, key)):
                if not all(context.kind_of(part).integer for part in key_parts(key)):
                    return False
            case ir.For() | ir.Assign(value=ir.Var()):
                pass
            case _:
                return False
        found = True
    return found
