"""Variables that functions share, as Python shares them: in a cell.

A function that is stored reads what it captures when it is called. Where that is bound again in
between, or by the function itself, the variable is the one item of a list, which both hold::

    scales = [lambda x: x * s]              s_cell = [s]
    s = s + 1                               scales = [lambda x: x * s_cell[0]]
                                            s_cell[0] = s_cell[0] + 1

Done where the plain reading (`lifting`, by the values of the place of use) is refused.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import ir
from ..ir import Assign, Const, Expr, Function, Index, Origin, Store, Var
from ..ir.names import Names
from .comprehensions import assigned
from .expressions import is_closure
from .keeping import Keeping, bound_by, rebound_names
from .nested import Closure, Define


def with_cells(function: Function, names: Names) -> Function:
    """A function, in nested IR, whose inner functions capture nothing that is bound again."""

    def inner(stmt: Any) -> Any:
        if isinstance(stmt, Define):
            return Define(with_cells(stmt.function, names), stmt.origin)
        return None

    function = ir.with_body(function, ir.rewrite(function.body, inner))
    shared = sorted(_shared(function))
    if not shared:
        return function
    cells = {name: Var(names.fresh(f"{name}_cell")) for name in shared}
    origin = Origin(function.place)
    head: list[ir.Stmt] = []
    body: list[Any] = list(function.body)
    for name, cell in cells.items():
        first = None if name in function.param_names else _first_binding(name, body)
        if first is None:
            given = Var(name) if name in function.param_names else Const(None)
            head.append(Assign(cell.name, _list_of(given), origin))
        else:
            stmt = body[first]
            body[first] = Assign(cell.name, _list_of(stmt.value), stmt.origin)
    rewritten = _Cells(cells, names).block(tuple(body))
    return ir.with_body(function, (*head, *rewritten))


def _list_of(value: Expr) -> Expr:
    return ir.Display("list", (value,))


def _first_binding(name: str, body: list[Any]) -> int | None:
    """The place of `name = value` where nothing before it mentions the name."""
    for number, stmt in enumerate(body):
        if isinstance(stmt, Assign) and stmt.target == name:
            return None if name in ir.names_in(stmt.value) else number
        if any(name in _mentioned(s) for s in ir.statements((stmt,))):
            return None
    return None


def _mentioned(stmt: Any) -> frozenset[str]:
    if isinstance(stmt, Define):
        inside = (_mentioned(s) for s in ir.statements(stmt.function.body))
        return frozenset().union(*inside)
    return ir.reads(stmt) | frozenset(bound_by(stmt))


def _shared(function: Function) -> frozenset[str]:
    """A function's own variables that an inner one reads, and that are bound again or there."""
    captured = Keeping.of(function).hidden_reads | _bound_inside(function)
    again = rebound_names(function) | _bound_inside(function)
    return (captured & again & _own(function)) - _left(function)


def _bound_inside(function: Function) -> frozenset[str]:
    """The names that inner functions declare `nonlocal`."""
    inner = (s.function for s in ir.statements(function.body) if isinstance(s, Define))
    return frozenset().union(*(_bound_inside(f) | {*f.free} for f in inner))


def _left(function: Function) -> frozenset[str]:
    """The names that are bound by what binds nothing but names."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.Try | ir.OpaqueStmt | Define):
            found.update(bound_by(stmt))
        for expr in ir.expressions(stmt):
            found |= assigned(expr)
            for part in ir.walk(expr):
                if is_closure(part) and (not isinstance(part, Closure) or _binds_inside(part)):
                    found |= ir.names_in(part)
        if isinstance(stmt, Define):
            found |= _left(stmt.function) - _own(stmt.function)
    return frozenset(found)


def _own(function: Function) -> frozenset[str]:
    """The variables of a function itself, which are not those of one around it."""
    bound = (n for s in ir.statements(function.body) for n in bound_by(s))
    return frozenset(bound).union(function.param_names) - {*function.free}


def _binds_inside(code: Closure) -> bool:
    """Whether the text of a lambda has scopes of its own in it."""
    inner = (ast.Lambda, ast.comprehension)
    return sum(isinstance(part, inner) for part in ast.walk(ast.parse(code.text))) > 1


class _Cells(ir.Rewriter):
    """Reads and binds the items of cells in the place of names."""

    def __init__(self, cells: Mapping[str, Var], names: Names) -> None:
        self.cells = cells
        self.names = names

    def item(self, name: str) -> Index:
        return Index(self.cells[name], Const(0))

    def expression(self, expr: Expr) -> Expr:
        if isinstance(expr, Var):
            return self.item(expr.name) if expr.name in self.cells else expr
        if self.cells.keys().isdisjoint(ir.names_in(expr)):
            return expr
        if isinstance(expr, Closure):
            return self._lambda(expr)
        return ir.rebuild(expr, self.expression)

    def _lambda(self, fn: Closure) -> Closure:
        """A lambda, which captures the cells themselves."""
        inner = self._apart_from(p.name for p in fn.params)
        meaning = dict(zip(fn.names, map(self.expression, fn.values), strict=True))
        for name in inner.cells.keys() & meaning.keys():
            del meaning[name]
            meaning[inner.cells[name].name] = inner.cells[name]
        text = _InText(inner.cells).visit(ast.parse(fn.text, mode="eval"))
        return dataclasses.replace(
            fn,
            text=ast.unparse(text),
            names=tuple(meaning),
            values=tuple(meaning.values()),
            params=tuple(map(self._param, fn.params)),
            body=inner.expression(fn.body),
        )

    def _param(self, param: ir.Param) -> ir.Param:
        if param.default is None:
            return param
        return dataclasses.replace(param, default=self.expression(param.default))

    def _apart_from(self, own: Iterable[str]) -> _Cells:
        """The same in a function that has variables of its own."""
        hidden = {*own}
        left = {name: cell for name, cell in self.cells.items() if name not in hidden}
        return _Cells(left, self.names)

    def statement(self, stmt: Any) -> Iterator[Any]:
        match stmt:
            case Define(function=inner):
                yield Define(self._inside(inner), stmt.origin)
                return
            case Assign(target=str(name), value=value) if name in self.cells:
                yield Store(self.item(name), self.expression(value), stmt.origin)
                return
            case ir.Update(target=Var(name)) if name in self.cells:
                value = self.expression(stmt.value)
                yield dataclasses.replace(stmt, target=self.item(name), value=value)
                return
        stmt = self.inside(stmt)
        stores: list[ir.Stmt] = []
        if isinstance(stmt, Assign | ir.For | ir.Enter):
            new = {n: self.names.fresh(n) for n in ir.target_names(stmt.target) if n in self.cells}
            stores = [Store(self.item(n), Var(name), stmt.origin) for n, name in new.items()]
            target: Any = ir.map_target(stmt.target, lambda n: new.get(n, n))
            stmt = dataclasses.replace(stmt, target=target) if new else stmt
        if isinstance(stmt, ir.For):
            yield dataclasses.replace(stmt, body=(*stores, *stmt.body)) if stores else stmt
        else:
            yield from (stmt, *stores)

    def _inside(self, inner: Function) -> Function:
        """An inner function, which has variables of its own."""
        nested = self._apart_from(_own(inner))
        params = tuple(map(self._param, inner.params))
        free = tuple(n for n in inner.free if n not in nested.cells)
        body = nested.block(inner.body)
        return dataclasses.replace(inner, params=params, body=body, free=free)


class _InText(ast.NodeTransformer):
    """The same in the text of a lambda."""

    def __init__(self, cells: Mapping[str, Var]) -> None:
        self.cells = cells

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.cells:
            return node
        cell = ast.Name(self.cells[node.id].name, ast.Load())
        return ast.Subscript(cell, ast.Constant(0), node.ctx)
