"""The programs whose emitted text is kept under tests/golden, so that review sees it change.

Written as users write; the comment beside each says what to look at in its derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import tangentlike as tl
from tests.programs import checkpoints, function_values, idioms, made_objects, statements

GRAVITY = 9.81


def loss(w, b, x, y):  # the README's example: helpers where ranks are not known
    p = np.tanh(x @ w + b)
    r = p - y
    return np.sum(r * r)


def final_state(w, u, xs):  # a loop run backwards; only the state is saved
    h = np.zeros(w.shape[0])
    for x in xs:
        h = np.tanh(w @ h + u @ x)
    return np.sum(h)


def smooth(a: np.ndarray, steps):  # a nonlinear stencil: the slice is saved, not the array
    for _ in range(steps):
        a[1:-1] += 0.5 * (a[:-2] * a[2:])
    return np.sum(a)


def diffuse(a: np.ndarray, steps):  # a linear stencil: nothing is saved
    for _ in range(steps):
        a[1:-1] += 0.25 * (a[:-2] - 2.0 * a[1:-1] + a[2:])
    return np.sum(a * a)


def nested(x, n):  # branches in nested loops; items are read again, not saved
    s = 0.0
    for i in range(n):
        for j in range(i + 1):
            t = x[i] * x[j]
            if t > 0.1:
                s = s + np.sin(t) * s
            else:
                s = s - t
    return s


def textbook(x1: float, x2: float):  # the worked example of the textbooks
    return np.log(x1) + x1 * x2 - np.sin(x2)


def euler(x0: float, k: float, n: int):  # numbers only: no helper anywhere
    x = x0
    for _ in range(n):
        x = x + 0.01 * (k * x - x * x * np.sin(x))
    return x


def logistic(w, x, y):  # stable logistic loss over rows
    z = x @ w
    return np.mean(np.logaddexp(0.0, z) - y * z)


def softmax_cross_entropy(w, b, x, labels):  # max, exp, log, gather by an index array
    scores = x @ w + b
    scores = scores - np.max(scores, axis=1, keepdims=True)
    log_z = np.log(np.sum(np.exp(scores), axis=1))
    picked = scores[np.arange(x.shape[0]), labels]
    return np.mean(log_z - picked)


def mlp(params, x, y):  # a dict of parameters, read only
    h = np.maximum(x @ params["w1"] + params["b1"], 0.0)
    p = h @ params["w2"] + params["b2"]
    return np.mean((p - y) ** 2)


def layers(weights, x):  # a list of pairs, iterated
    for w, b in weights:
        x = np.tanh(x @ w + b)
    return np.sum(x)


def power_until(x: float, limit: float):  # while: the rounds are counted
    y = x
    while y < limit:
        y = y * x
    return y


def first_above(xs, level):  # break and continue in structure, no maze of flags
    total = 0.0
    for x in xs:
        if x < 0.0:
            continue
        total += x * x
        if total > level:
            break
    return total


def piecewise(x: float):  # early returns become branches
    if x > 2.0:
        return x * x
    if x > 0.0:
        return 4.0 * x - 4.0
    return -np.exp(x)


def ternary(x: float, y: float):
    z = x if x > y else 0.5 * (x + y)
    return z * z


def guarded_log(x):  # the branch of np.where that is not taken lets no NaN through
    return np.sum(np.where(x > 0.0, np.log(x), x))


def distance(p: float, q: float):
    return np.sqrt(p * p + q * q)


def scale(a: float, c: float):
    return a * c + GRAVITY


def calls(a: float, c: float):  # helpers become pairs, printed above
    return scale(scale(a, c), c) * a


def factorial_like(x: float, n: int):  # recursion
    if n == 0:
        return 1.0
    return x * factorial_like(x, n - 1)


def relax(p: np.ndarray, b: np.ndarray, n):  # writes its argument, returns nothing
    for _ in range(n):
        pn = p.copy()
        p[1:-1] = (pn[:-2] * pn[2:] + b[1:-1]) / 3.0
        p[0] = p[1]


def step(p: np.ndarray, b: np.ndarray, c: float):  # a callee that writes the caller's array
    for _ in range(3):
        b[1:-1] = c * p[2:] * p[:-2]
        relax(p, b, 2)
    return np.sum(p * p)


def cholesky_logdet(a: np.ndarray, n: int):  # Cholesky by entries, in place
    for j in range(n):
        for k in range(j):
            a[j, j] -= a[j, k] * a[j, k]
        a[j, j] = np.sqrt(a[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
    return 2.0 * np.sum(np.log(np.diag(a)))


def swap_buffers(a: np.ndarray, n):  # two buffers change places; no copy is made for it
    b = np.zeros_like(a)
    for _ in range(n):
        b[1:] = a[:-1] * a[1:]
        a, b = b, a
    return np.sum(a)


def row_view(m: np.ndarray, n: int):  # a view that is written: its adjoint is the same view
    for i in range(n):
        row = m[i]
        row[1:] = row[:-1] * 0.5
    return np.sum(m * m)


def moving_average(xs: np.ndarray, rate: float):  # results collected in a list
    mean = 0.0
    means = []
    for x in xs:
        mean = (1.0 - rate) * mean + rate * x
        means.append(mean)
    return np.sum(np.stack(means) ** 2)


def running_product(xs: np.ndarray):
    y = 1.0
    for i in range(len(xs)):
        y = y * xs[i]
    return y


def interpolate(x: float, table: np.ndarray):  # an index computed from a value
    k = int(x)
    t = x - k
    return (1.0 - t) * table[k] + t * table[k + 1]


def normalise(x: np.ndarray):  # names bound again in a straight line
    x = x - np.mean(x)
    x = x / np.sqrt(np.mean(x * x) + 1e-6)
    return np.sum(x**3)


def skip_negative(xs: np.ndarray, w: float):  # continue: a branch
    total = 0.0
    for x in xs:
        if x < 0.0:
            continue
        total += np.sqrt(w * x) * total
    return total


class State(NamedTuple):
    q: float
    p: float


def leapfrog(q: float, p: float, n: int):  # a namedtuple that a loop makes anew
    s = State(q, p)
    for _ in range(n):
        p = s.p - 0.1 * np.sin(s.q)
        s = State(s.q + 0.1 * p, p)
    return s.q * s.p


@dataclass
class Spring:
    k: float
    rest: float


def stored_energy(spring: Spring, x: np.ndarray):  # a dataclass as parameter
    stretch = x - spring.rest
    return 0.5 * spring.k * np.sum(stretch * stretch)


def polynomial(cs, x: float):  # a comprehension is a loop
    return sum([c * x**i for i, c in enumerate(cs) if i != 1])


def clip(h_bar):
    return np.clip(h_bar, -1.0, 1.0)


def clipped_rnn(w: np.ndarray, h: np.ndarray, n: int):  # a hook on the adjoint
    for _ in range(n):
        h = tl.on_adjoint(np.tanh(w @ h), clip)
    return np.sum(h)


def hidden(w: np.ndarray, x: np.ndarray):  # the adjoint of a local: edges into it are cut
    h = np.tanh(w @ x)
    return np.sum(h * h * x)


def kept_functions(w, b, x):  # functions that are kept are objects of classes
    h = x
    for f in [lambda v: v * w, lambda v: np.tanh(v + b)]:
        h = f(h)
    return np.sum(h)


# name of the golden file -> (function, mode, wrt, example arguments or None)
VECTOR, MATRIX = np.ones(4), np.ones((4, 3))
LOSS = (np.ones((3, 2)), np.ones(2), np.ones((5, 3)), np.ones((5, 2)))  # arguments of `loss`
GOLDEN = {
    "loss": (loss, "grad", ("w", "b"), None),
    "loss_known_ranks": (loss, "grad", ("w", "b"), LOSS),
    "loss_value_and_grad": (loss, "value_and_grad", ("w",), None),
    "loss_jvp": (loss, "tangent", ("w",), None),
    "loss_pair": (loss, "pair", ("w", "b"), None),
    "final_state": (final_state, "grad", ("w", "u"), None),
    "final_state_known_ranks": (
        final_state,
        "grad",
        ("w", "u"),
        (np.ones((3, 3)), np.ones((3, 2)), np.ones((7, 2))),
    ),
    "smooth": (smooth, "grad", ("a",), None),
    "smooth_jvp": (smooth, "tangent", ("a",), None),
    "diffuse": (diffuse, "grad", ("a",), None),
    "decorated_call": (checkpoints.decorated_call, "grad", ("w", "h"), None),
    "three_snapshots": (checkpoints.three_snapshots, "grad", ("w",), None),
    "nested": (nested, "grad", ("x",), (VECTOR, 4)),
    "textbook": (textbook, "grad", ("x1", "x2"), None),
    "textbook_jvp": (textbook, "tangent", ("x1", "x2"), None),
    "euler": (euler, "grad", ("x0", "k"), None),
    "logistic": (logistic, "value_and_grad", ("w",), (np.ones(3), MATRIX, VECTOR)),
    "softmax_cross_entropy": (softmax_cross_entropy, "grad", ("w", "b"), None),
    "mlp": (mlp, "grad", ("params",), None),
    "layers": (layers, "grad", ("weights",), None),
    "power_until": (power_until, "grad", ("x",), None),
    "first_above": (first_above, "grad", ("xs",), (VECTOR, 1.0)),
    "piecewise": (piecewise, "grad", ("x",), None),
    "ternary": (ternary, "grad", ("x", "y"), None),
    "guarded_log": (guarded_log, "grad", ("x",), None),
    "distance": (distance, "value_and_grad", ("p", "q"), None),
    "calls": (calls, "grad", ("a", "c"), None),
    "factorial_like": (factorial_like, "grad", ("x",), None),
    "step": (step, "grad", ("p", "b", "c"), None),
    "cholesky_logdet": (cholesky_logdet, "grad", ("a",), (np.eye(3), 3)),
    "swap_buffers": (swap_buffers, "grad", ("a",), None),
    "row_view": (row_view, "grad", ("m",), None),
    "moving_average": (moving_average, "grad", ("xs", "rate"), None),
    "running_product": (running_product, "grad", ("xs",), (VECTOR,)),
    "interpolate": (interpolate, "grad", ("x", "table"), None),
    # Of the language: match, with, try, break beside try, closures, tables, stars, dicts.
    "match_literals": (statements.match_literals, "grad", ("x",), None),
    "with_errstate": (statements.with_errstate, "grad", ("x",), None),
    "try_cholesky": (statements.try_cholesky, "grad", ("a",), None),
    "search_then_try": (idioms.search_then_try, "grad", ("x",), None),
    "seen_at_the_call": (function_values.seen_at_the_call, "grad", ("a",), None),
    "kept_functions": (kept_functions, "grad", ("w", "b"), None),
    "by_name": (function_values.by_name, "grad", ("w", "x"), None),
    "starred_inside": (function_values.starred_inside, "grad", ("a",), None),
    "update_by_keywords": (idioms.update_by_keywords, "grad", ("x", "y"), (1.0, 1.0)),
    "nested_target": (idioms.nested_target, "grad", ("x",), (1.0, 1.0)),
    "normalise": (normalise, "grad", ("x",), None),
    # ... continue, namedtuple, dataclass, comprehension, hook, a local as input
    "skip_negative": (skip_negative, "grad", ("xs", "w"), (VECTOR, 1.0)),
    "leapfrog": (leapfrog, "grad", ("q", "p"), None),
    "stored_energy": (stored_energy, "grad", ("spring", "x"), (Spring(1.0, 0.5), VECTOR)),
    "polynomial": (polynomial, "grad", ("cs", "x"), None),
    "cell_made": (made_objects.cell_made, "grad", ("w", "u", "xs"), None),
    "clipped_rnn": (clipped_rnn, "grad", ("w",), (np.eye(3), np.ones(3), 2)),
    "hidden": (hidden, "grad", ("h",), (np.eye(3), np.ones(3))),
    # Second derivatives: of the derivative that another entry makes.
    "loss_grad_jvp": ("loss_known_ranks", "tangent", ("w", "b"), LOSS),
    "loss_grad_vjp": ("loss_known_ranks", "adjoint", ("w", "b"), LOSS),
    "loss_hvp": ("loss_known_ranks", "change", ("w", "b"), LOSS),
    "loss_hvp_jvp": ("loss_hvp", "change", ("w", "b"), (*LOSS, *LOSS[:2])),
    "smooth_grad_jvp": ("smooth", "tangent", ("a",), (VECTOR, 4)),
    "textbook_jvp_vjp": ("textbook_jvp", "adjoint", ("x1", "x2"), None),
}
