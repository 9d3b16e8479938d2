"""Names without numbers that nothing asks for: the last thing done to a finished function.

The adjoint of `u`, of which lowering made `u` and `u2`, is called `u2_bar`; and `product3` may be
the only product that is left. Where the shorter name is free, a person would use it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ... import ir
from ...frontend.naming import names_of
from ...ir.facts import Facts as Manager
from ...ir.names import Names
from .facts import Facts
from .stacks import taped_names, unpacked_names

_DERIVED = re.compile(r"(?P<root>.+?)(?P<end>_(?:bar|dot|saved|seed))(?P<number>\d*)")
_DIGIT = re.compile(r"\d")
_NUMBERED = re.compile(r"(?P<stem>.*[^\d_])(?P<number>\d+)")


def plainly_named(
    functions: Sequence[ir.Function], facts: Mapping[str, Facts]
) -> tuple[tuple[ir.Function, ...], dict[str, Facts]]:
    """The functions of a module, their own names with the lowest numbers that are free; and what
    is known of them by these names. What stands in a tape has one name in both functions of a
    pair, so it keeps that."""
    taped = [unpacked_names(f) or () for f in functions]
    for at, names in enumerate(taped[1:]):
        if names:
            taped[at] = (*taped[at], *(taped_names(functions[at]) or ()))
    made, known = [], dict(facts)
    for function, names in zip(functions, taped, strict=True):
        about = facts.get(function.name, Facts())  # (nothing of what is fused out of others)
        new = _lower_numbers(function, about, frozenset(names))
        made.append(_renamed(function, new))
        if new:
            known[function.name] = _known_by(new, about)
    return tuple(made), known


def _known_by(new: Mapping[str, str], facts: Facts) -> Facts:
    """What is known of names, by their new names (which others had that are no more)."""
    given = frozenset(new.values())
    kinds = {name: kind for name, kind in facts.kinds.items() if name not in given}
    kinds.update((new[name], kind) for name, kind in facts.kinds.items() if name in new)
    floating = (facts.floating - given - new.keys()).union(
        new[name] for name in new if name in facts.floating
    )
    return replace(facts, kinds=kinds, floating=floating, cache={}, manager=Manager())


def renumbered(
    function: ir.Function, facts: Facts, kept: frozenset[str | None] = frozenset()
) -> ir.Function:
    """A function with lower numbers in its own names, but for those that are `kept`.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .rewriting import derived
    >>> f = derived(program("u2_bar = 2.0 * u; product3_bar = u2_bar * k; return product3_bar"))
    >>> facts = Facts(original={"u2": "u"}, temporaries=frozenset(["product3"]))
    >>> print(show(renumbered(f, facts).body))
    u_bar = 2.0 * u
    product_bar = u_bar * k
    return product_bar
    """
    return _renamed(function, _lower_numbers(function, facts, kept))


def _renamed(function: ir.Function, new: Mapping[str, str]) -> ir.Function:
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
