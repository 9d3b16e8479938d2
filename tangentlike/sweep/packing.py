"""States as bytes of a file: arrays and numbers of a value of known form, one after the other."""

from __future__ import annotations

import contextlib
import hashlib
import os
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import TangentlikeError
from ..frontend.primal import global_names
from ..pytree import leaves
from ..pytree.gradients import walked

_NUMBERS = (bool, int, float, complex, np.generic)


class Form:
    """What a value is made of: its containers, and the shape and dtype of each leaf."""

    def __init__(self, value: Any, what: str) -> None:
        self.template, self.what = value, what
        self.leaves = [(path, _as_array(leaf, what + path)) for path, leaf in walked(value)]
        self.specs = [None if a is None else (a.shape, a.dtype) for _, a in self.leaves]
        self.constants = [leaf for _, leaf in walked(value)]
        self.nbytes = sum(a.nbytes for _, a in self.leaves if a is not None)
        self.leaves = [(path, None) for path, _ in self.leaves]

    def parts(self, value: Any) -> list[np.ndarray]:
        """The arrays of a value, which must have this form."""
        found = []
        pairs = list(walked(value))
        if len(pairs) != len(self.specs):
            raise self._changed("", f"{len(self.specs)} leaves", f"{len(pairs)} leaves")
        for (path, leaf), spec, known in zip(pairs, self.specs, self.constants, strict=True):
            array = _as_array(leaf, self.what + path)
            if spec is None or array is None:
                if array is not None or leaf != known:
                    raise self._changed(path, repr(known), repr(leaf))
                continue
            if (array.shape, array.dtype) != spec:
                raise self._changed(path, _said(*spec), _said(array.shape, array.dtype))
            found.append(array)
        return found

    def value(self, parts: list[np.ndarray]) -> Any:
        """A value of this form from its arrays."""
        remaining = iter(parts)

        def made(known: Any) -> Any:
            inside = None if leaves.is_array(known) else leaves.children(known)
            if inside is not None:
                return leaves.rebuild(known, [made(item) for _, item in inside])
            if leaves.is_array(known):
                return next(remaining)
            if not isinstance(known, _NUMBERS):
                return known
            number = next(remaining)
            return number[()] if isinstance(known, np.generic) else type(known)(number[()])

        return made(self.template)

    def _changed(self, path: str, before: str, after: str) -> TangentlikeError:
        return TangentlikeError(
            f"{self.what}{path} changes its form from one iteration to the next: {before}, then "
            f"{after}",
            hint="States that are written to disk keep the shapes and dtypes of the first one; "
            "begin with floats where an iteration returns floats.",
        )


def _said(shape: tuple[int, ...], dtype: Any) -> str:
    return f"{dtype}{list(shape) if shape else ''}"


def _as_array(leaf: Any, what: str) -> np.ndarray | None:
    if leaf is None or isinstance(leaf, (str, bytes)):
        return None
    if isinstance(leaf, (np.ndarray, *_NUMBERS)):
        array = np.asarray(leaf)
        if not array.dtype.hasobject:
            return array
    raise TangentlikeError(
        f"{what} is a {type(leaf).__name__}, which cannot be written to disk",
        hint="A state consists of NumPy arrays and numbers, in containers.",
    )


def digest(*values: Any) -> str:
    """What tells values of arrays, numbers and texts from others."""
    found = hashlib.sha256()
    for value in values:
        for path, leaf in walked(value):
            array = _as_array(leaf, "the argument" + path)
            if array is None:
                found.update(f"{path}={leaf!r};".encode())
            else:
                found.update(f"{path}:{array.dtype}{array.shape};".encode())
                found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def captured(fn: Any) -> dict[str, Any]:
    """The arrays, numbers and texts outside of a function that it and its helpers may read."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    queue: list[Any] = [fn]
    while queue:
        function = queue.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        for name, value in _outer(function):
            if isinstance(value, types.FunctionType):
                queue.append(value)
            elif not isinstance(value, (types.ModuleType, type)) and not callable(value):
                found[f"{function.__qualname__}.{name}"] = _known(value)
    return dict(sorted(found.items()))


def _outer(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name in global_names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # (not bound yet)
            yield name, cell.cell_contents
    for place, value in enumerate(function.__defaults__ or ()):
        yield f"default {place}", value


def _known(value: Any) -> Any:
    """A value whose leaves a digest takes; a type where one is something else."""
    try:
        return digest(value)
    except TangentlikeError:
        return type(value).__qualname__


def write(path: Path, parts: list[np.ndarray]) -> int:
    """Write arrays to a file, which is there as a whole or not at all; gives its bytes."""
    size = sum(part.nbytes for part in parts)
    unfinished = path.with_suffix(".part")
    file = np.memmap(unfinished, np.uint8, "w+", shape=(max(size, 1),))
    start = 0
    for part in parts:
        view = file[start : start + part.nbytes].view(np.uint8)
        view[...] = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
        start += part.nbytes
    file.flush()
    del file
    _to_disk(unfinished)
    os.replace(unfinished, path)
    return size


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def read(path: Path, specs: list[Any]) -> list[np.ndarray]:
    """The arrays of a file, as copies in memory."""
    known = [spec for spec in specs if spec is not None]
    sizes = [int(np.prod(shape, dtype=np.int64)) * dtype.itemsize for shape, dtype in known]
    length = path.stat().st_size
    if max(sum(sizes), 1) != length:
        raise TangentlikeError(
            f"{path} has {length} bytes, and its states have {sum(sizes)}",
            hint="Remove the directory, or name another one in to=.",
        )
    file = np.memmap(path, np.uint8, "r")
    found, start = [], 0
    for (shape, dtype), size in zip(known, sizes, strict=True):
        found.append(np.array(file[start : start + size]).view(dtype).reshape(shape))
        start += size
    return found
