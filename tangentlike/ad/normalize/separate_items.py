"""Lists, dicts and plain objects that are only read and written item by item, as a name for each
item.

    rows = [grid[0], grid[1]]         rows_0 = grid[0]; rows_1 = grid[1]
    rows[0][:] = x                    rows_0[:] = x
    s = Views(low=y[:2])              s_low = y[:2]
    s.low *= 2.0                      s_low *= 2.0

Loops over such a container are written out round by round (`written_out.py`). Which array an item
of a container is shows only when the program runs; which one a name is can be seen. This is done
where a write in place asks for it.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ... import ir
from ...analysis.record_types import record_values
from ...frontend.lower import names_of, reaching, renamed_webs
from ..context import Context
from .written_out import displayed_keys, keys_of, loops_written_out


def separate_items(function: ir.Function, context: Context) -> ir.Function:
    """Name the items of every container that is used in no other way than by them."""
    out = loops_written_out(function, displayed_keys(function))
    separated = _Separated(_named(out, context), context)
    if not separated.items:
        return function
    return split_again(separated.rewritten(out), context)


def split_again(function: ir.Function, context: Context) -> ir.Function:
    """A function that binds names anew, with a name for each web again, and kinds of these."""
    function, before = renamed_webs(function, reaching(function), names_of(function))
    context.original.update({n: context.original.get(b, b) for n, b in before.items()})
    given = {p: context.kinds[p] for p in function.param_names if p in context.kinds}
    context.infer_again(function, given)
    context.names.take(n for s in ir.statements(function.body) for n in ir.binds(s))
    return function


@dataclass
class _Separated(ir.Rewriter):
    """Rewrites a function; `items`: container -> key -> the name of that item."""

    items: Mapping[str, Mapping[Any, str]]
    context: Context

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        match stmt:
            case ir.Assign(target=str(name), value=value) if name in self.items:
                yield from self._made(name, _held(value), stmt.origin)
            case ir.Assign(target=tuple(targets), value=ir.Var(name)) if name in self.items:
                pairs = zip(targets, self.items[name].values(), strict=True)
                yield from (ir.Assign(t, ir.Var(item), stmt.origin) for t, item in pairs)
            case ir.Store(target=ir.Index() | ir.Attribute() as item) if self._of(item):
                yield ir.Assign(self._of(item), self.expression(stmt.value), stmt.origin)
            case ir.Update(target=ir.Index() | ir.Attribute() as item) if self._of(item):
                yield ir.Update(
                    ir.Var(self._of(item)), stmt.op, self.expression(stmt.value), stmt.origin
                )
            case _:
                yield self.inside(stmt)

    def expression(self, expr: ir.Expr) -> ir.Expr:
        name = self._of(expr)
        return ir.Var(name) if name else ir.rebuild(expr, self.expression)

    def _of(self, expr: ir.Expr) -> str:
        """The name of the item that an expression is, or ''."""
        match expr:
            case ir.Index(ir.Var(name), ir.Const(key)) if name in self.items:
                return self.items[name][_place(key, len(self.items[name]))]
            case ir.Attribute(ir.Var(name), field) if name in self.items:
                return self.items[name][field]
        return ""

    def _made(self, name: str, held: Mapping[Any, ir.Expr], origin: ir.Origin) -> Iterator[ir.Stmt]:
        """`xs = [b, xs[0]]` -> `item = xs_0; xs_0 = b; xs_1 = item`."""
        items = [self.items[name][key] for key in held]
        values = list(map(self.expression, held.values()))
        for place, value in enumerate(values):
            if ir.names_in(value) & set(items[:place]):
                before = self.context.names.fresh("item")
                values[place] = ir.Var(before)
                yield ir.Assign(before, value, origin)
        for item, value in zip(items, values, strict=True):
            yield ir.Assign(item, value, origin)


def _place(key: Any, count: int) -> Any:
    """The key of an item as a display gives it: `xs[-1]` is the last one."""
    return key + count if type(key) is int and key < 0 else key


def _named(function: ir.Function, context: Context) -> dict[str, dict[Any, str]]:
    """Container -> key -> a name for that item, where each of its uses is one of an item."""
    keys: dict[str, tuple[Any, ...]] = {}
    other = set(function.param_names)
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=value) if _holds_items(value):
                found = _keys(value)
                if is_namespace(value):
                    found = tuple(dict.fromkeys((*found, *_assigned_fields(name, function))))
                if keys.setdefault(name, found) != found or not found:
                    other.add(name)
            case _:
                other.update(ir.binds(stmt))
    keys = {name: found for name, found in keys.items() if name not in other}
    for stmt in ir.statements(function.body):
        for name in _other_uses(stmt, keys):
            keys.pop(name, None)
    return {
        name: {key: context.names.fresh(_word(name, key)) for key in found}
        for name, found in keys.items()
    }


def _word(name: str, key: Any) -> str:
    word = f"{name}_{key}"
    return word if word.isidentifier() else f"{name}_item"


def _holds_items(value: ir.Expr) -> bool:
    return isinstance(value, ir.Display) or is_namespace(value) or record_values(value) is not None


def is_namespace(value: ir.Expr) -> bool:
    """Whether an expression makes an empty `SimpleNamespace`, which gets its fields later."""
    if not isinstance(value, ir.Call) or value.args or value.kwargs:
        return False
    return isinstance(value.fn, ir.Ref) and value.fn.obj is types.SimpleNamespace


def _assigned_fields(name: str, function: ir.Function) -> Iterator[str]:
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Store(target=ir.Attribute(ir.Var(base), field)) if base == name:
                yield field


def _held(value: ir.Expr) -> Mapping[Any, ir.Expr]:
    """Key or field -> what a display, or the call of a class, puts there."""
    if isinstance(value, ir.Display):
        return dict(zip(_keys(value), value.items, strict=True))
    return record_values(value) or {}


def _keys(value: ir.Expr) -> tuple[Any, ...]:
    """The keys or fields of what holds items; none where not all can be told."""
    if isinstance(value, ir.Display):
        return keys_of(value)
    return tuple(record_values(value) or ())


def _other_uses(stmt: ir.Stmt, keys: Mapping[str, tuple[Any, ...]]) -> set[str]:
    """The containers that a statement uses in another way than by an item that they have."""
    match stmt:
        case ir.Assign(target=tuple(target), value=ir.Var(name)) if name in keys:
            fits = len(target) == len(keys[name]) and keys[name] == tuple(range(len(target)))
            return set() if fits else {name}
    exprs = ir.expressions(stmt)
    if isinstance(stmt, ir.Store | ir.Update):
        exprs = (stmt.target, stmt.value)  # (the container in the target is no use of its own)
    found: set[str] = set()
    for expr in exprs:
        found |= _used_whole(expr, keys)
    return found


def _used_whole(expr: ir.Expr, keys: Mapping[str, tuple[Any, ...]]) -> set[str]:
    match expr:
        case ir.Index(ir.Var(name), ir.Const(key)) if name in keys:
            fits = not isinstance(key, bool | float) and _place(key, len(keys[name])) in keys[name]
            return set() if fits else {name}
        case ir.Attribute(ir.Var(name), field) if name in keys:
            return set() if field in keys[name] else {name}
        case ir.Var(name):
            return {name} & keys.keys()
    found: set[str] = set()
    for part in ir.children(expr):
        found |= _used_whole(part, keys)
    return found
