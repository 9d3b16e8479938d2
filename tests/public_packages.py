"""Functions of public packages, drawn by lot and differentiated as they stand.

Neither the packages nor the functions are chosen by what comes out: a seed draws packages from the
list below, and functions from all that they define. Arguments come from the examples in a function's
documentation, or are drawn; a function is taken if it runs with them, gives floats, and has a slope
by differences. Then both modes are compared with that slope.

    python -m tests.public_packages --seed 1 --packages 12 --functions 10

needs the packages (of which those that are not installed are left out of the lot).
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import doctest
import importlib
import importlib.util
import inspect
import io
import multiprocessing
import os
import pkgutil
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tangentlike as tl

CANDIDATES = """
    ahrs arch astropy chemicals colour control dtaidistance empyrical filterpy fluids gsw hmmlearn ht
    iapws librosa metpy numpy_financial ot plasmapy properscoring psychrolib pvlib pykalman pymap3d
    pyriemann pytransform3d quantecon qutip scoringrules seawater sgp4 skimage skrf skyfield spatialmath
    spectrum statsmodels thermo tmm transforms3d
""".split()
_LEFT_OUT = (
    "test",
    "plot",
    "numba",
    "vectorized",
    "conftest",
    "example",
    "cli",
    "datasets",
    "data",
)
_NUMBERS = (0.3, 0.7, 1.6, 2.5, 12.0, 300.0)


class TookTooLongError(BaseException):
    """A function or its derivative took too long (which no `except Exception` of a package takes)."""


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raises where the body takes so much processor time (or ten times as long, on a machine that
    others use as well); what it prints is not shown."""

    def ring(*_: Any) -> None:
        raise TookTooLongError

    before = [signal.signal(number, ring) for number in (signal.SIGALRM, signal.SIGPROF)]
    signal.alarm(10 * seconds)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)  # (again where a bare `except` took it)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        for number, handler in zip((signal.SIGALRM, signal.SIGPROF), before, strict=True):
            signal.signal(number, handler)


# ------------------------------------------------------------------------------ what is drawn


def installed(names: list[str]) -> list[str]:
    """The packages that are there (which says nothing of whether they can be imported)."""
    return [name for name in names if importlib.util.find_spec(name) is not None]


def functions_of(package: str) -> list[Callable[..., Any]]:
    """The public functions that a package defines, in the order of their names."""
    root = importlib.import_module(package)
    modules = [root]
    for info in pkgutil.walk_packages(getattr(root, "__path__", []), f"{package}."):
        parts = info.name.split(".")[1:]
        if any(p.startswith(("_", *_LEFT_OUT)) for p in parts) or len(parts) > 2:
            continue
        with contextlib.suppress(BaseException), at_most(20):
            modules.append(importlib.import_module(info.name))
    found = {}
    for module in modules:
        for name, obj in vars(module).items():
            own = inspect.isfunction(obj) and (obj.__module__ or "").split(".")[0] == package
            if own and not name.startswith(("_", *_LEFT_OUT)):
                found[f"{obj.__module__}.{obj.__qualname__}"] = obj
    return [found[name] for name in sorted(found)]


def arguments_of(fn: Callable[..., Any], rng: random.Random) -> Iterator[dict[str, Any]]:
    """Arguments to try: those of the examples in the documentation, then drawn ones."""
    signature = inspect.signature(fn)
    try:
        examples = doctest.DocTestParser().get_examples(fn.__doc__ or "")
    except ValueError:
        examples = []
    for example in examples:
        with contextlib.suppress(Exception):
            call = ast.parse(example.source.strip(), mode="eval").body
            if isinstance(call, ast.Call) and fn.__name__ in ast.unparse(call.func):
                words = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
                args = [ast.literal_eval(arg) for arg in call.args]
                yield dict(signature.bind(*args, **words).arguments)
    needed = [p for p in signature.parameters.values() if p.default is p.empty]
    needed = [p for p in needed if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if not 0 < len(needed) <= 6 or any(p.kind == p.KEYWORD_ONLY for p in needed):
        return
    for form in ((), (4,), (), (3, 3), (3,), (), (2, 3), (), (16,), (4, 4)):
        yield {p.name: drawn(form, rng) for p in needed}


def drawn(form: tuple[int, ...], rng: random.Random) -> Any:
    """A number or an array of a form."""
    if form == ():
        return rng.choice(_NUMBERS) * rng.uniform(0.9, 1.1)
    values = [rng.uniform(0.2, 2.0) for _ in range(int(np.prod(form)))]
    return np.array(values).reshape(form)


# --------------------------------------------------------------------------------- one function


def is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


@dataclass
class Case:
    """A function with arguments that it runs with, a direction, and the slope along it."""

    fn: Callable[..., Any]
    args: dict[str, Any]
    along: dict[str, Any] = field(default_factory=dict)
    slope: float = 0.0
    noise: float = 0.0  # by how much the slopes of two steps differ

    @property
    def name(self) -> str:
        return f"{self.fn.__module__}.{self.fn.__qualname__}"

    def total(self, step: float) -> float:
        moved = {
            name: value + step * self.along[name] if name in self.along else np.copy(value)[()]
            for name, value in self.args.items()
        }
        result = self.fn(**moved)
        if not is_float(result) or not np.size(result) or not np.all(np.isfinite(result)):
            raise ValueError("no floats")
        return float(np.sum(result))


@contextlib.contextmanager
def new_memory_is_nan() -> Iterator[None]:
    """What `np.empty` gives is NaN, so that nothing that depends on it is taken."""
    before = np.empty, np.empty_like

    def filled(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any, **kwargs: Any) -> Any:
            array = make(*args, **kwargs)
            if array.dtype.kind in "fc":
                array.fill(np.nan)
            return array

        return made

    np.empty, np.empty_like = map(filled, before)  # type: ignore[assignment]
    try:
        yield
    finally:
        np.empty, np.empty_like = before  # type: ignore[assignment]


def case_of(fn: Callable[..., Any], rng: random.Random) -> Case | None:
    """A case with a slope that two steps agree on, and both sides."""
    if inspect.iscoroutinefunction(fn) or inspect.isgeneratorfunction(fn):
        return None
    for args in arguments_of(fn, rng):
        case = Case(fn, args)
        for name in (name for name, value in args.items() if is_float(value)):
            part = np.array([rng.uniform(-1.0, 1.0) for _ in range(np.size(args[name]))])
            case.along[name] = part.reshape(np.shape(args[name]))[()] * np.abs(args[name])
        if not case.along:
            continue
        try:
            middle = case.total(0.0)
            h, both = 1e-6, []
            for step in (h, 10 * h):
                both.append((case.total(step) - case.total(-step)) / (2.0 * step))
            one_side = (case.total(h) - middle) / h
        except (Exception, SystemExit):
            continue
        close = 1e-4 * abs(both[0]) + 1e-7 * abs(middle)
        if abs(both[0] - both[1]) <= close and abs(both[0] - one_side) <= 10.0 * close:
            case.slope, case.noise = both[0], abs(both[0] - both[1])
            if both[0] != 0.0:
                return case
    return None


def outcome(case: Case, mode: str, seconds: int = 60) -> tuple[str, str]:
    """ "right", "refused", "wrong", "raw error" or "slow"; and more about it."""
    parameters = inspect.signature(case.fn).parameters.values()
    values = [case.args.get(p.name, p.default) for p in parameters if p.kind != p.VAR_KEYWORD]
    names = [p.name for p in parameters if p.kind != p.VAR_KEYWORD]
    while names and names[-1] not in case.along:  # (defaults are left to the function)
        if names.pop() in case.args:
            names.append(list(parameters)[len(names)].name)
            break
    # (Floats as the differences had them: of NumPy, which has them have a dtype and a shape.)
    values = [np.copy(v)[()] if is_float(v) else v for v in values[: len(names)]]
    try:
        with at_most(seconds):
            if mode == "forward":
                tangents = tuple(case.along.get(name) for name in names)
                found = float(np.sum(tl.jvp(case.fn, tuple(values), tangents)[1]))
            else:
                result, pull = tl.vjp(case.fn, *values)
                bars = pull(np.ones_like(result) if isinstance(result, np.ndarray) else 1.0)
                pairs = zip(names, bars, strict=False)
                found = sum(np.sum(bar * case.along[n]) for n, bar in pairs if n in case.along)
    except tl.UnsupportedError as refusal:
        return "refused", refusal.message
    except TookTooLongError:
        return "slow", ""
    except Exception as error:
        return "raw error", f"{type(error).__name__}: {str(error)[:200]}"
    if abs(found - case.slope) <= 1e-4 * abs(case.slope) + 2.0 * case.noise + 1e-9:
        return "right", ""
    return "wrong", f"{found} != {case.slope}"


def drawn_packages(seed: int, count: int) -> list[str]:
    """So many of the packages that are installed."""
    names = installed(CANDIDATES)
    return sorted(random.Random(seed).sample(names, min(count, len(names))))


# ------------------------------------------------------------------- each package by itself

WITHOUT_ANSWER = 300  # seconds until a process that says nothing is ended


@dataclass
class Found:
    """What came of a function in a mode."""

    name: str
    mode: str
    outcome: str
    more: str = ""
    seconds: float = 0.0  # of processor time


def try_package(
    connection: Connection, seed: int, package: str, limit: int, done: set[str], folder: str
) -> None:
    """Sends what is tried next, and what came of it, for functions other than those that are done."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    os.chdir(folder)  # (for what the package writes)
    pool = functions_of(package)
    random.Random(f"{seed} {package}").shuffle(pool)
    for fn in pool:
        name = f"{fn.__module__}.{fn.__qualname__}"
        if name in done:
            continue
        connection.send(Found(name, "itself", "tried"))
        case = None
        with contextlib.suppress(TookTooLongError), at_most(5), new_memory_is_nan():
            case = case_of(fn, random.Random(f"{seed} {name}"))
        if case is None:
            continue
        for mode in ("reverse", "forward"):
            connection.send(Found(name, mode, "tried"))
            start = time.process_time()
            ended = outcome(case, mode)
            connection.send(Found(name, mode, *ended, time.process_time() - start))
        limit -= 1
        if not limit:
            break


def survey_of(seed: int, package: str, functions: int, folder: str) -> Iterator[Found]:
    """What comes of so many functions of a package, in a process of its own: where that dies or
    says nothing for long, a crash is counted for what it tried, and another process goes on."""
    context = multiprocessing.get_context("spawn")
    done: set[str] = set()
    taken: set[str] = set()
    while len(taken) < functions:
        ours, theirs = context.Pipe(duplex=False)
        asked = (theirs, seed, package, functions - len(taken), done, folder)
        process = context.Process(target=try_package, args=asked, daemon=True)
        process.start()
        theirs.close()
        last = Found(f"{package}.", "itself", "tried")
        with contextlib.suppress(EOFError):
            while ours.poll(WITHOUT_ANSWER):
                last = ours.recv()
                done.add(last.name)
                if last.outcome != "tried":
                    taken.add(last.name)
                    yield last
        process.join(5)
        process.kill()  # (where it did not answer)
        process.join()
        if process.exitcode == 0:
            break
        taken.add(last.name)
        yield replace(last, outcome="crash", more=f"exit status {process.exitcode}")
        if last.name == f"{package}.":
            break  # (it cannot even be imported)


def survey(seed: int, packages: list[str], functions: int) -> Iterator[Found]:
    """What comes of so many functions of each package, in both modes."""
    with tempfile.TemporaryDirectory() as folder:
        for package in packages:
            yield from survey_of(seed, package, functions, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--packages", type=int, default=12)
    parser.add_argument("--functions", type=int, default=10, help="of each package")
    parser.add_argument("--only", nargs="*", help="these packages, instead of drawn ones")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: dict[str, Counter[str]] = {}
    reasons: Counter[str] = Counter()
    times: list[tuple[float, str]] = []
    packages = options.only or drawn_packages(options.seed, options.packages)
    for found in survey(options.seed, packages, options.functions):
        counts.setdefault(found.name.partition(".")[0], Counter())[found.outcome] += 1
        times.append((found.seconds, f"{found.mode} {found.name}"))
        if found.outcome != "right":
            print(f"{found.outcome:9} {found.mode:7} {found.name}: {found.more}", flush=True)
        if found.outcome == "refused":
            reasons[found.more] += 1
    print()
    for package, count in counts.items():
        print(f"{package:16}", ", ".join(f"{n} {k}" for k, n in sorted(count.items())))
    every = sum(counts.values(), Counter())
    share = ", ".join(f"{k} {n / every.total():.0%}" for k, n in every.most_common())
    print(f"{every.total() // 2} functions of {len(counts)} packages, in both modes: {share}")
    for reason, n in reasons.most_common(15):
        print(f"{n:4} {reason}")
    for seconds, name in sorted(times, reverse=True)[:10]:
        print(f"{seconds:5.1f} s {name}")
    return 1 if every["wrong"] or every["raw error"] else 0


if __name__ == "__main__":
    sys.exit(main())
