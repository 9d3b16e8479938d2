"""What arguments tell the transform that a program does not: which of them are dicts.

`for k in table: s += k` reads keys if `table` is a dict and values if it is a list. Where the
keys are no numbers a program cannot compute with them, but it may collect or sort them: then
too it has to be known (`asked.runs_over_names`).
"""

from __future__ import annotations

import collections
import dis
import functools
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .. import runtime
from ..errors import TangentlikeError
from ..ir.kind import (
    DEQUE,
    FUNCTION,
    ITERATOR,
    LETTERS,
    MANY,
    NONE,
    NOTHING,
    OTHER,
    SET,
    UNKNOWN,
    Deciding,
    Dim,
    Exact,
    Kind,
)
from ..pytree import leaves
from ..runtime.containers import is_frozen
from .owners import is_machinery, is_pythons
from .resolve import note_class, once_a_reading

_GENERATORS = (np.random.Generator, np.random.RandomState)
# What carries no derivative and holds nothing that does.
_CONSTANTS = (str, bytes, type, np.dtype, slice, type(Ellipsis))
_TOLD = (*_GENERATORS, types.ModuleType)
_CLASSES = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}
Structures = tuple[tuple[str, Kind], ...]


def structures_of(
    given: Mapping[str, Any],
    exact: int = 1,
    words: str | None = None,
    keys: frozenset[str] = frozenset(),
) -> Structures:
    """What is known of arguments by what they are, by parameter: numbers and arrays, containers
    and objects, None. Axes of at most `exact` entries are known to be as long as they are.
    `words` is the parameter that takes others by their names (`**options`), of which it is known
    which there are; so it is of dicts of numbers whose keys are among `keys`, which the program
    asks for.

    >>> [(name, kind.form) for name, kind in structures_of({"t": {0: 1.5}, "x": 2.5, "s": "a"})]
    [('t', 'dict'), ('x', 'number')]
    """
    found = []
    for name, value in given.items():
        if value is None:
            kind = NOTHING
        elif leaves.is_leaf(value) or isinstance(value, (str, int)):
            kind = _rank_of(value)
        else:
            _refuse_own_items(name, value, set())
            named = name == words or (type(value) is dict and value and value.keys() <= keys)
            few = named and len(value) <= _MOST_NAMES
            kind = _by_names(value) if few else structure_of(value, ranks=True)
        found.append((name, kind))
    sized = _with_sizes(found, given, exact)
    return tuple((name, kind) for name, kind in sized if kind != UNKNOWN)


def _by_names(words: dict[str, Any]) -> Kind:
    kinds = (structure_of(value, ranks=True) for value in words.values())
    return Kind("dict", items=tuple(kinds), names=tuple(words), lasting=True)


def _with_sizes(
    found: Iterable[tuple[str, Kind]], given: Mapping[str, Any], exact: int
) -> Iterator[tuple[str, Kind]]:
    """The same, with one name for all axes of arrays that are equally long, and not of length 1: a
    letter that no argument has where there are several. The arrays are arguments, or have a place
    of their own in one: an entry of a dict, an item of a tuple.

    >>> w, x = np.ones((2, 5)), np.ones(5)
    >>> [kind.shape for _, kind in structures_of({"w": w, "x": x})]
    [('w.0!', 'n!'), ('n!',)]
    >>> [kind.items[1].shape for _, kind in structures_of({"p": {"w": w, "b": x}})]
    [('n!',)]
    """
    found = list(found)
    shapes = [shape for name, kind in found for _, shape in _placed(name, kind, given[name])]
    counts = collections.Counter(size for shape in shapes for size in shape)
    letters = (letter for letter in LETTERS if letter not in given)
    names: dict[int, Dim] = {size: size for size in range(1, exact + 1)}
    for name, kind in found:
        for path, shape in _placed(name, kind, given[name]):
            for axis, size in enumerate(shape):
                if size not in names:
                    letter = next(letters, None) if counts[size] > 1 else None
                    names[size] = f"{letter or f'{path}.{axis}'}{MANY}"
    for name, kind in found:
        yield name, _sized(kind, given[name], names)


def _parts(kind: Kind, value: Any) -> Iterator[tuple[Any, Kind, Any]]:
    """What has a place of its own in a container: its key or number, its kind, and what it is."""
    if kind.form in ("dict", "tuple", "list") and kind.items is not None:
        places = value.items() if isinstance(value, dict) else enumerate(value)
        for (key, item), inside in zip(places, kind.items, strict=True):
            yield key, inside, item


def _placed(path: str, kind: Kind, value: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The arrays in an argument that have places of their own: where they are, and their shapes."""
    if kind.form == "array":
        yield path, value.shape
    for key, inside, item in _parts(kind, value):
        yield from _placed(f"{path}.{key}", inside, item)


def _sized(kind: Kind, value: Any, names: Mapping[int, Dim]) -> Kind:
    if kind.form == "array":
        return replace(kind, shape=tuple(names[size] for size in value.shape))
    items = tuple(_sized(inside, item, names) for _, inside, item in _parts(kind, value))
    return replace(kind, items=items) if items else kind


def with_exact(required: Structures, given: Mapping[str, Any]) -> Structures:
    """The same with what tests may ask of the arguments: their classes, and the values of strings
    and truth values."""
    known = dict(required)
    found = []
    for name, value in given.items():
        kind = known.pop(name, UNKNOWN)
        if value is not None and not (kind.cls or kind.has_methods or kind.among):
            shown = value if type(value) in (str, bool) else None
            is_plain = isinstance(value, types.FunctionType)  # (or stands for one: a derivative)
            cls = types.FunctionType if is_plain else type(value)
            kind = replace(kind, exact=Exact(cls, shown, name))
        if kind != UNKNOWN:
            found.append((name, kind))
    return (*found, *known.items())


def as_asked(structures: Structures, asked: Deciding) -> Structures:
    """The same with no more of the arguments than tests ask for."""
    found = []
    for name, kind in structures:
        if kind.exact is not None:
            kind = replace(kind, exact=kind.exact.asked_for(asked))
            if kind == UNKNOWN:
                continue
        found.append((name, kind))
    return tuple(found)


def _dtype_class(value: Any) -> str:
    try:
        dtype = np.dtype(getattr(value, "dtype", type(value)))
    except TypeError:  # (of another library, which objects may hold: `torch.float32`)
        return "?"
    return _CLASSES.get(dtype.kind, "?")


def _rank_of(value: Any) -> Kind:
    """The class of the entries of a number or an array, and which of its axes have length 1."""
    if leaves.is_array(value) and not hasattr(value, "tocsr"):
        return Kind("array", _dtype_class(value), tuple(1 if n == 1 else MANY for n in value.shape))
    if isinstance(value, (int, float, complex, np.number, np.bool_)):
        return Kind("number", _dtype_class(value), ())
    return UNKNOWN


def has_objects(value: Any, seen: dict[int, Any] | None = None) -> bool:
    """Whether a value is, or holds, an object with methods, a function or a module."""
    seen = {} if seen is None else seen
    if id(value) in seen:
        return False
    seen[id(value)] = value
    if is_object(value) or is_function(value) or isinstance(value, _TOLD):
        return True
    if has_own_methods(type(value)):
        return True
    inside = leaves.contents(value) or ()
    return any(has_objects(item, seen) for _, item in inside)


_Seen = dict[tuple[int, bool], tuple[Any, Kind]]  # what was looked at, and what was found


def structure_of(value: Any, seen: _Seen | None = None, ranks: bool = False) -> Kind:
    """What is known of containers and objects by what they are; with `ranks` also of numbers and
    arrays in them. Each is looked at once (of what holds itself nothing is known inside it)."""
    if ranks and (kind := _rank_of(value)) != UNKNOWN:
        return kind
    seen = {} if seen is None else seen
    place = id(value), ranks
    if place not in seen:
        seen[place] = value, UNKNOWN
        seen[place] = value, _structure_of(value, seen, ranks)
    return seen[place][1]


def _structure_of(value: Any, seen: _Seen, ranks: bool) -> Kind:
    if isinstance(value, types.ModuleType):
        return Kind("other", module=value)
    closed = not callable(value) and not hasattr(type(value), "__setitem__")
    if (is_machinery(type(value)) and closed) or isinstance(value, _GENERATORS):
        return Kind("other", cls=type(value))
    if isinstance(value, Iterator) and not is_object(value):
        return ITERATOR
    if is_object(value):
        return _object(value, seen, ranks)
    if is_function(value):
        return FUNCTION  # (among parameters: it carries no derivative itself)
    if ranks and isinstance(value, _CONSTANTS):
        return OTHER
    if isinstance(value, tuple):
        return tuple_of(value, [structure_of(item, seen, ranks) for item in value], ranks)
    if ranks and _is_plain_object(value):
        return replace(_object(value, seen, ranks), cls=None)
    if type(value) in (set, frozenset):
        return SET
    if not isinstance(value, (list, dict)):
        return DEQUE if isinstance(value, collections.deque) else UNKNOWN
    ranks = ranks and not has_methods(type(value))  # (which may store something else)
    kinds = [
        structure_of(item, seen, ranks)
        for item in (value.values() if isinstance(value, dict) else value)
    ]
    common = functools.reduce(Kind.join, kinds) if kinds else UNKNOWN
    cls = collections.defaultdict if isinstance(value, collections.defaultdict) else None
    made = Kind("dict" if isinstance(value, dict) else "list", lasting=ranks, cls=cls)
    alike = common != UNKNOWN and all(kind == common for kind in kinds)
    if ranks and has_names(value) and not (alike and (len(kinds) > FEW or _is_data(common))):
        return replace(made, items=tuple(kinds), names=tuple(value))
    if alike:
        return replace(made, item=common)
    if ranks and common.rank is not None:
        return replace(made, item=common)
    if ranks and has_places(value):
        return replace(made, items=tuple(kinds))
    return replace(made, item=common if common.holds_objects else None)


def tuple_of(value: tuple[Any, ...], items: Iterable[Kind], named: bool = True) -> Kind:
    """A tuple of such items, by the names or the class that a namedtuple has (`named`: both)."""
    if has_own_methods(type(value)):
        return Kind("tuple", items=tuple(items), cls=type(value))
    names = getattr(value, "_fields", ()) if named else ()
    return Kind("tuple", items=tuple(items), names=names)


def _is_plain_object(value: Any) -> bool:
    """Whether a value is an object of a class without methods."""
    if isinstance(value, (list, dict, runtime.Mirror)):
        return False
    return leaves.named_children(value) is not None


def has_names(value: Any) -> bool:
    """Whether a value is a dict whose keys are names, each of an entry of its own kind."""
    plain = type(value) in (dict, collections.OrderedDict)
    return plain and len(value) <= _MOST_NAMES and all(type(key) is str for key in value)


def has_places(value: Any) -> bool:
    """Whether a value is a list in which each place has a meaning, as in `w, b, scale = params`:
    a short one of numbers and arrays."""
    short = type(value) is list and 0 < len(value) <= _MOST_PLACES
    return short and all(_rank_of(item) != UNKNOWN for item in value)


def _is_data(kind: Kind) -> bool:
    """Whether values of a kind are numbers, of which there may be others under other keys at the
    next call, and not arrays or what holds such."""
    return kind.form not in ("array", "dict", "list", "tuple")


FEW = 8  # so many entries of a dict are told one by one where they are alike
_MOST_NAMES = 64  # (in a larger dict they are data)
_MOST_PLACES = 16


def _object(value: Any, seen: _Seen, ranks: bool) -> Kind:
    """The class of an object, and what is known of its attributes: of those that methods assign
    only whether they are numbers and arrays, where the stores that do are looked at."""
    cls = type(value)
    note_class(cls)
    assigned = assigned_attributes(cls)
    fields = []
    for name, item in (leaves.named_children(value) or {}).items():
        kind = NONE if item is None else structure_of(item, seen, ranks)
        if name in assigned and kind.form not in ("number", "array") and kind != DEQUE:
            continue
        if kind.form in ("number", "array") and not stores_plainly(cls, name):
            continue
        if kind != UNKNOWN:
            fields.append((name, kind))
    return Kind("object", cls=cls, fields=tuple(fields))


def stores_plainly(cls: type, name: str) -> bool:
    """Whether an attribute of objects of a class is what stands in their `__dict__`."""
    reader: Any = cls.__getattribute__
    if not any(reader is base.__getattribute__ for base in _PLAIN) or has_own_setter(cls):
        return False
    found = inspect.getattr_static(cls, name, None)
    return not hasattr(type(found), "__set__") or inspect.ismemberdescriptor(found)


def has_own_setter(cls: type) -> bool:
    """Whether a class does more than to store what is assigned to an attribute. (A frozen
    dataclass raises.)"""
    setter: Any = cls.__setattr__
    return not is_frozen(cls) and isinstance(setter, types.FunctionType)


def computes_attributes(cls: type) -> bool:
    """Whether reading an attribute may run code that is neither a method's nor a property's: a
    `__getattr__`, or that of a descriptor written in Python."""
    for name, value in own_attributes(cls):
        getter = getattr(type(value), "__get__", None)
        descriptor = isinstance(getter, types.FunctionType)
        if name in ("__getattr__", "__getattribute__") or (
            descriptor and not isinstance(value, functools.cached_property)
        ):
            return True
    return False


_PLAIN = (object, types.SimpleNamespace)


def is_function(value: Any) -> bool:
    """Whether a value is a function of Python or NumPy, whatever it captures."""
    return isinstance(value, (types.FunctionType, types.BuiltinFunctionType, np.ufunc))


def is_object(value: Any) -> bool:
    """Whether a value is an instance of a class of the user's that has methods of its own."""
    if isinstance(value, (list, tuple, dict)) or leaves.named_children(value) is None:
        return False
    return not isinstance(value, runtime.Mirror) and has_methods(type(value))


def has_methods(cls: type) -> bool:
    """Whether a class has methods that are written in Python."""
    return any(has_code(v) for base in cls.__mro__ for v in vars(base).values())


def has_own_methods(cls: type) -> bool:
    """Whether a class is that of a namedtuple, with methods that a person wrote for it."""
    if not issubclass(cls, tuple) or not hasattr(cls, "_fields"):
        return False
    return any(name not in OF_NAMEDTUPLES and has_code(v) for name, v in own_attributes(cls))


def own_attributes(cls: type) -> Iterator[tuple[str, Any]]:
    """What a class and its bases have under each name, those of Python's own classes left out."""
    for base in cls.__mro__:
        if base.__module__ != "builtins":
            yield from vars(base).items()


def has_code(value: Any) -> bool:
    """Whether an attribute of a class is a method or a property."""
    return isinstance(value, (types.FunctionType, property, staticmethod, classmethod))


def assigned_attributes(cls: type) -> frozenset[str]:
    """The attributes that methods of a class assign, other than in `__init__`."""
    stores = _stores(cls)
    return frozenset(name for method, name in stores if method not in _MAKING)


def sets_attribute(cls: type, name: str) -> bool:
    """Whether some method of a class assigns an attribute of this name, `__init__` included."""
    fields = getattr(cls, "__dataclass_fields__", {})
    return name in fields or any(name == stored for _, stored in _stores(cls))


def held_by_class(cls: type | None, name: str) -> Any:
    """What a class itself has under a name, as it stands there: a function, a property, ... None
    where its objects may hold it (a field of a dataclass, `act` where a method says `self.act =
    act`): the class has its default there."""
    found = None if cls is None else inspect.getattr_static(cls, name, None)
    of_sequence = found is collections.abc.Sequence.__iter__
    if name == "__iter__" and cls is not None and (of_sequence or not hasattr(cls, name)):
        by_place = inspect.getattr_static(cls, "__getitem__", None)
        return items_by_place if isinstance(by_place, types.FunctionType) else None
    if found is None or cls is None or inspect.isdatadescriptor(found):
        return found
    return None if sets_attribute(cls, name) else found


def default_function(cls: type, name: str) -> Any:
    """The function, as it stands in a class, that its objects have by a name unless they were given
    another; None where there is none."""
    found = inspect.getattr_static(cls, name, None)
    fields = getattr(cls, "__dataclass_fields__", {})
    held = found.__func__ if isinstance(found, staticmethod) else found
    replaced = is_function(held) and name not in fields and sets_attribute(cls, name)
    return found if replaced else None


def items_by_place(self: Any) -> Iterator[Any]:
    """What Python goes through where a class has `__getitem__` and no `__iter__`, or that of
    `collections.abc.Sequence`."""
    place = 0
    while True:
        try:
            item = self[place]
        except IndexError:
            return
        yield item
        place = place + 1


# What Python gives the class of every namedtuple.
OF_NAMEDTUPLES = frozenset(vars(collections.namedtuple("_Any", "")))
_MAKING = ("__init__", "__post_init__")


@once_a_reading
def _stores(cls: type) -> tuple[tuple[str, str], ...]:
    """The attributes that methods of a class assign, each with the method."""
    found: list[tuple[str, str]] = []
    for base in cls.__mro__:
        for name, value in vars(base).items():
            fn = value.fget if isinstance(value, property) else value
            code = getattr(fn, "__code__", None)
            if isinstance(code, types.CodeType):
                found += ((name, attribute) for attribute in _stored(code))
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _stored(code: types.CodeType) -> tuple[str, ...]:
    """The attributes that a piece of code assigns, of whatever object."""
    stores = (i for i in dis.get_instructions(code) if i.opname == "STORE_ATTR")
    return tuple(str(instruction.argval) for instruction in stores)


# Methods of lists and dicts that derivatives call, and that a class may have of its own.
_OF_ITEMS = frozenset(
    ("__getitem__", "__setitem__", "__delitem__", "__iter__", "__len__", "__missing__", "get")
    + ("items", "keys", "values", "update", "setdefault", "pop", "popitem", "append", "extend")
    + ("insert", "clear")
)


def _refuse_own_items(name: str, value: Any, seen: set[int]) -> None:
    """A class whose objects give something else than what is stored in them is refused."""
    if leaves.is_leaf(value) or id(value) in seen:
        return
    seen.add(id(value))
    changed = isinstance(value, (list, dict)) and type(value) not in (list, dict)
    for method in sorted(_OF_ITEMS) if changed else ():
        found = inspect.getattr_static(type(value), method, None)
        if isinstance(found, types.FunctionType) and not is_pythons(found):
            kind = "dict" if isinstance(value, dict) else "list"
            raise TangentlikeError(
                f"the {kind} in `{name}` is a {type(value).__name__}, which has a `{method}` of "
                "its own",
                hint=f"Pass a plain {kind}: what such a method does to items is not "
                "differentiated.",
            )
    for _, item in leaves.contents(value) or ():
        _refuse_own_items(name, item, seen)
