"""Calls of functions that are values: which function it is, seen before the program runs.

before::                                    after::
    f = functools.partial(decay, rate=k)        y = decay(x, rate=k)
    y = f(x)                                    z = solve(x, rate=k)
    z = solve(f, x)

where the second `solve` is a variant of the user's, made for `decay` (`variants`). A call whose
result is such a value is written out, so that what it captures can be seen.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ir, runtime
from ...errors import UnsupportedError
from ...frontend.lifting import lifted_of
from ...frontend.lower import Lowered, names_of
from ...frontend.signatures import plain_signature
from ...ir.names import Names
from ...rules.definitions import is_image_filter, output_named
from .bound_methods import with_bound_methods
from .function_objects import refuse_compared
from .function_values import (
    FUNCTIONS,
    FunctionValues,
    is_function,
    is_partial,
    maps_given,
    starred_name,
    unwrapped,
)
from .operators import MAPS, apart, linear_map_parts, operator_name, tangent_call

if TYPE_CHECKING:
    from .variants import Variants

_DEEPEST = 8  # functions made of functions, or functions written out in functions
_EXPLAIN = (
    "Python would read the value it has when the function is called. "
    "Pass it as a default: `{0}={0}`."
)


def with_known_functions(lowered: Lowered, variants: Variants) -> Lowered:
    """A function in which calls of function values say which function that is."""
    lowered = with_bound_methods(lowered)
    function = lowered.function
    if not any(map(_concerns, ir.statements(function.body))):
        return lowered
    refuse_compared(function)
    resolver = _Resolver(function, variants, set(lowered.temporaries))
    body = _without_unread(resolver.block(function.body), resolver.known)
    return lowered.with_body(body, resolver.temporaries)


def _starred_map(name: ir.Var) -> ir.Opaque:
    return ir.Opaque(f"**{name.name}", (name.name,), (name,))


def _others(options: ir.Expr, words: ir.Expr) -> ir.Call:
    """The `**options` without some words."""
    helper = ir.Ref("other_entries", runtime.other_entries)
    return ir.Call(helper, (ir.Var(starred_name(options)), words))


def _concerns(stmt: ir.Stmt) -> bool:
    """Whether a statement has to do with functions other than calling one by its name."""
    if isinstance(stmt, ir.Assign) and is_function(stmt.value):
        return True
    for expr in ir.expressions(stmt):
        for part in ir.walk(expr):
            match part:
                case ir.Call(fn=ir.Ref(obj=obj)) if obj is functools.partial:
                    return True
                case ir.Call(fn=ir.Ref(obj=obj) as fn) if not isinstance(obj, np.ufunc):
                    if unwrapped(fn) is not fn or inspect.isfunction(obj):
                        return True
                case ir.Call(fn=ir.Var()):
                    return True
                case ir.Opaque() if ir.is_starred(part):
                    return True
    return False


class _Resolver(FunctionValues, ir.Rewriter):
    """Goes through one function in order and rewrites its calls."""

    def __init__(self, function: ir.Function, variants: Variants, temporaries: set[str]) -> None:
        super().__init__(function)
        self.variants = variants
        self.temporaries = temporaries
        self.names: Names = names_of(function)
        self.packed = {p.name for p in function.params if p.kind == "*"}  # (tuples)
        self.depth = 0
        self.bound = set(function.param_names)  # so far
        self.latest: dict[str, ir.Display] = {}  # temporaries that still hold what they show

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        before: list[ir.Stmt] = []
        applied = self.operator(stmt)
        if applied is not None:
            for new in applied:
                yield from self.statement(new)
            return
        stmt = self.of_functions(stmt)
        match stmt:
            case ir.Assign(value=value) if is_partial(value):
                stmt = dataclasses.replace(stmt, value=self.kept_values(value, stmt, before))
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                self.refuse_unbound(call)
                found = self.call(call, stmt.origin, before)
                before += [ir.Do(check, stmt.origin) for check in apart(found)]
                made = self.written_out(found, stmt)
                if made is not None:
                    yield from before
                    yield from made
                    return
                self.refuse_kept(found)
                stmt = stmt if found == call else dataclasses.replace(stmt, value=found)
            case ir.Assign(value=ir.Display() as value):
                self.refuse_kept(value)
            case ir.Store(value=value):
                self.refuse_kept(ir.Display("tuple", (value,)))
        if not isinstance(stmt, ir.Assign | ir.Do):
            self.bound.update(ir.binds(stmt))  # (the variable of a loop)
            stmt = self.inside(stmt)
        yield from before
        yield stmt
        self.learn(stmt)
        self.notice(stmt)

    def of_functions(self, stmt: ir.Stmt) -> ir.Stmt:
        """A statement in which attributes of known functions are those of what is defined outside:
        `f.calls = 0` after `f = g` is `g.calls = 0`."""

        def named(expr: ir.Expr) -> ir.Expr:
            expr = ir.rebuild(expr, named)
            if isinstance(expr, ir.Attribute) and isinstance(expr.base, ir.Var):
                value = self.value_of(expr.base)
                if isinstance(value, ir.Ref):
                    return dataclasses.replace(expr, base=value)
            return expr

        place = stmt.target if isinstance(stmt, ir.Store | ir.Update) else None
        if isinstance(place, ir.Attribute) and is_partial(self.value_of(place.base)):
            raise UnsupportedError(
                f"an attribute `{place.name}` is set on a function that captures variables",
                stmt.origin.place,
                "Make it an object of a class with `__call__`, or keep the value in a variable of "
                "its own (`nonlocal`).",
            )
        stmt = ir.map_statement(stmt, expr=named)
        target = named(place) if isinstance(place, ir.Attribute) else place
        return stmt if target is place else ir.replaced(stmt, target=target)

    def notice(self, stmt: ir.Stmt) -> None:
        """Remember the items of a display until one of them, or the name, is bound again."""
        bound = {n for s in ir.statements((stmt,)) for n in ir.binds(s)}
        self.bound |= bound
        gone = [n for n, d in self.latest.items() if bound & (ir.names_in(d) | {n})]
        for name in gone:
            del self.latest[name]
        match stmt:
            case ir.Assign(target=str(name), value=ir.Display() as value):
                if name in self.temporaries:
                    self.latest[name] = value

    def operator(self, stmt: ir.Stmt) -> list[ir.Stmt] | None:
        """A statement that applies `tl.grad` and the like to a known function, without them."""
        if not isinstance(stmt, ir.Assign) or not operator_name(stmt.value):
            return None
        call = stmt.value
        assert isinstance(call, ir.Call)
        value = self.value_of(call.args[0])
        if not isinstance(value, ir.Ref | ir.Call):
            return None
        name = operator_name(call)
        if name == "function":
            made = self.value_of(call)
            if made is None or not isinstance(stmt.target, str):
                return None
            if stmt.target not in self.temporaries:
                self.refuse_kept(ir.Display("tuple", (value,)))
            return [ir.Assign(stmt.target, made, stmt.origin)]
        if name == "tangent" and len(call.args) == 3 and not call.kwargs:
            primals, tangents = map(self.items_of, call.args[1:])
            if primals is not None and tangents is not None:
                new = tangent_call(call, value, primals, tangents)
                return None if new is None else [ir.Assign(stmt.target, new, stmt.origin)]
        if name in MAPS and isinstance(stmt.target, tuple) and len(stmt.target) == 2:
            known, args = self.variants.effects, call.args[1:]
            parts = None if call.kwargs else linear_map_parts(name, call, value, args, known)
            if parts is not None:
                self.refuse_kept(ir.Display("tuple", (value,)))
                both = zip(stmt.target, parts, strict=True)
                return [ir.Assign(target, part, stmt.origin) for target, part in both]
        return None

    def items_of(self, expr: ir.Expr) -> tuple[ir.Expr, ...] | None:
        """The items of a tuple or list that can be seen."""
        known = self.latest.get(expr.name) if isinstance(expr, ir.Var) else expr
        return known.items if isinstance(known, ir.Display) and not known.keys else None

    def expression(self, expr: ir.Expr) -> ir.Expr:
        """Calls inside an expression that stays whole."""
        if is_partial(expr):
            return expr
        expr = ir.rebuild(expr, self.expression)
        return self.direct(expr) if isinstance(expr, ir.Call) else expr

    def kept_values(self, value: ir.Expr, stmt: ir.Assign, before: list[ir.Stmt]) -> ir.Expr:
        """A partial takes the values of its arguments now; a name that is bound again later is
        given another name, and starred containers are copied. What a local function captures is
        used at once or refused."""
        named = functools.partial(self._made_before, stmt.origin, before)

        def taken(e: ir.Expr) -> ir.Expr:
            name = starred_name(e)
            fixed_here = name in self.packed and name not in self.rebound
            if not name or fixed_here or isinstance(self.known.get(name), ir.Display):
                return e
            assert isinstance(e, ir.Opaque)
            if e.text.startswith("**"):
                of_words = ir.Call(ir.DICT, (ir.Var(name),))
                return _starred_map(named(f"{name}_taken", of_words))
            now = named(f"{name}_taken", ir.Call(ir.TUPLE, (ir.Var(name),)))
            return dataclasses.replace(e, text=f"*{now.name}", names=(now.name,), values=(now,))

        assert isinstance(value, ir.Call)
        value = dataclasses.replace(value, args=tuple(map(taken, value.args)))
        target = value.args[0]
        lifted = lifted_of(target.obj) if isinstance(target, ir.Ref) else None
        if lifted is not None:
            if stmt.target not in self.temporaries:
                self.refuse_kept(value)
            return value

        def fixed(e: ir.Expr) -> ir.Expr:
            rebound = isinstance(e, ir.Var) and e.name in self.rebound
            return named(e.name, e) if rebound else e  # type: ignore[union-attr]

        kwargs = tuple((word, fixed(e)) for word, e in value.kwargs)
        return dataclasses.replace(value, args=tuple(map(fixed, value.args)), kwargs=kwargs)

    def _made_before(
        self, origin: ir.Origin, before: list[ir.Stmt], wish: str, value: ir.Expr
    ) -> ir.Var:
        """A name for a value, which a statement before the others binds."""
        name = self.names.fresh(wish)
        self.temporaries.add(name)
        self.counts[name] = 1
        before.append(ir.Assign(name, value, origin))
        return ir.Var(name)

    def refuse_kept(self, expr: ir.Expr) -> None:
        """A local function that is kept, where a name it uses is bound again."""
        match expr:
            case ir.Call(fn=ir.Ref(obj=obj)) if isinstance(obj, FUNCTIONS):
                return  # (it calls what it is given, or is read itself)
            case ir.Display(items=items):
                parts: tuple[ir.Expr, ...] = items
            case ir.Call() if is_partial(expr):
                parts = (expr, *expr.args[1:], *(v for _, v in expr.kwargs))
            case ir.Call():
                parts = ir.arguments(expr)
            case _:
                return
        self._refuse_bound_later(expr, parts, frozenset())

    def refuse_unbound(self, call: ir.Call) -> None:
        """The same where a name that it uses has no value yet: a call that is given the function
        may give it back."""
        self._refuse_bound_later(call, ir.arguments(call), self.bound)

    def _refuse_bound_later(
        self, expr: ir.Expr, parts: Iterable[ir.Expr], known: Collection[str]
    ) -> None:
        for part in parts:
            value = self.value_of(part)
            if isinstance(value, ir.Call) and isinstance(value.args[0], ir.Ref):
                lifted, words = lifted_of(value.args[0].obj), dict(value.kwargs)
                again = frozenset[str]() if lifted is None else lifted.rebound
                # (Another local function is given as what that captures.)
                given = {n: ir.names_in(words.get(n, ir.Var(n))) for n in again}
                later = sorted(name for name in again if given[name].difference(known))
                if lifted is not None and later:
                    name = later[0]
                    raise UnsupportedError(
                        f"a function that uses `{name}` is stored, and `{name}` is bound more "
                        "than once",
                        getattr(expr, "at", None) or lifted.function.place,
                        _EXPLAIN.format(name),
                        "cells",
                    )

    # ------------------------------------------------------------------------------- calls

    def direct(
        self, call: ir.Call, named: Callable[[str, ir.Expr], ir.Var] | None = None
    ) -> ir.Call:
        """`f(x)` with the function that `f` is; `named` gives a value a name in front of it."""
        value = self.value_of(call.fn)
        if value is None or value is call.fn or isinstance(value, ir.Display):
            return call
        if isinstance(value, ir.Ref):
            return dataclasses.replace(call, fn=value)
        assert isinstance(value, ir.Call)
        value = self.unstarred(value)
        target, *args = value.args
        assert isinstance(target, ir.Ref)
        maps = maps_given(value)
        args = [arg for arg in args if not any(arg is found for found in maps)]
        if maps and call.kwargs:  # (which count, where both have a word)
            if named is None:
                return call
            words = ir.Display("tuple", tuple(ir.Const(word) for word, _ in call.kwargs))
            maps = [_starred_map(named("others", _others(arg, words))) for arg in maps]
        kwargs = {**dict(value.kwargs), **dict(call.kwargs)}
        lifted = lifted_of(target.obj)
        if lifted is not None:  # a parameter that is given by position needs no default
            names = [p.name for p in lifted.function.params if p.kind in ("positional", "any")]
            for name in names[: len(call.args)]:
                if name in lifted.defaults and name not in dict(call.kwargs):
                    kwargs.pop(name, None)
        return ir.Call(target, (*args, *call.args, *maps), tuple(kwargs.items()), call.at)

    def call(self, call: ir.Call, origin: ir.Origin, before: list[ir.Stmt]) -> ir.Call:
        """A call with the functions that it calls, and that it is given, made known."""
        call = self.unstarred(ir.Call(call.fn, *_mapped(call, self.expression), call.at))
        call = self.direct(call, functools.partial(self._made_before, origin, before))
        if isinstance(call.fn, ir.Ref) and is_image_filter(call.fn.obj):
            call = output_named(call)
        if isinstance(call.fn, ir.Ref) and inspect.isfunction(call.fn.obj):
            call = self.variants.of_call(call, self.value_of)
        return ir.Call(call.fn, *_mapped(call, lambda e: self.named(e, origin, before)), call.at)

    def named(self, expr: ir.Expr, origin: ir.Origin, before: list[ir.Stmt]) -> ir.Expr:
        """A name for an argument that is not an atom any more."""
        wanted = is_partial(expr) or (isinstance(expr, ir.Index) and isinstance(expr.base, ir.Ref))
        if not wanted:
            return expr
        if isinstance(expr, ir.Call):
            args, kwargs = _mapped(expr, lambda e: self.named(e, origin, before))
            expr = ir.Call(expr.fn, args, kwargs, expr.at)
            ref = expr.args[0]
            wish = ref.text.rpartition(".")[2] if isinstance(ref, ir.Ref) else "function"
        else:
            wish = "given"
        name = self.names.fresh(f"{wish}_")
        self.temporaries.add(name)
        self.counts[name] = 1
        before.append(ir.Assign(name, expr, origin))
        self.learn(before[-1])
        return ir.Var(name)

    def written_out(self, call: ir.Expr, stmt: ir.Stmt) -> list[ir.Stmt] | None:
        """The body of a function that returns a function, in place of its call."""
        if not isinstance(stmt, ir.Assign) or not isinstance(call, ir.Call):
            return None
        if not isinstance(call.fn, ir.Ref) or not inspect.isfunction(call.fn.obj):
            return None
        found = self.variants.function_result(call.fn.obj)
        if found is None:
            return None
        if self.depth > _DEEPEST:
            raise UnsupportedError(
                f"`{call.fn.text}` makes functions of functions, without end",
                call.at,
                "Bound the depth, or write a loop.",
            )
        body = self._body_of(found, call)
        if body is None:
            return None
        *statements, last = body
        assert isinstance(last, ir.Return) and last.value is not None
        statements.append(ir.Assign(stmt.target, last.value, stmt.origin))
        self.depth += 1
        made = [new for s in statements for new in self.statement(s)]
        self.depth -= 1
        if stmt.target not in self.temporaries:
            self.refuse_kept(ir.Display("tuple", (last.value,)))
        return made

    def _body_of(self, lowered: Lowered, call: ir.Call) -> ir.Block | None:
        """The body of a callee by names of this function, its parameters bound."""
        assert isinstance(call.fn, ir.Ref)
        function = lowered.function
        try:
            signature = plain_signature(call.fn.obj)
            actuals = signature.bind(*call.args, **dict(call.kwargs)).arguments
        except (TypeError, ValueError):
            return None
        head: list[ir.Assign] = []
        origin = ir.Origin(function.place)
        for param in function.params:
            value = actuals.get(param.name, param.default)
            if param.kind in ("*", "**") or not isinstance(value, ir.Atom):
                return None
            head.append(ir.Assign(param.name, value, origin))
        bound = {n for s in (*head, *ir.statements(function.body)) for n in ir.binds(s)}
        new = {name: self.names.fresh(name) for name in sorted(bound)}
        for name in new.values():
            self.temporaries.add(name)
        given = (dataclasses.replace(stmt, target=new[str(stmt.target)]) for stmt in head)
        body = ir.renamed(function.body, {name: ir.Var(to) for name, to in new.items()})
        renamed = (*given, *body)
        for name, count in ir.bindings(ir.statements(renamed)).items():
            self.counts[name] = self.counts.get(name, 0) + count
        return renamed


def _mapped(call: ir.Call, fn: Any) -> tuple[Any, Any]:
    return tuple(map(fn, call.args)), tuple((word, fn(v)) for word, v in call.kwargs)


def _without_unread(body: ir.Block, known: Mapping[str, ir.Expr]) -> ir.Block:
    """Without the names for functions that nothing reads any more."""
    while True:
        read = {n for s in ir.statements(body) for n in ir.reads(s)}

        def unread(stmt: ir.Stmt, read: set[str] = read) -> ir.Block | None:
            match stmt:
                case ir.Assign(target=str(name), value=value) if name not in read:
                    part = isinstance(value, ir.Index) and isinstance(value.base, ir.Ref)
                    return () if name in known or is_partial(value) or part else None
            return None

        smaller = ir.rewrite(body, unread)
        if smaller is body:
            return body
        body = smaller
