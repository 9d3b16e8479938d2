"""What both modes know of the function they transform."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import ir, runtime
from ..analysis.activity import varied_names
from ..analysis.flow import Flow, flow_edges
from ..analysis.kinds import infer_kinds, kind_of
from ..analysis.memory import UNSEEN, Effects, Sources
from ..analysis.operations import (
    is_constant,
    is_field,
    is_python_function,
    rule_object,
    written_position,
)
from ..analysis.outer_numbers import OuterNumbers
from ..errors import Place
from ..frontend.lower import instead
from ..frontend.operands import BINARY, UPDATE
from ..ir.kind import OTHER, UNKNOWN, Kind
from ..ir.names import Names
from ..rules.bind import Instance
from ..rules.book import KindOf, Rule, RuleBook
from ..rules.twins import module_function
from ..runtime.records import attribute_of
from .specialize.callees import Callees

BINARY_OF: dict[Any, ir.Ref] = {UPDATE[node].obj: ref for node, ref in BINARY.items()}
_OF_SETS = (operator.ior, operator.iand, operator.ixor)


def of_sets(stmt: ir.Stmt) -> bool:
    """Whether a statement is `s |= t` or the like, which changes a set (or an array of integers)
    in place."""
    return isinstance(stmt, ir.Update) and stmt.op.obj in _OF_SETS


def operation(stmt: ir.Update) -> ir.Call:
    """`a * b` for `a *= b`."""
    return ir.Call(BINARY_OF[stmt.op.obj], (stmt.target, stmt.value), at=stmt.origin.place)


@dataclass
class Context:
    """One function's transformation: kinds by name, rules, callees, and one name allocator.

    `original` says which of the user's names a renamed web had; `temporaries` are the names that
    lowering and preparation made; `real` says that no complex values occur;
    `alike` that copies of arguments must lie in memory as these do; `shaped` has for a name another
    one of that shape (`ad.reverse.shapes`); `idle` are names known to carry no derivatives, `outer`
    those of what may be held outside of the functions, `repeatable` those of what loops may go
    through again; `derivatives` says of adjoints and tangents of which names they are, and `narrow`
    which of them may be smaller; `numbers` are those outside of the functions that these read and
    write.
    """

    kinds: dict[str, Kind]
    book: RuleBook
    callees: Callees
    names: Names
    numpy_alias: str = "np"
    original: dict[str, str] = field(default_factory=dict)
    temporaries: set[str] = field(default_factory=set)
    real: bool = True
    meant: frozenset[str] = frozenset()  # names that the function reads, or gives values that count
    alike: bool = False
    shaped: dict[str, str] = field(default_factory=dict)
    idle: frozenset[str] = frozenset()
    derivatives: dict[str, str] = field(default_factory=dict)
    narrow: set[str] = field(default_factory=set)
    outer: frozenset[str] = frozenset()
    repeatable: set[str] = field(default_factory=set)
    numbers: OuterNumbers | None = None
    _flow: tuple[ir.Function, dict[str, Kind], Flow] | None = field(default=None, repr=False)

    def kind_of(self, expr: ir.Expr) -> Kind:
        if type(expr) is ir.Var:  # (most questions are about names)
            return self.kinds.get(expr.name, UNKNOWN)
        return kind_of(expr, self.kinds, self.book)

    def is_steady(self, expr: ir.Expr, place: Place) -> bool:
        """Whether what an expression reads outside of the functions stays as it is."""
        return self.numbers is None or self.numbers.is_steady(expr, place, self.kind_of)

    def rule_for(self, expr: ir.Expr) -> Rule | None:
        """The derivative rule of a call or attribute, if there is one."""
        obj = rule_object(expr, self.kinds)
        return None if obj is None else self.book.find(obj)

    def is_callee(self, obj: object) -> bool:
        """Whether an object is a function of the user's whose source says what it does."""
        asked = getattr(self.book, "is_callee", None)
        return asked is not None and bool(asked(obj))

    def reads_result(self, value: ir.Expr) -> bool:
        """Whether the adjoint of an operation reads its result."""
        rule = self.rule_for(value)
        if rule is None:
            return not self.is_constant(value)
        instance = self.bind(rule, value)
        read: set[str] = set()
        for expr in (*instance.partials.values(), *instance.adjoints.values()):
            read |= ir.names_in(expr)
        for _, expr in instance.temporaries:
            read |= ir.names_in(expr)
        return "$y" in read

    def bind(self, rule: Rule, call: ir.Expr, kind_of: KindOf | None = None) -> Instance:
        """The rule's lines for one call of this function; `kind_of`: what is known where it is."""
        assert isinstance(call, ir.Call | ir.Attribute)
        return rule.bind(call, kind_of or self.kind_of, self.numpy_alias, self.real)

    def is_constant(self, expr: ir.Expr) -> bool:
        """Whether an operation's result carries no derivative whatever it is given."""
        if isinstance(expr, ir.Lazy | ir.Opaque | ir.Const | ir.Ref):
            return True
        return is_constant(expr, self.kinds, self.book)

    def is_part(self, expr: ir.Expr) -> bool:
        """Whether an expression reads an item or a field of what a name stands for."""
        if isinstance(expr, ir.Index):
            return isinstance(expr.base, ir.Var)
        return (
            isinstance(expr, ir.Attribute)
            and isinstance(expr.base, ir.Var)
            and is_field(expr, self.kinds, self.book)
        )

    def fresh(self, wanted: str, kind: Kind, temporary: bool = False) -> str:
        """A new name for values of this kind; a `temporary` may be put into what reads it."""
        name = self.names.fresh(wanted)
        self.kinds[name] = kind
        if temporary:
            self.temporaries.add(name)
        return name

    def temporary(self, wanted: str) -> str:
        """A new name for what may be put into what reads it."""
        name = self.names.fresh(wanted)
        self.temporaries.add(name)
        return name

    def instead(self, stmt: ir.Stmt, text: str, **given: ir.Expr) -> list[ir.Stmt]:
        """What a text of Python says, in the place of a statement (`frontend.lower.instead`)."""
        made = instead(stmt, text, self.names, self.temporaries, self.numpy_alias, **given)
        known = frozenset(self.kinds)
        for part, around in ir.with_parents(tuple(made)):
            looped = any(isinstance(outer, ir.For | ir.While) for outer in around)
            if not looped and isinstance(part, ir.Assign) and isinstance(part.target, str):
                kind = self.kind_of(part.value)
                if part.target not in known:  # (what branches bind is what is true in all)
                    self.kinds[part.target] = self.kinds.get(part.target, kind).join(kind)
        return made

    def infer_again(self, function: ir.Function, given: Mapping[str, Kind]) -> None:
        """What is known of the names of a function that binds them anew."""
        self.kinds.clear()
        self.kinds.update(infer_kinds(function, given, self.book))

    def flow(self, function: ir.Function) -> Flow:
        """How values flow in a function of these names; several passes ask that of the same one."""
        known = self._flow
        if known is None or known[0] is not function or known[1] != self.kinds:
            found = flow_edges(function, self.kinds, self.book, self.sources().effects)
            known = self._flow = function, dict(self.kinds), found
        return known[2]

    def varied(self, function: ir.Function, wrt: Collection[str]) -> frozenset[str]:
        """The names that depend differentiably on `wrt`."""
        return varied_names(self.flow(function), wrt, self.kinds)

    @property
    def looked_up(self) -> frozenset[str]:
        """The names of methods and computed attributes that are asked for when the text runs."""
        builder = self.callees.builder
        return frozenset() if builder is None else builder.reading.looked_up

    def unread(self) -> str:
        """A name for what nothing reads: `_`, unless the function has a `_` of its own."""
        if "_" not in self.meant:
            self.kinds["_"] = OTHER
            return "_"
        return self.fresh("_", OTHER)

    def numpy(self, name: str) -> ir.Ref:
        """A function of the program's array module, as it spells that."""
        return module_function(self.numpy_alias, name)

    def helper(self, name: str) -> ir.Ref:
        """A function of `tangentlike.runtime`."""
        return ir.Ref(name, getattr(runtime, name))

    def check(
        self, name: str, args: tuple[ir.Expr, ...], origin: ir.Origin, at: Place | None = None
    ) -> ir.Do:
        """The statement that has a function of `tangentlike.runtime` check something."""
        return ir.Do(ir.Call(self.helper(name), args, at=at), origin)

    @property
    def unseen_writes(self) -> bool:
        """Whether functions that are not known now may write what they are given."""
        builder = self.callees.builder
        return builder is not None and builder.reading.by_identity

    @property
    def of_a_call(self) -> bool:
        """Whether this is made for the types of a call, which tell no more than is known here."""
        builder = self.callees.builder
        return builder is not None and builder.reading.specialized

    def sources(self) -> Sources:
        """What the alias analysis asks about expressions."""
        asked = (self.kind_of, self._view_of, self._effects, self._bind)
        return Sources(self.kinds, *asked, idle=self.idle)

    def _view_of(self, call: ir.Call) -> str:
        obj = rule_object(call, self.kinds)
        if obj is None:
            return "user"
        rule = self.book.find(obj)
        if rule is not None:
            return rule.view_of(call)
        return "no" if self.book.is_nondifferentiable(obj) or _is_math(obj) else "user"

    def _effects(self, call: ir.Call) -> Effects | None:
        if isinstance(call.fn, ir.Var):
            return UNSEEN if self.unseen_writes else None
        if not isinstance(call.fn, ir.Ref) or not is_python_function(call.fn.obj):
            return None  # (a library's may end in code that cannot be read)
        if self._view_of(call) != "user":
            return None
        if written_position(call.fn.obj) is not None:
            return None  # a function that is known to write its first argument, and no other
        return self.callees.effects_here(call, self.kind_of)

    def _bind(self, call: ir.Call) -> Mapping[str, ir.Expr]:
        assert isinstance(call.fn, ir.Ref)
        return self.callees.bind_loosely(call)


def _is_math(obj: Any) -> bool:
    return bool(attribute_of(obj, "__module__", None) == math.__name__)
