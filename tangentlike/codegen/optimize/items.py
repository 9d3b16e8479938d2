"""Adjoints of what dicts and lists hold, which begin as zeros that are only added to.

That of a dict whose keys are known is a name for each item, and is written out where it is given
back: `return {"w": w_bar, "b": np.sum(g, axis=0)}`. An item of a list that gets all in one round
of a loop is put there as a whole::

    params_bar = zeros_like(params)               params_bar = []
    for i in reversed(range(len(params))):        for layer in reversed(params):
        layer = params[i]                             ..
        ..                                            params_bar.append({"W": W_bar, "b": b_bar})
        layer_bar = zeros_like(layer)             params_bar[::-1]
        add_at(layer_bar, "W", W_bar)
        add_at(layer_bar, "b", b_bar)
        add_at(params_bar, i, layer_bar)

(`params_bar[i] = {"W": W_bar, "b": b_bar}` where the loop may leave some out, or needs the places.)
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ... import ir
from ...ir.facts import Facts as Manager
from ...ir.facts import fact
from ...ir.index import ProgramIndex, all_names, references
from ...ir.kind import FLOAT, Kind, is_named
from ...ir.names import Names
from ...runtime import add_at, zeros_like
from .analyses import Analyses
from .effects import OUTSIDE, effect_of
from .facts import Facts
from .fold import names_touched
from .shapes import AxesOf
from .sharing import sources


def items_apart(function: ir.Function, facts: Facts) -> tuple[ir.Function, Facts]:
    """Give each item of the adjoint of a parameter that is a dict a name of its own.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.ir.kind import FLOAT, Kind
    >>> from tangentlike.runtime import zeros_like
    >>> from .facts import derived
    >>> f = derived(program('''p_bar = zeros_like(p)
    ... for i in range(n):
    ...     p_bar["a"] += g * i
    ... return p_bar''', {"zeros_like": zeros_like}))
    >>> f = ir.replaced(f, params=(ir.Param("p"), ir.Param("n"), ir.Param("g")))
    >>> known = Kind("dict", names=("a", "b"), items=(FLOAT, FLOAT))
    >>> made, _ = items_apart(f, Facts(kinds={"p": known}))
    >>> print(show(made.body))
    a_bar = 0.0
    for i in range(n):
        a_bar += g * i
    return {'a': a_bar, 'b': 0.0}
    """
    if not _makes_zeros(function, facts):
        return function, facts
    waiting = [stmt for stmt in function.body if _zeros_of(stmt, "dict", facts)]
    changed = True
    while changed:  # (a dict in a dict before that)
        changed = False
        for stmt in waiting:
            apart = _Apart(stmt, function, facts)
            if apart.is_possible():
                function, facts = apart.result()
                waiting, changed = [s for s in waiting if s is not stmt], True
    return function, facts


def _makes_zeros(function: ir.Function, facts: Facts) -> bool:
    refs = fact(references, function)
    return not facts.by_identity and any(ref.obj is zeros_like for ref in refs)


def _zeros_of(stmt: ir.Stmt, form: str, facts: Facts) -> str:
    """The name of the dict, or list, of whose form a statement makes zeros; else ""."""
    match stmt:
        case ir.Assign(str(), ir.Call(ir.Ref(obj=obj), (ir.Var(of),), ())) if obj is zeros_like:
            return of if facts.kind(of).form == form else ""
    return ""


def _added_to_a_dict(stmt: ir.Stmt) -> str:
    """The name of what a statement adds to an item of a dict; else ""."""
    match stmt:
        case ir.Do(ir.Call(ir.Ref(obj=obj), (ir.Var(), ir.Const(str()), ir.Var(name)))):
            return name if obj is add_at else ""
    return ""


class _Apart(ir.Rewriter):
    """The items of the adjoint of a dict, which one statement makes."""

    def __init__(self, made: ir.Stmt, function: ir.Function, facts: Facts) -> None:
        assert isinstance(made, ir.Assign) and isinstance(made.target, str)
        assert isinstance(made.value, ir.Call)
        (like,) = made.value.args
        assert isinstance(like, ir.Var)
        self.name, self.made, self.like = made.target, made, like
        self.zeros_like = made.value.fn
        self.function, self.facts = function, facts
        kind = facts.kind(like.name)
        self.items = dict(zip(kind.names, kind.items or (), strict=False))
        self.known = Analyses(function, facts)
        self.axes = AxesOf(function, facts)
        self.names: dict[str, str] = {}
        self.begun: dict[str, tuple[ir.Stmt, ir.Expr]] = {}  # what is first, in place of a zero

    def is_possible(self) -> bool:
        """Whether all items are numbers or arrays, or dicts that are written out, and the adjoint
        of each is only added to until all are given back, or are added to those of another dict."""
        function, name, like = self.function, self.name, self.like.name
        if not self.items or name in self.known.pinned:
            return False
        index = fact(ProgramIndex, function)
        bound = len(index.definitions.get(like, ())) + (like in function.param_names)
        written = any(like in effect_of(stmt, self.facts).writes for stmt in function.body)
        uses = [index.statements[n] for n in index.uses.get(name, ())]
        *added, last = uses or (self.made,)
        given = last is function.body[-1] and isinstance(last, ir.Return)
        return (
            bound == 1
            and not written
            and len(index.definitions[name]) == 1
            and (given or (last in function.body and _added_to_a_dict(last) == name))
            and sum(part == ir.Var(name) for part in ir.walk_statement(last)) == 1
            and all(self._key(stmt) is not None for stmt in added)
            and all(self._is_plain(key, kind, added) for key, kind in self.items.items())
        )

    def _is_plain(self, key: str, kind: Kind, added: Sequence[ir.Stmt]) -> bool:
        """Whether an item is a number or an array, or a dict whose adjoint is given whole."""
        if kind.form in ("number", "array"):
            return kind.dtype == "float"
        whole = [stmt for stmt in added if self._key(stmt) == key]
        alone = kind.form in ("dict", "list") and len(whole) <= 1
        return alone and all(map(self._is_whole, whole))

    def _is_whole(self, stmt: ir.Stmt) -> bool:
        """Whether a statement adds all that there is of an item: a dict that is written out, or the
        adjoint of a list, which nothing has to do with afterwards."""
        added = self._added(stmt)
        match added and added[2]:
            case ir.Index(ir.Var(name), ir.Slice(None, None, _)) | ir.Var(name):
                index = fact(ProgramIndex, self.function)
                once = len(index.definitions.get(name, ())) == 1
                last = index.statements[index.uses[name][-1]] is stmt
                is_list = self.facts.kind_behind(name).form == "list"
                return once and last and is_list and name not in self.known.pinned
            case value:
                return isinstance(value, ir.Display)

    def _key(self, stmt: ir.Stmt) -> str | None:
        """The key of the item that a statement adds to."""
        added = self._added(stmt)
        return None if added is None else added[0]

    def _added(self, stmt: ir.Stmt) -> tuple[str, ir.Ref, ir.Expr] | None:
        """The key of the item that a statement adds to, what adds, and what is added."""
        match stmt:
            case ir.Update(ir.Index(base, ir.Const(str(key))), op, value):
                pass
            case ir.Do(ir.Call(ir.Ref(obj=obj), (base, ir.Const(str(key)), value))) if (
                obj is add_at and self.facts.real
            ):
                op = ir.IADD
            case _:
                return None
        ours = base == ir.Var(self.name) and key in self.items
        alone = self.name not in ir.names_in(value)
        return (key, op, value) if ours and alone and op in (ir.IADD, ir.ISUB) else None

    def result(self) -> tuple[ir.Function, Facts]:
        """The function with a name for each item that something is added to, and what is known."""
        names, function = Names(all_names(self.function)), self.function
        stem = self.name.removesuffix("_bar")
        inner = self.like.name not in function.param_names
        first: dict[str, ir.Stmt] = {}
        for stmt in ir.statements(function.body):
            if (key := self._key(stmt)) is not None:
                first.setdefault(key, stmt)
        for key in (key for key in self.items if key in first):
            own = not inner and key.isidentifier() and key not in names  # (is no variable's)
            word = key if own else f"{stem}_{key}"
            self.names[key] = names.fresh(re.sub(r"\W", "_", f"{word}_bar"))
            if (begun := self._first_value(first[key], self.items[key])) is not None:
                self.begun[key] = first[key], begun
        kinds = {name: self.items[key] for key, name in self.names.items()}
        numbers = {n: FLOAT for n, kind in kinds.items() if kind.form == "number"}
        facts = replace(
            self.facts,
            kinds={**self.facts.kinds, **({} if self.facts.foreign else numbers)},
            behind={**self.facts.behind, **kinds},
            floating=self.facts.floating | kinds.keys(),
        )
        return self.rewritten(function), facts

    def _first_value(self, stmt: ir.Stmt, kind: Kind) -> ir.Expr | None:
        """What is added first, as an object of its own; None where it may not be of the shape of
        an item."""
        added = self._added(stmt)
        if added is None or not any(stmt is s for s in self.function.body):
            return None
        _, op, value = added
        axes = self.axes.of(value)
        if not self._is_whole(stmt):
            same = axes == kind.shape and all(map(is_named, axes or ()))
            if not same and not _is_full(value, self.facts):
                return None
            if sources(value, self.facts, True) and not self._is_its_own(stmt, added):
                copied = kind.rank and op == ir.IADD and isinstance(value, ir.Var)
                return ir.Call(ir.Attribute(value, "copy"), ()) if copied else None
        return value if op == ir.IADD else ir.Call(ir.NEG, (value,))

    def _is_its_own(self, stmt: ir.Stmt, added: tuple[str, ir.Ref, ir.Expr]) -> bool:
        """Whether a name has an object that nothing reads after a statement by another name, or
        that nothing writes from then on, nor does another item have it."""
        key, _, value = added
        if not isinstance(value, ir.Var):
            return False
        sharing, live = self.known.sharing, self.known.live
        others = {value.name, *sharing.members(value.name)}
        if others & self.known.pinned.union(self.function.param_names, (OUTSIDE,)):
            return False
        if not any(live.is_live_after(stmt, n) for n in others):
            return True
        *body, returned = self.function.body
        after = list(ir.statements(tuple(body[body.index(stmt) + 1 :])))
        found = [self._added(s) for s in after]
        again = any(f is not None and (f[0] == key or others & ir.names_in(f[2])) for f in found)
        effects = (effect_of(s, self.facts) for s in after)
        written = any(e.fixed or others & (e.writes | e.binds) for e in effects)
        return not again and not written and not others & ir.reads(returned)

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        if stmt is self.made:
            return [
                ir.Assign(name, self._zero(key), stmt.origin)
                for key, name in self.names.items()
                if key not in self.begun
            ]
        added = self._added(stmt)
        if added is None:
            return None
        key, op, value = added
        first, begun = self.begun.get(key, (None, value))
        if first is not stmt:
            return ir.Update(ir.Var(self.names[key]), op, value, stmt.origin)
        return ir.Assign(self.names[key], begun, stmt.origin)

    def _zero(self, key: str) -> ir.Expr:
        if self.items[key].form == "number":
            return ir.Const(0.0)
        item = ir.Index(self.like, ir.Const(key))
        holds = self.items[key].form in ("dict", "list")
        make = self.zeros_like if holds else self.facts.numpy_function("zeros_like")
        return ir.Call(make, (item,))

    def expression(self, expr: ir.Expr) -> ir.Expr:
        if expr == ir.Var(self.name):
            values = (
                ir.Var(self.names[key]) if key in self.names else self._zero(key)
                for key in self.items
            )
            return ir.Display("dict", tuple(values), tuple(map(ir.Const, self.items)))
        return ir.rebuild(expr, self.expression)


# --------------------------------------------------------------------------------------------------
# Items of a list.

_Path = tuple[ir.Expr, ...]  # the key of a part of an item, or nothing: the item itself


@dataclass(frozen=True)
class _Addition:
    """What a statement adds to the adjoint of an item, or of a part of it."""

    stmt: ir.Stmt
    key: ir.Expr
    path: _Path
    value: ir.Expr


def items_put(function: ir.Function, facts: Facts) -> ir.Function:
    """Put the adjoint of an item of a list where it belongs, as a whole.

    >>> import numpy as np
    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.ir.kind import Kind
    >>> from tangentlike.runtime import zeros_like
    >>> from .facts import derived
    >>> f = derived(program('''a_bar = zeros_like(a)
    ... for i in reversed(range(len(a))):
    ...     w_bar = np.cos(x)
    ...     a_bar[i][0] += w_bar
    ...     a_bar[i][1] += 2.0
    ... return a_bar''', {"np": np, "zeros_like": zeros_like}))
    >>> f = ir.replaced(f, params=(ir.Param("a"), ir.Param("x")))
    >>> array, number = Kind("array", "float", (None,)), Kind("number", "float", ())
    >>> known = Kind("list", item=Kind("tuple", items=(array, number)))
    >>> facts = Facts(kinds={"a": known}, behind={"w_bar": array})
    >>> print(show(items_put(f, facts).body))
    a_bar = []
    for _ in a:
        w_bar = np.cos(x)
        a_bar.append([w_bar, 2.0])
    return a_bar[::-1]
    """
    if not _makes_zeros(function, facts) or not facts.real:
        return function
    parts = {name for stmt in function.body if (name := _added_to_a_slice(stmt))}
    for stmt in sorted(function.body, key=lambda s: parts.isdisjoint(ir.binds(s))):
        like = _zeros_of(stmt, "list", facts)
        known = _parts(facts.kind(like)) if like else None
        if known is not None:
            assert isinstance(stmt, ir.Assign)
            what = (str(stmt.target), like, known)
            if _Putting(*what, function, facts).is_only_added_to:
                direct = _Direct(stmt, known).rewritten(function)
                function = _Putting(*what, direct, facts).result()
    return function


def _added_to_a_slice(stmt: ir.Stmt) -> str:
    """The name of what a statement adds to a slice; else ""."""
    match stmt:
        case ir.Do(ir.Call(ir.Ref(obj=obj), (ir.Var(), ir.Call(), ir.Var(name)))) if obj is add_at:
            return name
    return ""


def _parts(kind: Kind) -> Mapping[_Path, Kind] | None:
    """The parts of any item of a list, where all of them are numbers and arrays of floats, or the
    item itself."""
    items = kind.items or ((kind.item,) if kind.item is not None else ())
    found = [_parts_of(item) for item in items]
    forms = [{path: part.form for path, part in parts.items()} for parts in found]
    return found[0] if forms and forms[0] and all(form == forms[0] for form in forms) else None


def _parts_of(kind: Kind) -> dict[_Path, Kind]:
    if kind.form == "object" or (kind.form == "tuple" and kind.names):
        return {(): kind}
    parts: dict[_Path, Kind] = {(): kind}
    if kind.form == "tuple" and kind.cls is None:
        parts = {(ir.Const(k),): item for k, item in enumerate(kind.items or ())}
    elif kind.form == "dict" and len(kind.names) == len(kind.items or ()):
        parts = {(ir.Const(n),): i for n, i in zip(kind.names, kind.items or (), strict=True)}
    plain = all(p.form in ("number", "array") and p.dtype == "float" for p in parts.values())
    return parts if plain else {}


def _addition(stmt: ir.Stmt, name: str) -> _Addition | None:
    """What a statement adds to an item of the list that a name stands for."""
    match stmt:
        case ir.Update(ir.Index(base, key), op, value) if op in (ir.IADD, ir.ISUB):
            value = value if op == ir.IADD else ir.Call(ir.NEG, (value,))
        case ir.Do(ir.Call(ir.Ref(obj=obj), (base, key, value), ())) if obj is add_at:
            pass
        case _:
            return None
    if name in ir.names_in(key) or name in ir.names_in(value):
        return None
    match base:
        case ir.Var(of) if of == name:
            return _Addition(stmt, key, (), value)
        case ir.Index(ir.Var(of), outer) if of == name:
            return _Addition(stmt, outer, (key,), value)
    return None


class _Direct(ir.Rewriter):
    """Adds to the parts of an item of a list what is added to zeros that are added to it last."""

    def __init__(self, made: ir.Assign, parts: Mapping[_Path, Kind]) -> None:
        self.made, self.name, self.parts = made, str(made.target), parts

    def block(self, block: ir.Block) -> ir.Block:
        stmts = list(map(self.nested, block))
        for last in reversed(range(len(stmts))):
            whole = _addition(stmts[last], self.name)
            if whole is None or whole.path or not isinstance(whole.value, ir.Var):
                continue
            made = _made_at(whole.value.name, stmts[:last])
            if made is not None and () not in self.parts:
                between = self._added(whole, stmts[made + 1 : last])
                if between is not None:
                    stmts[made : last + 1] = between
                    return self.block(tuple(stmts))
        return ir.unless_same(stmts, block)

    def _added(self, whole: _Addition, between: Sequence[ir.Stmt]) -> list[ir.Stmt] | None:
        """The statements between the zeros and their end, which add to the list itself; None if
        they do anything else with either."""
        assert isinstance(whole.value, ir.Var)
        own, out, bound = whole.value.name, list[ir.Stmt](), set[str]()
        for stmt in between:
            inner = list(ir.statements((stmt,)))
            touched = frozenset().union(*map(names_touched, inner))
            bound.update(n for s in inner for n in ir.binds(s))
            if bound & {own, *ir.names_in(whole.key)}:
                return None
            if not {own, self.name} & touched:
                out.append(stmt)
                continue
            if stmt is self.made and not bound & ir.names_in(self.made.value):
                out.insert(0, stmt)
                continue
            part = _addition(stmt, own)
            if part is None or part.path or (part.key,) not in self.parts:
                return None
            item = ir.Index(ir.Var(self.name), whole.key)
            out.append(ir.Update(ir.Index(item, part.key), ir.IADD, part.value, stmt.origin))
        return out


def _made_at(name: str, before: Sequence[ir.Stmt]) -> int | None:
    """Where zeros are made for a name in the statements of a block."""
    for at, stmt in enumerate(before):
        match stmt:
            case ir.Assign(str(target), ir.Call(ir.Ref(obj=obj))) if target == name:
                return at if obj is zeros_like else None
    return None


class _Putting:
    """Puts items where all that is added to them is added in one block, in each round of a loop to
    another item."""

    def __init__(
        self,
        name: str,
        like: str,
        parts: Mapping[_Path, Kind],
        function: ir.Function,
        facts: Facts,
    ) -> None:
        self.name, self.like, self.parts = name, like, parts
        self.function, self.facts = function, facts
        self.slices: list[tuple[ir.Stmt, ir.Slice, ir.Expr]] = []  # of which the adjoint is added
        self.groups: dict[ir.Expr, list[_Addition]] = {}  # by the key of the item
        self.is_only_added_to = self._is_alone() and all(map(self._adds, self._uses()))

    def result(self) -> ir.Function:
        if not self.is_only_added_to or not self.groups:
            return self.function
        groups = list(map(self._in_order, self.groups.values()))
        if not all(groups) or not self._are_apart():
            return self.function
        loop = self._loop(groups[0][0])
        if loop is not None and (ways := self._ways(loop)):
            return self._collected(groups[0], loop, ways == "down")
        if self.slices and (joined := self._joined(groups[0], *self.slices[0])) is not None:
            return joined
        instead: dict[int, ir.Block] = {}
        for group in groups:
            place = ir.Index(ir.Var(self.name), group[0].key)
            instead |= self._put(group, functools.partial(ir.Store, place))
        for stmt, key, value in self.slices:
            place = ir.Index(ir.Var(self.name), key)
            instead[id(stmt)] = (ir.Store(place, value, stmt.origin),)
        body = ir.rewrite(self.function.body, lambda stmt: instead.get(id(stmt)))
        return ir.with_body(self.function, body)

    def _put(
        self, group: Sequence[_Addition], put: Callable[[ir.Expr, ir.Origin], ir.Stmt]
    ) -> dict[int, ir.Block]:
        """What stands for the additions to one item: for the last of them, what puts it."""
        *before, last = group
        item = self._item({addition.path: self._value(addition) for addition in group})
        found: dict[int, ir.Block] = {id(addition.stmt): () for addition in before}
        return found | {id(last.stmt): (put(item, last.stmt.origin),)}

    def _ways(self, loop: ir.For) -> str:
        """Whether a loop goes through all items of the list, and in which direction."""
        every = ir.Call(ir.RANGE, (ir.Call(ir.LEN, (ir.Var(self.like),)),))
        if (
            self.slices
            or self._beside(loop)
            or loop.iter not in (every, ir.Call(ir.REVERSED, (every,)))
        ):
            return ""
        return "up" if loop.iter == every else "down"

    def _beside(self, loop: ir.For) -> bool:
        """Whether items of another list are added to in the same way: they read alike."""
        places = (_place(stmt) for stmt in loop.body if stmt.origin.role == "adjoint")
        parts = (part for place in places if place is not None for part in ir.parts_of(place))
        key, own = ir.Var(str(loop.target)), ir.Var(self.name)
        return any(isinstance(p, ir.Index) and p.key == key and p.base != own for p in parts)

    def _collected(self, group: Sequence[_Addition], loop: ir.For, down: bool) -> ir.Function:
        """The function that appends the items to a list, which is empty before the loop."""
        name, function = ir.Var(self.name), self.function
        instead = self._put(group, _appending(self.name))
        body = ir.rewrite(loop.body, lambda stmt: instead.get(id(stmt)))
        header = self._header(loop, body, down)

        def one(stmt: ir.Stmt) -> ir.Block:
            if stmt is loop:
                return (header,)
            if isinstance(stmt, ir.Assign) and stmt.target == self.name:
                return (replace(stmt, value=ir.Display("list", ())),)
            return ()

        turned = ir.Index(name, ir.Slice(step=ir.Const(-1))) if down else name
        out = [new for stmt in function.body for new in one(stmt) or self._with(stmt, turned)]
        return ir.with_body(function, tuple(out))

    def _header(self, loop: ir.For, body: ir.Block, down: bool) -> ir.For:
        """The loop with another body, over the list itself if nothing else needs the places."""
        i, items, function = str(loop.target), ir.Var(self.like), self.function
        read = [stmt for stmt in ir.statements(body) if i in ir.reads(stmt)]
        if not Analyses(function, self.facts).live.is_live_after(loop, i):
            match body[0]:
                case ir.Assign(bound, ir.Index(base, key)) if (base, key) == (items, ir.Var(i)):
                    if read == [body[0]]:
                        over = ir.Call(ir.REVERSED, (items,)) if down else items
                        return replace(loop, target=bound, iter=over, body=body[1:])
            if not read and not any("_" in ir.reads(s) for s in ir.statements(function.body)):
                return replace(loop, target="_", iter=items, body=body)
        return replace(loop, body=body)

    def _joined(
        self, group: Sequence[_Addition], whole: ir.Stmt, key: ir.Slice, others: ir.Expr
    ) -> ir.Function | None:
        """The function that appends one item to the list of the others, which a loop collects from
        the last to the first, before or after that; None where it does not come in this order."""
        function, name = self.function, ir.Var(self.name)
        match others:
            case ir.Index(ir.Var(rest), ir.Slice(None, None, ir.Const(-1))):
                pass
            case _:
                return None
        body = function.body
        began, made = (
            next(k for k, s in enumerate(body) if isinstance(s, ir.Assign) and s.target == n)
            for n in (rest, self.name)
        )
        end = next(k for k, s in enumerate(body) if s is whole)
        at = [k for k, s in enumerate(body) if any(s is a.stmt for a in group)]
        last = group[0].key == _LAST
        if (max(at) > began) if last else (min(at) < end):
            return None
        begin = ir.Assign(self.name, ir.Display("list", ()), body[began].origin)

        instead = self._put(group, self._begun if last else _appending(self.name))
        instead |= {id(body[made]): (), id(body[began]): () if last else (begin,), id(whole): ()}
        turned = ir.Index(name, ir.Slice(step=ir.Const(-1)))
        out = list[ir.Stmt]()
        for stmt in body:
            if id(stmt) in instead:
                out += instead[id(stmt)]
            elif isinstance(stmt, ir.For):
                out.append(ir.map_statement(stmt, block=lambda b: ir.renamed(b, {rest: name})))
            else:
                out += self._with(stmt, turned)
        return ir.with_body(function, tuple(out))

    def _begun(self, item: ir.Expr, origin: ir.Origin) -> ir.Stmt:
        return ir.Assign(self.name, ir.Display("list", (item,)), origin)

    def _with(self, stmt: ir.Stmt, turned: ir.Expr) -> tuple[ir.Stmt]:
        """A statement after the loop, with the list in its order."""
        if self.name not in ir.reads(stmt):
            return (stmt,)
        return (ir.map_statement(stmt, lambda e: ir.substitute(e, {self.name: turned})),)

    def _is_alone(self) -> bool:
        """Whether the list is made of zeros once; what it is the adjoint of stays as long as it
        is."""
        function, index = self.function, fact(ProgramIndex, self.function)
        bound = len(index.definitions.get(self.like, ())) + (self.like in function.param_names)
        if bound != 1 or len(index.definitions[self.name]) != 1:
            return False
        known = Analyses(function, self.facts)
        pinned = not known.pinned.isdisjoint((self.name, self.like))
        return not pinned and not known.sharing.is_written(self.like)

    def _uses(self) -> Iterator[ir.Stmt]:
        index = fact(ProgramIndex, self.function)
        return (index.statements[n] for n in index.uses.get(self.name, ()))

    def _adds(self, stmt: ir.Stmt) -> bool:
        """Whether a statement adds to the list, which is noted, or takes it in the end."""
        addition = _addition(stmt, self.name)
        if addition is None:
            return stmt is self.function.body[-1] or self._is_part_of_another(stmt)
        if (part := _slice(addition)) is not None:
            self.slices.append((stmt, *part))
        else:
            self.groups.setdefault(addition.key, []).append(addition)
        return True

    def _is_part_of_another(self, stmt: ir.Stmt) -> bool:
        """Whether a statement adds the list to a slice of another, or to an item of a dict."""
        whole = self.name in (_added_to_a_slice(stmt), _added_to_a_dict(stmt))
        return whole and stmt in self.function.body

    def _in_order(self, group: list[_Addition]) -> list[_Addition]:
        """The additions to one item in their order, if they are all that the item gets, one to each
        part; else none."""
        block = self._block(group[0])
        places = {id(stmt): at for at, stmt in enumerate(block)}
        if {addition.path for addition in group} != self.parts.keys():
            return []
        if len(group) != len(self.parts) or not all(id(a.stmt) in places for a in group):
            return []
        group = sorted(group, key=lambda addition: places[id(addition.stmt)])
        last = places[id(group[-1].stmt)]
        if any(self._changes(a.value, block[places[id(a.stmt)] : last]) for a in group):
            return []
        return group if all(self._can_be_put(a, block[: places[id(a.stmt)]]) for a in group) else []

    def _can_be_put(self, addition: _Addition, before: ir.Block) -> bool:
        """Whether what is added to zeros may stand in their place: a number, what is as large as an
        array, or what was itself made of zeros in the same round."""
        form, value = self.parts[addition.path].form, addition.value
        if form in ("number", "array"):
            return form == "number" or _is_full(value, self.facts)
        if not isinstance(value, ir.Var) or _made_at(value.name, before) is None:
            return False
        index, name = fact(ProgramIndex, self.function), value.name
        *added, last = (index.statements[n] for n in index.uses[name])
        alone = last is addition.stmt and len(index.definitions[name]) == 1
        return alone and all(_adds_to_a_field(stmt, name) for stmt in added)

    def _changes(self, value: ir.Expr, between: ir.Block) -> bool:
        """Whether statements may change what is added."""
        read, effects = ir.names_in(value), (effect_of(s, self.facts) for s in between)
        return any(read & e.binds or self._bare.meet(read, e.writes) for e in effects)

    def _block(self, addition: _Addition) -> ir.Block:
        """The statements with an addition, if the item is another one each time that they run."""
        if isinstance(addition.key, ir.Const):
            return self.function.body
        loop = self._loop(addition)
        return () if loop is None else loop.body

    def _loop(self, addition: _Addition) -> ir.For | None:
        """The loop with an addition, in each round of which the key is another one."""
        for stmt in self.function.body:
            match stmt:
                case ir.For(target=str(i), iter=header) if addition.key == ir.Var(i):
                    rebound = any(i in ir.binds(s) for s in ir.statements(stmt.body))
                    if any(s is addition.stmt for s in stmt.body):
                        return stmt if _counts(header) and not rebound else None
        return None

    @functools.cached_property
    def _bare(self) -> Analyses:
        """What is known of the function without what is added to the list."""
        added = {id(a.stmt) for group in self.groups.values() for a in group}
        body = ir.rewrite(self.function.body, lambda stmt: () if id(stmt) in added else None)
        return Analyses(
            ir.with_body(self.function, body), replace(self.facts, cache={}, manager=Manager())
        )

    def _are_apart(self) -> bool:
        """Whether no item is another one under two keys, or in a slice."""
        keys = list(self.groups)
        if self.slices:
            both = [(key, of) for key in keys for _, of, _ in self.slices]
            return len(both) == 1 and both[0] in _LAST_AND_OTHERS
        return len(keys) == 1 or all(map(_is_natural, keys))

    def _item(self, values: Mapping[_Path, ir.Expr]) -> ir.Expr:
        """An item with these parts. (A callee gives a list for a tuple: who calls it may add to its
        items.)"""
        if () in self.parts:
            return values[()]
        keys = [key for (key,) in self.parts]
        items = tuple(values[path] for path in self.parts)
        if all(isinstance(k, ir.Const) and isinstance(k.value, str) for k in keys):
            return ir.Display("dict", items, tuple(keys))
        return ir.Display("tuple" if self.facts.handed_back else "list", items)

    def _value(self, addition: _Addition) -> ir.Expr:
        """What is added, as an object of its own."""
        value = addition.value
        if self.parts[addition.path].form != "array" or not isinstance(value, ir.Var):
            return value
        return value if self._is_own(addition) else ir.Call(ir.Attribute(value, "copy"), ())

    def _is_own(self, addition: _Addition) -> bool:
        """Whether what is added is made in this round, nothing writes it, and nothing else that is
        given back has it."""
        assert isinstance(addition.value, ir.Var)
        name, sharing = addition.value.name, self._bare.sharing
        shared = {name, *sharing.members(name)}
        inside = {n for s in ir.statements(self._block(addition)) for n in ir.binds(s)}
        others = (a.value for g in self.groups.values() for a in g if a is not addition)
        given = frozenset().union(ir.reads(self.function.body[-1]), *map(ir.names_in, others))
        return (
            shared <= inside
            and not shared & given
            and not shared & self._bare.pinned
            and not sharing.is_outside(name)
            and not sharing.is_written(name)
        )


_LAST, _FIRST = ir.Const(-1), ir.Const(0)
_LAST_AND_OTHERS = (
    (_LAST, ir.Slice(upper=ir.Const(-1))),
    (_FIRST, ir.Slice(lower=ir.Const(1))),
)


def _place(stmt: ir.Stmt) -> ir.Expr | None:
    """What a statement writes, or adds to."""
    match stmt:
        case ir.Store(target) | ir.Update(target):
            return target
        case ir.Do(ir.Call(ir.Ref(obj=obj), (base, key, _), ())) if obj is add_at:
            return ir.Index(base, key)
    return None


def _adds_to_a_field(stmt: ir.Stmt, name: str) -> bool:
    match stmt:
        case ir.Update(ir.Attribute(ir.Var(base)), op, value) if op in (ir.IADD, ir.ISUB):
            return base == name and name not in ir.names_in(value)
    return False


def _appending(name: str) -> Callable[[ir.Expr, ir.Origin], ir.Stmt]:
    """What makes a statement that appends to a list."""
    append = ir.Attribute(ir.Var(name), "append")
    return lambda item, origin: ir.Do(ir.Call(append, (item,)), origin)


def _slice(addition: _Addition) -> tuple[ir.Slice, ir.Expr] | None:
    """The slice that a list is added to, and that list; `slice(1, None)` in a call."""
    match addition:
        case _Addition(key=ir.Call(ir.Ref(obj=obj), args), path=()) if (
            obj is slice and len(args) < 3
        ):
            lower, upper = args if len(args) == 2 else (None, args[0])
            none = ir.Const(None)
            bounds = (None if bound == none else bound for bound in (lower, upper))
            return ir.Slice(*bounds), addition.value
    return None


def _is_full(value: ir.Expr, facts: Facts) -> bool:
    """Whether what is added to the adjoint of an array is as large as that, whatever its size: the
    adjoint of what was read there."""
    match value:
        case ir.Call(fn, (inner,), ()) if fn == ir.NEG:
            return _is_full(inner, facts)
        case ir.Var(name):
            return name in facts.behind and name not in facts.narrow
    return False


def _counts(header: ir.Expr) -> bool:
    """Whether a loop goes through different integers, none of them negative: `range(n)`,
    `range(1, n)`, in either direction."""
    match header:
        case ir.Call(ir.Ref(obj=obj), (inner,), ()) if obj is reversed:
            return _counts(inner)
        case ir.Call(ir.Ref(obj=obj), args, ()) if obj is range:
            first = args[0] if len(args) == 2 else ir.Const(0)
            return len(args) < 3 and _is_natural(first)
    return False


def _is_natural(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and type(expr.value) is int and expr.value >= 0
