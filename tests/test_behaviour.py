"""The record of behaviour (`tests.behaviour`): its tables are up to date, and it sees changes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests import behaviour, behaviour_costs, behaviour_tables
from tests.programs import BY_NAME


def tables() -> dict[str, list[str]]:
    """The lines of tests/behaviour_tables.txt, by program."""
    found: dict[str, list[str]] = {}
    for line in behaviour_tables.TABLE.read_text().splitlines():
        if line.startswith(" "):
            found[next(reversed(found))].append(line)
        else:
            found[line] = []
    return found


def test_every_program_has_its_table() -> None:
    assert tuple(tables()) == behaviour_tables.NAMES
    assert len(behaviour_tables.NAMES) == 40


@pytest.mark.parametrize("name", behaviour_tables.NAMES)
def test_what_shares_memory_and_what_is_saved(name: str) -> None:
    """Where this fails, read the difference: `python -m tests.behaviour tables` accepts it."""
    assert behaviour_tables.rows(BY_NAME[name]) == tables()[name]


def square(x):
    return np.sum(x * x)


def doubled(x):
    return np.sum(2.0 * x)


def refused(x):
    y = x * 2.0
    return np.unknown(y)


def case(fn) -> behaviour.Case:
    return behaviour.Case(
        "a.program", fn, lambda: (np.ones(2),), (0,), ("reverse", "forward"), "its text"
    )


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The record and its cache in a folder of the test."""
    monkeypatch.setattr(behaviour, "RECORD", tmp_path / "record.txt")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.usefixtures("apart")
def test_what_changed_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = ({"a.program": behaviour.marks_of(case(fn))} for fn in (square, doubled))
    behaviour.write_record(old)
    assert behaviour.read_record() == old
    assert behaviour.report([case(square)], old, old, 5) == 0
    assert "0 outcomes differ" in capsys.readouterr().out
    assert behaviour.report([case(doubled)], behaviour.read_record(), new, 5) == 1
    shown = capsys.readouterr().out
    assert "a.program (reverse)" in shown and "-def square_grad(x):" in shown
    assert "2 outcomes differ in 2 groups {'text -> text': 2}" in shown


@pytest.mark.usefixtures("apart")
def test_a_refusal_is_told_from_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = behaviour.outcome(case(refused), "reverse")
    assert text.startswith("! ") and "line 2: return np.unknown(y)" in text
    old, new = ({"a.program": behaviour.marks_of(case(fn))} for fn in (square, refused))
    assert behaviour.report([case(refused)], old, new, 5) == 1
    assert "{'text -> refusal': 2}" in capsys.readouterr().out


@pytest.mark.usefixtures("apart")
def test_programs_that_changed_are_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    edited = dataclasses.replace(case(doubled), text="another text")
    old, new = ({c.name: behaviour.marks_of(c)} for c in (case(square), edited))
    assert behaviour.report([edited], old, new, 5) == 0
    assert "1 programs changed themselves: a.program" in capsys.readouterr().out


def test_programs_are_the_same_each_time() -> None:
    first, second = (behaviour.cases("generated.*-2") for _ in range(2))
    assert [c.text for c in first] == [c.text for c in second] and len(first) >= 7
    assert behaviour.without_addresses("at 0x7f3af86ac5e0>") == "at 0x...>"


def test_costs_are_counted() -> None:
    fn = behaviour_costs.load(behaviour_costs.program(20), "of 20 lines")
    stages, analyses = behaviour_costs.counted(fn)
    assert any(name.startswith("codegen.") for name in stages)
    assert analyses["analysis.sharing.Sharing.__init__"] >= 1
