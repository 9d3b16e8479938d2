"""The error of a derivative against the step of differences: a V where it is right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tangentlike as tl
from tangentlike.cli import main
from tangentlike.debugging import step_curves

RNG = np.random.default_rng(2)


def model(params: dict[str, Any], x: Any) -> Any:
    return {"y": np.tanh(x @ params["w"]) * params["scale"]}


def wrong(x: Any) -> Any:
    return x**3


def uses_wrong(x: Any, y: Any) -> Any:
    return np.sum(wrong(x)) + np.sum(y * y)


@pytest.fixture
def with_a_wrong_rule(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of the second entry only: what a check along one direction alone does not say."""
    from tangentlike.debugging import curves

    true = curves.vjp

    def off(f: Any, *args: Any) -> Any:
        value, pullback = true(f, *args)

        def changed(seed: Any) -> Any:
            first, *rest = pullback(seed)
            first = first.copy()
            first[1] *= 1.1
            return (first, *rest)

        return value, changed

    monkeypatch.setattr(curves, "vjp", off)


def test_the_curve_is_a_v() -> None:
    params = {"w": RNG.standard_normal((3, 2)), "scale": 1.5}
    curves = step_curves(model, params, RNG.standard_normal((4, 3)))
    assert curves.ok and [c.argument for c in curves.curves] == ["params", "x"]
    for curve in curves.curves:
        assert curve.lowest < 1e-8 and not curve.worst
        assert 1e-8 < curve.best_step < 1e-2
        assert curve.errors[0] > 100 * curve.lowest < curve.errors[-1]
    assert "params: agrees" in str(curves)


def test_a_wrong_derivative_stays_up_and_its_entry_is_named(with_a_wrong_rule: Any) -> None:
    curves = step_curves(uses_wrong, np.array([1.0, 2.0, 3.0]), np.ones(2))
    first, second = curves.curves
    assert not curves.ok and not first.ok and second.ok
    assert first.worst[0].name == "x[1]" and first.worst[0].error == pytest.approx(1 / 11, rel=1e-3)
    assert first.worst[1].error < 1e-6
    assert "x: DIFFERS at every step" in str(curves)


def test_wrt_and_errors() -> None:
    curves = step_curves(uses_wrong, np.ones(3), np.ones(2), wrt="y")
    assert [c.argument for c in curves.curves] == ["y"]
    with pytest.raises(tl.TangentlikeError, match="holds floats"):
        step_curves(lambda n: n, 3)


def test_the_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    curves = step_curves(uses_wrong, np.ones(3), np.ones(2))
    curves.save(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "data:image/png;base64," in curves._repr_html_()


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    curves = step_curves(uses_wrong, np.ones(3), np.ones(2))
    with pytest.raises(tl.TangentlikeError, match="needs matplotlib"):
        curves.plot()
    assert "<img" not in curves._repr_html_()


def test_command(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "drawn.py").write_text(
        "import numpy as np\ndef loss(x, y):\n    return np.sum(np.sin(x) * y)\n"
    )
    options = [f"{tmp_path}/drawn.py:loss", "--shape", "x=3", "--shape", "y=3", "--plot"]
    done = CliRunner().invoke(main, ["check", *options, f"{tmp_path}/curves.svg"])
    assert done.exit_code == 0, done.output
    assert "<svg" in (tmp_path / "curves.svg").read_text()
    done = CliRunner().invoke(main, ["check", *options, f"{tmp_path}/drawn.py"])
    assert done.exit_code == 1 and "def loss" in (tmp_path / "drawn.py").read_text()
    done = CliRunner().invoke(main, ["check", *options, f"{tmp_path}/curves.xyz"])
    assert done.exit_code == 1 and "cannot write" in done.output
