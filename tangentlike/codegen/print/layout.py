"""Functions as lines: what stands where, and which comment beside it.

An adjoint statement quotes the primal line it belongs to; statements in a row that belong to
the same line are quoted once. A function with a primal and an adjoint part says where each
begins. Every line knows the `Origin` of the statement it is part of. A statement that the
transform adds for a reason of its own may say it: an origin's `rule` that begins with `# ` is
printed beside it, whatever its role.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ... import ir
from ...errors import Place
from . import folding
from .printer import Printer

COMMENT_COLUMN = 45
PRIMAL_ROLES = frozenset({"primal", "save"})
ADJOINT_ROLES = frozenset({"adjoint", "restore"})


@dataclass(frozen=True)
class Line:
    """One physical line of the result."""

    text: str
    origin: ir.Origin | None = None


def function_lines(fn: ir.Function, tree: Any, printer: Printer, comments: bool) -> list[Line]:
    """The lines of a function; `tree` is what `to_gast.function` made of it."""
    parameters = printer.parameters(tree.args)
    header = ir.Origin(fn.place)
    lines = [Line(f"@{printer.item(decorator)}") for decorator in tree.decorator_list]
    lines += [Line(text, header) for text in folding.signature(fn.name, parameters)]
    nodes = tree.body
    if fn.doc:
        lines += [Line(text) for text in _docstring(fn.doc)]
        nodes = nodes[1:]
    layout = _Layout(printer, _quoted_roles(fn) if comments else frozenset())
    sections = comments and _has_two_parts(fn)
    return [*lines, *layout.body(fn.body, nodes, sections)]


def block_lines(stmts: ir.Block, nodes: list[Any], printer: Printer) -> list[Line]:
    """The lines of loose statements, without comments."""
    return list(_Layout(printer, frozenset()).block(stmts, nodes, ""))


def _docstring(doc: str) -> list[str]:
    """A docstring between triple quotes where that says the same, else as a literal."""
    text = inspect.cleandoc(doc)
    plain = all(c == "\n" or (c.isprintable() and c != "\\") for c in text)
    if not plain or '"""' in text or text.endswith('"') or not text:
        return [folding.STEP + repr(doc)]
    lines = text.split("\n")
    if len(lines) == 1:
        return [f'{folding.STEP}"""{text}"""']
    body = [folding.STEP + line if line else "" for line in lines[1:]]
    return [f'{folding.STEP}"""{lines[0]}', *body, f'{folding.STEP}"""']


def _roles(fn: ir.Function) -> frozenset[str]:
    stmts = ir.statements(fn.body)
    return frozenset(stmt.origin.role for stmt in stmts if not isinstance(stmt, ir.Return))


def _quoted_roles(fn: ir.Function) -> frozenset[str]:
    """Which roles carry a comment: a tangent below its primal line needs none, and of what is
    taken back the line that reads it has one."""
    if _roles(fn) & PRIMAL_ROLES and not _roles(fn) & ADJOINT_ROLES:
        return frozenset({"adjoint"})
    return frozenset({"adjoint", "tangent"})


def _has_two_parts(fn: ir.Function) -> bool:
    roles = [stmt.origin.role for stmt in fn.body if not isinstance(stmt, ir.Return)]
    return any(r in PRIMAL_ROLES for r in roles) and any(r in ADJOINT_ROLES for r in roles)


class _Layout:
    """Lines of blocks; `quoted` says which roles are commented with their place."""

    def __init__(self, printer: Printer, quoted: frozenset[str]) -> None:
        self.printer, self.quoted = printer, quoted

    def body(self, stmts: ir.Block, nodes: list[Any], sections: bool) -> Iterator[Line]:
        """A function's body, its parts announced if it has two."""
        pad = folding.STEP
        if not sections:
            yield from self.block(stmts, nodes, pad)
            return
        start = next(i for i, s in enumerate(stmts) if s.origin.role in ADJOINT_ROLES)
        if start:
            yield Line(f"{pad}# primal")
            yield from self.block(stmts[:start], nodes[:start], pad)
        yield Line(f"{pad}# adjoint")
        yield from self.block(stmts[start:], nodes[start:], pad)

    def block(
        self, stmts: ir.Block, nodes: list[Any], pad: str, quoted: Place | None = None
    ) -> Iterator[Line]:
        """The lines of a block; `quoted` is what the lines before it belong to."""
        if not stmts:
            yield from (Line(pad + self.printer.text(node)) for node in nodes)  # `pass`
            return
        for stmt, node in zip(stmts, nodes, strict=True):
            place = stmt.origin.place
            if isinstance(stmt, (ir.If, ir.For, ir.While, ir.With)):
                yield from self._compound(stmt, node, pad, "", quoted)
                quoted = quoted if self._quotes_only(stmt, quoted) else None
            else:
                texts = folding.statement(node, self.printer, pad)
                if stmt.origin.rule.startswith("# "):
                    texts = _commented(texts, stmt.origin.rule[2:], pad)
                elif self._wants_comment(stmt) and place != quoted:
                    texts = _commented(texts, place.text, pad)
                for text in texts:
                    yield Line(text, stmt.origin)
                if place.text and stmt.origin.role != "restore":
                    quoted = place

    def _wants_comment(self, stmt: ir.Stmt) -> bool:
        """Headers that the result repeats are not quoted beside what belongs to them."""
        if stmt.origin.role not in self.quoted or isinstance(stmt, (ir.Return, ir.Break)):
            return False
        return not stmt.origin.place.text.startswith(("for ", "while ", "def ", "async ", "try:"))

    def _quotes_only(self, stmt: ir.Stmt, quoted: Place | None) -> bool:
        """Whether all that stands in a statement belongs to the line that is quoted above it."""
        inside = (s for part in ir.blocks(stmt) for s in ir.statements(part))
        return all(s.origin.place == quoted for s in inside)

    def _compound(
        self, stmt: Any, node: Any, pad: str, keyword: str, quoted: Place | None
    ) -> Iterator[Line]:
        for text in folding.statement(node, self.printer, pad, keyword):
            yield Line(text, stmt.origin)
        if isinstance(stmt, ir.Try):
            yield from self._attempt(stmt, node, pad)
            return
        yield from self.block(stmt.body, node.body, pad + folding.STEP, quoted)
        if not isinstance(stmt, ir.If) or not stmt.orelse:
            return
        if len(stmt.orelse) == 1 and type(stmt.orelse[0]) is ir.If:
            yield from self._compound(stmt.orelse[0], node.orelse[0], pad, "elif ", quoted)
        else:
            yield Line(f"{pad}else:", stmt.origin)
            yield from self.block(stmt.orelse, node.orelse, pad + folding.STEP, quoted)

    def _attempt(self, stmt: ir.Try, node: Any, pad: str) -> Iterator[Line]:
        """The blocks of a `try`, and in them the lines that note how it ended."""
        handler, inner = node.handlers[0], pad + folding.STEP
        tried, (_, *rest) = ir.tried_and_rest(stmt)
        yield from self._noting(tried, node.body, stmt, inner, at_end=True)
        for text in folding.statement(handler, self.printer, pad):
            yield Line(text, stmt.origin)
        yield from self._noting(stmt.orelse, handler.body, stmt, inner)
        if rest:
            yield Line(f"{pad}else:", stmt.origin)
            yield from self._noting(tuple(rest), node.orelse, stmt, inner)

    def _noting(
        self, stmts: ir.Block, nodes: list[Any], stmt: ir.Try, pad: str, at_end: bool = False
    ) -> Iterator[Line]:
        """A block of a `try`: it has a statement more where it notes how the `try` ended."""
        more = len(nodes) - len(stmts) if stmts or stmt.failed else 0
        notes, own = nodes[:more], nodes[more:]
        if at_end:
            notes, own = nodes[len(stmts) :], nodes[: len(stmts)]
            yield from self.block(stmts, own or nodes, pad) if stmts or not more else ()
        for note in notes if more else ():
            yield Line(pad + self.printer.text(note), stmt.origin)
        if not at_end and (own or not more):
            yield from self.block(stmts, own, pad)


def _commented(texts: list[str], comment: str, pad: str) -> list[str]:
    """The lines of a statement with a comment beside it, or above where there is no room."""
    quote = " ".join(comment.split())
    if not quote or "".join(quote.split()) == "".join("".join(texts).split()):
        return texts  # nothing to say, or nothing that the code does not say itself
    if len(texts) == 1:
        code = texts[0]
        column = max(COMMENT_COLUMN, len(code) + 2)
        if column + len(quote) + 2 <= folding.WIDTH:
            return [f"{code:<{column}}# {quote}"]
    room = folding.WIDTH - len(pad) - 2
    if len(quote) > room:
        quote = quote[: max(room, 12) - 3].rstrip() + "..."
    return [f"{pad}# {quote}", *texts]
