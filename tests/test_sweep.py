"""Long sweeps: gradients of many rounds, rounds counted, stopped at every moment and gone on with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.sweep import journal
from tests.sampled import one_in


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)


U = np.linspace(0.2, 1.0, 6)
SCALE = 0.9


def step(state: Any, params: Any, t: Any) -> Any:
    """A round that writes its state in place, and has a number and an integer in it."""
    state["u"][1:-1] += params["rate"] * np.sin(state["u"][:-2] * state["u"][2:]) * SCALE
    return {
        "u": state["u"],
        "cost": state["cost"] + np.sum(state["u"]) * params["w"][t % 3],
        "count": state["count"] + 1,
    }


def loss(state: Any, params: Any) -> Any:
    return state["cost"] + params["rate"] * np.sum(state["u"] ** 2)


def whole(state: Any, params: Any, rounds: int) -> Any:
    for t in range(rounds):
        state = step(state, params, t)
    return loss(state, params)


def start() -> tuple[Any, Any]:
    return {"u": U.copy(), "cost": 0.5, "count": 0}, {"rate": 0.1, "w": np.array([1.0, -0.5, 2.0])}


def assert_same(got: Any, expected: Any) -> None:
    for (_, a), (_, b) in zip(walked(got), walked(expected), strict=True):
        assert (a is None and b is None) or np.allclose(a, b, rtol=1e-12, atol=1e-13)


def walked(value: Any) -> Any:
    from tangentlike.pytree.gradients import walked

    return list(walked(value))


@pytest.mark.parametrize("rounds", [0, 1, 2, 7, 30])
@pytest.mark.parametrize(("memory", "disk"), [(1, 0), (3, 0), (2, 3), (1, 9), (40, 0)])
def test_gradient_is_that_of_the_loop(rounds: int, memory: int, disk: int, tmp_path: Path) -> None:
    state, params = start()
    to = tmp_path / "run" if disk else None
    df = tl.sweep.value_and_grad(step, loss, to=to, memory=memory, disk=disk)
    value, bars = df(state, params, rounds)
    expected, expected_bars = tl.value_and_grad(whole, wrt=(0, 1))(*start(), rounds)
    assert np.isclose(value, expected, rtol=1e-13)
    assert_same(bars, expected_bars)
    assert np.array_equal(state["u"], U) and state["count"] == 0
    assert not list(tmp_path.iterdir()), "files were left behind"
    h = 1e-6
    up, down = start(), start()
    up[1]["rate"], down[1]["rate"] = 0.1 + h, 0.1 - h
    slope = (whole(*up, rounds) - whole(*down, rounds)) / (2 * h)
    assert np.isclose(bars[1]["rate"], slope, rtol=1e-6)


@pytest.mark.parametrize(("memory", "disk"), [(2, 0), (3, 4), (1, 6), (5, 2)])
def test_as_few_rounds_are_run_again_as_is_possible(memory: int, disk: int, tmp_path: Path) -> None:
    rounds, slots = 60, memory + disk
    df = tl.sweep.grad(
        step, loss, to=tmp_path / "run" if disk else None, memory=memory, disk=disk, save_every=1e9
    )
    df(*start(), rounds)
    r = 0
    while comb(slots + r, slots) < rounds:
        r += 1
    best = r * rounds - comb(slots + r, r - 1) - (rounds - 1)
    report = df.report
    assert report.repeated == report.least_repeated == best
    assert report.reversed == rounds
    assert report.most_in_memory <= memory + 1 and report.most_on_disk <= disk
    size = U.nbytes + 16  # (the number and the integer beside the array)
    adjoint = 8 + U.nbytes + 8 + 8 + 24  # (value, state, parameters)
    assert report.bytes_written == report.states_written * size + (adjoint if disk else 0)
    assert report.bytes_read == report.states_read * size


class Stopped(Exception):
    """As if the process had been killed at this moment."""


@pytest.mark.parametrize(
    ("memory", "disk"), one_in(3, [pytest.param(2, 2), pytest.param(1, 6), pytest.param(4, 0)])
)
def test_a_sweep_goes_on_where_it_was_stopped(memory: int, disk: int, tmp_path: Path) -> None:
    rounds, moment = 9, 0
    expected = tl.grad(whole, wrt=(0, 1))(*start(), rounds)
    for stop_at in range(1, 2 * rounds + 1, 2):
        for save_every in (0.0, 1e9):
            seen = [0]

            def stop(phase: str, done: int, of: int, seen: Any = seen, at: int = stop_at) -> None:
                seen[0] += 1
                if seen[0] == at:
                    raise Stopped(phase)

            to = tmp_path / f"run{moment}"
            moment += 1
            options = {"to": to, "memory": memory, "disk": disk, "save_every": save_every}
            with pytest.raises(Stopped):
                tl.sweep.grad(step, loss, progress=stop, **options)(*start(), rounds)
            df = tl.sweep.grad(step, loss, **options)
            assert_same(df(*start(), rounds), expected)
            assert not to.exists()
            if save_every == 0.0 and stop_at > 2:
                assert df.report.resumed_at
            if save_every == 0.0 and stop_at > rounds + 2:
                assert df.report.reversed <= 2 * rounds + 2 - stop_at


def test_a_sweep_is_stopped_again_and_again(tmp_path: Path) -> None:
    """Every third round ends the process; it comes to the end nevertheless."""
    options = {"to": tmp_path / "run", "memory": 2, "disk": 2, "save_every": 0.0}
    calls = [0]

    def stop(phase: str, done: int, of: int) -> None:
        calls[0] += 1
        if calls[0] % 3 == 0:
            raise Stopped(phase)

    for _ in range(100):
        try:
            got = tl.sweep.grad(step, loss, progress=stop, **options)(*start(), 12)
            break
        except Stopped:
            continue
    assert_same(got, tl.grad(whole, wrt=(0, 1))(*start(), 12))


SCRIPT = """
import os, signal, sys
import numpy as np
import tangentlike as tl
from tangentlike.sweep import journal

def step(u, rate):
    return u + rate * np.sin(u)

def loss(u):
    return np.sum(u * u)

def kill(phase, done, rounds):
    if phase == sys.argv[2] and done == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

df = tl.sweep.grad(step, loss, to=sys.argv[1], memory=3, disk=4, save_every=0.0, progress=kill)
u_bar, rate_bar = df(np.linspace(0.1, 1.0, 5), 0.1, 40)
print(repr(df.report.resumed_at), *u_bar, rate_bar)
"""


@pytest.mark.thorough
def test_a_killed_process_is_gone_on_with(tmp_path: Path) -> None:
    script, to = tmp_path / "script.py", tmp_path / "run"
    script.write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": str(Path(tl.__file__).parent.parent)}

    def run(phase: str, done: int) -> Any:
        command = [sys.executable, str(script), str(to), phase, str(done)]
        return subprocess.run(command, capture_output=True, text=True, env=env)

    assert run("forward", 25).returncode == -signal.SIGKILL and to.exists()
    assert run("backward", 30).returncode == -signal.SIGKILL and to.exists()
    done = run("none", 0)
    assert done.returncode == 0, done.stderr
    where, found = done.stdout.split("' ")
    assert where == "'iteration 11 backwards" and not to.exists()

    def whole(u: Any, rate: Any) -> Any:
        for _ in range(40):
            u = u + rate * np.sin(u)
        return np.sum(u * u)

    u_bar, rate_bar = tl.grad(whole, wrt=(0, 1))(np.linspace(0.1, 1.0, 5), 0.1)
    assert np.allclose([float(word) for word in found.split()], [*u_bar, rate_bar], rtol=1e-13)


def test_other_arguments_are_another_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(phase: str, done: int, of: int) -> None:
        if phase == "backward" and done == 3:
            raise Stopped(phase)

    def options(**more: Any) -> Any:
        return {"to": tmp_path / "run", "memory": 2, "disk": 2, "save_every": 0.0, **more}

    with pytest.raises(Stopped):
        tl.sweep.grad(step, loss, **options(progress=stop))(*start(), 9)
    other, more = start(), start()
    other[0]["u"][0] += 1e-9
    more[1]["w"][2] += 1e-9
    for given in ((*other, 9), (*more, 9), (*start(), 8)):
        with pytest.raises(tl.TangentlikeError, match="another program, or of other arguments"):
            tl.sweep.grad(step, loss, **options())(*given)
    with pytest.raises(tl.TangentlikeError, match="another program"):
        tl.sweep.grad(step, lambda s, p: s["cost"], **options())(*start(), 9)
    with monkeypatch.context() as patched:
        patched.setitem(step.__globals__, "SCALE", 0.8)
        with pytest.raises(tl.TangentlikeError, match="another program"):
            tl.sweep.grad(step, loss, **options())(*start(), 9)
    got = tl.sweep.grad(step, loss, **options())(*start(), 9)
    assert_same(got, tl.grad(whole, wrt=(0, 1))(*start(), 9))


def test_what_was_called_meanwhile_is_no_other_sweep() -> None:
    def cost(state: Any, params: Any) -> Any:
        return state["cost"] + params["rate"] * np.sum(state["u"] ** 2)

    before = tl.sweep.grad(step, cost).source
    tl.value_and_grad(cost, wrt=("state", "params"))(*start())  # (makes a text for these types)
    assert tl.sweep.grad(step, cost).source == before


RNG = np.random.default_rng(0)


def noisy(u: Any, params: Any) -> Any:
    return u + params * RNG.normal()


def greedy(u: Any, params: Any) -> Any:
    params[0] += 1.0
    return u * params[0]


def growing(u: Any, params: Any) -> Any:
    return np.concatenate([u, u[:1] * params])


def becoming_float(state: Any, params: Any) -> Any:
    return state[0] * params, state[1] + 0.5


REFUSED: dict[str, Any] = {
    "noisy": (noisy, lambda u: np.sum(u * u), (U, 0.1), "returns a different state"),
    "greedy": (greedy, lambda u: np.sum(u), (U, np.ones(2)), "writes its parameters"),
    "growing": (growing, lambda u: np.sum(u), (U, 0.5), "changes its form"),
    "becoming float": (becoming_float, lambda s: np.sum(s[0]), ((U, 0), 0.5), r"the state\[1\]"),
    "parameters": (lambda u: u, lambda u: u, (1.0, None), "and a step takes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    fn, of_loss, args, words = REFUSED[name]
    with pytest.raises(tl.TangentlikeError, match=words):
        tl.sweep.grad(fn, of_loss, memory=2)(*args, 8)


def test_options_are_checked() -> None:
    for wrong in ({"memory": 0}, {"disk": 3}, {"memory": 1, "disk": -1, "to": "run"}):
        with pytest.raises(tl.TangentlikeError, match="cannot store"):
            tl.sweep.grad(step, loss, **wrong)
    with pytest.raises(tl.TangentlikeError, match="number of the iteration"):
        tl.sweep.grad(step, loss, wrt="t")
    with pytest.raises(tl.TangentlikeError, match="number of iterations"):
        tl.sweep.grad(step, loss)(*start(), 2.0)


def test_the_source_is_what_runs() -> None:
    df = tl.sweep.grad(step, loss, wrt="params", progress=True)
    assert "def step_bwd(tape, y_bar):" in df.source and "def step_sweep(state" in df.source
    assert "for keep, start, stop in journal.moves():" in df.source
    assert_same(df(*start(), 5), tl.grad(whole, wrt="params")(*start(), 5))


@pytest.mark.thorough
@pytest.mark.parametrize("length", [0, 7, 24, 40])
def test_a_file_of_another_length_is_refused(length: int, tmp_path: Path) -> None:
    path = tmp_path / "state"
    specs = [((3,), np.dtype(float)), None, ((1,), np.dtype(float))]
    assert journal.write(path, [np.arange(3.0), np.ones(1)]) == 32
    assert [part.tolist() for part in journal.read(path, specs)] == [[0.0, 1.0, 2.0], [1.0]]
    path.write_bytes(bytes(length))
    with pytest.raises(tl.TangentlikeError, match=f"has {length} bytes, and its states have 32"):
        journal.read(path, specs)
