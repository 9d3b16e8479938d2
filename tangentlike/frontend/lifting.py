"""Functions defined inside a function and used as values: each becomes a function of its own.

What such a function captures becomes a parameter of it, so that derivatives flow through it as
through any argument. Where the program says its name, it now says which values go with it:

before::                                 after::
    def rhs(t, y):                           step(partial(rhs, k=k), y)
        return -k * y
    step(rhs, y)                         and `rhs` is `def rhs(t, y, *, k): return -k * y`

The values are those at the place of use. Python takes those at the call, which are the same as
long as nothing keeps the function: what does is refused if a captured name is bound again
(`Lifted.rebound`).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import ir
from ..errors import Place, UnsupportedError
from ..ir import Assign, Call, Const, Expr, Function, Origin, Param, Ref, Return, Var
from ..ir.names import Names
from ..runtime.records import attribute_of
from .keeping import Keeping, binding_counts, bound_by, free_names, names_read, rebound_names
from .nested import Closure, Define
from .resolve import Scope
from .signatures import bare_copy, give_signature, plain_signature

PARTIAL = Ref("functools.partial", functools.partial)
PARAMETER_KINDS = {
    "positional": inspect.Parameter.POSITIONAL_ONLY,
    "any": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "*": inspect.Parameter.VAR_POSITIONAL,
    "keyword": inspect.Parameter.KEYWORD_ONLY,
    "**": inspect.Parameter.VAR_KEYWORD,
}


@dataclass(frozen=True)
class Lifted:
    """A function that was defined inside another: `function` is nested IR whose last parameters
    are what it captures. `rebound` are captured names that the outer function may bind again
    later; `defaults` are parameters that have a value of the place of definition; `code` is the
    text of a lambda."""

    function: Function
    scope: Scope
    rebound: frozenset[str] = frozenset()
    defaults: frozenset[str] = frozenset()
    code: Closure | None = field(default=None, compare=False)

    @property
    def names(self) -> frozenset[str]:
        """The names of the user's that it binds."""
        return frozenset(binding_counts(self.function))


def lifted_of(obj: Any) -> Lifted | None:
    """What stands behind a live object that was made here; None for any other object."""
    found = attribute_of(obj, "__lifted__", None) if isinstance(obj, types.FunctionType) else None
    return found if isinstance(found, Lifted) else None


def stand_in(name: str, lifted: Lifted) -> Ref:
    """A live object for a lifted function. It only carries the signature: it is never called."""

    def inner() -> None:
        raise NotImplementedError(name)

    inner.__name__ = inner.__qualname__ = name
    inner.__module__ = lifted.scope.globals.get("__name__", "")
    give_signature(inner, signature_of(lifted.function))
    inner.__lifted__ = lifted  # type: ignore[attr-defined]
    return Ref(name, inner)


def copy_of(
    fn: types.FunctionType, signature: inspect.Signature | None = None
) -> types.FunctionType:
    """A function object like another one, with its signature or this one."""
    made = bare_copy(fn)
    give_signature(made, signature or plain_signature(fn))
    return made


def signature_of(function: Function) -> inspect.Signature:
    """The signature of a function of the IR; a default that is not a literal is `...`."""

    def default(given: Expr | None) -> Any:
        if given is None:
            return inspect.Parameter.empty
        return given.value if isinstance(given, Const) else ...

    return inspect.Signature(
        [
            inspect.Parameter(p.name, PARAMETER_KINDS[p.kind], default=default(p.default))
            for p in function.params
        ]
    )


def with_values(fn: Ref, values: Mapping[str, Expr], at: Place | None = None) -> Expr:
    """A function with some of its keyword arguments given."""
    return Call(PARTIAL, (fn,), tuple(values.items()), at) if values else fn


@dataclass(frozen=True)
class Lambdas:
    """Makes functions of the lambdas of one function, where some names get another value later."""

    scope: Scope
    keeping: Keeping
    names: Names

    def lifted(self, code: Closure, origin: Origin) -> Expr:
        """A lambda as a function with the values that it captures."""
        name = self.names.fresh("function")
        late = self.keeping.rebound_after_lambda(code)
        return _lifted_lambda(name, code, late, self.scope, origin)


def _lifted_lambda(
    name: str, code: Closure, rebound: Iterable[str], scope: Scope, origin: Origin
) -> Expr:
    own = {p.name for p in code.params}
    outer = dict(zip(code.names, code.values, strict=True))
    free = names_read(code.body)
    captured = {n: v for n, v in outer.items() if n not in own and n in free}
    params, defaults = _split_defaults(code.params)
    # (A default is read where the lambda stands; a name in it may be captured as well.)
    given = {p: ir.substitute(e, outer) for p, e in defaults.items()}
    line = origin.place if code.at is None else code.at
    body = (Return(code.body, Origin(line)),)
    function = Function(name, _extended(params, captured), body, line)
    late = frozenset(n for n, v in captured.items() if (ir.names_in(v) | {n}) & set(rebound))
    lifted = Lifted(function, scope, late, frozenset(defaults), code)
    return with_values(stand_in(name, lifted), {**given, **captured}, code.at)


def _split_defaults(params: tuple[Param, ...]) -> tuple[list[Param], dict[str, Expr]]:
    """Parameters, and the defaults among theirs that are no literals."""
    found = {p.name: p.default for p in params if not isinstance(p.default, Const | None)}
    plain = [dataclasses.replace(p, default=Const(None)) if p.name in found else p for p in params]
    return plain, {n: e for n, e in found.items() if e is not None}


def _extended(params: Iterable[Param], captured: Iterable[str]) -> tuple[Param, ...]:
    """A parameter list with keyword parameters for what is captured."""
    params = list(params)
    end = [p for p in params if p.kind == "**"]
    start = [p for p in params if p.kind != "**"]
    return (*start, *(Param(name, "keyword") for name in captured), *end)


# ------------------------------------------------------------------ functions made by `def`


def lift_definitions(
    function: Function,
    kept: frozenset[str],
    scope: Scope,
    names: Names,
    late: frozenset[str] = frozenset(),
) -> Function:
    """Lift every `def` inside a function but those in `kept`, which are inlined; `late` are
    captured names that are bound again while what the function returns is kept."""
    counts = binding_counts(function)
    inner, codes, origins = _definitions(function, kept, counts)
    if not inner:
        return function
    for made in inner.values():
        if made.free:
            raise UnsupportedError(
                f"`{made.name}` assigns `{made.free[0]}` of the enclosing function, and is used "
                "as a value",
                made.place,
                "Call it by its name only, or return the new value.",
                "cells",
            )
    keeping = Keeping.of(function, late)
    unique = {n for n in inner if counts[n] == 1}
    defaults: dict[str, dict[str, Expr]] = {}
    for name in sorted(unique, key=list(inner).index):
        found = _split_defaults(inner[name].params)[1]
        defaults[name] = {p: Var(names.fresh(f"{name}_{p}")) for p in found}
    captured = _captures({n: inner[n] for n in unique}, defaults, set(counts))
    meaning: dict[str, Expr] = {}
    for name in sorted(unique, key=list(inner).index):
        params, found = _split_defaults(inner[name].params)
        body = dataclasses.replace(inner[name], params=_extended(params, captured[name]))
        late = keeping.rebound_after_definition(name, origins[name]) & {*captured[name]}
        lifted = Lifted(body, scope, late, frozenset(found), codes.get(name))
        values = {**defaults[name], **{n: Var(n) for n in captured[name]}}
        meaning[name] = with_values(stand_in(name, lifted), values)
    for name in unique:  # a lifted function says what goes with those that it uses
        _tie(meaning[name], meaning, inner[name])
    return _rewritten(function, meaning, defaults, kept, scope, keeping)


def _definitions(
    function: Function, kept: frozenset[str], counts: Mapping[str, int]
) -> tuple[dict[str, Function], dict[str, Closure], dict[str, Origin]]:
    """The functions made by `def`, and by `name = lambda ...` where that is all the name is."""
    inner: dict[str, Function] = {}
    codes: dict[str, Closure] = {}
    origins: dict[str, Origin] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case Define(function=made) if made.name not in kept:
                inner[made.name], origins[made.name] = made, stmt.origin
            case Assign(target=str(name), value=Closure() as code):
                if name not in kept and counts[name] == 1:
                    inner[name], codes[name] = lambda_function(name, code, stmt.origin), code
                    origins[name] = stmt.origin
    return inner, codes, origins


def lambda_function(name: str, code: Closure, origin: Origin) -> Function:
    """A lambda as a function with a name."""
    return Function(name, code.params, (Return(code.body, origin),), origin.place)


def _tie(value: Expr, meaning: Mapping[str, Expr], function: Function) -> None:
    ref = value.args[0] if isinstance(value, Call) else value
    assert isinstance(ref, Ref)
    lifted = ref.obj.__lifted__
    ref.obj.__lifted__ = dataclasses.replace(
        lifted,
        function=dataclasses.replace(
            lifted.function, body=substituted(lifted.function.body, _without(meaning, function))
        ),
    )


def _without(values: Mapping[str, Expr], function: Function) -> dict[str, Expr]:
    """Without the names that a function binds itself. What a function captures must not have the
    name of a variable of the function that uses it."""
    bound = _own(function)
    left = {n: e for n, e in values.items() if n not in bound}
    for name in free_names(function):
        _refuse_hidden(function, name, ir.names_in(left.get(name)))
    return left


def _rewritten(
    function: Function,
    meaning: Mapping[str, Expr],
    defaults: Mapping[str, Mapping[str, Expr]],
    kept: frozenset[str],
    scope: Scope,
    keeping: Keeping,
) -> Function:
    def statement(stmt: Any) -> Any:
        match stmt:
            case Define(function=inner) if inner.name in kept:
                body = substituted(inner.body, _without(meaning, inner))
                return Define(dataclasses.replace(inner, body=body), stmt.origin)
            case Define(function=ir.Function(name=name, params=params)) if name in meaning:
                return evaluated(params, defaults[name], stmt.origin)
            case Assign(target=str(name), value=Closure(params=params)) if name in meaning:
                return evaluated(params, defaults[name], stmt.origin)
            case Define(function=inner):
                return Assign(inner.name, _conditional(keeping, inner, scope), stmt.origin)
        return None

    def evaluated(
        params: tuple[Param, ...], given: Mapping[str, Expr], origin: Origin
    ) -> Iterator[Any]:
        for param in params:
            target = given.get(param.name)
            if isinstance(target, Var) and param.default is not None:
                yield Assign(target.name, ir.substitute(param.default, dict(meaning)), origin)

    body = ir.rewrite(function.body, statement, lambda e: ir.substitute(e, dict(meaning)))
    return ir.with_body(function, body)


def _conditional(keeping: Keeping, inner: Function, scope: Scope) -> Expr:
    """A function whose name has several definitions: a value like any other."""
    free = [n for n in free_names(inner) if n in binding_counts(keeping.function)]
    params, found = _split_defaults(inner.params)
    body = dataclasses.replace(inner, params=_extended(params, free))
    late = keeping.rebound_after_choice(inner.name) & {*free}
    lifted = Lifted(body, scope, late, frozenset(found))
    return with_values(stand_in(inner.name, lifted), {**found, **{n: Var(n) for n in free}})


def _captures(
    functions: Mapping[str, Function], defaults: Mapping[str, Mapping[str, Expr]], local: set[str]
) -> dict[str, list[str]]:
    """The local names that each function captures, those of the functions it uses included (and
    the values of their defaults)."""
    lifted = functions.keys()
    free = {n: [v for v in free_names(f) if v in local] for n, f in functions.items()}
    found = {n: [v for v in names if v not in lifted] for n, names in free.items()}
    while True:
        before = {n: list(names) for n, names in found.items()}
        for name, used in free.items():
            for other in used:
                if other in lifted:
                    given = [n for e in defaults[other].values() for n in sorted(ir.names_in(e))]
                    wanted = (*found[other], *given)
                    _refuse_hidden(functions[name], other, wanted)
                    found[name] += [v for v in dict.fromkeys(wanted) if v not in found[name]]
        if found == before:
            return found


# ---------------------------------------------------------------------------- free names


def _refuse_hidden(function: Function, name: str, captured: Iterable[str]) -> None:
    hidden = sorted(_own(function) & set(captured))
    if hidden:
        raise UnsupportedError(
            f"`{function.name}` uses `{name}`, which uses a `{hidden[0]}` of the function around, "
            f"and has a `{hidden[0]}` of its own",
            function.place,
            "Rename one of them.",
        )


def _own(function: Function) -> set[str]:
    """The variables of a function itself, its parameters included."""
    bound = {n for s in ir.statements(function.body) for n in bound_by(s)} - {*function.free}
    return bound.union(function.param_names)


def substituted(block: ir.Block, values: Mapping[str, Expr]) -> ir.Block:
    """A block in which names stand for expressions, in functions defined in it as well."""
    known = dict(values)

    def statement(stmt: Any) -> Any:
        if isinstance(stmt, Define):
            own = {*stmt.function.param_names}
            inner = _without({n: e for n, e in known.items() if n not in own}, stmt.function)
            body = substituted(stmt.function.body, inner)
            return Define(dataclasses.replace(stmt.function, body=body), stmt.origin)
        return None

    return ir.rewrite(block, statement, lambda e: ir.substitute(e, known)) if known else block


__all__ = ["rebound_names"]
