"""Which names may still be read after a statement.

Sets of names are bit masks (bit `index[name]`), so that one set operation a statement suffices
for functions of thousands of statements. A loop needs no iteration: what is live at its head is
what is live after it and what a round reads before binding it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .. import ir


@dataclass
class Liveness:
    """`after` and `before`: id of a statement -> mask of the names live there.

    A statement object that occurs twice has what is live at either place. `uses` and `defines`
    say what a statement itself reads and binds.
    """

    uses: Callable[[ir.Stmt], Iterable[str]] = ir.reads
    defines: Callable[[ir.Stmt], Iterable[str]] = ir.binds
    index: dict[str, int] = field(default_factory=dict)
    after: dict[int, int] = field(default_factory=dict)
    before: dict[int, int] = field(default_factory=dict)
    entry: int = 0
    _raising: int = 0  # live where an exception is caught
    _exposed: dict[int, int] = field(default_factory=dict)
    _masks: dict[int, tuple[ir.Stmt, int, int]] = field(default_factory=dict)

    def mask(self, names: Iterable[str]) -> int:
        """The set of some names."""
        found = 0
        for name in names:
            bit = self.index.get(name)
            if bit is None:
                bit = self.index[name] = len(self.index)
            found |= 1 << bit
        return found

    def masks(self, stmt: ir.Stmt) -> tuple[ir.Stmt, int, int]:
        """What a statement itself reads, and what it binds."""
        known = self._masks.get(id(stmt))
        if known is None or known[0] is not stmt:
            known = (stmt, self.mask(self.uses(stmt)), self.mask(self.defines(stmt)))
            self._masks[id(stmt)] = known
        return known

    def take_masks(self, earlier: Liveness) -> None:
        """Use what an earlier answer, to the same questions, worked out about statements."""
        self.index, self._masks = earlier.index, earlier._masks

    def is_live_after(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether the value that `name` has after `stmt` may still be read."""
        bit = self.index.get(name)
        return bit is not None and bool(self.after[id(stmt)] >> bit & 1)

    def names(self, mask: int) -> tuple[str, ...]:
        """The names of a set, in order of first appearance."""
        return tuple(name for name, bit in self.index.items() if mask >> bit & 1)


def liveness(
    function: ir.Function, pinned: Iterable[str] = (), known: Liveness | None = None
) -> Liveness:
    """Live names before and after every statement; `pinned` names are live throughout.

    `known` is an earlier answer for a program with many of the same statements.

    >>> from tangentlike.frontend.lower import program
    >>> f = program("t = a * b; y = t + a; return y")
    >>> live = liveness(f)
    >>> [live.names(live.after[id(stmt)]) for stmt in f.body]
    [('a', 't'), ('y',), ()]
    """
    live = Liveness()
    if known is not None:
        live.uses, live.defines = known.uses, known.defines
        live.take_masks(known)
    live.mask(function.param_names)
    live.entry = _block(function.body, live.mask(pinned), 0, live)
    return live


def _block(block: ir.Block, after: int, leave: int, live: Liveness) -> int:
    """Names live before a block; `leave` is what is live where a `break` in it goes."""
    for stmt in reversed(block):
        key = id(stmt)
        live.after[key] = live.after.get(key, 0) | after
        after = _statement(stmt, after, leave, live) | live._raising
        live.before[key] = live.before.get(key, 0) | after
    return after


def _statement(stmt: ir.Stmt, after: int, leave: int, live: Liveness) -> int:
    _, uses, defines = live.masks(stmt)
    match stmt:
        case ir.Try():
            return _attempt(stmt, after, leave, live)
        case ir.If(body=body, orelse=orelse):
            inside = _block(body, after, leave, live) | _block(orelse, after, leave, live)
            return inside | uses
        case ir.For(body=body):
            head = after | exposed(body, live) & ~defines
            _block(body, head, after, live)
            return head | uses
        case ir.While(body=body):
            head = after | exposed(body, live) | uses
            _block(body, head, after, live)
            return head
        case ir.Break():
            return leave
        case _:
            return after & ~defines | uses


def _attempt(stmt: ir.Try, after: int, leave: int, live: Liveness) -> int:
    """A `try` may be left for its other block at any of the statements that it protects."""
    _, uses, defines = live.masks(stmt)
    tried, rest = ir.tried_and_rest(stmt)
    caught = _block(stmt.orelse, after, leave, live)
    after = _block(rest, after, leave, live)
    around, live._raising = live._raising, live._raising | caught & ~defines
    body = _block(tried, after | caught, leave, live)
    live._raising = around
    return (body | caught) & ~defines | uses


def exposed(block: ir.Block, live: Liveness) -> int:
    """Names a block may read before it has bound them."""
    return exposed_before(block, 0, live)


def exposed_before(block: ir.Block, after: int, live: Liveness) -> int:
    """Names live before a block that no `break` leaves, from those live after it."""
    for stmt in reversed(block):
        after = _exposed(stmt, after, live)
    return after


def _exposed(stmt: ir.Stmt, after: int, live: Liveness) -> int:
    _, uses, defines = live.masks(stmt)
    match stmt:
        case ir.If(body=body, orelse=orelse):
            inside = exposed_before(body, after, live) | exposed_before(orelse, after, live)
            return inside & ~defines | uses
        case ir.For() | ir.While():
            known = live._exposed.get(id(stmt))
            if known is None:
                known = exposed(stmt.body, live)
                if isinstance(stmt, ir.For):
                    known &= ~defines
                known = live._exposed[id(stmt)] = known | uses
            return after | known
        case ir.Break():
            return 0
        case _:
            return after & ~defines | uses
