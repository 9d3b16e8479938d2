"""What is made of a function where it arrives: its gradient, or its pullback of a given adjoint."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import io
import threading
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np

from ..api.calls import value_and_grad as plain_value_and_grad
from ..api.jacobians import Point, pair_of
from ..dispatch.derivation import Derivation
from ..errors import TangentlikeError, UnknownClassError
from ..frontend.owners import mark_of
from ..frontend.source import restore_sources, tell_file, texts_of
from ..pytree import leaves

Function = Callable[..., Any]


def value(fn: Any, wrt: tuple[str, ...], example: Any = None) -> Function:
    """The value alone, by the forward function of the derivative: unlike `fn` itself, it leaves the
    data as they are where `fn` writes them."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        return Point(fn, wrt, args, kwargs, False, example).value

    return _with_source(forward, pair_of(fn, wrt, example))


def value_and_grad(fn: Any, wrt: Any, has_aux: bool = False, example: Any = None) -> Function:
    """Value and gradient of a chunk."""
    found: Function = plain_value_and_grad(fn, wrt=wrt, has_aux=has_aux, example=example)
    return found


def pullback(fn: Any, wrt: tuple[str, ...], has_aux: bool = False, example: Any = None) -> Function:
    """`(adjoint of the value, *arguments) -> (value, adjoints of wrt)`."""

    def pulled(seed: Any, *args: Any, **kwargs: Any) -> tuple[Any, tuple[Any, ...]]:
        point = Point(fn, wrt, args, kwargs, has_aux, example)
        return point.value, point(seed)

    return _with_source(pulled, pair_of(fn, wrt, example))


def jacobian_rows(
    fn: Any, wrt: tuple[str, ...], has_aux: bool = False, example: Any = None
) -> Function:
    """`(*arguments) -> ((value, aux), rows)`: for each number of the value its gradient, all from
    one run of the primal."""

    def rows(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, ...]]]:
        point = Point(fn, wrt, args, kwargs, has_aux, example)
        return (point.value, point.aux), [point(unit) for unit in units(point.value)]

    return _with_source(rows, pair_of(fn, wrt, example))


def _with_source(function: Any, derivation: Derivation) -> Function:
    """A function that has the text of the derivative it calls; none while that waits for a call."""
    with contextlib.suppress(UnknownClassError):
        function.source = derivation.derived.source
    return function  # type: ignore[no-any-return]


def units(value: Any) -> list[Any]:
    """For each number of a value a seed that is one there, and zero elsewhere.

    >>> units((1.0, 2.0, "name"))
    [(1.0, None, None), (None, 1.0, None)]
    """
    if leaves.is_complex(value):
        raise TangentlikeError(
            "the statistics are complex, which one pass over the data does not take",
            hint="Pass passes=2, or return real and imaginary parts.",
        )
    if not leaves.is_leaf(value):
        inside = [item for _, item in leaves.children(value) or ()]
        return [
            leaves.rebuild(value, [seed if j == k else None for j in range(len(inside))])
            for k, item in enumerate(inside)
            for seed in units(item)
        ]
    if not leaves.is_array(value):
        return [1.0]
    flat = np.eye(value.size, dtype=value.dtype)
    return [row.reshape(value.shape) for row in flat]


# --------------------------------------------------------------------------------------------------
# Derivatives as workers get them: the function travels, and is differentiated where it arrives.
#
# A function of a module that can be imported travels by its name. One of a script or a notebook, a
# closure or a lambda travels by value, and the text of its file with it, since the transform reads
# that. Each process differentiates a function once.


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
        known = tuple(texts_of(sorted(pickler.files)).items())
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
            self.files.add(tell_file(obj))
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
            restore_sources(dict(texts))
            make, fn, options = cloudpickle.loads(pickled)
            found = _ARRIVED[key] = Shipped(make, fn, **options)
            found.fingerprint = expected
        _ARRIVED.move_to_end(key)
        while len(_ARRIVED) > _MOST:
            _ARRIVED.popitem(last=False)
    return found
