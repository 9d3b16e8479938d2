"""Local functions that a derivative still mentions: printed beside it, or as the lambda they are.

A local function is a stand-in for its code (`frontend.lifting`). Where derivatives pass through a
call of it, there is a pair or a tangent function. Elsewhere the program calls the function itself:

before::                                        after::
    while np.abs(residual(x, c=c)) > 1e-9:          def residual(x, *, c):
                                                        return x * x - c
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ... import ir
from ...frontend.cuts import cuts_made
from ...frontend.lifting import Lifted, lifted_of
from ...frontend.lower import Lowered, Scope
from ...ir.facts import fact
from ...ir.identity import ByIdentity
from ...ir.index import references
from .callees import Callees, emitted
from .function_objects import captured_names, is_function_class
from .function_values import is_partial
from .operators import is_inner


def with_inner_functions(
    function: ir.Function,
    primal_of: Callable[[Any, str], ir.Ref],
    class_of: Callable[[ir.Ref], ir.Ref],
) -> ir.Function:
    """A function that mentions no stand-ins; `primal_of` gives a function of the module for one,
    `class_of` a class of the module for one of `function_objects`."""
    if not any(is_inner(r) or is_function_class(r.obj) for r in fact(references, function)):
        return function

    def expr(e: ir.Expr) -> ir.Expr:
        code = _lambda(e)
        if code is not None:
            return code
        if isinstance(e, ir.Ref) and is_inner(e):
            return primal_of(e.obj, e.text)
        if isinstance(e, ir.Ref) and is_function_class(e.obj):
            return class_of(e)
        return _with_defaults(e, ir.rebuild(e, expr))

    return ir.with_body(function, ir.rewrite(function.body, expression=expr))


def _lambda(expr: ir.Expr) -> ir.Expr | None:
    """The user's lambda, where a function value is one and captures nothing but values."""
    ref: Any = expr.args[0] if is_partial(expr) else expr  # type: ignore[union-attr]
    lifted: Lifted | None = lifted_of(ref.obj) if isinstance(ref, ir.Ref) else None
    if lifted is None or lifted.code is None or lifted.defaults:
        return None
    given = dict(expr.kwargs) if isinstance(expr, ir.Call) else {}
    code = lifted.code
    if set(code.names) - given.keys() or any(is_partial(e) for e in given.values()):
        return None
    values = tuple(given[name] for name in code.names)
    return ir.Opaque(code.text, code.names, values, code.refs, code.at)


def _with_defaults(expr: ir.Expr, printed: ir.Expr) -> ir.Expr:
    """A function with computed defaults as a lambda that has them: whoever is given it may pass
    these arguments by position, which a `partial` with their names would not take.

    `partial(f, c=k, w=w)` of `def f(x, c=k): ...` -> `lambda x, c=k, *, w=w: f(x, c, w=w)`.
    """
    if not (is_partial(expr) and isinstance(printed, ir.Call) and isinstance(expr, ir.Call)):
        return printed
    ref, *args = printed.args
    lifted = lifted_of(expr.args[0].obj) if isinstance(expr.args[0], ir.Ref) else None
    if lifted is None or not lifted.defaults or args or not isinstance(ref, ir.Ref):
        return printed
    given = dict(printed.kwargs)
    params = lifted.function.params
    plain = [p for p in params if p.kind == "any"]
    words = [p for p in params if p.kind == "keyword"]
    hidden = ref.text.partition(".")[0] in lifted.function.param_names
    if hidden or len(plain) + len(words) < len(params):
        return printed
    header = [_parameter(p, given) for p in plain]
    header += ["*", *(_parameter(p, given) for p in words)] if words else []
    passed = [p.name for p in plain] + [f"{p.name}={p.name}" for p in words]
    text = f"lambda {', '.join(header)}: {ref.text}({', '.join(passed)})"
    return ir.Opaque(text, tuple(given), tuple(given.values()), (ref,), expr.at)


def _parameter(param: ir.Param, given: Mapping[str, ir.Expr]) -> str:
    if param.name in given:
        return f"{param.name}={param.name}"
    return param.name if param.default is None else f"{param.name}={_literal(param.default)}"


def _literal(default: ir.Expr) -> str:
    assert isinstance(default, ir.Const)
    return repr(default.value)


# --------------------------------------------------------------------------------------------------
# Functions and classes of the file that only compute what a function we made does.

Done = Callable[[ir.Function, Lowered], tuple[ir.Function, ...]]


class PlainFunctions:
    """Those of one file, each printed once; `done` makes them ready to be printed, `scopes` gets
    what their names mean."""

    def __init__(self, callees: Callees, scopes: dict[str, Scope], done: Done) -> None:
        self.callees = callees
        self.scopes = scopes
        self.done = done
        self._made = ByIdentity[ir.Ref]()  # by what they compute

    def function(self, obj: Any, name: str) -> ir.Ref:
        """A function of the file for one that exists in the transform only."""
        if obj not in self._made:
            own = obj.__name__ if "." in name else name  # (of `partial.func`, which is called)
            ref = emitted(self.callees.names.fresh(own))
            self._made[obj] = ref  # (it may call itself)
            self._print(obj, ref.text)
        return self._made[obj]

    def class_of(self, ref: ir.Ref) -> ir.Ref:
        """A class of functions with what they capture: its methods are printed in the file."""
        if ref.obj not in self._made:
            self._made[ref.obj] = ref
            methods = ("__init__", "__call__") if captured_names(ref.obj) else ("__call__",)
            for method in methods:
                self._print(vars(ref.obj)[method], f"{ref.text}.{method}")
        return ref

    def in_part(self, function: ir.Function) -> ir.Function:
        """A function whose calls of functions of which statements are cut out are calls of such
        functions of the file: what was found of them holds of what is left of them only."""
        cuts = cuts_made()
        if cuts is None or not cuts.made:
            return function

        def is_cut(e: ir.Expr) -> bool:
            lowered = self.callees.read_before(e.obj) if isinstance(e, ir.Ref) else None
            return lowered is not None and any(
                map(cuts.raised_by, ir.statements(lowered.function.body))
            )

        def expr(e: ir.Expr) -> ir.Expr:
            if isinstance(e, ir.Call) and is_cut(e.fn):
                assert isinstance(e.fn, ir.Ref)
                ref = self.function(e.fn.obj, self.callees.lowered(e.fn.obj).function.name)
                e = dataclasses.replace(e, fn=ref)
            return ir.rebuild(e, expr)

        return ir.with_body(function, ir.rewrite(function.body, expression=expr))

    def _print(self, obj: Any, name: str) -> None:
        lowered = self.callees.lowered(obj)
        function = dataclasses.replace(lowered.function, name=name)
        self.callees.functions += self.done(function, lowered)
        self.scopes[name] = lowered.scope
