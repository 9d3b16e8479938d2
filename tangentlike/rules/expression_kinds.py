"""Kinds of whole expressions, for callers that know only the kinds of names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import ir
from ..ir.kind import FLOAT, OTHER, UNKNOWN, Kind
from .book import RuleBook
from .index_kinds import index_kind

__all__ = ["kind_of_expression", "kind_of_literal"]


def kind_of_expression(expr: ir.Expr, names: Mapping[str, Kind], book: RuleBook) -> Kind:
    """What is known of an expression when `names` are the kinds of local names."""

    def kind_of(e: ir.Expr) -> Kind:
        return kind_of_expression(e, names, book)

    match expr:
        case ir.Var(name):
            return names.get(name, UNKNOWN)
        case ir.Const(value):
            return kind_of_literal(value)
        case ir.Ref(text=text, obj=obj):
            # Module constants such as np.pi never change; a user's global may.
            fixed = text.partition(".")[0] in ("np", "math") and isinstance(obj, float)
            return FLOAT if fixed else OTHER if callable(obj) else UNKNOWN
        case ir.Call():
            return book.result_kind(expr, kind_of)
        case ir.Index(base=base, key=key):
            return index_kind(kind_of(base), key, kind_of)
        case ir.Attribute(name=name):
            rule = book.find_attribute(name)
            call = ir.Call(ir.Ref(name, None), (expr.base,))
            return UNKNOWN if rule is None else rule.result_kind(call, kind_of)
        case ir.Display(form="tuple", items=items):
            return Kind("tuple", items=tuple(map(kind_of, items)))
        case ir.Display(form=form):
            return Kind(form)
        case ir.Lazy(form="if", items=(_, then, otherwise)):
            return kind_of(then).join(kind_of(otherwise))
    return UNKNOWN


def kind_of_literal(value: Any) -> Kind:
    """The kind of a literal."""
    for form, dtype in ((bool, "bool"), (int, "int"), (float, "float"), (complex, "complex")):
        if isinstance(value, form):
            return Kind("number", dtype, ())
    return OTHER
