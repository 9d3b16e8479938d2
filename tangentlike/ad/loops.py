"""How a `for` loop is run backwards: the header, and where each loop variable comes from."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from .. import ir
from ..ir.kind import Dim, Kind, is_named
from ..rules.book import KindOf


@dataclass(frozen=True)
class Leaf:
    """One binding of a loop header: `target` is `item` at round number `index`.

    `source` is the sequence the item is taken from (None for counters), `key` its key there.
    """

    target: ir.Target
    item: ir.Expr
    source: ir.Expr | None = None
    key: ir.Expr | None = None


def is_call(expr: ir.Expr, obj: object) -> TypeGuard[ir.Call]:
    """Whether an expression calls the given live object."""
    return isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Ref) and expr.fn.obj is obj


def _binary(text: str, op: object, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Call(ir.Ref(text, op), (left, right))


def length(iterable: ir.Expr, kind_of: KindOf | None = None) -> ir.Expr:
    """How many rounds a loop over `iterable` makes; `kind_of` tells which arrays are equally
    long."""
    if is_call(iterable, range) and len(iterable.args) == 1:
        return iterable.args[0]
    if is_call(iterable, enumerate) or is_call(iterable, reversed):
        return length(iterable.args[0], kind_of)
    if is_call(iterable, zip):
        first = {_first_axis(kind_of(part)) if kind_of else None for part in iterable.args}
        if len(first) == 1 and all(map(is_named, first)):
            return length(iterable.args[0], kind_of)
        sizes = tuple(dict.fromkeys(length(part, kind_of) for part in iterable.args))
        return sizes[0] if len(sizes) == 1 else ir.Call(ir.Ref("min", min), sizes)
    return ir.Call(ir.LEN, (iterable,))


def _first_axis(kind: Kind) -> Dim:
    """How long an array is, where that has a name."""
    shape = kind.shape if kind.form == "array" else None
    return shape[0] if isinstance(shape, tuple) and shape else None


def leaves(target: ir.Target, iterable: ir.Expr, index: ir.Expr) -> Iterator[Leaf]:
    """What the header binds at round `index` (counted from 0)."""
    if is_call(iterable, enumerate) and isinstance(target, tuple) and len(target) == 2:
        start = iterable.args[1:] + tuple(v for k, v in iterable.kwargs if k == "start")
        count = _binary("+", operator.add, index, start[0]) if start else index
        yield Leaf(target[0], count)
        yield from leaves(target[1], iterable.args[0], index)
    elif is_call(iterable, zip) and isinstance(target, tuple):
        for part, sequence in zip(target, iterable.args, strict=False):
            yield from leaves(part, sequence, index)
    elif is_call(iterable, range):
        yield Leaf(target, _range_item(iterable, index))
    elif is_call(iterable, reversed):
        last = _binary("-", operator.sub, length(iterable), ir.Const(1))
        yield from leaves(target, iterable.args[0], _binary("-", operator.sub, last, index))
    else:
        yield Leaf(target, ir.Index(iterable, index), iterable, index)


def _range_item(call: ir.Call, index: ir.Expr) -> ir.Expr:
    if len(call.args) == 1:
        return index
    return ir.Index(call, index)


def backwards(iterable: ir.Expr, count: str | None) -> ir.Expr | None:
    """The header's iterable reversed, or None where only an index will do.

    `count` names the number of rounds made, for a loop that may `break`.
    """
    if is_call(iterable, range):
        if count is not None:
            iterable = ir.Index(iterable, ir.Slice(upper=ir.Var(count)))
        return ir.Call(ir.REVERSED, (iterable,))
    if count is not None:
        return None
    if is_call(iterable, reversed):
        return iterable.args[0]
    if is_call(iterable, zip) or is_call(iterable, enumerate) or isinstance(iterable, ir.Opaque):
        return ir.Call(ir.REVERSED, (ir.Call(ir.LIST, (iterable,)),))
    return ir.Call(ir.REVERSED, (iterable,))


def rounds(count: ir.Expr) -> ir.Expr:
    """`range(count)`, backwards."""
    return ir.Call(ir.REVERSED, (ir.Call(ir.RANGE, (count,)),))


def indexed(stmt: ir.For, index: str, body: ir.Block) -> ir.For:
    """`for row in A: B` -> `for i in range(len(A)): row = A[i]; B`: the items get their names in
    statements of their own, which a write in the body can come after."""
    items = tuple(
        ir.Assign(leaf.target, leaf.item, stmt.origin)
        for leaf in leaves(stmt.target, stmt.iter, ir.Var(index))
    )
    return ir.For(index, ir.Call(ir.RANGE, (length(stmt.iter),)), (*items, *body), stmt.origin)


def by_position(stmt: ir.For, index: str, body: ir.Block) -> tuple[ir.Stmt, ir.While]:
    """`for v in xs: B` -> `i = 0; while i < len(xs): v = xs[i]; i = i + 1; B`, which is what
    Python does: how long a list is, it asks anew before each item."""
    loop = indexed(stmt, index, body)
    assert isinstance(loop.iter, ir.Call)
    count = len(loop.body) - len(body)
    items, rest = loop.body[:count], loop.body[count:]
    place = ir.Var(index)
    step = ir.Assign(index, _binary("+", operator.add, place, ir.Const(1)), stmt.origin)
    more = _binary("<", operator.lt, place, loop.iter.args[0])
    start = ir.Assign(index, ir.Const(0), stmt.origin)
    return start, ir.While(more, (*items, step, *rest), stmt.origin)


def sources_of(iterable: ir.Expr) -> tuple[str, ...]:
    """The names of the sequences that a loop header takes items from."""
    if isinstance(iterable, ir.Var):
        return (iterable.name,)
    if isinstance(iterable, ir.Call) and not is_call(iterable, range):
        return tuple(n for arg in iterable.args for n in sources_of(arg))
    return ()


SIZED = ("array", "value", "number", "other", "tuple")  # kinds whose length nothing changes


def may_break(block: ir.Block) -> bool:
    """Whether a loop body may leave its own loop by `break`."""
    return any(True for _ in ir.breaks(block))
