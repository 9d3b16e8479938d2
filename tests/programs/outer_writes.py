"""Arrays, lists, dicts and objects of the module that a program writes, itself or by a call."""

import heapq
import random

import numpy as np

from .registry import Program, vector

_VECTOR = vector(5, 0.3, 1.4)
G = np.zeros(5)
L = [1.0, 2.0]
D = {}


def helper(a, v):
    a[:] = v


def outer_given_to_helper(x):
    helper(G, x * x)
    return np.sum(G * x)


def outer_view(x):
    v = G[1:]
    v[:] = x[1:]
    return np.sum(G * x)


def outer_view_const(x):
    v = G[1:]
    v[:] = 1.0
    s = np.sum(v * x[1:])
    v[:] = 3.0
    return s * np.sum(x * x)


def outer_direct_const(x):
    G[:] = 2.0
    y = np.sum(G * x)
    G[:] = 3.0
    return y * np.sum(x * x * G)


def outer_list_const(x):
    L[0] = 2.0
    y = L[0] * np.sum(x)
    L[0] = 3.0
    return y * np.sum(x * x) * L[0]


def outer_dict_const(x):
    D["k"] = 2.0
    y = D["k"] * np.sum(x * x)
    D["k"] = 3.0
    return y * np.sum(x * x) * D["k"]


def setd(v):
    D["k"] = v


def outer_dict_callee(x):
    setd(2.0)
    y = D["k"] * np.sum(x * x)
    setd(3.0)
    return y * np.sum(x * x) * D["k"]


class Holder:
    pass


STATE = Holder()
STATE.k = 1.0
STATE.a = np.ones(5)


def outer_attr(x):
    STATE.k = 2.0
    y = STATE.k * np.sum(x * x)
    STATE.k = 3.0
    return y * np.sum(x * x) * STATE.k


def seta(v):
    STATE.a[:] = v


def outer_attr_array(x):
    seta(2.0)
    y = np.sum(STATE.a * x * x)
    seta(3.0)
    return y * np.sum(x * x * STATE.a)


def heap(x):
    w = [3.0, 1.0, 2.0]
    y = w[0] * np.sum(x * x)
    heapq.heapify(w)
    return y * np.sum(x) * w[0]


def rshuffle(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    random.seed(3)
    random.shuffle(w)
    return y * np.sum(x * np.sort(w))


N = [0]


def counted(v):
    N[0] += 1
    return v * v


def counter(x):
    return np.sum(counted(x) * x)


LOG = []


def logged(v):
    LOG.append(v.shape)
    return v * v


def logs(x):
    return np.sum(logged(x) * x)


CACHE = {}


def weights(n):
    if n not in CACHE:
        CACHE[n] = np.arange(n) * 1.0
    return CACHE[n]


def cached(x):
    return np.sum(weights(5) * x * x) * np.sum(weights(5))


def loc_cached(x):
    if "w" not in CACHE:
        CACHE["w"] = np.arange(5.0)
    return np.sum(CACHE["w"] * x * x)


PROGRAMS = [
    Program(outer_given_to_helper, _VECTOR),
    Program(outer_view, _VECTOR),
    Program(outer_view_const, _VECTOR),
    Program(outer_direct_const, _VECTOR),
    Program(outer_list_const, _VECTOR),
    Program(outer_dict_const, _VECTOR),
    Program(outer_dict_callee, _VECTOR),
    Program(outer_attr, _VECTOR),
    Program(outer_attr_array, _VECTOR),
    Program(heap, _VECTOR),
    Program(rshuffle, _VECTOR),
    Program(counter, _VECTOR),
    Program(logs, _VECTOR),
    Program(cached, _VECTOR),
    Program(loc_cached, _VECTOR),
]
