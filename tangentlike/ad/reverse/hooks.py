"""Adjoint hooks, once the sweep has called them.

before::                                  after::
    # primal                                  # primal
    h = tl.on_adjoint(np.sin(x), clip)        h = np.sin(x)
    # adjoint                                 # adjoint
    h_bar = hooked(h_bar, clip)               h_bar = hooked(h_bar, clip)

A hook belongs to the derivative that is made of the function it stands in. Left in the primal, it
would be called once more where that derivative is differentiated in reverse mode.
"""

from __future__ import annotations

from collections.abc import Collection

from ... import ir
from ...runtime import on_adjoint


def without_hooks(block: ir.Block, active: Collection[str]) -> ir.Block:
    """The statements of a primal whose adjoints have been hooked."""

    def plain(stmt: ir.Stmt) -> ir.Stmt | None:
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(obj=obj), args=(x, *_))):
                if obj is on_adjoint and name in active:
                    return ir.Assign(name, x, stmt.origin)
        return None

    return ir.rewrite(block, plain)
