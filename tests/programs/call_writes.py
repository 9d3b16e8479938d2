"""Writes that a call makes: into outer arrays, closures and arguments that share memory."""

import functools
import operator

import numpy as np

from .registry import Program, vector

_VECTOR = vector(5, 0.3, 1.4)


def _matrix(n, m):
    return lambda rng: (rng.normal(size=(n, m)),)


G = np.zeros(5)


def writes_global(x):
    G[:] = x


def writes_global_const(n):
    G[:] = n


def global_written_by_callee(x):
    writes_global(x * x)
    return np.sum(G * x)


def global_written_const_by_callee(x):
    writes_global_const(2.0)
    y = np.sum(G * x)
    writes_global_const(3.0)
    return y * np.sum(G * x * x)


def global_aug_by_callee(x):
    G[:] = 0.0
    for _ in range(3):
        bump()
    return np.sum(G * x)


def bump():
    G[...] += 1.0


def closure_written(x):
    buf = np.zeros(5)

    def put(i, v):
        buf[i] = v

    for i in range(5):
        put(i, x[i] * x[i - 1])
    return np.sum(buf * x)


def closure_alias(x):
    buf = x * x
    view = buf[1:]

    def put(v):
        buf[1] = v
        return view[0] * v

    s = put(x[0]) + put(x[3])
    return s + np.sum(view)


def make_counter():
    c = np.zeros(1)

    def tick(x):
        c[0] += 1.0
        return x * c[0]

    return tick


tick = make_counter()


def closure_state(x):
    c = np.zeros(1)

    def t(v):
        c[0] += 1.0
        return v * c[0]

    return np.sum(t(x) * t(x))


def unk(a):
    exec("a[0]=7.0")
    return None


def setitem_inactive(x):
    w = np.arange(1.0, 6.0)
    r = np.sum(x * x * w)
    operator.setitem(w, 0, 9.0)
    return r * np.sum(w * x)


def setitem_active(x):
    w = x * x
    operator.setitem(w, 0, x[1])
    return np.sum(w * x)


def iadd_operator(x):
    w = x * x
    v = w
    w = operator.iadd(w, x)
    return np.sum(v * x)


def partial_write(x):
    w = x * x
    put = functools.partial(np.copyto, w)
    put(x)
    return np.sum(w * x)


def list_of_callables(x):
    w = x * x
    for f in (np.sin, np.cos):
        f(w, out=w)
    return np.sum(w * x)


def map_writes(x):
    w = x * x
    list(map(lambda i: w.__setitem__(i, 0.0), range(2)))  # noqa: C417
    return np.sum(w * x)


def sharing_saved_value(x):
    w = np.arange(1.0, 6.0)
    s = 0.0
    for i in range(3):
        w[:] = w * 1.5
        s = s + np.sum(w * x * x)
    return s


def opaque_out(x):
    w = np.arange(1.0, 6.0)
    r = np.sum(x * x * w)
    np.floor(w * 0.5, out=w)
    np.add(w, 1, w)
    return r * np.sum(w * x)


def writes_into_tuple_arg(x):
    def f(t):
        t[0][:] = t[1] * t[1]

    y = np.zeros(5)
    f((y, x))
    return np.sum(y * x)


def writes_returned_view(x):
    def tail(y):
        return y[1:]

    y = x * x
    tail(y)[0] = x[0]
    t = tail(y)
    t *= x[1:]
    return np.sum(y)


def choose(a, b, n):
    return a if n > 1 else b


def writes_chosen(x):
    a = x * x
    b = np.sin(x)
    c = choose(a, b, 2)
    c[0] = x[1]
    c = choose(a, b, 0)
    c[1:] = a[:-1]
    return np.sum(a * b)


def returned_arg_written(x):
    def f(a):
        a[0] = a[1] * 2
        return a

    y = x * x
    z = f(y)
    z[1] = y[0] * x[2]
    return np.sum(y * z)


def kwargs_out_callee(x):
    def f(a, *, out):
        np.multiply(a, a, out=out)
        return out

    buf = np.empty_like(x)
    y = f(x, out=buf)
    z = f(y, out=buf)
    return np.sum(buf * x) + np.sum(z)


def default_mutable(x):
    def f(a, acc=np.zeros(5)):  # noqa: B008
        acc[:] = a
        return acc * a

    return np.sum(f(x * x))


def star_args_written(x):
    def f(*arrs):
        for a in arrs:
            a *= 2.0
        return arrs[0]

    u = x * x
    v = np.sin(x)
    f(u, v)
    return np.sum(u * v)


def recursion_on_views(x):
    def f(a):
        if len(a) > 1:
            h = len(a) // 2
            f(a[:h])
            f(a[h:])
            a[0] += a[-1] * a[0]

    y = x * x
    f(y)
    return np.sum(y)


def ternary_alias(x):
    y = x * x
    z = y if x[0] > 0 else x
    z = z + 0.0
    z[0] = 1.0
    return np.sum(y * z)


def while_alias(x):
    y = x * x
    v = y[1:]
    n = 0
    while n < 3:
        v[0] *= y[0]
        y[0] += v[1]
        v = v if n else y[2:]
        n += 1
    return np.sum(y)


def advance(u, v):
    u[1:] = u[1:] * v[:-1]


def mix_three(a, b, c):
    a[0] = b[1] * c[2]
    b[1] = a[0] * c[0]


def halve_down(u, v, n):
    if n == 0:
        return
    u[n:] = u[n:] * v[:-n]
    halve_down(u, v, n - 1)


def given_back_by_name(*, u, v, s=1.0):
    u *= s * v
    return u


def one_array_for_all(x):
    y, z = np.sin(x), np.cos(x)
    mix_three(y, z, y)
    mix_three(z, y, z)
    mix_three(z, z, z)
    return np.sum(y * x * z)


def one_array_in_recursion(x):
    y, weights = np.sin(x), np.full(5, 1.5)
    halve_down(y, y, 3)
    advance(weights, weights)
    return np.sum(y * x * weights)


def one_array_given_back(x):
    y = np.sin(x)
    z = given_back_by_name(v=y, u=y, s=2.0)
    advance(z, z)
    return np.sum(z * x) * np.sum(y)


PROGRAMS = [
    Program(global_written_by_callee, _VECTOR),
    Program(global_written_const_by_callee, _VECTOR),
    Program(global_aug_by_callee, _VECTOR),
    Program(closure_written, _VECTOR),
    Program(closure_alias, _VECTOR),
    Program(closure_state, _VECTOR),
    Program(setitem_inactive, _VECTOR),
    Program(setitem_active, _VECTOR),
    Program(iadd_operator, _VECTOR),
    Program(partial_write, _VECTOR),
    Program(list_of_callables, _VECTOR),
    Program(map_writes, _VECTOR),
    Program(sharing_saved_value, _VECTOR),
    Program(opaque_out, _VECTOR),
    Program(writes_into_tuple_arg, _VECTOR),
    Program(writes_returned_view, _VECTOR),
    Program(writes_chosen, _VECTOR),
    Program(returned_arg_written, _VECTOR),
    Program(kwargs_out_callee, _VECTOR),
    Program(default_mutable, _VECTOR),
    Program(star_args_written, _VECTOR),
    Program(recursion_on_views, _VECTOR),
    Program(ternary_alias, _VECTOR),
    Program(while_alias, _VECTOR),
    Program(one_array_for_all, _VECTOR),
    Program(one_array_in_recursion, _VECTOR),
    Program(one_array_given_back, _VECTOR),
]
