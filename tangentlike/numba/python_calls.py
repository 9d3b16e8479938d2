"""Helpers of the runtime that compiled code calls as Python runs them.

What a decomposition, a convolution or a quantile takes of time is spent in LAPACK and in NumPy's
own loops: a form for Numba would be slower to compile and no faster to run. Compiled code packs the
arguments into Python objects, calls the helper (some microseconds) and takes the result, whose type
a table states. Unlike Numba's `objmode` this needs nothing of the process that compiled it, so that
the code is kept on disk.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable
from typing import Any

import numba
import numpy as np
from numba.core import imputils
from numba.extending import intrinsic, overload

from .. import runtime
from ..errors import InternalError

types: Any = numba.types
new_reference: Any = imputils.impl_ret_new_ref


def call(spec: str, *args: Any) -> Any:
    """What compiled code calls: the helper of the spec, called with these arguments and the options
    that it states, its result in the form that was promised."""
    helper, names, options, form = _read(spec)
    args = tuple(_SCALARS.get(type(x), _same)(x) for x in args)
    found = helper(**dict(zip(names, args, strict=True)), **options)
    return _in_form(found, form)


_SCALARS: dict[type, Any] = {float: np.float64, complex: np.complex128}  # (which have a dtype)


def _same(x: Any) -> Any:
    return x


@functools.lru_cache(None)
def _read(spec: str) -> tuple[Callable[..., Any], list[str], dict[str, Any], Any]:
    name, names, options, form = json.loads(spec)
    return getattr(runtime, name), names, options, form


def _in_form(found: Any, form: Any) -> Any:
    """A result as compiled code reads it: `[dtype, rank]` of an array in C order, or a tuple."""
    dtype, rank, *items = form
    if dtype == "none":
        return None
    if dtype == "tuple":
        return tuple(map(_in_form, found, items))
    if dtype == "list":
        return [_in_form(each, items[0]) for each in found]
    if np.iscomplexobj(found) and "complex" not in dtype:
        raise InternalError("numba", "real numbers were promised to compiled code")
    array = np.asarray(found, dtype, order="C")
    if rank is None:
        return array.item()
    if array.ndim != rank:
        raise InternalError("numba", f"{rank} axes were promised to compiled code")
    return array


def _form_of(result: Any) -> Any:
    if isinstance(result, types.BaseTuple):
        return ["tuple", None, *map(_form_of, result)]
    if isinstance(result, types.List):
        return ["list", None, _form_of(result.dtype)]
    return [str(getattr(result, "dtype", result)), getattr(result, "ndim", None)]


# --------------------------------------------------------------------------------------------------
# The types of results.


def _adjoint(x: Any, more_axes: int = 0) -> Any:
    """The type of the adjoint of a value: an array in C order, a number, or several of them; with
    so many axes more, where these are given. None where there is none."""
    if isinstance(x, types.BaseTuple):
        items = tuple(map(_adjoint, x))
        return None if None in items else types.Tuple(items)
    if isinstance(x, types.List):
        item = _adjoint(x.dtype)
        return None if item is None else types.List(item)
    dtype = getattr(x, "dtype", x)
    if not isinstance(dtype, (types.Number, types.Boolean)):
        return None
    dtype = dtype if isinstance(dtype, (types.Float, types.Complex)) else types.float64
    rank = getattr(x, "ndim", 0) + more_axes
    return types.Array(dtype, rank, "C") if isinstance(x, types.Array) and rank > 0 else dtype


def _is_packed(x: Any) -> bool:
    """Whether a value of this type has a Python object."""
    if isinstance(x, types.BaseTuple):
        return all(map(_is_packed, x))
    if isinstance(x, types.List):
        return _is_packed(x.dtype)
    plain = (types.Number, types.Boolean, types.Array, types.NoneType, types.UnicodeType)
    return isinstance(x, plain)


# --------------------------------------------------------------------------------------------------
# The call.


class _Constants:
    """What packing asks for constants: they are made where they stand."""

    def __init__(self, pyapi: Any) -> None:
        self._pyapi = pyapi

    def add_const(self, value: Any) -> Any:
        return value

    def read_const(self, value: Any) -> Any:
        return self._pyapi.unserialize(self._pyapi.serialize_object(value))


def _caller(spec: str, result: Any) -> Any:
    """An intrinsic: `call(spec, *args)` of a tuple of arguments, as Python runs it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pyapi = context.get_python_api(builder)
        state = pyapi.gil_ensure()
        constants = _Constants(pyapi)
        packed = [pyapi.string_from_string(context.insert_const_string(builder.module, spec))]
        for place, kind in enumerate(signature.args[0]):
            value = builder.extract_value(args[0], place)
            context.nrt.incref(builder, kind, value)  # (packing takes one)
            packed.append(pyapi.from_native_value(kind, value, constants))
        module = pyapi.import_module(context.insert_const_string(builder.module, __name__))
        function = pyapi.object_getattr_string(module, call.__name__)
        found = pyapi.call_function_objargs(function, packed)
        for each in (module, function, *packed):
            pyapi.decref(each)
        null = context.get_constant_null(types.pyobject)
        with builder.if_then(builder.icmp_unsigned("==", found, null), likely=False):
            pyapi.gil_release(state)
            context.call_conv.return_exc(builder)
        native = pyapi.to_native_value(result, found)
        pyapi.decref(found)
        if native.cleanup is not None:
            native.cleanup()
        pyapi.gil_release(state)
        with builder.if_then(native.is_error, likely=False):
            context.call_conv.return_exc(builder)
        return new_reference(context, builder, result, native.value)

    def typed(_: Any, args: Any) -> Any:
        return result(args), generate

    typed.__annotations__ = {}
    return intrinsic(typed)


def caller(helper: Any, names: Iterable[str]) -> Any:
    """What compiled code calls with a tuple of arguments, so that Python runs a helper of which
    nothing is taken."""
    spec = [helper.__name__, list(names), {}, _form_of(types.none)]
    return _caller(json.dumps(spec), types.none)


def tell(name: str, result: str | Callable[..., Any]) -> None:
    """Tell Numba of a helper that Python runs; `result` is the parameter whose adjoint it gives, or
    makes the type of the result from those of the arguments (None: it has no form)."""
    helper = getattr(runtime, name)
    parameters = inspect.signature(helper).parameters.values()
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    heading = str(inspect.Signature(bare))[1:-1]

    def choose(given: dict[str, Any]) -> Any:
        made = _adjoint(given[result]) if isinstance(result, str) else result(**given)
        known = {each: _known(kind) for each, kind in given.items()}
        names = [each for each, value in known.items() if value is _UNKNOWN]
        if made is None or not all(_is_packed(given[each]) for each in names):
            return None
        options = {each: value for each, value in known.items() if value is not _UNKNOWN}
        spec = json.dumps([name, names, options, _form_of(made)])
        inside = "".join(f"{each}, " for each in names)
        return eval(f"lambda {heading}: caller(({inside}))", {"caller": _caller(spec, made)})

    given = ", ".join(f"{p.name}={p.name}" for p in bare)
    overload(helper, strict=False)(
        eval(f"lambda {heading}: choose(dict({given}))", {"choose": choose})
    )


_UNKNOWN = object()


def _known(kind: Any) -> Any:
    """What a type says of the value, where it does: that of an option."""
    if isinstance(kind, types.Omitted):
        return kind.value
    if isinstance(kind, types.NoneType):
        return None
    if isinstance(kind, types.BaseTuple) and len(kind) > 0:
        items = [_known(item) for item in kind]
        return _UNKNOWN if _UNKNOWN in items else items
    if isinstance(kind, types.Type):
        return getattr(kind, "literal_value", _UNKNOWN)
    return kind


# --------------------------------------------------------------------------------------------------
# The helpers.


def _more_axes(parameter: str, count: int) -> Callable[..., Any]:
    return lambda **given: _adjoint(given[parameter], count)


def _item(parameter: str, place: int) -> Callable[..., Any]:
    return lambda **given: _adjoint(given[parameter][place])


def _each(*parameters: str) -> Callable[..., Any]:
    return lambda **given: _adjoint(types.Tuple([given[name] for name in parameters]))


def _places(parameter: str) -> Callable[..., Any]:
    def result(**given: Any) -> Any:
        x = given[parameter]
        return types.Array(types.intp, x.ndim, "C") if isinstance(x, types.Array) else None

    return result


def _flat_places(**_: Any) -> Any:
    return types.Array(types.intp, 1, "C")


def _complex(*parameters: str) -> Callable[..., Any]:
    def result(**given: Any) -> Any:
        arrays = [given[name] for name in parameters]
        made = [types.Array(types.complex128, a.ndim, "C") for a in arrays]
        return made[0] if len(made) == 1 else types.Tuple(made)

    return result


# What each gives: the adjoint of a parameter, or a type.
HELPERS: dict[str, str | Callable[..., Any]] = {
    # decompositions and equations
    "apply_matrix": "b",
    "cholesky_bar": "factor",
    "cholesky_dot": "a_dot",
    "cofactors": "a",
    "cond_slope": "x",
    "diagonal_matrix": _more_axes("d", 1),
    "eig_bar": "a",
    "eig_dot": _each("w", "v"),
    "eigh_bar": "v",
    "eigvals_bar": "a",
    "gaps": _more_axes("w", 1),
    "half_lower": "x",
    "inner_diagonal": _more_axes("x", -1),
    "inverse_of_lower": "x",
    "lstsq_bar_a": "a",
    "lstsq_bar_b": "b",
    "lstsq_residual_bar": _item("y", 1),
    "matrix_norm_slope": "x",
    "matrix_power_bar": "a",
    "matrix_power_dot": "a",
    "norm_slope": "x",
    "onto_triangle": "g",
    "over_gaps": "e",
    "pinv_bar": "a",
    "pinv_dot": "y",
    "qr_bar": "q",
    "qr_dot": _each("q", "r"),
    "read_triangle": "x",
    "slogdet_bar": "turned",
    "solve_dot_b": "b",
    "solve_seed": "b",
    "svd_bar": "u",
    "svd_dot": _each("u", "s", "vh"),
    "tensorsolve_seed": "b",
    "triangle": "x",
    "ungaps": _more_axes("g", -1),
    "vector_norm_slope": "x",
    # products
    "convolve_bar": "like",
    "correlate_bar_a": "a",
    "correlate_bar_v": "v",
    "inner_bar_a": "a",
    "inner_bar_b": "b",
    "kron_bar_a": "a",
    "kron_bar_b": "b",
    "polyval_bar": "p",
    "tensordot_bar_a": "a",
    "tensordot_bar_b": "b",
    "vander_slope": "y",
    # reductions and calculus
    "cov_bar": "centred",
    "cumprod_dot": "x_dot",
    "deviations": "x",
    "gradient_bar": "x",
    "interp_bar": "xp",
    "interp_slope_bar": "xp",
    "extremum_share": "x",
    "interp_slope": "x",
    "product_of_others": "x",
    "quantile_bar": "x",
    "steps": "y",
    "trapezoid_bar": "y",
    "trapezoid_bar_x": "x",
    "unbincount": "weights",
    "uncumprod": "x",
    "uncumsum": "like",
    "undiff": "x",
    "ungrid": "axes",
    "unit_deviations": "x",
    "unit_deviations_bar": "x",
    "unit_deviations_dot": "x",
    # shapes and places
    "chosen_parts": "choices",
    "delete_rest": "arr",
    "first_places": _flat_places,
    "insert_rest": "arr",
    "insert_zeros": "g",
    "inserted": "values",
    "masked_parts": "choices",
    "partition_order": _places("a"),
    "running_places": _places("x"),
    "split_like": "parts",
    "unblock": "blocks",
    "unbroadcast_each": "likes",
    "unroll_axis": "g",
    "unstack": lambda g, axis: types.List(_adjoint(g, -1)),
    "untake": "like",
    "unpad": "like",
    "unreduceat": "like",
    "unrepeat": "like",
    "unresize": "like",
    "unselect": "like",
    "unslide": "like",
    "untake_along_axis": "like",
    "untile": "like",
    "untrim": "x",
    # items of sequences
    "scale_items": "weights",
    "sum_items_bar": "xs",
    "tie_shares": lambda xs, y: _adjoint(xs),
    # Fourier transforms
    "fft_bar": "x",
    "fftn_bar": "x",
    "ifft_bar": "x",
    "ifftn_bar": "x",
    "irfft_bar": _complex("x"),
    "irfftn_bar": _complex("x"),
    "rfft_bar": "x",
    "rfftn_bar": "x",
    # elementwise
    "bessel_i": "x",
    "polygamma": "x",
    "sinc_derivative": "x",
}
