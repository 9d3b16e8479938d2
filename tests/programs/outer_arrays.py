"""Helpers that give back arrays of the module or of a closure, which are written as well."""

import functools

import numpy as np

from .registry import Program, vector

_VECTOR = vector(5, 0.3, 1.4)
G = np.full(5, 3.0)
STATE = {"a": np.full(5, 3.0)}
TABLES = {}


def give():
    return G


def give_view(k):
    return G[k:]


def give_item():
    return STATE["a"]


def give_either(first):
    return G if first else STATE["a"]


def give_both():
    return [G, STATE["a"]]


def set_all(c):
    G[:] = c


class Slotted:
    __slots__ = ("b",)

    def __init__(self):
        self.b = np.full(5, 3.0)


SLOTTED = Slotted()


def give_slot():
    return SLOTTED.b


def make_pair():
    buf = np.full(5, 3.0)

    def get():
        return buf

    def put(c):
        buf[:] = c

    return get, put


get_buf, set_buf = make_pair()


@functools.lru_cache
def cached_weights(n):
    return np.full(n, 3.0)


def workspace(n):
    if n not in TABLES:
        TABLES[n] = np.full(n, 3.0)
    return TABLES[n]


def given_then_set(x):
    v = give()
    y = np.sum(v * x * x)
    set_all(3.0)
    return y * np.sum(v * x)


def given_view_then_set(x):
    v = give_view(1)
    y = np.sum(v * x[1:])
    G[1:] = 3.0
    return y * np.sum(x * x)


def given_item_then_set(x):
    v = give_item()
    y = np.sum(v * x * x)
    STATE["a"][:] = 3.0
    return y * np.sum(v * x)


def given_by_closure_then_set(x):
    v = get_buf()
    y = np.sum(v * x * x)
    set_buf(3.0)
    return y * np.sum(v * x)


def given_either_then_set(x):
    v = give_either(x[0] > 0)
    y = np.sum(v * x * x)
    G[:] = 3.0
    return y * np.sum(v * x)


def given_in_list_then_set(x):
    vs = give_both()
    y = np.sum(vs[0] * x * x)
    set_all(3.0)
    return y * np.sum(vs[0] * x)


def given_and_carried(x):
    v = give()
    v[:] = x * x
    return np.sum(G * x)


def given_and_updated(x):
    v = give_slot()
    v[:] = 2.0
    v *= x
    return np.sum(v * x * x) * np.sum(SLOTTED.b * x)


def given_twice_and_carried(x):
    v = workspace(5)
    v[:] = x * x
    return np.sum(workspace(5) * x)


def given_by_cache_and_carried(x):
    v = cached_weights(5)
    v[:] = x * x
    return np.sum(cached_weights(5) * x)


def put_into_list_and_carried(x):
    held = []
    held.append(G)
    v = held[0]
    v[1:] = x[1:] * x[:-1]
    return np.sum(G * x)


def given_numbers(x):
    total = 0.0
    for g in give():
        total += g * np.sum(x)
    t = give()[2]
    t += np.sum(x * x)
    return total * t


def given_workspace_read(x):
    return np.sum(workspace(5) * x * x) * cached_weights(5)[1]


PROGRAMS = [
    Program(fn, _VECTOR)
    for fn in (
        given_then_set,
        given_view_then_set,
        given_item_then_set,
        given_by_closure_then_set,
        given_either_then_set,
        given_in_list_then_set,
        given_and_carried,
        given_and_updated,
        given_twice_and_carried,
        given_by_cache_and_carried,
        put_into_list_and_carried,
        given_numbers,
        given_workspace_read,
    )
]
