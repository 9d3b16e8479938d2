"""Writes from recursion, loops over what is written, and nested functions."""

# ruff: noqa: E731 (programs as people write them)

import numpy as np

from .registry import Program, vector

_VECTOR = vector(4, 0.2, 1.5)


def _matrix(n, m):
    return lambda rng: (rng.uniform(0.2, 1.5, (n, m)),)


def sort_between(a, lo, hi):
    if lo < hi:
        p = a[hi]
        i = lo
        for j in range(lo, hi):
            if a[j] < p:
                t = a[i]
                a[i] = a[j]
                a[j] = t
                i += 1
        t = a[i]
        a[i] = a[hi]
        a[hi] = t
        sort_between(a, lo, i - 1)
        sort_between(a, i + 1, hi)


def quicksort(x):
    y = x * x
    sort_between(y, 0, 3)
    return y @ np.arange(4.0)


def butterfly(a):
    n = len(a)
    if n > 1:
        butterfly(a[: n // 2])
        butterfly(a[n // 2 :])
        t = a[: n // 2].copy()
        a[: n // 2] += a[n // 2 :]
        a[n // 2 :] = t * a[n // 2 :]


def recursive_views(x):
    y = x * x
    butterfly(y)
    return y @ np.arange(1.0, 5.0)


def over_ndindex(a):
    b = np.zeros_like(a)
    for i, j in np.ndindex(a.shape):
        b[i, j] = a[i, j] ** 2 * a[0, 0]
    return np.sum(b * b)


def over_ndenumerate(a):
    b = np.zeros_like(a)
    for ij, v in np.ndenumerate(a):
        b[ij] = v * v
        b[ij] += b[0, 0]
    return np.sum(b * b)


def slice_object(x):
    y = x.copy()
    inner = slice(1, -1)
    y[inner] = y[:-2] * y[2:]
    y[slice(None, None, 2)] *= x[0]
    return np.sum(y * y)


def tuple_key(x):
    y = np.zeros((2, 2))
    for k in [(0, 0), (1, 1), (0, 1)]:
        y[k] = x[k[0]] * x[k[1] + 1]
        y[k] += y[0, 0]
    return np.sum(y * y)


def key_writes(x):
    y = x * x

    def where(i):
        y[i] = 2.0 * y[i + 1]
        return i + 1

    y[where(0)] += x[3]
    return np.sum(y * y)


def unpack_into_items(x):
    y = np.zeros(4)
    y[0], y[1] = (x[1] * x[2], x[0])
    y[2], y[3] = x[:2] * y[:2]
    return y @ y


def loop_target_item(x):
    y = np.zeros(2)
    s = 0.0
    for y[0] in x:
        s += y[0] ** 2 * y[1]
        y[1] = y[0]
    return s


def size_one_into_element(x):
    y = np.zeros(3)
    y[0:1] = x[:1] * x[1]
    y[1:2] = x[2]
    return np.sum(y**2)


def higher_rank_value(x):
    y = np.zeros(4)
    y[:] = x[None, :] ** 2
    y[1:] = x[None, None, :-1] * y[0]
    return np.sum(y * x)


def column_into_row(x):
    y = np.zeros((2, 4))
    z = np.ones((4, 2))
    y[:, :] = x
    z[:] = x[:, None]
    z[:, 0:1] *= x[:, None]
    return np.sum(y * z.T)


def list_value(x):
    y = np.zeros((2, 2))
    y[:] = [[x[0], x[1]], [x[2], 1.0]]
    y[0] = (x[3], x[0] * x[1])
    return np.sum(y**2)


def number_everywhere(x):
    y = np.zeros(4)
    y[...] = x[0] * x[1]
    y[()] *= x
    return np.sum(y**2)


def ix_store(x):
    y = np.ones((3, 3))
    y[np.ix_([0, 2], [1, 2])] = x.reshape(2, 2)
    y[np.ix_([0, 1], [1, 2])] += x.reshape(2, 2) ** 2
    y[np.array([0, 2])[:, None], np.array([0, 1])] *= x[0]
    return np.sum(y**2)


def matmul_in_place(a):
    b = a.copy()
    b @= a
    b @= b
    return np.sum(b)


def mod_in_place(x):
    y = x * 3
    y %= 1.0
    y **= 2
    return np.sum(y * x)


def clip_out(x):
    y = x * x
    np.clip(y, 0.3, 1.2, out=y)
    y.clip(0.4, 1.1, out=y)
    return np.sum(y * x)


def method_out(a):
    s = np.empty(3)
    z = np.empty((3, 3))
    a.sum(axis=0, out=s)
    a.dot(a, out=z)
    np.einsum("ij,j->i", z, s.copy(), out=s)
    return s @ s


def concatenate_out(x):
    y = np.empty(8)
    np.concatenate([x, x * x], out=y)
    return np.sum(y * y)


def nan_to_num_in_place(x):
    y = x * x
    np.nan_to_num(y, copy=False)
    y[0] *= y[1]
    return np.sum(y * y)


def partitioned(x):
    y = x * x
    y.partition(2)
    return y[2]


def shuffled(x):
    rng = np.random.default_rng(0)
    y = x * x
    rng.shuffle(y)
    return y @ np.arange(4.0)


def while_with_break(x):
    y = x.copy()
    k = 0
    while True:
        y[k % 4] *= x[k % 3]
        k += 1
        if np.sum(y) < 1.0 or k > 6:
            break
        y[1:] += 0.1 * y[:-1]
    return np.sum(y * y)


def early_return(x):
    y = x.copy()
    for i in range(4):
        y[i] = y[i - 1] * x[i]
        if y[i] < 0.3:
            y[0] += 1.0
            return np.sum(y * y)
        y[:i] *= 0.9
    return np.sum(y)


def nested_function_writes(x):
    y = x * x

    def scale(k):
        y[k] *= x[k]

    for k in range(3):
        scale(k)
    return np.sum(y * y)


def lambda_writes(x):
    y = x * x
    f = lambda z, c: z.__setitem__(0, c)
    f(y, x[1] * x[2])
    return np.sum(y * y)


def reversed_scan(x):
    y = x.copy()
    for i in reversed(range(3)):
        y[i] += 0.5 * y[i + 1] * x[i]
    for i in range(3, 0, -1):
        y[i] -= y[i - 1] * y[i]
    return np.sum(y * y)


def sliding_max(x):
    y = np.empty(3)
    for i in range(3):
        y[i] = max(x[i], x[i + 1])
    y[y > 0.7] = y[y > 0.7] ** 2
    return np.sum(y)


def array_written_in_loop(x):
    y = x * x
    for v in y:
        y[1:] *= v
    for i, v in enumerate(y):
        y[(i + 1) % 4] += v * v
    return np.sum(y)


def zip_written(x):
    y = x * x
    z = np.zeros(4)
    for i, (a, b) in enumerate(zip(y, z)):
        z[(i + 1) % 4] = a + b * b
        y[(i + 1) % 4] *= a
    return z @ y


def entries_before_write(x):
    y = x * 1.0
    total = 0.0
    for _ in range(3):
        some = y[[0, 1, 1]]
        y[0] = y[0] * x[1]
        y[1:] *= 0.5
        total += np.sum(some * some)
    return total + y[3]


PROGRAMS = [
    Program(entries_before_write, _VECTOR),
    Program(quicksort, _VECTOR),
    Program(recursive_views, _VECTOR),
    Program(over_ndindex, _matrix(2, 3)),
    Program(over_ndenumerate, _matrix(2, 3)),
    Program(slice_object, _VECTOR),
    Program(tuple_key, _VECTOR),
    Program(key_writes, _VECTOR),
    Program(unpack_into_items, _VECTOR),
    Program(loop_target_item, _VECTOR),
    Program(size_one_into_element, _VECTOR),
    Program(higher_rank_value, _VECTOR),
    Program(column_into_row, _VECTOR),
    Program(list_value, _VECTOR),
    Program(number_everywhere, _VECTOR),
    Program(ix_store, _VECTOR),
    Program(matmul_in_place, _matrix(3, 3)),
    Program(mod_in_place, _VECTOR),
    Program(clip_out, _VECTOR),
    Program(method_out, _matrix(3, 3)),
    Program(concatenate_out, _VECTOR),
    Program(nan_to_num_in_place, _VECTOR),
    Program(partitioned, _VECTOR),
    Program(shuffled, _VECTOR),
    Program(while_with_break, _VECTOR),
    Program(early_return, _VECTOR),
    Program(nested_function_writes, _VECTOR),
    Program(lambda_writes, _VECTOR),
    Program(reversed_scan, _VECTOR),
    Program(sliding_max, _VECTOR),
    Program(array_written_in_loop, _VECTOR),
    Program(zip_written, _VECTOR),
]
