"""The functions a derivative calls: each emitted once, as a pair or as a tangent function.

A call `y = g(a, b)` in the primal becomes `y, tape = g_fwd(a, b)`, and in the reverse sweep
`a_bar, b_bar = g_bwd(tape, y_bar)`; in forward mode `y, y_dot = g_jvp(a, b, a_dot=a_dot)`.
A parameter that `g` writes in place is passed its adjoint buffer instead of having one returned:
`g_bwd(tape, y_bar, p_bar)` restores the parameter and updates the buffer, both in place.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import itertools
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ... import ir, runtime
from ...analysis.cut_paths import Texts
from ...analysis.evidence import told_apart
from ...analysis.kind_of import literal
from ...analysis.memory import Effects
from ...analysis.operations import is_python_function
from ...analysis.outside import Outside
from ...errors import InternalError, Place, UnsupportedError, again, called_at
from ...frontend.checkpoints import inside_checkpoint
from ...frontend.lifting import lifted_of
from ...frontend.lower import Lowered, names_of
from ...frontend.owners import mark_of
from ...frontend.primal import emitted_of
from ...frontend.signatures import plain_signature
from ...ir.facts import fact
from ...ir.identity import ByIdentity
from ...ir.index import all_names
from ...ir.kind import (
    FLOAT,
    FUNCTION,
    MANY,
    NOTHING,
    UNKNOWN,
    Dim,
    Kind,
    is_many,
    is_named,
    no_deeper,
)
from ...ir.names import Names
from ...rules.index_kinds import TRIMMED, sliced
from ...runtime.records import attribute_of
from ..normalize.shadow_calls import as_functions
from ..request import Reading
from .function_values import given_words, words_of
from .object_calls import checked_classes, of_class
from .variants import Variants

# --------------------------------------------------------------------------------------------------
# What a call gives each parameter of the function that it calls.


def bind(call: ir.Call) -> dict[str, ir.Expr]:
    """The actual expression of each formal that a call gives one."""
    return dict(_bound(call))


@ir.of_node
def _bound(call: ir.Call) -> dict[str, ir.Expr]:
    assert isinstance(call.fn, ir.Ref)
    signature = plain_signature(call.fn.obj)
    if any(map(ir.is_starred, call.args)):
        raise UnsupportedError(
            f"how many arguments this call gives `{call.fn.text}` is not known until run time",
            call.at,
            "Unpack a tuple that is written out, as in `args = (x, y)`, or write the arguments "
            "one by one.",
        )
    try:
        bound = signature.bind(*call.args, **dict(call.kwargs))
    except TypeError as error:
        if lifted_of(call.fn.obj) is not None and "self" in signature.parameters:
            raise UnsupportedError(
                f"this call does not fit `{call.fn.text}`: {error}",
                call.at,
                "Its defaults are the values it captures: they cannot be passed here. Make it "
                "without them (`lambda x: x * t`), or a parameter without a default.",
            ) from None
        raise UnsupportedError(
            f"this call does not fit `{call.fn.text}{signature}`: {error}",
            call.at,
            "Pass the arguments that the function takes.",
        ) from None
    actuals: dict[str, ir.Expr] = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            value = ir.Display("tuple", tuple(value))
        elif kind is inspect.Parameter.VAR_KEYWORD:
            keys = tuple(map(ir.Const, value))
            value = ir.Display("dict", tuple(value.values()), keys)
        actuals[name] = value
    return actuals


def bind_loosely(call: ir.Call) -> dict[str, ir.Expr]:
    """What each formal may be given, where which it is cannot be seen."""
    if not any(map(ir.is_starred, call.args)):
        return bind(call)
    assert isinstance(call.fn, ir.Ref)
    values = (v for a in ir.children(call)[1:] for v in (ir.children(a) or (a,)))
    anything = ir.Display("tuple", tuple(values))
    return dict.fromkeys(plain_signature(call.fn.obj).parameters, anything)


def bind_surely(call: ir.Call) -> dict[str, ir.Expr]:
    """What some of the formals are given, whatever the starred arguments of the call hold: those
    of positions before the first of them, and those given by name."""
    assert isinstance(call.fn, ir.Ref)
    if not any(map(ir.is_starred, call.args)):
        return bind(call)
    args = itertools.takewhile(lambda arg: not ir.is_starred(arg), call.args)
    try:
        signature = plain_signature(call.fn.obj)
        bound = signature.bind_partial(*args, **dict(call.kwargs))
    except (TypeError, ValueError):
        return {}
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    kinds = {name: p.kind for name, p in signature.parameters.items()}
    return {n: e for n, e in bound.arguments.items() if kinds[n] not in open_ended}


# --------------------------------------------------------------------------------------------------
# The pairs and tangent functions of callees.

_MOST_RESULTS = 500  # (function, kinds of arguments) pairs followed in one transform


class Emitted:
    """Stands for a function of the module being emitted, which does not exist yet."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<emitted function {self.__name__}>"


def emitted(name: str) -> ir.Ref:
    return ir.Ref(name, Emitted(name))


@dataclass
class Pair:
    """`g_fwd` and `g_bwd`. `adjoints`: formals whose adjoints `g_bwd` returns, in order (a bare
    value when there is one); `written`: formals whose adjoint buffers it is passed; `restores`:
    `g_bwd` may give earlier entries to what `g_fwd` returned; `recursive`: it was asked for while
    it was being made, so its shape cannot change any more; `unseen`: written formals whose
    entries `g_bwd` does not read; `seeds`: where numbers are in the result whose adjoints `g_bwd`
    is given by name, besides the shadow in which it finds all others."""

    fwd: ir.Ref
    bwd: ir.Ref
    adjoints: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    result_active: bool = True
    restores: bool = True
    recursive: bool = False
    unseen: frozenset[str] = frozenset()
    seeds: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class CallSite:
    """One call of a pair in the primal: `result, tape = fwd(...)`.

    `operands` are the caller's names for `pair.adjoints`, `written` those for `pair.written`;
    `changed` are names it writes as well, which carry no derivative: the caller restores them.
    `others` are the names in what it gives for other formals than `pair.adjoints`.
    """

    pair: Pair
    result: ir.Target
    tape: str
    operands: tuple[str, ...]
    written: tuple[str, ...]
    changed: tuple[str, ...] = ()
    others: frozenset[str] = frozenset()

    @property
    def is_late(self) -> bool:
        """Whether the function is not known until run time."""
        return isinstance(self.pair.bwd, ir.Var)

    @property
    def results(self) -> tuple[str, ...]:
        """The names that the result is bound to."""
        return ir.target_names(self.result)


class Builder(Protocol):
    """What the pipeline gives: how to make the functions a request stands for, and the rules."""

    book: Any
    reading: Reading
    outside: Outside
    texts: Texts
    tries: bool

    def lower(self, fn: Any) -> Lowered: ...

    def read(
        self,
        lowered: Lowered,
        given: Mapping[str, Kind],
        guard: bool = False,
        deciding: Mapping[str, Kind] | None = None,
    ) -> Lowered: ...

    def pair(self, pair: Pair, request: Request) -> tuple[ir.Function, ir.Function]: ...

    def tangent(self, name: str, request: Request, exposed: bool) -> ir.Function: ...

    def effects(self, lowered: Lowered, kinds: Mapping[str, Kind]) -> Effects: ...

    def result_kind(self, lowered: Lowered, kinds: Mapping[str, Kind]) -> Kind: ...

    def base_kind(self, lowered: Lowered, kinds: Mapping[str, Kind]) -> Kind: ...

    def forget_kinds(self) -> None: ...

    @property
    def keys_stay(self) -> bool: ...

    def makes(self, asked: Callable[[type], bool]) -> bool: ...


@dataclass(frozen=True)
class Request:
    """A callee, which formals are active, and what is known of all formals; `callee` is the
    function object (a checkpointed one gets a pair of its own kind)."""

    lowered: Lowered
    active: tuple[str, ...]
    kinds: Mapping[str, Kind]
    annotations: Mapping[str, str] = field(default_factory=dict)
    callee: Any = field(default=None, compare=False)

    def annotated(self, function: ir.Function) -> ir.Function:
        """A function made of the callee, with the user's annotations for its readers."""
        params = tuple(
            dataclasses.replace(p, annotation=self.annotations.get(p.name, ""))
            for p in function.params
        )
        return dataclasses.replace(function, params=params)


@dataclass
class Callees:
    """Everything the main function calls; functions in the order they must be printed."""

    builder: Builder | None = None
    names: Names = field(default_factory=Names)
    reverses: bool = True  # whether derivatives are made in reverse mode
    of_complex: bool = False  # whether they are read as `for_complex`
    reads_derivatives: bool = False  # whether any was read
    functions: list[ir.Function] = field(default_factory=list)
    _lowered: ByIdentity[Lowered] = field(default_factory=ByIdentity)
    _begun: ByIdentity[Lowered] = field(default_factory=ByIdentity)  # whose callees are being read
    _met_begun: bool = False  # whether one of these was asked for
    _refused: ByIdentity[UnsupportedError] = field(default_factory=ByIdentity)
    _annotations: ByIdentity[dict[str, str]] = field(default_factory=ByIdentity)
    _pairs: dict[Any, Pair] = field(default_factory=dict)
    _tangents: dict[Any, ir.Ref] = field(default_factory=dict)
    asks_keys: bool = False  # whether what a call gives depended on the keys of a dict
    _results: dict[Any, Kind] = field(default_factory=dict)
    _assumed: set[Any] = field(default_factory=set)  # of these, what nothing has used yet
    _unfinished: list[Any] = field(default_factory=list)
    read: Callable[[Lowered], Lowered] = field(default=lambda lowered: lowered)
    made: ByIdentity[Lowered] = field(default_factory=ByIdentity)  # of functions that we made
    unsettled: ByIdentity[Lowered] = field(default_factory=ByIdentity)  # methods not looked for yet

    def __post_init__(self) -> None:
        self.variants = Variants(self.lowered)
        self._effects = CalleeEffects(self.lowered, self._effects_given)
        self.variants.effects = self._sure_effects

    def gives_outer(self, obj: Any) -> bool:
        """Whether a user's function may give back what is defined outside it."""
        if not is_python_function(obj) or self.builder is None:
            return False
        with contextlib.suppress(UnsupportedError):
            return bool(self.builder.outside.of_callee(obj).returned)
        return False

    def lowered(self, obj: Any) -> Lowered:
        """The callee's lowered form (refused with a place in the callee, if it must be).

        Without its annotations: what a call passes is known from the call, and nothing checks
        that it keeps them. A function that we emitted is read instead of what guards it.
        """
        if obj in self.variants.lowered:
            return self.variants.lowered[obj]
        if obj in self.made:
            return self.made[obj]
        if mark_of(obj, "derives"):
            raise _operator_unresolved(obj, None)
        if obj not in self._lowered:
            self._read(obj)
        elif obj in self._begun:
            self._met_begun = True
        return self._lowered[obj]

    def _read(self, obj: Any) -> None:
        """Read a callee, once: many ask for what is refused, and so do those that ask for these.
        (A refusal is not kept that rests on a function of which the reading has but begun.)"""
        if obj in self._refused:
            raise again(self._refused[obj])
        met, self._met_begun = self._met_begun, False
        try:
            self._lower(obj)
        except UnsupportedError as refusal:
            if not self._met_begun:
                self._refused[obj] = again(refusal)
            raise
        finally:
            self._met_begun = self._met_begun or met

    def _lower(self, obj: Any) -> None:
        """Read a callee; it can be asked for while what it calls is read."""
        assert self.builder is not None
        reading = self.builder.reading
        derivative = emitted_of(obj, self.of_complex, reading.by_identity, reading.looked_up)
        self.reads_derivatives |= derivative is not None
        plain = derivative or inside_checkpoint(obj) or obj
        found = self.builder.lower(plain)
        empties = attribute_of(obj, "__empties__", ())
        shadows = attribute_of(obj, "__shadows__", ())
        if self.reverses:
            found = stacks_by_position(found, empties)
        self._annotations[obj] = {p.name: p.annotation for p in found.function.params}
        params = tuple(dataclasses.replace(p, annotation="") for p in found.function.params)
        function = dataclasses.replace(
            found.function, params=params, empties=empties, shadows=shadows
        )
        if function != found.function:  # (what is known of the same function stays known)
            found = dataclasses.replace(found, function=function)
        found = dataclasses.replace(found, function=as_functions(found.function))
        if derivative is not None:
            found = _with_results_apart(found, obj, self.builder.effects(found, {}))
        self._lowered[obj] = self.unsettled[obj] = self._begun[obj] = found  # (it may call itself)
        try:
            self._lowered[obj] = self.read(found)
        except UnsupportedError:
            del self._lowered[obj]
            raise
        finally:
            del self._begun[obj]

    def read_before(self, obj: Any) -> Lowered | None:
        """The lowered form of a function, if it was asked for before."""
        for known in (self.variants.lowered, self.made, self._lowered):
            if obj in known:
                return known[obj]
        return None

    bind = staticmethod(bind)
    bind_loosely = staticmethod(bind_loosely)

    def _annotations_of(self, obj: Any) -> dict[str, str]:
        return self._annotations.get(self.variants.plain(obj), {})

    def effects(self, obj: Any) -> Effects | None:
        """What a call may write and return of its arguments; None if it has no source."""
        return self._effects.of(obj)

    def _sure_effects(self, obj: Any) -> Effects:
        """The effects of a function that is differentiated: one that is refused is refused here."""
        effects = self.effects(obj)
        if effects is None:
            self.lowered(obj)  # (this says why)
            raise InternalError("calls", f"the effects of {obj.__name__} are not known")
        return effects

    def _effects_given(self, lowered: Lowered, kinds: Mapping[str, Kind]) -> Effects:
        assert self.builder is not None
        return self.builder.effects(lowered, kinds)

    def effects_here(self, call: ir.Call, kind_of: Callable[[ir.Expr], Kind]) -> Effects | None:
        """The effects of one call, given what is known of its arguments."""
        assert isinstance(call.fn, ir.Ref)
        effects = self.effects(call.fn.obj)
        if effects is None or not effects.written | effects.returned | effects.unseen:
            return effects
        return self._effects.here(call.fn.obj, self.kinds_given(call, kind_of))

    def kinds_given(self, call: ir.Call, kind_of: Callable[[ir.Expr], Kind]) -> dict[str, Kind]:
        """What is known of the arguments of a call, by parameter, without names of the caller."""
        return {f: rough(kind_of(e)) for f, e in bind_surely(call).items()}

    def result_kind(self, call: ir.Call, kind_of: Callable[[ir.Expr], Kind]) -> Kind:
        """What is known of the result of a user's function, given what is known of arguments.

        A recursive call is taken to give a float, or else what the function gives where it calls
        nobody; if the function then does give that, it was right at every depth, and if not,
        nothing is claimed.
        """
        assert isinstance(call.fn, ir.Ref) and self.builder is not None
        if words := words_of(call, kind_of):
            self.asks_keys = True
            if self.builder.keys_stay:
                return self.result_kind(given_words(call, words), kind_of)
        try:
            actuals = bind_surely(call)
            lowered = self.lowered(call.fn.obj)
        except UnsupportedError:
            return UNKNOWN
        actual_kinds = {p: kind_of(e) for p, e in actuals.items()}
        if any(map(ir.is_starred, call.args)):  # (which may give any of the others)
            actual_kinds = {**dict.fromkeys(lowered.function.param_names, UNKNOWN), **actual_kinds}
        kinds = known_arguments(actual_kinds, lowered)
        sizes = {own: size for size, own in _names_of_sizes(actual_kinds).items()}
        key = (call.fn.obj, tuple(sorted(kinds.items(), key=lambda i: i[0])))
        if key in self._results:
            self._assumed.discard(key)  # (what is being found was asked for: a recursive call)
            return rough(self._results[key], sizes)
        if len(self._results) > _MOST_RESULTS:
            return UNKNOWN
        found = self._results[key] = self._found_result(key, lowered, kinds)
        return rough(found, sizes)

    def _found_result(self, key: Any, lowered: Lowered, kinds: Mapping[str, Kind]) -> Kind:
        """What a function gives, whatever of it is asked while that is found."""
        assert self.builder is not None
        before, builder = dict(self._results), self.builder

        def given(guess: Kind) -> tuple[Kind, bool]:
            """What it gives if calls of itself give a guess, and whether that is right."""
            self._results = {**before, key: guess}
            self._assumed.add(key)
            if guess != FLOAT:
                builder.forget_kinds()  # (claim nothing from what was assumed)
            found = builder.result_kind(lowered, kinds)
            right = found == guess or key in self._assumed
            self._assumed.discard(key)
            return found, right

        found, right = given(FLOAT)
        if not right:
            found, right = given(builder.base_kind(lowered, kinds))
        if not right:
            found, right = given(found)
        return found if right else given(UNKNOWN)[0]

    def pair(
        self,
        call: ir.Call,
        active: frozenset[str],
        kind_of: Callable[[ir.Expr], Kind],
        wanted: bool = True,
        added: frozenset[str] = frozenset(),
    ) -> Pair:
        """The forward and backward functions for a call whose active names are given; `wanted`
        says whether the caller has a use for the result; `added` are formals whose adjoints are
        added up in buffers that are passed, as if they were written."""
        assert isinstance(call.fn, ir.Ref) and self.builder is not None
        request = self._request(call, active, kind_of)
        wanted = wanted or not _gives_value(request.lowered.function)
        written = (self.effects_here(call, kind_of) or Effects()).written | added
        key = (wanted, written, self._key(call.fn.obj, request))
        if not wanted:
            request = dataclasses.replace(request, lowered=_without_result(request.lowered))
        if key not in self._pairs:
            again = "checkpointed_" if is_checkpointed(call.fn.obj, self.variants) else ""
            name = again + request.lowered.function.name
            pair = Pair(
                emitted(self.names.fresh(f"{name}_fwd")), emitted(self.names.fresh(f"{name}_bwd"))
            )
            self._pairs[key] = pair
            pair.adjoints = tuple(p for p in request.active if p not in written)
            pair.written = tuple(p for p in request.active if p in written)
            pair.result_active = _gives_value(request.lowered.function)
            self._unfinished.append(key)
            with called_at(call.at):
                self.functions.extend(self.builder.pair(pair, request))
            self._unfinished.remove(key)
        elif key in self._unfinished:
            self._pairs[key].recursive = True
        return self._pairs[key]

    def tangent(
        self,
        obj: Any,
        active: tuple[str, ...],
        kinds: Mapping[str, Kind] | None = None,
        exposed: bool = False,
        at: Place | None = None,
    ) -> ir.Ref:
        """The tangent function of a callee, with tangents for the active formals; `exposed` says
        that the caller may write what it gives or is given."""
        assert self.builder is not None
        with called_at(at):
            lowered = self.lowered(obj)
        known = known_arguments(kinds or {}, lowered)
        request = Request(lowered, active, known, self._annotations_of(obj))
        key = (exposed, self._key(obj, request))
        if key not in self._tangents:
            name = self.names.fresh(f"{lowered.function.name}_jvp")
            self._tangents[key] = emitted(name)
            with called_at(at):
                self.functions.append(self.builder.tangent(name, request, exposed))
        return self._tangents[key]

    def _request(
        self, call: ir.Call, active: frozenset[str], kind_of: Callable[[ir.Expr], Kind]
    ) -> Request:
        assert isinstance(call.fn, ir.Ref)
        if mark_of(call.fn.obj, "derives"):
            raise _operator_unresolved(call.fn.obj, call.at)
        with called_at(call.at):
            lowered = self.lowered(call.fn.obj)
        actuals = self.bind(call)
        formals = lowered.function.param_names
        for actual in actuals.values():
            if isinstance(actual, ir.Display) and ir.names_in(actual) & active:
                raise InternalError("calls", f"several arguments for one parameter in {call}")
        chosen = tuple(
            p
            for p in formals
            if isinstance(actuals.get(p), ir.Var) and actuals[p].name in active  # type: ignore[union-attr]
        )
        kinds = known_arguments({p: kind_of(e) for p, e in actuals.items()}, lowered)
        callee = call.fn.obj
        return Request(lowered, chosen, kinds, self._annotations_of(callee), callee)

    def _key(self, obj: Any, request: Request) -> Any:
        assert self.builder is not None
        text = self.builder.texts.given(request.lowered.function.name)
        return obj, request.active, text, tuple(sorted(request.kinds.items(), key=lambda i: i[0]))


def known_arguments(kinds: Mapping[str, Kind], lowered: Lowered) -> dict[str, Kind]:
    """What a callee is specialized for: the kinds of its arguments, and of the defaults of those
    that a call does not give; nothing of those that it tells apart itself."""
    apart = fact(told_apart, lowered.function)
    left = (p for p in lowered.function.params if p.name not in kinds)
    defaults = {p.name: p.default for p in left if isinstance(p.default, ir.Const)}
    kinds = {**kinds, **{name: literal(default.value) for name, default in defaults.items()}}
    checked = checked_classes(lowered.function)
    found = {p: of_class(kind, checked[p]) if p in checked else kind for p, kind in kinds.items()}
    sizes = _names_of_sizes(kinds)
    return {p: UNKNOWN if p in apart else rough(kind, sizes) for p, kind in found.items()}


def _names_of_sizes(kinds: Mapping[str, Kind]) -> dict[Dim, Dim]:
    """What a callee calls the sizes of arrays that it is given: after the first parameter that
    has an axis of that length."""
    names: dict[Dim, Dim] = {}
    for name, kind in kinds.items():
        shape = kind.shape if isinstance(kind.shape, tuple) else ()
        for axis, size in enumerate(shape):
            if size != 1 and is_named(size):
                names.setdefault(size, f"{name}.{axis}{MANY if is_many(size) else ''}")
    return names


_BESIDE_A_VALUE = ("value_and_grad", "adjoint", "tangent")


def _with_results_apart(lowered: Lowered, obj: Any, effects: Effects) -> Lowered:
    """A derivative that gives adjoints, or tangents, which are objects of their own, as those are
    that a call of it gives: its text may give one array twice, or the seed. What the function
    itself gives stays what it is."""
    request = mark_of(obj, "tangentlike").inner.request
    both = request.has_aux or request.mode in _BESIDE_A_VALUE
    shares = effects.twice or effects.returned
    if not shares or not (both or request.mode in ("grad", "change")):
        return lowered
    place = 0 if request.mode == "grad" else 1  # of what is copied, among two
    function = lowered.function
    names, copy = Names(all_names(function)), ir.Ref("copy", runtime.copy)

    def one(stmt: ir.Stmt) -> ir.Instead:
        if not isinstance(stmt, ir.Return) or stmt.value is None:
            return stmt
        copies: list[ir.Stmt] = []

        def apart(value: ir.Expr) -> ir.Expr:
            if not isinstance(value, ir.Var):
                return ir.rebuild(value, apart) if isinstance(value, ir.Display) else value
            own = names.fresh(value.name)
            copies.append(ir.Assign(own, ir.Call(copy, (value,)), stmt.origin))
            return ir.Var(own)

        match stmt.value:
            case ir.Display(items=(first, second)) if both:
                pair = (apart(first), second) if place == 0 else (first, apart(second))
                value: ir.Expr = dataclasses.replace(stmt.value, items=pair)
            case _:
                value = stmt.value if both else apart(stmt.value)
        return (*copies, dataclasses.replace(stmt, value=value))

    made = dataclasses.replace(function, body=ir.rewrite(function.body, after=one))
    return dataclasses.replace(lowered, function=made)


def _without_result(lowered: Lowered) -> Lowered:
    """A function that is called for what it does to its arguments."""
    *body, last = lowered.function.body
    assert isinstance(last, ir.Return)
    ended = (*body, dataclasses.replace(last, value=None))
    return dataclasses.replace(lowered, function=dataclasses.replace(lowered.function, body=ended))


def _gives_value(function: ir.Function) -> bool:
    """Whether a function returns anything but None."""
    last = function.body[-1] if function.body else None
    return isinstance(last, ir.Return) and last.value not in (None, ir.Const(None))


def rough(kind: Kind, sizes: Mapping[Dim, Dim] | None = None) -> Kind:
    """A kind without the caller's names in it, so that equal requests are recognised; `sizes` has
    other names for sizes of arrays."""
    return _rough(no_deeper(kind), sizes)


def _rough(kind: Kind, sizes: Mapping[Dim, Dim] | None = None) -> Kind:
    if kind.form == "object":
        return _rough_object(kind)
    if kind in (FUNCTION, NOTHING) or kind.module is not None:
        return kind
    shape = kind.shape
    if isinstance(shape, tuple):
        shape = tuple(_size(dim, sizes or {}) for dim in shape)
    else:
        shape = None
    items = None if kind.items is None else tuple(_rough(item, sizes) for item in kind.items)
    item = None if kind.item is None else _rough(kind.item)
    cls = kind.cls if kind.has_methods else None
    return Kind(
        *(kind.form, kind.dtype, shape, items, item),
        cls=cls,
        names=kind.names,
        lasting=kind.lasting,
    )


@ir.of_node
def _rough_object(kind: Kind) -> Kind:
    return kind.map_inside(_rough)


def _size(dim: Dim, sizes: Mapping[Dim, Dim]) -> Dim:
    """What `sizes` calls a size, also where something is cut off; else whether it is 1.

    >>> _size("u.0!-2", {"u.0!": "n!"}), _size("u.0!-1", {"u.0!": "n!-2"}), _size("m!", {})
    ('n!-2', 'n!-3', '!')
    """
    if dim in sizes:
        return sizes[dim]
    trimmed = TRIMMED.fullmatch(dim) if isinstance(dim, str) else None
    if trimmed is not None and trimmed["whole"] in sizes:
        return sliced(sizes[trimmed["whole"]], ir.Slice(ir.Const(int(trimmed["count"]))))
    return 1 if dim == 1 else MANY if is_many(dim) else None


def is_checkpointed(obj: Any, variants: Variants) -> bool:
    """Whether a function is, or is a variant of, one that `checkpoint` made."""
    return inside_checkpoint(variants.plain(obj)) is not None


def _operator_unresolved(operator: Any, place: Any) -> UnsupportedError:
    """`tl.grad` itself is not a function of the user's, to be read like one."""
    name = operator.__name__
    return UnsupportedError(
        f"the function or the wrt that `tl.{name}` is given is not known when the derivative is "
        "made",
        place,
        f"Define the function by name and write wrt as a literal, or call it in a lambda: "
        f"`tl.{name}(lambda x: system.energy(x), wrt=0)`.",
    )


# --------------------------------------------------------------------------------------------------
# What calls of user functions do to their arguments, found once for each function.


# (function, what is known of its parameters) -> effects
Finder = Callable[[Lowered, Mapping[str, Kind]], Effects]
_Key = tuple[types.FunctionType, frozenset[tuple[str, Kind]]]


class CalleeEffects:
    """Effects by function, and by which parameters are known to be arrays, or to hold some or
    numbers."""

    def __init__(self, lowered: Callable[[Any], Lowered], find: Finder) -> None:
        self._lowered = lowered
        self._find = find
        self._found: dict[_Key, Effects] = {}
        self._estimates: set[_Key] = set()  # that nothing has asked for yet

    def of(self, obj: Any, kinds: Mapping[str, Kind] | None = None) -> Effects | None:
        """What a call may write and return of its arguments; None if it has no source."""
        if not inspect.isfunction(obj):
            return None
        key = (obj, frozenset((kinds or {}).items()))
        if key not in self._found:
            before = dict(self._found)
            self._found[key] = Effects()  # a recursive call sees the estimate so far
            try:
                lowered = self._lowered(obj)
            except UnsupportedError:
                del self._found[key]
                return None
            while True:
                self._estimates.add(key)
                found = self._find(lowered, kinds or {})
                if key in self._estimates or found == self._found[key]:
                    break
                self._found = {**before, key: found}  # (that of others may rest on the estimate)
            self._found[key] = found
        self._estimates.discard(key)
        return self._found[key]

    def here(self, obj: Any, kinds: Mapping[str, Kind]) -> Effects | None:
        """The effects of a call that gives these kinds of arguments: what is a number is neither
        written nor shared, and what is an array does not come to hold what is written into it."""
        effects = self.of(obj)
        if effects is None or not effects.written | effects.returned | effects.unseen:
            return effects
        specialized = {f: k for f, k in kinds.items() if k.tells_ranks and k.form != "number"}
        holds = any(kind.form != "array" for kind in specialized.values())
        if specialized and effects.written and (holds or effects.returned or effects.kept):
            effects = self.of(obj, specialized) or effects
        return effects.without([f for f, kind in kinds.items() if kind.form == "number"])


# --------------------------------------------------------------------------------------------------
# Stacks of a tape, read by position.
#
# A backward function empties the stacks of its tape, and nothing sees them again (nor, where it has
# been differentiated in forward mode, those of the tangent of its tape). When it is
# differentiated in its turn it may as well leave them full: what is only read has no sharing to
# be followed, and nothing of it need be put back.
#
# before::                             after::
#     x, h_saved = tape                    x, h_saved = tape
#                                          h_left = len(h_saved)
#     for t in reversed(range(n)):         for t in reversed(range(n)):
#                                              h_left = h_left - 1
#         h = h_saved.pop()                    h = h_saved[h_left]


def stacks_by_position(lowered: Lowered, tapes: Collection[str]) -> Lowered:
    """A backward function that leaves the stacks of its `tapes`, parameters, as they are."""
    function = lowered.function
    stacks = _stacks(function, tapes)
    if not stacks:
        return lowered
    names = names_of(function)
    left = {s: names.fresh(f"{s.removesuffix('_saved')}_left") for s in stacks}
    sure = frozenset(map(_popped, _outside_branches(function.body)))
    body = ir.rewrite(function.body, after=_Reader(left, sure).statement)
    return lowered.with_body(body, left.values())


def _stacks(function: ir.Function, tapes: Collection[str]) -> tuple[str, ...]:
    """The names that are unpacked from the tapes and then only popped from."""
    taped: list[str] = []
    popped: set[str] = set()
    others: set[str] = set()
    top = set(map(id, function.body))
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=tuple() as target, value=ir.Var(tape)) if tape in tapes:
                if id(stmt) in top:
                    taped += ir.target_names(target)
                    continue
        stack = _popped(stmt)
        popped.update([stack] if stack else [])
        others.update([] if stack else ir.reads(stmt))
        others.update(ir.binds(stmt))
    return tuple(n for n in taped if n in popped - others and taped.count(n) == 1)


def _popped(stmt: ir.Stmt) -> str:
    """The stack that a statement takes one value from, and does nothing else with. (A `xs.pop()`
    that binds no name undoes what the user's function appended: a stack would not be there.)"""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(name), "pop"), args=(), kwargs=())):
            return name
    return ""


def _outside_branches(block: ir.Block) -> Iterator[ir.Stmt]:
    """The statements of a block and of the loops in it."""
    for stmt, around in ir.with_parents(block):
        if all(isinstance(outer, ir.For | ir.While) for outer in around):
            yield stmt


@dataclasses.dataclass(frozen=True)
class _Reader:
    left: dict[str, str]  # stack -> the number of values that are left of it
    sure: frozenset[str]  # stacks that are there whichever branches are taken

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        stack = _popped(stmt)
        if stack not in self.left:
            yield stmt
            yield from self.counters(stmt)
            return
        left = ir.Var(self.left[stack])
        assert isinstance(stmt, ir.Assign)
        yield ir.Assign(left.name, ir.Call(ir.SUB, (left, ir.Const(1))), stmt.origin)
        value = ir.Index(ir.Var(stack), left, stmt.origin.place)
        yield ir.Assign(stmt.target, value, stmt.origin)

    def counters(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        """The counters of the stacks that a statement unpacks."""
        if isinstance(stmt, ir.Assign):
            for name in ir.target_names(stmt.target):
                if name in self.left:
                    stack: ir.Expr = ir.Var(name)
                    if name not in self.sure:  # None where the branch that fills it was not taken
                        stack = ir.Lazy("or", (stack, ir.Display("tuple", ())))
                    value = ir.Call(ir.LEN, (stack,))
                    yield ir.Assign(self.left[name], value, stmt.origin)
