"""Derivatives that Numba compiles: what `target="numba"` emits, and what it needs when it runs.

`lowering` rewrites the functions of a derivative into what Numba's nopython mode takes;
`functions` has compiled forms of what it lacks, and of the helpers of `tangentlike.runtime`;
`compiling` is the decorator `@compiled` that stands above the emitted functions.

Only this package imports Numba, and only where a derivative for it is asked for.
"""

from .compiling import compiled

__all__ = ["compiled"]
