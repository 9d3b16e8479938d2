"""Calls that only show values: `log.info("%s", y)`, `warnings.warn(f"{y}")`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

import gast

from .. import ir
from ..errors import UnsupportedError

_LEVELS = ("debug", "info", "warning", "warn", "error", "critical", "exception", "log")
_FUNCTIONS = (*(getattr(logging, name) for name in _LEVELS if name != "warn"), warnings.warn)


def is_logging(fn: Any, read: Callable[[gast.AST], ir.Expr]) -> bool:
    """Whether what is called shows its arguments and does nothing else with them."""
    if not isinstance(fn, gast.Attribute | gast.Name):
        return False
    try:
        if isinstance(fn, gast.Attribute) and fn.attr in _LEVELS and _is_logger(read(fn.value)):
            return True
        found = read(fn)
    except UnsupportedError:
        return False  # (refused where it is read as what it is)
    return isinstance(found, ir.Ref) and any(found.obj is known for known in _FUNCTIONS)


def _is_logger(expr: ir.Expr) -> bool:
    match expr:
        case ir.Ref(obj=obj):
            return isinstance(obj, logging.Logger | logging.LoggerAdapter)
        case ir.Call(fn=ir.Ref(obj=obj)):
            return obj is logging.getLogger
    return False
