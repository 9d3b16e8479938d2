"""Every Python snippet in README.md and docs/ runs, and prints what the page says it prints.

`python tests/test_docs.py` writes the printed text anew into the pages, for review in the diff; with
names of pages (`errors_calls.md`), only into these.
"""

from __future__ import annotations

import ast
import doctest
import io
import linecache
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sampled import one_in

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CATALOGUE = sorted((ROOT / "docs").glob("errors_*.md"))
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
            # (A program of the catalogue has the same names of files wherever it stands.)
            file = "<input>" if path in CATALOGUE else f"<{path.name} {number}>"
            made.append(run_snippet(found.group(1), module, file))
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
        place = named_after(part.source) if file == "<input>" else f"{file[:-1]}.{number}>"
        made.append(printed(part.source, module, place))
    return "".join(made)


def named_after(source: str) -> str:
    """The file that a function or class of the catalogue seems to come from."""
    (first, *_) = ast.parse(source).body
    return f"{getattr(first, 'name', 'input')}.py"


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


@contextmanager
def folder_of_its_own() -> Iterator[str]:
    """A page of the catalogue writes files, imports them, and asks NumPy not to warn."""
    before, modules, path = os.getcwd(), set(sys.modules), list(sys.path)
    with tempfile.TemporaryDirectory() as folder, np.errstate(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            yield os.path.realpath(folder)
        finally:
            os.chdir(before)
            sys.path[:] = path
            for name in set(sys.modules) - modules:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
                    del sys.modules[name]


def run_errors(path: Path) -> str:
    with folder_of_its_own() as folder:
        text = run_page(path).replace(f"{folder}/", "").replace(f"{ROOT}/", "")
    text = re.sub(r"<tangentlike call \d+ of ", "<tangentlike call of ", text)
    return re.sub(r"<tangentlike (\w+) \d+>", r"<tangentlike \1>", text)  # (counted in a process)


def remade(path: Path) -> str:
    return run_errors(path) if path in CATALOGUE else run_page(path)


@pytest.mark.every("most")
@pytest.mark.parametrize("path", [p for p in PAGES if p not in CATALOGUE], ids=lambda p: p.name)
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.name == "numba.md":
        pytest.importorskip("numba")
        monkeypatch.setenv("TANGENTLIKE_CACHE_DIR", str(tmp_path))
    assert run_page(path) == path.read_text()


@pytest.mark.every("most")
@pytest.mark.parametrize("path", one_in(len(CATALOGUE), CATALOGUE), ids=lambda p: p.name)
def test_messages(path: Path) -> None:
    """In a process of its own: programs of the catalogue define rules and load modules."""
    command = [sys.executable, __file__, "--print", path.name]
    there = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=there, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == path.read_text()


if __name__ == "__main__" and sys.argv[1:2] == ["--print"]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.stdout.write(run_errors(ROOT / "docs" / sys.argv[2]))
elif __name__ == "__main__":
    for page in PAGES:
        if page.name in sys.argv[1:] or not sys.argv[1:]:
            page.write_text(remade(page))
