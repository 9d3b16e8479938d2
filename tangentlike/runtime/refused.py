"""What a derivative raises at a statement that was refused, or for what it was not made for."""

from __future__ import annotations

from typing import Any


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
    ndim = getattr(x, "ndim", None)
    name = type(x).__name__ if not hasattr(x, "__name__") else f"{type(x).__name__} {x.__name__}"
    found = f"an array of {ndim} dimensions" if ndim else f"a {name}"
    return TypeError(
        f"this derivative is written for {wanted} and got {found}: annotate the parameter that it "
        "comes from, or make the derivative with example= arguments of these types"
    )
