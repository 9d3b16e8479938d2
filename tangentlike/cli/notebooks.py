"""A notebook on the command line: its cells run in order, until the function is there."""

from __future__ import annotations

import ast
import json
import linecache
import sys
import types
from collections.abc import Iterator
from pathlib import Path

from ..errors import Place, TangentlikeError
from ..frontend.primal import missing_names

__all__ = ["notebook_module"]


def notebook_module(path: Path, name: str) -> types.ModuleType:
    """A module of what a notebook's cells define, run up to the first one after which `name`
    (its first part) is there with all that it needs."""
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    wanted = name.partition(".")[0]
    for number, text in _cells(path):
        _run(text, f"{path}#{number}", number, module)
        found = vars(module).get(wanted)
        if found is None:
            continue
        if not isinstance(found, types.FunctionType) or not missing_names(found):
            break
    return module


def _cells(path: Path) -> Iterator[tuple[int, str]]:
    """The code cells of a notebook with their numbers, lines for IPython alone left out."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError):
        raise TangentlikeError(f"{path} is not a notebook of format 4") from None
    for number, cell in enumerate(cells, 1):
        source = cell["source"]
        yield number, _python(source if isinstance(source, str) else "".join(source))


def _python(text: str) -> str:
    """A cell as Python: magic commands become comments, so that line numbers stay."""
    if text.lstrip().startswith("%%"):
        first, _, rest = text.lstrip().partition("\n")
        timed = first.split()[0] in ("%%time", "%%timeit", "%%capture", "%%prun")
        return f"# {first}\n{rest}" if timed else ""
    lines = text.splitlines()
    return "\n".join(f"# {s}" if s.lstrip()[:1] in ("%", "!", "?") else s for s in lines)


def _run(text: str, file: str, number: int, module: types.ModuleType) -> None:
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        exec(compile(ast.parse(text, file), file, "exec"), vars(module))
    except Exception as error:
        trace, line = error.__traceback__, getattr(error, "lineno", None) or 1
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == file:
                line = trace.tb_lineno
            trace = trace.tb_next
        shown = linecache.getline(file, line).strip()
        raise TangentlikeError(
            f"cell {number} cannot be run: {type(error).__name__}: {error}",
            Place(file, line, shown, 0, len(shown)),
            "The cells of a notebook run in order, until the function is there.",
        ) from error
