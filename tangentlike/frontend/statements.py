"""Reading statements: gast in, nested IR out, one method a statement.

What the language leaves out is refused here, each construct with its own advice.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gast

from .. import ir
from ..errors import InternalError, Place, UnsupportedError
from ..ir import Call, Expr, Opaque, OpaqueStmt, Origin, Ref, Var
from ..ir.names import Names
from . import nested
from .abbreviations import is_logging
from .attempts import (
    Attempt,
    Handler,
    by_protocol,
    generator_of,
    loop_generator,
    region,
    suppressed,
)
from .comprehensions import items_left, loop_over
from .cuts import cuts_made, is_refusal, raising, spot_of
from .expressions import Lookup, Reader
from .generators import GENERATED, Beside, TakenInPart, filled_list, manner_of, run_through, turn
from .jumps import run_unless_broken, without_jumps
from .matches import Patterns, captured, cases, is_taken_apart
from .operands import BINARY, UPDATE
from .source import Line, Source
from .survey import MEMO_CALLS, Survey, memoized, parameter_names, survey
from .targets import outer_write, place_of, split_targets

# --------------------------------------------------------------------------------------------------
# `global` and `nonlocal`: names of the world outside that a function also writes.
#
#     before::                         after::
#         global calls                     global calls
#         calls += 1                       items = calls
#         y = calls * x                    total = items + 1
#                                          calls = total
#                                          items2 = calls
#                                          y = items2 * x
#
# A read is a value of its own, taken where it stands, since the name may mean another one when the
# reverse sweep runs. A write is carried as it stands; one that carries derivatives is refused.

_REBOUND = (bool, int, float, complex, str, tuple, type(None))  # what `+=` gives a new value


@dataclass(frozen=True)
class Outer:
    """The names a function declares `global` or `nonlocal`; `lookup` finds what they mean now."""

    names: frozenset[str] = frozenset()
    lookup: Callable[[str], Any] = field(default=dict[str, Any]().__getitem__)

    def read(self, name: str) -> Expr:
        """The present value: opaque code, since it may be another one later."""
        return Opaque(name, (), (), (Ref(name, self.lookup(name), again=True),))

    def declared(self, node: Any, origin: Origin) -> list[Any]:
        """The declaration itself."""
        word = "global" if isinstance(node, gast.Global) else "nonlocal"
        refs = tuple(ref for name in node.names for ref in self._known(name))
        return [OpaqueStmt(f"{word} {', '.join(node.names)}", (), (), refs, (), origin)]

    def written(self, name: str, value: str, origin: Origin) -> OpaqueStmt:
        """`name = value`."""
        return OpaqueStmt(
            f"{name} = {value}", (value,), (Var(value),), self._known(name), (), origin
        )

    def updated(self, node: Any, value: Expr, names: Names, origin: Origin) -> Sequence[Any]:
        """`name op= value`, which must not change an object in place."""
        name = node.target.id
        try:
            present = self.lookup(name)
        except KeyError:
            present = None
        if not isinstance(present, _REBOUND):
            raise UnsupportedError(
                f"`{name}` is changed in place, and is defined outside the function",
                origin.place,
                "Return the new value instead.",
            )
        held = names.fresh(f"{name}_new")
        made = Call(BINARY[type(node.op)], (self.read(name), value), (), origin.place)
        bound = nested.Assignment((Var(held),), made, origin)
        return [bound, self.written(name, held, origin)]

    def refuse(self, name: str, place: Place) -> None:
        """Refuse other ways of binding such a name."""
        if name in self.names:
            raise UnsupportedError(
                f"`{name}` is defined outside the function, and is bound here",
                place,
                "Assign it in a statement of its own.",
            )

    def _known(self, name: str) -> tuple[Ref, ...]:
        try:
            return (Ref(name, self.lookup(name)),)
        except KeyError:
            return ()


NO_OUTER = Outer()


# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StatementReader:
    """Reads the statements of one function. `names` hands out names for flags.

    `outer` are the names declared `global` and the like;
    `managers`, that context managers are written out, and `at_yield` gives what stands for the
    `yield` of one.
    """

    source: Source
    lookup: Lookup
    names: Names
    outer: Outer = NO_OUTER
    managers: bool = False
    at_yield: Callable[[ir.Expr], Sequence[Any]] | None = None
    inside: frozenset[Any] = frozenset()  # the generator functions whose statements these are
    around: Survey = field(default_factory=Survey)  # of the whole function

    def block(self, nodes: Sequence[gast.AST]) -> ir.Block:
        """The IR of a list of statements, up to the first one that is cut out."""
        cuts = cuts_made()
        if cuts is None:
            return tuple(stmt for node in nodes for stmt in self._statement(node))
        made: list[Any] = []
        for node in nodes:
            spot = spot_of(self.source.file, node)
            cuts.spots.add(spot)
            while spot not in cuts.made:  # (a part that is not always evaluated goes alone)
                try:
                    made.extend(self._statement(node))
                    break
                except UnsupportedError as refusal:
                    if type(refusal) is not UnsupportedError or not cuts.differentiates(spot):
                        raise
                    if not cuts.cut(refusal):
                        cuts.add(spot, refusal)
            else:
                return (*made, raising(cuts.made[spot], self.source.line(node).whole()))
        return tuple(made)

    def _statement(self, node: gast.AST) -> Sequence[Any]:
        line = self.source.line(node)
        if type(node) in STATEMENTS:
            raise unsupported(node, line)
        parts, node = TakenInPart.of(node, self._named_object, self.names)
        reader = self
        made: list[Any] = []
        for part in parts:
            reader = dataclasses.replace(reader, lookup=reader._knowing(part.name))
            made += reader._statement(part)
        inner = Reader(reader.lookup, line.place)
        return [*made, *_READERS[type(node)](reader, node, line, inner)]

    def assign(self, node: gast.Assign, line: Line, reader: Reader) -> Sequence[Any]:
        return self._bound(node.targets, reader.read(node.value), line, reader)

    def annotated(self, node: gast.AnnAssign, line: Line, reader: Reader) -> Sequence[Any]:
        if node.value is None:
            return []  # `x: float` declares and does nothing
        return self._bound([node.target], reader.read(node.value), line, reader)

    def _bound(
        self, nodes: Sequence[gast.AST], value: ir.Expr, line: Line, reader: Reader
    ) -> Sequence[Any]:
        """An assignment; what is bound outside the function gets its value last."""
        origin, late = ir.Origin(line.whole()), []
        targets: list[nested.Place] = []
        for node in nodes:
            if isinstance(node, gast.Name) and node.id in self.outer.names:
                held = self.names.fresh(f"{node.id}_new")
                late.append(self.outer.written(node.id, held, origin))
                targets.append(ir.Var(held))
            else:
                targets.append(self._target(node, line, reader))
        return [nested.Assignment(tuple(targets), value, origin), *late]

    def augmented(self, node: gast.AugAssign, line: Line, reader: Reader) -> Sequence[Any]:
        value, origin = reader.read(node.value), ir.Origin(line.whole())
        if isinstance(node.target, gast.Name) and node.target.id in self.outer.names:
            return self.outer.updated(node, value, self.names, origin)
        target: Any = self._target(node.target, line, reader)
        return [ir.Update(target, UPDATE[type(node.op)], value, origin)]

    def declaration(self, node: Any, line: Line, reader: Reader) -> Sequence[Any]:
        """`global` and `nonlocal`; in an inner function the latter is about its surroundings."""
        if self.outer.names:
            return self.outer.declared(node, ir.Origin(line.whole()))
        if isinstance(node, gast.Global):
            raise UnsupportedError(
                f"an inner function declares `{', '.join(node.names)}` global",
                line.whole(),
                "Assign the global name in a function of the module, or return the new value.",
            )
        return []

    def _target(self, node: gast.AST, line: Line, reader: Reader) -> nested.Place:
        if isinstance(node, gast.Tuple | gast.List):
            return tuple(self._target(part, line, reader) for part in node.elts)
        if isinstance(node, gast.Starred):
            return nested.Star(self._target(node.value, line, reader))
        if isinstance(node, gast.Name):
            self.outer.refuse(node.id, line.place(node))
            return ir.Var(node.id)
        place: Any = reader.read(node)
        if isinstance(place, ir.Ref):
            raise outer_write(place.text, line.place(node))
        if isinstance(place, ir.Call):  # (`obj.__dict__` and `obj.__class__` are read as calls)
            raise UnsupportedError(
                f"`{gast.unparse(node).strip()}` is assigned",
                line.place(node),
                "An object keeps its class and its dict here: make another object, assign its "
                "attributes one by one, or write `vars(obj).update(..)`.",
            )
        return place  # type: ignore[no-any-return]

    def expression(self, node: gast.Expr, line: Line, reader: Reader) -> Sequence[Any]:
        if isinstance(node.value, gast.Constant):
            return []  # a string or `...` standing alone
        if isinstance(node.value, gast.Call) and is_logging(node.value.func, reader.read):
            return self.opaque(node, line, reader)
        if isinstance(node.value, gast.Yield) and self.at_yield is not None:
            value = node.value.value
            return self.at_yield(ir.Const(None) if value is None else reader.read(value))
        if isinstance(node.value, gast.YieldFrom) and self.at_yield is not None:
            item = gast.Name(self.names.fresh("item"), gast.Store(), None, None)
            taken = gast.Expr(gast.Yield(gast.Name(item.id, gast.Load(), None, None)))
            loop = gast.For(item, node.value.value, [taken], [], None)
            for part in gast.walk(loop):
                if not hasattr(part, "lineno"):
                    gast.copy_location(part, node)
            return dataclasses.replace(self, lookup=self._knowing(item.id)).for_loop(
                loop, line, reader
            )
        return [ir.Do(reader.read(node.value), ir.Origin(line.whole()))]

    def _knowing(self, name: str) -> Lookup:
        """The meaning of names where one more is local."""
        return lambda wanted: ir.Var(wanted) if wanted == name else self.lookup(wanted)

    def conditional(self, node: gast.If, line: Line, reader: Reader) -> Sequence[Any]:
        test = reader.read(node.test)
        body, orelse = self.block(node.body), self.block(node.orelse)
        return [ir.If(test, body, orelse, ir.Origin(line.whole()))]

    def for_loop(self, node: gast.For, line: Line, reader: Reader) -> Sequence[Any]:
        iterable, origin = reader.read(reader.gone_through(node.iter)), ir.Origin(line.whole())
        through = None if node.orelse else self._through_generator(node, iterable, line)
        if through is not None:
            return through
        body = self.block(node.body)
        if not _binds_names(node.target):  # `for (a, b), [c, *d] in xs`: unpacked in the body
            taken = self.names.fresh("item")
            whole = self._target(node.target, line, reader)
            unpacked: Any = nested.Assignment((whole,), ir.Var(taken), origin)
            loop = ir.For(taken, iterable, (unpacked, *body), origin)
            return run_unless_broken(loop, self.block(node.orelse), self.names)
        target = self._loop_target(node.target, line)
        first: ir.Block = ()
        place: nested.Place | None = (
            None  # (`map` takes its function before the loop: it must stay what it is)
        )
        if not self._rebinds(node.body, node.iter):
            while (turn := loop_over(iterable, self.names.fresh, origin)) is not None:
                place = place_of(target) if place else self._target(node.target, line, reader)
                assigned: Any = nested.Assignment((place,), turn.item, origin)
                body = turn.around((assigned, *body), origin)
                first = (*turn.first, *first)
                target, iterable = turn.clause.target, turn.clause.iter
        loop = ir.For(target, iterable, body, origin)
        return (*first, *run_unless_broken(loop, self.block(node.orelse), self.names))

    def _through_generator(self, node: gast.For, iterable: ir.Expr, line: Line) -> ir.Block | None:
        """A loop through the call of a generator function as what that does, the body of the loop
        in the place of each `yield`; None where its statements cannot stand here."""
        origin = ir.Origin(line.whole())
        beside = Beside.of(iterable, self.names, origin)
        generator = loop_generator(beside.generator, self.lookup, self.names, origin)
        if generator is None or generator.code in self.inside:
            return None
        before: list[Any] = []
        after: list[Any] = []
        reader = Reader(self.lookup, line.place)

        def at_yield(value: ir.Expr) -> ir.Block:
            item = ir.Var(self.names.fresh("item"))
            ended = beside.ended(item)
            made: list[Any] = [ir.Assign(item.name, value, origin)] if ended else []
            bound: Any = self._bound(
                [node.target], beside.item(item if ended else value), line, reader
            )
            whole = (*made, *ended, *bound, *beside.counted, *self.block(node.body))
            first, body, last = turn(whole, self.names, origin)
            before.extend(first)
            after.extend(last)
            return (*body, *beside.stops(origin))

        inner = dataclasses.replace(
            self,
            source=generator.source,
            lookup=generator.lookup,
            outer=NO_OUTER,
            at_yield=at_yield,
            inside=self.inside | {generator.code},
        )
        body = inner.block(generator.node.body)
        body = run_through((*beside.stops(origin), *body), self.names, origin)
        return (*beside.first, *generator.first, *before, *body, *after)

    def _rebinds(self, body: Sequence[gast.AST], iterable: gast.AST) -> bool:
        """Whether statements bind the name that is the first argument of a call."""
        if not isinstance(iterable, gast.Call):
            return False
        bound = {n for part in body for n in survey(gast.Module([part], [])).bound}
        if any(isinstance(arg, gast.Name) and arg.id in bound for arg in iterable.args[:1]):
            return True
        return any(self._rebinds(body, arg) for arg in iterable.args)

    def _loop_target(self, node: gast.AST, line: Line) -> ir.Target:
        """The names that a loop binds."""
        if isinstance(node, gast.Name):
            self.outer.refuse(node.id, line.place(node))
            return str(node.id)
        if isinstance(node, gast.Tuple | gast.List):
            return tuple(self._loop_target(part, line) for part in node.elts)
        raise InternalError("lower", f"a loop binds {type(node).__name__}")

    def while_loop(self, node: gast.While, line: Line, reader: Reader) -> Sequence[Any]:
        loop = ir.While(reader.read(node.test), self.block(node.body), ir.Origin(line.whole()))
        return run_unless_broken(loop, self.block(node.orelse), self.names)

    def context(self, node: gast.With, line: Line, reader: Reader) -> Sequence[Any]:
        """A `with` of several items is one within the other."""
        origin = ir.Origin(line.whole())
        before, body, after = without_jumps(self.block(node.body), self.names)
        for item in reversed(node.items):
            context = reader.read(item.context_expr)
            classes = suppressed(context)
            whole = self._written_out(item.optional_vars, context, body, line, reader)
            if whole is not None:
                body = whole
            elif classes is None:
                name, unpacked = self._entered(item.optional_vars, line, reader)
                body = tuple(region(context, name, (*unpacked, *body), origin))
            else:
                handler = Handler(ir.Display("tuple", classes), "", (), origin)
                attempt = Attempt(body, (handler,), (), ((), ()), origin)
                body = tuple(attempt.lowered(self.names))
        return [*before, *body, *after]

    def _written_out(
        self, target: Any, context: ir.Expr, body: ir.Block, line: Line, reader: Reader
    ) -> ir.Block | None:
        """A manager's own statements around a body, where they are asked for and can be read."""
        if not self.managers or (target is None and not ir.names_in(context)):
            return None
        origin = ir.Origin(line.whole())

        def bind(value: ir.Expr) -> ir.Block:
            if target is not None:
                return tuple(self._bound([target], value, line, reader))
            return () if isinstance(value, ir.Const | ir.Var) else (ir.Do(value, origin),)

        found = generator_of(context, self.lookup, self.names, origin)
        if found is None:
            return by_protocol(context, bind, body, self.names, origin)
        inner = dataclasses.replace(
            self,
            source=found.source,
            lookup=found.lookup,
            outer=NO_OUTER,
            at_yield=lambda value: (*bind(value), *ir.renamed(body, {})),
        )
        return (*found.first, *inner.block(found.node.body))

    def _entered(self, node: Any, line: Line, reader: Reader) -> tuple[str, ir.Block]:
        """The name after `as` ("" for none), and what unpacks it into other targets."""
        if node is None:
            return "", ()
        target = self._target(node, line, reader)
        if isinstance(target, ir.Var):
            return target.name, ()
        name = self.names.fresh("entered")
        unpack: Any = nested.Assignment((target,), ir.Var(name), ir.Origin(line.whole()))
        return name, (unpack,)

    def attempt(self, node: gast.Try, line: Line, reader: Reader) -> Sequence[Any]:
        """A `try` with everything that belongs to it."""
        handlers = [self._handler(handler) for handler in node.handlers]
        body, orelse = self.block(node.body), self.block(node.orelse)
        if body and is_refusal(body[-1]):  # (its handlers are for what stands before that)
            return body[-1:]
        final = (self.block(node.finalbody), self.block(node.finalbody))
        origin = ir.Origin(line.whole())
        whole = Attempt(body, handlers, orelse, final, origin)
        return whole.lowered(self.names)

    def _handler(self, node: Any) -> Handler:
        line = self.source.line(node)
        classes: ir.Expr = ir.Ref("BaseException", BaseException)
        if node.type is not None:
            classes = Reader(self.lookup, line.place).read(node.type)
        name = "" if node.name is None else node.name.id
        return Handler(classes, name, self.block(node.body), ir.Origin(line.whole()))

    def matched(self, node: gast.Match, line: Line, reader: Reader) -> Sequence[Any]:
        """A `match`: its subject is evaluated once, unless it is a name that stays what it is."""
        subject, before = reader.read(node.subject), []
        names = {name for case in node.cases for name in captured(case.pattern)}

        def held(value: ir.Expr) -> ir.Expr:
            if isinstance(value, ir.Var) and value.name not in names:
                return value
            name = self.names.fresh("subject")
            before.append(ir.Assign(name, value, ir.Origin(line.whole())))
            return ir.Var(name)

        if is_taken_apart(subject, [case.pattern for case in node.cases]):
            assert isinstance(subject, ir.Display)
            subject = dataclasses.replace(subject, items=tuple(map(held, subject.items)))
        else:
            subject = held(subject)
        parts = []
        for case in node.cases:
            at = self.source.line(case.pattern)
            inner = Reader(self.lookup, at.place)
            found = Patterns(inner).read(case.pattern, subject)
            if found.never:
                continue
            guard = None if case.guard is None else inner.read(case.guard)
            parts.append((found, guard, self.block(case.body), ir.Origin(at.whole())))
        return [*before, *cases(parts, self.names)]

    def returned(self, node: gast.Return, line: Line, reader: Reader) -> Sequence[Any]:
        value: ir.Expr = ir.Const(None) if node.value is None else reader.read(node.value)
        return [ir.Return(value, ir.Origin(line.whole()))]

    def leave(self, node: gast.Break, line: Line, reader: Reader) -> Sequence[Any]:
        return [ir.Break(ir.Origin(line.whole()))]

    def go_on(self, node: gast.Continue, line: Line, reader: Reader) -> Sequence[Any]:
        return [ir.Continue(ir.Origin(line.whole()))]

    def define_class(self, node: gast.ClassDef, line: Line, reader: Reader) -> Sequence[Any]:
        """A class that was made before the function is read (`local_classes`)."""
        if self._is_local(node.name):
            raise UnsupportedError(
                "a class defined inside captures variables, or may be changed",
                line.whole(),
                "Define it outside of the function, and give its objects what they need.",
            )
        return []

    def nothing(self, node: gast.Pass, line: Line, reader: Reader) -> Sequence[Any]:
        return []

    def define(self, node: gast.FunctionDef, line: Line, reader: Reader) -> Sequence[Any]:
        """A `def` inside: put where it is called, or a function of its own (`lifting`)."""
        most = self._most_results(node)
        if most != 0:
            return self._with_results(node, most, line, reader)
        known = survey(node)
        own = known.bound.keys() - self.around.classes

        def lookup(name: str) -> ir.Expr:
            return ir.Var(name) if name in own else self.lookup(name)

        reader_inside = dataclasses.replace(
            self, lookup=lookup, outer=NO_OUTER, at_yield=None, inside=frozenset()
        )
        body = reader_inside.block(node.body) if not known.yields else ()
        params = reader.parameters(node.args)
        if known.yields:
            body = self._generated(node, known, reader_inside, ir.Origin(line.whole()))
        outer = tuple(known.outer)  # (`nonlocal`: what is inlined assigns the outer variable)
        decorators = [d for d in reversed(node.decorator_list) if not self._names_alone(d)]
        name = self.names.fresh(node.name) if decorators else node.name
        function = ir.Function(name, params, body, line.whole(), free=outer)
        inner = split_targets(function, self.names)
        origin = ir.Origin(line.whole())
        made: list[Any] = [nested.Define(inner, origin)]
        value: ir.Expr = ir.Var(name)
        for decorator in decorators:
            value = ir.Call(reader.read(decorator), (value,), (), line.place(decorator))
        if decorators:
            made.append(ir.Assign(node.name, value, ir.Origin(line.whole())))
        return made

    def _with_results(
        self, node: gast.FunctionDef, most: int | None, line: Line, reader: Reader
    ) -> Sequence[Any]:
        """A function that keeps its results, as two functions and a dict (`survey.memoized`)."""
        called = {self.names.fresh(word): ir.Ref(word, obj) for word, obj in MEMO_CALLS.items()}
        own = [self.names.fresh(f"{node.name}_{word}") for word in ("memo", "computed")]
        named = [*called, *own, self.names.fresh("key"), self.names.fresh("result")]

        def lookup(name: str) -> ir.Expr:
            return ir.Var(name) if name in own else called.get(name) or self.lookup(name)

        inside = dataclasses.replace(self, lookup=lookup)
        memo: Any = ir.Assign(own[0], ir.Display("dict", ()), ir.Origin(line.whole()))
        parts = memoized(node, named, most, self.around)
        return [memo, *(made for part in parts for made in inside.define(part, line, reader))]

    def _names_alone(self, decorator: Any) -> bool:
        """Whether a decorator gives a function nothing but the name and the docstring of another:
        `@functools.wraps(f)`."""
        called = decorator.func if isinstance(decorator, gast.Call) else None
        return self._named_object(called) is functools.wraps

    def _most_results(self, node: gast.FunctionDef) -> int | None:
        """How many of its results a function keeps by the way it is called, None for all of them:
        with `@functools.cache`, or `@functools.lru_cache` and a `maxsize` that is written."""
        match node.decorator_list:
            case [gast.Call(func=decorator, args=args, keywords=words)]:
                given = [*args, *(word.value for word in words if word.arg == "maxsize")]
            case [decorator]:
                args, words, given = [], [], []
            case _:
                return 0
        asked = self._named_object(decorator)
        if asked is not functools.lru_cache or len(args) + len(words) > len(given):
            return None if asked is functools.cache else 0
        sizes = [getattr(size, "value", 0) for size in given]
        return (sizes or [128])[0] if not survey(node).yields else 0

    def _named_object(self, node: Any) -> Any:
        """What `cache` or `functools.cache` is; None for what is no such name."""
        try:
            if isinstance(node, gast.Attribute):
                return getattr(self._named_object(node.value), node.attr, None)
            return self._object(node.id) if isinstance(node, gast.Name) else None
        except KeyError:
            return None

    def _generated(
        self, node: gast.FunctionDef, known: Survey, inside: StatementReader, origin: ir.Origin
    ) -> ir.Block:
        """A generator function defined inside, as what gives the list of all that it yields, with
        what says how it comes to be."""
        if known.outer or any(
            isinstance(part, gast.Return) and part.value for part in gast.walk(node)
        ):
            reject_generators(known.yields, self.source)
        manner = manner_of(node, self._object)
        used = [name for name in known.used if name not in known.bound]
        read = tuple(ir.Var(name) for name in used if self._is_local(name))
        params = tuple(map(ir.Var, parameter_names(node.args)))
        words = tuple((word, ir.Const(value)) for word, value in dataclasses.asdict(manner).items())

        def ended(items: ir.Expr) -> ir.Expr:
            return ir.Call(GENERATED, (items, *params, *read), words, origin.place)

        def fill(at_yield: Callable[[ir.Expr], ir.Block]) -> ir.Block:
            return dataclasses.replace(inside, at_yield=at_yield).block(node.body)

        return filled_list(fill, self.names, origin, ended)

    def _object(self, name: str) -> Any:
        """The object behind an outer name; raises `KeyError`."""
        found = self.lookup(name)
        if isinstance(found, ir.Ref):
            return found.obj
        raise KeyError(name)

    def _is_local(self, name: str) -> bool:
        try:
            return isinstance(self.lookup(name), ir.Var)
        except KeyError:  # (a built-in, or a name that means nothing yet)
            return False

    def delete(self, node: gast.Delete, line: Line, reader: Reader) -> Sequence[Any]:
        """`del x` only ends a name's life, which changes no value; `del xs[i]` is a method of `xs`
        (`xs.pop(i)` of a list or a dict, once it is known that it is none of another class),
        `del xs[a:b]` is `xs[a:b] = []`, and `del xs[::k]` assigns the items that are left."""
        found: list[Any] = []
        for target in node.targets:
            if isinstance(target, gast.Name):
                self.outer.refuse(target.id, line.place(target))
                continue
            if not isinstance(target, gast.Subscript):
                raise UnsupportedError(
                    "`del` of an attribute is not supported",
                    line.place(target),
                    "Make a new object without it.",
                )
            place, origin = reader.read(target), ir.Origin(line.whole())
            assert isinstance(place, ir.Index)
            if isinstance(place.key, ir.Slice) and place.key.step is not None:
                whole = ir.Index(place.base, ir.Slice(), place.at)
                found.append(nested.Assignment((whole,), items_left(place), origin))
            elif isinstance(place.key, ir.Slice):
                empty = ir.Display("list", ())
                found.append(nested.Assignment((place,), empty, origin))
            else:
                method = ir.Attribute(place.base, "__delitem__", place.at)
                found.append(ir.Do(ir.Call(method, (place.key,), (), place.at), origin))
        return found

    def opaque(self, node: gast.AST, line: Line, reader: Reader) -> Sequence[Any]:
        """`assert`, `raise`: carried along as they stand."""
        names, values, refs = reader.meanings(node)
        text = gast.unparse(node).strip()
        return [ir.OpaqueStmt(text, names, values, refs, (), ir.Origin(line.whole()))]

    def imported(self, node: Any, line: Line, reader: Reader) -> Sequence[Any]:
        writes = tuple(alias.asname or alias.name.split(".")[0] for alias in node.names)
        for name in writes:
            self.outer.refuse(name, line.whole())
        if all(isinstance(self.lookup(name), ir.Ref) for name in writes):
            return []  # (the names stand for what they mean; the derivative imports it at its head)
        text = gast.unparse(node).strip()
        return [ir.OpaqueStmt(text, (), (), (), writes, ir.Origin(line.whole()))]


def _binds_names(target: gast.AST) -> bool:
    """Whether the target of a loop consists of names, in tuples."""
    if isinstance(target, gast.Tuple | gast.List):
        return all(map(_binds_names, target.elts))
    return isinstance(target, gast.Name)


_READERS: dict[type[Any], Callable[[StatementReader, Any, Line, Reader], Sequence[Any]]] = {
    gast.Assign: StatementReader.assign,
    gast.AnnAssign: StatementReader.annotated,
    gast.AugAssign: StatementReader.augmented,
    gast.Expr: StatementReader.expression,
    gast.If: StatementReader.conditional,
    gast.For: StatementReader.for_loop,
    gast.While: StatementReader.while_loop,
    gast.Match: StatementReader.matched,
    gast.Global: StatementReader.declaration,
    gast.Nonlocal: StatementReader.declaration,
    gast.With: StatementReader.context,
    gast.Try: StatementReader.attempt,
    gast.Return: StatementReader.returned,
    gast.Break: StatementReader.leave,
    gast.Continue: StatementReader.go_on,
    gast.Pass: StatementReader.nothing,
    gast.FunctionDef: StatementReader.define,
    gast.ClassDef: StatementReader.define_class,
    gast.Delete: StatementReader.delete,
    gast.Assert: StatementReader.opaque,
    gast.Raise: StatementReader.opaque,
    gast.Import: StatementReader.imported,
    gast.ImportFrom: StatementReader.imported,
}


def docstring(nodes: Sequence[gast.AST]) -> str:
    """The docstring that opens a body, cleaned of its indentation, or ""."""
    if not nodes or not isinstance(nodes[0], gast.Expr):
        return ""
    value = nodes[0].value
    if isinstance(value, gast.Constant) and isinstance(value.value, str):
        return inspect.cleandoc(value.value)
    return ""


# --------------------------------------------------------------------------------------------------
# The statements we do not take, each with its reason and the way around it.

_TRY = (
    "`except*` is not supported",
    "Catch the exceptions with a plain `except`.",
)
_ASYNC = (
    "asynchronous code cannot be differentiated",
    "Differentiate the plain function that it awaits.",
)

STATEMENTS: dict[type[Any], tuple[str, str]] = {
    gast.AsyncFunctionDef: _ASYNC,
    gast.AsyncWith: _ASYNC,
    gast.AsyncFor: _ASYNC,
}
_TYPE = ("a type alias inside a function is not supported", "Define it outside the function.")
for _name, _reason in (("TryStar", _TRY), ("TypeAlias", _TYPE)):
    if hasattr(gast, _name):
        STATEMENTS[getattr(gast, _name)] = _reason


def unsupported(node: gast.AST, line: Line) -> UnsupportedError:
    """The refusal of a statement."""
    message, hint = STATEMENTS[type(node)]
    return UnsupportedError(message, line.whole(), hint)


def reject_generators(yields: Sequence[Any], source: Source) -> None:
    """Refuse a function that yields: its body does not run when it is called."""
    for node in yields:
        raise UnsupportedError(
            "a generator cannot be differentiated",
            source.line(node).whole(),
            "Return a list instead of yielding.",
        )
