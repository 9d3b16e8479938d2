"""Calls that write or make an array, with their arguments where the passes look for them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ir

if TYPE_CHECKING:
    from ..frontend.lower import Lowered

# Parameters of what writes its first argument: the passes know them by position.
_PARAMETERS: dict[Any, tuple[str, ...]] = {
    np.copyto: ("dst", "src"),
    np.put: ("a", "ind", "v"),
    np.place: ("arr", "mask", "vals"),
    np.putmask: ("a", "mask", "values"),
    np.fill_diagonal: ("a", "val"),
    np.put_along_axis: ("arr", "indices", "values"),
}
_OF_NEW_ARRAYS = {"shape", "dtype", "order"}


def positions_spelled(lowered: Lowered) -> Lowered:
    """A lowered function whose writing calls say by position what they write.

    before::                                    after::
        np.copyto(dst=a, src=b)                     np.copyto(a, b)
        y = np.ndarray(shape=s, dtype=float)        y = np.empty(shape=s, dtype=float)
    """
    alias = lowered.scope.numpy_alias

    def expr(e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=kwargs) if obj is np.ndarray:
                if len(args) <= 2 and {word for word, _ in kwargs} <= _OF_NEW_ARRAYS:
                    return dataclasses.replace(e, fn=ir.Ref(f"{alias}.empty", np.empty))
            case ir.Call(fn=ir.Ref(obj=obj), kwargs=(_, *_)) if callable(obj):
                words = next((w for known, w in _PARAMETERS.items() if known is obj), ())
                return _in_positions(e, words)
        return e

    body = ir.rewrite(lowered.function.body, expression=expr)
    if body == lowered.function.body:
        return lowered
    return dataclasses.replace(lowered, function=dataclasses.replace(lowered.function, body=body))


def _in_positions(call: ir.Call, words: tuple[str, ...]) -> ir.Call:
    """The call with its first arguments by position, as far as none is left out between."""
    told, args = dict(call.kwargs), list(call.args)
    for word in words[len(args) :]:
        if word not in told:
            break
        args.append(told.pop(word))
    return dataclasses.replace(call, args=tuple(args), kwargs=tuple(told.items()))
