"""Why an operation gave NaN or an infinity, and what is usually done about it."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Place
from ..ir import DERIVED_ROLES
from .tables import as_numpy, format_number

Entries = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Cause:
    """What happened: `what` in words, `hint` the usual way out, `index` the first entry of the
    result that is not finite, `entries` the operands there."""

    what: str
    hint: str
    index: tuple[int, ...]
    entries: Entries


_LOOK = "Look at the operands above: trace them with tl.trace."
_GIVEN = "Nothing in the function made it: look where the value is made that is passed in."
_SMALLER = (
    "Keep the numbers small: scale the arguments, take smaller steps, or compute with logarithms."
)
_OFF_ZERO = "Keep the divisor off 0: np.where(d == 0, 1.0, d), or d + 1e-12 where d is positive."
_INSIDE = (
    "np.where computes both branches, and 0 times an infinite derivative is NaN: put np.where "
    "around the argument as well, so that the branch that is not taken is computed at a harmless "
    "value."
)
_WAYS = {
    "log of 0": "Keep the argument off 0: np.log(np.maximum(p, 1e-12)); of a softmax compute the "
    "logarithm directly, z - logsumexp(z); for x * log(x) use scipy.special.xlogy.",
    "log of a negative number": "Check what it is taken of; np.log1p(x) needs x > -1.",
    "sqrt of a negative number": "Rounding makes small differences negative: "
    "np.sqrt(np.maximum(x, 0.0)) with the argument kept off 0 for its derivative.",
    "overflow of exp": "Subtract the maximum first: np.exp(z - np.max(z)). For softmax, logsumexp, "
    "sigmoid and softplus use np.logaddexp, scipy.special.logsumexp or expit.",
    "0 * inf": "A factor of 0 does not take an infinity away: choose with np.where, around the "
    "argument of what becomes infinite, instead of multiplying with a mask.",
    "inf - inf": "Find where the infinities come from (an overflow, or masks of -inf that cover a "
    "whole row), and keep at least one entry finite.",
    "inf / inf": "Both overflowed: divide before they grow, or compute with logarithms.",
    "0 / 0": _OFF_ZERO + " The mean of an empty array is 0 / 0, too.",
    "division by 0": _OFF_ZERO,
    "0 to a negative power": "Keep the base off 0: np.maximum(x, 1e-12) ** p.",
    "a negative number to a fractional power": "Take the power of np.abs(x) and give it the sign "
    "of x, or keep x positive.",
    "an argument outside of its domain": "Clip it: np.clip(x, -1.0, 1.0), a little further inside "
    "if it is differentiated.",
    "a singular matrix": "Add a small multiple of the identity, or solve with np.linalg.lstsq.",
}
_AT_KINK = {
    "sqrt": "Keep the argument off 0: np.sqrt(x + 1e-12), or compute the root only where x > 0: "
    "np.sqrt(np.where(x > 0, x, 1.0)).",
    "norm": "The norm has no derivative at 0: use np.sqrt(np.sum(x * x) + 1e-12).",
    "log": _WAYS["log of 0"],
    "hypot": "hypot has no derivative at the origin: use np.sqrt(x * x + y * y + 1e-12).",
    "std": "The standard deviation of equal numbers has no derivative: use np.sqrt(np.var(x) + "
    "1e-12).",
    "power": "Keep the base off 0: a power below 1 has an infinite derivative there.",
    "cbrt": "Keep the argument off 0: np.cbrt(x + 1e-12).",
    "arccos": _WAYS["an argument outside of its domain"],
    "arcsin": _WAYS["an argument outside of its domain"],
    "arctanh": _WAYS["an argument outside of its domain"],
    "arccosh": "Keep the argument above 1.",
    "arctan2": "arctan2 has no derivative at the origin: keep one argument off 0.",
}
_KINK_AT = {"arccos": "1", "arcsin": "1", "arctanh": "1", "arccosh": "1", "arctan2": "the origin",
            "hypot": "the origin", "std": "equal numbers"}  # fmt: skip


def cause_of(
    node: Any, operands: Sequence[tuple[str, Any]], value: Any, place: Place, role: str
) -> Cause:
    """The cause of a result that is not finite, from the operands it was computed from."""
    index = _first_bad(value)
    entries = _entries(operands, value, index)
    numbers = [number for _, number in entries]
    what = _what(node, numbers, [v for _, v in operands], value, index)
    user = _operation_of_user(place)
    hint = _GIVEN if isinstance(node, ast.Name) else _WAYS.get(what, _LOOK)
    if what.startswith("overflow") and what not in _WAYS:
        hint = _SMALLER
    if role in DERIVED_ROLES and user in _AT_KINK and _is_kink(what):
        kink = _KINK_AT.get(user, "0")
        zero = what in ("0 / 0", "0 * inf")
        what = f"the derivative of {user} at {kink} is infinite"
        if zero:
            what = f"0 times the derivative of {user} at {kink}, which is infinite"
        hint = _AT_KINK[user]
    if role in DERIVED_ROLES and "where(" in place.text and "0" in what:
        hint = f"{hint} {_INSIDE}"
    shown = tuple((text, format_number(number)) for text, number in entries)
    return Cause(what, hint, index, tuple((t, n) for t, n in shown if t != n and not _same(t, n)))


def _same(text: str, number: str) -> bool:
    """Whether an operand is a literal, which needs no value beside it."""
    try:
        return float(text) == float(number)
    except ValueError:
        return False


def _is_kink(what: str) -> bool:
    return what in ("division by 0", "0 / 0", "0 * inf", "0 to a negative power") or (
        "outside of its domain" in what
    )


def _operation_of_user(place: Place) -> str:
    """What the user's operation under the caret is called: "sqrt", "power", "divide"."""
    text = place.text[place.column : place.column + place.width].strip()
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return ""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2]
    if isinstance(node, ast.BinOp):
        return {ast.Pow: "power", ast.Div: "divide"}.get(type(node.op), "")
    return ""


# ---------------------------------------------------------------------------- where in it


def _first_bad(value: Any) -> tuple[int, ...]:
    array = as_numpy(value)
    if array is None or array.ndim == 0:
        return ()
    bad = np.argwhere(np.isnan(array))
    bad = bad if len(bad) else np.argwhere(~np.isfinite(array))
    return tuple(int(n) for n in bad[0]) if len(bad) else ()


def _entries(
    operands: Sequence[tuple[str, Any]], value: Any, index: tuple[int, ...]
) -> list[tuple[str, Any]]:
    """The operands at one entry of the result, where these go entry by entry."""
    shape = np.shape(value)
    found = []
    for text, operand in operands:
        if isinstance(operand, str | bytes | dict | list | tuple) or operand is None:
            return []
        array = as_numpy(operand)
        if array is None:
            if not isinstance(operand, bool | int | float | complex | np.generic):
                return []
            array = np.asarray(operand)
        try:
            spread = np.broadcast_to(array, shape)
        except ValueError:
            return []
        found.append((text, spread[index].item()))
    return found


# -------------------------------------------------------------------------------- what


def _what(node: Any, numbers: list[Any], values: list[Any], value: Any, index: Any) -> str:
    if isinstance(node, ast.Name):
        kind = "NaN" if np.isnan(value).any() else "an infinity"
        return f"`{node.id}` holds {kind} when the function begins"
    if isinstance(node, ast.Constant | ast.Attribute):
        return "it is written in the program"
    name = _name_of(node)
    if name in _OPERATIONS and len(numbers) >= _OPERATIONS[name][0]:
        found = _OPERATIONS[name][1](*numbers[: _OPERATIONS[name][0]])
        if found:
            return found
    if name in _SINGULAR:
        return "a singular matrix"
    if any(n != n for n in numbers):
        return "an operand is NaN already"
    finite = all(
        np.isfinite(a).all() for a in map(as_numpy, values) if a is not None and _is_floating(a)
    )
    if values and not finite:
        return f"infinite operands meet in {name or 'it'}"
    entry = np.asarray(value)[index] if index else value
    if name in ("mean", "average", "std", "var", "nanmean") and np.isnan(entry):
        return "0 / 0"
    if np.isnan(entry):
        return f"`{name}` gives NaN for finite arguments" if name else "NaN from finite operands"
    return f"overflow of {_WORDS.get(name, name)}" if name else "overflow"


def _is_floating(array: Any) -> bool:
    return array is not None and array.dtype.kind in "fc"


_BINARY: dict[type, str] = {
    ast.Div: "divide",
    ast.Mult: "multiply",
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Pow: "power",
    ast.MatMult: "matmul",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
}
_WORDS = {"divide": "a division", "multiply": "a product", "add": "a sum", "subtract": "a "
          "difference", "power": "a power", "matmul": "a matrix product"}  # fmt: skip
_SINGULAR = {"inv", "solve", "pinv", "slogdet", "cholesky", "tensorsolve", "tensorinv"}


def _name_of(node: Any) -> str:
    """What an operation is called: `x / y` and `np.divide(x, y)` are both "divide"."""
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return _BINARY.get(type(node.op), "")
    if isinstance(node, ast.Expr):
        node = node.value
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func).rpartition(".")[2]
        return {"true_divide": "divide", "pow": "power", "float_power": "power"}.get(name, name)
    return ""


def _divide(a: Any, b: Any) -> str:
    if b == 0:
        return "0 / 0" if a == 0 or a != a else "division by 0"
    if _infinite(a) and _infinite(b):
        return "inf / inf"
    return "" if a != a or b != b else "overflow of a division"


def _multiply(a: Any, b: Any) -> str:
    if (a == 0 and _infinite(b)) or (b == 0 and _infinite(a)):
        return "0 * inf"
    return "" if _odd(a, b) else "overflow of a product"


def _add(a: Any, b: Any) -> str:
    if _infinite(a) and _infinite(b):
        return "inf - inf"
    return "" if _odd(a, b) else "overflow of a sum"


def _power(a: Any, b: Any) -> str:
    if a == 0 and np.real(b) < 0:
        return "0 to a negative power"
    if np.isreal(a) and np.real(a) < 0 and np.real(b) != np.floor(np.real(b)):
        return "a negative number to a fractional power"
    return "" if _odd(a, b) else "overflow of a power"


def _infinite(a: Any) -> bool:
    return bool(abs(a) == math.inf)


def _odd(*numbers: Any) -> bool:
    return any(n != n or _infinite(n) for n in numbers)


def _log(shift: float) -> Callable[[Any], str]:
    def what(a: Any) -> str:
        if a == shift:
            return "log of 0"
        return "log of a negative number" if np.isreal(a) and np.real(a) < shift else ""

    return what


def _sqrt(a: Any) -> str:
    return "sqrt of a negative number" if np.isreal(a) and np.real(a) < 0 else ""


def _overflow_of(name: str) -> Callable[[Any], str]:
    return lambda a: "" if _odd(a) else f"overflow of {name}"


def _outside(a: Any) -> str:
    return "" if _odd(a) else "an argument outside of its domain"


_OPERATIONS: dict[str, tuple[int, Callable[..., str]]] = {
    "divide": (2, _divide),
    "multiply": (2, _multiply),
    "add": (2, _add),
    "subtract": (2, _add),
    "power": (2, _power),
    "reciprocal": (1, lambda a: _divide(1.0, a)),
    "log": (1, _log(0.0)),
    "log2": (1, _log(0.0)),
    "log10": (1, _log(0.0)),
    "log1p": (1, _log(-1.0)),
    "sqrt": (1, _sqrt),
    **{name: (1, _overflow_of("exp")) for name in ("exp", "exp2", "expm1", "cosh", "sinh")},
    **dict.fromkeys(("arccos", "arcsin", "arctanh", "arccosh", "acos", "asin"), (1, _outside)),
}
