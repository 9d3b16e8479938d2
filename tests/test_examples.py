"""The examples run, print emitted source, and reach what they promise."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def example(name: str) -> ModuleType:
    """An example imported from its file, once."""
    path = EXAMPLES / f"{name}.py"
    full_name = f"example_{path.stem}"
    if full_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(full_name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[full_name] = module
        spec.loader.exec_module(module)
    return sys.modules[full_name]


@pytest.mark.parametrize("name", ["worked_example", "rnn", "resnet_block", "text_classifier"])
def test_main_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert example(name).main(["--steps", "2"]) == 0
    printed = capsys.readouterr().out
    assert "def " in printed and "_bar" in printed


def test_worked_example(capsys: pytest.CaptureFixture[str]) -> None:
    values = example("worked_example").values()
    assert values["y"] == pytest.approx(np.log(2) + 10 - np.sin(5))
    assert values["y_dot along x1"] == pytest.approx(5.5)
    assert values["x1_bar"] == pytest.approx(5.5)
    assert values["x2_bar"] == pytest.approx(2 - np.cos(5)) == pytest.approx(1.716, abs=1e-3)
    example("worked_example").main([])
    printed = capsys.readouterr().out
    assert re.search(r"x1_bar +5\.500", printed) and re.search(r"x2_bar +1\.716", printed)
    assert "x1_dot" in printed


def test_digits_reach_the_promised_accuracy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    out = tmp_path / "loss.png"
    assert example("digits_mlp").main(["--steps", "15", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    found = re.search(r"held-out digits ([\d.]+)%", printed)
    assert found is not None and float(found[1]) >= 95.0
    assert "def loss_grad" in printed
    if importlib.util.find_spec("matplotlib"):
        assert out.read_bytes().startswith(b"\x89PNG")


def test_digits_by_gradient_descent(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    digits = example("digits_mlp")
    data = digits.load_digits()
    _, losses = digits.train(data, 4, digits.GradientDescent())
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:3])


def test_rnn_learns_the_seasons() -> None:
    rnn = example("rnn")
    weights, losses = rnn.train(steps=60)
    assert losses[-1] < 0.5 * losses[0]
    network, naive = rnn.held_out_errors(weights)
    assert network < naive


def test_text_classifier_learns() -> None:
    text = example("text_classifier")
    weights, losses = text.train(steps=60)
    assert losses[-1] < 0.3 * losses[0]
    assert text.accuracy(weights, *text.held_out()) >= 5 / 6


def test_resnet_block_learns() -> None:
    resnet = example("resnet_block")
    params, losses = resnet.train(steps=40)
    assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5])
    assert resnet.accuracy(params, *resnet.lines(100, 7)) > 0.6


@pytest.mark.parametrize("name", ["rnn", "resnet_block", "text_classifier"])
def test_gradients_of_the_examples(name: str) -> None:
    """Each example's gradient against central differences at its first step."""
    module = example(name)
    if name == "rnn":
        xs, targets = module.series()
        args, wrt = (*module.initial_weights(5, 0), xs[:8], targets[:8]), tuple(range(5))
    elif name == "resnet_block":
        args, wrt = (module.initial_params(0), *module.lines(4, 0)), (0,)
    else:
        words, labels = module.sentences_and_labels()
        weights = module.initial_weights(4, 5, 0)
        args, wrt = (*weights, module.encoded(words)[:5], labels[:5]), tuple(range(5))
    directions = agreement.directions_for(args, wrt, 2)
    gradient = tl.grad(module.loss, wrt=wrt)(*args)
    got = agreement.inner([directions[k] for k in wrt], list(gradient))
    expected = agreement.slope(module.loss, args, directions, 1e-5)
    assert agreement.close(got, expected, 1e-5), (got, expected)


def test_benchmark_programs_agree() -> None:
    """What the benchmark times is right: by hand, emitted, and against differences."""
    gradients = example("benchmarks/gradients")
    for case in gradients.cases().values():
        emitted = tl.value_and_grad(case.fn, wrt=tuple(range(case.active)))
        gradients.check(case, {"by hand": case.by_hand, "emitted": emitted})


def test_benchmarks_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert example("benchmarks/gradients").main(["--repeats", "1", "--only", "logistic"]) == 0
    assert example("benchmarks/transform_time").main(["--repeats", "1", "--lines", "10"]) == 0
    printed = capsys.readouterr().out
    assert "logistic regression" in printed and "10 lines" in printed and "numpy" in printed


def test_estimators_agree_with_the_answers_that_are_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    estimators = example("estimators")
    assert estimators.main(["--count", "500"]) == 0
    assert "stop_gradient" in capsys.readouterr().out
    m, s, count = 0.8, 1.5, 200_000
    for fn in (estimators.reparameterised, estimators.score_function):
        found = tl.grad(fn, wrt=("m", "s"))(m, s, np.random.default_rng(0), count)
        np.testing.assert_allclose(found, (2.0 * m, 2.0 * s), atol=0.05)
    theta = np.array([0.2, -0.4, 0.1])
    found = tl.grad(estimators.policy)(theta, np.random.default_rng(0), count)
    np.testing.assert_allclose(found, estimators.policy_answer(theta), atol=0.02)
