"""Two ways to differentiate an expectation by sampling, beside the answer that is known.

For x drawn from a normal distribution with mean m and deviation s, E[x**2] is m**2 + s**2, with
the gradient (2 m, 2 s). The reparameterised estimator moves each draw with m and s; the score
function (policy gradient) weighs the gradient of the logarithm of the density with the reward.

    python examples/estimators.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import tangentlike as tl


def reparameterised(m, s, rng: np.random.Generator, count):
    """The mean reward of draws that depend on m and s."""
    x = rng.normal(m, s, count)
    return np.mean(x**2)


def score_function(m, s, rng: np.random.Generator, count):
    """A mean whose gradient is that of the expected reward; the draws themselves stand still."""
    x = tl.stop_gradient(rng.normal(m, s, count))
    reward = x**2
    advantage = reward - np.mean(reward)  # a baseline: less noise, the same mean
    log_density = -0.5 * ((x - m) / s) ** 2 - np.log(s)
    return np.mean(advantage * log_density)


def policy(theta, rng: np.random.Generator, count):
    """A bandit with three arms: the gradient of the expected reward of a softmax policy."""
    p = np.exp(theta - np.max(theta))
    p = p / np.sum(p)
    arm = rng.choice(3, size=count, p=tl.stop_gradient(p))
    reward = np.array([1.0, 2.0, 4.0])[arm]
    return np.mean(reward * np.log(p)[arm])


def policy_answer(theta):
    p = np.exp(theta - np.max(theta))
    p = p / np.sum(p)
    rewards = np.array([1.0, 2.0, 4.0])
    return p * (rewards - p @ rewards)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200_000, help="draws for each estimate")
    count = parser.parse_args(argv).count
    m, s = 0.8, 1.5
    print(tl.grad(score_function, wrt=("m", "s")).source)
    print(f"answer            {2 * m:8.4f} {2 * s:8.4f}")
    for fn in (reparameterised, score_function):
        found = tl.grad(fn, wrt=("m", "s"))(m, s, np.random.default_rng(0), count)
        print(f"{fn.__name__:<17s} {found[0]:8.4f} {found[1]:8.4f}")
    theta = np.array([0.2, -0.4, 0.1])
    print("policy answer    ", policy_answer(theta))
    print("policy gradient  ", tl.grad(policy)(theta, np.random.default_rng(0), count))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
