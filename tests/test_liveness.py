"""Liveness: against a slow definition, over every construct."""

from __future__ import annotations

import pytest

from tangentlike import ir
from tangentlike.analysis.structure import liveness
from tangentlike.frontend.lower import lower, program

from . import generator

PROGRAMS = {
    "straight": ("a = x\nb = a\nreturn b", [("a",), ("b",), ()]),
    "bound again": ("a = x\na = y\nreturn a", [("y",), ("a",), ()]),
    "update reads": ("a = x\na += y\nreturn a", [("y", "a"), ("a",), ()]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_after(name):
    text, expected = PROGRAMS[name]
    function = program(text)
    live = liveness(function)
    found = [live.names(live.after(stmt)) for stmt in function.body]
    assert [sorted(names) for names in found] == [sorted(names) for names in expected]


def test_a_loop_carries():
    function = program("s = 0\nfor x in xs:\n    t = s\n    s = t + x\n    u = t\nreturn s")
    live = liveness(function)
    loop = function.body[1]
    last = loop.body[-1]
    assert live.is_live_after(last, "s") and not live.is_live_after(last, "t")
    assert not live.is_live_after(last, "u")


def test_a_break_leaves():
    branch = "    if d:\n        y = 1\n        break\n"
    function = program(f"y = 0\nwhile c:\n{branch}    y = 2\n    z = y\nreturn y")
    live = liveness(function)
    branch = function.body[1].body[0]
    assert live.is_live_after(branch.body[0], "y")


def test_pinned_names_live_throughout():
    function = program("t = x\nreturn x")
    assert liveness(function, ["t"]).is_live_after(function.body[-1], "t")


def slow(function: ir.Function) -> dict[int, set[str]]:
    """The textbook's fixpoint over the edges of the control-flow graph."""
    follow: dict[int, list[ir.Stmt | None]] = {}
    stmts: list[ir.Stmt] = []

    def first(block, then):
        return block[0] if block else then

    def walk(block, then, leave):
        for at, stmt in enumerate(block):
            stmts.append(stmt)
            following = block[at + 1] if at + 1 < len(block) else then
            match stmt:
                case ir.If(body=body, orelse=orelse):
                    follow[id(stmt)] = [first(body, following), first(orelse, following)]
                    walk(body, following, leave)
                    walk(orelse, following, leave)
                case ir.For(body=body) | ir.While(body=body):
                    follow[id(stmt)] = [first(body, stmt), following]
                    walk(body, stmt, following)
                case ir.Break():
                    follow[id(stmt)] = [leave]
                case _:
                    follow[id(stmt)] = [following]

    walk(function.body, None, None)
    before: dict[int, set[str]] = {id(s): set() for s in stmts}
    after: dict[int, set[str]] = {id(s): set() for s in stmts}
    changed = True
    while changed:
        changed = False
        for stmt in reversed(stmts):
            out = set().union(*(before[id(s)] for s in follow[id(stmt)] if s is not None))
            bound = set() if isinstance(stmt, ir.For) else set(ir.binds(stmt))
            into = (out - bound) | set(ir.reads(stmt))
            changed = changed or into != before[id(stmt)] or out != after[id(stmt)]
            before[id(stmt)], after[id(stmt)] = into, out
    return after


@pytest.mark.parametrize("features", ["functional", "inplace"])
def test_contains_the_textbooks_answer(features):
    """Never less than the fixpoint (a loop's header reads once a round there, so it has more)."""
    for seed in range(15):
        function = lower(generator.load(generator.generate(seed, features))).function
        live, expected = liveness(function), slow(function)
        for stmt in ir.statements(function.body):
            if isinstance(stmt, (ir.If, ir.For, ir.While)):
                continue
            names = expected[id(stmt)]
            mine = set(live.names(live.after(stmt)))
            headers = {
                n
                for s in ir.statements(function.body)
                if isinstance(s, ir.For)
                for n in (*ir.reads(s), *ir.binds(s))
            }
            assert names - headers <= mine
