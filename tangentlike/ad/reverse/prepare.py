"""The primal, brought into the form that the reverse sweep reverses.

What is asked twice gets a name (a branch's test whose operands the branch changes), what a loop
forgets is counted (`while`, `break`), and an in-place operation whose derivative reads the old
value becomes the three statements it stands for.
"""

from __future__ import annotations

import dataclasses
import operator

from ... import ir, runtime
from ...analysis.aliases import Aliases
from ...analysis.memory import surely_basic
from ...analysis.structure import Structure
from ...ir.kind import BOOL, INT, UNKNOWN, Kind
from ..context import BINARY_OF, Context
from ..loops import indexed, may_break, sources_of
from .overlaps import checked_overlap
from .replaced_items import ReplacedItems

ACCUMULATING = (operator.iadd, operator.isub)


class Preparation(ir.Rewriter):
    """The remaining rewrites, in one walk; needs to know what each name's class is."""

    def __init__(self, function: ir.Function, facts: Structure, aliases: Aliases, context: Context):
        self.function = function
        self.facts = facts
        self.aliases = aliases
        self.context = context
        self.replaced = ReplacedItems(facts, aliases, context)
        self.counters: dict[int, str] = {}  # id of a new loop statement -> its counter

    def run(self) -> ir.Function:
        """The prepared function; the same one where nothing changes, whose facts then hold."""
        return self.rewritten(self.function)

    def statement(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        match stmt:
            case ir.If():
                return self._if(stmt)
            case ir.While():
                return self._counted(stmt, "count")
            case ir.For():
                return self._for(stmt)
            case ir.Update(target=ir.Index()) | ir.Store(target=ir.Index()):
                original = stmt
                named, stmt = self._with_steady_key(stmt)
                if isinstance(stmt, ir.Update):
                    return [*named, *self._update(stmt)]
                named += self.replaced.named(stmt, original)
                return [*named, *checked_overlap(stmt, self.facts, self.aliases, self.context)]
            case ir.Update():
                return self._update(stmt)
            case ir.Assign():
                return self._assign(stmt)
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(), "pop"), args=()) as call):
                popped = self._fresh("popped", self.context.kind_of(call))
                return [ir.Assign(popped, call, stmt.origin)]
            case _:
                return [stmt]

    # ------------------------------------------------------------------ branches and loops

    def _if(self, stmt: ir.If) -> list[ir.Stmt]:
        new = self.inside(stmt)
        if isinstance(stmt, ir.Try) or not self._changes(stmt):
            return [new]
        flag = self._fresh("taken", BOOL)
        name_it = ir.Assign(flag, stmt.test, stmt.origin)
        return [name_it, dataclasses.replace(new, test=ir.Var(flag))]

    def _changes(self, stmt: ir.If) -> bool:
        """Whether the branches may change what the test read (then it is named beforehand)."""
        read = ir.names_in(stmt.test)
        calls = any(isinstance(e, ir.Call) and not _is_steady(e.fn) for e in ir.walk(stmt.test))
        if calls or any(isinstance(e, ir.Opaque) for e in ir.walk(stmt.test)):
            return True
        for inner in ir.statements(stmt.body + stmt.orelse):
            if read & set(ir.binds(inner)):
                return True
        return any(self.aliases.is_written(name) for name in read)

    def _counted(self, stmt: ir.While | ir.For, word: str) -> list[ir.Stmt]:
        """`while c: B` -> `count = 0; while c: count += 1; B`."""
        count = self._fresh(word, INT)
        origin = stmt.origin
        one = ir.Call(ir.Ref("+", operator.add), (ir.Var(count), ir.Const(1)))
        start = ir.Assign(count, ir.Const(0), origin)
        step = ir.Assign(count, one, origin)
        inside = self.inside(stmt)
        new = dataclasses.replace(inside, body=(step, *inside.body))
        self.counters[id(new)] = count
        return [start, new]

    def _for(self, stmt: ir.For) -> list[ir.Stmt]:
        sequences = sources_of(stmt.iter)
        keys = any(self.context.kind_of(ir.Var(name)).form == "dict" for name in sequences)
        if not keys and any(map(self.aliases.is_written, sequences)):
            stmt = indexed(stmt, self._fresh("index", INT), stmt.body)
        if may_break(stmt.body):
            return self._counted(stmt, "count")
        return [self.inside(stmt)]

    # ---------------------------------------------------------------------- single statements

    def _with_steady_key(
        self, stmt: ir.Store | ir.Update
    ) -> tuple[list[ir.Stmt], ir.Store | ir.Update]:
        """`a[a > 0] = v` -> `where = a > 0; a[where] = v`: the write may change its own key."""
        assert isinstance(stmt.target, ir.Index)
        key = stmt.target.key
        named: list[ir.Stmt] = []

        def steady(part: ir.Expr) -> ir.Expr:
            """One part of the key (the bounds of a slice are numbers, which nothing changes)."""
            written = any(self.aliases.is_written(name) for name in ir.names_in(part))
            if isinstance(part, ir.Slice) or not written:
                return part
            where = self._fresh("where", self.context.kind_of(part))
            named.append(ir.Assign(where, part, stmt.origin))
            return ir.Var(where)

        if isinstance(key, ir.Display) and any(isinstance(p, ir.Slice) for p in key.items):
            key = dataclasses.replace(key, items=tuple(map(steady, key.items)))
        else:
            key = steady(key)
        if not named:
            return [], stmt
        return named, dataclasses.replace(stmt, target=dataclasses.replace(stmt.target, key=key))

    def _update(self, stmt: ir.Update) -> list[ir.Stmt]:
        """`A[k] op= v` -> `old = A[k]; new = old op v; A[k] = new`, unless it accumulates;
        `A op= v` -> `new = A op v; A[...] = new`."""
        target = stmt.target
        if isinstance(target, ir.Attribute):
            return [stmt]
        if isinstance(target, ir.Var):
            target = ir.Index(target, ir.Const(Ellipsis), stmt.origin.place)
        holds = self.context.kind_of(target.base).form in ("list", "tuple", "dict")
        basic = surely_basic(target.key, self.context.kind_of)
        if stmt.op.obj in ACCUMULATING and basic and not (holds and self._is_array(target)):
            return [stmt]  # (an array in a list is replaced: nobody else may see it written)
        text, op = BINARY_OF[stmt.op.obj]
        before: list[ir.Stmt] = []
        if isinstance(stmt.target, ir.Var):
            operand = stmt.target
        else:
            operand = ir.Var(self._fresh("old", self.context.kind_of(target)))
            before.append(ir.Assign(operand.name, target, stmt.origin))
        call = ir.Call(ir.Ref(text, op), (operand, stmt.value), at=stmt.origin.place)
        new = self._fresh("new", self.context.kind_of(call))
        store = ir.Store(target, ir.Var(new), stmt.origin)
        before += self.replaced.named(store, stmt, operand.name if before else "")
        return [*before, ir.Assign(new, call, stmt.origin), store]

    def _is_array(self, item: ir.Expr) -> bool:
        return self.context.kind_of(item).form not in ("number", "other")

    def _assign(self, stmt: ir.Assign) -> list[ir.Stmt]:
        """`h = h ** p`, whose rule reads both the new and the old `h`, gets a temporary; so do
        `m = m[::-1]` and `a, b = a`, whose adjoint buffers would be read while they are made."""
        targets = frozenset(ir.target_names(stmt.target))
        operands = ir.names_in(stmt.value)
        if isinstance(stmt.value, ir.Var) and isinstance(stmt.target, str):
            return [stmt]
        if isinstance(stmt.target, tuple) and not all(isinstance(t, str) for t in stmt.target):
            return self._unpack_in_steps(stmt, stmt.target)
        found = bool(targets & operands & self.aliases.found)
        if not targets & operands or not (found or self._reads_result(stmt.value)):
            return [stmt]
        if isinstance(stmt.target, str):
            new = self._fresh("new", self.context.kinds[stmt.target])
            return [
                dataclasses.replace(stmt, target=new),
                ir.Assign(stmt.target, ir.Var(new), stmt.origin),
            ]
        renamed = {n: self._fresh(n, self.context.kinds.get(n, INT)) for n in sorted(targets)}
        first = dataclasses.replace(stmt, target=ir.map_target(stmt.target, renamed.__getitem__))
        rest = [ir.Assign(n, ir.Var(r), stmt.origin) for n, r in renamed.items()]
        return [first, *rest]

    def _unpack_in_steps(self, stmt: ir.Assign, target: tuple[ir.Target, ...]) -> list[ir.Stmt]:
        """`w, (b, c) = pair` -> `w, part = pair; b, c = part`."""
        flat: list[str] = []
        inner: list[ir.Assign] = []
        for part in target:
            if isinstance(part, str):
                flat.append(part)
                continue
            flat.append(self._fresh("part", UNKNOWN))
            inner.append(ir.Assign(part, ir.Var(flat[-1]), stmt.origin))
        first = dataclasses.replace(stmt, target=tuple(flat))
        return [s for one in (first, *inner) for s in self._assign(one)]

    def _reads_result(self, value: ir.Expr) -> bool:
        rule = self.context.rule_for(value)
        if rule is None:
            return not self.context.is_constant(value)
        instance = self.context.bind(rule, value)
        read: set[str] = set()
        for expr in (*instance.partials.values(), *instance.adjoints.values()):
            read |= ir.names_in(expr)
        for _, expr in instance.temporaries:
            read |= ir.names_in(expr)
        return "$y" in read

    def _fresh(self, wanted: str, kind: Kind) -> str:
        name = self.context.fresh(wanted, kind, temporary=True)
        return name


def _is_steady(fn: ir.Expr) -> bool:
    """Whether a call answers the same as long as its arguments are the same: operators, and the
    questions of what something is."""
    if not isinstance(fn, ir.Ref):
        return False
    asking: tuple[object, ...]
    asking = (isinstance, issubclass, len, type, operator.is_, operator.is_not, operator.not_)
    asking = (*asking, runtime.is_sequence, runtime.is_mapping)
    operator_ = not fn.text.replace(".", "_").isidentifier()
    return operator_ or any(fn.obj is known for known in asking)
