"""Calls of a derivative by arguments like those of the call before, as most calls are.

What depends on types and shapes alone was asked at that call and is not asked again, and results
are handed back as they are where that is plainly right. For a function that takes microseconds,
the questions take longer than the derivative.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from ..errors import TangentlikeError, UnsupportedError
from ..pytree import leaves
from ..pytree.layouts import forms
from ..runtime import Mirror, NotDifferentiated
from ..runtime.broadcasting import DROPPED
from .blame import watched_by
from .derivation import Derivation

_NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD
OTHER: Any = object()  # a call that is not like the one before
_NUMBERS = (float, np.float64)


def positions(signature: inspect.Signature) -> tuple[str, ...]:
    """The names of parameters by position; "" for those that cannot be given by name.

    >>> positions(inspect.signature(lambda a, /, b, *, c: None))
    ('', 'b')
    """
    params = signature.parameters.values()
    by_position = (p for p in params if p.kind <= _NAMED)
    return tuple(p.name if p.kind == _NAMED else "" for p in by_position)


def by_position(
    names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...] | None:
    """The arguments of a call, all by position; None where these would leave one out.

    >>> by_position(("a", "b", "c"), (1,), {"c": 3, "b": 2})
    (1, 2, 3)
    >>> by_position(("a", "b", "c"), (1,), {"c": 3})
    """
    named = names[len(args) : len(args) + len(kwargs)]
    if kwargs.keys() ^ named:
        return None
    return (*args, *[kwargs[name] for name in named])


def repeated_call(
    derivation: Derivation, chosen: Derivation, args: tuple[Any, ...], shaped: Callable[..., Any]
) -> Callable[[tuple[Any, ...]], Any] | None:
    """What gives the caller's results for the arguments of another call, `OTHER` where these are
    not like `args`, for which `chosen` served; `shaped` makes the emitted function's results the
    caller's. None where more than types has to be asked at each call."""
    places = derivation.places
    if derivation.asks_values or not chosen.asks_nothing_of_data or places is None:
        return None
    if any(place >= len(args) for place in places):
        return None  # (differentiated by what has its default here)
    described = forms(args, {})
    if described is None:
        return None
    call_for = chosen.questions.get(tuple(described))
    if call_for is None:
        compiled, request = chosen.derived.compiled is not None, derivation.request
        of_value = request.mode == "value_and_grad"
        call_for = _written(args, places, compiled, request.bare, of_value)
        chosen.questions.put(tuple(described), call_for)
    if not call_for:
        return None
    derived = chosen.derived
    holds = derived.meanings.hold if chosen.primal.inner is None else chosen.holds

    def general(args: tuple[Any, ...], found: Any, before: Any) -> Any:
        return shaped(args, {}, chosen.real_or_again(found, args, {}, before))

    def instead(refused: TangentlikeError, args: tuple[Any, ...]) -> Any:
        if not isinstance(refused, UnsupportedError):
            raise refused from None
        return shaped(args, {}, chosen.called_instead(refused, args, {}))

    return call_for(derived.compiled or derived.function, holds, chosen, general, instead)


class _NotPlain(Exception):
    """An argument is of a kind of which more than types and shapes would have to be asked."""


_MOST_PARTS = 64  # (the questions are as long as the arguments have parts)
_MOST_PAIRS = 16  # (above, whether arrays are others is asked of them all at once)
_FEW = 4  # items of a list or tuple that are asked for one by one
_CallFor = Callable[..., Callable[[tuple[Any, ...]], Any]]


_CALL = """
def call_for(run, holds, chosen, general, instead):
    def call(args):
        __tracebackhide__ = True
        {alike}
        if not holds() or chosen.better is not None or watched_by() is not None:
            return OTHER
        before = dropped.last
        try:
            found = run(*args)
        except ComplexWarning:
            if not chosen.derived.real: raise
            return general(args, None, before)
        except (Exception, NotDifferentiated) as raised:
            refused = chosen.explained(raised)
            if refused is None:
                raise
        else:
            if dropped.last is not before: return general(args, found, before)
            {own}
        return instead(refused, args)
    return call
"""


def _written(
    args: tuple[Any, ...], places: tuple[int, ...], compiled: bool, bare: bool, of_value: bool
) -> _CallFor | tuple[()]:
    """What makes the function for calls like this one, `OTHER` for arguments that are not like
    these; adjoints of those at `places` (`bare`: of the one there is) of which more has to be asked
    are left to `general`. None of it where the arguments are of other kinds.

    It is written out: loops over parts take longer than all else that a call asks.
    """
    made, names = _Written(), [f"x{n}" for n in range(len(args))]
    bars = [f"bar{n}" for n in range(len(places))]
    made.test(f"len(args) == {len(args)}")
    made.alike.append(f"{_tuple(names)} = args")
    bound = bars[0] if bare else _tuple(bars)
    made.own.append(f"{f'value, {bound}' if of_value else bound} = found")
    try:
        for name, value in zip(names, args, strict=True):
            made.argument(name, value)
        if of_value:
            made.check("type(value) in numbers")
        results = [
            made.gradient(names[place], bar, args[place])
            for place, bar in zip(places, bars, strict=True)
        ]
    except _NotPlain:
        return ()
    made.ask_for_memory(compiled)
    result = results[0] if bare else _tuple(results)
    made.own.append(f"return value, {result}" if of_value else f"return {result}")
    alike, own = "\n        ".join(made.alike), "\n            ".join(made.own)
    exec(compile(_CALL.format(alike=alike, own=own), "<a repeated call>", "exec"), made.known)
    call_for: _CallFor = made.known["call_for"]
    return call_for


def _tuple(texts: Sequence[str]) -> str:
    return f"({''.join(f'{text}, ' for text in texts)})"


class _Written:
    """The lines that ask whether arguments are `alike` and make the gradients the caller's `own`,
    and what they name; `arrays` are names of arrays in the arguments, `bars` of those among their
    adjoints."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {
            **{"ndarray": np.ndarray, "array": np.array, "numbers": _NUMBERS},
            **{"Mirror": Mirror, "OTHER": OTHER},
            **{
                "may_share": np.may_share_memory,
                "is_base": _is_base,
                "owner_of": _owner_of,
                "with_fields": _with_fields,
            },
            **{"NotDifferentiated": NotDifferentiated, "watched_by": watched_by},
            **{"dropped": DROPPED, "ComplexWarning": ComplexWarning},
        }
        self.alike: list[str] = []
        self.own: list[str] = []
        self.arrays: list[str] = []
        self.bars: list[str] = []

    def constant(self, value: Any) -> str:
        """A name for a value that a question compares with."""
        name = f"c{len(self.known)}"
        self.known[name] = value
        return name

    def test(self, condition: str) -> None:
        self.alike.append(f"if not ({condition}): return OTHER")

    def check(self, condition: str) -> None:
        self.own.append(f"if not ({condition}): return general(args, found, before)")

    # ----------------------------------------------------------------------- arguments

    def argument(self, name: str, value: Any) -> None:
        """Ask whether what has this name is of the form of a value."""
        kind = type(value)
        self.test(f"type({name}) is {self.constant(kind)}")
        if kind is np.ndarray:
            if value.dtype.kind not in "fiub":
                raise _NotPlain
            dtype = self.constant(value.dtype)
            self.test(f"{name}.shape == {value.shape!r} and {_same_dtype(name, dtype)}")
            self.arrays.append(name)
        elif kind is complex:
            raise _NotPlain
        elif kind not in leaves.PLAIN:
            self._container(name, value)

    def _container(self, name: str, value: Any) -> None:
        named = isinstance(value, tuple) and hasattr(value, "_fields")
        if leaves.is_registered(value):
            raise _NotPlain
        if named or type(value) in (tuple, list):
            self.test(f"len({name}) == {len(value)}")
            if _is_long(value):
                kinds = [*map(type, value)]
                if complex in kinds:
                    raise _NotPlain
                alike = {*kinds} if len({*kinds}) == 1 else None
                asked = f"[*map(type, {name})]" if alike is None else f"{{*map(type, {name})}}"
                self.test(f"{asked} == {self.constant(alike or kinds)}")
            else:
                self._parts(name, list(value), name)
        elif type(value) is dict:
            self.test(f"[*{name}] == {self.constant([*value])}")
            self._parts(name, [*value.values()], f"{name}.values()")
        else:
            fields = leaves.plain_fields(value)
            if fields is None:
                raise _NotPlain
            self.alike.append(f"{name}_dict = {name}.__dict__")
            self.test(f"[*{name}_dict] == {self.constant([*fields])}")
            self._parts(name, [*fields.values()], f"{name}_dict.values()")

    def _parts(self, name: str, values: list[Any], found: str) -> None:
        names = [f"{name}_{n}" for n in range(len(values))]
        if len(self.alike) + len(values) > 2 * _MOST_PARTS:
            raise _NotPlain
        if names:
            self.alike.append(f"{', '.join(names)}, = {found}")
        for part, value in zip(names, values, strict=True):
            self.argument(part, value)

    # ----------------------------------------------------------------------- gradients

    def gradient(self, name: str, bar: str, value: Any) -> str:
        """Ask whether an adjoint is plainly right; how the gradient with respect to a value of this
        name is written."""
        kind = type(value)
        if kind is float:
            self.check(f"type({bar}) in numbers")
            return f"float({bar})"
        if kind is np.ndarray and value.dtype.kind == "f":
            if value.shape == () and value.dtype == float:  # (its adjoint may be a number)
                self.own.append(f"if type({bar}) in numbers: {bar} = array({bar})")
            same = f"{bar}.shape == {value.shape!r} and {_same_dtype(bar, f'{name}.dtype')}"
            self.check(f"type({bar}) is ndarray and {same}")
            self.bars.append(bar)
            return bar
        if kind is np.float64:
            self.check("False")
        if kind in leaves.PLAIN or kind is np.ndarray:
            return "None"
        if isinstance(value, tuple) or kind is list:
            return self._of_items(name, bar, value)
        items = [*(value if kind is dict else value.__dict__).items()]
        if kind is dict:
            self.check(f"type({bar}) is dict and {bar}.keys() == {name}.keys()")
            reads = [f"{bar}[{self.constant(key)}]" for key, _ in items]
        else:
            self.check(f"type({bar}) is Mirror")
            reads = [f"getattr({bar}, {key!r}, None)" for key, _ in items]
        found = self._of_parts(name, bar, [part for _, part in items], reads)
        if kind is dict:
            return f"dict(zip({name}, [{', '.join(found)}]))"
        return f"with_fields({name}, [{', '.join(found)}])"

    def _of_items(self, name: str, bar: str, value: Any) -> str:
        kind = type(value)
        if _is_long(value):
            kinds = {*map(type, value)}
            if kinds.isdisjoint(_NUMBERS):
                return f"{'[None]' if kind is list else '(None,)'} * {len(value)}"
            if kinds != {float}:
                raise _NotPlain
            self.check(f"isinstance({bar}, (list, tuple)) and len({bar}) == {len(value)}")
            self.check(f"{{*map(type, {bar})}} == {self.constant({float})}")
            return f"[*{bar}]" if kind is list else f"tuple({bar})"
        self.check(f"isinstance({bar}, (list, tuple)) and len({bar}) == {len(value)}")
        reads = [f"{bar}[{n}]" for n in range(len(value))]
        found = self._of_parts(name, bar, [*value], reads)
        if kind is list:
            return f"[{', '.join(found)}]"
        return _tuple(found) if kind is tuple else f"{self.constant(kind)}({', '.join(found)})"

    def _of_parts(self, name: str, bar: str, values: list[Any], reads: list[str]) -> list[str]:
        found = []
        for n, (value, read) in enumerate(zip(values, reads, strict=True)):
            self.own.append(f"{bar}_{n} = {read}")
            found.append(self.gradient(f"{name}_{n}", f"{bar}_{n}", value))
        return found

    def ask_for_memory(self, compiled: bool) -> None:
        """Ask whether the arrays among the adjoints have memory of their own that is no other's.
        (Those of `compiled` code have theirs from elsewhere.)"""
        others = [*self.arrays]
        few = len(self.bars) * len(others) <= _MOST_PAIRS
        for bar in self.bars:
            if compiled:
                self.check(f"not isinstance({bar}.base, ndarray) and {bar}.flags.writeable")
                for other in others:
                    self.check(f"not may_share({bar}, {other})")
                others.append(bar)
                continue
            owner = f"{bar}_owner"
            self.own.append(f"{owner} = {bar} if {bar}.base is None else owner_of({bar})")
            different = [f"{owner} is not {other}" for other in ("None", *(others if few else ()))]
            self.check(" and ".join(different))
            others.append(owner)
        if not few and not compiled:
            before, after = (
                f"len({{{', '.join(f'id({name})' for name in names)}}})"
                for names in (self.arrays, others)
            )
            self.check(f"{before} + {len(self.bars)} == {after}")
        views = " or ".join(f"{name}.base is not None" for name in self.arrays)
        if self.bars:
            both = f"{_tuple(others[len(self.arrays) :])}, {_tuple(self.arrays)}"
            self.check(f"not (({views}) and is_base({both}))")


def _same_dtype(name: str, dtype: str) -> str:
    """Whether an array has a dtype. (Most are one object, those of compiled code are not.)"""
    return f"({name}.dtype is {dtype} or {name}.dtype == {dtype})"


def _with_fields(value: Any, items: list[Any]) -> Any:
    """An object of the same class that has other fields (`leaves.plain_fields`)."""
    made = object.__new__(type(value))
    made.__dict__.update(zip(value.__dict__, items, strict=True))
    return made


def _is_long(value: Any) -> bool:
    """Whether a list or tuple of plain values is asked for as a whole."""
    return len(value) > _FEW and leaves.is_flat(value)


def _owner_of(view: Any) -> Any:
    """The array that has the memory of a view that may be written; None where there is none."""
    owner = view
    while type(owner.base) is np.ndarray:
        owner = owner.base
    return owner if owner.flags.owndata and view.flags.writeable else None


def _is_base(bars: Any, args: tuple[Any, ...]) -> bool:
    """Whether an argument is a view of one of these arrays."""
    for value in args:
        owner: Any = value.base if isinstance(value, np.ndarray) else None
        while owner is not None:
            if any(owner is bar for bar in bars):
                return True
            owner = getattr(owner, "base", None)
    return False
