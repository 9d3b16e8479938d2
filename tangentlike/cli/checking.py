"""`tangentlike check`: the arguments to check at, and the table of what came out."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import TangentlikeError
from ..primal import primal_of
from ..testing import Check, compare
from .printing import table
from .target import load_function

__all__ = ["arguments", "run_checks"]


def arguments(
    fn: Any, target: str, maker: str, shapes: Sequence[str], values: Sequence[str], seed: int
) -> list[Any]:
    """The arguments to check at: what a function returns, or random arrays and given values."""
    if maker:
        return _made(target, maker)
    given: dict[str, Any] = {}
    rng = np.random.default_rng(seed)
    for name, text in map(_pair, shapes):
        shape = _shape(text)
        given[name] = rng.standard_normal(shape) if shape else float(rng.standard_normal())
    for name, text in map(_pair, values):
        given[name] = _literal(text)
    return _in_order(fn, given)


def _made(target: str, maker: str) -> list[Any]:
    if ":" not in maker:
        maker = f"{target.rpartition(':')[0]}:{maker}"
    made = load_function(maker)()
    return list(made) if isinstance(made, (tuple, list)) else [made]


def _pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name.strip():
        raise TangentlikeError(f"expected NAME=VALUE, got {text!r}")
    return name.strip(), value.strip()


def _shape(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.strip("()").split(",") if part.strip())
    except ValueError:
        raise TangentlikeError(
            f"{text!r} is no shape", hint="Write --shape w=3,4 for a matrix, w= for a float."
        ) from None


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise TangentlikeError(
            f"{text!r} is no Python literal", hint="Write --value n=3 or --value name=\"'text'\"."
        ) from None


def _in_order(fn: Any, given: dict[str, Any]) -> list[Any]:
    primal = primal_of(fn)
    names = primal.free_names
    unknown = [name for name in given if name not in names]
    if unknown:
        raise TangentlikeError(
            f"{primal.name} has no parameter {unknown[0]!r}",
            hint=f"Its parameters are {', '.join(names)}.",
        )
    parameters = primal.signature.parameters
    found = []
    for name in names:
        if name in given:
            found.append(given[name])
        elif parameters[name].default is not parameters[name].empty:
            if any(later in given for later in names[names.index(name) :]):
                found.append(parameters[name].default)
        else:
            raise TangentlikeError(
                f"no value for the parameter {name!r} of {primal.name}",
                hint=f"Give --shape {name}=3,4 or --value {name}=0.5, "
                "or --args FUNCTION, which returns all arguments.",
            )
    return found


def run_checks(fn: Any, args: list[Any], wrt: Any, order: int, seed: int) -> bool:
    """Compare, print one row for each mode and argument (its worst entry), say if all agree."""
    worst: dict[tuple[str, str], Check] = {}
    checks = compare(fn, args, wrt, order=order, seed=seed)
    for check in _with_progress(checks):
        key = (check.mode, check.argument.partition(" -> ")[0])
        before = worst.get(key)
        if before is None or _severity(check) > _severity(before):
            worst[key] = check
    columns = [("mode", "left"), ("argument", "left"), ("differences", "right"),
               ("derivative", "right"), ("error", "right"), ("", "left")]  # fmt: skip
    rows = [
        [mode, argument, f"{c.expected:.8g}", f"{c.got:.8g}", f"{c.error:.1e}",
         "ok" if c.ok else "WRONG"]
        for (mode, argument), c in worst.items()
    ]  # fmt: skip
    table(f"{primal_of(fn, len(args)).name} against central differences", columns, rows)
    return all(check.ok for check in worst.values())


def _severity(check: Check) -> tuple[bool, float]:
    scale = max(abs(check.expected), abs(check.got))
    return not check.ok, check.error / (check.atol + check.rtol * scale)


def _with_progress(checks: Any) -> Any:
    """A bar on a terminal, once it has taken a moment."""
    import sys

    if not sys.stderr.isatty():
        yield from checks
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("checked {task.completed}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("checking", total=None)
        for check in checks:
            progress.advance(task)
            yield check
