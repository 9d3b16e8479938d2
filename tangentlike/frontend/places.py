"""Where a node stands in the user's text: the logical line to show, and the caret under it.

A statement over several lines is shown joined to one, without the comments inside it; columns
are translated, so that carets still point at the right part.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import Place


@dataclass(frozen=True)
class Line:
    """One logical line. `starts` has, for each physical line, where its text begins in `text`
    and how many of its characters stand before that."""

    file: str
    first: int
    text: str
    starts: tuple[tuple[int, int], ...]
    lines: Sequence[str]

    def place(self, node: Any) -> Place:
        """The place of a node within this line."""
        if not hasattr(node, "lineno"):
            return self.whole()
        begin = self._column(node.lineno, node.col_offset)
        end = self._column(node.end_lineno, node.end_col_offset)
        return Place(self.file, node.lineno, self.text, begin, max(1, end - begin))

    def whole(self) -> Place:
        """The place of the whole line."""
        return Place(self.file, self.first, self.text, 0, len(self.text))

    def _column(self, lineno: int, offset: int) -> int:
        row = lineno - self.first
        if not 0 <= row < len(self.starts):
            return len(self.text) if row > 0 else 0
        start, removed = self.starts[row]
        column = start + characters(self.lines[lineno - 1], offset) - removed
        return max(0, min(column, len(self.text)))


@dataclass(frozen=True)
class Source:
    """The lines of one file (or of a text that was handed in), without their newlines."""

    file: str
    lines: Sequence[str]

    def line(self, node: Any) -> Line:
        """The logical line of a statement; for a compound statement, that of its header."""
        end_line, end_column = self._end(node)
        first = node.lineno
        begin = characters(self.lines[first - 1], node.col_offset)
        if end_line == first:
            text = self.lines[first - 1][begin:end_column].rstrip()
            return Line(self.file, first, text, ((0, begin),), self.lines)
        rows = [self.lines[first - 1][begin:], *self.lines[first : end_line - 1]]
        rows.append(self.lines[end_line - 1][:end_column])
        text, starts = _joined(_without_comments(rows), begin)
        return Line(self.file, first, text, starts, self.lines)

    def header(self, lineno: int) -> Place:
        """The place of one physical line, as for a `def`."""
        text = self.lines[lineno - 1].strip() if 0 < lineno <= len(self.lines) else ""
        return Place(self.file, lineno, text, 0, len(text))

    def _end(self, node: Any) -> tuple[int, int]:
        """Line and character column just after the statement, or after its header's colon."""
        last = _header_end(node)
        line, column = (
            last.end_lineno,
            characters(self.lines[last.end_lineno - 1], last.end_col_offset),
        )
        if last is node:
            return line, column
        # Only brackets, blanks and comments can stand between the header and its colon.
        for row in range(line, len(self.lines) + 1):
            text = self.lines[row - 1]
            code = text[column if row == line else 0 :].split("#", 1)[0]
            if ":" in code:
                return row, text.index(":", column if row == line else 0) + 1
        return line, column


def characters(line: str, offset: int) -> int:
    """A UTF-8 byte offset as a count of characters."""
    if line.isascii():
        return offset
    return len(line.encode()[:offset].decode(errors="ignore"))


def _header_end(node: Any) -> Any:
    """The last node of a compound statement's header; a simple statement itself."""
    if not isinstance(getattr(node, "body", None), list) and not getattr(node, "cases", None):
        return node  # (a lambda or a conditional expression is no compound statement)
    if hasattr(node, "args") and hasattr(node, "returns"):  # `def`: annotations have colons too
        inside = [n for n in ast.walk(node.args) if hasattr(n, "end_lineno")]
        parts = [*inside, *([node.returns] if node.returns is not None else ())]
        return max(parts, key=lambda n: (n.end_lineno, n.end_col_offset), default=_Spot(node))
    for field in ("test", "iter", "subject"):
        if hasattr(node, field):
            return getattr(node, field)
    if getattr(node, "items", None):
        item = node.items[-1]
        return item.optional_vars or item.context_expr
    return _Spot(node)


class _Spot:
    """The first characters of a statement whose header ends nowhere in particular (`try:`)."""

    def __init__(self, node: Any) -> None:
        self.end_lineno = node.lineno
        self.end_col_offset = node.col_offset


def _without_comments(rows: list[str]) -> list[str]:
    """The rows with comments and continuation backslashes taken off their ends."""
    cut = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(rows) + "\n").readline):
            if token.type == tokenize.COMMENT:
                cut[token.start[0] - 1] = token.start[1]
    except (tokenize.TokenError, SyntaxError):
        pass  # a header without its body may not tokenize to the end; what was seen counts
    rows = [row[: cut.get(number)] for number, row in enumerate(rows)]
    return [row.rstrip().removesuffix("\\").rstrip() for row in rows]


def _joined(rows: list[str], begin: int) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The rows as one line, and where each of them begins in it."""
    text, starts = "", []
    for number, row in enumerate(rows):
        body = row.lstrip()
        if text and body and text[-1] not in "([{" and body[0] not in ")]}":
            text += " "
        removed = len(row) - len(body) + (begin if number == 0 else 0)
        starts.append((len(text), removed))
        text += body
    return text, tuple(starts)
