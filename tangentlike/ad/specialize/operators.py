"""Operators inside a function that is differentiated: `tl.grad`, `tl.jvp` and the like.

A derivative is a function like any other, so its name stands for it, with what the function
inside captures as arguments of its own:

before::                                    after::
    def loss(w):                                g = loss_grad(w, q=q)
        return np.sum((w - q) ** 2)
    g = tl.grad(loss)(w)                    and `loss_grad(w, *, q)` was emitted for `loss(w, *, q)`

The inner derivative is by `w` alone, `q` being another argument: perturbations cannot be
confused, however deeply operators are nested.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import linecache
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import ir
from ...analysis.memory import Effects
from ...errors import UnknownClassError
from ...frontend.lifting import PARTIAL, lifted_of
from ...frontend.owners import carry_over, mark, mark_of
from ...frontend.signatures import give_signature, plain_signature
from ...ir.kind import Kind, asks_for_ranks
from ...ir.names import unused
from ...runtime import copy, pair_of, require_apart, tangent_of
from ...runtime.records import attribute_of

_count = itertools.count(1)
_unfinished: set[tuple[int, int]] = set()  # (operator, function) that are being derived now
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def operator_name(expr: Any) -> str:
    """The name of the operator that an expression calls, "" if it calls none.

    Operators are marked as such (`derives`): they are made of what stands here.
    """
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(_, *_)):
            return mark_of(obj, "derives") or ""
    return ""


def derivative_value(call: ir.Call, value: ir.Expr) -> ir.Expr | None:
    """The function value that `tl.grad(f, ...)` is, where `value` is that of `f`; None where
    the options are no literals."""
    ref, given, words = taken_apart(value)
    options = _literals(call, len(given))
    if options is None or not isinstance(call.fn, ir.Ref):
        return None
    made = derivative_of(call.fn.obj, ref, options, may_wait=True)
    return None if made is None else with_given(made, given, words)


def tangent_call(
    call: ir.Call, value: ir.Expr, primals: Sequence[ir.Expr], tangents: Sequence[ir.Expr]
) -> ir.Call | None:
    """`tl.jvp(f, (x,), (v,))` as a call of the tangent function of `f`."""
    ref, given, words = taken_apart(value)
    names = positional(ref.obj)[len(given) :]
    if len(primals) != len(tangents) or len(primals) > len(names):
        return None
    moved = [i for i, v in enumerate(tangents) if v != ir.Const(None)]
    wrt = tuple(names[i] for i in moved)
    if not wrt:
        return None
    assert isinstance(call.fn, ir.Ref)
    options = {"wrt": wrt, "mode": "forward"}
    made = derivative_of(call.fn.obj.__made_with__, ref, options, may_wait=True)
    if made is None:
        return None
    dots = zip(seeds_of(made.obj, ref.obj), moved, strict=True)
    kwargs = (*words.items(), *((name, tangents[i]) for name, i in dots))
    return ir.Call(made, (*given, *primals), tuple(kwargs), call.at)


def taken_apart(value: ir.Expr) -> tuple[ir.Ref, tuple[ir.Expr, ...], dict[str, ir.Expr]]:
    """A function value: the function, and what it is given by position and by name."""
    if isinstance(value, ir.Ref):
        return value, (), {}
    assert isinstance(value, ir.Call) and isinstance(value.args[0], ir.Ref)
    return value.args[0], value.args[1:], dict(value.kwargs)


def with_given(ref: ir.Ref, given: tuple[ir.Expr, ...], words: Mapping[str, ir.Expr]) -> ir.Expr:
    return ir.Call(PARTIAL, (ref, *given), tuple(words.items())) if given or words else ref


def seeds_of(made: Any, function: Any) -> list[str]:
    """The parameters of a derivative that its function has not."""
    own = plain_signature(function).parameters
    return [n for n in plain_signature(made).parameters if n not in own]


def positional(fn: Any) -> list[str]:
    parameters = plain_signature(fn).parameters.values()
    return [p.name for p in parameters if p.kind in _POSITIONAL]


def _literals(call: ir.Call, given: int) -> dict[str, Any] | None:
    """The options of an operator, positions counted from the first parameter of the function."""
    assert isinstance(call.fn, ir.Ref)
    try:
        bound = inspect.signature(call.fn.obj).bind(*call.args, **dict(call.kwargs)).arguments
    except TypeError:
        return None
    options: dict[str, Any] = {}
    for name, expr in list(bound.items())[1:]:
        found = _literal(expr)
        if found is _UNKNOWN:
            return None
        options[name] = found
    if given:
        wrt = options.get("wrt", 0)
        many = wrt if isinstance(wrt, tuple) else (wrt,)
        moved = tuple(w + given if isinstance(w, int) and w >= 0 else w for w in many)
        options["wrt"] = moved if isinstance(wrt, tuple) else moved[0]
    return options


_UNKNOWN = object()


def _literal(expr: ir.Expr) -> Any:
    match expr:
        case ir.Const(value):
            return value
        case ir.Display(form="tuple", items=items):
            found = tuple(map(_literal, items))
            return _UNKNOWN if _UNKNOWN in found else found
    return _UNKNOWN


def derivative_of(
    operator: Callable[..., Any], ref: ir.Ref, options: dict[str, Any], may_wait: bool = False
) -> ir.Ref | None:
    """What an operator makes of a function; None where the function calls that of itself: the
    program then derives it each time it comes there. With `may_wait` it is one that waits where
    only a call tells the classes of objects."""
    waiting = waiting_of(ref.obj)
    function = ref.obj if waiting is None else waiting.function
    if not isinstance(function, types.FunctionType):
        return None
    key = (id(operator), id(function))
    if key in _unfinished:
        raise _OfItself(key)
    _unfinished.add(key)
    try:
        made = operator(function, **options)
        inner = made.__tangentlike__.emitted
    except UnknownClassError as error:
        if not may_wait:
            raise
        return ir.Ref(made.__name__, _waiting(made, error, _seeds_to_come(options)))
    except _OfItself as found:
        if found.key != key:
            raise
        return None
    finally:
        _unfinished.discard(key)
    return ir.Ref(inner.__name__, made)


_NOT_TOLD = UnknownClassError(
    "the function or the wrt that `tl.grad` is given is not known when the derivative is made"
)


@dataclasses.dataclass(frozen=True)
class Waiting:
    """Stands for what a derivative says of itself, where nothing tells yet the classes of the
    objects that `function`, the derivative, is given: it cannot be emitted."""

    function: types.FunctionType
    error: UnknownClassError

    @property
    def inner(self) -> Any:
        raise self.error.with_traceback(None)

    emitted = inner

    def specialized(self, structures: tuple[tuple[str, Kind], ...]) -> ir.Ref | None:
        """The derivative for arguments of these structures; None if it is this one, if they do not
        tell enough, or if it is being made (a function that takes a derivative of itself)."""
        own = plain_signature(self.function).parameters
        structures = tuple((name, kind) for name, kind in structures if name in own)
        key = (id(self.function), hash(structures))
        if key in _unfinished:
            return None
        _unfinished.add(key)
        try:
            operator = self.function.__tangentlike__  # type: ignore[attr-defined]
            made = operator.for_structures(self.function, structures)
        except UnknownClassError:
            return None
        finally:
            _unfinished.discard(key)
        found = made.__tangentlike__
        if found.derive() is operator.derive():
            return None
        return ir.Ref(found.emitted.__name__, made)

    def given(self, call: ir.Call, specialized: ir.Ref) -> ir.Call:
        """A call of it, as one of what took its place: by the names that this has for seeds."""
        assert isinstance(call.fn, ir.Ref)
        primal = self.function.__tangentlike__.primal.function  # type: ignore[attr-defined]
        seeds = (seeds_of(obj, primal) for obj in (call.fn.obj, specialized.obj))
        named = dict(zip(*seeds, strict=False))
        kwargs = tuple((named.get(word, word), value) for word, value in call.kwargs)
        return dataclasses.replace(call, fn=specialized, kwargs=kwargs)


def waiting_of(obj: Any) -> Waiting | None:
    """Whether a function is a derivative that cannot be emitted yet, and what is known of it."""
    found = mark_of(obj, "tangentlike")
    return found if isinstance(found, Waiting) else None


def _seeds_to_come(options: Mapping[str, Any]) -> int:
    """How many seeds a derivative takes that was asked for with these options."""
    wrt = options.get("wrt", 0)
    if options.get("mode") == "forward":
        return len(wrt) if isinstance(wrt, tuple) else 1
    return int(options.get("mode") == "reverse")


def deferred(obj: Any) -> Waiting | None:
    """A derivative that would be another one if it were known what its arguments are: it waits
    for that, leaves to the run what it calls, or checks when it runs what it is given."""
    derivative = mark_of(obj, "tangentlike")
    if derivative is None or isinstance(derivative, Waiting):
        return derivative
    functions = derivative.inner.derived.module.functions
    calls = any(
        isinstance(part, ir.Ref) and (part.obj is pair_of or part.obj is tangent_of)
        for function in functions
        for stmt in ir.statements(function.body)
        for expr in ir.expressions(stmt)
        for part in ir.walk(expr)
    )
    asks = functions and not derivative.inner.request.tells_ranks
    asks = asks and any(map(asks_for_ranks, functions))
    return Waiting(obj, _NOT_TOLD) if calls or asks else None


def calls_deferred(function: ir.Function) -> bool:
    """Whether a function calls a derivative that would be another one if more were known."""
    calls = (getattr(stmt, "value", None) for stmt in ir.statements(function.body))
    refs = (call.fn for call in calls if isinstance(call, ir.Call))
    return any(isinstance(ref, ir.Ref) and deferred(ref.obj) is not None for ref in refs)


def _waiting(made: Any, error: UnknownClassError, seeds: int) -> types.FunctionType:
    """A derivative that waits for the classes of its arguments; its seeds have no names yet."""
    code, closure = made.__code__, made.__closure__
    function = types.FunctionType(code, made.__globals__, made.__name__, None, closure)
    function.__module__, function.__qualname__ = made.__module__, made.__qualname__
    carry_over(made, function)
    mark(function, tangentlike=Waiting(made, error))
    if seeds:
        signature = made.__tangentlike__.primal.signature  # (it may have a text for any types)
        own = list(signature.parameters.values())
        plain = all(p.kind in _POSITIONAL and p.default is p.empty for p in own)
        kind = _POSITIONAL[1] if plain else inspect.Parameter.KEYWORD_ONLY
        words = (f"seed_{k}_to_come" for k in range(seeds))
        parameters = [*own, *(inspect.Parameter(word, kind) for word in words)]
        give_signature(function, signature.replace(parameters=parameters))
    return function


class _OfItself(Exception):
    """A function was found to take a derivative of itself; caught where it was asked for."""

    def __init__(self, key: tuple[int, int]) -> None:
        self.key = key


def is_inner(ref: ir.Ref) -> bool:
    """Whether a function exists for one transform only, so that its code must be printed."""
    if lifted_of(ref.obj) is not None or attribute_of(ref.obj, "__inner__", False) is True:
        return True
    derivative = mark_of(ref.obj, "tangentlike")
    if derivative is None:  # (what the text of a derivative calls stands beside it)
        return attribute_of(ref.obj, "__empties__", None) is not None
    return ref.text == getattr(derivative.emitted, "__name__", "")


def apart(call: ir.Call) -> list[ir.Expr]:
    """Checks before a call of a derivative whose function writes an argument: it is copied
    there, so that no other argument may share its memory."""
    fn = call.fn.obj if isinstance(call.fn, ir.Ref) else None
    derivation = mark_of(fn, "tangentlike")
    if derivation is None or not isinstance(fn, types.FunctionType):
        return []
    if isinstance(derivation, Waiting):
        return []  # (they come with what takes its place: `Methods`)
    written = getattr(getattr(derivation.inner, "derived", None), "written_params", ())
    if not written:
        return []
    try:
        bound = plain_signature(fn).bind(*call.args, **dict(call.kwargs))
    except TypeError:
        return []
    own = derivation.inner.derived.lowered.function.param_names  # (a seed is only read)
    actuals = {n: e for n, e in bound.arguments.items() if n in own and isinstance(e, ir.Var)}
    pairs = ((w, n) for w in written for n in actuals if w in actuals and n != w)
    ordered = dict.fromkeys(tuple(sorted(pair)) for pair in pairs)
    helper = ir.Ref("require_apart", require_apart)
    return [ir.Call(helper, (actuals[a], actuals[b])) for a, b in ordered]


# --------------------------------------------------------------------------------------------------
# The value of a function at a point and a linear map there: `tl.vjp`, `tl.linearize`.
#
# before::                                    after::
#     y, back = tl.vjp(f, x)                      y = f(x)
#     x_bar, = back(seed)                         x_bar, = f_pullback(x, seed)
#     y, push = tl.linearize(f, x)                y = f(x)
#     y_dot = push(v)                             y_dot = f_tangent(x, v)
#
# Both maps run from the arguments again.


# By what an operator makes: how that is named, and the mode that makes it.
MAPS = {"pullback": ("pullback", "reverse"), "linear": ("tangent", "forward")}


def linear_map_parts(
    made_as: str,
    call: ir.Call,
    value: ir.Expr,
    args: tuple[ir.Expr, ...],
    effects: Callable[[Any], Effects],
) -> tuple[ir.Call, ir.Expr] | None:
    """The value and the map of `tl.vjp(f, x)` or `tl.linearize(f, x)`: a call of `f`, and a
    function of the seed, or of the tangents, that runs the sweep from the arguments. `effects`
    tells what `f` writes."""
    word, mode = MAPS[made_as]
    ref, given, words = taken_apart(value)
    names = positional(ref.obj)[: len(given) + len(args)]
    wrt = names[len(given) :]
    if len(wrt) < len(args) or not args:
        return None
    assert isinstance(call.fn, ir.Ref)
    options = {"wrt": tuple(wrt), "mode": mode}
    made = derivative_of(call.fn.obj.__made_with__, ref, options, may_wait=True)
    if made is None:
        return None
    linear = _second(word, ref, made, names, tuple(words))
    point = (*given, *args)
    valued = _of_copies(ref, names, tuple(words), effects(ref.obj))
    return ir.Call(valued, point, tuple(words.items()), call.at), with_given(linear, point, words)


def _of_copies(ref: ir.Ref, names: Sequence[str], words: Sequence[str], effects: Effects) -> ir.Ref:
    """A function itself; one that writes its arguments, or gives them back, with copies of them:
    `def step_value(x, k): x = copy(x); return step(x, k)`."""
    written = [n for n in names if n in effects.written]
    shared = bool(effects.returned - set(written))
    if not written and not shared:
        return ref
    pairs = dict.fromkeys(tuple(sorted((w, n))) for w in written for n in names if n != w)
    own = str(ref.obj.__name__)
    own = own if own.isidentifier() else ref.text.rpartition(".")[2]
    inner = unused(own, {*names, *words, "copy", "require_apart"})
    result = f"{inner}({', '.join([*names, *(f'{w}={w}' for w in words)])})"
    lines = [f"require_apart({a}, {b})" for a, b in pairs]
    lines += [f"{w} = copy({w})" for w in written]
    lines.append(f"return copy({result})" if shared else f"return {result}")
    name = f"{own}_value"
    params = ", ".join([*names, *(["*"] if words else []), *words])
    text = f"def {name}({params}):\n    " + "\n    ".join(lines) + "\n"
    uses = {"require_apart": require_apart, "copy": copy, inner: ref.obj}
    return _written_function(name, text, uses, ref.obj.__module__)


def _second(
    name: str, ref: ir.Ref, made: ir.Ref, names: Sequence[str], words: Sequence[str]
) -> ir.Ref:
    """A function of the arguments of `made` that returns the second item of its result:
    `def loss_pullback(w, y_bar, *, q): return loss_vjp(w, q=q, y_bar=y_bar)[1]`."""
    seeds = seeds_of(made.obj, ref.obj)
    name = f"{ref.text.rpartition('.')[2]}_{name}"
    params = ", ".join([*names, *seeds, *(["*"] if words else []), *words])
    given = ", ".join([*names, *(f"{w}={w}" for w in (*words, *seeds))])
    text = f"def {name}({params}):\n    return {made.text}({given})[1]\n"
    return _written_function(name, text, {made.text: made.obj}, made.obj.__module__)


def _written_function(name: str, text: str, uses: Mapping[str, Any], module: str) -> ir.Ref:
    """A function of a text of ours, to be differentiated like any other."""
    file = f"<{name} {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace: dict[str, Any] = {**uses, "__name__": module}
    exec(compile(text, file, "exec"), namespace)
    function = namespace[name]
    function.__inner__ = True
    return ir.Ref(name, function)
