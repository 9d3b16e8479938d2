"""Calls that write memory stand in statements of their own, where every analysis sees them.

What carries no derivative stays whole after lowering: tests, comparisons. Only once a function
that is called in one can be read does it show that it writes an argument:

before::                                 after::
    while sweep(u) > tol:                    while True:
        n = n + 1                                sweep_u = sweep(u)
                                                 if sweep_u > tol:
                                                     n = n + 1
                                                 else:
                                                     break

What orders items by a key that writes, and a comprehension whose items are made by what writes,
become the loops that they abbreviate, too::

    y = max(xs, key=bent)                    items = list(xs)
                                             keys = []
                                             for item in items:
                                                 keys.append(bent(item))
                                             order = sorting_order(keys, reverse=True)
                                             y = items[order[0]]
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import gast
import numpy as np

from ... import ir
from ...analysis.memory import base_names, element
from ...analysis.operations import MUTATING_METHODS, written_position
from ...analysis.sharing import Sharing, owner
from ...analysis.structure import Structure, structure
from ...errors import Place, UnsupportedError
from ...frontend.comprehensions import Comprehension
from ...frontend.expressions import Reader
from ...frontend.jumps import negated
from ...frontend.lower import Lowered, instead, lowered_again, names_of
from ...frontend.naming import noun
from ...frontend.nested import Chain, Closure
from ...frontend.owners import is_library
from ...frontend.structures import is_object
from ...ir.facts import fact
from ...ir.index import all_names, references
from ...ir.kind import Kind
from ...ir.rewrite import unless_same
from ...rules.index_kinds import key_parts
from ..context import Context
from .protocols import (
    Asked,
    asked_by,
    asked_here,
    asked_in_text,
    by_name,
    function_called,
    is_operator,
    tried_first,
)

# The parameters that a function writes; the class of its first argument, if that is known.
Changes = Callable[..., frozenset[str]]
_OF_PYTHON = (list, dict, set, str)  # what their methods write is known


def effects_first(
    lowered: Lowered,
    writes: Callable[[ir.Call], Collection[ir.Expr]],
    changes: Changes,
    kind: Callable[[ir.Expr], Kind],
) -> Lowered:
    """A function in which what a test or comparison calls writes nothing. `writes` says of a call
    of a user's function whether it writes what it is given, `changes` whether the function ever
    does; `kind` is what is known of an expression. (A comprehension shows what its tests and items
    hide once it is a loop: then there is more to do.)"""
    apart = Apart(lowered.function, writes, changes, kind)
    body = apart.by_name()
    if not any(map(apart.hides, ir.statements(body))):
        return lowered
    body = ir.rewrite(body, after=apart.statement)
    lowered = lowered.with_body(body, apart.made)
    return lowered_again(lowered) if apart.loops else lowered


class Apart:
    """What the calls in expressions of a function write; `given` are parameters that stand for
    functions which do."""

    def __init__(
        self,
        function: ir.Function,
        writes: Callable[[ir.Call], Collection[ir.Expr]],
        changes: Changes,
        kind: Callable[[ir.Expr], Kind],
        given: frozenset[str] = frozenset(),
    ) -> None:
        self.function = function
        self.given = given
        self.writes_argument = writes
        self.changes = changes
        self.kind = kind
        self.names = functools.cache(lambda: names_of(function))
        self.mentioned = functools.cache(lambda: _mentioned(function))
        self.stores = functools.cache(lambda: _stored_attributes(function))
        self.made: set[str] = set()
        self.loops = False  # whether a comprehension is to become one
        self.refuses = False  # what could become one, too

    # ----------------------------------------------------------- what is called by protocol

    @functools.cached_property
    def objects(self) -> bool:
        """Whether there are objects in the function that are of classes known."""
        names = map(ir.Var, all_names(self.function))
        others = (ref for ref in fact(references, self.function) if is_object(ref.obj))
        return any(self.kind(name).classes for name in names) or any(others)

    def writer(self, base: ir.Expr, name: str) -> Any:
        """The function that the object's class calls under a name by protocol, if it writes."""
        return next((fn for cls in self._classes(base) if (fn := self._writer(cls, name))), None)

    def _writer(self, cls: type, name: str) -> Any:
        fn = None if is_library(cls) else function_called(cls, name)
        if isinstance(fn, functools.cached_property):
            return None if name in self.stores() else fn
        return fn if fn is not None and self.changes(fn, cls) else None

    def by_name(self) -> ir.Block:
        """The body with methods that write called by name, where operators or tests call them."""
        if not self.objects:
            return self.function.body

        def statement(stmt: ir.Stmt) -> ir.Stmt:
            tests = isinstance(stmt, ir.If | ir.While)
            return ir.map_statement(stmt, lambda expr: by_name(expr, self.writer, tests))

        return ir.rewrite(self.function.body, after=lambda stmt: [statement(stmt)])

    def refuse_asked(self, varied: Callable[[], Collection[str]]) -> None:
        """Refuse operators, tests and built-in functions that call methods by which objects that
        vary are written."""
        for stmt in ir.statements(self.function.body) if self.objects else ():
            for operand, inside, names in (*asked_by(stmt), *self._asked_in_texts(stmt)):
                classes = self.kind(operand).classes if inside else self._classes(operand)
                for cls, name in ((c, n) for c in classes for n in tried_first(c, names)):
                    if self._writer(cls, name) and not ir.names_in(operand).isdisjoint(varied()):
                        raise _writes_inside(
                            f"{cls.__name__}.{name}",
                            "an operator, a test or a built-in function",
                            stmt.origin.place,
                        )

    def _asked_in_texts(self, stmt: ir.Stmt) -> Iterator[Asked]:
        codes = [part for expr in ir.expressions(stmt) for part in ir.walk(expr)]
        for code in (*codes, stmt):
            if isinstance(code, ir.Opaque | ir.OpaqueStmt) and not isinstance(
                code, Chain | Closure
            ):
                yield from asked_in_text(code.text, self._reader(code)[0].read)

    def refuse_hidden(self) -> None:
        """Refuse code without derivatives that calls what writes, known by the caller alone:
        `any(f(v) for v in xs)`, of a parameter `f`."""
        self.refuses = True
        for stmt in ir.statements(self.function.body):
            self.hides(stmt)

    def is_writer(self, expr: ir.Expr) -> bool:
        """Whether what is passed on is a function that writes."""
        match expr:
            case ir.Var(name):
                return name in self.given
            case ir.Ref(obj=obj) | ir.Call(ir.Ref(obj=functools.partial), (ir.Ref(obj=obj), *_)):
                return bool(self.changes(obj))
            case ir.Attribute() | Closure():
                return self._may_write(self._called_by(ir.Call(expr, ())))
        return False

    def hides(self, stmt: ir.Stmt) -> bool:
        """Whether a call that writes stands inside of an expression of the statement."""
        if isinstance(stmt, ir.OpaqueStmt):
            self._refuse(stmt, stmt.origin.place)
        orders = isinstance(stmt, ir.Assign | ir.Do) and self._orders(stmt.value)
        return orders or any(map(self._writes_inside, _inner(stmt)))

    def statement(self, stmt: ir.Stmt) -> list[Any] | None:
        """What stands for a statement that hides an effect."""
        if not self.hides(stmt):
            return None
        out: list[ir.Stmt] = []
        match stmt:
            case ir.While(test=test, body=body, origin=origin):
                test = self._apart(test, out, origin)
                leave: ir.Block = (ir.Break(origin),)
                choice = ir.If(test, body, leave, origin)
                if not body:
                    choice = ir.If(negated(test), leave, (), origin)
                return [ir.While(ir.Const(True), (*out, choice), origin)]
            case ir.If(test=test):
                test = self._apart(test, out, stmt.origin)
                return [*out, dataclasses.replace(stmt, test=test)]
            case ir.For(iter=iterable):
                iterable = self._apart(iterable, out, stmt.origin)
                return [*out, dataclasses.replace(stmt, iter=iterable)]
        plain: Any = stmt  # (of the statements that have a value)
        if isinstance(stmt, ir.Assign | ir.Do) and self._takes_items(stmt.value):
            value = self._parts_apart(plain.value, out, stmt.origin)
            if self._orders(value):
                return [*out, *self._ordered(plain, value)]
            return [*out, dataclasses.replace(plain, value=value)]
        value = self._apart(plain.value, out, stmt.origin)
        return [*out, dataclasses.replace(plain, value=value)]

    def _ordered(self, stmt: ir.Assign | ir.Do, call: Any) -> list[ir.Stmt]:
        """What stands for a call that orders items by a key that writes, of atoms."""
        words = dict(call.kwargs)
        given = {"fn": words["key"], "reverse": words.get("reverse", ir.Const(False))}
        text = "for item in items:\n    key = fn(item)\n    keys.append(key)\n"
        text = f"items = list(xs)\nkeys = []\n{text}order = sorting_order(keys, reverse=reverse)\n"
        if isinstance(call.fn, ir.Attribute):  # (of a list)
            given |= {"xs": call.fn.base}
            text += "taken = take_items(items, order)\nxs[:] = taken"
        else:
            one = len(call.args) == 1
            given |= {"xs": call.args[0] if one else ir.Display("list", call.args)}
            given |= {"reverse": ir.Const(True)} if call.fn.obj is max else {}
            sorts = call.fn.obj is sorted
            text += "result = " + ("take_items(items, order)" if sorts else "items[order[0]]")
        return instead(stmt, text, self.names(), self.made, "np", **given)

    # ------------------------------------------------------------------------- expressions

    def _apart(self, expr: ir.Expr, out: list[ir.Stmt], origin: ir.Origin) -> ir.Expr:
        """The expression after the statements in which what it calls writes; operands further
        left are evaluated before these."""
        if not self._writes_inside(expr):
            return expr
        if isinstance(expr, Comprehension):
            self.loops = True
            return ir.replaced(expr, writes=True, inert=False)
        if isinstance(expr, ir.Lazy):
            return self._lazily(expr, out, origin)
        if isinstance(expr, Chain):
            return self._chain(expr, 0, expr.operands, out, origin)
        expr = self._parts_apart(expr, out, origin)
        return self._atom(expr, out, origin) if self._writes(expr) else expr

    def _parts_apart(self, expr: ir.Expr, out: list[ir.Stmt], origin: ir.Origin) -> ir.Expr:
        """One operation after the statements in which what its parts call writes."""
        parts = ir.children(expr)
        last = max((n for n, p in enumerate(parts) if self._writes_inside(p)), default=-1)
        made: list[ir.Expr] = []
        for n, part in enumerate(parts):
            new = self._apart(part, out, origin) if n <= last else part
            if n == 0 < last and isinstance(expr, ir.Call):
                made.append(self._called(new, out, origin))
            else:
                made.append(self._atom(new, out, origin) if n < last else new)
        replaced = iter(made)
        return ir.rebuild(expr, lambda _: next(replaced))

    def _atom(self, expr: ir.Expr, out: list[ir.Stmt], origin: ir.Origin) -> ir.Expr:
        """A name for the value of an expression, one operation a statement."""
        match expr:
            case ir.Var() | ir.Const() | ir.Ref() | ir.Slice():
                return expr
            case ir.Call(fn, args, kwargs):
                fn = self._called(fn, out, origin)
                args = tuple(self._atom(a, out, origin) for a in args)
                kwargs = tuple((k, self._atom(v, out, origin)) for k, v in kwargs)
                expr = dataclasses.replace(expr, fn=fn, args=args, kwargs=kwargs)
            case ir.Index(base) | ir.Attribute(base):
                expr = dataclasses.replace(expr, base=self._atom(base, out, origin))
        made = ir.Assign(self._name(noun(expr)), expr, origin)
        out += self._ordered(made, expr) if self._orders(expr) else [made]
        return ir.Var(str(made.target))

    def _called(self, fn: ir.Expr, out: list[ir.Stmt], origin: ir.Origin) -> ir.Expr:
        """What is called, of an atom: methods stay with their object."""
        if isinstance(fn, ir.Attribute):
            return dataclasses.replace(fn, base=self._atom(fn.base, out, origin))
        return self._atom(fn, out, origin)

    def _lazily(self, expr: ir.Lazy, out: list[ir.Stmt], origin: ir.Origin) -> ir.Expr:
        """`a and b`, `a or b`, `b if a else c`, of which `b` or `c` may not be evaluated."""
        first = self._apart(expr.items[0], out, origin)
        others = expr.items[1:]
        if not any(map(self._writes_inside, others)):
            return dataclasses.replace(expr, items=(first, *others))
        name = self._name("holds")

        def branch(item: ir.Expr) -> ir.Block:
            inner: list[ir.Stmt] = []
            value = self._apart(item, inner, origin)
            return (*inner, ir.Assign(name, value, origin))

        if expr.form == "if":
            out.append(ir.If(first, branch(others[0]), branch(others[1]), origin))
            return ir.Var(name)
        out.append(ir.Assign(name, first, origin))
        rest = others[0] if len(others) == 1 else ir.Lazy(expr.form, others)
        test = ir.Var(name) if expr.form == "and" else negated(ir.Var(name))
        out.append(ir.If(test, branch(rest), (), origin))
        return ir.Var(name)

    def _chain(
        self,
        chain: Chain,
        number: int,
        operands: tuple[ir.Expr, ...],
        out: list[ir.Stmt],
        origin: ir.Origin,
    ) -> ir.Expr:
        """`a < f(x) < b`, from an operand on."""
        first = self._apart(operands[0], out, origin)
        if self._writes_inside(operands[1]):
            first = self._atom(first, out, origin)
        second = self._apart(operands[1], out, origin)
        if len(operands) == 2:
            return chain.test(number, first, second)
        second = self._atom(second, out, origin)
        name = self._name("holds")
        out.append(ir.Assign(name, chain.test(number, first, second), origin))
        inner: list[ir.Stmt] = []
        value = self._chain(chain, number + 1, (second, *operands[2:]), inner, origin)
        out.append(ir.If(ir.Var(name), (*inner, ir.Assign(name, value, origin)), (), origin))
        return ir.Var(name)

    def _name(self, wanted: str) -> str:
        name = self.names().fresh(wanted)
        self.made.add(name)
        return name

    def _writes_inside(self, expr: ir.Expr) -> bool:
        for part in ir.walk(expr):
            if isinstance(part, Chain):
                if any(map(self._writes_inside, part.operands)):
                    return True
            elif isinstance(part, Comprehension) and not part.writes and not self.refuses:
                if self._hidden(part):
                    return True
            elif isinstance(part, ir.Opaque) and not isinstance(part, Closure):
                self._refuse(part, part.at)
            elif self._writes(part):
                return True
        return False

    def _takes_items(self, expr: ir.Expr) -> bool:
        """Whether a call goes through items that are made by what writes, or orders them so."""
        if not isinstance(expr, ir.Call):
            return False
        items = (e for e in ir.arguments(expr) if isinstance(e, Comprehension))
        return self._orders(expr) or any(e.writes or self._hidden(e) for e in items)

    def _writes(self, expr: ir.Expr) -> bool:
        if self._takes_items(expr):
            return True
        match expr:
            case ir.Call(ir.Ref(obj=np.ufunc() as ufunc), args, kwargs):
                return len(args) > ufunc.nin or "out" in dict(kwargs)
            case ir.Call(ir.Attribute(base, name), args, kwargs):
                given = [self.kind(e) for e in ir.arguments(expr)]
                return self._method_writes(base, name, given)
            case ir.Call(ir.Ref(obj=obj), kwargs=kwargs):
                known = written_position(obj) is not None or "out" in dict(kwargs)
                parts = (part for e in ir.arguments(expr) for part in ir.walk(e))
                names = (part for part in parts if isinstance(part, ir.Var))
                known = known or any(self.kind(name).is_iterator for name in names)
                return known or bool(self.writes_argument(expr)) or self._operator_writes(expr)
            case ir.Call(Closure(names=names, values=values, body=body)):
                meaning = dict(zip(names, values, strict=True))
                return self._writes_inside(ir.substitute(body, meaning))
            case ir.Call(ir.Call(ir.Ref(obj=functools.partial), (ir.Ref() as fn, *_))):
                return bool(self.changes(fn.obj))
            case ir.Call():
                return True  # (a function that only the running program knows)
            case ir.Attribute(base, name) if self.objects:
                return bool(self.writer(base, name))
            case ir.Index(base) if self.objects:
                return bool(self.writer(base, "__getitem__"))
        return False

    def _operator_writes(self, call: ir.Call) -> bool:
        """Whether it is an operator whose method writes."""
        asked = asked_here(call) if self.objects and is_operator(call) else ()
        return any(self.writer(e, name) for e, _, names in asked for name in names)

    def _classes(self, base: ir.Expr) -> list[Any]:
        kind = self.kind(base)
        return [k.cls for k in (kind, *kind.among) if k.has_methods]

    def _method_writes(self, base: ir.Expr, name: str, given: Sequence[Kind]) -> bool:
        classes, kind = self._classes(base), self.kind(base)
        if classes:
            return bool(given) or any(
                self.changes(getattr(cls, name, None), cls) for cls in classes
            )
        # (Of what holds no derivatives, too: indices that are popped are put back in reverse.)
        if name in MUTATING_METHODS or kind.form not in ("unknown", "object"):
            return name in MUTATING_METHODS
        if any(hasattr(t, name) for t in _OF_PYTHON):
            return False
        # (`nx.any(x > 0)` is no method of an array: these are given axes and sizes.)
        return any(not k.discrete for k in given) if hasattr(np.ndarray, name) else bool(given)

    def _orders(self, call: ir.Expr) -> bool:
        """Whether a call orders items by a key that writes what it is given."""
        words = dict(call.kwargs) if isinstance(call, ir.Call) else {}
        key = words.get("key")
        refs = getattr(key, "refs", ())
        if key is None or not (self.is_writer(key) or any(self.changes(r.obj) for r in refs)):
            return False
        assert isinstance(call, ir.Call)
        match call:
            case ir.Call(fn=ir.Ref(obj=obj), args=args):
                known = obj is sorted and len(args) == 1 and words.keys() <= {"key", "reverse"}
                known = known or (any(obj is fn for fn in (max, min)) and len(words) == 1)
                known = known and not any(map(ir.is_starred, args))
            case ir.Call(fn=ir.Attribute(_, name), args=args):
                known = name == "sort" and not args and words.keys() <= {"key", "reverse"}
            case _:
                known = False
        if self.refuses or not known:
            name = key.text if isinstance(key, ir.Ref) else noun(key)
            raise UnsupportedError(
                f"`{name}` may write its arguments, and is the key by which these are ordered",
                call.at,
                "Order by a function that writes nothing.",
            )
        return True

    def _refuse(self, code: ir.Opaque | ir.OpaqueStmt, place: Place | None) -> None:
        """Refuse code that travels as text and may call what writes, as `assert xs.pop() > 0`."""
        found = self._hidden(code)
        if found:
            raise _writes_inside(found, f"`{code.text}`", place)

    def _hidden(self, code: ir.Opaque | ir.OpaqueStmt) -> str:
        """What such code calls that may write."""
        if not code.names or ("." not in code.text and "(" not in code.text):
            return ""
        inside = (*code.refs, *(part for value in code.values for part in ir.walk(value)))
        refs = (ref for ref in inside if isinstance(ref, ir.Ref))
        found = [ref.text for ref in refs if not self._are_sets(map(ir.Var, self.changes(ref.obj)))]
        found = found or [text for call, text in self._calls(code) if self._may_write(call)]
        return next(iter(found), "")

    def _are_sets(self, written: Iterable[ir.Expr]) -> bool:
        """Whether all that a function writes are sets, which hold no derivatives: what was seen. Of
        a parameter that items are added to the callers know that; they ask again."""
        return all(self.kind(e).form == "set" or self._may_be_set(e) for e in written)

    def _may_be_set(self, expr: ir.Expr) -> bool:
        name = expr.name if isinstance(expr, ir.Var) else ""
        if name not in self.function.param_names or self.kind(expr).form != "unknown":
            return False
        parts = (p for stmt in self.mentioned().get(name, ()) for p in ir.walk_statement(stmt))
        return any(isinstance(p, ir.Call) and p.fn == ir.Attribute(expr, "add") for p in parts)

    def _may_write(self, call: ir.Expr) -> bool:
        """Whether a call in such code writes; one of which only the run knows the function does,
        if the function around puts one that writes where this comes from."""
        fn = getattr(call, "fn", call)
        if isinstance(fn, ir.Var | ir.Index) and self._classes(fn):
            fn = ir.Attribute(fn, "__call__")
            call = ir.Call(fn, ())
        if isinstance(fn, ir.Attribute) and fn.name not in MUTATING_METHODS:
            unknown = self.kind(fn.base).form in ("unknown", "object")
            unknown = unknown and not self._classes(fn.base)
        else:
            unknown = isinstance(fn, ir.Var | ir.Index)
        match call:
            case ir.Call(ir.Call(ir.Ref(obj=functools.partial), (ir.Ref() as own, *first), words)):
                call = ir.Call(own, (*first, *call.args), (*words, *call.kwargs), call.at)
        written = self.writes_argument(call) if isinstance(call, ir.Call) else ()
        if written and self._are_sets(written):
            return False
        return self._comes_from_writing(fn) if unknown else self._writes(call)

    def _comes_from_writing(self, fn: ir.Expr) -> bool:
        names, seen = list(ir.names_in(fn)), set(ir.names_in(fn))
        while names:
            name = names.pop()
            if name in self.given:
                return True
            for stmt in self.mentioned().get(name, ()):
                for part in ir.walk_statement(stmt):
                    if isinstance(part, ir.Ref) and self.changes(part.obj):
                        return True
                    if isinstance(part, ir.Attribute) and self._writes(ir.Call(part, ())):
                        return True
                if name in ir.binds(stmt):
                    names += ir.reads(stmt) - seen
                    seen |= ir.reads(stmt)
        return False

    def _calls(self, code: ir.Opaque | ir.OpaqueStmt) -> Iterator[tuple[ir.Expr, str]]:
        """What code that travels as text may call, and how that is written: methods may be handed
        on. What goes through a list is one of its items."""
        reader, meaning = self._reader(code)
        nodes = list(gast.walk(gast.parse(code.text.lstrip("*"))))
        for node in nodes:
            match node:
                case gast.comprehension(target=gast.Name(id=name), iter=through):
                    items = reader.read(through)
                    listed = self.kind(items).form in ("list", "tuple") and name not in meaning
                    meaning[name] = ir.Index(items, ir.Const(0)) if listed else ir.Var(name)
        for node in nodes:
            if isinstance(node, gast.Call):
                handed = [part for part in node.args if isinstance(part, gast.Attribute)]
                for part in (node, *handed):
                    asked = gast.unparse(getattr(part, "func", part)).strip()
                    yield self._called_by(reader.read(part)), asked
        if isinstance(code, Comprehension):  # (`map(f, xs)` calls `f`)
            made = ir.walk(ir.substitute(code.element, meaning))
            calls = (part for part in made if isinstance(part, ir.Call))
            yield from ((self._called_by(call), code.text) for call in calls)

    def _reader(self, code: ir.Opaque | ir.OpaqueStmt) -> tuple[Reader, dict[str, ir.Expr]]:
        """What reads parts of code that travels as text, and the meaning of its names."""
        meaning: dict[str, ir.Expr] = dict(zip(code.names, code.values, strict=True))
        meaning |= {ref.text: ref for ref in code.refs}
        return Reader(lambda name: meaning.get(name) or ir.Var(name)), meaning

    def _called_by(self, expr: Any) -> ir.Expr:
        """A call; of a method that is handed on, and of one that is known, whatever it is given."""
        fn: ir.Expr = getattr(expr, "fn", expr)
        known = isinstance(fn, ir.Attribute) and (fn is expr or bool(self._classes(fn.base)))
        made: ir.Expr = ir.Call(fn, ()) if known else expr
        return made


def _writes_inside(called: str, code: str, place: Place | None) -> UnsupportedError:
    return UnsupportedError(
        f"`{called}` may write its arguments, and is called within {code}, which is not "
        "differentiated",
        place,
        "Call it in a statement of its own before this one.",
    )


def _stored_attributes(function: ir.Function) -> frozenset[str]:
    """The attributes that a function stores, of whatever object."""
    stores = (s.target for s in ir.statements(function.body) if isinstance(s, ir.Store))
    return frozenset(place.name for place in stores if isinstance(place, ir.Attribute))


def _mentioned(function: ir.Function) -> dict[str, list[ir.Stmt]]:
    """The simple statements of a function by the names that stand in them."""
    found: dict[str, list[ir.Stmt]] = {}
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.Assign | ir.Store | ir.Update | ir.Do):
            for name in {*ir.reads(stmt), *ir.binds(stmt)}:
                found.setdefault(name, []).append(stmt)
    return found


def _inner(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """What stands inside of the operation of a statement; of tests, all."""
    match stmt:
        case ir.If(test=test) | ir.While(test=test):
            return (test,)
        case ir.For(iter=value) | ir.Assign(value=value) | ir.Do(value=value):
            opaque = isinstance(value, ir.Opaque | ir.Lazy)  # (no operation on atoms)
            return (value,) if opaque else ir.children(value)
        case ir.Store(value=value) | ir.Update(value=value) | ir.Return(value=value):
            return () if value is None else (value,)
    return ()


# --------------------------------------------------------------------------------------------------
# `a[0] += change(a)`: Python reads `a[0]` before it computes the value, which changes it.
#
# before::                     after::
#     v = change(a)                old = a[0]
#     a[0] += v                    v = change(a)
#                                  old += v
#                                  a[0] = old


def places_read_first(function: ir.Function, wrt: tuple[str, ...], context: Context) -> ir.Function:
    """A function whose updates have their places read before the calls that may change these."""
    return _Reader(context, function).rewritten(function)


@dataclasses.dataclass
class _Reader(ir.Rewriter):
    context: Context
    function: ir.Function

    @functools.cached_property
    def facts(self) -> Structure:
        return structure(self.function)

    @functools.cached_property
    def classes(self) -> dict[str, str]:
        """What may share memory in the function."""
        return Sharing(self.facts, self.context.sources()).classes

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in block:
            first = self._first_change(stmt, out) if isinstance(stmt, ir.Update) else None
            if first is None:
                out.append(self.inside(stmt))
                continue
            assert isinstance(stmt, ir.Update)
            kind, target = self.context.kind_of(stmt.target), stmt.target
            old = ir.Var(self.context.fresh("old", kind, temporary=True))
            out.insert(first, ir.Assign(old.name, target, stmt.origin))
            out.append(dataclasses.replace(stmt, target=old))
            if isinstance(target, ir.Var):
                out.append(ir.Assign(target.name, old, stmt.origin))
            else:
                out.append(ir.Store(target, old, stmt.origin))
        return unless_same(out, block)

    def _first_change(self, update: ir.Update, before: Sequence[ir.Stmt]) -> int | None:
        """Where the first call stands that computes the value of an update and may change its
        place: of the same line, and not among what finds the place first, which is `g.step().cells`
        of `g.step().cells[0] += v`."""
        found, place = None, set(ir.names_in(update.target))
        for at in reversed(range(len(before))):
            stmt = before[at]
            if stmt.origin.place != update.origin.place:
                break
            bound = set(ir.target_names(stmt.target)) if isinstance(stmt, ir.Assign) else set()
            if bound & place and bound != {getattr(update.target, "name", "")}:
                place |= ir.reads(stmt)
            elif self._changes(update, stmt):
                found = at
        return found

    def _changes(self, update: ir.Update, stmt: ir.Stmt) -> bool:
        """Whether a statement is a call that may change what is updated."""
        value, sources = getattr(stmt, "value", None), self.context.sources()
        if not isinstance(value, ir.Call):
            return False
        match update.target:
            case ir.Var(name):
                definitions = self.facts.definitions.get(name, ())  # (none: the program raises)
                again = name in self.function.param_names or len(definitions) > 1
                return again and isinstance(stmt, ir.Assign) and name in ir.binds(stmt)
            case ir.Attribute(_, field):
                effects = sources.effects(value)
                return effects is not None and field in effects.assigned
            case ir.Index(base, key):
                slices = any(isinstance(part, ir.Slice) for part in key_parts(key))
                if slices and sources.kind_of(base).form == "array":
                    return False  # (a view)
        written = {n for w in sources.written(stmt) for n in (w, owner(w), element(w))}
        places = {n for b in base_names(update.target) for n in (b, element(b))}
        return bool(written) and not {self.classes.get(n, n) for n in written}.isdisjoint(
            self.classes.get(n, n) for n in places
        )
