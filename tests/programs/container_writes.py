"""Writes into lists, dicts and objects, and into the arrays that they hold."""

import numpy as np

from .registry import Program, vector

_VECTOR = vector(4, 0.2, 1.5)


def _matrix(n, m):
    return lambda rng: (rng.uniform(0.2, 1.5, (n, m)),)


def list_items(x):
    xs = [x[0], x[1], x[2]]
    xs[0], xs[1] = (xs[1] * xs[2], xs[0])
    xs.reverse()
    xs.insert(0, x[3] * xs[1])
    last = xs.pop()
    del xs[1]
    xs += [last * last]
    return xs[0] * xs[1] * xs[2]


def table_of_lists(x):
    table = [[0.0] * 4 for _ in range(3)]
    for j in range(4):
        table[0][j] = x[j]
    for i in range(1, 3):
        for j in range(1, 4):
            table[i][j] = table[i - 1][j - 1] * x[j] + 0.5 * table[i][j - 1]
    return table[2][3] ** 2 + table[1][2]


def dict_accumulated(x):
    d = {}
    for i in range(4):
        k = i % 2
        if k not in d:
            d[k] = 0.0
        d[k] += x[i] ** 2
    return d[0] * d[1]


def dict_get(x):
    d = {"a": x[0]}
    d["b"] = d["a"] * x[1]
    d["a"] = d["b"] * d["b"]
    return d["a"] + d["b"]


def dict_of_arrays(x):
    d = {"w": x * x, "g": np.zeros(4)}
    d["g"] += d["w"] * x
    d["w"] -= 0.1 * d["g"]
    d["w"][0] = d["g"][1]
    return np.sum(d["w"] ** 2)


def list_sorted(x):
    xs = [x[3], x[0] * 2, x[1]]
    xs.sort()
    return xs[0] + 2 * xs[1] + 3 * xs[2]


class Model:
    def __init__(self, w):
        self.w = w
        self.h = np.zeros(4)

    def step(self, x):
        self.h[1:] = self.h[:-1] * self.w[1:]
        self.h += x * self.w
        self.w = self.w * 0.9


def object_state(x):
    m = Model(x * x)
    for _ in range(3):
        m.step(x)
    return np.sum(m.h**2) + np.sum(m.w)


def list_reverse(x):
    xs = [x[0], x[1] * 2, x[2]]
    xs.reverse()
    return xs[0] + 2 * xs[1] ** 2 + 3 * xs[2]


def list_insert(x):
    xs = [x[0], x[1] * 2]
    xs.insert(1, x[2] * x[3])
    return xs[0] + 2 * xs[1] ** 2 + 3 * xs[2]


def list_extend(x):
    xs = [x[0]]
    xs.extend([x[1] * 2, x[2]])
    return xs[0] + 2 * xs[1] ** 2 + 3 * xs[2]


def list_iadd(x):
    xs = [x[0]]
    xs += [x[1] * 2, x[2]]
    return xs[0] + 2 * xs[1] ** 2 + 3 * xs[2]


def list_appended_and_extended(x):
    xs = []
    for v in x:
        xs.append(v * x[0])
        if v > 0.7:
            xs += [v]
        else:
            xs += [v * v, x[1]]
    xs[0] = xs[1] * xs[3]
    xs += [xs[0]]
    xs.append(xs[-1] * xs[2])
    return xs[0] * xs[3] + xs[-1] * xs[-2] ** 2


def list_clear(x):
    xs = [x[0]]
    s = xs[0] ** 2
    xs.clear()
    xs.append(x[1])
    return s * xs[0]


def list_pop_index(x):
    xs = [x[0], x[1] * 2, x[2]]
    y = xs.pop(0)
    return y * xs[0] + xs[1] ** 2


def list_remove(x):
    xs = [x[0], x[1] * 2, x[2]]
    xs.remove(xs[1])
    return xs[0] * xs[1] ** 2


def list_slice_store(x):
    xs = [x[0], x[1] * 2, x[2]]
    xs[1:] = [x[3], x[0]]
    return xs[0] * xs[1] ** 2 * xs[2]


def list_repeat_shared(x):
    t = [[0.0, 0.0]] * 2
    t[0][1] = x[0]
    t[1][0] = x[1]
    return t[1][1] * t[0][0]


def list_repeat_arrays(x):
    t = [x * x] * 2
    t[0][1] = 3.0 * x[0]
    return np.sum(t[1] ** 2)


def list_same_twice(x):
    r = x * x
    t = [r, r]
    t[0][1] = 3.0 * x[0]
    return np.sum(t[1] ** 2)


def list_of_lists_alias(x):
    r = [x[0], x[1]]
    t = [r, r]
    t[0][1] = 3.0 * x[2]
    return t[1][1] ** 2 * t[1][0]


def list_row_alias(x):
    t = [[x[0], x[1]], [x[2], x[3]]]
    row = t[0]
    row[1] = 3.0 * x[2]
    t[1] = row
    t[1][0] = x[3] * 2
    return t[0][0] * t[0][1] * t[1][1]


def list_copy_shallow(x):
    t = [[x[0], x[1]], [x[2], x[3]]]
    u = t.copy()
    u[0][1] = x[2] * 5
    u[1] = [x[0], x[0]]
    return t[0][1] * t[1][1] * u[1][0]


def list_concat_shares(x):
    r = [x[0], x[1]]
    t = [r] + [r]
    t[0][0] = x[2]
    return t[1][0] * r[1]


def dict_update(x):
    d = {"a": x[0], "b": x[1]}
    d.update({"a": x[2] * 2})
    return d["a"] * d["b"]


def dict_setdefault(x):
    d = {"a": x[0]}
    d.setdefault("a", x[1])
    d.setdefault("b", x[2] * 2)
    return d["a"] * d["b"]


def dict_pop(x):
    d = {"a": x[0], "b": x[1]}
    y = d.pop("a")
    return y * d["b"]


def dict_del(x):
    d = {"a": x[0], "b": x[1]}
    d["a"] = d["b"] * x[2]
    s = 0.0
    for k in d:
        s += d[k] ** 2
    for k, v in d.items():
        s += v * x[3]
    return s


def dict_keys_updated(x):
    d = {0: x[0], 1: x[1]}
    s = 0.0
    for k in d:
        k += 0
        s += d[k] ** 2 * (k + 1)
    return s


def dict_written_in_loop(x):
    d = {5: x[0], 7: x[1]}
    for k in d:
        d[k] = d[k] * x[k - 5]
    for k, v in d.items():
        d[k] = v * v
    return d[5] * d[7]


def list_written_in_loop(x):
    xs = [x[0], x[1], x[2]]
    for i, v in enumerate(xs):
        xs[i] = v * v * x[3]
    for v in xs:
        xs[0] += v
    return xs[0] * xs[1] * xs[2]


def list_grown_in_loop(x):
    xs = [x[0]]
    for v in xs:
        if len(xs) < 4:
            xs.append(v * x[1])
    return xs[3] * xs[1]


def reversed_list_written(x):
    xs = [x[0], x[1], x[2]]
    for v in reversed(xs):
        xs[0] = v * v
    return xs[0] * xs[1]


def tuple_of_state(x):
    state = (x * x, np.zeros(4))
    for _ in range(3):
        p, v = state
        v = v - 0.1 * p
        state = (p + 0.1 * v, v)
    return np.sum(state[0] * state[1])


def state_list_in_place(x):
    state = [x * x, np.zeros(4)]
    for _ in range(3):
        state[1] = state[1] - 0.1 * state[0]
        state[0] = state[0] + 0.1 * state[1] * x
    return np.sum(state[0] * state[1])


def state_list_arrays_written(x):
    state = [x * x, np.zeros(4)]
    for _ in range(3):
        state[1] -= 0.1 * state[0]
        state[0][1:] += 0.1 * state[1][:-1] * x[1:]
    return np.sum(state[0] * state[1])


def inner(ws):
    ws[0] = ws[0] * ws[1]
    ws[1] += ws[0]
    ws.append(ws[1] * 2)
    return np.sum(ws[0] * ws[2])


def param_list_written(x):
    return inner([x * x, x])


def stored_by_another_name(x):  # the list has two names, and `r` goes into it by the second
    rows = [2.0 * x]
    same = rows
    r = 1.0 * x
    same.append(r)
    r[0] = r[1] * r[1]
    return np.sum(rows[1] * rows[0])


def keyed_by_another_name(x):
    d = {}
    same = d
    r = 1.0 * x
    same["k"] = r
    t = d["k"]
    t[0] = x[1] * x[2]
    return np.sum(r * x)


def keeps_and_returns(rows, x):
    y = 2.0 * x
    rows.append(y)
    return y


def kept_and_returned(x):  # what the helper returns is also in the list it was given
    rows = []
    y = keeps_and_returns(rows, x)
    y[0] = y[1] * x[1]
    return np.sum(rows[0] * x)


def list_by_three_names(x):
    row = [x[0], x[1]]
    first, second = row, row
    first[0] = x[2] * 5.0
    third = first
    return third[1] * second[0] + row[1]


def dict_of_state_swapped(x):
    state = {"u": x * x, "v": np.sin(x)}
    for _ in range(3):
        state["u"][1:] += 0.3 * state["v"][:-1]
        state["u"], state["v"] = state["v"], state["u"]
    return np.sum(state["u"] * x) + state["v"][0]


def list_of_views_turned(x):
    y = x * x
    parts = [y[:2], y[2:]]
    for k in range(3):
        parts = [parts[1], parts[0]]
        parts[-1][0] *= x[k]
        first, second = parts
        second += 0.5 * first
    return np.sum(y * x)


def list_of_one_view_grown(x):
    y = x * x
    parts = [y[:2], y[2:]]
    parts.append(y[1:3])
    parts[0][:] = x[:2]
    return np.sum(parts[2])


def groups_in_dict(x):
    groups = {}
    for i in range(4):
        k = i % 2
        if k not in groups:
            groups[k] = []
        groups[k].append(x[i] ** 2)
    return groups[0][0] * groups[1][1] + sum(groups[1])


def groups_by_setdefault(x):
    groups = {}
    for i in range(4):
        groups.setdefault(i % 2, []).append(x[i] ** 2)
    return groups[0][0] * groups[1][1] + sum(groups[1])


def groups_in_list(x):
    groups = [[] for _ in x]
    for i in range(4):
        groups[(i * i) % 3].append(x[i] ** 2)
        groups[0].append(x[i] * groups[0][-1])
    return sum(groups[1]) * groups[0][-1] * groups[0][2]


def lists_that_shrink(x):
    stacks = [[2.0 * x[0]], [3.0 * x[1]]]
    for i in range(4):
        stacks[i % 2].append(x[i] * stacks[1 - i % 2][-1])
    last = 1.0 * stacks[0].pop()
    stacks[1].append(last * stacks[0][-1])
    return stacks[1][-1] * stacks[0][0] + last


def rows_of_arrays(x):
    rows = [np.zeros(2) for _ in range(len(x))]
    rows[0] = rows[0] + x[0]
    rows[1][1] = 2 * x[1] * x[0]
    return np.sum(rows[0] ** 2) + np.sum(rows[1] ** 3)


def key_added_after_a_loop(x):
    d = {"a": x[0], "b": 2 * x[1]}
    s = 0.0
    for k in d:
        s = s + np.sin(d[k]) ** 2
    d["c"] = x[2] * s
    return d["c"] * s


def key_added_where_it_is_missing(x):
    d = {0: x[0], 1: 2 * x[1]}
    s = 0.0
    for k in d:
        s = s + np.sin(d[k]) ** 2
    if 7 not in d:
        d[7] = x[2]
    return d[7] * s


def lists_added_after_a_loop(x):
    d = {0: [x[0]], 1: [2 * x[1], x[2]]}
    s = 0.0
    for k in d:
        for v in d[k]:
            s = s + np.sin(v) ** 2
    d[7] = [s * x[0]]
    for vs in d.values():
        for v in vs:
            s = s + np.cos(v)
    return s


def keys_added_round_by_round(x):
    d = {0: x[0], 1: 2 * x[1]}
    s = 0.0
    for n in range(3):
        for k in d:
            s = s + np.sin(d[k]) ** 2
        d[n + 2] = s * x[2]
    return s


def list_of_rows_updated(x):
    table = np.outer(x, x)
    rows = list(table)
    rows[0] += rows[1]
    rows[1] *= rows[0]
    rows.reverse()
    rows[0] -= x
    return rows[-1] @ rows[2] + np.sum(table**2)


def momentum_by_name(x):
    p = {"a": x[:2] * 1.0, "b": x[2:4] * 1.0}
    v = {"a": np.zeros(2), "b": np.zeros(2)}
    for _ in range(2):
        for k in p:
            v[k] = 0.9 * v[k] - 0.1 * np.sin(p[k])
            p[k] += v[k]
    return p["a"] @ p["b"]


def items_that_are_arrays_updated(x):
    items, steps = [x[:2] * 1.0, x[2:4] * 1.0], [np.cos(x[:2]), x[1:3]]
    for i in range(2):
        steps[i] = np.sin(items[i]) * x[i]
        items[i] *= steps[i]
        items[1 - i] -= np.cos(items[i])
    return items[0] @ items[1]


def item_kept_before_another_takes_its_place(x):
    items = [x * 1.0, x * 2.0]
    first = items[0]
    items[0] = items[0] + x
    return first @ items[0]


def slices_of_lists_written(x):
    a = [x[0] * 1.0, x[1] * 2.0, x[2] * x[3]]
    b, c = a[::-1], a[:2]
    b[0] = b[0] * a[0]
    c[1] = c[1] * b[0]
    a[2] = a[2] + c[1]
    return a[0] * a[1] * a[2] * b[0] * c[1]


def array_in_two_lists_updated(x):
    rows = [np.sin(x[:2]), np.cos(x[2:4])]
    first = [rows[0]]
    first[0] *= 3.0
    return rows[0] @ first[0] + np.sum(rows[1])


def groups_that_nobody_sums(x, t):
    groups = {}
    groups.setdefault("a", []).append(t)
    groups["a"].append(t * t)
    scale = np.tanh(t)
    groups["a"].append(scale)
    return np.sum(x) * groups["a"][1] * scale * t


def list_popped_in_the_middle(x):
    xs = list(x)
    first = xs.pop(len(xs) // 2)
    second = xs.pop(len(xs) // 2)
    rest = [xs.pop(len(xs) // 2) for _ in range(2)]
    return first * second**2 + rest[0] * rest[1] ** 2


def list_inserted_in_the_middle(x):
    xs = list(x)
    xs.insert(len(xs) // 2, x[0] * x[1])
    xs.insert(len(xs) // 2, x[0] * x[2])
    del xs[len(xs) // 2]
    return xs[1] * xs[2] + xs[3] ** 2


def dict_keyed_by_its_length(x):
    d = dict(enumerate(x))
    last = d.pop(len(d) - 1)
    d[len(d)] = last * d[0]
    d.setdefault(len(d), x[1] * x[2])
    d.setdefault(len(d), x[3] ** 2)
    return last * d.pop(len(d) - 1) * d[3] + d.pop(len(d), x[0]) * d[4]


PROGRAMS = [
    Program(groups_that_nobody_sums, lambda rng: (rng.uniform(0.2, 1.0, 3), 0.7), wrt=(0,)),
    Program(slices_of_lists_written, _VECTOR),
    Program(array_in_two_lists_updated, _VECTOR),
    Program(item_kept_before_another_takes_its_place, _VECTOR),
    Program(momentum_by_name, _VECTOR),
    Program(items_that_are_arrays_updated, _VECTOR),
    Program(key_added_after_a_loop, _VECTOR),
    Program(key_added_where_it_is_missing, _VECTOR),
    Program(lists_added_after_a_loop, _VECTOR),
    Program(keys_added_round_by_round, _VECTOR),
    Program(groups_in_dict, _VECTOR),
    Program(groups_by_setdefault, _VECTOR),
    Program(groups_in_list, _VECTOR),
    Program(lists_that_shrink, _VECTOR),
    Program(rows_of_arrays, _VECTOR),
    Program(stored_by_another_name, _VECTOR),
    Program(keyed_by_another_name, _VECTOR),
    Program(kept_and_returned, _VECTOR),
    Program(list_items, _VECTOR),
    Program(table_of_lists, _VECTOR),
    Program(dict_accumulated, _VECTOR),
    Program(dict_get, _VECTOR),
    Program(dict_of_arrays, _VECTOR),
    Program(list_sorted, _VECTOR),
    Program(object_state, _VECTOR),
    Program(list_reverse, _VECTOR),
    Program(list_insert, _VECTOR),
    Program(list_extend, _VECTOR),
    Program(list_iadd, _VECTOR),
    Program(list_appended_and_extended, _VECTOR),
    Program(list_clear, _VECTOR),
    Program(list_pop_index, _VECTOR),
    Program(list_popped_in_the_middle, _VECTOR),
    Program(list_inserted_in_the_middle, _VECTOR),
    Program(dict_keyed_by_its_length, _VECTOR),
    Program(list_remove, _VECTOR),
    Program(list_slice_store, _VECTOR),
    Program(list_repeat_shared, _VECTOR),
    Program(list_repeat_arrays, _VECTOR),
    Program(list_same_twice, _VECTOR),
    Program(list_of_lists_alias, _VECTOR),
    Program(list_row_alias, _VECTOR),
    Program(list_copy_shallow, _VECTOR),
    Program(list_concat_shares, _VECTOR),
    Program(dict_update, _VECTOR),
    Program(dict_setdefault, _VECTOR),
    Program(dict_pop, _VECTOR),
    Program(dict_del, _VECTOR),
    Program(dict_keys_updated, _VECTOR),
    Program(dict_written_in_loop, _VECTOR),
    Program(list_written_in_loop, _VECTOR),
    Program(list_grown_in_loop, _VECTOR),
    Program(reversed_list_written, _VECTOR),
    Program(tuple_of_state, _VECTOR),
    Program(state_list_in_place, _VECTOR),
    Program(state_list_arrays_written, _VECTOR),
    Program(param_list_written, _VECTOR),
    Program(list_by_three_names, _VECTOR),
    Program(dict_of_state_swapped, _VECTOR),
    Program(list_of_views_turned, _VECTOR),
    Program(list_of_one_view_grown, _VECTOR),
    Program(list_of_rows_updated, _VECTOR),
]
