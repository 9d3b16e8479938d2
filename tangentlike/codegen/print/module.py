"""A module of the IR as the text of a file, and what is needed to run it."""

from __future__ import annotations

import ast
import inspect
import itertools
import operator
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import gast

from ... import ir
from ...errors import InternalError
from ...frontend.resolve import Scope, trusted
from ...frontend.structures import structure_of
from ...ir.facts import fact
from ...ir.kind import Kind, described_types
from ...runtime import for_types, require_types
from ...runtime.stated_types import REAL
from . import to_gast
from .bindings import Binding, Bindings, as_imported, bind, references
from .folding import STEP, WIDTH
from .printer import Line, Printer, function_lines
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
    trees: tuple[Any, ...] = field(repr=False)  # of the functions, as they were made


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
    parsed = parse_back(source, trees)
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
    return replace(fn, name=name, body=tuple(body) if bare else fn.body)


def _indented(line: Line) -> Line:
    return replace(line, text=STEP + line.text if line.text else "")


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


# --------------------------------------------------------------------------------------------------
# The last line of defence: emitted text means what the tree it came from says.
#
# The text is parsed back and compared node by node. gast and Python's own trees differ in a few
# fields only; positions, contexts and the indentation of docstrings mean nothing here.

_IGNORED = frozenset({"ctx", "kind", "type_comment", "type_ignores", "type_params"})
_NODES = {name: cls for name, cls in vars(ast).items() if isinstance(cls, type)}
_FIELDS = {
    cls: tuple(name for name in cls._fields if name not in _IGNORED)
    for cls in _NODES.values()
    if issubclass(cls, ast.AST)
}
_PARTNER = {cls: _NODES[name] for name, cls in vars(gast).items() if name in _NODES}


def parse_back(source: str, functions: list[Any]) -> ast.Module:
    """Parse emitted text; its last functions, in order, must be the given gast trees."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise InternalError("emit", f"line {error.lineno} does not parse: {error.text}") from error
    found = [node for _, node in definitions(tree)]
    found = found[len(found) - len(functions) :]  # copied helpers may stand above
    if len(found) != len(functions):
        raise InternalError("emit", f"{len(functions)} functions became {len(found)}")
    for ours, theirs in zip(functions, found, strict=True):
        different = difference(ours, theirs)
        if different is not None:
            line = getattr(different, "lineno", theirs.lineno)
            text = source.splitlines()[line - 1].strip()
            raise InternalError("emit", f"the text of {theirs.name} means another program: {text}")
    return tree


def definitions(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    """The functions of a file, and the methods of its classes, by qualified name and in order."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.append((node.name, node))
        elif isinstance(node, ast.ClassDef):
            methods = (inner for inner in node.body if isinstance(inner, ast.FunctionDef))
            found += [(f"{node.name}.{inner.name}", inner) for inner in methods]
    return found


def difference(ours: Any, theirs: Any) -> Any:
    """The first node of Python's tree `theirs` that is not what gast's `ours` says, or None."""
    cls = type(theirs)
    if cls is ast.Name:  # half of all nodes
        return None if type(ours) is gast.Name and ours.id == theirs.id else theirs
    if _PARTNER.get(type(ours), type(ours)) is not cls:
        return theirs if not _same_argument(ours, theirs) else None
    if cls is list:
        if len(ours) != len(theirs):
            return theirs[-1] if theirs else ast.Pass()
        for a, b in zip(ours, theirs, strict=True):
            found = difference(a, b)
            if found is not None:
                return found
        return None
    fields = _FIELDS.get(cls)
    if fields is None:
        return None if ours == theirs else ast.Pass()
    if cls is ast.Constant:
        return None if _same_constant(ours.value, theirs.value) else theirs
    for name in fields:
        a, b = getattr(ours, name, None), getattr(theirs, name, None)
        if a is not b:
            found = difference(a, b)
            if found is not None:
                return found if hasattr(found, "lineno") else theirs
    return None


def _same_constant(ours: Any, theirs: Any) -> bool:
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, str) and "\n" in ours:
        return ours == theirs or inspect.cleandoc(ours) == inspect.cleandoc(theirs)
    return ours == theirs or repr(ours) == repr(theirs)


def _same_argument(ours: Any, theirs: Any) -> bool:
    """gast writes a parameter as a name, and the name of an exception too."""
    if isinstance(theirs, ast.arg):
        if type(ours).__name__ != "Name" or ours.id != theirs.arg:
            return False
        return difference(ours.annotation, theirs.annotation) is None
    if isinstance(theirs, str):
        return getattr(ours, "id", None) == theirs
    return False


# --------------------------------------------------------------------------------------------------
# The top of an emitted file: the imports its names need, and a word on those none can reach.


def header_lines(names: Mapping[str, Binding], annotated: bool) -> list[str]:
    """Import lines, then comments for what cannot be imported.

    >>> import numpy
    >>> names = {"np": Binding("module", "numpy", "np", numpy)}
    >>> header_lines({**names, "sum2": Binding("builtin", "builtins", "sum", sum)}, False)
    ['import numpy as np', 'from builtins import sum as sum2']
    """
    modules = [
        _import(b.module, name)
        for name, b in names.items()
        if b.kind == "module" and _can_be_said(b.module)
    ]
    sources: dict[tuple[bool, str], list[str]] = {}
    for name, binding in names.items():
        if binding.kind in ("imported", "global") or (
            binding.kind == "builtin" and name != binding.original
        ):
            source = binding.kind == "global", binding.module  # the user's own come last
            sources.setdefault(source, []).append(_alias(binding.original, name))
    lines = sorted(set(modules))
    for (_, module), aliases in sorted(sources.items()):
        if _can_be_said(module):
            lines += _from(module, sorted(aliases))
    lines += _looked_up(names)
    if annotated:  # annotations are for the reader; they are never evaluated
        lines = ["from __future__ import annotations", *([""] if lines else []), *lines]
    return [*lines, *_comments(names)]


def types_line(types: Iterable[tuple[str, str]]) -> list[str]:
    """The types of arguments that a module was specialised for, as comments.

    >>> types_line([("x", "float[:]"), ("n", "int")])
    ['# for x: float[:], n: int']
    """
    lines: list[str] = []
    for name, text in types:
        part = f"{name}: {text}"
        if lines and len(lines[-1]) + len(part) + 3 <= WIDTH:
            lines[-1] += f", {part}"
        else:
            lines.append(f"#     {part}" if lines else f"# for {part}")
    return lines


def _can_be_said(module: str) -> bool:
    """Whether an `import` statement can name a module: a file may be called `my-model.py`."""
    return all(map(str.isidentifier, module.split(".")))


def _looked_up(names: Mapping[str, Binding]) -> Iterable[str]:
    """What comes from modules that no `import` statement can name.

    >>> list(_looked_up({"k": Binding("global", "my-model", "K", 1)}))
    ["k = __import__('my-model', fromlist=['K']).K"]
    """
    for name, binding in sorted(names.items()):
        found = f"{name} = __import__({binding.module!r}"
        if binding.kind == "module" and not _can_be_said(binding.module):
            yield f"{found}, fromlist=[''])"
        elif binding.kind in ("imported", "global") and not _can_be_said(binding.module):
            yield f"{found}, fromlist=[{binding.original!r}]).{binding.original}"


def _import(module: str, name: str) -> str:
    if module == name:
        return f"import {module}"
    if module.split(".")[0] == name:
        return f"import {module}"
    return f"import {module} as {name}"


def _alias(original: str, name: str) -> str:
    return original if original == name else f"{original} as {name}"


def _from(module: str, aliases: list[str]) -> list[str]:
    flat = f"from {module} import {', '.join(aliases)}"
    if len(flat) <= WIDTH:
        return [flat]
    lines, current = [f"from {module} import ("], STEP
    for alias in aliases:
        if len(current) + len(alias) + 1 > WIDTH:
            lines.append(current.rstrip())
            current = STEP
        current += f"{alias}, "
    return [*lines, current.rstrip(), ")"]


def _comments(names: Mapping[str, Binding]) -> Iterable[str]:
    for name, binding in names.items():
        if binding.kind == "closure":
            yield f"# {name}: a closure variable of {binding.module}"
        elif binding.kind == "given":
            yield f"# {name}: an object that cannot be imported"


# --------------------------------------------------------------------------------------------------
# What the text of a derivative begins with where it is for some types of arguments only.
#
# In this process each call is served by the text for its arguments. A file cannot do that, so that
# `@for_types("x, w: float[n]")` stands above the function in place of the comment that says
# what the text is for. (In a standalone file, which has the check itself, the function calls it.)

_CHECK = ir.Ref(require_types.__name__, require_types)
_CHECKED = ir.Ref(for_types.__name__, for_types)


def guarded(
    module: ir.Module,
    count: int,
    decorated: bool,
    outside: Iterable[tuple[str, str]] = (),
    real: Iterable[str] = (),
) -> ir.Module:
    """The module with the types that it was made for checked by its last functions, of which so
    many are called with such arguments or with what the first of them saved; `outside` are types of
    what is not given as an argument, `real` the arguments of which it is only known that they hold
    no complex numbers."""
    types = dict.fromkeys(real, REAL)
    types |= dict(item for item in module.types if item[1] != "object")
    callees, main = module.functions[:-count], module.functions[-count:]
    return ir.Module((*callees, _guarded(main[0], types, decorated, outside), *main[1:]))


def types_outside(
    module: ir.Module, scope: Scope, scopes: Mapping[str, Scope]
) -> tuple[tuple[str, str], ...]:
    """The types of the numbers and arrays outside that a module names, by their names in its text
    (in a file that needs only NumPy, they are what they are)."""
    every = scopes_of(module, scope, scopes)
    module = as_imported(module, every)
    own = bind(module, every)
    kinds = dict[str, Kind]()
    for fn in module.functions:
        for ref in filter(trusted, fact(references, fn)):
            name = own.names_in_file[fn.name, ref.text, ref.key]
            if own.by_function[fn.name][name].kind in ("global", "closure"):
                kinds[name] = structure_of(ref.obj, ranks=True)
    return described_types(kinds)


def _guarded(
    fn: ir.Function,
    types: Mapping[str, str],
    decorated: bool,
    outside: Iterable[tuple[str, str]],
) -> ir.Function:
    names = [name for name in fn.param_names if name in types]
    stated = [*((name, types[name]) for name in names), *outside]
    if not stated:
        return fn
    # (A text that was read again has its own check: the same is said once.)
    text = ir.Const(_grouped(stated))
    own = [s for s in fn.body if not (isinstance(s, ir.Do) and _checks(s.value, text))]
    if decorated:
        above = ir.Call(_CHECKED, (text,), at=fn.place)
        return replace(fn, body=tuple(own), decorators=(above, *fn.decorators))
    checks = []
    for real in (False, True):  # (each has a test of its own kind)
        part = [item for item in stated if (item[1] == REAL) == real]
        given = [ir.Var(name) for name, _ in part]
        check = ir.Call(_CHECK, (ir.Const(_grouped(part)), *given), at=fn.place)
        checks += [ir.Do(check, ir.Origin(fn.place, "check"))] * bool(part)
    return replace(fn, body=(*checks, *own))


def _checks(value: ir.Expr, text: ir.Const) -> bool:
    return isinstance(value, ir.Call) and value.fn == _CHECK and value.args[0] == text


def _grouped(types: Iterable[tuple[str, str]]) -> str:
    """Names with their types, as they are checked.

    >>> _grouped([("x", "float[n]"), ("a", "float"), ("b", "float")])
    'x: float[n], a, b: float'
    """
    groups = itertools.groupby(types, key=operator.itemgetter(1))
    return ", ".join(f"{', '.join(name for name, _ in group)}: {text}" for text, group in groups)
