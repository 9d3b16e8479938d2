"""The commands. Exit status: 0, 1 for a refusal or a failed check, 2 for bad usage, 130 when
interrupted.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..errors import InternalError, TangentlikeError
from ..frontend.primal import primal_of
from ..rules import default_book
from ..rules.book import Rule, path_of
from .orders import At, Order, arguments, changes, check_file, is_current, written_files
from .printing import draw_curves, print_diff, print_error, print_source, run_checks, table
from .reading import read_text, refuse_to_replace, write_file
from .target import BadUsage, errors_of_the_program, load_function, parse_wrt

STAGES = (  # those of `pipeline.table`, which is not loaded for `--help`
    *("lowered", "resolved", "normalized", "stored", "prepared", "called"),
    *("derived", "simplified", "emitted"),
)
_FILE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)
_STDOUT = Path("-")
_BY = click.option("--wrt", default="", help="Parameters, by name (default: the first).")
_PLAIN_FILE = click.Path(dir_okay=False, path_type=Path)
_READING = (
    "FILE.py is read, and not run, where its names are NumPy's, SciPy's, CuPy's and its own. "
    "Otherwise it is imported, so that they mean what they mean when it runs: what stands at its "
    "top level is executed, unless --no-import is given, which refuses such a file. --verbose says "
    "which of the two it is."
)


def _says_nothing(text: str) -> None:
    pass


class _Refusals(click.Group):
    """Turns our errors, and Ctrl-C, into messages and an exit status."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (TangentlikeError, InternalError) as error:
            print_error(error)
            raise click.exceptions.Exit(2 if isinstance(error, BadUsage) else 1) from None
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise click.exceptions.Exit(130) from None


@click.group(cls=_Refusals, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tangentlike")
def main() -> None:
    """Derivatives of NumPy programs, as readable Python source.

    Exit status: 0, 1 for a refusal or a failed check, 2 for bad usage, 130 when interrupted.
    """


def _with_options(command: Any, options: list[Callable[[Any], Any]]) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


_TARGET = click.argument("target", metavar="FILE.py:FUNC")
_AT = [
    click.option(
        "--args", "maker", default="", help="A function (of FILE) that gives the arguments."
    ),
    click.option("--shape", "shapes", multiple=True, help="A random array: --shape w=3,4."),
    click.option("--value", "values", multiple=True, help="A Python literal: --value n=3."),
    click.option("--seed", default=0, show_default=True, help="Of random arrays and directions."),
]
_MAKING = [
    click.option("--wrt", default="", help="Parameters, by name: --wrt w,b (default: the first)."),
    click.option("-o", "--output", type=_FILE, help="Write a file; - is standard output."),
    click.option("--force", is_flag=True, help="Replace a file that tangentlike did not write."),
    click.option("--standalone", is_flag=True, help="A file that needs only NumPy."),
    click.option("--strict", is_flag=True, help="Refuse also what a call may not reach."),
    click.option(
        "--target",
        "made_for",
        default="numpy",
        type=click.Choice(("numpy", "cupy-fused", "numba")),
        help="What compiles the derivative (of grad).",
    ),
    click.option("--reuse", is_flag=True, help="Compute in the memory of dead arrays (of grad)."),
    click.option("--show", type=click.Choice(STAGES), help="Print the program after a stage."),
    click.option("--time", "timed", is_flag=True, help="Say what each stage takes."),
    click.option("--no-import", is_flag=True, help="Refuse a file that has to be run."),
    click.option("--verbose", is_flag=True, help="Say first whether the file is run, and why."),
    click.option("--diff", is_flag=True, help="Show what -o would change; write nothing."),
    click.option(
        "--check",
        "checked",
        type=_PLAIN_FILE,
        help="Exit with 1, and show the difference, if this file is not what would be written.",
    ),
]


def _at(maker: str, shapes: tuple[str, ...], values: tuple[str, ...], seed: int) -> At:
    if maker and (shapes or values):
        raise click.UsageError("--args gives all arguments; it excludes --shape and --value")
    return At(maker, shapes, values, seed)


def _derivative_command(name: str, what: str, derive: Callable[..., Any]) -> None:
    """One of `grad`, `jvp`, `vjp`, `hvp`: they differ in what they ask for."""

    def command(
        target: str,
        maker: str,
        shapes: tuple[str, ...],
        values: tuple[str, ...],
        wrt: str,
        standalone: bool,
        strict: bool,
        made_for: str,
        reuse: bool,
        show: str | None,
        timed: bool,
        no_import: bool,
        verbose: bool,
        **how: Any,
    ) -> None:
        if show and standalone:
            raise click.UsageError("--show and --standalone exclude each other")
        for option, given in (("--target", made_for != "numpy"), ("--reuse", reuse)):
            if given and name != "grad":
                raise click.UsageError(f"{name} has no {option}")
        at = _at(maker, shapes, values, 0)
        if no_import and maker:
            raise click.UsageError("--args runs a function of the file; it excludes --no-import")
        says = functools.partial(click.echo, err=True) if verbose else _says_nothing
        by = name, derive, target, wrt, at, standalone, show
        order = Order(*by, not no_import, strict, says, made_for, reuse)
        if not timed:
            _make(order, **how)
        elif show or standalone or any(how.values()):
            raise click.UsageError("--time prints a table: it excludes --show and all about files")
        else:
            _print_costs(order)

    about = (
        f"Print {what} of a function as Python source.\n\n{_READING} Arguments, if some are "
        "given, tell ranks and shapes, for plainer source."
    )
    at = [option for option in _AT if option is not _AT[-1]]
    main.command(name, help=about)(_with_options(command, [_TARGET, *_MAKING, *at]))


def _print_costs(order: Order) -> None:
    """What each stage of a transform took."""
    from ..pipeline.table import collecting, costs

    with collecting() as records:
        order.text()
    rows = [
        [
            row.stage,
            f"{row.milliseconds:.1f}",
            *map(_number, (row.runs, row.statements, row.analyses)),
        ]
        for row in costs(records)
    ]
    numbers = ("ms", "runs", "statements", "analyses")
    columns = [("stage", "left"), *((name, "right") for name in numbers)]
    table(f"{order.name} of {order.target}", columns, rows)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _make(order: Order, output: Path | None, force: bool, diff: bool, checked: Path | None) -> None:
    """Print the text, write it to a file, or compare it with one."""
    to_file = output is not None and output != _STDOUT
    if checked is not None and (output is not None or diff):
        raise click.UsageError("--check excludes -o and --diff")
    if diff and not to_file:
        raise click.UsageError("--diff compares with a file: give -o OUT.py")
    if checked is not None:
        if not check_file(order, checked):
            raise click.exceptions.Exit(1)
    elif output is None or not to_file:
        print_source(order.text(), plain=output is not None)
    elif diff:
        before = read_text(output) if output.exists() else ""
        print_diff(changes(before, order.file_text(output), output))
    else:
        refuse_to_replace(output, order.inputs, force)
        text = order.file_text(output)
        write_file(output, text)
        click.echo(f"{output}: {len(text.splitlines())} lines", err=True)


def _register() -> None:
    from ..api import calls as api
    from ..api import linear

    def forward(fn: Any, wrt: Any, **given: Any) -> Any:
        return api.autodiff(fn, wrt, "forward", **given)

    def reverse(fn: Any, wrt: Any, **given: Any) -> Any:
        return api.autodiff(fn, wrt, "reverse", **given)

    def gradient(fn: Any, wrt: Any, **given: Any) -> Any:
        return api.grad(fn, wrt, **given)

    def product(fn: Any, wrt: Any, **given: Any) -> Any:
        return linear.hvp(fn, wrt, **given)

    _derivative_command("grad", "the gradient", gradient)
    _derivative_command("jvp", "the forward-mode derivative", forward)
    _derivative_command("vjp", "the reverse-mode derivative", reverse)
    _derivative_command("hvp", "the Hessian-vector product", product)


def _at_arguments(command: Callable[..., None], optional: bool = False) -> Callable[..., None]:
    """A command about a function at arguments: it is given `fn`, `args`, `seed`, and its own
    options. Where arguments are `optional` and none are given, `args` is empty."""

    @functools.wraps(command)
    def with_arguments(
        target: str,
        maker: str,
        shapes: tuple[str, ...],
        values: tuple[str, ...],
        seed: int,
        **options: Any,
    ) -> None:
        at = _at(maker, shapes, values, seed)
        fn = load_function(target)
        given = bool(maker or shapes or values) or not optional
        with errors_of_the_program(f"{target} cannot be run at these arguments"):
            args = arguments(fn, target, at) if given else []
            if given:
                fn(*copy.deepcopy(args))  # (what it raises itself is at a line of its own)
            command(fn, args, seed, **options)

    made: Callable[..., None] = _with_options(with_arguments, [_TARGET, *_AT])
    return made


@main.command()
@_at_arguments
@click.option("--wrt", default="", help="Parameters, by name (default: all that hold floats).")
@click.option("--order", default=1, show_default=True, type=click.IntRange(1, 3))
@click.option(
    "--plot", type=_FILE, help="Draw the error against the step of the differences into a picture."
)
def check(fn: Any, args: list[Any], seed: int, wrt: str, order: int, plot: Path | None) -> None:
    """Compare both modes with central differences."""
    if plot is not None:
        draw_curves(fn, args, parse_wrt(wrt) if wrt else None, seed, plot)
    if not run_checks(fn, args, parse_wrt(wrt) if wrt else None, order, seed):
        sys.exit(1)


@main.command()
@_at_arguments
@_BY
def saved(fn: Any, args: list[Any], seed: int, wrt: str) -> None:
    """Say what the reverse sweep of the gradient keeps, for each line of the function."""
    from ..api.calls import grad

    click.echo(str(grad(fn, parse_wrt(wrt)).saved(*args)))


# Debugging: each runs a derivative of a function at arguments and reports.


@main.command("trace")
@_at_arguments
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
@_at_arguments
@_BY
def profile_command(fn: Any, args: list[Any], seed: int, wrt: str) -> None:
    """Show what each line costs, primal and adjoint: milliseconds and bytes."""
    from ..api.calls import value_and_grad
    from ..debugging import profile

    click.echo(str(profile(value_and_grad(fn, parse_wrt(wrt)), *args)))


@main.command("nan")
@_at_arguments
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


@main.command("explain")
@functools.partial(_at_arguments, optional=True)
@_BY
@click.option("-o", "--output", type=_PLAIN_FILE, required=True, help="The HTML file to write.")
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


@main.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
def stale(paths: tuple[Path, ...]) -> None:
    """Make files again as their headers say, and show those that are out of date.

    PATHS are files and folders (default: this one); files that tangentlike did not write are
    passed over. Exit status 1 if one is stale.
    """
    found = list(written_files(paths or (Path(),)))
    old = [path for path in found if not is_current(path, main)]
    for path in old:
        click.echo(f"stale: {path}")
    click.echo(f"files written by tangentlike: {len(found)}, stale: {len(old)}", err=True)
    if old:
        raise click.exceptions.Exit(1)


@main.command()
@click.option("--like", default="", help="Only operations whose name contains this.")
def rules(like: str) -> None:
    """List the operations that have derivative rules."""
    rows = [row for row in covered() if like.lower() in row[0].lower()]
    columns = [("operation", "left"), ("derivative", "left"), ("written in", "left")]
    table(f"{len(rows)} operations", columns, rows)


_register()


# --------------------------------------------------------------------------------------------------
# What the rulebook covers, read from the book itself.


def covered() -> list[list[str]]:
    """Operation, what is known of its derivative, and where that is written; sorted by name."""
    book = default_book()
    rows = {path_of(obj): _described(entry) for obj, entry in book.rules()}
    for obj in book.constants():
        rows.setdefault(path_of(obj), ("none: carries no derivative", ""))
    return [[name, *rows[name]] for name in sorted(rows)]


def _described(entry: Rule) -> tuple[str, str]:
    views = {"no": "", "view": ", a view"}
    view = views.get(str(entry.view), ", perhaps a view")
    place = entry.place
    return f"forward and reverse{view}", f"{Path(place.file).name}:{place.line}"
