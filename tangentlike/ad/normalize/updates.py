"""`a += b` is a rebinding for numbers and a write in place for arrays: which one it is here.

Where nobody can tell the difference it becomes `a = a + b`. Where only the running program can
say, and it matters, adjoints by names are refused.
"""

from __future__ import annotations

from ... import ir
from ...analysis.aliases import Aliases, analyse_aliases
from ...analysis.sharing import Sharing
from ...analysis.structure import Structure, structure
from ...errors import not_by_names
from ...frontend.lower import names_of, reaching, renamed_webs
from ..context import BECOMES, BINARY_OF, Context


def rebind_updates(
    function: ir.Function, context: Context, shared: frozenset[str] = frozenset()
) -> tuple[ir.Function, Structure, Aliases]:
    """Turn `a += b` into `a = a + b` wherever nobody can tell the difference.

    That is where `a` is a number, or an array that is written in no other way and that no live
    name shares memory with. `shared` are parameters that a caller sees written.
    """
    numbers = {n for n, k in context.kinds.items() if k.form == "number"}
    function = rebound(function, numbers, context)
    while True:
        facts = structure(function, shared)
        sharing = Sharing(facts, context.sources())
        private = _private_updates(function, sharing, shared, context)
        if not private:
            _refuse_changed(function, sharing, shared, context)
            return function, facts, analyse_aliases(sharing)
        function = rebound(function, private, context)


def _split_again(function: ir.Function, context: Context) -> ir.Function:
    """A function that binds names anew, with a name for each web again, and kinds of these."""
    function, before = renamed_webs(function, reaching(function), names_of(function))
    context.original.update({n: context.original.get(b, b) for n, b in before.items()})
    given = {p: context.kinds[p] for p in function.param_names if p in context.kinds}
    context.infer_again(function, given)
    context.names.take(n for s in ir.statements(function.body) for n in ir.binds(s))
    return function


def _updated(function: ir.Function) -> dict[str, ir.Stmt]:
    """Names that are targets of `name op= value`."""
    return {name: stmts[0] for name, stmts in _updates(function).items()}


def _updates(function: ir.Function) -> dict[str, list[ir.Update]]:
    found: dict[str, list[ir.Update]] = {}
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.Update) and isinstance(stmt.target, ir.Var):
            found.setdefault(stmt.target.name, []).append(stmt)
    return found


def _private_updates(
    function: ir.Function, sharing: Sharing, shared: frozenset[str], context: Context
) -> set[str]:
    """Names never seen through another name. Arrays that are written in other ways as well are
    left alone; for what may be a number, rebinding is the one reading that is always right."""
    written: set[str] = set()
    sources = context.sources()
    for stmt in ir.statements(function.body):
        if not (isinstance(stmt, ir.Update) and isinstance(stmt.target, ir.Var)):
            written.update(sources.written(stmt))
    seen = {name for name, _ in sharing.conflicts}
    arrays = {n for n in written if context.kind_of(ir.Var(n)).form in ("array", "list")}
    left = arrays | (written & sharing.indexed) | seen | shared
    changed = _changed(function).keys() - seen - shared
    return {n for n in _updated(function) if n not in left or n in changed}


def _changed(function: ir.Function) -> dict[str, ir.Stmt]:
    """The containers that some statement changes as a whole."""
    found: dict[str, ir.Stmt] = {}
    for name, stmts in _updates(function).items():
        for stmt in stmts:
            if stmt.op is BECOMES:
                found[name] = stmt
    return found


def _refuse_changed(
    function: ir.Function, sharing: Sharing, shared: frozenset[str], context: Context
) -> None:
    """Refuse adjoints by names of what may be changed under another name as well."""
    definitions = sharing.facts.definitions
    changed: list[ir.Stmt] = [*_changed(function).values()]
    # A parameter whose writes the caller sees must stay the caller's object throughout.
    changed += [definitions[name][0] for name in sorted(shared & definitions.keys())]
    for name, stmt in _updated(function).items():
        if context.kind_of(ir.Var(name)).form not in ("array", "list"):
            appends = any(_appends(other, name) for other in ir.statements(function.body))
            if appends or name not in sharing.indexed:
                changed.append(stmt)  # (a number, which is bound anew, or what is written)
    if changed:
        raise not_by_names(changed[0].origin.place)


def _appends(stmt: ir.Stmt, name: str) -> bool:
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "append" | "extend" | "insert"))):
            return base == name
    return False


def rebound(function: ir.Function, names: set[str], context: Context) -> ir.Function:
    """`a = a + b` for `a += b`, of the given names."""

    def statement(stmt: ir.Stmt) -> ir.Stmt | None:
        if isinstance(stmt, ir.Update) and isinstance(stmt.target, ir.Var):
            name = stmt.target.name
            if name in names and stmt.op is BECOMES:
                return ir.Assign(name, stmt.value, stmt.origin)
            if name in names:
                text, op = BINARY_OF[stmt.op.obj]
                call = ir.Call(ir.Ref(text, op), (stmt.target, stmt.value), at=stmt.origin.place)
                return ir.Assign(name, call, stmt.origin)
        return None

    body = ir.rewrite(function.body, statement)
    return (
        function if body is function.body else _split_again(ir.with_body(function, body), context)
    )
