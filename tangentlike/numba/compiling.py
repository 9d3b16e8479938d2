"""`@compiled`: a function as Numba compiles it, with all that it calls, kept on disk."""

from __future__ import annotations

import ast
import functools
import hashlib
import linecache
import os
import re
import tempfile
import traceback
import types
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import TangentlikeError, UnsupportedError
from ..frontend.primal import is_compiled_python
from ..frontend.source import code_in_file

if TYPE_CHECKING:
    from .. import ir

# (Without bounds checks an index out of range reads what is there. With NumPy's error model a
# division by zero is infinite, as it is for arrays and NumPy's numbers.)
_OPTIONS: Any = {"error_model": "numpy", "boundscheck": True}
# What Numba is told of, as it was when this process read it: what is compiled is kept for that.
_FORMS = b"".join(
    Path(__file__).with_name(f"{name}.py").read_bytes()
    for name in ("forms", "functions", "memory", "python_calls")
)
_OWN = uuid.uuid4().hex[:16]  # (in the names of what this process keeps)
Reader = Callable[[], Any]


def numba_module() -> Any:
    """Numba, which knows the helpers of the runtime; raises `TangentlikeError` where it is not."""
    try:
        import numba
    except ImportError:
        raise TangentlikeError(
            'target="numba" needs Numba, which is not installed',
            hint="pip install 'tangentlike[numba]', or leave target= out.",
        ) from None
    from . import functions, memory  # noqa: F401

    # (Which order an array has in memory is not the fault of who reads the derivative.)
    slower = numba.core.errors.NumbaPerformanceWarning
    warnings.filterwarnings("ignore", category=slower, module=r".*_[0-9a-f]{16}$")
    return numba


def compiled(fn: types.FunctionType) -> Compiled:
    """A decorator: the function compiled by Numba, at its first call for each types of arguments.

    The Python functions that it calls are compiled with it. Numba takes numbers and arrays outside
    a function for constants: where one of these has changed, everything is compiled again. What was
    compiled is kept on disk, in the folder that `TANGENTLIKE_CACHE_DIR` names, or that of the
    user's caches.
    """
    numba_module()
    return Compiled(fn)


def _in_files(obj: Any) -> Any:
    """What stands in a standalone file for something that a compiled function calls."""
    from .functions import kernel_of  # (imports Numba)

    return kernel_of(obj)


compiled.__module__ = "tangentlike.numba"  # (where texts import it from)
compiled.__dict__["in_files"] = _in_files


class Compiled:
    """A function that Numba compiles when it is called."""

    def __init__(self, fn: types.FunctionType) -> None:
        self.__wrapped__ = fn
        self.__name__, self.__doc__ = fn.__name__, fn.__doc__
        self._reach: _Reach | None = None  # (what it calls may not be there yet: itself)
        self._dispatcher: Any = None

    @property
    def dispatcher(self) -> Any:
        """Numba's own object, which other compiled functions may call."""
        if self._reach is None or not self._reach.holds():
            self._reach = _Reach(self.__wrapped__)
            self._dispatcher = self._reach.dispatcher()
        return self._dispatcher

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return self.dispatcher(*args, **kwargs)


class _Reach:
    """A function and the Python functions that it calls, with what each of their names means."""

    def __init__(self, fn: types.FunctionType) -> None:
        self.outer: list[tuple[Reader, Any]] = []  # data outside: how it is read, what it was
        self._functions: list[tuple[Reader, Any]] = []  # the same of functions
        self._main = fn
        self._codes: dict[types.FunctionType, types.CodeType] = {}
        self._called: dict[types.FunctionType, dict[str, types.FunctionType]] = {}
        self._calls: dict[types.FunctionType, set[types.FunctionType]] = {}  # compiled ones, too
        self._texts: dict[str, str] = {}  # of the emitted ones, by file name
        self._follow(fn)

    def _follow(self, fn: types.FunctionType) -> None:
        self._called[fn], self._calls[fn] = {}, set()
        self._codes[fn] = code = self._code(fn)
        for name in _names(code):
            read = _reader(fn, name)
            if read is None:
                continue
            value = read()
            if isinstance(value, types.ModuleType):
                self.outer += _data_of(value, code)
            elif _is_data(value):
                self.outer.append((read, _kept(value)))
            elif callable(value):
                self.outer += _fields_of(value)
                self._functions.append((read, value))
                self._follow_called(fn, name, value)

    def _follow_called(self, fn: types.FunctionType, name: str, value: Any) -> None:
        value = value.__wrapped__ if isinstance(value, Compiled) else value
        if isinstance(value, types.FunctionType) and not _is_known(value):
            self._called[fn][name] = value
        elif is_compiled_python(value):  # (what it computes is part of what this one does)
            value = value.py_func
        else:
            return
        self._calls[fn].add(value)
        if value not in self._called:
            self._follow(value)

    def _code(self, fn: types.FunctionType) -> types.CodeType:
        """The code of a function; of an emitted one, where all names outside it are global."""
        file = fn.__code__.co_filename
        if not file.startswith("<tangentlike "):
            return fn.__code__
        text = self._texts.setdefault(file, "".join(linecache.getlines(file)))
        return _codes_of(text, file)[fn.__name__]

    def holds(self) -> bool:
        """Whether what is read outside is what it was."""
        for read, known in self._functions:
            if read() is not known:
                return False
        return not self.outer or all(_is_same(read(), known) for read, known in self.outer)

    def dispatcher(self) -> Any:
        """Numba's object for the function; nothing is compiled yet."""
        import numba

        folder = _folder() if self._texts and not self._is_recursive() else None
        key = "" if folder is None else self._key(numba.__version__)
        spaces: dict[types.FunctionType, tuple[Any, dict[str, Any]]] = {}
        for fn, code in self._codes.items():
            emitted = fn.__code__.co_filename in self._texts
            path = _written(folder, fn.__name__, key, self._texts) if folder and emitted else None
            made, namespace = _copied(fn, code if path is None else code_in_file(code, str(path)))
            made = numba.njit(cache=path is not None, **_OPTIONS)(made)
            _keep_apart(made)
            spaces[fn] = made, namespace
        for fn, (_, namespace) in spaces.items():
            for name, called in self._called[fn].items():
                namespace[name] = spaces[called][0]
        return spaces[self._main][0]

    def _is_recursive(self) -> bool:
        """Whether functions call themselves, or each other: what Numba keeps of such on disk does
        not find the others when it is read."""
        calls = dict(self._calls)
        while any(not found for found in calls.values()):
            last = [fn for fn, found in calls.items() if not found]
            calls = {fn: found.difference(last) for fn, found in calls.items() if found}
        return bool(calls)

    def _key(self, version: str) -> str:
        """What the compiled code depends on, besides the types of its arguments."""
        parts = hashlib.sha256(f"{version} {sorted(_OPTIONS.items())}".encode() + _FORMS)
        for fn, code in self._codes.items():
            text = self._texts.get(fn.__code__.co_filename)
            parts.update(_bytes_of(code) if text is None else text.encode())
            parts.update(_bytes_of((fn.__defaults__, fn.__kwdefaults__)))
        for _, value in self.outer:
            parts.update(_bytes_of(value))
        return parts.hexdigest()[:16]


def _keep_apart(dispatcher: Any) -> None:
    """Let no other process give its compiled code the name of a file of this one: Numba numbers the
    files of a function, and two processes that compile it for other types at the same time would
    take the same number, and one of them the code of the other for its own."""
    file: Any = getattr(dispatcher._cache, "_cache_file", None)
    pattern = getattr(file, "_data_name_pattern", None)
    if pattern is not None:
        file._data_name_pattern = pattern.replace("{number", f"{_OWN}.{{number")
        file._load_index = functools.partial(_index_of, file._load_index)


def _index_of(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """What is kept of a function, by the types of its arguments: classes of named tuples may be
    among these, which nobody may define any more."""
    try:
        return load()
    except (AttributeError, ImportError):
        return {}


def _names(code: types.CodeType) -> Iterator[str]:
    """The names that a function reads outside it, or attributes that it reads."""
    yield from dict.fromkeys((*code.co_freevars, *code.co_names))
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names(const)


def _reader(fn: types.FunctionType, name: str) -> Reader | None:
    """What reads a name as it is then; None where it means nothing outside the function."""
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    if name in cells:
        cell = cells[name]
        return lambda: cell.cell_contents
    name = getattr(fn, "__renamed__", {}).get(name, name)
    if name in fn.__globals__:
        namespace = fn.__globals__
        return lambda: namespace.get(name)
    return None


def _is_known(fn: types.FunctionType) -> bool:
    """Whether Numba knows a Python function as it is: NumPy's, or one of ours with a form."""
    from .forms import KNOWN

    return fn in KNOWN or fn.__module__.partition(".")[0] in ("numpy", "numba")


def _data_of(module: types.ModuleType, code: types.CodeType) -> Iterator[tuple[Reader, Any]]:
    """The data of a module that code may read as `module.name`."""
    if module.__name__.partition(".")[0] in ("numpy", "math", "cmath"):
        return
    for name in _names(code):
        value = getattr(module, name, None)
        if _is_data(value):
            yield functools.partial(getattr, module, name, None), _kept(value)
        yield from _fields_of(value)


def _fields_of(value: Any) -> Iterator[tuple[Reader, Any]]:
    """The fields of a class of named tuples: compiled code reads them by their places."""
    fields = getattr(value, "_fields", None)
    if isinstance(value, type) and isinstance(fields, tuple):
        yield functools.partial(getattr, value, "_fields"), fields


def _is_data(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_data, value))
    return isinstance(value, (int, float, complex, str, bytes, np.ndarray, np.generic))


def _kept(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _is_same(value: Any, known: Any) -> bool:
    if isinstance(known, np.ndarray):
        alike = type(value) is np.ndarray and value.dtype == known.dtype
        return alike and np.array_equal(value, known)
    if isinstance(known, tuple):
        alike = type(value) is tuple and len(value) == len(known)
        return alike and all(map(_is_same, value, known))
    return type(value) is type(known) and (value is known or bool(value == known))


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, types.CodeType):
        inside = [c if isinstance(c, types.CodeType) else repr(c) for c in value.co_consts]
        parts = b"".join(_bytes_of(c) if not isinstance(c, str) else c.encode() for c in inside)
        return value.co_code + repr(value.co_names).encode() + parts
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}".encode() + value.tobytes()
    if isinstance(value, (tuple, list)):
        return b"(" + b",".join(map(_bytes_of, value)) + b")"
    return repr(value).encode()


# --------------------------------------------------------------------------------------------------
# The functions that are compiled: copies, in whose namespace the compiled ones stand.


def _codes_of(text: str, file: str) -> dict[str, types.CodeType]:
    """The code of each function of a text, bare of decorators, annotations and defaults."""
    found: dict[str, types.CodeType] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            node.decorator_list, node.returns = [], None
            node.args.defaults = [
                ast.copy_location(ast.Constant(None), d) for d in node.args.defaults
            ]
            for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                arg.annotation = None
            code = compile(ast.Module([node], []), file, "exec", dont_inherit=True)
            found[node.name] = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    return found


def _copied(
    fn: types.FunctionType, code: types.CodeType
) -> tuple[types.FunctionType, dict[str, Any]]:
    """A function with this code, in a namespace of its own, and that namespace."""
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    renamed = getattr(fn, "__renamed__", {})
    namespace = {**fn.__globals__}
    namespace |= {new: fn.__globals__[old] for new, old in renamed.items() if old in namespace}
    namespace |= {name: cell.cell_contents for name, cell in cells.items() if _is_full(cell)}
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, namespace, fn.__name__, fn.__defaults__, closure)
    made.__kwdefaults__, made.__module__ = fn.__kwdefaults__, fn.__module__
    return made, namespace


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _folder() -> Path | None:
    """Where compiled code is kept; None where nothing can be written."""
    given = os.environ.get("TANGENTLIKE_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(given) if given else Path(home) / "tangentlike" / "numba"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _written(folder: Path, name: str, key: str, texts: Mapping[str, str]) -> Path | None:
    """The file that Numba keeps compiled code beside: the text itself."""
    path = folder / f"{name}_{key}.py"
    if not path.exists():
        try:
            with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
                file.write("\n\n".join(texts.values()))
            os.replace(file.name, path)
        except OSError:
            return None
    return path


# --------------------------------------------------------------------------------------------------
# What Numba refuses.


def refusal_of(error: BaseException, origins: Mapping[int, ir.Origin]) -> UnsupportedError | None:
    """What Numba does not compile, as a refusal at the user's line; None of any other error."""
    if not type(error).__module__.startswith("numba.") and not _is_lowering(error):
        return None
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [
        int(n)
        for n in re.findall(r'File "[^"]*(?:<tangentlike |_[0-9a-f]{16}\.py)[^\n]*line (\d+)', text)
    ]
    places = [origins[n].place for n in lines if n in origins]
    return UnsupportedError(
        f"Numba does not compile this: {_what(text)}",
        places[-1] if places else None,
        'Leave target= out, or target="numpy"; or write the step with what Numba knows.',
    )


def _is_lowering(error: BaseException) -> bool:
    """Whether something is an error of Numba's own work, which has none of its classes."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return isinstance(error, Exception) and any(
        frame.f_globals.get("__name__") == "numba.core.lowering" for frame in frames
    )


def _what(text: str) -> str:
    """What Numba says, in a line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    call = next((line[4:] for line in lines if line.startswith(">>> ")), None)
    if call is not None:
        return f"it has no `{call}`"
    said = [line for line in lines if not line.startswith(("Failed in", "File ", "During:"))]
    return (said or lines or ["an error without a message"])[0].rstrip(".")
