"""What loops run through, made lists: the reverse sweep runs through it again, and an iterator is
used up by then, a dict may have other keys."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ... import ir
from ...analysis.operations import gives_iterator
from ...errors import UnsupportedError
from ...frontend.comprehensions import is_generator
from ...frontend.naming import noun
from ...ir.facts import fact
from ...ir.index import ProgramIndex, forms
from ...ir.kind import UNKNOWN
from ...runtime.iterators import has_items_by_place
from ..context import Context
from ..loops import is_call, may_break, sources_of
from .lengths import Changes


def iterators_as_lists(function: ir.Function, context: Context) -> ir.Function:
    """A function whose loops run through lists where they ran through iterators.

    before::                                after::
        ndindex = np.ndindex(a.shape)           ndindex2 = np.ndindex(a.shape)
                                                ndindex = list(ndindex2)
        for n, k in enumerate(ndindex):         for n, k in enumerate(ndindex):
            s = s + n * a[k]                        s = s + n * a[k]

    An iterator of which several loops take a part each is refused.
    """
    if ir.For not in fact(forms, function):
        return function
    others: set[str] = set()
    loops: list[ir.For] = []
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.For):
            loops.append(stmt)
        else:
            others |= ir.reads(stmt)
    index = fact(ProgramIndex, function)
    changes = Changes(function, context)

    def statement(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        name = _iterator(stmt)
        taking = [loop for loop in loops if name in ir.names_in(loop.iter)] if name else []
        if name is None or not taking:
            return None
        here = any(later is taking[0] for later in index.following(stmt))
        taken = Counter(part for loop in taking for part in ir.walk(loop.iter))  # (`zip(it, it)`)
        if taken[ir.Var(name)] > 1 or name in others or not here:
            raise UnsupportedError(
                f"`{name}` is an iterator, and what a loop leaves of it is read later",
                stmt.origin.place,
                "Make a list of it, `items = list(...)`, and loop over slices of that.",
            )
        match stmt:
            case ir.Assign(value=ir.Call(ir.Ref(obj=builtins.iter), (over,))):
                return [_live(stmt, name, over, context)]
        if not _is_of_numpy(stmt):  # (`np.nditer` has no derivative, whatever is changed)
            _refuse_changed(name, stmt, taking[0], changes)
        return _listed(stmt, name, context)

    return ir.with_body(function, ir.rewrite(function.body, statement))


def _is_of_numpy(stmt: ir.Stmt) -> bool:
    value = getattr(stmt, "value", None)
    made = value.fn.obj if isinstance(value, ir.Call) and isinstance(value.fn, ir.Ref) else None
    return str(getattr(made, "__module__", "")).partition(".")[0] == "numpy"


def _live(stmt: ir.Assign, name: str, over: ir.Expr, context: Context) -> ir.Assign:
    """`it = iter(xs)` as what the loop over `it` then runs over: what `xs` is by then."""
    kind = context.kind_of(over)
    if kind.form in ("list", "tuple"):
        context.kinds[name] = kind
        return dataclasses.replace(stmt, value=over)
    live = ir.Call(context.helper("live_items"), (over,), at=stmt.origin.place)
    return dataclasses.replace(stmt, value=live)


def _refuse_changed(name: str, made: ir.Stmt, loop: ir.For, changes: Changes) -> None:
    """Refuses an iterator of what the loop over it changes: a list of it would not see that."""
    for stmt in ir.statements(loop.body):
        for changed in sorted(changes.among(ir.reads(made), (stmt,))):
            raise UnsupportedError(
                f"`{changed}` is changed in a loop over the iterator `{name}` of it",
                stmt.origin.place,
                f"Loop over `{changed}` itself, or over a copy.",
            )


def _listed(stmt: ir.Stmt, name: str, context: Context) -> list[ir.Stmt]:
    assert isinstance(stmt, ir.Assign)
    once = context.fresh(name, context.kinds[name])
    again = ir.Call(ir.LIST, (ir.Var(once),))
    return [ir.Assign(once, stmt.value, stmt.origin), ir.Assign(name, again, stmt.origin)]


def _iterator(stmt: ir.Stmt) -> str | None:
    """The name that a statement binds to something finite that is run through once."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj))) if (
            gives_iterator(obj) and obj not in _ENDLESS
        ):
            return name
        case ir.Assign(target=str(name), value=value) if is_generator(value):
            return name
    return None


_ENDLESS = (itertools.count, itertools.cycle, itertools.repeat)


def keys_as_lists(function: ir.Function, context: Context) -> ir.Function:
    """A function whose loops run through lists of keys where they ran through dicts that get other
    keys, or that have to be gone through by position, or through sets.

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
            if form == "set" or (form == "dict" and (by_position or name in grown))
        ]

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        for name in keyed(stmt) if isinstance(stmt, ir.For) else ():
            assert isinstance(stmt, ir.For)
            listed = ir.Call(ir.LIST, (ir.Var(name),))
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


def loops_repeatable(function: ir.Function, wrt: tuple[str, ...], context: Context) -> ir.Function:
    """A function whose loops run through what the reverse sweep can run through again, where that
    may be an iterator for all that is known: nothing would be left of it.

    before::                            after::
                                            chosen_items = repeatable(chosen)
        for k, i in enumerate(chosen):      for k, i in enumerate(chosen_items):
            s = s * x[i] + k                    s = s * x[i] + k

    What carries derivatives is taken item by item, by position, which no iterator allows; and
    so is a parameter that a loop runs through by itself (`reversed(xs)`).
    """
    if ir.For not in fact(forms, function):
        return function
    return _Repeatable(function, wrt, context).rewritten(function)


@dataclasses.dataclass
class _Repeatable(ir.Rewriter):
    function: ir.Function
    wrt: tuple[str, ...]
    context: Context
    made: list[ir.Stmt] = dataclasses.field(default_factory=list)  # before the present loop

    @functools.cached_property
    def varied(self) -> frozenset[str]:
        return self.context.varied(self.function, self.wrt)

    def statement(self, stmt: ir.Stmt) -> list[ir.Stmt] | None:
        if not isinstance(stmt, ir.For):
            return None
        whole = self.nested(stmt)
        if self.varied.isdisjoint(_named_in(stmt.body)):  # (which the reverse sweep leaves out)
            return [whole]
        self.made = []
        header = self._header(stmt.iter, stmt)
        if header is not stmt.iter:
            whole = dataclasses.replace(whole, iter=header)
        return [*self.made, whole]

    def _header(self, iterable: ir.Expr, loop: ir.For, twice: bool = False) -> ir.Expr:
        match iterable:
            case ir.Call(args=(source, *start)) if is_call(iterable, enumerate):
                return _with_args(iterable, [self._header(source, loop), *start])
            case ir.Call(args=parts) if is_call(iterable, zip):
                # (`zip(it, it)` gives pairs of what follows each other in an iterator.)
                repeated = [parts.count(part) > 1 for part in parts]
                apart = self.varied.isdisjoint(ir.names_in(iterable))
                whole = any(repeated) or any(map(ir.is_starred, parts))
                if all(map(self._may_be_used_up, parts)) or (apart and whole):
                    return self._named(iterable, loop)
                pairs = zip(parts, repeated, strict=True)
                return _with_args(iterable, [self._header(p, loop, r) for p, r in pairs])
        if iterable is loop.iter and isinstance(iterable, ir.Var):
            known = iterable.name in self.function.param_names
            if known and self.context.kind_of(iterable).form == "unknown":
                return iterable
        return self._named(iterable, loop, twice) if self._may_be_used_up(iterable) else iterable

    def _may_be_used_up(self, source: ir.Expr) -> bool:
        if isinstance(source, ir.Opaque):
            return not ir.is_starred(source) and self.varied.isdisjoint(ir.names_in(source))
        if isinstance(source, ir.Ref):
            return not has_items_by_place(source.obj)
        if not isinstance(source, ir.Var) or source.name in self.context.repeatable:
            return False
        kind, given = self.context.kind_of(source), source.name in self.function.param_names
        forms = ("object", "other", "unknown") + ("value",) * (not given)
        told = kind.form not in forms or kind.spells is not None
        return not told and source.name not in self.varied

    def _named(self, source: ir.Expr, loop: ir.For, twice: bool = False) -> ir.Expr:
        """A name for what two loops can go through."""
        wanted = items_name(source)
        if isinstance(source, ir.Call):
            wanted = "pairs" if len(source.args) == 2 else "groups"
            source = self._bound(f"{wanted}_once", source, loop)
        asked = twice or not ir.names_in(source).isdisjoint(_named_in(loop.body))
        args = (source, ir.Const(True)) if asked else (source,)
        call = ir.Call(self.context.helper("repeatable"), args, at=loop.origin.place)
        items = self._bound(wanted, call, loop)
        self.context.repeatable.add(items.name)
        return items

    def _bound(self, wanted: str, value: ir.Expr, loop: ir.For) -> ir.Var:
        """A name for a value, before the loop."""
        name = self.context.fresh(wanted, UNKNOWN, temporary=True)
        self.made.append(ir.Assign(name, value, loop.origin))
        return ir.Var(name)


def items_name(source: ir.Expr) -> str:
    """How the items are called that a loop takes of something."""
    return f"{source.name if isinstance(source, ir.Var) else noun(source)}_items"


def _with_args(call: ir.Call, args: list[ir.Expr]) -> ir.Call:
    new = ir.unless_same(args, call.args)
    return call if new is call.args else dataclasses.replace(call, args=new)


def _named_in(block: ir.Block) -> Iterator[str]:
    """The names that statements read or bind."""
    for stmt in ir.statements(block):
        yield from ir.reads(stmt)
        yield from ir.binds(stmt)


def taken_in_turn(iterable: ir.Expr) -> Iterator[ir.Expr]:
    """What a loop header takes items from, one after the other."""
    if is_call(iterable, zip) and not any(map(ir.is_starred, iterable.args)):
        for part in iterable.args:
            yield from taken_in_turn(part)
    elif is_call(iterable, enumerate):
        yield from taken_in_turn(iterable.args[0])
    else:
        yield iterable


def with_sources(iterable: ir.Expr, made: Mapping[ir.Expr, ir.Expr]) -> ir.Expr:
    """A loop header with other names for what it takes items from."""
    if is_call(iterable, zip) and iterable not in made:
        args = tuple(with_sources(part, made) for part in iterable.args)
        return dataclasses.replace(iterable, args=args)
    if is_call(iterable, enumerate):
        args = (with_sources(iterable.args[0], made), *iterable.args[1:])
        return dataclasses.replace(iterable, args=args)
    return made.get(iterable, iterable)


# --------------------------------------------------------------------------------------------------
# What may be a dict, for all that is known, where its items are taken one after the other.
#
#     t = {"a": x} if keyed else [x]            t = {"a": x} if keyed else [x]
#                                               require_no_dict(t)
#     for v in t: s += v                        for v in t: s += v
#
# A dict is gone through by its keys, which carry no derivative, where its tangent or adjoint would
# be gone through by values. Where a function makes dicts, and nothing tells whether it is one of
# them that a loop, an unpacking or a `list(t)` goes through, the derivative is written for other
# things, and says so when it runs. (Parameters are known for what is given.)

_VIEWS = ("items", "keys", "values")
_TAKING_ITEMS: tuple[Any, ...] = (zip, enumerate, reversed, sorted, list, tuple, iter, next)
_TAKING_ITEMS += (sum, max, min, map, filter, any, all)


def gone_through(function: ir.Function, context: Context) -> Iterator[str]:
    """The names whose items a function takes."""
    for stmt in ir.statements(function.body):
        yield from _gone_through(stmt, context)


def no_dicts_for_their_items(
    function: ir.Function, wrt: tuple[str, ...], context: Context
) -> ir.Function:
    """The function itself where all that is gone through is known to be a dict, or to be none."""
    found = {
        name
        for stmt in ir.statements(function.body)
        for name in _gone_through(stmt, context)
        if context.kind_of(ir.Var(name)).form == "unknown" and name not in function.param_names
    }
    found -= _views(function)
    if not found or not _makes_dicts(function, context, set()):
        return function
    checked = found & context.varied(function, wrt)
    if not checked:
        return function

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        for name in dict.fromkeys(_gone_through(stmt, context)):
            if name in checked:
                yield context.check("require_no_dict", (ir.Var(name),), stmt.origin)
        yield stmt

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def _views(function: ir.Function) -> set[str]:
    """The names that stand for views of dicts wherever they are bound."""
    views: set[str] = set()
    others: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Attribute(_, method), args=())):
                (views if method in _VIEWS else others).add(name)
            case _:
                others.update(ir.binds(stmt))
    return views - others


def _gone_through(stmt: ir.Stmt, context: Context) -> Iterator[str]:
    """The names whose items a statement takes one after the other."""
    match stmt:
        case ir.For(iter=ir.Var(name)) | ir.Assign(target=tuple(), value=ir.Var(name)):
            yield name
        case ir.Do(value=ir.Call(fn=ir.Attribute(_, "extend"), args=(ir.Var(name),))):
            yield name
        case ir.Update(target=target, value=ir.Var(name)):
            if context.kind_of(target).form == "list":
                yield name
    if isinstance(stmt, ir.While):
        return  # (a test is asked again and again)
    for expr in ir.expressions(stmt):
        for part in ir.walk(expr):
            match part:
                case ir.Call(fn=ir.Ref(obj=obj), args=args) if any(
                    obj is taking for taking in _TAKING_ITEMS
                ):
                    yield from (arg.name for arg in args if isinstance(arg, ir.Var))


def _makes_dicts(function: ir.Function, context: Context, seen: set[int]) -> bool:
    """Whether a function, or one that it calls, makes a dict; `seen` are those asked before."""
    for stmt in ir.statements(function.body):
        for part in (part for expr in ir.expressions(stmt) for part in ir.walk(expr)):
            match part:
                case ir.Display(form="dict"):
                    return True
                case ir.Call(fn=ir.Ref(obj=obj)) if obj is dict:
                    return True
                case ir.Call(fn=ir.Ref(obj=obj)) if id(obj) not in seen:
                    seen.add(id(obj))
                    if not context.is_callee(obj):
                        continue
                    if _makes_dicts(context.callees.lowered(obj).function, context, seen):
                        return True
    return False
