"""Displays with stars, as the operations that they abbreviate.

`[a, *xs]` is `[a] + list(xs)`, `(*xs, b)` is `tuple(xs) + (b,)`, and `{**d, "k": v}` is
`dict(d) | {"k": v}`: then nothing further down has to know of stars.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import reduce

import gast

from ..errors import Place
from ..ir import Call, Const, Display, Expr, Opaque, Ref
from .comprehensions import taken_whole
from .operands import is_constant, is_shape_query

ADD = Ref("+", operator.add)
MERGE = Ref("|", operator.or_)
DICT = Ref("dict", dict)
_TYPES = {"list": Ref("list", list), "tuple": Ref("tuple", tuple)}


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
    return reduce(lambda a, b: Call(ADD, (a, b), (), at), parts)


def star(items: Expr, at: Place | None) -> Opaque:
    """`*f(x)` among arguments: its items, named where the call is flattened."""
    return Opaque("*items", ("items",), (taken_whole(items),), (), at)


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
        parts.append(Call(DICT, (value,), (), at))
    return reduce(lambda a, b: Call(MERGE, (a, b), (), at), parts[:-1])


def dict_of_keywords(args: Sequence[Expr], words: Sequence[tuple[str, Expr]]) -> Expr | None:
    """`dict(d, a=x)` and `dict(a=x)` as displays; None for other calls."""
    if not words or len(args) > 1:
        return None
    entries = Display("dict", tuple(v for _, v in words), tuple(Const(k) for k, _ in words))
    return Call(MERGE, (Call(DICT, tuple(args)), entries)) if args else entries


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
    return (
        isinstance(key, gast.Constant) and isinstance(key.value, str) and key.value.isidentifier()
    )
