"""Derivatives called in turn with arguments of several types, in shuffled order.

A derivative has a version for each form of its arguments, and a version made for other types must
never serve a call. A program here is `program(p, q, r, flag)`: `p` and `q` are numbers, arrays of
rank 0 to 2, with axes of length 1, lists, tuples, deques, dicts, objects of two classes, None, vectors as
arrays, lists or tuples, beside arrays and numbers outside; the text asks what it got, by `is None`,
`isinstance`, `ndim`, `len`, `flag`, or leaves that to what it calls.

    python -m tests.generator --features versions --count 200 --seed 0
"""

from __future__ import annotations

import copy
import functools
import sys
import traceback
from collections import Counter, deque
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tangentlike as tl
from tangentlike.runtime import NotDifferentiated
from tests import agreement

PRELUDE = """
WEIGHTS = np.array([0.5, -1.5, 2.0])
TABLE = {"w": np.array([1.5, 0.5, -0.5]), "count": 2}


class Plain:
    def __init__(self, w, c):
        self.w = w
        self.c = c

    def value(self, z):
        return np.sum(np.tanh(self.w * 0.5) * z) * self.c


class Other:
    scale = 0.3

    def __init__(self, w, c):
        self.w = w
        self.c = c

    def value(self, z):
        return np.sum(np.sin(self.w) * self.scale + z * 0.5)


def folded(self, z, c=0.2):
    return np.sum(np.cos(self.w) * z) * c


def lifted(p):
    return np.sum(np.cos(p)) * 0.4


def mixed(p, q, c=None):
    if c is None:
        return np.sin(p) * q
    return np.sin(p) * q + c


def level(p):
    if np.ndim(p) == 0:
        return np.tanh(p)
    if np.ndim(p) == 1:
        return np.sum(p * p) * 0.2
    return np.sum(np.sin(p), axis=0)


def weighed(items, c):
    total = 0.0
    for k, item in enumerate(items):
        total = total + np.sum(item * c) * (k + 1)
    return total


def scaled(c, how="by"):
    def inside(z):
        return z * c if how == "by" else np.sin(z) * c

    return inside


def beside(p, q):
    return p * WEIGHTS + q * TABLE["w"]


def keep(items, v):
    items.append(v)


def grown(p, steps):
    if steps == 0:
        return p
    return np.sin(grown(p * 0.7, steps - 1)) + 0.1 * p
"""

# What is added to `y`, by the sorts of the arguments that it reads: A any array or number, L a list
# or tuple of those, Q a deque of those, full or not, V three numbers as an array, a list or a tuple, O
# an object, N None or a number or array.
PHRASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("AA", ("y = y + np.sum(np.tanh({0} + {1}) * {0})",)),
    ("AA", ("z = {0} * {1}", "y = y + np.sum(z * z) * 0.2")),
    ("AA", ("z = np.zeros(np.broadcast({0}, {1}).shape)", "z += {0}", "z *= np.cos({1})")),
    ("AA", ("y = y + np.sum(np.where({0} > {1}, {0} * 0.5, {1}))",)),
    ("AA", ("y = y + np.sum(np.maximum({0}, {1} * 0.9))",)),
    ("AA", ("y = y + np.sum(mixed({0}, {1}))", "y = y + np.mean(mixed({1}, 0.4, {0}))")),
    ("AA", ("u, v = ({0}, {1}) if flag else ({1}, {0})", "y = y + np.sum(np.sin(u)) + np.mean(v)")),
    ("AA", ("u = [{0}, {1}]", "u[0] = u[0] * 0.5", "y = y + weighed(u, 0.3)")),
    ("AA", ("u = {0} / (2.0 + {1} ** 2)", "y = y + np.sum(u - np.mean(u))")),
    ("AA", ("y = y + np.sum(np.arctan2({0}, 2.0 + np.cos({1})))",)),
    ("A", ("y = y + np.sum(level({0}))",)),
    ("A", ("if np.ndim({0}) > 0:", "    y = y + {0}.ravel()[0]", "else:", "    y = y + {0} ** 3")),
    ("A", ("y = y + np.sum(grown({0}, int(flag) + 1)) * 0.3",)),
    ("A", ("z = np.array({0}, dtype=float)", "z[...] *= 0.5", "y = y + np.sum(z * {0})")),
    ("A", ("z = np.asarray({0} * 1.0)", "z = z.reshape(-1)", "y = y + z[0] * z[-1]")),
    (
        "A",
        ("if flag:", "    y = y + np.sum({0} * 0.5)", "else:", "    y = y + np.sum(np.sin({0}))"),
    ),
    ("A", ("z = np.atleast_2d({0} * 0.5)", "y = y + np.sum(z @ z.T) * 0.1")),
    ("A", ("for k in range(2 + flag):", "    {0} = np.cos({0}) * 0.9", "y = y + np.sum({0})")),
    (
        "A",
        (
            "if isinstance({0}, float):",
            "    y = y + {0} * 0.3",
            "else:",
            "    y = y + np.mean({0})",
        ),
    ),
    ("A", ("z = np.sum({0}, axis=0) if np.ndim({0}) else {0}", "y = y + np.sum(np.sin(z))")),
    ("A", ("z = np.atleast_1d({0})", "y = y + sum(np.sum(e * e) for e in z) * 0.2")),
    (
        "AA",
        ("z = np.atleast_1d(np.outer({0}, {1}))", "z[0] = z[-1] * 0.5", "y = y + np.sum(z) * 0.2"),
    ),
    ("L", ("y = y + weighed({0}, 0.4)",)),
    ("L", ("y = y + np.sum({0}[0]) * np.mean({0}[-1])",)),
    ("L", ("z = list({0})", "z[0] = z[0] * 0.5", "z.append(z[0])", "y = y + weighed(z, 0.2)")),
    ("L", ("u, *v = {0}", "y = y + np.sum(np.sin(u)) + sum(np.sum(e) for e in v) * 0.3")),
    ("L", ("for e in {0}:", "    y = y * 0.5 + np.sum(np.tanh(e))")),
    ("L", ("if len({0}) > 1:", "    y = y + np.sum({0}[0] * {0}[1])")),
    ("L", ("z = [e * 0.5 for e in {0} if np.ndim(e) > 0]", "y = y + weighed(z, 0.7)")),
    (
        "L",
        (
            "z = {{k: e for k, e in enumerate({0})}}",
            "y = y + sum(np.sum(e) * k for k, e in z.items())",
        ),
    ),
    ("V", ("y = y + np.sum(np.sin(WEIGHTS * {0}))",)),
    ("V", ("z = {0} + WEIGHTS", "y = y + np.sum(z * z) * 0.2")),
    ("V", ("y = y + np.sum((TABLE['w'] - {0}) * 0.5 * WEIGHTS)",)),
    ("V", ("z = {0} * TABLE['count']", "y = y + np.sum(z[:3]) * z[1]")),
    ("V", ("{0} = {0} * WEIGHTS", "y = y + np.sum({0}) * 0.2")),
    ("VA", ("z = {0} * TABLE['w']", "y = y + np.sum(np.cos(z) * {1}) * 0.3")),
    ("VA", ("z = {0} * np.mean({1})", "y = y + np.sum(z * {0})")),
    ("VV", ("z = {0} + {1}", "y = y + np.sum(np.sin(z[:3])) * 0.4")),
    ("VV", ("y = y + np.sum(np.tanh(beside({0}, {1})))",)),
    ("LA", ("y = y + weighed({0}, np.mean({1}))",)),
    ("LA", ("y = y + sum(np.sum(mixed(e, {1} * 0.5)) for e in {0} if np.ndim(e) == 0)",)),
    ("O", ("y = y + {0}.value(0.7)",)),
    ("O", ("y = y + np.sum({0}.w) * {0}.c",)),
    ("O", ("z = copy.copy({0})", "z.w = z.w * 0.5", "y = y + z.value(0.3) + np.sum({0}.w)")),
    ("O", ("{0}.c = {0}.c * 0.5", "y = y + {0}.value({0}.c)")),
    ("O", ("if isinstance({0}, Plain):", "    y = y + np.sum({0}.w) ** 2")),
    ("OA", ("y = y + np.sum({0}.value(np.mean({1})) * {1})",)),
    # functions, as arguments
    ("FA", ("y = y + np.sum({0}({1}) * {1})",)),
    ("FA", ("y = y + np.sum({0}({0}({1}) * 0.5))",)),
    ("FA", ("z = [{0}(e) for e in np.atleast_1d({1})]", "y = y + np.sum(z[0]) + np.sum(z[-1])")),
    # dicts
    ("D", ("for k, e in {0}.items():", "    y = y + np.sum(e * e) * (2 if k == 'u' else 1)")),
    ("D", ("if 'w' in {0}:", "    y = y + np.sum(np.sin({0}['w']))")),
    ("D", ("y = y + np.sum({0}.get('u', 0.3) * 0.5)",)),
    (
        "D",
        (
            "z = dict({0})",
            "z['v'] = 0.5 * sum(np.sum(e) for e in z.values())",
            "y = y + z['v'] ** 2",
        ),
    ),
    ("DA", ("{0}['u'] = {1} * 0.5", "y = y + sum(np.sum(e * e) for e in {0}.values())")),
    # writes in place
    (
        "AA",
        (
            "z = np.zeros(np.broadcast({0}, {1}).shape)",
            "z += {0}",
            "np.multiply(z, {1}, out=z)",
            "y = y + np.sum(z * z)",
        ),
    ),
    (
        "A",
        (
            "z = np.atleast_1d({0} * 1.0)",
            "z[z > 0.1] *= 0.5",
            "z[0] += y",
            "y = np.sum(z) + y * 0.3",
        ),
    ),
    (
        "A",
        (
            "if isinstance({0}, np.ndarray) and {0}.ndim:",
            "    {0}[0] = {0}[-1] * 0.5",
            "y = y + np.sum({0})",
        ),
    ),
    ("L", ("for e in {0}:", "    if np.ndim(e):", "        e *= 0.5", "y = y + weighed({0}, 0.3)")),
    # deques, of which one that is full loses an item where it gets one
    ("Q", ("y = y + weighed({0}, 0.4)", "{0}.append({0}[0] * 0.5)", "y = y + np.sum({0}[0])")),
    ("Q", ("{0}.appendleft(np.sum({0}[-1]))", "y = y + weighed({0}, 0.3) * 0.5")),
    ("Q", ("u, v = {0}.popleft(), {0}.pop()", "{0}.append(u * v)", "y = y + np.sum({0}[0])")),
    ("Q", ("{0}.rotate(1)", "{0}[0] = {0}[0] * 0.5", "y = y + np.sum({0}[0] * {0}[1])")),
    ("Q", ("z = {0}.copy()", "z.extend([y * 0.5, {0}[0]])", "y = y + weighed(z, 0.2)")),
    ("Q", ("for e in {0}:", "    y = y * 0.5 + np.sum(np.tanh(e))")),
    ("QA", ("keep({0}, {1} * 0.5)", "y = y + np.sum({0}[0] * {0}[-1]) * len({0})")),
    ("QA", ("z = [{0}, 0.3]", "z[0].append({1} * {0}[0])", "y = y + np.sum({0}[0]) * z[1]")),
    ("N", ("if {0} is not None:", "    y = y + np.sum(np.sin({0}))")),
    ("N", ("z = 0.5 if {0} is None else {0}", "y = y + np.mean(z * z)")),
    ("N", ("y = y + np.sum(mixed(0.3, 0.7, {0}))",)),
    ("NA", ("y = y + np.sum(mixed({1}, 0.7, {0}))",)),
    ("NA", ("y = y + np.sum(np.clip({1}, {0}, 0.9))", "y = y + np.sum(np.clip({1}, -0.9, {0}))")),
    ("NA", ("if {0} is None:", "    {0} = np.mean({1})", "y = y + np.sum({0}) * 0.4")),
)

SHAPES = ((), (1,), (3,), (1, 1), (1, 3), (2, 1), (2, 3))


def array(r: Random, rng: np.random.Generator) -> Any:
    """A number or an array, whose shape broadcasts against any other's."""
    kind = r.randrange(6)
    if kind < 2:
        return float(rng.uniform(-1, 1))
    if kind == 2 and r.random() < 0.3:
        return np.float64(rng.uniform(-1, 1))
    return rng.uniform(-1, 1, r.choice(SHAPES))


def argument(sort: str, r: Random, rng: np.random.Generator, box: dict[str, Any]) -> Any:
    """An argument of a random type of the sort."""
    if sort == "L":
        items = [array(r, rng) for _ in range(r.randint(1, 3))]
        return r.choice([list, tuple])(items)
    if sort == "Q":
        return deque([array(r, rng) for _ in range(2)], r.choice([2, 3, None]))
    if sort == "V":
        return r.choice([list, tuple, np.array])(rng.uniform(-1, 1, 3).tolist())
    if sort == "D":
        return {k: array(r, rng) for k in r.sample("uwz", r.randint(1, 3))}
    if sort == "F":
        c, scaled = float(rng.uniform(-1, 1)), box["scaled"]
        given = [np.sin, np.tanh, scaled(c), scaled(0.5, "in"), functools.partial(np.multiply, c)]
        return r.choice([*given, box["Plain"](c, 0.5).value, box["Other"](c, 0.5).value])
    if sort == "O":
        return box[r.choice(["Plain", "Other"])](array(r, rng), float(rng.uniform(-1, 1)))
    if sort == "N" and r.random() < 0.4:
        return None
    if sort == "I":
        return r.choice([True, False, 0, 2])
    return array(r, rng)


def program(seed: int) -> tuple[str, str]:
    """The text of a program, and the sorts of its arguments."""
    r = Random(seed)
    names = r.sample("AAALNODFVVQ", 3)
    lines = []
    for _ in range(r.randint(2, 4)):
        fits = [(s, t) for s, t in PHRASES if all(names.count(x) >= s.count(x) for x in s)]
        sorts, texts = r.choice(fits)
        free = r.sample(list(zip("pqr", names, strict=True)), 3)
        chosen = [free.pop([s for _, s in free].index(x))[0] for x in sorts]
        lines += [text.format(*chosen) for text in texts]
        if r.random() < 0.2:
            lines += ["if not flag:", f"    return y * 0.5 + {r.choice('123')}.0"]
    body = "".join(f"    {line}\n" for line in ["y = 0.0", *lines, "return y"])
    return f"import copy\n{PRELUDE}\n\ndef program(p, q, r, flag=True):\n{body}", "".join(names)


def change(box: dict[str, Any], r: Random) -> None:
    """Patches a method, replaces a default or the code of a function, or binds its name anew."""
    which = r.randrange(7)
    if which == 0:
        box[r.choice(["Plain", "Other"])].value = box["folded"]
    elif which == 1:
        box["folded"].__defaults__ = (r.choice([0.3, np.array([0.1]), 2]),)
    elif which == 2:
        box["mixed"].__defaults__ = (r.choice([None, 0.4, np.array([[0.2]])]),)
    elif which == 3:
        box["level"].__code__ = box["lifted"].__code__
    elif which == 4:
        box["WEIGHTS"] = r.choice([np.array([0.2, 1.1, -0.3]), np.float64(0.7), 3])
    elif which == 5:
        box["TABLE"]["w"] = r.choice([np.array([0.9, 0.1, 0.4]), np.ones((2, 3)), 2])
    else:
        box["level"] = box["lifted"]


def check_versions(seed: int, calls: int = 6) -> str:
    """One derivative of each mode called in turn with arguments of several types, what it calls
    changed in between, also from one mode to the next, each call compared with differences:
    "agree", "refused" or "skipped".

    Raises AssertionError with the program where a call disagrees, or anything but a refusal goes
    wrong.
    """
    from tests.generator import loaded

    text, sorts = program(seed)
    box = loaded(text, f"versions {seed}", {"np": np, "__name__": "generated_program"})
    r, rng = Random(seed + 1), np.random.default_rng(seed)
    settings = [tuple(argument(s, r, rng, box) for s in (*sorts, "I")) for _ in range(calls)]
    outcomes = set()
    for args in [*settings, *r.sample(settings, 2)]:
        if r.random() < 0.2:
            change(box, r)
        active = [k for k in range(3) if holds_number(args[k])]
        directions = agreement.directions_for(args, active, 5)
        expected = slope_of(box["program"], args, directions) if active else None
        if expected is None:
            continue
        ways = WAYS if r.random() < 0.3 else WAYS[:2]
        for way in ways:
            if r.random() < 0.1:
                change(box, r)
                expected = slope_of(box["program"], args, directions)
            if expected is None:
                break
            shown = f"{way.__name__} of versions {seed}: {args}\n--- program\n{text}"
            outcomes.add(called(way, box["program"], args, active, directions, expected, shown))
    return next((o for o in ("refused", "agree") if o in outcomes), "skipped")


def slope_of(f: Any, args: Any, directions: Any) -> float | None:
    """The slope by differences; None at kinks and where the program itself fails."""
    try:
        slopes = [agreement.slope(f, args, directions, h) for h in (1e-4, 2e-5)]
    except Exception:
        return None
    return slopes[0] if agreement.close(slopes[0], slopes[1], 2e-6) else None


def called(way: Any, f: Any, args: Any, active: Any, along: Any, expected: Any, shown: str) -> str:
    """What came of one call."""
    from tests.generator import is_refusal

    given = copy.deepcopy(args)
    before = copy.deepcopy(given)
    try:
        got, wanted = way(f, given, active, along, expected)
    except (Exception, NotDifferentiated) as error:
        if not is_refusal(error):
            trace = "".join(traceback.format_exception(error, limit=-3, chain=False))
            raise AssertionError(f"{trace}\n{shown}") from None
        if REASONS is not None:
            REASONS[f"{way.__name__}: {str(error).splitlines()[0]}"] += 1
        return "refused"
    if wanted is None:
        return "skipped"
    if not agreement.close(got, wanted, 1e-5):
        raise AssertionError(f"{got} != {wanted}\n{shown}")
    data = [k for k in range(3) if not callable(args[k])]
    if not all(agreement.same_bits(given[k], before[k]) for k in data):
        raise AssertionError(f"an argument was changed\n{shown}")
    return "agree"


REASONS: Counter[str] | None = None  # of refusals, counted when asked for


def holds_number(x: Any) -> bool:
    """Whether an argument has a part that carries derivatives."""
    found: list[bool] = []
    agreement.map_leaves(lambda leaf: found.append(True), x)
    return bool(found)


def in_reverse(f: Any, args: Any, active: Any, along: Any, expected: float) -> Any:
    bars = tl.grad(f, wrt=tuple(active))(*args)
    return total(along, active, bars), expected


def in_forward(f: Any, args: Any, active: Any, along: Any, expected: float) -> Any:
    return float(tl.jvp(f, args, tuple(along))[1]), expected


def over_reverse(f: Any, args: Any, active: Any, along: Any, expected: float) -> Any:
    """The second derivative along the direction, and what it should be."""
    gradient = tl.grad(f, wrt=tuple(active))
    wanted = slope_of(lambda *xs: total(along, active, gradient(*xs)), args, along)
    _, changes = tl.jvp(gradient, args, tuple(along))
    return total(along, active, changes), wanted


def total(along: Any, active: Any, bars: Any) -> float:
    """The inner product of the direction and an adjoint for each active argument."""
    return sum(agreement.inner(along[k], b) for k, b in zip(active, bars, strict=True))


WAYS = (in_reverse, in_forward, over_reverse)
