"""The stages of a transform, in order, in one table; and what each of them made and cost.

A function goes through the stages one after the other; a function that it calls goes through them
while its caller is in `called`, or in `resolved` where what it returns must be known.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from .. import ir
from ..ad.checkpoint.choices import Checkpoints
from ..ad.forward.functions import forward
from ..ad.normalize.absent_attributes import absent_attributes
from ..ad.normalize.attempts import attempts_in_pieces
from ..ad.normalize.both_modes import desugared
from ..ad.normalize.common import known_compositions, share_loads
from ..ad.normalize.effects_first import effects_first, places_read_first
from ..ad.normalize.inplace import writes_as_stores
from ..ad.normalize.standard_containers import as_lists_and_dicts
from ..ad.normalize.unknown_objects import changes_as_statements, methods_of_unknown_objects
from ..ad.normalize.updates import rebind_updates, refuse_changed_containers
from ..ad.reverse.functions import reverse
from ..ad.reverse.pairs import CallConversion, reverse_pair
from ..ad.reverse.prepare import Preparation
from ..ad.reverse.statements import updates_as_stores
from ..ad.specialize.inner_functions import with_inner_functions
from ..ad.specialize.methods import Methods
from ..codegen.optimize import PASSES
from ..codegen.optimize.packs import gone_through, saved_together
from ..codegen.optimize.stacks import simplified_pairs, without_repeats
from ..codegen.print import emit, load
from ..frontend.lower import check
from ..ir.facts import Facts
from ..rules.ruled import lower_ruled


@dataclass(frozen=True)
class Stage:
    """`passes` in the order in which they run. `requires` and `makes` name what is true of the
    program before and after, `preserves` what stays true of what was (`PROPERTIES`)."""

    name: str
    does: str
    passes: tuple[Callable[..., Any], ...]
    requires: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    preserves: tuple[str, ...] = ()


PROPERTIES = {
    "flat": "the value of an assignment is one operation on atoms",
    "webs": "a name has several definitions only where a branch or a loop makes it so",
    "callees": "methods and function values are the functions that they stand for",
    "plain operations": "the few statements and containers that both modes know",
    "stores": "what is written is written by a store, an update or a user's function",
    "prepared": "no name is updated in place, loops are counted, keys have names",
    "pairs": "calls of the user's functions are calls of what was made of them",
    "derivative": "adjoints or tangents are computed, and what they need is saved",
    "short": "as a person would write it",
    "text": "Python text, with its origins by line",
}
_FLAT = ("flat", "webs")
_CALLED = (*_FLAT, "callees", "plain operations")
_PREPARED = (*_CALLED, "stores", "prepared")

STAGES: tuple[Stage, ...] = (
    Stage(
        "lowered",
        "source read, names resolved, one operation a line",
        passes=(lower_ruled, check),
        makes=_FLAT,
    ),
    Stage(
        "resolved",
        "methods and function values as the functions that are called",
        passes=(Checkpoints.read, Methods.resolved, effects_first),
        requires=_FLAT,
        makes=("callees",),
        preserves=_FLAT,
    ),
    Stage(
        "normalized",
        "the few statements that both modes know",
        passes=(
            absent_attributes,
            changes_as_statements,
            methods_of_unknown_objects,
            as_lists_and_dicts,
            desugared,
            places_read_first,
            attempts_in_pieces,
        ),
        requires=(*_FLAT, "callees"),
        makes=("plain operations",),
        preserves=(*_FLAT, "callees"),
    ),
    Stage(
        "stored",
        "what calls write (`out=`, `np.put`), as stores and updates of entries",
        passes=(
            refuse_changed_containers,
            writes_as_stores,
            updates_as_stores,
            share_loads,
            known_compositions,
        ),
        requires=_CALLED,
        makes=("stores",),
        preserves=_CALLED,
    ),
    Stage(
        "prepared",
        "updates rebound, loops counted, keys named (reverse mode)",
        passes=(rebind_updates, Preparation.run),
        requires=(*_CALLED, "stores"),
        makes=("prepared",),
        preserves=(*_CALLED, "stores"),
    ),
    Stage(
        "called",
        "calls as those of forward and backward functions (reverse mode)",
        passes=(CallConversion.function,),
        requires=_PREPARED,
        makes=("pairs",),
        preserves=_PREPARED,
    ),
    Stage(
        "derived",
        "adjoints or tangents, and what is saved for them",
        passes=(reverse, reverse_pair, forward, with_inner_functions),
        requires=(*_CALLED, "stores"),
        makes=("derivative",),
    ),
    Stage(
        "simplified",
        "as a person would write it",
        passes=(
            *(change for change, _ in PASSES),
            simplified_pairs,
            without_repeats,
            saved_together,
            gone_through,
        ),
        requires=("derivative",),
        makes=("short",),
        preserves=("derivative",),
    ),
    Stage(
        "emitted",
        "the text, compiled",
        passes=(emit, load),
        requires=("derivative", "short"),
        makes=("text",),
        preserves=("derivative", "short"),
    ),
)
STAGE_NAMES = tuple(stage.name for stage in STAGES)


def passes(name: str) -> tuple[Callable[..., Any], ...]:
    """The passes of a stage, in order."""
    return next(stage.passes for stage in STAGES if stage.name == name)


@dataclass
class Cost:
    """What a stage took in all functions of a transform, without the stages inside it; `seconds`
    are those of the processor."""

    runs: int = 0
    seconds: float = 0.0
    analyses: int = 0


@dataclass
class Run:
    """One run of a stage: `made` is the function, or functions, that it gave."""

    made: ir.Function | tuple[ir.Function, ...] = ()


@dataclass
class Record:
    """What the stages of one transform cost, and (if it `keeps` that) made, by stage and name."""

    keeps: bool = False
    made: dict[str, dict[str, ir.Function]] = field(default_factory=dict)
    costs: dict[str, Cost] = field(default_factory=dict)
    seconds: float = 0.0  # of the whole transform
    _inside: list[tuple[float, int]] = field(default_factory=list)  # of each stage now running

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Run]:
        """Run a stage; the caller says in `run.made` what it gave."""
        run, began, asked = Run(), time.thread_time(), Facts.runs
        self._inside.append((0.0, 0))
        try:
            yield run
        finally:
            inner, inner_asked = self._inside.pop()
            whole, whole_asked = time.thread_time() - began, Facts.runs - asked
            if self._inside:
                outer, outer_asked = self._inside[-1]
                self._inside[-1] = (outer + whole, outer_asked + whole_asked)
            cost = self.costs.setdefault(name, Cost())
            cost.runs += 1
            cost.seconds += whole - inner
            cost.analyses += whole_asked - inner_asked
        if self.keeps:
            made = run.made if isinstance(run.made, tuple) else (run.made,)
            self.made.setdefault(name, {}).update((function.name, function) for function in made)

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages that ran, in order."""
        return tuple(filter(self.costs.__contains__, STAGE_NAMES))

    def statements(self, name: str) -> int:
        """How many statements the functions have after a stage."""
        functions = self.made.get(name, {}).values()
        return sum(1 for function in functions for _ in ir.statements(function.body))

    def programs(self, last: str) -> dict[str, ir.Module]:
        """The functions after each stage, in order, callees before the function called `last`."""
        found = {}
        for name, made in ((name, self.made.get(name, {})) for name in STAGE_NAMES):
            ordered = sorted(made.values(), key=lambda f: f.name == last)
            if ordered:
                found[name] = ir.Module(tuple(ordered))
        return found


_RECORD: ContextVar[Record | None] = ContextVar("record", default=None)
_COLLECTED: ContextVar[list[Record] | None] = ContextVar("collected", default=None)


def current() -> Record:
    """The record of the transform that is running."""
    return _RECORD.get() or Record()


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """No garbage collection runs inside: a transform makes many objects and hardly any cycles, and
    each full collection would go through all of a long program's."""
    if not gc.isenabled():  # (by the user, or around this)
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def recording() -> Iterator[Record]:
    """A new record for the transform that runs inside."""
    collected = _COLLECTED.get()
    record, began = Record(keeps=collected is not None), time.thread_time()
    token = _RECORD.set(record)
    try:
        with _without_collections():
            yield record
    finally:
        _RECORD.reset(token)
        record.seconds = time.thread_time() - began
        if collected is not None:
            collected.append(record)


@contextlib.contextmanager
def collecting() -> Iterator[list[Record]]:
    """The records of all transforms that run inside, which keep what the stages make: of a
    derivative of a derivative, several."""
    found: list[Record] = []
    token = _COLLECTED.set(found)
    try:
        yield found
    finally:
        _COLLECTED.reset(token)


@dataclass(frozen=True)
class Row:
    """A line of the table of costs; `statements` is None where no program is made."""

    stage: str
    milliseconds: float
    runs: int | None
    statements: int | None
    analyses: int | None


def costs(records: Sequence[Record]) -> list[Row]:
    """What the stages of some transforms cost together, what stands between them, and the total."""
    rows = []
    for name in STAGE_NAMES:
        known = [(record, record.costs[name]) for record in records if name in record.costs]
        if known:
            rows.append(
                Row(
                    name,
                    1e3 * sum(cost.seconds for _, cost in known),
                    sum(cost.runs for _, cost in known),
                    sum(record.statements(name) for record, _ in known) or None,
                    sum(cost.analyses for _, cost in known),
                )
            )
    whole = 1e3 * sum(record.seconds for record in records)
    between = whole - sum(row.milliseconds for row in rows)
    analyses = sum(row.analyses or 0 for row in rows)
    return [
        *rows,
        Row("between them", between, None, None, None),
        Row("total", whole, sum(row.runs or 0 for row in rows), None, analyses),
    ]
