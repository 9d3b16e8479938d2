"""Reading a whole `def` or `lambda` (or loose statements) into a nested function."""

from __future__ import annotations

import ast
import dataclasses
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import gast
import numpy as np

from ..errors import InternalError, UnsupportedError
from ..ir import Expr, Function, Opaque, Origin, Param, Ref, Return, Var
from ..ir.names import Names
from .cuts import cuts_made, raising, spot_of
from .expressions import Reader
from .generators import filled_list
from .resolve import Scope
from .source import Definition, Source
from .statements import Outer, StatementReader, docstring, reject_generators
from .survey import Survey, parameter_names, survey
from .targets import split_targets


def read_definition(
    definition: Definition,
    scope: Scope,
    names: Names,
    known: Survey,
    managers: bool = False,
    listed: bool = False,
) -> Function:
    """A gast `FunctionDef` or `Lambda` as nested IR, with its assignments split.

    `known` is the survey of the node; with `managers`, context managers are written out; with
    `listed`, a generator function gives the list of what it yields.
    """
    node, source = definition.node, definition.source
    place = source.header(node.lineno)
    if isinstance(node, gast.AsyncFunctionDef):
        raise UnsupportedError(
            "asynchronous code cannot be differentiated",
            place,
            "Differentiate the plain function that it awaits.",
        )
    names.take(known.used)
    params = _parameters(node.args, scope)
    cuts, spot = cuts_made(), spot_of(source.file, node)
    if cuts is not None:
        cuts.reads(spot, definition.name.rpartition(".")[2], node)
        if spot in cuts.made:
            body: Any = (raising(cuts.made[spot], place),)
            return Function(definition.name, params, body, place)
    outer = Outer(frozenset(known.outer), scope.lookup)
    lookup = lookup_in(scope, frozenset(known.bound), outer)
    reader = StatementReader(source, lookup, names, outer=outer, managers=managers)
    doc = ""
    if isinstance(node, gast.Lambda):
        line = source.line(node.body)
        value = Reader(lookup, line.place).read(node.body)
        body = (Return(value, Origin(line.whole())),)
    else:
        doc = docstring(node.body)
        if known.yields and listed:

            def fill(at_yield: Callable[[Expr], Any]) -> Any:
                return dataclasses.replace(reader, at_yield=at_yield).block(node.body)

            body = filled_list(fill, names, Origin(place))
        else:
            reject_generators(known.yields, source)
            body = reader.block(node.body)
    free = tuple(sorted(scope.cells))
    return split_targets(Function(definition.name, params, body, place, doc, free), names)


def read_function(
    text: str, namespace: Mapping[str, Any] | None = None, file: str = "<text>"
) -> Function:
    """One `def` from text as nested IR: not flattened, early returns still in place.

    Names that are not local must be in `namespace` or be built-ins; without a namespace, `np`,
    `math` and the functions of the runtime are known.
    """
    text = textwrap.dedent(text)
    found = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    if len(found) != 1:
        raise InternalError("lower", f"the text has {len(found)} functions where one is expected")
    scope = Scope.of_names(default_names() if namespace is None else namespace)
    node = gast.ast_to_gast(found[0])
    source = Source(file, text.splitlines())
    return read_definition(Definition(node, found[0].name, source), scope, Names(), survey(node))


def program(text: str, namespace: Mapping[str, Any] | None = None) -> Function:
    """Loose statements, separated by newlines or `;`, as the nested function `f`.

    Its parameters are the names it reads before it binds them, in order.

    >>> program("t = a * b; return np.sum(t) + c").param_names
    ('a', 'b', 'c')
    """
    text = textwrap.dedent(text).strip("\n")
    known = Scope.of_names(default_names() if namespace is None else namespace)
    tree = gast.ast_to_gast(ast.parse(text))
    found = survey(tree)
    names = Names(found.used)
    params = tuple(_read_first(tree, known))
    source = Source("<text>", text.splitlines())
    lookup = lookup_in(known, frozenset((*params, *found.bound)))
    body = StatementReader(source, lookup, names).block(tree.body)
    function = Function("f", tuple(map(Param, params)), body, source.header(1))
    return split_targets(function, names)


def default_names() -> dict[str, Any]:
    """What texts without a namespace may refer to."""
    import math

    from .. import runtime

    public = {k: v for k, v in vars(runtime).items() if not k.startswith("_") and callable(v)}
    return {**public, "np": np, "math": math}


def lookup_in(
    scope: Scope, local: frozenset[str], outer: Outer | None = None
) -> Callable[[str], Expr]:
    """What bare names mean: `Var` if local, else a `Ref` to the object now behind them."""

    def lookup(name: str) -> Expr:
        if outer is not None and name in outer.names:
            return outer.read(name)
        return Var(name) if name in local else Ref(name, scope.lookup(name))

    return lookup


def _parameters(args: gast.arguments, scope: Scope) -> tuple[Param, ...]:
    """The parameter list, with defaults and annotations as the user wrote them.

    A default was evaluated when the function was made, and only its text is of interest here: it
    stays bare text where its names no longer mean anything.
    """
    reader = _DefaultReader(lookup_in(scope, frozenset()))
    return reader.parameters(args)


class _DefaultReader(Reader):
    """Reads expressions that need not mean anything now."""

    def read(self, node: gast.AST) -> Expr:
        try:
            return super().read(node)
        except UnsupportedError:
            return Opaque(gast.unparse(node).strip())


def _read_first(tree: Any, known: Scope) -> list[str]:
    """The unknown names of loose statements that are read before they are bound."""
    params: dict[str, None] = {}
    bound: set[str] = set()
    reader = _FirstReads(known, params, bound)
    for stmt in tree.body:
        reader.visit(stmt)
    return list(params)


class _FirstReads(gast.NodeVisitor):  # type: ignore[misc]
    """Visits in evaluation order: values before the targets they are bound to."""

    def __init__(self, known: Scope, params: dict[str, None], bound: set[str]) -> None:
        self.known, self.params, self.bound = known, params, bound

    def visit_Name(self, node: Any) -> None:
        if isinstance(node.ctx, gast.Store):
            self.bound.add(node.id)
        elif node.id not in self.bound and not self._is_known(node.id):
            self.params[node.id] = None

    def visit_Assign(self, node: Any) -> None:
        for part in (node.value, *node.targets):
            self.visit(part)

    def visit_AugAssign(self, node: Any) -> None:
        if isinstance(node.target, gast.Name):
            self.visit(gast.Name(node.target.id, gast.Load(), None, None))
        for part in (node.target, node.value):
            self.visit(part)

    def visit_For(self, node: Any) -> None:
        for part in (node.iter, node.target, *node.body, *node.orelse):
            self.visit(part)

    def visit_ListComp(self, node: Any) -> None:
        inner = _FirstReads(self.known, self.params, set(self.bound))
        for part in node.generators:
            for field in (part.iter, part.target, *part.ifs):
                inner.visit(field)
        results = (node.key, node.value) if isinstance(node, gast.DictComp) else (node.elt,)
        for result in results:
            inner.visit(result)

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp

    def visit_Lambda(self, node: Any) -> None:
        inner = self.bound | set(parameter_names(node.args))
        _FirstReads(self.known, self.params, inner).visit(node.body)

    def _is_known(self, name: str) -> bool:
        try:
            self.known.lookup(name)
        except KeyError:
            return False
        return True
