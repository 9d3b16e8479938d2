"""What stands for the iterators of `itertools`: lists, and programs that fill them.

before::                                    after::
    pairs = itertools.combinations(xs, 2)       pairs = combination_items(xs, 2)
    for a, b in pairs:                          for a, b in pairs:
        s = s + a * b                               s = s + a * b

An iterator gives its items when they are asked for, a list has them at once. The two are the same
where nothing that the items come from is changed in between; where it may be, the call stays as
it is, and is refused if its items carry derivatives.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import itertools
import math
import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import ir, runtime
from ..errors import UnsupportedError
from ..frontend.comprehensions import evaluated_names, stops
from ..frontend.generators import (
    Manner,
    generated,
    is_generator_function,
    is_pure_method,
    listed,
    manner_of_function,
    manner_of_method,
)
from ..frontend.lower import Lowered, gathering, instead
from ..frontend.naming import names_of
from ..frontend.owners import mark_of
from ..frontend.webs import split_names
from ..ir.facts import fact
from ..ir.index import ProgramIndex
from ..ir.names import Names
from ..runtime.records import attribute_of

MethodOf = Callable[[ir.Call], tuple[types.FunctionType, type] | None]
# The iterators that read all they are given when they are made, and those that wait.
_AT_ONCE = {
    itertools.product: runtime.product_items,
    itertools.combinations: runtime.combination_items,
    itertools.combinations_with_replacement: runtime.combinations_again,
    itertools.permutations: runtime.permutation_items,
}
_LATER = {
    itertools.chain: runtime.chain_items,
    itertools.accumulate: runtime.accumulate_items,
    itertools.pairwise: runtime.pairwise_items,
    itertools.islice: runtime.slice_items,
    itertools.zip_longest: runtime.longest_items,
    itertools.compress: runtime.compress_items,
    itertools.takewhile: runtime.takewhile_items,
    itertools.dropwhile: runtime.dropwhile_items,
    itertools.groupby: runtime.group_items,
}
# Those without an end.
_ENDLESS = {
    itertools.count: runtime.count_beside,
    itertools.cycle: runtime.cycle_beside,
    itertools.repeat: runtime.repeat_beside,
}
# What takes all items at once.
_TAKERS = frozenset(
    map(id, (sum, list, tuple, min, max, sorted, dict, set, math.prod, math.fsum, np.fromiter))
)
_HEADERS = (zip, enumerate, reversed)
_SIDE_BY_SIDE = frozenset(map(id, (zip, enumerate)))
_NEW = frozenset(
    map(id, (np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, list, dict, float))
)


def iterators_desugared(lowered: Lowered) -> Lowered:
    """A lowered function with lists for the iterators that loops go through and functions take."""
    every = list(ir.statements(lowered.function.body))
    if not any(_iterator(stmt) or generator_call(stmt) or _of_iter(stmt) for stmt in every):
        return lowered
    lowered = _taken_in_parts(lowered)
    every = list(ir.statements(lowered.function.body))
    index = fact(ProgramIndex, lowered.function)
    names = names_of(lowered.function)
    desugaring = _Desugaring(every, index, names, original=lowered.original)
    body = ir.rewrite(lowered.function.body, desugaring.statement)
    if desugaring.headers or desugaring.late or desugaring.steps:
        body = ir.rewrite(body, after=desugaring.with_header)
    function = ir.with_body(lowered.function, body)
    if desugaring.steps:  # (a loop without an end: what was bound before it may reach nothing now)
        function = split_names(function)
    # (What goes through an iterator made by another one is a loop over that by now: `zip(it, it)`.)
    return _taken_in_parts(dataclasses.replace(lowered, function=function))


# --------------------------------------------------------------------------------------------------
# Iterators of which the program takes one item after the other, or a part: a list of what is left.
#
# before::                             after::
#     it = iter(xs)                        it = list(xs)
#     first = next(it)                     if not len(it) > 0:
#                                              raise StopIteration
#                                          first = it.pop(0)
#     for v in it:                         for v in it:
#         s = s + v * first                    s = s + v * first
#                                          it.clear()
#
# A loop that may be left, or that takes items of its own, is a `while len(it) > 0`.


def _of_iter(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Assign(target=str(), value=ir.Call(fn=ir.Ref(obj=builtins.iter), args=(_,))):
            return True
    return False


def _taken_in_parts(lowered: Lowered) -> Lowered:
    """The function with lists for iterators that are taken in parts, where nothing tells when
    their items are made."""
    every = list(ir.statements(lowered.function.body))
    index, names = fact(ProgramIndex, lowered.function), names_of(lowered.function)
    desugaring = _Desugaring(every, index, names, original=lowered.original)
    chosen = {
        stmt.target
        for stmt in every
        if isinstance(stmt, ir.Assign) and desugaring.is_taken_in_parts(stmt)
    }
    if not chosen:
        return lowered

    def statement(stmt: ir.Stmt) -> ir.Instead:
        if isinstance(stmt, ir.Assign) and stmt.target in chosen:
            return _all_items(stmt, desugaring, made)
        found = chosen & evaluated_names(stmt)
        return _taking(stmt, found.pop(), names) if found else stmt

    made = set[str]()
    return _taken_in_parts(
        lowered.with_body(ir.rewrite(lowered.function.body, after=statement), made)
    )


def _all_items(stmt: ir.Assign, desugaring: _Desugaring, made: set[str]) -> ir.Instead:
    """The list of all that an iterator gives; `made` takes the names of temporaries."""
    call = stmt.value
    assert isinstance(call, ir.Call) and isinstance(call.fn, ir.Ref)
    if _of_iter(stmt):
        return dataclasses.replace(stmt, value=dataclasses.replace(call, fn=ir.LIST))
    if _is_header(call):
        return instead(stmt, gathering(call), desugaring.names, made, "np", taken=call)
    desugared = _desugared(call)
    if desugared is not None:
        return dataclasses.replace(stmt, value=desugared)
    return desugaring.yielded(stmt, call, unpacked=False)


def _is_loop(stmt: ir.Stmt, name: str) -> bool:
    """Whether a statement goes through what a name stands for, and nothing else."""
    return isinstance(stmt, ir.For) and stmt.iter == ir.Var(name)


def _is_use(stmt: ir.Stmt, name: str) -> bool:
    """Whether a statement takes items of an iterator, and does nothing else with it."""
    own = ir.Var(name)
    others: tuple[ir.Expr, ...]
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=builtins.next), args=(first, *rest), kwargs=())):
            return first == own and len(rest) < 2 and name not in _named(*rest)
        case ir.Do(value=ir.Call(fn=ir.Ref(obj=builtins.next), args=(first,), kwargs=())):
            return first == own
        case ir.For(iter=ir.Var()):
            return True
        case ir.For(iter=ir.Call(fn=ir.Ref(obj=builtins.enumerate), args=(first, *rest))):
            whole = not may_leave(stmt.body) and name not in _inside(stmt.body)
            return whole and first == own and name not in _named(*rest)
        case ir.For(iter=ir.Call(fn=ir.Ref(obj=builtins.zip), args=others, kwargs=())):
            same = others == (own,) * len(others) and name not in _inside(stmt.body)
            each = isinstance(stmt.target, str) or len(stmt.target) == len(others)
            return same and each and not may_leave(stmt.body)
        case ir.Assign(target=tuple(), value=ir.Var()):
            return True
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=(first, *rest))):
            whole = id(obj) in _TAKERS and first == own and name not in _named(*rest)
            return whole and not any(name in ir.names_in(value) for _, value in stmt.value.kwargs)
    return False


def _named(*exprs: ir.Expr) -> frozenset[str]:
    return frozenset[str]().union(*map(ir.names_in, exprs))


def _inside(block: ir.Block) -> frozenset[str]:
    return frozenset[str]().union(*map(ir.reads, ir.statements(block)))


def _taking(stmt: ir.Stmt, name: str, names: Names) -> ir.Instead:
    """What a statement takes of an iterator, taken of the list of what is left."""
    own, origin = ir.Var(name), stmt.origin
    length = ir.Call(ir.LEN, (own,))
    first = ir.Call(ir.Attribute(own, "pop"), (ir.Const(0),), (), origin.place)
    clear = ir.Do(ir.Call(ir.Attribute(own, "clear"), ()), origin)
    some: ir.Expr = ir.Call(ir.GREATER, (length, ir.Const(0)))
    stop = ir.If(ir.Call(ir.NOT, (some,)), (stops(origin),), (), origin)
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=builtins.next), args=(_,))):
            return (stop, dataclasses.replace(stmt, value=first))
        case ir.Do():
            return (stop, ir.Assign(names.fresh("item"), first, origin))
        case ir.Assign(target=target, value=ir.Call(ir.Ref(obj=builtins.next), (_, default))):
            item = target if isinstance(target, str) else names.fresh("item")
            taken = ir.Assign(item, first, origin)
            chosen = ir.If(some, (taken,), (ir.Assign(item, default, origin),), origin)
            return (
                (chosen,) if item == target else (chosen, ir.Assign(target, ir.Var(item), origin))
            )
        case ir.For(target, ir.Var(), body) if may_leave(body) or name in _inside(body):
            return ir.While(some, (ir.Assign(target, first, origin), *body), origin)
        case ir.For(target, ir.Call(fn=ir.Ref(obj=builtins.zip), args=columns), body):
            items = target if isinstance(target, tuple) else [names.fresh("item") for _ in columns]
            inside: list[ir.Stmt] = [ir.Assign(item, first, origin) for item in items]
            if isinstance(target, str):
                whole = ir.Display("tuple", tuple(map(ir.Var, items)))
                inside.append(ir.Assign(target, whole, origin))
            enough = ir.Call(ir.AT_LEAST, (length, ir.Const(len(columns))))
            return (ir.While(enough, (*inside, *body), origin), clear)
    return (stmt, clear)


def generator_methods_taken(lowered: Lowered, method_of: MethodOf) -> Lowered:
    """A lowered function with lists of what methods that are generator functions yield;
    `method_of` finds them."""
    every = list(ir.statements(lowered.function.body))
    calls = {
        id(stmt): made for stmt in every if (made := _generator_called(stmt, method_of)) is not None
    }
    if not calls:
        return lowered
    index = fact(ProgramIndex, lowered.function)
    desugaring = _Desugaring(every, index, names_of(lowered.function), method_of)

    def statement(stmt: ir.Stmt) -> ir.Instead:
        found = calls.get(id(stmt))
        call = getattr(stmt, "value", None)
        if found is None or not isinstance(call, ir.Call):
            return None
        return desugaring.of_method(stmt, call, manner_of_method(*found))

    body = ir.rewrite(lowered.function.body, statement)
    if body == lowered.function.body:
        return lowered
    return dataclasses.replace(lowered, function=ir.with_body(lowered.function, body))


def _generator_called(stmt: ir.Stmt, method_of: MethodOf) -> tuple[types.FunctionType, type] | None:
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Attribute()) as call):
            found = method_of(call)
            return found if found is not None and is_generator_function(found[0]) else None
    return None


def _iterator(stmt: ir.Stmt) -> ir.Call | None:
    """The call of `itertools` that a statement gives a name."""
    match stmt:
        case ir.Assign(target=str(), value=ir.Call(fn=ir.Ref(obj=obj)) as call):
            known = obj is not None and (_is_endless(call) or _is_header(call))
            return call if known or _desugared(call) is not None else None
    return None


def _is_header(call: ir.Call) -> bool:
    """Whether a call is one that the header of a loop may be."""
    obj = call.fn.obj if isinstance(call.fn, ir.Ref) else None
    return any(obj is known for known in _HEADERS)


def _is_endless(call: ir.Call) -> bool:
    """Whether it gives items without end."""
    obj = call.fn.obj if isinstance(call.fn, ir.Ref) else None
    bounded = obj is itertools.repeat and (len(call.args) > 1 or call.kwargs)
    return isinstance(obj, type) and obj in _ENDLESS and not bounded


def _desugared(call: ir.Call) -> ir.Call | None:
    """The list that a call of `itertools` gives the items of."""
    assert isinstance(call.fn, ir.Ref)
    obj = call.fn.obj
    made: Callable[..., Any] | None = None
    if isinstance(obj, type):
        made = _AT_ONCE.get(obj) or _LATER.get(obj)
        if obj is itertools.repeat and not _is_endless(call):
            made = runtime.repeated_item
    elif attribute_of(obj, "__self__", None) is itertools.chain:
        made = runtime.flattened_items
    words = dict(call.kwargs)
    if made is runtime.accumulate_items and len(call.args) == 1 and "func" not in words:
        made = runtime.running_sums
    if made is runtime.group_items and len(call.args) == 1 and "key" not in words:
        made = runtime.equal_items
    if "func" in words:
        words["function"] = words.pop("func")
    args = call.args
    match call.args:
        case (ir.Opaque(values=(ir.Var() as rows,)) as starred,) if ir.is_starred(starred):
            if made is runtime.chain_items and starred.text.count("*") == 1:
                made, args = runtime.flattened_items, (rows,)
    if made is None or any(map(ir.is_starred, args)):
        return None
    return ir.Call(ir.Ref(made.__name__, made), args, tuple(words.items()), call.at)


def generator_call(stmt: ir.Stmt) -> ir.Call | None:
    """The call of a user's generator function that a statement makes."""
    match stmt:
        case (
            ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj)) as call)
            | ir.Do(value=ir.Call(fn=ir.Ref(obj=obj)) as call)
        ):
            unread = is_generator_function(obj) and not mark_of(obj, "listed")
            return call if unread or obj is generated else None
        case ir.Return(value=ir.Call(fn=ir.Ref(obj=obj)) as call) if obj is generated:
            return call
    return None


def _manner(call: ir.Call) -> Manner:
    """How the generator runs that a call makes."""
    assert isinstance(call.fn, ir.Ref)
    if call.fn.obj is generated:
        return Manner(**_constants(call))
    return manner_of_function(call.fn.obj)


def _constants(call: ir.Call) -> dict[str, Any]:
    return {word: value.value for word, value in call.kwargs if isinstance(value, ir.Const)}


def _goes_on(header: ir.Expr, name: str) -> bool:
    """Whether a loop takes all items of a name, whatever else it goes through."""
    match header:
        case ir.Var():
            return True
        case ir.Call(fn=ir.Ref(obj=obj), args=(inner, *_)) if obj is enumerate:
            return _goes_on(inner, name)
    return False


def may_leave(body: ir.Block) -> bool:
    """Whether a loop may be left before its end."""
    return any(isinstance(stmt, ir.Break | ir.Return) for stmt in ir.statements(body))


def _object_called(value: ir.Expr) -> Any:
    """The object that an expression calls; None for all others."""
    match value:
        case ir.Call(fn=ir.Ref(obj=obj)) if isinstance(obj, type):
            return obj
    return None


def _lists(until: ir.Block | None) -> bool:
    """Whether what takes the items of a generator is `list(...)`."""
    match until and until[-1]:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj))):
            return obj is list
    return False


def _collects(stmt: ir.Stmt) -> bool:
    """Whether a statement takes all items before it does anything with one."""
    match stmt:
        case ir.Assign(target=tuple()):
            return True
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj))):
            return obj is list or obj is tuple
    return False


def _refusal(reason: str, call: ir.Call, stmt: ir.Stmt) -> tuple[str, Any, str]:
    match call.fn:
        case ir.Ref(obj=obj) if obj is generated:
            subject = "a generator"
        case ir.Ref(text, obj):
            subject = f"`{text}(...)`"
            subject = f"the generator {subject}" if is_generator_function(obj) else subject
        case _:
            subject = f"the generator `{getattr(call.fn, 'name', '')}(...)`"
    place = stmt.origin.place if call.at is None else call.at
    message, hint = reason.split("|")
    return message.format(subject), place, hint


_GROUPS = (
    "a group of {} is not gone through once, in the round of a loop that it belongs to|Make a list "
    "of each: `groups = [(key, list(group)) for key, group in itertools.groupby(...)]`."
)
_PARTLY = (
    "{} is not gone through at once|Make a list of it first, `items = list(...)`, and use that "
    "instead of the generator."
)
_ENDLESS_GENERATOR = (
    "{} may have no end, and what goes through it decides where it stops|Go through it by a `for` "
    "over its call alone, or give the generator its number of rounds."
)
_WRITING = (
    "{} may change what it has yielded, or what others see, between two items|Go through it by a "
    "`for` over its call alone, or let it make new values (`x = x + dx` for `x += dx`)."
)
_CHANGED = (
    "{} may read what is changed while it is gone through|Make a list of it first, "
    "`items = list(...)`, or give it a copy of what it reads."
)


_AGAIN = (
    "{} goes on where a loop through it has stopped|Number the items by `enumerate(items, start)`, "
    "or make an iterator for each loop."
)


class _Desugaring:
    """One function's iterators; `every` are its statements."""

    def __init__(
        self,
        every: list[ir.Stmt],
        index: ProgramIndex,
        names: Names,
        method_of: MethodOf = lambda call: None,
        original: Mapping[str, str] | None = None,
    ) -> None:
        self.index = index
        self.original = original or {}  # the names of the source
        self.method_of = method_of
        self.names = names
        self.headers: dict[str, ir.Call] = {}  # what names of one loop's header stand for
        self.steps: dict[str, ir.Expr] = {}  # of counters that a loop goes through
        self.late: dict[str, ir.Stmt] = {}  # what is made just before the loop that takes it
        self.bound = ir.bindings(every)
        self.read: Counter[str] = Counter()
        self.values: dict[str, list[ir.Expr]] = {}
        self.grown: set[str] = set()  # what methods are called of, or items are stored in
        for stmt in every:
            parts = [*ir.walk_statement(stmt)]
            self.read.update(part.name for part in parts if isinstance(part, ir.Var))
            match stmt:
                case ir.Do(value=ir.Call(fn=ir.Attribute(base))) | ir.Store(target=base):
                    self.grown |= ir.names_in(base)
            if isinstance(stmt, ir.Assign) and isinstance(stmt.target, str):
                self.values.setdefault(stmt.target, []).append(stmt.value)

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        generated = generator_call(stmt)
        if generated is not None:
            return self._generated(stmt, generated)
        call = _iterator(stmt)
        if call is None:
            return None
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.target, str)
        return self._as_list(stmt, stmt.target, call, self.index.following(stmt))

    def with_header(self, stmt: ir.Stmt) -> ir.Instead:
        """`for a, b in pairs` as `for a, b in zip(x, y)`, after what is as long as `y`."""
        match stmt:
            case ir.For(target, ir.Var(name), body) if name in self.steps:
                following = ir.Call(ir.ADD, (ir.Var(name), self.steps[name]))
                first = (ir.Assign(target, ir.Var(name), stmt.origin),)
                first += (ir.Assign(name, following, stmt.origin),)
                return ir.While(ir.Const(True), (*first, *body), stmt.origin)
            case ir.For(iter=ir.Var(name)) if name in self.headers:
                return dataclasses.replace(stmt, iter=self.headers[name])
            case ir.For(iter=ir.Call(args=args)):
                names = (arg.name for arg in args if isinstance(arg, ir.Var))
                return (*(self.late[name] for name in names if name in self.late), stmt)
        return stmt

    def is_taken_in_parts(self, stmt: ir.Assign) -> bool:
        """Whether a statement names an iterator that is a list of what is left as well."""
        name, call = stmt.target, stmt.value
        if not isinstance(name, str) or self.bound[name] > 1 or not isinstance(call, ir.Call):
            return False
        made = generator_call(stmt)
        if made is None and not _of_iter(stmt) and (_iterator(stmt) is None or _is_endless(call)):
            return False
        rest = self.index.following(stmt)
        uses = [s for s in ir.statements(rest) if name in evaluated_names(s)]
        until = None if _of_iter(stmt) else self._until_taken(name, rest)
        if until is not None and (not _is_header(call) or _is_loop(until[-1], name)):
            return False
        if made is None and all(map(self._is_number, ir.arguments(call))):
            return False  # (places, whose loop needs no derivative)
        read = sum(
            part == ir.Var(name) for s in uses for e in ir.expressions(s) for part in ir.walk(e)
        )
        if not uses or read != self.read[name] or not all(_is_use(s, name) for s in uses):
            return False
        if made is not None and (_manner(made).writes or _manner(made).endless):
            return False
        at = max(n for n, s in enumerate(rest) if any(u in uses for u in ir.statements((s,))))
        changed = self._may_change(self._reaching(ir.names_in(call)), rest[: at + 1])
        return not (changed or self._rebinds(call, rest[: at + 1]))

    def _as_list(self, stmt: ir.Assign, name: str, call: ir.Call, rest: ir.Block) -> ir.Instead:
        until = self._until_taken(name, rest)
        groups = isinstance(call.fn, ir.Ref) and call.fn.obj is itertools.groupby
        if groups and not (until and self._once_each(until[-1])):
            raise UnsupportedError(*_refusal(_GROUPS, call, stmt))
        if _is_endless(call):
            loops = [s for s in ir.statements(rest) if _goes_through(s, name)]
            if self.bound[name] == 1 == self.read[name] == sum(_is_loop(s, name) for s in loops):
                numbered = self._numbered(stmt, name, call)
                if numbered is not None:
                    return numbered
            if loops and (until is None or any(_is_loop(s, name) for s in loops)):
                raise UnsupportedError(*_refusal(_AGAIN, call, stmt))
        if until is None or self.bound[name] > 1:
            return stmt
        if _is_header(call):
            return self._as_header(stmt, name, call, until)
        if _is_endless(call):
            assert isinstance(call.fn, ir.Ref)
            other, made = self._beside(name, until[-1]), _ENDLESS[call.fn.obj]
            if other is None:
                return stmt
            helper = ir.Ref(made.__name__, made)
            ended = ir.Call(helper, (other, *call.args), call.kwargs, call.at)
            made_here = dataclasses.replace(stmt, value=ended)
            if not any(ir.names_in(other) & {*ir.binds(s)} for s in ir.statements(until)):
                return made_here
            if self._may_change(ir.names_in(call), until):
                return stmt
            self.late[name] = made_here
            return ()
        given = not isinstance(until[-1], ir.For) and _may_write(getattr(until[-1], "value", None))
        if not (given or groups) and all(map(self._is_number, ir.arguments(call))):
            return stmt  # (places, whose loop needs no derivative)
        assert isinstance(call.fn, ir.Ref)
        listed = _desugared(call)
        assert listed is not None
        if call.fn.obj not in _AT_ONCE and self._may_change(ir.names_in(call), until):
            if groups:
                raise UnsupportedError(*_refusal(_CHANGED, call, stmt))
            return stmt
        return dataclasses.replace(stmt, value=listed)

    def _numbered(self, stmt: ir.Assign, name: str, call: ir.Call) -> ir.Instead:
        """`for n in itertools.count(start, step)` is `n = start; while True: ...; n = n + step`."""
        assert isinstance(call.fn, ir.Ref)
        words = dict(zip(("start", "step"), call.args, strict=False)) | dict(call.kwargs)
        step = words.get("step", ir.Const(1))
        if call.fn.obj is not itertools.count or any(self.bound[n] > 1 for n in ir.names_in(step)):
            return None
        self.steps[name] = step
        return dataclasses.replace(stmt, value=words.get("start", ir.Const(0)))

    def _as_header(self, stmt: ir.Stmt, name: str, call: ir.Call, until: ir.Block) -> ir.Instead:
        """No statement for what only the header of one loop reads, where nothing changes before."""
        loop = until[-1]
        alone = isinstance(loop, ir.For) and loop.iter == ir.Var(name) and self.read[name] == 1
        if not alone or self._may_change(ir.names_in(call), until):
            return stmt
        self.headers[name] = call
        return ()

    def _once_each(self, stmt: ir.Stmt) -> bool:
        """Whether a loop goes through each group of `itertools.groupby` once at most."""
        match stmt:
            case ir.For(target=(str(), str(group)), iter=ir.Var()):
                return self.read[group] <= 1 and self.bound[group] == 1
        return False

    def _generated(self, stmt: ir.Stmt, call: ir.Call) -> ir.Instead:
        """The call of a generator function: the list of what it yields is made at once. That is
        seen where it may have no end, and where it or what goes through it changes anything."""
        unpacked, _ = self._taken_whole(stmt, call, _manner(call))
        assert isinstance(stmt, ir.Assign)
        return self.yielded(stmt, call, unpacked)

    def yielded(self, stmt: ir.Assign, call: ir.Call, unpacked: bool) -> ir.Instead:
        """A statement that names what the call of a generator function yields, as a list."""
        assert isinstance(call.fn, ir.Ref)
        if call.fn.obj is generated:
            return dataclasses.replace(stmt, value=call.args[0])
        items = ir.Call(listed(call.fn), call.args, call.kwargs, call.at)
        return self._as_items(stmt, items, unpacked)

    def of_method(self, stmt: ir.Stmt, call: ir.Call, manner: Manner) -> ir.Instead:
        """The same for the call of a method."""
        unpacked, name = self._taken_whole(stmt, call, manner)
        assert isinstance(stmt, ir.Assign)
        if not unpacked and _lists(self._until_taken(name, self.index.following(stmt))):
            return None
        return self._as_items(stmt, call, unpacked)

    def _as_items(self, stmt: ir.Assign, call: ir.Call, unpacked: bool) -> tuple[ir.Stmt, ...]:
        """A statement that binds what a call yields, with a list of that."""
        made = self.names.fresh("generator")
        whole: ir.Expr = ir.Call(ir.LIST, (ir.Var(made),))
        first: tuple[ir.Stmt, ...] = (ir.Assign(made, call, stmt.origin),)
        if unpacked:
            every = self.names.fresh("items")
            first, whole = (*first, ir.Assign(every, whole, stmt.origin)), ir.Var(every)
        return (*first, dataclasses.replace(stmt, value=whole))

    def _taken_whole(self, stmt: ir.Stmt, call: ir.Call, manner: Manner) -> tuple[bool, str]:
        """Whether what a generator yields is unpacked at once, and the name that it gets otherwise;
        refused where it is seen when the items are made."""
        name = stmt.target if isinstance(stmt, ir.Assign) else ""
        name = name if isinstance(name, str) else ""
        unpacked = isinstance(stmt, ir.Assign) and isinstance(stmt.target, tuple)
        rest = self.index.following(stmt)
        until = self._until_taken(name, rest) if self.bound[name] == 1 else None
        until = (stmt,) if unpacked else until
        reason = _PARTLY if until is None else self._seen(manner, name, call, until)
        if reason:
            raise UnsupportedError(*_refusal(reason, call, stmt))
        return unpacked, name

    def _seen(self, manner: Manner, name: str, call: ir.Call, until: ir.Block) -> str:
        """Why it is seen when what a generator yields is made; "" where it is not."""
        taker = until[-1]
        partly = isinstance(taker, ir.For) and (
            not _goes_on(taker.iter, name) or may_leave(taker.body)
        )
        if manner.never_ends or (manner.endless and partly):
            return _ENDLESS_GENERATOR
        if manner.writes and not _collects(taker):
            return _WRITING
        between = () if taker.__dict__.get("value") is call else until
        sources = self._reaching(ir.names_in(call))
        changed = self._may_change(sources, between) or self._rebinds(call, between)
        return _CHANGED if changed else ""

    def _reaching(self, names: frozenset[str]) -> frozenset[str]:
        """These names, other names of the same objects, and names of what is read from them."""
        found = set(names)
        while True:
            before = len(found)
            for name, values in self.values.items():
                copies = {value.name for value in values if isinstance(value, ir.Var)}
                read = (v for v in values if isinstance(v, ir.Var | ir.Index | ir.Attribute))
                if set(_names(tuple(read))) & found:
                    found.add(name)
                if name in found:
                    found |= copies
            if len(found) == before:
                return frozenset(found)

    def _rebinds(self, call: ir.Call, stmts: ir.Block) -> bool:
        """Whether statements bind a name again that an inner generator function reads."""
        if not (isinstance(call.fn, ir.Ref) and call.fn.obj is generated):
            return False
        read = {self.original.get(name, name) for name in _names(call.args[1:])}
        bound = {name for stmt in ir.statements(stmts) for name in ir.binds(stmt)}
        return any(self.original.get(name, name) in read for name in bound)

    def _beside(self, name: str, stmt: ir.Stmt) -> ir.Expr | None:
        """Something finite that a loop goes through beside an endless iterator."""
        match stmt:
            case ir.For(iter=ir.Call(fn=ir.Ref(obj=obj), args=args)) if obj is zip:
                for arg in args:
                    if isinstance(arg, ir.Var) and arg.name != name:
                        values = self.values.get(arg.name, [])
                        if not any(isinstance(v, ir.Call) and _is_endless(v) for v in values):
                            return arg
        return None

    def _until_taken(self, name: str, rest: ir.Block) -> ir.Block | None:
        """The statements up to the one that takes all items; None where they go elsewhere."""
        if self.read[name] != 1:
            return None
        for place, stmt in enumerate(rest):
            if any(name in ir.reads(s) for s in ir.statements((stmt,)) if s is not stmt):
                return None
            if name not in ir.reads(stmt):
                continue
            match stmt:
                case ir.For(iter=header) if name in _gone_through(header):
                    return rest[: place + 1]
                case ir.Assign(target=tuple(), value=ir.Var()):
                    return rest[: place + 1]
                case ir.Assign(target=str(taken), value=ir.Call(fn=ir.Ref(obj=obj))):
                    at_once = _object_called(self.values[name][0]) in _AT_ONCE
                    if id(obj) in _TAKERS or (at_once and _may_write(stmt.value)):
                        return rest[: place + 1]
                    if _iterator(stmt) is not None and not _is_endless(stmt.value):  # type: ignore[arg-type]
                        later = self._until_taken(taken, rest[place + 1 :])
                        return later and (*rest[: place + 1], *later)
            return None
        return None

    def _is_number(self, expr: ir.Expr, above: frozenset[str] = frozenset()) -> bool:
        """Whether it is made of whole numbers and texts only, as far as one sees here; `above` are
        names of which that is asked already, as where a parameter is exchanged for another."""
        match expr:
            case ir.Var(name) if name not in above:
                values = self.values.get(name, [])
                once = len(values) == self.bound[name] == 1 and name not in self.grown
                return once and self._is_number(values[0], above | {name})
            case ir.Call(fn=ir.Ref(obj=obj)):
                return obj is range or obj is len
            case ir.Display(items=items):
                return all(self._is_number(item, above) for item in items)
            case ir.Const(value):
                return not isinstance(value, float)
        return False

    def _may_change(self, sources: frozenset[str], stmts: ir.Block) -> bool:
        """Whether statements may change what an iterator of these goes through: they write into
        one, or into something of which one does not see that it is new."""
        sources = frozenset(name for name in sources if not self._is_number(ir.Var(name)))
        if not sources:
            return False
        for stmt in ir.statements(stmts):
            match stmt:
                case ir.Store(target=target) | ir.Update(target=target):
                    written: tuple[ir.Expr, ...] = (target,)
                case ir.Do(value=ir.Call(fn=ir.Attribute(base))):
                    written = (base,)
                case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(name)), args=args)) if (
                    name in sources and not self._reads_only(stmt.value)
                ):
                    return True
                case ir.Do(value=ir.Call(args=args)) | ir.Assign(value=ir.Call(args=args)):
                    generator = generator_call(stmt)
                    if generator is not None and not _manner(generator).writes:
                        continue
                    if set(_names(args)) & sources and _may_write(stmt.value):
                        return True
                    continue
                case ir.OpaqueStmt(text=text, values=values) if text.startswith("del"):
                    written = values
                case _:
                    continue
            for name in _names(written):
                if name in sources or not self._is_new(name):
                    return True
        return False

    def _reads_only(self, call: ir.Expr) -> bool:
        """Whether a method, of an array, a container or a class of the user's, changes nothing."""
        assert isinstance(call, ir.Call) and isinstance(call.fn, ir.Attribute)
        method = self.method_of(call)
        if method is not None:
            return not manner_of_method(*method).writes
        return is_pure_method(call.fn.name)

    def _is_new(self, name: str) -> bool:
        values = self.values.get(name, [])
        return bool(values) and all(map(_makes_new, values))


def _goes_through(stmt: ir.Stmt, name: str) -> bool:
    """Whether a statement is a loop through what a name stands for, alone or beside others."""
    return isinstance(stmt, ir.For) and name in _gone_through(stmt.iter)


def _gone_through(header: ir.Expr) -> frozenset[str]:
    """The names that a loop goes through, side by side."""
    match header:
        case ir.Var(name):
            return frozenset((name,))
        case ir.Call(fn=ir.Ref(obj=obj), args=args) if id(obj) in _SIDE_BY_SIDE:
            return frozenset[str]().union(*map(_gone_through, args))
    return frozenset()


def _names(exprs: tuple[ir.Expr, ...]) -> Iterator[str]:
    for expr in exprs:
        base = expr
        while isinstance(base, ir.Index | ir.Attribute):
            base = base.base
        if isinstance(base, ir.Var):
            yield base.name


def _may_write(call: ir.Expr | None) -> bool:
    """Whether a call may write its arguments: one of a function of the user's."""
    fn = call.fn if isinstance(call, ir.Call) else None
    return not isinstance(fn, ir.Ref) or hasattr(fn.obj, "__code__") or fn.obj is functools.partial


def _makes_new(value: ir.Expr) -> bool:
    """Whether a value shares no memory with anything."""
    match value:
        case ir.Const() | ir.Display():
            return True
        case ir.Call(fn=ir.Ref(text=text, obj=obj)):
            return id(obj) in _NEW or not text[0].isidentifier()
    return False
