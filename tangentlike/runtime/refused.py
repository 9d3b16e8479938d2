"""What a derivative raises where it comes to a statement that was refused when it was made."""

from __future__ import annotations

__all__ = ["NotDifferentiated"]


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
