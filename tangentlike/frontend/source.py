"""From a live function to the syntax tree of its source, with right file and line numbers.

The whole file is parsed once (and remembered by its content); the function is found in it by its
first line and name, where these do not tell by its code.
"""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import gast

from ..errors import Place, UnsupportedError
from ..runtime.recent import Recent
from .codes import (
    FunctionNode,
    code_name,
    function_codes,
    may_have_made,
    same_program,
    typed_text,
)
from .owners import is_installed
from .places import Source
from .primal import global_names

# What any text given to `exec` is called, and from Python 3.13 on also the one of `python -c`.
_ANY_TEXT = "<string>"
_NOT_FOUND = "the source of `{}` cannot be found"
_NO_SOURCE = "Define it in a file, or give a derivative rule for it with @tl.rule."
_NO_SOURCE_OF = {
    "<stdin>": "It was typed at Python's prompt (or piped into Python), which stores the text of "
    "what is typed since Python 3.13 only. Put it in a file, use IPython or a notebook, or give a "
    "derivative rule for it with @tl.rule.",
    _ANY_TEXT: "It was made from text by exec or eval, or by python -c. Put it in a file, or "
    "register the text under a name: linecache.cache[name] = (len(text), None, "
    "text.splitlines(True), name), then exec(compile(text, name, 'exec'), namespace); or give a "
    "derivative rule for it with @tl.rule.",
}
_CHANGED = (
    "The file may have changed since it was imported: restart Python to import the new version."
)


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
    """A parsed file. `codes` are those of its functions, made when they are first asked for."""

    content: str
    tree: ast.Module
    lines: tuple[str, ...]
    sites: dict[int, list[_Site]]
    codes: dict[FunctionNode, types.CodeType] = field(default_factory=dict)


_files: Recent[str, _File] = Recent(256)
# Where functions were found: a file may change, or a name be given to another text, between the
# making of a derivative and its first call. (Codes are equal by what they do, whatever their file.)
_sites_of: Recent[tuple[str, types.CodeType], tuple[_File, _Site]] = Recent(4096)


def find_definition(fn: types.FunctionType) -> Definition:
    """The definition of a live function; refused where no source can be had.

    >>> find_definition(find_definition).name
    'find_definition'
    """
    file, site = _found(fn)
    node = gast.ast_to_gast(site.node)
    if site.owner:
        _mangle(node, site.owner)
    return Definition(node, _name(site), Source(fn.__code__.co_filename, file.lines))


def name_in_source(fn: types.FunctionType) -> str:
    """The name of a function where it is defined; refused where no source can be had."""
    return _name(_found(fn)[1])


def _name(site: _Site) -> str:
    return site.assigned if isinstance(site.node, ast.Lambda) else site.node.name


def _found(fn: types.FunctionType) -> tuple[_File, _Site]:
    """The file of a live function, and where it is defined in it, as it was first asked for."""
    place = (fn.__code__.co_filename, fn.__code__)
    found = _sites_of.get(place)
    return found if found is not None else _sites_of.put(place, _search(fn))


def _search(fn: types.FunctionType) -> tuple[_File, _Site]:
    code = fn.__code__
    file = _parsed(fn)
    there = file.sites.get(code.co_firstlineno, ())
    sites = [s for s in there if code_name(s.node) == code.co_name]
    sites = [s for s in sites if _parameters_match(s.node, code)]
    place = _place(file, code)
    if code.co_filename == _ANY_TEXT:
        sites = _of_code(sites, code, file)
        if not sites:
            raise _no_source(fn)
    if not sites:
        message = f"the source of `{fn.__name__}` is not at this line"
        raise UnsupportedError(message, place, _CHANGED)
    alone = sites[0] if len(sites) == 1 else None
    if alone is not None and not may_have_made(alone.node, alone.owner, code):
        raise UnsupportedError(f"the source of `{fn.__name__}` has changed", place, _CHANGED)
    site = alone or next(iter(_of_code(sites, code, file)), None)
    if site is None:
        raise UnsupportedError(
            f"the source of `{fn.__name__}` is not at this line",
            place,
            f"{_CHANGED} Of several lambdas, put each on a line of its own.",
        )
    return file, site


def _no_source(fn: types.FunctionType) -> UnsupportedError:
    hint = _NO_SOURCE_OF.get(fn.__code__.co_filename, _NO_SOURCE)
    return UnsupportedError(_NOT_FOUND.format(fn.__name__), hint=hint)


def _parsed(fn: types.FunctionType) -> _File:
    name = fn.__code__.co_filename
    linecache.checkcache(name)
    content = "".join(linecache.getlines(name, fn.__globals__))
    if not content.strip():
        content = typed_text(fn.__code__) or ""
    known = _files.get(name)
    if known is not None and known.content == content:
        return known
    if not content.strip():
        raise _no_source(fn)
    try:
        tree = ast.parse(content)
    except SyntaxError as error:
        place = Place(name, error.lineno or 1)
        raise UnsupportedError(
            f"the source of `{fn.__name__}` does not parse: {error.msg}", place, _CHANGED
        ) from None
    sites: dict[int, list[_Site]] = {}
    for site in _sites(tree, "lambda" in content):
        sites.setdefault(_first_line(site.node), []).append(site)
    return _files.put(name, _File(content, tree, tuple(content.splitlines()), sites))


def _sites(tree: ast.AST, lambdas: bool) -> Iterator[_Site]:
    """All definitions of a file, in any order; expressions are looked into where one of them may
    be a lambda."""
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
        for child in ast.iter_child_nodes(node) if lambdas else _statements(node):
            direct = child is getattr(node, "value", None)
            stack.append((child, owner, named if direct else "function"))


def _statements(node: Any) -> Iterator[ast.AST]:
    """The statements of the blocks of a node, and its parts that have such."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        yield from getattr(node, block, ())


def _first_line(node: Any) -> int:
    decorators = getattr(node, "decorator_list", ())
    return int(min([node.lineno, *(d.lineno for d in decorators)]))


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


def _of_code(sites: list[_Site], code: types.CodeType, file: _File) -> list[_Site]:
    """The one among some definitions that a code object was made from, if any."""
    if not file.codes:
        file.codes.update(function_codes(file.tree, file.content, code.co_filename))
    found = (s for s in sites if s.node in file.codes)
    # Two with the same code are the same program: the first stands for both.
    return [s for s in found if same_program(file.codes[s.node], code)][:1]


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


# --------------------------------------------------------------------------------------------------
# The texts of functions that go to another process by value: their files may not be there.


def sources_of(function: types.FunctionType) -> dict[str, str]:
    """The text of each file that a function, or a function of the user's that it names, is from."""
    files = dict.fromkeys(f.__code__.co_filename for f in _reached(function, set()))
    texts = {file: "".join(linecache.getlines(file)) for file in files}
    return {file: text for file, text in texts.items() if text}


def restore_sources(texts: dict[str, str]) -> None:
    """Let Python know the texts of files that this process does not have, or has others of."""
    for file, text in texts.items():
        if "".join(linecache.getlines(file)) != text:
            linecache.cache[file] = (len(text), None, text.splitlines(True), file)


def _reached(function: types.FunctionType, seen: set[int]) -> Iterator[types.FunctionType]:
    if id(function) in seen or is_installed(function.__module__ or ""):
        return
    seen.add(id(function))
    yield function
    named = [function.__globals__.get(name) for name in global_names(function.__code__)]
    for found in (*named, *map(_content, function.__closure__ or ())):
        for inner in _functions_in(found):
            yield from _reached(inner, seen)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # (it is empty)
        return None


def _functions_in(found: Any) -> Iterator[types.FunctionType]:
    """The function itself, or those of a class."""
    if isinstance(found, types.FunctionType):
        yield found
    elif isinstance(found, type) and not is_installed(found.__module__):
        yield from (v for v in vars(found).values() if isinstance(v, types.FunctionType))
