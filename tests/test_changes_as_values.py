"""What changes an object and gives None, used as a value: the change counts wherever it stands."""

import operator

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, 0.7, -0.2, 0.5])


def bound_to_a_name(x):
    xs = []
    y = xs.append(x[0] * x[1])
    z = (xs.append(x[2]), xs[0] * x[3])[1]
    return z * xs[1] if y is None else 0.0


def in_a_comprehension(x):
    xs = []
    [xs.append(v * v) for v in x]
    return xs[0] * xs[1] * sum(xs)


def either_or(x):
    xs = []
    r = [xs.append(v * v) or v for v in x]
    return xs[0] * xs[1] * sum(r)


def given_back(xs, v):
    return xs.append(v)


def by_a_helper(x):
    xs = []
    a = given_back(xs, x[0] * x[1])
    given_back(xs, x[2])
    return xs[0] * xs[1] * (2 if a is None else 1)


def of_dicts(x):
    d = {}
    u = d.update(a=x[0] * x[1])
    w = d.update({"b": x[2]}) or d["a"]
    [d.setdefault(k % 2, []).append(v) for k, v in enumerate(x)]
    {k: d[k].reverse() for k in (0, 1)}
    return d["a"] * d["b"] * w * d[0][0] if u is None else 0.0


def in_the_test_of_a_loop(x):
    xs = [x[0]]
    while len(xs) < 4 and (xs.append(xs[-1] * x[len(xs)]) or True):
        pass
    return xs[-1] * xs[1]


def as_an_argument(x):
    xs = []
    table = {"a": xs.append(x[2])}
    items = [xs.append(x[3]), 1]
    return xs[0] * xs[1] * len(table) * len(items)


def default_of_a_lambda(x):
    f = lambda v, acc=[]: (acc.append(v), acc[0] * v)[1]  # noqa: E731
    return f(x[0]) * f(x[1])


def copied(x):
    acc = np.zeros(4)
    done = np.copyto(acc[1:], x[1:] * x[:1]) is None
    return np.sum(acc * x) if done else 0.0


def added_at(x):
    y = x * 1.0
    done = [np.add.at(y, [0, 0], v) for v in x]
    return np.sum(y * y) * len(done)


def in_tests(x):
    y = x * 1.0
    if np.copyto(y[:1], x[:1] * x[1:2]) or np.sin(y, out=y)[0] > -9.0:
        y = y * 2.0
    while np.add(y, 1.0, out=y)[0] < 4.0:
        pass
    return np.sum(y * y)


def put_and_filled(x):
    y = x * 1.0
    first = np.put(y, [0], x[1] * 2.0)
    second = (y[1:].fill(y[0] * x[2]), np.place(y, y > 0.4, [1.0]))[0]
    return np.sum(y * x) if first is second else 0.0


class Box:
    pass


class Frozen:
    __init__ = lambda self, v: object.__setattr__(self, "v", v * v)  # noqa: E731


def put(box, v):
    return setattr(box, "v", v)


def attributes_set(x):
    box = Box()
    put(box, x * x)
    first = [setattr(box, "v", box.v * k) for k in (0.5, 3.0)]
    (lambda v: setattr(box, "w", v))(box.v * 2.0)
    both = (box.w, setattr(box, "w", x * box.w), box.w)
    return np.sum(both[0] * both[2]) * len(first) * np.sum(Frozen(box.v).v)


def attributes_set_in_tests(x):
    box, name = Box(), "v"
    box.v = x[0]
    while setattr(box, "v", box.v * x[1]) is None and abs(box.v) > 0.02:
        pass
    y = x[2 if setattr(box, "w", x[3] * box.v) is None else 1] * box.w
    return y if setattr(box, name, box.v * x[2]) else y * box.v


def items_set(x):
    y, z = x * 1.0, [x[0], x[1]]
    first = operator.setitem(y, 0, y[1] * y[2])
    second = [operator.setitem(z, k, z[1 - k] * v) or k for k, v in enumerate(x[2:])]
    return np.sum(y * y) * z[0] * z[1] if first is None and second == [0, 1] else 0.0


def in_the_choice_of_a_place(x):
    xs, ys = [], [1, 2]
    y = x * 1.0
    y[0 if ys.pop() > 1 else 3] += x[1] * x[2]
    return y[0 if xs.append(x[3]) is None else 3] * xs[0] * y[3] * len(ys)


def by_a_chosen_slice(x):
    xs = [x[1], x[0]]
    return np.sum(x[0 : (1 if xs.pop() > 0 else 2)]) * len(xs) * xs[0]


PROGRAMS = [
    in_the_choice_of_a_place,
    by_a_chosen_slice,
    *(bound_to_a_name, in_a_comprehension, either_or, by_a_helper, of_dicts, as_an_argument),
    *(in_the_test_of_a_loop, default_of_a_lambda, copied, added_at, in_tests, put_and_filled),
    *(attributes_set, attributes_set_in_tests, items_set),
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(f):
    tl.check_grads(f, (X,))
    v = np.array([0.2, -0.5, 0.7, 0.3])
    known = tl.grad(f, example=(X,))
    assert known(X) @ v == pytest.approx(tl.jvp(f, (X,), (v,))[1], rel=1e-12)


@pytest.mark.parametrize(
    "f", [in_a_comprehension, by_a_helper, added_at, attributes_set], ids=lambda f: f.__name__
)
def test_second_order(f):
    tl.check_grads(f, (X,), order=2)


class Fluent:
    def __init__(self):
        self.items = []

    def append(self, v):
        self.items.append(v)
        return self


def test_a_class_of_the_users_gives_what_it_gives():
    def f(x):
        made = Fluent().append(x[0] * x[1]).append(x[2])
        return made.items[0] * made.items[1]

    tl.check_grads(f, (X,))


def test_what_has_append_and_is_no_list_is_refused_at_run_time():
    def f(x, xs):
        y = xs.append(x[0])
        return x[1] * 2.0 if y is None else y * x[1]

    assert np.allclose(tl.grad(f)(X, []), [0.0, 2.0, 0.0, 0.0])
