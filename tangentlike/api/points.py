"""A function at one point, run forwards once; a call of it takes an adjoint of the value back."""

from __future__ import annotations

from typing import Any

from ..ad.request import Request
from ..dispatch.derivation import Derivation, derivation_of, functions_of
from ..frontend.primal import primal_of
from ..pytree.seeds import seed_like, with_all_keys, with_lists
from ..runtime.tape import fresh_tape
from .calls import finished
from .sweeps import without_aux


def pair_of(fn: Any, wrt: tuple[str, ...], example: Any = None) -> Derivation:
    """The forward and the backward function of `fn`."""
    return derivation_of(primal_of(fn), Request("pair", wrt, False, False, example))


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
        whole = with_all_keys(self.whole, with_lists(seed))
        tape = fresh_tape(self.tape, self.derivation.writes_tape)
        bars = self.derivation.pulled_back(self.backward, tape, whole)
        return tuple(finished(self.given, bars, (*self.others, seed)))
