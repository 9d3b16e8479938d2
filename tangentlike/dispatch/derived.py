"""Where the derivatives handed out live, as far as `pickle` is concerned.

A plain function pickles as module and name. The name of a derivative says how it was made,
`grad(pkg/model:loss, wrt=0)`; looking it up here makes it again. So a derivative pickles
wherever its primal does, and arrives as an ordinary derivative.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from ..frontend.owners import mark_of

OPERATORS: dict[str, Callable[..., Any]] = {}  # filled by the modules that define them


def encode(operator: str, origin: Any, **options: Any) -> str:
    """The name of a derivative; one that cannot be looked up contains a `<`. Options that are None
    or False are left out.

    >>> encode("grad", encode, wrt=("w", "b"), has_aux=False, example=(1.0, 2.0))
    'grad(tangentlike/dispatch/derived:encode, wrt=(w,b), example=<example>)'
    """
    if options.get("example") is not None:
        options["example"] = "<example>"
    given = {key: value for key, value in options.items() if value is not None}
    parts = [f"{key}={_text(value)}" for key, value in given.items() if value is not False]
    parts.insert(0, _path(origin))
    return f"{operator}({', '.join(parts)})"


def _path(origin: Any) -> str:
    qualname = getattr(origin, "__qualname__", None)
    if mark_of(origin, "tangentlike") is not None:
        return str(qualname)
    module = getattr(origin, "__module__", None)
    if not qualname or not module or getattr(origin, "__self__", None) is not None:
        return "<object>"
    return f"{module}:{qualname}".replace(".", "/")


def _text(value: Any) -> str:
    return f"({','.join(value)})" if isinstance(value, tuple) else str(value)


def __getattr__(name: str) -> Any:
    try:
        made = _remake(*_split(name))
    except (ValueError, ImportError, KeyError) as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
    if _goes_by_value(name):
        raise AttributeError(f"{name!r} is of a module that other processes do not have")
    return made


def _split(name: str) -> tuple[str, str, dict[str, Any]]:
    """Take a name apart: operator, what it was applied to, options."""
    operator, opening, rest = name.partition("(")
    if not opening or not rest.endswith(")") or "<" in name:
        raise ValueError(name)
    inner, *parts = _top_level(rest[:-1])
    pairs = (part.partition("=") for part in parts)
    return operator, inner, {key: _value(text) for key, _, text in pairs}


def _top_level(text: str) -> list[str]:
    """Split at the commas outside parentheses that a space follows."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and text.startswith(", ", i):
            parts.append(text[start:i])
            start = i + 2
    return [*parts, text[start:]]


def _value(text: str) -> Any:
    if text.startswith("("):
        return tuple(text[1:-1].split(","))
    if text.isdigit():
        return int(text)
    return {"True": True, "False": False}.get(text, text)


def _remake(operator: str, inner: str, options: dict[str, Any]) -> Any:
    importlib.import_module("tangentlike")  # it fills OPERATORS
    primal = _remake(*_split(inner)) if "(" in inner else _function_behind(_find(inner))
    return OPERATORS[operator](primal, **options)


def _function_behind(found: Any) -> Any:
    """The function that a derivative of some order is of: where it was decorated, the name that it
    has in its module means the derivative."""
    operator = mark_of(found, "tangentlike")
    while operator is not None:
        found = operator.primal.origin
        operator = mark_of(found, "tangentlike")
    return found


def _goes_by_value(name: str) -> bool:
    """Whether cloudpickle is asking, and pickles what is of the function's module by value: that
    of a script, a notebook, or a module that it was given.

    (There is no other way to tell it: it asks by looking the function up, as pickle does.)
    """
    module = name.rpartition("(")[2].partition(":")[0].replace("/", ".")
    frame = sys._getframe(1).f_back
    for _ in range(3):
        if frame is None:
            return False
        if frame.f_globals.get("__name__", "").rpartition(".")[2] == "cloudpickle":
            by_reference = frame.f_globals.get("_should_pickle_by_reference")
            if module in ("__main__", "__mp_main__"):
                return True
            return by_reference is not None and not by_reference(sys.modules[module])
        frame = frame.f_back
    return False


def _find(path: str) -> Any:
    module, _, qualname = path.partition(":")
    if not qualname:
        raise ValueError(path)
    found: Any = importlib.import_module(module.replace("/", "."))
    for part in qualname.split("/"):
        found = getattr(found, part)
    return found
