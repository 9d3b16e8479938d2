"""Whether a function is a program of the IR: run between stages, so that a bug of ours shows where
it is. Raises `InternalError` and changes nothing. (`frontend.lower` knows the stricter normal form
of lowered functions.)
"""

from __future__ import annotations

from typing import Any, get_args

from ..errors import InternalError
from .nodes import (
    Assign,
    Attribute,
    Block,
    Break,
    Display,
    Expr,
    For,
    Function,
    If,
    Index,
    Opaque,
    Param,
    Return,
    Stmt,
    Store,
    Update,
    Var,
    While,
)
from .visitor import binds, expressions, of_node, reads, statements, walk

_STATEMENTS = get_args(Stmt)
_EXPRESSIONS = frozenset(get_args(Expr))


def check_program(function: Function, stage: str = "derive") -> None:
    """Raise `InternalError` unless the function is a program of the IR, nested or not."""
    if not function.body or not isinstance(function.body[-1], Return):
        fail(stage, f"`{function.name}` does not end with a return", None)
    for param in function.params:
        if not isinstance(param, Param):
            fail(stage, f"{type(param).__name__} among the parameters", None)
    _require_jumps(function.body[:-1], False, stage)
    for stmt in statements(function.body):
        wrong = _wrong_statement(stmt)
        if wrong:
            fail(stage, wrong, stmt)


@of_node
def _wrong_statement(stmt: Any) -> str:
    """What is wrong with a statement itself, or ""."""
    if not isinstance(stmt, _STATEMENTS):
        return f"{type(stmt).__name__} is not a statement of the IR"
    for name in binds(stmt):
        if not _is_name(name):
            return f"{name!r} is bound, which is not a name"
    match stmt:
        case Assign(target=tuple(), value=Display()):
            return "a display is unpacked"
        case Update(target=target) if not isinstance(target, Var | Index | Attribute):
            return f"{type(target).__name__} is updated"
        case Store(target=target) if not isinstance(target, Index | Attribute):
            return f"{type(target).__name__} is stored to"
    return next(filter(None, map(_wrong_part, expressions(stmt))), "")


@of_node
def _wrong_part(expr: Any) -> str:
    """What is wrong with an expression, or ""."""
    for part in walk(expr):
        if type(part) not in _EXPRESSIONS and not isinstance(part, Opaque):
            return f"{type(part).__name__} is not an expression of the IR"
        if type(part) is Var and not _is_name(part.name):
            return f"{part.name!r} is not a name"
    return ""


def check_bound(function: Function, before: Function, stage: str) -> None:
    """Raise `InternalError` if a pass left a name that nothing binds. (What the user's function
    reads and never binds, in code that does not run, stays so.)"""
    unbound = _unbound(function)
    if unbound and (left := unbound.keys() - _unbound(before).keys()):
        fail(stage, f"`{min(left)}` is bound nowhere", unbound[min(left)])


def _unbound(function: Function) -> dict[str, Stmt]:
    """The names that are read or updated and bound nowhere, and where."""
    bound = {*function.param_names, *function.free}
    stmts = list(statements(function.body))
    bound.update(n for stmt in stmts if not isinstance(stmt, Update) for n in binds(stmt))
    return {n: s for s in stmts for n in {*reads(s), *binds(s)} - bound}


def _require_jumps(block: Block, leaves: bool, stage: str) -> None:
    """No `Return`; `Break` only where `leaves`: last in a block in tail position of a loop."""
    for number, stmt in enumerate(block):
        last = leaves and number == len(block) - 1
        match stmt:
            case Return():
                fail(stage, "a return that is not the last statement", stmt)
            case Break() if not last:
                fail(stage, "a break that is not in tail position", stmt)
            case If():
                _require_jumps(stmt.body, last, stage)
                _require_jumps(stmt.orelse, last, stage)
            case For() | While():
                if stmt.body and isinstance(stmt.body[-1], Break):
                    fail(stage, "a break that is not in a branch", stmt.body[-1])
                _require_jumps(stmt.body, True, stage)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier()


def fail(stage: str, message: str, stmt: Any) -> None:
    """Say what is wrong after which stage, and at which of the user's lines."""
    origin = getattr(stmt, "origin", None)
    where = f" ({origin.place.file}:{origin.place.line}: {origin.place.text})" if origin else ""
    raise InternalError(stage, message + where)
