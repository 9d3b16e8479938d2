"""Random draws: constants of the program, unless a distribution's location or scale is active.

The draw happens once, in the primal. A normal or uniform number moves with its location and
scale at a fixed position within the distribution; other distributions refuse active parameters.
"""

from __future__ import annotations

import numpy as np

from .. import ir
from ..kind import Kind
from .book import KindOf, nondifferentiable, rule
from .kinds_of import argument, other, shape_from_argument


def _drawn(call: ir.Call, kind_of: KindOf) -> Kind:
    """An array of the given size; without one, of the shape of the parameters."""
    place = 2  # after the two parameters of the distribution
    if argument(call, place, "size") == ir.Const(None):
        numbers = all(kind_of(arg).form == "number" for arg in call.args)
        return Kind("number", "float", ()) if numbers else Kind("value", "float")
    return shape_from_argument(place, "size")(call, kind_of)


@rule(np.random.normal, kind=_drawn)
def normal(y, loc=0.0, scale=1.0, size=None):
    # Not elementwise: with a size the result is larger than the parameters broadcast together.
    noise = ratio_or_zero(y - loc, scale)
    y_dot = loc_dot + noise * scale_dot
    loc_bar = unbroadcast(y_bar, loc)
    scale_bar = unbroadcast(y_bar * noise, scale)


@rule(np.random.uniform, kind=_drawn)
def uniform(y, low=0.0, high=1.0, size=None):
    part = ratio_or_zero(y - low, high - low)
    y_dot = low_dot * (1.0 - part) + high_dot * part
    low_bar = unbroadcast(y_bar * (1.0 - part), low)
    high_bar = unbroadcast(y_bar * part, high)


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
nondifferentiable(np.random.seed, np.random.default_rng, np.random.get_state, kind=other)
nondifferentiable(np.random.set_state, np.random.RandomState, kind=other)
