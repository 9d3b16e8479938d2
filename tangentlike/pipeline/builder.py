"""What makes the functions of one module: the main one, and its callees as they are asked for."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from .. import ir
from ..ad.checkpoint.choices import Checkpoints
from ..ad.context import Context
from ..ad.forward.functions import forward, given_twice, tangent_only
from ..ad.normalize.both_modes import has_stars, stars_written_out
from ..ad.normalize.common import known_compositions, share_loads
from ..ad.normalize.effects_first import Apart, effects_first
from ..ad.normalize.inplace import writes_as_stores
from ..ad.normalize.iterators import loops_repeatable
from ..ad.normalize.shadow_calls import (
    SHADOW,
    as_functions,
    as_methods,
    called_shadows,
    has_shadow,
)
from ..ad.normalize.short_calls import short_calls_written_out
from ..ad.normalize.updates import rebind_updates, rebound, refuse_changed_containers
from ..ad.request import PLAIN_READING, Reading, Request
from ..ad.reverse.by_identity import one_memory
from ..ad.reverse.by_identity_functions import (
    IdentityCalls,
    IdentityPreparation,
    IdentityReverse,
    callee_pair,
    identity_pair,
    refuse_writes_by_others,
)
from ..ad.reverse.functions import Primal, Reverse, reverse
from ..ad.reverse.pairs import CallConversion, reverse_pair, writing_calls
from ..ad.reverse.prepare import Preparation, outer_numbers_named
from ..ad.reverse.statements import updates_as_stores
from ..ad.specialize.callees import Callees, Pair, bind_surely, is_checkpointed
from ..ad.specialize.callees import Request as CalleeRequest
from ..ad.specialize.function_objects import FunctionClasses
from ..ad.specialize.inner_functions import PlainFunctions, with_inner_functions
from ..ad.specialize.method_lookup import KnownCallees
from ..ad.specialize.methods import Methods
from ..ad.specialize.stored_types import Stored, keys_stay, stored_kinds
from ..analysis.activity import (
    active_names,
    carrying_names,
    comprehensions_whole,
    refuse_local_inputs,
    refuse_unknown,
    useful_names,
)
from ..analysis.aliases import Aliases, analyse_aliases, effects_of
from ..analysis.cut_paths import (
    Texts,
    asking_for_floats,
    cut_effects,
    refuse_cut_callees,
    refuse_keys_in_calls,
    refuse_text_in_calls,
    without_cut_paths,
)
from ..analysis.flow import computed_from
from ..analysis.hidden_writes import refuse_hidden_writes
from ..analysis.kept_results import noting_kept
from ..analysis.kinds import computes_complex, infer_kinds, kind_of
from ..analysis.memory import Effects, Sources, depends_on_layout, reads_around
from ..analysis.operations import operands
from ..analysis.outer_objects import Changed, changed_by, named_by
from ..analysis.outside import Outside
from ..analysis.own_arithmetic import asking_for_numpys, names_own_ways
from ..analysis.refusals import (
    refuse_varied_functions,
    refuse_writes_into_classes,
    writes_attributes_as_items,
)
from ..analysis.sharing import Sharing
from ..analysis.structure import structure
from ..codegen.optimize import Facts, simplified
from ..codegen.optimize.facts import is_computation, shares_memory
from ..errors import InternalError, UnsupportedError, not_by_names, not_lent
from ..frontend.cuts import cuts_made, cutting
from ..frontend.jumps import ends_by_raising
from ..frontend.lower import Lowered, Scope
from ..frontend.primal import may_make
from ..ir.facts import fact
from ..ir.index import all_names, outer_names, references
from ..ir.kind import OTHER, UNKNOWN, Kind, shaped_by
from ..ir.names import Names
from ..ir.verify import check_bound, check_program
from ..rules.book import RuleBook
from ..rules.ruled import ForeignBook, lower_ruled
from ..runtime import is_stored
from .handing import with_views
from .lending import is_read
from .table import current, passes


class Builder:
    """Makes the functions of one module; callees come back to it through `Callees`."""

    def __init__(
        self,
        book: RuleBook | ForeignBook,
        keeps: bool,
        has_complex: bool = False,
        reading: Reading = PLAIN_READING,
        stored: Stored | None = None,
    ) -> None:
        self.reading = reading
        self.record = current()
        self.callees = Callees(self, Names(), reverses=keeps, of_complex=has_complex)
        self.checkpoints = Checkpoints(self.callees, self._kinds, self._sources_of, keeps)
        self.book: Any = KnownCallees(book, self.callees)
        self.callees.variants.is_operation = self.book.knows
        self.callees.variants.apart = functools.partial(self._with_effects_first, given={})
        if reading.objects:
            self.callees.variants.classes = FunctionClasses(self.callees.names.fresh)
        self.book.stored = Stored() if stored is None else stored
        self.stored_as_claimed = True
        self.methods = Methods(self.callees, self._kinds, self.book)
        read = self.callees.read
        self.callees.read = lambda lowered: self.read(read(lowered), {})
        self.facts: dict[str, Facts] = {}
        self.texts = Texts(self._formals)
        self.tries = False  # whether a `try` that goes on stands in a function that was read
        self.own_ways = False  # whether one names what computes in a way of its own, or holds that
        self.scopes: dict[str, Scope] = {}  # of callees, by the name of the emitted function
        self.plain = PlainFunctions(self.callees, self.scopes, self._done_plainly)
        self.real = True
        unchanged = self.reading.unchanged
        kept = bool(self.reading.lent or self.reading.handed or unchanged)
        self.outside = Outside(self.body, self._sources_of, self.book, unchanged, kept)
        self._inferred: dict[Any, tuple[ir.Function, Mapping[str, Kind]]] = {}
        self._whole: Builder | None = None  # reads functions with nothing cut out
        self._exposed = ""  # the function of which the caller does not know what it gives
        self._handed_back = ""  # the function that gives the user what it gives
        self._given_floats: tuple[str, tuple[str, ...]] = ("", ())  # (who is asked for, wrt)
        self._constants: set[str] | None = None  # parameters of who is asked for, that hold some
        self._lowered: list[Any] = []
        self._reversed: dict[str, Reverse] = {}  # by the name of the function that sweeps back
        self._pairs_made: list[tuple[Pair, CalleeRequest]] = []  # callees first
        # By what classes are asked for: of how many of these functions, and what was found.
        self._makes: dict[Callable[[type], bool], tuple[int, bool]] = {}

    def lower(self, fn: Any) -> Lowered:
        """A live function in the normal form."""
        self._lowered.append(fn)
        with self.record.stage("lowered") as run:
            reading = self.reading
            how = (reading.managers, reading.namespace)
            found = lower_ruled(fn, self.book, *how, cells=reading.cells)
            found = with_views(found, reading.handed)
            run.made = found.function
            return found

    def makes(self, asked: Callable[[type], bool]) -> bool:
        """Whether the functions read so far, what they name, or the classes of what they are given,
        make containers of a class that is `asked` for, or are such classes."""
        count, found = self._makes.get(asked, (0, False))
        found = found or any(may_make(fn, asked) for fn in self._lowered[count:])
        self._makes[asked] = len(self._lowered), found
        return found

    def read(
        self,
        lowered: Lowered,
        given: Mapping[str, Kind],
        guard: bool = False,
        deciding: Mapping[str, Kind] | None = None,
    ) -> Lowered:
        """A function with its methods resolved, and with what writes memory in statements."""
        with self.record.stage("resolved") as run:
            self.own_ways = self.own_ways or names_own_ways(lowered.function)
            function = as_functions(lowered.function)
            if function is not lowered.function:
                lowered = dataclasses.replace(lowered, function=function)
            found = self._read(lowered, given, guard, deciding)
            run.made = found.function
            self.tries = self.tries or any(map(_goes_on, ir.statements(found.function.body)))
            return found

    def _read(
        self,
        lowered: Lowered,
        given: Mapping[str, Kind],
        guard: bool,
        deciding: Mapping[str, Kind] | None,
    ) -> Lowered:
        lowered = self.methods.resolved(lowered, given, guard, deciding)
        return self._with_effects_first(lowered, given)

    def _with_effects_first(self, lowered: Lowered, given: Mapping[str, Kind]) -> Lowered:
        """A function in which calls that write memory stand in statements of their own."""

        def kind(expr: ir.Expr) -> Kind:
            return kind_of(expr, self._kinds(lowered.function, given), self.book)

        read = effects_first(lowered, functools.partial(self._writes, kind), self._changes, kind)
        if read is lowered:
            return lowered
        return self._read(self.callees.variants.resolved(read), given, False, None)

    def _writes(self, kind: Callable[[ir.Expr], Kind], call: ir.Call) -> tuple[ir.Expr, ...]:
        """What the call of a user's function writes of what it is given; itself if that is not
        sure."""
        if not isinstance(call.fn, ir.Ref) or not self.book.is_callee(call.fn.obj):
            return ()
        effects = self.callees.effects_here(call, kind)
        written = frozenset[str]() if effects is None else effects.written
        if effects is not None and not written and self._changes(call.fn.obj):
            return (call,)  # (of those to which it hands on `*args`)
        given = bind_surely(call) if written else {}
        return tuple(given.get(name, call) for name in sorted(written))

    def _changes(self, obj: Any, cls: type | None = None) -> frozenset[str]:
        """The parameters that a function may write, itself, or those of a function to which it
        hands on `*args`, or of another method of the class `cls` of its first argument."""
        asked, pending = set(), [obj]
        while pending:
            fn = self.methods.lookup.items_of(pending.pop())
            effects = self.callees.effects(fn) if self.book.is_callee(fn) else None
            if effects is not None and effects.written:
                return effects.written
            if effects is not None and fn not in asked:
                asked.add(fn)
                pending += _handed_on(self.body(fn), cls)
        return frozenset()

    def lasting(self, lowered: Lowered, given: Mapping[str, Kind]) -> Mapping[str, Kind]:
        """What is known of the arguments, and of all that they hold, while the function runs. What
        was taken to be stored in attributes of objects that are made here is made true, too."""
        held = any(kind.items or kind.item or kind.fields for kind in given.values())
        if not held and not self.book.claimed:
            return given
        stored = stored_kinds(lowered, given, self.callees, self._kinds, self.book)
        self.stored_as_claimed = all(
            stored.field_kind(cls, name, kind) == kind for cls, name, kind in self.book.claimed
        )
        if not self.stored_as_claimed and self.book.stored != Stored():
            stored = Stored(anything=True)  # (asked again, it was another time not as claimed)
        self.book.stored = stored
        return {name: stored.weakened(kind) for name, kind in given.items()}

    def close(self) -> None:
        """Let go of everything: its parts refer to each other in circles, and would stay until the
        next garbage collection, with all that was worked out."""
        for facts in self.facts.values():
            facts.forget()
        self.callees.__dict__.clear()
        self.__dict__.clear()

    # ----------------------------------------------------------------------- main function

    def main(
        self, lowered: Lowered, request: Request, given: Mapping[str, Kind]
    ) -> tuple[tuple[ir.Function, ...], tuple[str, ...]]:
        function = lowered.function
        held = (held.cls for kind in given.values() for held in kind.held)
        self._lowered += [lowered.scope.fn, *dict.fromkeys(cls for cls in held if cls)]
        self._exposed = function.name if request.exposed else ""
        if request.mode != "callee":
            self._given_floats = (function.name, request.wrt)
        if request.mode != "callee" and not request.writes:
            plain = (n for n, kind in given.items() if kind.form in ("number", "array", "other"))
            self._constants = set(function.param_names).difference(request.wrt, plain)
        self.callees.names.take((function.name, *outer_names(function)))
        suffix = {"grad": "grad", "value_and_grad": "value_and_grad", "adjoint": "vjp"}
        if request.mode in ("tangent", "change"):
            name = self.callees.names.fresh(f"{function.name}_jvp")
            made, written = self._tangent(
                name, lowered, request.wrt, given, not request.writes, exposed=request.exposed
            )
            return (tangent_only(made) if request.mode == "change" else made,), written
        if request.mode in ("pair", "callee"):
            return self._asked_pair(lowered, request, given)
        name = self.callees.names.fresh(f"{function.name}_{suffix[request.mode]}")
        self._handed_back = name
        primal, context = self._primal(lowered, request.wrt, given, shared=())
        with self.record.stage("derived") as run:
            transform = (IdentityReverse if self.reading.by_identity else Reverse)(primal, context)
            made = reverse(transform, name, request.mode, request.bare, request.has_aux)
            self._reversed[name] = transform
            run.made = self._done((made,), context, primal.active)
            return run.made, primal.written

    def _asked_pair(
        self, lowered: Lowered, request: Request, given: Mapping[str, Kind]
    ) -> tuple[tuple[ir.Function, ...], tuple[str, ...]]:
        """The pair that is asked for, and what the function writes."""
        function = lowered.function
        fresh = self.callees.names.fresh
        names = fresh(f"{function.name}_fwd"), fresh(f"{function.name}_bwd")
        shared = function.param_names if request.writes else ()
        primal, context = self._primal(lowered, request.wrt, given, tuple(shared))
        with self.record.stage("derived") as run:
            bare = request.mode == "callee"
            if self.reading.by_identity and request.writes:  # (it is given the shadow alone)
                callee = callee_pair(primal, context, names, named=False)
                fwd, bwd = callee.fwd, callee.bwd
            elif self.reading.by_identity:
                fwd, bwd = identity_pair(primal, context, names, bare)
            else:
                order = (request.wrt, ())
                found = reverse_pair(primal, context, names, order, bare, protect=True)
                fwd, bwd = found.fwd, found.bwd
                self._reversed[bwd.name] = found.transform
            run.made = self._done((fwd, bwd), context, primal.active)
            return run.made, primal.written

    # ------------------------------------------------------------- what callees ask (Builder)

    def pair(self, pair: Pair, request: CalleeRequest) -> tuple[ir.Function, ir.Function]:
        """The forward and backward functions of a callee."""
        if self.reading.by_identity:
            return self._pair_by_identity(pair, request)
        special = self.checkpoints.pair(
            pair, request, lambda: self._context(request.lowered, request.kinds)
        )
        if special is not None:
            return self._callee(request, special[0], special[1], frozenset(request.active))
        made = self._pair_by_names(pair, request)
        self._pairs_made.append((pair, request))
        return made

    def _pair_by_names(
        self, pair: Pair, request: CalleeRequest, unread: frozenset[str] = frozenset()
    ) -> tuple[ir.Function, ir.Function]:
        primal, context = self._primal(request.lowered, request.active, request.kinds, pair.written)
        if not pair.recursive:
            pair.adjoints = tuple(p for p in pair.adjoints if p in primal.active)
        order = (pair.adjoints, pair.written)
        names = (pair.fwd.text, pair.bwd.text)
        seeded = pair.result_active if pair.recursive or unread else None
        with self.record.stage("derived") as run:
            found = reverse_pair(primal, context, names, order, True, False, seeded, unread)
            self._reversed[names[1]] = found.transform
            pair.result_active, pair.restores = found.takes_seed, found.restores
            pair.unseen = found.unseen
            run.made = self._callee(request, (found.fwd, found.bwd), context, primal.active)
            return run.made

    def all_functions(self, main: tuple[ir.Function, ...]) -> tuple[ir.Function, ...]:
        """The functions of a derivative: those that are called, and then the main ones, of which
        the first notes what outer objects hold when it begins, if any function asks that."""
        functions = self._without_unread_restores((*self.callees.functions, *main))
        unchanged = [ir.Ref(f"kept{k}", obj) for k, obj in enumerate(self.reading.unchanged)]
        lent, given = self.reading.lent, self._constants
        return noting_kept(functions, main[0].name, lent, unchanged, given, bool(self._exposed))

    def _without_unread_restores(
        self, functions: tuple[ir.Function, ...]
    ) -> tuple[ir.Function, ...]:
        """The functions with pairs that restore no more than what somebody reads back: a stencil in
        a helper saves nothing where the adjoint of no caller reads what it overwrote."""
        writing = [made for made in self._pairs_made if made[0].written]
        if not writing:
            return functions
        by_name = {function.name: function for function in functions}
        callers: dict[str, list[str]] = {}
        for function in functions:
            for ref in fact(references, function):
                callers.setdefault(ref.text, []).append(function.name)
        for pair, request in reversed(writing):  # (callers before what they call)
            name, formals = pair.bwd.text, frozenset(pair.written)
            transform, own = self._reversed[name], frozenset(callers.get(name, ()))
            sweeps = [self._reversed[c].read_back() for c in own if c in self._reversed]
            known = own and len(sweeps) == len(own) and all(name in found for found in sweeps)
            if pair.recursive or not known:
                continue
            back = frozenset[str]().union(*(found[name] for found in sweeps))
            unread = frozenset(filter(transform.is_array, formals - back))
            saves = transform.saves_where(unread) if unread else transform.saves
            transform.saves.read_back = saves.read_back
            if (saves.stores, saves.kept) == (transform.saves.stores, transform.saves.kept):
                continue
            count = len(self.callees.functions)
            made = self._pair_by_names(pair, request, unread)
            if len(self.callees.functions) > count:
                raise InternalError("pairs", f"{name} calls others where less is read back")
            by_name.update({function.name: function for function in made})
        return tuple(by_name[function.name] for function in functions)

    def _pair_by_identity(
        self, pair: Pair, request: CalleeRequest
    ) -> tuple[ir.Function, ir.Function]:
        """The pair of a callee which is given the shadow."""
        if is_checkpointed(request.callee, self.callees.variants):
            raise UnsupportedError(
                "a checkpointed function is given memory whose sharing is not known",
                request.lowered.function.place,
                "Call the function itself, or copy what it is given.",
            )
        pair.adjoints = pair.written = ()
        formals = request.lowered.function.param_names
        primal, context = self._primal(request.lowered, request.active, request.kinds, formals)
        names = (pair.fwd.text, pair.bwd.text)
        made = callee_pair(primal, context, names, named=not pair.recursive)
        pair.adjoints, pair.seeds = made.adjoints, made.seeds
        pair.result_active, pair.restores = False, True
        return self._callee(request, (made.fwd, made.bwd), context, primal.active)

    def _callee(
        self,
        request: CalleeRequest,
        pair: tuple[ir.Function, ir.Function],
        context: Context,
        active: frozenset[str],
    ) -> tuple[ir.Function, ir.Function]:
        """The pair of a callee, as it will be printed."""
        made = self._done((request.annotated(pair[0]), pair[1]), context, active)
        self.scopes.update({f.name: request.lowered.scope for f in made})
        return made[0], made[1]

    def _done_plainly(self, function: ir.Function, lowered: Lowered) -> tuple[ir.Function, ...]:
        return self._done((function,), self._context(lowered, {}), frozenset())

    def tangent(self, name: str, request: CalleeRequest, exposed: bool) -> ir.Function:
        """The tangent function of a callee; `exposed`: its caller may write what it is given or
        gives back."""
        made, _ = self._tangent(
            name, request.lowered, request.active, request.kinds, protect=False, exposed=exposed
        )
        made = request.annotated(made)
        self.scopes[name] = request.lowered.scope
        return made

    def effects(self, lowered: Lowered, kinds: Mapping[str, Kind]) -> Effects:
        """Which arguments a callee may write, and which its result may share memory with."""
        context = self._context(lowered, kinds)
        function, sources = lowered.function, context.sources()
        found = effects_of(function, structure(function), sources)
        flow = functools.partial(context.flow, function)
        return cut_effects(found, function, flow, sources, self._inside(context))

    def _inside(self, context: Context) -> Callable[[ir.Expr], tuple[str, ...]]:
        """The names whose values may be in that of an expression."""
        return functools.partial(operands, kinds=context.kinds, book=self.book)

    def result_kind(self, lowered: Lowered, kinds: Mapping[str, Kind]) -> Kind:
        """What a callee returns, given what is known of its arguments."""
        function, cuts = lowered.function, cuts_made()
        if cuts is not None and cuts.behind((function.name,)):
            return UNKNOWN
        result = function.body[-1] if function.body else None
        if not isinstance(result, ir.Return) or result.value is None:
            return OTHER
        return kind_of(result.value, self._kinds(function, kinds), self.book)

    def base_kind(self, lowered: Lowered, kinds: Mapping[str, Kind]) -> Kind:
        """What a callee returns where that depends on no function of the user's."""
        function = lowered.function
        last = function.body[-1] if function.body else None
        if not isinstance(last, ir.Return) or last.value is None:
            return UNKNOWN
        known = self._kinds(function, kinds)
        stmts = [stmt for stmt in ir.statements(function.body) if isinstance(stmt, ir.Assign)]
        made = (name for s in stmts if self._calls(s.value) for name in ir.binds(s))
        called = computed_from(function, made)

        def base(expr: ir.Expr) -> Kind:
            if isinstance(expr, ir.Display) and expr.form == "tuple":
                return Kind("tuple", items=tuple(map(base, expr.items)))
            ends = [expr]
            if isinstance(expr, ir.Var) and expr.name in called:
                ends = [stmt.value for stmt in stmts if stmt.target == expr.name]
            ends = [e for e in ends if not called & ir.names_in(e) and not self._calls(e)]
            found = [kind_of(end, known, self.book) for end in ends]
            return functools.reduce(Kind.join, found) if found else UNKNOWN

        return base(last.value)

    def _calls(self, expr: ir.Expr) -> bool:
        """Whether an expression names a function of the user's."""
        refs = (part for part in ir.walk(expr) if isinstance(part, ir.Ref))
        return any(self.book.is_callee(ref.obj) for ref in refs)

    # --------------------------------------------------------------------------- the stages

    def _kinds(self, function: ir.Function, given: Mapping[str, Kind]) -> Mapping[str, Kind]:
        """The kinds of a function's names; several stages, and its callers, ask the same."""
        starred = {p.name for p in function.params if p.kind in ("*", "**")}
        given = {n: k for n, k in given.items() if k != UNKNOWN or n in starred}
        key = (id(function), frozenset(given.items()))
        known = self._inferred.get(key)
        if known is None:
            given = {**given, **dict.fromkeys(function.shadows, SHADOW)}
            known = self._inferred[key] = function, infer_kinds(function, given, self.book)
        return known[1]

    @property
    def keys_stay(self) -> bool:
        """Whether it is known that dicts that are given keep their keys."""
        return keys_stay(self.book)

    def forget_kinds(self) -> None:
        """What was found while something was assumed of a recursive call that is not true."""
        self._inferred.clear()

    def _context(self, lowered: Lowered, given: Mapping[str, Kind]) -> Context:
        function = lowered.function
        kinds = self._kinds(function, given)
        names = Names(all_names(function))
        return Context(
            dict(kinds),
            self.book,
            self.callees,
            names,
            lowered.scope.numpy_alias,
            dict(lowered.original),
            set(lowered.temporaries),
            self.real,
            frozenset(n for s in ir.statements(function.body) for n in _meant(s)),
        )

    def _desugared(
        self, lowered: Lowered, wrt: tuple[str, ...], given: Mapping[str, Kind]
    ) -> tuple[Lowered, Context]:
        """A function as both modes read it, and what they know of it."""
        with self.record.stage("normalized") as run:
            context = self._context(lowered, given)
            function = self._without_cut_paths(lowered.function, wrt, context)
            if function is not lowered.function:
                lowered = dataclasses.replace(lowered, function=function)
            for change in passes("normalized"):
                function = change(lowered.function, wrt, context)
                if function is not lowered.function:
                    made = frozenset(context.temporaries)
                    lowered = dataclasses.replace(lowered, function=function, temporaries=made)
                    context = self._context(lowered, given)
            run.made = lowered.function
        return lowered, context

    def _without_cut_paths(
        self, function: ir.Function, wrt: tuple[str, ...], context: Context
    ) -> ir.Function:
        varied = functools.cache(lambda: context.varied(function, wrt))
        sources = context.sources()
        refuse_varied_functions(function, varied)
        refuse_writes_into_classes(function, varied, sources.written, context.kinds)
        return without_cut_paths(
            function,
            varied,
            functools.cache(functools.partial(self._useful, function, context)),
            sources,
            self._inside(context),
            self.texts,
        )

    def _useful(self, function: ir.Function, context: Context) -> frozenset[str]:
        return useful_names(function, context.flow(function), context.kinds, self.book)

    def _formals(self, obj: Any) -> tuple[str, tuple[str, ...]]:
        """The name of a function that is called, as it is read, and its parameters."""
        function = self.callees.lowered(obj).function
        return function.name, function.param_names

    def _asking(
        self, function: ir.Function, wrt: tuple[str, ...], context: Context, stores: bool = True
    ) -> ir.Function:
        """A function that asks whether what varies is put into arrays of integers (what a callee
        is given may be one; a gradient is asked for by floats), and what it is combined with."""
        named, floats = self._given_floats
        floats = floats if function.name == named else ()
        varied = functools.cache(lambda: context.varied(function, wrt))
        ruled = lambda obj: self.book.find(obj) is not None  # noqa: E731
        if self.own_ways:
            function = asking_for_numpys(function, varied(), self.book.is_callee)
        return asking_for_floats(function, floats, varied, context.sources(), ruled, stores)

    def computes_complex(self, lowered: Lowered, given: Mapping[str, Kind], seen: set[Any]) -> bool:
        """Whether a function or one that it calls may compute with complex numbers."""
        function = lowered.function
        if computes_complex(function, self._kinds(function, given)):
            return True
        for ref in fact(references, function):
            if self.book.is_callee(ref.obj) and ref.obj not in seen:
                seen.add(ref.obj)
                if self.computes_complex(self.callees.lowered(ref.obj), {}, seen):
                    return True
        return False

    def _primal(
        self,
        lowered: Lowered,
        wrt: tuple[str, ...],
        given: Mapping[str, Kind],
        shared: tuple[str, ...],
    ) -> tuple[Primal, Context]:
        """Everything the reverse transform needs to know of one function."""
        if self.reading.by_identity:
            return self._primal_by_identity(lowered, wrt, given, shared)
        asked = (has_shadow, _stores_when_asked, reads_around)
        if any(ask(lowered.function) for ask in asked):
            raise not_by_names(lowered.function.place)
        read = lowered.function
        varied = functools.cache(lambda: self._context(lowered, given).varied(read, wrt))
        lowered = self._stars_written_out(lowered, given)
        lowered = short_calls_written_out(lowered, self.callees, wrt, varied)
        lowered, context = self._desugared(comprehensions_whole(lowered, wrt), wrt, given)
        refuse_local_inputs(lowered.function, wrt, lowered.original, context.kinds)
        changed = functools.partial(context.varied, lowered.function, wrt)
        if writes_attributes_as_items(lowered.function, changed, context.sources().written):
            raise not_by_names(lowered.function.place)
        lowered = self._check_outside(lowered, wrt, context, restores=True)
        context.idle = self._idle_names(lowered.function, wrt, context)
        function = self._stored(lowered.function, wrt, given, context)
        function, aliases, counters = self._prepared(function, wrt, shared, context)
        with self.record.stage("called") as run:
            active = self._active(function, wrt, shared, context)
            written = tuple(filter(aliases.is_written, function.param_names))
            conversion = CallConversion(active, aliases, context, counters)
            run.made = function = conversion.function(function)
            refuse_local_inputs(function, wrt, {}, context.kinds)
        known = (function, aliases, active, conversion.sites, counters)
        return Primal(*known, wrt, written, shared), context

    def _stars_written_out(self, lowered: Lowered, given: Mapping[str, Kind]) -> Lowered:
        """A function that is given the items of a known tuple or dict may be short."""
        if not has_stars(lowered.function):
            return lowered
        context = self._context(lowered, given)
        function = stars_written_out(lowered.function, context)
        return lowered.with_body(function.body, context.temporaries)

    def _idle_names(
        self, function: ir.Function, wrt: tuple[str, ...], context: Context
    ) -> frozenset[str]:
        """The names that carry no derivatives, where functions that are not known now may write
        them unseen: the reverse sweep reads what they were before."""
        calls = [getattr(stmt, "value", None) for stmt in ir.statements(function.body)]
        hides = context.sources().may_hide
        if not any(isinstance(call, ir.Call) and hides(call) for call in calls):
            return frozenset()
        names = frozenset(n for s in ir.statements(function.body) for n in ir.reads(s))
        flow = context.flow(function)
        return names - carrying_names(function, flow, wrt, context.kinds, self.book)

    def _active(
        self,
        function: ir.Function,
        wrt: tuple[str, ...],
        shared: tuple[str, ...] | None,
        context: Context,
    ) -> frozenset[str]:
        """The names that carry derivatives; refuses what nothing is known of. A caller sees what
        becomes of `shared`; with None of all parameters that are written."""
        flow = context.flow(function)
        active = active_names(function, wrt, context.kinds, self.book, targets=shared, flow=flow)
        refuse_unknown(function, active, self.book, context.kinds, wrt)
        refuse_hidden_writes(function, active, context.kinds, self.book)
        self._refuse_calls_that_stay(function, wrt, active, context)
        context.alike = depends_on_layout(function, self._body)
        return active

    def _refuse_calls_that_stay(
        self,
        function: ir.Function,
        wrt: tuple[str, ...],
        active: Collection[str],
        context: Context,
        followed: Collection[int] = (),
        converted: ir.Function | None = None,
    ) -> None:
        """Refuse calls that are not those of a derivative and lose one unseen; those `followed` in
        the function as it is `converted` are."""
        varied = functools.cache(lambda: context.varied(function, wrt))
        read = converted or function
        refuse_keys_in_calls(read, varied, active, context.sources(), followed)
        left = set(map(id, ir.statements(read.body))).difference(followed)
        useful = functools.partial(self._useful, function, context)
        given = (active, useful, context.sources(), self.texts)
        refuse_text_in_calls(function, varied, *given, left)
        self._refuse_hidden_effects(function, varied, context.kind_of, set())
        self.outside.refuse_unasked(read, varied, frozenset(active), context.sources(), followed)
        cuts = cuts_made()
        if cuts is not None and cuts.made:
            followed = {*followed, *writing_calls(read, frozenset(active), context)}
            refuse_cut_callees(read, varied(), active, cuts, self._keeps_effects, followed)

    def _refuse_hidden_effects(
        self,
        function: ir.Function,
        varied: Callable[[], frozenset[str]],
        kind: Callable[[ir.Expr], Kind],
        seen: set[Any],
        writers: frozenset[str] | None = None,
    ) -> None:
        """Refuse what operators and tests call that writes what varies, and calls of that whose
        functions have code without derivatives that writes, by functions that they are given, too:
        in such a function `writers` are the parameters that stand for those."""
        inner, writes = writers is not None, functools.partial(self._writes, kind)
        apart = Apart(function, writes, self._changes, kind, writers or frozenset())
        apart.refuse_asked(varied)
        if inner:
            apart.refuse_hidden()
        stmts = ir.statements(function.body)
        parts = (part for stmt in stmts for expr in ir.expressions(stmt) for part in ir.walk(expr))
        for call in parts:
            if not (isinstance(call, ir.Call) and isinstance(call.fn, ir.Ref)):
                continue
            if not self.book.is_callee(call.fn.obj):
                continue
            if not inner and ir.names_in(call).isdisjoint(varied()):
                continue
            given, actuals = self.callees.kinds_given(call, kind), bind_surely(call)
            handed = frozenset(p for p, value in actuals.items() if apart.is_writer(value))
            key = (call.fn.obj, frozenset(given.items()), handed)
            if key not in seen:
                seen.add(key)
                lowered = self.callees.lowered(call.fn.obj)
                context = self._context(lowered, given)
                inside = functools.partial(_varied_in, lowered.function, context, actuals, varied)
                asks = (functools.cache(inside), context.kind_of, seen, handed)
                self._refuse_hidden_effects(lowered.function, *asks)

    def _keeps_effects(self, obj: Any) -> bool:
        """Whether the whole of a function does no more to its arguments than what is left of it
        where something was cut out."""
        if self._whole is None:
            self._whole = Builder(self.book.book, keeps=False, stored=Stored(anything=True))
        with cutting(None):
            whole = self._whole.callees.effects(obj)
        return whole is not None and whole == self.callees.effects(obj)

    def _stored(
        self,
        function: ir.Function,
        wrt: tuple[str, ...],
        given: Mapping[str, Kind],
        context: Context,
    ) -> ir.Function:
        """A function whose writes in place are stores of entries."""
        with self.record.stage("stored") as run:
            read = function
            function = refuse_changed_containers(function, wrt, context)
            function = self._asking(writes_as_stores(function, context), wrt, context)
            function = loops_repeatable(updates_as_stores(function, context), wrt, context)
            shared_loads = share_loads(function, context)
            run.made = shared_loads = known_compositions(shared_loads, context)
            if shared_loads is not function and _shapes_gone(function, shared_loads, context.kinds):
                context.kinds.update(infer_kinds(shared_loads, given, self.book))
            check_bound(shared_loads, read, "spell")
            return shared_loads

    def _prepared(
        self, function: ir.Function, wrt: tuple[str, ...], shared: tuple[str, ...], context: Context
    ) -> tuple[ir.Function, Aliases, dict[int, str]]:
        """A function as the reverse transform reads it, what shares memory in it, and the counters
        of its loops."""
        with self.record.stage("prepared") as run:
            function, facts, aliases = rebind_updates(function, wrt, context, frozenset(shared))
            preparation = Preparation(function, facts, aliases, context)
            run.made = prepared = preparation.run()
            if prepared is not function:
                sources = context.sources()
                aliases = analyse_aliases(Sharing(structure(prepared, shared), sources))
            return prepared, aliases, preparation.counters

    def _primal_by_identity(
        self,
        lowered: Lowered,
        wrt: tuple[str, ...],
        given: Mapping[str, Kind],
        shared: tuple[str, ...],
    ) -> tuple[Primal, Context]:
        """The same where adjoints are found by identity: who shares memory does not matter."""
        lowered, context = self._desugared(comprehensions_whole(lowered, wrt), wrt, given)
        lowered = self._check_outside(lowered, wrt, context, restores=True)
        context.idle = self._idle_names(lowered.function, wrt, context)
        for name in set(wrt) - set(lowered.function.param_names):
            raise UnsupportedError(
                f"the adjoint of `{name}`, a local variable, is not known where arrays may share "
                "memory",
                lowered.function.place,
                "Name a parameter in wrt=, or copy the arrays where they differ.",
            )
        with self.record.stage("stored") as run:
            numbers = {n for n, k in context.kinds.items() if k.form in ("number", "other")}
            function = writes_as_stores(lowered.function, context)
            function = self._asking(function, wrt, context, stores=False)
            run.made = function = rebound(function, numbers, context)
        writes = any(map(context.sources().written, ir.statements(function.body)))
        with self.record.stage("prepared") as run:
            aliases = one_memory(function, writes, context)
            facts = structure(function, shared)
            preparation = IdentityPreparation(function, facts, aliases, context)
            run.made = function = preparation.run()
        with self.record.stage("called") as run:
            primal = self._called_by_identity(function, wrt, shared, writes, preparation, context)
            run.made = primal.function
        return primal, context

    def _called_by_identity(
        self,
        function: ir.Function,
        wrt: tuple[str, ...],
        shared: tuple[str, ...],
        writes: bool,
        preparation: IdentityPreparation,
        context: Context,
    ) -> Primal:
        """What the reverse transform by identity needs to know, of a function as it is prepared."""
        sources, kinds, flow = context.sources(), context.kinds, context.flow(function)
        active = active_names(function, wrt, kinds, self.book, targets=shared, flow=flow)
        refuse_unknown(function, active, self.book, kinds, wrt)
        refuse_hidden_writes(function, active, kinds, self.book)
        context.alike = True
        written: tuple[str, ...] = ()
        if writes:
            sharing = Sharing(structure(function, shared), sources)
            behind = frozenset(sharing.classes.get(n, n) for n in sharing.direct)
            seen = Aliases(sharing.classes, behind)
            params = function.param_names
            written = tuple(p for p in params if p in sharing.direct or seen.is_written(p))
        aliases = one_memory(function, writes, context)
        context.outer = self.outside.given_to_unknown(function, sources)
        conversion = IdentityCalls(active, aliases, context, preparation.counters)
        converted = conversion.function(function)
        refuse_writes_by_others(converted, conversion.sites.keys(), context)
        self._refuse_calls_that_stay(function, wrt, (), context, conversion.sites.keys(), converted)
        if converted is not function:
            function, aliases = converted, one_memory(converted, writes, context)
        counters, sites = preparation.counters, conversion.sites
        return Primal(function, aliases, active, sites, counters, wrt, written, shared)

    def _check_outside(
        self,
        lowered: Lowered,
        wrt: tuple[str, ...],
        context: Context,
        restores: bool = False,
    ) -> Lowered:
        """Refuse what cannot be right of changes of what belongs to no function, and have the
        function ask what the run must say."""
        function = lowered.function
        varied = functools.cache(lambda: context.varied(function, wrt))
        given_back = function.name == self._exposed
        context.numbers = self.outside.numbers
        asking = self.outside.check(function, varied, context.sources(), restores, given_back)
        if restores and self.outside.numbers.boxes:
            asking = outer_numbers_named(asking, context)
        return lowered if asking is function else dataclasses.replace(lowered, function=asking)

    def body(self, obj: Any) -> ir.Function:
        """A user's function in the normal form."""
        return self.callees.lowered(obj).function

    def named_by(self, function: ir.Function) -> tuple[tuple[ir.Function, ...], tuple[ir.Ref, ...]]:
        """A function with those that it calls, and the data outside that they name."""
        return named_by(function, self._body)

    def changed(
        self, lowered: Lowered, given: Mapping[str, Kind], functions: Iterable[ir.Function]
    ) -> Changed:
        """Which objects a function and those that it calls may change."""

        def kinds_of(function: ir.Function) -> Callable[[ir.Expr], Kind]:
            known = given if function is lowered.function else {}
            return self._sources_of(function, known).kind_of

        return changed_by(functions, kinds_of)

    def refuse_unread(
        self, lowered: Lowered, names: tuple[str, ...], given: Mapping[str, Kind]
    ) -> None:
        """Refuse to give a function, as arguments, what it changes for others to read."""
        if not names:
            return
        context = self._context(lowered, given)
        function, flow = lowered.function, context.flow(lowered.function)
        useful = useful_names(function, flow, context.kinds, self.book, result_only=True)
        if not all(n in useful and is_read(function, n, useful) for n in names):
            raise not_lent(function.place)

    def given_back(self, lowered: Lowered, given: Mapping[str, Kind]) -> tuple[str, ...]:
        """The outer arrays and containers that a function may give back, and the parameters, by
        their names."""
        function = lowered.function
        outer = self.outside.given_back(function, self._sources_of(function, given))
        return (*outer, *sorted(self.effects(lowered, given).returned))

    def _body(self, obj: Any) -> ir.Function | None:
        """A user's function in the normal form, if it can be read and has no rule."""
        if self.book.knows(obj):
            return None
        return None if self.callees.effects(obj) is None else self.callees.lowered(obj).function

    def _sources_of(
        self, function: ir.Function, given: Mapping[str, Kind] | None = None
    ) -> Sources:
        """What may share memory in a function, knowing at most the kinds of its parameters."""
        kinds = dict(self._kinds(function, given or {}))
        return Context(kinds, self.book, self.callees, Names()).sources()

    def _tangent(
        self,
        name: str,
        lowered: Lowered,
        wrt: tuple[str, ...],
        given: Mapping[str, Kind],
        protect: bool,
        exposed: bool,
    ) -> tuple[ir.Function, tuple[str, ...]]:
        lowered, context = self._desugared(lowered, wrt, given)
        lowered = self._check_outside(lowered, wrt, context)
        with self.record.stage("stored") as run:
            function = writes_as_stores(lowered.function, context)
            run.made = function = self._asking(function, wrt, context)
        active = self._active(function, wrt, None, context)  # (a caller sees what is written)
        twice = given_twice(function, active, context) if exposed else frozenset()
        if twice:
            active |= twice
            refuse_unknown(function, active, self.book, context.kinds, wrt)
        known = protect or function.name == self._exposed
        written = self._written(function, context) if known else ()
        context.outer = self.outside.given_to_unknown(function, context.sources())
        with self.record.stage("derived") as run:
            copied = written if protect else None
            made = forward(function, wrt, active, context, name, copied, exposed)
            run.made = self._done((made,), context, active)
            return run.made[0], written

    def _written(self, function: ir.Function, context: Context) -> tuple[str, ...]:
        """The parameters whose values forward mode copies before they are written."""
        sources, written = context.sources(), frozenset[str]()
        if any(map(sources.written, ir.statements(function.body))):
            written = effects_of(function, structure(function), sources).written
        return tuple(p for p in function.param_names if p in written)

    def _done(
        self, functions: tuple[ir.Function, ...], context: Context, active: frozenset[str]
    ) -> tuple[ir.Function, ...]:
        functions = tuple(map(self.plain.in_part, functions))
        functions = tuple(map(self.methods.restored, functions))
        functions = tuple(map(self.callees.variants.restored, functions))
        functions = tuple(map(self.methods.as_attributes, functions))
        identity = self.reading.by_identity or any(map(has_shadow, functions))
        shadows = frozenset[str]().union(*map(called_shadows, functions))
        functions = tuple(map(as_methods, functions))
        local = (n for f in functions for s in ir.statements(f.body) for n in ir.binds(s))
        self.callees.names.take(local)  # (none may hide a function that is printed beside it)
        functions = tuple(self.checkpoints.printed(f, self.plain.function) for f in functions)
        functions = tuple(
            with_inner_functions(f, self.plain.function, self.plain.class_of) for f in functions
        )
        for function in functions:
            check_program(function)
            self.facts[function.name] = Facts(
                kinds={**context.kinds, **dict.fromkeys(shadows, SHADOW)},
                is_pure=functools.partial(is_computation, self.book),
                shares_memory=functools.partial(shares_memory, self.book),
                temporaries=frozenset(context.temporaries),
                original=context.original,
                floating=active,
                derivatives=context.derivatives,
                narrow=frozenset(context.narrow),
                real=context.real,
                alias=context.numpy_alias,
                foreign=isinstance(self.book.book, ForeignBook),
                by_identity=identity,
                handed_back=function.name == self._handed_back,
            )
        return functions

    def simplified(self, function: ir.Function) -> ir.Function:
        """One function, as a person would have written it."""
        facts = self.facts[function.name]
        if self.tries and any(function.name == callee.name for callee in self.callees.functions):
            facts = dataclasses.replace(facts, tried=True)
        made, self.facts[function.name] = simplified(function, facts)
        check_program(made)
        return made


def _varied_in(
    function: ir.Function,
    context: Context,
    actuals: Mapping[str, ir.Expr],
    varied: Callable[[], frozenset[str]],
) -> frozenset[str]:
    """The names that vary in a function where what varies in its caller is among its arguments."""
    given = [p for p, value in actuals.items() if not ir.names_in(value).isdisjoint(varied())]
    return context.varied(function, given)


def _shapes_gone(function: ir.Function, shorter: ir.Function, kinds: Mapping[str, Kind]) -> bool:
    """Whether kinds call shapes after names that a function has no more."""
    old, new = (ir.bindings(ir.statements(f.body)) for f in (function, shorter))
    gone = old.keys() - new.keys()
    return any(not gone.isdisjoint(shaped_by(k)) for n, k in kinds.items() if n not in gone)


def _stores_when_asked(function: ir.Function) -> bool:
    """Whether a function stands for a cached property: the objects that mirror others have no
    attribute for what is stored when it is first asked for."""
    return any(ref.obj is is_stored for ref in fact(references, function))


def _goes_on(stmt: ir.Stmt) -> bool:
    """Whether a statement is a `try` after which the function goes on where its body raised."""
    return isinstance(stmt, ir.Try) and not ends_by_raising(stmt.orelse)


def _meant(stmt: ir.Stmt) -> frozenset[str]:
    """The names that a statement reads, or binds to what its adjoint may ask for; those of a loop
    that only counts its rounds are not among them."""
    counts = isinstance(stmt, ir.For) and isinstance(stmt.target, str)
    return ir.reads(stmt).union(() if counts else ir.binds(stmt))


def _handed_on(function: ir.Function, cls: type | None) -> Iterator[Any]:
    """The functions that another one gives all of some arguments, `fn(*args)`, and the methods of
    its first argument, of the class `cls`, that it calls."""
    for part in ir.walk_block(function.body):
        match part:
            case ir.Call(ir.Ref(obj=obj), args) if any(map(ir.is_starred, args)):
                yield obj
            case ir.Call(ir.Attribute(ir.Var(name), method)) if name in function.param_names[:1]:
                yield getattr(cls, method, None)
