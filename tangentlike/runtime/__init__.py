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
from .buffers import masked, require_ndim, survivors
from .complex_numbers import adjoint_of_imag, adjoint_of_real
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
from .sequences import (
    add_repeats,
    difference_over,
    dot_items,
    join_items,
    products_of_others,
    products_of_pairs,
    repeat_items,
    scale_items,
    sum_items_bar,
    tie_shares,
)
from .special import polygamma

__all__ = [
    "accumulate",
    "add_at",
    "add_repeats",
    "adjoint_of_imag",
    "adjoint_of_real",
    "broadcast_like",
    "conj",
    "copy",
    "difference_over",
    "dot_items",
    "exp_of_difference",
    "greater_share",
    "join_items",
    "log_or_zero",
    "masked",
    "ones_like",
    "polygamma",
    "power_slope",
    "products_of_others",
    "products_of_pairs",
    "ratio_or_zero",
    "reciprocal_or_zero",
    "repeat_items",
    "require_ndim",
    "scalar_seed",
    "scale_items",
    "sinc_derivative",
    "stop_gradient",
    "sum_items_bar",
    "survivors",
    "tie_shares",
    "unbroadcast",
    "zeros_like",
]
