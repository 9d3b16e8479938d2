"""What the reverse sweep of a gradient keeps: reported for each line of the primal.

The derivative is made once more with notes in it: one where the primal sweep has ended, of every
name that the adjoint statements will read, and one where a function hands over its tape. Run at
the user's arguments, the notes see the values themselves; memory that several of them share is
counted once, and that of the arguments not at all.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ir
from ..ad.reverse.pairs import free_names
from ..codegen.print import emit, load
from ..codegen.print.printer import ADJOINT_ROLES
from ..errors import Place, TangentlikeError
from ..pipeline.stages import Derived
from ..pytree import leaves
from ..runtime.sharing import memory_owner


@dataclass(frozen=True)
class Kept:
    """One thing that is saved: `name` in the emitted text, for the primal line `text`; `times` is
    how many values, `bytes` how much memory that nothing else of the report has."""

    file: str
    line: int
    text: str
    name: str
    times: int
    bytes: int


@dataclass(frozen=True)
class Saved:
    """What the reverse sweep keeps; prints as a table, the largest first."""

    rows: tuple[Kept, ...]

    @property
    def bytes(self) -> int:
        """All of it."""
        return sum(row.bytes for row in self.rows)

    def __str__(self) -> str:
        heads = ("line", "primal", "saved as", "times", "bytes")
        cells = [(str(r.line), r.text, r.name, f"{r.times:,}", f"{r.bytes:,}") for r in self.rows]
        cells.append(("", "", "", "all", f"{self.bytes:,}"))
        return in_columns([heads, *cells], left=(1, 2))


def in_columns(rows: Sequence[Sequence[str]], left: Collection[int]) -> str:
    """Rows of cells as lines of text, the cells of these columns to the left.

    >>> print(in_columns([("n", "text"), ("10", "a")], left=(1,)))
     n  text
    10  a
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        parts = [c.ljust(width) if n in left else c.rjust(width) for n, (c, width) in cells]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def saved(
    derived: Derived, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Saved:
    """Run a derivative at these arguments and report what it saved when the primal ended.

    `call(function, args, kwargs)` runs an emitted function, as it is run for the user.
    """
    notes, derived = _Notes(), derived.whole()
    for value in (*args, *kwargs.values()):
        notes.known(value)
    functions = tuple(_noted(fn, fn is derived.apart.main, notes) for fn in derived.apart.functions)
    module = ir.Module(functions)
    made = load(emit(module, derived.lowered.scope, derived.scopes))
    call(made[module.main.name], tuple(args), dict(kwargs))
    if notes.open:
        raise TangentlikeError(
            "this derivative has no reverse sweep, so it saves nothing",
            hint="Pass what tl.grad or tl.value_and_grad returns.",
        )
    return Saved(notes.rows())


# ------------------------------------------------------------------------------- the notes


@dataclass
class _Notes:
    """Collects what is noted until the primal sweep ends; `open` says whether it has."""

    open: bool = True
    found: dict[tuple[Place, str], list[int]] = field(default_factory=dict)
    seen: dict[int, Any] = field(default_factory=dict)  # owners of memory, and tapes, by id

    def known(self, value: Any) -> None:
        """Memory that is not ours."""
        for leaf in _leaves(value):
            owner = _owner(leaf)
            self.seen[id(owner)] = owner

    def end(self, places: Mapping[str, Place], values: Mapping[str, Any]) -> None:
        """The primal sweep has ended: these names are read by what follows."""
        self.tape(places, tuple(values), tuple(values.values()))
        self.open = False

    def tape(
        self, places: Mapping[str, Place], names: Sequence[str], values: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """A tape that a function hands over, unchanged."""
        if self.open:
            for name, value in zip(names, values, strict=True):
                self._note(places[name], name, value)
            self.seen[id(values)] = values
        return values

    def _note(self, place: Place, name: str, value: Any) -> None:
        items = value if isinstance(value, list) else [value]
        times = size = 0
        for item in items:
            if id(item) in self.seen:  # a tape, whose parts are noted already, or an argument
                continue
            sizes = [self._size(leaf) for leaf in _leaves(item)]
            times += bool(sizes)
            size += sum(sizes)
        if times:
            entry = self.found.setdefault((place, name), [0, 0])
            entry[0] += times
            entry[1] += size

    def _size(self, leaf: Any) -> int:
        owner = _owner(leaf)
        if id(owner) in self.seen:
            return 0
        self.seen[id(owner)] = owner
        return int(getattr(owner, "nbytes", 0)) if hasattr(owner, "shape") else sys.getsizeof(owner)

    def rows(self) -> tuple[Kept, ...]:
        """What was noted, the largest first."""
        rows = [
            Kept(place.file, place.line, place.text, name, times, size)
            for (place, name), (times, size) in self.found.items()
            if size  # (a reference to an argument costs nothing)
        ]
        return tuple(sorted(rows, key=lambda r: (-r.bytes, r.line, r.name)))


def _leaves(value: Any) -> Iterator[Any]:
    """The arrays and floating-point numbers in a value; what costs nothing to keep is left out."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif hasattr(value, "shape") or isinstance(value, (float, complex)):
        yield value
    elif hasattr(value, "__dict__") and leaves.has_leaf(value):
        yield from _leaves(vars(value))


def _owner(leaf: Any) -> Any:
    """The array whose memory this is a view of."""
    return memory_owner(leaf) if isinstance(leaf, np.ndarray) else leaf


# ------------------------------------------------------------------------- the noted program


def _noted(fn: ir.Function, is_main: bool, notes: _Notes) -> ir.Function:
    """A function with notes: where its primal part ends, or around its tape."""
    places = _places(fn)
    body = list(fn.body)
    first = next((n for n, s in enumerate(body) if s.origin.role in ADJOINT_ROLES), None)
    last = body[-1]
    if is_main and first is not None and not _is_tape(fn):
        rest: list[str] = []
        free_names(tuple(body[first:]), set(), rest)
        had = set(fn.param_names) | {
            n for s in ir.statements(tuple(body[:first])) for n in ir.binds(s)
        }
        names = tuple(n for n in dict.fromkeys(rest) if n in had)
        body.insert(first, _end_note(names, places, notes, last.origin))
    elif _is_tape(fn):
        assert isinstance(last, ir.Return) and isinstance(last.value, ir.Display)
        value, tape = last.value.items
        assert isinstance(tape, ir.Display)
        names = tuple(item.name for item in tape.items if isinstance(item, ir.Var))
        noted = ir.Call(_ref("noted_tape", lambda t: notes.tape(places, names, t)), (tape,))
        body[-1] = dataclasses.replace(last, value=ir.Display("tuple", (value, noted)))
    return dataclasses.replace(fn, body=tuple(body))


def _end_note(
    names: tuple[str, ...], places: Mapping[str, Place], notes: _Notes, origin: ir.Origin
) -> ir.Stmt:
    given = ir.Display("tuple", tuple(map(ir.Var, names)))
    ref = _ref("noted_end", lambda t: notes.end(places, dict(zip(names, t, strict=True))))
    return ir.Do(ir.Call(ref, (given,)), origin)


def _ref(name: str, fn: Callable[..., Any]) -> ir.Ref:
    return ir.Ref(name, fn)


def _is_tape(fn: ir.Function) -> bool:
    """Whether a function returns `(value, tape)` and has no reverse sweep of its own."""
    last = fn.body[-1] if fn.body else None
    if not isinstance(last, ir.Return) or not isinstance(last.value, ir.Display):
        return False
    items = last.value.items
    return fn.name.rstrip("0123456789").endswith("_fwd") and len(items) == 2


def _places(fn: ir.Function) -> dict[str, Place]:
    """The primal line that each name belongs to: where it is bound, or where it is pushed."""
    places = dict.fromkeys(fn.param_names, fn.place)
    for stmt in ir.statements(fn.body):
        if stmt.origin.role in ADJOINT_ROLES:
            continue
        for name in ir.binds(stmt):
            places[name] = stmt.origin.place
    for stmt in ir.statements(fn.body):
        match stmt:
            case ir.Do(ir.Call(ir.Attribute(ir.Var(name), "append"))):
                places[name] = stmt.origin.place
    return places
