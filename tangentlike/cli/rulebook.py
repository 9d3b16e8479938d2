"""What the rulebook covers, read from the book itself."""

from __future__ import annotations

from pathlib import Path

from ..rules import default_book
from ..rules.book import Rule, spelling

__all__ = ["covered"]


def covered() -> list[list[str]]:
    """Operation, what is known of its derivative, and where that is written; sorted by name."""
    book = default_book()
    rows = {spelling(obj): _described(entry) for obj, entry in book.rules()}
    for obj in book.constants():
        rows.setdefault(spelling(obj), ("none: carries no derivative", ""))
    return [[name, *rows[name]] for name in sorted(rows)]


def _described(entry: Rule) -> tuple[str, str]:
    views = {"no": "", "view": ", a view"}
    view = views.get(entry.view, ", perhaps a view")
    place = entry.place
    return f"forward and reverse{view}", f"{Path(place.file).name}:{place.line}"
