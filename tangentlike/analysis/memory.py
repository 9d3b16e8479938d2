"""What an expression's value may share memory with, and what a statement writes.

A *node* is a name, or `name[*]` for all elements of a container of that name.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import ir, runtime
from ..frontend.owners import is_operation
from ..ir.facts import fact
from ..ir.index import references
from ..ir.kind import Kind
from ..rules.index_kinds import is_basic, key_parts
from .constructors import record_values
from .operations import (
    changes_its_object,
    is_container_method,
    is_python_function,
    may_join_lists,
    may_write,
    outputs,
    rule_object,
    written_position,
)


def _ids(*objs: object) -> frozenset[int]:
    """What objects are found by: some that are asked about cannot be hashed."""
    return frozenset(map(id, objs))


VIEW_ATTRIBUTES = ("T", "real", "imag", "mT")  # of arrays
# What may give back any of their arguments, or hold them.
GIVING_ANY = (
    *(max, min, np.broadcast_arrays, np.einsum),
    *(runtime.record_like, runtime.replaced, runtime.updated),
)
# Views whose entries share memory with each other, which nothing can be written or added to.
OVERLAPPING = (
    *(np.broadcast_to, np.broadcast_arrays),
    *(np.lib.stride_tricks.sliding_window_view, np.lib.stride_tricks.as_strided),
)
# Views that NumPy makes read-only: the same view of an adjoint could not be added to.
READ_ONLY = (np.diagonal, np.ndarray.diagonal, getattr(np.linalg, "diagonal", np.diagonal))
_UNWRITABLE = _ids(*OVERLAPPING, *READ_ONLY)
_COLLECTING = _ids(list, tuple, set, frozenset, sorted, dict, copy.copy, runtime.shallow_dot)
# What is made of some items of its first argument.
_SELECTING = _ids(runtime.take_items, runtime.replaced)


def is_unwritable_view(value: ir.Expr) -> bool:
    """Whether a value may be a view that cannot be written entry by entry, or a view of one."""
    return any(type(p) is ir.Ref and id(p.obj) in _UNWRITABLE for p in ir.parts_of(value))


def reads_around(function: ir.Function) -> bool:
    """Whether `as_strided(a, ..)` may read memory around `a`, which is that of another name: of a
    part of an array, and not of a parameter or of what an operation made."""
    if not any(ref.obj is np.lib.stride_tricks.as_strided for ref in fact(references, function)):
        return False
    values = {s.target: s.value for s in ir.statements(function.body) if isinstance(s, ir.Assign)}

    def is_whole(expr: ir.Expr) -> bool:
        name = expr.name if isinstance(expr, ir.Var) else ""
        made = values.get(name)
        of_function = isinstance(made, ir.Call) and isinstance(made.fn, ir.Ref)
        return name in function.param_names or of_function

    calls = (value for value in values.values() if isinstance(value, ir.Call) and value.args)
    own = np.lib.stride_tricks.as_strided
    strided = (c for c in calls if isinstance(c.fn, ir.Ref) and c.fn.obj is own)
    return not all(is_whole(call.args[0]) for call in strided)


@dataclass(frozen=True)
class Effects:
    """What a call does to its parameters: which it may write, which its result may share memory
    with (`whole`: itself, not only what it holds), and which one it returns as it is ("" for none).
    `twice`: two items of its result may share memory with each other."""

    written: frozenset[str] = frozenset()
    returned: frozenset[str] = frozenset()
    identity: str = ""
    twice: bool = False
    assigned: frozenset[str] = frozenset()  # attributes, of whatever object
    kept: frozenset[tuple[str, str]] = frozenset()  # (written, what it may refer to afterwards)
    inside: frozenset[str] = frozenset()  # written, and not only by replacing what it holds
    # What calls that only the running program knows may write, where nothing carries derivatives.
    unseen: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    # Whether what it returns as it is may be a number, which `p += v` binds to a new object.
    rebound: bool = False
    keyed: frozenset[str] = frozenset()  # what may become keys of dicts
    shows: frozenset[str] = frozenset()  # what may be shown in text
    reads: bool = False  # makes numbers of what may be text
    writes_files: bool = False  # what it shows
    reads_files: bool = False

    def without(self, numbers: Collection[str]) -> Effects:
        """The effects of a call that gives these parameters numbers, which nothing can write."""
        if not numbers:
            return self
        gone = frozenset(numbers)
        return replace(
            self,
            written=self.written - gone,
            unseen=self.unseen - gone,
            returned=self.returned - gone,
            kept=frozenset(pair for pair in self.kept if not gone & set(pair)),
            inside=self.inside - gone,
            whole=self.whole - gone,
        )


UNSEEN = Effects()  # of a function that only the running program knows, and that may do anything


@dataclass(frozen=True)
class Sources:
    """Answers what an expression's result may share memory with."""

    kinds: Mapping[str, Kind]
    kind_of: Callable[[ir.Expr], Kind]
    view_of: Callable[[ir.Call], str]  # "no", "view" or "maybe" by the rules; "user" for others
    effects: Callable[[ir.Call], Effects | None]  # of a user's function; None where unknown
    bind: Callable[[ir.Call], Mapping[str, ir.Expr]]  # formals of a user's function -> actuals
    idle: frozenset[str] = frozenset()  # names that are known to carry no derivatives

    def holds_memory(self, expr: ir.Expr) -> bool:
        kind = self.kind_of(expr)
        return kind.form not in ("number", "other")

    def nodes(self, expr: ir.Expr) -> frozenset[str]:
        """Whose memory the value of `expr` may share: names, and elements of containers."""
        if self._is_new(expr) or not self.holds_memory(expr):
            return frozenset()
        match expr:
            case ir.Var(name):
                return frozenset((name,))
            case ir.Index(base, key):
                if self._copies(base, key):
                    return frozenset()
                return self._item_of(base)
            case ir.Attribute(base, name):
                return frozenset() if name in ir.LAYOUT_ATTRIBUTES else self._item_of(base)
            case ir.Opaque(inert=True):
                return frozenset()
            case ir.Lazy() | ir.Opaque():
                return self._all(ir.children(expr))
            case ir.Call():
                return self._call(expr)
            case _:
                return frozenset()

    def _is_new(self, expr: ir.Expr) -> bool:
        """Whether an operation gives memory of its own, as most do: this is asked before what kind
        of value it gives, which takes longer to find."""
        return (
            isinstance(expr, ir.Call)
            and self.view_of(expr) == "no"
            and not outputs(expr, self.kinds)
        )

    def _copies(self, base: ir.Expr, key: ir.Expr) -> bool:
        """Whether an item is a copy: of an array by an index array, or by a mask of any rank. A
        slice of a list is a new list of the same items."""
        if surely_fancy(key, self.kind_of):
            return True
        if isinstance(key, ir.Slice) and self.kind_of(base).form in ("list", "tuple"):
            return True
        parts = (part for part in key_parts(key) if not isinstance(part, ir.Slice))
        masks = any(self.kind_of(part).dtype == "bool" for part in parts)
        return masks and self.kind_of(base).form in ("array", "value")

    def elements(self, expr: ir.Expr) -> frozenset[str]:
        """Whose memory the elements of a container `expr` may share."""
        match expr:
            case ir.Var(name):
                arrays = self.kind_of(expr).form in ("array", "number", "other", "value")
                return frozenset() if arrays else frozenset((element(name),))
            case ir.Display():
                return self._all(expr.items)
            case ir.Index(base, _) | ir.Attribute(base, _):
                return self.elements(base)
            case ir.Call():
                if outputs(expr, self.kinds):
                    return self.nodes(expr)
                made = self._put_into_record(expr)
                if made is not None:
                    return self._all(made)
                if may_join_lists(expr, self.kinds):
                    return self._all(expr.args)
                if self._collects(expr):
                    return self._item_of(expr.args[0]) | self._all(self._put_beside(expr))
                if self.view_of(expr) == "no" or not self.holds_memory(expr):
                    return frozenset()
                return self._all(self.shared_by(expr))
            case ir.Opaque(inert=True):
                return frozenset()
            case ir.Lazy() | ir.Opaque():
                return self._all(e for e in ir.children(expr) if not isinstance(e, ir.Ref))
            case _:
                return frozenset()

    def _collects(self, call: ir.Call) -> bool:
        """Whether a call is `list(xs)` or the like: a new container of the same items."""
        obj = id(rule_object(call, self.kinds))
        return obj in _SELECTING or (len(call.args) >= 1 and obj in _COLLECTING)

    def _put_beside(self, call: ir.Call) -> tuple[ir.Expr, ...]:
        """What a call puts beside the items of its first argument: a field of `replace`."""
        return call.args[2:] if rule_object(call, self.kinds) is runtime.replaced else ()

    def _put_into_record(self, call: ir.Call) -> tuple[ir.Expr, ...] | None:
        """What the fields of a record that a call makes hold; None for any other call."""
        if rule_object(call, self.kinds) is runtime.record_like:
            return call.args[1:]
        made = record_values(call)
        return None if made is None else tuple(made.values())

    def items(self, expr: ir.Expr) -> tuple[frozenset[str], ...]:
        """What each item of a new container, or of one in it, may share memory with; an item that
        a repetition holds several times comes twice."""
        found: tuple[frozenset[str], ...]
        match expr:
            case ir.Display(items=items):
                found = ()
                for item in items:
                    whole = (self.nodes(item) | self.elements(item),)
                    found += self.items(item) if isinstance(item, ir.Display) else whole
                return found
            case ir.Call() if (made := self._put_into_record(expr)) is not None:
                return tuple(self.nodes(v) | self.elements(v) for v in made)
            case ir.Call(args=args) if put := self._put_beside(expr):
                return (self._item_of(args[0]), *(self.nodes(v) | self.elements(v) for v in put))
            case ir.Call(args=args) if may_join_lists(expr, self.kinds):
                found = tuple(self.elements(a) for a in args)
                repeats = rule_object(expr, self.kinds) is operator.mul
                return found * 2 if repeats else found
            case _:
                return ()

    def repeats(self, expr: ir.Expr) -> bool:
        """Whether two items of what a user's function returns may share memory."""
        effects = self.effects(expr) if isinstance(expr, ir.Call) else None
        return effects is not None and effects.twice

    def _all(self, exprs: Iterable[ir.Expr]) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for expr in exprs:
            found |= self.nodes(expr) | self.elements(expr)
        return found

    def _item_of(self, base: ir.Expr) -> frozenset[str]:
        """An item of an array is a view of it, an item of a container one of its elements."""
        kind = self.kind_of(base)
        named = kind.form == "object" and (kind.cls is not None or bool(kind.among))
        if named or kind.form in ("list", "tuple", "dict", "set"):
            return self.elements(base)
        return self.nodes(base) | self.elements(base)  # (an object may be a pointer to an array)

    def _call(self, call: ir.Call) -> frozenset[str]:
        given = outputs(call, self.kinds)
        if given:
            return self._all(given)
        view = self.view_of(call)
        if view == "no" or self._collects(call) or self._put_into_record(call) is not None:
            return frozenset()
        if isinstance(call.fn, ir.Attribute) and call.fn.name in ("pop", "get", "setdefault"):
            return self._item_of(call.fn.base) | self._all(call.args[1:])
        if view in ("view", "maybe") and isinstance(call.fn, ir.Attribute):
            return self.nodes(call.fn.base)
        return self._all(self.shared_by(call, whole=True))

    def shared_by(self, call: ir.Call, whole: bool = False) -> Sequence[ir.Expr]:
        """The arguments that the result of a call (or, unless `whole`, what it holds) may share
        memory with: the first one, for an operation with a rule."""
        if self.view_of(call) not in ("view", "maybe"):
            return self._given_back(call, whole)
        if isinstance(call.fn, ir.Attribute):
            return (call.fn.base,)
        return call.args if rule_object(call, self.kinds) in GIVING_ANY else call.args[:1]

    def _given_back(self, call: ir.Call, whole: bool) -> list[ir.Expr]:
        """The arguments that the result of a user's function may share memory with."""
        effects = self.effects(call)
        if effects is UNSEEN:
            return [*ir.arguments(call)]
        if effects is not None:
            actuals = self.bind(call)
            returned = effects.whole if whole else effects.returned
            return [actuals[f] for f in sorted(returned) if f in actuals]
        return [e for e in ir.children(call) if not isinstance(e, ir.Ref)]

    def written(self, stmt: ir.Stmt) -> tuple[str, ...]:
        """The nodes a statement writes through (not the names it binds)."""
        return tuple(sorted(frozenset().union(*(self.reached(*p) for p in self.places(stmt)))))

    def reached(self, place: ir.Expr, how: str) -> frozenset[str]:
        """The nodes by which one of the `places` that a statement writes is reached."""
        if how in ("path", "item"):
            bases = base_names(place)
            return bases | frozenset(map(element, bases if how == "item" else ()))
        return self.nodes(place) | (self.elements(place) if how == "whole" else frozenset())

    def places(self, stmt: ir.Stmt) -> Iterator[tuple[ir.Expr, str]]:
        """What a statement writes in place, and how: on the "path" to an entry of it, in an "item"
        or attribute that may be an array, where it is "given" to what writes it, or as a "whole",
        with all that it holds."""
        match stmt:
            case ir.Update(target=ir.Index() as target) if self._may_hold_arrays(target):
                yield target, "item"  # `xs[0] += v` writes into the item, if it is an array
            case ir.Update(target=ir.Attribute() as target):
                yield target, "item"  # (the array in the attribute, or the attribute)
            case ir.Store(target=target) | ir.Update(target=ir.Index() as target):
                yield target.base, "path"
            case ir.Update(target=ir.Var() as target) if self.holds_memory(target):
                yield target, "path"
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                if isinstance(stmt, ir.Do) and isinstance(call.fn, ir.Var):
                    yield from ((part, "whole") for part in ir.children(call))
                yield from self._places_given(call)

    def _is_left_alone(self, call: ir.Call) -> bool:
        """Whether a call is that of a function or a method which only the running program knows,
        and which no derivative asks for, since it is given nothing that carries one."""
        if not self.idle or not isinstance(call.fn, ir.Var | ir.Attribute):
            return False
        given = frozenset[str]().union(*map(ir.names_in, ir.arguments(call)))
        if not given <= self.idle or is_container_method(call, self.kinds):
            return False
        return not isinstance(call.fn, ir.Attribute) or self.kind_of(call.fn.base).form != "set"

    def may_hide(self, call: ir.Call) -> bool:
        """Whether a call is of what only the running program knows, or ends in such calls."""
        if isinstance(call.fn, ir.Var | ir.Attribute):
            return not is_container_method(call, self.kinds)
        effects = self.effects(call)
        return effects is not None and bool(effects.unseen)

    def kept(self, call: ir.Call) -> list[tuple[str, ir.Expr]]:
        """(argument, another one that it may refer to after the call of a user's function)."""
        effects = self.effects(call)
        if effects is UNSEEN:
            given = ir.arguments(call)
            return [(b, e) for x in given for b in sorted(base_names(x)) for e in given if e != x]
        if effects is None or not effects.kept:
            return []
        actuals = self.bind(call)
        return [
            (base, actuals[held])
            for container, held in sorted(effects.kept)
            if container in actuals and held in actuals
            for base in sorted(base_names(actuals[container]))
        ]

    def changed(self, call: ir.Call) -> list[str]:
        """The names of arguments that the call of a user's function may write."""
        effects = self.effects(call)
        actuals = {} if effects is None or not effects.written else self.bind(call)
        written = (actuals[p] for p in actuals if effects is not None and p in effects.written)
        return sorted(frozenset().union(*map(base_names, written)))

    def _may_hold_arrays(self, item: ir.Index) -> bool:
        containers = ("list", "tuple", "dict", "unknown")
        return self.kind_of(item.base).form in containers and self.holds_memory(item)

    def _places_given(self, call: ir.Call) -> Iterator[tuple[ir.Expr, str]]:
        yield from ((out, "whole") for out in outputs(call, self.kinds))
        if isinstance(call.fn, ir.Ref) and _only_computes(call.fn):
            return
        match call.fn:
            case ir.Attribute(base) if changes_its_object(call, self.kinds):
                yield base, "path"
        if call.args and written_position(rule_object(call, self.kinds)) is not None:
            inside = rule_object(call, self.kinds) is runtime.put_inside
            yield call.args[0], "whole" if inside else "given"
        effects = self.effects(call)
        unknown = effects is None and self.view_of(call) == "user"
        unknown = unknown and (may_write(call.fn) or self._is_left_alone(call))
        if unknown or effects is UNSEEN:
            yield from ((part, "whole") for part in ir.arguments(call))
            if self._is_left_alone(call) and ir.names_in(call.fn) <= self.idle:
                fn = call.fn  # (it may write what it captures, a method its object)
                if not isinstance(fn, ir.Attribute):
                    yield fn, "whole"
                elif fn.name != "__array_namespace__":
                    yield fn.base, "whole"
        elif effects is not None and effects.written | effects.unseen:
            actuals = self.bind(call)
            for formal in sorted(effects.unseen & actuals.keys()) if self.idle else ():
                if ir.names_in(actuals[formal]) <= self.idle:
                    yield actuals[formal], "whole"
            for formal in sorted(effects.written & actuals.keys()):
                yield actuals[formal], "whole" if formal in effects.inside else "given"


@ir.of_node
def _only_computes(fn: ir.Ref) -> bool:
    """Whether a function of NumPy, Python or our runtime writes nothing but its `out`."""
    return is_operation(fn.obj) and written_position(fn.obj) is None and not may_write(fn)


def element(name: str) -> str:
    """The node that stands for all elements of a container."""
    return name if name.endswith("[*]") else f"{name}[*]"


def surely_fancy(key: ir.Expr, kind_of: Callable[[ir.Expr], Kind]) -> bool:
    """Whether indexing with `key` certainly copies (an integer or boolean array in it)."""
    parts = key_parts(key)
    return any(kind_of(p).form in ("array", "list") for p in parts if not isinstance(p, ir.Slice))


def surely_basic(key: ir.Expr, kind_of: Callable[[ir.Expr], Kind]) -> bool:
    """Whether `key` consists of integers, slices, None and Ellipsis only."""
    return all(is_basic(part, kind_of) for part in key_parts(key))


def selects_once(key: ir.Expr, kind_of: Callable[[ir.Expr], Kind]) -> bool:
    """Whether `key` selects no entry of an array twice: it consists of such parts and of masks."""
    return all(is_basic(part, kind_of) or kind_of(part).is_mask for part in key_parts(key))


def base_names(expr: ir.Expr) -> frozenset[str]:
    """The name at the root of `A[k].T[j]`."""
    while True:
        match expr:
            case ir.Var(name):
                return frozenset((name,))
            case ir.Index(base, _) | ir.Attribute(base, _):
                expr = base
            case ir.Call(fn=ir.Attribute() as fn):
                expr = fn
            case ir.Call(args=(first, *_)):
                expr = first
            case _:
                return frozenset()


# --------------------------------------------------------------------------------------------------
# Whether a program asks how an array lies in memory: `ravel` and `reshape` share memory or copy.
#
# A copy of an argument must then lie as the argument does, or another program is differentiated:
# `a.ravel()` is a view of the copy where it is a copy of the transposed array that was passed.

_ASKING = frozenset(
    ["reshape", "ravel", "flatten"]
    + ["ascontiguousarray", "asfortranarray", "require", "view", "flags"]
)


def depends_on_layout(function: ir.Function, body: Callable[[Any], ir.Function | None]) -> bool:
    """Whether a function, or one that it calls, may do one thing or another by memory order.

    `body` gives the functions called, None where they cannot be read.

    >>> from ..frontend.lower import program
    >>> depends_on_layout(program("b = a.ravel(); b[0] = 1.0"), lambda obj: None)
    True
    """
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        for stmt in ir.statements(waiting.pop().body):
            for part in (part for expr in ir.expressions(stmt) for part in ir.walk(expr)):
                match part:
                    case ir.Attribute(_, name) if name in _ASKING:
                        return True
                    case ir.Ref(text=text) if text.rpartition(".")[2] in _ASKING:
                        return True
                    case ir.Ref(obj=obj) if is_python_function(obj) and id(obj) not in seen:
                        seen.add(id(obj))
                        called = body(obj)
                        waiting += [] if called is None else [called]
    return False
