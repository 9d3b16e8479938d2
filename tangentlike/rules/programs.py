"""Operations written as programs of simpler ones; the engine reads these functions as callees.

For what calls functions of the user, and for what a rule could only say in more lines than the
operation itself takes. Each computes what the library's function of the same name computes.
"""

from __future__ import annotations

import inspect

import numpy as np

from ..runtime import (
    Motion,
    Root,
    argument_places,
    defaults_after,
    places_at,
    quadrature,
    require_alike,
    solved_equation,
    solved_motion,
    stop_gradient,
)

# ------------------------------------------------------------- functions of the user's functions


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    arr = np.asarray(arr)
    rows = np.moveaxis(arr, axis, -1)
    results = []
    for row in np.reshape(rows, (-1, rows.shape[-1])):
        results.append(func1d(row, *args, **kwargs))
    require_alike(results)
    joined = np.stack(results)
    result = np.reshape(joined, rows.shape[:-1] + joined.shape[1:])
    first = axis % arr.ndim
    inner = list(range(arr.ndim - 1, result.ndim))
    return np.moveaxis(result, inner, list(range(first, first + len(inner))))


def apply_over_axes(func, a, axes):
    result = a
    for axis in np.atleast_1d(axes):
        reduced = func(result, axis)
        result = np.reshape(
            reduced, [1 if i == axis % a.ndim else n for i, n in enumerate(result.shape)]
        )
    return result


def fromiter(iter, dtype, count=-1):
    items = list(iter)
    return np.array(items if count < 0 else items[:count], dtype)


def dict_fromkeys(iterable, value=None):
    made = {}
    for key in iterable:
        made[key] = value
    return made


def vectorized(pyfunc, x):
    entries = []
    for entry in np.ravel(x):
        entries.append(pyfunc(entry))
    require_alike(entries)
    return np.reshape(np.array(entries), np.shape(x))


def vectorized_of_two(pyfunc, x, y):
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    xs = np.ravel(np.broadcast_to(x, shape))
    ys = np.ravel(np.broadcast_to(y, shape))
    entries = []
    for i in range(len(xs)):
        entries.append(pyfunc(xs[i], ys[i]))
    require_alike(entries)
    return np.reshape(np.array(entries), shape)


# ------------------------------------------------------------------ arguments by signature


def signature_bind(self, *args, **kwargs):
    return _bound(self, argument_places(self, len(args), tuple(kwargs)), args, kwargs)


def signature_bind_partial(self, *args, **kwargs):
    places = argument_places(self, len(args), tuple(kwargs), partial=True)
    return _bound(self, places, args, kwargs)


def _bound(signature, places, args, kwargs):
    arguments = {}
    for name, place in places:
        if isinstance(place, tuple):
            arguments[name] = tuple([args[i] for i in place])
        elif isinstance(place, dict):
            arguments[name] = {word: kwargs[word] for word in place}
        elif isinstance(place, int):
            arguments[name] = args[place]
        else:
            arguments[name] = kwargs[place]
    return inspect.BoundArguments(signature, arguments)


def bound_apply_defaults(self):
    given = dict(self.arguments)
    arguments = {}
    for name, is_given, default in defaults_after(self._signature, tuple(given)):
        arguments[name] = given[name] if is_given else default
    self.arguments = arguments


# --------------------------------------------------------------------------- polynomials


def poly(seq_of_zeros):
    c = np.ones(1)
    for zero in np.reshape(seq_of_zeros, (len(seq_of_zeros),)):
        c = np.append(c, 0.0) - np.append(0.0, zero * c)
    return c


def roots(p):
    given = np.flatnonzero(p)
    c = np.asarray(p)[given[0] : given[-1] + 1]
    companion = np.diag(np.ones(len(c) - 2), -1)
    found = np.linalg.eigvals(np.concatenate([-c[None, 1:] / c[0], companion[1:]]))
    return np.append(found, np.zeros(len(p) - 1 - given[-1]))


def polydiv(u, v):
    u, v = np.asarray(u), np.asarray(v)
    one = np.ones(1, np.result_type(u, v, 1.0))  # (complex where either of them is)
    rest = u * one
    quotient = np.zeros(max(len(u) - len(v) + 1, 1), one.dtype)
    for k in range(len(u) - len(v) + 1):
        factor = rest[k] / v[0]
        quotient[k] = factor
        rest[k : k + len(v)] -= factor * v
    first = 0
    while np.allclose(rest[first], 0.0, rtol=1e-14) and first < len(rest) - 1:
        first = first + 1
    return quotient, rest[first:]


# --------------------------------------------------------------------------------- sets


def union1d(ar1, ar2):
    return np.unique(np.concatenate([np.ravel(ar1), np.ravel(ar2)]))


def intersect1d(ar1, ar2, assume_unique=False):
    values = np.unique(ar1)
    return values[np.isin(values, ar2)]


def setdiff1d(ar1, ar2, assume_unique=False):
    values = np.ravel(ar1) if assume_unique else np.unique(ar1)
    return values[np.isin(values, ar2, invert=True)]


def setxor1d(ar1, ar2, assume_unique=False):
    first, second = np.unique(ar1), np.unique(ar2)
    only_first = first[np.isin(first, second, invert=True)]
    only_second = second[np.isin(second, first, invert=True)]
    return np.sort(np.concatenate([only_first, only_second]))


# ---------------------------------------------------------------- transforms, linear algebra


def hfft(a, n=None, axis=-1, norm=None):
    if norm is None or norm == "backward":
        return np.fft.irfft(np.conj(a), n, axis=axis, norm="forward")
    if norm == "forward":
        return np.fft.irfft(np.conj(a), n, axis=axis, norm="backward")
    return np.fft.irfft(np.conj(a), n, axis=axis, norm="ortho")


def ihfft(a, n=None, axis=-1, norm=None):
    if norm is None or norm == "backward":
        return np.conj(np.fft.rfft(a, n, axis=axis, norm="forward"))
    if norm == "forward":
        return np.conj(np.fft.rfft(a, n, axis=axis, norm="backward"))
    return np.conj(np.fft.rfft(a, n, axis=axis, norm="ortho"))


def tensorinv(a, ind=2):
    turned = a.shape[ind:] + a.shape[:ind]
    rows = int(np.prod(a.shape[ind:]))
    return np.reshape(np.linalg.inv(np.reshape(a, (rows, -1))), turned)


def kaiser(M, beta):
    if M == 1:
        return np.ones(1)
    half = (M - 1) / 2.0
    where = (np.arange(0, M) - half) / half
    return np.i0(beta * np.sqrt(1.0 - where * where)) / np.i0(beta)


# -------------------------------------------------------- methods of ufuncs without a rule


def ufunc_reduce(
    op, array, axis=0, dtype: None = None, *, keepdims=False, initial=None, where=True
):
    array = np.asarray(array)
    shape = np.shape(array)
    axes = _axes(axis, len(shape))
    rest = [n for i, n in enumerate(shape) if i not in axes]
    rows = np.reshape(np.moveaxis(array, axes, range(len(axes))), (-1, *rest))
    masks = np.reshape(
        np.moveaxis(np.broadcast_to(where, shape), axes, range(len(axes))), (-1, *rest)
    )
    first = 0
    if initial is not None:
        total = initial
    elif op.identity is None or (where is True and len(rows) > 0):
        total = rows[0]  # (NumPy takes no mask without a value to start from)
        first = 1
    else:
        total = float(op.identity)
    for i in range(first, len(rows)):
        if where is True:
            total = op(total, rows[i])
        else:
            total = np.where(masks[i], op(total, rows[i]), total)[()]
    if keepdims:
        return np.reshape(total, [1 if i in axes else n for i, n in enumerate(shape)])
    return total


def _axes(axis, rank):
    if axis is None:
        return list(range(rank))
    return [int(i) % rank for i in np.ravel(axis)]


def ufunc_accumulate(op, array, axis=0, dtype: None = None):
    rows = np.moveaxis(np.asarray(array), axis, 0)
    total = rows[0]
    totals = [total]
    for i in range(1, len(rows)):
        total = op(total, rows[i])
        totals.append(total)
    return np.moveaxis(np.stack(totals), 0, axis)


def ufunc_reduceat(op, array, indices, axis=0, dtype: None = None):
    rows = np.moveaxis(np.asarray(array), axis, 0)
    ends = [*indices[1:], len(rows)]
    totals = []
    for first, end in zip(indices, ends):  # noqa: B905 (the lengths are the same)
        total = rows[first]
        for i in range(first + 1, end):
            total = op(total, rows[i])
        totals.append(total)
    return np.moveaxis(np.stack(totals), 0, axis)


def ufunc_outer(op, A, B):
    return op(np.reshape(A, np.shape(A) + (1,) * np.ndim(B)), B)


def ufunc_at(op, a, indices, b):
    keys, whole, pieces = places_at(indices, np.shape(a))
    values = np.copy(np.broadcast_to(b, whole))
    rows = np.reshape(values, pieces)
    for k in range(len(keys)):
        a[keys[k]] = op(a[keys[k]], rows[k])


def ufunc_at_alone(op, a, indices):
    keys, _, _ = places_at(indices, np.shape(a))
    for k in range(len(keys)):
        a[keys[k]] = op(a[keys[k]])


# --------------------------------------------------------------------------------------------------
# SciPy's solvers of equations, integrals and motions as programs (see `programs.py`).
#
# The solver runs as it stands (`runtime/solving.py`), and what it finds is a constant. Then:
#
# - *A root* is followed by chord steps `root - (f(root) - rest) / slope`, which do not change its
#   value. Each one makes one more order of its derivatives right, however rough the slope is.
# - *An integral* is the sum over the places that the solver chose.
# - *A motion* is followed by Runge and Kutta's steps (of the fifth order, by Dormand and Prince)
#   along times that were chosen for it: its derivative is that of the discretised equation.

_ORDERS = 4  # of derivatives


# -------------------------------------------------------------------------------- equations


def _followed(f, args, root, rest, slope):
    for _ in range(_ORDERS):
        root = root - (f(root, *args) - rest) / slope
    return root


def _vector_followed(f, args, root, rest, inverse):
    for _ in range(_ORDERS):
        change = np.asarray(f(root, *args)) - rest
        root = root - np.reshape(inverse @ np.ravel(change), np.shape(rest))
    return root


def optimize_brentq(f, a, b, args=(), **options):
    root, rest, slope = solved_equation("brentq", f, args, a, b, **options)
    return _followed(f, args, root, rest, slope)


def optimize_brenth(f, a, b, args=(), **options):
    root, rest, slope = solved_equation("brenth", f, args, a, b, **options)
    return _followed(f, args, root, rest, slope)


def optimize_bisect(f, a, b, args=(), **options):
    root, rest, slope = solved_equation("bisect", f, args, a, b, **options)
    return _followed(f, args, root, rest, slope)


def optimize_ridder(f, a, b, args=(), **options):
    root, rest, slope = solved_equation("ridder", f, args, a, b, **options)
    return _followed(f, args, root, rest, slope)


def optimize_newton(func, x0, fprime=None, args=(), **options):
    root, rest, slope = solved_equation("newton", func, args, x0, fprime, **options)
    return _followed(func, args, root, rest, slope)


def optimize_root_scalar(f, args=(), **options):
    root, rest, slope = solved_equation("root_scalar", f, args, **options)
    found = _followed(f, args, root, rest, slope)
    return Root(found, found, True, True)


def optimize_fsolve(func, x0, args=(), **options):
    root, rest, inverse = solved_equation("fsolve", func, args, x0, **options)
    return _vector_followed(func, args, root, rest, inverse)


def optimize_root(fun, x0, args=(), **options):
    root, rest, inverse = solved_equation("root", fun, args, x0, **options)
    found = _vector_followed(fun, args, root, rest, inverse)
    return Root(found, found, True, True)


# -------------------------------------------------------------------------------- integrals


def integrate_quad(func, a, b, args=(), **options):
    value, error, found, places = quadrature(func, a, b, args, **options)
    start = 0.0 if np.isinf(a) else a
    end = 0.0 if np.isinf(b) else b
    width = 1.0 if np.isinf(a) or np.isinf(b) else b - a
    total = 0.0
    for p, q, s, w in places:
        total = total + w * func(p * start + q * end + s, *args)
    return width * total - found + value, error


def integrate_fixed_quad(func, a, b, args=(), n=5):
    points, weights = np.polynomial.legendre.leggauss(n)
    values = func((b - a) * (points + 1.0) / 2.0 + a, *args)
    return (b - a) / 2.0 * np.sum(weights * values, axis=-1), None


# ---------------------------------------------------------------------------------- motions


def _step(f, args, t, h, y, state_first):
    k1 = _slope(f, args, t, y, state_first)
    k2 = _slope(f, args, t + h / 5.0, y + h / 5.0 * k1, state_first)
    z = y + h / 40.0 * (3.0 * k1 + 9.0 * k2)
    k3 = _slope(f, args, t + 0.3 * h, z, state_first)
    z = y + h / 45.0 * (44.0 * k1 - 168.0 * k2 + 160.0 * k3)
    k4 = _slope(f, args, t + 0.8 * h, z, state_first)
    z = y + h / 6561.0 * (19372.0 * k1 - 76080.0 * k2 + 64448.0 * k3 - 1908.0 * k4)
    k5 = _slope(f, args, t + h / 1.125, z, state_first)
    z = 9017.0 / 3168.0 * k1 - 355.0 / 33.0 * k2 + 46732.0 / 5247.0 * k3 + 49.0 / 176.0 * k4
    k6 = _slope(f, args, t + h, y + h * (z - 5103.0 / 18656.0 * k5), state_first)
    z = 35.0 / 384.0 * k1 + 500.0 / 1113.0 * k3 + 125.0 / 192.0 * k4
    return y + h * (z - 2187.0 / 6784.0 * k5 + 11.0 / 84.0 * k6)


def _slope(f, args, t, y, state_first):
    if state_first:
        return np.asarray(f(y, t, *args))
    return np.asarray(f(t, y, *args))


def integrate_odeint(func, y0, t, args=(), **options):
    values, steps = solved_motion("odeint", func, y0, t, args, **options)
    y = np.atleast_1d(y0) * 1.0
    rows = [y]
    for i in range(len(steps)):
        length = t[i + 1] - t[i]
        for begin, part in steps[i]:
            y = _step(func, args, t[i] + begin * length, part * length, y, True)
        rows.append(y)
    followed = np.stack(rows)
    return followed - stop_gradient(followed) + values


def integrate_solve_ivp(fun, t_span, y0, method="RK45", t_eval=None, *, args=(), **options):
    values, steps, parts, message = solved_motion(
        "solve_ivp", fun, y0, t_span, args, t_eval=t_eval, method=method, **options
    )
    start = t_span[0]
    t = t_eval
    if t_eval is None:
        t = start + parts * (t_span[1] - start)
    y = np.asarray(y0) * 1.0
    rows = []
    for i in range(len(steps)):
        length = t[i] - start
        for begin, part in steps[i]:
            y = _step(fun, args, start + begin * length, part * length, y, False)
        rows.append(y)
        start = t[i]
    followed = np.stack(rows, axis=1)
    return Motion(t, followed - stop_gradient(followed) + values, True, 0, message)


# --------------------------------------------------------------------------------------------------
# Python's module `statistics`, which computes with fractions.


def sample_mean(data):
    return np.mean(np.array(list(data)))


def sample_fmean(data, weights=None):
    values = np.array(list(data))
    if weights is None:
        return np.mean(values)
    return np.average(values, weights=np.array(list(weights)))


def sample_median(data):
    return np.median(np.array(list(data)))


def sample_variance(data, xbar=None):
    values = np.array(list(data))
    centred = values - (np.mean(values) if xbar is None else xbar)
    return np.sum(centred * centred) / (len(values) - 1)


def sample_pvariance(data, mu=None):
    values = np.array(list(data))
    centred = values - (np.mean(values) if mu is None else mu)
    return np.mean(centred * centred)


def sample_stdev(data, xbar=None):
    return np.sqrt(sample_variance(data, xbar))


def sample_pstdev(data, mu=None):
    return np.sqrt(sample_pvariance(data, mu))


def sample_harmonic_mean(data, weights=None):
    return 1.0 / sample_fmean([1.0 / value for value in data], weights)


def sample_geometric_mean(data):
    return np.exp(np.mean(np.log(np.array(list(data)))))


def sample_covariance(x, y, /):
    return np.cov(np.stack([np.array(list(x)), np.array(list(y))]))[0, 1]


def sample_correlation(x, y, /):
    return np.corrcoef(np.stack([np.array(list(x)), np.array(list(y))]))[0, 1]
