"""Kinds of results: what `rule(kind=...)` says of an operation's value.

Each is a function of a call and of `kind_of`, which tells the kinds of its arguments. The
call arrives in the form of a function call: the receiver of a method is its first argument.
All claims hold in every run; what is not sure is left open.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import ir
from ..frontend.owners import is_numerical
from ..ir.kind import BOOL, FLOAT, INT, MANY, OTHER, SET, UNKNOWN, Dim, Kind, Shape, is_many
from .book import KindOf, ResultKind
from .decisions import is_literal, literal

_MISSING = object()
_MOST_JOINED = 4  # sizes that one is the broadcast of
_NUMERIC = ("number", "array", "value")

# What `np.gradient` and `np.meshgrid` give several arrays in (a list before NumPy 2).
SEQUENCE = "list" if np.lib.NumpyVersion(np.__version__) < "2.0.0" else "tuple"


def argument(call: ir.Call, place: int, name: str, default: Any = None) -> ir.Expr | None:
    """The actual argument at a position or of a name; `default` as a literal if absent."""
    if place < len(call.args):
        return call.args[place]
    for key, value in call.kwargs:
        if key == name:
            return value
    return default if isinstance(default, ir.Expr.__args__) else ir.Const(default)


def operand(call: ir.Call, expr: ir.Expr, kind_of: KindOf) -> Kind:
    """The kind of an operand as an operation sees it: NumPy makes an array of a list. (Methods of
    lists have names that those of arrays have, too.)"""
    kind, obj = kind_of(expr), getattr(call.fn, "obj", None)
    if kind.form not in ("list", "tuple") or isinstance(obj, _METHOD) or not is_numerical(obj):
        return kind
    return Kind("array")


_METHOD = type(np.ndarray.copy)

# -------------------------------------------------------------------------- constants


def number(call: ir.Call, kind_of: KindOf) -> Kind:
    """A Python or NumPy scalar (float)."""
    return FLOAT


def any_number(call: ir.Call, kind_of: KindOf) -> Kind:
    """A Python or NumPy scalar of any class."""
    return Kind("number", "?", ())


def integer(call: ir.Call, kind_of: KindOf) -> Kind:
    """An integer."""
    return INT


def boolean(call: ir.Call, kind_of: KindOf) -> Kind:
    """A truth value."""
    return BOOL


def other(call: ir.Call, kind_of: KindOf) -> Kind:
    """Something that is not a number: a shape, a string, None."""
    return OTHER


def list_of_others(call: ir.Call, kind_of: KindOf) -> Kind:
    """A list of what is not a number: strings."""
    return Kind("list", item=OTHER)


def unknown(call: ir.Call, kind_of: KindOf) -> Kind:
    """Anything."""
    return UNKNOWN


def array_of_rank(rank: int | None, dtype: str = "float") -> ResultKind:
    """An array of a known number of dimensions."""
    shape: Shape = None if rank is None else (None,) * rank
    return lambda call, kind_of: Kind("array", dtype, shape)


# ----------------------------------------------------------------------- elementwise


def elementwise(call: ir.Call, kind_of: KindOf) -> Kind:
    """Broadcasting of all arguments, with the promoted dtype; None and strings set aside."""
    args = (*call.args, *dict(call.kwargs).values())
    kinds = [operand(call, arg, kind_of) for arg in args]
    kinds = [kind for kind in kinds if kind.form != "other"]
    if not kinds:
        return UNKNOWN
    found = kinds[0]
    for kind in kinds[1:]:
        found = broadcast(found, kind)
    if found.form in ("list", "tuple", "set"):
        return found
    obj = call.fn.obj if isinstance(call.fn, ir.Ref) else None
    if len(kinds) == 1 and _gives_numbers(obj) and found.form in ("array", "value"):
        found = Kind(_ufunc_form(found), found.dtype, found.shape)
    elif found.rank == 0 and getattr(obj, "__module__", "") == operator.add.__module__:
        found = Kind("number", found.dtype, ())  # (of arrays without axes, too)
    if found.dtype in ("int", "bool") and _makes_float(obj):
        return Kind(found.form, "float", found.shape)
    if found.dtype == "bool" and not (isinstance(obj, np.ufunc) and _of_truth(obj)):
        return Kind(found.form, "int", found.shape)
    return found


def power(call: ir.Call, kind_of: KindOf) -> Kind:
    """Elementwise; a negative number to a fractional power is complex, as Python has it."""
    found = elementwise(call, kind_of)
    obj = call.fn.obj if isinstance(call.fn, ir.Ref) else None
    if found.form == "array" or found.dtype != "float" or isinstance(obj, np.ufunc):
        return found
    exponent = call.args[1] if len(call.args) > 1 else None
    if isinstance(exponent, ir.Const) and isinstance(exponent.value, (int, float)):
        whole = float(exponent.value).is_integer()
    else:
        whole = exponent is not None and kind_of(exponent).dtype in ("int", "bool")
    return found if whole else replace(found, dtype="?")


def _gives_numbers(obj: Any) -> bool:
    """Whether an operation gives NumPy's scalars for arrays of rank 0: ufuncs, and what is made of
    them."""
    return isinstance(obj, np.ufunc) or any(obj is known for known in _MADE_OF_UFUNCS)


_MADE_OF_UFUNCS = (
    *(np.sinc, np.angle, np.nan_to_num, np.clip, np.ndarray.clip, np.round, np.around, np.fix),
    *(np.ndarray.round, abs),
)


def scalar_or_array(call: ir.Call, kind_of: KindOf) -> Kind:
    """That of the first argument, whose entry it is where that has rank 0: `np.flip`."""
    found = first(call, kind_of)
    return replace(found, form=_ufunc_form(found)) if found.form in _NUMERIC else found


def _ufunc_form(kind: Kind) -> str:
    # A ufunc turns a 0-d array into a NumPy scalar.
    if kind.form == "array" and kind.rank is not None and kind.rank > 0:
        return "array"
    return "value" if kind.rank != 0 else "number"


def _makes_float(obj: Any) -> bool:
    if obj in (operator.truediv, operator.itruediv):
        return True
    if isinstance(obj, np.ufunc):
        return "l->l" not in obj.types and "ll->l" not in obj.types
    return False


def _of_truth(ufunc: np.ufunc) -> bool:
    """Whether a ufunc makes truth values of truth values."""
    return f"{'?' * ufunc.nin}->?" in ufunc.types


def floating(kind: Kind) -> Kind:
    """What is real where this kind, or a part of it, says that it is an integer."""
    dtype = "float" if kind.dtype in ("int", "bool") else kind.dtype
    items = None if kind.items is None else tuple(map(floating, kind.items))
    return (
        kind
        if (dtype, items) == (kind.dtype, kind.items)
        else replace(kind, dtype=dtype, items=items)
    )


def float_elementwise(call: ir.Call, kind_of: KindOf) -> Kind:
    """Elementwise, and real whatever the arguments are (`abs`, `np.real`)."""
    kind = elementwise(call, kind_of)
    dtype = "float" if kind.dtype == "complex" else kind.dtype
    return Kind(kind.form, dtype, kind.shape)


def comparison(call: ir.Call, kind_of: KindOf) -> Kind:
    """Elementwise truth values."""
    kind = elementwise(call, kind_of)
    if kind.form not in _NUMERIC:
        return UNKNOWN
    return Kind(_ufunc_form(kind) if kind.form == "array" else kind.form, "bool", kind.shape)


def integer_elementwise(call: ir.Call, kind_of: KindOf) -> Kind:
    """Elementwise on integers or truth values (`&`, `|`, `<<`)."""
    kind = elementwise(call, kind_of)
    if kind.form not in _NUMERIC:
        return kind if kind.form == "set" else UNKNOWN
    dtypes = {kind_of(arg).dtype for arg in call.args}
    dtype = "bool" if dtypes == {"bool"} else "int"
    return Kind(kind.form, dtype, kind.shape)


def broadcast(a: Kind, b: Kind) -> Kind:
    """The kind of an elementwise operation of two values."""
    if a.form not in _NUMERIC or b.form not in _NUMERIC:
        if a.form == b.form and a.form in ("list", "tuple"):
            return Kind(a.form)
        if "set" in (a.form, b.form):
            return SET
        if "array" in (a.form, b.form):
            return Kind("array", promote(a.dtype, b.dtype))
        return UNKNOWN
    dtype = promote(a.dtype, b.dtype)
    if a.form == b.form == "number":
        return Kind("number", dtype, ())
    shape = broadcast_shapes(a, b)
    if shape is None and (a.grown is not None or b.grown is not None):
        return _with_grown(a, b, dtype)
    if "array" in (a.form, b.form):
        # Two 0-d arrays give a NumPy scalar.
        sure = any(k.form == "array" and k.rank is not None and k.rank > 0 for k in (a, b))
        return Kind("array" if sure else "value", dtype, shape)
    return Kind("value", dtype, shape)


def _with_grown(a: Kind, b: Kind, dtype: str) -> Kind:
    """The same where one began as a number: an array as large as what it grows to is the whole."""
    begun, other = (a, b) if a.grown is not None else (b, a)
    grown = Kind("array", shape=begun.grown)
    if other.form == "array" and other.spans(grown) and grown.spans(other):
        return Kind("array", dtype, other.shape)
    if "array" in (a.form, b.form):
        return Kind("array" if other.rank else "value", dtype)
    alike = other.form == "number" or other.grown == begun.grown
    return Kind("value", dtype, grown=begun.grown if alike else None)


def promote(a: str, b: str) -> str:
    """The dtype class of an arithmetic result."""
    if "complex" in (a, b):
        return "complex"
    if "?" in (a, b):
        return "?"
    if "float" in (a, b):
        return "float"
    return "int"


def broadcast_shapes(a: Kind, b: Kind) -> Shape:
    """The shape of an elementwise result, as far as it is known."""
    if a.form == "number":
        return b.shape
    if b.form == "number":
        return a.shape
    if a.shape is not None and a.shape == b.shape:
        return a.shape
    if not isinstance(a.shape, tuple) or not isinstance(b.shape, tuple):
        return None
    rank = max(len(a.shape), len(b.shape))
    left = (1,) * (rank - len(a.shape)) + a.shape
    right = (1,) * (rank - len(b.shape)) + b.shape
    return tuple(_broadcast_dim(m, n) for m, n in zip(left, right, strict=True))


def _broadcast_dim(m: Dim, n: Dim) -> Dim:
    if m == 1 or m == n:
        return n
    if n == 1:
        return m
    # A size that is not 1 survives whatever it meets.
    known = [d for d in (m, n) if is_many(d)]
    if known:
        return min(known, key=lambda d: (isinstance(d, str), d == MANY, str(d)))
    if not isinstance(m, str) or not isinstance(n, str):
        return None
    return _joined_size(m, n)


def _joined_size(m: str, n: str) -> Dim:
    """A name for the size that two sizes broadcast to, in whatever order they meet.

    >>> _joined_size("(b&c)", "a-1"), _joined_size("b", "(b&c)")
    ('(a-1&b&c)', '(b&c)')
    """
    sizes = {size for joined in (m, n) for size in _sizes_joined(joined)}
    return f"({'&'.join(sorted(sizes))})" if len(sizes) <= _MOST_JOINED else None


def _sizes_joined(size: str) -> list[str]:
    """The sizes that a name of `_joined_size` joins (a size made from one stays whole)."""
    inner = size[1:-1]
    whole = size.startswith("(") and size.endswith(")") and not set("()") & set(inner)
    return inner.split("&") if whole else [size]


# ------------------------------------------------------------------------- structure


def same_as(place: int) -> ResultKind:
    """The kind of one argument, unchanged."""

    def kind(call: ir.Call, kind_of: KindOf) -> Kind:
        given = call.args[place] if place < len(call.args) else ir.Const(None)
        return operand(call, given, kind_of)

    return kind


def promoted(place: int) -> ResultKind:
    """The form and shape of one argument, with a class that all of them decide."""

    def kind(call: ir.Call, kind_of: KindOf) -> Kind:
        found = argument(call, place, "")
        if found is None:
            return UNKNOWN
        dtypes = [k.dtype for k in map(kind_of, call.args) if not k.discrete]
        dtype = functools.reduce(promote, dtypes) if dtypes else "?"
        return replace(operand(call, found, kind_of), dtype=dtype)

    return kind


first = same_as(0)


def perhaps_complex(call: ir.Call, kind_of: KindOf) -> Kind:
    """The kind of the first argument, complex perhaps where that is real (`sqrtm`)."""
    kind = first(call, kind_of)
    return kind if kind.dtype == "complex" else replace(kind, dtype="?")


def reduction(call: ir.Call, kind_of: KindOf) -> Kind:
    """`f(x, axis=None, keepdims=False)`: a number, or an array of lower rank."""
    kind = kind_of(call.args[0]) if call.args else UNKNOWN
    axis = argument(call, 1, "axis")
    keepdims = argument(call, len(call.args), "keepdims", False)
    dtype = "int" if kind.dtype == "bool" else kind.dtype
    if len(call.args) > 2 or "dtype" in dict(call.kwargs):  # (the third is that, or `out`)
        dtype = dtype_class(argument(call, 2, "dtype"), dtype)
    left: tuple[Dim, ...]
    keep = literal(keepdims) if keepdims is not None and is_literal(keepdims) else None
    keywords = dict(call.kwargs).get("out", ir.Const(None))  # (an array, also where it has rank 0)
    if axis is None or keep is None or keywords != ir.Const(None):
        return Kind("value", dtype)
    if not is_literal(axis):
        if not kind.rank or not kind_of(axis).integer:
            return Kind("value", dtype)
        left = (None,) * (kind.rank if keep else kind.rank - 1)
        return Kind("array" if left else "number", dtype, left)
    where = literal(axis)
    if where is None and not keep:
        return Kind("number", dtype, ())
    if kind.rank is None:
        # Reductions of equal shapes over the same axes leave equal shapes.
        token = f"{kind.shape}/{where}{'k' if keep else ''}"
        return Kind("value", dtype, token if isinstance(kind.shape, str) else None)
    axes = tuple(range(kind.rank)) if where is None else where
    axes = axes if isinstance(axes, tuple) else (axes,)
    shape = kind.shape if isinstance(kind.shape, tuple) else (None,) * kind.rank
    gone = {axis % kind.rank for axis in axes} if kind.rank else set()
    if keep:
        left = tuple(1 if i in gone else n for i, n in enumerate(shape))
    else:
        left = tuple(n for i, n in enumerate(shape) if i not in gone)
    return Kind("array" if left else "number", dtype, left)


def real_reduction(call: ir.Call, kind_of: KindOf) -> Kind:
    """A reduction that is real whatever the argument is (`np.std`)."""
    kind = reduction(call, kind_of)
    return replace(kind, dtype="float") if kind.dtype == "complex" else kind


def matmul(call: ir.Call, kind_of: KindOf) -> Kind:
    """`a @ b` by ranks; a product of two vectors is a number."""
    if len(call.args) < 2:
        return UNKNOWN
    a, b = kind_of(call.args[0]), kind_of(call.args[1])
    dtype = promote(a.dtype, b.dtype)
    m, n = a.rank, b.rank
    if m is None or n is None:
        # One operand with two dimensions or more leaves at least one dimension.
        return Kind("array" if max(m or 0, n or 0) > 1 else "value", dtype)
    left = a.shape if isinstance(a.shape, tuple) else (None,) * m
    right = b.shape if isinstance(b.shape, tuple) else (None,) * n
    if 0 in (m, n):
        return UNKNOWN  # an error when it runs
    if m == n == 1:
        return Kind("number", dtype, ())
    if m == 1:
        return Kind("array", dtype, right[:-2] + right[-1:])
    if n == 1:
        return Kind("array", dtype, left[:-1])
    stack = broadcast_shapes(
        Kind("array", "?", left[:-2] or ()), Kind("array", "?", right[:-2] or ())
    )
    head = stack if isinstance(stack, tuple) else (None,) * (max(m, n) - 2)
    return Kind("array", dtype, head + (left[-2], right[-1]))


def asked_of_values(result: ResultKind) -> ResultKind:
    """What NumPy leaves to its argument (`x.T`, `np.squeeze(x)`): of a NumPy scalar that gives a
    scalar, of a Python number an array of rank 0."""

    def kind(call: ir.Call, kind_of: KindOf) -> Kind:
        found = result(call, kind_of)
        given = kind_of(call.args[0]).form
        if given in ("number", "value") and found.form == "array" and not found.rank:
            return replace(found, form="value", shape=() if given == "number" else found.shape)
        return found

    return kind


def flattened(kind: Kind) -> Kind:
    """All entries in one axis. (Of sizes of which one is not 1 the product is not 1.)"""
    if not isinstance(kind.shape, tuple):
        return Kind("array", kind.dtype, (None,))
    if len(kind.shape) == 1:
        return Kind("array", kind.dtype, kind.shape)
    sizes = kind.shape
    whole: Dim = 1 if all(n == 1 for n in sizes) else MANY if any(map(is_many, sizes)) else None
    return Kind("array", kind.dtype, (whole,))


def equal_sizes(sizes: Iterable[Dim]) -> Dim:
    """A size that all of these are, since the operation asks for that."""
    known = [n for n in dict.fromkeys(sizes) if n is not None]
    known.sort(key=lambda n: (isinstance(n, str), not is_many(n), n == MANY, str(n)))
    return known[0] if known else None


def added_sizes(sizes: Sequence[Dim]) -> Dim:
    """The size of what is joined. (Sizes that are not 1 add up to one that is not.)"""
    if len(sizes) == 1:
        return sizes[0]
    if all(isinstance(n, int) for n in sizes):
        return sum(n for n in sizes if isinstance(n, int))
    return MANY if all(map(is_many, sizes)) else None


def common_dtype(kinds: Iterable[Kind]) -> str:
    """The dtype class of an array of values of these kinds."""
    dtypes = {kind.dtype for kind in kinds}
    return dtypes.pop() if len(dtypes) == 1 else functools.reduce(promote, sorted(dtypes), "bool")


@asked_of_values
def transpose(call: ir.Call, kind_of: KindOf) -> Kind:
    """All axes reversed (`x.T`, `np.transpose(x)`); only the rank where axes are given."""
    kind = kind_of(call.args[0])
    if kind.rank is None:
        return Kind("array", kind.dtype)
    shape = kind.shape if isinstance(kind.shape, tuple) else (None,) * kind.rank
    if len(call.args) > 1 or call.kwargs:
        return Kind("array", kind.dtype, (None,) * kind.rank)
    return Kind("array", kind.dtype, shape[::-1])


def shape_from_argument(
    place: int, name: str = "shape", dtype: str = "float", dtype_place: int = -1
) -> ResultKind:
    """An array whose shape is an argument: `np.zeros((n, 3))`.

    A `dtype` argument (at `dtype_place`, or by that name) decides the dtype.
    """

    def kind(call: ir.Call, kind_of: KindOf) -> Kind:
        shape = argument(call, place, name)
        given = argument(call, dtype_place if dtype_place >= 0 else len(call.args), "dtype")
        if holds_objects(given):
            return UNKNOWN
        return Kind("array", dtype_class(given, dtype), shape_given(shape, kind_of))

    return kind


def dtype_class(expr: ir.Expr | None, default: str = "?") -> str:
    """The dtype class an argument `dtype=` asks for."""
    if expr is None or expr == ir.Const(None):
        return default
    given = expr.value if isinstance(expr, ir.Const) else getattr(expr, "obj", _MISSING)
    if given is _MISSING:
        return "?"
    try:
        code = np.dtype(given).kind
    except TypeError:
        return "?"
    return {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}.get(code, "?")


def holds_objects(dtype: ir.Expr | None) -> bool:
    """Whether an argument `dtype=` asks for an array of objects, whose items are of any kind."""
    given = dtype.value if isinstance(dtype, ir.Const) else getattr(dtype, "obj", None)
    return given is object or given is np.object_ or given in ("O", "object")


def shape_given(expr: ir.Expr | None, kind_of: KindOf) -> Shape:
    """The shape that an argument asks for."""
    if isinstance(expr, ir.Display):
        return tuple(dim(item, kind_of) for item in expr.items)
    if expr is None:
        return None
    match expr:
        case ir.Attribute(base=base, name="shape"):
            return kind_of(base).shape
    known = kind_of(expr)
    if known.integer:
        return (dim(expr, kind_of),)
    if known.form == "tuple":
        if known.items is not None:
            return tuple(spelt_size(item) for item in known.items)
        return known.spells if isinstance(known.spells, str) else None
    return None


def dim(expr: ir.Expr, kind_of: KindOf) -> Dim:
    """The size that an integer spells: itself, or the symbol for `x.shape[0]`."""
    return spelt_size(kind_of(expr))


EXACT = "="  # before a sum that an integer is, also where no size is as small


def spelt_size(kind: Kind) -> Dim:
    """The same of a kind."""
    if isinstance(kind.spells, str) and kind.integer:
        return kind.spells.removeprefix(EXACT)
    return kind.spells if isinstance(kind.spells, int) and kind.integer else None
