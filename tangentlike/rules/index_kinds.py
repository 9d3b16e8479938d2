"""Kinds of `base[key]` and of the items of a loop, with the sizes that slices leave.

Sizes are symbols, so slices of one array can be compared: a slice that drops a literal number
of entries leaves the size `a.0-2`, whichever ends they are dropped from.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .. import ir
from ..ir.kind import INTEGER, MANY, OTHER, UNKNOWN, Dim, Kind, Shape
from .book import KindOf
from .decisions import is_literal, literal
from .kinds_of import EXACT, broadcast

_NO_AXIS = ir.Const(None)
_KEEPING: dict[ir.Expr, str] = {_NO_AXIS: "None", ir.Const(...): "..."}  # take no axis
_WHOLE = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.neg)
NUMBERED = "@"  # in a name of what another stands for while a block is executed once
TRIMMED = re.compile(r"(?P<whole>.+)-(?P<count>\d+)")


def index_kind(base: Kind, key: ir.Expr, kind_of: KindOf) -> Kind:
    """The kind of `base[key]`.

    >>> from ..ir.kind import INT
    >>> index_kind(Kind("array", "float", ("n", "m")), ir.Const(0), lambda e: INT).shape
    ('m',)
    """
    if base.form in ("list", "tuple", "dict"):
        return _element_at(base, key, kind_of)
    if base.form == "other":
        return OTHER
    if base.form not in ("array", "value"):
        return UNKNOWN
    parts = key_parts(key)
    if not all(is_basic(part, kind_of) for part in parts):
        kinds = [as_places(kind_of(part)) for part in parts]
        items = kinds[0].items or ()
        if len(kinds) == 1 and items and all(kind.form == "array" for kind in items):
            parts, kinds = parts * len(items), list(items)  # (a tuple of places has a name)
        return _fancy(base, parts, kinds, kind_of)
    dims = _basic_dims(base, parts, kind_of)
    if dims is None:
        has_slice = any(isinstance(p, ir.Slice) or p == ir.Const(...) for p in parts)
        return Kind("array" if has_slice else "value", base.dtype, _token(base, parts))
    if not dims and ir.Const(...) not in parts:
        return Kind("number", base.dtype, ())
    return Kind("array", base.dtype, dims)


def as_places(kind: Kind) -> Kind:
    """The kind of the array of places that a list of integers, or a `range`, is as a key."""
    if kind.form != "list" or kind.item is None or not kind.item.integer:
        return kind
    return Kind("array", "int", kind.grown if isinstance(kind.grown, tuple) else (None,))


def key_parts(key: ir.Expr) -> tuple[ir.Expr, ...]:
    """The components of an index, per axis: those of a tuple, or the one (as a list is);
    `np.newaxis` as the None that it is.

    >>> key_parts(ir.Display("tuple", (ir.Var("i"), ir.Ref("np.newaxis", None))))
    (Var(name='i'), Const(value=None))
    """
    parts = key.items if isinstance(key, ir.Display) and key.form == "tuple" else (key,)
    if any(type(part) is ir.Ref for part in parts):
        return tuple(_NO_AXIS if type(p) is ir.Ref and p.obj is None else p for p in parts)
    return parts


def takes_no_axis(key: ir.Expr) -> bool:
    """Whether arrays of rank 0 and numbers of NumPy have an item of this key: `(..., None)`."""
    return all(part in _KEEPING for part in key_parts(key))


def element_kind(kind: Kind) -> Kind:
    """What iteration over a value of this kind yields (for a dict: what its values are).

    >>> element_kind(Kind("array", "float", ("n", "m"))).shape
    ('m',)
    """
    if kind.form in ("list", "tuple", "dict") or kind.is_view:
        known = kind.whole_item
        return known or (Kind("number", kind.dtype, ()) if kind.dtype == "int" else UNKNOWN)
    if kind.form == "array" and kind.rank:
        assert isinstance(kind.shape, tuple)
        if kind.rank == 1:
            return Kind("number", kind.dtype, ())
        return Kind("array", kind.dtype, kind.shape[1:])
    if kind.form in ("array", "value"):
        token = f"{kind.shape}[i]" if isinstance(kind.shape, str) else None
        return Kind("value", kind.dtype, token)
    return OTHER if kind.form == "other" else UNKNOWN


def _element_at(base: Kind, key: ir.Expr, kind_of: KindOf) -> Kind:
    if isinstance(key, ir.Slice):
        return replace(base, items=None, item=element_kind(base), spells=None)
    if base.form != "dict" and kind_of(key).form != "number" and not isinstance(key, ir.Const):
        return UNKNOWN  # (it may be a slice)
    items = base.items or ()
    place = key.value if isinstance(key, ir.Const) else None
    if base.form == "dict":
        named = dict(zip(base.names, items, strict=False))
        found = [named[place]] if place in named else _with_names_like(key, named, kind_of)
        return functools.reduce(Kind.join, found) if found else element_kind(base)
    if isinstance(place, int) and -len(items) <= place < len(items):
        return items[place]
    found = element_kind(base)
    if isinstance(base.spells, str) and isinstance(place, int) and place >= 0:
        return replace(found, spells=f"{base.spells}.{place}")
    return found


def _with_names_like(key: ir.Expr, named: Mapping[str, Kind], kind_of: KindOf) -> list[Kind]:
    """The items that an f-string may select: of `f"W{i}"`, `i` an integer, `W0` and `W12`."""
    if not isinstance(key, ir.Text):
        return []
    text = ast.parse(key.text, mode="eval").body
    if not isinstance(text, ast.JoinedStr):
        return list(named.values())
    values, pattern = dict(zip(key.names, key.values, strict=True)), ""
    for part in text.values:
        match part:
            case ast.Constant(value=value):
                pattern += re.escape(str(value))
            case ast.FormattedValue(value=ast.Name(name), conversion=-1, format_spec=None) if (
                name in values and kind_of(values[name]).integer
            ):
                pattern += r"-?\d+"
            case _:
                pattern += ".*"
    return [kind for name, kind in named.items() if re.fullmatch(pattern, name, re.DOTALL)]


def is_basic(part: ir.Expr, kind_of: KindOf) -> bool:
    """Whether a part of a key is an integer, a slice, None or an ellipsis."""
    if isinstance(part, ir.Slice) or part in _KEEPING:
        return True
    if isinstance(part, ir.Const):
        return type(part.value) is int
    kind = kind_of(part)
    return kind.integer or kind.cls is slice


def _fancy(base: Kind, parts: tuple[ir.Expr, ...], part_kinds: list[Kind], kind_of: KindOf) -> Kind:
    """Some part is an array, a list or of unknown kind."""
    if len(parts) == 1 and isinstance(base.shape, tuple):
        taken = _taken(parts[0], part_kinds[0], kind_of)
        if taken is not None and taken[1] <= len(base.shape):
            return Kind("array", base.dtype, (*taken[0], *base.shape[taken[1] :]))
    joined = _joined(base, parts, part_kinds, kind_of)
    if joined is not None:
        return Kind("array", base.dtype, joined)
    if any(k.form in ("array", "list") for k in part_kinds):
        return Kind("array", base.dtype)
    has_slice = any(isinstance(p, ir.Slice) for p in parts)
    return Kind("array" if has_slice else "value", base.dtype)


def _joined(base: Kind, parts: tuple[ir.Expr, ...], kinds: list[Kind], kind_of: KindOf) -> Shape:
    """The shape of what arrays of places and masks, side by side, select together (`m[rows, 1:]`,
    `p[arange(n), labels]`); what else there is are slices."""
    places = [i for i, part in enumerate(parts) if not isinstance(part, ir.Slice)]
    first, last = places[0], places[-1] + 1
    if not isinstance(base.shape, tuple) or len(parts) > len(base.shape):
        return None
    if places != list(range(first, last)) or any(parts[i] in _KEEPING for i in places):
        return None
    taken = Kind("number", "int", ())
    for part, kind in zip(parts[first:last], kinds[first:last], strict=True):
        if kind.dtype == "bool" and kind.form == "array" and kind.rank == 1:
            kind = Kind("array", "int", (_count(part),))
        if kind.dtype != "int" or not isinstance(kind.shape, tuple):
            return None
        taken = broadcast(taken, kind)
    if not isinstance(taken.shape, tuple) or not taken.shape:
        return None
    around = [
        sliced(base.shape[i], p, kind_of) for i, p in enumerate(parts) if isinstance(p, ir.Slice)
    ]
    return (*around[:first], *taken.shape, *around[first:], *base.shape[len(parts) :])


def _taken(part: ir.Expr, kind: Kind, kind_of: KindOf) -> tuple[tuple[Dim, ...], int] | None:
    """The sizes of what one list or array of places selects, and of how many axes; None where
    that is not known."""
    if isinstance(part, ir.Display) and part.form == "list" and part.items:
        whole = all(kind_of(item).integer for item in part.items)
        return ((len(part.items),), 1) if whole else None
    if kind.form != "array" or not isinstance(kind.shape, tuple) or not kind.shape:
        return None
    if kind.dtype == "bool":
        return (_count(part),), len(kind.shape)
    return (kind.shape, 1) if kind.dtype == "int" else None


def _count(mask: ir.Expr) -> Dim:
    """How many entries a mask selects: a name for it where the mask has one for what it is."""
    text = _mask_text(mask)
    return None if text is None else f"count[{text}]"


def _mask_text(mask: ir.Expr) -> str | None:
    match mask:
        case ir.Var(name):
            return name if NUMBERED in name else None
        case ir.Call(ir.Ref(text=text, obj=np.ufunc() | operator.invert | operator.and_), args, ()):
            texts = [_mask_text(arg) for arg in args]
            return None if None in texts else f"({text} {' '.join(map(str, texts))})"
    return None


def _basic_dims(base: Kind, parts: tuple[ir.Expr, ...], kind_of: KindOf) -> tuple[Dim, ...] | None:
    """Dimensions after integers drop theirs, slices keep one, None adds one."""
    if not isinstance(base.shape, tuple):
        return None
    rank = len(base.shape)
    consuming = [p for p in parts if p not in _KEEPING]
    if len(consuming) > rank:
        return None
    dims: list[Dim] = []
    axis = 0
    for part in parts:
        if part == ir.Const(...):
            skipped = rank - len(consuming)
            dims.extend(base.shape[axis : axis + skipped])
            axis += skipped
        elif part == ir.Const(None):
            dims.append(1)
        else:
            if isinstance(part, ir.Slice):
                dims.append(sliced(base.shape[axis], part, kind_of))
            elif kind_of(part).cls is slice:
                dims.append(None)
            axis += 1
    return (*dims, *base.shape[axis:])


# ------------------------------------------------------------------------ sizes of slices


def sliced(size: Dim, part: ir.Slice, kind_of: KindOf | None = None) -> Dim:
    """The size that a slice leaves of an axis; None where a bound is neither a literal nor made
    of names that stand for one number each.

    >>> sliced("n", ir.Slice(ir.Const(1), ir.Const(-1))), sliced("n", ir.Slice(ir.Const(2)))
    ('n-2', 'n-2')
    >>> sliced("n", ir.Slice(None, ir.Var("i@2"))), sliced("n", ir.Slice(None, ir.Var("i")))
    ('n[:i@2:]', None)
    """
    bounds = _literal_bounds(part)
    if part == ir.Slice():
        return size
    if size is None or size == MANY:
        return None
    if bounds is None:
        window = None if kind_of is None else _window(size, part, kind_of)
        if window is not None:
            return window
        texts = [bound_text(bound) for bound in (part.lower, part.upper, part.step)]
        return None if None in texts else f"{size}[{':'.join(map(str, texts))}]"
    if isinstance(size, int):
        return len(range(size)[slice(*bounds)])
    lower, upper, step = bounds
    if step in (1, -1) and lower is None and upper is None:
        return size
    dropped = _dropped(bounds)
    if dropped is None:
        return f"{size}[{':'.join('' if b is None else str(b) for b in bounds)}]"
    summed = _terms_of(size) if _SUM.fullmatch(size) else None
    if summed is not None:  # (of n + 2, dropping 1 leaves n + 1, and dropping 3 what `x[1:]` has)
        left = _plus(summed, {"": dropped}, -1)
        if _is_size(left) or [count for name, count in left.items() if name] == [1]:
            return _size_of(left)
    # max(max(n - 2, 0) - 1, 0) is max(n - 3, 0): what is dropped adds up.
    known = TRIMMED.fullmatch(size)
    if known is None:
        return f"{size}-{dropped}" if dropped else size
    return f"{known['whole']}-{int(known['count']) + dropped}"


def _window(size: Dim, part: ir.Slice, kind_of: KindOf) -> Dim:
    """The size of `x[k : n]`, where k and n are sizes, and of `x[i : i + n - 2]`, where n is that
    of the axis and a loop counts i up to 2: that of `x[2:]`, at whatever place."""
    whole, start = _terms_of(size), _terms(part.lower or ir.Const(0), kind_of)
    end = whole if part.upper is None else _terms(part.upper, kind_of)
    if end is None and start is not None:
        extent = _extent(part, kind_of)
        end = None if extent is None else _plus(start, extent, 1)
    if whole is None or start is None or end is None or part.step is not None:
        return None
    length, least, most = _plus(end, start, -1), start, start
    counted = [name for name in start if name.startswith(_COUNTED)]
    if any(name.startswith(_COUNTED) for name in length) or len(counted) > 1:
        return None  # (another one in each round)
    for name in counted:
        rounds = _terms_of(kind_of(ir.Var(name.removeprefix(_COUNTED))).below)
        if rounds is None or abs(start[name]) != 1:
            return None
        rest = {other: count for other, count in start.items() if other != name}
        ends = (rest, _plus(rest, _plus(rounds, {"": 1}, -1), start[name]))
        least, most = ends if start[name] > 0 else ends[::-1]
    # (It ends within the axis where no less is cut off than stands before the last place.)
    room = _plus(_plus(whole, length, -1), most, -1)
    return _size_of(length) if _is_size(least) and _is_size(room) else None


def _extent(part: ir.Slice, kind_of: KindOf) -> dict[str, int] | None:
    """How many entries `x[i : i + y.shape[0]]` or `x[: y.shape[0]]` asks for, as a sum. (Where
    that is negative, `y` has no entries, and no more are selected.)"""
    match part:
        case ir.Slice(None, size, None) if size is not None:
            pass
        case ir.Slice(lower, ir.Call(ir.Ref(obj=operator.add), (a, b), ()), None):
            if lower not in (a, b):
                return None
            size = b if lower == a else a
        case _:
            return None
    kind = kind_of(size)
    spelled = kind.spells if kind.integer else None
    return _terms_of(spelled) if isinstance(spelled, str) else None


def places(bounds: Sequence[ir.Expr], kind_of: KindOf) -> Dim:
    """How many integers `np.arange(*bounds)` gives; None where that has no name.

    Sizes are what they say where that is not negative, and 0 elsewhere, as here.
    """
    zero, one = ir.Const(0), ir.Const(1)
    start, stop, step = (zero, *bounds, one) if len(bounds) == 1 else (*bounds, one)[:3]
    first, last = _terms(start, kind_of), _terms(stop, kind_of)
    if first is None or last is None or not is_literal(step) or literal(step) not in (1, -1):
        return None
    if any(name.startswith(_COUNTED) for name in (*first, *last)):
        return None
    return _size_of(_plus(last, first, -1) if literal(step) == 1 else _plus(first, last, -1))


def _is_size(terms: Mapping[str, int]) -> bool:
    """Whether a sum of sizes is surely not negative."""
    return all(n >= 0 and not (n and name.endswith(INTEGER)) for name, n in terms.items())


def total_size(sign: int, a: Shape | Dim, b: Shape | Dim) -> Dim:
    """What a sum or difference of two integers spells.

    >>> total_size(-1, "x.0!", 2), total_size(1, total_size(-1, "x.0!", "k.0!"), 1)
    ('=x.0!-2', '=(+k.0!*-1+x.0!*1+1)')
    >>> total_size(1, "x.0!-2", 2)  # (of `x[2:]`: 2 where x has no entry)
    """
    first, second = _summands(a), _summands(b)
    total = None if first is None or second is None else _size_of(_plus(first, second, sign))
    plain = not isinstance(total, str) or _NAMED_SIZE.fullmatch(total)
    return total if plain else f"{EXACT}{total}"


def longer(size: Dim, count: int) -> Dim:
    """The size of an axis to which entries are added.

    >>> longer("x.0!", 2), sliced(longer("x.0!", 2), ir.Slice(ir.Const(1), ir.Const(-1)))
    ('(+x.0!*1+2)', 'x.0!')
    """
    terms = _summands(size)
    return None if terms is None else _size_of(_plus(terms, {"": count}, 1))


def _summands(spells: Shape | Dim) -> dict[str, int] | None:
    """What an integer is the sum of; None of what is the size of a slice, which is 0 where that
    sum is negative."""
    if isinstance(spells, str) and not _NAMED_SIZE.fullmatch(spells):
        return _terms_of(spells.removeprefix(EXACT)) if spells.startswith(EXACT) else None
    return None if isinstance(spells, tuple) else _terms_of(spells)


def _terms(expr: ir.Expr, kind_of: KindOf) -> dict[str, int] | None:
    """An integer as a sum: how often each size, or what a loop counts, stands in it, by "" the
    number; None of another form."""
    match expr:
        case ir.Call(ir.Ref(obj=operator.add | operator.sub as obj), (a, b), ()):
            first, second = _terms(a, kind_of), _terms(b, kind_of)
            if first is None or second is None:
                return None
            return _plus(first, second, 1 if obj is operator.add else -1)
        case ir.Const() | ir.Call(ir.Ref(obj=operator.neg)) if is_literal(expr):
            value = literal(expr)
            return {"": value} if type(value) is int else None
    kind = kind_of(expr)
    if kind.integer and isinstance(expr, ir.Var) and kind.below is not None:
        return {_COUNTED + expr.name: 1}
    return _summands(kind.spells) if kind.integer else None


_COUNTED = "round "  # before the name of what a loop counts
_NAMED_SIZE = re.compile(r"[\w.@]+!?")
_SUM = re.compile(r"\((?P<terms>(\+[\w.@]+!?\*-?\d+)+)(?P<number>[+-]\d+)?\)")


def _terms_of(size: Dim) -> dict[str, int] | None:
    """A size as such a sum."""
    if size is None or isinstance(size, int):
        return None if size is None else {"": size}
    if size != MANY and _NAMED_SIZE.fullmatch(size):
        return {size: 1}
    trimmed, summed = TRIMMED.fullmatch(size), _SUM.fullmatch(size)
    if summed is not None:
        parts = (term.split("*") for term in summed["terms"][1:].split("+"))
        return {**{name: int(count) for name, count in parts}, "": int(summed["number"] or 0)}
    if trimmed is not None and _NAMED_SIZE.fullmatch(trimmed["whole"]):
        return {trimmed["whole"]: 1, "": -int(trimmed["count"])}
    return None


def _size_of(terms: Mapping[str, int]) -> Dim:
    """The size that a sum is; None where that is negative."""
    number = terms.get("", 0)
    named = {name: count for name, count in sorted(terms.items()) if name and count}
    if not named:
        return number if number >= 0 else None
    if [*named.values()] == [1] and number <= 0:
        (name,) = named
        return f"{name}-{-number}" if number else name
    texts = "".join(f"+{name}*{count}" for name, count in named.items())
    return f"({texts}{number:+d})" if number else f"({texts})"


def _plus(a: Mapping[str, int], b: Mapping[str, int], times: int) -> dict[str, int]:
    names = {*a, *b}
    total = {name: a.get(name, 0) + times * b.get(name, 0) for name in names}
    return {name: count for name, count in total.items() if count}


def bound_text(bound: ir.Expr | None) -> str | None:
    """The text of a bound of a slice, which says what number it is; None where none does.

    >>> bound_text(ir.Call(ir.Ref("-", operator.sub), (ir.Var("i@2"), ir.Const(1))))
    '(- i@2 1)'
    """
    match bound:
        case None:
            return ""
        case ir.Var(name):
            return name if NUMBERED in name else None
        case ir.Const(value):
            return str(value) if type(value) is int else None
        case ir.Call(ir.Ref(text=sign, obj=obj), args, ()) if obj in _WHOLE:
            texts = [bound_text(arg) for arg in args]
            return None if None in texts else f"({sign} {' '.join(map(str, texts))})"
    return None


def _dropped(bounds: tuple[int | None, int | None, int]) -> int | None:
    """How many entries `[lower:upper]` drops, if it leaves max(n - that, 0) of any n.

    So it does when it counts the lower bound from the start and the upper one from the end.
    """
    lower, upper, step = bounds
    if step != 1 or (lower or 0) < 0 or (upper is not None and upper >= 0):
        return None
    return (lower or 0) - (upper or 0)


def _literal_bounds(part: ir.Slice) -> tuple[int | None, int | None, int] | None:
    bounds = [ir.Const(None) if p is None else p for p in (part.lower, part.upper, part.step)]
    if not all(map(is_literal, bounds)):
        return None
    lower, upper, step = map(literal, bounds)
    return lower, upper, 1 if step is None else step


def _token(base: Kind, parts: tuple[ir.Expr, ...]) -> str | None:
    """A name for the shape of `base[parts]` where only a name for that of `base` is known.

    >>> _token(Kind("array", "float", "a"), (ir.Slice(ir.Const(1)), ir.Var("i")))
    'a[-1,i]'
    """
    if not isinstance(base.shape, str):
        return None
    texts = []
    for part in parts:
        if isinstance(part, ir.Slice):
            size = sliced("n", part)
            if not isinstance(size, str):
                return None
            texts.append(size[1:] or ":")
        else:
            texts.append(_KEEPING.get(part, "i"))
    if all(text in (":", "...") for text in texts):
        return base.shape
    return f"{base.shape}[{','.join(texts)}]"
