"""The framework of analyses and passes: programs in, facts or programs out."""

from __future__ import annotations

import dataclasses
import gc
import weakref
from collections.abc import Iterable

import pytest

from tangentlike import ir
from tangentlike.codegen.print import show
from tangentlike.errors import InternalError
from tangentlike.frontend.lower import program
from tangentlike.ir.dataflow import Problem, solve
from tangentlike.ir.facts import Facts
from tangentlike.ir.index import OUTERMOST, ProgramIndex

NESTED = """
for i in n:
    if i > k:
        y = i
    else:
        while test:
            y = y + i
z = y
return z
"""


# ------------------------------------------------------------------------------ visiting


def test_parents_are_given_outermost_first() -> None:
    found = [
        [type(outer).__name__ for outer in around]
        for stmt, around in ir.with_parents(program(NESTED).body)
        if isinstance(stmt, ir.Assign)
    ]
    assert found == [["For", "If"], ["For", "If", "While"], []]


def test_the_index_numbers_statements_in_program_order() -> None:
    function = program(NESTED)
    index = ProgramIndex(function)
    assert index.statements == list(ir.statements(function.body))
    assert index.parents == [OUTERMOST, 0, 1, 1, 3, OUTERMOST, OUTERMOST]
    assert index.branches == [0, 0, 0, 1, 0, 0, 0]
    assert index.ends == [5, 5, 3, 5, 5, 6, 7]
    assert [index.number(s) for s in index.statements] == list(range(len(index)))
    assert list(index.around(4)) == [3, 1, 0] and list(index.loops(4)) == [3, 0]


def test_the_index_knows_definitions_and_uses() -> None:
    index = ProgramIndex(program(NESTED))
    assert index.definitions == {"i": [0], "y": [2, 4], "z": [5]}
    assert index.uses["y"] == [4, 5] and index.uses["i"] == [1, 2, 4]


def test_a_statement_in_two_places_has_no_number() -> None:
    function = program("a = b; return a")
    twice = ir.with_body(function, (function.body[0], *function.body))
    with pytest.raises(InternalError, match="two places"):
        ProgramIndex(twice)
    assert len(ProgramIndex(ir.distinct(twice))) == 3
    assert ir.distinct(function) is function


# ------------------------------------------------------------------------------ rewriting


def doubled(stmt: ir.Stmt) -> Iterable[ir.Stmt] | None:
    return (stmt, stmt) if isinstance(stmt, ir.Do) else None


def test_nothing_changed_is_the_same_object() -> None:
    body = program(NESTED).body
    assert ir.rewrite(body, lambda stmt: None, lambda e: ir.substitute(e, {"other": e})) is body
    assert ir.rewrite(body, after=lambda stmt: [stmt]) is body


def test_what_does_not_change_keeps_its_identity() -> None:
    body = program("if k:\n    print(a)\nelse:\n    b = a\nc = a\nreturn c").body
    new = ir.rewrite(body, doubled)
    assert new[1:] == body[1:] and all(a is b for a, b in zip(new[1:], body[1:], strict=True))
    before, after = body[0], new[0]
    assert isinstance(before, ir.If) and isinstance(after, ir.If)
    assert after.orelse is before.orelse and len(after.body) == 2 * len(before.body)


@pytest.mark.parametrize(
    "text",
    [
        "xs[i] = a",
        "xs[i] += a",
        "a += b",
        "y.w = a",
        "x, (y, z) = a",
        "for i, a in xs:\n    b = a",
        "while a:\n    b = f(a, *xs, key=b)",
        "with a as b:\n    c = b",
        "try:\n    b = a\nexcept a as e:\n    b = e",
        "d = {a: b, c: [a, b]}",
        "s = a[i:j, ::k]",
        "assert a, b",
        "if a and b:\n    x = a if b else c",
    ],
)
def test_all_parts_are_asked_and_replaced(text: str) -> None:
    """Renaming every name and back gives an equal program that shares no statement."""
    body = program(f"{text}\nreturn a").body
    names = {n for s in ir.statements(body) for n in (*ir.reads(s), *ir.binds(s))}
    there = ir.renamed(body, {n: ir.Var(f"{n}_") for n in names})
    seen = {n for s in ir.statements(there) for n in (*ir.reads(s), *ir.binds(s))}
    assert seen == {f"{n}_" for n in names}
    back = ir.renamed(there, {f"{n}_": ir.Var(n) for n in names})
    assert back == body
    assert not {id(s) for s in ir.statements(back)} & {id(s) for s in ir.statements(body)}
    copied = ir.renamed(body, {})
    assert copied == body
    assert not {id(s) for s in ir.statements(copied)} & {id(s) for s in ir.statements(body)}


def test_a_hook_is_asked_before_or_after_the_parts() -> None:
    body = program("while a:\n    b = a\n    while b:\n        c = b\nreturn a").body
    seen: list[str] = []

    def note(stmt: ir.Stmt) -> None:
        seen.append(type(stmt).__name__)

    ir.rewrite(body, note)
    assert seen == ["While", "Assign", "While", "Assign", "Return"]
    seen.clear()
    ir.rewrite(body, after=note)
    assert seen == ["Assign", "Assign", "While", "While", "Return"]


def test_a_rewriter_works_before_and_after_the_parts() -> None:
    class Counted(ir.Rewriter):
        def statement(self, stmt: ir.Stmt) -> Iterable[ir.Stmt] | None:
            if not isinstance(stmt, ir.For):
                return None
            count = ir.Assign("rounds", ir.Const(0), stmt.origin)
            return [count, self.inside(stmt), ir.Do(ir.Var("rounds"), stmt.origin)]

        def expression(self, expr: ir.Expr) -> ir.Expr:
            return ir.substitute(expr, {"a": ir.Var("b")})

    body = Counted().block(program("for i in n:\n    y = i * a\nreturn a").body)
    wanted = "rounds = 0\nfor i in n:\n    y = i * b\nrounds\nreturn b"
    assert show(body) == wanted


def test_nothing_may_stand_for_a_statement() -> None:
    body = ir.rewrite(
        program("print(a); b = a; return b").body, lambda s: () if isinstance(s, ir.Do) else None
    )
    assert show(body) == "b = a\nreturn b"


# ------------------------------------------------------------------------------ dataflow


class Live(Problem[frozenset[str]]):
    """Names that may still be read."""

    bottom: frozenset[str] = frozenset()

    def join(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        return a | b

    def transfer(self, stmt: ir.Stmt, state: frozenset[str]) -> frozenset[str]:
        bound = () if isinstance(stmt, ir.For) else ir.binds(stmt)
        return (state - frozenset(bound)) | ir.reads(stmt)

    def enter(self, stmt: ir.For | ir.Try, state: frozenset[str]) -> frozenset[str]:
        return state - frozenset(ir.binds(stmt))


class Reaching(Problem[frozenset[tuple[str, int]]]):
    """Which definitions, by their line, may have given each name its value."""

    forward = True
    bottom: frozenset[tuple[str, int]] = frozenset()

    def boundary(self, function: ir.Function) -> frozenset[tuple[str, int]]:
        return frozenset((name, 0) for name in function.param_names)

    def join(
        self, a: frozenset[tuple[str, int]], b: frozenset[tuple[str, int]]
    ) -> frozenset[tuple[str, int]]:
        return a | b

    def transfer(
        self, stmt: ir.Stmt, state: frozenset[tuple[str, int]]
    ) -> frozenset[tuple[str, int]]:
        return state if isinstance(stmt, ir.For) else self._bound(stmt, state)

    def enter(
        self, stmt: ir.For | ir.Try, state: frozenset[tuple[str, int]]
    ) -> frozenset[tuple[str, int]]:
        return self._bound(stmt, state)

    def _bound(
        self, stmt: ir.Stmt, state: frozenset[tuple[str, int]]
    ) -> frozenset[tuple[str, int]]:
        names = ir.binds(stmt)
        line = stmt.origin.place.line
        return frozenset(d for d in state if d[0] not in names) | {(n, line) for n in names}


def live_before(text: str) -> dict[int, str]:
    """Line -> the names live before its statement (the last one of the line)."""
    found = solve(program(text), Live())
    lines = (stmt.origin.place.line for stmt in found.index.statements)
    return {n: " ".join(sorted(s)) for n, s in zip(lines, found.before, strict=True)}


def reaching_end(text: str, name: str) -> list[int]:
    """The lines whose definition of a name may reach the return."""
    return sorted(line for n, line in solve(program(text), Reaching()).before[-1] if n == name)


@pytest.mark.parametrize(
    "text, line, names",
    [
        ("t = a\ny = t\nreturn y", 1, "a"),
        ("if k:\n    y = a\nelse:\n    y = b\nreturn y", 1, "a b k"),
        ("if k:\n    y = a\nreturn y", 1, "a k y"),
        ("y = c\nfor i in n:\n    y = y + i\nreturn y", 3, "i y"),
        ("for i in n:\n    t = a\n    a = t + i\nreturn a", 2, "a i"),
        ("for i in n:\n    y = i\nreturn y", 1, "n y"),
        ("while k:\n    k = k - d\nreturn d", 2, "d k"),
        ("while k:\n    if b:\n        break\n    y = a\n    k = y\nreturn y", 2, "a b y"),
        ("while k:\n    if b:\n        break\n    y = a\n    k = y\nreturn y", 4, "a b"),
        ("for i in n:\n    for j in m:\n        s = s + t\n    t = i\nreturn s", 3, "i m s t"),
    ],
)
def test_live_names(text: str, line: int, names: str) -> None:
    assert live_before(text)[line] == names


@pytest.mark.parametrize(
    "text, lines",
    [
        ("y = a\ny = y + a\nreturn y", [2]),
        ("if k:\n    y = a\nelse:\n    y = b\nreturn y", [2, 4]),
        ("y = a\nif k:\n    y = b\nreturn y", [1, 3]),
        ("y = a\nfor i in n:\n    y = y + i\nreturn y", [1, 3]),
        (
            "y = a\nwhile k:\n    y = b\n    if c:\n        y = d\n        break\nreturn y",
            [1, 3, 5],
        ),
        ("y = a\ntry:\n    y = f(a)\n    y = g(y)\nexcept E:\n    pass\nreturn y", [1, 3, 4]),
    ],
)
def test_reaching_definitions(text: str, lines: list[int]) -> None:
    namespace = {"f": abs, "g": abs, "E": ValueError}
    function = program(text, namespace)
    found = solve(function, Reaching()).before[-1]
    assert sorted(line for n, line in found if n == read_at_end(function)) == lines


def read_at_end(function: ir.Function) -> str:
    """The name that a function returns, as lowering calls it."""
    (name,) = ir.reads(function.body[-1])
    return name


def test_deep_nesting_is_solved_in_linear_time() -> None:
    """An inner loop is solved again only where what is around it changed."""

    class Counting(Live):
        asked = 0

        def transfer(self, stmt: ir.Stmt, state: frozenset[str]) -> frozenset[str]:
            self.asked += 1
            return super().transfer(stmt, state)

    depth = 12
    lines = ["    " * d + f"for i{d} in n:" for d in range(depth)]
    text = "\n".join([*lines, "    " * depth + "s = s + a", "return s"])
    problem = Counting()
    solve(program(text), problem)
    assert problem.asked < 10 * depth


# ------------------------------------------------------------------------------ facts


def test_facts_are_computed_once_for_a_function() -> None:
    function, facts = program("y = a; return y"), Facts()
    assert facts.get(ProgramIndex, function) is facts.get(ProgramIndex, function)
    assert facts.computed == {"ProgramIndex": 1}
    again = facts.get(ProgramIndex, dataclasses.replace(function))
    assert again is not facts.get(ProgramIndex, function)
    assert facts.computed == {"ProgramIndex": 2}


def test_two_managers_have_facts_of_their_own() -> None:
    def told(function: ir.Function, facts: Facts) -> str:
        return f"{function.name} {facts.setting}"

    told.asks = True  # type: ignore[attr-defined]
    function = program("return a")
    assert Facts("one").get(told, function) == "f one"
    assert Facts("two").get(told, function) == "f two"


def test_a_pass_says_what_it_preserves() -> None:
    function, facts = program("y = a; return y"), Facts()
    length = facts.get(len_of_body, function)
    facts.get(ProgramIndex, function)
    new = facts.keep(function, dataclasses.replace(function), [len_of_body])
    assert facts.get(len_of_body, new) == length
    facts.get(ProgramIndex, new)
    assert facts.computed == {"len_of_body": 1, "ProgramIndex": 2}


def len_of_body(function: ir.Function) -> int:
    return len(function.body)


def test_facts_die_with_their_function() -> None:
    function, facts = program("y = a; return y"), Facts()
    dying = weakref.ref(facts.get(ProgramIndex, function))
    del function
    gc.collect()
    assert dying() is None


def test_facts_go_when_their_manager_forgets_them() -> None:
    """Then nothing waits for a garbage collection, and the next question is answered anew."""
    function, facts = program("y = a; return y"), Facts("first")
    dying = weakref.ref(facts.get(ProgramIndex, function))
    gc.disable()
    try:
        facts.forget()
        assert dying() is None
    finally:
        gc.enable()
    assert facts.get(ProgramIndex, function) is facts.get(ProgramIndex, function)


def test_jumps_of_nested_programs() -> None:
    """`continue` goes to the head of its loop, an early `return` to the end."""
    function = program("y = a\nfor i in n:\n    t = i\n    if i > k:\n        y = b\nreturn y")
    loop = function.body[1]
    assert isinstance(loop, ir.For) and isinstance(loop.body[1], ir.If)
    (store,) = loop.body[1].body

    def ended_by(jump: ir.Stmt) -> frozenset[str]:
        branch = dataclasses.replace(loop.body[1], body=(store, jump))
        body = (function.body[0], dataclasses.replace(loop, body=(loop.body[0], branch)))
        found = solve(ir.with_body(function, (*body, function.body[2])), Live())
        return found.before[found.index.number(store)]

    end = ir.Return(ir.Var("c"), store.origin)
    assert ended_by(end) == {"b", "c"}
    assert ended_by(ir.Break(store.origin)) == {"b"}
    assert ended_by(ir.Continue(store.origin)) == {"b", "k"}  # type: ignore[arg-type]
