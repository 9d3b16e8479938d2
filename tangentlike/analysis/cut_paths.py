"""Where a value with a derivative goes on without it: as text that becomes a number again, as an
item of a set or a key of a dict that is gone through by its keys, and as an entry of an array of
integers.

`float(f"{x}")` is `x` again, and `for k in {x: 1.0}` yields it; neither text nor keys carry
derivatives, so that the result would have a derivative of zero. Both are refused, and so is what
may be read again from a file (`files`); where only the run knows whether a key is a number, the
text asks there. What a function that is called does of
this is among its effects (`cut_effects`).
"""

from __future__ import annotations

import ast
import builtins
import decimal
import fractions
import operator
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import numpy as np

from .. import ir
from ..errors import Place, UnsupportedError
from ..frontend.cuts import Cuts
from ..ir.facts import fact
from ..ir.index import forms, references
from ..ir.kind import UNKNOWN, Kind
from ..rules.book import as_function_call, operation
from ..runtime import (
    plain_item,
    plain_items,
    require_floats,
    require_no_text,
    require_plain_key,
    require_plain_keys,
    stop_gradient,
    zeros_like,
)
from ..runtime.records import attribute_of
from .activity import reaching
from .files import FILES, full_name, gives_numbers, of_files, reads_file, writes_file
from .flow import EffectsOf, Flow
from .memory import Effects, Sources
from .operations import bind_actuals, is_python_function

_TEXT: tuple[Any, ...] = (
    *(str, repr, format, ascii, print, np.array2string, np.array_str, np.array_repr),
    *(np.format_float_positional, np.format_float_scientific),
    "json.dumps",  # (not imported for this)
)
_TEXT_METHODS = ("format", "join")
_ARRAYS: tuple[Any, ...] = (np.array, np.asarray)
_NUMBERS: tuple[Any, ...] = (
    *(float, complex, np.float64, np.float32, np.float16, np.longdouble, np.complex128),
    *(np.fromstring, np.genfromtxt, np.loadtxt, "json.loads"),
    *(ast.literal_eval, decimal.Decimal, fractions.Fraction),
)
_BY_KEY = ("get", "pop", "setdefault", "values", "update", "clear", "copy", "__contains__")
_BY_ITEM = ("add", "discard", "remove", "update", "clear", "__contains__")  # of sets
_ABOUT: tuple[Any, ...] = (
    *(len, bool, operator.contains, operator.is_, operator.is_not, operator.not_, isinstance),
    zeros_like,  # (of derivatives: the adjoints in a dict)
)
# What is made of text and is neither text nor such a number. (Anything else may hold the text.)
_PLAIN_OF_TEXT: tuple[Any, ...] = (
    *(*_ABOUT, int, hash, ord, operator.eq, operator.ne),
    *(operator.lt, operator.le, operator.gt, operator.ge),
)

# What casts an operand to the class of its first one, by the name of that operand and its place.
_INITIAL: tuple[Any, ...] = (
    *(np.sum, np.prod, np.max, np.min, np.nansum, np.nanprod, np.nanmax, np.nanmin),
    *(np.ndarray.sum, np.ndarray.prod, np.ndarray.max, np.ndarray.min),
    *(np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce),
)
_ALIKE: tuple[Any, ...] = (np.zeros_like, np.ones_like, np.empty_like)
_CASTING = {np.insert: ("values", 2), **dict.fromkeys(_INITIAL, ("initial", 5))}

Names = Callable[[], Collection[str]]
Inside = Callable[[ir.Expr], Iterable[str]]
_PLAIN = ir.Ref(require_plain_key.__name__, require_plain_key)
_NO_TEXT = ir.Ref(require_no_text.__name__, require_no_text)
_FLOATS = ir.Ref(require_floats.__name__, require_floats)
_KEYS = ir.Ref(require_plain_keys.__name__, require_plain_keys)
_ITEM = ir.Ref(plain_item.__name__, plain_item)
_ITEMS = ir.Ref(plain_items.__name__, plain_items)
_CONSTANT = ir.Ref(stop_gradient.__name__, stop_gradient)


def without_cut_paths(
    function: ir.Function,
    varied: Names,
    useful: Names,
    sources: Sources,
    inside: Inside,
    texts: Texts,
) -> ir.Function:
    """A function that asks, where it puts something into a dict or set, whether a key or item
    carries a derivative, and where it makes a number, whether of text, if the run must say.

    Refuses keys that surely do. `varied` and `useful` are asked for only where there are such
    things; `inside` are the names whose values may be in that of an expression.

    before::                        after::
        table[k] = v                    require_plain_key(k)
                                        table[k] = v
        seen.add(k)                     seen.add(plain_item(k))
        v = float(part)                 require_no_text(part)
                                        v = float(part)
    """
    function = _with_plain_items(function, varied, sources.kinds, inside)
    stmts, effects = list(ir.statements(function.body)), sources.effects
    known = _reads_numbers(function) or _gives_others_text(function)
    if known or any(each.reads for stmt in stmts for _, each in _calls(stmt, effects)):
        function = _with_text_asked(function, frozenset(varied()), useful, effects, texts)
        stmts = list(ir.statements(function.body))
    keyed = {id(stmt): keys for stmt, keys in _keyed(stmts, sources.kinds)}
    if not keyed:
        return function
    carried = frozenset(varied()) - _keys_in_turn(stmts)

    def checked(stmt: ir.Stmt) -> ir.Instead:
        keys = (
            key for key in keyed.get(id(stmt), ()) if not carried.isdisjoint(inside(_asked(key)))
        )
        checks = [_check(key, stmt, sources.kind_of) for key in keys]
        return (*checks, stmt) if checks else None

    return ir.with_body(function, ir.rewrite(function.body, checked))


def _with_plain_items(
    function: ir.Function, varied: Names, kinds: Mapping[str, Kind], inside: Inside
) -> ir.Function:
    """A function that puts into sets and slices what carries no derivative: it asks what an item or
    a bound is, unless nothing comes out of the set again."""
    stmts = list(ir.statements(function.body))
    sliced = any(_makes_slice(part) for stmt in stmts for part in _parts(stmt))
    if not sliced and not any(_filled(stmt, kinds) for stmt in stmts):
        return function
    carried, given = frozenset(varied()), frozenset(function.param_names)

    def plain(stmt: ir.Stmt) -> ir.Instead:
        filled = _filled(stmt, kinds)
        if filled is None or filled[0] in given:
            return None  # (a set that is given: what may write it is asked in `hidden_writes`)
        if all(carried.isdisjoint(inside(arg)) for arg in filled[1].args):
            return None
        name, call, asks = filled
        if _only_by_key(name, stmts, _BY_ITEM):
            if isinstance(stmt, ir.Assign):
                return None  # (what it is made of stays where it is)
            asks = _CONSTANT
        args = tuple(_asking(asks, arg, call.at) for arg in call.args)
        assert isinstance(stmt, ir.Assign | ir.Do)
        return replace(stmt, value=replace(call, args=args))

    def bounded(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, bounded)
        if not _makes_slice(expr) or carried.isdisjoint(inside(expr)):
            return expr
        return replace(expr, args=tuple(_asking(_ITEM, arg, expr.at) for arg in expr.args))

    return ir.with_body(function, ir.rewrite(function.body, plain, bounded if sliced else None))


def _makes_slice(expr: ir.Expr) -> TypeGuard[ir.Call]:
    return isinstance(expr, ir.Call) and getattr(expr.fn, "obj", None) is slice


def _asking(asks: ir.Ref, arg: ir.Expr, place: Place | None) -> ir.Expr:
    """An argument, asked what it is; of `*items`, each of them."""
    if isinstance(arg, ir.Opaque) and ir.is_starred(arg) and len(arg.values) == 1:
        return replace(arg, values=(ir.Call(_ITEMS, arg.values, at=place),))
    return ir.Call(asks, (arg,), at=place)


def _filled(stmt: ir.Stmt, kinds: Mapping[str, Kind]) -> tuple[str, ir.Call, ir.Ref] | None:
    """The set that a call puts something into, the call, and what asks about that."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj), args=(_,)) as call):
            return (name, call, _ITEMS) if obj is set or obj is frozenset else None
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name), "add" | "update" as how)) as call):
            if kinds.get(name, UNKNOWN).form == "set":
                return name, call, _ITEM if how == "add" else _ITEMS
    return None


def refuse_keys_in_calls(
    function: ir.Function,
    varied: Names,
    active: Collection[str],
    sources: Sources,
    followed: Collection[int] = (),
) -> None:
    """Refuse calls that stay as they stand and make keys of what varies: no statement of theirs
    asks what a key is."""
    for stmt in ir.statements(function.body):
        if id(stmt) in followed:
            continue
        keys = list(_keys_in_calls(stmt, sources.effects))
        changed = {*ir.binds(stmt), *_written(stmt, sources.effects)} if keys else set()
        if keys and changed.isdisjoint(active):
            for name in sorted(frozenset().union(*map(ir.names_in, keys)) & frozenset(varied())):
                if not sources.kinds.get(name, UNKNOWN).discrete:
                    raise _as_key(stmt.origin.place)


def _keys_in_calls(stmt: ir.Stmt, effects: EffectsOf) -> Iterator[ir.Expr]:
    """What calls in a statement may make keys of dicts."""
    for call, done in _calls(stmt, effects):
        yield from _actuals(call, done.keyed)


def _check(key: ir.Expr, stmt: ir.Stmt, kind_of: Callable[[ir.Expr], Kind]) -> ir.Stmt:
    """The question whether a key is, or holds, a number that is not an integer."""
    if isinstance(key, ir.Call) and key.fn is _KEYS:
        return ir.Do(key, stmt.origin)
    parts = key.items if isinstance(key, ir.Display) else (key,)
    for part in parts:
        kind = kind_of(part)
        again = any(map(_is_called, ir.walk(part)))  # (it would be called twice)
        known = again or (kind.form == "number" and kind.dtype != "?")
        if known and not kind.discrete:
            raise _as_key(getattr(part, "at", None) or stmt.origin.place)
    return ir.Do(ir.Call(_PLAIN, (key,)), stmt.origin)


def _is_called(expr: ir.Expr) -> bool:
    """Whether an expression is a call of more than an operator."""
    if not isinstance(expr, ir.Call):
        return False
    return getattr(getattr(expr.fn, "obj", None), "__module__", "") != operator.add.__module__


def _asked(key: ir.Expr) -> ir.Expr:
    """What must hold for a key, or for several."""
    return key.args[0] if isinstance(key, ir.Call) and key.fn is _KEYS else key


def _as_key(place: Place) -> UnsupportedError:
    return UnsupportedError(
        "a key of a dict that is iterated over, or passed on, carries derivatives",
        place,
        "Keys carry no derivative: store the numbers in a list beside the dict, or as its values.",
    )


def _keys_in_turn(stmts: list[ir.Stmt]) -> frozenset[str]:
    """The names that loops over `d.items()` bind to keys, of dicts whose keys were asked about."""
    views = {s.target for s in stmts if isinstance(s, ir.Assign) and _is_items(s.value)}
    found = set()
    for stmt in stmts:
        match stmt:
            case ir.For(target=(str(key), *_), iter=view):
                if _is_items(view) or (isinstance(view, ir.Var) and view.name in views):
                    found.add(key)
    return frozenset(found)


def _is_items(view: ir.Expr) -> bool:
    match view:
        case ir.Call(fn=ir.Attribute(name="items")):
            return True
    return False


def _parts(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    for expr in ir.expressions(stmt):
        yield from ir.walk(expr)


# ------------------------------------------------------------------------------------ text


@dataclass(frozen=True)
class _Reading:
    """A part of a statement that makes a number of what may be text (`text`), itself or in a
    function that it calls."""

    stmt: ir.Stmt
    part: ir.Expr
    text: tuple[ir.Expr, ...]
    names: frozenset[str]  # of what may be text
    called: bool
    of_file: bool  # whether it is text only where it was written to the file that it is read from

    @property
    def place(self) -> Place:
        return getattr(self.part, "at", None) or self.stmt.origin.place

    @property
    def refusal(self) -> UnsupportedError:
        return _as_file(self.place) if self.of_file else _as_text(self.place)

    @property
    def is_call(self) -> bool:
        """Whether it is a call that is a statement, or all that one binds, of a function of which
        it is known what it is given."""
        whole = self.called and getattr(self.stmt, "value", None) is self.part
        return whole and not any(map(ir.is_starred, ir.children(self.part)))

    def questions(self) -> tuple[ir.Stmt, ...]:
        """The statements before it that ask whether that is text; refuses what cannot be asked
        there."""
        asked: list[ir.Expr] = []
        for expr in self.text:
            whole = isinstance(expr, ir.Opaque) and not _shows(expr)
            names = sorted(ir.names_in(expr) & self.names) if whole else ()
            asked += map(ir.Var, names) if whole else (expr,)
        late = isinstance(self.stmt, ir.While) or self.part not in _not_lazy(self.stmt)
        if late or self.of_file or not all(map(_is_plain, asked)):
            raise self.refusal
        origin = replace(self.stmt.origin, place=self.place)
        return tuple(ir.Do(ir.Call(_NO_TEXT, (e,), at=self.place), origin) for e in asked)


def _not_lazy(stmt: ir.Stmt) -> list[ir.Expr]:
    """The parts of a statement that are evaluated whenever it is executed."""
    parts: list[ir.Expr] = []
    pending = list(ir.expressions(stmt))
    while pending:
        part = pending.pop()
        parts.append(part)
        pending += part.items[:1] if isinstance(part, ir.Lazy) else ir.children(part)
    return parts


def _is_plain(expr: ir.Expr) -> bool:
    """Whether an expression can be evaluated once more, and makes no text itself."""
    return not any(isinstance(part, ir.Call | ir.Text | ir.Opaque) for part in ir.walk(expr))


def _readings(
    stmts: list[ir.Stmt], varied: frozenset[str], given: Iterable[str], effects: EffectsOf
) -> Iterator[_Reading]:
    """Where numbers are made of what may be text that shows what varies, as what is `given` is."""
    makers: dict[str, set[int]] = {name: {0} for name in given}  # of text: by which statements
    before = -1
    while before < len(makers):
        before = len(makers)
        for stmt in stmts:
            made = any(_gives_text(e, varied, makers.keys(), effects) for e in _values(stmt))
            into = (*_bound(stmt), *_written(stmt, effects)) if made else ()
            if _fills_file(stmt, varied, makers.keys(), effects):
                into = (*into, FILES)
            for name in into:
                makers.setdefault(name, set()).add(id(stmt))
            for name in _holding(stmt, makers):
                makers.setdefault(name, set()).add(id(stmt))
    loops = (stmt for stmt in stmts if isinstance(stmt, ir.For | ir.While))
    again = {id(inner) for loop in loops for inner in ir.statements(loop.body)}
    written = makers.get(FILES, set())
    for place, stmt in enumerate(stmts):
        own = set[int]() if id(stmt) in again else {id(stmt)}  # (what it makes, it does not read)
        text = frozenset(name for name, made in makers.items() if made - own)
        if own and written.isdisjoint((0, *map(id, stmts[:place]))):
            text -= {FILES}  # (they are written later)
        for part in _parts(stmt):
            operands, called = _read_by(part, effects)
            found = tuple(e for e in operands if _gives_text(e, varied, text, effects))
            if found:
                alone = text - {FILES}
                of_file = not any(_gives_text(e, varied, alone, effects) for e in found)
                yield _Reading(stmt, part, found, text, called, of_file)


def _fills_file(
    stmt: ir.Stmt, varied: frozenset[str], text: Collection[str], effects: EffectsOf
) -> bool:
    """Whether a statement may write what varies to a file."""
    match stmt:
        case ir.Store(target=ir.Index(base), value=value) if reads_file(base):
            return _gives_text(value, varied, text, effects)  # (into the environment)
    for part in _parts(stmt):
        done = effects(part) if isinstance(part, ir.Call) else None
        fills = writes_file(part) or (done is not None and done.writes_files)
        if fills and _gives_text(part, varied, text, effects):
            return True
    return False


def _holding(stmt: ir.Stmt, makers: Mapping[str, set[int]]) -> Collection[str]:
    """What holds a part that has a name, into which text was put."""
    match stmt:
        case ir.Assign(str(name), ir.Attribute(base) | ir.Index(base)) if name in makers:
            return ir.names_in(base) if makers[name] - {id(stmt)} else ()
    return ()


def _loses(reading: _Reading, useful: Names, effects: EffectsOf) -> bool:
    """Whether a derivative may be lost there: something comes of the number."""
    stmt = reading.stmt
    bound = {*ir.binds(stmt), *_written(stmt, effects)}
    silent = not bound and not _is_late(reading.part) and not any(_calls(stmt, effects))
    return silent or isinstance(stmt, ir.Return) or not bound.isdisjoint(useful())


def _with_text_asked(
    function: ir.Function,
    varied: frozenset[str],
    useful: Names,
    effects: EffectsOf,
    texts: Texts,
) -> ir.Function:
    """A function that asks whether what it makes numbers of is text; functions that it calls are
    to ask that, too."""
    asked: dict[int, tuple[ir.Stmt, ...]] = {}
    stmts = list(ir.statements(function.body))
    for reading in _readings(stmts, varied, texts.given(function.name), effects):
        if not _loses(reading, useful, effects):
            continue
        if reading.is_call:
            assert isinstance(reading.part, ir.Call)
            texts.note(reading.part, reading.text)
        else:
            before = asked.get(id(reading.stmt), ())
            asked[id(reading.stmt)] = (*before, *reading.questions())

    def checked(stmt: ir.Stmt) -> ir.Instead:
        return (*asked[id(stmt)], stmt) if id(stmt) in asked else None

    return ir.with_body(function, ir.rewrite(function.body, after=checked)) if asked else function


@dataclass
class Texts:
    """Which parameters of functions may be given text that shows what varies, by the names of
    these functions: their derivatives ask whether what they make numbers of is text."""

    formals: Callable[[Any], tuple[str, Collection[str]]]  # of a function: its name, and these
    _given: dict[str, frozenset[str]] = field(default_factory=dict)

    def given(self, name: str) -> frozenset[str]:
        """The parameters of a function that may be given text."""
        return self._given.get(name, frozenset())

    def note(self, call: ir.Call, text: Collection[ir.Expr]) -> None:
        """A call gives a function what may be text."""
        obj = getattr(call.fn, "obj", None)
        name, formals = self.formals(obj)
        actuals = bind_actuals(obj, call)
        if actuals is not None:
            formals = [f for f, given in actuals.items() if any(e in text for e in given)]
        if call in text:
            formals = (*formals, FILES)
        self._given[name] = self.given(name).union(formals)


def refuse_text_in_calls(
    function: ir.Function,
    varied: Names,
    active: Collection[str],
    useful: Names,
    sources: Sources,
    texts: Texts,
    left: Collection[int],
) -> None:
    """Refuse calls in statements that stay as they stand (`left`, by `id`) and make numbers of what
    may be text."""
    stmts, effects = list(ir.statements(function.body)), sources.effects
    if not any(each.reads for stmt in stmts for _, each in _calls(stmt, effects)):
        return
    text = texts.given(function.name)
    for reading in _readings(stmts, frozenset(varied()), text, effects):
        stmt = reading.stmt
        changed = {*ir.binds(stmt), *_written(stmt, effects)}
        given = ir.names_in(reading.part)
        followed = not (given.isdisjoint(active) or changed.isdisjoint(active))
        stays = reading.is_call and id(stmt) in left and not followed
        if stays and _loses(reading, useful, effects):
            raise reading.refusal


def _as_text(place: Place) -> UnsupportedError:
    return UnsupportedError(
        "a number is made from text, and the text from a value that carries derivatives",
        place,
        "Text carries no derivative: use the number itself, or apply tl.stop_gradient to it first.",
    )


def _as_file(place: Place) -> UnsupportedError:
    return UnsupportedError(
        "numbers are read from a file, and a value that carries derivatives was written to one",
        place,
        "Files carry no derivative: use the value itself, or write tl.stop_gradient of it.",
    )


def _values(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    match stmt:
        case ir.Store(target=ir.Index(_, key), value=value):
            return (key, value)
        case ir.Assign(value=value) | ir.Store(value=value) | ir.Do(value=value):
            return (value,)
        case ir.For(iter=value) | ir.Update(value=value) | ir.Enter(context=value):
            return (value,)
    return ()


def _bound(stmt: ir.Stmt) -> Collection[str]:
    """What a statement binds, or puts something into."""
    match stmt:
        case ir.Store(target=target) | ir.Update(target=target):
            return ir.names_in(target.base) if not isinstance(target, ir.Var) else {target.name}
        case ir.Do(value=ir.Call(fn=ir.Attribute(base))):
            return ir.names_in(base)
        case ir.Do(value=ir.Call(kwargs=words)) if _prints(stmt):
            return ir.names_in(dict(words).get("file", ir.Const(None)))
    return ir.binds(stmt)


def _prints(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Ref(obj=builtins.print))):
            return True
    return False


def _gives_text(
    expr: ir.Expr, varied: frozenset[str], text: Collection[str], effects: EffectsOf
) -> bool:
    """Whether an expression may be, or hold, text that shows what varies."""
    shown = varied.union(text)
    if FILES in text and reads_file(expr):
        return True
    if writes_file(expr):
        return bool(ir.names_in(expr) & shown)

    def within(parts: Iterable[ir.Expr]) -> bool:
        return any(_gives_text(part, varied, text, effects) for part in parts)

    match expr:
        case ir.Var(name):
            return name in text
        case ir.Text():
            return any(ir.names_in(value) & shown for value in _shown_by(expr))
        case ir.Opaque():
            names = ir.names_in(expr)
            return not names.isdisjoint(text) or (_shows(expr) and not names.isdisjoint(varied))
        case ir.Display(items=items, keys=keys):
            return within((*items, *keys))
        case ir.Lazy(items=items):
            return within(items)
        case ir.Index(base, _) | ir.Attribute(base, _):
            return within((base,))
        case ir.Call(fn=ir.Attribute(base, name), args=args):
            given = frozenset().union(*map(ir.names_in, args))
            makes = isinstance(base, ir.Const) and name in _TEXT_METHODS and given & shown
            return bool(makes) or within((base, *args))
        case ir.Call(fn=ir.Ref(obj=obj), args=args):
            if _among(obj, _TEXT):
                return bool(ir.names_in(expr) & shown)
            done = effects(expr)
            if done is not None:
                if done.reads_files and FILES in text:
                    return True
                actuals = _shown_actuals(expr, done)
                given = frozenset().union(*map(ir.names_in, actuals))
                return not given.isdisjoint(shown) or within(ir.arguments(expr))
            plain = any(obj is known for known in _PLAIN_OF_TEXT)
            return not plain and within(ir.arguments(expr))
    return False


def _among(obj: Any, functions: tuple[Any, ...]) -> bool:
    """Whether an object is one of some functions, of which a few are given by their names."""
    return any(obj is known for known in functions) or full_name(obj) in functions


def _shows(expr: ir.Opaque) -> bool:
    """Whether code that travels whole makes text: `[f"{v}" for v in x]`."""
    if any(ref.obj is known for ref in expr.refs for known in _TEXT):
        return True
    nodes = list(ast.walk(ast.parse(f"made({expr.text})")))  # (`*args` and `**words` are such, too)
    said = any(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in nodes)
    formats = any(isinstance(node, ast.JoinedStr) for node in nodes)
    return formats or (said and any(_formats(node) for node in nodes))


def _formats(node: ast.AST) -> bool:
    return isinstance(node, ast.Mod) or (
        isinstance(node, ast.Attribute) and node.attr in _TEXT_METHODS
    )


def _read_by(part: ir.Expr, effects: EffectsOf) -> tuple[tuple[ir.Expr, ...], bool]:
    """What an expression makes a number of, if that is text, and whether a function that it calls
    does so."""
    given: tuple[ir.Expr, ...]
    match part:
        case ir.Text():
            return (), False
        case ir.Opaque(refs=refs):
            makes = any(ref.obj is known for ref in refs for known in (*_NUMBERS, *_ARRAYS))
            return (part,) if makes or ".astype(" in part.text else (), False
        case ir.Call(fn=ir.Ref(obj=obj)) if gives_numbers(obj):
            return (*ir.arguments(part), part), False
        case ir.Call(fn=ir.Ref(obj=obj), args=(first, *rest)):
            given = (first,)
            if obj is map and isinstance(first, ir.Ref):
                obj, given = first.obj, tuple(rest)
            typed = any(word == "dtype" for word, _ in part.kwargs) or len(rest) > 0
            if _among(obj, _NUMBERS) or (typed and any(obj is known for known in _ARRAYS)):
                return given, False
        case ir.Call(fn=ir.Attribute(first, "astype")):
            return (first,), False
    if isinstance(part, ir.Call) and isinstance(part.fn, ir.Ref):
        done = effects(part)
        if done is not None and done.reads:
            return (*ir.arguments(part), part) if done.reads_files else ir.arguments(part), True
    return (ir.arguments(part), False) if _is_late(part) else ((), False)


def _calls(stmt: ir.Stmt, effects: EffectsOf) -> Iterator[tuple[ir.Call, Effects]]:
    """The calls in a statement of functions of which it is known what they do."""
    for part in _parts(stmt):
        if isinstance(part, ir.Call) and isinstance(part.fn, ir.Ref):
            done = effects(part)
            if done is not None:
                yield part, done


def _actuals(call: ir.Call, params: Collection[str]) -> Iterator[ir.Expr]:
    """What a call gives for these parameters."""
    given = bind_actuals(getattr(call.fn, "obj", None), call) if params else None
    for param in params:
        yield from (given or {}).get(param, ())


def _written(stmt: ir.Stmt, effects: EffectsOf) -> Iterator[str]:
    """The names of what calls in a statement write."""
    for call, done in _calls(stmt, effects):
        for actual in _actuals(call, done.written | done.unseen):
            yield from ir.names_in(actual)


# ------------------------------------------------------------------------------------ keys


def _keyed(stmts: list[ir.Stmt], kinds: Mapping[str, Kind]) -> list[tuple[ir.Stmt, list[ir.Expr]]]:
    """The statements that may put something into a dict that is not only read by key, with the
    keys that have names in them."""
    found: list[tuple[ir.Stmt, list[ir.Expr]]] = []
    made = {s.target: s.value for s in stmts if isinstance(s, ir.Assign)}
    for stmt in stmts:
        name, keys = _put(stmt, kinds, made, stmts)
        if keys and _only_by_key(name, stmts):
            keys = []
        shown = () if isinstance(stmt, ir.Assign) else ir.expressions(stmt)
        keys += [key for e in shown if isinstance(e, ir.Display) for key in e.keys or ()]
        named = [key for key in keys if ir.names_in(key)]
        if named:
            found.append((stmt, named))
    return found


def _put(
    stmt: ir.Stmt,
    kinds: Mapping[str, Kind],
    made: Mapping[ir.Target, ir.Expr],
    stmts: list[ir.Stmt],
) -> tuple[str, list[ir.Expr]]:
    """What a statement puts something into, if that may be a dict, and the keys."""
    match stmt:
        case ir.Assign(target=str(name), value=ir.Display(form="dict", keys=keys)):
            return name, list(keys)
        case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj), args=(pairs, *_))) if (
            obj is dict
        ):
            return name, _first_of_pairs(pairs, made, kinds, stmts)
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name), "update"), args=(pairs, *_))):
            return name, _first_of_pairs(pairs, made, kinds, stmts)
        case ir.Store(target=ir.Index(ir.Var(name), key)):
            if any(isinstance(part, ir.Slice) for part in ir.walk(key)):
                return "", []  # (which is not a key of a dict)
            keys = (key,)
        case (
            ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name), "setdefault"), args=(key, *_)))
            | ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(name), "setdefault"), args=(key, *_)))
        ):
            keys = (key,)
        case _:
            return "", []
    return name, list(keys) if kinds.get(name, UNKNOWN).form in ("dict", "unknown") else []


def _first_of_pairs(
    pairs: ir.Expr,
    made: Mapping[ir.Target, ir.Expr],
    kinds: Mapping[str, Kind],
    stmts: list[ir.Stmt],
) -> list[ir.Expr]:
    """The first items of pairs that are written out, or of what is zipped, or the pairs of a list.
    (The keys of another dict were asked about where that was made.)"""
    found = made.get(pairs.name, pairs) if isinstance(pairs, ir.Var) else pairs
    alone = sum(bool(ir.names_in(pairs) & ir.reads(stmt)) for stmt in stmts) == 1
    match found:
        case ir.Call(fn=ir.Ref(obj=obj), args=(first, *_)) if obj is zip:
            return [ir.Call(_KEYS, (first,))]
        case ir.Display(items=(_, *_) as items) if isinstance(pairs, ir.Display) or alone:
            several = [made.get(i.name) if isinstance(i, ir.Var) else i for i in items]
            if all(isinstance(row, ir.Display) and row.items for row in several):
                return [row.items[0] for row in several if isinstance(row, ir.Display)]
    listed = isinstance(pairs, ir.Var) and kinds.get(pairs.name, UNKNOWN).form in ("list", "tuple")
    return [ir.Call(_KEYS, (pairs,), (("pairs", ir.Const(True)),))] if listed else []


def _only_by_key(name: str, stmts: list[ir.Stmt], methods: Collection[str] = _BY_KEY) -> bool:
    """Whether a dict is made here, and used by key alone (or a set, by methods that give no item
    of it)."""
    for stmt in stmts:
        match stmt:
            case ir.Assign(target=target, value=value) if target == name:
                if not isinstance(value, ir.Display | ir.Call):
                    return False
        match stmt:
            case ir.Store(target=ir.Index(ir.Var(base), key), value=value) if base == name:
                exprs: tuple[ir.Expr, ...] = (key, value)
            case ir.Update(target=ir.Index(ir.Var(base), key), value=value) if base == name:
                exprs = (key, value)
            case _:
                exprs = tuple(ir.expressions(stmt))
        if any(_goes_through(expr, name, methods) for expr in exprs):
            return False
    return any(name in ir.binds(stmt) for stmt in stmts)


def _goes_through(expr: ir.Expr, name: str, methods: Collection[str]) -> bool:
    match expr:
        case ir.Var(found):
            return found == name
        case ir.Index(ir.Var(), key):
            return _goes_through(key, name, methods)
        case ir.Call(fn=ir.Attribute(ir.Var(base), method), args=args) if base == name:
            return method not in methods or any(_goes_through(a, name, methods) for a in args)
        case ir.Call(fn=ir.Ref(obj=obj), args=args) if any(obj is known for known in _ABOUT):
            return any(_goes_through(a, name, methods) for a in args if not isinstance(a, ir.Var))
    return any(_goes_through(child, name, methods) for child in ir.children(expr))


# ------------------------------------------------------------------------ entries of integers


def asking_for_floats(
    function: ir.Function,
    floats: Collection[str],
    varied: Names,
    sources: Sources,
    differentiated: Callable[[Any], bool],
    stores: bool = True,
) -> ir.Function:
    """A function that asks whether an array is one of integers, where what varies is put into one
    of which the class is not known: NumPy rounds it there.

    Without `stores` (by identity, where integers have no adjoint) only calls ask.

    before::                        after::
        a = np.tile(counts, 2)          a = np.tile(counts, 2)
        a[k] = v                        require_floats(a)
                                        a[k] = v
    """
    stmts = list(ir.statements(function.body))
    put = {id(stmt): found for stmt in stmts if (found := _put_into(stmt, sources, stores))}
    if not put:
        return function
    carried = frozenset(varied())
    made = _made_of_floats(stmts, floats, sources, differentiated)
    fixed = set(function.param_names).difference(*map(ir.binds, stmts))
    first: dict[str, ir.Stmt] = {}  # (a parameter is asked about once, before anything else)

    def checked(stmt: ir.Stmt) -> ir.Instead:
        array, value = put.get(id(stmt), (ir.Const(None), ir.Const(None)))
        names = {n for n in ir.names_in(value) if not sources.kinds.get(n, UNKNOWN).discrete}
        name = array.name if isinstance(array, ir.Var) else ""
        if carried.isdisjoint(names) or name in made:
            return None
        listed = (("listed", ir.Const(True)),) if isinstance(stmt, ir.Assign) else ()
        asked = ir.Do(ir.Call(_FLOATS, (array,), listed), stmt.origin)
        if name in fixed and not listed:
            first.setdefault(name, asked)
            return None
        return (asked, stmt)

    body = ir.rewrite(function.body, checked)
    return ir.with_body(function, (*first.values(), *body))


def _put_into(stmt: ir.Stmt, sources: Sources, stores: bool) -> tuple[ir.Expr, ir.Expr] | None:
    """An array whose class is not known, and what a statement casts to that."""
    array: ir.Expr
    match stmt:
        case ir.Update(target=ir.Index(key=key)) if any(
            isinstance(p, ir.Slice) for p in ir.walk(key)
        ):
            return None  # (which NumPy refuses itself, for an array of integers)
        case (
            ir.Store(target=ir.Index(ir.Var() as whole), value=value)
            | ir.Update(target=ir.Index(ir.Var() as whole), value=value)
            | ir.Do(
                value=ir.Call(fn=ir.Ref(obj=np.add.at | np.subtract.at), args=(whole, _, value))
            )
        ) if stores:
            array = whole
        case ir.Assign(target=str(name), value=ir.Call() as call) if (
            _casts(call) and not sources.kinds.get(name, UNKNOWN).discrete
        ):
            array, *rest = as_function_call(call).args
            keywords, (word, place) = dict(call.kwargs), _CASTING[operation(call.fn)]
            given = rest[place - 1] if len(rest) >= place else ir.Const(None)
            value = keywords.get(word, given)
            if "dtype" in keywords:
                return None
        case _:
            return None
    kind = sources.kind_of(array)
    listed = kind.form in ("list", "tuple")
    known = kind.dtype != "?" or kind.form not in ("array", "value", "unknown")
    if listed and isinstance(stmt, ir.Assign):
        return array, value
    return None if known else (array, value)


def _casts(call: ir.Call) -> bool:
    done = operation(call.fn)
    return isinstance(done, Hashable) and done in _CASTING and bool(as_function_call(call).args)


def _made_of_floats(
    stmts: list[ir.Stmt],
    floats: Collection[str],
    sources: Sources,
    differentiated: Callable[[Any], bool],
) -> set[str]:
    """The names whose values are computed of `floats`, wherever they are bound, not only filled
    with them."""
    found, before = set(floats), -1
    bound: dict[str, list[ir.Expr | None]] = {}
    for stmt in stmts:
        whole = stmt.value if isinstance(stmt, ir.Assign) and isinstance(stmt.target, str) else None
        for name in ir.binds(stmt):
            bound.setdefault(name, []).append(whole)

    def computed(value: ir.Expr | None) -> bool:
        match value:
            case ir.Var(name):
                return name in found
            case ir.Index(ir.Var(name)):
                return name in found and sources.kind_of(ir.Var(name)).form in ("array", "value")
            case ir.Call(ir.Ref(obj=obj), (like, *_), words) if any(obj is fn for fn in _ALIKE):
                return computed(like) and "dtype" not in dict(words)
            case ir.Call() if not _casts(value) and differentiated(operation(value.fn)):
                return any(map(computed, as_function_call(value).args))
            case ir.Display(items=items):
                return any(map(computed, items))
        return False

    while before < len(found):
        before = len(found)
        for name, values in bound.items():
            known = sources.kinds.get(name, UNKNOWN).dtype in ("float", "complex")
            if known or all(map(computed, values)):
                found.add(name)
    return found


# ------------------------------------------------------------- what is an effect of a function


def cut_effects(
    done: Effects,
    function: ir.Function,
    flow: Callable[[], Flow],
    sources: Sources,
    inside: Inside,
) -> Effects:
    """The effects of a function with which parameters become keys, and with what it does with
    text."""
    stmts, effects = list(ir.statements(function.body)), sources.effects
    called = [each for stmt in stmts for _, each in _calls(stmt, effects)]
    shows: frozenset[str] = frozenset()
    shown = _shown_in_text(stmts, inside, effects)
    if shown:
        shows = reaching(flow(), shown) & frozenset(function.param_names)
        files = [name for stmt in stmts if _prints(stmt) for name in _bound(stmt)]
        if files:
            into = reaching(flow(), files) & frozenset(function.param_names)
            done = replace(done, unseen=done.unseen | into)
    reads = any(each.reads for each in called) or _reads_numbers(function)
    keyed: frozenset[str] = frozenset()
    keys = [key for _, found in _keyed(stmts, sources.kinds) for key in found]
    keys += [key for stmt in stmts for key in _keys_in_calls(stmt, effects)]
    if keys:
        named = frozenset().union(*map(inside, map(_asked, keys))) - _keys_in_turn(stmts)
        names = [name for name in named if not sources.kinds.get(name, UNKNOWN).discrete]
        keyed = reaching(flow(), names) & frozenset(function.param_names)
    writes_files, reads_files = fact(of_files, function)
    writes_files = bool(shows) and (writes_files or any(each.writes_files for each in called))
    reads_files = reads_files or any(each.reads_files for each in called)
    if not (shows or reads or keyed or reads_files):
        return done
    done = replace(done, writes_files=writes_files, reads_files=reads_files)
    return replace(done, keyed=keyed, shows=shows, reads=reads)


def _shown_in_text(stmts: list[ir.Stmt], inside: Inside, effects: EffectsOf) -> set[str]:
    """The names of values that may be shown in text, or are given to functions that do so. (What is
    raised ends the function.)"""
    found: set[str] = set()
    for stmt in stmts:
        if isinstance(stmt, ir.OpaqueStmt) and stmt.text.startswith("raise"):
            continue
        for part in _parts(stmt):
            names = ir.names_in(part)
            if names and _gives_text(part, names, (), effects):
                done = effects(part) if isinstance(part, ir.Call) else None
                parts = ir.children(part) if done is None else _shown_actuals(part, done)
                parts = _shown_by(part) if isinstance(part, ir.Text) else parts
                found.update(*map(inside, parts))
    return found


@ir.of_node
def _shown_by(expr: ir.Text) -> tuple[ir.Expr, ...]:
    """The values that text shows: not those of which it shows a shape or a type, or that it takes
    for constants."""
    nodes = list(ast.walk(ast.parse(expr.text, mode="eval")))
    about = {id(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr in ir.QUERIES}
    constant = {ref.text for ref in expr.refs if ref.obj is stop_gradient}
    for ref in expr.refs:
        if attribute_of(ref.obj, stop_gradient.__name__) is stop_gradient:
            constant.add(f"{ref.text}.{stop_gradient.__name__}")
    calls = (n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) in constant)
    about |= {id(part) for call in calls for part in ast.walk(call)}
    shown = {n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in about}
    return tuple(v for n, v in zip(expr.names, expr.values, strict=True) if n in shown)


def _shown_actuals(call: ir.Expr, done: Effects) -> tuple[ir.Expr, ...]:
    """What a call gives for the parameters that its function shows in text."""
    assert isinstance(call, ir.Call)
    every = ir.arguments(call)
    given = bind_actuals(getattr(call.fn, "obj", None), call) if done.shows else {}
    if given is None or (done.shows and any(map(ir.is_starred, every))):
        return every
    return tuple(actual for name in done.shows for actual in given.get(name, ()))


def _reads_numbers(function: ir.Function) -> bool:
    objects = [ref.obj for ref in fact(references, function)]
    reads = any(_among(obj, (*_NUMBERS, *_ARRAYS)) or gives_numbers(obj) for obj in objects)
    if not (reads or "astype" in fact(forms, function)):
        return False
    parts = (part for stmt in ir.statements(function.body) for part in _parts(stmt))
    return any(_read_by(part, _nothing)[0] and not _is_late(part) for part in parts)


def _gives_others_text(function: ir.Function) -> bool:
    """Whether a function makes text, and calls what only the run knows."""
    known = fact(forms, function)
    makes = ir.Text in known or any(_among(r.obj, _TEXT) for r in fact(references, function))
    parts = (part for stmt in ir.statements(function.body) for part in _parts(stmt))
    return makes and any(map(_is_late, parts))


def _is_late(part: ir.Expr) -> TypeGuard[ir.Call]:
    """Whether a function is called that only the run knows."""
    return isinstance(part, ir.Call) and isinstance(part.fn, ir.Var)


def _nothing(call: ir.Call) -> None:
    """What is known of no function."""


# --------------------------------------------------------------------------------------------------
# Calls that stay as they stand, of functions out of which something was cut.
#
# What is left of such a function may give nothing back and write nothing, so that its call seems to
# carry no derivative and to leave its arguments alone; but the call runs the function as the user
# wrote it, all of it.

_TO_BE_MADE_AND_GIVEN = 2  # uses of a name


def refuse_cut_callees(
    function: ir.Function,
    varied: Collection[str],
    active: Collection[str],
    cuts: Cuts,
    keeps_effects: Callable[[Any], bool],
    followed: Collection[int] = (),
) -> None:
    """Refuse a call that stays as it stands (those `followed`, by the ids of their statements, do
    not), if something was cut out of what it runs: one that is given what varies, or what is used
    elsewhere and may be written or given back by the whole of the function as it is not by what
    is left of it (`keeps_effects` says that there is no such)."""
    every = list(ir.statements(function.body))
    used = Counter(name for stmt in every for name in {*ir.reads(stmt), *ir.binds(stmt)})
    for stmt in every:
        if id(stmt) in followed or not set(active).isdisjoint(ir.binds(stmt)):
            continue
        called = [found for expr in ir.expressions(stmt) for found in _called(expr)]
        refusal = cuts.behind([name for _, names in called for name in names])
        if refusal is None:
            continue
        if not ir.reads(stmt).isdisjoint(varied):
            raise refusal
        if all(used[name] <= _TO_BE_MADE_AND_GIVEN for name in ir.reads(stmt)):
            continue
        for obj, names in called:
            if cuts.behind(names) and not keeps_effects(obj):
                raise refusal


def _called(expr: ir.Expr) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """The functions that an expression may call, with their names (a method by its name)."""
    for part in ir.walk(expr):
        match part:
            case ir.Ref(text, obj) if is_python_function(obj):
                yield obj, (text.rpartition(".")[2], obj.__name__)
            case ir.Attribute(name=name):
                yield None, (name,)
