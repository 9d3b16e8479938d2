"""Long sweeps: the gradient of many iterations of one step, with states in memory and on disk.

import tangentlike as tl

gradient = tl.sweep.grad(step, loss, to="run1", memory=20, disk=200)
state_bar, params_bar = gradient(state, params, 100_000)

A sweep that was stopped, by a kill or by a machine that went down, goes on where it was when it is
called again with the same arguments. `tl.sweep` is loaded when it is first named.
"""

from __future__ import annotations

from .driver import Sweep, grad, value_and_grad
from .journal import Report

__all__ = ["Report", "Sweep", "grad", "value_and_grad"]
