"""Calls and displays that make lists, dicts and records of others, or change them as a whole."""

import dataclasses
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np

from .registry import Program

Pair = namedtuple("Pair", ["q", "p"])


@dataclass
class Layer:
    w: Any
    b: float


def _params(rng):
    return ({"w": rng.uniform(0.2, 1.5, 3), "b": float(rng.uniform(0.2, 1.5))},)


def _arrays(rng):
    return ([rng.uniform(0.2, 1.5, 3) for _ in range(3)],)


def dict_of_dict(params):
    made = dict(params)
    return np.sum(made["w"] * params["b"])


def dict_display_with_stars(params):
    made = {**params, "k": params["w"] * 2}
    return np.sum(made["k"] * made["b"])


def list_of_values(params):
    vs = list(params.values())
    return np.sum(vs[0]) * vs[1]


def items_by_name(params):
    it = params.items()
    s = 0.0
    for k, v in it:
        s = s + np.sum(v * v)
    return s


def keys_by_name(params):
    ks = params.keys()
    s = 0.0
    for k in ks:
        s = s + np.sum(params[k] ** 2)
    return s


def get_with_default(params):
    return np.sum(params.get("w", 1.0)) * params.get("zz", 3.0) * params.get("b")


def dict_updated(params):
    made = {}
    made.update(params)
    made["q"] = made["b"] * 2
    return np.sum(made["w"]) * made["q"]


def dict_setdefault(params):
    made = dict(params)
    made.setdefault("b", 4.0)
    made.setdefault("z", params["b"] * 2)
    return made["z"] * np.sum(made["w"]) * made["b"]


def dict_pop(params):
    made = dict(params)
    v = made.pop("b")
    return v * v * np.sum(made["w"])


def dict_pop_default(params):
    made = dict(params)
    v = made.pop("zz", params["b"])
    return v * v * np.sum(made["w"])


def dict_comprehension(params):
    made = {k: v * 2 for k, v in params.items()}
    return np.sum(made["w"]) * made["b"]


def keys_collected(params):
    ks = [k for k in params]  # noqa: C416
    s = 0.0
    for k in ks:
        s = s + np.sum(params[k] * params[k])
    return s


def keys_appended(params):
    ks = []
    for k in params:
        ks.append(k)
    return np.sum(params[ks[0]]) * params[ks[1]]


def keys_sorted(params):
    ks = sorted(params)
    return np.sum(params[ks[1]]) * params[ks[0]]


def last_key(params):
    last = None
    for k in params:
        last = k
    return params[last] * np.sum(params["w"])


def keys_listed(params):
    m = list(params)
    return np.sum(params[m[0]]) * params[m[1]]


def items_listed(params):
    pairs = list(params.items())
    s = 0.0
    for k, v in pairs:
        s = s + np.sum(v * v)
    return s


def items_sorted(params):
    items = sorted(params.items())
    k, v = items[0]
    return v * v * np.sum(items[1][1])


def dict_of_keywords(params):
    made = dict(w=params["w"] * 2, b=params["b"])  # noqa: C408
    return np.sum(made["w"]) * made["b"]


def dict_with_keywords(params):
    made = dict(params, b=params["b"] * params["b"])
    return np.sum(made["w"]) * made["b"]


def dict_copied(params):
    made = params.copy()
    made["b"] = made["b"] ** 2
    return np.sum(made["w"]) * made["b"] * params["b"]


def dict_of_pairs(params):
    made = dict(zip(["u", "v"], [params["w"], params["b"]]))
    return np.sum(made["u"]) * made["v"]


def dict_entry_deleted(params):
    made = {**params}
    del made["b"]
    return sum(np.sum(v**2) for v in made.values())


def dict_merged(params):
    made = params | {"c": params["b"] * 3}
    return made["c"] * np.sum(made["w"])


def dict_filled_in_loop(params):
    made = {}
    for k, v in params.items():
        made[k] = v * v
    return np.sum(made["w"]) * made["b"]


def values_starred(params):
    vals = [*params.values()]
    return np.sum(vals[0]) * vals[1]


def values_unpacked(params):
    w, b = params.values()
    return np.sum(w * w) * b


def dict_emptied(params):  # the newest entry first
    table = {**params, "c": params["b"] ** 2}
    total = 0.0
    while len(table) > 1:
        name, value = table.popitem()
        total = total * value + value * len(name)
    return np.sum(total * table.popitem()[1])


def defaults_of_constants(params):  # the dict carries nothing, what stands in for its entries does
    table = {"a": np.ones(3)}
    first = table.get("b", params["w"])
    second = table.pop("c", params["w"] * params["b"])
    return np.sum(first * second) + np.sum(table.get("a", first))


def list_joined(xs):
    ys = xs + [xs[0] * 2]
    return np.sum(ys[-1] * ys[1])


def list_insert(xs):
    ys = list(xs)
    ys.insert(1, xs[0] * xs[1])
    return np.sum(ys[1] * ys[2])


def list_item_deleted(xs):
    ys = list(xs)
    del ys[0]
    return np.sum(ys[0] * ys[0])


def list_slice_stored(xs):
    ys = list(xs)
    ys[0:2] = [xs[1] * 2, xs[0] * xs[0]]
    return np.sum(ys[0] * ys[1] * ys[2])


def list_display_with_star(xs):
    ys = [*xs, xs[0]]
    return np.sum(ys[-1] * ys[1])


def namedtuple_replace(xs):
    s = Pair(xs[0], xs[1])
    s = s._replace(q=xs[2] * s.q)
    return np.sum(s.q * s.p)


def dataclass_replace(xs):
    s = Layer(xs[0], 1.0)
    s = dataclasses.replace(s, w=s.w * xs[1])
    return np.sum(s.w * xs[2])


def list_repeated(xs):
    ys = [np.sum(xs[0])] * 3
    ys[1] = ys[0] * ys[2]
    return ys[0] + ys[1] * ys[2]


def list_of_numbers_sorted(xs):
    t = sorted([np.sum(a) for a in xs])
    return t[0] * 2 + t[1] * t[2]


def list_extended_by_generator(xs):
    ys = []
    ys.extend(a * 2 for a in xs)
    return np.sum(ys[0] * ys[1])


def list_pop_first(xs):
    ys = list(xs)
    v = ys.pop(0)
    return np.sum(v * ys[0])


def list_pop_twice(xs):
    ys = list(xs)
    v = ys.pop()
    w = ys.pop()
    return np.sum(v * w)


def tuple_joined(xs):
    t = tuple(xs) + (xs[0] * 2,)
    return np.sum(t[3] * t[1])


def list_of_zip(xs):
    ys = list(zip(xs, xs[1:]))  # noqa: RUF007
    return sum((np.sum(a * b) for a, b in ys))


def list_of_enumerate(xs):
    ys = list(enumerate(xs))
    return sum(((i + 1) * np.sum(a**2) for i, a in ys))


def list_sorted_by_distance(xs):  # the key captures what carries derivatives
    center = np.mean(xs[1])
    near = sorted(xs, key=lambda x: np.sum((x - center) ** 2), reverse=True)
    best = min(range(3), key=lambda i: xs[i][0] * center)
    return np.sum(near[0] * near[1]) + xs[best][1] * max(xs, key=np.sum)[2]


def list_of_columns(xs):  # zip(*rows), unpacked and gone through; rows of two lengths
    pairs = [(x[0], x[1] * x[2], 2.0) for x in xs]
    firsts, products, _ = zip(*pairs)
    total = firsts[0] * products[2]
    for i, column in enumerate(zip(*xs)):
        total = total + column[i] * sum(column)
    for a, b in zip(*[[xs[0][1], xs[1][0]], (total, xs[2][2], 1.0)]):
        total = total + a * b
    return total


def list_backwards(xs):
    ys = xs[::-1]
    return np.sum(ys[0] * ys[1] ** 2)


def list_of_reversed(xs):
    ys = list(reversed(xs))
    return np.sum(ys[0] * ys[1] ** 2)


def nested_containers(xs):
    d = {"x": [xs[0], (xs[1], {"y": xs[2]})]}
    return np.sum(d["x"][0] * d["x"][1][1]["y"])


def lists_joined_after_append(xs):  # the length of the first when it was joined
    x = xs[0] * xs[1]
    ys = [[x], [x]]
    ys[0].append(np.cos(xs[2][0]) * x)
    zs = ys[0] + ys[1]
    return np.sum(zs[1] * xs[2])


def list_grown_by_update(xs):
    ys = []
    for a in xs:
        ys += [a, a * a]
    return np.sum(ys[1] * ys[2])


def list_tail_stored(xs):
    ys = list(xs)
    ys[1:] = [xs[0]]
    return np.sum(ys[0] * ys[1])


def list_slice_inserted(xs):
    ys = list(xs)
    ys[1:1] = [xs[0] * xs[2]]
    return np.sum(ys[1] * ys[2])


def list_tail_deleted(xs):
    ys = list(xs)
    del ys[1:]
    return np.sum(ys[0] * ys[-1])


def list_reverse(xs):
    ys = list(xs)
    ys.reverse()
    return np.sum(ys[0] * ys[1] ** 2)


def list_sort(xs):
    ys = [np.sum(a) for a in xs]
    ys.sort()
    return ys[0] * 2 + ys[1] * ys[2]


def list_copied(xs):
    ys = xs.copy()
    ys[0] = ys[0] * ys[1]
    return np.sum(ys[0] * xs[0])


def list_swap(xs):
    ys = [xs[i] * i for i in range(3)]
    ys[0], ys[2] = (ys[2], ys[0])
    return np.sum(ys[0] * ys[1])


def numbers_starred(xs):
    ys = [1.0, *[np.sum(v) for v in xs], 2.0]
    return ys[1] * ys[2] * ys[-1]


def list_emptied(xs):
    ys = list(xs)
    i = 0
    while ys:
        v = ys.pop()
        i = i + np.sum(v * v)
    return i


def stack_of_pairs(xs):
    st = [(xs[0], 0)]
    out = 0.0
    while st:
        v, dep = st.pop()
        out = out + np.sum(v * v)
        if dep < 2:
            st.append((v * 0.5, dep + 1))
            st.append((v * xs[1], dep + 1))
    return out


def dict_get_accumulates(xs):
    ys = {}
    for i, v in enumerate(xs):
        ys[i % 2] = ys.get(i % 2, 0.0) + v * v
    return np.sum(ys[0] * ys[1])


PROGRAMS = [
    Program(dict_of_dict, _params),
    Program(dict_display_with_stars, _params),
    Program(list_of_values, _params),
    Program(items_by_name, _params),
    Program(keys_by_name, _params),
    Program(get_with_default, _params),
    Program(dict_updated, _params),
    Program(dict_setdefault, _params),
    Program(dict_pop, _params),
    Program(dict_pop_default, _params),
    Program(dict_comprehension, _params),
    Program(keys_collected, _params),
    Program(keys_appended, _params),
    Program(keys_sorted, _params),
    Program(last_key, _params),
    Program(keys_listed, _params),
    Program(items_listed, _params),
    Program(items_sorted, _params),
    Program(dict_of_keywords, _params),
    Program(dict_with_keywords, _params),
    Program(dict_copied, _params),
    Program(dict_of_pairs, _params),
    Program(dict_entry_deleted, _params),
    Program(dict_merged, _params),
    Program(dict_filled_in_loop, _params),
    Program(values_starred, _params),
    Program(values_unpacked, _params),
    Program(dict_emptied, _params),
    Program(defaults_of_constants, _params),
    Program(list_joined, _arrays),
    Program(list_insert, _arrays),
    Program(list_item_deleted, _arrays),
    Program(list_slice_stored, _arrays),
    Program(list_display_with_star, _arrays),
    Program(namedtuple_replace, _arrays),
    Program(dataclass_replace, _arrays),
    Program(list_repeated, _arrays),
    Program(list_of_numbers_sorted, _arrays),
    Program(list_extended_by_generator, _arrays),
    Program(list_pop_first, _arrays),
    Program(list_pop_twice, _arrays),
    Program(tuple_joined, _arrays),
    Program(list_of_zip, _arrays),
    Program(list_of_enumerate, _arrays),
    Program(list_sorted_by_distance, _arrays),
    Program(list_of_columns, _arrays),
    Program(list_backwards, _arrays),
    Program(list_of_reversed, _arrays),
    Program(nested_containers, _arrays),
    Program(lists_joined_after_append, _arrays),
    Program(list_grown_by_update, _arrays),
    Program(list_tail_stored, _arrays),
    Program(list_slice_inserted, _arrays),
    Program(list_tail_deleted, _arrays),
    Program(list_reverse, _arrays),
    Program(list_sort, _arrays),
    Program(list_copied, _arrays),
    Program(list_swap, _arrays),
    Program(numbers_starred, _arrays),
    Program(list_emptied, _arrays),
    Program(stack_of_pairs, _arrays),
    Program(dict_get_accumulates, _arrays),
]
