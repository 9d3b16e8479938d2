"""The examples run, print emitted source, and reach what they promise."""

from __future__ import annotations

import copy
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


MAINS = [
    *("worked_example", "rnn", "resnet_block", "text_classifier"),
    *(
        "model_of_classes",
        "newton_cg",
        "scipy_fits",
        "network_hessian",
        "fixed_point",
        "inner_step",
        "double_pendulum",
    ),
]


@pytest.mark.parametrize("name", MAINS)
def test_main_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert example(name).main(["--steps", "2"]) == 0
    printed = capsys.readouterr().out
    assert "def " in printed and ("_bar" in printed or "# adjoint" in printed)


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
    assert "def loss_value_and_grad" in printed and "unbroadcast" not in printed
    if importlib.util.find_spec("matplotlib"):
        assert out.read_bytes().startswith(b"\x89PNG")


def test_a_model_of_classes_learns() -> None:
    pytest.importorskip("sklearn")
    classes = example("model_of_classes")
    images, labels = classes.load()
    reader = classes.Reader(np.random.default_rng(1))
    losses = classes.train(reader, images[300:], labels[300:], 4)
    assert np.mean(losses[-10:]) < 0.4 * np.mean(losses[:3])
    assert classes.accuracy(reader, images[:300], labels[:300]) > 0.8


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


def test_newton_cg_finds_the_minimum() -> None:
    pytest.importorskip("scipy")
    found = example("newton_cg").minimum()
    np.testing.assert_allclose(found.x, np.ones(50), atol=1e-8)
    assert found.success and found.nhev > 0


def test_scipy_fits() -> None:
    fits = example("scipy_fits")
    np.testing.assert_allclose(fits.fitted_by_newton().x, fits.RATES, rtol=1e-5)
    np.testing.assert_allclose(fits.fitted_by_least_squares().x, fits.RATES, rtol=1e-6)
    np.testing.assert_allclose(fits.meeting(fits.met().x), 0.0, atol=1e-9)
    path = fits.integrated()
    assert path.success and path.njev > 0 and np.max(np.abs(path.y[0])) < 2.1


def test_hessian_of_a_network_at_its_minimum() -> None:
    network = example("network_hessian")
    p = network.trained()
    assert network.loss(p) < 1e-20
    matrix = network.hessian(p)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    assert np.linalg.eigvalsh(matrix)[0] > 0.0
    # At a loss of zero the Hessian is that of Gauss and Newton, 2 J^T J / n.
    residuals = tl.jacobian(lambda p: np.tanh(np.outer(network.X, p[0:2]) + p[2:4]) @ p[4:6])(p)
    np.testing.assert_allclose(matrix, 2.0 * residuals.T @ residuals / len(network.X), atol=1e-12)
    spread = np.sqrt(2.0 * np.sum((matrix - np.diag(np.diag(matrix))) ** 2) / 2000)
    assert abs(network.trace_by_products(p, 2000) - np.trace(matrix)) < 4.0 * spread


def test_implicit_differentiation_of_a_fixed_point() -> None:
    fixed = example("fixed_point")
    np.testing.assert_allclose(fixed.fitted(), np.arccos(0.8) / 0.8, rtol=1e-10)
    tl.check_rule(fixed.solution, np.array([0.3, 0.7]))
    tl.check_grads(fixed.loss, (np.array([0.3, 0.7]),), order=2)


def test_gradients_through_gradient_descent() -> None:
    inner = example("inner_step")
    np.testing.assert_allclose(inner.best_start(0.4), inner.known_best_start(0.4), rtol=1e-8)
    for rate, steps in ((0.3, 10), (1.2, 3)):
        got = tl.grad(inner.after_descent)(rate, steps)
        assert got == pytest.approx(inner.known_hypergradient(rate, steps), rel=1e-10)


def test_double_pendulum() -> None:
    pendulum = example("double_pendulum")
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v = rng.normal(size=(2, 2))
        expected = pendulum.known_acceleration(q, v)
        np.testing.assert_allclose(pendulum.acceleration(q, v), expected, rtol=1e-9)
    start = pendulum.energy(np.array([2.0, 1.5]), np.zeros(2))
    q, v = pendulum.swung(300)
    assert pendulum.energy(q, v) == pytest.approx(start, abs=1e-7)
    assert abs(q[0] - 2.0) > 1.0


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
    assert (
        example("benchmarks/transform_time").main(
            ["--repeats", "1", "--lines", "10", "--orders", "1"]
        )
        == 0
    )
    assert example("benchmarks/orders").main(["--repeats", "1", "--orders", "2"]) == 0
    products = example("benchmarks/hessian_products")
    assert products.main(["--repeats", "1", "--only", "logistic,durbin"]) == 0
    assert example("benchmarks/long_sweep").main(["--rounds", "20", "--size", "50"]) == 0
    printed = capsys.readouterr().out
    assert "stopped half the way back" in printed
    assert "logistic regression" in printed and "10 lines" in printed and "numpy" in printed
    assert "final_state" in printed and "ms, 2" in printed


def test_the_reduction_tree_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("dask")
    scale = example("benchmarks/scale")
    assert scale.main(["--only", "simulation", "--workers", "100"]) == 0
    assert "| 8 MB | 100 | 1,600 |" in capsys.readouterr().out
    constants = scale.Constants(1e-6, 1e-6, 0.0, 1e12, 1e12, 1.0, 8.0)
    seconds, share, sent = scale.simulated(64, 1, constants)
    assert seconds == pytest.approx(64.0, rel=1e-3) and share > 0.99 and sent == 0.0
    for workers in (4, 16):  # (no costs but the chunks: they are shared out, and all is summed)
        seconds, _, sent = scale.simulated(64, workers, constants)
        assert seconds == pytest.approx(64.0 / workers, rel=1e-3) and sent > 0.0
    groups, above = scale.tree(20, 8)
    assert [len(parts) for parts in groups[20:]] == [8, 8, 4, 3] and len(above) == 23


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


def test_page_of_benchmarks() -> None:
    page = example("benchmarks/page")
    assert len(page.KERNELS) >= 40
    rows = page.measure(["portfolio", "burgers"], 1)
    text = page.page(rows)
    assert "| `portfolio` | finance |" in text and "geometric mean" in text


def test_programs_that_jax_runs_otherwise_are_right() -> None:
    jax = pytest.importorskip("jax")
    page, peers = example("benchmarks/page"), example("benchmarks/peers")
    assert jax.__name__ == "jax"
    for name, lines in peers.changed_lines().items():
        kernel = page.KERNELS[name]
        args = kernel.given(np.random.default_rng(2))
        want = tl.value_and_grad(kernel.fn, wrt=tuple(range(kernel.count)))(*page.own(args))
        assert lines > 0 and page.agrees(peers.with_jax(name, kernel, args), want), name


def test_buffers_that_are_reused_change_nothing() -> None:
    buffers = example("benchmarks/buffers")
    for fn, args, wrt in buffers.programs(1).values():
        both = [tl.grad(fn, wrt=wrt, reuse=reuse)(*args) for reuse in (False, True)]
        assert all(map(np.array_equal, *both)), fn.__name__


def test_table_of_operations() -> None:
    operations = example("benchmarks/operations")
    (found,) = [o for o in operations.OPERATIONS if o.name == "stack @ matrix"]
    seconds, times = operations.ratio(found, 16)
    assert seconds > 0.0 and times > 0.0


def test_gradients_written_by_hand_are_right() -> None:
    lines = example("benchmarks/lines")
    found = dict(lines.programs())
    assert len(found) >= 50
    for name, (fn, args, wrt, by_hand) in found.items():
        want, gradient = tl.value_and_grad(fn, wrt=wrt)(*copy.deepcopy(args))
        value, got = by_hand(*copy.deepcopy(args))
        active = tuple(args[k] for k in wrt) if isinstance(wrt, tuple) else args[wrt]
        direction = agreement.random_direction(active, np.random.default_rng(2))
        slopes = [agreement.inner(bar, direction) for bar in (got, gradient)]
        np.testing.assert_allclose([value, slopes[0]], [want, slopes[1]], rtol=1e-7, err_msg=name)


def test_texts_are_nearly_as_short_as_those_written_by_hand() -> None:
    lines = example("benchmarks/lines")
    counts = [lines.counted(program, example=True) for _, program in lines.programs()]
    assert lines.mean([c.ratio for c in counts]) < 1.42
    assert sum(c.helpers > 0 for c in counts) <= 5
