"""Loops over active values run over values and tangents side by side."""

from __future__ import annotations

from ... import ir
from .state import Tangents

ZIP = ir.Ref("zip", zip)


def loop_header(target: ir.Target, iterable: ir.Expr, state: Tangents) -> tuple[ir.Target, ir.Expr]:
    """Target and iterable of a loop, with tangents where the loop variables have one.

    `for x in xs` becomes `for x, x_dot in zip(xs, xs_dot)`, `for i, x in enumerate(xs)`
    becomes `for i, (x, x_dot) in enumerate(zip(xs, xs_dot))`.
    """
    if not _active(target, state):
        return target, iterable
    if isinstance(iterable, ir.Call) and isinstance(iterable.fn, ir.Ref):
        obj, args = iterable.fn.obj, iterable.args
        if obj is enumerate and isinstance(target, tuple) and not iterable.kwargs:
            inner, items = loop_header(target[1], args[0], state)
            return (target[0], inner), ir.Call(iterable.fn, (items, *args[1:]), at=iterable.at)
        if obj is zip and isinstance(target, tuple) and len(target) == len(args):
            return _side_by_side(target, iterable, state)
    both = ir.Call(ZIP, (iterable, _tangents_of(iterable, state)))
    return (target, state.target(target)), both


def _side_by_side(
    target: tuple[ir.Target, ...], iterable: ir.Call, state: Tangents
) -> tuple[ir.Target, ir.Expr]:
    """`for x, y in zip(xs, ys)` becomes `for x, y, x_dot in zip(xs, ys, xs_dot)`."""
    targets, items = list(target), list(iterable.args)
    for position, (part, arg) in enumerate(zip(target, iterable.args, strict=True)):
        if not _active(part, state):
            continue
        if isinstance(arg, ir.Atom):
            targets.append(state.target(part))
            items.append(_tangents_of(arg, state))
        else:
            targets[position], items[position] = loop_header(part, arg, state)
    return tuple(targets), ir.Call(ZIP, tuple(items), iterable.kwargs, iterable.at)


def _active(target: ir.Target, state: Tangents) -> bool:
    return any(name in state.active for name in ir.target_names(target))


def _tangents_of(iterable: ir.Expr, state: Tangents) -> ir.Expr:
    """What yields the tangents of what `iterable` yields."""
    if isinstance(iterable, ir.Call) and isinstance(iterable.fn, ir.Ref):
        if iterable.fn.obj is range:
            return iterable
        if iterable.fn.obj is enumerate:
            first, *rest = iterable.args
            return ir.Call(iterable.fn, (_tangents_of(first, state), *rest), at=iterable.at)
        if iterable.fn.obj in (zip, reversed):
            args = tuple(_tangents_of(arg, state) for arg in iterable.args)
            return ir.Call(iterable.fn, args, iterable.kwargs, iterable.at)
    return state.tangent_or_zeros(iterable)
