"""Arguments that a function writes in place must have memory of their own.

The derivative works on copies of them: an array that shares memory with one of them would
be written by the function and not by its derivative.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import TangentlikeError
from ..frontend.owners import NUMERICAL, is_standard, mark_of
from ..frontend.primal import global_names
from ..frontend.resolve import contents_of
from ..ir import Ref
from ..pytree import leaves
from ..pytree.leaves import Reach, captured, is_data, is_plain
from ..runtime.records import attribute_of

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


# --------------------------------------------------------------------------------------------------
# Functions that are given, or that only the running program knows: what they read and write of
# what the program has by another way, too.
#
# Nothing is known of them before they run. Where the program writes a copy of an argument, they
# would read what is outside; what they change meanwhile, the derivative would read in its new
# state.


class Unread:
    """The functions in the arguments `of` a call, and in what the program `name` has outside; and
    the data that both they and the program have."""

    def __init__(
        self, name: str, given: Mapping[str, Any], of: Collection[str], outer: Sequence[Ref]
    ) -> None:
        self._name = name
        self._functions: list[Any] = []
        held = (given[name] for name in of if name in given)
        Reach((*held, *(ref.obj for ref in outer)), self._collect)
        self._theirs = Reach(self._functions, _named)
        self._own: dict[str, Reach] = {}
        if any(map(is_data, self._theirs.found.values())):
            ways = [*given.items(), *((ref.text, ref.obj) for ref in outer)]
            self._own = {text: Reach((value,), lambda _: ()) for text, value in ways}

    def _collect(self, fn: Any) -> tuple[Any, ...]:
        if _is_users(fn):
            self._functions.append(fn)
        return ()

    def refuse_written(self, written: Collection[str], may_change: Callable[[Any], bool]) -> None:
        """Refuse arguments that the program writes, and so a copy of, where functions read them."""
        for text in self._own.keys() & set(written):
            if any(leaves.is_array(obj) or may_change(obj) for obj in self._common(text)):
                raise TangentlikeError(
                    f"{self._name} writes its argument `{text}` in place, and a function that it "
                    "is given, or calls, has it, too",
                    hint=f"Pass a copy: {text}={text}.copy(), or give it to the function.",
                )

    def states(self, of: Collection[str] | None) -> list[tuple[str, Any, Any]]:
        """The data that both have, each with the way in which the program has it and its state;
        those of these ways only, None for all."""
        ways = self._own if of is None else self._own.keys() & set(of)
        found = ((text, obj) for text in ways for obj in self._common(text))
        return [(text, obj, _state(obj)) for text, obj in found]

    def _common(self, text: str) -> list[Any]:
        own = self._own[text]
        shared = [a for a in own.arrays if any(leaves.share(a, b) for b in self._theirs.arrays)]
        return shared + [
            obj for obj in own.common(self._theirs) if is_data(obj) and not leaves.is_array(obj)
        ]

    def refuse_changed(self, states: Iterable[tuple[str, Any, Any]]) -> None:
        """Refuse what these functions have changed while they ran."""
        for text, obj, state in states:
            if not _same(_state(obj), state):
                raise TangentlikeError(
                    f"a function that {self._name} is given, or calls, changes `{text}`, which "
                    f"{self._name} has by another way, too",
                    hint=f"Give `{text}` to that function as an argument, or return what is new.",
                )


def _is_users(fn: Any) -> bool:
    """Whether a function may have data: the user's, or one that captures what it is called with."""
    if isinstance(fn, types.FunctionType):
        return not _is_of_library(fn.__module__)
    return isinstance(fn, functools.partial) or is_data(fn.__self__)


@functools.lru_cache(maxsize=512)
def _is_of_library(module: str | None) -> bool:
    root = (module or "").partition(".")[0]
    return root in NUMERICAL or is_standard(root)


def _named(fn: Any) -> Iterable[Any]:
    """What a function captures, or names outside; a derivative does what its function does."""
    operator = mark_of(fn, "tangentlike")
    if operator is not None:
        yield operator.primal.origin
        return
    yield from captured(fn)
    if isinstance(fn, types.FunctionType) and not _is_of_library(fn.__module__):
        yield from _globals_of(fn.__code__, fn.__globals__)


def _globals_of(code: types.CodeType, known: Mapping[str, Any]) -> Iterator[Any]:
    """What a code names outside; some names may be those of attributes."""
    yield from (known[name] for name in code.co_names if name in known)
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _globals_of(part, known)


def _state(obj: Any) -> Any:
    if leaves.is_array(obj):
        return obj.copy()
    if isinstance(obj, (list, deque)):
        return list(obj)
    if isinstance(obj, set):
        return set(obj)
    return dict(obj if isinstance(obj, dict) else attribute_of(obj, "__dict__", None) or {})


def _same(one: Any, other: Any) -> bool:
    """Whether two states are one: the same items, arrays of the same bytes."""
    if leaves.is_array(one):
        return bool(((one == other) | ((one != one) & (other != other))).all())
    if isinstance(one, set):
        return bool(one == other)
    keys = list(one) == list(other) if isinstance(one, dict) else len(one) == len(other)
    values = zip(*((x.values() if isinstance(x, dict) else x) for x in (one, other)), strict=False)
    return keys and all(a is b for a, b in values)
