"""What generated programs are made of: names in scope, expressions by sort, helpers."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

N = 4  # entries of every vector, rows and columns of every matrix


@dataclass
class Scope:
    """The names surely bound at a place of the program, by sort."""

    vectors: list[str] = field(default_factory=lambda: ["a", "b"])
    matrices: list[str] = field(default_factory=lambda: ["m"])
    numbers: list[str] = field(default_factory=lambda: ["s", "t"])
    indices: list[str] = field(default_factory=list)

    spare: ClassVar[dict[str, list[str]]] = {
        "vectors": ["c", "d", "g"],
        "matrices": ["k"],
        "numbers": ["u", "w"],
    }

    def copy(self) -> Scope:
        return Scope(*map(list, (self.vectors, self.matrices, self.numbers, self.indices)))

    def common(self, other: Scope) -> Scope:
        """The names bound on both ways."""
        mine = (self.vectors, self.matrices, self.numbers, self.indices)
        theirs = (other.vectors, other.matrices, other.numbers, other.indices)
        return Scope(*([n for n in x if n in y] for x, y in zip(mine, theirs, strict=True)))

    def union(self, other: Scope) -> Scope:
        """The names bound on one way, or on another that is taken as well."""
        mine = (self.vectors, self.matrices, self.numbers, self.indices)
        theirs = (other.vectors, other.matrices, other.numbers, other.indices)
        return Scope(
            *([*x, *(n for n in y if n not in x)] for x, y in zip(mine, theirs, strict=True))
        )

    def without(self, *names: str) -> Scope:
        """All but some names."""
        mine = (self.vectors, self.matrices, self.numbers, self.indices)
        return Scope(*([n for n in x if n not in names] for x in mine))

    def drop_suffix(self, suffix: str) -> None:
        """Forget the variables of a loop that has been left."""
        for sort in ("vectors", "matrices", "numbers"):
            kept = [n for n in getattr(self, sort) if not n.endswith(suffix)]
            setattr(self, sort, kept)


def index(r: Random, scope: Scope) -> str:
    """An integer that is in range for every vector."""
    choices = [str(r.randrange(4)), "-1"]
    if scope.indices:
        i = r.choice(scope.indices)
        choices += [i, i, f"({i} + 1) % 4"]
    return r.choice(choices)


def vector(r: Random, scope: Scope) -> str:
    """A fresh vector of bounded entries."""
    v, w = r.choice(scope.vectors), r.choice(scope.vectors)
    s, m = r.choice(scope.numbers), r.choice(scope.matrices)
    return r.choice(
        [
            f"np.sin({v})",
            f"np.tanh({v} * {w})",
            f"0.5 * ({v} + {w})",
            f"np.cos({v}) * {w}",
            f"np.tanh({m} @ {v})",
            f"np.sin({s}) * {v}",
            f"{v} * 0.7 - {s} * 0.2",
            f"np.where({v} > 0.1, {w}, 0.3 * {v})",
            f"np.maximum({v}, -0.4)",
            f"0.7 * {v}[::-1]",
            f"np.tanh(np.sum({m}[:, None] * {m}, axis=2).sum(axis=0)) * {w}",
            f"np.sin({m}[{index(r, scope)}])",
            f"{m}[:, {index(r, scope)}] * {v}[{index(r, scope)}] * 0.5",
            f"{v}[[3, 1, 1, 0]] * 0.6",
            f"np.sin({v}) if {condition(r, scope)} else 0.4 * {w}",
        ]
    )


def number(r: Random, scope: Scope) -> str:
    """A bounded number."""
    v, w = r.choice(scope.vectors), r.choice(scope.vectors)
    s, t, m = r.choice(scope.numbers), r.choice(scope.numbers), r.choice(scope.matrices)
    i, j = index(r, scope), index(r, scope)
    return r.choice(
        [
            f"np.tanh({v}[{i}])",
            f"{v}[{i}]",
            f"{v}[{i}] * np.sin({w}[{j}])",
            f"0.1 * np.sum({v})",
            f"np.sin({v} @ {w})",
            f"np.tanh({s} * {t})",
            f"0.5 * ({s} + {t})",
            f"np.cos({m}[{i}, {j}]) * {s}",
            f"np.mean({v}) * 0.6",
            "0.25",
        ]
    )


def matrix(r: Random, scope: Scope) -> str:
    """A fresh matrix of bounded entries."""
    m, k = r.choice(scope.matrices), r.choice(scope.matrices)
    v, w, s = r.choice(scope.vectors), r.choice(scope.vectors), r.choice(scope.numbers)
    return r.choice(
        [
            f"np.sin({m})",
            f"0.5 * ({m} + {k}.T)",
            f"0.4 * np.outer({v}, {w})",
            f"np.tanh({m} @ {k})",
            f"np.cos({m}) * {v}",
            f"np.tanh({m} * {s})",
            f"0.5 * ({v}[:, None] - {w})",
        ]
    )


def condition(r: Random, scope: Scope) -> str:
    """A test on values or on loop variables."""
    v, w = r.choice(scope.vectors), r.choice(scope.vectors)
    s, t = r.choice(scope.numbers), r.choice(scope.numbers)
    i, j = index(r, scope), index(r, scope)
    choices = [f"{s} > 0.1", f"{v}[{i}] > {w}[{j}] - 0.2", f"np.sum({v}) < {s}", f"{s} < {t}"]
    if scope.indices:
        n = r.choice(scope.indices)
        choices += [f"{n} % 2 == 0", f"{n} == 1", f"{n} > 0 and {s} < 0.6"]
    return r.choice(choices)


# name: (results <- parameters by sort, text); a "!" marks those that write or share memory
HELPERS: dict[str, tuple[str, str]] = {
    "blend": (
        "v <- v v n",
        """def blend(p, q, c=0.5):
    z = np.sin(p) * c
    if c > 0.0:
        z = z + 0.5 * q
    return z
""",
    ),
    "size": (
        "n <- v",
        """def size(p):
    z = 0.0
    for e in p:
        z = z * 0.5 + np.sin(e)
    return z
""",
    ),
    "both": (
        "v n <- v n",
        """def both(p, c):
    return np.tanh(p + c), p[0] * np.cos(c)
""",
    ),
    "mix": (
        "! <- v v",
        """def mix(p, q):
    p[0] = np.sin(q[1])
    p[1:] += 0.3 * q[:-1]
""",
    ),
    "twist": (
        "!v <- v n",
        """def twist(p, c):
    for k in range(2):
        p[k] = p[k + 1] * np.cos(c)
    return p
""",
    ),
    "choose": (
        "!v <- v v n",
        """def choose(p, q, c):
    if c > 0.2:
        return p
    q[0] = 0.5 * c
    return q
""",
    ),
    "last": (
        "!v <- m",
        """def last(h):
    return h[-1]
""",
    ),
    "damp": (
        "!n <- m v",
        """def damp(h, p):
    for row in h:
        row *= np.cos(p)
    return h[0, 1] * 0.5
""",
    ),
}
