"""FILE.py:FUNC on the command line: the file imported as a module, the function in it."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import json
import linecache
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import InternalError, Place, TangentlikeError
from ..frontend.owners import PLACES
from ..frontend.primal import missing_names
from ..rules.twins import register_array_module
from .reading import is_read, read_file, refuse_unknown

_PYTHON_FILE = "Give a file ending in .py."


class BadUsage(TangentlikeError):
    """What stands on the command line is wrong, not the program it is about."""


def split_target(target: str) -> tuple[Path, str]:
    """The file and the name in it that `FILE.py:FUNC` gives."""
    file, found, name = target.rpartition(":")
    if not found or not name or not file:
        raise BadUsage(f"expected FILE.py:FUNC, got {target!r}", hint="For example: model.py:loss")
    return Path(file), name


def load_function(target: str) -> Any:
    """The function that `FILE.py:FUNC` names, imported; FUNC may be dotted (`Model.loss`)."""
    file, name = split_target(target)
    return _looked_up(import_file(file, name), file, name)


def read_function(target: str, says: Callable[[str], None], may_import: bool) -> Any:
    """The same of a file that is read and not run (see `reading`), or is imported where what it
    does when it is run may matter. `says` is given which of the two it is."""
    file, name = split_target(target)
    try:
        module = _read(file, whole=may_import)
        value = _looked_up(module, file, name)
        refuse_unknown(module, value, vars(module)[name.partition(".")[0]])
    except TangentlikeError as refusal:
        if not may_import:
            raise
        says(f"{file} is imported, which executes its top level: {refusal.message}")
        return load_function(target)
    says(f"{file} is read, and not run")
    return value


def _looked_up(module: ModuleType, file: Path, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise BadUsage(f"{file} has no {name!r}", hint=_known(module, str(file)))
        value = getattr(value, part)
    if not callable(value):
        raise BadUsage(f"{name} in {file} is a {type(value).__name__}, not a function")
    return value


def _read(path: Path, whole: bool) -> ModuleType:
    """The module of a file that is not run, known by its name as if it had been imported."""
    if not path.is_file():
        raise BadUsage(f"there is no file {path}")
    path = path.resolve()
    if path.suffix != ".py":
        raise TangentlikeError(f"{path.name} is not a Python file", hint=_PYTHON_FILE)
    name, _ = module_name(path)
    _loaded(name, path)
    try:
        with cupy_by_name():
            module = read_file(path, name, whole)
    except SyntaxError as error:
        raise _syntax_error(error, path) from None
    except (TangentlikeError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise _import_error(error, path) from error
    return module


def parse_wrt(text: str) -> Any:
    """`w,b` or `0,1` as `wrt` takes it; the first parameter if nothing is given."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    chosen = tuple(int(n) if n.lstrip("-").isdigit() else n for n in names)
    if not chosen:
        return 0
    return chosen[0] if len(chosen) == 1 else chosen


def _known(module: ModuleType, file: str) -> str:
    names = [
        name
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", None) == module.__name__
    ]
    return f"It defines {', '.join(names)}." if names else f"{file} defines no functions."


def module_name(path: Path) -> tuple[str, Path]:
    """The name a file is imported by, and the folder that must be on the path for it."""
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), folder


def import_file(path: Path, name_in_it: str = "") -> ModuleType:
    """Import a file under its own module name; what it prints goes to standard error. Of a
    notebook the cells run until a name is there."""
    if not path.is_file():
        raise BadUsage(f"there is no file {path}")
    path = path.resolve()
    if path.suffix == ".ipynb":
        with contextlib.redirect_stdout(sys.stderr), cupy_by_name():
            return notebook_module(path, name_in_it)
    name, folder = module_name(path)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    known = _loaded(name, path)
    if known is not None and not is_read(known):
        return known
    with contextlib.redirect_stdout(sys.stderr), cupy_by_name():
        return _execute(name, path)


def _loaded(name: str, path: Path) -> ModuleType | None:
    """The module of a file, if it is loaded; refuses another file's of the same name."""
    known = sys.modules.get(name)
    if known is not None and Path(getattr(known, "__file__", None) or "").resolve() != path:
        raise TangentlikeError(
            f"{path.name} has the name of the module {name!r}, which is already loaded",
            hint="Rename the file.",
        )
    return known


def _execute(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TangentlikeError(f"{path.name} is not a Python file", hint=_PYTHON_FILE)
    if "." in name:
        importlib.import_module(name.rpartition(".")[0])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise _syntax_error(error, path) from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _import_error(error, path) from error
    return module


def _syntax_error(error: SyntaxError, path: Path) -> TangentlikeError:
    text = (error.text or "").rstrip("\n")
    indent = len(text) - len(text.lstrip())
    column = max(0, (error.offset or 1) - 1 - indent)
    place = Place(error.filename or str(path), error.lineno or 1, text.strip(), column, 1)
    return TangentlikeError(f"syntax error: {error.msg}", place)


def _import_error(error: BaseException, path: Path) -> TangentlikeError:
    """An exception while the file runs, at the line of the file it went through."""
    message = f"{path.name} cannot be imported: {type(error).__name__}: {error}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return TangentlikeError(message, _place(frames))


@contextlib.contextmanager
def errors_of_the_program(what: str) -> Iterator[None]:
    """Turn an exception of the user's program into an error of ours, at the line that raised it."""
    try:
        yield
    except (TangentlikeError, InternalError):
        raise
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_theirs(f.filename)]
        if not frames:
            raise  # (it is ours: the traceback is wanted)
        message = f"{what}: {type(error).__name__}: {error}"
        raise TangentlikeError(message, _place(frames)) from None


def _is_theirs(file: str) -> bool:
    """Whether a file is the user's: not an installed one, not ours, no text that we emitted."""
    ours = str(Path(__file__).parent.parent)
    return not (file.startswith(("<", ours, *PLACES)) or "site-packages" in file)


def _place(frames: list[traceback.FrameSummary]) -> Place | None:
    if not frames:
        return None
    frame = frames[-1]
    first, last = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
    whole = linecache.getline(frame.filename, frame.lineno or 1)
    indent = len(whole) - len(whole.lstrip())
    column = 0 if first is None else max(0, first - indent)
    width = 1 if first is None or last is None else max(1, last - first)
    return Place(frame.filename, frame.lineno or 1, frame.line or "", column, width)


# --------------------------------------------------------------------------------------------------
# A notebook on the command line: its cells run in order, until the function is there.


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


# --------------------------------------------------------------------------------------------------
# CuPy where it is not installed: the names of its functions, all that printing needs.

_METHODS = ("at", "reduce", "accumulate", "outer")  # of a ufunc


@contextlib.contextmanager
def cupy_by_name() -> Iterator[None]:
    """Let `import cupy` inside find a module of names, unless CuPy is installed."""
    if "cupy" in sys.modules or importlib.util.find_spec("cupy") is not None:
        yield
        return
    sys.modules["cupy"] = _names()
    try:
        yield
    finally:
        del sys.modules["cupy"]


class _Named:
    """A function of CuPy that a program names; it cannot be called."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = "cupy"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TangentlikeError(
            f"`cupy.{self.__name__}` cannot be called: CuPy is not installed",
            hint="Without it a derivative can be printed, and not run.",
        )


@cache
def _names() -> types.ModuleType:
    """A module with NumPy's functions by name, and with its types and constants."""
    module = _mirror(np, "cupy")
    module.ndarray = type("ndarray", (), {"__module__": "cupy"})  # type: ignore[attr-defined]
    module.fuse = _fuse  # type: ignore[attr-defined]
    for name in ("linalg", "fft", "random"):
        setattr(module, name, _mirror(getattr(np, name), f"cupy.{name}"))
    register_array_module(module)
    return module


def _mirror(original: types.ModuleType, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    for member, value in vars(original).items():
        if member.startswith("_") or isinstance(value, types.ModuleType):
            continue
        if callable(value) and not isinstance(value, type):
            value = _function(f"{name}.{member}".removeprefix("cupy."), value)
        setattr(module, member, value)
    return module


def _function(name: str, original: Any) -> _Named:
    found = _Named(name)
    if isinstance(original, np.ufunc):
        for method in _METHODS:
            setattr(found, method, _Named(f"{name}.{method}"))
    return found


def _fuse(*args: Any, **kwargs: Any) -> Any:
    """`cupy.fuse`, with brackets or without: what it decorates."""
    return args[0] if args else _fuse
