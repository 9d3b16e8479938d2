"""Objects that a block has just made: nothing that was read before can be in them.

In `p = zeros_like(q); p.first = v` the attribute need not be saved, however many names may come to
share memory with `p` later: what the reverse sweep reads of earlier statements is in other objects.
"""

from __future__ import annotations

from .. import ir
from .memory import Sources, element
from .operations import MUTATING_METHODS
from .sharing import container_stores
from .structure import ROOT, BlockKey, Structure

_MOST = 300  # statements between making and writing that are looked at


class NewlyMade:
    """Which statements of one function lie between the making of an object and a write into it."""

    def __init__(self, facts: Structure, sources: Sources) -> None:
        self.facts = facts
        self.sources = sources
        self._blocks: dict[BlockKey, ir.Block] = {}

    def readers(self, stmt: ir.Stmt, name: str) -> tuple[ir.Block, frozenset[str]] | None:
        """For the object that `name` is when `stmt` writes into it: the statements from its
        making on that may run before the write, and the names by which they may look into it. None
        where it is not seen that the object is made here, or older names may lead to it."""
        since = self._since(stmt, name)
        if since is None:
            return None
        deep = element(name) in self.sources.written(stmt)  # (or only what the container holds)
        inner = tuple(ir.statements(since))
        names, nodes = {name}, {name, element(name)} if deep else {name}
        while True:
            more = {n for s in inner for n in self._reached(s, nodes)} - names
            if not more:
                break
            names |= more
            nodes |= more | set(map(element, more))
        if any(self._keeps(s, names, nodes) for s in inner):
            return None
        return since, frozenset(names)

    def _reached(self, stmt: ir.Stmt, nodes: set[str]) -> tuple[str, ...]:
        """The names that a statement binds to what may share memory with one of `nodes`."""
        match stmt:
            case ir.Assign(value=value) | ir.For(iter=value) | ir.Enter(context=value):
                shares = self.sources.nodes(value) | self.sources.elements(value)
                return () if shares.isdisjoint(nodes) else ir.binds(stmt)
        return ()

    def _since(self, stmt: ir.Stmt, name: str) -> ir.Block | None:
        """The statements from the one that makes what `name` is (whose reversal may read it: the
        derivative of `y = np.tanh(x)` does) up to `stmt`, in the block of the first; of a loop that
        `stmt` is in, a round may run before it."""
        facts = self.facts
        around: ir.Block = ()
        while True:
            key, at = facts.block_of(stmt), facts.number(stmt)
            inside = [d for d in facts.definitions.get(name, ()) if facts.number(d) < at]
            made = max(inside, key=lambda d: facts.number(d), default=None)
            if made is not None and facts.block_of(made) == key:
                block = self._block(key)
                start, end = (facts.index.positions[facts.number(s)] for s in (made, stmt))
                near = end - start <= _MOST and self._makes(made, name)
                return (*block[start:end], *around) if near else None
            if key == ROOT or any(self._within(d, key) for d in facts.definitions.get(name, ())):
                return None
            stmt = facts.owner[key]
            around = (stmt,)

    def _within(self, stmt: ir.Stmt, key: BlockKey) -> bool:
        """Whether a statement is (in) the one that a block belongs to."""
        owner, number = self.facts.owner[key], self.facts.number
        return number(owner) <= number(stmt) <= self.facts.last_inside(owner)

    def _keeps(self, stmt: ir.Stmt, names: set[str], nodes: set[str]) -> bool:
        """Whether a statement may put one of `nodes` where other names lead to it."""
        for container, values in container_stores(stmt, self.sources):
            if container not in names and not values.isdisjoint(nodes):
                return True
        match stmt:
            case ir.OpaqueStmt() | ir.Update(target=ir.Var()):  # (`xs += [p]` puts it into `xs`)
                return not names.isdisjoint(ir.reads(stmt) - set(ir.binds(stmt)))
            case ir.Assign(value=value) | ir.Do(value=value) if isinstance(value, ir.Call):
                unknown = self.sources.view_of(value) == "user" and not _is_method(value)
                return unknown and not names.isdisjoint(ir.names_in(value))
        return False

    def _makes(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether a statement binds a name to an object that shares memory with nothing."""
        match stmt:
            case ir.Assign(target=str(target), value=ir.Call() as value) if target == name:
                if self.sources.view_of(value) != "no":  # (a user's may give what it keeps)
                    return False
            case ir.Assign(target=str(target), value=ir.Display() as value) if target == name:
                pass
            case _:
                return False
        return not (self.sources.nodes(value) | self.sources.elements(value))

    def _block(self, key: BlockKey) -> ir.Block:
        if key not in self._blocks:
            owner = None if key == ROOT else self.facts.owner[key]
            inner = (self.facts.function.body,) if owner is None else ir.blocks(owner)
            for which, block in enumerate(inner):
                self._blocks[key if owner is None else self.facts.block(owner, which)] = block
        return self._blocks[key]


def _is_method(call: ir.Call) -> bool:
    """Whether a call is `xs.append(v)` or the like, of which `container_stores` tells."""
    return isinstance(call.fn, ir.Attribute) and call.fn.name in MUTATING_METHODS
