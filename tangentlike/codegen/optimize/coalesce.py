"""Names that were split come together again: `a2` is printed `a` where their lives do not meet.

Lowering gives every value of straight-line code a name of its own. In the derived program two of
these may be needed at once (the adjoint reads both); where they are not, the user's name serves.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ... import ir
from ...analysis.structure import Liveness
from ...frontend.naming import names_of
from ...ir.facts import Facts as Manager
from ...ir.facts import fact
from ...ir.index import ProgramIndex
from ...ir.kind import UNKNOWN, Kind
from ...ir.names import Names
from .analyses import Analyses
from .effects import Effect
from .facts import Facts, Profile, derived_names
from .stacks import taped_names, unpacked_names

_TRIED = 16  # how many names of one name of the user's are tried before another is given


def coalesce_names(function: ir.Function, facts: Facts) -> tuple[ir.Function, Facts]:
    """Merge the webs of one name of the user's again; facts follow the merged names.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> f = program("a2 = a * 2; a3 = a2 * a; b = a3 + a; return b")
    >>> merged, _ = coalesce_names(f, Facts(original={"a2": "a", "a3": "a"}))
    >>> print(show(merged.body))
    a2 = a * 2
    a2 = a2 * a
    b = a2 + a
    return b
    """
    groups = _groups(function, facts)
    if not groups:
        return function, facts
    live = Analyses(function, facts).live
    conflicts = _conflicts(function, live, groups)
    renaming: dict[str, str] = {}
    for group in groups:
        renaming.update(_merged(group, function, conflicts, live, facts))
    if not renaming:
        return function, facts
    return _renamed(function, renaming), _facts_after(facts, renaming)


def user_name(name: str, original: Mapping[str, str]) -> str:
    """The name that a web, or the adjoint or tangent of a web, would best be printed as.

    >>> user_name("a2_bar", {"a2": "a"}), user_name("a2", {"a2": "a"}), user_name("b", {})
    ('a_bar', 'a', 'b')
    """
    if name in original:
        return original[name]
    for suffix in ("_bar", "_dot", "_saved"):
        primal, found, number = name.rpartition(suffix)
        if found and primal in original and (not number or number.isdigit()):
            return f"{original[primal]}{suffix}"
    return name


def name_after_users(function: ir.Function, facts: Facts) -> ir.Function:
    """Where `x_bar = difference_bar`, the adjoint of a temporary ends as that of the user's `x`, it
    has that name from the beginning. (What is known of either is true of the other then.)

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program("d_bar = 2.0 * d; x_bar = d_bar; x_bar += c; return x_bar"))
    >>> print(show(name_after_users(f, Facts(temporaries=frozenset(["d"]))).body))
    x_bar = 2.0 * d
    x_bar += c
    return x_bar
    """
    pairs: dict[str, str] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Var(source)) if (
                stmt.origin.role != "primal"
                and _is_of_user(name, facts)
                and {name, source} <= fact(derived_names, function)
                and _is_of_temporary(source, facts)
                and facts.kind(name).form == facts.kind(source).form
                and _is_true_of(source, facts.behind.get(name, UNKNOWN), facts)
                and not {name, source} & {*pairs, *pairs.values()}
            ):
                pairs[name] = source
    if not pairs:
        return function
    found, index = Analyses(function, facts), fact(ProgramIndex, function)
    outside = found.pinned.union(function.param_names)
    for name in [*pairs]:
        readers = [index.statements[number] for number in index.uses.get(name, ())]
        once = len(readers) == 1 and not isinstance(readers[0], ir.Return)  # (it needs no name)
        if once or not outside.isdisjoint((name, pairs[name])):
            del pairs[name]
    conflicts = _conflicts(function, found.live, [[*pair] for pair in pairs.items()])
    renaming = {
        source: name
        for name, source in pairs.items()
        if not conflicts[name] & found.live.mask((source,))
        and not conflicts[source] & found.live.mask((name,))
    }
    return _renamed(function, renaming) if renaming else function


def _is_true_of(name: str, known: Kind, facts: Facts) -> bool:
    """Whether a kind of what another adjoint is of is one of what this adjoint is of."""
    return known.join(facts.behind.get(name, UNKNOWN)) == known


_END = re.compile(r"_(?:bar|dot)(\d*)$")


def _is_of_user(name: str, facts: Facts) -> bool:
    """Whether a name without a number is the adjoint or tangent of a name of the user's."""
    end = _END.search(name)
    return end is not None and not end[1] and _stem(name) not in facts.temporaries


def _is_of_temporary(name: str, facts: Facts) -> bool:
    """Whether one of a transform's names is that of the adjoint or tangent of a temporary, or of
    what a rule computes."""
    return _stem(name) in facts.temporaries or _stem(name) == name


def _stem(name: str) -> str:
    """The name in the primal of which a name is the adjoint, the tangent, or that of these."""
    while (end := _END.search(name)) is not None:
        name = name[: end.start()]
    return name


def _groups(function: ir.Function, facts: Facts) -> list[list[str]]:
    """Names that go back to one name of the user's, each group in order of appearance."""
    found: dict[str, list[str]] = {}
    for name in _bound_names(function):
        found.setdefault(user_name(name, facts.original), []).append(name)
    several = [group for group in found.values() if len(group) > 1]
    pinned = Analyses(function, facts).pinned if several else frozenset()
    groups = ([name for name in group if name not in pinned] for group in several)
    return [group for group in groups if len(group) > 1]


def _bound_names(function: ir.Function) -> list[str]:
    names = dict.fromkeys(function.param_names)
    for stmt in ir.statements(function.body):
        names.update(dict.fromkeys(ir.binds(stmt)))
    return list(names)


def _conflicts(function: ir.Function, live: Liveness, groups: list[list[str]]) -> dict[str, int]:
    """For each name of a group: the mask of its group's names that live where it is bound."""
    mates = dict.fromkeys((name for group in groups for name in group), 0)
    for group in groups:
        mates.update(dict.fromkeys(group, live.mask(group)))
    conflicts = dict.fromkeys(mates, 0)

    def define(names: Iterable[str], after: int, source: str = "") -> None:
        names = tuple(names)
        for name in names:
            if name not in mates:
                continue
            together = after | (live.mask(names) if len(names) > 1 else 0)
            clash = together & mates[name] & ~live.mask((name,))
            if source in mates:
                clash &= ~live.mask((source,))
            conflicts[name] |= clash

    define(function.param_names, live.entry)
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.For(target=target, body=body):
                entry = live.before(body[0]) if body else live.after(stmt)
                define(ir.target_names(target), entry | live.after(stmt))
            case ir.Assign(target=str(name), value=ir.Var(source)):
                define((name,), live.after(stmt), source)
            case _:
                if ir.binds(stmt):
                    define(ir.binds(stmt), live.after(stmt))
    return conflicts


def _merged(
    group: list[str],
    function: ir.Function,
    conflicts: dict[str, int],
    live: Liveness,
    facts: Facts,
) -> dict[str, str]:
    """Put each name into the first class of names none of which conflicts with it."""
    wanted = user_name(group[0], facts.original)
    order = sorted(group, key=lambda name: name != wanted)
    classes: list[_Class] = []
    for name in order:
        bit = live.mask((name,))
        for found in classes[:_TRIED]:
            apart = conflicts[name] & found.mask or found.conflicts & bit
            if not apart and _may_meet(name, found.members, function):
                break
        else:
            found = _Class([])
            classes.append(found)
        found.members.append(name)
        found.mask |= bit
        found.conflicts |= conflicts[name]
    return {name: found.members[0] for found in classes for name in found.members[1:]}


@dataclass
class _Class:
    """Names that will be one: the mask of them, and of the names that live while they are bound."""

    members: list[str]
    mask: int = 0
    conflicts: int = 0


def _may_meet(name: str, members: list[str], function: ir.Function) -> bool:
    """A parameter keeps its name, so two of them never meet."""
    params = function.param_names
    return name not in params or not any(m in params for m in members)


def _renamed(function: ir.Function, renaming: Mapping[str, str]) -> ir.Function:
    values: dict[str, ir.Expr] = {old: ir.Var(new) for old, new in renaming.items()}

    def one(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if any(name in renaming for name in ir.binds(stmt)):
            stmt = ir.map_statement(
                stmt, target=lambda t: ir.map_target(t, lambda n: renaming.get(n, n))
            )
        if isinstance(stmt, ir.Assign) and stmt.value == _target_var(stmt.target):
            return ()
        return (stmt,)

    body = ir.rewrite(function.body, expression=lambda e: ir.substitute(e, values), after=one)
    return ir.with_body(function, body)


def _target_var(target: ir.Target) -> ir.Expr | None:
    return ir.Var(target) if isinstance(target, str) else None


def _facts_after(facts: Facts, renaming: Mapping[str, str]) -> Facts:
    """Facts of a merged name are what is true of all its parts."""
    kinds, behind = dict(facts.kinds), dict(facts.behind)
    floating, temporaries = set(facts.floating), set(facts.temporaries)
    for old, new in renaming.items():
        if new in kinds or facts.kind(old).is_iterator:
            kinds[new] = kinds.get(new, UNKNOWN).join(facts.kind(old))
        if new in behind:
            behind[new] = behind[new].join(facts.behind.get(old, UNKNOWN))
        if old not in floating:
            floating.discard(new)
        if old not in temporaries:
            temporaries.discard(new)
    # What statements do rests on the forms of names, and on which hold floats: not on shapes.
    joined = replace(facts, kinds=kinds, behind=behind, floating=frozenset(floating))
    same = floating == facts.floating and all(
        joined.kind_behind(name).form == facts.kind_behind(name).form for name in renaming.values()
    )
    cache = of_statements(facts) if same else {}
    return replace(joined, temporaries=frozenset(temporaries), cache=cache, manager=Manager())


def of_statements(facts: Facts) -> dict[Any, tuple[Any, Any]]:
    """What was worked out of single statements, not of a whole program."""
    return {k: v for k, v in facts.cache.items() if isinstance(v[1], _OF_STATEMENTS)}


_OF_STATEMENTS = (Effect, Profile, tuple)  # what the cache holds of them, and of operations


# --------------------------------------------------------------------------------------------------
# Names without numbers that nothing asks for: the last thing done to a finished function.
#
# The adjoint of `u`, of which lowering made `u` and `u2`, is called `u2_bar`; and `product3` may be
# the only product that is left. Where the shorter name is free, a person would use it.


_DERIVED = re.compile(r"(?P<root>.+?)(?P<end>_(?:bar|dot|saved|seed))(?P<number>\d*)")
_DIGIT = re.compile(r"\d")
_NUMBERED = re.compile(r"(?P<stem>.*[^\d_])(?P<number>\d+)")


def plainly_named(
    functions: Sequence[ir.Function], facts: Mapping[str, Facts]
) -> tuple[tuple[ir.Function, ...], dict[str, Facts]]:
    """The functions of a module, their own names with the lowest numbers that are free; and what
    is known of them by these names. What stands in a tape has one name in both functions of a
    pair, so it keeps that.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program("u2_bar = 2.0 * u; product3_bar = u2_bar * k; return product3_bar"))
    >>> facts = Facts(original={"u2": "u"}, temporaries=frozenset(["product3"]))
    >>> print(show(plainly_named((f,), {f.name: facts})[0][0].body))
    u_bar = 2.0 * u
    product_bar = u_bar * k
    return product_bar
    """
    taped = [unpacked_names(f) or () for f in functions]
    for at, names in enumerate(taped[1:]):
        if names:
            taped[at] = (*taped[at], *(taped_names(functions[at]) or ()))
    made, known = [], dict(facts)
    for function, names in zip(functions, taped, strict=True):
        about = facts.get(function.name, Facts())  # (nothing of what is fused out of others)
        new = _lower_numbers(function, about, frozenset(names))
        made.append(_respelled(function, new))
        if new:
            known[function.name] = _known_by(new, about)
    return tuple(made), known


def _known_by(new: Mapping[str, str], facts: Facts) -> Facts:
    """What is known of names, by their new names (which others had that are no more)."""
    given = frozenset(new.values())

    def by_new_names(kinds: Mapping[str, Kind]) -> dict[str, Kind]:
        found = {name: kind for name, kind in kinds.items() if name not in given}
        found.update((new[name], kind) for name, kind in kinds.items() if name in new)
        return found

    def named(names: frozenset[str]) -> frozenset[str]:
        return (names - given - new.keys()).union(new[name] for name in new if name in names)

    kinds, behind = by_new_names(facts.kinds), by_new_names(facts.behind)
    return replace(
        facts,
        kinds=kinds,
        behind=behind,
        floating=named(facts.floating),
        temporaries=named(facts.temporaries),
        cache={},
        manager=Manager(),
    )


def _respelled(function: ir.Function, new: Mapping[str, str]) -> ir.Function:
    values: dict[str, ir.Expr] = {old: ir.Var(name) for old, name in new.items()}
    return ir.with_body(function, ir.renamed(function.body, values)) if new else function


def _lower_numbers(
    function: ir.Function, facts: Facts, kept: frozenset[str | None]
) -> dict[str, str]:
    """The new names of those that get one."""
    fixed = frozenset(_parts(name)[0] for name in kept if name is not None)
    families: dict[str, list[tuple[str, str]]] = {}
    for name in dict.fromkeys(_own_names(function)):
        root, end = _parts(name)
        if root not in fixed:
            families.setdefault(root, []).append((name, end))
    members = list(itertools.chain.from_iterable(families.values()))
    if not any(_DIGIT.search(name) for name, _ in members):
        return {}
    roots = fixed.union(_parts(name)[0] for name in (*families, *function.param_names))
    free = _Free(names_of(function), roots, facts)
    for root, family in families.items():
        free.give_shorter(root, family)
    for name, _ in members:
        derived = _DERIVED.fullmatch(free.new.get(name, name))
        if derived and derived["number"]:
            free.give([name], [derived["root"] + derived["end"]])
    return free.new


class _Free:
    """Names that are free, and what is given for which. `roots` are those that names have."""

    def __init__(self, taken: Names, roots: frozenset[str], facts: Facts) -> None:
        self.taken = taken
        self.roots = roots
        self.facts = facts
        self.new: dict[str, str] = {}
        self.tried: dict[tuple[str, ...], int] = {}  # stem, ends -> the next number

    def give_shorter(self, root: str, family: list[tuple[str, str]]) -> None:
        """What a name, and what is derived from it, might be called: the user's name, or a
        temporary's with a lower number that no other one has. (What was not free stays so.)"""
        names, ends = [name for name, _ in family], [end for _, end in family]
        original = self.facts.original.get(root)
        if original is not None:
            if root not in self.taken or original not in self.taken:
                self.give(names, [original + end for end in ends])
            return
        numbered = _NUMBERED.fullmatch(root)
        if numbered is None or root not in self.facts.temporaries:
            return
        key = (numbered["stem"], *ends)
        for number in range(self.tried.get(key, 1), max(2, int(numbered["number"]))):
            self.tried[key] = number + 1
            shorter = numbered["stem"] + (str(number) if number > 1 else "")
            if shorter not in self.roots and self.give(names, [shorter + end for end in ends]):
                return

    def give(self, names: list[str], new: list[str]) -> bool:
        """All of these new names, if they are free."""
        if any(name in self.taken for name in new):
            return False
        self.taken.take(new)
        self.new.update(zip(names, new, strict=True))
        return True


def _parts(name: str) -> tuple[str, str]:
    """`u2` and `_bar` of `u2_bar`."""
    derived = _DERIVED.fullmatch(name)
    return (derived["root"], name[derived.end("root") :]) if derived else (name, "")


def _own_names(function: ir.Function) -> Iterator[str]:
    """The names that a function binds, but for those that inner functions and text may read."""
    stmts = list(ir.statements(function.body))
    kept = {*function.param_names, *function.free}
    for stmt in stmts:
        if isinstance(stmt, ir.OpaqueStmt):
            return
        for part in ir.walk_statement(stmt):
            if isinstance(part, ir.Opaque):
                kept |= ir.names_in(part)
    for stmt in stmts:
        yield from (name for name in ir.binds(stmt) if name not in kept)
