"""One operation a statement, each intermediate value with a name of its own.

What can carry no derivative stays whole: tests, comparisons, keys, sizes, opaque code.
"""

from __future__ import annotations

import builtins
import dataclasses
import operator
from collections.abc import Callable, Sequence
from typing import Any

from .. import ir
from ..errors import InternalError, UnsupportedError
from ..ir.names import Names
from .checkpoints import checkpointed
from .comprehensions import (
    Comprehension,
    becomes_loop,
    consumed,
    few_written_out,
    generators_in_place,
    is_generator,
    is_reduction,
    listed,
    loop,
    reduction,
    taken_whole,
)
from .cuts import is_refusal, raising
from .inline import Special, default_values, find_special, inlined, matched
from .jumps import negated
from .keeping import Keeping
from .lifting import Lambdas
from .naming import Variables, names_of
from .nested import Closure, Define, Refused, Walrus
from .operands import (
    asks,
    asks_length,
    is_arithmetic,
    is_atom,
    is_comparison,
    is_repeatable,
    is_setter,
    is_shape_query,
    is_shape_tuple,
    is_truth,
    keeps_whole,
    stays_nested,
    takes_shape,
)
from .resolve import Scope, is_namespace
from .targets import outer_write, unpacked

# Loop headers whose operands are named, and which then stay as they are.
HEADERS = frozenset(map(id, (range, zip, enumerate, reversed, checkpointed)))


def flatten(
    function: ir.Function,
    names: Names | None = None,
    scope: Scope | None = None,
    late: frozenset[str] = frozenset(),
) -> ir.Function:
    """Give each intermediate value a name, made from what it holds.

    before::                                 after::
        return np.sum(np.tanh(x @ w) * 2.0)      xw = x @ w
                                                 tanh_xw = np.tanh(xw)
                                                 product = tanh_xw * 2.0
                                                 sum_product = np.sum(product)
                                                 return sum_product
    """
    names = names_of(function) if names is None else names
    function = generators_in_place(function, Variables(function, names).local)
    special = find_special(function, names)
    outer = Scope.of_names({}) if scope is None else scope
    lambdas = Lambdas(outer, Keeping.of(function, late), names)
    origin = ir.Origin(function.place)
    flattener = _Flattener(Variables(function, names), special, lambdas, [], origin)
    body = flattener.block(function.body)
    _refuse_hidden_assignments(body)
    return dataclasses.replace(function, body=body)


def _refuse_hidden_assignments(body: ir.Block) -> None:
    """Refuse `any((y := f(x)) > 0 for x in xs)`, which stays as it is, and binds a name."""
    for stmt in ir.statements(body):
        for part in ir.walk_statement(stmt):
            if isinstance(part, Comprehension) and part.assigns:
                raise UnsupportedError(
                    "an assignment expression (`:=`) is not supported here",
                    part.at or stmt.origin.place,
                    "Assign the name in a statement of its own before this one.",
                )


@dataclasses.dataclass(frozen=True)
class _Flattener:
    """Flattens one statement; temporaries go to `out` before the statement itself."""

    names: Variables
    special: Special
    lambdas: Lambdas
    out: list[ir.Stmt]
    origin: ir.Origin
    calling: tuple[str, ...] = ()

    def statement(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Assign(target=target, value=value):
                self.assign(target, value)
            case ir.Store(target=target, value=value):
                made: Any = self.operand(value)
                self.out.append(ir.Store(self.place(target), made, self.origin))
            case ir.Update(target=target, op=op, value=value):
                early = self.special.rebinds(target, (value,)) or self.special.writes(value)
                place = self.place_before(target, value)
                old = self.named(place) if early else place  # (Python reads it first)
                self.out.append(ir.Update(old, op, self.operand(value), self.origin))
                if early and isinstance(place, ir.Var):
                    self.out.append(ir.Assign(place.name, old, self.origin))
                elif early:
                    self.out.append(ir.Store(place, old, self.origin))
            case ir.Do(value=value):
                self.effect(value)
            case ir.While(test=test) if self.special.within(test):
                self.tested_inside(stmt)
            case ir.If(test=test):
                test = self.test(test)
                self.out.append(
                    dataclasses.replace(ir.map_statement(stmt, block=self.block), test=test)
                )
            case ir.While():
                self.out.append(ir.map_statement(stmt, block=self.block))
            case Define(function=inner):
                self.defined(inner.name)
            case ir.For(iter=iterable):
                header = self.header(iterable)
                loop: Any = ir.map_statement(stmt, block=self.block)
                self.out.append(dataclasses.replace(loop, iter=header))
            case ir.Return(value=value) if value is not None:
                self.out.append(ir.Return(self.returned(value), self.origin))
            case _:
                self.out.append(stmt)

    def block(self, block: ir.Block) -> ir.Block:
        """A block with each of its statements flattened."""
        out: list[ir.Stmt] = []
        for stmt in block:
            before = len(out)
            dataclasses.replace(self, out=out, origin=stmt.origin).statement(stmt)
            at = next((n for n in range(before, len(out)) if is_refusal(out[n])), None)
            if at is not None:
                return (*out[: at + 1], *_ends(out[: at + 1], block))
        return tuple(out)

    def inner(self) -> _Flattener:
        """A flattener for a branch that is made here."""
        return dataclasses.replace(self, out=[])

    def tested_inside(self, loop: ir.While) -> None:
        """A loop whose test needs statements: they go into its body.

        before::                         after::
            while (x := f(x)) > 1:           while True:
                y = y + x                        x = f(x)
                                                 if x > 1:
                                                     y = y + x
                                                 else:
                                                     break
        """
        head = self.inner()
        test = head.test(loop.test)
        body, leave = self.block(loop.body), ir.Break(self.origin)
        choice = ir.If(test, body, (leave,), self.origin)
        if not body:
            choice = ir.If(negated(test), (leave,), (), self.origin)
        self.out.append(ir.While(ir.Const(True), (*head.out, choice), self.origin))

    def test(self, expr: ir.Expr) -> ir.Expr:
        """A test, whole unless something in it needs a statement."""
        if not self.special.within(expr):
            return expr
        if isinstance(expr, ir.Call) and is_truth(expr.fn):
            return dataclasses.replace(expr, args=self.operands(expr.args))
        return self.operand(expr)

    # ------------------------------------------------------------------------- statements

    def assign(self, target: ir.Target, value: ir.Expr) -> None:
        """`target = value`, the value one operation."""
        if isinstance(value, Closure) and target in self.special.functions:
            self.defined(str(target))
            return
        if isinstance(value, ir.Lazy) and not self.whole(value):
            if isinstance(target, str):
                self.branches(target, value)
                return
            value = self.operand(value)
        value = self.few_written_out(value)
        if isinstance(value, Comprehension) and becomes_loop(value):
            if isinstance(target, str) and target not in value.names:
                self.collected(target, value)
                return
            value = self.named(value)
        value = self.operation(value)
        if isinstance(target, tuple) and isinstance(
            value, ir.Display
        ):  # (an inner function gave it)
            self.out.extend(self.block(unpacked(target, value, self.origin, self.names.names)))
            return
        if value != ir.Var(target if isinstance(target, str) else ""):
            self.out.append(ir.Assign(target, value, self.origin))

    def branches(self, target: str, value: ir.Lazy) -> None:
        """A value chosen by a test, as an `If` that binds the target."""
        if value.form == "if":
            test, then, otherwise = value.items
            test = self.test(test)
            body, orelse = self.inner(), self.inner()
            body.assign(target, then)
            orelse.assign(target, otherwise)
            if body.out:
                self.out.append(ir.If(test, tuple(body.out), tuple(orelse.out), self.origin))
            elif orelse.out:
                self.out.append(ir.If(negated(test), tuple(orelse.out), (), self.origin))
            return
        first, *others = value.items
        if any(target in ir.names_in(item) for item in others):
            name = self.names.temporary(value)
            self.branches(name, value)
            self.out.append(ir.Assign(target, ir.Var(name), self.origin))
            return
        self.assign(target, first)
        rest = self.inner()
        rest.assign(target, others[0] if len(others) == 1 else ir.Lazy(value.form, tuple(others)))
        test = ir.Var(target) if value.form == "and" else negated(ir.Var(target))
        self.out.append(ir.If(test, tuple(rest.out), (), self.origin))

    def defined(self, name: str) -> None:
        """What the definition of a local function evaluates: its defaults."""
        local = self.special.functions[name]
        self.out.extend(self.block(default_values(local, self.origin)))

    def few_written_out(self, value: ir.Expr) -> ir.Expr:
        """`[f(x) for x in (a, b)]` as `[f(a), f(b)]`, and a tuple of these as a tuple."""

        def atom(expr: ir.Expr) -> ir.Expr:
            return expr if isinstance(expr, ir.Var | ir.Const) else self.named(expr)

        match value:
            case ir.Call(ir.Ref(obj=builtins.tuple), (Comprehension() as inner,), ()):
                made = few_written_out(taken_whole(inner), atom)
                return value if made is None else ir.Display("tuple", made.items)
        return few_written_out(value, atom) or value

    def collected(self, target: str, value: Comprehension) -> None:
        """A list or dict built by a loop."""
        with self.names.comprehension() as variable:
            made = loop(value, target, variable, self.names.local, self.origin)
            self.out.extend(self.block(made))

    def effect(self, value: ir.Expr) -> None:
        """An expression evaluated for what it does."""
        match value:
            case Comprehension() if becomes_loop(value):
                self.named(value)
            case ir.Lazy(form="if", items=(test, then, otherwise)):
                test = self.test(test)
                body, orelse = self.inner(), self.inner()
                body.effect(then)
                orelse.effect(otherwise)
                self.out.append(ir.If(test, tuple(body.out), tuple(orelse.out), self.origin))
            case ir.Lazy(form=form, items=(first, *others)):
                first = self.test(first)
                rest = self.inner()
                rest.effect(others[0] if len(others) == 1 else ir.Lazy(form, tuple(others)))
                test = first if form == "and" else negated(first)
                self.out.append(ir.If(test, tuple(rest.out), (), self.origin))
            case ir.Call() if is_setter(value):
                self.assigned(value)
            case _:
                self.out.append(ir.Do(self.operation(value), self.origin))

    def assigned(self, call: ir.Call) -> None:
        """A call that assigns, as the statement that it is.

        before::                         after::
            y = setattr(obj, "w", v)         obj.w = v
                                             y = None
        """
        target: Any = None
        match call:
            case ir.Call(ir.Ref(obj=builtins.setattr), (base, ir.Const(str(name)), value)):
                if name.isidentifier() and name not in ("__class__", "__dict__"):
                    target = ir.Attribute(base, name, call.at)
            case ir.Call(ir.Ref(obj=operator.setitem), (base, key, value)):
                target = ir.Index(base, key, call.at)
        if target is None:
            self.out.append(ir.Do(self.call(call), self.origin))
            return
        if isinstance(target, ir.Attribute) and isinstance(base, ir.Ref) and is_namespace(base.obj):
            raise outer_write(f"{base.text}.{target.name}", call.at)
        place = self.place_before(target, value)
        self.out.append(ir.Store(place, self.operand(value), self.origin))

    def place(self, target: Any, later: tuple[ir.Expr, ...] = ()) -> Any:
        """A written item or attribute of a named value; `later` is evaluated afterwards."""
        match target:
            case ir.Index(base=base, key=key):
                return ir.Index(self.held(base, (key, *later)), self.key(key), target.at)
            case ir.Attribute(base=base, name=name):
                return ir.Attribute(self.held(base, later), name, target.at)
        return target

    def place_before(self, target: Any, value: ir.Expr) -> Any:
        """The same where the value is evaluated after the whole place, its key included."""
        place = self.place(target, (value,))
        if isinstance(place, ir.Index) and not is_repeatable(value):
            key = fixed_key(self.as_now(place.key, (value,)), self.named)
            place = dataclasses.replace(place, key=key)
        return place

    def header(self, expr: ir.Expr) -> ir.Expr:
        """What a `for` goes through, its operands named."""
        if isinstance(expr, ir.Opaque) and not becomes_loop(expr) and not ir.is_starred(expr):
            return expr
        if isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Ref) and id(expr.fn.obj) in HEADERS:
            kwargs = tuple((word, self.operand(v)) for word, v in expr.kwargs)
            return dataclasses.replace(expr, args=tuple(map(self.header, expr.args)), kwargs=kwargs)
        return self.operand(expr)

    def returned(self, expr: ir.Expr) -> ir.Expr:
        """An expression of atoms: displays of results keep their form."""
        if isinstance(expr, ir.Display) and not self.special.within(expr):
            keys = tuple(map(self.operand, expr.keys))
            return dataclasses.replace(expr, items=tuple(map(self.returned, expr.items)), keys=keys)
        return self.operand(expr)

    # ------------------------------------------------------------------------ expressions

    def operand(self, expr: ir.Expr) -> ir.Expr:
        """An atom for the value of an expression (or what stays nested as an operand)."""
        if isinstance(expr, Closure):
            expr = self.lambdas.lifted(expr, self.origin)
        if ir.is_starred(expr):
            return ir.rebuild(expr, self.operand)
        return expr if stays_nested(expr) else self.named(expr)

    def named(self, expr: ir.Expr) -> ir.Var:
        """A temporary that holds the expression."""
        if isinstance(expr, Refused):
            return self.operation(expr)  # type: ignore[return-value]
        if isinstance(expr, Walrus):
            self.assign(expr.target, expr.value)
            return ir.Var(expr.target)
        if isinstance(expr, ir.Lazy) and not self.whole(expr):
            name = self.names.temporary(expr)
            self.branches(name, expr)
            return ir.Var(name)
        expr = self.few_written_out(expr)
        if isinstance(expr, Comprehension) and becomes_loop(expr):
            name = self.names.temporary(expr)
            self.collected(name, expr)
            return ir.Var(name)
        value = self.operation(expr)
        if isinstance(expr, ir.Call) and self.special.calls(expr) and isinstance(value, ir.Var):
            return value
        name = self.names.temporary(value)
        self.out.append(ir.Assign(name, value, self.origin))
        return ir.Var(name)

    def operation(self, expr: ir.Expr) -> ir.Expr:
        """The expression as one operation on atoms."""
        if stays_nested(expr) or (is_comparison(expr) and not self.special.within(expr)):
            return expr
        match expr:
            case Refused(refusal=refusal):
                self.out.append(raising(refusal, self.origin.place))
                return ir.Const(None)
            case Closure():
                return self.operation(self.lambdas.lifted(expr, self.origin))
            case Walrus() | ir.Lazy() if self.special.within(expr):
                return self.named(expr)
            case ir.Lazy() if not keeps_whole(expr):
                return self.named(expr)
            case Comprehension() if becomes_loop(expr):
                return self.named(expr)
            case ir.Call(fn=ir.Var(name)) if name in self.special.functions:
                return self.inlined(expr, name)
            case ir.Call() if is_setter(expr):
                self.assigned(expr)
                return ir.Const(None)
            case ir.Call() if is_reduction(expr):
                return self.reduced(expr)
            case ir.Call():
                return self.call(expr)
            case ir.Index(base=base, key=key):
                return ir.Index(self.held(base, (key,)), self.key(key), expr.at)
            case ir.Attribute(base=base, name=name):
                return ir.Attribute(self.operand(base), name, expr.at)
            case ir.Display(keys=keys, items=items) if keys:
                pairs = zip(keys, items, strict=True)
                parts = self.operands([part for pair in pairs for part in pair])
                return dataclasses.replace(expr, keys=parts[::2], items=parts[1::2])
            case ir.Display(items=items):
                return dataclasses.replace(expr, items=self.operands(items))
        return expr

    def whole(self, expr: ir.Lazy) -> bool:
        """Whether a lazy expression needs no branches."""
        return keeps_whole(expr) and not self.special.within(expr)

    def inlined(self, call: ir.Call, name: str) -> ir.Expr:
        """The value of a call of a local function, its statements put before this one."""
        if name in self.calling:
            raise InternalError("lower", f"the inner function `{name}` calls itself")
        local = self.special.functions[name]
        given = matched(call, local)
        values = dict(zip(given, self.operands(tuple(given.values())), strict=True))
        body, value = inlined(local, {**local.defaults, **values}, self.names.local)
        inside = dataclasses.replace(self, calling=(*self.calling, name))
        self.out.extend(inside.block(body))
        return inside.operation(value)

    def reduced(self, call: ir.Call) -> ir.Expr:
        """`functools.reduce(f, xs, start)` and the like as the loop that it is."""
        call = dataclasses.replace(call, args=self.operands(listed(consumed(call)).args))
        name = self.names.temporary(call)
        self.out.extend(self.block(reduction(call, name, self.names.local, self.origin)))
        return ir.Var(name)

    def call(self, call: ir.Call) -> ir.Expr:
        call = consumed(call)
        fn = call.fn
        if isinstance(fn, ir.Attribute):
            fn = ir.Attribute(self.held(fn.base, ir.arguments(call)), fn.name, fn.at)
        elif not is_atom(fn):
            fn = self.operand(fn)
        places = (*range(len(call.args)), *(word for word, _ in call.kwargs))
        shapes = [takes_shape(fn, place) for place in places]
        values = self.operands(ir.arguments(call), shapes)
        args = values[: len(call.args)]
        words = (word for word, _ in call.kwargs)
        kwargs = tuple(zip(words, values[len(call.args) :], strict=True))
        return ir.Call(fn, args, kwargs, call.at)

    def operands(
        self, exprs: Sequence[ir.Expr], shapes: Sequence[bool] = ()
    ) -> tuple[ir.Expr, ...]:
        """Operands from left to right. A size is read early if a later operand could change it, and
        a length also if a later one is asked of an object: both may be methods of the user's."""
        result = []
        for number, expr in enumerate(exprs):
            later = exprs[number + 1 :]
            if is_generator(expr) or (shapes and shapes[number] and is_shape_tuple(expr)):
                result.append(expr)
            elif is_shape_query(expr) and (
                not all(map(is_repeatable, later)) or (asks_length(expr) and any(map(asks, later)))
            ):
                result.append(self.named(expr))
            else:
                result.append(self.held(expr, later))
        return tuple(result)

    def held(self, expr: ir.Expr, later: Sequence[ir.Expr]) -> ir.Expr:
        """An operand, which what is evaluated `later` does not change."""
        return self.as_now(self.operand(expr), later)

    def as_now(self, made: ir.Expr, later: Sequence[ir.Expr]) -> ir.Expr:
        """What was evaluated, as it is now: the value of `j`, of `(j := a)`, or of a call that
        returns `j` gets a name of its own where what is evaluated `later` binds `j` again."""
        bound = (n for n in ir.names_in(made) if self.special.rebinds(ir.Var(n), later))
        if ir.is_starred(made) or not any(bound):
            return made
        return fixed_key(made, self.named, atoms=True)

    def key(self, expr: ir.Expr) -> ir.Expr:
        """A key, whole but for calls in it, which are made once and named."""
        if not self.special.within(expr):
            return flat_key(expr, self.operand, self.special.within)
        parts = ir.children(expr)
        if isinstance(expr, ir.Slice) or (isinstance(expr, ir.Display) and expr.form == "tuple"):
            made = [self.as_now(self.key(p), parts[n + 1 :]) for n, p in enumerate(parts)]
            following = iter(made)
            return ir.rebuild(expr, lambda part: next(following))
        return self.operand(expr)


def _ends(made: Sequence[ir.Stmt], block: ir.Block) -> ir.Block:
    """What ends a block of which no more than this is reached: the contexts that were entered are
    left, what a `try` protects ends, and a function returns."""
    entered = sum(isinstance(s, ir.Enter) - isinstance(s, ir.Leave) for s in made)
    leaves = [s for s in block if isinstance(s, ir.Leave)]
    ends: list[Any] = leaves[len(leaves) - entered :] if entered else []
    if not any(isinstance(s, ir.Tried) for s in made):
        ends += (s for s in block if isinstance(s, ir.Tried))
    if isinstance(block[-1], ir.Return):
        ends.append(ir.Return(ir.Const(None), block[-1].origin))
    return tuple(ends)


# --------------------------------------------------------------------------------------------------
# Keys of items: they stay whole, but for what must be evaluated exactly once, or earlier.


# Built-ins that give integers from integers, so that they may stay inside a key.
_KEY_FUNCTIONS = frozenset(
    map(id, (builtins.int, builtins.len, builtins.abs, builtins.min, builtins.max, slice, round))
)


def flat_key(
    expr: ir.Expr, operand: Callable[[ir.Expr], ir.Expr], within: Callable[[ir.Expr], bool]
) -> ir.Expr:
    """A key with the calls in it named by `operand`; `within` says what needs statements.

    before::                         after::
        x[np.argmax(y) + 1, :n]          argmax_y = np.argmax(y)
                                         x[argmax_y + 1, :n]
    """
    match expr:
        case ir.Call(fn=fn, kwargs=()) if is_arithmetic(fn) or is_truth(fn):
            pass
        case ir.Call(fn=ir.Ref(obj=obj), kwargs=()) if id(obj) in _KEY_FUNCTIONS:
            pass
        case ir.Call() | Walrus():
            return operand(expr)
        case ir.Lazy() if not (keeps_whole(expr) and is_repeatable(expr)) or within(expr):
            return operand(expr)
        case ir.Opaque() | ir.Lazy():
            return expr
    return ir.rebuild(expr, lambda part: flat_key(part, operand, within))


def fixed_key(key: ir.Expr, named: Callable[[ir.Expr], ir.Expr], atoms: bool = False) -> ir.Expr:
    """A key evaluated now: parts of it that are not atoms get names, and with `atoms` names do."""
    if is_atom(key):
        return named(key) if atoms and isinstance(key, ir.Var) else key
    if isinstance(key, ir.Slice) or (isinstance(key, ir.Display) and key.form == "tuple"):
        return ir.rebuild(key, lambda part: fixed_key(part, named, atoms))
    return named(key)
