"""Emitted text, compared with the files under tests/golden.

A change of style shows in review as a change of these files. Rewrite them with
`pytest tests/test_golden.py --rewrite-golden` and read the difference as a user would.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tangentlike.pipeline.stages import Derived, Request, derive
from tests.golden_programs import GOLDEN

FOLDER = Path(__file__).parent / "golden"


def derived(name: str) -> Derived:
    """The derivative of an entry; of a derivative, where it names another entry."""
    fn, mode, wrt, example = GOLDEN[name]
    if isinstance(fn, str):
        fn = derived(fn).function
    return derive(fn, Request(mode, wrt, bare=len(wrt) == 1, example=example))


@pytest.mark.every
@pytest.mark.parametrize("name", GOLDEN)
def test_emitted_text(name: str, request: pytest.FixtureRequest) -> None:
    source = derived(name).source
    file = FOLDER / f"{name}.py"
    if request.config.getoption("--rewrite-golden"):
        file.write_text(source)
    assert file.exists(), "no golden file yet: run with --rewrite-golden and read it"
    assert source == file.read_text()


def test_no_golden_file_is_left_over() -> None:
    assert {f.stem for f in FOLDER.glob("*.py")} == set(GOLDEN)
