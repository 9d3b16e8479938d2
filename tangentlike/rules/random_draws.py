"""Random draws: constants of the program, unless a distribution's location or scale is active.

The draw happens once, in the primal. A normal or uniform number moves with its location and
scale at a fixed position within the distribution; other distributions refuse active parameters.
"""

from __future__ import annotations

import numpy as np

from .. import ir
from ..ir.kind import Kind
from .book import KindOf, nondifferentiable, rule
from .kinds_of import argument, other, shape_from_argument
from .tables import written


def _drawn(call: ir.Call, kind_of: KindOf) -> Kind:
    """An array of the given size; without one, of the shape of the parameters."""
    place = 2  # after the two parameters of the distribution
    if argument(call, place, "size") == ir.Const(None):
        numbers = all(kind_of(arg).form == "number" for arg in call.args)
        return Kind("number", "float", ()) if numbers else Kind("value", "float")
    return shape_from_argument(place, "size")(call, kind_of)


def _located(call: ir.Call, kind_of: KindOf) -> Kind:
    """As `_drawn`, for a method: the generator stands first."""
    return _drawn(ir.Call(call.fn, call.args[1:], call.kwargs, call.at), kind_of)


# (Not elementwise: with a size the result is larger than the parameters broadcast together.)
_MOVED = [
    "noise = ratio_or_zero(y - loc, scale)",
    "y_dot = broadcast_like(loc_dot + noise * scale_dot, y)",
    "loc_bar = unbroadcast(y_bar, loc)",
    "scale_bar = unbroadcast(y_bar * noise, scale)",
]
_BETWEEN = [
    "part = ratio_or_zero(y - low, high - low)",
    "y_dot = broadcast_like(low_dot * (1.0 - part) + high_dot * part, y)",
    "low_bar = unbroadcast(y_bar * (1.0 - part), low)",
    "high_bar = unbroadcast(y_bar * part, high)",
]
for _owner, _rng, _kind, _families in (
    ("np.random", "", _drawn, ("normal",)),
    ("np.random.Generator", "rng, ", _located, ("normal", "laplace", "logistic", "gumbel")),
):
    _names = ", ".join(f"{_owner}.{family}" for family in _families)
    written(_names, f"{_rng}loc=0.0, scale=1.0, size=None)", _MOVED, _kind)
    written(f"{_owner}.uniform", f"{_rng}low=0.0, high=1.0, size=None)", _BETWEEN, _kind)


def _dimensions(call: ir.Call, kind_of: KindOf) -> Kind:
    if not call.args:
        return Kind("number", "float", ())
    sizes = [arg.value if isinstance(arg, ir.Const) else None for arg in call.args]
    return Kind("array", "float", tuple(sizes))


nondifferentiable(np.random.rand, np.random.randn, kind=_dimensions)
nondifferentiable(
    *(np.random.random, np.random.random_sample, np.random.standard_normal),
    kind=shape_from_argument(0, "size"),
)
nondifferentiable(np.random.randint, np.random.standard_exponential)
nondifferentiable(np.random.seed, np.random.get_state, np.random.set_state, kind=other)
nondifferentiable(
    np.random.default_rng, kind=lambda call, kind_of: Kind("other", cls=np.random.Generator)
)
nondifferentiable(
    np.random.RandomState, kind=lambda call, kind_of: Kind("other", cls=np.random.RandomState)
)

# ------------------------------------------------------------- methods of a np.random.Generator


@rule(np.random.Generator.lognormal, kind=_located)
def generator_lognormal(y, rng, mean=0.0, sigma=1.0, size=None):
    noise = ratio_or_zero(np.log(y) - mean, sigma)
    y_dot = y * (mean_dot + noise * sigma_dot)
    mean_bar = unbroadcast(y_bar * y, mean)
    sigma_bar = unbroadcast(y_bar * y * noise, sigma)


@rule(np.random.Generator.exponential, np.random.Generator.rayleigh)
def generator_scaled(y, rng, scale=1.0, size=None):
    noise = ratio_or_zero(y, scale)
    y_dot = noise * scale_dot
    scale_bar = unbroadcast(y_bar * noise, scale)


@rule(np.random.Generator.gamma)
def generator_gamma(y, rng, shape, scale=1.0, size=None):
    # By its shape a gamma number has no simple derivative: that is refused.
    noise = ratio_or_zero(y, scale)
    y_dot = noise * scale_dot
    scale_bar = unbroadcast(y_bar * noise, scale)


@rule(np.random.Generator.multivariate_normal)
def generator_multivariate_normal(
    y, rng, mean, cov, size=None, check_valid="warn", tol=1e-08, method="svd"
):
    # By the covariance: draw standard normal numbers and multiply them with a factor of it.
    y_dot = broadcast_like(mean_dot, y)
    mean_bar = unbroadcast(y_bar, mean)


nondifferentiable(
    *(np.random.Generator.standard_normal, np.random.Generator.random),
    *(np.random.Generator.standard_exponential,),
    kind=lambda call, kind_of: shape_from_argument(1, "size")(call, kind_of),
)
nondifferentiable(
    *(np.random.Generator.integers, np.random.Generator.bytes, np.random.Generator.spawn),
)
