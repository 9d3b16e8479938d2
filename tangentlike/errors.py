"""What tangentlike says when it refuses.

Every refusal has one shape: where (file and line), what, the source line with a caret
under the offending part, and what to do instead::

    model.py:7: no derivative rule for numpy.linalg.qr
        q, r = np.linalg.qr(a)
               ^^^^^^^^^^^^^^^
    Add a rule with @tl.rule(np.linalg.qr), or apply tl.stop_gradient to its argument.

Two roots: `TangentlikeError` is about the user's program or call, `InternalError` is our bug.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar


@dataclass(frozen=True)
class Place:
    """A piece of the user's source: what a caret points at, and what a comment quotes.

    Lines count from 1 and columns from 0 (UTF-8 columns are already turned into characters).
    `text` is the whole logical line with its indentation removed, `column` is relative to it.
    """

    file: str
    line: int
    text: str = ""
    column: int = 0
    width: int = 0

    @property
    def is_emitted(self) -> bool:
        """Whether it is a line of a derivative's text."""
        return self.file.startswith("<tangentlike")

    def render(self, message: str, hint: str = "") -> str:
        """Format one refusal as a compiler would."""
        lines = [f"{self.file}:{self.line}: {message}"]
        if self.text:
            first = self.text.splitlines()[0]
            lines.append(f"    {first}")
            width = max(1, min(self.width, len(first) - self.column))
            lines.append("    " + " " * self.column + "^" * width)
        if hint:
            lines.append(hint)
        return "\n".join(lines)


class TangentlikeError(Exception):
    """A request we cannot serve: the message says where, why, and what to do instead.

    Parameters
    ----------
    message : str
        What was found, in one line.
    place : Place, optional
        The file and line, with the text that a caret points at.
    hint : str
        What to do instead; may be empty. All three are attributes, too.

    Examples
    --------
    >>> import tangentlike as tl
    >>> def area(width, height):
    ...     return width * height
    >>> tl.grad(area, wrt="depth")
    Traceback (most recent call last):
    ...
    tangentlike.errors.TangentlikeError: area has no parameter 'depth'
    The parameters of area are `width`, `height`.
    """

    def __init__(self, message: str, place: Place | None = None, hint: str = "") -> None:
        self.message = message
        self.place = place
        self.hint = hint
        if place is not None:
            text = place.render(message, hint)
        else:
            text = f"{message}\n{hint}" if hint else message
        super().__init__(text)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.place, self.hint)


class UnsupportedError(TangentlikeError):
    """The program uses something that we do not differentiate (yet, or at all).

    Parameters
    ----------
    message, place, hint
        As for `TangentlikeError`.
    needs
        What may not refuse it: a function read with its "objects" or context "managers", with
        captured variables in "cells", or the other treatment of "memory"; "" if nothing is known to
        help.

    Examples
    --------
    >>> import tangentlike as tl
    >>> def f(x):
    ...     return float(str(x))
    >>> tl.grad(f)(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tangentlike.errors.UnsupportedError: ...:2: a number is made from text, and the text from ...
    """

    needs = ""  # what may not refuse it: a reading with "objects", "managers", "cells", or "memory"
    of_names = False  # whether it is about what only adjoints by name assume of a call
    method = ""  # the name that it takes for the method of an array or a container
    outer: tuple[Any, ...] = ()  # objects outside of the function whose changes refuse it
    surely = True  # whether they are changed by name, or in every run that comes to the place
    late = False  # whether what may change them is known only when it runs

    calls: tuple[Place, ...] = ()  # where the function around the place is called, inside out
    cause: Place | None = None  # where it is, if `place` is a call that leads there

    def __init__(
        self, message: str, place: Place | None = None, hint: str = "", needs: str = ""
    ) -> None:
        super().__init__(message, place, hint)
        if needs:
            self.needs = needs


_Refusal = TypeVar("_Refusal", bound=UnsupportedError)


def again(refusal: _Refusal) -> _Refusal:
    """The same refusal, to be raised another time: what is noted of the calls around the one is
    not noted of the other."""
    made = type(refusal)(refusal.message, refusal.place, refusal.hint)
    vars(made).update(vars(refusal))
    return made


def is_same(refusal: UnsupportedError, other: UnsupportedError) -> bool:
    """Whether two tries are refused for the same reason, at the same place."""
    first = type(refusal), refusal.message, refusal.place, refusal.cause, refusal.needs
    return first == (type(other), other.message, other.place, other.cause, other.needs)


class WrtError(UnsupportedError):
    """There is no adjoint of the local variable that one is asked for: of the whole function
    something is asked, whatever its statements do."""


class UnknownClassError(UnsupportedError):
    """What is called depends on the class of an object, which only a call's arguments tell."""


# What helps before a call, in one (whose arguments did not tell) and at `tangentlike grad`
CLASS_IS_READ = (
    "The classes of objects are read from the arguments of the call (or from example=), and from "
    "annotations: pass the object as an argument, or annotate the parameter that it comes from."
)


class SharingError(UnsupportedError):
    """Adjoints by names are refused, since memory that may be shared is written in place; they are
    then found by identity."""

    needs = "memory"


class LentError(UnsupportedError):
    """Outer objects cannot be given as arguments: what was refused before that stays refused."""


def not_lent(place: Place | None) -> LentError:
    """What is raised where a function, or an object outside of it, is not fit for that."""
    return LentError("an object outside of the function cannot be its argument", place)


def not_by_names(place: Place | None) -> SharingError:
    """What is raised at the statement that refuses adjoints by names. What is refused by identity
    as well says its own reason; this one is read where the types of a call may still help."""
    return SharingError(
        "memory that may be shared is written in place",
        place,
        "Copy arrays where they share memory and are written, annotate the parameter of the "
        "function you derive that they come from (`x: float` or `x: np.ndarray`), or pass "
        "`example=` arguments.",
    )


class NonFiniteError(TangentlikeError, ArithmeticError):
    """A derivative made with `check_finite=True` gave NaN or an infinity: where that begins.

    Parameters
    ----------
    message, place, hint
        As for `TangentlikeError`. The attribute `report` is what `tl.find_nan` finds, None where a
        second run gave finite values.

    Examples
    --------
    >>> import numpy as np
    >>> import tangentlike as tl
    >>> def root(x):
    ...     return np.sqrt(x)
    >>> try:
    ...     with np.errstate(divide="ignore"):
    ...         tl.grad(root, check_finite=True)(0.0)
    ... except ArithmeticError as error:
    ...     print(error.report.first.cause.what)
    the derivative of sqrt at 0 is infinite
    """

    report: Any = None


class InternalError(Exception):
    """A broken invariant of ours, never the user's fault; says in which stage."""

    def __init__(self, stage: str, message: str, hint: str = "") -> None:
        self.stage, self.message = stage, message
        report = "lease report it with the function that was differentiated."
        super().__init__(
            f"internal error of tangentlike in stage '{stage}': {message}\n"
            + (f"{hint}p{report}" if hint else f"P{report}")
        )


@contextmanager
def called_at(place: Place | None) -> Iterator[None]:
    """What is refused inside is refused in a function that is called at this place."""
    try:
        yield
    except UnsupportedError as refusal:
        refusal.calls = (*refusal.calls, *([place] if place is not None else ()))
        raise


def users_line_first(refusal: UnsupportedError, call: Place | None) -> UnsupportedError:
    """A refusal of what stands in another file than the call that leads there, as the refusal of
    that call, which says where the cause is."""
    inner = refusal.place
    if inner is None or call is None or call.file == inner.file:
        return refusal
    cause = f"This is in {inner.file}:{inner.line}, which is called here:\n    {inner.text}"
    hint = f"{cause}\n{refusal.hint}" if refusal.hint else cause
    made = type(refusal)(refusal.message, call, hint)
    made.cause = inner
    return made


def with_article(name: str) -> str:
    """A noun with its article, as a message says it.

    >>> with_article("list"), with_article("int32")
    ('a list', 'an int32')
    """
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
