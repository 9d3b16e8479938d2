"""The primal, brought into the form that the reverse sweep reverses.

What is asked twice gets a name (a branch's test whose operands the branch changes), what a loop
forgets is counted (`while`, `break`), and an in-place operation whose derivative reads the old
value becomes the three statements it stands for.
"""

from __future__ import annotations

import dataclasses
import operator

from .. import ir
from ..analysis.aliases import (
    Aliases,
    analyse_aliases,
    key_parts,
    surely_basic,
)
from ..analysis.kinds import infer_kinds
from ..analysis.structure import Structure, structure
from ..errors import UnsupportedError
from ..frontend import names_of, reaching, renamed_webs
from ..kind import BOOL, INT, Kind
from .context import BINARY_OF, RANGE, Context

_ACCUMULATING = (operator.iadd, operator.isub)


def rebind_updates(
    function: ir.Function, context: Context, shared: frozenset[str] = frozenset()
) -> tuple[ir.Function, Structure, Aliases]:
    """Turn `a += b` into `a = a + b` wherever nobody can tell the difference.

    That is where `a` is a number, or an array that no other name shares and that is written in
    no other way. `shared` are parameters that a caller sees written.
    """
    function = _assume_ranks(function, context)
    numbers = {n for n, k in context.kinds.items() if k.form == "number"}
    function = _rebind(function, numbers, context)
    while True:
        facts = structure(function)
        aliases = analyse_aliases(function, facts, context.sources())
        private = _private_updates(function, aliases, shared, context)
        if not private:
            return function, facts, aliases
        function = _rebind(function, private, context)


def _assume_ranks(function: ir.Function, context: Context) -> ir.Function:
    """Let `t` in `t = A[i, j]; t -= v` be a number, and check when called that it is.

    Were `A` of higher rank, `t` would be a view and `t -= v` would write into `A`: another
    program. The check stands at the head of the function: `require_ndim(A, 2)`.
    """
    updated = {
        s.target.name
        for s in ir.statements(function.body)
        if isinstance(s, ir.Update) and isinstance(s.target, ir.Var)
    }
    ranks: dict[str, int] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Index(ir.Var(base), key)):
                number = context.kind_of(stmt.value).form == "number"
                parts = key_parts(key)
                known = number or base not in function.param_names
                if name in updated and not known and all(context.kind_of(p) == INT for p in parts):
                    ranks.setdefault(base, len(parts))
    ranks = {b: n for b, n in ranks.items() if context.kinds[b].rank is None}
    if not ranks:
        return function
    given = {p: context.kinds[p] for p in function.param_names}
    guards: list[ir.Stmt] = []
    for base, rank in ranks.items():
        given[base] = Kind("array", given[base].dtype, (None,) * rank)
        check = ir.Call(context.helper("require_ndim"), (ir.Var(base), ir.Const(rank)))
        guards.append(ir.Do(check, ir.Origin(function.place)))
    context.kinds.clear()
    context.kinds.update(infer_kinds(function, given, context.book))
    return dataclasses.replace(function, body=(*guards, *function.body))


def _private_updates(
    function: ir.Function, aliases: Aliases, shared: frozenset[str], context: Context
) -> set[str]:
    """Names only ever written by `name op= value`, whose memory nothing else refers to."""
    updated: dict[str, ir.Stmt] = {}
    written: set[str] = set()
    sources = context.sources()
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.Update) and isinstance(stmt.target, ir.Var):
            updated.setdefault(stmt.target.name, stmt)
        else:
            written.update(sources.written(stmt))
    classes = list(aliases.classes.values())
    alone = {
        n
        for n in updated
        if n not in written and n not in shared and classes.count(aliases.class_of(n)) <= 1
    }
    for name, stmt in updated.items():
        if name not in alone and context.kind_of(ir.Var(name)).form not in ("array", "list"):
            raise UnsupportedError(
                f"`{name}` may be a number (rebound here) or an array (written in place)",
                stmt.origin.place,
                "Another name may share its memory, so the two differ. Annotate the parameter it "
                "comes from (`x: float` or `x: np.ndarray`), or pass `example=` arguments.",
            )
    return alone


def _rebind(function: ir.Function, names: set[str], context: Context) -> ir.Function:
    def block(stmts: ir.Block) -> ir.Block:
        return tuple(map(statement, stmts))

    def statement(stmt: ir.Stmt) -> ir.Stmt:
        if isinstance(stmt, ir.Update) and isinstance(stmt.target, ir.Var):
            name = stmt.target.name
            if name in names:
                text, op = BINARY_OF[stmt.op.obj]
                call = ir.Call(ir.Ref(text, op), (stmt.target, stmt.value), at=stmt.origin.place)
                return ir.Assign(name, call, stmt.origin)
        return ir.map_statement(stmt, block=block)

    before = function
    function = dataclasses.replace(function, body=block(function.body))
    if function == before:
        return function
    function, before = renamed_webs(function, reaching(function), names_of(function))
    context.original.update({n: context.original.get(b, b) for n, b in before.items()})
    given = {p: context.kinds[p] for p in function.param_names if p in context.kinds}
    context.kinds.clear()
    context.kinds.update(infer_kinds(function, given, context.book))
    context.names.take(n for s in ir.statements(function.body) for n in ir.binds(s))
    return function


class Preparation:
    """The remaining rewrites, in one walk; needs to know what each name's class is."""

    def __init__(self, function: ir.Function, facts: Structure, aliases: Aliases, context: Context):
        self.function = function
        self.facts = facts
        self.aliases = aliases
        self.context = context
        self.counters: dict[int, str] = {}  # id of a new loop statement -> its counter

    def run(self) -> ir.Function:
        return dataclasses.replace(self.function, body=self.block(self.function.body))

    def block(self, stmts: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in stmts:
            out.extend(self.statement(stmt))
        return tuple(out)

    def statement(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        match stmt:
            case ir.If():
                return self._if(stmt)
            case ir.While():
                return self._counted(stmt, "count")
            case ir.For():
                return self._for(stmt)
            case ir.Update(target=ir.Index()) | ir.Store(target=ir.Index()):
                named, stmt = self._with_steady_key(stmt)
                return [*named, *(self._update(stmt) if isinstance(stmt, ir.Update) else [stmt])]
            case ir.Update():
                return self._update(stmt)
            case ir.Assign():
                return self._assign(stmt)
            case _:
                return [stmt]

    # ------------------------------------------------------------------ branches and loops

    def _if(self, stmt: ir.If) -> list[ir.Stmt]:
        new = dataclasses.replace(stmt, body=self.block(stmt.body), orelse=self.block(stmt.orelse))
        if not self._changes(stmt):
            return [new]
        flag = self._fresh("taken", BOOL)
        name_it = ir.Assign(flag, stmt.test, stmt.origin)
        return [name_it, dataclasses.replace(new, test=ir.Var(flag))]

    def _changes(self, stmt: ir.If) -> bool:
        """Whether the branches may change what the test read (then it is named beforehand)."""
        read = ir.names_in(stmt.test)
        calls = any(isinstance(e, ir.Call) and not _is_operator(e.fn) for e in ir.walk(stmt.test))
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
        new = dataclasses.replace(stmt, body=(step, *self.block(stmt.body)))
        self.counters[id(new)] = count
        return [start, new]

    def _for(self, stmt: ir.For) -> list[ir.Stmt]:
        if _breaks(stmt.body):
            return self._counted(stmt, "count")
        if self._writes_items(stmt) and isinstance(stmt.iter, ir.Var):
            return [self._indexed(stmt)]
        return [dataclasses.replace(stmt, body=self.block(stmt.body))]

    def _writes_items(self, stmt: ir.For) -> bool:
        return any(self.aliases.is_written(n) for n in ir.target_names(stmt.target)) and any(
            self.context.kind_of(ir.Var(n)).form not in ("number", "other")
            for n in ir.target_names(stmt.target)
        )

    def _indexed(self, stmt: ir.For) -> ir.For:
        """`for row in A: B` -> `for i in range(len(A)): row = A[i]; B`."""
        index = self._fresh("index", INT)
        size = ir.Call(ir.Ref("len", len), (stmt.iter,))
        item = ir.Assign(stmt.target, ir.Index(stmt.iter, ir.Var(index)), stmt.origin)
        return ir.For(index, ir.Call(RANGE, (size,)), (item, *self.block(stmt.body)), stmt.origin)

    # ---------------------------------------------------------------------- single statements

    def _with_steady_key(
        self, stmt: ir.Store | ir.Update
    ) -> tuple[list[ir.Stmt], ir.Store | ir.Update]:
        """`a[a > 0] = v` -> `where = a > 0; a[where] = v`: the write may change its own key."""
        assert isinstance(stmt.target, ir.Index)
        key = stmt.target.key
        if not any(self.aliases.is_written(name) for name in ir.names_in(key)):
            return [], stmt
        where = self._fresh("where", self.context.kind_of(key))
        target = dataclasses.replace(stmt.target, key=ir.Var(where))
        named = ir.Assign(where, key, stmt.origin)
        return [named], dataclasses.replace(stmt, target=target)

    def _update(self, stmt: ir.Update) -> list[ir.Stmt]:
        """`A[k] op= v` -> `old = A[k]; new = old op v; A[k] = new`, unless it accumulates."""
        target = stmt.target
        if isinstance(target, ir.Attribute):
            return [stmt]
        if isinstance(target, ir.Var):
            target = ir.Index(target, ir.Const(Ellipsis), stmt.origin.place)
        if stmt.op.obj in _ACCUMULATING and surely_basic(target.key, self.context.kind_of):
            return [stmt]
        text, op = BINARY_OF[stmt.op.obj]
        old = self._fresh("old", self.context.kind_of(target))
        call = ir.Call(ir.Ref(text, op), (ir.Var(old), stmt.value), at=stmt.origin.place)
        new = self._fresh("new", self.context.kind_of(call))
        return [
            ir.Assign(old, target, stmt.origin),
            ir.Assign(new, call, stmt.origin),
            ir.Store(target, ir.Var(new), stmt.origin),
        ]

    def _assign(self, stmt: ir.Assign) -> list[ir.Stmt]:
        """`h = h ** p`, whose rule reads both the new and the old `h`, gets a temporary; so do
        `m = m[::-1]` and `a, b = a`, whose adjoint buffers would be read while they are made."""
        targets = frozenset(ir.target_names(stmt.target))
        operands = ir.names_in(stmt.value)
        if isinstance(stmt.value, ir.Var) and isinstance(stmt.target, str):
            return [stmt]
        if not targets & operands or not self._reads_result(stmt.value):
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

    def _fresh(self, wanted: str, kind: object) -> str:
        name = self.context.names.fresh(wanted)
        self.context.kinds[name] = kind  # type: ignore[assignment]
        self.context.temporaries.add(name)
        return name


def _breaks(block: ir.Block) -> bool:
    """Whether a loop body may leave its own loop by `break`."""
    for stmt in block:
        if isinstance(stmt, ir.Break):
            return True
        if isinstance(stmt, ir.If) and any(map(_breaks, ir.blocks(stmt))):
            return True
    return False


def _is_operator(fn: ir.Expr) -> bool:
    return isinstance(fn, ir.Ref) and not fn.text.replace(".", "_").isidentifier()
