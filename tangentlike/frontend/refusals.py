"""The statements we do not take, each with its reason and the way around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gast

from ..errors import UnsupportedError
from .places import Line, Source

_TRY = (
    "`except*` is not supported",
    "Catch the exceptions with a plain `except`.",
)
_ASYNC = (
    "asynchronous code cannot be differentiated",
    "Differentiate the plain function that it awaits.",
)

STATEMENTS: dict[type[Any], tuple[str, str]] = {
    gast.AsyncFunctionDef: _ASYNC,
    gast.ClassDef: (
        "a class defined inside is not supported",
        "Define it outside the function.",
    ),
    gast.AsyncWith: _ASYNC,
    gast.AsyncFor: _ASYNC,
}
_TYPE = ("a type alias inside a function is not supported", "Define it outside the function.")
for _name, _reason in (("TryStar", _TRY), ("TypeAlias", _TYPE)):
    if hasattr(gast, _name):
        STATEMENTS[getattr(gast, _name)] = _reason


def unsupported(node: gast.AST, line: Line) -> UnsupportedError:
    """The refusal of a statement."""
    message, hint = STATEMENTS[type(node)]
    return UnsupportedError(message, line.whole(), hint)


def reject_generators(yields: Sequence[Any], source: Source) -> None:
    """Refuse a function that yields: its body does not run when it is called."""
    for node in yields:
        raise UnsupportedError(
            "a generator cannot be differentiated",
            source.line(node).whole(),
            "Return a list instead of yielding.",
        )
