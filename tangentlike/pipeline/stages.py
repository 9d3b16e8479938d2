"""The stages in order, on one page: a live function in, its derivative as compiled source out."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from .. import ir
from ..ad.normalize.shadow_calls import as_functions
from ..ad.request import Reading, Request
from ..ad.specialize.stored_types import Stored
from ..analysis.declared import stated_classes
from ..analysis.kinds import kinds_from_example
from ..analysis.outer_objects import Changed, can_be_asked
from ..analysis.raising import refuse_moving, refuse_raising
from ..codegen.fuse import fused, refuse_unfused
from ..codegen.optimize import Facts
from ..codegen.optimize.coalesce import plainly_named
from ..codegen.optimize.contracted import contracted, stored_first
from ..codegen.optimize.frozen import stored_in_frozen
from ..codegen.optimize.nest import nest_in_return, nest_single_uses, nest_taken
from ..codegen.optimize.packs import bound_together, gone_through, saved_together
from ..codegen.optimize.reuse import reuse_buffers
from ..codegen.optimize.stacks import simplified_pairs, without_repeats
from ..codegen.print import Stages, emit, load, standalone
from ..codegen.print.load import decorated
from ..codegen.print.module import guarded, scopes_of, types_line, types_outside
from ..errors import (
    InternalError,
    Place,
    SharingError,
    UnknownClassError,
    UnsupportedError,
    WrtError,
)
from ..frontend.cuts import Cuts, Readings, cuts_made, cutting
from ..frontend.lower import Lowered, Scope, check
from ..frontend.resolve import Meanings, note_class, noting
from ..frontend.structures import as_asked
from ..ir.facts import fact
from ..ir.kind import UNKNOWN, Deciding, Kind, described_types
from ..pytree.leaves import Reach
from ..rules.book import RuleBook, default_book
from ..rules.ruled import ForeignBook, lower_ruled, refuse_unwrapped
from ..runtime.recent import Recent
from ..runtime.standard import is_mirror
from .builder import Builder
from .handing import can_be_handed, with_views
from .lending import (
    Moving,
    cells_between,
    lent_names,
    lent_to,
    moved_refs,
    moved_scope,
    refuse_other_ways,
    structures_of_lent,
)
from .table import Record, collecting, current, recording

TARGETS = ("numpy", "cupy-fused", "numba")

__all__ = ["Derived", "Request", "derive", "derive_in_any_form"]


class Before:
    """The functions of a derivative as they are read where it is differentiated: what is given back
    still has names. Made when they are first asked for. (One that another process was sent is read
    as it stands.)"""

    def __init__(self, make: Callable[[], Mapping[str, Any]]) -> None:
        self.make = make

    @functools.cached_property
    def functions(self) -> Mapping[str, Any]:
        return self.make()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


@dataclass(frozen=True)
class Derived:
    """The answer: compiled functions (the main one last), their text, and every stage's text.

    `written_params` are copied before they are written. `touched` are arrays of the module or of
    an enclosing function that are read or written, `overwritten` those whose writes the reverse
    sweep does not undo; `changes_outside`: some of them are written; `lent` are outer objects that
    are given as arguments; `changed` says which objects the program may change, `outer` is the data
    outside that it names; the parameters that `may_hold_code` are given functions, or what holds
    some (None: there are none outside, either). `given_back` names
    what the function itself gives of what lies outside, and of its parameters, where it is
    `exposed` to such callers; `before` has the functions that are read in the place of its own
    where these are differentiated. `real` says that no
    value is complex, so that adjoints have no conjugates. `asked` are the arguments that decide
    tests: it serves none of which they would decide otherwise.
    """

    functions: tuple[Callable[..., Any], ...]
    source: str
    origins: Mapping[int, ir.Origin]
    stages: Mapping[str, str]
    written_params: tuple[str, ...]
    touched: tuple[ir.Ref, ...] = field(repr=False)
    overwritten: tuple[ir.Ref, ...] = field(repr=False)
    changes_outside: bool
    module: ir.Module = field(repr=False)
    apart: ir.Module = field(repr=False)
    lent: tuple[ir.Ref, ...] = field(repr=False)
    changed: Changed = field(repr=False)
    outer: tuple[ir.Ref, ...] = field(repr=False)
    may_hold_code: tuple[str, ...] | None = field(repr=False)
    lowered: Lowered = field(repr=False)
    scopes: Mapping[str, Scope] = field(repr=False)
    meanings: Meanings = field(repr=False, compare=False)
    given_back: tuple[str, ...] = field(repr=False, compare=False)
    before: Before = field(repr=False, compare=False)
    real: bool = True
    record: Record = field(default_factory=Record, repr=False, compare=False)
    asked: Deciding = frozenset()
    again: Callable[[], Derived] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for fn in self.functions:
            fn.__lent__ = self.lent  # type: ignore[attr-defined]
            fn.__before__ = self.before  # type: ignore[attr-defined]

    @property
    def function(self) -> Callable[..., Any]:
        return self.functions[-1]

    @functools.cached_property
    def compiled(self) -> Callable[..., Any] | None:
        """What runs in the place of the function where a compiler is asked for."""
        main = self.module.main
        return decorated(main, self.function) if main.decorators else None

    def whole(self) -> Derived:
        """Itself; of one that was `moved`, made again: `module` is that of the other closure."""
        return self if self.again is None else self.again()

    def moved(self, function: types.FunctionType, again: Callable[[], Derived]) -> Derived | None:
        """The same for another closure of the same code; None where its text may differ."""
        old = self.lowered.scope.fn
        fixed = self.overwritten or self.lent or self.compiled
        if old is None or old.__code__ is not function.__code__ or fixed:
            return None
        cells = cells_between(old, function)
        meanings = None if cells is None else self.meanings.moved(cells, old, function)
        if cells is None or meanings is None:
            return None
        moving = Moving(old, cells)
        functions = [moving.function(cast(types.FunctionType, fn)) for fn in self.functions]
        if None in functions:
            return None
        scope = moved_scope(self.lowered.scope, function, cells)
        return replace(
            self,
            functions=tuple(fn for fn in functions if fn is not None),
            lowered=replace(self.lowered, scope=scope),
            before=Before(lambda: again().before.functions),
            touched=moved_refs(self.touched, old, cells),
            meanings=meanings,
            again=again,
        )

    @property
    def untyped(self) -> str:
        """The text without the comment that says which types it is for."""
        return self.source.split("\n", len(types_line(self.module.types)))[-1].lstrip("\n")

    @functools.cached_property
    def types_outside(self) -> tuple[tuple[str, str], ...]:
        """The types of the numbers and arrays outside that the text names, by their names in it."""
        made = self.whole()
        return types_outside(made.module, made.lowered.scope, made.scopes)

    def guarded(
        self, of_arguments: bool = True, outside: bool = False, real: Sequence[str] = ()
    ) -> str:
        """The text where it stands by itself: it checks the types that it was made for, those of
        its arguments and of numbers and arrays outside, and that arguments are `real`."""
        made = self.whole()
        module = made.module if of_arguments else ir.Module(made.module.functions)
        checked = guarded(module, len(self.functions), True, made.types_outside * outside, real)
        return emit(checked, made.lowered.scope, made.scopes).source

    def standalone(self, checks: bool = False, real: Sequence[str] = ()) -> str:
        """The text of a file that needs only NumPy, and `checks` the types it was made for, and
        that arguments are `real`."""
        made = self.whole()
        module = made.module if checks else ir.Module(made.module.functions)
        module = guarded(module, len(self.functions), False, real=real)
        return standalone(module, made.lowered.scope, made.scopes)


@dataclass
class Tried:
    """Which readings of a program were refused so far, so that it is not read in all of these ways
    again each time that one more statement was cut out of it: by whether adjoints are found by
    identity, the longest one with what was refused of shorter ones, and for what memory adjoints
    are not found by name."""

    readings: dict[bool, tuple[Reading, dict[str, UnsupportedError]]] = field(default_factory=dict)
    by_names: UnsupportedError | None = None

    def forget(self) -> None:
        """Begin with the plain reading again."""
        self.readings.clear()
        self.by_names = None

    def stands_without(self, cuts: Cuts) -> bool:
        """Whether what was refused of shorter readings was not cut out; forgets it otherwise."""
        refused = [r for _, shorter in self.readings.values() for r in shorter.values()]
        refused += [self.by_names] if self.by_names is not None else []
        if any(map(cuts.holds, refused)):
            self.forget()
        return bool(self.readings)


@dataclass(frozen=True)
class Asked:
    """What is differentiated: a function by a request. `inner` is the derivation that it is the
    text of, if it is a derivative itself; `meanings` is what was read so far; `cuts` is what was
    cut out of the program; `read` is how its functions were read the latest time, `tried` which
    readings were refused; `stored` see `Reading`."""

    function: Callable[..., Any]
    request: Request
    book: RuleBook | None
    inner: Any
    meanings: Meanings
    cuts: Cuts | None = None
    read: Readings = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    tried: Tried = field(default_factory=Tried)


def _is_of_derivatives(asked: Asked) -> bool:
    """Whether there are derivatives in it, for which there is another form by name."""
    emitted = asked.function.__code__.co_filename.startswith("<tangentlike")
    return emitted or asked.meanings.of_derivatives


def _serves_in_part(asked: Asked, refusal: UnsupportedError) -> bool:
    """(With nothing cut out yet, what a call may tell is refused as it is of the whole.)"""
    if asked.request.strict or asked.request.target == "numba":  # (which compiles no refusal)
        return False
    return _is_of_derivatives(asked) or not _may_tell(refusal, asked.request)


def _in_part(asked: Asked, refused: UnsupportedError) -> Derived:
    """Without the statements that are refused: each becomes a `raise`.

    Refuses what every call reaches, and what names no statement. Each round cuts out one more
    statement than the one before; the first one what the whole was refused for, unless something
    was cut out when it was read. It begins with the reading that the one before ended with: what
    is refused then is read from the beginning once more before it is refused for good.
    """
    cuts = Cuts()
    asked = replace(asked, cuts=cuts)
    with cutting(cuts):
        for read in asked.read:
            with contextlib.suppress(UnsupportedError):
                read()
    if not cuts.made:
        _cut_out(cuts, refused, asked.request)
    goes_on = asked.tried.stands_without(cuts)
    while True:
        try:
            return _whole(asked)
        except InternalError:
            if cuts.made:  # (of what is left of a program nothing more can be said)
                raise next(iter(cuts.made.values())) from None
            raise
        except UnsupportedError as refusal:
            try:
                _cut_out(cuts, refusal, asked.request)
            except UnsupportedError:
                if not goes_on:
                    raise
                asked.tried.forget()
        goes_on = asked.tried.stands_without(cuts)


def _cut_out(cuts: Cuts, refusal: UnsupportedError, request: Request) -> None:
    """Cut out the statement that is refused; raises the refusal where that does not help."""
    if refusal in cuts.made.values() or isinstance(refusal, WrtError):
        raise refusal
    if _may_tell(refusal, request):
        raise refusal
    if not cuts.cut(refusal):
        raise (cuts.always or [refusal])[0] from None


def _whole(asked: Asked) -> Derived:
    """The derivative by names, or, where it is memory that refuses that, by identity: what that
    refuses is refused for a better reason."""
    refusal = asked.tried.by_names
    if refusal is None:
        try:
            return _read(asked, asked.request)
        except UnsupportedError as refused:
            if refused.needs != "memory" or asked.request.by_identity:
                raise
            asked.tried.by_names = refusal = refused
    try:
        return _by_identity(asked)
    except UnsupportedError as better:
        raise (refusal if _may_tell(refusal, asked.request) else better) from None


def _by_identity(asked: Asked) -> Derived:
    """With the adjoints of memory found by identity."""
    if asked.inner is not None:
        asked = replace(asked, function=asked.inner.for_identity.emitted)
    return _read(asked, replace(asked.request, by_identity=True))


def _may_tell(refusal: UnsupportedError, request: Request) -> bool:
    """Whether the arguments of a call may tell what is refused as not known."""
    return isinstance(refusal, UnknownClassError) and not request.settled


def derive(
    fn: Callable[..., Any],
    request: Request,
    book: RuleBook | None = None,
    inner: Any = None,
    in_part: bool = False,
) -> Derived:
    """Differentiate a function as a whole, or `in_part` where that is refused; raises
    `UnsupportedError` where it cannot be done."""
    with noting() as meanings:
        asked = Asked(fn, request, book, inner, meanings)
        try:
            return _whole(asked)
        except UnsupportedError as refusal:
            if not (in_part and _serves_in_part(asked, refusal)):
                raise
            try:
                return _in_part(asked, refusal)
            except UnsupportedError as better:
                raise (refusal if _may_tell(refusal, request) else better) from None
        except RecursionError:
            raise _too_deep(fn) from None


def _too_deep(fn: Any) -> UnsupportedError:
    code = fn.__code__
    return UnsupportedError(
        f"what `{fn.__name__}` calls goes too deep to be followed",
        Place(code.co_filename, code.co_firstlineno),
        "Functions call each other with ever more in their arguments, or deeper than "
        "sys.getrecursionlimit(): give one of them a derivative with @tl.rule. (A file that "
        "`tangentlike grad --standalone` wrote has helpers of this package in it; differentiate "
        "the function that it was written for.)",
    )


def derive_in_any_form(
    fn: Callable[..., Any],
    request: Request,
    book: RuleBook | None = None,
    inner: Any = None,
) -> Derived:
    """Differentiate a function, as a whole if that can be done, else in part."""
    return derive(fn, request, book, inner, in_part=True)


def _programs(
    fn: Callable[..., Any], request: Request, book: RuleBook | None
) -> Mapping[str, ir.Module]:
    """What each stage makes of a function: derived again, since that is not kept."""
    with collecting():
        stages = derive_in_any_form(fn, request, book).stages
    assert isinstance(stages, Stages)
    return stages.programs


def _read(asked: Asked, request: Request) -> Derived:
    """One form, of the program read the plain way, or the longer way that a refusal asks for."""
    specialized = not request.awaits_types
    what = id(asked.function), request.mode, request.wrt
    known, handed, unchanged = _HANDED.get(what, (None, (), ()))
    known = known is asked.function
    reading = Reading(
        namespace=request.namespace,
        by_identity=request.by_identity,
        specialized=specialized,
        looked_up=request.looked_up,
        handed=handed if known else (),
        unchanged=unchanged if known else (),
        stored=asked.stored,
    )
    tried = asked.tried.readings
    # (With what was refused of shorter readings.)
    reading, shorter = tried.get(request.by_identity, (reading, {}))
    asked.read.clear()
    if asked.cuts is not None:
        asked.cuts.again()
    while True:
        with noting() as meanings, recording(), cutting(asked.cuts, asked.read):
            try:
                made = _derive(asked.function, request, asked.book, meanings, reading)
                if reading.handed or reading.unchanged:
                    _HANDED.put(what, (asked.function, reading.handed, reading.unchanged))
                return made
            except UnsupportedError as refusal:
                longer = reading.longer(refusal.needs)
                needs = refusal.needs if longer is not None else "lending"
                longer = longer or _lending(asked.function, refusal, reading, request)
                if longer is None:
                    outer = refusal if refusal.outer else shorter.get("lending", refusal)
                    longer, needs = _handing(outer, reading), "handing"
                if longer is None:
                    raise _spoken(refusal, shorter, request) from None
                shorter.setdefault(needs, refusal)
                if needs == "handing":  # (what is refused then is not what was refused before)
                    shorter.pop("lending", None)
                reading = longer
                tried[request.by_identity] = reading, shorter


def _lending(
    fn: Callable[..., Any], refusal: UnsupportedError, reading: Reading, request: Request
) -> Reading | None:
    """The reading with outer objects as arguments that are refused to be changed, where whoever
    calls the derivative cannot change them as well."""
    if request.exposed or request.mode == "callee" or not isinstance(fn, types.FunctionType):
        return None
    if refusal.late:
        return None
    found = lent_names(fn, refusal.outer) if refusal.outer else ()
    lent = tuple(dict.fromkeys((*reading.lent, *found)))
    return replace(reading, lent=lent) if lent != reading.lent else None


# What was handed on in the latest readings of functions, and asked whether it is changed, by their
# ids: their other forms begin so.
_HANDED: Recent[Any, tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = Recent(64)


def _handing(refusal: UnsupportedError, reading: Reading) -> Reading | None:
    """The reading in which outer objects that may be changed, and are not in every run, are not:
    arrays are handed on as views that are only read, of others the run asks."""

    def new(known: tuple[Any, ...], serves: Callable[[Any], bool]) -> tuple[Any, ...]:
        ids = set(map(id, known))
        found = {id(obj): obj for obj in refusal.outer if id(obj) not in ids and serves(obj)}
        return tuple(found.values())

    if refusal.surely:
        return None
    arrays = new(reading.handed, can_be_handed)
    others = () if arrays else new(reading.unchanged, can_be_asked)
    if not (arrays or others):
        return None
    handed, unchanged = (*reading.handed, *arrays), (*reading.unchanged, *others)
    return replace(reading, lent=(), handed=handed, unchanged=unchanged)


def _spoken(
    refusal: UnsupportedError, shorter: Mapping[str, UnsupportedError], request: Request
) -> UnsupportedError:
    """The refusal of the longest reading, or that of a shorter one which says more."""
    if "lending" in shorter:
        return shorter["lending"]
    if _may_tell(refusal, request) and "objects" in shorter:
        kept = shorter["objects"]
        return UnknownClassError(kept.message, kept.place, kept.hint, refusal.needs)
    if isinstance(refusal, SharingError) and request.awaits_types:
        return UnknownClassError(refusal.message, refusal.place, refusal.hint, refusal.needs)
    return refusal


def _derive(
    fn: Callable[..., Any],
    request: Request,
    book: RuleBook | None,
    meanings: Meanings,
    reading: Reading,
) -> Derived:
    if request.target not in TARGETS:
        raise UnsupportedError(
            f"there is no target {request.target!r}",
            hint=f"The targets are {', '.join(map(repr, TARGETS))}.",
        )
    with current().stage("lowered") as run:
        used = default_book() if book is None else book
        how = (reading.managers, reading.namespace, reading.lent, reading.cells)
        lowered = with_views(lower_ruled(fn, used, *how), reading.handed)
        if request.target == "cupy-fused":
            refuse_unfused(lowered.scope)
        cuts = cuts_made()
        refusal = None if cuts is None else cuts.note_always(lowered.function)
        if refusal is not None:
            raise refusal
        fact(check, lowered.function)  # (one that was read before was checked before)
        run.made = lowered.function
    given = dict(request.structures)
    for cls in frozenset().union(*(kind.classes for kind in given.values())):
        note_class(cls)
    if reading.lent:
        place = lowered.function.place
        given.update(structures_of_lent(lowered.scope, reading.lent, place))
    given.update(_exemplified(fn, request))
    stated = {name: kind for name, kind in stated_classes(fn).items() if name not in given}
    if stated:
        with contextlib.suppress(UnsupportedError):  # (a call may tell of another class)
            return _derived(fn, lowered, request, {**given, **stated}, book, meanings, reading)
    return _derived(fn, lowered, request, given, book, meanings, reading)


def _builder(
    lowered: Lowered,
    request: Request,
    given: Mapping[str, Kind],
    book: RuleBook | None,
    reading: Reading,
    stored: Stored | None = None,
) -> tuple[Builder, Lowered, Mapping[str, Kind]]:
    """What makes the functions of a module, the main one as it is read there, and what stays true
    of its arguments while it runs. Derivatives that are called allow for complex values where the
    main function does."""
    foreign = request.has_foreign or lowered.scope.array_module.obj is not np
    if reading.by_identity and request.namespace is not None and is_mirror(request.namespace):
        raise UnsupportedError(
            "arrays that may share memory are written in place here, and do not say where in "
            "memory they are",
            lowered.function.place,
            "Copy one of the arrays that may share memory.",
        )
    used = default_book() if book is None else book
    keeps = request.mode not in ("tangent", "change")
    used = cast(RuleBook, ForeignBook(used)) if foreign else used
    if stored is None and cuts_made() is not None and reading.stored:
        stored = reading.stored[-1]
        given = {name: stored.weakened(kind) for name, kind in given.items()}
    build = Builder(used, keeps, request.has_complex, reading, stored)
    with build.record.stage("resolved") as run:
        lowered = replace(lowered, function=as_functions(lowered.function))
        read = build.checkpoints.read(lowered, given)
        read = build.read(read, given, guard=True)
        lasting = build.lasting(read, given)
        has_complex = request.has_complex or build.computes_complex(read, given, set())
        run.made = read.function
    more = stored is None and build.callees.asks_keys and build.keys_stay
    stored = build.book.stored
    if more or lasting != given or not build.stored_as_claimed:
        return _builder(lowered, request, lasting, book, reading, stored)
    if build.callees.reads_derivatives and has_complex and not request.has_complex:
        return _builder(lowered, replace(request, has_complex=True), given, book, reading, stored)
    if not stored.anything:
        reading.stored[:] = [stored]
    build.real = not has_complex
    build.refuse_unread(read, reading.lent, given)
    return build, read, given


def _refuse_made(functions: tuple[ir.Function, ...], lowered: Lowered, request: Request) -> None:
    """Refuse what only shows in the functions that the transform made."""
    cuts = cuts_made()
    if cuts is not None:
        cuts.refuse_reached(functions)
    refuse_moving(functions)
    refuse_raising(functions)
    if request.namespace is not None and is_mirror(request.namespace):
        refuse_unwrapped((lowered.function, *functions))


def _exemplified(fn: Callable[..., Any], request: Request) -> dict[str, Kind]:
    """What the example says of the arguments."""
    if request.example is None:
        return {}
    bound = inspect.signature(fn).bind_partial(*request.example)
    examples = kinds_from_example(bound.arguments, request.exact)
    return {name: kind for name, kind in examples.items() if kind != UNKNOWN}


def _types(
    fn: Callable[..., Any], request: Request, asked: Deciding
) -> tuple[tuple[str, str], ...]:
    """What the text says that it is for: what a call asked of its arguments, and the example."""
    kinds = {**dict(as_asked(request.structures, asked)), **_exemplified(fn, request)}
    return described_types(
        {name: _of_doubles(kind) for name, kind in kinds.items()} if request.reuse else kinds
    )


def _of_doubles(kind: Kind) -> Kind:
    """The same with the dtype of its arrays of floats."""
    if kind.form == "array" and kind.dtype == "float":
        return ir.replaced(kind, dtype="float64")
    return kind.map_inside(_of_doubles)


def _each(
    change: Callable[[ir.Function, Facts], ir.Function],
    functions: tuple[ir.Function, ...],
    facts: Mapping[str, Facts],
) -> tuple[ir.Function, ...]:
    """The functions, changed where something is known about them."""
    return tuple(change(f, facts[f.name]) if f.name in facts else f for f in functions)


def _finished(
    functions: tuple[ir.Function, ...], request: Request, facts: Mapping[str, Facts]
) -> tuple[ir.Function, ...]:
    """The functions as they run (who differentiates them finds sums, which are linear)."""
    made = saved_together(_each(nest_single_uses, functions, facts), facts)
    made = stored_first(made, facts)
    return contracted(made, facts) if request.target == "numpy" else made


def _compilable(
    functions: tuple[ir.Function, ...],
    request: Request,
    scope: Scope,
    build: Builder,
    facts: Mapping[str, Facts],
) -> tuple[ir.Function, ...]:
    """The functions as they run: as Numba takes them, for the target that asks for that; for the
    others as a person would write them (Numba infers the types of lists one by one)."""
    functions = stored_in_frozen(_each(nest_in_return, functions, facts), facts)
    if request.target != "numba":
        functions = _each(nest_taken, _each(gone_through, functions, facts), facts)
        if request.reuse:
            functions = _each(reuse_buffers, functions, facts)
        return tuple(map(bound_together, functions))
    from ..numba.lowering import lowered

    scopes = scopes_of(ir.Module(functions), scope, build.scopes)
    return lowered(functions, scopes, facts, build.book)


def _without_tuples(
    functions: tuple[ir.Function, ...], request: Request, facts: dict[str, Facts]
) -> tuple[ir.Function, ...]:
    """The functions with a name for each item of the adjoints of tuples, where Numba needs that."""
    if request.target != "numba":
        return functions
    from ..numba.tuples import tuples_apart

    made = []
    for function in functions:
        apart, facts[function.name] = tuples_apart(function, facts[function.name])
        made.append(apart)
    return tuple(made)


def _fused(
    functions: tuple[ir.Function, ...], last: int, request: Request, scope: Scope, build: Builder
) -> tuple[ir.Function, ...]:
    """The functions, each once but the `last`, which are asked for; with those before them that
    CuPy fuses, for the target that asks for these."""
    functions = without_repeats(functions, build.facts, last, request.target == "numba")
    if request.target != "cupy-fused":
        return functions
    scopes = scopes_of(ir.Module(functions), scope, build.scopes)
    made, own = fused(functions, build.facts, scopes)
    build.scopes.update(own)
    return made


def _loaded(module: ir.Module, scope: Scope, scopes: Mapping[str, Scope]) -> Mapping[str, Any]:
    return load(emit(module, scope, scopes))


def _lent(
    fn: Callable[..., Any], lowered: Lowered, made: tuple[ir.Function, ...], build: Builder
) -> tuple[ir.Ref, ...]:
    """The outer objects that a derivative, or one that it calls, is given as arguments."""
    own = {name: lowered.scope.lookup(name) for name in build.reading.lent}
    refuse_other_ways(made, own, build.body)
    return (*itertools.starmap(ir.Ref, own.items()), *lent_to(fn, lowered.function))


def _may_hold_code(kind: Kind) -> bool:
    """Whether a value of this kind may be a function, or may hold one."""
    if kind.form in ("number", "array", "value") or kind.cls is type(None):
        return False
    inside = [
        *(kind.items or ()),
        *([kind.item] if kind.item else ()),
        *(k for _, k in kind.fields),
    ]
    return not inside or any(map(_may_hold_code, inside))


def _reached(
    lowered: Lowered, request: Request, build: Builder, given: Mapping[str, Kind] | None
) -> tuple[Changed, tuple[ir.Ref, ...], tuple[str, ...] | None]:
    """What a program may change (None is `given`: it writes no argument), what it names outside,
    and which parameters may hold functions."""
    functions, outer = build.named_by(lowered.function)
    changed = Changed() if given is None else build.changed(lowered, given, functions)
    known, params = dict(request.structures), lowered.function.param_names
    holders = tuple(p for p in params if _may_hold_code(known.get(p, UNKNOWN)))
    return changed, outer, holders if holders or Reach(r.obj for r in outer).functions else None


def _derived(
    fn: Callable[..., Any],
    lowered: Lowered,
    request: Request,
    given: Mapping[str, Kind],
    book: RuleBook | None,
    meanings: Meanings,
    reading: Reading,
) -> Derived:
    """The derivative of a function of whose parameters this is known."""
    build, lowered, given = _builder(lowered, request, given, book, reading)
    main, written = build.main(lowered, request, given)
    functions = build.all_functions(main)
    _refuse_made(functions, lowered, request)
    with build.record.stage("simplified") as run:
        functions = _without_tuples(functions, request, build.facts)
        run.made = simplified_pairs(functions, build.simplified, build.facts, len(main))
        run.made = _fused(run.made, len(main), request, lowered.scope, build)
        asked = frozenset(build.methods.asked)
        run.made, facts = plainly_named(run.made, build.facts)
        apart = ir.Module(run.made, _types(fn, request, asked))
        read = ir.Module(_finished(run.made, request, facts), apart.types)
        run.made = _compilable(read.functions, request, lowered.scope, build, facts)
        module = ir.Module(run.made, apart.types)
    with build.record.stage("emitted"):
        loaded = load(emitted := emit(module, lowered.scope, build.scopes))
    own = {"simplified": module, "emitted": emitted.source}
    programs = {**build.record.programs(lowered.function.name), **own}
    with contextlib.closing(build):
        return Derived(
            tuple(loaded[f.name] for f in main),
            emitted.source,
            emitted.origins,
            Stages(programs, build.record.stages, functools.partial(_programs, fn, request, book)),
            (*written, *build.checkpoints.copied),
            tuple(build.outside.touched.values()),
            tuple(build.outside.written.values()),
            build.outside.changes,
            module,
            apart,
            _lent(fn, lowered, functions, build),
            *_reached(lowered, request, build, given if written else None),
            lowered,
            build.scopes,
            meanings,
            build.given_back(lowered, given) if request.exposed else (),
            Before(functools.partial(_loaded, read, lowered.scope, build.scopes)),
            build.real,
            build.record,
            asked,
        )
