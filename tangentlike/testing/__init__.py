"""Checks of derivatives, for our tests and for yours.

`check_grads` compares a function's derivatives with central differences; `check_rule` does
that for one operation in every way it may be called.
"""

from .grads import Check, Mismatch, check_grads, compare
from .rules import check_rule

__all__ = ["Check", "Mismatch", "check_grads", "check_rule", "compare"]
