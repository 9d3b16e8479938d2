"""While loops: trip counts computed from values, `while True`, break, continue, else."""

import numpy as np

from .registry import Program, numbers, vector


def newton_root(a):
    x = a
    while abs(x * x - a) > 1e-13 * a:
        x = 0.5 * (x + a / x)
    return x


def halvings(x):
    n = 0
    while x > 1.0:
        x = 0.5 * x + 0.1 * np.sin(x)
        n += 1
    return x * n


def geometric_mean(a, b):
    while abs(a - b) > 1e-14:
        a, b = 0.5 * (a + b), np.sqrt(a * b)
    return a


def exponential_series(x):
    total, term, k = 1.0, 1.0, 1
    while abs(term) > 1e-17:
        term = term * x / k
        total += term
        k += 1
    return total


def until_break(x):
    y = x
    while True:
        y = y * y + 0.1
        if y > 3.0:
            break
        y = y + 0.2 * x
    return y


def skipping(x):
    i = -1
    s = 0.0
    while i < len(x) - 1:
        i += 1
        if x[i] < 0.0:
            continue
        s = s + x[i] ** 2 * (1.0 + s)
    return s


def nested_while(x):
    s, i = 0.0, 0
    while i < 3:
        j = i
        while j < 4:
            s = s + x[i] * x[j] * np.cos(s)
            j += 1
        i += 1
    return s


def never_entered(x):
    y = x * 2.0
    while np.sum(y) > 1e6:
        y = y * 0.5
    return np.sum(y * y)


def while_else(x):
    n = 0
    while n < 3:
        x = np.sin(x) + x
        n += 1
        if x > 50.0:
            break
    else:
        x = x * 0.5
    return x


def power_iteration(a, v):
    n = 0
    value = 0.0
    while n < 8:
        w = a @ v
        value = np.sqrt(np.sum(w * w))
        v = w / value
        n += 1
    return value


def continued_fraction(x, depth):
    k = depth
    y = x
    while k > 0:
        y = k + x / y
        k -= 1
    return y


def fixed_point(c):
    x = 0.0
    change = 1.0
    while change > 1e-12:
        new = c * np.cos(x)
        change = abs(new - x)
        x = new
    return x


PROGRAMS = [
    Program(newton_root, numbers((2.0, 4.0)), oracle=np.sqrt),
    Program(halvings, lambda rng: (9.3,)),
    Program(geometric_mean, lambda rng: (1.0, 2.5), (0, 1)),
    Program(exponential_series, numbers((0.5, 1.5)), oracle=np.exp),
    Program(until_break, lambda rng: (0.9,)),
    Program(skipping, vector(5)),
    Program(nested_while, vector(4)),
    Program(never_entered, vector(3)),
    Program(while_else, lambda rng: (0.4,)),
    Program(
        power_iteration,
        lambda rng: (rng.normal(size=(3, 3)) + 3.0 * np.eye(3), rng.normal(size=3)),
        (0, 1),
    ),
    Program(continued_fraction, lambda rng: (1.3, 5)),
    Program(fixed_point, lambda rng: (0.6,)),
]
