"""`a.flat`, an iterator over the entries of an array, spelled as reads and stores of the array."""

from __future__ import annotations

import dataclasses
from collections import Counter

from ... import ir
from ..context import Context
from .scatter import resized, store


def flat_spelled(function: ir.Function, context: Context) -> ir.Function:
    """A function without `flat`: its entries in rows, whatever their order in memory.

    before::                    after::
        a_flat = a.flat             places = flat_places(k, a.shape)
        a_flat[k] = 2.0             a[places] = 2.0
        a.flat = v                  a[...] = np.resize(v, a.shape)
        a_flat = a.flat             a_flat = a.ravel()
        t = a_flat[k]               t = a_flat[k]
        t = a_flat[1:]              part = a_flat[1:]
                                    t = copy(part)

    An iterator that is kept sees what is written after it was made. Where something is written,
    it is therefore `flat_view(a)`, which refuses an array whose entries are no view in this order.
    """
    statements = list(ir.statements(function.body))
    if not any(_has_flat(stmt) for stmt in statements):
        return function
    reads = Counter(name for stmt in statements for name in ir.reads(stmt))
    writes = any(isinstance(stmt, ir.Store | ir.Update | ir.Do) for stmt in statements)
    speller = _Speller(context, reads, writes)
    return speller.rewritten(function)


def _has_flat(stmt: ir.Stmt) -> bool:
    match stmt:
        case (
            ir.Assign(value=ir.Attribute(name="flat")) | ir.Store(target=ir.Attribute(name="flat"))
        ):
            return True
    return False


_MAY_BE_SLICE = ("unknown", "value", "other")


class _Speller(ir.Rewriter):
    def __init__(self, context: Context, reads: Counter[str], writes: bool) -> None:
        self.context = context
        self.reads = reads
        self.writes = writes
        self.vectors: set[str] = set()  # the names of iterators

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        written: dict[str, ir.Expr] = {}  # iterators that one store of this block uses
        for place, stmt in enumerate(block):
            match stmt:
                case ir.Assign(target=str(name), value=ir.Attribute(base, "flat")) if (
                    self._may_be_array(base)
                ):
                    if self._is_for_a_store(name, base, block[place + 1 :]):
                        written[name] = base
                    else:
                        self.vectors.add(name)
                        out.append(self._vector(stmt, name, base, block[place + 1 :]))
                case ir.Assign(str(), ir.Index(ir.Var(name), key)) if name in self.vectors:
                    out += self._copied(stmt) if self._may_be_slice(key) else [stmt]
                case ir.Store(target=ir.Attribute(base, "flat")) if self._may_be_array(base):
                    shape = ir.Attribute(base, "shape")
                    value, named = resized(stmt, stmt.value, shape, self.context)
                    out += [*named, store(stmt, base, ir.Const(Ellipsis), value)]
                case ir.Store() | ir.Update() if (
                    item := _item_of(stmt)
                ) is not None and item in written:
                    out += self._written(stmt, written[item])
                case _:
                    out.append(self.inside(stmt))
        return tuple(out)

    def _may_be_array(self, base: ir.Expr) -> bool:
        return self.context.kind_of(base).form in ("array", "value", "unknown")

    def _is_for_a_store(self, name: str, base: ir.Expr, later: ir.Block) -> bool:
        """Whether an iterator is made for `base.flat[k] = v` or `base.flat[k] += v` alone."""
        for stmt in later:
            if _item_of(stmt) == name:
                return self.reads[name] == 1
            if ir.names_in(base) & set(ir.binds(stmt)):
                return False
        return False

    def _written(self, stmt: ir.Store | ir.Update, base: ir.Expr) -> list[ir.Stmt]:
        assert isinstance(stmt.target, ir.Index)
        key, at = stmt.target.key, stmt.origin.place
        if isinstance(key, ir.Slice):
            parts = (key.lower, key.upper, key.step)
            key = ir.Call(ir.Ref("slice", slice), tuple(p or ir.Const(None) for p in parts))
        helper = self.context.helper("flat_places")
        places = self.context.names.fresh("places")
        first = ir.Assign(
            places, ir.Call(helper, (key, ir.Attribute(base, "shape")), at=at), stmt.origin
        )
        target = ir.Index(base, ir.Var(places), at)
        if isinstance(stmt, ir.Update):
            return [first, dataclasses.replace(stmt, target=target)]
        count = ir.Call(self.context.numpy("size"), (ir.Index(ir.Var(places), ir.Const(0)),))
        value, named = resized(stmt, stmt.value, count, self.context)
        return [first, *named, dataclasses.replace(stmt, target=target, value=value)]

    def _may_be_slice(self, key: ir.Expr) -> bool:
        return isinstance(key, ir.Slice) or self.context.kind_of(key).form in _MAY_BE_SLICE

    def _copied(self, stmt: ir.Assign) -> list[ir.Stmt]:
        """`t = a_flat[1:]`: a slice of an iterator is a copy, one of a vector is a view."""
        part = self.context.fresh("part", self.context.kind_of(stmt.value))
        copy = ir.Call(self.context.helper("copy"), (ir.Var(part),), at=stmt.origin.place)
        return [dataclasses.replace(stmt, target=part), dataclasses.replace(stmt, value=copy)]

    def _vector(self, stmt: ir.Assign, name: str, base: ir.Expr, later: ir.Block) -> ir.Stmt:
        """The entries as a vector: read at once, or a view of what is written meanwhile."""
        at = stmt.origin.place
        at_once = (
            self.reads[name] == 1
            and bool(later)
            and isinstance(later[0], ir.Assign)
            and name in ir.reads(later[0])
        )
        if at_once or not self.writes:
            vector = ir.Call(ir.Attribute(base, "ravel"), (), at=at)
        else:
            vector = ir.Call(self.context.helper("flat_view"), (base,), at=at)
        return dataclasses.replace(stmt, value=vector)


def _item_of(stmt: ir.Stmt) -> str | None:
    """The name an entry of which a statement writes."""
    match stmt:
        case ir.Store(target=ir.Index(ir.Var(name))) | ir.Update(target=ir.Index(ir.Var(name))):
            return name
    return None
