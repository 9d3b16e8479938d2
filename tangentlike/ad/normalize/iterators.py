"""What loops run through, made lists: the reverse sweep runs through it again, and an iterator is
used up by then, a dict may have other keys."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ... import ir
from ...errors import UnsupportedError
from ...frontend.comprehensions import is_generator
from ...ir.facts import fact
from ...ir.index import ProgramIndex
from ..context import Context
from ..loops import may_break, sources_of


def iterators_as_lists(function: ir.Function, context: Context) -> ir.Function:
    """A function whose loops run through lists where they ran through iterators.

    before::                                after::
        ndindex = np.ndindex(a.shape)           ndindex2 = np.ndindex(a.shape)
                                                ndindex = list(ndindex2)
        for n, k in enumerate(ndindex):         for n, k in enumerate(ndindex):
            s = s + n * a[k]                        s = s + n * a[k]

    An iterator of which several loops take a part each is refused.
    """
    headers: Counter[str] = Counter()
    others: set[str] = set()
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.For):
            headers.update(ir.names_in(stmt.iter))
        else:
            others |= ir.reads(stmt)

    index = fact(ProgramIndex, function)

    def statement(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        name = _iterator(stmt)
        if name is None or not headers[name]:
            return None
        here = any(
            isinstance(later, ir.For) and name in ir.names_in(later.iter)
            for later in index.following(stmt)
        )
        if headers[name] > 1 or name in others or not here:
            raise UnsupportedError(
                f"`{name}` is an iterator, and what a loop leaves of it is read later",
                stmt.origin.place,
                "Make a list of it, `items = list(...)`, and loop over slices of that.",
            )
        return _listed(stmt, name, context)

    return ir.with_body(function, ir.rewrite(function.body, statement))


def _listed(stmt: ir.Stmt, name: str, context: Context) -> list[ir.Stmt]:
    assert isinstance(stmt, ir.Assign)
    once = context.fresh(name, context.kinds[name])
    again = ir.Call(ir.Ref("list", list), (ir.Var(once),))
    return [ir.Assign(once, stmt.value, stmt.origin), ir.Assign(name, again, stmt.origin)]


def _iterator(stmt: ir.Stmt) -> str | None:
    """The name that a statement binds to something finite that is run through once."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj))) if _gives_iterator(obj):
            return name
        case ir.Assign(target=str(name), value=value) if is_generator(value):
            return name
    return None


def _gives_iterator(obj: Any) -> bool:
    """Whether calling `obj` makes something finite that is run through once.

    >>> import numpy as np
    >>> [_gives_iterator(obj) for obj in (np.ndindex, iter, range, itertools.count)]
    [True, True, False, False]
    """
    endless = (itertools.count, itertools.cycle, itertools.repeat)
    if obj is iter:
        return True
    return inspect.isclass(obj) and hasattr(obj, "__next__") and obj not in endless


def keys_as_lists(function: ir.Function, context: Context) -> ir.Function:
    """A function whose loops run through lists of keys where they ran through dicts that get other
    keys, or that have to be gone through by position; so do sets.

    before::                                after::
                                                d_keys = list(d)
        for k in d:                             for k in d_keys:
            s = s + d[k]                            s = s + d[k]
        d["total"] = s                          d["total"] = s

    A key that a loop over the dict runs through is there already: setting its entry adds none.
    Of a loop that may `break` the reverse sweep knows the number of rounds, and of a loop through
    several things at once it may have to reach each item by its position.
    """
    grown = _grown(function)

    def keyed(stmt: ir.For) -> list[str]:
        names = sources_of(stmt.iter)
        by_position = not isinstance(stmt.iter, ir.Var) or may_break(stmt.body)
        forms = {name: context.kind_of(ir.Var(name)).form for name in names}
        return [
            name
            for name, form in forms.items()
            if (form == "dict" and (by_position or name in grown))
            or (form == "set" and by_position)
        ]

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        for name in keyed(stmt) if isinstance(stmt, ir.For) else ():
            assert isinstance(stmt, ir.For)
            listed = ir.Call(ir.Ref("list", list), (ir.Var(name),))
            keys = context.fresh(f"{name}_keys", context.kind_of(listed), temporary=True)
            yield ir.Assign(keys, listed, stmt.origin)
            header = ir.substitute(stmt.iter, {name: ir.Var(keys)})
            stmt = dataclasses.replace(stmt, iter=header)
        yield stmt

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def _grown(function: ir.Function) -> set[str]:
    """The names of what gets entries: not those of keys that a loop around runs through."""
    found: set[str] = set()
    for stmt, around in ir.with_parents(function.body):
        match stmt:
            case ir.Store(target=ir.Index(ir.Var(name), key)):
                loops = [(s.iter, s.target) for s in around if isinstance(s, ir.For)]
                if not (isinstance(key, ir.Var) and (ir.Var(name), key.name) in loops):
                    found.add(name)
    return found
