"""Items of lists and dicts that are replaced: zeros like what was there before.

before::                      after::
    t = xs[0]                     t = xs[0]
    xs[0] = v                     xs_0_zero = zeros_like(xs[0])
                                  xs[0] = v

When `xs[0] = v` has been reversed, the place in the adjoint belongs to the item that was there
before, and that may be of another shape, or a list where `v` is an array. A name for its zero is
needed only where the earlier item may count: it may have been read, or come from elsewhere.
"""

from __future__ import annotations

from ... import ir
from ...analysis.aliases import Aliases
from ...analysis.structure import Structure
from ..context import Context
from .adjoints import as_value

_PLAIN = ("number", "other")


class ReplacedItems:
    """Answers for one function, of which `facts` and `aliases` are known."""

    def __init__(self, facts: Structure, aliases: Aliases, context: Context) -> None:
        self.facts = facts
        self.aliases = aliases
        self.context = context

    def named(self, stmt: ir.Store, original: ir.Stmt, old: str = "") -> list[ir.Stmt]:
        """The zero that `stmt` needs, as statements that stand before it; `old` is a name of the
        earlier item, if it has one. (`original` is the statement that the facts know.)"""
        if not isinstance(stmt.target, ir.Index) or not self._may_differ(stmt.target):
            return []
        assert isinstance(stmt.target.base, ir.Var)
        key = (stmt.target, id(stmt.origin))
        if old:
            self.context.held[key] = old
            return []
        if not self._may_count(stmt.target.base.name, original):
            return []
        name = self.context.fresh(
            f"{stmt.target.base.name}_zero", self.context.kind_of(stmt.target), temporary=True
        )
        self.context.held[key] = name
        zero = ir.Call(self.context.helper("zeros_like"), (self._item(stmt.target),))
        return [ir.Assign(name, zero, stmt.origin)]

    def _item(self, item: ir.Index) -> ir.Expr:
        """The earlier item: a dict may have none yet."""
        if self.context.kind_of(item.base).form == "list":
            return item
        return ir.Call(ir.Attribute(item.base, "get"), (as_value(item.key),))

    def _may_differ(self, item: ir.Index) -> bool:
        """Whether one item of a container may have another structure than the next."""
        if self.context.kind_of(item.base).form not in ("list", "dict"):
            return False
        kind = self.context.kind_of(item)
        return kind.form not in _PLAIN and not kind.same_shape(kind)

    def _may_count(self, base: str, stmt: ir.Stmt) -> bool:
        """Whether derivatives may flow through what an item was before a statement."""
        facts = self.facts
        known = {*facts.definitions, *facts.function.param_names}
        alike = self.aliases.class_of(base)
        names = {base, *(n for n in known if self.aliases.class_of(n) == alike)}
        if names.intersection(facts.function.param_names):
            return True
        made = (d for name in names for d in facts.definitions.get(name, ()))
        if not all(_holds_constants(d, names) for d in made):
            return True
        uses = (use for name in names for use in facts.used_by.get(name, ()))
        return any(self._comes_before(use, stmt) for use in uses if not _only_puts(use, names))

    def _comes_before(self, use: ir.Stmt, stmt: ir.Stmt) -> bool:
        """Whether a statement may run before another one, be it in an earlier round."""
        facts = self.facts
        loops = [facts.outer_loop[facts.block_of(s)] for s in (use, stmt)]
        together = loops[0] == loops[1] != 0
        return together or facts.number(use) < facts.number(stmt)


def _only_puts(stmt: ir.Stmt, names: set[str]) -> bool:
    """Whether a statement uses a container only to put something into it, or to make another one
    of it, the making of which tells what that holds."""
    match stmt:
        case ir.Store(target=ir.Index(ir.Var(name), key), value=value):
            return name in names and not names & (ir.names_in(key) | ir.names_in(value))
        case ir.Do(value=ir.Call(ir.Attribute(ir.Var(name), "append"), (value,))):
            return name in names and not names & ir.names_in(value)
        case ir.Assign(target=str(name), value=ir.Call() | ir.Var()):
            return name in names and _holds_constants(stmt, names)
    return False


def _holds_constants(stmt: ir.Stmt, names: set[str]) -> bool:
    """Whether a container is made of constants: `[None]`, `parts * n`, where `parts` is one of
    the names, which are asked as well."""
    match stmt:
        case ir.Assign(value=ir.Display(items=items)):
            return all(isinstance(i, ir.Const) for i in items)
        case ir.Assign(value=ir.Var(name)):
            return name in names
        case ir.Assign(value=ir.Call(ir.Ref(text="*" | "+"), args)):
            containers = {a.name for a in args if isinstance(a, ir.Var)}
            return bool(containers & names)
    return False
