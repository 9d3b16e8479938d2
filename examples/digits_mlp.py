"""A two-layer perceptron on scikit-learn's handwritten digits, trained by an emitted gradient.

Prints the gradient's source first: what trains the network is that text, and NumPy.

    python examples/digits_mlp.py                  # about 98 % on held-out digits
    python examples/digits_mlp.py --optimizer sgd --steps 20 --out loss.png
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tangentlike as tl


def loss(w1, b1, w2, b2, x, labels):
    h = np.maximum(x @ w1 + b1, 0.0)
    z = h @ w2 + b2
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(len(labels)), labels])


WEIGHTS = ("w1", "b1", "w2", "b2")
Arrays = list[np.ndarray]


@dataclass
class Digits:
    """Images scaled to [0, 1] and their labels, one in five held out."""

    x: np.ndarray
    labels: np.ndarray
    held_x: np.ndarray
    held_labels: np.ndarray


@dataclass
class Adam:
    """Adam on a list of arrays, in place."""

    rate: float = 3e-3
    decay: float = 0.9
    decay2: float = 0.999

    def start(self, weights: Arrays) -> None:
        self.count = 0
        self.mean = [np.zeros_like(w) for w in weights]
        self.square = [np.zeros_like(w) for w in weights]

    def step(self, weights: Arrays, gradient: Iterable[np.ndarray]) -> None:
        self.count += 1
        rate = self.rate * np.sqrt(1 - self.decay2**self.count) / (1 - self.decay**self.count)
        for w, g, m, v in zip(weights, gradient, self.mean, self.square, strict=True):
            m += (1 - self.decay) * (g - m)
            v += (1 - self.decay2) * (g * g - v)
            w -= rate * m / (np.sqrt(v) + 1e-8)


@dataclass
class GradientDescent:
    """Plain stochastic gradient descent."""

    rate: float = 0.3

    def start(self, weights: Arrays) -> None:
        pass

    def step(self, weights: Arrays, gradient: Iterable[np.ndarray]) -> None:
        for w, g in zip(weights, gradient, strict=True):
            w -= self.rate * g


def load_digits() -> Digits:
    """The 1,797 digits that come with scikit-learn, shuffled with a fixed seed."""
    try:
        from sklearn.datasets import load_digits as bundled
    except ImportError:
        raise SystemExit("this example needs scikit-learn: pip install scikit-learn") from None
    x, labels = bundled(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    x, labels = x[order] / 16.0, labels[order]
    kept = len(labels) * 4 // 5
    return Digits(x[:kept], labels[:kept], x[kept:], labels[kept:])


def initial_weights(hidden: int, seed: int) -> Arrays:
    rng = np.random.default_rng(seed)
    w1 = rng.normal(size=(64, hidden)) * np.sqrt(2.0 / 64)
    w2 = rng.normal(size=(hidden, 10)) * np.sqrt(2.0 / hidden)
    return [w1, np.zeros(hidden), w2, np.zeros(10)]


def accuracy(weights: Arrays, x: np.ndarray, labels: np.ndarray) -> float:
    w1, b1, w2, b2 = weights
    scores = np.maximum(x @ w1 + b1, 0.0) @ w2 + b2
    return float(np.mean(np.argmax(scores, axis=1) == labels))


def train(
    data: Digits, steps: int, optimizer: Adam | GradientDescent, hidden: int = 50, seed: int = 0
) -> tuple[Arrays, list[float]]:
    """Run `steps` epochs of batches of 64; returns the weights and the loss of each batch."""
    gradient = tl.value_and_grad(loss, wrt=WEIGHTS)
    weights = initial_weights(hidden, seed)
    optimizer.start(weights)
    rng = np.random.default_rng(seed)
    losses = []
    for _ in progress(range(steps)):
        order = rng.permutation(len(data.labels))
        for batch in np.array_split(order, len(order) // 64):
            value, bars = gradient(*weights, data.x[batch], data.labels[batch])
            optimizer.step(weights, bars)
            losses.append(float(value))
    return weights, losses


def progress(steps: Iterable[int]) -> Iterator[Any]:
    """A bar on a terminal that has rich, nothing elsewhere."""
    if not sys.stderr.isatty():
        return iter(steps)
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError:
        return iter(steps)
    return iter(track(steps, description="training", console=Console(stderr=True)))


def plot(losses: Sequence[float], path: Path) -> bool:
    """Save the loss curve; False where matplotlib is not installed."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return False
    figure, axes = pyplot.subplots(figsize=(6, 4))
    axes.semilogy(losses, linewidth=0.8)
    axes.set_xlabel("batch")
    axes.set_ylabel("cross-entropy")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return True


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=30, help="epochs (default 30)")
    parser.add_argument("--optimizer", choices=("adam", "sgd"), default="adam")
    parser.add_argument("--hidden", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("digits_loss.png"))
    options = parser.parse_args(argv)

    data = load_digits()
    batch = (*initial_weights(options.hidden, options.seed), data.x[:60], data.labels[:60])
    print(tl.value_and_grad(loss, wrt=WEIGHTS, example=batch).source)
    optimizer = Adam() if options.optimizer == "adam" else GradientDescent()
    started = time.perf_counter()
    weights, losses = train(data, options.steps, optimizer, options.hidden, options.seed)
    seconds = time.perf_counter() - started
    if losses:
        print(f"loss {losses[0]:.3f} -> {losses[-1]:.4f} in {len(losses)} batches, {seconds:.1f} s")
    print(f"accuracy on training digits {accuracy(weights, data.x, data.labels):.1%}")
    print(f"accuracy on held-out digits {accuracy(weights, data.held_x, data.held_labels):.1%}")
    if losses:
        saved = plot(losses, options.out)
        print(f"loss curve in {options.out}" if saved else "no loss curve: matplotlib is missing")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
