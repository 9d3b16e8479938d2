"""The functions that refuse what the emitted text was not written for, or what it cannot follow.

Each raises a built-in exception whose message is "what is refused: what to do instead".
"""

from __future__ import annotations

from . import (
    broadcasting,
    buffers,
    containers,
    functions,
    iterators,
    linalg,
    records,
    sequences,
    shadow,
    shapes,
    sharing,
    stated_types,
    statements,
)

# What holds of memory and of numbers where adjoints have names, and need not hold by identity.
GUARDS = frozenset(
    fn.__code__
    for fn in (
        *(buffers.require_apart, buffers.require_array, buffers.require_mutable),
        *(buffers.require_values, buffers.require_as_many, records.require_same_length),
        *sharing.REFUSALS,
    )
)

# What holds of an object whose method of a name is called, and need not where that is looked up.
OF_METHODS = frozenset(
    fn.__code__ for fn in (buffers.require_values, buffers.require_container, buffers.require_held)
)

REFUSING = frozenset(
    fn.__code__
    for fn in (
        *(
            broadcasting.adjoint_dtype,
            broadcasting.require_real,
            buffers.require_apart,
            buffers.require_array,
            buffers.require_mutable,
            buffers.require_values,
            buffers.require_container,
            buffers.require_field,
            buffers.require_none,
            buffers.require_class,
            buffers.require_listed,
        ),
        *(buffers.require_module, buffers.require_sequence),
        *(
            buffers.require_as_many,
            iterators.require_again,
            iterators.require_no_dict,
            buffers.require_stored,
            buffers.require_held,
            sequences.join_items,
            sequences.sum_items_bar,
            functions.plain_function,
            functions.asked_of_none,
            functions._length,
            containers.require_plain_copy,
            containers.named_items,
            records.require_same_length,
            statements.lost_statements,
        ),
        *(shapes.float_dtype, shapes.uncast),
        *(statements.Unsuppressed.__exit__, buffers.require_read_first),
        *shadow.REFUSALS,
        *(linalg.refuse_phases, linalg.refuse_further_vectors, linalg.refuse_full_factors),
        *sharing.REFUSALS,
        stated_types.require_types,
    )
)
