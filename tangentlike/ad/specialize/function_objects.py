"""Functions that are kept, and capture values: objects of a class with a `__call__`.

before::                                        after::
    fs = [lambda v: v * w, lambda v: v + b]         fs = [Function(w), Function2(b)]
    for f in fs:                                    for f in fs:
        h = f(h)                                        h = f(h)

where `Function` is `class Function` with `self.w = w` in its `__init__` and `return v * self.w` in
its `__call__`. Everything that is known of objects then serves: the adjoint of `f` has a field `w`,
and where it may be of several classes there is a branch for each.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import ir
from ...errors import Place, UnsupportedError
from ...frontend.lifting import PARTIAL, Lifted, lifted_of, stand_in
from ...frontend.lower import Lowered, Scope
from ...frontend.primal import parameter_names
from ...frontend.signatures import plain_signature
from ...ir.index import all_names
from ...ir.names import Names
from .function_values import is_function, is_partial, unwrapped

_COMPARING = (operator.is_, operator.is_not, operator.eq, operator.ne, operator.contains)
_MARK = "__captures__"


def is_function_class(obj: Any) -> bool:
    """Whether an object is a class that was made here."""
    return isinstance(obj, type) and _MARK in vars(obj)


def captured_names(cls: type) -> tuple[str, ...]:
    """The attributes of the objects of such a class."""
    found: tuple[str, ...] = vars(cls)[_MARK]
    return found


class FunctionClasses:
    """The classes of one transform, each made once; `fresh` gives names that are free in the
    file."""

    def __init__(self, fresh: Callable[[str], str]) -> None:
        self.fresh = fresh
        self._made: dict[Any, ir.Ref] = {}
        self._keep: list[Any] = []  # so that ids stay unique

    def with_objects(self, lowered: Lowered) -> Lowered:
        """A function in which functions that are kept are such objects."""
        desugaring = _Desugaring(self, lowered)
        if not desugaring.kept:
            return lowered
        refuse_compared(lowered.function, every=True)
        function = desugaring.rewritten(lowered.function)
        temporaries = lowered.temporaries | desugaring.added
        return dataclasses.replace(lowered, function=function, temporaries=temporaries)

    def made(self, value: ir.Expr, scope: Scope, at: Place) -> ir.Call | None:
        """The object that stands for a function value; None where its parameters are not known."""
        call = value if isinstance(value, ir.Call) else ir.Call(PARTIAL, (value,))
        ref, *args = call.args
        if not isinstance(ref, ir.Ref):
            return None
        words = tuple(word for word, _ in call.kwargs)
        key = (id(ref.obj), len(args), words)
        if key not in self._made:
            parts = _methods(ref, len(args), words, scope, at)
            if parts is None:
                return None
            name = self.fresh(_class_name(ref.text))
            init, body = (stand_in(m.function.name, m).obj for m in parts)
            module = scope.globals.get("__name__", "")
            members = {"__init__": init, "__call__": body, "__module__": module}
            fields = parts[0].function.param_names[1:]
            self._made[key] = ir.Ref(name, type(name, (), {**members, _MARK: fields}))
            self._keep.append(ref.obj)
        values = (*args, *(v for _, v in call.kwargs))
        return ir.Call(self._made[key], values, (), call.at or at)


def _class_name(text: str) -> str:
    """`scale_by` -> `ScaleBy`; of the second function named `_`, `Function2`."""
    words = text.rpartition(".")[2].strip("_").split("_")
    name = "".join(word[:1].upper() + word[1:] for word in words)
    return name if name.isidentifier() else f"Function{name}"


def _methods(
    ref: ir.Ref, count: int, words: tuple[str, ...], scope: Scope, at: Place
) -> tuple[Lifted, Lifted] | None:
    """`__init__` and `__call__`, in nested IR, of the class for a function with so many arguments
    given by position, and these by name."""
    lifted = lifted_of(ref.obj)
    params = _parameters(ref.obj) if lifted is None else list(lifted.function.params)
    if params is None:
        return None
    place = at if lifted is None else lifted.function.place
    first = [p for p in params if p.kind in ("positional", "any")][:count]
    if len(first) < count or not set(words) <= {p.name for p in params}:
        return None
    fields = [*(p.name for p in first), *words]
    rest = tuple(p for p in params if p.name not in fields)
    names = Names((*fields, *(p.name for p in params)))
    if lifted is not None:
        names.take(all_names(lifted.function))
    own = names.fresh("self")
    origin = ir.Origin(place)
    reads = [ir.Assign(f, ir.Attribute(ir.Var(own), f, place), origin) for f in fields]
    if lifted is None:
        starred = [p for p in rest if p.kind in ("*", "**")]
        named = [p for p in rest if p not in starred]
        in_order = not words and all(p.default is None for p in named)
        by_position = [*fields[:count], *(p.name for p in named if in_order)]
        by_name = [*words, *(p.name for p in named if not in_order)]
        args, kwargs = map(ir.Var, by_position), ((word, ir.Var(word)) for word in by_name)
        stars = (ir.Opaque(f"{p.kind}{p.name}", (p.name,), (ir.Var(p.name),)) for p in starred)
        called = ir.Call(ref, (*args, *stars), tuple(kwargs), place)
        body: ir.Block = (ir.Return(called, origin),)
        lifted = Lifted(ir.Function(ref.text, (), (), place), scope)
    else:
        body = lifted.function.body
    stores = (ir.Store(ir.Attribute(ir.Var(own), f), ir.Var(f), origin) for f in fields)
    head = (ir.Param(own), *map(ir.Param, fields))
    init = ir.Function("__init__", head, (*stores, ir.Return(None, origin)), place)
    call = ir.Function("__call__", (ir.Param(own), *rest), (*reads, *body), place)
    made = (
        dataclasses.replace(lifted, function=function, defaults=frozenset(), code=None)
        for function in (init, call)
    )
    return next(made), next(made)


def _parameters(obj: Any) -> list[ir.Param] | None:
    """The parameters of a function of the module or of NumPy that may be given by position."""
    if isinstance(obj, np.ufunc):
        return [ir.Param(name) for name in parameter_names(obj, None)]
    try:
        found = plain_signature(obj).parameters.values()
    except (TypeError, ValueError):
        return None
    params = []
    for p in found:
        plain = p.default is None or isinstance(p.default, (bool, int, float, str))
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            params.append(ir.Param(p.name))
        elif p.kind is p.POSITIONAL_OR_KEYWORD and plain:
            params.append(ir.Param(p.name, default=ir.Const(p.default)))
        elif p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            params.append(ir.Param(p.name, "*" if p.kind is p.VAR_POSITIONAL else "**"))
    return params if params else None


class _Desugaring(ir.Rewriter):
    """One function: which of its function values are kept, and what takes their place."""

    def __init__(self, classes: FunctionClasses, lowered: Lowered) -> None:
        self.classes = classes
        self.scope = lowered.scope
        self.names = Names(all_names(lowered.function))
        self.added: set[str] = set()
        stmts = list(ir.statements(lowered.function.body))
        self.counts = ir.bindings(stmts, lowered.function.param_names)
        self.values: dict[str, list[ir.Expr]] = {}
        for stmt in stmts:
            match stmt:
                case ir.Assign(target=str(name), value=value):
                    self.values.setdefault(name, []).append(value)
        self.holders: set[str] = set()
        self.kept: set[str] = set()
        for stmt in stmts:
            self.kept |= self._kept_by(stmt)
        self._follow()

    def _captures(self, expr: ir.Expr, above: frozenset[str]) -> set[str]:
        """The names of the functions that an expression may be, one of which captures values."""
        if not isinstance(expr, ir.Var) or expr.name in above:
            return set()
        values = self.values.get(expr.name, [])
        found = {expr.name} if any(map(is_partial, values)) else set()
        return found.union(*(self._captures(v, above | {expr.name}) for v in values))

    def _kept_by(self, stmt: ir.Stmt) -> set[str]:
        """The names of capturing functions that a statement puts where the run looks them up."""
        found: list[ir.Expr] = []
        match stmt:
            case ir.Assign(target=str(name), value=value) if is_partial(value):
                if self.counts[name] > 1:
                    found.append(ir.Var(name))
            case ir.Assign(target=str(name), value=ir.Var() as value) if self.counts[name] > 1:
                found.append(value)
            case ir.Store(value=value):
                found.append(value)
            case ir.Return(value=ir.Var() as value):
                found.append(value)
        for expr in ir.expressions(stmt):
            for part in ir.walk(expr):
                found += _held_items(part)
                if isinstance(part, ir.Call) and any(map(ir.is_starred, part.args)):
                    found += ir.arguments(part)  # (which parameters these are the run says)
        return {name for e in found for name in self._captures(e, frozenset())}

    def _follow(self) -> None:
        """What kept functions capture is kept with them."""
        work = list(self.kept)
        while work:
            for value in self.values.get(work.pop(), ()):
                more = {n for n in ir.names_in(value) if self._captures(ir.Var(n), frozenset())}
                work += more - self.kept
                self.kept |= more

    # ----------------------------------------------------------------------- what is written

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        before: list[ir.Stmt] = []
        match stmt:
            case ir.Assign(target=str(name), value=value) if name in self.kept:
                if is_partial(value) or is_function(value):
                    made = self.classes.made(value, self.scope, stmt.origin.place)
                    yield stmt if made is None else dataclasses.replace(stmt, value=made)
                    return
            case ir.Store(value=ir.Ref() as value) if self._stands_for(value):
                stmt = dataclasses.replace(stmt, value=self._named(value, stmt.origin, before))
        stmt = ir.map_statement(stmt, lambda e: self._with_items(e, stmt.origin, before))
        stmt = self.inside(stmt)
        yield from before
        yield stmt

    def _with_items(self, expr: ir.Expr, origin: ir.Origin, before: list[ir.Stmt]) -> ir.Expr:
        """A display, or a call that fills a container, with objects for its functions."""
        items = _held_items(expr)
        if not any(isinstance(i, ir.Ref) and self._stands_for(i) for i in items):
            return expr

        def item(e: ir.Expr) -> ir.Expr:
            stands = isinstance(e, ir.Ref) and self._stands_for(e)
            return self._named(e, origin, before) if stands else e  # type: ignore[arg-type]

        if isinstance(expr, ir.Call):
            return dataclasses.replace(expr, args=tuple(map(item, expr.args)))
        assert isinstance(expr, ir.Display)
        return dataclasses.replace(expr, items=tuple(map(item, expr.items)))

    def _stands_for(self, ref: ir.Ref) -> bool:
        """Whether a function without captures, beside others, becomes an object too."""
        return is_function(unwrapped(ref)) and is_function(ref)

    def _named(self, ref: ir.Ref, origin: ir.Origin, before: list[ir.Stmt]) -> ir.Expr:
        made = self.classes.made(ref, self.scope, origin.place)
        if made is None:
            return ref
        name = self.names.fresh(ref.text.rpartition(".")[2])
        self.added.add(name)
        before.append(ir.Assign(name, made, origin))
        return ir.Var(name)


def _held_items(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    """What a display holds, or a method of a container, or a class, is given."""
    match expr:
        case ir.Display(items=items):
            return items
        case ir.Call(fn=ir.Attribute() | ir.Ref(obj=type()), args=args):
            return args
    return ()


def refuse_compared(function: ir.Function, every: bool = False) -> None:
    """Refuse a comparison with a function that is made inside: where its name stands there is
    another function each time. With `every`, with any function: it may be an object now."""
    for stmt in ir.statements(function.body):
        for part in (p for expr in ir.expressions(stmt) for p in ir.walk(expr)):
            match part:
                case ir.Call(fn=ir.Ref(obj=obj), args=args) if any(obj is c for c in _COMPARING):
                    if any(_is_made_inside(a) or (every and is_function(a)) for a in args):
                        raise UnsupportedError(
                            "a function is compared with one that is defined inside "
                            f"{function.name}, or stored beside such a function",
                            part.at or stmt.origin.place,
                            "Compare names: store them beside the functions, or as keys of a dict.",
                        )


def _is_made_inside(expr: ir.Expr) -> bool:
    ref = expr.args[0] if is_partial(expr) else expr  # type: ignore[union-attr]
    return isinstance(ref, ir.Ref) and lifted_of(ref.obj) is not None
