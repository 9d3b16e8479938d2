"""Arguments that an operation takes without any derivative by them."""

from __future__ import annotations

from .. import ir
from ..rules.book import Rule, as_function_call
from ..rules.linear import is_zero
from ..rules.template import template_of

_known: dict[int, tuple[Rule, frozenset[str]]] = {}


def inert_parameters(rule: Rule) -> frozenset[str]:
    """The parameters for which a rule states nothing but zero: those that give only a shape.

    >>> from ..rules.book import default_book
    >>> from .. import runtime
    >>> sorted(inert_parameters(default_book().find(runtime.broadcast_like)))
    ['x']
    """
    found = _known.get(id(rule))
    if found is None:
        found = _known[id(rule)] = (rule, _inert(rule))
    return found[1]


def _inert(rule: Rule) -> frozenset[str]:
    if rule.builder:
        return frozenset()
    stated: dict[str, bool] = {}
    read: set[str] = set()
    for line in template_of(rule).lines():
        if line.role in ("partial", "adjoint"):
            stated[line.name] = stated.get(line.name, True) and is_zero(line.expr)
        else:
            read |= ir.names_in(line.expr)
    return frozenset(p for p, zero in stated.items() if zero and f"${p}_dot" not in read)


def differentiable_arguments(call: ir.Call, rule: Rule | None) -> tuple[ir.Expr, ...] | None:
    """The arguments that a rule differentiates by; None where all may matter."""
    inert = frozenset[str]() if rule is None else inert_parameters(rule)
    if not inert or rule is None:
        return None
    flat = as_function_call(call)
    try:
        bound = template_of(rule).signature.bind(*flat.args, **dict(flat.kwargs))
    except TypeError:
        return None
    found: list[ir.Expr] = []
    for name, value in bound.arguments.items():
        if name not in inert:
            found.extend(value if isinstance(value, tuple) else (value,))
    return tuple(found)
