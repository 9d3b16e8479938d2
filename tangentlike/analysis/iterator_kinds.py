"""What the lists hold that stand for the iterators of `itertools`: objects of known classes.

pairs = combination_items(points, 2)     # a list of tuples of two points
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import ir
from ..ir.kind import UNKNOWN, Kind
from ..rules import iterator_programs as programs
from ..rules.index_kinds import element_kind

__all__ = ["iterator_kind"]

_SAME = (programs.slice_items, programs.compress_items)
_SAME_AFTER_A_TEST = (programs.takewhile_items, programs.dropwhile_items)
_ROWS = (programs.combination_items, programs.combinations_again, programs.permutation_items)


def iterator_kind(obj: Any, call: ir.Call, kind_of: Callable[[ir.Expr], Kind]) -> Kind:
    """The kind of what such a function gives; unknown for others, and where no objects are held."""
    item = UNKNOWN
    match programs.program_of(obj), call.args:
        case made, (iterable, *_) if made in _SAME:
            item = element_kind(kind_of(iterable))
        case made, (_, iterable) if made in _SAME_AFTER_A_TEST:
            item = element_kind(kind_of(iterable))
        case made, (iterable, ir.Const(int(count))) if made in _ROWS:
            item = _row((element_kind(kind_of(iterable)),) * count)
        case programs.pairwise_items, (iterable,):
            item = _row((element_kind(kind_of(iterable)),) * 2)
        case programs.chain_items, iterables if iterables:
            item = functools.reduce(Kind.join, (element_kind(kind_of(e)) for e in iterables))
        case programs.flattened_items, (iterables,):
            item = element_kind(element_kind(kind_of(iterables)))
        case programs.product_items, iterables if iterables:
            item = _row(tuple(element_kind(kind_of(e)) for e in iterables) * _repeats(call))
    return Kind("list", item=item) if item.holds_objects else UNKNOWN


def _row(items: tuple[Kind, ...]) -> Kind:
    return Kind("tuple", items=items) if items else UNKNOWN


def _repeats(call: ir.Call) -> int:
    """How often `product` goes through its arguments; 0 where that is not written."""
    match dict(call.kwargs).get("repeat", ir.Const(1)):
        case ir.Const(int(count)):
            return count
    return 0
