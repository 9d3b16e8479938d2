"""What `match`, `with` and `try` of the primal ask at run time."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any


def is_sequence(x: Any) -> bool:
    """Whether a sequence pattern may match `x`: no text and no bytes, and no array."""
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes, bytearray))


def is_mapping(x: Any) -> bool:
    """Whether a mapping pattern may match `x`."""
    return isinstance(x, Mapping)


def other_entries(mapping: Any, keys: Any) -> dict[Any, Any]:
    """The dict of the entries under other keys, as `case {"w": w, **rest}` binds it.

    >>> other_entries({"w": 1.0, "b": 2.0}, ("w",))
    {'b': 2.0}
    """
    return {key: mapping[key] for key in mapping if key not in keys}


class Unsuppressed:
    """A context manager that may not swallow an exception of its body.

    The derivative could not tell which statements of the body had been run.
    """

    def __init__(self, manager: Any) -> None:
        self.manager = manager

    def __enter__(self) -> Any:
        return type(self.manager).__enter__(self.manager)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if type(self.manager).__exit__(self.manager, kind, error, traceback) and error is not None:
            raise RuntimeError(
                f"{type(self.manager).__name__} suppressed {type(error).__name__}, and which "
                "statements of its body are to be differentiated is not known: catch the "
                "exception with `try`"
            ) from error


def leave_raising(manager: Any) -> None:
    """Leave a manager whose body raises; it may not swallow the exception."""
    Unsuppressed(manager).__exit__(*sys.exc_info())


def lost_statements(line: str) -> None:
    """Refuse to go on after the body of a `try` raised: it had already changed something."""
    raise RuntimeError(
        f"the body of `{line}` raised after it had changed values that are used later: leave in "
        "`try` only the statement that raises, or put the body into a function that returns its "
        "results"
    )


# --------------------------------------------------------------------------------------------------
# What a derivative raises at a statement that was refused, or for what it was not made for.


class NotDifferentiated(BaseException):
    """A statement was reached that this derivative leaves out, because it was refused.

    It is not an `Exception`, so that no `except Exception` of the program around the statement
    takes it for one of its own and goes on with another value.

    Parameters
    ----------
    message : str
        File and line of the statement, and why it was refused.
    hint : str
        What to do instead; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


def written_for(wanted: str, x: Any) -> TypeError:
    """The error of a derivative that relies on what it was made for, and got something else.

    >>> written_for("an array", 2.0).args[0].partition(":")[0]
    'this derivative is written for an array and got a float'
    """
    ndim = x.ndim if hasattr(type(x), "ndim") else None  # (objects may answer for any name)
    name = type(x).__name__ if not hasattr(x, "__name__") else f"{type(x).__name__} {x.__name__}"
    found = f"an array of {ndim} dimensions" if type(ndim) is int and ndim else f"a {name}"
    return TypeError(
        f"this derivative is written for {wanted} and got {found}: annotate the parameter that it "
        "comes from, or make the derivative with example= arguments of these types"
    )
