"""Every Python snippet in README.md and docs/ runs, and prints what the page says it prints.

`python tests/test_docs.py` writes the printed text anew into the pages, for review in the diff.
"""

from __future__ import annotations

import doctest
import io
import linecache
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets(text: str) -> Iterator[re.Match[str]]:
    return FENCE.finditer(text)


def run_page(path: Path) -> str:
    """Run the snippets of a page in one namespace; the page with what was really printed."""
    text = path.read_text()
    module = type(sys)(f"page_{path.stem}")
    sys.modules[module.__name__] = module
    made, last = [], 0
    try:
        for number, found in enumerate(snippets(text)):
            made.append(text[last : found.start(1)])
            made.append(run_snippet(found.group(1), module, f"<{path.name} {number}>"))
            last = found.end(1)
    finally:
        del sys.modules[module.__name__]
    return "".join([*made, text[last:]])


def run_snippet(code: str, module: Any, file: str) -> str:
    """One snippet: a session with prompts is run line by line, anything else as a whole."""
    if not code.lstrip().startswith(">>>"):
        linecache.cache[file] = (len(code), None, code.splitlines(True), file)
        exec(compile(code, file, "exec"), vars(module))
        return code
    made = []
    for number, part in enumerate(doctest.DocTestParser().parse(code)):
        if isinstance(part, str):
            made.append(part)
            continue
        made.append(shown(part))
        made.append(printed(part.source, module, f"{file[:-1]}.{number}>"))
    return "".join(made)


def shown(example: doctest.Example) -> str:
    first, *rest = example.source.splitlines()
    return "".join([f">>> {first}\n", *(f"... {line}".rstrip() + "\n" for line in rest)])


def printed(source: str, module: Any, file: str) -> str:
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    stream = io.StringIO()
    with redirect_stdout(stream):
        try:
            exec(compile(source, file, "single"), vars(module))
        except Exception as error:
            kind = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
            print(f"Traceback (most recent call last):\n{kind}: {error}")
    lines = stream.getvalue().splitlines()
    while lines and not lines[-1].strip():  # a session ends where a blank line stands
        lines.pop()
    return "".join((line.rstrip() or "<BLANKLINE>") + "\n" for line in lines)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page(path: Path) -> None:
    assert run_page(path) == path.read_text()


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(run_page(page))
