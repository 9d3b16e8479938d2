"""A tanh recurrent network forecasts monthly airline passengers (1949 to 1960, thousands).

The gradient runs backwards through the loop over the months. The last two years are held out.

    python examples/rnn.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import tangentlike as tl

PASSENGERS = """
    112 118 132 129 121 135 148 148 136 119 104 118
    115 126 141 135 125 149 170 170 158 133 114 140
    145 150 178 163 172 178 199 199 184 162 146 166
    171 180 193 181 183 218 230 242 209 191 172 194
    196 196 236 235 229 243 264 272 237 211 180 201
    204 188 235 227 234 264 302 293 259 229 203 229
    242 233 267 269 270 315 364 347 312 274 237 278
    284 277 317 313 318 374 413 405 355 306 271 306
    315 301 356 348 355 422 465 467 404 347 305 336
    340 318 362 348 363 435 491 505 404 359 310 337
    360 342 406 396 420 472 548 559 463 407 362 405
    417 391 419 461 472 535 622 606 508 461 390 432
"""
HELD_OUT = 24


def loss(w, u, b, v, c, xs, targets):
    h = np.zeros(w.shape[0])
    total = 0.0
    for x, target in zip(xs, targets):
        h = np.tanh(w @ h + u @ x + b)
        total = total + (v @ h + c - target) ** 2
    return total / len(xs) + 0.02 * (np.sum(w * w) + np.sum(u * u) + np.sum(v * v))


WEIGHTS = ("w", "u", "b", "v", "c")


def series() -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets: monthly changes of the logarithm, scaled; the input knows the season.

    An input is the last change, the change of the same month a year before, and the month as a
    point on the circle.
    """
    change = np.diff(np.log(np.array(PASSENGERS.split(), dtype=float))) / 0.1
    months = 2.0 * np.pi * np.arange(len(change)) / 12.0
    inputs = [change[11:-1], change[:-12], np.sin(months[12:]), np.cos(months[12:])]
    return np.stack(inputs, axis=1), change[12:]


def initial_weights(hidden: int, seed: int) -> list[np.ndarray | float]:
    rng = np.random.default_rng(seed)
    w = 0.5 * rng.normal(size=(hidden, hidden)) / np.sqrt(hidden)
    u = 0.5 * rng.normal(size=(hidden, 4))
    return [w, u, np.zeros(hidden), 0.5 * rng.normal(size=hidden), 0.0]


def train(
    steps: int, hidden: int = 10, seed: int = 0
) -> tuple[list[np.ndarray | float], list[float]]:
    """Adam over the whole sequence, gradients clipped by their norm."""
    xs, targets = (part[:-HELD_OUT] for part in series())
    gradient = tl.value_and_grad(loss, wrt=WEIGHTS)
    weights = initial_weights(hidden, seed)
    means = [np.zeros_like(p) for p in weights]
    squares = [np.zeros_like(p) for p in weights]
    losses = []
    for t in range(1, steps + 1):
        value, bars = gradient(*weights, xs, targets)
        norm = np.sqrt(sum(np.sum(g * g) for g in bars))
        losses.append(float(value))
        for k, g in enumerate(bars):
            g = g * min(1.0, 1.0 / norm)
            means[k] = 0.9 * means[k] + 0.1 * g
            squares[k] = 0.99 * squares[k] + 0.01 * g * g
            step = 0.01 * means[k] / (1 - 0.9**t)
            weights[k] = weights[k] - step / (np.sqrt(squares[k] / (1 - 0.99**t)) + 1e-8)
    weights[4] = float(weights[4])
    return weights, losses


def held_out_errors(weights: Sequence[np.ndarray | float]) -> tuple[float, float]:
    """Mean squared errors on the last two years: the network's, and of "as a year ago"."""
    w, u, b, v, c = weights
    xs, targets = series()
    h, predictions = np.zeros(len(b)), []
    for x in xs:
        h = np.tanh(w @ h + u @ x + b)
        predictions.append(v @ h + c)
    errors = (np.array(predictions) - targets)[-HELD_OUT:]
    naive = (xs[:, 1] - targets)[-HELD_OUT:]
    return float(np.mean(errors**2)), float(np.mean(naive**2))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--hidden", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    print(tl.grad(loss, wrt=WEIGHTS).source)
    weights, losses = train(options.steps, options.hidden, options.seed)
    for t in sorted({0, *range(49, len(losses), 50), len(losses) - 1} & set(range(len(losses)))):
        print(f"step {t + 1:4}  loss {losses[t]:.4f}")
    network, naive = held_out_errors(weights)
    print(f"last two years, squared error: network {network:.4f}, as a year ago {naive:.4f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
