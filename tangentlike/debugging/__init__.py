"""Debugging by reading: which line a statement comes from, what values it had, where a NaN began.

`line_map` joins the lines of a derivative with the user's, `trace` says what each statement
computed, `find_nan` finds the operation at which a NaN begins, `explain` shows all of it on a page.
"""

from .causes import Cause
from .curves import Curve, Curves, Entry, step_curves
from .explaining import Report, explain
from .linemap import LineMap, Statement, UserFunction, line_map
from .nonfinite import Finding, NaNReport, find_nan
from .profiling import Profile, profile
from .stopping import Debugger, breakpoint_on_adjoint, step_into
from .tables import Growth, Series, Summary, summary_of
from .tracing import Row, Step, Trace, trace, tracing

__all__ = [
    "Cause",
    "Curve",
    "Curves",
    "Debugger",
    "Entry",
    "Finding",
    "Growth",
    "LineMap",
    "NaNReport",
    "Profile",
    "Report",
    "Row",
    "Series",
    "Statement",
    "Step",
    "Summary",
    "Trace",
    "UserFunction",
    "breakpoint_on_adjoint",
    "explain",
    "find_nan",
    "line_map",
    "profile",
    "step_curves",
    "step_into",
    "summary_of",
    "trace",
    "tracing",
]
