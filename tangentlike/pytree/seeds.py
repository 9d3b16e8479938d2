"""Seeds: tangents and adjoints that a caller gives, checked against what they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import TangentlikeError
from ..runtime.records import Mirror, Record, fields_of, like_dict, names_of, record_like
from .containers import is_registered
from .layouts import layout_of, mirrored, registered_parts
from .leaves import (
    children,
    dtype_class,
    filled,
    has_leaf,
    is_array,
    is_leaf,
    is_zero,
    rebuild,
    zeros,
)


def seed_like(value: Any, seed: Any, what: str = "the seed", path: str = "") -> Any:
    """A tangent or adjoint given by the caller, checked against the value it belongs to.

    None stands for zeros; a seed keeps the caller's structure and gets the value's dtype.
    Namedtuples and objects become mirrors, which have entries and no code.
    """
    if is_leaf(value):
        return _seed_leaf(value, seed, what + path)
    inside = children(value)
    if inside is not None and is_registered(value):
        return _seed_of_registered(value, inside, seed, what, path)
    if inside is None:
        if seed is None or has_leaf(seed) is False or is_zero(seed):
            return 0.0
        raise TangentlikeError(
            f"{what}{path} must be None: the value is a {type(value).__name__}, which carries no "
            "derivative"
        )
    parts = _seed_parts(value, seed, what + path)
    items = [seed_like(v, s, what, path + step) for (step, v), s in zip(inside, parts, strict=True)]
    if names_of(value) is not None or not isinstance(value, (list, tuple, dict)):
        return record_like(value, *items)
    if isinstance(value, dict) and type(value) is not dict:
        made = like_dict(value, lambda item: seed_like(item, None))
        made.update(zip(value, items, strict=True))
        return made
    return rebuild(value, items)


def _seed_of_registered(
    value: Any, inside: list[tuple[str, Any]], seed: Any, what: str, path: str
) -> Any:
    layouts = layout_of(value)
    if seed is None:
        parts = [None] * len(inside)
    elif type(seed) is type(value):
        parts = [item for _, item in children(seed) or ()]
    elif isinstance(seed, (Mirror, Record)):
        parts = registered_parts(value, seed)
    else:
        parts = []
    if len(parts) != len(inside):
        raise TangentlikeError(
            f"{what}{path} must be a {type(value).__name__} of {len(inside)} items, as the value "
            f"is; got {_describe(seed)}"
        )
    pairs = zip(inside, parts, strict=True)
    seeds = [seed_like(item, part, what, path + step) for (step, item), part in pairs]
    return mirrored(value, layouts, seeds)


def with_all_keys(value: Any, seed: Any) -> Any:
    """A seed with zeros for the entries that the value has in addition, in dicts at any depth: an
    emitted gradient may have entries for keys that the function itself adds."""
    if isinstance(value, dict) and isinstance(seed, dict):
        return {
            key: with_all_keys(item, seed[key]) if key in seed else seed_like(item, None)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)) and type(seed) is list and len(value) == len(seed):
        return [with_all_keys(item, part) for item, part in zip(value, seed, strict=True)]
    return seed


def with_lists(seed: Any) -> Any:
    """A seed with lists for its tuples: the reverse sweep adds to items in place."""
    if names_of(seed) is None and isinstance(seed, (list, tuple)):
        return [with_lists(item) for item in seed]
    inside = None if is_leaf(seed) else children(seed)
    return seed if not inside else rebuild(seed, [with_lists(item) for _, item in inside])


def _seed_parts(value: Any, seed: Any, what: str) -> list[Any]:
    inside = children(value) or []
    if seed is None:
        return [None] * len(inside)
    if isinstance(value, dict):
        if isinstance(seed, dict) and set(seed) <= set(value):
            return [seed.get(key) for key in value]
    elif isinstance(value, (list, tuple)):
        if isinstance(seed, (list, tuple)) and len(seed) == len(value):
            return list(seed)
    elif type(seed) is type(value) or isinstance(seed, Mirror):
        given = fields_of(seed) or {}
        return [given.get(name) for name in fields_of(value) or ()]
    raise TangentlikeError(
        f"{what} must be a {type(value).__name__} of {len(inside)}, as the value is; got "
        f"{_describe(seed)}"
    )


def _seed_leaf(value: Any, seed: Any, what: str) -> Any:
    shape = tuple(getattr(value, "shape", ()))
    if seed is None:
        return zeros(value) if is_array(value) else type(value)(0.0)
    if not isinstance(seed, (int, float, complex, np.generic)) and not is_array(seed):
        raise TangentlikeError(f"{what} must be a number or an array, got {_describe(seed)}")
    if tuple(getattr(seed, "shape", ())) != shape:
        raise TangentlikeError(
            f"{what} must have shape {shape}, the shape of the value; got {_describe(seed)}"
        )
    real = not isinstance(value, (complex, np.complexfloating)) and dtype_class(value) != "c"
    if real and (isinstance(seed, complex) or dtype_class(seed) == "c"):
        raise TangentlikeError(f"{what} must be real, as the value is")
    if not is_array(value):
        return type(value)(seed.item() if hasattr(seed, "item") else seed)
    if not is_array(seed):
        return filled(value, seed)
    return seed if seed.dtype == value.dtype else seed.astype(value.dtype)


def _describe(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(value, (list, tuple, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    return type(value).__name__ if shape is None else f"shape {tuple(shape)}"
