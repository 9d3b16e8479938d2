"""What published code does often: counters, classes in variables, logging, unusual operands."""

import enum
import logging
import warnings

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.5, 1.2, 2.0])
log = logging.getLogger("tests.idioms")


class Vec:
    def __init__(self, v):
        self.v = v

    @classmethod
    def doubled(cls, p):
        return cls(p * 2.0)

    @classmethod
    def twice(cls, p):
        return cls.doubled(p).v * cls.unit()

    @staticmethod
    def unit():
        return 3.0

    def scaled(self, k):
        return type(self)(self.v * k)

    def shifted(self, k):
        return self.__class__(self.v + k)


class Half(Vec):
    @staticmethod
    def unit():
        return 0.5


class Problem:
    def __init__(self):
        self.nfev = 0
        self.scale = 2.0
        self.counts = {"f": 0}
        self.best = None

    def value(self, x):
        self.nfev += 1
        return np.sum(self.scale * x**2)

    def counted(self, x):
        self.counts["f"] = self.counts.get("f", 0) + 1
        self.last_shape = x.shape
        return np.sum(self.scale * x**3)

    def remembered(self, x):
        y = np.sum(x**2)
        self.best = y
        return y

    def remembered_inside(self, x):
        self.nfev += 1
        kept = self.counts
        kept["x"] = x
        return np.sum(x)


PROBLEM = Problem()


class Box:
    def __init__(self, v):
        self.v = v

    @property
    def size(self):
        return self.v * 2.0

    @property
    def T(self):
        return self.v**2

    @property
    def shape(self):
        return self.v + 1.0

    @property
    def ndim(self):
        return 3


def class_methods(x):
    return np.sum(Vec.doubled(x).scaled(3.0).v ** 2) + np.sum(Vec.twice(x) * x)


def class_methods_of_a_subclass(x):
    return np.sum(Half.twice(x) * Half(x).shifted(2.0).v)


def class_in_a_variable(x):
    T = float
    K = Vec
    return T(x[0]) * x[1] + np.sum(K(x).scaled(2.0).v ** 2)


def class_as_a_default(x, T=float, dtype=np.float64):
    return T(x[0]) * x[1] * dtype(2.0)


def class_chosen_when_it_runs(x):
    T = float if x[0] > 0 else np.float64
    return T(x[0]) * x[1]


def calls_are_counted(x):
    return PROBLEM.value(x) * PROBLEM.counted(x)


def logged(x):
    y = np.sum(x**2)
    log.info("value %s", y)
    log.debug("norm %s at %s", np.linalg.norm(x), x[0])
    logging.getLogger(__name__).debug(f"{y}")
    logging.debug("again %s", y)
    if y > 1e9:
        warnings.warn(f"large: {y}", stacklevel=2)
    return y * y


def nested_targets(x):
    s = 0.0
    for (a, b), [c, *d] in [((x[0], x[1]), [x[2], x[0], x[1]]), ((x[1], x[1]), [x[0], x[2]])]:
        s = s + a * b + c * d[0]
    return s


def target_is_an_item(x):
    held = [0.0, 0.0]
    for held[0] in [1.5, 2.0]:
        x = x * held[0]
    return np.sum(x * x)


def times_a_list(x):
    return np.sum(x * [1.0, 2.0, 3.0]) * np.sum((3.0, 2.0) * x[:2])


def times_a_list_of_its_entries(x):
    return np.sum([x[0], x[1], 2.0] * x)


def lists_are_still_repeated(x, n=2):
    return np.sum(np.array([1.0, 2.0] * n) * x[0]) + sum([x[1], x[2]] * 2)


def plus_a_tuple(x):
    return np.sum(([1.0, 2.0] * x[:2] + (1.0, 3.0)) ** 2)


def properties_like_those_of_arrays(x):
    box = Box(x)
    s = 0.0
    for i in range(box.ndim):
        s = s + np.sum(box.size + box.T * box.shape) * i
    if np.sum(box.size) > 100.0:
        s = 0.0
    return s


def steps_of_states_with_names(x):
    """A value that is computed twice, the second time for a comprehension of a local function."""

    def slopes(t, s):
        return {"p": s["v"], "v": -t * s["p"]}

    def moved(s, k, h):
        return {n: s[n] + h * k[n] for n in s}

    s, h = {"p": x[0], "v": x[1]}, 0.1
    for _ in range(2):
        k1 = slopes(x[2], s)
        k2 = slopes(x[2] + h / 2, moved(s, k1, h / 2))
        s = moved(s, k2, h)
    return s["p"] ** 2 + s["v"]


FUNCTIONS = [
    steps_of_states_with_names,
    class_methods,
    class_methods_of_a_subclass,
    class_in_a_variable,
    class_as_a_default,
    class_chosen_when_it_runs,
    calls_are_counted,
    logged,
    nested_targets,
    target_is_an_item,
    times_a_list,
    times_a_list_of_its_entries,
    lists_are_still_repeated,
    plus_a_tuple,
    properties_like_those_of_arrays,
]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda f: f.__name__)
def test_both_modes(fn):
    tl.check_grads(fn, (X,))


def test_calls_are_counted_once():
    before = PROBLEM.nfev
    tl.grad(PROBLEM.value)(X)
    tl.grad(calls_are_counted)(X)
    assert PROBLEM.nfev == before + 1  # (the object of a method that is differentiated is copied)


def test_values_kept_by_outer_objects_are_kept_by_copies():
    def best(x):
        return PROBLEM.remembered(x)

    def inside(x):
        return PROBLEM.remembered_inside(x)

    before = PROBLEM.nfev, dict(PROBLEM.counts)
    for fn, slope in ((best, 2.0 * X), (inside, np.ones_like(X))):
        np.testing.assert_allclose(tl.grad(fn)(X), slope)
        np.testing.assert_allclose(tl.jvp(fn, (X,), (X,))[1], slope @ X)
    assert PROBLEM.best is None and (PROBLEM.nfev, PROBLEM.counts) == before


def test_what_is_logged_is_what_the_function_logs(caplog):
    with caplog.at_level(logging.INFO):
        tl.grad(logged)(X)
    assert [r.getMessage() for r in caplog.records] == [f"value {np.sum(X**2)}"]


NUMBERS = {"end": 0, "begin": 1, 0: 0, 1: 1}


def number_of(when):
    try:
        return NUMBERS[when]
    except (KeyError, TypeError):
        return [NUMBERS[w] for w in when]


def by_an_outer_table(x, when="begin"):
    number = number_of(when)
    a, b, number = map(np.asarray, [x, x * x, number])
    return np.sum(a * (1.0 + b * number))


def test_read_only_tables_of_outer_objects():
    tl.check_grads(by_an_outer_table, (X,))
    for when in (["begin", "end", "end"], 1):
        slope = tl.grad(by_an_outer_table)(X, when)
        number = np.asarray(number_of(when))
        np.testing.assert_allclose(slope, 1.0 + 3.0 * number * X**2)


class Norm(str, enum.Enum):
    SQUARED = "squared"
    ABSOLUTE = "absolute"

    @classmethod
    def wrap(cls, value):
        return value if isinstance(value, cls) else cls(value)


def test_a_member_of_an_enum_by_its_value():
    def size(x, norm):
        if Norm.wrap(norm) == Norm.SQUARED:
            return np.sum(x * x)
        return np.sum(np.abs(x))

    for norm in ("squared", "absolute", Norm.SQUARED):
        tl.check_grads(size, (np.array([0.5, 1.2]), norm), wrt="x", order=2)


def zeros_written_out(rows):
    upper = [[0.0 for _ in range(len(rows))] for _ in range(len(rows))]
    for i, row in enumerate(rows):
        for k in range(i, len(row)):
            upper[i][k] = row[k] - sum(upper[j][k] * row[j] for j in range(i))
    return sum(sum(e * e for e in row) for row in upper)


def test_lists_of_lists_of_zeros_as_many_as_there_are_rows() -> None:
    """(`rows` was said to carry derivatives into them.)"""
    tl.check_grads(zeros_written_out, ([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]],))
