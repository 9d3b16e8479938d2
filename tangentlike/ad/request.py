"""What is asked for when a derivative is made."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from ..ir.kind import MOST_EXACT, Kind


@dataclass(frozen=True)
class Reading:
    """What of a program is read the longer way, because it was refused the shorter one.

    `objects`: functions that capture values are objects of classes of their own; `managers`:
    context managers are written out; `namespace` is the module
    that the arrays name as theirs (`x.__array_namespace__()`); `by_identity`: adjoints of memory
    are found by identity when it runs; `specialized`: the call has said what it can of the types,
    and what is not known yet is found when it runs; `looked_up`: names of methods that were taken
    for those of arrays or containers, and that a call has shown to be others; `lent`: names of
    outer objects that it changes, and is given as arguments; `handed`: outer arrays that it hands
    on as views that are read only; `unchanged`: outer objects that may be changed, and of which the
    run asks whether they are; `cells`: variables that inner functions capture, and that are bound
    again, are items that both hold; `stored`: what the program was found to store in containers and
    objects before the latest of its statements was cut out, which the next round begins with.
    """

    objects: bool = False
    managers: bool = False
    namespace: ModuleType | None = None
    by_identity: bool = False
    specialized: bool = False
    looked_up: frozenset[str] = frozenset()
    lent: tuple[str, ...] = ()
    handed: tuple[Any, ...] = ()
    unchanged: tuple[Any, ...] = ()
    cells: bool = False
    stored: list[Any] = field(default_factory=list, compare=False)

    def longer(self, needs: str) -> Reading | None:
        """The longer reading that a refusal asks for, None if it is read in that way already."""
        if needs == "objects" and not self.objects:
            return replace(self, objects=True)
        if needs == "managers" and not self.managers:
            return replace(self, managers=True)
        if needs == "cells" and not self.cells:
            return replace(self, cells=True)
        return None


PLAIN_READING = Reading()


@dataclass(frozen=True)
class Request:
    """What is asked of one function.

    `mode`: "grad", "value_and_grad", "adjoint", "tangent", "change" (the tangent without the
    value), "pair", or "callee" (a pair for
    emitted code to call); `wrt` are names; `bare`: a single gradient is returned by itself;
    `has_complex`: some argument is complex (the derivative then allows for it everywhere);
    `has_foreign`: some argument is an array that is not NumPy's; `structures`: what is known of
    arguments that hold objects, or dicts with numbers for keys;
    `exposed`: whoever calls it may write in place what it is given or gives back; `settled`: the
    call tells no more of its arguments; `writes`: whoever calls it sees what it writes, and gives
    and takes adjoints by identity; `strict`: what is refused is refused at once, also where a
    call may not reach it; `namespace`: the module that the arrays name as theirs; `by_identity`:
    adjoints are found by identity though names would do; `looked_up`: see `Reading`; `reuse`:
    arrays that nothing reads any more are written anew; `any_outside`: nothing is known of the
    numbers and arrays outside.
    """

    mode: str
    wrt: tuple[str, ...]
    bare: bool = True
    has_aux: bool = False
    example: tuple[Any, ...] | None = field(default=None, compare=False)
    target: str = "numpy"
    has_complex: bool = False
    has_foreign: bool = False
    structures: tuple[tuple[str, Kind], ...] = ()
    exposed: bool = False
    settled: bool = False
    writes: bool = False
    strict: bool = False
    namespace: ModuleType | None = None
    by_identity: bool = False
    looked_up: frozenset[str] = frozenset()
    reuse: bool = False
    any_outside: bool = False

    @property
    def exact(self) -> int:
        """Axes of how many entries are known exactly: compiled loops over so few are unrolled."""
        return MOST_EXACT if self.target == "numba" else 1

    @property
    def awaits_types(self) -> bool:
        """Whether a call may tell more of the types."""
        return self.example is None and not self.tells_ranks and not self.settled

    @property
    def tells_ranks(self) -> bool:
        """Whether it says which arguments are numbers."""
        return any(kind.tells_ranks for _, kind in self.structures)
