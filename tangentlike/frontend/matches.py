"""`match` as `if` and `elif`: each case a test on the subject, its captures ordinary assignments.

    before::                             after::
        match layer:                         if isinstance(layer, Dense):
            case Dense(w, b):                    w = layer.w
                h = x @ w + b                    b = layer.b
            case ("scale", c):                   h = x @ w + b
                h = c * x                    elif is_sequence(layer) and len(layer) == 2 and ...

Which case is taken is control flow: it is decided by values and never differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gast

from .. import ir, runtime
from ..errors import UnsupportedError
from ..ir.names import Names
from ..runtime.records import attribute_of
from .expressions import Reader
from .operands import COMPARE

# Classes of which the one positional pattern means the subject itself (PEP 634).
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)

_ISINSTANCE, _LEN, _LIST = (
    ir.Ref("isinstance", isinstance),
    ir.LEN,
    ir.LIST,
)
_SEQUENCE, _MAPPING = (
    ir.Ref("is_sequence", runtime.is_sequence),
    ir.Ref("is_mapping", runtime.is_mapping),
)
_REST = ir.Ref("other_entries", runtime.other_entries)
_AT_LEAST, _SAME = ir.AT_LEAST, COMPARE[gast.Eq]


@dataclass(frozen=True)
class Matched:
    """What a pattern asks, each only where those before it hold, and the names it then binds."""

    tests: tuple[ir.Expr, ...] = ()
    binds: Mapping[str, ir.Expr] = field(default_factory=dict)

    @property
    def never(self) -> bool:
        """Whether nothing matches."""
        return ir.Const(False) in self.tests

    def __add__(self, other: Matched) -> Matched:
        return Matched(self.tests + other.tests, {**self.binds, **other.binds})


@dataclass(frozen=True)
class Patterns:
    """Reads the patterns of one `match` statement."""

    reader: Reader

    def read(self, node: Any, subject: ir.Expr) -> Matched:
        """What it means that the value of an expression matches a pattern."""
        match node:
            case gast.MatchValue():
                return Matched((ir.Call(_SAME, (subject, self.reader.read(node.value))),))
            case gast.MatchSingleton():
                return Matched((ir.Call(COMPARE[gast.Is], (subject, ir.Const(node.value))),))
            case gast.MatchAs():
                inner = Matched() if node.pattern is None else self.read(node.pattern, subject)
                return inner + Matched(binds={node.name: subject} if node.name else {})
            case gast.MatchOr():
                return self._either([self.read(part, subject) for part in node.patterns])
            case gast.MatchSequence():
                return self._sequence(node.patterns, subject)
            case gast.MatchMapping():
                return self._mapping(node, subject)
        return self._instance(node, subject)

    def _either(self, parts: Sequence[Matched]) -> Matched:
        """`p | q`: all alternatives bind the same names, to values of their own."""
        parts = [part for part in parts if not part.never] or parts[:1]
        if not all(part.tests for part in parts):  # the last one takes everything
            parts = [p for p in parts if p.tests] + [p for p in parts if not p.tests][:1]
        tests = [_all(part.tests) for part in parts]
        binds = dict(parts[-1].binds)
        for part, test in reversed(list(zip(parts, tests, strict=True))[:-1]):
            for name, value in part.binds.items():
                if binds[name] != value:
                    binds[name] = ir.Lazy("if", (test, value, binds[name]))
        always = not parts[-1].tests
        return Matched(() if always else (ir.Lazy("or", tuple(tests)),), binds)

    def _sequence(self, parts: Sequence[Any], subject: ir.Expr) -> Matched:
        stars = [n for n, part in enumerate(parts) if isinstance(part, gast.MatchStar)]
        found = _long_enough(subject, len(parts) - len(stars), bool(stars))
        if found.never:
            return found
        for number, part in enumerate(parts):
            from_end = bool(stars) and number > stars[0]
            place = number - len(parts) if from_end else number
            if not isinstance(part, gast.MatchStar):
                found += self.read(part, _item(subject, place))
            elif part.name:
                end = number + 1 - len(parts)
                found += Matched(binds={part.name: _rest(subject, place, end)})
        return found

    def _mapping(self, node: Any, subject: ir.Expr) -> Matched:
        found = Matched((ir.Call(_MAPPING, (subject,)),))
        for key_node, part in zip(node.keys, node.patterns, strict=True):
            key = self.reader.read(key_node)
            found += Matched((ir.Call(ir.IN, (key, subject)),))
            found += self.read(part, ir.Index(subject, key))
        if node.rest:
            keys = ir.Display("tuple", tuple(map(self.reader.read, node.keys)))
            found += Matched(
                binds={node.rest: ir.Call(_REST, (subject, keys), at=self.reader.at(node))}
            )
        return found

    def _instance(self, node: Any, subject: ir.Expr) -> Matched:
        cls = self.reader.read(node.cls)
        found = Matched((ir.Call(_ISINSTANCE, (subject, cls)),))
        if len(node.patterns) == 1 and isinstance(cls, ir.Ref) and cls.obj in _WHOLE:
            return found + self.read(node.patterns[0], subject)
        names = attribute_of(cls.obj, "__match_args__", ()) if isinstance(cls, ir.Ref) else ()
        if len(names) < len(node.patterns):
            raise UnsupportedError(
                "the positional patterns of this class have no known names",
                self.reader.at(node),
                "Name the attributes: `Point(x=x, y=y)`.",
            )
        parts = [*zip(names, node.patterns, strict=False)]
        parts += zip(node.kwd_attrs, node.kwd_patterns, strict=True)
        for name, part in parts:
            if name not in names:
                found += Matched((ir.Call(ir.HASATTR, (subject, ir.Const(name))),))
            found += self.read(part, ir.Attribute(subject, name, self.reader.at(node)))
        return found


def _long_enough(subject: ir.Expr, count: int, more: bool) -> Matched:
    """Whether the subject is a sequence of so many items, or also of more; of one that is written
    out it is known."""
    if isinstance(subject, ir.Display):
        size = len(subject.items)
        return (
            Matched() if size == count or (more and size > count) else Matched((ir.Const(False),))
        )
    long = ir.Call(_AT_LEAST if more else _SAME, (ir.Call(_LEN, (subject,)), ir.Const(count)))
    return Matched((ir.Call(_SEQUENCE, (subject,)), long))


def _item(subject: ir.Expr, place: int) -> ir.Expr:
    return (
        subject.items[place]
        if isinstance(subject, ir.Display)
        else ir.Index(subject, ir.Const(place))
    )


def _rest(subject: ir.Expr, place: int, end: int) -> ir.Expr:
    """The list of the items from `place` on, to `end` counted from behind."""
    if isinstance(subject, ir.Display):
        return ir.Display("list", subject.items[place : end or None])
    items = ir.Slice(ir.Const(place) if place else None, ir.Const(end) if end else None)
    return ir.Call(_LIST, (ir.Index(subject, items),))


def is_taken_apart(subject: ir.Expr, patterns: Sequence[Any]) -> bool:
    """Whether the subject is a sequence that is written out, and only its items are asked for."""
    written = isinstance(subject, ir.Display) and not any(map(ir.is_starred, subject.items))
    return written and all(map(_takes_apart, patterns))


def _takes_apart(node: Any) -> bool:
    match node:
        case gast.MatchOr():
            return all(map(_takes_apart, node.patterns))
        case gast.MatchAs():
            return node.name is None and (node.pattern is None or _takes_apart(node.pattern))
    return isinstance(node, gast.MatchSequence)


def captured(node: Any) -> set[str]:
    """The names that the patterns below a node bind."""
    parts = (n for n in gast.walk(node) if isinstance(n, gast.MatchAs | gast.MatchStar))
    rests = (n.rest for n in gast.walk(node) if isinstance(n, gast.MatchMapping))
    return {n.name for n in parts if n.name} | {rest for rest in rests if rest}


def cases(
    parts: Sequence[tuple[Matched, ir.Expr | None, Sequence[Any], ir.Origin]], names: Names
) -> list[Any]:
    """The cases as one chain of branches: (pattern, guard, body, origin) each, from the first.

    A guard reads what its pattern binds, so it is asked in a branch of its own.
    """
    chain: list[Any] = []
    for found, guard, body, origin in reversed(parts):
        binds = [ir.Assign(name, value, origin) for name, value in found.binds.items()]
        if guard is not None and binds:
            flag = names.fresh("matched")
            ask = (*binds, ir.Assign(flag, guard, origin))
            first = [ir.Assign(flag, ir.Const(False), origin)]
            first += _branch(_all(found.tests), ask, (), origin)
            chain = [*first, *_branch(ir.Var(flag), body, chain, origin)]
        else:
            tests = found.tests if guard is None else (*found.tests, guard)
            chain = list(_branch(_all(tests), (*binds, *body), chain, origin))
    return chain


def _branch(
    test: ir.Expr, body: Sequence[Any], orelse: Sequence[Any], origin: ir.Origin
) -> list[Any]:
    if test == ir.Const(True):
        return [*body]
    if not body and orelse:
        return [ir.If(ir.Call(ir.NOT, (test,)), tuple(orelse), (), origin)]
    return [ir.If(test, tuple(body), tuple(orelse), origin)]


def _all(tests: Sequence[ir.Expr]) -> ir.Expr:
    if not tests:
        return ir.Const(True)
    return tests[0] if len(tests) == 1 else ir.Lazy("and", tuple(tests))
