"""Bodies of `try` that change something before a statement that may raise, in pieces.

What was done before an exception counts, and what was not does not. So a `try` protects one change:

    before::                        after::
        try:                            try:
            a[0] = x * 2.0                  a[0] = x * 2.0
            y = a[k]                    except IndexError: ...
        except IndexError:              if not failed:
            y = a[0]                        try:
                                                y = a[k]
                                            except IndexError: ...
                                        if failed:
                                            y = a[0]

A branch or a loop with changes inside stands around the pieces of its blocks:

    before::                        after::
        try:                            failed = False
            for x in xs:                for x in xs:
                s = s + f(x)                try:
        except ValueError:                      s = s + f(x)
            s = 0.5 * s                     except ValueError: ...
                                            if failed:
                                                break
                                        if failed:
                                            s = 0.5 * s

A body whose exception goes on stays whole: nothing is differentiated then.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

from ... import ir
from ...analysis.structure import BlockKey, Structure, structure
from ...frontend.jumps import ends_by_raising, names_constant, negated
from ...ir.facts import fact
from ...ir.index import forms
from ..context import Context


def attempts_in_pieces(
    function: ir.Function, wrt: tuple[str, ...], context: Context
) -> ir.Function:
    """A function each `try` of which protects at most one change, the last that it makes."""
    if ir.Try not in fact(forms, function):
        return function
    return ir.distinct(_Attempts(structure(function), context).rewritten(function))


class _Attempts(ir.Rewriter):
    def __init__(self, facts: Structure, context: Context) -> None:
        self.facts = facts
        self.context = context

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        if not isinstance(stmt, ir.Try):
            return None
        whole = self.inside(stmt)
        if ends_by_raising(stmt.orelse):
            return [whole]
        body, handler = (self.facts.block(stmt, n) for n in (0, 1))
        pieces = _Pieces(whole, body, handler, self.facts, self.context)
        return pieces.in_pieces() if pieces.midway(ir.tried_and_rest(whole)[0]) else [whole]


Noted = tuple[str, str]  # the names of whether it failed, and of the exception (or "")


@dataclass
class _Pieces:
    """One `try`; `body` and `handler` are what its blocks were called."""

    attempt: ir.Try
    body: BlockKey
    handler: BlockKey
    facts: Structure
    context: Context
    cut: bool = False  # whether it is in pieces

    @functools.cached_property
    def seen(self) -> frozenset[str]:
        """The names that may be read after an exception."""
        return self.facts.live_in(self.handler)

    @functools.cached_property
    def written(self) -> Callable[[ir.Stmt], tuple[str, ...]]:
        """What a statement writes in place."""
        return self.context.sources().written

    def in_pieces(self) -> ir.Block:
        """The statements that stand for it."""
        whole = _raising_what_it_caught(self.attempt, self.context)
        noted = (whole.failed or self.context.temporary("failed"), whole.caught)
        self.attempt, self.cut = whole, True
        tried, _ = ir.tried_and_rest(whole)
        return (*self.run(tried, noted, ()), *_after(whole, noted[0]))

    # ------------------------------------------------------------------------------ what changes

    def midway(self, block: ir.Block) -> bool:
        """Whether something may raise after a change."""
        last = set(map(id, ir.ends(block, self.passes)))
        return any(id(s) not in last and self._changes(s) for s in ir.statements(block))

    def splits(self, stmt: ir.Stmt) -> bool:
        """Whether something in a compound statement may raise after a change in it."""
        match stmt:
            case ir.For(iter=iterable) if not self._begins(iterable):
                return False
            case ir.Try(orelse=orelse) if not orelse or ends_by_raising(orelse):
                return False
        return ir.is_compound(stmt) and self.midway((stmt,))

    def changes(self, stmt: ir.Stmt) -> bool:
        return any(map(self._changes, ir.statements((stmt,))))

    def _changes(self, stmt: ir.Stmt) -> bool:
        """Whether a statement writes into something, or binds what an exception lets be read."""
        match stmt:
            case ir.If() | ir.For() | ir.While():
                return False
            case ir.Update() | ir.Store():
                return True
            case ir.Do(value=ir.Call(fn=ir.Ref(obj=obj))):
                return obj is not print
            case ir.Do(value=value):
                return any(isinstance(p, ir.Call | ir.Opaque) for p in ir.walk(value))
        return any(map(self._counts, ir.binds(stmt))) or bool(self.written(stmt))

    def passes(self, stmt: ir.Stmt) -> bool:
        """Whether a statement cannot raise: what it does is to note how an attempt ended."""
        return all(map(self._passes, ir.statements((stmt,))))

    def _passes(self, stmt: ir.Stmt) -> bool:
        match stmt:
            case ir.If(test=test) if type(stmt) is ir.If:
                return ir.names_in(test) <= self.context.temporaries
            case ir.Assign(target=str(), value=ir.Var(name)):
                return name in self.context.temporaries
        return names_constant(stmt) or isinstance(stmt, ir.Break)

    def _counts(self, name: str) -> bool:
        """Whether an exception after a name is bound is another thing than one before."""
        if name not in self.facts.home:
            return False
        if name in self.seen and not self.context.kind_of(ir.Var(name)).discrete:
            return True
        if not self.cut and name not in self.seen and self.facts.is_within(name, self.body):
            return False  # (nothing that it has bound counts where the whole body fails)
        return len(self.facts.definitions[name]) > 1

    def _begins(self, iterable: ir.Expr) -> bool:
        """Whether what a loop goes through raises nothing that is caught where the loop begins."""
        classes = self.attempt.test
        every = classes.items if isinstance(classes, ir.Display) else (classes,)
        if all(isinstance(c, ir.Ref) and not _may_be(TypeError, c.obj) for c in every):
            return True
        if isinstance(iterable, ir.Call) and isinstance(iterable.fn, ir.Ref):
            if iterable.fn.obj is range:
                return all(self.context.kind_of(arg).dtype == "int" for arg in iterable.args)
            if iterable.fn.obj in (zip, enumerate, reversed):
                return all(map(self._begins, iterable.args))
        kind = self.context.kind_of(iterable)
        return kind.form in ("list", "tuple", "dict") or (kind.form == "array" and bool(kind.rank))

    # ------------------------------------------------------------------------------ the pieces

    def run(self, block: ir.Block, noted: Noted, leave: ir.Block) -> ir.Block:
        """A block in pieces. Where one raises, that is noted, and `leave` is done."""
        if not block or isinstance(block[0], ir.Break):
            return (self.bound(noted[0], False), *block)
        if self.passes(block[0]) and not any(ir.breaks(block[:1])):
            return (block[0], *self.run(block[1:], noted, leave))
        count = self._first(block)
        head, rest = block[:count], block[count:]
        if not rest:
            return self.one(head, noted, leave)
        own = self.names()
        failed = (*self.passed(own, noted), *leave)
        last = ir.If(ir.Var(own[0]), failed, self.run(rest, noted, leave), self.attempt.origin)
        return (*self.one(head, own, ()), last)

    def _first(self, block: ir.Block) -> int:
        """How many statements the first piece has."""
        entered = 0  # (a context is left in the piece that enters it)
        for count, stmt in enumerate(block):
            if not entered and (self.splits(stmt) or any(ir.breaks((stmt,)))):
                return count or 1
            entered += isinstance(stmt, ir.Enter) - isinstance(stmt, ir.Leave)
            if not entered and any(map(self.changes, block[: count + 1])):
                return count + 1
        return len(block)

    def one(self, head: ir.Block, noted: Noted, leave: ir.Block) -> ir.Block:
        """One piece, and what is done where it raises."""
        (first, *others), origin = head, self.attempt.origin
        if others or not (self.splits(first) or any(ir.breaks(head))):
            after = (ir.If(ir.Var(noted[0]), leave, (), origin),) if leave else ()
            return (self.piece(head, noted), *after)
        if isinstance(first, ir.Try):
            return self.run(_in_two(first, self.context), noted, leave)
        if isinstance(first, ir.If):
            made = ir.map_statement(first, block=lambda b: self.run(b, noted, leave))
            return self.asked(first.test, noted, leave, lambda t: dataclasses.replace(made, test=t))
        own = self.names()
        end: ir.Block = (ir.Break(first.origin),)
        failed = (*self.passed(own, noted), *end)
        loop = ir.map_statement(first, block=lambda b: self.run(b, own, failed))
        if isinstance(loop, ir.While):
            loop = self.tested(loop, noted, end)
        after = (ir.If(ir.Var(noted[0]), leave, (), origin),) if leave else ()
        return (self.bound(noted[0], False), loop, *after)

    def tested(self, loop: ir.While, noted: Noted, end: ir.Block) -> ir.While:
        """A loop whose test is tried in its body."""
        origin, body = loop.origin, loop.body
        asked = self.asked(loop.test, noted, end, lambda t: ir.If(t, body, end, origin=origin))
        return ir.While(ir.Const(True), asked, origin)

    def piece(self, block: ir.Block, noted: Noted) -> ir.Try:
        origin, (failed, error) = self.attempt.origin, noted
        told: ir.Block = ()
        raised = ""
        if error:  # (the name in `except ... as` is gone after it)
            raised = self.context.temporary("raised")
            told = (ir.Assign(error, ir.Var(raised), origin),)
        whole = (*block, ir.Tried(origin))
        return ir.Try(self.attempt.test, whole, told, origin, failed, raised)

    def asked(
        self, test: ir.Expr, noted: Noted, leave: ir.Block, then: Callable[[ir.Expr], ir.Stmt]
    ) -> ir.Block:
        """What follows a test, which may raise."""
        if isinstance(test, ir.Var | ir.Const):
            return (then(test),)
        holds, own, origin = self.context.temporary("holds"), self.names(), self.attempt.origin
        piece = self.piece((ir.Assign(holds, test, origin),), own)
        failed = (*self.passed(own, noted), *leave)
        return (piece, ir.If(ir.Var(own[0]), failed, (then(ir.Var(holds)),), origin))

    # ------------------------------------------------------------------------------ names

    def names(self) -> Noted:
        """Names for whether a piece failed, and for its exception."""
        error = self.context.temporary(self.attempt.caught) if self.attempt.caught else ""
        return self.context.temporary(self.attempt.failed or "failed"), error

    def bound(self, name: str, value: bool) -> ir.Assign:
        return ir.Assign(name, ir.Const(value), self.attempt.origin)

    def passed(self, own: Noted, noted: Noted) -> ir.Block:
        """What a piece notes, as what the whole does."""
        pairs = [(target, ir.Var(name)) for target, name in zip(noted, own, strict=True) if name]
        return tuple(ir.Assign(t, value, self.attempt.origin) for t, value in pairs)


def _may_be(raised: type[BaseException], cls: object) -> bool:
    """Whether a handler of a class catches an exception."""
    return not isinstance(cls, type) or issubclass(raised, cls)


def _after(stmt: ir.Try, failed: str) -> ir.Block:
    """What follows the statements that are tried, where they are pieces before it."""
    _, (_, *rest) = ir.tried_and_rest(stmt)
    if stmt.orelse:
        return (ir.If(ir.Var(failed), stmt.orelse, tuple(rest), stmt.origin),)
    return (ir.If(negated(ir.Var(failed)), tuple(rest), (), stmt.origin),) if rest else ()


def _in_two(stmt: ir.Try, context: Context) -> ir.Block:
    """A `try` inside of another one: what it tries, and then what follows."""
    stmt = _raising_what_it_caught(stmt, context)
    failed = stmt.failed or context.temporary("failed")
    tried, (mark, *_) = ir.tried_and_rest(stmt)
    alone = dataclasses.replace(stmt, body=(*tried, mark), orelse=(), failed=failed)
    return (alone, *_after(stmt, failed))


def _raising_what_it_caught(stmt: ir.Try, context: Context) -> ir.Try:
    """A `try` whose handler may stand after it: `raise` alone raises what was caught (in a handler
    inside, what that caught)."""

    def named(inner: ir.Stmt) -> ir.Instead:
        if isinstance(inner, ir.Try):
            body = ir.rewrite(inner.body, named)
            return inner if body is inner.body else dataclasses.replace(inner, body=body)
        if not isinstance(inner, ir.OpaqueStmt) or inner.text != "raise":
            return None
        return dataclasses.replace(inner, text="raise error", names=("error",), values=(error,))

    if not any(s.text == "raise" for s in ir.statements(stmt.orelse) if type(s) is ir.OpaqueStmt):
        return stmt
    error = ir.Var(stmt.caught or context.temporary("error"))
    orelse = ir.rewrite(stmt.orelse, named)
    if orelse is stmt.orelse:
        return stmt
    return dataclasses.replace(stmt, orelse=orelse, caught=error.name)
