"""What the public calls hand back, as type checkers and editors see it.

A derivative is an ordinary function with a few attributes. These protocols say so, and keep the
parameters of the user's function: `tl.grad(f)` rejects what `f` rejects.
"""

from __future__ import annotations

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
