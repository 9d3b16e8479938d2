"""One load for one entry: `a[j, k] * a[j, k]` reads the entry once, `s.x * s.x` the attribute; and
one computation for one value: `np.sqrt(t)` twice takes one root.

Flattening gives every occurrence in an expression a temporary of its own. Where nothing in
between writes the array, the second is the first; its adjoint is then added once, and it is saved
once where it must be saved.
"""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ... import ir
from ...ir.facts import fact
from ...ir.index import references
from ...runtime import log_ratio, logistic
from ...runtime.records import attribute_of
from ..context import Context

_PURE = ("_operator", "math", "numpy", "numpy.linalg")


def share_loads(function: ir.Function, context: Context) -> ir.Function:
    """`t = a[k]; u = a[k]; y = t * u` -> `t = a[k]; y = t * t`, for temporaries of ours.

    Only within a run of simple statements; any write in place ends what is known. What is bound
    again, or updated (`t = o.v; t += w; o.v = t`), keeps its own load. A new value is shared only
    where operations alone read it, which give new values: nothing can write it, or ask which it is.
    """
    bound = ir.bindings(ir.statements(function.body))
    return _Loads(context, bound, _read_by_others(function, context)).rewritten(function)


def known_compositions(function: ir.Function, context: Context) -> ir.Function:
    """Chains of operations, in temporaries of ours, that have a derivative of their own: `e =
    np.exp(m); t = 1 + e; y = 1 / t` -> `y = logistic(1, m)`, whose derivative is in terms of `y`
    alone, and finite where `e` is not; `q = a / b; y = np.log(q)` -> `y = log_ratio(a, b)`, whose
    derivatives are `1 / a` and `-1 / b`.

    The simplifier writes them as the program did.
    """
    named = [ref.obj for ref in fact(references, function)]
    chains = [
        (makes, len(operations))
        for makes, operations in _CHAINS
        if any(obj is operations[0] for obj in named)
        if all(rule is not None and rule.is_ours for rule in map(context.book.find, operations))
    ]  # (a user's rule says another derivative)
    if not chains:
        return function
    uses = Counter(name for stmt in ir.statements(function.body) for name in ir.reads(stmt))
    bound = ir.bindings(ir.statements(function.body))
    return _Compositions(context, bound, uses, chains).rewritten(function)


@dataclasses.dataclass
class _Compositions(ir.Rewriter):
    context: Context
    bound: Mapping[str, int]
    uses: Mapping[str, int]
    chains: Sequence[tuple[_Makes, int]]

    def block(self, block: ir.Block) -> ir.Block:
        made: list[ir.Stmt] = []
        block = super().block(block)
        for stmt in block:
            made.append(stmt)
            for makes, length in self.chains:
                value = makes(self, made[-length:]) if len(made) >= length else None
                if value is not None and isinstance(stmt, ir.Assign):
                    made[-length:] = [ir.Assign(stmt.target, value, stmt.origin)]
        return tuple(made) if len(made) < len(block) else block

    def logistic(self, last: Sequence[ir.Stmt]) -> ir.Expr | None:
        match last:
            case [
                ir.Assign(str(e), ir.Call(ir.Ref(obj=np.exp), (m,), ())),
                ir.Assign(str(t), ir.Call(ir.Ref(obj=operator.add), added)),
                ir.Assign(_, ir.Call(ir.Ref(obj=operator.truediv), (one, ir.Var(under)))),
            ] if under == t and self._is_ours(e) and self._is_ours(t) and _is_one(one):
                if ir.Var(e) in added and any(map(_is_one, added)):
                    return ir.Call(_LOGISTIC, (one, m))
        return None

    def log_ratio(self, last: Sequence[ir.Stmt]) -> ir.Expr | None:
        match last:
            case [
                ir.Assign(str(q), ir.Call(ir.Ref(obj=operator.truediv), (a, b))),
                ir.Assign(_, ir.Call(ir.Ref(obj=np.log), (ir.Var(read),), ())),
            ] if read == q and self._is_ours(q):
                return ir.Call(_LOG_RATIO, (a, b))
        return None

    def _is_ours(self, name: str) -> bool:
        once = self.bound[name] == 1 and self.uses[name] == 1
        return once and name in self.context.temporaries


_Makes = Callable[[_Compositions, Sequence[ir.Stmt]], "ir.Expr | None"]
# What makes a composition out of as many statements, each of one of these operations.
_CHAINS: tuple[tuple[_Makes, tuple[Callable[..., Any], ...]], ...] = (
    (_Compositions.logistic, (np.exp, operator.add, operator.truediv)),
    (_Compositions.log_ratio, (operator.truediv, np.log)),
)
_LOGISTIC = ir.Ref("logistic", logistic)
_LOG_RATIO = ir.Ref("log_ratio", log_ratio)


def _is_one(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and type(expr.value) in (int, float) and expr.value == 1


@dataclasses.dataclass
class Loads:
    """Values that have names, and which of them read a name."""

    names: dict[ir.Expr, str] = dataclasses.field(default_factory=dict)
    reading: dict[str, list[ir.Expr]] = dataclasses.field(default_factory=dict)

    def put(self, value: ir.Expr, name: str) -> None:
        """Note the name of a value."""
        self.names[value] = name
        for read in ir.names_in(value):
            self.reading.setdefault(read, []).append(value)

    def drop(self, name: str) -> None:
        """Forget the values that read a name."""
        for value in self.reading.pop(name, ()):
            self.names.pop(value, None)


@dataclasses.dataclass
class _Loads(ir.Rewriter):
    """`bound` says how often each name is bound, `others` are names that not only operations read;
    `known` are the loads of the run at hand."""

    context: Context
    bound: Mapping[str, int]
    others: frozenset[str]
    known: Loads = dataclasses.field(default_factory=Loads)
    renamed: dict[str, ir.Expr] = dataclasses.field(default_factory=dict)

    def block(self, block: ir.Block) -> ir.Block:
        around, self.known = self.known, Loads()
        block = super().block(block)
        self.known = around
        return block

    def statement(self, stmt: ir.Stmt) -> ir.Stmt | tuple[()]:
        stmt = put(stmt, self.renamed)
        if ir.blocks(stmt):
            self.known = Loads()
            return self.inside(stmt)
        found = _load(stmt, self.context) or self._computed(stmt)
        if found is not None and self.bound[str(getattr(stmt, "target", ""))] > 1:
            found = None
        if found is not None and found in self.known.names:
            assert isinstance(stmt, ir.Assign)
            self.renamed[str(stmt.target)] = ir.Var(self.known.names[found])
            return ()
        self._forget(stmt)
        if found is not None:
            assert isinstance(stmt, ir.Assign)
            self.known.put(found, str(stmt.target))
        return stmt

    def _forget(self, stmt: ir.Stmt) -> None:
        """Drop loads that a statement may change: it writes something, or binds what they read."""
        if self.context.sources().written(stmt) or isinstance(stmt, ir.OpaqueStmt):
            self.known = Loads()
            return
        for name in ir.binds(stmt):
            self.known.drop(name)

    def _computed(self, stmt: ir.Stmt) -> ir.Expr | None:
        """The new value that a statement gives to a temporary, which only operations read."""
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call() as call) if _computes(
                call, self.context
            ):
                if name in self.context.temporaries and name not in self.others:
                    return call
        return None


def _computes(call: ir.Call, context: Context) -> bool:
    """Whether a call computes a new value from atoms, the same one whenever it does."""
    if not isinstance(call.fn, ir.Ref):
        return False
    obj = call.fn.obj
    if not isinstance(obj, np.ufunc) and attribute_of(obj, "__module__", "") not in _PURE:
        return False
    plain = all(isinstance(value, ir.Const) for _, value in call.kwargs)
    rule = context.book.find(obj)
    atoms = all(isinstance(arg, ir.Var | ir.Const) for arg in call.args)
    return plain and atoms and rule is not None and rule.view == "no"


def _read_by_others(function: ir.Function, context: Context) -> frozenset[str]:
    """The names that are read by anything but operations which give new values."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(), value=ir.Call() as call) if _computes(call, context):
                continue
        found |= ir.reads(stmt)
    return frozenset(found)


def put(stmt: ir.Stmt, renamed: dict[str, ir.Expr]) -> ir.Stmt:
    """A statement with dropped temporaries replaced, each of which was bound once."""
    if not renamed or not any(name in renamed for name in ir.reads(stmt)):
        return stmt
    return ir.map_statement(stmt, expr=lambda e: ir.substitute(e, renamed))


def _load(stmt: ir.Stmt, context: Context) -> ir.Expr | None:
    """The item or the attribute that a statement gives to a temporary. An attribute of an object
    of unknown class may be a property, which computes."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Index(ir.Var()) as value):
            return value if name in context.temporaries else None
        case ir.Assign(target=str(name), value=ir.Attribute(ir.Var() as base) as value):
            known = context.kind_of(base).cls is not None and context.is_part(value)
            return value if known and name in context.temporaries else None
    return None
