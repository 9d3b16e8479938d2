"""The tool that changes the code and asks the tests (`tests.mutation`): what it changes, and that
the tests see one change of each kind."""

from __future__ import annotations

import ast
import importlib

import pytest

from tests import mutation

STRUCTURE = "tangentlike/analysis/structure.py"


def changed(text: str) -> set[str]:
    """What may become of the first expression or statement of a text."""
    stmt = ast.parse(text).body[0]
    node = stmt.value if isinstance(stmt, ast.Expr) and "(" not in text else stmt
    return {ast.unparse(ast.fix_missing_locations(new)) for _, new in mutation.changes(node)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a and b", {"a or b", "a", "b"}),
        ("not a", {"a"}),
        ("a < b", {"a <= b"}),
        ("a in b", {"a not in b"}),
        ("a | b", {"a"}),
        ("True", {"False"}),
        ("3", {"4"}),
        ("a(b)", {"pass"}),
        ("a += b", {"pass"}),
        ("if a:\n    b()", {"if not a:\n    b()"}),
    ],
)
def test_what_is_changed(text: str, expected: set[str]) -> None:
    assert changed(text) == expected


def test_every_mutant_compiles_with_the_lines_where_they_were() -> None:
    found = mutation.mutants(STRUCTURE)
    assert len(found) > 50
    for mutant in found[::10]:
        code = mutation.mutated(mutant)
        assert code.co_filename.endswith("structure.py")
        assert mutant.old != mutant.new


@pytest.mark.thorough
def test_a_mutant_reaches_functions_that_were_imported_before() -> None:
    from tangentlike.analysis.structure import structure
    from tangentlike.frontend.lower import program

    read = program("y = a * 2\nfor i in range(n):\n    z = y * a\n    w = z * i")
    mutant = next(m for m in mutation.mutants(STRUCTURE) if m.old == "loop not in around")

    def end_of_use() -> int:
        return structure(read).end_of_use("y", read.body[0])

    before = end_of_use()  # (the end of the loop)
    reached, after = mutation.in_fork(lambda: [mutation.patch(mutant), end_of_use()])
    assert reached and after < before
    assert importlib.import_module("tangentlike.analysis.structure").structure is structure
