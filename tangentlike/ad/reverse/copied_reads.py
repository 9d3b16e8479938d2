"""What the adjoint reads of arrays that are written becomes a copy, made where it is read.

A derivative keeps references to arrays, and puts back what was overwritten in them: in stacks and
tapes such an array has many names, and who sees which write only the run could say. A derivative
that is to be differentiated in reverse mode itself keeps copies instead, which nobody writes:

before::                         after::
    y = a * x                        a_now = copy(a)
    a[0] = 0.0                       y = a_now * x
                                     a[0] = 0.0

Nor is an attribute put back: `self.h = y` begins with `h_zero = zeros_like(self.h)`, and that is
what the adjoint of the attribute is made like.

Time and memory for it are those of the operations themselves, at most.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from ... import ir
from ...analysis.activity import active_names
from ...analysis.aliases import Aliases, analyse_aliases
from ...analysis.memory import Effects, Sources
from ...analysis.operations import is_python_function, rule_object
from ...analysis.saving import content, needs_of
from ...analysis.sharing import Sharing
from ...analysis.structure import Structure, structure
from ...ir.dataflow import Problem, Solution, solve
from ..context import Context
from .unbound import may_be_unset

_RESULT = "$y"


def copied_reads(
    function: ir.Function,
    wrt: tuple[str, ...],
    shared: tuple[str, ...],
    context: Context,
    counters: dict[int, str],
) -> ir.Function:
    """A prepared primal whose adjoint reads copies; `shared` are parameters that a caller sees
    written, `counters` the counters of loops, which are found again by the new loops."""
    sources = context.sources()
    facts = structure(function, shared)
    aliases = analyse_aliases(Sharing(facts, sources))
    active = active_names(
        function, wrt, context.kinds, context.book, targets=shared, flow=context.flow(function)
    )
    later = solve(function, _WrittenLater(aliases, sources, shared), facts.index)
    copying = _Copying(facts, aliases, active, context, counters, later)
    return copying.rewritten(function)


@dataclasses.dataclass
class _WrittenLater(Problem[frozenset[str]]):
    """Which alias classes may be written after each statement, an iteration later too."""

    aliases: Aliases
    sources: Sources
    shared: tuple[str, ...]
    bottom: frozenset[str] = frozenset()

    def boundary(self, function: ir.Function) -> frozenset[str]:
        return frozenset(c for p in self.shared for c in self.aliases.contents(p))

    def join(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        return a | b

    def transfer(self, stmt: ir.Stmt, state: frozenset[str]) -> frozenset[str]:
        return state.union(map(self.aliases.class_of, self.sources.written(stmt)))


class _Copying(ir.Rewriter):
    """The rewriting of one function, whose alias classes and active names are known."""

    def __init__(
        self,
        facts: Structure,
        aliases: Aliases,
        active: frozenset[str],
        context: Context,
        counters: dict[int, str],
        later: Solution[frozenset[str]],
    ) -> None:
        self.facts = facts
        self.aliases = aliases
        self.active = active
        self.context = context
        self.counters = counters
        self.later = later
        self._written: frozenset[str] = frozenset()  # later than the statement at hand
        self._copies: dict[str, str] = {}  # name -> the name of a copy that is still like it

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        self._copies.clear()
        for stmt in block:
            if ir.is_compound(stmt):
                out.append(self.inside(stmt))
                if id(stmt) in self.counters:
                    self.counters[id(out[-1])] = self.counters[id(stmt)]
                self._copies.clear()
                continue
            out.extend(self._statement(stmt))
            self._forget(stmt)
        return tuple(out)

    def _forget(self, stmt: ir.Stmt) -> None:
        """Drop copies of what a statement may have changed, or bound anew."""
        if self.context.sources().written(stmt) or isinstance(stmt, ir.OpaqueStmt):
            self._copies.clear()
        for name in ir.binds(stmt):
            self._copies.pop(name, None)

    def _statement(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        """One statement without blocks, and the copies before and after it."""
        match stmt:
            case ir.Store(target=ir.Attribute(base=ir.Var()) as field):
                return [self._held(field, stmt), stmt]
        if not isinstance(stmt, ir.Assign | ir.Do) or not isinstance(stmt.value, ir.Call):
            return [stmt]
        call = stmt.value
        self._written = self.later.after[self.facts.number(stmt)]
        effects = self._effects(call)
        if effects is not None:
            operands, result = self._given(call, effects), not effects.returned
        else:
            operands, result = self._read_by_rule(call)
        before: list[ir.Stmt] = []
        copies = {n: ir.Var(self._copy(n, before, stmt.origin)) for n in operands}
        stmt = dataclasses.replace(stmt, value=ir.substitute(call, copies))
        if result and isinstance(stmt, ir.Assign):
            return [*before, *self._apart(stmt)]
        return [*before, stmt]

    def _held(self, field: ir.Attribute, stmt: ir.Store) -> ir.Stmt:
        """Zeros like what an attribute had before it is assigned: its adjoint from there on."""
        key = (field, id(stmt.origin))
        if key not in self.context.held:
            name = self.context.fresh(
                f"{field.name}_zero", self.context.kind_of(field), temporary=True
            )
            self.context.held[key] = name
        old: ir.Expr = field
        if may_be_unset(stmt, field, self.facts, self.context):
            named = (field.base, ir.Const(field.name))
            old = ir.Call(self.context.helper("saved_attribute"), named)
        zero = ir.Call(self.context.helper("zeros_like"), (old,))
        return ir.Assign(self.context.held[key], zero, stmt.origin)

    def _copy(self, name: str, out: list[ir.Stmt], origin: ir.Origin) -> str:
        """The name of a copy of what `name` stands for."""
        if name not in self._copies:
            self._copies[name] = self._fresh(f"{name}_now", name)
            out.append(ir.Assign(self._copies[name], self._copied(name), origin))
        return self._copies[name]

    def _apart(self, stmt: ir.Assign) -> list[ir.Stmt]:
        """`y = op(a)` -> `y_made = op(a); y = copy(y_made)`, where y is written later."""
        names = [n for n in ir.target_names(stmt.target) if self._changes(n)]
        if not names:
            return [stmt]
        made = {n: self._fresh(f"{n}_made", n) for n in names}
        target = ir.map_target(stmt.target, lambda n: made.get(n, n))
        after = [ir.Assign(n, self._copied(m), stmt.origin) for n, m in made.items()]
        return [dataclasses.replace(stmt, target=target), *after]

    def _changes(self, name: str) -> bool:
        """Whether what is behind a name is written later."""
        return not self._written.isdisjoint(self.aliases.contents(name))

    def _copied(self, name: str) -> ir.Expr:
        return ir.Call(self.context.helper("copy"), (ir.Var(name),))

    def _fresh(self, wanted: str, like: str) -> str:
        name = self.context.fresh(wanted, self.context.kind_of(ir.Var(like)), temporary=True)
        return name

    # ------------------------------------------------------------------- what the adjoint reads

    def _effects(self, call: ir.Call) -> Effects | None:
        """The effects of a call of a user's function through which derivatives flow."""
        obj, book = rule_object(call, self.context.kinds), self.context.book
        if not is_python_function(obj) or book.find(obj) is not None:
            return None
        return None if book.is_nondifferentiable(obj) else self.context.sources().effects(call)

    def _given(self, call: ir.Call, effects: Effects) -> list[str]:
        """Arguments that a function's tape may refer to, and that are neither written by it nor
        part of its result."""
        actuals = self.context.callees.bind_loosely(call)
        kept = {held for _, held in effects.kept}
        left = effects.written | effects.returned | kept
        same = {a.name for f, a in actuals.items() if f in left and isinstance(a, ir.Var)}
        names = (a.name for f, a in actuals.items() if f not in left and isinstance(a, ir.Var))
        return [n for n in dict.fromkeys(names) if self._changes(n) and n not in same]

    def _read_by_rule(self, call: ir.Call) -> tuple[list[str], bool]:
        """The operands whose content a rule's adjoints read, and whether they read the result."""
        rule = self.context.rule_for(call)
        if rule is None:
            return [], False
        instance = self.context.bind(rule, call)
        moved = (p for p, a in instance.arguments.items() if ir.names_in(a) & self.active)
        found = [e for e in map(instance.adjoint, moved) if e is not None]
        found += [e for _, e in instance.temporaries_for(*found)]
        read = self._content_read(found)
        if rule.view_of(call) != "no":  # (the result may be the operand itself)
            return [], False
        names = sorted(ir.names_in(call))
        chosen = [n for n in names if self._changes(n) and read & content(n, self.aliases)]
        return chosen, any(_RESULT in ir.names_in(e) for e in found)

    def _content_read(self, exprs: Iterable[ir.Expr]) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for expr in exprs:
            found |= needs_of(expr, self.aliases, lambda name: not name.startswith("$"))
        return frozenset(token for token in found if token.startswith("#"))
