"""A module of the IR as the text of a file, and what is needed to run it."""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ... import ir
from ...frontend.resolve import Scope
from . import to_gast, verify
from .bindings import Bindings, as_imported, bind
from .folding import STEP
from .header import header_lines, types_line
from .layout import Line, function_lines
from .printer import Printer
from .text import nested_regions


@dataclass(frozen=True)
class Emitted:
    """The text of a file that runs, and where each of its lines comes from.

    `origins` maps line numbers, from 1, to the origin of the statement there.
    """

    source: str
    origins: Mapping[int, ir.Origin]
    module: ir.Module
    bindings: Bindings
    scopes: Mapping[str, Scope]
    tree: ast.Module
    trees: tuple[Any, ...] = dataclasses.field(repr=False)  # of the functions, as they were made


def emit(module: ir.Module, scope: Scope, scopes: Mapping[str, Scope] | None = None) -> Emitted:
    """Print a module; `scopes` gives, by name, the scopes of functions that have another one.

    Functions without one are looked up by the file they come from.
    """
    every = scopes_of(module, scope, scopes)
    module = as_imported(module, every)
    bindings = bind(module, every)
    annotated = any(p.annotation for fn in module.functions for p in fn.params)
    head = [*types_line(module.types), *header_lines(bindings.all(), annotated)]
    return write(module, bindings, every, head)


def scopes_of(
    module: ir.Module, scope: Scope, scopes: Mapping[str, Scope] | None = None
) -> dict[str, Scope]:
    """The scope of each function of a module, by name."""
    return {fn.name: _scope_of(fn, module, scope, scopes or {}) for fn in module.functions}


def write(
    module: ir.Module, bindings: Bindings, scopes: Mapping[str, Scope], head: list[str]
) -> Emitted:
    """Print a module under the lines of its head, with the names that were chosen."""
    printer = Printer()
    lines = [Line(text) for text in head]
    trees = []
    within = ""
    for fn in map(nested_regions, _by_class(module.functions)):
        owner, dot, own = fn.name.rpartition(".")  # (`Scale.__call__`: a method of a class)
        printed_as = _printed(fn, own)
        tree = to_gast.function(printed_as, bindings.speller(fn.name))
        trees.append(tree)
        if lines:
            lines += [Line("")] if dot and owner == within else [Line(""), Line("")]
        if dot and owner != within:
            lines.append(Line(f"class {owner}:"))
        within = owner
        printed = function_lines(printed_as, tree, printer, comments=True)
        lines += map(_indented, printed) if dot else printed
    source = "\n".join(line.text for line in lines) + "\n"
    origins = {n: line.origin for n, line in enumerate(lines, 1) if line.origin is not None}
    parsed = verify.parse_back(source, trees)
    return Emitted(source, origins, module, bindings, scopes, parsed, tuple(trees))


def _by_class(functions: Iterable[ir.Function]) -> list[ir.Function]:
    """Functions in order, the methods of a class together where the first of them stands."""
    groups: dict[str, list[ir.Function]] = {}
    for fn in functions:
        groups.setdefault(fn.name.rpartition(".")[0] or f"def {fn.name}", []).append(fn)
    return [fn for group in groups.values() for fn in group]


def _printed(fn: ir.Function, name: str) -> ir.Function:
    """A function (a method by its own name) without a `return` of nothing at its end."""
    *body, last = fn.body
    bare = body and isinstance(last, ir.Return) and last.value is None
    if fn.name == name and not bare:
        return fn
    return dataclasses.replace(fn, name=name, body=tuple(body) if bare else fn.body)


def _indented(line: Line) -> Line:
    return dataclasses.replace(line, text=STEP + line.text if line.text else "")


def _scope_of(
    fn: ir.Function, module: ir.Module, scope: Scope, scopes: Mapping[str, Scope]
) -> Scope:
    if fn.name in scopes:
        return scopes[fn.name]
    if fn.place.file == module.main.place.file:
        return scope
    for other in list(sys.modules.values()):
        if getattr(other, "__file__", None) == fn.place.file:
            return Scope(None, other, {}, vars(other))
    return scope
