"""What a function of ours says of itself: that it is a derivative, a checkpoint, an operator.

A mark is an attribute, and attributes are copied: `functools.wraps` gives those of a function to
what is wrapped around it, a bound method shows those of its function, a proxy those of its object.
None of these does what the function does, so a mark holds only for the function it was put on.
"""

from __future__ import annotations

from typing import Any

from ..runtime.records import attribute_of

_OWNER = "__marked__"


def mark(function: Any, **marks: Any) -> None:
    """Put marks on a function, as attributes."""
    function.__dict__.update({f"__{name}__": value for name, value in marks.items()})
    function.__dict__[_OWNER] = function


def mark_of(obj: Any, name: str) -> Any:
    """A mark that was put on this very object, None if there is none.

    >>> import functools
    >>> def f(x): return x
    >>> mark(f, derives="function")
    >>> @functools.wraps(f)
    ... def around(x): return 2 * f(x)
    >>> mark_of(f, "derives"), mark_of(around, "derives")
    ('function', None)
    """
    own = attribute_of(obj, "__dict__", None)
    if not isinstance(own, dict) or own.get(_OWNER) is not obj:
        return None
    return own.get(f"__{name}__")


def carry_over(function: Any, copy: Any) -> None:
    """Give the attributes and marks of a function to a copy, which does the same."""
    copy.__dict__.update(function.__dict__)
    if function.__dict__.get(_OWNER) is function:
        copy.__dict__[_OWNER] = copy
