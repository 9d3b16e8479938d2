"""Checkpointed calls and loops: recomputations counted, what is kept, what is refused."""

from __future__ import annotations

import functools
import gc
import os
import tempfile
import tracemalloc
from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.runtime.schedules import least_needed, moves_back, stretches
from tests.programs import checkpoints as programs
from tests.sampled import one_in

RNG = np.random.default_rng(7)
W = 0.6 * RNG.standard_normal((3, 3))
H = RNG.standard_normal(3)
XS = RNG.standard_normal((10, 3))

# ------------------------------------------------------------------------------ schedules


@functools.cache
def fewest(rounds: int, snapshots: int) -> int:
    """Forward rounds that reversing needs at least, by the recurrence of the problem."""
    if rounds <= 1:
        return 0
    if snapshots == 1:
        return rounds * (rounds - 1) // 2
    return min(
        m + fewest(rounds - m, snapshots - 1) + fewest(m, snapshots) for m in range(1, rounds)
    )


def closed_form(rounds: int, snapshots: int) -> int:
    """The same by Griewank and Walther's formula."""
    r = 0
    while comb(snapshots + r, snapshots) < rounds:
        r += 1
    return r * rounds - comb(snapshots + r, r - 1) if r else 0


def recomputed(rounds: int, snapshots: int) -> int:
    """Rounds that a schedule repeats, with every move checked on a stack of round numbers."""
    stack = [start for start, _ in stretches(rounds, snapshots=snapshots)]
    again, reversed_rounds = 0, []
    for keep, start, stop in moves_back(rounds, snapshots=snapshots):
        assert stack[-1] == start
        if keep:
            again += stop - start
            stack.append(stop)
        else:
            assert stack.pop() == start and stop == start + 1
            reversed_rounds.append(start)
        assert len(stack) <= snapshots + 1  # (one of them is the state at hand)
    assert reversed_rounds == list(reversed(range(rounds))) and not stack
    return again


@pytest.mark.parametrize("snapshots", [1, 2, 3, 5, 9])
def test_binomial_schedule_is_optimal(snapshots: int) -> None:
    for rounds in range(1, 70):
        best = fewest(rounds, snapshots)
        assert closed_form(rounds, snapshots) == best
        # The first sweep of the theory, to the last round, is our primal sweep.
        assert recomputed(rounds, snapshots) == best - (rounds - 1)


@pytest.mark.parametrize("snapshots", [10, 30, 100])
def test_binomial_schedule_of_many_rounds(snapshots: int) -> None:
    rounds = 10_000
    assert recomputed(rounds, snapshots) == closed_form(rounds, snapshots) - (rounds - 1)


@pytest.mark.parametrize(
    ("snapshots", "excess"), [(3, 0.125), (5, 0.084), (10, 0.046), (30, 0.034)]
)
def test_a_schedule_for_unknown_length_is_near_the_optimum_for_each(
    snapshots: int, excess: float
) -> None:
    """At whatever round the loop ends: rounds run, against the fewest where the end is known."""
    kept: list[int] = []
    for last in range(600):
        if len(kept) == snapshots:
            gone = least_needed(kept, last)
            if gone < snapshots:
                kept.pop(gone)
        if len(kept) < snapshots:
            kept.append(last)
        ends = (*kept[1:], last + 1)
        again = sum(
            closed_form(end - start, snapshots - k)
            for k, (start, end) in enumerate(zip(kept, ends, strict=True))
        )
        moves = moves_back(last + 1, snapshots=snapshots, kept=kept)
        assert last % 97 or again == sum(stop - start for keep, start, stop in moves if keep)
        best = closed_form(last + 1, snapshots) - last
        assert 2 * (last + 1) + again <= (1.0 + excess) * (2 * (last + 1) + best) + 1e-9


def test_one_moment_of_a_loop_is_kept_at_a_time() -> None:
    assert stretches(0) == [] and list(moves_back(0, snapshots=3)) == []
    assert stretches(7, every=3) == [(0, 3), (3, 6), (6, 7)]
    assert stretches(16) == [(0, 4), (4, 8), (8, 12), (12, 16)]
    assert stretches(1, snapshots=5) == [(0, 1)]
    with pytest.raises(ValueError, match="at least one"):
        stretches(4, every=0)


# ------------------------------------------------------------------------- counted rounds

CALLS = 0


def _count(h: Any) -> Any:
    global CALLS
    CALLS += 1
    return h


@tl.rule(_count)
def _counted_rule(y, h):  # type: ignore[no-untyped-def]
    y_dot = h_dot  # noqa: F821, F841
    h_bar = y_bar  # noqa: F821, F841


def counting_loop(x: Any, n: int, c: int) -> Any:
    for _ in tl.checkpointed(range(n), snapshots=c):
        x = np.sin(_count(x)) * 1.1
    return np.sum(x)


def counting_while(x: Any, n: int, c: int) -> Any:
    k = 0
    while tl.checkpointed(k < n, snapshots=c):
        x = np.sin(_count(x)) * 1.1
        k = k + 1
    return np.sum(x)


def runs(f: Callable[..., Any], *args: Any) -> int:
    global CALLS
    df = tl.grad(f)
    CALLS = 0
    df(*args)
    return CALLS


@pytest.mark.parametrize(("rounds", "snapshots"), [(1, 1), (9, 1), (40, 3), (60, 5), (200, 10)])
def test_steps_run_as_often_as_the_theory_says(rounds: int, snapshots: int) -> None:
    again = closed_form(rounds, snapshots) - (rounds - 1)
    # Once in the primal sweep, once more when it is reversed, and what is repeated in between.
    assert runs(counting_loop, H, rounds, snapshots) == 2 * rounds + again


@pytest.mark.parametrize(("rounds", "snapshots"), [(0, 2), (1, 2), (7, 3), (100, 5), (101, 4)])
def test_a_loop_of_unknown_length_repeats_little_more(rounds: int, snapshots: int) -> None:
    known = runs(counting_loop, H, rounds, snapshots)
    assert runs(counting_while, H, rounds, snapshots) <= 1.17 * known + 1
    assert np.allclose(
        tl.grad(counting_while)(H, rounds, snapshots), tl.grad(counting_loop)(H, rounds, snapshots)
    )


# ------------------------------------------------------------------------------ what is kept


def recurrence(h: Any, n: int, c: int) -> Any:
    for _ in tl.checkpointed(range(n), snapshots=c):
        h = np.sin(h) * 1.01
    return np.sum(h)


def stored(h: Any, n: int) -> Any:
    for _ in range(n):
        h = np.sin(h) * 1.01
    return np.sum(h)


def peak(df: Callable[..., Any], *args: Any) -> int:
    df(*args)
    gc.collect()
    tracemalloc.start()
    df(*args)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


@pytest.mark.thorough
def test_memory_is_that_of_the_snapshots() -> None:
    h = np.linspace(0.1, 1.0, 2_000)
    few, many = peak(tl.grad(recurrence), h, 300, 5), peak(tl.grad(stored), h, 300)
    assert few < 14 * h.nbytes < 300 * h.nbytes < many


def test_a_checkpointed_call_keeps_its_arguments() -> None:
    source = tl.grad(programs.decorated_call).source
    assert "return y, (h, w, x)" in source
    assert "_, cell_tape = cell_fwd(h, w, x)" in source


def test_a_stretch_is_one_call() -> None:
    source = tl.grad(programs.every_third).source
    assert "for start, stop in reversed(stretches(rounds, every=3)):" in source
    assert "h = h_saved.pop()" in source


def test_forward_mode_knows_nothing_of_it() -> None:
    source = tl.autodiff(programs.every_third, mode="forward").source
    assert "stretches" not in source and "for t in range(len(xs)):" in source


def to_directory(w: Any, h: Any, xs: Any, where: str) -> Any:
    a = h * 2.0
    for t in tl.checkpointed(range(len(xs)), snapshots=3, to=where):
        h, a = np.tanh(w @ h + xs[t]), a * np.cos(h)
    return np.sum(h * a)


def of_unknown_length_to_directory(w: Any, h: Any, xs: Any, where: str) -> Any:
    a, t = h * 2.0, 0
    while tl.checkpointed(t < len(xs), snapshots=3, to=where):
        h, a = np.tanh(w @ h + xs[t]), a * np.cos(h)
        t = t + 1
    return np.sum(h * a)


def in_memory(w: Any, h: Any, xs: Any) -> Any:
    a = h * 2.0
    for t in range(len(xs)):
        h, a = np.tanh(w @ h + xs[t]), a * np.cos(h)
    return np.sum(h * a)


@pytest.mark.parametrize("fn", [to_directory, of_unknown_length_to_directory])
def test_states_on_disk(fn: Callable[..., Any]) -> None:
    with tempfile.TemporaryDirectory() as where:
        got = tl.grad(fn)(W, H, XS, where)
        gc.collect()
        assert os.listdir(where) == [], "a file was left behind"
    assert np.allclose(got, tl.grad(in_memory)(W, H, XS), rtol=1e-13)


@pytest.mark.thorough
def test_states_on_disk_have_no_tangents() -> None:
    with pytest.raises(tl.UnsupportedError, match="to disk carry no tangents") as caught:
        tl.hvp(programs.on_disk)(W, H, XS, W)
    assert caught.value.place is not None and "to=" in (caught.value.hint or "")
    _, pullback = tl.vjp(tl.grad(programs.on_disk), W, H, XS)
    assert np.allclose(pullback(W)[0], tl.hvp(in_memory_squared)(W, H, XS, W), rtol=1e-11)


def in_memory_squared(w: Any, h: Any, xs: Any) -> Any:
    for x in xs:
        h = np.tanh(w @ h + x)
    return np.sum(h * h)


# -------------------------------------------------------------------------- second order

SECOND = [
    programs.decorated_call,
    programs.every_third,
    programs.three_snapshots,
]


@pytest.mark.parametrize("fn", SECOND, ids=lambda f: f.__name__)
def test_second_order(fn: Callable[..., Any]) -> None:
    """Forward over reverse, and reverse over reverse, which keeps everything in the inner sweep."""
    gradient = tl.grad(fn)
    v = np.random.default_rng(1).standard_normal(W.shape)
    _, got = tl.jvp(gradient, (W, H, XS), (v, None, None))
    step = 1e-5
    up, down = gradient(W + step * v, H, XS), gradient(W - step * v, H, XS)
    assert np.allclose(got, (up - down) / (2 * step), rtol=1e-6, atol=1e-7)
    _, pullback = tl.vjp(gradient, W, H, XS)
    assert np.allclose(pullback(v)[0], got, rtol=1e-11, atol=1e-11)  # (Hessians are symmetric)


def test_a_pullback_is_used_again() -> None:
    value, pullback = tl.vjp(programs.three_snapshots, W, H, XS)
    first, second = pullback(1.0)[0], pullback(2.0)[0]
    assert np.allclose(2.0 * first, second)
    assert value == programs.three_snapshots(W, H, XS)


# ------------------------------------------------------------------------- swapped buffers


def swaps(u: Any, v: Any, c: Any, rounds: int) -> Any:
    new = np.zeros_like(u)
    for _ in tl.checkpointed(range(rounds), snapshots=3):
        new[1:-1] = u[1:-1] + c * np.sin(u[:-2] * u[2:])
        new[0] = v[1] * new[1]
        u, new = new, u
    return np.sum(u * u * new * v)


def swaps_while(u: Any, v: Any, c: Any, rounds: int) -> Any:
    old, new = u.copy(), np.zeros_like(u)
    n = 0
    while tl.checkpointed(n < rounds, snapshots=2):
        old[1:-1] = u[1:-1] + c * np.sin(u[:-2] * u[2:])
        old[0] = v[1] * old[1]
        old, u, new = new, old, u
        n = n + 1
    return np.sum(u * u * new * v)


@pytest.mark.thorough
@pytest.mark.parametrize("fn", one_in(2, [swaps, swaps_while]), ids=lambda f: f.__name__)
def test_swapped_buffers(fn: Callable[..., Any]) -> None:
    """Rounds write copies; the argument is left alone, and must be apart from the others."""
    u, v = np.linspace(0.2, 0.9, 6), np.linspace(1.0, 0.4, 6)
    before = u.copy()
    tl.check_grads(fn, (u, v, 0.7, 7), wrt=(0, 1, 2))
    assert np.array_equal(u, before)
    gradient = tl.grad(fn)
    _, change = tl.jvp(gradient, (u, v, 0.7, 7), (v, None, None, None))
    _, pullback = tl.vjp(gradient, u, v, 0.7, 7)
    assert np.allclose(pullback(v)[0], change, rtol=1e-11)
    with pytest.raises(tl.TangentlikeError, match="share"):
        tl.grad(swaps)(u, u[::-1], 0.7, 7)


# ------------------------------------------------------------ rounds that keep values themselves


def folded(u: Any, times: int) -> Any:
    for _ in range(times):
        u = np.tanh(u) * u
    return u


def calls_with_tapes(x: Any, n: int) -> Any:
    for i in tl.checkpointed(range(n), snapshots=2):
        x = folded(x, 3) + folded(x * x, i)
    return np.sum(x)


def loops_that_write(x: Any, n: int) -> Any:
    for _ in tl.checkpointed(range(n), snapshots=2):
        work = np.zeros(3)
        for j in range(1, 3):
            work[j] = work[j - 1] + x[j] * np.sin(x[j - 1])
            x[j] = np.tanh(work[j]) * x[j - 1]
    return np.sum(x * x)


def lists_that_grow(x: Any, n: int) -> Any:
    for _ in tl.checkpointed(range(n), every=2):
        parts = []
        for j in range(3):
            parts.append(np.sin(x[j]))
        x = np.array(parts) * x
    return np.sum(x)


def checkpointed_inside(x: Any, n: int) -> Any:
    for i in tl.checkpointed(range(n), snapshots=2):
        y = x * 1.0
        for _ in tl.checkpointed(range(3), every=2):
            y[1:] = y[1:] + np.sin(y[:-1]) * 0.1
        k = 0
        while tl.checkpointed(k < i + 1, snapshots=2):
            y = np.sin(y) * 1.1
            k = k + 1
        x = y * x
    return np.sum(x)


ROUNDS_THAT_KEEP = [calls_with_tapes, loops_that_write, lists_that_grow, checkpointed_inside]


@pytest.mark.thorough
@pytest.mark.parametrize("fn", one_in(3, ROUNDS_THAT_KEEP), ids=lambda f: f.__name__)
def test_rounds_that_keep_values_themselves(fn: Callable[..., Any]) -> None:
    x, v = np.array([0.5, 0.7, 0.9]), np.array([0.1, -0.2, 0.3])
    tl.check_grads(fn, (x, 5), wrt=(0,))
    gradient = tl.grad(fn)
    expected = (gradient(x + 1e-5 * v, 5) - gradient(x - 1e-5 * v, 5)) / 2e-5
    product = tl.hvp(fn)(x, 5, v)
    assert np.allclose(product, expected, rtol=1e-6, atol=1e-7)
    _, pullback = tl.vjp(gradient, x, 5)
    assert np.allclose(pullback(v)[0], product, rtol=1e-11)


# --------------------------------------------------------------------------------- refusals


def draws(u: Any, rng: Any) -> Any:
    for _ in tl.checkpointed(range(5), every=2):
        u = np.sin(u) + rng.normal(size=3)
    return np.sum(u)


@tl.checkpoint
def noisy(x: Any) -> Any:
    return x * np.random.standard_normal()


def draws_deeper(u: Any) -> Any:
    return np.sum(noisy(u))


def leaves_early(u: Any) -> Any:
    for _ in tl.checkpointed(range(5), every=2):
        u = np.sin(u)
        if u > 3.0:
            break
    return np.sum(u)


def bound_inside(u: Any) -> Any:
    for _ in tl.checkpointed(range(5), every=2):
        m = np.sin(u)
        u = m * m
    return np.sum(u * m)


def number_or_array(u: Any) -> Any:
    for _ in tl.checkpointed(range(5), every=2):
        u += np.sin(u)
    return np.sum(u)


def grows_a_list(u: Any) -> Any:
    xs = [u]
    for _ in tl.checkpointed(range(5), every=2):
        xs.append(np.sin(xs[-1]))
    return np.sum(xs[-1])


def hands_on_a_view(u: np.ndarray) -> Any:
    u = np.sin(u)
    h = u[1:3]
    for _ in tl.checkpointed(range(5), every=2):
        u[2] = u[2] * h[0] + h[1] * 0.5
        h = u[1:3]
    return np.sum(u * u) + np.sum(h)


def swapped_and_seen(u: Any) -> Any:
    new, first = np.zeros_like(u), u
    for _ in tl.checkpointed(range(4)):
        new[1:-1] = u[1:-1] + np.sin(u[:-2] * u[2:])
        u, new = new, u
    return np.sum(u * first)


def smoothed(u: Any, new: Any) -> Any:
    for _ in tl.checkpointed(range(3)):
        new[1:-1] = u[1:-1] + np.sin(u[:-2] * u[2:])
        u, new = new, u
    return u


def swapped_for_the_caller(u: Any) -> Any:
    v = 2.0 * u
    return np.sum(smoothed(v, u * u) * v)


BUFFER = np.zeros(5)


def swapped_outside(u: Any) -> Any:
    new = BUFFER
    for _ in tl.checkpointed(range(4)):
        new[1:-1] = u[1:-1] + 1.0
        u, new = new, u
    return np.sum(u)


def length_unknown(u: Any) -> Any:
    while tl.checkpointed(np.sum(u) < 10.0):
        u = u * 2.0
    return np.sum(u)


def two_schedules(u: Any) -> Any:
    for _ in tl.checkpointed(range(5), every=2, snapshots=3):
        u = u * 2.0
    return np.sum(u)


REFUSED = {
    draws: "gives something else when a checkpoint runs it again",
    draws_deeper: "`np.random.standard_normal` gives something else",
    leaves_early: "cannot be left by `break` or `return`",
    bound_inside: "`m` may have no value yet",
    number_or_array: "`u` may be a number .* or an array",
    grows_a_list: "changes the list `xs`",
    length_unknown: "not known beforehand",
    two_schedules: "one of every=, snapshots= and schedule=",
}


def test_what_is_found_by_identity_is_saved_in_every_iteration() -> None:
    for fn in (hands_on_a_view, swapped_and_seen):
        tl.check_grads(fn, (np.linspace(0.1, 0.9, 5),))
        assert "Shadow()" in tl.grad(fn).source_for(np.ones(5))


def test_a_buffer_outside_is_an_argument() -> None:
    tl.check_grads(swapped_outside, (np.linspace(0.1, 0.9, 5),))


def test_what_is_swapped_for_the_caller() -> None:
    tl.check_grads(swapped_for_the_caller, (np.linspace(0.1, 0.9, 5),))


@pytest.mark.parametrize("fn", REFUSED, ids=lambda f: f.__name__)
def test_refused_with_a_place(fn: Callable[..., Any]) -> None:
    with pytest.raises(tl.UnsupportedError, match=REFUSED[fn]) as caught:
        tl.grad(fn, strict=True)
    assert caught.value.place is not None and caught.value.hint


def test_the_words_of_checkpointed_are_checked() -> None:
    assert tl.checkpointed([1, 2], snapshots=1) == [1, 2]
    for wrong in (
        {"every": 0},
        {"snapshots": 0},
        {"schedule": "none"},
        {"every": 1, "snapshots": 2},
    ):
        with pytest.raises(tl.TangentlikeError):
            tl.checkpointed(range(3), **wrong)  # type: ignore[arg-type]
