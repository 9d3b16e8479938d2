"""Values that are the same in every iteration are not saved for each of them.

What a loop works out from names that nothing in it binds or writes still has its value when the
loop is gone through backwards: the name is read, and the stack it was saved on goes.
"""

from __future__ import annotations

from collections.abc import Iterator

from ... import ir
from ...ir.facts import fact
from ...ir.index import ProgramIndex
from .analyses import Asking
from .effects import effect_of, expr_effect, is_trusted
from .facts import Facts
from .stacks import created_lists, is_push


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
        name = _pushed(push, stack)
        if name and _pops(pop, stack, name) and name not in self.function.param_names:
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


def _pushed(stmt: ir.Stmt, stack: str) -> str:
    """The name whose value a statement saves on a stack."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "append"), args=(ir.Var(name),))):
            return name if is_push(stmt) and base == stack else ""
    return ""


def _pops(stmt: ir.Stmt, stack: str, name: str) -> bool:
    match stmt:
        case ir.Assign(target=target, value=ir.Call(fn=ir.Attribute(ir.Var(base), "pop"), args=())):
            return base == stack and target == name
    return False
