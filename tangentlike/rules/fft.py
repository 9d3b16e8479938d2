"""Rules of numpy.fft: each transform's adjoint is its inverse, otherwise normalised."""

from ..ir.kind import Kind
from .kinds_of import first
from .tables import linear


def _spectrum(call, kind_of):
    kind = kind_of(call.args[0])
    return Kind("array", "complex", None if kind.rank is None else (None,) * kind.rank)


def _signal(call, kind_of):
    kind = kind_of(call.args[0])
    return Kind("array", "float", None if kind.rank is None else (None,) * kind.rank)


def _like_argument(call, kind_of):
    """Transforms take arrays, never numbers."""
    kind = kind_of(call.args[1])
    return Kind("array", kind.dtype, kind.shape)


_SEED = {"irfft": "np.real(y_bar)"}
_KIND = {"irfft": _signal}
_SIZE = {"rfft": "n, "}  # (its spectrum does not say how long the signal was)

for _name in ("fft", "ifft", "rfft", "irfft"):
    _seed, _kind = _SEED.get(_name, "y_bar"), _KIND.get(_name, _spectrum)
    linear(
        f"np.fft.{_name}(a, n=None, axis=-1, norm=None)",
        f"{_name}_bar({_seed}, a, {_SIZE.get(_name, '')}axis, norm)",
        _kind,
        words="axis norm",
    )
    for _several in (
        "n(a, s=None, axes=None, norm=None)",
        "2(a, s=None, axes=(-2, -1), norm=None)",
    ):
        _bar = f"{_name}n_bar({_seed}, a, s, axes, norm)"
        linear(f"np.fft.{_name}{_several}", _bar, _kind, words="s axes norm")

linear("np.fft.fftshift(x, axes=None)", "np.fft.ifftshift(y_bar, axes=axes)", first, words="axes")
linear("np.fft.ifftshift(x, axes=None)", "np.fft.fftshift(y_bar, axes=axes)", first, words="axes")

# ----------------------------------------- the adjoints, whose adjoints are the transforms

for _name in ("fft", "ifft", "rfft", "irfft"):
    _size = "n" if _name == "rfft" else "np.shape(g)[axis]"
    _one = f"np.fft.{_name}(y_bar, {_size}, axis=axis, norm=norm)"
    _all = f"np.fft.{_name}n(y_bar, s=s, axes=axes, norm=norm)"
    if _name in ("fft", "ifft"):  # (of real signals, too)
        _one, _all = f"cast_like({_one}, g)", f"cast_like({_all}, g)"
    _given = f"g, x, {'n=None, ' if _name == 'rfft' else ''}axis=-1, norm=None"
    linear(f"{_name}_bar({_given})", _one, _like_argument, "maybe")
    linear(f"{_name}n_bar(g, x, s=None, axes=None, norm=None)", _all, _like_argument, "maybe")
