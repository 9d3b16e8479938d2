"""Operations on arrays of few entries as loops over these.

In the time in which an array of three entries is made, and given back, compiled code does some
fifty operations on numbers. Where arrays of one axis are known to be that short (derivatives for
Numba are made for such sizes), what is done with them entry by entry is one loop, which the
compiler unrolls, and what only such loops read is a number in them: no array.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from .. import ir
from ..analysis.kind_of import kind_of
from ..analysis.kinds import infer_kinds
from ..codegen.optimize.effects import Effect, effect_of, expr_effect, join, own_effect
from ..codegen.optimize.facts import Facts, is_entrywise
from ..codegen.optimize.sharing import Sharing
from ..ir.facts import fact
from ..ir.index import OUTERMOST, ProgramIndex, all_names
from ..ir.kind import FLOAT, MOST_EXACT, Kind
from ..ir.names import Names
from ..rules.book import RuleBook

_IADD, _MUL = ir.IADD, ir.MUL
_CHEAP = (operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos)
_WHOLE = ir.Slice()


def short_arrays_as_loops(function: ir.Function, facts: Facts, book: RuleBook) -> ir.Function:
    """The function with loops over the entries of arrays that are known to be short.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.codegen.optimize.facts import derived
    >>> from tangentlike.rules.book import default_book
    >>> f = derived(program('''x_bar = np.zeros_like(x)
    ... d = x[i] - x[j]
    ... r = np.sqrt(d @ d)
    ... x_bar[i] += c / r * d
    ... return x_bar'''))
    >>> f = ir.replaced(f, params=tuple(map(ir.Param, ("x", "i", "j", "c"))))
    >>> rows, integer = Kind("array", "float", ("n!", 3)), Kind("number", "int", ())
    >>> kinds = {"x": rows, "i": integer, "j": integer}
    >>> kinds["c"] = Kind("number", "float", ())
    >>> print(show(short_arrays_as_loops(f, Facts(kinds), default_book()).body))
    x_bar = np.zeros_like(x)
    total = 0.0
    for k in range(3):
        d = x[i, k] - x[j, k]
        total += d * d
    r = np.sqrt(total)
    for k in range(3):
        d = x[i, k] - x[j, k]
        x_bar[i, k] += c / r * d
    return x_bar
    """
    kinds = compiled_kinds(function, facts, book)
    if not any(map(is_short, kinds.values())):
        return function
    facts = dataclasses.replace(facts, kinds=kinds, cache={})
    return _Loops(function, facts, book).rewritten(function)


def compiled_kinds(function: ir.Function, facts: Facts, book: RuleBook) -> dict[str, Kind]:
    """What is known of a function's names where Numba compiles it."""
    given = {name: facts.kind(name) for name in function.param_names}
    typed = ir.with_body(function, ir.rewrite(function.body, expression=_of_one_type))
    return infer_kinds(typed, given, book, evident=False)


def compiled_kind(expr: ir.Expr, kinds: Mapping[str, Kind], book: RuleBook) -> Kind:
    """What is known of an expression where Numba compiles it."""
    return kind_of(_of_one_type(expr), kinds, book)


@ir.of_node
def _of_one_type(expr: ir.Expr) -> ir.Expr:
    """An expression of the types that compiled code gives: a power has that of a product there,
    where Python's may be complex."""
    expr = ir.rebuild(expr, _of_one_type)
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=args) if obj is operator.pow:
            return ir.Call(_MUL, args)
    return expr


def is_short(kind: Kind) -> bool:
    """Whether a value is an array of one axis of few entries, a number for each."""
    if kind.form != "array" or kind.dtype != "float" or not isinstance(kind.shape, tuple):
        return False
    sizes = kind.shape
    return len(sizes) == 1 and isinstance(sizes[0], int) and 1 < sizes[0] <= MOST_EXACT


class _Entries:
    """What the entries of a function's short arrays are."""

    def __init__(self, function: ir.Function, facts: Facts, book: RuleBook) -> None:
        self.facts, self.book = facts, book
        self.kinds = dict(facts.kinds)
        self.index = fact(ProgramIndex, function)
        self.sharing = Sharing(function, facts)

    def kind(self, expr: ir.Expr) -> Kind:
        return compiled_kind(expr, self.kinds, self.book)

    def size(self, expr: ir.Expr) -> int | None:
        """How many entries an expression has that can be asked one by one; None for others."""
        kind = self.kind(expr)
        if not is_short(kind) or not self._is_by_entry(expr):
            return None
        assert isinstance(kind.shape, tuple) and isinstance(kind.shape[0], int)
        return kind.shape[0]

    def _is_by_entry(self, expr: ir.Expr) -> bool:
        """Whether all arrays in an expression are of its shape, and are computed entry by entry."""
        match expr:
            case ir.Var():
                return True
            case ir.Index():
                return self.place(expr) is not None
            case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=()) if _is_of_entries(obj):
                arrays = [arg for arg in args if self.kind(arg).form != "number"]
                known = self.kind(expr).shape
                return all(self._is_part(arg, known) for arg in arrays)
        return False

    def _is_part(self, expr: ir.Expr, shape: object) -> bool:
        kind = self.kind(expr)
        return is_short(kind) and kind.shape == shape and self._is_by_entry(expr)

    def place(self, expr: ir.Index) -> tuple[str, tuple[ir.Expr, ...], int] | None:
        """A row or column of an array: the array's name, the key without what it takes whole, and
        which of its axes that is."""
        if not isinstance(expr.base, ir.Var):
            return None
        kind = self.kind(expr.base)
        key = expr.key
        parts = key.items if isinstance(key, ir.Display) and key.form == "tuple" else (key,)
        if kind.form != "array" or kind.rank is None:
            return None
        parts = (*parts, *[_WHOLE] * (kind.rank - len(parts)))
        whole = [axis for axis, part in enumerate(parts) if part == _WHOLE]
        others = tuple(part for part in parts if part != _WHOLE)
        if len(whole) != 1 or not all(self.kind(part).integer for part in others):
            return None
        return expr.base.name, others, whole[0]

    def entry(
        self,
        expr: ir.Expr,
        at: ir.Expr,
        values: Mapping[str, ir.Expr],
        number: Callable[[ir.Expr], ir.Expr],
    ) -> ir.Expr:
        """The entry of an expression at one place. `values` are those of names of arrays, and
        `number` says what stands for a number in it, which is the same for all entries."""
        if self.kind(expr).form == "number":
            return number(expr)
        match expr:
            case ir.Var(name):
                return values[name] if name in values else ir.Index(expr, at)
            case ir.Index(base):
                place = self.place(expr)
                assert place is not None
                _, others, axis = place
                parts = (*others[:axis], at, *others[axis:])
                return ir.Index(base, ir.Display("tuple", parts) if others else at)
        return ir.rebuild(expr, lambda part: self.entry(part, at, values, number))


def _is_of_entries(obj: object) -> bool:
    """Whether an operation gives for each entry of its operands one of its result."""
    return is_entrywise(obj) or obj is operator.pow or any(obj is known for known in _CHEAP)


# --------------------------------------------------------------------------------------------------
# Which arrays need not be made.


class _Numbers(_Entries):
    """`names` are those of short arrays of which only entries are read: where these are, the names
    stand for numbers."""

    def __init__(self, function: ir.Function, facts: Facts, book: RuleBook) -> None:
        super().__init__(function, facts, book)
        kept = frozenset(function.param_names).union(
            *(own_effect(stmt, facts).writes for stmt in self.index.statements)
        )
        self.names = {
            name
            for name, made in self.index.definitions.items()
            if is_short(facts.kind(name)) and name not in kept
            and all(self._makes(self.index.statements[n], name) for n in made)
        }  # fmt: skip
        while apart := {name for name in self.names if not self._is_fused(name)}:
            self.names -= apart

    def _makes(self, stmt: ir.Stmt, name: str) -> bool:
        if not isinstance(stmt, ir.Assign) or stmt.target != name:
            return False
        return self.size(stmt.value) is not None and name not in ir.reads(stmt)

    def is_made(self, stmt: ir.Stmt) -> bool:
        """Whether a statement gives such a name what it stands for."""
        return isinstance(stmt, ir.Assign) and stmt.target in self.names

    def _is_fused(self, name: str) -> bool:
        """Whether only entries of a name's arrays are read, where they can be worked out."""
        found: set[int] = set()
        for use in self.index.uses.get(name, ()):
            made = self._reaching(name, use)
            if made is None or name in self._read_whole(self.index.statements[use]):
                return False
            places = set(self._places(use))
            found |= places
            if not all(self._stays(made, place) for place in places):
                return False
        values = (self._value(n) for n in self.index.definitions[name])
        return len(found) <= 2 or all(map(self._is_cheap, values))

    def _value(self, made: int) -> ir.Expr:
        """What a name is given by a statement."""
        stmt = self.index.statements[made]
        assert isinstance(stmt, ir.Assign)
        return stmt.value

    def _is_cheap(self, expr: ir.Expr) -> bool:
        """Whether the entries of an expression may as well be computed twice."""
        if self.kind(expr).form == "number" or not isinstance(expr, ir.Call):
            return True
        obj = getattr(expr.fn, "obj", None)
        few = obj is operator.pow and isinstance(expr.args[1], ir.Const)
        return (few or any(obj is known for known in _CHEAP)) and all(
            map(self._is_cheap, expr.args)
        )

    def _reaching(self, name: str, use: int) -> int | None:
        """The statement that gave a name what it stands for at another, if that is surely one."""
        definitions = self.index.definitions[name]
        before = [n for n in definitions if n < use]
        beside = self._beside(before[-1], use) if before else None
        if beside is None:
            return None
        rounds = [n for n in self.index.loops(use) if n >= beside]  # (an earlier one may bind it)
        again = any(n <= other < self.index.ends[n] for n in rounds for other in definitions)
        return None if again else before[-1]

    def _beside(self, made: int, use: int) -> int | None:
        """The statement in the block of one that another is, or is in."""
        while self.index.parents[use] != self.index.parents[made]:
            use = self.index.parents[use]
            if use == OUTERMOST:
                return None
        return use if self.index.branches[use] == self.index.branches[made] else None

    def _places(self, use: int) -> Iterator[int]:
        """Where a statement's entries are worked out: where those are that read its array."""
        stmt = self.index.statements[use]
        if not self.is_made(stmt):
            yield use
            return
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.target, str)
        for later in self.index.uses.get(stmt.target, ()):
            if self._reaching(stmt.target, later) == use:
                yield from self._places(later)

    def _stays(self, made: int, place: int) -> bool:
        """Whether what an array is made of is the same where its entries are worked out."""
        beside = self._beside(made, place)
        if beside is None:
            return False
        repeated = any(loop >= beside for loop in self.index.loops(place))
        end = self.index.ends[beside] if repeated else place
        effect = effect_of(self.index.statements[made], self.facts)
        content = effect.content - self.names  # (which are asked for themselves)
        for number in range(made + 1, end):
            between = own_effect(self.index.statements[number], self.facts)
            if between.binds & effect.reads or self.sharing.meet(content, between.writes):
                return False
        return True

    def _read_whole(self, stmt: ir.Stmt) -> frozenset[str]:
        """The names that a statement reads otherwise than entry by entry."""
        if self.is_made(stmt) or self.is_by_entry(stmt):
            return frozenset()
        if type(stmt) not in _PLAIN:
            return ir.reads(stmt)
        return frozenset().union(*map(self._rest, ir.expressions(stmt)))

    def _rest(self, expr: ir.Expr) -> frozenset[str]:
        if self.is_sum(expr):
            return frozenset()
        match expr:
            case ir.Index(ir.Var(name), key) if name in self.names and self.kind(key).integer:
                return self._rest(key)
            case ir.Lazy() | ir.Opaque() | ir.Var():
                return ir.names_in(expr)
        return frozenset().union(*map(self._rest, ir.children(expr)))

    def is_sum(self, expr: ir.Expr) -> bool:
        """Whether an expression is a sum over the entries of short arrays."""
        terms = _terms(expr)
        if terms is None or self.kind(expr).form != "number":  # (as `np.dot(2.0, v)`)
            return False
        return self.size(terms) is not None

    def is_by_entry(self, stmt: ir.Stmt) -> bool:
        """Whether a statement writes the entries of a short array, one after the other as well as
        all at once."""
        if not isinstance(stmt, ir.Store | ir.Update) or isinstance(stmt.target, ir.Attribute):
            return False
        size, kind = self.size(stmt.target), self.kind(stmt.value)
        if kind.form == "number":
            return size is not None and isinstance(stmt, ir.Update)
        if size is None or self.size(stmt.value) != size:
            return False
        written, *read = self.leaves(stmt.target, stmt.value)
        return all(self.are_apart(written, leaf) for leaf in read)

    def are_apart(self, written: _Leaf, other: _Leaf) -> bool:
        """Whether writing an entry changes no other entry of another array."""
        return written == other or self.sharing.of(written[0]) != self.sharing.of(other[0])

    def leaves(self, *exprs: ir.Expr, known: frozenset[str] = frozenset()) -> Iterator[_Leaf]:
        """The arrays whose entries are read, or written, for the entries of expressions; what the
        names are made of that are `known` is among them already."""
        for expr in exprs:
            if self.kind(expr).form == "number":
                continue
            match expr:
                case ir.Var(name) if name in known:
                    continue
                case ir.Var(name) if name in self.names:
                    values = map(self._value, self.index.definitions[name])
                    yield from self.leaves(*values, known=known | {name})
                case ir.Var(name):
                    yield name, 0
                case ir.Index():
                    place = self.place(expr)
                    assert place is not None
                    yield place[0], place[2]
                case _:
                    yield from self.leaves(*ir.children(expr), known=known)


_Leaf = tuple[str, int]  # the name of an array, and along which of its axes its entries are
_PLAIN = (ir.Assign, ir.Store, ir.Update, ir.Do, ir.Return, ir.If)


def _terms(expr: ir.Expr) -> ir.Expr | None:
    """What is summed, where an expression is a sum over entries."""
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(a, b), kwargs=()):
            if obj is operator.matmul or obj is np.dot or obj is np.vdot:
                return ir.Call(_MUL, (a, b))
        case ir.Call(fn=ir.Ref(obj=obj), args=(terms,), kwargs=()):
            if obj is np.sum:
                return terms
            if obj is np.linalg.norm and isinstance(terms, ir.Var):
                return ir.Call(_MUL, (terms, terms))
    return None


# --------------------------------------------------------------------------------------------------
# The loops.


@dataclass
class _Loop:
    """A loop over the entries of short arrays, which stands at `position` among the statements of
    its block. `values` are the statements whose arrays are numbers in it; it `reads` names, and
    binds and writes entries of others."""

    position: int
    size: int
    origin: ir.Origin
    before: list[ir.Assign] = field(default_factory=list)
    body: list[tuple[str, ir.Stmt]] = field(default_factory=list)  # (with what they give a name to)
    values: dict[str, ir.Assign] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    read: set[_Leaf] = field(default_factory=set)
    written: set[_Leaf] = field(default_factory=set)


class _Loops(ir.Rewriter):
    """`values` are the statements that were last met that make an array of which only entries are
    read; `out` is the block that is being written, and `loop` the last loop in it."""

    def __init__(self, function: ir.Function, facts: Facts, book: RuleBook) -> None:
        self.facts = facts
        self.arrays = _Numbers(function, facts, book)
        self.names = Names(all_names(function))
        self.at = ""  # the variable of the loops
        self.values: dict[str, ir.Assign] = {}
        self.out: list[ir.Stmt] = []
        self.loop: _Loop | None = None
        self.origin: ir.Origin

    def block(self, block: ir.Block) -> ir.Block:
        around, loop = self.out, self.loop
        self.out, self.loop = [], None
        for stmt in block:
            self._put(stmt)
        self._close()
        made = tuple(self.out)
        self.out, self.loop = around, loop
        same = len(made) == len(block) and all(map(operator.is_, made, block))
        return block if same else made

    def _put(self, stmt: ir.Stmt) -> None:
        """Write what stands for a statement."""
        self.origin = stmt.origin
        if isinstance(stmt, ir.Assign) and self.arrays.is_made(stmt):
            assert isinstance(stmt.target, str)
            before: list[ir.Assign] = []
            value = self._prepared(stmt.value, before)
            self.values[stmt.target] = ir.replaced(stmt, value=value)
            self.out += before
        elif isinstance(stmt, ir.Store | ir.Update) and self.arrays.is_by_entry(stmt):
            assert isinstance(stmt.target, ir.Var | ir.Index)
            size = self.arrays.size(stmt.target)
            assert size is not None
            new = self._begun(size)
            value, target = self._entry(stmt.value, new), self._entry(stmt.target, new)
            assert isinstance(target, ir.Index)
            new.body.append(("", ir.replaced(stmt, target=target, value=value)))
            new.read.update(self.arrays.leaves(stmt.value))
            new.written.update(self.arrays.leaves(stmt.target))
            self._add(new)
        elif type(stmt) in _PLAIN:
            self._put_sums(stmt)
        else:
            self.out.append(self.nested(stmt))

    def _put_sums(self, stmt: ir.Stmt) -> None:
        """Write a statement, after loops that work out the sums in it."""
        if (
            isinstance(stmt, ir.Assign)
            and isinstance(stmt.target, str)
            and self.arrays.is_sum(stmt.value)
            and _is_product_sum(stmt.value)
        ):
            self._sum(stmt.value, stmt.target)
            return
        new = ir.map_statement(stmt, self._number)
        self.out.append(self.nested(new))

    def _number(self, expr: ir.Expr) -> ir.Expr:
        """An expression with names for the sums over entries in it, and with entries in place of
        those of arrays that are not made."""
        if self.arrays.is_sum(expr):
            total = self._sum(expr, self._fresh("total"))
            if _is_product_sum(expr):
                return total
            return ir.Call(self.facts.numpy_function("sqrt"), (total,))
        match expr:
            case ir.Index(ir.Var(name), key) if name in self.arrays.names:
                return self._one(self.values[name].value, self._number(key))
            case ir.Lazy() | ir.Opaque():
                return expr
        return ir.rebuild(expr, self._number)

    def _prepared(self, expr: ir.Expr, before: list[ir.Assign]) -> ir.Expr:
        """An expression of arrays with names, given `before`, for what takes time and is the same
        for all entries."""
        if self.arrays.kind(expr).form == "number":
            return self._invariant(expr, before)
        if isinstance(expr, ir.Call):
            return ir.rebuild(expr, lambda part: self._prepared(part, before))
        return expr

    def _one(self, expr: ir.Expr, key: ir.Expr) -> ir.Expr:
        """One entry of an expression."""
        names = ir.names_in(expr) & self.arrays.names
        values = {name: self._one(self.values[name].value, key) for name in names}
        return self.arrays.entry(expr, key, values, self._number)

    def _sum(self, expr: ir.Expr, name: str) -> ir.Var:
        """Write a loop that adds up entries, under a name."""
        terms = _terms(expr)
        assert terms is not None
        size = self.arrays.size(terms)
        assert size is not None
        new = self._begun(size)
        new.before.append(ir.Assign(name, ir.Const(0.0), self.origin))
        value = self._entry(terms, new)
        new.body.append(("", ir.Update(ir.Var(name), _IADD, value, self.origin)))
        new.binds.add(name)
        new.read.update(self.arrays.leaves(terms))
        self._add(new)
        return ir.Var(name)

    # ---------------------------------------------------------------- what is in a loop

    def _begun(self, size: int) -> _Loop:
        self.at = self.at or self.names.fresh("k")
        return _Loop(len(self.out), size, self.origin)

    def _entry(self, expr: ir.Expr, new: _Loop) -> ir.Expr:
        """The entry of an expression in a loop, after those of the arrays in it."""
        names = sorted(ir.names_in(expr) & self.arrays.names & self.values.keys())
        for name in names:
            if name not in new.values:
                made = self.values[name]
                value = self._entry(made.value, new)
                new.values[name] = made
                new.body.append((name, ir.replaced(made, value=value)))
        inside = {name: ir.Var(name) for name in names}
        found = self.arrays.entry(
            expr, ir.Var(self.at), inside, lambda e: self._invariant(e, new.before)
        )
        new.reads |= ir.names_in(found)
        return found

    def _invariant(self, expr: ir.Expr, before: list[ir.Assign]) -> ir.Expr:
        """A number that is the same in all rounds of a loop: worked out `before`, where that takes
        more than a few operations on numbers."""
        expr = self._number(expr)
        if _is_plain(expr):
            return expr
        for known in before:
            if known.value == expr and isinstance(known.target, str):
                return ir.Var(known.target)
        name = self._fresh("factor")
        before.append(ir.Assign(name, expr, self.origin))
        return ir.Var(name)

    def _fresh(self, wanted: str) -> str:
        """A name for a number."""
        name = self.names.fresh(wanted)
        self.arrays.kinds[name] = FLOAT
        return name

    # ---------------------------------------------------------------- where it stands

    def _add(self, new: _Loop) -> None:
        """Write a loop: as a part of the last one, where nothing stands against it."""
        old = self.loop
        if old is None or not self._may_join(old, new):
            self._close()
            self.out += new.before
            new.position = len(self.out)
            self.out.append(ir.For(self.at, _range(new.size), (), new.origin))
            self.loop = new
            return
        self.out[old.position : old.position] = new.before
        old.position += len(new.before)
        old.body += [(name, stmt) for name, stmt in new.body if name not in old.values]
        old.values.update(new.values)
        old.reads |= new.reads
        old.binds |= new.binds
        old.read |= new.read
        old.written |= new.written

    def _close(self) -> None:
        """What is written from now on stands in no earlier loop."""
        if self.loop is not None:
            made = self.out[self.loop.position]
            assert isinstance(made, ir.For)
            body = tuple(stmt for _, stmt in self.loop.body)
            self.out[self.loop.position] = ir.replaced(made, body=body)
            self.loop = None

    def _may_join(self, old: _Loop, new: _Loop) -> bool:
        """Whether what a loop does may be done in an earlier one, round by round."""
        if old.size != new.size or any(
            name in old.values and old.values[name] is not made for name, made in new.values.items()
        ):
            return False
        before = join([Effect(), *(expr_effect(s.value, self.facts) for s in new.before)])
        reads = new.reads | before.reads
        between = self.out[old.position + 1 :]
        effects = [Effect(), *(effect_of(stmt, self.facts) for stmt in between)]
        later = join(effects)
        content = before.content | {name for name, _ in new.read | new.written}
        written, mine = {n for n, _ in new.written}, {n for n, _ in old.written}
        meet = self.arrays.sharing.meet
        if later.fixed or reads & (later.binds | old.binds) or meet(content, later.writes):
            return False
        if new.binds & (later.reads | later.binds | old.reads | old.binds):
            return False
        if meet(later.content | later.reads, written) or meet(before.content, mine):
            return False
        pairs = [(a, b) for a in old.written for b in new.read | new.written]
        pairs += [(a, b) for a in old.read for b in new.written]
        return all(self.arrays.are_apart(a, b) for a, b in pairs)


def _range(size: int) -> ir.Expr:
    return ir.Call(ir.RANGE, (ir.Const(size),))


def _is_product_sum(expr: ir.Expr) -> bool:
    """Whether an expression is a sum itself, not the root of one."""
    return not (isinstance(expr, ir.Call) and getattr(expr.fn, "obj", None) is np.linalg.norm)


def _is_plain(expr: ir.Expr) -> bool:
    """Whether an expression is of names and numbers, by operators alone."""
    match expr:
        case ir.Var() | ir.Const():
            return True
        case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=()):
            return any(obj is known for known in _CHEAP) and all(map(_is_plain, args))
    return False
