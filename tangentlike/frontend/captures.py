"""Which names functions in nested IR bind, bind again, and take from the function around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import ir
from ..errors import Place
from ..ir import Expr, Function, Var
from .comprehensions import assigned
from .nested import Define


def bound_by(stmt: Any) -> tuple[str, ...]:
    """The names that a statement of nested IR binds."""
    return (stmt.function.name,) if isinstance(stmt, Define) else tuple(ir.binds(stmt))


def binding_counts(function: Function) -> dict[str, int]:
    """How many definitions each local name has; a parameter has one."""
    counts = dict.fromkeys(function.param_names, 1)
    for stmt in ir.statements(function.body):
        for name in bound_by(stmt):
            counts[name] = counts.get(name, 0) + 1
    return counts


def rebound_names(function: Function) -> frozenset[str]:
    """The names that may get another value after they have one."""
    counts = binding_counts(function)
    found = {name for name, count in counts.items() if count > 1}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.For(target=target):
                found.update(ir.target_names(target))
                found.update(n for s in ir.statements(stmt.body) for n in bound_by(s))
            case ir.While():
                found.update(n for s in ir.statements(stmt.body) for n in bound_by(s))
            case ir.Update(target=Var(name)):
                found.add(name)
    return frozenset(found)


@dataclass(frozen=True)
class Later:
    """The names that get another value after some point of a function."""

    rebound: frozenset[str]
    after: Mapping[Place, frozenset[str]]
    out_of_sight: frozenset[str] = frozenset()

    @staticmethod
    def of(function: Function) -> Later:
        hidden = _bound_out_of_sight(function)
        return Later(rebound_names(function) | hidden, bound_after(function), hidden)

    def than(self, origin: ir.Origin) -> frozenset[str]:
        """Those that may be bound again from a statement on."""
        return self.rebound & self.after.get(origin.place, self.rebound)


def bound_after(function: Function) -> dict[Place, frozenset[str]]:
    """For each statement, by its place, the names that may get a value once it runs.

    >>> from .lower import program
    >>> [sorted(names) for names in bound_after(program("a = b; c = a")).values()]
    [['a', 'c'], ['c']]
    """
    found: dict[Place, frozenset[str]] = {}
    _bound_after(function.body, _bound_out_of_sight(function), found)
    return dict(reversed(found.items()))


def _bound_after(
    block: ir.Block, after: frozenset[str], found: dict[Place, frozenset[str]]
) -> frozenset[str]:
    """Goes through a block backwards; what is bound from its beginning on."""
    for stmt in reversed(block):
        own = frozenset(n for s in ir.statements((stmt,)) for n in _given_value(s))
        again = isinstance(stmt, ir.For | ir.While)
        inside = after | own if again or isinstance(stmt, ir.Try) else after
        for inner in ir.blocks(stmt):
            _bound_after(inner, inside, found)
        after |= own
        place = stmt.origin.place
        found[place] = found.get(place, frozenset()) | after
    return after


def _given_value(stmt: Any) -> tuple[str, ...]:
    """The names that a statement binds, or gives another number by `a += b`."""
    match stmt:
        case ir.Update(target=Var(name)):
            return (name,)
    return bound_by(stmt)


def _bound_out_of_sight(function: Function) -> frozenset[str]:
    """The names that inner functions assign (`nonlocal`), and those of assignment expressions."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        if isinstance(stmt, Define):
            found.update(stmt.function.free)
            found |= _bound_out_of_sight(stmt.function)
        for expr in ir.expressions(stmt):
            found |= assigned(expr)
    return frozenset(found)


def free_names(function: Function) -> list[str]:
    """The names a function reads and does not bind, in order."""
    bound = set(function.param_names)
    bound.update(n for s in ir.statements(function.body) for n in bound_by(s))
    found: dict[str, None] = {}
    for stmt in ir.statements(function.body):
        if isinstance(stmt, Define):
            found.update(dict.fromkeys(free_names(stmt.function)))
            for param in stmt.function.params:
                found.update(dict.fromkeys(names_read(param.default)))
            continue
        for expr in ir.expressions(stmt):
            found.update(dict.fromkeys(names_read(expr)))
        if isinstance(stmt, ir.Update) and isinstance(stmt.target, Var):
            found[stmt.target.name] = None
        if isinstance(stmt, ir.OpaqueStmt):
            found.update(dict.fromkeys(stmt.names))
    return [name for name in found if name not in bound]


def names_read(expr: Expr | None) -> dict[str, None]:
    """The local names in an expression, in order."""
    if expr is None:
        return {}
    return dict.fromkeys(p.name for p in ir.walk(expr) if isinstance(p, Var))
