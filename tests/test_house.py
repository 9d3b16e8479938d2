"""The rules of the house, enforced: directions of imports, lengths of functions, documentation, weight."""

from __future__ import annotations

import ast
import collections
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tangentlike as tl

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tangentlike"
FILES = sorted(PACKAGE.rglob("*.py"))

# Lower layers first; a module may import from its own layer and from those above it in this list.
LAYERS = [
    {"errors"},
    {"pytree"},
    {"ir"},
    {"frontend"},
    {"rules"},
    {"analysis"},
    {"ad"},
    {"codegen"},
    {"pipeline"},
    {"dispatch"},
    {"api"},
    {"testing"},
    {"dask", "debugging", "sweep"},
    {"", "__init__"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

TABLES = {"rules"}  # tables of rules may be long


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def own_imports(path: Path) -> set[str]:
    """The parts of tangentlike that a file imports, at its top or inside functions."""
    package = path.relative_to(PACKAGE.parent).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("tangentlike")}
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
            elif (node.module or "").startswith("tangentlike"):
                base = ()
            else:
                continue
            dotted = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{dotted}.{alias.name}" for alias in node.names}
    return {(name.split(".") + [""])[1] for name in found}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    layer = layer_of(path)
    imported = own_imports(path)
    if layer == "runtime":
        assert imported <= {"runtime"}, "runtime imports nothing of ours"
        return
    upward = {
        name for name in imported if name not in ("runtime", layer) and LEVEL[name] > LEVEL[layer]
    }
    assert not upward, f"{layer} imports from above itself: {sorted(upward)}"


def test_every_module_has_a_layer() -> None:
    assert {layer_of(path) for path in FILES} <= set(LEVEL) | {"runtime"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_runtime_imports_numpy_only(path: Path) -> None:
    if layer_of(path) != "runtime":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        for module in modules:
            root = module.split(".")[0]
            assert root == "numpy" or root in sys.stdlib_module_names


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_functions_are_short(path: Path) -> None:
    if layer_of(path) in TABLES:
        return
    long = [
        f"{node.name}: {length}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1 - docstring_length(node)) > 50
    ]
    assert not long, f"longer than 50 lines: {long}"


def docstring_length(node: ast.FunctionDef) -> int:
    """Documentation is no burden on the reader of the code."""
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return (first.end_lineno or 0) - first.lineno + 1
    return 0


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_modules_have_docstrings(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), "say what the module is for"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_bare_raise_of_nothing(path: Path) -> None:
    """Errors carry words: no `raise ValueError`, `raise TypeError()` or `assert False`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name):
            assert not node.exc.id.endswith("Error") or node.exc.id[0].islower(), ast.unparse(node)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            assert node.exc.args or node.exc.keywords, ast.unparse(node)
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant):
            assert node.test.value, ast.unparse(node)


def test_public_names_are_documented() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    for name in tl.__all__:
        assert getattr(tl, name).__doc__, f"{name} has no docstring"
        assert re.search(rf"\btl\.{name}\b", index), f"docs/index.md does not mention tl.{name}"


def test_nothing_heavy_is_imported() -> None:
    heavy = "click rich pygments scipy matplotlib sklearn cupy numba jax dask".split()
    script = (
        "import sys, numpy; before = set(sys.modules); import tangentlike; "
        f"print([m for m in {heavy!r} if m in sys.modules and m not in before])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


def test_import_time_is_printed() -> None:
    """A budget to watch, not to assert: machines differ."""
    script = (
        "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); "
        "import tangentlike; c = time.perf_counter(); "
        "print(f'numpy {1e3 * (b - a):.0f} ms, tangentlike {1e3 * (c - b):.0f} ms more')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    print(done.stdout)


def defined_twice(body: list[ast.stmt]) -> set[str]:
    """The functions and classes that a block defines more than once, each hiding the one before
    (`@overload` and the setters of properties say that they mean it)."""
    found = [
        n for n in body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    ]
    plain = [n.name for n in found if not any(map(is_further_part, n.decorator_list))]
    return {name for name, count in collections.Counter(plain).items() if count > 1}


def is_further_part(decorator: ast.expr) -> bool:
    """`@overload`, `@name.setter`, `@name.register`."""
    words = ("overload", "setter", "getter", "deleter", "register")
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(target, "attr", getattr(target, "id", "")) in words


@pytest.mark.parametrize("path", [*FILES, *sorted(Path(__file__).parent.rglob("*.py"))], ids=str)
def test_nothing_is_defined_twice(path: Path) -> None:
    """In a block; ruff sees this only where nothing uses the first definition."""
    if path.parent.name == "golden":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        for block in ("body", "orelse", "handlers", "finalbody"):
            stmts = getattr(node, block, None)
            if isinstance(stmts, list):
                assert not defined_twice(stmts), f"line {getattr(node, 'lineno', 1)}"


def written_by(function: ast.FunctionDef) -> set[str]:
    """The parameters whose items or attributes a function sets or deletes."""
    found = set()
    for node in ast.walk(function):
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        for target in targets:
            base = target
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            if base is not target and isinstance(base, ast.Name):
                found.add(base.id)
    return found & {arg.arg for arg in function.args.args}


def test_helpers_that_write_their_arguments_are_known_to_simplify() -> None:
    """One that is taken for a computation is dropped where nothing reads what it gives."""
    from tangentlike import runtime
    from tangentlike.codegen.optimize.facts import EFFECTS

    helpers = {
        node.name: written_by(node)
        for path in (PACKAGE / "runtime").rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    writing = {name for name in runtime.__all__ if helpers.get(name)}
    assert {"add_at", "restore_entry"} <= writing
    assert writing <= EFFECTS


def test_every_rule_is_named_in_a_test() -> None:
    """A rule without a test: none of the operations it serves occurs in the tests of rules.

    Rules of our own runtime are tested by the second derivatives of the rules that use it.
    """
    from tangentlike.rules import default_book
    from tangentlike.rules.book import spelling

    here = Path(__file__).parent
    tables = ("test_rules*.py", "rule_*.py", "operation_*.py")
    texts = [path.read_text() for table in tables for path in here.glob(table)]
    words = set(re.findall(r"\w+", "\n".join(texts)))
    served: dict[Any, set[str]] = collections.defaultdict(set)
    for op, rule in default_book().rules():
        if not spelling(op).startswith("tangentlike.runtime"):
            names = {spelling(op).rpartition(".")[2]}
            served[rule.place.file, rule.place.line, rule.name] |= names
    untested = [
        f"{Path(file).name}:{line} {name}"
        for (file, line, name), names in served.items()
        if not names & words and Path(file).is_relative_to(PACKAGE)
    ]
    assert not untested, f"rules without a test: {sorted(untested)}"


def test_import_is_cheap() -> None:
    """The transform and the tables of rules are loaded when the first derivative is made."""
    program = (
        "import sys, tangentlike\n"
        "print(*(name for name in sys.modules if name.startswith('tangentlike.')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name.removeprefix("tangentlike.") for name in ran.stdout.split()}
    late = {"frontend.lower", "analysis", "ad", "codegen", "pipeline", "dispatch.called"}
    assert "api" in loaded
    assert not {name for name in loaded if {name, name.split(".")[0]} & late}
    assert {n for n in loaded if n.startswith("rules.")} <= {"rules.book", "rules.twins"}
