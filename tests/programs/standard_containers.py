"""Containers of the module `collections`, made and used inside."""

from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np

from .registry import Program


def _vector(rng):
    return (rng.uniform(0.2, 1.5, 3),)


def queue_emptied(x):
    q = deque()
    for i in range(3):
        q.append(x * (i + 1.0))
    s = 0.0
    while q:
        s = s + np.sum(np.sin(q.popleft()))
    return s


def both_ends(x):
    q = deque([x, x * 2.0])
    q.appendleft(np.cos(x))
    a = q.pop()
    return np.sum(a * q[0] * q[-1]) * len(q)


def newest_kept(x):
    q = deque(maxlen=2)
    for i in range(4):
        q.append(np.sin(x * (i + 1.0)))
    s = 0.0
    for v in q:
        s = s + np.sum(v * v)
    return s


def delay_line(x, n=3):
    past = deque([np.zeros(3)] * n, maxlen=n)
    s = x
    for _ in range(5):
        s = np.tanh(s + 0.5 * past[0] - 0.2 * past[-1])
        past.append(s)
    return np.sum(sum(past)) + len(past)


def bounded_from_both_ends(x):
    q = deque([x, x * 2.0, x * x], 2)
    q.append(np.sin(x) * q[0])
    q.appendleft(x * q[0])
    return np.sum(q[0] * q[1] ** 2)


def grouped(x):
    groups = defaultdict(list)
    for i in range(4):
        groups[i % 2].append(x * (i + 1.0))
    s = 0.0
    for k in groups:
        for v in groups[k]:
            s = s + np.sum(np.sin(v))
    for _, vs in groups.items():
        s = s + np.sum(sum(vs)) ** 2
    return s + np.sum(groups[7])


def grouped_by_literals(x):
    groups = defaultdict(list)
    groups["a"].append(x)
    groups["b"].append(x * x)
    return np.sum(groups["a"][0] * groups["b"][0])


def summed_by_key(x):
    sums = defaultdict(float)
    for k, v in zip("aba", x, strict=True):
        sums[k] += v * v
    return sum(sums.values()) + sums["a"] * sums["b"]


def default_of_a_function(x):
    d = defaultdict(lambda: np.zeros(3))
    for k in (0, 1, 0):
        d[k] = d[k] + x * (k + 1)
    return np.sum(d[0] ** 2 * d[1])


def dicts_by_default(x):
    d = defaultdict(dict)
    d["a"]["u"] = np.sin(x)
    d["a"]["v"] = x
    d["b"]["u"] = x * x
    return np.sum(d["a"]["u"] * d["a"]["v"] + d["b"]["u"])


def counted(x):
    c = Counter()
    for k, v in zip("aba", x, strict=True):
        c[k] += v * v
    return c["a"] * c["b"] + c["z"] + len(c)


def ordered(x):
    d = OrderedDict([("a", np.sin(x)), ("b", x)])
    e = OrderedDict(u=x, v=d["a"])
    s = np.sum(e["u"] * e["v"])
    for _, v in d.items():
        s = s + np.sum(v * v)
    return s


def item_replaced_while_named(x):
    d = {"a": x * 1.0}
    v = d["a"]
    d["a"] = v * 2.0
    v[:] = v * x
    return np.sum(d["a"] * v)


def item_of_a_list_replaced(x):
    rows = [x * 1.0]
    v = rows[0]
    rows[0] = v * 2.0
    v[:] = v * x
    return np.sum(rows[0] * v)


def put_in_front(x):
    q = deque([x * x])
    q.extendleft([np.sin(x), x[::-1] * 2.0])
    return np.sum(q[0] * q[1] ** 2 * q[2])


def turned(x):
    q = deque([x, np.sin(x), x * x])
    q.rotate(-1)
    q.rotate()
    q.rotate(4)
    return np.sum(q[0] * q[1] ** 2 + q[2] ** 3)


def turned_while_bounded(x):
    q = deque(maxlen=2)
    q.extend([x, np.sin(x), x * x])
    q.rotate(1)
    q.extend(v * x for v in (x, np.cos(x)) if v[0] > 0.5)
    return np.sum(q[0] * q[1] ** 2)


def extended_in_place(x):
    q = deque([x])
    q += [np.sin(x), x * x]
    q.insert(1, np.cos(x))
    return np.sum(q[1] * q[2] ** 2 + q[3])


def one_value_for_all_keys(x):
    weights = {"a": x, "b": np.sin(x)}
    sums = dict.fromkeys(weights, 0.0)
    for key in weights:
        sums[key] += np.sum(weights[key])
    shared = dict.fromkeys("pq", x * x)
    shared["p"] *= np.cos(x)  # (which `q` has, too)
    return sums["a"] * sums["b"] + np.sum(shared["q"])


PROGRAMS = [
    Program(one_value_for_all_keys, _vector),
    Program(put_in_front, _vector),
    Program(turned, _vector),
    Program(turned_while_bounded, _vector),
    Program(extended_in_place, _vector),
    Program(queue_emptied, _vector),
    Program(both_ends, _vector),
    Program(newest_kept, _vector),
    Program(delay_line, _vector),
    Program(bounded_from_both_ends, _vector),
    Program(grouped, _vector),
    Program(grouped_by_literals, _vector),
    Program(summed_by_key, _vector),
    Program(default_of_a_function, _vector),
    Program(dicts_by_default, _vector),
    Program(counted, _vector),
    Program(ordered, _vector),
    Program(item_replaced_while_named, _vector),
    Program(item_of_a_list_replaced, _vector),
]
