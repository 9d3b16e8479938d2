"""What the iterators of `itertools` give, as lists: a loop may then be run backwards.

The derivatives are those of the programs of the same names in `rules/iterators.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any

from .records import SEQUENCES, is_array
from .statements import written_for


def chain_items(*iterables: Iterable[Any]) -> list[Any]:
    """All items, those of the first first.

    >>> chain_items([1, 2], (3,))
    [1, 2, 3]
    """
    return list(itertools.chain(*iterables))


def flattened_items(iterables: Iterable[Iterable[Any]]) -> list[Any]:
    """The same for one iterable of all of them.

    >>> flattened_items([[1, 2], (3,)])
    [1, 2, 3]
    """
    return list(itertools.chain.from_iterable(iterables))


def running_sums(iterable: Iterable[Any], initial: Any = None) -> list[Any]:
    """The sums of the first item, the first two, ...

    >>> running_sums([1, 2, 3]), running_sums([1, 2], initial=5)
    ([1, 3, 6], [5, 6, 8])
    """
    return list(itertools.accumulate(iterable, initial=initial))


def accumulate_items(
    iterable: Iterable[Any], function: Callable[[Any, Any], Any], initial: Any = None
) -> list[Any]:
    """The same with another function than the sum.

    >>> accumulate_items([2, 3, 4], lambda a, b: a * b)
    [2, 6, 24]
    """
    return list(itertools.accumulate(iterable, function, initial=initial))


def group_items(iterable: Iterable[Any], key: Callable[[Any], Any]) -> list[tuple[Any, list[Any]]]:
    """Each run of items with the same key, with that key.

    >>> group_items([1, 3, 2, 5], lambda n: n % 2)
    [(1, [1, 3]), (0, [2]), (1, [5])]
    """
    return [(name, list(group)) for name, group in itertools.groupby(iterable, key)]


def equal_items(iterable: Iterable[Any]) -> list[tuple[Any, list[Any]]]:
    """The same where each item is its own key.

    >>> equal_items([1, 1, 2])
    [(1, [1, 1]), (2, [2])]
    """
    return [(name, list(group)) for name, group in itertools.groupby(iterable)]


def run_bounds(names: list[Any]) -> list[tuple[int, int]]:
    """Where each run of equal items starts and ends.

    >>> run_bounds([1, 1, 0, 1])
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = list(itertools.accumulate(len(list(group)) for _, group in itertools.groupby(names)))
    return list(zip([0, *ends], ends, strict=False))


def product_places(pools: Sequence[Sequence[Any]]) -> list[tuple[int, ...]]:
    """Where the items of each row of a product stand in what it is of.

    >>> product_places([[1.0, 2.0], [3.0]])
    [(0, 0), (1, 0)]
    """
    return list(itertools.product(*[range(len(pool)) for pool in pools]))


def product_items(*iterables: Iterable[Any], repeat: int = 1) -> list[tuple[Any, ...]]:
    """Each item of the first with each of the second, ...

    >>> product_items([1, 2], [3, 4])
    [(1, 3), (1, 4), (2, 3), (2, 4)]
    """
    return list(itertools.product(*iterables, repeat=repeat))


def combination_items(iterable: Iterable[Any], r: int) -> list[tuple[Any, ...]]:
    """The selections of `r` items in their order.

    >>> combination_items([1, 2, 3], 2)
    [(1, 2), (1, 3), (2, 3)]
    """
    return list(itertools.combinations(iterable, r))


def combinations_again(iterable: Iterable[Any], r: int) -> list[tuple[Any, ...]]:
    """The same, where an item may come again.

    >>> combinations_again([1, 2], 2)
    [(1, 1), (1, 2), (2, 2)]
    """
    return list(itertools.combinations_with_replacement(iterable, r))


def permutation_items(iterable: Iterable[Any], r: int | None = None) -> list[tuple[Any, ...]]:
    """The selections of `r` items in every order.

    >>> permutation_items([1, 2, 3], 1)
    [(1,), (2,), (3,)]
    """
    return list(itertools.permutations(iterable, r))


def pairwise_items(iterable: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Each item with the next one.

    >>> pairwise_items([1, 2, 3])
    [(1, 2), (2, 3)]
    """
    return list(itertools.pairwise(iterable))


def slice_items(iterable: Iterable[Any], *bounds: int | None) -> list[Any]:
    """The items of a slice.

    >>> slice_items([1, 2, 3, 4], 1, None, 2)
    [2, 4]
    """
    return list(itertools.islice(iterable, *bounds))


def first_items(x: Any, count: int | None) -> list[Any]:
    """The items of `x`; of an iterator the first `count`, which leaves the others.

    >>> rest = iter([1, 2, 3])
    >>> first_items(rest, 1), list(rest), first_items([1, 2], 1)
    ([1], [2, 3], [1, 2])
    """
    return list(itertools.islice(x, count) if isinstance(x, Iterator) else x)


def longest_items(*iterables: Iterable[Any], fillvalue: Any = None) -> list[tuple[Any, ...]]:
    """The items side by side, to the end of the longest.

    >>> longest_items([1, 2], [3], fillvalue=0)
    [(1, 3), (2, 0)]
    """
    return list(itertools.zip_longest(*iterables, fillvalue=fillvalue))


def compress_items(data: Iterable[Any], selectors: Iterable[Any]) -> list[Any]:
    """The items whose selector is true.

    >>> compress_items([1, 2, 3], [True, False, True])
    [1, 3]
    """
    return list(itertools.compress(data, selectors))


def takewhile_items(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> list[Any]:
    """The items before the first that fails a test.

    >>> takewhile_items(lambda v: v < 3, [1, 2, 3, 1])
    [1, 2]
    """
    return list(itertools.takewhile(predicate, iterable))


def dropwhile_items(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> list[Any]:
    """The items from the first on that fails a test.

    >>> dropwhile_items(lambda v: v < 3, [1, 2, 3, 1])
    [3, 1]
    """
    return list(itertools.dropwhile(predicate, iterable))


def repeated_item(item: Any, times: int) -> list[Any]:
    """One item several times.

    >>> repeated_item(1.5, times=2)
    [1.5, 1.5]
    """
    return list(itertools.repeat(item, times))


# Endless iterators: as many items as there are of what a loop goes through beside them.


def count_beside(others: Sized, start: Any = 0, step: Any = 1) -> list[Any]:
    """`itertools.count`, ended.

    >>> count_beside("abc", 1)
    [1, 2, 3]
    """
    return list(itertools.islice(itertools.count(start, step), len(others)))


def cycle_beside(others: Sized, iterable: Iterable[Any]) -> list[Any]:
    """`itertools.cycle`, ended.

    >>> cycle_beside("abc", [1, 2])
    [1, 2, 1]
    """
    return list(itertools.islice(itertools.cycle(iterable), len(others)))


def repeat_beside(others: Sized, item: Any) -> list[Any]:
    """`itertools.repeat`, ended.

    >>> repeat_beside("abc", 1)
    [1, 1, 1]
    """
    return [item] * len(others)


class Replayed:
    """What a loop goes through, for another loop to go through the same.

    The first loop takes the items of `source` one by one, as it would without this; each later
    one, and an index, finds those that were taken. (Where no loop came first, all are.)

    >>> twice = Replayed(iter("ab"))
    >>> list(twice), list(twice), list(reversed(twice))
    (['a', 'b'], ['a', 'b'], ['b', 'a'])
    """

    __slots__ = ("_begun", "_items", "_source")

    def __init__(self, source: Iterable[Any]) -> None:
        self._source = source
        self._items: list[Any] = []
        self._begun = False

    def __iter__(self) -> Iterator[Any]:
        if self._begun:
            return iter(self._items)
        self._begun = True
        return self._taken()

    def _taken(self) -> Iterator[Any]:
        for item in self._source:
            self._items.append(item)
            yield item

    def _taken_before(self) -> list[Any]:
        if not self._begun:
            self._begun, self._items = True, list(self._source)
        return self._items

    def __len__(self) -> int:
        return len(self._taken_before())

    def __getitem__(self, index: Any) -> Any:
        return self._taken_before()[index]


# (A subclass may go through its items in another way.)
_BY_PLACE = frozenset(cls.__iter__ for cls in (*SEQUENCES, range, str, Replayed))


def has_items_by_place(x: Any) -> bool:
    """Whether going through `x` gives its items by their places, as often as one likes.

    >>> has_items_by_place([1.0]), has_items_by_place(iter([1.0])), has_items_by_place({1.0})
    (True, False, False)
    """
    return getattr(type(x), "__iter__", None) in _BY_PLACE or is_array(x)


def repeatable(x: Any, asked: bool = False) -> Any:
    """What two loops can go through where one goes through `x`: an iterator has nothing left after
    the first, and what else is no sequence may give other items to the second.

    Raises `TypeError` for an iterator that is `asked` for something else, too: what that says
    depends on how many items were taken.

    >>> repeatable([1.0, 2.0]), list(repeatable(iter("ab")))
    ([1.0, 2.0], ['a', 'b'])
    """
    if has_items_by_place(x):
        return x
    if asked and isinstance(x, Iterator):
        raise TypeError(
            f"a loop runs through a {type(x).__name__}, which is used beside that: make a list of "
            "its items first"
        )
    return Replayed(x)


def require_no_dict(x: Any) -> None:
    """Check that the items of `x` are not the keys of a dict, where its derivative has values.

    Raises `TypeError` otherwise.
    """
    if isinstance(x, dict):
        raise written_for("a list or an array", x)


def require_again(x: Any) -> None:
    """Check that what gives its items more than once is no iterator, which has none left then.

    Raises `TypeError` otherwise.
    """
    if isinstance(x, Iterator):
        raise TypeError(
            "the items of an iterator are taken once more: make a list of them, and use that"
        )


def require_no_dicts(iterables: Iterable[Any]) -> None:
    """Check that nothing is gone through by its keys, where the derivative goes through values.

    Raises `TypeError` otherwise.
    """
    if any(isinstance(iterable, dict) for iterable in iterables):
        raise TypeError("a dict is passed to a function of itertools: write list(d) for its keys")
