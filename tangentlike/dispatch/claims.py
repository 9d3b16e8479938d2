"""Whether a call's arguments are what annotations and examples say they are.

The transform trusts both: it leaves out an `unbroadcast` where shapes are said to agree, and
the derivative of an argument said to be an integer. A call that does not keep the promise gets
a derivative made without it.
"""

from __future__ import annotations

import copyreg
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from ..errors import TangentlikeError
from ..frontend.signatures import give_signature
from ..frontend.structures import is_function, is_object, structure_of
from ..ir.kind import FUNCTION, MOST_EXACT, UNKNOWN, Kind, Shape, is_many
from ..pytree import leaves
from ..runtime.standard import HOMES, StandardArray, home_of, mirror_of, taken

UNSTATED = type("Unstated", (), {})()  # an example that promises nothing
copyreg.pickle(type(UNSTATED), lambda _: "UNSTATED")  # (there is one)

_CLASSES = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}
# A value of the class on the right may stand where that on the left is promised: a constant
# integer does no harm where a float is expected, the other way round it would.
_FITS = {"float": {"float", "int", "bool"}, "int": {"int", "bool"}, "bool": {"bool"}}


def claims_of(
    annotations: Mapping[str, str], example: Mapping[str, Any] | None, exact: int = 1
) -> dict[str, Kind]:
    """What is promised of each parameter; those of which nothing is are left out. Axes of at most
    `exact` entries are promised to be as long."""
    from ..analysis.declared import kind_from_annotation, kinds_from_example

    promised = {name: kind_from_annotation(text) for name, text in annotations.items() if text}
    if example is not None:
        stated = kinds_from_example(example, exact)
        promised.update({name: kind for name, kind in stated.items() if kind != UNKNOWN})
    return {name: kind for name, kind in promised.items() if kind != UNKNOWN}


def broken(claims: Mapping[str, Kind], given: Mapping[str, Any]) -> list[str]:
    """The parameters whose arguments are not what is promised of them."""
    sizes: dict[str, int] = {}
    return [name for name, kind in claims.items() if not _holds(kind, given.get(name), sizes)]


def _holds(kind: Kind, value: Any, sizes: dict[str, int]) -> bool:
    if type(value) is float and kind.form == "number":
        return kind.dtype in ("float", "complex", "?")
    if type(value) is np.ndarray and kind.form == "array":
        if kind.dtype != "?" and kind.dtype != _CLASSES.get(value.dtype.kind):
            return False
        return _shape_holds(kind.shape, value.shape, sizes)
    if kind.form == "unknown":
        return True
    if kind.form in ("number", "array", "value"):
        if leaves.is_array(value):
            fits = kind.form != "number" and _class_holds(kind, value.dtype.kind, exact=True)
            return fits and _shape_holds(kind.shape, value.shape, sizes)
        if kind.form == "array" or not isinstance(
            value, (int, float, complex, np.number, np.bool_)
        ):
            return False
        return _class_holds(kind, np.dtype(type(value)).kind, exact=False)
    if kind.form == "object":
        return structure_of(value, ranks=True) in (kind.among or (kind,))
    if kind == FUNCTION:
        return is_function(value)
    if kind.form == "other" and kind.cls is not None:
        return isinstance(value, kind.cls)
    if kind.form == "other":
        return not leaves.has_leaf(value)
    if not isinstance(value, _CONTAINERS[kind.form]):
        return False
    inside = [item for _, item in leaves.contents(value) or []]
    if kind.items is not None:
        if len(kind.items) != len(inside):
            return False
        return all(_holds(k, v, sizes) for k, v in zip(kind.items, inside, strict=True))
    return kind.item is None or all(_holds(kind.item, item, sizes) for item in inside)


_CONTAINERS: dict[str, type | tuple[type, ...]] = {
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": (set, frozenset),
}


def _class_holds(kind: Kind, letter: str, exact: bool) -> bool:
    found = _CLASSES.get(letter, "?")
    if kind.dtype in ("?", "complex") and not exact:
        return True
    if kind.dtype == "?":
        return True
    return found == kind.dtype if exact else found in _FITS[kind.dtype]


def _shape_holds(promised: Shape, shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
    if not isinstance(promised, tuple):
        return True
    if len(promised) != len(shape):
        return False
    for dim, size in zip(promised, shape, strict=True):
        if type(dim) is str:
            if sizes.setdefault(dim, size) != size or (size == 1 and is_many(dim)):
                return False
        elif dim is not None and dim != size:
            return False
    return True


def stand_in(value: Any, count: list[int] | None = None) -> Any:
    """An example that promises of `value` its type, its rank, which axes have length 1, and no
    more: all other sizes differ, and none is so small that it is taken for exact."""
    used = [MOST_EXACT] if count is None else count
    if leaves.is_array(value):
        shape = []
        for size in value.shape:
            used[0] += size != 1
            shape.append(1 if size == 1 else used[0])
        return np.broadcast_to(np.zeros((), value.dtype), shape)
    if isinstance(value, (list, tuple)):
        items = [stand_in(item, used) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: stand_in(item, used) for key, item in value.items()}
    if isinstance(value, (bool, np.bool_)):
        return False
    return type(value)(0) if isinstance(value, (int, float, complex, np.number)) else value


def example_key(example: Any, above: tuple[Any, ...] = ()) -> Any:
    """What of example arguments the transform looks at: types, dtypes and shapes.

    >>> example_key((1.0, [2]))
    ('tuple', (('float',), ('list', (('int',),))))
    """
    name = type(example).__name__
    if isinstance(example, (types.ModuleType, types.FunctionType, type)):
        return (name, id(example))
    if leaves.is_array(example):
        return (name, str(example.dtype), tuple(example.shape))
    if is_object(example):
        return structure_of(example)
    inside = leaves.contents(example)
    if inside is None or any(example is outer for outer in above):
        return (name,)
    return (name, tuple(example_key(item, (*above, example)) for _, item in inside))


# --------------------------------------------------------------------------------------------------
# Whose arrays a call has; those of the array API standard are wrapped on the way in, unwrapped on
# the way out.
#
# What the derivative itself runs on are `runtime.standard.StandardArray`s, which answer to NumPy's
# functions; the caller sees arrays of their own module only.


F = TypeVar("F", bound=Callable[..., Any])
_WHOLE = (str, bytes, type, np.ndarray, np.generic, types.FunctionType, types.BuiltinFunctionType)


def with_ours(args: Any, kwargs: Any) -> tuple[Any, Any] | None:
    """Arguments with what stands for arrays of the standard; None where there are none."""
    homes: set[str] = set()
    given: tuple[Any, Any] = _changed((args, kwargs), lambda value: _wrapped(value, homes))
    if len(homes) > 1:
        one, other, *_ = sorted(homes)
        raise TangentlikeError(f"an array of {other} among arrays of {one}")
    return given if homes else None


def standard_arrays_too(function: F) -> F:
    """A derivative that takes arrays of the standard as well, and answers in kind."""

    def called(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if sys.modules.keys().isdisjoint(HOMES):  # (the other way round it looks at each module)
            return function(*args, **kwargs)
        given = with_ours(args, kwargs)
        if given is None:
            return function(*args, **kwargs)
        return given_back(function(*given[0], **given[1]))

    called.__name__, called.__doc__ = function.__name__, function.__doc__
    called.__qualname__, called.__module__ = function.__qualname__, function.__module__
    called.__annotations__ = function.__annotations__
    give_signature(called, inspect.signature(function))
    return cast(F, called)


def namespace_of(values: Iterable[Any]) -> types.ModuleType | None:
    """The module that the arrays among some values name as theirs, if it is the same for all."""
    found: set[types.ModuleType] = set()
    for value in values:
        for array in leaves.arrays(value):
            ask = getattr(type(array), "__array_namespace__", None)
            found.add(types if ask is None else ask(array))
    module = found.pop() if len(found) == 1 else None
    return module if module is not types else None


def _wrapped(value: Any, homes: set[str]) -> Any:
    home = home_of(type(value))
    if home is not None:
        homes.add(home)
        try:
            mirror_of(home)
            return taken(value)
        except TypeError as error:
            raise TangentlikeError(str(error)) from None
    if isinstance(value, types.ModuleType):
        for home, functions in HOMES.items():
            if value.__name__ == functions:
                return mirror_of(home)
        return value
    return NotImplemented


def given_back(result: Any) -> Any:
    """The result with arrays of their own module, and pullbacks that give such."""
    if isinstance(result, types.FunctionType):
        return standard_arrays_too(result)
    return _changed(result, _unwrapped)


def _unwrapped(value: Any) -> Any:
    if isinstance(value, StandardArray):
        return value.array
    return given_back(value) if isinstance(value, types.FunctionType) else NotImplemented


def _changed(values: Any, change: Callable[[Any], Any]) -> Any:
    """Values with what `change` makes of what is in them: containers and objects stay themselves
    where nothing in them is changed, and what is one object stays one."""
    made: dict[int, Any] = {}

    def changed(value: Any) -> Any:
        kind = type(value)
        if kind in leaves.PLAIN or kind is np.ndarray:
            return value
        if id(value) in made:
            return made[id(value)]
        found = change(value)
        if found is NotImplemented:
            made[id(value)] = found = value  # (of what holds itself)
            items = None if isinstance(value, _WHOLE) else leaves.held_by(value)
            if items:
                own = [changed(item) for item in items]
                if any(a is not b for a, b in zip(own, items, strict=True)):
                    found = leaves.with_contents(value, own)
        made[id(value)] = found
        return found

    return changed(values)
