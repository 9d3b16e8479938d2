"""Where a NaN or an infinity begins: the first operation that makes it from finite operands.

A derivative is run with every operation seen. A value that is not finite remembers the operation
that made it and, by identity, the operands that were not finite already. From what the derivative
returns the way back leads to the operation at which it began; one that never reaches a result
(an infinity that a mask takes away again) is not what was looked for.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..api.calls import value_and_grad
from ..dispatch.blame import watching
from ..dispatch.derivation import Derivation
from ..errors import NonFiniteError, Place
from ..pytree import leaves
from .causes import Cause, cause_of
from .instrument import Operation, Probe, StandIns
from .linemap import Statement
from .tables import Summary, format_number, leaves_of, summary_of

_PASSES_ON = (ast.Name, ast.Subscript, ast.Attribute, ast.IfExp, ast.BoolOp)
_DISPLAYS = (ast.Tuple, ast.List, ast.Dict)


@dataclass(frozen=True)
class Finding:
    """Where a value that is not finite begins.

    `place` is in your source, with the operation itself under the caret; `statement` is the
    statement of the derivative, `operation` the text of the operation in it, `cause` what
    happened and at which index, `iterations` the loops around it with the iteration each was in,
    `callers` your lines whose calls led there, `way` the statements by which it reached the result.
    """

    place: Place
    statement: Statement
    operation: str
    value: Summary
    operands: tuple[tuple[str, Summary], ...]
    cause: Cause
    iterations: tuple[tuple[str, int], ...]
    callers: tuple[Place, ...]
    way: tuple[Statement, ...]

    @property
    def message(self) -> str:
        """One line: what begins here, and why."""
        what = "NaN" if self.value.nans else "an infinity"
        return f"{what} begins here: {self.cause.what}"

    def details(self) -> Iterator[str]:
        """What is known besides the place, line by line."""
        s = self.statement
        where = {"primal": "the primal", "tangent": "the tangent"}.get(s.role, "the adjoint")
        yield f"in {where}, line {s.line} of {s.function}: {' '.join(s.text.split())}"
        if self.cause.entries:
            at = "" if not self.cause.index else f" at {list(self.cause.index)}"
            listed = ", ".join(f"{name} = {value}" for name, value in self.cause.entries)
            yield f"{self.operation}{at}: {listed}"
        for name, summary in self.operands:
            if summary.kind == "array" or not self.cause.entries:
                yield f"    {name}: {summary}"
        if self.value.shape:
            count = self.value.nans + self.value.infs
            yield f"    result: {count} of {math.prod(self.value.shape)} entries are not finite"
        for text, number in self.iterations:
            yield f"in iteration {number} of `{text.rstrip(':')}`"
        for place in self.callers:
            yield f"called from {place.file}:{place.line}: {place.text}"
        if self.way:
            lines = ", ".join(str(s.line) for s in self.way)
            yield f"it goes on to the result by line{'s' * (len(self.way) > 1)} {lines}"

    def __str__(self) -> str:
        text = self.place.render(self.message)
        return "\n".join([text, *self.details(), f"Usual way out: {self.cause.hint}"])


@dataclass(frozen=True)
class NaNReport:
    """What `tl.find_nan` found; false if every result is finite.

    `findings` are the places where what is not finite in the results begins, the first one
    first; `results` the values that were looked at; `masked` counts operations whose result was
    not finite and reached no result; `error` is the exception that ended the run, if one did.
    """

    findings: tuple[Finding, ...]
    results: tuple[Summary, ...]
    masked: int
    error: BaseException | None = None

    def __bool__(self) -> bool:
        return bool(self.findings)

    @property
    def first(self) -> Finding | None:
        """The first finding."""
        return self.findings[0] if self.findings else None

    def __str__(self) -> str:
        parts = [str(found) for found in self.findings]
        if not parts:
            parts = ["every value that the derivative returns is finite"]
        if self.masked:
            parts.append(
                f"({self.masked} operations gave values that are not finite and reach no result)"
            )
        if self.error is not None:
            parts.append(f"the run ended with {type(self.error).__name__}: {self.error}")
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        from ..codegen.print.text import report_of_text

        return report_of_text(str(self))


def find_nan(f: Callable[..., Any], *args: Any, wrt: Any = None, **kwargs: Any) -> NaNReport:
    """Find the operation at which a NaN or an infinity begins.

    Parameters
    ----------
    f : a function, whose value and gradient are computed, or a derivative of one.
    *args, **kwargs : what it is called with.
    wrt : of a function: what to differentiate by (default: every argument that holds floats).

    Returns
    -------
    NaNReport
        True if a result is not finite. Printed, it says your line with a caret under the
        operation, the statement of the derivative, the operands and the entry at which it began,
        the iteration of the loops, the cause, and the usual way out.

    Raises
    ------
    TangentlikeError
        if `f` cannot be differentiated. An exception during the run is in `report.error`.

    Examples
    --------
    >>> import numpy as np
    >>> import tangentlike as tl
    >>> def f(x):
    ...     return np.sum(np.sqrt(x))
    >>> report = tl.find_nan(f, np.array([1.0, 0.0]))
    >>> report.first.cause.what
    'the derivative of sqrt at 0 is infinite'
    """
    df = f
    if getattr(f, "__tangentlike__", None) is None:
        if wrt is None:
            wrt = tuple(n for n, value in enumerate(args) if leaves.has_leaf(value))
        df = value_and_grad(f, wrt or 0)
    return _report(lambda: df(*args, **kwargs))


def raise_at_nan(derivation: Derivation, args: tuple[Any, ...], kwargs: Any) -> None:
    """Run a derivation again and raise where what is not finite begins."""
    report = _report(lambda: derivation.call(args, kwargs))
    found = report.first
    name = derivation.primal.name
    if found is None:
        raise NonFiniteError(
            f"the derivative of {name} is not finite, and it is finite when it is run again, which "
            "was to show where that begins",
            hint=f"{name} draws random numbers, or reads what changes between calls. Pass these as "
            "arguments, so that two calls compute the same.",
        )
    hint = "\n".join([*found.details(), f"Usual way out: {found.cause.hint}"])
    error = NonFiniteError(f"derivative of {name}: {found.message}", found.place, hint)
    error.report = report
    raise error


# ------------------------------------------------------------------------------ running


@dataclass(eq=False)
class _Event:
    """An operation whose result was not finite."""

    order: int
    probe: _Probe
    operation: Operation
    value: Any
    operands: list[tuple[str, Any, _Event | None]]
    iterations: tuple[tuple[int, int], ...]
    path: tuple[tuple[_Probe, int], ...]

    @property
    def has_nan(self) -> bool:
        return bool(np.isnan(self.value).any())

    @property
    def statement(self) -> Statement:
        return self.probe.lines.statements[self.operation.statement]

    def is_written(self) -> bool:
        """Whether the program says it: `np.inf`, `float("inf")`, `np.full(n, -np.inf)`."""
        node = self.operation.node
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            makes = name in ("full", "full_like", "array", "asarray", "float", "float64")
            return makes and all(e is None or e.is_written() for _, _, e in self.operands)
        if isinstance(node, ast.UnaryOp):
            return all(e is not None and e.is_written() for _, _, e in self.operands)
        return isinstance(node, ast.Name | ast.Constant | ast.Attribute)

    def is_meant(self) -> bool:
        """Whether it is an infinity that the program says or is given, or one that comes of it."""
        if self.has_nan:
            return False
        return self.is_written() or any(e.is_meant() for _, _, e in self.operands if e is not None)


@dataclass
class _Frame:
    """A function that is running: the values of the operations of its current statement."""

    path: tuple[tuple[_Probe, int], ...]
    current: int = -1
    seen: dict[int, Any] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    written: dict[int, tuple[Any, _Event | None]] = field(default_factory=dict)


class _Watch(StandIns):
    """Stands in for emitted functions, and collects what is not finite."""

    deep = True

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[_Frame] = []
        self.events: list[_Event] = []
        self.results: list[Any] = []
        # What is known of values that are not finite, by identity; the values are kept alive.
        self.known: dict[int, tuple[Any, _Event]] = {}
        self.memory: dict[int, tuple[Any, _Event]] = {}

    def probe(self, number: int) -> Probe:
        return _Probe(self)

    def event_of(self, value: Any) -> _Event | None:
        """The operation that made a value that is not finite, or the first one in a container."""
        for leaf in _bad_leaves(value):
            known = self.known.get(id(leaf))
            if known is not None and known[0] is leaf:
                return known[1]
            if isinstance(leaf, np.ndarray):
                memory = self.memory.get(id(_owner(leaf)))
                if memory is not None:
                    return memory[1]
        return None

    def remember(self, leaf: Any, event: _Event) -> None:
        self.known[id(leaf)] = leaf, event
        if isinstance(leaf, np.ndarray):
            owner = _owner(leaf)
            self.memory[id(owner)] = owner, event


class _Probe(Probe):
    """Sees every operation of one program."""

    def __init__(self, watch: _Watch) -> None:
        self.watch = watch

    def prepare(self) -> None:
        """Give operations without a place that of the operation they are a part of."""
        for operation in reversed(self.operations):
            for inner in operation.operands:
                if self.operations[inner].place is None:
                    self.operations[inner].place = operation.place
        super().prepare()

    def enter(self, function: str, values: dict[str, Any]) -> None:
        frames = self.watch.frames
        path = (*frames[-1].path, (self, frames[-1].current)) if frames else ()
        frames.append(_Frame(path))

    def leave(self) -> None:
        self.watch.frames.pop()

    def start(self, index: int) -> None:
        frame = self.watch.frames[-1]
        frame.current = index
        frame.counts.pop(index, None)
        frame.seen.clear()

    def returned(self, index: int, value: Any) -> Any:
        if len(self.watch.frames) == 1:
            self.watch.results.append(value)
        return value

    def each(self, index: int, items: Any) -> Iterator[Any]:
        frame = self.watch.frames[-1]
        for number, item in enumerate(items):
            frame.counts[index] = number
            yield item

    def test(self, index: int, value: Any) -> Any:
        frame = self.watch.frames[-1]
        if self.lines.statements[index].is_loop:
            frame.counts[index] = frame.counts.get(index, -1) + 1
        return value

    def see(self, number: int, value: Any) -> Any:
        frame = self.watch.frames[-1]
        frame.seen[number] = value
        node = self.operations[number].node
        if isinstance(value, list | tuple | dict) and isinstance(node, (*_PASSES_ON, *_DISPLAYS)):
            return value  # (what is in it was seen when it was made)
        for leaf in _bad_leaves(value):
            self._met(number, leaf, frame, isinstance(node, _PASSES_ON))
        return value

    def _met(self, number: int, leaf: Any, frame: _Frame, passes_on: bool) -> None:
        known = self.watch.known.get(id(leaf))
        if known is not None and known[0] is leaf:
            return
        operands = list(self._operands(number, frame))
        if passes_on:
            found = self.watch.event_of(leaf)
            found = found or next((e for _, _, e in operands if e is not None), None)
            if found is not None:
                self.watch.known[id(leaf)] = leaf, found
                return
        self._event(number, leaf, operands, frame)

    def _operands(self, number: int, frame: _Frame) -> Iterator[tuple[str, Any, _Event | None]]:
        for inner in self.operations[number].operands:
            if inner in frame.seen:
                value = frame.seen[inner]
                yield self.operations[inner].text, value, self.watch.event_of(value)

    def _event(self, number: int, leaf: Any, operands: list[Any], frame: _Frame) -> None:
        operation, watch = self.operations[number], self.watch
        loops = tuple((n, frame.counts.get(n, 0)) for n in self.loops.get(operation.statement, ()))
        made = _Event(len(watch.events), self, operation, leaf, operands, loops, frame.path)
        watch.events.append(made)
        watch.remember(leaf, made)

    def before(self, number: int, value: Any) -> None:
        kept = value.copy() if isinstance(value, np.ndarray) else value
        self.watch.frames[-1].written[number] = kept, self.watch.event_of(value)

    def after(self, number: int, value: Any) -> None:
        frame = self.watch.frames[-1]
        operation = self.operations[number]
        operands = list(self._operands(number, frame))
        bad = list(_bad_leaves(value))
        if number in frame.written:
            kept, event = frame.written.pop(number)
            target = operation.node.target  # type: ignore[union-attr]
            operands.insert(0, (ast.unparse(target), kept, event))
        elif any(self.watch.event_of(leaf) is not None for leaf in bad) and not any(
            event is not None for _, _, event in operands
        ):
            return  # (it was so before)
        for leaf in bad:
            self._event(number, leaf, operands, frame)


def _owner(array: np.ndarray[Any, Any]) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _bad_leaves(value: Any) -> Iterator[Any]:
    """The numbers and arrays in a value that are not finite."""
    kind = type(value)
    if kind is float:
        if not math.isfinite(value):
            yield value
    elif isinstance(value, np.ndarray | np.generic | complex):
        if getattr(value, "dtype", np.dtype(complex)).kind in "fc" and not np.isfinite(value).all():
            yield value
    elif isinstance(value, list | tuple | dict):
        for leaf in leaves_of(value, 1000):
            if not isinstance(leaf, int):
                yield from _bad_leaves(leaf)


# ----------------------------------------------------------------------------- the report


def _report(run: Callable[[], Any]) -> NaNReport:
    watch = _Watch()
    error: Exception | None = None
    with watching(watch), np.errstate(all="ignore"):
        try:
            run()
        except Exception as raised:
            if not watch.events:
                raise
            error = raised
    ends = [e for result in watch.results for e in _events_in(result, watch)]
    if error is not None:
        ends += [event for event in watch.events if event.has_nan][-1:] or watch.events[-1:]
    chains = [_back(event) for event in dict.fromkeys(ends)]
    first: dict[int, list[_Event]] = {}
    for chain in sorted(chains, key=lambda c: c[-1].order):
        first.setdefault(chain[-1].order, chain)
    # (A value that only the result reads may be computed after the adjoints.)
    made = map(_finding, first.values())
    findings = tuple(sorted(made, key=lambda found: found.statement.role != "primal"))
    results = tuple(summary_of(r) for r in watch.results)
    reached = {e.order for end in ends for e in _all_behind(end)}
    masked = sum(1 for e in watch.events if e.order not in reached and not e.is_written())
    return NaNReport(_distinct(findings), results, masked, error)


def _distinct(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """One finding for each operation: later iterations tell nothing new."""
    seen: dict[Any, Finding] = {}
    for found in findings:
        seen.setdefault((found.statement.index, found.operation, found.place), found)
    return tuple(seen.values())


def _events_in(result: Any, watch: _Watch) -> Iterator[_Event]:
    for leaf in _bad_leaves(result):
        event = watch.event_of(leaf)
        if event is not None:
            yield event


def _all_behind(event: _Event) -> Iterator[_Event]:
    stack, seen = [event], set()
    while stack:
        found = stack.pop()
        if found.order not in seen:
            seen.add(found.order)
            yield found
            stack += [e for _, _, e in found.operands if e is not None]


def _back(event: _Event) -> list[_Event]:
    """From an operation back to that at which it began. An infinity that the program says, or is
    given, is where nothing went wrong yet: the operation that it met is."""
    chain = [event]
    while True:
        behind = [e for _, _, e in chain[-1].operands if e is not None and e not in chain]
        if chain[-1].has_nan:
            behind = [e for e in behind if e.has_nan] or behind
        if not behind:
            break
        chain.append(min(behind, key=lambda e: e.order))
    while len(chain) > 1 and chain[-1].is_meant():
        chain.pop()
    return chain


def _finding(chain: list[_Event]) -> Finding:
    event = chain[-1]
    operation, made_by = event.operation, event.statement
    statement = replace(made_by, role=operation.role or made_by.role)
    place = operation.place or statement.place
    operands = [(text, value) for text, value, _ in event.operands]
    cause = cause_of(operation.node, operands, event.value, place, statement.role)
    iterations = tuple(
        (event.probe.lines.statements[loop].text, number) for loop, number in event.iterations
    )
    callers = [probe.lines.statements[index].place for probe, index in event.path if index >= 0]
    way = [e.statement for e in reversed(chain) if e.statement.function == statement.function]
    shown = tuple(
        (text, summary_of(value))
        for text, value in operands
        if not isinstance(value, int) and text != format_number(value)
    )
    shown = tuple(dict.fromkeys(shown))
    return Finding(
        place,
        statement,
        operation.text,
        summary_of(event.value),
        shown,
        cause,
        iterations,
        tuple(reversed(callers)),
        tuple(dict.fromkeys(s for s in way if s is not made_by)),
    )
