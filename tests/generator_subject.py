"""What a subject of generated programs is (`generator_subjects`, `generator_changes`)."""

from __future__ import annotations

from dataclasses import dataclass

Lines = tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """Texts about one subject; `prelude`: (word, what a program with that word begins with)."""

    phrases: tuple[Lines, ...]
    prelude: tuple[tuple[str, str], ...] = ()
