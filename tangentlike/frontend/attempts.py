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

import dataclasses
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import ir
from ..errors import UnsupportedError
from ..ir.names import Names
from .jumps import contains_jump, ends_by_raising, names_constant, without_jumps
from .nested import Assignment, Star
from .operands import NOT

_ISINSTANCE = ir.Ref("isinstance", isinstance)
_IS = ir.Ref("is", operator.is_)
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
    """A whole `try` statement; `repeated` says that it stands in a loop.

    `final` is what stands in `finally`, read twice: it runs after the body, and before an exception
    goes on.
    """

    body: ir.Block
    handlers: Sequence[Handler]
    orelse: ir.Block
    final: tuple[ir.Block, ir.Block]
    origin: ir.Origin
    repeated: bool

    def lowered(self, names: Names) -> list[Any]:
        """The statements it stands for."""
        made = self._handled(names) if self.handlers else [*self.body]
        return self._finally(tuple(made), names) if self.final[0] else made

    def _handled(self, names: Names) -> list[Any]:
        several = len(self.handlers) > 1
        asked = several or any(handler.name for handler in self.handlers)
        error = names.fresh("error") if asked else ""
        caught = self.handlers[0].classes
        if several:
            caught = ir.Display("tuple", tuple(c for h in self.handlers for c in _each(h.classes)))
        chain = _told(self.handlers[-1], error)
        for handler in reversed(self.handlers[:-1]):
            test = ir.Call(_ISINSTANCE, (ir.Var(error), handler.classes))
            chain = (ir.If(test, _told(handler, error), chain, handler.origin),)
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
        """The attempt; `then` is what follows in it where all went well, and where not.

        A body that changes something before its last statement is tried piece by piece, so that
        what was done before an exception counts:

            try:                            try:
                a[0] = x * 2.0                  a[0] = x * 2.0
                y = a[k]                    except IndexError: ...
            except IndexError:      ->      if not failed:
                y = a[0]                        try:
                                                    y = a[k]
                                                except IndexError: ...
                                            if failed:
                                                y = a[0]
        """
        before, body, after = without_jumps(body, names)
        fine, handling = then
        failed = error or names.fresh("failed")
        pieces = _pieces(body, handling)
        then = ((*after, *fine), handling)
        if len(pieces) == 1:
            return [*before, self._piece(body, caught, (failed, bool(error)), names, then)]
        made: list[Any] = []
        flag = ""
        for piece in pieces:
            last, flag = flag, failed if piece is pieces[-1] else names.fresh(failed)
            one: Any = self._piece(piece, caught, (flag, bool(error)), names, ((), ()))
            if last:
                one = self._where(
                    last, (ir.Assign(flag, ir.Var(last), self.origin),), (one,), error
                )
            made.append(one)
        return [*before, *made, self._where(flag, handling, then[0], error)]

    def _where(self, flag: str, failed: ir.Block, well: ir.Block, error: str) -> ir.If:
        """What is done where an attempt failed, and where it went well."""
        if error:
            return ir.If(ir.Call(_IS, (ir.Var(flag), ir.Const(None))), well, failed, self.origin)
        if failed:
            return ir.If(ir.Var(flag), failed, well, self.origin)
        return ir.If(ir.Call(NOT, (ir.Var(flag),)), well, (), self.origin)

    def _piece(
        self,
        body: ir.Block,
        caught: ir.Expr,
        told: tuple[str, bool],
        names: Names,
        then: tuple[ir.Block, ir.Block],
    ) -> ir.Try:
        """A `Try` of a body without jumps; `told` is the name that tells whether it failed, and
        whether by the exception itself."""
        copies: ir.Block = ()
        if self.repeated and body:
            body, copies = _apart(body, names)
        failed, by_exception = told
        name = names.fresh("raised") if by_exception else ""
        whole = (*body, ir.Tried(self.origin), *copies, *then[0])
        return ir.Try(caught, whole, then[1], self.origin, failed, name)


def _each(classes: ir.Expr) -> tuple[ir.Expr, ...]:
    return classes.items if isinstance(classes, ir.Display) else (classes,)


def _apart(body: ir.Block, names: Names) -> tuple[ir.Block, ir.Block]:
    """A body whose last statement binds names of its own, and what copies them to those meant.

    In a loop the value before may have to be saved, which must not happen in a body that raises.
    """
    last = body[-1]
    match last:
        case Assignment(targets=(ir.Var(name),)):
            bound = names.fresh(f"{name}_tried")
            last = dataclasses.replace(last, targets=(ir.Var(bound),))  # type: ignore[arg-type]
        case ir.Assign(target=str(name)):
            bound = names.fresh(f"{name}_tried")
            last = dataclasses.replace(last, target=bound)
        case _:
            return body, ()
    return (*body[:-1], last), (ir.Assign(name, ir.Var(bound), last.origin),)


def _pieces(body: ir.Block, handling: ir.Block) -> list[ir.Block]:
    """A body cut after each statement that changes what is there before it (`a[k] = v`,
    `s = s * v`), or that binds what the handlers read; whole where no derivative is taken of
    what follows an exception."""
    if ends_by_raising(handling):
        return [body]
    read = set(_read(handling))
    pieces: list[ir.Block] = [()]
    changed, entered = False, 0  # (a context is left in the piece that enters it)
    for stmt in body:
        if changed and not entered and not names_constant(stmt):
            pieces.append(())
            changed = False
        pieces[-1] = (*pieces[-1], stmt)
        changed = changed or _changes(stmt, read)
        entered += isinstance(stmt, ir.Enter) - isinstance(stmt, ir.Leave)
    return pieces


def _changes(stmt: Any, read: set[str]) -> bool:
    """Whether a statement writes into something, or binds one of the names that are read."""
    match stmt:
        case ir.Update() | ir.Store():
            return True
        case ir.Do(value=ir.Call(fn=ir.Ref(obj=obj))):
            return obj is not print
        case ir.Do():
            return True
        case Assignment(targets=targets, value=value):
            parts = [part for target in targets for part in _leaves(target)]
            names = {part.name for part in parts if isinstance(part, ir.Var)}
            return len(names) < len(parts) or bool(names & (read | ir.names_in(value)))
        case ir.Assign(target=target, value=value):
            return bool(set(ir.target_names(target)) & (read | ir.names_in(value)))
    inside = (inner for inner in ir.statements((stmt,)) if not ir.is_compound(inner))
    return ir.is_compound(stmt) and any(_changes(inner, read) for inner in inside)


def _leaves(target: Any) -> Iterator[Any]:
    if isinstance(target, tuple):
        for part in target:
            yield from _leaves(part)
    else:
        yield getattr(target, "target", target) if isinstance(target, Star) else target


def _read(block: ir.Block) -> Iterator[str]:
    for stmt in ir.statements(block):
        exprs = ir.expressions(stmt)
        if isinstance(stmt, Assignment):
            exprs = (stmt.value, *(part for t in stmt.targets for part in _leaves(t)))
        for expr in exprs:
            yield from ir.names_in(expr)


def _told(handler: Handler, error: str) -> ir.Block:
    """A handler's body, the exception bound to its name."""
    if not handler.name:
        return handler.body
    return (ir.Assign(handler.name, ir.Var(error), handler.origin), *handler.body)


def refuse_contents(function: ir.Function) -> None:
    """Refuse to take anything out of a caught exception: it may carry derivatives."""
    stmts = list(ir.statements(function.body))
    caught = {s.failed for s in stmts if isinstance(s, ir.Try) and s.caught}
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
