"""Functions that capture what is differentiated, kept in lists and dicts and called from there."""

import functools

import numpy as np

from .registry import Make, Program


def _vectors(count: int) -> Make:
    return lambda rng: tuple(rng.uniform(0.3, 0.9, 3) for _ in range(count))


def gone_through(w, b, x):
    h = x
    for f in [lambda v: v * w, np.tanh, lambda v: v + b]:
        h = f(h)
    end = h * h
    fs = (lambda v: v * end, lambda v: np.sin(v) * w)
    s = sum(np.sum(f(x)) for f in fs)
    for f, c in zip(fs, [0.5, 2.0], strict=True):
        s = s + c * np.sum(f(b))
    return s


def looked_up(w, b, x):
    def scale(v):
        return v * w if np.sum(v) > 0.0 else v - w

    acts = {"scale": scale, "shift": lambda v: np.tanh(v + b)}
    acts["both"] = lambda v: scale(v) + b
    s = np.sum(acts["shift"](x))
    for name in ("scale", "shift"):
        s = s + np.sum(acts[name](x) ** 2)
    fs = [lambda v: v * w, lambda v: v + w]
    for i in range(4):
        x = fs[i % 2](x)
    return s + np.sum(x)


def filled_in_a_loop(w, x):
    fs = []
    for k in range(3):
        fs.append(lambda v, k=k: np.sin(v * w + k))
    gs = [lambda v, c=c: v + c * w for c in (0.5, 2.0)]
    h = x
    for f in fs:
        h = f(h)
    for f in gs:
        h = f(h)
    for n in range(2):
        f = gs[-1 - n]
        h = h * f(x)
    return np.sum(h)


def chosen_before(w, b, x, n):
    def ahead(v):
        return v * w

    def back(v):
        return v - w * b

    f = ahead if n > 2 else back
    g = (lambda v: np.sin(v) * b) if n > 5 else f
    if n > 1:
        step = lambda v, first=f: first(v) + b  # noqa: E731
    else:
        step = np.cos
    for _ in range(n):
        f, g = g, f
    return np.sum(f(x) * g(step(x)))


def _apply_all(table, x):
    return {name: f(x) for name, f in table.items()}


def _made(c):
    return {"scale": lambda v: v * c, "shift": lambda v: v + c * c}


class _Layer:
    def __init__(self, w, act):
        self.w, self.act = w, act

    def __call__(self, x):
        return self.act(self.w * x)


def given_and_returned(w, b, x):
    def power(c, v):
        return np.sum(c * v) * v

    out = _apply_all({"a": lambda v: v * w, "b": functools.partial(power, b)}, x)
    table = _made(w)
    for layer in [_Layer(w, lambda v: v * b), _Layer(b, lambda v: np.tanh(v) * w)]:
        x = layer(x)
    fold = functools.reduce(lambda h, f: f(h), [lambda v: v * w, np.sin], x)
    return np.sum(out["a"] * out["b"]) + np.sum(table["shift"](x)) + np.sum(fold)


def beside_their_weights(w, b, x):
    h = x
    for k, act in [(w, np.tanh), (b, np.sin)]:
        h = act(k * h)
    for k, act in [(w, lambda v: v * b), (b, lambda v: v + w)]:
        h = act(k * h)
    return np.sum(h)


@functools.singledispatch
def _size(shape, factor=1.0):
    return factor * shape * shape


@_size.register
def _of_array(shape: np.ndarray, factor=1.0):
    return factor * np.sum(shape**3)


@_size.register(list)
def _of_list(shape, factor=1.0):
    return sum(_size(part, factor) for part in shape)


def by_type(w, b, x):
    s = _size(w) + _size([b, b[0] * x[1]], factor=x[0])
    for part in (x, s):
        s = s + _size(part)
    return s


PROGRAMS = [
    Program(beside_their_weights, _vectors(3), (0, 1, 2)),
    Program(by_type, _vectors(3), (0, 1, 2)),
    Program(gone_through, _vectors(3), (0, 1, 2)),
    Program(looked_up, _vectors(3), (0, 1, 2)),
    Program(filled_in_a_loop, _vectors(2), (0, 1)),
    Program(chosen_before, lambda rng: (*_vectors(3)(rng), 3), (0, 1, 2)),
    Program(given_and_returned, _vectors(3), (0, 1, 2)),
]
