"""What arguments tell the transform that a program does not: which of them are dicts.

`for k in table: s += k` reads keys if `table` is a dict and values if it is a list. Where the
keys are no numbers a program cannot compute with them, but it may collect or sort them: then
too it has to be known (`runs_over_names`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import ir, leaves, runtime
from .errors import TangentlikeError
from .kind import UNKNOWN, Kind

# Attributes of arrays whose derivative is not that of a field of the same name.
OF_ARRAYS = frozenset(
    ("T", "real", "imag", "shape", "size", "ndim", "dtype", "itemsize", "nbytes", "strides")
    + ("flags", "device")
)

Structures = tuple[tuple[str, Kind], ...]


def runs_over_names(function: ir.Function) -> bool:
    """Whether a function runs over something that may be a dict, or takes all that it yields.

    >>> from .frontend import program
    >>> runs_over_names(program("for k in d: ks.append(k)")), runs_over_names(program("y = d[0]"))
    (True, False)
    """
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.For(iter=ir.Var()):
                return True
            case ir.For(iter=ir.Call(args=args)) if any(isinstance(a, ir.Var) for a in args):
                return True
            case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(), *_))):
                if obj in (list, tuple, sorted, runtime.sorting_order):
                    return True
    return False


def structures_of(given: Mapping[str, Any], any_keys: bool = False) -> Structures:
    """The structure of those arguments that hold dicts with numbers for keys, by parameter;
    with `any_keys` of those that hold any dicts.

    >>> [(name, kind.form) for name, kind in structures_of({"t": {0: 1.5}, "x": [2.5]})]
    [('t', 'dict')]
    """
    found = []
    for name, value in given.items():
        if leaves.is_leaf(value) or isinstance(value, (str, int)):
            continue
        refuse_fields_like_arrays(name, value)
        if _has_dicts(value, any_keys):
            found.append((name, _structure(value)))
    return tuple(found)


def _has_dicts(value: Any, any_keys: bool, above: tuple[Any, ...] = ()) -> bool:
    if isinstance(value, dict) and (any_keys or any(isinstance(k, (int, float)) for k in value)):
        return True
    if any(value is outer for outer in above):
        return False
    inside = leaves.children(value) or ()
    return any(_has_dicts(item, any_keys, (*above, value)) for _, item in inside)


def _structure(value: Any) -> Kind:
    if isinstance(value, tuple):
        return Kind("tuple", items=tuple(map(_structure, value)))
    if not isinstance(value, (list, dict)):
        return UNKNOWN
    kinds = [_structure(item) for item in (value.values() if isinstance(value, dict) else value)]
    same = bool(kinds) and all(kind == kinds[0] for kind in kinds)
    form = "dict" if isinstance(value, dict) else "list"
    return Kind(form, item=kinds[0] if same and kinds[0] != UNKNOWN else None)


def refuse_fields_like_arrays(name: str, value: Any, above: tuple[Any, ...] = ()) -> None:
    """`box.size` is taken for the size of an array, which has no derivative: a field of that
    name that has one is refused."""
    if leaves.is_leaf(value) or any(value is outer for outer in above):
        return
    for field, item in (leaves.named_children(value) or {}).items():
        if field in OF_ARRAYS and leaves.has_leaf(item):
            raise TangentlikeError(
                f"the {type(value).__name__} in `{name}` has a field `{field}`, "
                "which is also an attribute of arrays",
                hint=f"Rename it: `{field}_` could be told apart.",
            )
    for _, item in leaves.children(value) or ():
        refuse_fields_like_arrays(name, item, (*above, value))
