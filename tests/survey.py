"""How every program of the collection fares in both modes, one line for each that is not right.

python -m tests.survey [--only grids] [--mode reverse]
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tangentlike as tl
from tests import agreement
from tests.programs import PROGRAMS, Program


def outcome(program: Program, mode: str) -> tuple[str, str]:
    """ "right", "refused", "WRONG" or "CRASH", and what there is to say about it."""
    args = program.arguments()
    directions = agreement.directions_for(args, program.wrt, 1)
    expected = agreement.slope(program.fn, args, directions)
    before = copy.deepcopy(args)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            got = slope(program, mode, args, directions)
    except tl.UnsupportedError as error:
        return "refused", error.message
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        first = str(error).partition("\n")[0]
        return "CRASH", f"{type(error).__name__}: {first} ({place.filename}:{place.lineno})"
    if not agreement.same_bits(args, before):
        return "WRONG", "an argument was changed"
    if not agreement.close(got, expected, program.tolerance):
        return "WRONG", f"{got} instead of {expected}"
    return "right", ""


def slope(program: Program, mode: str, args: tuple[object, ...], directions: list[object]) -> float:
    """The derivative along the directions, by the mode."""
    if mode == "forward":
        return float(tl.jvp(program.fn, args, tuple(directions))[1])
    gradient = tl.grad(program.fn, wrt=program.wrt)(*args)
    return agreement.inner([directions[k] for k in program.wrt], list(gradient))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="programs whose names start so")
    parser.add_argument("--mode", choices=("reverse", "forward", "both"), default="both")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    bad = 0
    for mode in ("reverse", "forward") if options.mode == "both" else (options.mode,):
        counts: Counter[str] = Counter()
        for program in PROGRAMS:
            if program.name.startswith(options.only):
                result, remark = outcome(program, mode)
                counts[result] += 1
                if result != "right":
                    print(f"{mode} {result:7} {program.name}: {remark}")
        print(f"{mode}: " + ", ".join(f"{n} {k}" for k, n in sorted(counts.items())))
        bad += counts["WRONG"] + counts["CRASH"]
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
