"""Whether a function is well formed: run between stages, so that a bug of ours shows where it is.

`check` knows the normal form of lowered functions; `ir.verify` the weaker form of derived ones,
where expressions may nest. It raises `InternalError` and changes nothing.
"""

from __future__ import annotations

from .. import ir
from ..ir.names import Names
from ..ir.verify import check_program, fail
from .comprehensions import is_generator
from .flatten import HEADERS
from .operands import (
    is_arithmetic,
    is_comparison,
    is_repeatable,
    is_shape_tuple,
    is_truth,
    keeps_whole,
    stays_nested,
)
from .webs import reaching, renamed_webs


def check(function: ir.Function, stage: str = "lower") -> None:
    """Raise `InternalError` unless the function is in the normal form of lowered functions."""
    check_program(function, stage)
    every = list(ir.statements(function.body))
    if len(set(map(id, every))) < len(every):
        fail(stage, f"a statement of `{function.name}` stands in two places", None)
    for stmt in every:
        _require_flat(stmt, stage)
    found = reaching(function)
    loops = [stmt for stmt in ir.statements(function.body) if isinstance(stmt, ir.For)]
    for loop, escaping in zip(loops, found.escaping, strict=True):
        if escaping:
            fail(stage, f"loop variable {min(escaping)} is rebound or read after its loop", loop)
    for _, name in sorted(renamed_webs(function, found, Names())[1].items()):
        fail(stage, f"`{name}` of `{function.name}` has definitions that never meet", None)


# ----------------------------------------------------------------------- the normal form


def _require_flat(stmt: ir.Stmt, stage: str) -> None:
    """The statement's values are atoms, or one operation on atoms."""
    match stmt:
        case ir.Assign(value=value) | ir.Do(value=value):
            flat = _is_operation(value)
        case ir.Store(target=target, value=value) | ir.Update(target=target, value=value):
            flat = stays_nested(value) and (isinstance(target, ir.Var) or _is_operation(target))
        case ir.For(iter=iterable):
            flat = _is_header(iterable)
        case ir.Return(value=value):
            flat = value is None or _is_result(value)
        case _:
            flat = True  # tests and opaque code stay whole
    if not flat:
        fail(stage, "more than one operation in a statement", stmt)


def _is_operation(expr: ir.Expr) -> bool:
    if stays_nested(expr) or is_comparison(expr):
        return True
    match expr:
        case ir.Call(fn=fn):
            callee = stays_nested(fn) or (isinstance(fn, ir.Attribute) and stays_nested(fn.base))
            return callee and all(map(_is_operand, ir.children(expr)[1:]))
        case ir.Index(base=base, key=key):
            return stays_nested(base) and _is_key(key)
        case ir.Attribute(base=base):
            return stays_nested(base)
        case ir.Display():
            return all(map(_is_operand, ir.children(expr)))
        case ir.Lazy():
            return keeps_whole(expr)
    return isinstance(expr, ir.Opaque)


def _is_operand(expr: ir.Expr) -> bool:
    return stays_nested(expr) or is_shape_tuple(expr) or is_generator(expr)


def _is_key(key: ir.Expr) -> bool:
    """A key holds no call that may have an effect."""
    match key:
        case ir.Call(fn=fn) if not (is_arithmetic(fn) or is_truth(fn)):
            return is_repeatable(key)
    return all(map(_is_key, ir.children(key)))


def _is_header(expr: ir.Expr) -> bool:
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj)) if id(obj) in HEADERS:
            return all(map(_is_header, ir.children(expr)[1:]))
    return stays_nested(expr) or isinstance(expr, ir.Opaque)


def _is_result(expr: ir.Expr) -> bool:
    if isinstance(expr, ir.Display):
        return all(map(_is_result, ir.children(expr)))
    return stays_nested(expr)
