"""A record of what is emitted or refused for many programs, to see what a change of ours changes.

    python -m tests.behaviour record             # before a change: hashes of all outcomes
    python -m tests.behaviour compare            # after it: what differs, as diffs in groups
    python -m tests.behaviour errors             # what fails with anything but a refusal
    python -m tests.behaviour tables             # rewrites tests/behaviour_tables.txt
    python -m tests.behaviour costs              # prints stages, analyses, milliseconds

`--programs 'inplace*'` takes only some of them. See docs/testing.md.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import difflib
import fnmatch
import hashlib
import io
import multiprocessing
import os
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tangentlike as tl
from tangentlike.pipeline.stages import Request, derive
from tests import generator
from tests.golden_programs import GOLDEN
from tests.programs import PROGRAMS

RECORD = Path(__file__).parent / "behaviour.txt"
GENERATED = 2000  # programs, spread over the families of the generator

Way = Callable[["Case"], str]


@dataclass(frozen=True)
class Case:
    """A program, how to make its arguments, and what to differentiate it by."""

    name: str
    fn: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    wrt: tuple[int, ...]
    ways: tuple[str, ...]
    text: str  # of the program: the outcomes of another one cannot be compared

    @property
    def names(self) -> tuple[str, ...]:
        code = self.fn.__code__
        return tuple(code.co_varnames[k] for k in self.wrt)


# ---------------------------------------------------------------------- ways of differentiating


def specialized_for(df: Any, args: tuple[Any, ...]) -> str:
    """The text that a call with these arguments runs."""
    return str(df.__tangentlike__.derive().specialized_for(args, {}).derived.source)


def reverse(case: Case) -> str:
    return specialized_for(tl.grad(case.fn, wrt=case.wrt), case.arguments())


def example(case: Case) -> str:
    return str(tl.grad(case.fn, wrt=case.wrt, example=case.arguments()).source)


def forward(case: Case) -> str:
    args = case.arguments()
    seeds = tuple(args[k] for k in case.wrt)
    return specialized_for(tl.autodiff(case.fn, wrt=case.wrt, mode="forward"), (*args, *seeds))


def in_mode(mode: str) -> Way:
    """The text for one of the modes of `tangentlike.ad.request.Request`."""
    return lambda case: derive(case.fn, Request(mode, case.names, bare=len(case.wrt) == 1)).source


def forward_over_reverse(case: Case) -> str:
    gradient = tl.grad(case.fn, wrt=case.wrt)
    return str(tl.autodiff(gradient, wrt=case.wrt, mode="forward").source)


def reverse_over_reverse(case: Case) -> str:
    return str(tl.autodiff(tl.grad(case.fn, wrt=case.wrt), wrt=case.wrt).source)


WAYS: dict[str, Way] = {
    "reverse": reverse,
    "example": example,
    "forward": forward,
    **{m: in_mode(m) for m in ("grad", "value_and_grad", "adjoint", "pair", "callee", "change")},
    "forward over reverse": forward_over_reverse,
    "reverse over reverse": reverse_over_reverse,
}
ALL_WAYS = tuple(WAYS)
OF_GENERATED = ("reverse", "example", "forward")


def outcome(case: Case, way: str) -> str:
    """The emitted text, or after `!` the refusal, or after `?` an error that is no refusal."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return WAYS[way](case)
        except tl.TangentlikeError as error:
            said = f"! {type(error).__name__}: {error.message}\n"
            place = error.place
            if place is not None:
                said += f"line {place.line - _first_line(case, place.file)}: {place.text.strip()}\n"
            return without_addresses(said + f"hint: {error.hint}\n")
        except Exception as error:
            return without_addresses(f"? {type(error).__name__}: {error}\n")


def _first_line(case: Case, file: str) -> int:
    """Lines are counted from the program's own first one, in its own file."""
    code = case.fn.__code__
    return code.co_firstlineno if code.co_filename == file else 0


def without_addresses(text: str) -> str:
    """Addresses differ from run to run.

    >>> without_addresses("<object object at 0x7fdb8febde40>")
    '<object object at 0x...>'
    """
    return re.sub(r"\b0x[0-9a-f]{6,}", "0x...", text)


# ------------------------------------------------------------------------------- the programs


def cases(pattern: str = "*") -> list[Case]:
    """The programs whose names match the pattern."""
    found = [case for case in _of_collection() if fnmatch.fnmatch(case.name, pattern)]
    return found + list(_generated(pattern))


def _of_collection() -> Iterator[Case]:
    for program in PROGRAMS:
        yield Case(
            program.name,
            program.fn,
            program.arguments,
            program.wrt,
            ALL_WAYS,
            source_of(program.fn),
        )
    seen = set()
    for name, (fn, _, wrt, example) in GOLDEN.items():
        if not isinstance(fn, str) and fn not in seen:
            seen.add(fn)
            positions = fn.__code__.co_varnames
            yield Case(
                f"golden.{name}",
                fn,
                lambda given=example: given or (),
                tuple(positions.index(n) for n in wrt if n in positions),
                tuple(w for w in ALL_WAYS if w not in OF_GENERATED or (w == "example" and example)),
                source_of(fn),
            )


def source_of(fn: Callable[..., Any]) -> str:
    """The text of a program, as far as it is its own."""
    import inspect

    try:
        return inspect.getsource(fn)
    except OSError:
        return fn.__name__


def _generated(pattern: str) -> Iterator[Case]:
    """The same seeds each time: as many of each family of the generator."""
    families = sorted(generator.FEATURES)
    for number in range(GENERATED):
        family, seed = families[number % len(families)], number // len(families)
        name = f"generated.{family}-{seed}"
        if fnmatch.fnmatch(name, pattern):
            text = generator.generate(seed, family)
            args = generator.arguments(seed)
            yield Case(
                name,
                generator.load(text, name),
                lambda seed=seed: generator.arguments(seed),
                tuple(range(len(args))),
                OF_GENERATED,
                text,
            )


# --------------------------------------------------------------------------------- the record


def mark(text: str) -> str:
    """Ten letters for a text, after `!` for a refusal and `?` for another error.

    >>> mark("! no")
    '!spzeejt432'
    """
    short = base64.b32encode(hashlib.sha256(text.encode()).digest())[:10].decode().lower()
    return (text[0] if text[:2] in ("! ", "? ") else "") + short


Marks = dict[str, tuple[str, ...]]  # name -> marks of the program's text and of its outcomes


def read_record() -> Marks:
    if not RECORD.exists():
        return {}
    rows = (line.rsplit(" ", line.count(" ")) for line in RECORD.read_text().splitlines())
    return {row[0]: tuple(row[1:]) for row in rows if row and not row[0].startswith("#")}


def write_record(marks: Marks) -> None:
    head = "# python -m tests.behaviour record: program, its text, outcomes (! refused, ? an error)"
    rows = [" ".join([name, *found]) for name, found in marks.items()]
    RECORD.write_text("\n".join([head, *rows]) + "\n")


def cache() -> Path:
    """Where the texts lie of which the record holds the marks: outside of the repository, for all
    checkouts of this user."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tangentlike" / "behaviour"


def remember(text: str) -> str:
    """The mark of a text, which is put into the cache."""
    found = mark(text)
    file = _file_of(found)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return found


def recalled(found: str) -> str | None:
    """The text with this mark, if it was ever put into the cache of this machine."""
    file = _file_of(found)
    return file.read_text() if file.exists() else None


def _file_of(found: str) -> Path:
    letters = found.lstrip("!?")
    return cache() / letters[:2] / f"{letters[2:]}.txt"


def marks_of(case: Case) -> tuple[str, ...]:
    return (remember(case.text), *(remember(outcome(case, way)) for way in case.ways))


_CASES: list[Case] = []  # of this run; the processes that share the work inherit it


def _marks_at(position: int) -> tuple[str, ...]:
    return marks_of(_CASES[position])


def run(chosen: list[Case], jobs: int) -> Marks:
    """The marks of all outcomes, in the order of the programs."""
    _CASES[:] = chosen
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        found = pool.imap(_marks_at, range(len(chosen)), chunksize=8)
        return {case.name: marks for case, marks in zip(chosen, found, strict=True)}


# ------------------------------------------------------------------------------ the comparison


def changes(chosen: list[Case], old: Marks, new: Marks) -> Iterator[tuple[str, str, str]]:
    """(program and way, mark before, mark after), of programs that have not themselves changed."""
    for case in chosen:
        before, after = old.get(case.name), new[case.name]
        if before is not None and before[0] == after[0]:
            for way, was, is_now in zip(case.ways, before[1:], after[1:], strict=True):
                if was != is_now:
                    yield f"{case.name} ({way})", was, is_now


def difference(was: str, is_now: str) -> list[str]:
    """The lines of a unified diff of two texts, by their marks."""
    before, after = recalled(was), recalled(is_now)
    if before is None or after is None:
        return [f"(what it was, {was}, is not in the cache: run `record` on that commit)"]
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return list(lines)[2:]


def likeness(lines: Iterable[str]) -> str:
    """What alike differences have in common: changed lines, without their names and numbers.

    >>> likeness(["@@ -1 +1 @@", " y = x", "-a1 = b + 2.0", "+a1 = c"])
    '-_ = _ + _|+_ = _'
    """
    changed = [line for line in lines if line[:1] in "+-" or line.startswith("(")]
    return "|".join(re.sub(r"[\w.]+", "_", line) for line in changed)


def report(chosen: list[Case], old: Marks, new: Marks, most: int) -> int:
    """Print what differs, alike differences together, the largest group first."""
    groups: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    turned: Counter[str] = Counter()
    sorts = {"": "text", "!": "refusal", "?": "error"}
    for name, was, is_now in changes(chosen, old, new):
        lines = difference(was, is_now)
        turn = " -> ".join(sorts[m[0] if m[0] in "!?" else ""] for m in (was, is_now))
        turned[turn] += 1
        groups[f"{turn}: {likeness(lines)}"].append((name, lines))
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    for number, (key, members) in enumerate(ordered[:most], 1):
        names = ", ".join(name for name, _ in members[:5])
        more = f" and {len(members) - 5} more" if len(members) > 5 else ""
        print(f"== group {number}, {key.partition(':')[0]}: {names}{more}")
        print("\n".join(min((lines for _, lines in members), key=len)), end="\n\n")
    if len(ordered) > most:
        print(f"({len(ordered) - most} more groups: --most)")
    edited = [c.name for c in chosen if c.name in old and old[c.name][0] != new[c.name][0]]
    missing = [c.name for c in chosen if c.name not in old]
    for said, names in (("changed themselves", edited), ("are not in the record", missing)):
        if names:
            print(f"{len(names)} programs {said}: {', '.join(names[:8])}")
    print(f"{sum(turned.values())} outcomes differ in {len(groups)} groups", dict(turned))
    return 1 if turned else 0


def summary(marks: Marks) -> str:
    counted = Counter(m[0] if m[0] in "!?" else "" for found in marks.values() for m in found[1:])
    return f"{len(marks)} programs: {counted['']} texts, {counted['!']} refusals, {counted['?']} errors"


def main() -> int:
    formatter = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("command", choices=("record", "compare", "errors", "tables", "costs"))
    parser.add_argument("--programs", default="*", help="those whose names match the pattern")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--most", type=int, default=20, help="groups of differences to print")
    options = parser.parse_args()
    if options.command in ("tables", "costs"):
        from tests import behaviour_costs, behaviour_tables

        {"tables": behaviour_tables.write, "costs": behaviour_costs.show}[options.command]()
        return 0
    chosen = cases(options.programs)
    new = run(chosen, options.jobs)
    print(summary(new))
    if options.command == "compare":
        return report(chosen, read_record(), new, options.most)
    if options.command == "errors":
        for case in chosen:
            for way, found in zip(case.ways, new[case.name][1:], strict=True):
                if found.startswith("?"):
                    print(f"{case.name} ({way}): {recalled(found)}", end="")
        return 0
    known = read_record() if options.programs != "*" else {}
    write_record(known | new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
