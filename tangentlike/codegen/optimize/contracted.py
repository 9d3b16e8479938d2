"""Sums that a product of vectors or matrices does, in a text that is run.

    s_bar = np.sum(y_bar * x)              s_bar = y_bar @ x
    c_bar = np.sum(g[:, :, None] * d, 1)   c_bar = np.einsum("ij,ijk->ik", g, d)

    for x in reversed(xs):                 for x in reversed(xs):
        A_bar += np.outer(g, x)                g_rows.append(g)
                                           A_bar += np.array(g_rows).T @ xs[::-1]

    z_bar = np.linalg.solve(L.T, g)        L_inverse = inverse_of_lower(L)
    K_bar = cholesky_bar(L, L_bar)         z_bar = L_inverse.T @ g
                                           K_bar = cholesky_bar(L, L_bar, inverse=L_inverse)

(A text that is differentiated again has the sums: their derivatives are simpler.)
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence

import numpy as np

from ... import ir
from ...analysis.memory import selects_once
from ...ir.facts import fact
from ...ir.index import references
from ...ir.kind import Kind, is_many, is_named
from ...ir.names import Names
from ...rules.index_kinds import index_kind, key_parts
from ...runtime import add_at, cholesky_bar, inverse_of_lower
from .algebra import Product, build, build_sum, is_operation, ordered, product_of, terms_of
from .analyses import Asking
from .effects import effect_of, expr_effect
from .facts import Facts, numpy_name, runtime_name
from .fold import folded, names_touched
from .shapes import AxesOf
from .sharing import is_float, is_mask, sources


def contracted(
    functions: Sequence[ir.Function], facts: Mapping[str, Facts]
) -> tuple[ir.Function, ...]:
    """The functions of a module with products for sums.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.ir.kind import Kind
    >>> from .facts import derived
    >>> f = derived(program('''A_bar = np.zeros_like(A)
    ... for x in reversed(xs):
    ...     g = 2.0 * x
    ...     s_bar = np.sum(3.0 * g * x)
    ...     A_bar += np.outer(g, x)
    ... return A_bar, s_bar''', {"np": np}))
    >>> known = {"x": Kind("array", "float", ("n",))}
    >>> print(show(contracted((f,), {f.name: Facts(kinds=known)})[0].body))
    A_bar = np.zeros_like(A)
    g_rows = []
    x_rows = []
    for x in reversed(xs):
        g = 2.0 * x
        s_bar = 3.0 * (g @ x)
        g_rows.append(g)
        x_rows.append(x)
    A_bar += np.array(g_rows).T @ np.array(x_rows)
    return A_bar, s_bar
    """
    known = ((f, facts.get(f.name)) for f in functions)
    return tuple(f if k is None else _contracted(f, k) for f, k in known)


def _contracted(function: ir.Function, facts: Facts) -> ir.Function:
    numpy = facts.numpy_function("array").obj is np.array
    if facts.by_identity or not numpy:
        return function
    if any(ref.obj is cholesky_bar for ref in fact(references, function)):
        function = _Inverting(function, facts).rewritten(function)
    if not _has_candidates(function):
        return function
    return _Contracting(function, facts).rewritten(function)


def _has_candidates(function: ir.Function) -> bool:
    if not any(ref.obj is known for ref in fact(references, function) for known in _SUMMED):
        return False
    return any(
        isinstance(part, ir.Call) and isinstance(part.fn, ir.Ref) and part.fn.obj in _SUMMED
        for stmt in ir.statements(function.body)
        if stmt.origin.role in _DERIVED
        for part in ir.walk_statement(stmt)
    )


_SUMMED = (np.sum, np.outer)
_DERIVED = ("adjoint", "tangent")
_LETTERS = "ijklmnopqr"


def _summed_axes(axis: ir.Expr, rank: int) -> frozenset[int] | None:
    """The axes, counted from the front, that a sum of an array of this rank goes over."""
    parts = axis.items if isinstance(axis, ir.Display) and axis.form == "tuple" else (axis,)
    found = {p.value % max(rank, 1) for p in parts if isinstance(p, ir.Const) and _is_integer(p)}
    return frozenset(found) if len(found) == len(parts) and rank <= len(_LETTERS) else None


def _lettered(factor: ir.Expr, letters: str) -> tuple[ir.Expr, str]:
    """An array without the axes of length 1 that an index gave it, and the letters of the others
    (`g`, "ij" for `g[:, :, None]`, "ijk")."""
    if isinstance(factor, ir.Index):
        parts = key_parts(factor.key)
        if set(parts) <= {ir.Slice(), ir.Const(None)}:
            left = zip(letters, (*parts, *[ir.Slice()] * len(letters)), strict=False)
            return factor.base, "".join(letter for letter, part in left if part == ir.Slice())
    return factor, letters


class _Contracting(Asking):
    def __init__(self, function: ir.Function, facts: Facts) -> None:
        super().__init__(function, facts)
        self.axes = AxesOf(function, facts)
        parts = (part for s in ir.statements(function.body) for part in names_touched(s))
        self.names = Names((*function.param_names, *function.free, *parts))

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        if ir.is_compound(stmt):
            new = self.nested(stmt)
            return self._collected(new) if isinstance(new, ir.For | ir.While) else (new,)
        if stmt.origin.role in _DERIVED:
            stmt = ir.map_statement(stmt, expr=self._written)
        return (stmt,)

    def _written(self, expr: ir.Expr) -> ir.Expr:
        return self._factor_first(self._numbers_first(self._dot(expr)))

    # ------------------------------------------------------------------- sums of products

    def block(self, block: ir.Block) -> ir.Block:
        for stmt in block:
            match stmt:
                case ir.Assign(str(name), ir.Call() as value, origin) if (
                    is_operation(value, ir.MUL) and origin.role in _DERIVED
                ):
                    block = self._only_summed(name, value, stmt, block) or block
        return super().block(block)

    def _only_summed(
        self, name: str, value: ir.Expr, stmt: ir.Assign, block: ir.Block
    ) -> ir.Block | None:
        """The block without a product of arrays that is read for its sums over axes alone, which
        are contractions."""
        if not any(isinstance(f, ir.Index) for f in product_of(value).factors):
            return None  # (`g[:, :, None] * x`, which has more axes than g)
        sums = list[ir.Expr | None]()

        def written_out(expr: ir.Expr) -> ir.Expr:
            match expr:
                case ir.Call(ir.Ref(obj=obj), (ir.Var(read),), (("axis", axis),)) if (
                    obj is np.sum and read == name
                ):
                    sums.append(self._over_axes(product_of(value), axis))
                    return sums[-1] or expr
            return ir.rebuild(expr, written_out)

        at = next(k for k, other in enumerate(block) if other is stmt)
        after = block[at + 1 :]
        new = [ir.map_statement(other, expr=written_out) for other in after]
        inside = [s for s in ir.statements(self.function.body) if name in names_touched(s)]
        reads = sum(part == ir.Var(name) for s in inside for part in ir.walk_statement(s))
        users = [k for k, s in enumerate(after) if name in names_touched(s)]
        alone = len(inside) == len(users) + 1 and reads == len(sums) > 0 and None not in sums
        if not alone or name in self.pinned:
            return None
        between = (effect_of(s, self.facts) for s in after[: users[-1] + 1])
        if not self.can_move(expr_effect(value, self.facts, True), between):
            return None
        new = [part for each in new for part in folded(each, self.function, self.facts)]
        shared = {
            factor.base: ir.Var(self.names.fresh("factor"))
            for factor in product_of(value).factors
            if len(sums) > 1 and isinstance(factor, ir.Index) and isinstance(factor.base, ir.Call)
        }
        new = [ir.map_statement(each, expr=lambda e: _replaced(e, shared)) for each in new]
        parts = (ir.Assign(named.name, part, stmt.origin) for part, named in shared.items())
        return (*block[:at], *parts, *new)

    def _dot(self, expr: ir.Expr) -> ir.Expr:
        """`2.0 * (a @ b)` for `np.sum(2.0 * a * b)` of vectors, `np.vdot(a, b)` of other arrays."""
        expr = ir.rebuild(expr, self._dot)
        match expr:
            case ir.Call(fn=ir.Ref(obj=obj), args=(inner,), kwargs=()) if obj is np.sum:
                product = product_of(inner)
            case ir.Call(ir.Ref(obj=obj), (inner,), (("axis", axis),)) if obj is np.sum:
                return self._over_axes(product_of(inner), axis) or expr
            case _:
                return expr
        axes = {factor: self.axes.of(factor) for factor in product.factors}
        arrays = [factor for factor in product.factors if axes[factor] != ()]
        if product.divisors or len(arrays) < 2 or None in axes.values():
            return expr
        first, *others = arrays
        if not all(self._are_alike(first, other) for other in others):
            return expr
        rest = build(Product(1, tuple(others)), lambda e: True)
        if len(axes[first] or ()) == 1:
            dot = ir.Call(ir.MATMUL, (first, rest))
        elif self.facts.real:
            dot = ir.Call(self.facts.numpy_function("vdot"), (first, rest))
        else:
            return expr
        numbers = (factor for factor in product.factors if axes[factor] == ())
        return build(Product(product.coefficient, (*numbers, dot)), lambda e: True)

    def _over_axes(self, product: Product, axis: ir.Expr) -> ir.Expr | None:
        """`g @ x` for `np.sum(g[:, None] * x, axis=0)`, and `np.einsum("ij,ijk->jk", g, x)` for
        `np.sum(g[:, :, None] * x, axis=0)`: no array of all products is made. None where the axes
        are not known."""
        axes = [self.axes.of(factor) for factor in product.factors]
        ranks = [len(found) for found in axes if found is not None]
        summed = _summed_axes(axis, max(ranks, default=0))
        floating = any(is_float(factor, self.facts) for factor in product.factors)
        if len(ranks) < len(axes) or product.divisors or summed is None or not floating:
            return None
        numbers = [f for f, found in zip(product.factors, axes, strict=True) if found == ()]
        operands = dict[str, list[ir.Expr]]()  # by a letter for each of their axes
        for factor, found in zip(product.factors, axes, strict=True):
            if found:
                base, letters = _lettered(factor, _LETTERS[max(ranks) - len(found) : max(ranks)])
                operands.setdefault(letters, []).append(base)
        if len(operands) == 1:
            ((letters, factors),) = operands.items()
            pairs = [(letters, factors[:1]), (letters, factors[1:])]
        else:
            pairs = [*operands.items()]
        known = {letter for letters in operands for letter in letters}
        if len(pairs) != 2 or not pairs[1][1] or len(known) != max(ranks):
            return None
        left, right = (build(Product(1, tuple(factors)), lambda e: True) for _, factors in pairs)
        out = "".join(_LETTERS[at] for at in range(max(ranks)) if at not in summed)
        made = self._contraction((pairs[0][0], left), (pairs[1][0], right), out)
        return build(Product(product.coefficient, (*numbers, made)), lambda e: True)

    def _contraction(
        self, first: tuple[str, ir.Expr], second: tuple[str, ir.Expr], out: str
    ) -> ir.Expr:
        """The sums of the products of two arrays, whose axes have letters."""
        for (one, left), (other, right) in ((first, second), (second, first)):
            shared = one[-1:] if len(one) <= 2 and one[-1:] == other[:1] and len(other) <= 2 else ""
            if shared and one[:-1] + other[1:] == out and not {*one[:-1]} & {*other[1:]}:
                lengths = (self.axes.of(left) or (None,))[-1], (self.axes.of(right) or (None,))[0]
                if all(map(is_many, lengths)) or (
                    lengths[0] == lengths[1] and is_named(lengths[0])
                ):
                    return ir.Call(ir.MATMUL, (left, right))
        subscripts = ir.Const(f"{first[0]},{second[0]}->{out}")
        einsum = self.facts.numpy_function("einsum")
        return ir.Call(einsum, (subscripts, first[1], second[1]))

    def _numbers_first(self, expr: ir.Expr) -> ir.Expr:
        """`2.0 * r * x_bar` for `2.0 * x_bar * r`, where `r` is a number: an array less is made."""
        expr = ir.rebuild(expr, self._numbers_first)
        if not is_operation(expr, ir.MUL):
            return expr
        product = product_of(expr)
        numbers = [factor for factor in product.factors if self.axes.of(factor) == ()]
        arrays = [factor for factor in product.factors if factor not in numbers]
        early = product.factors[: len(numbers)] == (*numbers,)
        stated = product.coefficient not in (1, -1)
        if product.divisors or early or not arrays or len(numbers) + stated < 2:
            return expr
        return build(Product(product.coefficient, (*numbers, *arrays)), lambda e: True)

    def _factor_first(self, expr: ir.Expr) -> ir.Expr:
        """`2.0 * (a - b)` for `2.0 * a - 2.0 * b`."""
        terms = terms_of(expr) if is_operation(expr, ir.ADD) or is_operation(expr, ir.SUB) else []
        factors = {abs(term.coefficient) for term in terms}
        if len(terms) < 2 or len(factors) > 1 or not all(term.factors for term in terms):
            return expr
        (factor,) = factors
        if type(factor) is not float or factor == 1:
            return expr
        signed = [
            dataclasses.replace(term, coefficient=1 if term.coefficient > 0 else -1)
            for term in terms
        ]
        return ir.Call(ir.MUL, (ir.Const(factor), build_sum(signed, lambda e: True)))

    def _are_alike(self, first: ir.Expr, second: ir.Expr) -> bool:
        """Whether two factors surely have one shape, as no axis of the one is missing, or of
        length 1 where that of the other is longer."""
        axes, others = self.axes.of(first), self.axes.of(second)
        if axes is None or others is None or len(axes) != len(others):
            return False
        shape = self.shapes.of(first)
        if shape is not None and shape == self.shapes.of(second):
            return True
        return (axes == others and all(map(is_named, axes))) or all(map(is_many, axes + others))

    # ------------------------------------------------------------------ sums over a loop

    def _collected(self, loop: ir.For | ir.While) -> ir.Block:
        """The loop, with what is before and after it where outer products are added up in it."""
        rows: dict[ir.Expr, str] = {}
        body: list[ir.Stmt] = []
        after: list[ir.Stmt] = []
        for at, stmt in enumerate(loop.body):
            vectors = self._added(stmt, at, loop)
            if vectors is None:
                body.append(stmt)
                continue
            assert isinstance(stmt, ir.Update)
            u, v = vectors
            left = self._kept(u, rows, body, stmt)
            right = self._of_rows(v, loop) or self._kept(v, rows, body, stmt)
            product = ir.Call(ir.MATMUL, (ir.Attribute(left, "T"), right))
            after.append(dataclasses.replace(stmt, value=product))
        if not after:
            return (loop,)
        origin = dataclasses.replace(loop.origin, role="save")
        lists = (ir.Assign(name, ir.Display("list", ()), origin) for name in rows.values())
        return (*lists, dataclasses.replace(loop, body=tuple(body)), *after)

    def _of_rows(self, vector: ir.Expr, loop: ir.For | ir.While) -> ir.Expr | None:
        """The matrix whose rows a loop goes through, of the vector that is such a row."""
        match loop:
            case ir.For(target=str(x), iter=ir.Call(ir.Ref(obj=obj), (ir.Var(xs),), ())) if (
                vector == ir.Var(x) and obj is reversed and self.facts.kind(xs).rank == 2
            ):
                inside = [*ir.statements(loop.body)]
                bound = frozenset(name for stmt in inside for name in ir.binds(stmt))
                if bound.isdisjoint((x, xs)) and not any(isinstance(s, ir.Break) for s in inside):
                    return ir.Index(ir.Var(xs), ir.Slice(None, None, ir.Const(-1)))
        return None

    def _kept(
        self,
        vector: ir.Expr,
        rows: dict[ir.Expr, str],
        body: list[ir.Stmt],
        stmt: ir.Stmt,
    ) -> ir.Expr:
        """An array of the vectors of all rounds: each is put into a list once."""
        if vector not in rows:
            name = vector.name if isinstance(vector, ir.Var) else "factor"
            rows[vector] = self.names.fresh(f"{name}_rows")
            push = ir.Call(ir.Attribute(ir.Var(rows[vector]), "append"), (vector,))
            body.append(ir.Do(push, dataclasses.replace(stmt.origin, role="save")))
        return ir.Call(self.facts.numpy_function("array"), (ir.Var(rows[vector]),))

    def _added(
        self, stmt: ir.Stmt, at: int, loop: ir.For | ir.While
    ) -> tuple[ir.Expr, ir.Expr] | None:
        """The vectors whose outer product a statement of a loop adds to what nothing else in the
        loop knows, and which stay what they are until the loop ends."""
        match stmt:
            case ir.Update(
                target=ir.Var(total), op=op, value=ir.Call(ir.Ref(obj=obj), (u, v), ())
            ) if obj is np.outer and op in (ir.IADD, ir.ISUB) and stmt.origin.role == "adjoint":
                pass
            case _:
                return None
        if any(len(self.axes.of(e) or ()) != 1 for e in (u, v)) or total in self.pinned:
            return None
        for other in loop.body:
            effect = effect_of(other, self.facts)
            known = effect.reads | effect.writes | effect.content | effect.binds
            if not _adds_outer(other, total) and (total in known or self.meet((total,), known)):
                return None
        return (u, v) if self._stays(u, at, loop) and self._stays(v, at, loop) else None

    def _stays(self, vector: ir.Expr, at: int, loop: ir.For | ir.While) -> bool:
        """Whether what the expression is at this place of a loop is not written until it ends."""
        if not expr_effect(vector, self.facts, True).silent:
            return False
        shared = sources(vector, self.facts, True)
        if not shared:
            return True
        if not isinstance(vector, ir.Var):
            return False
        own = True  # whether it still is what the name stands for
        for stmt in (*loop.body[at + 1 :], *loop.body[: at + 1]):
            effect = effect_of(stmt, self.facts)
            others = effect.writes - {vector.name}
            if self.meet((vector.name,), others):
                return False
            if own and vector.name in effect.writes:
                return False
            if vector.name in effect.binds:
                made = isinstance(stmt, ir.Assign) and not sources(stmt.value, self.facts, True)
                own = own and not made
        return True


class _Inverting(Asking):
    """Systems with the factor of a Cholesky decomposition are solved by its inverse, which the
    adjoint of the matrix needs anyway."""

    def block(self, block: ir.Block) -> ir.Block:
        block = super().block(block)
        for last, stmt in enumerate(block):
            for expr in ir.walk_statement(stmt):
                match expr:
                    case ir.Call(ir.Ref(obj=obj), (ir.Var(factor), _), ()) if obj is cholesky_bar:
                        return self._shared(factor, block, last)
        return block

    def _shared(self, factor: str, block: ir.Block, last: int) -> ir.Block:
        """The block with one inverse for what the adjoint statement and those before it solve."""
        names = Names(n for s in ir.statements(self.function.body) for n in names_touched(s))
        inverse = ir.Var(names.fresh(f"{factor}_inverse"))
        axes = AxesOf(self.function, self.facts)
        by: dict[ir.Expr, ir.Expr] = {
            ir.Var(factor): inverse,
            ir.Attribute(ir.Var(factor), "T"): ir.Attribute(inverse, "T"),
        }

        def by_inverse(expr: ir.Expr) -> ir.Expr:
            expr = ir.rebuild(expr, by_inverse)
            match expr:
                case ir.Call(ir.Ref(obj=np.linalg.solve), (matrix, g), ()) if matrix in by and len(
                    axes.of(g) or ()
                ) in (1, 2):
                    return ir.Call(ir.MATMUL, (by[matrix], g), (), expr.at)
                case ir.Call(ir.Ref(obj=obj), (base, _), ()) if (
                    base == ir.Var(factor) and obj is cholesky_bar
                ):
                    return dataclasses.replace(expr, kwargs=(("inverse", inverse),))
            return expr

        before = [
            ir.map_statement(stmt, expr=by_inverse) if stmt.origin.role == "adjoint" else stmt
            for stmt in block[:last]
        ]
        solving = [k for k, stmt in enumerate(before) if stmt is not block[k]]
        if not solving or len(axes.of(ir.Var(factor)) or ()) != 2 or not self.facts.real:
            return block
        for stmt in block[solving[0] : last]:
            effect = effect_of(stmt, self.facts)
            if factor in effect.binds or self.meet((factor,), effect.writes):
                return block
        before.insert(
            solving[0],
            ir.Assign(inverse.name, ir.Call(_INVERSE, (ir.Var(factor),)), block[solving[0]].origin),
        )
        return (*before, ir.map_statement(block[last], expr=by_inverse), *block[last + 1 :])


_INVERSE = ir.Ref("inverse_of_lower", inverse_of_lower)


def _replaced(expr: ir.Expr, by: Mapping[ir.Call, ir.Var]) -> ir.Expr:
    named = by.get(expr) if isinstance(expr, ir.Call) else None
    return named or ir.rebuild(expr, lambda part: _replaced(part, by))


def _adds_outer(stmt: ir.Stmt, total: str) -> bool:
    """Whether a statement adds an outer product to a total."""
    match stmt:
        case ir.Update(target=ir.Var(name), op=op, value=ir.Call(ir.Ref(obj=obj), (u, v), ())):
            read = ir.names_in(u) | ir.names_in(v)
            return (
                name == total and op in (ir.IADD, ir.ISUB) and obj is np.outer and name not in read
            )
    return False


# --------------------------------------------------------------------------------------------------
# Entries of an array of zeros to which something is added for the first time are given it, and what
# stands in a list or a dict is added to as what it is.
#
# The last thing done to a text that is run, not to one that is differentiated again.


def stored_first(
    functions: Sequence[ir.Function], facts: Mapping[str, Facts]
) -> tuple[ir.Function, ...]:
    """The functions of a module with stores for what is added to zeros.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program('''x_bar = np.zeros_like(x)
    ... x_bar[2] -= 3.0 * d
    ... x_bar[0] += d
    ... x_bar[0] += e
    ... x_bar[1:] += e
    ... return x_bar'''))
    >>> known = {"x": Kind("array", "float", ("n!",))}
    >>> print(show(stored_first((f,), {f.name: Facts(kinds=known)})[0].body))
    x_bar = np.zeros_like(x)
    x_bar[2] = -3.0 * d
    x_bar[0] = d
    x_bar[0] += e
    x_bar[1:] += e
    return x_bar
    """
    known = ((f, facts.get(f.name)) for f in functions)
    return tuple(f if k is None else _First(f, k).result() for f, k in known)


class _First(Asking):
    def result(self) -> ir.Function:
        """The function, where its adjoints are real numbers, each with a name."""
        plain = self.facts.real and not self.facts.by_identity
        stmts = ir.statements(self.function.body) if plain else ()
        adds = any(type(s) is ir.Update and type(s.target) is ir.Index for s in stmts)
        adds = adds or (plain and any(r.obj is add_at for r in fact(references, self.function)))
        return self.rewritten(self.function) if adds else self.function

    def block(self, block: ir.Block) -> ir.Block:
        zeros: dict[str, list[ir.Expr]] = {}  # the keys at which something was added
        out: list[ir.Stmt] = []
        for stmt in block:
            new = self._added_plainly(self.nested(stmt))
            match stmt:
                case ir.Update(ir.Index(ir.Var(name), key), op=op, value=value) if (
                    name in zeros and op in (ir.IADD, ir.ISUB) and name not in ir.names_in(value)
                ):
                    new = self._stored(stmt, name, key, zeros[name])
                    zeros[name].append(key)
                case _:
                    effect = effect_of(stmt, self.facts)
                    zeros = {
                        name: keys
                        for name, keys in zeros.items()
                        if name not in effect.reads | effect.binds
                        and effect.binds.isdisjoint(n for key in keys for n in ir.names_in(key))
                    }
                    made = _made_of_zeros(stmt, self.facts)
                    if made is not None:
                        zeros[made] = []
            out.append(new)
        return ir.unless_same(out, block)

    def _added_plainly(self, stmt: ir.Stmt) -> ir.Stmt:
        """`p_bar["w"] += e` for `add_at(p_bar, "w", e)` of a dict of numbers and arrays."""
        match stmt:
            case ir.Do(ir.Call(ir.Ref(obj=obj), (ir.Var(name) as bar, key, value), ())) if (
                obj is add_at and key != ir.Const(Ellipsis)  # (all entries: of a dict, another)
            ):
                held = self.facts.kind_behind(name)
                place = held.form == "dict" or self._kind_of(key).integer or _is_integer(key)
                if held.form in ("list", "tuple", "dict") and place:
                    item = index_kind(held, key, self._kind_of)
                    if item.form in ("number", "array") and item.dtype == "float":
                        return ir.Update(ir.Index(bar, key), ir.IADD, value, stmt.origin)
        return stmt

    def _stored(
        self, stmt: ir.Update, name: str, key: ir.Expr, before: Sequence[ir.Expr]
    ) -> ir.Stmt:
        once = selects_once(key, self._kind_of) and name not in ir.names_in(key)
        if not once or not all(_are_apart(key, other) for other in before):
            return stmt
        value = stmt.value
        if stmt.op == ir.ISUB:
            terms = [
                dataclasses.replace(term, coefficient=-term.coefficient) for term in terms_of(value)
            ]
            signed = all(term.coefficient < 0 for term in terms) and terms[0].coefficient == -1
            if signed and (len(terms) > 1 or not self._is_entry(name, key)):
                return stmt  # (an array would be made for the sign)
            value = build_sum([ordered(term) for term in terms], lambda e: True)
        return ir.Store(ir.Index(ir.Var(name), key), value, stmt.origin)

    def _is_entry(self, name: str, key: ir.Expr) -> bool:
        """Whether a key selects one number."""
        rank = self.facts.kind_behind(name).rank
        parts = key_parts(key)
        whole = all(self._kind_of(part).integer or _is_integer(part) for part in parts)
        return whole and len(parts) == rank

    def _kind_of(self, expr: ir.Expr) -> Kind:
        if is_mask(expr, self.facts):
            return Kind("array", "bool")
        return self.facts.kind(expr.name) if isinstance(expr, ir.Var) else Kind()


def _made_of_zeros(stmt: ir.Stmt, facts: Facts) -> str | None:
    """The array that a statement of ours makes, of zeros in the shape of another."""
    match stmt:
        case ir.Assign(str(name), ir.Call(ir.Ref(obj=obj), (ir.Var(like),), ())) if name != like:
            derived = stmt.origin.role == "adjoint"
            of_array = runtime_name(obj) == "zeros_like" and facts.kind(like).form == "array"
            made = of_array or numpy_name(obj) == "zeros_like"
            return name if derived and made else None
    return None


def _is_integer(part: ir.Expr) -> bool:
    return isinstance(part, ir.Const) and type(part.value) is int


def _bounds(part: ir.Expr) -> tuple[ir.Expr | None, ir.Expr | None]:
    """Where the entries that a part of a key selects begin and end; None where that is open, or
    counted from the end."""
    match part:
        case ir.Slice(lower, upper, None):
            return lower, upper
        case ir.Const(int(place)) if place >= 0:
            return part, ir.Const(place + 1)
    return None, None


def _ends_before(end: ir.Expr | None, start: ir.Expr | None) -> bool:
    """Whether entries up to an end come before those from a start on."""
    match end, start:
        case ir.Const(int(i)), ir.Const(int(j)) if i >= 0 and j >= 0:
            return i <= j
    return end is not None and end == start


def _are_apart(key: ir.Expr, other: ir.Expr) -> bool:
    """Whether two keys surely select different entries: at some axis there are two integers, or
    slices of which the one ends where the other begins; or one is the complement of the other."""
    for mask, complement in ((key, other), (other, key)):
        match complement:
            case ir.Call(ir.Ref(obj=operator.invert | np.logical_not), (inner,), ()):
                if inner == mask:
                    return True
    for one, two in zip(key_parts(key), key_parts(other), strict=False):
        if not all(_is_integer(part) or isinstance(part, ir.Slice) for part in (one, two)):
            return False  # (what comes after it stands for other axes)
        match one, two:
            case ir.Const(int(i)), ir.Const(int(j)) if i != j and (i < 0) == (j < 0):
                return True
        (lower, upper), (low, up) = _bounds(one), _bounds(two)
        if _ends_before(upper, low) or _ends_before(up, lower):
            return True
    return False
