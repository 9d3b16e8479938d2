"""What the public calls hand back, as type checkers and editors see it.

A derivative is an ordinary function with a few attributes. These protocols say so, and keep the
parameters of the user's function: `tl.grad(f)` rejects what `f` rejects.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypedDict, TypeVar

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
