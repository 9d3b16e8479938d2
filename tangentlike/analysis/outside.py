"""Arrays that belong to the module, or to an enclosing function, and are written in place.

    TOTAL = np.zeros(3)

    def add(x):             def loss(x):
        TOTAL[:] += x           add(x * x)
                                return np.sum(TOTAL * x)

The adjoint of `TOTAL` would live outside of every function that is differentiated, and what is
written to it in the primal sweep cannot be restored: who else reads it is not known. So a write
that carries derivatives is refused in both modes, also if a callee does it, and a write that
carries none is refused in reverse mode where the function reads the array as well. What a helper
gives back (`def total(): return TOTAL`) is followed; `outer_arrays` says what that is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ir
from ..errors import Place, UnsupportedError
from ..frontend.marks import mark_of
from ..frontend.owners import is_of_runtime, is_operation
from ..frontend.structures import is_object
from ..runtime.records import attribute_of
from .flow import OUTSIDE, flow_edges
from .memory import Sources, element
from .operations import MUTATING_METHODS, in_source, is_python_function, operands, written_position
from .outer_arrays import Held, OuterArrays, is_cached, is_outer_array, live, reads_of
from .outer_containers import NONE, Boxes, OuterContainers, is_box, put_names
from .outputs import outputs


@dataclass(frozen=True)
class OuterWrites:
    """What a function does with what lies outside of it: the arrays that it writes, by their id,
    the parameters whose derivatives go out with that, and the arrays that it may give back or
    read; the containers that it puts something into, and those that it may give back."""

    arrays: Mapping[int, ir.Ref] = field(default_factory=dict)
    carried: frozenset[str] = frozenset()
    read: Mapping[int, ir.Ref] = field(default_factory=dict)
    returned: Mapping[int, ir.Ref] = field(default_factory=dict)
    changed: Mapping[int, ir.Ref] = field(default_factory=dict)
    boxes: Boxes = NONE


@dataclass
class Outside:
    """The outer arrays of one transform: what its functions write, and what they read. `body`
    gives a user's function in the normal form, `sources` what its expressions may share.
    `touched` are all that any of them reads or writes."""

    body: Callable[[Any], ir.Function]
    sources: Callable[[ir.Function], Sources]
    book: Any
    written: dict[int, ir.Ref] = field(default_factory=dict)
    read: dict[int, Place] = field(default_factory=dict)
    touched: dict[int, ir.Ref] = field(default_factory=dict)
    changes: bool = False  # whether any of them is written
    _known: dict[int, OuterWrites] = field(default_factory=dict)
    _flow: dict[int, Any] = field(default_factory=dict)  # of functions that are called

    def of_callee(self, obj: Any) -> OuterWrites:
        """What a user's function writes outside, itself or by what it calls."""
        if id(obj) not in self._known:
            self._known[id(obj)] = OuterWrites()  # (a recursive call adds nothing)
            function = self.body(obj)
            self._known[id(obj)] = self.writes(function, self.sources(function), called=True)
        return self._known[id(obj)]

    def of_call(self, call: ir.Call, sources: Sources) -> OuterWrites:
        """What the call of a user's function does outside of it: also with the defaults of
        parameters that it is given nothing for, which stay as they are left for the next call."""
        obj = _callee(call)
        found = self.of_callee(obj)
        effects = sources.effects(call)
        if effects is None or not (effects.written | effects.returned):
            return found
        kept = lasting_defaults(obj, sources.bind(call))
        written = effects.written & kept.keys()
        given = {id(ref.obj): ref for name, ref in kept.items() if name in effects.returned}
        if not written and not given:
            return found
        changed = {id(kept[name].obj): kept[name] for name in sorted(written)}
        return OuterWrites(
            {**found.arrays, **_arrays_among(changed)},
            found.carried | (self._coming_into(obj, written) if written else frozenset()),
            {**found.read, **_arrays_among(changed)},
            {**found.returned, **_arrays_among(given)},
            {**found.changed, **changed},
            found.boxes | Boxes(given),
        )

    def writes(self, function: ir.Function, sources: Sources, called: bool = False) -> OuterWrites:
        """What the body of a function writes outside of it, and what it reads there; of one that
        is `called`, also the parameters whose derivatives go out."""
        if not self._reaches_out(function, sources):
            return OuterWrites()
        arrays: dict[int, ir.Ref] = {}
        read = {id(ref.obj): ref for ref, _ in self._reads(function, sources)}
        ends = {OUTSIDE}
        changed: dict[int, ir.Ref] = {}
        held, containers = self._held(function, sources), self._containers(function, sources)
        for stmt in ir.statements(function.body):
            for target in _written_places(stmt, sources):
                found = held.roots(target)
                if found:
                    arrays |= found
                    ends |= ir.names_in(target)
            into = containers.changed_by(stmt)
            changed |= into
            if into:
                ends |= self._put_names(stmt, sources)
            if _objects_assigned(stmt, held):
                ends |= ir.reads(stmt)
            for call in _user_calls(stmt, sources):
                callee = self.of_call(call, sources)
                arrays |= callee.arrays
                changed |= callee.changed
                read |= callee.read
                actuals = sources.bind(call)
                for formal in callee.carried & actuals.keys():
                    ends |= ir.names_in(actuals[formal])
        carried: frozenset[str] = frozenset()
        if called:
            flow = flow_edges(function, sources.kinds, self.book, sources.effects)
            carried = _params_reaching(ends, flow.predecessors, function)
        result = function.body[-1] if function.body else None
        returned, boxes = {}, Boxes()
        if isinstance(result, ir.Return) and result.value is not None:
            returned, boxes = held.roots(result.value), containers.of(result.value)
        memory = {key: ref for key, ref in arrays.items() if not is_object(ref.obj)}
        return OuterWrites(memory, carried, read, returned, changed, boxes)

    def _reaches_out(self, function: ir.Function, sources: Sources) -> bool:
        """Whether a function names anything outside of it but operations, classes that it makes
        objects of, and functions that it calls and that do nothing there."""
        return any(not self._stays_inside(stmt, sources) for stmt in ir.statements(function.body))

    def _stays_inside(self, stmt: ir.Stmt, sources: Sources) -> bool:
        named = _named_outside(stmt)
        if not named:
            return True
        calls = _calls_by_name(stmt)
        called = [_fn(call) for call in calls if _is_read(call, sources)]
        classes: list[Any] = [_fn(call) for call in calls]
        classes += [arg for call in calls if is_operation(_callee(call)) for arg in call.args]
        for ref in named:
            within = classes if isinstance(ref.obj, type) else called
            if is_cached(ref) or not any(ref is part for part in within):
                return False
        called_here = (call for call in calls if _is_read(call, sources))
        return all(self.of_call(call, sources) == OuterWrites() for call in called_here)

    def given_back(self, function: ir.Function, sources: Sources) -> tuple[str, ...]:
        """What a function may give back of what lies outside of it, by the names it has there."""
        found = self.writes(function, sources)
        texts = {ref.text for ref in (*found.returned.values(), *found.boxes.whole.values())}
        return tuple(sorted(texts))

    def _held(self, function: ir.Function, sources: Sources) -> Held:
        return OuterArrays(sources, self._given_back).held(function)

    def _containers(self, function: ir.Function, sources: Sources) -> OuterContainers:
        def given_back(call: ir.Call) -> Boxes:
            return self.of_call(call, sources).boxes if _is_read(call, sources) else Boxes()

        return OuterContainers(sources, given_back).follow(function)

    def _given_back(self, call: ir.Call, sources: Sources) -> Mapping[int, ir.Ref]:
        """The outer arrays that a call of a user's function may give back."""
        return self.of_call(call, sources).returned if _is_read(call, sources) else {}

    def check(
        self,
        function: ir.Function,
        varied: Callable[[], Collection[str]],
        sources: Sources,
        restores: bool,
    ) -> None:
        """Refuse what a function that is differentiated does with outer arrays, where that cannot
        be right; `restores`: in reverse mode, which must restore what is written."""
        if not self._reaches_out(function, sources):
            return
        self._refuse_carried(function, varied, sources)
        found = self.writes(function, sources)
        self.touched |= {**found.arrays, **found.read}
        self.changes = self.changes or bool(found.arrays)
        if restores:
            self.written.update(found.arrays)
            self._refuse_overwritten(function, sources)

    def check_containers(
        self, function: ir.Function, varied: Callable[[], Collection[str]], sources: Sources
    ) -> None:
        """Refuse what puts derivatives into outer lists and dicts, under whatever name."""
        if not self._reaches_out(function, sources):
            return
        containers = self._containers(function, sources)
        for stmt in ir.statements(function.body):
            into = containers.changed_by(stmt)
            given = self._put_names(stmt, sources) if into else ()
            for name in sorted(given):
                if name in varied():
                    raise _carried_out(name, into, function, stmt)

    def _refuse_carried(
        self, function: ir.Function, varied: Callable[[], Collection[str]], sources: Sources
    ) -> None:
        """Refuse calls, and writes through views, that carry derivatives into outer arrays."""
        held = self._held(function, sources)
        for stmt in ir.statements(function.body):
            self._refuse_cached(stmt, held, sources)
            for name, into in self._carried(stmt, held, sources):
                if name in varied():
                    _refuse_unseen_function(stmt, name)
                    raise _carried_out(name, into, function, stmt)

    def _refuse_cached(self, stmt: ir.Stmt, held: Held, sources: Sources) -> None:
        """Refuse writes into what a function with a cache gave, as it would give it again."""
        written: list[Mapping[int, ir.Ref]]
        written = [held.roots(target) for target in _written_places(stmt, sources)]
        written += [self.of_call(call, sources).arrays for call in _user_calls(stmt, sources)]
        for ref in (ref for found in written for ref in found.values() if is_cached(ref)):
            raise UnsupportedError(
                f"what `{ref.text.removesuffix('.__wrapped__')}` returns from its cache is written "
                "in place",
                stmt.origin.place,
                "Later calls would return what was written. Write into a copy.",
            )

    def _carried(
        self, stmt: ir.Stmt, held: Held, sources: Sources
    ) -> Iterator[tuple[str, Mapping[int, ir.Ref]]]:
        """Names whose values a statement puts into outer arrays, and these."""
        for target in _written_places(stmt, sources):
            into = held.roots(target)
            if into:
                yield from ((name, into) for name in sorted(self._put_into(target, stmt, sources)))
        objects = _objects_assigned(stmt, held)
        yield from ((name, objects) for name in sorted(ir.reads(stmt)) if objects)
        for call in _user_calls(stmt, sources):
            found = self.of_call(call, sources)
            actuals = sources.bind(call)
            into = {**found.arrays, **found.changed}
            for formal in sorted(found.carried & actuals.keys()):
                names = sorted(ir.names_in(actuals[formal]))
                yield from ((name, into) for name in names)

    def _put_into(self, target: ir.Expr, stmt: ir.Stmt, sources: Sources) -> frozenset[str]:
        """The names whose values a statement may put into what it writes."""
        given = self._reaching(stmt, sources, lambda actual: actual == target)
        if given is None:
            return ir.reads(stmt)
        return frozenset[str]().union(*map(ir.names_in, given))

    def _put_names(self, stmt: ir.Stmt, sources: Sources) -> set[str]:
        """The names whose values a statement may put into a container."""
        given = self._reaching(stmt, sources, lambda actual: True)
        if given is None:
            return put_names(stmt, sources, self.book)
        return {name for part in given for name in operands(part, sources.kinds, self.book)}

    def _reaching(
        self, stmt: ir.Stmt, sources: Sources, meant: Callable[[ir.Expr], bool]
    ) -> list[ir.Expr] | None:
        """What the call of a user's function in a statement gives that may come into those of its
        arguments that are written, and meant; None for any other statement."""
        call = getattr(stmt, "value", None)
        if not isinstance(call, ir.Call) or not _is_read(call, sources):
            return None
        effects, actuals = sources.effects(call), sources.bind(call)
        assert effects is not None
        written = {f for f in effects.written & actuals.keys() if meant(actuals[f])}
        if not written or outputs(call, sources.kinds):
            return None
        formals = self._coming_into(_callee(call), written)
        return [actuals[f] for f in sorted(formals & actuals.keys())]

    def _coming_into(self, obj: Any, written: Collection[str]) -> frozenset[str]:
        """The parameters of a function whose values may come into what these parameters hold."""
        function = self.body(obj)
        if id(obj) not in self._flow:
            sources = self.sources(function)
            flow = flow_edges(function, sources.kinds, self.book, sources.effects)
            self._flow[id(obj)] = flow.predecessors
        found: set[str] = set()
        for name in written:
            ends = {name, element(name)}
            found |= _params_reaching(ends, self._flow[id(obj)], function) - {name}
        return frozenset(found)

    def _refuse_overwritten(self, function: ir.Function, sources: Sources) -> None:
        """Refuse the reverse sweep of what reads an outer array that is written."""
        for ref, place in self._reads(function, sources):
            self.read.setdefault(id(ref.obj), place)
        for key in self.read.keys() & self.written.keys():
            refusal = UnsupportedError(
                f"`{self.written[key].text}` is written in place, and is defined outside the "
                "function",
                self.read[key],
                "The reverse sweep cannot restore what was overwritten there. Pass the array as "
                "an argument.",
            )
            refusal.outer = (self.written[key].obj,)
            raise refusal

    def _reads(self, function: ir.Function, sources: Sources) -> Iterator[tuple[ir.Ref, Place]]:
        """The outer arrays whose entries a function reads, or is given by what it calls."""
        for stmt in ir.statements(function.body):
            written = set(map(id, _written_places(stmt, sources)))
            for expr in ir.expressions(stmt):
                for ref in reads_of(expr, written):
                    yield ref, stmt.origin.place
            for call in _user_calls(stmt, sources):
                for ref in self.of_call(call, sources).returned.values():
                    yield ref, stmt.origin.place


@ir.of_node
def _named_outside(stmt: ir.Stmt) -> tuple[ir.Ref, ...]:
    """What a statement names outside of its function but operations, which only compute."""
    refs = (
        ref
        for expr in ir.expressions(stmt)
        for part in ir.walk(expr)
        for ref in (getattr(part, "refs", ()) if not isinstance(part, ir.Ref) else (part,))
    )
    stated = getattr(stmt, "refs", ())
    return tuple(ref for ref in (*refs, *stated) if not is_operation(ref.obj))


def _carried_out(
    name: str, into: Mapping[int, ir.Ref], function: ir.Function, stmt: ir.Stmt
) -> UnsupportedError:
    name = in_source(name, function)
    refusal = UnsupportedError(
        f"`{name}` carries derivatives into {_listed(into) or 'an object'}, which is defined "
        f"outside {function.name}",
        stmt.origin.place,
        f"Pass it as an argument, return what is written, or store tl.stop_gradient({name}).",
        "memory",
    )
    refusal.outer = tuple(ref.obj for ref in into.values())
    return refusal


def _listed(arrays: Mapping[int, ir.Ref]) -> str:
    """The arrays by the names that they have outside."""
    return ", ".join(f"`{text}`" for text in sorted({ref.text for ref in arrays.values()}))


def lasting_defaults(obj: Any, given: Collection[str]) -> dict[str, ir.Ref]:
    """The parameters of a function for which nothing is given, and whose defaults can be changed:
    all calls have the same one.

    >>> def f(x, seen={}, at=(), *, total=np.zeros(2)):
    ...     pass
    >>> [ref.text for ref in lasting_defaults(f, ["x"]).values()]
    ["f's default of seen", "f's default of total"]
    """
    code = getattr(obj, "__code__", None)
    if code is None:
        return {}
    values = attribute_of(obj, "__defaults__", None) or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(values) :]
    defaults = dict(zip(names, values, strict=True))
    defaults |= attribute_of(obj, "__kwdefaults__", None) or {}
    return {
        name: ir.Ref(f"{obj.__name__}'s default of {name}", value)
        for name, value in defaults.items()
        if name not in given and (is_outer_array(value) or is_box(value))
    }


def _arrays_among(found: Mapping[int, ir.Ref]) -> dict[int, ir.Ref]:
    return {key: ref for key, ref in found.items() if is_outer_array(ref.obj)}


def _callee(call: ir.Call) -> Any:
    return _fn(call).obj


def _fn(call: ir.Call) -> ir.Ref:
    assert isinstance(call.fn, ir.Ref)
    return call.fn


def _user_calls(stmt: ir.Stmt, sources: Sources) -> Iterator[ir.Call]:
    """The calls of functions with a source in a statement."""
    return (call for call in _calls_by_name(stmt) if _is_read(call, sources))


def _calls_by_name(stmt: ir.Stmt) -> list[ir.Call]:
    """The calls in a statement of what has a name outside of the function."""
    parts = (part for expr in ir.expressions(stmt) for part in ir.walk(expr))
    return [part for part in parts if isinstance(part, ir.Call) and isinstance(part.fn, ir.Ref)]


def _is_read(call: ir.Call, sources: Sources) -> bool:
    if not isinstance(call.fn, ir.Ref) or is_of_runtime(_callee(call)):
        return False
    return is_python_function(_callee(call)) and sources.effects(call) is not None


def _written_places(stmt: ir.Stmt, sources: Sources) -> Iterator[ir.Expr]:
    """What a statement writes in place, as it names it."""
    match stmt:
        case ir.Store(target=target):
            if not _is_container(target.base, sources):  # (an item of a list is replaced)
                yield target.base
        case ir.Update(target=target):
            yield target if isinstance(target, ir.Var) else target.base
        case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
            yield from outputs(call, sources.kinds)
            match call.fn:
                case ir.Attribute(base, method) if method in MUTATING_METHODS:
                    # (What arrays do not have is of containers: see `outer_containers`.)
                    if hasattr(np.ndarray, method) and not _is_container(base, sources):
                        yield base
                case ir.Ref(obj=obj) if written_position(obj) is not None and call.args:
                    yield call.args[0]
                case ir.Ref(obj=obj):
                    effects = sources.effects(call)
                    if effects is not None:
                        actuals = sources.bind(call)
                        written = effects.written & actuals.keys()
                        # (A backward function pops its own stacks, and puts back what its forward
                        # function wrote, which is asked the same where that is called.)
                        written -= set(attribute_of(obj, "__empties__", ()))
                        yield from (actuals[f] for f in sorted(written))


def _objects_assigned(stmt: ir.Stmt, held: Held) -> dict[int, ir.Ref]:
    """The outer objects of which a statement assigns an attribute."""
    match stmt:
        case ir.Store(target=ir.Attribute(base, _)):
            found = held.roots(base).items()
            return {key: ref for key, ref in found if not is_outer_array(ref.obj)}
    return {}


def _is_container(base: ir.Expr, sources: Sources) -> bool:
    known = live(base)
    if known is not None:
        return not is_outer_array(known.obj)
    return sources.kind_of(base).form in ("list", "tuple", "dict", "object")


def _params_reaching(
    ends: set[str], predecessors: Mapping[str, list[str]], function: ir.Function
) -> frozenset[str]:
    found: set[str] = set()
    pending = list(ends)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(predecessors.get(name, ()))
    return frozenset(function.param_names) & found


def _refuse_unseen_function(stmt: ir.Stmt, name: str) -> None:
    """Refuse `tl.grad(system.energy)`: which function that is shows only when the program runs."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(text, obj))) if mark_of(obj, "derives"):
            raise UnsupportedError(
                f"the function or the wrt that `{text}` is given is not known when the derivative "
                "is made",
                stmt.origin.place,
                "Write a function that calls it: `tl.grad(lambda x: system.energy(x))`.",
            )
