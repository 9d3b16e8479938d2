"""Statements that are refused, cut out of the program: a `raise` stands where they stood.

    before::                             after::
        if smooth:                           if smooth:
            y = scipy.signal.wiener(x)           raise NotDifferentiated("f.py:3: ...", "...")
            y = y / y.max()                  return np.sum(x)
            return np.sum(y)
        return np.sum(x)

A refusal names a place. While a function is read, the innermost statement around that place is
replaced by a `raise` of the refusal, and nothing after it in its block is read, since no call
gets there. So a branch, a loop body or a function that a call does not reach refuses nothing, and
one that it does reach raises before anything wrong comes out. What every call reaches is refused
when the derivative is made (`Cuts.refuse_reached`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import gast

from .. import ir
from ..errors import Place, UnsupportedError
from ..runtime import NotDifferentiated
from ..runtime.recent import Recent
from .jumps import ends_by_raising
from .owners import is_operation

# Class and place of what was cut out, by the message that is raised there.
_REFUSED: Recent[str, tuple[type[UnsupportedError], Place]] = Recent(1024)
REFUSED = ir.Ref("NotDifferentiated", NotDifferentiated)


@dataclass(frozen=True)
class Spot:
    """Where a statement stands in its file: its first and last line, and its first column. Of a
    part of an expression `text` is the line that it stands in, `column` and `width` are in that."""

    file: str
    first: int
    last: int
    column: int
    text: str = ""
    width: int = 0

    @classmethod
    def of_expression(cls, place: Place) -> Spot:
        """That of an expression at a place."""
        line = place.line
        return cls(place.file, line, line, place.column, place.text, place.width)

    def contains(self, place: Place) -> bool:
        """Whether a place is in what stands here."""
        if self.text:
            end = self.column + self.width
            inside = self.column <= place.column and place.column + place.width <= end
            return (self.file, self.text) == (place.file, place.text) and inside
        return self.file == place.file and self.first <= place.line <= self.last

    @property
    def size(self) -> tuple[float, int]:
        """Orders what stands around one place from the innermost outwards."""
        if self.text:
            return -1.0, self.width
        return self.last - self.first, -self.column


@dataclass
class Cuts:
    """The statements cut out of the functions of one derivative, with the refusal of each.

    `spots` are the statements that were read, `functions` where the functions stand that were,
    with their names (the first is the main one), `always` the refusals that end a function
    whatever it is given.
    """

    made: dict[Spot, UnsupportedError] = field(default_factory=dict)
    spots: set[Spot] = field(default_factory=set)
    functions: dict[Spot, str] = field(default_factory=dict)
    nodes: dict[Spot, tuple[Any, Callable[[str], Any]]] = field(default_factory=dict)
    always: list[UnsupportedError] = field(default_factory=list)
    _by_text: dict[str, UnsupportedError] = field(default_factory=dict)

    def again(self) -> None:
        """Begin to read everything once more."""
        self.spots.clear()
        self.functions.clear()
        self.nodes.clear()
        self.always.clear()

    def reads(
        self, function: Spot, name: str, node: Any, meant: Callable[[str], Any] = lambda name: None
    ) -> None:
        """A function is read; one that is called may be cut out as a whole. `meant` says what its
        outer names mean."""
        if self.functions:
            self.spots.add(function)
        self.functions[function] = name
        self.nodes[function] = node, meant

    def behind(self, called: Iterable[str]) -> UnsupportedError | None:
        """A refusal that was cut out of one of these functions or of what they may call, by their
        names: what is found of such a function (that it gives nothing back, say, or writes
        nothing) holds only for what is left of it."""
        if not self.made:
            return None
        by_name: dict[str, list[Spot]] = {}
        for spot, name in self.functions.items():
            by_name.setdefault(name, []).append(spot)
        pending = [*called]
        if not by_name.keys().isdisjoint(pending):  # (operators call methods by no name)
            pending.extend(name for name in by_name if name.startswith("__"))
        seen: set[str] = set()
        while pending:
            name = pending.pop()
            if name in seen or name not in by_name:
                continue
            seen.add(name)
            for around in by_name[name]:
                for spot, refusal in self.made.items():
                    if _within(spot, around):
                        return refusal
                pending.extend(_mentioned(*self.nodes[around]))
        return None

    def cut(self, refusal: UnsupportedError) -> bool:
        """Cut out the innermost statement around the place of a refusal, which is not cut yet;
        False where there is none."""
        place = refusal.cause or refusal.place
        if place is None:
            return False
        around = [spot for spot in self.spots - self.made.keys() if spot.contains(place)]
        if not around:
            return False
        self.add(min(around, key=lambda spot: spot.size), refusal)
        return True

    def holds(self, refusal: UnsupportedError) -> bool:
        """Whether what is refused is in a statement that was cut out."""
        place = refusal.cause or refusal.place
        return place is None or any(spot.contains(place) for spot in self.made)

    def add(self, spot: Spot, refusal: UnsupportedError) -> None:
        """Cut out one statement."""
        self.made[spot] = refusal
        self._by_text[text_of(refusal)] = refusal

    def differentiates(self, spot: Spot) -> bool:
        """Whether the function around a statement is known to be differentiated: the main one is,
        and so is one of which a statement was cut because its derivative was refused."""
        around = [f for f in self.functions if _within(spot, f)]
        main = next(iter(self.functions), None)
        return main in around or any(_within(cut, f) for f in around for cut in self.made)

    def raised_by(self, stmt: ir.Stmt) -> UnsupportedError | None:
        """The refusal that a statement raises, None for any other statement."""
        return self._by_text.get(stmt.text) if isinstance(stmt, ir.OpaqueStmt) else None

    def note_always(self, function: ir.Function) -> UnsupportedError | None:
        """The refusal that a function raises in each call, which is remembered."""
        for stmt in function.body:
            refusal = self.raised_by(stmt)
            if refusal is not None:
                self.always.append(refusal)
                return refusal
        return None

    def refuse_reached(self, functions: Iterable[ir.Function]) -> None:
        """Refuse at once what each call of the main function (the last one) reaches."""
        by_name = {f.name: f for f in functions}
        if not self.made or not by_name:
            return
        main = list(by_name.values())[-1]
        reached = self._reached(main, by_name, set())
        if reached is not None:
            raise reached

    def _reached(
        self, function: ir.Function, functions: Mapping[str, ir.Function], seen: set[str]
    ) -> UnsupportedError | None:
        seen.add(function.name)
        for stmt in function.body:
            refusal = self.raised_by(stmt)
            if refusal is not None:
                return refusal
            for name in _called(stmt):
                if name in functions and name not in seen:
                    refusal = self._reached(functions[name], functions, seen)
                    if refusal is not None:
                        return refusal
        return None


def _mentioned(node: Any, meant: Callable[[str], Any]) -> Iterator[str]:
    """The names and attributes in the text of a function: not those of operations, which call no
    function by its name (`np.linalg.norm` beside a `norm` of the user's)."""
    parts = list(gast.walk(node))
    bound = {p.id for p in parts if isinstance(p, gast.Name) and not isinstance(p.ctx, gast.Load)}
    bound.update(p.asname or p.name.partition(".")[0] for p in parts if isinstance(p, gast.alias))
    bound.update(p.name for p in parts if isinstance(p, gast.FunctionDef | gast.ClassDef))

    def object_of(part: Any) -> Any:
        if isinstance(part, gast.Name):
            return None if part.id in bound else meant(part.id)
        owner = object_of(part.value) if isinstance(part, gast.Attribute) else None
        return getattr(owner, part.attr, None) if isinstance(owner, ModuleType) else None

    for part in parts:
        if isinstance(part, gast.Name | gast.Attribute) and not is_operation(object_of(part)):
            yield part.id if isinstance(part, gast.Name) else part.attr


def _within(inner: Spot, outer: Spot) -> bool:
    return inner.file == outer.file and outer.first <= inner.first and inner.last <= outer.last


def _called(stmt: ir.Stmt) -> Iterator[str]:
    for part in ir.walk_statement(stmt):
        if isinstance(part, ir.Call) and isinstance(part.fn, ir.Ref):
            yield part.fn.text


def goes_on_after_any(classes: ir.Expr, handler: ir.Block) -> bool:
    """Whether a handler takes exceptions of all classes, or of such as are not known."""
    for part in classes.items if isinstance(classes, ir.Display) else (classes,):
        obj = part.obj if isinstance(part, ir.Ref) else None
        every = obj if isinstance(obj, tuple) else (obj,)
        if not all(isinstance(c, type) and issubclass(c, Exception) for c in every):
            return not ends_by_raising(handler)
    return False


# ------------------------------------------------------------------------------ statements


def text_of(refusal: UnsupportedError) -> str:
    """The statement that raises a refusal."""
    given = filter(None, raised_as(refusal).args)
    return f"raise NotDifferentiated({', '.join(map(repr, given))})"


def is_refusal(stmt: Any) -> bool:
    """Whether a statement raises a refusal."""
    return isinstance(stmt, ir.OpaqueStmt) and REFUSED in stmt.refs


def raising(refusal: UnsupportedError, around: Place) -> ir.OpaqueStmt:
    """The statement that raises a refusal, in the place of the one that stood at `around`."""
    origin = ir.Origin(refusal.place or around)
    return ir.OpaqueStmt(text_of(refusal), (), (), (REFUSED,), (), origin)


def raised_as(refusal: UnsupportedError) -> NotDifferentiated:
    """What is raised for a refusal while a derivative runs."""
    place = refusal.place
    message = refusal.message if place is None else _where(place) + refusal.message
    if place is not None:
        _REFUSED.put(message, (type(refusal), place))
    return NotDifferentiated(message, refusal.hint)


def refusal_of(raised: NotDifferentiated, place: Place | None = None) -> UnsupportedError:
    """What a call of a derivative raises where it came to a statement that was cut out."""
    known = _REFUSED.get(raised.message)
    if known is None:
        return UnsupportedError(raised.message, place, raised.hint)
    cls, own = known
    return cls(raised.message.removeprefix(_where(own)), own, raised.hint)


def _where(place: Place) -> str:
    return f"{os.path.basename(place.file)}:{place.line}: "


Readings = list[Callable[[], Any]]  # each reads a function once more
_CUTS: ContextVar[tuple[Cuts | None, Readings | None]] = ContextVar("cuts", default=(None, None))


@contextmanager
def cutting(cuts: Cuts | None, read: Readings | None = None) -> Iterator[None]:
    """Functions that are read from here on are read without the statements that are cut out; how
    each is read is noted in `read`."""
    token = _CUTS.set((cuts, read))
    try:
        yield
    finally:
        _CUTS.reset(token)


def note_reading(read: Callable[[], Any]) -> None:
    """A function is read in this way."""
    noted = _CUTS.get()[1]
    if noted is not None:
        noted.append(read)


def cuts_made() -> Cuts | None:
    """What is cut out of functions that are read now; None where everything is refused at once."""
    return _CUTS.get()[0]


def spot_of(file: str, node: Any) -> Spot:
    """Where a node of gast stands."""
    return Spot(file, node.lineno, node.end_lineno or node.lineno, node.col_offset)
