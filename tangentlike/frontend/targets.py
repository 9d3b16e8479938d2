"""Assignments to anything but one name: chained targets, unpacking, swaps, items, attributes."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from .. import ir
from ..errors import Place, UnsupportedError
from ..ir.names import Names
from . import nested, operands
from .comprehensions import taken_whole
from .naming import noun


def outer_write(text: str, at: Place | None) -> UnsupportedError:
    """The refusal of an assignment to a name of a module, or of a class."""
    return UnsupportedError(
        f"writing to `{text}` changes something outside the function",
        at,
        "Return the new value instead.",
    )


def split_targets(function: ir.Function, names: Names) -> ir.Function:
    """Make each assignment bind one name, unpack into names, or store one item.

    before::                        after::
        a[i] = b = x + y                total = x + y
        p, q = q, p + q                 a[i] = total
                                        b = total
                                        total2 = p + q
                                        p = q
                                        q = total2
    """

    def split(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        return _assignment(stmt, names) if isinstance(stmt, nested.Assignment) else None

    return ir.with_body(function, ir.rewrite(function.body, split))


def _assignment(stmt: Any, names: Names) -> list[ir.Stmt]:
    """One assignment as several, its value evaluated first and once."""
    first, *others = stmt.targets
    if not others:
        return _bind(first, stmt.value, stmt.origin, names)
    result: list[ir.Stmt] = []
    value = stmt.value
    rebound = isinstance(value, ir.Var) and any(value.name in _names(t) for t in stmt.targets)
    if rebound or not operands.is_atom(value):
        value = _named(value, stmt.origin, names, result)
    for target in stmt.targets:
        result.extend(_bind(target, value, stmt.origin, names))
    return result


def _bind(target: nested.Place, value: ir.Expr, origin: ir.Origin, names: Names) -> list[ir.Stmt]:
    match target:
        case ir.Var(name):
            return [ir.Assign(name, value, origin)]
        case ir.Index() | ir.Attribute():
            return [ir.Store(target, value, origin)]
    assert isinstance(target, tuple)  # a `Star` stands only inside a tuple
    value = taken_whole(value)
    if any(isinstance(part, nested.Star) for part in target):
        return _bind_starred(target, value, origin, names)
    if isinstance(value, ir.Display) and value.form != "dict":
        return _bind_each(target, value, origin, names)
    made: list[ir.Stmt] = []
    if _takes_out(value):  # what is taken out of a container is put back as one thing
        value = _named(value, origin, names, made)
    if not _has_star(target) and all(isinstance(part, ir.Var) for part in _leaves(target)):
        return [*made, ir.Assign(_plain(target), value, origin)]
    # Items and attributes are stored from names, left to right, after the unpacking.
    places = [leaf for leaf in _leaves(target) if not isinstance(leaf, ir.Var)]
    late = frozenset(name for place in places for name in ir.names_in(place))
    binds: list[ir.Stmt] = []
    pattern = _pattern(target, late, origin, names, binds)
    return [*made, ir.Assign(pattern, value, origin), *binds]


def bound_once(function: ir.Function, names: Names) -> ir.Function:
    """Give a name that one unpacking binds several times to its last place only.

    before::                          after::
        p, _, _ = parts                   p, _2, _ = parts
        for w, w in zip(xs, ys):          for w2, w in zip(xs, ys):
    """

    def distinct(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        if not isinstance(stmt, ir.Assign | ir.For) or isinstance(stmt.target, str):
            return None
        left = Counter(ir.target_names(stmt.target))
        if max(left.values(), default=1) == 1:
            return None

        def place(name: str) -> str:
            left[name] -= 1
            return names.fresh(name) if left[name] else name

        return (dataclasses.replace(stmt, target=ir.map_target(stmt.target, place)),)

    return ir.with_body(function, ir.rewrite(function.body, after=distinct))


def _takes_out(value: ir.Expr) -> bool:
    """Whether a value is `xs.pop()` or the like, which changes the container."""
    match value:
        case ir.Call(fn=ir.Attribute(_, "pop" | "popitem" | "popleft")):
            return True
    return False


def _bind_starred(
    targets: tuple[nested.Place, ...], value: ir.Expr, origin: ir.Origin, names: Names
) -> list[ir.Stmt]:
    """`first, *rest = xs`: the starred name gets the list of what the others leave."""
    before = next(n for n, part in enumerate(targets) if isinstance(part, nested.Star))
    after = len(targets) - before - 1
    made: list[ir.Stmt] = []
    plain = tuple(part.target if isinstance(part, nested.Star) else part for part in targets)
    if isinstance(value, ir.Display) and value.form != "dict":
        end = len(value.items) - after
        if end < before:
            raise UnsupportedError(
                f"{len(value.items)} values are too few for {before + after} targets",
                origin.place,
                "Write as many names as there are values.",
            )
        rest: ir.Expr = ir.Display("list", value.items[before:end])
        items = (*value.items[:before], rest, *value.items[end:])
    else:
        whole = _named(ir.Call(ir.LIST, (value,)), origin, names, made)
        first = [ir.Index(whole, ir.Const(number)) for number in range(before)]
        # What follows is counted within the tail, so that too few values are an error here too.
        tail = whole
        if before and after:
            tail = _named(ir.Index(whole, ir.Slice(ir.Const(before))), origin, names, made)
        start = ir.Const(before) if before and not after else None
        rest = ir.Index(tail, ir.Slice(start, ir.Const(-after) if after else None))
        items = (
            *first,
            rest,
            *(ir.Index(tail, ir.Const(number - after)) for number in range(after)),
        )
    return [*made, *_bind_each(plain, ir.Display("tuple", items), origin, names)]


def unpacked(target: ir.Target, value: ir.Display, origin: ir.Origin, names: Names) -> ir.Block:
    """Names bound to the items of a display that stands in place of a call."""
    return tuple(_bind(place_of(target), value, origin, names))


def place_of(target: ir.Target) -> nested.Place:
    """What a loop binds, as the target of an assignment."""
    return ir.Var(target) if isinstance(target, str) else tuple(map(place_of, target))


def _bind_each(
    targets: tuple[nested.Place, ...], value: ir.Display, origin: ir.Origin, names: Names
) -> list[ir.Stmt]:
    """`a, b = x, y`: the right sides first, to temporaries where binding `a` could change `y`."""
    if len(targets) != len(value.items):
        raise UnsupportedError(
            f"{len(value.items)} values cannot be unpacked into {len(targets)} targets",
            origin.place,
            "Write as many names as there are values.",
        )
    early = _evaluated_first(targets, value.items)
    result: list[ir.Stmt] = []
    items = list(value.items)
    for number in early:
        items[number] = _named(items[number], origin, names, result)
    for target, item in zip(targets, items, strict=True):
        result.extend(_bind(target, item, origin, names))
    return result


def _evaluated_first(targets: tuple[nested.Place, ...], items: tuple[ir.Expr, ...]) -> list[int]:
    """Which right sides must be evaluated before the first target is bound.

    An item that reads a name bound before it; any operation after a store, which it may see;
    and every operation that stands before one of these, so that the order is kept.
    """
    bound: set[str] = set()
    stored = False
    last = -1
    for number, (target, item) in enumerate(zip(targets, items, strict=True)):
        if bound & ir.names_in(item) or (stored and not operands.is_atom(item)):
            last = number
        bound |= _names(target)
        stored = stored or not all(isinstance(part, ir.Var) for part in _leaves(target))
    plain = [operands.is_atom(item) for item in items]
    seen: set[str] = set()
    chosen = []
    for number in range(last + 1):
        if not plain[number] or seen & ir.names_in(items[number]):
            chosen.append(number)
        seen |= _names(targets[number])
    return chosen


def _named(value: ir.Expr, origin: ir.Origin, names: Names, result: list[ir.Stmt]) -> ir.Var:
    name = names.fresh(noun(value))
    result.append(ir.Assign(name, value, origin))
    return ir.Var(name)


def _leaves(target: nested.Place) -> list[Any]:
    if isinstance(target, tuple):
        return [leaf for part in target for leaf in _leaves(part)]
    return _leaves(target.target) if isinstance(target, nested.Star) else [target]


def _names(target: nested.Place) -> set[str]:
    return {part.name for part in _leaves(target) if isinstance(part, ir.Var)}


def _has_star(target: nested.Place) -> bool:
    if isinstance(target, tuple):
        return any(map(_has_star, target))
    return isinstance(target, nested.Star)


def _plain(target: nested.Place) -> ir.Target:
    if isinstance(target, tuple):
        return tuple(_plain(part) for part in target)
    assert isinstance(target, ir.Var)
    return target.name


def _pattern(
    target: nested.Place,
    late: frozenset[str],
    origin: ir.Origin,
    names: Names,
    binds: list[ir.Stmt],
) -> ir.Target:
    """The target with a fresh name for each item or attribute, and for each name that finds one.

    In `i, a[i] = pair` and `a[i], i = pair` the order of binding decides which item is meant.
    """
    if isinstance(target, tuple) and not any(isinstance(p, nested.Star) for p in target):
        return tuple(_pattern(part, late, origin, names, binds) for part in target)
    if isinstance(target, tuple):
        name = names.fresh("parts")
        binds.extend(_bind(target, ir.Var(name), origin, names))
        return name
    if isinstance(target, ir.Var) and target.name not in late:
        return target.name
    assert not isinstance(target, nested.Star)  # its tuple was taken apart before
    name = names.fresh(f"{target.name}_new" if isinstance(target, ir.Var) else noun(target))
    if isinstance(target, ir.Var):
        binds.append(ir.Assign(target.name, ir.Var(name), origin))
    else:
        binds.append(ir.Store(target, ir.Var(name), origin))
    return name
