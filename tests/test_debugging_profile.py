"""`tl.profile`: what each line of a function costs, primal and adjoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tangentlike as tl
from tangentlike.cli import main
from tangentlike.debugging.profiling import Line, Profile

pytestmark = pytest.mark.usefixtures("helpers_are_pairs")


def heavy(x: Any) -> Any:
    y = x @ x
    return y @ y @ y


def loss(x: Any, rounds: int) -> Any:
    total = 0.0
    for _ in range(rounds):
        total = total + np.sum(np.sin(x))
    z = heavy(x)
    return total + np.sum(z)


def row(found: Profile, text: str) -> Line:
    (line,) = [line for line in found.lines if text in line.place.text]
    return line


def test_costs_by_line() -> None:
    x = np.full((120, 120), 1e-3)
    gradient = tl.grad(loss)
    found = tl.profile(gradient, x, 3)
    np.testing.assert_array_equal(found.result, gradient(x, 3))
    products, call, sines = row(found, "y @ y @ y"), row(found, "heavy(x)"), row(found, "np.sin")
    assert products.adjoint_ms > 0.0 and products.primal_ms > 0.0
    assert call.ms < products.ms  # the time of a call is that of the lines it calls
    assert sines.times == 3 and products.times == 1
    size = x.nbytes
    assert size <= products.primal_bytes < 4 * size
    assert size <= products.adjoint_bytes < 8 * size
    assert found.slowest()[0].ms == max(line.ms for line in found.lines)
    both = found.primal_ms + found.adjoint_ms
    assert both == pytest.approx(sum(line.ms for line in found.lines))


def test_table_and_command(tmp_path: Path) -> None:
    text = str(tl.profile(tl.value_and_grad(loss), np.ones((4, 4)), 2))
    head, *rows = text.splitlines()
    assert head.split()[:3] == ["line", "primal", "ms"] and rows[-1].split()[0] == "all"
    assert any("np.sin(x)" in line for line in rows)
    model = tmp_path / "model.py"
    model.write_text("import numpy as np\n\n\ndef f(x):\n    return np.sum(np.exp(x) * x)\n")
    answer = CliRunner().invoke(main, ["profile", f"{model}:f", "--shape", "x=5"])
    assert answer.exit_code == 0 and "np.exp(x) * x" in answer.output


def test_other_functions_are_refused() -> None:
    with pytest.raises(tl.TangentlikeError):
        tl.profile(loss, np.ones((2, 2)), 1)
