"""What is known of live objects, which may be of any class, by the objects themselves."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

_V = TypeVar("_V")
_D = TypeVar("_D")


class ByIdentity(Generic[_V]):
    """A value for each of some objects. They need no hash, are never compared, and stay alive.

    >>> known = ByIdentity[str]()
    >>> xs = []
    >>> known[xs] = "a list"
    >>> known[xs], xs in known, [] in known, known.get([])
    ('a list', True, False, None)
    """

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, _V]] = {}

    def __contains__(self, obj: object) -> bool:
        return id(obj) in self._found

    def __getitem__(self, obj: Any) -> _V:
        return self._found[id(obj)][1]

    def __setitem__(self, obj: Any, value: _V) -> None:
        self._found[id(obj)] = obj, value

    def __delitem__(self, obj: Any) -> None:
        del self._found[id(obj)]

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def get(self, obj: Any) -> _V | None: ...
    @overload
    def get(self, obj: Any, default: _D) -> _V | _D: ...
    def get(self, obj: Any, default: Any = None) -> Any:
        """The value of an object, the default where it has none."""
        return self._found.get(id(obj), (None, default))[1]
