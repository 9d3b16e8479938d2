"""Every text of the generator's subjects, in a program of little more than it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.generator import arguments, check_program
from tests.generator_subjects import SUBJECTS, alone
from tests.sampled import one_in

TEXTS = [(name, lines) for name, subject in SUBJECTS.items() for lines in subject.phrases]

WAITING = ("np.exp(np.exp(<V>[1:] + 9.0))", "<V> * 1j, <W>)", "np.exp(1j * <W>))", "[<V> * 1j, <W>")
WAITING += (
    "(<M> * 1j + <M>.T)",
    "np.stack([<V>, <W> * 1j])",
    "q *= np.exp(q * q * 9.0 + 300.0)",
    "p = zip(<V>, <W>)",
    "p = p + 0.1 * q.force(p)",
)  # complex adjoints in real buffers; NaN of what is not used; a named zip in `enumerate`; a gradient
# by a method of its own object


def text(name: str, lines: tuple[str, ...]) -> Any:
    waits = any(part in line for part in WAITING for line in lines)
    marks = pytest.mark.xfail(strict=False) if waits else ()
    return pytest.param(name, lines, id=f"{name}: {' / '.join(lines)}", marks=marks)


# (Random programs are made of the others.)
@pytest.mark.parametrize(("name", "lines"), one_in(3, [text(*known) for known in TEXTS[::5]]))
def test_alone(name: str, lines: tuple[str, ...]) -> None:
    """Right in each way, or refused; the program itself runs."""
    outcome = check_program(alone(SUBJECTS[name], lines), arguments(1), f"alone {lines[0]}")
    assert outcome in ("agree", "refused")
