"""`operator.itemgetter`, `attrgetter` and `methodcaller` as the lambdas that they are, and what
`getattr` reads.

before::                              after::
    first = operator.itemgetter(0)        first = lambda item: item[0]
    k = getattr(box, "k", 1.0)            k = box.k if hasattr(box, "k") else 1.0
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence

from ..errors import Place
from ..ir import Attribute, Call, Const, Display, Expr, Index, Lazy, Param, Ref, Var
from .nested import Closure

_ITEM = Var("item")


def getter(
    fn: Expr, args: Sequence[Expr], kwargs: Sequence[tuple[str, Expr]], at: Place | None
) -> Closure | None:
    """The lambda for a call that makes one of them; None for any other call, and for one that is
    told by values (`itemgetter(k)`: what `k` is then counts)."""
    if not isinstance(fn, Ref) or not args:
        return None
    values = [*args, *(value for _, value in kwargs)]
    if not all(isinstance(value, Const) for value in values):
        return None
    given = [value.value for value in args if isinstance(value, Const)]
    words = {word: value.value for word, value in kwargs if isinstance(value, Const)}
    parts: list[Expr]
    if fn.obj is operator.itemgetter and not kwargs:
        parts = [Index(_ITEM, key, at) for key in args]
        texts = [f"item[{key!r}]" for key in given]
    elif fn.obj is operator.attrgetter and not kwargs:
        parts = [_attribute(str(path), at) for path in given]
        texts = [f"item.{path}" for path in given]
    elif fn.obj is operator.methodcaller:
        method = str(given[0])
        parts = [Call(Attribute(_ITEM, method, at), tuple(args[1:]), tuple(kwargs), at)]
        written = [*map(repr, given[1:]), *(f"{word}={value!r}" for word, value in words.items())]
        texts = [f"item.{method}({', '.join(written)})"]
    else:
        return None
    body = parts[0] if len(parts) == 1 else Display("tuple", tuple(parts))
    text = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
    return Closure(f"lambda item: {text}", (), (), (), at, params=(Param("item"),), body=body)


def attribute_read(fn: Expr, args: Sequence[Expr], at: Place | None) -> Expr | None:
    """What `getattr` with a fixed name reads; None for any other call."""
    match fn, *args:
        case Ref(obj=builtins.getattr), Ref(), *_:
            return None
        case Ref(obj=builtins.getattr), held, Const(str(name)) if name.isidentifier():
            return Attribute(held, name, at)
        case Ref(obj=builtins.getattr), Var() as held, Const(str(name)), other:
            there = Call(Ref("hasattr", hasattr), (held, Const(name)), (), at)
            return Lazy("if", (there, Attribute(held, name, at), other))
    return None


def _attribute(path: str, at: Place | None) -> Expr:
    found: Expr = _ITEM
    for name in path.split("."):
        found = Attribute(found, name, at)
    return found
