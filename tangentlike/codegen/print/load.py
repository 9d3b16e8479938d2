"""Emitted text as live functions.

An emitted function sees the user's world as the original does: the same globals dictionary,
so that a global rebound later is seen, and the same closure cells. What the text needs besides,
helpers of the runtime and the other functions of its file, reaches it through cells too: nothing
is written into the user's module, and no import is executed.
"""

from __future__ import annotations
import __future__

import ast
import itertools
import linecache
import sys
import types
import weakref
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ... import ir
from ...errors import InternalError
from ...frontend.resolve import Scope
from ...frontend.signatures import defaults_of
from ...ir.facts import fact
from .bindings import Binding, local_names
from .module import Emitted, definitions

_FLAGS = __future__.annotations.compiler_flag


class _Texts:
    """The texts of functions that are alive, under the file names that `linecache` knows."""

    def __init__(self) -> None:
        self.origins: dict[str, Mapping[int, ir.Origin]] = {}  # of the lines of each file
        self._filenames: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, Any] = {}
        self._uses: Counter[str] = Counter()
        self._gone: list[str] = []  # file names that nothing stands for any more

    def register(self, name: str, source: str, origins: Mapping[int, ir.Origin]) -> str:
        """A file name for a text: always the same for the same text."""
        self._forget()
        filename = self._filenames.get((name, source))
        if filename is None:
            numbers = self._numbers.setdefault(name, itertools.count(1))
            names = (f"<tangentlike {name} {number}>" for number in numbers)
            # (A text that came from another process has its name there.)
            filename = next(name for name in names if name not in linecache.cache)
            self._filenames[name, source] = filename
        self._uses[filename] += 1
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        self.origins[filename] = origins
        return filename

    def keep_while(self, code: types.CodeType, name: str, source: str) -> None:
        """Forget a text that was registered when the code is gone."""
        finalizer = weakref.finalize(code, self._release, code.co_filename, (name, source))
        finalizer.atexit = False

    def _release(self, filename: str, key: tuple[str, str]) -> None:
        self._uses[filename] -= 1
        if self._uses[filename] <= 0:
            del self._uses[filename]
            self._filenames.pop(key, None)
            self.origins.pop(filename, None)
            self._gone.append(filename)

    def _forget(self) -> None:
        """Take texts that are gone out of `linecache`.

        Not when the collector finds them: `linecache.checkcache` may be going through its files.
        """
        while self._gone:
            filename = self._gone.pop()
            if filename not in self._uses:
                linecache.cache.pop(filename, None)


_TEXTS = _Texts()


def load(emitted: Emitted) -> dict[str, types.FunctionType]:
    """Compile an emitted module; its functions by name.

    `inspect.getsource`, tracebacks and pdb show the emitted text.
    """
    main = emitted.module.main.name
    filename = _TEXTS.register(main, emitted.source, emitted.origins)
    siblings = {fn.name.partition(".")[0]: types.CellType() for fn in emitted.module.functions}
    trees = dict(definitions(emitted.tree))
    loaded = {}
    classes: dict[str, dict[str, Any]] = {}
    for fn in emitted.module.functions:
        own = emitted.scopes[fn.name]
        cells, renamed = _cells(fn, emitted, own, siblings)
        code = _compile(trees[fn.name], tuple(cells), renamed, filename)
        loaded[fn.name] = _function(fn, code, own, cells)
        loaded[fn.name].__renamed__ = renamed  # type: ignore[attr-defined]
        owner, _, method = fn.name.rpartition(".")
        if not owner:
            siblings[fn.name].cell_contents = decorated(fn, loaded[fn.name])
            continue
        members = {**classes.get(owner, {"__module__": loaded[fn.name].__module__})}
        classes[owner] = {**members, method: loaded[fn.name]}
        siblings[owner].cell_contents = type(owner, (), classes[owner])
    _TEXTS.keep_while(loaded[main].__code__, main, emitted.source)
    return loaded


def decorated(fn: ir.Function, loaded: Any) -> Any:
    """A function under its decorators: functions, or calls of functions without arguments."""
    for decorator in reversed(fn.decorators):
        called = isinstance(decorator, ir.Call)
        ref = decorator.fn if isinstance(decorator, ir.Call) else decorator
        assert isinstance(ref, ir.Ref)
        loaded = (ref.obj() if called else ref.obj)(loaded)
    return loaded


def origin_of(filename: str, line: int) -> ir.Origin | None:
    """Where a line of an emitted text comes from; None for lines and files that are not ours."""
    return _TEXTS.origins.get(filename, {}).get(line)


def is_emitted(filename: str) -> bool:
    """Whether a file name stands for a text that we made."""
    return filename in _TEXTS.origins


def _cells(
    fn: ir.Function, emitted: Emitted, scope: Scope, siblings: dict[str, types.CellType]
) -> tuple[dict[str, types.CellType], dict[str, str]]:
    """The cells a function needs, and globals whose name in the file is not their own."""
    cells: dict[str, types.CellType] = {}
    renamed: dict[str, str] = {}
    own = fact(local_names, fn)
    for name, binding in emitted.bindings.by_function[fn.name].items():
        if binding.kind == "emitted":
            cells[name] = siblings[name]
        elif binding.kind == "closure":
            cells[name] = scope.cells[binding.original]
        elif binding.kind == "global" and binding.original not in own:
            renamed[name] = binding.original  # read where it is, as it is then
        elif not _is_global(name, binding, scope):
            cells[name] = types.CellType(binding.obj)
    return cells, {old: new for old, new in renamed.items() if old != new}


def _is_global(name: str, binding: Binding, scope: Scope) -> bool:
    """Whether the plain name already means the right object in the function's globals."""
    if name in scope.globals:
        return scope.globals[name] is binding.obj
    return scope.builtins.get(name) is binding.obj


def _compile(
    tree: ast.FunctionDef, free: tuple[str, ...], renamed: dict[str, str], filename: str
) -> types.CodeType:
    """The code of one function, with free variables `free` (those it uses)."""
    bare = _without_signature(tree)
    if renamed:
        bare = _Rename(renamed).visit(bare)
    inner: ast.stmt = bare
    if free:
        names = [ast.copy_location(ast.arg(n), bare) for n in free]
        args = ast.arguments([], names, None, [], [], None, [])
        inner = ast.FunctionDef("enclosing", args, [bare], [], None)  # never called
        if sys.version_info >= (3, 12):
            inner.type_params = []
        ast.copy_location(inner, bare)
    program = ast.Module([inner], [])
    code: types.CodeType = compile(program, filename, "exec", flags=_FLAGS, dont_inherit=True)
    for _ in range(2 if free else 1):
        code = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    if sys.version_info >= (3, 11):
        code = code.replace(co_qualname=tree.name)
    return code


def _without_signature(tree: ast.FunctionDef) -> ast.FunctionDef:
    """The same function without annotations and with dummies for defaults: the live ones come
    from the original function. Dummies for decorators say where it begins."""
    old = tree.args
    above: list[ast.expr] = [ast.copy_location(ast.Constant(None), d) for d in tree.decorator_list]
    dummies: list[ast.expr] = [ast.copy_location(ast.Constant(None), d) for d in old.defaults]
    args = ast.arguments(
        [_bare(a) for a in old.posonlyargs],
        [_bare(a) for a in old.args],
        None if old.vararg is None else _bare(old.vararg),
        [_bare(a) for a in old.kwonlyargs],
        [None for _ in old.kw_defaults],
        None if old.kwarg is None else _bare(old.kwarg),
        dummies,
    )
    bare = ast.FunctionDef(tree.name, args, list(tree.body), above, None)
    if sys.version_info >= (3, 12):
        bare.type_params = []
    return ast.copy_location(bare, tree)


def _bare(arg: ast.arg) -> ast.arg:
    return ast.copy_location(ast.arg(arg.arg), arg)


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        new = self.names.get(node.id)
        return node if new is None else ast.copy_location(ast.Name(new, node.ctx), node)


# ------------------------------------------------------------------------- live functions


def _function(
    fn: ir.Function, code: types.CodeType, scope: Scope, cells: dict[str, types.CellType]
) -> types.FunctionType:
    namespace = _globals(scope)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, namespace, fn.name, None, closure)
    original = defaults_of(scope.fn)
    usual = [p for p in fn.params if p.kind in ("positional", "any")]
    given = [_default(p, original, fn) for p in usual if p.default is not None]
    made.__defaults__ = tuple(given) or None
    keyword = [p for p in fn.params if p.kind == "keyword" and p.default is not None]
    made.__kwdefaults__ = {p.name: _default(p, original, fn) for p in keyword} or None
    made.__annotations__ = {p.name: p.annotation for p in fn.params if p.annotation}
    made.__qualname__ = fn.name
    made.__empties__ = fn.empties  # type: ignore[attr-defined]
    made.__shadows__ = fn.shadows  # type: ignore[attr-defined]
    module = namespace.get("__name__")
    if isinstance(module, str):
        made.__module__ = module
    return made


def _globals(scope: Scope) -> dict[str, Any]:
    namespace = scope.globals
    return namespace if isinstance(namespace, dict) else dict(namespace)


def _default(param: ir.Param, original: dict[str, Any], fn: ir.Function) -> Any:
    if param.name in original:
        return original[param.name]
    match param.default:
        case ir.Const(value):
            return value
        case ir.Ref(obj=obj):
            return obj
    raise InternalError("emit", f"the default of `{param.name}` in `{fn.name}` is not known")
