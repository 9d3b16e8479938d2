"""Random programs that alias, view, rebind and overwrite arrays, to hunt for wrong gradients.

A program is source text made from a seed: arrays `a`, `b` (vectors), `m` (a matrix), numbers
`s`, `t`, loops and branches to depth three, helpers that write or return their arguments. All
values stay bounded. Every name keeps its sort (vector, matrix, number), so programs run.

    python -m tests.generator --count 2000 --seed 0 --features inplace
"""

from __future__ import annotations

import argparse
import linecache
import re
import sys
import time
import traceback
import types
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import agreement
from tests.generator_language import LanguageWriter
from tests.generator_orders import SECOND_ORDER, expected_curvature
from tests.generator_text import N
from tests.generator_versions import check_versions
from tests.generator_versions import program as versions_program
from tests.generator_writer import Writer
from tests.reduction import reduce_program

FUNCTIONAL = frozenset({"loops", "branches", "calls", "jumps"})
FEATURES: dict[str, frozenset[str]] = {
    "straight": frozenset({"calls"}),
    "functional": FUNCTIONAL,
    "writes": FUNCTIONAL | {"writes"},
    "inplace": FUNCTIONAL | {"writes", "views", "calls that write"},
    "containers": FUNCTIONAL | {"writes", "views", "calls that write", "containers"},
    "language": FUNCTIONAL | {"language"},
    "modules": FUNCTIONAL | {"modules"},
    "unknown": FUNCTIONAL | {"writes", "unknown"},
    "taken": FUNCTIONAL | {"writes", "views", "taken"},
    "outputs": FUNCTIONAL | {"writes", "views", "outputs"},
    "complex": FUNCTIONAL | {"complex"},
    "inside": frozenset({"loops", "branches", "inside"}),
    "classes": FUNCTIONAL | {"writes", "classes"},
    "comprehensions": FUNCTIONAL | {"comprehensions"},
    "cut": FUNCTIONAL | {"writes", "cut"},
    "kept": FUNCTIONAL | {"writes", "views", "kept"},
    "changed": FUNCTIONAL | {"writes", "views", "changed"},
    "again": FUNCTIONAL | {"writes", "views", "calls that write", "again"},
    "handed": FUNCTIONAL | {"writes", "views", "handed"},
    "iterated": FUNCTIONAL | {"writes", "iterated"},
    "declined": frozenset({"loops", "writes", "declined"}),
    "everything": FUNCTIONAL | {"writes", "views", "calls that write", "containers", "language"},
}


REASONS: Counter[str] | None = None  # of refusals, counted when asked for


def generate(seed: int, features: str | frozenset[str] = "inplace") -> str:
    """The source of the program with this seed."""
    if features == "versions":
        return versions_program(seed)[0]
    chosen = FEATURES[features] if isinstance(features, str) else features
    writer = LanguageWriter if "language" in chosen else Writer
    return writer(seed, chosen).program()


def arguments(seed: int) -> tuple[Any, ...]:
    """Arguments for a generated program."""
    rng = np.random.default_rng(seed)
    m = rng.uniform(-1, 1, (N, N))
    return rng.uniform(-1, 1, N), rng.uniform(-1, 1, N), m, 0.37, float(rng.uniform(-1, 1))


def load(source: str, name: str = "generated") -> Callable[..., Any]:
    """Compile the source so that `inspect.getsource` finds it again."""
    namespace: dict[str, Any] = {"np": np, "__name__": "generated_program"}
    return loaded(source, name, namespace)["program"]


def loaded(source: str, name: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """The namespace after the source has run in it."""
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec", dont_inherit=True), namespace)
    return namespace


def check_program(
    source: str,
    args: tuple[Any, ...],
    name: str = "generated",
    order: int = 1,
    by_identity: bool = False,
    linearized: bool = False,
) -> str:
    """Compare both modes, reverse mode told the kinds of its arguments, and its text as shown, with
    central differences: "agree", "refused" or "skipped". At order 2, each mode over each mode;
    `by_identity`: reverse mode with the adjoints of memory by identity, needed or not;
    `linearized`: tangent maps, called twice.

    A text without types that gives NaN where the program overflows is passed over: it cannot know
    that an entry of an array of any rank is no view of it, so that nobody reads what overflows.

    Raises AssertionError with the program and the emitted source where they disagree, and
    where anything but a refusal goes wrong. Skipped are programs that fail by themselves or
    have a kink at the arguments.
    """
    import tangentlike as tl
    from tangentlike.runtime import NotDifferentiated

    f = load(source, name)
    wrt = tuple(range(len(args)))
    directions = agreement.directions_for(args, wrt, 5)
    expected = expected_slope(f, args, directions)
    if expected is None:
        return "skipped"
    ways: tuple[Callable[..., float], ...] = (identity_slope,) if by_identity else FIRST_ORDER
    ways = (linearized_slope,) if linearized else ways
    along: tuple[Any, ...] = (directions,)
    if order == 2:
        ways, along = SECOND_ORDER, (directions, agreement.directions_for(args, wrt, 6))
        try:
            expected = expected_curvature(f, args, *along)
        except (tl.UnsupportedError, RuntimeError, NotDifferentiated) as error:
            if not is_refusal(error):
                raise
            return "refused"
        if expected is None:
            return "skipped"
    outcomes = []
    for mode in ways:
        emitted: list[Any] = []
        try:
            before = tuple(np.copy(a) if isinstance(a, np.ndarray) else a for a in args)
            got = mode(f, args, wrt, *along, emitted)
            if mode is text_slope and np.isnan(got) and overflows(f, args):
                continue
            complaint = "" if agreement.close(got, expected, 1e-5) else f"{got} != {expected}"
            if not agreement.same_bits(args, before):
                complaint = "an argument was changed"
        except tl.UnsupportedError as error:
            if error.place is None or not error.hint:
                raise AssertionError(
                    f"{name}, {mode.__name__}: unclear: {error}\n{source}"
                ) from None
            outcomes.append("refused")
            if REASONS is not None:
                REASONS[f"{mode.__name__}: {re.sub('`[^`]*`', '`_`', error.message)}"] += 1
            continue
        except (RuntimeError, NotDifferentiated) as error:
            if not is_refusal(error):
                raise
            outcomes += ["refused"] * (DECLINED not in str(error))  # (a call finds another text)
            continue
        except Exception as error:
            complaint = "".join(traceback.format_exception(error, limit=-3, chain=False))
        if complaint:
            raise AssertionError(
                f"{name}, {mode.__name__}: {complaint}\n--- program\n{source}\n--- emitted\n"
                + "\n".join(map(shown, emitted))
            )
        outcomes.append("agree")
    return "refused" if "refused" in outcomes else "agree"


def overflows(f: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether an infinite value is made of finite ones on the way."""
    with np.errstate(all="ignore", over="raise"):
        try:
            agreement.call(f, args)
        except FloatingPointError:
            return True
    return False


DECLINED = "the text is for other arguments"


def is_refusal(error: Exception) -> bool:
    """Whether this is a refusal, also one that only the run can make."""
    import tangentlike as tl
    from tangentlike.runtime import NotDifferentiated

    late = ("the body of `try:` raised after", DECLINED)
    refusals = (tl.UnsupportedError, NotDifferentiated)
    return isinstance(error, refusals) or any(text in str(error) for text in late)


def expected_slope(f: Callable[..., Any], args: tuple[Any, ...], directions: list[Any]) -> Any:
    """The slope by central differences, or None where it cannot be relied on: at kinks, and where
    an infinite value has been on the way (its derivative is none, whatever is made of it)."""
    left: list[str] = []
    with np.errstate(all="ignore", divide="call", call=lambda kind, flag: left.append(kind)):
        try:
            slopes = [agreement.slope(f, args, directions, h) for h in (1e-4, 2e-5)]
        except Exception:  # unbound names and the like: the program's own failure
            return None
    if left or not np.all(np.isfinite(slopes)) or abs(slopes[0]) > 1e6:
        return None
    return slopes[0] if agreement.close(slopes[0], slopes[1], 2e-6) else None


def reverse_slope(
    f: Callable[..., Any], args: Any, wrt: Any, directions: Any, emitted: list[Any]
) -> float:
    """<gradient, direction>."""
    import tangentlike as tl

    df = tl.grad(f, wrt=wrt)
    emitted.append(df)
    return agreement.inner(directions, list(df(*args)))


def text_slope(
    f: Callable[..., Any], args: Any, wrt: Any, directions: Any, emitted: list[Any]
) -> float:
    """<gradient, direction>, the gradient from its text, as it is shown before any call."""
    import tangentlike as tl

    df = tl.grad(f, wrt=wrt)
    emitted.append(str(df.source))
    primal = types.ModuleType(f.__module__)
    vars(primal).update(f.__globals__)
    sys.modules[primal.__name__] = primal  # (emitted texts import classes from there)
    try:
        shown = loaded(emitted[-1], "shown text", dict(f.__globals__))[df.__name__]
        return agreement.inner(directions, list(shown(*args)))
    except tl.UnsupportedError as error:  # (of a text that runs by itself nothing names the line)
        raise RuntimeError(f"{DECLINED}: {error}") from None
    except NameError as error:  # (the head of the text says what it cannot import)
        if f"# {error.name}: an object that cannot be imported" not in emitted[-1]:
            raise
        raise RuntimeError(f"{DECLINED}: {error}") from None
    except (TypeError, ValueError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        if "runtime" in last.filename and (last.line or "").startswith("raise "):
            raise RuntimeError(f"{DECLINED}: {error}") from None
        raise
    finally:
        del sys.modules[primal.__name__]


def example_slope(
    f: Callable[..., Any], args: Any, wrt: Any, directions: Any, emitted: list[Any]
) -> float:
    """<gradient, direction>, the gradient made with the ranks of its arguments known."""
    import tangentlike as tl

    df = tl.grad(f, wrt=wrt, example=args)
    emitted.append(df)
    return agreement.inner(directions, list(df(*args)))


def identity_slope(
    f: Callable[..., Any], args: Any, wrt: Any, directions: Any, emitted: list[Any]
) -> float:
    """<gradient, direction>, the adjoints of memory found by identity, also where names tell."""
    import tangentlike as tl

    made: Any = tl.grad(f, wrt=wrt)
    derivation = made.__tangentlike__.derive().specialized_for(args, {}).by_identity
    emitted.append(derivation.derived.source)
    given = tuple(np.copy(a) if isinstance(a, np.ndarray) else a for a in args)
    return agreement.inner(directions, list(derivation.call(given, {})))


def forward_slope(
    f: Callable[..., Any], args: Any, wrt: Any, directions: Any, emitted: list[Any]
) -> float:
    """The tangent along the direction."""
    import tangentlike as tl

    emitted.append(tl.autodiff(f, wrt=wrt, mode="forward"))
    _, tangent = tl.jvp(f, tuple(args), tuple(directions))
    return float(tangent)


def linearized_slope(
    f: Callable[..., Any], args: Any, wrt: Any, directions: Any, emitted: list[Any]
) -> float:
    """What the tangent map gives along the direction, twice the same."""
    import tangentlike as tl

    _, tangent = tl.linearize(f, *args)
    emitted.append(tangent.source)
    first, again = (float(tangent(*directions)) for _ in range(2))
    assert np.isclose(first, again, rtol=1e-12, atol=0.0, equal_nan=True), (first, again)
    return first


def shown(made: Any) -> str:
    """The text of a derivative, which is made for a failure alone: it is often that of another
    derivation than served the call, or refused. (`text_slope` asks for one before any call.)"""
    import tangentlike as tl

    try:
        return made if isinstance(made, str) else str(made.source)
    except tl.UnsupportedError as error:
        return f"refused: {error.message}"


FIRST_ORDER = (text_slope, reverse_slope, example_slope, forward_slope)


def reduced(source: str, seed: int, complaint: str, order: int = 1) -> str:
    """The complaint about the smallest program found that fails in the same way."""
    complaints = [complaint]

    def fails(text: str) -> bool:
        try:
            check_program(text, arguments(seed), f"reduced {seed}", order)
        except AssertionError as error:
            if sort_of(str(error)) == sort_of(complaint):
                complaints.append(str(error))
                return True
        except (SyntaxError, KeyError, NameError):  # a `break` without its loop, no `program`
            pass
        return False

    reduce_program(source, fails)
    return complaints[-1]


def sort_of(complaint: str) -> str:
    """The mode that failed, and how: an exception by its type, or a disagreement."""
    head = complaint.partition("--- program")[0]
    mode = head.partition(":")[0].split()[-1]
    last = head.strip().splitlines()[-1]
    return f"{mode} {last.partition(':')[0] if 'Traceback' in head else 'disagrees'}"


def main() -> int:
    formatter = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--features", choices=sorted([*FEATURES, "versions"]), default="inplace")
    parser.add_argument("--order", type=int, choices=(1, 2), default=1, help="of derivative")
    parser.add_argument("--by-identity", action="store_true", help="adjoints by identity, always")
    parser.add_argument("--linearized", action="store_true", help="tangent maps, called twice")
    parser.add_argument("--show", action="store_true", help="print the programs, check nothing")
    parser.add_argument("--skip", default="", help="leave out programs that match this pattern")
    parser.add_argument("--reduce", action="store_true", help="make failing programs smaller")
    parser.add_argument("--stop", type=int, default=3, help="failures to print in full")
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    started = time.perf_counter()
    for seed in range(options.seed, options.seed + options.count):
        source = generate(seed, options.features)
        if options.skip and re.search(options.skip, source):
            outcomes["left out"] += 1
            continue
        if options.show:
            print(f"# seed {seed}\n{source}")
            continue
        try:
            name = f"{options.features} {seed}"
            if options.features == "versions":
                outcome = check_versions(seed)
            else:
                how = (options.order, options.by_identity, options.linearized)
                outcome = check_program(source, arguments(seed), name, *how)
        except AssertionError as error:
            outcome = "WRONG"
            if outcomes[outcome] >= options.stop:
                print("also wrong:", options.features, seed)
            else:
                complaint = str(error)
                if options.reduce and options.features != "versions":
                    complaint = reduced(source, seed, complaint, options.order)
                print(complaint)
        outcomes[outcome] += 1
    seconds = time.perf_counter() - started
    print(f"{options.features}: " + ", ".join(f"{n} {k}" for k, n in sorted(outcomes.items())))
    print(f"{options.count} programs from seed {options.seed} in {seconds:.1f} s")
    return 1 if outcomes["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
