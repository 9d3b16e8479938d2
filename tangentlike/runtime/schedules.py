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
from functools import lru_cache
from itertools import pairwise
from math import comb, isqrt
from typing import Any

import numpy as np

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
        raise ValueError("a checkpointed loop saves at least one state: every and snapshots >= 1")
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
    kept: Sequence[int] | None = None,
) -> Moves:
    """The moves that reverse a loop from the states that its forward sweep kept.

    `kept` are the rounds whose states those are where the length was not known beforehand.

    >>> list(moves_back(5, every=3))
    [(False, 3, 5), (False, 0, 3)]
    >>> list(moves_back(3, snapshots=1))
    [(False, 2, 3), (True, 0, 1), (False, 1, 2), (False, 0, 1)]
    """
    if kept is not None:
        return Moves(kept, rounds, snapshots)
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


def repeated_rounds(rounds: int, snapshots: int) -> int:
    """Forward rounds that the binomial schedule makes before the reversed ones, at least one for
    each but the last: as few as is possible.

    >>> repeated_rounds(10, 3)
    15
    """
    if rounds <= 1:
        return 0
    if snapshots == 1:
        return rounds * (rounds - 1) // 2
    r = 1
    while comb(snapshots + r, snapshots) < rounds:
        r += 1
    return r * rounds - comb(snapshots + r, r - 1)


# ------------------------------------------------------------------- loops of unknown length


def least_needed(kept: Sequence[int], rounds: int) -> int:
    """Which state is given up when that of round `rounds` comes to the kept ones, of which there
    are as many as may be: its place among them, or behind them for the one that comes.

    It is the one without which the loop, if it ended with this round, would be reversed with the
    fewest repeated rounds.

    >>> [least_needed([0, 1, 4], rounds) for rounds in (5, 6)]
    [3, 1]
    """
    count, since = len(kept), rounds - kept[-1]
    place, others, without_newest, as_they_are = _if_given_up(tuple(kept))
    choices = [(as_they_are + repeated_rounds(since + 1, 1), -count)]
    if count > 1:
        longer = repeated_rounds(rounds - kept[-2], 2)
        choices.append((without_newest + longer, 1 - count))
    if count > 2:
        choices.append((others + repeated_rounds(since, 2), -place))
    return -min(choices)[1]


@lru_cache(maxsize=8)
def _if_given_up(kept: tuple[int, ...]) -> tuple[int, int, int, int]:
    """What can be said before the round is known: the state between the first and the newest that
    is needed least and the repeated rounds without it, those without the newest, and those with
    all, each before the newest state. The k-th stretch is reversed with all but k of the states."""
    count = len(kept)
    lengths = [after - before for before, after in pairwise(kept)]
    now = [repeated_rounds(length, count - k) for k, length in enumerate(lengths)]
    moved = [repeated_rounds(length, count - k + 1) for k, length in enumerate(lengths)]
    before, after = 0, sum(moved[1:])  # of the stretches before and after the two that join
    best, place = 0, 0
    for k in range(1, count - 1):
        after -= moved[k]
        cost = before + repeated_rounds(kept[k + 1] - kept[k - 1], count - k + 1) + after
        before += now[k - 1]
        if place == 0 or cost <= best:
            best, place = cost, k
    return place, best, sum(now[:-1]), sum(now)


# ---------------------------------------------------------------------------- kept states


def put_back(array: Any, saved: Any) -> None:
    """Give an array that a checkpointed call or loop writes its kept content again.

    Raises `TypeError` for anything else: containers are not kept.
    """
    if not hasattr(array, "shape") or isinstance(array, np.generic):
        raise TypeError(
            f"a checkpointed call or loop writes a {type(array).__name__}; its state can be saved "
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

    def pop(self, place: int = -1) -> Any:
        """The newest state, or that of a place; its file is removed."""
        state = self[place]
        os.remove(self._files.pop(place))
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

    def __del__(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


def stack_on_disk(to: str | os.PathLike[str] | None) -> Any:
    """A stack for kept states: in a directory, or a list where `to` is None."""
    return [] if to is None else DiskStack(to)
