"""Derivatives as workers get them: the function travels, and is differentiated where it arrives.

A function of a module that can be imported travels by its name. One of a script or a notebook, a
closure or a lambda travels by value, and the text of its file with it, since the transform reads
that. Each process differentiates a function once.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import io
import linecache
import threading
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import cloudpickle

from ..errors import TangentlikeError, UnknownClassError
from ..frontend.owners import mark_of

Texts = tuple[tuple[str, str], ...]  # files and what stands in them

_ARRIVED: OrderedDict[bytes, Any] = OrderedDict()
_MOST = 256
_LOCK = threading.Lock()


class Shipped:
    """What `make(fn, **options)` gives, made in each process that calls it.

    `make` is a function of this package; `fn` is the user's. `fingerprint` is that of the text
    which the derivative had where it was asked for: one that comes out differently is refused,
    since rules or a file may be missing where it arrived.
    """

    def __init__(self, make: Callable[..., Any], fn: Any, **options: Any) -> None:
        self.make, self.fn, self.options = make, fn, options
        self.fingerprint: str | None = None
        self.__name__ = f"{getattr(fn, '__name__', 'function')}_{make.__name__}"

    @functools.cached_property
    def made(self) -> Callable[..., Any]:
        """The function that is called."""
        found: Callable[..., Any] = self.make(self.fn, **self.options)
        here = fingerprint(found)
        if self.fingerprint is not None and here is not None and here != self.fingerprint:
            name = getattr(self.fn, "__name__", type(self.fn).__name__)
            raise TangentlikeError(
                f"the derivative of {name} comes out differently in another process",
                hint="Put the rules that it needs into a module that the module of the function "
                "imports, and give all workers the same files and the same version of tangentlike.",
            )
        return found

    @property
    def payload(self) -> tuple[Any, ...]:
        """Pickled, with the files of the functions that are pickled by value. Not kept: a function
        that travels by value takes along the data of its module as they are now."""
        stream = io.BytesIO()
        pickler = _Pickler(stream)
        pickler.dump((self.make, self.fn, self.options))
        texts = ((name, "".join(linecache.getlines(name))) for name in sorted(pickler.files))
        known = tuple((name, text) for name, text in texts if text)
        return stream.getvalue(), known, self.fingerprint or fingerprint(self.made)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.made(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, self.payload


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Notes the files of the functions that it pickles by value."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream)
        self.files: set[str] = set()

    def reducer_override(self, obj: Any) -> Any:
        found = super().reducer_override(obj)
        if isinstance(obj, types.FunctionType) and found is not NotImplemented:
            self.files.add(obj.__code__.co_filename)
        return found


def fingerprint(function: Any) -> str | None:
    """What tells one derivative from another: its text, less the imports. None where it has no text
    before it is called."""
    with contextlib.suppress(UnknownClassError):
        # (The general text: that of the types of the last call differs from process to process.)
        derivative = mark_of(function, "tangentlike")
        general = getattr(derivative, "derive", None)
        text = str(general().derived.source if general else getattr(function, "source", ""))
        lines = [ast.unparse(node) for node in ast.parse(text).body if not _is_import(node)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else None
    return None


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _arrived(pickled: bytes, texts: Texts, expected: str | None) -> Shipped:
    """What was shipped, the same object each time it arrives in a process."""
    key = hashlib.sha256(pickled + repr((texts, expected)).encode()).digest()
    with _LOCK:
        found = _ARRIVED.get(key)
        if found is None:
            for name, text in texts:
                if "".join(linecache.getlines(name)) != text:
                    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
            make, fn, options = cloudpickle.loads(pickled)
            found = _ARRIVED[key] = Shipped(make, fn, **options)
            found.fingerprint = expected
        _ARRIVED.move_to_end(key)
        while len(_ARRIVED) > _MOST:
            _ARRIVED.popitem(last=False)
    return found
