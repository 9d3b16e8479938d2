"""What a loop runs over, and what may change how long that is while it runs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable

from ... import ir
from ...analysis.memory import base_names, element
from ...analysis.sharing import Sharing, changed_by_method, may_resize, owner
from ...analysis.structure import structure
from ...errors import UnsupportedError
from ...ir.kind import INT, UNKNOWN
from ..context import Context
from ..loops import SIZED, by_position, is_call, sources_of


@dataclasses.dataclass
class Changes:
    """What the body of a loop may change, by whatever name."""

    function: ir.Function
    context: Context

    @functools.cached_property
    def classes(self) -> dict[str, str]:
        """What may share memory in the function."""
        return Sharing(structure(self.function), self.context.sources()).classes

    def among(self, names: Iterable[str], body: Iterable[ir.Stmt]) -> list[str]:
        """Those of the names whose memory some statements may write, as a whole or in part."""
        sources = self.context.sources()
        written = {node for stmt in body for node in sources.written(stmt)}
        if not written:
            return []
        changed = {self._class(n) for node in written for n in (node, owner(node))}
        return [n for n in names if any(self._class(e) in changed for e in self._reached(n))]

    def resized(self, loop: ir.For) -> list[str]:
        """The sequences that a loop runs over and that may have another length on the way."""
        fixed = (*SIZED, "dict", "set")
        names = [name for name in sources_of(loop.iter) if self.form(name) not in fixed]
        if not names:
            return []
        sources, items = self.context.sources(), _items_of(loop)
        resizing = [stmt for stmt in ir.statements(loop.body) if may_resize(stmt, sources)]
        # (A loop backwards over what may be an array, or a list, is taken to leave its length
        # alone. So is one in a derivative's text, unless it changes the list by its own name: it
        # empties stacks, and it never runs over those.)
        back = _gone_through_backwards(loop.iter).intersection(names)
        derived = loop.origin.place.file.startswith("<tangentlike")
        kept = {name for name in back if derived or self.form(name) != "list"}
        itself = frozenset[str]().union(*map(_changed_itself, resizing))
        names = [name for name in names if name not in kept or (derived and name in itself)]
        return self.among(names, (s for s in resizing if not _changed_itself(s) & items))

    def form(self, name: str) -> str:
        return self.context.kind_of(ir.Var(name)).form

    def _class(self, node: str) -> str:
        return self.classes.get(node, node)

    def _reached(self, name: str) -> tuple[str, ...]:
        """The nodes of what a loop over a name asks (an object says by `__iter__` what it
        yields)."""
        return (name,) if self.form(name) == "list" else (name, element(name))


def _gone_through_backwards(iterable: ir.Expr) -> frozenset[str]:
    calls = (part for part in ir.walk(iterable) if is_call(part, reversed))
    return frozenset(name for call in calls for name in sources_of(call))


def _items_of(loop: ir.For) -> frozenset[str]:
    """The names of a loop's items, which are not what it runs over."""
    items, body = {*ir.target_names(loop.target)}, [*ir.statements(loop.body)]
    bound = ir.bindings(stmt for stmt in body if not isinstance(stmt, ir.Update))
    for stmt in body:
        match stmt:
            case ir.Assign(target=str(name), value=ir.Var(other)) if other in items:
                items |= {name} if bound[name] == 1 else set()
    return frozenset(items)


def _changed_itself(stmt: ir.Stmt) -> frozenset[str]:
    """The name of what a statement changes: `v` in `v += [1.0]`, `v[k] = x`, `v.append(x)`."""
    match stmt:
        case ir.Store(target=target) | ir.Update(target=target):
            return base_names(target)
    return changed_by_method(stmt)


def asks_its_length(
    loop: ir.For, resized: list[str], body: ir.Block, context: Context
) -> list[ir.Stmt]:
    """A loop that asks before each item how long its lists are.

    before::                            after::
        for v in xs:                        index = 0
            xs.append(v * x)                while index < len(xs):
                                                v = xs[index]
                                                index = index + 1
                                                xs.append(v * x)
    """
    for name in sorted(_gone_through_backwards(loop.iter).intersection(resized)):
        raise UnsupportedError(
            f"what may change how long `{name}` is, in a loop backwards over it",
            loop.origin.place,
            f"Run over a copy, `for item in list(reversed({name}))`, or use `while`.",
        )
    before: list[ir.Stmt] = []
    for name in resized:
        if context.kind_of(ir.Var(name)).form != "list":
            live = ir.Call(context.helper("live_items"), (ir.Var(name),))
            items = context.fresh(f"{name}_items", UNKNOWN)
            before.append(ir.Assign(items, live, loop.origin))
            loop = dataclasses.replace(loop, iter=ir.substitute(loop.iter, {name: ir.Var(items)}))
    return [*before, *by_position(loop, context.fresh("index", INT), body)]
