"""A residual block (convolution, normalisation, ReLU, twice, and the skip) learns line directions.

Images are 8 x 8 with a noisy line; the network says which of four directions it has. The
convolution is written as nine shifted matrix products, in place into its output.

    python examples/resnet_block.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import tangentlike as tl

CHANNELS, CLASSES = 6, 4


def convolution(x, kernel):
    n, h, w, _ = x.shape
    padded = np.zeros((n, h + 2, w + 2, x.shape[3]))
    padded[:, 1:-1, 1:-1, :] = x
    y = np.zeros((n, h, w, kernel.shape[3]))
    for i in range(3):
        for j in range(3):
            y += padded[:, i : i + h, j : j + w, :] @ kernel[i, j]
    return y


def normalise(x, gain, shift):
    mean = np.mean(x, axis=(0, 1, 2))
    var = np.var(x, axis=(0, 1, 2))
    return gain * (x - mean) / np.sqrt(var + 1e-5) + shift


def residual_block(x, block):
    y = convolution(x, block["first"])
    y = np.maximum(normalise(y, block["gain1"], block["shift1"]), 0.0)
    y = convolution(y, block["second"])
    y = normalise(y, block["gain2"], block["shift2"])
    return np.maximum(x + y, 0.0)


def scores(params, images):
    x = convolution(images[..., None], params["stem"])
    x = residual_block(x, params["block"])
    pooled = np.mean(x, axis=(1, 2))
    return pooled @ params["w"] + params["b"]


def loss(params, images, labels):
    z = scores(params, images)
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(len(labels)), labels])


def lines(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy images of a line through a random point: flat, upright, rising or falling."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    row, column = np.mgrid[0:8, 0:8]
    images = 0.3 * rng.normal(size=(count, 8, 8))
    for k, label in enumerate(labels):
        i, j = rng.integers(2, 6, 2)
        offset = (row - i, column - j, row - i + column - j, row - i - column + j)[label]
        images[k] += 1.0 * (offset == 0)
    return images, labels


def initial_params(seed: int) -> dict:
    rng = np.random.default_rng(seed)

    def kernel(inputs: int) -> np.ndarray:
        return rng.normal(size=(3, 3, inputs, CHANNELS)) * np.sqrt(2.0 / (9 * inputs))

    block = {"first": kernel(CHANNELS), "second": kernel(CHANNELS)}
    for k in ("1", "2"):
        block["gain" + k], block["shift" + k] = np.ones(CHANNELS), np.zeros(CHANNELS)
    w = rng.normal(size=(CHANNELS, CLASSES)) / np.sqrt(CHANNELS)
    return {"stem": kernel(1), "block": block, "w": w, "b": np.zeros(CLASSES)}


def stepped(params: dict, gradient: dict, velocity: dict, rate: float) -> None:
    """One step of gradient descent with momentum on a tree of arrays, in place."""
    for name, g in gradient.items():
        if isinstance(g, dict):
            stepped(params[name], g, velocity.setdefault(name, {}), rate)
            continue
        velocity[name] = 0.9 * velocity.get(name, 0.0) - rate * g
        params[name] += velocity[name]


def train(steps: int, seed: int = 0) -> tuple[dict, list[float]]:
    images, labels = lines(256, seed)
    gradient = tl.value_and_grad(loss)
    params, velocity = initial_params(seed), {}
    rng = np.random.default_rng(seed)
    losses = []
    for _ in range(steps):
        batch = rng.integers(0, len(labels), 32)
        value, bar = gradient(params, images[batch], labels[batch])
        stepped(params, bar, velocity, 0.05)
        losses.append(float(value))
    return params, losses


def accuracy(params: dict, images: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(np.argmax(scores(params, images), axis=1) == labels))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    print(tl.grad(loss).source)
    params, losses = train(options.steps, options.seed)
    if losses:
        print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f} in {len(losses)} steps")
    print(f"accuracy on new images {accuracy(params, *lines(200, options.seed + 1)):.1%}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
