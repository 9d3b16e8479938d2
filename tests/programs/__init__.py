"""Small real programs in plain NumPy style, and the table of all of them.

Two parts: "language" goes through the constructs of the language one by one; "inplace" holds
textbook programs of the sciences that write their arrays. Nothing but `checkpoints` imports
tangentlike.
"""

from __future__ import annotations

from dataclasses import replace

from . import (
    branches,
    broadcasting,
    calls,
    checkpoints,
    container_calls,
    containers_readonly,
    dataclasses_made,
    factorizations,
    function_values,
    grids,
    idioms,
    indexing,
    inplace,
    iterators,
    kept_functions,
    loops,
    made_objects,
    numbers,
    object_operators,
    objects,
    record_forms,
    records,
    recursion,
    signals,
    simulations,
    solvers,
    standard_containers,
    statements,
    straight_line,
    while_loops,
)
from .registry import Program

_LANGUAGE = (
    straight_line,
    branches,
    loops,
    while_loops,
    calls,
    function_values,
    checkpoints,
    recursion,
    indexing,
    inplace,
    iterators,
    kept_functions,
    numbers,
    broadcasting,
    containers_readonly,
    dataclasses_made,
    container_calls,
    standard_containers,
    made_objects,
    record_forms,
    records,
    object_operators,
    objects,
    statements,
    idioms,
)
_INPLACE = (factorizations, solvers, grids, simulations, signals)

PROGRAMS: tuple[Program, ...] = tuple(
    replace(program, theme=module.__name__.rpartition(".")[2], part=part)
    for part, modules in (("language", _LANGUAGE), ("inplace", _INPLACE))
    for module in modules
    for program in module.PROGRAMS
)
BY_NAME: dict[str, Program] = {program.name: program for program in PROGRAMS}

__all__ = ["BY_NAME", "PROGRAMS", "Program"]
