"""`try`: its body as an `ir.Try`, what handles the exception as branches after it.

    before::                                   after::
        try:                                       try:
            L = np.linalg.cholesky(A)                  L = np.linalg.cholesky(A)
            return L                                   failed = False
        except np.linalg.LinAlgError:              except np.linalg.LinAlgError:
            A = A + jitter                             failed = True
                                                       A = A + jitter
                                                   else:
                                                       return L

The path taken is the path differentiated. No handler stands around code of a derivative, whose own
exceptions therefore pass.
"""

from __future__ import annotations

import contextlib
import operator
import types
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gast
import numpy as np

from .. import ir, runtime
from ..errors import UnsupportedError
from ..ir import Attribute, Block, Call, Const, Do, Enter, Expr, Leave, Origin, Ref, Var
from ..ir.names import Names
from .cuts import REFUSED, goes_on_after_any
from .expressions import Lookup
from .generators import Renamed, is_generator_function
from .jumps import contains_jump, without_jumps
from .owners import is_numerical, is_ours, is_pythons
from .resolve import Scope
from .signatures import plain_signature
from .source import Source, find_definition
from .survey import Survey, survey

_ISINSTANCE = ir.Ref("isinstance", isinstance)
_EVERYTHING = ir.Ref("BaseException", BaseException)
_JUMPS = (ir.Return, ir.Break, ir.Continue)
_TELLING = (
    print,
    isinstance,
    str,
    repr,
    type,
    operator.is_,
    operator.is_not,
)  # calls that an exception may be given to


@dataclass(frozen=True)
class Handler:
    """`except classes as name: body`; without classes it stands for all."""

    classes: ir.Expr
    name: str
    body: ir.Block
    origin: ir.Origin


@dataclass(frozen=True)
class Attempt:
    """A whole `try` statement.

    `final` is what stands in `finally`, read twice: it runs after the body, and before an exception
    goes on.
    """

    body: ir.Block
    handlers: Sequence[Handler]
    orelse: ir.Block
    final: tuple[ir.Block, ir.Block]
    origin: ir.Origin

    def lowered(self, names: Names) -> list[Any]:
        """The statements it stands for."""
        made = self._handled(names) if self.handlers else [*self.body]
        return self._finally(tuple(made), names) if self.final[0] else made

    def _handled(self, names: Names) -> list[Any]:
        handlers = [_passing_refusals(handler, names) for handler in self.handlers]
        several = len(handlers) > 1
        asked = several or any(handler.name for handler in handlers)
        error = names.fresh("error") if asked else ""
        caught = handlers[0].classes
        if several:
            caught = ir.Display("tuple", tuple(c for h in handlers for c in _each(h.classes)))
        chain = _told(handlers[-1], error)
        for handler in reversed(handlers[:-1]):
            test = ir.Call(_ISINSTANCE, (ir.Var(error), handler.classes))
            serves = names.fresh(_question(handler.classes))  # (a sweep back needs no more)
            branch = ir.If(ir.Var(serves), _told(handler, error), chain, handler.origin)
            chain = (ir.Assign(serves, test, handler.origin), branch)
        return self._attempt(self.body, caught, error, names, (self.orelse, chain))

    def _finally(self, body: ir.Block, names: Names) -> list[Any]:
        """`finally: F` as `except BaseException: F; raise` and `else: F`."""
        normally, raising = self.final
        if contains_jump(normally, *_JUMPS):
            raise UnsupportedError(
                "a jump out of `finally` is not supported",
                self.origin.place,
                "It would swallow exceptions. Jump after the `try` statement.",
            )
        before, body, after = without_jumps(body, names)
        again = ir.OpaqueStmt("raise", (), (), (), (), self.origin)
        then = ((*normally, *after), (*raising, again))
        return [*before, *self._attempt(body, _EVERYTHING, "", names, then)]

    def _attempt(
        self,
        body: ir.Block,
        caught: ir.Expr,
        error: str,
        names: Names,
        then: tuple[ir.Block, ir.Block],
    ) -> list[Any]:
        """The attempt; `then` is what follows in it where all went well, and where not."""
        before, body, after = without_jumps(body, names)
        fine, handling = then
        failed = names.fresh("failed")
        whole = (*body, ir.Tried(self.origin), *after, *fine)
        return [*before, ir.Try(caught, whole, handling, self.origin, failed, error)]


def _passing_refusals(handler: Handler, names: Names) -> Handler:
    """A handler that lets what the derivative refuses go on, if it may take that.

    before::                  after::
        except:                   except BaseException as error:
            y = 0.0                   if isinstance(error, NotDifferentiated):
                                          raise error
                                      y = 0.0
    """
    if not goes_on_after_any(handler.classes, handler.body):
        return handler
    error, refused = handler.name or names.fresh("error"), names.fresh("refused")
    test = ir.Call(_ISINSTANCE, (ir.Var(error), REFUSED))
    again = ir.OpaqueStmt(f"raise {error}", (error,), (ir.Var(error),), (), (), handler.origin)
    branch = ir.If(ir.Var(refused), (again,), (), handler.origin)
    body = (ir.Assign(refused, test, handler.origin), branch, *handler.body)
    return replace(handler, name=error, body=body)


def _question(classes: ir.Expr) -> str:
    """What the answer is called to whether a handler serves: `is_ValueError`."""
    last = classes.text.rpartition(".")[2] if isinstance(classes, ir.Ref) else ""
    return f"is_{last}" if last.isidentifier() else "serves"


def _each(classes: ir.Expr) -> tuple[ir.Expr, ...]:
    return classes.items if isinstance(classes, ir.Display) else (classes,)


def _told(handler: Handler, error: str) -> ir.Block:
    """A handler's body, the exception bound to its name."""
    if not handler.name:
        return handler.body
    return (ir.Assign(handler.name, ir.Var(error), handler.origin), *handler.body)


def refuse_contents(function: ir.Function) -> None:
    """Refuse to take anything out of a caught exception: it may carry derivatives."""
    stmts = list(ir.statements(function.body))
    caught = {s.caught for s in stmts if isinstance(s, ir.Try) and s.caught}
    while caught:
        assigned = (s for s in stmts if isinstance(s, ir.Assign) and isinstance(s.target, str))
        copies = ((str(s.target), s.value.name) for s in assigned if isinstance(s.value, ir.Var))
        more = {target for target, name in copies if name in caught} - caught
        if not more:
            break
        caught |= more
    for stmt in stmts if caught else ():
        copied = isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Var)
        for expr in () if copied or isinstance(stmt, ir.OpaqueStmt) else ir.expressions(stmt):
            name = _taken_apart(expr, caught)
            if name:
                raise UnsupportedError(
                    f"a value inside the caught exception `{name}` is used",
                    stmt.origin.place,
                    "Derivatives do not travel through exceptions. Store what the handler needs in "
                    "variables; an exception may be printed, tested by `isinstance`, or raised.",
                )


def _taken_apart(expr: ir.Expr, caught: set[str]) -> str:
    """The exception that an expression reads other than to tell of it, or ""."""
    match expr:
        case ir.Var(name):
            return name if name in caught else ""
        case ir.Call(fn=ir.Ref(obj=obj)) if any(obj is telling for telling in _TELLING):
            return ""
        case ir.Opaque(text=text) if text.startswith(("f'", 'f"')):
            return ""
    found = (_taken_apart(part, caught) for part in ir.children(expr))
    return next(filter(None, found), "")


# --------------------------------------------------------------------------------------------------
# Context managers of the user's, written out: what they do around a body, in its place.
#
# Where a manager is given what carries derivatives, or gives it to the body, what it does counts:
#
#     @contextlib.contextmanager              before::                 after::
#     def scaled(x):                              with scaled(v) as s:     s = v / 2.0
#         try:                                        y = s * s            try:
#             yield x / 2.0                                                    y = s * s
#         finally:                                                         finally:
#             done()                                                           done()
#
# Of a class with `__enter__` and `__exit__`, both are called as any method is:
#
#     before::                       after::
#         with Scaled(v) as s:           manager = Scaled(v)
#             y = s * s                  s = manager.__enter__()
#                                        try:
#                                            y = s * s
#                                        except BaseException:
#                                            leave_raising(manager)
#                                            raise
#                                        manager.__exit__(None, None, None)
#
# All other managers are entered as they stand (`contexts`).


_HELPER = contextlib.contextmanager(lambda: iter(())).__code__
_LEAVE_RAISING = Ref("leave_raising", runtime.leave_raising)
_METHODS = ("__enter__", "__exit__")
_PLAIN = (bool, int, float, complex, str, type(None))
_INNER = (gast.FunctionDef, gast.Lambda, gast.ClassDef, gast.Import, gast.ImportFrom, gast.Match)


@dataclass(frozen=True)
class Generator:
    """What stands around the `yield` of a manager made by `contextlib.contextmanager`.

    `first` binds its parameters; the names of `node` are those that `lookup` knows.
    """

    node: Any
    source: Source
    lookup: Lookup
    first: Block
    code: types.CodeType


def generator_of(context: Expr, lookup: Lookup, names: Names, origin: Origin) -> Generator | None:
    """The generator function behind a manager, its names made fresh; None for other managers, and
    where it yields more than once, or is not made of plain statements that mean the same here."""
    match context:
        case Call(fn=Ref(obj=object(__code__=code, __wrapped__=fn))) if code is _HELPER:
            return written_here(fn, context, lookup, names, origin, _is_simple)
    return None


def loop_generator(call: Expr, lookup: Lookup, names: Names, origin: Origin) -> Generator | None:
    """The generator function that a loop goes through, its names made fresh; None where it is not
    made of plain statements that mean the same here."""
    match call:
        case Call(fn=Ref(obj=fn)) if is_generator_function(fn):
            return written_here(fn, call, lookup, names, origin, _is_plain)
    return None


def written_here(
    fn: types.FunctionType,
    call: Call,
    lookup: Lookup,
    names: Names,
    origin: Origin,
    suits: Callable[[Any, Survey], bool],
) -> Generator | None:
    """A generator function whose statements may stand where it is called; None where they would
    mean something else there."""
    values = _arguments(fn, call)
    definition = find_definition(fn)
    known, outer = survey(definition.node), Scope.of(fn)
    if values is None or not suits(definition.node, known):
        return None
    used = survey(gast.Module(definition.node.body, [])).used.keys() - known.bound.keys()
    if not all(_same(name, lookup, outer) for name in used):
        return None
    names.take(used)
    own = {name: names.fresh(name) for name in known.bound}
    node = Renamed(own).visit(definition.node)
    first = tuple(ir.Assign(own[n], value, origin) for n, value in values.items())
    local = frozenset(own.values())
    return Generator(
        node,
        definition.source,
        lambda name: Var(name) if name in local else lookup(name),
        first,
        fn.__code__,
    )


def _arguments(fn: types.FunctionType, call: Call) -> dict[str, Expr] | None:
    """What each parameter gets; None where that is not plain."""
    if any(isinstance(arg, ir.Opaque) for arg in call.args):  # (`*args` among them)
        return None
    signature = plain_signature(fn)
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()):
        return None
    try:
        bound = signature.bind(*call.args, **dict(call.kwargs)).arguments
    except TypeError:  # (the call raises, and says why)
        return None
    values: dict[str, Expr] = dict(bound)
    for name, param in signature.parameters.items():
        if name not in values:
            if type(param.default) not in _PLAIN:
                return None
            values[name] = Const(param.default)
    return values


def _is_simple(node: Any, known: Survey) -> bool:
    """Whether each run of a generator reaches one `yield`, a statement within nothing but `if`,
    `try` and `with`, and no other statement leaves it."""
    if known.outer:
        return False
    inner = list(gast.walk(node))[1:]
    if any(isinstance(part, (*_INNER, gast.Return)) for part in inner):
        return False
    reached: list[Any] = []
    return _yields_once(node.body, reached) and len(reached) == len(known.yields)


def _yields_once(block: list[Any], reached: list[Any]) -> bool:
    """Whether every run of a block comes to one `yield`; those go to `reached`."""
    count = 0
    for stmt in block:
        if isinstance(stmt, gast.Expr) and isinstance(stmt.value, gast.Yield):
            reached.append(stmt.value)
            count += 1
        elif isinstance(stmt, gast.With | gast.Try):
            count += _yields_once(stmt.body, reached)
        elif isinstance(stmt, gast.If):
            then, otherwise = _yields_once(stmt.body, reached), _yields_once(stmt.orelse, reached)
            count += then and otherwise
    return count == 1


def _is_plain(node: Any, known: Survey) -> bool:
    """Whether each `yield` of a generator is a statement outside of any `try` and `with`, which
    would be about the body of the loop as well."""
    inner = list(gast.walk(node))[1:]
    if known.outer or any(isinstance(part, (*_INNER, gast.Try, gast.With)) for part in inner):
        return False
    return all(part in _statements(inner) for part in known.yields)


def _statements(parts: list[Any]) -> list[Any]:
    return [part.value for part in parts if isinstance(part, gast.Expr)]


def _same(name: str, here: Lookup, there: Scope) -> bool:
    """Whether a name means one object in both places."""
    try:
        found = here(name)
        return isinstance(found, Ref) and found.obj is there.lookup(name)
    except KeyError:
        return False


def by_protocol(
    context: Expr,
    bind: Callable[[Expr], Block],
    body: Block,
    names: Names,
    origin: Origin,
) -> Block | None:
    """A manager's methods called around a body; None where they are not written in Python. `bind`
    binds what is entered."""
    match context:
        case Call(fn=Ref(obj=contextlib.nullcontext), args=(value,), kwargs=()):
            return (*bind(value), *body)
    if not _is_readable(context):
        return None
    manager = Var(names.fresh("manager"))
    enter, leave = (Attribute(manager, name, origin.place) for name in _METHODS)
    none = Const(None)
    left = Do(Call(leave, (none, none, none), (), origin.place), origin)
    raising = Do(Call(_LEAVE_RAISING, (manager,)), origin)
    attempt = Attempt(body, (), (), ((left,), (raising,)), origin)
    return (
        ir.Assign(manager.name, context, origin),
        *bind(Call(enter, (), (), origin.place)),
        *attempt.lowered(names),
    )


def _is_readable(context: Expr) -> bool:
    match context:
        case Call(fn=Ref(obj=cls)):
            return isinstance(cls, type) and _is_python(cls)
        case Ref(obj=obj):
            return _is_python(type(obj))
    return isinstance(context, Var | Attribute)


def _is_python(cls: type) -> bool:
    """Whether a class is the user's, and both methods are."""
    own = not (is_numerical(cls) or is_pythons(cls) or is_ours(cls))
    methods = (getattr(cls, name, None) for name in _METHODS)
    return own and all(isinstance(method, types.FunctionType) for method in methods)


# --------------------------------------------------------------------------------------------------
# `with`: its items entered one after another, its body between an `Enter` and a `Leave`.
#
# before::                             after::
#     with np.errstate(divide="ignore"):   Enter(np.errstate(divide="ignore"))
#         y = 1.0 / x                      y = 1.0 / x
#         return np.sum(y)                 result = np.sum(y)
#                                          Leave()
#                                          return result

_UNSUPPRESSED = Ref("Unsuppressed", runtime.Unsuppressed)
# Managers that let every exception of their body pass.
_PASSING = (np.errstate, np.printoptions, warnings.catch_warnings, contextlib.nullcontext)


def region(context: Expr, target: str, body: tuple[Any, ...], origin: Origin) -> list[Any]:
    """A body within one context. NumPy's error state holds around its derivative as well."""
    again = _is_call_of(context, (np.errstate,))
    if not _is_call_of(context, (*_PASSING, runtime.Unsuppressed)):
        context = Call(_UNSUPPRESSED, (context,))
    end = body[-1].origin if body else origin
    leave = Leave(context if again else None, end)
    return [Enter(context, target, again, origin), *body, leave]


def suppressed(context: Expr) -> tuple[Expr, ...] | None:
    """The classes that a `contextlib.suppress(...)` catches; None for other contexts."""
    match context:
        case Call(fn=Ref(obj=obj), args=classes, kwargs=()) if obj is contextlib.suppress:
            return classes
    return None


def _is_call_of(context: Expr, managers: tuple[Any, ...]) -> bool:
    match context:
        case Call(fn=ir.Ref(obj=obj)):
            return any(obj is manager for manager in managers)
    return False
