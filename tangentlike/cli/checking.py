"""`tangentlike check`: the table of what came out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ..errors import TangentlikeError
from ..frontend.primal import primal_of
from ..testing import Check, compare
from .printing import table

__all__ = ["draw_curves", "run_checks"]


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


def draw_curves(fn: Any, args: list[Any], wrt: Any, seed: int, path: Path) -> None:
    """The error against the step, as a picture; what it says on standard error."""
    from ..debugging import step_curves

    if path.exists() and path.suffix in (".py", ".ipynb"):
        raise TangentlikeError(
            f"{path} is not a picture: it was not overwritten", hint="Give --plot curves.png."
        )
    curves = step_curves(fn, *args, wrt=wrt, seed=seed)
    try:
        curves.save(path)
    except (ValueError, OSError) as error:
        raise TangentlikeError(f"cannot write {path}: {error}") from None
    print(f"{curves}\n{path}: written", file=sys.stderr)


def _severity(check: Check) -> tuple[bool, float]:
    scale = max(abs(check.expected), abs(check.got))
    return not check.ok, check.error / (check.atol + check.rtol * scale)


def _with_progress(checks: Any) -> Any:
    """A bar on a terminal, once it has taken a moment."""
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
