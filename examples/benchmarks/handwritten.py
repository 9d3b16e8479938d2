"""Value and gradient of the benchmark programs as an expert writes them by hand."""

from __future__ import annotations

from typing import Any

import numpy as np


def mlp(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, onehot: Any) -> Any:
    h = np.tanh(x @ w1 + b1)
    k = np.tanh(h @ w2 + b2)
    z = k @ w3 + b3
    z -= np.max(z, axis=1, keepdims=True)
    e = np.exp(z)
    s = np.sum(e, axis=1, keepdims=True)
    value = -np.sum(onehot * (z - np.log(s))) / len(x)

    z_bar = (e / s * np.sum(onehot, axis=1, keepdims=True) - onehot) / len(x)
    w3_bar = k.T @ z_bar
    b3_bar = np.sum(z_bar, axis=0)
    k_bar = z_bar @ w3.T
    k_bar *= 1.0 - k * k
    w2_bar = h.T @ k_bar
    b2_bar = np.sum(k_bar, axis=0)
    h_bar = k_bar @ w2.T
    h_bar *= 1.0 - h * h
    return value, (x.T @ h_bar, np.sum(h_bar, axis=0), w2_bar, b2_bar, w3_bar, b3_bar)


def rnn(w: Any, u: Any, b: Any, xs: Any, target: Any) -> Any:
    h = np.zeros(w.shape[0])
    saved = []
    for x in xs:
        saved.append(h)
        h = np.tanh(w @ h + u @ x + b)
    r = h - target
    value = np.sum(r * r)

    w_bar, u_bar, b_bar = np.zeros_like(w), np.zeros_like(u), np.zeros_like(b)
    h_bar = 2.0 * r
    for x in reversed(xs):
        s_bar = h_bar * (1.0 - h * h)
        h = saved.pop()
        w_bar += np.outer(s_bar, h)
        u_bar += np.outer(s_bar, x)
        b_bar += s_bar
        h_bar = w.T @ s_bar
    return value, (w_bar, u_bar, b_bar)


def logistic(w: Any, x: Any, y: Any) -> Any:
    e = np.exp(-y * (x @ w))
    value = np.sum(np.log(1.0 + e))
    return value, (-(y * e / (1.0 + e)) @ x,)


def euler(theta: Any, omega: Any, gravity: Any, steps: Any) -> Any:
    dt = 0.01
    thetas = []
    for _ in range(steps):
        thetas.append(theta)
        a = -gravity * np.sin(theta) - 0.1 * omega
        theta = theta + dt * omega
        omega = omega + dt * a
    value = theta * theta + omega * omega

    theta_bar, omega_bar, gravity_bar = 2.0 * theta, 2.0 * omega, 0.0
    for _ in range(steps):
        theta = thetas.pop()
        a_bar = dt * omega_bar
        gravity_bar -= a_bar * np.sin(theta)
        omega_bar += dt * theta_bar - 0.1 * a_bar
        theta_bar -= a_bar * gravity * np.cos(theta)
    return value, (theta_bar, omega_bar, gravity_bar)
