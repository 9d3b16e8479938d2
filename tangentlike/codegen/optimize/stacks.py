"""Saved values that nothing reads: their stack goes, with its pushes and pops, or their place on
the tape.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import (
    Callable,
    Container,
    Hashable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)

import numpy as np

from ... import ir
from ...ir.facts import fact
from ...ir.index import OUTERMOST, ProgramIndex, references
from ...rules.index_kinds import key_parts
from .analyses import Analyses, Asking
from .effects import NOTHING, effect_of, expr_effect, is_pure, is_trusted, own_effect
from .facts import Facts
from .shapes import is_number


def remove_unread_stacks(function: ir.Function, facts: Facts) -> ir.Function:
    """Drop lists that are only pushed to and popped into names that nothing reads.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> f = program("s = []; s.append(x); y = x * 2; x = s.pop(); return y")
    >>> print(show(remove_unread_stacks(f, Facts()).body))
    y = x * 2
    return y
    """
    return remove_stacks(function, frozenset(created_lists(function)), facts)


def remove_stacks(
    function: ir.Function, names: frozenset[str], facts: Facts, beside: ir.Block = ()
) -> ir.Function:
    """Drop those of the stacks that nothing reads; what binds them (`beside`) may stay."""
    stacks = set(names)
    if not stacks:
        return function
    live = Analyses(function, facts).live
    for stmt in ir.statements(function.body):
        for name in sorted(stacks & ir.reads(stmt)):
            value, popped = _pushed(stmt, name), _popped(stmt, name)
            if value is not None:
                goes = name not in ir.names_in(value) and is_pure(value, facts, True)
            else:
                goes = popped is not None and not any(live.is_live_after(stmt, n) for n in popped)
            if not goes:
                stacks.discard(name)
    if not stacks:
        return function

    def one(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        if not ir.is_compound(stmt) and stmt not in beside:
            effect = effect_of(stmt, facts)
            if stacks & (effect.reads | effect.binds):
                return ()
        return None

    return ir.with_body(function, ir.rewrite(function.body, one))


def created_lists(function: ir.Function) -> set[str]:
    """Names bound once, to a new empty list."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=target, value=ir.Display(form="list", items=())):
                found.update(ir.target_names(target))
    if not found:
        return found
    bound = ir.bindings(ir.statements(function.body), function.param_names)
    return {name for name in found if bound[name] == 1}


def is_push(stmt: ir.Stmt) -> bool:
    """Whether a statement of a transform saves a value on a stack."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(), "append"), args=(_,))):
            return stmt.origin.role == "save"
    return False


def _pushed(stmt: ir.Stmt, stack: str) -> ir.Expr | None:
    """What a statement puts on a stack."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "append"), args=(value,))):
            return value if base == stack else None
    return None


def _popped(stmt: ir.Stmt, stack: str) -> tuple[str, ...] | None:
    """The names that a statement binds to what it takes from a stack."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(base), "pop"), args=())):
            return tuple(ir.target_names(stmt.target)) if base == stack else None
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "pop"), args=())):
            return () if base == stack else None
    return None


def _made_once(function: ir.Function, name: str, push: ir.Stmt) -> int | None:
    """The number of the statement around the one that makes what a name stands for, whenever a
    statement pushes it and afterwards; None where that may be several objects."""
    index = fact(ProgramIndex, function)
    made = index.definitions.get(name, [])
    if name in function.param_names:
        return None if made else OUTERMOST
    if len(made) != 1 or made[0] > index.number(push):
        return None
    plain = isinstance(index.statements[made[0]], ir.Assign)
    return index.parents[made[0]] if plain and next(index.loops(made[0]), None) is None else None


def _taking_value(stmt: ir.Stmt, stack: str, value: ir.Expr | None) -> ir.Stmt | None:
    """A statement that takes one item of a stack, once, with a value in its place."""
    pops = 0

    def taken(expr: ir.Expr) -> ir.Expr:
        nonlocal pops
        match expr:
            case ir.Call(fn=ir.Attribute(ir.Var(base), "pop"), args=()) if base == stack and value:
                pops += 1
                return value
        return ir.rebuild(expr, taken)

    new = None if ir.is_compound(stmt) else ir.map_statement(stmt, expr=taken)
    return new if pops == 1 and new is not None and stack not in ir.reads(new) else None


# --------------------------------------------------------------------------------------------------
# What is the same in every iteration is not saved in each, and is computed before the loop.
#
# What a loop works out from names that nothing in it binds or writes still has its value when the
# loop is gone through backwards: the name is read, and the stack it was saved on goes.


def keep_invariants(function: ir.Function, facts: Facts) -> ir.Function:
    """Leave out stacks of which all items are one value that its name still has, and compute before
    a loop what it computes in each iteration alike.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> import numpy as np
    >>> from .facts import derived
    >>> from ...ir.kind import FLOAT
    >>> f = derived(program('''s = []
    ... for i in range(n):
    ...     r = np.sqrt(dt)
    ...     s.append(r)
    ... for i in reversed(range(n)):
    ...     r = s.pop()
    ...     x_bar = x_bar * r
    ... return x_bar''', {"np": np}), "save")
    >>> print(show(keep_invariants(f, Facts()).body))
    for i in range(n):
        r = np.sqrt(dt)
    for i in reversed(range(n)):
        x_bar = x_bar * r
    return x_bar
    >>> f = program('''for i in range(n):
    ...     root = np.sqrt(dt)
    ...     x = x * root
    ... return x''', {"np": np})
    >>> f = dataclasses.replace(f, params=tuple(map(ir.Param, ("dt", "n", "x"))))
    >>> facts = Facts(kinds={"dt": FLOAT}, temporaries=frozenset(["root"]))
    >>> print(show(keep_invariants(f, facts).body))
    root = np.sqrt(dt)
    for i in range(n):
        x = x * root
    return x
    """
    loops = any(isinstance(s, ir.For | ir.While) for s in ir.statements(function.body))
    if not loops or facts.by_identity:
        return function  # (each is an object of its own)
    return _Invariants(function, facts).rewritten(function)


class _Invariants(Asking):
    """`gone`: the statements of stacks of one value, which its name still has; `same`: what takes
    it from there, and what stands for that; `bound`: the names that surely have a value where the
    pass is."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        super().__init__(function, facts)
        self.index = fact(ProgramIndex, function)
        self.gone: set[int] = set()
        self.same: dict[int, ir.Stmt] = {}
        if not any(isinstance(s, ir.Try) for s in self.index.statements):
            # (what a `try` binds depends on what it raises)
            for stack in sorted(created_lists(function)):
                self.gone.update(self._of_one_value(stack))
        stays = [s for s in self.index.statements if id(s) not in self.gone]
        self.bindings = ir.bindings(stays, function.param_names)
        self.bound = set(function.param_names)
        self.numbers = {
            str(s.target): s.value.value
            for s in stays
            if isinstance(s, ir.Assign) and isinstance(s.value, ir.Const)
            if self.bindings[str(s.target)] == 1
        }

    def _of_one_value(self, stack: str) -> Iterator[int]:
        """The statements of a stack of one value, if it is such a stack."""
        uses = [self.index.statements[n] for n in self.index.uses.get(stack, ())]
        if len(uses) != 2 or stack in self.pinned:
            return
        push, pop = uses
        value = _pushed(push, stack)
        taken = _taking_value(pop, stack, value)
        if not isinstance(value, ir.Var) or not is_push(push) or taken is None:
            return
        made = (id(self.index.statements[n]) for n in self.index.definitions[stack])
        if (
            value.name not in self.pinned
            and _made_once(self.function, value.name, push) is not None
        ):
            self.same[id(pop)] = taken
            yield from (id(push), *made)
            return
        if value.name in self.function.param_names:
            return
        first, *others = (self.index.statements[n] for n in self.index.definitions[value.name])
        if not others or (others == [pop] and getattr(taken, "value", None) == value):
            loops = [*self.index.loops(self.index.number(first))]
            beside = self.index.block_of(first) == self.index.block_of(push)
            around = self.index.statements[loops[-1]] if beside and loops else None
            self.same[id(pop)] = taken
            if around is not None and self._is_alike(first, around):
                yield from (id(push), *made)
                if not others:
                    return
                yield id(pop)  # (`x = s.pop()`, which `x` is)
            del self.same[id(pop)]

    def _is_alike(self, stmt: ir.Stmt, loop: ir.Stmt, before: frozenset[str] = NOTHING) -> bool:
        """Whether a statement of a loop gives its name the same value each time (the names
        `before` are bound before the loop)."""
        match stmt:
            case ir.Assign(target=str(name)) if name not in self.pinned:
                effect = expr_effect(stmt.value, self.facts, is_trusted(stmt))
                around = effect_of(loop, self.facts)
                others = dataclasses.replace(around, binds=around.binds - before)
                alike = effect.silent and self.can_move(effect, (others,))
                return alike and not self._is_written(name)
        return False

    def _is_written(self, name: str) -> bool:
        """Whether anything writes memory that a name may refer to, taking from stacks aside that
        are gone."""
        if not self.sharing.is_written(name):
            return False
        stays = (self.same.get(id(s), s) for s in self.index.statements if id(s) not in self.gone)
        writes = frozenset().union(*(own_effect(stmt, self.facts).writes for stmt in stays))
        return self.sharing.of(name) in map(self.sharing.of, writes)

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        if id(stmt) in self.gone or id(stmt) in self.same:
            return self.same.get(id(stmt), ())
        bound = set(self.bound)
        new = self.nested(stmt)
        self.bound = bound
        if not ir.is_compound(new):
            self.bound.update(ir.binds(new))
            return new
        if not isinstance(new, ir.For | ir.While):
            return new
        moved = self._alike(new)
        body = tuple(s for s in new.body if s not in moved)
        return (*moved, dataclasses.replace(new, body=body)) if moved and body else new

    def _alike(self, loop: ir.For | ir.While) -> list[ir.Stmt]:
        """The statements of a loop that may as well stand before it, without raising there what
        a loop of no iteration would not."""
        found: list[ir.Stmt] = []
        names: frozenset[str] = NOTHING
        runs = self._surely_runs(loop)
        for stmt in loop.body:
            match stmt:
                case ir.Assign(target=str(name), value=ir.Call() as value) if (
                    name in self.facts.temporaries
                    and self.bindings[name] == 1
                    and expr_effect(value, self.facts, is_trusted(stmt)).reads <= self.bound | names
                    and (runs or self._never_raises(value))
                    and self._is_alike(stmt, loop, names)
                ):
                    found.append(stmt)
                    names |= {name}
        self.bound |= names
        return found

    def _surely_runs(self, loop: ir.For | ir.While) -> bool:
        """Whether a loop surely has an iteration, and no `try` asks what is raised before it."""
        match getattr(loop, "iter", None):
            case ir.Call(ir.Ref(obj=obj), (count,), ()) if obj is range and not self.facts.tried:
                number = self.numbers.get(getattr(count, "name", ""), getattr(count, "value", 0))
                return type(number) is int and number > 0
        return False

    def _never_raises(self, expr: ir.Expr) -> bool:
        """Whether an expression of numbers, and of one array at most, has a value always."""
        match expr:
            case ir.Const(value):
                return type(value) in (int, float)
            case ir.Var(name):
                return self.facts.kind(name).form in ("number", "array")
            case ir.Index(ir.Var(name), key):
                parts, rank = key_parts(key), self.facts.kind(name).rank or 0
                slices = all(isinstance(p, ir.Slice) and not ir.names_in(p) for p in parts)
                return slices and len(parts) <= rank
            case ir.Call(ir.Ref(text=text, obj=obj), args, ()):
                many = [a for a in args if not is_number(a, self.facts)]
                plain = text in ("+", "-", "*") or (text == "/" and _is_nonzero(args[-1]))
                plain = plain or (isinstance(obj, np.ufunc) and obj.nout == 1 == obj.nin)
                return plain and len(many) <= 1 and all(map(self._never_raises, args))
        return False


def _is_nonzero(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and expr.value != 0


# --------------------------------------------------------------------------------------------------
# What a forward function puts on its tape and its backward function does not read goes.
#
# The tape is made of what the adjoint statements read as the transform wrote them; some of that is
# gone when they are simplified: a sum over broadcast axes that waits needs no value for its shape.

Simplified = Callable[[ir.Function], ir.Function]


def simplified_pairs(
    functions: Sequence[ir.Function],
    simplified: Simplified,
    facts: Mapping[str, Facts],
    kept: int = 0,
) -> tuple[ir.Function, ...]:
    """All functions of a module simplified, and their tapes no longer than is read. The last ones,
    as many as are `kept`, are called by others.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> fwd = derived(program("s = []; s.append(x); y = x * z; return y, (s, z)"), "save")
    >>> bwd = program("s, z = tape; x = s.pop(); return z")
    >>> bwd = dataclasses.replace(bwd, empties=("tape",))
    >>> made = simplified_pairs((fwd, bwd), lambda f: f, {bwd.name: Facts()})
    >>> print(show(made[0].body), show(made[1].body), sep=chr(10))
    s = []
    s.append(x)
    y = x * z
    return y, (z,)
    (z,) = tape
    return z
    """
    from .tapes import without_tape

    made, backward = list(functions), set[int]()
    for at in range(len(made) - 1):  # (what is called comes first)
        fwd, bwd = made[at : at + 2]
        names = unpacked_names(bwd)
        if names is None and bwd.empties and bwd.place == fwd.place:
            names = ()
        if names is not None and names == taped_names(fwd):
            made[at : at + 2] = _shortened(fwd, simplified(bwd), simplified, facts)
            backward.add(at + 1)
            if at + 2 <= len(made) - kept:
                made[:] = without_tape(made, at)
    out: list[ir.Function] = []  # last functions first: what is read of their results is known
    for at in reversed(range(len(made))):
        fn = made[at]
        if at not in backward:
            if fn.name not in _called(made[: at + 1]):
                fn = _with_results_read(fn, out, facts)
            fn = simplified(fn)
        out.append(fn)
    out.reverse()
    for at in sorted(backward):
        out[at - 1 : at + 1] = _with_values(*out[at - 1 : at + 1])
    return tuple(out)


def _with_values(fwd: ir.Function, bwd: ir.Function) -> tuple[ir.Function, ir.Function]:
    """A pair without stacks of which all items are one object, that a name of the forward function
    stands for when it returns: the tape holds it instead.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> fwd = derived(program('''r = x * 2.0
    ... s = []
    ... for i in range(n):
    ...     s.append(r)
    ...     x = x * r
    ... return x, (n, s)'''), "save")
    >>> bwd = program('''n, s = tape
    ... for i in range(n):
    ...     g = g * s.pop()
    ... return g''')
    >>> made = _with_values(fwd, dataclasses.replace(bwd, empties=("tape",)))
    >>> print(show(made[0].body), show(made[1].body), sep=chr(10))
    r = x * 2.0
    for i in range(n):
        x = x * r
    return x, (n, r)
    n, r = tape
    for i in range(n):
        g = g * r
    return g
    """
    shorter: tuple[ir.Function, ir.Function] | None = (fwd, bwd)
    while shorter is not None:
        fwd, bwd = shorter
        shorter = _with_one_value(fwd, bwd)
    return fwd, bwd


def _with_one_value(fwd: ir.Function, bwd: ir.Function) -> tuple[ir.Function, ir.Function] | None:
    """The same for one such stack, if there is one."""
    names, taped = unpacked_names(bwd) or (), taped_names(fwd) or ()
    if len(names) != len(taped):
        return None
    pushed = _only_pushed(fwd)
    for at, (own, stack) in enumerate(zip(names, taped, strict=True)):
        push = None if own is None or stack not in pushed else _push_of_one_object(fwd, stack)
        read = None if push is None else _read_instead(bwd, at, _pushed(push, str(stack)), taped)
        if push is not None and read is not None:
            value, known, body = read
            bwd = ir.with_body(bwd, body)
            fwd = ir.with_body(fwd, ir.rewrite(fwd.body, _leaving_out(push, stack)))
            changed = {at: None if known else value.name}
            return _retaped(fwd, changed), _unpacking(bwd, changed, bwd.body[1:])
    return None


def _push_of_one_object(fwd: ir.Function, stack: str) -> ir.Stmt | None:
    """The statement that pushes all items of a taped stack, if they are one object by one name."""
    index = fact(ProgramIndex, fwd)
    push, *rest = (index.statements[n] for n in index.uses[stack])
    value = _pushed(push, stack)
    if not isinstance(value, ir.Var) or not all(s is fwd.body[-1] for s in rest):
        return None
    around = _made_once(fwd, value.name, push)
    return push if around == OUTERMOST else None


def _read_instead(
    bwd: ir.Function, at: int, value: ir.Expr | None, taped: Sequence[str | None]
) -> tuple[ir.Var, bool, ir.Block] | None:
    """The value that a backward function reads where it took items of the stack at a place of its
    tape, whether the tape has that already, and the body that reads it."""
    assert isinstance(value, ir.Var)
    names, index = unpacked_names(bwd) or (), fact(ProgramIndex, bwd)
    pops = [index.statements[n] for n in index.uses.get(str(names[at]), ())]
    taken = _taking_value(pops[0], str(names[at]), value) if len(pops) == 1 else None
    bound = [index.statements[n] for n in index.definitions.get(value.name, ())]
    known = value.name in names and taped[names.index(value.name)] == value.name
    again = isinstance(taken, ir.Assign) and taken.value == value == ir.Var(str(taken.target))
    expected = bwd.body[:1] if known else pops if again else ()
    if taken is None or value.name in bwd.param_names or (*bound,) != (*expected,):
        return None
    instead: ir.Instead = () if again else taken
    return value, known, ir.rewrite(bwd.body, lambda s: instead if s is pops[0] else None)


def _leaving_out(push: ir.Stmt, stack: str | None) -> Callable[[ir.Stmt], ir.Instead]:
    """What is left of a statement where a stack is not made, and nothing pushed on it."""

    def left(stmt: ir.Stmt) -> ir.Instead:
        made = isinstance(stmt, ir.Assign) and stmt.target == stack
        return () if made or stmt is push else None

    return left


def _called(functions: Sequence[ir.Function]) -> frozenset[str]:
    """The names of what functions refer to."""
    return frozenset(ref.text for fn in functions for ref in fact(references, fn))


def _with_results_read(
    fn: ir.Function, callers: list[ir.Function], facts: Mapping[str, Facts]
) -> ir.Function:
    """A function without the results that no call of it reads (the gradient, where a tangent of it
    is asked for); its calls in `callers`, which are simplified, take what is left."""
    match fn.body[-1:]:
        case (ir.Return(value=ir.Display(form="tuple", items=results)) as end,) if (
            taped_names(fn) is None and "." not in fn.name
        ):
            callers[:] = [ir.distinct(f) if fn.name in _called((f,)) else f for f in callers]
            calls = [call for caller in callers for call in _calls_of(fn.name, caller, facts)]
        case _:
            return fn
    read: set[int] = set()
    for call, names in calls:
        if call is None or len(names) != len(results):
            return fn
        read.update(n for n, is_read in enumerate(names) if is_read)
    if not read or len(read) == len(results):
        return fn
    shorter = {id(call): _taking(call, read) for call, _ in calls if call is not None}
    for at, caller in enumerate(callers):
        body = ir.rewrite(caller.body, lambda stmt: shorter.get(id(stmt)))
        callers[at] = ir.with_body(caller, body)
    items = tuple(results[n] for n in sorted(read))
    value = items[0] if len(items) == 1 else ir.Display("tuple", items)
    return ir.with_body(fn, (*fn.body[:-1], ir.Return(value, end.origin)))


def _calls_of(
    name: str, caller: ir.Function, facts: Mapping[str, Facts]
) -> Iterator[tuple[ir.Assign | None, list[bool]]]:
    """The statements that take apart what a function gives, and which parts of it are read; None
    for what does something else with it."""
    if name not in _called((caller,)):
        return
    live = Analyses(caller, facts[caller.name]).live
    for stmt in ir.statements(caller.body):
        found = [p for p in ir.walk_statement(stmt) if isinstance(p, ir.Ref) and p.text == name]
        match stmt:
            case ir.Assign(target=tuple(names), value=ir.Call(ir.Ref() as called)) if found == [
                called
            ]:
                reads = [not isinstance(n, str) or live.is_live_after(stmt, n) for n in names]
                yield stmt, reads
            case _ if found:
                yield None, []


def _taking(call: ir.Assign, read: set[int]) -> ir.Assign:
    """The call that takes those of the results that are read."""
    names = tuple(name for n, name in enumerate(call.target) if n in read)
    return ir.Assign(names if len(names) > 1 else names[0], call.value, call.origin)


def _shortened(
    fwd: ir.Function, bwd: ir.Function, simplified: Simplified, facts: Mapping[str, Facts]
) -> tuple[ir.Function, ir.Function]:
    """A forward function, and its simplified backward function, without what this does not read."""
    names, taped = unpacked_names(bwd), taped_names(fwd)
    if names is None or taped is None or len(names) != len(taped):
        return fwd, bwd  # (nothing was read of the tape, and the statement is gone)
    found = _unread(fwd, bwd, facts[bwd.name])
    if found is None:
        return fwd, bwd
    unread, rest = found
    changed = dict.fromkeys(unread)
    shorter = _unpacking(bwd, changed, rest)
    return _retaped(fwd, changed), shorter if rest == bwd.body[1:] else simplified(shorter)


def without_repeats(
    functions: Sequence[ir.Function],
    facts: MutableMapping[str, Facts],
    last: int,
    in_pairs: bool = False,
) -> tuple[ir.Function, ...]:
    """The functions without those that are another one by another name: a helper that is called
    with other arguments active has a backward function more, and often the same forward function.
    Functions that call themselves, or each other, are the same if they are where what they call is.
    The `last` ones are asked for by their names. With `in_pairs` a forward function stays beside
    each backward function.

    >>> from tangentlike.frontend.lower import program
    >>> f, g = (dataclasses.replace(program("return x"), name=name) for name in "fg")
    >>> main = dataclasses.replace(f, name="main")
    >>> [fn.name for fn in without_repeats((f, g, main), {}, 1)]
    ['f', 'main']
    """
    gone = _same_as_earlier(functions[: len(functions) - last], in_pairs)
    if not gone:
        return tuple(functions)
    names: dict[str, str] = {}  # those that stay have the shortest name of all that they stand for
    for name, first in gone.items():
        names[first] = min(names.get(first, first), name, key=lambda n: (len(n), n))
    facts.update({name: facts[first] for first, name in names.items() if first in facts})
    refs = {ref.text: ref.obj for fn in functions for ref in fact(references, fn)}
    now = {**names, **{name: names[first] for name, first in gone.items()}}
    called = {name: ir.Ref(new, refs.get(new)) for name, new in now.items()}
    return tuple(
        dataclasses.replace(_calling(fn, called), name=names.get(fn.name, fn.name))
        for fn in functions
        if fn.name not in gone
    )


def _same_as_earlier(functions: Sequence[ir.Function], in_pairs: bool) -> dict[str, str]:
    """The names of functions that an earlier one is equal to, and the name of that: those that
    look alike are taken for equal, until what they call is not."""
    known: dict[Hashable, list[ir.Function]] = {}
    for fn in functions:
        if "." not in fn.name:  # (a method: its class needs one of its own)
            known.setdefault((fn.place, fn.param_names, len(fn.body)), []).append(fn)
    alike = {fn.name: fn for group in known.values() if len(group) > 1 for fn in group}
    looks = {name: _and_what_it_calls(fn, alike) for name, fn in alike.items()}
    for fwd, bwd in itertools.pairwise(functions) if in_pairs else ():
        if fwd.name in looks and unpacked_names(bwd) is not None:
            look, called = looks[fwd.name]
            looks[fwd.name] = look, (*called, *((bwd.name,) if bwd.name in looks else ()))
    classes = dict.fromkeys(alike, "")
    while True:
        made: dict[str, str] = {}
        for name, (look, called) in looks.items():
            for first in dict.fromkeys(made.values()):
                other, others = looks[first]
                same = classes[name] == classes[first] and len(called) == len(others)
                pairs = zip(called, others, strict=True) if same else ()
                if same and all(classes[a] == classes[b] for a, b in pairs) and look == other:
                    made[name] = first
                    break
            else:
                made[name] = name
        if made == classes:
            return {name: first for name, first in made.items() if name != first}
        classes = made


def _and_what_it_calls(
    fn: ir.Function, among: Container[str]
) -> tuple[ir.Function, tuple[str, ...]]:
    """A function without its name and those of others, and these in order."""
    called: list[str] = []

    def one(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Ref) and expr.text in among:
            called.append(expr.text)
            return ir.Ref("", None)
        return ir.rebuild(expr, one)

    body = ir.rewrite(fn.body, expression=one)
    return dataclasses.replace(fn, name="", body=body), tuple(called)


def _calling(fn: ir.Function, same: Mapping[str, ir.Ref]) -> ir.Function:
    """A function that calls others instead of those that are gone."""

    def one(expr: ir.Expr) -> ir.Expr:
        known = same.get(expr.text) if isinstance(expr, ir.Ref) else None
        return ir.rebuild(expr, one) if known is None else known

    return ir.with_body(fn, ir.rewrite(fn.body, expression=one))


def unpacked_names(bwd: ir.Function) -> tuple[str | None, ...] | None:
    """The names that a backward function takes from its tape."""
    if bwd.empties and bwd.body:
        match bwd.body[0]:
            case ir.Assign(target=tuple(names), value=ir.Var(tape)):
                if tape == bwd.params[0].name:
                    return tuple(n if isinstance(n, str) else None for n in names)
    return None


def taped_names(fwd: ir.Function) -> tuple[str | None, ...] | None:
    """The names that a forward function returns as the tape (None for what has no name)."""
    match fwd.body[-1] if fwd.body else None:
        case ir.Return(value=ir.Display(items=(_, ir.Display(form="tuple", items=items)))):
            return tuple(i.name if isinstance(i, ir.Var) else None for i in items)
    return None


def _unread(
    fwd: ir.Function, bwd: ir.Function, facts: Facts
) -> tuple[frozenset[int], ir.Block] | None:
    """Positions of the tape that are not read, or are stacks whose items are not, and the
    backward function after its first statement without them."""
    names = unpacked_names(bwd) or ()
    known = frozenset(n for n in names if n is not None and names.count(n) == 1)
    pushed = _only_pushed(fwd)
    taped = taped_names(fwd) or ()
    own = frozenset(
        n for n, item in zip(names, taped, strict=True) if n in known and item in pushed
    )
    rest = remove_stacks(bwd, own, facts, bwd.body[:1]).body[1:]
    read = frozenset().union(*map(ir.reads, ir.statements(rest)))
    unread = frozenset(at for at, name in enumerate(names) if name in known - read)
    return (unread, rest) if unread else None


def _only_pushed(fwd: ir.Function) -> frozenset[str]:
    """Stacks that a forward function makes and does nothing with but pushing and taping: other
    lists may be the caller's, and a backward function restores them."""
    stacks = created_lists(fwd)
    for stmt in ir.statements(fwd.body[:-1]):
        if not is_push(stmt):
            stacks -= ir.reads(stmt)
    return frozenset(stacks)


def _retaped(fwd: ir.Function, changed: Mapping[int, str | None]) -> ir.Function:
    """A forward function whose tape holds these names at their places, or (None) nothing there."""
    end = fwd.body[-1]
    assert isinstance(end, ir.Return) and isinstance(end.value, ir.Display)
    value, tape = end.value.items
    assert isinstance(tape, ir.Display)
    names = {at: ir.Var(name) for at, name in changed.items() if name is not None}
    kept = [names.get(at, i) for at, i in enumerate(tape.items) if at in names or at not in changed]
    items = ir.Display("tuple", tuple(kept))
    end = ir.Return(ir.Display("tuple", (value, items)), end.origin)
    return dataclasses.replace(fwd, body=(*fwd.body[:-1], end))


def _unpacking(bwd: ir.Function, changed: Mapping[int, str | None], rest: ir.Block) -> ir.Function:
    """A backward function that takes this from its tape, before the rest of its body."""
    first = bwd.body[0]
    assert isinstance(first, ir.Assign)
    taken = (changed.get(at, name) for at, name in enumerate(first.target))
    names = tuple(name for name in taken if name is not None)
    unpack = (ir.Assign(names, first.value, first.origin),) if names else ()
    return dataclasses.replace(bwd, body=(*unpack, *rest))
