"""A file read without being run.

Of its top level only what does nothing is executed: imports of NumPy, SciPy and modules of Python's
that compute, definitions, and data that is written out. What another statement may have changed is
not known afterwards, and a function that uses it is refused.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import os
import sys
import tempfile
import tokenize
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import Place, TangentlikeError
from ..frontend.primal import global_names, primal_of

_MODULES = frozenset(
    ("__future__", "numpy", "cupy", "scipy", "math", "cmath", "functools", "itertools", "operator",
     "collections", "dataclasses", "typing", "numbers", "abc", "enum")
)  # fmt: skip
# What a file may import, where it is not run, without a change of what its functions mean.
_HARMLESS = (_MODULES | sys.stdlib_module_names | {"matplotlib", "pandas"}) - {
    *("importlib", "runpy", "pkgutil", "imp", "builtins", "ctypes", "gc")
}
_MAKERS = frozenset(
    ("array", "asarray", "arange", "linspace", "zeros", "ones", "full", "eye", "float64")
)
_DECORATORS = frozenset(("staticmethod", "classmethod", "property", "dataclass"))
_IMMUTABLE = (int, float, complex, str, bytes)
_ANYTHING = frozenset(
    ("exec", "eval", "globals", "vars", "locals", "setattr", "delattr", "__import__")
)
_UNKNOWN = "__not_executed__"  # in a module: names that are not known, with the lines to blame


def is_read(module: types.ModuleType | None) -> bool:
    """Whether a module is that of a file which was read, and not run."""
    return _UNKNOWN in vars(module) if module is not None else False


def read_file(path: Path, name: str, whole: bool = False) -> types.ModuleType:
    """The module of a file, with what is known of it; raises SyntaxError.

    With `whole`, a file is refused that imports what may change the derivative when it is run.
    """
    with tokenize.open(path) as stream:
        tree = ast.parse(stream.read(), str(path))
    module = types.ModuleType(name)
    module.__file__ = str(path)
    module.__dict__[_UNKNOWN] = {}
    reader = _Reader(str(path))
    plain = [stmt for stmt in tree.body if reader.takes(stmt)]
    if whole:
        _refuse_imports(tree, str(path))
    flags = __future__.annotations.compiler_flag  # (annotations are not evaluated)
    sys.modules[name] = module  # (as an import has it)
    exec(compile(ast.Module(plain, []), str(path), "exec", flags), module.__dict__)
    unknown = reader.unknown(module.__dict__)
    for lost in unknown:
        module.__dict__.pop(lost, None)
    module.__dict__[_UNKNOWN] = unknown
    return module


def _refuse_imports(tree: ast.Module, file: str) -> None:
    """Refuse a file whose imports may define rules, or change what it uses."""
    for stmt in ast.walk(ast.Module([s for s in tree.body if not _never_runs(s)], [])):
        if isinstance(stmt, ast.Import):
            names = [a.name for a in stmt.names]
        elif isinstance(stmt, ast.ImportFrom):
            names = ["." if stmt.level else str(stmt.module)]
        else:
            continue
        for name in names:
            if name.partition(".")[0] not in _HARMLESS:
                place = Place(file, stmt.lineno)
                raise TangentlikeError(f"line {stmt.lineno} imports {name}", place)


def refuse_unknown(module: types.ModuleType, function: Any, owner: Any) -> None:
    """Refuse a function that uses a name which is not known without running the file.

    `owner` is the class that the function is in, or the function itself.
    """
    unknown: dict[str, int] = getattr(module, _UNKNOWN, {})
    used = (primal_of(function).function, owner)
    for name in _named(used, module.__dict__, set()):
        missing = name not in module.__dict__ and not hasattr(builtins, name)
        if name in unknown or missing:
            place = Place(str(module.__file__), unknown[name]) if name in unknown else None
            raise TangentlikeError(
                f"`{name}` is not known without running the file",
                place,
                "Leave out --no-import, which executes imports of NumPy and SciPy, definitions "
                "and plain data only.",
            )


def _named(fn: Any, known: dict[str, Any], seen: set[int]) -> Iterator[str]:
    """The global names that a function uses, and what is used by the functions, the classes and
    the containers of such that it names."""
    if isinstance(fn, (tuple, list, dict)) and id(fn) not in seen:
        seen.add(id(fn))
        for item in fn.values() if isinstance(fn, dict) else fn:
            yield from _named(item, known, seen)
    if isinstance(fn, type):
        for member in [m for base in fn.__mro__ for m in vars(base).values()]:
            yield from _named(getattr(member, "__func__", member), known, seen)
    if isinstance(fn, property):
        for part in (fn.fget, fn.fset):
            yield from _named(part, known, seen)
    if not isinstance(fn, types.FunctionType) or fn.__globals__ is not known or id(fn) in seen:
        return
    seen.add(id(fn))
    yield from _named((fn.__defaults__ or (), fn.__kwdefaults__ or {}), known, seen)
    for name in global_names(fn.__code__):
        yield name
        yield from _named(known.get(name), known, seen)


class _Reader:
    """Goes through the statements of a file: which are plain, and what the others may change."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.modules: set[str] = set()  # names that mean modules, or what was imported from them
        self.defined: set[str] = set()  # functions and classes
        self.data: set[str] = set()
        self.lost: dict[str, int] = {}  # names that a statement which is left out may bind
        self.touched: dict[str, int] = {}  # names whose objects it may change
        self.linked: list[set[str]] = []  # names whose objects may hold each other
        self.called: dict[str, int] = {}  # functions, classes that what is left out may call

    def takes(self, stmt: ast.stmt) -> bool:
        """Whether a statement is executed."""
        if _never_runs(stmt):
            return False
        if self._is_plain(stmt):
            return True
        self._lose(stmt)
        return False

    def unknown(self, namespace: dict[str, Any]) -> dict[str, int]:
        """The names that are not known when the file has been read, with lines to blame."""
        found = dict(self.lost)
        for _ in self.linked:
            for names in self.linked:
                lines = [self.touched[name] for name in names if name in self.touched]
                for name in names if lines else ():
                    self.touched.setdefault(name, lines[0])
        for name, line in self.touched.items():  # (a function stays what it is)
            if not isinstance(namespace.get(name, 0), (*_IMMUTABLE, types.FunctionType)):
                found.setdefault(name, line)
        for called, line in self.called.items():  # (it may change what it uses)
            for name in _named(namespace.get(called), namespace, set()):
                if name in self.data and not isinstance(namespace.get(name), _IMMUTABLE):
                    found.setdefault(name, line)
        return found

    def _is_plain(self, stmt: ast.stmt) -> bool:
        match stmt:
            case ast.Import(names=names):
                if any(a.name.partition(".")[0] not in _MODULES for a in names):
                    return False
                self.modules |= {a.asname or a.name.partition(".")[0] for a in names}
                return True
            case ast.ImportFrom(module=str(module), level=0, names=names):
                if module.partition(".")[0] not in _MODULES or any(a.name == "*" for a in names):
                    return False
                self.modules |= {a.asname or a.name for a in names}
                return True
            case ast.FunctionDef(name=name, decorator_list=[]):
                self.defined.add(name)
                return self._has_plain_defaults(stmt)
            case ast.ClassDef(name=name):
                self.defined.add(name)
                return self._is_plain_class(stmt)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._note_data(name, value)
                return self._is_data(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._note_data(name, value)
                return self._is_data(value)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return True
        return False

    def _note_data(self, name: str, value: ast.expr) -> None:
        self.data.add(name)
        names = {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}
        self.linked.append({name, *(names & self.data)})

    def _has_plain_defaults(self, node: ast.FunctionDef) -> bool:
        if any(isinstance(part, ast.Global) for part in ast.walk(node)):
            return False  # (it may bind names of the file)
        defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        return all(map(self._is_data, defaults))

    def _is_plain_class(self, node: ast.ClassDef) -> bool:
        bases = all(isinstance(b, ast.Name) and b.id in self.defined for b in node.bases)
        if not bases or node.keywords or not self._are_plain_decorators(node.decorator_list):
            return False
        return all(self._is_member(stmt) for stmt in node.body)

    def _is_member(self, stmt: ast.stmt) -> bool:
        match stmt:
            case ast.FunctionDef():
                decorators = self._are_plain_decorators(stmt.decorator_list)
                return decorators and self._has_plain_defaults(stmt)
            case ast.Assign(targets=[ast.Name()], value=value):
                return self._is_data(value)
            case ast.AnnAssign(target=ast.Name(), value=value):
                return value is None or self._is_data(value)
        return isinstance(stmt, ast.Pass) or (
            isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
        )

    def _are_plain_decorators(self, nodes: list[ast.expr]) -> bool:
        names = [n.id if isinstance(n, ast.Name) else "" for n in nodes]
        known = ("dataclass" not in names) or "dataclass" in self.modules
        own = {*self.defined, *self.data, *self.lost}
        return known and _DECORATORS.issuperset(names) and own.isdisjoint(names)

    def _is_data(self, node: ast.expr) -> bool:
        """Whether an expression only makes data, of what is known."""
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name in (*self.data, *self.modules, *self.defined) and name not in self.lost
            case ast.Attribute(value=ast.Name(id=name)):
                return name in self.modules and name not in self.lost  # (np.pi)
            case ast.UnaryOp(operand=inner):
                return self._is_data(inner)
            case ast.BinOp(left=left, right=right):
                return self._is_data(left) and self._is_data(right)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return all(map(self._is_data, items))
            case ast.Dict(keys=keys, values=values):
                return all(k is not None and self._is_data(k) for k in keys) and all(
                    map(self._is_data, values)
                )
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), keywords=[]):
                known = name in self.modules and name not in self.lost and attr in _MAKERS
                return known and all(map(self._is_data, node.args))
        return False

    def _lose(self, stmt: ast.stmt) -> None:
        """What a statement that is left out may bind, change or call."""
        line = stmt.lineno
        called = {id(part.func) for part in ast.walk(stmt) if isinstance(part, ast.Call)}
        roots = {id(part.value) for part in ast.walk(stmt) if isinstance(part, ast.Attribute)}
        for part in ast.walk(stmt):
            match part:
                case ast.Name(id=name, ctx=ast.Load()):
                    if name in self.defined:
                        self.called.setdefault(name, line)
                    if name in _ANYTHING:
                        self._give_up(line)
                    if name not in self.modules or id(part) not in roots | called:
                        self.touched.setdefault(name, line)
                case ast.Name(id=name):
                    self.lost.setdefault(name, line)
                case ast.Attribute(ctx=ast.Store() | ast.Del(), value=inner):
                    self.lost.update(
                        {n.id: line for n in ast.walk(inner) if isinstance(n, ast.Name)}
                    )
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    self.lost.setdefault(name, line)
                case ast.alias(name="*"):
                    self._give_up(line)
                case ast.alias(name=name, asname=asname):
                    self.lost.setdefault(asname or name.partition(".")[0], line)
                case ast.Global(names=names):
                    self.lost.update(dict.fromkeys(names, line))
                case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                    self.lost.setdefault(name, line)
                case ast.MatchMapping(rest=str(name)) | ast.ExceptHandler(name=str(name)):
                    self.lost.setdefault(name, line)

    def _give_up(self, line: int) -> None:
        raise TangentlikeError(
            "what this line binds is not known without running the file",
            Place(self.file, line),
            "Leave out --no-import.",
        )


def _never_runs(stmt: ast.stmt) -> bool:
    """Whether it is `if __name__ == "__main__"`, or `if TYPE_CHECKING`, without `else`."""
    if not isinstance(stmt, ast.If) or stmt.orelse:
        return False
    test = ast.unparse(stmt.test)
    return test in ("__name__ == '__main__'", "TYPE_CHECKING", "typing.TYPE_CHECKING")


# --------------------------------------------------------------------------------------------------
# Files that are written: never one that is read, someone else's only with `--force`, and whole
# or not at all.

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
    """Refuse to write what is read, however its path is written, and what others wrote."""
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
