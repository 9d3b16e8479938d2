"""A row of the table of the language, and how one is written."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

DONE, PASSED, REFUSED = "differentiated", "passed through", "refused"


@dataclass(frozen=True)
class Row:
    """`nodes` are the classes of `ast` the row answers for; `since` the first Python that has it."""

    nodes: str
    idiom: str
    what: str
    program: str
    since: tuple[int, int] = (3, 10)
    order: int = 2  # of the derivatives that are checked

    @property
    def text(self) -> str:
        return textwrap.dedent(self.program).strip("\n") + "\n"


def body(nodes: str, idiom: str, what: str, lines: str, since: tuple[int, int] = (3, 10)) -> Row:
    """A row whose program is the body of `f(x)`."""
    return Row(nodes, idiom, what, "def f(x):\n" + textwrap.indent(lines, "    "), since)
