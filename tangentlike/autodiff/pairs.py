"""Reverse mode in two functions: `f_fwd(...) -> (value, tape)`, `f_bwd(tape, y_bar) -> adjoints`.

The tape is a plain tuple of what the backward function reads: stacks, values, and parameters by
reference, whose content the reverse sweep restores in place.
"""

from __future__ import annotations

import dataclasses

from .. import ir
from .adjoints import OWNED
from .context import Context
from .reverse import Primal, Reverse, bundle, seed_name

def reverse_pair(
    primal: Primal,
    context: Context,
    names: tuple[str, str],
    order: tuple[tuple[str, ...], tuple[str, ...]],
    bare: bool,
    protect: bool,
) -> tuple[ir.Function, ir.Function, bool]:
    """`f_fwd`, `f_bwd`, and whether `f_bwd` takes an adjoint of the result.

    `order` is (formals whose adjoints are returned, formals whose buffers are passed in).
    """
    transform = Reverse(primal, context)
    returned, written = order
    result = transform.result
    value = result.value if result is not None and result.value is not None else ir.Const(None)
    takes_seed = bool(ir.names_in(value) & primal.active) or protect
    tape = context.names.fresh("tape")
    seed = context.names.fresh(seed_name(value, transform.adjoints))
    params = [ir.Param(tape)]
    if takes_seed:
        params.append(ir.Param(seed))
    for formal in written:
        transform.adjoints.state[formal] = OWNED
        params.append(ir.Param(transform.adjoints.bar(formal).name))
    seeds = transform.seed(value, ir.Var(seed)) if takes_seed else []
    before, after = transform.run(seeds, returned)
    origin = ir.Origin(primal.function.place, "adjoint")
    bars = tuple(transform.adjoints.adjoint(formal) for formal in returned)
    answer = ir.Return(bundle(bars, bare) if bars else None, origin)
    backward = (*after, answer)
    taped = _taped(backward, before, primal, {p.name for p in params})
    unpack = _unpack_tape(tape, taped, origin)
    end = ir.Return(
        ir.Display("tuple", (value, ir.Display("tuple", tuple(map(ir.Var, taped))))),
        result.origin if result is not None else origin,
    )
    head = transform.protect() if protect else ()
    before = _bind_everywhere(before, taped, primal)
    place = primal.function.place
    fwd = dataclasses.replace(primal.function, name=names[0], body=(*head, *before, end), doc="")
    bwd = ir.Function(names[1], tuple(params), (*unpack, *backward), place)
    return fwd, bwd, takes_seed


def _taped(self, stmt: ir.Stmt) -> frozenset[str]:
        """Contents that a callee's tape may refer to: its arguments and its result."""
        names = (*ir.binds(stmt), *sorted(ir.reads(stmt)))
        return frozenset().union(*(content(n, self.primal.aliases) for n in names))

    def _header(self, step: Reversed) -> list[ir.Stmt]:
        """What running a compound statement backwards evaluates first."""
        origin = step.stmt.origin
        if isinstance(step.stmt, ir.If):
            return [ir.Do(step.stmt.test, origin)]
        if step.header is None:
            return []
        items = (leaf.item for leaf in step.header.bindings)
        return [ir.Do(expr, origin) for expr in (step.header.iterable, *items)]

    def _free(self, stmt: ir.Assign) -> bool:
        """Aliases, items, attributes, integers and tests: as good as a push."""
        match stmt.value:
            case ir.Var() | ir.Index() | ir.Attribute() | ir.Const():
                return True
        kind = self.context.kind_of(stmt.value)
        return self._is_arithmetic(stmt.value) and kind.form == "number" and kind.discrete

    def _light(self, stmt: ir.Assign) -> bool:
        """One arithmetic operation on Python or NumPy numbers."""
        number = self.context.kind_of(stmt.value).form == "number"
        return number and self._is_arithmetic(stmt.value)

    def _is_arithmetic(self, value: ir.Expr) -> bool:
        if not isinstance(value, ir.Call) or not isinstance(value.fn, ir.Ref):
            return False
        text = value.fn.text
        return not text.replace(".", "_").isidentifier() or text in _CHEAP_CALLS

    def _is_reference(self, stmt: ir.Assign) -> bool:
        """Whether a value is surely an alias or a view: what it refers to is restored in place."""
        if isinstance(stmt.value, ir.Var) or stmt.target in self.primal.aliases.paths:
            return True
        return self.context.kind_of(stmt.value).form == "array" and isinstance(stmt.value, ir.Index)

    # --------------------------------------------------------------------------- results

    def gradient(self) -> tuple[ir.Expr, ...]:
        """The adjoints of `wrt`."""
        return tuple(self.adjoints.adjoint(name) for name in self.primal.wrt)

    def protect(self) -> ir.Block:
        """Copies of the parameters the function writes: the caller's arrays are left alone."""
        out: list[ir.Stmt] = []
        for name in self.primal.written:
            origin = ir.Origin(self.primal.function.place, "primal")
            if self.context.kinds[name].form == "array":
                copy: ir.Expr = ir.Call(ir.Attribute(ir.Var(name), "copy"))
            else:
                copy = ir.Call(self.context.helper("copy"), (ir.Var(name),))
            out.append(ir.Assign(name, copy, origin))
        return tuple(out)


def _free_names(block: ir.Block, bound: set[str], free: list[str]) -> None:
    """Names read in a block before it certainly binds them."""
    for stmt in block:
        free.extend(n for n in sorted(ir.reads(stmt)) if n not in bound)
        for inner in ir.blocks(stmt):
            _free_names(inner, set(bound) | set(ir.binds(stmt)), free)
        if not ir.blocks(stmt) and not isinstance(stmt, ir.Update):
            bound.update(ir.binds(stmt))


def _unpack_tape(tape: str, taped: tuple[str, ...], origin: ir.Origin) -> ir.Block:
    origin = dataclasses.replace(origin, role="restore")
    if not taped:
        return ()
    return (ir.Assign(taped, ir.Var(tape), origin),)


def _bind_everywhere(before: ir.Block, taped: tuple[str, ...], primal: Primal) -> ir.Block:
    """A taped name that only one branch binds is None where that branch is not taken."""
    sure = set(primal.function.param_names) | {
        n for s in before if not ir.blocks(s) for n in ir.binds(s)
    }
    for stmt in before:
        if isinstance(stmt, ir.If):
            sure |= _both(stmt)
    origin = ir.Origin(primal.function.place, "save")
    missing = [n for n in taped if n not in sure]
    return (*(ir.Assign(n, ir.Const(None), origin) for n in missing), *before)


def _both(stmt: ir.If) -> set[str]:
    sides = []
    for block in ir.blocks(stmt):
        names = {n for s in block if not ir.blocks(s) for n in ir.binds(s)}
        for inner in block:
            if isinstance(inner, ir.If):
                names |= _both(inner)
        sides.append(names)
    return sides[0] & sides[1]
