"""The tests import each other as `tests.<name>`, whatever folder pytest was started in; what takes
long and tells little more is left to `pytest --all`, which `.ci/run` runs."""

import gc
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


# What was right, or ought to be, and is refused: to be mended, and taken off this list then.
REFUSED_FOR_NOW = {
    "test_forces.py::test_both_modes[product with a Hessian]": "classes in derivatives inside",
    "test_forces.py::test_methods_and_called_objects[methods_of_locals]": "the same",
    "test_second_order.py::test_second_derivative[idioms.loop_over_a_set-reverse_over_reverse]": (
        "elements of a list that may share memory"
    ),
    "test_operation_options.py::test_options[reductions]": "`x.sum(out=..)` where x is not known",
    "test_strict_array.py::test_forward[signals.soft_dtw]": "memory order of a tangent",
}


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
    for item in items:
        reason = REFUSED_FOR_NOW.get(item.nodeid.rpartition("/")[2])
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    if not config.getoption("--all"):
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]


def pytest_collection_finish() -> None:
    """What collection made stays: the garbage collector need not walk over it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(500_000, 20, 50)
