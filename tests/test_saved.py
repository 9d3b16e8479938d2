"""`df.saved(*args)`: what the reverse sweep keeps, against what is known of the programs."""

from __future__ import annotations

import pickle
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tangentlike as tl
from tangentlike.cli import main
from tests.programs import checkpoints as programs

RNG = np.random.default_rng(3)
W, H, XS = 0.5 * RNG.standard_normal((4, 4)), RNG.standard_normal(4), RNG.standard_normal((10, 4))


def recurrence(h: Any, n: int) -> Any:
    for _ in range(n):
        h = h + 0.1 * np.sin(h)
    return np.sum(h * h)


def linear(h: Any, n: int) -> Any:
    for _ in range(n):
        h = 0.5 * h
    return np.sum(h)


def stencil(a: np.ndarray, n: int) -> Any:
    for _ in range(n):
        a[1:-1] += 0.5 * (a[:-2] * a[2:])
    return np.sum(a)


def rows(report: Any, name: str) -> list[tuple[int, int]]:
    return [(row.times, row.bytes) for row in report.rows if row.name == name]


def test_a_loop_keeps_its_states() -> None:
    report = tl.grad(recurrence, example=(H, 1)).saved(H, 8)
    # The first of the eight states is the argument; the last is kept beside the stack.
    assert rows(report, "h_saved") == [(7, 7 * H.nbytes)]
    assert report.bytes >= 8 * H.nbytes
    row = next(r for r in report.rows if r.name == "h_saved")
    assert row.text == "h = h + 0.1 * np.sin(h)" and row.file == __file__


def test_a_linear_loop_keeps_no_state() -> None:
    report = tl.grad(linear, example=(H, 1)).saved(H, 50)
    assert report.bytes <= H.nbytes


def columns(a: np.ndarray) -> Any:
    low = np.zeros_like(a)
    for j in range(len(a)):
        low[j, j] = np.sqrt(a[j, j])
        low[j + 1 :, j] = (a[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j]) / low[j, j]
    return np.sum(low * low)


def test_what_entries_still_hold_is_not_kept() -> None:
    """(Their length differs from one iteration to the next.)"""
    a = W @ W.T + 3.0 * np.eye(4)
    df = tl.grad(columns, example=(a,))
    assert "_saved" not in df.source
    tl.check_grads(columns, (a,))
    np.testing.assert_allclose(df(a), tl.grad(columns)(a))


def test_a_write_keeps_the_slice() -> None:
    a = np.linspace(0.1, 1.0, 12)
    report = tl.grad(stencil, example=(a, 1)).saved(a, 6)
    assert rows(report, "a_saved") == [(6, 6 * a[1:-1].nbytes)]


def test_a_checkpoint_keeps_its_arguments() -> None:
    report = tl.grad(programs.decorated_call).saved(W, H, XS)
    assert report.bytes == 10 * H.nbytes  # (the states; `w` and the rows are the caller's)
    assert {row.name for row in report.rows} == {"h"}


@pytest.mark.parametrize(
    ("fn", "states"), [(programs.every_third, 4), (programs.root_of_rounds, 3)]
)
def test_a_checkpointed_loop_keeps_its_snapshots(fn: Any, states: int) -> None:
    report = tl.grad(fn).saved(W, H, XS)
    assert rows(report, "h_saved") == [(states - 1, (states - 1) * H.nbytes)]  # (one is `h`)


def test_it_runs_the_derivative_and_changes_nothing() -> None:
    a = np.linspace(0.1, 1.0, 12)
    before, df = a.copy(), tl.value_and_grad(stencil)
    df.saved(a, 3)
    assert np.array_equal(a, before)
    assert np.array_equal(pickle.loads(pickle.dumps(df))(a, 3)[1], df(a, 3)[1])


def test_a_table_is_printed() -> None:
    text = str(tl.grad(recurrence, example=(H, 1)).saved(H, 8))
    head, *_, last = text.splitlines()
    assert head.split() == ["line", "primal", "saved", "as", "times", "bytes"]
    assert last.split()[0] == "all"


def test_forward_mode_keeps_nothing() -> None:
    with pytest.raises(tl.TangentlikeError, match="no reverse sweep"):
        tl.autodiff(recurrence, mode="forward").saved(H, 3, H)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "model", raising=False)  # (of another test)
    path = tmp_path / "model.py"
    path.write_text(
        "import numpy as np\n\ndef f(h, n):\n    for _ in range(n):\n"
        "        h = np.sin(h) * h\n    return np.sum(h)\n"
    )
    found = CliRunner().invoke(main, ["saved", f"{path}:f", "--shape", "h=5", "--value", "n=4"])
    assert found.exit_code == 0, found.output
    assert "h = np.sin(h) * h" in found.output and "h_saved" in found.output


# ------------------------------------------------------------------ the report and the memory


def swapping(u: Any, n: int) -> Any:
    new = np.zeros_like(u)
    for _ in tl.checkpointed(range(n), snapshots=4):
        new[1:-1] = u[1:-1] + np.sin(u[:-2] * u[2:])
        u, new = new, u
    return np.sum(u * u)


def step(h: Any) -> Any:
    z = np.tanh(h)
    return z * np.sin(z)


def by_callee(h: Any, n: int) -> Any:
    for _ in range(n):
        h = step(h)
    return np.sum(h)


def in_dicts(h: Any, n: int) -> Any:
    d = {"h": h, "v": 0.5 * h}
    for _ in range(n):
        d = {"h": d["h"] + 0.1 * np.sin(d["v"]), "v": d["v"] * np.cos(d["h"])}
    return np.sum(d["h"] * d["v"])


@pytest.mark.parametrize(
    ("fn", "extra"),
    [(recurrence, 5), (stencil, 5), (by_callee, 7), (in_dicts, 8), (swapping, 24)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_the_sweep_needs_what_is_reported_and_its_adjoints(fn: Any, extra: int) -> None:
    """Peak memory is what the report says, adjoints, and temporaries: `extra` states (of a
    checkpointed loop also what one stretch keeps). What is dead is let go."""
    h = np.linspace(0.1, 0.5, 4000)
    gradient = tl.grad(fn)
    report = gradient.saved(h, 40)
    gradient(h, 2)
    tracemalloc.start()
    try:
        gradient(h, 40)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0 <= peak - report.bytes <= extra * h.nbytes
