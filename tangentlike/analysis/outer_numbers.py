"""Numbers of outer objects that a program changes, and reads again in its reverse sweep.

    for rate in (0.1, 0.5):
        STATE.rate = rate
        x = np.sin(x) * STATE.rate

Such a number is saved when it is read (`rate2 = STATE.rate`), and not read again by the sweep. A
read that has no name, in a test or a key, cannot be saved. Which object a parameter is, its
function does not know: places are told apart by their names alone.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .. import ir
from ..errors import Place, UnsupportedError
from ..frontend.owners import is_operation, is_pythons, module_of
from ..ir.identity import ByIdentity
from ..ir.kind import Kind
from .operations import MUTATING_METHODS, is_python_function
from .outer_objects import CONTAINERS, is_box, node

_NONE = frozenset[str]()
_ITEMS = frozenset(("[]",))  # of containers, whatever their keys
_ANY = frozenset(("*",))


@dataclass
class OuterNumbers:
    """What is `written` outside, by the names of places and the ids of what holds them, and what
    the sweep reads `again`. `body` gives a user's function in the normal form."""

    body: Callable[[Any], ir.Function]
    written: frozenset[str] = _NONE
    boxes: dict[str, ir.Ref] = field(default_factory=dict)
    again: dict[str, Place] = field(default_factory=dict)
    entered: ir.Ref | None = None
    _stored: ByIdentity[frozenset[str]] = field(default_factory=ByIdentity)

    def write(self, stmt: ir.Stmt, boxes: Iterable[ir.Ref], called: Iterable[ir.Ref]) -> None:
        """Note what a statement that changes these containers or objects outside may change, itself
        or by what it calls."""
        self.boxes |= {node(box.obj): box for box in boxes}
        as_items = isinstance(getattr(stmt, "target", None), ir.Index)  # (`vars(S)[name] = v`)
        objects = any(not isinstance(box.obj, CONTAINERS) for box in boxes)
        names = _NONE.union(self._names(stmt), *(self._by_calls_of(fn.obj) for fn in called))
        self.written |= _ANY if as_items and objects else names or _ANY

    def enter(self, stmt: ir.Enter) -> None:
        """Note that a context manager of the user's is entered, which may change anything outside:
        `with training(): ..` sets a flag."""
        context = stmt.context
        if stmt.again or (isinstance(context, ir.Call) and _is_librarys(context.fn)):
            return
        named = [part for part in ir.walk(context) if isinstance(part, ir.Ref)]
        self.entered = self.entered or next(iter(named), ir.Ref("with", None))
        self.written |= _ANY

    def _names(self, stmt: ir.Stmt) -> frozenset[str]:
        match stmt:
            case ir.Store(target=target) | ir.Update(target=target):
                return _place(target)
            case ir.OpaqueStmt(text=text) if text.startswith("del "):
                return _ITEMS
        return _NONE.union(*map(self._given, _calls(stmt)))

    def _given(self, call: ir.Call) -> frozenset[str]:
        """What a call may change of what it is given."""
        match call.fn:
            case ir.Attribute(ir.Var() | ir.Ref(), method) if method in MUTATING_METHODS:
                return _ITEMS
            case ir.Ref(obj=obj) if is_operation(obj):
                sets = any(obj is known for known in (setattr, delattr, vars))
                return _ANY if sets or isinstance(obj, types.WrapperDescriptorType) else _NONE
            case ir.Ref(obj=obj) if is_python_function(obj):
                return self._by_calls_of(obj)
            case _:
                return _NONE

    def _by_calls_of(self, obj: Any) -> frozenset[str]:
        """What a user's function may change, itself or by what it calls."""
        if obj not in self._stored:
            self._stored[obj] = _NONE  # (a recursive call adds nothing)
            with contextlib.suppress(UnsupportedError):  # (what has no source is not followed)
                function = self.body(obj)
                self._stored[obj] = _NONE.union(*map(self._names, ir.statements(function.body)))
        return self._stored[obj]

    def is_steady(self, expr: ir.Expr, place: Place, kind_of: Callable[[ir.Expr], Kind]) -> bool:
        """Whether the sweep can compute a value again, as nothing outside that it may read is
        written. (It is saved otherwise.)"""
        read = {key for part in ir.walk(expr) for key in _read(part, kind_of)}
        if not read.isdisjoint(self.boxes) or not self.written.isdisjoint(read | _ANY):
            return not read
        self.again |= dict.fromkeys(read, place)
        return True

    def refuse_overwritten(self) -> None:
        """Refuse what the sweep reads again, and what is written."""
        for key, place in self.again.items():
            if key in self.written or key in self.boxes or "*" in self.written:
                raise self.overwritten(place)

    def overwritten(self, place: Place) -> UnsupportedError:
        if self.entered is not None:
            return overwritten(self.entered, place)
        return overwritten(next(iter(self.boxes.values())), place)


def overwritten(written: ir.Ref, place: Place) -> UnsupportedError:
    """What is said where the reverse sweep would read what is written outside."""
    refusal = UnsupportedError(
        f"`{written.text}` is written in place, and is defined outside the function",
        place,
        "The reverse sweep cannot restore what was overwritten there. Pass the array as an "
        "argument.",
    )
    refusal.outer = (written.obj,)
    return refusal


def _is_librarys(fn: ir.Expr) -> bool:
    """Whether a manager is of a library, and enters none of the user's."""
    obj = fn.obj if isinstance(fn, ir.Ref) else None
    return obj is not None and is_pythons(obj) and module_of(obj) != contextlib.__name__


def _place(target: ir.Expr) -> frozenset[str]:
    match target:
        case ir.Attribute(name=name):
            return frozenset((name,))
        case ir.Index(base=ir.Attribute(name="__dict__")):
            return _ANY
        case ir.Index():
            return _ITEMS
        case _:
            return _NONE


def _calls(stmt: ir.Stmt) -> Iterator[ir.Call]:
    for expr in ir.expressions(stmt):
        yield from (part for part in ir.walk(expr) if isinstance(part, ir.Call))


def _read(part: ir.Expr, kind_of: Callable[[ir.Expr], Kind]) -> frozenset[str]:
    """The places that an expression reads itself, and that hold numbers, perhaps: no entries of
    arrays."""
    match part:
        case ir.Ref(obj=obj):
            return frozenset((node(obj),)) if is_box(obj) else _NONE
        case ir.Index(key=key) if not isinstance(key, ir.Atom):
            return _NONE
        case ir.Attribute(base=base) | ir.Index(base=base):
            return _NONE if kind_of(base).form == "array" else _place(part)
        case _:
            return _NONE
