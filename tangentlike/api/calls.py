"""The public calls: each finds the function behind what it got, has it differentiated once,
and hands back a plain Python function or the numbers asked for.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from ..dispatch.blame import raise_where_it_begins
from ..dispatch.claims import standard_arrays_too
from ..dispatch.derivation import Derivation, derivation_of, functions_of
from ..dispatch.derived import OPERATORS, encode
from ..dispatch.repeated import by_position, positions, repeated_call
from ..errors import InternalError, TangentlikeError
from ..frontend.owners import mark
from ..frontend.primal import (
    Primal,
    Wrt,
    is_operation,
    library_path,
    literals_of,
    primal_of,
    wrt_names,
)
from ..frontend.signatures import plain_signature
from ..pytree import leaves
from ..pytree.gradients import as_emitted, like, seed_like, with_lists
from ..runtime.functions import derived_by
from ..runtime.tape import fresh_tape
from .handback import (
    Derivative,
    DerivativeOf,
    GradientOf,
    GradientOptions,
    HandedBack,
    Operator,
    Options,
    PlainDerivative,
    ValueAndGradientOf,
    described_as,
    documented,
    finish,
    hand_back,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

Function = Callable[..., Any]
_FLOAT = frozenset((float,))
P = ParamSpec("P")
R = TypeVar("R")


# ------------------------------------------------------------------------------- gradients


@overload
def grad(
    fn: Callable[P, Any],
    wrt: Wrt = 0,
    **options: Unpack[GradientOptions],
) -> Derivative[P, Any]: ...
@overload
def grad(
    fn: None = None,
    wrt: Wrt = 0,
    **options: Unpack[GradientOptions],
) -> GradientOf: ...
def grad(
    fn: Function | None = None,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    example: Any = None,
    target: str = "numpy",
    check_finite: bool = False,
    strict: bool = False,
    reuse: bool = False,
) -> Any:
    """The gradient of a real scalar function, as a function with the same parameters.

    Also a decorator: `@grad`, `@grad(wrt="w")`.

    Parameters
    ----------
    fn : callable, optional
        A function of NumPy arrays, numbers and containers of them that returns a real number.
    wrt : int, str or tuple of these
        By which parameters: positions (negative ones count from the end) or names. The
        name of a local variable that `fn` assigns once gives the adjoint of that value, as if
        it did not depend on anything. A single
        one gives a bare gradient, a tuple gives a tuple.
    has_aux : bool
        `fn` returns `(value, aux)`, and `aux` comes back beside the result: `(gradient, aux)`.
    example : tuple, optional
        Arguments like those it will be called with: their ranks and shapes make plainer source.
        Numbers at the end may be left out where they have defaults.
    target : {"numpy", "cupy-fused", "numba"}
        What runs the emitted function; with "cupy-fused", chains of elementwise operations are
        functions that `cupy.fuse` makes one kernel of; with "numba", Numba compiles it at its first
        call for each types of arguments.
    check_finite : bool
        NaN or an infinity in the result raises `tl.NonFiniteError`, which says where it begins
        (the derivative is run a second time for that).
    strict : bool
        Refuse all at once, also what a call may not reach. Otherwise a `raise` stands for that in
        the derivative (docs/semantics.md), and the rest is refused at the first call.
    reuse : bool
        Compute adjoints in the memory of arrays that nothing reads any more, with `out=` and
        in-place operations: faster for arrays of 128 KiB and more (docs/memory.md). The results
        are the same.

    Returns
    -------
    Derivative
        An ordinary function: called like `fn`, it returns the gradient, which has the structure,
        shapes and dtypes of the argument (None where that carries no derivative). `.source` is its
        text: the general one before the first call, then the one specialised for the types of
        the arguments last used; `.source_for(*args)` and `.versions` give others, `.stages` the
        text of each stage, `.saved(*args)` what its reverse sweep saves.

    Raises
    ------
    UnsupportedError
        if `fn` uses something that is not differentiated: with file, line, caret and a way out.
    TangentlikeError
        if `wrt` names no parameter; when called, if an argument has no derivative or
        the value is not a real number.

    Examples
    --------
    >>> import numpy as np
    >>> def loss(x):
    ...     return np.sum(x * x)
    >>> grad(loss)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    options = has_aux, example, target, check_finite, strict, reuse
    if fn is None:
        return lambda f: _gradient("grad", f, wrt, *options)
    return _gradient("grad", fn, wrt, *options)


@overload
def value_and_grad(
    fn: Callable[P, R],
    wrt: Wrt = 0,
    **options: Unpack[GradientOptions],
) -> Derivative[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    fn: None = None,
    wrt: Wrt = 0,
    **options: Unpack[GradientOptions],
) -> ValueAndGradientOf: ...
@described_as(grad)
def value_and_grad(
    fn: Function | None = None,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    example: Any = None,
    target: str = "numpy",
    check_finite: bool = False,
    strict: bool = False,
    reuse: bool = False,
) -> Any:
    """Value and gradient of a real scalar function: the value comes with no extra work.

    Also a decorator, as `grad`.

    Parameters
    ----------
    has_aux : bool
        `fn` returns `(value, aux)`, and `aux` comes back beside the result:
        `((value, aux), gradient)`.
    check_finite : bool
        NaN or an infinity in the value or the gradient raises `tl.NonFiniteError`, which says
        where it begins (the derivative is run a second time for that).

    Returns
    -------
    Derivative
        A function that is called like `fn` and returns `(value, gradient)`: the value as `fn`
        returns it, the gradient as `grad` does.

    Examples
    --------
    >>> value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """
    options = has_aux, example, target, check_finite, strict, reuse
    if fn is None:
        return lambda f: _gradient("value_and_grad", f, wrt, *options)
    return _gradient("value_and_grad", fn, wrt, *options)


def _gradient(
    mode: str, fn: Function, wrt: Wrt, *options: Unpack[tuple[bool, Any, str, bool, bool, bool]]
) -> types.FunctionType:
    has_aux, example, target, check_finite, strict, reuse = options
    primal = primal_of(fn).strictly(strict)
    names, single = wrt_names(primal, wrt, allow_locals=True)
    derivation = _derivation(primal, mode, names, single, has_aux, example, target, reuse)
    by = names[0] if single else names
    made_by = has_aux, example, target, check_finite, reuse
    qualname = _name_of_gradient(mode, primal, by, *made_by)
    if qualname in derivation.handed and not _bound(primal):
        return derivation.handed[qualname]

    @HandedBack
    def gradient(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if library and _calls_differently(primal, args, kwargs):
            called = primal_of(fn, len(args), literals_of(fn, kwargs)).function
            return _gradient(mode, called, wrt, *options)(*args)
        if bound:
            args, kwargs = _complete(primal, args, kwargs)
        values, chosen = derivation.received(args, kwargs)
        result = chosen.call(args, kwargs)
        finish(gradient, chosen)
        if check_finite and not leaves.is_finite(_parts(result, mode, has_aux)[:2]):
            raise_where_it_begins(chosen, args, kwargs)
        given = by_position(places, args, kwargs) if kwargs else args
        if plain and given is not None:
            gradient.repeated = repeated_call(derivation, chosen, given, shaped)
        return shaped(args, kwargs, result, values)

    def shaped(args: Any, kwargs: Any, result: Any, values: Any = None) -> Any:
        values = derivation.values(args, kwargs) if values is None else values
        value, bars, aux = _parts(result, mode, has_aux)
        others = (*args, *kwargs.values(), value, aux) if kwargs else (*args, value, aux)
        bars = finished(values, [bars] if single else bars, others)
        return _whole(value, bars[0] if single else tuple(bars), aux, mode, has_aux)

    library, bound = library_path(primal.origin) is not None, _bound(primal)
    plain = not (library or bound or has_aux or check_finite)
    gradient.names = places = positions(primal.signature) if plain else ()
    text = documented(mode, primal, names, single, has_aux, example)
    dressed = _dress(gradient, mode, primal, derivation, text, qualname, shaped, target)
    return _remembered(derivation, primal, qualname, dressed)


def _name_of_gradient(
    mode: str,
    primal: Primal,
    wrt: Any,
    has_aux: bool,
    example: Any,
    target: str,
    finite: bool,
    reuse: bool,
) -> str:
    """What says all that a gradient is made from."""
    return encode(
        mode,
        primal.origin,
        wrt=wrt,
        has_aux=has_aux,
        target=None if target == "numpy" else target,
        example=example,
        check_finite=finite,
        reuse=reuse,
        strict=primal.strict,
    )


def _whole(value: Any, bars: Any, aux: Any, mode: str, has_aux: bool) -> Any:
    """What the caller gets, of its parts."""
    if mode == "grad":
        return (bars, aux) if has_aux else bars
    return ((value, aux), bars) if has_aux else (value, bars)


def _parts(result: Any, mode: str, has_aux: bool) -> tuple[Any, Any, Any]:
    """Value, adjoints and aux from what the emitted function returns."""
    if mode == "grad":
        return (None, *result) if has_aux else (None, result, None)
    value, bars = result
    return (value[0], bars, value[1]) if has_aux else (value, bars, None)


@overload
def autodiff(
    fn: Function,
    wrt: Wrt = 0,
    mode: str = "reverse",
    **options: Unpack[Options],
) -> PlainDerivative[Any]: ...
@overload
def autodiff(
    fn: None = None,
    wrt: Wrt = 0,
    mode: str = "reverse",
    **options: Unpack[Options],
) -> DerivativeOf: ...
@described_as(grad)
def autodiff(
    fn: Function | None = None,
    wrt: Wrt = 0,
    mode: str = "reverse",
    *,
    example: Any = None,
    strict: bool = False,
) -> Any:
    """The derivative function itself, seeds and all.

    Parameters
    ----------
    wrt : int, str or tuple of these
        By which parameters: positions (negative ones count from the end) or names. A single
        one gives a bare gradient, a tuple gives a tuple.
    mode : {"reverse", "forward"}
        Which derivative.

    Returns
    -------
    PlainDerivative
        Reverse: `(parameters..., y_bar) -> (value, gradient)`, where `y_bar` is the adjoint of the
        value, with its shape. Forward: `(parameters..., x_dot) -> (value, tangent)`, with one
        tangent for each of `wrt`, in the shape of that argument.

    Raises
    ------
    UnsupportedError
        if `fn` uses something that is not differentiated: with file, line, caret and a way out.
    TangentlikeError
        if `mode` is neither of the two, or `wrt` names no parameter.

    Examples
    --------
    >>> autodiff(lambda x: 3.0 * x)(2.0, 1.0)
    (6.0, 3.0)
    """
    if fn is None:
        return lambda f: autodiff(f, wrt, mode, example=example, strict=strict)
    if mode not in ("reverse", "forward"):
        raise TangentlikeError(f"mode is 'reverse' or 'forward', not {mode!r}")
    primal = primal_of(fn).strictly(strict)
    names, single = wrt_names(primal, wrt, allow_locals=mode == "reverse")
    emitted_mode = "adjoint" if mode == "reverse" else "tangent"
    derivation = _derivation(primal, emitted_mode, names, single, False, example, "numpy")
    options = {"mode": mode, "example": example, "strict": strict}
    qualname = encode("autodiff", primal.origin, wrt=names[0] if single else names, **options)
    if qualname in derivation.handed and not _bound(primal):
        return derivation.handed[qualname]

    @HandedBack
    def derivative(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        args, kwargs = _complete(primal, args, kwargs)
        values, chosen = derivation.received(args, kwargs)
        result = _with_seeds(chosen, args, kwargs, values if mode == "forward" else None)
        finish(derivative, chosen)
        return shaped(args, kwargs, result, values)

    def shaped(args: Any, kwargs: Any, result: Any, values: Any = None) -> Any:
        values = derivation.values(args, kwargs) if values is None else values
        value, change = result
        others = (*args, *kwargs.values(), value)
        if mode == "forward":
            return value, finished([value], [change], others)[0]
        bars = finished(values, [change] if single else change, others)
        return value, bars[0] if single else tuple(bars)

    about = documented(mode, primal, names, single, example=example)
    dressed = _dress(derivative, "autodiff", primal, derivation, about, qualname, shaped)
    return _remembered(derivation, primal, qualname, dressed)


def _with_seeds(
    derivation: Derivation, args: Any, kwargs: Mapping[str, Any], values: Sequence[Any] | None
) -> Any:
    """What the emitted function returns, if its seeds have the shapes of `values`, or (None) of the
    value, which only the call itself makes."""
    __tracebackhide__ = True
    if values is not None:
        _check_seeds(values, derivation.seeds, args, kwargs)
        return derivation.call(args, kwargs)
    names = derivation.names
    try:
        result = derivation.call(args, kwargs)
    except (TypeError, ValueError):  # (the seed may be what does not fit)
        own = args[: len(names)], {name: kwargs[name] for name in names if name in kwargs}
        found = _plain_value(derivation.primal, *own)
        _check_seeds([found], derivation.seeds, args, kwargs)
        raise
    _check_seeds([result[0]], derivation.seeds, args, kwargs)
    return result


def _check_seeds(
    values: Sequence[Any], names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Refuse an array or number as the seed, the last argument, of a value of another shape."""
    positional = list(args)
    for name, value in zip(reversed(names), reversed(values), strict=False):
        seed = kwargs[name] if name in kwargs else positional.pop() if positional else None
        if leaves.is_leaf(value) and getattr(seed, "shape", ()) != getattr(value, "shape", ()):
            seed_like(value, seed, f"`{name}`")


# ------------------------------------------------------------------- products at one point


@standard_arrays_too
def jvp(fn: Callable[..., R], primals: Any, tangents: Any, **kwargs: Any) -> tuple[R, Any]:
    """Value and tangent at a point: forward mode.

    Parameters
    ----------
    fn : callable
        A function of NumPy arrays, numbers and containers of them.
    primals : sequence
        Its positional arguments. The only argument may stand by itself: `jvp(f, x, x_dot)`.
    tangents : sequence
        One for each of `primals`, with the structure and shapes of that; None is zero.
    **kwargs : Any
        Keyword arguments of `fn`, which are constants.

    Returns
    -------
    value : Any
        What `fn` returns.
    tangent : Any
        The derivative along the tangents, with the structure, shapes and dtypes of the value.

    Raises
    ------
    UnsupportedError
        if `fn` uses something that is not differentiated: with file, line, caret and a way out.
    TangentlikeError
        if there are not as many tangents as primals, or a tangent does not fit its primal.

    Examples
    --------
    >>> jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, None))
    (6.0, 3.0)
    """
    args, given = _points(primals, tangents)
    if len(args) != len(given):
        raise TangentlikeError(
            f"jvp got {len(args)} primals and {len(given)} tangents",
            hint="Give one tangent for each primal; None stands for a zero tangent.",
        )
    primal = _called(fn, args, kwargs)
    names = _positional(primal, len(args))
    wanted = [i for i, tangent in enumerate(given) if _moves(args[i], tangent)]
    wrt = tuple(dict.fromkeys(names[i] for i in wanted))
    refuse_without_floats(primal, _by_name(primal, names, args))
    seeds = _by_name(primal, names, given)
    full_args, full_kwargs = _complete(primal, args, _non_literals(fn, kwargs))
    if not wrt:
        value = _plain_value(primal, full_args, full_kwargs)
        return value, like(value, None)
    derivation = _derivation(primal, "tangent", wrt).specialized_for(full_args, full_kwargs)
    values = derivation.values(full_args, full_kwargs)
    dots = {
        dot: seed_like(value, seeds[name], f"the tangent of `{name}`")
        for dot, name, value in zip(seed_names(derivation), wrt, values, strict=True)
    }
    value, tangent = derivation.call(full_args, {**full_kwargs, **dots})
    # (A zero that was folded is a float; shaping must not take its type for that of a value.)
    found = value, finished([value], [tangent], (*args, *dots.values(), value))[0]
    value, tangent = (primal.shaped(full_args, full_kwargs, part) for part in found)
    others = (*args, *dots.values(), value)
    return value, finished([value], [tangent], others)[0]


def _points(primals: Any, tangents: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The arguments and their tangents; the only argument may stand by itself, and its tangent."""
    several = [isinstance(given, (tuple, list)) for given in (primals, tangents)]
    if several == [True, True]:
        return tuple(primals), tuple(tangents)
    if several == [False, False]:
        return (primals,), (tangents,)
    raise TangentlikeError(
        "jvp takes a tuple of arguments and a tuple of tangents, one for each",
        hint="Write jvp(f, (x,), (x_dot,)) for a function of one argument.",
    )


@standard_arrays_too
def vjp(
    fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]:
    """Value and pullback at a point: reverse mode.

    Parameters
    ----------
    fn : callable
        A function of NumPy arrays, numbers and containers of them.
    *args : Any
        Its positional arguments. Leave them as they are until the last call of the pullback.
    **kwargs : Any
        Keyword arguments of `fn`, which are constants.

    Returns
    -------
    value : Any
        What `fn` returns.
    pullback : callable
        `pullback(seed)` gives a tuple with one gradient for each argument, in the structure, shapes
        and dtypes of that (None where an argument carries no derivative). The seed has the
        structure of the value. It may be called as often as wanted.

    Raises
    ------
    UnsupportedError
        if `fn` uses something that is not differentiated: with file, line, caret and a way out.
    TangentlikeError
        if `fn` takes fewer arguments; from the pullback, if the seed does not fit the value.

    Examples
    --------
    >>> value, pullback = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> value, pullback(1.0), pullback(10.0)
    (6.0, (3.0, 2.0), (30.0, 20.0))
    """
    primal = _called(fn, args, kwargs)
    names = _positional(primal, len(args))
    given = _by_name(primal, names, args)
    wrt = differentiable(primal, given)
    full_args, full_kwargs = _complete(primal, args, _non_literals(fn, kwargs))
    if not wrt:
        nothing = (None,) * len(args)
        return _plain_value(primal, full_args, full_kwargs), lambda y_bar: nothing
    derivation = _derivation(primal, "pair", wrt).specialized_for(full_args, full_kwargs)
    derivation, emitted_value, tape = derivation.recorded(full_args, full_kwargs)
    _, backward = functions_of(derivation.derived)
    value = primal.shaped(full_args, full_kwargs, emitted_value)
    value = leaves.own_memory([value], [tape, *args])[0]  # (the caller may write it)

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        seed = as_emitted(emitted_value, with_lists(seed_like(value, y_bar)))
        again = fresh_tape(tape, derivation.writes_tape)
        bars = derivation.pulled_back(backward, again, seed)
        found = dict(zip(wrt, finished([given[n] for n in wrt], bars, (*args, seed)), strict=True))
        spread = {name: iter(found[name]) for name in wrt if name == primal.starred}
        return tuple(next(spread[n]) if n in spread else found.get(n) for n in names)

    pullback.__qualname__ = f"pullback of {primal.name}"
    return value, pullback


# ------------------------------------------------------------------------ shared with others


def finished(values: Sequence[Any], bars: Any, others: Sequence[Any]) -> list[Any]:
    """Adjoints as the caller gets them: structured like the values, memory of their own."""
    if len(values) != len(bars):
        raise InternalError("reverse", f"{len(bars)} seeds for {len(values)} results")
    shaped = list(map(like, values, bars))
    if _FLOAT.issuperset(map(type, shaped)):
        return shaped
    return leaves.own_memory(shaped, others)


def seed_names(derivation: Derivation) -> tuple[str, ...]:
    """The parameters of an emitted forward function that take the tangents, in order of wrt."""
    return derivation.seeds


def _derivation(
    primal: Primal,
    mode: str,
    wrt: tuple[str, ...],
    bare: bool = False,
    has_aux: bool = False,
    example: Any = None,
    target: str = "numpy",
    reuse: bool = False,
) -> Derivation:
    from ..ad.request import Request

    if reuse and target != "numpy":
        raise TangentlikeError(
            f"reuse=True is for target='numpy', not {target!r}",
            hint="The loops that a compiler makes need no arrays for what is between.",
        )
    given = _example(primal, example)
    return derivation_of(
        primal, Request(mode, wrt, bare, has_aux, given, target, strict=primal.strict, reuse=reuse)
    )


def _example(primal: Primal, example: Any) -> tuple[Any, ...] | None:
    """The example arguments of a function, one of which may stand by itself."""
    if example is None:
        return None
    given = tuple(example) if type(example) in (tuple, list) else (example,)
    parameters = plain_signature(primal.function).parameters
    names = tuple(parameters)
    if len(given) > len(names) and primal.starred is None:
        raise TangentlikeError(
            f"example= has {len(given)} arguments, and {primal.name} has {len(names)}",
            hint=f"Its parameters are {', '.join(names)}: give one for each, as in a call.",
        )
    for parameter in [*parameters.values()][len(given) :]:  # (numbers that are left out)
        positional = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        if type(parameter.default) not in (int, float) or not positional:
            break
        given = (*given, parameter.default)
    return given


def _dress(
    function: Any,
    operator: str,
    primal: Primal,
    derivation: Derivation,
    about: str,
    qualname: str,
    shaped: Callable[..., Any],
    target: str = "numpy",
) -> types.FunctionType:
    seeds = operator == "autodiff"
    made = Operator(operator, primal, lambda: derivation, about, seeds=seeds, shaped=shaped)
    at_once = target not in ("numpy", "numba")  # (which may not be there, or has nothing to do)
    return hand_back(function, made, qualname, primal.signature, at_once)


def _remembered(
    derivation: Derivation, primal: Primal, qualname: str, dressed: types.FunctionType
) -> types.FunctionType:
    """What is handed back, which is the same object when it is asked for again."""
    if not _bound(primal):
        derivation.handed[qualname] = dressed
    return dressed


def _bound(primal: Primal) -> bool:
    return bool(primal.args or primal.kwargs)


def _complete(
    primal: Primal, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of the function itself: what is bound already, then the caller's."""
    if not primal.args and not primal.kwargs:
        return args, kwargs
    return (*primal.args, *args), {**primal.kwargs, **kwargs}


def _plain_value(primal: Primal, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The value where nothing moves; what the function writes are copies, as it is elsewhere."""
    own_args, own_kwargs = leaves.own_copies((args, dict(kwargs)))
    return primal.function(*own_args, **own_kwargs)


def _called(fn: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Primal:
    if not isinstance(fn, types.FunctionType) or is_operation(fn):
        return _called_object(fn, args, kwargs)
    primal = primal_of(fn)
    if primal.waits:
        return primal.around(primal.inner.specialized_for(*_complete(primal, args, dict(kwargs))))
    return primal


def _called_object(fn: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Primal:
    if library_path(fn) is not None:
        return primal_of(fn, len(args), literals_of(fn, kwargs))
    return primal_of(fn)


def _calls_differently(primal: Primal, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return bool(kwargs) or len(args) != len(primal.free_names)


def _non_literals(fn: Function, kwargs: dict[str, Any]) -> dict[str, Any]:
    if not kwargs:
        return kwargs
    return {} if library_path(fn) is not None else kwargs


def _positional(primal: Primal, count: int) -> list[str]:
    """For each positional argument of a call the parameter it goes to."""
    if count <= len(primal.positional):
        return list(primal.positional[:count])
    if primal.starred is None:
        raise TangentlikeError(
            f"{primal.name} takes {len(primal.positional)} positional arguments, got {count}"
        )
    return [*primal.positional, *[primal.starred] * (count - len(primal.positional))]


def _by_name(primal: Primal, names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Parameter to its value; a `*` parameter has the tuple of what it takes."""
    found: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        found[name] = (*found.get(name, ()), value) if name == primal.starred else value
    return found


def differentiable(primal: Primal, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments by which a function is differentiated where all are that may be."""
    refuse_without_floats(primal, given)
    wrt = tuple(name for name, value in given.items() if leaves.has_leaf(value))
    for name in wrt:
        leaves.refuse_cycle(name, primal.name, given[name])
    return wrt


def refuse_without_floats(primal: Primal, given: Mapping[str, Any]) -> None:
    """Refuse arguments none of which holds a float; where there are none, nothing is lost."""
    if len(given) == 1:
        for name, value in given.items():
            leaves.refuse_integer(name, primal.name, value)
    if given:
        hint = "Pass a float, an array of floats, or a container of them."
        leaves.refuse_no_leaf(tuple(given), primal.name, tuple(given.values()), hint)


def _moves(value: Any, tangent: Any) -> bool:
    """Whether a tangent makes its primal an input of the derivative."""
    return tangent is not None and (leaves.has_leaf(value) or leaves.has_leaf(tangent))


# What each gives where it is called in a function that is differentiated (transform.operators).
_derived_functions: tuple[Any, ...] = (grad, value_and_grad, autodiff)
for _operator in _derived_functions:
    mark(_operator, derives="function")
mark(jvp, derives="tangent", made_with=autodiff)
mark(vjp, derives="pullback", made_with=autodiff)
OPERATORS.update(grad=grad, value_and_grad=value_and_grad, autodiff=autodiff)


def _derive_call(*call: Any) -> Any:
    from ..dispatch.called import derive_call

    return derive_call(*call)


def _described(owner: Any) -> Any:
    from ..dispatch.called import described

    return described(owner)


derived_by(_derive_call, _described)  # emitted code may meet functions that only the run knows
