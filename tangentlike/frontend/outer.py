"""`global` and `nonlocal`: names of the world outside that a function also writes.

    before::                         after::
        global calls                     global calls
        calls += 1                       items = calls
        y = calls * x                    total = items + 1
                                         calls = total
                                         items2 = calls
                                         y = items2 * x

A read is a value of its own, taken where it stands, since the name may mean another one when the
reverse sweep runs. A write is carried as it stands; one that carries derivatives is refused later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gast

from ..errors import Place, UnsupportedError
from ..ir import Call, Expr, Opaque, OpaqueStmt, Origin, Ref, Var
from ..ir.names import Names
from . import nested
from .operators import BINARY

_REBOUND = (bool, int, float, complex, str, tuple, type(None))  # what `+=` gives a new value


@dataclass(frozen=True)
class Outer:
    """The names a function declares `global` or `nonlocal`; `lookup` finds what they mean now."""

    names: frozenset[str] = frozenset()
    lookup: Callable[[str], Any] = field(default=dict[str, Any]().__getitem__)

    def read(self, name: str) -> Expr:
        """The present value: opaque code, since it may be another one later."""
        return Opaque(name, (), (), (Ref(name, self.lookup(name)),))

    def declared(self, node: Any, origin: Origin) -> list[Any]:
        """The declaration itself."""
        word = "global" if isinstance(node, gast.Global) else "nonlocal"
        refs = tuple(ref for name in node.names for ref in self._known(name))
        return [OpaqueStmt(f"{word} {', '.join(node.names)}", (), (), refs, (), origin)]

    def written(self, name: str, value: str, origin: Origin) -> OpaqueStmt:
        """`name = value`."""
        return OpaqueStmt(
            f"{name} = {value}", (value,), (Var(value),), self._known(name), (), origin
        )

    def updated(self, node: Any, value: Expr, names: Names, origin: Origin) -> Sequence[Any]:
        """`name op= value`, which must not change an object in place."""
        name = node.target.id
        try:
            present = self.lookup(name)
        except KeyError:
            present = None
        if not isinstance(present, _REBOUND):
            raise UnsupportedError(
                f"`{name}` is changed in place, and is defined outside the function",
                origin.place,
                "Return the new value instead.",
            )
        held = names.fresh(f"{name}_new")
        made = Call(BINARY[type(node.op)], (self.read(name), value), (), origin.place)
        bound = nested.Assignment((Var(held),), made, origin)
        return [bound, self.written(name, held, origin)]

    def refuse(self, name: str, place: Place) -> None:
        """Refuse other ways of binding such a name."""
        if name in self.names:
            raise UnsupportedError(
                f"`{name}` is defined outside the function, and is bound here",
                place,
                "Assign it in a statement of its own.",
            )

    def _known(self, name: str) -> tuple[Ref, ...]:
        try:
            return (Ref(name, self.lookup(name)),)
        except KeyError:
            return ()


NO_OUTER = Outer()
