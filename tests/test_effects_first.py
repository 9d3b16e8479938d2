"""What is called in a test, a comparison or other code that carries no derivative may write
memory: the call is then a statement of its own, or the program is refused."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tangentlike as tl


def sweep(a):
    """Squares what it is given, and says how large it is."""
    a *= a
    return a.sum()


def looks(a):
    return a.sum()


def in_a_test(x):
    a = x * 1.0
    if sweep(a) < 100.0:
        return np.sum(a * x)
    return np.sum(a)


def under_a_name(x):
    a = x * 1.0
    ok = sweep(a) < 100.0
    return np.sum(a * x) * ok


def in_a_chain(x):
    a = x * 1.0
    if 0.0 < sweep(a) < 100.0:
        return np.sum(a * x)
    return np.sum(a)


def chain_of_four(x):
    a = x * 1.0
    if a[0] > sweep(a) - 1.0 < 5.0 < sweep(a) + 5.0:
        return np.sum(a * x)
    return np.sum(a)


def chain_that_ends_early(x):
    a = x * 1.0
    if 1000.0 < sweep(a) < sweep(a):
        return np.sum(a)
    return np.sum(a * x)


def left_of_the_call(x):
    a = x * 1.0
    if a[0] * a[1] > sweep(a) - 10.0:
        return np.sum(a * x)
    return np.sum(a)


def result_by_keyword(x):
    a = x * 1.0
    ok = 0 < np.multiply(a, a, out=a).sum() < 100.0
    return np.sum(a * x) if ok else np.sum(a)


def result_by_position(x):
    a = x * 1.0
    ok = np.multiply(a, a, a).sum() < 100.0
    return np.sum(a * x) if ok else np.sum(a)


def popped(x):
    s = [x * 1.0, x * x, x * 3.0]
    ok = s.pop().sum() < 100.0
    return np.sum(s[-1] * x) if ok else np.sum(s[0])


def popped_in_a_loop(x):
    s = [x * 1.0, x * x, x * 3.0]
    while s.pop().sum() < 100.0 and len(s) > 1:
        s[0] = s[0] * x
    return np.sum(s[-1] * x)


def until_small(x):
    a = x * 1.0
    while sweep(a) > 0.1:
        a *= 0.5 * x
    return np.sum(a * x)


def between_in_a_loop(x):
    a = x * 1.0
    while 9.0 > sweep(a) > 0.1:
        a *= 0.5 * x
    return np.sum(a * x)


def without_a_body(x):
    a = x * 1.0
    while sweep(a) > 0.1:
        pass
    return np.sum(a * x)


def left_by_break(x):
    a = x * 1.0
    s = 0.0
    for _ in range(3):
        s += np.sum(a * x)
        if not 0.0 < sweep(a) < 0.2:
            break
    return s + np.sum(a)


def lazily(x):
    a = x * 1.0
    if x[0] > 5.0 and sweep(a) > 0:
        return np.sum(a)
    if x[0] > 5.0 or sweep(a) > 100.0:
        return np.sum(a)
    return np.sum(a * x)


def only_if(x):
    a = x * 1.0
    n = 2.0 if (sweep(a) if x[0] < 5.0 else a[0]) > 0 else 3.0
    return np.sum(a * x) * n


def in_a_size(x):
    a = x * 1.0
    n = np.zeros(int(0 < sweep(a) < 10) + 2)
    return np.sum(a * a) + np.sum(n)


def in_an_argument(x):
    a = x * 1.0
    t = np.where(0 < sweep(a) < 5, 1.0, 2.0)
    return np.sum(a * x * t)


def in_a_key(x):
    a = x * 1.0
    return np.sum(a[int(sweep(a) > 0)] * x)


def called_in_a_helper(x):
    def one(a):
        return np.sum(a * x) if sweep(a) < 100.0 else np.sum(a)

    a = x * 1.0
    return one(a) + np.sum(a)


class Solver:
    def __init__(self, u):
        self.u, self.steps = u, 0

    def step(self):
        self.u *= 0.5 * self.u
        self.steps += 1
        return np.sum(self.u)


def solver_in_a_loop(x):
    solver = Solver(x * 1.0)
    while solver.step() > 0.01:
        pass
    return np.sum(solver.u * x) * solver.steps


def chain_of_a_method(x):
    solver = Solver(x * 1.0)
    out = 0.0
    while 0.01 < solver.step() < 100.0:
        out = out + np.sum(solver.u)
    return out + np.sum(solver.u * x)


PROGRAMS = (
    *(in_a_test, under_a_name, in_a_chain, chain_of_four, chain_that_ends_early),
    *(left_of_the_call, result_by_keyword, result_by_position, popped, popped_in_a_loop),
    *(until_small, between_in_a_loop, without_a_body, left_by_break, lazily, only_if),
    *(in_a_size, in_an_argument, in_a_key, called_in_a_helper),
    *(solver_in_a_loop, chain_of_a_method),
)
X, V = np.array([0.7, 0.4]), np.array([0.3, -0.9])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_calls_that_write_are_seen_wherever_they_stand(f):
    slope = (f(X + 1e-6 * V) - f(X - 1e-6 * V)) / 2e-6
    value, gradient = tl.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-12)
    assert np.sum(gradient * V) == pytest.approx(slope, rel=1e-7)
    assert tl.jvp(f, (X,), (V,)) == pytest.approx((value, slope), rel=1e-7)


def in_an_assertion(x):
    a = x * 1.0
    assert sweep(a) > 0
    return np.sum(a * x)


def in_a_text(x):
    a = x * 1.0
    f"{sweep(a)}"
    return np.sum(a * x)


def in_flags(x):
    a = x * 1.0
    flags = [sweep(a) > 0 for _ in range(2)]
    return np.sum(a * x) if flags[0] else 0.0


def in_a_filter(x):
    a = x * 1.0
    n = len([i for i in range(2) if sweep(a) > 0])
    return np.sum(a * x) * n


@pytest.mark.parametrize("f", [in_flags, in_a_filter])
def test_a_comprehension_that_calls_what_writes_is_a_loop(f):
    tl.check_grads(f, (X,))


@pytest.mark.parametrize("f", [in_an_assertion, in_a_text])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_code_that_travels_as_text_may_call_nothing_that_writes(f, mode):
    with pytest.raises(tl.UnsupportedError, match="`sweep` may write its arguments"):
        tl.autodiff(f, mode=mode)(X, 1.0)


class Log:
    def __init__(self, scale):
        self.seen = []
        self.scale = scale

    def note(self, v):
        self.seen.append(v * self.scale)
        return v > 0.9

    __call__ = note

    def is_long(self, v):
        return len(self.seen) > v


def by_an_inner_function(x):
    seen = []

    def note(v):
        seen.append(v * x[0])
        return v > 0.9

    first = next((i for i, v in enumerate(x) if note(v)), 0)
    return sum(seen) + first


def by_a_cell(x):
    total = 0.0

    def note(v):
        nonlocal total
        total += v * x[0]
        return v > 0.9

    return sum(1 for v in x if note(v)) * total


def by_a_method(x):
    log = Log(x[0])
    hit = any(log.note(v) for v in x)
    return sum(log.seen) * (1 + hit)


def by_a_method_handed_on(x):
    log = Log(x[0])
    hit = any(map(log.note, x))
    return sum(log.seen) * (1 + hit)


def by_an_object(x):
    log = Log(x[0])
    hit = all(log(v) for v in x)
    return sum(log.seen) * (1 + hit)


def by_items(x):
    logs = [Log(x[0]), Log(x[1])]
    hit = any(log.note(1.0) for log in logs)
    return sum(sum(log.seen) for log in logs) * (1 + hit)


def by_an_entry(x):
    log = Log(x[0])
    by = {"note": log.note}
    n = len([1 for v in x if by["note"](v)])
    return sum(log.seen) * n


def under_a_name_of_its_own(x):
    log = Log(x[0])
    f = log.note
    hit = any(f(v) for v in x)
    return sum(log.seen) * (1 + hit)


def by_a_partial(x):
    seen = []
    note = functools.partial(lambda held, v: held.append(v * x[0]), seen)
    n = len([1 for v in x if note(v)])
    return sum(seen) * n


@pytest.mark.parametrize(
    "f",
    [
        *(by_an_inner_function, by_a_cell, by_a_method, by_a_method_handed_on, by_an_object),
        *(by_items, by_an_entry, by_a_partial, under_a_name_of_its_own),
    ],
    ids=lambda f: f.__name__,
)
def test_whatever_a_comprehension_calls_that_writes(f):
    """Their derivatives were zero: only functions of the module were looked for."""
    tl.check_grads(f, (X,))


def chosen(f, xs):
    return [k for k in range(len(xs)) if f(xs[k])]


def test_what_only_the_run_knows_may_be_called():
    def f(x, logs, tests):
        k = chosen(lambda v: v > 0.8, x)
        n = sum(1 for v in x if tests["large"](v)) + sum(1 for log in logs if log.is_long(-1))
        return np.sum(x[k] ** 2) * n

    gradient = tl.grad(f)(X, [Log(1.0), Log(2.0)], {"large": lambda v: v > 0.7})
    n = np.sum(X > 0.7) + 2
    np.testing.assert_allclose(gradient, 2 * X * (X > 0.8) * n)


@pytest.mark.thorough
def test_what_is_known_to_write_nothing_may_be_called():
    def f(x):
        log = Log(x[0])
        log.note(x[1])
        if any(log.is_long(k) for k in (3, 2)) or [n for n in range(2) if log.is_long(n)]:
            x = x * log.seen[0]
        names = [str(n).upper() for n in (1, 2)]
        return np.sum(x**2) * sum(len(n) for n in names)

    tl.check_grads(f, (X,), order=2)


def test_tests_that_write_nothing_stay_as_they_are():
    def f(x):
        a = x * 1.0
        while 3.0 > looks(a) > 0.1:
            a *= 0.5
        return np.sum(a * a) if looks(a) > 0.0 else a[0]

    source = tl.grad(f).source
    assert "while 3.0 > looks(a) > 0.1:" in source
    assert "if looks(a) > 0.0" in source or " if looks(a) > 0.0 else " in source


def weight_of_a_chain(x):
    return x**3 * (1.0 * (-2.0 < looks(np.array([x])) < 3.0))


def test_what_a_chain_compares_has_no_derivative():
    assert tl.grad(weight_of_a_chain)(0.7) == pytest.approx(3 * 0.49)
    assert tl.grad(tl.grad(weight_of_a_chain))(0.7) == pytest.approx(6 * 0.7)


def bumped(v):
    v += 1.0
    return np.sum(v)


def sum_before_a_write(x):
    u = x * 2.0
    p = x * x
    y = (u - p) + bumped(u) + (u - x)
    return np.sum(y * u)


def sum_before_a_write_by_another_name(x):
    xs = [x * 2.0]
    u = xs[0]
    y = (u - x) + bumped(xs[0]) * x + (u + x)
    return np.sum(y * u)


class Grow:
    def __init__(self, v):
        self.v = v

    @property
    def size2(self):
        self.v *= 2.0
        return np.sum(self.v)


def sum_before_a_getter_that_writes(x):
    o = Grow(x * 1.5)
    v = o.v
    y = (v - x) + o.size2 + (v + x)
    return np.sum(y * v)


@pytest.mark.parametrize(
    "fn",
    [sum_before_a_write, sum_before_a_write_by_another_name, sum_before_a_getter_that_writes],
)
def test_sums_are_not_made_after_what_writes_their_terms(fn):
    x = np.array([0.3, 0.7, 0.2])
    assert tl.value_and_grad(fn)(x)[0] == fn(x)
    tl.check_grads(fn, (x,), order=2)


# ------------------------------------------------------------- functions that a helper is given


class Tally:
    def __init__(self):
        self.seen, self.total = [], 0.0

    def note(self, v):
        self.seen.append(v * v)
        self.total += v
        return v > 100.0

    def __call__(self, v):
        return self.note(v)

    def is_large(self, v):
        return v * v > 1.0


def any_of(f, xs):
    return any(f(v) for v in xs)


def any_of_helper(f, xs):
    return any_of(f, xs)


def any_noted(tally, xs):
    return any(tally.note(v) for v in xs)


def noted_by_a_method(x):
    tally = Tally()
    any_of(tally.note, x)
    return sum(tally.seen) + tally.total


def noted_by_an_object(x):
    tally = Tally()
    any_of(tally, x)
    return sum(tally.seen)


def noted_of_an_object(x):
    tally = Tally()
    any_noted(tally, x)
    return sum(tally.seen)


def noted_by_a_closure(x):
    seen = []

    def note(v):
        seen.append(v * v)
        return False

    any_of(note, x)
    return sum(seen)


def noted_in_a_test(x):
    tally = Tally()
    if any_of_helper(tally.note, x):
        return np.sum(x)
    return sum(tally.seen)


GIVEN_WRITERS = [noted_by_a_method, noted_by_an_object, noted_of_an_object, noted_by_a_closure]


@pytest.mark.parametrize("fn", GIVEN_WRITERS, ids=lambda fn: fn.__name__)
def test_a_helper_that_is_given_what_writes(fn):
    tl.check_grads(fn, (X,))


def test_a_helper_in_a_test_is_given_what_writes():
    """In code that carries no derivatives no statement of the helper says so."""
    for run in (lambda: tl.grad(noted_in_a_test)(X), lambda: tl.jvp(noted_in_a_test, (X,), (X,))):
        with pytest.raises(tl.UnsupportedError, match="may write its arguments"):
            run()


def asked_by_a_method(x):
    tally = Tally()
    return np.sum(x**2) * (2.0 if any_of(tally.is_large, x) else 1.0)


def asked_by_a_closure(x):
    return np.sum(x**2) * (2.0 if any_of(lambda v: v > x[0], x) else 1.0)


NEAR = {0: [1, 2], 1: [3], 2: [3], 3: []}


def found_in_a_graph(x):
    seen, total = set(), 0.0

    def reaches(n):
        if n in seen:
            return False
        seen.add(n)
        return n == 3 or any(reaches(m) for m in NEAR[n])

    for n in range(3):
        if reaches(n):
            total = total * x[n] + x[n] ** 2
    return total


@pytest.mark.parametrize(
    "fn", [asked_by_a_method, asked_by_a_closure, found_in_a_graph], ids=lambda fn: fn.__name__
)
def test_a_helper_that_is_given_what_writes_nothing_but_sets(fn):
    tl.check_grads(fn, (X,), order=2)
