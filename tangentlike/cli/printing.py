"""Output: highlighted on a terminal, plain through a pipe, whole files or none."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["print_error", "print_source", "write_file"]


def print_source(text: str) -> None:
    """Python source on standard output."""
    text = text.rstrip("\n")
    if not _colours():
        print(text)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console().print(Syntax(text, "python", background_color="default", word_wrap=False))


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


def write_file(path: Path, text: str) -> None:
    """The whole text or, if anything fails, the file as it was."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text if text.endswith("\n") else text + "\n")
        if path.exists():
            os.chmod(temporary, path.stat().st_mode & 0o777)
        else:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


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
        made.add_column(name, justify=justify)
    for row in rows:
        made.add_row(*row)
    Console().print(made)
