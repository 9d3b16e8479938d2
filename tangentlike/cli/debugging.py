"""The commands for debugging: each runs a derivative of a function at arguments and reports."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..frontend.primal import primal_of
from .reading import refuse_to_replace, write_file
from .target import parse_wrt

_BY = click.option("--wrt", default="", help="Parameters, by name (default: the first).")
_FILE = click.Path(dir_okay=False, path_type=Path)


def register(main: click.Group, at_arguments: Callable[..., Any]) -> None:
    """Add the commands to the group."""
    _register_runs(main, at_arguments)
    _register_explain(main, at_arguments)


def _register_runs(main: click.Group, at_arguments: Callable[..., Any]) -> None:
    @main.command("trace")
    @at_arguments
    @_BY
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

    @main.command("profile")
    @at_arguments
    @_BY
    def profile_command(fn: Any, args: list[Any], seed: int, wrt: str) -> None:
        """Show what each line costs, primal and adjoint: milliseconds and bytes."""
        from ..api.calls import value_and_grad
        from ..debugging import profile

        click.echo(str(profile(value_and_grad(fn, parse_wrt(wrt)), *args)))

    @main.command("nan")
    @at_arguments
    @_BY
    def nan_command(fn: Any, args: list[Any], seed: int, wrt: str) -> None:
        """Find where a NaN or an infinity of the value or gradient begins.

        Exit status 1 if there is one.
        """
        from ..debugging import find_nan

        report = find_nan(fn, *args, wrt=parse_wrt(wrt) if wrt else None)
        click.echo(str(report))
        if report:
            raise click.exceptions.Exit(1)


def _register_explain(main: click.Group, at_arguments: Callable[..., Any]) -> None:
    @main.command("explain")
    @functools.partial(at_arguments, optional=True)
    @_BY
    @click.option("-o", "--output", type=_FILE, required=True, help="The HTML file to write.")
    @click.option("--force", is_flag=True, help="Replace a file that tangentlike did not write.")
    def explain_command(
        fn: Any, args: list[Any], seed: int, wrt: str, output: Path, force: bool
    ) -> None:
        """Write a page with the source, its derivative, and which line is which.

        With arguments (--shape, --value, --args) it shows the values of every statement too.
        """
        from ..debugging import explain

        refuse_to_replace(output, [Path(primal_of(fn).function.__code__.co_filename)], force)
        report = explain(fn, *args, wrt=parse_wrt(wrt) if wrt else None)
        write_file(output, report.html)
        click.echo(f"{output}: {len(report.html):,} characters", err=True)
