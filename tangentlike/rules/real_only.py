"""Operations whose rules hold for real numbers only, though SciPy takes complex ones."""

from __future__ import annotations

from .. import ir, runtime
from ..errors import UnsupportedError
from . import linear
from .book import KindOf, Rule

__all__ = ["is_real_only", "with_real_arguments"]

# SciPy drops the imaginary part of what a distribution is given; the scaled Bessel functions are
# multiplied by exp(-|Re x|), which is no analytic function.
_REAL_ONLY = (
    *("scipy.stats.", "scipy.special.ive", "scipy.special.i0e", "scipy.special.i1e"),
    "numpy.polyfit",
)


def is_real_only(rule: Rule) -> bool:
    """Whether a rule holds for real numbers only."""
    return rule.name.startswith(_REAL_ONLY)


def with_real_arguments(
    rule: Rule, call: ir.Call, values: dict[str, ir.Expr], kind_of: KindOf, real: bool
) -> dict[str, ir.Expr]:
    """The arguments of such an operation, for its lines: refused where one is complex, and asked
    for in the text where nobody knows.

    before::                            after::
        dy_dx = i1e(x) - sign(x) * y        dy_dx = i1e(require_real(x)) - ...
    """
    if not is_real_only(rule):
        return values

    def dtype_of(name: str) -> str:
        return kind_of(ir.Var(name)).dtype

    asked = dict(values)
    for name, argument in values.items():
        if linear.may_be_complex(argument, dtype_of, True):
            raise UnsupportedError(
                f"{rule.name} of complex numbers",
                call.at,
                "Its derivative is known for real numbers: pass np.real(z).",
            )
        if linear.may_be_complex(argument, dtype_of, real) and not name.startswith("$"):
            helper = ir.Ref("require_real", runtime.require_real)
            asked[name] = ir.Call(helper, (argument,), at=call.at)
    return asked
