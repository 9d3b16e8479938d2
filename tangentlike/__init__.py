"""tangentlike: derivatives of NumPy programs, as readable Python source.

import tangentlike as tl

gradient = tl.grad(loss, wrt=("w", "b"))    # an ordinary Python function
print(gradient.source)                      # its text
"""

import importlib.util
from typing import TYPE_CHECKING, Any

from . import testing
from .api.allocator import keep_memory
from .api.calls import autodiff, grad, jvp, value_and_grad, vjp
from .api.jacobians import hessian, jacfwd, jacobian, jacrev
from .api.linear import hvp, linearize
from .api.sparse import sparse_hessian, sparse_jacobian
from .dispatch.blame import found_by
from .errors import NonFiniteError, TangentlikeError, UnsupportedError
from .frontend.checkpoints import checkpoint, checkpointed
from .pytree.leaves import register_container
from .rules import nondifferentiable, rule
from .runtime import on_adjoint, stop_gradient
from .testing import check_grads, check_rule

if TYPE_CHECKING:
    from . import dask as dask
    from . import debugging
    from . import sweep as sweep
    from .debugging import breakpoint_on_adjoint, explain, find_nan, line_map, profile, trace

__version__ = "0.1.0"

__all__ = [
    "NonFiniteError",
    "TangentlikeError",
    "UnsupportedError",
    "autodiff",
    "breakpoint_on_adjoint",
    "check_grads",
    "check_rule",
    "checkpoint",
    "checkpointed",
    "debugging",
    "explain",
    "find_nan",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "keep_memory",
    "line_map",
    "linearize",
    "nondifferentiable",
    "on_adjoint",
    "profile",
    "register_container",
    "rule",
    "sparse_hessian",
    "sparse_jacobian",
    "stop_gradient",
    "testing",
    "trace",
    "value_and_grad",
    "vjp",
]

# Loaded when they are asked for.
_LATE = dict.fromkeys(
    ("breakpoint_on_adjoint", "explain", "find_nan", "line_map", "profile", "trace"), "debugging"
)


def _late(name: str) -> Any:
    if name in ("debugging", "dask", "sweep"):  # (dask needs a package of its own)
        return importlib.import_module(f".{name}", __name__)
    if name in _LATE:
        return getattr(importlib.import_module(f".{_LATE[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:  # (a type checker would believe that every name is there)
    __getattr__ = _late


def __dir__() -> list[str]:
    names = [*__all__, "__version__", "sweep"]
    return sorted(names + ["dask"] * (importlib.util.find_spec("dask") is not None))


def _raise_at_nan(*call: Any) -> None:
    from .debugging.nonfinite import raise_at_nan

    raise_at_nan(*call)


found_by(_raise_at_nan)
