"""The programs of the collection that are refused today, with what the refusal says.

Each must raise `UnsupportedError`; `python -m tests.survey` shows which entries are stale.
"""

from __future__ import annotations

REFUSED: dict[str, str] = {
}
REFUSED_REVERSE: dict[str, str] = {
    "inplace.element_swap": "`y` is written in place while `y_0` may share its memory",
}
REFUSED_FORWARD: dict[str, str] = {}
