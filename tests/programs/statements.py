"""`match`, `with`, `try`: the path that is taken is the path that is differentiated."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from .registry import Program, vector


@dataclass
class Dense:
    w: Any
    b: Any


class Scale(NamedTuple):
    c: float


class Depth:
    """Counts how deep it is entered, and how often."""

    def __init__(self) -> None:
        self.now = 0
        self.entered = 0

    def __enter__(self) -> int:
        self.now += 1
        self.entered += 1
        return self.now

    def __exit__(self, *error: object) -> bool:
        self.now -= 1
        return False


depth = Depth()


@contextlib.contextmanager
def section(label: str) -> Iterator[tuple[str, int]]:
    yield label, len(label)


# ------------------------------------------------------------------------------- match


def match_literals(x, kind):
    match kind:
        case "square":
            y = x * x
        case "cube" | "third":
            y = x * x * x
        case 0 | -1:
            y = np.sin(x)
        case None:
            y = x
        case _:
            y = np.exp(x)
    return np.sum(y * x)


def match_layers(x, w, spec):
    h = x
    for layer in spec:
        match layer:
            case ("scale", c) if c > 1.0:
                h = h * c
            case ("scale", c):
                h = h / c
            case {"kind": "shift", "by": by}:
                h = h + by * w
            case Dense(inner, bias):
                h = h * inner + bias * w
            case Scale(c=c):
                h = h * c
            case [first, *rest]:
                h = h + first * rest[-1] * w
            case float(v) | int(v):
                h = h - v
            case str() as name if name == "tanh":
                h = np.tanh(h)
            case None:
                pass
            case _:
                h = h * h
    return np.sum(h * h)


def match_captures_values(pair, other):
    match pair:
        case (a, b) if a > b:
            y = a * b
        case (a, b):
            y = a / b
    match other:
        case [p, *_, q]:
            y = y + p * q
    return y * a


def match_in_loop_with_jumps(x, codes):
    s = 0.0
    for v, code in zip(x, codes, strict=True):
        match code:
            case 0:
                continue
            case 1:
                s = s + v * v
            case 2:
                return s * v
            case _:
                break
    return s


# -------------------------------------------------------------------------------- with


def with_errstate(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sin(x) / x
    return np.sum(np.where(x == 0.0, 1.0, ratio))


def with_return_inside(x, limit):
    with np.errstate(over="ignore"):
        y = np.exp(x)
        if np.sum(y) > limit:
            return np.sum(y * y)
        y = y * x
    return np.sum(y)


def with_user_managers(x):
    s = 0.0
    for v in x:
        with depth as level, section("loop") as (label, size):
            if v > 10.0:
                break
            if label == "":
                continue
            s = s + v * v * level * size
    return s


# --------------------------------------------------------------------------------- try


def try_cholesky(a, b, jitter):
    a = a @ a.T + np.diag(b)
    try:
        c = np.linalg.cholesky(a)
    except LinAlgError:
        c = np.linalg.cholesky(a + jitter * np.eye(3))
    y = np.linalg.solve(c, b)
    return np.sum(y * y)


def try_until_it_works(a, jitter):
    a = a + a.T
    tries = 0
    while True:
        try:
            tries += 1
            c = np.linalg.cholesky(a + jitter * np.eye(3))
            break
        except LinAlgError:
            jitter = jitter * 2.0
    return np.sum(c * c * c) * tries


def try_division(x, d):
    try:
        y = x / d
    except ZeroDivisionError as error:
        print(error)
        y = x * 2.0
    except (TypeError, ValueError):
        raise
    else:
        y = y * 3.0
    finally:
        print("divided")
    return y * y


def checked_mean(x, n):
    if n == 0:
        raise ValueError("no items")
    return np.sum(x) / n


def try_calls_in_loop(x, sizes):
    s = 0.0
    for n in sizes:
        try:
            m = checked_mean(x, n)
        except ValueError:
            continue
        s = s + m * m
    return s


def try_in_finally(x):
    y = x
    try:
        y = y * x
        return np.sum(y * y)
    finally:
        print("left")


def try_lookup(x, table, key):
    try:
        w = table[key]
    except KeyError:
        w = table["default"]
    return np.sum(x * w) * w


def try_suppress(x, d):
    y = x * x
    with contextlib.suppress(ZeroDivisionError):
        y = x / d
    return y * x


def try_nested(x, d):
    try:
        try:
            y = x / d
        except TypeError:
            y = x
        z = y * y
    except ZeroDivisionError:
        z = x * x * x
    return z + x


def try_raise_own(x, limit):
    try:
        if np.sum(x) > limit:
            raise OverflowError("too large")
        y = np.sum(x * x)
    except OverflowError:
        y = np.sum(np.sqrt(x))
    return y


def _halved(v, c=0.5):
    return v * c * v


def printed_values(x, n):  # text carries no derivative, whatever it shows
    y = x[0] * x[1]
    label = f"{y:.2f} of {n}"
    print(label, f"{x[2]!r}")
    return y * len(label) + np.sum(x)


def try_call_of_item(x, limit):  # the tangent of the argument is needed within the body
    y = x[0] * x[1]
    try:
        w = _halved(x[-1])
        if y > limit:
            raise ValueError(limit)
    except ValueError:
        w = x[1]
    return y * w


def try_with_branches(x, parts):
    s = 0.0
    for p in parts:
        try:
            if p > 0:
                w = x * (1 // p)
            else:
                w = x * x * (1 // p)
            v = w * w
        except ZeroDivisionError:
            v = x
        s = s + np.sum(v * v)
    return s


_MATRIX = np.array([[0.9, 0.1, 0.3], [0.2, 1.1, -0.1], [0.4, 0.2, 0.8]])
_TABLE = {"a": 2.0, "default": 3.0}
_LAYERS = [
    ("scale", 2.0),
    ("scale", 0.5),
    {"kind": "shift", "by": 0.3},
    Dense(0.7, 0.2),
    Scale(1.5),
    [0.5, 1.0, 2.0],
    0.25,
    "tanh",
    None,
    "other",
]

_RECORDS = [
    {"kind": "scale", "by": 1.5, "options": {"shift": 0.2, "power": 3.0, "note": "odd"}},
    {"kind": "sum", "a": 0.5, "b": 0.25},
]


def match_rest_of_mappings(x, records):
    total = x[0]
    for record in records:
        match record:
            case {"kind": "scale", "options": {"shift": shift, **options}, **rest}:
                total = total * rest["by"] * len(options) + shift * x[1] ** options["power"]
            case {"kind": name, **parts}:
                for part in parts.values():
                    total = total + part**2 * len(name)
    return total


def match_of_written_out(x, y, kind):  # which items a capture is, is known
    match x, y, kind:
        case y, x, 0:
            return np.sum(x * y * y)
        case [first, *rest] if kind == 1:
            return np.sum(first * rest[0] ** 2) * len(rest)
        case [_]:
            return 0.0
        case a, b, (2 | 3):
            x = x * 2.0
            return np.sum(a * a * b)
    return np.sum(x - y)


PROGRAMS = (
    *(
        Program(
            match_of_written_out,
            lambda rng, k=k: (rng.uniform(0.2, 1, 3), rng.uniform(0.2, 1, 3), k),
            wrt=(0, 1),
            case=str(k),
        )
        for k in range(5)
    ),
    Program(match_rest_of_mappings, lambda rng: (rng.uniform(0.2, 1.0, 3), _RECORDS), wrt=(0, 1)),
    *(
        Program(match_literals, lambda rng, k=k: (rng.uniform(0.2, 1.0, 3), k), case=str(k))
        for k in ("square", "third", -1, None, "what")
    ),
    Program(match_layers, lambda rng: (*rng.uniform(0.2, 1.0, (2, 4)), _LAYERS), wrt=(0, 1)),
    Program(
        match_captures_values,
        lambda rng: (tuple(map(float, rng.uniform(0.5, 1.5, 2))), rng.uniform(0, 1, 3).tolist()),
        wrt=(0, 1),
    ),
    *(
        Program(match_in_loop_with_jumps, lambda rng, c=c: (rng.uniform(0.5, 1.5, 4), c), case=how)
        for how, c in (("end", (0, 1, 1, 0)), ("return", (1, 0, 2, 1)), ("break", (1, 1, 3, 1)))
    ),
    Program(with_errstate, lambda rng: (np.array([0.5, 0.1, -1.2]),)),
    *(
        Program(with_return_inside, lambda rng, n=n: (rng.uniform(0.2, 1.0, 3), n), case=f"{n:.0f}")
        for n in (0.0, 100.0)
    ),
    Program(with_user_managers, lambda rng: (np.array([0.3, 0.8, 11.0, 0.4]),)),
    *(
        Program(
            try_cholesky,
            lambda rng, s=s: (_MATRIX + 0.0, s * rng.uniform(0.1, 0.5, 3), 4.0),
            wrt=(0, 1, 2),
            case=how,
        )
        for how, s in (("fine", 1.0), ("caught", -3.0))
    ),
    Program(try_until_it_works, lambda rng: (_MATRIX - 1.2 * np.eye(3), 0.11), wrt=(0, 1)),
    *(Program(try_division, lambda rng, d=d: (1.3, d), case=f"{d:.0f}") for d in (0.0, 2.0)),
    Program(try_calls_in_loop, lambda rng: (rng.uniform(0.2, 1.0, 3), (2, 0, 3, 0))),
    Program(try_in_finally, vector(3)),
    *(
        Program(try_lookup, lambda rng, k=k: (rng.uniform(0, 1, 3), dict(_TABLE), k), case=k)
        for k in ("a", "b")
    ),
    *(Program(try_suppress, lambda rng, d=d: (1.3, d), case=f"{d:.0f}") for d in (0.0, 2.0)),
    *(Program(try_nested, lambda rng, d=d: (1.3, d), case=f"{d:.0f}") for d in (0.0, 2.0)),
    *(
        Program(try_raise_own, lambda rng, n=n: (rng.uniform(0.5, 1, 3), n), case=f"{n:.0f}")
        for n in (0.0, 9.0)
    ),
    *(
        Program(try_call_of_item, lambda rng, n=n: (rng.uniform(0.5, 1, 3), n), case=f"{n:.0f}")
        for n in (0.0, 2.0)
    ),
    Program(printed_values, lambda rng: (rng.uniform(0.5, 1, 3), 2)),
    Program(try_with_branches, lambda rng: (rng.uniform(0.2, 1.0, 3), (1, 0, -1, 2))),
)
