"""Stencils over blocks: each block is computed with the edges of its neighbours, and the adjoint of
such an edge is added to the block it came from."""

from __future__ import annotations

import copy
import importlib
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from dask.delayed import delayed

from ..errors import TangentlikeError
from ..frontend.primal import primal_of, wrt_names
from . import plans, pullbacks
from .pullbacks import Shipped

da: Any = importlib.import_module("dask.array")  # (untyped)
Index = tuple[int, ...]
_BOUNDARIES = ("periodic", "reflect", "nearest", "none")


def map_overlap(
    fn: Callable[..., Any], u: Any, *args: Any, depth: Any = 1, boundary: Any = "none"
) -> Any:
    """`fn(block with edges, *args)` for each block of the Dask array `u`, less the edges again.

    `fn` returns an array of the shape of what it is given. `depth` is how many entries of the
    neighbours a block gets along each axis (a number, or one for each axis in a dict); `boundary`
    says what stands outside of the array: "periodic", "reflect", "nearest", a number, or "none"
    (nothing), for all axes or for each in a dict. The result is a Dask array, not yet computed.

    >>> import dask.array as da, numpy as np, tangentlike as tl
    >>> def mean_of_neighbours(u):
    ...     return 0.5 * (np.roll(u, 1) + np.roll(u, -1))
    >>> u = da.from_array(np.array([1.0, 2.0, 4.0, 8.0]), chunks=2)
    >>> tl.dask.map_overlap(mean_of_neighbours, u, boundary="periodic").compute()
    array([5. , 2.5, 5. , 2.5])
    """
    grid = _Grid(u, depth, boundary)
    given = [plans.constant(arg) for arg in args]
    task = delayed(Shipped(trimmed, fn))
    blocks = {
        at: task(grid.pads(at), block, *given) for at, block in _blocks(grid.extended).items()
    }
    return grid.assembled(blocks, u.dtype)


def overlap_vjp(
    fn: Callable[..., Any],
    u: Any,
    *args: Any,
    wrt: Any = 0,
    depth: Any = 1,
    boundary: Any = "none",
) -> tuple[Any, Callable[[Any], Any]]:
    """The value of `map_overlap` and its pullback, both to be computed when they are asked for.

    `pullback(y_bar)` takes the adjoint of the value as a Dask array, or an array, and gives that of
    `u`, a Dask array; with a tuple for `wrt` (positions or names) a tuple, in which the adjoints of
    `args` are Delayed sums over the blocks. A block is computed again where it is pulled back, so
    that nothing is kept in between.
    """
    primal = primal_of(fn)
    names, single = wrt_names(primal, wrt)
    grid, first = _Grid(u, depth, boundary), primal.free_names[0]
    value = map_overlap(fn, u, *args, depth=depth, boundary=boundary)
    shipped = Shipped(pulled_back, fn, wrt=names)
    _ = shipped.made  # (a refusal comes where the request is made)

    def pullback(y_bar: Any) -> Any:
        seeds = _blocks(_seed(y_bar, u))
        given = [plans.constant(arg) for arg in args]
        task = delayed(shipped)
        bars = {
            at: task(grid.pads(at), seeds[at], block, *given)
            for at, block in _blocks(grid.extended).items()
        }
        found = []
        for place, name in enumerate(names):
            parts = {at: bar[place] for at, bar in bars.items()}
            if name == first:
                found.append(grid.assembled(grid.gathered(parts), u.dtype))
            else:
                found.append(plans.tree_sum(list(parts.values())))
        return found[0] if single else tuple(found)

    return value, pullback


def trimmed(fn: Any) -> Callable[..., Any]:
    """`fn`, with the edges taken off its result."""

    def of_block(pads: Any, block: Any, *args: Any) -> Any:
        value = fn(*copy.deepcopy((block, *args)))  # (which `fn` may write)
        return _without_edges(_of_same_shape(value, block), pads)

    return of_block


def pulled_back(fn: Any, wrt: tuple[str, ...]) -> Callable[..., Any]:
    """The pullback of `trimmed(fn)`: adjoints of a block with its edges, and of the arguments."""
    pullback = pullbacks.pullback(fn, wrt)

    def of_block(pads: Any, y_bar: Any, block: Any, *args: Any) -> Any:
        seed = np.pad(np.asarray(y_bar, dtype=block.dtype), pads)
        value, bars = pullback(seed, block, *args)
        _of_same_shape(value, block)
        return bars

    of_block.__dict__["source"] = getattr(pullback, "source", "")
    return of_block


def _of_same_shape(value: Any, block: Any) -> Any:
    if np.shape(value) != block.shape:
        raise TangentlikeError(
            f"a stencil made an array of shape {np.shape(value)} of a block of shape {block.shape}",
            hint="Return an array of the shape of the block with its edges; these are taken off.",
        )
    return value


def _without_edges(block: Any, pads: Any) -> Any:
    inside = tuple(
        slice(low, size - high) for (low, high), size in zip(pads, block.shape, strict=True)
    )
    return block[inside]


def _seed(y_bar: Any, u: Any) -> Any:
    if np.shape(y_bar) != u.shape:
        raise TangentlikeError(
            f"the adjoint of a value of shape {u.shape} has shape {np.shape(y_bar)}"
        )
    if isinstance(y_bar, da.Array):
        return y_bar.rechunk(u.chunks)
    return da.from_array(np.asarray(y_bar), chunks=u.chunks)


def _blocks(array: Any) -> dict[Index, Any]:
    """The blocks of a Dask array, by their places."""
    parts = array.to_delayed(optimize_graph=False)
    return {at: parts[at] for at in itertools.product(*map(range, parts.shape))}


class _Grid:
    """The blocks of an array, and what each of them gets of the others."""

    def __init__(self, u: Any, depth: Any, boundary: Any) -> None:
        if not isinstance(u, da.Array):
            raise TangentlikeError(
                f"a stencil over blocks takes a Dask array, not a {type(u).__name__}",
                hint="dask.array.from_array(u, chunks=...) makes one of an array.",
            )
        self.chunks, self.counts = u.chunks, u.numblocks
        self.depth = [_of_axis(depth, axis, 0, "depth") for axis in range(u.ndim)]
        self.boundary = [_of_axis(boundary, axis, "none", "boundary") for axis in range(u.ndim)]
        self._check()
        depths, edges = dict(enumerate(self.depth)), dict(enumerate(self.boundary))
        self.extended = da.overlap.overlap(u, depth=depths, boundary=edges, allow_rechunk=False)

    def _check(self) -> None:
        for axis, (depth, edge) in enumerate(zip(self.depth, self.boundary, strict=True)):
            if not isinstance(depth, (int, np.integer)) or depth < 0:
                raise TangentlikeError(f"depth={depth!r} of axis {axis} is not a number of entries")
            if isinstance(edge, str) and edge not in _BOUNDARIES:
                listed = ", ".join(map(repr, _BOUNDARIES))
                raise TangentlikeError(
                    f"there is no boundary {edge!r}", hint=f"Pass {listed}, or a number."
                )
            if min(self.chunks[axis]) < depth:
                raise TangentlikeError(
                    f"a chunk of {min(self.chunks[axis])} along axis {axis} is smaller than the "
                    f"depth, {depth}",
                    hint="Rechunk the array: a block needs the edges of its next neighbours only.",
                )

    def pads(self, at: Index) -> list[tuple[int, int]]:
        """How many entries of others a block has before and after its own, along each axis."""
        return [
            (
                depth if k > 0 or edge != "none" else 0,
                depth if k < count - 1 or edge != "none" else 0,
            )
            for k, count, depth, edge in zip(
                at, self.counts, self.depth, self.boundary, strict=True
            )
        ]

    def gathered(self, bars: dict[Index, Any]) -> dict[Index, Any]:
        """The adjoints of blocks from those of blocks with edges: axis by axis, the last first."""
        for axis in reversed(range(len(self.counts))):
            if self.depth[axis]:
                bars = self._gathered(bars, axis)
        return bars

    def _gathered(self, bars: dict[Index, Any], axis: int) -> dict[Index, Any]:
        count, edge = self.counts[axis], self.boundary[axis]
        pads = {at: self.pads(at)[axis] for at in bars}
        edges = {
            (at, side): delayed(_edge)(bar, axis, pads[at], side)
            for at, bar in bars.items()
            for side in (0, 1)
        }

        def neighbour(at: Index, step: int) -> Index | None:
            k = at[axis] + step
            if not 0 <= k < count:
                if edge != "periodic":
                    return None
                k %= count
            return (*at[:axis], k, *at[axis + 1 :])

        found = {}
        for at, bar in bars.items():
            before, after = neighbour(at, -1), neighbour(at, 1)
            came = (
                edges[before, 1] if before is not None else _folded(edge, edges[at, 0], axis),
                edges[after, 0] if after is not None else _folded(edge, edges[at, 1], axis),
            )
            found[at] = delayed(_accumulated)(bar, axis, pads[at], *came)
        return found

    def assembled(self, blocks: Mapping[Index, Any], dtype: Any) -> Any:
        """The Dask array of these blocks."""

        def below(at: Index) -> Any:
            axis = len(at)
            if axis == len(self.counts):
                shape = tuple(sizes[k] for sizes, k in zip(self.chunks, at, strict=True))
                return da.from_delayed(blocks[at], shape, dtype=dtype)
            return [below((*at, k)) for k in range(self.counts[axis])]

        return da.block(below(()))


def _of_axis(given: Any, axis: int, missing: Any, what: str) -> Any:
    if isinstance(given, dict):
        return given.get(axis, missing)
    if isinstance(given, (tuple, list)):
        if axis >= len(given):
            raise TangentlikeError(f"{what}={given!r} has no entry for axis {axis}")
        return given[axis]
    return given


def _edge(bar: Any, axis: int, pads: tuple[int, int], side: int) -> Any:
    """The adjoint of the entries that a block has of the neighbour on one side."""
    size = bar.shape[axis]
    return bar[_along(axis, 0, pads[0]) if side == 0 else _along(axis, size - pads[1], size)]


def _folded(edge: Any, part: Any, axis: int) -> Any:
    """What of an edge outside of the array belongs to the block itself, in its order."""
    if edge == "reflect":
        return delayed(np.flip)(part, axis)
    if edge == "nearest":
        return delayed(np.sum)(part, axis=axis, keepdims=True)
    return None


def _accumulated(bar: Any, axis: int, pads: tuple[int, int], before: Any, after: Any) -> Any:
    """The adjoint of a block: its own, and what its neighbours have of its two ends."""
    found = bar[_along(axis, pads[0], bar.shape[axis] - pads[1])].copy()
    if before is not None:
        found[_along(axis, 0, before.shape[axis])] += before
    if after is not None:
        found[_along(axis, found.shape[axis] - after.shape[axis], found.shape[axis])] += after
    return found


def _along(axis: int, start: int, stop: int) -> tuple[slice, ...]:
    """The key of a part of an array between two places of an axis."""
    return (slice(None),) * axis + (slice(start, stop),)
