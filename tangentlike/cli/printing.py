"""Output: highlighted on a terminal, plain through a pipe; lines are never cut."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ..errors import TangentlikeError
from ..frontend.primal import primal_of
from ..testing import Check, compare

# Each reads well on a light and on a dark terminal: these colours and attributes only.
_STYLES = {
    **dict.fromkeys(("Keyword", "Operator.Word", "Name.Function", "Name.Class"), "bold"),
    "Literal.Number": "magenta",
    "Literal.String": "red",
    "Comment": "dim",
}
_DIFF = {"+": "green", "-": "red", "@": "magenta"}


def print_source(text: str, plain: bool = False) -> None:
    """Python source on standard output; always UTF-8 where it may become a file."""
    if plain or not _colours():
        _print_plain(text)
        return
    from pygments.token import string_to_tokentype
    from rich.console import Console
    from rich.style import Style
    from rich.syntax import ANSISyntaxTheme, Syntax

    styles = {string_to_tokentype(name): Style.parse(style) for name, style in _STYLES.items()}
    shown = Syntax(text.rstrip("\n"), "python", theme=ANSISyntaxTheme(styles))
    Console().print(shown.highlight(shown.code), soft_wrap=True, end="")


def print_diff(text: str) -> None:
    """A unified diff on standard output."""
    if not _colours():
        _print_plain(text)
        return
    from rich.console import Console
    from rich.text import Text

    for line in text.splitlines():
        Console().print(Text(line, style=_DIFF.get(line[:1], "")), soft_wrap=True)


def _print_plain(text: str) -> None:
    if sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
        print(text, end="")
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def _colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def print_error(error: Exception) -> None:
    """A refusal as a compiler prints it, on standard error."""
    message = str(error)
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR"):
        print(message, file=sys.stderr)
        return
    from rich.console import Console
    from rich.text import Text

    first, _, rest = message.partition("\n")
    console = Console(stderr=True, soft_wrap=True)
    console.print(Text(first, style="bold red"))
    if rest:
        console.print(Text(rest))


def table(title: str, columns: list[tuple[str, str]], rows: list[list[str]]) -> None:
    """A table; in a pipe its columns are separated by tabs."""
    if not sys.stdout.isatty():
        print("\t".join(name for name, _ in columns))
        for row in rows:
            print("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table

    made: Any = Table(title=title, title_justify="left")
    for name, justify in columns:
        made.add_column(name, justify=justify, overflow="fold")
    for row in rows:
        made.add_row(*row)
    Console().print(made)


# --------------------------------------------------------------------------------------------------
# `tangentlike check`: the table of what came out.


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
