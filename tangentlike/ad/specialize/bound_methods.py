"""Methods of objects, and objects that are called, given to `tl.grad`, `tl.checkpoint` and so on.

before::                               after::
    f = system.energy                      f = partial(energy, system)
    force = tl.grad(f)                     force = tl.grad(f)
    a = force(q)                           a = force(q)

where `def energy(system, q): return system.energy(q)`. How many arguments it takes is known
from the calls of what is made of it; which method that is, from the class of the object, as
for any call.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import linecache
import types
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from ... import ir
from ...frontend.checkpoints import checkpoint
from ...frontend.lifting import PARTIAL
from ...frontend.lower import Lowered
from .operators import operator_name

_count = itertools.count(1)
_SAME = ("checkpoint", "grad", "value_and_grad", "jacobian", "jacfwd", "jacrev", "hessian")


def with_bound_methods(lowered: Lowered) -> Lowered:
    """A function in which the methods that operators are given are functions of their objects."""
    function = lowered.function
    if not any(_operator(e) for s in ir.statements(function.body) for e in ir.expressions(s)):
        return lowered
    reading = _Reading(function, lowered.temporaries, lowered.scope.module)
    body = ir.rewrite(function.body, after=reading.statement)
    return dataclasses.replace(lowered, function=ir.with_body(function, body))


def _operator(expr: Any) -> str:
    """The name of the operator that an expression calls; "function" also of `tl.checkpoint(f)`."""
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(_,), kwargs=()) if obj is checkpoint:
            return "function"
    return operator_name(expr)


class _Reading:
    """What the names of one function stand for, as far as operators are given them."""

    def __init__(self, function: ir.Function, temporaries: frozenset[str], module: Any) -> None:
        self.function = function
        self.temporaries = temporaries
        self.module = str(getattr(module, "__name__", module))
        self.values: dict[str, ir.Expr] = {}
        self.stored: set[str] = set()  # attributes that are assigned: the function may be another
        counts = Counter(function.param_names)
        for stmt in ir.statements(function.body):
            counts.update(ir.binds(stmt))
            match stmt:
                case ir.Assign(target=str(name), value=value):
                    self.values[name] = value
                case ir.Store(target=ir.Attribute(name=name)):
                    self.stored.add(name)
        self.once = {name for name, count in counts.items() if count == 1}

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        match stmt:
            case ir.Assign(
                target=str(name), value=ir.Attribute(ir.Var() | ir.Ref() as base, method)
            ):
                params = self.parameters(name) if self.is_stable(base) else None
                if params is not None:
                    yield dataclasses.replace(stmt, value=self.bound(base, method, params))
                    return
            case ir.Assign(value=ir.Call(args=(ir.Var() | ir.Ref() as base, *rest)) as call):
                params = self.of_operator(stmt) if self.is_called_object(base, call) else None
                if params is not None:
                    first = self.bound(base, "__call__", params)
                    yield dataclasses.replace(
                        stmt, value=dataclasses.replace(call, args=(first, *rest))
                    )
                    return
        yield stmt

    def is_stable(self, base: ir.Expr) -> bool:
        return isinstance(base, ir.Ref) or (isinstance(base, ir.Var) and base.name in self.once)

    def is_called_object(self, base: ir.Expr, call: ir.Expr) -> bool:
        """Whether an operator is given an object of a class with a `__call__`."""
        if not _operator(call) or not self.is_stable(base):
            return False
        if isinstance(base, ir.Ref):
            plain = (type, types.FunctionType)
            return not isinstance(base.obj, plain) and _has_call(type(base.obj))
        assert isinstance(base, ir.Var)
        match self.values.get(base.name):
            case ir.Call(fn=ir.Ref(obj=type() as cls)):
                return _has_call(cls)
        return base.name == "self" and self.function.param_names[:1] == ("self",)

    def bound(self, base: ir.Expr, method: str, params: tuple[str, ...]) -> ir.Expr:
        """`partial(energy, system)`."""
        owner = base.name if isinstance(base, ir.Var) else "self"
        ref = calling(method, owner, params, self.module)
        return ir.Call(PARTIAL, (ref, base))

    # ------------------------------------------------------------- how it is called in the end

    @cached_property
    def uses(self) -> Mapping[str, list[ir.Stmt]]:
        """The statements that read a name."""
        found: dict[str, list[ir.Stmt]] = {}
        for stmt in ir.statements(self.function.body):
            for name in ir.reads(stmt):
                found.setdefault(name, []).append(stmt)
        return found

    def parameters(self, name: str) -> tuple[str, ...] | None:
        """The parameters of a function that is only given to operators; None where its uses do
        not tell them, or tell different numbers of them."""
        found = [self.of_operator(s, name) for s in self.uses.get(name, ())]
        return _agreed(found)

    def of_operator(self, stmt: ir.Stmt, name: str | None = None) -> tuple[str, ...] | None:
        """The parameters of what the operator in a statement is given (`name`, if it says one)."""
        match stmt:
            case ir.Assign(target=target, value=ir.Call(args=(first, *rest)) as call):
                pass
            case _:
                return None
        if name is not None and (first != ir.Var(name) or name in _names(rest, call)):
            return None
        match _operator(call), target:
            case "function", str():
                return self.of_function(call, target)
            case "tangent", _:
                primals = rest[0] if rest else None
                if isinstance(primals, ir.Var) and primals.name in self.once:
                    primals = self.values.get(primals.name)
                return self.named(primals.items) if isinstance(primals, ir.Display) else None
            case "pullback" | "linear", _:
                return None if call.kwargs else self.named(tuple(rest))
        return None

    def of_function(self, call: ir.Call, target: str) -> tuple[str, ...] | None:
        """The parameters of `f` in `target = tl.grad(f)`, from the calls of `target`."""
        assert isinstance(call.fn, ir.Ref)
        more = {"hvp": 1}.get(call.fn.obj.__name__, 0 if call.fn.obj.__name__ in _SAME else None)
        if target not in self.once or more is None or _by_name(call):
            return None
        found = []
        for stmt in self.uses.get(target, ()):
            calls = [c for e in ir.expressions(stmt) for c in ir.walk(e) if isinstance(c, ir.Call)]
            own = [c for c in calls if c.fn == ir.Var(target)]
            inside = [n for e in ir.expressions(stmt) for n in ir.walk(e) if n == ir.Var(target)]
            if own and len(own) == len(inside):
                plain = all(not c.kwargs and not any(map(ir.is_starred, c.args)) for c in own)
                found += [self.named(c.args[: len(c.args) - more]) if plain else None for c in own]
            else:
                found.append(self.of_operator(stmt, target))
        return _agreed(found)

    def named(self, args: tuple[ir.Expr, ...]) -> tuple[str, ...]:
        """Names for parameters that are given these arguments: those of the arguments."""
        plain = [
            e.name if isinstance(e, ir.Var) and e.name not in self.temporaries else "x"
            for e in args
        ]
        return tuple(n if plain.count(n) == 1 else f"{n}{i + 1}" for i, n in enumerate(plain))


def _agreed(found: list[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    known = [params for params in found if params]
    if not found or len(known) != len(found) or len({len(params) for params in known}) > 1:
        return None
    return known[0]


def _names(args: list[ir.Expr], call: ir.Call) -> frozenset[str]:
    """The names that an operator is given after the function."""
    return frozenset().union(*map(ir.names_in, (*args, *(v for _, v in call.kwargs))))


def _by_name(call: ir.Call) -> bool:
    """Whether an operator is given a parameter by name, which only the class would tell."""
    parts = (p for e in (*call.args[1:], *(v for _, v in call.kwargs)) for p in ir.walk(e))
    return any(isinstance(p, ir.Const) and isinstance(p.value, str) for p in parts)


def _has_call(cls: type) -> bool:
    return isinstance(inspect.getattr_static(cls, "__call__", None), types.FunctionType)


def calling(method: str, owner: str, params: tuple[str, ...], module: str) -> ir.Ref:
    """`def energy(system, q): return system.energy(q)`."""
    own = owner if owner not in params else f"{owner}_"
    name = method.strip("_")
    text = f"def {name}({', '.join((own, *params))}):\n"
    text += f"    return {own}.{method}({', '.join(params)})\n"
    function: Any = function_of(text, name, {"__name__": module})
    function.__inner__ = True
    return ir.Ref(name, function)


def function_of(text: str, name: str, namespace: dict[str, Any]) -> types.FunctionType:
    """The function of this name that a text defines."""
    file = f"<{name} of an object {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), namespace)
    made: types.FunctionType = namespace[name]
    return made
