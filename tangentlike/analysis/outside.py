"""Arrays that belong to the module, or to an enclosing function, and are written in place.

    TOTAL = np.zeros(3)

    def add(x):             def loss(x):
        TOTAL[:] += x           add(x * x)
                                return np.sum(TOTAL * x)

The adjoint of `TOTAL` would live outside of every function that is differentiated, and what is
written to it in the primal sweep cannot be restored: who else reads it is not known. So a write
that carries derivatives is refused in both modes, also if a callee does it, and a write that
carries none is refused in reverse mode where the function reads the array as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import ir
from ..errors import Place, UnsupportedError
from .flow import OUTSIDE, flow_edges
from .memory import MUTATING_METHODS, Sources
from .operations import SHAPE_QUERIES, is_python_function, written_position


@dataclass(frozen=True)
class OuterWrites:
    """What a function writes outside of itself: arrays by their id, with the text that names
    each, and the parameters whose derivatives go out with it."""

    arrays: Mapping[int, str] = field(default_factory=dict)
    carried: frozenset[str] = frozenset()


@dataclass
class Outside:
    """The outer arrays of one transform: what its functions write, and what they read. `body`
    gives a user's function in the normal form, `sources` what its expressions may share."""

    body: Callable[[Any], ir.Function]
    sources: Callable[[ir.Function], Sources]
    book: Any
    written: dict[int, str] = field(default_factory=dict)
    read: dict[int, Place] = field(default_factory=dict)
    _known: dict[int, OuterWrites] = field(default_factory=dict)

    def of_callee(self, obj: Any) -> OuterWrites:
        """What a user's function writes outside, itself or by what it calls."""
        if id(obj) not in self._known:
            self._known[id(obj)] = OuterWrites()  # (a recursive call adds nothing)
            function = self.body(obj)
            self._known[id(obj)] = self.writes(function, self.sources(function))
        return self._known[id(obj)]

    def writes(self, function: ir.Function, sources: Sources) -> OuterWrites:
        """What the body of a function writes outside of it."""
        arrays: dict[int, str] = {}
        ends = {OUTSIDE}
        held = _held(function, sources)
        for stmt in ir.statements(function.body):
            for target in _written_places(stmt, sources):
                ref = _root(target, held, sources)
                if ref is not None:
                    arrays[id(ref.obj)] = ref.text
                    ends |= ir.names_in(target)
            for call in _user_calls(stmt, sources):
                found = self.of_callee(_callee(call))
                arrays |= found.arrays
                actuals = sources.bind(call)
                for formal in found.carried & actuals.keys():
                    ends |= ir.names_in(actuals[formal])
        flow = flow_edges(function, sources.kinds, self.book, sources.effects)
        return OuterWrites(arrays, _params_reaching(ends, flow.predecessors, function))

    def refuse_carried(
        self, function: ir.Function, varied: Callable[[], Collection[str]], sources: Sources
    ) -> None:
        """Refuse calls, and writes through views, that carry derivatives into outer arrays."""
        held = _held(function, sources)
        for stmt in ir.statements(function.body):
            for name, into in self._carried(stmt, held, sources):
                if name in varied():
                    raise UnsupportedError(
                        f"`{name}` carries derivatives into {into}, which lives outside of "
                        f"{function.name}",
                        stmt.origin.place,
                        "Pass the array as an argument, return what is written, or store "
                        f"tl.stop_gradient({name}).",
                    )

    def _carried(
        self, stmt: ir.Stmt, held: Mapping[str, ir.Ref], sources: Sources
    ) -> Iterator[tuple[str, str]]:
        """Names whose values a statement puts into outer arrays, and what names these."""
        for target in _written_places(stmt, sources):
            ref = _root(target, held, sources)
            if ref is not None:
                yield from ((name, f"`{ref.text}`") for name in sorted(ir.reads(stmt)))
        for call in _user_calls(stmt, sources):
            found = self.of_callee(_callee(call))
            actuals = sources.bind(call)
            into = ", ".join(f"`{text}`" for text in sorted(set(found.arrays.values())))
            for formal in sorted(found.carried & actuals.keys()):
                names = sorted(ir.names_in(actuals[formal]))
                yield from ((name, into or "an object") for name in names)

    def refuse_overwritten(self, function: ir.Function, sources: Sources) -> None:
        """Refuse the reverse sweep of what reads an outer array that is written."""
        self.written.update(self.writes(function, sources).arrays)
        for ref, place in _reads(function, sources):
            self.read.setdefault(id(ref.obj), place)
        for key in self.read.keys() & self.written.keys():
            raise UnsupportedError(
                f"`{self.written[key]}` is written in place, and lives outside of the function",
                self.read[key],
                "The reverse sweep cannot restore what was overwritten there. Pass the array as "
                "an argument.",
            )


def _callee(call: ir.Call) -> Any:
    assert isinstance(call.fn, ir.Ref)
    return call.fn.obj


def _user_calls(stmt: ir.Stmt, sources: Sources) -> Iterator[ir.Call]:
    """The calls of functions with a source in a statement."""
    for expr in ir.expressions(stmt):
        for part in ir.walk(expr):
            if isinstance(part, ir.Call) and isinstance(part.fn, ir.Ref):
                yield from (part,) if _is_read(part, sources) else ()


def _is_read(call: ir.Call, sources: Sources) -> bool:
    return is_python_function(_callee(call)) and sources.effects(call) is not None


def _held(function: ir.Function, sources: Sources) -> dict[str, ir.Ref]:
    """The names that may be outer arrays, or views of them."""
    held: dict[str, ir.Ref] = {}
    while True:
        before = len(held)
        for stmt in ir.statements(function.body):
            if isinstance(stmt, ir.Assign | ir.For):
                value = stmt.value if isinstance(stmt, ir.Assign) else stmt.iter
                ref = _root(value, held, sources)
                if ref is not None:
                    names = stmt.target if isinstance(stmt.target, tuple) else (stmt.target,)
                    held.update((n, ref) for n in ir.target_names(names))
        if len(held) == before:
            return held


def _root(expr: ir.Expr, held: Mapping[str, ir.Ref], sources: Sources) -> ir.Ref | None:
    """The outer array whose memory an expression may share."""
    known = _live(expr)
    if known is not None and _is_array(known.obj):
        return known
    match expr:
        case ir.Var(name):
            return held.get(name)
        case ir.Attribute(_, name) if name in SHAPE_QUERIES:
            return None
        case ir.Index(base, _) | ir.Attribute(base, _):
            return _root(base, held, sources)
        case ir.Call(fn=ir.Attribute(base, _)) if sources.view_of(expr) in ("view", "maybe"):
            return _root(base, held, sources)
        case ir.Call(args=(first, *_)) if sources.view_of(expr) in ("view", "maybe"):
            return _root(first, held, sources)
        case _:
            return None


def _live(expr: ir.Expr) -> ir.Ref | None:
    """The object that `STATE.rows[0]` is now, where `STATE` is an outer object."""
    match expr:
        case ir.Ref():
            return expr
        case ir.Attribute(base, name):
            holder = _live(base)
            fields = None if holder is None else getattr(holder.obj, "__dict__", None)
            if holder is None or fields is None or name not in fields:
                return None
            return ir.Ref(f"{holder.text}.{name}", fields[name])
        case ir.Index(base, ir.Const(key)):
            holder = _live(base)
            if holder is None or not isinstance(holder.obj, (list, tuple, dict)):
                return None
            try:
                return ir.Ref(f"{holder.text}[{key!r}]", holder.obj[key])
            except (LookupError, TypeError):
                return None
        case _:
            return None


def _is_array(obj: Any) -> bool:
    return hasattr(obj, "shape") and hasattr(obj, "__setitem__") and not isinstance(obj, type)


def _written_places(stmt: ir.Stmt, sources: Sources) -> Iterator[ir.Expr]:
    """What a statement writes in place, as it names it."""
    match stmt:
        case ir.Store(target=target):
            yield target.base
        case ir.Update(target=target):
            yield target if isinstance(target, ir.Var) else target.base
        case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
            yield from (value for name, value in call.kwargs if name == "out")
            match call.fn:
                case ir.Attribute(base, method) if method in MUTATING_METHODS:
                    yield base
                case ir.Ref(obj=obj) if written_position(obj) is not None and call.args:
                    yield call.args[0]
                case ir.Ref():
                    effects = sources.effects(call)
                    if effects is not None:
                        actuals = sources.bind(call)
                        yield from (actuals[f] for f in sorted(effects.written & actuals.keys()))


def _reads(function: ir.Function, sources: Sources) -> Iterator[tuple[ir.Ref, Place]]:
    """The outer arrays whose entries a function reads."""
    for stmt in ir.statements(function.body):
        written = set(map(id, _written_places(stmt, sources)))
        for expr in ir.expressions(stmt):
            for part in _content(expr, written):
                yield part, stmt.origin.place


def _content(expr: ir.Expr, written: set[int]) -> Iterator[ir.Ref]:
    if id(expr) in written or (isinstance(expr, ir.Attribute) and expr.name in SHAPE_QUERIES):
        return
    known = _live(expr)
    if known is not None and _is_array(known.obj):
        yield known
    for child in ir.children(expr):
        yield from _content(child, written)


def _params_reaching(
    ends: set[str], predecessors: Mapping[str, list[str]], function: ir.Function
) -> frozenset[str]:
    found: set[str] = set()
    pending = list(ends)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(predecessors.get(name, ()))
    return frozenset(function.param_names) & found
