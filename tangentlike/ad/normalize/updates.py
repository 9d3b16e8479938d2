"""`a += b` is a rebinding for numbers and a write in place for arrays: which one it is here.

Where nobody can tell the difference it becomes `a = a + b`. Where only the running program can
say, and it matters, the function gets a check at its head of what its derivative assumes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from ... import ir
from ...analysis.aliases import Aliases, analyse_aliases
from ...analysis.memory import key_parts
from ...analysis.sharing import Sharing
from ...analysis.structure import Structure, structure
from ...errors import SharingError
from ...frontend.lower import names_of, reaching, renamed_webs
from ...ir.kind import UNKNOWN, Kind
from ..context import BECOMES, BINARY_OF, Context
from ..loops import leaves
from .assumptions import indexed_names, seeming_kinds, suggested_ranks
from .unpacking import items_of_unpacked

_OPEN = ("unknown", "value")  # forms that may be a number or an array


def rebind_updates(
    function: ir.Function, context: Context, shared: frozenset[str] = frozenset()
) -> tuple[ir.Function, Structure, Aliases]:
    """Turn `a += b` into `a = a + b` wherever nobody can tell the difference.

    That is where `a` is a number, or an array that is written in no other way and that no live
    name shares memory with. `shared` are parameters that a caller sees written.
    """
    assumed: dict[str, int | None] = {}
    function = items_of_unpacked(function, context, shared)
    kinds = dict(context.kinds)
    checked = function
    while True:
        try:
            return _rebind_private(checked, context, shared)
        except SharingError as refusal:
            context.kinds.clear()
            context.kinds.update(kinds)
            ranks = _assumed_ranks(function, frozenset(refusal.names), shared, context)
            more = {p: n for p, n in ranks.items() if p not in assumed}
            if not more:
                if refusal.together:
                    ranks = suggested_ranks(function, refusal.together, context)
                else:
                    ranks = seeming_kinds(function, refusal.names, context)
                more = {p: n for p, n in ranks.items() if p not in assumed}
            if not more:
                raise
            assumed |= more
            checked = _with_assumptions(function, assumed, context)


def _rebind_private(
    function: ir.Function, context: Context, shared: frozenset[str]
) -> tuple[ir.Function, Structure, Aliases]:
    numbers = {n for n, k in context.kinds.items() if k.form == "number"}
    function = rebound(function, numbers, context)
    while True:
        facts = structure(function, shared)
        sharing = Sharing(facts, context.sources())
        private = _private_updates(function, sharing, shared, context)
        if not private:
            _refuse_changed(function, context)
            _refuse_rebound(facts, shared)
            _require_arrays(function, sharing, context)
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


def _refuse_changed(function: ir.Function, context: Context) -> None:
    for name, stmt in _changed(function).items():
        other_way = (
            f"Set key by key, build a new dict, as in `{name} = {{**{name}, k: v}}`,"
            if context.kind_of(ir.Var(name)).form == "dict"
            else f"Append item by item, build a new list, as in "
            f"`{name} = {name}[:i] + [v] + {name}[i:]`,"
        )
        raise SharingError(
            f"`{name}` is changed as a whole while another name may refer to it",
            stmt.origin.place,
            f"Which item goes where is then not tracked. {other_way} or copy it where the two "
            "differ.",
            (name,),
        )


def _refuse_rebound(facts: Structure, shared: frozenset[str]) -> None:
    """A parameter whose writes the caller sees must stay the caller's object throughout."""
    for name in sorted(shared & facts.definitions.keys()):
        raise SharingError(
            f"`{name}` is written in place for the caller, and bound to another object here",
            facts.definitions[name][0].origin.place,
            f"Give the new object a name of its own, as in `new_{name} = ...`.",
        )


def _require_arrays(function: ir.Function, sharing: Sharing, context: Context) -> None:
    for name, stmt in _updated(function).items():
        if context.kind_of(ir.Var(name)).form in ("array", "list"):
            continue
        if any(_appends(other, name) for other in ir.statements(function.body)):
            _refuse_extended(name, stmt)
        if name not in sharing.indexed:
            raise SharingError(
                f"`{name}` may be a number (rebound here) or an array (written in place)",
                stmt.origin.place,
                "Another name may share its memory, so the two differ. Annotate the parameter it "
                "comes from (`x: float` or `x: np.ndarray`), of the function you derive, "
                "not of one that it calls, or pass `example=` arguments.",
                (name,),
            )


def _refuse_extended(name: str, stmt: ir.Stmt) -> None:
    raise SharingError(
        f"`{name}` may be a list (extended here) or an array (added to in place)",
        stmt.origin.place,
        "Give the two names of their own, or write `xs.extend(items)` for a list.",
    )


def _appends(stmt: ir.Stmt, name: str) -> bool:
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "append" | "extend" | "insert"))):
            return base == name
    return False


# ------------------------------------------------------------------------------ assumptions


def _with_assumptions(
    function: ir.Function, ranks: dict[str, int | None], context: Context
) -> ir.Function:
    """Let `t` in `t = A[i, j]`, and `s` in `s = x; s += v`, be numbers, checked when called.

    Were `A` of higher rank, `t` would be a view: `t -= v` would write into `A`, and a later
    write to `A` would be seen in `t`. Only where that would matter is this asked for. The
    checks stand at the head of the function or after the definition of a local name:
    `require_ndim(A, 2)`, `require_ndim(x, 0)`. What a callee writes by `p += v` is taken for an
    array: `require_array(p)`. What was checked is known: `infer_kinds` reads it from the text.
    """
    given = {p: context.kinds[p] for p in function.param_names}
    for name, rank in ranks.items():
        if name in given:
            form = "number" if rank == 0 else "array"
            shape = None if rank is None else (None,) * rank
            given[name] = Kind(form, given[name].dtype, shape)

    def checks(names: Iterable[str], origin: ir.Origin) -> ir.Block:
        return tuple(_check(n, ranks[n], origin, context) for n in names if n in ranks)

    def checked(stmt: ir.Stmt) -> ir.Block:
        if isinstance(stmt, ir.For):
            begin = checks(ir.target_names(stmt.target), stmt.origin)
            return (dataclasses.replace(stmt, body=(*begin, *stmt.body)),)
        if isinstance(stmt, ir.Assign):
            return (stmt, *checks(ir.target_names(stmt.target), stmt.origin))
        return (stmt,)

    head = checks(function.param_names, ir.Origin(function.place))
    function = ir.with_body(function, (*head, *ir.rewrite(function.body, after=checked)))
    context.infer_again(function, given)
    return function


def _check(name: str, rank: int | None, origin: ir.Origin, context: Context) -> ir.Stmt:
    if rank is None:
        return ir.Do(ir.Call(context.helper("require_array"), (ir.Var(name),)), origin)
    call = ir.Call(context.helper("require_ndim"), (ir.Var(name), ir.Const(rank)))
    return ir.Do(call, origin)


def _assumed_ranks(
    function: ir.Function, names: frozenset[str], shared: frozenset[str], context: Context
) -> dict[str, int | None]:
    """Array -> the number of dimensions that makes `names` numbers, not views (None: an
    array of any rank)."""
    ranks: dict[str, int | None] = {}
    higher: set[str] = set()  # what has items that are arrays
    names = names | _held(function, names)
    names = names | _copied(function, names)
    indexed = indexed_names(function)
    for stmt in ir.statements(function.body):
        for name, base, count in _items_read(stmt, context):
            array = _like_parameter(base, function, context)
            if not array or context.kinds.get(array, UNKNOWN).form in ("list", "tuple", "dict"):
                continue
            if context.kinds.get(name, UNKNOWN).form not in (*_OPEN, "number") or name in indexed:
                higher.add(array)
            elif name in names and context.kinds.get(name, UNKNOWN).form in _OPEN:
                ranks.setdefault(array, count)
        match stmt:
            case ir.Assign(target=str(name), value=ir.Var(base)) if name in names:
                whole = _like_parameter(base, function, context)
                whole = "" if {name, base, whole} & indexed else whole
                if whole in function.param_names and context.kinds.get(base, UNKNOWN).form in _OPEN:
                    ranks.setdefault(whole, None if whole in shared else 0)
    for name in sorted(names & set(_updated(function))):
        if name in function.param_names and context.kinds.get(name, UNKNOWN).form in _OPEN:
            ranks.setdefault(name, None if name in shared else 0)
    return {
        p: n
        for p, n in ranks.items()
        if context.kinds.get(p, UNKNOWN).rank is None and p not in higher
    }


def _items_read(stmt: ir.Stmt, context: Context) -> Iterator[tuple[str, str, int]]:
    """What a statement binds to items of arrays: the name, the array, the number of its keys."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Index(ir.Var(base), key)):
            parts = key_parts(key)
            if all(context.kind_of(p).integer for p in parts):
                yield name, base, len(parts)
        case ir.For(target=target, iter=iterable):
            for leaf in leaves(target, iterable, ir.Const(0)):
                if isinstance(leaf.target, str) and isinstance(leaf.source, ir.Var):
                    yield leaf.target, leaf.source.name, 1


def _copied(function: ir.Function, names: frozenset[str]) -> frozenset[str]:
    """The names that those names are bound to: `e = item`."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Var(base)) if name in names:
                found.add(base)
    return frozenset(found)


def _held(function: ir.Function, names: frozenset[str]) -> frozenset[str]:
    """The names that are put into lists of those names: `xs.append(t)`."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(xs), "append"), args=(ir.Var(item),))):
                if xs in names:
                    found.add(item)
    return frozenset(found)


def _like_parameter(name: str, function: ir.Function, context: Context) -> str:
    """The parameter that `name` is, or has the shape of, or else `name` itself, where all that
    binds it is assignments; '' otherwise."""
    params = function.param_names
    token = context.kinds.get(name, UNKNOWN).shape
    if name in params:
        return name
    if isinstance(token, str) and token in params:
        return token
    bound = [s for s in ir.statements(function.body) if name in ir.binds(s)]
    return name if all(isinstance(s, (ir.Assign, ir.Update)) for s in bound) else ""


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
