"""What the names of emitted code mean, and how each is written in the file.

A `Ref` knows its object and how one function spells it. A file holds several functions, perhaps
of several modules, beside names the transform invented: two objects may want one name, and a
local name may cover another. Here every object gets the one name it has in the file.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import functools
import keyword
import operator
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ... import ir
from ...errors import InternalError, UnsupportedError
from ...frontend.owners import mark_of
from ...frontend.resolve import Scope, is_namespace, means_the_same
from ...ir.facts import fact
from ...ir.names import Names
from ...rules.definitions import stands_for
from ...rules.twins import array_modules, library_home, twin
from ...runtime.records import attribute_of
from .to_gast import Speller, literal_references

RUNTIME = "tangentlike.runtime"
_KNOWN_MODULES = {"np": "numpy", "la": "numpy.linalg"}


@dataclass(frozen=True)
class Binding:
    """What a root name stands for.

    `kind` is one of

    - "emitted": a function of this very file,
    - "builtin",
    - "module": `import module as name`,
    - "imported": `from module import original`, a function that is where it says it is,
    - "global": a global of the user's module, data or function, which may change,
    - "closure": a cell of the original function; `module` names that function,
    - "given": an object that no import reaches.
    """

    kind: str
    module: str
    original: str
    obj: Any = field(compare=False, hash=False)
    key: int = 0

    @property
    def identity(self) -> tuple[str, str, str, int]:
        return self.kind, self.module, self.original, self.key


@dataclass(frozen=True)
class Bindings:
    """The names of a file: per function, the name in the file to what it stands for."""

    by_function: Mapping[str, Mapping[str, Binding]]
    names_in_file: Mapping[tuple[str, str, int], str]  # function, root, object -> name

    def speller(self, function: str) -> Speller:
        """How a function of the file spells its references."""
        names_in_file = self.names_in_file

        def spell(ref: ir.Ref) -> str:
            _, dot, rest = ref.text.partition(".")
            return names_in_file[function, ref.text, ref.key] + dot + rest

        return spell

    def all(self) -> dict[str, Binding]:
        """Every name of the file from outside it, in order of first use."""
        return {n: b for names in self.by_function.values() for n, b in names.items()}


_DEFAULTS = ""  # where defaults stand, among the names of functions


def bind(module: ir.Module, scopes: Mapping[str, Scope]) -> Bindings:
    """Find what every reference means and give it a name that is free where it is used."""
    emitted = frozenset(fn.name.partition(".")[0] for fn in module.functions)
    uses: dict[tuple[str, tuple[Any, ...]], list[str]] = {}
    found: dict[tuple[str, str, int], tuple[str, Binding]] = {}
    first: dict[tuple[str, int], tuple[Any, ...]] = {}  # one class that several modules import
    local = {fn.name: fact(local_names, fn) for fn in module.functions}
    local[_DEFAULTS] = frozenset()  # (which the file evaluates, and no function)
    for fn in module.functions:
        refs = inside = fact(references, fn)
        if any(p.default is not None for p in fn.params):
            inside = references(dataclasses.replace(fn, params=()))
        for ref in refs:
            root = ref.text.split(".")[0]
            try:
                binding = _found_anywhere(ref, scopes[fn.name], scopes, emitted)
            except UnsupportedError as error:
                raise _placed(error, ref, fn) from None
            found[fn.name, ref.text, ref.key] = root, binding
            known = _one_of_many(root, binding, first)
            uses.setdefault((root, known), []).append(fn.name if ref in inside else _DEFAULTS)
    names = _names_in_file(uses, local, emitted)
    by_function: dict[str, dict[str, Binding]] = {fn.name: {} for fn in module.functions}
    names_in_file = {}
    for (function, text, key), (root, binding) in found.items():
        name_in_file = names[root, _one_of_many(root, binding, first)]
        names_in_file[function, text, key] = name_in_file
        by_function[function].setdefault(name_in_file, binding)
    return Bindings(by_function, names_in_file)


def as_imported(module: ir.Module, scopes: Mapping[str, Scope]) -> ir.Module:
    """The module with what a rule brought along by the name that the user has it by: `norm.pdf`
    after `from scipy.stats import norm`, where a rule says `scipy.stats.norm.pdf`; a function of
    SciPy by its own name, where that is free."""
    functions = []
    emitted = frozenset(fn.name.partition(".")[0] for fn in module.functions)
    for fn in module.functions:
        shorter = {}
        for ref in fact(references, fn):
            shortest = _by_a_name_of(scopes[fn.name], ref, emitted)
            if shortest != ref.text and shortest.partition(".")[0] not in fact(local_names, fn):
                shorter[ref.text, ref.key] = ir.Ref(shortest, ref.obj)
        functions.append(_respelled(fn, shorter) if shorter else fn)
    if all(map(operator.is_, functions, module.functions)):
        return module
    return ir.Module(tuple(functions), module.types)


def _by_a_name_of(scope: Scope, ref: ir.Ref, emitted: frozenset[str]) -> str:
    """How a scope spells what a reference says with a module that the scope does not have."""
    root, *rest = ref.text.split(".")
    try:
        scope.lookup(root)
    except KeyError:
        for at in range(len(rest)):
            path = ".".join(rest[at + 1 :])
            with contextlib.suppress(KeyError):
                if _leads(scope.lookup(rest[at]), path, ref.obj):
                    return ".".join(rest[at:])
        if root == "scipy" and rest and rest[-1] not in emitted:
            try:
                scope.lookup(rest[-1])
            except KeyError:
                home = library_home(ref.obj, rest[-1])
                return rest[-1] if home and home[1] == rest[-1] else ref.text
    return ref.text


def _respelled(fn: ir.Function, shorter: Mapping[tuple[str, int], ir.Ref]) -> ir.Function:
    def one(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Ref):
            return shorter.get((expr.text, expr.key), expr)
        return ir.rebuild(expr, one)

    return ir.with_body(fn, ir.rewrite(fn.body, expression=one))


def _one_of_many(
    root: str, binding: Binding, first: dict[tuple[str, int], tuple[Any, ...]]
) -> tuple[Any, ...]:
    """What tells a binding from others of its name: a class or function that modules import from
    each other is one thing, though each has it among its own globals; so is a class that a function
    defines, and others see in their cells."""
    if not (binding.kind == "global" or isinstance(binding.obj, type)) or not isinstance(
        binding.obj, (type, types.FunctionType)
    ):
        return binding.identity
    return first.setdefault((root, id(binding.obj)), binding.identity)


def _placed(error: UnsupportedError, ref: ir.Ref, fn: ir.Function) -> UnsupportedError:
    """The refusal of a reference with the line that it comes from."""
    for stmt in ir.statements(fn.body):
        if any(part == ref for part in ir.walk_statement(stmt)):
            return UnsupportedError(error.message, stmt.origin.place, error.hint)
    return error


def _names_in_file(
    uses: Mapping[tuple[str, tuple[Any, ...]], list[str]],
    local: Mapping[str, frozenset[str]],
    emitted: frozenset[str],
) -> dict[tuple[str, tuple[Any, ...]], str]:
    everywhere: set[str] = set().union(*local.values(), emitted, (root for root, _ in uses))
    fresh = Names(sorted(everywhere))
    owner: dict[str, tuple[Any, ...]] = {}
    name_in_file: dict[tuple[str, tuple[Any, ...]], str] = {}
    for (root, identity), functions in uses.items():
        mine = identity[0] == "emitted"
        covered = any(root in local[fn] for fn in functions)
        free = owner.get(root, identity) == identity and (mine or root not in emitted)
        if mine and covered:
            raise InternalError("emit", f"a local name hides the function {root}")
        name = root if free and not covered else fresh.fresh(root)
        owner[name] = identity
        name_in_file[root, identity] = name
    return name_in_file


# --------------------------------------------------------------------- names in functions


def is_operator(ref: ir.Ref) -> bool:
    """Whether a reference is printed as an operator (`+`, `not`, `is not`, `+=`)."""
    return keyword.iskeyword(ref.text) or not ref.text[0].isidentifier()


def references(fn: ir.Function) -> tuple[ir.Ref, ...]:
    """The references a function makes to what lies outside it, each once, in order."""
    seen: dict[tuple[str, int], ir.Ref] = {}
    for ref in _all_references(fn):
        if not is_operator(ref) and " " not in ref.text:
            seen.setdefault((ref.text, ref.key), ref)
    return tuple(seen.values())


def _all_references(fn: ir.Function) -> Iterator[ir.Ref]:
    pending: list[ir.Expr] = [p.default for p in fn.params if p.default is not None]
    pending += fn.decorators
    for stmt in ir.statements(fn.body):
        pending += ir.expressions(stmt)
        if isinstance(stmt, ir.OpaqueStmt):
            pending += stmt.refs
        while pending:
            expr = pending.pop()
            if isinstance(expr, ir.Ref):
                yield expr
            elif isinstance(expr, ir.Const):
                yield from literal_references(expr.value)
            elif not isinstance(expr, ir.Var):
                pending += ir.children(expr)[::-1]
                if isinstance(expr, ir.Opaque):
                    pending += expr.refs


def local_names(fn: ir.Function) -> frozenset[str]:
    """Parameters and everything a function binds."""
    bound = {name for stmt in ir.statements(fn.body) for name in ir.binds(stmt)}
    return frozenset(bound.union(fn.param_names))


# ---------------------------------------------------------------------- what a name means


def _found_anywhere(
    ref: ir.Ref, own: Scope, scopes: Mapping[str, Scope], emitted: frozenset[str]
) -> Binding:
    """What a reference stands for: in the scope of its function, or of the one that gave it an
    operation to call (`itertools.accumulate(ms, xp.matmul)` calls `xp.matmul`)."""
    try:
        return find(ref, own, emitted)
    except InternalError:
        root, _, path = ref.text.partition(".")
        for scope in scopes.values():
            try:
                leads = _leads(scope.lookup(root), path, ref.obj)
            except KeyError:
                continue
            if leads:
                return find(ref, scope, emitted)
        raise


def find(ref: ir.Ref, scope: Scope, emitted: frozenset[str]) -> Binding:
    """What the root of a reference stands for; from there its text must lead to its object."""
    root, _, path = ref.text.partition(".")
    try:
        live = scope.lookup(root)
    except KeyError:
        live = _ABSENT
    if root in scope.imports and _leads(live, path, ref.obj):
        meaning = scope.imports[root]
        kind = "imported" if meaning.original else "module"
        return Binding(kind, meaning.module, meaning.original or root, live)
    if live is not _ABSENT and (_leads(live, path, ref.obj) or _led(live, path, ref, scope)):
        return _found(root, live, scope)
    home = None if path or root in emitted else library_home(ref.obj, root)
    if home is not None:
        return Binding("imported", *home, ref.obj)
    if not path and root in emitted:
        return Binding("emitted", "", root, ref.obj)
    if path and isinstance(live, types.ModuleType):
        raise UnsupportedError(
            f"`{root}` is `{live.__name__}`, which has no `{path}`; the derivative needs it",
            hint="Write the step with other operations, or give it a rule with @tl.rule.",
        )
    if path:
        return _by_module(ref, root, path)
    if getattr(builtins, root, _ABSENT) is ref.obj:
        return Binding("builtin", "builtins", root, ref.obj)
    return _by_object(ref.obj, root)


_ABSENT = object()


def _found(root: str, live: Any, scope: Scope) -> Binding:
    """A name of the user's, by where it was found."""
    if isinstance(live, types.ModuleType):
        return Binding("module", live.__name__, root, live)
    if getattr(builtins, root, _ABSENT) is live:
        return Binding("builtin", "builtins", root, live)
    if _from_runtime(live, root):
        return Binding("imported", RUNTIME, root, live)
    home = library_home(live, root)
    if home is not None:  # (the library's, wherever the user has it from)
        return Binding("imported", *home, live)
    root = scope.renamed.get(root, root)
    kind = scope.kind_of_name(root)
    closed_over = getattr(getattr(scope.fn, "__code__", None), "co_freevars", ())
    if kind == "closure":
        if isinstance(live, type) and (
            (imported := _by_object(live, root)).kind == "imported" or root not in closed_over
        ):  # (what a derivative was made with, and calls by this name; or made when it was read)
            return imported
        owner = getattr(scope.fn, "__qualname__", "the function")
        return Binding("closure", owner, root, live, id(scope.cells[root]))
    module = scope.globals.get("__name__") or getattr(scope.module, "__name__", None)
    if not isinstance(module, str):
        return Binding("given", "", root, live, id(live))
    return Binding("global", module, root, live, id(scope.globals))


def _from_runtime(obj: Any, root: str) -> bool:
    home = sys.modules.get(RUNTIME)
    return home is not None and getattr(home, root, _ABSENT) is obj


def _by_module(ref: ir.Ref, root: str, path: str) -> Binding:
    """`np.tanh` in a function that knows no `np`: a rule brought it along."""
    for name in (_KNOWN_MODULES.get(root, root), root):
        module = sys.modules.get(name)
        if module is not None and _leads(module, path, ref.obj):
            return Binding("module", name, root, module)
    for module in array_modules():  # (one that no import reaches)
        if module.__name__ == root and _leads(module, path, ref.obj):
            return Binding("given", "", root, module, id(module))
    live = getattr(sys.modules.get(attribute_of(ref.obj, "__module__", "")), root, _ABSENT)
    if _leads(live, path, ref.obj):  # (a static method of an object that was given)
        return _by_object(live, root)
    raise InternalError("emit", f"nothing is known of `{root}` in {ref.text}")


def _by_object(obj: Any, root: str) -> Binding:
    """A bare name that the user's module does not have: found by what it stands for."""
    if isinstance(obj, types.ModuleType):
        return Binding("module", obj.__name__, root, obj)
    if _from_runtime(obj, root):
        return Binding("imported", RUNTIME, root, obj)
    home, name = attribute_of(obj, "__module__", None), attribute_of(obj, "__qualname__", None)
    known = isinstance(home, str) and isinstance(name, str) and home in sys.modules
    known = known and str(name).replace(".", "_").isidentifier()
    if known and getattr(sys.modules[str(home)], str(name), _ABSENT) is obj:
        return Binding("imported", str(home), str(name), obj)
    return Binding("given", "", root, obj, id(obj))


def _leads(start: Any, path: str, goal: Any) -> bool:
    """Whether following attributes from an object arrives at another.

    `goal` may be NumPy's where `start` belongs to a module that mirrors NumPy.
    """
    found, mirrored = start, twin(start)
    for attribute in path.split(".") if path else ():
        found = getattr(found, attribute, _ABSENT)
        own = twin(found)
        mirrored = getattr(mirrored, attribute, None) if own is None else own
        if found is _ABSENT:
            return False
    if found is goal or (mirrored is not None and mirrored is goal):
        return True
    if stands_for(goal, found):  # an operation that is read as a program
        return True
    if mark_of(goal, "listed") is found:  # (a generator that is read as a list)
        return True
    return path != "" and (_same_method(found, goal) or _same_method(mirrored, goal))


def _led(live: Any, path: str, ref: ir.Ref, scope: Scope) -> bool:
    """Whether a reference is to data that its text led to when it was read, and something else is
    there by now: what is emitted finds that."""
    if not path:
        return means_the_same(live, ref.obj) and scope.has_meant(ref.text, ref.obj)
    *above, last = path.split(".")
    owner = functools.reduce(lambda obj, name: getattr(obj, name, _ABSENT), above, live)
    now = getattr(owner, last, _ABSENT)
    return is_namespace(owner) and now is not _ABSENT and means_the_same(now, ref.obj)


def _same_method(a: Any, b: Any) -> bool:
    """Bound methods are made anew by each access."""
    owner = getattr(a, "__self__", _ABSENT)
    if owner is _ABSENT or owner is not getattr(b, "__self__", None) or type(a) is not type(b):
        return False
    return getattr(a, "__name__", None) == getattr(b, "__name__", None)
