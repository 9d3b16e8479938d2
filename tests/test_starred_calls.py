"""Calls with starred arguments whose number only the running program knows."""

import functools

import numpy as np
import pytest
import scipy.ndimage
import scipy.optimize

import tangentlike as tl
from tests import agreement

X = np.array([0.5, 1.2, 2.0])
V = np.array([0.3, -0.7, 0.4])
WEIGHTS = (2.0, 3.0)
OFFSETS = [2.0, 3.0]


def residual(theta, u, *rest):
    return theta * u + sum(rest)


def line(x, a, b=0.5, *, c=1.0):
    return x * a * c + b


def further_arguments(x, *rest):
    return np.sum(residual(x, x, *rest) ** 2)


def a_list_that_grows(x, n):
    args = [x]
    for i in range(n):
        args.append(x * (i + 1.0))
    return np.sum(residual(*args) ** 2)


def an_outer_tuple(x):
    return np.sum(residual(x, *WEIGHTS) * x)


def an_outer_list(x):
    return np.sum(residual(x, *OFFSETS) * x)


def between(x, pair):
    return np.sum(residual(x, *pair, x * x) ** 2)


def by_name(x, params):
    return np.sum(line(x, **params) ** 2)


def both(x, args, params):
    return np.sum(line(x, *args, **params) ** 2)


def and_a_word(x, args, k):
    return np.sum(line(x, *args, c=x * k))


def of_numpy(x, pair):
    return np.sum(np.hypot(*pair) * x) + np.sum(np.hypot(x, *pair[1:]))


def of_python(x):
    return max(*[v * v for v in x]) * min(*x)


def in_a_loop(x, n):
    values = [x[0], x[1]]
    total = 0.0
    for i in range(n):
        values = [*values, values[-1] * x[2]]
        total = total + residual(*values) * i
    return total


def a_function_of_the_call(x, f, args):
    return np.sum(f(x, *args) ** 2)


def newton(res, u, theta, *rest):
    for _ in range(3):
        u = u - 0.1 * res(theta, u, *rest)
    return u


def handed_on(x, a):
    return np.sum(newton(residual, np.ones(3), x, a, x))


def an_array(x):
    return line(*x) ** 2


CASES = [
    (further_arguments, (X, 2.0, 3.0)),
    (further_arguments, (X,)),
    (a_list_that_grows, (X, 3)),
    (an_outer_tuple, (X,)),
    (an_outer_list, (X,)),
    (between, (X, (2.0, 3.0))),
    (by_name, (X, {"a": 2.0, "b": 3.0})),
    (by_name, (X, {"b": 1.0, "a": 2.0, "c": 0.7})),
    (both, (X, [2.0], {"c": 3.0})),
    (and_a_word, (X, (2.0, 3.0), 0.5)),
    (of_numpy, (X, (X + 1.0, X * 2))),
    (of_python, (X,)),
    (in_a_loop, (X, 3)),
    (a_function_of_the_call, (X, line, (2.0, 3.0))),
    (handed_on, (X, 1.5)),
    (an_array, (X[:2],)),
]


@pytest.mark.parametrize(("fn", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_both_modes_and_second_order(fn, args):
    tl.check_grads(fn, args, wrt=0)
    v = V[: len(args[0])]

    def slope(s):
        return tl.grad(fn)(args[0] + s * v, *args[1:])

    change = (slope(1e-6) - slope(-1e-6)) / 2e-6
    hvp = tl.hvp(fn)(*args, v=v)
    np.testing.assert_allclose(hvp, change, rtol=1e-5, atol=1e-7)


def test_by_what_is_unpacked():
    tl.check_grads(further_arguments, (X, 2.0, 3.0), wrt=(0, 1))
    tl.check_grads(between, (X, (2.0, 3.0)), wrt=(0, 1))
    tl.check_grads(by_name, (X, {"a": 2.0, "b": 3.0}), wrt=(0, 1))
    tl.check_grads(both, (X, [2.0, 0.4], {"c": 3.0}), wrt=(0, 1, 2))
    tl.check_grads(of_numpy, (X, (X + 1.0, X * 2)), wrt=(0, 1))


def test_other_numbers_of_arguments_later():
    gradient = tl.grad(further_arguments)
    for rest in ((), (1.0,), (1.0, 2.0), (1.0,)):
        expected = tl.grad(lambda x, s: np.sum((x * x + s) ** 2))(X, float(sum(rest)))
        np.testing.assert_allclose(gradient(X, *rest), expected)


def test_a_function_that_writes():
    def fill(a, b, c):
        b[0] = c
        return a * b

    def f(x, args):
        y = x * 1.0
        return np.sum(fill(x, y, *args))

    tl.check_grads(f, (X, (2.0,)))


def test_what_has_no_length_is_refused_when_it_runs():
    def f(x, items):
        return np.sum(residual(x, *items))

    with pytest.raises(tl.UnsupportedError, match="unpacked in a call"):
        tl.grad(f)(X, iter([1.0, 2.0]))


class Cubic:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __call__(self, t, *others):
        return t**3 * self.a - self.b


def applied(f, args, t):
    return f(t, *args)


def applied_through(f, t, args=()):
    return applied(f, args, t)


def of_an_object(a, b):
    return applied_through(Cubic(a, b), 0.3) * b


def of_an_object_twice(a, b):
    f = Cubic(a, b)
    t = 0.3
    for _ in range(2):
        t = t - applied_through(f, t)
    return t * f(t)


@pytest.mark.parametrize("fn", [of_an_object, of_an_object_twice])
def test_an_object_that_carries_derivatives_is_called(fn) -> None:
    """What the object carries is an argument of its method."""
    tl.check_grads(fn, (1.5, 0.7))


def with_last_axis(fn):
    def fixed(*args, **kwargs):
        axis = kwargs.get("axis")
        if axis is None:
            return fn(*args, **kwargs)
        x = np.moveaxis(args[0], axis, -1)
        kwargs["axis"] = -1
        return np.moveaxis(fn(x, *args[1:], **kwargs), -1, axis)

    return fixed


@with_last_axis
def brightness(x, *, axis=-1):
    return x * np.sum(x**2, axis=axis, keepdims=True)


def test_a_keyword_argument_has_the_name_of_a_local_variable() -> None:
    x = np.arange(1.0, 7.0).reshape(2, 3)
    tl.check_grads(lambda x: np.sum(brightness(x, axis=0) ** 2), (x,))
    tl.check_grads(lambda x: np.sum(brightness(x) ** 2), (x,))


def overwrites(x, k):
    rows = [x, x * 2.0]
    rows[0][0] = rows[1][1] ** 2
    chosen = rows[int(x[1] > 100.0)]
    chosen *= np.sin(x)
    return np.sum(x) ** 2 * k


@pytest.mark.parametrize("rest", [(2.0,), [2.0]], ids=["tuple", "list"])
def test_a_derivative_is_given_starred_arguments(rest):
    x, v = np.array([0.3, 0.7, 0.9]), np.array([0.3, 0.6, 0.9])
    df = tl.grad(overwrites)

    def starred(x, rest):
        return np.sum(v * tl.grad(overwrites)(x, *rest))

    expected = [
        (np.dot(v, df(x + e, 2.0)) - np.dot(v, df(x - e, 2.0))) / 2e-6 for e in 1e-6 * np.eye(3)
    ]
    np.testing.assert_allclose(tl.grad(starred)(x, rest), expected, rtol=1e-6, atol=1e-7)
    forward = tl.autodiff(starred, mode="forward")
    tangents = [forward(x, rest, e)[1] for e in np.eye(3)]
    np.testing.assert_allclose(tangents, expected, rtol=1e-6, atol=1e-7)


# ------------------------------------------------------------------------ sizes and axes


def heads(x, h=2):
    y = np.tanh(x).reshape(*x.shape[:2], h, -1)
    return np.sum(y[..., 0, :] * y[..., 1, :] ** 2)


def heads_in_a_tuple(x, h=2):
    y = np.tanh(x).reshape((*x.shape[:2], h, -1))
    return np.sum(y[..., 0, :] * y[..., 1, :] ** 2)


def axes_turned(x):
    y = x.transpose(*range(x.ndim)[::-1])
    return np.sum(y * np.sin(y) * np.arange(2.0))


def rows_of_a_view(x):
    s = x.shape[:1]
    y = x.copy()
    rows = y.reshape(*s, -1)
    rows[0] *= 2.0 * rows[1]
    return np.sum(y * y)


def sizes_of_two(x):
    first, last = x.shape[:1], x.shape[1:]
    y = x.reshape(*last, *first)
    return np.sum(y * y[:1] * np.arange(1.0, 3.0))


@pytest.mark.parametrize("f", [heads, heads_in_a_tuple, axes_turned, rows_of_a_view, sizes_of_two])
def test_arrays_take_sizes_and_axes_of_whatever_number(f):
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    tl.check_grads(f, (x,), order=2)
    assert np.array_equal(tl.grad(f, example=(x,))(x), tl.grad(f)(x))


def test_sizes_are_one_tuple_in_the_text():
    assert "y = tanh_x.reshape((*x.shape[:2], h, -1))" in tl.grad(heads).source


class Sized:
    """A class of the user's, whose `reshape` takes its sizes one by one."""

    def __init__(self, v):
        self.v = v

    def reshape(self, *sizes):
        return self.v * len(sizes)


def sizes_given_to_an_object(x, s):
    return np.sum(Sized(x).reshape(*s, 1))


def test_a_method_of_the_same_name_is_not_given_a_tuple():
    try:
        found = tl.grad(sizes_given_to_an_object)(X, [1, 2])
    except tl.UnsupportedError:
        return
    assert np.array_equal(found, [3.0, 3.0, 3.0])


# ------------------------------------------- what is differentiated takes any number of arguments


def doubled(*a):
    return np.sum((a[0] * 2) ** 2) + np.sum(3 * a[-1])


def added(*a):
    return np.sum((a[0] + a[1]) * a[1])


def unpacked(*a):
    x, y = a
    return x @ y * np.sum(x)


def one_by_one(*a):
    total = 0.0
    for k, x in enumerate(a):
        total = total + (k + 1) * np.sum(x * x)
    return total


def by_parts(x, *a):
    return np.sum(x[:1] * a[0]) * len(a)


def passed_along(*a):
    return added(*a) + doubled(*a[1:], *a[:1])


def stated(*a: float):
    return a[0] * a[1] * 2


STARRED = [doubled, added, unpacked, one_by_one, by_parts, passed_along]


@pytest.mark.parametrize("f", STARRED, ids=lambda f: f.__name__)
def test_all_that_a_starred_parameter_takes(f):
    args = (X, 1.0 + X**2)
    wanted = [slopes(f, args, k) for k in (0, 1)]
    found = tl.grad(f, wrt=(0, 1) if f is by_parts else 0)(*args)
    if f is by_parts:
        found = (found[0], *found[1])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
    value, tangent = tl.jvp(f, args, args)
    assert value == f(*args)
    np.testing.assert_allclose(tangent, sum(w @ v for w, v in zip(wanted, args, strict=True)))


def slopes(f, args, k):
    """By each entry of an argument."""
    still = [np.zeros_like(x) for x in args]
    units = np.eye(len(args[k]))
    return [agreement.slope(f, args, [*still[:k], unit, *still[k + 1 :]]) for unit in units]


def test_numbers_that_a_starred_parameter_takes():
    assert tl.grad(stated)(2.0, 3.0) == (6.0, 4.0)
    assert tl.grad(stated)(2, 3.0)[1] == 4.0  # (an int where the annotation says float)
    assert tl.grad(lambda *a: a[0] * 2)(3.0) == (2.0,)


def by_words(x, **words):
    return np.sum(x * words["v"]) * words["deep"]["s"]


def test_all_that_is_given_by_name():
    words = {"v": X + 1.0, "deep": {"s": 2.0}}
    x_bar, found = tl.grad(by_words, wrt=(0, "words"))(X, **words)
    np.testing.assert_allclose(x_bar, 2.0 * words["v"])
    np.testing.assert_allclose(found["v"], 2.0 * X)
    np.testing.assert_allclose(found["deep"]["s"], X @ words["v"])
    assert found.keys() == words.keys()


# ------------------------------ functions taken from a dict, with what an unknown call may write


def captured(a, b, scale=1.0):
    return np.sum(a * b) * scale


class Capture:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, a, b):
        return np.sum(a * b * self.scale)


def rolled(func, window, *args, **kwargs):
    data = []
    for i in range(window, len(args[0]) + 1):
        data.append(func(*[s[i - window : i] for s in args], **kwargs))
    return np.array(data)


def roll(*args, **kwargs):
    func = kwargs.pop("function")
    window = kwargs.pop("window")
    return rolled(func, window, *args, **kwargs)


def rolling(x, window=2, **kwargs):
    return np.sum(roll(x, x * x, window=window, function=captured, **kwargs))


def rolling_with_a_word(x):
    return np.sum(roll(x, x * x, window=2, function=captured, scale=x[0]))


def rolling_with_an_object(x):
    return np.sum(roll(x, x * x, window=2, function=Capture(x[1])))


@pytest.mark.parametrize("fn", [rolling, rolling_with_a_word, rolling_with_an_object])
def test_a_function_taken_from_the_options_of_a_call(fn):
    tl.check_grads(fn, (np.array([0.5, 0.8, 1.3]),))


def test_a_function_made_inside_with_a_default_that_varies():
    def outer(x):
        def scaled(a, b, by=x[0]):
            return np.sum(a * b) * by

        return np.sum(roll(x, x * x, window=2, function=scaled))

    x = np.array([0.5, 0.8, 1.3])
    for modes in (("rev",), ("fwd",)):
        try:
            tl.check_grads(outer, (x,), modes=modes)
        except tl.UnsupportedError as refused:
            assert refused.message


# ------------------------------------------- functions that capture values, beside what is starred

OPTIONS = {"tol": 1e-10, "maxiter": 30}


def root_of(func, x0, args=(), fprime=None, tol=1e-8, maxiter=10):
    x = x0
    for _ in range(maxiter):
        x = x - func(x, *args) / fprime(x, *args)
    return x


def own_root(a, v, options):
    def residual(x, v):
        return x * x + a * x - v

    return root_of(lambda x, *p: residual(x, *p), 1.0, (v,), lambda x, *p: 2.0 * x + a, **options)


def own_root_by_constants(a, v, options):
    return own_root(a, v, {**OPTIONS, **options})


def library_root(a, v, options):
    def residual(x, v):
        return x * x + a * x - v

    return scipy.optimize.newton(
        func=residual, x0=1.0, args=(v,), fprime=lambda x, *p: 2.0 * x + a, **options
    )


def chosen(func, x, *rest, other=None):
    if func is np.tanh:
        return func(x) * rest[0]
    return func(x) + (0.0 if other is None else other(x))


def beside_a_function_that_is_compared(a, v, options):
    rest = [options["maxiter"]]
    return chosen(np.tanh, v, *rest, other=lambda x: x * a) + chosen(lambda x: x * a, v, *rest)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "f",
    [own_root, own_root_by_constants, library_root, beside_a_function_that_is_compared],
)
def test_functions_that_capture_values_beside_starred_arguments(f):
    """(`x0`, by name, is what arguments by position are called at run time.)"""
    tl.check_grads(lambda a, v: f(a, v, {"maxiter": 25}), (0.7, 1.9))
    tl.check_grads(f, (0.7, 1.9, {"maxiter": 25}), wrt=(0, 1))


def square(x, *, floor=0.0):
    return x**2 + floor


def sine(x, *, floor=0.0):
    return np.sin(x) + floor


WEIGHTED = {"A": square, "B": sine, None: square}


def weighted(x, *, kind="A", **options):
    if isinstance(kind, str):
        kind = kind.upper()
    return WEIGHTED[kind](x, **options)


def weighted_by_characters(x, *, kinds="ab", **options):
    return np.stack([weighted(x, kind=k, **options) for k in kinds], axis=0)


def test_characters_of_a_string_are_given_by_name():
    """(All that the call is given may carry derivatives, and they do not.)"""
    tl.check_grads(weighted_by_characters, (X,))
    _, pullback = tl.vjp(weighted_by_characters, X, kinds="aba", floor=0.5)
    seeds = np.array([V, 2.0 * V, -V])
    np.testing.assert_allclose(pullback(seeds)[0], 2.0 * V * np.cos(X))


def squashed(x, scale=1.0, shift=0.0, power=1, **rest):
    return np.sum(np.tanh(scale * x) ** power + shift * x)


def handing_on(x, power=2, **options):
    return squashed(x, power=power, **options) + 0.5 * squashed(x * x, power=power, **options)


def taking_one_away(x, **options):
    shift = options.pop("shift", 0.5)
    return squashed(x, shift=shift, **options)


def putting_one_in(x, **options):
    options["shift"] = 0.5
    options.setdefault("scale", 3.0)
    return squashed(x, **options)


@pytest.mark.thorough
@pytest.mark.parametrize("fn", [handing_on, taking_one_away, putting_one_in])
def test_words_are_handed_on(fn):
    for words in ({}, {"scale": 2.0}, {"scale": V, "shift": -1.5}):
        made = functools.partial(fn, **words)
        tl.check_grads(made, (X,), order=2)
        df = tl.grad(fn)
        np.testing.assert_allclose(df(X, **words), tl.grad(made)(X))
    for word in ("scale", "shift"):  # (of one type)
        wanted = tl.grad(functools.partial(fn, **{word: 2.0}))(X)
        np.testing.assert_allclose(df(X, **{word: 2.0}), wanted)


def test_derivatives_by_words_that_are_handed_on():
    words = {"scale": V, "shift": -1.5}
    found = tl.grad(handing_on, wrt="options")(X, **words)
    tl.check_grads(lambda w: handing_on(X, **w), (words,))
    wanted = tl.grad(lambda w: handing_on(X, **w))(words)
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value)


def test_a_call_tells_which_words_are_handed_on():
    df = tl.grad(handing_on)
    for words in ({}, {"scale": 2.0}):
        assert "pair_of" not in df.source_for(X, **words)
    text = df.source_for(X, scale=2.0)
    assert "squashed_fwd(x, power=power, scale=options_scale)" in text
    with pytest.raises(TypeError, match="power"):
        tl.grad(lambda x, **options: squashed(x, power=1, **options))(X, power=2)


def test_types_state_which_words_there_are():
    namespace = {"__name__": "__main__"}
    exec(tl.grad(handing_on).source_for(X), namespace | globals(), namespace)
    with pytest.raises(TypeError, match=r"options"):
        namespace["handing_on_grad"](X, scale=2.0)


FILTERS = {"uniform": scipy.ndimage.uniform_filter, "gaussian": scipy.ndimage.gaussian_filter}


def filtered(x, name, options):
    return np.sum(FILTERS[name](x, **options) ** 2)


def by_options(x):
    options = {"size": len(x), "cval": x[0]}
    options.pop("cval")
    return filtered(x, "uniform", options)


def by_sigma(x):
    return filtered(x, "gaussian", {"sigma": 1.0 + x[0]})


def test_options_by_which_an_operation_has_no_derivative():
    """(Refused before: only the run knows that they are integers.)"""
    tl.check_grads(by_options, (X,), order=2)
    for asked in (
        lambda: tl.grad(filtered, wrt=(0, 2))(X, "gaussian", {"sigma": 1.5}),
        lambda: tl.grad(by_sigma)(X),
        lambda: tl.jvp(by_sigma, (X,), (X,)),
    ):
        with pytest.raises(tl.UnsupportedError, match="a float.* for an argument by which it has"):
            asked()
