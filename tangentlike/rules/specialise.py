"""Helpers of the runtime, written out where a call's literals and kinds decide what they do.

A rule says `unreduce(y_bar, a, axis, keepdims)` once, for every way in which `np.sum` can be
called; what is emitted for `np.sum(x)` is `broadcast_like(y_bar, x)`. Each entry is a
template like a rule, with one line `text = ...` in each branch that knows better; where no
branch is decided the call of the helper stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from .. import ir, runtime
from ..ir.kind import UNKNOWN, Kind
from .book import KindOf, Rule
from .decisions import Facts, decide
from .linear import Substitution
from .template import Body, template_of

_shorter: dict[int, Rule] = {}


def shorter(helper: Any) -> Callable[[FunctionType], FunctionType]:
    """Declare the shorter text of a runtime helper."""

    def register(fn: FunctionType) -> FunctionType:
        _shorter[id(helper)] = Rule(helper.__name__, fn)
        return fn

    return register


def specialise(expr: ir.Expr, kind_of: KindOf, real: bool, alias: str) -> ir.Expr:
    """The expression with every helper call in its shortest form.

    `unreduce($y_bar, x, 1, False)` becomes `broadcast_like(np.expand_dims($y_bar, 1), x)`.
    """
    if not [p for p in ir.parts_of(expr) if type(p) is ir.Ref and id(p.obj) in _shorter]:
        return expr

    def inner(child: ir.Expr) -> ir.Expr:
        return specialise(child, kind_of, real, alias)

    expr = ir.rebuild(expr, inner)
    if not (isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Ref)):
        return expr
    entry = _shorter.get(id(expr.fn.obj))
    if entry is None:
        return expr
    template = template_of(entry)
    bound = template.signature.bind(*expr.args, **dict(expr.kwargs))
    values: dict[str, ir.Expr] = {}
    for name, param in template.signature.parameters.items():
        given = bound.arguments.get(name)
        values[name] = ir.Const(param.default) if given is None else given
    text = _decided(template.body, Facts(values, kind_of, real))
    if text is None:
        return expr
    put = Substitution(values, frozenset(), alias)
    return inner(put(text))


@ir.quickened
@dataclass(frozen=True)
class WithPlaceholders:
    """`kind_of` that also knows `$y` and `$y_bar`, and looks through `conj(...)`."""

    kind_of: KindOf
    result: Callable[[], Kind]

    def __call__(self, expr: ir.Expr) -> Kind:
        match expr:
            case ir.Var("$y" | "$y_bar"):
                return self.result()
            case ir.Var(name) if name.startswith("$"):
                return UNKNOWN
            case ir.Call(fn=ir.Ref(obj=runtime.conj), args=(inner,)):
                return self(inner)
        return self.kind_of(expr)


def _decided(body: Body, facts: Facts) -> ir.Expr | None:
    for item in body:
        if hasattr(item, "expr"):
            return item.expr
        found = _decided(item.body if decide(item.test, facts) else item.orelse, facts)
        if found is not None:
            return found
    return None


# ------------------------------------------------------------------------- reductions


@shorter(runtime.kept)
def kept(y, g, axis=None, keepdims=False):
    if axis is None or keepdims is True or is_number(g):
        text = g  # (a number spreads over all that was summed; of a number, over that)
    elif axis == 0 and keepdims is False:
        text = g  # the lost axis is the first: shapes align at the last
    elif axis in (1, -1) and rank(g) == 1 and keepdims is False:
        text = g[:, None]
    elif axis == -1 and rank(g) in (2, 3) and keepdims is False:
        text = g[..., None]
    elif is_literal(axis) and keepdims is False:
        text = np.expand_dims(g, axis)


@shorter(runtime.unreduce)
def unreduce(y, g, like, axis=None, keepdims=False):
    if axis is None or keepdims is True or is_number(g):
        text = broadcast_like(g, like)
    elif axis == 0 and keepdims is False:
        text = broadcast_like(g, like)  # the lost axis is the first: shapes align at the last
    elif (rank(like) == 2 and axis in (1, -1) and keepdims is False) or (
        is_array(like) and axis == 1 and keepdims is False
    ):
        text = broadcast_like(g[:, None], like)
    elif is_array(like) and axis == 2 and keepdims is False:
        text = broadcast_like(g[:, :, None], like)
    elif rank(like) in (3, 4) and axis == -1 and keepdims is False:
        text = broadcast_like(g[..., None], like)
    elif is_literal(axis) and keepdims is False:
        text = broadcast_like(np.expand_dims(g, axis), like)


@shorter(runtime.reduced_size)
def reduced_size(y, x, axis=None):
    if axis is None and is_array(x):
        text = x.size
    elif axis is None:
        text = np.size(x)
    elif is_number(axis) and is_array(x):
        text = x.shape[axis]


# -------------------------------------------------------------------- products, shapes


@shorter(runtime.swap_last)
def swap_last(y, x):
    if rank(x) == 2:
        text = x.T


@shorter(runtime.transposed_inverse)
def transposed_inverse(y, x):
    if rank(x) == 2 and is_real(x):
        text = np.linalg.inv(x).T


@shorter(runtime.unpad)
def unpad(y, g, like, pad_width, mode="constant"):
    if rank(like) == 1 and is_count(pad_width) and mode == "constant":
        text = g[pad_width:-pad_width]
    elif rank(like) == 2 and is_count(pad_width) and mode == "constant":
        text = g[pad_width:-pad_width, pad_width:-pad_width]


@shorter(runtime.undiag)
def undiag(y, g, v, k=0):
    if rank(v) == 1:
        text = np.diagonal(g, k)
    elif is_square(v) and k == 0:
        text = np.diag(g)


@shorter(runtime.reshape_like)
def reshape_like(y, g, like):
    if is_array(like) and is_array(g):
        text = g.reshape(like.shape)
    elif is_array(like):
        text = np.reshape(g, like.shape)


@shorter(runtime.nest_like)
def nest_like(y, g, nested):
    if holds_numbers(nested) and is_real(g):
        text = g
    elif holds_floats(nested) and is_real(g):
        text = list(g)


@shorter(runtime.float_dtype)
def float_dtype(y, dtype):
    if is_inexact(dtype):
        text = dtype


@shorter(runtime.uncast)
def uncast(y, g, dtype):
    if is_inexact(dtype):
        text = g


@shorter(runtime.matmul_bar_a)
def matmul_bar_a(y, g, a, b):
    if stays_real(a, g, b):
        if rank(a) == 2 and rank(b) == 2:
            text = g @ conj(b).T
        elif rank(a) == 2 and rank(b) == 1:
            text = np.outer(g, conj(b))
        elif rank(a) == 1 and rank(b) == 2:
            text = conj(b) @ g
        elif rank(a) == 1 and rank(b) == 1:
            text = g * conj(b)
        elif rank(a) == 3 and rank(b) == 2:
            text = g @ conj(b).T
        elif stacked_alike(a, b):
            text = g @ np.swapaxes(conj(b), -1, -2)


@shorter(runtime.matmul_bar_b)
def matmul_bar_b(y, g, a, b):
    if stays_real(b, g, a):
        if rank(a) == 2 and rank(b) in (1, 2):
            text = conj(a).T @ g
        elif rank(a) == 1 and rank(b) == 2:
            text = np.outer(conj(a), g)
        elif rank(a) == 1 and rank(b) == 1:
            text = g * conj(a)
        elif rank(a) == 3 and rank(b) == 2:
            text = np.tensordot(conj(a), g, ((0, 1), (0, 1)))
        elif stacked_alike(a, b):
            text = np.swapaxes(conj(a), -1, -2) @ g


@shorter(runtime.unbroadcast)
def unbroadcast(y, g, like):
    if spans(like, g) and is_real(g):
        text = g
    elif spans(like, g) and is_real(like):
        text = np.real(g)


@shorter(runtime.dot_bar_a)
def dot_bar_a(y, g, a, b):
    if rank(a) in (1, 2) and rank(b) in (1, 2):
        text = matmul_bar_a(g, a, b)
    elif is_number(a) and is_number(b) and stays_real(a, g, b):
        text = g * conj(b)


@shorter(runtime.dot_bar_b)
def dot_bar_b(y, g, a, b):
    if rank(a) in (1, 2) and rank(b) in (1, 2):
        text = matmul_bar_b(g, a, b)
    elif is_number(a) and is_number(b) and stays_real(b, g, a):
        text = g * conj(a)


@shorter(runtime.uncumsum)
def uncumsum(y, g, like, axis=None):
    if rank(like) == 1:
        text = np.cumsum(g[::-1])[::-1]
    elif axis == 0:
        text = np.cumsum(g[::-1], axis=0)[::-1]
    elif rank(like) == 2 and axis in (1, -1):
        text = np.cumsum(g[:, ::-1], axis=1)[:, ::-1]
