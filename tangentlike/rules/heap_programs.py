"""The functions of `heapq` as programs: Python's own are written in C.

A heap is a list in which no item is less than the one at `(place - 1) // 2`. Where several lists
would do, these give the one that Python gives (its `Lib/heapq.py` describes the order: the gap at
the top is filled by the lesser child down to the end, and what goes there then moves up).
"""

from __future__ import annotations

from typing import Any


def heappush(heap: Any, item: Any) -> None:
    heap.append(item)
    _move_up(heap, 0, len(heap) - 1)


def heappop(heap: Any) -> Any:
    last = heap.pop()
    if len(heap) == 0:
        return last
    least = heap[0]
    heap[0] = last
    _move_down(heap, 0)
    return least


def heapreplace(heap: Any, item: Any) -> Any:
    least = heap[0]
    heap[0] = item
    _move_down(heap, 0)
    return least


def heappushpop(heap: Any, item: Any) -> Any:
    if len(heap) > 0 and heap[0] < item:
        least = heap[0]
        heap[0] = item
        _move_down(heap, 0)
        return least
    return item


def heapify(x: Any) -> None:
    for place in reversed(range(len(x) // 2)):
        _move_down(x, place)


def nlargest(n: Any, iterable: Any, key: Any = None) -> Any:
    if key is None:
        return sorted(iterable, reverse=True)[:n]
    return sorted(iterable, key=key, reverse=True)[:n]


def nsmallest(n: Any, iterable: Any, key: Any = None) -> Any:
    if key is None:
        return sorted(iterable)[:n]
    return sorted(iterable, key=key)[:n]


def _move_up(heap: Any, top: Any, place: Any) -> None:
    item = heap[place]
    while place > top:
        above = (place - 1) // 2
        if not item < heap[above]:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = item


def _move_down(heap: Any, place: Any) -> None:
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
