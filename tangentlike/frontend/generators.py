"""Generator functions of the user's, read as the statements that they run.

A `for` through the call of one is the generator's own statements, with the body of the loop in the
place of each `yield`. That is what Python does, in the same order:

    def halves(x):                before::                       after::
        while np.sum(x) > 1:          for y in halves(v):            x2 = v
            x = x / 2                     if y[0] < 0:               while np.sum(x2) > 1:
            yield x                           break                      x2 = x2 / 2
                                          s = s + np.sum(y)              y = x2
                                                                         if y[0] < 0:
                                                                             break
                                                                         s = s + np.sum(y)

Everywhere else a generator is the list of what it yields (`filled_list`), where that all of it is
made at once changes nothing (`rules/iterators.py`).
"""

from __future__ import annotations

import collections
import copy
import inspect
import itertools
import math
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gast
import numpy as np

from .. import ir
from ..ir import Assign, Attribute, Block, Call, Const, Display, Do, Expr, If, Origin, Ref, Return
from ..ir.names import Names
from ..runtime.recent import Recent
from ..runtime.records import attribute_of
from .comprehensions import may_be_none
from .jumps import structure_jumps, without_jumps
from .lifting import copy_of
from .owners import is_library, is_numerical, is_of_runtime, is_pythons, mark
from .resolve import Scope
from .source import find_definition
from .structures import items_by_place


def generated(items: list[Any], *read: Any, writes: bool, endless: bool, never_ends: bool) -> Any:
    """What an inner generator function gives, which reads these: a mark in the program, which
    `rules/iterators.py` takes away."""
    raise AssertionError("a mark in the program, which is never called")


GENERATED = Ref("generated", generated)
_DEFINITIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef, gast.Lambda)
_LOOPS = (gast.For, gast.While)


def is_generator_function(obj: Any) -> bool:
    """Whether a function is the user's, and its calls make generators."""
    return (
        isinstance(obj, types.FunctionType)
        and bool(obj.__code__.co_flags & inspect.CO_GENERATOR)
        and attribute_of(obj, "__wrapped__", None) is None
        and not is_of_runtime(obj)
    )


@dataclass(frozen=True)
class Manner:
    """How a generator runs, as far as its text says. `writes`: it may change what it has yielded,
    or what others see. `endless`: it may go on for ever. `never_ends`: it does."""

    writes: bool
    endless: bool
    never_ends: bool


def manner_of(node: Any, lookup: Callable[[str], Any]) -> Manner:
    """The manner of a generator function; `lookup` finds the objects behind its outer names."""
    parts = list(gast.walk(node))[1:]
    own = _counted_up(node)
    return Manner(
        any(_writes(part, lookup, own) for part in parts),
        any(isinstance(part, gast.While | gast.YieldFrom) for part in parts),
        any(_never_ends(part) for part in parts),
    )


_KNOWN: Recent[types.CodeType, Manner] = Recent(256)


def manner_of_function(fn: types.FunctionType) -> Manner:
    """The manner of a live generator function; of one that calls itself the most careful."""
    known = _KNOWN.get(fn.__code__)
    if known is None:
        _KNOWN.put(fn.__code__, Manner(True, True, False))
        made = manner_of(find_definition(fn).node, Scope.of(fn).lookup)
        known = _KNOWN.put(fn.__code__, made)
    return known


def manner_of_method(fn: types.FunctionType, cls: type) -> Manner:
    """The same of a method, with what its class does where the method reads an item or an attribute
    of its object."""
    own = fn.__code__.co_varnames[:1]
    found, called = manner_of_function(fn), set()
    for part in gast.walk(find_definition(fn).node):
        match part:
            case gast.Subscript(value=gast.Name(id=name), ctx=gast.Load()) if name in own:
                called.add(getattr(cls, "__getitem__", None))
            case gast.Attribute(value=gast.Name(id=name), attr=attr) if name in own:
                called.add(attribute_of(getattr(cls, attr, None), "fget", None))
    read = (method for method in called if isinstance(method, types.FunctionType))
    writes = found.writes or any(manner_of_function(method).writes for method in read)
    ends = fn is items_by_place and hasattr(cls, "__len__")
    return replace(found, writes=writes, endless=found.endless and not ends)


def listed(fn: Ref) -> Ref:
    """A copy of a generator function, read as what gives the list of what it yields."""
    made = copy_of(fn.obj)
    mark(made, listed=fn.obj)
    return Ref(fn.text, made)


def _counted_up(node: Any) -> set[str]:
    """Names that begin as constants, and of which nothing but results of arithmetic is seen: what
    `s += x` writes, if anything, is an array of its own (`yield s / n`, and not `yield s`)."""
    bound: collections.Counter[str] = collections.Counter()
    seen: collections.Counter[str] = collections.Counter()
    for part in gast.walk(node):
        match part:
            case gast.Name(id=name, ctx=gast.Load()):
                seen[name] += 1
            case gast.Name(id=name):
                bound[name] += 1
        match part:
            case gast.Assign(targets=[target], value=value):
                pairs = zip(_items(target), _items(value), strict=False)
                bound.subtract(t.id for t, v in pairs if _is_constant_of_name(v, t))
            case gast.AugAssign(target=gast.Name(id=name)):
                bound[name] -= 1
            case gast.BinOp(left=left, right=right):
                seen.subtract(e.id for e in (left, right) if isinstance(e, gast.Name))
    return {name for name, count in bound.items() if count == 0 == seen[name]}


def _items(node: Any) -> list[Any]:
    return node.elts if isinstance(node, gast.Tuple) else [node]


def _is_constant_of_name(value: Any, target: Any) -> bool:
    return isinstance(value, gast.Constant) and isinstance(target, gast.Name)


def _writes(part: Any, lookup: Callable[[str], Any], own: Collection[str]) -> bool:
    match part:
        case gast.AugAssign(target=gast.Name(id=name)) if name in own:
            return False
        case gast.AugAssign() | gast.Delete() | gast.Global() | gast.Nonlocal():
            return True
        case gast.Subscript(ctx=gast.Store()) | gast.Attribute(ctx=gast.Store()):
            return True
        case gast.Call(func=gast.Name(id=name)):
            try:
                obj = lookup(name)
            except KeyError:
                return True
            if is_generator_function(obj):
                return manner_of_function(obj).writes
            return not (is_pythons(obj) or is_numerical(obj) or is_library(obj))
        case gast.Call(func=gast.Attribute(value=gast.Name(id=name), attr=attr)):
            try:
                return not isinstance(lookup(name), types.ModuleType)
            except KeyError:
                return not is_pure_method(attr)
        case gast.Call(func=gast.Attribute(attr=attr)):
            return not is_pure_method(attr)
        case gast.Call():
            return True
    return False


def is_pure_method(name: str) -> bool:
    """Whether methods of this name, of arrays and containers, change nothing."""
    writing = ("sort", "fill", "put", "partition", "resize", "itemset", "setflags", "byteswap")
    known = hasattr(np.ndarray, name) or name in ("items", "keys", "values", "get", "format")
    return known and name not in writing


def _never_ends(part: Any) -> bool:
    """Whether this is a loop without an end, that nothing in it leaves."""
    if not (isinstance(part, gast.While) and isinstance(part.test, gast.Constant)):
        return False
    leaves = (gast.Return, gast.Raise)
    inside = [inner for stmt in part.body for inner in gast.walk(stmt)]
    broken = any(isinstance(stmt, gast.Break) for stmt in _own_jumps(part.body))
    return not broken and not any(isinstance(inner, leaves) for inner in inside)


def _own_jumps(block: Sequence[Any]) -> Iterator[Any]:
    """The statements of a loop's body, without those of the loops in it."""
    for stmt in block:
        yield stmt
        if not isinstance(stmt, (*_LOOPS, *_DEFINITIONS)):
            for name in ("body", "orelse", "finalbody", "handlers"):
                yield from _own_jumps(getattr(stmt, name, None) or ())


# -------------------------------------------------------------------- the list of what it yields


def filled_list(
    read: Callable[[Callable[[Expr], Block]], Block],
    names: Names,
    origin: Origin,
    ended: Callable[[Expr], Expr] = lambda items: items,
) -> Block:
    """The body of a function that gives the list of what a generator yields. `read` reads the
    generator's body, given what stands for a `yield`; `ended` says what is made of the list.

    before::                      after::
        yield x                       items = []
        if y > 0:                     items.append(x)
            return                    if not y > 0:
        yield y                           items.append(y)
                                      return items
    """
    items = ir.Var(names.fresh("items"))

    def added(value: Expr) -> Block:
        return (Do(Call(Attribute(items, "append"), (value,)), origin),)

    body = run_through(read(added), names, origin)
    empty = Assign(items.name, Display("list", ()), origin)
    return (empty, *body, Return(ended(items), origin))


# ------------------------------------------------------------------------- loops through a call


_ENDLESS = (itertools.count, itertools.cycle, itertools.repeat)


@dataclass(frozen=True)
class Beside:
    """What a loop goes through together with a generator: `enumerate` counts, `zip` takes items of
    others, until one of them has no more, `islice` and `takewhile` stop earlier.

    The loop binds what `item` says of a value that the generator yields. `first` makes lists of
    what else it goes through; where a test of `over` holds, the generator is not asked for more,
    and `ended` leaves the loop, or a round of it, where it was asked in vain.
    """

    generator: Expr
    item: Callable[[Expr], Expr] = lambda value: value
    first: Block = ()
    over: tuple[Expr, ...] = ()
    ended: Callable[[Expr], Block] = lambda value: ()
    counted: Block = ()

    @classmethod
    def of(cls, iterable: Expr, names: Names, origin: Origin) -> Beside:
        """What the header of a loop says; all of it, where it goes through one thing only."""
        match iterable:
            case Call(fn=Ref(obj=obj), args=args, kwargs=words):
                made: Callable[..., Beside | None] | None = _BESIDE.get(id(obj))
                if made is None or (words and words != (("strict", Const(False)),)):
                    return cls(iterable)
                return made(args, names, origin) or cls(iterable)
        return cls(iterable)

    def counting(self, count: ir.Var, start: Expr, origin: Origin) -> Beside:
        """The same with a number for each item."""
        more = ir.Update(count, ir.IADD, Const(1), origin)
        first = (*self.first, Assign(count.name, start, origin))
        return replace(self, first=first, counted=(*self.counted, more))

    def stops(self, origin: Origin) -> Block:
        """What leaves the generator where no more is asked for."""
        return tuple(If(test, (Return(Const(None), origin),), (), origin) for test in self.over)


def _enumerated(args: tuple[Expr, ...], names: Names, origin: Origin) -> Beside | None:
    inner, start = (*args, Const(0))[:2]
    within, count = Beside.of(inner, names, origin), ir.Var(names.fresh("count"))

    def item(value: Expr) -> Expr:
        return Display("tuple", (count, within.item(value)))

    return replace(within.counting(count, start, origin), item=item)


def _zipped(args: tuple[Expr, ...], names: Names, origin: Origin) -> Beside | None:
    found = [n for n, column in enumerate(args) if gives_generated(column)]
    others = [column.fn for column in args if isinstance(column, Call)]
    if any(fn.obj is endless for fn in others if isinstance(fn, Ref) for endless in _ENDLESS):
        return None
    if len(found) != 1 or any(map(ir.is_starred, args)):
        return None
    within, count = Beside.of(args[found[0]], names, origin), ir.Var(names.fresh("count"))
    parts: list[Expr | None] = []
    first, ends = list(within.first), list[Expr]()
    for number, column in enumerate(args):
        if number == found[0]:
            parts.append(None)
            continue
        items = ir.Var(names.fresh("column"))
        first.append(Assign(items.name, Call(ir.LIST, (column,)), origin))
        ends.append(_reached(count, Call(ir.LEN, (items,))))
        parts.append(ir.Index(items, count))

    def item(value: Expr) -> Expr:
        made = within.item(value)
        return Display("tuple", tuple(made if part is None else part for part in parts))

    def ended(value: Expr) -> Block:
        left = (If(test, (ir.Break(origin),), (), origin) for test in ends[found[0] :])
        return (*within.ended(value), *left)

    over = (*ends[: found[0]], *within.over)
    beside = replace(within, item=item, first=tuple(first), over=over, ended=ended)
    return beside.counting(count, Const(0), origin)


def _sliced(args: tuple[Expr, ...], names: Names, origin: Origin) -> Beside | None:
    if not 2 <= len(args) <= 3:
        return None
    within, bounds = Beside.of(args[0], names, origin), []
    first = list(within.first)
    for bound in args[1:]:
        name = ir.Var(names.fresh("bound"))
        bounds.append(bound if isinstance(bound, Const) else name)
        if bounds[-1] is name:
            first.append(Assign(name.name, bound, origin))
    count, begin = ir.Var(names.fresh("count")), (bounds[0] if len(bounds) == 2 else Const(None))
    over = (
        () if bounds[-1] == Const(None) else (_if_given(bounds[-1], _reached(count, bounds[-1])),)
    )
    made = replace(within, first=tuple(first), over=(*over, *within.over))
    made = made.counting(count, Const(0), origin)
    if begin in (Const(None), Const(0)):
        return made
    early = _if_given(begin, Call(ir.LESS, (count, begin)))
    skipped: list[Any] = [*made.counted, ir.Continue(origin)]
    passed = (If(early, tuple(skipped), (), origin),)
    return replace(made, ended=lambda value: (*within.ended(value), *passed))


def _taken_while(args: tuple[Expr, ...], names: Names, origin: Origin) -> Beside | None:
    if len(args) != 2:
        return None
    test, within = args[0], Beside.of(args[1], names, origin)
    if isinstance(test, ir.Var):
        test = ir.Var(names.fresh("test"))
        within = replace(within, first=(*within.first, Assign(test.name, args[0], origin)))

    def ended(value: Expr) -> Block:
        fails = Call(ir.NOT, (Call(test, (within.item(value),)),))
        return (*within.ended(value), If(fails, (ir.Break(origin),), (), origin))

    return replace(within, ended=ended)


_BESIDE = {
    id(enumerate): _enumerated,
    id(zip): _zipped,
    id(itertools.islice): _sliced,
    id(itertools.takewhile): _taken_while,
}


def _if_given(bound: Expr, test: Expr) -> Expr:
    """A test of a bound that may be None, which stands for none."""
    if not may_be_none(bound):
        return test
    return ir.Lazy("and", (Call(ir.IS_NOT, (bound, Const(None))), test))


def _reached(count: Expr, length: Expr) -> Expr:
    return Call(ir.AT_LEAST, (count, length))


def gives_generated(expr: Expr) -> bool:
    """Whether a loop through this goes through the call of a generator function."""
    if not isinstance(expr, Call) or not isinstance(expr.fn, Ref):
        return False
    within = id(expr.fn.obj) in _BESIDE and any(map(gives_generated, expr.args))
    return within or is_generator_function(expr.fn.obj)


# What takes all that it is given, and what asks a generator for a part of its items, is the call of
# a function that makes these, by a loop:
#
# before::                             after::
#     s = sum(islice(gen(x), 2))           def taken():
#                                              items = []
#                                              for item in islice(gen(x), 2):
#                                                  items.append(item)
#                                              return items
#                                          s = sum(taken())


class Renamed(gast.NodeTransformer):  # type: ignore[misc]
    """Gives other names to those of a node, which it changes."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: Any) -> Any:
        made = gast.Name(self.names.get(node.id, node.id), node.ctx, None, None)
        return gast.copy_location(made, node)


_TAKERS = (sum, list, tuple, min, max, sorted, math.prod, math.fsum, set, dict, np.fromiter)
_HEADS = {gast.If: "test", gast.While: "test", gast.For: "iter"}
_SIMPLE = (gast.Assign, gast.AnnAssign, gast.AugAssign, gast.Expr, gast.Return)


class TakenInPart(gast.NodeTransformer):  # type: ignore[misc]
    """Puts such calls into a statement; `made` are the functions. `meaning` finds the object behind
    a name, or an attribute of a module."""

    def __init__(self, meaning: Callable[[Any], Any], names: Names) -> None:
        self.meaning, self.names = meaning, names
        self.made: list[Any] = []
        self.inner: tuple[str, ...] = ()  # names of lambdas and comprehensions around

    @classmethod
    def of(cls, node: Any, meaning: Callable[[Any], Any], names: Names) -> tuple[list[Any], Any]:
        """The functions for a statement (for its header, where it has a body), and what it is."""
        part = _HEADS.get(type(node), "")
        head = node if isinstance(node, _SIMPLE) else getattr(node, part, None)
        found = cls(meaning, names)
        if head is None or not any(map(found._is_part, gast.walk(head))):
            return [], node
        changed = found.visit(copy.deepcopy(head))
        if head is not node:
            changed = _with(node, **{part: changed})
        return found.made, changed

    def visit_Call(self, node: Any) -> Any:
        taker = node.args and any(self.meaning(node.func) is known for known in _TAKERS)
        if taker and self._is_part(node.args[0]):
            node = _with(node, args=[self._call(node.args[0]), *node.args[1:]])
        return self.generic_visit(node)

    def visit_ListComp(self, node: Any) -> Any:
        return self._call(node) if self._is_part(node) else self._within(node)

    def visit_Assign(self, node: Any) -> Any:
        unpacks = any(isinstance(target, gast.Tuple | gast.List) for target in node.targets)
        if unpacks and self._is_part(node.value):
            return _with(node, value=self._call(node.value))
        return self.generic_visit(node)

    def _within(self, node: Any) -> Any:
        own = [
            part.id
            for part in gast.walk(node)
            if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Load)
        ]
        around, self.inner = self.inner, (*self.inner, *own)
        found = self.generic_visit(node)
        self.inner = around
        return found

    visit_Lambda = visit_SetComp = visit_DictComp = visit_GeneratorExp = _within

    def _is_part(self, node: Any) -> bool:
        if isinstance(node, gast.GeneratorExp | gast.ListComp):
            plain = not any(isinstance(part, gast.NamedExpr) for part in gast.walk(node))
            return plain and self._is_part(node.generators[0].iter)
        return isinstance(node, gast.Call) and self._asks(node) and self._gives(node)

    def _asks(self, node: Any) -> bool:
        return id(self.meaning(node.func)) in _BESIDE

    def _gives(self, node: Any) -> bool:
        if not isinstance(node, gast.Call):
            return False
        within = self._asks(node) and any(map(self._gives, node.args))
        return within or is_generator_function(self.meaning(node.func))

    def _call(self, node: Any) -> Any:
        """The call of a function that makes these items."""
        items, name = self.names.fresh("items"), self.names.fresh("taken")
        if isinstance(node, gast.Call):
            item = self.names.fresh("item")
            loops, element = [f"for {item} in {gast.unparse(node)}:"], item
        else:
            loops, element = self._loops(node)
        read = {part.id for part in gast.walk(node) if isinstance(part, gast.Name)}
        params = ", ".join(n for n in dict.fromkeys(self.inner) if n in read)
        lines = [f"{items} = []", *loops, f"{items}.append({element})", f"return {items}"]
        depths = [1, *range(1, len(loops) + 2), 1]
        body = "".join(f"{'    ' * n}{line}\n" for n, line in zip(depths, lines, strict=True))
        made = gast.parse(f"def {name}({params}):\n{body}\n{name}({params})").body
        for part in made:
            for inner in gast.walk(part):
                gast.copy_location(inner, node)
        self.made.append(made[0])
        return made[1].value

    def _loops(self, node: Any) -> tuple[list[str], str]:
        """The headers of a comprehension, and its element, with new names for its variables."""
        targets = [clause.target for clause in node.generators]
        bound = [p.id for t in targets for p in gast.walk(t) if isinstance(p, gast.Name)]
        renamed = Renamed({name: self.names.fresh(name) for name in bound})
        headers = []
        for number, clause in enumerate(node.generators):
            through = clause.iter if number == 0 else renamed.visit(clause.iter)
            target = gast.unparse(renamed.visit(clause.target))
            headers.append(f"for {target} in {gast.unparse(through)}:")
            headers += (f"if {gast.unparse(renamed.visit(test))}:" for test in clause.ifs)
        return [h.replace("\n", "") for h in headers], gast.unparse(renamed.visit(node.elt))


def _with(node: Any, **parts: Any) -> Any:
    """A copy of a node with other parts."""
    made = copy.copy(node)
    for name, part in parts.items():
        setattr(made, name, part)
    return made


def turn(body: Block, names: Names, origin: Origin) -> tuple[Block, Block, Block]:
    """A loop's body as what stands for a `yield`: what stands before the loop, the body itself,
    after which the generator returns where the loop was left, and what stands after the loop."""
    flags, inner, jumps = without_jumps(body, names)
    before: list[Any] = []
    after: list[Any] = []
    leaving: list[Any] = []
    for jump in jumps:
        flag, made = (jump.test, jump.body[0]) if isinstance(jump, If) else (None, jump)
        if isinstance(made, ir.Continue):
            continue
        left: list[Any] = []
        if isinstance(made, Return):
            returned = names.fresh("returned")
            before.append(Assign(returned, Const(False), origin))
            after.append(If(ir.Var(returned), (made,), (), origin))
            left.append(Assign(returned, Const(True), origin))
        left.append(Return(Const(None), origin))
        leaving.extend([If(flag, tuple(left), (), origin)] if flag is not None else left)
    return tuple(before), (*flags, *inner, *leaving), tuple(after)


def run_through(body: Block, names: Names, origin: Origin) -> Block:
    """A generator's statements, with jumps to its end as structure."""
    whole = ir.Function("generator", (), body, origin.place)
    *statements, _ = structure_jumps(whole, names).body
    return tuple(statements)
