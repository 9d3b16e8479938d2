"""The tests import each other as `tests.<name>`, whatever folder pytest was started in; what takes
long and tells little more is left to `pytest --most`, which `.ci/run` runs, and to `--all`."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
# (More threads than processes would only disturb each other; arrays here are small.)
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
# What Numba compiles is run once or twice here: without LLVM's optimisations it compiles three
# times as fast, and gives the same values. (`NUMBA_OPT=3 pytest` tests it as users run it.)
os.environ.setdefault("NUMBA_OPT", "0")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite-golden` replaces the files under tests/golden by what is emitted now."""
    parser.addoption("--rewrite-golden", action="store_true", default=False)
    parser.addoption("--most", action="store_true", default=False, help="also what is thorough")
    parser.addoption("--all", action="store_true", default=False, help="also what is left out")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "thorough: run by `pytest --most`, as in .ci/run, and by `--all`"
    )
    every = "every(most): run with all its parameters, in the usual run too, or only by `--most`"
    config.addinivalue_line("markers", every)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is marked as thorough and, where whole files are run, some or most of what
    tests of many parameters are given; unless more is asked for."""
    if config.getoption("--all"):
        return
    most = config.getoption("--most")
    if not most:
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    if not config.getoption("-k") and not any("::" in argument for argument in config.args):
        items[:] = _spread(items, most)


def _of_few(count: int) -> int:
    """How many of so many parameters of a test are taken in the usual run."""
    return 2 if count > 4 else 1


def _of_many(count: int) -> int:
    """The same in `.ci/run`, which has 20 minutes."""
    return min(count, 5)


def _spread(items: list[pytest.Item], most: bool) -> list[pytest.Item]:
    """Of each test function some of its parameters, evenly spread."""
    taken = _of_many if most else _of_few
    alike: dict[str, int] = Counter(item.nodeid.partition("[")[0] for item in items)
    seen: Counter[str] = Counter()
    chosen = []
    for item in items:
        name = item.nodeid.partition("[")[0]
        place, count = seen[name], taken(alike[name])
        seen[name] += 1
        every = item.get_closest_marker("every")
        is_chosen = place * count // alike[name] != (place - 1) * count // alike[name]
        if is_chosen or (every is not None and (most or not every.args)):
            chosen.append(item)
    return chosen


def pytest_collection_finish() -> None:
    """What collection made stays: the garbage collector need not walk over it again and again."""
    _settle()
    gc.set_threshold(500_000, 20, 50)


_settled = count(1)


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What the tests of a file leave is as lasting as what collection made: a test that collects
    garbage itself would walk over all of it, for seconds. Its derivatives are of use to few other
    files, and are most of what there is to walk over."""
    if nextitem is not None and nextitem.path != item.path:
        derivation = sys.modules.get("tangentlike.dispatch.derivation")
        if derivation is not None:
            derivation._DERIVATIONS = derivation.Derivations()
        if next(_settled) % 60 == 0:
            gc.unfreeze()  # (what was of use then may be garbage by now)
        _settle()


def _settle() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture
def folder_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that a test works in; the modules that it imports from there are forgotten."""
    modules, path = set(sys.modules), list(sys.path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
    sys.path[:] = path


@pytest.fixture(scope="module")
def compiled_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What Numba compiles for the tests of a file is kept where nobody finds it again."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TANGENTLIKE_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture
def helpers_are_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short functions stay functions of their own, as longer ones do."""
    monkeypatch.setattr("tangentlike.ad.normalize.short_calls.SHORT", 0)
