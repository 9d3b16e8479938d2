"""The debugger in the emitted text."""

from __future__ import annotations

import io
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.debugging import Statement, step_into

ROOT = Path(__file__).parent.parent


pytestmark = pytest.mark.usefixtures("helpers_are_pairs")


def cell(h: Any, w: Any) -> Any:
    z = w @ h
    return np.tanh(z)


def loss(w: Any, h: Any, steps: int) -> Any:
    for _ in range(steps):
        h = cell(h, w)
    return np.sum(h * h)


W, H = np.array([[0.5, -1.0], [1.0, 0.25]]), np.array([1.0, 2.0])


def test_each_adjoint_of_a_name() -> None:
    seen: list[tuple[Statement, Any]] = []
    with tl.breakpoint_on_adjoint("h", action=lambda s, g: seen.append((s, g))):
        gradient = tl.grad(loss, wrt="h")(W, H, 3)
    assert len(seen) >= 3 and all(s.role == "adjoint" for s, _ in seen)
    assert any(np.array_equal(g, gradient) for _, g in seen)
    before = len(seen)
    tl.grad(loss, wrt="h")(W, H, 3)
    assert len(seen) == before


def test_in_a_helper_and_by_the_name_of_the_adjoint() -> None:
    seen: list[Statement] = []
    with tl.breakpoint_on_adjoint("z_bar", action=lambda s, g: seen.append(s)):
        tl.grad(loss)(W, H, 2)
    assert {s.function for s in seen} == {"cell_bwd"} and len(seen) == 2


def test_when() -> None:
    seen: list[Any] = []
    with tl.breakpoint_on_adjoint(
        "h", when=lambda g: np.abs(g).max() > 1e9, action=lambda s, g: seen.append(g)
    ):
        tl.grad(loss)(W, H, 2)
    assert seen == []


def test_a_name_without_an_adjoint() -> None:
    refused = pytest.raises(tl.TangentlikeError, match="no adjoint of `q` was made")
    with refused as caught, tl.breakpoint_on_adjoint("q"):
        tl.grad(loss)(W, H, 2)
    assert "h" in caught.value.hint
    with (
        pytest.raises(tl.TangentlikeError, match="no adjoint") as caught,
        tl.breakpoint_on_adjoint("q"),
    ):
        pass
    assert "No derivative" in caught.value.hint


def scaled(w: Any, b: Any) -> Any:
    scale = np.exp(b)
    return np.sum((w * w) @ scale)


def test_adjoints_that_only_the_return_computes_have_names() -> None:
    found: list[Any] = []
    df = tl.value_and_grad(scaled, wrt=(0, 1), example=(W, H))
    with tl.breakpoint_on_adjoint("b", action=lambda at, g: found.append((at.kind, g))):
        _, (_, b_bar) = df(W, H)
    assert [kind for kind, _ in found] == ["Return"] and found[0][1] is b_bar
    assert [row.names for row in tl.line_map(df).statements][-1] == ()
    assert "(w_bar, b_bar)" in str(tl.trace(df, W, H))


def test_the_debugger_stops_at_the_line(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.setattr(sys, "stdin", io.StringIO("p 'value', w_bar.shape\nw\nc\n" * 9))
    before = sys.gettrace()
    try:
        with tl.breakpoint_on_adjoint("w"):
            tl.grad(loss)(W, H, 1)
    finally:
        sys.settrace(before)
    shown = capsys.readouterr()
    assert "('value', (2, 2))" in shown.out and "<tangentlike loss_grad" in shown.out
    assert "the adjoint of: " in shown.err


def test_another_debugger(monkeypatch: Any) -> None:
    calls: list[int] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: calls.append(1))
    with tl.breakpoint_on_adjoint("w"):
        tl.grad(loss)(W, H, 1)
    assert calls


def test_stepping_into_a_derivative(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("l\nn\nn\nc\n"))
    before = sys.gettrace()
    try:
        gradient = step_into(tl.grad(loss), W, H, 1)
    finally:
        sys.settrace(before)
    assert np.array_equal(gradient, tl.grad(loss)(W, H, 1))
    shown = capsys.readouterr().out
    first = shown.index("> <tangentlike loss_grad")
    assert "/api/" not in shown[: first + 1] and "cell_fwd" in shown
    with pytest.raises(tl.TangentlikeError, match="is not a derivative"):
        step_into(loss, W, H, 1)


def test_a_step_into_a_call_lands_in_the_emitted_text(tmp_path: Path) -> None:
    (tmp_path / "stepped.py").write_text(
        "import tangentlike as tl\n"
        "def f(x):\n    return x * x\ng = tl.grad(f)\n"
        "tl.debugging.Debugger().set_trace()\ny = g(3.0)\nprint(y)\n"
    )
    done = subprocess.run(
        [sys.executable, "stepped.py"],
        input="s\ns\nc\n" if sys.version_info < (3, 13) else "s\ns\ns\nc\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    assert "> <tangentlike f_grad 1>" in done.stdout, done.stdout + done.stderr
    assert "tangentlike/api" not in done.stdout


def test_our_frames_are_hidden() -> None:
    def fails(x: Any) -> Any:
        if x > 1.0:
            raise ValueError("too large")
        return x * x

    try:
        tl.grad(fails)(2.0)
    except ValueError as error:
        frames = [step[0] for step in traceback.walk_tb(error.__traceback__)]
    ours = [f for f in frames if "/tangentlike/" in f.f_code.co_filename]
    assert ours and all(f.f_locals.get("__tracebackhide__") for f in ours)
    assert frames[-1].f_code.co_filename.startswith("<tangentlike fails_grad")


def test_the_traceback_of_a_refusal_is_short(monkeypatch: Any) -> None:
    import zlib

    def frames(f: Any) -> int:
        with pytest.raises(tl.UnsupportedError) as caught:
            tl.grad(f)(1.0)
        return len(list(traceback.walk_tb(caught.value.__traceback__)))

    short = frames(lambda x: zlib.crc32(x))
    monkeypatch.setenv("TANGENTLIKE_TRACEBACK", "full")
    full = frames(lambda x: zlib.adler32(x))
    assert short <= 8 < full
