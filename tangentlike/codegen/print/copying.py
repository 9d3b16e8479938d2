"""Live things as source that stands alone: definitions by their text, data as literals."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from ... import ir
from ...errors import UnsupportedError
from ...frontend.owners import is_installed
from ...runtime.records import attribute_of
from . import to_gast
from .printer import Printer

_LARGEST_ARRAY = 64
_MISSING = object()
_OURS = __name__.partition(".")[0] + "."


@dataclass(frozen=True)
class Piece:
    """A definition as text, and the names it takes from its surroundings: name to object.

    `types` are names that only annotations use, `pythons` those of Python's own.
    """

    text: str
    needs: Mapping[str, Any]
    types: Mapping[str, Any]
    annotated: bool
    pythons: Mapping[str, Any]


def home(obj: Any) -> tuple[str, str] | None:
    """Module and name under which a library (or Python itself) offers an object, if one does."""
    name = attribute_of(obj, "__qualname__", None) or attribute_of(obj, "__name__", None)
    name = name or getattr(obj, "_name", None)
    if not isinstance(name, str) or not name.isidentifier():
        return None
    for module in _possible_homes(obj):
        if is_installed(module) and getattr(sys.modules.get(module), name, _MISSING) is obj:
            return module, name
    return None


def _possible_homes(obj: Any) -> list[str]:
    """Public packages before the private modules inside them; for compiled functions, which do
    not know where they live, every public module loaded."""
    own = attribute_of(obj, "__module__", None)
    if isinstance(own, str):
        parts = own.split(".")
        return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
    if not isinstance(obj, (np.ufunc, types.BuiltinFunctionType)):
        return ["numpy", "math", "builtins"]
    public = [m for m in list(sys.modules) if not any(p.startswith("_") for p in m.split("."))]
    return ["numpy", "math", "builtins", *sorted(public, key=lambda m: (m.count("."), m))]


def definition(obj: Any, name: str) -> Piece:
    """The source of a function or class, as it was written."""
    try:
        text = textwrap.dedent(inspect.getsource(obj))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError):
        tree = ast.Module([], [])
    nodes = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    if len(nodes) != 1:
        raise UnsupportedError(
            f"`{name}` has no source that could be copied into a standalone file",
            hint="Define it with `def` in a file, or leave out --standalone.",
        )
    if obj.__module__.startswith(_OURS):
        text = brief(text)
    return piece(text.rstrip(), _surroundings(obj))


def assignment(module: types.ModuleType, name: str) -> Piece | None:
    """The statement of a module that binds a constant, with the comment beside it."""
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):
        return None
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and any(
            isinstance(t, ast.Name) and t.id == name for t in targets
        ):
            text = "\n".join(source.splitlines()[node.lineno - 1 : node.end_lineno])
            return piece(brief(text), vars(module))
    return None


def _surroundings(obj: Any) -> dict[str, Any]:
    """The names code of an object can see: its module's, and its closure's."""
    obj = inspect.unwrap(obj)  # (`lru_cache` is written as the decorator that it is)
    if isinstance(obj, types.FunctionType):
        closure = inspect.getclosurevars(obj).nonlocals
        return {**obj.__globals__, **closure}
    if not isinstance(obj, type) or obj.__module__ not in sys.modules:
        return {}
    known = dict(vars(sys.modules[obj.__module__]))
    if "<locals>" in obj.__qualname__:  # (a class that a function defines)
        known.update((base.__name__, base) for base in obj.__bases__)
        members = (getattr(m, "fget", getattr(m, "__func__", m)) for m in vars(obj).values())
        methods = [m for m in members if isinstance(m, types.FunctionType)]
        for method in methods:
            known.update(inspect.getclosurevars(method).nonlocals)
    return known


def piece(text: str, visible: Mapping[str, Any]) -> Piece:
    """A definition with what it needs: the names it reads and does not bind itself."""
    node = ast.parse(text).body[0]
    names = _Names()
    names.visit(node)
    bound = names.bound | {getattr(node, "name", "")}
    needs = {n: visible[n] for n in names.read if n in visible and n not in bound}
    only_types = [n for n in names.annotations if n in visible and n not in needs]
    needs = {n: o for n, o in needs.items() if getattr(builtins, n, _MISSING) is not o}
    unseen = {*names.read} - bound - needs.keys()
    pythons = {n: getattr(builtins, n) for n in sorted(unseen) if hasattr(builtins, n)}
    types_needed = {n: visible[n] for n in only_types}
    return Piece(text, needs, types_needed, bool(names.annotations), pythons)


def brief(text: str) -> str:
    """A definition of ours without annotations and with the first sentence of each docstring.

    >>> print(brief("def f(x: Any = 0) -> Any:\\n    return x"))
    def f(x=0):
        return x
    """
    text = re.sub(r"  # type: ignore.*", "", text)
    lines = [line.encode() for line in text.split("\n")]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    cuts: list[tuple[int, int, str]] = []

    def cut(begin: tuple[int, int], end: tuple[int, int], by: str) -> None:
        cuts.append((starts[begin[0] - 1] + begin[1], starts[end[0] - 1] + end[1], by))

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            doc = node.body[0]
            cut(_start(doc), _end(doc), _first_sentence(ast.get_docstring(node) or ""))
        if isinstance(node, ast.arguments):
            for arg, default in _with_defaults(node):
                if arg.annotation is not None:
                    name = arg.lineno, arg.col_offset + len(arg.arg.encode())
                    equals = default is not None
                    cut(name, _start(default) if equals else _end(arg), "=" if equals else "")
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            before = lines[node.returns.lineno - 1].rindex(b" -> ", 0, node.returns.col_offset)
            cut((node.returns.lineno, before), _end(node.returns), "")
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            cut(_end(node.target), _end(node.annotation), "")
    code = text.encode()
    for begin, end, by in sorted(cuts, reverse=True):
        code = code[:begin] + by.encode() + code[end:]
    return code.decode()


def _with_defaults(node: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    usual = [*node.posonlyargs, *node.args]
    required = len(usual) - len(node.defaults)
    yield from ((arg, None) for arg in usual[:required])
    yield from zip(usual[required:], node.defaults, strict=True)
    yield from zip(node.kwonlyargs, node.kw_defaults, strict=True)
    yield from ((arg, None) for arg in (node.vararg, node.kwarg) if arg is not None)


def _start(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: Any) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset


def _first_sentence(doc: str) -> str:
    """As a docstring of one line where it fits, broken once where it does not."""
    sentence = re.split(r"(?<=[.:;])\s", " ".join(doc.split("\n\n")[0].split()))[0]
    return f'"""{sentence.rstrip(":;.")}."""'


class _Names(ast.NodeVisitor):
    """Names read and bound anywhere in a definition, annotations apart."""

    def __init__(self) -> None:
        self.read: dict[str, None] = {}
        self.bound: set[str] = set()
        self.annotations: dict[str, None] = {}

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read.setdefault(node.id)
        else:
            self.bound.add(node.id)

    def visit_arg(self, node: ast.arg) -> None:
        self.bound.add(node.arg)
        self._annotation(node.annotation)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._annotation(node.returns)
        for child in [*node.decorator_list, node.args, *node.body]:
            self.visit(child)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def _annotation(self, node: ast.expr | None) -> None:
        for part in ast.walk(node) if node is not None else ():
            if isinstance(part, ast.Name):
                self.annotations.setdefault(part.id)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Source with some of its names replaced, everything else left as it was written."""
    if not names:
        return text
    lines = [line.encode() for line in text.split("\n")]
    spots = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and node.id in names:
            spots.append((node.lineno, node.col_offset, node.id))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in names:
            column = lines[node.lineno - 1].index(node.name.encode(), node.col_offset + 4)
            spots.append((node.lineno, column, node.name))
    for line, column, name in sorted(spots, reverse=True):
        old = lines[line - 1]
        new = names[name].encode()
        lines[line - 1] = old[:column] + new + old[column + len(name.encode()) :]
    return b"\n".join(lines).decode()


# ---------------------------------------------------------------------------------- data


def data_literal(value: Any, numpy: str) -> str | None:
    """Python text for a number, string, container of these, or small array; None for others.

    >>> data_literal((1.5, np.arange(3.0)), "np")
    '(1.5, np.array([0.0, 1.0, 2.0]))'
    """
    built = _data(value, numpy)
    return None if built is None else Printer().item(to_gast.expression(built))


def _data(value: Any, numpy: str) -> ir.Expr | None:
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return ir.Const(value)
    if type(value) in (tuple, list):
        items = [_data(item, numpy) for item in value]
        if any(item is None for item in items):
            return None
        return ir.Display(type(value).__name__, tuple(i for i in items if i is not None))
    if type(value) is dict:
        keys = _data(list(value), numpy)
        items_of = _data(list(value.values()), numpy)
        if isinstance(keys, ir.Display) and isinstance(items_of, ir.Display):
            return ir.Display("dict", items_of.items, keys.items)
        return None
    if isinstance(value, (np.ndarray, np.generic)):
        return _array(value, numpy)
    return None


def _array(value: Any, numpy: str) -> ir.Expr | None:
    """`np.array([...])`, with the type where the literal alone would give another."""
    known = value.dtype.kind in "biufc" and value.dtype.isnative
    if not known or value.size > _LARGEST_ARRAY or not value.flags.c_contiguous:
        return None
    if isinstance(value, np.generic):
        item = _data(value.item(), numpy)
        name = f"{numpy}.{value.dtype.name}" if value.dtype.kind != "b" else f"{numpy}.bool_"
        return None if item is None else ir.Call(ir.Ref(name, type(value)), (item,))
    if type(value) is not np.ndarray:
        return None
    items = _data(value.tolist(), numpy)
    if items is None:
        return None
    plain = np.array(value.tolist())
    kwargs: tuple[tuple[str, ir.Expr], ...] = ()
    if plain.dtype != value.dtype or plain.shape != value.shape:
        if plain.shape != value.shape:
            return None
        kwargs = (("dtype", ir.Ref(f"{numpy}.{value.dtype.name}", value.dtype)),)
    return ir.Call(ir.Ref(f"{numpy}.array", np.array), (items,), kwargs)
