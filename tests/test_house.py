"""The rules of the house, enforced: directions of imports, lengths of functions, documentation, weight."""

from __future__ import annotations

import ast
import collections
import functools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tangentlike as tl
from tests.processes import python

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
    {"numba"},
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

Nodes = tuple[ast.AST, ...]  # of a file, the module itself first
Rule = Callable[[Path, Nodes], Iterator[str]]

TABLES = {"rules"}  # tables of rules may be long


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def own_imports(path: Path, nodes: Nodes) -> set[str]:
    """The parts of tangentlike that a file imports, at its top or inside functions."""
    package = path.relative_to(PACKAGE.parent).parts[:-1]
    found = set()
    for node in nodes:
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


def upward_imports(path: Path, nodes: Nodes) -> Iterator[str]:
    """What a file imports from above its layer; the runtime imports nothing else of ours."""
    layer = layer_of(path)
    for name in sorted(own_imports(path, nodes) - {"runtime", layer}):
        if layer == "runtime" or LEVEL[name] > LEVEL[layer]:
            yield f"{layer} imports from above itself: {name}"


def test_every_module_has_a_layer() -> None:
    assert {layer_of(path) for path in FILES} <= set(LEVEL) | {"runtime"}


def foreign_imports(path: Path, nodes: Nodes) -> Iterator[str]:
    """What a file of the runtime imports besides NumPy and the standard library."""
    for node in nodes:
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        roots = {module.split(".")[0] for module in modules}
        yield from sorted(roots - {"numpy"} - sys.stdlib_module_names)


def long_functions(path: Path, nodes: Nodes) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1 - docstring_length(node)
            if length > 50:
                yield f"{node.name} has {length} lines"


def docstring_length(node: ast.FunctionDef) -> int:
    """Documentation is no burden on the reader of the code."""
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return (first.end_lineno or 0) - first.lineno + 1
    return 0


def missing_docstrings(path: Path, nodes: Nodes) -> Iterator[str]:
    assert isinstance(nodes[0], ast.Module)
    if not ast.get_docstring(nodes[0]):
        yield "say what the module is for"


def wordless_errors(path: Path, nodes: Nodes) -> Iterator[str]:
    """`raise ValueError`, `raise TypeError()`, `assert False`."""
    for node in nodes:
        match node:
            case ast.Raise(exc=ast.Name(id=name)) if name.endswith("Error") and name[0].isupper():
                yield ast.unparse(node)
            case ast.Raise(exc=ast.Call(args=[], keywords=[])):
                yield ast.unparse(node)
            case ast.Assert(test=ast.Constant(value=value)) if not value:
                yield ast.unparse(node)


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
    assert python("-c", script).strip() == "[]"


def test_import_time_is_printed() -> None:
    """A budget to watch, not to assert: machines differ."""
    script = (
        "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); "
        "import tangentlike; c = time.perf_counter(); "
        "print(f'numpy {1e3 * (b - a):.0f} ms, tangentlike {1e3 * (c - b):.0f} ms more')"
    )
    print(python("-c", script))


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


def definitions_hidden(path: Path, nodes: Nodes) -> Iterator[str]:
    """Ruff sees only those that nothing uses."""
    for node in nodes:
        for block in ("body", "orelse", "handlers", "finalbody"):
            stmts = getattr(node, block, None)
            if isinstance(stmts, list):
                yield from (f"{name} is defined twice" for name in sorted(defined_twice(stmts)))


def is_ruled(rule: Rule, path: Path) -> bool:
    """Whether a rule is for this file."""
    if rule is foreign_imports:
        return path.is_relative_to(PACKAGE / "runtime")
    if rule is long_functions:
        return path.is_relative_to(PACKAGE) and layer_of(path) not in TABLES
    return rule is definitions_hidden or path.is_relative_to(PACKAGE)


RULES: list[Rule] = [upward_imports, foreign_imports, long_functions, missing_docstrings]
RULES += [wordless_errors, definitions_hidden]


@functools.cache
def complaints() -> dict[Rule, list[str]]:
    """What the rules say against the files, each of which is read once (one test for every file
    and rule takes many times as long)."""
    found: dict[Rule, list[str]] = {rule: [] for rule in RULES}
    tests = (p for p in sorted((ROOT / "tests").rglob("*.py")) if p.parent.name != "golden")
    for path in (*FILES, *tests):
        nodes = tuple(ast.walk(ast.parse(path.read_text())))
        for rule in RULES:
            if is_ruled(rule, path):
                found[rule] += [f"{path.relative_to(ROOT)}: {text}" for text in rule(path, nodes)]
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_files(rule: Rule) -> None:
    assert not complaints()[rule]


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
    writing = {name for name in vars(runtime) if helpers.get(name)}
    assert {"add_at", "restore_entry"} <= writing
    assert writing <= EFFECTS


def test_every_rule_is_named_in_a_test() -> None:
    """A rule without a test: none of the operations it serves occurs in the tests of rules.

    Rules of our own runtime are tested by the second derivatives of the rules that use it.
    """
    from tangentlike.rules import default_book
    from tangentlike.rules.book import path_of

    here = Path(__file__).parent
    tables = ("test_rules*.py", "rule_*.py", "operation_*.py")
    texts = [path.read_text() for table in tables for path in here.glob(table)]
    words = set(re.findall(r"\w+", "\n".join(texts)))
    served: dict[Any, set[str]] = collections.defaultdict(set)
    for op, rule in default_book().rules():
        if not path_of(op).startswith("tangentlike.runtime"):
            names = {path_of(op).rpartition(".")[2]}
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
    loaded = {name.removeprefix("tangentlike.") for name in python("-c", program).split()}
    late = {"frontend.lower", "analysis", "ad", "codegen", "pipeline", "dispatch.called"}
    assert "api" in loaded
    assert not {name for name in loaded if {name, name.split(".")[0]} & late}
    assert {n for n in loaded if n.startswith("rules.")} <= {"rules.book", "rules.twins"}


WALKERS = 48  # functions that recurse over blocks by themselves: this number may only go down


def test_what_walks_through_programs_uses_the_framework() -> None:
    """`ir.rewrite`, `ir.statements` and `ir.dataflow` know which statements hold blocks."""
    from tests.walkers import walkers

    found = walkers()
    count = sum(map(len, found.values()))
    assert count <= WALKERS, f"{count} functions recurse over blocks: {found}"
