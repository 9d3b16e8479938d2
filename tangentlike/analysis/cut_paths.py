"""Where a value with a derivative goes on without it: as text that becomes a number again, and as
a key of a dict that is gone through by its keys.

`float(f"{x}")` is `x` again, and `for k in {x: 1.0}` yields it; neither text nor keys carry
derivatives, so that the result would have a derivative of zero. Both are refused.
"""

from __future__ import annotations

import ast
import decimal
import fractions
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

from .. import ir
from ..errors import Place, UnsupportedError
from ..frontend.cuts import Cuts
from ..ir.facts import fact
from ..ir.index import forms, references
from ..ir.kind import UNKNOWN, Kind
from .operations import is_python_function

_TEXT: tuple[Any, ...] = (
    *(str, repr, format, ascii, np.array2string, np.array_str, np.array_repr),
    *(np.format_float_positional, np.format_float_scientific),
)
_TEXT_METHODS = ("format", "join")
_ARRAYS: tuple[Any, ...] = (np.array, np.asarray)
_PASSING: tuple[Any, ...] = (
    *(list, tuple, sorted, reversed, iter, next, zip, enumerate, map, filter, *_ARRAYS),
)
_NUMBERS: tuple[Any, ...] = (
    *(float, complex, np.float64, np.float32, np.float16, np.longdouble, np.complex128),
    *(np.fromstring, ast.literal_eval, decimal.Decimal, fractions.Fraction),
)
_BY_KEY = ("get", "pop", "setdefault", "values", "update", "clear", "copy", "__contains__")
_ABOUT = (len, bool, operator.contains, operator.is_, operator.is_not, operator.not_, isinstance)

Names = Callable[[], Collection[str]]


def refuse_cut_paths(
    function: ir.Function, varied: Names, useful: Names, kinds: Mapping[str, Kind]
) -> None:
    """Refuse numbers made of text that varies, and going through keys that vary; `varied` and
    `useful` are asked for only where there are such things."""
    stmts = list(ir.statements(function.body))
    objects = [ref.obj for ref in fact(references, function)]
    reads = any(obj is known for obj in objects for known in (*_NUMBERS, *_ARRAYS))
    reads = reads or "astype" in fact(forms, function)
    if reads and any(_reads_number(part, None) for s in stmts for part in _parts(s)):
        _refuse_text(stmts, frozenset(varied()), useful)
    made = {s.target: s.value for s in stmts if isinstance(s, ir.Assign)}
    keyed = [found for s in stmts for found in _keyed(s, kinds, made)]
    if keyed:
        carried, owners = frozenset(varied()), _owners_of_keys(stmts, made)
        found: set[str] = set()
        while True:  # (what is a key of a dict already carries what the keys of that dict do)
            more = {
                name
                for name, names in keyed
                if any(owners[n] in found if n in owners else n in carried for n in names)
            }
            if more <= found:
                break
            found |= more
        for name in sorted(found):
            _refuse_keys(name, stmts)


def _owners_of_keys(stmts: list[ir.Stmt], made: Mapping[ir.Target, ir.Expr]) -> dict[str, str]:
    """The dict that a name is a key of, where a loop over `d.items()` binds it."""
    found = {}
    for stmt in stmts:
        match stmt:
            case ir.For(target=(str(key), _), iter=view):
                view = made.get(view.name, view) if isinstance(view, ir.Var) else view
                match view:
                    case ir.Call(fn=ir.Attribute(ir.Var(owner), "items"), args=()):
                        found[key] = owner
    return found


def _parts(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    for expr in ir.expressions(stmt):
        yield from ir.walk(expr)


# ------------------------------------------------------------------------------------ text


def _refuse_text(stmts: list[ir.Stmt], varied: frozenset[str], useful: Names) -> None:
    text: set[str] = set()
    before = -1
    while before < len(text):
        before = len(text)
        for stmt in stmts:
            if any(_gives_text(expr, varied, text) for expr in _values(stmt)):
                text.update(_bound(stmt))
    for stmt in stmts:
        for part in _parts(stmt):
            if _reads_number(part, text):
                bound = ir.binds(stmt)
                if not bound or set(bound) & set(useful()):
                    raise _as_text(getattr(part, "at", None) or stmt.origin.place)


def _as_text(place: Place) -> UnsupportedError:
    return UnsupportedError(
        "a number is made from text, and the text from a value that carries derivatives",
        place,
        "Text carries no derivative: use the number itself, or apply tl.stop_gradient to it first.",
    )


def _values(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    match stmt:
        case ir.Assign(value=value) | ir.Store(value=value) | ir.Do(value=value):
            return (value,)
        case ir.For(iter=value) | ir.Update(value=value):
            return (value,)
    return ()


def _bound(stmt: ir.Stmt) -> Collection[str]:
    """What a statement binds, or puts something into."""
    match stmt:
        case ir.Store(target=target) | ir.Update(target=target):
            return ir.names_in(target.base) if not isinstance(target, ir.Var) else {target.name}
        case ir.Do(value=ir.Call(fn=ir.Attribute(base))):
            return ir.names_in(base)
    return ir.binds(stmt)


def _gives_text(expr: ir.Expr, varied: frozenset[str], text: set[str]) -> bool:
    """Whether an expression may be, or hold, text that shows what varies."""
    shown = varied | text

    def within(parts: Collection[ir.Expr]) -> bool:
        return any(_gives_text(part, varied, text) for part in parts)

    match expr:
        case ir.Var(name):
            return name in text
        case ir.Text():
            return bool(ir.names_in(expr) & shown)
        case ir.Display(items=items):
            return within(items)
        case ir.Index(base, _):
            return within((base,))
        case ir.Lazy(items=items):
            return within(items)
        case ir.Call(fn=ir.Attribute(base, name), args=args):
            given = frozenset().union(*map(ir.names_in, args))
            makes = isinstance(base, ir.Const) and name in _TEXT_METHODS and given & shown
            return bool(makes) or within((base, *args))
        case ir.Call(fn=ir.Ref(obj=obj), args=args):
            if any(obj is known for known in _TEXT):
                return bool(ir.names_in(expr) & shown)
            if obj is operator.mod and args and _is_text(args[0]):
                return bool(ir.names_in(expr) & shown)
            joins = obj is operator.add or obj is operator.mul
            return (joins or any(obj is known for known in _PASSING)) and within(args)
    return False


def _is_text(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and isinstance(expr.value, str)


def _reads_number(part: ir.Expr, text: set[str] | None) -> bool:
    """Whether an expression makes a number of text, if its argument is one (with None: whatever
    the argument is)."""
    match part:
        case ir.Call(fn=ir.Ref(obj=obj), args=(first, *rest)):
            given = (first,)
            if obj is map and isinstance(first, ir.Ref):
                obj, given = first.obj, tuple(rest)  # type: ignore[assignment]
            typed = any(word == "dtype" for word, _ in part.kwargs) or len(rest) > 0
            makes = any(obj is known for known in _NUMBERS)
            makes = makes or (typed and any(obj is known for known in _ARRAYS))
        case ir.Call(fn=ir.Attribute(first, "astype")):
            given, makes = (first,), True
        case _:
            return False
    if not makes or text is None:
        return makes
    return any(_gives_text(e, frozenset(), text) for e in given)


# ------------------------------------------------------------------------------------ keys


def _keyed(
    stmt: ir.Stmt, kinds: Mapping[str, Kind], made: Mapping[ir.Target, ir.Expr]
) -> Iterator[tuple[str, frozenset[str]]]:
    """The dicts that a statement puts something into by keys with names in them."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Display(form="dict", keys=keys)):
            names = frozenset().union(*map(ir.names_in, keys))
        case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(pairs),))):
            names = _first_of_pairs(made.get(pairs), made) if obj is dict else frozenset()
        case (
            ir.Store(target=ir.Index(ir.Var(name), key))
            | ir.Update(target=ir.Index(ir.Var(name), key))
        ):
            names = ir.names_in(key)
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name), "setdefault"), args=(key, *_))):
            names = ir.names_in(key)
        case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(name), "setdefault"), args=(key, *_))):
            names = ir.names_in(key)
        case _:
            return
    if names and kinds.get(name, UNKNOWN).form == "dict":
        yield name, frozenset(names)


def _first_of_pairs(pairs: ir.Expr | None, made: Mapping[ir.Target, ir.Expr]) -> frozenset[str]:
    """The names in the first items of pairs that are written out, or of what is zipped."""
    match pairs:
        case ir.Call(fn=ir.Ref(obj=obj), args=(first, *_)) if obj is zip:
            return ir.names_in(first)
        case ir.Display(items=items):
            several = (made.get(i.name) if isinstance(i, ir.Var) else i for i in items)
            rows = (row.items for row in several if isinstance(row, ir.Display) and row.items)
            return frozenset().union(*(ir.names_in(row[0]) for row in rows))
    return frozenset()


def _refuse_keys(name: str, stmts: list[ir.Stmt]) -> None:
    """Refuse all uses of a dict but those by key, and being returned."""
    for stmt in stmts:
        match stmt:
            case ir.Return(value=ir.Var()):
                continue
            case ir.Store(target=ir.Index(ir.Var(base), key), value=value) if base == name:
                exprs: tuple[ir.Expr, ...] = (key, value)
            case ir.Update(target=ir.Index(ir.Var(base), key), value=value) if base == name:
                exprs = (key, value)
            case _:
                exprs = tuple(ir.expressions(stmt))
        if any(_goes_through(expr, name) for expr in exprs):
            raise UnsupportedError(
                f"`{name}` is iterated over, or passed on, and its keys carry derivatives",
                stmt.origin.place,
                "Keys carry no derivative: store the numbers in a list beside the dict, or as its "
                "values.",
            )


def _goes_through(expr: ir.Expr, name: str) -> bool:
    match expr:
        case ir.Var(found):
            return found == name
        case ir.Index(ir.Var(), key):
            return _goes_through(key, name)
        case ir.Call(fn=ir.Attribute(ir.Var(base), method), args=args) if base == name:
            return method not in _BY_KEY or any(_goes_through(a, name) for a in args)
        case ir.Call(fn=ir.Ref(obj=obj), args=args) if any(obj is known for known in _ABOUT):
            return any(_goes_through(a, name) for a in args if not isinstance(a, ir.Var))
    return any(_goes_through(child, name) for child in ir.children(expr))


# --------------------------------------------------------------------------------------------------
# Calls that stay as they stand, of functions out of which something was cut.
#
# What is left of such a function may give nothing back and write nothing, so that its call seems to
# carry no derivative and to leave its arguments alone; but the call runs the function as the user
# wrote it, all of it.

_TO_BE_MADE_AND_GIVEN = 2  # uses of a name


def refuse_cut_callees(
    function: ir.Function,
    varied: Collection[str],
    active: Collection[str],
    cuts: Cuts,
    keeps_effects: Callable[[Any], bool],
    followed: Collection[int] = (),
) -> None:
    """Refuse a call that stays as it stands (those `followed`, by the ids of their statements, do
    not), if something was cut out of what it runs: one that is given what varies, or what is used
    elsewhere and may be written or given back by the whole of the function as it is not by what
    is left of it (`keeps_effects` says that there is no such)."""
    every = list(ir.statements(function.body))
    used = Counter(name for stmt in every for name in {*ir.reads(stmt), *ir.binds(stmt)})
    for stmt in every:
        if id(stmt) in followed or not set(active).isdisjoint(ir.binds(stmt)):
            continue
        called = [found for expr in ir.expressions(stmt) for found in _called(expr)]
        refusal = cuts.behind([name for _, names in called for name in names])
        if refusal is None:
            continue
        if not ir.reads(stmt).isdisjoint(varied):
            raise refusal
        if all(used[name] <= _TO_BE_MADE_AND_GIVEN for name in ir.reads(stmt)):
            continue
        for obj, names in called:
            if cuts.behind(names) and not keeps_effects(obj):
                raise refusal


def _called(expr: ir.Expr) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """The functions that an expression may call, with their names (a method by its name)."""
    for part in ir.walk(expr):
        match part:
            case ir.Ref(text, obj) if is_python_function(obj):
                yield obj, (text.rpartition(".")[2], obj.__name__)
            case ir.Attribute(name=name):
                yield None, (name,)
