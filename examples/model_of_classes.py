"""A model written as classes: a recurrent reader that sees handwritten digits row by row.

The gradient by the model is an object of the same class; the optimiser walks over both.

    python examples/model_of_classes.py             # about 95 % on held-out digits
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

import numpy as np

import tangentlike as tl


class Dense:
    """`x @ w + b`."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int) -> None:
        self.w = rng.normal(0.0, 1.0 / np.sqrt(inputs), (inputs, outputs))
        self.b = np.zeros(outputs)

    def __call__(self, x):
        return x @ self.w + self.b


class Cell:
    """An Elman cell: what it remembers, and a row, give what it remembers next."""

    def __init__(self, rng: np.random.Generator, inputs: int, size: int) -> None:
        self.read = Dense(rng, inputs, size)
        self.recall = Dense(rng, size, size)
        self.start = np.zeros(size)

    def __call__(self, state, x):
        return np.tanh(self.read(x) + self.recall(state))


class Reader:
    """Reads an image from top to bottom, then says which digit it was."""

    def __init__(self, rng: np.random.Generator, width: int = 8, size: int = 48) -> None:
        self.cell = Cell(rng, width, size)
        self.name_digit = Dense(rng, size, 10)

    def __call__(self, images):
        state = np.zeros((len(images), 1)) + self.cell.start
        for row in range(images.shape[1]):
            state = self.cell(state, images[:, row])
        return self.name_digit(state)


def loss(reader, images, labels):
    z = reader(images)
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(len(labels)), labels])


class Adam:
    """Adam (Kingma & Ba 2015) on the arrays of an object, in place."""

    def __init__(self, rate: float = 5e-3) -> None:
        self.rate, self.count = rate, 0
        self.moments: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def step(self, model: object, gradient: object) -> None:
        """Move every parameter of the model against its gradient."""
        self.count += 1
        rate = self.rate * np.sqrt(1 - 0.999**self.count) / (1 - 0.9**self.count)
        slopes = dict(parameters(gradient))
        for path, w in parameters(model):
            zeros = np.zeros_like(w)
            m, v = self.moments.setdefault(path, (zeros, zeros.copy()))
            m += 0.1 * (slopes[path] - m)
            v += 0.001 * (slopes[path] ** 2 - v)
            w -= rate * m / (np.sqrt(v) + 1e-8)


def parameters(model: object, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of an object and of the objects inside, each with its path."""
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray):
            yield f"{path}{name}", value
        else:
            yield from parameters(value, f"{path}{name}.")


def accuracy(reader: Reader, images: np.ndarray, labels: np.ndarray) -> float:
    """The share of images that the reader names rightly."""
    return float(np.mean(np.argmax(reader(images), axis=1) == labels))


def load() -> tuple[np.ndarray, np.ndarray]:
    """The 1,797 digits that come with scikit-learn, in a fixed random order."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise SystemExit("this example needs scikit-learn: pip install scikit-learn") from None
    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    return found.images[order] / 16.0, found.target[order]


def train(reader: Reader, images: np.ndarray, labels: np.ndarray, epochs: int) -> list[float]:
    """Train in place; the loss of each batch."""
    value_and_gradient = tl.value_and_grad(loss)
    adam, rng, losses = Adam(), np.random.default_rng(2), []
    for _ in range(epochs):
        for batch in np.array_split(rng.permutation(len(labels)), 25):
            value, gradient = value_and_gradient(reader, images[batch], labels[batch])
            adam.step(reader, gradient)
            losses.append(float(value))
    return losses


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=30, help="rounds over the data")
    options = parser.parse_args(argv)
    images, labels = load()
    held, reader = len(labels) // 5, Reader(np.random.default_rng(1))
    gradient = tl.grad(loss)
    gradient(reader, images[:2], labels[:2])  # its classes tell what methods to read
    print(gradient.source)
    losses = train(reader, images[held:], labels[held:], options.steps)
    print(f"loss {losses[0]:.3f} -> {np.mean(losses[-25:]):.3f}")
    print(f"held-out digits {accuracy(reader, images[:held], labels[:held]):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
