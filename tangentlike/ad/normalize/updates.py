"""`a += b` is a rebinding for numbers and a write in place for arrays: which one it is here.

Where nothing can tell the difference it becomes `a = a + b`. Where only the running program can
say, and it matters, adjoints by names are refused. So are they of lists and dicts that change as a
whole, other than at the end of a list: `append` and `pop()` are each other's inverse.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Iterator

from ... import ir
from ...analysis.aliases import Aliases, analyse_aliases
from ...analysis.operations import CONTAINER_METHODS, MUTATING_METHODS
from ...analysis.refusals import special_container
from ...analysis.sharing import Sharing
from ...analysis.structure import Structure, structure
from ...errors import UnsupportedError, not_by_names
from ...frontend.lower import names_of, reaching, renamed_webs
from ...ir.kind import UNKNOWN
from ..context import Context, operation
from .both_modes import operands_as_arrays

_CONTAINERS = ("list", "dict", "set", "unknown")
_ANY_LENGTH = ("list", "tuple", "unknown")
_OF_LISTS = {ir.IADD.obj: "+", operator.imul: "*"}  # what joins and repeats them in place


def refuse_changed_containers(
    function: ir.Function, wrt: Collection[str], context: Context
) -> ir.Function:
    """Refuse adjoints by names of lists and dicts that carry derivatives and are changed as a
    whole. Of `xs[a:b] = ys`, where nothing says whether `xs` is a list, the text checks that the
    length stays."""
    every = list(ir.statements(function.body))
    holding: list[tuple[str, frozenset[str]]] | None = None
    for stmt in every:
        match stmt:
            case ir.Store(target=ir.Index(ir.Var(name)), value=ir.Var(value)):
                holding = list(_holding(every, context)) if holding is None else holding
                if value in _holders(name, holding):
                    raise not_by_names(stmt.origin.place)
    if not any(_changed_by(s) or isinstance(s, ir.Update) for s in every):
        return function
    varied = context.varied(function, wrt)
    varied -= {special_container(stmt)[0] for stmt in ir.statements(function.body)}

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        name = _changed_by(stmt)
        form = context.kind_of(ir.Var(name)).form if name in varied else ""
        match stmt:
            case ir.Do(ir.Call(ir.Attribute(ir.Var() as xs, "extend"), args=(ir.Var() as ys,))):
                if form == context.kind_of(ys).form == "list":
                    yield from with_listed_items(ir.Update(xs, ir.IADD, ys, stmt.origin), context)
                    return
            case ir.Update(target=ir.Var(updated)) if updated in varied:
                yield from with_listed_items(stmt, context)
                return
        if isinstance(stmt, ir.Store):
            if form == "unknown" and context.kind_of(stmt.value).form in _ANY_LENGTH:
                yield context.check("require_as_many", (stmt.target, stmt.value), stmt.origin)
        elif form in _CONTAINERS:
            raise not_by_names(stmt.origin.place)
        yield stmt

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def _holding(every: list[ir.Stmt], context: Context) -> Iterator[tuple[str, frozenset[str]]]:
    """The names of what may be, or hold, other values, in order, with the names of those."""
    for made in every:
        match made:
            case ir.Assign(target=str(target), value=ir.Var() | ir.Display() | ir.Call() as expr):
                given = ir.arguments(expr) if isinstance(expr, ir.Call) else ir.children(expr)
                held = {part.name for part in (expr, *given) if isinstance(part, ir.Var)}
                if held and context.rule_for(expr) is None:
                    yield target, frozenset(held)


def _holders(name: str, holding: list[tuple[str, frozenset[str]]]) -> set[str]:
    """A container and what may hold it, for if one of these is put into it, it is put into itself.
    (The variable in which a function finds itself, `V_cell[0] = memo(step)`, if `step` captures
    `V_cell`.)"""
    found = {name}
    for target, held in holding:
        if not found.isdisjoint(held):
            found.add(target)
    return found


def with_listed_items(stmt: ir.Update, context: Context) -> list[ir.Stmt]:
    """`xs += ys` of a list, with `ys` as a list: an array or a NumPy number would make an array of
    the two, as it would in `xs *= n`. `d |= pairs` of a dict, with a dict of these."""
    form, value = context.kind_of(stmt.value).form, stmt.value
    grown = context.kind_of(stmt.target).form if isinstance(stmt.target, ir.Var) else ""
    if grown == "dict" and stmt.op.obj is operator.ior and form in ("list", "tuple"):
        return _with_value(stmt, ir.DICT, context)
    sign = _OF_LISTS.get(stmt.op.obj)
    if grown != "list" or sign is None:
        return [stmt]
    if sign == "*" and form == "number" and context.kind_of(stmt.value).discrete:
        return [stmt]
    if form == "list" and context.kind_of(stmt.value).dtype != "int":  # (a range may be)
        return [stmt]
    if form in ("array", "value", "number"):
        name = stmt.target.name  # type: ignore[union-attr]
        raise UnsupportedError(
            f"`{name}` is a list, and `{sign}=` with an array makes it an array",
            stmt.origin.place,
            f"Write what is meant: `{name} = np.asarray({name}) {sign} ...`, or "
            f"`{name}.extend(...)` for more items.",
        )
    check = context.check("require_sequence", (value,), stmt.origin)
    if sign == "*":
        return [check, stmt]
    checks = () if form in ("list", "tuple", "dict") else (check,)
    return [*checks, *_with_value(stmt, ir.LIST, context)]


def _with_value(stmt: ir.Update, made: ir.Ref, context: Context) -> list[ir.Stmt]:
    """The update by a list, or a dict, that is made of its value."""
    call = ir.Call(made, (stmt.value,), at=stmt.origin.place)
    items = context.fresh("items", context.kind_of(call), temporary=True)
    return [
        ir.Assign(items, call, stmt.origin),
        dataclasses.replace(stmt, value=ir.Var(items)),
    ]


_ADDED = """if isinstance(old, list): listed = list(items); result = old + listed
elif isinstance(old, tuple): result = old + items
else: array = np.asarray(items); result = old + array"""


def with_result(stmt: ir.Update, name: str, context: Context) -> list[ir.Stmt]:
    """The statements that bind a name to what an update of an item or a field makes of a value: of
    a list or a tuple, added to what is not known to be one, the text asks.

    before::                            after::
        old += (a, b)                       if isinstance(old, list): result = old + list(items)
                                            ...
    """
    *before, listed = with_listed_items(stmt, context)
    assert isinstance(listed, ir.Update)
    kinds = context.kind_of(stmt.target), context.kind_of(listed.value)
    made = ir.Assign(name, operation(listed), stmt.origin)
    asks = kinds[0].form in ("unknown", "value") and kinds[1].form == "tuple"
    if stmt.op.obj is not ir.IADD.obj or not asks:
        return [*before, made]
    found = context.instead(made, _ADDED, old=stmt.target, items=listed.value)
    context.kinds[name] = UNKNOWN
    return [*before, *found]


def _changed_by(stmt: ir.Stmt) -> str:
    """The name of what a statement changes as a whole if it is a list or a dict; else ''."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name), method), args=args)):
            at_the_end = method == "append" or (method == "pop" and not args)
            if method in CONTAINER_METHODS & MUTATING_METHODS and not at_the_end:
                return name
        case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(name), "pop" | "popleft"), args=args)):
            return name if args else ""
        case ir.Store(target=ir.Index(ir.Var(name), ir.Slice(step=None))):
            return name
    return ""


def rebind_updates(
    function: ir.Function,
    wrt: tuple[str, ...],
    context: Context,
    shared: frozenset[str] = frozenset(),
) -> tuple[ir.Function, Structure, Aliases]:
    """Turn `a += b` into `a = a + b` wherever nothing can tell the difference.

    That is where `a` is a number, or an array that is written in no other way and that no live
    name shares memory with. `shared` are parameters that a caller sees written.
    """
    numbers = {n for n, k in context.kinds.items() if k.form == "number"}
    function = _rebound(function, numbers, wrt, context)
    while True:
        facts = structure(function, shared)
        sharing = Sharing(facts, context.sources())
        private = _private_updates(function, sharing, shared, context)
        if not private:
            _refuse_changed(function, sharing, shared, context)
            return function, facts, analyse_aliases(sharing)
        function = _rebound(function, private, wrt, context)


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
    found: dict[str, ir.Stmt] = {}
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.Update) and isinstance(stmt.target, ir.Var):
            found.setdefault(stmt.target.name, stmt)
    return found


def _private_updates(
    function: ir.Function, sharing: Sharing, shared: frozenset[str], context: Context
) -> Collection[str]:
    """Names never seen through another name. Arrays that are written in other ways as well are
    left alone; for what may be a number, rebinding is the one reading that is always right."""
    updated = _updated(function).keys()
    if not updated:
        return updated
    written: set[str] = set()
    sources = context.sources()
    for stmt in ir.statements(function.body):
        if not (isinstance(stmt, ir.Update) and isinstance(stmt.target, ir.Var)):
            written.update(sources.written(stmt))
    seen = {name for name, _ in sharing.conflicts}
    arrays = {n for n in written if context.kind_of(ir.Var(n)).form == "array"}
    lists = {n for n in written if context.kind_of(ir.Var(n)).form == "list"}
    left = arrays | ((written & sharing.indexed) - lists) | seen | shared
    classes = sharing.classes if sharing.conflicts else {}
    met = {classes.get(node, node) for pair in sharing.conflicts for node in pair}
    return {n for n in updated - left if classes.get(n, n) not in met or _has_axes(n, context)}


def _has_axes(name: str, context: Context) -> bool:
    """Whether a name stands for no array of rank 0, of which `a + b` would make a number: what is
    written by another name of the array would not be seen."""
    kind = context.kind_of(ir.Var(name))
    return kind.form == "number" or bool(kind.rank)


def _refuse_changed(
    function: ir.Function, sharing: Sharing, shared: frozenset[str], context: Context
) -> None:
    """Refuse adjoints by names of what may be changed under another name as well."""
    definitions = sharing.facts.definitions
    # A parameter whose writes the caller sees must stay the caller's object throughout.
    changed = [definitions[name][0] for name in sorted(shared & definitions.keys())]
    for name, stmt in _updated(function).items():
        if context.kind_of(ir.Var(name)).form == "list":
            changed.append(stmt)
        elif context.kind_of(ir.Var(name)).form != "array":
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


def rebound(function: ir.Function, names: Collection[str], context: Context) -> ir.Function:
    """`a = a + b` for `a += b`, of the given names."""

    def statement(stmt: ir.Stmt) -> ir.Stmt | None:
        match stmt:
            case ir.Update(target=ir.Var(name)) if name in names:
                return ir.Assign(name, operation(stmt), stmt.origin, updates=True)
        return None

    body = ir.rewrite(function.body, statement)
    return (
        function if body is function.body else _split_again(ir.with_body(function, body), context)
    )


def _rebound(
    function: ir.Function, names: Collection[str], wrt: tuple[str, ...], context: Context
) -> ir.Function:
    """The same; with a name for each value, `a` may turn out to be a tuple, of which NumPy makes an
    array."""
    made = rebound(function, names, context)
    return made if made is function else operands_as_arrays(made, wrt, context)
