"""The documentation as a site: every page, every example and every public name is on it.

`.ci/run` builds it (`mkdocs build --strict`), which checks the links.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import tangentlike as tl

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def test_every_page_is_in_the_navigation() -> None:
    pages = re.findall(r"\b([\w.-]+\.md)$", (ROOT / ".ci" / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(pages) == sorted(path.name for path in DOCS.glob("*.md"))


def test_every_example_is_in_the_gallery() -> None:
    text = (DOCS / "gallery.md").read_text()
    for path in (ROOT / "examples").glob("*.py"):
        said = ast.get_docstring(ast.parse(path.read_text())) or ""
        assert f"## {path.name}\n\n{said.splitlines()[0]}" in text, path.name


def test_every_example_has_a_figure() -> None:
    for section in (DOCS / "gallery.md").read_text().split("\n## ")[1:]:
        (picture,) = re.findall(r"\]\((images/[\w.]+)\)", section)
        assert 5_000 < (DOCS / picture).stat().st_size < 150_000


def test_every_public_name_is_in_the_reference() -> None:
    shown = set(re.findall(r"^::: ([\w.]+)$", (DOCS / "api.md").read_text(), re.MULTILINE))
    for name in tl.__all__:
        public = inspect.unwrap(getattr(tl, name))
        if not inspect.ismodule(public):
            assert f"{public.__module__}.{name}" in shown
