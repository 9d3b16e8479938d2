"""`return`, `break` and `continue` as structure: one way in, one way out of every block.

A jump is brought into tail position by moving what follows its `if` into the branches that do
not jump. Where more than one branch goes on, a flag says whether to.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import ir
from ..ir.names import Names
from .operands import is_repeatable

_FLAGS: dict[type[Any], str] = {ir.Return: "returned", ir.Break: "stopped", ir.Continue: "skipped"}


def structure_jumps(function: ir.Function, names: Names) -> ir.Function:
    """Leave one `Return`, the last statement, and `Break` only in tail position of a loop body.

    before::                     after::
        for x in xs:                 returned = False
            if x < 0:                for x in xs:
                continue                 if not x < 0:
            if x > t:                        if x > t:
                return x                         result = x
            t = x                                returned = True
        return t                                 break
                                             else:
                                                 t = x
                                     if not returned:
                                         result = t
                                     return result
    """
    return dataclasses.replace(function, body=Jumps(names).function(function))


def names_constant(stmt: Any) -> bool:
    """Whether a statement gives a name to a constant, which cannot fail, or is a mark."""
    match stmt:
        case ir.Tried():
            return True
        case ir.Assign(target=str(), value=ir.Const()):
            return True
    return False


def ends_by_raising(block: ir.Block) -> bool:
    """Whether control never passes the end of the block, for an exception is raised there."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ir.If):
        return ends_by_raising(last.body) and ends_by_raising(last.orelse)
    return isinstance(last, ir.OpaqueStmt) and last.text.split("(")[0].split(" ")[0] == "raise"


class Jumps:
    """The pass for one function. Its state: the names of flags, and which `If`s hold jumps."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._flags: dict[str, str] = {}
        self._jumping: dict[int, Any] = {}

    def flag(self, wanted: str) -> str:
        """The one flag of this meaning in the function."""
        if wanted not in self._flags:
            self._flags[wanted] = self.names.fresh(wanted)
        return self._flags[wanted]

    def function(self, function: ir.Function) -> ir.Block:
        origin = function.body[-1].origin if function.body else ir.Origin(function.place)
        body = self.without_loop_returns(function.body)
        returns = [stmt for stmt in ir.statements(body) if isinstance(stmt, ir.Return)]
        if len(returns) == 1 and body[-1] is returns[0]:
            return body
        if not returns:
            return (*body, ir.Return(ir.Const(None), origin))
        end = ir.Return(ir.Const(None), origin)
        body = self.tails((*body, end))
        if isinstance(body[-1], ir.Return):
            return body  # all others were unreachable
        result = self.flag("result")
        body = replace_jumps(body, ir.Return, lambda stmt: _keep(result, stmt))
        return (*body, ir.Return(ir.Var(result), returns[-1].origin))

    # ------------------------------------------------------------------------------ loops

    def without_loop_returns(self, block: ir.Block) -> ir.Block:
        """The block with every loop in it structured, and left by `Break` instead of `Return`."""
        result: list[Any] = []
        for stmt in block:
            if isinstance(stmt, ir.For | ir.While):
                result.extend(self.loop(stmt))
            else:
                result.append(ir.map_statement(stmt, block=self.without_loop_returns))
        return tuple(result)

    def loop(self, loop: ir.For | ir.While) -> list[Any]:
        body = self.without_loop_returns(loop.body)
        before: list[Any] = []
        after: list[Any] = []
        if contains_jump(body, ir.Return):
            value = ir.Var(self.flag("result"))
            endless = isinstance(loop, ir.While) and loop.test == ir.Const(True)
            if endless and not contains_jump(body, ir.Break):
                after = [ir.Return(value, loop.origin)]  # there is no other way out
                body = replace_jumps(
                    body, ir.Return, lambda s: (*_keep(value.name, s), ir.Break(s.origin))
                )
            else:
                flag = self.flag("returned")
                before = [ir.Assign(flag, ir.Const(False), loop.origin)]
                after = [ir.If(ir.Var(flag), (ir.Return(value, loop.origin),), (), loop.origin)]
                body = _left_by_flag(body, value.name, flag)
        body = _without_continue(self.tails(body))
        return [*before, *_closed(loop, body), *after]

    # ------------------------------------------------------------------------------ tails

    def tails(self, block: ir.Block) -> ir.Block:
        """The block with each jump as the last thing done on its path."""
        kept: list[Any] = []
        for stmt in block:
            if isinstance(stmt, ir.If):
                stmt = self._branches(stmt)
            kept.append(stmt)
            if type(stmt) in _FLAGS:
                break  # what follows a jump is never run
        result: list[Any] = []
        for stmt in reversed(kept):
            if id(stmt) in self._jumping and result:
                result = list(reversed(self._follow(stmt, tuple(reversed(result)))))
            else:
                result.append(stmt)
        return tuple(reversed(result))

    def _branches(self, stmt: ir.If) -> ir.If:
        body, orelse = self.tails(stmt.body), self.tails(stmt.orelse)
        made = dataclasses.replace(stmt, body=body, orelse=orelse)
        return self._mark(made) if self._ends_jumping(body) or self._ends_jumping(orelse) else made

    def _mark(self, stmt: ir.If) -> ir.If:
        self._jumping[id(stmt)] = stmt  # held, so that its id stays its own
        return stmt

    def _ends_jumping(self, block: ir.Block) -> bool:
        return bool(block) and (type(block[-1]) in _FLAGS or id(block[-1]) in self._jumping)

    def _follow(self, stmt: ir.If, rest: ir.Block) -> ir.Block:
        """An `If` with jumps inside, and what is to run after it on the paths that go on."""
        (attached,), ends = self._append((stmt,), rest)
        if ends <= 1:
            return (attached,)
        before: list[Any] = []
        body: ir.Block = (stmt,)
        for kind, wanted in _FLAGS.items():
            if not contains_jump((stmt,), kind):
                continue
            flag = self.flag(wanted)
            before.append(ir.Assign(flag, ir.Const(False), stmt.origin))
            jump: Any
            if kind is ir.Return:
                result = self.flag("result")
                jump = ir.Return(ir.Var(result), stmt.origin)
                body = replace_jumps(body, kind, functools.partial(keep_and_set, result, flag))
            else:
                jump = kind(stmt.origin)
                body = replace_jumps(body, kind, functools.partial(keep_and_set, "", flag))
            rest = (self._mark(ir.If(ir.Var(flag), (jump,), rest, stmt.origin)),)
        return (*before, *body, *rest)

    def _append(self, block: ir.Block, rest: ir.Block) -> tuple[ir.Block, int]:
        """The block with `rest` at every end that is reached, and how many ends there are."""
        if block and (type(block[-1]) in _FLAGS or ends_by_raising(block)):
            return block, 0
        if not block or id(block[-1]) not in self._jumping:
            return (*block, *rest), 1
        last: Any = block[-1]
        body, ends = self._append(last.body, rest)
        orelse, more = self._append(last.orelse, rest)
        made = self._mark(dataclasses.replace(last, body=body, orelse=orelse))
        return (*block[:-1], made), ends + more


def keep_and_set(result: str, flag: str, stmt: Any) -> ir.Block:
    """What stands for a jump whose flag is looked at later."""
    kept = _keep(result, stmt) if isinstance(stmt, ir.Return) else ()
    return (*kept, _set(flag, stmt))


def _set(flag: str, stmt: Any) -> ir.Assign:
    return ir.Assign(flag, ir.Const(True), stmt.origin)


def _keep(result: str, stmt: Any) -> ir.Block:
    """`result = value` for a `return value`; nothing if it is there already."""
    if stmt.value == ir.Var(result):
        return ()
    return (ir.Assign(result, stmt.value, stmt.origin),)


def contains_jump(block: ir.Block, *kinds: type[Any]) -> bool:
    """Whether such a jump stands in the block, nested loops excluded."""
    for stmt in block:
        nested = (stmt.body, stmt.orelse) if isinstance(stmt, ir.If) else ()
        if isinstance(stmt, kinds) or any(contains_jump(b, *kinds) for b in nested):
            return True
    return False


def replace_jumps(block: ir.Block, kind: type[Any], fn: Callable[[Any], ir.Block]) -> ir.Block:
    """The block with each such jump replaced, nested loops excluded."""
    result: list[Any] = []
    for stmt in block:
        if isinstance(stmt, kind):
            result.extend(fn(stmt))
        elif isinstance(stmt, ir.If) and contains_jump((stmt,), kind):
            body, orelse = replace_jumps(stmt.body, kind, fn), replace_jumps(stmt.orelse, kind, fn)
            if stmt.body and not body:
                result.extend(_only_else(stmt, orelse))
            else:
                result.append(dataclasses.replace(stmt, body=body, orelse=orelse))
        else:
            result.append(stmt)
    return tuple(result)


def _left_by_flag(block: ir.Block, result: str, flag: str) -> ir.Block:
    """A loop body whose returns set the flag and leave the loop."""
    made: list[Any] = []
    for stmt in block:
        if isinstance(stmt, ir.Return):
            made.extend((*_keep(result, stmt), _set(flag, stmt), ir.Break(stmt.origin)))
        elif isinstance(stmt, ir.If) and stmt.test == ir.Var(flag):
            made.append(dataclasses.replace(stmt, body=(ir.Break(stmt.origin),)))  # set inside
        elif isinstance(stmt, ir.If):
            body = _left_by_flag(stmt.body, result, flag)
            orelse = _left_by_flag(stmt.orelse, result, flag)
            made.append(dataclasses.replace(stmt, body=body, orelse=orelse))
        else:
            made.append(stmt)
    return tuple(made)


def _without_continue(block: ir.Block) -> ir.Block:
    """A loop body without the `continue`s at its ends, where they say nothing."""
    if block and isinstance(block[-1], ir.Continue):
        block = block[:-1]
    if not block or not isinstance(block[-1], ir.If):
        return block
    last = block[-1]
    body, orelse = _without_continue(last.body), _without_continue(last.orelse)
    if last.body and not body:
        return (*block[:-1], *_only_else(last, orelse))
    return (*block[:-1], dataclasses.replace(last, body=body, orelse=orelse))


def _only_else(stmt: ir.If, orelse: ir.Block) -> ir.Block:
    """`if test: pass` with an `else`."""
    if orelse:
        return (ir.If(negated(stmt.test), orelse, (), stmt.origin),)
    return () if is_repeatable(stmt.test) else (ir.Do(stmt.test, stmt.origin),)


def negated(test: ir.Expr) -> ir.Expr:
    """The opposite of a test, without a double `not`."""
    match test:
        case ir.Call(fn=fn, args=(inner,)) if fn == ir.NOT:
            return inner
    return ir.Call(ir.NOT, (test,))


def _closed(loop: ir.For | ir.While, body: ir.Block) -> list[Any]:
    """The loop with this body; a body that always ends by `break` runs at most once."""
    if not body or not isinstance(body[-1], ir.Break):
        return [dataclasses.replace(loop, body=body)]
    if isinstance(loop, ir.For):
        leave = ir.If(ir.Const(True), (body[-1],), (), body[-1].origin)
        return [dataclasses.replace(loop, body=(*body[:-1], leave))]
    if loop.test == ir.Const(True):
        return list(body[:-1])
    return [ir.If(loop.test, body[:-1], (), loop.origin)]


def without_jumps(block: ir.Block, names: Names) -> tuple[ir.Block, ir.Block, ir.Block]:
    """(what stands before the body of a `with` or `try`, the body without jumps, the jumps made
    after it: the body is then left at its end).

    before::                     after::
        with manager:                with manager:
            y = f(x)                     y = f(x)
            return y * y                 result = y * y
                                     return result
    """
    jumps = Jumps(names)
    block = jumps.tails(jumps.without_loop_returns(block))
    kinds = [kind for kind in _FLAGS if contains_jump(block, kind)]
    if not kinds:
        return (), block, ()
    last = block[-1]
    result = names.fresh("result") if ir.Return in kinds else ""
    if type(last) in _FLAGS and not contains_jump(block[:-1], *_FLAGS):
        if isinstance(last, ir.Return):
            kept = ir.Assign(result, last.value or ir.Const(None), last.origin)
            return (), (*block[:-1], kept), (ir.Return(ir.Var(result), last.origin),)
        return (), block[:-1], (last,)
    before: list[Any] = []
    after: list[Any] = []
    for kind in kinds:
        flag = names.fresh(_FLAGS[kind])
        origin = last.origin
        before.append(ir.Assign(flag, ir.Const(False), origin))
        jump: Any = ir.Return(ir.Var(result), origin) if kind is ir.Return else kind(origin)
        after.append(ir.If(ir.Var(flag), (jump,), (), origin))
        block = replace_jumps(block, kind, functools.partial(keep_and_set, result, flag))
    return tuple(before), block, tuple(after)


def run_unless_broken(loop: ir.For | ir.While, orelse: ir.Block, names: Names) -> Sequence[Any]:
    """The loop followed by its `else`, which runs unless the loop was left by a `break`: behind
    a flag if there is one.

    before::
        for x in xs:              after::   stopped = False
            if x > 1:                       for x in xs:
                break                           if x > 1:
        else:                                       stopped = True
            y = 0                                   break
                                            if not stopped:
                                                y = 0
    """
    if not orelse:
        return [loop]
    own = list(ir.breaks(loop.body))
    if not own:
        return [loop, *orelse]
    flag = names.fresh("stopped")

    def flagged(stmt: Any) -> list[Any] | None:
        leaving = any(stmt is known for known in own)
        return [_set(flag, stmt), stmt] if leaving else None

    return [
        ir.Assign(flag, ir.Const(False), loop.origin),
        dataclasses.replace(loop, body=ir.rewrite(loop.body, flagged)),
        ir.If(negated(ir.Var(flag)), orelse, (), loop.origin),
    ]
