"""Reverse mode in two functions: `f_fwd(...) -> (value, tape)`, `f_bwd(tape, y_bar) -> adjoints`.

The tape is a plain tuple of what the backward function reads: stacks, values, and parameters by
reference, whose content the reverse sweep restores in place.
"""

from __future__ import annotations

import dataclasses

from ... import ir
from ...errors import InternalError
from ..context import Context
from .adjoints import OWNED
from .functions import Primal, Reverse, bundle, is_restored, seed_name


@dataclasses.dataclass(frozen=True)
class ReversedPair:
    """Two functions: whether `bwd` takes an adjoint of the result, whether it restores what is in
    the result, and of which arguments `bwd` reads none."""

    fwd: ir.Function
    bwd: ir.Function
    takes_seed: bool
    restores: bool
    unseen: frozenset[str]


def reverse_pair(
    primal: Primal,
    context: Context,
    names: tuple[str, str],
    order: tuple[tuple[str, ...], tuple[str, ...]],
    bare: bool,
    protect: bool,
    seeded: bool | None = None,
) -> ReversedPair:
    """`f_fwd` and `f_bwd`, and what their callers have to know.

    `order` is (formals whose adjoints are returned, formals whose buffers are passed in);
    `seeded` says whether `f_bwd` takes that adjoint, where calls of it were already made.
    """
    transform = Reverse(primal, context)
    transform.apart = True
    returned, written = order
    result = transform.result
    value = result.value if result is not None and result.value is not None else ir.Const(None)
    depends = bool(ir.names_in(value) & primal.active) or protect
    takes_seed = depends if seeded is None else seeded
    tape = context.names.fresh("tape")
    seed = context.names.fresh(seed_name(value, transform.adjoints))
    params = [ir.Param(tape)]
    if takes_seed:
        params.append(ir.Param(seed))
    transform.adjoints.given = frozenset(written)
    for formal in written:
        if context.kind_of(ir.Var(formal)).form == "number":  # what is added to it would be lost
            raise InternalError("pairs", f"`{formal}` is a number, and has a buffer")
        if primal.aliases.has_variable(formal):
            transform.adjoints.state[formal] = OWNED
        params.append(ir.Param(transform.adjoints.bar(formal).name))
    seeds = transform.seed(value, ir.Var(seed)) if takes_seed and depends else []
    before, after = transform.run(seeds, returned)
    origin = ir.Origin(primal.function.place, "adjoint")
    bars = tuple(map(transform.result_adjoint, returned))
    answer = ir.Return(bundle(bars, bare) if bars else None, origin)
    backward = (*after, answer)
    taped = taped_names(backward, before, primal, {p.name for p in params})
    unpack = unpack_tape(tape, taped, origin)
    end = ir.Return(
        ir.Display("tuple", (value, ir.Display("tuple", tuple(map(ir.Var, taped))))),
        result.origin if result is not None else origin,
    )
    head = (*(transform.protect() if protect else ()), *_checks(written, primal, context))
    before = bind_everywhere(before, taped, primal)
    place = primal.function.place
    body = (*head, *before, end)
    fwd = dataclasses.replace(primal.function, name=names[0], body=body, doc="")
    body = (*unpack, *backward)
    bwd = ir.Function(names[1], tuple(params), body, place, empties=(tape,))
    restores = is_restored(value, primal, context)
    return ReversedPair(fwd, bwd, takes_seed, restores, transform.unseen)


def _checks(written: tuple[str, ...], primal: Primal, context: Context) -> ir.Block:
    """That what has a buffer is no number: what is added to that would be lost."""
    origin = ir.Origin(primal.function.place)
    unsure = [n for n in written if context.kind_of(ir.Var(n)).form in ("unknown", "value")]
    check = context.helper("require_mutable") if unsure else None
    return tuple(ir.Do(ir.Call(check, (ir.Var(name),)), origin) for name in unsure if check)


def taped_names(
    backward: ir.Block, before: ir.Block, primal: Primal, own: set[str]
) -> tuple[str, ...]:
    """The names that the backward function reads and the forward function binds, in order."""
    free: list[str] = []
    free_names(backward, set(own), free)
    made = list(primal.function.param_names)
    made += [n for s in ir.statements(before) for n in ir.binds(s)]
    wanted = set(free)
    return tuple(dict.fromkeys(n for n in made if n in wanted))


def free_names(block: ir.Block, bound: set[str], free: list[str]) -> None:
    """Names read in a block before it certainly binds them."""
    for stmt in block:
        free.extend(n for n in sorted(ir.reads(stmt)) if n not in bound)
        for inner in ir.blocks(stmt):
            free_names(inner, set(bound) | set(ir.binds(stmt)), free)
        if not ir.blocks(stmt):
            bound.update(ir.binds(stmt))


def unpack_tape(tape: str, taped: tuple[str, ...], origin: ir.Origin) -> ir.Block:
    """`a, b = tape`, for the names that were taped."""
    origin = dataclasses.replace(origin, role="restore")
    if not taped:
        return ()
    return (ir.Assign(taped, ir.Var(tape), origin),)


def bind_everywhere(before: ir.Block, taped: tuple[str, ...], primal: Primal) -> ir.Block:
    """A taped name that only one branch binds is None where that branch is not taken."""
    sure = set(primal.function.param_names) | {
        n for s in before if not ir.blocks(s) or isinstance(s, ir.Try) for n in ir.binds(s)
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
