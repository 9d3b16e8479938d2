"""When a checkpointed loop keeps its state, and how its rounds are reversed from the kept ones.

The kept states are a stack. Running the loop forwards pushes the state at the start of each
stretch of rounds; running it backwards takes two moves, each a triple `(keep, start, stop)`:

- `(True, i, j)`: run rounds i to j from the state on top of the stack, and push what comes out;
- `(False, i, j)`: pop the state at round i, and reverse the rounds from i to j.

The binomial schedule reverses one round at a time and repeats as few rounds as is possible with
a given number of kept states: A. Griewank, A. Walther, "Algorithm 799: Revolve", ACM Trans. Math.
Softw. 26 (2000). With c kept states, n rounds need r n - C(c + r, r - 1) forward rounds before
the reversed ones, where r is the smallest number with C(c + r, c) >= n.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import comb, isqrt
from typing import Any

import numpy as np

__all__ = ["DiskStack", "Moves", "moves_back", "put_back", "stack_on_disk", "stretches", "thinned"]

Stretch = tuple[int, int]
Move = tuple[bool, int, int]


def stretches(
    rounds: int,
    *,
    every: int | None = None,
    snapshots: int | None = None,
    schedule: str | None = None,
) -> list[Stretch]:
    """The rounds of a loop in stretches; the state at the start of each is kept. Without `every`
    and `snapshots` the schedule is "sqrt": stretches of the square root of the rounds.

    >>> stretches(10, every=4)
    [(0, 4), (4, 8), (8, 10)]
    >>> stretches(10, snapshots=3)
    [(0, 4), (4, 7), (7, 9), (9, 10)]
    """
    starts = _starts(rounds, every, snapshots)
    return list(pairwise((*starts, rounds)))


def _starts(rounds: int, every: int | None, snapshots: int | None) -> list[int]:
    """Where states are kept in the forward sweep. The binomial schedule also keeps the state of
    the last round, which is at hand then and the first to be reversed."""
    if (every is not None and every < 1) or (snapshots is not None and snapshots < 1):
        raise ValueError("a checkpointed loop keeps at least one state: every and snapshots >= 1")
    if snapshots is None:
        return list(range(0, rounds, every or _root(rounds)))
    starts, start, left = [0] if rounds > 0 else [], 0, snapshots
    while rounds - start > 1:
        start += _first_part(rounds - start, left)
        left -= 1
        starts.append(start)
    return starts


def _root(rounds: int) -> int:
    """The square root, rounded up: as many states are kept as a stretch has rounds."""
    return isqrt(max(rounds - 1, 0)) + 1


class Moves:
    """The moves that reverse a loop, made one by one as they are asked for.

    `starts` are the rounds whose states are kept already; `snapshots` is how many may be kept at
    once, None where each stretch is reversed as a whole.
    """

    def __init__(self, starts: Sequence[int], rounds: int, snapshots: int | None) -> None:
        self.starts = starts
        self.rounds = rounds
        self.snapshots = snapshots

    def __iter__(self) -> Iterator[Move]:
        stop = self.rounds
        for kept, start in reversed(list(enumerate(self.starts))):
            if self.snapshots is None:
                yield False, start, stop
            else:
                yield from _binomial(start, stop, self.snapshots - kept)
            stop = start

    def __reversed__(self) -> Iterator[Move]:
        return reversed(list(self))


def moves_back(
    rounds: int,
    *,
    every: int | None = None,
    snapshots: int | None = None,
    schedule: str | None = None,
    kept_every: int | None = None,
) -> Moves:
    """The moves that reverse a loop from the states that its forward sweep kept.

    `kept_every` is the distance of the kept states where `thinned` chose it (a loop of unknown
    length).

    >>> list(moves_back(5, every=3))
    [(False, 3, 5), (False, 0, 3)]
    >>> list(moves_back(3, snapshots=1))
    [(False, 2, 3), (True, 0, 1), (False, 1, 2), (False, 0, 1)]
    """
    if kept_every is not None:
        return Moves(range(0, rounds, kept_every), rounds, snapshots)
    return Moves(_starts(rounds, every, snapshots), rounds, snapshots)


def _binomial(start: int, stop: int, snapshots: int) -> Iterator[Move]:
    """Reverse the rounds from `start`, whose state is on top of the stack and counts as one of
    `snapshots`, to `stop`."""
    parts = [(start, stop, snapshots)]
    while parts:
        first, last, left = parts[-1]
        if last - first > 1:
            middle = first + _first_part(last - first, left)
            yield True, first, middle
            parts.append((middle, last, left - 1))
            continue
        yield False, first, last
        parts.pop()
        if parts:
            parts[-1] = (parts[-1][0], first, parts[-1][2])


def _first_part(rounds: int, snapshots: int) -> int:
    """How far to go before the next state is kept, so that the fewest rounds are repeated.

    Both parts then need no more repetitions of a round than their numbers of states allow. With
    one state left the next one is only at hand: it is that of the last round.
    """
    if snapshots <= 1:
        return rounds - 1
    repeated = 1
    while comb(snapshots + repeated, snapshots) < rounds:
        repeated += 1
    least = comb(snapshots + repeated - 2, snapshots) if repeated > 1 else 1
    most_after = comb(snapshots + repeated - 1, snapshots - 1)
    return max(1, least, rounds - most_after)


def thinned(stack: DiskStack) -> DiskStack:
    """Every second of the kept states, from the first: room for those of a longer loop."""
    return stack.thinned()


# ---------------------------------------------------------------------------- kept states


def put_back(array: Any, saved: Any) -> None:
    """Give an array that a checkpointed call or loop writes its kept content again.

    Raises `TypeError` for anything else: containers are not kept.
    """
    if not hasattr(array, "shape") or isinstance(array, np.generic):
        raise TypeError(
            f"a checkpointed call or loop writes a {type(array).__name__}; its state can be kept "
            "if it writes arrays only: return the new value instead"
        )
    array[...] = saved


class DiskStack:
    """A stack of states that are files of a directory, removed when the stack is done with.

    It has what a list has for this purpose: `append`, `pop`, `[-1]` and a length.
    """

    def __init__(self, to: str | os.PathLike[str]) -> None:
        parent = None if to == "disk" else os.fspath(to)
        if parent is not None:
            os.makedirs(parent, exist_ok=True)
        self._directory = tempfile.mkdtemp(prefix="tangentlike-", dir=parent)
        self._files: list[str] = []
        self._made = 0

    def append(self, state: Any) -> None:
        """Write a state: an array of NumPy's or a number."""
        plain = isinstance(state, (np.ndarray, np.generic, bool, int, float, complex))
        array = np.asarray(state if plain else None)
        if array.dtype.hasobject:
            raise TypeError(f"a state of type {type(state).__name__} cannot be written to disk")
        path = os.path.join(self._directory, f"{self._made}.npy")
        self._made += 1
        np.save(path, array, allow_pickle=False)
        self._files.append(path)

    def pop(self) -> Any:
        """The newest state; its file is removed."""
        state = self[-1]
        os.remove(self._files.pop())
        return state

    def __getitem__(self, place: int) -> Any:
        state = np.load(self._files[place], allow_pickle=False)
        return state if state.ndim else state[()]

    def __len__(self) -> int:
        return len(self._files)

    def copied(self) -> DiskStack:
        """A stack of the same states, with files of its own (links to the same ones)."""
        made = DiskStack(os.path.dirname(self._directory))
        for path in self._files:
            link = os.path.join(made._directory, os.path.basename(path))
            try:
                os.link(path, link)
            except OSError:  # a file system without links
                shutil.copyfile(path, link)
            made._files.append(link)
        made._made = self._made
        return made

    def thinned(self) -> DiskStack:
        """The stack itself with every second state removed."""
        for path in self._files[1::2]:
            os.remove(path)
        self._files = self._files[::2]
        return self

    def __del__(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


def stack_on_disk(to: str | os.PathLike[str] | None) -> Any:
    """A stack for kept states: in a directory, or a list where `to` is None."""
    return [] if to is None else DiskStack(to)
