"""Rules of `scipy.signal` (convolutions, recursive filters) and of histograms with weights."""

import numpy as np

from .book import Deferred, rule
from .kinds_of import promoted, same_as, unknown
from .tables import linear

scipy = Deferred("scipy")


@rule(
    *("scipy.signal.convolve", "scipy.signal.fftconvolve", "scipy.signal.oaconvolve"),
    kind=unknown,
)
def convolve(y, in1, in2, mode="full"):
    whole = uncropped(y_bar, in1, in2, mode)
    y_dot = scipy.signal.convolve(in1_dot, in2, mode) + scipy.signal.convolve(in1, in2_dot, mode)
    in1_bar = cast_like(scipy.signal.convolve(whole, np.flip(conj(in2)), "valid"), in1)
    in2_bar = cast_like(scipy.signal.convolve(whole, np.flip(conj(in1)), "valid"), in2)


linear("uncropped(g, in1, in2, mode='full')", "cropped(y_bar, g, in1, in2, mode)", unknown)
linear(
    "cropped(whole, g, in1, in2, mode='full')",
    "uncropped(y_bar, in1, in2, mode)",
    same_as(1),
    "view",
)


# Where a * y = b * x (products of polynomials in the delay), so have the changes
# a * y_dot = b * x_dot + b_dot * x - a_dot * y; the adjoint runs the filter backwards in time.
@rule("scipy.signal.lfilter", kind=promoted(2))
def lfilter(y, b, a, x, axis=-1):
    back = np.flip(scipy.signal.lfilter(np.ones(1), conj(a), np.flip(y_bar, axis), axis), axis)
    y_dot = (
        scipy.signal.lfilter(b, a, x_dot, axis)
        + scipy.signal.lfilter(b_dot, a, x, axis)
        - scipy.signal.lfilter(a_dot, a, y, axis)
    )
    b_bar = cast_like(lagged_products(back, conj(x), b, axis), b)
    a_bar = cast_like(-lagged_products(back, conj(y), a, axis), a)
    x_bar = cast_like(
        np.flip(scipy.signal.lfilter(conj(b), conj(a), np.flip(y_bar, axis), axis), axis), x
    )
