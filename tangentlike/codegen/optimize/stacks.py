"""Saved values that nobody wants back: the stack goes, with its pushes and pops."""

from __future__ import annotations

from collections.abc import Iterator

from ... import ir
from ...ir.facts import fact
from ...ir.index import ProgramIndex
from .analyses import Asking, analyses
from .effects import effect_of, expr_effect, is_pure, is_trusted
from .facts import Facts


def remove_unread_stacks(function: ir.Function, facts: Facts) -> ir.Function:
    """Drop lists that are only pushed to and popped into names that nobody reads.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> f = program("s = []; s.append(x); y = x * 2; x = s.pop(); return y")
    >>> print(show(remove_unread_stacks(f, Facts()).body))
    y = x * 2
    return y
    """
    return remove_stacks(function, frozenset(created_lists(function)), facts)


def remove_stacks(
    function: ir.Function, names: frozenset[str], facts: Facts, beside: ir.Block = ()
) -> ir.Function:
    """Drop those of the stacks that nobody reads; what binds them (`beside`) may stay."""
    stacks = set(names)
    if not stacks:
        return function
    live = analyses(function, facts).live
    for stmt in ir.statements(function.body):
        for name in sorted(stacks & ir.reads(stmt)):
            value, popped = _pushed(stmt, name), _popped(stmt, name)
            if value is not None:
                goes = name not in ir.names_in(value) and is_pure(value, facts, True)
            else:
                goes = popped is not None and not any(live.is_live_after(stmt, n) for n in popped)
            if not goes:
                stacks.discard(name)
    if not stacks:
        return function

    def one(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        if not ir.is_compound(stmt) and stmt not in beside:
            effect = effect_of(stmt, facts)
            if stacks & (effect.reads | effect.binds):
                return ()
        return None

    return ir.with_body(function, ir.rewrite(function.body, one))


def created_lists(function: ir.Function) -> set[str]:
    """Names bound once, to a new empty list."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=target, value=ir.Display(form="list", items=())):
                found.update(ir.target_names(target))
    if not found:
        return found
    bound = ir.bindings(ir.statements(function.body), function.param_names)
    return {name for name in found if bound[name] == 1}


def is_push(stmt: ir.Stmt) -> bool:
    """Whether a statement of a transform saves a value on a stack."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(), "append"), args=(_,))):
            return stmt.origin.role == "save"
    return False


def _pushed(stmt: ir.Stmt, stack: str) -> ir.Expr | None:
    """What a statement puts on a stack."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "append"), args=(value,))):
            return value if base == stack else None
    return None


def _popped(stmt: ir.Stmt, stack: str) -> tuple[str, ...] | None:
    """The names that a statement binds to what it takes from a stack."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(base), "pop"), args=())):
            return tuple(ir.target_names(stmt.target)) if base == stack else None
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "pop"), args=())):
            return () if base == stack else None
    return None


# --------------------------------------------------------------------------------------------------
# Values that are the same in every iteration are not saved for each of them.
#
# What a loop works out from names that nothing in it binds or writes still has its value when the
# loop is gone through backwards: the name is read, and the stack it was saved on goes.


def keep_invariants(function: ir.Function, facts: Facts) -> ir.Function:
    """Leave out stacks of which all items are one value that its name still has.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> import numpy as np
    >>> from .rewriting import derived
    >>> f = derived(program('''s = []
    ... for i in range(n):
    ...     r = np.sqrt(dt)
    ...     s.append(r)
    ... for i in reversed(range(n)):
    ...     r = s.pop()
    ...     x_bar = x_bar * r
    ... return x_bar''', {"np": np}), "save")
    >>> print(show(keep_invariants(f, Facts()).body))
    s = []
    for i in range(n):
        r = np.sqrt(dt)
    for i in reversed(range(n)):
        x_bar = x_bar * r
    return x_bar
    """
    return _Invariants(function, facts).rewritten(function)


class _Invariants(Asking):
    """`gone`: the statements that push a value, or pop it, that its name still has."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        super().__init__(function, facts)
        self.function = function
        self.index = fact(ProgramIndex, function)
        self.gone: set[int] = set()
        if facts.by_identity or any(isinstance(s, ir.Try) for s in self.index.statements):
            return  # (each is an object of its own; what a `try` binds depends on what it raises)
        for stack in sorted(created_lists(function)):
            self.gone.update(self._of_one_value(stack))

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        if id(stmt) in self.gone:
            return ()
        return self.nested(stmt)

    def _of_one_value(self, stack: str) -> Iterator[int]:
        """The push and the pop of a stack of one value, if it is such a stack."""
        uses = [self.index.statements[n] for n in self.index.uses.get(stack, ())]
        if len(uses) != 2 or stack in self.pinned:
            return
        push, pop = uses
        value, taken = _pushed(push, stack), getattr(pop, "target", None)
        if not isinstance(value, ir.Var) or not is_push(push) or _popped(pop, stack) is None:
            return
        name = value.name
        if taken == name and name not in self.function.param_names:
            bindings = [self.index.statements[n] for n in self.index.definitions[name]]
            if len(bindings) == 2 and bindings[1] is pop:
                beside = bindings[0] in self.index.block(push)
                if beside and self._is_invariant(bindings[0], name):
                    yield from map(id, uses)

    def _is_invariant(self, definition: ir.Stmt, name: str) -> bool:
        """Whether a statement of a loop, the only one to bind a name but for pops, gives it the
        same value each time."""
        if not isinstance(definition, ir.Assign) or definition.target != name:
            return False
        effect = expr_effect(definition.value, self.facts, is_trusted(definition))
        loops = [*self.index.loops(self.index.number(definition))]
        if not loops or not effect.silent or name in self.pinned or self.sharing.is_written(name):
            return False
        around = effect_of(self.index.statements[loops[-1]], self.facts)
        return self.can_move(effect, (around,))
