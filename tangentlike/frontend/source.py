"""From a live function to the syntax tree of its source, with right file and line numbers.

The whole file is parsed once (and remembered by its content); the function is found in it by its
first line and name, where these do not tell by its code.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import copy
import dis
import inspect
import io
import linecache
import re
import sys
import tokenize
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import gast

from ..errors import Place, UnsupportedError
from ..ir import Comment
from ..runtime.recent import Recent
from .owners import is_installed
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
    if _arrived and not linecache.getlines(fn.__code__.co_filename, fn.__globals__):
        for function in _reached(fn, set()):
            tell_file(function)
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
    emitted = hasattr(fn, "__renamed__")  # (a text that is not edited)
    if alone and not emitted and not may_have_made(alone.node, alone.owner, code, fn.__globals__):
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
        sites.setdefault(first_line(site.node), []).append(site)
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


def first_line(node: Any) -> int:
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
# The texts of functions that go to another process by value: their files may not be there, and what
# carries them may not say which file each is from (`cloudpickle` does not, since 3.1.3).

# Codes in the texts that arrived, by what tells them apart, and the texts.
_arrived: dict[tuple[Any, ...], list[types.CodeType]] = {}
_texts_arrived: dict[str, str] = {}


def sources_of(function: types.FunctionType) -> dict[str, str]:
    """The text of each file that a function, or a function of the user's that it names, is from."""
    files = dict.fromkeys(map(tell_file, _reached(function, set())))
    return texts_of(files)


def texts_of(files: Iterable[str]) -> dict[str, str]:
    """What stands in files, of those that are there."""
    texts = {file: "".join(linecache.getlines(file)) for file in files}
    return {file: text for file, text in texts.items() if text}


def restore_sources(texts: Mapping[str, str]) -> None:
    """Let Python know the texts of files that this process does not have, or has others of."""
    for file, text in texts.items():
        if "".join(linecache.getlines(file)) != text:
            linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        if _texts_arrived.get(file) != text:
            _texts_arrived[file] = text
            with contextlib.suppress(SyntaxError, ValueError):  # (it is refused when it is read)
                for code in _codes_in(compile(text, file, "exec", dont_inherit=True)):
                    _arrived.setdefault(_told_by(code), []).append(code)


def tell_file(function: types.FunctionType) -> str:
    """The file of a function; one that arrived without it is given which of the texts that arrived
    it is from."""
    code = function.__code__
    known = _arrived.get(_told_by(code), ()) if _arrived else ()
    if known and not linecache.getlines(code.co_filename, function.__globals__):
        files = {c.co_filename for c in known if c == code} or {c.co_filename for c in known}
        if len(files) == 1:
            function.__code__ = code_in_file(code, files.pop())
    return function.__code__.co_filename


def code_in_file(code: types.CodeType, file: str) -> types.CodeType:
    """The same code as that of a function in another file, with all code in it."""
    inside = (code_in_file(c, file) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(inside))


def _told_by(code: types.CodeType) -> tuple[Any, ...]:
    """What tells a code from others in a few texts."""
    name = getattr(code, "co_qualname", code.co_name)
    count = code.co_argcount + code.co_kwonlyargcount
    return code.co_firstlineno, name, code.co_varnames[:count], code.co_freevars


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


# --------------------------------------------------------------------------------------------------
# Where a node stands in the user's text: the logical line to show, and the caret under it.
#
# A statement over several lines is shown joined to one, without the comments inside it; columns
# are translated, so that carets still point at the right part.


@dataclass(frozen=True)
class Line:
    """One logical line. `starts` has, for each physical line, where its text begins in `text`
    and how many of its characters stand before that."""

    file: str
    first: int
    text: str
    starts: tuple[tuple[int, int], ...]
    lines: Sequence[str]

    def place(self, node: Any) -> Place:
        """The place of a node within this line."""
        if not hasattr(node, "lineno"):
            return self.whole()
        begin = self._column(node.lineno, node.col_offset)
        end = self._column(node.end_lineno, node.end_col_offset)
        return Place(self.file, node.lineno, self.text, begin, max(1, end - begin))

    def whole(self) -> Place:
        """The place of the whole line."""
        return Place(self.file, self.first, self.text, 0, len(self.text))

    def _column(self, lineno: int, offset: int) -> int:
        row = lineno - self.first
        if not 0 <= row < len(self.starts):
            return len(self.text) if row > 0 else 0
        start, removed = self.starts[row]
        column = start + characters(self.lines[lineno - 1], offset) - removed
        return max(0, min(column, len(self.text)))


_LAYOUT = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT)
_TO_TOOLS = re.compile(r"#\s*(type:|noqa|pragma:|fmt:|mypy:|pylint:|ruff:|isort:|!)")


@dataclass(frozen=True)
class Source:
    """The lines of one file (or of a text that was handed in), without their newlines."""

    file: str
    lines: Sequence[str]

    def line(self, node: Any) -> Line:
        """The logical line of a statement; for a compound statement, that of its header."""
        end_line, end_column = self._end(node)
        first = node.lineno
        begin = characters(self.lines[first - 1], node.col_offset)
        if end_line == first:
            text = self.lines[first - 1][begin:end_column].rstrip()
            return Line(self.file, first, text, ((0, begin),), self.lines)
        rows = [self.lines[first - 1][begin:], *self.lines[first : end_line - 1]]
        rows.append(self.lines[end_line - 1][:end_column])
        text, starts = _joined(_without_comments(rows), begin)
        return Line(self.file, first, text, starts, self.lines)

    def comments(self, node: Any) -> tuple[Comment, ...]:
        """What is said of each line of a definition but its header, by the first row of the line.
        (What tools are told is left out.)"""
        rows = self.lines[node.lineno - 1 : node.end_lineno]
        if not any("#" in row for row in rows):
            return ()
        found, above, beside, first = [], list[str](), list[str](), 0
        with contextlib.suppress(tokenize.TokenError, SyntaxError):
            for token in tokenize.generate_tokens(io.StringIO("\n".join(rows) + "\n").readline):
                if token.type == tokenize.COMMENT:
                    if not _TO_TOOLS.match(token.string):
                        (beside if first else above).append(token.string)
                elif token.type == tokenize.NEWLINE:
                    if first > 1 and (above or beside):
                        line = node.lineno + first - 1
                        found.append(Comment(line, tuple(above), tuple(beside)))
                    above, beside, first = [], [], 0
                elif not first and token.type not in _LAYOUT:
                    first = token.start[0]
        return tuple(found)

    def header(self, lineno: int) -> Place:
        """The place of one physical line, as for a `def`."""
        text = self.lines[lineno - 1].strip() if 0 < lineno <= len(self.lines) else ""
        return Place(self.file, lineno, text, 0, len(text))

    def _end(self, node: Any) -> tuple[int, int]:
        """Line and character column just after the statement, or after its header's colon."""
        last = _header_end(node)
        line, column = (
            last.end_lineno,
            characters(self.lines[last.end_lineno - 1], last.end_col_offset),
        )
        if last is node:
            return line, column
        # Only brackets, blanks and comments can stand between the header and its colon.
        for row in range(line, len(self.lines) + 1):
            text = self.lines[row - 1]
            code = text[column if row == line else 0 :].split("#", 1)[0]
            if ":" in code:
                return row, text.index(":", column if row == line else 0) + 1
        return line, column


def characters(line: str, offset: int) -> int:
    """A UTF-8 byte offset as a count of characters."""
    if line.isascii():
        return offset
    return len(line.encode()[:offset].decode(errors="ignore"))


def _header_end(node: Any) -> Any:
    """The last node of a compound statement's header; a simple statement itself."""
    if not isinstance(getattr(node, "body", None), list) and not getattr(node, "cases", None):
        return node  # (a lambda or a conditional expression is not a compound statement)
    if hasattr(node, "args") and hasattr(node, "returns"):  # `def`: annotations have colons too
        inside = [n for n in ast.walk(node.args) if hasattr(n, "end_lineno")]
        parts = [*inside, *([node.returns] if node.returns is not None else ())]
        return max(parts, key=lambda n: (n.end_lineno, n.end_col_offset), default=_Spot(node))
    for part in ("test", "iter", "subject"):
        if hasattr(node, part):
            return getattr(node, part)
    if getattr(node, "items", None):
        item = node.items[-1]
        return item.optional_vars or item.context_expr
    return _Spot(node)


class _Spot:
    """The first characters of a statement whose header ends nowhere in particular (`try:`)."""

    def __init__(self, node: Any) -> None:
        self.end_lineno = node.lineno
        self.end_col_offset = node.col_offset


def _without_comments(rows: list[str]) -> list[str]:
    """The rows with comments and continuation backslashes taken off their ends."""
    cut = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(rows) + "\n").readline):
            if token.type == tokenize.COMMENT:
                cut[token.start[0] - 1] = token.start[1]
    except (tokenize.TokenError, SyntaxError):
        pass  # a header without its body may not tokenize to the end; what was seen counts
    rows = [row[: cut.get(number)] for number, row in enumerate(rows)]
    return [row.rstrip().removesuffix("\\").rstrip() for row in rows]


def _joined(rows: list[str], begin: int) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The rows as one line, and where each of them begins in it."""
    text, starts = "", []
    for number, row in enumerate(rows):
        body = row.lstrip()
        if text and body and text[-1] not in "([{" and body[0] not in ")]}":
            text += " "
        removed = len(row) - len(body) + (begin if number == 0 else 0)
        starts.append((len(text), removed))
        text += body
    return text, tuple(starts)


# --------------------------------------------------------------------------------------------------
# Which definition of a file a live function was made from, where line and name do not say.
#
# A code object says its first line, which may hold several lambdas; on Python 3.10 there are no
# columns. So the file is compiled again with each definition moved to lines of its own: the one
# whose instructions, constants and names are those of the function is the one. Where two agree in
# all of them they are the same program.


FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]

# Of a code object: what it does, whatever the lines it stands on.
_MEANING = (
    "co_name", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars",
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount",
)  # fmt: skip


def function_codes(tree: ast.AST, content: str, name: str) -> dict[FunctionNode, types.CodeType]:
    """The code of each `def` and `lambda` of a file, of which a parsed tree is given.

    >>> text = "f, g = lambda x: x + 1, lambda x: x + 1.0"
    >>> tree = ast.parse(text)
    >>> codes = function_codes(tree, text, "<text>")
    >>> [codes[node].co_consts[-1] for node in tree.body[0].value.elts]
    [1, 1.0]
    """
    moved = ast.parse(content)
    height = content.count("\n") + 2
    for count, node in enumerate(_functions(moved), 1):
        rows = count - node.lineno // height  # (it has moved with the function around it)
        ast.increment_lineno(node, rows * height)
    made = {
        (code.co_firstlineno // height, code.co_name): code
        for code in _codes_in(compile(moved, name, "exec", dont_inherit=True))
        if code.co_flags & inspect.CO_OPTIMIZED  # (the body of a class is not a function)
    }
    keys = {node: (n, code_name(node)) for n, node in enumerate(_functions(tree), 1)}
    return {node: made[key] for node, key in keys.items() if key in made}


def code_name(node: FunctionNode) -> str:
    """The name that the code of a definition has."""
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def same_program(code: types.CodeType, other: types.CodeType) -> bool:
    """Whether two code objects do the same.

    >>> f, g, h = lambda x: x + 1, lambda x: x + 1, lambda x: x + 1.0
    >>> same_program(f.__code__, g.__code__), same_program(f.__code__, h.__code__)
    (True, False)
    """
    return all(getattr(code, key) == getattr(other, key) for key in _MEANING) and (
        len(code.co_consts) == len(other.co_consts)
        and all(map(_same_constant, code.co_consts, other.co_consts))
    )


def _same_constant(one: object, other: object) -> bool:
    if isinstance(one, types.CodeType) and isinstance(other, types.CodeType):
        return same_program(one, other)
    return type(one) is type(other) and repr(one) == repr(other)  # (1, 1.0 and True are equal)


def may_have_made(
    node: FunctionNode, owner: str, code: types.CodeType, outer: Mapping[str, Any]
) -> bool:
    """Whether a code object may come from a definition (in the class `owner`, if that is no ""): if
    the file was edited it does not. `outer` are the globals that it is read with.

    What is imported may be more than the text says: a test runner writes assertions anew, a type
    checker adds calls. It names all that the text names, and more.

    >>> f, g, h = lambda x: x - 2.0, lambda x: x - 3.0, lambda x: 2.0 - x
    >>> node = ast.parse("lambda x: x - 2.0", mode="eval").body
    >>> [may_have_made(node, "", made.__code__, {}) for made in (f, g, h)]
    [True, False, False]
    """
    # (Methods of what a file imports are called by other instructions, from Python 3.11 on.)
    used = (name for each in _codes_in(code) for name in each.co_names)
    found = {name for name in used if isinstance(outer.get(name), types.ModuleType)}
    modules = sorted(filter(str.isidentifier, found))  # (a test runner has `@pytest_ar`)
    alone = _compiled(node, owner, code, modules)
    if alone is None or same_program(alone, code) or _steps(alone) == _steps(code):
        return True
    names, of_text = _named(code), _named(alone)
    asserts = any(isinstance(part, ast.Assert) for part in ast.walk(node))
    return of_text <= names and (of_text < names or asserts)


def _compiled(
    node: FunctionNode, owner: str, code: types.CodeType, modules: list[str]
) -> types.CodeType | None:
    """The code of a definition compiled by itself as `code` was (with `from __future__ import
    annotations`, those of inner functions are texts), where the names around it are bound too,
    and the modules imported."""
    alone = copy.copy(node)
    alone.args = copy.copy(node.args)  # (without defaults, which are not in its code)
    alone.args.defaults = [ast.copy_location(ast.Constant(0), node) for _ in node.args.defaults]
    alone.args.kw_defaults = [None] * len(node.args.kwonlyargs)
    if not isinstance(alone, ast.Lambda):
        alone.decorator_list = []
    bound = "".join(f"{name} = " for name in code.co_freevars if name != "__class__")
    imports = f"import {', '.join(modules)}\n" if modules else ""
    around = ast.parse(f"{imports}def around(): {bound}0")
    inside: list[ast.stmt] = around.body[-1].body  # type: ignore[attr-defined]
    if owner:
        within = ast.parse(f"class {owner}: pass").body[0]
        inside.append(within)
        inside = within.body  # type: ignore[attr-defined]
    if isinstance(alone, ast.Lambda):
        inside.append(ast.copy_location(ast.Expr(alone), alone))
    else:
        inside.append(alone)
    try:
        whole = compile(around, "", "exec", code.co_flags & _FUTURE, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    found = (c for c in _codes_in(whole) if c.co_name == code_name(node))
    return next((c for c in found if c.co_firstlineno == node.lineno), None)


def _steps(code: types.CodeType) -> list[str]:
    """What a code object reads, writes and computes, in order; not how it is called or jumps, and
    not from where names are read: that depends on what is compiled with it."""
    found: list[str] = []
    cells = frozenset((*code.co_cellvars, *code.co_freevars))  # (as they are, given to functions)
    for step in dis.get_instructions(code):
        if isinstance(step.argval, types.CodeType):
            found += _steps(step.argval)
        elif step.opname.startswith(("BINARY_", "COMPARE_", "UNARY_", "INPLACE_")):
            found.append(f"{step.opname} {step.argrepr}")
        elif step.opname in _OF_CLOSURES or (step.opname == "LOAD_FAST" and step.argval in cells):
            continue
        elif "<locals>" in step.argrepr:
            continue  # (a qualified name, which Python 3.10 has among the constants)
        elif step.opcode in (*dis.haslocal, *dis.hasname, *dis.hasfree, *dis.hasconst):
            several = isinstance(step.argval, tuple) and step.opcode not in dis.hasconst
            found += map(_text_of, step.argval if several else (step.argval,))
    return found


def _text_of(constant: object) -> str:
    """(Equal sets may go through their items in any order.)"""
    return repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


_FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
_OF_CLOSURES = ("MAKE_CELL", "COPY_FREE_VARS", "LOAD_CLOSURE")


def _named(code: types.CodeType) -> frozenset[str]:
    """The names and constants in a code object and in those within it."""
    found: set[str] = set()
    for each in _codes_in(code):
        found.update(each.co_names, each.co_varnames, each.co_freevars, each.co_cellvars)
        plain = (c for c in each.co_consts if not isinstance(c, types.CodeType))
        found.update(text for text in map(_text_of, plain) if "<locals>" not in text)
    return frozenset(found)


def _functions(tree: ast.AST) -> Iterator[FunctionNode]:
    """The definitions of a file, outer ones before those inside them."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return (node for node in ast.walk(tree) if isinstance(node, kinds))


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes_in(constant)


# --------------------------------------------------------------------------------------------------
# The text of functions that were typed, where Python keeps none.
#
# Before Python 3.13 the prompt of Python forgets what was typed, and a notebook's `%%time` forgets
# its cell. The lines are still in the history that can be called up with the arrow keys; the one
# text in it that compiles to the very code of the function is its source.

_MOST_LINES = 2000  # of a history, from its end
_LONGEST = 200
_FOUND: Recent[types.CodeType, str] = Recent(256)


def typed_text(code: types.CodeType) -> str | None:
    """The text that a function was typed as, if a history has it."""
    known = _FOUND.get(code)
    if known is None:
        known = _FOUND.put(code, next((t for t in _texts(code) if _defines(t, code)), ""))
    return known or None


def _texts(code: types.CodeType) -> Iterator[str]:
    """What may be it, the latest first."""
    if code.co_filename.startswith("<"):
        yield from _cells()
    if code.co_filename == "<stdin>":
        yield from _typed_statements(code)


def _cells() -> Iterator[str]:
    """The cells of a running IPython, with a magic command at the top taken away as it does."""
    interactive = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    history = getattr(getattr(interactive, "history_manager", None), "input_hist_raw", ())
    for cell in reversed(list(history)):
        yield cell.partition("\n")[2] if cell.startswith("%%") else cell


def _typed_statements(code: types.CodeType) -> Iterator[str]:
    """Statements from the history of Python's prompt, of any length."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    count = readline.get_current_history_length()
    numbers = range(max(1, count - _MOST_LINES), count + 1)
    lines = [readline.get_history_item(number) or "" for number in numbers]
    for start in range(len(lines) - 1, -1, -1):
        line = lines[start]
        if code.co_name in line or "lambda" in line or line.startswith("@"):
            for end in range(start + 1, min(len(lines), start + _LONGEST) + 1):
                yield "\n".join(lines[start:end]) + "\n"


def _defines(text: str, code: types.CodeType) -> bool:
    """Whether a text compiles to the code of a function, at its line."""
    try:
        tree = ast.parse(text)
        codes = function_codes(tree, text, code.co_filename)
    except (SyntaxError, ValueError):
        return False
    return any(
        same_program(made, code) and first_line(node) == code.co_firstlineno
        for node, made in codes.items()
    )
