"""Functions defined inside a function: their bodies put where they are called.

What such a function captures is then an ordinary variable, read when the call is made, as Python
does. Only functions that have one definition and are called by name can be inlined.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np

from .. import ir
from ..errors import InternalError, UnsupportedError
from ..ir import Assign, Block, Call, Const, Expr, Function, Origin, Return, Var, is_starred
from ..ir.names import Names
from .comprehensions import Comprehension, assigned, becomes_loop, consumed
from .jumps import structure_jumps
from .keeping import binding_counts, free_names
from .lifting import lambda_function
from .nested import Closure, Define, Refused, Walrus
from .operands import is_atom, is_setter
from .owners import is_library

_WRITING = (ir.Store, ir.Update, ir.Do, ir.OpaqueStmt)


@dataclass(frozen=True)
class Local:
    """A function to inline: one `Return`, at its end. `defaults` were evaluated at its `def`."""

    function: Function
    defaults: Mapping[str, Expr]
    bound: tuple[str, ...]


@dataclass(frozen=True)
class Special:
    """What in a function cannot stay inside an expression: calls of local functions, walruses,
    parts that are cut out."""

    functions: Mapping[str, Local] = field(default_factory=dict)
    walrus: bool = False

    def within(self, expr: Expr) -> bool:
        """Whether such a thing stands somewhere in an expression."""
        if not self.walrus and not self.functions:
            return False
        return any(self.calls(part) or _is_statement(part) for part in ir.walk(expr))

    def rebinds(self, name: Any, later: Iterable[Expr]) -> bool:
        """Whether operands further right give a name another value."""
        if (not self.walrus and not self.functions) or not isinstance(name, Var):
            return False
        parts = (p for expr in later for p in ir.walk(expr))
        return any(self._binds(part, name.name, frozenset()) for part in parts)

    def _binds(self, part: Expr, name: str, seen: frozenset[str]) -> bool:
        """Whether a part of an expression binds a name: a walrus, or the call of a local function
        in which it is `nonlocal` (or which calls such a one)."""
        if isinstance(part, Walrus | Comprehension):
            return name in assigned(part)
        if not self.calls(part) or (called := self.called(part)) in seen:
            return False
        local = self.functions[called]
        body = local.function.body
        own = name in (*local.bound, *local.function.param_names)
        if not own and any(name in ir.binds(stmt) for stmt in ir.statements(body)):
            return True
        return any(self._binds(p, name, seen | {called}) for p in ir.walk_block(body))

    def writes(self, expr: Expr, seen: frozenset[str] = frozenset()) -> bool:
        """Whether an expression calls a local function that may write something, itself or by
        what it calls."""
        for part in ir.walk(expr):
            if not self.calls(part) or (called := self.called(part)) in seen:
                continue
            body, inside = self.functions[called].function.body, seen | {called}
            if any(isinstance(stmt, _WRITING) for stmt in ir.statements(body)):
                return True
            if any(_may_write(p) or self.writes(p, inside) for p in ir.walk_block(body)):
                return True
        return False

    def calls(self, expr: Expr) -> TypeGuard[Call]:
        """Whether this is a call of a local function."""
        return self.called(expr) in self.functions

    def called(self, expr: Expr) -> str:
        """The local name that an expression calls; empty where it calls none."""
        match expr:
            case Call(fn=Var(name)):
                return name
        return ""


def inlinable(function: Function) -> frozenset[str]:
    """The local functions that are put where they are called: those that have one definition, are
    called by name and do nothing else. The others become functions of their own (`lifting`)."""
    candidates = _candidates(function)
    if not candidates:
        return frozenset()
    counts = binding_counts(function)
    chosen = {n for n, (f, _) in candidates.items() if counts[n] == 1 and _is_plain(f)}
    chosen -= {n for n in chosen if _reaches_itself(n, candidates)}
    chosen -= {n for f in (function, *(f for f, _ in candidates.values())) for n in _starred(f)}
    while True:
        mentioned = set(_mentioned(function.body, chosen, candidates))
        if not mentioned & chosen:
            return frozenset(chosen)
        chosen -= mentioned


def find_special(function: Function, names: Names) -> Special:
    """The local functions to inline, and whether there are assignment expressions."""
    walrus = _assigns(function.body)
    candidates = _candidates(function)
    chosen = inlinable(function)
    functions = {n: _local(f, names) for n, (f, _) in candidates.items() if n in chosen}
    bodies = (f.function.body for f in functions.values())
    return Special(functions, walrus or any(map(_assigns, bodies)))


def _assigns(block: Block) -> bool:
    """Whether there are assignment expressions, or parts that raise, in some statements."""
    return any(map(_is_statement, ir.walk_block(block)))


def _is_statement(part: Expr) -> bool:
    """Whether a part of an expression is a statement: `:=`, also in a loop, a `raise`, and a call
    that assigns."""
    return (
        isinstance(part, Refused)
        or is_setter(part)
        or (isinstance(part, Walrus | Comprehension) and bool(assigned(part)))
    )


def _candidates(function: Function) -> dict[str, tuple[Function, Origin]]:
    """Every function that is given a name in a function."""
    found: dict[str, tuple[Function, Origin]] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case Define(function=inner):
                found[inner.name] = inner, stmt.origin
            case Assign(target=str(name), value=Closure() as code):
                found[name] = lambda_function(name, code, stmt.origin), stmt.origin
    return found


def _is_plain(function: Function) -> bool:
    """Whether a function takes no starred arguments and defines no functions of its own."""
    starred = any(p.kind in ("*", "**") for p in function.params)
    return not starred and not any(isinstance(s, Define) for s in ir.statements(function.body))


def _starred(function: Function) -> Iterator[str]:
    """The names that a function calls with starred arguments."""
    for part in ir.walk_block(function.body):
        if isinstance(part, Call) and isinstance(part.fn, Var) and any(map(is_starred, part.args)):
            yield part.fn.name


def _reaches_itself(name: str, candidates: Mapping[str, tuple[Function, Origin]]) -> bool:
    """Whether a local function calls itself, directly or through others."""
    seen: set[str] = set()
    pending = [name]
    while pending:
        parts = ir.walk_block(candidates[pending.pop()][0].body)
        used = {p.name for p in parts if isinstance(p, Var) and p.name in candidates}
        if name in used:
            return True
        pending += sorted(used - seen)
        seen |= used
    return False


def default_values(local: Local, origin: Origin) -> Block:
    """What the `def` of a local function evaluates."""
    made = []
    for param in local.function.params:
        value = local.defaults.get(param.name)
        if isinstance(value, Var) and param.default is not None:
            made.append(Assign(value.name, param.default, origin))
    return tuple(made)


def inlined(
    local: Local, arguments: Mapping[str, Expr], fresh: Callable[[str], str]
) -> tuple[Block, Expr]:
    """The statements of a call, and its value. `arguments` are atoms; locals get fresh names.

    before::                             after::
        def damp(t):                         s = t * t
            s = t * t                        y = x * np.exp(-s)
            return x * np.exp(-s)
        y = damp(t)
    """
    values: dict[str, Expr] = {}
    binds: list[ir.Stmt] = []
    origin = local.function.body[-1].origin
    for name, value in arguments.items():
        if name not in local.bound and is_atom(value):
            values[name] = value
        else:
            values[name] = Var(fresh(name))
            binds.append(Assign(_name(values[name]), value, origin))
    for name in local.bound:
        if name not in values:
            values[name] = Var(fresh(name))
    *body, last = ir.renamed(local.function.body, values)
    assert isinstance(last, Return)
    return (*binds, *body), Const(None) if last.value is None else last.value


def matched(call: Call, local: Local) -> dict[str, Expr]:
    """The arguments of a call by the names of the parameters, as written."""
    params = local.function.params
    name = local.function.name
    if any(is_starred(arg) for arg in call.args) or any(p.kind in ("*", "**") for p in params):
        raise InternalError("lower", f"star arguments of the inner function `{name}`")
    positional = [p.name for p in params if p.kind != "keyword"]
    found = dict(zip(positional, call.args, strict=False))
    words = {p.name for p in params if p.kind != "positional"}
    wrong = len(call.args) > len(positional)
    for word, value in call.kwargs:
        wrong = wrong or word in found or word not in words
        found[word] = value
    missing = [p.name for p in params if p.name not in found and p.name not in local.defaults]
    if wrong or missing:
        raise UnsupportedError(
            f"the arguments do not fit the inner function `{name}`",
            call.at,
            f"It takes ({', '.join(p.name for p in params)}).",
        )
    return found


def _name(expr: Expr) -> str:
    assert isinstance(expr, Var)
    return expr.name


def _local(function: Function, names: Names) -> Local:
    """A local function made ready: its jumps structured, its defaults named."""
    function = structure_jumps(function, names)
    defaults: dict[str, Expr] = {}
    for param in function.params:
        if isinstance(param.default, Const):
            defaults[param.name] = param.default
        elif param.default is not None:
            defaults[param.name] = Var(names.fresh(f"{function.name}_{param.name}"))
    bound = [n for stmt in ir.statements(function.body) for n in ir.binds(stmt)]
    bound += [n for p in ir.walk_block(function.body) for n in sorted(assigned(p))]
    own = dict.fromkeys(name for name in bound if name not in function.free)
    return Local(function, defaults, tuple(own))


def _may_write(expr: Expr) -> bool:
    """Whether this is the call of what may be a user's function, or a method of an object."""
    match expr:
        case Call(fn=ir.Ref(obj=obj)):
            return isinstance(obj, types.FunctionType) and not is_library(obj)
        case Call(fn=ir.Attribute(_, name)):
            return name in ("pop", "popleft") or not hasattr(np.ndarray, name)
    return isinstance(expr, Call)


# ----------------------------------------------------------------- uses other than calls


def _mentioned(
    block: Block, chosen: set[str], candidates: Mapping[str, tuple[Function, Origin]]
) -> Iterator[str]:
    """Names of local functions that are used other than by calling them."""
    for stmt in ir.statements(block):
        if isinstance(stmt, Define):
            if stmt.function.name in chosen:
                yield from _mentioned(stmt.function.body, chosen, candidates)
            else:
                yield from free_names(stmt.function)  # (also of those that are defined in it)
            for param in stmt.function.params:
                yield from _uses(param.default)
        elif isinstance(stmt, Assign) and isinstance(stmt.value, Closure):
            if stmt.target in chosen:
                yield from _uses(stmt.value.body)
            else:
                yield from stmt.value.names
        else:
            for expr in ir.expressions(stmt):
                yield from _uses(expr)


def _uses(expr: Expr | None) -> Iterator[str]:
    """The local names in an expression, except those that are called."""
    match expr:
        case None:
            return
        case Var(name):
            yield name
        case Call() if consumed(expr) is not expr:
            yield from _uses(consumed(expr))
        case Call(fn=Var()):
            for arg in ir.children(expr)[1:]:
                yield from _uses(arg)
        case Comprehension() if becomes_loop(expr):
            yield from _uses_in_comprehension(expr)
        case Walrus():
            yield from _uses(expr.value)
        case _:
            for child in ir.children(expr):
                yield from _uses(child)


def _uses_in_comprehension(expr: Any) -> Iterator[str]:
    for clause in expr.clauses:
        yield from _uses(clause.iter)
        for test in clause.tests:
            yield from _uses(test)
    yield from _uses(expr.key)
    yield from _uses(expr.element)
