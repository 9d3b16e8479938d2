"""What the plans of tl.dask call: blocks of data, sums along a tree, and what runs in one task.

Sums are taken along a tree whose form depends on the number of chunks only: the order in which
tasks finish, the number of workers and lost workers do not change the order of the additions.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from dask.base import is_dask_collection
from dask.delayed import delayed

from ..errors import TangentlikeError
from ..pytree import leaves
from ..pytree.gradients import add, difference, like, zipped

__all__ = [
    "add",
    "along",
    "aux_of",
    "blocks",
    "chained",
    "checked",
    "chunks",
    "computed",
    "concatenated",
    "constant",
    "first",
    "groups",
    "joined",
    "like",
    "mean",
    "second",
    "stacked",
    "tree_combine",
    "tree_pullback",
    "tree_sum",
    "weighted",
    "with_aux",
    "without_aux",
]

FAN_IN = 8
_dask: Any = importlib.import_module("dask")  # (untyped, like its parts below)


# ----------------------------------------------------------------------------------- blocks


def constant(value: Any) -> Any:
    """An argument that all chunks see: one node of the plan, sent to a worker once."""
    return delayed(value) if is_dask_collection(value) else delayed(value, traverse=False)


def blocks(data: Any, name: str = "the data") -> list[Any]:
    """The blocks of a Dask array along its first axis, or of a list; none is computed here."""
    if hasattr(data, "to_delayed") and hasattr(data, "numblocks"):
        return _blocks_of_array(data, name)
    if isinstance(data, (list, tuple)):
        return [part if _is_lazy(part) else delayed(part, traverse=False) for part in data]
    raise TangentlikeError(
        f"{name} is not in chunks: it is a {type(data).__name__}",
        hint="Pass a Dask array, dask.array.from_array(x, chunks=(rows, -1)), or a list of blocks: "
        "arrays, futures, or the results of dask.delayed functions that load them.",
    )


def _is_lazy(part: Any) -> bool:
    return is_dask_collection(part) and hasattr(part, "key")


def _blocks_of_array(data: Any, name: str) -> list[Any]:
    if any(count > 1 for count in data.numblocks[1:]):
        raise TangentlikeError(
            f"{name} has chunks along several axes: {data.numblocks} blocks",
            hint=f"A chunk holds whole rows: {name}.rechunk({{axis: -1 for axis in "
            f"range(1, {data.ndim})}}).",
        )
    if not data.ndim:
        raise TangentlikeError(f"{name} has no axis to split", hint="Leave it out of over=.")
    return list(data.to_delayed(optimize_graph=False).ravel())


def chunks(**data: Any) -> list[tuple[Any, ...]]:
    """The chunks: for each the block of every argument that is gone over."""
    found = {name: blocks(value, f"`{name}`") for name, value in data.items()}
    counts = {name: len(parts) for name, parts in found.items()}
    if len(set(counts.values())) > 1 or not next(iter(counts.values())):
        said = ", ".join(f"`{name}` has {count}" for name, count in counts.items())
        raise TangentlikeError(
            f"the arguments in over= do not have the same blocks: {said}",
            hint="Rechunk one like the other: y.rechunk((x.chunks[0], *y.chunks[1:])).",
        )
    _require_equal_rows(data)
    return list(zip(*found.values(), strict=True))


def _require_equal_rows(data: Mapping[str, Any]) -> None:
    """Blocks that belong together have as many rows, where this is known beforehand."""
    rows = {n: v.chunks[0] for n, v in data.items() if hasattr(v, "numblocks")}
    first, *others = rows or [""]
    for other in others:
        pairs = zip_longest(rows[first], rows[other])
        if any(a != b for a, b in pairs if a == a and b == b):
            raise TangentlikeError(
                f"the blocks of `{first}` and `{other}` have different numbers of rows",
                hint=f"{other}.rechunk(({first}.chunks[0], *{other}.chunks[1:])) makes them equal.",
            )


def groups(size: int | None, **data: Any) -> list[tuple[Any, ...]]:
    """Members of a batch, as many in a group as `size` says: the blocks of Dask arrays, or pieces
    of arrays and lists, by default 64 of them."""
    if all(hasattr(value, "numblocks") for value in data.values()):
        return chunks(**data)
    for name, value in data.items():
        if hasattr(value, "numblocks") or not hasattr(value, "__len__") or isinstance(value, dict):
            raise TangentlikeError(
                f"`{name}` is a {type(value).__name__}, which is not cut into members",
                hint="Pass arrays or lists for all arguments in over=, or Dask arrays for all.",
            )
    counts = {name: len(value) for name, value in data.items()}
    count = next(iter(counts.values()))
    if not count or len(set(counts.values())) > 1:
        said = ", ".join(f"`{name}` has {count}" for name, count in counts.items())
        raise TangentlikeError(f"there must be as many members of each argument: {said}")
    step = size or -(-count // 64)
    starts = range(0, count, step)
    pieces = [[constant(v[k : k + step]) for k in starts] for v in data.values()]
    return list(zip(*pieces, strict=True))


# ------------------------------------------------------------------------------ running a plan


def computed(part: Any, scheduler: Any = None, progress: bool = False) -> Any:
    """Run the plan on the scheduler in use: that of `scheduler`, a distributed client, or Dask's
    configuration."""
    options = {} if scheduler is None else {"scheduler": scheduler}
    part = part if is_dask_collection(part) else delayed(part)
    if not progress:
        (found,) = _dask.compute(part, **options)
        return found
    client = _client() if scheduler is None else None
    if client is not None:
        future = client.compute(part)
        importlib.import_module("distributed").progress(future, notebook=False)
        return future.result()
    with importlib.import_module("dask.diagnostics").ProgressBar():
        (found,) = _dask.compute(part, **options)
    return found


def _client() -> Any:
    with contextlib.suppress(ImportError, ValueError):
        from distributed import get_client

        return get_client()
    return None


# ---------------------------------------------------------------------------------- the trees


def tree_sum(parts: Sequence[Any], fan_in: int = FAN_IN) -> Any:
    """The sum of all parts, at most `fan_in` of them at a time."""
    level = list(parts)
    while len(level) > 1:
        groups = [level[k : k + fan_in] for k in range(0, len(level), fan_in)]
        level = [delayed(add)(*group) if len(group) > 1 else group[0] for group in groups]
    return level[0]


def weighted(part: Any, block: Any) -> Any:
    """Value and gradient of a mean over a chunk, times its rows, and the number of these."""
    if not getattr(block, "shape", ()):
        raise TangentlikeError(
            f"a mean over rows received a block that is a {type(block).__name__} and has no rows",
            hint="Name first in over= what is an array in each chunk.",
        )
    rows = int(block.shape[0])
    if not rows:  # (a mean of nothing is not a number, and counts for nothing)
        return zipped(lambda x: None if x is None else np.zeros_like(x)[()], part), 0
    return zipped(lambda x: None if x is None else x * rows, part), rows


def mean(total: Any) -> Any:
    """The mean over all rows from the sum of what `weighted` gave."""
    part, rows = total
    return zipped(lambda x: None if x is None else _like(x, x / rows), part)


def _like(x: Any, found: Any) -> Any:
    return found.astype(x.dtype) if leaves.is_array(x) and found.dtype != x.dtype else found


def tree_combine(combine: Callable[..., Any], parts: Sequence[Any]) -> tuple[Any, list[list[Any]]]:
    """What the statistics of all chunks are combined to, in pairs, and the levels of the tree.

    Runs where it is called: the statistics of a chunk are few.

    >>> tree_combine(max, [1.0, 3.0, 2.0])
    (3.0, [[1.0, 3.0, 2.0], [3.0, 2.0], [3.0]])
    """
    levels = [list(parts)]
    while len(levels[-1]) > 1:
        level = levels[-1]
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        levels.append([combine(*pair) if len(pair) == 2 else pair[0] for pair in pairs])
    return levels[-1][0], levels


def tree_pullback(
    pullback: Callable[..., Any], levels: Sequence[Sequence[Any]], seed: Any
) -> list[Any]:
    """The adjoint of each part from that of what they were combined to, down the same tree."""
    bars = [seed]
    for level in reversed(levels[:-1]):
        below: list[Any] = []
        for k, bar in enumerate(bars):
            pair = level[2 * k : 2 * k + 2]
            below += pullback(bar, *pair)[1] if len(pair) == 2 else [bar]
        bars = below
    return bars


# ------------------------------------------------------------------------------- in one task


def aux_of(part: Any) -> Any:
    """The auxiliary result of a chunk."""
    return part[0][1]


def first(pair: Any) -> Any:
    """The statistics of a chunk, less its auxiliary result."""
    return pair[0]


def second(pair: Any) -> Any:
    """The auxiliary result beside the statistics of a chunk."""
    return pair[1]


def without_aux(part: Any) -> Any:
    """What a chunk gave, less its auxiliary result."""
    return part[0][0], part[1]


def with_aux(total: Any, aux: Any) -> Any:
    """Value with auxiliary result, and gradient."""
    value, bars = total
    return (value, aux), bars


def concatenated(parts: Sequence[Any]) -> Any:
    """The auxiliary results of all chunks, one below the other."""
    return joined(parts)


def chained(wrt: Sequence[str], head_bars: Mapping[str, Any], bars: Sequence[Any]) -> Any:
    """The gradient through the statistics, and what the head adds of its own."""
    found = [
        bar if head_bars.get(name) is None else add(bar, head_bars[name])
        for name, bar in zip(wrt, bars, strict=True)
    ]
    return found[0] if len(found) == 1 else tuple(found)


def stacked(results: Sequence[Any]) -> Any:
    """The results of several members as one, whose arrays have one axis more."""
    if not results:
        raise TangentlikeError("a block of the batch has no members", hint="Drop empty blocks.")
    return zipped(_stack, *results)


def _stack(*each: Any) -> Any:
    if all(item is None for item in each):
        return None
    _require_one_shape([np.shape(item) for item in each])
    return np.stack([np.asarray(item) for item in each])


def _require_one_shape(shapes: Sequence[tuple[int, ...]]) -> None:
    found = sorted(set(shapes))
    if len(found) > 1:
        raise TangentlikeError(
            f"results that are stacked have different shapes: {found[0]} and {found[1]}",
            hint="Members of one batch have arguments of the same shapes, auxiliary results too.",
        )


def joined(parts: Sequence[Any]) -> Any:
    """The results of all groups as one."""
    return zipped(_join, *parts)


def _join(*each: Any) -> Any:
    if all(item is None for item in each):
        return None
    _require_one_shape([np.shape(item)[1:] for item in each])
    return np.concatenate(each)


def along(stats_bar: Any, rows: Sequence[Any]) -> list[Any]:
    """The gradient from the adjoint of the statistics and the gradient of each number of them."""
    seeds = [
        number
        for _, leaf in leaves.leaves(stats_bar)
        for number in (leaf.ravel() if leaves.is_array(leaf) else [leaf])
    ]
    scaled = [
        zipped(lambda x, seed=seed: None if x is None else _like(x, x * seed), row)
        for seed, row in zip(seeds, rows, strict=True)
    ]
    return list(add(*scaled))


def checked(stats: Any, pulled: Any) -> Any:
    """The gradient that the second pass gave, if it saw the statistics of the first."""
    again, bars = pulled
    path = difference(stats, again)
    if path is not None:
        raise TangentlikeError(
            f"the statistics{path} differ between the first and the second pass over the data",
            hint="The blocks must be the same each time they are loaded: draw random data with "
            "a seed of each block, or keep them with .persist().",
        )
    return bars
