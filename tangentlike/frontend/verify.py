"""Whether a function is well formed: run between stages, so that a bug of ours shows where it is.

`check` knows the normal form of lowered functions, `check_program` the weaker form of derived
ones, where expressions may nest. Both raise `InternalError` and change nothing.
"""

from __future__ import annotations

from typing import Any, get_args

from .. import ir
from ..errors import InternalError
from ..ir import (
    Assign,
    Attribute,
    Block,
    Break,
    Call,
    Display,
    Do,
    Expr,
    For,
    Function,
    If,
    Index,
    Lazy,
    Opaque,
    Ref,
    Return,
    Stmt,
    Store,
    Update,
    Var,
    While,
)
from ..ir.names import Names
from .comprehensions import is_generator
from .flatten import HEADERS
from .operands import is_comparison, is_repeatable, is_shape_tuple, keeps_whole, stays_nested
from .operators import is_arithmetic, is_truth
from .webs import reaching, renamed_webs

_STATEMENTS = get_args(Stmt)
_EXPRESSIONS = get_args(Expr)


def check(function: Function, stage: str = "lower") -> None:
    """Raise `InternalError` unless the function is in the normal form of lowered functions."""
    check_program(function, stage)
    every = list(ir.statements(function.body))
    if len(set(map(id, every))) < len(every):
        _fail(stage, f"a statement of `{function.name}` stands in two places", None)
    for stmt in every:
        _require_flat(stmt, stage)
    found = reaching(function)
    loops = [stmt for stmt in ir.statements(function.body) if isinstance(stmt, For)]
    for loop, escaping in zip(loops, found.escaping, strict=True):
        if escaping:
            _fail(stage, f"loop variable {min(escaping)} is rebound or read after its loop", loop)
    for _, name in sorted(renamed_webs(function, found, Names())[1].items()):
        _fail(stage, f"`{name}` of `{function.name}` has definitions that never meet", None)


def check_program(function: Function, stage: str = "derive") -> None:
    """Raise `InternalError` unless the function is a program of the IR, nested or not."""
    if not function.body or not isinstance(function.body[-1], Return):
        _fail(stage, f"`{function.name}` does not end with a return", None)
    for param in function.params:
        if not isinstance(param, ir.Param):
            _fail(stage, f"{type(param).__name__} among the parameters", None)
    _require_jumps(function.body[:-1], False, stage)
    for stmt in ir.statements(function.body):
        if not isinstance(stmt, _STATEMENTS):
            _fail(stage, f"{type(stmt).__name__} is not a statement of the IR", stmt)
        _require_targets(stmt, stage)
        for expr in ir.expressions(stmt):
            for part in ir.walk(expr):
                if not isinstance(part, _EXPRESSIONS):
                    _fail(stage, f"{type(part).__name__} is not an expression of the IR", stmt)
                if isinstance(part, Var) and not _is_name(part.name):
                    _fail(stage, f"{part.name!r} is not a name", stmt)


def check_bound(function: Function, before: Function, stage: str) -> None:
    """Raise `InternalError` if a pass left a name that nothing binds. (What the user's function
    reads and never binds, in code that does not run, stays so.)"""
    unbound = _unbound(function)
    if unbound and (left := unbound.keys() - _unbound(before).keys()):
        _fail(stage, f"`{min(left)}` is bound nowhere", unbound[min(left)])


def _unbound(function: Function) -> dict[str, Stmt]:
    """The names that are read or updated and bound nowhere, and where."""
    bound = {*function.param_names, *function.free}
    stmts = list(ir.statements(function.body))
    bound.update(n for stmt in stmts if not isinstance(stmt, Update) for n in ir.binds(stmt))
    return {n: s for s in stmts for n in {*ir.reads(s), *ir.binds(s)} - bound}


def _require_jumps(block: Block, leaves: bool, stage: str) -> None:
    """No `Return`; `Break` only where `leaves`: last in a block in tail position of a loop."""
    for number, stmt in enumerate(block):
        last = leaves and number == len(block) - 1
        match stmt:
            case Return():
                _fail(stage, "a return that is not the last statement", stmt)
            case Break() if not last:
                _fail(stage, "a break that is not in tail position", stmt)
            case If():
                _require_jumps(stmt.body, last, stage)
                _require_jumps(stmt.orelse, last, stage)
            case For() | While():
                if stmt.body and isinstance(stmt.body[-1], Break):
                    _fail(stage, "a break that is not in a branch", stmt.body[-1])
                _require_jumps(stmt.body, True, stage)


def _require_targets(stmt: Stmt, stage: str) -> None:
    for name in ir.binds(stmt):
        if not _is_name(name):
            _fail(stage, f"{name!r} is bound, which is not a name", stmt)
    match stmt:
        case Assign(target=tuple(), value=Display()):
            _fail(stage, "a display is unpacked", stmt)
        case Update(target=target) if not isinstance(target, Var | Index | Attribute):
            _fail(stage, f"{type(target).__name__} is updated", stmt)
        case Store(target=target) if not isinstance(target, Index | Attribute):
            _fail(stage, f"{type(target).__name__} is stored to", stmt)


# ----------------------------------------------------------------------- the normal form


def _require_flat(stmt: Stmt, stage: str) -> None:
    """The statement's values are atoms, or one operation on atoms."""
    match stmt:
        case Assign(value=value) | Do(value=value):
            flat = _is_operation(value)
        case Store(target=target, value=value) | Update(target=target, value=value):
            flat = stays_nested(value) and (isinstance(target, Var) or _is_operation(target))
        case For(iter=iterable):
            flat = _is_header(iterable)
        case Return(value=value):
            flat = value is None or _is_result(value)
        case _:
            flat = True  # tests and opaque code stay whole
    if not flat:
        _fail(stage, "more than one operation in a statement", stmt)


def _is_operation(expr: Expr) -> bool:
    if stays_nested(expr) or is_comparison(expr):
        return True
    match expr:
        case Call(fn=fn):
            callee = stays_nested(fn) or (isinstance(fn, Attribute) and stays_nested(fn.base))
            return callee and all(map(_is_operand, ir.children(expr)[1:]))
        case Index(base=base, key=key):
            return stays_nested(base) and _is_key(key)
        case Attribute(base=base):
            return stays_nested(base)
        case Display():
            return all(map(_is_operand, ir.children(expr)))
        case Lazy():
            return keeps_whole(expr)
    return isinstance(expr, Opaque)


def _is_operand(expr: Expr) -> bool:
    return stays_nested(expr) or is_shape_tuple(expr) or is_generator(expr)


def _is_key(key: Expr) -> bool:
    """A key holds no call that may have an effect."""
    match key:
        case Call(fn=fn) if not (is_arithmetic(fn) or is_truth(fn)):
            return is_repeatable(key)
    return all(map(_is_key, ir.children(key)))


def _is_header(expr: Expr) -> bool:
    match expr:
        case Call(fn=Ref(obj=obj)) if id(obj) in HEADERS:
            return all(map(_is_header, ir.children(expr)[1:]))
    return stays_nested(expr) or isinstance(expr, Opaque)


def _is_result(expr: Expr) -> bool:
    if isinstance(expr, Display):
        return all(map(_is_result, ir.children(expr)))
    return stays_nested(expr)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier()


def _fail(stage: str, message: str, stmt: Any) -> None:
    origin = getattr(stmt, "origin", None)
    where = f" ({origin.place.file}:{origin.place.line}: {origin.place.text})" if origin else ""
    raise InternalError(stage, message + where)
