"""Values used once move into the expression that uses them, and short reads are repeated.

The user's own lines come back this way (flattening had named each of their operations), and
adjoints become lines that a person would write: never wider than a page, nor deep.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from ... import ir
from ...errors import Place
from ...frontend.resolve import trusted
from ...ir.facts import fact
from ...rules.index_kinds import key_parts
from .analyses import READ, Asking, patterns_of
from .effects import (
    NOTHING,
    Effect,
    effect_of,
    expr_effect,
    is_trusted,
    own_effect,
    reads_inside,
    stack_name,
)
from .facts import ASKING_RUNTIME, DERIVED_NAME, Facts, derived_names, numpy_name, runtime_name
from .fold import folded, without_axes
from .sharing import is_float

_BARRIERS = (ir.Return, ir.Enter, ir.Leave, ir.Tried)
_NEAR = 16  # so many statements may stand between a value and its return
_WINDOW = 64  # how far back, in statements, a definition is looked for
_DEEPEST, _HIGHEST = 4, 100


def nest_single_uses(function: ir.Function, facts: Facts) -> ir.Function:
    """Write values used once where they are used, if the order of effects stays the same.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> f = program("t = a @ b; u = t + c; A[0] = 1.0; y = u * A; return y")
    >>> print(show(nest_single_uses(f, Facts(temporaries=frozenset("tu"))).body))
    u = a @ b + c
    A[0] = 1.0
    y = u * A
    return y
    """
    return _Nesting(function, facts).rewritten(function)


def nest_in_return(function: ir.Function, facts: Facts) -> ir.Function:
    """Write adjoints that are only given back in the `return`: those of one line of the user's,
    which is quoted there. The last thing done to a function before neighbours share a line.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program("r_bar = 2.0 * r; w_bar = x.T @ r_bar; return v, w_bar"))
    >>> print(show(nest_in_return(f, Facts()).body))
    r_bar = 2.0 * r
    return v, x.T @ r_bar
    """
    return _InReturn(function, facts).rewritten(function)


def nest_taken(function: ir.Function, facts: Facts) -> ir.Function:
    """Write what is taken from stacks of saved values where it is used, if that is once: the names
    of these values have served to simplify what they are in.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program("t = s.pop(); u = v * w; A[i] += t * u; return A"), "restore")
    >>> print(show(nest_taken(f, Facts(temporaries=frozenset("t"))).body))
    u = v * w
    A[i] += s.pop() * u
    return A
    """
    return _Taken(function, facts).rewritten(function)


class _Nesting(Asking):
    """`takes`: what is taken from a stack of saved values may be taken later."""

    takes = False

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        super().__init__(function, facts)
        self.ours = fact(derived_names, function)

    def block(self, block: ir.Block) -> ir.Block:
        slots: list[ir.Stmt | None] = []
        candidates: dict[str, int] = {}
        parts: dict[str, int] = {}  # what an assignment takes apart further
        changed = False
        for stmt in block:
            known = stmt
            if self._unpacked_within(stmt, parts, slots):
                changed = True
                continue
            stmt = self.nested(stmt)
            read = own_effect(known, self.facts).reads & candidates.keys()
            for slot, name in sorted(((candidates[n], n) for n in read), reverse=True):
                new = self._into(stmt, known, name, slot, slots)
                if new is not None:
                    stmt, slots[slot] = new, None
            changed = changed or stmt is not known
            effect = effect_of(stmt, self.facts)
            for name in effect.reads | effect.binds:
                candidates.pop(name, None)
                parts.pop(name, None)
            if isinstance(stmt, ir.Assign) and isinstance(stmt.target, tuple):
                names = self.facts.temporaries.intersection(ir.target_names(stmt.target))
                parts.update(dict.fromkeys(names - self.pinned, len(slots)))
            if isinstance(stmt, ir.Assign) and self._may_move(stmt):
                candidates[str(stmt.target)] = len(slots)
            slots.append(stmt)
        return tuple(s for s in slots if s is not None) if changed else block

    def _unpacked_within(
        self, stmt: ir.Stmt, parts: dict[str, int], slots: list[ir.Stmt | None]
    ) -> bool:
        """`w, (b, c) = pair` for `w, part = pair; b, c = part`: put into the first of the two."""
        match stmt:
            case ir.Assign(target=tuple() as target, value=ir.Var(name)) if name in parts:
                outer, between = slots[parts[name]], slots[parts[name] + 1 :]
                touched = [effect_of(s, self.facts) for s in between if s is not None]
                bound = frozenset(ir.target_names(target))
                free = not any(bound & (effect.reads | effect.binds) for effect in touched)
                if not isinstance(outer, ir.Assign) or not free or not self._last_read(stmt, name):
                    return False
                within = ir.map_target(outer.target, lambda n: target if n == name else n)
                slots[parts[name]] = dataclasses.replace(outer, target=within)
                return True
        return False

    def _may_move(self, stmt: ir.Assign) -> bool:
        name = stmt.target
        if not isinstance(name, str) or name in self.pinned:
            return False
        return name in self.facts.temporaries or (name in self.ours and is_trusted(stmt))

    def _into(
        self,
        stmt: ir.Stmt,
        known: ir.Stmt,
        name: str,
        slot: int,
        slots: list[ir.Stmt | None],
    ) -> ir.Stmt | None:
        """`stmt` with the definition in `slot` written in place of `name`, if that is right."""
        source = slots[slot]
        if not isinstance(source, ir.Assign) or not self._last_read(known, name):
            return None
        if self._too_wide(source, stmt, name):
            return None
        if isinstance(source.value, ir.Display) and _unpacks(stmt):
            return None  # (`a, b = (x, y)` is two assignments, and made into these elsewhere)
        again = _spreads_again(stmt, name) and not any(slots[slot + 1 :])
        if not _replaceable(stmt, name) or not (again or self._readable(source, stmt, name)):
            return None
        if not self._can_cross(source, stmt, slots[slot + 1 :]):
            return None
        values = {name: source.value}
        new = _substitute(stmt, values, self.facts)
        own = source.origin.is_derived and _repeats(stmt, name)
        if again or own or isinstance(stmt, ir.Return):
            new = dataclasses.replace(new, origin=source.origin)
        if stmt.origin.is_derived or source.origin.is_derived:
            if self._is_too_much(new):
                new, *others = folded(new, self.function, self.facts)  # (`2.0 * (0.5 * g / r)`)
                if others or self._is_too_much(new):
                    return None
        elif max(map(height, ir.expressions(new)), default=0) > _HIGHEST:
            return None
        several = isinstance(stmt, ir.Return) and isinstance(stmt.value, ir.Display)
        columns = [statement_width(s, self.indentation) for s in (stmt, new)]
        return None if several and columns[0] <= LINE < columns[1] else new

    def _is_too_much(self, stmt: ir.Stmt) -> bool:
        deepest = max(map(depth, ir.expressions(stmt)), default=0)
        return deepest > _DEEPEST or statement_width(stmt, self.indentation) > LINE

    def _too_wide(self, source: ir.Assign, stmt: ir.Stmt, name: str) -> bool:
        """Whether no line has room for a statement with a value written in place of `name`, asked
        early: of long lines most are refused for that."""
        if not (stmt.origin.is_derived or source.origin.is_derived):
            return False
        columns = statement_width(stmt, self.indentation) + width(source.value) - len(name)
        return columns > LINE and not any(map(_takes_entries, ir.expressions(stmt)))

    def _last_read(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether the value read by the header of `stmt` is read nowhere after."""
        if isinstance(stmt, ir.While):
            return False
        if name not in ir.binds(stmt) and self.live.is_live_after(stmt, name):
            return False
        return name not in reads_inside(stmt, self.facts)

    def _readable(self, source: ir.Assign, stmt: ir.Stmt, name: str) -> bool:
        """Each adjoint stays under the user's line that it belongs to."""
        if isinstance(stmt, ir.Return) and source.origin.is_derived:
            return False
        if name in self.facts.temporaries or (_repeats(stmt, name) and source.origin.is_derived):
            return True
        primal = DERIVED_NAME.match(name)
        if primal and primal["primal"] in self.facts.temporaries:
            return True
        same_line = source.origin.place.line == stmt.origin.place.line
        return same_line or depth(source.value) == 0

    def _can_cross(self, source: ir.Assign, stmt: ir.Stmt, between: list[ir.Stmt | None]) -> bool:
        """Whether the value may be computed in `stmt` instead of where it stands."""
        crossed = [*itertools.islice((s for s in between if s is not None), _WINDOW + 1)]
        if len(crossed) > _WINDOW:
            return False
        effect = expr_effect(source.value, self.facts, is_trusted(source))
        if any(isinstance(s, _BARRIERS) for s in (stmt, *crossed)) and crossed:
            if not isinstance(stmt, ir.Return) or len(crossed) > _NEAR or not effect.silent:
                return False
            if any(isinstance(s, _BARRIERS) for s in crossed):
                return False
        if not effect.silent:
            if not crossed and _is_first(stmt, str(source.target)):
                return True
            effect = effect_of(source, self.facts)
            if not self.takes or effect.fixed or any(stack_name(n) == n for n in effect.writes):
                return False
        effects = [effect_of(other, self.facts) for other in crossed]
        effects.append(_effects_before(stmt, str(source.target), self.facts))
        if not source.origin.is_derived and any(e.fixed for e in effects):
            return False
        if effect.writes and any(self.meet(e.content, effect.writes) for e in effects):
            return False
        return self.can_move(effect, effects)


class _Taken(_Nesting):
    """The same for what is taken from stacks, and for nothing else."""

    takes = True

    def _may_move(self, stmt: ir.Assign) -> bool:
        return _takes(stmt.value) and super()._may_move(stmt)


def _takes(expr: ir.Expr) -> bool:
    match expr:
        case ir.Call(fn=ir.Attribute(ir.Var(), "pop"), args=()):
            return True
    return False


class _InReturn(_Nesting):
    """The same for the statement that ends a function, and for nothing else. One line is `quoted`
    beside it: that of the first adjoint that moves there."""

    quoted: Place | None = None

    def block(self, block: ir.Block) -> ir.Block:
        if not block or not isinstance(block[-1], ir.Return):
            return block
        (*before, end), old = super().block(block), block[-1]
        if end is old or not isinstance(end, ir.Return):
            return block
        names = _gone(old.value, end.value)
        place = self.quoted or old.origin.place
        origin = dataclasses.replace(end.origin, place=place, names=names)
        return (*before, dataclasses.replace(end, origin=origin))

    def _may_move(self, stmt: ir.Assign) -> bool:
        name = stmt.target
        return isinstance(name, str) and name not in self.pinned and stmt.origin.is_derived

    def _into(self, stmt: ir.Stmt, known: ir.Stmt, name: str, slot: int, slots: Any) -> Any:
        new = super()._into(stmt, known, name, slot, slots)
        place = slots[slot].origin.place
        if new is not None and place != self.function.place:
            self.quoted = place
        return new

    def _readable(self, source: ir.Assign, stmt: ir.Stmt, name: str) -> bool:
        if not isinstance(stmt, ir.Return):
            return False
        place, quoted = source.origin.place, self.quoted
        if quoted is None or place == self.function.place:
            return True
        return (place.file, place.line) == (quoted.file, quoted.line)


def _gone(old: ir.Expr | None, new: ir.Expr | None) -> ir.Target:
    """The names in the place of which a `return` has other values now, nested as they are."""
    match old, new:
        case ir.Display(form="tuple", items=items), ir.Display(form="tuple", items=others):
            return tuple(itertools.starmap(_gone, zip(items, others, strict=True)))
        case ir.Var(name), _ if old != new:
            return name
    return ""


def _repeats(stmt: ir.Stmt, name: str) -> bool:
    """Whether a statement binds another name to the same value, or to its negation."""
    return isinstance(stmt, ir.Assign) and _without_sign(stmt.value) == ir.Var(name)


def _without_sign(expr: ir.Expr) -> ir.Expr:
    return expr.args[0] if isinstance(expr, ir.Call) and expr.fn == ir.NEG else expr


@ir.of_node
def _takes_entries(expr: ir.Expr) -> bool:
    """Whether entries of a name are read, which may take axes away from what it stands for."""
    return any(isinstance(p, ir.Index) and isinstance(p.base, ir.Var) for p in ir.parts_of(expr))


def _spreads_again(stmt: ir.Stmt, name: str) -> bool:
    """Whether it is `x_bar = np.full_like(x, x_bar)`: with what x_bar was before, one statement."""
    match stmt:
        case ir.Assign(target=target, value=ir.Call(fn=ir.Ref(obj=obj))):
            spread = numpy_name(obj) == "full_like" or runtime_name(obj) == "broadcast_like"
            return spread and target == name
    return False


def _value_parts(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The expressions of a statement into which a value may be written."""
    match stmt:
        case ir.Store(target=ir.Index(_, key), value=value):
            return (value, key)
        case ir.Update(target=ir.Index(_, key), value=value):
            return (key, value)
        case ir.Store(value=value) | ir.Update(value=value):
            return (value,)
        case ir.Assign() | ir.Do() | ir.If() | ir.For() | ir.Return():
            return ir.expressions(stmt)
        case _:
            return ()


def _unpacks(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Assign) and isinstance(stmt.target, tuple)


def _replaceable(stmt: ir.Stmt, name: str) -> bool:
    """Whether `stmt` reads the name exactly once, where a value may stand."""
    found = 0
    for expr in ir.expressions(stmt):
        for part in ir.parts_of(expr):
            if type(part) is ir.Var and part.name == name:
                found += 1
    return found == 1 and any(_is_plain(expr, name) for expr in _value_parts(stmt))


def _is_plain(expr: ir.Expr, name: str) -> bool:
    """Whether the name occurs where evaluation surely comes by, and no method changes the value."""
    match expr:
        case ir.Var():
            return expr.name == name
        case ir.Opaque():
            return False
        case ir.Lazy(items=items):
            return _is_plain(items[0], name)
    for part in ir.children(expr):
        if name in ir.names_in(part):
            return _is_plain(part, name)
    return False


def _substitute(stmt: ir.Stmt, values: dict[str, ir.Expr], facts: Facts) -> ir.Stmt:
    """The statement, without those nested in it, with values for names."""
    return ir.map_statement(stmt, expr=_Values(values, facts).into)


@dataclasses.dataclass(frozen=True)
class _Values:
    """Values written for names: axes of which an expression takes the only entry are not made, and
    two signs in `np.exp(-(-x))` are none."""

    values: dict[str, ir.Expr]
    facts: Facts

    def into(self, expr: ir.Expr) -> ir.Expr:
        if self.values.keys().isdisjoint(ir.names_in(expr)):
            return expr
        match expr:
            case ir.Var(name):
                return self.values[name]
            case ir.Index(ir.Var(name), key) if name in self.values:
                squeezed = without_axes(self.values[name], key)
                if squeezed is not None:
                    return squeezed
            case ir.Call(fn=ir.Ref() as fn) if self.facts.fresh(fn):
                return ir.rebuild(expr, self._into_operand)
        return ir.rebuild(expr, self.into)

    def _into_operand(self, part: ir.Expr) -> ir.Expr:
        match _with_sign(part, self.values):
            case ir.Call(fn=fn, args=(ir.Call(fn=inner, args=(x,)),)):
                if fn == inner == ir.NEG and is_float(x, self.facts):
                    return x
        return self.into(part)


def _with_sign(part: ir.Expr, values: dict[str, ir.Expr]) -> ir.Expr | None:
    """A name, or one with a sign, with its value."""
    match part:
        case ir.Var(name):
            return values.get(name)
        case ir.Call(fn=fn, args=(ir.Var(name),)) if fn == ir.NEG and name in values:
            return ir.Call(ir.NEG, (values[name],))
    return None


def _order(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """Expressions in the order Python evaluates them."""
    match stmt:
        case ir.Update(target=target, value=value):
            return (*ir.children(target), target, value)
        case _:
            return ir.expressions(stmt)


def _effects_before(stmt: ir.Stmt, name: str, facts: Facts) -> Effect:
    """What `stmt` does before it comes to reading the name."""
    done: list[Effect] = []
    for expr in _order(stmt):
        if _before(expr, name, facts, is_trusted(stmt), done):
            break
    total = Effect()
    for effect in done:
        total = total | effect
    return total


def _before(expr: ir.Expr, name: str, facts: Facts, trusted: bool, done: list[Effect]) -> bool:
    if isinstance(expr, ir.Var) and expr.name == name:
        return True
    for part in ir.children(expr):
        if _before(part, name, facts, trusted, done):
            return True
    if isinstance(expr, ir.Call | ir.Opaque):
        effect = expr_effect(expr, facts, trusted)
        if not effect.silent:
            done.append(Effect(writes=effect.writes, fixed=effect.fixed))
    return False


def _is_first(stmt: ir.Stmt, name: str) -> bool:
    """Whether only names and literals are evaluated before the name is."""

    def visit(expr: ir.Expr) -> bool | None:
        if isinstance(expr, ir.Var) and expr.name == name:
            return True
        if isinstance(expr, ir.Atom):
            return None
        for part in ir.children(expr):
            found = visit(part)
            if found is not None:
                return found
        return False

    for expr in _order(stmt):
        found = visit(expr)
        if found is not None:
            return found
    return False


# --------------------------------------------------------------------------------------------------
# How wide an expression prints and how deep it nests: what decides whether it gets a name.

LINE = 88
_PRECEDENCE = {
    "+": 11, "-": 11, "*": 12, "/": 12, "//": 12, "%": 12, "@": 12, "**": 14,
    "<<": 10, ">>": 10, "&": 9, "^": 8, "|": 7,
    "<": 6, ">": 6, "<=": 6, ">=": 6, "==": 6, "!=": 6, "in": 6, "not in": 6, "is": 6,
    "is not": 6, "not": 5,
}  # fmt: skip
_UNARY, _PRIMARY = 13, 20


def width(expr: ir.Expr, within: int = 0) -> int:
    """Characters that an expression takes when printed on one line.

    >>> import operator
    >>> a = ir.Var("a")
    >>> total = ir.Call(ir.Ref("+", operator.add), (a, a))
    >>> width(total), width(ir.Call(ir.Ref("*", operator.mul), (total, a)))
    (5, 11)
    """
    if type(expr) is ir.Var:
        return len(expr.name)
    bare, own = _bare(expr)
    return bare + 2 * (own < within)


@ir.of_node
def _bare(expr: ir.Expr) -> tuple[int, int]:
    """The width without parentheses around it, and how tightly its operator binds."""
    match expr:
        case ir.Call(fn=ir.Ref(text=text), args=args) if text in _PRECEDENCE:
            own = _UNARY if len(args) == 1 and text != "not" else _PRECEDENCE[text]
            if len(args) == 1:
                return len(text) + (text == "not") + width(args[0], own), own
            return width(args[0], own) + len(text) + 2 + width(args[1], own + 1), own
    return _of_parts(expr), _PRIMARY


def _of_parts(expr: ir.Expr) -> int:
    """The same of what is not an operation with an operator."""
    match expr:
        case ir.Var(name):
            return len(name)
        case ir.Const(value):
            return len(repr(value)) if value is not Ellipsis else 3
        case ir.Ref(text=text):
            return len(text)
        case ir.Call(fn=fn, args=args, kwargs=kwargs):
            parts = [width(a) for a in args] + [len(k) + 1 + width(v) for k, v in kwargs]
            return width(fn, _PRIMARY) + 2 + sum(parts) + 2 * max(0, len(parts) - 1)
        case ir.Index(base, key):
            brackets = 0 if isinstance(key, ir.Display) and key.form == "tuple" else 2
            return width(base, _PRIMARY) + brackets + width(key)
        case ir.Slice(lower, upper, step):
            found = sum(width(p) for p in (lower, upper, step) if p is not None)
            return found + (1 if step is None else 2)
        case ir.Attribute(base, name):
            return width(base, _PRIMARY) + 1 + len(name)
        case ir.Display(items=items, keys=keys):
            parts = [width(e) for e in (*items, *keys)]
            return 2 + sum(parts) + 2 * max(0, len(parts) - 1)
        case ir.Lazy(items=items):
            return sum(map(width, items)) + 5 * len(items)
        case ir.Opaque(text=text):
            return len(text)
    return 0


def depth(expr: ir.Expr) -> int:
    """Levels of operations within each other; `a + b + c` is one, `x[i]` and `x.T` none."""
    match expr:
        case ir.Call(fn=ir.Ref(text=text) as fn, args=args) if text in _PRECEDENCE:
            if args and isinstance(args[0], ir.Call) and args[0].fn == fn:
                return max(depth(args[0]), 1 + max(map(depth, args[1:]), default=0))
            return 1 + max(map(depth, args), default=0)
        case ir.Call(fn=ir.Attribute(base, "copy"), args=()):
            return depth(base)
        case ir.Call():
            return 1 + max(map(depth, ir.children(expr)), default=0)
        case _:
            return max(map(depth, ir.children(expr)), default=0)


def height(expr: ir.Expr) -> int:
    """Levels of the tree, however it prints: what walks over it recurs as deep."""
    return 1 + max(map(height, ir.children(expr)), default=0)


def statement_width(stmt: ir.Stmt, indentation: int) -> int:
    """Columns that a statement (its header) ends at."""
    match stmt:
        case ir.Assign(target=target, value=value):
            names = ir.target_names(target)
            size = sum(map(len, names)) + 2 * len(names) - 2 + 3 + width(value)
        case ir.Store(target=place, value=value):
            size = width(place) + 3 + width(value)
        case ir.Update(target=place, op=op, value=value):
            size = width(place) + len(op.text) + 2 + width(value)
        case ir.For(target=target, iter=iterable):
            size = 12 + sum(map(len, ir.target_names(target))) + width(iterable)
        case _:
            size = 8 + sum(map(width, ir.expressions(stmt)))
    return size + indentation


# --------------------------------------------------------------------------------------------------
# Short reads are written again instead of named: `x[i]` twice, `range(n - 1)` twice.
#
# Flattening named them; a person would not, and the derivative often reads them a second time.

_WIDEST, _WIDEST_KEY = 13, 20
_FEW = 2  # so many readers of `g_bar[:, None]` are written without a name for it
_COUNTING = ("+", "-", "*", "//", "%")


def repeat_short_reads(function: ir.Function, facts: Facts) -> ir.Function:
    """Write `x[i]`, `a.T` or `n - 1` at each of its readers, while its value stays the same.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from ...ir.kind import FLOAT
    >>> f = program("t = x[i]; y = t * t; x[j] = y; return y")
    >>> facts = Facts(kinds={"t": FLOAT}, temporaries=frozenset("t"))
    >>> print(show(repeat_short_reads(f, facts).body))
    y = x[i] * x[i]
    x[j] = y
    return y
    """
    if not facts.temporaries:
        return function
    return _Repeating(function, facts).rewritten(function)


def _is_named(expr: ir.Expr) -> bool:
    """Whether it is a name of the function, or of a number outside that stays one."""
    return isinstance(expr, ir.Var) or (isinstance(expr, ir.Ref) and trusted(expr))


class _Repeating(Asking):
    def block(self, block: ir.Block) -> ir.Block:
        # Nested blocks come first, while their statements are the ones that were analysed.
        stmts = [self.nested(stmt) for stmt in block]
        removed: set[int] = set()
        for position, stmt in enumerate(block):
            if not patterns_of(stmt) & READ:
                continue
            if isinstance(stmt, ir.Assign) and self._is_short(stmt):
                end = self._last_reader(stmt, block, position)
                if end is not None and self._is_free(stmt, stmts[position + 1 : end + 1]):
                    removed.add(position)
                    source = stmts[position]
                    assert isinstance(source, ir.Assign)
                    values = {str(source.target): source.value}
                    for at in range(position + 1, end + 1):
                        stmts[at] = _replaced(stmts[at], values, self.facts)
        return ir.unless_same([s for at, s in enumerate(stmts) if at not in removed], block)

    def _is_short(self, stmt: ir.Assign) -> bool:
        name = stmt.target
        if not isinstance(name, str) or name in self.pinned:
            return False
        if self._is_factor(stmt):
            return not self.facts.by_identity
        if name not in self.facts.temporaries:
            spread = stmt.origin.is_derived and ir.Const(None) in key_parts(
                getattr(stmt.value, "key", stmt.value)
            )
            return spread and self._is_view(stmt.value)
        if self._is_view(stmt.value):
            return True
        kind = self.facts.kind(name)
        if width(stmt.value) > _WIDEST:
            return False
        if self.facts.by_identity and not (kind.discrete or kind.form == "array"):
            return False  # (read again, a number is another object)
        match stmt.value:
            case ir.Index(ir.Var(), ir.Slice() as key):
                return all(isinstance(part, ir.Atom) for part in ir.children(key))
            case ir.Index(ir.Var(), key) if self.facts.by_identity and not kind.discrete:
                return all(map(self._is_place, key_parts(key)))  # (by `np.ix_(j, k)`: a copy)
            case ir.Index(ir.Var(), key):
                copies = any(self.facts.kind(n).form in ("array", "list") for n in _named(key))
                return kind.form != "list" and not copies and _is_position(key)
            case ir.Attribute(base=ir.Var(base), name="T"):
                return self.facts.kind(base).form == "array" and not self.facts.by_identity
            case ir.Call(fn=ir.Ref(text=text, obj=obj)) if text in _COUNTING or obj is len:
                counts = kind.form == "number" and kind.discrete
                return counts or self._is_of_one_operation(stmt)
            case _:
                return self._is_of_one_operation(stmt)

    def _is_of_one_operation(self, stmt: ir.Assign) -> bool:
        """`shape - 1.0`, `-RATE`, of numbers: outside of loops it costs nothing to compute it
        twice."""
        number = self.facts.kind(str(stmt.target)).form == "number"
        if not number or self.indentation != 4 or self.facts.by_identity:
            return False
        match stmt.value:
            case ir.Call(fn=ir.Ref(text=text), args=(a, b)) if text in (*_COUNTING, "**"):
                named, literal = (b, a) if isinstance(a, ir.Const) else (a, b)
                return _is_named(named) and isinstance(literal, ir.Const)
            case ir.Call(fn=fn, args=(ir.Ref() as named,)):
                return fn == ir.NEG and _is_named(named)
        return False

    def _is_view(self, expr: ir.Expr) -> bool:
        """`u[1:-1, :-2]` or `m[:, None]` of an array: nothing is computed to read it again."""
        match expr:
            case ir.Index(ir.Var(base), key) if (
                self.facts.kind_behind(base).form == "array" and width(key) <= _WIDEST_KEY
            ):
                parts = key_parts(key)
                axes = [p for p in parts if isinstance(p, ir.Slice)]
                atoms = [e for p in parts for e in (ir.children(p) if p in axes else (p,))]
                return bool(axes or ir.Const(None) in parts) and all(map(self._is_place, atoms))
        return False

    def _is_place(self, expr: ir.Expr) -> bool:
        """A literal, or what is said with whole numbers: `i + 1`."""
        names = [part.name for part in ir.walk(expr) if isinstance(part, ir.Var)]
        return _is_position(expr) and all(self.facts.kind(name).integer for name in names)

    def _is_free(self, stmt: ir.Assign, readers: list[ir.Stmt]) -> bool:
        """Whether repeating a value costs nothing: `d_bar -= g * v` for `d_bar += product_bar * v`,
        where `product_bar = -g`; `dx / r` for `2.0 * r2_bar * dx`, where `r2_bar = 0.5 / r`. A
        sign may be left in one place, where it was."""
        name, left = str(stmt.target), 0
        readers = [s for s in readers if name in effect_of(s, self.facts).reads]
        if not self._is_factor(stmt):
            many = len(readers) > _FEW
            if many and (name not in self.facts.temporaries or self._is_of_one_operation(stmt)):
                return False
            return not any(self._outgrows(s, {name: stmt.value}) for s in readers)
        for reader in readers:
            if ir.is_compound(reader) or reader.origin.place.line != stmt.origin.place.line:
                return False
            new = folded(
                _replaced(reader, {name: stmt.value}, self.facts), self.function, self.facts
            )
            if any(statement_width(part, self.indentation) > LINE for part in new):
                return False
            parts = itertools.chain.from_iterable(map(ir.walk_statement, new))
            if any(map(_is_of_one_number, parts)):
                return False
            counted = [_operations(part, stmt.value) for part in (reader, *new)]
            left += sum(counted[1:]) - counted[0]
        return left <= (stmt.value.fn == ir.NEG if isinstance(stmt.value, ir.Call) else 0)

    def _is_factor(self, stmt: ir.Assign) -> bool:
        """`p_bar = -difference_bar`, `log_bar = -1.0 * y` (of integers) and `r2_bar = 0.5 / r`,
        of which what multiplies by it is as short without it; and `minus_y = -y` of an array, which
        is not a list."""
        name = str(stmt.target)
        match stmt.value:
            case ir.Call(fn=fn, args=(ir.Var() | ir.Index(ir.Var()) as of,)) if fn == ir.NEG:
                if stmt.origin.is_derived:
                    short = isinstance(of, ir.Var) or (
                        _is_position(of.key) and width(of) <= _WIDEST_KEY
                    )
                    return short and DERIVED_NAME.search(name) is not None
                known = isinstance(of, ir.Var) and self.facts.kind(of.name).form
                return known in ("array", "number") and name in self.facts.temporaries
            case ir.Call(fn=fn, args=(ir.Const(int() | float() as number), ir.Var())) if (
                fn == ir.DIV or (fn == ir.MUL and number == -1.0)
            ):
                return stmt.origin.is_derived and DERIVED_NAME.search(name) is not None
            case ir.Call() if _is_of_one_number(stmt.value):
                return stmt.origin.is_derived and DERIVED_NAME.search(name) is not None
        return False

    def _outgrows(self, reader: ir.Stmt, values: dict[str, ir.Expr]) -> bool:
        """Whether a line of ours has room for a name, and none for what it stands for."""
        if not reader.origin.is_derived or statement_width(reader, self.indentation) > LINE:
            return False
        return statement_width(_replaced(reader, values, self.facts), self.indentation) > LINE

    def _last_reader(self, stmt: ir.Assign, block: ir.Block, position: int) -> int | None:
        """Where the last statement stands that reads the value; None if it must keep its name."""
        name = str(stmt.target)
        effect = expr_effect(stmt.value, self.facts)
        if not effect.silent:
            return None
        loads = not isinstance(stmt.value, ir.Call) or self._is_of_one_operation(stmt)
        readers, at = 0, position
        last = position
        while self.live.is_live_after(block[at], name):
            at += 1
            if at >= len(block) or at > position + _WINDOW:
                return None
            other = block[at]
            if isinstance(other, ir.Tried):
                return None  # (the read may raise what its `try` catches)
            found = effect_of(other, self.facts)
            if name in found.reads:
                readers, last = readers + 1, at
                nested = ir.is_compound(other)
                if _tried(other) or _is_target(other, name) or (loads and _in_loop(other, name)):
                    return None
                if loads and _is_compared(other, name):
                    return None
                if (nested or found.fixed) and not self.can_move(effect, (found,)):
                    return None
            if name in found.binds:
                return None
            if self.live.is_live_after(other, name) and not self.can_move(effect, (found,)):
                return None
        return last if readers else None


def _is_of_one_number(expr: ir.Expr) -> bool:
    """`np.ones_like(x)` and `np.full_like(x, c)`: arrays that need not be made to be summed, or to
    be multiplied by what has their shape."""
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), kwargs=()):
            return numpy_name(obj) in ("ones_like", "full_like")
    return False


def _operations(stmt: ir.Stmt, factor: ir.Expr) -> int:
    """How many operators stand in a statement; of a negation, how often just that is done."""
    if isinstance(factor, ir.Call) and factor.fn == ir.NEG:
        return sum(part == factor for part in ir.walk_statement(stmt))
    calls = (part for part in ir.walk_statement(stmt) if isinstance(part, ir.Call))
    return sum(isinstance(call.fn, ir.Ref) and call.fn.text in _PRECEDENCE for call in calls)


def _is_position(key: ir.Expr) -> bool:
    """`i`, `i - 1` or `i, j`."""
    if isinstance(key, ir.Atom):
        return True
    counting = isinstance(key, ir.Call) and isinstance(key.fn, ir.Ref) and key.fn.text in _COUNTING
    parts = ir.children(key)[1:] if counting else ir.children(key)
    plain = counting or (isinstance(key, ir.Display) and key.form == "tuple")
    return plain and all(isinstance(part, ir.Atom) for part in parts)


def _is_target(stmt: ir.Stmt, name: str) -> bool:
    """Whether a statement, or one within it, writes through the name."""
    for inner in ir.statements((stmt,)):
        match inner:
            case ir.Store(target=target) | ir.Update(target=target):
                if name in ir.names_in(getattr(target, "base", target)):
                    return True
        parts = ir.walk_statement(inner)
        if name in ir.reads(inner) and any(isinstance(part, ir.Opaque) for part in parts):
            return True
    return False


def _named(key: ir.Expr) -> list[str]:
    parts = key.items if isinstance(key, ir.Display) else (key,)
    return [part.name for part in parts if isinstance(part, ir.Var)]


def _is_compared(stmt: ir.Stmt, name: str) -> bool:
    """Whether a statement asks which object the value is: read again, it may be another one."""
    calls = (p for p in ir.walk_statement(stmt) if isinstance(p, ir.Call))
    return any(
        isinstance(call.fn, ir.Ref) and call.fn.text in ASKING_RUNTIME and name in ir.names_in(call)
        for call in calls
    )


def _tried(stmt: ir.Stmt) -> bool:
    """Whether a `try` stands in a statement: what is read there may raise there."""
    return any(isinstance(s, ir.Try) for s in ir.statements((stmt,)))


def _in_loop(stmt: ir.Stmt, name: str) -> bool:
    """Whether a loop within the statement reads the name round after round."""
    for loop in ir.statements((stmt,)):
        if isinstance(loop, ir.For | ir.While):
            own = ir.reads(loop) if isinstance(loop, ir.While) else NOTHING
            if name in own or any(name in ir.reads(s) for s in ir.statements(loop.body)):
                return True
    return False


def _replaced(stmt: ir.Stmt, values: dict[str, ir.Expr], facts: Facts) -> ir.Stmt:
    return ir.rewrite((stmt,), expression=_Values(values, facts).into)[0]
