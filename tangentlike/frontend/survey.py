"""Walks over the syntax tree of a function, for what must be known before reading it: its names,
and what it imports itself.
"""

from __future__ import annotations

import copy
import importlib
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gast
import numpy as np

from ..runtime import argument_key

_DEFINITIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef)
_INNER = (*_DEFINITIONS, gast.Lambda)
_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
_CAPTURES = (gast.MatchAs, gast.MatchStar, gast.MatchMapping)
_DECLARATIONS = (gast.Global, gast.Nonlocal)
_YIELDS = (gast.Yield, gast.YieldFrom)


@dataclass
class Survey:
    """`used`: every name of any scope, and how often it is read or assigned. `bound`: the names
    local to the function itself. `yields`: the expressions that make it a generator. `outer`: the
    names it declares `global` or `nonlocal`. `imports`: whether anything is imported in it.
    `attributes`: the assignments of attributes, `calls` those of a name, of any scope; `classes`:
    the classes defined inside that were made already (`local_classes`)."""

    used: dict[str, int] = field(default_factory=dict)
    bound: dict[str, None] = field(default_factory=dict)
    yields: list[Any] = field(default_factory=list)
    outer: dict[str, None] = field(default_factory=dict)
    imports: bool = False
    attributes: list[Any] = field(default_factory=list)
    calls: dict[str, list[Any]] = field(default_factory=dict)
    classes: frozenset[str] = frozenset()


def survey(node: Any) -> Survey:
    """The names of a function definition, a lambda, or loose statements.

    >>> found = survey(gast.parse("a = [b for b in c]"))
    >>> sorted(found.used), sorted(found.bound)
    (['a', 'b', 'c'], ['a'])
    """
    found = Survey()
    if hasattr(node, "args"):
        found.bound.update(dict.fromkeys(parameter_names(node.args)))
    own = not isinstance(node, gast.Lambda)
    stack = [(child, own, own) for child in _children(node)]
    while stack:
        part, own, here = stack.pop()
        kind = type(part)
        if kind is gast.Name:
            found.used[part.id] = found.used.get(part.id, 0) + 1
            if own and type(part.ctx) is not gast.Load:
                found.bound[part.id] = None
        elif kind is gast.alias:
            found.bound[part.asname or part.name.split(".")[0]] = None
            found.imports = True
        elif kind in _DEFINITIONS and own:
            found.bound[part.name] = None
            found.used.setdefault(part.name, 0)
        elif kind in _CAPTURES and own:
            for name in filter(None, (getattr(part, "name", None), getattr(part, "rest", None))):
                found.used[name] = found.used.get(name, 0) + 1
                found.bound[name] = None
        elif kind in _DECLARATIONS and own:
            found.outer.update(dict.fromkeys(part.names))
        elif kind is gast.Assign and type(part.value) is gast.Attribute:
            found.attributes.append(part)
        elif kind is gast.Call and type(part.func) is gast.Name:
            found.calls.setdefault(part.func.id, []).append(part)
        elif kind in _YIELDS and own:
            found.yields.append(part)
        elif kind is gast.NamedExpr and here:  # (in a comprehension, too)
            found.bound[part.target.id] = None
        here = here and kind not in _INNER
        inner = own and here and kind not in _COMPREHENSIONS
        stack.extend((child, inner, here) for child in _children(part))
    for name in found.outer:
        found.bound.pop(name, None)
    return found


def parameter_names(args: Any) -> tuple[str, ...]:
    """All names a parameter list binds."""
    every = (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg)
    return tuple(a.id for a in every if a is not None)


def _children(node: Any) -> list[Any]:
    found: list[Any] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if type(value) is list:
            found.extend(item for item in value if getattr(item, "_fields", ()))
        elif getattr(value, "_fields", ()):  # operators and contexts have none
            found.append(value)
    found.reverse()  # the stack then gives them in source order
    return found


# --------------------------------------------------------------------------------------------------
# Names that a function imports itself: they mean the modules and objects that they will mean.


@dataclass(frozen=True)
class Imported:
    """What an imported name means: `original` of a module, or the module itself where it is ""."""

    obj: Any
    module: str
    original: str = ""


_ABSENT = object()


def imported_names(node: Any, namespace: Mapping[str, Any]) -> dict[str, Imported]:
    """What the names mean that a function gets from its own imports and from nothing else.

    `namespace` are the globals of the function, which relative imports start from. An import
    that fails is left to the function.

    >>> found = imported_names(gast.parse("import math as m; from os import path; p = m.pi"), {})
    >>> found["m"].module, found["path"].original
    ('math', 'path')
    """
    found: dict[str, Imported] = {}
    bound: set[str] = set()
    pending = [(child, True) for child in gast.iter_child_nodes(node)]
    while pending:
        part, own = pending.pop()
        bound.update(_bound_by(part))
        for name, meaning in _imported_by(part, namespace):
            if not own or found.setdefault(name, meaning).obj is not meaning.obj:
                bound.add(name)  # (an inner function has names of its own)
        own = own and not isinstance(part, _INNER)
        pending += [(child, own) for child in gast.iter_child_nodes(part)]
    return {n: m for n, m in found.items() if n not in bound and m.obj is not _ABSENT}


def _bound_by(part: Any) -> Iterator[str]:
    """The names that a node binds, imports left out."""
    if isinstance(part, gast.Name):
        if not isinstance(part.ctx, gast.Load):
            yield part.id
    elif isinstance(part, gast.arguments):
        yield from parameter_names(part)
    elif isinstance(part, (gast.Global, gast.Nonlocal)):
        yield from part.names
    elif not isinstance(part, gast.alias):
        names = (getattr(part, field, None) for field in ("name", "rest"))
        yield from (name for name in names if isinstance(name, str))


def _imported_by(part: Any, namespace: Mapping[str, Any]) -> Iterator[tuple[str, Imported]]:
    if isinstance(part, gast.Import):
        for alias in part.names:
            whole = _module(alias.name, 0, namespace)
            if alias.asname or whole.obj is _ABSENT:
                yield alias.asname or alias.name.partition(".")[0], whole
            else:
                root = alias.name.partition(".")[0]
                yield root, _module(root, 0, namespace)
    elif isinstance(part, gast.ImportFrom):
        module = _module(part.module or "", part.level or 0, namespace)
        for alias in part.names:
            obj = getattr(module.obj, alias.name, _ABSENT)
            meaning = Imported(obj, module.module, alias.name)
            if obj is _ABSENT and module.obj is not _ABSENT:
                meaning = _module(f"{module.module}.{alias.name}", 0, namespace)
            yield alias.asname or alias.name, meaning


def _module(name: str, level: int, namespace: Mapping[str, Any]) -> Imported:
    package = namespace.get("__package__") or None
    try:
        found = importlib.import_module("." * level + name, package if level else None)
    except (ImportError, TypeError, ValueError):
        return Imported(_ABSENT, name)
    return Imported(found, found.__name__)


# --------------------------------------------------------------------------------------------------
# Names that stand for a method of a container or an array, and that are only called.
#
# append = out.append
# append(v)                       out.append(v)
#
# add = rows[k].append            add = rows[k]
# add(v)                          add.append(v)

_METHODS = frozenset(
    name for cls in (list, dict, set, deque, np.ndarray) for name in dir(cls) if name[0] != "_"
)
_LOOPS = (gast.For, gast.While, gast.AsyncFor)


def call_methods_by_object(node: Any, known: Survey) -> None:
    """Change a definition so that such names, of methods of what is local, are not needed, or
    stand for the objects. A name that is also read in another way, or bound otherwise, stays."""
    found = _assigned(known)
    if not found:
        return
    parts = list(gast.walk(node))
    calls = [p for p in parts if isinstance(p, gast.Call) and isinstance(p.func, gast.Name)]
    seen = {id(call.func) for call in calls}
    seen.update(id(assign.targets[0]) for assigns in found.values() for assign in assigns)
    left = {name for part in parts for name in _otherwise(part, seen, found)}
    found = {name: assigns for name, assigns in found.items() if name not in left}
    methods = {name: assigns[0].value.attr for name, assigns in found.items()}
    stable = _bound_once(parts)
    objects: dict[str, str] = {}
    for name, assigns in found.items():
        base = assigns[0].value.value
        if len(assigns) == 1 and isinstance(base, gast.Name) and base.id in stable:
            objects[name] = base.id
        for assign in assigns:
            assign.value = assign.value.value
    for call in calls:
        name = call.func.id
        if name in methods:
            call.func.id = objects.get(name, name)
            method = gast.Attribute(call.func, methods[name], gast.Load())
            call.func = gast.copy_location(method, call.func)
    for part in parts if objects else ():
        body = getattr(part, "body", None)
        if isinstance(body, list):
            kept = [stmt for stmt in body if not _is_of(stmt, objects)]
            part.body = kept or [gast.copy_location(gast.Pass(), body[0])]


def _assigned(known: Survey) -> dict[str, list[Any]]:
    """The assignments of methods to names; of a name, all are of methods of one name."""
    found: dict[str, list[Any]] = {}
    for part in known.attributes:
        match part:
            case gast.Assign(targets=[gast.Name(id=name)], value=gast.Attribute(attr=method)):
                if method in _METHODS and _root(part.value) in known.bound:
                    found.setdefault(name, []).append(part)
    return {n: every for n, every in found.items() if len({e.value.attr for e in every}) == 1}


def _otherwise(part: Any, seen: Collection[int], found: dict[str, list[Any]]) -> Collection[str]:
    """The names that a node reads or binds in another way, or whose method it replaces."""
    match part:
        case gast.Name(id=name):
            return () if id(part) in seen else (name,)
        case gast.Global(names=names) | gast.Nonlocal(names=names):
            return tuple(names)
        case gast.FunctionDef(name=name) | gast.ClassDef(name=name) | gast.alias(name=name):
            return (name, getattr(part, "asname", None) or name)
        case gast.MatchAs(name=name) | gast.MatchStar(name=name) | gast.MatchMapping(rest=name):
            return (name or "",)
        case gast.Attribute(attr=attr) if not isinstance(part.ctx, gast.Load):
            return tuple(n for n, assigns in found.items() if assigns[0].value.attr == attr)
    return ()


def _bound_once(parts: list[Any]) -> frozenset[str]:
    """The names that one statement outside of loops binds, or that are parameters, anywhere."""
    stores = Counter(
        part.id
        for part in parts
        if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Load)
    )
    loops = (part for part in parts if isinstance(part, _LOOPS))
    again = {
        part.id
        for loop in loops
        for part in gast.walk(loop)
        if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Store)
    }
    return frozenset(name for name, count in stores.items() if count == 1) - again


def _is_of(stmt: Any, objects: dict[str, str]) -> bool:
    """Whether a statement is what is left of `append = out.append`."""
    match stmt:
        case gast.Assign(targets=[gast.Name(id=name)]):
            return name in objects
    return False


def _root(expr: Any) -> str:
    while isinstance(expr, gast.Attribute | gast.Subscript):
        expr = expr.value
    return expr.id if isinstance(expr, gast.Name) else ""


# --------------------------------------------------------------------------------------------------
# Functions that keep their results by how they are called: `f(1)` and `f(k=1)` are two.
#
# @functools.lru_cache(9)         f_memo = {}
# def f(i, j):                    def f_computed(i, j):
#     return g(i) * f(i, j - 1)       return g(i) * f(i, j - 1)
#                                 def f(i, j):                # or f(*args, **words)
#                                     key = argument_key(i, j)
#                                     if key in f_memo:
#                                         f_memo[key] = f_memo.pop(key)
#                                         return f_memo[key]
#                                     result = f_computed(i, j)
#                                     if key not in f_memo and len(f_memo) == 9:
#                                         f_memo.pop(next(iter(f_memo)))
#                                     f_memo[key] = result
#                                     return result

MEMO_NAMES = ("memo", "computed", "key", "result")
MEMO_CALLS = {"argument_key": argument_key, "len": len, "next": next, "iter": iter}
_YOUNGEST = """
        {memo}[{key}] = {memo}.pop({key})"""
_FORGET = """
    if {key} not in {memo} and {len}({memo}) == {most}:
        {memo}.pop({next}({iter}({memo})))"""
_KEEPING = """def {name}({given}):
    {key} = {argument_key}({given})
    if {key} in {memo}:{youngest}
        return {memo}[{key}]
    {result} = {computed}({given}){forget}
    {memo}[{key}] = {result}
    return {result}"""


def memoized(node: Any, named: Sequence[str], most: int | None, around: Survey) -> tuple[Any, Any]:
    """A definition without its decorator, and the one that asks it for what is not kept yet.

    `named` are the names of what that one uses, `most` is how many results are kept (None: all).
    Its parameters have names where the function around gives all of them by position.
    """
    words: dict[str, Any] = dict(zip((*MEMO_CALLS, *MEMO_NAMES), named, strict=True))
    words |= {"name": node.name, "most": most, "given": "*args, **words"}
    params = [param.id for param in (*node.args.posonlyargs, *node.args.args)]
    calls = around.calls.get(node.name, ())
    if around.used.get(node.name, 0) == len(calls) and all(
        not call.keywords
        and len(call.args) == len(params)
        and not any(isinstance(value, gast.Starred) for value in call.args)
        for call in calls
    ):
        words["given"] = ", ".join(params)
    bounded = ("", "") if most is None else (_YOUNGEST, _FORGET)
    words |= zip(("youngest", "forget"), (part.format(**words) for part in bounded), strict=True)
    keeping = gast.parse(_KEEPING.format(**words)).body[0]
    for part in gast.walk(keeping):
        gast.copy_location(part, node)
    plain = copy.copy(node)
    plain.name, plain.decorator_list = words["computed"], []
    return plain, keeping
