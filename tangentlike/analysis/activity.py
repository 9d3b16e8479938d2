"""Activity: which names carry derivatives from the inputs asked for to the result.

A name is *varied* if it depends differentiably on an input and *useful* if the result depends
differentiably on it; only names that are both get tangents and adjoints.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .. import ir
from ..errors import UnsupportedError
from ..kind import UNKNOWN, Kind
from .flow import EffectsOf, Flow, flow_edges
from .operations import (
    is_container_method,
    is_python_function,
    is_stop_gradient,
    operands,
    rule_object,
)

__all__ = ["active_names", "refuse_unknown", "rule_object", "varied_names", "written_parameters"]


def active_names(
    function: ir.Function,
    wrt: Collection[str],
    kinds: Mapping[str, Kind],
    book: Any,
    targets: Collection[str] | None = None,
    effects: EffectsOf | None = None,
) -> frozenset[str]:
    """The names that are varied and useful.

    `targets` are names useful besides the returned value: what the caller sees change; by
    default the parameters that the function writes in place. `effects(call)` says which
    arguments a user's function may write or return (None where unknown: then any).

    >>> from ..frontend import program
    >>> sorted(active_names(program("b = a; n = 2.0; return b"), ["a"], {}, None))
    ['a', 'b']
    """
    flow = flow_edges(function, kinds, book, effects)
    if targets is None:
        targets = written_parameters(function, flow)
    varied = _reachable(wrt, flow.successors, kinds)
    wanted = (*_returned(function, kinds, book), *targets)
    useful = _reachable(wanted, flow.predecessors, kinds)
    found = varied & useful
    _refuse_hidden_sharing(function, flow, found)
    return frozenset(name for name in found if not name.endswith("[*]"))


def varied_names(
    function: ir.Function,
    wrt: Collection[str],
    kinds: Mapping[str, Kind],
    book: Any,
    effects: EffectsOf | None = None,
) -> frozenset[str]:
    """The names that depend differentiably on `wrt`, useful or not."""
    flow = flow_edges(function, kinds, book, effects)
    found = _reachable(wrt, flow.successors, kinds)
    return frozenset(name for name in found if not name.endswith("[*]"))


def written_parameters(function: ir.Function, flow: Flow) -> tuple[str, ...]:
    """The parameters whose memory the function may write, in order."""
    return tuple(
        name
        for name in function.param_names
        if flow.is_written(name) or flow.is_written(f"{name}[*]")
    )


def _returned(function: ir.Function, kinds: Mapping[str, Kind], book: Any) -> tuple[str, ...]:
    """The names the returned value depends on differentiably."""
    last = function.body[-1] if function.body else None
    if not isinstance(last, ir.Return) or last.value is None:
        return ()
    result = ir.Assign("$result", last.value, last.origin)
    tail = ir.Function(function.name, function.params, (result,), function.place)
    return tuple(flow_edges(tail, kinds, book).predecessors.get("$result", ()))


def _reachable(
    starts: Iterable[str], edges: Mapping[str, list[str]], kinds: Mapping[str, Kind]
) -> set[str]:
    """Everything reachable that can carry a derivative."""
    found: set[str] = set()
    pending = list(starts)
    while pending:
        name = pending.pop()
        if name in found or kinds.get(name, UNKNOWN).discrete:
            continue
        found.add(name)
        pending.extend(edges.get(name, ()))
    return found


def _refuse_hidden_sharing(function: ir.Function, flow: Flow, active: set[str]) -> None:
    """`y = stop_gradient(x)` is x itself: a write through y would change x unseen."""
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj), args=(x, *_))):
                if is_stop_gradient(obj) and any(map(flow.is_written, (name, *ir.names_in(x)))):
                    raise UnsupportedError(
                        f"`{name}` shares its memory with the argument of stop_gradient, "
                        "and it is written in place",
                        stmt.origin.place,
                        "Write into a copy: stop_gradient(x.copy()).",
                    )


# ---------------------------------------------------------------------------- refusals


def refuse_unknown(
    function: ir.Function,
    active: Collection[str],
    book: Any,
    kinds: Mapping[str, Kind] | None = None,
    wrt: Collection[str] = (),
) -> None:
    """Refuse active values that go where no derivative is known.

    That is an operation with neither a rule nor Python source, or code that travels as text (a
    comprehension, a lambda, ...) on the way to an active name.
    """
    known = kinds or {}
    for stmt in ir.statements(function.body):
        for expr, matters in _operations(stmt, active):
            culprits = [n for n in operands(expr, known, book) if n in active]
            if culprits and matters:
                _check(expr, culprits, stmt, function, active, book, known, wrt)


def _operations(stmt: ir.Stmt, active: Collection[str]) -> list[tuple[ir.Expr, bool]]:
    """The operations of a statement and whether their result carries derivatives on."""
    match stmt:
        case ir.Assign(target=target, value=value):
            return [(value, any(n in active for n in ir.target_names(target)))]
        case ir.Do(value=value):
            return [(value, isinstance(value, ir.Call))]
        case ir.For(target=target, iter=iterable):
            return [(iterable, any(n in active for n in ir.target_names(target)))]
        case ir.Store(target=target, value=value):
            return [(value, True), (target, True)]
        case ir.Update(value=value):
            return [(value, True)]
        case ir.Return(value=value) if value is not None:
            return [(value, True)]
        case _:
            return []


def _check(
    expr: ir.Expr,
    culprits: list[str],
    stmt: ir.Stmt,
    function: ir.Function,
    active: Collection[str],
    book: Any,
    kinds: Mapping[str, Kind],
    wrt: Collection[str],
) -> None:
    why = _reason(culprits[0], function, wrt)
    match expr:
        case ir.Opaque() | ir.Lazy():
            place = getattr(expr, "at", None) or stmt.origin.place
            what = f"`{expr.text}`" if isinstance(expr, ir.Opaque) else "this expression"
            raise UnsupportedError(
                f"{what} is not differentiated, and `{culprits[0]}` in it carries derivatives",
                place,
                f"{why} Write it with a loop or plain statements, or apply tl.stop_gradient.",
            )
        case ir.Call():
            _check_call(expr, why, culprits[0], stmt, active, book, kinds)


def _check_call(
    call: ir.Call,
    why: str,
    culprit: str,
    stmt: ir.Stmt,
    active: Collection[str],
    book: Any,
    kinds: Mapping[str, Kind],
) -> None:
    obj = rule_object(call, kinds)
    if is_container_method(call, kinds) or obj in (range, zip, enumerate, reversed):
        return
    if isinstance(call.fn, ir.Ref) and is_stop_gradient(obj):
        return
    if obj is None:
        return  # known when it runs; the transforms ask the callees for it
    if book.find(obj) is not None or book.is_nondifferentiable(obj) or is_python_function(obj):
        return
    name = _qualified(call, obj)
    raise UnsupportedError(
        f"no derivative rule for {name}",
        call.at or stmt.origin.place,
        f"{why} Add a rule with @tl.rule({name}), mark it with nondifferentiable({name}), "
        "or apply tl.stop_gradient to its argument.",
    )


def _qualified(call: ir.Call, obj: Any) -> str:
    if isinstance(call.fn, ir.Ref):
        return call.fn.text
    qualified = getattr(obj, "__qualname__", None) or "this call"
    return f"np.{qualified}" if qualified.startswith("ndarray.") else str(qualified)


def _reason(name: str, function: ir.Function, wrt: Collection[str]) -> str:
    """Why a name is active: an input itself, or where it gets its dependence."""
    if name in wrt or name in function.param_names:
        return f"`{name}` is active: the derivative with respect to it was asked for."
    roots = [p for p in function.param_names if not wrt or p in wrt]
    for stmt in ir.statements(function.body):
        if name in ir.binds(stmt):
            line = stmt.origin.place.line
            known = sorted(ir.reads(stmt) & set(roots)) or sorted(ir.reads(stmt)) or roots
            return f"`{name}` is active because it depends on `{known[0]}` (line {line})."
    return f"`{name}` is active."
