"""Short reads are written again instead of named: `x[i]` twice, `range(n - 1)` twice.

Flattening named them; a person would not, and the derivative often reads them a second time.
"""

from __future__ import annotations

from ... import ir
from .analyses import Asking
from .effects import NOTHING, effect_of, expr_effect
from .facts import ASKING_RUNTIME, Facts
from .measure import width
from .patterns import READ, patterns_of

_WIDEST = 13
_COUNTING = ("+", "-", "*", "//", "%")


def repeat_short_reads(function: ir.Function, facts: Facts) -> ir.Function:
    """Write `x[i]`, `a.T` or `n - 1` at each of its readers, while its value stays the same.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from ...ir.kind import FLOAT
    >>> f = program("t = x[i]; y = t * t; x[j] = y; return y")
    >>> facts = Facts(kinds={"t": FLOAT}, temporaries=frozenset("t"))
    >>> print(show(repeat_short_reads(f, facts).body))
    y = x[i] * x[i]
    x[j] = y
    return y
    """
    if not facts.temporaries:
        return function
    return _Repeating(function, facts).rewritten(function)


class _Repeating(Asking):
    def block(self, block: ir.Block) -> ir.Block:
        # Nested blocks come first, while their statements are the ones that were analysed.
        stmts = [self.nested(stmt) for stmt in block]
        removed: set[int] = set()
        for position, stmt in enumerate(block):
            if not patterns_of(stmt) & READ:
                continue
            if isinstance(stmt, ir.Assign) and self._is_short(stmt):
                end = self._last_reader(stmt, block, position)
                if end is not None:
                    removed.add(position)
                    source = stmts[position]
                    assert isinstance(source, ir.Assign)
                    values = {str(source.target): source.value}
                    for at in range(position + 1, end + 1):
                        stmts[at] = _replaced(stmts[at], values)
        return ir.unless_same([s for at, s in enumerate(stmts) if at not in removed], block)

    def _is_short(self, stmt: ir.Assign) -> bool:
        name = stmt.target
        if not isinstance(name, str) or name in self.pinned:
            return False
        if name not in self.facts.temporaries or width(stmt.value) > _WIDEST:
            return False
        kind = self.facts.kind(name)
        if self.facts.by_identity and not (kind.discrete or kind.form == "array"):
            return False  # (read again, a number is another object)
        match stmt.value:
            case ir.Index(ir.Var(), ir.Slice() as key):
                return all(isinstance(part, ir.Atom) for part in ir.children(key))
            case ir.Index(ir.Var(), key):
                copies = any(self.facts.kind(n).form in ("array", "list") for n in _named(key))
                return kind.form != "list" and not copies and _is_position(key)
            case ir.Attribute(base=ir.Var(base), name="T"):
                return self.facts.kind(base).form == "array" and not self.facts.by_identity
            case ir.Call(fn=ir.Ref(text=text, obj=obj)) if text in _COUNTING or obj is len:
                return kind.form == "number" and kind.discrete
            case _:
                return False

    def _last_reader(self, stmt: ir.Assign, block: ir.Block, position: int) -> int | None:
        """Where the last statement stands that reads the value; None if it must keep its name."""
        name = str(stmt.target)
        effect = expr_effect(stmt.value, self.facts)
        loads = not isinstance(stmt.value, ir.Call)
        readers, at = 0, position
        last = position
        while self.live.is_live_after(block[at], name):
            at += 1
            if at >= len(block) or at > position + _WINDOW:
                return None
            other = block[at]
            if isinstance(other, ir.Tried):
                return None  # (the read may raise what its `try` catches)
            found = effect_of(other, self.facts)
            if name in found.reads:
                readers, last = readers + 1, at
                nested = ir.is_compound(other)
                if _tried(other) or _is_target(other, name) or (loads and _in_loop(other, name)):
                    return None
                if loads and _is_compared(other, name):
                    return None
                if (nested or found.fixed) and not self.can_move(effect, (found,)):
                    return None
            if name in found.binds:
                return None
            if self.live.is_live_after(other, name) and not self.can_move(effect, (found,)):
                return None
        return last if readers else None


def _is_position(key: ir.Expr) -> bool:
    """`i`, `i - 1` or `i, j`."""
    if isinstance(key, ir.Atom):
        return True
    counting = isinstance(key, ir.Call) and isinstance(key.fn, ir.Ref) and key.fn.text in _COUNTING
    parts = ir.children(key)[1:] if counting else ir.children(key)
    plain = counting or (isinstance(key, ir.Display) and key.form == "tuple")
    return plain and all(isinstance(part, ir.Atom) for part in parts)


def _is_target(stmt: ir.Stmt, name: str) -> bool:
    """Whether a statement, or one within it, writes through the name."""
    for inner in ir.statements((stmt,)):
        match inner:
            case ir.Store(target=target) | ir.Update(target=target):
                if name in ir.names_in(getattr(target, "base", target)):
                    return True
        parts = (part for expr in ir.expressions(inner) for part in ir.walk(expr))
        if name in ir.reads(inner) and any(isinstance(part, ir.Opaque) for part in parts):
            return True
    return False


def _named(key: ir.Expr) -> list[str]:
    parts = key.items if isinstance(key, ir.Display) else (key,)
    return [part.name for part in parts if isinstance(part, ir.Var)]


def _is_compared(stmt: ir.Stmt, name: str) -> bool:
    """Whether a statement asks which object the value is: read again, it may be another one."""
    calls = (p for e in ir.expressions(stmt) for p in ir.walk(e) if isinstance(p, ir.Call))
    return any(
        isinstance(call.fn, ir.Ref) and call.fn.text in ASKING_RUNTIME and name in ir.names_in(call)
        for call in calls
    )


def _tried(stmt: ir.Stmt) -> bool:
    """Whether a `try` stands in a statement: what is read there may raise there."""
    return any(isinstance(s, ir.Try) for s in ir.statements((stmt,)))


def _in_loop(stmt: ir.Stmt, name: str) -> bool:
    """Whether a loop within the statement reads the name round after round."""
    for loop in ir.statements((stmt,)):
        if isinstance(loop, ir.For | ir.While):
            own = ir.reads(loop) if isinstance(loop, ir.While) else NOTHING
            if name in own or any(name in ir.reads(s) for s in ir.statements(loop.body)):
                return True
    return False


def _replaced(stmt: ir.Stmt, values: dict[str, ir.Expr]) -> ir.Stmt:
    return ir.rewrite((stmt,), expression=lambda e: ir.substitute(e, values))[0]
