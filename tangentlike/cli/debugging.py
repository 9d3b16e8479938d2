"""The commands for debugging: each runs a derivative of a function at arguments and reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from .target import parse_wrt

__all__ = ["register"]


def register(main: click.Group, at_arguments: Callable[..., Any]) -> None:
    """Add the commands to the group."""
    by = click.option("--wrt", default="", help="Parameters, by name (default: the first).")

    @main.command("trace")
    @at_arguments
    @by
    @click.option(
        "--iteration",
        type=int,
        help="Which iteration of loops to show: 0 the first, -1 the last (the default).",
    )
    def trace_command(fn: Any, args: list[Any], seed: int, wrt: str, iteration: int | None) -> None:
        """Show the value of every statement of the value and gradient, in order."""
        from ..api.calls import value_and_grad
        from ..debugging import trace

        found = trace(value_and_grad(fn, parse_wrt(wrt)), *args)
        click.echo(str(found if iteration is None else found.at(iteration)))

    @main.command("nan")
    @at_arguments
    @by
    def nan_command(fn: Any, args: list[Any], seed: int, wrt: str) -> None:
        """Find where a NaN or an infinity of the value or gradient begins.

        Exit status 1 if there is one.
        """
        from ..debugging import find_nan

        report = find_nan(fn, *args, wrt=parse_wrt(wrt) if wrt else None)
        click.echo(str(report))
        if report:
            raise click.exceptions.Exit(1)
