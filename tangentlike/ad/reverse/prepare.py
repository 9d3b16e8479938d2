"""The primal, brought into the form that the reverse sweep reverses.

What is asked twice gets a name (a branch's test whose operands the branch changes), what a loop
forgets is counted (`while`, `break`), and an in-place operation whose derivative reads the old
value becomes the three statements it stands for.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator
from typing import TypeGuard

from ... import ir, runtime
from ...analysis.aliases import Aliases
from ...analysis.kinds import spread
from ...analysis.memory import surely_basic
from ...analysis.sharing import may_resize, owner
from ...analysis.structure import Structure
from ...frontend.naming import noun
from ...frontend.operands import is_shape_query
from ...frontend.owners import is_operation
from ...ir.kind import BOOL, INT, UNKNOWN, Kind
from ...rules.index_kinds import key_parts, takes_no_axis
from ..context import Context, of_sets, operation
from ..loops import SIZED, indexed, may_break, sources_of
from ..normalize.updates import with_result
from .adjoints import as_value

ACCUMULATING = (operator.iadd, operator.isub)


def outer_numbers_named(function: ir.Function, context: Context) -> ir.Function:
    """A function in which numbers outside that are written have names where they are read, so that
    these are saved.

    before::                            after::
        y = x[STATE.at]                     at = STATE.at
                                            y = x[at]
    """

    def named(stmt: ir.Stmt) -> ir.Instead:
        if isinstance(stmt, ir.While):
            return None
        before: list[ir.Stmt] = []

        def part(expr: ir.Expr) -> ir.Expr:
            if isinstance(expr, ir.Lazy | ir.Opaque):
                return expr
            if isinstance(expr, ir.Call):  # (a method is no number)
                args = tuple(map(part, expr.args))
                kwargs = tuple((word, part(value)) for word, value in expr.kwargs)
                return ir.replaced(expr, args=args, kwargs=kwargs)
            if not isinstance(expr, ir.Attribute | ir.Index):
                return ir.rebuild(expr, part)
            if context.is_steady(expr, stmt.origin.place):
                return expr
            name = context.fresh(noun(expr), context.kind_of(expr))
            before.append(ir.Assign(name, expr, stmt.origin))
            return ir.Var(name)

        def whole(expr: ir.Expr) -> ir.Expr:
            top = isinstance(stmt, ir.Assign) and isinstance(expr, ir.Attribute | ir.Index)
            return ir.rebuild(expr, part) if top else part(expr)

        new = ir.map_statement(stmt, expr=whole)
        if isinstance(new, ir.For) and not context.is_steady(new.iter, stmt.origin.place):
            assert context.numbers is not None
            raise context.numbers.overwritten(stmt.origin.place)
        return (*before, new) if before else None

    return ir.with_body(function, ir.rewrite(function.body, named))


@dataclasses.dataclass(eq=False)
class Preparation(ir.Rewriter):
    """The remaining rewrites, in one walk; needs to know what each name's class is."""

    function: ir.Function
    facts: Structure
    aliases: Aliases
    context: Context
    # By the id of a new loop: its counter.
    counters: dict[int, str] = dataclasses.field(default_factory=dict)

    def run(self) -> ir.Function:
        """The prepared function; the same one where nothing changes, whose facts then hold."""
        return self.rewritten(self.function)

    def block(self, block: ir.Block) -> ir.Block:
        """Also, sums within a line are made where they are added to.

        Of `u = u - p * d + c * np.roll(u, 1)` the sweep comes to `u - p * d` first then: the
        adjoint of the new `u` becomes that of the old one before anything else is added to that.
        """
        out = list(super().block(block))
        for at in reversed(range(len(out))):
            to = self._reader_of_sum(at, out)
            if to > at + 1:
                out.insert(to - 1, out.pop(at))
        return ir.unless_same(out, block)

    def _reader_of_sum(self, at: int, block: list[ir.Stmt]) -> int:
        """Where the sum is that reads a sum, with only temporaries in between; `at` otherwise."""
        stmt = block[at]
        if not _is_sum(stmt) or stmt.target not in self.context.temporaries:
            return at
        if any(map(self.aliases.is_written, ir.names_in(stmt.value))):
            return at
        for to in range(at + 1, len(block)):
            other = block[to]
            if stmt.target in ir.reads(other):
                return to if _is_sum(other) else at
            if not self._is_operation(other):
                return at
        return at

    def _is_operation(self, stmt: ir.Stmt) -> bool:
        """Whether a statement gives a name to what an operation makes, or to a part of an array: it
        surely writes nothing."""
        if not isinstance(stmt, ir.Assign) or stmt.target not in self.context.temporaries:
            return False
        match stmt.value:
            case ir.Call(fn=ir.Ref(obj=obj), kwargs=kwargs):
                return is_operation(obj) and all(name != "out" for name, _ in kwargs)
            case ir.Index(base, _) | ir.Attribute(base, _):
                return self.context.kind_of(base).form == "array"
        return isinstance(stmt.value, ir.Var | ir.Const)

    def statement(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        match stmt:
            case ir.If():
                return self._if(stmt)
            case ir.While():
                return self._counted(stmt, "count")
            case ir.For():
                return self._for(stmt)
            case ir.Update(target=ir.Index()) | ir.Store(target=ir.Index()):
                named, stmt = self._with_steady_key(stmt)
                if isinstance(stmt, ir.Update):
                    return [*named, *self._update(stmt)]
                return [*named, *checked_overlap(stmt, self.facts, self.aliases, self.context)]
            case ir.Update():
                return self._update(stmt)
            case ir.Assign():
                return self._assign(stmt)
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(), "pop"), args=()) as call):
                popped = self._fresh("popped", self.context.kind_of(call))
                return [ir.Assign(popped, call, stmt.origin)]
            case _:
                return [stmt]

    # ------------------------------------------------------------------ branches and loops

    def _if(self, stmt: ir.If) -> list[ir.Stmt]:
        new = self.inside(stmt)
        if isinstance(stmt, ir.Try) or not self._changes(stmt):
            return [new]
        flag = self._fresh("taken", BOOL)
        test = stmt.test
        if not self._stays(test):
            test = ir.Call(ir.BOOL, (test,), at=stmt.origin.place)
        name_it = ir.Assign(flag, test, stmt.origin)
        return [name_it, dataclasses.replace(new, test=ir.Var(flag))]

    def _stays(self, test: ir.Expr) -> bool:
        """Whether what a test gives stays true or false: a list may be empty later, and an array
        hold something else."""
        if isinstance(test, ir.Lazy):
            return all(map(self._stays, test.items))
        kind = self.context.kind_of(test)
        return kind.form == "number" or isinstance(test, ir.Call | ir.Const | ir.Opaque)

    def _changes(self, stmt: ir.If) -> bool:
        """Whether the branches may change what the test read (then it is named beforehand)."""
        read = ir.names_in(stmt.test)
        calls = any(isinstance(e, ir.Call) and not _is_steady(e.fn) for e in ir.walk(stmt.test))
        if calls or any(isinstance(e, ir.Opaque) for e in ir.walk(stmt.test)):
            return True
        if not self.context.is_steady(stmt.test, stmt.origin.place):
            return True
        for inner in ir.statements(stmt.body + stmt.orelse):
            if read & set(ir.binds(inner)):
                return True
        return any(self.aliases.is_written(name) for name in read)

    def _counted(self, stmt: ir.While | ir.For, word: str) -> list[ir.Stmt]:
        """`while c: B` -> `count = 0; while c: count += 1; B`."""
        count = self._fresh(word, INT)
        origin = stmt.origin
        one = ir.Call(ir.ADD, (ir.Var(count), ir.Const(1)))
        start = ir.Assign(count, ir.Const(0), origin)
        step = ir.Assign(count, one, origin)
        inside = self.inside(stmt)
        new = dataclasses.replace(inside, body=(step, *inside.body))
        self.counters[id(new)] = count
        return [start, new]

    def _for(self, stmt: ir.For) -> list[ir.Stmt]:
        named, stmt = self._with_steady_header(stmt)
        return [*named, *self._reversible(stmt)]

    def _with_steady_header(self, stmt: ir.For) -> tuple[list[ir.Stmt], ir.For]:
        """A loop whose header reads no length that its body may change: the reverse sweep comes to
        the header when that has been done.

        before::                            after::
            for i in range(len(seen)):          length = len(seen)
                seen.add(i)                     for i in range(length):
                                                    seen.add(i)
        """
        named: list[ir.Stmt] = []
        header = self._steady(stmt.iter, stmt, named)
        return named, stmt if header is stmt.iter else dataclasses.replace(stmt, iter=header)

    def _steady(self, expr: ir.Expr, loop: ir.For, named: list[ir.Stmt]) -> ir.Expr:
        if is_shape_query(expr) or isinstance(expr, ir.Opaque):
            names = (n for n in ir.names_in(expr) if self._form(n) not in SIZED)
            asked = set(map(self.aliases.class_of, names))
            if not asked or asked.isdisjoint(self._resized_in(loop.body)):
                return expr
            starred = ir.is_starred(expr)
            value = ir.Call(ir.TUPLE, ir.children(expr)) if starred else expr
            name = self._fresh(noun(expr), self.context.kind_of(value))
            named.append(ir.Assign(name, value, loop.origin))
            taken = ir.Var(name)
            return ir.Opaque(f"*{name}", (name,), (taken,)) if starred else taken
        if not isinstance(expr, ir.Call):
            return expr
        return ir.rebuild(expr, lambda part: self._steady(part, loop, named))

    def _form(self, name: str) -> str:
        return self.context.kind_of(ir.Var(name)).form

    def _resized_in(self, body: ir.Block) -> set[str]:
        """The classes of lists, dicts and sets that may have another length after statements."""
        sources = self.context.sources()
        resizing = (s for s in ir.statements(body) if may_resize(s, sources))
        return {self.aliases.class_of(owner(n)) for s in resizing for n in sources.written(s)}

    def _reversible(self, stmt: ir.For) -> list[ir.Stmt]:
        written = [n for n in sources_of(stmt.iter) if self._is_written_in(stmt.body, n)]
        listed, stmt = self._with_listed_sets(stmt, written)
        forms = [*map(self._form, sources_of(stmt.iter))]
        if "dict" not in forms and len(written) > len(listed):
            if self.context.repeatable.issuperset(written):
                stmt = self._with_items_named(stmt)
            else:
                stmt = indexed(stmt, self._fresh("index", INT), stmt.body)
        if may_break(stmt.body):
            return [*listed, *self._counted(stmt, "count")]
        return [*listed, self.inside(stmt)]

    def _with_items_named(self, stmt: ir.For) -> ir.For:
        """A loop whose items get their names in statements of their own, as in `indexed`, but are
        taken one by one: how many an iterator gives it does not say."""
        named: list[ir.Stmt] = []

        def item(target: ir.Target) -> ir.Target:
            if isinstance(target, tuple):
                return tuple(map(item, target))
            taken = self._fresh(f"{target}_item", self.context.kinds.get(target, UNKNOWN))
            named.append(ir.Assign(target, ir.Var(taken), stmt.origin))
            return taken

        target = item(stmt.target)
        return dataclasses.replace(stmt, target=target, body=(*named, *stmt.body))

    def _with_listed_sets(self, stmt: ir.For, written: list[str]) -> tuple[list[ir.Stmt], ir.For]:
        """Lists of the sets that a loop runs through and that something changes, and the loop
        through these: items of a set have no place."""
        listed: list[ir.Stmt] = []
        for name in written:
            if self.context.kind_of(ir.Var(name)).form == "set":
                call = ir.Call(ir.LIST, (ir.Var(name),))
                items = self._fresh(f"{name}_items", self.context.kind_of(call))
                listed.append(ir.Assign(items, call, stmt.origin))
                stmt = dataclasses.replace(
                    stmt, iter=ir.substitute(stmt.iter, {name: ir.Var(items)})
                )
        return listed, stmt

    def _is_written_in(self, body: ir.Block, sequence: str) -> bool:
        """Whether the reverse sweep may find other items in a sequence than a loop did."""
        return self.aliases.is_written(sequence)

    # ---------------------------------------------------------------------- single statements

    def _with_steady_key(
        self, stmt: ir.Store | ir.Update
    ) -> tuple[list[ir.Stmt], ir.Store | ir.Update]:
        """`a[a > 0] = v` -> `where = a > 0; a[where] = v`: the write may change its own key."""
        assert isinstance(stmt.target, ir.Index)
        key = stmt.target.key
        named: list[ir.Stmt] = []

        def steady(part: ir.Expr) -> ir.Expr:
            """One part of the key (the bounds of a slice are numbers, which nothing changes)."""
            written = any(self.aliases.is_written(name) for name in ir.names_in(part))
            if isinstance(part, ir.Slice) or not written:
                return part
            where = self._fresh("where", self.context.kind_of(part))
            named.append(ir.Assign(where, part, stmt.origin))
            return ir.Var(where)

        if isinstance(key, ir.Display) and any(isinstance(p, ir.Slice) for p in key.items):
            key = dataclasses.replace(key, items=tuple(map(steady, key.items)))
        else:
            key = steady(key)
        if not named:
            return [], stmt
        return named, dataclasses.replace(stmt, target=dataclasses.replace(stmt.target, key=key))

    def _update(self, stmt: ir.Update) -> list[ir.Stmt]:
        """`A[k] op= v` -> `old = A[k]; new = old op v; A[k] = new`, unless it accumulates;
        `A op= v` -> `new = A op v; A[...] = new`."""
        target = stmt.target
        if isinstance(target, ir.Attribute):
            return [stmt]
        if isinstance(target, ir.Var):
            if of_sets(stmt) and self.context.kind_of(target).form in ("set", "unknown"):
                return [stmt]
            target = ir.Index(target, ir.Const(Ellipsis), stmt.origin.place)
        holds = self.context.kind_of(target.base).form in ("list", "tuple", "dict")
        entries = surely_basic(target.key, self.context.kind_of)
        entries = entries or self.context.kind_of(target.base).form == "array"
        if stmt.op.obj in ACCUMULATING and entries and not (holds and self._is_array(target)):
            return [stmt]  # (an array in a list is replaced: nothing else may see it written)
        return self._computed(stmt, target)

    def _computed(self, stmt: ir.Update, target: ir.Index) -> list[ir.Stmt]:
        """An update of entries as what it reads, computes and stores."""
        before: list[ir.Stmt] = []
        operand = stmt.target
        if not isinstance(operand, ir.Var):
            operand = ir.Var(self._fresh("old", self.context.kind_of(target)))
            before.append(ir.Assign(operand.name, target, stmt.origin))
        update = dataclasses.replace(stmt, target=operand)
        new = self._fresh("new", self.context.kind_of(operation(update)))
        store = ir.Store(target, ir.Var(new), stmt.origin)
        return [*before, *with_result(update, new, self.context), store]

    def _is_array(self, item: ir.Expr) -> bool:
        return self.context.kind_of(item).form not in ("number", "other")

    def _assign(self, stmt: ir.Assign) -> list[ir.Stmt]:
        """`h = h ** p`, whose rule reads both the new and the old `h`, gets a temporary; so do
        `m = m[::-1]` and `a, b = a`, whose adjoint buffers would be read while they are made."""
        targets = frozenset(ir.target_names(stmt.target))
        operands = ir.names_in(stmt.value)
        if isinstance(stmt.value, ir.Var) and isinstance(stmt.target, str):
            return [stmt]
        if isinstance(stmt.target, tuple) and not all(isinstance(t, str) for t in stmt.target):
            return self._unpack_in_steps(stmt, stmt.target)
        found = bool(targets & operands & self.aliases.found)
        if not targets & operands or not (found or self.context.reads_result(stmt.value)):
            return [stmt]
        if isinstance(stmt.target, str):
            new = self._fresh("new", self.context.kinds[stmt.target])
            return [
                dataclasses.replace(stmt, target=new),
                ir.Assign(stmt.target, ir.Var(new), stmt.origin),
            ]
        renamed = {n: self._fresh(n, self.context.kinds.get(n, INT)) for n in sorted(targets)}
        first = dataclasses.replace(stmt, target=ir.map_target(stmt.target, renamed.__getitem__))
        rest = [ir.Assign(n, ir.Var(r), stmt.origin) for n, r in renamed.items()]
        return [first, *rest]

    def _unpack_in_steps(self, stmt: ir.Assign, target: tuple[ir.Target, ...]) -> list[ir.Stmt]:
        """`w, (b, c) = pair` -> `w, part = pair; b, c = part`."""
        flat: list[str] = []
        inner: list[ir.Assign] = []
        positions = tuple(map(str, range(len(target))))
        kinds = spread(positions, self.context.kind_of(stmt.value), self.context.book)
        for part, (_, kind) in zip(target, kinds, strict=True):
            if isinstance(part, str):
                flat.append(part)
                continue
            flat.append(self._fresh("part", kind))
            inner.append(ir.Assign(part, ir.Var(flat[-1]), stmt.origin))
        first = dataclasses.replace(stmt, target=tuple(flat))
        return [s for one in (first, *inner) for s in self._assign(one)]

    def _fresh(self, wanted: str, kind: Kind) -> str:
        name = self.context.fresh(wanted, kind, temporary=True)
        return name


def _is_sum(stmt: ir.Stmt) -> TypeGuard[ir.Assign]:
    match stmt:
        case ir.Assign(target=str(), value=ir.Call(fn=ir.Ref(obj=operator.add | operator.sub))):
            return True
    return False


def _is_steady(fn: ir.Expr) -> bool:
    """Whether a call answers the same as long as its arguments are the same: operators, and the
    questions of what something is."""
    if not isinstance(fn, ir.Ref):
        return False
    asking: tuple[object, ...]
    asking = (isinstance, issubclass, len, type, operator.is_, operator.is_not, operator.not_)
    asking = (*asking, runtime.is_sequence, runtime.is_mapping)
    operator_ = not fn.text.replace(".", "_").isidentifier()
    return operator_ or any(fn.obj is known for known in asking)


# --------------------------------------------------------------------------------------------------
# Slices assigned to overlapping slices of the same array.
#
#     a[::2] = v                    require_read_first(a, slice(None, None, 2), v)
#                                   a[::2] = v
#
# The adjoint takes it that the value is read before anything is written, and so it is for most:
# NumPy copies the value, or writes in a suitable order. Where steps differ it does not, which is
# checked when the program runs unless the text tells that the steps are equal.

_WHOLE = (ir.Slice(), ir.Const(Ellipsis))


def checked_overlap(
    stmt: ir.Store, facts: Structure, aliases: Aliases, context: Context
) -> list[ir.Stmt]:
    """A write of entries, after a check where its value may be other entries of the array."""
    target, value = stmt.target, stmt.value
    if not isinstance(target, ir.Index) or not isinstance(target.base, ir.Var):
        return [stmt]
    base = target.base
    if not isinstance(value, ir.Var) or aliases.class_of(value.name) != aliases.class_of(base.name):
        return [stmt]
    kinds = (context.kind_of(base), context.kind_of(target), context.kind_of(value))
    if any(kind.form not in ("array", "value", "unknown") for kind in kinds):
        return [stmt]  # (an item of a list, or a number)
    if any(kind.rank not in (None, 1) for kind in kinds[1:]) or _is_fancy(target.key, context):
        return [stmt]
    if _in_step(_origin(target, facts), _origin(value, facts)):
        return [stmt]
    if _is_only_stored(value.name, facts, context):
        return [stmt]
    operands = (base, as_value(target.key), value)
    return [context.check("require_read_first", operands, stmt.origin), stmt]


def _is_only_stored(name: str, facts: Structure, context: Context) -> bool:
    """Whether a name is of memory that was just made, in the block of its one use: that memory has
    no other name, and what the target already holds cannot be a part of it."""
    made, uses = facts.single(name), facts.used_by.get(name, [])
    if not isinstance(made, ir.Assign) or len(uses) != 1:
        return False
    if facts.block_of(made) != facts.block_of(uses[0]):
        return False
    sources = context.sources()
    return not (sources.nodes(made.value) | sources.elements(made.value))


def _is_fancy(key: ir.Expr, context: Context) -> bool:
    """Whether a key has index arrays or masks in it, for which NumPy copies what overlaps."""
    parts = (part for part in key_parts(key) if not isinstance(part, ir.Slice))
    return any(context.kind_of(part).form in ("array", "list") for part in parts)


def _origin(view: ir.Expr, facts: Structure) -> tuple[str, tuple[ir.Expr, ...]]:
    """The array that a view is of, as far as names bound once tell, and the keys on the way."""
    keys: tuple[ir.Expr, ...] = ()
    while True:
        match view:
            case ir.Index(base, key):
                keys = keys if key in _WHOLE else (key, *keys)
                view = base
            case ir.Var(name):
                made = facts.single(name)
                if not isinstance(made, ir.Assign) or not isinstance(made.target, str):
                    return name, keys
                if not isinstance(made.value, ir.Var | ir.Index):
                    return name, keys
                view = made.value
            case _:
                return "", keys


def _in_step(
    first: tuple[str, tuple[ir.Expr, ...]], second: tuple[str, tuple[ir.Expr, ...]]
) -> bool:
    """Whether two views of one array, if they are vectors, surely have equal strides or strides
    of opposite sign."""
    if first[0] != second[0] or not first[0]:
        return False
    if all(len(keys) <= 1 for _, keys in (first, second)):
        steps = [_step(keys[0]) if keys else 1 for _, keys in (first, second)]
        if None not in steps:
            return steps[0] == steps[1] or steps[0] * steps[1] < 0  # type: ignore[operator]
    if len(first[1]) != len(second[1]):
        return False
    pairs = zip(first[1], second[1], strict=True)
    return all(_shape_of(one) == _shape_of(other) for one, other in pairs)


def _step(key: ir.Expr) -> int | None:
    """The step of a slice of a vector, if it is written out."""
    if not isinstance(key, ir.Slice):
        return None
    if key.step is None:
        return 1
    value = key.step.value if isinstance(key.step, ir.Const) else None
    return value if type(value) is int else None


def _shape_of(key: ir.Expr) -> tuple[object, ...]:
    """What of a key decides the strides of the view: its slices, by their steps."""
    return tuple(
        (part.step or ir.Const(1),) if isinstance(part, ir.Slice) else part in _WHOLE
        for part in key_parts(key)
    )


# --------------------------------------------------------------------------------------------------
# Arrays that may have rank 0, and whose adjoints are written in place.
#
# What NumPy computes of arrays of rank 0 are scalars: after `y_bar = 2.0 * y`, NumPy refuses
# `y_bar[...] = 0.0`. The adjoints of these names are made arrays before they are written.

_FORMS = ("array", "value")


def written_scalars(function: ir.Function, aliases: Aliases, context: Context) -> frozenset[str]:
    """The names of such arrays: no key that they are read or written by tells that they have axes.

    `y[...] = v` with `y` of any rank; not `y[i] = v`, nor `y[1:] = v`.
    """
    keys: dict[str, list[ir.Expr]] = {}
    for stmt in ir.statements(function.body):
        for item in _items(stmt):
            if isinstance(item.base, ir.Var):
                keys.setdefault(item.base.name, []).append(item.key)
    names = {*function.param_names, *keys}
    if aliases.written:
        names.update(name for stmt in ir.statements(function.body) for name in ir.binds(stmt))
    return frozenset(n for n in names if _may_be(n, keys.get(n, []), aliases, context))


def _may_be(name: str, keys: list[ir.Expr], aliases: Aliases, context: Context) -> bool:
    kind = context.kind_of(ir.Var(name))
    if kind.form == "unknown":  # (`...` is the key of arrays and numbers only)
        return bool(keys) and all(map(takes_no_axis, keys))
    if kind.form not in _FORMS or not (aliases.is_written(name) or keys):
        return False
    return kind.rank == 0 or (kind.rank is None and not _show_axes(keys, context))


def _items(stmt: ir.Stmt) -> Iterator[ir.Index]:
    target = getattr(stmt, "target", None)
    for expr in (*ir.expressions(stmt), *([target] if isinstance(target, ir.Index) else [])):
        yield from (part for part in ir.walk(expr) if isinstance(part, ir.Index))


def _show_axes(keys: list[ir.Expr], context: Context) -> bool:
    """Whether an array that has such keys has axes: a mask and places may be those of rank 0."""
    parts = [part for key in keys for part in key_parts(key)]
    kinds = map(context.kind_of, parts)
    return any(
        isinstance(part, ir.Slice) or kind.integer or kind.dtype == "int" or bool(kind.rank)
        for part, kind in zip(parts, kinds, strict=True)
    )
