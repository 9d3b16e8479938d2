"""`try` in forward mode: what is caught is what the primal raises, not what its tangents raise."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

from ... import ir
from ...frontend.jumps import last_to_raise
from ..context import Context

Block = Callable[[ir.Block], ir.Block]


def attempt(stmt: ir.Try, seen: frozenset[str], context: Context, block: Block) -> ir.Try:
    """A `try` with tangents: those of a straight body are computed after it.

    before::                             after::
        try:                                 try:
            y = a / b                            y = a / b
        except ZeroDivisionError:            except ZeroDivisionError:
            y = a                                y = a
                                                 y_dot = a_dot
                                             else:
                                                 y_dot = (a_dot - y * b_dot) / b

    Where tangents stay in the body, `analysis.raising` refuses those that may raise what is caught.
    `seen` are the names that are live where the exception is caught.
    """
    tried, rest = ir.tried_and_rest(stmt)
    both = block(tried)
    late: ir.Block = ()
    if _Straight(seen, context).block(tried):
        values, tangents = _part(both, tangents=False), _part(both, tangents=True)
        if not _read(values) & _bound(tangents):  # (a call reads the tangents that it is given)
            both, late = values, tangents
    mark, *after = rest
    body = (*both, mark, *late, *block(tuple(after)))
    return dataclasses.replace(stmt, body=body, orelse=block(stmt.orelse))


def _bound(block: ir.Block) -> set[str]:
    return {name for stmt in ir.statements(block) for name in ir.binds(stmt)}


def _read(block: ir.Block) -> set[str]:
    return {name for stmt in ir.statements(block) for name in ir.reads(stmt)}


@dataclass
class _Straight:
    """Whether tangents may be computed when all is done: on each path a name is bound once, before
    it is read; what is bound before the last statement is not seen if that raises; and nothing is
    written in place."""

    seen: frozenset[str]
    context: Context
    read: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)

    def block(self, block: ir.Block, final: bool = True) -> bool:
        ends = last_to_raise(block) if final else ()
        return all(self.statement(s, any(s is end for end in ends)) for s in block)

    def statement(self, stmt: ir.Stmt, last: bool) -> bool:
        new = set(ir.binds(stmt))
        self.read |= ir.reads(stmt)
        if type(stmt) is ir.If:
            before = set(self.bound)
            first = self.block(stmt.body, last)
            self.bound, before = before, self.bound
            second = self.block(stmt.orelse, last)
            self.bound |= before
            return first and second
        simple = isinstance(stmt, ir.Assign | ir.Do | ir.OpaqueStmt)
        partial = new & self.seen and not last
        fine = simple and not self.context.sources().written(stmt)
        fine = fine and not partial and not new & (self.read | self.bound)
        self.bound |= new
        return fine


def _part(block: ir.Block, tangents: bool) -> ir.Block:
    """Only the tangent statements of a block, or only the others."""

    def chosen(stmt: ir.Stmt) -> ir.Instead:
        if type(stmt) is ir.If and stmt.origin.role != "tangent":
            return None
        return stmt if (stmt.origin.role == "tangent") == tangents else ()

    def nonempty(stmt: ir.Stmt) -> ir.Instead:
        return stmt if not tangents or any(ir.blocks(stmt)) else ()

    return ir.rewrite(block, chosen, after=nonempty)
