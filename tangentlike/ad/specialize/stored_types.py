"""What a program puts into attributes, lists and dicts that it was given.

A call shows of what kinds the numbers and arrays are that its arguments hold: `model.w` is a
matrix. That stays true while the derivative runs if whatever the program assigns to an attribute
`w` of such an object is a matrix as well, given that it was one before. So all stores are looked
at, in the main function and in all that it calls, each with what is known of the arguments:

    def step(model, x):                model: Model(w: float[:, :], t: float)
        model.w = model.w + x @ x.T    a matrix again: nothing changes
        model.t = x                    what is known of `t` is what a number and `x` have in common

Where code that is not seen may store anything, nothing is claimed of what is held.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import ir
from ...analysis.constructors import record_class
from ...analysis.kinds import kind_of
from ...analysis.operations import (
    PUTTING,
    PUTTING_ONE,
    is_entered,
    is_python_function,
    may_write,
    written_position,
)
from ...errors import UnsupportedError
from ...frontend.lower import Lowered
from ...frontend.owners import is_numerical, is_of_runtime, is_ours, is_pythons, module_of
from ...ir.kind import UNKNOWN, Kind
from ...runtime import put_contents, put_inside, zeros_like
from .callees import Callees, bind, known_arguments, rough

Given = Mapping[str, Kind]

_CHANGING = {  # methods of lists and dicts -> which argument they put in; None: no single one
    **dict.fromkeys((*PUTTING, "__setitem__")),
    **PUTTING_ONE,
}
# Methods of lists and dicts that put nothing in.
_KEEPING = frozenset(
    ("pop", "popleft", "popitem", "remove", "clear", "reverse", "sort", "index", "count", "copy")
    + ("__delitem__",)
    + ("get", "items", "keys", "values", "rotate", "discard", "__getitem__", "__contains__")
)
_MOVING = frozenset(
    ("pop", "popleft", "remove", "clear", "reverse", "sort", "rotate", "__delitem__")
)
_TAKING = frozenset(("pop", "popitem", "clear", "__delitem__"))
# Functions of Python that may store what they are not seen to.
_STORING = frozenset(
    map(id, (setattr, delattr, vars, exec, eval, globals, locals, object.__setattr__))
)
_PLAIN = ("number", "array", "value", "tuple", "set")  # (their methods store nothing)
_JOINING = (operator.iadd, operator.ior, operator.imul)
_METHOD = re.compile(r"[\w\])]\.\w+\(")
_MOST = 300  # (function, kinds of arguments) pairs that are followed


@dataclass
class Stored:
    """Kinds of what is stored: in attributes, by class (None: of any object) and name; in lists;
    in dicts, by key (None: under any key). `moved`: items of lists may come to other places;
    `taken`: keys may be taken out of dicts. `anything`: it may be anything, anywhere. `seen`: all
    functions were looked through for that."""

    attributes: dict[tuple[type | None, str], Kind] = field(default_factory=dict)
    items: Kind | None = None
    entries: dict[str | None, Kind] = field(default_factory=dict)
    moved: bool = False
    taken: bool = False
    anything: bool = False
    seen: bool = False

    def weakened(self, kind: Kind) -> Kind:
        """What stays true of a value of this kind, and of all that it holds."""
        if self.anything:
            return kind.unheld
        kind = kind.map_inside(self.weakened)
        if kind.form == "object":
            fields = ((n, self.field_kind(kind.cls, n, k)) for n, k in kind.fields)
            return replace(kind, fields=tuple((n, k) for n, k in fields if k != UNKNOWN))
        if kind.form == "list" and self.items is not None:
            return kind.with_item(_joined(kind.whole_item, self.items))
        if kind.form == "list" and self.moved and kind.items is not None:
            return kind.with_item(kind.whole_item or UNKNOWN)
        if kind.form == "dict" and self.entries:
            return self._dict(kind)
        return kind

    def field_kind(self, cls: type | None, name: str, kind: Kind) -> Kind:
        """What stays true of an attribute that holds a value of this kind at first."""
        if self.anything:
            return UNKNOWN
        stored = self.attributes.items()
        found = (k for (of, n), k in stored if n == name and (of is cls or None in (of, cls)))
        return _joined(kind, *found)

    def _dict(self, kind: Kind) -> Kind:
        if not kind.names:
            return kind.with_item(_joined(kind.whole_item, *self.entries.values()))
        common = self.entries.get(None)
        pairs = zip(kind.names, kind.items or (), strict=True)
        items = (_joined(k, self.entries.get(n), common) for n, k in pairs)
        return replace(kind, items=tuple(items))


def keys_stay(book: Any) -> bool:
    """Whether dicts that the program is given have the same keys all the time."""
    stored = getattr(book, "stored", None)
    if not isinstance(stored, Stored) or not stored.seen:
        return False
    return not (stored.entries or stored.taken or stored.anything)


def _joined(kind: Kind | None, *others: Kind | None) -> Kind:
    """What is true of what was there and of what is stored."""
    joined = UNKNOWN if kind is None else kind
    for other in others:
        joined = joined if other is None else joined.join(other)
    # (Of which class an object is, each method of it asks.)
    kept = joined == UNKNOWN and kind is not None and kind.holds_objects
    return kind.checked if kept and kind is not None else joined


def stored_kinds(
    main: Lowered,
    given: Given,
    callees: Callees,
    kinds_of: Callable[[ir.Function, Given], Given],
    book: Any,
) -> Stored:
    """What a function and those that it calls put into what they were given."""
    scan = _Scan(callees, kinds_of, book)
    scan.function(main, given)
    scan.found.seen = True
    return scan.found


class _Scan:
    """All functions that are reached, each with the kinds of arguments that it is called with."""

    def __init__(
        self, callees: Callees, kinds_of: Callable[[ir.Function, Given], Given], book: Any
    ) -> None:
        self.callees = callees
        self.kinds_of = kinds_of
        self.book = book
        self.found = Stored()
        self.seen: set[Any] = set()

    def function(self, lowered: Lowered, given: Given) -> None:
        key = (id(lowered.function), frozenset(given.items()))
        if key in self.seen or self.found.anything:
            return
        self.seen.add(key)
        if len(self.seen) > _MOST:
            self.found.anything = True
            return
        _Stores(self, lowered.function, self.kinds_of(lowered.function, given)).all()

    def called(self, obj: Any, given: Given) -> None:
        """A function that is called with arguments of these kinds; with any, if none are given."""
        try:
            lowered = self.callees.lowered(obj)
        except UnsupportedError:
            self.unseen(given.values())
        else:
            self.function(lowered, known_arguments(given, lowered) if given else {})

    def unseen(self, kinds: Iterable[Kind]) -> None:
        """Code that is not seen gets values of these kinds."""
        if any(map(_may_be_changed, kinds)):
            self.found.anything = True


def _may_be_changed(kind: Kind) -> bool:
    """Whether something may be stored in a value of this kind, or what it holds."""
    if kind.form in ("number", "array", "value", "other", "set"):
        return False
    return kind.form != "tuple" or any(map(_may_be_changed, kind.items or (kind.item or UNKNOWN,)))


class _Stores:
    """The stores of one function whose names have these kinds."""

    def __init__(self, scan: _Scan, function: ir.Function, kinds: Given) -> None:
        self.scan = scan
        self.function = function
        self.kinds = kinds
        self.fresh = _made_here(function)

    def kind(self, expr: ir.Expr) -> Kind:
        return rough(kind_of(expr, self.kinds, self.scan.book))

    def all(self) -> None:
        for stmt in ir.statements(self.function.body):
            self.statement(stmt)
            for expr in ir.expressions(stmt):
                for part in ir.walk(expr):
                    self.part(part)

    def statement(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Store(target=target, value=value):
                self.store(target, self.kind(value))
            case ir.Update(target=ir.Var(name), op=op, value=value):
                self.update(name, op, self.kind(value))
            case ir.Update(target=ir.Index() | ir.Attribute() as target, op=op, value=value):
                old = self.kind(target)
                if old.form != "array":  # (which is written in place)
                    self.store(target, self.kind(ir.Call(op, (target, value))).join(old))
            case ir.OpaqueStmt(text=text, values=values, refs=refs) if _calls(text, refs):
                self.scan.unseen(map(self.kind, values))
            case ir.Enter(context=context):
                self.entered(context)

    def store(self, target: ir.Index | ir.Attribute, kind: Kind) -> None:
        base = self.kind(target.base)
        if isinstance(target, ir.Attribute):
            if not (isinstance(target.base, ir.Var) and target.base.name in self.fresh):
                self.set_attribute(base, ir.plain_name(target.name), kind)
        elif isinstance(target.key, ir.Slice):
            self.put_in(target.base, base, "list", kind.whole_item or UNKNOWN)
        else:
            name = target.key.value if isinstance(target.key, ir.Const) else None
            self.put_in(target.base, base, "", kind, name if isinstance(name, str) else None)

    def set_attribute(self, base: Kind, name: str, kind: Kind) -> None:
        known = self.scan.found.attributes
        for cls in [k.cls for k in base.among or (base,)] if base.form == "object" else [None]:
            known[cls, name] = _joined(known.get((cls, name), kind), kind)

    def put_in(
        self, of: ir.Expr, base: Kind, form: str, kind: Kind, key: str | None = None
    ) -> None:
        """Something of this kind is put into what may be a list, or a dict."""
        if isinstance(of, ir.Var) and of.name in self.fresh and not base.lasting:
            return
        forms = {base.form, form} - {"", "unknown"}
        if forms <= {"list"}:
            found = self.scan.found
            found.items = kind if found.items is None else found.items.join(kind)
        if forms <= {"dict"}:
            entries = self.scan.found.entries
            entries[key] = _joined(entries.get(key, kind), kind)

    def update(self, name: str, op: ir.Ref, value: Kind) -> None:
        """`xs += ys`, `d |= e`."""
        base = self.kinds.get(name, UNKNOWN)
        if op.obj not in _JOINING or base.form not in ("list", "dict", "unknown"):
            return
        if value.form == "dict" and value.names and base.form == "dict":
            for key, kind in zip(value.names, value.items or (), strict=True):
                self.put_in(ir.Var(name), base, "dict", kind, key)
        else:
            self.put_in(ir.Var(name), base, "", value.whole_item or UNKNOWN)

    def entered(self, context: ir.Expr) -> None:
        fn = context.fn if isinstance(context, ir.Call) else None
        if not isinstance(fn, ir.Ref) or not (is_numerical(fn.obj) or is_pythons(fn.obj)):
            self.scan.found.anything = True

    # ------------------------------------------------------------------------ calls

    def part(self, part: ir.Expr) -> None:
        match part:
            case ir.Call(fn=ir.Ref(obj=obj)):
                self.call(part, obj)
            case ir.Call(fn=ir.Attribute(base, name)):
                self.method(part, base, name)
            case ir.Call():
                self.scan.unseen(self.arguments(part))
            case ir.Attribute(name="__dict__"):
                self.scan.found.anything = True
            case ir.Text():
                pass
            case ir.Opaque(text=text, values=values, refs=refs) if _calls(text, refs):
                self.scan.unseen(map(self.kind, values))
        if isinstance(part, ir.Call | ir.Display | ir.Lazy):
            for value in ir.children(part)[isinstance(part, ir.Call) :]:
                self.handed_on(value)

    def handed_on(self, value: ir.Expr) -> None:
        """A function that is an argument, or is put somewhere, may be called with anything."""
        obj = value.obj if isinstance(value, ir.Ref) else None
        if is_python_function(obj) and not self.scan.book.knows(obj):
            self.scan.called(obj, {})

    def given(self, call: ir.Call) -> Given:
        """What is known of the arguments of a user's function, by parameter."""
        try:
            return {name: self.kind(value) for name, value in bind(call).items()}
        except UnsupportedError:
            return {}

    def arguments(self, call: ir.Call) -> Iterator[Kind]:
        for value in ir.children(call)[1:]:
            yield UNKNOWN if ir.is_starred(value) else self.kind(value)

    def call(self, call: ir.Call, obj: Any) -> None:
        if id(obj) in _STORING:
            self.scan.found.anything = True
        elif is_entered(obj) and not is_of_runtime(obj) and not self.scan.book.knows(obj):
            self.scan.called(obj, self.given(call))
        elif is_of_runtime(obj) or is_ours(obj):
            if written_position(obj) is not None and obj not in (put_contents, put_inside):
                self.put_in(call.args[0], self.kind(call.args[0]), "", UNKNOWN)
        elif not (_stores_nothing(call.fn, obj) or record_class(call) is not None):
            self.scan.unseen(self.arguments(call))

    def method(self, call: ir.Call, base: ir.Expr, name: str) -> None:
        kind = self.kind(base)
        if kind.form in ("list", "unknown") and name in _MOVING:
            self.scan.found.moved = True
        if kind.form in ("dict", "unknown") and name in _TAKING:
            self.scan.found.taken = True
        if kind.form in ("list", "dict", "unknown") and name in _CHANGING:
            self.changed(call, base, kind, name)
        elif kind.form == "object" or not (
            kind.form in _PLAIN or name in _KEEPING or _is_of_arrays(name)
        ):
            self.scan.unseen([kind, *self.arguments(call)])

    def changed(self, call: ir.Call, base: ir.Expr, kind: Kind, name: str) -> None:
        """A method puts something into a list or a dict."""
        place = _CHANGING[name]
        if place is not None and len(call.args) > place:
            self.put_in(base, kind, "list", self.kind(call.args[place]))
        elif name == "update" and not call.args:
            for key, value in call.kwargs:
                self.put_in(base, kind, "dict", self.kind(value), key or None)
        else:
            self.put_in(base, kind, "", UNKNOWN)


def _calls(text: str, refs: Iterable[ir.Ref]) -> bool:
    """Whether code that travels as text calls a method, or a function of the user's."""
    return bool(_METHOD.search(text)) or any(is_python_function(ref.obj) for ref in refs)


def _stores_nothing(fn: ir.Expr, obj: Any) -> bool:
    """Whether a function or class of a library surely stores nothing in its arguments."""
    if module_of(obj) == "_operator":
        return not obj.__name__.startswith(("i", "set", "del")) or obj in _READING
    return (is_numerical(obj) or is_pythons(obj)) and not may_write(fn)


_READING = (operator.index, operator.inv, operator.invert, operator.is_, operator.is_not)


def _is_of_arrays(name: str) -> bool:
    return not name.startswith("_") and hasattr(np.ndarray, name)


def _made_here(function: ir.Function) -> frozenset[str]:
    """The names of lists, dicts and adjoints that the function makes: none was given to it, and of
    the fields of adjoints nothing is claimed."""
    made: set[str] = set()
    others = set(function.param_names)
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Display() | ir.Const()):
                made.add(name)
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj))) if (
                id(obj) in _MAKING
            ):
                made.add(name)
            case ir.Update(target=ir.Var()):
                pass
            case _:
                others.update(ir.binds(stmt))
    return frozenset(made - others)


_MAKING = frozenset(
    map(id, (list, dict, sorted, tuple, set, range, operator.add, operator.mul, operator.or_))
) | {id(zeros_like)}
