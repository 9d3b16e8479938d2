"""Rules of the filters of `scipy.ndimage` that are linear in the image.

A filter is the same everywhere but at the edges. With so many places more around the image that it
never looks beyond them, its adjoint is the filter itself on the reversed image, reversed; what
comes to stand beyond the edges belongs to the entries that the mode put there (`folded_edges`).
"""

from .kinds_of import same_as
from .tables import linear, written

linear("with_edges(x, reach, mode='constant')", "folded_edges(y_bar, reach, mode)", same_as(0))
linear("folded_edges(x, reach, mode='constant')", "with_edges(y_bar, reach, mode)", same_as(0))


# Of each filter: the parameters before and after the star, what it is given by position and by
# name besides the mode, and how far it reaches.
_OF_SIGMA = "gaussian_reach(sigma, truncate, radius)"
_FILTERS = {
    "gaussian_filter": (
        *("sigma, order=0", "truncate=4.0, radius=None, axes=None"),
        *("sigma, order", "truncate radius axes", _OF_SIGMA),
    ),
    "gaussian_filter1d": (
        *("sigma, axis=-1, order=0", "truncate=4.0, radius=None"),
        *("sigma, axis, order", "truncate radius", _OF_SIGMA),
    ),
    "gaussian_laplace": (
        *("sigma", "truncate=4.0", "sigma", "truncate"),
        "gaussian_reach(sigma, truncate)",
    ),
    "uniform_filter": ("size=3", "origin=0, axes=None", "size", "origin axes", "reach_of(size)"),
    "uniform_filter1d": ("size, axis=-1", "origin=0", "size, axis", "origin", "reach_of(size)"),
    "sobel": ("axis=-1", "", "axis", "", "1"),
    "prewitt": ("axis=-1", "", "axis", "", "1"),
    "laplace": ("", "axes=None", "", "axes", "1"),
    "correlate": ("weights", "origin=0, axes=None", "weights", "origin axes", ""),
    "convolve": ("weights", "origin=0, axes=None", "weights", "origin axes", ""),
    "correlate1d": ("weights, axis=-1", "origin=0", "weights, axis", "origin", ""),
    "convolve1d": ("weights, axis=-1", "origin=0", "weights, axis", "origin", ""),
}

for _name, (_before, _after, _given, _words, _reach) in _FILTERS.items():
    _filter = f"scipy.ndimage.{_name}"
    _reach = _reach or "reach_of(np.shape(weights))"
    _by_name = "".join(f", {word}={word}" for word in _words.split())
    _params = ", ".join(filter(None, ("input", _before, '*, mode="reflect", cval=0.0', _after)))
    _rest = f", {_given}" if _given else ""
    _tangent = f"{_filter}(input_dot{_rest}, mode=mode{_by_name})"
    if "weights" in _given:
        _moved = _given.replace("weights", "weights_dot")
        _tangent += f" + {_filter}(input, {_moved}, mode=mode, cval=cval{_by_name})"
    _lines = [
        f"wide = np.flip(with_edges(y_bar, {_reach}))",
        f'back = np.flip({_filter}(wide{_rest}, mode="constant"{_by_name}))',
        f"y_dot = {_tangent}",
        f"input_bar = cast_like(folded_edges(back, {_reach}, mode), input)",
        *(f"{name}_bar = 0" for name in ("origin", "radius") if name in _words),
    ]
    written(_filter, f"{_params})", _lines, same_as(0))
