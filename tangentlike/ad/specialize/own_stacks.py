"""Stacks of a tape, read by position.

A backward function empties the stacks of its tape, and nobody sees them again (nor, where it has
been differentiated in forward mode, those of the tangent of its tape). When it is
differentiated in its turn it may as well leave them full: what is only read has no sharing to
be followed, and nothing of it need be put back.

before::                             after::
    x, h_saved = tape                    x, h_saved = tape
                                         h_left = len(h_saved)
    for t in reversed(range(n)):         for t in reversed(range(n)):
                                             h_left = h_left - 1
        h = h_saved.pop()                    h = h_saved[h_left]
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Iterator

from ... import ir
from ...frontend.lower import Lowered, names_of

_LEN = ir.Ref("len", len)
_MINUS = ir.Ref("-", operator.sub)


def stacks_by_position(lowered: Lowered, tapes: Collection[str]) -> Lowered:
    """A backward function that leaves the stacks of its `tapes`, parameters, as they are."""
    function = lowered.function
    stacks = _stacks(function, tapes)
    if not stacks:
        return lowered
    names = names_of(function)
    left = {s: names.fresh(f"{s.removesuffix('_saved')}_left") for s in stacks}
    sure = frozenset(map(_popped, _outside_branches(function.body)))
    body = ir.rewrite(function.body, after=_Reader(left, sure).statement)
    return lowered.with_body(body, left.values())


def _stacks(function: ir.Function, tapes: Collection[str]) -> tuple[str, ...]:
    """The names that are unpacked from the tapes and then only popped from."""
    taped: list[str] = []
    popped: set[str] = set()
    others: set[str] = set()
    top = set(map(id, function.body))
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=tuple() as target, value=ir.Var(tape)) if tape in tapes:
                if id(stmt) in top:
                    taped += ir.target_names(target)
                    continue
        stack = _popped(stmt)
        popped.update([stack] if stack else [])
        others.update([] if stack else ir.reads(stmt))
        others.update(ir.binds(stmt))
    return tuple(n for n in taped if n in popped - others and taped.count(n) == 1)


def _popped(stmt: ir.Stmt) -> str:
    """The stack that a statement takes one value from, and does nothing else with."""
    match stmt:
        case ir.Assign(value=call) | ir.Do(value=call):
            match call:
                case ir.Call(fn=ir.Attribute(ir.Var(name), "pop"), args=(), kwargs=()):
                    return name
    return ""


def _outside_branches(block: ir.Block) -> Iterator[ir.Stmt]:
    """The statements of a block and of the loops in it."""
    for stmt, around in ir.with_parents(block):
        if all(isinstance(outer, ir.For | ir.While) for outer in around):
            yield stmt


@dataclasses.dataclass(frozen=True)
class _Reader:
    left: dict[str, str]  # stack -> the number of values that are left of it
    sure: frozenset[str]  # stacks that are there whichever branches are taken

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        stack = _popped(stmt)
        if stack not in self.left:
            yield stmt
            yield from self.counters(stmt)
            return
        left = ir.Var(self.left[stack])
        yield ir.Assign(left.name, ir.Call(_MINUS, (left, ir.Const(1))), stmt.origin)
        if isinstance(stmt, ir.Assign):
            value = ir.Index(ir.Var(stack), left, stmt.origin.place)
            yield ir.Assign(stmt.target, value, stmt.origin)

    def counters(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        """The counters of the stacks that a statement unpacks."""
        if isinstance(stmt, ir.Assign):
            for name in ir.target_names(stmt.target):
                if name in self.left:
                    stack: ir.Expr = ir.Var(name)
                    if name not in self.sure:  # None where the branch that fills it was not taken
                        stack = ir.Lazy("or", (stack, ir.Display("tuple", ())))
                    value = ir.Call(_LEN, (stack,))
                    yield ir.Assign(self.left[name], value, stmt.origin)
