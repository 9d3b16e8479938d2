"""Derivatives of operations: the only place that knows them.

`book` is the rulebook, `template` reads a rule, `bind` applies it to a call, `kinds_of` says
what results are; the other modules are tables of rules, one for each part of NumPy and Python.
"""

from .book import Rule, RuleBook, default_book, nondifferentiable, rule
from .twins import register_array_module

__all__ = [
    "Rule",
    "RuleBook",
    "default_book",
    "nondifferentiable",
    "register_array_module",
    "rule",
]
