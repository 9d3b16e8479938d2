"""From a live function to the IR: its source found, its names resolved, its statements lowered.

The steps, each in a file of its own: find the source (`source`), read it as nested IR
(`functions`, `statements`, `expressions`), then small passes to the normal form that
`check` verifies (`targets`, `jumps`, `flatten`, `loopvars`, `webs`).
"""

from __future__ import annotations

import ast
import dataclasses
import dis
import functools
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gast
import numpy as np

from .. import ir
from ..errors import InternalError, Place, UnsupportedError
from ..ir import Block, Expr, Function, Opaque, Origin, Param, Ref, Return, Var
from ..ir.facts import fact
from ..ir.index import references
from ..ir.names import Names
from ..ir.verify import check_program, fail
from ..runtime.recent import Recent
from ..runtime.stated_types import names_in, require_types, required_by
from .attempts import refuse_contents
from .cells import with_cells
from .comprehensions import is_generator
from .cuts import cuts_made, note_reading, raising, spot_of
from .expressions import Reader, expression
from .flatten import HEADERS, flatten
from .generators import filled_list
from .inline import inlinable
from .jumps import structure_jumps
from .lifting import lift_definitions, lifted_of
from .local_classes import local_classes
from .loopvars import copied_with, fix_headers, spread_headers
from .naming import names_of
from .nested import Define, Refused
from .operands import (
    is_arithmetic,
    is_comparison,
    is_repeatable,
    is_shape_tuple,
    is_truth,
    keeps_whole,
    stays_nested,
)
from .owners import mark_of
from .primal import global_names
from .resolve import (
    Looked,
    Parts,
    Scope,
    is_made_of,
    note_function,
    noting_lookups,
    parts_of,
    still_means,
)
from .signatures import defaults_of
from .source import Definition, Source, find_definition
from .statements import Outer, StatementReader, docstring, reject_generators
from .survey import Survey, call_methods_by_object, imported_names, parameter_names, survey
from .targets import bound_once, split_targets
from .webs import reaching, renamed_webs, split_names


@dataclass(frozen=True)
class Lowered:
    """A function in the normal form, and the scope its names were resolved in.

    `temporaries` are the names that lowering introduced; `original` says, for each name that
    `split_names` gave, which name it stands for in the source (`a2` -> `a`).
    """

    function: Function
    scope: Scope
    temporaries: frozenset[str] = frozenset()
    original: Mapping[str, str] = field(default_factory=dict)

    def with_body(self, body: Block, made: Iterable[str] = ()) -> Lowered:
        """The function with another body, which introduces these names."""
        if body is self.function.body:
            return self
        function = ir.with_body(self.function, body)
        return replace(self, function=function, temporaries=self.temporaries.union(made))


@dataclass(frozen=True)
class _Reading:
    """A function as it was read once, and what that rests on."""

    lowered: Lowered
    fn: types.FunctionType
    module: types.ModuleType | None
    parts: Parts
    looked: Looked

    def serves(self, fn: types.FunctionType) -> bool:
        module = sys.modules.get(fn.__module__ or "")
        same = fn is self.fn and module is self.module and is_made_of(fn, self.parts)
        return same and still_means(self.looked)


_READ: Recent[types.FunctionType, _Reading] = Recent(256)


def read_once(
    fn: Callable[..., Any],
    managers: bool = False,
    lent: tuple[str, ...] = (),
    helpers: tuple[str, ...] = (),
    cells: bool = False,
) -> Lowered:
    """What `lower` gives, for one function the same object while its names mean the same: its
    versions for types of arguments, both modes and what is tried again begin with it."""
    note_reading(functools.partial(lower, fn, managers, lent, helpers, cells))
    plain = isinstance(fn, types.FunctionType) and lifted_of(fn) is None
    if not plain or managers or lent or cells or cuts_made() is not None:
        return lower(fn, managers, lent, helpers, cells)
    assert isinstance(fn, types.FunctionType)
    known = _READ.get(fn)
    if known is not None and known.serves(fn):
        note_function(fn)
        return known.lowered
    with noting_lookups() as looked:
        found = lower(fn)
    if not found.scope.imports and not _holds_lifted(found.function):
        module = sys.modules.get(fn.__module__ or "")
        _READ.put(fn, _Reading(found, fn, module, parts_of(fn), looked))
    return found


def _holds_lifted(function: Function) -> bool:
    """Whether functions were made for some that are defined inside it."""
    return any(lifted_of(ref.obj) is not None for ref in fact(references, function))


def lower(
    fn: Callable[..., Any],
    managers: bool = False,
    lent: tuple[str, ...] = (),
    helpers: tuple[str, ...] = (),
    cells: bool = False,
) -> Lowered:
    """Read a live function and bring it into the normal form.

    With `managers`, context managers that are written in Python are written out. The outer names
    in `lent` become parameters, which what they mean now is the default of; `helpers` name
    functions of the same module, which are read as if they were defined in this one. With `cells`,
    what inner functions capture and is bound again is in cells.
    """
    lifted = lifted_of(fn)
    if lifted is not None:
        scope = replace(lifted.scope, fn=None)  # the defaults of the function around are not its
        names = names_of(lifted.function)
        return _lowered(lifted.function, scope, names, lifted.names, lifted.rebound)
    function = _plain_function(fn)
    note_function(function)
    scope = Scope.of(function)
    try:
        found = find_definition(function)
        names = Names([*scope.cells, found.name])
        known = survey(found.node)
        if known.imports:
            scope = replace(scope, imports=imported_names(found.node, function.__globals__))
            for name in scope.imports:
                known.bound.pop(name, None)
        classes = local_classes(function, found.node, known.bound, scope.lookup)
        scope = replace(scope, cells={**scope.cells, **classes}) if classes else scope
        known.classes = frozenset(classes)
        for name in classes:
            known.bound.pop(name, None)
        call_methods_by_object(found.node, known)
        known.bound.update(dict.fromkeys((*lent, *helpers)))
        listed = mark_of(function, "listed") is not None
        read = read_definition(found, scope, names, known, managers, listed)
        # (Looked up, so that it is noted what these names mean now.)
        inner = tuple(_inner(scope.lookup(name), (*lent, *helpers), names) for name in helpers)
        params = with_lent(read.params, lent, scope)
        read = replace(
            read, params=params, body=(*_checks(function, read, scope), *inner, *read.body)
        )
        read = with_cells(read, names) if cells else read
        return _lowered(read, scope, names, frozenset(known.bound))
    except RecursionError:
        code = function.__code__
        raise UnsupportedError(
            f"`{function.__name__}` is nested too deeply",
            Place(code.co_filename, code.co_firstlineno),
            "Break its longest expression, or its chain of `elif`, into several.",
        ) from None


def _checks(function: types.FunctionType, read: Function, scope: Scope) -> Iterator[ir.Stmt]:
    """The checks that decorators of the text of a derivative make, as statements."""
    own = {param.name for param in read.params}
    for stated in required_by(function)[1]:
        names = names_in(stated)
        values = (Var(name) if name in own else scope.ref(name) for name in names)
        operands: tuple[Expr, ...] = (ir.Const(stated), *values)
        check = ir.Call(Ref(require_types.__name__, require_types), operands, at=read.place)
        yield ir.Do(check, Origin(read.place))


def _inner(helper: types.FunctionType, outer: tuple[str, ...], names: Names) -> Any:
    """A function of the module as one that is defined in another, which has these names."""
    found = find_definition(helper)
    known = survey(found.node)
    known.bound.update(dict.fromkeys(outer))
    made = read_definition(found, Scope.of(helper), names, known)
    return Define(made, Origin(made.place))


def plain_helpers(fn: types.FunctionType) -> dict[str, types.FunctionType]:
    """The functions of the same module that a function names, itself or by others of them, each
    after those that it names."""
    found: dict[str, types.FunctionType] = {}
    seen = {*fn.__code__.co_varnames, *fn.__code__.co_cellvars, *fn.__code__.co_freevars}

    def visit(code: types.CodeType) -> None:
        for name in global_names(code):
            helper: Any = fn.__globals__.get(name)
            if name not in seen and _is_plain(helper, fn, name):
                seen.add(name)
                visit(helper.__code__)
                found[name] = helper

    visit(fn.__code__)
    return found


def _is_plain(helper: Any, fn: types.FunctionType, name: str) -> bool:
    """Whether an object is a function as its `def` in the module of another one made it."""
    return (
        isinstance(helper, types.FunctionType)
        and (helper.__globals__ is fn.__globals__ and helper is not fn)
        and (helper.__name__ == name and not vars(helper) and not helper.__closure__)
        and not inspect.isgeneratorfunction(helper)
        and not inspect.iscoroutinefunction(helper)
        and not any(rebound_outside(helper.__code__))
    )


def rebound_outside(code: types.CodeType) -> Iterator[str]:
    """The outer names that a function, or one inside it, binds anew."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from rebound_outside(constant)


def with_lent(
    params: tuple[ir.Param, ...], lent: tuple[str, ...], scope: Scope
) -> tuple[ir.Param, ...]:
    """Parameters, and outer names that are parameters, too."""
    added = (ir.Param(n, "keyword", ir.Ref(n, scope.lookup(n))) for n in lent)
    starred = tuple(p for p in params if p.kind == "**")
    return (*(p for p in params if p.kind != "**"), *added, *starred)


def lower_nested(function: Function) -> Lowered:
    """Bring a nested function, as `read_function` and `program` give it, into the normal form."""
    return _lowered(function, Scope.of_names({}), names_of(function), frozenset(_bound(function)))


def lowered_again(lowered: Lowered) -> Lowered:
    """The same of a function in which something was put that takes several statements."""
    function, original = lowered.function, lowered.original
    own = frozenset(_bound(function)) - lowered.temporaries
    made = _lowered(function, lowered.scope, names_of(function), own)
    names = {name: original.get(before, before) for name, before in made.original.items()}
    return replace(made, original={**original, **names})


def _lowered(
    function: Function,
    scope: Scope,
    names: Names,
    own: frozenset[str],
    late: frozenset[str] = frozenset(),
) -> Lowered:
    """The passes from nested IR to the normal form, in order; `own` are the user's names, `late`
    captured ones that are bound again while a function made here may be kept."""
    function = lift_definitions(function, inlinable(function), scope, names, late)
    function = structure_jumps(function, names)
    function = flatten(function, names, scope, late)
    function = spread_headers(bound_once(function, names), names)
    function, found = copied_with(function, reaching(function), names)
    function, before = renamed_webs(function, found, names)
    refuse_contents(function)
    function = fix_headers(function, names)
    made = frozenset(n for n in _bound(function) if before.get(n, n) not in own)
    cuts = cuts_made()
    if cuts is not None:
        refuse_left(function)
        cuts.note_always(function)
    return Lowered(function, scope, made, before)


def refuse_left(function: Function) -> None:
    """Refuse a part that was cut out of an expression which stays as it is, such as the test of a
    `while`: no statement before it can raise in its place."""
    for part in ir.walk_block(function.body):
        if isinstance(part, Refused):
            raise part.refusal


def _bound(function: Function) -> list[str]:
    """All names a function binds."""
    inner = [n for stmt in ir.statements(function.body) for n in ir.binds(stmt)]
    return [*function.param_names, *inner]


def _plain_function(fn: Callable[..., Any]) -> types.FunctionType:
    """The Python function behind a function or a bound method; of a derivative, that in which all
    that is given back has names."""
    fn = getattr(fn, "__func__", fn) if inspect.ismethod(fn) else fn
    if isinstance(fn, types.FunctionType):
        function: types.FunctionType = required_by(fn)[0]
        before = getattr(function, "__before__", None)
        return function if before is None else before.functions[function.__name__]
    name = getattr(fn, "__name__", type(fn).__name__)
    hint = "Give a derivative rule for it with @tl.rule, or wrap it in a Python function."
    if isinstance(fn, functools.partial):
        hint = "Write a function that calls the one inside with the arguments already given."
    raise UnsupportedError(f"{name} has no Python source", hint=hint)


__all__ = ["Scope", "expression", "flatten", "names_of", "program", "reaching"]
__all__ += ["read_function", "renamed_webs", "split_names"]


# --------------------------------------------------------------------------------------------------
# Reading a whole `def` or `lambda` (or loose statements) into a nested function.


def read_definition(
    definition: Definition,
    scope: Scope,
    names: Names,
    known: Survey,
    managers: bool = False,
    listed: bool = False,
) -> Function:
    """A gast `FunctionDef` or `Lambda` as nested IR, with its assignments split.

    `known` is the survey of the node; with `managers`, context managers are written out; with
    `listed`, a generator function gives the list of what it yields.
    """
    node, source = definition.node, definition.source
    place = source.header(node.lineno)
    if isinstance(node, gast.AsyncFunctionDef):
        raise UnsupportedError(
            "asynchronous code cannot be differentiated",
            place,
            "Differentiate the plain function that it awaits.",
        )
    names.take(known.used)
    params = _parameters(node.args, scope)
    cuts, spot = cuts_made(), spot_of(source.file, node)
    if cuts is not None:
        cuts.reads(spot, definition.name.rpartition(".")[2], node, scope.meant)
        if spot in cuts.made:
            body: Any = (raising(cuts.made[spot], place),)
            return Function(definition.name, params, body, place)
    outer = Outer(frozenset(known.outer), scope.lookup)
    lookup = lookup_in(scope, frozenset(known.bound), outer)
    reader = StatementReader(source, lookup, names, outer, managers, around=known)
    doc = ""
    if isinstance(node, gast.Lambda):
        line = source.line(node.body)
        value = Reader(lookup, line.place).read(node.body)
        body = (Return(value, Origin(line.whole())),)
    else:
        doc = docstring(node.body)
        if known.yields and listed:

            def fill(at_yield: Callable[[Expr], Any]) -> Any:
                return dataclasses.replace(reader, at_yield=at_yield).block(node.body)

            body = filled_list(fill, names, Origin(place))
        else:
            reject_generators(known.yields, source)
            body = reader.block(node.body)
    free = tuple(sorted(scope.cells))
    made = Function(definition.name, params, body, place, doc, free)
    if not place.is_emitted:
        made = dataclasses.replace(made, comments=source.comments(node))
    return split_targets(made, names)


def read_function(
    text: str, namespace: Mapping[str, Any] | None = None, file: str = "<text>"
) -> Function:
    """One `def` from text as nested IR: not flattened, early returns still in place.

    Names that are not local must be in `namespace` or be built-ins; without a namespace, `np`,
    `math` and the functions of the runtime are known.
    """
    text = textwrap.dedent(text)
    found = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    if len(found) != 1:
        raise InternalError("lower", f"the text has {len(found)} functions where one is expected")
    scope = Scope.of_names(default_names() if namespace is None else namespace)
    node = gast.ast_to_gast(found[0])
    source = Source(file, text.splitlines())
    return read_definition(Definition(node, found[0].name, source), scope, Names(), survey(node))


def program(text: str, namespace: Mapping[str, Any] | None = None) -> Function:
    """Loose statements, separated by newlines or `;`, as the nested function `f`.

    Its parameters are the names it reads before it binds them, in order.

    >>> program("t = a * b; return np.sum(t) + c").param_names
    ('a', 'b', 'c')
    """
    text = textwrap.dedent(text).strip("\n")
    known = Scope.of_names(default_names() if namespace is None else namespace)
    tree = gast.ast_to_gast(ast.parse(text))
    found = survey(tree)
    names = Names(found.used)
    params = tuple(_read_first(tree, known))
    source = Source("<text>", text.splitlines())
    lookup = lookup_in(known, frozenset((*params, *found.bound)))
    body = StatementReader(source, lookup, names).block(tree.body)
    function = Function("f", tuple(map(Param, params)), body, source.header(1))
    return split_targets(function, names)


_program = functools.lru_cache(maxsize=256)(program)  # (of templates)


def instead(
    stmt: ir.Stmt, text: str, names: Names, temporaries: set[str], alias: str, **given: Expr
) -> list[ir.Stmt]:
    """What a text of Python says, in the place of a statement of the user's.

    Names that are `given` stand for expressions; `result` is what the statement binds (it is an
    `Assign`, or a `Do`, which drops it); what else the text binds are new temporaries. `alias` is
    what the program calls its array module.

    >>> from tangentlike.codegen.print import show
    >>> (stmt,) = program("last = d.popitem()").body
    >>> text = "keys = list(d); key = keys[-1]; result = (key, d.pop(key))"
    >>> print(show(tuple(instead(stmt, text, Names(("key",)), set(), "np", d=Var("table")))))
    keys = list(table)
    key2 = keys[-1]
    last = (key2, table.pop(key2))
    """
    body, place = _program(text).body, stmt.origin.place
    target = getattr(stmt, "target", None)
    result = {_RESULT: Var(target)} if isinstance(target, str) else {}
    values: dict[str, Expr] = {**given, "result": Var(_RESULT)}
    for name in ir.bindings(ir.statements(body)):
        if name not in values:
            values[name] = Var(made := names.fresh(name))
            temporaries.add(made)

    def placed(expr: Expr) -> Expr:
        if isinstance(expr, Ref) and expr.text.startswith("np."):
            return Ref(alias + expr.text[2:], expr.obj)
        expr = ir.rebuild(expr, placed)
        return ir.replaced(expr, at=place) if hasattr(expr, "at") else expr

    def put(part: ir.Stmt) -> Sequence[ir.Stmt]:
        match part:
            case ir.Assign(target, value) if target == _RESULT:
                if isinstance(stmt, ir.Assign) and isinstance(stmt.target, tuple):
                    items = value.items if isinstance(value, ir.Display) else ()
                    if len(items) == len(stmt.target):  # (an unpacked value is not a display)
                        pairs = zip(stmt.target, items, strict=True)
                        return [replace(stmt, target=t, value=v) for t, v in pairs]
                if isinstance(stmt, ir.Assign):
                    return (replace(stmt, value=value),)
                return (ir.Do(value, stmt.origin),) if isinstance(value, ir.Call) else ()
            case ir.Store(target) | ir.Update(target) if hasattr(target, "at"):
                part = ir.replaced(part, target=ir.replaced(target, at=place))
        return (ir.replaced(part, origin=stmt.origin),)

    renamed = ir.renamed(ir.rewrite(body, expression=placed), values)
    return list(ir.rewrite(renamed, expression=lambda e: ir.substitute(e, result), after=put))


_RESULT = "$result"  # (no name of the user's)


def gathering(call: ir.Call) -> str:
    """The text of a list of all that `zip`, `enumerate` or `reversed`, `taken`, gives."""
    obj = call.fn.obj if isinstance(call.fn, Ref) else None
    count = len(call.args) if obj is zip else 2 if obj is enumerate else 0
    count = 0 if any(map(ir.is_starred, call.args)) else count  # (it is not known how many)
    item = "".join(f"item{n + 1 if n else ''}, " for n in range(count)) or "item"
    return f"result = []\nfor {item} in taken:\n    held = {item}\n    result.append(held)"


def default_names() -> dict[str, Any]:
    """What texts without a namespace may refer to."""
    import math

    from .. import runtime

    public = {k: v for k, v in vars(runtime).items() if not k.startswith("_") and callable(v)}
    return {**public, "np": np, "math": math}


def lookup_in(
    scope: Scope, local: frozenset[str], outer: Outer | None = None
) -> Callable[[str], Expr]:
    """What bare names mean: `Var` if local, else a `Ref` to the object now behind them."""

    def lookup(name: str) -> Expr:
        if outer is not None and name in outer.names:
            return outer.read(name)
        return Var(name) if name in local else scope.ref(name)

    return lookup


def _parameters(args: gast.arguments, scope: Scope) -> tuple[Param, ...]:
    """The parameter list, with defaults and annotations as the user wrote them.

    A default was evaluated when the function was made, and only its text is of interest here: it
    stays bare text where its names no longer mean anything.
    """
    reader = _DefaultReader(lookup_in(scope, frozenset()))
    params, now = reader.parameters(args), defaults_of(scope.fn)
    return tuple(replace(p, default=_default_now(p, now)) for p in params)


def _default_now(param: Param, now: Mapping[str, Any]) -> Expr | None:
    """The default as it is written, or what has taken its place (`f.__defaults__ = ..`)."""
    written, value = param.default, now.get(param.name)
    if not isinstance(written, ir.Const) or param.name not in now or ir.Const(value) == written:
        return written
    plain = value is None or type(value) in (bool, int, float, str)
    return ir.Const(value) if plain else ir.Ref(param.name, value)


class _DefaultReader(Reader):
    """Reads expressions that need not mean anything now."""

    def read(self, node: gast.AST) -> Expr:
        try:
            return super().read(node)
        except UnsupportedError:
            return Opaque(gast.unparse(node).strip())


def _read_first(tree: Any, known: Scope) -> list[str]:
    """The unknown names of loose statements that are read before they are bound."""
    params: dict[str, None] = {}
    bound: set[str] = set()
    reader = _FirstReads(known, params, bound)
    for stmt in tree.body:
        reader.visit(stmt)
    return list(params)


class _FirstReads(gast.NodeVisitor):  # type: ignore[misc]
    """Visits in evaluation order: values before the targets they are bound to."""

    def __init__(self, known: Scope, params: dict[str, None], bound: set[str]) -> None:
        self.known, self.params, self.bound = known, params, bound

    def visit_Name(self, node: Any) -> None:
        if isinstance(node.ctx, gast.Store):
            self.bound.add(node.id)
        elif node.id not in self.bound and not self._is_known(node.id):
            self.params[node.id] = None

    def visit_Assign(self, node: Any) -> None:
        for part in (node.value, *node.targets):
            self.visit(part)

    def visit_AugAssign(self, node: Any) -> None:
        if isinstance(node.target, gast.Name):
            self.visit(gast.Name(node.target.id, gast.Load(), None, None))
        for part in (node.target, node.value):
            self.visit(part)

    def visit_For(self, node: Any) -> None:
        for part in (node.iter, node.target, *node.body, *node.orelse):
            self.visit(part)

    def visit_ListComp(self, node: Any) -> None:
        inner = _FirstReads(self.known, self.params, set(self.bound))
        for part in node.generators:
            for piece in (part.iter, part.target, *part.ifs):
                inner.visit(piece)
        results = (node.key, node.value) if isinstance(node, gast.DictComp) else (node.elt,)
        for result in results:
            inner.visit(result)

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp

    def visit_Lambda(self, node: Any) -> None:
        inner = self.bound | set(parameter_names(node.args))
        _FirstReads(self.known, self.params, inner).visit(node.body)

    def _is_known(self, name: str) -> bool:
        try:
            self.known.lookup(name)
        except KeyError:
            return False
        return True


# --------------------------------------------------------------------------------------------------
# Whether a function is well formed: run between stages, so that a bug of ours shows where it is.
#
# `check` knows the normal form of lowered functions; `ir.verify` the weaker form of derived ones,
# where expressions may nest. It raises `InternalError` and changes nothing.


def check(function: ir.Function, stage: str = "lower") -> None:
    """Raise `InternalError` unless the function is in the normal form of lowered functions."""
    check_program(function, stage)
    every = list(ir.statements(function.body))
    if len(set(map(id, every))) < len(every):
        fail(stage, f"a statement of `{function.name}` stands in two places", None)
    for stmt in every:
        _require_flat(stmt, stage)
    found = reaching(function)
    loops = [stmt for stmt in ir.statements(function.body) if isinstance(stmt, ir.For)]
    for loop, escaping in zip(loops, found.escaping, strict=True):
        if escaping:
            fail(stage, f"loop variable {min(escaping)} is rebound or read after its loop", loop)
    for _, name in sorted(renamed_webs(function, found, Names())[1].items()):
        fail(stage, f"`{name}` of `{function.name}` has definitions that never meet", None)


# ----------------------------------------------------------------------- the normal form


def _require_flat(stmt: ir.Stmt, stage: str) -> None:
    """The statement's values are atoms, or one operation on atoms."""
    match stmt:
        case ir.Assign(value=value) | ir.Do(value=value):
            flat = _is_operation(value)
        case ir.Store(target=target, value=value) | ir.Update(target=target, value=value):
            flat = stays_nested(value) and (isinstance(target, ir.Var) or _is_operation(target))
        case ir.For(iter=iterable):
            flat = _is_header(iterable)
        case ir.Return(value=value):
            flat = value is None or _is_result(value)
        case _:
            flat = True  # tests and opaque code stay whole
    if not flat:
        fail(stage, "more than one operation in a statement", stmt)


def _is_operation(expr: ir.Expr) -> bool:
    if stays_nested(expr) or is_comparison(expr):
        return True
    match expr:
        case ir.Call(fn=fn):
            callee = stays_nested(fn) or (isinstance(fn, ir.Attribute) and stays_nested(fn.base))
            return callee and all(map(_is_operand, ir.children(expr)[1:]))
        case ir.Index(base=base, key=key):
            return stays_nested(base) and _is_key(key)
        case ir.Attribute(base=base):
            return stays_nested(base)
        case ir.Display():
            return all(map(_is_operand, ir.children(expr)))
        case ir.Lazy():
            return keeps_whole(expr)
    return isinstance(expr, ir.Opaque)


def _is_operand(expr: ir.Expr) -> bool:
    return stays_nested(expr) or is_shape_tuple(expr) or is_generator(expr)


def _is_key(key: ir.Expr) -> bool:
    """A key holds no call that may have an effect."""
    match key:
        case ir.Call(fn=fn) if not (is_arithmetic(fn) or is_truth(fn)):
            return is_repeatable(key)
    return all(map(_is_key, ir.children(key)))


def _is_header(expr: ir.Expr) -> bool:
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj)) if id(obj) in HEADERS:
            return all(map(_is_header, ir.children(expr)[1:]))
    return stays_nested(expr) or isinstance(expr, ir.Opaque)


def _is_result(expr: ir.Expr) -> bool:
    if isinstance(expr, ir.Display):
        return all(map(_is_result, ir.children(expr)))
    return stays_nested(expr)
