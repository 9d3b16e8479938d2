"""The tests import each other as `tests.<name>`, whatever folder pytest was started in; what takes
long and tells little more is left to `pytest --all`, which `.ci/run` runs."""

import gc
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite-golden` replaces the files under tests/golden by what is emitted now."""
    parser.addoption("--rewrite-golden", action="store_true", default=False)
    parser.addoption("--all", action="store_true", default=False, help="also what is left out")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "thorough: run by `pytest --all`, as in .ci/run (tests.sampled)"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is marked as thorough, unless all is asked for."""
    if not config.getoption("--all"):
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]


def pytest_collection_finish() -> None:
    """What collection made stays: the garbage collector need not walk over it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(500_000, 20, 50)
