"""The lists that stand for the iterators of `itertools`, as programs that are differentiated.

Each fills the list that the function of the same name in `runtime/iterators.py` makes.
"""

from __future__ import annotations

import bisect
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from ..runtime import first_items, product_places, require_no_dicts, run_bounds
from ..runtime.records import attribute_of


def chain_items(*iterables):
    require_no_dicts(iterables)
    items = []
    for iterable in iterables:
        for item in iterable:
            items.append(item)
    return items


def flattened_items(iterables):
    require_no_dicts(iterables)
    items = []
    for iterable in iterables:
        for item in iterable:
            items.append(item)
    return items


def running_sums(iterable, initial=None):
    totals = []
    if initial is not None:
        totals.append(initial)
    for item in iterable:
        if len(totals) > 0:
            totals.append(totals[-1] + item)
        else:
            totals.append(item)
    return totals


def accumulate_items(iterable, function, initial=None):
    totals = []
    if initial is not None:
        totals.append(initial)
    for item in iterable:
        if len(totals) > 0:
            totals.append(function(totals[-1], item))
        else:
            totals.append(item)
    return totals


def product_items(*iterables, repeat=1):
    require_no_dicts(iterables)
    pools = [list(iterable) for _ in range(repeat) for iterable in iterables]
    rows = []
    for row in product_places(pools):
        rows.append(tuple([pool[i] for pool, i in zip(pools, row)]))  # noqa: B905
    return rows


def combination_items(iterable, r):
    items = list(iterable)
    rows = []
    for row in list(itertools.combinations(range(len(items)), r)):
        rows.append(tuple([items[i] for i in row]))
    return rows


def combinations_again(iterable, r):
    items = list(iterable)
    rows = []
    for row in list(itertools.combinations_with_replacement(range(len(items)), r)):
        rows.append(tuple([items[i] for i in row]))
    return rows


def permutation_items(iterable, r=None):
    items = list(iterable)
    rows = []
    for row in list(itertools.permutations(range(len(items)), r)):
        rows.append(tuple([items[i] for i in row]))
    return rows


def pairwise_items(iterable):
    items = list(iterable)
    pairs = []
    for i in range(len(items) - 1):
        pairs.append((items[i], items[i + 1]))
    return pairs


def slice_items(iterable, *bounds):
    part = slice(*bounds)
    items = first_items(iterable, part.stop)
    return items[part]


def longest_items(*iterables, fillvalue=None):
    require_no_dicts(iterables)
    pools = [list(iterable) for iterable in iterables]
    rows = []
    for i in range(max([len(pool) for pool in pools])):
        rows.append(tuple([pool[i] if i < len(pool) else fillvalue for pool in pools]))
    return rows


def compress_items(data, selectors):
    items = []
    for item, selected in zip(data, selectors):  # noqa: B905
        if selected:
            items.append(item)
    return items


def takewhile_items(predicate, iterable):
    items = []
    for item in iterable:
        if not predicate(item):
            break
        items.append(item)
    return items


def dropwhile_items(predicate, iterable):
    items = []
    started = False
    for item in iterable:
        if started or not predicate(item):
            started = True
            items.append(item)
    return items


def group_items(iterable, key):
    items = list(iterable)
    names = [key(item) for item in items]
    return [(names[start], items[start:end]) for start, end in run_bounds(names)]


def equal_items(iterable):
    items = list(iterable)
    return [(items[start], items[start:end]) for start, end in run_bounds(items)]


def repeated_item(item, times):
    return [item] * times


def count_beside(others, start=0, step=1):
    items = []
    for i in range(len(others)):
        items.append(start + i * step)
    return items


def cycle_beside(others, iterable):
    pool = list(iterable)
    items = []
    for i in range(len(others)):
        items.append(pool[i % len(pool)])
    return items


def repeat_beside(others, item):
    return [item] * len(others)


_BY_CODE = {program.__code__: program for program in vars().values() if inspect.isfunction(program)}


def program_of(obj: Any) -> Callable[..., Any] | None:
    """The program that a function is, or is a variant of (for some number of arguments)."""
    return _BY_CODE.get(attribute_of(obj, "__code__", None))


# --------------------------------------------------------------------------------------------------
# The functions of `heapq` as programs: Python's own are written in C.
#
# A heap is a list in which no item is less than the one at `(place - 1) // 2`. Where several lists
# would do, these give the one that Python gives (its `Lib/heapq.py` describes the order: the gap at
# the top is filled by the lesser child down to the end, and what goes there then moves up).


def heappush(heap, item):
    heap.append(item)
    _move_up(heap, 0, len(heap) - 1)


def heappop(heap):
    last = heap.pop()
    if len(heap) == 0:
        return last
    least = heap[0]
    heap[0] = last
    _move_down(heap, 0)
    return least


def heapreplace(heap, item):
    least = heap[0]
    heap[0] = item
    _move_down(heap, 0)
    return least


def heappushpop(heap, item):
    if len(heap) > 0 and heap[0] < item:
        least = heap[0]
        heap[0] = item
        _move_down(heap, 0)
        return least
    return item


def heapify(x):
    for place in reversed(range(len(x) // 2)):
        _move_down(x, place)


def nlargest(n, iterable, key=None):
    if key is None:
        return sorted(iterable, reverse=True)[:n]
    return sorted(iterable, key=key, reverse=True)[:n]


def nsmallest(n, iterable, key=None):
    if key is None:
        return sorted(iterable)[:n]
    return sorted(iterable, key=key)[:n]


# Those of `bisect` that write.


def insort_left(a, x, lo=0, hi=None, *, key=None):
    if key is None:
        place = bisect.bisect_left(a, x, lo, hi)
    else:
        place = bisect.bisect_left([key(item) for item in a], key(x), lo, hi)
    a.insert(place, x)


def insort_right(a, x, lo=0, hi=None, *, key=None):
    if key is None:
        place = bisect.bisect_right(a, x, lo, hi)
    else:
        place = bisect.bisect_right([key(item) for item in a], key(x), lo, hi)
    a.insert(place, x)


def _move_up(heap, top, place):
    item = heap[place]
    while place > top:
        above = (place - 1) // 2
        if not item < heap[above]:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = item


def _move_down(heap, place):
    top, item = place, heap[place]
    child = 2 * place + 1
    while child < len(heap):
        if child + 1 < len(heap) and not heap[child] < heap[child + 1]:
            child = child + 1
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = item
    _move_up(heap, top, place)
