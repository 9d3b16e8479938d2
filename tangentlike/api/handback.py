"""The derivative as the caller gets it: a plain function that looks like what it is.

Its signature is that of the primal, its source the emitted one; it pickles by its name, and
knows enough of itself to be differentiated again.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections import UserString
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from ..dispatch.derivation import Derivation, functions_of
from ..errors import UnknownClassError, UnsupportedError
from ..frontend.marks import mark
from ..frontend.primal import Primal, missing_names
from ..frontend.structures import Structures
from .composed import Again

if TYPE_CHECKING:
    from .saved import Saved

__all__ = ["Operator", "finish", "hand_back"]


class _LaterText(UserString):
    """The source of a derivative that waits for names defined further down the module."""

    def __init__(self, derive: Callable[[], Derivation]) -> None:
        self._derive = derive

    @property
    def data(self) -> str:  # type: ignore[override]
        return self._derive().derived.source


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
        made: Any = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, None, function.__closure__
        )
        made.__dict__.update(function.__dict__, __wrapped__=None)
        made.__signature__ = inspect.signature(function, follow_wrapped=False)
        made.__module__, made.__qualname__ = function.__module__, function.__qualname__
        made.__doc__ = function.__doc__
        mark(made, tangentlike=replace(self, derive=lambda: found, again=again))
        finish(made)
        return cast(types.FunctionType, made)


def hand_back(
    function: Any,
    operator: Operator,
    qualname: str,
    signature: inspect.Signature,
) -> types.FunctionType:
    """Dress `function` as the derivative: signature, source, stages, a name that pickles, and
    `saved(*args)`, which says what its reverse sweep saves, `source_for(*args)`, the text for
    arguments like these, and `versions`, the texts of all types of arguments it was called with.

    The transform runs now, unless a name the function needs is not there yet.
    """
    function.__module__ = "tangentlike.dispatch.derived"
    function.__qualname__ = qualname
    function.__doc__ = operator.about
    mark(function, tangentlike=operator)
    function.__signature__ = signature
    function.saved = functools.partial(_saved, operator)
    function.source_for = functools.partial(_source_for, operator)
    function.versions = Versions(operator)
    function._repr_html_ = functools.partial(_shown, function)
    if missing_names(operator.primal.function):
        function.__name__ = f"{operator.primal.name}_{operator.name}"
        function.source = _LaterText(operator.derive)
    else:
        try:
            finish(function)
        except UnknownClassError:  # the arguments of the first call tell what it needs
            function.__name__ = f"{operator.primal.name}_{operator.name}"
            function.source = _LaterText(lambda: operator.derive().for_defaults)
    return cast(types.FunctionType, function)


def _shown(function: Any) -> str | None:
    """The derivative as a notebook shows it; None (a plain `repr`) while it is not made yet."""
    from ..codegen.print.html import derivative_page

    source = function.__dict__.get("source")
    if not isinstance(source, str):
        return None
    operator: Operator = function.__tangentlike__
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
    return _specialized(operator, args, kwargs)[0].derived.source


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
            ", ".join(f"{name}: {text}" for name, text in made.module.types): made.source
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
    """Attach what is known only after the transform; at the first call at the latest, and again
    where another version served a call.

    `chosen` is the derivation that served that call."""
    known = function.__dict__.get("__wrapped__")
    if known is not None and chosen is None:
        return
    operator: Operator = function.__tangentlike__
    derived = (chosen or operator.derive()).derived
    emitted = functions_of(derived)[-1]
    if emitted is known:
        return
    function.__name__ = emitted.__name__
    if operator.seeds:
        primal = operator.primal
        function.__signature__ = replace(primal, function=emitted).signature
    function.source = derived.source
    function.stages = derived.stages
    function.__wrapped__ = emitted
