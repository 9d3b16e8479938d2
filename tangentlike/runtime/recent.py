"""What was found lately: a dictionary that forgets its oldest entries, for any thread to write."""

from __future__ import annotations

import threading
from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(dict[_K, _V]):
    """At most so many entries; they are put in by `put`, and read as those of any dictionary.

    >>> squares = Recent(2)
    >>> [squares.put(n, n * n) for n in (1, 2, 3)], dict(squares)
    ([1, 4, 9], {2: 4, 3: 9})
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self._lock = threading.Lock()

    def put(self, key: _K, value: _V) -> _V:
        """Keep a value, which is given back; an entry that there is becomes the latest."""
        with self._lock:
            self.pop(key, None)
            while len(self) >= self.most:
                del self[next(iter(self))]
            self[key] = value
        return value
