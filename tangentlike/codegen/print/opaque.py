"""Opaque code back to trees: its text parsed, its names replaced by what they stand for now.

Substitution respects scopes: the variable of a comprehension or a lambda is nobody's else, and
is renamed when a value that comes in would otherwise be captured by it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import Any

import gast

from ... import ir
from ...errors import InternalError, UnsupportedError
from ...ir.names import Names

Speller = Callable[[ir.Ref], str]
Builder = Callable[[ir.Expr], Any]

_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
_FUNCTIONS = (gast.Lambda, gast.FunctionDef, gast.AsyncFunctionDef)


def parse(text: str) -> Any:
    """The tree of one expression given as text (a bare slice or starred tuple is none)."""
    return gast.parse(f"({text}\n)", mode="eval").body


def expression(code: ir.Opaque, spell: Speller, build: Builder) -> Any:
    """The tree of an opaque expression with its present values in place.

    >>> from .to_gast import expression as build
    >>> code = ir.Opaque("[i for i in n]", ("n",), (ir.Var("i"),))
    >>> import gast
    >>> gast.unparse(expression(code, lambda r: r.text, build))
    '[i2 for i2 in i]'
    """
    tree = parse(code.text)
    values = _changed(code.names, code.values)
    roots = _respelled(code.refs, spell)
    if not values and not roots:
        return tree
    return _Substitution(values, {}, roots, build, tree).visit(tree)


def statement(code: ir.OpaqueStmt, spell: Speller, build: Builder) -> Any:
    """The tree of an opaque statement, with present values and present names of what it binds."""
    body = gast.parse(textwrap.dedent(code.text)).body
    if len(body) != 1:
        raise InternalError("emit", f"an opaque statement holds {len(body)} statements")
    values = _changed(code.names, code.values)
    roots = _respelled(code.refs, spell)
    if roots and isinstance(body[0], (gast.Global, gast.Nonlocal)):
        raise UnsupportedError(
            f"`{next(iter(roots))}` means different things in the functions of one file",
            code.origin.place,
            "Rename one of the two variables.",
        )
    writes = _renamed_writes(body, code.writes)
    if not (values or roots or writes):
        return body[0]
    return _Substitution(values, writes, roots, build, body[0]).visit(body[0])


def _changed(names: tuple[str, ...], values: tuple[ir.Expr, ...]) -> dict[str, ir.Expr]:
    return {n: v for n, v in zip(names, values, strict=True) if v != ir.Var(n)}


def _respelled(refs: Iterable[ir.Ref], spell: Speller) -> dict[str, str]:
    roots: dict[str, str] = {}
    for ref in refs:
        old, new = ref.text.split(".")[0], spell(ref).split(".")[0]
        if old != new:
            roots[old] = new
    return roots


def _renamed_writes(body: list[Any], writes: tuple[str, ...]) -> dict[str, str]:
    """Old to new names of what the statement binds: `writes` runs parallel to `bound_names`."""
    bound = bound_names(body) if writes else ()  # (what is bound outside keeps its name)
    if set(bound) == set(writes):
        return {}
    if len(bound) != len(writes):
        raise InternalError("emit", f"opaque code binds {bound}, not {writes}")
    return {old: new for old, new in zip(bound, writes, strict=True) if old != new}


def bound_names(nodes: Iterable[Any]) -> tuple[str, ...]:
    """Names that statements bind in their own scope, in order of first occurrence."""
    found: dict[str, None] = {}

    def look(node: Any) -> None:
        if isinstance(node, gast.Name) and isinstance(node.ctx, (gast.Store, gast.Del)):
            found.setdefault(node.id)
        elif isinstance(node, (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef)):
            found.setdefault(node.name)
            return
        elif isinstance(node, gast.alias):
            found.setdefault((node.asname or node.name).split(".")[0])
        elif isinstance(node, (gast.Lambda, *_COMPREHENSIONS)):
            for inner in gast.walk(node):  # only a walrus reaches out of these
                if isinstance(inner, gast.NamedExpr):
                    look(inner.target)
            return
        for child in gast.iter_child_nodes(node):
            look(child)

    for node in nodes:
        look(node)
    return tuple(found)


class _Substitution(gast.NodeTransformer):  # type: ignore[misc]
    """Replaces names in a tree; `self.inner` maps names bound by enclosing inner scopes."""

    def __init__(
        self,
        values: dict[str, ir.Expr],
        writes: dict[str, str],
        roots: dict[str, str],
        build: Builder,
        *trees: Any,
    ) -> None:
        self.values, self.writes, self.roots, self.build = values, writes, roots, build
        self.inner: dict[str, str] = {}
        incoming = {n for v in values.values() for n in ir.names_in(v)}
        self.incoming = incoming | set(writes.values()) | set(roots.values())
        used = {n.id for tree in trees for n in gast.walk(tree) if isinstance(n, gast.Name)}
        self.names = Names(sorted(used | self.incoming))

    def visit_Name(self, node: Any) -> Any:
        if node.id in self.inner:
            return self._rename(node, self.inner[node.id])
        if node.id in self.writes:
            return self._rename(node, self.writes[node.id])
        if node.id in self.values:
            value = self.values[node.id]
            if isinstance(node.ctx, gast.Load):
                return self.build(value)
            if isinstance(value, ir.Var):
                return self._rename(node, value.name)
            raise InternalError("emit", f"opaque code binds {node.id}, which stands for a value")
        return self._rename(node, self.roots.get(node.id, node.id))

    def _rename(self, node: Any, name: str) -> Any:
        return gast.Name(name, node.ctx, node.annotation, node.type_comment)

    def visit_alias(self, node: Any) -> Any:
        bound = (node.asname or node.name).split(".")[0]
        if bound in self.writes:
            node.asname = self.writes[bound]
        return node

    # ------------------------------------------------------------------- inner scopes

    def _enter(self, bound: Iterable[str]) -> dict[str, str]:
        """Bind names of an inner scope, renamed where a value coming in has the same name."""
        outer = self.inner
        fresh = {n: self.names.fresh(n) if n in self.incoming else n for n in bound}
        self.inner = {**outer, **fresh}
        return outer

    def _comprehension(self, node: Any) -> Any:
        first = node.generators[0]
        source = self.visit(first.iter)  # evaluated in the enclosing scope
        bound = bound_names(g.target for g in node.generators)
        outer = self._enter(bound)
        first.iter = gast.Constant(None, None)
        self.generic_visit(node)
        first.iter = source
        self.inner = outer
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Lambda(self, node: Any) -> Any:
        self._defaults(node.args)
        outer = self._enter(_parameters(node.args))
        self._rename_parameters(node.args)
        node.body = self.visit(node.body)
        self.inner = outer
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        self._defaults(node.args)
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.name = self.writes.get(node.name, node.name)
        outer = self._enter((*_parameters(node.args), *bound_names(node.body)))
        self._rename_parameters(node.args)
        node.body = [self.visit(stmt) for stmt in node.body]
        self.inner = outer
        return node

    def visit_ClassDef(self, node: Any) -> Any:
        raise InternalError("emit", f"names cannot be replaced inside class {node.name}")

    def _defaults(self, args: Any) -> None:
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [None if d is None else self.visit(d) for d in args.kw_defaults]

    def _rename_parameters(self, args: Any) -> None:
        for arg in _arguments(args):
            arg.id = self.inner[arg.id]


def _arguments(args: Any) -> list[Any]:
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [arg for arg in every if arg is not None]


def _parameters(args: Any) -> list[str]:
    return [arg.id for arg in _arguments(args)]
