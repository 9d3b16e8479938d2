"""Forward mode: beneath each statement, the statement that computes its tangent.

    def f(x):                       def f_jvp(x, x_dot):
        y = np.sin(x)                   y = np.sin(x)
        return y                        y_dot = np.cos(x) * x_dot
                                        return y, y_dot

Every name that carries a derivative has a tangent with the same structure and the same sharing of
memory: a view has the same view of the tangent's buffer, a write in place is mirrored, a list
has a list. So nothing needs to be saved, and the primal's effects run once, in order.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from ... import ir
from ...analysis.declared import kind_from_annotation
from ...analysis.flow import Flow
from ...analysis.memory import element
from ...analysis.structure import structure
from ...frontend.jumps import names_constant
from ...frontend.owners import is_numerical
from ...ir.index import OUTERMOST
from ...ir.names import Names
from ..context import Context
from ..fragile import Discarded, Held
from .assign import assignment
from .state import Tangents
from .writes import effect, store, update


def forward(
    function: ir.Function,
    wrt: Sequence[str],
    active: Collection[str],
    context: Context,
    name: str = "",
    written: Collection[str] | None = None,
    exposed: bool = False,
) -> ir.Function:
    """The tangent function `<f>_jvp`: f's parameters, then a tangent for each of `wrt`.

    It returns `(value, tangent)`. Parameters that are `written` are copied first, whatever depends
    on them, so that the caller's objects stay as they are; with None, for a callee, none is.
    `exposed` says that the caller may write in place what f is given or gives back.

    Before: `def f(a): b = np.sin(a); return b`. After: `def f_jvp(a, a_dot): b = np.sin(a);
    b_dot = np.cos(a) * a_dot; return b, b_dot`.
    """
    flow = context.flow(function)
    named = tangent_parameters(function, wrt)
    context.names.take(named.values())
    discarded = Discarded(function, frozenset(active), context)
    held = Held(function, frozenset(active), context, flow.is_written)
    state = Tangents(context, frozenset(active), flow, discarded, held, dict(named))
    state.parameters = frozenset(function.param_names) if written is None else frozenset()
    state.exposed = _exposed(function, flow) if exposed else frozenset()
    state.real = context.real
    state.adopt_kinds(named)
    state.caught = _caught(function)
    head = [] if written is None else _copies(function, wrt, state, frozenset(written))
    head += _zeros(function, wrt, state)
    body = _WithTangents(state).block(function.body)
    return dataclasses.replace(
        function,
        name=name or context.names.fresh(f"{function.name}_jvp"),
        params=_signature(function, named),
        body=(*head, *body),
        doc=function.doc_of("Value and tangent"),
        empties=(*function.empties, *(named[p] for p in function.empties if p in named)),
        shadows=(*function.shadows, *(named[p] for p in function.shadows if p in named)),
    )


def tangent_only(function: ir.Function) -> ir.Function:
    """A tangent function that keeps the value to itself; what only that needs is dead code.

    Before: `...; return y, y_dot`. After: `...; return y_dot`.
    """
    *body, end = function.body
    if not isinstance(end, ir.Return) or not isinstance(end.value, ir.Display):
        return function
    end = dataclasses.replace(end, value=end.value.items[1])
    return dataclasses.replace(function, body=(*body, end))


def _caught(function: ir.Function) -> dict[int, frozenset[str]]:
    """For each `try`, the names that are live where its exception is caught."""
    found = [s for s in ir.statements(function.body) if isinstance(s, ir.Try)]
    facts = structure(function) if found else None
    return {id(s): facts.live_in(facts.block(s, 1)) for s in found if facts is not None}


def tangent_parameters(function: ir.Function, wrt: Sequence[str]) -> dict[str, str]:
    """The names of the tangent parameters; they follow from the function alone.

    So that a caller knows them before (or while) the callee's tangent function is made.
    """
    names = Names((*function.param_names, *function.free))
    for stmt in ir.statements(function.body):
        names.take(ir.binds(stmt))
        names.take(ir.reads(stmt))
        for expr in ir.expressions(stmt):
            refs = (e for e in ir.walk(expr) if isinstance(e, ir.Ref))
            names.take(ref.text.partition(".")[0] for ref in refs)
    return {name: names.fresh(f"{name}_dot") for name in wrt}


def _signature(function: ir.Function, named: dict[str, str]) -> tuple[ir.Param, ...]:
    """Tangents are ordinary parameters where f has only such, else keyword-only ones."""
    plain = all(p.kind in ("any", "positional") and p.default is None for p in function.params)
    kind = "any" if plain else "keyword"
    annotations = {p.name: p.annotation for p in function.params}
    dots = tuple(
        ir.Param(dot, kind, annotation=_of_tangent(annotations.get(name, "")))
        for name, dot in named.items()
    )
    rest = tuple(p for p in function.params if p.kind == "**")
    return (*(p for p in function.params if p.kind != "**"), *dots, *rest)


def _of_tangent(annotation: str) -> str:
    """The annotation of a tangent: that of its value, if this is a number or an array."""
    known = kind_from_annotation(annotation).form in ("number", "array")
    return annotation if known else ""


def _exposed(function: ir.Function, flow: Flow) -> frozenset[str]:
    """What a caller may write when the function is done with it: results, arguments that something
    may have been put into, and what these hold."""
    last = function.body[-1] if function.body else None
    value = last.value if isinstance(last, ir.Return) else None
    names = frozenset() if value is None else ir.names_in(value)
    names |= {p for p in function.param_names if any(map(flow.is_written, (p, element(p))))}
    return names | frozenset(map(element, names))


def given_twice(function: ir.Function, active: Collection[str], context: Context) -> frozenset[str]:
    """The names, not `active`, of memory that a caller gets in more than one way and may write:
    its tangent is one.

    before::                                  after::
        buf = np.zeros(3)                         buf = np.zeros(3)
        return (buf, k), [buf]                    buf_dot = np.zeros_like(buf)
                                                  return .., ((buf_dot, k_dot), [buf_dot])
    """
    flow, facts = context.flow(function), structure(function)
    exposed = set(map(flow.group, _exposed(function, flow)))
    ways: Counter[str] = Counter()
    found: dict[str, set[str]] = {}

    def groups(name: str) -> set[str]:
        """The exposed groups of a name that may be memory, and has no tangent."""
        kind = context.kind_of(ir.Var(name))
        if name in active or kind.discrete or kind.form in ("number", "other"):
            return set()
        return {flow.group(name), flow.group(element(name))} & exposed

    for stmt in ir.statements(function.body):
        loop = facts.outer_loop[facts.block_of(stmt)]
        for name in _held(stmt):
            made = facts.definitions.get(name, ())
            again = loop != OUTERMOST and all(
                facts.outer_loop[facts.block_of(d)] != loop for d in made
            )
            for group in groups(name):
                ways[group] += 1 + again
                found.setdefault(group, set()).add(name)
    twice = {name for group, names in found.items() if ways[group] > 1 for name in names}
    pending = list(twice)
    while pending:  # (what these are parts of)
        for stmt in facts.definitions.get(pending.pop(), ()):
            more = {n for n in ir.reads(stmt) if groups(n)} - twice
            twice |= more
            pending += more
    return frozenset(twice)


def _held(stmt: ir.Stmt) -> Iterator[str]:
    """The names of what a statement gives back, or puts where it may be found again."""
    match stmt:
        case ir.Return(value=ir.Var(name)) | ir.Store(value=ir.Var(name)):
            yield name
    for part in ir.walk_statement(stmt):
        match part:
            case ir.Display(items=items):
                yield from (item.name for item in items if isinstance(item, ir.Var))
            case ir.Call(fn=fn) if not (isinstance(fn, ir.Ref) and is_numerical(fn.obj)):
                yield from (e.name for e in ir.arguments(part) if isinstance(e, ir.Var))


def _copies(
    function: ir.Function, wrt: Sequence[str], state: Tangents, written: frozenset[str]
) -> list[ir.Stmt]:
    """Copies of the parameters that are written, and of their tangents."""
    out: list[ir.Stmt] = []
    for name in function.param_names:
        if name in written or any(map(state.flow.is_written, (name, element(name)))):
            copy = state.copy_of(ir.Var(name), name)
            out.append(ir.Assign(name, copy, ir.Origin(function.place, "primal")))
            if name in wrt and name in state.active:
                dot = state.dot(name)
                copy = state.copy_of(ir.Var(dot), name)
                out.append(ir.Assign(dot, copy, ir.Origin(function.place, "tangent")))
    return out


def _zeros(function: ir.Function, wrt: Sequence[str], state: Tangents) -> list[ir.Stmt]:
    """Zero tangents of parameters that become active only later."""
    origin = ir.Origin(function.place, "tangent")
    late = (n for n in function.param_names if n in state.active and n not in wrt)
    return [ir.Assign(state.dot(n), state.zeros(ir.Var(n)), origin) for n in late]


@dataclasses.dataclass
class _WithTangents(ir.Rewriter):
    """Primal statements with their tangent statements, in the order in which they must run."""

    state: Tangents

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        state = self.state
        state.origin = stmt.origin
        match stmt:
            case ir.Assign():
                return state.discarded.wrapped(stmt, assignment(stmt, state))
            case ir.Store():
                return store(stmt, state)
            case ir.Update():
                return state.discarded.wrapped(stmt, update(stmt, state))
            case ir.Do():
                return effect(stmt, state)
            case ir.For():
                target, iterable = loop_header(stmt.target, stmt.iter, state)
                return dataclasses.replace(self.inside(stmt), target=target, iter=iterable)
            case ir.Try():
                return attempt(stmt, state.caught[id(stmt)], state.context, self.block)
            case ir.Return():
                value = stmt.value if stmt.value is not None else ir.Const(None)
                both = ir.Display("tuple", (value, state.tangent_or_zeros(value)))
                return dataclasses.replace(stmt, value=both)
        return None


# --------------------------------------------------------------------------------------------------
# Loops over active values run over values and tangents side by side.


def loop_header(target: ir.Target, iterable: ir.Expr, state: Tangents) -> tuple[ir.Target, ir.Expr]:
    """Target and iterable of a loop, with tangents where the loop variables have one.

    `for x in xs` becomes `for x, x_dot in zip(xs, xs_dot)`, `for i, x in enumerate(xs)`
    becomes `for i, (x, x_dot) in enumerate(zip(xs, xs_dot))`.
    """
    if not _active(target, state):
        return target, iterable
    if isinstance(iterable, ir.Call) and isinstance(iterable.fn, ir.Ref):
        obj, args = iterable.fn.obj, iterable.args
        if obj is enumerate and isinstance(target, tuple) and not iterable.kwargs:
            inner, items = loop_header(target[1], args[0], state)
            return (target[0], inner), ir.Call(iterable.fn, (items, *args[1:]), at=iterable.at)
        if obj is zip and isinstance(target, tuple) and len(target) == len(args):
            return _side_by_side(target, iterable, state)
    both = ir.Call(ir.ZIP, (iterable, _tangents_of(iterable, state)))
    return (target, state.target(target)), both


def _side_by_side(
    target: tuple[ir.Target, ...], iterable: ir.Call, state: Tangents
) -> tuple[ir.Target, ir.Expr]:
    """`for x, y in zip(xs, ys)` becomes `for x, y, x_dot in zip(xs, ys, xs_dot)`."""
    targets, items = list(target), list(iterable.args)
    for position, (part, arg) in enumerate(zip(target, iterable.args, strict=True)):
        if not _active(part, state):
            continue
        if isinstance(arg, ir.Atom):
            targets.append(state.target(part))
            items.append(_tangents_of(arg, state))
        else:
            targets[position], items[position] = loop_header(part, arg, state)
    return tuple(targets), ir.Call(ir.ZIP, tuple(items), iterable.kwargs, iterable.at)


def _active(target: ir.Target, state: Tangents) -> bool:
    return any(name in state.active for name in ir.target_names(target))


def _tangents_of(iterable: ir.Expr, state: Tangents) -> ir.Expr:
    """What yields the tangents of what `iterable` yields."""
    if isinstance(iterable, ir.Call) and isinstance(iterable.fn, ir.Ref):
        if iterable.fn.obj is range:
            return iterable
        if iterable.fn.obj is enumerate:
            first, *rest = iterable.args
            return ir.Call(iterable.fn, (_tangents_of(first, state), *rest), at=iterable.at)
        if iterable.fn.obj in (zip, reversed):
            args = tuple(_tangents_of(arg, state) for arg in iterable.args)
            return ir.Call(iterable.fn, args, iterable.kwargs, iterable.at)
    return state.tangent_or_zeros(iterable)


# --------------------------------------------------------------------------------------------------
# `try` in forward mode: what is caught is what the primal raises, not what its tangents raise.

Block = Callable[[ir.Block], ir.Block]


def attempt(stmt: ir.Try, seen: frozenset[str], context: Context, block: Block) -> ir.Try:
    """A `try` with tangents: those of a straight body are computed after it.

    before::                             after::
        try:                                 try:
            y = a / b                            y = a / b
        except ZeroDivisionError:            except ZeroDivisionError:
            y = a                                y = a
                                                 y_dot = a_dot
                                             else:
                                                 y_dot = (a_dot - y * b_dot) / b

    Where tangents stay in the body, `analysis.raising` refuses those that may raise what is caught.
    `seen` are the names that are live where the exception is caught.
    """
    tried, rest = ir.tried_and_rest(stmt)
    both = block(tried)
    late: ir.Block = ()
    if _Straight(seen, context, set(map(id, ir.ends(tried, names_constant)))).block(tried):
        values, tangents = _part(both, tangents=False), _part(both, tangents=True)
        if not _read(values) & _bound(tangents):  # (a call reads the tangents that it is given)
            both, late = values, tangents
    mark, *after = rest
    body = (*both, mark, *late, *block(tuple(after)))
    return dataclasses.replace(stmt, body=body, orelse=block(stmt.orelse))


def _bound(block: ir.Block) -> set[str]:
    return {name for stmt in ir.statements(block) for name in ir.binds(stmt)}


def _read(block: ir.Block) -> set[str]:
    return {name for stmt in ir.statements(block) for name in ir.reads(stmt)}


@dataclass
class _Straight:
    """Whether tangents may be computed when all is done: on each path a name is bound once, before
    it is read; what is bound before the last statement is not seen if that raises; and nothing is
    written in place."""

    seen: frozenset[str]
    context: Context
    ends: set[int]  # the statements after which nothing raises
    read: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)

    def block(self, block: ir.Block) -> bool:
        return all(map(self.statement, block))

    def statement(self, stmt: ir.Stmt) -> bool:
        new = set(ir.binds(stmt))
        self.read |= ir.reads(stmt)
        if type(stmt) is ir.If:
            before = set(self.bound)
            first = self.block(stmt.body)
            self.bound, before = before, self.bound
            second = self.block(stmt.orelse)
            self.bound |= before
            return first and second
        simple = isinstance(stmt, ir.Assign | ir.Do | ir.OpaqueStmt)
        partial = new & self.seen and id(stmt) not in self.ends
        fine = simple and not self.context.sources().written(stmt)
        fine = fine and not partial and not new & (self.read | self.bound)
        self.bound |= new
        return fine


def _part(block: ir.Block, tangents: bool) -> ir.Block:
    """Only the tangent statements of a block, or only the others."""

    def chosen(stmt: ir.Stmt) -> ir.Instead:
        if type(stmt) is ir.If and stmt.origin.role != "tangent":
            return None
        return stmt if (stmt.origin.role == "tangent") == tangents else ()

    def nonempty(stmt: ir.Stmt) -> ir.Instead:
        return stmt if not tangents or any(ir.blocks(stmt)) else ()

    return ir.rewrite(block, chosen, after=nonempty)
