"""Integers that are linear in loop variables and sizes, and proofs that they are not negative."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class Affine:
    """`constant + sum of coefficient * variable`; variables are names.

    >>> print(Affine.of("n") - Affine.of("i").shifted(1))
    n - i - 1
    """

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()  # sorted by name, no zero among them

    @staticmethod
    def of(name: str) -> Affine:
        return Affine(0, ((name, 1),))

    def shifted(self, by: int) -> Affine:
        return Affine(self.constant + by, self.terms)

    def times(self, factor: int) -> Affine:
        if factor == 0:
            return Affine()
        return Affine(self.constant * factor, tuple((n, c * factor) for n, c in self.terms))

    def __add__(self, other: Affine) -> Affine:
        total = dict(self.terms)
        for name, coefficient in other.terms:
            total[name] = total.get(name, 0) + coefficient
        kept = sorted((n, c) for n, c in total.items() if c)
        return Affine(self.constant + other.constant, tuple(kept))

    def __sub__(self, other: Affine) -> Affine:
        return self + other.times(-1)

    def coefficient(self, name: str) -> int:
        return dict(self.terms).get(name, 0)

    def replaced(self, name: str, value: Affine) -> Affine:
        """The same with a value in place of a variable."""
        factor = self.coefficient(name)
        return self - Affine.of(name).times(factor) + value.times(factor)

    def renamed(self, names: Mapping[str, str]) -> Affine:
        return Affine(self.constant, tuple(sorted((names.get(n, n), c) for n, c in self.terms)))

    def __str__(self) -> str:
        parts = [(c, n if abs(c) == 1 else f"{abs(c)} * {n}") for n, c in self.terms]
        parts.sort(key=lambda part: -part[0])
        if self.constant or not parts:
            parts.append((self.constant, str(abs(self.constant))))
        text = " ".join(f"{'-' if c < 0 else '+'} {shown}" for c, shown in parts)
        return text.removeprefix("+ ")


class Bounds(NamedTuple):
    """What a variable is at least, and what it is at most: each of several."""

    least: tuple[Affine, ...] = ()
    most: tuple[Affine, ...] = ()


@dataclass
class Inequalities:
    """Bounds of variables, by name; `sizes` are names of what is never negative.

    >>> i, j, n = map(Affine.of, "ijn")
    >>> known = Inequalities({"j": Bounds((Affine(),), (i.shifted(-1),))})  # j in range(i)
    >>> known.proves(i - j.shifted(1)), known.proves(j.shifted(-1))
    (True, False)
    """

    bounds: dict[str, Bounds] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()

    def proves(self, value: Affine, done: frozenset[str] = frozenset()) -> bool:
        """Whether a value is surely not negative: variables are replaced by their bounds, each
        once, until only sizes are left."""
        if all(c > 0 and n in self.sizes for n, c in value.terms):
            return value.constant >= 0
        for name, coefficient in value.terms:
            if name in self.bounds and name not in done:
                bounds = self.bounds[name]
                options = bounds.least if coefficient > 0 else bounds.most
                if any(self.proves(value.replaced(name, b), done | {name}) for b in options):
                    return True
        return False
