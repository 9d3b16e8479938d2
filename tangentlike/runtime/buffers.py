"""Adjoints of writes whose place is only known when the program runs, and of selections."""

from __future__ import annotations

import numbers
import operator
import sys
import threading
import types
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .mutation import inside
from .records import attribute_of, fields_of, is_array, stores
from .sharing import memory_owner
from .statements import NotDifferentiated, written_for

_CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes, range, deque)
_OF_CONTAINERS = ("collections", "_collections_abc", "collections.abc")
_CARRYING = (float, complex, list, tuple, dict, deque, np.generic, np.ndarray)


def survivors(a: Any, key: Any) -> Any:
    """1 where an entry of `v` in `a[key] = v` is still in `a` afterwards, else 0.

    Repeated indices write one place several times and the last one stays. Returns 1.0 where
    nothing repeats (slices, integers, masks), else an array of the shape of `a[key]`.
    """
    parts = key if isinstance(key, tuple) else (key,)
    if not any(_is_indices(part) for part in parts):
        return 1.0
    places = arange(a.size, a).reshape(a.shape)[key]
    order = arange(places.size, a)
    last = np.zeros_like(order, shape=(a.size,))
    np.maximum.at(last, places.reshape(-1), order)  # an assignment would do, were its order stated
    return (last[places.reshape(-1)] == order).reshape(places.shape) * 1.0


def _is_indices(part: Any) -> bool:
    if isinstance(part, list):
        return True
    dtype = getattr(part, "dtype", None)
    return dtype is not None and dtype.kind in "iu" and getattr(part, "ndim", 0) > 0


def reached(mask: Any, x: Any) -> Any:
    """Which entries of `x`, broadcast to the shape of `mask`, it selects at least once."""
    shape = np.shape(x)
    if np.shape(mask) == shape:
        return mask
    lead = tuple(range(np.ndim(mask) - len(shape)))
    mask = np.any(mask, axis=lead) if lead else mask
    ones = tuple(i for i, n in enumerate(shape) if n == 1 and np.ndim(mask) == len(shape))
    return np.any(mask, axis=ones, keepdims=True) if ones else mask


def places_taken(x: Any, key: Any) -> Any:
    """Which entries of `x` are in `x[key]`: an array of booleans of its shape."""
    mask = np.zeros_like(x, dtype=bool)
    mask[key] = True
    return mask


def places_left(x: Any, key: Any) -> Any:
    """Which entries of `x` are not in `x[key]`."""
    return ~places_taken(x, key)


def require_apart(a: Any, b: Any) -> None:
    """Check that two arrays share no memory, nor what containers and objects hold; the function
    called next writes one of them.

    Raises `ValueError` otherwise: a write to one would be a write to the other.
    """
    if _share_memory(a, b):
        raise ValueError(
            "two arguments of a function that writes one of them share memory: pass a copy of one"
        )


def require_not_held(x: Any, outer: Any) -> None:
    """Check that `x`, which may be written next, is nothing that an object outside of the function
    is or holds.

    Raises `ValueError` otherwise: what carries derivatives would go out with it.
    """
    if _share_memory(x, outer):
        raise ValueError(
            "what carries derivatives may be written into memory that an object outside of the "
            "function holds: write into a copy, or pass the object as an argument"
        )


class unchanged:
    """A context for a call that is given objects outside of the function: when it ends, each of
    them holds what it held before.

    Raises `ValueError` otherwise: what carries derivatives may have gone out with it.

    >>> with unchanged({"scale": 2.0}):
    ...     y = 3.0
    """

    def __init__(self, *objects: Any) -> None:
        self.objects = objects

    def __enter__(self) -> None:
        held = _contents(self.objects)
        self._held = [(x, part.copy() if is_array(part) else part) for x, part in held]

    def __exit__(self, *_: Any) -> None:
        for x, held in self._held:
            now = _content(x)
            if isinstance(held, np.ndarray):
                same = now.tobytes() == held.tobytes()
            elif is_array(held):
                same = bool((now == held).all())
            else:
                same = len(now) == len(held) and all(map(operator.is_, now, held))
            if not same:
                raise ValueError(
                    "an object outside of the function is changed by what it is given to, and what "
                    "carries derivatives may go out with that: return what is new, or pass the "
                    "object as an argument"
                )


def _contents(objects: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """What objects hold, and what that holds, each with what it is found in."""
    pending, seen = [*objects], set[int]()
    while pending:
        x = pending.pop()
        if isinstance(x, _PLAIN) or id(x) in seen:
            continue
        seen.add(id(x))
        held = _content(x)
        if not is_array(held):
            pending.extend(held)
        yield x, held


def _content(x: Any) -> Any:
    """The entries of an array, or the items and attributes of a container or an object; nothing of
    code."""
    if is_array(x):
        return x if x.dtype != object else x.ravel().tolist()
    if isinstance(x, (type, *_CODE)):
        return []
    items = [*x.keys(), *x.values()] if isinstance(x, dict) else []
    items += x if isinstance(x, (list, tuple, set, frozenset, deque)) else []
    own = fields_of(x) or attribute_of(x, "__dict__", None) or {}
    return [*items, *own, *own.values()]


_KEPT = threading.local()  # `held`: what outer objects held when the latest call began, by id


def note_kept(*holders: Any, also: bool = False) -> None:
    """Note what objects outside of the function hold, so that it is known later what was kept by
    earlier calls; `also` beside what was noted before."""
    parts = (part for _, held in _contents(holders) if isinstance(held, list) for part in held)
    found = {id(part): part for part in parts}
    if also:  # (what nothing else holds any more is found nowhere again)
        before = getattr(_KEPT, "held", {})
        counts = _reference_counts(before)
        found.update({key: part for key, part in before.items() if counts[key] > _HELD_ONCE})
    _KEPT.held = found


def _reference_counts(held: dict[int, Any]) -> dict[int, int]:
    return {key: sys.getrefcount(part) for key, part in held.items()}


_HELD_ONCE = _reference_counts({0: object()})[0]


_FOUND_AGAIN = (
    "what carries derivatives is equal to what an earlier call kept, and what that kept is a "
    "constant: differentiate the function that computes it, or begin with nothing kept"
)


def require_new(found: Any, equal: Any = True, holder: Any = None, name: Any = None) -> Any:
    """`found` itself, which says where something is equal (or not) to what was kept, as `name` of
    `holder`: it is not everywhere so, or that was not kept by an earlier call.

    Raises `ValueError` otherwise.

    >>> require_new(3.0 == 4.0)
    False
    """
    if np.size(found) and np.all(np.asarray(found) == equal) and _was_kept(holder, name):
        raise ValueError(_FOUND_AGAIN)
    return found


def require_unseen(table: Any, key: Any, noted: bool) -> None:
    """Check that a dict does not have a key that carries derivatives from an earlier call: a number
    that is not an integer, where what was kept is not `noted`.

    Raises `ValueError` otherwise.
    """
    kept = _was_kept(table, key) if noted else _holds_numbers(key)
    if kept and isinstance(table, dict) and key in table:
        raise ValueError(_FOUND_AGAIN)


def _was_kept(holder: Any, name: Any) -> bool:
    """Whether an item or attribute was there when the call began, or may have been."""
    listed = isinstance(holder, (dict, list))
    try:
        held = (holder if listed else attribute_of(holder, "__dict__", None))[name]
    except (LookupError, TypeError):
        return True
    return id(held) in getattr(_KEPT, "held", {})


def read_only(x: Any) -> Any:
    """A view of an array outside of the function for what may write its arguments: NumPy raises
    `ValueError` where it does.

    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    view = x.view()
    view.flags.writeable = False
    return view


def _share_memory(a: Any, b: Any) -> bool:
    if isinstance(a, _PLAIN) or isinstance(b, _PLAIN):
        return False
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.shares_memory(a, b))
    held: tuple[dict[int, list[Any]], ...] = ({}, {})
    _collect(a, held[0])
    _collect(b, held[1])
    return any(_meet(held[0][key], held[1][key]) for key in held[0].keys() & held[1].keys())


_PLAIN = (int, float, complex, str, bytes, np.generic, type(None))
_CODE = (types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType)


def _collect(x: Any, found: dict[int, list[Any]]) -> None:
    """The arrays in a value, by the id of what owns their memory, and the containers by theirs."""
    if isinstance(x, np.ndarray):
        found.setdefault(id(memory_owner(x)), []).append(x)
    elif not isinstance(x, _PLAIN) and id(x) not in found:
        items = x.values() if isinstance(x, dict) else x
        if not isinstance(x, (list, tuple, dict, deque)):
            items = (fields_of(x) or {}).values()
        if not isinstance(x, tuple):
            found[id(x)] = []
        for item in items:
            _collect(item, found)


def _meet(first: list[Any], second: list[Any]) -> bool:
    """Whether two containers are one, or two arrays over the memory of one share some of it."""
    return not first or any(np.shares_memory(x, y) for x in first for y in second)


def require_read_first(a: Any, key: Any, value: Any) -> None:
    """Check that `a[key] = value` reads every entry of `value` before it writes it, where `value`
    is a view of `a`. An item of a list or dict is replaced, and needs no check.

    NumPy sees to that, by a copy or by the order of its writes, except for vectors with unequal
    strides of one sign: `a[::2] = a[:n]` reads entries that it has just written. Raises
    `ValueError` there.
    """
    if type(a) is not np.ndarray:
        return
    entries = a[key]
    vectors = all(type(x) is np.ndarray and x.ndim == 1 for x in (entries, value))
    if not vectors or entries.size != value.size:
        return
    (to,), (off,) = entries.strides, value.strides
    if to == off or to * off <= 0 or not np.may_share_memory(entries, value):
        return
    places = (x.__array_interface__["data"][0] for x in (entries, value))
    order = np.arange(entries.size)
    written, read = (start + step * order for start, step in zip(places, (to, off), strict=True))
    _, when_written, when_read = np.intersect1d(written, read, return_indices=True)
    if np.any(when_written != when_read):
        raise ValueError(
            "a slice is assigned to an overlapping slice with another step, and NumPy overwrites "
            "entries before it reads them: assign a copy, as in a[::2] = a[:n].copy()"
        )


def require_array(x: Any, or_number: bool = False) -> None:
    """Check that `x`, written in place by `x += v`, is an array: a number would be rebound. Where
    items of it are written, it may be a number, which has none, but not a list.

    Raises `TypeError` otherwise.
    """
    if or_number and isinstance(x, (int, float, complex, np.generic)):
        return
    if not hasattr(x, "shape") or isinstance(x, np.generic):
        raise written_for("an array", x)


def require_values(x: Any, method: str) -> None:
    """Check that `x`, whose method of this name is called, is an array or a number; or that an
    operand of this operator is not an object.

    Raises `TypeError` otherwise: objects may have another method of that name.
    """
    if method.isidentifier():
        if not hasattr(type(x), "dtype"):
            raise written_for(f"an array, of which `{method}` is a method,", x)
    elif fields_of(x) is not None or (isinstance(x, tuple) and type(x) is not tuple):
        raise written_for(f"an array or a number as an operand of `{method}`,", x)


def require_mutable(x: Any) -> None:
    """Check that `x` is not a number: what is added to its adjoint is added to the caller's.

    Raises `TypeError` otherwise: the caller would not see it.
    """
    if isinstance(x, (int, float, complex, np.generic)):
        raise written_for("an array", x)


def require_plain_key(x: Any) -> None:
    """Check that a key of a dict is, or holds, no number but integers: keys carry no derivative.

    Raises `TypeError` otherwise.

    >>> require_plain_key("w"); require_plain_key((1, "b"))
    """
    if _holds_numbers(x):
        raise TypeError(
            "a key of a dict that is iterated over, or passed on, carries derivatives: store the "
            "numbers in a list beside the dict, or as its values"
        )


def plain_item(x: Any) -> Any:
    """`x` itself, an item of a set or a bound of a slice: it is and holds no number but integers.

    Raises `TypeError` otherwise.

    >>> plain_item((1, "b"))
    (1, 'b')
    """
    if _holds_numbers(x):
        raise TypeError(
            "an item of a set, or a bound of a slice, is or holds what carries derivatives: sets "
            "and slices do not; keep such numbers and objects in a list"
        )
    return x


def plain_items(items: Any) -> Any:
    """What a set is made of: `items` themselves, each of which is a `plain_item`.

    Raises `TypeError` otherwise, and for an iterator, which has its items once.
    """
    if isinstance(items, Iterator):
        raise written_for("a list, a tuple or a set", items)
    for item in items:
        plain_item(item)
    return items


def _holds_numbers(x: Any) -> bool:
    """Whether `x` is a number but an integer, an array of such, or holds or captures one."""

    def is_number(part: Any) -> bool:
        if is_array(part):
            return getattr(part.dtype, "kind", "f") in "fcO"
        return isinstance(part, (float, complex, np.inexact))

    return any(map(is_number, inside(x)))


def require_floats(x: Any, listed: bool = False) -> None:
    """Check that `x`, into which goes what carries derivatives, is not an array of integers:
    these are rounded there. (An item of a list is replaced, unless an array is made of the list
    first.)

    Raises `TypeError` otherwise.

    >>> require_floats(np.zeros(2)); require_floats([1, 2]); require_floats([1.5, 2], listed=True)
    """
    if isinstance(x, (list, tuple, int)) and listed:
        x = np.asarray(x)
    if getattr(getattr(x, "dtype", None), "kind", "f") in "iub":
        raise TypeError(
            "a value that carries derivatives is put into an array of integers, which rounds it: "
            "make it an array of floats, as in np.zeros(n) or np.array([0.0, 1.0])"
        )


def require_alike(results: list[Any]) -> None:
    """Check that the first of the results of a function for each entry, or row, is no integer
    where another one is a number of floating point, or an array of such: NumPy rounds all of them
    to the class of the first.

    Raises `TypeError` otherwise.

    >>> require_alike([0.0, 1.5]); require_alike([0, 1])
    """
    first, *others = (np.asarray(x).dtype.kind for x in results) if results else ("f",)
    if first in "iub" and not set(others) <= set("iub"):
        raise TypeError(
            "the first result of a function that NumPy calls for each entry is an integer, to "
            "which it rounds all others: return a float there, as in 0.0"
        )


def require_floating(*values: Any) -> None:
    """Check that what is differentiated with respect to holds numbers of floating point, where
    adjoints are found by the identity of the numbers: an integer has none.

    Raises `TypeError` otherwise.

    >>> require_floating(0.5, np.ones(2), [2, 0.5], {})
    """
    if not all(map(_is_floating, values)):
        raise TypeError(
            "derivatives are asked for with respect to integers: pass floats, 2.0 for 2 or "
            "x.astype(float)"
        )


def _is_floating(x: Any) -> bool:
    if isinstance(x, (list, tuple, dict)):
        items = list(x.values() if isinstance(x, dict) else x)
        return not items or any(map(_is_floating, items))
    return not isinstance(x, int) and getattr(getattr(x, "dtype", None), "kind", "f") not in "iub"


def given_constant(value: Any, option: Any) -> Any:
    """The `value` of a derivative, where an argument by which the operation has none is one that
    can carry none: an integer, a text, a type, None, or a container of such.

    Raises `TypeError` otherwise.

    >>> given_constant(2.5, 3), given_constant(2.5, (1, "reflect"))
    (2.5, 2.5)
    """
    if not _is_discrete(option):
        raise TypeError(
            f"an operation is given a {type(option).__name__} for an argument by which it has no "
            "derivative: apply tl.stop_gradient to it if it is meant as a constant"
        )
    return value


def _is_discrete(x: Any) -> bool:
    if isinstance(x, (list, tuple, dict)):
        return all(map(_is_discrete, x.values() if isinstance(x, dict) else x))
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "iubSU"
    return x is None or x is ... or isinstance(x, (int, str, bytes, slice, type, np.dtype))


def require_numpys(*values: Any) -> None:
    """Check that what is combined with what carries derivatives computes as NumPy's arrays and
    numbers do, for which the rules hold.

    Raises `NotDifferentiated` otherwise.
    """
    for cls in map(type, values):
        if has_own_operations(cls):
            raise NotDifferentiated(
                f"what carries derivatives is combined with a {cls.__name__}, a class with "
                "operations of its own",
                "Use an array or a number of NumPy's: np.asarray(w), w.filled(0.0), w.value, "
                "float(w).",
            )


def has_own_operations(cls: type) -> bool:
    """Whether a class of arrays or numbers defines operations.

    >>> has_own_operations(np.ma.MaskedArray), has_own_operations(np.ndarray)
    (True, False)
    """
    for base, names in ((np.ndarray, _OF_ARRAYS), (float, _ARITHMETIC), (int, _ARITHMETIC)):
        if issubclass(cls, base) and not issubclass(cls, _NUMPYS):
            own = cls.__mro__[: cls.__mro__.index(base)]
            return any(not names.isdisjoint(vars(one)) for one in own)
    return False


_ARITHMETIC = frozenset(
    f"__{prefix}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
    for prefix in ("", "r", "i")
) | {"__neg__", "__pos__", "__abs__"}
_OF_ARRAYS = _ARITHMETIC | {"__array_ufunc__", "__array_function__", "__getitem__", "__setitem__"}
_OF_ARRAYS |= {name for name in dir(np.ndarray) if not name.startswith("_")}
_NUMPYS = (np.memmap, np.recarray, np.matrix, np.generic)  # (matrices are refused by themselves)


def require_plain_keys(items: Any, pairs: bool = False) -> None:
    """Check the keys of which a dict is made, or the first items of `pairs`, as
    `require_plain_key` does.

    >>> require_plain_keys(["w", 2]); require_plain_keys([("w", 1.0), ("b", 2.0)], pairs=True)
    """
    for item in items if isinstance(items, (tuple, list, np.ndarray)) else ():
        require_plain_key(item[0] if pairs else item)


def require_no_text(x: Any) -> None:
    """Check that `x`, of which a number is made, is no text and holds none: text carries no
    derivative. (What may hold some in a way that is not known is taken for such.)

    Raises `NotDifferentiated` otherwise, which programs that try whether text is a number do not
    catch.

    >>> require_no_text([1.0, np.ones(2)])
    """
    if _may_hold_text(x, set()):
        raise NotDifferentiated(
            "a number is made from text, and the text from a value that carries derivatives",
            "Text carries no derivative: use the number itself, or apply tl.stop_gradient to it "
            "first.",
        )


def _may_hold_text(x: Any, around: set[int]) -> bool:
    if x is None or isinstance(x, numbers.Number) or id(x) in around:
        return False
    around = {*around, id(x)}
    kind = getattr(getattr(x, "dtype", None), "kind", "")
    if kind == "O":
        return any(_may_hold_text(item, around) for item in np.asarray(x).ravel().tolist())
    if isinstance(x, dict):
        return any(_may_hold_text(item, around) for pair in x.items() for item in pair)
    if isinstance(x, (tuple, list, set, frozenset, range, deque)):
        return any(_may_hold_text(item, around) for item in x)
    return not kind or kind not in "?biufcmM"


def has_own(x: Any, name: str) -> bool:
    """Whether an object itself has an attribute of this name, beside what its class has.

    >>> has_own(np.float64(1.0), "real")
    False
    """
    return name in getattr(x, "__dict__", ())


def require_class(x: Any, cls: type, *own: str) -> None:
    """Check that `x` is of the class whose methods this derivative was made from; where it calls
    those in `own`, it asks whether the object has another function there.

    Raises `TypeError` otherwise: an object of another class has other methods. So has one of which
    an attribute hides a method of its class, which is not differentiated.
    """
    if type(x) is not cls:
        raise written_for(f"a {cls.__name__}", x)
    known = (*own, *getattr(cls, "__dataclass_fields__", ()))  # (a class has the defaults of these)
    for name in getattr(x, "__dict__", ()):
        if isinstance(getattr(cls, name, None), types.FunctionType) and name not in known:
            raise NotDifferentiated(
                f"this {cls.__name__} has an attribute `{name}` that hides the method of its class",
                "Give the attribute another name, or override the method in a class.",
            )


def require_listed(x: Any, *classes: type) -> None:
    """Check that `x`, which makes an object, is one of the classes that were read.

    Raises `TypeError` otherwise.
    """
    if not any(x is cls for cls in classes):
        raise written_for(" or ".join(f"the class {cls.__name__}" for cls in classes), x)


def require_module(x: Any, module: Any) -> None:
    """Check that `x` is the module whose functions this derivative was made from, or the same with
    the names of the array API standard (`array_api_compat.numpy`).

    Raises `TypeError` otherwise.
    """
    if x is not module and getattr(x, "__name__", "") != f"array_api_compat.{module.__name__}":
        raise written_for(f"the module {module.__name__}", x)


def require_none(x: Any) -> None:
    """Check that an argument is the None that this derivative was made for.

    Raises `TypeError` otherwise.
    """
    if x is not None:
        raise written_for("None", x)


def require_container(x: Any, method: str) -> None:
    """Check that `x`, whose method of this name is called, is a container of Python's.

    Raises `TypeError` otherwise: objects may have another method of that name.
    """
    found = getattr(type(x), method, None)
    of_python = isinstance(x, _CONTAINERS) or isinstance(found, types.MethodDescriptorType)
    written = isinstance(found, types.FunctionType) and found.__module__ not in _OF_CONTAINERS
    if written or not of_python:
        raise TypeError(
            f"this derivative takes `{method}` for the method of a list or dict and got a "
            f"{type(x).__name__}: give the method another name"
        )


def require_field(x: Any, name: str) -> None:
    """Check that `x.name`, which is not called, is not a method of an array or a container.

    Raises `TypeError` otherwise: what calls it then reads or writes `x`.

    >>> require_field(slice(1, 2), "start")
    """
    if isinstance(getattr(type(x), name, None), types.MethodDescriptorType):
        raise TypeError(
            f"`{type(x).__name__}.{name}` is used as a value where the class is not known: "
            f"make the derivative with example= arguments, or write a lambda that calls it, "
            f"`lambda *args: x.{name}(*args)`"
        )


def require_sequence(x: Any) -> None:
    """Check that `x` in `x + [a, b]`, `x * [a, b]` or `x[1:] = [a, b]` is not an array.

    The derivative is written for a list that is joined or repeated, or gets other items.

    Raises `TypeError` otherwise.
    """
    if isinstance(x, (np.ndarray, np.inexact)) or (hasattr(x, "dtype") and np.ndim(x)):
        raise written_for("a list", x)


def require_as_many(part: Any, value: Any) -> None:
    """Check that `xs[i:j] = value` leaves a list as long as it is.

    Raises `TypeError` otherwise: where it was not known that `xs` is a list it is read as an array.

    >>> require_as_many([1.0, 2.0], (3.0, 4.0)); require_as_many(np.zeros(3), [1.0])
    """
    if isinstance(part, list) and len(part) != len(value):
        raise TypeError(
            "a slice of a list is assigned another number of items where it was not known to be "
            "a list: build a new one, as in xs = xs[:i] + items + xs[j:]"
        )


def require_query(x: Any, method: str) -> None:
    """Check that `x.size`, or another attribute that arrays have and that carries no derivative of
    them, carries none of an object either.

    Raises `TypeError` otherwise: it is a field or a property of the class, with a derivative.

    >>> require_query(np.ones(3), "shape"); require_query(range(3), "size")
    """
    if is_array(x) or fields_of(x) is None:
        return
    value = getattr(x, method, None)
    parts = value if isinstance(value, tuple) else (value,)
    if any(
        isinstance(v, (float, complex, np.inexact, list, dict)) or is_array(v) or fields_of(v)
        for v in parts
    ):
        raise TypeError(
            f"`{method}` of a {type(x).__name__} carries derivatives, and is taken for that of an "
            "array: annotate the parameter that the object comes from with its class"
        )


def require_held(x: Any, value: Any, method: str = "") -> None:
    """Check that what an attribute of this name, or an item, of an object gave is what it holds.

    Raises `TypeError` otherwise: what its class computes (a property, a `__getitem__`) has a
    derivative of its own.
    """
    fields = fields_of(x)
    if fields is None or (not isinstance(value, _CARRYING) and fields_of(value) is None):
        return
    held = [*fields.values(), *(v for cls in type(x).__mro__ for v in vars(cls).values())]
    owner = memory_owner(value) if is_array(value) else None
    is_held = any(value is item for item in held)
    is_held = is_held or any(
        owner is memory_owner(v) for v in held if owner is not None and is_array(v)
    )
    if not is_held or _may_be_stored_by_reading(x, method):
        raise TypeError(
            f"an attribute or an item of a {type(x).__name__} is computed by its class, which is "
            "not known here: call a method for it, or annotate the parameter that it comes from"
        )


def _may_be_stored_by_reading(x: Any, name: str) -> bool:
    """Whether what reads this attribute may have computed it, and have the object hold it since:
    `if self._s is None: self._s = ...`."""
    of_class = getattr(type(x), name, None)
    if isinstance(of_class, property):
        reader = of_class.fget
        return isinstance(reader, types.FunctionType) and stores(reader.__code__, True)
    reader = getattr(type(x), "__getattr__", None) if of_class is None else None
    return isinstance(reader, types.FunctionType) and stores(reader.__code__, False)


def require_stored(x: Any, name: str) -> None:
    """Check that `x.name = v` stores `v` and runs no code of the class of `x`.

    Raises `TypeError` otherwise: what a setter does has a derivative of its own.
    """
    if isinstance(getattr(type(x), name, None), property):
        raise written_for(f"an object with an attribute `{name}`, and no property,", x)


def require_in_vars(x: Any, name: str, by_class: bool) -> None:
    """Check that `setattr(x, name, v)` is `vars(x)[name] = v`; without `by_class` that
    `object.__setattr__(x, name, v)` is.

    Raises `TypeError` otherwise: what the class of `x` does is not differentiated.
    """
    described = hasattr(getattr(type(x), name, None), "__set__")
    setter: Any = type(x).__setattr__
    own = by_class and setter is not object.__setattr__
    if described or own or isinstance(x, type) or not hasattr(x, "__dict__"):
        raise written_for(f"an object that holds `{name}` in its `__dict__`", x)


# --------------------------------------------------------------------------------------------------
# Arrays made from nothing, of the same kind as another one.
#
# An index or an identity matrix meets the arrays of the program: it has to be on their device.
# What implements no protocol (a number, a list) gets NumPy's.


def arange(count: int, like: Any) -> Any:
    """`np.arange(count)` as an array of the same kind as `like`."""
    if hasattr(like, "__array_function__"):
        return np.arange(count, like=like)
    return np.arange(count)


def eye(n: int, like: Any) -> Any:
    """`np.eye(n)` as an array of the same kind as `like`."""
    if hasattr(like, "__array_function__"):
        return np.eye(n, like=like)
    return np.eye(n)


def asarray(x: Any, like: Any) -> Any:
    """`x` itself if it is an array, else (a number or a list) an array of the kind of `like`."""
    if hasattr(x, "__array_function__") or not hasattr(like, "__array_function__"):
        return x
    return np.asarray(x, like=like)
