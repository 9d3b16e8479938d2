"""Rebuilding expressions, statements and programs: what does not change stays the same object.

`rewrite` goes through a block, nested blocks included, and asks a hook what stands for each
statement: one other, several, none. `Rewriter` is the same as a class, for passes with a state.
Since an unchanged statement keeps its identity, facts about it are looked up, not computed again.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar, Union

from ..errors import Place
from .nodes import (
    Assign,
    Attribute,
    Block,
    Call,
    Display,
    Do,
    Enter,
    Expr,
    For,
    Function,
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
    Try,
    Update,
    Var,
    While,
    With,
    replaced,
)
from .visitor import ByType, blocks, children, is_compound, names_in, reads, statements

_S = TypeVar("_S", bound=Stmt)
_T = TypeVar("_T")

# What a statement hook says: the statements instead of one, or None where it has nothing to say.
Instead = Union[Stmt, Iterable[Stmt], None]
StatementHook = Callable[[Stmt], Instead]
ExpressionHook = Callable[[Expr], Expr]

# --------------------------------------------------------------------------- expressions


def _call(e: Call, parts: list[Expr]) -> Call:
    last = 1 + len(e.args)
    words = zip(e.kwargs, parts[last:], strict=True) if e.kwargs else ()
    return Call(parts[0], tuple(parts[1:last]), tuple((k, v) for (k, _), v in words), e.at)


def _slice(e: Slice, parts: list[Expr]) -> Slice:
    following = iter(parts)
    return Slice(*(p and next(following) for p in (e.lower, e.upper, e.step)))


def _display(e: Display, parts: list[Expr]) -> Display:
    first = len(e.keys)
    return Display(e.form, tuple(parts[first:]), tuple(parts[:first]))


_WITH_CHILDREN: dict[type, Callable[[Any, list[Expr]], Expr]] = ByType(
    {
        Call: _call,
        Index: lambda e, parts: Index(parts[0], parts[1], e.at),
        Slice: _slice,
        Attribute: lambda e, parts: Attribute(parts[0], e.name, e.at),
        Display: _display,
        Lazy: lambda e, parts: Lazy(e.form, tuple(parts)),
        Opaque: lambda e, parts: dataclasses.replace(e, values=tuple(parts)),
    }
)


def rebuild(expr: Expr, fn: ExpressionHook) -> Expr:
    """The same node with `fn` applied to each direct subexpression, in evaluation order.

    >>> x = Index(Var("a"), Var("i"))
    >>> rebuild(x, lambda part: part) is x
    True
    """
    parts = children(expr)
    if not parts:
        return expr
    mapped = [fn(part) for part in parts]
    for new, old in zip(mapped, parts, strict=True):
        if new is not old:
            return _WITH_CHILDREN[type(expr)](expr, mapped)
    return expr


_MADE_OF_PARTS = (Call, Index, Attribute, Display, Lazy)  # (a union is made anew at each call)


def located(expr: Expr, at: Place | None, values: Mapping[str, Expr] | None = None) -> Expr:
    """The same expression; its operations that have no place of their own are said to be at `at`.

    What a rule states of an operation belongs to the place of that operation in the user's line.
    Names are replaced by `values`, if these are given.
    """
    if isinstance(expr, Var):
        return expr if values is None else located(values.get(expr.name, expr), at)
    if at is None or not isinstance(expr, _MADE_OF_PARTS):
        return expr if values is None else substitute(expr, values)
    found = rebuild(expr, lambda e: located(e, at, values))
    match found:
        case Call(at=None):
            return Call(found.fn, found.args, found.kwargs, at)
        case Index(at=None):
            return Index(found.base, found.key, at)
        case Attribute(at=None):
            return Attribute(found.base, found.name, at)
    return found


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replace local names by expressions."""
    if isinstance(expr, Var):
        return values.get(expr.name, expr)
    if values.keys().isdisjoint(names_in(expr)):
        return expr
    return rebuild(expr, lambda e: substitute(e, values))


# ---------------------------------------------------------------------------- statements


def map_target(target: Target, fn: Callable[[str], Target]) -> Target:
    """Rename every name in a target, or take apart further what it is bound to."""
    if isinstance(target, str):
        return fn(target)
    return tuple(map_target(part, fn) for part in target)


def _same(part: _T) -> _T:
    return part


def map_statement(
    stmt: _S,
    expr: ExpressionHook = _same,
    block: Callable[[Block], Block] = _same,
    target: Callable[[Target], Target] = _same,
) -> _S:
    """A statement with its expressions, nested blocks and bound names mapped.

    It is the same object where nothing changed.
    """
    if type(stmt) is Assign:  # (most statements are: the same as below, in fewer steps)
        assigned: Any = stmt
        name, value = target(assigned.target), expr(assigned.value)
        if value is assigned.value and (name is assigned.target or name == assigned.target):
            return stmt
        assigned = Assign(name, value, stmt.origin, assigned.updates)
        return assigned  # type: ignore[no-any-return]
    if expr is _same and target is _same and not isinstance(stmt, If | For | While | With):
        return stmt
    changes: dict[str, Any] = {}
    for name, role in _PARTS[type(stmt)] or ():
        part = getattr(stmt, name)
        new = _MAPPED[role](part, expr, block, target)
        if new is not part and (role not in _NAMING or new != part):
            changes[name] = new
    return replaced(stmt, **changes) if changes else stmt


# What the statements are made of, in the order in which it is mapped.
_NAMING = ("target", "name", "names")
_CONTEXT = (("target", "name"), ("context", "expr"))
_BRANCHES = (("test", "expr"), ("body", "block"), ("orelse", "block"))
_PARTS = ByType(
    {
        Store: (("target", "place"), ("value", "expr")),
        Update: (("target", "place"), ("value", "expr")),
        Do: (("value", "expr"),),
        If: _BRANCHES,
        Try: (*_BRANCHES, ("failed", "name"), ("caught", "name")),
        For: (("target", "target"), ("iter", "expr"), ("body", "block")),
        While: (("test", "expr"), ("body", "block")),
        Return: (("value", "expr"),),
        Enter: _CONTEXT,
        Leave: (("context", "expr"),),
        With: (*_CONTEXT, ("body", "block")),
        OpaqueStmt: (("values", "exprs"), ("writes", "names")),
    }
)
_MAPPED: dict[str, Callable[[Any, ExpressionHook, Callable[[Block], Block], Any], Any]] = {
    "expr": lambda part, expr, block, target: None if part is None else expr(part),
    "exprs": lambda part, expr, block, target: unless_same(tuple(map(expr, part)), part),
    "place": lambda part, expr, block, target: (
        _named(part, target(part.name)) if type(part) is Var else rebuild(part, expr)
    ),
    "block": lambda part, expr, block, target: block(part),
    "target": lambda part, expr, block, target: target(part),
    "name": lambda part, expr, block, target: part and target(part),
    "names": lambda part, expr, block, target: tuple(map(target, part)),
}


def _named(var: Var, name: str) -> Var:
    return var if var.name == name else Var(name)


# ------------------------------------------------------------------------------ programs


def splice(block: Block, statement: StatementHook) -> Block:
    """What `statement` gives for each statement; nested blocks are left to it. None and the
    statement itself keep it, and a block in which all are kept is the same object."""
    out: list[Stmt] = []
    changed = False
    for stmt in block:
        new = statement(stmt)
        if new is None or new is stmt:
            out.append(stmt)
        elif hasattr(new, "origin"):
            out.append(new)  # type: ignore[arg-type]
            changed = True
        else:
            several = tuple(new)
            out.extend(several)
            changed = changed or len(several) != 1 or several[0] is not stmt
    return tuple(out) if changed else block


def unless_same(new: Sequence[_T], old: tuple[_T, ...]) -> tuple[_T, ...]:
    """Statements as a block (or others as a tuple); the old block itself if they are its own."""
    same = len(new) == len(old) and all(map(operator.is_, new, old))
    return old if same else tuple(new)


class Rewriter:
    """Rebuilds a program; a pass overrides `statement`, `expression`, or both.

    `statement` says what stands for a statement; where it says None, its expressions and nested
    blocks are rewritten (`inside`, which it may also ask for itself, before or after its own work).
    `expression` is asked for each whole expression of a statement, not for what is inside it.
    """

    def statement(self, stmt: Stmt) -> Instead:
        """The statements that stand for one, or None: itself with its parts rewritten."""
        return None

    def expression(self, expr: Expr) -> Expr:
        """What stands for an expression of a statement."""
        return expr

    def inside(self, stmt: _S) -> _S:
        """A statement with its expressions and its nested blocks rewritten."""
        return map_statement(stmt, self.expression, self.block)

    def nested(self, stmt: _S) -> _S:
        """A statement with its nested blocks rewritten; the expressions of itself stay."""
        return map_statement(stmt, block=self.block) if blocks(stmt) else stmt

    def block(self, block: Block) -> Block:
        """A block, nested ones included; the same object where nothing changed. A pass that looks
        at several statements at once overrides this, and asks `nested` for each of them."""
        return splice(block, self._spliced)

    def rewritten(self, function: Function) -> Function:
        """A function with its body rewritten; the same object where nothing changed."""
        return with_body(function, self.block(function.body))

    def _spliced(self, stmt: Stmt) -> Instead:
        new = self.statement(stmt)
        return self.inside(stmt) if new is None else new


class Loops(Rewriter):
    """Rewrites `for` loops, outer ones first: `loop` gives the statements that stand for one, the
    loop itself last, whose body is then rewritten."""

    def __init__(self, loop: Callable[[For], Sequence[Stmt]]) -> None:
        self.loop = loop

    def statement(self, stmt: Stmt) -> Instead:
        if not isinstance(stmt, For):
            return None
        *before, last = self.loop(stmt)
        return [*before, self.inside(last)]


class _Hooks(Rewriter):
    def __init__(
        self, before: StatementHook | None, expr: ExpressionHook | None, after: StatementHook | None
    ) -> None:
        self.before = before
        self.expr = expr
        self.after = after

    def inside(self, stmt: _S) -> _S:
        if self.expr is not None:
            return map_statement(stmt, self.expr, self.block)
        return self.nested(stmt)

    def _spliced(self, stmt: Stmt) -> Instead:
        new = None if self.before is None else self.before(stmt)
        if new is not None:
            return new
        if self.expr is not None or is_compound(stmt):
            stmt = self.inside(stmt)
        new = None if self.after is None else self.after(stmt)
        return stmt if new is None else new


def rewrite(
    block: Block,
    statement: StatementHook | None = None,
    expression: ExpressionHook | None = None,
    after: StatementHook | None = None,
) -> Block:
    """A block rewritten by hooks, nested blocks included; the same object where nothing changed.

    `statement` says what stands for a statement, or None: then its expressions and nested blocks
    are rewritten, and `after` says what stands for the outcome (None: itself).

    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.frontend.lower import program
    >>> f = program("if k:\\n    print(a)\\nb = a\\nreturn b")
    >>> rewrite(f.body) is f.body
    True
    >>> print(show(rewrite(f.body, lambda s: [s, s] if isinstance(s, Do) else None)))
    if k:
        print(a)
        print(a)
    b = a
    return b
    """
    return _Hooks(statement, expression, after).block(block)


def with_body(function: Function, body: Block) -> Function:
    """The function with another body; the same object if the body is the same."""
    return function if body is function.body else replaced(function, body=body)


def renamed(block: Block, values: Mapping[str, Expr]) -> Block:
    """A copy of a block with names replaced: those it reads by what `values` says, those it binds
    where that is a name too. Every statement of the copy is an object of its own."""

    def target(name: str) -> str:
        new = values.get(name)
        return new.name if isinstance(new, Var) else name

    def one(stmt: Stmt) -> Stmt:
        new = map_statement(
            stmt,
            expr=lambda e: substitute(e, values),
            block=within,
            target=lambda t: map_target(t, target),
        )
        return replaced(stmt) if new is stmt else new

    def within(block: Block) -> Block:
        return tuple(map(one, block))

    return within(block)


def without_unread(block: Block, names: Collection[str]) -> Block:
    """A block without the assignments of those of these names that nothing in it reads."""
    gone = set(names).difference(name for stmt in statements(block) for name in reads(stmt))
    if not gone:
        return block
    return rewrite(block, lambda s: () if isinstance(s, Assign) and s.target in gone else None)


def copied(block: Block) -> Block:
    """The same statements, every one an object of its own."""
    return renamed(block, {})


def distinct(function: Function) -> Function:
    """The function with every statement an object of its own (a transform may have used one
    twice), so that facts can be kept for each."""
    every = list(statements(function.body))
    seen: set[int] = set()

    def own(stmt: Stmt) -> Stmt | None:
        if id(stmt) in seen:
            return replaced(stmt)
        seen.add(id(stmt))
        return None

    repeated = len({id(stmt) for stmt in every}) < len(every)
    return with_body(function, rewrite(function.body, after=own)) if repeated else function
