"""What may share memory and what is saved, for forty programs: a table that review sees change.

`python -m tests.behaviour tables` rewrites tests/behaviour_tables.txt. Each function of a program
has its lines: names whose memory may be one (`~`), those whose memory somebody writes (`!`), views
by the expression that they are, and the statements before which values are saved.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tangentlike import ir
from tangentlike.ad.reverse import functions as reverse_functions
from tangentlike.ad.reverse.functions import Primal
from tangentlike.analysis.aliases import Aliases
from tangentlike.analysis.saving import Recording, Saves
from tangentlike.codegen.print import show
from tangentlike.errors import UnsupportedError
from tangentlike.pipeline.builder import Builder
from tangentlike.pipeline.stages import Request, derive
from tests.programs import BY_NAME, Program

TABLE = Path(__file__).parent / "behaviour_tables.txt"

NAMES = (
    "loops.tanh_rnn",
    "loops.written_loop_variable",
    "loops.with_break",
    "while_loops.until_break",
    "calls.nested_calls",
    "recursion.de_casteljau",
    "indexing.moving_slice_bounds",
    "inplace.slice_store",
    "inplace.masked_store",
    "inplace.row_swap",
    "inplace.view_of_row",
    "inplace.out_argument",
    "inplace.gathered_store",
    "inplace.swapped_buffers",
    "inplace.overwritten_every_step",
    "inplace.copy_is_apart",
    "inplace.helper_writes",
    "inplace.diagonal_write",
    "inplace.list_items",
    "inplace.saved_before_write",
    "factorizations.lu_logdet",
    "factorizations.gram_schmidt",
    "factorizations.householder",
    "solvers.forward_substitution",
    "solvers.thomas",
    "solvers.conjugate_gradient",
    "grids.gauss_seidel_2d",
    "grids.burgers",
    "grids.wave_2d",
    "grids.red_black",
    "simulations.n_body",
    "simulations.spring_chain",
    "signals.recursive_filter",
    "signals.sparse_scatter",
    "signals.soft_dtw",
    "checkpoints.in_place_stencil",
    "container_calls.list_of_columns",
    "standard_containers.both_ends",
    "objects.account",
    "made_objects.orbit",
)


@contextlib.contextmanager
def watched() -> Iterator[tuple[list[Primal], list[tuple[Recording, Saves]]]]:
    """What is found out of each function while derivatives are made."""
    primals: list[Primal] = []
    recordings: list[tuple[Recording, Saves]] = []
    made: Callable[..., Any] = Builder._primal

    def primal(self: Builder, *args: Any, **kwargs: Any) -> Any:
        found = made(self, *args, **kwargs)
        primals.append(found[0])
        return found

    class Watched(Recording):
        def run(self) -> Saves:
            saves = super().run()
            recordings.append((self, saves))
            return saves

    Builder._primal = primal  # type: ignore[method-assign]
    reverse_functions.Recording = Watched  # type: ignore[misc]
    try:
        yield primals, recordings
    finally:
        Builder._primal = made  # type: ignore[method-assign]
        reverse_functions.Recording = Recording  # type: ignore[misc]


def rows(program: Program) -> list[str]:
    """The lines of the table about one program."""
    fn = program.fn
    names = tuple(fn.__code__.co_varnames[k] for k in program.wrt)
    with watched() as (primals, recordings):
        try:
            derive(fn, Request("grad", names, example=program.arguments()))
        except UnsupportedError as error:
            return [f"  refused: {error.message}"]
    found = []
    # (What callers do not read back makes a pair anew: the last time counts.)
    for primal in {id(primal.function): primal for primal in primals}.values():
        found += [f"  {primal.function.name}", *_shared(primal.aliases)]
        for recording, saves in reversed(recordings):
            if recording.facts.function is primal.function:
                found += _saved(recording, saves)
                break
    return found


def _shared(aliases: Aliases) -> Iterator[str]:
    """Names that may share memory, by class; views; what is found by its memory at run time."""
    members: dict[str, set[str]] = defaultdict(set)
    for name in aliases.classes:
        members[aliases.class_of(name)].add(name)
    for written in aliases.written:
        members[written].add(written)
    for shared, names in sorted(members.items(), key=lambda item: min(item[1])):
        if len(names) > 1 or shared in aliases.written:
            sort = "! written" if shared in aliases.written else "~ shared"
            yield f"    {sort}: {' '.join(sorted(names))}"
    for name, view in sorted(aliases.paths.items()):
        yield f"    = view: {name} = {show(view)}"


def _saved(recording: Recording, saves: Saves) -> Iterator[str]:
    """What is saved before which statement, and at which ends of blocks."""
    body = recording.facts.function.body
    entries: dict[int, list[str]] = defaultdict(list)
    for key, name in saves.stores:
        entries[key].append(f"entries of {name}")
    for stmt in ir.statements(body):
        place = recording.facts.number(stmt)
        saved = [*saves.overwrites.get(place, ()), *sorted(entries[place])]
        if saved:
            yield f"    < {', '.join(saved)}: {show((stmt,)).splitlines()[0]}"
    for number, names in enumerate(names for names in saves.pushed.values() if names):
        yield f"    < at the end of block {number}: {', '.join(names)}"


def text() -> str:
    """The whole table."""
    parts = [(name, *rows(BY_NAME[name])) for name in NAMES]
    return "\n".join(line for part in parts for line in part) + "\n"


def write() -> None:
    TABLE.write_text(text())
