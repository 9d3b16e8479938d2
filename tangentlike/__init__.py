"""tangentlike: derivatives of NumPy programs, as readable Python source.

import tangentlike as tl

gradient = tl.grad(loss, wrt=("w", "b"))    # an ordinary Python function
print(gradient.source)                      # its text
"""

from . import testing
from .api import autodiff, grad, jvp, value_and_grad, vjp
from .checkpoints import checkpoint, checkpointed
from .containers import register_container
from .errors import TangentlikeError, UnsupportedError
from .jacobians import hessian, jacfwd, jacobian, jacrev
from .linear import hvp, linearize
from .rules import nondifferentiable, rule
from .runtime import on_adjoint, stop_gradient
from .sparse import sparse_hessian, sparse_jacobian
from .testing import check_grads, check_rule

__version__ = "0.1.0"

__all__ = [
    "TangentlikeError",
    "UnsupportedError",
    "autodiff",
    "check_grads",
    "check_rule",
    "checkpoint",
    "checkpointed",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "nondifferentiable",
    "on_adjoint",
    "register_container",
    "rule",
    "sparse_hessian",
    "sparse_jacobian",
    "stop_gradient",
    "testing",
    "value_and_grad",
    "vjp",
]
