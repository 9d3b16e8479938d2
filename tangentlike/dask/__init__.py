"""Gradients over data in chunks, on the schedulers of Dask: threads, processes, many machines.

import tangentlike as tl

gradient = tl.dask.grad(loss, wrt="w", over=("x", "y"))
gradient(w, x, y)                           # x and y are Dask arrays, or lists of blocks
print(gradient.source)                      # the derivative of a chunk, and the plan around it

`tl.dask` is loaded when it is first named, and needs the package dask.
"""

from __future__ import annotations

try:
    import dask as _dask  # noqa: F401
except ImportError as error:
    raise ImportError(
        "tl.dask needs the package dask: install it with `pip install tangentlike[dask]`"
    ) from error

from .chunked import grad, value_and_grad
from .halo import map_overlap, overlap_vjp
from .members import map_grad, map_value_and_grad

__all__ = [
    "grad",
    "map_grad",
    "map_overlap",
    "map_value_and_grad",
    "overlap_vjp",
    "value_and_grad",
]
