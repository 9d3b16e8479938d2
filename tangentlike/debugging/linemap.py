"""Which lines of a derivative come from which line of the user's, and the other way round.

One statement of an emitted text is the unit: it has an index, its lines, the loop or branch it
stands in, and the place in the user's source that it computes or is the derivative of. Values
that were seen at run time refer to statements by their index.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .. import ir
from ..codegen.print import Emitted, emit
from ..codegen.print.load import is_emitted, origin_of
from ..codegen.print.module import definitions
from ..dispatch.derivation import Derivation
from ..errors import Place, TangentlikeError
from ..frontend.owners import mark_of
from ..frontend.source import first_line
from ..runtime.recent import Recent

_COMPOUND = (ast.For, ast.While, ast.If, ast.With, ast.Try)


@dataclass(frozen=True)
class Statement:
    """One statement of an emitted text.

    `line` is where it begins, `first` to `last` are its lines with the comment above it (of a
    loop, a branch or a `with` those of the header), `role`
    is "primal", "adjoint", "tangent", "save" or "restore", `place` the user's line it comes
    from, `names` what it binds or writes, `given` the adjoints that a `return` computes (nested as
    what it returns, "" for what it does not), `parent` the index of the statement it stands in.
    """

    index: int
    function: str
    line: int
    first: int
    last: int
    kind: str
    role: str
    place: Place
    names: tuple[str, ...]
    parent: int | None
    text: str
    given: ir.Target = ()

    @property
    def is_loop(self) -> bool:
        """Whether it is the header of a loop."""
        return self.kind in ("For", "While")


@dataclass(frozen=True)
class UserFunction:
    """A function of the user's that lines of the derivative come from: lines `first` to `last`."""

    name: str
    file: str
    first: int
    last: int

    @property
    def lines(self) -> tuple[str, ...]:
        """Its text, line by line."""
        return tuple(
            linecache.getline(self.file, number).rstrip("\n")
            for number in range(self.first, self.last + 1)
        )


@dataclass(frozen=True, repr=False)
class LineMap:
    """The statements of a derivative and the lines of the user's that they come from.

    >>> import tangentlike as tl
    >>> def loss(x):
    ...     y = x * x
    ...     return y * y
    >>> lines = tl.line_map(tl.grad(loss))
    >>> for statement in lines.of(2):
    ...     print(statement.line, statement.role, statement.text)
    6 primal y = x * x
    9 adjoint return 2.0 * y_bar * x
    """

    source: str
    statements: tuple[Statement, ...]

    def __repr__(self) -> str:
        first = self.statements[0].function if self.statements else "nothing"
        return f"LineMap({first}: {len(self.statements)} statements)"

    def at(self, line: int) -> Statement | None:
        """The statement on a line of the derivative; None for imports, comments and blank lines."""
        return self._by_line.get(line)

    def of(self, line: int, file: str | None = None) -> tuple[Statement, ...]:
        """The statements that come from a line of the user's, in order.

        `line` counts in the user's file; `file` is needed where helpers are in other files.
        """
        rows = self._by_user.get((self._file(file), line), ())
        return tuple(self.statements[index] for index in rows)

    def partners(self, line: int) -> tuple[int, ...]:
        """The lines of the derivative that come from the same line of the user's as this one."""
        found = self.at(line)
        if found is None:
            return ()
        related = self.of(found.place.line, found.place.file)
        return tuple(n for s in related for n in range(s.first, s.last + 1))

    def loops(self, statement: Statement) -> tuple[Statement, ...]:
        """The loops that a statement stands in, outermost first."""
        found = []
        parent = statement.parent
        while parent is not None:
            above = self.statements[parent]
            if above.is_loop:
                found.append(above)
            parent = above.parent
        return tuple(reversed(found))

    def nesting(self, statement: Statement) -> int:
        """In how many loops and branches of its function a statement stands."""
        depth, parent = 0, statement.parent
        while parent is not None:
            depth, parent = depth + 1, self.statements[parent].parent
        return depth

    @cached_property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user's functions, in order of their first use; the one differentiated comes first."""
        places = [s.place for s in self.statements]
        main = self.statements[-1].function if self.statements else ""
        places.sort(key=lambda p: p not in self._places_of(main))
        found = (_function_at(place) for place in places)
        return tuple(dict.fromkeys(f for f in found if f is not None))

    def _places_of(self, function: str) -> set[Place]:
        return {s.place for s in self.statements if s.function == function}

    @cached_property
    def _by_line(self) -> dict[int, Statement]:
        return {n: s for s in self.statements for n in range(s.first, s.last + 1)}

    @cached_property
    def _by_user(self) -> dict[tuple[str, int], list[int]]:
        found: dict[tuple[str, int], list[int]] = {}
        for s in self.statements:
            for line in _lines_at(s.place):
                found.setdefault((s.place.file, line), []).append(s.index)
        return found

    def _file(self, file: str | None) -> str:
        if file is not None:
            return file
        return self.statements[-1].place.file if self.statements else ""

    def __str__(self) -> str:
        """A table: each line of the user's with the lines of the derivative that come from it."""
        found = []
        for function in self.functions:
            found.append(f"{function.file}: {function.name}")
            for line, text in enumerate(function.lines, function.first):
                numbers = [s.line for s in self.of(line, function.file)]
                found.append(f"{line:5}  {text}" + _listed(numbers))
        return "\n".join(found)


def _listed(numbers: list[int]) -> str:
    return "" if not numbers else "    -> " + ", ".join(map(str, sorted(set(numbers))))


@dataclass(frozen=True)
class Program:
    """An emitted text with its tree, its line map, and where its operations were written."""

    emitted: Emitted
    lines: LineMap
    numbers: Mapping[ast.AST, int]  # statement node -> index

    @cached_property
    def places(self) -> dict[ast.AST, Place]:
        """The place of each operation that has one, in a text of the user's."""
        found = operation_places(self.emitted)
        return {node: user_place(place) for node, place in found.items()}


def line_map(fn: Callable[..., Any]) -> LineMap:
    """The line map of a derivative: `tl.line_map(tl.grad(f))`.

    Parameters
    ----------
    fn : what `tl.grad`, `tl.value_and_grad`, `tl.autodiff`, `tl.jacobian`, `tl.hessian` or
        `tl.hvp` gave.

    Returns
    -------
    LineMap
        `of(line)` gives the statements that come from a line of yours, `at(line)` the statement
        on a line of the derivative, `partners(line)` all lines of one origin; helpers are
        covered too, and second derivatives are followed back to your own text.

    Raises
    ------
    TangentlikeError
        if `fn` is not a derivative.

    Examples
    --------
    >>> import tangentlike as tl
    >>> lines = tl.line_map(tl.grad(lambda x: abs(x) * x))
    >>> lines
    LineMap(function_grad: 4 statements)
    """
    return program_of(derivation_behind(fn)).lines


def derivation_behind(fn: Any) -> Derivation:
    """The derivation of a derivative that was handed out."""
    operator = mark_of(fn, "tangentlike")
    derivation = None if operator is None else operator.derive()
    if not isinstance(derivation, Derivation):
        raise TangentlikeError(
            f"{getattr(fn, '__name__', fn)} is not a derivative",
            hint="Give what tl.grad, tl.jacobian or another operator returned: tl.grad(f).",
        )
    return derivation


def program_of(derivation: Derivation) -> Program:
    """The emitted text of a derivation, read for debugging."""
    derived = derivation.derived.whole()
    emitted = emit(derived.module, derived.lowered.scope, derived.scopes)
    reader = _Reader(emitted)
    for name, node in definitions(emitted.tree):
        reader.block(node.body, name, None)
    lines = LineMap(emitted.source, tuple(reader.statements))
    return Program(emitted, lines, reader.numbers)


class _Reader:
    """Goes through the tree of an emitted text and numbers its statements."""

    def __init__(self, emitted: Emitted) -> None:
        self.origins = emitted.origins
        self.lines = emitted.source.splitlines()
        self.statements: list[Statement] = []
        self.numbers: dict[ast.AST, int] = {}

    def block(self, nodes: list[ast.stmt], function: str, parent: int | None) -> None:
        for node in nodes:
            origin = self.origins.get(node.lineno)
            if origin is None:  # a docstring
                continue
            index = self._add(node, origin, function, parent)
            for inner in _blocks(node):
                self.block(inner, function, index)

    def _add(self, node: ast.stmt, origin: ir.Origin, function: str, parent: int | None) -> int:
        index = self.numbers[node] = len(self.statements)
        first, last = node.lineno, _last_line(node)
        while self._is_comment_of(first - 1, origin):
            first -= 1
        text = "\n".join(self.lines[node.lineno - 1 : last]).strip()
        made = Statement(
            index,
            function,
            node.lineno,
            first,
            last,
            type(node).__name__,
            origin.role,
            user_place(origin.place),
            _bound(node),
            parent,
            _without_comment(text),
            origin.names,
        )
        self.statements.append(made)
        return index

    def _is_comment_of(self, line: int, origin: ir.Origin) -> bool:
        text = self.lines[line - 1].lstrip() if line > 0 else ""
        return text.startswith("#") and self.origins.get(line) is origin


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks that belong to the function itself (not those of functions defined in it)."""
    if not isinstance(node, _COMPOUND):
        return
    yield node.body
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    yield from (getattr(node, name) for name in ("orelse", "finalbody") if getattr(node, name, []))


def _last_line(node: ast.stmt) -> int:
    """The last line of a simple statement, or of the header of a compound one."""
    if not isinstance(node, _COMPOUND):
        return node.end_lineno or node.lineno
    parts: list[Any] = [getattr(node, name, None) for name in ("test", "iter")]
    parts += [item.optional_vars or item.context_expr for item in getattr(node, "items", ())]
    return max((part.end_lineno for part in parts if part is not None), default=node.lineno)


def _without_comment(text: str) -> str:
    """The text of a statement without the comment that quotes the user's line."""
    if "\n" in text or "#" not in text:
        return text
    for position, char in enumerate(text):
        if char == "#" and text[:position].endswith("  "):
            try:
                ast.parse(text[:position].rstrip().removesuffix(":") or "pass")
            except SyntaxError:
                continue
            return text[:position].rstrip()
    return text


def _bound(node: ast.stmt) -> tuple[str, ...]:
    """What a statement binds or writes: names, and places such as `a[0]`."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.For):
        targets = [node.target]
    return tuple(name for target in targets for name in _names(target))


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _names(part)
    else:
        yield ast.unparse(target)


# ------------------------------------------------------------------------- the user's text


def user_place(place: Place) -> Place:
    """A place in a text that a person wrote: a derivative of a derivative comes from an emitted
    text, whose lines have an origin in their turn."""
    while is_emitted(place.file):
        origin = origin_of(place.file, place.line)
        if origin is None:
            return place
        place = origin.place
    return place


_TREES: Recent[tuple[str, str], tuple[ast.Module | None]] = Recent(64)


def _tree_of(file: str) -> ast.Module | None:
    content = "".join(linecache.getlines(file))
    key = file, content
    known = _TREES.get(key)
    if known is None:
        try:
            known = _TREES.put(key, (ast.parse(content),))
        except SyntaxError:
            known = _TREES.put(key, (None,))
    return known[0]


def _function_at(place: Place) -> UserFunction | None:
    """The outermost function (of a module or a class) around a place."""
    tree = _tree_of(place.file)
    if tree is None:
        return None
    found: ast.AST | None = None
    for node in ast.walk(tree):  # from the outside in
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            last = node.end_lineno or node.lineno
            if first_line(node) <= place.line <= last and (
                found is None or isinstance(found, ast.Lambda)
            ):
                found = node
    if not isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return None
    name = "lambda" if isinstance(found, ast.Lambda) else found.name
    return UserFunction(name, place.file, first_line(found), found.end_lineno or found.lineno)


def _lines_at(place: Place) -> Iterator[int]:
    """The physical lines of the user's statement (or header of one) that begins at a place."""
    tree = _tree_of(place.file)
    last = place.line
    if tree is not None and place.text:
        last = _statement_ends(tree).get(place.line, place.line)
    yield from range(place.line, last + 1)


def _statement_ends(tree: ast.Module) -> dict[int, int]:
    """First to last line of each statement of a file, of compound ones the header's."""
    known: dict[int, int] | None = getattr(tree, "_ends", None)
    if known is None:
        known = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
                known[node.lineno] = max(known.get(node.lineno, 0), _last_line(node))
        tree._ends = known  # type: ignore[attr-defined]
    return known


# --------------------------------------------------------------------------------------------------
# Where in the user's text the operations of an emitted text were written.
#
# Each line of the text knows the statement it comes from. Finer than that, an operation knows the
# call, index or operator of the user's that it is, or is the derivative of.


def operation_places(emitted: Emitted) -> dict[ast.AST, Place]:
    """The place of each operation of `emitted.tree` that has one."""
    parsed = [node for _, node in definitions(emitted.tree)]
    parsed = parsed[len(parsed) - len(emitted.trees) :]  # (copied helpers may stand above)
    pairs = zip(emitted.trees, parsed, strict=True)
    return {node: place for ours, theirs in pairs for node, place in _located(ours, theirs)}


def _located(ours: Any, theirs: Any) -> Iterator[tuple[ast.AST, Place]]:
    """Both trees in parallel: they are known to agree."""
    if isinstance(theirs, list):
        for mine, other in zip(ours, theirs, strict=True):
            yield from _located(mine, other)
        return
    if not isinstance(theirs, ast.AST):
        return
    place = getattr(ours, "at", None)
    if isinstance(place, Place):
        yield theirs, place
    for name in theirs._fields:
        inner = getattr(ours, name, None)
        if inner is not None:
            yield from _located(inner, getattr(theirs, name, None))
