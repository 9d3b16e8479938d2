"""Whose a function, class or module is: the user's, a library's, Python's or ours.

What is the user's is read and differentiated; what is a library's has a rule or is refused. Whoever
asks, asks here, so that the answers agree.
"""

from __future__ import annotations

import inspect
import sys
import sysconfig
import types
from typing import Any

import numpy as np

from ..runtime.records import attribute_of, is_machinery, is_standard

__all__ = ["is_machinery", "is_standard"]

OURS = __name__.partition(".")[0]
NUMERICAL = ("numpy", "scipy", "cupy", "cupyx", "array_api_compat")
PLACES = tuple({sysconfig.get_paths()[key] for key in ("stdlib", "purelib", "platlib")})


def module_of(obj: Any) -> str:
    """The module that a function or class says it is of; "" where it says none.

    >>> module_of(np.linalg.norm), module_of(3.0)
    ('numpy.linalg', '')
    """
    module = attribute_of(obj, "__module__", None)
    # A compiled class may hold a descriptor there (3.10), an object of the user's anything.
    return module if isinstance(module, str) else ""


def package_of(obj: Any) -> str:
    """The outermost package of an object's module.

    >>> package_of(np.linalg.norm), package_of(module_of)
    ('numpy', 'tangentlike')
    """
    return module_of(obj).partition(".")[0]


def is_numpy(obj: Any) -> bool:
    """Whether an object is a function of NumPy, or a ufunc (anybody's).

    >>> is_numpy(np.sum), is_numpy(np.add), is_numpy(sum)
    (True, True, False)
    """
    return isinstance(obj, np.ufunc) or package_of(obj) == "numpy"


def is_numerical(obj: Any) -> bool:
    """Whether an object belongs to NumPy or a library of its kind, whose operations have rules."""
    return package_of(obj) in NUMERICAL


def is_ours(obj: Any) -> bool:
    """Whether a function or class belongs to tangentlike."""
    return package_of(obj) == OURS


def is_of_runtime(obj: Any) -> bool:
    """Whether a function is one that emitted code calls, which is known without being read.

    >>> from tangentlike import runtime
    >>> is_of_runtime(runtime.pair_of), is_of_runtime(module_of)
    (True, False)
    """
    return module_of(obj).startswith(f"{OURS}.runtime")


_OPERATIONS = (np.ufunc, type(np.sum), types.FunctionType, types.BuiltinFunctionType, type)


def is_operation(obj: Any) -> bool:
    """Whether an object is an operation of Python, NumPy or our runtime, which is not an array and
    holds none.

    >>> is_operation(np.sin), is_operation(len), is_operation([].append), is_operation(is_numpy)
    (True, True, False, False)
    """
    if not isinstance(obj, _OPERATIONS):
        return False
    owner = attribute_of(obj, "__self__", None)
    if owner is not None and not isinstance(owner, (types.ModuleType, np.ufunc)):
        return False
    return package_of(obj) in ("numpy", "builtins", "_operator", "math") or is_of_runtime(obj)


def is_library(obj: Any) -> bool:
    """Whether a function or class has a rule or is refused, and is never read.

    >>> is_library(np.linalg.norm), is_library(module_of)
    (True, False)
    """
    return is_numerical(obj) or package_of(obj) in _UNREAD or obj is inspect.signature


# Modules of Python whose functions have rules, or work on text.
_UNREAD = ("dataclasses", "re", "statistics")


def is_pythons(obj: Any) -> bool:
    """Whether a function or class belongs to Python's own library."""
    return is_standard(package_of(obj))


def is_installed(module: str) -> bool:
    """Whether a module is installed (or part of Python), not the user's own file.

    >>> is_installed("numpy.linalg"), is_installed("math"), is_installed("__main__")
    (True, True, False)
    """
    root = module.partition(".")[0]
    if is_standard(root):
        return True
    if root in (OURS, "__main__"):
        return False
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return file.startswith(PLACES) or "site-packages" in file


# --------------------------------------------------------------------------------------------------
# What a function of ours says of itself: that it is a derivative, a checkpoint, an operator.
#
# A mark is an attribute, and attributes are copied: `functools.wraps` gives those of a function to
# what is wrapped around it, a bound method shows those of its function, a proxy those of its
# object. None of these does what the function does: a mark holds for the function it was put on.

_OWNER = "__marked__"


def mark(function: Any, **marks: Any) -> None:
    """Put marks on a function, as attributes."""
    function.__dict__.update({f"__{name}__": value for name, value in marks.items()})
    function.__dict__[_OWNER] = function


def mark_of(obj: Any, name: str) -> Any:
    """A mark that was put on this very object, None if there is none.

    >>> import functools
    >>> def f(x): return x
    >>> mark(f, derives="function")
    >>> @functools.wraps(f)
    ... def around(x): return 2 * f(x)
    >>> mark_of(f, "derives"), mark_of(around, "derives")
    ('function', None)
    """
    own = attribute_of(obj, "__dict__", None)
    if not isinstance(own, dict) or own.get(_OWNER) is not obj:
        return None
    return own.get(f"__{name}__")


def carry_over(function: Any, copy: Any) -> None:
    """Give the attributes and marks of a function to a copy, which does the same."""
    copy.__dict__.update(function.__dict__)
    if function.__dict__.get(_OWNER) is function:
        copy.__dict__[_OWNER] = copy
