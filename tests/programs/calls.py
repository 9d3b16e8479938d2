"""Calls of the user's own functions: positional, keyword, defaults, closures, globals."""

import numpy as np

from .registry import Program, vector

WEIGHTS = np.array([0.5, -1.0, 2.0])
SCALE = 3.0


def square(x):
    return x * x


def affine(x, slope=2.0, *, offset=0.5):
    return slope * x + offset


def polar(x, y):
    return np.sqrt(x * x + y * y), np.arctan2(y, x)


def smooth_abs(x, eps=1e-2):
    if eps == 0.0:
        return abs(x)
    return np.sqrt(square(x) + eps)


def total(*parts):
    s = 0.0
    for p in parts:
        s = s + p
    return s


def positional(x):
    return np.sum(square(np.sin(x)) * square(x))


def keywords(x, y):
    return np.sum(affine(slope=y, x=x, offset=x * y))


def defaults(x):
    return np.sum(affine(x) * affine(x, 3.0) * affine(x, offset=-1.0))


def several_results(x, y):
    r, phi = polar(x, y)
    return r * np.sin(3.0 * phi)


def result_unused(x, y):
    r, _ = polar(x, y)
    return r * r


def nested_calls(x):
    return np.sum(smooth_abs(smooth_abs(x) - affine(x, 0.5)))


def in_loop(x):
    for k in range(3):
        x = affine(smooth_abs(x), slope=0.9, offset=0.1 * k)
    return np.sum(x)


def starred(x, y):
    pair = (x * y, x - y)
    return np.sum(total(x, *pair) * total()) + np.sum(total(*pair) ** 2)


def module_globals(x):
    return SCALE * np.sum(WEIGHTS * np.sin(x))


def apply_twice(f, x):
    return f(f(x))


def function_argument(x):
    return np.sum(apply_twice(square, x) + apply_twice(np.sin, x))


def make_quadratic(scale, center):
    def quadratic(x):
        d = x - center
        return scale * np.sum(d * d)

    return quadratic


closure = make_quadratic(1.5, np.array([0.1, 0.2, 0.3]))


def inner_function(x, y):
    def damp(t):
        return t * np.exp(-t * t)

    return np.sum(damp(x) * damp(y))


def inner_closure(x, y):
    def shifted(t):
        return np.sin(t) + y

    return np.sum(shifted(x) * shifted(2.0 * x))


def local_lambda(x):
    cube = lambda t: t**3  # noqa: E731
    return np.sum(cube(x) + cube(1.0 + x))


def same_argument_twice(x):
    return np.sum(multiply_shift(x, x))


def multiply_shift(a, b):
    c = a * b
    return c + b


def early(x, limit=1.0):
    if np.sum(x) > limit:
        return x * 2.0
    return x * x


def early_helper(x):
    return np.sum(early(x) * early(x, limit=-10.0))


def unit(x):
    return x / np.linalg.norm(x)


def cosine_similarity(x, y):
    return unit(x) @ unit(y)


def nothing_useful(x):
    note(x)
    return np.sum(x * x)


def note(x):
    if np.sum(x) > 1e9:
        print("large", x)


PROGRAMS = [
    Program(positional, vector(3)),
    Program(keywords, lambda rng: (rng.normal(size=3), 0.7), (0, 1)),
    Program(defaults, vector(3)),
    Program(several_results, lambda rng: (0.8, 0.3), (0, 1)),
    Program(result_unused, lambda rng: (0.8, 0.3), (0, 1)),
    Program(nested_calls, vector(3)),
    Program(in_loop, vector(3)),
    Program(starred, lambda rng: (rng.normal(size=3), rng.normal(size=3)), (0, 1)),
    Program(module_globals, vector(3)),
    Program(function_argument, vector(3)),
    Program(closure, vector(3)),
    Program(inner_function, lambda rng: (rng.normal(size=3), rng.normal(size=3)), (0, 1)),
    Program(inner_closure, lambda rng: (rng.normal(size=3), 0.4), (0, 1)),
    Program(local_lambda, vector(3)),
    Program(same_argument_twice, vector(3)),
    Program(early_helper, vector(3)),
    Program(cosine_similarity, lambda rng: (rng.normal(size=3), rng.normal(size=3)), (0, 1)),
    Program(nothing_useful, vector(3)),
]
