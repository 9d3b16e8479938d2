"""From a live function to the IR: its source found, its names resolved, its statements lowered.

The steps, each in a file of its own: find the source (`source`), read it as nested IR
(`functions`, `statements`, `expressions`), then small passes to the normal form.
"""

from __future__ import annotations

from .expressions import expression
from .functions import program, read_function
from .resolve import Scope

read_block = program

__all__ = ["Scope", "expression", "program", "read_block", "read_function"]
