"""Comprehensions as the loops they abbreviate, where their elements can carry a derivative.

Others (strings, indices, flags) stay opaque, as the user wrote them.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
import sys
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .. import ir
from ..runtime.iterators import require_again
from ..runtime.records import attribute_of
from .nested import Closure, Walrus
from .operands import is_arithmetic, is_comparison, is_constant, is_shape_query
from .owners import is_operation, module_of
from .primal import stores

# What a generator expression may be handed to as a list, and the places of such arguments: they
# take all items at once.
_FIRST, _EACH = slice(1), slice(None)
_CONSUMERS = {
    **{id(fn): _FIRST for fn in (sum, list, tuple, min, max, sorted, dict, set, frozenset)},
    **{id(fn): _FIRST for fn in (math.prod, math.fsum, np.fromiter, deque)},
    id(functools.reduce): slice(1, 2),
    id(itertools.product): _EACH,
    **{id(fn): _FIRST for fn in (itertools.combinations, itertools.permutations)},
    id(itertools.combinations_with_replacement): _FIRST,
}
_FILLED = ("extend", "update")  # methods that do the same
_SIDE_BY_SIDE = (ir.Ref("enumerate", enumerate), ir.ZIP)
# The iterators that are through with all that they go through when the last item is taken of them,
# and the places of that.
_GOING_THROUGH = {
    **{id(fn.obj): _EACH for fn in _SIDE_BY_SIDE},
    **{id(fn): _EACH for fn in (itertools.chain, itertools.zip_longest)},
    **{id(fn): _FIRST for fn in (itertools.accumulate, itertools.pairwise, itertools.groupby)},
    id(itertools.dropwhile): slice(1, 2),
}
_NONE = ir.Const(None)
_FILTERS = (filter, itertools.filterfalse)
_SEARCHING = (ir.Ref("any", any), ir.Ref("all", all))
# Built-ins whose result carries no derivative.
_INERT = frozenset(map(id, (str, repr, int, len, bool, range, isinstance, type, format, id, ord)))


@dataclass(frozen=True)
class Clause:
    """`for target in iter if tests`."""

    target: ir.Target
    iter: ir.Expr
    tests: tuple[ir.Expr, ...]


@ir.quickened
@dataclass(frozen=True)
class Comprehension(ir.Opaque):
    """An opaque comprehension that also knows its parts. `form` is "list", "dict" or "generator".

    The free names in the parts stand for what `names` and `values` say, as those of `text` do.
    """

    form: str = field(default="list", compare=False, repr=False)
    element: ir.Expr = field(default=ir.Const(None), compare=False, repr=False)
    key: ir.Expr | None = field(default=None, compare=False, repr=False)
    clauses: tuple[Clause, ...] = field(default=(), compare=False, repr=False)
    assigns: tuple[str, ...] = field(default=(), compare=False, repr=False)  # by `:=`
    writes: bool = field(default=False, compare=False, repr=False)  # (what makes an item does)

    @property
    def bound(self) -> tuple[str, ...]:
        """The names of the function that it binds, as they are written now."""
        meaning = dict(zip(self.names, self.values, strict=True))
        return tuple(n.name for name in self.assigns if isinstance(n := meaning[name], ir.Var))


def assigned(expr: ir.Expr) -> frozenset[str]:
    """The names that an expression binds by `:=`."""
    found: set[str] = set()
    for part in ir.walk(expr):
        if isinstance(part, Walrus):
            found.add(part.target)
        elif isinstance(part, Comprehension):
            found.update(part.bound)
    return frozenset(found)


def becomes_loop(expr: ir.Expr) -> bool:
    """Whether this is a list or dict comprehension whose elements may carry a derivative, or that
    binds names of the function, or writes what these hold."""
    if not isinstance(expr, Comprehension) or expr.form == "generator":
        return False
    return bool(expr.assigns) or carries(expr)


def is_generator(expr: ir.Expr) -> bool:
    """Whether this is a generator expression, whose items are made when they are asked for."""
    return isinstance(expr, Comprehension) and expr.form == "generator"


def taken_whole(expr: ir.Expr) -> ir.Expr:
    """A generator expression all of whose items are taken at once is the list of them."""
    if isinstance(expr, Comprehension) and expr.form == "generator":
        return replace(expr, form="list")
    return expr


def _carrying(arg: ir.Expr) -> bool:
    return isinstance(arg, Comprehension) and is_generator(arg) and carries(arg)


def consumed(call: ir.Call) -> ir.Call:
    """The call with a list for a generator expression that it takes whole, as in
    `sum(x * x for x in xs)`."""
    match call:
        case ir.Call(fn=ir.Ref(obj=obj)) if id(obj) in _CONSUMERS:
            return _with_taken(call, _CONSUMERS[id(obj)])
        case ir.Call(fn=ir.Attribute(_, method), args=(_,)) if method in _FILLED:
            return _with_taken(call, _FIRST)
    return call


def _is_endless(clause: Clause) -> bool:
    """Whether what goes through this takes as much of it as something else has items."""
    endless = (itertools.count, itertools.cycle, itertools.repeat)
    return isinstance(clause.iter, ir.Call) and getattr(clause.iter.fn, "obj", None) in endless


def _with_taken(call: ir.Call, places: slice) -> ir.Call:
    args = list(call.args)
    args[places] = map(_taken, args[places])
    same = all(new is old for new, old in zip(args, call.args, strict=True))
    return call if same else replace(call, args=tuple(args))


def _taken(items: ir.Expr) -> ir.Expr:
    """What is gone through at once, with lists for generator expressions, those that a `zip`, an
    `enumerate` or an `itertools.accumulate` goes through too; with a list of the tuples of a `zip`,
    where making an item may write something: it makes no more than it asks for."""
    if isinstance(items, Comprehension) and _carrying(items):
        return items if any(map(_is_endless, items.clauses)) else taken_whole(items)
    if not isinstance(items, ir.Call) or not isinstance(items.fn, ir.Ref):
        return items
    if _writes_beside(items):
        names = tuple(sorted(ir.names_in(items)))
        code = (names, tuple(map(ir.Var, names)), (), items.at, "list")
        own = "items" + "_" * len(names)
        return Comprehension("zip", *code, ir.Var(own), None, (Clause(own, items, ()),))
    obj = items.fn.obj
    each_of_one = attribute_of(obj, "__self__", None) is itertools.chain  # (`from_iterable`)
    places = _FIRST if each_of_one else _GOING_THROUGH.get(id(obj))
    return items if places is None else _with_taken(items, places)


def loop(
    expr: Comprehension,
    name: str,
    variable: Callable[[str], str],
    local: Callable[[str], str],
    origin: ir.Origin,
) -> ir.Block:
    """The statements that build the list or dict under this name.

    before::                                  after::
        ys = [x * x for x in xs if x > 0]         ys = []
                                                  for x in xs:
                                                      if x > 0:
                                                          ys.append(x * x)

    `variable` names a variable of the comprehension, which must not be one of the function's,
    `local` one of a generator expression that it goes through.
    """
    meaning: dict[str, ir.Expr] = dict(zip(expr.names, expr.values, strict=True))
    headers: list[Clause] = []
    for clause in expr.clauses:
        header, meaning = _read_in(clause, meaning, variable)
        headers.append(header)
    element = ir.substitute(expr.element, meaning)
    if expr.key is None:
        add: ir.Stmt = ir.Do(
            ir.Call(ir.Attribute(ir.Var(name), "append"), (element,), (), expr.at), origin
        )
    else:
        add = ir.Store(
            ir.Index(ir.Var(name), ir.substitute(expr.key, meaning), expr.at), element, origin
        )
    body: ir.Block = (add,)
    for header in reversed(headers):
        body = _where(header.tests, body, origin)
        body = _loop_through(header.target, header.iter, body, local, origin)
    empty = ir.Display("dict" if expr.form == "dict" else "list", ())
    return (ir.Assign(name, empty, origin), *body)


_FEW, _SHORT = 4, 24  # items that are written out, and operations in all of them


def few_written_out(expr: ir.Expr, atom: Callable[[ir.Expr], ir.Expr]) -> ir.Display | None:
    """A comprehension over a short tuple or list that is written out, as the list of what it makes
    of each of the items, of which `atom` gives the names; None for others.

    before::                                  after::
        [split(z) for z in (q, k)]                [split(q), split(k)]
    """
    match expr:
        case Comprehension(form="list", clauses=(Clause(str(target), ir.Display() as gone, ()),)):
            items, parts = gone.items, tuple(ir.walk(expr.element))
        case _:
            return None
    few = 1 < len(items) <= _FEW and gone.form in ("tuple", "list")
    size = len(items) * sum(isinstance(part, ir.Call) for part in parts)
    code = any(isinstance(part, ir.Opaque) for part in (*parts, *items))
    if not few or code or size > _SHORT or expr.assigns or expr.writes:
        return None  # (a function that is made for each of them sees the last one)
    meaning: dict[str, ir.Expr] = dict(zip(expr.names, expr.values, strict=True))
    atoms = [atom(ir.substitute(item, meaning)) for item in items]
    elements = (ir.substitute(expr.element, {**meaning, target: item}) for item in atoms)
    return ir.Display("list", tuple(elements))


def _read_in(
    clause: Clause, meaning: dict[str, ir.Expr], variable: Callable[[str], str]
) -> tuple[Clause, dict[str, ir.Expr]]:
    """A clause in the names of the function, where these are the meanings of its own, and the
    meanings after it."""
    iterable = ir.substitute(clause.iter, meaning)
    own = {n: variable(n) for n in dict.fromkeys(ir.target_names(clause.target))}
    inner = {**meaning, **{n: ir.Var(new) for n, new in own.items()}}
    target = ir.map_target(clause.target, own.__getitem__)
    return Clause(target, iterable, tuple(ir.substitute(t, inner) for t in clause.tests)), inner


def _where(tests: tuple[ir.Expr, ...], body: ir.Block, origin: ir.Origin) -> ir.Block:
    """A body that runs where all tests hold."""
    for test in reversed(tests):
        body = (ir.If(test, body, (), origin),)
    return body


def _loop_through(
    target: ir.Target,
    iterable: ir.Expr,
    body: ir.Block,
    variable: Callable[[str], str],
    origin: ir.Origin,
) -> ir.Block:
    """A loop over anything; over what a generator expression makes it is the loop over what that
    goes through: `for y in map(f, xs)` of a comprehension is `for x in xs: y = f(x)`."""
    first: ir.Block = ()
    while (turn := loop_over(iterable, variable, origin)) is not None:
        body = turn.around((ir.Assign(target, turn.item, origin), *body), origin)
        first = (*turn.first, *first)
        target, iterable = turn.clause.target, turn.clause.iter
    return (*first, ir.For(target, _taken(iterable), body, origin))


def mapped(
    fn: ir.Ref, args: tuple[ir.Expr, ...], opaque: Callable[[], ir.Opaque]
) -> ir.Expr | None:
    """`map(f, xs)`, `filter(f, xs)`, `itertools.starmap(f, pairs)` and slices of generator
    expressions as the generator expressions that they are; None for calls of anything else.
    `opaque` gives the call as it stands."""
    if fn.obj is itertools.islice and 2 <= len(args) <= 4 and is_generator(args[0]):
        return _sliced(args, opaque())
    if fn.obj is itertools.starmap and len(args) == 2:
        match args[1]:
            case ir.Call(fn=ir.Ref(obj=obj), args=(_, *_) as columns, kwargs=()) if (
                obj is zip and not any(map(ir.is_starred, columns))
            ):  # (`map` of several iterables)
                return mapped(ir.Ref("map", map), (args[0], *columns), opaque)
    if not any(fn.obj is known for known in (map, itertools.starmap, *_FILTERS)):
        return None
    code = opaque()
    items = _variables(len(args) - 1, args, code)
    variables = tuple(map(ir.Var, items))
    parts = (code.text, code.names, code.values, code.refs, code.at)
    if len(args) != 2 and not (fn.obj is map and len(args) > 2):
        return None
    element: ir.Expr = ir.Call(args[0], variables, (), code.at)
    clause = Clause(items[0], args[1], ())
    if fn.obj is itertools.starmap:
        star = ir.Opaque(f"*{items[0]}", items[:1], variables[:1])
        element = ir.Call(args[0], (star,), (), code.at)
    elif any(fn.obj is known for known in _FILTERS):
        test = variables[0] if args[0] in (_NONE, ir.BOOL) else element
        kept = test if fn.obj is filter else ir.Call(ir.NOT, (test,), (), code.at)
        clause = Clause(items[0], args[1], (kept,))
        element = variables[0]
    elif len(args) > 2:
        clause = Clause(items, ir.Call(ir.ZIP, args[1:], (), code.at), ())
    return Comprehension(*parts, "generator", element, None, (clause,))


def _variables(
    count: int, args: tuple[ir.Expr, ...], code: ir.Opaque, stem: str = "item"
) -> tuple[str, ...]:
    """So many names that neither a call nor its arguments read."""
    taken = {*code.names, *(name for arg in args for name in ir.names_in(arg))}
    names = (f"{stem}{n or ''}" for n in range(count + len(taken)))
    return tuple(n for n in names if n not in taken)[:count]


def may_be_none(bound: ir.Expr) -> bool:
    """Whether only the run knows if a bound is None: it is not written down or computed here."""
    match bound:
        case ir.Const():
            return False  # (of None it is known)
        case ir.Call(fn=ir.Ref(obj=obj)):
            return not (module_of(obj) == "_operator" or obj is len or obj is int)
    return True


def _or_none(bound: ir.Expr, default: int) -> ir.Expr:
    """A bound that may be None, which stands for the default."""
    absent = ir.Call(ir.IS, (bound, _NONE))
    return ir.Lazy("if", (absent, ir.Const(default), bound))


def _sliced(args: tuple[ir.Expr, ...], code: ir.Opaque) -> ir.Expr:
    """`islice(items, a, b, k)` of a generator expression, which makes no item after the last.

    after: `(item for i, item in zip(range(b), items) if i >= a and (i - a) % k == 0)`.
    """
    items, *bounds = args
    start, stop, step = (*((_NONE,) if len(bounds) == 1 else ()), *bounds, _NONE)[:3]
    start, stop, step = (
        _or_none(bound, default) if may_be_none(bound) else bound
        for bound, default in ((start, 0), (stop, sys.maxsize), (step, 1))
    )
    (item,), (number,) = _variables(1, args, code), _variables(1, args, code, "i")
    count: ir.Expr = ir.Var(number)
    tests: list[ir.Expr] = []
    if start != _NONE:
        tests.append(ir.Call(ir.AT_LEAST, (count, start), (), code.at))
        count = ir.Call(ir.SUB, (count, start), (), code.at)
    if step != _NONE:
        left = ir.Call(ir.Ref("%", operator.mod), (count, step), (), code.at)
        tests.append(ir.Call(ir.EQUAL, (left, ir.Const(0)), (), code.at))
    counted, through = _SIDE_BY_SIDE[0], args[:1]
    if stop != _NONE:
        counted, through = _SIDE_BY_SIDE[1], (ir.Call(ir.RANGE, (stop,)), items)
    clause = Clause((number, item), ir.Call(counted, through, (), code.at), tuple(tests))
    parts = (code.text, code.names, code.values, code.refs, code.at)
    return Comprehension(*parts, "generator", ir.Var(item), None, (clause,))


@dataclass(frozen=True)
class Turn:
    """What a loop over a generator expression runs over, and the item that each turn takes. `first`
    stands before the loop. Each of the `steps` makes a part of the item, and says whether there is
    more beside it: a `zip` makes one where what comes after it has ended; `last` makes the rest."""

    clause: Clause
    item: ir.Expr
    first: ir.Block = ()
    steps: tuple[tuple[ir.Block, ir.Expr], ...] = ()
    last: ir.Block = ()

    def around(self, body: ir.Block, origin: ir.Origin) -> ir.Block:
        """The body of the loop, `body` what is done with an item."""
        body = (*self.last, *body)
        for made, test in reversed(self.steps):
            body = (*made, ir.If(test, body, (), origin))
        return _where(self.clause.tests, body, origin)


def loop_over(expr: ir.Expr, variable: Callable[[str], str], origin: ir.Origin) -> Turn | None:
    """What a `for` over a generator expression runs over, and the item that it takes.

    before::                                  after::
        for y in (f(x) for x in xs if x):         for x in xs:
            body                                      if x:
                                                          y = f(x)
                                                          body
    """
    if isinstance(expr, ir.Call) and expr.fn in _SIDE_BY_SIDE and not expr.kwargs:
        return _loop_side_by_side(expr, variable, origin)
    if not isinstance(expr, Comprehension) or expr.form != "generator" or len(expr.clauses) != 1:
        return None
    (clause,) = expr.clauses
    meaning: dict[str, ir.Expr] = dict(zip(expr.names, expr.values, strict=True))
    header, meaning = _read_in(clause, meaning, variable)
    return Turn(header, ir.substitute(expr.element, meaning))


def _loop_side_by_side(
    call: ir.Call, variable: Callable[[str], str], origin: ir.Origin
) -> Turn | None:
    """The same for `enumerate` and `zip` of generator expressions without tests.

    before::                                  after::
        for y, z in zip((f(x) for x in xs), zs):   for x, item in zip(xs, zs):
            body                                      y, z = f(x), item
                                                      body
    """
    counts = call.fn == _SIDE_BY_SIDE[0]  # (the count comes first, and is not an argument)
    count = [variable("i")] if counts else []
    own = call.args[:1] if counts else call.args
    found = [loop_over(arg, variable, origin) for arg in own]
    if not any(found) or any(turn.clause.tests for turn in found if turn):
        return None
    turns: list[Turn] = []
    for arg, turn in zip(own, found, strict=True):
        if turn is None and is_generator(arg):
            return None
        item = variable("item") if turn is None else ""
        turns.append(turn or Turn(Clause(item, arg, ()), ir.Var(item)))
    ending = [turn for turn in turns if not _is_endless(turn.clause)]
    if any(map(_may_write, ending[:-1])):
        return _turns_in_steps(turns, variable, origin)
    again = replace(call, args=(*(turn.clause.iter for turn in turns), *call.args[len(own) :]))
    clause = Clause((*count, *(turn.clause.target for turn in turns)), again, ())
    items = ir.Display("tuple", (*map(ir.Var, count), *(turn.item for turn in turns)))
    return replace(turns[0], clause=clause, item=items)


def _turns_in_steps(
    turns: list[Turn], variable: Callable[[str], str], origin: ir.Origin
) -> Turn | None:
    """The same where making an item may write something, and what comes after it may end first.

    before::                                  after::
        for y, z in zip(map(f, xs), zs):          count = len(zs)
            body                                  items = list(zs)
                                                  for i, x in zip(range(count + 1), xs):
                                                      item = f(x)
                                                      if i < count:
                                                          item2 = items[i]
                                                          y, z = item, item2
                                                          body
    """
    at = next(n for n, turn in enumerate(turns) if _may_write(turn))
    if any(turn.steps for turn in turns) or any(_is_endless(turn.clause) for turn in turns[at:]):
        return None
    i, later = ir.Var(variable("i")), turns[at + 1 :]
    counts = [ir.Var(variable("count")) for _ in later]
    listed = [ir.Var(variable("items")) for _ in later]
    first: list[ir.Stmt] = []
    for turn, number, items in zip(later, counts, listed, strict=True):
        source = turn.clause.iter
        lines = [(items, ir.Call(ir.LIST, (source,)))]
        # (What has no end, as an `itertools.count()` with a name, has no length, either.)
        counted = items if isinstance(source, ir.Call) else source
        length = ir.Call(ir.LEN, (counted,))
        lines.insert(int(counted is items), (number, length))
        first += [ir.Assign(name.name, value, origin) for name, value in lines]
    made: list[ir.Stmt] = []
    steps: list[tuple[ir.Block, ir.Expr]] = []
    taken: list[ir.Expr] = []
    for n, turn in enumerate(turns):
        if n > at:
            made.append(ir.Assign(turn.clause.target, ir.Index(listed[n - at - 1], i), origin))
        item = ir.Var(variable("item"))
        taken.append(item)
        made.append(ir.Assign(item.name, turn.item, origin))
        if n == at or (n < len(turns) - 1 and _may_write(turn)):
            asked = next(filter(lambda m: _may_write(turns[m]), range(n + 1, len(turns))), None)
            count = _least(counts[n - at : None if asked is None else asked - at])
            steps.append((tuple(made), ir.Call(ir.LESS, (i, count))))
            made = []
    most = ir.Call(ir.ADD, (_least(counts), ir.Const(1)))
    ranges = ir.Call(ir.RANGE, (most,))
    clauses = [turn.clause for turn in turns[: at + 1]]
    again = ir.Call(_SIDE_BY_SIDE[1], (ranges, *(clause.iter for clause in clauses)))
    clause = Clause((i.name, *(clause.target for clause in clauses)), again, ())
    return Turn(clause, ir.Display("tuple", tuple(taken)), tuple(first), tuple(steps), tuple(made))


def _least(counts: list[ir.Var]) -> ir.Expr:
    return counts[0] if len(counts) == 1 else ir.Call(ir.Ref("min", min), tuple(counts))


def _writes_beside(items: ir.Call) -> bool:
    """Whether this is a `zip` of generator expressions of which one may write something."""
    made = (arg.element for arg in items.args if isinstance(arg, Comprehension) and _carrying(arg))
    return items.fn == _SIDE_BY_SIDE[1] and any(map(_may_store, made))


def _may_write(turn: Turn) -> bool:
    return bool(turn.steps) or _may_store(turn.item)


def _may_store(item: ir.Expr) -> bool:
    """Whether what makes an item may write something, by the functions that it calls."""
    called = (part.fn for part in ir.walk(item) if isinstance(part, ir.Call))
    return any(not isinstance(fn, ir.Ref) or stores(fn.obj) for fn in called)


def items_left(place: ir.Index) -> Comprehension:
    """The items of a list that are not in a slice of it, `del xs[::k]`:

    [item for n, item in enumerate(xs) if n not in range(len(xs))[::k]]
    """
    names = tuple(sorted(ir.names_in(place)))
    number, item = ("_" * (1 + max(map(len, names), default=0)) + own for own in ("n", "item"))
    length = ir.Call(ir.LEN, (place.base,))
    gone = ir.Index(ir.Call(ir.RANGE, (length,)), place.key)
    test = ir.Call(ir.NOT, (ir.Call(ir.IN, (ir.Var(number), gone)),))
    clause = Clause((number, item), ir.Call(_SIDE_BY_SIDE[0], (place.base,)), (test,))
    code = (names, tuple(map(ir.Var, names)), (), place.at, "list")
    return Comprehension("items", *code, ir.Var(item), None, (clause,))


def is_inert(expr: Comprehension) -> bool:
    """Whether the elements are numbers, flags and texts that carry no derivative, whatever the
    comprehension goes through and tests: `[0.0 for row in rows]`, `(x > 0 for x in xs)`."""
    keys = expr.key is None or not _may_carry(expr, expr.key)
    element = expr.element
    opaque = isinstance(element, ir.Opaque) and not isinstance(element, ir.Text)
    opaque = opaque and not getattr(element, "inert", False)  # (`[[0.0 for _ in xs] for _ in xs]`)
    return keys and not opaque and not carries(expr)


def carries(expr: Comprehension) -> bool:
    """Whether an element may carry a derivative, be given one, or have others written: not if it is
    a number made of integers from `range`."""
    return expr.writes or _may_carry(expr, expr.element)


def _may_carry(expr: Comprehension, element: ir.Expr) -> bool:
    if is_constant(element) or is_comparison(element) or is_shape_query(element):
        return False
    match element:
        case Comprehension():
            return element.form != "generator" and carries(element)
        case Walrus(inner=inner):
            return _may_carry(expr, inner)
        case Closure():
            return _may_capture(expr, element)
        case ir.Opaque():
            return False
        case ir.Call(fn=ir.Ref(obj=obj)) if id(obj) in _INERT:
            return False
    return not (_is_number(element) and _counts(element, frozenset(_counters(expr))))


def _may_capture(expr: Comprehension, function: Closure) -> bool:
    """Whether functions made in a comprehension may hold what carries derivatives. Those that read
    its variables when they are called all read those of the last round, as they do where they
    stand: they stay there."""
    own = {n for clause in expr.clauses for n in ir.target_names(clause.target)}
    late = own & (ir.names_in(function.body) - {p.name for p in function.params})
    return not late and not set(function.names) <= set(_counters(expr))


def _counters(expr: Comprehension) -> list[str]:
    """The variables that run through a `range`, or count what they go through."""
    found = []
    for clause in expr.clauses:
        match clause:
            case Clause(target=str(name), iter=ir.Call(fn=ir.Ref(obj=obj))) if obj is range:
                found.append(name)
            case Clause(target=(str(name), _), iter=ir.Call(fn=ir.Ref(obj=obj), args=(_,))):
                if obj is enumerate:
                    found.append(name)
    return found


def _is_number(element: ir.Expr) -> bool:
    """Whether an element is computed by arithmetic, so that nothing can be written into it."""
    for part in ir.walk(element):
        match part:
            case ir.Call(fn=ir.Ref(obj=obj) as fn):
                if not (is_arithmetic(fn) or id(obj) in _INERT or obj is float):
                    return False
            case ir.Call() | ir.Display():
                return False
    return True


def _counts(element: ir.Expr, counters: frozenset[str]) -> bool:
    """Whether an element depends on counters alone."""
    data = (p for p in ir.walk(element) if isinstance(p, ir.Ref) and not callable(p.obj))
    return ir.names_in(element) <= counters and next(data, None) is None


# --------------------------------------------------------------------------------------------------
# Generator expressions with a name, `map(f, xs)` and `filter(f, xs)` too, that are gone through in
# one place: they make their items there, and stand there.
#
# before::                             after::
#     squares = (x * x for x in xs)        total = sum(x * x for x in xs)
#     total = sum(squares)


def generators_in_place(function: ir.Function, variable: Callable[[str], str]) -> ir.Function:
    """The function with generator expressions where they are gone through, if what they go through
    is the same there; as lists where they are the starred arguments of a call.

    before::                                  after::
        args = (f(v) for v in (x, y))             if plain:
        if plain:                                     args2 = [f(v) for v in (x, y)]
            return g(*args)                           return g(*args2)
        return np.sum(x)                          return np.sum(x)
    """
    every = list(ir.with_parents(function.body))
    bound = ir.bindings([stmt for stmt, _ in every])
    parts = (part for stmt, _ in every for part in ir.walk_statement(stmt))
    read = Counter(part.name for part in parts if isinstance(part, ir.Var))
    values: dict[str, Comprehension] = {}
    items: dict[str, ir.Block] = {}
    for number, (stmt, around) in enumerate(every):
        match stmt:
            case ir.Assign(target=str(name), value=Comprehension() as made):
                later = every[number + 1 :]
                readers = [part for part in later if name in evaluated_names(part[0])]
                once = is_generator(made) and carries(made) and bound[name] == 1
                once = once and read[name] == len(readers) > 0 and _are_exclusive(readers)
                held = variable(f"{name}_items") if once else ""
                made, given = _with_named_items(made, held, stmt.origin)
                if once and all(
                    _is_taken_later(name, made, around, [p for p in later if p not in others])
                    for reader in readers
                    for others in [[p for p in readers if p is not reader]]
                ):
                    values[name] = made
                    items[name] = given

    def statement(stmt: ir.Stmt) -> ir.Instead:
        if isinstance(stmt, ir.Assign) and stmt.target in values:
            return items[str(stmt.target)]
        if not evaluated_names(stmt) & values.keys():
            return stmt
        starred = _starred_names(stmt) & values.keys()
        if starred:
            listed = {name: variable(name) for name in sorted(starred)}
            lists = {name: replace(values[name], form="list") for name in listed}
            before = [ir.Assign(listed[name], lists[name], stmt.origin) for name in listed]
            put = {name: ir.Var(listed[name]) for name in listed}
            return (*before, ir.map_statement(stmt, expr=lambda e: ir.substitute(e, put)))
        if isinstance(stmt, ir.For):
            through = ir.substitute(stmt.iter, values)
            return _loop_through(stmt.target, through, stmt.body, variable, stmt.origin)
        return ir.map_statement(stmt, expr=lambda e: ir.substitute(e, values))

    body = ir.rewrite(function.body, after=statement) if values else function.body
    return ir.with_body(function, body)


def evaluated_names(stmt: ir.Stmt) -> set[str]:
    """The names in what a statement itself evaluates."""
    return {name for expr in ir.expressions(stmt) for name in ir.names_in(expr)}


def _with_named_items(
    made: Comprehension, name: str, origin: ir.Origin
) -> tuple[Comprehension, ir.Block]:
    """A generator expression over a tuple or list that is written out, which gets a name: it is
    made where the generator is."""
    first, *rest = made.clauses
    if not name or not isinstance(first.iter, ir.Display):
        return made, ()
    meaning = dict(zip(made.names, made.values, strict=True))
    given = ir.Assign(name, ir.substitute(first.iter, meaning), origin)
    clauses = (replace(first, iter=ir.Var(name)), *rest)
    names, values = (*made.names, name), (*made.values, ir.Var(name))
    return replace(made, clauses=clauses, names=names, values=values), (given,)


def _starred_names(stmt: ir.Stmt) -> frozenset[str]:
    """The names that a statement hands on as `*name`, if it calls nothing else of the user's."""
    parts = [part for expr in ir.expressions(stmt) for part in ir.walk(expr)]
    if sum(not _is_operation(part) for part in parts) > 1:
        return frozenset()
    names = (ir.names_in(part) for part in parts if ir.is_starred(part))
    return frozenset().union(*names)


def _are_exclusive(readers: list[tuple[ir.Stmt, tuple[ir.Stmt, ...]]]) -> bool:
    """Whether no two of these statements run in one call: they stand in branches of one `if`."""

    def branch_of(stmt: ir.Stmt, test: ir.If) -> bool:
        return any(part is stmt for part in ir.statements(test.body))

    return all(
        any(
            isinstance(test, ir.If)
            and any(part is test for part in beside)
            and branch_of(stmt, test) != branch_of(other, test)
            for test in around
        )
        for (stmt, around), (other, beside) in itertools.combinations(readers, 2)
    )


def _is_taken_later(
    name: str,
    made: Comprehension,
    around: tuple[ir.Stmt, ...],
    later: list[tuple[ir.Stmt, tuple[ir.Stmt, ...]]],
) -> bool:
    """Whether a statement in the same rounds of all loops reads the name, at once, and before
    anything that the generator expression reads gets another value."""
    reads = ir.names_in(made)
    for number, (stmt, outside) in enumerate(later):
        if name in evaluated_names(stmt):
            whole = [part for expr in ir.expressions(stmt) for part in ir.walk(expr)]
            starred = _starred_names(stmt)
            inside = (
                part
                for part in whole
                if isinstance(part, ir.Opaque | ir.Lazy)
                and not (ir.is_starred(part) and name in starred)
            )
            bare = isinstance(stmt, ir.Assign) and stmt.value == ir.Var(name)
            other = (
                bare or isinstance(stmt, ir.While) or any(name in ir.names_in(p) for p in inside)
            )
            branches = all(isinstance(part, ir.If) for part in outside if part not in around)
            return branches and not other and (number == 0 or _only_reads(made.clauses[0]))
        if reads & set(ir.binds(stmt)):
            return False
    return False


def _is_operation(part: ir.Expr) -> bool:
    """Whether this calls nothing of the user's."""
    fn = part.fn if isinstance(part, ir.Call) else None
    return fn is None or (isinstance(fn, ir.Ref) and is_operation(fn.obj))


def _only_reads(clause: Clause) -> bool:
    """Whether what is gone through is there already, whatever happens in between."""
    views = ("items", "keys", "values")
    for part in ir.walk(clause.iter):
        match part:
            case ir.Call(fn=ir.Attribute(_, method)) if method in views:
                pass
            case ir.Call(fn=ir.Ref(obj=obj)) if obj in (range, len, zip, enumerate, reversed):
                pass
            case ir.Call() | ir.Opaque() | ir.Lazy() | ir.Index() | ir.Attribute():
                return False
    return True


# --------------------------------------------------------------------------------------------------
# Calls that take from what they go through until they have one value: `functools.reduce`, and
# `next` of a generator expression.

_AGAIN = ir.Ref("require_again", require_again)
_STOPS = ir.Ref("StopIteration", StopIteration)


def stops(origin: ir.Origin) -> ir.Stmt:
    """What an iterator does that has no more items."""
    return ir.OpaqueStmt("raise StopIteration", (), (), (_STOPS,), (), origin)


def is_reduction(call: ir.Call) -> bool:
    """Whether a call is read as a loop: `functools.reduce(f, xs)`, `next(x for x in xs if x)`, and
    `any(...)` where that binds names by `:=`, or writes what they hold."""
    match call:
        case ir.Call(fn=ir.Ref(obj=functools.reduce), args=(_, _, *rest), kwargs=()):
            return len(rest) < 2
        case ir.Call(
            fn=ir.Ref(obj=builtins.next), args=(Comprehension() as items, *rest), kwargs=()
        ):
            one = is_generator(items) and len(items.clauses) == 1 and carries(items)
            one = one and bool(items.clauses[0].tests or isinstance(items.clauses[0].target, str))
            return one and len(rest) < 2
        case ir.Call(
            fn=ir.Ref(obj=builtins.any | builtins.all), args=(Comprehension() as items,), kwargs=()
        ):
            stays = len(items.clauses) > 1 or not (items.assigns or items.writes)
            return is_generator(items) and not stays
    return False


def listed(call: ir.Call) -> ir.Call:
    """`functools.reduce(f, list(xs))` for `functools.reduce(f, xs)`, whose first item and further
    ones are found by their places; what Python's own functions give is gone through so, too."""
    match call:
        case ir.Call(fn=ir.Ref(obj=functools.reduce), args=(f, items)) if not _has_places(items):
            return replace(call, args=(f, ir.Call(ir.LIST, (items,), (), call.at)))
    return call


def _has_places(items: ir.Expr) -> bool:
    match items:
        case ir.Call(fn=ir.Ref(obj=obj)):
            return any(obj is known for known in _IN_ORDER)
        case ir.Display(form=form):
            return form in ("list", "tuple")
    return isinstance(items, Comprehension)


_IN_ORDER = (list, tuple, map, filter, zip, enumerate, reversed, sorted, range)


def reduction(
    call: ir.Call, name: str, variable: Callable[[str], str], origin: ir.Origin
) -> ir.Block:
    """The statements that such a call stands for, its value by this name; `variable` gives names
    for what they bind besides.

    before::                                  after::
        y = functools.reduce(f, xs, 1.0)          y = 1.0
                                                  for item in xs:
                                                      y = f(y, item)
        y = functools.reduce(f, xs)               items = list(xs)
                                                  y = items[0]
                                                  for item in items[1:]:
                                                      y = f(y, item)
    """
    if isinstance(call.args[0], Comprehension):
        return _first(_searching(call, call.args[0]), name, variable, origin)
    f, items, *start = call.args
    first = start[0] if start else ir.Index(items, ir.Const(0), call.at)
    rest = items if start else ir.Index(items, ir.Slice(ir.Const(1)), call.at)
    item = variable("item")
    step = ir.Assign(name, ir.Call(f, (ir.Var(name), ir.Var(item)), (), call.at), origin)
    return (ir.Assign(name, first, origin), ir.For(item, rest, (step,), origin))


def _searching(call: ir.Call, items: Comprehension) -> ir.Call:
    """`any(t(x) for x in xs)` as `next((True for x in xs if t(x)), False)`; other calls as they
    are."""
    if call.fn not in _SEARCHING:
        return call
    found, clause = call.fn == _SEARCHING[0], items.clauses[0]
    test = items.element if found else ir.Call(ir.NOT, (items.element,), (), call.at)
    clause = replace(clause, tests=(*clause.tests, test))
    items = replace(items, element=ir.Const(found), clauses=(clause,))
    return replace(call, args=(items, ir.Const(not found)))


def _first(call: ir.Call, name: str, variable: Callable[[str], str], origin: ir.Origin) -> ir.Block:
    """The first item of a generator expression.

    before::                                  after::
        y = next((x * x for x in xs if x > c), c)
                                                  y = c
                                                  for x in xs:
                                                      if x > c:
                                                          y = x * x
                                                          break
    """
    items, *default = call.args
    turn = loop_over(items, variable, origin)
    assert turn is not None
    clause, item = turn.clause, turn.item
    if not clause.tests and isinstance(clause.target, str):
        return _at_once(clause, item, name, default, variable, origin)
    flag = "" if default else variable("found")
    body: ir.Block = (ir.Assign(name, item, origin), ir.Break(origin))
    if flag:
        body = (ir.Assign(flag, ir.Const(True), origin), *body)
    body = _where(clause.tests, body, origin)
    loop = _loop_through(clause.target, clause.iter, body, variable, origin)
    if not flag:
        return (ir.Assign(name, default[0], origin), *loop)
    stop = stops(origin)
    missing: ir.Expr = ir.Call(ir.NOT, (ir.Var(flag),))
    return (ir.Assign(flag, ir.Const(False), origin), *loop, ir.If(missing, (stop,), (), origin))


def _at_once(
    clause: Clause,
    item: ir.Expr,
    name: str,
    default: list[ir.Expr],
    variable: Callable[[str], str],
    origin: ir.Origin,
) -> ir.Block:
    """The first item where nothing is done with it.

    before::                              after::
        y = next(iter(d.values()))            items = list(d.values())
                                              if not len(items) > 0:
                                                  raise StopIteration
                                              y = items[0]
    """
    assert isinstance(clause.target, str)
    through = clause.iter
    before: ir.Block = ()
    if not _gives_items_again(through):
        through = through if isinstance(through, ir.Var) else ir.Var(variable("iterable"))
        check = ir.Do(ir.Call(_AGAIN, (through,), (), origin.place), origin)
        named = ir.Assign(through.name, clause.iter, origin)
        before = (check,) if through == clause.iter else (named, check)
    items = variable("items")
    stop = stops(origin)
    first = ir.Index(ir.Var(items), ir.Const(0), origin.place)
    taken = (ir.Assign(clause.target, first, origin), ir.Assign(name, item, origin))
    every = ir.Call(ir.LIST, (through,), (), origin.place)
    listed = ir.Assign(items, every, origin)
    length = ir.Call(ir.LEN, (ir.Var(items),))
    some: ir.Expr = ir.Call(ir.GREATER, (length, ir.Const(0)))
    if default:
        other = ir.If(some, taken, (ir.Assign(name, default[0], origin),), origin)
        return (*before, listed, other)
    return (*before, listed, ir.If(ir.Call(ir.NOT, (some,)), (stop,), (), origin), *taken)


def _gives_items_again(expr: ir.Expr) -> bool:
    """Whether an expression is surely no iterator: a view of a dict, or a list written out."""
    match expr:
        case ir.Call(fn=ir.Attribute(name="items" | "keys" | "values"), args=(), kwargs=()):
            return True
        case ir.Call(fn=ir.Ref(obj=obj) as fn):
            return obj is range or is_arithmetic(fn)
    return isinstance(expr, ir.Display)
