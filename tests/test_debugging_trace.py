"""`tl.trace`: the values that statements had, against what the program computes without it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tangentlike as tl
from tangentlike.cli import main
from tangentlike.debugging import summary_of
from tangentlike.debugging.instrument import Probe, instrumented
from tangentlike.debugging.linemap import program_of
from tangentlike.dispatch.blame import watching
from tests import agreement
from tests.programs import PROGRAMS, Program
from tests.refusals import REFUSED, REFUSED_REVERSE

RNG = np.random.default_rng(5)
W, H = 0.4 * RNG.standard_normal((3, 3)), RNG.standard_normal(3)


pytestmark = pytest.mark.usefixtures("helpers_are_pairs")


def cell(h: Any, w: Any) -> Any:
    return np.tanh(w @ h)


def loss(w: Any, h: Any, steps: int) -> Any:
    for i in range(steps):
        h = cell(h, w)
        if i % 2:
            h = h * 2.0
    return np.sum(h * h)


def halving(x: Any) -> Any:
    count = 0.0
    while x > 1.0:
        x = x / 2.0
        count = count + 1.0
    return x * count


SAMPLE = [p for p in PROGRAMS[::29] if p.name not in {**REFUSED, **REFUSED_REVERSE}]


@pytest.mark.parametrize("program", SAMPLE, ids=lambda p: p.name)
@pytest.mark.parametrize("deep", [False, True])
def test_what_is_instrumented_computes_the_same(program: Program, deep: bool) -> None:
    made: dict[int, Any] = {}

    def instead(derivation: Any, function: Any) -> Any:
        if function not in derivation.derived.functions:
            return function
        if id(derivation) not in made:
            read = program_of(derivation)
            made[id(derivation)] = derivation, instrumented(read, Probe(), deep)
        return made[id(derivation)][1][function.__name__]

    gradient = tl.grad(program.fn, wrt=program.wrt)
    plain = gradient(*program.arguments())
    with watching(instead):
        assert agreement.same_bits(gradient(*program.arguments()), plain)
    assert made
    assert agreement.same_bits(tl.trace(gradient, *program.arguments()).result, plain)


def test_values_by_iteration_are_those_of_the_loop() -> None:
    table = tl.trace(tl.value_and_grad(loss), W, H, 4)
    seen = [(n, s.norm) for n, s in table.values("new") if n]
    h, wanted = H, []
    for i in range(4):
        h = np.tanh(W @ h)
        wanted.append(np.linalg.norm(h))
        h = h * 2.0 if i % 2 else h
    made = dict(seen)
    assert [made[n,] for n in range(4)] == pytest.approx(wanted)


def test_a_loop_is_folded_and_any_iteration_can_be_shown() -> None:
    table = tl.trace(tl.grad(loss), W, H, 4)
    rows = {row.statement.text: row for row in table.rows() if row.statement.role == "primal"}
    assert rows["for i in range(steps):"].count == 4
    assert rows["h = h * 2.0"].count == 2
    assert rows["h = h * 2.0"].iterations == (3,)
    first = {row.statement.text: row for row in table.at(1).rows()}
    assert first["h = h * 2.0"].iterations == (1,)
    last = next(row for row in table.at(-1).rows() if row.statement.text == "h = new")
    assert last.iterations == (3,)
    skipped = next(row for row in table.at(0).rows() if row.statement.text == "h = h * 2.0")
    assert skipped.values == {} and skipped.count == 2


def test_helpers_stand_below_the_line_that_called_them() -> None:
    rows = tl.trace(tl.grad(loss), W, H, 2).rows()
    call = next(n for n, row in enumerate(rows) if "cell_fwd(" in row.statement.text)
    assert rows[call + 1].depth == 1 and rows[call + 1].statement.function == "cell_fwd"


def test_while_loops() -> None:
    table = tl.trace(tl.grad(halving), 10.0)
    assert table.result == tl.grad(halving)(10.0)
    header = next(row for row in table.rows() if row.statement.text == "while x > 1.0:")
    assert header.count == 4


@pytest.mark.parametrize("operator", [tl.jacobian, tl.hessian])
def test_every_operator(operator: Any) -> None:
    derived = operator(lambda x: np.sum(x**3))
    table = tl.trace(derived, H)
    assert np.array_equal(table.result, derived(H)) and table.steps


def test_a_block_of_code() -> None:
    with tl.debugging.tracing() as found:
        value, pullback = tl.vjp(loss, W, H, 2)
        pullback(1.0)
    assert {m.statements[-1].role for m in found().maps} == {"adjoint"}
    before = len(found().steps)
    pullback(1.0)
    assert len(found().steps) == before


def test_an_exception_passes_through_and_leaves_the_trace() -> None:
    def fails(x: Any) -> Any:
        y = x * 2.0
        if y > 1.0:
            raise ValueError("too large")
        return y

    with tl.debugging.tracing() as found, pytest.raises(ValueError, match="too large"):
        tl.grad(fails)(3.0)
    assert any("y" in step.values for step in found().steps)


def test_tables() -> None:
    table = tl.trace(tl.grad(loss), W, H, 2)
    text = str(table)
    assert "(3, 3) float64" in text and "np.tanh(w @ h)" in text
    page = table._repr_html_()
    assert "<table" in page and "<script" not in page
    records = table.records()
    assert {"line", "user_line", "norm", "nans", "bytes", "ms"} <= set(records[0])
    if "pandas" not in sys.modules:
        try:
            import pandas  # noqa: F401
        except ImportError:
            with pytest.raises(tl.TangentlikeError, match="needs pandas"):
                table.to_pandas()
            return
    assert len(table.to_pandas()) == len(records)


def test_the_users_text_is_escaped() -> None:
    def hostile(x: Any) -> Any:
        y = x if "<script>alert(1)</script>" else 0.0
        return y * x

    assert "<script>" not in tl.trace(tl.grad(hostile), 2.0)._repr_html_()


def test_summaries() -> None:
    odd = summary_of(np.array([np.nan, np.inf, -2.0]))
    assert (odd.nans, odd.infs, odd.low, odd.high) == (1, 1, -2.0, np.inf)
    assert not odd.is_finite
    assert summary_of(np.array([1e200, 1e200])).norm == pytest.approx(2**0.5 * 1e200)
    assert summary_of(np.array([])).norm is None
    assert summary_of(3 + 4j).norm == 5.0
    assert summary_of({"a": np.ones(4), "b": [2.0]}).norm == pytest.approx(8**0.5)
    assert summary_of(10**400).norm == np.inf
    assert summary_of(np.array(["a"])).low is None
    looped: list[Any] = [1.0]
    looped.append(looped)
    assert summary_of(looped).kind == "list of 2"


def test_what_is_not_a_derivative_is_refused() -> None:
    with pytest.raises(tl.TangentlikeError, match="tl.grad"):
        tl.trace(loss, W, H, 2)


def test_command(tmp_path: Path) -> None:
    (tmp_path / "traced.py").write_text(
        "import numpy as np\ndef loss(x, n):\n    for _ in range(n):\n"
        "        x = np.sin(x)\n    return np.sum(x)\n"
    )
    target = f"{tmp_path}/traced.py:loss"
    done = CliRunner().invoke(
        main, ["trace", target, "--shape", "x=4", "--value", "n=3", "--iteration", "1"]
    )
    assert done.exit_code == 0, done.output
    assert "iteration 1 is shown" in done.output and "(4,) float64" in done.output
