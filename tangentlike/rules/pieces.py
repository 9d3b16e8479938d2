"""Calls spelled as the simpler ones they are: `np.piecewise` and `np.select` of lists that can
be seen, ufuncs told in which type to compute, and `np.einsum` of lists of axes.
"""

from __future__ import annotations

import dataclasses
import string
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ir
from ..ir.dataflow import Displays
from ..ir.names import Names

if TYPE_CHECKING:
    from ..frontend.lower import Lowered


def choices_spelled(lowered: Lowered) -> Lowered:
    """A lowered function without calls of `np.piecewise`, of `np.select`, and without `dtype=`
    of ufuncs.

    before::                                    after::
        y = np.piecewise(x, [m, n], [f, 0.5])       y = np.zeros_like(x)
                                                    x_m = x[m];  f_x = f(x_m);  y[m] = f_x
                                                    y[n] = 0.5
        y = np.select([m, n], [a, b], c)            other = np.where(n, b, c)
                                                    y = np.where(m, a, other)
        y = np.exp(x, dtype=np.float64)             x_cast = np.asarray(x, dtype=np.float64)
                                                    y = np.exp(x_cast)
        y = np.einsum(a, [0, 1], b, [1])            y = np.einsum("ab,b", a, b)
        p, q = np.atleast_1d(a, b)                  p = np.atleast_1d(a)
                                                    q = np.atleast_1d(b)

    A third function is for where no condition holds. Calls whose conditions or functions stand
    in lists that cannot be seen stay as they are.
    """
    if not any(map(_chooses, ir.statements(lowered.function.body))):
        return lowered
    speller = _Speller(lowered)
    body = ir.rewrite(lowered.function.body, after=speller.statement)
    return lowered.with_body(body, speller.made)


def _chooses(stmt: ir.Stmt) -> Any:
    """What a statement calls that is spelled otherwise: `np.piecewise`, `np.select`, or `np.ufunc`
    for what is told in which type to compute; else None."""
    match stmt:
        case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call) if (
            _given_dtype(call) is not None
        ):
            return np.ufunc
        case ir.Assign(value=ir.Call(ir.Ref(obj=obj), args=(ir.Var(), *_))) if obj is np.einsum:
            return obj
        case ir.Assign(value=ir.Call(ir.Ref(obj=obj), args=(_, _, *_) as args)) if any(
            obj is known for known in _AT_LEAST
        ) and not any(map(ir.is_starred, args)):
            return np.atleast_1d
        case ir.Assign(target=str(), value=ir.Call(ir.Ref(obj=obj), args=args, kwargs=kwargs)):
            if obj is np.piecewise and len(args) == 3 and not kwargs:
                return obj
            if obj is np.select and [word for word, _ in kwargs] in ([], ["default"]):
                return obj
    return None


_AT_LEAST = (np.atleast_1d, np.atleast_2d, np.atleast_3d)
_GIVES_TUPLES = isinstance(np.atleast_1d(0.0, 0.0), tuple)  # (lists, in older versions of NumPy)


def _computes_in_one_type(ufunc: np.ufunc) -> bool:
    """Whether arguments and results have the same float type (not so: `abs` of complex numbers)."""
    types = [kind.partition("->") for kind in ufunc.types]
    floats = [{*given, *made} for given, _, made in types if {*given} <= {*"efdgFDG"}]
    return bool(floats) and all(len(kinds) == 1 for kinds in floats)


# What casts its first argument to a given type before anything else, besides ufuncs.
_IN_ONE_TYPE = (
    *(np.prod, np.var, np.std, np.nansum, np.nanmean, np.nanprod, np.nanvar, np.nanstd),
    *(np.cumsum, np.cumprod, np.nancumsum, np.nancumprod),
    *(getattr(np, name, None) for name in ("cumulative_sum", "cumulative_prod")),
)
_METHODS_IN_ONE_TYPE = ("prod", "var", "std", "cumsum", "cumprod")


def _given_dtype(call: ir.Call) -> ir.Expr | None:
    """The type in which a ufunc, its method or a reduction is told to compute, or None."""
    match call.fn:
        case ir.Ref(obj=np.ufunc() as ufunc) if _computes_in_one_type(ufunc):
            place = len(call.args)  # (never among the positional arguments)
        case ir.Ref(obj=obj) if any(obj is known for known in _IN_ONE_TYPE if known):
            place = 2
        case ir.Attribute(ir.Ref(obj=np.ufunc() as ufunc), "reduce" | "accumulate" | "reduceat"):
            place = 3 if call.fn.name == "reduceat" else 2
        case ir.Attribute(ir.Var(), method) if method in _METHODS_IN_ONE_TYPE:
            place = 1
        case _:
            return None
    positional = call.args[place] if place < len(call.args) else ir.Const(None)
    told = dict(call.kwargs).get("dtype", positional)
    if told == ir.Const(None) or (_may_turn_complex(call, told) and "out" in dict(call.kwargs)):
        return None
    return told


def _may_turn_complex(call: ir.Call, dtype: ir.Expr) -> bool:
    """Whether a result that is real by itself may be told to be of a complex type."""
    return _is_spread(call.fn) and not _is_real(dtype)


def _is_spread(fn: ir.Expr) -> bool:
    """Whether it is a variance or a deviation."""
    spreads = (np.var, np.std, np.nanvar, np.nanstd)
    if isinstance(fn, ir.Attribute):
        return fn.name in ("var", "std")
    return isinstance(fn, ir.Ref) and any(fn.obj is known for known in spreads)


def _is_real(dtype: ir.Expr) -> bool:
    """Whether a type is known as a real one."""
    given = getattr(dtype, "obj", getattr(dtype, "value", None))
    try:
        return np.dtype(given).kind == "f"
    except TypeError:
        return False


class _Speller:
    def __init__(self, lowered: Lowered) -> None:
        every = list(ir.statements(lowered.function.body))
        used = [name for stmt in every for name in (*ir.binds(stmt), *ir.reads(stmt))]
        self.names = Names({*used, *lowered.function.param_names})
        self.made: frozenset[str] = frozenset()
        self.alias = lowered.scope.numpy_alias
        self.displays = Displays(lowered.function, lambda stmt: _chooses(stmt) is not None)
        self.lists: Mapping[str, tuple[ir.Expr, ...]] = {}

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        spellings = {
            np.piecewise: self.writes,
            np.select: self.wheres,
            np.ufunc: self.casts,
            np.einsum: self.subscripts,
            np.atleast_1d: self.each,
        }
        spelled = spellings.get(_chooses(stmt))
        if spelled is None:
            return None
        self.lists = self.displays.at(stmt)
        return spelled(stmt)

    def each(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
        call, target = stmt.value, stmt.target
        self.origin = stmt.origin
        out: list[ir.Stmt] = []
        arrays = tuple(
            self.named("array", dataclasses.replace(call, args=(arg,)), out) for arg in call.args
        )
        if isinstance(target, tuple) and len(target) == len(arrays):
            pairs = zip(target, arrays, strict=True)
            return [*out, *(ir.Assign(part, array, stmt.origin) for part, array in pairs)]
        together = ir.Display("tuple" if _GIVES_TUPLES else "list", arrays)
        return [*out, ir.Assign(target, together, stmt.origin)]

    def casts(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign | ir.Do) and isinstance(stmt.value, ir.Call)
        call, dtype = stmt.value, _given_dtype(stmt.value)
        self.origin = stmt.origin
        out: list[ir.Stmt] = []

        def cast(arg: ir.Expr) -> ir.Expr:
            asarray = ir.Ref(f"{self.alias}.asarray", np.asarray)
            typed = ir.Call(asarray, (arg,), (("dtype", dtype or ir.Const(None)),), call.at)
            return arg if isinstance(arg, ir.Const) else self.named("cast", typed, out)

        fn, count = call.fn, 1
        if isinstance(fn, ir.Attribute) and isinstance(fn.base, ir.Var):
            fn, count = dataclasses.replace(fn, base=cast(fn.base)), 0
        elif isinstance(fn, ir.Ref) and isinstance(fn.obj, np.ufunc):
            count = fn.obj.nin
        rest = (ir.Const(None) if arg is dtype else arg for arg in call.args[count:])
        plain = dataclasses.replace(
            call,
            fn=fn,
            args=(*map(cast, call.args[:count]), *rest),
            kwargs=tuple((k, v) for k, v in call.kwargs if k not in ("dtype", "casting")),
        )
        if dtype is not None and isinstance(stmt, ir.Assign) and _may_turn_complex(call, dtype):
            result = self.named("result", plain, out)
            plain = ir.Call(ir.Attribute(result, "astype"), (dtype,), at=call.at)
        return [*out, dataclasses.replace(stmt, value=plain)]

    def subscripts(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
        args = stmt.value.args
        terms = [self.letters(arg) for arg in (*args[1::2], *args[len(args) - len(args) % 2 :])]
        if None in terms:
            return [stmt]
        count = len(args) // 2
        text = ",".join(map(str, terms[:count])) + "".join(f"->{term}" for term in terms[count:])
        operands = args[: 2 * count : 2]
        call = dataclasses.replace(stmt.value, args=(ir.Const(text), *operands))
        return [dataclasses.replace(stmt, value=call)]

    def letters(self, axes: ir.Expr) -> str | None:
        """`[0, 1]` as "ab"; an ellipsis as dots; None for what cannot be seen."""
        items = self.lists.get(axes.name) if isinstance(axes, ir.Var) else None
        if items is None or not all(isinstance(item, ir.Const) for item in items):
            return None
        values = [item.value for item in items if isinstance(item, ir.Const)]
        if not all(v is Ellipsis or (isinstance(v, int) and v < 26) for v in values):
            return None
        return "".join("..." if v is Ellipsis else string.ascii_lowercase[v] for v in values)

    def wheres(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
        lists, at = stmt.value.args[:2], stmt.value.at
        last = (*stmt.value.args[2:], *(value for _, value in stmt.value.kwargs), ir.Const(0))[0]
        if not all(isinstance(a, ir.Var) and a.name in self.lists for a in lists):
            return [stmt]
        masks, values = (self.lists[a.name] for a in lists if isinstance(a, ir.Var))
        if len(masks) != len(values) or not masks:
            return [stmt]
        self.origin = stmt.origin
        out: list[ir.Stmt] = []
        where = ir.Ref(f"{self.alias}.where", np.where)
        for mask, value in [*zip(masks, values, strict=True)][:0:-1]:
            last = self.named("other", ir.Call(where, (mask, value, last), at=at), out)
        chosen = ir.Call(where, (masks[0], values[0], last), at=at)
        return [*out, ir.Assign(stmt.target, chosen, stmt.origin)]

    def writes(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
        x, *given = stmt.value.args
        if not all(isinstance(a, ir.Var) and a.name in self.lists for a in given):
            return [stmt]
        masks, functions = (self.lists[a.name] for a in given if isinstance(a, ir.Var))
        self.origin = stmt.origin
        out: list[ir.Stmt] = []
        zeros = ir.Call(ir.Ref(f"{self.alias}.zeros_like", np.zeros_like), (x,))
        result = self.named("pieces", zeros, out)
        if len(functions) == len(masks) + 1:
            reach = ir.Call(ir.Ref(f"{self.alias}.any", np.any), (given[0], ir.Const(0)))
            anywhere = self.named("anywhere", reach, out)
            nowhere = ir.Call(ir.Ref(f"{self.alias}.logical_not", np.logical_not), (anywhere,))
            masks = (*masks, self.named("nowhere", nowhere, out))
        if len(functions) != len(masks):
            return [stmt]
        for mask, function in zip(masks, functions, strict=True):
            value = function
            if not isinstance(function, ir.Const):
                part = self.named("part", ir.Index(x, mask), out)
                value = self.named("piece", ir.Call(function, (part,), at=stmt.value.at), out)
            out.append(ir.Store(ir.Index(result, mask), value, stmt.origin))
        return [*out, ir.Assign(stmt.target, result, stmt.origin)]

    def named(self, word: str, value: ir.Expr, out: list[ir.Stmt]) -> ir.Var:
        name = self.names.fresh(word)
        self.made |= {name}
        out.append(ir.Assign(name, value, self.origin))
        return ir.Var(name)
