"""Calls and loops whose rounds the reverse sweep runs again instead of keeping them."""

import numpy as np

import tangentlike as tl

from .registry import Program, vector


@tl.checkpoint
def cell(h, w, x):
    z = np.tanh(w @ h + x)
    return z * np.sin(z)


def plain_cell(h, w, x):
    return np.tanh(w @ h + x)


def decorated_call(w, h, xs):
    for x in xs:
        h = cell(h, w, x)
    return np.sum(h)


def inline_call(w, h, xs):
    run = tl.checkpoint(plain_cell)
    for x in xs:
        h = tl.checkpoint(plain_cell)(h, w, x)
    return np.sum(run(h, w, xs[0]))


@tl.checkpoint
def two_cells(h, w, x):
    return cell(cell(h, w, x), w, x)


def nested_calls(w, h, xs):
    for x in xs:
        h = two_cells(h, w, x)
    return np.sum(h * h)


@tl.checkpoint
def product_tower(x, n):
    if n == 0:
        return x
    return np.sin(product_tower(x, n - 1)) * x


def recursive_call(x):
    return np.sum(product_tower(x, 4))


@tl.checkpoint
def react(u, k):
    u[1:-1] = u[1:-1] + k * u[:-2] * u[2:]


def writing_call(u, k):
    v = np.sin(u)
    for _ in range(4):
        react(v, k)
        k = k * 0.9
    return np.sum(v * v)


def every_third(w, h, xs):
    for t in tl.checkpointed(range(len(xs)), every=3):
        h = np.tanh(w @ h + xs[t])
    return np.sum(h * h)


def root_of_rounds(w, h, xs):
    for x in tl.checkpointed(xs):
        h = np.tanh(w @ h + x)
    return np.sum(h * h)


def three_snapshots(w, h, xs):
    s = 0.0
    for i, x in tl.checkpointed(enumerate(xs), snapshots=3):
        z = np.tanh(w @ h + x)
        h = z * np.sin(h)
        s += np.sum(h) * (i + 1.0)
    return s


def while_loop(w, h):
    steps = 0
    while tl.checkpointed(np.sum(h * h) > 0.05 and steps < 40, snapshots=3):
        h = 0.8 * np.tanh(w @ h)
        steps += 1
    return np.sum(h * h) * 100.0


def in_place_stencil(u, k):
    u = u.copy()
    for _ in tl.checkpointed(range(7), snapshots=2):
        lap = u[:-2] - 2.0 * u[1:-1] + u[2:]
        u[1:-1] += k * lap * u[1:-1]
    return np.sum(u * u)


def in_place_array(u: np.ndarray, k):
    for _ in tl.checkpointed(range(7), every=3):
        u += k * np.sin(u)
    return np.sum(u * u)


def loop_in_loop(w, h):
    for i in tl.checkpointed(range(5), every=2):
        for j in tl.checkpointed(range(3), snapshots=1):
            h = np.tanh(w @ h) + i * j * 0.1
    return np.sum(h * h)


def several_states(x, n):
    a, b, k = x[0], x[1] * 1.0, 0
    for i in tl.checkpointed(range(1, n, 2), every=2):
        a, b = b * np.sin(a), a + b * b * 0.1
        k = k + i
    return a * b * k


def on_disk(w, h, xs):
    for t in tl.checkpointed(range(len(xs)), snapshots=3, to="disk"):
        h = np.tanh(w @ h + xs[t])
    return np.sum(h * h)


def no_round(w, h):
    for _ in tl.checkpointed(range(0), snapshots=2):
        h = np.tanh(w @ h)
    return np.sum(w @ h)


def call_in_loop(w, h, xs):
    for x in tl.checkpointed(xs, snapshots=2):
        if x[0] > 0.0:
            h = cell(h, w, x)
        else:
            h = 0.5 * h
    return np.sum(h)


def branch_and_trajectory(x0, a):
    path = np.zeros(9)
    x = x0 * 1.0
    for t in tl.checkpointed(range(8), snapshots=3):
        if x > 0.5:
            x = a * x * (1.0 - x)
        else:
            x = a * x * 0.7
        path[t + 1] = x
    return np.sum(path * path)


def advance(idx, y, k):
    idx[0] = idx[0] + 1
    return y * np.sin(y[idx[0]]) * k


def index_moved_by_callee(x, k):
    idx = np.zeros(1, dtype=int)
    y = x * 1.0
    for _ in range(3):
        y = y * x[idx[0]]
        y = advance(idx, y, k)
        y = y * np.cos(x[idx[0]])
    return np.sum(y)


advance_again = tl.checkpoint(advance)


def index_moved_by_checkpoint(x, k):
    idx = np.zeros(1, dtype=int)
    y = x * 1.0
    for _ in range(3):
        y = y * x[idx[0]]
        y = advance_again(idx, y, k)
        y = y * np.cos(x[idx[0]])
    return np.sum(y)


def index_moved_by_loop(x, k):
    idx = np.zeros(1, dtype=int)
    y = x * 1.0
    for _ in range(2):
        idx[0] = 0
        for _ in tl.checkpointed(range(3), snapshots=2):
            y = y * x[idx[0]]
            idx[0] = idx[0] + 1
            y = y * np.sin(y[idx[0]]) * k
        y = y * np.cos(x[idx[0]])
    return np.sum(y) * x[idx[0]]


def _recurrence(rng):
    return 0.6 * rng.standard_normal((3, 3)), rng.standard_normal(3), rng.standard_normal((8, 3))


def _matrix(rng):
    return 0.3 + 0.3 * rng.random((3, 3)), 0.5 + rng.random(3)


def _line(rng):
    return rng.uniform(0.2, 1.0, 8), float(rng.uniform(0.05, 0.2))


_SEQUENCES = (decorated_call, inline_call, nested_calls, every_third, root_of_rounds,
              three_snapshots, on_disk, call_in_loop)  # fmt: skip

PROGRAMS = [
    *(Program(f, _recurrence, wrt=(0, 1, 2)) for f in _SEQUENCES),
    *(Program(f, _matrix, wrt=(0, 1)) for f in (while_loop, loop_in_loop, no_round)),
    *(Program(f, _line, wrt=(0, 1)) for f in (writing_call, in_place_stencil, in_place_array)),
    Program(recursive_call, vector(4)),
    *(
        Program(f, lambda rng: (rng.uniform(0.4, 1.2, 4), 1.2), wrt=(0, 1))
        for f in (index_moved_by_callee, index_moved_by_checkpoint, index_moved_by_loop)
    ),
    Program(several_states, lambda rng: (rng.uniform(0.4, 1.2, 2), 9)),
    Program(branch_and_trajectory, lambda rng: (0.3, float(rng.uniform(2.6, 2.8))), wrt=(0, 1)),
]
