"""Adjoints and tangents of dicts that are made of others, of items put into another order, and of
objects that are made of their fields."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, KeysView
from copy import copy as shallow
from typing import Any, cast

import numpy as np

from .broadcasting import _is_complex, broadcast_like, unbroadcast, zeros_like
from .mutation import accumulate, copy
from .records import (
    SEQUENCES,
    Mirror,
    Record,
    added,
    computes_items,
    fields_of,
    in_form_of,
    is_array,
    is_array_class,
    names_of,
    record_like,
)
from .statements import written_for


def replaced(record: Any, field: str, value: Any) -> Any:
    """A namedtuple or a dataclass instance with another value in one field, or the same of its
    mirror."""
    if isinstance(record, (Record, Mirror)):
        found = shallow(record)
        setattr(found, field, value)
        return found
    if hasattr(record, "_replace"):
        return record._replace(**{field: value})
    if hasattr(type(record), "__post_init__"):
        raise written_for("a dataclass without __post_init__", record)
    return dataclasses.replace(record, **{field: value})


def replaced_bar(g: Any, record: Any, field: str) -> Any:
    """The adjoint of `record` in `replaced(record, field, value)`."""
    return replaced(g, field, zeros_like(getattr(record, field)))


def joined(a: Any, b: Any) -> list[Any]:
    """The tangents of `a + b` for two lists or tuples, whichever of the two theirs are."""
    return [*a, *b]


def dict_dot(x: Any, x_dot: Any) -> dict[Any, Any]:
    """The tangents of `dict(x)`: `x` is a dict, or a sequence of pairs of a key and a value."""
    if hasattr(x, "keys"):
        return {key: x_dot[key] for key in x.keys()}  # noqa: SIM118 (as `dict` does it)
    return {pair[0]: dot[1] for pair, dot in zip(x, x_dot, strict=True)}


def dict_bar(g: Any, x: Any) -> Any:
    """The adjoint of `x` in `dict(x)`: of pairs with equal keys the last one counts."""
    require_items(x)
    if hasattr(x, "keys"):
        return {key: g[key] for key in x.keys()}  # noqa: SIM118
    last = {pair[0]: place for place, pair in enumerate(x)}
    return [
        [0.0, g[pair[0]] if last[pair[0]] == place else zeros_like(pair[1])]
        for place, pair in enumerate(x)
    ]


def merged_bar(g: Any, a: Any, b: Any) -> dict[Any, Any]:
    """The adjoint of `a` in `a | b`: entries that `b` has as well are those of `b`."""
    return {key: zeros_like(item) if key in b else g[key] for key, item in a.items()}


def entries_bar(found: Any, g: Any, b: Any = ()) -> dict[Any, Any]:
    """The adjoint of `g`, of which some entries were taken: their adjoints are in `found`, and
    keys in `b` do not count. `g` may have got others since, as a dict that is written does."""
    return {
        key: found[key] if key in found and key not in b else zeros_like(item)
        for key, item in g.items()
    }


class ExplicitDefaults(collections.defaultdict[Any, Any]):
    """A `defaultdict` of which the program makes each missing entry in a statement of its own,
    which is undone like any other that writes."""

    def __missing__(self, key: Any) -> Any:
        raise TypeError(
            f"an entry {key!r} is made where a defaultdict is read, in a place where this "
            "derivative does not see that: write `d.setdefault(key, default)` there"
        )


def missing_entry(d: Any, key: Any) -> Any:
    """What a dict that has no entry of this key gives one.

    >>> missing_entry(collections.defaultdict(list), "a")
    []
    """
    if isinstance(d, collections.defaultdict) and d.default_factory is not None:
        return d.default_factory()
    raise KeyError(key)


def makes_entry(x: Any, key: Any) -> bool:
    """Whether reading `x[key]` writes an entry, as it does in a `defaultdict` that has none.

    Raises `TypeError` for a dict whose class has a `__missing__` of its own, and not the key.
    """
    if not isinstance(x, dict) or isinstance(x, collections.Counter) or key in x:
        return False
    if isinstance(x, collections.defaultdict):
        return x.default_factory is not None
    if hasattr(type(x), "__missing__"):
        raise TypeError(
            f"a {type(x).__name__} is read by a key that it lacks, and what its `__missing__` does "
            "then is not differentiated: look first whether the key is there"
        )
    return False


def existing_entry(x: Any, key: Any) -> Any:
    """`x[key]`. Raises `TypeError` where this would make an entry."""
    return ExplicitDefaults.__missing__(x, key) if makes_entry(x, key) else x[key]


def argument_key(*arguments: Any, **words: Any) -> tuple[Any, ...]:
    """What a function that keeps its results finds them by, from the way it is called.

    Raises `TypeError` for floats: the result would be that of another variable of this value.

    >>> argument_key(2, "a")
    (2, 'a')
    >>> argument_key(2, k="a") == argument_key(2, "a")
    False
    """
    for argument in (*arguments, *words.values()):
        if isinstance(argument, tuple):
            argument_key(*argument)
        elif isinstance(argument, (float, complex, np.inexact)):
            raise TypeError(
                f"a function that keeps its results is given {argument!r}, and what it kept may "
                "depend on another variable of this value: leave out its decorator"
            )
    return (*arguments, argument_key, *words.items()) if words else arguments


def saved_entry(d: Any, key: Any) -> list[Any]:
    """What `d[key]` is before it is written, in a list that is empty where a dict has no entry."""
    if isinstance(d, dict):
        return [d[key]] if key in d else []
    return [copy(d[key])]


def saved_attribute(x: Any, name: str) -> Any:
    """What `x.name` is before it is assigned; None where it is not there yet."""
    if isinstance(getattr(type(x), name, None), functools.cached_property):
        return vars(x).get(name)  # (reading it would compute it)
    return getattr(x, name, None)


def is_stored(x: Any, name: str) -> bool:
    """Whether an object holds the value of a `functools.cached_property` already.

    >>> vector = type("Vector", (), {})()
    >>> is_stored(vector, "norm")
    False
    """
    return vars(x).get(name) is not None  # (None where an adjoint put back that there was none)


def store_in_frozen(x: Any, name: str, value: Any) -> None:
    """`x.name = value`, where `x` is an object of a frozen dataclass, or what mirrors one.

    >>> import dataclasses
    >>> point = dataclasses.make_dataclass("Point", ["x"], frozen=True)(1.0)
    >>> store_in_frozen(point, "norm", 1.0); point.norm
    1.0
    """
    (object.__setattr__ if is_frozen(type(x)) else setattr)(x, name, value)


def is_frozen(cls: type | None) -> bool:
    """Whether a class is a dataclass whose objects are frozen."""
    return getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)


def saved_attribute_bar(g: Any, x: Any, name: str) -> Any:
    """The adjoint of `x` in `saved_attribute(x, name)`."""
    found = zeros_like(x)
    if hasattr(found, name):
        setattr(found, name, g)
    return found


def restore_entry(d: Any, key: Any, saved: list[Any]) -> None:
    """Make `d[key]` again what it was when `saved_entry` looked at it."""
    if saved:
        d[key] = saved[0]
    else:
        del d[key]


def record_item(mirrored: Any, value: Any, place: int) -> Any:
    """The entry for one field of `value` in its mirror, by the place of the field."""
    names = names_of(value)
    return mirrored[place] if names else getattr(mirrored, list(fields_of(value) or ())[place])


def record_item_bar(item: Any, value: Any, place: int) -> Any:
    """The adjoint of the mirror in `record_item`: zero but for the one entry."""
    fields = list(value) if names_of(value) else list((fields_of(value) or {}).values())
    return record_like(
        value, *(item if n == place else zeros_like(v) for n, v in enumerate(fields))
    )


def columns(rows: Any) -> list[tuple[Any, ...]]:
    """The columns of a list of rows, `list(zip(*rows))`: as many as the shortest row has items."""
    return list(zip(*rows, strict=False))


def columns_bar(g: Any, rows: Any) -> list[Any]:
    """The adjoint of `rows` in `columns(rows)`: row by row, zeros for items left out."""
    return [_row_bar([column[place] for column in g], row) for place, row in enumerate(rows)]


def column_lists(rows: Any) -> list[list[Any]]:
    """The columns of adjoints of rows, which may be written as adjoints are.

    >>> column_lists([[1.0, 2.0], [3.0, 4.0]])
    [[1.0, 3.0], [2.0, 4.0]]
    """
    return list(map(list, columns(rows)))


def _row_bar(items: list[Any], row: Any) -> Any:
    if hasattr(row, "shape"):
        found = zeros_like(row)
        for place, item in enumerate(items):
            found[place] = item
        return found
    return [*items, *(zeros_like(item) for item in row[len(items) :])]


def sorting_order(
    xs: Any, key: Callable[[Any], Any] | None = None, reverse: bool = False
) -> list[int]:
    """The places of the items of `sorted(xs, key=key, reverse=reverse)` in `xs`; the rows of a
    matrix are ordered by a key."""
    if key is None and len(getattr(xs, "shape", ())) > 1:
        raise written_for("a list, of which `sort` is a method,", xs)
    values = [item if key is None else key(item) for item in xs]
    return sorted(range(len(values)), key=values.__getitem__, reverse=reverse)


def take_items(xs: Any, order: Any) -> list[Any]:
    """The items of `xs` at some places, in this order."""
    return [xs[place] for place in order]


def put_items(g: Any, order: Any, xs: Any) -> Any:
    """The adjoint of `xs` in `take_items(xs, order)`, for places that are all different."""
    if hasattr(xs, "shape"):
        found = zeros_like(xs)
        for place, item in zip(order, g, strict=True):
            found[place] = item
        return found
    require_items(xs)
    items = dict(zip(order, g, strict=True))
    return [items[n] if n in items else zeros_like(x) for n, x in enumerate(xs)]


# --------------------------------------------------------------------------------------------------
# Adjoints and tangents of objects that are copied, read by the names of their fields, or written
# as dicts and tuples.

_COPYING = ("__copy__", "__deepcopy__", "__reduce__", "__getstate__", "__setstate__")


def require_plain_copy(x: Any) -> None:
    """Refuse to follow a copy of an object whose class has its own way of being copied."""
    fields = None if isinstance(x, (Mirror, Record)) else fields_of(x)
    if fields is not None:
        for name in _COPYING:
            found = getattr(type(x), name, None)
            if found is not None and found is not getattr(object, name, None):
                raise TypeError(
                    f"{type(x).__name__} has {name} of its own, which is not tracked: "
                    "make the copy in the function, from fields"
                )
    items = fields if fields is not None else x if isinstance(x, dict) else {}
    for item in x if isinstance(x, SEQUENCES) else items.values():
        require_plain_copy(item)


def deepcopy_dot(x_dot: Any, x: Any) -> Any:
    """The tangents, or adjoints, of `copy.deepcopy(x)`."""
    require_plain_copy(x)
    return copy(x_dot)


def shallow_dot(x_dot: Any, x: Any) -> Any:
    """The tangents, or adjoints, of `copy.copy(x)`: what a container holds is not copied."""
    if isinstance(x_dot, Mirror):
        require_plain_copy(x)
        return Mirror(**vars(x_dot))
    if isinstance(x_dot, Record):
        return Record(x_dot._names, x_dot)
    if isinstance(x_dot, np.ndarray) or is_array_class(type(x_dot)):
        return x_dot.copy(order="K")  # (a view whose entries overlap has a copy where none do)
    return x_dot.copy() if isinstance(x_dot, (list, collections.deque, dict)) else copy(x_dot)


def field_dot(x_dot: Any, x: Any, name: str) -> Any:
    """The tangent of `getattr(x, name)`, for the fields of objects."""
    if not isinstance(x_dot, (Mirror, Record)):
        raise AttributeError(f"no field `{name}`", name=name, obj=Mirror())
    return getattr(x_dot, name)


def field_bar(g: Any, x: Any, name: str) -> Any:
    """The adjoint of `x` in `getattr(x, name)`: zero but for this one field."""
    found = zeros_like(x)
    field_dot(found, x, name)
    setattr(found, name, g)
    return found


def attributes_bar(g: Any, x: Any) -> Any:
    """The adjoint of `x` in `vars(x)`."""
    found = zeros_like(x)
    vars(found).update(g)
    return found


def named_items(x: Any) -> dict[str, Any]:
    """`x._asdict()` of a namedtuple, or the same of its mirror."""
    if isinstance(x, Record):
        return dict(zip(x._names, x, strict=True))
    if not isinstance(x, tuple) or type(x)._asdict.__module__ != collections.__name__:  # type: ignore[attr-defined]
        raise written_for("a namedtuple", x)
    return x._asdict()  # type: ignore[attr-defined]


def named_items_bar(g: Any, x: Any) -> Any:
    """The adjoint of `x` in `x._asdict()`."""
    names = names_of(x) or ()
    return Record(names, [g[name] for name in names])


def unnested(x_dot: Any, x: Any, named: bool) -> Any:
    """The tangents of `asdict(x)`, or of `astuple(x)` where the fields are not named."""
    if dataclasses.is_dataclass(x):
        names = [field.name for field in dataclasses.fields(x)]
        items = [unnested(getattr(x_dot, n), getattr(x, n), named) for n in names]
        return dict(zip(names, items, strict=True)) if named else items
    if isinstance(x, SEQUENCES):
        items = [unnested(d, v, named) for d, v in zip(x_dot, x, strict=True)]
        return Record(x_dot._names, items) if isinstance(x_dot, Record) else items
    if isinstance(x, dict):
        return {key: unnested(x_dot[key], v, named) for key, v in x.items()}
    return copy(x_dot)


def unnested_bar(g: Any, x: Any, named: bool) -> Any:
    """The adjoint of `x` in `asdict(x)` or `astuple(x)`."""
    if dataclasses.is_dataclass(x):
        fields = dataclasses.fields(x)
        parts = [g[f.name if named else n] for n, f in enumerate(fields)]
        own = {f.name: p for f, p in zip(fields, parts, strict=True)}
        whole = fields_of(x) or {}
        items = [
            unnested_bar(own[n], v, named) if n in own else zeros_like(v) for n, v in whole.items()
        ]
        return record_like(x, *items)
    if isinstance(x, SEQUENCES):
        return in_form_of(x, [unnested_bar(part, v, named) for part, v in zip(g, x, strict=True)])
    if isinstance(x, dict):
        return {key: unnested_bar(g[key], v, named) for key, v in x.items()}
    return copy(g)


# --------------------------------------------------------------------------------------------------
# Adjoints of sums, products and extremes over the items of a list (or a 1-d array).


def tie_shares(xs: Any, y: Any) -> Any:
    """What each item gets of the adjoint of `y = max(xs)` or `min(xs)`; ties share equally."""
    if isinstance(xs, SEQUENCES):
        ties = sum(1 for x in xs if x == y)
        return in_form_of(xs, [1.0 / ties if x == y else 0.0 for x in xs])
    shares = xs == y
    if not hasattr(shares, "sum"):
        raise written_for("a list, a tuple or an array", xs)
    return shares / shares.sum()


def dot_items(weights: Any, items: Any) -> Any:
    """The sum of products of the items of two sequences; those of one of them may be tuples."""
    if any(_of_tuples(xs) for xs in (weights, items)):
        pairs = (
            (q, p) if _of_tuples(items) else (p, q) for p, q in zip(weights, items, strict=True)
        )
        return functools.reduce(added, (_scaled(g, weight) for g, weight in pairs))
    return sum(weight * item for weight, item in zip(weights, items, strict=True))


def _of_tuples(xs: Any) -> bool:
    return isinstance(xs, SEQUENCES) and any(isinstance(x, SEQUENCES) for x in xs)


def scale_items(g: Any, weights: Any) -> Any:
    """Each item of `weights` times `g`, in the structure of `weights`.

    Raises TypeError for complex weights: in adjoints these would have to be conjugated.
    """
    if _is_complex(weights) or (isinstance(weights, SEQUENCES) and any(map(_is_complex, weights))):
        raise TypeError(
            "sums of products and products of complex numbers in a list have no derivative here; "
            "use np.sum and np.prod of an array"
        )
    if isinstance(weights, SEQUENCES):
        return in_form_of(weights, [_scaled(g, weight) for weight in weights])
    return g * weights


def _scaled(g: Any, weight: Any) -> Any:
    """A value times a number: entry by entry in lists, tuples and their mirrors."""
    if isinstance(g, SEQUENCES):
        return in_form_of(g, [_scaled(item, weight) for item in g])
    return g * weight


def sum_items_bar(g: Any, xs: Any) -> Any:
    """The adjoint of the items of `sum(xs)`: each gets `g`, in its own shape and memory."""
    if isinstance(xs, SEQUENCES):
        return in_form_of(xs, [copy(unbroadcast(g, x)) for x in xs])
    if isinstance(xs, dict) or not hasattr(xs, "shape"):
        raise written_for("a list, a tuple or an array", xs)
    return broadcast_like(g, xs)


def add_repeats(g: Any, xs: Any) -> list[Any]:
    """The adjoint of `xs` in `xs * n`: the repetitions added up, item by item."""
    size = len(xs)
    total = [zeros_like(x) for x in xs]
    for start in range(0, len(g), size or 1):
        total = accumulate(total, g[start : start + size])
    return total


def repeat_items(part: Any, g: Any) -> list[Any]:
    """`part` repeated to the length of `g`: the other way round than `add_repeats`."""
    return list(part) * (len(g) // len(part)) if part else []


def live_items(x: Any, backwards: bool = False) -> Any:
    """What a loop over `x` (or `reversed(x)`) goes through by position: an array, a list or a tuple
    itself, whose items may be written meanwhile, and the list of which an object gives the
    iterator; a list of the items of anything else."""
    if isinstance(x, SEQUENCES) or is_array(x):
        return x
    items = reversed(x) if backwards else iter(x)
    if items is not x and type(items) in (type(iter([])), type(reversed([]))):
        _, (whole,), place = cast(tuple[Any, Any, int], (*items.__reduce__(), 0)[:3])
        if place == (len(whole) - 1 if backwards else 0):
            return whole
    return list(items)[::-1] if backwards else list(items)


def items_into(x: Any, value: Any) -> Any:
    """What `x[i:j] = value` stores: for a list the items, which are objects of their own then."""
    return value if is_array(x) or isinstance(value, SEQUENCES) else list(value)


def join_items(parts: Any, x: Any) -> Any:
    """The items of `list(x)` in the structure of `x` again."""
    if isinstance(x, SEQUENCES):
        return in_form_of(x, list(parts))
    if isinstance(x, (dict, KeysView, float, str, bytes)):
        return 0.0  # (keys and characters carry no derivatives)
    if not hasattr(x, "shape"):
        raise _not_tracked(x)
    joined = zeros_like(x)
    for place, part in enumerate(parts):
        joined[place] = part
    return joined


def require_items(x: Any) -> None:
    """Check that `x`, which is gone through, yields what it holds.

    Raises `TypeError` otherwise: what its class computes has a derivative of its own.
    """
    if not isinstance(x, (dict, *SEQUENCES)) and computes_items(type(x)):
        raise _not_tracked(x)


def _not_tracked(x: Any) -> TypeError:
    return TypeError(
        f"the items that a {type(x).__name__} yields are not tracked: loop over an attribute "
        "that holds them, or let `__iter__` return `iter(...)` of a list"
    )


def parted_items(g: Any, parts: Any) -> Any:
    """The adjoints of the parts that `join_items` made one value of; `g` is that of the value."""
    if isinstance(parts, float):  # (a number, put into a slice as it is)
        return 0.0
    return [0.0] * len(parts) if isinstance(g, float) else list(g)


def products_of_others(xs: Any, start: Any) -> Any:
    """For each item the product of all others (and `start`), right with zeros."""
    before = [start]
    for x in xs:
        before.append(before[-1] * x)
    after, found = 1.0, []
    for place in reversed(range(len(xs))):
        found.append(before[place] * after)
        after = after * xs[place]
    found.reverse()
    return in_form_of(xs, found) if isinstance(xs, SEQUENCES) else _like(found, xs)


def products_of_pairs(weights: Any, xs: Any, start: Any) -> Any:
    """For each item the sum, over the others, of weight times the product of all the rest."""
    found = []
    for i in range(len(xs)):
        rest = [x for k, x in enumerate(xs) if k != i]
        slopes = products_of_others(rest, start)
        found.append(dot_items(slopes, [w for k, w in enumerate(weights) if k != i]))
    return in_form_of(xs, found) if isinstance(xs, SEQUENCES) else _like(found, xs)


def difference_over(p: Any, q: Any, r: Any) -> Any:
    """`(p - q) / r` item by item, 0 where `r` is 0: the direction from q to p."""
    scale = 1.0 / r if r != 0 else 0.0
    found = [scale * (a - b) for a, b in zip(p, q, strict=True)]
    return found if isinstance(p, SEQUENCES) else _like(found, p)


def _like(items: list[Any], x: Any) -> Any:
    full = np.empty_like(x)
    for place, item in enumerate(items):
        full[place] = item
    return full
