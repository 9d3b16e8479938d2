"""Code that looks at the function it stands in, or runs text: neither can be read here."""

from __future__ import annotations

import builtins

from ..errors import Place, UnsupportedError
from ..ir import Ref

_LOOKING = (builtins.locals, builtins.globals, builtins.dir)
_RUNNING_TEXT = (builtins.eval, builtins.exec)


def refuse_looking(fn: Ref, has_arguments: bool, place: Place | None) -> None:
    """Refuse a call of what sees the frame it stands in, which is another one in other code."""
    bare = fn.obj is builtins.vars and not has_arguments
    if bare or any(fn.obj is looking for looking in _LOOKING):
        raise _refusal(fn, place)


def refuse_running_text(ref: Ref, place: Place | None) -> None:
    """Refuse `exec` and `eval`, also where they are given another name."""
    if any(ref.obj is runs for runs in _RUNNING_TEXT):
        raise _refusal(ref, place)


def _refusal(fn: Ref, place: Place | None) -> UnsupportedError:
    return UnsupportedError(
        f"`{fn.text}` depends on the function it is called in", place, "Use the names themselves."
    )


def refuse_super(fn: Ref, found: bool, at: Place | None) -> None:
    """`super()` finds the class it stands in, unless it is told."""
    if fn.obj is super and not found:
        raise UnsupportedError(
            "`super()` without arguments only works inside its class",
            at,
            "Name them: `super(Class, self)`.",
        )
