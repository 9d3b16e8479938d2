"""Whether files that were written are still what would be written now."""

from __future__ import annotations

import contextlib
import difflib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from ..errors import TangentlikeError
from ..frontend.owners import OURS, is_installed
from .files import MARK, is_ours, read_text
from .orders import Order, command_in, without_version
from .printing import print_diff

__all__ = ["changes", "check_file", "is_current", "written_files"]


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
