"""Calls of a derivative by arguments like those of the call before, as most calls are.

What depends on types and shapes alone was asked at that call and is not asked again, and results
are handed back as they are where that is plainly right. For a function that takes microseconds,
the questions take longer than the derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..pytree import leaves
from ..runtime import NotDifferentiated
from .blame import replaced
from .derivation import Derivation

OTHER: Any = object()  # a call that is not like the one before
_NUMBERS = (float, np.float64)


def repeated_call(
    derivation: Derivation, chosen: Derivation, args: tuple[Any, ...], shaped: Callable[..., Any]
) -> Callable[[tuple[Any, ...]], Any] | None:
    """What gives the caller's results for the arguments of another call, `OTHER` where these are
    not like `args`, for which `chosen` served; `shaped` makes the emitted function's results the
    caller's. None where more than types has to be asked at each call."""
    places = derivation.places
    if derivation.asks_values or not chosen.asks_nothing or places is None:
        return None
    if any(place >= len(args) for place in places):
        return None  # (differentiated by what has its default here)
    if not all(type(value) is np.ndarray or type(value) in leaves.PLAIN for value in args):
        return None
    emitted, count = chosen.derived.functions[-1], len(args)
    forms = [_form(value) for value in args]
    compiled = chosen.derived.compiled is not None
    alike, some_view, are_own = _questions(forms, places, compiled)
    single, of_value = derivation.request.bare, derivation.request.mode == "value_and_grad"
    holds = chosen.derived.meanings.hold if chosen.primal.inner is None else chosen.holds

    def call(args: tuple[Any, ...]) -> Any:
        __tracebackhide__ = True
        if len(args) != count or not alike(*args) or not holds() or chosen.is_improved:
            return OTHER
        refused = None
        try:
            found = replaced(chosen, emitted)(*args)
        except (Exception, NotDifferentiated) as raised:
            refused = chosen.explained(raised)
            if refused is None:
                raise
        if isinstance(refused, UnsupportedError):
            return shaped(args, {}, chosen.called_instead(refused, args, {}))
        if refused is not None:
            raise refused from None
        value, bars = found if of_value else (0.0, found)
        all_bars = (bars,) if single else bars
        own = type(value) in _NUMBERS and are_own(*args, *all_bars)
        if own and not (some_view(*args) and _is_base(all_bars, args)):
            return found
        return shaped(args, {}, chosen.real_or_again(found, args, {}))

    return call


def _form(value: Any) -> tuple[Any, Any, Any]:
    """The type of a value, with shape and dtype of an array."""
    if type(value) is np.ndarray:
        return np.ndarray, value.shape, value.dtype
    return type(value), None, None


def _questions(
    forms: list[tuple[Any, Any, Any]], places: Iterable[int], compiled: bool
) -> tuple[Callable[..., bool], ...]:
    """Whether arguments are of these forms, whether one of them is a view, and, of arguments and
    the adjoints of those at `places`, whether each adjoint is of the form of its argument: a float,
    or an array that owns its memory and is no other adjoint nor an argument. (Arrays that are
    `compiled` code's have their memory from elsewhere.)

    One expression each: loops take longer than all else that a call asks.
    """
    known: dict[str, Any] = {"float": float, "ndarray": np.ndarray, "is_apart": leaves.is_apart}
    names: list[str] = []
    bars: list[str] = []
    alike, views, own = ["True"], ["False"], ["True"]
    for index, (kind, shape, dtype) in enumerate(forms):
        names.append(name := f"x{index}")
        known |= {f"{name}_type": kind, f"{name}_dtype": dtype}
        alike.append(f"type({name}) is {name}_type")
        if shape is not None:
            alike.append(f"{name}.shape == {shape!r} and {name}.dtype is {name}_dtype")
            views.append(f"{name}.base is not None")
    for place in places:
        kind, shape, dtype = forms[place]
        bar = f"x{place}_bar"
        if shape is None:
            own.append(f"type({bar}) is float" if kind is float else "False")
        else:
            others = (*names, *bars)
            own.append(f"type({bar}) is ndarray and {bar}.shape == {shape!r}")
            if compiled:
                own.append(f"{bar}.dtype == x{place}_dtype")
                own.append(f"is_apart({bar}, ({', '.join(others)},))")
            else:
                own.append(f"{bar}.dtype is x{place}_dtype and {bar}.base is None")
                own.extend(f"{bar} is not {other}" for other in others)
        bars.append(bar)
    written = (
        f"lambda {', '.join(names)}: {' and '.join(alike)}",
        f"lambda {', '.join(names)}: {' or '.join(views)}",
        f"lambda {', '.join((*names, *bars))}: {' and '.join(own)}",
    )
    return tuple(eval(text, known) for text in written)


def _is_base(bars: Any, args: tuple[Any, ...]) -> bool:
    """Whether an argument is a view of one of these arrays."""
    for value in args:
        owner: Any = value.base if isinstance(value, np.ndarray) else None
        while owner is not None:
            if any(owner is bar for bar in bars):
                return True
            owner = getattr(owner, "base", None)
    return False
