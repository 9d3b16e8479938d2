"""Arguments that a function writes in place must have memory of their own.

The derivative works on copies of them: an array that shares memory with one of them would
be written by the function and not by its derivative.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import TangentlikeError
from ..frontend.primal import global_names
from ..frontend.resolve import contents_of
from ..ir import Ref
from ..pytree import leaves
from ..pytree.reach import Reach, is_plain

if TYPE_CHECKING:
    from ..analysis.outer_objects import Changed


class Apart:
    """Looks for memory shared by the arguments of one function, and with what is outside of it."""

    def __init__(self, function: types.FunctionType, name: str) -> None:
        self._name = name
        self._globals = function.__globals__
        self._read = tuple(dict.fromkeys(global_names(function.__code__)))
        names = function.__code__.co_freevars
        self._cells = tuple(zip(names, function.__closure__ or (), strict=False))

    def refuse_shared(
        self, given: Mapping[str, Any], written: Sequence[str], touched: Iterable[Ref]
    ) -> None:
        """Refuse arguments that share memory with one that is written; `touched` are arrays that
        the function, or what it calls, has from outside."""
        for name in written:
            inside = list(leaves.arrays(given.get(name)))
            if len(inside) > 1 and leaves.hold_one_twice(inside):
                raise TangentlikeError(
                    f"{self._name} writes its argument `{name}` in place, and two arrays in "
                    "it share memory",
                    hint="Store a copy of one of them in it.",
                )
            for other, value in given.items():
                if other != name and _share(inside, value):
                    raise self._refusal(name, f"`{other}`")
            for other, value in (*self._outer(), *((ref.text, ref.obj) for ref in touched)):
                if _share(inside, value):
                    raise self._refusal(name, f"the outer `{other}`")

    def refuse_found_twice(
        self,
        given: Mapping[str, Any],
        written: Sequence[str],
        changed: Changed,
        outer: Iterable[Ref],
    ) -> None:
        """Refuse arguments that are changed where a container or an object in them may be, and is
        found by another way as well."""
        for name in written:
            value = given.get(name)
            if leaves.is_array(value) or is_plain(value):
                continue
            own = Reach((value,))
            for obj in filter(changed.may_change, own.twice.values()):
                raise TangentlikeError(
                    f"{self._name} changes its argument `{name}`, which holds one "
                    f"{type(obj).__name__} twice",
                    hint="Store a copy of it in one of the places.",
                )
            for other, held in given.items():
                if other != name and any(map(changed.may_change, own.common(Reach((held,))))):
                    raise self._refusal(name, f"`{other}`")
            for ref in outer:
                if any(map(changed.may_change, own.common(Reach((ref.obj,))))):
                    raise self._refusal(name, f"the outer `{ref.text}`")

    def refuse_overwritten(self, given: Mapping[str, Any], overwritten: Iterable[Ref]) -> None:
        """Refuse arguments that share memory with an outer array that is written."""
        for ref in overwritten:
            outer = list(leaves.arrays(ref.obj))
            for name, value in given.items():
                if outer and _share(outer, value):
                    raise TangentlikeError(
                        f"{self._name} writes the outer `{ref.text}` in place, and its argument "
                        f"`{name}` shares memory with it",
                        hint=f"Pass a copy: {name}={name}.copy().",
                    )

    def refuse_lent(self, given: Mapping[str, Any], lent: Sequence[Ref]) -> None:
        """Refuse arguments from which outer objects can be reached that the function changes."""
        changed = Reach(ref.obj for ref in lent)
        themselves = {(ref.text, id(ref.obj)) for ref in lent}  # (of an emitted function)
        for name, value in given.items():
            if (name, id(value)) not in themselves and Reach((value,)).meets(changed):
                outer = " and ".join(f"`{ref.text}`" for ref in lent)
                raise TangentlikeError(
                    f"{self._name} changes the outer {outer}, and so may its argument `{name}`",
                    hint="Use one of them: the argument, or what is outside.",
                )

    def _refusal(self, name: str, other: str) -> TangentlikeError:
        return TangentlikeError(
            f"{self._name} writes its argument `{name}` in place, and {other} shares memory "
            "with it",
            hint=f"Pass a copy: {name}={name}.copy().",
        )

    def _outer(self) -> Iterator[tuple[str, Any]]:
        """The arrays that the function's outer names stand for now."""
        for name in self._read:
            value = self._globals.get(name)
            if leaves.is_array(value):
                yield name, value
        for name, cell in self._cells:
            value = contents_of(cell)
            if leaves.is_array(value):
                yield name, value


def _share(arrays: Sequence[Any], value: Any) -> bool:
    """Whether one of the arrays has memory in common with one that a value is or holds."""
    if isinstance(value, (bool, int, float, str)):
        return False
    return any(leaves.share(a, b) for b in leaves.arrays(value) for a in arrays)
