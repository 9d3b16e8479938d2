"""Every text of the generator's subjects, in a program of little more than it."""

from __future__ import annotations

import pytest

from tests.generator import arguments, check_program
from tests.generator_subjects import SUBJECTS, alone
from tests.sampled import one_in

TEXTS = [(name, lines) for name, subject in SUBJECTS.items() for lines in subject.phrases]


@pytest.mark.parametrize(
    ("name", "lines"),
    one_in(5, [pytest.param(*text, id=f"{text[0]}: {' / '.join(text[1])}") for text in TEXTS]),
)
def test_alone(name: str, lines: tuple[str, ...]) -> None:
    """Right in each way, or refused; the program itself runs."""
    outcome = check_program(alone(SUBJECTS[name], lines), arguments(1), f"alone {lines[0]}")
    assert outcome in ("agree", "refused")
