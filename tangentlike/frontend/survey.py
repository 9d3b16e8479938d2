"""One walk over the syntax tree of a function, for what must be known before reading it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gast

_DEFINITIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef)
_INNER = (*_DEFINITIONS, gast.Lambda)
_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
_CAPTURES = (gast.MatchAs, gast.MatchStar, gast.MatchMapping)
_DECLARATIONS = (gast.Global, gast.Nonlocal)
_YIELDS = (gast.Yield, gast.YieldFrom)


@dataclass
class Survey:
    """`used`: every name that occurs, of any scope. `bound`: the names local to the function
    itself. `yields`: the expressions that make it a generator. `outer`: the names it declares
    `global` or `nonlocal`. `imports`: whether anything is imported in it."""

    used: dict[str, None] = field(default_factory=dict)
    bound: dict[str, None] = field(default_factory=dict)
    yields: list[Any] = field(default_factory=list)
    outer: dict[str, None] = field(default_factory=dict)
    imports: bool = False


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
            found.used[part.id] = None
            if own and type(part.ctx) is not gast.Load:
                found.bound[part.id] = None
        elif kind is gast.alias:
            found.bound[part.asname or part.name.split(".")[0]] = None
            found.imports = True
        elif kind in _DEFINITIONS and own:
            found.bound[part.name] = None
            found.used[part.name] = None
        elif kind in _CAPTURES and own:
            for name in filter(None, (getattr(part, "name", None), getattr(part, "rest", None))):
                found.used[name] = found.bound[name] = None
        elif kind in _DECLARATIONS and own:
            found.outer.update(dict.fromkeys(part.names))
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
