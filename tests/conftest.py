"""The tests import each other as `tests.<name>`, whatever folder pytest was started in."""

import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite-golden` replaces the files under tests/golden by what is emitted now."""
    parser.addoption("--rewrite-golden", action="store_true", default=False)
