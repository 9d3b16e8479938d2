"""A derivative found once and handed back as a plain function: lazily, cached, thread-safe.

`Derivation` stands between the pipeline, which makes source, and the public calls: it decides
when the transform runs, guards calls (integers, shared memory), and adds to an exception from
emitted code the line of the user's that it comes from.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.exceptions import ComplexWarning

from ..errors import (
    TangentlikeError,
    UnknownClassError,
    UnsupportedError,
    again,
    is_same,
    users_line_first,
)
from ..frontend.primal import Primal
from ..frontend.resolve import Meanings, is_made_of, noting, parts_of
from ..frontend.signatures import plain_signature
from ..frontend.source import restore_sources, sources_of
from ..frontend.structures import (
    Structures,
    as_asked,
    has_objects,
    structures_of,
    with_exact,
)
from ..ir.kind import UNKNOWN, VALUE, Deciding, Kind, asks_for_ranks, asks_modules
from ..pytree import leaves
from ..pytree.layouts import forms
from ..runtime import NotDifferentiated
from ..runtime.broadcasting import DROPPED
from ..runtime.recent import Recent
from ..runtime.standard import is_mirror
from .apart import Apart, Unread
from .blame import (
    annotate,
    places_of,
    refused_before,
    replaced,
    translated_error,
    writes_what_it_was_handed,
)
from .claims import UNSTATED, broken, claims_of, example_key, namespace_of, stand_in

if TYPE_CHECKING:
    from ..ad.request import Request
    from ..pipeline.stages import Derived

_T = TypeVar("_T")
_LOCK = threading.RLock()  # one transform at a time: the stages share caches of source files
_REFUSED: list[dict[Derivation, UnsupportedError]] = []  # what the transforms that run refused
_VERSIONS = 64  # forms of arguments for which a derivation knows what suits them
_SEEDED = ("adjoint", "tangent")  # modes in which a call may give seeds by their names


@contextlib.contextmanager
def _refusals_kept() -> Iterator[dict[Derivation, UnsupportedError]]:
    """What is refused until the outermost transform, or call, ends: those inside ask for the same
    derivatives many times, each of which may take a while to be refused."""
    with _LOCK:
        _REFUSED.append(_REFUSED[-1] if _REFUSED else {})
        try:
            yield _REFUSED[-1]
        finally:
            _REFUSED.pop()


class Derivation:
    """One function's derivative by one request: made when first needed, kept afterwards."""

    def __init__(self, primal: Primal, request: Request) -> None:
        self.primal = primal
        self.request = request
        self._parts = parts_of(primal.function)
        self.handed: dict[str, types.FunctionType] = {}  # what was given out, by its name
        self._derived: Derived | None = None
        self.better: Derivation | None = None  # which a call has shown to be needed
        self._waiting: tuple[UnknownClassError, Meanings] | None = None
        self._latest: tuple[list[Any], Derivation] = ([None], self)  # forms, what suits them
        self._versions: Recent[tuple[Any, ...], Derivation] = Recent(_VERSIONS)  # of other forms
        self._checked: list[Any] | None = None  # forms of arguments that may be differentiated by
        self._asked: Deciding = frozenset()  # what the versions ask of arguments
        self._of_types: Recent[Structures, Derivation] = Recent(_VERSIONS)
        self.questions: Recent[tuple[Any, ...], Any] = Recent(_VERSIONS)  # of repeated calls

    @cached_property
    def _slots(self) -> list[tuple[str, int | None, Any, str]]:
        return [_slot(self.primal, name) for name in self.request.wrt]

    @cached_property
    def places(self) -> tuple[int, ...] | None:
        """Where the arguments at `wrt` stand, if all of them stand among the positional."""
        places = [-1 if star or place is None else place for _, place, _, star in self._slots]
        return tuple(places) if min(places, default=-1) >= 0 else None

    def __getstate__(self) -> tuple[Primal, Request, dict[str, str]]:
        """What the derivation is of, with the texts it is made from: another process makes it
        again, and may not have the files."""
        return self.primal, self.request, sources_of(self.primal.function)

    def __setstate__(self, state: tuple[Primal, Request, dict[str, str]]) -> None:
        primal, request, texts = state
        restore_sources(texts)
        self.__init__(primal, request)  # type: ignore[misc]

    @property
    def derived(self) -> Derived:
        """The transformed function; transforms it at the first demand."""
        if self._derived is None:
            with _LOCK:
                if self._derived is None:
                    try:
                        self._derived = self._derive()
                    except UnsupportedError as refusal:
                        if os.environ.get("TANGENTLIKE_TRACEBACK") == "full":
                            raise
                        place = refusal.calls[-1] if refusal.calls else None
                        raise users_line_first(refusal, place).with_traceback(None) from None
                    except TangentlikeError as refusal:
                        if os.environ.get("TANGENTLIKE_TRACEBACK") == "full":
                            raise
                        # What we were doing when we met it does not help to understand it.
                        raise refusal.with_traceback(None) from None
        return self._derived

    def _derive(self) -> Derived:
        """The transformed function, in the first form that is not refused."""
        from ..pipeline.stages import derive_in_any_form

        if self._waiting is not None and self._waiting[1].hold():
            raise again(self._waiting[0])
        inner, request = self.primal.inner, self.request
        trusting = not request.any_outside
        with noting(trusting) as meanings, _refusals_kept() as refused:
            if self in refused:
                raise again(refused[self])
            try:
                function = inner.emitted if self.primal.waits else self.primal.function
                return derive_in_any_form(function, request, inner=inner)
            except UnsupportedError as refusal:
                refused[self] = again(refusal)
                if isinstance(refusal, UnknownClassError):  # (asked again at each call)
                    self._waiting = again(refusal), meanings
                raise

    def take(self, other: Derivation) -> bool:
        """Take what was made for another closure of the same code, if it serves this one too."""
        made = other._derived
        if made is None or self.primal.inner is not None or other.primal.inner is not None:
            return False
        self._derived = made.moved(self.primal.function, lambda: self._whole)
        if self._derived is None or not self._derived.meanings.hold():
            self._derived = None
            return False
        if "_asks_modules" in other.__dict__:
            self.__dict__["_asks_modules"] = other._asks_modules
        return True

    @cached_property
    def _whole(self) -> Derived:
        with _LOCK:
            return self._derive()

    def holds(self) -> bool:
        """Whether the functions that were read for it still are what their names mean, and made
        of the same code and defaults."""
        derived, inner = self._derived, self.primal.inner
        if inner is not None and not inner.holds():
            return False
        if not is_made_of(self.primal.function, self._parts):
            return False
        return derived is None or derived.meanings.hold()

    def renewed(self) -> Derivation:
        """The same derivative of what the names mean now."""
        primal, inner = self.primal, self.primal.inner
        if inner is not None and not inner.holds():
            primal = primal.of(inner.renewed())
        return derivation_of(primal, self.request)

    def specialized_for(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Derivation:
        """The derivation for these arguments: this one, if they are what it was made for.

        Complex arguments need conjugates that are not emitted for real programs; operations on
        arrays that are not NumPy's give no numbers; arguments that are not what an annotation or
        an example says need a derivation that does not trust these.
        """
        if not self.holds():
            return self.renewed().specialized_for(args, kwargs)
        called_with = forms(args, kwargs)
        if called_with is None:
            return self._suited(args, kwargs)
        return self._specialized(called_with, args, kwargs)

    def received(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], Derivation]:
        """The arguments at `wrt` of a call, and the derivation for it. What is required of these
        arguments depends on their types alone: it is checked where these are not those before."""
        found = forms(args, kwargs) if self.holds() else None
        if found is None:
            return self.values(args, kwargs), self.specialized_for(args, kwargs)
        if found == self._checked:
            values = self._picked(args, kwargs)
        else:
            values, self._checked = self.values(args, kwargs), list(found)
        return values, self._specialized(found, args, kwargs)

    def _specialized(
        self, called_with: list[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Derivation:
        """The derivation for arguments of these forms."""
        known, chosen = self._latest
        values = self._deciding_values(args, kwargs) if self._asked else []
        if called_with + values != known:
            version = self._versions.get((*called_with, *values))
            chosen = self._suited(args, kwargs) if version is None else version
            self._asked |= chosen.asked
            called_with += self._deciding_values(args, kwargs)
            self._versions.put(tuple(called_with), chosen)
            self._latest = (called_with, chosen)
        if chosen is not self and not chosen.holds():
            self._versions.clear()
            self._of_types.clear()
            self._latest = ([None], self)
            return self._suited(args, kwargs)
        return chosen

    def _deciding_values(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The strings and truth values among the arguments that tests ask for."""
        names = _asked_values(self._asked)
        given = self._by_name(args, kwargs) if names else None
        values = [] if given is None else [given.get(name) for name in names]
        return [value if type(value) in (str, bool) else None for value in values]

    @property
    def latest(self) -> Derivation:
        """The derivation that served the call before."""
        return self._latest[1]

    def made_versions(self) -> list[Derivation]:
        """What calls were served by, one for each types of arguments."""
        return list(dict.fromkeys(self._versions.values()))

    def _suited(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Derivation:
        with _refusals_kept():
            found = self
            given = (*args, *kwargs.values()) if kwargs else args
            if not self.request.has_complex and any(map(leaves.is_complex, given)):
                found = self.for_complex
            if not self.request.has_foreign and any(map(leaves.is_foreign, given)):
                found = found.for_foreign
            if self.request.reuse and not all(map(leaves.are_doubles, given)):
                found = found._changed(lambda inner: inner, reuse=False)
            by_name, namespace = self._by_name(args, kwargs), namespace_of(given)
            if namespace is not None and is_mirror(namespace):
                found, namespace = found.for_namespace(namespace), None
            suited = found.for_structures(by_name or {})
            if namespace is not None and suited._asks_modules:
                suited = found.for_namespace(namespace).for_structures(by_name or {})
            found = suited.settled()._with_conjugates_inside
            if by_name is None or (found.primal.inner is None and not found.claims):
                return found
            return found._believing(by_name)

    @cached_property
    def _asks_modules(self) -> bool:
        """Whether the function asks arrays for the module whose they are."""
        try:
            derived = self.derived
        except UnknownClassError:
            return self._waiting is None or self._waiting[1].asks_modules
        return any(map(asks_modules, (derived.lowered.function, *derived.module.functions)))

    def settled(self) -> Derivation:
        """This derivative; where a call must tell more and does not, that without the statements
        that this is about."""
        try:
            self.derived  # noqa: B018
        except UnknownClassError:
            if self.request.strict or self.request.settled:
                raise
            primal, inner = self.primal, self.primal.inner
            if inner is not None:
                primal = primal.of(inner.settled())
            made = derivation_of(primal, replace(self.request, settled=True))
            with contextlib.suppress(UnknownClassError):
                made.derived  # noqa: B018
                return made
            raise
        return self

    @property
    def _with_conjugates_inside(self) -> Derivation:
        """This derivative; where it computes with complex numbers, in the text of a derivative that
        was made when there were none, that for complex numbers."""
        inner = self.primal.inner
        if self.request.has_complex or inner is None or self.derived.real:
            return self
        return self.for_complex if inner.derived.real else self

    @cached_property
    def claims(self) -> dict[str, Kind]:
        """What annotations and the example promise of the arguments."""
        params = self.derived.lowered.function.params
        example = self.request.example
        stated = None if example is None else self._signature.bind_partial(*example).arguments
        return claims_of({p.name: p.stated for p in params}, stated, self.request.exact)

    def _believing(self, given: Mapping[str, Any]) -> Derivation:
        """This derivation if the arguments keep its promises, else one that is not given them."""
        inner = self.primal.inner
        if inner is not None:
            better = inner._believing({n: v for n, v in given.items() if n in inner.names})
            if better is not inner:
                primal = self.primal.of(better)
                return derivation_of(primal, self.request)._believing(given)
        false = broken(self.claims, given)
        if not false:
            return self
        if self.request.example is not None:
            return derivation_of(self.primal, replace(self.request, example=None))._believing(given)
        return self._corrected(false, given)

    def _corrected(self, false: Sequence[str], given: Mapping[str, Any]) -> Derivation:
        """The same derivative with examples in place of the annotations that do not hold."""
        parameters = self._signature.parameters.values()
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        positional = [p.name for p in parameters if p.kind in by_position]
        example = tuple(stand_in(given[n]) if n in false else UNSTATED for n in positional)
        if set(false) <= set(positional):
            made = derivation_of(self.primal, replace(self.request, example=example))
            if not broken(made.claims, given):
                return made
        kind = type(given[false[0]]).__name__
        raise TangentlikeError(
            f"`{false[0]}` of {self.primal.name} does not match its annotation: it is a {kind}",
            hint="The derivative relies on annotations of parameters: correct it, or drop it.",
        )

    def _changed(self, inner: Callable[[Any], Any], **changes: Any) -> Derivation:
        """The same derivative by another request, and so is `inner` what it differentiates."""
        primal = self.primal
        if primal.inner is not None:
            primal = primal.of(inner(primal.inner))
        return derivation_of(primal, replace(self.request, **changes))

    @cached_property
    def for_complex(self) -> Derivation:
        """The same derivative allowing for complex values, also in what it differentiates."""
        return self._changed(lambda inner: inner.for_complex, has_complex=True)

    @cached_property
    def for_foreign(self) -> Derivation:
        """The same derivative where the results of array operations are never numbers."""
        return self._changed(lambda inner: inner.for_foreign, has_foreign=True)

    def for_namespace(self, namespace: types.ModuleType) -> Derivation:
        """The same derivative for arrays that name this module as theirs."""
        return self._changed(lambda inner: inner.for_namespace(namespace), namespace=namespace)

    @cached_property
    def by_identity(self) -> Derivation:
        """The same derivative with adjoints by identity, also in what it differentiates: for
        arguments that share memory as the text by names was not written for."""
        return self._changed(lambda inner: inner.by_identity, by_identity=True)

    def looking_up(self, method: str) -> Derivation:
        """The same derivative where methods of this name may be those of any object."""
        found = self.request.looked_up | {method}
        return self._changed(lambda inner: inner.looking_up(method), looked_up=found)

    @cached_property
    def _has_identity(self) -> bool:
        """Whether there is such a derivative besides this one, which may run after this one."""
        if self.request.by_identity or not self._may_run_again:
            return False
        try:
            return self.by_identity is not self and bool(self.by_identity.derived)
        except TangentlikeError:
            return False

    @property
    def _may_run_again(self) -> bool:
        """Whether a call that is refused on the way has written nothing that stays written."""
        return not self.derived.changes_outside

    @property
    def for_identity(self) -> Derivation:
        """The same derivative as one that finds adjoints by identity can follow: by identity
        itself, where that is not refused."""
        with contextlib.suppress(TangentlikeError):
            self.by_identity.derived  # noqa: B018
            return self.by_identity
        return self

    def for_structures(self, given: Mapping[str, Any]) -> Derivation:
        """The same derivative for arguments of the structures of these."""
        required = structures_of(given, self.request.exact, self._words, self._keys)
        known = {name for name, _ in required}
        others = (n for n in self._stated if n in given and n not in known)
        required += tuple((name, UNKNOWN) for name in others)  # (they are not what is stated)
        exact = with_exact(required, given)
        if required == self.request.structures and not self._asked:
            return self
        key = as_asked(exact, self._asked)
        version = self._of_types.get(key)
        if version is None or not version.holds():
            version = self._for_exact(exact, required)
            self._asked |= version.asked
            self._of_types.put(as_asked(exact, self._asked), version)
        return version

    def _for_exact(self, exact: Structures, required: Structures) -> Derivation:
        """The same derivative where the types of a call decide tests, if it can be made so."""
        found = self.for_required(exact)
        try:
            found.derived  # noqa: B018
        except UnsupportedError as refusal:  # (to be a number must not be what refuses it)
            kept = tuple((n, k.checked) for n, k in required if k.form not in ("number", "array"))
            general = self.for_required(kept) if kept else self
            try:
                if not any(map(asks_for_ranks, general.derived.module.functions)):
                    return general
            except UnsupportedError as other:
                if is_same(refusal, other):
                    return found  # (nor what is known of it: less does not help, either)
            return self.for_required(required)
        return self._as_asked(found, found.asked)

    def _as_asked(self, made: Derivation, asked: Deciding) -> Derivation:
        """The same derivative for what its tests ask of the arguments: it serves all that are alike
        in that, and so does what is made from it."""
        inner, primal = self.primal.inner, self.primal
        structures = as_asked(made.request.structures, asked)
        if inner is not None:
            if not isinstance(inner, Derivation):
                return self.for_required(structures)
            primal = primal.of(inner._as_asked(made.primal.inner, asked))
        found = derivation_of(primal, replace(self.request, structures=structures))
        found._derived = found._derived or made._derived
        return found

    @cached_property
    def asked(self) -> Deciding:
        """The arguments that decide tests in it, and in what it is a derivative of."""
        inner = self.primal.inner
        try:
            own = self.derived.asked
        except UnsupportedError:
            return frozenset()
        return own if inner is None else own | inner.asked

    @property
    def for_defaults(self) -> Derivation:
        """The same derivative for calls that leave out what selects code: `f(x, xp=np)`."""
        simple, wrt = self._simple or {}, self.request.wrt
        selecting = {n: v for n, v in simple.items() if v is None or has_objects(v)}
        return self.for_structures({n: v for n, v in selecting.items() if n not in wrt})

    def for_required(self, required: Structures) -> Derivation:
        """The same derivative for arguments of these structures."""
        primal, inner = self.primal, self.primal.inner
        if inner is not None:
            required_inside = tuple((n, k) for n, k in required if n in inner.names)
            primal = primal.of(inner.for_required(required_inside))
        return derivation_of(primal, replace(self.request, structures=required))

    @cached_property
    def _stated(self) -> tuple[str, ...]:
        """The parameters that annotations say the class of."""
        from ..analysis.declared import stated_classes

        return tuple(stated_classes(self.primal.function))

    @cached_property
    def _apart(self) -> Apart:
        return Apart(self.primal.function, self.primal.name)

    @cached_property
    def writes_tape(self) -> bool:
        """Whether running the pullback changes arrays that it needs again."""
        return restores_arrays(self.derived)

    @property
    def is_gradient(self) -> bool:
        """Whether the emitted function has the parameters of the function."""
        return self.request.mode in ("grad", "value_and_grad")

    @cached_property
    def text(self) -> str:
        """The text of the emitted functions as it stands by itself: it checks the types of its
        arguments, and of numbers and arrays outside, where it relies on them."""
        return self._alone()

    def standalone(self) -> str:
        """The text of a file that needs only NumPy."""
        return self.derived.standalone(self._relies_on_types, self._relied_on_as_real)

    @property
    def file_text(self) -> str:
        """The text of a file. It is called with whatever there is, so that it checks further that
        there are no complex numbers, where these have another derivative."""
        return self._alone(self._relied_on_as_real)

    def _alone(self, real: tuple[str, ...] = ()) -> str:
        of_arguments, outside = self._relies_on_types, self._relies_on_what_is_outside
        if not (of_arguments or outside or real):
            return self.derived.untyped
        return self.derived.guarded(of_arguments, outside, real)

    @cached_property
    def _relied_on_as_real(self) -> tuple[str, ...]:
        """The parameters of no known types, where the text is another for complex numbers."""
        if self.request.has_complex or not self.derived.real:
            return ()
        stated = {name for name, text in self.derived.module.types if text != "object"}
        free = tuple(name for name in self.names if name not in stated)
        return free if free and self._is_other(lambda: self.for_complex) else ()

    @cached_property
    def _relies_on_types(self) -> bool:
        """Whether the derivative is another than that for arguments of any types."""
        if not self.derived.module.types or self.primal.inner is not None:
            return bool(self.derived.module.types)
        return self._differs(example=None, structures=())

    @cached_property
    def _relies_on_what_is_outside(self) -> bool:
        """Whether it is another than that for any numbers and arrays outside."""
        if not self.derived.types_outside or self.primal.inner is not None:
            return bool(self.derived.types_outside)
        return self._differs(any_outside=True)

    def _differs(self, **changes: Any) -> bool:
        """Whether the text is another than that for a request with these changes."""
        return self._is_other(lambda: derivation_of(self.primal, replace(self.request, **changes)))

    def _is_other(self, made: Callable[[], Derivation]) -> bool:
        """Whether the text is another than that of the derivative that `made` gives."""
        try:
            return self.derived.untyped != made().settled().derived.untyped
        except TangentlikeError:
            return True

    @property
    def emitted(self) -> Any:
        """The emitted function itself, compiled."""
        return self.derived.function

    @cached_property
    def _signature(self) -> inspect.Signature:
        return plain_signature(self.primal.function)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters of the function."""
        return tuple(self._signature.parameters)

    @cached_property
    def seeds(self) -> tuple[str, ...]:
        """The parameters that the emitted function has besides those of the function."""
        emitted = plain_signature(self.emitted).parameters
        own = (*self.names, *(ref.text for ref in self.derived.lent))
        return tuple(name for name in emitted if name not in own)

    @cached_property
    def _simple(self) -> dict[str, Any] | None:
        """Parameters with their defaults; None if some take several arguments."""
        parameters = self._signature.parameters.values()
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            return None
        return {p.name: p.default for p in parameters if p.default is not p.empty}

    @cached_property
    def _words(self) -> str | None:
        """The parameter that takes other arguments by their names."""
        parameters = self._signature.parameters.values()
        return next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None)

    @cached_property
    def _keys(self) -> frozenset[str]:
        """The texts in the function, which may be keys that it asks dicts for."""
        code = getattr(self.primal.function, "__code__", None)
        consts = () if code is None else code.co_consts
        return frozenset(text for text in consts if type(text) is str)

    def _by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
        """The arguments by parameter; None for a call that will fail anyway."""
        if self._simple is not None:
            given = {**self._simple, **dict(zip(self.names, args, strict=False)), **kwargs}
            return given if len(given) == len(self.names) else None
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:
            return None  # the call itself will say what is wrong
        bound.apply_defaults()
        given = dict(bound.arguments)
        if self._words is not None and given[self._words]:
            try:
                seeds = self._seeds_by_name
            except UnsupportedError:  # (the types of a call may tell more)
                del given[self._words]
                return given
            words = given[self._words].items()
            given[self._words] = {word: value for word, value in words if word not in seeds}
        return given

    @cached_property
    def _seeds_by_name(self) -> frozenset[str]:
        """The seeds that a call may give by their names: its own, and those of what the function
        is a derivative of."""
        inner = self.primal.inner
        own = frozenset(self.seeds if self.request.mode in _SEEDED else ())
        return own if inner is None else own | inner._seeds_by_name

    def _picked(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The arguments at `wrt` in a call."""
        found: list[Any] = []
        for name, position, default, star in self._slots:
            if star == "**":
                found.append({word: kwargs[word] for word in kwargs if word not in self.names})
            elif position is not None and (star or position < len(args)):
                found.append(args[position:] if star else args[position])
            else:
                found.append(kwargs.get(name, default))
        return found

    def values(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The arguments at `wrt` in a call, checked to be differentiable."""
        found, plain = self._picked(args, kwargs), False
        for value, (name, *_) in zip(found, self._slots, strict=True):
            kind = type(value)
            if kind is float or (kind is np.ndarray and value.dtype.kind == "f"):
                plain = True
            else:
                leaves.refuse_integer(name, self.primal.name, value)
                leaves.refuse_cycle(name, self.primal.name, value)
        if not plain:
            leaves.refuse_no_leaf([name for name, *_ in self._slots], self.primal.name, found)
        return found

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The emitted function, called; where it turns out that its numbers become complex, that
        of the derivative which allows for that."""
        __tracebackhide__ = True
        derived = self._derived or self.derived
        if self.better is not None:
            return self.better.call(args, self._seeds_for(self.better, kwargs))
        refused: UnsupportedError | None = None
        before = DROPPED.last
        try:
            found = self.run(derived.functions[-1], args, kwargs)
        except UnsupportedError as refusal:
            refused = refusal
        except ComplexWarning:  # (of which a filter makes an error)
            if not derived.real:
                raise
            found = None
        if refused is not None:  # (nothing that is raised from here on was raised before)
            return self.called_instead(refused, args, kwargs)
        return self.real_or_again(found, args, kwargs, before)

    def called_instead(
        self, refusal: UnsupportedError, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """What another derivative gives where the emitted function refused a call."""
        __tracebackhide__ = True
        return self._instead(
            refusal, lambda other: other.call(args, self._seeds_for(other, kwargs))
        )

    def real_or_again(
        self, found: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], before: Any
    ) -> Any:
        """What the emitted function gave; if that is complex, or an adjoint was since `before`
        (`DROPPED`), what the derivative gives that allows for it."""
        dropped = DROPPED.last is not before
        if (self._derived or self.derived).real and (dropped or leaves.is_complex(found)):
            better = self._allowing_complex(args, kwargs)
            return better.call(args, self._seeds_for(better, kwargs))
        return found

    def _allowing_complex(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Derivation:
        """The derivative for complex values, which serves this call, begun again, and others."""
        if any(isinstance(value, Iterator) for value in (*args, *kwargs.values())):
            raise _complex_inside(self.primal.name)  # (it is used up)
        self.better = self.for_complex
        return self.better

    @cached_property
    def asks_nothing(self) -> bool:
        """Whether nothing of the arguments but their types is looked at before each call."""
        return not self._writes and self.derived.may_hold_code is None

    @cached_property
    def asks_nothing_of_data(self) -> bool:
        """The same of arguments that hold no functions."""
        if self._writes or self.derived.may_hold_code is None:
            return not self._writes
        return not leaves.Reach(ref.obj for ref in self.derived.outer).functions

    @property
    def _writes(self) -> bool:
        """Whether arguments, or what is outside, are written."""
        derived = self.derived
        return bool(derived.written_params or derived.overwritten or derived.lent)

    @property
    def asks_values(self) -> bool:
        """Whether values of arguments, not only their types, choose what serves a call."""
        return bool(self._asked)

    def _seeds_for(self, other: Derivation, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments by keyword as another of these derivatives names its seeds."""
        if not kwargs:
            return kwargs
        named = dict(zip(self.seeds, other.seeds, strict=True))
        return {named.get(name, name): value for name, value in kwargs.items()}

    def recorded(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Derivation, Any, Any]:
        """The forward function of a pair, called: the derivation that it is of, value and tape."""
        __tracebackhide__ = True
        if self.better is not None:
            return self.better.recorded(args, kwargs)
        forward, _ = functions_of(self.derived)
        real, before = (self._derived or self.derived).real, DROPPED.last
        refused: UnsupportedError | None = None
        value = tape = None
        try:
            value, tape = self.run(forward, args, kwargs)
        except UnsupportedError as refusal:
            refused = refusal
        except ComplexWarning:
            if not real:
                raise
        if refused is None:
            dropped = DROPPED.last is not before
            if real and (dropped or leaves.is_complex((value, tape))):
                return self._allowing_complex(args, kwargs).recorded(args, kwargs)
            return self, value, tape
        return self._instead(refused, lambda other: other.recorded(args, kwargs))

    def _instead(self, refusal: UnsupportedError, run: Callable[[Derivation], _T]) -> _T:
        """What the derivative by identity gives where a call does not hold what the text by names
        assumes, or what one gives that looks a method up; any other refusal stays."""
        __tracebackhide__ = True
        if refusal.method and self._may_run_again and refusal.method not in self.request.looked_up:
            with contextlib.suppress(TangentlikeError):
                better = self.looking_up(refusal.method)
                found, self.better = run(better), better
                return found
        if refusal.of_names and self._has_identity:
            return run(self.by_identity)  # (what that refuses is what there is to say)
        raise refusal

    def pulled_back(self, backward: Callable[..., Any], tape: Any, seed: Any) -> Any:
        """The adjoints that the backward function finds. They are real where all values are."""
        __tracebackhide__ = True
        before = DROPPED.last
        bars = self.guarded(backward, (tape, seed), {})
        derived = self._derived or self.derived
        complex_ = leaves.is_complex(bars) or DROPPED.last is not before
        if derived.real and complex_ and not leaves.is_complex(seed):
            raise _complex_inside(self.primal.name)
        return bars

    def run(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Call an emitted function; an exception gets a note that names the user's line."""
        __tracebackhide__ = True
        derived = self._derived or self.derived
        leaves.refuse_matrices((*args, *kwargs.values()) if kwargs else args)
        given, code = None, derived.may_hold_code
        if not self.asks_nothing:
            own = {name: value for name, value in kwargs.items() if name not in self.seeds}
            given = self._by_name(args, own)
        if given is None:  # (otherwise the call itself says what is wrong)
            return self.guarded(function, args, kwargs)
        self._apart.refuse_shared(given, derived.written_params, derived.touched)
        self._apart.refuse_found_twice(
            given, derived.written_params, derived.changed, derived.outer
        )
        self._apart.refuse_overwritten(given, derived.overwritten)
        if derived.lent:
            self._apart.refuse_lent(given, derived.lent)
        if code is None:
            return self.guarded(function, args, kwargs)
        unread = Unread(self.primal.name, given, code, derived.outer)
        unread.refuse_written(derived.written_params, derived.changed.may_change)
        forward = self.request.mode in ("tangent", "change")
        states = unread.states(self.request.wrt if forward else None)
        found = self.guarded(function, args, kwargs)
        unread.refuse_changed(states)
        return found

    def guarded(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Call a part of the derivative that gets no arguments of the user's."""
        __tracebackhide__ = True
        function = replaced(self, function)
        try:
            return function(*args, **kwargs)
        except (Exception, NotDifferentiated) as raised:
            translated = self.explained(raised)
            if translated is None:
                raise
            raise translated from None

    def explained(self, raised: BaseException) -> BaseException | None:
        """What is raised in the place of what an emitted function raised; None where that itself
        is, with a note that names the user's line."""
        error = refused_before(raised)
        derived = self._derived or self.derived
        if derived.compiled is not None:
            from ..numba.compiling import refusal_of

            refusal = refusal_of(error, derived.origins)
            if refusal is not None:
                return refusal
        handed = writes_what_it_was_handed(error, functions_of(derived), derived.origins)
        if handed is not None:
            return handed
        places = places_of(error, functions_of(derived), derived.origins)
        place = places[-1] if places else None
        translated = translated_error(error, place, self.primal.name)
        if isinstance(error, NotDifferentiated) and isinstance(translated, UnsupportedError):
            return users_line_first(translated, next(iter(places), None))
        if translated is None:
            annotate(raised, place, self.primal.name)
        return translated


_STARS: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def _slot(primal: Primal, name: str) -> tuple[str, int | None, Any, str]:
    """A parameter, where it stands among positional arguments (None: keyword only), its default,
    and its star, where it takes all further arguments.

    A local variable stands nowhere: its adjoint has the right form."""
    for position, parameter in enumerate(plain_signature(primal.function).parameters.values()):
        if parameter.name == name:
            default = None if parameter.default is parameter.empty else parameter.default
            keyword = parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
            return name, (None if keyword else position), default, _STARS.get(parameter.kind, "")
    return name, None, leaves.OF_ANY_FORM, ""


def functions_of(derived: Derived) -> tuple[Any, ...]:
    """The emitted functions: one, or the pair."""
    return tuple(getattr(derived, "functions", None) or ()) or (derived.function,)


# (A stack is `saved` or `x_saved`; an adjoint, `_bar`, is not part of the tape.)
_POPS_OF_LISTS = re.compile(r"(?:^|[ (])(?!(?:\w+_)?(?:saved|bar)\d*\b)[\w.]+\.pop\(", re.MULTILINE)


def restores_arrays(derived: Derived) -> bool:
    """Whether the backward function writes arrays of its tape (what it pops of stacks does not
    count), or lists that objects of the tape may hold, or finds by identity what they hold."""
    found = ("Shadow()", "put_contents(", "put_inside(")
    if any(text in derived.source for text in found):
        return True
    if _POPS_OF_LISTS.search(derived.source):
        return True
    lines = derived.source.splitlines()
    restored = [lines[n - 1] for n, origin in derived.origins.items() if origin.role == "restore"]
    # (A stack that is appended to is a list, and each run has its own.)
    stores = [line.partition("=")[0] for line in restored if ".append(" not in line]
    return any(mark in target for target in stores for mark in "[.") or "out=" in derived.source


@functools.lru_cache(maxsize=256)
def _asked_values(asked: Deciding) -> tuple[str, ...]:
    """The arguments whose values are asked for."""
    return tuple(sorted(name for name, what in asked if what == VALUE))


def derivation_of(primal: Primal, request: Request) -> Derivation:
    """The derivation for a function and a request, the same object for the same two."""
    with _LOCK:
        return _DERIVATIONS.get(primal, request)


class Derivations:
    """The derivations made last. Closures of one code object share what was made for the first
    of them, where nothing of what they capture was read for it."""

    def __init__(self, most: int = 1024) -> None:
        self.most = most
        self._known: Recent[tuple[Any, ...], Derivation] = Recent(most)
        self._of_code: Recent[tuple[Any, ...], Derivation] = Recent(most)

    def __len__(self) -> int:
        return len(self._known)

    def get(self, primal: Primal, request: Request) -> Derivation:
        """The derivation that is known for these, or a new one."""
        code, closure = _keys(primal, request)
        found, alike = self._known.get((*code, closure)), self._of_code.get(code)
        if found is None or not (found.holds() and found.latest.holds()):
            # The derivation keeps alive whatever the key names by id.
            found = Derivation(replace(primal, origin=None, args=(), kwargs={}), request)
            if not closure or alike is None or not found.take(alike):
                alike = found
        self._of_code.put(code, alike or found)
        return self._known.put((*code, closure), found)


_DERIVATIONS = Derivations()


_REQUEST = (
    *("mode", "wrt", "bare", "has_aux", "target"),
    *("has_complex", "has_foreign", "structures", "settled", "strict"),
    *("namespace", "by_identity", "looked_up", "reuse", "any_outside"),
)


def _keys(primal: Primal, request: Request) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """What a derivation is known by: without, and of what is captured."""
    function = primal.function
    code = (
        id(function.__code__),
        id(function.__globals__),
        tuple(map(id, function.__defaults__ or ())),
        tuple((k, id(v)) for k, v in (function.__kwdefaults__ or {}).items()),
        primal.name,
        id(primal.inner) if primal.waits else None,
        *(getattr(request, name) for name in _REQUEST),
        example_key(request.example),
    )
    return code, tuple(map(id, function.__closure__ or ()))


def _complex_inside(name: str) -> TangentlikeError:
    return TangentlikeError(
        f"a value in {name} is complex, though no argument is, and a derivative for real numbers "
        "was made",
        hint="Say so in the function: `complex(x) ** 0.5` for `x ** 0.5`, or "
        "`np.load(path).astype(complex)`.",
    )
