"""Loops: over ranges of any bounds and step, arrays, lists, tuples, zip, enumerate, reversed."""

import numpy as np

from .registry import Program, numbers, vector


def power(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


def counted_down(x):
    s = 0.0
    for i in range(len(x) - 1, 0, -2):
        s = s * 0.5 + x[i] * x[i - 1]
    return s


def bounds_and_step(x, start, stop, step):
    s = np.sin(x[0])
    for i in range(start, stop, step):
        s = s * x[i] + i
    return s


def never_entered(x, n):
    y = x * x
    for i in range(n):
        y = y * x + i
    return np.sum(y)


def rows(a, x):
    total = 0.0
    for row in a:
        total = total + np.tanh(row @ x)
    return total


def list_of_numbers(x):
    s = 0.0
    for c in [0.5, -1.0, 2.0]:
        s = s + c * np.sin(c * x)
    return s


def tuple_of_arrays(x, y):
    s = 0.0
    for v in (x, y, x * y):
        s = s + np.sum(v) * s + v[0]
    return s


def pairs(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s = s + a * b * np.cos(s)
    return s


def triples(x, y):
    s = 1.0
    for i, (a, b) in enumerate(zip(x, y)):
        s = s + (a - b) ** 2 * (i + 1) / s
    return s


def horner(coefficients, x):
    y = 0.0
    for c in reversed(coefficients):
        y = y * x + c
    return y


def enumerate_from(x):
    s = 0.0
    for k, v in enumerate(x, 1):
        s = s + v**k / k
    return s


def triangular(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i + 1):
            t = x[i] * x[j]
            if t > 0.1:
                s = s + np.sin(t) * s
            else:
                s = s - t
    return s


def with_break(x, limit):
    s = 1.0
    for v in x:
        s = s * (1.0 + v)
        if s > limit:
            break
        s = s + 0.1 * v
    return s * s


def with_continue(x):
    s = 0.5
    for v in x:
        if v < 0.0:
            continue
        s = s + v * s
    return s


def break_and_continue(x):
    s = 0.0
    count = 0
    for i in range(len(x)):
        for j in range(len(x)):
            if j == i:
                continue
            if x[j] * x[i] > 0.9:
                break
            s = s + x[i] * x[j] ** 2
            count += 1
    return s / (1 + count)


def loop_else(x, limit):
    s = 0.0
    for v in x:
        s = s + v * v
        if s > limit:
            break
    else:
        s = s * 2.0
    return s


def read_after_loop(x):
    for i in range(3):
        t = x[i] * x[i + 1]
    return t * i


def fibonacci(a, b, n):
    for _ in range(n):
        a, b = b, 0.5 * a * b + a
    return a


def tanh_rnn(w, u, xs):
    h = np.zeros(w.shape[0])
    for x in xs:
        h = np.tanh(w @ h + u @ x)
    return np.sum(h)


def pendulum(theta, omega, damping, steps):
    dt = 0.05
    for _ in range(steps):
        theta, omega = theta + dt * omega, omega - dt * (np.sin(theta) + damping * omega)
    return theta * theta + omega * omega


def logistic_map(x, r):
    for _ in range(6):
        x = r * x * (1.0 - x)
    return x


def running_maximum(x):
    best = x[0]
    total = 0.0
    for v in x[1:]:
        if v > best:
            best = v
        total = total + best * v
    return total


def comprehension(x):
    squares = [v * v for v in x]
    table = [squares[i] * np.sin(x[j]) for i in range(3) for j in range(2) if i != j]
    return sum(table) + sum(v for v in squares)


def collected(x):
    states = []
    h = x
    for i in range(4):
        h = np.sin(h) + 0.1 * i
        states.append(h)
    return np.sum(np.stack(states) ** 2) + states[-1][0]


def written_loop_variable(x):
    s = 0.0
    for v in x:
        v = v * v
        s = s + v
        v = s
    return s * v


def deep(x):
    s = np.zeros(2)
    for i in range(2):
        for j in range(3):
            for k in range(j, 3):
                s = s + np.array([x[i], x[j]]) * np.sin(x[k])
    return s[0] * s[1]


PROGRAMS = [
    Program(power, lambda rng: (1.1, 5)),
    Program(counted_down, vector(6)),
    Program(bounds_and_step, lambda rng: (rng.normal(size=9), 1, 9, 3)),
    Program(never_entered, lambda rng: (rng.normal(size=3), 0)),
    Program(rows, lambda rng: (rng.normal(size=(4, 3)), rng.normal(size=3)), (0, 1)),
    Program(list_of_numbers, numbers((-1, 1))),
    Program(tuple_of_arrays, lambda rng: (rng.normal(size=3), rng.normal(size=3)), (0, 1)),
    Program(pairs, lambda rng: (rng.normal(size=4), rng.normal(size=4)), (0, 1)),
    Program(triples, lambda rng: (rng.normal(size=4), rng.normal(size=4)), (0, 1)),
    Program(horner, lambda rng: (rng.normal(size=5), 0.7), (0, 1)),
    Program(enumerate_from, vector(4)),
    Program(triangular, lambda rng: (rng.normal(size=4), 4)),
    Program(with_break, lambda rng: (np.array([0.3, 0.4, 0.5, 0.6, 0.7]), 2.0)),
    Program(with_continue, lambda rng: (np.array([0.3, -0.4, 0.5, -0.6, 0.7]),)),
    Program(break_and_continue, lambda rng: (np.array([0.3, 1.5, 0.5, -0.6, 0.7]),)),
    Program(loop_else, lambda rng: (rng.uniform(0.1, 0.5, 4), 9.0)),
    Program(read_after_loop, vector(4)),
    Program(fibonacci, lambda rng: (0.6, 0.8, 6), (0, 1)),
    Program(
        tanh_rnn,
        lambda rng: (
            0.5 * rng.normal(size=(3, 3)),
            rng.normal(size=(3, 2)),
            rng.normal(size=(5, 2)),
        ),
        (0, 1, 2),
    ),
    Program(pendulum, lambda rng: (0.4, 0.1, 0.2, 10), (0, 1, 2)),
    Program(logistic_map, lambda rng: (0.3, 2.8), (0, 1)),
    Program(running_maximum, vector(6)),
    Program(comprehension, vector(3)),
    Program(collected, vector(3)),
    Program(written_loop_variable, vector(3)),
    Program(deep, vector(3)),
]
