"""The programs of tests/test_inplace.py that are refused, with what each refusal says."""

from __future__ import annotations

_WAYS = ("reverse", "example", "forward")
_REVERSE = ("reverse", "example")


def _each(ways: tuple[str, ...], message: str) -> dict[str, str]:
    return dict.fromkeys(ways, message)


REFUSED: dict[str, dict[str, str]] = {
    "shape_attribute": {
        "reverse": "`shape` of what carries derivatives is assigned",
        "example": "`shape` of what carries derivatives is assigned",
        "forward": "`shape` of what carries derivatives is assigned",
    },
    "shuffled": _each(
        _WAYS, "`shuffle` writes its argument in an order that is not known until run time"
    ),
    "lambda_writes": _each(_WAYS, "`__setitem__` is called by its name"),
    "nditer_read": _each(_WAYS, "no derivative rule for np.nditer"),
    "nditer_write": _each(_WAYS, "no derivative rule for np.nditer"),
    "iadd_operator": _each(_WAYS, "`operator.iadd` is called by its name"),
    "partial_write": _each(_WAYS, "a function that uses `w` is stored"),
    "map_writes": {
        "reverse": "`__setitem__` is called by its name",
        "example": "`__setitem__` is called by its name",
        "forward": "`__setitem__` is called by its name",
    },
    "given_either_then_set": _each(
        _REVERSE, "`G` is written in place, and is defined outside the function"
    ),
    "given_by_closure_then_set": _each(
        _REVERSE, "`buf` is written in place, and is defined outside"
    ),
    "given_by_cache_and_carried": _each(_WAYS, "what `cached_weights` returns from its cache is"),
    "by_getattr": _each(_WAYS, "`__setitem__` is called by its name"),
    "by_vars": _each(_WAYS, "`vars` depends on the function it is called in"),
    "by_exec": _each(_WAYS, "`exec` depends on the function it is called in"),
    "by_memset": _each(_REVERSE, "`ctypes.memset` may write what it is given"),
    "slice_with_other_step": _each(
        _REVERSE, "a slice is assigned to an overlapping slice with another step"
    ),
}
