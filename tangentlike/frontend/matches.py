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

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gast

from .. import runtime
from ..errors import UnsupportedError
from ..ir import (
    Assign,
    Attribute,
    Call,
    Const,
    Display,
    Expr,
    If,
    Index,
    Lazy,
    Origin,
    Ref,
    Slice,
    Var,
    is_starred,
)
from ..ir.names import Names
from ..runtime.records import attribute_of
from .expressions import Reader
from .operators import COMPARE, IN, NOT

# Classes of which the one positional pattern means the subject itself (PEP 634).
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)

_ISINSTANCE, _LEN, _LIST = Ref("isinstance", isinstance), Ref("len", len), Ref("list", list)
_HASATTR = Ref("hasattr", hasattr)
_SEQUENCE, _MAPPING = (
    Ref("is_sequence", runtime.is_sequence),
    Ref("is_mapping", runtime.is_mapping),
)
_REST = Ref("other_entries", runtime.other_entries)
_AT_LEAST, _SAME = Ref(">=", operator.ge), COMPARE[gast.Eq]


@dataclass(frozen=True)
class Matched:
    """What a pattern asks, each only where those before it hold, and the names it then binds."""

    tests: tuple[Expr, ...] = ()
    binds: Mapping[str, Expr] = field(default_factory=dict)

    @property
    def never(self) -> bool:
        """Whether nothing matches."""
        return Const(False) in self.tests

    def __add__(self, other: Matched) -> Matched:
        return Matched(self.tests + other.tests, {**self.binds, **other.binds})


@dataclass(frozen=True)
class Patterns:
    """Reads the patterns of one `match` statement."""

    reader: Reader

    def read(self, node: Any, subject: Expr) -> Matched:
        """What it means that the value of an expression matches a pattern."""
        match node:
            case gast.MatchValue():
                return Matched((Call(_SAME, (subject, self.reader.read(node.value))),))
            case gast.MatchSingleton():
                return Matched((Call(COMPARE[gast.Is], (subject, Const(node.value))),))
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
                    binds[name] = Lazy("if", (test, value, binds[name]))
        always = not parts[-1].tests
        return Matched(() if always else (Lazy("or", tuple(tests)),), binds)

    def _sequence(self, parts: Sequence[Any], subject: Expr) -> Matched:
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

    def _mapping(self, node: Any, subject: Expr) -> Matched:
        found = Matched((Call(_MAPPING, (subject,)),))
        for key_node, part in zip(node.keys, node.patterns, strict=True):
            key = self.reader.read(key_node)
            found += Matched((Call(IN, (key, subject)),))
            found += self.read(part, Index(subject, key))
        if node.rest:
            keys = Display("tuple", tuple(map(self.reader.read, node.keys)))
            found += Matched(
                binds={node.rest: Call(_REST, (subject, keys), at=self.reader.at(node))}
            )
        return found

    def _instance(self, node: Any, subject: Expr) -> Matched:
        cls = self.reader.read(node.cls)
        found = Matched((Call(_ISINSTANCE, (subject, cls)),))
        if len(node.patterns) == 1 and isinstance(cls, Ref) and cls.obj in _WHOLE:
            return found + self.read(node.patterns[0], subject)
        names = attribute_of(cls.obj, "__match_args__", ()) if isinstance(cls, Ref) else ()
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
                found += Matched((Call(_HASATTR, (subject, Const(name))),))
            found += self.read(part, Attribute(subject, name, self.reader.at(node)))
        return found


def _long_enough(subject: Expr, count: int, more: bool) -> Matched:
    """Whether the subject is a sequence of so many items, or also of more; of one that is written
    out it is known."""
    if isinstance(subject, Display):
        size = len(subject.items)
        return Matched() if size == count or (more and size > count) else Matched((Const(False),))
    long = Call(_AT_LEAST if more else _SAME, (Call(_LEN, (subject,)), Const(count)))
    return Matched((Call(_SEQUENCE, (subject,)), long))


def _item(subject: Expr, place: int) -> Expr:
    return subject.items[place] if isinstance(subject, Display) else Index(subject, Const(place))


def _rest(subject: Expr, place: int, end: int) -> Expr:
    """The list of the items from `place` on, to `end` counted from behind."""
    if isinstance(subject, Display):
        return Display("list", subject.items[place : end or None])
    items = Slice(Const(place) if place else None, Const(end) if end else None)
    return Call(_LIST, (Index(subject, items),))


def is_taken_apart(subject: Expr, patterns: Sequence[Any]) -> bool:
    """Whether the subject is a sequence that is written out, and only its items are asked for."""
    written = isinstance(subject, Display) and not any(map(is_starred, subject.items))
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
    parts: Sequence[tuple[Matched, Expr | None, Sequence[Any], Origin]], names: Names
) -> list[Any]:
    """The cases as one chain of branches: (pattern, guard, body, origin) each, from the first.

    A guard reads what its pattern binds, so it is asked in a branch of its own.
    """
    chain: list[Any] = []
    for found, guard, body, origin in reversed(parts):
        binds = [Assign(name, value, origin) for name, value in found.binds.items()]
        if guard is not None and binds:
            flag = names.fresh("matched")
            ask = (*binds, Assign(flag, guard, origin))
            first = [Assign(flag, Const(False), origin)]
            first += _branch(_all(found.tests), ask, (), origin)
            chain = [*first, *_branch(Var(flag), body, chain, origin)]
        else:
            tests = found.tests if guard is None else (*found.tests, guard)
            chain = list(_branch(_all(tests), (*binds, *body), chain, origin))
    return chain


def _branch(test: Expr, body: Sequence[Any], orelse: Sequence[Any], origin: Origin) -> list[Any]:
    if test == Const(True):
        return [*body]
    if not body and orelse:
        return [If(Call(NOT, (test,)), tuple(orelse), (), origin)]
    return [If(test, tuple(body), tuple(orelse), origin)]


def _all(tests: Sequence[Expr]) -> Expr:
    if not tests:
        return Const(True)
    return tests[0] if len(tests) == 1 else Lazy("and", tuple(tests))
