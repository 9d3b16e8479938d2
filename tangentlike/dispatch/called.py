"""Derivatives of functions that only the running program knows (`runtime.functions`).

The call is what is differentiated: for `f(x, n, rate=k)` the function

    def f_call(x0, x1, *, rate):
        return f(x0, x1, rate=rate)

so that anything that can be called by name can be called at run time, partials and NumPy's
functions included. For a method (`runtime.functions.Method`) its object is one more parameter:

    def act_call(owner, x0):
        return owner.act(x0)

The object of an `Unbound` method, which may carry derivatives, is the first of the arguments.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import linecache
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import ir
from ..ad.request import Request
from ..errors import UnsupportedError, with_article
from ..frontend.cuts import raised_as
from ..frontend.owners import is_library
from ..frontend.structures import Structures, structures_of
from ..ir.kind import OTHER
from ..ir.names import Names
from ..pipeline.stages import Derived, derive_in_any_form
from ..pytree import leaves
from ..rules.definitions import definition
from ..rules.twins import twin
from ..runtime.functions import LOOKUPS, Method, Reader, Unbound, method_of, position_name

_OWNER = "held_by"  # the parameter for the object that a method is of
_BY_NAME = (type, np.ufunc)  # whose methods are called by name
_count = itertools.count(1)
_PLAIN = (
    types.FunctionType,
    types.BuiltinFunctionType,
    np.ufunc,
    functools.partial,
    functools._lru_cache_wrapper,
    type(np.sum),  # NumPy's functions that others may overload
)
_ALONE = (*_BY_NAME, *_PLAIN, types.ModuleType)  # which are the same for all that call them


def derive_call(
    f: Any,
    count: int,
    wrt: tuple[Any, ...],
    words: tuple[str, ...],
    mode: str,
    writes: bool,
    outer: tuple[Any, ...],
    looked_up: tuple[str, ...],
) -> tuple[Any, Callable[[], bool]]:
    """The pair or the tangent function of one way of calling a function, and what tells whether
    its helpers are still those that were read."""
    name, names, first = _name_of(f), _parameters(wrt, words), position_name(0, words)
    # (Nothing is known of the arguments: they may be complex.)
    request = Request(
        mode,
        names,
        has_complex=True,
        exposed=True,
        settled=True,
        writes=writes,
        by_identity=writes,
        # (What is asked for itself would be asked for again without end, unless it is Python.)
        looked_up=frozenset(looked_up) - ({name} if _asks_itself(f) else set()),
    )
    if isinstance(f, Unbound) and isinstance(f.owner, _ALONE):
        name, called = _called_alone(f)
        call = _call_of(called, name, count, words, [first])
    elif isinstance(f, Method) and not isinstance(f.owner, _BY_NAME):
        call = _method_call(f, name, count, words)
        request = replace(request, structures=_known_structures(f, _object_name(f, words)))
    else:
        if not isinstance(f, Method):
            _refuse_hidden(f, name)
        call = _call_of(f, name, count, words)
    try:
        made = derive_in_any_form(call, request)
    except UnsupportedError as refusal:  # (which no `except Exception` of the program is to take)
        raise raised_as(refusal) from None
    if isinstance(f, Method) and any(
        _asks_again(function, _object_name(f, words)) for function in made.module.functions
    ):
        raise _not_followed(f)
    known = getattr(f, "gives_outer", False)
    _refuse_effects(made, call, name, writes, known, _parameters(outer, words))
    for function in made.functions if known else ():  # (whose derivatives are called where it is)
        function.__dict__["gives_outer"] = True
    given = made.functions if mode == "callee" else _with_tangents_named(made.function, call, names)
    return given, made.meanings.hold


def _with_tangents_named(function: Any, call: Any, names: Sequence[str]) -> Any:
    """A tangent function whose tangents have the names that the text around the call gives them:
    something of the call's own may have one of them (`x0_dot` for `x0.dot`)."""
    own = list(inspect.signature(call).parameters.values())
    free = Names(p.name for p in own)
    wanted = [free.fresh(f"{name}_dot") for name in names]
    seeds = list(inspect.signature(function).parameters)[len(own) :]
    if seeds == wanted:
        return function
    plain = [p.name for p in own if p.kind != p.KEYWORD_ONLY]
    words = [p.name for p in own if p.kind == p.KEYWORD_ONLY]
    given = [*plain, *(f"{w}={w}" for w in words), *map("{}={}".format, seeds, wanted)]
    held, text = {"tangents": function}, f"({', '.join(given)})"
    return _with_source("tangents", call.__name__, plain, [], (*words, *wanted), held, text)


def _parameters(places: tuple[Any, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    """The names of arguments, which are given by position or by name."""
    return tuple(position_name(p, words) if isinstance(p, int) else p for p in places)


def _refuse_effects(
    made: Derived, call: Any, name: str, writes: bool, expected: bool, outer: tuple[str, ...]
) -> None:
    """Refuse what the text around the call does not expect of a function, which is `expected` to
    give back what is defined outside it where it is known there, and writes no argument that is
    held `outer`side of the caller."""
    kept = {_OWNER, *outer}
    if made.written_params and (not writes or not kept.isdisjoint(made.written_params)):
        of_writes = UnsupportedError(
            f"`{name}`, which is not known until run time, writes its arguments",
            hint="Call it by its name, or let it return a new array.",
        )
        of_writes.of_names = not writes
        raise of_writes
    params = inspect.signature(call).parameters.keys() - ({_OWNER} if writes else set())
    given = [name for name in made.given_back if name not in params]
    if given and not expected:  # (the text around the call takes what it gives for its own)
        raise UnsupportedError(
            f"`{name}`, which is not known until run time, returns `{given[0]}` itself, "
            "which is defined outside it",
            hint=f"Call it by its name, or let it return a copy: `{given[0]}.copy()`.",
        )


def _called_alone(f: Unbound) -> tuple[str, Any]:
    """The name of what is called of a module, a class or a function that stands where an object
    might, and that itself."""
    if f.__name__ != "__call__":
        return f.__name__, method_of(f.owner, f.__name__)
    name = _name_of(f.owner)
    _refuse_captured(f.owner)
    _refuse_hidden(f.owner, name)
    return name, f.owner


def described(owner: Any) -> Any:
    """What the derivative of a method depends on of its object: the classes of what it holds, or
    which class or function it is itself."""
    return id(owner) if isinstance(owner, _ALONE) else structures_of({"": owner})


def _object_name(f: Method, words: tuple[str, ...]) -> str:
    return position_name(0, words) if isinstance(f, Unbound) else _OWNER


def _known_structures(f: Method, name: str) -> Structures:
    """What is known of the object that a method is of; refused where that is nothing."""
    if isinstance(f.owner, (str, bytes)):
        return ((name, OTHER),)
    known = structures_of({name: f.owner})
    if not known:
        raise _not_followed(f)
    return known


def _not_followed(f: Method) -> UnsupportedError:
    what = f"`{f.__name__}` of {with_article(type(f.owner).__name__)}"
    return UnsupportedError(
        f"no derivative rule for {what}",
        hint="Add a rule with @tl.rule for a function that calls it, or apply tl.stop_gradient to "
        "its arguments.",
    )


def _refuse_captured(f: Any) -> None:
    """What a function captures may carry derivatives where the function stands for an object."""
    if any(map(leaves.has_leaf, _captured_by(f))):
        raise UnsupportedError(
            f"`{_name_of(f)}`, which is not known until run time, captures numbers or arrays",
            hint="Give it what it captures as arguments where it is called.",
        )


def _captured_by(f: Any) -> list[Any]:
    """What a function holds beside its text, and may have been given while another one ran."""
    held: list[Any] = []
    while isinstance(f, functools.partial):
        held += (*f.args, *f.keywords.values())
        f = f.func
    if "<locals>" in getattr(f, "__qualname__", ""):  # (others were made before anything ran)
        held += getattr(f, "__defaults__", None) or ()
    return held + [cell.cell_contents for cell in getattr(f, "__closure__", None) or ()]


def _asks_itself(f: Any) -> bool:
    """Whether it is a method that is no function of Python's, of which the calls are followed."""
    if not isinstance(f, Method):
        return False
    method = inspect.getattr_static(type(f.owner), f.__name__, None)
    return not isinstance(method, types.FunctionType)


def _asks_again(function: ir.Function, name: str) -> bool:
    """Whether a function asks the object that a method is of for that method, or for the
    derivative of its call, which would be asked again without end."""
    calls = (
        part
        for stmt in ir.statements(function.body)
        for expr in ir.expressions(stmt)
        for part in ir.walk(expr)
        if isinstance(part, ir.Call) and getattr(part.fn, "obj", None) in LOOKUPS
    )
    return any(call.args[0] == ir.Var(name) for call in calls)


def _name_of(f: Any) -> str:
    name = getattr(f, "__name__", type(f).__name__)
    return name if name.isidentifier() else "function"


def _refuse_hidden(f: Any, name: str) -> None:
    """An object that is called, or a method, may hold what carries derivatives."""
    inner = f
    while isinstance(inner, functools.partial):
        inner = inner.func
    owner = getattr(inner, "__self__", None)
    if isinstance(inner, type) and issubclass(inner, (int, float, complex, np.number)):
        return
    if isinstance(inner, _PLAIN) and (owner is None or inspect.ismodule(owner)):
        return
    if twin(inner) is not None:  # a function of CuPy
        return
    by_class = inspect.getattr_static(type(inner), "__call__", None)
    if isinstance(inner, type):
        if not is_library(inner):
            return
    elif isinstance(by_class, types.FunctionType) and not is_library(type(inner)):
        return  # (an object that carries derivatives is called through `unbound`)
    raise UnsupportedError(
        f"`{name}` is called, and at run time it is not a plain function but a "
        f"{type(inner).__name__}",
        hint="Pass a function, or call the method by its name; a class is called by its name, "
        "defined outside the function.",
    )


def _method_call(f: Method, name: str, count: int, words: tuple[str, ...]) -> types.FunctionType:
    """A function of an object and the arguments that its method is given."""
    owner = _object_name(f, words)
    called = owner if f.__name__ == "__call__" else f"{owner}.{f.__name__}"
    if isinstance(f, Reader):
        return _with_source(called, name, [owner], [], (), {}, "")
    positions = [position_name(i, words) for i in range(isinstance(f, Unbound), count)]
    method = inspect.getattr_static(type(f.owner), f.__name__, None)
    if definition(method) is not None:  # (of a library's class; it is read as a program)
        return _with_source(name, name, [], [owner, *positions], words, {name: method})
    return _with_source(called, name, [owner], positions, words, {})


def _call_of(
    f: Any, name: str, count: int, words: tuple[str, ...], unread: Sequence[str] = ()
) -> types.FunctionType:
    """A function of the call's own arguments, the first of which may be left `unread`."""
    held = f.owner if isinstance(f, Method) else f
    wanted = str(getattr(held, "__name__", name)) if isinstance(f, Method) else name
    inner = f"_{wanted}" if wanted in ("np", *words) or wanted.startswith("x") else wanted
    called = f"{inner}.{name}" if isinstance(f, Method) else inner
    positions = [position_name(i, words) for i in range(len(unread), count)]
    return _with_source(called, name, unread, positions, words, {inner: held})


def _with_source(
    called: str,
    name: str,
    before: Sequence[str],
    positions: list[str],
    words: tuple[str, ...],
    held: dict[str, Any],
    call: str = "({})",
) -> types.FunctionType:
    """A function that calls what is written so with its own arguments, with source."""
    params = ", ".join([*before, *positions, *(["*"] if words else []), *words])
    given = ", ".join([*positions, *(f"{w}={w}" for w in words)])
    text = f"def {name}_call({params}):\n    return {called}{call.format(given)}\n"
    file = f"<tangentlike call {next(_count)} of {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"np": np, **held, "__name__": "called"}
    exec(compile(text, file, "exec"), namespace)
    made: types.FunctionType = namespace[f"{name}_call"]
    return made
