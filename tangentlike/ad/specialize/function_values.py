"""Function values: what a name stands for that is called, where that can be seen.

A function value is written as what it is made of: a reference, or `partial(g, a, k=b)` of one. A
local function is the partial of a function that takes what it captures (`frontend.lifting`).
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ... import ir
from ...frontend.lifting import PARTIAL, rebound_names
from ...frontend.lower import Lowered, Scope, names_of
from ...frontend.primal import is_compiled_python
from ...frontend.structures import default_function
from ...ir.kind import NOTHING, UNKNOWN, Kind
from ...rules.definitions import as_defined
from ...rules.twins import as_numpy
from ...runtime import require_class, require_module, require_none
from ...runtime.functions import is_word
from .operators import derivative_value, operator_name

FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc)
_NUMBERS = (int, float, complex, np.number)


def is_partial(expr: Any) -> bool:
    """Whether an expression is `functools.partial(...)` of something."""
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(_, *_)):
            return obj is functools.partial
    return False


def is_function(expr: Any) -> bool:
    """Whether an expression refers to a function of Python or NumPy, or a class of numbers."""
    if not isinstance(expr, ir.Ref):
        return False
    if isinstance(expr.obj, type):
        return issubclass(expr.obj, _NUMBERS)
    return isinstance(expr.obj, FUNCTIONS)


def starred_name(expr: ir.Expr) -> str:
    """The name in `*xs` or `**options`; "" for anything else."""
    match expr:
        case ir.Opaque(text=text, names=(name,), values=(ir.Var(now),)):
            return now if text.lstrip("*") == name and text != name else ""
    return ""


def maps_given(call: ir.Call) -> list[ir.Expr]:
    """What a call is given as `**options`."""
    stars = (arg for arg in call.args if isinstance(arg, ir.Opaque) and ir.is_starred(arg))
    return [arg for arg in stars if arg.text.startswith("**")]


def words_of(
    call: ir.Call, kind_of: Callable[[ir.Expr], Kind]
) -> dict[ir.Expr, dict[str, ir.Index]]:
    """What `**options` give a call by which words, for those of which the keys are known:
    `norm(x, **p)` is given `g` as `p["g"]`. (It must be known that the program adds none, too.)"""
    taken, found = {word for word, _ in call.kwargs}, dict[ir.Expr, dict[str, ir.Index]]()
    for star in maps_given(call):
        kind = kind_of(of := ir.Var(starred_name(star)))
        plain = all(map(is_word, kind.names)) and taken.isdisjoint(kind.names)
        if of.name and kind.lasting and kind.items is not None and plain:
            taken.update(kind.names)
            found[star] = {key: ir.Index(of, ir.Const(key), call.at) for key in kind.names}
    return found


def given_words(call: ir.Call, words: Mapping[ir.Expr, Mapping[str, ir.Expr]]) -> ir.Call:
    """A call that is given words in the place of `**options`."""
    args = tuple(arg for arg in call.args if arg not in words)
    named = (item for given in words.values() for item in given.items())
    return dataclasses.replace(call, args=args, kwargs=(*call.kwargs, *named))


def words_named(
    call: ir.Call,
    kind_of: Callable[[ir.Expr], Kind],
    fresh: Callable[[str], str],
    origin: ir.Origin,
) -> tuple[list[ir.Stmt], ir.Call]:
    """`norm(x, **p)` -> `p_g = p["g"]; norm(x, g=p_g)`, where the keys are known."""
    before, named = list[ir.Stmt](), dict[ir.Expr, dict[str, ir.Expr]]()
    for star, words in words_of(call, kind_of).items():
        named[star] = {}
        for key, value in words.items():
            name = fresh(f"{starred_name(star)}_{key}")
            before.append(ir.Assign(name, value, origin))
            named[star][key] = ir.Var(name)
    return before, given_words(call, named) if named else call


def unwrapped(fn: ir.Ref) -> ir.Expr:
    """What a `functools.partial`, or a cached or compiled function of the module stands for."""
    obj = fn.obj
    if isinstance(obj, functools._lru_cache_wrapper):
        return unwrapped(ir.Ref(f"{fn.text}.__wrapped__", obj.__wrapped__))
    if is_compiled_python(obj):
        return unwrapped(ir.Ref(f"{fn.text}.py_func", obj.py_func))
    if isinstance(obj, functools.partial):
        target = unwrapped(ir.Ref(f"{fn.text}.func", obj.func))
        args = (
            ir.Index(ir.Ref(f"{fn.text}.args", obj.args), ir.Const(i)) for i in range(len(obj.args))
        )
        words = ir.Ref(f"{fn.text}.keywords", obj.keywords)
        kwargs = tuple((word, ir.Index(words, ir.Const(word))) for word in obj.keywords)
        if is_partial(target):
            assert isinstance(target, ir.Call)
            return ir.Call(PARTIAL, (*target.args, *args), (*target.kwargs, *kwargs))
        return ir.Call(PARTIAL, (target, *args), kwargs)
    return fn


class FunctionValues:
    """Which names of a function stand for which functions; `learn` goes through it in order."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.rebound = rebound_names(function)
        self.counts: dict[str, int] = dict.fromkeys(function.param_names, 1)
        for stmt in ir.statements(function.body):
            for name in ir.binds(stmt):
                self.counts[name] = self.counts.get(name, 0) + 1
        self.known: dict[str, ir.Expr] = {}

    def value_of(self, expr: ir.Expr) -> ir.Expr | None:
        """The function an expression stands for: a reference, or a partial of one whose
        arguments are atoms or function values in turn; None where that is not known."""
        match expr:
            case ir.Var(name):
                return self.known.get(name)
            case ir.Ref():
                found = unwrapped(expr)
                return found if is_function(found) or is_partial(found) else None
            case ir.Index(base=ir.Var(name), key=ir.Const(int(position))):
                items = self.known.get(name)
                if isinstance(items, ir.Display) and -len(items.items) <= position < len(
                    items.items
                ):
                    return self.value_of(items.items[position])
            case ir.Call(args=(first, *args)) if is_partial(expr):
                target = self.value_of(first)
                if target is None or isinstance(target, ir.Display):
                    return None
                args = [self.expanded(a) for a in args]
                kwargs = {word: self.expanded(a) for word, a in expr.kwargs}
                if isinstance(target, ir.Call):
                    target = self.unstarred(target)
                    if kwargs and maps_given(target):  # (which count, where both have a word)
                        return None
                    kwargs = {**dict(target.kwargs), **kwargs}
                    args = [*target.args[1:], *args]
                    target = target.args[0]
                return ir.Call(PARTIAL, (target, *args), tuple(kwargs.items()), expr.at)
            case ir.Call(args=(first, *_)) if operator_name(expr) == "function":
                inner = self.value_of(first)
                if isinstance(inner, ir.Ref | ir.Call):
                    return derivative_value(expr, inner)
        return None

    def unstarred(self, call: ir.Call) -> ir.Call:
        """`f(x, *args, **options)` with the items of both, where these can be seen."""
        args: list[ir.Expr] = []
        kwargs = dict(call.kwargs)
        for arg in call.args:
            items = self.known.get(starred_name(arg))
            if not isinstance(items, ir.Display):
                args.append(arg)
            elif items.form != "dict":
                args += items.items
            elif all(map(_is_word, items.keys)):
                words = [k.value for k in items.keys if isinstance(k, ir.Const)]
                if set(words) & kwargs.keys():
                    return call
                kwargs.update(zip(words, items.items, strict=True))
            else:
                args.append(arg)
        return ir.Call(call.fn, tuple(args), tuple(kwargs.items()), call.at)

    def expanded(self, expr: ir.Expr) -> ir.Expr:
        value = self.value_of(expr)
        return expr if value is None or isinstance(value, ir.Display) else value

    def learn(self, stmt: ir.Stmt) -> None:
        """Remember the function that a statement binds a name to."""
        match stmt:
            case ir.Assign(target=str(name), value=value) if self.counts[name] == 1:
                if isinstance(value, ir.Display):
                    if self.stays(name, value):
                        self.known[name] = value
                    return
                known = self.value_of(value)
                if known is not None:
                    self.known[name] = known

    def stays(self, name: str, value: ir.Display) -> bool:
        """Whether a container holds the same items as long as its name lives."""
        again = {i.name for i in value.items if isinstance(i, ir.Var)} & self.rebound
        if again and not (again <= self.made_with and self.counts[name] == 1):
            return False
        return value.form == "tuple" or name in self.read_only

    @functools.cached_property
    def made_with(self) -> frozenset[str]:
        """The names of functions that stand in the same block just before a display of them, and
        get their values again only together with it (but where an exception comes between)."""
        if any(isinstance(s, ir.Try) for s in ir.statements(self.function.body)):
            return frozenset()
        blocks = [b for s in ir.statements(self.function.body) for b in ir.blocks(s)]
        found: set[str] = set()
        for block in (self.function.body, *blocks):
            fresh: set[str] = set()
            for stmt in block:
                match stmt:
                    case ir.Assign(target=str(name), value=value) if self.counts[name] == 1:
                        if is_partial(value):
                            fresh.add(name)
                            continue
                        if isinstance(value, ir.Display):
                            found |= fresh & ir.names_in(value)
                fresh.clear()
        return frozenset(found)

    @functools.cached_property
    def read_only(self) -> frozenset[str]:
        """The names of containers that are only read, item by item or starred."""
        bound = (n for s in ir.statements(self.function.body) for n in ir.binds(s))
        return frozenset(bound) - _handed_on(self.function)


def _handed_on(function: ir.Function) -> set[str]:
    """The names of containers that are not only read, item by item or starred."""
    found: set[str] = set()
    pending = [e for s in ir.statements(function.body) for e in ir.expressions(s)]
    for stmt in ir.statements(function.body):
        match stmt:
            case (
                ir.Store(target=target)
                | ir.Update(target=target)
                | ir.Return(value=ir.Var() as target)
            ):
                found |= ir.names_in(target)
    while pending:
        match pending.pop():
            case ir.Var(name):
                found.add(name)
            case ir.Index(base=ir.Var(), key=key):
                pending.append(key)
            case ir.Attribute(base=ir.Var(), name="get" | "keys"):
                pass
            case ir.Opaque() as code if ir.is_starred(code):
                pending += [v for v in code.values if not isinstance(v, ir.Var)]
            case expr:
                pending += ir.children(expr)
    return found


def known_result(function: ir.Function) -> ir.Expr | None:
    """The function value that a function returns, if that can be seen."""
    last = function.body[-1] if function.body else None
    if not isinstance(last, ir.Return) or last.value is None:
        return None
    values = FunctionValues(function)
    for stmt in function.body:
        values.learn(stmt)
    return values.value_of(last.value)


def with_words(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """A function in which calls are given one by one what it takes by names and hands on, where
    the call of itself tells which there are.

    before::                        after::
        def f(x, **options):            def f(x, **options):
                                            options_axis = options["axis"]
            return g(x, **options)          return g(x, axis=options_axis)
    """
    function = lowered.function
    last = function.params[-1] if function.params else None
    if last is None or last.kind != "**" or kinds.get(last.name, UNKNOWN).items is None:
        return lowered
    kind, bound = kinds[last.name], (n for s in ir.statements(function.body) for n in ir.binds(s))
    if last.name in _handed_on(function).union(bound):
        return lowered
    own = {last.name: ir.replaced(kind, lasting=True)}  # (the call makes it: nobody else has it)
    names, made = names_of(function), set[str]()

    def kind_of(expr: ir.Expr) -> Kind:
        return own.get(expr.name, UNKNOWN) if isinstance(expr, ir.Var) else UNKNOWN

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        match stmt:
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                before, new = words_named(call, kind_of, names.fresh, stmt.origin)
                made.update(name for s in before for name in ir.binds(s))
                yield from before
                stmt = stmt if new is call else dataclasses.replace(stmt, value=new)
        yield stmt

    return lowered.with_body(ir.rewrite(function.body, after=statement), made)


def _is_word(key: ir.Expr) -> bool:
    return isinstance(key, ir.Const) and isinstance(key.value, str) and is_word(key.value)


# --------------------------------------------------------------------------------------------------
# Modules that are values: `def model(xp, w): return xp.tanh(w)`, and `xp = np` in a function.
#
# before::                         after::
#     y = xp.tanh(x)                   y = np.tanh(x)
#
# Which module a name stands for is a fact about it (`Kind.module`), stated by the call for a
# parameter, so that a function which is given one is read once for each module.


def functions_of_modules(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function with what it takes from modules that are values, by the modules' names."""

    def module_of(expr: ir.Expr) -> types.ModuleType | None:
        match expr:
            case ir.Var(name):
                return kinds.get(name, UNKNOWN).module
            case ir.Attribute(ir.Var(name), field):
                of = kinds.get(name, UNKNOWN)
                return dict(of.fields).get(field, UNKNOWN).module
        return None

    ufuncs = _named_ufuncs(lowered.function)

    def expr(e: ir.Expr) -> ir.Expr:
        e = ir.rebuild(e, expr)
        if isinstance(e, ir.Attribute) and e.base in ufuncs:
            return dataclasses.replace(e, base=ufuncs[e.base])
        module = module_of(e.base) if isinstance(e, ir.Attribute) else None
        if module is None or not isinstance(e, ir.Attribute) or not hasattr(module, e.name):
            return e
        return ir.Ref(f"{_name_in(module, lowered.scope)}.{e.name}", getattr(module, e.name))

    body = ir.rewrite(lowered.function.body, expression=expr)
    if body is lowered.function.body:
        return lowered
    function = dataclasses.replace(lowered.function, body=body)
    return as_defined(as_numpy(dataclasses.replace(lowered, function=function)))


def _named_ufuncs(function: ir.Function) -> dict[ir.Expr, ir.Expr]:
    """The names that stand for one ufunc wherever they are read: `xp_add = np.add`."""
    bound = ir.bindings(list(ir.statements(function.body)), function.param_names)
    found: dict[ir.Expr, ir.Expr] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Ref(obj=np.ufunc()) as value):
                if bound[name] == 1:
                    found[ir.Var(name)] = value
    return found


def module_check(name: str, kind: Kind, function: ir.Function, scope: Scope) -> ir.Stmt | None:
    """The check that a parameter is the module it was taken for."""
    if kind.module is None or name not in function.param_names:
        return None
    expected = ir.Ref(_name_in(kind.module, scope), kind.module)
    check = ir.Ref(require_module.__name__, require_module)
    return ir.Do(
        ir.Call(check, (ir.Var(name), expected), at=function.place), ir.Origin(function.place)
    )


def _name_in(module: types.ModuleType, scope: Scope) -> str:
    """How a function calls a module: NumPy by its alias, others by their names."""
    root, dot, rest = module.__name__.partition(".")
    return f"{scope.numpy_alias if root == np.__name__ else root}{dot}{rest}"


# --------------------------------------------------------------------------------------------------
# What a function that was read for certain classes of objects checks first.


def _replaced_by_some(cls: type) -> tuple[ir.Expr, ...]:
    """The methods of a class for which some of its objects may have another function."""
    names = sorted(n for base in cls.__mro__ for n in vars(base) if default_function(cls, n))
    return tuple(map(ir.Const, dict.fromkeys(names)))


def guarded(lowered: Lowered, given: Mapping[str, Kind]) -> Lowered:
    """A function that begins with `require_class(layer, Layer)` for each object it is given, and
    with `require_none(xp)` for each None."""
    function = lowered.function
    origin = ir.Origin(function.place)
    checks: list[ir.Stmt] = [
        ir.Do(
            ir.Call(
                ir.Ref("require_class", require_class),
                (ir.Var(name), ir.Ref(kind.cls.__name__, kind.cls), *_replaced_by_some(kind.cls)),
                at=function.place,
            ),
            origin,
        )
        for name, kind in given.items()
        if kind.has_methods and kind.cls is not None and name in function.param_names
    ]
    modules = (module_check(n, k, function, lowered.scope) for n, k in given.items())
    checks += [check for check in modules if check is not None]
    nothing = ir.Ref("require_none", require_none)
    checks += [
        ir.Do(ir.Call(nothing, (ir.Var(name),), at=function.place), origin)
        for name, kind in given.items()
        if kind == NOTHING and name in function.param_names
    ]
    checks = [check for check in checks if check not in function.body[: len(checks)]]
    return lowered.with_body((*checks, *function.body)) if checks else lowered
