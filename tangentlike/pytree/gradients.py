"""Adjoints become gradients, which look like what they are taken with respect to.

The sweep works on numbers, arrays, lists and dicts; here its results get the containers, types
and dtypes of the arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import InternalError, TangentlikeError
from ..runtime.records import SEQUENCES, Mirror, Record, fields_of, like_dict, names_of, record_like
from . import leaves
from .layouts import layout_of, mirrored, parts_of, registered_parts
from .leaves import (
    OF_ANY_FORM,
    children,
    dtype_class,
    filled,
    has_leaf,
    is_array,
    is_flat,
    is_leaf,
    is_number,
    is_registered,
    is_zero,
    items_of,
    rebuild,
    zeros,
)

_FLOAT = frozenset((float,))


def like(value: Any, bar: Any) -> Any:
    """The adjoint `bar` of `value` in the structure, types and dtypes of `value`.

    >>> like((1.0, 2), [np.float64(0.5), 0.0])
    (0.5, None)
    """
    if _same_form(value, bar):
        return bar
    if (type(value) is float and type(bar) is float) or value is OF_ANY_FORM:
        return bar
    if is_array(value):
        return _array_like(value, bar)
    if is_number(value):
        return _number_like(value, bar)
    if is_flat(value, _FLOAT) and is_flat(bar, _FLOAT) and len(value) == len(bar):
        return type(value)(bar)
    inside = items_of(value)
    if inside is None:
        return None
    found = registered_parts(value, bar) if is_registered(value) else parts_of(value, bar)
    if len(found) != len(inside):
        form = f"{type(value).__name__} of {len(inside)} items"
        raise InternalError("reverse", f"an adjoint of {len(found)} items for a {form}", _RULES)
    parts = zip(inside, found, strict=True)
    return rebuild(value, [like(item, part) for item, part in parts])


_RULES = "If it uses a rule of yours (@tl.rule), look at that with tl.check_rule; otherwise "


def _same_form(value: Any, bar: Any) -> bool:
    """Whether the adjoint is right as it is, as nearly all are."""
    if type(value) is not np.ndarray or type(bar) is not np.ndarray:
        return False
    dtype = value.dtype
    same = (bar.dtype is dtype or bar.dtype == dtype) and bar.shape == value.shape
    return same and dtype.kind in "fc"


def _array_like(value: Any, bar: Any) -> Any:
    if dtype_class(value) not in "fc":
        return None
    if bar is None or is_zero(bar):
        return zeros(value)
    if tuple(getattr(bar, "shape", ())) != tuple(value.shape):
        raise InternalError(
            "reverse",
            f"an adjoint of shape {tuple(getattr(bar, 'shape', ()))} for a value of shape "
            f"{tuple(value.shape)}",
            _RULES,
        )
    if getattr(bar, "dtype", None) != value.dtype:
        if dtype_class(value) == "f" and dtype_class(bar) == "c":
            bar = bar.real
        bar = bar.astype(value.dtype) if hasattr(bar, "astype") else filled(value, bar)
    return bar if is_array(bar) else filled(value, bar)


def _number_like(value: Any, bar: Any) -> Any:
    if bar is None:
        bar = 0.0
    if getattr(bar, "shape", ()) != ():
        raise InternalError("reverse", f"an adjoint of shape {bar.shape} for a number", _RULES)
    if hasattr(bar, "item") and not isinstance(value, np.generic):
        bar = bar.item()
    if isinstance(bar, (complex, np.complexfloating)) and not isinstance(
        value, (complex, np.complexfloating)
    ):
        bar = bar.real
    return type(value)(bar)


# --------------------------------------------------------------------------------------------------
# Values of one structure added and compared, leaf by leaf. Integers and None are leaves here.


def add(first: Any, *others: Any) -> Any:
    """The sum of values of one structure, from left to right.

    >>> add((1.0, {"w": 2.0, "n": None}), (0.5, {"w": 3.0, "n": None}))
    (1.5, {'w': 5.0, 'n': None})
    """
    return functools.reduce(_added, others, first)


def _added(first: Any, second: Any) -> Any:
    return zipped(_plus, first, second)


def _plus(first: Any, second: Any) -> Any:
    if first is None and second is None:
        return None
    return first + second


def zipped(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """A value like the first, with `function` applied to the leaves of all. Numbers and arrays are
    leaves, integers too; so is None."""
    inside = None if leaves.is_array(first) else leaves.children(first)
    if inside is None:
        return function(first, *others)
    items = [[item for _, item in leaves.children(other) or ()] for other in others]
    if any(type(o) is not type(first) for o in others) or any(
        len(part) != len(inside) for part in items
    ):
        kinds = sorted({type(value).__name__ for value in (first, *others)})
        raise TangentlikeError(
            f"values of different structure ({', '.join(kinds)}) cannot be combined",
            hint="Return the same containers of the same lengths each time.",
        )
    parts = zip((item for _, item in inside), *items, strict=True)
    return leaves.rebuild(first, [zipped(function, *part) for part in parts])


def walked(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a value, integers too, with their paths."""
    inside = None if leaves.is_array(value) else leaves.children(value)
    if inside is None:
        yield path, value
    for step, item in inside or ():
        yield from walked(item, path + step)


def difference(before: Any, after: Any) -> str | None:
    """The path of the first leaf that is not the same twice, None where all are. Rounding may
    differ: from one machine to another, and where an array lies at another address.

    >>> difference({"w": 1.0, "n": 3}, {"w": 1.0 + 1e-15, "n": 4})
    "['n']"
    """
    for (path, a), (_, b) in zip(walked(before), walked(after), strict=True):
        if isinstance(a, (str, bytes, type(None))):
            same = bool(a == b)
        else:
            a, b = np.asarray(a), np.asarray(b)
            tolerance = 1e-8 if a.dtype.kind not in "fc" else float(np.sqrt(np.finfo(a.dtype).eps))
            scale = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
            same = a.shape == b.shape and np.allclose(
                a, b, rtol=tolerance, atol=tolerance * float(scale), equal_nan=True
            )
        if not same:
            return path
    return None


# --------------------------------------------------------------------------------------------------
# Seeds: tangents and adjoints that a caller gives, checked against what they belong to.


def seed_like(value: Any, seed: Any, what: str = "the seed", path: str = "") -> Any:
    """A tangent or adjoint given by the caller, checked against the value it belongs to.

    None stands for zeros; a seed keeps the caller's structure and gets the value's dtype.
    Namedtuples and objects become mirrors, which have entries and no code.
    """
    if is_leaf(value):
        return _seed_leaf(value, seed, what + path)
    inside = children(value)
    if inside is not None and is_registered(value):
        return _seed_of_registered(value, inside, seed, what, path)
    if inside is None:
        if seed is None or has_leaf(seed) is False or is_zero(seed):
            return 0.0
        raise TangentlikeError(
            f"{what}{path} must be None: the value is a {type(value).__name__}, which carries no "
            "derivative"
        )
    parts = _seed_parts(value, seed, what + path)
    items = [seed_like(v, s, what, path + step) for (step, v), s in zip(inside, parts, strict=True)]
    if names_of(value) is not None or not isinstance(value, (*SEQUENCES, dict)):
        return record_like(value, *items)
    if isinstance(value, dict) and type(value) is not dict:
        made = like_dict(value, lambda item: seed_like(item, None))
        made.update(zip(value, items, strict=True))
        return made
    return rebuild(value, items)


def _seed_of_registered(
    value: Any, inside: list[tuple[str, Any]], seed: Any, what: str, path: str
) -> Any:
    layouts = layout_of(value)
    if seed is None:
        parts = [None] * len(inside)
    elif type(seed) is type(value):
        parts = [item for _, item in children(seed) or ()]
    elif isinstance(seed, (Mirror, Record)):
        parts = registered_parts(value, seed)
    else:
        parts = []
    if len(parts) != len(inside):
        raise TangentlikeError(
            f"{what}{path} must be a {type(value).__name__} of {len(inside)} items, as the value "
            f"is; got {_describe(seed)}"
        )
    pairs = zip(inside, parts, strict=True)
    seeds = [seed_like(item, part, what, path + step) for (step, item), part in pairs]
    return mirrored(value, layouts, seeds)


def as_emitted(value: Any, seed: Any) -> Any:
    """A seed in the form of what emitted code returned, at any depth: with zeros for the entries
    that a dict of its has in addition (keys that the function itself adds), and with a number for
    a number and an array for an array of rank 0, of which users get one for the other."""
    if isinstance(value, dict) and isinstance(seed, dict):
        return {
            key: as_emitted(item, seed[key]) if key in seed else seed_like(item, None)
            for key, item in value.items()
        }
    if isinstance(value, SEQUENCES) and type(seed) is list and len(value) == len(seed):
        return [as_emitted(item, part) for item, part in zip(value, seed, strict=True)]
    if isinstance(seed, np.ndarray) and seed.ndim == 0 and not is_array(value):
        return seed[()]
    if isinstance(seed, (float, complex, np.generic)) and is_array(value):
        return filled(value, seed)
    return seed


def with_lists(seed: Any) -> Any:
    """A seed with lists for its tuples: the reverse sweep adds to items in place."""
    if names_of(seed) is None and isinstance(seed, (list, tuple)):
        return [with_lists(item) for item in seed]
    inside = None if is_leaf(seed) else children(seed)
    return seed if not inside else rebuild(seed, [with_lists(item) for _, item in inside])


def _seed_parts(value: Any, seed: Any, what: str) -> list[Any]:
    inside = children(value) or []
    if seed is None:
        return [None] * len(inside)
    if isinstance(value, dict):
        if isinstance(seed, dict) and set(seed) <= set(value):
            return [seed.get(key) for key in value]
    elif isinstance(value, SEQUENCES):
        if isinstance(seed, SEQUENCES) and len(seed) == len(value):
            return list(seed)
    elif type(seed) is type(value) or isinstance(seed, Mirror):
        given = fields_of(seed) or {}
        return [given.get(name) for name in fields_of(value) or ()]
    raise TangentlikeError(
        f"{what} must be a {type(value).__name__} of {len(inside)}, as the value is; got "
        f"{_describe(seed)}"
    )


def _seed_leaf(value: Any, seed: Any, what: str) -> Any:
    shape = tuple(getattr(value, "shape", ()))
    if seed is None:
        return zeros(value) if is_array(value) else type(value)(0.0)
    if not isinstance(seed, (int, float, complex, np.generic)) and not is_array(seed):
        raise TangentlikeError(f"{what} must be a number or an array, got {_describe(seed)}")
    if tuple(getattr(seed, "shape", ())) != shape:
        raise TangentlikeError(
            f"{what} must have shape {shape}, the shape of the value; got {_describe(seed)}"
        )
    real = not isinstance(value, (complex, np.complexfloating)) and dtype_class(value) != "c"
    if real and (isinstance(seed, complex) or dtype_class(seed) == "c"):
        raise TangentlikeError(f"{what} must be real, as the value is")
    if not is_array(value):
        return type(value)(seed.item() if hasattr(seed, "item") else seed)
    if not is_array(seed):
        return filled(value, seed)
    return seed if seed.dtype == value.dtype else seed.astype(value.dtype)


def _describe(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(value, (*SEQUENCES, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    return type(value).__name__ if shape is None else f"shape {tuple(shape)}"


# --------------------------------------------------------------------------------------------------
# Values as lists of their leaves, and derivatives as blocks: one for each two leaves.
#
# The Jacobian of a function that returns `{"a": y}` by `(w, b)` is kept as two blocks, of shapes
# `y.shape + w.shape` and `y.shape + b.shape`, and is handed out as `{"a": (block, block)}`: the
# structure of the value, and at each of its leaves the structure of the arguments.


def flat(value: Any) -> list[Any]:
    """The leaves of a value, in order.

    >>> flat({"w": 1.0, "n": 3, "pair": (2.0, 4.0)})
    [1.0, 2.0, 4.0]
    """
    return [leaf for _, leaf in leaves.leaves(value)]


def shaped_like(value: Any, parts: Sequence[Any]) -> Any:
    """The parts, one for each leaf, in the structure of the value; None for what is not a leaf.

    >>> shaped_like({"w": 1.0, "n": 3, "pair": (2.0, 4.0)}, "abc")
    {'w': 'a', 'n': None, 'pair': ('b', 'c')}
    """
    remaining = iter(parts)
    return _mapped(value, lambda leaf: next(remaining))


def _mapped(value: Any, fn: Callable[[Any], Any]) -> Any:
    if leaves.is_leaf(value):
        return fn(value)
    inside = leaves.children(value)
    if inside is None:
        return None
    return leaves.rebuild(value, [_mapped(item, fn) for _, item in inside])


def size_of(value: Any) -> int:
    """How many numbers carry derivatives in a value."""
    return sum(_entries(leaf) for leaf in flat(value))


def _entries(leaf: Any) -> int:
    return int(np.prod(getattr(leaf, "shape", ())))


def to_vector(parts: Sequence[Any]) -> Any:
    """The entries of leaves one after the other, as one array."""
    return np.concatenate([np.zeros(0), *(np.ravel(part) for part in parts)])


def from_vector(value: Any, vector: Any) -> Any:
    """The inverse: a vector cut into leaves with the shapes and dtypes of those of the value."""
    parts, start = [], 0
    for leaf in flat(value):
        end = start + _entries(leaf)
        part = vector[start:end]
        if leaves.is_array(leaf):
            parts.append(part.reshape(leaf.shape).astype(leaf.dtype))
        else:
            parts.append(type(leaf)(part[0]))
        start = end
    return shaped_like(value, parts)


def units(value: Any) -> Iterator[tuple[int, tuple[int, ...], Any]]:
    """For each entry of each leaf: number of the leaf, index, and the seed that is one there.

    >>> [seed for _, _, seed in units((2.0, {"b": 5.0}))]
    [(1.0, {'b': 0.0}), (0.0, {'b': 1.0})]
    """
    found = flat(value)
    zeros = [leaves.zeros(x) if leaves.is_array(x) else type(x)(0.0) for x in found]
    for number, leaf in enumerate(found):
        for index in np.ndindex(*getattr(leaf, "shape", ())):
            parts = [*zeros[:number], _unit(leaf, index), *zeros[number + 1 :]]
            yield number, index, shaped_like(value, parts)


def _unit(leaf: Any, index: tuple[int, ...]) -> Any:
    if not leaves.is_array(leaf):
        return type(leaf)(1.0)
    seed = leaves.zeros(leaf)
    seed[index] = 1.0
    return seed


class Blocks:
    """The derivatives of all leaves of `rows` by all leaves of `columns`, written bit by bit."""

    def __init__(self, rows: Any, columns: Any) -> None:
        self.rows, self.columns = rows, columns
        self.parts = [[_room(row, column) for column in flat(columns)] for row in flat(rows)]

    def put_column(self, number: int, index: tuple[int, ...], tangents: Sequence[Any]) -> None:
        """The derivatives of everything by one entry of the leaf `number` of the columns."""
        where = (..., *index)
        for row, tangent in zip(self.parts, tangents, strict=True):
            row[number][where] = tangent

    def put_row(self, number: int, index: tuple[int, ...], bars: Sequence[Any]) -> None:
        """The derivatives by everything of one entry of the leaf `number` of the rows."""
        where = (*index, ...)
        for block, bar in zip(self.parts[number], bars, strict=True):
            block[where] = bar

    def times(self, direction: Sequence[Any]) -> list[Any]:
        """The product with a vector, given and returned leaf by leaf."""
        return [
            sum(np.tensordot(block, v, np.ndim(v)) for block, v in zip(row, direction, strict=True))
            for row in self.parts
        ]

    def transposed_times(self, direction: Sequence[Any]) -> list[Any]:
        """The product of the transpose with a vector, leaf by leaf."""
        return [
            sum(
                np.tensordot(v, row[number], np.ndim(v))
                for row, v in zip(self.parts, direction, strict=True)
            )
            for number in range(len(flat(self.columns)))
        ]

    def nested(self) -> Any:
        """The structure of the rows, and at each of its leaves that of the columns."""
        found = []
        for row, blocks in zip(flat(self.rows), self.parts, strict=True):
            pairs = zip(flat(self.columns), blocks, strict=True)
            opened = [_opened(block, row, column) for column, block in pairs]
            found.append(shaped_like(self.columns, opened))
        return shaped_like(self.rows, found)


def _room(row: Any, column: Any) -> Any:
    """Zeros for the derivative of one leaf by another, in the array module of either."""
    shape = (*getattr(row, "shape", ()), *getattr(column, "shape", ()))
    arrays = [a for a in (row, column) if leaves.is_array(a)]
    if not arrays:
        return np.zeros((), np.result_type(type(row), type(column)))
    dtype = np.result_type(*(a if leaves.is_array(a) else type(a)(0) for a in (row, column)))
    return np.zeros_like(arrays[0], shape=shape, dtype=dtype, order="C")


def _opened(block: Any, row: Any, column: Any) -> Any:
    """The derivative of a number by a number is a number."""
    return block if leaves.is_array(row) or leaves.is_array(column) else block.item()
