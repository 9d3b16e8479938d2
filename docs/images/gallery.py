"""The figures of docs/gallery.md: one for each example, from what the example computes.

python docs/images/gallery.py            # all of them, about a minute
python docs/images/gallery.py rnn        # one
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot

import tangentlike as tl

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "examples"))


def example(name: str) -> Any:
    return importlib.import_module(name)


def curve(axes: Any, losses: Sequence[float], what: str = "step") -> None:
    axes.semilogy(losses, linewidth=1.0, color="0.75")
    width = max(1, len(losses) // 50)
    smooth = np.convolve(losses, np.ones(width) / width, mode="valid")
    axes.semilogy(np.arange(width - 1, len(losses)), smooth, linewidth=1.5)
    axes.set(xlabel=what, ylabel="loss")


def double_pendulum(axes: Any) -> None:
    module = example("double_pendulum")
    state, dt, path = np.array([[2.0, 3.0], [0.0, 0.0]]), 0.005, []
    for _ in range(1500):
        k1 = np.stack([state[1], module.acceleration(state[0], state[1])])
        half = state + 0.5 * dt * k1
        state = state + dt * np.stack([half[1], module.acceleration(half[0], half[1])])
        path.append(state[0])
    first, second = np.array(path).T
    x, y = np.sin(first) + np.sin(second), -np.cos(first) - np.cos(second)
    axes.plot(x, y, linewidth=0.8)
    axes.plot([0, np.sin(first[-1]), x[-1]], [0, -np.cos(first[-1]), y[-1]], "o-", color="0.3")
    axes.set(aspect="equal", xlabel="x", ylabel="y", title="path of the lower mass, 7.5 s")


def estimators(axes: Any) -> None:
    module = example("estimators")
    counts = 2 ** np.arange(6, 17)
    for fn in (module.reparameterised, module.score_function):
        gradient = tl.grad(fn, wrt=("m", "s"))
        errors = []
        for count in counts:
            draws = [gradient(0.8, 1.5, np.random.default_rng(k), count)[1] for k in range(20)]
            errors.append(np.sqrt(np.mean((np.array(draws) - 3.0) ** 2)))
        axes.loglog(counts, errors, "o-", markersize=3, label=fn.__name__)
    axes.set(xlabel="draws", ylabel="error of the gradient by s")
    axes.legend()


def fixed_point(axes: Any) -> None:
    module = example("fixed_point")
    a = np.linspace(-1.0, 1.0, 81)
    axes.plot(a, module.solution(a), label="x(a), where x = cos(a x)")
    slope = tl.grad(lambda a: np.sum(module.solution(a)))(a)
    axes.plot(a, slope, label="dx/da by the rule")
    axes.plot(a[1:-1:4], np.gradient(module.solution(a), a)[1:-1:4], ".", label="differences")
    axes.set(xlabel="a")
    axes.legend()


def inner_step(axes: Any) -> None:
    module = example("inner_step")
    x, y = np.meshgrid(np.linspace(-1.5, 1.5, 60), np.linspace(-0.5, 2.5, 60))
    points = np.stack([x, y], axis=-1)
    values = [[module.meta_loss(point, 0.4) for point in row] for row in points]
    axes.contour(x, y, values, 14, linewidths=0.7, cmap="viridis")
    gradient, w, path = tl.grad(module.meta_loss), np.array([-1.2, -0.2]), []
    for _ in range(60):
        path.append(w)
        w = w - gradient(w, 0.4)
    axes.plot(*np.array(path).T, "o-", markersize=2, label="gradient descent")
    axes.plot(*module.known_best_start(0.4), "k*", markersize=10, label="known best start")
    axes.set(xlabel="w[0]", ylabel="w[1]", title="loss after one step on three tasks")
    axes.legend()


def model_of_classes(axes: Any) -> None:
    module = example("model_of_classes")
    images, labels = module.load()
    reader = module.Reader(np.random.default_rng(1))
    curve(axes, module.train(reader, images[359:], labels[359:], 12), "batch")
    share = module.accuracy(reader, images[:359], labels[:359])
    axes.set_title(f"12 epochs, {share:.1%} of the held-out digits right")


def network_hessian(axes: Any) -> None:
    module = example("network_hessian")
    values = np.linalg.eigvalsh(module.hessian(module.trained()))
    axes.bar(range(len(values)), np.maximum(values, 1e-8))
    axes.set(yscale="log", xlabel="direction", ylabel="eigenvalue of the Hessian")


def newton_cg(axes: Any) -> None:
    from scipy.optimize import minimize

    module = example("newton_cg")
    start = np.where(np.arange(50) % 2 == 0, -1.2, 1.0)
    for method, more in (("Newton-CG", {"hessp": module.product}), ("BFGS", {}), ("CG", {})):
        values: list[float] = []
        minimize(
            module.rosenbrock, start, jac=module.gradient, method=method, **more,
            callback=lambda x, values=values: values.append(module.rosenbrock(x)),
        )  # fmt: skip
        axes.semilogy(np.maximum(values, 1e-20), label=method)
    axes.set(xlabel="iteration", ylabel="Rosenbrock, 50 dimensions", xlim=(0, 200))
    axes.legend()


def resnet_block(axes: Any) -> None:
    module = example("resnet_block")
    params, losses = module.train(150)
    curve(axes, losses)
    share = module.accuracy(params, *module.lines(200, 1))
    axes.set_title(f"{share:.1%} of new images right")


def rnn(axes: Any) -> None:
    module = example("rnn")
    w, u, b, v, c = module.train(300)[0]
    xs, targets = module.series()
    h, found = np.zeros(len(b)), []
    for x in xs:
        h = np.tanh(w @ h + u @ x + b)
        found.append(v @ h + c)
    axes.plot(targets, color="0.6", label="monthly change")
    axes.plot(found, linewidth=1.2, label="network")
    axes.axvspan(len(targets) - module.HELD_OUT, len(targets), alpha=0.15, label="held out")
    axes.set(xlabel="month", ylabel="change of log(passengers) / 0.1")
    axes.legend(fontsize=8)


def scipy_fits(axes: Any) -> None:
    from scipy.integrate import solve_ivp

    module = example("scipy_fits")
    jacobian, start = tl.jacobian(module.van_der_pol, wrt="y"), np.array([2.0, 0.0])
    path = solve_ivp(
        module.van_der_pol, (0.0, 200.0), start, args=(50.0,), method="Radau", jac=jacobian
    )
    axes.plot(path.t, path.y[0], ".-", markersize=3, linewidth=0.8)
    axes.set(xlabel="t", ylabel="y[0]", title=f"stiff oscillator: {path.t.size} implicit steps")


def text_classifier(axes: Any) -> None:
    module = example("text_classifier")
    weights, _ = module.train(300)
    table = weights[0] - np.mean(weights[0], axis=0)
    plane = table @ np.linalg.svd(table)[2][:2].T
    words = module.vocabulary()
    for label, text in module.CORPUS.items():
        own = sorted({word for word in text.split() if len(word) > 3})
        points = plane[[words[word] for word in own]]
        (line,) = axes.plot(*points.T, ".", label=label)
        for word, point in list(zip(own, points, strict=True))[::4]:
            axes.annotate(word, point, fontsize=7, color=line.get_color())
    axes.set_title("words, in the plane of largest variance")
    axes.legend()


def worked_example(axes: Any) -> None:
    module = example("worked_example")
    x2 = np.linspace(2.0, 8.0, 90)
    value, slope = module.f(2.0, 5.0), tl.grad(module.f, wrt="x2")(2.0, 5.0)
    axes.plot(x2, module.f(2.0, x2), label="y(2, x2)")
    axes.plot(x2, value + slope * (x2 - 5.0), "--", label=f"tangent, slope {slope:.3f}")
    axes.plot(5.0, value, "ko")
    axes.set(xlabel="x2", ylabel="y = ln(x1) + x1 x2 - sin(x2)")
    axes.legend()


FIGURES: tuple[Callable[[Any], None], ...] = (
    double_pendulum, estimators, fixed_point, inner_step, model_of_classes, network_hessian,
    newton_cg, resnet_block, rnn, scipy_fits, text_classifier, worked_example,
)  # fmt: skip


def draw(fn: Callable[[Any], None]) -> None:
    figure, axes = pyplot.subplots(figsize=(5.4, 3.4))
    fn(axes)
    figure.tight_layout()
    figure.savefig(HERE / f"gallery_{fn.__name__}.png", dpi=90)
    pyplot.close(figure)


if __name__ == "__main__":
    for each in FIGURES:
        if each.__name__ in sys.argv[1:] or not sys.argv[1:]:
            draw(each)
