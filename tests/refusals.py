"""The programs of the collection that are refused today, with what the refusal says.

Each must raise `UnsupportedError`; `python -m tests.survey` shows which entries are stale.
"""

from __future__ import annotations

REFUSED: dict[str, str] = {}
REFUSED_REVERSE: dict[str, str] = {}
REFUSED_FORWARD: dict[str, str] = {}
