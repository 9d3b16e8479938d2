"""What one call of `grad`, `jvp`, `vjp` or `hvp` asks for: the text it makes, and how to make that
again.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

import tangentlike

from ..dispatch.claims import UNSTATED
from ..errors import TangentlikeError
from ..frontend.owners import OURS, is_installed
from ..frontend.primal import Primal, primal_of
from .printing import print_diff
from .reading import MARK, is_ours, read_text
from .target import (
    BadUsage,
    errors_of_the_program,
    load_function,
    parse_wrt,
    read_function,
    split_target,
)


@dataclass(frozen=True)
class Order:
    """`tangentlike NAME TARGET`, with its options."""

    name: str
    derive: Callable[..., Any]  # of (function, wrt, example=, strict=)
    target: str
    wrt: str
    at: At
    standalone: bool
    show: str | None
    may_import: bool = True
    strict: bool = False
    says: Callable[[str], None] = lambda text: None
    made_for: str = "numpy"  # (what compiles the derivative)
    reuse: bool = False

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        targets = [self.target, self.at.full_maker(self.target)]
        return [split_target(target)[0] for target in targets if target]

    def text(self, in_file: bool = False) -> str:
        """The derivative's text, ending in a newline."""
        if self.at.maker:
            self.says(
                f"{self.inputs[0]} is imported, which executes its top level: --args is given"
            )
            function = load_function(self.target)
        else:
            function = read_function(self.target, self.says, self.may_import)
        shown = example(function, self.target, self.at)
        options: dict[str, Any] = {"strict": self.strict}
        options |= {"target": self.made_for} if self.made_for != "numpy" else {}
        options |= {"reuse": True} if self.reuse else {}
        by = parse_wrt(self.wrt)
        derived = self.derive(function, by, example=shown, **options)
        if self.show:
            stages = derived.stages
            if self.show not in stages:
                raise TangentlikeError(
                    f"there is no stage `{self.show}` on the way to this derivative",
                    hint=f"Its stages are {', '.join(stages)}.",
                )
            text = stages[self.show]
        elif self.standalone:
            text = derived.__tangentlike__.derive().standalone()
        else:
            text = derived.__tangentlike__.derive().file_text if in_file else derived.source
        return str(text).rstrip("\n") + "\n"

    def file_text(self, path: Path) -> str:
        """The text as a file: under a header that says how it was made."""
        return f"{self._header(path)}\n{self.text(in_file=True)}"

    def _header(self, path: Path) -> str:
        """Two lines; the command in the second, given in the folder of the file, makes it again."""
        lost = "changes made here are lost when it is written again."
        command = shlex.join(["tangentlike", *self._words(path.parent), "-o", path.name])
        return f"{MARK}{tangentlike.__version__}; {lost}\n# {command}\n"

    def command(self, path: Path) -> str:
        """The command that writes a file, as it is given here."""
        return shlex.join(["tangentlike", *self._words(Path()), "-o", str(path)])

    def _words(self, folder: Path) -> list[str]:
        words = [self.name, _from_folder(self.target, folder)]
        words += ["--wrt", self.wrt] if self.wrt else []
        words += self.at.words(lambda target: _from_folder(target, folder))
        words += [] if self.may_import else ["--no-import"]
        words += ["--standalone"] if self.standalone else []
        words += ["--strict"] if self.strict else []
        words += ["--target", self.made_for] if self.made_for != "numpy" else []
        words += ["--reuse"] if self.reuse else []
        return [*words, "--show", self.show] if self.show else words


def _from_folder(target: str, folder: Path) -> str:
    """`FILE.py:FUNC` with the path from a folder to the file."""
    path, name = split_target(target)
    return f"{Path(os.path.relpath(path, folder)).as_posix()}:{name}"


def command_in(text: str) -> list[str] | None:
    """The words of the command that a file's header gives, None if that says none."""
    lines = text.split("\n", 2)
    if len(lines) < 3 or not lines[0].startswith(MARK):
        return None
    try:
        words = shlex.split(lines[1].removeprefix("# "))
    except ValueError:
        return None
    return words[1:] if words[:1] == ["tangentlike"] and words[-2:-1] == ["-o"] else None


def without_version(text: str) -> str:
    """A file's text without the version that wrote it: the same text is as good by another."""
    if not text.startswith(MARK):
        return text
    return MARK + text[len(MARK) :].partition(";")[2]


# --------------------------------------------------------------------------------------------------
# Whether files that were written are still what would be written now.


def changes(before: str, after: str, path: Path) -> str:
    """A unified diff, empty where only the version in the header differs."""
    if without_version(before) == without_version(after):
        return ""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    names = f"{path} (as it is)", f"{path} (as it would be written)"
    lines = difflib.unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def check_file(order: Order, path: Path) -> bool:
    """Whether a file is what `order` makes; says what differs."""
    if not path.exists():
        raise TangentlikeError(
            f"there is no file {path}", hint=f"Write it with: {order.command(path)}"
        )
    found = changes(read_text(path), order.file_text(path), path)
    if found:
        print_diff(found)
        click.echo(f"{path} is stale. Write it with: {order.command(path)}", err=True)
    return not found


def written_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Those of some files, and those in some folders, that we wrote; sorted."""
    for path in paths:
        if path.is_dir():
            yield from _in_folder(path)
        elif path.is_file() and is_ours(path):
            yield path


def _in_folder(folder: Path) -> Iterator[Path]:
    """What lies in hidden folders and in virtual environments belongs to other tools."""
    for place, folders, names in os.walk(folder):
        inside = Path(place)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not (inside / name / "pyvenv.cfg").exists()
        )
        for name in sorted(names):
            path = inside / name
            if name.endswith(".py") and path.is_file() and is_ours(path):
                yield path


def is_current(path: Path, commands: click.Group) -> bool:
    """Make a file again as its header says, and compare."""
    words = command_in(read_text(path))
    command = commands.get_command(click.Context(commands), words[0]) if words else None
    if words is None or command is None:
        raise TangentlikeError(
            f"{path}:2: the header does not say how the file was made",
            hint=f"Its first two lines begin with {MARK.strip()!r} and '# tangentlike '.",
        )
    *words, _, name = words
    with _inside(path.parent):
        try:
            with command.make_context(words[0], [*words[1:], "--check", name]) as context:
                command.invoke(context)
        except click.exceptions.Exit as done:
            return done.exit_code == 0
    return True


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """In a folder; modules of the user's are forgotten, since the next folder has its own."""
    before, modules, path = Path.cwd(), set(sys.modules), list(sys.path)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if name.partition(".")[0] != OURS and not is_installed(name):
                del sys.modules[name]


# --------------------------------------------------------------------------------------------------
# Arguments given on the command line: `--shape w=3,4`, `--value n=3`, `--args FUNCTION`.


@dataclass(frozen=True)
class At:
    """How the arguments are given. `maker` names a function that returns all of them."""

    maker: str = ""
    shapes: Sequence[str] = ()
    values: Sequence[str] = ()
    seed: int = 0

    def full_maker(self, target: str) -> str:
        """FILE.py:FUNC of the function that returns the arguments; it may stand without a file."""
        if not self.maker or ":" in self.maker:
            return self.maker
        return f"{target.rpartition(':')[0]}:{self.maker}"

    def words(self, placed: Callable[[str], str]) -> list[str]:
        """These options as they are written on a command line; `placed` moves a target."""
        maker = placed(self.maker) if ":" in self.maker else self.maker
        words = ["--args", maker] if maker else []
        for text in self.shapes:
            words += ["--shape", text]
        for name, value in map(_pair, self.values):
            words += ["--value", f"{name}={_literal(value)!r}"]  # (on one line, whatever it is)
        return words


def arguments(fn: Any, target: str, at: At) -> list[Any]:
    """The arguments to check at: what a function returns, or random arrays and given values."""
    if at.maker:
        return _made(target, at)
    primal = primal_of(fn)
    given = _given(primal, at)
    parameters = primal.signature.parameters
    names = primal.positional
    _refuse_keywords(primal, given)
    found = []
    for name in names:
        if name in given:
            found.append(given[name])
        elif parameters[name].default is not parameters[name].empty:
            if any(later in given for later in names[names.index(name) :]):
                found.append(parameters[name].default)
        else:
            raise BadUsage(
                f"no value for the parameter {name!r} of {primal.name}",
                hint=f"Give --shape {name}=3,4 or --value {name}=0.5, "
                "or --args FUNCTION, which returns all arguments.",
            )
    return found


def _refuse_keywords(primal: Primal, given: dict[str, Any]) -> None:
    """Arguments to check at are given by position."""
    for parameter in primal.signature.parameters.values():
        required = parameter.default is parameter.empty
        by_keyword = parameter.kind is parameter.KEYWORD_ONLY
        if by_keyword and (required or parameter.name in given):
            raise BadUsage(
                f"{primal.name} takes {parameter.name!r} by keyword only",
                hint="Write a function without it that calls this one, and check that.",
            )


def example(fn: Any, target: str, at: At) -> tuple[Any, ...] | None:
    """The same as an example that a derivative is made for; what is not given is left open."""
    if at.maker:
        return tuple(_made(target, at))
    if not at.shapes and not at.values:
        return None
    primal = primal_of(fn)
    given = _given(primal, at)
    return tuple(given.get(name, UNSTATED) for name in primal.positional)


def _made(target: str, at: At) -> list[Any]:
    maker = load_function(at.full_maker(target))
    with errors_of_the_program(f"{at.maker} does not give arguments"):
        made = maker()
    return list(made) if isinstance(made, (tuple, list)) else [made]


def _given(primal: Primal, at: At) -> dict[str, Any]:
    """The arguments by name, checked to be parameters."""
    given: dict[str, Any] = {}
    rng = np.random.default_rng(at.seed)
    for name, text in map(_pair, at.shapes):
        shape = _shape(text)
        given[name] = rng.standard_normal(shape) if shape else float(rng.standard_normal())
    for name, text in map(_pair, at.values):
        given[name] = _literal(text)
    unknown = [name for name in given if name not in primal.free_names]
    if unknown:
        raise BadUsage(
            f"{primal.name} has no parameter {unknown[0]!r}",
            hint=f"Its parameters are {', '.join(primal.free_names)}.",
        )
    return given


def _pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name.strip():
        raise BadUsage(f"expected NAME=VALUE, got {text!r}")
    return name.strip(), value.strip()


def _shape(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(part) for part in text.strip("()").split(",") if part.strip())
    except ValueError:
        shape = (-1,)
    if min(shape, default=0) < 0:
        raise BadUsage(
            f"{text!r} is not a shape", hint="Write --shape w=3,4 for a matrix, w= for a float."
        )
    return shape


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise BadUsage(
            f"{text!r} is not a Python literal",
            hint="Write --value n=3 or --value name=\"'text'\".",
        ) from None
