"""What a long sweep has done so far: states in memory and on disk, the adjoint, how far it came.

The states are a stack, saved at the iterations of the binomial schedule of as many states as fit
in memory and on disk together, so that as few iterations as possible are run again. Which of them
are on disk is decided by their places in the stack: those that are written and read least often.

A directory holds `sweep.json`, which says what has happened, states by the numbers of their
iterations, and the newest adjoint. Each file is written under another name first, and `sweep.json`
last: whenever the process is killed, what it says is there. Any states and any adjoint serve to go
on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import TangentlikeError
from ..frontend.primal import global_names
from ..pytree import leaves
from ..pytree.gradients import like, walked
from ..runtime.schedules import Moves, repeated_rounds, stretches

Progress = Callable[[str, int, int], None]
_FILE = "sweep.json"


@dataclass
class Report:
    """What a call of a sweep has cost; where it went on with one that was stopped, its own part."""

    iterations: int = 0
    advanced: int = 0
    reversed: int = 0
    least_repeated: int = 0
    resumed_at: str = ""
    states_written: int = 0
    states_read: int = 0
    bytes_written: int = 0
    bytes_read: int = 0
    most_in_memory: int = 0
    most_on_disk: int = 0

    @property
    def repeated(self) -> int:
        """Rounds that were run again, beside one run of each, and one more when it is reversed."""
        return self.advanced - self.iterations


class Journal:
    """The stack of states of one sweep and the record of what it has done."""

    def __init__(
        self,
        state: Any,
        params: Any,
        iterations: int,
        *,
        program: str,
        to: Any,
        memory: int,
        disk: int,
        save_every: float,
        progress: Progress | None,
    ) -> None:
        self.form, self.iterations = Form(state, "the state"), iterations
        self.memory, self.disk, self.slots = memory, disk, memory + disk
        self.save_every, self.progress = save_every, progress
        self.bars = (like(state, None), like(params, None))
        self.report = Report(iterations, least_repeated=_least(iterations, self.slots))
        self.directory = None if to is None else Path(os.fspath(to))
        self.key = digest(program, state, params, iterations)
        self.in_memory: dict[int, Any] = {
            0: _copied(self.form, state)
        }  # states in memory, by iteration
        self.written: set[int] = set()  # iterations of the states on disk
        self.stack: list[int] = [0] if iterations else []
        self.planned: set[int] = set()  # iterations before which the forward sweep saves the state
        self.on_disk: frozenset[int] = frozenset()  # places in the stack
        self.reached = 0
        self.adjoint: tuple[int, Any, Any, Any] | None = None
        self.adjoint_on_disk: dict[str, Any] | None = None
        self._saved = time.monotonic()
        if self.directory is not None:
            self._open(self.directory)

    # ------------------------------------------------------------------------------ forwards

    def ahead(self) -> tuple[int, Any]:
        """The iteration that the forward sweep begins with, and the state there."""
        return self.reached, self._state(self.reached)

    def stretches(self) -> list[tuple[int, int]]:
        """What is left of the forward sweep, between iterations whose states are saved."""
        if self.adjoint is not None:
            return []
        parts = stretches(self.iterations, snapshots=self.slots)
        self.planned = {start for start, _ in parts}
        self.on_disk = _places_on_disk(
            Moves([a for a, _ in parts], self.iterations, self.slots), self
        )
        return [(max(a, self.reached), b) for a, b in parts if b > self.reached]

    def keep(self, start: int, state: Any) -> None:
        """Save the state before a iteration, unless it is there: the first one always is."""
        if start in self.stack or (self.adjoint is None and start not in self.planned):
            return
        place = len(self.stack)
        self.stack.append(start)
        if place in self.on_disk and self.directory is not None:
            self._write(start, state)
        elif start not in self.written:
            self.in_memory[start] = _copied(self.form, state)
        self._count()

    def passed(self, done: int, state: Any) -> None:
        """A iteration of the forward sweep is done; its state is saved now and then."""
        self.report.advanced += 1
        self._show("forward", done)
        if self.directory is not None and done < self.iterations and self._is_time():
            last = self.reached
            if done not in self.written:
                self._write(done, state)
            self.reached = done
            self._record()
            if last not in self.stack:
                self._remove(last)

    # ------------------------------------------------------------------------------ backwards

    def begin(self, value: Any, state_bar: Any, params_bar: Any) -> None:
        """The adjoint where the forward sweep ended."""
        self._set(self.iterations, value, state_bar, params_bar)
        if self.reached and self.reached not in self.stack:
            self._remove(self.reached)
        self._save_adjoint()

    def moves(self) -> Iterator[tuple[bool, int, int]]:
        """The moves that reverse what is not reversed yet."""
        assert self.adjoint is not None
        left = self.adjoint[0]
        self.stack = [start for start in self.stack if start < left]
        moves = Moves(tuple(self.stack), left, self.slots)
        self.on_disk = _places_on_disk(moves, self)
        yield from moves

    def state(self) -> Any:
        """The state on top of the stack, to be written as one likes."""
        return self._state(self.stack[-1])

    def pop(self) -> None:
        """Give up the state on top."""
        start = self.stack.pop()
        self.in_memory.pop(start, None)
        if start:
            self._remove(start)

    def again(self, done: int) -> None:
        """A iteration was run again."""
        self.report.advanced += 1

    def reversed(self, start: int, value: Any, state_bar: Any, params_bar: Any) -> None:
        """The iterations from `start` on are reversed."""
        self.report.reversed += 1
        self._set(start, value, state_bar, params_bar)
        self._show("backward", self.iterations - start)
        if self.directory is not None and start and self._is_time():
            self._save_adjoint()

    def close(self) -> None:
        """All is done: nothing is left on disk."""
        if self.directory is None:
            return
        with contextlib.suppress(FileNotFoundError):
            (self.directory / _FILE).unlink()
        for path in self._own_files():
            path.unlink()
        with contextlib.suppress(OSError):  # (another file of the user's)
            self.directory.rmdir()

    # ------------------------------------------------------------------------------ the files

    def _open(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / _FILE
        if not path.exists():
            self._record()
            return
        known = json.loads(path.read_text())
        if known["key"] != self.key:
            raise TangentlikeError(
                f"{directory} holds a sweep of another program, or of other arguments",
                hint="Name another directory in to=, or remove this one to start again.",
            )
        self.written = {
            start
            for start in known["states"]
            if self._path(start).exists()  # (it may have been given up since)
        }
        self.reached = max((r for r in self.written if r <= known["reached"]), default=0)
        if known["adjoint"] is not None:
            self.adjoint_on_disk = known["adjoint"]
            self._load_adjoint(known["adjoint"])
            self.report.resumed_at = f"iteration {known['adjoint']['iteration']} backwards"
        elif self.reached:
            self.report.resumed_at = f"iteration {self.reached} forwards"
        starts = {start for start, _ in stretches(self.iterations, snapshots=self.slots)}
        wanted = starts if self.adjoint is None else self.written
        self.stack = sorted({0, *(self.written & wanted)}) if self.iterations else []
        self._count()

    def _record(self) -> None:
        assert self.directory is not None
        said = {
            "key": self.key,
            "iterations": self.iterations,
            "states": sorted(self.written),
            "reached": self.reached,
            "adjoint": self.adjoint_on_disk,
        }
        path = self.directory / _FILE
        unfinished = path.with_suffix(".part")
        with unfinished.open("w") as file:
            json.dump(said, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)

    def _path(self, start: int) -> Path:
        assert self.directory is not None
        return self.directory / f"sweep-state-{start}.bin"

    def _own_files(self) -> list[Path]:
        assert self.directory is not None
        return [
            path for kind in ("state", "adjoint") for path in self.directory.glob(f"sweep-{kind}-*")
        ]

    def _write(self, start: int, state: Any) -> None:
        self.report.bytes_written += write(self._path(start), self.form.parts(state))
        self.report.states_written += 1
        self.written.add(start)
        self._record()

    def _remove(self, start: int) -> None:
        """Give up the file of a state; what the record says of it does no harm."""
        if start in self.written:
            self.written.discard(start)
            self._path(start).unlink()

    def _state(self, start: int) -> Any:
        if start in self.in_memory:
            return _copied(self.form, self.in_memory[start])
        self.report.states_read += 1
        self.report.bytes_read += self.form.nbytes
        return self.form.value(read(self._path(start), self.form.specs))

    # ------------------------------------------------------------------------------ the adjoint

    def _set(self, left: int, value: Any, state_bar: Any, params_bar: Any) -> None:
        self.adjoint = (left, value, state_bar, params_bar)

    def _save_adjoint(self) -> None:
        if self.directory is None:
            return
        assert self.adjoint is not None
        left, *values = self.adjoint
        kind = np.asarray(values[0]).dtype.str
        form = Form((values[0], *self.bars), "the adjoint")
        path = self.directory / f"sweep-adjoint-{left}.bin"
        self.report.bytes_written += write(path, form.parts(tuple(values)))
        self.adjoint_on_disk = {"iteration": left, "value": kind}
        self._record()
        for old in self.directory.glob("sweep-adjoint-*.bin"):
            if old != path:
                old.unlink()

    def _load_adjoint(self, known: dict[str, Any]) -> None:
        assert self.directory is not None
        value = np.dtype(known["value"]).type(0.0)
        form = Form((value, *self.bars), "the adjoint")
        path = self.directory / f"sweep-adjoint-{known['iteration']}.bin"
        self._set(known["iteration"], *form.value(read(path, form.specs)))

    # ------------------------------------------------------------------------------ the rest

    def _is_time(self) -> bool:
        now = time.monotonic()
        if now - self._saved < self.save_every:
            return False
        self._saved = now
        return True

    def _show(self, phase: str, done: int) -> None:
        if self.progress is not None:
            self.progress(phase, done, self.iterations)

    def _count(self) -> None:
        self.report.most_in_memory = max(self.report.most_in_memory, len(self.in_memory))
        self.report.most_on_disk = max(self.report.most_on_disk, len(self.written))


def _copied(form: Form, state: Any) -> Any:
    return form.value([part.copy() for part in form.parts(state)])


def _least(iterations: int, slots: int) -> int:
    """Rounds that are run again at least: those that the theory counts, less the first sweep."""
    return repeated_rounds(iterations, slots) - max(iterations - 1, 0)


def _places_on_disk(moves: Moves, journal: Journal) -> frozenset[int]:
    """The places of the stack that are written and read least often; the first state is at hand."""
    uses = Counter(range(len(moves.starts)))
    height = len(moves.starts)
    for keep, *_ in moves:
        uses[height - 1] += 1
        if keep:
            uses[height] += 1
        height += 1 if keep else -1
    order = sorted((place for place in uses if place), key=lambda place: (uses[place], place))
    wanted = max(0, len(uses) - journal.memory)
    return frozenset(order[: min(journal.disk, wanted)])


# --------------------------------------------------------------------------------------------------
# States as bytes of a file: arrays and numbers of a value of known form, one after the other.


_NUMBERS = (bool, int, float, complex, np.generic)


class Form:
    """What a value is made of: its containers, and the shape and dtype of each leaf."""

    def __init__(self, value: Any, what: str) -> None:
        self.template, self.what = value, what
        self.leaves = [(path, _as_array(leaf, what + path)) for path, leaf in walked(value)]
        self.specs = [None if a is None else (a.shape, a.dtype) for _, a in self.leaves]
        self.constants = [leaf for _, leaf in walked(value)]
        self.nbytes = sum(a.nbytes for _, a in self.leaves if a is not None)
        self.leaves = [(path, None) for path, _ in self.leaves]

    def parts(self, value: Any) -> list[np.ndarray]:
        """The arrays of a value, which must have this form."""
        found = []
        pairs = list(walked(value))
        if len(pairs) != len(self.specs):
            raise self._changed("", f"{len(self.specs)} leaves", f"{len(pairs)} leaves")
        for (path, leaf), spec, known in zip(pairs, self.specs, self.constants, strict=True):
            array = _as_array(leaf, self.what + path)
            if spec is None or array is None:
                if array is not None or leaf != known:
                    raise self._changed(path, repr(known), repr(leaf))
                continue
            if (array.shape, array.dtype) != spec:
                raise self._changed(path, _said(*spec), _said(array.shape, array.dtype))
            found.append(array)
        return found

    def value(self, parts: list[np.ndarray]) -> Any:
        """A value of this form from its arrays."""
        remaining = iter(parts)

        def made(known: Any) -> Any:
            inside = None if leaves.is_array(known) else leaves.children(known)
            if inside is not None:
                return leaves.rebuild(known, [made(item) for _, item in inside])
            if leaves.is_array(known):
                return next(remaining)
            if not isinstance(known, _NUMBERS):
                return known
            number = next(remaining)
            return number[()] if isinstance(known, np.generic) else type(known)(number[()])

        return made(self.template)

    def _changed(self, path: str, before: str, after: str) -> TangentlikeError:
        return TangentlikeError(
            f"{self.what}{path} changes its form from one iteration to the next: {before}, then "
            f"{after}",
            hint="States that are written to disk keep the shapes and dtypes of the first one; "
            "begin with floats where an iteration returns floats.",
        )


def _said(shape: tuple[int, ...], dtype: Any) -> str:
    return f"{dtype}{list(shape) if shape else ''}"


def _as_array(leaf: Any, what: str) -> np.ndarray | None:
    if leaf is None or isinstance(leaf, (str, bytes)):
        return None
    if isinstance(leaf, (np.ndarray, *_NUMBERS)):
        array = np.asarray(leaf)
        if not array.dtype.hasobject:
            return array
    raise TangentlikeError(
        f"{what} is a {type(leaf).__name__}, which cannot be written to disk",
        hint="A state consists of NumPy arrays and numbers, in containers.",
    )


def digest(*values: Any) -> str:
    """What tells values of arrays, numbers and texts from others."""
    found = hashlib.sha256()
    for value in values:
        for path, leaf in walked(value):
            array = _as_array(leaf, "the argument" + path)
            if array is None:
                found.update(f"{path}={leaf!r};".encode())
            else:
                found.update(f"{path}:{array.dtype}{array.shape};".encode())
                found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def captured(fn: Any) -> dict[str, Any]:
    """The arrays, numbers and texts outside of a function that it and its helpers may read."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    queue: list[Any] = [fn]
    while queue:
        function = queue.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        for name, value in _outer(function):
            if isinstance(value, types.FunctionType):
                queue.append(value)
            elif not isinstance(value, (types.ModuleType, type)) and not callable(value):
                found[f"{function.__qualname__}.{name}"] = _known(value)
    return dict(sorted(found.items()))


def _outer(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name in global_names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # (not bound yet)
            yield name, cell.cell_contents
    for place, value in enumerate(function.__defaults__ or ()):
        yield f"default {place}", value


def _known(value: Any) -> Any:
    """A value whose leaves a digest takes; a type where one is something else."""
    try:
        return digest(value)
    except TangentlikeError:
        return type(value).__qualname__


def write(path: Path, parts: list[np.ndarray]) -> int:
    """Write arrays to a file, which is there as a whole or not at all; gives its bytes."""
    size = sum(part.nbytes for part in parts)
    unfinished = path.with_suffix(".part")
    file = np.memmap(unfinished, np.uint8, "w+", shape=(max(size, 1),))
    start = 0
    for part in parts:
        view = file[start : start + part.nbytes].view(np.uint8)
        view[...] = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
        start += part.nbytes
    file.flush()
    del file
    _to_disk(unfinished)
    os.replace(unfinished, path)
    return size


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def read(path: Path, specs: list[Any]) -> list[np.ndarray]:
    """The arrays of a file, as copies in memory."""
    known = [spec for spec in specs if spec is not None]
    sizes = [int(np.prod(shape, dtype=np.int64)) * dtype.itemsize for shape, dtype in known]
    length = path.stat().st_size
    if max(sum(sizes), 1) != length:
        raise TangentlikeError(
            f"{path} has {length} bytes, and its states have {sum(sizes)}",
            hint="Remove the directory, or name another one in to=.",
        )
    file = np.memmap(path, np.uint8, "r")
    found, start = [], 0
    for (shape, dtype), size in zip(known, sizes, strict=True):
        found.append(np.array(file[start : start + size]).view(dtype).reshape(shape))
        start += size
    return found
