"""Branches: if/elif/else, ternaries, early returns, conditions of several parts, assertions."""

import numpy as np

from .registry import Program, numbers, vector


def huber(r, delta):
    if abs(r) <= delta:
        return 0.5 * r * r
    return delta * (abs(r) - 0.5 * delta)


def relu_sum(x):
    total = 0.0
    for v in x:
        total = total + (v if v > 0.0 else 0.1 * v)
    return total


def three_ways(x):
    if x < -0.5:
        y = x * x
    elif x < 0.5:
        y = np.sin(x)
    else:
        y = np.exp(-x)
    return y * x


def nested_if(x, y):
    z = x * y
    if x > 0.0:
        z = z + x
        if y > 0.0:
            z = z * y
        else:
            z = z - y * y
    elif y > 0.0:
        z = np.cos(z)
    return z * z


def early_return(x):
    s = np.sum(x)
    if s > 100.0:
        return s
    y = x * s
    if np.max(y) > 50.0:
        return np.max(y)
    return np.sum(y * y)


def early_return_in_loop(x, limit):
    s = 0.0
    for v in x:
        s = s + v * v
        if s > limit:
            return s * v
    return s


def ternary_chain(x):
    y = -x if x < 0.0 else x * x if x < 2.0 else 4.0 * x - 4.0
    return y * y


def ternary_in_argument(x, flag):
    return np.sum(np.sin(x if flag else 2.0 * x) * (x if not flag else 1.0))


def several_conditions(x, y):
    if (x > 0.0 and y > 0.0) or x + y > 3.0:
        return x * y
    if not (x < -1.0 or y < -1.0) and -2.0 < x < 2.0:
        return x - y * y
    return x + y


def one_branch_only(x):
    y = np.sin(x)
    if np.sum(x) > 0.0:
        scale = 2.0 + x[0]
        y = y * scale
    return np.sum(y)


def name_of_one_branch(x, use):
    if use:
        extra = x * x
    z = np.exp(x)
    if use:
        z = z + extra
    return np.sum(z)


def different_types(x, average):
    if average:
        y = np.mean(x)
    else:
        y = x[0]
    return y * y


def where_and_masks(x):
    y = np.where(x > 0.0, np.log1p(np.abs(x)), x * x)
    z = np.minimum(y, 0.8) + np.maximum(x, -0.2) + np.clip(x, -0.5, 0.5)
    return np.sum(z * y)


def checked(x):
    assert x.ndim == 1, "a vector, please"
    if x.size == 0:
        raise ValueError("empty")
    y = np.sqrt(np.sum(x * x))
    print("norm", f"{y:.3f}")
    return y * x[0]


def default_or(x, scale=None):
    scale = scale or 2.0
    if scale is None:
        return x
    return np.sum(x * x) * scale


def flag_kept(x):
    rising = x[1] > x[0]
    t = x * x
    if rising:
        t = t * 2.0
    u = np.sum(t)
    return u if rising else -u


def constant_branch(x):
    if x > 10.0:
        y = x * 2.0
    else:
        y = 3.0
    return y * x


PROGRAMS = [
    Program(huber, lambda rng: (1.7, 1.0), (0, 1)),
    Program(relu_sum, vector(5)),
    Program(three_ways, lambda rng: (0.2,)),
    Program(nested_if, lambda rng: (0.7, -0.4), (0, 1)),
    Program(early_return, vector(4)),
    Program(early_return_in_loop, lambda rng: (rng.uniform(0.5, 1, 6), 1.5)),
    Program(ternary_chain, lambda rng: (1.3,)),
    Program(ternary_in_argument, lambda rng: (rng.normal(size=3), True)),
    Program(several_conditions, lambda rng: (0.4, -0.3), (0, 1)),
    Program(one_branch_only, vector(3, 0.1, 1.0)),
    Program(name_of_one_branch, lambda rng: (rng.normal(size=3), True)),
    Program(different_types, lambda rng: (rng.normal(size=3), False)),
    Program(where_and_masks, lambda rng: (np.array([-0.9, -0.3, 0.1, 0.4, 0.7, 1.4]),)),
    Program(checked, vector(3)),
    Program(default_or, vector(3)),
    Program(flag_kept, vector(3)),
    Program(constant_branch, numbers((0.5, 1.5))),
]
