"""A debugger in the emitted text: where a derivative begins, or where an adjoint is made."""

from __future__ import annotations

import os
import pdb
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .. import ir
from ..codegen.print.load import is_emitted
from ..dispatch.blame import watching
from ..dispatch.derivation import Derivation
from ..errors import TangentlikeError
from .instrument import Probe, StandIns
from .linemap import Statement, derivation_behind

PACKAGE = __name__.partition(".")[0]
Action = Callable[[Statement, Any], None]


class Debugger(pdb.Pdb):
    """Python's debugger, which passes over what lies between a call and the text of a derivative.

    `tl.debugging.Debugger().set_trace()` starts it where `pdb.set_trace()` would: `step` into a
    call of a derivative then lands in its text.
    """

    def stop_here(self, frame: FrameType) -> bool:
        """Whether to stop in a frame: never in ours, nor in what ours called."""
        return not _is_between(frame) and bool(super().stop_here(frame))


def _is_between(frame: FrameType) -> bool:
    inner: FrameType | None = frame
    while inner is not None:
        if is_emitted(inner.f_code.co_filename):
            return False
        if str(inner.f_globals.get("__name__", "")).partition(".")[0] == PACKAGE:
            return True
        inner = inner.f_back
    return False


def step_into(df: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a derivative in Python's debugger, which stops at the first line of its text.

    Parameters
    ----------
    df : what `tl.grad` or another operator returned.
    *args, **kwargs : what it is called with.

    Returns
    -------
    what `df` returns.

    Raises
    ------
    TangentlikeError
        if `df` is not a derivative.
    """
    derivation_behind(df)

    def stopping(derivation: Derivation, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **words: Debugger().runcall(function, *given, **words)

    with watching(stopping):
        return df(*args, **kwargs)


@contextmanager
def breakpoint_on_adjoint(
    name: str, when: Callable[[Any], Any] | None = None, action: Action | None = None
) -> Iterator[None]:
    """Stop in the debugger wherever the adjoint of a name is made.

    Parameters
    ----------
    name : of a variable of yours, `"h"`, in the function or its helpers; or that of an adjoint as
        it stands in the derivative, `"h_bar"`.
    when : stops only where this is true of the new adjoint: `lambda g: np.isnan(g).any()`.
    action : called with the statement and the adjoint instead of the debugger.

    Yields
    ------
    None
        in a `with` block, or around a function as a decorator.

    Raises
    ------
    TangentlikeError
        at the end of the block, if no adjoint of that name was made in it.

    Examples
    --------
    >>> import tangentlike as tl
    >>> def f(x):
    ...     h = x * x
    ...     return 3.0 * h + h * h
    >>> with tl.breakpoint_on_adjoint("h", action=lambda statement, g: print(g)):
    ...     _ = tl.grad(f)(2.0)
    11.0
    """
    stops = _Stops(name, when, action)
    with watching(stops):
        yield
    if not stops.made:
        known = sorted({n.removesuffix("_bar") for n in stops.adjoints if n.endswith("_bar")})
        raise TangentlikeError(
            f"no adjoint of `{name}` was made",
            hint=f"These names have one: {', '.join(known)}."
            if known
            else "No derivative in reverse mode was called within the block.",
        )


class _Stops(StandIns):
    """Stands in for emitted functions with ones that stop."""

    def __init__(self, name: str, when: Callable[[Any], Any] | None, action: Action | None) -> None:
        super().__init__()
        adjoint = re.escape(name if name.endswith("_bar") else f"{name}_bar")
        self.pattern = re.compile(rf"{adjoint}\d*(\[.*\]|\..*)?")
        self.when, self.action = when, action
        self.made = False
        self.adjoints: set[str] = set()

    def probe(self, number: int) -> Probe:
        return _StopProbe(self)


class _StopProbe(Probe):
    def __init__(self, stops: _Stops) -> None:
        self.stops = stops

    def done(self, index: int, *values: Any) -> None:
        found = zip(self.names.get(index, ()), values, strict=False)
        self._made(self.lines.statements[index], found)

    def returned(self, index: int, value: Any) -> Any:
        statement = self.lines.statements[index]
        self._made(statement, _named(statement.given, value))
        return value

    def _made(self, statement: Statement, found: Iterable[tuple[str, Any]]) -> None:
        if statement.role not in ("adjoint", "restore"):
            return
        stops = self.stops
        for name, value in found:
            stops.adjoints.add(name)
            if not stops.pattern.fullmatch(name):
                continue
            stops.made = True
            if stops.when is not None and not stops.when(value):
                continue
            if stops.action is not None:
                stops.action(statement, value)
            else:
                _stop_at(sys._getframe(2), statement)


def _named(names: ir.Target, value: Any) -> Iterator[tuple[str, Any]]:
    """The names that the parts of a value would have."""
    if isinstance(names, str):
        yield from [(names, value)] if names else []
        return
    for name, part in zip(names, value, strict=False):
        yield from _named(name, part)


def _stop_at(frame: FrameType, statement: Statement) -> None:
    """The debugger that `breakpoint()` would start; Python's own at the emitted line itself."""
    place = statement.place
    print(f"{place.file}:{place.line}: the adjoint of: {place.text}", file=sys.stderr)
    if sys.breakpointhook is sys.__breakpointhook__ and not os.environ.get("PYTHONBREAKPOINT"):
        Debugger().set_trace(frame)
    else:
        sys.breakpointhook()
