"""Tables: drawn by rich on a terminal, plain columns into a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose first column is text and whose others are numbers."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
        except ImportError:
            pass
        else:
            table = Table(title=title)
            for k, column in enumerate(columns):
                table.add_column(column, justify="right" if k else "left")
            for row in rows:
                table.add_row(*row)
            Console().print(table)
            return
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    print(title)
    for row in (columns, *rows):
        first, *others = (
            cell.rjust(w) if k else cell.ljust(w)
            for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join((first, *others)))
