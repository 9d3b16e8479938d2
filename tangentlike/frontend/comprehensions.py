"""Comprehensions as the loops they abbreviate, where their elements can carry a derivative.

Others (strings, indices, flags) stay opaque, as the user wrote them.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .. import ir
from ..ir import (
    Assign,
    Attribute,
    Block,
    Break,
    Call,
    Const,
    Display,
    Do,
    Expr,
    For,
    If,
    Index,
    Opaque,
    OpaqueStmt,
    Origin,
    Ref,
    Store,
    Target,
    Var,
)
from .nested import Closure, Walrus
from .operands import is_comparison, is_constant, is_shape_query
from .operators import NOT, is_arithmetic

# What a generator expression may be handed to as a list, and the place of that argument: they take
# all items at once.
_CONSUMERS = {
    **{id(fn): 0 for fn in (sum, list, tuple, min, max, sorted, dict, set, frozenset)},
    **{id(fn): 0 for fn in (math.prod, math.fsum, np.fromiter, deque)},
    id(functools.reduce): 1,
}
_FILLED = ("extend", "update")  # methods that do the same
_SIDE_BY_SIDE = (Ref("enumerate", enumerate), Ref("zip", zip))
# Built-ins whose result carries no derivative.
_INERT = frozenset(map(id, (str, repr, int, len, bool, range, isinstance, type, format, id, ord)))


@dataclass(frozen=True)
class Clause:
    """`for target in iter if tests`."""

    target: Target
    iter: Expr
    tests: tuple[Expr, ...]


@ir.quickened
@dataclass(frozen=True)
class Comprehension(Opaque):
    """An opaque comprehension that also knows its parts. `form` is "list", "dict" or "generator".

    The free names in the parts stand for what `names` and `values` say, as those of `text` do.
    """

    form: str = field(default="list", compare=False, repr=False)
    element: Expr = field(default=ir.Const(None), compare=False, repr=False)
    key: Expr | None = field(default=None, compare=False, repr=False)
    clauses: tuple[Clause, ...] = field(default=(), compare=False, repr=False)
    assigns: tuple[str, ...] = field(default=(), compare=False, repr=False)  # by `:=`

    @property
    def bound(self) -> tuple[str, ...]:
        """The names of the function that it binds, as they are spelled now."""
        meaning = dict(zip(self.names, self.values, strict=True))
        return tuple(n.name for name in self.assigns if isinstance(n := meaning[name], Var))


def assigned(expr: Expr) -> frozenset[str]:
    """The names that an expression binds by `:=`."""
    found: set[str] = set()
    for part in ir.walk(expr):
        if isinstance(part, Walrus):
            found.add(part.target)
        elif isinstance(part, Comprehension):
            found.update(part.bound)
    return frozenset(found)


def becomes_loop(expr: Expr) -> bool:
    """Whether this is a list or dict comprehension whose elements may carry a derivative."""
    return isinstance(expr, Comprehension) and expr.form != "generator" and carries(expr)


def is_generator(expr: Expr) -> bool:
    """Whether this is a generator expression, whose items are made when they are asked for."""
    return isinstance(expr, Comprehension) and expr.form == "generator"


def taken_whole(expr: Expr) -> Expr:
    """A generator expression all of whose items are taken at once is the list of them."""
    if isinstance(expr, Comprehension) and expr.form == "generator":
        return replace(expr, form="list")
    return expr


def _carrying(arg: Expr) -> bool:
    return isinstance(arg, Comprehension) and is_generator(arg) and carries(arg)


def consumed(call: Call) -> Call:
    """The call with a list for a generator expression that it takes whole, as in
    `sum(x * x for x in xs)`."""
    match call:
        case Call(fn=Ref(obj=obj)) if id(obj) in _CONSUMERS:
            place = _CONSUMERS[id(obj)]
        case Call(fn=Attribute(_, method), args=(_,)) if method in _FILLED:
            place = 0
        case _:
            return call
    items = tuple(map(_taken, call.args[place : place + 1]))
    return _with_args(call, (*call.args[:place], *items, *call.args[place + 1 :]))


def _is_endless(clause: Clause) -> bool:
    """Whether what goes through this takes as much of it as something else has items."""
    endless = (itertools.count, itertools.cycle, itertools.repeat)
    return isinstance(clause.iter, Call) and getattr(clause.iter.fn, "obj", None) in endless


def _with_args(call: Call, args: tuple[Expr, ...]) -> Call:
    same = all(new is old for new, old in zip(args, call.args, strict=True))
    return call if same else replace(call, args=args)


def _taken(items: Expr) -> Expr:
    """What is gone through at once, with lists for generator expressions, those in a `zip` or an
    `enumerate` too."""
    if isinstance(items, Comprehension) and _carrying(items):
        return items if any(map(_is_endless, items.clauses)) else taken_whole(items)
    if not isinstance(items, Call) or items.fn not in _SIDE_BY_SIDE or items.kwargs:
        return items
    return _with_args(items, tuple(map(_taken, items.args)))


def loop(
    expr: Comprehension,
    name: str,
    variable: Callable[[str], str],
    local: Callable[[str], str],
    origin: Origin,
) -> Block:
    """The statements that build the list or dict under this name.

    before::                                  after::
        ys = [x * x for x in xs if x > 0]         ys = []
                                                  for x in xs:
                                                      if x > 0:
                                                          ys.append(x * x)

    `variable` names a variable of the comprehension, which must not be one of the function's,
    `local` one of a generator expression that it goes through.
    """
    meaning: dict[str, Expr] = dict(zip(expr.names, expr.values, strict=True))
    headers: list[tuple[Target, Expr, tuple[Expr, ...]]] = []
    for clause in expr.clauses:
        iterable = ir.substitute(clause.iter, meaning)
        own = {n: variable(n) for n in dict.fromkeys(ir.target_names(clause.target))}
        meaning = {**meaning, **{n: Var(new) for n, new in own.items()}}
        target = ir.map_target(clause.target, own.__getitem__)
        tests = tuple(ir.substitute(test, meaning) for test in clause.tests)
        headers.append((target, iterable, tests))
    element = ir.substitute(expr.element, meaning)
    if expr.key is None:
        add: ir.Stmt = Do(Call(Attribute(Var(name), "append"), (element,), (), expr.at), origin)
    else:
        add = Store(Index(Var(name), ir.substitute(expr.key, meaning), expr.at), element, origin)
    body: Block = (add,)
    for target, iterable, tests in reversed(headers):
        for test in reversed(tests):
            body = (If(test, body, (), origin),)
        body = (_loop_through(target, iterable, body, local, origin),)
    empty = Display("dict" if expr.form == "dict" else "list", ())
    return (Assign(name, empty, origin), *body)


def _loop_through(
    target: Target, iterable: Expr, body: Block, variable: Callable[[str], str], origin: Origin
) -> For:
    """A loop over anything; over what a generator expression makes it is the loop over what that
    goes through: `for y in map(f, xs)` of a comprehension is `for x in xs: y = f(x)`."""
    while (generated := loop_over(iterable, variable)) is not None:
        clause, item = generated
        body = (Assign(target, item, origin), *body)
        for test in reversed(clause.tests):
            body = (If(test, body, (), origin),)
        target, iterable = clause.target, clause.iter
    return For(target, _taken(iterable), body, origin)


def mapped(fn: Ref, args: tuple[Expr, ...], opaque: Callable[[], Opaque]) -> Expr | None:
    """`map(f, xs)`, `filter(f, xs)` and `itertools.starmap(f, pairs)` as the generator expressions
    that they are; None for calls of anything else. `opaque` gives the call as it stands."""
    if fn.obj is itertools.starmap and len(args) == 2:
        match args[1]:
            case Call(fn=Ref(obj=obj), args=(_, *_) as columns, kwargs=()) if (
                obj is zip and not any(map(ir.is_starred, columns))
            ):  # (`map` of several iterables)
                return mapped(Ref("map", map), (args[0], *columns), opaque)
    if not (fn.obj is map or fn.obj is filter or fn.obj is itertools.starmap):
        return None
    code = opaque()
    taken = {*code.names, *(name for arg in args for name in ir.names_in(arg))}
    names = [f"item{n or ''}" for n in range(len(args) + len(taken))]
    items = tuple(n for n in names if n not in taken)[: len(args) - 1]
    variables = tuple(map(Var, items))
    parts = (code.text, code.names, code.values, code.refs, code.at)
    if fn.obj is itertools.starmap and len(args) == 2:
        star = Opaque(f"*{items[0]}", items[:1], variables[:1])
        clause = Clause(items[0], args[1], ())
        return Comprehension(
            *parts, "generator", Call(args[0], (star,), (), code.at), None, (clause,)
        )
    if fn.obj is map and len(args) == 2:
        clause = Clause(items[0], args[1], ())
        return Comprehension(
            *parts, "generator", Call(args[0], variables, (), code.at), None, (clause,)
        )
    if fn.obj is map and len(args) > 2:
        clause = Clause(items, Call(Ref("zip", zip), args[1:], (), code.at), ())
        return Comprehension(
            *parts, "generator", Call(args[0], variables, (), code.at), None, (clause,)
        )
    if fn.obj is filter and len(args) == 2:
        keeps = args[0] in (ir.Const(None), Ref("bool", bool))
        test = variables[0] if keeps else Call(args[0], variables, (), code.at)
        clause = Clause(items[0], args[1], (test,))
        return Comprehension(*parts, "generator", variables[0], None, (clause,))
    return None


def loop_over(expr: Expr, variable: Callable[[str], str]) -> tuple[Clause, Expr] | None:
    """What a `for` over a generator expression runs over, and the item that it takes.

    before::                                  after::
        for y in (f(x) for x in xs if x):         for x in xs:
            body                                      if x:
                                                          y = f(x)
                                                          body
    """
    if isinstance(expr, Call) and expr.fn in _SIDE_BY_SIDE and not expr.kwargs:
        return _loop_side_by_side(expr, variable)
    if not isinstance(expr, Comprehension) or expr.form != "generator" or len(expr.clauses) != 1:
        return None
    (clause,) = expr.clauses
    meaning: dict[str, Expr] = dict(zip(expr.names, expr.values, strict=True))
    iterable = ir.substitute(clause.iter, meaning)
    own = {n: variable(n) for n in dict.fromkeys(ir.target_names(clause.target))}
    meaning = {**meaning, **{n: Var(new) for n, new in own.items()}}
    target = ir.map_target(clause.target, own.__getitem__)
    tests = tuple(ir.substitute(test, meaning) for test in clause.tests)
    return Clause(target, iterable, tests), ir.substitute(expr.element, meaning)


def _loop_side_by_side(call: Call, variable: Callable[[str], str]) -> tuple[Clause, Expr] | None:
    """The same for `enumerate` and `zip` of generator expressions without tests.

    before::                                  after::
        for y, z in zip((f(x) for x in xs), zs):   for x, item in zip(xs, zs):
            body                                      y, z = f(x), item
                                                      body
    """
    targets: list[Target] = []
    args: list[Expr] = []
    items: list[Expr] = []
    if call.fn == _SIDE_BY_SIDE[0]:  # (the count comes first, and is no argument)
        targets.append(variable("i"))
        items.append(Var(str(targets[0])))
    own = call.args if call.fn == _SIDE_BY_SIDE[1] else call.args[:1]
    found = [loop_over(arg, variable) for arg in own]
    for arg, generated in zip(own, found, strict=True):
        if generated is not None and not generated[0].tests:
            targets.append(generated[0].target)
            args.append(generated[0].iter)
            items.append(generated[1])
        elif generated is not None or is_generator(arg):
            return None
        else:
            targets.append(variable("item"))
            args.append(arg)
            items.append(Var(str(targets[-1])))
    if not any(found):
        return None
    again = replace(call, args=(*args, *call.args[len(own) :]))
    return Clause(tuple(targets), again, ()), ir.Display("tuple", tuple(items))


def is_inert(expr: Comprehension) -> bool:
    """Whether the elements are numbers, flags and texts that carry no derivative, whatever the
    comprehension goes through and tests: `[0.0 for row in rows]`, `(x > 0 for x in xs)`."""
    keys = expr.key is None or not _may_carry(expr, expr.key)
    opaque = isinstance(expr.element, Opaque) and not isinstance(expr.element, ir.Text)
    return keys and not opaque and not carries(expr)


def carries(expr: Comprehension) -> bool:
    """Whether an element may carry a derivative, or be given one: not if it is a number made of
    integers from `range`."""
    return _may_carry(expr, expr.element)


def _may_carry(expr: Comprehension, element: Expr) -> bool:
    if is_constant(element) or is_comparison(element) or is_shape_query(element):
        return False
    match element:
        case Comprehension():
            return element.form != "generator" and carries(element)
        case Walrus(inner=inner):
            return _may_carry(expr, inner)
        case Closure():
            return _may_capture(expr, element)
        case Opaque():
            return False
        case Call(fn=Ref(obj=obj)) if id(obj) in _INERT:
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
            case Clause(target=str(name), iter=Call(fn=Ref(obj=obj))) if obj is range:
                found.append(name)
            case Clause(target=(str(name), _), iter=Call(fn=Ref(obj=obj), args=(_,))):
                if obj is enumerate:
                    found.append(name)
    return found


def _is_number(element: Expr) -> bool:
    """Whether an element is computed by arithmetic, so that nothing can be written into it."""
    for part in ir.walk(element):
        match part:
            case Call(fn=Ref(obj=obj) as fn):
                if not (is_arithmetic(fn) or id(obj) in _INERT or obj is float):
                    return False
            case Call() | Display():
                return False
    return True


def _counts(element: Expr, counters: frozenset[str]) -> bool:
    """Whether an element depends on counters alone."""
    data = (p for p in ir.walk(element) if isinstance(p, Ref) and not callable(p.obj))
    return ir.names_in(element) <= counters and next(data, None) is None


# --------------------------------------------------------------------------------------------------
# Calls that take from what they go through until they have one value: `functools.reduce`, and
# `next` of a generator expression.


_STOPS = Ref("StopIteration", StopIteration)


def is_reduction(call: Call) -> bool:
    """Whether a call is read as a loop: `functools.reduce(f, xs)`, `next(x for x in xs if x)`."""
    match call:
        case Call(fn=Ref(obj=functools.reduce), args=(_, _, *rest), kwargs=()):
            return len(rest) < 2
        case Call(fn=Ref(obj=builtins.next), args=(Comprehension() as items, *rest), kwargs=()):
            one = is_generator(items) and len(items.clauses) == 1 and carries(items)
            return one and bool(items.clauses[0].tests) and len(rest) < 2
    return False


def reduction(call: Call, name: str, variable: Callable[[str], str], origin: Origin) -> Block:
    """The statements that such a call stands for, its value by this name; `variable` gives names
    for what they bind besides.

    before::                                  after::
        y = functools.reduce(f, xs, 1.0)          y = 1.0
                                                  for item in xs:
                                                      y = f(y, item)
    """
    if isinstance(call.args[0], Comprehension):
        return _first(call, name, variable, origin)
    f, items, *start = call.args
    first = start[0] if start else Index(items, Const(0), call.at)
    rest = items if start else Index(items, ir.Slice(Const(1)), call.at)
    item = variable("item")
    step = Assign(name, Call(f, (Var(name), Var(item)), (), call.at), origin)
    return (Assign(name, first, origin), For(item, rest, (step,), origin))


def _first(call: Call, name: str, variable: Callable[[str], str], origin: Origin) -> Block:
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
    found = loop_over(items, variable)
    assert found is not None
    clause, item = found
    flag = "" if default else variable("found")
    body: Block = (Assign(name, item, origin), Break(origin))
    if flag:
        body = (Assign(flag, Const(True), origin), *body)
    for test in reversed(clause.tests):
        body = (If(test, body, (), origin),)
    loop = For(clause.target, clause.iter, body, origin)
    if not flag:
        return (Assign(name, default[0], origin), loop)
    stop = OpaqueStmt("raise StopIteration", (), (), (_STOPS,), (), origin)
    missing: Expr = Call(NOT, (Var(flag),))
    return (Assign(flag, Const(False), origin), loop, If(missing, (stop,), (), origin))
