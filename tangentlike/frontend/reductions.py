"""Calls that take from what they go through until they have one value: `functools.reduce`, and
`next` of a generator expression."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable

from .. import ir
from ..ir import (
    Assign,
    Block,
    Break,
    Call,
    Const,
    Expr,
    For,
    If,
    Index,
    OpaqueStmt,
    Origin,
    Ref,
    Var,
)
from .comprehensions import Comprehension, carries, is_generator, loop_over
from .operators import NOT

_STOPS = Ref("StopIteration", StopIteration)


def is_reduction(call: Call) -> bool:
    """Whether a call is read as a loop: `functools.reduce(f, xs)`, `next(x for x in xs if x)`."""
    match call:
        case Call(fn=Ref(obj=functools.reduce), args=(_, _, *rest), kwargs=()):
            return len(rest) < 2
        case Call(fn=Ref(obj=builtins.next), args=(Comprehension() as items, *rest), kwargs=()):
            one = is_generator(items) and len(items.clauses) == 1 and carries(items)
            return one and bool(items.clauses[0].tests) and len(rest) < 2
    return False


def reduction(call: Call, name: str, variable: Callable[[str], str], origin: Origin) -> Block:
    """The statements that such a call stands for, its value by this name; `variable` gives names
    for what they bind besides.

    before::                                  after::
        y = functools.reduce(f, xs, 1.0)          y = 1.0
                                                  for item in xs:
                                                      y = f(y, item)
    """
    if isinstance(call.args[0], Comprehension):
        return _first(call, name, variable, origin)
    f, items, *start = call.args
    first = start[0] if start else Index(items, Const(0), call.at)
    rest = items if start else Index(items, ir.Slice(Const(1)), call.at)
    item = variable("item")
    step = Assign(name, Call(f, (Var(name), Var(item)), (), call.at), origin)
    return (Assign(name, first, origin), For(item, rest, (step,), origin))


def _first(call: Call, name: str, variable: Callable[[str], str], origin: Origin) -> Block:
    """The first item of a generator expression.

    before::                                  after::
        y = next((x * x for x in xs if x > c), c)
                                                  y = c
                                                  for x in xs:
                                                      if x > c:
                                                          y = x * x
                                                          break
    """
    items, *default = call.args
    found = loop_over(items, variable)
    assert found is not None
    clause, item = found
    flag = "" if default else variable("found")
    body: Block = (Assign(name, item, origin), Break(origin))
    if flag:
        body = (Assign(flag, Const(True), origin), *body)
    for test in reversed(clause.tests):
        body = (If(test, body, (), origin),)
    loop = For(clause.target, clause.iter, body, origin)
    if not flag:
        return (Assign(name, default[0], origin), loop)
    stop = OpaqueStmt("raise StopIteration", (), (), (_STOPS,), (), origin)
    missing: Expr = Call(NOT, (Var(flag),))
    return (Assign(flag, Const(False), origin), loop, If(missing, (stop,), (), origin))
