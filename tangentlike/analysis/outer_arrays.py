"""Which arrays of the module, or of an enclosing function, an expression may refer to.

    TOTAL, CACHE = np.zeros(3), {}

    def total():                  def table(n):
        return TOTAL                  return CACHE[n]

`view = total()[1:]` may be `TOTAL`. Of `table(n)` only the run can say which entry it is: it stands
for all arrays that are in `CACHE`, and for `CACHE` itself, since others may be put there.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ir
from ..ir.kind import FUNCTION
from ..runtime.records import attribute_of
from .memory import Sources, base_names, key_parts, surely_fancy
from .operations import MUTATING_METHODS, SHAPE_QUERIES

Found = Mapping[int, ir.Ref]  # arrays (and containers of arrays) by their id
_CONTAINERS = (list, tuple, dict)
_DEPTH = 4  # to which outer containers and objects are searched for arrays
_MOST_ITEMS = 1000
_SOME_ITEM = ir.Var("(item)")  # the key of the item that a loop is at
_RUNNING = (zip, enumerate, reversed, sorted)  # what runs over items of its arguments


@dataclass
class OuterArrays:
    """`given_back` says what a call of a user's function may give back of them."""

    sources: Sources
    given_back: Callable[[ir.Call, Sources], Found]

    def held(self, function: ir.Function) -> Held:
        """What the names of a function may be of outer arrays."""
        held = Held(self)
        while held.follow(function):
            pass
        return held


@dataclass
class Held:
    """The names that may be outer arrays, views of them, or hold them."""

    outer: OuterArrays
    names: dict[str, dict[int, ir.Ref]] = field(default_factory=dict)

    def follow(self, function: ir.Function) -> bool:
        """Go through the statements once; whether that found anything new."""
        changed = False
        for stmt in ir.statements(function.body):
            for name, value in self._bound(stmt):
                found = self.roots(value)
                known = self.names.setdefault(name, {}) if found else {}
                changed |= bool(found.keys() - known.keys())
                known.update(found)
        return changed

    def _bound(self, stmt: ir.Stmt) -> Iterator[tuple[str, ir.Expr]]:
        """Names that a statement binds or puts something into, and that value."""
        sources = self.outer.sources
        match stmt:
            case ir.Assign(target=str(name)) if sources.kind_of(ir.Var(name)) == FUNCTION:
                pass  # (what it gives is no outer array: see `called`)
            case ir.Assign(target=target, value=value):
                yield from ((name, value) for name in ir.target_names(target))
            case ir.For(target=target, iter=value):
                whole = (ir.Index(part, _SOME_ITEM) for part in _run_over(value))
                yield from ((n, v) for v in whole for n in ir.target_names((target,)))
            case ir.Store(target=target, value=value):
                for base in base_names(target):
                    if sources.kind_of(ir.Var(base)).form in ("list", "dict", "object"):
                        yield base, value
        match getattr(stmt, "value", None):
            case ir.Call(fn=ir.Attribute(ir.Var(base), method), args=args):
                if method in MUTATING_METHODS and sources.kind_of(ir.Var(base)).form != "array":
                    yield from ((base, value) for value in args)
            case ir.Call() as call:
                yield from sources.kept(call)

    def roots(self, expr: ir.Expr) -> dict[int, ir.Ref]:
        """The outer arrays whose memory a value, or an item of it, may share."""
        known = live(expr)
        if known is not None:
            return arrays_in(known)
        match expr:
            case ir.Var(name):
                return dict(self.names.get(name, {}))
            case ir.Attribute(_, name) if name in SHAPE_QUERIES:
                return {}
            case ir.Index(base, key):
                found = self._part(base)
                holds = self.outer.sources.kind_of(base).form in ("list", "tuple", "dict")
                return {} if not holds and self._is_value(found, key) else found
            case ir.Attribute(base, _):
                return self._part(base)
            case ir.Call():
                return self._result(expr)
            case ir.Display() | ir.Lazy() | ir.Opaque():
                return self._all(ir.children(expr))
            case _:
                return {}

    def _is_value(self, found: Found, key: ir.Expr) -> bool:
        """Whether an item is a number, or a copy, whichever of the arrays it is of."""
        kind_of = self.outer.sources.kind_of
        if surely_fancy(key, kind_of):
            return True
        parts = key_parts(key)
        numbers = all(key is _SOME_ITEM or kind_of(part).integer for part in parts)
        return numbers and all(getattr(r.obj, "ndim", -1) == len(parts) for r in found.values())

    def _part(self, base: ir.Expr) -> dict[int, ir.Ref]:
        """An item that only the run knows may be any of the arrays, or one put there later."""
        found = self.roots(base)
        known = live(base)
        if known is not None and _holds(known.obj):
            found[id(known.obj)] = known
        return found

    def _result(self, call: ir.Call) -> dict[int, ir.Ref]:
        sources = self.outer.sources
        if isinstance(call.fn, ir.Ref) and is_cached(call.fn):
            return {id(call.fn.obj): call.fn}  # (gives the same array again)
        if isinstance(call.fn, ir.Attribute) and call.fn.name in ("get", "pop", "setdefault"):
            return self._part(call.fn.base) | self._all(call.args[1:])
        if sources.view_of(call) == "no" or not sources.holds_memory(call):
            return {}
        return {**self._all(sources.shared_by(call)), **self.outer.given_back(call, sources)}

    def _all(self, exprs: Any) -> dict[int, ir.Ref]:
        found: dict[int, ir.Ref] = {}
        for expr in exprs:
            found |= self.roots(expr)
        return found


def _run_over(value: ir.Expr) -> tuple[ir.Expr, ...]:
    """What a loop takes its items from: `a` and `b` for `zip(a, b)`."""
    match value:
        case ir.Call(fn=ir.Ref(obj=obj), args=args) if any(obj is known for known in _RUNNING):
            return tuple(part for arg in args for part in _run_over(arg))
        case _:
            return (value,)


def live(expr: ir.Expr) -> ir.Ref | None:
    """The object that `STATE.rows[0]` is now, where `STATE` is an outer object."""
    match expr:
        case ir.Ref():
            return expr
        case ir.Attribute(base, name):
            holder = live(base)
            if holder is None:
                return None
            found = inspect.getattr_static(holder.obj, name, None)
            if isinstance(found, types.MemberDescriptorType):  # (of `__slots__`)
                found = getattr(holder.obj, name, None)
            if found is None or hasattr(type(found), "__get__"):
                return None
            return ir.Ref(f"{holder.text}.{name}", found)
        case ir.Index(base, ir.Const(key)):
            holder = live(base)
            if holder is None or not isinstance(holder.obj, _CONTAINERS):
                return None
            try:  # (of a `defaultdict`, asking for an item would make one)
                found = (
                    dict.get(holder.obj, key) if isinstance(holder.obj, dict) else holder.obj[key]
                )
            except (LookupError, TypeError):
                return None
            return None if found is None else ir.Ref(f"{holder.text}[{key!r}]", found)
        case _:
            return None


def arrays_in(known: ir.Ref, depth: int = _DEPTH) -> dict[int, ir.Ref]:
    """The arrays (and objects with attributes) that an outer object is, or holds, with the texts
    that name them.

    >>> import numpy as np
    >>> outer = ir.Ref("D", {"a": np.zeros(2), "b": [np.ones(1), 3]})
    >>> [ref.text for ref in arrays_in(outer).values()]
    ["D['a']", "D['b'][0]"]
    """
    array = is_outer_array(known.obj)
    if array and getattr(getattr(known.obj, "dtype", None), "kind", "") != "O":
        return {id(known.obj): known}
    own = array or (_holds(known.obj) and not isinstance(known.obj, _CONTAINERS))
    found: dict[int, ir.Ref] = {id(known.obj): known} if own else {}  # (attributes are assigned)
    if depth:
        for text, item in _items(known.obj):
            found |= arrays_in(ir.Ref(f"{known.text}{text}", item), depth - 1)
    return found


def _items(obj: Any) -> list[tuple[str, Any]]:
    if isinstance(obj, dict):
        pairs = [(f"[{key!r}]", value) for key, value in obj.items()]
    elif isinstance(obj, (list, tuple)):
        pairs = [(f"[{k}]", value) for k, value in enumerate(obj)]
    elif isinstance(obj, np.ndarray) and obj.dtype.kind == "O":
        pairs = [(f"{list(k)}", value) for k, value in np.ndenumerate(obj)]
    elif _holds(obj):
        pairs = [(f".{name}", value) for name, value in vars(obj).items()]
    else:
        pairs = []
    return pairs[:_MOST_ITEMS]


def _holds(obj: Any) -> bool:
    """Whether an object is a container, or an instance that may hold arrays in attributes."""
    if isinstance(obj, _CONTAINERS):
        return True
    code = isinstance(obj, (type, types.ModuleType)) or callable(obj)
    return not code and isinstance(attribute_of(obj, "__dict__", None), dict)


def is_cached(fn: ir.Ref) -> bool:
    """Whether a function is one that `lru_cache` wraps (it is called without its cache): what
    a call of it gives may be what an earlier one gave."""
    return fn.text.endswith(".__wrapped__")


def is_outer_array(obj: Any) -> bool:
    """Whether an outer object is an array, of whatever library.

    >>> import numpy as np
    >>> is_outer_array(np.zeros(2)), is_outer_array([0.0]), is_outer_array(np.float64(1.0))
    (True, False, False)
    """
    if isinstance(obj, type) or not hasattr(type(obj), "__setitem__"):
        return False  # (a module may say something when it is asked for an attribute)
    return attribute_of(obj, "shape") is not None


def reads_of(expr: ir.Expr, written: set[int]) -> Iterator[ir.Ref]:
    """The outer arrays that an expression reads, and the containers of which it reads an item
    that only the run knows; `written` are the expressions (by id) that are written through."""
    if id(expr) in written or (isinstance(expr, ir.Attribute) and expr.name in SHAPE_QUERIES):
        return
    known = live(expr)
    if known is not None:
        yield from arrays_in(known).values()
        if _holds(known.obj):
            yield known
        return
    for child in ir.children(expr):
        yield from reads_of(child, written)
