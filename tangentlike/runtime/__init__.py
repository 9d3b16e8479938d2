"""What emitted derivatives call: small functions on numbers and array-likes.

They use methods and NumPy's protocols (`__array_function__`, `__array_ufunc__`) only, so that
they run on NumPy, CuPy and other array types that implement these; none converts its
argument. This package imports NumPy and nothing of tangentlike.
"""

from .broadcasting import (
    broadcast_like,
    conj,
    ones_like,
    scalar_seed,
    unbroadcast,
    zeros_like,
)
from .kinks import (
    exp_of_difference,
    greater_share,
    log_or_zero,
    power_slope,
    ratio_or_zero,
    reciprocal_or_zero,
    sinc_derivative,
)
from .mutation import accumulate, add_at, copy, stop_gradient

__all__ = [
    "accumulate",
    "add_at",
    "broadcast_like",
    "conj",
    "copy",
    "exp_of_difference",
    "greater_share",
    "log_or_zero",
    "ones_like",
    "power_slope",
    "ratio_or_zero",
    "reciprocal_or_zero",
    "scalar_seed",
    "sinc_derivative",
    "stop_gradient",
    "unbroadcast",
    "zeros_like",
]
