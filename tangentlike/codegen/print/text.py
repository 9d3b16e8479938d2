"""Any piece of a program as Python text, for people, doctests and tests."""

from __future__ import annotations

import ast
import dataclasses
import html
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, get_args

from ... import ir
from ...errors import InternalError
from . import to_gast
from .printer import Line, Printer, block_lines, function_lines

_STATEMENTS = get_args(ir.Stmt)


def show(thing: Any) -> str:
    """The Python text of a module, a function, a block, a statement or an expression.

    Without imports and without comments.

    >>> import operator
    >>> x = ir.Var("x")
    >>> show(ir.Call(ir.Ref("+", operator.add), (x, ir.Const(1.0))))
    'x + 1.0'
    """
    if isinstance(thing, (ir.Module, ir.Function, tuple, *_STATEMENTS)):
        return "\n".join(line.text for line in lines_of(thing))
    return Printer().text(to_gast.expression(thing))


def lines_of(thing: Any) -> list[Line]:
    """The same text of a module, a function, a block or a statement, line by line, each with where
    it comes from."""
    printer = Printer()
    if isinstance(thing, ir.Module):
        found: list[Line] = []
        for fn in thing.functions:
            found += [*([Line("")] * 2 if found else []), *lines_of(fn)]
        return found
    if isinstance(thing, ir.Function):
        thing = nested_regions(thing)
        return function_lines(thing, to_gast.function(thing), printer, comments=False)
    block = nested_block(thing if isinstance(thing, tuple) else (thing,))
    return block_lines(block, to_gast.block(block, empty=True), printer)


class Stages(Mapping[str, str]):
    """The program after each stage, by the stage's name; printed only when it is asked for.

    Of `names` (all of `programs` where none are given) those that are not in `programs` are
    what `again` gives.

    >>> Stages({"lowered": ir.Var("x"), "emitted": "x = 1"})["lowered"]
    'x'
    """

    def __init__(
        self,
        programs: Mapping[str, Any],
        names: tuple[str, ...] = (),
        again: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.programs = dict(programs)  # parts of programs, or their text
        self._names = names or tuple(programs)
        self._again = again
        self._texts: dict[str, str] = {}

    def _program(self, name: str) -> Any:
        if name in self._names and name not in self.programs:
            self.programs = {**self._again(), **self.programs}
        return self.programs[name]

    def __getitem__(self, name: str) -> str:
        if name not in self._texts:
            program = self._program(name)
            self._texts[name] = program if isinstance(program, str) else show(program)
        return self._texts[name]

    def __repr__(self) -> str:
        return f"Stages({', '.join(self)})"

    def lines(self, name: str) -> list[Line]:
        """The lines of a stage that is a program, each with where it comes from."""
        return lines_of(self._program(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        return Stages, (dict(self),)  # (programs refer to what only this process has)


# --------------------------------------------------------------------------------------------------
# `Enter` and `Leave` with what stands between them, made one statement again to be printed.


def nested_regions(function: ir.Function) -> ir.Function:
    """The function with a `With` for each `Enter` and its `Leave`, wherever they stand.

    before::                    after::
        Enter(manager, "t")         with manager as t:
        y = x * t                       y = x * t
        Leave()                     return y
        return y
    """
    if not any(isinstance(stmt, ir.Enter) for stmt in ir.statements(function.body)):
        return function
    return dataclasses.replace(function, body=nested_block(function.body))


def nested_block(block: ir.Block) -> ir.Block:
    """One block, and those within it."""
    open_: list[tuple[ir.Enter | None, list[ir.Stmt]]] = [(None, [])]
    for stmt in block:
        match stmt:
            case ir.Enter():
                open_.append((stmt, []))
            case ir.Leave():
                enter, inside = open_.pop()
                if enter is None:
                    raise InternalError("emit", "a context is left that was not entered")
                body = tuple(inside)
                made = ir.With(enter.context, enter.target, body, enter.origin)
                open_[-1][1].append(made)
            case _:
                inner = ir.map_statement(stmt, block=nested_block) if ir.blocks(stmt) else stmt
                open_[-1][1].append(inner)
    if len(open_) != 1:
        raise InternalError("emit", "a context is entered and not left in the same block")
    return tuple(open_[0][1])


# --------------------------------------------------------------------------------------------------
# Source as HTML, for notebooks and reports: highlighted, in colours for light and dark.


# Readable on white and on black alike: chosen by contrast, not by a theme of an editor.
_LIGHT = {"k": "#8a1f9c", "s": "#1b6e2e", "c": "#6a6f76", "n": "#9a4a00", "f": "#0b57b0", "o": ""}
_DARK = {"k": "#d8a0ff", "s": "#8fd694", "c": "#9aa0a8", "n": "#ffbf7f", "f": "#86b9ff", "o": ""}
_CLASSES = {
    "k": ".k,.kc,.kn,.ow,.kd",
    "s": ".s1,.s2,.sd,.sa,.se,.si,.s",
    "c": ".c1,.c,.ch,.cm",
    "n": ".mi,.mf,.m,.mo,.mh",
    "f": ".nf,.fm,.nb,.nc",
}


def _rules(scope: str, palette: dict[str, str]) -> str:
    made = []
    for kind, classes in _CLASSES.items():
        selectors = ",".join(f"{scope} {name}" for name in classes.split(","))
        italic = ";font-style:italic" if kind == "c" else ""
        made.append(f"{selectors}{{color:{palette[kind]}{italic}}}")
    return "".join(made)


def colours(scope: str) -> str:
    """The style sheet of highlighted source within a selector, for light and dark pages."""
    dark = _rules(scope, _DARK)
    return _rules(scope, _LIGHT) + "@media (prefers-color-scheme:dark){" + dark + "}"


def themed(scope: str) -> str:
    """The same where the page says its theme itself, as `data-theme` of its root."""
    dark = _rules(f':root[data-theme="dark"] {scope}', _DARK)
    return _rules(scope, _LIGHT) + dark


def escaped(text: object) -> str:
    """Text as it stands, in HTML."""
    return html.escape(str(text), quote=True)


@lru_cache(maxsize=512)
def highlighted(code: str) -> str:
    """Python source as HTML without a frame around it; every character of it is escaped."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    lexer = PythonLexer(stripnl=False, ensurenl=False)
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def line_by_line(code: str) -> list[str]:
    """Highlighted source, one piece of HTML a line: elements that go over lines are closed at
    the end of each and opened again."""
    from pygments.formatters.html import _get_ttype_class
    from pygments.lexers import PythonLexer

    lines = [""]
    for kind, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(code):
        name = _get_ttype_class(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append("")
            if part:
                text = escaped(part)
                lines[-1] += f'<span class="{name}">{text}</span>' if name else text
    return lines


def report_of_text(text: str) -> str:
    """A message as a notebook shows it: its first line stands out."""
    first, _, rest = escaped(text).partition("\n")
    return f"<pre style='white-space:pre-wrap'><b>{first}</b>\n{rest}</pre>"


_STYLE = """
.tl-source pre{margin:0;padding:6px 0;background:none;white-space:pre;overflow:auto;color:inherit;
font-size:13px;line-height:1.5}
.tl-source summary{cursor:pointer;font-family:system-ui,sans-serif;font-size:13px}
.tl-source summary span{opacity:.7}
"""


def derivative_page(what: str, source: str) -> str:
    """A derivative in a notebook: its function in full, imports and helpers folded away."""
    lines = source.rstrip("\n").splitlines()
    tree = ast.parse(source)
    first = tree.body[-1].lineno if tree.body else 1
    helpers = [n.name for n in tree.body[:-1] if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    above, own = "\n".join(lines[: first - 1]).strip("\n"), "\n".join(lines[first - 1 :])
    named = f"helpers {', '.join(helpers)}" if helpers else "imports"
    folded = f"<details><summary><span>{escaped(named)}</span></summary>{_pre(above)}</details>"
    return (
        f"<style>{_STYLE}{colours('.tl-source')}</style><div class=tl-source>"
        f"<details open><summary>{escaped(what)} <span>({len(lines)} lines)</span></summary>"
        f"{folded if above else ''}{_pre(own)}</details></div>"
    )


def _pre(code: str) -> str:
    return f"<pre>{highlighted(code)}</pre>"
