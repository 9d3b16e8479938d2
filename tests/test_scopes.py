# ruff: noqa: C402, C416, C417, C419 - comprehensions are what is tested
"""The variables of comprehensions, generator expressions and lambdas have scopes of their own.

A comprehension inside another may use the same name; both become loops of one function.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tangentlike as tl

SCALE = 2.0


def sum_of_constant(x):
    return sum([sum(x for k in range(1, 3)) * k for k in range(3)])


def range_of_outer(x):
    return sum([sum(x * k for k in range(k)) * k for k in range(4)])


def lambda_called(x):
    return sum((lambda k: x * k)(k + 1) * k for k in range(4))


def lambda_default(x):
    fs = [lambda y, k=k: y * k * x for k in range(3)]
    return sum(f(x) for f in fs)


def dict_of_lists(x):
    d = {k: [x * k for k in range(k)] for k in range(4)}
    return sum(sum(d[k]) * k for k in d)


def name_of_function(x):
    k = x * 2
    r = [sum(k * j for j in range(2)) + k for k in range(3)]
    return k * sum(r) + x * sum(r)


def in_test(x):
    return sum(
        [
            k * sum([x * k for k in range(3) if k > 0])
            for k in range(4)
            if sum([k for k in range(k)]) > 0
        ]
    )


def builtin_max(x):
    return sum([max([x * k for k in [1.0, 2.0]]) * k for k in [3.0, x]])


def inner_function(x):
    def inner(y):
        return sum([y * k for k in range(3)])

    return sum([inner(x * k) * k for k in range(3)])


def three_deep(x):
    return sum(
        [sum([sum([x * k for k in range(2)]) * k for k in range(1, 4)]) * k for k in range(1, 3)]
    )


def iterable_of_loop(x):
    t = 0.0
    for k in [sum([k * x for k in range(3)]) * k for k in range(4)]:
        t = t + k
    return t


def chosen(x):
    return sum(k if k > 0.1 else sum(k * x for k in [x, 2 * x]) for k in [x, 2 * x, -x])


def sets(x):
    s = {round(float(k)) for k in [k * 2 for k in range(3)]}
    return x * sum(k for k in s) + sum(x * k for k in {k + 1 for k in range(3)})


def dict_in_dict(x):
    return sum(v * k for k, v in {k: sum(x for k in range(2)) * k for k in range(3)}.items())


def two_clauses(x):
    return sum([sum([x * k * j for j in range(2)]) * j * k for k in range(3) for j in range(3)])


def opaque_any(x):
    return sum([any([k > 1 for k in range(k)]) * x * k for k in range(5)])


def opaque_len(x):
    return sum([x * len([k for k in range(k)]) * k for k in range(5)])


def lambda_in_place(x):
    return sum([(lambda: sum([x * k for k in range(3)]))() * k for k in range(4)])


def generators_of_generators(x):
    z = [y for y in (y * x for y in (y * x for y in [1.0, x]))]
    return sum(z)


def reduced(x):
    return functools.reduce(
        lambda k, j: k * j + x, [sum([x * k for k in [1.0, 2.0]]) * k for k in [x, 2.0]]
    )


def unpacked(x):
    return sum(
        [sum(a * b for a, b in zip([x, 2 * x], [a, b])) * a * b for a, b in [(x, 1.0), (2.0, x)]]
    )


def inner_function_of_same_name(x):
    def outer(k):
        return [sum([x * k for k in [1.0, 2.0]]) * k for _ in range(2)]

    return sum([sum(outer(k)) * k for k in [1.0, x]])


def in_a_loop(x):
    tot = 0.0
    for k in range(3):
        tot = tot + sum([x * k for k in range(k, 5)]) * k
    return tot


def enumerated_generators(x):
    return sum(
        [i * v for i, v in enumerate(k * i2 for i2, k in enumerate(x * i for i in range(3)))]
    )


def global_of_inner_function(x):
    def g(y):
        return y * SCALE

    return sum([g(x) * SCALE for SCALE in [1.0, 3.0]])


def name_like_a_temporary(x, w=3.0):
    def g(y):
        return sum([y * xw for xw in [1.0, 2.0]])

    return (x * w) * g(x * w * 2.0) * (x * w)


def same_as_variable(x):
    i = 2
    r = [x * i for i in range(i)]
    return sum(r) * i + x * i


def two_clauses_of_one_name(x):
    r = [x * i for i in [1.0, 2.0] for i in [i, 3.0 * i]]
    return sum(r)


def three_clauses_of_one_name(x):
    r = [x * i for i in [1.0, 2.0] for j in [i, 3.0 * i] if j > 1 for i in [j * x]]
    return sum(r)


def summed_if_tested(x):
    r = [sum(j * i for j in [i, x]) for i in [x, 2.0 * x] if sum([i for i in [i, i]]) > 0]
    return sum(r)


def mapped_lambda(x):
    return sum([sum(map(lambda i: i * x, [i, 2 * i])) * i for i in [1.0, 2.0]])


def crossed_with_inner_function(x):
    def h(i):
        return sum([i * j for j in [x, i]])

    return sum([h(j) * j for j in [1.0, x]])


def crossed_twice(x):
    def h(i):
        j = i * x
        return sum([j * i for i in [j, i]])

    return sum([h(j) * j + sum([h(i) * i for i in [j, x]]) for j in [1.0, x]])


def swapped_pair(x):
    a, b = x, 2 * x
    pairs = [(a, b) for a, b in [(b, a), (a, a)]]
    return sum([a * b for a, b in pairs]) * a * b


def items(x):
    t = {"a": x, "b": 2 * x}
    return sum([sum([v * len(k) for k, v in t.items()]) * v for k, v in t.items()])


def matrix_product(x):
    m = np.array([[x * i + j for j in range(3)] for i in range(3)])
    n = np.array([[sum(m[i, k] * m[k, j] for k in range(3)) for j in range(3)] for i in range(3)])
    return np.sum(n)


def side_by_side_and_nested(x):
    return sum(x * i for i in range(3)) * sum(
        sum(x * i for i in range(i)) * i for i in range(4)
    ) + sum([max(x * i for i in range(1, 3)) * i for i in range(3)])


def conditional(x):
    return sum([(sum([x * i for i in range(3)]) if i > 1 else x * i) * i for i in range(4)])


def first_of_generator(x):
    return sum([next(x * i for i in range(4) if i > 1) * i for i in range(4)])


def loop_over_enumerated(x):
    out = 0.0
    for i, v in enumerate(j * k for j, k in enumerate(x * i for i in range(4))):
        out = out + i * v
    return out


def written_while_counted(x):
    xs = [x * 1.0, x * 2.0]
    for i, v in enumerate(xs):
        xs[i] = sum([v * x for v in xs]) * v
    return sum(xs)


def default_of_same_name(x, k=2):
    def inner(k=k):
        return sum([x * k for k in range(k + 1)])

    return inner() * inner(3) * k


def dict_indexed(x):
    return sum([{k: x * k for k in range(3)}[k] * k for k in range(3)])


def dict_call(x):
    return sum([dict((k, x * k) for k in range(3))[k] * k for k in range(3)])


def array_of_inner(x):
    return sum(np.array([x * k for k in [1.0, 2.0]])[k] * k for k in range(2))


def zip_of_zips(x):
    out = 0.0
    for a, (b, c) in zip((x * i for i in range(3)), zip([x, x, x], (x * i + i for i in range(3)))):
        out = out + a * b * c
    return out


PROGRAMS = (
    sum_of_constant,
    range_of_outer,
    lambda_called,
    lambda_default,
    dict_of_lists,
    name_of_function,
    in_test,
    builtin_max,
    inner_function,
    three_deep,
    iterable_of_loop,
    chosen,
    sets,
    dict_in_dict,
    two_clauses,
    opaque_any,
    opaque_len,
    lambda_in_place,
    generators_of_generators,
    reduced,
    unpacked,
    inner_function_of_same_name,
    in_a_loop,
    enumerated_generators,
    global_of_inner_function,
    name_like_a_temporary,
    same_as_variable,
    two_clauses_of_one_name,
    three_clauses_of_one_name,
    summed_if_tested,
    mapped_lambda,
    crossed_with_inner_function,
    crossed_twice,
    swapped_pair,
    items,
    matrix_product,
    side_by_side_and_nested,
    conditional,
    first_of_generator,
    loop_over_enumerated,
    written_while_counted,
    default_of_same_name,
    dict_indexed,
    dict_call,
    array_of_inner,
    zip_of_zips,
)


def called_from_a_function_in_a_function(x):
    def scaled(v):
        return v * x

    def both(v):
        def twice(w):
            return scaled(w) + scaled(w * w)

        return twice(v) * twice(2.0 * v)

    return both(x) + scaled(x)


PROGRAMS += (called_from_a_function_in_a_function,)
SECOND = (range_of_outer, reduced, unpacked, crossed_twice, summed_if_tested, matrix_product)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_each_variable_has_a_scope_of_its_own(f):
    value, gradient = tl.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), abs=1e-12)
    slope = (f(0.7 + 1e-5) - f(0.7 - 1e-5)) / 2e-5
    assert gradient == pytest.approx(slope, rel=1e-6)
    assert tl.jvp(f, (0.7,), (1.0,)) == pytest.approx((value, slope), rel=1e-6)


@pytest.mark.parametrize("f", SECOND, ids=lambda f: f.__name__)
def test_scopes_in_second_derivatives(f):
    slope = (tl.grad(f)(0.7 + 1e-5) - tl.grad(f)(0.7 - 1e-5)) / 2e-5
    assert tl.hvp(f)(0.7, 1.0) == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_names_are_taken_over_where_nothing_is_hidden():
    def f(x):
        a = sum([x * k for k in [1.0, 2.0]])
        return a * sum([x + k for k in [3.0, 4.0]])

    source = tl.grad(f).source
    assert source.count("for k in [") >= 2 and "k2" not in source


def kept_in_enumerate(x):
    out = 0.0
    for i, (j, v) in enumerate(enumerate(x * i for i in range(5) if i > 1)):
        out = out + i * v * j
    return out


def kept_in_zip(x):
    out = 0.0
    for i, (j, v) in enumerate(zip([x, 2 * x], (x * i for i in range(3) for j in range(2)))):
        out = out + i * v * j
    return out


@pytest.mark.parametrize("f", [kept_in_enumerate, kept_in_zip], ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_generators_that_stay_in_a_loop_header_are_refused(f, mode):
    with pytest.raises(tl.UnsupportedError, match="is not differentiated, and `x` in it"):
        tl.autodiff(f, mode=mode)(0.7, 1.0)
