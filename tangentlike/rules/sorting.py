"""Rules of sorting and of sets: the order found for the primal is reused."""

import numpy as np

from ..kind import Kind
from .book import rule
from .kinds_of import array_of_rank, first


def _sorted(call, kind_of):
    return first(call, kind_of) if len(call.args) == 1 and not call.kwargs else Kind("array")


@rule(np.sort, kind=_sorted)
def sort(y, a, axis=-1, kind=None):
    order = np.argsort(a, axis=axis, kind="stable")
    y_dot = np.take_along_axis(a_dot, order, axis)
    a_bar = untake_along_axis(y_bar, a, order, axis)


@rule(np.sort_complex, kind=first)
def sort_complex(y, a):
    order = np.argsort(a, axis=-1, kind="stable")
    y_dot = np.take_along_axis(a_dot, order, -1)
    a_bar = untake_along_axis(y_bar, a, order, -1)


@rule(np.partition, kind=_sorted)
def partition(y, a, kth, axis=-1):
    order = partition_order(a, y, axis)
    y_dot = np.take_along_axis(a_dot, order, axis)
    a_bar = untake_along_axis(y_bar, a, order, axis)


@rule(np.unique, "numpy.unique_values", kind=array_of_rank(1, "?"))
def unique(y, ar):
    firsts = first_places(ar)
    y_dot = np.take(ar_dot, firsts)
    ar_bar = untake(y_bar, ar, firsts)
