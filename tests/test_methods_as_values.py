"""Methods of containers and arrays that are bound to names, stored, and given to functions."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.5, 1.2, -0.7])


def appended(x):
    out = []
    append = out.append
    for v in x:
        append(np.sin(v))
    return out[0] * out[1] + sum(out)


def appended_by_a_closure(x):
    out = []
    add = out.append

    def put(v):
        add(v * v)

    for v in x:
        put(v)
    return out[0] * out[1]


def bound_again_in_the_loop(x):
    rows = [[], []]
    for i, v in enumerate(x):
        add = rows[i % 2].append
        add(v * v)
    return rows[0][1] * rows[1][0] + rows[0][0]


def list_replaced_after(x):
    out = []
    add = out.append
    add(x[0])
    first = out
    out = [x[1]]
    add(x[2])
    return first[0] * first[1] ** 2 * out[0] * len(out)


def entries(x):
    d = {}
    entry, get = d.setdefault, d.get
    entry("a", []).append(x[0])
    entry("a", []).append(x[1])
    return d["a"][0] * get("a")[1] * get("b", x[2])


def array_replaced_after(x):
    y = x * 2.0
    dot = y.dot
    y = y + 1.0
    return dot(x) + y[0]


def one_of_two(x, total=True):
    y = x * 2.0
    of = y.sum if total else y.mean
    return of() ** 2


def in_a_list(x):
    y = x * x
    return sum(f() ** 2 for f in [y.sum, y.mean])


def given(x):
    return called((x * x).sum, axis=0) ** 2


def called(f, **options):
    return f(**options)


def looked_up(x):
    return getattr(x * x, "sum")() ** 2  # noqa: B009


def returned(x):
    y = x * x

    def method():
        return y.sum

    return method()() ** 2


@pytest.mark.parametrize(
    "fn",
    [
        *(appended, appended_by_a_closure, bound_again_in_the_loop, list_replaced_after, entries),
        *(array_replaced_after, one_of_two, in_a_list, given, looked_up, returned),
    ],
    ids=lambda fn: fn.__name__,
)
def test_derivatives(fn):
    tl.check_grads(fn, (X,), order=2)


def test_the_method_is_called_where_it_stood():
    assert "out.append(np.sin(v))" in tl.grad(appended).source_for(X)


def one_of_many(x, k):
    of = [x.sum, x.mean]
    return of[k]() ** 2


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (tl.autodiff(one_of_many, mode="forward").source, (X, 1, X)),
        (tl.grad(one_of_many).source, (X, 1)),
    ],
    ids=["forward", "reverse"],
)
def test_a_text_for_any_types_does_not_take_a_stored_method_for_a_constant(text, arguments):
    namespace: dict = {}
    exec(text, namespace)
    (name,) = [n for n in namespace if n.startswith("one_of_many_")]
    with pytest.raises(TypeError, match="make the derivative with example="):
        namespace[name](*arguments)


def test_a_stored_function_is_a_class_whose_methods_stand_together():
    def stored(x, k):
        y = x * 2.0
        of = [y.sum, y.mean]
        return of[k]() ** 2

    assert tl.grad(stored).source_for(X, 1).count("class Sum:") == 1
    tl.check_grads(stored, (X, 1), wrt="x")


def handed_on(x, fs):
    for f in fs:
        x = f(x)
    return x


def beside_a_lambda(b, t):
    q = b * 1.0
    for p in [q.fill, lambda v: q.put(0, v)]:
        p(0.7 * t)
    return np.sum(q * b) * t


def beside_functions_that_the_run_knows(b, t):
    q, fs = np.array([0.3, 0.1, 0.4]), []
    fs.append(np.sin)
    a = q * handed_on(b, fs)
    for p in [q.fill, lambda v: q.put(0, v)]:
        p(0.7)
    return np.sum(q * a) * t


@pytest.mark.parametrize("f", [beside_a_lambda, beside_functions_that_the_run_knows])
def test_a_method_that_writes_beside_other_functions(f):
    """(It was called without its arguments.)"""
    tl.check_grads(f, (X, 0.5), order=1)
