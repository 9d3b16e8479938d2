"""Passes that turn a derived program into one that a person would have written.

Each pass is a function from a program and facts to a program, in a file of its own; they run in
the order below until nothing changes (at most a few rounds). None of them knows which mode made the
program, and none changes what it means: in-place writes, aliases and the order of effects stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ... import ir
from ...ir.facts import Facts as Manager
from .accumulate import (
    absorb_reductions,
    accumulate_in_place,
    gather_contributions,
    merge_contributions,
)
from .analyses import (
    ADDITION,
    BRANCH,
    COPIED,
    COPY,
    NEW_LIST,
    OWN,
    READ,
    REDUCTION,
    TAKEN,
    Analyses,
    preserved,
)
from .coalesce import coalesce_names, name_after_users, of_statements
from .dead import remove_dead_code, tidy_branches
from .facts import Facts, about_derivatives
from .fold import fold_algebra, write_out_compositions
from .items import items_apart, items_put
from .nest import nest_single_uses, repeat_short_reads
from .propagate import delay_restores, propagate_copies, remove_needless_copies
from .repeated import share_values
from .shapes import drop_real_parts
from .stacks import keep_invariants, remove_unread_stacks
from .updates import keep_entries, restore_updates, take_entries

__all__ = ["PASSES", "Facts", "simplified", "simplify"]

Pass = Callable[[ir.Function, Facts], ir.Function]
# Each with the forms of statements that it needs, all of them; none: it always runs.
PASSES: tuple[tuple[Pass, int], ...] = (
    (name_after_users, COPY),
    (propagate_copies, COPY),
    (fold_algebra, 0),
    (remove_dead_code, 0),
    (remove_unread_stacks, NEW_LIST),
    (delay_restores, COPY),
    (merge_contributions, ADDITION),
    (take_entries, TAKEN),
    (keep_entries, OWN),
    (absorb_reductions, REDUCTION),
    (remove_needless_copies, COPIED),
    (tidy_branches, BRANCH),
    (share_values, 0),
    (nest_single_uses, 0),
    (repeat_short_reads, READ),
)
_FINISHING: tuple[Pass, ...] = (accumulate_in_place, restore_updates)
_ROUNDS = 4


def simplify(function: ir.Function, facts: Facts) -> ir.Function:
    """The same program, as a person would write it.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program("y_bar = 1.0; p_bar = y_bar * r; w_bar = p_bar * 2.0; return w_bar"))
    >>> print(show(simplify(f, Facts()).body))
    w_bar = 2.0 * r
    return w_bar
    """
    return simplified(function, facts)[0]


def simplified(function: ir.Function, facts: Facts) -> tuple[ir.Function, Facts]:
    """The same, and what is known of the program by the names that it has then."""
    function = ir.distinct(function)
    facts = replace(about_derivatives(function, facts), cache={}, manager=Manager())
    function, facts = items_apart(items_put(function, facts), facts)
    asked = [facts]
    try:
        made = _simplified(function, facts, asked)
        # (What comes after asks the same of the same statements.)
        return made, replace(asked[-1], cache=of_statements(asked[-1]), manager=Manager())
    finally:
        for each in asked:
            each.forget()


def _simplified(function: ir.Function, facts: Facts, asked: list[Facts]) -> ir.Function:
    """The same; `asked` are the facts that are not needed afterwards."""
    function = drop_real_parts(write_out_compositions(function, facts), facts)
    function = _rounds(function, facts)
    function, facts = coalesce_names(function, facts)
    asked.append(facts)
    nested = function
    if not facts.by_identity and Analyses(function, facts).patterns & ADDITION:
        nested = gather_contributions(function, facts)
    nested = nest_single_uses(nested, facts)  # the user's names are shorter: more fits a line
    if nested is not function:
        function = _rounds(nested, facts)
    if Analyses(function, facts).patterns & OWN:
        for finish in _FINISHING:
            function = finish(function, facts)
    kept = keep_invariants(function, facts)
    if kept is not function and Analyses(kept, facts).patterns & COPY:  # (in place of a stack)
        kept = remove_dead_code(propagate_copies(kept, facts), facts)
    return kept


def _rounds(function: ir.Function, facts: Facts) -> ir.Function:
    done: dict[Pass, ir.Function] = {}
    forms, of = Analyses(function, facts).patterns, function
    for _ in range(_ROUNDS):
        before = function
        for change, needs in PASSES:
            if function is not of:
                forms, of = Analyses(function, facts).patterns, function
            if forms & needs == needs and done.get(change) is not function:
                made = change(function, facts)
                done[change] = function = preserved(function, made, facts, change.__name__)
        if function is before:
            break
    return function
