"""Debugging by reading: which line a statement comes from, what values it had, where a NaN began.

`line_map` joins the lines of a derivative with the user's, `trace` says what each statement
computed.
"""

from .linemap import LineMap, Statement, UserFunction, line_map
from .summary import Summary, summary_of
from .tracing import Row, Step, Trace, trace, tracing

__all__ = [
    "LineMap",
    "Row",
    "Statement",
    "Step",
    "Summary",
    "Trace",
    "UserFunction",
    "line_map",
    "summary_of",
    "trace",
    "tracing",
]
