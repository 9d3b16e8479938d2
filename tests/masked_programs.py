"""Programs that keep a singular point away by a mask, in every spelling.

Each takes one array (some two). `still` are the entries of the first argument where the function
is held by the mask and the derivative by them is 0, although an operation before the mask has an
infinite derivative there. `loud`: NumPy warns when the function itself runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SIGNED = (-1.5, 0.0, 0.7, 2.0)
POSITIVE = (0.0, 0.4, 1.3, 2.0)


@dataclass(frozen=True)
class Masked:
    fn: Callable[..., Any]
    x: tuple[float, ...] = SIGNED
    still: tuple[int, ...] = (1,)
    loud: bool = False
    other: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        return self.fn.__name__

    def arguments(self) -> list[np.ndarray]:
        return [np.array(v) for v in (self.x, self.other) if v]


# ------------------------------------------------------------------------ np.where and kin


def where_log(x):
    return np.sum(np.where(x > 0, np.log(x), 0.0))


def where_sqrt(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0))


def where_after_a_branch(x):
    root = np.sqrt(x)
    s = 1.0
    if x[2] > 0.5:
        s = x[2] * s
    return np.sum(np.where(x > 0, root, 0.0)) * s


def where_after_a_loop(x):
    root = np.sqrt(x)
    s = 1.0
    for v in x[2:]:
        s = s * v + 2.0
    return np.sum(np.where(x > 0, root, 0.0)) * s


def where_sqrt_silent(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0) ** 2)


def where_ratio(b, a):
    return np.sum(np.where(b == 0, 0, a / b))


def where_quotient_of_sums(b, a):
    top = a * a + 1.0
    low = 3.0 * b
    ratio = top / low
    return np.sum(np.where(low == 0, 0.0, ratio * ratio))


def where_entropy(p):
    return -np.sum(np.where(p > 0, p * np.log(p), 0.0))


def where_guarded_inside(x):
    safe = np.where(x > 0, x, 1.0)
    return np.sum(np.where(x > 0, np.log(safe), 0.0))


def where_power(x):
    return np.sum(np.where(x > 0, x**0.25, 0.0) * x)


def where_negative_power(x):
    return np.sum(np.where(x != 0, x**-1.5, 0.0))


def where_arcsin(x):
    return np.sum(np.where(np.abs(x) < 1, np.arcsin(x), 1.0))


def where_arctanh(x):
    return np.sum(np.where(np.abs(x) < 1, np.arctanh(x), 0.0))


def where_reciprocal(x):
    return np.sum(np.where(x == 0, 1.0, np.reciprocal(x)))


def where_two_deep(x):
    root = np.sqrt(np.abs(x))
    return np.sum(np.where(x > 0, np.where(x > 1, np.log(root), root), 0.0))


def where_sinc(x):
    return np.sum(np.where(x == 0, 1.0, np.sin(x) / x))


def where_softplus(x):
    return np.sum(np.where(x > 30.0, x, np.log(1.0 + np.exp(x))))


def where_rows(x):
    rows = np.stack([x, 2.0 * x])
    return np.sum(np.where(rows > 0, np.sqrt(rows), 0.0))


def where_broadcast(x):
    roots = np.sqrt(x)
    grid = np.where(x > 0, roots, 0.0) + np.ones((3, 4))
    return np.sum(grid * grid)


def select_branches(x):
    return np.sum(np.select([x > 1, x > 0], [np.log(x), np.sqrt(x)], 0.0))


def select_of_list(x):
    conditions = [x > 1, x > 0]
    choices = [np.sqrt(x), x * x]
    return np.sum(np.select(conditions, choices, default=0.0))


def choose_root(x):
    taken = (x > 0).astype(int)
    return np.sum(np.choose(taken, [0.0 * x, np.sqrt(x)]))


def piecewise_root(x):
    return np.sum(np.piecewise(x, [x > 0, x <= 0], [np.sqrt, 0.0]))


# --------------------------------------------------------------------------- masked writes


def write_root(x):
    r = np.sqrt(np.maximum(x, 0))
    r[x <= 0] = 1
    return np.sum(r * r)


def write_log(p):
    logs = np.log(p)
    logs[p == 0] = 0.0
    return np.sum(p * logs)


def write_ratio(b, a):
    q = a / b
    q[b == 0] = 0.0
    return np.sum(q * q)


def write_infinite(b, a):
    with np.errstate(divide="ignore", invalid="ignore"):
        q = a / b
    q[~np.isfinite(q)] = 0.0
    return np.sum(q)


def write_nan(x):
    with np.errstate(all="ignore"):
        r = np.sqrt(x)
    r[np.isnan(r)] = 0.0
    return np.sum(r[x > 0])


def write_inverse_distances(x):
    d = x[:, None] - x[None, :]
    with np.errstate(divide="ignore"):
        w = 1.0 / (d * d)
    w[np.eye(4, dtype=bool)] = 0.0
    return np.sum(w)


def write_diagonal_of_distances(x):
    d = np.sqrt((x[:, None] - x[None, :]) ** 2)
    np.fill_diagonal(d, 1.0)
    return np.sum(np.log(d))


def write_twice(x):
    r = np.sqrt(x)
    r[x < 0.2] = 0.0
    r[x > 1.5] = 1.5
    return np.sum(r * r * r)


def write_by_index(x):
    r = np.sqrt(x)
    r[0] = 3.0
    return np.sum(r)


def write_by_places(x):
    r = np.sqrt(x)
    r[np.where(x == 0)] = 3.0
    return np.sum(r)


def write_after_product(x):
    y = 3.0 * np.sqrt(x) + 1.0
    y[x == 0] = 0.0
    return np.sum(y)


def write_in_loop(x):
    total = 0.0
    for k in range(1, 4):
        r = np.sqrt(np.maximum(k * x, 0.0))
        r[x <= 0] = 0.0
        total += np.sum(r)
    return total


def write_another(x):
    r = np.zeros_like(x)
    m = x > 0
    r[m] = np.sqrt(x[m])
    return np.sum(r)


def write_selected_root(x):
    r = np.zeros_like(x)
    root = np.sqrt(np.abs(x))
    r[x > 0] = root[x > 0]
    return np.sum(r)


def scaled_in_place(x):
    r = np.sqrt(x)
    r *= 2.0
    r[x == 0] = 0.0
    return np.sum(r)


def copyto_where(x):
    r = np.sqrt(np.abs(x))
    np.copyto(r, 0.0, where=x <= 0)
    return np.sum(r)


def putmask_root(x):
    r = np.sqrt(np.abs(x))
    np.putmask(r, x <= 0, 0.0)
    return np.sum(r)


def place_root(x):
    r = np.sqrt(np.abs(x))
    np.place(r, x <= 0, [0.0])
    return np.sum(r)


def put_root(x):
    r = np.sqrt(x)
    np.put(r, [0], [2.0])
    return np.sum(r)


# ----------------------------------------------------------------- where= of ufuncs, reductions


def divide_out_where(b, a):
    z = np.zeros_like(a)
    np.divide(a, b, out=z, where=b != 0)
    return np.sum(z * z)


def divide_out_where_value(b, a):
    z = np.divide(a, b, out=np.ones_like(a), where=b != 0)
    return np.sum(z)


def log_out_where(x):
    z = np.log(x, where=x > 0, out=np.zeros_like(x))
    return np.sum(z * x)


def sqrt_out_where(x):
    z = np.zeros(4)
    np.sqrt(x, out=z, where=x > 0)
    return np.sum(z)


def arcsin_out_where(x):
    z = np.arcsin(x, out=np.zeros_like(x), where=np.abs(x) < 1)
    return np.sum(z)


def power_out_where(x):
    z = np.power(x, -0.5, out=np.zeros_like(x), where=x > 0)
    return np.sum(z)


def sum_where(x):
    r = np.sqrt(np.abs(x))
    return np.sum(r, where=x > 0)


def mean_where(x):
    return np.mean(np.sqrt(np.abs(x)), where=x > 0)


def sum_method_where(x):
    r = np.abs(x) ** 0.5
    return r.sum(where=x > 0)


# ----------------------------------------------------------------------------- parts and guards


def read_mask(x):
    r = np.sqrt(np.abs(x))
    return np.sum(r[x > 0])


def read_compressed(x):
    return np.sum(np.compress(x > 0, np.sqrt(np.abs(x))))


def read_slice(x):
    return np.sum(np.sqrt(x)[1:])


def read_triangle(x):
    d = np.sqrt((x[:, None] - x[None, :]) ** 2)
    return np.sum(d[np.triu_indices(4, 1)])


def read_entries(x):
    r = np.sqrt(x)
    return r[1] * r[2] + r[3]


def read_upper(x):
    d = np.sqrt((x[:, None] - x[None, :]) ** 2)
    return np.sum(np.triu(d, 1))


def guard_maximum(x):
    return np.sum(np.sqrt(np.maximum(x, 0.0)))


def guard_clip(x):
    return np.sum(np.log(np.clip(x, 0.1, None)))


def guard_clip_root(x):
    return np.sum(np.sqrt(np.clip(x, 0.0, 1.0)))


def guard_relu_mask(x: np.ndarray):
    return np.sum(np.sqrt(x * (x > 0)))


def guard_floor_after(x):
    return np.sum(np.maximum(np.sqrt(x), 0.5))


def guard_arccos(x):
    return np.sum(np.arccos(np.clip(x, -1.0, 1.0)))


def guard_scaled(x):
    m = 3.0 * np.maximum(x, 0.0)
    return np.sum(np.power(m, 0.25))


def guard_minimum(x):
    return np.sum(np.sqrt(-np.minimum(-1.0 * x, 0)))


def guard_where_inside(x):
    return np.sum(np.sqrt(np.where(x > 0, x, 0.0)))


def guard_write_inside(x):
    safe = x.copy()
    safe[x <= 0] = 0.0
    return np.sum(np.sqrt(safe))


def loop_over_entries(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total += np.sqrt(x[i]) + np.log(x[i])
    return total


def loop_fills(x):
    r = np.zeros(len(x))
    for i in range(len(x)):
        r[i] = np.sqrt(x[i]) if x[i] > 0 else 0.0
    return np.sum(r * r)


PROGRAMS = (
    Masked(where_log, loud=True),
    Masked(where_sqrt, POSITIVE, (0,)),
    Masked(where_after_a_branch, POSITIVE, (0,)),
    Masked(where_after_a_loop, POSITIVE, (0,)),
    Masked(where_sqrt_silent, loud=True),
    Masked(where_ratio, loud=True, other=(0.5, 0.0, 1.0, 2.0)),
    Masked(where_quotient_of_sums, loud=True, other=(0.5, 0.3, 1.0, 2.0)),
    Masked(where_entropy, POSITIVE, (0,), loud=True),
    Masked(where_guarded_inside),
    Masked(where_power, POSITIVE, (0,)),
    Masked(where_negative_power, POSITIVE, (0,), loud=True),
    Masked(where_arcsin, (-0.5, 1.0, 0.3, 0.8)),
    Masked(where_arctanh, (-0.5, 1.0, 0.3, 0.8), loud=True),
    Masked(where_reciprocal, loud=True),
    Masked(where_two_deep, loud=True),
    Masked(where_sinc, loud=True),
    Masked(where_softplus, (-1.5, 800.0, 0.7, 2.0), (), loud=True),
    Masked(where_rows, POSITIVE, (0,)),
    Masked(where_broadcast, POSITIVE, (0,)),
    Masked(select_branches, POSITIVE, (0,), loud=True),
    Masked(select_of_list, loud=True),
    Masked(choose_root, POSITIVE, (0,)),
    Masked(piecewise_root),
    Masked(write_root),
    Masked(write_log, POSITIVE, (0,), loud=True),
    Masked(write_ratio, loud=True, other=(0.5, 0.3, 1.0, 2.0)),
    Masked(write_infinite, other=(0.5, 0.3, 1.0, 2.0)),
    Masked(write_nan),
    Masked(write_inverse_distances, (0.1, 0.5, 1.3, 2.0), ()),
    Masked(write_diagonal_of_distances, (0.1, 0.5, 1.3, 2.0), ()),
    Masked(write_twice, POSITIVE, (0,)),
    Masked(write_by_index, POSITIVE, (0,)),
    Masked(write_by_places, POSITIVE, (0,)),
    Masked(write_after_product, POSITIVE, (0,)),
    Masked(write_in_loop),
    Masked(write_another),
    Masked(write_selected_root),
    Masked(scaled_in_place, POSITIVE, (0,)),
    Masked(copyto_where),
    Masked(putmask_root),
    Masked(place_root),
    Masked(put_root, POSITIVE, (0,)),
    Masked(divide_out_where, other=(0.5, 0.3, 1.0, 2.0)),
    Masked(divide_out_where_value, other=(0.5, 0.3, 1.0, 2.0)),
    Masked(log_out_where),
    Masked(sqrt_out_where),
    Masked(arcsin_out_where, (-0.5, 1.0, 0.3, 2.0)),
    Masked(power_out_where),
    Masked(sum_where),
    Masked(mean_where),
    Masked(sum_method_where),
    Masked(read_mask),
    Masked(read_compressed),
    Masked(read_slice, POSITIVE, (0,)),
    Masked(read_triangle, (0.1, 0.5, 1.3, 2.0), ()),
    Masked(read_upper, (0.1, 0.5, 1.3, 2.0), ()),
    Masked(read_entries, POSITIVE, (0,)),
    Masked(guard_maximum, (-1.5, -0.2, 0.7, 2.0), (0, 1)),
    Masked(guard_clip, (-1.5, 0.0, 0.7, 2.0)),
    Masked(guard_clip_root, (-1.5, -0.2, 0.7, 2.0), (0, 1)),
    Masked(guard_relu_mask, (-1.5, -0.2, 0.7, 2.0), (0, 1)),
    Masked(guard_floor_after, POSITIVE, (0,)),
    Masked(guard_arccos, (-1.5, 1.2, 0.7, 0.1), (0, 1)),
    Masked(guard_scaled, (-1.5, -0.2, 0.7, 2.0), (0, 1)),
    Masked(guard_minimum, (-1.5, -0.2, 0.7, 2.0), (0, 1)),
    Masked(guard_where_inside),
    Masked(guard_write_inside),
    Masked(loop_over_entries),
    Masked(loop_fills),
)

BY_NAME = {program.name: program for program in PROGRAMS}
