"""Methods of objects whose classes are not known, given what carries derivatives.

before::                            after::
    y = xp.tanh(x)                      xp_tanh = method_of(xp, "tanh")
                                        y = xp_tanh(x)
    z = a.dot(x)                        require_values(a, "dot")
                                        z = a.dot(x)
    u = layer(x)                        layer_call = unbound(layer)
                                        u = layer_call(layer, x)

What `xp` is shows when the program runs: a module, an object of the user's, a random generator. The
function that its attribute is then has its derivative made at run time (`specialize.late`). A name
that arrays have stands for a method of theirs only where this differentiates by what it is given,
and where nothing else is asked of the object that arrays do not have; the text checks it. An object
that carries derivatives itself is one more argument.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ... import ir
from ...analysis.activity import carrying_names
from ...analysis.flow import flow_edges
from ...analysis.hidden_writes import GIVING_NOTHING
from ...analysis.kinds import infer_kinds
from ...analysis.memory import base_names, element
from ...analysis.operations import (
    GENERATORS,
    VALUE_METHODS,
    is_container_method,
    operands,
    rule_object,
    written_position,
)
from ...analysis.refusals import unknown_class
from ...analysis.sharing import owner
from ...errors import TangentlikeError
from ...frontend.owners import mark_of
from ...ir.kind import OTHER, UNKNOWN, Kind
from ...pytree import leaves
from ...rules.linear import is_zero
from ...runtime import method_of
from ..context import BINARY_OF, Context

_CONTAINERS = ("list", "tuple", "dict", "set")
_KNOWN = (types.ModuleType, type, np.ufunc, np.generic, dict, list, tuple, str, *GENERATORS)
_CLASSES = (deque, OrderedDict, defaultdict, Counter)
_ASKED_BY = ("count", "get", "index", "pop", "items", "keys", "values")
_OPERATORS = frozenset(id(ref.obj) for ref in BINARY_OF.values())
_VALUES = ("array", "value", "number")
_WRITTEN = ("array", "value", "list", "dict", "set", "object", "unknown")
# Methods that change containers, or arrays, and give None.
_CHANGING_ONLY = GIVING_NOTHING | {"appendleft", "extendleft"}
_OF_LISTS = ("append", "appendleft", "extend", "extendleft", "reverse")
_SETTERS = (setattr, object.__setattr__)
_OF_ARRAYS = ("sort", "fill", "put", "partition", "itemset")


def changes_as_statements(
    function: ir.Function, wrt: tuple[str, ...], context: Context
) -> ir.Function:
    """What changes an object and gives None, in statements of its own.

    before::                             after::
        result = xs.append(v)                xs.append(v)
                                             result = None
        xs.__delitem__(k)                    xs.pop(k)
        done = np.copyto(a, v)               np.copyto(a, v)
                                             done = None
        setattr(model, name, w)              require_in_vars(model, name, True)
                                             vars_model = vars(model)
                                             vars_model[name] = w
    """

    read = functools.cache(
        lambda: frozenset(n for s in ir.statements(function.body) for n in ir.reads(s))
    )

    def apart(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        check: ir.Block = ()
        match stmt:
            case ir.Do(ir.Call(ir.Attribute(base, "__delitem__", at), (_,)) as call):  # (`del`)
                pop = ir.Attribute(base, "pop", at)
                return (dataclasses.replace(stmt, value=dataclasses.replace(call, fn=pop)),)
            case ir.Do(ir.Call(ir.Ref(obj=obj), (base, name, value))) if obj in _SETTERS:
                place = (base, name, ir.Const(obj is setattr))
                return _stored_by_name(place, value, stmt.origin, context)
            case ir.Assign(value=ir.Call() as call) if _is_writer(call, context):
                pass
            case ir.Assign(value=ir.Call(fn=ir.Attribute(base, method)) as call):
                kind = context.kind_of(base)
                if _may_be_container(call, kind, context):
                    if method not in _OF_LISTS and not read().isdisjoint(ir.binds(stmt)):
                        return None  # (objects of the user's may give something)
                    check = (_check("require_container", call, stmt.origin, context),)
                elif not _only_changes(kind, method):
                    return None
            case _:
                return None
        nothing = dataclasses.replace(stmt, value=ir.Const(None))
        change = ir.Do(call, stmt.origin)
        return (*check, *(apart(change) or (change,)), nothing)

    return ir.with_body(function, ir.rewrite(function.body, apart))


def _stored_by_name(
    place: tuple[ir.Expr, ir.Expr, ir.Const], value: ir.Expr, origin: ir.Origin, context: Context
) -> ir.Block:
    """An attribute set by a name that only the run knows."""
    base, name, _ = place
    fields = context.fresh(f"vars_{getattr(base, 'name', 'object')}", Kind("dict"), temporary=True)
    return (
        context.check("require_in_vars", place, origin),
        ir.Assign(fields, ir.Call(ir.Ref("vars", vars), (base,)), origin),
        ir.Store(ir.Index(ir.Var(fields), name), value, origin),
    )


def _is_writer(call: ir.Call, context: Context) -> bool:
    """Whether a function is called that writes its first argument, `np.copyto`, and gives None."""
    return written_position(rule_object(call, context.kinds)) is not None


def _only_changes(kind: Kind, method: str) -> bool:
    """Whether a method of what is of a known kind changes that, and gives None."""
    if kind.form in _CONTAINERS or kind.cls in _CLASSES:
        return method in _CHANGING_ONLY
    return kind.form == "array" and method in _OF_ARRAYS


def _may_be_container(call: ir.Call, kind: Kind, context: Context) -> bool:
    """Whether nothing is known of an object that is changed by a method as lists and dicts are."""
    assert isinstance(call.fn, ir.Attribute)
    name = call.fn.name
    if name not in _CHANGING_ONLY or not is_container_method(call, context.kinds):
        return False
    return kind.is_open and name not in context.looked_up


def methods_of_unknown_objects(
    function: ir.Function, wrt: tuple[str, ...], context: Context
) -> ir.Function:
    """The function itself where no such method is called."""
    function = _products_checked(_methods_named(function, wrt, context), context)
    return function if context.callees.reverses else _operands_checked(function, context)


def _products_checked(function: ir.Function, context: Context) -> ir.Function:
    """The function with a check of each product of which items are written in place, where nothing
    is known of its factors: that of a list and a count holds the rows of that list."""
    products: dict[str, ir.Stmt] = {}
    items: dict[str, set[str]] = {}  # -> the products it may be an item of
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(ir.Ref(obj=operator.mul), args)) if all(
                context.kind_of(e).form == "unknown" for e in args
            ):
                products[name] = stmt
            case ir.Assign(value=ir.Index() | ir.Var() as read) | ir.For(iter=read):
                bases = base_names(read)
                of = {p for b in bases for p in (b, *items.get(b, ())) if p in products}
                for name in ir.binds(stmt) if of else ():
                    items.setdefault(name, set()).update(of)
    if not products:
        return function
    sources = context.sources()
    written = {n for stmt in ir.statements(function.body) for n in sources.written(stmt)}
    asked = {p for node in written for p in items.get(owner(node), ())}
    asked.update(p for p in products if element(p) in written)

    checked: dict[int, ir.Block] = {}
    for name in asked:
        made = products[name]
        check = context.check("require_array", (ir.Var(name), ir.Const(True)), made.origin)
        checked[id(made)] = (made, check)
    return _replaced(function, checked) if checked else function


def _operands_checked(function: ir.Function, context: Context) -> ir.Function:
    """The function with a check of each operand that a function gives of which nothing is known:
    operators of objects would be taken for those of numbers, and tangents for such objects. (The
    reverse sweep asks operands for their shapes.)"""
    given: set[str] = set()

    def unknown(name: str) -> bool:
        return context.kind_of(ir.Var(name)).is_open

    def take(stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Var())):
                given.update(filter(unknown, ir.binds(stmt)))
            case (
                ir.Assign(value=ir.Var() | ir.Index() | ir.Attribute() as read) | ir.For(iter=read)
            ):
                if given & ir.names_in(read):
                    given.update(filter(unknown, ir.binds(stmt)))

    def checked(stmt: ir.Stmt) -> ir.Block | None:
        match stmt:
            case ir.Assign(value=ir.Call(ir.Ref(text, obj), args)) if id(obj) in _OPERATORS:
                pass
            case ir.Update(op=ir.Ref(text), value=ir.Var() as arg):
                args = (arg,)
            case _:
                return None
        names = [a for a in dict.fromkeys(args) if isinstance(a, ir.Var) and a.name in given]
        place, asked = stmt.origin.place, ((a, ir.Const(text)) for a in names)
        checks = (context.check("require_values", a, stmt.origin, place) for a in asked)
        return (*checks, stmt) if names else None

    before = -1
    while len(given) > before:
        before = len(given)
        for stmt in ir.statements(function.body):
            take(stmt)
    return ir.with_body(function, ir.rewrite(function.body, checked)) if given else function


def _methods_named(function: ir.Function, wrt: tuple[str, ...], context: Context) -> ir.Function:
    bound = ir.bindings(ir.statements(function.body)).keys()
    if context.unseen_writes or context.looked_up:
        function = _with_results(function, context)
    # (The results of calls that are made for what they do.)
    done = ir.bindings(ir.statements(function.body)).keys() - bound
    function = _containers_checked(_attributes_read(function, context), wrt, context)
    function = _queries_checked(_methods_refused(function, context), wrt, context)
    calls = {id(s): call for s in ir.statements(function.body) if (call := _asked(s, context))}
    if not calls:
        return function
    methods = {key: call for key, call in calls.items() if isinstance(call.fn, ir.Attribute)}
    named = {id(s): _named(s, methods[id(s)], context) for s in _these(function, methods)}
    # (What these calls carry shows where none of them is taken to write what it is given.)
    whole = _replaced(function, named)
    effects, looked_up = context.sources().effects, context.looked_up
    # (What the methods of containers give is known, and what these give is not.)
    known = {name: context.kinds[name] for name in function.param_names if name in context.kinds}
    kinds = infer_kinds(whole, known, context.book) if looked_up else context.kinds
    flow = flow_edges(whole, kinds, context.book, effects)
    carrying = carrying_names(whole, flow, wrt, kinds, context.book)
    other = _of_no_array(function)
    inner = _made_inside(function) if context.unseen_writes else frozenset()
    chosen: dict[int, ir.Block] = {}
    for stmt in _these(function, calls):
        call = calls[id(stmt)]
        given, fn = _given(call, context) & carrying, call.fn
        assert isinstance(fn, ir.Attribute | ir.Var)
        varies = not carrying.isdisjoint(ir.names_in(fn))
        varies = varies or (isinstance(fn, ir.Attribute) and bool(ir.names_in(fn) & inner))
        used = not carrying.isdisjoint(ir.binds(stmt))
        of_array = isinstance(fn, ir.Attribute) and fn.base not in other
        of_array = of_array and fn.name not in looked_up
        if of_array and _differentiates_by(call, given, context):
            if given and used:
                chosen[id(stmt)] = (_check("require_values", call, stmt.origin, context), stmt)
        elif varies:
            if used or context.unseen_writes or not done.isdisjoint(ir.binds(stmt)):
                chosen[id(stmt)] = unbound_call(stmt, call, context)
        elif id(stmt) in named and (given or fn.name in looked_up):
            chosen[id(stmt)] = named[id(stmt)]  # (of what it writes its derivative tells)
    return _with_chosen(function, calls, named, chosen, wrt, context)


def _with_chosen(
    function: ir.Function,
    calls: Mapping[int, ir.Call],
    named: Mapping[int, ir.Block],
    chosen: dict[int, ir.Block],
    wrt: tuple[str, ...],
    context: Context,
) -> ir.Function:
    """The function with the calls that were chosen, and those that hand on what these carry."""
    while chosen:
        left = {key: block for key, block in named.items() if key not in chosen}
        replaced = _replaced(function, chosen)
        asks = bool(left) or context.unseen_writes
        carried = context.varied(replaced, wrt) if asks else frozenset()
        # (What stays as it is may hand on what it is given to its object, and that to others.)
        found: dict[int, ir.Block] = {
            key: left[key] for key in left if _given(calls[key], context) & carried
        }
        found |= _of_written(function, calls, {**named, **chosen}, carried, context)
        if not found:
            return replaced
        chosen.update(found)
    return function


def _of_written(
    function: ir.Function,
    calls: Mapping[int, ir.Call],
    blocks: Mapping[int, ir.Block],
    carried: frozenset[str],
    context: Context,
) -> dict[int, ir.Block]:
    """The methods, unbound, of objects into which unknown functions may put what varies: they are
    given the memory that another method gave (`nx.maximum(x, nx.ones(n))`, by identity)."""
    if not context.unseen_writes:
        return {}
    return {
        id(stmt): unbound_call(stmt, calls[id(stmt)], context)
        for stmt in _these(function, calls)
        if _is_method_of(blocks.get(id(stmt), ())) and ir.names_in(calls[id(stmt)].fn) & carried
    }


def _is_method_of(block: ir.Block) -> bool:
    """Whether a method is called as what its object has under the name (see `_named`)."""
    match block:
        case (ir.Assign(value=ir.Call(ir.Ref(obj=obj))), _):
            return obj is method_of
    return False


def _attributes_read(function: ir.Function, context: Context) -> ir.Function:
    """`y = o.size2` as a call of what reads it, where a call has shown that the class computes it.

    after: `o_size2 = reader(o, "size2")`, `y = o_size2(o)`.
    """

    def read(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        match stmt:
            case ir.Assign(value=ir.Attribute(ir.Var(name) as base, asked) as value):
                kind = context.kind_of(base)
                if asked not in context.looked_up or kind.cls is not None:
                    return None
                found = context.fresh(f"{name}_{asked}", OTHER, temporary=True)
                place = value.at or stmt.origin.place
                made = ir.Call(context.helper("reader"), (base, ir.Const(asked)), at=place)
                called = ir.Call(ir.Var(found), (base,), at=place)
                again = dataclasses.replace(stmt, value=called)
                return [ir.Assign(found, made, stmt.origin), again]
        return None

    if not context.looked_up:
        return function
    return ir.with_body(function, ir.rewrite(function.body, read))


def _with_results(function: ir.Function, context: Context) -> ir.Function:
    """`f(x)` as `_ = f(x)` where nothing is known of `f`: an assignment of what it gives, which
    has a derivative."""

    def named(stmt: ir.Stmt) -> ir.Stmt | None:
        if not isinstance(stmt, ir.Do) or not isinstance(stmt.value, ir.Call):
            return None
        fn = stmt.value.fn
        whole = ir.Assign(context.fresh("done", UNKNOWN, temporary=True), stmt.value, stmt.origin)
        return whole if isinstance(fn, ir.Var) or _asked(whole, context) else None

    return ir.with_body(function, ir.rewrite(function.body, named))


def unbound_call(stmt: ir.Stmt, call: ir.Call, context: Context) -> ir.Block:
    """What an object that carries derivatives is called by, as a function that is given it."""
    fn = call.fn
    assert isinstance(fn, ir.Attribute | ir.Var) and isinstance(stmt, ir.Assign)
    assert context.callees.builder is not None
    reading = context.callees.builder.reading
    if not (reading.specialized and reading.objects):  # (a call may tell, or it is a closure)
        raise unknown_class(fn, call.at or stmt.origin.place, "objects")
    owner, name = (fn.base, fn.name) if isinstance(fn, ir.Attribute) else (fn, "")
    before: list[ir.Stmt] = []
    if not isinstance(owner, ir.Var):
        held = context.fresh("owner", context.kind_of(owner), temporary=True)
        before.append(ir.Assign(held, owner, stmt.origin))
        owner = ir.Var(held)
    found = context.fresh(f"{owner.name}_{name or 'call'}", OTHER, temporary=True)
    args = (owner, ir.Const(name)) if name else (owner,)
    asked = ir.Call(context.helper("unbound"), args, at=call.at)
    new = dataclasses.replace(call, fn=ir.Var(found), args=(owner, *call.args))
    return (*before, ir.Assign(found, asked, stmt.origin), dataclasses.replace(stmt, value=new))


def _containers_checked(
    function: ir.Function, wrt: tuple[str, ...], context: Context
) -> ir.Function:
    """The function with a check of each object that looks like a list or dict, and carries
    derivatives (a class of the user's may have its own `update`, which writes its fields), or is
    asked by a value that carries some, or by what another method might write: `xs.index(v)`."""
    made = _made_as_containers(function)
    found = [
        (stmt, call)
        for stmt in ir.statements(function.body)
        if (call := _container_call(stmt, context)) is not None
        if not ir.names_in(call.fn) <= made
    ]
    if not found:
        return function
    varied = context.varied(function, wrt)
    checked = {
        id(stmt): (_check("require_container", call, stmt.origin, context), stmt)
        for stmt, call in found
        if ir.names_in(call.fn) & varied or _is_asked_by(call, varied, context)
    }
    return _replaced(function, checked) if checked else function


def _made_as_containers(function: ir.Function) -> frozenset[str]:
    """The names of what is made here as a deque, or a dict of a class of Python's."""
    statements = list(ir.statements(function.body))
    changed = (stmt for stmt in statements if not isinstance(stmt, ir.Update))  # (`q += [v]`)
    bound = Counter(name for stmt in changed for name in ir.binds(stmt))
    made: Counter[str] = Counter()
    for stmt in statements:
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj))) if any(
                obj is cls for cls in _CLASSES
            ):
                made[name] += 1
    return frozenset(name for name, count in made.items() if count == bound[name])


def _container_call(stmt: ir.Stmt, context: Context) -> ir.Call | None:
    """The call of a method that is one of lists, dicts or arrays if its object is one."""
    match getattr(stmt, "value", getattr(stmt, "iter", None)):
        case ir.Call(fn=ir.Attribute(base, name)) as call:
            kind = context.kind_of(base)
            is_open = kind.form in ("unknown", "object", "other") and not isinstance(base, ir.Ref)
            writes = isinstance(stmt, ir.Do) and name in _OF_ARRAYS
            if is_open and (writes or is_container_method(call, context.kinds)):
                return call if kind.cls is None and name not in context.looked_up else None
    return None


def _is_asked_by(call: ir.Call, varied: frozenset[str], context: Context) -> bool:
    """Whether a container is asked by what carries derivatives, or by what may be written."""
    assert isinstance(call.fn, ir.Attribute)
    if call.fn.name not in _ASKED_BY or not call.args:
        return False
    return bool(ir.names_in(call.args[0]) & varied) or _may_be_written(call, context)


def _may_be_written(call: ir.Call, context: Context) -> bool:
    """Whether a call is given arrays, or containers."""
    return any(context.kind_of(arg).form in _WRITTEN for arg in ir.arguments(call))


def _these(function: ir.Function, calls: Mapping[int, ir.Call]) -> Iterator[ir.Stmt]:
    return (stmt for stmt in ir.statements(function.body) if id(stmt) in calls)


def _replaced(function: ir.Function, parts: Mapping[int, Sequence[ir.Stmt]]) -> ir.Function:
    """The function with other statements for some, by their ids."""
    return ir.with_body(function, ir.rewrite(function.body, lambda stmt: parts.get(id(stmt))))


def _named(stmt: ir.Stmt, call: ir.Call, context: Context) -> tuple[ir.Stmt, ir.Stmt]:
    """What the object has under the name, and the call of that."""
    fn = call.fn
    assert isinstance(fn, ir.Attribute) and isinstance(stmt, ir.Assign)
    held = ir.Call(context.helper("method_of"), (fn.base, ir.Const(fn.name)), at=call.at)
    wanted = f"{_base_name(fn)}_{fn.name}"
    name = context.fresh(wanted, context.kind_of(held), temporary=True)
    called = dataclasses.replace(stmt, value=dataclasses.replace(call, fn=ir.Var(name)))
    return ir.Assign(name, held, stmt.origin), called


def _check(helper: str, call: ir.Call, origin: ir.Origin, context: Context) -> ir.Stmt:
    """The check that an object is one whose method of this name is meant."""
    fn = call.fn
    assert isinstance(fn, ir.Attribute)
    return context.check(helper, (fn.base, ir.Const(fn.name)), origin, call.at)


def _methods_refused(function: ir.Function, context: Context) -> ir.Function:
    """The function with a check of each object of which nothing is known, and of which something
    is read that has the name of a method of arrays or containers: `apply(o.fill, v)`."""
    found: dict[int, tuple[ir.Stmt, ...]] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(value=ir.Attribute(ir.Var() as base, name, at)) if name in VALUE_METHODS:
                kind = context.kind_of(base)
                if kind.form in ("unknown", "object", "value") and kind.cls is None:
                    asked, place = (base, ir.Const(ir.plain_name(name))), at or stmt.origin.place
                    check = context.check("require_field", asked, stmt.origin, place)
                    found[id(stmt)] = (check, stmt)
    return _replaced(function, found) if found else function


def _queries_checked(function: ir.Function, wrt: tuple[str, ...], context: Context) -> ir.Function:
    """The function with a check of each object of which nothing is known, which carries derivatives
    and is asked for its `size`: its class may have a field or a property of that name."""

    queries = ir.QUERIES - context.looked_up

    def asked(stmt: ir.Stmt) -> Iterator[tuple[ir.Var, ir.Const]]:
        for part in (part for expr in ir.expressions(stmt) for part in ir.walk(expr)):
            match part:
                case ir.Attribute(ir.Var() as base, name) if name in queries:
                    if context.kind_of(base).is_open:
                        yield base, ir.Const(name)

    found = [(stmt, dict.fromkeys(asked(stmt))) for stmt in ir.statements(function.body)]
    varied = context.varied(function, wrt) if any(pairs for _, pairs in found) else frozenset()
    checked: dict[int, ir.Block] = {}
    for stmt, pairs in found:
        asking = [pair for pair in pairs if pair[0].name in varied]
        if asking:
            checks = (context.check("require_query", pair, stmt.origin) for pair in asking)
            checked[id(stmt)] = (*checks, stmt)
    return _replaced(function, checked) if checked else function


def _asked(stmt: ir.Stmt, context: Context) -> ir.Call | None:
    """The call of a method of an object of which nothing is known, given any names."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Attribute(base, method)) as call):
            kind = context.kind_of(base)
            known = kind.form in (*_VALUES, *_CONTAINERS) or _is_known(kind)
            known = known or isinstance(base, ir.Call)  # (of `type(model).__call__`)
            if isinstance(base, ir.Ref):
                known = known or _is_known_outside(base.obj)
            container = is_container_method(call, context.kinds) or method == "_replace"
            container = container and method not in context.looked_up
            return None if known or container else call
        case ir.Assign(value=ir.Call(fn=ir.Var() as fn) as call):
            kind = context.kind_of(fn)
            known = kind.cls is not None or any(map(ir.is_starred, call.args))
            return None if known or kind.form in (*_VALUES, *_CONTAINERS) else call
    return None


def _is_known_outside(obj: object) -> bool:
    """Whether what an object outside has under a name is looked up elsewhere."""
    return isinstance(obj, _KNOWN) or leaves.is_array(obj)


def _is_known(kind: Kind) -> bool:
    """Whether it is known what methods such an object has. (Those of known classes, and functions
    of known modules, are no methods any more, where they were found.)"""
    return kind.form == "other" and kind.cls is not None


def _given(call: ir.Call, context: Context) -> frozenset[str]:
    """The names whose values a call is given: of `x` in `x_bar.reshape(x.shape)` it is not."""
    parts = ir.arguments(call)
    return frozenset(name for e in parts for name in operands(e, context.kinds, context.book))


def _differentiates_by(call: ir.Call, given: frozenset[str], context: Context) -> bool:
    """Whether the method of this name that arrays have is differentiated by all these names."""
    rule = context.book.find(rule_object(call, context.kinds))
    if rule is None:
        return False
    try:
        instance = context.bind(rule, call)
    except TangentlikeError:
        return False
    by = {
        p for p, bar in (*instance.partials.items(), *instance.adjoints.items()) if not is_zero(bar)
    }
    found = (ir.names_in(instance.arguments[p]) for p in by if p in instance.arguments)
    return given <= frozenset().union(*found)


def _made_inside(function: ir.Function) -> frozenset[str]:
    """The names of what is neither given nor defined outside: methods may put into these objects
    what carries derivatives."""
    outside = set(function.param_names)
    inside: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=target, value=value) | ir.For(target=target, iter=value):
                root: ir.Expr = value
                while isinstance(root, ir.Index | ir.Attribute):
                    root = root.base
                outer = isinstance(root, ir.Ref) or ir.names_in(root) & outside
                (outside if outer else inside).update(ir.target_names(target))
    return frozenset(inside - outside)


def _base_name(fn: ir.Attribute) -> str:
    base = fn.base
    return base.name if isinstance(base, ir.Var) else getattr(base, "text", "").replace(".", "_")


def _of_no_array(function: ir.Function) -> frozenset[ir.Expr]:
    """The objects of which something is asked that no array has."""
    return frozenset(
        part.base
        for stmt in ir.statements(function.body)
        for expr in ir.expressions(stmt)
        for part in ir.walk(expr)
        if isinstance(part, ir.Attribute) and isinstance(part.base, (ir.Var, ir.Ref))
        if not hasattr(np.ndarray, part.name)
    )


# --------------------------------------------------------------------------------------------------
# Operators applied to functions that only the running program knows.
#
# before::                             after::
#     g = tl.grad(f)                       g = derivative_of(tl.grad, f)
#     y = g(x)                             y = g(x)
#     z, dz = tl.jvp(f, (x,), (v,))        f_jvp = jvp_of(tl.jvp, f, (x,), (v,))
#                                          z, dz = f_jvp((x,), (v,))
#
# What `derivative_of` gives is a function like any other, which is differentiated when the program
# calls it. A function that itself carries derivatives is left to be refused: the derivative by what
# it captures would be lost.


def late_operators(function: ir.Function, wrt: tuple[str, ...], context: Context) -> ir.Function:
    """A function that calls no operator of a function which is not known."""
    calls = [stmt for stmt in ir.statements(function.body) if _operator(stmt)]
    if not calls:
        return function
    names = {id(stmt): context.names.fresh("jvp_of") for stmt in calls}
    for name in names.values():
        context.kinds[name] = OTHER

    def replaced(stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
        call = stmt.value
        if _operator(stmt) == "function":
            made = ir.Call(context.helper("derivative_of"), (call.fn, *call.args), call.kwargs)
            return [dataclasses.replace(stmt, value=made)]
        name = names[id(stmt)]
        made = ir.Call(context.helper("jvp_of"), (call.fn, *call.args), call.kwargs, call.at)
        called = ir.Call(ir.Var(name), call.args[1:], (), call.at)
        return [ir.Assign(name, made, stmt.origin), dataclasses.replace(stmt, value=called)]

    whole = _replaced(function, {id(s): replaced(s) for s in calls})
    varied = context.varied(whole, wrt)
    chosen = [s for s in calls if not ir.names_in(s.value.args[0]) & varied]  # type: ignore[union-attr]
    return _replaced(function, {id(s): replaced(s) for s in chosen}) if chosen else function


def _operator(stmt: ir.Stmt) -> str:
    """What the operator in a statement gives, if its function is a value of this function."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var() | ir.Index(), *rest))):
            gives = mark_of(obj, "derives") or ""
            if gives == "function" or (gives == "tangent" and len(rest) == 2):
                return gives
    return ""
