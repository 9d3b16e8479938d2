"""One operation a statement, each intermediate value with a name of its own.

What can carry no derivative stays whole: tests, comparisons, keys, sizes, opaque code.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from .. import ir
from ..ir import (
    Assign,
    Attribute,
    Block,
    Call,
    Display,
    Do,
    Expr,
    For,
    Function,
    If,
    Index,
    Lazy,
    Opaque,
    Origin,
    Ref,
    Return,
    Slice,
    Stmt,
    Store,
    Update,
    Var,
    While,
)
from ..names import Names
from .comprehensions import Comprehension, becomes_loop, is_consumed, is_generator, loop
from .jumps import negated
from .naming import names_of, noun
from .nested import in_blocks
from .operands import (
    is_atom,
    is_comparison,
    is_repeatable,
    is_shape_query,
    is_shape_tuple,
    is_starred,
    keeps_whole,
    stays_nested,
    takes_shape,
)
from .operators import is_arithmetic, is_truth

# Loop headers whose operands are named, and which then stay as they are.
HEADERS = frozenset(map(id, (range, zip, enumerate, reversed)))
# Built-ins that give integers from integers, so that they may stay inside a key.
_KEY_FUNCTIONS = frozenset(
    map(id, (builtins.int, builtins.len, builtins.abs, builtins.min, builtins.max, slice, round))
)


def flatten(function: Function, names: Names | None = None) -> Function:
    """Give each intermediate value a name, made from what it holds.

    before::                                 after::
        return np.sum(np.tanh(x @ w) * 2.0)      xw = x @ w
                                                 tanh_xw = np.tanh(xw)
                                                 product = tanh_xw * 2.0
                                                 sum_product = np.sum(product)
                                                 return sum_product
    """
    names = names_of(function) if names is None else names
    own: list[Names] = []

    def variable(name: str) -> str:
        """A comprehension's variable, which is none of the function's names."""
        own.extend(() if own else (names_of(function, inside=False),))
        if name in own[0]:
            return names.fresh(name)
        names.take((name,))
        return name

    flattener = _Flattener(names, variable, [], Origin(function.place))
    return dataclasses.replace(function, body=flattener.block(function.body))


@dataclasses.dataclass(frozen=True)
class _Flattener:
    """Flattens one statement; temporaries go to `out` before the statement itself."""

    names: Names
    variable: Callable[[str], str]
    out: list[Stmt]
    origin: Origin

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Assign(target=target, value=value):
                self.assign(target, value)
            case Store(target=target, value=value):
                made: Any = self.operand(value)
                self.out.append(Store(self.place(target), made, self.origin))
            case Update(target=target, op=op, value=value):
                place = self.place(target)
                if not is_repeatable(value):
                    place = self.fixed(place)
                self.out.append(Update(place, op, self.operand(value), self.origin))
            case Do(value=value):
                self.effect(value)
            case If() | While():
                self.out.append(in_blocks(stmt, self.block))
            case For(iter=iterable):
                header = self.header(iterable)
                loop: Any = in_blocks(stmt, self.block)
                self.out.append(dataclasses.replace(loop, iter=header))
            case Return(value=value) if value is not None:
                self.out.append(Return(self.returned(value), self.origin))
            case _:
                self.out.append(stmt)

    def block(self, block: Block) -> Block:
        """A block with each of its statements flattened."""
        out: list[Stmt] = []
        for stmt in block:
            dataclasses.replace(self, out=out, origin=stmt.origin).statement(stmt)
        return tuple(out)

    def inner(self) -> _Flattener:
        """A flattener for a branch that is made here."""
        return dataclasses.replace(self, out=[])

    # ------------------------------------------------------------------------- statements

    def assign(self, target: ir.Target, value: Expr) -> None:
        """`target = value`, the value one operation."""
        if isinstance(value, Lazy) and not keeps_whole(value):
            if isinstance(target, str):
                self.branches(target, value)
                return
            value = self.operand(value)
        if isinstance(value, Comprehension) and becomes_loop(value):
            if isinstance(target, str) and target not in value.names:
                self.collected(target, value)
                return
            value = self.named(value)
        value = self.operation(value)
        if value != Var(target if isinstance(target, str) else ""):
            self.out.append(Assign(target, value, self.origin))

    def branches(self, target: str, value: Lazy) -> None:
        """A value chosen by a test, as an `If` that binds the target."""
        if value.form == "if":
            test, then, otherwise = value.items
            body, orelse = self.inner(), self.inner()
            body.assign(target, then)
            orelse.assign(target, otherwise)
            if body.out:
                self.out.append(If(test, tuple(body.out), tuple(orelse.out), self.origin))
            elif orelse.out:
                self.out.append(If(negated(test), tuple(orelse.out), (), self.origin))
            return
        first, *others = value.items
        if any(target in ir.names_in(item) for item in others):
            name = self.names.fresh(noun(value))
            self.branches(name, value)
            self.out.append(Assign(target, Var(name), self.origin))
            return
        self.assign(target, first)
        rest = self.inner()
        rest.assign(target, others[0] if len(others) == 1 else Lazy(value.form, tuple(others)))
        test = Var(target) if value.form == "and" else negated(Var(target))
        self.out.append(If(test, tuple(rest.out), (), self.origin))

    def collected(self, target: str, value: Comprehension) -> None:
        """A list or dict built by a loop."""
        self.out.extend(self.block(loop(value, target, self.variable, self.origin)))

    def effect(self, value: Expr) -> None:
        """An expression evaluated for what it does."""
        match value:
            case Comprehension() if becomes_loop(value):
                self.named(value)
            case Lazy(form="if", items=(test, then, otherwise)):
                body, orelse = self.inner(), self.inner()
                body.effect(then)
                orelse.effect(otherwise)
                self.out.append(If(test, tuple(body.out), tuple(orelse.out), self.origin))
            case Lazy(form=form, items=(first, *others)):
                rest = self.inner()
                rest.effect(others[0] if len(others) == 1 else Lazy(form, tuple(others)))
                test = first if form == "and" else negated(first)
                self.out.append(If(test, tuple(rest.out), (), self.origin))
            case _:
                self.out.append(Do(self.operation(value), self.origin))

    def place(self, target: Any) -> Any:
        """A written item or attribute of a named value."""
        match target:
            case Index(base=base, key=key):
                return Index(self.operand(base), self.key(key), target.at)
            case Attribute(base=base, name=name):
                return Attribute(self.operand(base), name, target.at)
        return target

    def fixed(self, target: Any) -> Any:
        """The same place with its key evaluated now, before a value that could change it."""
        if not isinstance(target, Index):
            return target
        return dataclasses.replace(target, key=self._fixed_key(target.key))

    def _fixed_key(self, key: Expr) -> Expr:
        if is_atom(key):
            return key
        if isinstance(key, Slice) or (isinstance(key, Display) and key.form == "tuple"):
            return ir.rebuild(key, self._fixed_key)
        return self.named(key)

    def header(self, expr: Expr) -> Expr:
        """What a `for` goes through, its operands named."""
        if isinstance(expr, Opaque) and not becomes_loop(expr):
            return expr
        if isinstance(expr, Call) and isinstance(expr.fn, Ref) and id(expr.fn.obj) in HEADERS:
            args = tuple(a if is_starred(a) else self.header(a) for a in expr.args)
            kwargs = tuple((word, self.operand(v)) for word, v in expr.kwargs)
            return dataclasses.replace(expr, args=args, kwargs=kwargs)
        return self.operand(expr)

    def returned(self, expr: Expr) -> Expr:
        """An expression of atoms: displays of results keep their form."""
        if isinstance(expr, Display):
            keys = tuple(map(self.operand, expr.keys))
            return dataclasses.replace(expr, items=tuple(map(self.returned, expr.items)), keys=keys)
        return self.operand(expr)

    # ------------------------------------------------------------------------ expressions

    def operand(self, expr: Expr) -> Expr:
        """An atom for the value of an expression (or what stays nested as an operand)."""
        return expr if stays_nested(expr) else self.named(expr)

    def named(self, expr: Expr) -> Var:
        """A temporary that holds the expression."""
        if isinstance(expr, Lazy) and not keeps_whole(expr):
            name = self.names.fresh(noun(expr))
            self.branches(name, expr)
            return Var(name)
        if isinstance(expr, Comprehension) and becomes_loop(expr):
            name = self.names.fresh(noun(expr))
            self.collected(name, expr)
            return Var(name)
        value = self.operation(expr)
        name = self.names.fresh(noun(value))
        self.out.append(Assign(name, value, self.origin))
        return Var(name)

    def operation(self, expr: Expr) -> Expr:
        """The expression as one operation on atoms."""
        if stays_nested(expr) or is_comparison(expr):
            return expr
        match expr:
            case Call():
                return self.call(expr)
            case Index(base=base, key=key):
                return Index(self.operand(base), self.key(key), expr.at)
            case Attribute(base=base, name=name):
                return Attribute(self.operand(base), name, expr.at)
            case Display(keys=keys, items=items):
                keys = tuple(map(self.operand, keys))
                return dataclasses.replace(expr, keys=keys, items=self.operands(items))
        return expr

    def call(self, call: Call) -> Expr:
        fn = call.fn
        if is_consumed(call):
            items: Any = call.args[0]
            items = dataclasses.replace(items, form="list")
            call = dataclasses.replace(call, args=(items, *call.args[1:]))
        if isinstance(fn, Attribute):
            fn = Attribute(self.operand(fn.base), fn.name, fn.at)
        elif not is_atom(fn):
            fn = self.operand(fn)
        places = (*range(len(call.args)), *(word for word, _ in call.kwargs))
        shapes = [takes_shape(fn, place) for place in places]
        values = self.operands((*call.args, *(v for _, v in call.kwargs)), shapes)
        args = values[: len(call.args)]
        words = (word for word, _ in call.kwargs)
        kwargs = tuple(zip(words, values[len(call.args) :], strict=True))
        return Call(fn, args, kwargs, call.at)

    def operands(self, exprs: Sequence[Expr], shapes: Sequence[bool] = ()) -> tuple[Expr, ...]:
        """Operands from left to right. A size is read early if a later operand could change it."""
        result = []
        for number, expr in enumerate(exprs):
            if is_generator(expr) or (shapes and shapes[number] and is_shape_tuple(expr)):
                result.append(expr)
            elif is_shape_query(expr) and not all(map(is_repeatable, exprs[number + 1 :])):
                result.append(self.named(expr))
            else:
                result.append(self.operand(expr))
        return tuple(result)

    def key(self, expr: Expr) -> Expr:
        """A key, whole but for calls in it, which are made once and named."""
        match expr:
            case Call(fn=fn, kwargs=()) if is_arithmetic(fn) or is_truth(fn):
                return ir.rebuild(expr, self.key)
            case Call(fn=Ref(obj=obj), kwargs=()) if id(obj) in _KEY_FUNCTIONS:
                return ir.rebuild(expr, self.key)
            case Call():
                return self.operand(expr)
            case Lazy() if not keeps_whole(expr):
                return self.operand(expr)
            case Opaque() | Lazy():
                return expr
        return ir.rebuild(expr, self.key)


__all__ = ["HEADERS", "flatten"]
