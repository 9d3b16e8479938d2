"""Every syntax node of Python has a row in docs/language.md, and every row's program does what it says.

`python tests/test_language.py` writes the table of the page anew.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests.sampled import one_in

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.language_rows import REFUSED, ROWS, Row

PAGE = Path(__file__).parent.parent / "docs" / "language.md"
START = "| syntax | | what happens |\n|---|---|---|\n"

# Not part of a function's text: whole modules, abstract classes, and what Python no longer makes.
_NOT_IN_FUNCTIONS = frozenset(
    "AST mod stmt expr expr_context boolop operator unaryop cmpop excepthandler pattern "
    "type_ignore type_param slice Module Interactive Expression FunctionType TypeIgnore Suite "
    "Num Str Bytes NameConstant Ellipsis _ast_Ellipsis Index ExtSlice AugLoad AugStore Param".split()
)


def present() -> list[Row]:
    return [row for row in ROWS if sys.version_info >= row.since]


def table() -> str:
    """The rows as the page shows them."""
    lines = [
        f"| {' '.join(f'`{n}`' for n in row.nodes.split())} | {row.idiom.replace('|', chr(92) + '|')} "
        f"| {row.what} |"
        for row in ROWS
    ]
    return START + "\n".join(lines) + "\n"


def function(row: Row) -> Any:
    """The live function of a row."""
    file = f"<language {ROWS.index(row)}>"
    module = types.ModuleType(f"language_{ROWS.index(row)}")
    vars(module).update(np=np, contextlib=contextlib)
    sys.modules[module.__name__] = module
    linecache.cache[file] = (len(row.text), None, row.text.splitlines(True), file)
    exec(compile(row.text, file, "exec"), vars(module))
    return module.f


@pytest.mark.parametrize("row", one_in(3, present()), ids=lambda row: row.idiom)
def test_row(row: Row) -> None:
    f = function(row)
    nodes = {type(node).__name__ for node in ast.walk(ast.parse(row.text))}
    assert set(row.nodes.split()) <= nodes, "the program does not have what the row is about"
    if row.what == REFUSED:
        for mode in ("reverse", "forward"):
            with pytest.raises(tl.UnsupportedError) as info:
                tl.autodiff(f, mode=mode)(1.3, 1.0)
            assert info.value.place is not None
            assert info.value.hint
        return
    with contextlib.redirect_stdout(io.StringIO()):
        tl.check_grads(f, (1.3,), order=row.order)


def test_every_node_has_a_row() -> None:
    named = {name for row in ROWS for name in row.nodes.split()}
    found = {n for n, c in vars(ast).items() if isinstance(c, type) and issubclass(c, ast.AST)}
    assert sorted(found - _NOT_IN_FUNCTIONS - named) == []


def test_the_page_has_the_rows() -> None:
    assert table() in PAGE.read_text(), "run `python tests/test_language.py`"


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(START)
    after = rest[rest.index("\n\n") + 1 :] if "\n\n" in rest else ""
    PAGE.write_text(before + table() + after)
