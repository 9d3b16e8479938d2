"""Adjoints and tangents of objects: what mirrors a namedtuple, a dataclass or a plain object.

A mirror has the attributes of what it mirrors, and nothing else of it: no methods, no
properties. So code that would compute a value from the attributes of an object finds no such
attribute of its mirror, rather than a wrong derivative.
"""

from __future__ import annotations

import copy
import dataclasses
import dis
import functools
import inspect
import os
import sys
import types
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .recent import Recent

_NO_OBJECTS = (
    *(type, types.ModuleType, str, bytes, int, float, complex, type(None)),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType),
    *(np.ufunc, type(np.sum), functools.partial, functools._lru_cache_wrapper),
)


# What a class has under a name and says nothing of an attribute by that name of its objects.
_PLAIN_DESCRIPTORS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)


class Mirror(types.SimpleNamespace):
    """The adjoint or tangent of an object: entries by attribute.

    Its items and what it yields would be those of the object's class, which it has not.
    """

    def __getitem__(self, key: Any) -> Any:
        raise AttributeError("a mirror has no items", name="__getitem__", obj=self)

    def __iter__(self) -> Any:
        raise AttributeError("a mirror yields nothing", name="__iter__", obj=self)

    def __add__(self, other: Any) -> Any:
        if np.ndim(other) == 0 and other == 0.0:  # (that of what nothing is known of)
            other = Mirror()
        if not hasattr(other, "__dict__"):
            raise AttributeError("an object has an adjoint of its own", name="T", obj=self)
        names = dict.fromkeys((*vars(self), *vars(other)))
        return Mirror(**{name: _sum_of(self, other, name) for name in names})

    __radd__ = __add__


class Record(list):  # type: ignore[type-arg]
    """The adjoint or tangent of a namedtuple: entries by position and by field."""

    def __init__(self, names: tuple[str, ...], items: Any) -> None:
        super().__init__(items)
        self.__dict__["_names"] = names

    def __getattr__(self, name: str) -> Any:
        return self[self._place(name)]

    def __setattr__(self, name: str, value: Any) -> None:
        self[self._place(name)] = value

    def _place(self, name: str) -> int:
        names = self.__dict__.get("_names", ())
        if name not in names:
            raise AttributeError(f"no field `{name}`", name=name, obj=self)
        return int(names.index(name))

    def __add__(self, other: Any) -> Any:
        return Record(self._names, [added(a, b) for a, b in zip(self, other, strict=True)])

    def __iadd__(self, other: Any) -> Any:
        return self + other

    def __reduce__(self) -> Any:
        return Record, (self._names, list(self))


class Keyed(dict):  # type: ignore[type-arg]
    """The mirror of a dict whose keys may be written as attributes."""

    __setattr__ = dict.__setitem__

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"no key `{name}`", name=name, obj=self)
        return self[name]


class Entries(list):  # type: ignore[type-arg]
    """The adjoint of a list that was taken for an array: what is added to it is added entry by
    entry, where lists would be joined.

    >>> total = [1.0, 0.0]
    >>> total += Entries([0.5, 2.0])
    >>> total
    [1.5, 2.0]
    """

    def __add__(self, other: Any) -> Any:
        if isinstance(other, (float, int, complex, np.generic)):  # (it stands for all entries)
            return Entries(item + other for item in self)
        return Entries(added(list(self), other))

    __radd__ = __iadd__ = __add__

    def __mul__(self, other: Any) -> Any:
        return np.asarray(self) * other

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return -np.asarray(self)

    def __sub__(self, other: Any) -> Any:
        return self + -np.asarray(other)

    def __rsub__(self, other: Any) -> Any:
        return Entries(added(other, -np.asarray(self)))


def _sum_of(a: Any, b: Any, name: str) -> Any:
    if not hasattr(a, name):
        return getattr(b, name)
    return added(getattr(a, name), getattr(b, name)) if hasattr(b, name) else getattr(a, name)


SEQUENCES = (list, tuple, deque)  # containers of items by their places


def require_same_length(a: Any, b: Any) -> None:
    """Raise `ValueError` where two adjoints of one list were made when it had other lengths."""
    if len(a) != len(b):
        raise ValueError(
            "a list inside a container loses or gets items, and its adjoints do not fit: name "
            "the list before it is put into the container, or build a new list"
        )


def added(a: Any, b: Any) -> Any:
    """The sum of two adjoints of one value, entry by entry in containers; a new object."""
    if isinstance(a, Record):
        return a + b
    if isinstance(b, (Record, Mirror)):
        return b + a
    if isinstance(a, (int, float, complex, np.generic)) and isinstance(b, SEQUENCES):
        return added(b, a)
    if isinstance(a, SEQUENCES):
        if isinstance(b, (int, float, complex, np.generic)):  # (of a sum over a list's items)
            b = [b] * len(a)
        require_same_length(a, b)
        items = [added(p, q) for p, q in zip(a, b, strict=True)]
        return deque(items, a.maxlen) if isinstance(a, deque) else items
    if isinstance(a, dict):
        both = dict.fromkeys((*a, *b))  # an entry may have come after one of the two was made
        return {
            key: added(a[key], b[key]) if key in a and key in b else (a if key in a else b)[key]
            for key in both
        }
    if isinstance(a, np.ndarray) and a.ndim == 0:
        return np.asarray(a + b)  # (NumPy gives a number, in which nothing can be zeroed)
    return a + b


def attribute_of(value: Any, name: str, default: Any = None) -> Any:
    """An attribute of any value; the default where it has none. The `__getattr__` of a class of the
    user's may raise something else than `AttributeError` for a name that it does not know.

    >>> class Table:
    ...     def __getattr__(self, name):
    ...         return {"w": 2.0}[name]
    >>> attribute_of(Table(), "w"), attribute_of(Table(), "__name__", "")
    (2.0, '')
    """
    try:
        found = getattr(value, name, default)
    except Exception:
        return default
    # (A proxy that has something under any name has no attributes of its own.)
    return found if name != "__dict__" or isinstance(found, Mapping) else default


_ABSENT: Any = object()


def _present(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """Those of the attributes that a value has."""
    found = {name: attribute_of(value, name, _ABSENT) for name in names}
    return {name: item for name, item in found.items() if item is not _ABSENT}


def computes_items(cls: Any) -> bool:
    """Whether what objects of a class yield is computed in Python, and need not be what they
    hold."""
    own = (getattr(cls, name, None) for name in ("keys", "__iter__", "__getitem__"))
    return any(isinstance(method, types.FunctionType) for method in own)


def fields_of(value: Any) -> dict[str, Any] | None:
    """The attributes that a dataclass instance or a plain object has of its own; None for
    what is no such object."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # (In the order in which they were set, as `record_like` is given them.)
        names = dict.fromkeys(attribute_of(value, "__dict__", ()))
        names.update(dict.fromkeys(f.name for f in dataclasses.fields(value)))
        computed = {n for n in names if _is_computed(type(value), n)}
        return _present(value, (n for n in names if n not in computed))
    if isinstance(value, _NO_OBJECTS) or is_machinery(type(value)):
        return None
    if isinstance(value, (list, tuple, dict, np.generic)) or is_array_class(type(value)):
        return None
    slots = [name for cls in type(value).__mro__ for name in _slots(cls)]
    attributes = attribute_of(value, "__dict__")
    if not isinstance(attributes, dict):
        if not slots:
            return None
        attributes = {}
    own = {n: v for n, v in attributes.items() if not _is_computed(type(value), n)}
    return {**_present(value, slots), **own}


_ARRAY_CLASSES: Recent[type, bool] = Recent(1024)  # what was found of classes seen so far


def is_array_class(cls: type) -> bool:
    """Whether objects of a class are arrays. Their class says so: an object of the user's may have
    fields named `dtype` or `ndim`, or answer for any name (`__getattr__`).

    >>> is_array_class(np.ndarray), is_array_class(type("Spec", (), {"ndim": 2}))
    (True, False)
    """
    known = _ARRAY_CLASSES.get(cls)
    return _ARRAY_CLASSES.put(cls, _says_array(cls)) if known is None else known


def is_array(x: Any) -> bool:
    """Whether a value is an array, of NumPy or another module; a sparse matrix is none."""
    if isinstance(x, np.ndarray):
        return True
    return is_array_class(type(x)) and not hasattr(type(x), "tocsr")


def _says_array(cls: type) -> bool:
    if issubclass(cls, (dict, list, tuple, str, np.generic, type)):
        return False  # (some have attributes for their keys)
    # (A sparse matrix may have its dtype as a field.)
    asked = ("shape",) if hasattr(cls, "tocsr") else ("shape", "dtype", "ndim")
    says = all(inspect.isdatadescriptor(inspect.getattr_static(cls, n, None)) for n in asked)
    return says and (hasattr(cls, "tocsr") or hasattr(cls, "__getitem__"))


def field_order(cls: Any, names: Sequence[str]) -> list[str]:
    """The attributes that a class sets, which it sets in the order of `names`, in the order in
    which `fields_of` gives them for its objects: slots come first.

    >>> class Point:
    ...     __slots__ = ("y", "x")
    >>> field_order(Point, ("x", "y"))
    ['y', 'x']
    """
    if dataclasses.is_dataclass(cls) or not isinstance(cls, type):
        return list(names)
    given = (name for base in cls.__mro__ for name in _slots(base) if name in names)
    slots = tuple(dict.fromkeys(given))  # (a class may repeat those of its parent)
    return [*slots, *(name for name in names if name not in slots)]


def _is_computed(cls: type, name: str) -> bool:
    """Whether a class computes an attribute that its objects then keep (a `cached_property`): that
    is not a field, and its derivatives are those of what it was computed from."""
    found = getattr(cls, name, None)
    if found is None or isinstance(found, _PLAIN_DESCRIPTORS):
        return False
    return hasattr(type(found), "__get__") and not hasattr(type(found), "__set__")


_LIBRARY = os.path.dirname(os.__file__)


def is_standard(module: str) -> bool:
    """Whether a module is Python's own. Its name alone does not say so: a file of the user's may
    have that of one which other systems have (`nt.py`).

    >>> is_standard("collections.abc"), is_standard("numpy"), is_standard("__main__")
    (True, False, False)
    """
    root = module.partition(".")[0]
    if root not in sys.stdlib_module_names or root == "__main__":
        return False
    file = getattr(sys.modules.get(root), "__file__", None)
    return file is None or file.startswith(_LIBRARY)


def is_machinery(cls: type) -> bool:
    """Whether a class is of Python's own library (loggers, locks and files hold no parameters;
    what a signature was bound to does), or of Numba's compiler."""
    root = str(cls.__module__).partition(".")[0]
    if str(cls.__module__).startswith(("numba.core", "numba.np", "llvmlite")):
        return True
    held = root in ("builtins", "types", "argparse", "collections", "functools")
    return is_standard(root) and not held and cls is not inspect.BoundArguments


def _slots(cls: type) -> tuple[str, ...]:
    slots = cls.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(n for n in names if not n.startswith("__"))


def mirror(value: Any, item: Callable[[Any], Any]) -> Any:
    """The mirror of a namedtuple or an object, with `item` of each entry; None for others.

    What an object has from its class counts as an entry too: reading it must find something.
    """
    if isinstance(value, (list, tuple, dict)):
        names = names_of(value)
        return None if names is None else Record(names, map(item, value))
    fields = fields_of(value)
    if fields is None:
        return None
    return Mirror(**{name: item(v) for name, v in {**_of_class(type(value)), **fields}.items()})


@functools.lru_cache(maxsize=256)
def stores(code: types.CodeType, calls: bool) -> bool:
    """Whether a function may store something: what it calls may do that, too, with `calls`."""
    storing = ("STORE_ATTR", "STORE_SUBSCR", *(("CALL",) if calls else ()))
    by_name = {"setattr", "__setattr__", "setdefault", "update"}.intersection(code.co_names)
    return bool(by_name) or any(i.opname.startswith(storing) for i in dis.get_instructions(code))


def like_dict(value: Any, item: Callable[[Any], Any]) -> Any:
    """The mirror of a dict; that of a `defaultdict` makes the entries that it is asked for."""
    entries = {key: item(v) for key, v in value.items()}
    if isinstance(value, Counter):
        return defaultdict(float, entries)
    if isinstance(value, defaultdict) and value.default_factory is not None:
        default = value.default_factory
        return defaultdict(lambda: item(default()), entries)
    return Keyed(entries) if _has_keys_for_attributes(value) else entries


def _has_keys_for_attributes(value: Any) -> bool:
    """Whether `value.w` is `value["w"]`, read and assigned, as many classes of dicts have it."""
    cls = type(value)
    if getattr(value, "__dict__", None) is value:
        return True
    reads = getattr(cls, "__getattr__", None) in (dict.__getitem__, dict.get)
    return reads and cls.__setattr__ is dict.__setitem__  # type: ignore[comparison-overlap]


def dict_with(value: Any, entries: Mapping[Any, Any]) -> Any:
    """A dict of the class of another one, with other entries."""
    made = _dict_again(value) if hasattr(type(value), "__getattr__") else copy.copy(value)
    if getattr(value, "__dict__", None) is value:
        made.__dict__ = made
    for key, item in entries.items():
        dict.__setitem__(made, key, item)  # (`update` of a `Counter` adds)
    return made


def _dict_again(value: Any) -> Any:
    """A copy made without asking the dict for attributes: it would look them up as keys."""
    made = type(value).__new__(type(value))
    (OrderedDict if isinstance(value, OrderedDict) else dict).update(made, value)
    own = object.__getattribute__(value, "__dict__")
    if own is not value:
        object.__getattribute__(made, "__dict__").update(own)
    return made


def record_like(value: Any, *items: Any) -> Any:
    """The mirror of an object made from `items`, the mirrors of its fields in their order."""
    names = names_of(value)
    if names is not None:
        return Record(names, items)
    found = dict(zip(fields_of(value) or (), items, strict=True))
    for name, v in _of_class(type(value)).items():
        found.setdefault(name, _zeros(v))
    return Mirror(**found)


def instance(cls: type, /, **attributes: Any) -> Any:
    """An object of a class with these attributes, made without its `__init__`.

    >>> class Layer: pass
    >>> instance(Layer, w=2.0).w
    2.0
    """
    made: Any = object.__new__(cls)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def copied_fields(value: Any, item: Callable[[Any], Any]) -> Any:
    """A copy of an object with `item` of each of its fields, of a deque or a set of items with
    `item` of each of them; other values as they are."""
    if type(value) in (deque, set):
        made = copy.copy(value)  # (a deque keeps its `maxlen`)
        made.clear()
        (made.extend if type(value) is deque else made.update)(map(item, value))
        return made
    if isinstance(value, (bytearray, array)):
        return value[:]
    fields = fields_of(value)
    if fields is None:
        return value
    made = copy.copy(value)
    for name, field in fields.items():
        object.__setattr__(made, name, made if field is value else item(field))
    return made


def has_no_fields(value: Any) -> bool:
    """Whether a value is an object of the user's that has no attributes (yet)."""
    return not attribute_of(value, "__dict__", True) and fields_of(value) == {}


def names_of(value: Any) -> tuple[str, ...] | None:
    """The field names of a namedtuple or of its mirror, None for other values."""
    if isinstance(value, Record):
        return value._names
    return value._fields if isinstance(value, tuple) and hasattr(value, "_fields") else None


def in_form_of(xs: Any, items: list[Any]) -> Any:
    """Items in the form of an adjoint of `xs`: the list itself, a deque for a deque, or with the
    names of the fields where `xs` is a namedtuple.

    >>> in_form_of((1.0, 2.0), [3.0, 4.0])
    [3.0, 4.0]
    """
    if isinstance(xs, deque):
        return deque(items, xs.maxlen)
    names = names_of(xs)
    return items if names is None else Record(names, items)


def _of_class(cls: type) -> dict[str, Any]:
    """The numbers and arrays among the attributes of a class, and the tables of such."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            if type(value) in _NO_NUMBERS and name not in found:
                continue
            number = isinstance(value, (int, float, complex, np.generic))
            if (
                (number and not name.startswith("__"))
                or is_array_class(type(value))
                or _is_table(value, name)
            ):
                found[name] = value
            else:
                found.pop(name, None)
    return found


_TABLES = (list, tuple, dict)
# Most of what a class has: neither a number, nor an array, nor a table of such.
_NO_NUMBERS = frozenset(
    (types.FunctionType, property, staticmethod, classmethod, str, type(None))
    + (types.GetSetDescriptorType, types.MemberDescriptorType)
)


def _is_table(value: Any, name: str = "") -> bool:
    """Whether it is a list, tuple or dict that holds nothing but such, plain values and
    functions."""
    if type(value) not in _TABLES or name.startswith("__"):
        return False
    plain = (*_NO_OBJECTS, np.generic)
    return all(
        isinstance(item, plain) or is_array_class(type(item)) or _is_table(item)
        for item in (value.values() if type(value) is dict else value)
    )


def _zeros(value: Any) -> Any:
    if type(value) is dict:
        return {key: _zeros(item) for key, item in value.items()}
    if type(value) in _TABLES:
        return [_zeros(item) for item in value]
    return np.zeros_like(value) if hasattr(value, "shape") else 0.0
