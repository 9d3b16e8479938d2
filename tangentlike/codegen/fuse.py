"""Elementwise chains of adjoint and tangent statements as functions that CuPy fuses.

before::                                            after::

    x_bar = y_bar * x + z_bar * cp.cos(x)               @cp.fuse()
                                                        def fused_x_bar(y_bar, x, z_bar):
                                                            return y_bar * x + z_bar * cp.cos(x)
                                                        ..
                                                        x_bar = fused_x_bar(y_bar, x, z_bar)

One kernel runs instead of one for each operation, and no array is made for what is between them.
A fused function that is given no array of CuPy is called as it stands (so CuPy's `fuse` does).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .. import ir
from ..errors import UnsupportedError
from ..frontend.resolve import Scope
from ..ir.names import Names
from ..rules.twins import twin
from .optimize.facts import Facts
from .optimize.facts import numpy_name as name_in_numpy

# CuPy's `fuse` knows no `abs(x)`, no `+x`, and no power of a number.
_OPERATORS = frozenset(("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!="))
_FUNCTIONS = frozenset(
    ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh")
    + ("arcsinh", "arccosh", "arctanh", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10")
    + ("sqrt", "square", "absolute", "sign", "maximum", "minimum", "power", "reciprocal", "hypot")
    + ("negative", "where", "logaddexp", "floor", "ceil", "logical_not", "logical_and")
    + ("logical_or", "isnan", "isinf", "isfinite", "copysign", "add", "subtract", "multiply")
    + ("divide", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal")
)


def fused(
    functions: Sequence[ir.Function], facts: Mapping[str, Facts], scopes: Mapping[str, Scope]
) -> tuple[tuple[ir.Function, ...], dict[str, Scope]]:
    """The functions with fused ones before them, and of each of those the scope it is read in."""
    names = Names({name for fn in functions for name in (fn.name, *_every_name(fn))})
    made: list[ir.Function] = []
    found: dict[str, Scope] = {}
    rewritten = []
    for fn in functions:
        if not hasattr(scopes[fn.name].array_module.obj, "fuse"):  # (one that a library brings)
            rewritten.append(fn)
            continue
        pass_ = _Fusing(fn, facts.get(fn.name, Facts()), scopes[fn.name], names)
        rewritten.append(dataclasses.replace(fn, body=pass_.block(fn.body)))
        made += pass_.made
        found.update((each.name, scopes[fn.name]) for each in pass_.made)
    return (*made, *rewritten), found


def _every_name(fn: ir.Function) -> Iterator[str]:
    yield from fn.param_names
    for stmt in ir.statements(fn.body):
        yield from ir.binds(stmt)
        for part in ir.walk_statement(stmt):
            if isinstance(part, ir.Ref):
                yield part.text.partition(".")[0]


class _Fusing(ir.Rewriter):
    """One function's statements; `made` are the fused functions."""

    def __init__(self, fn: ir.Function, facts: Facts, scope: Scope, names: Names) -> None:
        self.made: list[ir.Function] = []
        self._fn, self._facts, self._scope, self._names = fn, facts, scope, names
        self._by_text: dict[Any, ir.Ref] = {}

    def statement(self, stmt: ir.Stmt) -> ir.Stmt:
        if not stmt.origin.is_derived and not isinstance(stmt, ir.Return):
            return self.nested(stmt)
        name = _name_of(getattr(stmt, "target", None))
        return ir.map_statement(stmt, lambda e: self._expr(e, name, stmt.origin), self.block)

    def _expr(self, expr: ir.Expr, name: str, origin: ir.Origin) -> ir.Expr:
        if isinstance(expr, ir.Index):  # (keys are integers)
            return dataclasses.replace(expr, base=self._expr(expr.base, name, origin))
        leaves: list[ir.Expr] = []
        count = _operations(expr, leaves)
        if count < 2 or not any(map(self._is_array, leaves)):
            return ir.rebuild(expr, lambda e: self._expr(e, name, origin))
        return self._call(expr, leaves, name, origin)

    def _is_array(self, leaf: ir.Expr) -> bool:
        """Whether a value carries a derivative and is not known to be a number."""
        if not isinstance(leaf, ir.Var) or leaf.name not in self._facts.floating:
            return False
        return self._facts.kind(leaf.name).form != "number"

    def _call(
        self, expr: ir.Expr, leaves: Sequence[ir.Expr], name: str, origin: ir.Origin
    ) -> ir.Expr:
        own = Names({leaf.name for leaf in leaves if isinstance(leaf, ir.Var)})
        params: dict[str, ir.Expr] = {}
        inside: dict[int, str] = {}
        for leaf in leaves:
            called = leaf.name if isinstance(leaf, ir.Var) else own.fresh(_called(leaf))
            params.setdefault(called, leaf)
            inside[id(leaf)] = called
        body = _with_params(expr, inside)
        ref = self._function(body, tuple(params), name, origin)
        args = tuple(self._expr(leaf, name, origin) for leaf in params.values())
        return ir.Call(ref, args, at=origin.place)

    def _function(
        self, body: ir.Expr, params: tuple[str, ...], name: str, origin: ir.Origin
    ) -> ir.Ref:
        """A fused function of this body: one that is there already, if one is."""
        known = self._by_text.get((body, params))
        if known is not None:
            return known
        text = self._names.fresh(f"fused_{name}")
        value = ir.Return(body, ir.Origin(origin.place))
        module = self._scope.array_module
        fuse = ir.Ref(f"{module.text}.fuse", module.obj.fuse)
        decorator = ir.Call(fuse, (), at=origin.place)
        self.made.append(
            ir.Function(
                text,
                tuple(map(ir.Param, params)),
                (value,),
                self._fn.place,
                decorators=(decorator,),
            )
        )
        ref = self._by_text[body, params] = ir.Ref(text, None)
        return ref


def refuse_unfused(scope: Scope) -> None:
    """Refuse a function whose array module fuses nothing."""
    module = scope.array_module
    if not hasattr(module.obj, "fuse"):
        raise UnsupportedError(
            f'target="cupy-fused" is for functions that use cupy, and `{module.text}` is '
            f"`{module.obj.__name__}`, which fuses nothing",
            hint="Import cupy in the module of the function, or leave target= out.",
        )


def _name_of(target: Any) -> str:
    """The name that a statement binds, or writes to an entry or a field of."""
    match target:
        case str():
            return target
        case ir.Var(name):
            return name
        case ir.Index(base, _) | ir.Attribute(base, _):
            return _name_of(base)
    return "result"


def _operations(expr: ir.Expr, leaves: list[ir.Expr]) -> int:
    """How many elementwise operations an expression is made of; `leaves` is given the others."""
    if isinstance(expr, ir.Const) and isinstance(expr.value, (int, float, complex)):
        return 0
    if _is_elementwise(expr):
        assert isinstance(expr, ir.Call)
        return 1 + sum(_operations(arg, leaves) for arg in expr.args)
    leaves.append(expr)
    return 0


def _is_elementwise(expr: ir.Expr) -> bool:
    if not isinstance(expr, ir.Call) or not isinstance(expr.fn, ir.Ref) or expr.kwargs:
        return False
    if expr.fn.text in _OPERATORS:
        power = expr.fn.text == "**"
        return not (power and isinstance(expr.args[0], ir.Const))
    obj = twin(expr.fn.obj) or expr.fn.obj
    name = name_in_numpy(obj)
    return name in _FUNCTIONS and (name != "where" or len(expr.args) == 3)


def _called(leaf: ir.Expr) -> str:
    """A name for the value of an expression."""
    match leaf:
        case ir.Index(base, _):
            return f"{_called(base)}_part"
        case ir.Attribute(base, name):
            return f"{_called(base)}_{name}"
        case ir.Call(fn=ir.Ref(text=text)) if text.replace(".", "").isidentifier():
            return f"{text.rpartition('.')[2]}_found"
        case ir.Var(name):
            return name
    return "value"


def _with_params(expr: ir.Expr, inside: Mapping[int, str]) -> ir.Expr:
    if id(expr) in inside:
        return ir.Var(inside[id(expr)])
    return ir.rebuild(expr, lambda e: _with_params(e, inside))
