"""What outer names meant while a derivative was made, so that it is noticed when they change.

Functions, classes and modules are read when a derivative is made: a helper that is defined
again (in a notebook, or by the next round of a loop) leaves behind a derivative of what it was.
Data is no concern, since emitted code reads it when it runs, unless it is given as an argument.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class Meanings:
    """Names of modules and closure cells, and the objects behind them."""

    def __init__(self) -> None:
        self._names: dict[tuple[int, str], tuple[Mapping[str, Any], str, Any]] = {}
        self._cells: dict[int, tuple[types.CellType, Any]] = {}
        self._derivatives: dict[int, Callable[[], bool]] = {}
        self._data: dict[Any, Callable[[], bool]] = {}
        self.asks_modules = False  # whether a function was read that asks arrays for their module
        self._lookups: tuple[tuple[Callable[..., Any], str, Any], ...] = ()  # of the same names

    def hold(self) -> bool:
        """Whether every name still means what it meant."""
        if len(self._names) != len(self._lookups):
            self._lookups = tuple((names.get, n, obj) for names, n, obj in self._names.values())
        # (Each call of a derivative asks: mostly every name stands for the very same object.)
        for get, name, obj in self._lookups:
            if get(name, obj) is not obj:
                return self._names_hold() and self._rest_holds()
        rest = self._cells or self._derivatives or self._data
        return not rest or self._rest_holds()

    def moved(self, cells: Mapping[int, types.CellType]) -> Meanings | None:
        """The same with cells (by the id of those in whose place they are); None where what
        one of them held was relied on."""
        if any(key in self._cells for key in cells):
            return None
        made = Meanings()
        made._names, made._cells = self._names, self._cells
        made._derivatives = self._derivatives
        return made

    @property
    def of_derivatives(self) -> bool:
        """Whether a derivative was read."""
        return bool(self._derivatives)

    def _names_hold(self) -> bool:
        for names, name, obj in self._names.values():
            now = names.get(name, obj)
            if now is not obj and _means(now) is not _means(obj):
                return False
        return True

    def _rest_holds(self) -> bool:
        for cell, obj in self._cells.values():
            now = contents_of(cell, obj)
            if now is not obj and _means(now) is not _means(obj):
                return False
        checks = (*self._derivatives.values(), *self._data.values())
        return all(holds() for holds in checks)


_NOTING: ContextVar[tuple[Meanings, ...]] = ContextVar("noting", default=())


@contextmanager
def noting() -> Iterator[Meanings]:
    """Collect what the names mean that are looked up from here on, in derivations inside too."""
    made = Meanings()
    token = _NOTING.set((*_NOTING.get(), made))
    try:
        yield made
    finally:
        _NOTING.reset(token)


def note_name(names: Mapping[str, Any], name: str, obj: Any) -> None:
    """A global, or an attribute of a module, was found to mean `obj`."""
    if _means(obj) is not None:
        for meanings in _NOTING.get():
            meanings._names.setdefault((id(names), name), (names, name, obj))


def note_cell(cell: types.CellType, obj: Any) -> None:
    """A closure variable was found to mean `obj`."""
    if _means(obj) is not None:
        for meanings in _NOTING.get():
            meanings._cells.setdefault(id(cell), (cell, obj))


def note_data(key: Any, hold: Callable[[], bool]) -> None:
    """Outer data was read; `hold` says whether it still is as it was."""
    for meanings in _NOTING.get():
        meanings._data.setdefault(key, hold)


def note_module_asked() -> None:
    """A function was read that asks arrays for their module, which was not known."""
    for meanings in _NOTING.get():
        meanings.asks_modules = True


def note_derivative(derivation: Any) -> None:
    """The emitted function of a derivation was read."""
    for meanings in _NOTING.get():
        meanings._derivatives.setdefault(id(derivation), derivation.holds)


def contents_of(cell: types.CellType, default: Any = None) -> Any:
    """What a closure variable holds, `default` if nothing is bound to it yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return default


def _means(obj: Any) -> Any:
    """What a derivative depends on: the function, class or module itself, of a user's object its
    class (where the methods are); of data that is there, nothing."""
    if isinstance(obj, (types.ModuleType, functools.partial)):
        return obj
    if callable(obj) and hasattr(obj, "__name__"):
        return obj
    cls = type(obj)
    return None if cls.__module__ in _DATA and obj is not None else cls


_DATA = ("builtins", "numpy")
