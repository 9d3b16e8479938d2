# ruff: noqa: B023, C417, UP033 - these programs are about just that
"""Functions as values: passed, partial, made by functions, kept in tables, decorated, recursive."""

import functools

import numpy as np

from .registry import Program, numbers


def rk4_step(f, y, t, h):
    k1 = f(y, t)
    k2 = f(y + 0.5 * h * k1, t + 0.5 * h)
    k3 = f(y + 0.5 * h * k2, t + 0.5 * h)
    k4 = f(y + h * k3, t + h)
    return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def lotka_volterra(rates, y, steps):  # a right-hand side that captures its parameters
    a, b, c, d = rates

    def rhs(state, t):
        prey, predators = state
        return np.array([prey * (a - b * predators), predators * (c * prey - d)])

    t = 0.0
    for _ in range(steps):
        y = rk4_step(rhs, y, t, 0.05)
        t = t + 0.05
    return np.sum(y * y)


def newton(f, slope, x, steps):
    for _ in range(steps):
        x = x - f(x) / slope(x)
    return x


def square_root(a):  # two lambdas, one of which captures
    return newton(lambda x: x * x - a, lambda x: 2.0 * x, 1.0, 6)


def implicit_euler(k, y, h):  # the residual captures the state, which the loop rebinds
    for _ in range(3):
        y = newton(lambda u: u - y + h * k * u**3, lambda u: 1.0 + 3.0 * h * k * u**2, y, 4)
    return y


def root_by_tolerance(c, x):  # a local function in the test of a loop
    def residual(u):
        return u * u - c

    while abs(residual(x)) > 1e-12:
        x = newton(residual, lambda u: 2.0 * u, x, 1)
    return x


def armijo(f, x, direction, slope, start):
    step = start
    while f(x + step * direction) > f(x) + 1e-4 * step * slope:
        step = 0.5 * step
    return step


def one_descent_step(a, x):  # a line search that takes the function
    def energy(v):
        return np.sum(a * v**4 + v * v)

    gradient = 4.0 * a * x**3 + 2.0 * x
    step = armijo(energy, x, -gradient, -np.sum(gradient * gradient), 1.0)
    return energy(x - step * gradient)


def decay(y, rate, power=1.0):
    return -rate * y**power


def euler(f, y, h, steps, *args, **options):
    for _ in range(steps):
        y = y + h * f(y, *args, **options)
    return y


def partial_rates(k, y):  # partial of a partial, called and passed
    slow = functools.partial(decay, rate=k)
    cubic = functools.partial(slow, power=1.5)
    return euler(slow, y, 0.1, 4) + euler(cubic, y, 0.1, 3) + slow(y)


def handed_on(k, y):  # arguments that are handed on to the function
    return euler(decay, y, 0.1, 4, k) + euler(decay, y, 0.1, 4, k, power=2.0)


def partial_takes_values(a, x):  # a partial keeps the values of its moment
    k = a
    total = functools.partial(decay, rate=k)(x)
    for _ in range(3):
        f = functools.partial(decay, rate=k)
        k = k * a + 1.0
        total = total + f(x) * k
    return total


def seen_at_the_call(a, x):  # a local function sees the value of the moment of the call
    def f(t):
        return k * t

    total = 0.0
    for k in (1.0, 2.0, a):
        total = total + euler(f, x, 0.1, 2)
    k = a * a
    return total + f(x) + euler(f, x, 0.1, 1)


def controls(us, y):  # a function that captures the loop's variable
    for u in us:

        def rhs(v):
            return u - v * v

        y = euler(rhs, y, 0.1, 2)
    return y


def frozen_default(us, y):  # `u=u` keeps the value of the moment of definition
    for u in us:
        y = euler(lambda v, u=u: u - v * v, y, 0.1, 2)
    return y


def dense(w, b, activation=np.tanh):
    def layer(x):
        return activation(w @ x + b)

    return layer


def stack_of_layers(w1, b1, w2, x):  # functions that functions return
    first = dense(w1, b1)
    second = dense(w2, b1, activation=np.sin)
    return np.sum(second(first(x)) ** 2)


def compose(f, g):
    return lambda x: f(g(x))


def composition(a, x):
    h = compose(np.sin, lambda t: a * t * t)
    return compose(h, h)(x)


def logged(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    return wrapper


def scaled(factor):
    def decorate(fn):
        def inner(x):
            return factor * fn(x)

        return inner

    return decorate


@logged
def powered(x, power=2.0):
    return x**power


@logged
@scaled(3.0)
def cubed(x):
    return x**3


@functools.lru_cache(maxsize=None)
def cached_power(n, x):
    return x**n


def decorated_helpers(x):
    return powered(x) + powered(x, power=3.0) + cubed(x) * cached_power(2, x)


def decorated_inside(a, x):
    @scaled(2.0)
    def f(t):
        return a * t * t

    return f(x) + f(a)


def inner_recursion(x, n):
    def power(k):
        if k == 0:
            return 1.0
        return x * power(k - 1)

    return power(n)


def inner_mutual_recursion(x, n):
    def even(k, v):
        return v if k == 0 else odd(k - 1, np.sin(v) * x)

    def odd(k, v):
        return v if k == 0 else even(k - 1, v * v + x)

    return even(n, x)


def fixed_point(f, x, n):
    if n == 0:
        return x
    return fixed_point(f, f(x), n - 1)


def cosine_fixed_point(a, x):  # a function that a recursion hands on
    return fixed_point(lambda t: np.cos(a * t), x, 5)


def starred_inside(a, x):
    def f(*ts, scale=a, **options):
        return sum(ts) * scale * options.get("extra", 1.0)

    return f(x, a) + f(x, extra=2.0) + euler(f, x, 0.1, 2)


def for_each(f, xs):
    for i in range(len(xs)):
        f(i, xs[i])


def callback_that_writes(a, x):  # what the callback captures is written in place
    out = np.zeros(3)

    def put(i, v):
        out[i] = v * a

    for_each(put, x)
    return np.sum(out * out)


def nested_twice(a, x):
    def outer(t):
        def inner(s):
            return a * s + t

        return euler(inner, t, 0.1, 2)

    return euler(outer, x, 0.1, 2)


half_life = functools.partial(decay, rate=0.5)


def partial_of_the_module(x):
    return half_life(x) + euler(half_life, x, 0.1, 2)


ACTIVATIONS = {"tanh": np.tanh, "square": lambda v: v * v, "soft": lambda v: np.log1p(np.exp(v))}


def by_name(w, x, name):  # a table of functions, read when the program runs
    return np.sum(ACTIVATIONS[name](w * x)) + ACTIVATIONS["tanh"](w[0])


def list_of_functions(a, x):
    for f in [np.sin, np.tanh, ACTIVATIONS["square"]]:
        x = f(x * a)
    return x


def pair_of_functions(a, x):  # a tuple whose functions capture
    fs = (lambda t: a * t, np.sin, functools.partial(decay, rate=a))
    return fs[0](x) + fs[1](x) * fs[2](x)


def kept_after_rebinding(a, x):  # `a` has its last value when the functions are kept
    a = a * x
    a += 0.5
    steps = [lambda v: a * v, lambda v: np.sin(a - v)]
    return steps[0](x) * steps[-1](a)


def kept_until_rebound(a, x):  # nobody calls the functions after `a` has got another value
    def decayed(v, w):
        return np.sin(a * v) + w

    for k in range(2):
        steps = [decayed, np.hypot]
        x = steps[0](x, 0.5) * steps[1](x, a)
    a = a * x
    return a * a


def starred_lambdas(a, x):
    def scaled(v, w, rate=1.0):
        return v * np.sin(a) + w * rate

    y = (lambda *args, **options: scaled(*args, **options))(x, a, rate=x)
    a = a * 2.0
    both = lambda first, *rest: first * rest[0] * a  # noqa: E731
    return both(y, x) + (lambda *args: args[0] * args[1])(a, y)


def inner_pairs(a, x):  # inner functions whose results are unpacked
    def both(v, c):
        w = v * c
        return (w, np.sin(v)), [a * w, 3.0]

    swapped = lambda v, w: (w, v)  # noqa: E731
    (u, v), (w, _) = both(x, a)
    a, x = swapped(a, x)
    u, x = swapped(x, u)
    return u * v * w + a * x


def run_with(f, v, w):
    return f(v) + f(v, w)


def default_given_by_position(a, x):  # by a function that derivatives do not pass through
    def g(v, c=a, *, d=2.0):
        return v * c * x * d

    steps = int(run_with(g, 1.0, 2.0))
    return a * x * steps + g(x)


def name_of_a_function_again(a, x):  # `p2`, the second `p`, hides no function
    p = lambda u, v=a: np.sin(u) * v  # noqa: E731
    c = p(x)
    a = p(a, v=0.5 * a)

    def later(u):
        p = [u, u]
        return p[0] * p[1]

    return later(a) * c


def built_list(a, x):
    fs = []
    for k in range(3):
        fs.append(lambda t, k=k: t * k + np.sin(t))
    for f in fs:
        x = f(x) * a
    return x


def chosen_by_a_test(a, x):
    f = np.sin if a > 0.0 else np.cos
    return f(a) * x


def given_by_the_caller(x, f):
    return np.sum(f(x) * x + euler(f, x, 0.1, 2))


def layers_with_weights(layers, x):  # weights and functions in one list
    for w, f in layers:
        x = f(w * x)
    return x


def silent(i):
    pass


def monitored(a, x, report):
    y = a * x
    for i in range(2):
        y = y * y
        report(i)
    return y


def mapped_and_filtered(a, xs):  # map, filter and reduce of Python are loops
    def positive(v):
        return v > 0

    total = sum(map(lambda v: a * v * v, xs)) + sum(filter(positive, xs)) * a
    return total + functools.reduce(lambda p, v: p * a + v, xs, 1.0)


def mapped_in_a_loop(a, xs):  # the function sees `k` as it is when its item is asked for
    k, total = a, 0.0
    for y in map(lambda v: v * k, xs):
        if y < -0.5:
            continue
        total = total + y
        k = k + y
    return total * k


def generated_in_a_loop(a, xs):
    total = 1.0
    for i, y in ((i, v * a) for i, v in enumerate(xs) if v > 0):
        total = total + y * i * total
        if total > 9.0:
            break
    return total


def predators(rng):
    return np.array([1.1, 0.4, 0.1, 0.4]), np.array([2.0, 1.0]), 4


def matrices(rng):
    return rng.normal(size=(2, 3)), rng.normal(size=2), rng.normal(size=(2, 2)), rng.normal(size=3)


def some_layers(rng):
    return [(0.5, np.sin), (1.2, np.cos), (0.8, ACTIVATIONS["square"])], 0.7


both = numbers((0.4, 0.9), (0.4, 0.9))

PROGRAMS = [
    Program(lotka_volterra, predators, (0, 1)),
    Program(square_root, lambda rng: (2.0,), oracle=np.sqrt),
    Program(implicit_euler, lambda rng: (1.3, 0.8, 0.1), (0, 1, 2)),
    Program(root_by_tolerance, lambda rng: (2.0, 1.0), (0,)),
    Program(one_descent_step, lambda rng: (0.05, rng.normal(size=3)), (0, 1)),
    Program(partial_rates, both, (0, 1)),
    Program(handed_on, both, (0, 1)),
    Program(partial_takes_values, both, (0, 1)),
    Program(seen_at_the_call, both, (0, 1)),
    Program(controls, lambda rng: ([0.5, 0.2, 0.1], 0.3), (0, 1)),
    Program(frozen_default, lambda rng: ([0.5, 0.2, 0.1], 0.3), (0, 1)),
    Program(stack_of_layers, matrices, (0, 1, 2, 3)),
    Program(composition, both, (0, 1)),
    Program(decorated_helpers, numbers((0.4, 0.9))),
    Program(decorated_inside, both, (0, 1)),
    Program(inner_recursion, lambda rng: (1.2, 4)),
    Program(inner_mutual_recursion, lambda rng: (0.7, 4)),
    Program(cosine_fixed_point, both, (0, 1)),
    Program(starred_inside, both, (0, 1)),
    Program(callback_that_writes, lambda rng: (0.6, rng.normal(size=3)), (0, 1)),
    Program(nested_twice, both, (0, 1)),
    Program(partial_of_the_module, numbers((0.4, 0.9))),
    Program(by_name, lambda rng: (rng.normal(size=3), rng.normal(size=3), "soft"), (0, 1)),
    Program(list_of_functions, both, (0, 1)),
    Program(pair_of_functions, both, (0, 1)),
    Program(kept_after_rebinding, both, (0, 1)),
    Program(kept_until_rebound, both, (0, 1)),
    Program(inner_pairs, both, (0, 1)),
    Program(starred_lambdas, both, (0, 1)),
    Program(default_given_by_position, both, (0, 1)),
    Program(name_of_a_function_again, both, (0, 1)),
    Program(built_list, both, (0, 1)),
    Program(chosen_by_a_test, both, (0, 1)),
    Program(given_by_the_caller, lambda rng: (rng.normal(size=3), np.sin)),
    Program(layers_with_weights, some_layers, (0, 1)),
    Program(mapped_and_filtered, lambda rng: (0.7, [0.3, -0.2, 0.9]), (0, 1)),
    Program(mapped_in_a_loop, lambda rng: (0.7, [0.3, -0.2, 0.9]), (0, 1)),
    Program(generated_in_a_loop, lambda rng: (0.7, [0.3, -0.2, 0.9]), (0, 1)),
    Program(monitored, lambda rng: (0.6, 0.5, silent), (0, 1)),
]
