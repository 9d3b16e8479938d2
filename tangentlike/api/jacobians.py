"""Whole Jacobians and Hessians, one seed at a time.

A result has the structure of the value and, at each leaf of that, the structure of the
arguments: `{"a": y}` by `(w, b)` gives `{"a": (dy_dw, dy_db)}`.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from ..dispatch.derivation import Derivation, functions_of
from ..dispatch.derived import OPERATORS, encode
from ..errors import TangentlikeError, UnsupportedError
from ..frontend.owners import mark
from ..frontend.primal import Primal, Wrt, primal_of, wrt_names
from ..pytree import leaves
from ..pytree.gradients import (
    Blocks,
    as_emitted,
    flat,
    seed_like,
    shaped_like,
    size_of,
    units,
    with_lists,
)
from ..runtime.tape import fresh_tape
from .calls import _bound, _complete, _derivation, finished, seed_names
from .composed import Again, jacobian_text
from .handback import (
    Derivative,
    GradientOf,
    HandedBack,
    HessianOptions,
    JacobianOptions,
    Operator,
    described_as,
    documented,
    finish,
    hand_back,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

Function = Callable[..., Any]
P = ParamSpec("P")
OF_REAL = "The Hessian is of a real function."  # what is said where an argument is complex


@overload
def jacobian(
    fn: Callable[P, Any],
    wrt: Wrt = 0,
    mode: str = "auto",
    **options: Unpack[JacobianOptions],
) -> Derivative[P, Any]: ...
@overload
def jacobian(
    fn: None = None,
    wrt: Wrt = 0,
    mode: str = "auto",
    **options: Unpack[JacobianOptions],
) -> GradientOf: ...
def jacobian(
    fn: Function | None = None,
    wrt: Wrt = 0,
    mode: str = "auto",
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    example: Any = None,
    strict: bool = False,
) -> Any:
    """The Jacobian of a function: all its partial derivatives.

    Also a decorator.

    Parameters
    ----------
    fn : callable, optional
        A function of NumPy arrays, numbers and containers of them; its value may be an array.
    wrt : int, str or tuple of these
        By which parameters: positions (negative ones count from the end) or names. A single
        one gives the bare derivative, a tuple gives a tuple.
    mode : {"auto", "forward", "reverse"}
        "reverse" makes one sweep for each entry of the value, "forward" one for each entry of the
        arguments; "auto" takes the smaller number.
    has_aux : bool
        `fn` returns `(value, aux)`, and `aux` comes back beside the result: `(jacobian, aux)`.
    holomorphic : bool
        For complex functions of complex arguments: the complex derivative, checked to exist.
    example : tuple, optional
        Arguments like those it will be called with: their ranks and shapes make plainer source.
    strict : bool
        Refuse all at once, also what a call may not reach. Otherwise a `raise` stands for that in
        the derivative (docs/semantics.md), and the rest is refused at the first call.

    Returns
    -------
    Derivative
        A function that is called like `fn` and returns the Jacobian: for arrays an array of shape
        `value.shape + x.shape`, in the dtype of the value. Containers nest: the result has the
        structure of the value and, at each of its leaves, that of the argument.

    Raises
    ------
    UnsupportedError
        if `fn` uses something that is not differentiated: with file, line, caret and a way out.
    TangentlikeError
        if `wrt` names no parameter, or there is no such `mode`; when called, if an argument
        or the value has no floating entries, or is complex without `holomorphic`.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    options: JacobianOptions = {"has_aux": has_aux, "holomorphic": holomorphic}
    options |= {"example": example, "strict": strict}
    if fn is None:
        return lambda f: jacobian(f, wrt, mode, **options)
    if mode not in ("auto", "forward", "reverse"):
        raise TangentlikeError(f"mode is 'auto', 'forward' or 'reverse', not {mode!r}")
    primal = primal_of(fn).strictly(strict)
    names, single = wrt_names(primal, wrt)
    task = _Task(primal, names, single, mode, has_aux, holomorphic, example)

    @HandedBack
    def matrix(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _complete(primal, args, kwargs)
        found = task.at(args, kwargs)
        finish(matrix, task.derive().specialized_for(args, kwargs))
        return found

    plain = single and not has_aux and not holomorphic
    again = Again(task.derive_again, jacobian_text) if plain else None
    about = documented("jacobian", primal, names, single, has_aux, example)
    operator = Operator("jacobian", primal, task.derive, about, False, again=again)
    by = names[0] if single else names
    qualname = encode("jacobian", primal.origin, wrt=by, mode=mode, **options)
    return handed(matrix, operator, qualname, primal.signature, example)


@overload
def jacfwd(
    fn: Callable[P, Any],
    wrt: Wrt = 0,
    **options: Unpack[JacobianOptions],
) -> Derivative[P, Any]: ...
@overload
def jacfwd(
    fn: None = None,
    wrt: Wrt = 0,
    **options: Unpack[JacobianOptions],
) -> GradientOf: ...
@described_as(jacobian)
def jacfwd(
    fn: Function | None = None,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    example: Any = None,
    strict: bool = False,
) -> Any:
    """The Jacobian in forward mode: one sweep for each entry of the arguments.

    `jacobian` chooses between this and the other mode by itself.

    Examples
    --------
    >>> import numpy as np
    >>> jacfwd(lambda t: np.array([t, t * t]))(3.0)
    array([1., 6.])
    """
    options: JacobianOptions = {"has_aux": has_aux, "holomorphic": holomorphic}
    options |= {"example": example, "strict": strict}
    return jacobian(fn, wrt, "forward", **options)


@overload
def jacrev(
    fn: Callable[P, Any],
    wrt: Wrt = 0,
    **options: Unpack[JacobianOptions],
) -> Derivative[P, Any]: ...
@overload
def jacrev(
    fn: None = None,
    wrt: Wrt = 0,
    **options: Unpack[JacobianOptions],
) -> GradientOf: ...
@described_as(jacobian)
def jacrev(
    fn: Function | None = None,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    example: Any = None,
    strict: bool = False,
) -> Any:
    """The Jacobian in reverse mode: one primal sweep, then one sweep for each entry of the value.

    `jacobian` chooses between this and the other mode by itself.

    Examples
    --------
    >>> import numpy as np
    >>> jacrev(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    options: JacobianOptions = {"has_aux": has_aux, "holomorphic": holomorphic}
    options |= {"example": example, "strict": strict}
    return jacobian(fn, wrt, "reverse", **options)


@overload
def hessian(
    fn: Callable[P, Any],
    wrt: Wrt = 0,
    **options: Unpack[HessianOptions],
) -> Derivative[P, Any]: ...
@overload
def hessian(
    fn: None = None,
    wrt: Wrt = 0,
    **options: Unpack[HessianOptions],
) -> GradientOf: ...
@described_as(jacobian)
def hessian(
    fn: Function | None = None,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    example: Any = None,
    strict: bool = False,
) -> Any:
    """The Hessian of a real scalar function, computed forward over reverse.

    Also a decorator.

    Parameters
    ----------
    fn : callable, optional
        A function of NumPy arrays, numbers and containers of them that returns a real number.
    wrt : int, str or tuple of these
        By which parameters: positions (negative ones count from the end) or names. A single
        one gives the bare Hessian, a tuple gives a tuple.
    has_aux : bool
        `fn` returns `(value, aux)`, and `aux` comes back beside the result: `(hessian, aux)`.

    Returns
    -------
    Derivative
        A function that is called like `fn` and returns the Hessian: for an array an array of shape
        `x.shape + x.shape` and of its dtype. A tuple `wrt` gives a tuple of tuples: block i, j is
        the derivative by i, then by j. Containers nest likewise.

    Raises
    ------
    UnsupportedError
        if `fn` uses something that is not differentiated: with file, line, caret and a way out.
    TangentlikeError
        if `wrt` names no parameter; when called, if an argument is complex or has no
        floating entries.

    Examples
    --------
    >>> import numpy as np
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    options: HessianOptions = {"has_aux": has_aux, "example": example, "strict": strict}
    if fn is None:
        return lambda f: hessian(f, wrt, **options)
    primal = primal_of(fn).strictly(strict)
    names, single = wrt_names(primal, wrt)

    @Remembered
    def derive(along: tuple[str, ...] = names) -> Derivation:
        return gradient_tangent(primal, names, single, has_aux, along, example=example)

    @HandedBack
    def matrix(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _complete(primal, args, kwargs)
        outer = derive(names).specialized_for(args, kwargs)
        inputs = inputs_for(outer, args, kwargs, OF_REAL)
        both = inputs[0] if single else tuple(inputs)
        sweeps = [Forward(derive((name,)), args, kwargs, has_aux, like=both) for name in names]
        blocks = _by_columns(sweeps, inputs, single)
        finish(matrix, outer)
        return (blocks.nested(), sweeps[0].aux) if has_aux else blocks.nested()

    qualname = encode("hessian", primal.origin, wrt=names[0] if single else names, **options)
    again = Again(derive, jacobian_text) if single and not has_aux else None
    about = documented("hessian", primal, names, single, has_aux, example)
    operator = Operator("hessian", primal, derive, about, False, again=again)
    return handed(matrix, operator, qualname, primal.signature, example)


def gradient_tangent(
    primal: Primal,
    names: tuple[str, ...],
    single: bool,
    has_aux: bool,
    along: tuple[str, ...],
    mode: str = "tangent",
    example: Any = None,
) -> Derivation:
    """Forward over reverse: the gradient by `names`, differentiated `along` some or all."""
    gradient = _derivation(primal, "grad", names, single, has_aux, example)
    emitted = Primal(primal.function, primal.name, None, strict=primal.strict).of(gradient)
    return _derivation(emitted, mode, along, example=example)


def handed(
    function: Any,
    operator: Operator,
    qualname: str,
    signature: inspect.Signature,
    example: Any = None,
) -> types.FunctionType:
    """The function dressed, the same one each time where it is known by its name."""
    primal = operator.primal
    known = _derivation(primal, "tangent", primal.free_names[:1], example=example).handed
    if qualname in known and not _bound(primal):
        return known[qualname]
    dressed = hand_back(function, operator, qualname, signature)
    if not _bound(primal):
        known[qualname] = dressed
    return dressed


# ------------------------------------------------------------------------- all the seeds


@dataclass(frozen=True)
class _Task:
    """What `jacobian` was asked for."""

    primal: Primal
    names: tuple[str, ...]
    single: bool
    mode: str
    has_aux: bool
    holomorphic: bool
    example: Any

    def derive(self) -> Derivation:
        mode = "tangent" if self.mode == "forward" else "pair"
        return _derivation(self.primal, mode, self.names, example=self.example)

    def derive_again(self) -> Derivation:
        """What the text of the Jacobian calls, where that is differentiated in its turn."""
        return self._tangent(self.names)

    def _tangent(self, names: tuple[str, ...]) -> Derivation:
        return _derivation(self.primal, "tangent", names, example=self.example)

    def at(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        inputs = self.derive().values(args, dict(kwargs))
        for name, value in zip(self.names, inputs, strict=True):
            self._refuse_unsuited(f"`{name}`", value)
        if self.mode == "forward":
            return self._forward(inputs, args, kwargs)
        sweep = Reverse(self.derive(), args, kwargs, self.has_aux)
        real_to_complex = leaves.is_complex(sweep.value) and not self.holomorphic
        if self.mode == "auto" and (real_to_complex or size_of(sweep.value) > size_of(inputs)):
            return self._forward(inputs, args, kwargs)
        return self._reverse(sweep)

    def _forward(self, inputs: list[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        sweeps = [
            Forward(self._tangent((name,)), args, kwargs, self.has_aux) for name in self.names
        ]
        blocks = _by_columns(sweeps, inputs, self.single)
        if self.holomorphic:
            self._refuse_unsuited("its value", sweeps[0].value)
            direction = [_complex_direction(x) for x in flat(inputs)]
            parts = iter(direction)
            seeds = [shaped_like(x, [next(parts) for _ in flat(x)]) for x in inputs]
            changes = [sweep([seed]) for sweep, seed in zip(sweeps, seeds, strict=True)]
            found = [sum(column) for column in zip(*changes, strict=True)]
            self._check_complex_linear(blocks.times(direction), found)
        return self._answer(blocks, sweeps[0].aux)

    def _reverse(self, sweep: Reverse) -> Any:
        self._refuse_unsuited("its value", sweep.value, 'Use mode="forward".')
        blocks = Blocks(sweep.value, _columns(sweep.inputs, self.single))
        for number, index, seed in units(sweep.value):
            bars = sweep(seed)
            # (An adjoint is the conjugate of the derivative: see docs/semantics.md.)
            blocks.put_row(number, index, [np.conj(b) for b in bars] if self.holomorphic else bars)
        if self.holomorphic:
            direction = [_complex_direction(y) for y in flat(sweep.value)]
            found = sweep(shaped_like(sweep.value, direction))
            expected = blocks.transposed_times([np.conj(v) for v in direction])
            self._check_complex_linear([np.conj(v) for v in expected], found)
        return self._answer(blocks, sweep.aux)

    def _answer(self, blocks: Blocks, aux: Any) -> Any:
        return (blocks.nested(), aux) if self.has_aux else blocks.nested()

    def _refuse_unsuited(self, what: str, value: Any, hint: str = "") -> None:
        if not self.holomorphic:
            return refuse_unsuited(self.primal, what, value, hint)
        if not all(map(leaves.is_complex, flat(value))):
            raise TangentlikeError(
                f"the Jacobian of {self.primal.name}: {what} is not complex",
                hint="holomorphic=True is for functions of complex numbers with complex values.",
            )
        return None

    def _check_complex_linear(self, expected: list[Any], found: list[Any]) -> None:
        """The sweep along a complex direction must be what the complex derivative says."""
        for a, b in zip(expected, found, strict=True):
            size = float(np.max(np.abs(a), initial=0.0) + np.max(np.abs(b), initial=0.0))
            epsilon = float(np.finfo(np.asarray(b).dtype).eps)
            if not np.allclose(a, b, rtol=0.0, atol=size * epsilon**0.5, equal_nan=True):
                raise TangentlikeError(
                    f"{self.primal.name} is not holomorphic: it has no complex derivative here",
                    hint="Differentiate it by real and imaginary part, or use tl.jvp and tl.vjp.",
                )


def _columns(inputs: list[Any], single: bool) -> Any:
    return inputs[0] if single else tuple(inputs)


def _by_columns(sweeps: list[Forward], inputs: list[Any], single: bool) -> Blocks:
    """One forward sweep for each entry of each input, which has a map of its own."""
    blocks: Blocks | None = None
    first = 0
    for sweep, x in zip(sweeps, inputs, strict=True):
        for number, index, seed in units(x):
            tangents = sweep([seed])
            if blocks is None:
                blocks = Blocks(sweep.value, _columns(inputs, single))
            blocks.put_column(first + number, index, tangents)
        first += len(flat(x))
    if blocks is None:  # the inputs have no entries
        sweeps[0]([None])
        blocks = Blocks(sweeps[0].value, _columns(inputs, single))
    return blocks


def _complex_direction(leaf: Any) -> Any:
    """Fixed numbers with no pattern to them, and not real."""
    k = np.arange(1.0, np.size(leaf) + 1.0).reshape(np.shape(leaf))
    return np.cos(k * k) + 1j * np.sin(1.0 + k * k)


def refuse_unsuited(primal: Primal, what: str, value: Any, hint: str = "") -> None:
    if not leaves.has_leaf(value):
        raise TangentlikeError(
            f"the Jacobian of {primal.name}: {what} is a {type(value).__name__} and has no "
            "floating entries",
            hint="Jacobians are of floats, arrays of floats and containers of these, and with "
            "respect to such.",
        )
    if leaves.is_complex(value):
        raise UnsupportedError(
            f"the Jacobian of {primal.name}: {what} is complex",
            hint=hint
            or "Pass holomorphic=True for a complex derivative, or split it into real and "
            "imaginary part.",
        )


def inputs_for(
    derivation: Derivation,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    hint: str = "",
) -> list[Any]:
    """The arguments by which a Jacobian is taken, refused where they are not of real numbers."""
    inputs = derivation.values(args, kwargs)
    for name, value in zip(derivation.request.wrt, inputs, strict=True):
        refuse_unsuited(derivation.primal, f"`{name}`", value, hint)
    return inputs


for _operator in (jacobian, hessian, jacfwd, jacrev):
    mark(_operator, derives="function")
OPERATORS.update(jacobian=jacobian, hessian=hessian)


# --------------------------------------------------------------------------------------------------
# A derivative at one point as a linear map that is applied to one seed after the other.
#
# `Forward` multiplies the Jacobian with a vector, `Reverse` its transpose; both take a seed in
# the structure of the value and give the leaves of the product. What is applied more than once
# must compute the same value each time, which is checked.


class Forward:
    """Tangents at a point, each by a run of the emitted forward function.

    `like`: what the tangents belong to, where that is not the value itself (the gradient that
    an emitted function returns has lists for tuples).
    """

    def __init__(
        self,
        derivation: Derivation,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        has_aux: bool = False,
        like: Any = None,
    ) -> None:
        self.derivation = derivation.specialized_for(args, kwargs)
        self.args, self.kwargs = args, kwargs
        self.has_aux, self.like = has_aux, like
        self.inputs = self.derivation.values(args, kwargs)
        self.value: Any = None
        self.aux: Any = None
        self._first: Any = None
        self._ran = False

    def __call__(self, seeds: Any) -> list[Any]:
        """The tangent for a seed of each input."""
        pairs = zip(seed_names(self.derivation), self.inputs, seeds, strict=True)
        dots = {dot: seed_like(value, seed) for dot, value, seed in pairs}
        value, tangent = self.derivation.call(self.args, {**self.kwargs, **dots})
        self._note(value)
        if self.has_aux:
            tangent = None if tangent is None or leaves.is_zero(tangent) else tangent[0]
        others = (*self.args, *self.kwargs.values(), *dots.values(), value)
        return flat(finished([self.value], [tangent], others)[0])

    def _note(self, value: Any) -> None:
        """Take the value of the first run; that of every later one must be the same."""
        if not self._ran:
            self._ran, self._first = True, leaves.own_memory([value], self.args)[0]
            own, self.aux = without_aux(value, self.derivation, self.has_aux)
            self.value = own if self.like is None else self.like
        elif not same_values(self._first, value):
            raise TangentlikeError(
                f"{self.derivation.primal.name} returns a different value each time it is called, "
                "and forward mode calls it once for each seed",
                hint='Use mode="reverse", which runs it once, or draw random numbers outside.',
            )


class Reverse:
    """Adjoints at a point: the primal runs once, here, and each seed runs the backward function."""

    def __init__(
        self,
        derivation: Derivation,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        has_aux: bool = False,
    ) -> None:
        derivation = derivation.specialized_for(args, kwargs)
        self.inputs = derivation.values(args, kwargs)
        self.has_aux = has_aux
        self.derivation, self._whole, self._tape = derivation.recorded(args, kwargs)
        _, self._back = functions_of(self.derivation.derived)
        self.value, self.aux = without_aux(self._whole, self.derivation, has_aux)

    def __call__(self, seed: Any) -> list[Any]:
        """The adjoints of all inputs for a seed of the value."""
        whole = with_lists(seed_like(self._whole, (seed, None) if self.has_aux else seed))
        tape = fresh_tape(self._tape, self.derivation.writes_tape)
        bars = self.derivation.pulled_back(self._back, tape, whole)
        return flat(finished(self.inputs, bars, ()))


def without_aux(value: Any, derivation: Derivation, has_aux: bool) -> tuple[Any, Any]:
    """The value to differentiate, and what is passed through beside it."""
    if not has_aux:
        return value, None
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TangentlikeError(
            f"with has_aux, {derivation.primal.name} must return (value, aux), not a "
            f"{type(value).__name__}"
        )
    return value[0], value[1]


def same_values(first: Any, second: Any) -> bool:
    """Whether the floating leaves of two results are the same, bit for bit or both no numbers."""
    parts = (leaves.leaves(value) for value in (first, second))
    return all(_same(one, other) for (_, one), (_, other) in zip(*parts, strict=False))


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        equal_nan = first.dtype.kind in "fc"
        return np.array_equal(first, second, equal_nan=equal_nan)
    if leaves.is_array(first):
        return True  # (on another device: not brought here to be compared)
    return bool(first == second or (first != first and second != second))


# --------------------------------------------------------------------------------------------------
# `functools.cache`, of a function that goes to another process.

T = TypeVar("T")


class Remembered(Generic[T]):
    """A function that remembers what it gave; its pickle holds the function and no more.

    >>> import pickle
    >>> size = Remembered(abs)
    >>> size(-2.0), pickle.loads(pickle.dumps(size))(-3.0)
    (2.0, 3.0)
    """

    def __init__(self, make: Callable[..., T]) -> None:
        self._make = make
        self._made: dict[tuple[Any, ...], T] = {}

    def __call__(self, *args: Any) -> T:
        if args not in self._made:
            self._made[args] = self._make(*args)
        return self._made[args]

    def __getstate__(self) -> dict[str, Any]:
        return {"_make": self._make, "_made": {}}


# --------------------------------------------------------------------------------------------------
# A function at one point, run forwards once; a call of it takes an adjoint of the value back.


def pair_of(fn: Any, wrt: tuple[str, ...], example: Any = None) -> Derivation:
    """The forward and the backward function of `fn`."""
    return _derivation(primal_of(fn), "pair", wrt, example=example)


def value_and_grad_of(fn: Any, wrt: Wrt) -> Derivation:
    """The value and the gradient of `fn`, for arguments of any types."""
    primal = primal_of(fn)
    return _derivation(primal, "value_and_grad", *wrt_names(primal, wrt))


class Point:
    """A function at some arguments, run forwards; a call of it takes an adjoint back."""

    def __init__(
        self, fn: Any, wrt: Any, args: Any, kwargs: dict[str, Any], has_aux: bool, example: Any
    ) -> None:
        primal = primal_of(fn)
        args, kwargs = (*primal.args, *args), {**primal.kwargs, **kwargs}
        derivation = pair_of(fn, wrt, example).specialized_for(args, kwargs)
        self.given = derivation.values(args, kwargs)
        self.has_aux = has_aux
        self.derivation, self.whole, self.tape = derivation.recorded(args, kwargs)
        _, self.backward = functions_of(self.derivation.derived)
        shaped = primal.shaped(args, kwargs, self.whole)
        self.value, self.aux = without_aux(shaped, self.derivation, has_aux)
        self.others = (*args, *kwargs.values())

    def __call__(self, seed: Any) -> tuple[Any, ...]:
        seed = seed_like(self.whole, (seed, None) if self.has_aux else seed)
        whole = as_emitted(self.whole, with_lists(seed))
        tape = fresh_tape(self.tape, self.derivation.writes_tape)
        bars = self.derivation.pulled_back(self.backward, tape, whole)
        return tuple(finished(self.given, bars, (*self.others, seed)))
