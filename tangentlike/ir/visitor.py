"""The one place that lists the parts of expressions and statements, and walks through them.

A pass that asks for parts here need not know which statements hold blocks: `statements` and
`with_parents` go through a function in program order, `walk` through an expression.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from .nodes import (
    Assign,
    Attribute,
    Block,
    Break,
    Call,
    Display,
    Do,
    Enter,
    Expr,
    For,
    If,
    Index,
    Lazy,
    Leave,
    Opaque,
    OpaqueStmt,
    Return,
    Slice,
    Stmt,
    Store,
    Target,
    Tried,
    Try,
    Update,
    Var,
    While,
    With,
)

_N = TypeVar("_N")
_T = TypeVar("_T")
_UNKNOWN: Any = object()


# Every pass asks these questions of every node: they are answered by looking up the node's type,
# and what follows from a node alone is worked out once. Nodes never change, so the answer is kept
# beside the node's fields, where comparison, hashing and `repr` do not look.


class ByType(dict[type, Any]):
    """A function for each type of node; a subclass has that of its base, other things None."""

    def __missing__(self, cls: type) -> Any:
        self[cls] = next((self[base] for base in cls.__mro__ if base in self), None)
        return self[cls]


def of_node(fn: Callable[[_N], _T]) -> Callable[[_N], _T]:
    """Ask a function of one node, and of nothing else, once for each node."""
    key = f"_{fn.__module__}.{fn.__qualname__}"

    @functools.wraps(fn)
    def asked(node: _N) -> _T:
        known = getattr(node, key, _UNKNOWN)
        if known is _UNKNOWN:
            known = fn(node)
            setattr(node, key, known)
        found: _T = known
        return found

    return asked


def _call_parts(call: Call) -> tuple[Expr, ...]:
    if call.kwargs:
        return (call.fn, *call.args, *(v for _, v in call.kwargs))
    return (call.fn, *call.args)


_CHILDREN = ByType(
    {
        Call: _call_parts,
        Index: lambda e: (e.base, e.key),
        Slice: lambda e: tuple(p for p in (e.lower, e.upper, e.step) if p is not None),
        Attribute: lambda e: (e.base,),
        Display: lambda e: (*e.keys, *e.items),
        Lazy: lambda e: e.items,
        Opaque: lambda e: e.values,
    }
)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, in evaluation order."""
    parts = _CHILDREN[type(expr)]
    return () if parts is None else parts(expr)


def arguments(call: Call) -> tuple[Expr, ...]:
    """What a call is given, by position and by name."""
    return (*call.args, *(value for _, value in call.kwargs))


def is_starred(expr: Expr) -> bool:
    """A `*xs` or `**options` among the arguments of a call."""
    return isinstance(expr, Opaque) and expr.text.startswith("*")


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it, outermost first."""
    return iter(parts_of(expr))


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    """The same as a tuple: every analysis asks, so what is inside is kept with the expression."""
    known: tuple[Expr, ...] | None = getattr(expr, "_inside", None)
    if known is not None:
        return (expr, *known)
    node: Any = expr
    inside = _CHILDREN[type(expr)]
    if inside is None:
        return (expr,)
    known = inside(expr)
    for part in known:
        if _CHILDREN[type(part)] is not None:
            known = _deep_parts(known)
            break
    node._inside = known  # (without itself, in which it would be kept for ever)
    return (expr, *known)


def _deep_parts(direct: tuple[Expr, ...]) -> tuple[Expr, ...]:
    found, stack = [], [*reversed(direct)]
    while stack:
        part = stack.pop()
        found.append(part)
        inner = _CHILDREN[type(part)]
        if inner is not None:
            stack.extend(reversed(inner(part)))
    return tuple(found)


def names_in(expr: Expr | None) -> frozenset[str]:
    """The local names an expression reads."""
    if expr is None:
        return frozenset()
    known: frozenset[str] | None = getattr(expr, "_names", None)
    if known is None:
        node: Any = expr
        if type(expr) is Var:
            known = frozenset((expr.name,))
        else:
            known = frozenset([part.name for part in parts_of(expr) if type(part) is Var])
        node._names = known
    return known


_EXPRESSIONS = ByType(
    {
        Do: lambda s: (s.value,),
        Store: lambda s: (s.value, *children(s.target)),
        Update: lambda s: (s.target, s.value),
        If: lambda s: (s.test,),
        While: lambda s: (s.test,),
        For: lambda s: (s.iter,),
        Return: lambda s: () if s.value is None else (s.value,),
        OpaqueStmt: lambda s: s.values,
        Enter: lambda s: (s.context,),
        Leave: lambda s: () if s.context is None else (s.context,),
        With: lambda s: (s.context,),
    }
)


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions a statement itself evaluates (not those of nested blocks).

    The base and key of a written `Index` count: they are read to find the place.
    """
    if type(stmt) is Assign:  # (as most are)
        return (stmt.value,)
    found = _EXPRESSIONS[type(stmt)]
    return () if found is None else found(stmt)


def reads(stmt: Stmt) -> frozenset[str]:
    """Local names the statement itself reads (nested blocks excluded)."""
    known: frozenset[str] | None = getattr(stmt, "_reads", None)
    if known is None:
        node: Any = stmt
        read = expressions(stmt)
        known = names_in(read[0]) if len(read) == 1 else frozenset().union(*map(names_in, read))
        node._reads = known
    return known


def target_names(target: Target) -> tuple[str, ...]:
    """The names a target binds, left to right."""
    if isinstance(target, str):
        return (target,)
    return tuple(name for part in target for name in target_names(part))


_BINDS = ByType(
    {
        For: lambda s: target_names(s.target),
        Update: lambda s: (s.target.name,) if isinstance(s.target, Var) else (),
        OpaqueStmt: lambda s: s.writes,
        Try: lambda s: tuple(filter(None, (s.failed, s.caught))),
        Enter: lambda s: (s.target,) if s.target else (),
        With: lambda s: (s.target,) if s.target else (),
    }
)


def binds(stmt: Stmt) -> tuple[str, ...]:
    """Local names the statement itself binds (nested blocks excluded).

    An `Update` of a bare name may rebind it (a number), so it counts.
    """
    if type(stmt) is Assign:
        return (stmt.target,) if type(stmt.target) is str else target_names(stmt.target)
    found = _BINDS[type(stmt)]
    return () if found is None else found(stmt)


_BLOCKS = ByType(
    {
        If: lambda s: (s.body, s.orelse),
        For: lambda s: (s.body,),
        While: lambda s: (s.body,),
        With: lambda s: (s.body,),
    }
)


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks nested directly in a statement."""
    found = _BLOCKS[type(stmt)]
    return () if found is None else found(stmt)


def statements(block: Block) -> Iterator[Stmt]:
    """All statements of a block in preorder, nested ones included."""
    inside = list(map(_BLOCKS.__getitem__, map(type, block)))
    if not any(inside):
        return iter(block)
    found: list[Stmt] = []
    for stmt, compound in zip(block, inside, strict=True):
        found.append(stmt)
        if compound:
            found += _within(stmt)
    return iter(found)


@of_node
def _within(stmt: Stmt) -> tuple[Stmt, ...]:
    """All statements in the blocks of a statement (most passes leave most of these as they are)."""
    return tuple(itertools.chain.from_iterable(map(statements, blocks(stmt))))


def walk_statement(stmt: Stmt) -> Iterator[Expr]:
    """All parts of the expressions of a statement itself."""
    return itertools.chain.from_iterable(map(parts_of, expressions(stmt)))


def walk_block(block: Block) -> Iterator[Expr]:
    """All parts of all expressions in a block."""
    return itertools.chain.from_iterable(map(walk_statement, statements(block)))


def all_blocks(block: Block) -> Iterator[Block]:
    """A block and all blocks within it, outer ones first."""
    yield block
    for stmt in block:
        for inner in blocks(stmt):
            yield from all_blocks(inner)


def inner_blocks(block: Block) -> Iterator[tuple[Stmt, int, Block]]:
    """The blocks within a block, those further inside first: the statement that each is a part
    of, which of its blocks it is, and the block."""
    for stmt in block:
        for which, inner in enumerate(blocks(stmt)):
            yield from inner_blocks(inner)
            yield stmt, which, inner


def is_compound(stmt: Stmt) -> bool:
    """Whether a statement holds blocks."""
    return _BLOCKS[type(stmt)] is not None


def breaks(body: Block) -> Iterator[Break]:
    """The `break`s that leave the loop whose body this is."""
    for stmt in body:
        if isinstance(stmt, Break):
            yield stmt
        elif not isinstance(stmt, For | While):
            for inner in blocks(stmt):
                yield from breaks(inner)


def ends(block: Block, passes: Callable[[Stmt], bool]) -> Iterator[Stmt]:
    """The statements of a block, of its branches too, after which nothing runs in it but what
    `passes`. (A loop may run again.)"""
    for stmt in reversed(block):
        if not is_compound(stmt):
            yield stmt
        elif isinstance(stmt, If):
            for inner in blocks(stmt):
                yield from ends(inner, passes)
        if not passes(stmt):
            return


def tried_and_rest(stmt: Try) -> tuple[Block, Block]:
    """The body of a `try` in two: what it protects, and what follows (with the mark between)."""
    at = next(n for n, inner in enumerate(stmt.body) if isinstance(inner, Tried))
    return stmt.body[:at], stmt.body[at:]


def bindings(stmts: Iterable[Stmt], params: Iterable[str] = ()) -> Counter[str]:
    """How many of the statements bind each name; being a parameter counts as one."""
    return Counter(itertools.chain(params, itertools.chain.from_iterable(map(binds, stmts))))


def with_parents(
    block: Block, around: tuple[Stmt, ...] = ()
) -> Iterator[tuple[Stmt, tuple[Stmt, ...]]]:
    """All statements of a block in preorder, each with the statements around it, outermost first.

    >>> from tangentlike.frontend.lower import program
    >>> f = program("for i in n:\\n    if i > k:\\n        y = i\\nreturn y")
    >>> [(type(s).__name__, len(around)) for s, around in with_parents(f.body)]
    [('For', 0), ('If', 1), ('Assign', 2), ('Return', 0)]
    """
    for stmt in block:
        yield stmt, around
        for inner in blocks(stmt):
            yield from with_parents(inner, (*around, stmt))
