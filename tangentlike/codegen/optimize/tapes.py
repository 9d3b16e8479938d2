"""Tapes that are no tapes: of one argument, which the caller has, or of nothing.

`y, tape = f_fwd(a, b)` whose tape is `(b,)` is `y = f_fwd(a, b)`, and `f_bwd(b, y_bar)` stands for
`f_bwd(tape, y_bar)`: a backward function is given what it reads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from ... import ir
from ...ir.facts import fact
from ...ir.index import ProgramIndex, all_names, references
from ...ir.names import Names
from .stacks import taped_names, unpacked_names

_Functions = Sequence[ir.Function]


def without_tape(functions: _Functions, at: int) -> tuple[ir.Function, ...]:
    """The functions, of which that at `at` is a forward function and the next one its backward
    function, with what is read of the tape in place of it, where that is one argument at most.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> fwd = dataclasses.replace(program("y = a * b; return y, (b,)"), name="fwd")
    >>> bwd = dataclasses.replace(program("(b,) = tape; return y_bar * b"), name="bwd")
    >>> fwd = dataclasses.replace(fwd, params=(ir.Param("a"), ir.Param("b")))
    >>> params = ir.Param("tape"), ir.Param("y_bar")
    >>> bwd = dataclasses.replace(bwd, params=params, empties=("tape",))
    >>> names = {"fwd": len, "bwd": len}  # (of any functions)
    >>> main = program("y, t = fwd(u, v); u_bar = bwd(t, 2.0); return u_bar", names)
    >>> for f in without_tape((fwd, bwd, main), 0):
    ...     print(f.param_names, show(f.body).replace(chr(10), "; "))
    ('a', 'b') y = a * b; return y
    ('b', 'y_bar') return y_bar * b
    ('u', 'v') fwd_b = v; y = fwd(u, v); u_bar = bwd(fwd_b, 2.0); return u_bar
    """
    fwd, bwd, later = functions[at], functions[at + 1], functions[at + 2 :]
    taped = taped_names(fwd)
    read = (unpacked_names(bwd) or ()) if bwd.empties else None
    if taped is None or read is None or len(taped) != len(read) or len(taped) > 1:
        return tuple(functions)
    if taped and (
        taped[0] not in fwd.param_names
        or taped[0] in fact(ProgramIndex, fwd).definitions
        or read[0] is None
    ):
        return tuple(functions)
    known = _Direct(fwd, bwd, taped[0] if taped else None)
    if any(map(known.is_called, functions[: at + 2])) or not all(map(known.is_plain, later)):
        return tuple(functions)
    if not any(map(known.is_called, later)):
        return tuple(functions)  # (somebody else calls them)
    made = (known.forward(), known.backward(), *map(known.caller, later))
    return (*functions[:at], *made)


@dataclasses.dataclass(frozen=True)
class _Direct:
    """A pair of functions of which the tape is an argument, the parameter `taped`, or nothing."""

    fwd: ir.Function
    bwd: ir.Function
    taped: str | None

    def is_called(self, fn: ir.Function) -> bool:
        """Whether a function refers to one of the pair."""
        return any(ref.text in (self.fwd.name, self.bwd.name) for ref in fact(references, fn))

    def is_plain(self, fn: ir.Function) -> bool:
        """Whether all that a function does with the pair is to call it, in statements that take
        the value and the tape, and with the tape by position."""
        if not self.is_called(fn):
            return True
        for stmt in ir.statements(fn.body):
            calls = sum(1 for _ in self._backward_calls(stmt))
            calls += self._forward_call(stmt) is not None
            named = (p for p in ir.walk_statement(stmt) if type(p) is ir.Ref)
            if calls != sum(ref.text in (self.fwd.name, self.bwd.name) for ref in named):
                return False
        return True

    def _forward_call(self, stmt: ir.Stmt) -> ir.Expr | None:
        """The argument that is the tape of a call (any, where that is empty)."""
        match stmt:
            case ir.Assign((_, str()), ir.Call(ir.Ref(text), args, kwargs)) if (
                text == self.fwd.name and not any(map(ir.is_starred, args))
            ):
                if self.taped is None:
                    return stmt.value
                default = {p.name: p.default for p in self.fwd.params}[self.taped]
                given = dict(zip(self.fwd.param_names, args, strict=False)) | dict(kwargs)
                value = given.get(self.taped, default)
                return value if isinstance(value, ir.Var | ir.Const) else None
        return None

    def _backward_calls(self, stmt: ir.Stmt) -> Iterator[ir.Call]:
        for part in ir.walk_statement(stmt):
            match part:
                case ir.Call(fn=ir.Ref(text), args=(ir.Var(), *_)) if text == self.bwd.name:
                    yield part

    def forward(self) -> ir.Function:
        """The forward function, which gives the value alone."""
        *before, end = self.fwd.body
        assert isinstance(end, ir.Return) and isinstance(end.value, ir.Display)
        value = end.value.items[0]
        end = ir.replaced(end, value=None if value == ir.Const(None) else value)
        return ir.replaced(self.fwd, body=(*before, end))

    def backward(self) -> ir.Function:
        """The backward function, which is given what it read of the tape."""
        params, body = self.bwd.params[1:], self.bwd.body
        if self.taped is not None:
            (name,) = unpacked_names(self.bwd) or ()
            assert name is not None
            params, body = (ir.Param(name), *params), body[1:]
        return ir.replaced(self.bwd, params=params, body=body, empties=())

    def caller(self, fn: ir.Function) -> ir.Function:
        """A function that calls them."""
        if not self.is_called(fn):
            return fn
        tapes = [
            str(stmt.target[1])
            for stmt in ir.statements(fn.body)
            if isinstance(stmt, ir.Assign) and self._forward_call(stmt) is not None
        ]
        names = Names(all_names(fn))
        wanted = f"{self.fwd.name.rpartition('.')[2].removesuffix('_fwd')}_{self.taped or 'tape'}"
        # (Nothing is known of the new names: of a tape it is that it carries no derivative.)
        fresh = {tape: ir.Var(names.fresh(wanted)) for tape in dict.fromkeys(tapes)}
        body = ir.rewrite(ir.renamed(fn.body, fresh), self._bound_before, self._called)
        return ir.replaced(fn, body=body)

    def _bound_before(self, stmt: ir.Stmt) -> ir.Instead:
        """What was the tape, with a name, and the call that gives the value alone."""
        value = self._forward_call(stmt)
        if value is None:
            return None
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.target, tuple)
        result, name = stmt.target
        origin = dataclasses.replace(stmt.origin, role="save")
        kept = ir.Assign(name, value if self.taped is not None else ir.Const(None), origin)
        unread = result == "_"
        call = ir.Do(stmt.value, stmt.origin) if unread else ir.replaced(stmt, target=result)
        return kept, call

    def _called(self, expr: ir.Expr) -> ir.Expr:
        if self.taped is None and isinstance(expr, ir.Call):
            fn = expr.fn
            if isinstance(fn, ir.Ref) and fn.text == self.bwd.name:
                expr = ir.replaced(expr, args=expr.args[1:])
        return ir.rebuild(expr, self._called)
