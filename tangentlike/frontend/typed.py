"""The text of functions that were typed, where Python keeps none.

Before Python 3.13 the prompt of Python forgets what was typed, and a notebook's `%%time` forgets
its cell. The lines are still in the history that can be called up with the arrow keys; the one
text in it that compiles to the very code of the function is its source.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator

from ..runtime.recent import Recent
from .codes import function_codes, same_program

__all__ = ["typed_text"]

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
        yield from _statements(code)


def _cells() -> Iterator[str]:
    """The cells of a running IPython, with a magic command at the top taken away as it does."""
    interactive = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    history = getattr(getattr(interactive, "history_manager", None), "input_hist_raw", ())
    for cell in reversed(list(history)):
        yield cell.partition("\n")[2] if cell.startswith("%%") else cell


def _statements(code: types.CodeType) -> Iterator[str]:
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
        same_program(made, code) and _first_line(node) == code.co_firstlineno
        for node, made in codes.items()
    )


def _first_line(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", ())
    return min(int(part.lineno) for part in (node, *decorators))
