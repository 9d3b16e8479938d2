"""Writes to an array without derivatives by code that nobody reads: methods kept under a name,
functions in C, text that is run, memory handed out."""

import ctypes
import operator

import numpy as np

from .registry import Program, vector

_VECTOR = vector(5, 0.3, 1.4)
_ALL = slice(None)


def by_getattr(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    getattr(w, "__setitem__")(_ALL, 3.0)  # noqa: B009
    return y * np.sum(w * x)


def by_method_of_class(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    np.ndarray.__setitem__(w, _ALL, 3.0)
    return y * np.sum(w * x)


def by_kept_function(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    setter = getattr(np.ndarray, "fill")  # noqa: B009
    setter(w, 3.0)
    return y * np.sum(w * x)


def by_kept_method(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    fill = w.fill
    fill(3.0)
    return y * np.sum(w * x)


def by_setfield(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    w.setfield(3.0, np.float64)
    return y * np.sum(w * x)


def by_vars(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    vars()["w"][:] = 7.0
    return y * np.sum(w * x)


def by_strides(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    z = np.lib.stride_tricks.as_strided(w, (3,), (8,))
    z[:] = 7.0
    return y * np.sum(w * x)


def by_buffer(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    z = np.ndarray((5,), buffer=w)
    z[:] = 7.0
    return y * np.sum(w * x)


def by_array_not_copied(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    z = np.array(w, copy=None)
    z[:] = 7.0
    return y * np.sum(w * x)


def by_exec(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    run = exec
    run("w[:] = 3.0", {"w": w})
    return y * np.sum(w * x)


def running(w):
    exec("w[:] = 3.0", {"w": w})


def by_exec_in_helper(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    running(w)
    return y * np.sum(w * x)


def calling(obj, name, k, v):
    getattr(obj, name)(k, v)


def by_getattr_in_helper(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    calling(w, "__setitem__", _ALL, 3.0)
    return y * np.sum(w * x)


def by_methodcaller(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    fill = operator.methodcaller("fill", 3.0)
    fill(w)
    return y * np.sum(w * x)


def by_memset(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    ctypes.memset(w.ctypes.data, 0, w.nbytes)
    return y * np.sum((w + 1.0) * x)


def by_pointer(x):
    w = np.arange(5.0)
    y = np.sum(w * x * x)
    p = w.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    p[0] = 9.0
    return y * np.sum(w * x)


PROGRAMS = [
    Program(fn, _VECTOR)
    for fn in (
        by_getattr,
        by_method_of_class,
        by_kept_function,
        by_kept_method,
        by_setfield,
        by_vars,
        by_strides,
        by_buffer,
        by_array_not_copied,
        by_exec,
        by_exec_in_helper,
        by_getattr_in_helper,
        by_methodcaller,
        by_memset,
        by_pointer,
    )
]
