"""Where everything stands in one function: numbers of statements, what is around them, and which
statements bind and read each name.

A statement's number is its place in program order, so that facts about statements are lists, and
"before", "after" and "inside" are comparisons of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from ..errors import InternalError
from .facts import fact
from .nodes import (
    Attribute,
    Block,
    Const,
    For,
    Function,
    If,
    Opaque,
    OpaqueStmt,
    Ref,
    Stmt,
    While,
    With,
)  # fmt: skip
from .visitor import (
    binds,
    blocks,
    expressions,
    of_node,
    reads,
    statements,
    walk,
    walk_statement,
)  # fmt: skip

_COMPOUND = (If, For, While, With)
OUTERMOST = -1  # the number of what is around the statements of the function's body


def references(function: Function) -> tuple[Ref, ...]:
    """What the statements of a function refer to outside of it, each once, in program order (text
    that travels whole has its own). A function has a few of them, however long it is: a pass that
    is about some operations asks here first whether there are any.

    >>> from tangentlike.frontend.lower import program
    >>> [ref.text for ref in references(program("y = a * b * print(a)"))]
    ['*', 'print']
    """
    found: dict[tuple[str, int], Ref] = {}
    for stmt in function.body:
        for key, ref in _references(stmt).items():
            found.setdefault(key, ref)
    return tuple(found.values())


@of_node
def _references(stmt: Stmt) -> dict[tuple[str, int], Ref]:
    """The same of one statement with all that is in it, which most passes leave as it is."""
    found: dict[tuple[str, int], Ref] = {}
    for part in walk_statement(stmt):
        if type(part) is Ref:
            found.setdefault((part.text, part.key), part)
    for block in blocks(stmt):
        for inner in block:
            for key, ref in _references(inner).items():
                found.setdefault(key, ref)
    return found


def forms(function: Function) -> frozenset[object]:
    """What occurs in the statements of a function: classes of statements, expressions and literals
    (with what these derive from), and names of attributes. A pass that is about some of them asks
    here first, too.

    >>> from tangentlike.frontend.lower import program
    >>> found = forms(program("y = a.T * 2.0"))
    >>> "T" in found, float in found, For in found
    (True, True, False)
    """
    return frozenset().union(*map(_forms, statements(function.body)))


@of_node
def _forms(stmt: Stmt) -> frozenset[object]:
    """The same of a statement itself."""
    classes: set[type] = {type(stmt)}
    names: set[object] = set()
    for part in walk_statement(stmt):
        classes.add(type(part))
        if type(part) is Attribute:
            names.add(part.name)
        elif type(part) is Const:
            classes.add(type(part.value))
    return frozenset(names.union(*(cls.__mro__ for cls in classes)))


@of_node
def named(stmt: Stmt) -> tuple[Ref, ...]:
    """What a statement refers to outside of its function, in text that travels whole, too."""
    found = [*getattr(stmt, "refs", ())]
    for expr in expressions(stmt):
        for part in walk(expr):
            found += [part] if type(part) is Ref else getattr(part, "refs", ())
    return tuple(found)


class ProgramIndex:
    """`statements[n]` is the statement of number `n`; the lists beside it say of each

    - `parents`: the number of the compound statement around it, or `OUTERMOST`,
    - `branches`: in which of the blocks of that statement it stands,
    - `positions`: where in that block it stands,
    - `ends`: the number of the first statement after it and all that is inside it.

    `definitions` and `uses` give the numbers of the statements that bind, or themselves read, a
    name, in program order; parameters are bound by no statement.

    >>> from tangentlike.frontend.lower import program
    >>> index = ProgramIndex(program("for i in n:\\n    y = i * a\\nreturn y"))
    >>> index.parents, index.ends, index.definitions["y"], index.uses["y"]
    ([-1, 0, -1], [2, 2, 3], [1], [2])
    """

    def __init__(self, function: Function) -> None:
        self.name, self.body = function.name, function.body  # (the function keeps its index)
        self.statements: list[Stmt] = []
        self.parents: list[int] = []
        self.branches: list[int] = []
        self.positions: list[int] = []
        self.ends: list[int] = []
        self._numbers: dict[int, int] = {}  # by identity: the statements live as long as this
        self._block(function.body, OUTERMOST, 0)

        self._numbers.update(zip(map(id, self.statements), range(len(self)), strict=True))
        if len(self._numbers) < len(self):
            twice = next(s for n, s in enumerate(self.statements) if self.number(s) != n)
            what = f"a statement of `{self.name}` stands in two places"
            raise InternalError("index", f"{what}: {twice.origin.place.text}")

    def _block(self, block: Block, parent: int, branch: int) -> None:
        begun = 0
        for position, stmt in enumerate(block):
            if not isinstance(stmt, _COMPOUND):
                continue
            self._run(block, begun, position + 1, parent, branch)
            begun, number = position + 1, len(self.statements) - 1
            for which, inner in enumerate(blocks(stmt)):
                self._block(inner, number, which)
            self.ends[number] = len(self.statements)
        self._run(block, begun, len(block), parent, branch)

    def _run(self, block: Block, begun: int, end: int, parent: int, branch: int) -> None:
        """Number the statements of a block between two positions."""
        first, count = len(self.statements), end - begun
        self.statements += block[begun:end]
        self.parents += [parent] * count
        self.branches += [branch] * count
        self.positions += range(begun, end)
        self.ends += range(first + 1, first + count + 1)

    @cached_property
    def definitions(self) -> dict[str, list[int]]:
        """The statements that bind each name."""
        return self._by_name(binds)

    @cached_property
    def uses(self) -> dict[str, list[int]]:
        """The statements that themselves read each name."""
        return self._by_name(reads)

    def _by_name(self, names: Callable[[Stmt], Iterable[str]]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, stmt in enumerate(self.statements):
            for name in names(stmt):
                found.setdefault(name, []).append(number)
        return found

    def __len__(self) -> int:
        return len(self.statements)

    def __contains__(self, stmt: Stmt) -> bool:
        """Whether a statement, this very object, stands in the function."""
        return id(stmt) in self._numbers

    def number(self, stmt: Stmt) -> int:
        """The number of a statement of the function."""
        return self._numbers[id(stmt)]

    def around(self, number: int) -> Iterator[int]:
        """The numbers of the compound statements around a statement, the innermost first."""
        number = self.parents[number]
        while number != OUTERMOST:
            yield number
            number = self.parents[number]

    def loops(self, number: int) -> Iterator[int]:
        """The numbers of the loops around a statement, the innermost first."""
        return (n for n in self.around(number) if isinstance(self.statements[n], For | While))

    def block_of(self, stmt: Stmt) -> tuple[int, int]:
        """What tells the block that a statement stands in from others: the number of the statement
        around it, and which of that one's blocks it is."""
        number = self.number(stmt)
        return self.parents[number], self.branches[number]

    def block(self, stmt: Stmt) -> Block:
        """The block that a statement stands in."""
        number = self.number(stmt)
        parent = self.parents[number]
        outer = (self.body,) if parent == OUTERMOST else blocks(self.statements[parent])
        return outer[self.branches[number]]

    def preceding(self, stmt: Stmt) -> Block:
        """The statements before one in its block."""
        return self.block(stmt)[: self.positions[self.number(stmt)]]

    def following(self, stmt: Stmt) -> Block:
        """The statements after one in its block."""
        return self.block(stmt)[self.positions[self.number(stmt)] + 1 :]


def outer_names(function: Function) -> list[str]:
    """Names that a function takes from outside, as it spells them."""
    return [name for stmt in statements(function.body) for name in _outer_names(stmt)]


@of_node
def _outer_names(stmt: Stmt) -> tuple[str, ...]:
    refs = list(stmt.refs) if isinstance(stmt, OpaqueStmt) else []
    for expr in expressions(stmt):
        for part in walk(expr):
            if isinstance(part, Ref):
                refs.append(part)
            elif isinstance(part, Opaque):
                refs.extend(part.refs)
    return tuple(ref.text.partition(".")[0] for ref in refs)


def all_names(function: Function) -> list[str]:
    """Which names what is made for a function may not have: its parameters, what it binds and
    reads, and what it takes from outside."""
    return list(fact(_all_names, function))


def _all_names(function: Function) -> list[str]:
    found = [*function.param_names, *function.free, *outer_names(function)]
    for stmt in statements(function.body):
        found.extend(binds(stmt))
        found.extend(sorted(reads(stmt)))
    return found
