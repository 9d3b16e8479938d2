"""Attributes that are assigned: `self.state = h` as a write into the object, undone and reversed.

before::                    after (reverse sweep)::
    self.state = h          self.state = self_saved           (restored: a reference)
                            h_bar += self_bar.state
                            self_bar.state = zeros_like(self.state)

An object's adjoint is a mirror of it, so an attribute has a place of its own in the adjoint,
whatever it held before: zeros are made like the value that is there again.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Collection

import numpy as np

from ... import ir
from ...analysis.memory import Sources, element
from ...analysis.record_types import record_values
from ...analysis.sharing import Sharing, container_stores, owner
from ...analysis.structure import structure
from ...errors import UnsupportedError, not_by_names
from ..context import BINARY_OF, Context
from .adjoints import Adjoints


def updates_as_stores(function: ir.Function, context: Context) -> ir.Function:
    """`self.total += v` as the three things it is: a read, a sum, and a store.

    `total = self.total; total2 = total + v; self.total = total2` where no live name may be the
    array in `self.total`, so that nobody can tell it from a number; else the sum is made by
    `total += v`, of which `rebind_updates` asks whether it is a number.
    """
    if not any(map(_updates_field, ir.statements(function.body))):
        return function
    sharing = Sharing(structure(function), context.sources())

    def statement(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        if not _updates_field(stmt):
            return None
        assert isinstance(stmt, ir.Update) and isinstance(stmt.target, ir.Attribute)
        seen = _seen(stmt.target, function, sharing)
        return _spelled(stmt, stmt.target, seen, context)

    return ir.with_body(function, ir.rewrite(function.body, statement))


def _updates_field(stmt: ir.Stmt) -> bool:
    """Whether it is `obj.name op= v`, of an object: `z.real += v` writes into an array."""
    match stmt:
        case ir.Update(target=ir.Attribute(_, name)):
            return not _is_of_arrays(name)
    return False


def _seen(field: ir.Attribute, function: ir.Function, sharing: Sharing) -> bool:
    """Whether a write into the array in `obj.total`, if it is one, may be seen under another
    name. What was read from, or is put into, attributes of other names is another array."""
    nodes = {node for name in ir.names_in(field.base) for node in (name, element(name))}
    others = {owner(other) for node, other in sharing.conflicts if node in nodes}
    if others & ir.names_in(field.base):
        return True  # (two attributes may be one array)
    sources, params = sharing.sources, function.param_names
    alike = {sharing.classes.get(n, n) for other in others for n in (other, element(other))}
    related = {node for node, kind in sharing.classes.items() if kind in alike} | others
    for stmt in ir.statements(function.body):
        if others and _holds(stmt, field.name, related, sources):
            return True
        match stmt:
            case ir.Assign(value=ir.Attribute(_, name)) if name != field.name:
                continue
        if others.intersection(ir.binds(stmt)):
            value = getattr(stmt, "value", None)
            if value is None or sources.nodes(value) | sources.elements(value):
                return True
    return bool(others.intersection(params))


def _holds(stmt: ir.Stmt, field: str, nodes: Collection[str], sources: Sources) -> bool:
    """Whether a statement may put one of `nodes` into an attribute of this name: by a store, by
    a call that does it, or where it makes the object."""
    match stmt:
        case ir.Store(target=ir.Attribute(_, name)) if name != field:
            return False
        case ir.Assign(value=ir.Call() as call):
            fields = record_values(call)
            put = (call,) if fields is None else (v for n, v in fields.items() if n == field)
            held = (sources.elements(v) | (sources.nodes(v) if fields else set()) for v in put)
        case _:
            held = (values for _, values in container_stores(stmt, sources))
    return any(node in nodes for part in held for node in part)


def _spelled(
    stmt: ir.Update, field: ir.Attribute, seen: bool, context: Context
) -> tuple[ir.Stmt, ...]:
    old = context.fresh(field.name, context.kind_of(field), temporary=True)
    read = ir.Assign(old, field, stmt.origin)
    if seen:
        store = ir.Store(field, ir.Var(old), stmt.origin)
        return read, dataclasses.replace(stmt, target=ir.Var(old)), store
    text, op = BINARY_OF[stmt.op.obj]
    value = ir.Call(ir.Ref(text, op), (ir.Var(old), stmt.value), at=stmt.origin.place)
    new = context.fresh(field.name, context.kind_of(value), temporary=True)
    return (
        read,
        ir.Assign(new, value, stmt.origin),
        ir.Store(field, ir.Var(new), stmt.origin),
    )


def _is_of_arrays(name: str) -> bool:
    """Whether arrays have an attribute of this name that is no method: none can be assigned to
    the name of a method (`self.mean = m`)."""
    return inspect.isgetsetdescriptor(getattr(np.ndarray, name, None))


def refuse_array_field(stmt: ir.Store | ir.Update, base: str, context: Context) -> None:
    """`z.shape = (2, 2)` and `z.real += v` change an array, not an attribute of an object."""
    if context.kind_of(ir.Var(base)).form == "object":
        return
    if isinstance(stmt.target, ir.Attribute) and _is_of_arrays(stmt.target.name):
        raise UnsupportedError(
            f"`{stmt.target.name}` of what carries derivatives is assigned",
            stmt.origin.place,
            "Make a new array: `x = x.reshape(shape)`, `x = x.astype(dtype)`. An attribute of an "
            "object of yours needs a name that arrays do not have.",
        )


def refuse_slice_of_list(stmt: ir.Store, target: ir.Index, context: Context) -> None:
    """`xs[1:] = ys` may change the length of a list, and with it where its items are."""
    if context.kind_of(target.base).form == "list" and isinstance(target.key, ir.Slice):
        raise not_by_names(stmt.origin.place)


def reverse_store(
    stmt: ir.Store, field: ir.Attribute, given: str, adjoints: Adjoints, context: Context
) -> None:
    """The adjoint of `obj.name = v`: `v` gets what the attribute has, which becomes zero.

    `given` is the name of `v` if it carries derivatives, else "".
    """
    assert isinstance(field.base, ir.Var)
    base = field.base.name
    refuse_array_field(stmt, base, context)
    adjoints.own(adjoints.aliases.root(base))
    entry = ir.Attribute(adjoints.adjoint(base), field.name)
    number = context.kind_of(stmt.value).form == "number"
    taken: ir.Expr = entry
    if not number:
        taken = ir.Call(context.helper("part_like"), (entry, stmt.value))
    own = ""
    if given and adjoints.aliases.root(given) == adjoints.aliases.root(base):
        own = context.names.fresh(f"{given}_part")
        adjoints.assign(own, taken)
    elif given:
        adjoints.contribute(given, taken)
    zero = ir.Call(context.helper("zeros_like"), (field,))
    adjoints.out.append(ir.Store(entry, zero, adjoints.origin))
    if own:
        adjoints.contribute(given, ir.Var(own))
