"""Names as webs: two definitions share a name exactly if some use can be reached by both.

Reaching definitions are found in one walk. Where paths meet, a name with two definitions gets a
*meeting* that stands for both; only a use of the meeting joins them, so an unused one costs
nothing and joins nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field

from .. import ir
from ..errors import UnsupportedError
from ..ir.names import Names
from .comprehensions import is_generator
from .expressions import is_closure
from .jumps import ends_by_raising
from .naming import names_of

Point = int  # a definition or a meeting, numbered in source order


@dataclass
class Reaching:
    """Which definitions reach which uses.

    `uses` and `defs` run parallel to the statements in preorder: name -> point. `escaping` has,
    for each `For` in preorder, the loop variables that are rebound in the body or read after it.
    """

    names: list[str] = field(default_factory=list)  # point -> the name it defines
    meets: dict[Point, list[Point]] = field(default_factory=dict)
    used: list[Point] = field(default_factory=list)
    uses: list[dict[str, Point]] = field(default_factory=list)
    defs: list[dict[str, Point]] = field(default_factory=list)
    escaping: list[frozenset[str]] = field(default_factory=list)

    def add(self, name: str) -> Point:
        self.names.append(name)
        return len(self.names) - 1


def reaching(function: ir.Function) -> Reaching:
    """The reaching definitions of a function without early returns."""
    walk = _Walk(function)
    walk.block(function.body)
    walk.find_escaping()
    return walk.found


def split_names(function: ir.Function) -> ir.Function:
    """Give each web of definitions a name: the first keeps its own, others become `a2`, `a3`.

    before::                  after::
        a = x + 1                 a = x + 1
        b = a * a                 b = a * a
        a = b + 2                 a2 = b + 2
        return a                  return a2
    """
    return renamed_webs(function, reaching(function), names_of(function))[0]


def renamed_webs(
    function: ir.Function, found: Reaching, names: Names
) -> tuple[ir.Function, dict[str, str]]:
    """`split_names` with reaching definitions at hand, and for each new name the one before."""
    chosen = _chosen_names(found, names)
    new = {s: found.names[p] for p, s in enumerate(chosen) if s != found.names[p]}
    if not new:
        return function, {}
    _refuse_captured(function, found, chosen)
    body = _rename(function.body, found, chosen)
    return dataclasses.replace(function, body=body), new


@dataclass
class _Exits:
    """The names a loop may change, and what they stand at where a `break` leaves it."""

    names: dict[str, None]
    states: list[dict[str, Point]] = field(default_factory=list)


class _Walk:
    """One walk in execution order. `env` has the point that each name stands at now."""

    def __init__(self, function: ir.Function) -> None:
        self.found = Reaching()
        self.env: dict[str, Point] = {n: self.found.add(n) for n in function.param_names}
        self.alive = True
        self._leaving: list[_Exits] = []  # of the loops around, outermost first
        self._tried: list[_Exits] = []  # of the bodies of `try` around
        self._bound: dict[int, dict[str, None]] = {}
        self._updates: dict[str, list[int]] = {}  # name -> the statements that update it
        self._loops: list[tuple[int, ir.For, range]] = []

    # -------------------------------------------------------------------------- recording

    def use(self, names: frozenset[str]) -> dict[str, Point]:
        known = {name: self.env[name] for name in sorted(names) if name in self.env}
        self.found.used.extend(known.values())
        return known

    def define(self, names: tuple[str, ...]) -> dict[str, Point]:
        made = {name: self.found.add(name) for name in names}
        self.env.update(made)
        return made

    def meet(self, states: list[dict[str, Point]], names: dict[str, None]) -> None:
        """Set the environment, for these names, to what all the states agree on."""
        for name in names:
            points = list(dict.fromkeys(s[name] for s in states if name in s))
            if not points:
                self.env.pop(name, None)
            elif len(points) == 1:
                self.env[name] = points[0]
            else:
                self.env[name] = self._meeting(name, points)

    def _meeting(self, name: str, points: list[Point]) -> Point:
        point = self.found.add(name)
        self.found.meets[point] = points
        return point

    def snapshot(self, names: dict[str, None]) -> dict[str, Point]:
        return {name: self.env[name] for name in names if name in self.env}

    def bound(self, block: ir.Block) -> dict[str, None]:
        """The names bound anywhere in a block, in order."""
        key = id(block)
        if key not in self._bound:
            names: dict[str, None] = {}
            for stmt in block:
                if not isinstance(stmt, ir.Update):
                    names.update(dict.fromkeys(ir.binds(stmt)))
                for inner in ir.blocks(stmt):
                    names.update(self.bound(inner))
            self._bound[key] = names
        return self._bound[key]

    # ------------------------------------------------------------------------- statements

    def block(self, block: ir.Block) -> None:
        for stmt in block:
            self.statement(stmt)

    def statement(self, stmt: ir.Stmt) -> None:
        for raising in self._tried:
            raising.states.append(self.snapshot(raising.names))
        number = len(self.found.uses)
        self.found.uses.append({})
        self.found.defs.append({})
        if not isinstance(stmt, ir.While):
            self.found.uses[number] = self.use(ir.reads(stmt))
        match stmt:
            case ir.Try():
                self.attempt(stmt, number)
            case ir.If():
                self.branch(stmt)
            case ir.For() | ir.While():
                self.loop(stmt, number)
            case ir.Break():
                leaving = self._leaving[-1]
                leaving.states.append(self.snapshot(leaving.names))
                self.alive = False
            case ir.Update(target=ir.Var(name)):  # reads and defines the same web
                self._updates.setdefault(name, []).append(number)
            case _:
                self.found.defs[number] = self.define(ir.binds(stmt))

    def branch(self, stmt: ir.If) -> None:
        names = {**self.bound(stmt.body), **self.bound(stmt.orelse)}
        before = self.snapshot(names)
        states = []
        for inner in (stmt.body, stmt.orelse):
            self.meet([before], names)
            self.alive = True
            self.block(inner)
            if self.alive and not ends_by_raising(inner):
                states.append(self.snapshot(names))
        self.alive = bool(states)
        self.meet(states or [before], names)

    def attempt(self, stmt: ir.Try, number: int) -> None:
        """A body that may end before any of its statements; then the other block is run."""
        self.found.defs[number] = self.define(ir.binds(stmt))
        names = {**self.bound(stmt.body), **self.bound(stmt.orelse)}
        tried, rest = ir.tried_and_rest(stmt)
        raising = _Exits(names, [self.snapshot(names)])
        self._tried.append(raising)
        self.block(tried)
        self._tried.pop()
        self.block(rest)
        states = [self.snapshot(names)] if self.alive and not ends_by_raising(rest) else []
        self.meet(raising.states, names)
        self.alive = True
        self.block(stmt.orelse)
        if self.alive and not ends_by_raising(stmt.orelse):
            states.append(self.snapshot(names))
        self.alive = bool(states)
        self.meet(states or raising.states, names)

    def loop(self, stmt: ir.For | ir.While, number: int) -> None:
        targets = ir.target_names(stmt.target) if isinstance(stmt, ir.For) else ()
        names = {**dict.fromkeys(targets), **self.bound(stmt.body)}
        heads = {}
        for name in names:
            entry = [self.env[name]] if name in self.env else []
            heads[name] = self.env[name] = self._meeting(name, entry)
        if isinstance(stmt, ir.While):
            self.found.uses[number] = self.use(ir.reads(stmt))
        at_head = self.snapshot(names)
        self.found.defs[number] = self.define(targets)
        self._leaving.append(_Exits(names))
        first = len(self.found.uses)
        self.block(stmt.body)
        if self.alive:
            for name, head in heads.items():
                if name in self.env:
                    self.found.meets[head].append(self.env[name])
        if isinstance(stmt, ir.For):
            self._loops.append((number, stmt, range(first, len(self.found.uses))))
        exits = self._leaving.pop().states
        endless = isinstance(stmt, ir.While) and stmt.test == ir.Const(True)
        if not endless or not exits:
            exits.insert(0, at_head)
        self.alive = True
        self.meet(exits, names)

    # --------------------------------------------------------------------- loop variables

    def find_escaping(self) -> None:
        """Loop variables that are rebound in the body, or whose definition is read elsewhere."""
        found = self.found
        readers: dict[Point, list[int]] = {}
        for number, uses in enumerate(found.uses):
            for point in uses.values():
                readers.setdefault(point, []).append(number)
        met_in: dict[Point, list[Point]] = {}
        for meeting, points in found.meets.items():
            for part in points:
                met_in.setdefault(part, []).append(meeting)
        for number, loop, inside in sorted(self._loops, key=lambda item: item[0]):
            escaping = set()
            for name, point in found.defs[number].items():
                updated = any(n in inside for n in self._updates.get(name, ()))
                rebound = updated or name in self.bound(loop.body)
                if rebound or _read_outside(point, readers, met_in, inside):
                    escaping.add(name)
            found.escaping.append(frozenset(escaping))


def _read_outside(
    point: Point, readers: dict[Point, list[int]], met_in: dict[Point, list[Point]], inside: range
) -> bool:
    """Whether a definition is read by a statement outside this range, through any meetings."""
    seen, stack = {point}, [point]
    while stack:
        point = stack.pop()
        if any(number not in inside for number in readers.get(point, ())):
            return True
        more = [m for m in met_in.get(point, ()) if m not in seen]
        seen.update(more)
        stack.extend(more)
    return False


# --------------------------------------------------------------------------------- naming


def _chosen_names(found: Reaching, names: Names) -> list[str]:
    """For each point, the name its web gets."""
    parent = list(range(len(found.names)))

    def root(point: Point) -> Point:
        while parent[point] != point:
            parent[point] = parent[parent[point]]
            point = parent[point]
        return point

    used: set[Point] = set()
    stack = list(found.used)
    while stack:
        point = stack.pop()
        if point in used:
            continue
        used.add(point)
        for part in found.meets.get(point, ()):
            # The lower number stays the root, so that a root stands for the first in the source.
            first, second = sorted((root(point), root(part)))
            parent[second] = first
            stack.append(part)
    webs: dict[str, dict[Point, None]] = {}
    for point, name in enumerate(found.names):
        if point not in found.meets:
            webs.setdefault(name, {})[root(point)] = None
    read = {found.names[point] for point in used}
    chosen = list(found.names)
    for name, roots in webs.items():
        if name in read:  # a name that nothing reads, such as `_`, may be bound again
            for web in list(roots)[1:]:
                chosen[web] = _numbered(name, names)
    return [chosen[root(point)] for point in range(len(chosen))]


def _numbered(name: str, names: Names) -> str:
    """The next free of `a2`, `a3`, ...; of `x1_2`, `x1_3`, ... for a name that ends in a digit."""
    stem = f"{name}_" if name[-1].isdigit() else name
    count = 2
    while f"{stem}{count}" in names:
        count += 1
    return names.fresh(f"{stem}{count}")


def _rename(block: ir.Block, found: Reaching, chosen: list[str]) -> ir.Block:
    numbers = iter(range(len(found.uses)))

    def renamed(block: ir.Block) -> ir.Block:
        return tuple(map(statement, block))

    def statement(stmt: ir.Stmt) -> ir.Stmt:
        number = next(numbers)
        uses = _changes(found.uses[number], chosen)
        defs = _changes(found.defs[number], chosen)
        if isinstance(stmt, ir.Update):
            defs = uses
        if not uses and not defs and not ir.blocks(stmt):
            return stmt
        values: dict[str, ir.Expr] = {name: ir.Var(new) for name, new in uses.items()}
        return ir.map_statement(
            stmt,
            expr=lambda e: ir.substitute(e, values) if values else e,
            block=renamed,
            target=lambda t: ir.map_target(t, lambda n: defs.get(n, n)),
        )

    return renamed(block)


def _changes(points: dict[str, Point], chosen: list[str]) -> dict[str, str]:
    return {name: chosen[point] for name, point in points.items() if chosen[point] != name}


def _refuse_captured(function: ir.Function, found: Reaching, chosen: list[str]) -> None:
    """Refuse code that runs later and uses a name that is rebound: it would see another value."""
    split = {found.names[point] for point, name in enumerate(chosen) if name != found.names[point]}
    for stmt in ir.statements(function.body):
        for expr in ir.expressions(stmt):
            for code in _run_later(expr):
                for name in sorted(ir.names_in(code) & split):
                    what = "a generator" if is_generator(code) else "a lambda"
                    raise UnsupportedError(
                        f"{what} uses `{name}`, which has several values in this function",
                        code.at,
                        "Give the name only one value, use a list instead of a generator, or pass "
                        f"it as a default: `lambda ..., {name}={name}: ...`.",
                    )


def _run_later(expr: ir.Expr) -> Iterator[ir.Opaque]:
    """Lambdas and generators in an expression; a generator handed to a call is run at once."""
    if isinstance(expr, ir.Opaque) and (is_closure(expr) or is_generator(expr)):
        yield expr
    for child in ir.children(expr):
        if not (isinstance(expr, ir.Call) and is_generator(child)):
            yield from _run_later(child)
