"""What `help` says of a derivative: of what and by what it is, and what it returns."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

import numpy as np

from ..frontend.primal import Primal, plain_signature

_LIKE = "with the structure, shapes and dtypes of"
# Operator: what it gives, then what a call returns (one `wrt`, several).
_KINDS = {
    "grad": ("Gradient", f"{_LIKE} {{x}}", f"a tuple, each part {_LIKE} its argument"),
    "value_and_grad": (
        "Value and gradient",
        f"(value, gradient), the gradient {_LIKE} {{x}}",
        f"(value, gradients), the gradients a tuple, each {_LIKE} its argument",
    ),
    "reverse": (
        "Value and gradient",
        "takes the adjoint of the value as its last argument, returns (value, gradient)",
        "takes the adjoint of the value as its last argument, returns (value, gradients)",
    ),
    "forward": (
        "Value and tangent",
        "takes the tangent of {x} as its last argument, returns (value, tangent)",
        "takes their tangents as its last arguments, returns (value, tangent)",
    ),
    "jacobian": (
        "Jacobian",
        "an array of shape value.shape + {x}.shape; where value or {x} are containers, "
        "nested likewise",
        "a tuple with an array of shape value.shape + argument.shape for each; containers "
        "nest likewise",
    ),
    "hessian": (
        "Hessian",
        "an array of shape {x}.shape + {x}.shape; where {x} is a container, nested likewise",
        "a tuple of tuples, block i, j by the i-th and then by the j-th of them",
    ),
    "hvp": (
        "Product of the Hessian with a vector v",
        f"takes v {_LIKE} {{x}}, and returns such a product",
        "takes v, a tuple with a part for each, and returns such a tuple",
    ),
    "sparse_jacobian": (
        "Sparse Jacobian",
        "a SciPy sparse array with a row for each entry of the value, a column for each of {x}",
        "a SciPy sparse array with a row for each entry of the value, a column for each of theirs",
    ),
    "sparse_hessian": (
        "Sparse Hessian",
        "a SciPy sparse array with a row and a column for each entry of {x}",
        "a SciPy sparse array with a row and a column for each of their entries",
    ),
}


def documented(
    kind: str,
    primal: Primal,
    names: tuple[str, ...],
    single: bool,
    has_aux: bool = False,
    example: Any = None,
) -> str:
    """The docstring of a derivative: what it is, then that of the user's function."""
    title, one, several = _KINDS[kind]
    returned = one.format(x=names[0]) if single else several
    text = f"{title} of {primal.name} with respect to {', '.join(names)}: {returned}."
    if has_aux:
        text += f" {primal.name} returns (value, aux), and aux comes back beside the result."
    shapes = _shapes(primal, example)
    own = inspect.getdoc(primal.function) if primal.function.__doc__ else None
    parts = textwrap.fill(text, 88), textwrap.fill(shapes, 88), own
    return "\n\n".join(filter(None, parts))


def _shapes(primal: Primal, example: Any) -> str:
    """What `example=` said of the arguments."""
    if example is None:
        return ""
    given = tuple(example) if type(example) in (tuple, list) else (example,)
    parts = [
        f"{name} {_shape(value)}"
        for name, value in zip(plain_signature(primal.function).parameters, given, strict=False)
        if isinstance(value, (float, complex, np.generic, np.ndarray))
    ]
    return f"Made for arguments like these: {', '.join(parts)}." if parts else ""


def _shape(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return type(value).__name__
