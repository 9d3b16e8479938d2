"""What one call of `grad`, `jvp`, `vjp` or `hvp` asks for: the text it makes, and how to make that
again.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import tangentlike

from ..errors import TangentlikeError
from ..frontend.owners import OURS, is_installed
from .arguments import At, example
from .printing import print_diff
from .reading import MARK, is_ours, read_text
from .target import load_function, parse_wrt, read_function, split_target


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

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        targets = [self.target, self.at.full_maker(self.target)]
        return [split_target(target)[0] for target in targets if target]

    def text(self) -> str:
        """The derivative's text, ending in a newline."""
        if self.at.maker:
            self.says(
                f"{self.inputs[0]} is imported, which executes its top level: --args is given"
            )
            function = load_function(self.target)
        else:
            function = read_function(self.target, self.says, self.may_import)
        shown = example(function, self.target, self.at)
        derived = self.derive(function, parse_wrt(self.wrt), example=shown, strict=self.strict)
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
            text = str(derived.source)
        return str(text).rstrip("\n") + "\n"

    def file_text(self, path: Path) -> str:
        """The text as a file: under a header that says how it was made."""
        return f"{self._header(path)}\n{self.text()}"

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
