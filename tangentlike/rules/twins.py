"""Array modules that mirror NumPy: `cupy.tanh` has the rule of `np.tanh`.

CuPy is known by name and never imported by us; `register_array_module` adds others.
"""

from __future__ import annotations

import dataclasses
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ir

if TYPE_CHECKING:
    from ..frontend.lower import Lowered

__all__ = [
    *("array_modules", "as_numpy", "module_function", "register_array_module", "spelled_module"),
    "twin",
]

_MIRRORS = "tangentlike.runtime.namespaces"
_BY_NAME = ("cupy", f"{_MIRRORS}.array_api_strict", f"{_MIRRORS}.torch")
_NAMESPACES = ("", "linalg", "fft", "random", "ndarray")
_registered: list[Any] = []
_twins: dict[int, tuple[Any, dict[int, tuple[Any, Any]]]] = {}


def register_array_module(module: Any) -> None:
    """Let the functions of `module` have the rules of NumPy's functions of the same names."""
    if not any(module is known for known in _registered):
        _registered.append(module)


def array_modules() -> list[Any]:
    """The mirrors of NumPy that are loaded."""
    return [sys.modules[name] for name in _BY_NAME if name in sys.modules] + _registered


def twin(obj: Any) -> Any:
    """NumPy's object for the object of a mirror, or None."""
    for module in array_modules():
        found = _table(module).get(id(obj))
        if found is not None and found[0] is obj:
            return found[1]
    return None


def as_numpy(lowered: Lowered) -> Lowered:
    """A lowered function with NumPy's objects for those of mirrors, spelled as they were.

    `xp.tanh(x)` means NumPy's `tanh` to every analysis and transform; which module's it is when
    it runs, its spelling says, and the printed program follows that.
    """
    if not array_modules():
        return lowered

    def expr(e: ir.Expr) -> ir.Expr:
        if isinstance(e, ir.Ref):
            original = twin(e.obj)
            return e if original is None else ir.Ref(e.text, original)
        return ir.rebuild(e, expr)

    function = dataclasses.replace(
        lowered.function, body=ir.rewrite(lowered.function.body, expression=expr)
    )
    return dataclasses.replace(lowered, function=function)


def module_function(alias: str, path: str) -> ir.Ref:
    """NumPy's function as a program spells it that calls its array module `alias`.

    Whether the module has it shows when the program is printed, which refuses a name that
    leads nowhere: only then is known that it is needed.
    """
    return ir.Ref(f"{alias}.{path}", _member(np, path))


def spelled_module(fn: ir.Expr) -> str:
    """How a call spells the array module: `xp` in `xp.tanh`; "" where it does not."""
    match fn:
        case ir.Ref(text=text, obj=obj) if "." in text:
            root, _, path = text.partition(".")
            return root if _member(np, path) is obj else ""
    return ""


def _member(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part, None)
    return module


def _table(module: Any) -> dict[int, tuple[Any, Any]]:
    known = _twins.get(id(module))
    if known is None:
        table: dict[int, tuple[Any, Any]] = {}
        for namespace in _NAMESPACES:
            ours = getattr(np, namespace) if namespace else np
            theirs = getattr(module, namespace, None) if namespace else module
            for name, original in vars(ours).items() if theirs is not None else ():
                mirrored = getattr(theirs, name, None)
                # What both share (dtypes, constants, `newaxis`) needs no twin.
                if mirrored is None or mirrored is original or isinstance(original, ModuleType):
                    continue
                if callable(original) or namespace == "ndarray":
                    table[id(mirrored)] = (mirrored, original)
        known = _twins[id(module)] = (module, table)
    return known[1]
