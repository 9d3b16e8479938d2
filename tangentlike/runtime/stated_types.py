"""What a text that was made for certain types of arguments checks of those that it is called with.

Types are written as the heads of texts write them: `float[:, n]` is an array whose first axis is
not of length 1; all axes `n` are equally long. What is `real` may be anything that holds no complex
numbers.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .records import is_array

_NUMBERS = {"complex": "cfiub", "float": "fiub", "int": "iub", "bool": "b", "number": "cfiub"}
_PLAIN = (bool, int, float, complex, np.float64)
_ENTRIES = {"complex": "c", "float": "f", "int": "iu", "bool": "b", "number": "cfiub"}
_DOUBLES = "float64"  # (of arrays only)
REAL = "real"  # (of whatever there is)
_CONTAINERS: dict[str, Any] = {"list": list, "tuple": tuple, "dict": dict}


def require_types(types: str, *values: Any) -> None:
    """Check that arguments are of the types that a derivative was made for: it leaves out what
    these do not need, and may follow one branch of a test on them.

    Raises `TypeError` otherwise.

    >>> require_types("w: float[n, n], b: float[n], k: float", np.eye(2), np.ones(2), 1)
    """
    forms = [(x.shape, x.dtype) if type(x) is np.ndarray else type(x) for x in values]
    if _known_to_fit(types, *forms):
        return
    stated = stated_types(types)
    if not _fit([text for _, text in stated], values):
        given = ", ".join(f"{n}: {_type_of(x)}" for (n, _), x in zip(stated, values, strict=True))
        raise TypeError(
            f"this derivative was made for arguments of other types: it is for {types}, and is "
            f"called with {given}; make another from its function, with example= arguments of "
            "these types or without example="
        )


def for_types(types: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function with its arguments checked, by their names, and globals of its
    module.

    >>> @for_types("w, b: float[n]")
    ... def inner(w, b):
    ...     return float(w @ b)
    >>> inner(np.ones(2), b=np.ones(2))
    2.0
    """

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(fn)
        names = list(signature.parameters)
        starred = any(p.kind in _STARRED for p in signature.parameters.values())
        stated = names_in(types)
        places = [names.index(name) for name in stated if name in names]
        outside = [name for name in stated if name not in names]

        @functools.wraps(fn)
        def checked(*args: Any, **kwargs: Any) -> Any:
            given = args
            if kwargs or starred or len(args) < len(names):
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                given = tuple(bound.arguments.values())
            more = [fn.__globals__[name] for name in outside]
            require_types(types, *[given[place] for place in places], *more)
            return fn(*args, **kwargs)

        inner, earlier = required_by(fn)
        inner.__required_types__ = inner, (types, *earlier)  # for who reads it again
        checked.__is_check__ = checked  # type: ignore[attr-defined]
        return checked

    return decorate


_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def required_by(fn: Any) -> tuple[Any, tuple[str, ...]]:
    """The function under such decorators, and the types that they ask for."""
    while getattr(fn, "__is_check__", None) is fn is not None:
        fn = fn.__wrapped__
    inner, types = getattr(fn, "__required_types__", (fn, ()))
    return fn, types if inner is fn else ()


def names_in(types: str) -> list[str]:
    """The names that types are stated of."""
    return [name for name, _ in stated_types(types)]


def stated_types(types: str) -> list[tuple[str, str]]:
    """Names and their types: `a, b: float` says the type of both.

    >>> stated_types("x: float[n, n], a, b: float")
    [('x', 'float[n, n]'), ('a', 'float'), ('b', 'float')]
    """
    stated: list[tuple[str, str]] = []
    waiting: list[str] = []
    for part in type_parts(types):
        name, colon, text = part.partition(": ")
        waiting.append(name)
        if colon:
            stated += [(each, text) for each in waiting]
            waiting.clear()
    return stated


@functools.lru_cache(maxsize=256)
def _known_to_fit(types: str, *forms: Any) -> bool:
    """Whether all arrays of these shapes and dtypes, and numbers of these classes, are of these
    types: calls mostly repeat them. Asked of arrays that take no memory."""
    if not all(type(form) is tuple or form in _PLAIN for form in forms):
        return False
    stated = [text for _, text in stated_types(types)]
    if not all(text.partition("[")[0] in (*_NUMBERS, _DOUBLES, REAL) for text in stated):
        return False
    return _fit(
        stated,
        [np.broadcast_to(np.zeros((), f[1]), f[0]) if type(f) is tuple else f() for f in forms],
    )


def _fit(stated: list[str], values: Iterable[Any]) -> bool:
    sizes: dict[str, int] = {}
    return all(_fits(text, x, sizes) for text, x in zip(stated, values, strict=True))


def _fits(text: str, x: Any, sizes: dict[str, int]) -> bool:
    """Whether a value is of a type; `sizes` are the lengths of axes that have a name."""
    either = type_parts(text, " | ")
    if len(either) > 1:
        return any(_fits(part, x, sizes) for part in either)
    end = min(text.find(c) % (len(text) + 1) for c in "[(")
    name, bracket, inside = text[:end], text[end : end + 1], type_parts(text[end + 1 : -1])
    if name == REAL:
        return not holds_complex(x)
    if name == _DOUBLES:
        return is_array(x) and x.dtype == name and _has_axes(inside, x.shape, sizes)
    if name in _NUMBERS:
        if bracket:
            fits = is_array(x) and np.dtype(x.dtype).kind in _ENTRIES[name]
            return fits and _has_axes(inside, x.shape, sizes)
        plain = isinstance(x, (bool, int, float, complex, np.number, np.bool_))
        return plain and np.dtype(type(x)).kind in _NUMBERS[name]
    if bracket == "(":
        if name not in ("dict", "tuple", "object", type(x).__name__):
            return False
        if name == "dict" and not (isinstance(x, dict) and len(x) == len(inside)):
            return False  # (it has these keys, and no others)
        return all(_holds(x, *part.partition(": ")[::2], sizes) for part in inside)
    if name in _CONTAINERS:
        items = x.values() if isinstance(x, dict) else x
        return isinstance(x, _CONTAINERS[name]) and _are(inside, items, name, sizes)
    if name in ("object", "function"):
        return name == "object" or callable(x)
    if name == "Iterator":
        return isinstance(x, Iterator)
    return text in (type(x).__name__, getattr(x, "__name__", ""), repr(x))


def holds_complex(*values: Any) -> bool:
    """Whether one of these values is a complex number or an array of such, or holds one."""
    for x in values:
        if isinstance(x, (list, tuple, dict)):
            if holds_complex(*(x.values() if isinstance(x, dict) else x)):
                return True
        elif isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c":
            return True
    return False


def _holds(x: Any, name: str, text: str, sizes: dict[str, int]) -> bool:
    """Whether an object has an attribute, or a dict a key, of this name and type."""
    if isinstance(x, dict):
        return name in x and _fits(text, x[name], sizes)
    return hasattr(x, name) and _fits(text, getattr(x, name), sizes)


def _are(types: list[str], items: Any, name: str, sizes: dict[str, int]) -> bool:
    """Whether what a container holds is of these types: a tuple, or a list of several, of one for
    each item."""
    if types == ["()"]:
        return not items
    if (name == "tuple" and types) or len(types) > 1:
        return len(types) == len(items) and all(map(_fits, types, items, [sizes] * len(types)))
    return not types or all(_fits(types[0], item, sizes) for item in items)


def _has_axes(axes: list[str], shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
    if axes == ["..."]:
        return True
    return len(axes) == len(shape) and all(map(_is_long, axes, shape, [sizes] * len(axes)))


def _is_long(axis: str, length: int, sizes: dict[str, int]) -> bool:
    if axis.isdecimal():
        return length == int(axis)
    if axis == "?":
        return True
    return length != 1 and (axis == ":" or sizes.setdefault(axis, length) == length)


def type_parts(text: str, separator: str = ", ") -> list[str]:
    """The parts of a text between separators that stand in no brackets and no string."""
    parts, depth, quote, start = [], 0, "", 0
    for place, char in enumerate(text):
        if quote or char in "'\"":
            quote = (quote if char != quote else "") if quote else char
        elif char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
        elif depth == 0 and text.startswith(separator, place):
            parts.append(text[start:place])
            start = place + len(separator)
    return [*parts, text[start:]] if text else []


def _type_of(x: Any) -> str:
    """The type of a value as an error shows it.

    >>> _type_of([np.ones((2, 3)), 1.5])
    'list[float[2, 3], float]'
    """
    if is_array(x):
        return f"{_class_of(x.dtype)}[{', '.join(map(str, x.shape))}]"
    if isinstance(x, (bool, int, float, complex, np.number, np.bool_)):
        return _class_of(np.dtype(type(x)))
    if x is None or isinstance(x, str):
        return repr(x)
    name = type(x).__name__
    named = x if type(x) is dict else getattr(x, "__dict__", None)
    if named and not hasattr(x, "__name__"):
        return f"{name}({_first_of([f'{k}: {_type_of(v)}' for k, v in named.items()])})"
    return f"{name}[{_first_of(list(map(_type_of, x)))}]" if type(x) in (list, tuple) else name


def _first_of(texts: list[str]) -> str:
    """The first of what a container holds, in an error."""
    return ", ".join(texts if len(texts) <= 4 else [*texts[:3], "..."])


def _class_of(dtype: Any) -> str:
    kinds = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}
    own = np.dtype(dtype)
    return str(own) if own.kind == "f" and own.char != "d" else kinds.get(own.kind, str(dtype))
