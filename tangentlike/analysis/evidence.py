"""What a program's own use of a name says about it.

A name that is multiplied with `@` or indexed by a tuple is an array in every run that gets there
(numbers of NumPy take None and `...`);
one that is negated or divided by a number is an array or a number; one that is written through a
slice is an array or a list.
Uses in one branch only say nothing, since the branch may be there to tell kinds apart.
"""

from __future__ import annotations

import builtins
import operator
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import ir, runtime
from ..frontend.owners import is_numerical
from ..ir.facts import fact
from ..ir.index import ProgramIndex
from ..ir.kind import INT, Kind
from ..rules.index_kinds import takes_no_axis
from ..rules.iterator_programs import program_of
from .operations import rule_object

ARRAY = Kind("array")
VALUE = Kind("value")
OBJECT = Kind("object")
SLICED = Kind("sequence")  # (an array or a list; of what is an array or a number: an array)
DICT = Kind("dict")  # (records of a structured array carry no derivatives)
_WEAK = (VALUE.form, SLICED.form)
_NUMERIC = (operator.sub, operator.truediv, operator.pow, operator.floordiv)
_CHECKS = (runtime.require_array, runtime.require_values)
_IN_PLACE = (operator.isub, operator.itruediv, operator.ipow, operator.ifloordiv)


def evidence(function: ir.Function) -> dict[str, Kind]:
    """Kinds that names must have because of how they are used in every run.

    >>> use = ir.Store(ir.Index(ir.Var("a"), ir.Slice()), ir.Const(0.0), None)  # (no items)
    >>> evidence(ir.Function("f", (), (use,), None))["a"].form
    'array'
    """
    found = _block(_with_numbers(_without_deletions(function.body)))
    for name in _looked_up_by_own_keys(function):
        found.setdefault(name, DICT)
    for name, kind in _checked(function).items():
        _keep(found, name, kind)
    return found


def _with_numbers(block: ir.Block) -> ir.Block:
    """A block in which a number is put into a slice for what arithmetic gave, which is no list:
    `a[1:-1] += 0.5 * b` says that `a` is an array."""
    if not any(map(_put_into_slice, ir.statements(block))):
        return block
    numeric: set[str] = set()
    for stmt in ir.statements(block):
        match stmt:
            case ir.Assign(str(name), ir.Call(ir.Ref(obj=obj), args)):
                with_number = any(
                    arg.name in numeric if isinstance(arg, ir.Var) else _is_fraction(arg)
                    for arg in args
                )
                if any(obj is of for of in _NUMERIC) or (
                    with_number and (obj is operator.mul or obj is operator.add)
                ):
                    numeric.add(name)

    def statement(stmt: ir.Stmt) -> ir.Block | None:
        found = _put_into_slice(stmt) in numeric
        return (ir.replaced(stmt, value=ir.Const(0.0)),) if found else None

    return ir.rewrite(block, statement)


def _put_into_slice(stmt: ir.Stmt) -> str:
    """The name of what a statement puts into a slice, or ""."""
    match stmt:
        case (
            ir.Store(target=ir.Index(_, ir.Slice()), value=ir.Var(name))
            | ir.Update(target=ir.Index(_, ir.Slice()), value=ir.Var(name))
        ):
            return name
    return ""


def _is_fraction(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and isinstance(expr.value, (float, complex))


def _without_deletions(block: ir.Block) -> ir.Block:
    """A block without `del xs[a:b]`, which is `xs[a:b] = []`, and says that `xs` is a list."""
    empty = {
        stmt.target
        for stmt in ir.statements(block)
        if isinstance(stmt, ir.Assign) and stmt.value == ir.Display("list", ())
    }

    def statement(stmt: ir.Stmt) -> ir.Block | None:
        match stmt:
            case ir.Store(value=ir.Var(name)) if name in empty:
                return ()
        return None

    return ir.rewrite(block, statement) if empty else block


def _checked(function: ir.Function) -> dict[str, Kind]:
    """What checks of ours say of names that are checked wherever they are bound."""
    bound = Counter(function.param_names)
    checks: Counter[str] = Counter()
    kinds: dict[str, Kind] = {}
    for stmt in ir.statements(function.body):
        bound.update(() if isinstance(stmt, ir.Update) else ir.binds(stmt))
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(name), *_))):
                if obj in _CHECKS:
                    checks[name] += 1
                    kinds.update(_statement(stmt))
    return {name: kind for name, kind in kinds.items() if checks[name] >= bound[name]}


def _looked_up_by_own_keys(function: ir.Function) -> Iterator[str]:
    """What `for k in d: ... d[k]` says of `d`, also with `sorted(d)`: where it is not a dict, `k`
    is an integer, and as little is lost by taking `k` for a key."""
    ordered: dict[str, str] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(of),))):
                if obj in (sorted, list):
                    ordered[name] = of
            case ir.For(target=str(key), iter=ir.Var(name)):
                name = ordered.get(name, name)
                wanted = ir.Index(ir.Var(name), ir.Var(key))
                inside = (e for s in ir.statements(stmt.body) for e in ir.expressions(s))
                if any(part == wanted for e in inside for part in ir.walk(e)):
                    yield name


def told_apart(function: ir.Function) -> frozenset[str]:
    """Parameters of which the function itself asks what they are: `isinstance(tree, tuple)`.

    One kind would make nonsense of the branch for the others.
    """
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        for expr in ir.expressions(stmt):
            for part in ir.walk(expr):
                match part:
                    case ir.Call(fn=ir.Ref(obj=builtins.isinstance), args=(ir.Var(name), _)):
                        found.add(name)
    return frozenset(found.intersection(function.param_names))


def _block(block: ir.Block) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for stmt in block:
        for name, kind in _statement(stmt):
            _keep(found, name, kind)
        if isinstance(stmt, ir.If):
            then, otherwise = _block(stmt.body), _block(stmt.orelse)
            for name in then:
                if name in otherwise:
                    _keep(found, name, then[name].join(otherwise[name]))
        else:
            for inner in ir.blocks(stmt):
                for name, kind in _block(inner).items():
                    _keep(found, name, kind)
    return found


def _keep(found: dict[str, Kind], name: str, kind: Kind) -> None:
    """The stronger claim wins: array over value, a known rank over none."""
    old = found.get(name)
    if old is not None and {old.form, kind.form} == {VALUE.form, SLICED.form}:
        found[name] = ARRAY
    elif old is None or old.form in _WEAK or (old.shape is None and kind.form == "array"):
        found[name] = kind


def _statement(stmt: ir.Stmt) -> Iterator[tuple[str, Kind]]:
    match stmt:
        case ir.Store(target=ir.Index(ir.Var(name), key)) if _is_tuple(key):
            yield name, ARRAY
        case ir.Update(target=ir.Index(ir.Var(name), key)) if _is_tuple(key):
            yield name, ARRAY
        case (
            ir.Store(target=ir.Index(ir.Var(name), ir.Slice()), value=value)
            | ir.Update(target=ir.Index(ir.Var(name), ir.Slice()), value=value)
        ):
            yield name, ARRAY if _is_number(value) else SLICED
        case (
            ir.Store(target=ir.Attribute(ir.Var(name), field))
            | ir.Update(target=ir.Attribute(ir.Var(name), field))
        ) if _is_objects(field):
            yield name, OBJECT
        case ir.Assign(value=ir.Attribute(ir.Var(name), field)) if _is_objects(field):
            yield name, OBJECT
        case ir.Update(target=ir.Var(name), op=ir.Ref(obj=obj)) if obj in _IN_PLACE:
            if _is_number(stmt.value):
                yield name, VALUE
        case ir.Assign(target=tuple(parts), value=ir.Attribute(ir.Var(name), "shape")):
            if all(isinstance(part, str) for part in parts):
                yield name, Kind("array", shape=(None,) * len(parts))
        case ir.Do(value=ir.Call(fn=ir.Ref(obj=runtime.require_array), args=(ir.Var(name),))):
            yield name, ARRAY
        case ir.Do(
            value=ir.Call(
                fn=ir.Ref(obj=runtime.require_values), args=(ir.Var(name), ir.Const(str(method)))
            )
        ) if method.isidentifier():
            yield name, VALUE
    for expr in ir.expressions(stmt):
        yield from _expression(expr)


def _expression(expr: ir.Expr) -> Iterator[tuple[str, Kind]]:
    if isinstance(expr, (ir.Lazy, ir.Opaque)):
        return  # evaluated on demand, or not at all
    match expr:
        case ir.Call(fn=ir.Ref(obj=operator.matmul), args=args):
            yield from ((a.name, ARRAY) for a in args if isinstance(a, ir.Var))
        case ir.Call(fn=ir.Ref(obj=builtins.range), args=args):
            yield from ((a.name, INT) for a in args if isinstance(a, ir.Var))
        case ir.Call(fn=ir.Ref(obj=operator.neg), args=(ir.Var(name),)):
            yield name, VALUE
        case ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(name), other)) if obj in _NUMERIC:
            if _is_number(other):
                yield name, VALUE
        case ir.Call(fn=ir.Ref(obj=operator.mul), args=(a, b)):
            for factor, other in ((a, b), (b, a)):
                if isinstance(factor, ir.Var) and _is_float(other):
                    yield factor.name, VALUE
        case ir.Call(fn=ir.Attribute(ir.Var(name), field)) if _is_objects(field):
            yield name, OBJECT
        case ir.Index(ir.Var(name), key) if _is_tuple(key):
            yield name, VALUE if takes_no_axis(key) else ARRAY
        case ir.Index(ir.Var(name), ir.Const(str())):
            yield name, DICT
        case ir.Index(ir.Attribute(ir.Var(name), "shape"), ir.Const(int())):
            yield name, ARRAY
    for child in ir.children(expr):
        yield from _expression(child)


def _is_objects(field: str) -> bool:
    """Whether only an object of the user's has an attribute of this name."""
    known = (np.ndarray, np.float64, list, dict, str, deque)
    return field == "rotate" or not any(hasattr(cls, field) for cls in known)


def _is_tuple(key: ir.Expr) -> bool:
    return isinstance(key, ir.Display) and key.form == "tuple"


def _is_number(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and isinstance(expr.value, (int, float, complex))


def _is_float(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and isinstance(expr.value, float)


# --------------------------------------------------------------------------------------------------
# What the program puts into each of its lists and dicts, where all of it can be seen.


_INSERTED = {"append": 0, "insert": 1}  # method -> position of what it puts in
_HARMLESS = frozenset(
    ("pop", "clear", "reverse", "sort", "index", "count", "copy", "remove", "get", "items")
    + ("keys", "values")
)
_READING = frozenset(
    map(id, (len, enumerate, zip, reversed, range, sum, max, min, any, all, sorted, print))
)


@dataclass(frozen=True)
class Contents:
    """`inserted`: name -> every expression that the program may put into the container it names.
    (Of `list(a)` and `a * 3` what is in `a` is left out.) `exposed`: names whose container may be
    changed under another name; of these nothing is inserted."""

    inserted: Mapping[str, tuple[ir.Expr, ...]]
    exposed: frozenset[str]


def contents(function: ir.Function, book: Any) -> Contents:
    """What the program may put into its lists and dicts.

    >>> from ..frontend.lower import program
    >>> contents(program("xs = [a]; xs.append(b)"), None).inserted["xs"]
    (Var(name='a'), Var(name='b'))
    """
    inserted: dict[str, list[ir.Expr]] = {}
    exposed: set[str] = set()
    for stmt in ir.statements(function.body):
        _of_statement(stmt, inserted, exposed, book)
    for names in _names_of_one(function):
        if not exposed.isdisjoint(names):
            exposed |= names
        elif not names.isdisjoint(inserted):
            together = [item for name in sorted(names) for item in inserted.get(name, ())]
            inserted.update(dict.fromkeys(names, together))
    seen = {name: tuple(found) for name, found in inserted.items() if name not in exposed}
    return Contents(seen, frozenset(exposed))


class Filled(NamedTuple):
    """A list that begins with some items and to which each round of one loop appends one."""

    begun: int
    loop: ir.For


def filled(function: ir.Function) -> dict[str, Filled]:
    """The lists that have one length wherever they are read as a whole: after their loop.

    >>> from ..frontend.lower import program
    >>> f = program('''xs = [a]
    ... for i in range(n):
    ...     xs.append(xs[-1] + 1)
    ... ys = []
    ... for i in range(n):
    ...     if i:
    ...         ys.append(i)''')
    >>> [(name, found.begun) for name, found in filled(f).items()]
    [('xs', 1)]
    """
    index = fact(ProgramIndex, function)
    found = {}
    for number, stmt in enumerate(index.statements):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Display("list", items)) if not any(
                map(ir.is_starred, items)
            ) and index.definitions[name] == [number]:
                loop = _filling(name, stmt, index)
                if loop is not None:
                    found[name] = Filled(len(items), loop)
    return found


def _filling(name: str, made: ir.Stmt, index: ProgramIndex) -> ir.For | None:
    """The loop that appends an item to a list in each round; None where another statement may
    change its length, or look at it as a whole before the loop ends."""
    loop: ir.Stmt | None = None
    for number in index.uses.get(name, ()):
        stmt = index.statements[number]
        match stmt:
            case ir.Do(ir.Call(ir.Attribute(ir.Var(base), "append"), (_,), ())) if (
                base == name and loop is None and index.parents[number] >= 0
            ):
                loop = index.statements[index.parents[number]]
            case ir.Do() | ir.Update(target=ir.Var()):
                return None
            case _ if any(
                isinstance(part, ir.Attribute) and part.base == ir.Var(name)
                for expr in ir.expressions(stmt)
                for part in ir.walk(expr)
            ):
                return None  # (a method)
    if not isinstance(loop, ir.For) or index.block_of(loop) != index.block_of(made):
        return None
    first, last = index.number(loop), index.ends[index.number(loop)]
    if any(isinstance(s, ir.Break | ir.Continue | ir.Return) for s in index.statements[first:last]):
        return None
    if any(isinstance(index.statements[n], ir.Try) for n in index.around(first)):
        return None
    early = (index.statements[n] for n in index.uses[name] if n < last)
    return loop if all(_only_takes_items(stmt, name) for stmt in early) else None


def _only_takes_items(stmt: ir.Stmt, name: str) -> bool:
    """Whether a statement reads a list for its items, or to append to it, alone."""
    parts = [part for expr in ir.expressions(stmt) for part in ir.walk(expr)]
    taken = sum(
        isinstance(part, ir.Index) and part.base == ir.Var(name) and type(part.key) is not ir.Slice
        for part in parts
    )
    grows = isinstance(stmt, ir.Do) and ir.Attribute(ir.Var(name), "append") in parts
    return taken + grows == parts.count(ir.Var(name))


def _names_of_one(function: ir.Function) -> list[frozenset[str]]:
    """Sets of names that plain copies, `b = a`, make names of one object."""
    found: dict[str, set[str]] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Var(other)):
                together = found.get(name, {name}) | found.get(other, {other})
                found.update(dict.fromkeys(together, together))
    return list({id(names): frozenset(names) for names in found.values()}.values())


def made_of(value: ir.Expr) -> ir.Expr | None:
    """What `list(a)` takes its items from; None of any other expression."""
    match value:
        case ir.Call(ir.Ref(obj=builtins.list), (source,), ()) if not ir.is_starred(source):
            return source
    return None


def _of_statement(
    stmt: ir.Stmt, inserted: dict[str, list[ir.Expr]], exposed: set[str], book: Any
) -> None:
    match stmt:
        case ir.Assign(target=str(name), value=ir.Display(form, items)) if form != "tuple":
            inserted.setdefault(name, []).extend(items)
            exposed.update(*map(ir.names_in, items))
        case ir.Assign(target=str(name), value=value) if (made := made_of(value)) is not None:
            inserted.setdefault(name, [])
            exposed.update(_escaping(made, book))
        case ir.Store(target=ir.Index(ir.Var(name), key), value=value):
            if isinstance(key, ir.Slice):
                exposed.add(name)
            inserted.setdefault(name, []).append(value)
            exposed.update(ir.names_in(value))
        case ir.Update(ir.Index(ir.Var(name), key) as item, op, value) if type(key) is not ir.Slice:
            inserted.setdefault(name, []).append(ir.Call(op, (item, value)))
            exposed.update(ir.names_in(value))
        case ir.Update(target=target):
            exposed.update(ir.names_in(target.base if isinstance(target, ir.Index) else target))
            exposed.update(ir.names_in(stmt.value))
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name), method), args=args)):
            at = _INSERTED.get(method)
            if at is not None and len(args) > at:
                inserted.setdefault(name, []).append(args[at])
                exposed.update(ir.names_in(args[at]))
            elif method not in _HARMLESS:
                exposed.update(ir.reads(stmt))
        case ir.Assign(target=str(), value=ir.Var()):
            pass  # (see `_names_of_one`)
        case ir.Return() | ir.If() | ir.While() | ir.For():
            pass
        case _:
            for expr in ir.expressions(stmt):
                exposed.update(_escaping(expr, book))


def _escaping(expr: ir.Expr, book: Any) -> frozenset[str]:
    """Names whose container the value of an expression may hand on."""
    match expr:
        case ir.Index() | ir.Attribute():
            return frozenset()  # an element, not the container
        case ir.Call(fn=ir.Attribute(ir.Var(_), method)) if method in _HARMLESS:
            return frozenset()
        case ir.Call() if _only_reads(expr, book):
            return frozenset()
        case _:
            return ir.names_in(expr)


def _only_reads(call: ir.Call, book: Any) -> bool:
    if isinstance(call.fn, ir.Ref) and (id(call.fn.obj) in _READING or _is_operator(call.fn)):
        return True
    obj = rule_object(call, {})
    if program_of(obj) is not None:
        return True  # (new lists of the items)
    if obj is None or book is None:
        return False
    rule = book.find(obj)
    if rule is None:
        return bool(book.is_nondifferentiable(obj))
    return rule.view_of(call) == "no" or is_numerical(obj)  # (NumPy makes arrays of lists)


def _is_operator(fn: ir.Ref) -> bool:
    """Whether it is `+`, `*`, `|`, ...: these make new containers of the items."""
    return not fn.text.replace(".", "").isidentifier()
