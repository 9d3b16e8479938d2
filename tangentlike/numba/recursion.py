"""Tapes of functions that call themselves, by their places in a list.

The tape of such a function holds tapes of its own calls, and so would a type hold itself, which
Numba has none for. A tape is a number here: its place in a list of all tapes of the function.
Whoever calls the function from outside makes that list, and the calls hand it on. Numba asks for
the type of what a list holds: the first tape in it, that of no call, says it.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from .. import ir
from ..ad.specialize.callees import Emitted
from ..codegen.optimize.facts import Facts
from ..codegen.optimize.stacks import is_push, taped_names, unpacked_names
from ..errors import InternalError
from ..ir.facts import fact
from ..ir.index import all_names, references
from ..ir.kind import Kind
from ..ir.names import Names
from ..rules.book import RuleBook
from .short_arrays import compiled_kind, compiled_kinds

_NUMBERS: Mapping[str, object] = {"float": 0.0, "int": 0, "bool": False, "complex": 0j}
_DTYPES = {"float": (), "int": ("int64",), "bool": ("bool_",), "complex": ("complex128",)}


def tapes_in_lists(
    functions: Sequence[ir.Function], facts: Mapping[str, Facts], book: RuleBook
) -> tuple[ir.Function, ...]:
    """The functions, those that call themselves with their tapes in lists.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.rules.book import default_book
    >>> names = {name: Emitted(name) for name in ("g_fwd", "g_bwd")}
    >>> def function(name, params, text):
    ...     made = dataclasses.replace(program(text, names), name=name)
    ...     return dataclasses.replace(made, params=tuple(map(ir.Param, params.split())))
    >>> fwd = function("g_fwd", "x n", '''y = x
    ... g_tape = None
    ... if n > 0:
    ...     y, g_tape = g_fwd(x * x, n - 1)
    ... return y, (x, n, g_tape)''')
    >>> bwd = function("g_bwd", "tape y_bar", '''x, n, g_tape = tape
    ... if n > 0:
    ...     y_bar = 2.0 * x * g_bwd(g_tape, y_bar)
    ... return y_bar''')
    >>> bwd = dataclasses.replace(bwd, empties=("tape",))
    >>> main = function("f", "x n", "y, g_tape = g_fwd(x, n); return g_bwd(g_tape, 1.0)")
    >>> kinds = {"x": Kind("number", "float", ()), "n": Kind("number", "int", ())}
    >>> facts = dict.fromkeys(("g_fwd", "g_bwd", "f"), Facts(kinds))
    >>> for made in tapes_in_lists((fwd, bwd, main), facts, default_book()):
    ...     print(show(made.body))
    y = x
    g_tape = 0
    if n > 0:
        y, g_tape = g_fwd(x * x, n - 1, g_tapes)
    g_tapes.append((x, n, g_tape))
    return y, len(g_tapes) - 1
    x, n, g_tape = g_tapes[tape]
    if n > 0:
        y_bar = 2.0 * x * g_bwd(g_tape, y_bar, g_tapes)
    return y_bar
    g_tapes = [(0.0, 0, 0)]
    y, g_tape = g_fwd(x, n, g_tapes)
    return g_bwd(g_tape, 1.0, g_tapes)
    """
    made, numbered = list(functions), set[str]()
    for places in _groups(functions):
        group = _Group(made, places, numbered, facts, book)
        changed = group.changed()
        if changed is not None:
            made, numbered = changed, group.numbered
    for at, fn in enumerate(made):
        taped = taped_names(fn) or ()
        if fn.name not in numbered and _none_where_not_bound(fn.body, taped):
            samples = _Samples(fn, {}, made, numbered, facts, book)
            made[at] = ir.with_body(fn, _typed(fn.body, taped, samples))
    return tuple(made)


def _called(function: ir.Function) -> frozenset[str]:
    """The functions of ours that a function names."""
    refs = (ref for ref in fact(references, function) if isinstance(ref.obj, Emitted))
    return frozenset(ref.text for ref in refs)


def _groups(functions: Sequence[ir.Function]) -> list[list[int]]:
    """Forward functions that call themselves, or each other, by their places; those that others
    call come first."""
    called = {fn.name: _called(fn) for fn in functions}
    reached = {name: _reached(name, called) for name in called}
    groups: list[list[int]] = []
    for at, (fwd, bwd) in enumerate(itertools.pairwise(functions)):
        names, taped = unpacked_names(bwd), taped_names(fwd)
        if fwd.name not in reached[fwd.name] or names is None or taped is None:
            continue
        if len(names) != len(taped):
            continue
        for group in groups:
            other = functions[group[0]].name
            if other in reached[fwd.name] and fwd.name in reached[other]:
                group.append(at)
                break
        else:
            groups.append([at])
    return sorted(groups, key=lambda group: len(reached[functions[group[0]].name]))


def _reached(name: str, called: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The functions that a function calls, or those do."""
    found, more = frozenset[str](), called[name]
    while more - found:
        found |= more
        more = more.union(*(called.get(each, ()) for each in more))
    return found


@dataclass(frozen=True)
class _Pair:
    """A forward function that calls itself, its backward function, and the list of its tapes."""

    fwd: ir.Function
    bwd: ir.Function
    tapes: str


class _Group:
    """Functions that call each other, among all `functions` of a module; the tapes that those
    give which are `numbered` are places in lists."""

    def __init__(
        self,
        functions: Sequence[ir.Function],
        group: Sequence[int],
        numbered: Set[str],
        facts: Mapping[str, Facts],
        book: RuleBook,
    ) -> None:
        self.functions, self.facts, self.book = functions, facts, book
        names = Names(frozenset[str]().union(*map(all_names, functions)))
        self.pairs = [
            _Pair(fwd, bwd, names.fresh(fwd.name.replace("_fwd", "_tapes")))
            for fwd, bwd in (functions[at : at + 2] for at in group)
        ]
        self.tapes = tuple(pair.tapes for pair in self.pairs)
        self.inside = {fn.name for pair in self.pairs for fn in (pair.fwd, pair.bwd)}
        self.forward = {pair.fwd.name for pair in self.pairs}
        self.numbered = {*numbered, *self.forward}

    def changed(self) -> list[ir.Function] | None:
        """The functions as they are then; None where it is not known of which types a tape is."""
        made, making = list(self.functions), set[int]()
        for at, fn in enumerate(self.functions):
            calls = _called(fn) & self.inside
            if fn.name in self.inside or not calls:
                continue
            handed: Sequence[ir.Function] | None = None
            if at - 1 in making and unpacked_names(fn) is not None:
                handed = self._handed_on(made[at - 1], fn) if not calls & self.forward else None
                made[at - 1 : at + 1] = handed or ()
            elif calls & self.forward:
                making.add(at)
                made[at : at + 1] = handed = self._with_lists(fn)
            if not handed:
                return None
        for pair in self.pairs:
            at = next(k for k, fn in enumerate(made) if fn.name == pair.fwd.name)
            made[at : at + 2] = self._forward(pair), self._backward(pair)
        return [self._calling(fn) for fn in made]

    # ---------------------------------------------------------------- who calls them

    def _with_lists(self, fn: ir.Function) -> tuple[ir.Function, ...]:
        """A function that makes the lists; none where it is not known what is in them."""
        origin = next(stmt for stmt in ir.statements(fn.body) if self._calls(stmt)).origin
        made: list[ir.Stmt] = []
        for pair in self.pairs:
            tape = self._samples(pair.fwd, _given(pair.fwd, fn)).of_tape()
            if tape is None:
                return ()
            made.append(ir.Assign(pair.tapes, ir.Display("list", (tape,)), origin))
        return (ir.with_body(fn, (*made, *fn.body)),)

    def _calls(self, stmt: ir.Stmt) -> bool:
        parts = ir.walk_statement(stmt)
        return any(isinstance(part, ir.Ref) and part.text in self.inside for part in parts)

    def _handed_on(
        self, fwd: ir.Function, bwd: ir.Function
    ) -> tuple[ir.Function, ir.Function] | None:
        """A pair outside that has the lists on its tape."""
        names, taped = unpacked_names(bwd), taped_names(fwd)
        if names is None or taped is None or len(names) != len(taped):
            return None
        *rest, end = fwd.body
        taking = bwd.body[0]
        assert isinstance(end, ir.Return) and isinstance(end.value, ir.Display)
        assert isinstance(taking, ir.Assign) and isinstance(taking.target, tuple)
        result, tape = end.value.items
        assert isinstance(tape, ir.Display)
        tape = ir.Display("tuple", (*tape.items, *map(ir.Var, self.tapes)))
        returned = ir.Return(ir.Display("tuple", (result, tape)), end.origin)
        taken = ir.Assign((*taking.target, *self.tapes), taking.value, taking.origin)
        return (
            ir.with_body(fwd, (*rest, returned)),
            ir.with_body(bwd, (taken, *bwd.body[1:])),
        )

    # ---------------------------------------------------------------- themselves

    def _forward(self, pair: _Pair) -> ir.Function:
        """The forward function, which puts its tape into the list."""
        *rest, end = pair.fwd.body
        assert isinstance(end, ir.Return) and isinstance(end.value, ir.Display)
        result, tape = end.value.items
        tapes = ir.Var(pair.tapes)
        place = ir.Call(ir.SUB, (ir.Call(ir.LEN, (tapes,)), ir.Const(1)))
        block = _typed(tuple(rest), taped_names(pair.fwd) or (), self._samples(pair.fwd))
        put = ir.Do(ir.Call(ir.Attribute(tapes, "append"), (tape,)), end.origin)
        returned = ir.Return(ir.Display("tuple", (result, place)), end.origin)
        return self._given_lists(ir.with_body(pair.fwd, (*block, put, returned)))

    def _backward(self, pair: _Pair) -> ir.Function:
        """The backward function, which takes its tape from the list."""
        taking, *rest = pair.bwd.body
        assert isinstance(taking, ir.Assign)
        tape = ir.Index(ir.Var(pair.tapes), taking.value)
        taken = ir.Assign(taking.target, tape, taking.origin)
        return self._given_lists(ir.with_body(pair.bwd, (taken, *rest)))

    def _given_lists(self, fn: ir.Function) -> ir.Function:
        params = (*fn.params, *map(ir.Param, self.tapes))
        return dataclasses.replace(fn, params=params, empties=())

    def _calling(self, fn: ir.Function) -> ir.Function:
        """A function whose calls hand the lists on."""

        def call(expr: ir.Expr) -> ir.Expr:
            expr = ir.rebuild(expr, call)
            match expr:
                case ir.Call(fn=ir.Ref(text=text, obj=Emitted())) if text in self.inside:
                    if expr.kwargs:
                        more = ((name, ir.Var(name)) for name in self.tapes)
                        return dataclasses.replace(expr, kwargs=(*expr.kwargs, *more))
                    return dataclasses.replace(expr, args=(*expr.args, *map(ir.Var, self.tapes)))
            return expr

        return ir.with_body(fn, ir.rewrite(fn.body, expression=call))

    def _samples(self, fn: ir.Function, given: Mapping[str, ir.Expr] | None = None) -> _Samples:
        return _Samples(fn, given or {}, self.functions, self.numbered, self.facts, self.book)


def _none_where_not_bound(block: ir.Block, taped: Sequence[str | None]) -> list[str]:
    """The names on a tape that some calls bind and others give None."""
    assigned = (stmt for stmt in ir.statements(block) if isinstance(stmt, ir.Assign))
    none = {stmt.target for stmt in assigned if stmt.value == ir.Const(None)}
    return [name for name in dict.fromkeys(taped) if name is not None and name in none]


def _typed(block: ir.Block, taped: Sequence[str | None], samples: _Samples) -> ir.Block:
    """Statements of a forward function in which each name on the tape has one type: where it would
    be None it is a zero, or an empty array or list."""
    none = _none_where_not_bound(block, taped)
    lists = [name for name in none if _pushes(samples.function, name)]

    def typed(stmt: ir.Stmt) -> ir.Instead:
        if isinstance(stmt, ir.Assign) and stmt.target in lists:
            return ()  # (it is made at the beginning)
        match stmt:
            case ir.Assign(str(name), ir.Const(None)) if name in none:
                value = samples.of_name(name)
                return None if value is None else ir.Assign(name, value, stmt.origin)
        return None

    origin = ir.Origin(samples.function.place, "save")
    made = (ir.Assign(name, ir.Display("list", ()), origin) for name in lists)
    return (*made, *ir.rewrite(block, typed))


def _given(fwd: ir.Function, caller: ir.Function) -> dict[str, ir.Expr]:
    """The parameters of a function that are those of a caller."""
    own = {*caller.param_names}.difference(*map(ir.binds, ir.statements(caller.body)))
    for stmt in ir.statements(caller.body):
        for part in ir.walk_statement(stmt):
            match part:
                case ir.Call(fn=ir.Ref(text=text), args=args) if text == fwd.name:
                    pairs = zip(fwd.param_names, args, strict=False)
                    return {p: v for p, v in pairs if isinstance(v, ir.Var) and v.name in own}
    return {}


class _Samples:
    """Values of the types that the names of a function have; `given` are parameters that are
    those of a caller."""

    def __init__(
        self,
        function: ir.Function,
        given: Mapping[str, ir.Expr],
        functions: Sequence[ir.Function],
        numbered: Set[str],
        facts: Mapping[str, Facts],
        book: RuleBook,
        around: tuple[str, ...] = (),
    ) -> None:
        self.function, self.functions, self.numbered = function, functions, numbered
        self.around = around
        self.facts, self.book = facts, book
        self.own = facts[function.name]
        known = {name: kind for name, kind in self.own.kinds.items() if kind.form != "unknown"}
        self.kinds = {**compiled_kinds(_without_calls(function), self.own, book), **known}
        self.given = given
        self.asked = set[str]()

    def of_tape(self) -> ir.Expr | None:
        """A tape of the function."""
        match self.function.body[-1]:
            case ir.Return(value=ir.Display(items=(_, ir.Display(form="tuple", items=items)))):
                return self._tuple(items)
        return None

    def of_name(self, name: str) -> ir.Expr | None:
        if name in self.asked:
            return None
        self.asked.add(name)
        try:
            return self._of_name(name)
        finally:
            self.asked.discard(name)

    def _of_name(self, name: str) -> ir.Expr | None:
        if name in self.given and self.kinds.get(name, Kind()).form != "number":
            return self.given[name]
        pushed = _pushes(self.function, name)
        if pushed:
            item = self._of(pushed[0])
            return None if item is None else ir.Display("list", (item,))
        for stmt in ir.statements(self.function.body):
            match stmt:
                case ir.Assign((_, str(tape)), ir.Call(fn=ir.Ref(text=text, obj=Emitted()))) if (
                    tape == name
                ):
                    return self._of_call(text)
                case ir.Assign((str(result), _), ir.Call(fn=ir.Ref(text=text, obj=Emitted()))) if (
                    result == name and self.kinds.get(name, Kind()).form not in ("number", "array")
                ):
                    return self._of_result(text)
                case ir.Assign(str(made), ir.Display("list", (_, *_)) as value) if made == name:
                    return self._of(value)
        known = self._of_kind(self.kinds.get(name, Kind()))
        if known is not None:
            return known
        return next((v for v in map(self._of, self._saved(name)) if v is not None), None)

    def _saved(self, name: str) -> list[ir.Expr]:
        """What a name is given that only saves it."""
        assigned = (s for s in ir.statements(self.function.body) if isinstance(s, ir.Assign))
        values = [stmt.value for stmt in assigned if stmt.target == name]
        return [value for value in values if value != ir.Const(None)]

    def _of_call(self, text: str) -> ir.Expr | None:
        """A tape that a call gives."""
        if text in self.numbered:
            return ir.Const(0)
        called = self._called(text)
        return None if called is None else called.of_tape()

    def _of_result(self, text: str) -> ir.Expr | None:
        """What a call gives besides its tape."""
        called = self if text == self.function.name else self._called(text)
        return None if called is None else called._of(_result(called.function))

    def _called(self, text: str) -> _Samples | None:
        called = next((fn for fn in self.functions if fn.name == text), None)
        if called is None or text in self.around or taped_names(called) is None:
            return None
        around = (*self.around, self.function.name)
        return _Samples(called, {}, self.functions, self.numbered, self.facts, self.book, around)

    def _of(self, expr: ir.Expr) -> ir.Expr | None:
        match expr:
            case ir.Display(form="tuple", items=items):
                return self._tuple(items)
            case ir.Display(form="list", items=(item, *_)):
                found = self._of(item)
                return None if found is None else ir.Display("list", (found,))
            case ir.Const():
                return expr
            case ir.Var(name):
                return self.of_name(name)
            case ir.Call(fn=ir.Ref(obj=type() as cls) as fn, args=args, kwargs=()) if issubclass(
                cls, tuple
            ) and hasattr(cls, "_fields"):
                made = self._tuple(args)
                return None if made is None else ir.Call(fn, made.items)
        return self._of_kind(compiled_kind(expr, self.kinds, self.book))

    def _tuple(self, items: Sequence[ir.Expr]) -> ir.Display | None:
        return _whole(map(self._of, items))

    def _of_kind(self, kind: Kind) -> ir.Expr | None:
        if kind.form == "number" and kind.dtype in _NUMBERS:
            return ir.Const(_NUMBERS[kind.dtype])
        if kind.form == "array" and kind.rank and kind.dtype in _DTYPES:
            dtype = map(self.own.numpy_function, _DTYPES[kind.dtype])
            sizes = (ir.Const(0),) * kind.rank
            shape = sizes[0] if len(sizes) == 1 else ir.Display("tuple", sizes)
            return ir.Call(self.own.numpy_function("empty"), (shape, *dtype))
        if kind.form == "tuple" and kind.items:
            made = _whole(map(self._of_kind, kind.items))
            return self._named(kind, made.items) if kind.names and made is not None else made
        return None

    def _named(self, kind: Kind, items: tuple[ir.Expr, ...]) -> ir.Expr | None:
        """A named tuple of these items, of the one class with its fields that is made."""
        refs = (ref for fn in self.functions for ref in fact(references, fn))
        classes = {id(ref.obj): ref for ref in refs if _fields(ref.obj) == kind.names}
        return ir.Call(next(iter(classes.values())), items) if len(classes) == 1 else None


def _whole(items: Iterable[ir.Expr | None]) -> ir.Display | None:
    """A tuple of which all items are known."""
    found = list(items)
    known = tuple(item for item in found if item is not None)
    return ir.Display("tuple", known) if len(known) == len(found) else None


def _fields(obj: object) -> tuple[str, ...]:
    """The fields of a class of named tuples."""
    found = getattr(obj, "_fields", ()) if isinstance(obj, type) else ()
    return found if isinstance(found, tuple) else ()


def _result(function: ir.Function) -> ir.Expr:
    """What a forward function gives besides its tape."""
    match function.body[-1]:
        case ir.Return(value=ir.Display(items=(result, _))):
            return result
    raise InternalError("numba", f"`{function.name}` gives no tape")


def _without_calls(function: ir.Function) -> ir.Function:
    """A function that gets from calls of itself what it gives where it makes none."""
    result, ends = _result(function), list[ir.Expr]()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(str(name), value) if ir.Var(name) == result:
                ends.append(value)

    def plain(stmt: ir.Stmt) -> ir.Instead:
        match stmt:
            case ir.Assign(value=ir.Const(None)):
                return ()
            case ir.Assign((str(name), _), ir.Call(fn=ir.Ref(text=function.name))) if ends:
                return ir.Assign(name, ends[0], stmt.origin)
        return None

    return ir.with_body(function, ir.rewrite(function.body, plain))


def _pushes(function: ir.Function, name: str) -> list[ir.Expr]:
    """What a function appends to a list."""
    return [
        stmt.value.args[0]
        for stmt in ir.statements(function.body)
        if isinstance(stmt, ir.Do) and isinstance(stmt.value, ir.Call) and is_push(stmt)
        if isinstance(stmt.value.fn, ir.Attribute) and stmt.value.fn.base == ir.Var(name)
    ]
