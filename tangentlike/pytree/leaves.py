"""The structure of values: what a container holds, which parts of it are differentiated."""

from __future__ import annotations

import cmath
import contextlib
import copy
import copyreg
import functools
import inspect
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..errors import TangentlikeError, with_article
from ..runtime.buffers import has_own_operations
from ..runtime.recent import Recent
from ..runtime.records import (
    SEQUENCES,
    Record,
    attribute_of,
    copied_fields,
    dict_with,
    fields_of,
    has_no_fields,
    is_array_class,
    is_machinery,
    names_of,
    record_like,
)

_BARE = (float, int, str, np.generic, type(None))  # what shares no memory with anything
PLAIN = frozenset((float, int, bool, complex, str, np.float64, type(None)))
OF_ANY_FORM: Any = type("OfAnyForm", (), {})()  # stands for a value that the caller does not have
WORK: Any = 100_000  # how long to think about whether two arrays overlap


def is_array(value: Any) -> bool:
    """Whether it is an array of NumPy, CuPy or the like (0-d included; NumPy scalars are not)."""
    if isinstance(value, np.ndarray):
        return True
    return is_array_class(type(value))


def is_number(value: Any) -> bool:
    """Whether it is a real or complex number that carries a derivative."""
    return isinstance(value, (float, complex, np.inexact))


def dtype_class(value: Any) -> str:
    """NumPy's letter for the class of a dtype: "f" float, "c" complex, "i", "u", "b", ..."""
    return str(getattr(getattr(value, "dtype", None), "kind", "?"))


def is_leaf(value: Any) -> bool:
    """Whether it carries a derivative itself: a float or complex number or array (not a sparse
    one: matrices of SciPy are constants)."""
    if is_number(value):
        return True
    return is_array(value) and dtype_class(value) in "fc" and not hasattr(value, "tocsr")


def children(value: Any) -> list[tuple[str, Any]] | None:
    """What of a container may be differentiated, each with the text that reaches it: what it holds,
    or the items that a class of the user's was registered with."""
    if not is_registered(value):
        return contents(value)
    items, _ = taken_apart(value)
    keys = items if isinstance(items, dict) else range(len(items))
    return [(f"[{key!r}]", items[key]) for key in keys]


def contents(value: Any) -> list[tuple[str, Any]] | None:
    """What a container holds, each with the text that reaches it (`[0]`, `['w']`, `.bias`)."""
    if isinstance(value, SEQUENCES):
        return [(f"[{i}]", item) for i, item in enumerate(value)]
    if isinstance(value, dict):
        return [(f"[{key!r}]", item) for key, item in value.items()]
    if value is None or is_leaf(value) or isinstance(value, (str, bytes, int, np.generic)):
        return None
    fields = fields_of(value)
    return None if fields is None else [(f".{name}", item) for name, item in fields.items()]


def items_of(value: Any) -> list[Any] | None:
    """What `children` finds, without the texts: what every call of a derivative asks."""
    if is_registered(value):
        items, _ = taken_apart(value)
        return list(items.values() if isinstance(items, dict) else items)
    return held_by(value)


def held_by(value: Any) -> list[Any] | None:
    """What `contents` finds, without the texts."""
    if type(value) in PLAIN:
        return None
    if isinstance(value, SEQUENCES):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if value is None or is_leaf(value) or isinstance(value, (str, bytes, int, np.generic)):
        return None
    fields = fields_of(value)
    return None if fields is None else list(fields.values())


def is_flat(value: Any, classes: frozenset[Any] = PLAIN) -> bool:
    """Whether it is a list or tuple of nothing but numbers, strings and None: it need not be
    walked to know that it holds no arrays and no further containers."""
    kind = type(value)
    return (kind is list or kind is tuple) and classes.issuperset(set(map(type, value)))


def named_children(value: Any) -> dict[str, Any] | None:
    """What a namedtuple or an object holds, by field."""
    names = names_of(value)
    if names is not None:
        return dict(zip(names, value, strict=True))
    if isinstance(value, (*SEQUENCES, dict)) or contents(value) is None:
        return None
    return fields_of(value)


def leaves(
    value: Any, path: str = "", above: frozenset[int] = frozenset()
) -> Iterator[tuple[str, Any]]:
    """All floating leaves of a value, each with its path (`above` stops at cycles)."""
    if is_leaf(value):
        yield path, value
    elif id(value) not in above:
        for step, item in children(value) or ():
            yield from leaves(item, path + step, above | {id(value)})


# (What was walked is kept by identity, so that it is walked once though several hold it, or it
# holds itself.)


def has_leaf(value: Any, walked: dict[int, Any] | None = None) -> bool:
    """Whether anything inside carries a derivative."""
    if is_leaf(value):
        return True
    walked = {} if walked is None else walked
    if type(value) in PLAIN or id(value) in walked:
        return False
    walked[id(value)] = value
    return any(has_leaf(item, walked) for item in items_of(value) or ())


def contains_itself(value: Any, walked: dict[int, tuple[Any, bool]] | None = None) -> bool:
    """Whether a container is inside itself, or anything in it is inside itself. (`walked` says of
    each whether all of it was looked at.)

    >>> table, one = {"w": 1.0}, {}
    >>> table["all"] = [table]
    >>> contains_itself(table), contains_itself([one, one])
    (True, False)
    """
    if type(value) is np.ndarray or type(value) in PLAIN or is_flat(value):
        return False
    walked = {} if walked is None else walked
    if id(value) in walked:
        return not walked[id(value)][1]
    walked[id(value)] = value, False
    found = any(contains_itself(item, walked) for item in items_of(value) or ())
    walked[id(value)] = value, True
    return found


def is_complex(value: Any, walked: dict[int, Any] | None = None) -> bool:
    """Whether a number or an array is complex, or anything in a container."""
    kind = type(value)
    if kind is np.ndarray:  # the usual cases first: every call comes through here
        return bool(value.dtype.kind == "c")
    if kind in PLAIN:
        return kind is complex
    if kind is not tuple and kind is not list:
        if is_array(value) or isinstance(value, np.generic):
            return dtype_class(value) == "c"
        if isinstance(value, (complex, int, str)):
            return isinstance(value, complex)
    walked = {} if walked is None else walked
    if id(value) in walked:
        return False
    walked[id(value)] = value
    for item in value if kind is tuple or kind is list else held_by(value) or ():
        kind = type(item)
        if kind is complex or (kind not in PLAIN and is_complex(item, walked)):
            return True
    return False


def is_foreign(value: Any) -> bool:
    """Whether a value is an array that is not NumPy's, or holds one."""
    if isinstance(value, (np.ndarray, float, int, complex, str, np.generic, type(None))):
        return False
    return any(not isinstance(array, np.ndarray) for array in arrays(value))


def arrays(value: Any) -> list[Any]:
    """All arrays inside a value, of whatever dtype. What is held more than once is found twice, as
    are the arrays in it.

    >>> rows = [np.ones(2)]
    >>> len(arrays([rows, rows, [rows, rows]]))
    2
    """
    found: list[Any] = []
    _add_arrays(value, found, {})
    return found


def _add_arrays(value: Any, found: list[Any], walks: dict[int, list[Any]]) -> None:
    """`walks` are those through each container (two will do), None the one that is under way."""
    if is_array(value):
        found.append(value)
    elif not is_flat(value):
        own = walks.setdefault(id(value), [])
        if not own or (len(own) == 1 and own[0] is not None):
            own.append(None)
            for item in held_by(value) or ():
                _add_arrays(item, found, walks)
            own[-1] = value


def are_doubles(value: Any) -> bool:
    """Whether all floats in a value, in arrays and by themselves, are of double precision.

    >>> are_doubles([np.ones(2), 1.0]), are_doubles({"w": np.ones(2, np.float32)})
    (True, False)
    """
    pending, seen = [value], set()
    while pending:
        value = pending.pop()
        if is_array(value) or isinstance(value, np.generic):
            if dtype_class(value) == "f" and np.dtype(value.dtype) != float:
                return False
        elif id(value) not in seen and not is_flat(value):
            seen.add(id(value))
            pending += held_by(value) or ()
    return True


def rebuild(value: Any, items: list[Any]) -> Any:
    """A container of the same type with other items, in the order of `children`."""
    return made_of(value, items) if is_registered(value) else with_contents(value, items)


def with_contents(value: Any, items: list[Any]) -> Any:
    """A container of the same type that holds something else, in the order of `contents`."""
    if type(value) is dict:
        return dict(zip(value, items, strict=True))
    if isinstance(value, dict):
        return dict_with(value, dict(zip(value, items, strict=True)))
    if isinstance(value, Record):
        return record_like(value, *items)
    if isinstance(value, tuple):
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return list(items)
    if isinstance(value, deque):
        return deque(items, value.maxlen)
    result = copy.copy(value)
    for name, item in zip(fields_of(value) or (), items, strict=True):
        object.__setattr__(result, name, item)
    return result


def plain_fields(value: Any) -> dict[str, Any] | None:
    """The attributes of an object that holds all that it shows in its `__dict__`, each of them a
    field, and is copied as Python copies objects; None for others."""
    kind: Any = type(value)
    attributes = fields_of(value) if _is_copied_plainly(kind) else None
    if attributes is None or attributes != vars(value):
        return None
    computed = (inspect.isdatadescriptor(getattr(kind, n, None)) for n in attributes)
    return None if any(computed) else attributes


_COPYING = ("__copy__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")
_OF_OBJECTS = ("__reduce_ex__", "__reduce__", "__new__", "__getattribute__")


@functools.lru_cache(maxsize=1024)
def _is_copied_plainly(cls: Any) -> bool:
    own = (*_COPYING, "__slots__")
    if any(name in vars(base) for base in cls.__mro__[:-1] for name in own):
        return False
    plain = all(getattr(cls, name) is getattr(object, name) for name in _OF_OBJECTS)
    return plain and cls not in copyreg.dispatch_table


# ------------------------------------------------------------------------ zeros, own memory


def is_zero(bar: Any) -> bool:
    return isinstance(bar, (int, float)) and bar == 0


def is_finite(value: Any) -> bool:
    """Whether no number in a value is NaN or infinite."""
    for _, leaf in leaves(value):
        if isinstance(leaf, (float, complex)):
            if not cmath.isfinite(leaf):
                return False
        elif not np.isfinite(leaf).all():
            return False
    return True


def zeros(value: Any) -> Any:
    """Zeros of an array's shape, dtype and array module."""
    if isinstance(value, np.ndarray):
        return np.zeros(value.shape, value.dtype)
    return np.zeros_like(value)  # dispatches to the array's own module


def filled(value: Any, number: Any) -> Any:
    """An array like `value` (0-d, as a rule) that holds a number everywhere."""
    made = zeros(value)
    made[...] = number
    return made


def own_copies(values: Any) -> Any:
    """Copies of arrays, containers and objects, which a function may write in place: what is one
    object before is one afterwards.

    >>> a = [1.0]
    >>> first, second = own_copies((a, a))
    >>> first is second, first is a
    (True, False)
    """
    made: dict[int, Any] = {}

    def copied(value: Any) -> Any:
        if id(value) not in made:
            made[id(value)] = value  # (of what holds itself)
            made[id(value)] = _copied(value, copied)
        return made[id(value)]

    return copied(values)


def _copied(value: Any, copied: Callable[[Any], Any]) -> Any:
    if is_array(value):
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(map(copied, value))
    if names_of(value) is not None:
        return type(value)(*map(copied, value))
    if isinstance(value, dict):
        return dict_with(value, {key: copied(item) for key, item in value.items()})
    return value if has_no_fields(value) else copied_fields(value, copied)


def own_memory(results: list[Any], others: Iterable[Any]) -> list[Any]:
    """Copies of those arrays that share memory with each other or with `others`.

    A gradient belongs to the caller, who may write it in place.
    """
    every: list[Any] = []
    for other in others:
        kind = type(other)
        if kind is np.ndarray:
            every.append(other)
        elif kind not in PLAIN and not isinstance(other, _BARE):
            every.extend(arrays(other))
    owners = {id(_owner(other)) for other in every}
    for result in results:  # (the usual case, made quick: arrays that own their memory)
        if type(result) is not np.ndarray or result.base is not None or id(result) in owners:
            break
        owners.add(id(result))
    else:
        return results
    taken = _Taken()
    for other in every:
        taken.add(other)
    return [_owned(result, taken) for result in results]


class _Taken:
    """Arrays whose memory is somebody's already, found by the array that owns the memory."""

    def __init__(self) -> None:
        self._by_owner: dict[int, list[Any]] = {}  # (the lists keep the owners alive)

    def add(self, array: Any) -> None:
        self._by_owner.setdefault(id(_owner(array)), []).append(array)

    def hold(self, result: Any) -> bool:
        """Whether writing the array would be seen elsewhere, or is forbidden."""
        owner = _owner(result)
        others = self._by_owner.get(id(owner))
        if others is not None and any(may_share(result, other) for other in others):
            return True
        if isinstance(owner, np.ndarray) and not owner.flags.owndata:  # (of a foreign buffer)
            every = (array for found in self._by_owner.values() for array in found)
            if any(may_share(result, other) for other in every):
                return True
        return not _writeable(result)


def _owned(result: Any, taken: _Taken) -> Any:
    if type(result) is np.ndarray or is_array(result):
        found = result.copy() if taken.hold(result) else result
        taken.add(found)
        return found
    if result is None or is_flat(result):
        return result
    inside = items_of(result)
    if not inside:
        return result
    return rebuild(result, [_owned(item, taken) for item in inside])


def _writeable(array: Any) -> bool:
    return bool(getattr(getattr(array, "flags", None), "writeable", True))


def may_share(first: Any, second: Any) -> bool:
    """Whether two arrays may have memory in common (by their bounds: cheap, and never misses)."""
    if first is second:
        return True
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.may_share_memory(first, second)
    if type(first) is not type(second):
        return False
    return _base(first) is _base(second)


def share(first: Any, second: Any) -> bool:
    """Whether two arrays have memory in common; yes where that is too hard to tell."""
    if not may_share(first, second):
        return False
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        try:
            return bool(np.shares_memory(first, second, max_work=WORK))
        except np.exceptions.TooHardError:
            return True
    return True


def hold_one_twice(arrays: list[Any]) -> bool:
    """Whether two of the arrays have memory in common."""
    if len(arrays) > 200:  # (all pairs would take long: those that are one array, or of one)
        return len({id(_base(array)) for array in arrays}) < len(arrays)
    return any(share(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


def _base(array: Any) -> Any:
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def _owner(array: Any) -> Any:
    """The array that an array is a view of. What lies below it may be a new object for each array
    of the same memory, as that of a compiler's run time is."""
    while getattr(array, "base", None) is not None:
        if isinstance(array, np.ndarray) and not isinstance(array.base, np.ndarray):
            return array
        array = array.base
    return array


# ---------------------------------------------------------------------------- what comes in


def refuse_no_leaf(
    names: Sequence[str],
    function: str,
    values: Sequence[Any],
    hint: str = "Name in wrt= what is a float, an array of floats, or a container of them.",
) -> None:
    """Say clearly that there is nothing in these arguments to differentiate by."""
    if any(map(has_leaf, values)) or any(value is OF_ANY_FORM for value in values):
        return
    given = zip(names, values, strict=True)
    what = " and ".join(f"`{name}` is {_described(value)}" for name, value in given)
    raise TangentlikeError(
        f"cannot differentiate {function}: {what}; there is no float among them",
        hint=hint,
    )


def refuse_cycle(name: str, function: str, value: Any) -> None:
    """Say clearly that a gradient cannot have the form of a container that contains itself."""
    if contains_itself(value):
        raise TangentlikeError(
            f"cannot differentiate {function} with respect to `{name}`: the argument contains "
            "itself, and its gradient would have to",
            hint="Put the numbers to differentiate by into a list, dict or object of their own.",
        )


def _described(value: Any) -> str:
    name = attribute_of(value, "__name__", None)
    if type(value) in PLAIN or (type(value) in (tuple, list, dict) and not value):
        return repr(value)
    return f"the {type(value).__name__} {name}" if name else with_article(type(value).__name__)


def refuse_integer(name: str, function: str, value: Any) -> None:
    """Say clearly that a derivative by an integer makes no sense."""
    if type(value) is np.ndarray and value.dtype.kind in "fc":
        return
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        what = f"is the {type(value).__name__} {value!r}"
        hint = f"Pass a float: {name}=float({value!r})."
    elif isinstance(value, (str, bytes)):
        what, hint = f"is the {type(value).__name__} {value!r}", "Name what is a number in wrt=."
    elif is_array(value) and dtype_class(value) == "?":
        kind = type(value)
        what = f"is a {kind.__module__}.{kind.__qualname__}, whose dtypes are not NumPy's"
        hint = "Pass a NumPy array, or one of a module that takes NumPy's functions, as CuPy does."
    elif is_array(value) and dtype_class(value) not in "fc":
        what = f"is an array of dtype {value.dtype}"
        hint = f"Pass a float array: {name}.astype(float)."
    else:
        return
    raise TangentlikeError(
        f"cannot differentiate {function} with respect to `{name}`: the argument {what}", hint=hint
    )


_MATRIX_CLASSES: Recent[type, bool] = Recent(1024)  # what was found of classes seen so far


def is_matrix(value: Any) -> bool:
    """Whether `*` of a value is a product of matrices: np.matrix, scipy.sparse.csr_matrix, ...

    >>> is_matrix(np.eye(2))
    False
    """
    kind = type(value)
    known = _MATRIX_CLASSES.get(kind)
    if known is None:
        names = [cls.__name__ for cls in kind.__mro__]
        known = _MATRIX_CLASSES.put(kind, issubclass(kind, np.matrix) or "spmatrix" in names)
    return known


_OWN_WAYS: Recent[type, bool] = Recent(1024)
_MANY = 100  # of as many items or more nobody is asked at each call


def computes_its_own_way(cls: type) -> bool:
    """Whether a class of arrays or numbers has operations of its own, for which rules do not hold.

    >>> computes_its_own_way(np.ma.MaskedArray), computes_its_own_way(np.ndarray)
    (True, False)
    """
    known = _OWN_WAYS.get(cls)
    if known is None:
        known = _OWN_WAYS.put(cls, has_own_operations(cls))
    return known


_PLAIN = frozenset((np.ndarray, np.float64, float, int, bool, str, type(None)))


def refuse_matrices(values: Iterable[Any], depth: int = 3) -> None:
    """Say clearly that `*` of an argument would be taken for the product of entries, or for NumPy's
    where its class has operations of its own."""
    for value in values:
        cls = type(value)
        if cls in _PLAIN:
            continue
        held: Any = value if cls in (list, tuple, dict) else attribute_of(value, "__dict__", None)
        held = fields_of(value) if held is None else held
        if type(held) in (list, tuple, dict) and depth and 0 < len(held) < _MANY:
            refuse_matrices(held.values() if type(held) is dict else held, depth - 1)
        if held is value:
            continue
        if computes_its_own_way(cls):
            what = f"an argument is a {cls.__name__}, a class with operations of its own"
            raise TangentlikeError(what, hint="Pass np.asarray of it, or w.filled(0.0), float(w).")
        if _MATRIX_CLASSES.get(cls) is not False and is_matrix(value):
            hint = "Pass np.asarray of it, and write @ for the product of matrices."
            if cls.__name__ != "matrix":
                hint = "Pass scipy.sparse.csr_array of it, and write @ for the product of matrices."
            what = f"an argument is a {cls.__name__}, whose `*` is not the elementwise product"
            raise TangentlikeError(what, hint=hint)


# --------------------------------------------------------------------------------------------------
# Containers of the user's own: how one is taken apart into what it holds, and made again.
#
#     tl.register_container(
#         Params,
#         lambda p: ((p.w, p.b), p.name),                   # what is differentiated, and the rest
#         lambda name, items: Params(name, *items),
#     )
#
# Where a value of such a class is a parameter or a result, the items that it is taken apart into
# are what derivatives are taken of: gradients, tangents and Jacobians come back in the class, made
# by the second function. Inside a derivative it is an object like any other, seen by its
# attributes.


_T = TypeVar("_T")
_Items = Sequence[Any] | Mapping[Any, Any]
_ADVICE = "See tl.register_container."


@dataclass(frozen=True)
class Protocol:
    """The two functions that a class was registered with."""

    flatten: Callable[[Any], tuple[_Items, Any]]
    unflatten: Callable[[Any, Any], Any]


_PROTOCOLS: dict[type, Protocol] = {}


def register_container(
    cls: type[_T],
    flatten: Callable[[_T], tuple[_Items, Any]],
    unflatten: Callable[[Any, Any], _T],
) -> None:
    """Say how values of a class of yours are taken apart, and made again.

    Parameters
    ----------
    cls : type
        The class; those derived from it are registered by themselves.
    flatten : callable
        `flatten(value)` gives `(items, rest)`: `items` a list, tuple or dict of what the value
        holds that may be differentiated (numbers, arrays, containers of them), `rest` anything
        else. It must hand out what the value holds, and compute nothing: a derivative is taken by
        what the attributes are.
    unflatten : callable
        `unflatten(rest, items)` makes a value of the class.

    Raises
    ------
    TangentlikeError
        if `cls` is not a class that can be registered, or one of the others is not a function.

    Examples
    --------
    >>> import numpy as np, tangentlike as tl
    >>> class Params:
    ...     def __init__(self, name, w, b):
    ...         self.name, self.w, self.b = name, w, b
    >>> tl.register_container(
    ...     Params, lambda p: ((p.w, p.b), p.name), lambda name, items: Params(name, *items)
    ... )
    >>> slopes = tl.grad(lambda p, x: np.sum(p.w * x) + p.b**2)(Params("a", np.ones(2), 3.0), 2.0)
    >>> slopes.name, slopes.w, slopes.b
    ('a', array([2., 2.]), 6.0)
    """
    if not isinstance(cls, type):
        raise TangentlikeError(f"register_container takes a class, got {cls!r}")
    if cls.__module__ == "builtins" or cls.__module__.partition(".")[0] == "numpy":
        raise TangentlikeError(
            f"{cls.__name__} is a built-in container, which needs no registration",
            hint="Register a class that is derived from it.",
        )
    for name, given in (("flatten", flatten), ("unflatten", unflatten)):
        if not callable(given):
            raise TangentlikeError(f"`{name}` must be a function, got {given!r}")
    _PROTOCOLS[cls] = Protocol(flatten, unflatten)


def is_registered(value: Any) -> bool:
    """Whether a value is of a class that was registered (of that class itself, not derived)."""
    return type(value) in _PROTOCOLS


def taken_apart(value: Any) -> tuple[_Items, Any]:
    """The items of a value of a registered class, and the rest."""
    name = type(value).__name__
    found = _PROTOCOLS[type(value)].flatten(value)
    if not isinstance(found, tuple) or len(found) != 2:
        raise TangentlikeError(
            f"the `flatten` of {name} must return a pair, of the items and of the rest",
            hint=_ADVICE,
        )
    if not isinstance(found[0], (list, tuple, dict)):
        raise TangentlikeError(
            f"the items that the `flatten` of {name} returns must be a list, a tuple or a dict, "
            f"got a {type(found[0]).__name__}",
            hint=_ADVICE,
        )
    return found


def made_of(value: Any, items: Sequence[Any]) -> Any:
    """A value of the same class and the same rest with other items, in their order."""
    old, rest = taken_apart(value)
    new: Any = list(items) if isinstance(old, list) else tuple(items)
    if isinstance(old, dict):
        new = dict(zip(old, items, strict=True))
    made = _PROTOCOLS[type(value)].unflatten(rest, new)
    if type(made) is not type(value):
        raise TangentlikeError(
            f"the `unflatten` of {type(value).__name__} returned a {type(made).__name__}",
            hint="It must make a value of the class: unflatten(rest, items).",
        )
    return made


# --------------------------------------------------------------------------------------------------
# What can be reached from a value: whether two of them may be changed through one another.


_CONTAINERS = (*SEQUENCES, dict, set)


class Reach:
    """All arrays, containers and objects that can be reached from some objects; `twice` are those
    that are found in two ways. `through` gives what functions and methods reach: what they capture,
    unless it says something else."""

    def __init__(
        self, objects: Iterable[Any], through: Callable[[Any], Iterable[Any]] | None = None
    ) -> None:
        self.found: dict[int, Any] = {}
        self.twice: dict[int, Any] = {}
        self.arrays: list[Any] = []
        self.functions: list[Any] = []
        pending = list(objects)
        while pending:
            obj = pending.pop()
            if is_plain(obj):
                continue
            if id(obj) in self.found:
                self.twice[id(obj)] = obj
                continue
            self.found[id(obj)] = obj
            if is_array(obj):
                self.arrays.append(obj)
            if isinstance(obj, FUNCTIONS):
                self.functions.append(obj)
                pending.extend((through or captured)(obj))
            else:
                pending.extend(_held(obj))

    def common(self, other: Reach) -> list[Any]:
        """What can be reached from both."""
        return [obj for key, obj in self.found.items() if key in other.found]

    def meets(self, other: Reach) -> bool:
        """Whether something can be reached from both that one of them could change."""
        if self.common(other):
            return True
        return any(share(a, b) for a in self.arrays for b in other.arrays)

    @property
    def holds_one_twice(self) -> bool:
        """Whether a container or an object is held twice, or two arrays share memory."""
        twice = (obj for obj in self.twice.values() if is_data(obj) or is_array(obj))
        return next(twice, None) is not None or hold_one_twice(self.arrays)


# (A builtin is a method where it is bound to data: `w.fill`.)
FUNCTIONS = (
    *(types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType),
    functools.partial,
)
_CODE: tuple[type, ...] = (
    *(*FUNCTIONS, types.ModuleType, type),
    *(functools._lru_cache_wrapper, np.ufunc, type(np.sum), np.dtype),
)


def is_data(obj: Any) -> bool:
    """Whether a value is an array, a container that may change, or an object with attributes."""
    return not is_plain(obj) and not isinstance(obj, (*_CODE, tuple, frozenset, range))


def is_plain(obj: Any) -> bool:
    return obj is None or isinstance(obj, (bool, int, float, complex, str, bytes, np.generic))


def _held(obj: Any) -> Iterator[Any]:
    """What a container or an object holds."""
    if isinstance(obj, dict):
        yield from obj.values()
    elif isinstance(obj, _CONTAINERS):
        yield from () if is_flat(obj) else obj
    elif isinstance(obj, np.ndarray):
        yield from obj.flat if obj.dtype.kind == "O" else ()
    elif not isinstance(obj, (type, types.ModuleType)) and not is_machinery(type(obj)):
        yield from (attribute_of(obj, "__dict__", None) or {}).values()
        for cls in type(obj).__mro__:
            slots = vars(cls).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(obj, name):
                    yield getattr(obj, name)


def captured(fn: Any) -> Iterator[Any]:
    """What a function or method captures, which it may change."""
    if isinstance(fn, types.FunctionType):
        yield from fn.__defaults__ or ()
        yield from (fn.__kwdefaults__ or {}).values()
        for cell in fn.__closure__ or ():
            with contextlib.suppress(ValueError):  # (nothing is bound to it yet)
                yield cell.cell_contents
    elif isinstance(fn, functools.partial):
        yield from (fn.func, *fn.args, *fn.keywords.values())
    else:
        yield fn.__self__
