"""Lowered functions compute what the user's functions compute: values, effects, exceptions."""

from __future__ import annotations

import copy
import dataclasses
import functools
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tangentlike.codegen.print import show
from tangentlike.frontend.flatten import flatten
from tangentlike.frontend.lifting import lifted_of
from tangentlike.frontend.lower import (
    check,
    lower,
    lower_nested,
    program,
    read_function,
    split_names,
)
from tangentlike.ir import Function, Ref, expressions, statements, walk


def compiled(function: Function, namespace: dict[str, Any]) -> Callable[..., Any]:
    names = {"functools": functools, **namespace}
    exec(show(function), names)
    made = names[function.name]
    for name, obj in stand_ins(function).items():
        if name not in names:
            names[name] = None  # (it may call itself)
            names[name] = compiled(dataclasses.replace(lower(obj).function, name=name), names)
            made.__globals__[name] = names[name]
            names[name].__globals__.update(names)
    return made


def stand_ins(function: Function) -> dict[str, Any]:
    """The inner functions that a lowered function mentions."""
    parts = (p for s in statements(function.body) for e in expressions(s) for p in walk(e))
    refs = [p for p in parts if isinstance(p, Ref) and lifted_of(p.obj) is not None]
    return {ref.text: ref.obj for ref in refs}


def outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, str]:
    """What a call gives, and what it leaves its arguments as."""
    args = copy.deepcopy(args)
    try:
        result = repr(fn(*args))
    except NameError:
        result = "unbound"
    except Exception as error:
        result = type(error).__name__
    return result, repr(args)


def same(fn: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    lowered = lower(fn)
    check(lowered.function)
    assert split_names(lowered.function) is lowered.function
    made = compiled(lowered.function, fn.__globals__)
    for args in calls:
        assert outcome(made, args) == outcome(fn, args), show(lowered.function)


def assignments(a, b):
    a, b = b, a + b
    c = d = a * b
    (a, b), c = (b, c), a
    x = [a, b, c]
    x[0], x[1] = x[1], x[0]
    i = 0
    i, x[i] = 1, 7.0
    x[i], i = 9.0, 2
    pair = (1, 5.0)
    i, x[i] = pair
    x[-1] += x[0] * 2
    a: float = a - 1
    return a, b, c, d, x, i


def ternaries(a, b):
    y = a * 2 if a > b else b * 3 if b > 1 else -a
    z = (a and b) or (y and a - b)
    a = a or b
    b = b and a and b * 2
    p, q = (y, z) if a else (z, y)
    xs = []
    a and xs.append(a * 2)
    xs.append(b) if b else xs.append(-1)
    return y, z, a, b, p, q, xs, 0 < a < 3, not 0 < a * b <= 3


def loops_and_jumps(xs, t):
    total = 0.0
    for i, x in enumerate(xs):
        if x < 0:
            continue
        if x > t:
            break
        for y in xs:
            if y == x:
                if i > 2:
                    continue
                total += y
            elif y > 100:
                return -1
            total = total + 0.5
        else:
            total -= 0.25
        if total > 50:
            return total, i
    else:
        total = total + 1000
    return total, i


def searched(xs, t):
    while True:
        for x in xs:
            if x > t:
                return x
            if x == 0:
                break
        t = t - 1
        if t < -10:
            raise ValueError(f"none below {t}")


def returns(a, b):
    if a > 3:
        if b > 3:
            return a * b
        a = a - 1
    elif a > 1:
        if b > 1:
            b = b - 2
        else:
            return
    else:
        if b == 0:
            raise ZeroDivisionError("b")
        return a / b
    c = a + b
    if c > 6:
        return c
    return c, a


def loop_variables(n, xs):
    i = -1
    for i in range(n):
        n = n - 1
        i = i * 2
        if i > 6:
            break
    for x in xs:
        xs = xs[1:]
        for i in range(len(xs)):
            xs = xs + [i]
            if len(xs) > 9:
                break
    for k in range(len(xs)):
        if k < 3:
            xs.append(k)
    for _ in range(2):
        n = n + 1
    for _ in range(2):
        n = n + 1
    return i, n, xs, x


def while_loops(a, b):
    count = 0
    while a > 0 and not (b < a and count > 7):
        a = a - 0.5
        count += 1
        if count % 2:
            continue
        if b > a:
            b = b - 1
            break
    else:
        return "else", a, b
    return a, b, count


def containers(a, b):
    d = {"a": a, "b": [b, a + b]}
    d["b"][1] += 1
    d["c"], _last = {"z": a * b}, d["b"][-1]
    fs = [lambda v: v + 1, abs]
    squares = sum(v * v for v in (a, b))
    text = f"{a:.2f} {d['b']}"
    best = max([a, b, 3], key=lambda v: -v)
    return d, fs[0](a), fs[1](b), squares, text, best, [*d], dict(**d)


def order_of_evaluation(xs, b):
    def_size = len(xs) + xs.pop() + len(xs)
    xs[len(xs) - 1] += xs.pop(0) + b
    first, xs[0] = xs[0], xs[-1] + xs.pop()
    return def_size, first, xs


def star_arguments(xs, b):
    first = max(*xs, b)
    return first, dict({"a": b}, **{"c": first})


def starred_targets(xs, t):
    first, *rest = (t, t + 1, t + 2, xs)
    *head, last = [t, *xs, 3]
    u, *_rest, v, w = [*xs, t, 3, 4]
    a, *b, (c, *d) = t, 1, 2, (3, t, 5)
    xs, [t, *xs] = t, [*xs, 2, 1]
    return first, rest, head, last, u, v, w, a, b, c, d, xs, t


def local_functions(x, y):
    def damp(t, k=y, *, q=2):
        """Its documentation."""
        if t > 3:
            return t
        s = 0
        for i in range(q):
            if i > t:
                break
            s = s + i * k
        return s - y

    def none(t):
        t.append(x)

    cube = lambda t: t**3 if t else damp(t)  # noqa: E731
    y = y + 1
    a = damp(x) + damp(y, q=3) * cube(x + 1)
    b = [damp(v) for v in (x, y, a) if cube(v) > 2]
    none(b)
    while cube(x) < 20:
        x = x + 1
    if damp(x) > 1 and none(b) is None:
        a = a * 2
    return a, b, none(b), x, damp(2) if a > 0 else cube(3), (lambda v: v + a)(2)


def assignment_expressions(x, y):
    if (n := y * 2) > 1 and (m := n * 2) > 2:
        x = x + m
    while (y := y - 1) > 0:
        if y == 2:
            continue
        x = x + n
    z = x + (x := 2) + x
    xs = [0, 1, 2]
    xs[(i := 1)] = 7
    return x, y, z, n, (t := 5, t), xs, i, (k := x) < 9, k


def comprehensions(xs, t):
    a = [v * k for k, v in enumerate(xs) if v > 0 if v < 6]
    b = sum(v * t for v in xs)
    d = {k: v + t for k, v in zip("abc", xs, strict=False)}
    xs = [v + w for v in xs for w in a]
    nested = [[v * w for v in xs[:2]] for w in a], [(i, [i, t]) for i in range(2)]
    for v in [w * 2 for w in xs]:
        t = t + v
    [xs.append(w) for w in list(xs)]
    late = (v for v in a)
    best = max((w * 2 for w in xs), default=t)
    return a, b, d, xs, nested, t, best, list(late), {w + 1 for w in xs}


NUMBERS = [(a, b) for a in (-1.0, 0, 1, 2, 3.5, 5) for b in (-2, 0, 1.0, 2, 4)]
LISTS = [([1.0, -1, 3, 1, 0, 7], t) for t in (-3, 0, 2, 5, 99)] + [([1, 101.0], 200), ([], 1)]

SAME = [
    (assignments, NUMBERS),
    (ternaries, NUMBERS),
    (returns, NUMBERS),
    (while_loops, NUMBERS),
    (containers, NUMBERS),
    (loops_and_jumps, LISTS),
    (searched, LISTS),
    (order_of_evaluation, LISTS),
    (comprehensions, LISTS),
    (starred_targets, LISTS),
    (local_functions, NUMBERS),
    (assignment_expressions, NUMBERS),
    (star_arguments, LISTS),
    (loop_variables, [(n, list(range(m))) for n in (0, 1, 5) for m in (0, 1, 4)]),
]


@pytest.mark.parametrize(("fn", "calls"), SAME, ids=[fn.__name__ for fn, _ in SAME])
def test_same_meaning(fn: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    same(fn, *calls)


def test_arrays_written_in_place() -> None:
    def stencil(a, steps):
        old = a.copy()
        for _ in range(steps):
            a[1:-1] += 0.5 * (a[:-2] * a[2:])
            a[a > 2] = 0.0
            a[0], a[-1] = a[-1], a[0]
            a.T[...] = a.T * 1.0
        a -= old
        return np.sum(np.tanh(a[np.argmax(a) :]) ** 2, axis=0)

    same(stencil, (np.linspace(0, 2, 7), 3))


# ----------------------------------------------------------------------- generated programs


class Writer:
    """Random programs over a few names, heavy in branches, loops and jumps."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def text(self) -> str:
        self.lines = ["def f(a, b, c):", "    n = 0"]
        self.block(1, loop=False, budget=7)
        self.lines += ["    return a, b, c, n", "    d = 0"]  # so that d is local everywhere
        return "\n".join(self.lines)

    def value(self) -> str:
        pick = self.random.choice
        name = pick("abcd")
        return pick(
            [
                name,
                f"{name} + {pick('abc')}",
                f"{name} * 0.5 - {pick('abcd')}",
                str(self.random.randint(-2, 3)),
                f"({name} if {self.test()} else {pick('abcd')} + 1)",
                f"({name} or {pick('abcd')} - 1)",
            ]
        )

    def test(self) -> str:
        pick = self.random.choice
        return f"{pick('abcd')} {pick(['<', '>', '=='])} {pick(['0', '1', 'b', 'c', 'n'])}"

    def block(self, depth: int, loop: bool, budget: int) -> None:
        for _ in range(self.random.randint(1, budget)):
            self.statement(depth, loop, max(1, budget - 2))

    def statement(self, depth: int, loop: bool, budget: int) -> None:
        pad, pick = "    " * depth, self.random.choice
        kind = self.random.random()
        if kind < 0.4 or depth > 5:
            name = pick("abcd")
            update = pick(["=", "=", "=", "+="])
            self.lines.append(f"{pad}{name} {update} {self.value()}")
        elif kind < 0.5:
            self.lines.append(f"{pad}{pick('abc')}, {pick('abd')} = {self.value()}, {self.value()}")
        elif kind < 0.75:
            self.lines.append(f"{pad}if {self.test()}:")
            self.block(depth + 1, loop, budget)
            if self.random.random() < 0.5:
                self.lines.append(f"{pad}else:")
                self.block(depth + 1, loop, budget)
        elif kind < 0.87:
            self.loop(depth, pad, budget)
        else:
            jumps = ["return a, c", "return d"]
            jumps += ["break", "continue", "break", "continue"] if loop else []
            self.lines.append(f"{pad}{pick(jumps)}")

    def loop(self, depth: int, pad: str, budget: int) -> None:
        header = self.random.choice(["for d in range(3):", "for c in (a, b, 1):", "while n < 25:"])
        self.lines.append(pad + header)
        self.lines.append(f"{pad}    n += 1")
        self.lines.append(f"{pad}    if n > 60: break")
        self.block(depth + 1, True, budget)
        if self.random.random() < 0.2:
            self.lines.append(f"{pad}else:")
            self.block(depth + 1, False, budget)


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_generated_programs(first: int) -> None:
    calls = [(1, 2.0, 0), (-1, 0, 3), (0, 0, 0), (2.5, -1, 1)]
    for seed in range(first, first + 50):
        text = Writer(seed).text()
        names: dict[str, Any] = {}
        exec(text, names)
        lowered = lower_nested(read_function(text)).function
        check(lowered)
        made = compiled(lowered, {})
        for args in calls:
            expected = outcome(names["f"], args)
            if expected[0] != "unbound":  # `d = d` and dead code may hide an unbound name
                assert outcome(made, args) == expected, f"{text}\n\n{show(lowered)}"


def test_passes_on_programs() -> None:
    function = split_names(flatten(program("a = x + y * 2; a = a * a; return a")))
    f = compiled(function, {})
    assert isinstance(f, types.FunctionType)
    assert f(1, 3) == 49
