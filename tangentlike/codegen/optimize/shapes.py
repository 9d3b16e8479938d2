"""What is known of the shapes of derived expressions: only ever used to compare two of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from ... import ir
from ...ir.kind import is_many, is_named
from .facts import Facts, numpy_name, runtime_name

NUMBER = ()  # the shape of a number; an array may have it as well
_LIKE = ("zeros_like", "ones_like", "full_like", "empty_like", "copy")
_BINARY = ("+", "-", "*", "/", "**", "%", "//")


def is_number(expr: ir.Expr, facts: Facts) -> bool:
    """Whether the value is surely a number, not an array."""
    match expr:
        case ir.Const(value):
            return isinstance(value, (int, float, complex))
        case ir.Var(name):
            return facts.kind(name).form == "number"
        case ir.Call(fn=ir.Ref(text=text), args=args) if text in _BINARY:
            return all(is_number(arg, facts) for arg in args)
        case _:
            return False


class Shapes:
    """Shapes of names and expressions: equal answers (not None) mean equal shapes."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self._facts = facts
        self._names: dict[str, Hashable] = {}
        stmts = list(ir.statements(function.body))
        count = ir.bindings(stmts, function.param_names)
        for stmt in stmts:
            match stmt:
                case ir.Assign(target=str(name), value=value):
                    if name not in facts.kinds and count[name] == 1:
                        shape = self.of(value)
                        if shape is not None:
                            self._names[name] = shape

    def is_within(self, other: Shapes) -> bool:
        """Whether whatever is known here is known in the same way there."""
        return self._names.items() <= other._names.items()

    def of(self, expr: ir.Expr) -> Hashable:
        """The shape of an expression's value; None where nothing is known."""
        match expr:
            case ir.Const(value):
                return NUMBER if isinstance(value, (int, float, complex)) else None
            case ir.Var(name):
                return self._of_name(name)
            case ir.Call(fn=ir.Ref() as fn, args=args, kwargs=kwargs):
                return self._of_call(fn, args, kwargs)
            case ir.Call(fn=ir.Attribute(base, "copy")):
                return self.of(base)
            case ir.Index(base, key):
                shape = self.of(base)
                return None if shape is None else ("part", shape, key)
            case _:
                return None

    def _of_name(self, name: str) -> Hashable:
        if name in self._names:
            return self._names[name]
        kind = self._facts.kind(name)
        if kind.form == "number":
            return NUMBER
        if kind.form not in ("array", "value") or kind.shape is None:
            return None
        if isinstance(kind.shape, tuple) and not all(map(is_named, kind.shape)):
            return None
        return kind.shape

    def _of_call(
        self, fn: ir.Ref, args: tuple[ir.Expr, ...], kwargs: tuple[tuple[str, ir.Expr], ...]
    ) -> Hashable:
        if fn.text in _BINARY:
            return self._joined(args)
        name = runtime_name(fn.obj)
        if name in ("unbroadcast", "broadcast_like") and len(args) == 2:
            return self.of(args[1])
        if (name or numpy_name(fn.obj)) in _LIKE and args:
            return self.of(args[0])
        if numpy_name(fn.obj) == "sum" and len(args) == 1:
            return self._summed(self.of(args[0]), dict(kwargs))
        if isinstance(fn.obj, np.ufunc) and fn.obj.signature is None and fn.obj.nout == 1:
            return self._joined(args)
        return None

    def _summed(self, shape: Hashable, options: dict[str, ir.Expr]) -> Hashable:
        """The shape of `np.sum(x, axis=0)` and of `np.sum(x, axis=1, keepdims=True)`."""
        if not options:
            return NUMBER
        keep = options.get("keepdims", ir.Const(False))
        match options.get("axis"):
            case ir.Const(int() as axis) if isinstance(shape, tuple) and 0 <= axis < len(shape):
                if not isinstance(keep, ir.Const):
                    return None
                one = (1,) if keep.value else ()
                return (*shape[:axis], *one, *shape[axis + 1 :])
        return None

    def _joined(self, args: tuple[ir.Expr, ...]) -> Hashable:
        """The shape of an elementwise result where no broadcasting but that of numbers happens."""
        found: Hashable = NUMBER
        for arg in args:
            shape = self.of(arg)
            if shape is None:
                return None
            if shape in (NUMBER, found):
                continue
            if found != NUMBER:
                return None
            found = shape
        return found


def of_same_shape(expr: ir.Expr, facts: Facts) -> ir.Expr:
    """A part of an elementwise expression that has its shape: `r` for `r * r` and `2.0 * r ** 2`,
    and for `r * s` where no axis of `r` is missing or can be of length 1.

    (`3 * r` is left alone: a list is repeated by it.)
    """
    if not (isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Ref)) or expr.kwargs:
        return expr
    fn, args = expr.fn, expr.args
    ufunc = isinstance(fn.obj, np.ufunc) and fn.obj.signature is None and fn.obj.nout == 1
    if not (ufunc and len(args) == fn.obj.nin) and fn.text not in _BINARY:
        return expr
    literals = [a.value for a in args if isinstance(a, ir.Const)]
    wider = {of_same_shape(a, facts) for a in args if not isinstance(a, ir.Const)}
    if not wider or not all(isinstance(v, (int, float, complex)) for v in literals):
        return expr
    if fn.text in ("*", "+") and any(isinstance(v, int) for v in literals):
        return expr
    return wider.pop() if len(wider) == 1 else _widest([*wider], facts) or expr


def _widest(parts: Sequence[ir.Expr], facts: Facts) -> ir.Expr | None:
    """The one of several names of arrays and numbers that is as large as all of them together."""
    kinds = {p.name: facts.kind(p.name) for p in parts if isinstance(p, ir.Var)}
    ranks = [kind.rank for kind in kinds.values()]
    if len(kinds) < len(parts) or None in ranks:
        return None
    for name, kind in sorted(kinds.items()):
        shape = kind.shape if kind.form == "array" and isinstance(kind.shape, tuple) else ()
        if shape and len(shape) == max(r or 0 for r in ranks) and all(map(is_many, shape)):
            return ir.Var(name)
    return None
