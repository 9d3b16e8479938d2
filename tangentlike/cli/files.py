"""Files that are written: never one that is read, someone else's only with `--force`, and whole
or not at all.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..errors import TangentlikeError

MARK = "# Written by tangentlike "  # how the first line of every file that we wrote begins
_PAGE = "<!DOCTYPE html>\n<!-- Written by tangentlike "  # and that of a page


def is_ours(path: Path) -> bool:
    """Whether a file was written by us: its first line says so."""
    with path.open("rb") as stream:
        start = stream.read(max(len(MARK), len(_PAGE)))
    return start.startswith((MARK.encode(), _PAGE.encode()))


def read_text(path: Path) -> str:
    """The text of a file that we wrote, or of one that is to be compared with what we write."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise _cannot("read", path, error) from None


def refuse_to_replace(path: Path, inputs: Sequence[Path], force: bool) -> None:
    """Refuse to write what is read, however its path is spelled, and what others wrote."""
    try:
        if not path.exists() or _is_stream(path):
            return
        for read in inputs:
            if read.exists() and os.path.samefile(read, path):
                raise TangentlikeError(
                    f"{path} is the file that is read: it is never written to",
                    hint="Give -o another name.",
                )
        if not (force or path.stat().st_size == 0 or is_ours(path)):
            raise TangentlikeError(
                f"{path} was not written by tangentlike: it was not overwritten",
                hint="Give -o another name, or replace the file with --force.",
            )
    except OSError as error:
        raise _cannot("write", path, error) from None


def write_file(path: Path, text: str) -> None:
    """The whole text or, if anything fails, the file as it was.

    A symbolic link stays: the file that it leads to is replaced.
    """
    try:
        if _is_stream(path):
            with path.open("w", encoding="utf-8") as stream:
                stream.write(text)
        else:
            _replace(Path(os.path.realpath(path)), text)
    except OSError as error:
        raise _cannot("write", path, error) from None


def _replace(path: Path, text: str) -> None:
    mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_mask()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _is_stream(path: Path) -> bool:
    """Whether writing to a path means handing the text on: a pipe, a terminal, `/dev/stdout`."""
    if path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",)):
        return True
    return path.exists() and not path.is_file()


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot(what: str, path: Path, error: OSError) -> TangentlikeError:
    return TangentlikeError(f"cannot {what} {path}: {error.strerror}")
