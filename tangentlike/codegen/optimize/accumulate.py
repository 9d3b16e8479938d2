"""Contributions to one adjoint: the first is assigned, neighbours are added in one line.

A zero that is only added to, `x_bar = 0.0` then `x_bar += e`, is `x_bar = e`; that the value
may be updated in place afterwards must stay true, so `e` has to be an object of its own. In the
same way `x_bar = y.copy()` then `x_bar += e` is `x_bar = y + e`; without the copy it is where
nothing else reads what `y` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from ... import ir
from ...analysis.memory import is_unwritable_view
from ...ir.facts import fact
from ...ir.index import forms, references
from .algebra import is_literal, product_of
from .analyses import COPIED, COPY, REDUCTION, TAKEN, ZERO, Analyses, Asking, patterns_of
from .effects import Effect, effect_of, expr_effect, root_names
from .facts import SUMMING_RUNTIME, Facts, numpy_name, runtime_name, words
from .fold import folded, zeroed
from .nest import LINE, depth, statement_width
from .propagate import source_of
from .shapes import is_number
from .sharing import is_float, sources

_DEEPEST, _SHORT = 5, 2
_NEAR = 12  # so many statements may stand between two contributions that are added together


def merge_contributions(function: ir.Function, facts: Facts) -> ir.Function:
    """Assign first contributions, and add those of one line together.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program("x_bar = 0.0; a_bar = g * x; x_bar += a_bar * 2.0; return x_bar"))
    >>> print(show(merge_contributions(f, Facts(floating=frozenset(["a_bar"]))).body))
    a_bar = g * x
    x_bar = a_bar * 2.0
    return x_bar
    >>> f = derived(program("A[i] = 0.0; A[i + 1] += s; A[i] += s * t; return A"))
    >>> from ...ir.kind import FLOAT
    >>> print(show(merge_contributions(f, Facts(kinds={"s": FLOAT, "t": FLOAT})).body))
    A[i] = s * t
    A[i + 1] += s
    return A
    """
    return _Merging(function, facts).rewritten(function)


def gather_contributions(function: ir.Function, facts: Facts) -> ir.Function:
    """Add those of one line together, with what they do not touch in between.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program("x_bar = 2.0 * g; y_bar = g * x; x_bar += g * y; return x_bar, y_bar"))
    >>> print(show(gather_contributions(f, Facts()).body))
    y_bar = g * x
    x_bar = 2.0 * g + g * y
    return x_bar, y_bar
    """
    merging = _Merging(function, facts)
    merging.near = _NEAR
    return merging.rewritten(function)


@dataclass(frozen=True)
class Zero:
    """Where a place was set to zero, and where something was first added to its array since; or
    where a name was given a copy of `source`."""

    at: int
    added: int | None = None
    source: str | None = None

    def shifted(self, position: int) -> Zero:
        """The same after a statement was put in at a position."""
        added = self.added
        return Zero(
            self.at + (self.at >= position),
            None if added is None else added + (added >= position),
            self.source,
        )


class _Merging(Asking):
    near = 1  # how far apart contributions are that are added together, in statements

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt | None] = []
        zeros: dict[ir.Expr, Zero] = {}  # by the place that was set to zero
        changed = False
        for stmt in block:
            new = self._first_contribution(self.nested(stmt), zeros, out)
            moved = isinstance(new, ir.Store) and self._moved_up(new, stmt, zeros, out)
            if moved or self._begun(new, zeros, out):
                changed = True
                continue
            earlier = self._earlier(new, out)
            changed = changed or new is not stmt or earlier is not None
            if earlier is not None:
                out[earlier[0]], new = None, earlier[1]
            out.append(new)
            self._forget(zeros, new, len(out) - 1)
            forms = patterns_of(new)
            place = zeroed(new) if forms & (ZERO | TAKEN) else None
            copied = self._copied(new) if forms & (COPIED | COPY) else None
            if place is not None:
                zeros[place] = Zero(len(out) - 1)
            elif copied is not None:
                zeros[copied[0]] = Zero(len(out) - 1, source=copied[1])
        return tuple(s for s in out if s is not None) if changed else block

    # ---------------------------------------------------------------- first contributions

    def _first_contribution(
        self, stmt: ir.Stmt, zeros: dict[ir.Expr, Zero], out: list[ir.Stmt | None]
    ) -> ir.Stmt:
        old = stmt
        if not isinstance(stmt, ir.Update) or stmt.target not in zeros:
            return stmt
        if stmt.op not in (ir.IADD, ir.ISUB):
            return stmt
        if zeros[stmt.target].source is not None:
            return self._added_to_copy(stmt, zeros, out)
        if stmt.op == ir.ISUB and is_float(stmt.value, self.facts):
            stmt = ir.Update(stmt.target, ir.IADD, ir.Call(ir.NEG, (stmt.value,)), stmt.origin)
            new = self._first_contribution(stmt, zeros, out)
            return old if new is stmt else new
        if stmt.op != ir.IADD:
            return stmt
        if not expr_effect(stmt.value, self.facts, True).silent:
            return stmt
        found = zeros[stmt.target]
        zero = out[found.at]
        if isinstance(stmt.target, ir.Index) and isinstance(zero, ir.Store):
            read = expr_effect(stmt.value, self.facts, True)
            if self.meet(read.content, ir.names_in(stmt.target.base)):
                return stmt
            if found.added is not None and not self._is_ready(read, out[found.added :]):
                return stmt
            out[found.at] = None
            return ir.Store(stmt.target, stmt.value, stmt.origin)
        if isinstance(stmt.target, ir.Var) and isinstance(zero, ir.Assign) and found.added is None:
            name = stmt.target.name
            value = self._first_value(zero.value, stmt.value)
            if value is None or name in ir.names_in(stmt.value):
                return stmt
            out[zeros.pop(stmt.target).at] = None
            return ir.Assign(name, value, stmt.origin)
        return stmt

    def _begun(self, stmt: ir.Stmt, zeros: dict[ir.Expr, Zero], out: list[ir.Stmt | None]) -> bool:
        """Do without zeros to which entries and, last, an array are added, or that are added to
        another array: these are what the entries are added to, as nothing else needs them.

        before::                            after::
            u_bar = np.zeros_like(u)            u_bar = new_bar
            u_bar[1:] += g                      u_bar[1:] += g
            u_bar += new_bar
        """
        match stmt:
            case ir.Update(ir.Var(name), op, ir.Var(other)) if op == ir.IADD and name != other:
                into, given = zeros.get(ir.Var(name)), zeros.get(ir.Var(other))
            case _:
                return False
        mine, others = self.facts.kind_behind(name), self.facts.kind_behind(other)
        if mine.dtype != others.dtype or not (self.facts.real and others.same_shape(mine)):
            return False
        ends = not any(self.live.is_live_after(stmt, n) for n in self._held(other) - {name})
        if not ends or self.sharing.is_outside(other):
            return False
        if _is_filled(into) and self._is_untouched(self._held(other) - {name}, into.at, out):
            out[into.at] = ir.Assign(name, ir.Var(other), stmt.origin)
            del zeros[ir.Var(name)]
            return True
        alone = self._held(other) == {other}
        if _is_filled(given) and alone and self._is_untouched(self._held(name), given.at, out):
            _renamed(out, given.at, other, name)
            del zeros[ir.Var(other)]
            return True
        return False

    def _held(self, name: str) -> set[str]:
        return {*self.sharing.members(name), name}

    def _is_untouched(self, names: set[str], since: int, out: list[ir.Stmt | None]) -> bool:
        """Whether the statements since then have nothing to do with names."""
        between = (effect_of(s, self.facts) for s in out[since + 1 :] if s is not None)
        return not any(e.fixed or names & (e.reads | e.binds) for e in between)

    def _copied(self, stmt: ir.Stmt) -> tuple[ir.Var, str] | None:
        """`x_bar` and `y` of `x_bar = y.copy()`, or of `x_bar = y`; an array with axes."""
        if not isinstance(stmt, ir.Assign) or stmt.origin.role != "adjoint":
            return None
        source = source_of(stmt.value) or stmt.value
        if not isinstance(source, ir.Var) or not isinstance(stmt.target, str):
            return None
        kind = self.facts.kind_behind(source.name)
        if kind.form != "array" or not kind.rank:
            return None
        return ir.Var(stmt.target), source.name

    def _added_to_copy(
        self, stmt: ir.Update, zeros: dict[ir.Expr, Zero], out: list[ir.Stmt | None]
    ) -> ir.Stmt:
        """The sum of what a name was given a copy of and of what is first added to it."""
        source = zeros[stmt.target].source
        name = stmt.target.name if isinstance(stmt.target, ir.Var) else ""
        silent = expr_effect(stmt.value, self.facts, True).silent
        if source is None or not silent or name in (source, *ir.names_in(stmt.value)):
            return stmt
        shared = set(self.sharing.members(name)) - {name}
        if shared and (shared != {source} or self.live.is_live_after(stmt, source)):
            return stmt
        out[zeros.pop(stmt.target).at] = None
        value = ir.Call(ir.ADD if stmt.op == ir.IADD else ir.SUB, (ir.Var(source), stmt.value))
        return ir.Assign(name, value, stmt.origin)

    def _is_ready(self, read: Effect, between: list[ir.Stmt | None]) -> bool:
        """Whether what is read has its value before the statements."""
        return self.can_move(read, (effect_of(s, self.facts) for s in between if s is not None))

    def _moved_up(
        self,
        new: ir.Store,
        old: ir.Stmt,
        zeros: dict[ir.Expr, Zero],
        out: list[ir.Stmt | None],
    ) -> bool:
        """Put what is stored for a zero before what was added to the array in between."""
        zero = None if new is old else zeros.pop(new.target, None)
        if zero is None or zero.added is None:
            return False
        out.insert(zero.added, new)
        for place, other in zeros.items():
            zeros[place] = other.shifted(zero.added)
        return True

    def _first_value(self, zero: ir.Expr, value: ir.Expr) -> ir.Expr | None:
        """What zero plus the value is, as an object of its own; None where that is not known."""
        if isinstance(zero, ir.Const):
            return None if sources(value, self.facts, True) else value
        assert isinstance(zero, ir.Call) and isinstance(zero.fn, ir.Ref)
        like = zero.args[0]
        shape = self.shapes.of(like)
        names = {n for n in ir.names_in(value) if self.facts.kind(n).form != "number"}
        if shape is None or shape != self.shapes.of(value) or names != ir.names_in(like):
            return None  # another array may have another dtype
        return None if sources(value, self.facts, True) else value

    def _forget(self, zeros: dict[ir.Expr, Zero], stmt: ir.Stmt, at: int) -> None:
        """A zero that may have been read or written is not a pending zero any more.

        What is only added to the array, at whatever entries, may as well be added later."""
        if not zeros:
            return
        effect = effect_of(stmt, self.facts)
        touched = effect.reads | effect.binds
        content = effect.content | effect.writes
        for place, zero in list(zeros.items()):
            names = root_names(place)
            source = {zero.source} if zero.source is not None else set()
            if source & effect.binds or self.meet(source, effect.writes):
                del zeros[place]
            elif not source and _adds_to(stmt, place) and self._is_apart(stmt, names):
                zeros[place] = zero if zero.added is not None else Zero(zero.at, at)
            elif (
                not names.isdisjoint(touched)
                or not effect.binds.isdisjoint(ir.names_in(place))
                or self.meet(ir.names_in(place), effect.writes)
                or (not source and self.meet(names, content))
            ):
                del zeros[place]

    def _is_apart(self, stmt: ir.Update, array: frozenset[str]) -> bool:
        """Whether what a statement adds to an array is computed without it."""
        read = expr_effect(stmt.value, self.facts, True)
        return read.silent and not self.meet(read.content, array)

    # ------------------------------------------------------------------------- neighbours

    def _earlier(self, new: ir.Stmt, out: list[ir.Stmt | None]) -> tuple[int, ir.Stmt] | None:
        """Where the contribution before it to the same place is, if it may as well be made here;
        and both together."""
        if not isinstance(new, ir.Update) or new.origin.role != "adjoint":
            return None
        names, parts, between = root_names(new.target), ir.names_in(new.target), list[Effect]()
        for at in reversed(range(max(0, len(out) - self.near), len(out))):
            stmt = out[at]
            if stmt is None:
                continue
            joined = self._joined(stmt, new, beside=self.near > 1 and not between)
            if joined is not None and isinstance(stmt, ir.Assign | ir.Update):
                read = expr_effect(stmt.value, self.facts, True)
                return (at, joined) if self.can_move(read, between) else None
            effect = effect_of(stmt, self.facts)
            if not parts.isdisjoint(effect.binds) or not names.isdisjoint(effect.reads):
                return None
            if self.meet(names, effect.content | effect.writes):
                return None
            between.append(effect)
        return None

    def _joined(self, first: ir.Stmt, second: ir.Stmt, beside: bool) -> ir.Stmt | None:
        """Two contributions to one place, of one line of the user's; or short, and next to each
        other."""
        if not isinstance(second, ir.Update) or second.op not in (ir.IADD, ir.ISUB):
            return None
        if not isinstance(first, ir.Assign | ir.Update) or _place(first) != second.target:
            return None
        if not first.origin.role == second.origin.role == "adjoint" or not self._is_silent(second):
            return None
        one_line = first.origin.place.line == second.origin.place.line
        if not one_line and not beside:
            return None
        target = second.target
        read = expr_effect(second.value, self.facts, True)
        names = root_names(target)
        if not names.isdisjoint(read.reads) or self.meet(read.content, names):
            return None
        subtract = second.op == ir.ISUB
        if isinstance(first, ir.Update):
            if first.op not in (ir.IADD, ir.ISUB):
                return None
            flip = first.op == ir.ISUB
            op = ir.SUB if subtract != flip else ir.ADD
            value = ir.Call(op, (first.value, second.value))
            new: ir.Stmt = ir.Update(target, first.op, value, second.origin)
        elif not _is_arithmetic(first.value):
            return None
        else:
            value = ir.Call(ir.SUB if subtract else ir.ADD, (first.value, second.value))
            new = ir.Assign(first.target, value, second.origin)
        if statement_width(new, self.indentation) > LINE:  # (`np.where(m, a, 0.0)`, and otherwise)
            new, *_ = folded(new, self.function, self.facts)
        deepest = _DEEPEST if one_line else _SHORT
        fits = statement_width(new, self.indentation) <= LINE and depth(value) <= deepest
        return new if fits and self._is_silent(first) else None

    def _is_silent(self, stmt: ir.Stmt) -> bool:
        return all(expr_effect(e, self.facts, True).silent for e in ir.expressions(stmt))


def _is_filled(zero: Zero | None) -> TypeGuard[Zero]:
    """Whether something was added to entries since."""
    return zero is not None and zero.added is not None


def _renamed(out: list[ir.Stmt | None], zero: int, name: str, new: str) -> None:
    """Add to entries of another array what was added to those of zeros."""
    out[zero] = None
    for at in range(zero + 1, len(out)):
        match out[at]:
            case ir.Update(ir.Index(ir.Var(base), key), op, value, origin) if base == name:
                out[at] = ir.Update(ir.Index(ir.Var(new), key), op, value, origin)


def _adds_to(stmt: ir.Stmt, place: ir.Expr) -> TypeGuard[ir.Update]:
    """Whether a statement of ours adds to some entries of the array that a place is in."""
    match stmt, place:
        case ir.Update(ir.Index(base=ir.Var() as base), op), ir.Index(base=array) | (
            ir.Var() as array
        ):
            return base == array and op in (ir.IADD, ir.ISUB) and stmt.origin.role == "adjoint"
    return False


def _place(stmt: ir.Assign | ir.Update) -> ir.Expr | None:
    """What a statement gives a value, if it is one thing."""
    if isinstance(stmt, ir.Update):
        return stmt.target
    return ir.Var(stmt.target) if isinstance(stmt.target, str) else None


def _is_arithmetic(expr: ir.Expr) -> bool:
    """A computed value, not a zero to accumulate into."""
    return (
        isinstance(expr, ir.Call)
        and isinstance(expr.fn, ir.Ref)
        and (
            expr.fn.text in ("+", "-", "*", "/", "**", "@")
            or runtime_name(expr.fn.obj) == "unbroadcast"
            or numpy_name(expr.fn.obj) == "where"
        )
    )


def accumulate_in_place(function: ir.Function, facts: Facts) -> ir.Function:
    """`x_bar = x_bar + e` becomes `x_bar += e` where nothing else has the object, and
    `x_bar = x_bar.copy()` goes.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program("x_bar = 2.0 * g; x_bar = x_bar + x_bar * s; return x_bar"))
    >>> print(show(accumulate_in_place(f, Facts(floating=frozenset(["x_bar"]))).body))
    x_bar = 2.0 * g
    x_bar += x_bar * s
    return x_bar
    """
    if may_be_complex(function, facts):
        return function
    own = names_of_their_own(function, facts)

    def one(stmt: ir.Stmt) -> ir.Instead:
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(fn=fn, args=(ir.Var(same), value))):
                if name == same and fn in (ir.ADD, ir.SUB) and stmt.origin.role == "adjoint":
                    op = ir.IADD if fn == ir.ADD else ir.ISUB
                    if name in own and name not in sources(value, facts, True):
                        return ir.Update(ir.Var(name), op, value, stmt.origin)
            case ir.Assign(target=str(name), value=value) if stmt.origin.role == "adjoint":
                if source_of(value) == ir.Var(name) and name in own:
                    return ()
        return None

    return ir.with_body(function, ir.rewrite(function.body, one))


def names_of_their_own(function: ir.Function, facts: Facts) -> frozenset[str]:
    """The names that a function binds and whose memory nothing else refers to."""
    sharing = Analyses(function, facts).sharing
    bound = {n for s in ir.statements(function.body) for n in ir.binds(s)}
    given = _parts_of_parameters(function) | _unwritable(function, facts)
    return frozenset(n for n in bound - given if sharing.members(n) == [n])


def _parts_of_parameters(function: ir.Function) -> frozenset[str]:
    """What is taken out of a parameter: a number may be, but who reads `a_bar = y_bar[0]` and then
    `a_bar += e`, be it we who differentiate it, has to ask whether `y_bar` is written."""
    found = set(function.param_names)
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=target, value=ir.Index() | ir.Var() as value):
                if not found.isdisjoint(root_names(value)):
                    found.update(ir.target_names(target))
    return frozenset(found)


def _unwritable(function: ir.Function, facts: Facts) -> frozenset[str]:
    """The names of views that are read-only, or whose entries overlap, of what has no name."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(value=ir.Call(fn=fn) as value) if is_unwritable_view(value):
                if not (isinstance(fn, ir.Ref) and facts.fresh(fn)):
                    found.update(ir.target_names(stmt.target))
    return frozenset(found)


_COMPLEX = words("real imag conj conjugate angle complex real_if_close iscomplex")


def may_be_complex(function: ir.Function, facts: Facts) -> bool:
    """Whether a real adjoint may meet a complex contribution, which no real array takes in."""
    if any(kind.dtype == "complex" for kind in facts.kinds.values()):
        return True
    if not fact(forms, function).isdisjoint((complex, *_COMPLEX)):
        return True
    texts = [ref.text for ref in fact(references, function)]
    return any("fft" in text or text.rpartition(".")[2] in _COMPLEX for text in texts)


# --------------------------------------------------------------------------------------------------
# Sums over broadcast axes that wait until something sums anyway.
#
# `t_bar = unbroadcast(g, t)` needs `t` for its shape alone; in a loop every `t` is kept for it.
# What reads `t_bar` may take care of the sum itself: another `unbroadcast`, and the adjoints of a
# product, which know the shape of `a @ b` by `a` and `b`.

_SUMMING = ("unbroadcast", *SUMMING_RUNTIME)


def absorb_reductions(function: ir.Function, facts: Facts) -> ir.Function:
    """Leave out a sum over broadcast axes whose readers sum.

    >>> from tangentlike import runtime
    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program('''t_bar = unbroadcast(g, t)
    ... a_bar = matmul_bar_a(t_bar, a, b)
    ... b_bar = matmul_bar_b(t_bar, a, b)
    ... return a_bar, b_bar''', vars(runtime)))
    >>> print(show(absorb_reductions(f, Facts()).body))
    t_bar = g
    a_bar = matmul_bar_a(t_bar, a, b)
    b_bar = matmul_bar_b(t_bar, a, b)
    return a_bar, b_bar
    """
    return _Absorbing(function, facts).rewritten(function)


class _Absorbing(Asking):
    def block(self, block: ir.Block) -> ir.Block:
        out = []
        sums = any(patterns_of(stmt) & REDUCTION for stmt in block)
        touched: dict[str, ir.Stmt] = {}  # by name: the latest statement that binds or reads it
        for position, stmt in enumerate(block):
            new: ir.Stmt = self.nested(stmt)
            match stmt:
                case ir.Assign(target=str(name), value=ir.Call(args=(g, ir.Var(like)))) if (
                    patterns_of(stmt) & REDUCTION
                ):
                    if _is_sum(stmt.value) and stmt.origin.role == "adjoint":
                        kept_for_it = self._kept_for(like, touched.get(like), stmt)
                        if self._is_summed(name, stmt, block[position + 1 :], kept_for_it):
                            new = ir.Assign(name, g, stmt.origin)
            out.append(new)
            if sums:
                names = effect_of(stmt, self.facts).reads.union(ir.binds(stmt))
                touched.update(dict.fromkeys(names, stmt))
        return ir.unless_same(out, block)

    def _kept_for(self, like: str, latest: ir.Stmt | None, stmt: ir.Stmt) -> bool:
        """Whether a value, last touched by a statement, comes from a stack for this one alone."""
        popped = latest is not None and like in ir.binds(latest) and _is_pop(latest)
        return popped and not self.live.is_live_after(stmt, like)

    def _is_summed(
        self, name: str, definition: ir.Stmt, following: Sequence[ir.Stmt], kept_for_it: bool
    ) -> bool:
        """Whether every reader of the value sums over broadcast axes; `kept_for_it`: also one
        that would not have to."""
        if name in self.pinned:
            return False
        last, read = definition, False
        for position, stmt in enumerate(following):
            if not self.live.is_live_after(last, name):
                return read
            if name in effect_of(stmt, self.facts).reads:
                read = True
                if ir.is_compound(stmt) or name in ir.binds(stmt):
                    return False
                if not self._sums(stmt, name, following[position + 1 :], kept_for_it):
                    return False
            last = stmt
        return read and not self.live.is_live_after(last, name)

    def _sums(
        self, stmt: ir.Stmt, name: str, following: Sequence[ir.Stmt], kept_for_it: bool
    ) -> bool:
        match stmt:
            case ir.Assign(target=str(scaled), value=value) if _is_multiple(
                value, name, self.facts
            ):
                ours = stmt.origin.role == "adjoint"
                return ours and self._is_summed(scaled, stmt, following, kept_for_it)
        allowed = _SUMMING if kept_for_it else SUMMING_RUNTIME
        return all(_only_in(expr, name, allowed, self.facts) for expr in ir.expressions(stmt))


def _is_sum(expr: ir.Expr) -> bool:
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(_, _), kwargs=()):
            return runtime_name(obj) == "unbroadcast"
    return False


def _is_pop(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Assign(target=str(), value=ir.Call(fn=ir.Attribute(ir.Var(), "pop"), args=())):
            return True
    return False


def _is_multiple(expr: ir.Expr, name: str, facts: Facts) -> bool:
    """Whether an expression is the value of the name, times numbers."""
    if isinstance(expr, ir.Var) or is_literal(expr):
        return False
    product = product_of(expr)
    others = [f for f in product.factors if f != ir.Var(name)]
    return len(others) + 1 == len(product.factors) and all(
        is_number(part, facts) for part in (*others, *product.divisors)
    )


def _only_in(expr: ir.Expr, name: str, summing: Sequence[str], facts: Facts) -> bool:
    """Whether a name occurs only where a sum over broadcast axes is taken of it."""
    match expr:
        case ir.Var():
            return expr.name != name
        case ir.Call(fn=ir.Ref(obj=obj), args=(first, *others)) if runtime_name(obj) in summing:
            parts = [first, *others, *(value for _, value in expr.kwargs)]
            if first == ir.Var(name) or _is_multiple(first, name, facts):
                parts = parts[1:]
            return all(_only_in(part, name, summing, facts) for part in parts)
    return all(_only_in(part, name, summing, facts) for part in ir.children(expr))
