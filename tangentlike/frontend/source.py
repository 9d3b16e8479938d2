"""From a live function to the syntax tree of its source, with right file and line numbers.

The whole file is parsed once (and remembered by its content); the function is found in it by its
first line and name, a lambda by its columns where Python keeps them.
"""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gast

from ..errors import Place, UnsupportedError
from .places import Source

_NO_SOURCE = "Define it in a file, or give a derivative rule for it with @tl.rule."
_CHANGED = "The file may have changed since it was imported: start again with the new version."


@dataclass(frozen=True)
class Definition:
    """A `def` or `lambda` in its file. `name` is an identifier, also for a lambda."""

    node: Any
    name: str
    source: Source


@dataclass(frozen=True)
class _Site:
    """A definition in a parsed file: the class it stands in, the name a lambda is given."""

    node: Any
    owner: str
    assigned: str


@dataclass(frozen=True)
class _File:
    content: str
    lines: tuple[str, ...]
    sites: dict[int, list[_Site]]


_files: dict[str, _File] = {}


def find_definition(fn: types.FunctionType) -> Definition:
    """The definition of a live function; refused where no source can be had.

    >>> find_definition(find_definition).name
    'find_definition'
    """
    code = fn.__code__
    file = _parsed(fn)
    sites = [s for s in file.sites.get(code.co_firstlineno, ()) if _has_name(s.node, code.co_name)]
    sites = [s for s in sites if _parameters_match(s.node, code)]
    if len(sites) > 1 and code.co_name == "<lambda>":
        sites = _at_columns(sites, code)
    place = _place(file, code)
    if not sites:
        message = f"the source of `{fn.__name__}` is not at this line"
        raise UnsupportedError(message, place, _CHANGED)
    if len(sites) > 1:
        raise UnsupportedError(
            "several lambdas on this line cannot be told apart",
            place,
            "Put each on a line of its own, or define a function with `def`.",
        )
    site = sites[0]
    node = gast.ast_to_gast(site.node)
    if site.owner:
        _mangle(node, site.owner)
    name = site.assigned if isinstance(site.node, ast.Lambda) else site.node.name
    return Definition(node, name, Source(code.co_filename, file.lines))


def _parsed(fn: types.FunctionType) -> _File:
    name = fn.__code__.co_filename
    linecache.checkcache(name)
    content = "".join(linecache.getlines(name, fn.__globals__))
    known = _files.get(name)
    if known is not None and known.content == content:
        return known
    if not content.strip():
        raise UnsupportedError(f"the source of `{fn.__name__}` cannot be found", hint=_NO_SOURCE)
    try:
        tree = ast.parse(content)
    except SyntaxError as error:
        place = Place(name, error.lineno or 1)
        raise UnsupportedError(
            f"the source of `{fn.__name__}` does not parse: {error.msg}", place, _CHANGED
        ) from None
    sites: dict[int, list[_Site]] = {}
    for site in _sites(tree):
        sites.setdefault(_first_line(site.node), []).append(site)
    file = _files[name] = _File(content, tuple(content.splitlines()), sites)
    return file


def _sites(tree: ast.AST) -> Iterator[_Site]:
    """All definitions of a file, in any order."""
    stack: list[tuple[Any, str, str]] = [(tree, "", "function")]
    while stack:
        node, owner, assigned = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield _Site(node, owner, assigned)
        elif isinstance(node, ast.ClassDef):
            owner = node.name
        named = "function"
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named = node.targets[0].id
        for child in ast.iter_child_nodes(node):
            direct = child is getattr(node, "value", None)
            stack.append((child, owner, named if direct else "function"))


def _first_line(node: Any) -> int:
    decorators = getattr(node, "decorator_list", ())
    return int(min([node.lineno, *(d.lineno for d in decorators)]))


def _has_name(node: Any, name: str) -> bool:
    return getattr(node, "name", "<lambda>") == name


def _parameters_match(node: Any, code: types.CodeType) -> bool:
    """Whether parameter names agree, so that an edited file is not taken for the code in memory."""
    args = node.args
    declared = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    declared += [a.arg for a in (args.vararg, args.kwarg) if a is not None]
    stars = bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    count = code.co_argcount + code.co_kwonlyargcount + stars
    plain = [n.lstrip("_") for n in code.co_varnames[:count]]
    # A parameter `__x` of a method is `_Class__x` in its code object.
    return len(declared) == count and all(
        mine == own or mine.endswith(own.lstrip("_"))
        for mine, own in zip(plain, (d.lstrip("_") for d in declared), strict=True)
    )


def _at_columns(sites: list[_Site], code: types.CodeType) -> list[_Site]:
    """The innermost lambdas whose body holds every instruction of the code."""
    if not hasattr(code, "co_positions"):
        return sites
    spots = [
        (p[0], p[2], p[1], p[3]) for p in code.co_positions() if None not in p and p[2] != p[3]
    ]
    if not spots:
        return sites
    begin = min((line, column) for line, column, _, _ in spots)
    end = max((line, column) for _, _, line, column in spots)
    around = [
        s
        for s in sites
        if (s.node.body.lineno, s.node.body.col_offset) <= begin
        and end <= (s.node.body.end_lineno, s.node.body.end_col_offset)
    ]
    latest = max(((s.node.body.lineno, s.node.body.col_offset) for s in around), default=None)
    return [s for s in around if (s.node.body.lineno, s.node.body.col_offset) == latest]


def _place(file: _File, code: types.CodeType) -> Place:
    number = code.co_firstlineno
    text = file.lines[number - 1].strip() if 0 < number <= len(file.lines) else ""
    return Place(code.co_filename, number, text, 0, len(text))


def _mangle(node: gast.AST, owner: str) -> None:
    """Spell the private names of a class (`self.__w`) as Python does inside it."""
    prefix = "_" + owner.lstrip("_")
    for part in gast.walk(node):
        field = "attr" if isinstance(part, gast.Attribute) else "id"
        name = getattr(part, field, "")
        if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
            setattr(part, field, prefix + name)
