"""What is refused where a call may not get to is a `raise` at that place of the derivative."""

import contextlib
import math
from types import SimpleNamespace

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.runtime import NotDifferentiated

X = np.array([0.5, -1.0, 2.0])


def branch(x, local=False):
    y = 2.0 * x
    if local:

        class Local:
            held = y

        return Local.held
    return np.sum(y * y)


def other_branch(x, exact=True):
    if exact:
        y = x * x
    else:
        y = np.unwrap(x, discont=x[0])
        y = y + 1.0
    return np.sum(y * x)


def loop(x, rounds=0):
    y = x * x
    for _ in range(rounds):
        y = np.unwrap(y, discont=y[0])
    return np.sum(y)


def after_return(x, short=True):
    if short:
        return np.sum(x**3)
    y = np.unwrap(x, discont=x[0])
    return np.sum(y)


def unwrapped(x):
    y = x + 1.0
    return np.unwrap(y, discont=y[0])


def by_helper(x, flag=False):
    if flag:
        return np.sum(unwrapped(x) * x)
    return np.sum(x**2)


def norm(x, flag):
    if flag:
        return np.sum(unwrapped(x))
    return np.sum(x**2)


def is_small(x, tol=20.0):
    size = np.linalg.norm(x)
    return bool(size < tol * 1e-9)


def beside_an_operation_of_the_name(x, flag=False):
    if is_small(x):
        return 0.0
    return norm(x, flag) * x[0]


def modes(x, kind):
    if kind == "plain":
        return np.sum(x * x)
    elif kind == "unwrapped":
        return np.sum(np.unwrap(x, discont=x[0]))
    return np.sum(x)


def by_modes(x, kind="plain"):
    total = modes(x, kind) * modes(np.ones(3), kind)
    if kind != "plain":
        total = total * modes(2.0 * x, kind)
    return total


class Layer:
    def __init__(self, rate):
        self.rate = rate

    def __call__(self, x, training=False):
        if training:
            x = np.unwrap(x, discont=x[0])
        return self.rate * x


def by_method(x, training=False):
    return np.sum(Layer(3.0)(x, training) ** 2)


def in_lambda(x, flag=False):
    g = lambda v: np.unwrap(v, discont=v[0])  # noqa: E731
    if flag:
        return np.sum(g(x))
    return np.sum(x**2)


def in_try(x, flag=False):
    y = np.sum(x**2)
    if flag:
        try:
            y = np.sum(unwrapped(x))
        except Exception:
            y = 0.0 * y
    return y


def in_the_body_of_a_try(x, flag=False):
    y = x**2
    try:
        if flag:
            y = np.unwrap(x, discont=x[0])
        y = y * x
    except (TypeError, ValueError) as error:
        raise TypeError("not an array") from error
    return np.sum(y)


def in_the_body_of_a_try_that_goes_on(x, flag=False):
    y = x**2
    try:
        y = np.unwrap(x, discont=x[0]) if flag else math.exp(x[0]) * y
        y = y * x[5]
    except IndexError:
        y = y * x[1]
    return np.sum(y)


def in_match(x, flag=False):
    match flag:
        case True:
            return np.sum(np.unwrap(x, discont=x[0]))
        case _:
            return np.sum(x**2)


unwrap_of_a_library = None  # it is not installed


def by_missing_library(x, flag=False):
    if flag:
        _, y = unwrap_of_a_library(x, 2)
    else:
        y = x * x
    return np.sum(y)


def in_the_test_of_a_branch(x, flag=False):
    """As of a library that was imported in a `try`: the name is not defined."""
    if flag and isinstance(x[0], unwrap_symbols.Expr):  # noqa: F821
        return unwrap_symbols.simplify(x)  # noqa: F821
    return np.sum(x**2)


def in_the_test_of_a_loop(x, flag=False):
    y = x
    while y[0] ** 2 < 3.0 or (flag and unwrap_symbols.more(y)):  # noqa: F821
        y = y * 1.5
    return np.sum(y**2)


def in_a_choice(x, flag=False):
    y = unwrap_symbols.as_numbers(x) if flag else x  # noqa: F821
    return np.sum(y**2)


PROGRAMS = {
    in_the_test_of_a_branch: (True,),
    in_the_test_of_a_loop: (True,),
    in_a_choice: (True,),
    by_missing_library: (True,),
    branch: (True,),
    other_branch: (False,),
    loop: (2,),
    after_return: (False,),
    by_helper: (True,),
    beside_an_operation_of_the_name: (True,),
    by_modes: ("unwrapped",),
    by_method: (True,),
    in_lambda: (True,),
    in_try: (True,),
    in_the_body_of_a_try: (True,),
    in_the_body_of_a_try_that_goes_on: (True,),
    in_match: (True,),
}

NOT_DEFINED = (in_the_test_of_a_branch, in_the_test_of_a_loop, in_a_choice)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_a_branch_that_is_not_taken_refuses_nothing(fn):
    tl.check_grads(fn, (X,))
    v = np.array([0.3, 0.7, -0.2])
    slope = tl.jvp(fn, (X,), (v,))[1]
    assert slope == pytest.approx(np.sum(tl.grad(fn)(X) * v))
    change = (tl.grad(fn)(X + 1e-6 * v) - tl.grad(fn)(X - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(tl.hvp(fn)(X, v), change, rtol=1e-6, atol=1e-8)


NOT_DEFINED = (in_the_test_of_a_branch, in_the_test_of_a_loop, in_a_choice)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_a_branch_that_is_taken_raises_the_refusal(fn):
    given = PROGRAMS[fn]
    slopes = (np.ones(3), *(None for _ in given))
    for derivative in (
        lambda: tl.grad(fn)(X, *given),
        lambda: tl.jvp(fn, (X, *given), slopes),
        lambda: tl.vjp(fn, X, *given),
        lambda: tl.hvp(fn)(X, *given, np.ones(3)),
    ):
        with pytest.raises(tl.UnsupportedError) as refused:
            derivative()
        assert "unwrap" in str(refused.value) or "class defined inside" in str(refused.value)
        assert __file__ in str(refused.value)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_strict_refuses_it_at_once(fn):
    for operator in (tl.grad, tl.value_and_grad, tl.autodiff, tl.jacobian, tl.hessian, tl.hvp):
        with pytest.raises(tl.UnsupportedError, match=r"unwrap|class defined inside"):
            made = operator(fn, strict=True)
            if fn in NOT_DEFINED:  # (until a call, a name may still be defined)
                made(X)


def in_the_body_of_a_bare_try(x):
    y = x**2
    try:
        if x[0] > 5.0:
            y = np.unwrap(x, discont=x[0])
        y = y * x[5]
    except:  # noqa: E722
        y = y * x[1]
    return np.sum(y)


unwrapped_values = []


class Unwrapped:
    last = None

    def __init__(self):
        self.y = None

    def fill(self, x):
        if x[0] > 5.0:
            x = np.unwrap(x, discont=x[0])
        self.y = x * x
        return True

    @classmethod
    def counted(cls, x):
        if cls.last is None and x[0] > 5.0:
            cls.last = 1.0
        return x * x


def kept(x):
    if x[0] > 5.0:
        unwrapped_values.append(x)
    return x * x


def in_a_method_that_writes(x):
    held = Unwrapped()
    done = held.fill(x)
    return np.sum(held.y) if done else 0.0


@pytest.mark.parametrize(
    "fn",
    (
        in_the_body_of_a_bare_try,
        in_a_method_that_writes,
        lambda x: np.sum(kept(x)),
        lambda x: np.sum(Unwrapped.counted(x)),
    ),
)
def test_a_branch_that_the_numbers_decide(fn):
    """(Refused at once before, the bare `try` and what is refused of outer objects in a callee.)"""
    tl.check_grads(fn, (X,), order=2)
    for derivative in (lambda: tl.grad(fn)(X + 9.0), lambda: tl.jvp(fn, (X + 9.0,), (X,))):
        with pytest.raises(tl.UnsupportedError, match="(?i)unwrap"):
            derivative()


def test_what_every_call_reaches_is_refused_at_once():
    def straight(x):
        y = np.unwrap(x, discont=x[0])
        return np.sum(y)

    def through_helper(x):
        return np.sum(unwrapped(x))

    def through_two(x):
        return through_helper(2.0 * x)

    for fn in (straight, through_helper, through_two):
        with pytest.raises(tl.UnsupportedError, match="unwrap"):
            tl.grad(fn)(X)


def test_what_every_call_tries_is_refused_at_once():
    def tried(x):
        try:
            y = np.unwrap(x, discont=x[0])
        except ValueError:
            y = x
        return np.sum(y)

    with pytest.raises(tl.UnsupportedError, match="unwrap"):
        _ = tl.grad(tried).source


def test_the_line_that_raises_says_what_the_refusal_says():
    text = tl.grad(branch).source_for(X, True)
    assert "raise NotDifferentiated(" in text
    line = branch.__code__.co_firstlineno + 4
    assert f"test_refusals_as_statements.py:{line}: a class defined inside" in text
    with pytest.raises(tl.UnsupportedError) as refused:
        tl.grad(branch)(X, True)
    assert refused.value.place.line == line
    assert refused.value.place.text == "class Local:"


def test_no_handler_of_the_program_takes_the_refusal():
    def broad(x, flag=False):
        try:
            y = modes(x, "unwrapped" if flag else "plain")
        except Exception:
            y = np.sum(x)
        return y

    tl.check_grads(broad, (X,), modes=("rev",))
    with pytest.raises(tl.UnsupportedError, match="unwrap"):
        tl.grad(broad)(X, True)

    def everything(x, flag=False):
        try:
            y = modes(x, "unwrapped" if flag else "plain")
        except BaseException:
            y = np.sum(x)
        return y

    with pytest.raises(tl.UnsupportedError, match="unwrap"):
        tl.grad(everything)(X, True)

    def straight(x):
        try:
            y = unwrapped(x)
        except BaseException:
            y = x
        return np.sum(y)

    with pytest.raises(tl.UnsupportedError, match="unwrap"):
        tl.grad(straight)(X)

    def suppressed(x, flag=False):
        y = np.sum(x)
        with contextlib.suppress(BaseException):
            y = modes(x, "unwrapped" if flag else "plain")
        return y

    with pytest.raises(tl.UnsupportedError, match="unwrap"):
        tl.grad(suppressed)(X, True)
    assert not issubclass(NotDifferentiated, Exception)


def fill(values, flag=False):
    values[0] = 5.0
    if flag:
        values = np.unwrap(values, discont=values[0])
    values[1] = 7.0
    return values[0]


def test_what_a_function_does_after_the_statement_counts_where_it_runs_whole():
    def plain_too(x):
        grid = np.zeros(3)
        fill(grid)  # (carries no derivative, and writes after the branch that is cut out)
        y = x * 1.0
        return np.sum(grid * x) + fill(y) * y[1] * np.sum(y)

    tl.check_grads(plain_too, (X,))


def test_several_statements_of_several_functions():
    def first(x, kind):
        if kind == 1:
            return np.unwrap(x, discont=x[0])
        if kind == 2:
            return np.unwrap(x, period=x[0])
        return x * x

    def whole(x, kind=0, n=0):
        y = first(x, kind)
        for _ in range(n):
            y = first(y, kind + 1)
        while np.sum(y) > 1e9:
            y = unwrapped(y)
        return np.sum(first(y, kind) * (unwrapped(x) if kind == 7 else x))

    tl.check_grads(lambda x: np.sum(first(x, 0) ** 2), (X,))


def test_of_numbers_and_objects():
    def area(shape, width, exact=False):
        if exact:
            width = math.erfc(width) + shape.unknown.lookup(width)
        return width * shape.height

    shape = SimpleNamespace(height=3.0)
    assert tl.grad(area, wrt="width")(shape, 2.0) == 3.0


def test_a_class_that_only_the_call_could_tell():
    def f(x, table=None):
        if table is not None:
            y = table.update(x)
            return np.sum(y * y)
        return np.sum(x**2)

    tl.check_grads(f, (X,))


def test_shared_memory_in_a_branch():
    def f(x, flag=False):
        rows = [x * 1.0, x * 2.0]
        both = [rows[0], rows[0]]
        if flag:
            for row in both:
                row[0] = x[0] * row[1]
        return np.sum(rows[0] * rows[1])

    tl.check_grads(f, (X,))
    try:
        tl.check_grads(f, (X, True), wrt=0)
    except tl.UnsupportedError as refused:
        assert "share" in str(refused)


def test_standalone_file(tmp_path):
    derived = tl.grad(branch).__tangentlike__.derive().derived
    namespace = {"__name__": "alone"}
    exec(compile(derived.standalone(), "alone.py", "exec"), namespace)
    np.testing.assert_allclose(namespace["branch_grad"](X), 8.0 * X)
    with pytest.raises(namespace["NotDifferentiated"], match="class defined inside"):
        namespace["branch_grad"](X, True)


def test_parts_of_expressions():
    def chosen(x, flag=False):
        return np.sum(np.unwrap(x, discont=x[0]) if flag else x * x)

    def shortened(x, flag=False):
        y = flag and np.sum(np.unwrap(x, discont=x[0]))
        return y + np.sum(x * x)

    for fn in (chosen, shortened):
        tl.check_grads(fn, (X,))
        with pytest.raises(tl.UnsupportedError, match="unwrap"):
            tl.grad(fn)(X, True)
        with pytest.raises(tl.UnsupportedError, match="unwrap"):
            tl.grad(fn, strict=True)


LIBRARY = """
import numpy as np

def smoothed(x, k):
    return inner(x) + k

def inner(x):
    return np.unwrap(x, discont=x[0])

def scoped(x):
    global last
    last = x * 2
    return last
"""


def test_the_users_line_comes_first(tmp_path, monkeypatch):
    (tmp_path / "smoothing_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    import smoothing_library as library

    def taken(x, flag=True):
        if flag:
            x = library.smoothed(x, 1.0)
        return np.sum(x)

    def always(x):
        return np.sum(library.smoothed(x, 1.0))

    def unreadable(x):
        return np.sum(library.scoped(x))

    for fn in (taken, always, unreadable):
        for derivative in (lambda fn=fn: tl.grad(fn)(X), lambda fn=fn: tl.jvp(fn, (X,), (X,))):
            with pytest.raises(tl.UnsupportedError) as refused:
                derivative()
            first, line, *_ = str(refused.value).splitlines()
            assert first.startswith(f"{__file__}:{refused.value.place.line}: ")
            assert "library." in line
            assert "smoothing_library.py" in refused.value.cause.file


def test_a_function_known_only_at_run_time_is_refused_through_handlers():
    def f(x, g):
        try:
            y = np.sum(g(x))
        except Exception:
            y = np.sum(x)
        return y

    assert tl.grad(f)(X, np.square) == pytest.approx(2.0 * X)
    with pytest.raises(tl.UnsupportedError, match="unwrap"):
        tl.grad(f)(X, unwrapped)


def test_contexts_that_are_entered_are_left():
    def in_contexts(x, flag=False):
        with np.errstate(all="ignore"):
            y = np.log(x * x)
            with np.errstate(divide="raise"):
                z = unwrapped(x) if flag else y * y
                if flag:
                    with np.errstate(over="ignore"):
                        z = np.unwrap(z, discont=z[0])
                        z = z + 1.0
            z = z + 1.0
        return np.sum(z)

    tl.check_grads(in_contexts, (X,))
    for derivative in (lambda: tl.grad(in_contexts)(X, True), lambda: tl.vjp(in_contexts, X, True)):
        with pytest.raises(tl.UnsupportedError, match="unwrap"):
            derivative()


def test_what_stands_in_the_body_of_a_try():
    def tried(x, flag=False):
        if flag is None:
            return 0.0
        try:
            y = np.unwrap(x, discont=x[0]) if flag else x**2
        except ValueError:
            y = x
        return np.sum(y)

    for flag in (False, True):
        try:
            slope = tl.grad(tried)(X, flag)
        except tl.UnsupportedError as refused:
            assert "unwrap" in str(refused)
        else:
            np.testing.assert_allclose(slope, 2.0 * X)


WHEN = {"end": 0.0, "begin": 1.0}


def number_of(when):
    if isinstance(when, np.ndarray):
        return when
    try:
        return WHEN[when]
    except TypeError:
        return [WHEN[x] for x in when]


def paid(rate, when):
    rate, when = np.broadcast_arrays(rate, when)
    return np.sum(rate**2 * number_of(when))


def test_a_place_in_an_outer_table_carries_no_derivative():
    rates = np.array([1.5, 2.0])
    np.testing.assert_allclose(tl.grad(paid)(rates, 1.0), 2.0 * rates)
    np.testing.assert_allclose(tl.jvp(paid, (rates, 1.0), (rates, None))[1], 2.0 * rates @ rates)
    tl.check_grads(paid, (rates, 0.5), wrt=(0, 1))


def writes_in_a_branch(q, p, flag):
    if flag:
        q[1:] = p.getfield(float)[1:]


def hands_on(q, p, flag):
    writes_in_a_branch(q, p, flag)


def test_a_call_that_stays_as_it_is_by_identity_has_nothing_cut_out():
    """What was left of `hands_on` wrote nothing, and the text called the user's function."""

    def program(a, b, t):
        a[1:3] *= np.cos(a[:2])
        q = np.zeros(4)
        hands_on(q, a, np.sum(a) < t)
        a = q + 0.5 * b
        a[-1], a[-1] = a[-1], a[-1]
        return np.sin(a @ b)

    with pytest.raises(tl.UnsupportedError, match="no derivative rule for np.ndarray.getfield"):
        tl.grad(program, wrt=("a", "b"))(np.full(4, 0.3), np.full(4, 0.5), 9.0)


def fills(x, y, out=None):
    made = out is None
    if made:
        out = np.empty(x.shape[1:])
    out = np.add(np.sum(x * y, axis=0, out=out), 1.0, out=out)
    if made and x.ndim > 3:
        out = np.unwrap(out, discont=out[0])
    if np.ma.isMaskedArray(x):
        return out
    return np.square(out, out=out)


def filled_by_calls_alone(x, y):
    out = np.empty(2)
    out[1] = np.sum(x * y)
    fills(x, np.exp(y), out=out[:1])
    fills(x * out[0], y, out[1:])
    return np.sum(out * out)


def test_a_call_for_what_it_writes_has_a_derivative_though_something_was_cut_out():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.2, 0.6, (2, 3, 1))
    tl.check_grads(filled_by_calls_alone, (x, y))
    gradient = tl.grad(filled_by_calls_alone, wrt=(0, 1))(x, y)
    tangent = tl.jvp(filled_by_calls_alone, (x, y), (y, x))[1]
    np.testing.assert_allclose(tangent, np.sum(gradient[0] * y) + np.sum(gradient[1] * x))


class State:
    """Its constructor, and what that calls, has branches that no call below gets to."""

    def __init__(self, x, exact=None):
        self.x, self.exact = x, exact
        if self.x is None:
            self.x = np.unwrap(x, discont=x[0])
        self.solve()

    def solve(self):
        self.y = self.x * self.x
        if self.exact is not None:
            import zlib

            self.y = zlib.adler32(self.y)

    def __iter__(self):
        if self.exact is not None:
            yield np.unwrap(self.y, discont=self.y[0])
        yield self.y
        yield self.x


class Later(State):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.z = self.y * 2.0


def test_refusals_in_what_makes_objects() -> None:
    """(Refused at once before.)"""
    tl.check_grads(lambda x: np.sum(State(x).y * Later(x).z), (X,))
    tl.check_grads(lambda x: sum(np.sum(v * v) for v in State(x)), (X,))
    with pytest.raises(tl.UnsupportedError, match=r"no derivative rule for zlib\.adler32"):
        tl.grad(lambda x, exact: np.sum(State(x, exact).y))(X, 1)
