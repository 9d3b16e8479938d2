"""Derivatives as linear maps at a point: products with the Hessian, and the tangent map."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from .. import ir
from ..dispatch.claims import standard_arrays_too
from ..dispatch.derivation import Derivation, functions_of
from ..dispatch.derived import OPERATORS, encode
from ..errors import InternalError, TangentlikeError
from ..frontend.owners import mark
from ..frontend.primal import Primal, Wrt, primal_of, wrt_names
from ..frontend.signatures import plain_signature
from ..ir.facts import fact
from ..ir.index import references
from ..pytree import leaves
from ..pytree.gradients import as_emitted, like, seed_like, with_lists
from ..runtime.shadow import Shadow
from ..runtime.tape import fresh_tape
from .calls import (
    _by_name,
    _called,
    _complete,
    _derivation,
    _non_literals,
    _plain_value,
    _positional,
    autodiff,
    differentiable,
    finished,
    jvp,
    seed_names,
)
from .composed import Again, hvp_text
from .handback import (
    DerivativeOf,
    HandedBack,
    HvpOptions,
    Operator,
    PlainDerivative,
    TangentMap,
    documented,
    finish,
)
from .jacobians import Remembered, gradient_tangent, handed, same_values

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..pipeline.stages import Derived

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


@overload
def hvp(
    fn: Function,
    wrt: Wrt = 0,
    **options: Unpack[HvpOptions],
) -> PlainDerivative[Any]: ...
@overload
def hvp(
    fn: None = None,
    wrt: Wrt = 0,
    **options: Unpack[HvpOptions],
) -> DerivativeOf: ...
def hvp(
    fn: Function | None = None,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    v_position: int | None = None,
    example: Any = None,
    strict: bool = False,
) -> Any:
    """The product of the Hessian with a vector, without the Hessian: `hvp(f)(x, v)`.

    Computed forward over reverse, at the cost of a few gradients. Also a decorator.

    Parameters
    ----------
    fn : callable, optional
        A function of NumPy arrays, numbers and containers of them that returns a real number.
    wrt : int, str or tuple of these
        By which parameters: positions (negative ones count from the end) or names. A single
        one gives a bare product, a tuple gives a tuple.
    has_aux : bool
        `fn` returns `(value, aux)`, and `aux` comes back beside the result: `(product, aux)`.
    v_position : int, optional
        Where `v` stands among the arguments. By default it stands last, or second where only the
        second is a one-dimensional array as long as the first: so the `hessp` of
        `scipy.optimize.minimize` passes it, `hessp(x, v, *args)`. A call in which both are such
        arrays is refused: pass `v=`, or 1 here. Inside a function that is differentiated,
        `v` stands last.
    example : tuple, optional
        Arguments like those it will be called with, without `v`: their ranks and shapes make
        plainer source.
    strict : bool
        Refuse all at once, also what a call may not reach. Otherwise a `raise` stands for that in
        the derivative (docs/semantics.md), and the rest is refused at the first call.

    Returns
    -------
    PlainDerivative
        A function that takes the arguments of `fn` and `v`, which has the structure, shapes and
        dtypes of the gradient (a tuple for a tuple `wrt`), and returns the product, which has too.

    Raises
    ------
    UnsupportedError
        if `fn` uses something that is not differentiated: with file, line, caret and a way out.
    TangentlikeError
        if `wrt` names no parameter, or `v_position` is out of range; when called, if
        `v` does not fit the argument.

    Examples
    --------
    >>> hvp(lambda x: x**3)(2.0, 10.0)
    120.0
    >>> hvp(lambda x, a: a * x**3, v_position=1)(2.0, 10.0, 0.5)
    60.0
    """
    options: HvpOptions = {"has_aux": has_aux, "v_position": v_position}
    options |= {"example": example, "strict": strict}
    if fn is None:
        return lambda f: hvp(f, wrt, **options)
    primal = primal_of(fn).strictly(strict)
    names, single = wrt_names(primal, wrt)
    v_name = _checked_position(primal, v_position)
    follows_x = single and v_position is None and names[0] == next(iter(primal.positional), None)
    mode = "tangent" if has_aux else "change"

    @Remembered
    def derive() -> Derivation:
        return gradient_tangent(primal, names, single, has_aux, names, mode, example)

    @HandedBack
    def product(*args: Any, **kwargs: Any) -> Any:
        args, kwargs, v = _vector(args, kwargs, v_name, v_position, follows_x)
        args, kwargs = _complete(primal, args, kwargs)
        outer = derive().specialized_for(args, kwargs)
        values = outer.values(args, kwargs)
        vectors = (v,) if single else tuple(v)
        if len(vectors) != len(names):
            raise TangentlikeError(f"v must have {len(names)} parts, one for each of {names}")
        parts = zip(seed_names(outer), names, values, vectors, strict=True)
        dots = {dot: seed_like(x, part, f"v for `{name}`") for dot, name, x, part in parts}
        found = outer.call(args, {**kwargs, **dots})
        finish(product, outer)
        # With aux, what is differentiated returns (gradient, aux), and this (value, tangent).
        change, aux = (found[1][0], found[0][1]) if has_aux else (found, None)
        found = finished(values, [change] if single else change, (*args, *dots.values(), aux))
        answer = found[0] if single else tuple(found)
        return (answer, aux) if has_aux else answer

    qualname = encode("hvp", primal.origin, wrt=names[0] if single else names, **options)
    # (The text that is differentiated further takes `v` as its last argument.)
    again = None if has_aux or v_position is not None else Again(derive, hvp_text)
    about = documented("hvp", primal, names, single, has_aux, example)
    operator = Operator("hvp", primal, derive, about, exact=False, again=again)
    signature = _with_vector(primal.signature, v_name, v_position)
    return handed(product, operator, qualname, signature, example)


def _checked_position(primal: Primal, position: int | None) -> str:
    """The name that `v` has, after a look at where it shall stand."""
    own = primal.signature.parameters.values()
    count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in own)
    if position is not None and not 0 <= position <= count:
        raise TangentlikeError(
            f"v_position={position} is out of range: {primal.name} has {count} arguments",
            hint="v_position=1 takes v as the second argument.",
        )
    return "v_" if "v" in primal.signature.parameters else "v"


def _vector(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    position: int | None,
    may_follow_x: bool,
) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """The arguments of the function, and `v`; which has a name only if the function has no `v`."""
    if name == "v" and "v" in kwargs:
        return args, {k: value for k, value in kwargs.items() if k != "v"}, kwargs["v"]
    place = len(args) - 1 if position is None else position
    if may_follow_x and len(args) > 2 and _are_alike(args[0], args[1]):
        if _are_alike(args[0], args[-1]):
            by_name = "by name, v=..., or " if name == "v" else ""
            raise TangentlikeError(
                "which argument is the vector v is ambiguous: the second and the last are both "
                "one-dimensional arrays as long as the first",
                hint=f"Pass v {by_name}say where it stands: tl.hvp(f, v_position=1) for second, as "
                f"SciPy calls hessp(x, v, *args), and v_position={len(args) - 1} for last.",
            )
        place = 1
    if not 0 <= place < len(args):
        raise TypeError("the vector v is missing")
    return (*args[:place], *args[place + 1 :]), kwargs, args[place]


def _are_alike(x: Any, v: Any) -> bool:
    """Whether `v` may be a vector for `x`: both have one axis, of the same length."""
    shape = getattr(x, "shape", ())
    return len(shape) == 1 and getattr(v, "shape", None) == shape


def _with_vector(signature: inspect.Signature, name: str, position: int | None) -> Any:
    """The signature with `v` as the last positional parameter, or at its position."""
    Parameter = inspect.Parameter
    own = list(signature.parameters.values())
    before = [p for p in own if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    after = [p for p in own if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    place = len(before) if position is None else position
    before, between = before[:place], before[place:]
    before = [p.replace(default=p.empty) for p in before]
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD
    if name != "v":  # f has a v of its own: ours is by position only, so all before are
        kind = Parameter.POSITIONAL_ONLY
        before = [p.replace(kind=kind) for p in before]
    return inspect.Signature([*before, Parameter(name, kind), *between, *after])


# ------------------------------------------------------------------------------- linearize


@standard_arrays_too
def linearize(fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> tuple[R, TangentMap]:
    """Value and tangent map at a point: one primal sweep, then tangents as often as asked.

    The backward function of `fn` is a linear map, and the tangent map is its transpose: it is made
    by reverse mode over that, and runs no primal statement again. Where that second transform
    is refused, or adjoints are found by identity, the tangent map is forward mode at the point,
    primal included.

    Parameters
    ----------
    fn : callable
        A function of NumPy arrays, numbers and containers of them.
    *args : Any
        Its positional arguments. Leave them as they are until the last call of the tangent map.
    **kwargs : Any
        Keyword arguments of `fn`, which are constants.

    Returns
    -------
    value : Any
        What `fn` returns.
    tangent : TangentMap
        `tangent(*x_dots)` takes one tangent for each argument, in its shape (None is zero), and
        gives that of the value. `tangent.source` is its text; `tangent.runs_primal` says whether it
        runs the primal again.

    Raises
    ------
    UnsupportedError
        if `fn` uses something that is not differentiated: with file, line, caret and a way out.
    TangentlikeError
        if `fn` takes fewer arguments; from the tangent map, if a tangent does not fit.

    Examples
    --------
    >>> value, tangent = linearize(lambda x, y: x * y, 2.0, 3.0)
    >>> value, tangent(1.0, None), tangent(0.0, 1.0)
    (6.0, 3.0, 2.0)
    """
    primal = _called(fn, args, kwargs)
    names = _positional(primal, len(args))
    given = _by_name(primal, names, args)
    wrt = differentiable(primal, given)
    full_args, full_kwargs = _complete(primal, args, _non_literals(fn, kwargs))
    if not wrt:
        value = _plain_value(primal, full_args, full_kwargs)
        return value, _dressed(lambda *x_dots: like(value, None), primal, False, "")
    derivation = _derivation(primal, "pair", wrt).specialized_for(full_args, full_kwargs)
    derivation, value, tape = derivation.recorded(full_args, full_kwargs)
    shaped = functools.partial(primal.shaped, full_args, full_kwargs)
    transposed = _transposed(derivation)
    if transposed is not None:
        restores = derivation.writes_tape
        ready = _prepared(transposed, fresh_tape(tape, restores), value, restores)
        if ready is not None:
            value = leaves.own_memory([value], [tape, *args])[0]
            return shaped(value), _tangent_map(ready, primal, given, names, wrt, value, shaped)
    value = shaped(value)

    def again(*x_dots: Any) -> Any:
        repeated, found = jvp(fn, args, x_dots, **kwargs)
        if not same_values(value, repeated):
            raise TangentlikeError(
                f"{primal.name} returns a different value each time it is called, and its tangent "
                "map calls it again",
                hint="Draw random numbers outside of it.",
            )
        return found

    repeating = _derivation(primal, "tangent", wrt).specialized_for(full_args, full_kwargs)
    return value, _dressed(again, primal, True, repeating.derived.source)


def _dressed(tangent: Any, primal: Primal, runs_primal: bool, source: str) -> TangentMap:
    tangent.runs_primal, tangent.source = runs_primal, source
    tangent.__qualname__ = f"tangent map of {primal.name}"
    return cast(TangentMap, tangent)


@dataclass(frozen=True)
class _Transpose:
    """A backward function, its tape as parameters, differentiated by its seed."""

    taken: int | None  # how many names the tape was unpacked into; None if it was not
    derivation: Derivation


@dataclass(frozen=True)
class _Prepared:
    """A transpose at a point: the adjoints that its primal gave, which belong to the zero seed, and
    the tape of its own."""

    derivation: Derivation
    bars: Any
    tape: Any


_TRANSPOSES: weakref.WeakKeyDictionary[Derivation, _Transpose | None] = weakref.WeakKeyDictionary()


def _transposed(derivation: Derivation) -> _Transpose | None:
    """The pair of the backward function by its seed; None where that is refused, and where adjoints
    are found by identity: what is on the tape twice would be two parameters, each of its own."""
    if derivation not in _TRANSPOSES and _finds_by_identity(derivation.derived):
        _TRANSPOSES[derivation] = None
    if derivation not in _TRANSPOSES:
        taken, backward = _unpacked(derivation.derived)
        seed = plain_signature(backward).parameters
        primal = Primal(backward, derivation.primal.name, None)
        made = _derivation(primal, "pair", (list(seed)[-1],))
        made = made.for_complex if derivation.request.has_complex else made
        made = made.for_foreign if derivation.request.has_foreign else made
        try:
            functions_of(made.derived)
            _TRANSPOSES[derivation] = _Transpose(taken, made)
        except (TangentlikeError, InternalError):
            _TRANSPOSES[derivation] = None
    return _TRANSPOSES[derivation]


def _finds_by_identity(derived: Derived) -> bool:
    """Whether a text keeps adjoints in a shadow."""
    functions = derived.whole().module.functions
    return any(ref.obj is Shadow for fn in functions for ref in fact(references, fn))


def _unpacked(derived: Derived) -> tuple[int | None, Any]:
    """The backward function with what it takes from its tape as parameters of its own.

    Before: `def f_bwd(tape, y_bar): a, b_saved = tape; ...`.
    After: `def f_bwd(a, b_saved, y_bar): ...`, whose parameters may be taken to lie apart.
    """
    from ..codegen.print import emit, load

    derived = derived.whole()
    *others, backward = derived.module.functions
    first = backward.body[0] if backward.body else None
    tape = backward.params[0].name
    if not isinstance(first, ir.Assign) or first.value != ir.Var(tape):
        return None, functions_of(derived)[-1]
    names = first.target if isinstance(first.target, tuple) else (first.target,)
    taken = tuple(map(str, names))
    params = (*map(ir.Param, taken), *backward.params[1:])
    flat = dataclasses.replace(backward, params=params, body=backward.body[1:], empties=taken)
    scope = derived.lowered.scope
    loaded = load(emit(ir.Module((*others, flat)), scope, derived.scopes))
    return len(names), loaded[flat.name]


def _prepared(
    transposed: _Transpose, tape: tuple[Any, ...], value: Any, restores: bool
) -> _Prepared | None:
    """The transpose at a point. None where memory is shared that the backward function writes:
    arrays that it `restores`, or a list that is on the tape twice."""
    zero = with_lists(seed_like(value, None))
    arguments = (*tape, zero) if transposed.taken is not None else (tape, zero)
    try:
        derivation = transposed.derivation.specialized_for(arguments, {})
        forward, _ = functions_of(derivation.derived)
        run = derivation.run if restores or _has_list_twice(tape, set()) else derivation.guarded
        bars, again = run(forward, arguments, {})
    except (TangentlikeError, InternalError):
        return None
    return _Prepared(derivation, bars, again)


def _has_list_twice(value: Any, seen: set[int]) -> bool:
    if not isinstance(value, (list, tuple, dict)):
        return False
    if not isinstance(value, tuple):
        if id(value) in seen:
            return True
        seen.add(id(value))
    items = value.values() if isinstance(value, dict) else value
    return any(_has_list_twice(item, seen) for item in items)


def _tangent_map(
    ready: _Prepared,
    primal: Primal,
    given: dict[str, Any],
    names: list[str],
    wrt: tuple[str, ...],
    value: Any,
    shaped: Callable[[Any], Any],
) -> TangentMap:
    derivation = ready.derivation
    backward = functions_of(derivation.derived)[-1]

    def tangent(*x_dots: Any) -> Any:
        if len(x_dots) != len(names):
            raise TangentlikeError(
                f"the tangent map takes {len(names)} tangents, one for each argument, got "
                f"{len(x_dots)}"
            )
        seeds = _by_name(primal, names, x_dots)
        dots = [
            with_lists(seed_like(given[name], seeds[name], f"the tangent of `{name}`"))
            for name in wrt
        ]
        again = fresh_tape(ready.tape, derivation.writes_tape)
        (found,) = derivation.pulled_back(backward, again, as_emitted(ready.bars, dots))
        (found,) = finished([value], [found], dots)
        return finished([shaped(value)], [shaped(found)], dots)[0]

    return _dressed(tangent, primal, False, derivation.derived.source)


mark(hvp, derives="function")
mark(linearize, derives="linear", made_with=autodiff)
OPERATORS.update(hvp=hvp)
