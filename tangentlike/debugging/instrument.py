"""An emitted text with probes in it: the same program, which says what it does.

Every statement with an index gets calls of a `Probe` around it; with `deep`, every operation
within an expression as well. The text, its file name and its line numbers stay those of the
derivative, so that tracebacks and places are right. Nothing is computed twice but names that are
read after they were bound, and items of them whose key calls nothing.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, cast

from .. import ir
from ..codegen.print import load
from ..codegen.print.bindings import Binding, Bindings
from ..codegen.print.module import definitions
from ..dispatch.derivation import Derivation
from ..errors import Place
from .linemap import LineMap, Program, program_of, user_place

PROBE = "__tangentlike_probe__"


@dataclass
class Operation:
    """An operation in an emitted text: `operands` are the indices of those it is applied to."""

    index: int
    statement: int
    node: ast.expr | ast.stmt
    text: str
    place: Place | None
    operands: tuple[int, ...] = ()
    column: int = 0
    role: str = ""  # where it is not that of its statement


class Probe:
    """What instrumented statements call; each call may be overridden.

    The statement `y = f(x)` becomes `start(3); y = f(x); done(3, y)`.
    """

    lines: LineMap
    names: dict[int, tuple[str, ...]]  # what `done` is given, by statement
    operations: list[Operation]
    loops: dict[int, tuple[int, ...]]  # those that a statement stands in, outermost first

    def prepare(self) -> None:
        """Called when the program is known, before it runs."""
        lines = self.lines
        self.loops = {s.index: tuple(up.index for up in lines.loops(s)) for s in lines.statements}

    def enter(self, function: str, values: dict[str, Any]) -> None:
        """A function begins, with these arguments."""

    def leave(self) -> None:
        """A function ends, by a `return` or by an exception."""

    def start(self, index: int) -> None:
        """A statement begins (of a loop: before its first iteration)."""

    def done(self, index: int, *values: Any) -> None:
        """A statement ended; `values` are those of `names[index]`."""

    def returned(self, index: int, value: Any) -> Any:
        """The value that a function returns."""
        return value

    def each(self, index: int, items: Any) -> Iterator[Any]:
        """The items that a `for` goes through."""
        yield from items

    def test(self, index: int, value: Any) -> Any:
        """The test of an `if` or `while`."""
        return value

    def see(self, number: int, value: Any) -> Any:
        """The value of an operation (`deep` only)."""
        return value

    def before(self, number: int, value: Any) -> None:
        """What an operation is about to write (`deep` only)."""

    def after(self, number: int, value: Any) -> None:
        """What an operation has written (`deep` only)."""


class StandIns(ABC):
    """Puts instrumented functions in the place of emitted ones while a derivative is watched."""

    deep = False  # whether operations are seen

    def __init__(self) -> None:
        self.programs: dict[int, tuple[Derivation, dict[str, FunctionType], Probe]] = {}

    @abstractmethod
    def probe(self, number: int) -> Probe:
        """The probe of the program with this number."""

    def __call__(self, derivation: Derivation, function: Callable[..., Any]) -> Callable[..., Any]:
        if function not in derivation.derived.functions:
            return function
        known = self.programs.get(id(derivation))
        if known is None:
            probe = self.probe(len(self.programs))
            made = instrumented(program_of(derivation), probe, self.deep)
            probe.prepare()
            known = self.programs[id(derivation)] = derivation, made, probe
        return known[1][function.__name__]


def instrumented(program: Program, probe: Probe, deep: bool = False) -> dict[str, FunctionType]:
    """The functions of a derivative with probes in them, by name."""
    probe.lines, probe.names, probe.operations = program.lines, {}, []
    places = program.places if deep else {}
    writer = _Writer(program.numbers, probe, deep, places)
    tree = copy.copy(program.emitted.tree)
    tree.body = [writer.definition(node) for node in tree.body]
    ast.fix_missing_locations(tree)
    emitted = dataclasses.replace(
        program.emitted, tree=tree, bindings=_with_probe(program.emitted.bindings, probe)
    )
    assert len(definitions(tree)) == len(definitions(program.emitted.tree))
    return load(emitted)


def _with_probe(bindings: Bindings, probe: Probe) -> Bindings:
    mine = Binding("given", "", PROBE, probe, id(probe))
    by_function = {name: {**own, PROBE: mine} for name, own in bindings.by_function.items()}
    return Bindings(by_function, bindings.names_in_file)


@dataclass
class _Writer:
    """Writes the statements of an emitted text anew, with calls of the probe between them."""

    numbers: Mapping[ast.AST, int]
    probe: Probe
    deep: bool
    places: Mapping[ast.AST, Place]
    at: ast.AST = field(default_factory=ast.Pass)  # where the calls that are added stand
    statement: int = -1
    role: str = ""
    local: frozenset[str] = frozenset()  # the names that are values of the function, no modules

    # ----------------------------------------------------------------------- functions

    def definition(self, node: Any) -> Any:
        if isinstance(node, ast.ClassDef):
            made = copy.copy(node)
            made.body = [self.definition(inner) for inner in node.body]
            return made
        if not isinstance(node, ast.FunctionDef):
            return node
        made_function = copy.copy(node)
        self.at = node.body[0]
        args = node.args
        names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
        names += [a.arg for a in (args.vararg, args.kwarg) if a is not None]
        inner = (n for n in ast.walk(node) if isinstance(n, ast.Name))
        self.local = frozenset([*names, *(n.id for n in inner if isinstance(n.ctx, ast.Store))])
        given = ast.Dict([ast.Constant(n) for n in names], [_read(n) for n in names])
        enter = self.do("enter", ast.Constant(node.name), given)
        body = self.block(node.body)
        leave = self.do("leave")
        made_function.body = [self.put(ast.Try([enter, *body], [], [], [leave]))]
        return made_function

    def block(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        return [made for node in nodes for made in self.written(node)]

    # ---------------------------------------------------------------------- statements

    def written(self, node: ast.stmt) -> list[ast.stmt]:
        index = self.numbers.get(node)
        if index is None:
            return [node]
        self.at, self.statement = node, index
        start = self.do("start", ast.Constant(index))
        made = copy.copy(node)
        match made:
            case ast.For():
                items = self.value(made.iter)
                made.iter = self.call("each", ast.Constant(index), items)
                made.body = self.block(made.body)
                return [start, made]
            case ast.While() | ast.If():
                made.test = self.call("test", ast.Constant(index), self.value(made.test))
                made.body, made.orelse = self.block(made.body), self.block(made.orelse)
                return [start, made]
            case ast.With():
                made.body = self.block(made.body)
                return [start, made]
            case ast.Try():
                made.body, made.orelse = self.block(made.body), self.block(made.orelse)
                made.handlers = [self._handler(h) for h in made.handlers]
                return [start, made]
            case ast.Return() if made.value is not None:
                given = self.probe.lines.statements[index].given
                self.probe.names[index] = _returned_names(made.value, given)
                parts = self._returned(made.value, given) if given else self.value(made.value)
                made.value = self.call("returned", ast.Constant(index), parts)
                return [start, made]
            case ast.Break() | ast.Continue() | ast.Raise() | ast.Return():
                return [start, made]
        return [start, *self._simple(node, made, index)]

    def _returned(self, node: ast.expr, given: ir.Target) -> ast.expr:
        """What a `return` gives, of which some parts are adjoints."""
        if isinstance(given, tuple) and isinstance(node, ast.Tuple):
            made = copy.copy(node)
            made.elts = list(map(self._returned, node.elts, given))
            return made
        self.role = "" if given else "primal"
        made_part, self.role = self.value(node), ""
        return made_part

    def _handler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        made = copy.copy(node)
        made.body = self.block(node.body)
        return made

    def _simple(self, node: ast.stmt, made: ast.stmt, index: int) -> list[ast.stmt]:
        targets = _shown(node)
        self.probe.names[index] = tuple(ast.unparse(t) for t in targets)
        around: tuple[list[ast.stmt], list[ast.stmt]] = [], []
        if self.deep:
            around = self._deeply(node, made, targets)
        self.at = node
        done = self.do("done", ast.Constant(index), *map(_again, targets))
        return [*around[0], made, *around[1], done]

    def _deeply(
        self, node: ast.stmt, made: Any, targets: list[ast.expr]
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The operations of a simple statement seen, and what it writes in place."""
        match node:
            case ast.Assign(value=value):
                made.value = self.value(value)
                written = [t for t in node.targets if isinstance(t, ast.Subscript | ast.Attribute)]
                if written:
                    return [], [self._after(node, written[0], [self.seen(value)])]
            case ast.AugAssign(value=value):
                made.value = self.value(value)
                number = self.operation(node, (self.seen(value),), self.places.get(value))
                target = _again(targets[0])
                before = self.do("before", ast.Constant(number), target)
                return [before], [self.do("after", ast.Constant(number), target)]
            case ast.Expr(ast.Call() as call):
                made.value = self.value(call)
                outputs: list[Any] = [out] if (out := _out(call)) is not None else []
                if not outputs and self._owner(call) is None:
                    outputs = [a for a in call.args[:1] if isinstance(a, ast.Name)]
                return [], [self._after(node, t, self.operands_of(call)) for t in outputs]
        return [], []

    def _after(self, node: ast.stmt, target: ast.expr, operands: Iterable[int]) -> ast.stmt:
        number = self.operation(node, tuple(n for n in operands if n >= 0), None)
        base = target
        while isinstance(base, ast.Subscript | ast.Attribute):
            base = base.value
        return self.do("after", ast.Constant(number), _again(base))

    # --------------------------------------------------------------------- expressions

    def value(self, node: ast.expr) -> ast.expr:
        """An expression whose operations are seen, if that is asked for."""
        return self.watched(node) if self.deep else node

    def watched(self, node: ast.expr) -> ast.expr:
        if not _is_watched(node):
            return node
        made = copy.copy(node)
        for name in _OPERANDS[type(node)]:
            part = getattr(node, name)
            new = [self._part(p) for p in part] if isinstance(part, list) else self._part(part)
            setattr(made, name, new)
        if isinstance(node, ast.Call) and (owner := self._owner(node)) is not None:
            made.func = copy.copy(node.func)  # type: ignore[attr-defined]
            made.func.value = self.watched(owner)  # type: ignore[attr-defined]
        number = self.operation(node, tuple(self.operands_of(node)), self.places.get(node))
        return self.call("see", ast.Constant(number), made)

    def _part(self, part: Any) -> Any:
        if isinstance(part, ast.keyword | ast.Starred):
            made = copy.copy(part)
            made.value = self.watched(part.value)
            return made
        if isinstance(part, ast.Name) and part.id not in self.local:
            return part  # (a module)
        return part if part is None else self.watched(part)

    def _owner(self, call: ast.Call) -> ast.expr | None:
        """The value whose method a call is."""
        if not isinstance(call.func, ast.Attribute):
            return None
        root: ast.expr = call.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.local:
            return None
        return call.func.value

    def operands_of(self, node: ast.expr) -> Iterator[int]:
        """The numbers of the operations that an operation is applied to."""
        parts: list[Any] = [] if not isinstance(node, ast.Call) else [self._owner(node)]
        for name in _OPERANDS.get(type(node), ()):
            part = getattr(node, name)
            parts += part if isinstance(part, list) else [part]
        for part in parts:
            inner = part.value if isinstance(part, ast.keyword | ast.Starred) else part
            if (number := self.seen(inner)) >= 0:
                yield number

    def seen(self, node: Any) -> int:
        """The number of an operation, -1 for what is not seen."""
        return int(getattr(node, "_number", -1))

    def operation(self, node: Any, operands: tuple[int, ...], place: Place | None) -> int:
        number = len(self.probe.operations)
        node._number = number
        found = None if place is None else user_place(place)
        text = ast.unparse(node)
        column, role = node.col_offset, self.role
        made = Operation(number, self.statement, node, text, found, operands, column, role)
        self.probe.operations.append(made)
        return number

    # ------------------------------------------------------------------ what is added

    def call(self, method: str, *args: ast.expr) -> ast.expr:
        function = ast.Attribute(_read(PROBE), method, ast.Load())
        return cast(ast.expr, self.put(ast.Call(function, list(args), [])))

    def do(self, method: str, *args: ast.expr) -> ast.stmt:
        return cast(ast.stmt, self.put(ast.Expr(self.call(method, *args))))

    def put(self, node: Any) -> Any:
        return ast.copy_location(node, self.at)


def _read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


_OPERANDS: dict[type, tuple[str, ...]] = {
    ast.BinOp: ("left", "right"),
    ast.UnaryOp: ("operand",),
    ast.Call: ("args", "keywords"),
    ast.Subscript: ("value",),
    ast.Attribute: ("value",),
    ast.Tuple: ("elts",),
    ast.List: ("elts",),
    ast.Dict: ("values",),
    ast.IfExp: ("body", "orelse"),
    ast.BoolOp: ("values",),
    ast.Name: (),
    ast.Constant: (),
    ast.ListComp: (),
}


def _is_watched(node: Any) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id not in ("super", "locals", "range", "len", "isinstance")
    return type(node) in _OPERANDS


def _again(target: ast.expr) -> ast.expr:
    """What was bound, to be read."""
    made = copy.copy(target)
    if hasattr(made, "ctx"):
        made.ctx = ast.Load()
    return made


def _shown(node: ast.stmt) -> list[ast.expr]:
    """What a simple statement binds or writes, as far as it can be read again."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign():
            targets = node.targets
        case ast.AugAssign():
            targets = [node.target]
        case ast.Expr(ast.Call() as call):
            out = _out(call)
            owner = call.func.value if isinstance(call.func, ast.Attribute) else None
            first = call.args[0] if call.args else None
            methods = isinstance(owner, ast.Name) and not _looks_like_module(call.func)
            either: tuple[Any, ...] = (out, owner if methods else first)
            named: list[Any] = [t for t in either if isinstance(t, ast.Name)]
            targets = named[:1]
    return [part for target in targets for part in _parts(target)]


def _looks_like_module(func: ast.expr) -> bool:
    """`np.copyto(a, b)` writes its argument, `xs.append(v)` its owner."""
    return isinstance(func, ast.Attribute) and func.attr in ("copyto", "put", "at", "place")


def _out(call: ast.Call) -> ast.Name | None:
    """The name given as `out=`."""
    found = (k.value for k in call.keywords if k.arg == "out")
    return next((value for value in found if isinstance(value, ast.Name)), None)


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    match target:
        case ast.Tuple() | ast.List():
            for part in target.elts:
                yield from _parts(part)
        case ast.Starred():
            yield from _parts(target.value)
        case ast.Name():
            yield target
        case ast.Subscript() | ast.Attribute():
            plain = not any(isinstance(n, ast.Call | ast.NamedExpr) for n in ast.walk(target))
            if plain:
                yield target
            else:
                yield from _parts(target.value)


def _returned_names(value: ast.expr, given: ir.Target) -> tuple[str, ...]:
    if isinstance(value, ast.Tuple) and not (given and isinstance(given, str)):
        return tuple(map(_short, value.elts, given or [""] * len(value.elts)))
    return (_short(value, given),)


def _short(value: ast.expr, given: ir.Target) -> str:
    if given and isinstance(given, str):
        return given
    text = ast.unparse(value)
    if given and isinstance(value, ast.Tuple):
        text = f"({', '.join(map(_short, value.elts, given))})"
    return text if len(text) <= 24 else "..."
