"""What an exception from emitted code says to the user: the line of theirs that it comes from."""

from __future__ import annotations

import builtins
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from .. import rules
from ..errors import Place, TangentlikeError, UnsupportedError
from ..frontend.cuts import refusal_of
from ..frontend.structures import is_object
from ..ir.nodes import OF_ARRAYS
from ..runtime import (
    Mirror,
    NotDifferentiated,
    Record,
    broadcasting,
    buffers,
    calculus,
    containers,
    functions,
    indexing,
    iterators,
    linalg,
    records,
    reductions,
    scalar_seed,
    shadow,
    shapes,
    sharing,
    stated_types,
    statements,
)

if TYPE_CHECKING:
    from ..ir import Origin


def places_of(
    error: BaseException, functions: Sequence[Any], origins: Mapping[int, Origin]
) -> list[Place]:
    """The user's places that an exception came through, by its frames, outside in. (Not those of
    the programs that operations are read as.)"""
    found = (origins.get(line) for _, line in _steps(error, functions))
    places = [origin.place for origin in found if origin is not None]
    return [p for p in places if not p.file.startswith(_OF_RULES)] or places


_OF_RULES = rules.__path__[0]


def _steps(error: BaseException, functions: Sequence[Any]) -> Iterator[tuple[CodeType, int]]:
    """The code and the line of each frame of the text that an exception came through."""
    files, step = {f.__code__.co_filename for f in functions}, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename in files:
            yield step.tb_frame.f_code, step.tb_lineno
        step = step.tb_next


def writes_what_it_was_handed(
    error: BaseException, functions: Sequence[Any], origins: Mapping[int, Origin]
) -> UnsupportedError | None:
    """What is said where NumPy refuses to write an array outside, which a function of the text
    handed on as one that is only read."""
    if not isinstance(error, ValueError) or "read-only" not in str(error):
        return None
    for code, line in _steps(error, functions):
        if "read_only" in (*code.co_names, *code.co_freevars):
            origin = origins.get(line)
            return UnsupportedError(
                "an array that is defined outside of the function is given to what writes it here",
                None if origin is None else origin.place,
                "Pass it as an argument of the function that you derive, or give a copy of it.",
            )
    return None


def refused_before(error: BaseException) -> BaseException:
    """What the derivative refused before `error` was raised while that was handled: a `finally` of
    the user's runs then too, and may find values that were not computed. Else the error itself."""
    found: BaseException | None = error
    while found is not None:
        step = found.__traceback__
        while step is not None and step.tb_next is not None:
            step = step.tb_next
        refuses = step is not None and step.tb_frame.f_code in REFUSING
        if isinstance(found, NotDifferentiated) or (refuses and isinstance(found, Exception)):
            return found
        found = found.__context__
    return error


def translated_error(
    error: BaseException, place: Place | None, primal: str
) -> TangentlikeError | None:
    """What is refused in `runtime`, which knows no error classes, as one of our errors; and what a
    derivative that is made at run time refuses, with the line that asked for it."""
    if isinstance(error, NotDifferentiated):
        return refusal_of(error, place)
    if type(error) is UnsupportedError and error.place is None and place is not None:
        found = UnsupportedError(error.message, place, error.hint)
        found.of_names = error.of_names
        return found
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None:
        return None
    misread = _of_attribute(error, place) or _misread(error, step.tb_frame, place)
    if misread is not None:
        return misread
    if step.tb_frame.f_code in REFUSING:
        return _of_guard(error, step.tb_frame, place)
    if step.tb_frame.f_code is not scalar_seed.__code__:
        return None
    message, _, hint = str(error).partition("; ")
    hint = hint.replace("vjp or jacobian", "tl.vjp or tl.jacobian")
    return TangentlikeError(
        f"no gradient of {primal}: {message}", place, f"{hint[:1].upper()}{hint[1:]}."
    )


def _of_attribute(error: BaseException, place: Place | None) -> UnsupportedError | None:
    """What is said where the adjoint or tangent of an object has no attribute of a name."""
    if not isinstance(error, AttributeError):
        return None
    if error.name in OF_ARRAYS and isinstance(error.obj, (float, Mirror)):
        found = UnsupportedError(
            f"`.{error.name}` is taken for that of an array, and is a field of an object here",
            place,
            "Read the field in a method of its class, or annotate the parameter that the object "
            "comes from with the class.",
        )
        found.method = error.name
        return found
    if not isinstance(error.obj, (Mirror, Record, dict)) and not _is_ours(error.obj):
        return None
    if error.name in ("__iter__", "__getitem__"):
        return _not_tracked(place)
    found = UnsupportedError(
        f"the attribute `{error.name}` is not a field: its class computes it, or it was "
        "added later",
        place,
        "Compute it in the function, from fields.",
    )
    found.method = error.name or ""
    return found


def _not_tracked(place: Place | None) -> UnsupportedError:
    return UnsupportedError(
        "an object is iterated over, and the `__iter__` or `__getitem__` of its class is "
        "not tracked",
        place,
        "Loop over an attribute that holds the items, as in `for item in row.items`, or "
        "let `__iter__` return `iter(...)` of a list.",
    )


def _is_ours(obj: Any) -> bool:
    """Whether an object is of a class that stands for what a function of a library gives, and that
    has the fields only of what the library's class has."""
    return type(obj).__module__.startswith(rules.__name__)


def _of_guard(error: BaseException, frame: FrameType, place: Place | None) -> UnsupportedError:
    """What a function of `runtime` refuses."""
    message, _, hint = str(error).partition(": ")
    hint = hint.replace("example=", "`example=`")
    found = UnsupportedError(message, place, f"{hint[:1].upper()}{hint[1:]}.")
    found.of_names = frame.f_code in GUARDS
    if frame.f_code in OF_METHODS:
        found.method = frame.f_locals["method"]
    return found


def _misread(
    error: BaseException, frame: FrameType, place: Place | None
) -> UnsupportedError | None:
    """What something was taken for that it is not, by a derivative that knew no types."""
    if _meets_an_object(error, frame) or _updates_an_object(error, place):
        return UnsupportedError(
            "an object is passed where the derivative was made for a number or an array",
            place,
            "Its class was not known when the derivative was made. Loop over the list that holds "
            "such objects, or annotate the parameter it comes from with its class.",
        )
    given = _without_places(error)
    if given not in _IN_TURN and not hasattr(builtins, given or "str"):
        return _not_tracked(place)
    if given in _IN_TURN:
        return UnsupportedError(
            f"a loop writes what a `{given}` gives in turn, and finds it there by its place",
            place,
            "Loop over a list of it: `for v in list(d.values()):`.",
        )
    return None


_BY_PLACE = ("subscriptable", "has no len()", "not reversible")
_IN_TURN = ("dict_values", "dict_items", "dict_keys", "set", "frozenset", "map", "zip", "filter")


def _without_places(error: BaseException) -> str:
    """The class of what was asked for an item by its place and has none, or its length; or ''."""
    asked = isinstance(error, TypeError) and str(error).endswith(_BY_PLACE)
    return str(error).split("'")[1] if asked and str(error).count("'") == 2 else ""


def _meets_an_object(error: BaseException, frame: FrameType) -> bool:
    """Whether arithmetic of a derivative failed on an object of the user's, or on its mirror."""
    if isinstance(error, TypeError):
        named = any(f"'{cls.__name__}'" in str(error) for cls in (Mirror, Record))
        return named or str(error).startswith("Cannot interpret '<")  # (asked for its dtype)
    if isinstance(error, AttributeError) and error.name in ("conjugate", "shape"):
        return is_object(error.obj)
    put = isinstance(error, ValueError) and str(error).startswith("setting an array element")
    return put and any(isinstance(value, Mirror) for value in frame.f_locals.values())


def _updates_an_object(error: BaseException, place: Place | None) -> bool:
    """Whether `x += v`, which a derivative computes as `x + v`, failed since the class of `x` has
    no `+`."""
    found = _LACKS.match(str(error)) if isinstance(error, TypeError) else None
    return found is not None and place is not None and f"{found[1]}=" in place.text


_LACKS = re.compile(r"unsupported operand type\(s\) for (\S+): ")


def annotate(error: BaseException, place: Place | None, primal: str) -> None:
    """Add the place to what an exception prints."""
    if place is None:
        return
    note = f"in the derivative of {primal}: {place.file}:{place.line}: {place.text}"
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:  # Python 3.10 has no notes of its own; the attribute is where PEP 678 puts them
        error.__notes__ = [  # type: ignore[attr-defined, unused-ignore]
            *getattr(error, "__notes__", ()),
            note,
        ]


# --------------------------------------------------------------------------------------------------
# The functions that refuse what the emitted text was not written for, or what it cannot follow.
#
# Each raises a built-in exception whose message is "what is refused: what to do instead".


# What holds of memory and of numbers where adjoints have names, and need not hold by identity.
GUARDS = frozenset(
    fn.__code__
    for fn in (
        *(buffers.require_apart, buffers.require_array, buffers.require_mutable),
        *(buffers.require_floats, buffers.require_values),
        *(buffers.require_as_many, records.require_same_length),
        *sharing.REFUSALS,
    )
)

# What holds of an object whose method of a name is called, and need not where that is looked up.
OF_METHODS = frozenset(
    fn.__code__
    for fn in (buffers.require_values, buffers.require_container)
    + (buffers.require_held, buffers.require_query)
)

REFUSING = frozenset(
    fn.__code__
    for fn in (
        *(
            broadcasting.adjoint_dtype,
            broadcasting.require_real,
            calculus._axes_and_steps,
            broadcasting.require_fields_stay,
            broadcasting.refuse_list,
            indexing.flat_view,
            buffers.require_apart,
            buffers.require_array,
            buffers.require_mutable,
            buffers.require_not_held,
            buffers.unchanged.__exit__,
            *(buffers.require_new, buffers.require_unseen),
            buffers.require_values,
            buffers.require_container,
            buffers.require_field,
            buffers.require_in_vars,
            *(buffers.require_none, buffers.require_no_text),
            buffers.require_plain_key,
            *(buffers.require_floats, buffers.require_alike),
            buffers.require_plain_keys,
            *(buffers.plain_item, buffers.plain_items),
            buffers.require_class,
            buffers.given_constant,
            buffers.require_listed,
        ),
        *(buffers.require_module, buffers.require_sequence),
        *(
            buffers.require_as_many,
            iterators.repeatable,
            iterators.require_again,
            iterators.require_no_dict,
            buffers.require_stored,
            buffers.require_held,
            buffers.require_query,
            containers.join_items,
            containers.require_items,
            containers.sum_items_bar,
            containers.tie_shares,
            functions.plain_function,
            functions.absent_attribute,
            functions._length,
            functions._require_words,
            containers.ExplicitDefaults.__missing__,
            containers.makes_entry,
            containers.argument_key,
            containers.require_plain_copy,
            containers.named_items,
            records.require_same_length,
            reductions.extremum_share,
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


# --------------------------------------------------------------------------------------------------
# Running a derivative while somebody watches: every call of an emitted function passes here.
#
# A tracer puts an instrumented function in the place of the emitted one for as long as it watches,
# so that it sees exactly the calls that the user's operator makes, with their arguments and seeds.


Watcher = Callable[[Any, Callable[..., Any]], Callable[..., Any]]
_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
watched_by = _WATCHER.get


def replaced(derivation: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """What runs for a function of a derivation: the function itself, or its compiled form, unless
    somebody watches."""
    watcher = watched_by()
    if watcher is not None:
        return watcher(derivation, function)
    return derivation.derived.compiled or function


@contextlib.contextmanager
def watching(watcher: Watcher | None) -> Iterator[None]:
    """`watcher(derivation, function)` says what runs in the place of emitted functions; None lets
    them run as they are, also within another watch."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


# ------------------------------------------------------------------- what is not finite

_FINDERS: list[Callable[..., None]] = []


def found_by(finder: Callable[..., None]) -> None:
    """`finder(derivation, args, kwargs)` raises where a result that is not finite begins."""
    _FINDERS[:] = [finder]


def raise_where_it_begins(derivation: Any, args: tuple[Any, ...], kwargs: Any) -> None:
    """The result of a call is not finite: raise at the operation at which that begins."""
    for finder in _FINDERS:
        finder(derivation, args, kwargs)
