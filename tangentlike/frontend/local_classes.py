"""Classes that a function defines: made once, of the code that Python makes them of at each call.

before::                                 after::
    def loss(x):                             def loss(x):
        class Spring:                            return Spring(x).energy()
            def __init__(self, k):
                self.k = k                   and `Spring` is an object that the function sees from
            ...                              outside, as one that a cell of a closure holds
        return Spring(x).energy()

Such a class has nothing that differs from one call to the next: it captures no variable of the
function, holds nothing that can be changed, and nothing may assign its attributes. Another is not
made here, and its definition is refused.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import gast

from ..runtime.recent import Recent
from .owners import is_pythons
from .survey import survey

_MADE: Recent[types.FunctionType, dict[str, types.CellType]] = Recent(256)


def local_classes(
    fn: types.FunctionType, node: Any, bound: Collection[str], lookup: Callable[[str], Any]
) -> Mapping[str, types.CellType]:
    """The classes that the body of a function, or of one inside it, defines, by name, in cells;
    `bound` are the names of the function, `lookup` says what others mean."""
    found = list(_definitions(node.body, fn.__code__, frozenset(bound)))
    known = _MADE.get(fn) if found else {}
    if known is None:
        known = _MADE.put(fn, {})
        if _may_change(node, {part.name for part, _, _ in found}):
            return known
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        for part, code, local in found:
            cell = _made(part, code, fn, {**cells, **known}, local, lookup)
            if cell is not None and [p.name for p, _, _ in found].count(part.name) == 1:
                known[part.name] = cell
    return known


def _definitions(
    block: Any, code: types.CodeType, bound: frozenset[str]
) -> Iterator[tuple[Any, types.CodeType, frozenset[str]]]:
    """The classes that some statements define, with the code that does, and the names of the
    functions around."""
    for stmt in block if isinstance(block, list) else ():  # (that of a lambda is an expression)
        if isinstance(stmt, gast.ClassDef):
            yield stmt, code, bound
        elif isinstance(stmt, gast.FunctionDef):
            inside = _codes(code, stmt.name)
            if len(inside) == 1:
                yield from _definitions(stmt.body, inside[0], bound.union(survey(stmt).bound))
        else:
            for name in ("body", "orelse", "finalbody", "handlers", "cases"):
                parts = getattr(stmt, name, ())
                whole = name in ("handlers", "cases")
                for inner in [part.body for part in parts] if whole else [parts]:
                    yield from _definitions(inner, code, bound)


def _codes(code: types.CodeType, name: str) -> list[types.CodeType]:
    """The pieces of code with a name that some code makes functions and classes of."""
    return [c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name]


def _made(
    node: Any,
    around: types.CodeType,
    fn: types.FunctionType,
    cells: Mapping[str, types.CellType],
    bound: Collection[str],
    lookup: Callable[[str], Any],
) -> types.CellType | None:
    """The class; None where it needs more than is known before the function runs."""
    own = types.CellType()
    cells = {**cells, node.name: own}
    codes = _codes(around, node.name)
    if len(codes) != 1 or not cells.keys() >= {*codes[0].co_freevars} or node.keywords:
        return None

    def evaluated(expr: Any) -> Any:
        names = {n.id for n in gast.walk(expr) if isinstance(n, gast.Name)}
        local = {n: cells[n].cell_contents for n in names & cells.keys()}
        if names & {*bound} - local.keys():
            raise KeyError(node.name)
        meant = {n: local[n] if n in local else lookup(n) for n in names}
        code = ast.Expression(gast.gast_to_ast(expr))
        return eval(compile(code, fn.__code__.co_filename, "eval"), {}, meant)

    try:
        bases = [evaluated(base) for base in node.bases]
        decorators = [evaluated(expr) for expr in node.decorator_list]
    except (KeyError, ValueError):  # (a name that means nothing yet)
        return None
    if not all(map(_is_plain, bases)) or not all(map(is_pythons, decorators)):
        return None  # (others may keep the class)
    closure = tuple(cells[name] for name in codes[0].co_freevars)
    body = types.FunctionType(codes[0], fn.__globals__, node.name, None, closure)
    made: Any = builtins.__build_class__(body, node.name, *bases)
    for decorator in reversed(decorators):
        made = decorator(made)
    own.cell_contents = made
    held = (v for n, v in vars(made).items() if not n.startswith("__") and n not in _PYTHONS)
    return own if all(map(_is_steady, held)) else None


def _is_plain(base: Any) -> bool:
    """Whether making a class of this one does nothing else."""
    makes = getattr(base, "__init_subclass__", None)
    plain = is_pythons(type(base)) and isinstance(makes, types.BuiltinMethodType)
    return is_pythons(base) or plain


def _is_steady(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_steady, value))
    return value is None or isinstance(value, _STEADY) or hasattr(type(value), "__get__")


_STEADY = (bool, int, float, complex, str, bytes, type)  # (and what is a method, a property)
_PYTHONS = ("_abc_impl", "_field_defaults")  # what its classes keep
_ASKING = ("isinstance", "issubclass", "super")


def _may_change(node: Any, names: Collection[str]) -> bool:
    """Whether the attributes of classes with these names may be assigned: by their names, by that
    of the first argument of a class method, or by others that they may have."""
    known: set[Any] = set()  # where they are called, asked for attributes, ...
    of_class: set[str] = set(names)
    for part in gast.walk(node):
        match part:
            case gast.Call(func=func, args=args):
                asks = isinstance(func, gast.Name) and func.id in _ASKING
                inside = [p for arg in args for p in gast.walk(arg)] if asks else []
                known.update((func, *inside))
            case gast.Attribute(value=base):
                known.add(base)
            case gast.ClassDef(bases=bases):
                known.update(bases)
            case gast.FunctionDef(args=given, decorator_list=decorators, returns=returns):
                annotations = [p.annotation for p in (*given.posonlyargs, *given.args)]
                known.update(p for e in (returns, *annotations) if e for p in gast.walk(e))
                if any(getattr(d, "id", "") == "classmethod" for d in decorators):
                    of_class.update(p.id for p in given.args[:1])
    for part in gast.walk(node):
        match part:
            case gast.Name(id=name, ctx=ctx) if name in names:
                if not isinstance(ctx, gast.Load) or part not in known:
                    return True
            case gast.Attribute(value=base, ctx=gast.Store() | gast.Del()):
                if isinstance(base, gast.Call | gast.Attribute):
                    return True  # (`type(self).n = 1`, `self.__class__.n = 1`)
                if isinstance(base, gast.Name) and base.id in of_class:
                    return True
    return False
