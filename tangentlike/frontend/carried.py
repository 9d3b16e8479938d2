"""The texts of functions that go to another process by value: their files may not be there."""

from __future__ import annotations

import linecache
import types
from collections.abc import Iterator
from typing import Any

from .owners import is_installed
from .primal import global_names


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
