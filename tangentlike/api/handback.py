"""The derivative as the caller gets it: a plain function that looks like what it is.

Its signature is that of the primal, its source the emitted one; it pickles by its name, and
knows enough of itself to be differentiated again.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypedDict, TypeVar, cast

import numpy as np

from ..dispatch.claims import given_back, standard_arrays_too, with_ours
from ..dispatch.derivation import Derivation, functions_of
from ..dispatch.repeated import OTHER, by_position
from ..errors import TangentlikeError, UnknownClassError, UnsupportedError
from ..frontend.owners import mark
from ..frontend.primal import Primal, missing_names
from ..frontend.signatures import plain_signature
from ..frontend.source import name_in_source
from ..frontend.structures import Structures
from ..rules.book import default_book
from ..runtime.standard import HOMES
from .composed import Again

if TYPE_CHECKING:
    from .saved import Saved

_MADE = ("source", "stages", "__wrapped__")  # known after the transform


class HandedBack:
    """A derivative: a plain function in all respects but one, that its text is made on demand.

    It calls the function that it is put on as a decorator. A call makes the text for the types of
    its arguments; the general one, right for all types, is made when it is asked for.
    """

    __slots__ = ("__dict__", "__weakref__", "_plain", "_run", "_served", "names", "repeated")

    def __init__(self, run: Callable[..., Any]) -> None:
        self._run = run
        self._served: Derivation | None = None  # what its latest call was served by
        self.repeated: Callable[[tuple[Any, ...]], Any] | None = None  # calls like that one
        # Of its parameters, by position (what goes to another process by value has none).
        self.names: tuple[str, ...] = ()
        self._plain = standard_arrays_too(run)  # the plain function that this stands for

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if self.repeated is not None:
            given = by_position(self.names, args, kwargs) if kwargs else args
            found = OTHER if given is None else self.repeated(given)
            if found is not OTHER:
                return found
        if not sys.modules.keys().isdisjoint(HOMES):  # (as `_plain` does, one call less)
            given = with_ours(args, kwargs)
            if given is not None:
                return given_back(self._run(*given[0], **given[1]))
        return self._run(*args, **kwargs)

    def __get__(self, owner: Any, cls: type | None = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `inspect`, `pydoc` and all that ask for functions take it for."""
        return types.FunctionType

    def __repr__(self) -> str:
        return f"<function {self.__qualname__} at {id(self):#x}>"

    def __reduce__(self) -> str:
        return str(self.__qualname__)

    def __getattr__(self, name: str) -> Any:
        if name in _MADE or name == "__signature__":
            return _on_demand(self, name)
        return getattr(self._plain, name)


def _on_demand(function: HandedBack, name: str) -> Any:
    """What is known of a derivative after the transform: the transform runs now.

    Where it is refused, what any function has is still there."""
    operator: Operator = function.__tangentlike__
    try:
        try:
            finish(function)
        except UnknownClassError:  # (the arguments of the first call tell what it needs)
            _finish_deferred(function, operator.derive())
    except TangentlikeError as refusal:
        if name == "__signature__":
            return operator.primal.signature
        if name == "__wrapped__":
            raise AttributeError(f"no `__wrapped__`: {refusal.message}") from None
        raise
    if name == "source":
        function.__dict__[name] = (function._served or operator.derive()).text
    return function.__dict__[name]


def _finish_deferred(function: HandedBack, derivation: Derivation) -> None:
    """With the text for calls that leave out what selects code, or for arguments of any types."""
    try:
        finish(function, derivation.for_defaults)
    except UnknownClassError:
        finish(function, derivation.settled())


@dataclass(frozen=True)
class Operator:
    """What a handed-back function says of itself: found as its `__tangentlike__`.

    `derive` gives the derivation behind it; `exact` says that its emitted function, called the
    same way, gives the same result, so that differentiating it means differentiating that.
    Where it does not, `again` may write a function that does, from the emitted one. `shaped`
    makes of the arguments and of what that function returned for them what a caller is given.
    """

    name: str
    primal: Primal
    derive: Callable[[], Derivation]
    about: str  # the docstring of the derivative
    exact: bool = True
    seeds: bool = False
    again: Again | None = None
    shaped: Callable[[tuple[Any, ...], dict[str, Any], Any], Any] | None = None

    @property
    def inner(self) -> Any:
        """What stands for the derivative when it is differentiated: the derivation behind it, or
        a function written around that."""
        if not self.exact and (self.again is None or not self.again.is_plain):
            raise UnsupportedError(
                f"the result of tl.{self.name} cannot be differentiated again",
                hint="Differentiate with tl.grad, tl.jvp or tl.autodiff first, "
                f"and apply tl.{self.name} last.",
            )
        found = self.derive() if self.again is None else self.again
        return found if found.holds() else found.renewed()

    @property
    def emitted(self) -> Any:
        """Its function."""
        return self.inner.emitted

    def for_structures(self, function: Any, required: Structures) -> types.FunctionType:
        """The same derivative as `function`, for arguments of these structures."""
        found = self.derive().for_required(required)
        again = None if self.again is None else self.again.for_required(required)
        made = HandedBack(function._run if type(function) is HandedBack else function)
        known = (*_MADE, "__signature__") if self.seeds else _MADE
        made.__dict__.update((k, v) for k, v in function.__dict__.items() if k not in known)
        mark(made, tangentlike=replace(self, derive=lambda: found, again=again))
        return cast(types.FunctionType, made)


def hand_back(
    function: Any,
    operator: Operator,
    qualname: str,
    signature: inspect.Signature,
    at_once: bool = False,
) -> types.FunctionType:
    """Dress `function` as the derivative: signature, a name that pickles, `saved(*args)`, which
    says what its reverse sweep saves, `source_for(*args)`, the text for arguments like these, and
    `versions`, the texts of all types of arguments it was called with.

    The transform runs when a call or a text is asked for; now where this is wanted `at_once`, or
    all refusals are (`strict`). A function without source, or a rule, is refused in any case.
    """
    function.__name__ = _expected_name(operator)
    function.__module__ = "tangentlike.dispatch.derived"
    function.__qualname__ = qualname
    function.__doc__ = operator.about
    mark(function, tangentlike=operator)
    if not operator.seeds:  # (their parameters are those of the emitted function)
        function.__signature__ = signature
    function.saved = functools.partial(_saved, operator)
    function.source_for = functools.partial(_source_for, operator)
    function.versions = Versions(operator)
    function._repr_html_ = functools.partial(_shown, function)
    if (at_once or operator.primal.strict) and not missing_names(operator.primal.function):
        with contextlib.suppress(UnknownClassError):
            finish(function)
    return cast(types.FunctionType, function)


def _expected_name(operator: Operator) -> str:
    """The name of the emitted function, unless that is taken; refused where there is no source."""
    primal, suffix = operator.primal.function, operator.name
    ruled = default_book().find(primal) is not None
    if operator.seeds:
        suffix = "vjp" if operator.derive().request.mode == "adjoint" else "jvp"
    return f"{primal.__name__ if ruled else name_in_source(primal)}_{suffix}"


def _shown(function: Any) -> str | None:
    """The derivative as a notebook shows it; None (a plain `repr`) while it is not made yet."""
    from ..codegen.print.text import derivative_page

    operator: Operator = function.__tangentlike__
    if "__wrapped__" not in function.__dict__ and missing_names(operator.primal.function):
        return None
    try:
        source = function.source
    except UnknownClassError:
        return None
    wrt = ", ".join(operator.derive().request.wrt)
    what = (
        f"{function.__name__}: tl.{operator.name} of {operator.primal.name} with respect to {wrt}"
    )
    return derivative_page(what, source)


def _saved(operator: Operator, *args: Any, **kwargs: Any) -> Saved:
    """What the reverse sweep keeps at these arguments, line by line."""
    from .saved import saved

    derivation, args, kwargs = _specialized(operator, args, kwargs)
    return saved(derivation.derived, derivation.run, args, kwargs)


def _source_for(operator: Operator, *args: Any, **kwargs: Any) -> str:
    """The text of the derivative for arguments of these types."""
    return _specialized(operator, args, kwargs)[0].text


def _specialized(
    operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Derivation, tuple[Any, ...], dict[str, Any]]:
    """The derivation for a call, and all arguments of the function, the bound ones included."""
    primal = operator.primal
    args, kwargs = (*primal.args, *args), {**primal.kwargs, **kwargs}
    return operator.derive().specialized_for(args, kwargs), args, kwargs


class Versions(Mapping[str, str]):
    """The texts that a derivative was specialised to, by the types of arguments they are for."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def _texts(self) -> dict[str, str]:
        return {
            ", ".join(f"{name}: {text}" for name, text in made.derived.module.types): made.text
            for made in self._operator.derive().made_versions()
        }

    def __getitem__(self, types: str) -> str:
        return self._texts()[types]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts())

    def __len__(self) -> int:
        return len(self._texts())

    def __repr__(self) -> str:
        return "\n".join(self) or "(no version yet: call the derivative)"


def finish(function: Any, chosen: Derivation | None = None) -> None:
    """Attach what is known only after the transform: at a call, or when it is asked for; and again
    where another version served a call.

    `chosen` is the derivation that served that call."""
    if chosen is not None and getattr(function, "_served", None) is chosen:
        return
    known = function.__dict__.get("__wrapped__")
    if known is not None and chosen is None:
        return
    operator: Operator = function.__tangentlike__
    derived = (chosen or operator.derive()).derived
    emitted = functions_of(derived)[-1]
    function._served = chosen
    if emitted is known:
        return
    function.__name__ = emitted.__name__
    if operator.seeds:
        primal = operator.primal
        function.__signature__ = replace(primal, function=emitted).signature
    function.__dict__.pop("source", None)  # (made when it is asked for)
    if type(function) is types.FunctionType:  # (what cloudpickle brings from another process)
        function.source = derived.source  # type: ignore[attr-defined]
    function.stages = derived.stages
    function.__wrapped__ = emitted


# --------------------------------------------------------------------------------------------------
# What `help` says of a derivative: of what and by what it is, and what it returns.

_LIKE = "with the structure, shapes and dtypes of"
# Operator: what it gives, then what a call returns (one `wrt`, several).
_KINDS = {
    "grad": ("Gradient", f"{_LIKE} {{x}}", f"a tuple, each part {_LIKE} its argument"),
    "value_and_grad": (
        "Value and gradient",
        f"(value, gradient), the gradient {_LIKE} {{x}}",
        f"(value, gradients), the gradients a tuple, each {_LIKE} its argument",
    ),
    "reverse": (
        "Value and gradient",
        "takes the adjoint of the value as its last argument, returns (value, gradient)",
        "takes the adjoint of the value as its last argument, returns (value, gradients)",
    ),
    "forward": (
        "Value and tangent",
        "takes the tangent of {x} as its last argument, returns (value, tangent)",
        "takes their tangents as its last arguments, returns (value, tangent)",
    ),
    "jacobian": (
        "Jacobian",
        "an array of shape value.shape + {x}.shape; where value or {x} are containers, "
        "nested likewise",
        "a tuple with an array of shape value.shape + argument.shape for each; containers "
        "nest likewise",
    ),
    "hessian": (
        "Hessian",
        "an array of shape {x}.shape + {x}.shape; where {x} is a container, nested likewise",
        "a tuple of tuples, block i, j by the i-th and then by the j-th of them",
    ),
    "hvp": (
        "Product of the Hessian with a vector v",
        f"takes v {_LIKE} {{x}}, and returns such a product",
        "takes v, a tuple with a part for each, and returns such a tuple",
    ),
    "sparse_jacobian": (
        "Sparse Jacobian",
        "a SciPy sparse array with a row for each entry of the value, a column for each of {x}",
        "a SciPy sparse array with a row for each entry of the value, a column for each of theirs",
    ),
    "sparse_hessian": (
        "Sparse Hessian",
        "a SciPy sparse array with a row and a column for each entry of {x}",
        "a SciPy sparse array with a row and a column for each of their entries",
    ),
}


def documented(
    kind: str,
    primal: Primal,
    names: tuple[str, ...],
    single: bool,
    has_aux: bool = False,
    example: Any = None,
) -> str:
    """The docstring of a derivative: what it is, then that of the user's function."""
    title, one, several = _KINDS[kind]
    returned = one.format(x=names[0]) if single else several
    text = f"{title} of {primal.name} with respect to {', '.join(names)}: {returned}."
    if has_aux:
        text += f" {primal.name} returns (value, aux), and aux comes back beside the result."
    shapes = _shapes(primal, example)
    own = inspect.getdoc(primal.function) if primal.function.__doc__ else None
    parts = textwrap.fill(text, 88), textwrap.fill(shapes, 88), own
    return "\n\n".join(filter(None, parts))


def _shapes(primal: Primal, example: Any) -> str:
    """What `example=` said of the arguments."""
    if example is None:
        return ""
    given = tuple(example) if type(example) in (tuple, list) else (example,)
    parts = [
        f"{name} {_shape(value)}"
        for name, value in zip(plain_signature(primal.function).parameters, given, strict=False)
        if isinstance(value, (float, complex, np.generic, np.ndarray))
    ]
    return f"Made for arguments like these: {', '.join(parts)}." if parts else ""


def _shape(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return type(value).__name__


# --------------------------------------------------------------------------------------------------
# What the public calls hand back, as type checkers and editors see it.
#
# A derivative is an ordinary function with a few attributes. These protocols say so, and keep the
# parameters of the user's function: `tl.grad(f)` rejects what `f` rejects.


if TYPE_CHECKING:
    from ..codegen.print.text import Stages
    from .saved import Saved
    from .sparse import Plan

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class PlainDerivative(Protocol[R_co]):
    """A derivative whose parameters are not those of the function alone: it takes a seed too."""

    __name__: str

    @property
    def source(self) -> str: ...

    @property
    def stages(self) -> Stages: ...

    def saved(self, *args: Any, **kwargs: Any) -> Saved: ...

    def __call__(self, *args: Any, **kwargs: Any) -> R_co: ...


class Derivative(Protocol[P, R_co]):
    """A derivative with the parameters of the function it is of.

    `source` is its text, `stages` the text after each stage of the transformation, and
    `saved(*args)` says what its reverse sweep keeps at these arguments.
    """

    __name__: str

    @property
    def source(self) -> str: ...

    @property
    def stages(self) -> Stages: ...

    def saved(self, *args: P.args, **kwargs: P.kwargs) -> Saved: ...

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class SparseDerivative(Derivative[P, R_co], Protocol[P, R_co]):
    """A sparse one, which says how many sweeps its latest call made."""

    def plan(self) -> Plan: ...


class TangentMap(Protocol):
    """What `linearize` gives: from one tangent for each argument to that of the value."""

    source: str
    runs_primal: bool

    def __call__(self, *x_dots: Any) -> Any: ...


class GradientOf(Protocol):
    """`grad` with its options, as a decorator."""

    def __call__(self, fn: Callable[P, Any], /) -> Derivative[P, Any]: ...


class ValueAndGradientOf(Protocol):
    """`value_and_grad` with its options, as a decorator."""

    def __call__(self, fn: Callable[P, R], /) -> Derivative[P, tuple[R, Any]]: ...


class DerivativeOf(Protocol):
    """`autodiff` or `hvp` with its options, as a decorator."""

    def __call__(self, fn: Callable[..., Any], /) -> PlainDerivative[Any]: ...


class SparseOf(Protocol):
    """`sparse_jacobian` or `sparse_hessian` with its options, as a decorator."""

    def __call__(self, fn: Callable[P, Any], /) -> SparseDerivative[P, Any]: ...


class Options(TypedDict, total=False):
    """What each of the transforms may be given by name, beside what they have alone."""

    example: Any
    strict: bool


class HessianOptions(Options, total=False):
    """Of what may return something beside the value that is differentiated, too."""

    has_aux: bool


class GradientOptions(HessianOptions, total=False):
    target: str
    check_finite: bool
    reuse: bool


class JacobianOptions(HessianOptions, total=False):
    holomorphic: bool


class HvpOptions(HessianOptions, total=False):
    v_position: int | None


class SparseOptions(TypedDict, total=False):
    check: bool
    example: Any


# --------------------------------------------------------------------------------------------------
# Docstrings of functions with parameters in common.

_F = TypeVar("_F", bound=Callable[..., Any])
_HEAD = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^\w+ : .*\n(?:(?: .*)?\n)*", re.MULTILINE)


def described_as(other: Callable[..., Any]) -> Callable[[_F], _F]:
    """Complete a docstring by that of another function: by what it says of parameters that have the
    same names, and by sections that are lacking."""

    def complete(fn: _F) -> _F:
        if fn.__doc__ and other.__doc__:  # (there are none where Python leaves them out)
            summary, *own = _HEAD.split(inspect.cleandoc(fn.__doc__) + "\n")
            theirs = _HEAD.split(inspect.cleandoc(other.__doc__) + "\n")[1:]
            found = _sections(theirs) | _sections(own)
            entries = {
                entry.partition(" ")[0]: entry.rstrip() + "\n"
                for parts in (theirs, own)
                for entry in _ENTRY.findall(_sections(parts).get("Parameters", ""))
            }
            found["Parameters"] = "".join(
                entries[name] for name in inspect.signature(fn).parameters
            )
            texts = (f"{name}\n{'-' * len(name)}\n{text.strip()}" for name, text in found.items())
            fn.__doc__ = "\n\n".join([summary.strip(), *texts]) + "\n"
        return fn

    return complete


def _sections(parts: list[str]) -> dict[str, str]:
    return dict(zip(parts[::2], parts[1::2], strict=True))
