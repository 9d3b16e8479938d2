"""Stacks of numbers as arrays, made as long as the loops that fill them run.

Where a loop over a `range` saves a number at most once in each round, and the loop that goes back
over the same rounds takes it out, the number has a place of its own: the variables of the loops.
So have arrays of a few numbers.
Compiled code writes and reads there faster than it pushes to a list and pops; in Python a list is
the faster one.

An array is at most twice as long as its loops have rounds, so a loop that may be left early keeps
its lists. So do integers: a list has their own type, which may be one without a sign.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import ir, runtime
from ..ad.specialize.callees import Emitted
from ..analysis.memory import base_names
from ..codegen.optimize.facts import Facts
from ..codegen.optimize.stacks import created_lists, is_push
from ..errors import InternalError
from ..ir.facts import fact
from ..ir.index import ProgramIndex, all_names
from ..ir.kind import Kind
from ..ir.names import Names
from ..rules.book import RuleBook
from .short_arrays import compiled_kind, compiled_kinds, is_short

_DTYPES = {"float": (), "bool": ("bool_",), "complex": ("complex128",)}  # (as NumPy has them)
_ZERO = ir.Const(0)


def stacks_as_arrays(
    function: ir.Function, facts: Facts, book: RuleBook, of_arrays: bool = True
) -> ir.Function:
    """The function with arrays for its stacks of numbers, where that can be; and (`of_arrays`) of
    arrays of a few numbers, of which it takes back others with the same entries.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.codegen.optimize.facts import derived
    >>> from tangentlike.rules.book import default_book
    >>> f = derived(program('''s = []
    ... for i in range(n):
    ...     s.append(h)
    ...     h = 0.5 * h * h
    ... for i in reversed(range(n)):
    ...     h_bar = h_bar * s.pop()
    ... return h_bar'''), "save")
    >>> f = ir.replaced(f, params=(ir.Param("h"), ir.Param("n")))
    >>> kinds = {"h": Kind("number", "float", ()), "n": Kind("number", "int", ())}
    >>> print(show(stacks_as_arrays(f, Facts(kinds), default_book()).body))
    s = np.empty(max(n, 0))
    for i in range(n):
        s[i] = h
        h = 0.5 * h * h
    for i in reversed(range(n)):
        h_bar = h_bar * s[i]
    return h_bar
    """
    return _Arrays(function, facts, book, of_arrays).rewritten(function)


@dataclass(frozen=True)
class _Stack:
    """A list that is pushed to in the loops `there`, the outermost first, and popped from in the
    loops `back`; `items` are what is pushed at once, and `names` what arrays of them are called."""

    name: str
    items: tuple[ir.Expr, ...]
    names: tuple[str, ...]
    there: tuple[ir.For, ...]
    back: tuple[ir.For, ...]


@dataclass(frozen=True)
class _Places:
    """Where that is which a stack held: its items are at `key` of the arrays `names`."""

    key: ir.Expr
    names: tuple[str, ...]


@dataclass(frozen=True)
class _Axis:
    """The rounds of a loop along an axis of an array of `size` places: each has its own, by the
    loop's variable `name`. The variable is never negative where it is `counted`; there are fewer
    rounds than places in a `triangle`, where a loop begins or ends with the round of one around."""

    name: str
    place: ir.Expr
    size: ir.Expr
    counted: bool
    triangle: bool


class _Arrays(ir.Rewriter):
    """`places`: of the stacks that go; `before`: the arrays that are made before a loop, by its
    id; `variables`: the names of loops' variables that had none."""

    def __init__(
        self, function: ir.Function, facts: Facts, book: RuleBook, of_arrays: bool
    ) -> None:
        self.facts, self.book, self.of_arrays = facts, book, of_arrays
        self.index = fact(ProgramIndex, function)
        self.names = Names(all_names(function))
        self.kinds: Mapping[str, Kind] = {}
        self.places: dict[str, _Places] = {}
        self.before: dict[int, list[ir.Stmt]] = {}
        self.variables: dict[int, str] = {}
        made = sorted(created_lists(function), key=lambda name: self.index.definitions[name])
        stacks = [stack for stack in map(self._stack, made) if stack is not None]
        if stacks:
            self.kinds = _kinds(function, stacks, facts, book)
        for stack in stacks:
            held = all(self._is_held(stack, item) for item in stack.items)
            axes = self._axes(stack) if held else ()
            if axes:
                self._plan(stack, axes)

    # ---------------------------------------------------------------- which stacks

    def _stack(self, name: str) -> _Stack | None:
        """A list as a stack between loops over the same rounds, where it is one."""
        uses = [self.index.statements[n] for n in self.index.uses.get(name, ())]
        if len(uses) != 2 or not is_push(uses[0]):
            return None
        (push, pop), made = uses, self.index.statements[self.index.definitions[name][0]]
        _, items, whole = _pushed(push)
        if not whole and not _unpacks(pop, name, len(items)):
            return None
        there, back = self._loops(push, made), self._loops(pop, made)
        if not there or len(there) != len(back) or not all(map(self._goes_back, there, back)):
            return None
        names = (name,) if whole else tuple(f"{taken}_saved" for taken in ir.binds(pop))
        return _Stack(name, items, names, there, back)

    def _loops(self, stmt: ir.Stmt, made: ir.Stmt) -> tuple[ir.For, ...]:
        """The loops around a statement that stand after the one that makes a stack, the outermost
        first; none where anything but branches is around it, or around them."""
        loops: list[ir.For] = []
        block, outermost = self.index.block_of(made), stmt
        for number in self.index.around(self.index.number(stmt)):
            if self.index.block_of(outermost) == block:
                break
            outermost = self.index.statements[number]
            if isinstance(outermost, ir.For):
                loops.append(outermost)
            elif type(outermost) is not ir.If:
                return ()
        inside = self.index.block_of(outermost) == block
        return tuple(reversed(loops)) if inside and loops and outermost is loops[-1] else ()

    def _goes_back(self, there: ir.For, back: ir.For) -> bool:
        """Whether one loop goes back over the rounds of another, with the same variable, to which
        nothing else is bound in either."""
        rounds, again = _range(there.iter), _range(back.iter)
        if rounds is None or again is None or rounds[0] != again[0] or rounds[1] == again[1]:
            return False
        name = there.target
        if not isinstance(name, str) or name != back.target:
            return False
        bound, ends = self.index.definitions[name], self.index.ends
        loops = [self.index.number(loop) for loop in (there, back)]
        return self._is_bare(name) or not any(at < n < ends[at] for at in loops for n in bound)

    def _is_bare(self, name: str) -> bool:
        """Whether a loop's variable is one that nobody reads."""
        return name == "_" and name not in self.index.uses

    def _is_held(self, stack: _Stack, item: ir.Expr) -> bool:
        """Whether an item is a number that an array may hold, or a few of them."""
        kind = self._kind(item)
        if kind.form == "number":
            return kind.dtype in _DTYPES
        return self.of_arrays and is_short(kind) and not self._is_written(stack, item)

    def _is_written(self, stack: _Stack, item: ir.Expr) -> bool:
        """Whether an array that is saved may be written in place: then it is put back in place, in
        the array itself, which something else may hold."""
        assigned = [s for s in self.index.statements if isinstance(s, ir.Assign)]
        known = frozenset[str]()
        more = frozenset((*(ir.names_in(item) if not _is_new(item) else ()), stack.name))
        while more != known:
            known = more
            for stmt in assigned:
                names = frozenset((*ir.binds(stmt), *ir.names_in(stmt.value)))
                names = frozenset(n for n in names if self._kind(ir.Var(n)).form != "number")
                if not _is_new(stmt.value) and not known.isdisjoint(names):
                    more |= names
        return any(not known.isdisjoint(_touched(s)) for s in self.index.statements)

    def _kind(self, expr: ir.Expr) -> Kind:
        return compiled_kind(expr, self.kinds, self.book)

    # ---------------------------------------------------------------- how long they are

    def _axes(self, stack: _Stack) -> tuple[_Axis, ...]:
        """An axis for each loop around the push; none where one may have far more places than
        rounds, or what says how many changes while the loops run."""
        first, last = (self.index.number(loops[0]) for loops in (stack.there, stack.back))
        axes: list[_Axis] = []
        for loop in stack.there:
            assert isinstance(loop.target, str)
            name = self.variables.get(id(loop), loop.target)
            name = self.names.fresh("k") if self._is_bare(name) else name
            axis = self._axis(name, loop, {axis.name: axis for axis in axes})
            if axis is None or (axis.triangle and any(axis.triangle for axis in axes)):
                return ()
            axes.append(axis)
        sizes = frozenset[str]().union(*(ir.names_in(axis.size) for axis in axes))
        bound = [n for name in sizes for n in self.index.definitions.get(name, ())]
        return () if any(first <= n < self.index.ends[last] for n in bound) else tuple(axes)

    def _axis(self, name: str, loop: ir.For, outer: Mapping[str, _Axis]) -> _Axis | None:
        """The axis of a loop within others."""
        bounds = _bounds(loop.iter)
        if bounds is None:
            return None
        low, high = bounds
        begin, end = (_from(bound, outer) for bound in bounds)
        start = _integer(low)
        if start is not None or begin is None:
            counted = start is not None and start >= 0
        else:
            counted = outer[begin[0]].counted and begin[1] >= 0
        if (begin is not None and (end is not None or not counted)) or (start or 0) < 0:
            return None
        if end is not None:  # (up to the variable of a loop around, which has one place for each)
            around, beyond = outer[end[0]], end[1]
            if not counted or not around.counted or around.triangle or beyond > 1:
                return None
            return _Axis(name, ir.Var(name), around.size, True, True)
        if not self._is_size(high) or not (counted or self._is_size(low)):
            return None
        if counted:
            return _Axis(name, ir.Var(name), high, True, begin is not None)
        return _Axis(name, _less(ir.Var(name), low), _less(high, low), False, False)

    def _is_size(self, expr: ir.Expr) -> bool:
        """Whether an expression is an integer that is worked out in no time, the same each time."""
        match expr:
            case ir.Const(int()):
                return True
            case ir.Var():
                return self._kind(expr).integer
            case ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var() as array,), kwargs=()) if obj is len:
                return self._kind(array).form == "array"
            case ir.Index(ir.Attribute(ir.Var() as array, "shape"), ir.Const(int())):
                return self._kind(array).form == "array"
            case ir.Attribute(ir.Var() as array, "size"):
                return self._kind(array).form == "array"
            case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=()) if obj in _SIZES:
                return all(map(self._is_size, args))
        return False

    # ---------------------------------------------------------------- what stands for them

    def _plan(self, stack: _Stack, axes: Sequence[_Axis]) -> None:
        """Give the numbers of a stack arrays, which are made before its loops."""
        key = axes[0].place
        if len(axes) > 1:
            key = ir.Display("tuple", tuple(axis.place for axis in axes))
        sizes = tuple(_at_least_zero(axis.size) for axis in axes)
        origin = self.index.statements[self.index.definitions[stack.name][0]].origin
        names = []
        for item, name in zip(stack.items, stack.names, strict=True):
            names.append(name if name == stack.name else self.names.fresh(name))
            kind = self._kind(item)
            inner = map(ir.Const, kind.shape) if isinstance(kind.shape, tuple) else ()
            whole = (*sizes, *inner)
            shape = whole[0] if len(whole) == 1 else ir.Display("tuple", whole)
            dtype = map(self.facts.numpy_function, _DTYPES[kind.dtype])
            value = ir.Call(self.facts.numpy_function("empty"), (shape, *dtype))
            made = ir.Assign(names[-1], value, origin)
            self.before.setdefault(id(stack.there[0]), []).append(made)
        self.places[stack.name] = _Places(key, tuple(names))
        for loops in (stack.there, stack.back):
            for loop, axis in zip(loops, axes, strict=True):
                self.variables[id(loop)] = axis.name

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        if isinstance(stmt, ir.Assign) and stmt.target in self.places:
            return ()  # (the only statement that binds it: it makes the list)
        if is_push(stmt):
            return self._stored(stmt)
        if isinstance(stmt, ir.Assign) and isinstance(stmt.target, tuple):
            return self._taken(stmt, stmt.target)
        if isinstance(stmt, ir.For):
            made = self.inside(stmt)
            name = self.variables.get(id(stmt))
            made = made if name is None else ir.replaced(made, target=name)
            return (*self.before.get(id(stmt), ()), made)
        return None

    def expression(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Call(fn=ir.Attribute(ir.Var(name), "pop"), args=()) if name in self.places:
                return ir.Index(ir.Var(name), self.places[name].key)
        return ir.rebuild(expr, self.expression)

    def _stored(self, push: ir.Stmt) -> ir.Instead:
        """What saves the items of a push."""
        name, items, _ = _pushed(push)
        places = self.places.get(name)
        if places is None:
            return None
        targets = [ir.Index(ir.Var(array), places.key) for array in places.names]
        pairs = zip(targets, items, strict=True)
        return tuple(ir.Store(target, item, push.origin) for target, item in pairs)

    def _taken(self, pop: ir.Assign, targets: tuple[ir.Target, ...]) -> ir.Instead:
        """What takes the items of a push back."""
        places = self.places.get(_popped(pop.value) or "")
        if places is None:
            return None
        values = [ir.Index(ir.Var(array), places.key) for array in places.names]
        pairs = zip(targets, values, strict=True)
        return tuple(ir.Assign(target, value, pop.origin) for target, value in pairs)


_NEW = (
    *(np.zeros, np.zeros_like, np.empty, np.empty_like, np.ones_like, np.array, np.sum, np.dot),
    *(np.cross, np.linalg.norm, runtime.zeros_like, runtime.ones_like),
)


def _is_new(value: ir.Expr) -> bool:
    """Whether a value is surely new: what an operation computes, or a copy."""
    match value:
        case ir.Call(fn=ir.Attribute(name="copy"), args=()):
            return True
        case ir.Call(fn=ir.Ref(obj=obj)):
            of_operator = getattr(obj, "__module__", "") == "_operator"
            return isinstance(obj, np.ufunc) or of_operator or any(obj is f for f in _NEW)
    return isinstance(value, ir.Const)


def _touched(stmt: ir.Stmt) -> frozenset[str]:
    """The names of what a statement may write in place."""
    match stmt:
        case ir.Store(target=target) | ir.Update(target=target):
            return frozenset(base_names(target))
        case ir.Do(value=value) if not is_push(stmt):
            return ir.names_in(value)
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=Emitted())) as call):
            return ir.names_in(call)
    return frozenset()


def _kinds(
    function: ir.Function, stacks: Sequence[_Stack], facts: Facts, book: RuleBook
) -> dict[str, Kind]:
    """The kinds of names, where those that are taken from a stack are what was pushed to it."""
    items = {stack.name: stack.items for stack in stacks}

    def taken(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        if not isinstance(stmt, ir.Assign) or not isinstance(stmt.target, tuple):
            return None
        pushed = items.get(_popped(stmt.value) or "")
        if pushed is None:
            return None
        pairs = zip(stmt.target, pushed, strict=True)
        return tuple(ir.Assign(name, item, stmt.origin) for name, item in pairs)

    def item(expr: ir.Expr) -> ir.Expr:
        pushed = items.get(_popped(expr) or "")
        return ir.rebuild(expr, item) if pushed is None else pushed[0]

    plain = ir.with_body(function, ir.rewrite(function.body, taken, item))
    return compiled_kinds(plain, facts, book)


def _pushed(push: ir.Stmt) -> tuple[str, tuple[ir.Expr, ...], bool]:
    """The stack that a statement pushes to, what it saves at once, and whether that is one item."""
    match push:
        case ir.Do(ir.Call(ir.Attribute(ir.Var(name)), (ir.Display("tuple", items),))):
            return name, items, False
        case ir.Do(ir.Call(ir.Attribute(ir.Var(name)), args)):
            return name, args, True
    raise InternalError("numba", f"`{push.origin.place.text}` does not push")


def _popped(expr: ir.Expr) -> str | None:
    """The stack that an expression pops from."""
    match expr:
        case ir.Call(fn=ir.Attribute(ir.Var(name), "pop"), args=()):
            return name
    return None


def _unpacks(stmt: ir.Stmt, stack: str, count: int) -> bool:
    """Whether a statement gives names to the items that it pops."""
    if not isinstance(stmt, ir.Assign) or _popped(stmt.value) != stack:
        return False
    names = stmt.target
    return (
        isinstance(names, tuple) and len(names) == count and all(isinstance(n, str) for n in names)
    )


# --------------------------------------------------------------------------------------------------
# The rounds of loops.

_ADD, _SUB = ir.ADD, ir.SUB
_SIZES = (operator.add, operator.sub, operator.mul, operator.floordiv, min, max)


def _range(iterated: ir.Expr) -> tuple[tuple[ir.Expr, ...], bool] | None:
    """What a loop over a `range` hands to it, and whether it runs from the end."""
    match iterated:
        case ir.Call(fn=ir.Ref(obj=obj), args=(inner,), kwargs=()) if obj is reversed:
            found = _range(inner)
            return None if found is None else (found[0], not found[1])
        case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=()) if obj is range:
            return None if any(map(ir.is_starred, args)) else (args, False)
    return None


def _bounds(iterated: ir.Expr) -> tuple[ir.Expr, ir.Expr] | None:
    """The lowest number of a range by steps of one, and the one above the highest."""
    found = _range(iterated)
    if found is None:
        return None
    args = found[0]
    start, stop = (_ZERO, args[0]) if len(args) == 1 else args[:2]
    match _integer(args[2]) if len(args) == 3 else 1:
        case 1:
            return start, stop
        case -1:
            return _plus(stop, 1), _plus(start, 1)
    return None


def _integer(expr: ir.Expr) -> int | None:
    """The value of an integer literal."""
    match expr:
        case ir.Const(int(value)):
            return value
        case ir.Call(fn=ir.Ref(obj=operator.neg), args=(ir.Const(int(value)),)):
            return -value
    return None


def _apart(expr: ir.Expr) -> tuple[ir.Expr, int]:
    """An expression as a sum with an integer."""
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(base, ir.Const(int(value)))):
            if obj in (operator.add, operator.sub):
                return base, value if obj is operator.add else -value
    return expr, 0


def _plus(expr: ir.Expr, more: int) -> ir.Expr:
    """An expression and an integer, added."""
    value = _integer(expr)
    if value is not None:
        return ir.Const(value + more)
    base, known = _apart(expr)
    total = known + more
    if not total:
        return base
    return ir.Call(_ADD if total > 0 else _SUB, (base, ir.Const(abs(total))))


def _from(bound: ir.Expr, outer: Mapping[str, _Axis]) -> tuple[str, int] | None:
    """A bound as the variable of a loop around, and what is added to it."""
    base, more = _apart(bound)
    return (base.name, more) if isinstance(base, ir.Var) and base.name in outer else None


def _less(expr: ir.Expr, less: ir.Expr) -> ir.Expr:
    return ir.Call(_SUB, (expr, less))


def _at_least_zero(size: ir.Expr) -> ir.Expr:
    """A size that an array may have: that of a range which is empty may be below zero."""
    match size:
        case ir.Const() | ir.Index() | ir.Attribute():
            return size if _integer(size) is None else ir.Const(max(_integer(size) or 0, 0))
        case ir.Call(fn=ir.Ref(obj=obj)) if obj is len:
            return size
    return ir.Call(ir.Ref("max", max), (size, _ZERO))
