"""`A[k] = A[k] * x` and `y = y + e`: written as the in-place operation they are."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ... import ir
from ...frontend.operands import UPDATE
from .algebra import Product, build_sum, terms_of
from .analyses import IN_PLACE, OWN, Analyses, Asking, patterns_of
from .effects import effect_of, expr_effect, is_trusted, root_names
from .facts import Facts, runtime_name
from .propagate import source_of
from .sharing import Sharing, is_float

UPDATES = {ref.text.removesuffix("="): ref for ref in UPDATE.values()}


def restore_updates(function: ir.Function, facts: Facts) -> ir.Function:
    """Give the user's `y += e` back, and write our own stores of that form alike.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.ir.kind import Kind
    >>> from .facts import derived
    >>> f = derived(program("A[k] = A[k] * x; return A"))
    >>> print(show(restore_updates(f, Facts(kinds={"A": Kind("array")})).body))
    A[k] *= x
    return A
    """
    sharing = Analyses(function, facts).sharing
    guarding = set(map(id, _guarding(function)))

    def one(stmt: ir.Stmt) -> ir.Stmt:
        match stmt:
            case ir.Store(target=ir.Index() as place, value=ir.Call(fn=ir.Ref(text=text)) as call):
                if not _is_array(place.base, facts):
                    return stmt
                if _was_written(stmt, call, text):
                    return ir.Update(place, UPDATES[text], call.args[1], stmt.origin)
                if text in IN_PLACE and stmt.origin.is_derived:
                    rest = _without(call, place)
                    if rest is not None and _is_repeatable(place, rest, facts):
                        return ir.Update(place, UPDATES[text], rest, stmt.origin)
            case ir.Assign() if id(stmt) in guarding:
                return stmt  # `x = x + e` of a parameter: the caller's array is left alone
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Ref(text=text)) as call):
                first = text in IN_PLACE and call.args[0] == ir.Var(name)
                rest = _without(call, ir.Var(name)) if first else None
                was_update = rest is not None and _was_update(stmt, name, text)
                if rest is not None and was_update and _is_alone(name, facts, sharing):
                    return ir.Update(ir.Var(name), UPDATES[text], rest, stmt.origin)
        return stmt

    return ir.with_body(function, ir.rewrite(function.body, after=one))


def _guarding(function: ir.Function) -> list[ir.Stmt]:
    """The first binding of each parameter: until then it is the caller's object."""
    found: dict[str, ir.Stmt] = {}
    for stmt in ir.statements(function.body):
        for name in ir.binds(stmt):
            if name in function.param_names:
                found.setdefault(name, stmt)
    return list(found.values())


def _without(call: ir.Call, place: ir.Expr) -> ir.Expr | None:
    """`e` of `place op e` (or of `e * place`: of our own, always numbers and arrays)."""
    if len(call.args) != 2 or call.kwargs:
        return None
    left, right = call.args
    fn = call.fn
    assert isinstance(fn, ir.Ref)
    if left == place:
        return right
    if right == place and fn.text in ("*", "+"):
        return left
    # `2.0 * A[k] * x`: the place stands at the end of the left spine, or inside it.
    if fn.text == "*" and isinstance(left, ir.Call) and left.fn == fn:
        inner = _without(left, place)
        return None if inner is None else ir.Call(fn, (inner, right))
    return None


def _is_repeatable(place: ir.Index, rest: ir.Expr, facts: Facts) -> bool:
    """Whether place and value may be evaluated in another order, the place once."""
    silent = expr_effect(place, facts, True).silent and expr_effect(rest, facts, True).silent
    return silent and ir.names_in(place.base).isdisjoint(ir.names_in(rest))


def _was_update(stmt: ir.Assign, name: str, text: str) -> bool:
    """Whether the user's own line is this update."""
    if is_trusted(stmt):
        return False
    head, sign, _ = stmt.origin.place.text.partition(f" {text}= ")
    return bool(sign) and head.strip() == name


def _is_array(base: ir.Expr, facts: Facts) -> bool:
    """Whether `base[k] += e` writes entries: an item of a list or dict that is an array would be
    written in place, where the store puts another one there. An adjoint or a tangent is an array
    where its value is."""
    return isinstance(base, ir.Var) and facts.kind_behind(base.name).form == "array"


def _was_written(stmt: ir.Store, call: ir.Call, text: str) -> bool:
    """Whether the user's own line is this update of entries: `A[k] /= x`."""
    line = stmt.origin.place.text
    own = stmt.origin.role == "primal" and f" {text}= " in line and ";" not in line
    return own and text in IN_PLACE and len(call.args) == 2 and call.args[0] == stmt.target


def _is_alone(name: str, facts: Facts, sharing: Sharing) -> bool:
    """Whether rebinding the name and writing its object cannot be distinguished."""
    kind = facts.kind(name)
    if kind.form == "number":
        return True
    if kind.form == "value" and kind.rank == 0:
        return False  # (a number that is computed of the array may get other names)
    return sharing.members(name) == [name] and not sharing.is_outside(name)


# --------------------------------------------------------------------------------------------------
# Entries of an adjoint that were read, and get back what they hold: `u[k] = u[k] + e` reversed.


def keep_entries(function: ir.Function, facts: Facts) -> ir.Function:
    """Add to entries that still hold what a name was given a copy of.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.ir.kind import Kind
    >>> from .facts import derived
    >>> f = derived(program("t = A[k].copy(); s = t * c; A[k] = t - 2.0 * s; return A"))
    >>> facts = Facts(kinds={"A": Kind("array")}, floating=frozenset(["t", "s"]))
    >>> print(show(keep_entries(f, facts).body))
    t = A[k].copy()
    s = t * c
    A[k] += -2.0 * s
    return A
    """
    return _Keeping(function, facts).rewritten(function)


class _Keeping(Asking):
    def block(self, block: ir.Block) -> ir.Block:
        stmts = [self.nested(stmt) for stmt in block]
        for at, stmt in enumerate(stmts):
            match stmt:
                case ir.Store(target=ir.Index() as place, value=ir.Call() as value) if (
                    stmt.origin.is_derived
                    and patterns_of(stmt) & OWN
                    and _is_array(place.base, self.facts)
                ):
                    rest = self._added(place, value, block[:at])
                    if rest is not None:
                        op = UPDATES["+"]
                        stmts[at] = ir.Update(place, op, rest, stmt.origin)
        return ir.unless_same(stmts, block)

    def _added(self, place: ir.Index, value: ir.Call, before: ir.Block) -> ir.Expr | None:
        """What is stored besides what the entries hold; None where they may hold another value, or
        where they may have no room for it (of the complex one, a real array)."""
        terms = terms_of(value)
        for term in (
            terms if len(terms) > 1 and (self.facts.real or self.real.covers(value)) else ()
        ):
            match term:
                case Product(1, (ir.Var(name),), ()) if self._holds(place, name, before):
                    return build_sum(
                        [t for t in terms if t is not term], lambda e: is_float(e, self.facts)
                    )
        return None

    def _holds(self, place: ir.Index, name: str, before: ir.Block) -> bool:
        """Whether entries hold what a name stands for since it was bound."""
        names = ir.names_in(place) | {name}
        for stmt in reversed(before):
            match stmt:
                case ir.Assign(target=str(bound), value=value) if bound == name:
                    return place in (value, source_of(value))
            effect = effect_of(stmt, self.facts)
            if effect.fixed or effect.binds & names or self.meet(names, effect.writes):
                return False
        return False


# --------------------------------------------------------------------------------------------------
# Entries of an adjoint that are taken out: read, then set to zero.
#
# The adjoint of `A[k] = v` takes what `A_bar[k]` holds. What was added to the entry just before
# need not go through the array, and the zero may wait until the taken entry was read, so that no
# copy of it is made.

_BINARY = {operator.iadd: ir.ADD, operator.isub: ir.SUB}
_ZERO = ir.Const(0.0)


def take_entries(function: ir.Function, facts: Facts) -> ir.Function:
    """Add on the way out; set to zero after the last reader.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program('''A_bar[k] += s
    ... t = A_bar[k].copy()
    ... A_bar[k] = 0.0
    ... return A_bar, t'''))
    >>> print(show(take_entries(f, Facts()).body))
    t = A_bar[k] + s
    A_bar[k] = 0.0
    return A_bar, t
    >>> f = derived(program('''t = A_bar[k].copy()
    ... A_bar[k] = 0.0
    ... x_bar = t * t
    ... A_bar[j] += x_bar
    ... return A_bar'''))
    >>> facts = Facts(floating=frozenset(["t", "x_bar"]))
    >>> print(show(take_entries(f, facts).body))
    t = A_bar[k].copy()
    x_bar = t * t
    A_bar[k] = 0.0
    A_bar[j] += x_bar
    return A_bar
    """
    return _Taking(function, facts).rewritten(function)


class _Taking(Asking):
    def block(self, block: ir.Block) -> ir.Block:
        stmts = [self.nested(stmt) for stmt in block]
        for position in range(len(stmts) - 1):
            place = _taken(stmts[position], stmts[position + 1])
            if place is None:
                continue
            later = self._added(stmts, position, place) or self._delayed(
                stmts, block, position, place
            )
            if later is not None:  # the next round looks for more
                return tuple(later)
        return ir.unless_same(stmts, block)

    def _added(
        self, stmts: Sequence[ir.Stmt], position: int, place: ir.Index
    ) -> list[ir.Stmt] | None:
        """`A[k] += s; ...; t = A[k].copy()` -> `...; t = A[k] + s`."""
        taking = stmts[position]
        assert isinstance(taking, ir.Assign)
        if place not in (taking.value, source_of(taking.value)):
            return None  # (its entries are summed)
        for at in range(position - 1, -1, -1):
            stmt = stmts[at]
            match stmt:
                case ir.Update(target=target, op=op, value=value) if target == place:
                    if op.obj not in _BINARY or stmt.origin.role != "adjoint":
                        return None
                    between = stmts[at + 1 : position]
                    if root_names(place) & ir.names_in(value):
                        return None
                    if any(self._disturbs(s, (place, value)) for s in between):
                        return None
                    total = ir.Call(_BINARY[op.obj], (place, value))
                    taken = ir.Assign(taking.target, total, taking.origin)
                    return [*stmts[:at], *between, taken, *stmts[position + 1 :]]
            if self._disturbs(stmt, (place,)):
                return None
        return None

    def _delayed(
        self, stmts: Sequence[ir.Stmt], known: ir.Block, position: int, place: ir.Index
    ) -> list[ir.Stmt] | None:
        """`t = A[k].copy(); A[k] = 0.0; ...` -> the zero after the last reader of t."""
        taking, zero = stmts[position], stmts[position + 1]
        assert isinstance(taking, ir.Assign) and isinstance(taking.target, str)
        if _copied(taking.value) is None:
            return None  # a number: there is nothing to save
        first = at = position + 2
        target = ir.Var(taking.target)
        while self.live.is_live_after(known[at - 1], taking.target):
            if at == len(stmts) or self._disturbs(stmts[at], (place, target)):
                return None
            at += 1
        while at < len(stmts) and stmts[at].origin.place == zero.origin.place:
            if self._disturbs(stmts[at], (place,)):
                break
            at += 1
        if at == first:
            return None
        return [*stmts[: position + 1], *stmts[first:at], zero, *stmts[at:]]

    def _disturbs(self, stmt: ir.Stmt, exprs: tuple[ir.Expr, ...]) -> bool:
        """Whether a statement reads or writes the array of the entry (the first expression), or
        changes anything that the expressions read."""
        effect = effect_of(stmt, self.facts)
        array = {m for name in root_names(exprs[0]) for m in self.sharing.members(name)}
        if effect.fixed or array & (effect.reads | effect.writes):
            return True
        read = frozenset().union(*map(ir.names_in, exprs))
        if read & effect.binds:
            return True
        members = sorted({m for name in read for m in self.sharing.members(name)})
        return self.meet(members, effect.writes)


def _taken(first: ir.Stmt, second: ir.Stmt) -> ir.Index | None:
    """The entry that two statements take out: `t = A[k].copy(); A[k] = 0.0`."""
    match first, second:
        case ir.Assign(target=str(), value=value), ir.Store(target=ir.Index() as place) if (
            second.origin.role == "adjoint" and second.value == _ZERO
        ):
            return place if place in (value, _copied(value)) else None
    return None


def _copied(value: ir.Expr) -> ir.Expr | None:
    """`A[k]` of `A[k].copy()`, also where that is summed over axes which may have been broadcast:
    `unbroadcast(A[k].copy(), x)`."""
    match value:
        case ir.Call(fn=ir.Ref(obj=obj), args=(summed, _)) if runtime_name(obj) == "unbroadcast":
            return source_of(summed)
    return source_of(value)
