"""Activity: which names carry derivatives from the inputs asked for to the result.

A name is *varied* if it depends differentiably on an input and *useful* if the result depends
differentiably on it; only names that are both get tangents and adjoints.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .. import ir
from ..errors import UnsupportedError, WrtError
from ..frontend.lower import Lowered, names_of
from ..ir.kind import UNKNOWN, Kind
from ..runtime import on_adjoint
from .flow import ASKED, MANAGED, OUTSIDE, EffectsOf, Flow, flow_edges
from .operations import is_stop_gradient, rule_object
from .refusals import refuse_unknown

__all__ = ["active_names", "refuse_unknown", "rule_object", "varied_names", "written_parameters"]


def active_names(
    function: ir.Function,
    wrt: Collection[str],
    kinds: Mapping[str, Kind],
    book: Any,
    targets: Collection[str] | None = None,
    effects: EffectsOf | None = None,
    flow: Flow | None = None,
) -> frozenset[str]:
    """The names that are varied and useful.

    `targets` are names useful besides the returned value: what the caller sees change; by
    default the parameters that the function writes in place. `effects(call)` says which
    arguments a user's function may write or return (None where unknown: then any). `flow` is
    that of the function, where it is known.

    >>> from ..frontend.lower import program
    >>> sorted(active_names(program("b = a; n = 2.0; return b"), ["a"], {}, None))
    ['a', 'b']
    """
    flow = flow or flow_edges(function, kinds, book, effects)
    found = _carrying(function, flow, wrt, kinds, book, targets)
    _refuse_hidden_sharing(function, flow)
    return _names_only(found)


def useful_names(
    function: ir.Function,
    flow: Flow,
    kinds: Mapping[str, Kind],
    book: Any,
    result_only: bool = False,
) -> frozenset[str]:
    """The names on which the result depends, or, not with `result_only`, what others see."""
    wanted: tuple[str, ...] = tuple(_returned(function, kinds, book))
    if not result_only:
        wanted = (*wanted, *written_parameters(function, flow), OUTSIDE, MANAGED)
    return reaching(flow, wanted)


def carrying_names(
    function: ir.Function, flow: Flow, wrt: Collection[str], kinds: Mapping[str, Kind], book: Any
) -> frozenset[str]:
    """`active_names`, asked before it is settled which names share memory."""
    return _names_only(_carrying(function, flow, wrt, kinds, book, None))


def _carrying(
    function: ir.Function,
    flow: Flow,
    wrt: Collection[str],
    kinds: Mapping[str, Kind],
    book: Any,
    targets: Collection[str] | None,
) -> set[str]:
    if targets is None:
        targets = written_parameters(function, flow)
    varied = _reachable(wrt, flow.successors, kinds)
    wanted = (*_returned(function, kinds, book), *targets, OUTSIDE, MANAGED, ASKED)
    found = varied & _reachable(wanted, flow.predecessors, kinds)
    return found - _functions_for_constants(function, book)


def _functions_for_constants(function: ir.Function, book: Any) -> set[str]:
    """Function values that only calls without a derivative take, `found = solved(partial(f, a))`:
    what they capture is a constant there."""
    made: set[str] = set()
    others: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=functools.partial))):
                others.update(ir.reads(stmt), made & {name})
                made.add(name)
            case ir.Assign(target=target, value=ir.Call(fn=ir.Ref(obj=obj))) if (
                book is not None and book.is_nondifferentiable(obj)
            ):
                others.update(ir.target_names(target))
            case _:
                others.update((*ir.reads(stmt), *ir.binds(stmt)))
    return made - others


def varied_names(flow: Flow, wrt: Collection[str], kinds: Mapping[str, Kind]) -> frozenset[str]:
    """The names that depend differentiably on `wrt`, useful or not."""
    return _names_only(_reachable(wrt, flow.successors, kinds))


def reaching(flow: Flow, names: Iterable[str]) -> frozenset[str]:
    """The names on which these depend differentiably, and they themselves."""
    return _names_only(_reachable(names, flow.predecessors, {}))


def _names_only(nodes: Iterable[str]) -> frozenset[str]:
    """Without the nodes for what containers hold and for the outside."""
    return frozenset(name for name in nodes if name.isidentifier())


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


def _refuse_hidden_sharing(function: ir.Function, flow: Flow) -> None:
    """`y = stop_gradient(x)` is x itself, and so is `on_adjoint(x, f)`: a write through y would
    change x unseen, and the adjoint of one would be that of the other."""
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj), args=(x, *_))):
                hidden = is_stop_gradient(obj) or obj is on_adjoint
                if hidden and any(map(flow.is_written, (name, *ir.names_in(x)))):
                    raise UnsupportedError(
                        f"`{name}` shares its memory with the argument of {obj.__name__}, "
                        "and it is written in place",
                        stmt.origin.place,
                        f"Pass a copy, as in {obj.__name__}(x.copy()).",
                    )


# --------------------------------------------------------------------------------------------------
# Derivatives with respect to a local variable: which ones that can be.


def refuse_local_inputs(
    function: ir.Function,
    wrt: tuple[str, ...],
    original: Mapping[str, str],
    kinds: Mapping[str, Kind],
) -> None:
    """Refuse names of `wrt` that are no parameters and not assigned once, outside branches and
    loops: only then is there one value to speak of.

    `original` says which of the user's names a name of the lowered function stands for.
    """
    for name in wrt:
        if name not in function.param_names:
            _check(function, name, original, kinds)


def _check(
    function: ir.Function, name: str, original: Mapping[str, str], kinds: Mapping[str, Kind]
) -> None:
    found = [
        stmt
        for stmt in ir.statements(function.body)
        if any(original.get(bound, bound) == name for bound in ir.binds(stmt))
    ]
    if not found:
        raise WrtError(
            f"{function.name} has no variable `{name}` of its own",
            function.place,
            "A variable of a comprehension or of a function inside it does not count.",
        )
    lines = sorted({stmt.origin.place.line for stmt in found})
    first = found[0]
    if len(found) > 1:
        raise WrtError(
            f"`{name}` is assigned more than once (lines {', '.join(map(str, lines))})",
            found[1].origin.place,
            "Give the value you mean a name of its own.",
        )
    if not isinstance(first, ir.Assign) or all(first is not stmt for stmt in function.body):
        raise WrtError(
            f"`{name}` is assigned inside a loop or a branch",
            first.origin.place,
            "Then it has no value, or several. Assign the one you mean outside.",
        )
    if _begun(first):
        raise WrtError(
            f"`{name}` is empty where it is assigned",
            first.origin.place,
            f"Give it a second name when it is complete, as in `whole = {name}`, and name that.",
        )
    if kinds.get(name, UNKNOWN).discrete:
        raise WrtError(
            f"`{name}` carries no derivative: it is not a float or an array of floats",
            first.origin.place,
            "Name a variable that holds floats.",
        )


def comprehensions_whole(lowered: Lowered, wrt: tuple[str, ...]) -> Lowered:
    """A function in which a name of `wrt` is bound when its comprehension has run to its end.

    Before: `h = []; for v in x: h.append(v * v)`, which is `h = [v * v for v in x]`.
    After: `items = []; for v in x: items.append(v * v)`, and then `h = items`.
    """
    body: list[ir.Stmt] = []
    names = names_of(lowered.function)
    fresh: dict[str, str] = {}
    for stmt in lowered.function.body:
        first = body[-1] if body else None
        name = _begun(first)
        here = isinstance(stmt, ir.For) and first and stmt.origin.place == first.origin.place
        if here and lowered.original.get(name, name) in wrt and name in _filled(stmt):
            fresh[name] = names.fresh("items")
            body[-1:] = ir.renamed((body[-1], stmt), {name: ir.Var(fresh[name])})
            body.append(ir.Assign(name, ir.Var(fresh[name]), stmt.origin))
        else:
            body.append(stmt)
    if not fresh:
        return lowered
    return lowered.with_body(tuple(body), fresh.values())


def _begun(stmt: ir.Stmt | None) -> str:
    """The name of the list or dict that a statement begins."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Display(items=())):
            return name
    return ""


def _filled(loop: ir.Stmt) -> frozenset[str]:
    """The names of what the rounds of a loop add to."""
    found = set()
    for stmt in ir.statements((loop,)):
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name)))):
                found.add(name)
            case ir.Store(target=ir.Index(ir.Var(name))):
                found.add(name)
    return frozenset(found)
