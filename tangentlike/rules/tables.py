"""Rules that are stated as text, one in a line: partial derivatives of elementwise functions, and
linear operations with their adjoints.
"""

from __future__ import annotations

import cmath
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import runtime
from ..errors import Place
from .book import Deferred, ResultKind, Rule, default_book, path_of, resolve
from .kinds_of import same_as

scipy = Deferred("scipy")
_MODULES = {"np": "numpy", "math": "math", "cmath": "cmath", "scipy": "scipy"}


def partials(table: Mapping[str, str | Sequence[str]], kind: ResultKind | None = None) -> None:
    """Declare the rules of elementwise functions: the partial derivative by `x`, or by each of the
    parameters that are named (by the last ones without a default, where there are fewer).

    before::                                        after::
        partials({"np.sin": "np.cos(x)"})               def sin(y, x):
                                                            dy_dx = np.cos(x)
        partials({"np.fmod(a, b)":                      def fmod(y, a, b):
            ("1.0", "-np.trunc(a / b)")})                   dy_da = 1.0
                                                            dy_db = -np.trunc(a / b)
    """
    for operation, stated in table.items():
        name, _, params = operation.partition("(")
        slopes = (stated,) if isinstance(stated, str) else stated
        needed = re.sub(r",[^,]*=[^,)]*", "", params or "x)")
        given = _names(needed)[-len(slopes) :]
        lines = [f"dy_d{x} = {slope}" for x, slope in zip(given, slopes, strict=True)]
        written(name, params or "x)", lines, kind)


def linear(
    operation: str,
    adjoint: str,
    kind: ResultKind | None = None,
    view: str = "no",
    *,
    also: tuple[Any, ...] = (),
    words: str = "",
) -> None:
    """Declare the rule of an operation that is linear in its first argument: its tangent is the
    operation itself of the tangent, and no other argument carries a derivative.

    `operation` is its name with its parameters, of which `words` are given by name; `also` are
    other objects that have the same rule.

    before::                                        after::
        linear("untile(g, like, reps)",                 def untile(y, g, like, reps):
               "np.tile(y_bar, reps)")                      y_dot = untile(g_dot, like, reps)
                                                            g_bar = np.tile(y_bar, reps)
                                                            like_bar = 0
                                                            reps_bar = 0
    """
    name, _, params = operation.partition("(")
    first, *others = _names(params)
    given = [f"{other}={other}" if other in words.split() else other for other in others]
    tangent = f"y_dot = {name}({', '.join([f'{first}_dot', *given])})"
    zeros = (f"{other}_bar = 0" for other in others)
    written(name, params, [tangent, f"{first}_bar = {adjoint}", *zeros], kind, view, also)


def bilinear(operation: str, kind: ResultKind, words: str = "") -> None:
    """Declare the rules of an operation `f(a, b)` that is linear in each of two arguments,
    and of its adjoints in the runtime, `f_bar_a(g, a, b)` and `f_bar_b(g, a, b)`: each of the three
    is made of the others. Further parameters are handed on, `words` by name to the operation.
    """
    names, _, params = operation.partition("(")
    name = names.partition(",")[0]
    a, b, *others = _names(params)
    rest = "".join(f", {other}" for other in others)
    given = "".join(f", {n}={n}" if n in words.split() else f", {n}" for n in others)
    bar_a, bar_b = (f"{name.rpartition('.')[2]}_bar_{x}" for x in (a, b))
    lines = [
        f"y_dot = {name}({a}_dot, {b}{given}) + {name}({a}, {b}_dot{given})",
        f"{a}_bar = {bar_a}(y_bar, {a}, {b}{rest})",
        f"{b}_bar = {bar_b}(y_bar, {a}, {b}{rest})",
    ]
    written(names, params, lines, kind)
    lines = [
        f"y_dot = {bar_a}(g_dot, {a}, {b}{rest}) + {bar_a}(g, {a}, {b}_dot{rest})",
        f"g_bar = {name}(y_bar, {b}{given})",
        f"{a}_bar = 0",
        f"{b}_bar = {bar_b}(g, y_bar, {b}{rest})",
    ]
    written(bar_a, f"g, {params}", lines, same_as(1))
    lines = [
        f"y_dot = {bar_b}(g_dot, {a}, {b}{rest}) + {bar_b}(g, {a}_dot, {b}{rest})",
        f"g_bar = {name}({a}, y_bar{given})",
        f"{a}_bar = {bar_a}(g, {a}, y_bar{rest})",
        f"{b}_bar = 0",
    ]
    written(bar_b, f"g, {params}", lines, same_as(2))


def written(
    name: str,
    params: str,
    lines: Sequence[str],
    kind: ResultKind | None = None,
    view: str = "no",
    also: tuple[Any, ...] = (),
) -> None:
    """Declare a rule by the lines of its template; `params` are what stands in the brackets after
    the name, or after several of one thing (`scipy.special.jv, scipy.special.jn`)."""
    caller = sys._getframe(1)  # (the table)
    while caller.f_back is not None and caller.f_code.co_filename == __file__:
        caller = caller.f_back
    at = Place(caller.f_code.co_filename, caller.f_lineno, f"{name}({params}")
    objs = tuple(map(_object, name.split(", ")))
    text = "\n    ".join([f"def {name.rpartition('.')[2]}(y, {params}:", *lines])
    entry = Rule(path_of(objs[0]), _names, view, kind, text=text, at=at)
    default_book().register((*objs, *also), entry)


def _object(name: str) -> Any:
    """What a name means: `np.sin`, `math.sin`, a function of the runtime; of SciPy, which may not
    be there, its own name."""
    root, *rest = name.split(".")
    if not rest:
        return getattr(runtime, root)
    path = ".".join([_MODULES[root], *rest])
    return path if root == "scipy" else resolve(path) or path


def _names(params: str) -> list[str]:
    """The names in a parameter list.

    >>> _names("a, axes=(0, 1), norm=None)")
    ['a', 'axes', 'norm']
    """
    return re.findall(r"[(,]\s*([A-Za-z_]\w*)\s*(?=[=,)])", f"({params}")


__all__ = ["bilinear", "cmath", "linear", "math", "np", "partials", "scipy", "written"]
