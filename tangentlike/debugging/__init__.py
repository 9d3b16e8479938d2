"""Debugging by reading: which line a statement comes from, what values it had, where a NaN began.

`line_map` joins the lines of a derivative with the user's.
"""

from .linemap import LineMap, Statement, UserFunction, line_map

__all__ = ["LineMap", "Statement", "UserFunction", "line_map"]
