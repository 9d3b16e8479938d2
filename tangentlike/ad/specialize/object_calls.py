"""Calls through objects: of one of several classes, of a class that is looked up, of what an object
holds.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import operator
import types
from collections.abc import Callable, Iterable, Mapping

from ... import ir
from ...analysis.constructors import initialiser, record_class
from ...analysis.operations import VALUE_METHODS
from ...analysis.outer_objects import live
from ...frontend.lower import Lowered
from ...frontend.signatures import plain_signature
from ...frontend.structures import default_function, held_by_class, is_function, sets_attribute
from ...ir.facts import fact
from ...ir.index import all_names
from ...ir.kind import FUNCTION, MOST_CLASSES, UNKNOWN, Kind
from ...ir.names import Names
from ...runtime import has_own, plain_function, require_class, require_listed, unbound
from .method_lookup import BINARY, UNARY

# --------------------------------------------------------------------------------------------------
# Objects of one of several classes: each class has its own method, and the run says which.
#
# before::                         after::
#     for layer in layers:             for layer in layers:
#         h = layer(h)                     if type(layer) is Dense:
#                                              h = Dense_call(layer, h)
#                                          else:
#                                              h = Dropout_call(layer, h)
#
# What the classes may be is a fact about a name (`Kind.among`), joined from all that it may stand
# for. The last case asks nothing: the method that it calls checks the class itself.

_PLAIN = ir.Ref("plain_function", plain_function)


def by_class(
    stmt: ir.Stmt,
    kinds: Mapping[str, Kind],
    desugared: Callable[[ir.Stmt, Mapping[str, Kind]], ir.Stmt],
    names: Names,
) -> ir.Stmt | None:
    """A statement that asks something of an object of one of several classes, as a branch for
    each; None for any other. `desugared` gives the statement where names have certain kinds."""
    for name in sorted(_asked(stmt)):
        among = [k for k in kinds.get(name, UNKNOWN).among if _may_have(k, name, stmt)]
        among = [k for k in among if _takes(k, name, stmt)] or among
        cases = [(kind, desugared(stmt, {**kinds, name: kind})) for kind in among]
        if all(case == stmt for _, case in cases):
            continue
        made: ir.Block = (cases[-1][1],)
        if cases[-1][0] == FUNCTION:
            made = _of_function(stmt, name, names)
        for kind, case in cases[-2::-1]:
            assert kind.cls is not None
            same = (ir.Call(ir.TYPE, (ir.Var(name),)), ir.Ref(kind.cls.__name__, kind.cls))
            made = (ir.If(ir.Call(ir.IS, same), (case,), made, stmt.origin),)
        return made[0]
    return None


def _of_function(stmt: ir.Stmt, name: str, names: Names) -> ir.Block:
    """`h = layer(h)` where `layer` is a function, which has no values of its own:
    `function = plain_function(layer); h = function(h)`."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Var(called)) as call) if called == name:
            function = names.fresh("function")
            checked = ir.Call(_PLAIN, (ir.Var(name),), at=stmt.origin.place)
            again = dataclasses.replace(call, fn=ir.Var(function))
            return (
                ir.Assign(function, checked, stmt.origin),
                dataclasses.replace(stmt, value=again),
            )
    return (stmt,)


def by_branch(
    stmt: ir.If, kinds: Mapping[str, Kind]
) -> tuple[Mapping[str, Kind], Mapping[str, Kind]] | None:
    """The kinds of names in the two blocks of a branch that asks for a class, as those do that
    `by_class` makes; None of any other branch."""
    match stmt.test:
        case ir.Call(ir.Ref(obj=operator.is_), (ir.Call(ir.Ref(obj=builtins.type), (of,)), asked)):
            if not isinstance(of, ir.Var) or not isinstance(asked, ir.Ref):
                return None
            among = kinds.get(of.name, UNKNOWN).among
            here = [kind for kind in among if kind.cls is asked.obj]
            others = tuple(kind for kind in among if kind.cls is not asked.obj)
            if not here or not others or of.name in ir.bindings(ir.statements((stmt,))):
                return None
            left = others[0] if len(others) == 1 else Kind("object", among=others)
            return {**kinds, of.name: here[0]}, {**kinds, of.name: left}
    return None


def checked_classes(function: ir.Function) -> dict[str, type]:
    """The parameters of which a function begins by checking the class (`require_class(p, A)`)."""
    found: dict[str, type] = {}
    for stmt in function.body:
        match stmt:
            case ir.Do(
                value=ir.Call(ir.Ref(obj=obj), (ir.Var(name), ir.Ref(obj=type() as cls), *_))
            ):
                if obj is require_class:
                    found[name] = cls
            case _:
                break
    return found


def of_class(kind: Kind, cls: type) -> Kind:
    """What is known of an object of one of several classes, once its class is known."""
    return next((one for one in kind.among if one.cls is cls), kind)


def _asked(stmt: ir.Stmt) -> set[str]:
    """The names of objects whose methods a statement may call. (A function that is given an
    object asks it itself.)"""
    parts: tuple[ir.Expr, ...] = ()
    match stmt:
        case ir.Store(target=ir.Attribute(base) | ir.Index(base)):
            parts = (base,)
        case ir.Assign(value=value) | ir.Do(value=value):
            match value:
                case ir.Attribute(base) | ir.Index(base) | ir.Call(fn=ir.Attribute(base)):
                    parts = (base,)
                case ir.Call(fn=ir.Ref(obj=obj), args=args):
                    operators = callable(obj) and (obj in BINARY or obj in UNARY)
                    parts = args if operators else ()
                case ir.Call(fn=fn):
                    parts = (fn,)
    return {part.name for part in parts if isinstance(part, ir.Var)}


def _may_have(kind: Kind, name: str, stmt: ir.Stmt) -> bool:
    """Whether objects of a class may have the attribute that a statement asks for."""
    match getattr(stmt, "value", None):
        case ir.Call(fn=ir.Attribute(ir.Var(base), asked)) | ir.Attribute(ir.Var(base), asked):
            if base != name or kind.cls is None or asked in dict(kind.fields):
                return True
            if inspect.getattr_static(kind.cls, asked, None) is not None:
                return True
            return hasattr(kind.cls, "__getattr__") or sets_attribute(kind.cls, asked)
    return True


def _takes(kind: Kind, name: str, stmt: ir.Stmt) -> bool:
    """Whether objects of a class, where a statement calls them, take as many arguments."""
    match getattr(stmt, "value", None):
        case ir.Call(fn=ir.Var(called), args=args, kwargs=words) if called == name:
            own = inspect.getattr_static(kind.cls, "__call__", None)
            if isinstance(own, types.FunctionType) and not any(map(ir.is_starred, args)):
                try:
                    plain_signature(own).bind(None, *args, **dict(words))
                except TypeError:
                    return False
    return True


# --------------------------------------------------------------------------------------------------
# Objects of a class that is looked up: `LAYERS[name](w)`, `cls = A if deep else B; cls(w)`.
#
# before::                         after::
#     cls = LAYERS[name]               cls = LAYERS[name]
#     layer = cls(w)                   require_listed(cls, Dense, Linear)
#                                      if cls is Dense:
#                                          layer = Dense(w)
#                                      else:
#                                          layer = Linear(w)
#
# The classes are those that the table has when the derivative is made; the run asks for no other.

_CHECK = ir.Ref(require_listed.__name__, require_listed)


def made_by_class(lowered: Lowered) -> Lowered:
    """The function with a branch for each class that a name may stand for where it is called."""
    found = _classes_by_name(lowered.function)
    if not found:
        return lowered

    def parts(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Var(name))) if name in found:
                return _branches(stmt, name, found[name])
        return None

    function = dataclasses.replace(lowered.function, body=ir.rewrite(lowered.function.body, parts))
    return dataclasses.replace(lowered, function=function)


def _branches(stmt: ir.Assign, name: str, classes: tuple[type, ...]) -> tuple[ir.Stmt, ...]:
    refs = [ir.Ref(cls.__name__, cls) for cls in classes]
    assert isinstance(stmt.value, ir.Call)
    made = [dataclasses.replace(stmt, value=dataclasses.replace(stmt.value, fn=r)) for r in refs]
    check = ir.Call(_CHECK, (ir.Var(name), *refs), at=stmt.origin.place)
    chosen: ir.Stmt = made[-1]
    for ref, case in list(zip(refs, made, strict=True))[-2::-1]:
        chosen = ir.If(ir.Call(ir.IS, (ir.Var(name), ref)), (case,), (chosen,), stmt.origin)
    return ir.Do(check, stmt.origin), chosen


def _classes_by_name(function: ir.Function) -> dict[str, tuple[type, ...]]:
    """The names that stand for classes of the user's wherever they are bound, and which."""
    values: dict[str, list[ir.Expr | None]] = {name: [None] for name in function.param_names}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=value):
                values.setdefault(name, []).append(value)
            case _:
                for name in ir.binds(stmt):
                    values.setdefault(name, []).append(None)
    found = {}
    for name, given in values.items():
        several = [_classes_of(value) for value in given]
        classes = tuple(dict.fromkeys(cls for some in several for cls in some))
        alike = len({cls.__name__ for cls in classes}) < len(classes)
        if all(several) and not alike and len(classes) <= MOST_CLASSES:
            found[name] = classes
    return found


def _classes_of(value: ir.Expr | None) -> tuple[type, ...]:
    """The classes that an expression may be; none where it may be anything else."""
    known = None if value is None else live(value)
    if known is not None:
        return _all_classes([known.obj])
    match value:
        case ir.Lazy("if", (_, *choices)):
            several = [_classes_of(choice) for choice in choices]
            return tuple(cls for some in several for cls in some) if all(several) else ()
        case ir.Index(base, _) if not isinstance(value.key, ir.Slice):
            table = live(base)
            obj = None if table is None else table.obj
            if isinstance(obj, dict):
                return _all_classes(obj.values())
            return _all_classes(obj) if isinstance(obj, (list, tuple)) else ()
    return ()


def _all_classes(items: Iterable[object]) -> tuple[type, ...]:
    classes = tuple(items)
    fine = all(isinstance(c, type) and _is_users(c) for c in classes)
    return classes if fine else ()  # type: ignore[return-value]


def _is_users(cls: type) -> bool:
    made = ir.Call(ir.Ref(cls.__name__, cls))
    return initialiser(cls) is not None or record_class(made) is not None


# --------------------------------------------------------------------------------------------------
# Objects and functions that an object holds, called through it: read first, then called.
#
# before::                         after::
#     h = self.inner(x)                self_inner = self.inner
#                                      h = self_inner(x)
#
# Python looks `inner` up in the same way, whether it is a method or what an attribute holds; only
# the class tells. A method stays as it is; a name for one is the method again (`methods_by_name`).


def held_calls_as_reads(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function with a name for each attribute that is called and is not a method."""
    names = Names(all_names(lowered.function))
    made: set[str] = set()

    def parts(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        if ir.blocks(stmt):
            return None
        if not isinstance(stmt, (ir.Assign, ir.Do)):
            return (stmt,)
        match stmt.value:
            case ir.Call(fn=ir.Attribute(ir.Var(base) as owner, name) as held) as call if (
                own := _default(kinds.get(base, UNKNOWN), name)
            ):
                (usually, given), temporary = own, names.fresh(f"{base}_{name}")
                made.add(temporary)
                read = ir.Assign(temporary, held, stmt.origin)
                other = dataclasses.replace(call, fn=ir.Var(temporary))
                plain = dataclasses.replace(call, fn=usually, args=(*(owner,) * given, *call.args))
                asks = ir.Call(_HAS_OWN, (owner, ir.Const(name)), at=call.at)
                replaced = (read, dataclasses.replace(stmt, value=other))
                usual = (dataclasses.replace(stmt, value=plain),)
                return (ir.If(asks, replaced, usual, stmt.origin),)
            case ir.Call(fn=ir.Attribute(ir.Var(base), name)) as call if fn := _of_every_object(
                kinds.get(base, UNKNOWN), name
            ):
                return (dataclasses.replace(stmt, value=dataclasses.replace(call, fn=fn)),)
            case ir.Call(fn=ir.Attribute(ir.Var(base), name) as held) as call if _is_held(
                kinds.get(base, UNKNOWN), name
            ):
                temporary = names.fresh(f"{base}_{name}")
                made.add(temporary)
                called = dataclasses.replace(call, fn=ir.Var(temporary))
                read = ir.Assign(temporary, held, stmt.origin)
                return read, dataclasses.replace(stmt, value=called)
        return (stmt,)

    body = ir.rewrite(lowered.function.body, parts)
    return lowered.with_body(body, made)


def _default(kind: Kind, name: str) -> tuple[ir.Ref, bool] | None:
    """The function that an object calls by this name unless it was given another, and whether that
    is a method, which is given the object."""
    if kind.cls is None or name in dict(kind.fields):
        return None
    found = default_function(kind.cls, name)
    held = found.__func__ if isinstance(found, staticmethod) else found
    ref = ir.Ref(f"{kind.cls.__name__}.{name}", held)
    return None if found is None else (ref, isinstance(found, types.FunctionType))


def _of_every_object(kind: Kind, name: str) -> ir.Ref | None:
    """The function that a class holds by a name and binds to no object: `act = np.tanh`."""
    if kind.cls is None or name in dict(kind.fields):
        return None
    found = held_by_class(kind.cls, name)
    found = found.__func__ if isinstance(found, staticmethod) else found
    if not is_function(found) or isinstance(found, types.FunctionType):
        return None
    return ir.Ref(f"{kind.cls.__name__}.{name}", found)


def _is_held(kind: Kind, name: str) -> bool:
    """Whether an object of this kind has an attribute by this name, and its class no method."""
    if kind.among:
        return all(_is_held(one, name) for one in kind.among)
    if kind.form != "object" or kind.cls is None or _default(kind, name):
        return False
    if (found := held_by_class(kind.cls, name)) is not None:
        return is_function(found) and not isinstance(found, types.FunctionType)
    return name in dict(kind.fields) or not hasattr(kind.cls, "__getattr__")


def methods_by_name(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function with the method itself wherever a name for it is called.

    Before: `f = spring.force; y = f(x)`. After: `y = spring.force(x)`.
    """
    stmts = list(ir.statements(lowered.function.body))
    counts = ir.bindings(stmts, lowered.function.param_names)
    named: dict[str, ir.Expr] = {}
    for stmt in stmts:
        match stmt:
            case ir.Assign(target=str(name), value=ir.Attribute(ir.Var(base), method) as value):
                once = counts[name] == 1 and counts[base] == 1
                if once and _is_method(kinds.get(base, UNKNOWN), method):
                    named[name] = value
    if not named:
        return lowered

    def expr(e: ir.Expr) -> ir.Expr:
        e = ir.rebuild(e, expr)
        if isinstance(e, ir.Call) and isinstance(e.fn, ir.Var) and e.fn.name in named:
            return dataclasses.replace(e, fn=named[e.fn.name])
        return e

    def unread(stmt: ir.Stmt) -> ir.Block | None:
        return () if gone & set(ir.binds(stmt)) else None

    body = ir.rewrite(lowered.function.body, expression=expr)
    if body is lowered.function.body:
        return lowered
    gone = set(named).difference(*(ir.reads(stmt) for stmt in ir.statements(body)))
    function = ir.with_body(lowered.function, ir.rewrite(body, unread))
    return dataclasses.replace(lowered, function=function)


# --------------------------------------------------------------------------------------------------
# Methods of which only the run says the name: `getattr(self, "visit_" + kind)(node)`.
#
# before::                         after::
#     m = getattr(self, name)          method = unbound(self, name)
#     y = m(x)                         y = method(self, x)


def methods_by_text(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function with calls of what objects have by such names, given the objects."""
    if not fact(_asks_by_text, lowered.function):
        return lowered
    every = list(ir.statements(lowered.function.body))
    counts = ir.bindings(every, lowered.function.param_names)
    once = {
        stmt.target: stmt.value
        for stmt in every
        if isinstance(stmt, ir.Assign) and isinstance(stmt.target, str)
        if counts[stmt.target] == 1
    }
    names = Names(all_names(lowered.function))
    made: set[str] = set()
    calls: dict[int, ir.Block] = {}
    for block in (lowered.function.body, *(b for stmt in every for b in ir.blocks(stmt))):
        held: set[str] = set()  # (by a name that is bound before, in the same block)
        for stmt in block:
            match stmt:
                case ir.Assign(target=str(name), value=value) if _by_text(value):
                    held |= {name} & once.keys()
                case ir.Assign(value=ir.Call(ir.Var(name)) as call) | ir.Do(
                    ir.Call(ir.Var(name)) as call
                ) if name in held:
                    method = names.fresh("method")
                    made.add(method)
                    calls[id(stmt)] = _by_names(stmt, call, name, method, once, kinds)

    def desugared(stmt: ir.Stmt) -> ir.Block | None:
        return calls.get(id(stmt))

    body = ir.rewrite(lowered.function.body, desugared)
    body = ir.without_unread(body, {name for name in once if _by_text(once[name])})
    return lowered.with_body(body, made)


def _asks_by_text(function: ir.Function) -> bool:
    values = (getattr(stmt, "value", None) for stmt in ir.statements(function.body))
    return any(map(_by_text, values))


def _by_text(value: ir.Expr | None) -> bool:
    match value:
        case ir.Call(ir.Ref(obj=builtins.getattr), (ir.Var(), ir.Var(), *_)):
            return True
    return False


def _by_names(
    stmt: ir.Stmt,
    call: ir.Call,
    held: str,
    method: str,
    once: Mapping[str, ir.Expr],
    kinds: Mapping[str, Kind],
) -> ir.Block:
    """The call of what an object has by a name."""
    asked = once[held]
    assert isinstance(asked, ir.Call) and isinstance(stmt, ir.Assign | ir.Do)
    base, name, *others = asked.args
    assert isinstance(base, ir.Var) and isinstance(name, ir.Var)

    def calling(fn: ir.Expr, *args: ir.Expr) -> ir.Stmt:
        return dataclasses.replace(stmt, value=dataclasses.replace(call, fn=fn, args=args))

    found = ir.Assign(method, ir.Call(_UNBOUND, (base, name), at=asked.at), stmt.origin)
    made: ir.Block = (found, calling(ir.Var(method), base, *call.args))
    if not others:
        return made
    there = ir.Call(ir.HASATTR, (base, name), at=asked.at)
    return (ir.If(there, made, (calling(others[0], *call.args),), stmt.origin),)


_UNBOUND = ir.Ref("unbound", unbound)
_HAS_OWN = ir.Ref("has_own", has_own)


@dataclasses.dataclass(frozen=True)
class MethodsAsFunctions(ir.Rewriter):
    """The function with what `bound` makes of the methods that are values, given to functions or
    stored: `f = spring.force` as `f = partial(Spring_force, spring)`."""

    kinds: Mapping[str, Kind]
    bound: Callable[[ir.Expr, Kind, str], ir.Expr | None]

    def statement(self, stmt: ir.Stmt) -> ir.Stmt | None:
        match stmt:
            case ir.If() if (both := by_branch(stmt, self.kinds)) is not None:
                here, others = (dataclasses.replace(self, kinds=kinds) for kinds in both)
                body, orelse = here.block(stmt.body), others.block(stmt.orelse)
                same = body is stmt.body and orelse is stmt.orelse
                return stmt if same else dataclasses.replace(stmt, body=body, orelse=orelse)
            case ir.Assign(value=ir.Attribute()):
                new = self._with(stmt, self.kinds)
                changed = new is not stmt  # (`by_class` names nothing)
                return new if changed else by_class(stmt, self.kinds, self._with, Names())
        return None

    def _with(self, stmt: ir.Stmt, kinds: Mapping[str, Kind]) -> ir.Stmt:
        match stmt:
            case ir.Assign(target=str(), value=ir.Attribute(ir.Var(base) as of, name)):
                made = self.bound(of, kinds.get(base, UNKNOWN), name)
                return stmt if made is None else dataclasses.replace(stmt, value=made)
        return stmt


def has_methods_of_values(function: ir.Function) -> bool:
    """Whether a function reads what may be a method of an array or a list: `push = xs.append`."""
    return any(
        isinstance(stmt, ir.Assign)
        and isinstance(stmt.value, ir.Attribute)
        and stmt.value.name in VALUE_METHODS
        for stmt in ir.statements(function.body)
    )


def _is_method(kind: Kind, name: str) -> bool:
    """Whether it is surely a method of the class, or classes, that an object may be of."""
    if kind.among:
        return all(_is_method(one, name) for one in kind.among)
    if kind.form != "object":
        return False
    return isinstance(held_by_class(kind.cls, name), types.FunctionType)
