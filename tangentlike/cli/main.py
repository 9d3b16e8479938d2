"""The commands. Exit status: 0, 1 for a refusal or a failed check, 2 for bad usage."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..errors import InternalError, TangentlikeError
from .printing import print_error, print_source, table, write_file
from .target import load_function

__all__ = ["main"]

STAGES = ("lowered", "derived", "simplified", "emitted")


class _Refusals(click.Group):
    """Turns our errors into messages and exit status 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TangentlikeError as error:
            print_error(error)
            raise click.exceptions.Exit(1) from None
        except InternalError as error:
            print_error(error)
            raise click.exceptions.Exit(1) from None


@click.group(cls=_Refusals, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tangentlike")
def main() -> None:
    """Derivatives of NumPy programs, as readable Python source."""


def _derivative_command(name: str, what: str, derive: Callable[[Any, Any], Any]) -> None:
    """One of `grad`, `jvp`, `vjp`, `hvp`: they differ in what they ask for."""

    @main.command(name, help=f"Print {what} of a function as Python source.")
    @click.argument("target", metavar="FILE.py:FUNC")
    @click.option("--wrt", default="", help="Parameters, by name: --wrt w,b (default: the first).")
    @click.option(
        "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write a file."
    )
    @click.option("--standalone", is_flag=True, help="A file that needs only NumPy.")
    @click.option("--show", type=click.Choice(STAGES), help="Print the program after a stage.")
    def command(
        target: str, wrt: str, output: Path | None, standalone: bool, show: str | None
    ) -> None:
        function = derive(load_function(target), _wrt(wrt))
        if show and standalone:
            raise click.UsageError("--show and --standalone exclude each other")
        if show:
            text = function.stages[show]
        elif standalone:
            text = function.__tangentlike__.derive().derived.standalone()
        else:
            text = str(function.source)
        if output is None:
            print_source(text)
        else:
            _write(output, text)


def _write(path: Path, text: str) -> None:
    try:
        write_file(path, text)
    except OSError as error:
        raise TangentlikeError(f"cannot write {path}: {error.strerror}") from None
    click.echo(f"{path}: {len(text.splitlines())} lines", err=True)


def _wrt(text: str) -> Any:
    names = [part.strip() for part in text.split(",") if part.strip()]
    chosen = tuple(int(n) if n.lstrip("-").isdigit() else n for n in names)
    if not chosen:
        return 0
    return chosen[0] if len(chosen) == 1 else chosen


def _register() -> None:
    from .. import api, linear

    _derivative_command("grad", "the gradient", api.grad)
    _derivative_command(
        "jvp", "the forward-mode derivative", lambda f, wrt: api.autodiff(f, wrt, "forward")
    )
    _derivative_command(
        "vjp", "the reverse-mode derivative", lambda f, wrt: api.autodiff(f, wrt, "reverse")
    )
    _derivative_command("hvp", "the Hessian-vector product", linear.hvp)


def _at_arguments(command: Callable[..., None]) -> Callable[..., None]:
    """A command about a function at arguments: it is given `fn`, `args`, `seed`, and its own
    options."""

    @functools.wraps(command)
    def with_arguments(
        target: str,
        maker: str,
        shapes: tuple[str, ...],
        values: tuple[str, ...],
        seed: int,
        **options: Any,
    ) -> None:
        from .checking import arguments

        if maker and (shapes or values):
            raise click.UsageError("--args gives all arguments; it excludes --shape and --value")
        fn = load_function(target)
        command(fn, arguments(fn, target, maker, shapes, values, seed), seed, **options)

    for option in reversed(
        [
            click.argument("target", metavar="FILE.py:FUNC"),
            click.option(
                "--args", "maker", default="", help="A function (of FILE) that gives the arguments."
            ),
            click.option("--shape", "shapes", multiple=True, help="A random array: --shape w=3,4."),
            click.option("--value", "values", multiple=True, help="A Python literal: --value n=3."),
            click.option(
                "--seed", default=0, show_default=True, help="Of random arrays and directions."
            ),
        ]
    ):
        with_arguments = option(with_arguments)
    return with_arguments


@main.command()
@_at_arguments
@click.option("--wrt", default="", help="Parameters, by name (default: all that hold floats).")
@click.option("--order", default=1, show_default=True, type=click.IntRange(1, 3))
def check(fn: Any, args: list[Any], seed: int, wrt: str, order: int) -> None:
    """Compare both modes with central differences."""
    from .checking import run_checks

    if not run_checks(fn, args, _wrt(wrt) if wrt else None, order, seed):
        sys.exit(1)


@main.command()
@_at_arguments
@click.option("--wrt", default="", help="Parameters, by name (default: the first).")
def saved(fn: Any, args: list[Any], seed: int, wrt: str) -> None:
    """Say what the reverse sweep of the gradient keeps, for each line of the function."""
    from ..api import grad

    click.echo(str(grad(fn, _wrt(wrt)).saved(*args)))


@main.command()
@click.option("--like", default="", help="Only operations whose name contains this.")
def rules(like: str) -> None:
    """List the operations that have derivative rules."""
    from .rulebook import covered

    rows = [row for row in covered() if like.lower() in row[0].lower()]
    columns = [("operation", "left"), ("derivative", "left"), ("written in", "left")]
    table(f"{len(rows)} operations", columns, rows)


_register()
