"""The arrays that a call of NumPy writes its result into: `out=`, by name or by position.

What such a call returns is the array that was given. Whoever asks what a call writes, what its
result shares memory with, or of which kind it is, asks here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .. import ir
from ..frontend.owners import is_numpy
from ..ir.kind import UNKNOWN, Kind
from ..runtime.records import attribute_of
from .operations import GENERATORS, is_python_function

# Where methods, and functions whose signature cannot be read, take `out`.
_METHOD = (
    dict.fromkeys(("max", "min", "all", "any", "argmax", "argmin", "dot", "round", "choose"), 1)
    | dict.fromkeys(("sum", "mean", "prod", "std", "var", "cumsum", "cumprod", "take", "clip"), 2)
    | {"compress": 2, "trace": 4, "ptp": 1}
)
_FUNCTION = {np.dot: 2, np.concatenate: 2, np.where: None, np.putmask: None}
_UFUNC_METHOD = {"reduce": 3, "accumulate": 3, "reduceat": 4}
# The same for methods of random generators, and where they take `size`.
_DRAWING = {"random": 2, "standard_normal": 2, "standard_exponential": 3, "standard_gamma": 3}
_SIZE = {"random": 0, "standard_normal": 0, "standard_exponential": 0, "standard_gamma": 1}
_CALLED_ON = ("array", "value", "number", "unknown")  # what may be an array


def out_position(obj: Any) -> int | None:
    """The position at which a NumPy function takes `out`; None where it takes none.

    >>> out_position(np.cumsum), out_position(np.add), out_position(np.reshape), out_position(len)
    (3, 2, None, None)
    """
    known = is_numpy(obj) or isinstance(attribute_of(obj, "__self__", None), np.ufunc)
    owner = attribute_of(obj, "__objclass__", None)
    if owner is np.ndarray:  # `np.ndarray.clip(x, 0, 1, out)`
        at = _METHOD.get(obj.__name__)
        return None if at is None else at + 1
    return _out_position(obj) if known else None


@functools.lru_cache(maxsize=1024)
def _out_position(obj: Any) -> int | None:
    if isinstance(obj, np.ufunc):
        return obj.nin
    if isinstance(attribute_of(obj, "__self__", None), np.ufunc):
        return _UFUNC_METHOD.get(obj.__name__)
    if obj in _FUNCTION:
        return _FUNCTION.get(obj)
    try:
        params = list(inspect.signature(obj).parameters.values())
    except (TypeError, ValueError):
        return None
    for position, param in enumerate(params):
        if param.name == "out" and param.kind is not inspect.Parameter.KEYWORD_ONLY:
            return position
    return None


def outputs(call: ir.Call, kinds: Mapping[str, Kind]) -> tuple[ir.Expr, ...]:
    """What a call writes its result into, `None` left out; of starred arguments, all that they
    may hold.

    >>> x, out = ir.Var("x"), ir.Var("out")
    >>> outputs(ir.Call(ir.Ref("np.sin", np.sin), (x, out)), {})
    (Var(name='out'),)
    >>> outputs(ir.Call(ir.Ref("np.sin", np.sin), (x,), (("out", out),)), {})
    (Var(name='out'),)
    """
    if not call.args and not call.kwargs:
        return ()
    if isinstance(call.fn, ir.Ref):
        at, is_read = _of_function(call.fn)
        if is_read:
            return ()  # (a user's parameter `out` is like any other)
        if call.fn.obj is np.nan_to_num:
            call = with_output_named(call)
    else:
        at = position_of_output(call.fn, kinds)
    given = [value for name, value in call.kwargs if name == "out"]
    if at is not None and (len(call.args) > at or any(map(ir.is_starred, call.args))):
        given += call.args[at:]
        given += [arg for arg in call.args[:at] if ir.is_starred(arg)]
    if not given:
        return ()
    found: list[ir.Expr] = []
    for expr in given:
        found += expr.items if isinstance(expr, ir.Display) else (expr,)
    return tuple(expr for expr in found if not isinstance(expr, ir.Const))


@ir.of_node
def _of_function(fn: ir.Ref) -> tuple[int | None, bool]:
    """Where a function takes `out`, and whether it is one of the user's."""
    return out_position(fn.obj), is_python_function(fn.obj)


def with_output_named(call: ir.Call) -> ir.Call:
    """`np.nan_to_num(x, copy=False, nan=v)` as `np.nan_to_num(x, nan=v, out=x)`, which it is where
    x is an array; any other call as it is.

    >>> x = ir.Var("x")
    >>> with_output_named(ir.Call(ir.Ref("f", np.nan_to_num), (x, ir.Const(False)))).kwargs
    (('out', Var(name='x')),)
    """
    if not isinstance(call.fn, ir.Ref) or call.fn.obj is not np.nan_to_num or not call.args:
        return call
    x, *given = call.args
    options = dict(zip(("copy", "nan", "posinf", "neginf"), given, strict=False))
    options |= dict(call.kwargs)
    if options.pop("copy", ir.Const(True)) != ir.Const(False):
        return call
    return replace(call, args=(x,), kwargs=(*options.items(), ("out", x)))


def position_of_output(fn: ir.Expr, kinds: Mapping[str, Kind]) -> int | None:
    """The position at which what is called takes `out`, as far as its class is known."""
    match fn:
        case ir.Ref(obj=obj):
            return out_position(obj)
        case ir.Attribute(ir.Ref(obj=np.ufunc() as ufunc), name):
            return out_position(getattr(ufunc, name, None))
        case ir.Attribute(_, name) if draws(fn, kinds):
            return _DRAWING[name]
        case ir.Attribute(ir.Var(base), name):
            return _METHOD.get(name) if kinds.get(base, UNKNOWN).form in _CALLED_ON else None
    return None


def draws(fn: ir.Expr, kinds: Mapping[str, Kind]) -> bool:
    """Whether a method that takes `out` is that of a random generator (by its name, where the
    class is not known: arrays have no such methods)."""
    match fn:
        case ir.Attribute(ir.Ref(obj=owner), name):
            return name in _DRAWING and isinstance(owner, GENERATORS)
        case ir.Attribute(ir.Var(base), name):
            kind = kinds.get(base, UNKNOWN)
            return name in _DRAWING and (kind.cls in GENERATORS or kind.form == "unknown")
    return False


def with_size(call: ir.Call, out: ir.Expr) -> ir.Call:
    """A call of a method that draws as many numbers as its output takes: `rng.random(out=y)` ->
    `rng.random(size=y.shape, out=y)`.

    >>> rng, y = ir.Ref("rng", np.random.default_rng()), ir.Var("y")
    >>> with_size(ir.Call(ir.Attribute(rng, "random"), (), (("out", y),)), y).kwargs[0]
    ('size', Attribute(base=Var(name='y'), name='shape'))
    """
    assert isinstance(call.fn, ir.Attribute)
    size, at = ir.Attribute(out, "shape"), _SIZE[call.fn.name]
    if len(call.args) > at:
        return replace(call, args=(*call.args[:at], size, *call.args[at + 1 :]))
    others = tuple((name, value) for name, value in call.kwargs if name != "size")
    return replace(call, kwargs=(("size", size), *others))


def output_kind(call: ir.Call, kinds: Mapping[str, Kind]) -> Kind | None:
    """What is known of the result of a call that writes it into its arguments; None for others.

    >>> call = ir.Call(ir.Ref("np.sum", np.sum), (ir.Var("x"),), (("out", ir.Var("y")),))
    >>> output_kind(call, {"y": Kind("array", "float", ())}).form  # (and no number)
    'array'
    """
    written = outputs(call, kinds)
    if not written:
        return None
    if any(map(ir.is_starred, written)):
        return UNKNOWN
    found = [kinds.get(e.name, UNKNOWN) if isinstance(e, ir.Var) else UNKNOWN for e in written]
    if len(found) == 1 and found[0].form == "tuple":
        found = list(found[0].items or (UNKNOWN,))
    if len(found) > 1:
        return Kind("tuple", items=tuple(found))
    several = isinstance(call.fn, ir.Ref) and getattr(call.fn.obj, "nout", 1) > 1
    return UNKNOWN if several else _written(found[0])


def _written(kind: Kind) -> Kind:
    """The kind of what can be written, or of a new result where it turns out to be None."""
    return kind if kind.form == "array" else Kind("value", kind.dtype)
