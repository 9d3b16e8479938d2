"""Whether a program asks how an array lies in memory: `ravel` and `reshape` share memory or copy.

A copy of an argument must then lie as the argument does, or another program is differentiated:
`a.ravel()` is a view of the copy where it is a copy of the transposed array that was passed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ir
from .operations import is_python_function

_ASKING = frozenset(
    ["reshape", "ravel", "flatten"]
    + ["ascontiguousarray", "asfortranarray", "require", "view", "flags"]
)


def depends_on_layout(function: ir.Function, body: Callable[[Any], ir.Function | None]) -> bool:
    """Whether a function, or one that it calls, may do one thing or another by memory order.

    `body` gives the functions called, None where they cannot be read.

    >>> from ..frontend.lower import program
    >>> depends_on_layout(program("b = a.ravel(); b[0] = 1.0"), lambda obj: None)
    True
    """
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        for stmt in ir.statements(waiting.pop().body):
            for part in (part for expr in ir.expressions(stmt) for part in ir.walk(expr)):
                match part:
                    case ir.Attribute(_, name) if name in _ASKING:
                        return True
                    case ir.Ref(text=text) if text.rpartition(".")[2] in _ASKING:
                        return True
                    case ir.Ref(obj=obj) if is_python_function(obj) and id(obj) not in seen:
                        seen.add(id(obj))
                        called = body(obj)
                        waiting += [] if called is None else [called]
    return False
