"""Array modules that mirror NumPy: `cupy.tanh` has the rule of `np.tanh`.

CuPy is known by name and never imported by us; `register_array_module` adds others.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from .. import ir

__all__ = ["array_module_of", "module_function", "register_array_module", "twin"]

_BY_NAME = ("cupy",)
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


def array_module_of(obj: Any) -> Any:
    """The array module an operation belongs to: NumPy unless a mirror has it."""
    for module in array_modules():
        found = _table(module).get(id(obj))
        if found is not None and found[0] is obj:
            return module
    return np


def module_function(module: ir.Ref, path: str) -> ir.Ref:
    """A function of an array module, spelled as the module is: `xp.zeros_like`.

    Of a module that lacks it the result stands for NumPy's; whether it is needed after all
    shows when the program is printed, which refuses a name that leads nowhere.
    """
    found = _member(module.obj, path)
    return ir.Ref(f"{module.text}.{path}", _member(np, path) if found is None else found)


def spelled_module(fn: ir.Expr) -> ir.Ref | None:
    """The array module that a function is spelled with: `xp` of `xp.tanh`; None where none is."""
    match fn:
        case ir.Ref(text=text, obj=obj) if "." in text:
            root, _, path = text.partition(".")
            module = array_module_of(obj)
            return ir.Ref(root, module) if _member(module, path) is obj else None
    return None


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
