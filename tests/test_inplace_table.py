"""The table of docs/inplace.md says what is so, here and under the peers that are installed.

`python tests/test_inplace_table.py` writes the table anew; a peer that is not installed keeps its column.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.sampled import one_in

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import peers, survey
from tests.programs import BY_NAME, PROGRAMS

PAGE = Path(__file__).parent.parent / "docs" / "inplace.md"
HEAD = ("program", "reverse", "forward", "autograd", "JAX")
PEERS = ("autograd", "jax")
NAMES = tuple(program.name for program in PROGRAMS if program.part == "inplace")


def table() -> dict[str, list[str]]:
    """The rows of the page: name of the program -> its columns."""
    rows: dict[str, list[str]] = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] in BY_NAME:
            rows[cells[0]] = cells[1:]
    return rows


def found(name: str, known: list[str]) -> list[str]:
    """The columns of a program as they turn out now."""
    program = BY_NAME[name]
    ours = [survey.outcome(program, mode)[0] for mode in ("reverse", "forward")]
    theirs = [
        peers.outcome(program, peer) if peers.is_installed(peer) else old
        for peer, old in zip(PEERS, known, strict=True)
    ]
    return ours + theirs


def test_every_program_has_its_row() -> None:
    assert tuple(table()) == NAMES


@pytest.mark.parametrize("name", one_in(3, NAMES))
def test_row(name: str) -> None:
    row = table()[name]
    assert row == found(name, row[2:])


def main() -> None:
    known = table()
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for name in NAMES:
        cells = found(name, known.get(name, ["?", "?", "?", "?"])[2:])
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    text = PAGE.read_text()
    if not known:
        PAGE.write_text(text.replace("TABLE", "\n".join(lines)))
        return
    old = [line for line in text.splitlines() if line.startswith("|")]
    start = text.index(f"| {HEAD[0]} | {HEAD[1]} |")
    last = next(line for line in old if line.startswith(f"| `{tuple(known)[-1]}`"))
    end = text.index(last) + len(last)
    PAGE.write_text(text[:start] + "\n".join(lines) + text[end:])


if __name__ == "__main__":
    main()
