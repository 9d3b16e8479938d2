"""Changes of a list or dict as a whole, as the new container that it becomes.

    xs.insert(i, v)         xs = xs[:i] + [v] + xs[i:]
    v = xs.pop(i)           v = xs[i]; xs = without(xs, i)
    xs[a:b] = ys            xs = xs[:a] + list(ys) + xs[b:]
    xs.reverse()            xs = xs[::-1]
    xs += ys                xs = xs + ys
    xs += a                 require_sequence(a); xs = xs + list(a)
    d.update(e)             d = d | dict(e)

Right where no other name sees the container: `transform.spelling.updates`, which knows, makes an
assignment of the update that is written here, or refuses it. Reverse mode only: a tangent
container is changed just as its primal is. `append` and `pop()` stay, for they have an inverse.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Iterator, Mapping

from ... import ir, runtime
from ...analysis.activity import varied_names
from ...analysis.kinds import infer_kinds
from ...analysis.operations import MUTATING_METHODS
from ...analysis.refusals import special_container
from ...errors import UnsupportedError
from ...ir.kind import Kind
from ..context import ADD, BECOMES, MERGE, Context

_REPEAT = ir.Ref("*", operator.mul)
_WITHOUT = ir.Ref("without", runtime.without)
_BOUNDS = ir.Ref("slice_bounds", runtime.slice_bounds)
_LIST = ir.Ref("list", list)
_ANY_LENGTH = ("list", "tuple", "unknown")
_DICT = ir.Ref("dict", dict)


def changes_as_new(
    function: ir.Function, wrt: Collection[str], given: Mapping[str, Kind], context: Context
) -> ir.Function:
    """Rewrite what changes a container that carries derivatives and has no simple inverse."""
    if not any(map(_may_change, ir.statements(function.body))):
        return function
    effects = context.sources().effects
    varied = varied_names(function, wrt, context.kinds, context.book, effects)
    special = {special_container(stmt)[0] for stmt in ir.statements(function.body)}
    changes = _Changes(varied - special, context)
    body = ir.rewrite(function.body, after=changes.statement)
    if body is function.body:
        return function
    function = ir.with_body(function, body)
    context.kinds.update(infer_kinds(function, given, context.book))
    return function


def _may_change(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(_, method))):
            return method in MUTATING_METHODS
        case ir.Assign(value=ir.Call(fn=ir.Attribute(_, "pop"), args=args)):
            return bool(args)
        case ir.Store(target=ir.Index(_, ir.Slice())):
            return True
        case ir.Update(target=ir.Var(), op=ir.Ref(obj=operator.iadd | operator.imul)):
            return True
    return False


@dataclasses.dataclass
class _Changes:
    varied: frozenset[str]
    context: Context
    out: list[ir.Stmt] = dataclasses.field(default_factory=list)
    origin: ir.Origin = dataclasses.field(init=False)

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        self.out, self.origin = [], stmt.origin
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name) as xs, method)) as call):
                if name in self.varied and self.method(xs, method, call):
                    yield from self.out
                    return
            case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(name) as xs, "pop"), args=(key,))):
                if name in self.varied and isinstance(stmt.target, str):
                    yield ir.Assign(stmt.target, ir.Index(xs, key, stmt.origin.place), stmt.origin)
                    self.becomes(xs, ir.Call(_WITHOUT, (xs, key)))
                    yield from self.out
                    return
            case ir.Update(target=ir.Var(name) as xs, op=ir.Ref(obj=operator.iadd), value=value):
                forms = [self.context.kind_of(part).form for part in (xs, value)]
                if name in self.varied and forms[0] == "list":
                    self.extend(xs, value, forms[1])
                    yield from self.out
                    return
            case ir.Update(target=ir.Var(name) as xs, op=ir.Ref(obj=operator.imul), value=value):
                if name in self.varied and self.context.kind_of(xs).form == "list":
                    self.becomes(xs, ir.Call(_REPEAT, (xs, value)))
                    yield from self.out
                    return
            case ir.Store(target=ir.Index(ir.Var(name) as xs, ir.Slice() as key), value=value):
                is_list = self.context.kind_of(xs).form == "list"
                if name in self.varied and is_list and key.step is None:
                    self.put(xs, key, value)
                    yield from self.out
                    return
                if name in self.varied and self.may_resize(xs, key, value):
                    same = (ir.Index(xs, key), value)
                    check = ir.Call(self.context.helper("require_as_many"), same)
                    yield ir.Do(check, stmt.origin)
        yield stmt

    def may_resize(self, xs: ir.Var, key: ir.Slice, value: ir.Expr) -> bool:
        """Whether `xs[a:b] = ys` may be one of a list, for all that is known, and of any length."""
        forms = [self.context.kind_of(part).form for part in (xs, value)]
        return key.step is None and forms[0] == "unknown" and forms[1] in _ANY_LENGTH

    def method(self, xs: ir.Var, method: str, call: ir.Call) -> bool:
        """Whether a method's change was rewritten, into `out`."""
        form = self.context.kind_of(xs).form
        if method not in MUTATING_METHODS or form not in ("list", "dict", "set", "unknown"):
            return False
        match method, call.args:
            case "insert", (place, value):
                self.insert(xs, place, value)
            case "pop", ():
                self.named("item", call)
            case "pop", (key,):
                self.becomes(xs, ir.Call(_WITHOUT, (xs, key)))
            case "reverse", ():
                self.becomes(xs, ir.Index(xs, ir.Slice(None, None, ir.Const(-1))))
            case "clear", () if form == "list":
                self.becomes(xs, ir.Display("list", ()))
            case "clear", () if form == "dict":
                self.becomes(xs, ir.Display("dict", ()))
            case "extend", (items,):
                if self.context.kind_of(items).form != "list":
                    items = self.named("items", ir.Call(_LIST, (items,)))
                self.becomes(xs, ir.Call(ADD, (xs, items)))
            case "update", (_,) | ():
                self.update(xs, call)
            case _:
                return False
        return True

    def extend(self, xs: ir.Var, value: ir.Expr, form: str) -> None:
        """`xs += value` of a list: an array or a NumPy number makes an array of the two."""
        if form in ("array", "value", "number"):
            raise UnsupportedError(
                f"`{xs.name}` is a list, to which `+=` adds an array entry by entry",
                self.origin.place,
                f"Write what is meant: `{xs.name} = np.asarray({xs.name}) + ...`, or "
                f"`{xs.name}.extend(...)` for more items.",
            )
        if form == "list":
            self.becomes(xs, ir.Call(ADD, (xs, value)))
            return
        if form not in ("tuple", "dict"):
            check = ir.Call(self.context.helper("require_sequence"), (value,))
            self.out.append(ir.Do(check, self.origin))
        items = self.named("items", ir.Call(_LIST, (value,)))
        self.becomes(xs, ir.Call(ADD, (xs, items)))

    def insert(self, xs: ir.Var, place: ir.Expr, value: ir.Expr) -> None:
        before = self.named("before", ir.Index(xs, ir.Slice(None, place)))
        item = self.named("item", ir.Display("list", (value,)))
        start = self.named("start", ir.Call(ADD, (before, item)))
        after = self.named("after", ir.Index(xs, ir.Slice(place)))
        self.becomes(xs, ir.Call(ADD, (start, after)))

    def put(self, xs: ir.Var, key: ir.Slice, value: ir.Expr) -> None:
        """`xs[a:b] = ys`."""
        if self.context.kind_of(value).form != "list":
            value = self.named("items", ir.Call(_LIST, (value,)))
        first, last = key.lower, key.upper
        if not _in_order(first, last):
            ends = (first or ir.Const(None), last or ir.Const(None))
            start, stop = self.fresh("start"), self.fresh("stop")
            bounds = ir.Call(_BOUNDS, (xs, *ends))
            self.out.append(ir.Assign((start, stop), bounds, self.origin))
            first, last = ir.Var(start), ir.Var(stop)
        whole = value
        if first is not None:
            before = self.named("before", ir.Index(xs, ir.Slice(None, first)))
            whole = self.named("start", ir.Call(ADD, (before, value)))
        if last is not None:
            after = self.named("after", ir.Index(xs, ir.Slice(last)))
            whole = self.named("items", ir.Call(ADD, (whole, after)))
        self.becomes(xs, whole)

    def update(self, d: ir.Var, call: ir.Call) -> None:
        entries: list[ir.Expr] = []
        for given in call.args:
            is_dict = self.context.kind_of(given).form == "dict"
            entries.append(given if is_dict else self.named("entries", ir.Call(_DICT, (given,))))
        if call.kwargs:
            keys = tuple(ir.Const(word) for word, _ in call.kwargs)
            given = ir.Display("dict", tuple(value for _, value in call.kwargs), keys)
            entries.append(self.named("entries", given))
        for given in entries:
            self.becomes(d, ir.Call(MERGE, (d, given)))

    def becomes(self, xs: ir.Var, value: ir.Expr) -> None:
        """`xs` is `value` from here on, in place or (as it will turn out) under its name."""
        new = value if isinstance(value, ir.Var) else self.named(f"{xs.name}_new", value)
        self.out.append(ir.Update(xs, BECOMES, new, self.origin))

    def named(self, wanted: str, value: ir.Expr) -> ir.Var:
        name = self.fresh(wanted)
        self.out.append(ir.Assign(name, value, self.origin))
        return ir.Var(name)

    def fresh(self, wanted: str) -> str:
        name = self.context.names.fresh(wanted)
        self.context.temporaries.add(name)
        return name


def _in_order(first: ir.Expr | None, last: ir.Expr | None) -> bool:
    """Whether the second bound of a slice surely lies at or after the first."""
    if first is None or last is None:
        return True
    return (
        isinstance(first, ir.Const)
        and isinstance(last, ir.Const)
        and type(first.value) is type(last.value) is int
        and 0 <= first.value <= last.value
    )
