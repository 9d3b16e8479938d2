"""The last line of defence: emitted text means what the tree it came from says.

The text is parsed back and compared node by node. gast and Python's own trees differ in a few
fields only; positions, contexts and the indentation of docstrings mean nothing here.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

import gast

from ...errors import InternalError

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
