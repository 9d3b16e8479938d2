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

import numpy as np

from .. import runtime
from ..errors import Place, UnsupportedError
from ..ir import Attribute, Call, Const, Display, Expr, Index, Lazy, Param, Ref, Slice, Var
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


# --------------------------------------------------------------------------------------------------
# `np.r_[a, b]` and `np.c_[a, b]`: joins of arrays that are spelled as if they were indexed.


def join_of(index: Index) -> Expr:
    """The call that an indexing of `np.r_` or `np.c_` stands for; other indexings as they are.

    before::                    after::
        np.r_[0.0, a, b[1:]]        row_join([0.0, a, b[1:]])
        np.c_[a, b]                 column_join([a, b])

    Parts written as slices (`np.r_[0:3, a]`) or strings stay as they are.
    """
    match index.base:
        case Ref(obj=obj) if obj is np.r_ or obj is np.c_:
            pass
        case _:
            return index
    parts = index.key.items if isinstance(index.key, Display) else (index.key,)
    if any(isinstance(part, Slice) or _is_text(part) for part in parts):
        return index
    join = runtime.row_join if obj is np.r_ else runtime.column_join
    return Call(Ref(join.__name__, join), (Display("list", parts),), at=index.at)


def _is_text(part: Expr) -> bool:
    return isinstance(part, Const) and isinstance(part.value, str)


# --------------------------------------------------------------------------------------------------
# Code that looks at the function it stands in, or runs text: neither can be read here.


_LOOKING = (builtins.locals, builtins.globals, builtins.dir)
_RUNNING_TEXT = (builtins.eval, builtins.exec)


def refuse_looking(fn: Ref, has_arguments: bool, place: Place | None) -> None:
    """Refuse a call of what sees the frame it stands in, which is another one in other code."""
    bare = fn.obj is builtins.vars and not has_arguments
    if bare or any(fn.obj is looking for looking in _LOOKING):
        raise _refusal(fn, place)


def refuse_running_text(ref: Ref, place: Place | None) -> None:
    """Refuse `exec` and `eval`, also where they are given another name."""
    if any(ref.obj is runs for runs in _RUNNING_TEXT):
        raise _refusal(ref, place)


def _refusal(fn: Ref, place: Place | None) -> UnsupportedError:
    if any(fn.obj is runs for runs in _RUNNING_TEXT):
        hint = "Write what the text says as statements of the function."
    else:
        hint = "Write out the names that are meant, as in `{'a': a, 'b': b}`."
    return UnsupportedError(f"`{fn.text}` depends on the function it is called in", place, hint)


def refuse_super(fn: Ref, found: bool, at: Place | None) -> None:
    """`super()` finds the class it stands in, unless it is told."""
    if fn.obj is super and not found:
        raise UnsupportedError(
            "`super()` without arguments only works inside its class",
            at,
            "Name them: `super(Class, self)`.",
        )
