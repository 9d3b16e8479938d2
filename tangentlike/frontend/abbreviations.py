"""Expressions that abbreviate others, and calls that mean something only where they stand.

`operator.itemgetter`, `attrgetter` and `methodcaller` as the lambdas that they are, and what
`getattr` reads.

before::                              after::
    first = operator.itemgetter(0)        first = lambda item: item[0]
    k = getattr(box, "k", 1.0)            k = box.k if hasattr(box, "k") else 1.0
"""

from __future__ import annotations

import builtins
import logging
import operator
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import gast
import numpy as np

from .. import ir, runtime
from ..errors import Place, UnsupportedError
from ..ir import Attribute, Call, Const, Display, Expr, Index, Lazy, Opaque, Param, Ref, Slice, Var
from ..runtime.functions import is_word
from .comprehensions import taken_whole
from .nested import Closure
from .operands import is_constant, is_shape_query
from .owners import package_of

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


def plain_range(fn: Expr) -> Expr:
    """`range` for `numba.prange`, which means the same where no loop runs in parallel."""
    match fn:
        case Ref(obj=type() as obj) if obj.__name__ == "prange" and package_of(obj) == "numba":
            return ir.RANGE
    return fn


def attribute_read(fn: Expr, args: Sequence[Expr], at: Place | None) -> Expr | None:
    """What `getattr` with a fixed name reads; None for any other call."""
    match fn, *args:
        case Ref(obj=builtins.getattr), Ref(), *_:
            return None
        case Ref(obj=builtins.getattr), held, Const(str(name)) if name.isidentifier():
            return _field(held, name, at)
        case Ref(obj=builtins.getattr), Var() as held, Const(str(name)), other:
            there = Call(ir.HASATTR, (held, Const(name)), (), at)
            return Lazy("if", (there, _field(held, name, at), other))
    return None


def _field(held: Expr, name: str, at: Place | None) -> Expr:
    """(What derivatives read by `getattr` are fields of objects.)"""
    emitted = at is not None and at.is_emitted
    return Attribute(held, ir.field_name(name) if emitted else name, at)


def _attribute(path: str, at: Place | None) -> Expr:
    found: Expr = _ITEM
    for name in path.split("."):
        found = Attribute(found, name, at)
    return found


# --------------------------------------------------------------------------------------------------
# `np.r_[a, b]` and `np.c_[a, b]`: joins of arrays that are written as if they were indexed.


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
    """`super()` finds the class it stands in, unless that is given."""
    if fn.obj is super and not found:
        raise UnsupportedError(
            "`super()` without arguments only works inside its class",
            at,
            "Name them: `super(Class, self)`.",
        )


# --------------------------------------------------------------------------------------------------
# Calls that only show values: `log.info("%s", y)`, `warnings.warn(f"{y}")`.

_LEVELS = ("debug", "info", "warning", "warn", "error", "critical", "exception", "log")
_FUNCTIONS = (*(getattr(logging, name) for name in _LEVELS if name != "warn"), warnings.warn)


def is_logging(fn: Any, read: Callable[[gast.AST], ir.Expr]) -> bool:
    """Whether what is called shows its arguments and does nothing else with them."""
    if not isinstance(fn, gast.Attribute | gast.Name):
        return False
    try:
        if isinstance(fn, gast.Attribute) and fn.attr in _LEVELS and _is_logger(read(fn.value)):
            return True
        found = read(fn)
    except UnsupportedError:
        return False  # (refused where it is read as what it is)
    return isinstance(found, ir.Ref) and any(found.obj is known for known in _FUNCTIONS)


def _is_logger(expr: ir.Expr) -> bool:
    match expr:
        case ir.Ref(obj=obj):
            return isinstance(obj, logging.Logger | logging.LoggerAdapter)
        case ir.Call(fn=ir.Ref(obj=obj)):
            return obj is logging.getLogger
    return False


# --------------------------------------------------------------------------------------------------
# Displays with stars, as the operations that they abbreviate.
#
# `[a, *xs]` is `[a] + list(xs)`, `(*xs, b)` is `tuple(xs) + (b,)`, and `{**d, "k": v}` is
# `dict(d) | {"k": v}`: then nothing further down has to know of stars.

MERGE = Ref("|", operator.or_)
_TYPES = {"list": ir.LIST, "tuple": ir.TUPLE}


def is_of_sizes(items: Iterable[Expr]) -> bool:
    """Whether a display can carry no derivative, being made of sizes: it stays as it stands."""
    return all(is_constant(item) or is_shape_query(item) for item in items)


def joined(form: str, items: Sequence[tuple[bool, Expr]], at: Place | None) -> Expr:
    """A list or tuple of items, of which the starred ones stand for all that they hold."""
    parts: list[Expr] = []
    plain: list[Expr] = []
    for starred, item in items:
        if not starred:
            plain.append(item)
            continue
        if plain:
            parts.append(Display(form, tuple(plain)))
        parts.append(Call(_TYPES[form], (item,), (), at))
        plain = []
    if plain:
        parts.append(Display(form, tuple(plain)))
    return reduce(lambda a, b: Call(ir.ADD, (a, b), (), at), parts)


def star(items: Expr, at: Place | None) -> Opaque:
    """`*f(x)` among arguments: its items, named where the call is flattened."""
    return Opaque("*items", ("items",), (taken_whole(items),), (), at)


def words_of(entries: Expr, at: Place | None) -> Opaque:
    """The same of `**f(x)`."""
    return Opaque("**words", ("words",), (entries,), (), at)


def merged(entries: Sequence[tuple[Expr | None, Expr]], at: Place | None) -> Expr:
    """A dict of entries, a key of None saying that the value is a dict to be taken in."""
    parts: list[Expr] = []
    keys: list[Expr] = []
    values: list[Expr] = []
    for key, value in (*entries, (None, Display("dict", ()))):
        if key is not None:
            keys.append(key)
            values.append(value)
            continue
        if keys:
            parts.append(Display("dict", tuple(values), tuple(keys)))
            keys, values = [], []
        parts.append(Call(ir.DICT, (value,), (), at))
    return reduce(lambda a, b: Call(MERGE, (a, b), (), at), parts[:-1])


def dict_of_keywords(args: Sequence[Expr], words: Sequence[tuple[str, Expr]]) -> Expr | None:
    """`dict(d, a=x)` and `dict(a=x)` as displays; None for other calls."""
    if not words or len(args) > 1:
        return None
    entries = Display("dict", tuple(v for _, v in words), tuple(Const(k) for k, _ in words))
    return Call(MERGE, (Call(ir.DICT, tuple(args)), entries)) if args else entries


def spread(call: gast.Call) -> gast.Call:
    """A call without stars before displays: `f(*(a, b), **{"k": c})` is `f(a, b, k=c)`."""
    args: list[gast.AST] = []
    words: list[gast.keyword] = []
    for arg in call.args:
        shown = isinstance(arg, gast.Starred) and isinstance(arg.value, (gast.Tuple, gast.List))
        args += arg.value.elts if shown else [arg]
    for word in call.keywords:
        shown = word.arg is None and isinstance(word.value, gast.Dict)
        if shown and all(_is_word(key) for key in word.value.keys):
            entries = zip(word.value.keys, word.value.values, strict=True)
            words += [gast.keyword(arg=key.value, value=value) for key, value in entries]
        else:
            words.append(word)
    names = [word.arg for word in words if word.arg is not None]
    if len(set(names)) < len(names):
        return call  # (Python refuses it when it runs)
    return gast.copy_location(gast.Call(func=call.func, args=args, keywords=words), call)


def _is_word(key: gast.AST | None) -> bool:
    return isinstance(key, gast.Constant) and isinstance(key.value, str) and is_word(key.value)
